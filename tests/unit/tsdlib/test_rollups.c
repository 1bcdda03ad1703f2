/*
 * test_rollups.c - rollups that clients send: configuration, every refusal of the line, hidden names.
 */
#include "t_ingest.h"

#include "query/execution/internal_metric.h"
#include "tsd/ingest/rollups.h"
#include "tsd/daemon/settings.h"

static struct ts_conf *conf;
static struct qry_rollups rollups;

static void configure(const char *config)
{
    static const struct ts_conf_key *tables[] = {tsd_conf_keys};
    struct ts_error err = {0};
    conf = ts_conf_new(tables, 1);
    assert_int_equal(ts_conf_set(conf, "rollups", TS_SLICE_LIT("true"), "test", &err), 0);
    assert_int_equal(ts_conf_set(conf, "rollups_config", ts_slice_str(config), "test", &err), 0);
    if (tsd_rollups_load(conf, &rollups, &err) < 0)
        fail_msg("%s", err.text);
    t.line.rollups = &rollups;
}

static int set_up_on(void **state)
{
    (void)state;
    t_open(&t, false);
    configure("1m, 1 hour ,1d");
    return 0;
}

static int tear_down_on(void **state)
{
    (void)state;
    tsd_rollups_release(&rollups);
    ts_conf_free(conf);
    t_close(&t);
    return 0;
}

static void test_rollups__lines_are_refused_with_opentsdbs_texts(void **state)
{
    static const char *const rows[][2] = {
        {"rollup", "rollup: illegal argument: not enough arguments (need least 5, got 0)\n"},
        {"rollup 1h-sum m 1500000000 2",
         "rollup: illegal argument: not enough arguments (need least 5, got 4)\n"},
        {"rollup 1h- m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup -sum m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup 1h-sum: m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup : m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup 1h-sum: m 1500000000 2 a=b _aggregate=MAX", ""}, /* what export writes */
        {"rollup  m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup 1h-sum m 1500000000 2 ",
         "rollup: illegal argument: Need at least one tag (metric=m, tags={})\n"},
        {"rollup sum:max m 1500000000 2 a=b", "rollup: illegal argument: Missing interval or aggregator\n"},
        {"rollup 7m-sum m 1500000000 2 a=b", "rollup: illegal argument: No such rollup: 7m\n"},
        {"rollup 1xh-sum m 1500000000 2 a=b", "rollup: illegal argument: No such rollup: 1xh\n"},
        {"rollup x-sum m 1500000000 2 a=b", "rollup: illegal argument: No such rollup: x\n"},
        {"rollup 1h-blah m 1500000000 2 a=b", "rollup: illegal argument: No such rollup: aggregator blah\n"},
        {"rollup 1h-none m 1500000000 2 a=b", "rollup: illegal argument: No such rollup: aggregator none\n"},
        {"rollup 1h-avg m 1500000000 2 a=b", "rollup: illegal argument: Derived rollup aggregations are not "
                                             "allowed (rollups_block_derived): avg\n"},
        {"rollup 1h-sum  1500000000 2 a=b", "rollup: illegal argument: empty metric name\n"},
        {"rollup 1h-sum m 15x 2 a=b", "rollup: invalid value: Invalid character 'x' in 15x\n"},
        {"rollup 1h-sum m 1500000000 2x a=b", "rollup: invalid value: Invalid character 'x' in 2x\n"},
        {"rollup 1h-sum m 1500000000 2 ab", "rollup: illegal argument: invalid tag: ab\n"},
        {"rollup 1h-sum m 1500000000123 2 a=b",
         "rollup: illegal argument: bad timestamp=1500000000123 when trying "
         "to add value=2 to metric=m, tags={a=b}\n"},
        {"rollup 1h-sum m! 1500000000 2 a=b",
         "rollup: illegal argument: Invalid metric name (\"m!\"): illegal character: !\n"},
        {"rollup 1h-sum m 1500000000 2 a=b", ""},
        {"rollup 60m-SUM m 1500000000 2 a=b", ""},
        {"rollup 60min-sum m 1500000000 2 a=b", ""},
        {"rollup sum m 1500000000 2 a=b", ""},
        {"rollup 1h-sum:max m 1500000000 2 a=b", ""},
    };
    (void)state;
    t_each_line(&t, rows, sizeof(rows) / sizeof(rows[0]));
    assert_int_equal(t.line.n_points, 6);
    /* none of them is a point of m */
    assert_string_equal(t_points(&t), "rollup 1h-sum m 1499997600 2 a=b\n"
                                      "rollup 1h-sum: m 1499997600 2 _aggregate=MAX a=b\n"
                                      "rollup : m 1500000000 2 _aggregate=SUM a=b\n");
}

static void test_rollups__off_says_so(void **state)
{
    (void)state;
    t.line.rollups = NULL;
    assert_string_equal(t_send(&t, "rollup 1h-sum m 1500000000 2 a=b\n"),
                        "rollup: illegal argument: No rollup or aggregations were configured\n");
}

/* Import into a folder has no configuration: it takes what was taken once. */
static void test_rollups__import_takes_every_interval(void **state)
{
    static const char *const good[] = {"1h-sum m 1500000000 2 a=b", "7m-avg m 1500000000 2 a=b",
                                       "90s-dev: m 1500000000 2 a=b", ": m 1500000000 2 a=b",
                                       "sum m 1500000000 2 a=b"};
    static const char *const bad[] = {"7q-sum m 1500000000 2 a=b", "1h-what m 1500000000 2 a=b",
                                      "10ms-sum m 1500000000 2 a=b", "1h-sum m 1500000000 2",
                                      "12345678901234567h-sum m 1500000000 2 a=b"};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (tsd_rollup_line(&t.in, &tsd_rollups_any, ts_slice_str(good[i])) < 0)
            fail_msg("%s: %.*s", good[i], (int)t.in.msg.n, t.in.msg.p);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (tsd_rollup_line(&t.in, &tsd_rollups_any, ts_slice_str(bad[i])) == 0)
            fail_msg("%s was taken", bad[i]);
}

static void test_rollups__names_are_hidden(void **state)
{
    struct ts_buf b;
    struct sto_internal h;
    (void)state;
    ts_buf_init(&b, 0);
    sto_internal_name(
        &(struct sto_internal){STO_INTERNAL_ROLLUP, TS_SLICE_LIT("cpu.user"), TS_SLICE_LIT("1h-sum:")}, &b);
    assert_true(sto_name_internal(ts_buf_get(&b)));
    assert_true(sto_internal_parse(ts_buf_get(&b), &h));
    assert_int_equal(h.kind, STO_INTERNAL_ROLLUP);
    assert_true(ts_slice_is(h.metric, "cpu.user") && ts_slice_is(h.detail, "1h-sum:"));
    ts_buf_clear(&b);
    sto_internal_name(
        &(struct sto_internal){STO_INTERNAL_HISTOGRAM, TS_SLICE_LIT("m"), TS_SLICE_LIT("0.0,10.0")}, &b);
    assert_true(sto_internal_parse(ts_buf_get(&b), &h));
    assert_true(ts_slice_is(h.metric, "m") && ts_slice_is(h.detail, "0.0,10.0"));
    ts_buf_release(&b);
    static const char *const bad[] = {"", "m", "\1", "\1r", "\1x1h\1m", "\1rsum", "\1r1h-sum\1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(sto_internal_parse(ts_slice_str(bad[i]), &h));
}

static void count_name(void *arg, uint32_t id, struct ts_slice name)
{
    (void)id;
    assert_true(ts_slice_is(name, "m"));
    ++*(int *)arg;
}

static void test_rollups__the_visible_series_is_made_and_renamed_with_it(void **state)
{
    struct ts_error err = {0};
    int n = 0;
    uint32_t id;
    (void)state;
    assert_string_equal(t_send(&t, "rollup 1h-sum m 1500000000 2 a=b\nrollup 1h-count m 1500000000 2 a=b\n"),
                        "");
    struct sto_catalog *cat = sto_store_catalog(t.store);
    sto_uid_suggest(cat, STO_UID_METRIC, TS_SLICE_LIT(""), 100, count_name, &n);
    assert_int_equal(n, 1);
    assert_int_equal(qry_internal_restore(t.store, &err), 0);
    assert_int_equal(sto_series_count(cat), 3);
    assert_int_equal(qry_metric_rename(t.store, TS_SLICE_LIT("m"), TS_SLICE_LIT("new"), &err), 0);
    assert_int_equal(sto_uid_find(cat, STO_UID_METRIC, TS_SLICE_LIT("\1r1h-sum\1new"), &id), 0);
    assert_int_equal(qry_internal_restore(t.store, &err), 0);
    assert_int_equal(sto_series_count(cat), 3); /* new a=b is there */
}

static void test_rollups__opentsdbs_configuration_is_read(void **state)
{
    (void)state;
    tsd_rollups_release(&rollups);
    ts_conf_free(conf);
    configure("{\"aggregationIds\":{\"sum\":0,\"COUNT\":1},\"intervals\":["
              "{\"table\":\"tsdb\",\"preAggregationTable\":\"p\",\"interval\":\"1m\",\"rowSpan\":\"1h\","
              "\"defaultInterval\":true},"
              "{\"table\":\"a\",\"preAggregationTable\":\"b\",\"interval\":\"1h\",\"rowSpan\":\"1d\"},"
              "{\"table\":\"a\",\"preAggregationTable\":\"b\",\"interval\":\"10m\",\"rowSpan\":\"1d\"}]}");
    assert_int_equal(rollups.n_steps, 2);
    assert_string_equal(rollups.steps[0].text, "10m");
    assert_string_equal(rollups.steps[1].text, "1h");
    assert_string_equal(t_send(&t, "rollup 10m-count m 1500000000 2 a=b\n"), "");
    assert_string_equal(t_send(&t, "rollup 1h-max m 1500000000 2 a=b\n"),
                        "rollup: illegal argument: No such rollup: aggregator max\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rollups__lines_are_refused_with_opentsdbs_texts, set_up_on,
                                        tear_down_on),
        cmocka_unit_test_setup_teardown(test_rollups__off_says_so, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_rollups__import_takes_every_interval, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_rollups__names_are_hidden, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_rollups__the_visible_series_is_made_and_renamed_with_it,
                                        set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_rollups__opentsdbs_configuration_is_read, set_up_on,
                                        tear_down_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
