/*
 * test_remote_ship_memory.c - what shipping holds of the account of HBase while nothing is shipped.
 */
#include "tests/unit/hbase/ship_kit.h"

#define N_CELLS 20000u

/* A row of many points in single cells, by another writer. */
static void fill(int32_t hour)
{
    for (uint32_t i = 0; i < N_CELLS; i++) {
        uint8_t q[4] = {0xf0 | (uint8_t)(i >> 18), (uint8_t)(i >> 10), (uint8_t)(i >> 2), (uint8_t)(i << 6)};
        fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", (struct ts_slice){(const char *)q, 4},
                       TS_SLICE_LIT("\1"), 0);
    }
}

/* Large rows, one after the other, by whichever of the senders: what each of them needed is given back, or the next one would find the memory used
 * by others, and wait for it for ever. */
static void test_remote_ship_memory__large_rows_leave_nothing(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct ts_budget memory;
    struct ts_error err = {0};
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, 64u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 4,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    uint64_t before = 0;
    for (int i = 0; i < 12; i++) {
        struct sto_remote_row row = {.series = k_series, .hour = K_HOUR - i, .cells = &c};
        if (i >= 4) /* the first ones show what the senders need in any case */
            fill(row.hour);
        struct k_result r = k_ship_rows(&row, 1);
        if (r.rc < 0 || r.n_refused)
            fail_msg("%s%s", r.err.text, r.why.text);
        uint64_t used = atomic_load(&memory.used_bytes);
        before = i < 4 && used > before ? used : before;
        if (used > before + (1u << 20))
            fail_msg("row %d: %llu bytes are in use, %llu were", i, (unsigned long long)used,
                     (unsigned long long)before);
    }
    k_close();
    sto_cells_release(&c);
}

/* A row for which memory is short since others use it is not refused: it fails, and is shipped when there is memory. */
static void test_remote_ship_memory__what_others_use_refuses_no_row(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct ts_budget memory;
    struct ts_error err = {0};
    char *large = ts_xcalloc(1, 300000);
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, 16u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 1,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    k_ship(K_HOUR + 9, true, "0:1");
    for (int i = 0; i < 8; i++) /* annotations, which belong to the row */
        fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t",
                       (struct ts_slice){(const char[]){1, 0, (char)i}, 3}, (struct ts_slice){large, 300000},
                       0);
    ts_free(large);
    uint64_t others = (15u << 20) - atomic_load(&memory.used_bytes); /* 1 MiB is left */
    ts_budget_force(&memory, others);
    struct sto_remote_call call = k_call_for(300);
    struct k_result r = k_ship_within(&row, 1, &call);
    assert_true(r.rc < 0);
    assert_int_equal(r.n_refused, 0);
    ts_budget_give(&memory, others);
    r = k_ship_rows(&row, 1);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 0);
    k_close();
    sto_cells_release(&c);
}

/* The memory that a row needs may also be held by others than this remote store: it is the account above that is full. After some seconds the row is set
 * aside, so that it does not hold up others. */
static void test_remote_ship_memory__so_does_what_the_process_uses(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct ts_budget process, memory;
    struct ts_error err = {0};
    char *large = ts_xcalloc(1, 300000);
    ts_budget_init(&process, "process", "memory_limit", NULL, 32u << 20);
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", &process, 16u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 1,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    k_ship(K_HOUR + 9, true, "0:1");
    for (int i = 0; i < 8; i++) /* annotations, which belong to the row */
        fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t",
                       (struct ts_slice){(const char[]){1, 0, (char)i}, 3}, (struct ts_slice){large, 300000},
                       0);
    ts_free(large);
    uint64_t others = (31u << 20) - atomic_load(&process.used_bytes); /* 1 MiB is left */
    ts_budget_force(&process, others);
    struct sto_remote_call call = k_call_for(300);
    struct k_result r = k_ship_within(&row, 1, &call);
    assert_true(r.rc < 0);
    assert_int_equal(r.n_refused, 0);
    r = k_ship_rows(&row, 1);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 1);
    ts_budget_give(&process, others);
    r = k_ship_rows(&row, 1);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 0);
    k_close();
    sto_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_ship_memory__large_rows_leave_nothing, k_setup,
                                        k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_memory__what_others_use_refuses_no_row, k_setup,
                                        k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_memory__so_does_what_the_process_uses, k_setup,
                                        k_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
