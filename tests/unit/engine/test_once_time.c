/*
 * test_once_time.c - the time by which ids are judged, and the ranges of those that are forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/engine/once_gone.h"
#include "storage/engine/once_time.h"
#include "tests/unit/t_random.h"

#define NOW  100000000
#define KEPT 50000
#define DAY  86400

/* The clocks of a test, in seconds. */
static struct sto_once_clock t_clock;
static int64_t t_wall, t_mono;

static void start(uint64_t former_s)
{
    t_wall = NOW;
    t_mono = 77;
    sto_once_clock_start(&t_clock, KEPT, former_s, t_wall * 1000, t_mono * 1000);
}

/* Seconds pass; before, somebody sets the clock. */
static struct sto_once_time pass(int64_t s, int64_t set)
{
    t_mono += s;
    t_wall += s + set;
    return sto_once_clock_read(&t_clock, t_wall * 1000, t_mono * 1000);
}

static void expect(struct sto_once_time t, int64_t ran, int64_t earliest, int64_t latest)
{
    assert_int_equal(t.ran_s, STO_ONCE_RAN_START + (uint64_t)ran);
    assert_int_equal(t.earliest_s, NOW + earliest);
    assert_int_equal(t.latest_s, NOW + latest);
    assert_true(t.steady_s == t.earliest_s || t.steady_s == t.latest_s);
}

static void test_once_time__small_steps_are_followed(void **state)
{
    (void)state;
    start(0);
    expect(pass(10, 0), 10, 10, 10);
    expect(pass(10, 500), 20, 520, 520);
    expect(pass(10, -600), 30, -70, -70);
}

static void test_once_time__after_a_jump_both_times_count_for_a_while(void **state)
{
    (void)state;
    for (int64_t jump = -30 * DAY; jump <= 30 * DAY; jump += 60 * DAY) {
        start(0);
        (void)pass(10, 0);
        for (int64_t s = 20; s < KEPT; s += 4998)
            expect(pass(s == 20 ? 10 : 4998, s == 20 ? jump : 0), s, jump < 0 ? s + jump : s,
                   jump < 0 ? s : s + jump);
        expect(pass(4998, 0), 50000, jump < 0 ? 50000 + jump : 50000, jump < 0 ? 50000 : 50000 + jump);
        expect(pass(30, 0), 50030, 50030 + jump, 50030 + jump);
    }
}

static void test_once_time__a_clock_that_is_set_right_counts_alone(void **state)
{
    (void)state;
    start(0);
    expect(pass(10, 30 * DAY), 10, 10, 10 + 30 * DAY);
    expect(pass(10, -30 * DAY + 60), 20, 80, 80);
    expect(pass(10, 30 * DAY), 30, 90, 90 + 30 * DAY); /* and the next jump lasts as long as the first one */
    expect(pass(KEPT - 1, 0), KEPT + 29, 89 + KEPT, 89 + KEPT + 30 * DAY);
    expect(pass(1, 0), KEPT + 30, 90 + KEPT + 30 * DAY, 90 + KEPT + 30 * DAY);
}

static void test_once_time__a_start_is_a_jump(void **state)
{
    (void)state;
    start(NOW - 100);
    expect(pass(0, 0), 0, 0, 0);
    start(NOW - 3 * DAY);
    expect(pass(10, 0), 10, 10 - 3 * DAY, 10);
    start(NOW + 3 * DAY);
    expect(pass(10, 0), 10, 10, 10 + 3 * DAY);
    expect(pass(KEPT, 0), KEPT + 10, KEPT + 10, KEPT + 10);
    start(UINT64_MAX); /* bytes of anybody */
    expect(pass(10, 0), 10, 10, 10);
}

/* --- ranges --- */

static void test_once_gone__ranges_grow_and_meet(void **state)
{
    (void)state;
    struct sto_once_gone g = {0};
    assert_false(sto_once_gone_has(&g, 0));
    sto_once_gone_add(&g, 1000, 10);
    sto_once_gone_add(&g, 1010, 10);
    assert_int_equal(g.n, 1);
    assert_true(sto_once_gone_has(&g, 1000) && sto_once_gone_has(&g, 1005) && sto_once_gone_has(&g, 1010));
    assert_false(sto_once_gone_has(&g, 999) || sto_once_gone_has(&g, 1011));
    sto_once_gone_add(&g, 1021, 10);
    assert_int_equal(g.n, 2);
    assert_false(sto_once_gone_has(&g, 1015));
    sto_once_gone_add(&g, 500, 10);
    assert_int_equal(g.n, 3);
    sto_once_gone_add(&g, 1015, 10); /* near to both */
    assert_int_equal(g.n, 2);
    assert_true(sto_once_gone_has(&g, 1018) && sto_once_gone_has(&g, 500));
    sto_once_gone_add(&g, 490, 10);
    assert_true(sto_once_gone_has(&g, 495));
    assert_int_equal(g.n, 2);
}

/* Whatever is added is there for ever, in few ranges. */
/* When there is no room for another range, the two nearest ones become one: ids between all others go on being used. */
static void test_once_gone__the_nearest_ranges_become_one(void **state)
{
    (void)state;
    for (unsigned near = 0; near + 1 < STO_ONCE_GONE; near++) {
        struct sto_once_gone g = {0};
        uint64_t at = 1000, begin[STO_ONCE_GONE];
        for (unsigned i = 0; i < STO_ONCE_GONE; i++) {
            begin[i] = at;
            sto_once_gone_add(&g, at, 0);
            at += i == near ? 50 : 100 + 10 * i;
        }
        assert_int_equal(g.n, STO_ONCE_GONE);
        sto_once_gone_add(&g, at + 1000, 0);
        assert_int_equal(g.n, STO_ONCE_GONE);
        for (unsigned i = 0; i + 1 < STO_ONCE_GONE; i++)
            assert_int_equal(sto_once_gone_has(&g, begin[i] + 1), i == near);
        assert_true(sto_once_gone_has(&g, begin[STO_ONCE_GONE - 1]) && sto_once_gone_has(&g, at + 1000));
        assert_false(sto_once_gone_has(&g, at));
    }
}

static void test_once_gone__nothing_is_ever_lost(void **state)
{
    (void)state;
    uint64_t x = 20261127;
    for (int round = 0; round < 500; round++) {
        struct sto_once_gone g = {0};
        uint64_t added[60];
        for (unsigned i = 0; i < 60; i++) {
            added[i] = 1 + t_random(&x) % 1000;
            sto_once_gone_add(&g, added[i], t_random(&x) % 20);
            assert_in_range(g.n, 1, STO_ONCE_GONE);
            for (unsigned k = 0; k <= i; k++)
                assert_true(sto_once_gone_has(&g, added[k]));
            for (unsigned k = 0; k < g.n; k++)
                assert_true(g.at[k].from_s <= g.at[k].to_s && (k == 0 || g.at[k - 1].to_s < g.at[k].from_s));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_time__small_steps_are_followed),
        cmocka_unit_test(test_once_time__after_a_jump_both_times_count_for_a_while),
        cmocka_unit_test(test_once_time__a_clock_that_is_set_right_counts_alone),
        cmocka_unit_test(test_once_time__a_start_is_a_jump),
        cmocka_unit_test(test_once_gone__ranges_grow_and_meet),
        cmocka_unit_test(test_once_gone__the_nearest_ranges_become_one),
        cmocka_unit_test(test_once_gone__nothing_is_ever_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
