/*
 * test_store_cost.c - what merges and scans of a store cost, by counts.
 */
#include "tests/unit/storage/windows_kit.h"

/* Calls of the file system for a full merge of two generations over so many days. */
static uint64_t cost_of(int64_t n_days)
{
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + 10 * DAY, 1000);
    struct sto_store *st = open_at(f, 0, 1);
    for (int k = 0; k < 2; k++) {
        for (int64_t d = 0; d < n_days; d++)
            put_at(st, 0, T0 - d * DAY, k);
        flush_to(st, STO_LEVEL_FILES);
    }
    uint64_t n = t_faultfs_calls(f, T_OP_ALL);
    flush_to(st, STO_LEVEL_COMPACT);
    n = t_faultfs_calls(f, T_OP_ALL) - n;
    assert_int_equal(seen(st, 0).n, n_days);
    assert_int_equal(seen(st, 0).sum, n_days);
    kit_close(st);
    t_faultfs_free(f);
    return n;
}

static void test_store_cost__merging_many_days_is_linear(void **state)
{
    (void)state;
    uint64_t a = cost_of(200), b = cost_of(800);
    print_message("calls for 200 days: %llu, for 800: %llu\n", (unsigned long long)a, (unsigned long long)b);
    assert_true(b < a * 6);
}

static void test_store_cost__deletes_cost_other_series_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t h = 0; h < 20; h++) {
        put_at(st, 0, T0 + h * 3600000, 1);
        put_at(st, 1, T0 + h * 3600000, 1);
    }
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t i = 0; i < 30000; i++) {
        assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 + i * 2, T0 + i * 2), 0);
        if (i % 200 == 0)
            sto_writer_turn(sto_writer(st, 0));
    }
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(tombs_looked_at(st, 1), 0);
    assert_int_equal(tombs_looked_at(st, 0), 30000); /* once, not for each row */
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(tombs_looked_at(st, 1), 0);
    assert_int_equal(tombs_looked_at(st, 0), 30000);
    assert_int_equal(seen(st, 0).n, 19);
    assert_int_equal(seen(st, 1).n, 20);
    flush_to(st, STO_LEVEL_COMPACT); /* all that they touch is rewritten: they go */
    assert_int_equal(tombs_looked_at(st, 0), 0);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_int_equal(seen(st, 0).n, 19);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_cost__merging_many_days_is_linear),
        CASE(test_store_cost__deletes_cost_other_series_nothing),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
