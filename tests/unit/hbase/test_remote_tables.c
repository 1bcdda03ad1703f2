/*
 * test_remote_tables.c - split keys, creation of OpenTSDB's tables, what is said about tables that exist.
 *
 * TSD_HBASE_GATEWAY=HOST:PORT: the tables are also created in a real HBase, with names that begin with TSD_HBASE_PREFIX; they stay there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "storage/hbase/remote/tables.h"
#include "storage/hbase/rowkey.h"
#include "tests/hbase/fake_hbase.h"

#define MINUTE_NS 60000000000ll

static struct fake_hbase *fake;
static struct sto_hbase_access *access_to;
static struct sto_hbase_table_list list;
static struct sto_hbase_create want;
static struct ts_error err;

static struct sto_hbase_access *reach(const char *host, const char *port)
{
    struct sto_thrift_gateway g = {host, port};
    return sto_hbase_access_new(&(struct sto_hbase_access_opts){.gateways = &g, .n_gateways = 1});
}

static int probe(const struct sto_thrift_gateway *g, int64_t timeout_ms)
{
    struct sto_hbase_access_opts opts = {.gateways = g, .n_gateways = 1, .timeout_ms = timeout_ms};
    return sto_hbase_gateway_probe(&opts, 0, "tsdb", &err);
}

static int setup(void **state)
{
    (void)state;
    fake = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(fake);
    access_to = reach("127.0.0.1", fake_hbase_port(fake));
    sto_hbase_table_list_init(&list, NULL);
    want = STO_HBASE_CREATE_DEFAULT;
    err = (struct ts_error){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sto_hbase_table_list_release(&list);
    sto_hbase_table_list_release(&list);
    sto_hbase_access_free(access_to);
    fake_hbase_stop(fake);
    return 0;
}

static void create(int expected)
{
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS};
    sto_hbase_table_list_release(&list);
    if (sto_hbase_tables_plan(&want, &list, &err) < 0)
        fail_msg("%s", err.text);
    int rc = sto_hbase_tables_create(access_to, &call, &list, &err);
    if (rc != expected)
        fail_msg("%d: %s", rc, err.text);
}

/* The split keys of the data table in hexadecimal digits, with blanks between them. */
static void splits_are(const char *expected)
{
    char text[1024] = "";
    size_t n = 0;
    for (size_t i = 0; i < list.tables[0].n_splits; i++) {
        if (i)
            text[n++] = ' ';
        assert_true(n + 2 * list.tables[0].splits[i].n < sizeof text - 2);
        sto_hbase_hex_print(list.tables[0].splits[i], text + n);
        n += 2 * list.tables[0].splits[i].n;
    }
    text[n] = 0;
    assert_string_equal(text, expected);
}

static void plan_splits(const char *expected)
{
    sto_hbase_table_list_release(&list);
    if (sto_hbase_tables_plan(&want, &list, &err) < 0)
        fail_msg("%s", err.text);
    splits_are(expected);
    for (size_t i = 1; i < STO_HBASE_N_TABLES; i++)
        assert_int_equal(list.tables[i].n_splits, 0);
}

static void plan_fails(const char *text)
{
    sto_hbase_table_list_release(&list);
    assert_int_equal(sto_hbase_tables_plan(&want, &list, &err), TS_EINVAL);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
}

static void test_remote_tables__split_keys(void **state)
{
    struct ts_slice keys[] = {TS_SLICE_LIT("\x01"), TS_SLICE_LIT("\x01\x80"), TS_SLICE_LIT("\xff")};
    (void)state;
    plan_splits("");
    want.schema.salt_width = 1;
    want.schema.salt_buckets = 4;
    plan_splits("");
    want.split = STO_HBASE_SPLIT_SALT;
    plan_splits("01 02 03");
    want.schema.salt_width = 2;
    plan_splits("0001 0002 0003");
    want.split = STO_HBASE_SPLIT_METRIC;
    want.schema.salt_width = 0;
    want.n_metrics = 1000;
    want.n_ranges = 4;
    plan_splits("0000FB 0001F5 0002EF");
    want.schema.salt_width = 1;
    want.schema.salt_buckets = 2;
    want.n_ranges = 2;
    plan_splits("000001F5 01 010001F5");
    want.schema.metric_width = 8;
    want.schema.salt_width = 0;
    want.n_metrics = UINT64_MAX;
    plan_splits("8000000000000000");
    want.split = STO_HBASE_SPLIT_KEYS;
    want.keys = keys;
    want.n_keys = 3;
    plan_splits("01 0180 FF");
}

static void test_remote_tables__wrong_requests(void **state)
{
    struct ts_slice keys[] = {TS_SLICE_LIT("b"), TS_SLICE_LIT("b")};
    (void)state;
    want.split = STO_HBASE_SPLIT_SALT;
    plan_fails("hbase_salt_width is 0");
    want.schema.salt_width = 4;
    want.schema.salt_buckets = 1000000;
    plan_fails("1000000 regions");
    want.schema.salt_width = 9;
    plan_fails("hbase_salt_width is 9");
    want.schema = STO_HBASE_SCHEMA_DEFAULT;
    want.split = STO_HBASE_SPLIT_METRIC;
    want.n_metrics = 1 << 24;
    want.n_ranges = 2;
    plan_fails("hbase_metric_width = 3");
    want.n_metrics = 3;
    want.n_ranges = 4;
    plan_fails("3 metric ids");
    want.n_ranges = 1;
    plan_fails("2 or more ranges");
    want.split = STO_HBASE_SPLIT_KEYS;
    want.keys = keys;
    want.n_keys = 2;
    plan_fails("the split key 62 is not above 62");
    keys[0] = TS_SLICE_LIT("");
    plan_fails("has 0 bytes, but it must have 1 to");
    want = STO_HBASE_CREATE_DEFAULT;
    want.names.tree = "tsdb";
    plan_fails("hbase_data_table and hbase_tree_table");
    want.names.tree = "a b";
    plan_fails("hbase_tree_table: \"a b\"");
}

static void families_are(const struct sto_hbase_table *t, const char *names)
{
    char text[100] = "";
    for (size_t i = 0; i < t->n_families; i++) {
        const struct sto_thrift_family *f = &t->families[i];
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", i ? " " : "",
                       (int)f->name.n, f->name.p);
        assert_int_equal(f->bloom, want.bloom);
        assert_int_equal(f->compression, want.compression);
        assert_int_equal(f->encoding, want.encoding);
    }
    assert_string_equal(text, names);
}

/* The tables as they are requested, in a HBase that has none of them. */
static void creates_all(void)
{
    static const char *const families[] = {"t", "id name", "t", "name"};
    want.ttl_s = 86400;
    want.schema.salt_width = 1;
    want.schema.salt_buckets = 3;
    want.split = STO_HBASE_SPLIT_SALT;
    want.encoding = STO_THRIFT_ENCODING_FAST_DIFF;
    create(0);
    for (size_t i = 0; i < STO_HBASE_N_TABLES; i++) {
        const struct sto_hbase_table *t = &list.tables[i];
        assert_true(t->exists && !t->existed);
        assert_string_equal(t->difference, "");
        families_are(t, families[i]);
        assert_int_equal(t->n_regions, i == 0 ? 3 : 1);
        assert_int_equal(t->families[0].ttl_s, i == 0 ? 86400 : INT32_MAX);
    }
    const struct sto_hbase_table *data = &list.tables[0];
    assert_int_equal(data->families[0].max_versions, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(data->regions[i].start.n, i > 0);
        assert_true(i == 0 || data->regions[i].start.p[0] == (char)i);
        assert_true(data->regions[i].host.n > 0);
    }
    create(0);
    for (size_t i = 0; i < STO_HBASE_N_TABLES; i++)
        assert_true(list.tables[i].existed && list.tables[i].exists);
    assert_string_equal(list.tables[0].difference, "");
    assert_int_equal(list.tables[0].n_regions, 3);
}

static void test_remote_tables__creates_what_is_missing(void **state)
{
    (void)state;
    creates_all();
    assert_int_equal(fake_hbase_count(fake, STO_THRIFT_CREATE_TABLE), 4);
}

static void test_remote_tables__existing_tables_stay(void **state)
{
    (void)state;
    fake_hbase_create(fake, "tsdb", "x");
    fake_hbase_create(fake, "tsdb-uid", "name");
    fake_hbase_create(fake, "tsdb-tree", "t");
    want.split = STO_HBASE_SPLIT_KEYS;
    want.keys = &TS_SLICE_LIT("m");
    want.n_keys = 1;
    want.compression = STO_THRIFT_COMPRESSION_GZ;
    create(0);
    assert_int_equal(fake_hbase_count(fake, STO_THRIFT_CREATE_TABLE), 1);
    assert_true(list.tables[0].existed && list.tables[0].n_regions == 1);
    assert_string_equal(list.tables[0].difference,
                        "family t is missing; its 1 region is not divided at 1 of the 1 split keys that are "
                        "requested");
    assert_string_equal(list.tables[1].difference,
                        "family id is missing; compression of family name is NONE, not GZ; data block "
                        "encoding of family name is NONE, not DIFF");
    assert_string_equal(list.tables[2].difference,
                        "compression of family t is NONE, not GZ; data block encoding of family t is NONE, "
                        "not DIFF");
    assert_true(!list.tables[3].existed && list.tables[3].exists);
    assert_string_equal(list.tables[3].difference, "");
}

static void test_remote_tables__looking_creates_nothing(void **state)
{
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS};
    (void)state;
    fake_hbase_create(fake, "tsdb", "t");
    want.ttl_s = 60;
    assert_int_equal(sto_hbase_tables_plan(&want, &list, &err), 0);
    assert_int_equal(sto_hbase_tables_look(access_to, &call, &list, &err), 0);
    assert_true(list.tables[0].existed);
    assert_non_null(strstr(list.tables[0].difference, "TTL in seconds of family t is unlimited, not 60"));
    assert_false(list.tables[1].exists || list.tables[1].existed);
    assert_int_equal(list.tables[1].n_wanted, 2);
    assert_int_equal(fake_hbase_count(fake, STO_THRIFT_CREATE_TABLE), 0);
}

static void other_program(void *arg, const struct fake_hbase_request *r)
{
    (void)arg;
    if (r->call == STO_THRIFT_CREATE_TABLE)
        fake_hbase_create(fake, "tsdb", "t");
}

static void test_remote_tables__lost_replies_and_other_programs(void **state)
{
    (void)state;
    for (unsigned skip = 0; skip < 2; skip++)
        fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_DROP_AFTER,
                                                         .of_call = true,
                                                         .call = STO_THRIFT_CREATE_TABLE,
                                                         .skip = skip});
    fake_hbase_set_before(fake, other_program, NULL);
    create(0);
    assert_int_equal(fake_hbase_faults(fake), 2);
    for (size_t i = 0; i < STO_HBASE_N_TABLES; i++)
        assert_true(list.tables[i].exists && !list.tables[i].existed);
}

static void test_remote_tables__refusals_name_the_table(void **state)
{
    (void)state;
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR,
                                                     .of_call = true,
                                                     .call = STO_THRIFT_CREATE_TABLE,
                                                     .skip = 1});
    create(TS_EBACKEND);
    assert_non_null(strstr(err.text, "table tsdb-uid was not created"));
    create(0);
    assert_true(list.tables[0].existed && !list.tables[1].existed);
}

static void test_remote_tables__memory_is_counted(void **state)
{
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS};
    struct ts_budget small, large;
    (void)state;
    ts_budget_init(&small, "small", "key", NULL, 100);
    ts_budget_init(&large, "large", "key", NULL, 1 << 20);
    want.schema.salt_width = 2;
    want.schema.salt_buckets = 1000;
    want.split = STO_HBASE_SPLIT_SALT;
    sto_hbase_table_list_init(&list, &small);
    assert_int_equal(sto_hbase_tables_plan(&want, &list, &err), TS_ELIMIT);
    sto_hbase_table_list_release(&list);
    sto_hbase_table_list_init(&list, &large);
    assert_int_equal(sto_hbase_tables_plan(&want, &list, &err), 0);
    assert_int_equal(sto_hbase_tables_create(access_to, &call, &list, &err), 0);
    assert_int_equal(list.tables[0].n_regions, 1000);
    assert_true(large.used_bytes > 0);
    sto_hbase_table_list_release(&list);
    assert_int_equal(large.used_bytes, 0);
    assert_int_equal(small.used_bytes, 0);
    sto_hbase_table_list_init(&list, NULL);
}

static void test_remote_tables__gateways_are_probed(void **state)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(fake)};
    (void)state;
    assert_int_equal(probe(&g, 60000), 0);
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_DROP});
    assert_int_equal(probe(&g, 60000), TS_EBACKEND);
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_HANG});
    assert_int_equal(probe(&g, 200), TS_ETIMEOUT);
    fake_hbase_down(fake);
    assert_int_equal(probe(&g, 60000), TS_EBACKEND);
    assert_non_null(strstr(err.text, "127.0.0.1"));
}

static void test_remote_tables__names_of_attributes(void **state)
{
    (void)state;
    assert_int_equal(sto_hbase_attribute_value(STO_HBASE_ENCODING, TS_SLICE_LIT("fast_diff")),
                     STO_THRIFT_ENCODING_FAST_DIFF);
    assert_int_equal(sto_hbase_attribute_value(STO_HBASE_COMPRESSION, TS_SLICE_LIT("zstd")),
                     STO_THRIFT_COMPRESSION_ZSTD);
    assert_int_equal(sto_hbase_attribute_value(STO_HBASE_BLOOM, TS_SLICE_LIT("ROWCOL")),
                     STO_THRIFT_BLOOM_ROWCOL);
    assert_int_equal(sto_hbase_attribute_value(STO_HBASE_BLOOM, TS_SLICE_LIT("ROWS")), -1);
    assert_string_equal(sto_hbase_attribute_name(STO_HBASE_ENCODING, 3), "DIFF");
    assert_null(sto_hbase_attribute_name(STO_HBASE_ENCODING, 1));
    assert_null(sto_hbase_attribute_name(STO_HBASE_ENCODING, 8));
    assert_null(sto_hbase_attribute_name(STO_HBASE_BLOOM, -1));
}

static void test_remote_tables__a_real_hbase(void **state)
{
    char host[100], names[4][100], *colon;
    const char *prefix = getenv("TSD_HBASE_PREFIX");
    (void)state;
    (void)snprintf(host, sizeof host, "%s", getenv("TSD_HBASE_GATEWAY"));
    colon = strrchr(host, ':');
    assert_non_null(colon);
    *colon = 0;
    sto_hbase_access_free(access_to);
    access_to = reach(host, colon + 1);
    for (int i = 0; i < 4; i++)
        (void)snprintf(names[i], sizeof names[i], "%s%lld_%d", prefix ? prefix : "tsd_tables_",
                       (long long)ts_clock_ms(), i);
    want.names = (struct sto_hbase_tables){names[0], names[1], names[2], names[3]};
    creates_all();
}

/* Tables of rollups are created with the splits of the data table, each once, and without its TTL. */
static void test_remote_tables__rollups_have_tables(void **state)
{
    static const char *const rows[][2] = {
        {"pre-aggregate", "agg"}, {"rollup 1h", "r1h"}, {"pre-aggregate 1h", "p1h"}, {"rollup 1d", "r1d"}};
    static const char json[] =
        "{\"aggregationIds\":{\"sum\":0},\"intervals\":["
        "{\"table\":\"tsdb\",\"preAggregationTable\":\"agg\",\"interval\":\"1m\",\"rowSpan\":\"1h\","
        "\"defaultInterval\":true},"
        "{\"table\":\"r1h\",\"preAggregationTable\":\"p1h\",\"interval\":\"1h\",\"rowSpan\":\"1d\"},"
        "{\"table\":\"r1d\",\"preAggregationTable\":\"r1d\",\"interval\":\"1d\",\"rowSpan\":\"1n\"}]}";
    struct sto_hbase_rollups rollups;
    (void)state;
    assert_int_equal(sto_hbase_rollups_parse(ts_slice_str(json), "_aggregate", "RAW", &rollups, &err), 0);
    want.rollups = &rollups;
    creates_all();
    assert_int_equal(list.n, STO_HBASE_N_TABLES + 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sto_hbase_table *t = &list.tables[STO_HBASE_N_TABLES + i];
        assert_string_equal(t->role, rows[i][0]);
        assert_string_equal(t->name, rows[i][1]);
        assert_true(t->exists);
        families_are(t, "t");
        assert_int_equal(t->n_regions, 3);
        assert_int_equal(t->families[0].ttl_s, INT32_MAX);
        assert_int_equal(t->families[0].max_versions, 1);
    }
    sto_hbase_rollups_release(&rollups);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_tables__##NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(split_keys),
        TEST(wrong_requests),
        TEST(creates_what_is_missing),
        TEST(existing_tables_stay),
        TEST(looking_creates_nothing),
        TEST(rollups_have_tables),
        TEST(lost_replies_and_other_programs),
        TEST(refusals_name_the_table),
        TEST(memory_is_counted),
        TEST(gateways_are_probed),
        TEST(names_of_attributes),
    };
    const struct CMUnitTest live[] = {TEST(a_real_hbase)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return getenv("TSD_HBASE_GATEWAY") ? failed + cmocka_run_group_tests(live, NULL, NULL) : failed;
}
