/*
 * test_map64.c - what is added is found, within the budget.
 */
#include "base/map64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_map64__finds_what_was_added(void **state)
{
    (void)state;
    struct ts_map64 m;
    uint32_t v;
    ts_map64_init(&m, 0);
    assert_false(ts_map64_get(&m, 0, &v));
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(ts_map64_add(&m, (uint64_t)i << 32, i), 0);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_true(ts_map64_get(&m, (uint64_t)i << 32, &v));
        assert_int_equal(v, i);
        assert_false(ts_map64_get(&m, (uint64_t)i << 32 | 1, &v));
    }
    assert_int_equal(m.n, 10000);
    ts_map64_release(&m);
    assert_false(ts_map64_get(&m, 0, &v));
}

static void test_map64__ends_at_its_budget(void **state)
{
    (void)state;
    struct ts_map64 m;
    uint32_t v;
    uint64_t n = 0;
    ts_map64_init(&m, 10000);
    while (ts_map64_add(&m, n, (uint32_t)n) == 0)
        n++;
    assert_true(n > 100 && n < 10000 / 12);
    assert_true(m.used_bytes <= 10000);
    assert_int_equal(ts_map64_add(&m, n, 0), TS_ELIMIT);
    assert_true(ts_map64_get(&m, 0, &v)); /* what is there stays */
    ts_map64_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map64__finds_what_was_added),
        cmocka_unit_test(test_map64__ends_at_its_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
