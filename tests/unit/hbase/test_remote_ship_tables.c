/*
 * test_remote_ship_tables.c - what shipping says of a table that is missing, or of a counter of ids that is damaged.
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
    if (!strstr(r.err.text, ": table no-table is missing or disabled; tsd hbase create-tables creates it"))
        fail_msg("%s", r.err.text);
    k_close();
    sto_cells_release(&c);
}

/* A counter that gives no ids concerns the names that need one of its kind; series whose names have ids, known here or not, and new names of other kinds are
 * shipped. */
static void test_remote_ship_tables__a_damaged_counter_refuses_new_names(void **state)
{
    (void)state;
    static const struct ts_slice values[] = {TS_SLICE_LIT("1234567"),
                                             TS_SLICE_LIT("\377\377\377\377\377\377\377\360"),
                                             TS_SLICE_LIT("\377\377\377\377\377\377\377\377")};
    static const char *const hosts[] = {"x", "y", "z"};
    struct sto_cells c = k_cells("0:1");
    k_open(false, false);
    k_ship(K_HOUR - 9, true, "0:1");
    for (int i = 0; i < 3; i++) {
        struct sto_remote_tag tag = {TS_SLICE_LIT("host"), ts_slice_str(hosts[i])};
        struct sto_remote_row rows[] = {{.series = k_series, .hour = K_HOUR - i, .cells = &c},
                                        {.series = k_series, .hour = K_HOUR - i, .cells = &c},
                                        {.series = k_series, .hour = K_HOUR - i, .cells = &c}};
        rows[1].series.metric = TS_SLICE_LIT("new");
        rows[1].series.key = 77;
        rows[2].series.tags = &tag;
        rows[2].series.key = 78 + (uint32_t)i;
        k_close(); /* ids are not known any more */
        k_open(false, false);
        fake_hbase_put(k_fake, "tsdb-uid", (struct ts_slice){"\0", 1}, "id", TS_SLICE_LIT("metrics"),
                       values[i], 0);
        struct k_result r = k_ship_rows(rows, 3);
        if (r.rc < 0)
            fail_msg("%s", r.err.text);
        assert_int_equal(r.n_refused, 1);
        if (!strstr(r.why.text, "the counter of metrics in table tsdb-uid gives no new ids"))
            fail_msg("%s", r.why.text);
        (void)k_expect(K_HOUR - i, "0s=1");
        struct sto_remote_name name = {.kind = STO_REMOTE_METRIC, .name = TS_SLICE_LIT("new")};
        fake_hbase_put(k_fake, "tsdb-uid", (struct ts_slice){"\0", 1}, "id", TS_SLICE_LIT("metrics"),
                       values[i], 0);
        r = (struct k_result){.mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
        k_remote->ops->names(k_remote, STO_REMOTE_MAKE, &name, 1, NULL, k_done, &r);
        k_wait(&r);
        assert_int_equal(r.rc, TS_EBACKEND);
        assert_non_null(strstr(r.err.text, "gives no new ids"));
    }
    k_close();
    sto_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_ship_tables__a_missing_table_refuses_no_row, k_setup,
                                        k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_tables__a_damaged_counter_refuses_new_names, k_setup,
                                        k_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
