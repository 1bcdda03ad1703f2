/*
 * test_remote_ranges.c - a fetch gives scanners narrow ranges of keys where it knows them: what it finds is the same, and rows between the
 * ranges are not looked at.
 */
#include "tests/unit/hbase/t_fetch.h"

#define HOUR     376944u /* 2013-01-01 */
#define N_SERIES 300u
#define N_HOURS  6u

static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 4};
static struct t_fetch t;
static char names[N_SERIES + 1][8];

/* Series k1=vI k2=v(I % 3 + 1) of all hours. */
static void fill(struct sto_hbase_schema schema, unsigned connections)
{
    t_fetch_open(&t, schema, connections);
    t_fetch_names(&t, 1, 3, N_SERIES);
    for (unsigned v = 1; v <= N_SERIES; v++) {
        (void)snprintf(names[v], sizeof names[v], "v%u", v);
        for (uint32_t h = 0; h < N_HOURS; h++)
            t_put(&t, T_PAIRS(1, v, 2, v % 3 + 1), HOUR + h, "0000 07");
    }
}

/* Lines of the series that match, in all hours or without points. pos: of every step-th series */
static char *expected(bool (*matches)(unsigned v), bool series_only, unsigned step)
{
    static char *lines[N_SERIES * N_HOURS];
    size_t n = 0;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    for (unsigned v = 1; v <= N_SERIES; v++)
        for (uint32_t h = 0; matches(v) && h < (series_only ? 1 : N_HOURS); h++) {
            struct ts_buf line;
            ts_buf_init(&line, 0);
            ts_buf_printf(&line, "m1 k1=v%u k2=v%u", v, v % 3 + 1);
            if (series_only)
                ts_buf_str(&line, " series");
            else
                ts_buf_printf(&line, " hour=%u", HOUR + h);
            if (step)
                ts_buf_printf(&line, " pos=%u", v / step - 1);
            ts_buf_str(&line, series_only ? ":" : ": 0s=7");
            ts_buf_char(&line, 0);
            lines[n++] = line.p;
        }
    qsort(lines, n, sizeof(char *), t_by_text);
    for (size_t i = 0; i < n; i++) {
        ts_buf_printf(&out, "%s\n", lines[i]);
        ts_free(lines[i]);
    }
    ts_buf_char(&out, 0);
    return out.p;
}

/* Fetch, and return how many rows scanners have looked at. */
static uint64_t looked(const struct sto_fetch *f, bool (*matches)(unsigned v), unsigned step)
{
    uint64_t before = fake_hbase_looked(t.fake);
    char *want = expected(matches, f->series_only, step);
    t_expect_fetch(&t, f, want);
    ts_free(want);
    return fake_hbase_looked(t.fake) - before;
}

static bool every(unsigned v)
{
    return v > 0;
}
static bool second(unsigned v)
{
    return v % 2 == 0;
}
static bool third(unsigned v)
{
    return v % 3 == 0;
}
static bool none(unsigned v)
{
    return v == 0;
}
static bool seventh(unsigned v)
{
    return v == 7;
}
static bool group_2(unsigned v)
{
    return v % 3 == 1;
}
static bool few(unsigned v)
{
    return v == 3 || v == 4 || v == 255 || v == 256;
}
static bool few_of_group_2(unsigned v)
{
    return few(v) && group_2(v);
}

/* Every step-th series. */
static struct sto_fetch ask_series(struct sto_remote_series *series, struct sto_remote_tag (*tags)[2],
                                   unsigned step)
{
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (unsigned v = step; v <= N_SERIES; v += step) {
        size_t i = f.n_series++;
        tags[i][0] = (struct sto_remote_tag){TS_SLICE_LIT("k1"), ts_slice_str(names[v])};
        tags[i][1] = (struct sto_remote_tag){TS_SLICE_LIT("k2"), ts_slice_str(names[v % 3 + 1])};
        series[i] = (struct sto_remote_series){STO_REMOTE_NO_KEY, TS_SLICE_LIT("m1"), tags[i], 2};
    }
    f.series = series;
    return f;
}

/* --- known series --- */

static void test_remote_ranges__known_series(void **state)
{
    static struct sto_remote_series series[N_SERIES];
    static struct sto_remote_tag tags[N_SERIES][2];
    (void)state;
    for (int i = 0; i < 4; i++) {
        fill(i % 2 ? salted : plain, i < 2 ? 1 : 4);
        struct sto_fetch f = ask_series(series, tags, 2);
        uint64_t n_wanted = N_SERIES / 2 * N_HOURS;
        uint64_t n = looked(&f, second, 2);
        /* a scanner may meet the row behind each range */
        assert_in_range(n, n_wanted, 2 * n_wanted);
        uint64_t gets = fake_hbase_count(t.fake, STO_THRIFT_GET_MULTIPLE); /* names, which are kept */
        f.series_only = true;
        assert_in_range(looked(&f, second, 2), n_wanted / N_HOURS, 2 * n_wanted);
        assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_GET_MULTIPLE), gets);
        f.series_only = false;
        fake_hbase_set_old(t.fake);
        looked(&f, second, 2);
        t_fetch_close(&t);
    }
}

/* All rows of a metric are wanted, which is known from the look for its series: a scanner gets no ranges. */
static void test_remote_ranges__most_of_the_rows(void **state)
{
    static struct sto_remote_series series[N_SERIES];
    static struct sto_remote_tag tags[N_SERIES][2];
    (void)state;
    fill(plain, 2);
    struct sto_fetch all = t_hours(HOUR, HOUR + N_HOURS), f = ask_series(series, tags, 1);
    all.series_only = true;
    assert_int_equal(looked(&all, every, 0), N_SERIES * N_HOURS);
    uint64_t scanners = fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER);
    assert_int_equal(looked(&f, every, 1), N_SERIES * N_HOURS);
    assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER) - scanners, 2);
    f = ask_series(series, tags, 2); /* half of them */
    assert_int_equal(looked(&f, second, 2), N_SERIES * N_HOURS);
    f = ask_series(series, tags, 3); /* a third of them is worth ranges */
    assert_in_range(looked(&f, third, 3), N_SERIES / 3 * N_HOURS, N_SERIES * N_HOURS - 1);
    t_fetch_close(&t);
}

/* --- conditions --- */

static void test_remote_ranges__conditions(void **state)
{
    (void)state;
    struct ts_slice v7 = TS_SLICE_LIT("v7"), v2 = TS_SLICE_LIT("v2"),
                    some[] = {TS_SLICE_LIT("v256"), TS_SLICE_LIT("v3"), TS_SLICE_LIT("v255"),
                              TS_SLICE_LIT("v4"),   TS_SLICE_LIT("v3"), TS_SLICE_LIT("nowhere")};
    const struct {
        struct sto_remote_cond conds[2];
        size_t n;
        bool (*matches)(unsigned v);
        uint64_t most; /* rows looked at, in an hour */
    } cases[] = {
        {{{TS_SLICE_LIT("k1"), &v7, 1}}, 1, seventh, 3},
        {{{TS_SLICE_LIT("k1"), &v7, 1}, {TS_SLICE_LIT("k2"), NULL, 0}}, 2, seventh, 3},
        {{{TS_SLICE_LIT("k2"), &v2, 1}, {TS_SLICE_LIT("k1"), &v7, 1}}, 2, seventh, 3},
        {{{TS_SLICE_LIT("k1"), some, 6}}, 1, few, 9},
        {{{TS_SLICE_LIT("k1"), some, 6}, {TS_SLICE_LIT("k2"), &v2, 1}}, 2, few_of_group_2, 9},
        {{{TS_SLICE_LIT("k2"), &v2, 1}}, 1, group_2, 2 * N_SERIES}, /* any k1 may stand before it */
        {{{TS_SLICE_LIT("k1"), &v7, 1}, {TS_SLICE_LIT("k1"), some, 2}}, 2, none, 9},
    };
    for (int salt = 0; salt < 2; salt++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int how = 0; how < 4; how++) {
                fill(salt ? salted : plain, 2);
                if (how & 1)
                    fake_hbase_set_old(t.fake);
                struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
                f.conds = cases[i].conds;
                f.n_conds = cases[i].n;
                f.series_only = how & 2;
                uint64_t n = looked(&f, cases[i].matches, 0);
                if (!(how & 1))
                    assert_in_range(n, 0, (cases[i].most + 1) * N_HOURS * (salt ? 4 : 1));
                t_fetch_close(&t);
            }
}

/* Ranges of conditions are of no use where all series have another tag first: the rest is read with a filter on all rows. */
static void test_remote_ranges__conditions_behind_other_tags(void **state)
{
    (void)state;
    for (int series_only = 0; series_only < 2; series_only++) {
        t_fetch_open(&t, plain, 1);
        t_fetch_names(&t, 1, 2, 2000);
        for (unsigned v = 1; v <= 2000; v++)
            t_put(&t, T_PAIRS(1, v, 2, v), HOUR + v % 2, "0000 07");
        struct ts_slice last = TS_SLICE_LIT("v2000");
        struct sto_remote_cond cond = {.tagk = TS_SLICE_LIT("k2"), .values = &last, .n_values = 1};
        struct sto_fetch f = t_hours(HOUR, HOUR + 2);
        f.conds = &cond;
        f.n_conds = 1;
        f.series_only = series_only;
        t_expect_fetch(&t, &f,
                       series_only ? "m1 k1=v2000 k2=v2000 series:\n"
                                   : "m1 k1=v2000 k2=v2000 hour=376944: 0s=7\n");
        assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER), 2);
        assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_CLOSE_SCANNER), 2);
        t_fetch_close(&t);
    }
}

/* --- series of several readers --- */

static void test_remote_ranges__each_series_is_reported_once(void **state)
{
    (void)state;
    for (unsigned connections = 1; connections <= 4; connections += 3) {
        fill(plain, connections);
        struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
        f.series_only = true;
        assert_int_equal(looked(&f, every, 0), N_SERIES * N_HOURS);
        assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER), connections);
        t_fetch_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_ranges__known_series),
        cmocka_unit_test(test_remote_ranges__most_of_the_rows),
        cmocka_unit_test(test_remote_ranges__conditions),
        cmocka_unit_test(test_remote_ranges__conditions_behind_other_tags),
        cmocka_unit_test(test_remote_ranges__each_series_is_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
