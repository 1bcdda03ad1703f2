/*
 * test_out.c - series and totals as JSON, CSV and text, through pieces of the smallest size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/double.h"
#include "base/json.h"
#include "tsd/format/out.h"

static struct ts_buf got;
static char piece[TS_SINK_MAX_ROOM];
static struct ts_sink sink;
static size_t n_pieces;
static int refuse_after;

static int sink_more(struct ts_sink *s, struct ts_error *err)
{
    ts_buf_append(&got, s->start, (size_t)(s->p - s->start));
    s->p = s->start;
    n_pieces++;
    if (refuse_after && n_pieces >= (size_t)refuse_after)
        return ts_error_set(err, TS_ECANCELLED, "gone");
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    ts_buf_init(&got, 0);
    sink = (struct ts_sink){.start = piece, .p = piece, .end = piece + sizeof(piece), .more = sink_more};
    n_pieces = 0;
    refuse_after = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_buf_release(&got);
    return 0;
}

static const char *text(void)
{
    (void)sink_more(&sink, NULL);
    ts_buf_char(&got, 0);
    return got.p;
}

static const struct sto_tag_text tags[] = {{{"host", 4}, {"a\"b", 3}}, {{"dc", 2}, {"x,y", 3}}};
static const struct ts_slice agg_tags[] = {{"iface", 5}};

static void begin(struct tsd_out *o, const struct tsd_out_format *f, const struct qry_spec *spec)
{
    set_up(NULL);
    tsd_out_init(o, f, spec, &sink);
    assert_int_equal(f->begin(o, NULL), 0);
}

/* Returns the text. */
static const char *end(struct tsd_out *o)
{
    assert_int_equal(o->format->end(o, NULL), 0);
    tsd_out_release(o);
    return text();
}

/* One series in a format; returns the text. */
static const char *series(const struct tsd_out_format *f, const struct qry_spec *spec,
                          const struct qry_series *s, int times)
{
    struct tsd_out o;
    begin(&o, f, spec);
    for (int i = 0; i < times; i++)
        assert_int_equal(tsd_out_series(&o, s, NULL), 0);
    return end(&o);
}

static const int64_t times[] = {1500000000000, 1500000001000, 1500009999000, 1500010000000};

static void test_out__json_is_opentsdbs(void **state)
{
    (void)state;
    uint64_t v[] = {ts_double_bits(1), ts_double_bits(-2.5), 7, ts_double_bits(NAN)};
    uint8_t is_int[] = {0, 0, 1, 0};
    struct qry_series s = {.metric = {"m", 1},
                           .tags = tags,
                           .n_tags = 1,
                           .agg_tags = agg_tags,
                           .n_agg_tags = 1,
                           .n = 4,
                           .ts_ms = times,
                           .v = v,
                           .is_int = is_int};
    struct qry_spec spec = {.n_subs = 0};
    const char *one = "{\"metric\":\"m\",\"tags\":{\"host\":\"a\\\"b\"},\"aggregateTags\":[\"iface\"],"
                      "\"dps\":{\"1500000000\":1.0,"
                      "\"1500000001\":-2.5,\"1500009999\":7,\"1500010000\":\"NaN\"}}";
    char want[1024];
    snprintf(want, sizeof(want), "[%s]", one);
    assert_string_equal(series(&tsd_out_json, &spec, &s, 1), want);
    tear_down(NULL);
    snprintf(want, sizeof(want), "[%s,%s]", one, one);
    assert_string_equal(series(&tsd_out_json, &spec, &s, 2), want);
    tear_down(NULL);
    snprintf(want, sizeof(want), "%s\n%s\n", one, one);
    assert_string_equal(series(&tsd_out_ndjson, &spec, &s, 2), want);
    tear_down(NULL);
    assert_string_equal(series(&tsd_out_json, &spec, &s, 0), "[]");
    tear_down(NULL);
    spec.arrays = spec.ms = true;
    s.nan_is_null = true;
    assert_string_equal(series(&tsd_out_json, &spec, &s, 1),
                        "[{\"metric\":\"m\",\"tags\":{\"host\":\"a\\\"b\"},\"aggregateTags\":[\"iface\"],"
                        "\"dps\":[[1500000000000,1.0],"
                        "[1500000001000,-2.5],[1500009999000,7],[1500010000000,null]]}]");
    tear_down(NULL);
    spec.show_summary = true;
    s.n = 0;
    assert_string_equal(series(&tsd_out_json, &spec, &s, 0), "[{\"statsSummary\":{}}]");
}

static void test_out__markdown_escapes_what_is_its_own(void **state)
{
    (void)state;
    static const struct sto_tag_text special[] = {{{"host", 4}, {"a|b*c\\", 6}}, {{"a_b", 3}, {"<x>", 3}}};
    uint64_t v[] = {ts_double_bits(1), ts_double_bits(-2.5), 7, ts_double_bits((double)NAN)};
    uint8_t is_int[] = {0, 0, 1, 0};
    struct qry_series s = {
        .metric = {"m`", 2}, .tags = special, .n_tags = 2, .n = 3, .ts_ms = times, .v = v, .is_int = is_int};
    struct qry_spec spec = {.tz = NULL};
    assert_string_equal(series(&tsd_out_markdown, &spec, &s, 1),
                        "| metric | time | value | tags |\n| :--- | :--- | ---: | :--- |\n"
                        "| m\\` | 2017-07-14T02:40:00Z | 1.0 | host=a\\|b\\*c\\\\ a\\_b=\\<x> |\n"
                        "| m\\` | 2017-07-14T02:40:01Z | -2.5 | host=a\\|b\\*c\\\\ a\\_b=\\<x> |\n"
                        "| m\\` | 2017-07-14T05:26:39Z | 7 | host=a\\|b\\*c\\\\ a\\_b=\\<x> |\n");
    tear_down(NULL);
    s = (struct qry_series){.metric = {"m", 1}, .n = 1, .ts_ms = times + 3, .v = v + 3, .nan_is_null = true};
    spec.times = QRY_TIMES_EPOCH;
    assert_non_null(strstr(series(&tsd_out_markdown, &spec, &s, 1), "\n| m | 1500010000 | null | |\n"));
}

static void test_out__json_never_prints_a_key_twice(void **state)
{
    (void)state;
    int64_t ts[] = {1500000000000, 1500000000500, 1500000001000, 1500000001999, 1500000002000};
    uint64_t v[] = {1, 2, 3, 4, 5};
    struct qry_series s = {.metric = {"m", 1}, .n = 5, .ts_ms = ts, .v = v, .all_int = true};
    struct qry_spec spec = {.n_subs = 0};
    assert_non_null(strstr(series(&tsd_out_json, &spec, &s, 1),
                           "\"dps\":{\"1500000000\":2,\"1500000001\":4,\"1500000002\":5}"));
}

/* Doubles must read back as the same bits and look as Java prints them; many kinds, the short ones above all.
 */
static void test_out__json_doubles_are_javas(void **state)
{
    (void)state;
    uint64_t rng = 0x9e3779b97f4a7c15ull;
    struct qry_spec spec = {.n_subs = 0};
    for (int round = 0; round < 200000; round++) {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        double d;
        if (round % 4 == 0)
            memcpy(&d, &rng, 8);
        else if (round % 4 == 1)
            d = (double)(int64_t)(rng % 2000000000) / 100 - 10000000;
        else if (round % 4 == 2)
            d = (double)(rng % 20000) / (double)(1 + rng % 7);
        else
            d = nextafter((double)(rng % 100000) / 100, round & 4 ? 1e9 : -1e9);
        if (!isfinite(d))
            continue;
        char want[64], line[128];
        want[ts_num_print_java(d, want)] = 0;
        uint64_t v = ts_double_bits(d);
        struct qry_series s = {.metric = {"m", 1}, .n = 1, .ts_ms = times, .v = &v};
        snprintf(line, sizeof(line), ":%s}}]", want);
        const char *have = series(&tsd_out_json, &spec, &s, 1);
        if (!strstr(have, line))
            fail_msg("%s, want %s", have, want);
        tear_down(NULL);
    }
}

static void test_out__long_series_cross_pieces(void **state)
{
    (void)state;
    enum { N = 20000 };
    static int64_t ts[N];
    static uint64_t v[N];
    for (int i = 0; i < N; i++) {
        ts[i] = (1400000000ll + i * 977ll) * 1000;
        v[i] = (uint64_t)(i * 31);
    }
    struct qry_series s = {.metric = {"m", 1}, .n = N, .ts_ms = ts, .v = v, .all_int = true};
    struct qry_spec spec = {.n_subs = 0};
    json_t *root;
    assert_int_equal(ts_json_load(ts_slice_str(series(&tsd_out_json, &spec, &s, 1)), &root, NULL), 0);
    json_t *dps = json_object_get(json_array_get(root, 0), "dps");
    assert_int_equal(json_object_size(dps), N);
    for (int i = 0; i < N; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%lld", 1400000000ll + i * 977ll);
        assert_int_equal(json_integer_value(json_object_get(dps, key)), i * 31);
    }
    json_decref(root);
    assert_true(n_pieces > 50);
}

static void test_out__a_client_that_goes_ends_it(void **state)
{
    (void)state;
    static const struct tsd_out_format *const formats[] = {&tsd_out_json, &tsd_out_csv, &tsd_out_text,
                                                           &tsd_out_ndjson};
    enum { N = 5000 };
    static int64_t ts[N];
    static uint64_t v[N];
    struct qry_series s = {.metric = {"m", 1}, .n = N, .ts_ms = ts, .v = v, .all_int = true};
    struct qry_spec spec = {.ms = true};
    for (size_t i = 0; i < 4; i++) {
        struct tsd_out o;
        struct ts_error err = {0};
        set_up(NULL);
        refuse_after = 2;
        tsd_out_init(&o, formats[i], &spec, &sink);
        assert_int_equal(formats[i]->begin(&o, &err), 0);
        assert_int_equal(tsd_out_series(&o, &s, &err), TS_ECANCELLED);
        tsd_out_release(&o);
        tear_down(NULL);
    }
}

static void test_out__csv_and_text_of_series(void **state)
{
    (void)state;
    uint64_t v[] = {ts_double_bits(1), ts_double_bits(1e300), 7, ts_double_bits(0.1)};
    uint8_t is_int[] = {0, 0, 1, 0};
    struct qry_series s = {
        .metric = {"m", 1}, .tags = tags, .n_tags = 2, .n = 4, .ts_ms = times, .v = v, .is_int = is_int};
    struct qry_spec spec = {.n_subs = 0};
    assert_string_equal(series(&tsd_out_csv, &spec, &s, 1),
                        "metric,timestamp,value,tags\nm,1500000000,1.0,\"host=a\"\"b "
                        "dc=x,y\"\nm,1500000001,1e+300,\"host=a\"\"b dc=x,y\"\n"
                        "m,1500009999,7,\"host=a\"\"b dc=x,y\"\nm,1500010000,0.1,\"host=a\"\"b dc=x,y\"\n");
    tear_down(NULL);
    assert_string_equal(
        series(&tsd_out_text, &spec, &s, 1),
        "m 2017-07-14T02:40:00Z 1.0 {host=a\"b, dc=x,y}\nm 2017-07-14T02:40:01Z 1e+300 {host=a\"b, dc=x,y}\n"
        "m 2017-07-14T05:26:39Z 7 {host=a\"b, dc=x,y}\nm 2017-07-14T05:26:40Z 0.1 {host=a\"b, dc=x,y}\n");
    tear_down(NULL);
    spec.compat = true;
    assert_string_equal(
        series(&tsd_out_text, &spec, &s, 1),
        "m 1500000000000 1.0 {host=a\"b, dc=x,y}\nm 1500000001000 1e+300 {host=a\"b, dc=x,y}\n"
        "m 1500009999000 7 {host=a\"b, dc=x,y}\nm 1500010000000 0.1 {host=a\"b, dc=x,y}\n");
    tear_down(NULL);
    s.n_tags = 0;
    s.n = 1;
    assert_string_equal(series(&tsd_out_text, &spec, &s, 1), "m 1500000000000 1.0 {}\n");
}

/* With compat a series may have several points of one second: the first of them is shown. */
static void test_out__csv_wide_has_one_row_for_a_time(void **state)
{
    (void)state;
    static const int64_t ts[] = {1000, 1000, 1000, 2000, 3000};
    static const uint64_t v[] = {1, 2, 3, 4, 5};
    struct qry_series s = {.metric = {"m", 1}, .n = 5, .ts_ms = ts, .v = v, .all_int = true};
    struct qry_spec spec = {.compat = true};
    assert_string_equal(series(&tsd_out_csv_wide, &spec, &s, 1), "timestamp,m\n1,1\n2,4\n3,5\n");
}

/* Rows of totals in a format. */
static const char *totals(const struct tsd_out_format *f, const struct qry_spec *spec,
                          const struct qry_total *t, size_t n)
{
    struct tsd_out o;
    struct ts_slice name = spec->n_subs ? spec->subs[0].metric : TS_SLICE_LIT("value");
    struct qry_head head = {.tags = spec->by_tags, .n_tags = spec->n_by_tags, .values = &name, .n_values = 1};
    head.n_times = qry_time_columns(&spec->by_time, head.times);
    begin(&o, f, spec);
    assert_int_equal(tsd_out_head(&o, &head, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tsd_out_total(&o, &t[i], NULL), 0);
    return end(&o);
}

static void test_out__totals(void **state)
{
    (void)state;
    struct ts_slice by[] = {{"domain", 6}};
    struct qry_sub sub = {.metric = {"web.hits", 8}};
    struct ts_slice one[] = {{"a.org", 5}}, two[] = {{"b,c", 3}};
    struct qry_total rows[] = {
        {.ts_ms = 1793491200000,
         .local = {.year = 2026, .month = 11, .day = 1, .hour = 2},
         .tags = one,
         .is_int = true,
         .i = 5},
        {.ts_ms = 1793494800000,
         .local = {.year = 2026, .month = 11, .day = 1, .hour = 2},
         .offset_ms = -5 * 3600000ll,
         .repeated = true,
         .tags = two,
         .d = 2.5},
        {.ts_ms = -62135596800000,
         .local = {.year = 1, .month = 1, .day = 1, .hour = 23},
         .offset_ms = 20700000,
         .repeated = true,
         .tags = one,
         .is_int = true,
         .i = (__int128)INT64_MAX * 4},
    };
    struct qry_spec spec = {.subs = &sub,
                            .n_subs = 1,
                            .by_on = true,
                            .by_time = {.n = 1, .unit = TS_UNIT_H},
                            .by_tags = by,
                            .n_by_tags = 1};
    assert_string_equal(totals(&tsd_out_csv, &spec, rows, 3),
                        "date,hour,domain,web.hits\n2026-11-01,02,a.org,5\n2026-11-01,02-05:00,\"b,c\",2.5\n"
                        "0001-01-01,23+05:45,a.org,3.6893488147419103e+19\n");
    tear_down(NULL);
    assert_string_equal(totals(&tsd_out_text, &spec, rows, 2),
                        "2026-11-01 02 a.org 5\n2026-11-01 02-05:00 b,c 2.5\n");
    tear_down(NULL);
    assert_string_equal(totals(&tsd_out_json, &spec, rows, 2),
                        "[{\"metric\":\"web.hits\",\"timestamp\":1793491200,\"date\":\"2026-11-01\",\"hour\":"
                        "\"02\",\"tags\":{\"domain\":"
                        "\"a.org\"},\"value\":5},\n{\"metric\":\"web.hits\",\"timestamp\":1793494800,"
                        "\"date\":\"2026-11-01\",\"hour\":"
                        "\"02-05:00\",\"tags\":{\"domain\":\"b,c\"},\"value\":2.5}]");
    tear_down(NULL);
    spec.by_time.unit = TS_UNIT_D;
    spec.n_by_tags = 0;
    assert_string_equal(totals(&tsd_out_csv, &spec, rows, 1), "date,web.hits\n2026-11-01,5\n");
    tear_down(NULL);
    spec.by_time.n = 0;
    assert_string_equal(totals(&tsd_out_csv, &spec, rows, 1), "web.hits\n5\n");
    tear_down(NULL);
    rows[1].d = NAN;
    assert_string_equal(totals(&tsd_out_json, &spec, rows + 1, 1),
                        "[{\"metric\":\"web.hits\",\"value\":\"NaN\"}]");
}

static void test_out__formats_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(tsd_out_find(TS_SLICE_LIT("csv")), &tsd_out_csv);
    assert_ptr_equal(tsd_out_find(TS_SLICE_LIT("ndjson")), &tsd_out_ndjson);
    assert_null(tsd_out_find(TS_SLICE_LIT("CSV")));
    assert_null(tsd_out_find(TS_SLICE_LIT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_out__json_is_opentsdbs, tear_down),
        cmocka_unit_test_teardown(test_out__markdown_escapes_what_is_its_own, tear_down),
        cmocka_unit_test_teardown(test_out__json_never_prints_a_key_twice, tear_down),
        cmocka_unit_test(test_out__json_doubles_are_javas),
        cmocka_unit_test_teardown(test_out__long_series_cross_pieces, tear_down),
        cmocka_unit_test(test_out__a_client_that_goes_ends_it),
        cmocka_unit_test_teardown(test_out__csv_and_text_of_series, tear_down),
        cmocka_unit_test_teardown(test_out__csv_wide_has_one_row_for_a_time, tear_down),
        cmocka_unit_test_teardown(test_out__totals, tear_down),
        cmocka_unit_test(test_out__formats_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
