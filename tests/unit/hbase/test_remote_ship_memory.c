/*
 * test_remote_ship_memory.c - what shipping holds of the account of HBase while nothing is shipped.
 */
#include "tests/unit/hbase/rollup_kit.h"

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
    static struct ts_budget memory; /* until the teardown */
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
    static struct ts_budget memory; /* until the teardown */
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

/* A row that needs more than the whole account, of which others have nothing, is refused at once, whatever has no memory: its reply, or what is made of it. */
static void test_remote_ship_memory__a_row_that_never_fits_is_refused_at_once(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    fill(K_HOUR);
    for (uint64_t limit = 5u << 18; limit < 8u << 18; limit += 1u << 17) {
        static struct ts_budget memory; /* until the teardown */
        struct ts_error err = {0};
        struct sto_remote_call call = k_call_for(60000);
        ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, limit);
        struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                      .schema = STO_HBASE_SCHEMA_DEFAULT,
                                      .ship_connections = 1,
                                      .now_ms = k_clock};
        assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
        k_ship(K_HOUR + 9, true, "0:1");
        struct k_result r = k_ship_within(&row, 1, &call);
        if (r.rc < 0 || r.n_refused != 1)
            fail_msg("%llu bytes: %s", (unsigned long long)limit, r.err.text);
        assert_non_null(strstr(r.why.text, "too large to be changed"));
        k_close();
    }
    sto_cells_release(&c);
}

/* Cells that contradict a rollup of 1h-sum at the beginning of DAY_HOUR, or histograms of K_HOUR: 2.4 MB. */
static void fill_special(const char *table, int32_t hour, struct ts_slice begin)
{
    char *large = ts_xcalloc(1, 300000);
    for (int i = 1; i <= 8; i++) {
        char q[3] = {begin.p[0], begin.p[1], (char)i};
        fake_hbase_put(k_fake, table, k_key(hour), "t", (struct ts_slice){q, 3},
                       (struct ts_slice){large, 300000}, 0);
    }
    ts_free(large);
}

/* Histograms and rollups wait for memory as well. */
static void test_remote_ship_memory__histograms_and_rollups_wait_too(void **state)
{
    (void)state;
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    static struct ts_budget memory; /* until the teardown */
    struct ts_error err = {0};
    struct rows b = {.n = 0};
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, 16u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 1,
                                  .histogram_codec = 42,
                                  .rollups = &rollups,
                                  .now_ms = k_clock};
    k_close();
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    add(&b, "1h-sum", DAY_HOUR, false, "0:1");
    add(&b, "u", K_HOUR, false, "30:1");
    ts_buf_clear(&b.name[1]);
    sto_internal_name(
        &(struct sto_internal){STO_INTERNAL_HISTOGRAM, k_series.metric, TS_SLICE_LIT("1.0,2.0")}, &b.name[1]);
    b.row[1].series.metric = ts_buf_get(&b.name[1]);
    fill_special("r1h", DAY_HOUR, TS_SLICE_LIT("\1\0"));
    fill_special("tsdb", K_HOUR, TS_SLICE_LIT("\6\0"));
    for (int i = 0; i < 2; i++) {
        uint64_t others = (15u << 20) - atomic_load(&memory.used_bytes); /* 1 MiB is left */
        struct sto_remote_call call = k_call_for(300);
        ts_budget_force(&memory, others);
        struct k_result r = k_ship_within(&b.row[i], 1, &call);
        ts_budget_give(&memory, others);
        assert_true(r.rc < 0);
        assert_int_equal(r.n_refused, 0);
        r = k_ship_rows(&b.row[i], 1);
        if (r.rc < 0 || r.n_refused)
            fail_msg("%d: %s%s", i, r.err.text, r.why.text);
    }
    k_close();
    release(&b);
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
        cmocka_unit_test_setup_teardown(test_remote_ship_memory__a_row_that_never_fits_is_refused_at_once,
                                        k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_memory__histograms_and_rollups_wait_too, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
