/*
 * test_store_ship_orders.c - random orders of points, additions, deletes, passes that fail, flushes, merges, drops and restarts in one thread.
 */
#include "tests/unit/storage/ship_kit.h"

#include "tests/unit/t_random.h"

static void some_ops(struct ship_both *b, uint64_t *rnd, int64_t now_ms)
{
    for (uint64_t n = t_rand(rnd) % 12; n; n--) {
        unsigned series = (unsigned)(t_rand(rnd) % N_SERIES);
        int64_t t = now_ms + (int64_t)(t_rand(rnd) % 4) * 1000;
        if (t_rand(rnd) % 5 == 0)
            t = T0 + (int64_t)(t_rand(rnd) % 60) * 300000;
        if (t_rand(rnd) % 4 == 0)
            ship_add(b, series, t, 1 + (int64_t)(t_rand(rnd) % 9));
        else if (t_rand(rnd) % 20)
            ship_put(b, series, t, (int64_t)(t_rand(rnd) % 1000));
        else
            ship_del(b, series, t, t + (int64_t)(t_rand(rnd) % 8) * 600000);
    }
    ship_turn(b->st);
}

static void ship_badly(struct sto_store *st, struct sto_remote *r, uint64_t *rnd)
{
    if (t_rand(rnd) % 2)
        sto_memory_remote_unreachable_after(r, t_rand(rnd) % 6);
    else
        sto_memory_remote_cut_next(r, t_rand(rnd) % 3);
    (void)sto_ship(st, NULL);
    sto_memory_remote_unreachable_after(r, UINT64_MAX);
    sto_memory_remote_set_unreachable(r, false);
    sto_memory_remote_cut_next(r, SIZE_MAX);
}

static void life(uint64_t seed, bool whole_hours)
{
    uint64_t rnd = seed;
    struct ship_both b;
    ship_init(&b, seed);
    b.opts.ship_whole_hours = whole_hours;
    b.opts.ship_pass_points = seed % 3 ? 0 : 1 + seed % 40;
    ship_reopen(&b);
    char when[64];
    for (int step = 0; step < 150; step++) {
        snprintf(when, sizeof when, "seed %llu step %d", (unsigned long long)seed, step);
        some_ops(&b, &rnd, T0 + step * 40000);
        uint64_t what = t_rand(&rnd) % 24;
        int32_t hour = (int32_t)(T0 / TS_HOUR_MS + (int64_t)(t_rand(&rnd) % 6));
        if (what < 10)
            ship_all(b.st);
        else if (what < 13)
            ship_badly(b.st, b.r, &rnd);
        else if (what < 18)
            ship_flush(b.st);
        else if (what == 18)
            assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
        else if (what == 19)
            assert_int_equal(sto_drop_shipped(b.st, T0 + (int64_t)(t_rand(&rnd) % 80) * 900000, NULL), 0);
        else if (what == 20)
            assert_int_equal(sto_reship(b.st, hour, hour + (int32_t)(t_rand(&rnd) % 3), NULL), 0);
        else if (what == 21) {
            ship_reopen(&b);
        } else if (what == 22) {
            ship_kill(&b);
            ship_reopen(&b);
        } else {
            for (int i = 0; i < 2; i++) { /* additions, then their sums */
                ship_flush(b.st);
                ship_all(b.st);
            }
            ship_expect(b.r, &b.d, when);
        }
        kit_expect_all(b.st, &b.d, when);
    }
    ship_end(&b);
}

static void test_ship_orders__every_order_keeps_the_last_values(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        life(seed, seed % 2 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_orders__every_order_keeps_the_last_values),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
