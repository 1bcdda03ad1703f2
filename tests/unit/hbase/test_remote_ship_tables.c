/*
 * test_remote_ship_tables.c - what shipping says of a table that is missing.
 */
#include "tests/unit/hbase/ship_kit.h"

/* Open a remote store whose table of points does not exist. */
static void open_without_table(void)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct ts_error err = {0};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .tables = {"no-table", "tsdb-uid", "tsdb-tree", "tsdb-meta"},
                                  .now_ms = k_clock};
    if (sto_hbase_open(&opts, &k_remote, &err) < 0)
        fail_msg("%s", err.text);
}

/* It concerns all rows: none is set aside as one that HBase refuses, and the sentence says what is missing. */
static void test_remote_ship_tables__a_missing_table_refuses_no_row(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1 60:2");
    open_without_table();
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR - 1, .cells = &c};
    struct k_result r = k_ship_rows(&row, 1);
    assert_int_equal(r.rc, TS_EBACKEND);
    assert_int_equal(r.n_refused, 0);
    if (!strstr(r.err.text, ": table no-table is missing or disabled"))
        fail_msg("%s", r.err.text);
    k_close();
    sto_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_ship_tables__a_missing_table_refuses_no_row, k_setup,
                                        k_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
