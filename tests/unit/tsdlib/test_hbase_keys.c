/*
 * test_hbase_keys.c - the configuration keys of HBase: defaults, OpenTSDB's names, wrong values, keys without effect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "tsd/daemon/hbase.h"
#include "tsd/daemon/settings.h"

static struct ts_conf *conf;
static struct tsd_hbase_settings set;
static char warned[512];

static int set_up(void **state)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, tsd_hbase_conf_keys};
    (void)state;
    conf = ts_conf_new(tables, 2);
    warned[0] = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tsd_hbase_settings_release(&set);
    ts_conf_free(conf);
    return 0;
}

static void put(const char *key, const char *value)
{
    struct ts_error err = {0};
    if (ts_conf_set(conf, key, ts_slice_str(value), "test", &err) < 0)
        fail_msg("%s", err.text);
}

static int load(struct ts_error *err)
{
    tsd_hbase_settings_release(&set);
    return tsd_hbase_load(conf, &set, err);
}

static void test_hbase_keys__defaults_are_those_of_opentsdb(void **state)
{
    const struct sto_hbase_schema theirs = STO_HBASE_SCHEMA_DEFAULT;
    const struct sto_hbase_tables tables = STO_HBASE_TABLES_DEFAULT;
    (void)state;
    assert_int_equal(load(NULL), 0);
    assert_false(set.on);
    assert_int_equal(set.opts.schema.metric_width, theirs.metric_width);
    assert_int_equal(set.opts.schema.tagk_width, theirs.tagk_width);
    assert_int_equal(set.opts.schema.tagv_width, theirs.tagv_width);
    assert_int_equal(set.opts.schema.salt_width, theirs.salt_width);
    assert_int_equal(set.opts.schema.salt_buckets, theirs.salt_buckets);
    assert_string_equal(set.opts.tables.data, tables.data);
    assert_string_equal(set.opts.tables.uid, tables.uid);
    assert_string_equal(set.opts.tables.tree, tables.tree);
    assert_string_equal(set.opts.tables.meta, tables.meta);
    assert_int_equal(set.ship_every_ms, 10000);
    assert_int_equal(set.keep_local_ms, 48 * 3600000ll);
    assert_int_equal(set.opts.access.n_gateways, 1);
    assert_string_equal(set.gateways[0].host, "127.0.0.1");
    assert_string_equal(set.gateways[0].port, "9090");
}

static void test_hbase_keys__values_arrive(void **state)
{
    (void)state;
    put("remote", "hbase");
    put("hbase_gateways", " a.example.org:9091, [fe80::1]:9092 ,b");
    put("hbase_data_table", "ns:points");
    put("hbase_salt_width", "1");
    put("hbase_transport", "framed");
    put("hbase_ship", "hour");
    put("hbase_keep_local_h", "1");
    put("hbase_sole_writer", "true");
    assert_int_equal(load(NULL), 0);
    assert_true(set.on && set.ship_whole_hours && set.opts.sole_writer);
    assert_int_equal(set.opts.access.n_gateways, 3);
    assert_string_equal(set.gateways[0].host, "a.example.org");
    assert_string_equal(set.gateways[0].port, "9091");
    assert_string_equal(set.gateways[1].host, "fe80::1");
    assert_string_equal(set.gateways[1].port, "9092");
    assert_string_equal(set.gateways[2].host, "b");
    assert_string_equal(set.gateways[2].port, "9090");
    assert_int_equal(set.opts.access.transport, STO_THRIFT_FRAMED);
    assert_int_equal(set.keep_local_ms, 3600000);
    put("hbase_ship", "at_once");
    assert_int_equal(load(NULL), 0);
    assert_true(!set.ship_whole_hours && set.ship_every_ms > 0 && set.ship_every_ms < 1000);
    put("hbase_ship", "60");
    assert_int_equal(load(NULL), 0);
    assert_int_equal(set.ship_every_ms, 60000);
}

static void test_hbase_keys__wrong_values_get_one_sentence(void **state)
{
    static const char *const rows[][3] = {
        {"hbase_gateways", "", "hbase_gateways is empty; name HBase's Thrift2 gateways as host:port"},
        {"hbase_gateways", "a:0", "hbase_gateways: the port \"0\" of a is not 1 to 65535"},
        {"hbase_gateways", "a:", "hbase_gateways: \"a:\" is no host:port; write several as a:9090,b:9090"},
        {"hbase_gateways", "a:1,:2",
         "hbase_gateways: \":2\" is no host:port; write several as a:9090,b:9090"},
        {"hbase_gateways", "a b", "hbase_gateways: \"a b\" is no host:port; write several as a:9090,b:9090"},
        {"hbase_gateways", "[::1",
         "hbase_gateways: \"[::1\" is no host:port; write several as a:9090,b:9090"},
        {"hbase_gateways", "::1", "hbase_gateways: \"::1\" is no host:port; write several as a:9090,b:9090"},
        {"hbase_data_table", "a/b",
         "hbase_data_table: \"a/b\" cannot be the name of a table in HBase; it has letters, digits, _ - and "
         "."},
        {"hbase_data_table", "tsdb-uid",
         "hbase_data_table and hbase_uid_table are both \"tsdb-uid\", but need tables of their own"},
        {"hbase_data_table", "default:tsdb-uid",
         "hbase_data_table and hbase_uid_table are both \"tsdb-uid\", but need tables of their own"},
        {"hbase_meta_table", "default:tsdb",
         "hbase_data_table and hbase_meta_table are both \"default:tsdb\", but need tables of their own"},
        {"hbase_data_table", "hbase:meta",
         "hbase_data_table: the tables of namespace hbase are HBase's own, \"hbase:meta\" too"},
        {"hbase_data_table", "a-b:c",
         "hbase_data_table: \"a-b:c\" cannot be the name of a table in HBase; it has letters, digits, _ - "
         "and "
         "., its namespace only letters, digits and _"},
        {"hbase_gateways", "a:+1", "hbase_gateways: the port \"+1\" of a is not 1 to 65535"},
        {"hbase_ship", "0", "hbase_ship is at_once, hour, or 1 to 86400 seconds, not \"0\""},
        {"hbase_ship", "soon", "hbase_ship is at_once, hour, or 1 to 86400 seconds, not \"soon\""},
        {"hbase_max_connections", "5",
         "hbase_ship_connections is 4, but it must be at least 1, and hbase_max_connections = 5 must leave "
         "two for queries and names"},
        {"hbase_memory_bytes", "32M", "hbase_max_reply_bytes is more than hbase_memory_bytes allows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_error err = {0};
        put(rows[i][0], rows[i][1]);
        assert_int_equal(load(&err), TS_EINVAL);
        assert_string_equal(err.text, rows[i][2]);
        tear_down(NULL);
        set_up(NULL);
    }
    struct ts_error err = {0};
    put("hbase_salt_width", "1");
    put("hbase_salt_buckets", "257");
    assert_int_equal(load(&err), TS_EINVAL);
    assert_non_null(strstr(err.text, "hbase_salt_buckets is 257"));
    assert_true(ts_conf_set(conf, "hbase_keep_local_h", TS_SLICE_LIT("0"), "test", NULL) < 0);
}

static void on_line(void *arg, const char *line)
{
    (void)arg;
    if (!*warned) /* the newest line */
        (void)snprintf(warned, sizeof(warned), "%s", line);
}

static void test_hbase_keys__keys_without_effect_are_named(void **state)
{
    (void)state;
    put("remote", "hbase");
    put("hbase_gateways", "a:1");
    put("hbase_sole_writer", "true");
    ts_log(TS_LOG_WARN, "the line before");
    assert_int_equal(load(NULL), 0);
    ts_log_recent(on_line, NULL);
    assert_non_null(strstr(warned, "the line before"));
    warned[0] = 0;
    put("remote", "none");
    assert_int_equal(load(NULL), 0);
    ts_log_recent(on_line, NULL);
    assert_non_null(strstr(warned, "no effect without remote = hbase: hbase_gateways, hbase_sole_writer"));
}

static void test_hbase_keys__rules_follow(void **state)
{
    struct tsd_rules rules;
    struct ts_error err = {0};
    (void)state;
    tsd_rules_init(&rules, false, true, 0, NULL);
    assert_int_equal(tsd_hbase_rules(conf, &rules, &err), 0);
    assert_false(rules.hbase);
    assert_int_equal(rules.max_tags, TSD_TAGS_DEFAULT);
    put("remote", "hbase");
    assert_int_equal(tsd_hbase_rules(conf, &rules, &err), 0);
    assert_true(rules.hbase);
    assert_int_equal(rules.max_tags, 8);
    put("max_tags", "9");
    assert_int_equal(tsd_hbase_rules(conf, &rules, &err), TS_EINVAL);
    assert_string_equal(err.text, "max_tags is 9, but rows in HBase have at most 8 (remote = hbase)");
    put("max_tags", "8");
    put("max_metric_bytes", "32768");
    assert_int_equal(tsd_hbase_rules(conf, &rules, &err), TS_EINVAL);
    assert_string_equal(err.text,
                        "max_metric_bytes is 32768, but names in HBase have at most 32767 (remote = hbase)");
}

#define ROLLUPS(T)                                                                                           \
    "{\"aggregationIds\":{\"sum\":3},\"intervals\":[{\"table\":\"tsdb\",\"preAggregationTable\":\"tsdb\","   \
    "\"interval\":\"1m\","                                                                                   \
    "\"rowSpan\":\"1h\",\"defaultInterval\":true},{\"table\":\"" T                                           \
    "\",\"preAggregationTable\":\"p\",\"interval\":\"1h\",\"rowSpan\":\"1d\"}]}"

static void rollups_fail(const char *text)
{
    struct ts_error err = {0};
    assert_int_equal(load(&err), 0);
    assert_int_equal(tsd_hbase_load_rollups(conf, &set, &err), TS_EINVAL);
    assert_string_equal(err.text, text);
}

static void test_hbase_keys__rollups_have_tables(void **state)
{
    struct ts_error err = {0};
    (void)state;
    put("rollups", "true");
    assert_int_equal(load(&err), 0);
    assert_int_equal(tsd_hbase_load_rollups(conf, &set, &err), 0); /* not needed */
    assert_null(set.opts.rollups);
    put("remote", "hbase");
    rollups_fail(
        "rollups_config: with remote = hbase it must be OpenTSDB's JSON, which names the tables of rollups");
    put("rollups_config", ROLLUPS("tsdb-uid"));
    rollups_fail("rollups_config has a table \"tsdb-uid\", which is used for something else");
    put("rollups_config", ROLLUPS("tsdb"));
    rollups_fail(
        "rollups_config: the table tsdb has pre-aggregates of the default interval and rollups of 1h");
    put("rollups_config", ROLLUPS("a/b"));
    rollups_fail(
        "rollups_config: \"a/b\" cannot be the name of a table in HBase; it has letters, digits, _ - and .");
    put("rollups_config", "{\"intervals\":[]}");
    rollups_fail("rollups_config: aggregationIds is missing: it gives each function its id");
    put("rollups_config", ROLLUPS("r"));
    assert_int_equal(load(&err), 0);
    if (tsd_hbase_load_rollups(conf, &set, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.opts.rollups->n, 1);
    assert_string_equal(set.opts.rollups->functions[3], "sum");
    assert_string_equal(set.opts.rollups->tag_key, "_aggregate");
    put("rollups", "false");
    assert_int_equal(load(&err), 0);
    assert_int_equal(tsd_hbase_load_rollups(conf, &set, &err), 0);
    assert_null(set.opts.rollups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hbase_keys__defaults_are_those_of_opentsdb, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hbase_keys__values_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hbase_keys__wrong_values_get_one_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hbase_keys__keys_without_effect_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hbase_keys__rules_follow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hbase_keys__rollups_have_tables, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
