/*
 * test_rollup_config.c - OpenTSDB's configuration of rollups: what is refused, and where the points of an internal metric are.
 */
#include "tests/unit/hbase/t_hbase.h"

#include "storage/hbase/rollup_config.h"

#include <stdio.h>
#include <string.h>

#define IDS "\"aggregationIds\":{\"sum\":0,\"COUNT\":1,\"squareSum\":127},"
#define USUAL                                                                                                \
    "{\"table\":\"tsdb\",\"preAggregationTable\":\"p\",\"interval\":\"1m\",\"rowSpan\":\"1h\","              \
    "\"defaultInterval\":true}"
#define HOURLY                                                                                               \
    "{\"table\":\"r1h\",\"preAggregationTable\":\"p1h\",\"interval\":\"1h\",\"rowSpan\":\"1d\","             \
    "\"delaySla\":\"2h\"}"
#define DAILY                                                                                                \
    "{\"table\":\"r1d\",\"preAggregationTable\":\"r1d\",\"interval\":\"1d\",\"rowSpan\":\"1y\","             \
    "\"defaultInterval\":false}"
#define ALL(S) "{" IDS "\"intervals\":[" S "]}"
#define ONE(T, P, I, S)                                                                                      \
    "{\"table\":\"" T "\",\"preAggregationTable\":\"" P "\",\"interval\":\"" I "\",\"rowSpan\":\"" S "\"}"

static struct sto_hbase_rollups rollups;

static int parse(const char *text, struct ts_error *err)
{
    return sto_hbase_rollups_parse(ts_slice_str(text), "_aggregate", "RAW", &rollups, err);
}

static struct sto_hbase_rollup_place find(const char *detail)
{
    struct sto_hbase_rollup_place place;
    struct ts_error err = {0};
    if (sto_hbase_rollups_find(&rollups, ts_slice_str(detail), &place, &err) < 0)
        fail_msg("%s", err.text);
    return place;
}

static void test_rollup_config__places_of_metrics(void **state)
{
    struct ts_error err = {0};
    struct sto_hbase_rollup_place p;
    (void)state;
    if (parse(ALL(DAILY "," USUAL "," HOURLY), &err) < 0)
        fail_msg("%s", err.text);
    p = find("1h-sum");
    assert_string_equal(p.table, "r1h");
    assert_int_equal(p.shape->interval_s, 3600);
    assert_int_equal(p.function, 0);
    assert_string_equal(p.function_name, "sum");
    assert_false(p.pre || p.shared);
    p = find("60m-count:");
    assert_string_equal(p.table, "p1h");
    assert_int_equal(p.function, 1);
    assert_true(p.pre && !p.shared);
    p = find("1d-squareSum:");
    assert_string_equal(p.table, "r1d");
    assert_int_equal(p.shape->unit, STO_HBASE_YEAR);
    assert_int_equal(p.function, 127);
    assert_true(p.pre && p.shared);
    p = find(":");
    assert_string_equal(p.table, "p");
    assert_true(p.pre && !p.shape);
    static const char *const wrong[][2] = {
        {"2h-sum", "no table"}, {"1h-max", "no id"},  {"1m-sum", "no table"}, {"1h", "no table"},
        {"", "no table"},       {"-sum", "no table"}, {"1h-", "no id"},       {"sum:", "no table"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(sto_hbase_rollups_find(&rollups, ts_slice_str(wrong[i][0]), &p, &err), TS_EINVAL);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.text);
    }
    assert_int_equal(sto_hbase_rollups_find(NULL, TS_SLICE_LIT("1h-sum"), &p, &err), TS_EINVAL);
    assert_true(sto_hbase_rollups_is_pre(&rollups, TS_SLICE_LIT("SUM")));
    assert_false(sto_hbase_rollups_is_pre(&rollups, TS_SLICE_LIT("RAW")));
    assert_false(sto_hbase_rollups_is_pre(&rollups, (struct ts_slice){NULL, 0}));
    sto_hbase_rollups_release(&rollups);
    sto_hbase_rollups_release(&rollups);
}

static void test_rollup_config__what_is_wrong_is_refused(void **state)
{
    static const char *const rows[][2] = {
        {"[]", "not an object"},
        {"{", "JSON"},
        {"{\"intervals\":[" USUAL "]}", "aggregationIds is missing"},
        {"{\"aggregationIds\":{\"sum\":128},\"intervals\":[" USUAL "]}", "from 0 to 127"},
        {"{\"aggregationIds\":{\"sum\":\"1\"},\"intervals\":[" USUAL "]}", "from 0 to 127"},
        {"{\"aggregationIds\":{\"sum\":-1},\"intervals\":[" USUAL "]}", "from 0 to 127"},
        {"{\"aggregationIds\":{\"sum\":1,\"max\":1},\"intervals\":[" USUAL "]}", "the same id 1"},
        {"{\"aggregationIds\":{\"sum\":1,\"SUM\":2},\"intervals\":[" USUAL "]}", "twice"},
        {"{\"aggregationIds\":{\"a:b\":1},\"intervals\":[" USUAL "]}", "not the name"},
        {"{\"aggregationIds\":{\"\":1},\"intervals\":[" USUAL "]}", "not the name"},
        {"{" IDS "\"intervals\":{}}", "intervals is missing"},
        {ALL(""), "intervals is missing"},
        {ALL("1"), "not an object"},
        {ALL(HOURLY), "no interval has \"defaultInterval\""},
        {ALL(USUAL "," USUAL), "more than one interval"},
        {ALL(USUAL "," HOURLY "," ONE("x", "y", "60m", "1d")), "occurs twice"},
        {ALL(USUAL "," HOURLY "," ONE("p1h", "y", "10m", "1d")), "a table in common"},
        {ALL(USUAL "," HOURLY "," ONE("y", "r1h", "10m", "1d")), "a table in common"},
        {ALL(USUAL "," ONE("p", "y", "1h", "1d")), "pre-aggregates of the default interval"},
        {ALL(USUAL "," ONE("", "y", "1h", "1d")), "no text \"table\""},
        {ALL(USUAL ",{\"table\":\"t\",\"preAggregationTable\":7,\"interval\":\"1h\",\"rowSpan\":\"1d\"}"),
         "no text \"preAggregationTable\""},
        {ALL(USUAL "," ONE("t", "y", "1h", "1w")), "cannot span 1w"},
        {ALL(USUAL "," ONE("t", "y", "1x", "1d")), "1x"},
        {ALL(USUAL "," ONE("t", "y", "15s", "1d")), "intervals of 15s"},
        {ALL(USUAL "," ONE("t", "y", "7h", "14h")), "12 to"},
        {ALL(USUAL "," ONE("t", "y", "7m", "1d")), "do not always begin"},
        {ALL(USUAL "," ONE("t", "y", "1w", "1y")), "do not always begin"},
        {ALL("{\"table\":\"t\",\"preAggregationTable\":\"p\",\"interval\":\"1m\",\"rowSpan\":\"1h\","
             "\"defaultInterval\":1}"),
         "not true or false"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_error err = {0};
        if (parse(rows[i][0], &err) == 0 || !strstr(err.text, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.text);
        sto_hbase_rollups_release(&rollups);
    }
}

static void test_rollup_config__intervals_are_limited(void **state)
{
    static const unsigned minutes[] = {1,  2,  3,  4,  5,  6,  8,  9,  10,
                                       12, 15, 16, 18, 20, 24, 30, 36, 40}; /* divisors of a day */
    char text[8192];
    struct ts_error err = {0};
    (void)state;
    for (size_t n = STO_HBASE_ROLLUP_INTERVALS; n <= STO_HBASE_ROLLUP_INTERVALS + 1; n++) {
        size_t at = (size_t)snprintf(text, sizeof text, "{" IDS "\"intervals\":[" USUAL);
        for (size_t i = 0; i < n; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "," ONE("a%zu", "b%zu", "%um", "1d"), i, i,
                                   minutes[i]);
        (void)snprintf(text + at, sizeof text - at, "]}");
        int rc = parse(text, &err);
        if (n == STO_HBASE_ROLLUP_INTERVALS && rc < 0)
            fail_msg("%s", err.text);
        sto_hbase_rollups_release(&rollups);
        if (n > STO_HBASE_ROLLUP_INTERVALS && (rc == 0 || !strstr(err.text, "more than 16")))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rollup_config__places_of_metrics),
        cmocka_unit_test(test_rollup_config__what_is_wrong_is_refused),
        cmocka_unit_test(test_rollup_config__intervals_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
