/*
 * test_remote_fetch.c - what a fetch returns: series and conditions, points of all kinds of columns, odd rows, parts of hours.
 */
#include "tests/unit/hbase/t_fetch.h"
#include "tests/unit/hbase/t_golden.h"

#define HOUR 376944u /* 2013-01-01 */

static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 20};
static struct t_fetch t;

static void release(char *text)
{
    ts_free(text);
}

/* --- points --- */

static void test_remote_fetch__columns_of_all_kinds_in_one_row(void **state)
{
    (void)state;
    t_fetch_open(&t, plain, 0);
    t_fetch_names(&t, 1, 1, 3);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0000 2A");
    t_put(&t, T_PAIRS(1, 1), HOUR, "F0007D0B 42 2A 00 00");
    t_put(&t, T_PAIRS(1, 1), HOUR, "07B00BB0 05 06 00");
    t_put(&t, T_PAIRS(1, 1), HOUR, "050000 01E0 18 03C0 01");
    t_put(&t, T_PAIRS(1, 1), HOUR, "010000 7B7D");
    t_put(&t, T_PAIRS(1, 2), HOUR + 1, "0010 07");
    struct sto_fetch f = t_hours(HOUR, HOUR + 2);
    t_expect_fetch(&t, &f,
                   "m1 k1=v1 hour=376944: 0s=42 500ms=42.5 30s=24 60s=1 123s=5 187s=6\n"
                   "m1 k1=v2 hour=376945: 1s=7\n");
    assert_int_equal(t_status(&t, "fetched_rows"), 2);
    assert_int_equal(t_status(&t, "fetched_points"), 7);
    t_fetch_close(&t);
}

static void test_remote_fetch__parts_of_hours(void **state)
{
    (void)state;
    t_fetch_open(&t, plain, 0);
    t_fetch_names(&t, 1, 1, 1);
    for (uint32_t hour = HOUR; hour < HOUR + 3; hour++)
        t_put(&t, T_PAIRS(1, 1), hour, "000001E003C0 01 02 03 00");
    struct sto_fetch f = t_hours(HOUR, HOUR + 3);
    f.from_ms += 30000;
    f.to_ms -= TS_HOUR_MS - 29999;
    t_expect_fetch(&t, &f,
                   "m1 k1=v1 hour=376944: 30s=2 60s=3\nm1 k1=v1 hour=376945: 0s=1 30s=2 60s=3\n"
                   "m1 k1=v1 hour=376946: 0s=1\n");
    f.from_ms = f.to_ms = HOUR * TS_HOUR_MS + 30000;
    t_expect_fetch(&t, &f, "m1 k1=v1 hour=376944: 30s=2\n");
    f.from_ms++;
    f.to_ms += 2;
    t_expect_fetch(&t, &f, "");
    f.to_ms = f.from_ms - 1;
    t_expect_fetch(&t, &f, "");
    f.from_ms = STO_MIN_TS_MS;
    f.to_ms = STO_MAX_TS_MS;
    f.series_only = true;
    t_expect_fetch(&t, &f, "m1 k1=v1 series:\n");
    t_fetch_close(&t);
}

static void test_remote_fetch__damaged_cells_and_duplicates(void **state)
{
    (void)state;
    t_fetch_open(&t, plain, 0);
    t_fetch_names(&t, 1, 1, 1);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0000 2A");
    t_put(&t, T_PAIRS(1, 1), HOUR, "001F 01"); /* a float of 8 bytes has one */
    fake_hbase_set_clock(t.fake, 1000);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0020 01");
    fake_hbase_set_clock(t.fake, 2000);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0021 00 02");
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    t_expect_fetch(&t, &f, "m1 k1=v1 hour=376944: 0s=42 2s=2\n");
    assert_int_equal(t_status(&t, "fetched_damaged_cells"), 1);
    assert_int_equal(t_status(&t, "fetched_contradicting_points"), 1);
    t_fetch_close(&t);
}

/* A row of 5,000 points comes in several results. */
static void test_remote_fetch__rows_of_several_results(void **state)
{
    (void)state;
    char cell[64];
    t_fetch_open(&t, plain, 0);
    t_fetch_names(&t, 1, 1, 2);
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(cell, sizeof(cell), "%08X %02X", 0xF0000000u | (i * 3) << 6, i % 100);
        t_put(&t, T_PAIRS(1, 1), HOUR, cell);
    }
    t_put(&t, T_PAIRS(1, 2), HOUR, "0000 01");
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    char *text = t_fetch_text(&t, &f), *second = strchr(text, '\n') + 1;
    assert_string_equal(second, "m1 k1=v2 hour=376944: 0s=1\n");
    assert_non_null(strstr(text, " 12297ms=99 12300ms=0 12303ms=1 "));
    assert_int_equal(t_status(&t, "fetched_points"), 5001);
    release(text);
    t_fetch_close(&t);
}

/* Rows and points that a fetch has returned. */
struct sums {
    size_t n_rows, n_points;
};

static int add_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct sums *s = arg;
    (void)pos, (void)err;
    s->n_rows++;
    s->n_points += row->cells->n;
    return 0;
}

/* More series than a reader remembers. It forgets them between two replies, here within a row of two results, of which the second one comes in the next
 * reply: two requests are for 64 results, two for 1,024, and the others for 2,048. */
static void test_remote_fetch__more_series_than_are_remembered(void **state)
{
    (void)state;
    enum { LARGE = 2 * 64 + 2 * 1024 + 31 * 2048, SERIES = LARGE + 100, POINTS = 5000 };
    char cell[64];
    struct sums got = {0};
    struct ts_error err = {0};
    t_fetch_open(&t, plain, 1);
    t_fetch_names(&t, 1, 1, SERIES);
    for (unsigned v = 1; v <= SERIES; v++)
        if (v != LARGE)
            t_put(&t, T_PAIRS(1, v), HOUR, "0000 07");
    for (unsigned i = 0; i < POINTS; i++) {
        (void)snprintf(cell, sizeof(cell), "%08X 01", 0xF0000000u | i << 6);
        t_put(&t, T_PAIRS(1, LARGE), HOUR, cell);
    }
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, add_row, &got, &err), 0);
    assert_int_equal(got.n_rows, SERIES);
    assert_int_equal(got.n_points, SERIES - 1 + POINTS);
    t_fetch_close(&t);
}

/* --- rows that are skipped --- */

static void test_remote_fetch__odd_rows_are_skipped_and_counted(void **state)
{
    (void)state;
    t_fetch_open(&t, salted, 0);
    t_fetch_names(&t, 2, 2, 3);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0000 01");
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), HOUR), other = key;
    other.n--; /* no whole pair */
    t_put_key(&t, &other, "0000 02");
    other = key;
    other.n -= 6; /* no pair */
    t_put_key(&t, &other, "0000 02");
    other = key;
    other.p[other.n - 1] = 0; /* id 0 */
    t_put_key(&t, &other, "0000 02");
    other = key;
    other.p[7] = 1; /* begins in the middle of an hour */
    t_put_key(&t, &other, "0000 02");
    t_put(&t, T_PAIRS(1, 9), HOUR, "0000 03"); /* an id without a name */
    other = t_key(&t, T_PAIRS(1, 2), HOUR);
    other.p[0] = other.p[0] ? 0 : 1; /* the salt bucket of another series */
    t_put_key(&t, &other, "0000 04");
    other.n = sto_hbase_rowkey_global(&t.schema, HOUR * 3600, other.p);
    t_put_key(&t, &other, "010000 7B7D");
    struct sto_fetch f = t_hours(HOUR, HOUR + 2);
    t_expect_fetch(&t, &f, "m1 k1=v1 hour=376944: 0s=1\nm1 k1=v2 hour=376944: 0s=4\n");
    assert_int_equal(t_status(&t, "fetched_odd_keys"), 4);
    assert_int_equal(t_status(&t, "fetched_rows_without_names"), 1);
    assert_int_equal(t_status(&t, "fetched_misplaced_rows"), 1);
    f.metric = TS_SLICE_LIT("m2");
    t_expect_fetch(&t, &f, "");
    f.metric = TS_SLICE_LIT("m3"); /* has no id */
    t_expect_fetch(&t, &f, "");
    t_fetch_close(&t);
}

static void test_remote_fetch__series_without_points_are_none(void **state)
{
    (void)state;
    t_fetch_open(&t, plain, 0);
    t_fetch_names(&t, 1, 1, 3);
    t_put(&t, T_PAIRS(1, 1), HOUR, "010000 7B7D");
    t_put(&t, T_PAIRS(1, 1), HOUR + 1, "010000 7B7D");
    t_put(&t, T_PAIRS(1, 2), HOUR, "010000 7B7D"); /* before the point */
    t_put(&t, T_PAIRS(1, 2), HOUR, "0600 01");
    t_put(&t, T_PAIRS(1, 2), HOUR + 1, "010000 7B7D");
    t_put(&t, T_PAIRS(1, 2), HOUR + 1, "0600 01");
    t_put(&t, T_PAIRS(1, 3), HOUR, "050000 0000 01");
    struct sto_fetch f = t_hours(HOUR, HOUR + 2);
    f.series_only = true;
    t_expect_fetch(&t, &f, "m1 k1=v2 series:\nm1 k1=v3 series:\n");
    struct sto_remote_tag tags[3] = {{TS_SLICE_LIT("k1"), TS_SLICE_LIT("v1")},
                                     {TS_SLICE_LIT("k1"), TS_SLICE_LIT("v2")},
                                     {TS_SLICE_LIT("k1"), TS_SLICE_LIT("v3")}};
    struct sto_remote_series series[3];
    for (int i = 0; i < 3; i++)
        series[i] = (struct sto_remote_series){STO_REMOTE_NO_KEY, TS_SLICE_LIT("m1"), &tags[i], 1};
    f.series = series;
    f.n_series = 3;
    t_expect_fetch(&t, &f, "m1 k1=v2 series pos=1:\nm1 k1=v3 series pos=2:\n");
    f.series_only = false;
    t_expect_fetch(&t, &f,
                   "m1 k1=v2 hour=376944 pos=1: 96s=1\nm1 k1=v2 hour=376945 pos=1: 96s=1\n"
                   "m1 k1=v3 hour=376944 pos=2: 0s=1\n");
    t_fetch_close(&t);
}

/* --- known series --- */

static void test_remote_fetch__known_series(void **state)
{
    (void)state;
    t_fetch_open(&t, salted, 0);
    t_fetch_names(&t, 1, 2, 200);
    for (unsigned v = 1; v <= 200; v++)
        t_put(&t, T_PAIRS(1, v, 2, 1), HOUR + v % 2, "0000 07");
    struct sto_remote_tag tags[4][2] = {
        {{TS_SLICE_LIT("k1"), TS_SLICE_LIT("v150")}, {TS_SLICE_LIT("k2"), TS_SLICE_LIT("v1")}},
        {{TS_SLICE_LIT("k1"), TS_SLICE_LIT("v151")}, {TS_SLICE_LIT("k2"), TS_SLICE_LIT("v1")}},
        {{TS_SLICE_LIT("k1"), TS_SLICE_LIT("nowhere")}, {TS_SLICE_LIT("k2"), TS_SLICE_LIT("v1")}},
        {{TS_SLICE_LIT("k1"), TS_SLICE_LIT("v1")}, {TS_SLICE_LIT("k2"), TS_SLICE_LIT("v2")}}};
    struct sto_remote_series series[5];
    for (int i = 0; i < 5; i++)
        series[i] = (struct sto_remote_series){STO_REMOTE_NO_KEY, TS_SLICE_LIT("m1"), tags[i % 4], 2};
    struct sto_fetch f = t_hours(HOUR, HOUR + 50);
    f.series = series;
    f.n_series = 5;
    static const char want[] = "m1 k1=v150 k2=v1 hour=376944 pos=0: 0s=7\n"
                               "m1 k1=v150 k2=v1 hour=376944 pos=4: 0s=7\n"
                               "m1 k1=v151 k2=v1 hour=376945 pos=1: 0s=7\n";
    t_expect_fetch(&t, &f, want);
    assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER), 0);
    f.from_ms = STO_MIN_TS_MS; /* too many hours for computed keys */
    f.to_ms = STO_MAX_TS_MS;
    t_expect_fetch(&t, &f, want);
    assert_in_range(fake_hbase_count(t.fake, STO_THRIFT_OPEN_SCANNER), 1, 2 * 4);
    f.series_only = true;
    t_expect_fetch(&t, &f,
                   "m1 k1=v150 k2=v1 series pos=0:\nm1 k1=v150 k2=v1 series pos=4:\n"
                   "m1 k1=v151 k2=v1 series pos=1:\n");
    f.n_series = 0;
    t_expect_fetch(&t, &f, "");
    t_fetch_close(&t);
}

/* --- conditions --- */

#define N_VALUES 400u
#define N_GROUPS 7u

/* What a fetch by conditions on k1 and k2 must find. */
static char *expected(bool (*matches)(unsigned v, unsigned group), bool series_only)
{
    struct ts_buf out;
    static char *lines[N_VALUES];
    size_t n = 0;
    ts_buf_init(&out, 0);
    for (unsigned v = 1; v <= N_VALUES; v++)
        if (matches(v, v % N_GROUPS + 1)) {
            struct ts_buf line;
            ts_buf_init(&line, 0);
            ts_buf_printf(&line, "m1 k1=v%u k2=v%u ", v, v % N_GROUPS + 1);
            ts_buf_printf(&line, series_only ? "series:\n" : "hour=%u: 0s=1\n", HOUR + v % 3);
            ts_buf_char(&line, 0);
            lines[n++] = line.p;
        }
    qsort(lines, n, sizeof(char *), t_by_text);
    for (size_t i = 0; i < n; i++) {
        ts_buf_str(&out, lines[i]);
        ts_free(lines[i]);
    }
    ts_buf_char(&out, 0);
    return out.p;
}

static bool odd(unsigned v, unsigned group)
{
    (void)group;
    return v % 2 == 1;
}
static bool some(unsigned v, unsigned group)
{
    return (v == 3 || v == 128 || v == 129 || v == 255 || v == 256 || v == 384) && group != 3;
}
static bool second_group(unsigned v, unsigned group)
{
    return v > 0 && group == 2;
}
static bool all(unsigned v, unsigned group)
{
    return v > 0 && group > 0;
}

/* Every condition and both kinds of fetches. */
static void check_conditions(void)
{
    static struct ts_slice odds[N_VALUES], few[8];
    static char names[N_VALUES + 1][8];
    size_t n_odds = 0, n_few = 0;
    struct ts_slice groups[] = {TS_SLICE_LIT("v1"),           TS_SLICE_LIT("v2"), TS_SLICE_LIT("v4"),
                                TS_SLICE_LIT("v5"),           TS_SLICE_LIT("v6"), TS_SLICE_LIT("v7"),
                                TS_SLICE_LIT("no such value")};
    for (unsigned v = 1; v <= N_VALUES; v++) {
        (void)snprintf(names[v], sizeof(names[v]), "v%u", v);
        if (odd(v, 0))
            odds[n_odds++] = ts_slice_str(names[v]);
        if (v == 3 || v == 128 || v == 129 || v == 255 || v == 256 || v == 384)
            few[n_few++] = ts_slice_str(names[v]);
    }
    struct sto_remote_cond k1 = {.tagk = TS_SLICE_LIT("k1")}, k2 = {.tagk = TS_SLICE_LIT("k2")};
    const struct {
        struct sto_remote_cond conds[2];
        size_t n;
        bool (*matches)(unsigned v, unsigned group);
    } cases[] = {
        {{{k1.tagk, odds, n_odds}}, 1, odd},
        {{{k2.tagk, groups, 7}, {k1.tagk, few, n_few}}, 2, some},
        {{{k2.tagk, &groups[1], 1}}, 1, second_group},
        {{{k2.tagk, &groups[1], 1}, {k2.tagk, groups, 3}}, 2, second_group},
        {{k1, k2}, 2, all},
        {{k1}, 0, all},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int series_only = 0; series_only < 2; series_only++) {
            struct sto_fetch f = t_hours(HOUR, HOUR + 3);
            f.conds = cases[i].conds;
            f.n_conds = cases[i].n;
            f.series_only = series_only;
            char *want = expected(cases[i].matches, series_only);
            t_expect_fetch(&t, &f, want);
            release(want);
        }
    struct sto_remote_cond none[] = {
        {k1.tagk, &groups[6], 1}, {TS_SLICE_LIT("k3"), NULL, 0}, {TS_SLICE_LIT("no such key"), NULL, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct sto_fetch f = t_hours(HOUR, HOUR + 3);
        f.conds = &none[i];
        f.n_conds = 1;
        t_expect_fetch(&t, &f, "");
    }
}

/* Ids with all kinds of low bytes, of width 1 also in front. */
static void test_remote_fetch__conditions(void **state)
{
    (void)state;
    const struct sto_hbase_schema schemas[] = {plain, salted, {2, 1, 2, 2, 3}};
    const unsigned connections[] = {1, 4, 8};
    for (int i = 0; i < 3; i++) {
        t_fetch_open(&t, schemas[i], connections[i]);
        t_fetch_names(&t, 2, 3, N_VALUES);
        for (unsigned v = 1; v <= N_VALUES; v++)
            t_put(&t, T_PAIRS(1, v, 2, v % N_GROUPS + 1), HOUR + v % 3, "0000 01");
        check_conditions();
        t_fetch_close(&t);
    }
}

/* Of so many hours and series all rows of the metric are read, with a filter on the tags that all of the series have. */
static void test_remote_fetch__series_of_many_hours(void **state)
{
    (void)state;
    enum { SERIES = 17, HOURS = 8200 };
    struct sto_remote_series series[SERIES];
    struct sto_remote_tag tags[SERIES][2];
    char values[SERIES][4];
    t_fetch_open(&t, plain, 1);
    t_fetch_names(&t, 1, 2, SERIES);
    for (unsigned i = 0; i < SERIES; i++) { /* the first one has a tag more */
        (void)snprintf(values[i], sizeof values[i], "v%u", i + 1);
        tags[i][0] = (struct sto_remote_tag){TS_SLICE_LIT("k1"), ts_slice_str(values[i])};
        tags[i][1] = (struct sto_remote_tag){TS_SLICE_LIT("k2"), TS_SLICE_LIT("v2")};
        series[i] = (struct sto_remote_series){
            .key = STO_REMOTE_NO_KEY, .metric = TS_SLICE_LIT("m1"), .tags = tags[i], .n_tags = i ? 1 : 2};
        if (i)
            t_put(&t, T_PAIRS(1, i + 1), HOUR + i, "0000 07");
        else
            t_put(&t, T_PAIRS(1, 1, 2, 2), HOUR, "0000 07");
    }
    t_put(&t, T_PAIRS(1, 2, 2, 2), HOUR, "0000 08"); /* another series */
    struct sto_fetch f = t_hours(HOUR - 100, HOUR - 100 + HOURS);
    f.series = series;
    f.n_series = SERIES;
    char *text = t_fetch_text(&t, &f);
    size_t n_lines = 0;
    for (const char *p = text; *p; p = strchr(p, '\n') + 1)
        n_lines++;
    assert_int_equal(n_lines, SERIES);
    assert_null(strstr(text, "0s=8"));
    release(text);
    t_fetch_close(&t);
}

/* The first bytes of a tag follow high bytes of the one before, so that both may be one letter of UTF-8. */
static void test_remote_fetch__conditions_on_bytes_that_are_letters(void **state)
{
    (void)state;
    struct sto_hbase_schema narrow = {1, 1, 1, 0, 20};
    t_fetch_open(&t, narrow, 1);
    t_fetch_name(&t, STO_REMOTE_METRIC, "m1", 1);
    t_fetch_name(&t, STO_REMOTE_TAGK, "k1", 0xC3);
    t_fetch_name(&t, STO_REMOTE_TAGK, "k2", 0xE2);
    t_fetch_name(&t, STO_REMOTE_TAGV, "v1", 0xA9);
    t_fetch_name(&t, STO_REMOTE_TAGV, "v2", 0x82);
    t_fetch_name(&t, STO_REMOTE_TAGV, "v3", 0x27);
    t_put(&t, T_PAIRS(0xC3, 0xA9, 0xE2, 0x82), HOUR, "0000 01");
    t_put(&t, T_PAIRS(0xC3, 0x27, 0xE2, 0x82), HOUR, "0000 02");
    t_put(&t, T_PAIRS(0xC3, 0xA9, 0xE2, 0x27), HOUR, "0000 03");
    struct ts_slice v1 = TS_SLICE_LIT("v1"), v2 = TS_SLICE_LIT("v2"), v3 = TS_SLICE_LIT("v3");
    struct sto_remote_cond conds[] = {{TS_SLICE_LIT("k1"), &v1, 1}, {TS_SLICE_LIT("k2"), &v2, 1}};
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    f.conds = conds;
    f.n_conds = 2;
    t_expect_fetch(&t, &f, "m1 k1=v1 k2=v2 hour=376944: 0s=1\n");
    conds[0].values = &v3;
    t_expect_fetch(&t, &f, "m1 k1=v3 k2=v2 hour=376944: 0s=2\n");
    conds[0].values = &v1;
    conds[1].values = &v3;
    t_expect_fetch(&t, &f, "m1 k1=v1 k2=v3 hour=376944: 0s=3\n");
    t_fetch_close(&t);
}

/* --- rows that OpenTSDB wrote --- */

static struct t_golden_puts all_puts;
static unsigned phases;

static bool same_series(const struct t_golden_put *p, const struct sto_remote_series *s)
{
    bool same = p->ids.n_tags == s->n_tags && ts_slice_is(s->metric, all_puts.name[0][p->ids.metric - 1]);
    for (size_t i = 0; i < s->n_tags && same; i++) {
        bool found = false;
        for (size_t k = 0; k < p->ids.n_tags; k++)
            found = found || (ts_slice_is(s->tags[i].k, all_puts.name[1][p->ids.tag[k].k - 1]) &&
                              ts_slice_is(s->tags[i].v, all_puts.name[2][p->ids.tag[k].v - 1]));
        same = found;
    }
    return same;
}

/* Every point was put, and every time that was put is there. */
static int golden_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    size_t *n_rows = arg, n_times = 0;
    (void)pos, (void)err;
    for (size_t i = 0; i < all_puts.n; i++) {
        const struct t_golden_put *p = &all_puts.put[i];
        bool first = true, found = false;
        if ((unsigned)p->phase > phases || p->base_s != (uint32_t)row->hour * 3600 ||
            !same_series(p, &row->series))
            continue;
        for (size_t k = 0; k < i; k++)
            first = first && !(all_puts.put[k].base_s == p->base_s && all_puts.put[k].off_ms == p->off_ms &&
                               same_series(&all_puts.put[k], &row->series));
        n_times += first;
        for (uint32_t k = 0; k < row->cells->n; k++)
            found = found || sto_meta_off(row->cells->meta[k]) == p->off_ms;
        assert_true(found);
    }
    for (uint32_t k = 0; k < row->cells->n; k++) {
        struct ts_num v = sto_cell_num(row->cells->meta[k], row->cells->m[k]);
        bool found = false;
        for (size_t i = 0; i < all_puts.n; i++) {
            const struct t_golden_put *p = &all_puts.put[i];
            found = found || (p->base_s == (uint32_t)row->hour * 3600 && same_series(p, &row->series) &&
                              p->off_ms == sto_meta_off(row->cells->meta[k]) &&
                              ts_num_double(p->value) == ts_num_double(v) &&
                              (p->value.kind == TS_NUM_INT) == (v.kind == TS_NUM_INT));
        }
        assert_true(found);
    }
    assert_int_equal(row->cells->n, n_times);
    ++*n_rows;
    return 0;
}

static void test_remote_fetch__golden_rows(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        unsigned phases;
    } files[] = {{"plain.jsonl", 1},
                 {"compacted.jsonl", 1},
                 {"compacted-late.jsonl", 2},
                 {"appends.jsonl", 2},
                 {"salt.jsonl", 1}};
    t_golden_puts(&all_puts);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[512];
        size_t n_rows = 0;
        struct ts_error err = {0};
        t_fetch_open(&t, strcmp(files[i].file, "salt.jsonl") == 0 ? salted : plain, 4);
        (void)snprintf(path, sizeof(path), "%s/%s", T_GOLDEN_FOLDER, files[i].file);
        assert_true(fake_hbase_load(t.fake, path));
        phases = files[i].phases;
        for (int kind = 0; kind < 3; kind++)
            for (size_t k = 0; k < all_puts.n_names[kind]; k++)
                t_fetch_name(&t, (enum sto_remote_kind)kind, all_puts.name[kind][k], k + 1);
        for (size_t m = 0; m < all_puts.n_names[0]; m++) {
            struct sto_fetch f = {
                .metric = ts_slice_str(all_puts.name[0][m]), .from_ms = 0, .to_ms = STO_MAX_TS_MS};
            if (t.remote->ops->fetch(t.remote, &f, NULL, golden_row, &n_rows, &err) < 0)
                fail_msg("%s", err.text);
        }
        assert_int_equal(n_rows, 11);
        t_fetch_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_fetch__columns_of_all_kinds_in_one_row),
        cmocka_unit_test(test_remote_fetch__parts_of_hours),
        cmocka_unit_test(test_remote_fetch__damaged_cells_and_duplicates),
        cmocka_unit_test(test_remote_fetch__rows_of_several_results),
        cmocka_unit_test(test_remote_fetch__more_series_than_are_remembered),
        cmocka_unit_test(test_remote_fetch__odd_rows_are_skipped_and_counted),
        cmocka_unit_test(test_remote_fetch__series_without_points_are_none),
        cmocka_unit_test(test_remote_fetch__known_series),
        cmocka_unit_test(test_remote_fetch__conditions),
        cmocka_unit_test(test_remote_fetch__series_of_many_hours),
        cmocka_unit_test(test_remote_fetch__conditions_on_bytes_that_are_letters),
        cmocka_unit_test(test_remote_fetch__golden_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
