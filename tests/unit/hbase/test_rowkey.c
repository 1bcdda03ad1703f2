/*
 * test_rowkey.c - keys of rows, salts, TSUIDs and ranges of keys.
 */
#include "tests/unit/hbase/t_hbase.h"

#include <stdio.h>

#include "storage/hbase/rowkey.h"
#include "tests/unit/t_random.h"

static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 20};

/* The key and TSUID of ids are these, and both are parsed into ids in the order of the key. */
static void expect_key(const struct sto_hbase_schema *s, const struct sto_hbase_ids *ids, uint32_t base_s,
                       const char *tsuid_hex, const char *key_hex)
{
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES], key[STO_HBASE_MAX_KEY_BYTES], again[sizeof(tsuid)];
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_ids_check(s, ids, &err), 0);
    struct ts_slice id = {(const char *)tsuid, sto_hbase_tsuid_make(s, ids, tsuid)};
    t_assert_hex(tsuid, id.n, tsuid_hex);
    struct ts_slice made = {(const char *)key, sto_hbase_rowkey_make(s, id, base_s, key)};
    t_assert_hex(key, made.n, key_hex);
    struct sto_hbase_rowkey parsed;
    assert_int_equal(sto_hbase_rowkey_parse(s, made, &parsed, &err), 0);
    assert_int_equal(parsed.base_s, base_s);
    assert_false(parsed.global);
    assert_int_equal(parsed.ids.n_tags, ids->n_tags);
    assert_int_equal(sto_hbase_rowkey_check(s, &parsed, &err), 0);
    assert_int_equal(sto_hbase_tsuid_make(s, &parsed.ids, again), id.n);
    assert_memory_equal(again, tsuid, id.n);
    struct sto_hbase_ids of_tsuid;
    assert_int_equal(sto_hbase_tsuid_parse(s, id, &of_tsuid, &err), 0);
    assert_int_equal(of_tsuid.metric, ids->metric);
    assert_int_equal(of_tsuid.n_tags, ids->n_tags);
    assert_memory_equal(of_tsuid.tag, parsed.ids.tag, ids->n_tags * sizeof(ids->tag[0]));
}

static void test_rowkey__pairs_are_sorted_by_ids(void **state)
{
    (void)state;
    struct sto_hbase_ids ids = {.metric = 1, .n_tags = 1, .tag = {{1, 1}}};
    expect_key(&plain, &ids, 1356998400, "000001 000001000001", "000001 50E22700 000001000001");
    expect_key(&salted, &ids, 1356998400, "000001 000001000001", "08 000001 50E22700 000001000001");
    ids = (struct sto_hbase_ids){.metric = 5, .n_tags = 3, .tag = {{5, 6}, {3, 3}, {4, 4}}};
    expect_key(&plain, &ids, 4294965600, "000005 000003000003 000004000004 000005000006",
               "000005 FFFFF960 000003000003 000004000004 000005000006");
}

static void test_rowkey__other_widths(void **state)
{
    (void)state;
    struct sto_hbase_schema s = {1, 2, 8, 2, 300};
    struct sto_hbase_ids ids = {.metric = 255, .n_tags = 2, .tag = {{0x102, UINT64_MAX}, {0x101, 7}}};
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_schema_check(&s, &err), 0);
    struct t_bytes tsuid = t_hex("FF 0101 0000000000000007 0102 FFFFFFFFFFFFFFFF");
    uint32_t salt = sto_hbase_salt(&s, t_slice(&tsuid));
    assert_true(salt < 300);
    char key[128];
    snprintf(key, sizeof(key), "%04X FF 00000E10 0101 0000000000000007 0102 FFFFFFFFFFFFFFFF", salt);
    expect_key(&s, &ids, 3600, "FF 0101 0000000000000007 0102 FFFFFFFFFFFFFFFF", key);
}

static void test_rowkey__salts_are_those_of_java(void **state)
{
    (void)state;
    static const struct {
        const char *tsuid;
        uint32_t salt;
    } known[] = {
        {"000001 000001000001", 0x08},
        {"000001 000001000002", 0x09},
        {"000001 000001000001 000001000001", 0x10},
        {"000001 000001000001 000001000001 000001000001", 0x00},
        {"000001 000001000001 000002000003", 0x03},
        {"000002 000001000001", 0x09},
        {"000003 000001000001", 0x06},
        {"0B1420 000001000001", 0x06},
        {"000001", 0x0C},
        {"FFFFFF 000001000001", 0x06},
        {"800000 0000FE00FF80", 0x06},
        {"000000", 0x00},
        {"000000 000001000001", 0x00},
        {"0001", 0x00},
        {"", 0x00},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct t_bytes tsuid = t_hex(known[i].tsuid);
        assert_int_equal(sto_hbase_salt(&salted, t_slice(&tsuid)), known[i].salt);
        assert_int_equal(sto_hbase_salt(&plain, t_slice(&tsuid)), 0);
    }
}

static void test_rowkey__global_annotations_have_no_salt(void **state)
{
    (void)state;
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
    struct ts_error err = {0};
    size_t n = sto_hbase_rowkey_global(&salted, 1356998400, key);
    t_assert_hex(key, n, "00 000000 50E22700");
    struct sto_hbase_rowkey parsed;
    assert_int_equal(sto_hbase_rowkey_parse(&salted, (struct ts_slice){(const char *)key, n}, &parsed, &err),
                     0);
    assert_true(parsed.global);
    assert_int_equal(parsed.base_s, 1356998400);
    assert_int_equal(sto_hbase_rowkey_check(&salted, &parsed, &err), 0);
}

static void test_rowkey__broken_keys_are_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "0000",
        "000001 50E22700",              /* no tags */
        "000001 50E22700 0000010000",   /* part of a pair */
        "000001 50E22700 000001000000", /* value 0 */
        "000001 50E22700 000000000001", /* key 0 */
        "000000 50E22700 000001000001", /* metric 0 */
        ("000001 50E22700 000001000001 000002000001 000003000001 000004000001 000005000001 000006000001 "
         "000007000001 000008000001 000009000001"), /* nine tags */
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct t_bytes key = t_hex(broken[i]);
        struct sto_hbase_rowkey parsed;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_rowkey_parse(&plain, t_slice(&key), &parsed, &err), TS_ECORRUPT);
        assert_true(err.text[0]);
    }
}

static void test_rowkey__unusual_keys_are_parsed_and_reported(void **state)
{
    (void)state;
    static const char *const unusual[] = {
        "08 000001 50E22701 000001000001",              /* no whole hour */
        "07 000001 50E22700 000001000001",              /* another salt */
        "03 000001 50E22700 000002000003 000001000001", /* not sorted */
    };
    for (size_t i = 0; i < sizeof(unusual) / sizeof(unusual[0]); i++) {
        struct t_bytes key = t_hex(unusual[i]);
        struct sto_hbase_rowkey parsed;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_rowkey_parse(&salted, t_slice(&key), &parsed, &err), 0);
        assert_int_equal(sto_hbase_rowkey_check(&salted, &parsed, &err), TS_ECORRUPT);
        assert_true(err.text[0]);
    }
}

static void test_rowkey__ids_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct sto_hbase_ids bad[] = {
        {.metric = 1},
        {.metric = 1, .n_tags = 9},
        {.metric = 0, .n_tags = 1, .tag = {{1, 1}}},
        {.metric = 0x1000000, .n_tags = 1, .tag = {{1, 1}}},
        {.metric = 1, .n_tags = 1, .tag = {{0, 1}}},
        {.metric = 1, .n_tags = 1, .tag = {{1, 0x1000000}}},
        {.metric = 1, .n_tags = 3, .tag = {{1, 1}, {2, 1}, {1, 2}}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_ids_check(&plain, &bad[i], &err), TS_EINVAL);
        assert_true(err.text[0]);
    }
}

static void test_rowkey__tsuids_of_wrong_lengths_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "000001", "000001 000001", "000001 000001000000",
                                      "000000 000001000001"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct t_bytes tsuid = t_hex(bad[i]);
        struct sto_hbase_ids ids;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_tsuid_parse(&plain, t_slice(&tsuid), &ids, &err), TS_EPARSE);
        assert_true(err.text[0]);
    }
    uint8_t out[4];
    assert_int_equal(sto_hbase_hex_parse(TS_SLICE_LIT("0aFf"), out, 4), 2);
    assert_int_equal(out[1], 255);
    assert_int_equal(sto_hbase_hex_parse(TS_SLICE_LIT("0aF"), out, 4), -1);
    assert_int_equal(sto_hbase_hex_parse(TS_SLICE_LIT("0g"), out, 4), -1);
    assert_int_equal(sto_hbase_hex_parse(TS_SLICE_LIT("0000000000"), out, 4), -1);
}

static void expect_scan(int64_t from_ms, int64_t to_ms, const char *start, const char *stop)
{
    struct sto_hbase_scan scan;
    assert_true(sto_hbase_scan_make(&salted, 1, from_ms, to_ms, 19, &scan));
    t_assert_hex(scan.start, scan.n_start, start);
    t_assert_hex(scan.stop, scan.n_stop, stop);
}

static void test_rowkey__scans_cover_whole_hours(void **state)
{
    (void)state;
    expect_scan(1356998400000, 1356998400000, "13 000001 50E22700", "13 000001 50E23510");
    expect_scan(1356998400001, 1357001999999, "13 000001 50E22700", "13 000001 50E23510");
    expect_scan(1356998399999, 1357002000000, "13 000001 50E218F0", "13 000001 50E24320");
    expect_scan(INT64_MIN, INT64_MAX, "13 000001 00000000", "13 000001 FFFFFFFF");
    expect_scan(4294967295999, 4294967295999, "13 000001 FFFFF960", "13 000001 FFFFFFFF");
    struct sto_hbase_scan scan;
    assert_false(sto_hbase_scan_make(&salted, 1, INT64_MIN, -1, 0, &scan));
    assert_false(sto_hbase_scan_make(&salted, 1, 4294967296000, INT64_MAX, 0, &scan));
    assert_false(sto_hbase_scan_make(&salted, 1, 2, 1, 0, &scan));
    assert_int_equal(sto_hbase_buckets(&salted), 20);
    assert_int_equal(sto_hbase_buckets(&plain), 1);
}

static void test_rowkey__random_keys_come_back(void **state)
{
    (void)state;
    uint64_t r = 4711;
    for (int i = 0; i < 2000; i++) {
        struct sto_hbase_schema s = {(uint8_t)(1 + t_random(&r) % 8), (uint8_t)(1 + t_random(&r) % 8),
                                     (uint8_t)(1 + t_random(&r) % 8), (uint8_t)(t_random(&r) % 9),
                                     (uint32_t)(1 + t_random(&r) % 256)};
        struct sto_hbase_ids ids = {.n_tags = (uint8_t)(1 + t_random(&r) % 8)};
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_schema_check(&s, &err), 0);
        ids.metric = (t_random(&r) & sto_hbase_width_max(s.metric_width)) | 1;
        for (unsigned k = 0; k < ids.n_tags; k++) {
            ids.tag[k].k = (t_random(&r) & sto_hbase_width_max(s.tagk_width) & ~(uint64_t)7) | (k + 1) % 8;
            ids.tag[k].k = ids.tag[k].k ? ids.tag[k].k : 8;
            ids.tag[k].v = (t_random(&r) & sto_hbase_width_max(s.tagv_width)) | 1;
        }
        uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES], key[STO_HBASE_MAX_KEY_BYTES];
        char tsuid_hex[2 * sizeof(tsuid) + 1], key_hex[2 * sizeof(key) + 1];
        struct ts_slice id = {(const char *)tsuid, sto_hbase_tsuid_make(&s, &ids, tsuid)};
        uint32_t base_s = (uint32_t)(t_random(&r) % 1193047) * 3600;
        struct ts_slice k = {(const char *)key, sto_hbase_rowkey_make(&s, id, base_s, key)};
        sto_hbase_hex_print(id, tsuid_hex);
        sto_hbase_hex_print(k, key_hex);
        tsuid_hex[2 * id.n] = key_hex[2 * k.n] = 0;
        expect_key(&s, &ids, base_s, tsuid_hex, key_hex);
    }
}

static void test_schema__wrong_widths_name_their_keys(void **state)
{
    (void)state;
    static const struct {
        struct sto_hbase_schema s;
        const char *key;
    } bad[] = {
        {{0, 3, 3, 0, 20}, "hbase_metric_width"},         {{3, 9, 3, 0, 20}, "hbase_tagk_width"},
        {{3, 3, 200, 0, 20}, "hbase_tagv_width"},         {{3, 3, 3, 9, 20}, "hbase_salt_width"},
        {{3, 3, 3, 1, 0}, "hbase_salt_buckets"},          {{3, 3, 3, 1, 257}, "hbase_salt_buckets"},
        {{3, 3, 3, 8, UINT32_MAX}, "hbase_salt_buckets"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_schema_check(&bad[i].s, &err), TS_EINVAL);
        assert_int_equal(strncmp(err.text, bad[i].key, strlen(bad[i].key)), 0);
    }
    struct sto_hbase_schema s = STO_HBASE_SCHEMA_DEFAULT;
    assert_int_equal(sto_hbase_schema_check(&s, NULL), 0);
    s = (struct sto_hbase_schema){8, 8, 8, 1, 256};
    assert_int_equal(sto_hbase_schema_check(&s, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rowkey__pairs_are_sorted_by_ids),
        cmocka_unit_test(test_rowkey__other_widths),
        cmocka_unit_test(test_rowkey__salts_are_those_of_java),
        cmocka_unit_test(test_rowkey__global_annotations_have_no_salt),
        cmocka_unit_test(test_rowkey__broken_keys_are_refused),
        cmocka_unit_test(test_rowkey__unusual_keys_are_parsed_and_reported),
        cmocka_unit_test(test_rowkey__ids_that_do_not_fit_are_refused),
        cmocka_unit_test(test_rowkey__tsuids_of_wrong_lengths_are_refused),
        cmocka_unit_test(test_rowkey__scans_cover_whole_hours),
        cmocka_unit_test(test_rowkey__random_keys_come_back),
        cmocka_unit_test(test_schema__wrong_widths_name_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
