/*
 * test_posting.c - sets of series numbers against a roaring bitmap, at every size.
 *
 * Threads    one
 */
#include "storage/catalog/posting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void t_same(sto_posting set, const roaring_bitmap_t *want)
{
    roaring_bitmap_t *got = sto_posting__copy(set);
    assert_true(roaring_bitmap_equals(got, want));
    assert_int_equal(sto_posting__count(set), roaring_bitmap_get_cardinality(want));
    roaring_bitmap_free(got);
}

/* Numbers in an order that has repeats, goes up, goes down and reaches both ends. */
static uint32_t t_number(int order, uint32_t i)
{
    switch (order) {
    case 0:
        return i;
    case 1:
        return UINT32_MAX - 1 - i;
    case 2:
        return i * 2654435761u;
    default:
        return (i / 2) * 70000u;
    }
}

static void test_posting__holds_what_was_added_at_every_size(void **state)
{
    (void)state;
    for (int order = 0; order < 4; order++) {
        struct sto_posting_pool pool = {0};
        sto_posting set = 0;
        roaring_bitmap_t *want = roaring_bitmap_create();
        t_same(set, want);
        for (uint32_t i = 0; i < 60; i++) {
            sto_posting__add(&set, &pool, t_number(order, i));
            sto_posting__add(&set, &pool, t_number(order, i / 2));
            roaring_bitmap_add(want, t_number(order, i));
            t_same(set, want);
        }
        assert_int_equal(pool.n_bitmaps, 1);
        sto_posting__free(set);
        roaring_bitmap_free(want);
        ts_arena_release(&pool.arena);
    }
}

static void test_posting__add_many_from_every_size(void **state)
{
    (void)state;
    uint32_t ids[100];
    for (uint32_t i = 0; i < 100; i++)
        ids[i] = 1000 + i * 3;
    for (uint32_t before = 0; before < 20; before++) {
        for (size_t n = 0; n <= 100; n += 7) {
            struct sto_posting_pool pool = {0};
            sto_posting set = 0;
            roaring_bitmap_t *want = roaring_bitmap_create();
            for (uint32_t i = 0; i < before; i++) {
                sto_posting__add(&set, &pool, i * 150);
                roaring_bitmap_add(want, i * 150);
            }
            sto_posting__add_many(&set, &pool, ids, n);
            roaring_bitmap_add_many(want, n, ids);
            t_same(set, want);
            sto_posting__free(set);
            roaring_bitmap_free(want);
            ts_arena_release(&pool.arena);
        }
    }
}

static void test_posting__and_or_for_every_kind(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 2, 14, 15, 1000};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        struct sto_posting_pool pool = {0};
        sto_posting set = 0;
        for (uint32_t i = 0; i < sizes[k]; i++)
            sto_posting__add(&set, &pool, i * 2);
        roaring_bitmap_t *plain = sto_posting__copy(set);
        roaring_bitmap_t *other = roaring_bitmap_from_range(0, 500, 3);
        roaring_bitmap_t *both = roaring_bitmap_and(other, plain), *any = roaring_bitmap_or(other, plain);
        roaring_bitmap_t *got = roaring_bitmap_copy(other);
        sto_posting__and_into(set, got);
        assert_true(roaring_bitmap_equals(got, both));
        sto_posting__or_into(set, other);
        assert_true(roaring_bitmap_equals(other, any));
        roaring_bitmap_free(got);
        roaring_bitmap_free(any);
        roaring_bitmap_free(both);
        roaring_bitmap_free(other);
        roaring_bitmap_free(plain);
        sto_posting__free(set);
        ts_arena_release(&pool.arena);
    }
}

static void test_posting__outgrown_arrays_are_used_again(void **state)
{
    (void)state;
    struct sto_posting_pool pool = {0};
    sto_posting sets[1000] = {0};
    for (int round = 0; round < 10; round++)
        for (uint32_t s = 0; s < 1000; s++)
            sto_posting__add(&sets[s], &pool, (uint32_t)round);
    /* arrays of 10 numbers take 64 bytes; what they grew through is given to others as they grow */
    assert_true(pool.arena.used_bytes < 1000 * (64 + 32 + 16) + 70000);
    assert_int_equal(pool.n_bitmaps, 0);
    ts_arena_release(&pool.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posting__holds_what_was_added_at_every_size),
        cmocka_unit_test(test_posting__add_many_from_every_size),
        cmocka_unit_test(test_posting__and_or_for_every_kind),
        cmocka_unit_test(test_posting__outgrown_arrays_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
