/*
 * test_remote_metadata.c - metadata of all series is made as OpenTSDB makes it, beside other writers, and deleted again; branches of trees are deleted.
 */
#include "tests/unit/hbase/check_kit.h"

#include "storage/hbase/remote/metadata.h"

#include <limits.h>

#define HOUR  400000u
#define FIRST "1440000000" /* seconds of that hour */

static struct ts_slice bytes(const char *p, size_t n)
{
    return (struct ts_slice){p, n};
}

/* The bytes of a cell; "" if it does not exist. */
static void expect_cell(const char *table, const char *row_hex, const char *family, const char *qualifier,
                        const char *want)
{
    struct t_bytes row = t_hex(row_hex);
    struct ts_buf out;
    ts_buf_init(&out, 0);
    (void)fake_hbase_get(t.fake, table, t_slice(&row), family, ts_slice_str(qualifier), &out, NULL);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    ts_buf_release(&out);
}

static void put(const char *table, const char *row_hex, const char *family, const char *qualifier,
                const char *value)
{
    struct t_bytes row = t_hex(row_hex);
    fake_hbase_put(t.fake, table, t_slice(&row), family, ts_slice_str(qualifier), ts_slice_str(value), 0);
}

static struct sto_hbase_metadata_counts sync_all(void)
{
    struct sto_hbase_metadata_counts n = {0};
    struct ts_error err = {0};
    if (sto_hbase_metasync(t.remote, NULL, &n, &err) < 0)
        fail_msg("%s", err.text);
    return n;
}

static void begin(struct sto_hbase_schema schema)
{
    open_store(schema);
    t_fetch_names(&t, 2, 1, 2); /* m1 m2, k1, v1 v2 */
    t_put(&t, T_PAIRS(1, 1), HOUR + 5, "0000 07");
    t_put(&t, T_PAIRS(1, 1), HOUR, "0000 07");
    t_put(&t, T_PAIRS(1, 2), HOUR + 3, "0000 07");
}

static void test_remote_metadata__what_is_missing_is_made(void **state)
{
    (void)state;
    for (int salted = 0; salted < 2; salted++) {
        begin(salted ? SALTED : PLAIN);
        struct sto_hbase_metadata_counts n = sync_all();
        assert_int_equal(n.n_rows, 3);
        assert_int_equal(n.n_names, 4); /* m2 has no points */
        assert_int_equal(n.n_series, 2);
        assert_int_equal(n.n_counters, 2);
        assert_true(n.n_corrected == 0 && n.n_unnamed == 0 && n.n_damaged == 0 && n.n_bad_keys == 0);
        expect_cell(
            "tsdb-uid", "000001", "name", "metric_meta",
            "{\"type\":\"METRIC\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\",\"created\":" FIRST
            ",\"custom\":null}");
        expect_cell("tsdb-uid", "000002", "name", "tagv_meta",
                    "{\"type\":\"TAGV\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\",\"created\":"
                    "1440010800,"
                    "\"custom\":null}");
        expect_cell("tsdb-uid", "000002", "name", "metric_meta", "");
        expect_cell("tsdb-meta", "000001000001000001", "name", "ts_meta",
                    "{\"tsuid\":\"000001000001000001\",\"displayName\":\"\",\"description\":\"\",\"notes\":"
                    "\"\",\"created\":" FIRST ",\"custom\":null,\"units\":\"\",\"dataType\":\"\","
                    "\"retention\":0,\"max\":\"NaN\",\"min\":\"NaN\"}");
        struct ts_buf out;
        struct t_bytes row = t_hex("000001000001000002");
        ts_buf_init(&out, 0);
        assert_true(
            fake_hbase_get(t.fake, "tsdb-meta", t_slice(&row), "name", TS_SLICE_LIT("ts_ctr"), &out, NULL));
        assert_true(ts_slice_eq(ts_buf_get(&out), bytes("\0\0\0\0\0\0\0\1", 8)));
        ts_buf_release(&out);
        n = sync_all(); /* nothing is left to do */
        assert_true(n.n_rows == 3 && n.n_names == 0 && n.n_series == 0 && n.n_counters == 0 &&
                    n.n_corrected == 0);
        t_fetch_close(&t);
    }
}

static void test_remote_metadata__what_is_there_stays(void **state)
{
    (void)state;
    begin(PLAIN);
    static const char theirs[] = "{\"created\":1440003600,\"displayName\":\"Mine\",\"type\":\"METRIC\"}";
    put("tsdb-uid", "000001", "name", "metric_meta", theirs); /* an hour after the first row is not wrong */
    put("tsdb-uid", "000001", "name", "tagk_meta", "{\"created\":0,\"notes\":\"n\"}");
    put("tsdb-uid", "000001", "name", "tagv_meta", "no document");
    put("tsdb-meta", "000001000001000001", "name", "ts_meta",
        "{\"created\":1440003601,\"units\":\"ms\",\"max\":4.5}");
    put("tsdb-meta", "000001000001000001", "name", "ts_ctr", "12345678");
    struct sto_hbase_metadata_counts n = sync_all();
    assert_int_equal(n.n_corrected, 2);
    assert_int_equal(n.n_damaged, 1);
    assert_int_equal(n.n_names, 1);
    assert_int_equal(n.n_series, 1);
    assert_int_equal(n.n_counters, 1);
    expect_cell("tsdb-uid", "000001", "name", "metric_meta", theirs);
    expect_cell(
        "tsdb-uid", "000001", "name", "tagk_meta",
        "{\"type\":\"TAGK\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"n\",\"created\":" FIRST
        ",\"custom\":null}");
    expect_cell("tsdb-uid", "000001", "name", "tagv_meta", "no document");
    expect_cell("tsdb-meta", "000001000001000001", "name", "ts_ctr", "12345678");
    expect_cell(
        "tsdb-meta", "000001000001000001", "name", "ts_meta",
        "{\"tsuid\":\"000001000001000001\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\","
        "\"created\":" FIRST
        ",\"custom\":null,\"units\":\"ms\",\"dataType\":\"\",\"retention\":0,\"max\":4.5,\"min\":\"NaN\"}");
    t_fetch_close(&t);
}

static void test_remote_metadata__rows_without_names_get_none(void **state)
{
    (void)state;
    begin(PLAIN);
    t_put(&t, T_PAIRS(1, 7), HOUR, "0000 07"); /* id 7 has no name */
    struct t_bytes odd = t_hex("0102"), global = t_hex("00000055D4A400");
    fake_hbase_put(t.fake, "tsdb", t_slice(&odd), "t", bytes("\0\0", 2), TS_SLICE_LIT("x"), 0);
    fake_hbase_put(t.fake, "tsdb", t_slice(&global), "t", bytes("\1\0\0", 3), TS_SLICE_LIT("{}"), 0);
    struct sto_hbase_metadata_counts n = sync_all();
    assert_int_equal(n.n_rows, 6);
    assert_int_equal(n.n_bad_keys, 1);
    assert_int_equal(n.n_unnamed, 2); /* the id and its series */
    assert_int_equal(n.n_series, 2);
    expect_cell("tsdb-meta", "000001000001000007", "name", "ts_meta", "");
    expect_cell("tsdb-uid", "000007", "name", "tagv_meta", "");
    t_fetch_close(&t);
}

/* Another writer makes the metadata first. */
static void write_first(void *arg, const struct fake_hbase_request *r)
{
    bool *done = arg;
    if (*done || r->call != STO_THRIFT_CHECK_AND_PUT)
        return;
    *done = true;
    put("tsdb-uid", "000001", "name", "metric_meta", "{\"theirs\":1}");
    put("tsdb-uid", "000001", "name", "tagk_meta", "{\"theirs\":1}");
    put("tsdb-uid", "000001", "name", "tagv_meta", "{\"theirs\":1}");
    put("tsdb-uid", "000002", "name", "tagv_meta", "{\"theirs\":1}");
}

static void test_remote_metadata__another_writer_is_not_overwritten(void **state)
{
    (void)state;
    begin(PLAIN);
    bool done = false;
    fake_hbase_set_before(t.fake, write_first, &done);
    struct sto_hbase_metadata_counts n = sync_all();
    assert_true(done);
    assert_int_equal(n.n_names, 0);
    assert_int_equal(n.n_series, 2);
    expect_cell("tsdb-uid", "000001", "name", "metric_meta", "{\"theirs\":1}");
    expect_cell("tsdb-uid", "000002", "name", "tagv_meta", "{\"theirs\":1}");
    t_fetch_close(&t);
}

/* A later point arrives between the page and the delete. */
static void write_later(void *arg, const struct fake_hbase_request *r)
{
    bool *done = arg;
    if (*done || r->call != STO_THRIFT_DELETE_MULTIPLE)
        return;
    *done = true;
    struct t_bytes row = t_hex("000001");
    fake_hbase_put(t.fake, "tsdb-uid", t_slice(&row), "name", TS_SLICE_LIT("metric_meta"),
                   TS_SLICE_LIT("{\"new\":1}"), OLD_MS + 5);
}

static void test_remote_metadata__all_of_it_is_deleted(void **state)
{
    (void)state;
    begin(PLAIN);
    for (int i = 0; i < 1100; i++) { /* more than a page */
        char row[32];
        (void)snprintf(row, sizeof row, "000001000001%06X", 100 + i);
        put("tsdb-meta", row, "name", "ts_ctr", "12345678");
    }
    (void)sync_all();
    size_t names = fake_hbase_cells(t.fake, "tsdb-uid") - 4;
    struct sto_hbase_metadata_counts n = {0};
    struct ts_error err = {0};
    bool done = false;
    fake_hbase_set_before(t.fake, write_later, &done);
    if (sto_hbase_metapurge(t.remote, NULL, &n, &err) < 0)
        fail_msg("%s", err.text);
    fake_hbase_set_before(t.fake, NULL, NULL);
    assert_true(done);
    assert_int_equal(n.n_deleted, 4 + 2 * 2 + 1100);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-meta"), 0);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-uid"),
                     names + 1); /* names and ids stay, and what was just written */
    expect_cell("tsdb-uid", "000001", "name", "metric_meta", "{\"new\":1}");
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 3);
    t_fetch_close(&t);
}

static void test_remote_metadata__branches_of_a_tree_are_deleted(void **state)
{
    static const char *const rows[] = {"0002", "000201020304", "00020102030405060708", "000201", "000202"};
    (void)state;
    for (int definition = 0; definition < 2; definition++) {
        open_store(PLAIN);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            put("tsdb-tree", rows[i], "t", "branch", "{}");
            put("tsdb-tree", rows[i], "t", "leaf:abcd", "{}");
        }
        put("tsdb-tree", "0002", "t", "tree", "{\"name\":\"a\"}");
        put("tsdb-tree", "0002", "t", "tree_rule:0:0", "{}");
        put("tsdb-tree", "0001", "t", "branch", "{}");
        put("tsdb-tree", "0003", "t", "branch", "{}");
        put("tsdb-tree", "FFFF", "t", "branch", "{}");
        struct sto_hbase_metadata_counts n = {0};
        struct ts_error err = {0};
        if (sto_hbase_treepurge(t.remote, 2, definition, NULL, &n, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(n.n_deleted, definition ? 12 : 10);
        assert_int_equal(fake_hbase_cells(t.fake, "tsdb-tree"), definition ? 3 : 5);
        expect_cell("tsdb-tree", "0002", "t", "tree", definition ? "" : "{\"name\":\"a\"}");
        n.n_deleted = 0;
        assert_int_equal(sto_hbase_treepurge(t.remote, 65535, false, NULL, &n, &err), 0);
        assert_int_equal(n.n_deleted, 1);
        t_fetch_close(&t);
    }
}

static void test_remote_metadata__errors_of_hbase(void **state)
{
    (void)state;
    begin(PLAIN);
    struct sto_hbase_metadata_counts n = {0};
    struct ts_error err = {0};
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 300000000};
    fake_hbase_down(t.fake);
    int rc = sto_hbase_metasync(t.remote, &call, &n, &err);
    assert_true((rc == TS_EBACKEND || rc == TS_ETIMEOUT) && err.text[0]);
    fake_hbase_up(t.fake);
    _Atomic bool cancel = true;
    call = (struct sto_remote_call){.cancel = &cancel};
    assert_int_equal(sto_hbase_metapurge(t.remote, &call, &n, &err), TS_ECANCELLED);
    for (unsigned skip = 0; skip < 8; skip++) {
        fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_DROP_AFTER, .skip = skip});
        (void)sync_all();
        fake_hbase_heal(t.fake);
    }
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-meta"), 4);
    t_fetch_close(&t);
}

/* Rows in another order, and pages that do not advance, are errors: neither is taken for what was asked, and nothing goes on for ever. */
static void test_remote_metadata__a_gateway_that_answers_something_else(void **state)
{
    (void)state;
    begin(PLAIN);
    struct sto_hbase_metadata_counts n = {0};
    struct ts_error err = {0};
    struct fake_hbase_plan plan = {
        .fault = FAKE_HBASE_OTHER_ORDER, .of_call = true, .call = STO_THRIFT_GET_MULTIPLE, .n = UINT_MAX};
    fake_hbase_inject(t.fake, plan);
    assert_int_equal(sto_hbase_metasync(t.remote, NULL, &n, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "another row"));
    fake_hbase_heal(t.fake);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 3000000000};
    plan = (struct fake_hbase_plan){.fault = FAKE_HBASE_SAME_PAGE,
                                    .of_call = true,
                                    .call = STO_THRIFT_GET_SCANNER_RESULTS,
                                    .n = UINT_MAX};
    fake_hbase_inject(t.fake, plan);
    assert_int_equal(sto_hbase_metasync(t.remote, &call, &n, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "before those requested"));
    fake_hbase_heal(t.fake);
    (void)sync_all();
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb-meta"), 4);
    t_fetch_close(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_metadata__what_is_missing_is_made),
        cmocka_unit_test(test_remote_metadata__what_is_there_stays),
        cmocka_unit_test(test_remote_metadata__rows_without_names_get_none),
        cmocka_unit_test(test_remote_metadata__another_writer_is_not_overwritten),
        cmocka_unit_test(test_remote_metadata__all_of_it_is_deleted),
        cmocka_unit_test(test_remote_metadata__branches_of_a_tree_are_deleted),
        cmocka_unit_test(test_remote_metadata__errors_of_hbase),
        cmocka_unit_test(test_remote_metadata__a_gateway_that_answers_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
