/*
 * test_remote_rollup_read.c - reading and deleting rollups and pre-aggregates in a fake HBase.
 */
#include "tests/unit/hbase/rollup_kit.h"

/* --- reading --- */

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct ts_buf *out = arg;
    struct sto_internal name;
    (void)err;
    assert_true(sto_internal_parse(row->series.metric, &name));
    assert_true(ts_slice_is(name.metric, "m"));
    for (size_t i = 0; i < row->series.n_tags; i++)
        ts_buf_printf(out, "%.*s=%.*s ", (int)row->series.tags[i].k.n, row->series.tags[i].k.p,
                      (int)row->series.tags[i].v.n, row->series.tags[i].v.p);
    if (pos != SIZE_MAX)
        ts_buf_printf(out, "@%zu ", pos);
    if (row->cells)
        ts_buf_printf(out, "%d:", row->hour - DAY_HOUR);
    for (uint32_t i = 0; row->cells && i < row->cells->n; i++)
        t_print_point(out, row->cells->meta[i], row->cells->m[i]);
    ts_buf_char(out, '\n');
    return 0;
}

/* Lines of a text in their order. */
static int cmp_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a fetch returns, a line for each row; rows may come in any order. */
static void expect_rows(struct sto_fetch f, const char *want)
{
    struct ts_buf out, sorted;
    struct ts_error err = {0};
    char *lines[64], *rest = NULL;
    size_t n = 0;
    ts_buf_init(&out, 0);
    ts_buf_init(&sorted, 0);
    if (k_remote->ops->fetch(k_remote, &f, NULL, on_row, &out, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_char(&out, 0);
    for (char *line = strtok_r(out.p, "\n", &rest); line && n < 64; line = strtok_r(NULL, "\n", &rest))
        lines[n++] = line;
    if (n)
        qsort(lines, n, sizeof *lines, cmp_lines);
    for (size_t i = 0; i < n; i++)
        ts_buf_printf(&sorted, "%s\n", lines[i]);
    ts_buf_char(&sorted, 0);
    assert_string_equal(sorted.p, want);
    ts_buf_release(&out);
    ts_buf_release(&sorted);
}

/* The same of a spec and hours counted from DAY_HOUR: all series by a scan, and the series by computed keys, which must return the same. */
static void expect_fetch(const char *spec, int32_t from, int32_t to, const char *want)
{
    struct ts_buf name, with_pos;
    struct sto_remote_series series = k_series;
    ts_buf_init(&name, 0);
    ts_buf_init(&with_pos, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_ROLLUP, k_series.metric, ts_slice_str(spec)},
                      &name);
    series.metric = ts_buf_get(&name);
    struct sto_fetch f = {.metric = series.metric,
                          .from_ms = (DAY_HOUR + from) * TS_HOUR_MS,
                          .to_ms = (DAY_HOUR + to + 1) * TS_HOUR_MS - 1};
    expect_rows(f, want);
    for (const char *p = want; *p; p = strchr(p, '\n') + 1)
        ts_buf_printf(&with_pos, "host=a @0 %.*s\n", (int)(strcspn(p, "\n") - 7), p + 7);
    ts_buf_char(&with_pos, 0);
    f.series = &series;
    f.n_series = 1;
    expect_rows(f, with_pos.p);
    f.series_only = true;
    expect_rows(f, *want ? "host=a @0 \n" : "");
    f.series = NULL;
    expect_rows(f, *want ? "host=a \n" : "");
    ts_buf_release(&name);
    ts_buf_release(&with_pos);
}

static void test_remote_rollup_read__reading_what_was_shipped(void **state)
{
    (void)state;
    struct rows b = {.n = 0};
    ship_one("1h-sum", DAY_HOUR - 1, true, "0:-1");
    ship_one("1h-sum", DAY_HOUR, true, "0:1");
    ship_one("1h-sum", DAY_HOUR + 23, true, "0:2.5");
    ship_one("1h-sum", DAY_HOUR + 24, true, "0:0.1");
    add(&b, "1h-count", DAY_HOUR, true, "0:7");
    add(&b, "30s-sum", DAY_HOUR + 2, true, "0:1 30:2 3570:3");
    add(&b, ":", DAY_HOUR + 2, true, "0:5 17:6");
    add(&b, "1d-sum", DAY_HOUR, true, "0:9");
    add(&b, "1d-sum", DAY_HOUR - 20 * 24, true, "0:8"); /* in July */
    ship(&b);
    expect_fetch("1h-sum", 0, 23, "host=a 0: 0s=1\nhost=a 23: 0s=2.5\n");
    expect_fetch("1h-sum", -5, 30,
                 "host=a -1: 0s=-1\nhost=a 0: 0s=1\nhost=a 23: 0s=2.5\nhost=a 24: 0s=0.1\n");
    expect_fetch("1h-sum", 1, 22, ""); /* the same row has points of other hours only */
    expect_fetch("1h-count", -5, 30, "host=a 0: 0s=7\n");
    expect_fetch("1h-sum:", -5, 30, "");
    expect_fetch("1h-max", -5, 30, "");
    expect_fetch("1h-dev", -5, 30, "");
    expect_fetch("2h-sum", -5, 30, "");
    expect_fetch("30s-sum", 2, 2, "host=a 2: 0s=1 30s=2 3570s=3\n");
    expect_fetch("30s-sum", 3, 3, "");
    expect_fetch(":", 0, 30, "host=a 2: 0s=5 17s=6\n");
    expect_fetch("1d-sum", -30 * 24, 24, "host=a -480: 0s=8\nhost=a 0: 0s=9\n");
    expect_fetch("1d-sum", -24, 24, "host=a 0: 0s=9\n");
    expect_fetch("1h-sum", -200000, 200000,
                 "host=a -1: 0s=-1\nhost=a 0: 0s=1\nhost=a 23: 0s=2.5\nhost=a 24: 0s=0.1\n");
    struct sto_fetch part = {.metric = TS_SLICE_LIT("\1r30s-sum\1m"),
                             .from_ms = (DAY_HOUR + 2) * TS_HOUR_MS + 1,
                             .to_ms = (DAY_HOUR + 2) * TS_HOUR_MS + 3569999};
    expect_rows(part, "host=a 2: 30s=2\n");
    part.from_ms--; /* both ends belong to the range */
    part.to_ms++;
    expect_rows(part, "host=a 2: 0s=1 30s=2 3570s=3\n");
    ship_one("30s-sum", DAY_HOUR + 5, true, "0:1");
    part.from_ms = (DAY_HOUR + 5) * TS_HOUR_MS + 1000000; /* none is here, but series are those of the hour */
    part.to_ms = part.from_ms + 1000;
    expect_rows(part, "");
    part.series_only = true;
    expect_rows(part, "host=a \n");
    part.series_only = false;
    part.any_row = true;
    struct sto_fetch nothing = {.metric = TS_SLICE_LIT("\1r30s-sum\1other"), .to_ms = part.to_ms};
    expect_rows(nothing, "");
}

static void test_remote_rollup_read__reading_what_others_wrote(void **state)
{
    (void)state;
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("sum:\0\x10"), "0A", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("SUM:\0\x21"), "000B", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("sum:\0\x33"), "0000000C", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0\x30"), "0D", 2000); /* newer than the one before */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0\x40"), "0E", 2000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("sum:\0\x40"), "0F", 3000); /* also newer */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0\x5b"), "3FC00000", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0\x61"), "01", 1000);       /* too short */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0\x7b"), "7FC00000", 1000); /* not a number */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\1\x80"), "01", 1000);       /* interval 24 of a day */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("count:\0\x90"), "01", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("summary:\0\x90"), "01", 1000);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0"), "01", 1000);
    put_at("r1h", DAY_HOUR + 5, TS_SLICE_LIT("\1\0\x10"), "01", 1000); /* no day begins there */
    expect_fetch("1h-sum", 0, 23,
                 "host=a 1: 0s=10\nhost=a 2: 0s=11\nhost=a 3: 0s=13\nhost=a 4: 0s=15\nhost=a 5: 0s=1.5\n");
    expect_fetch("1h-count", 9, 9, "host=a 9: 0s=1\n");
    expect_fetch("1h-sum", 9, 9, "");
    expect_fetch("1h-sum", 24, 47, "");
}

/* In a table of both kinds the tag tells which series are those of pre-aggregates. */
static void test_remote_rollup_read__reading_a_table_of_both_kinds(void **state)
{
    (void)state;
    static const struct sto_remote_tag pre[] = {{{"_aggregate", 10}, {"SUM", 3}}, {{"host", 4}, {"a", 1}}};
    static const struct sto_remote_tag raw[] = {{{"_aggregate", 10}, {"RAW", 3}}, {{"host", 4}, {"a", 1}}};
    struct rows b = {.n = 0};
    add(&b, "1d-sum", DAY_HOUR, true, "0:1");
    add(&b, "1d-sum:", DAY_HOUR, true, "0:2");
    add(&b, "1d-sum", DAY_HOUR, true, "0:3");
    b.row[1].series.tags = pre;
    b.row[2].series.tags = raw;
    b.row[1].series.n_tags = b.row[2].series.n_tags = 2;
    ship(&b);
    struct sto_fetch f = {.metric = TS_SLICE_LIT("\1r1d-sum\1m"),
                          .from_ms = DAY_HOUR * TS_HOUR_MS,
                          .to_ms = DAY_HOUR * TS_HOUR_MS + 1};
    expect_rows(f, "_aggregate=RAW host=a 0: 0s=3\nhost=a 0: 0s=1\n");
    f.series_only = true;
    expect_rows(f, "_aggregate=RAW host=a \nhost=a \n");
    f.metric = TS_SLICE_LIT("\1r1d-sum:\1m");
    expect_rows(f, "_aggregate=SUM host=a \n");
    f.series_only = false;
    expect_rows(f, "_aggregate=SUM host=a 0: 0s=2\n");
}

/* --- deleting --- */

/* Of a spec, from first_s to last_s after DAY_HOUR. */
static void erase(const char *spec, int64_t first_s, int64_t last_s)
{
    struct ts_buf name;
    struct ts_error err = {0};
    struct sto_remote_series series = k_series;
    int64_t begin_ms = DAY_HOUR * TS_HOUR_MS;
    ts_buf_init(&name, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_ROLLUP, k_series.metric, ts_slice_str(spec)},
                      &name);
    series.metric = ts_buf_get(&name);
    if (k_remote->ops->delete_range(k_remote, &series, begin_ms + first_s * 1000, begin_ms + last_s * 1000,
                                    NULL, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_release(&name);
}

static void test_remote_rollup_read__deleting(void **state)
{
    (void)state;
    for (int h = 0; h < 5; h++)
        ship_one("1h-sum", DAY_HOUR + h, true, "0:1");
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("sum:\0\x21"), "0001", 0);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("summary:\0\x20"), "02", 0);
    ship_one("1h-count", DAY_HOUR + 2, true, "0:2");
    erase("1h-sum:", 0, 90000);
    erase("1h-max", 0, 90000);
    erase("1h-dev", 0, 90000);
    erase("1h-sum", 3601, 3 * 3600 - 1); /* hour 2, in both forms */
    expect("r1h", DAY_HOUR, "010000=01 010010=01 010030=01 010040=01 270020=02 73756D6D6172793A0020=02");
    ship_one("1h-sum", DAY_HOUR + 2, false, "0:9"); /* it is not hidden by the delete */
    expect("r1h", DAY_HOUR,
           "010000=01 010010=01 010020=09 010030=01 010040=01 270020=02 73756D6D6172793A0020=02");
    erase("1h-sum", 0, 4 * 3600);
    expect("r1h", DAY_HOUR, "270020=02 73756D6D6172793A0020=02");
    ship_one(":", DAY_HOUR, true, "0:1 5:2 9:3");
    erase(":", 5, 8);
    expect("agg", DAY_HOUR, "0000=01 0090=03");
    erase(":", -3600, 3600);
    expect("agg", DAY_HOUR, "");
}

/* A range of many rows, some of which begin where none should. */
static void test_remote_rollup_read__deleting_a_long_range(void **state)
{
    (void)state;
    put("r1h", DAY_HOUR - 3000 * 24 + 5, "010010", "01"); /* no day begins there */
    ship_one("1h-sum", DAY_HOUR - 3000 * 24, true, "0:1");
    ship_one("1h-sum", DAY_HOUR - 1000 * 24, true, "0:1");
    ship_one("1h-sum", DAY_HOUR, true, "0:1");
    ship_one("1h-sum", DAY_HOUR + 1, true, "0:1");
    ship_one("1d-sum", DAY_HOUR - 3000 * 24, true, "0:1");
    ship_one("1d-sum", DAY_HOUR + 24, true, "0:1");
    erase("1h-sum", -4000 * 86400ll, 0);
    assert_int_equal(fake_hbase_cells(k_fake, "r1h"), 2); /* that of the odd row, and hour 1 */
    erase("1d-sum", -4000 * 86400ll, 86399);
    expect("p1d", DAY_HOUR - 18 * 24, "010130=01");
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_rollup_read__##NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reading_what_was_shipped),      TEST(reading_what_others_wrote),
        TEST(reading_a_table_of_both_kinds), TEST(deleting),
        TEST(deleting_a_long_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
