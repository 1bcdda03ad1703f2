/*
 * test_aged_batch.c - rows of summaries are found for each series, in whatever order the series of summaries were made.
 */
#include "tests/unit/query/aged_kit.h"

#define MANY     40u
#define POINTS_H 30

static unsigned descending(unsigned k)
{
    return MANY - 1 - k;
}

static unsigned mixed(unsigned k)
{
    return (k * 23 + 7) % MANY;
}

/* Of two rules, one after the other. */
static unsigned halves(unsigned k)
{
    return k < MANY / 2 ? 2 * k : 2 * (k - MANY / 2) + 1;
}

/* In the order of `order`, a series has points in one more hour, which expire one hour after those of the series before. */
static void run(unsigned (*order)(unsigned k), int64_t days_h)
{
    struct world w;
    begin_days(&w, 3, POINTS_H, 120, days_h);
    w.n_series = MANY;
    for (unsigned i = 0; i < MANY; i++) { /* their numbers ascend */
        assert_non_null(series(w.st, i));
        assert_non_null(series(w.all, i));
    }
    for (unsigned k = 0; k < MANY; k++) {
        unsigned i = order(k);
        set_clock(&w, T0 + k * TS_HOUR_MS);
        for (int n = 0; n < 3; n++)
            put(&w, i, w.now_ms - TS_HOUR_MS / 2 + n * 1000, value(&w, i % SERIES));
        for (unsigned j = 0; j < MANY; j += 3)
            put(&w, order(j < k ? j : k), w.now_ms - 1000 - j, value(&w, order(j < k ? j : k) % SERIES));
        settle(&w, STO_LEVEL_FILES);
    }
    for (unsigned k = 0; k < MANY + 10; k++) {
        set_clock(&w, T0 + (POINTS_H + k) * TS_HOUR_MS);
        pump(&w);
        if (k % 7 == 6)
            check(&w, "while they expire");
    }
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    check(&w, "when they have expired");
    for (unsigned k = 0; k < 90; k += 3) { /* rows of days are made in the same order */
        set_clock(&w, w.now_ms + 3 * TS_HOUR_MS);
        pump(&w);
    }
    if (days_h) {
        same(&w, "sum:m0", "day,host", T0 - T0 % DAY, T0 - T0 % DAY, "as days");
        same(&w, "none:1dc-max:m0", NULL, T0 - T0 % DAY, T0 - T0 % DAY, "as days");
    }
    end(&w);
}

static void test_aged_batch__numbers_that_descend(void **state)
{
    (void)state;
    run(descending, 0);
    run(descending, 90 * 24);
}

static void test_aged_batch__numbers_in_no_order(void **state)
{
    (void)state;
    run(mixed, 90 * 24);
}

static void test_aged_batch__numbers_of_two_rules(void **state)
{
    (void)state;
    run(halves, 90 * 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_batch__numbers_that_descend),
        CASE(test_aged_batch__numbers_in_no_order),
        CASE(test_aged_batch__numbers_of_two_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
