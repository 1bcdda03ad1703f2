/*
 * test_idtab.c - hash table of ids: all found while it grows, collisions, reserve; runs of ids; growing
 * table.
 *
 * Threads    one
 */
#include "storage/catalog/idtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/hash.h"
#include "storage/catalog/dense.h"
#include "storage/catalog/idruns.h"

static uint32_t t_hash(uint32_t id)
{
    return (uint32_t)(ts_hash_u64(id + 1) >> 32);
}

static bool t_has(const struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    uint32_t got;
    for (struct sto_idtab_walk w = sto_idtab__walk(t, hash); sto_idtab__next(&w, &got);)
        if (got == id)
            return true;
    return false;
}

static void test_idtab__finds_all_at_every_size(void **state)
{
    (void)state;
    struct sto_idtab t = {0};
    assert_false(t_has(&t, 0, 0));
    for (uint32_t id = 0; id < 5000; id++) {
        sto_idtab__insert(&t, t_hash(id), id);
        if (id % 97 == 0)
            for (uint32_t i = 0; i <= id; i++)
                assert_true(t_has(&t, t_hash(i), i));
        assert_false(t_has(&t, t_hash(id + 1), id + 1));
    }
    assert_int_equal(t.n, 5000);
    assert_true(t.cap >= 5000 && t.cap < 3 * 5000);
    sto_idtab__release(&t);
}

static void test_idtab__same_hash_and_edge_hashes(void **state)
{
    (void)state;
    struct sto_idtab t = {0};
    for (uint32_t id = 0; id < 200; id++) { /* all at the last place: wraps around */
        sto_idtab__insert(&t, UINT32_MAX, id);
        sto_idtab__insert(&t, 0, 1000 + id);
    }
    sto_idtab__insert(&t, 7, UINT32_MAX - 1);
    for (uint32_t id = 0; id < 200; id++) {
        assert_true(t_has(&t, UINT32_MAX, id));
        assert_true(t_has(&t, 0, 1000 + id));
        assert_false(t_has(&t, 0, id));
    }
    assert_true(t_has(&t, 7, UINT32_MAX - 1));
    sto_idtab__release(&t);
    sto_idtab__release(&t);
}

/* Entries come and go at random while the table grows, is rebuilt and shrinks; hashes crowd at both ends of the
 * table, so that entries are placed far from their place and past the end. */
static void test_idtab__agrees_with_a_model(void **state)
{
    enum { IDS = 6000, STEPS = 80000 };
    (void)state;
    struct sto_idtab t = {0};
    static bool in[IDS];
    static uint32_t hash[IDS];
    for (uint32_t id = 0; id < IDS; id++)
        hash[id] = id % 3 == 0 ? t_hash(id) : id % 3 == 1 ? UINT32_MAX - id % 50 * 1000 : id % 70 * 1000;
    uint64_t random = 1;
    for (uint32_t step = 0; step < STEPS; step++) {
        random = ts_hash_u64(random);
        uint32_t id = (uint32_t)(random >> 32) % IDS;
        bool grows = step / 16000 % 2 == 0; /* mostly adding, then mostly removing */
        if (in[id] == grows && random % 8)
            continue;
        if (in[id])
            sto_idtab__remove(&t, hash[id], id);
        else
            sto_idtab__insert(&t, hash[id], id);
        in[id] = !in[id];
        for (uint32_t i = step % 500 ? id : 0; i < (step % 500 ? id + 1 : IDS); i++)
            assert_int_equal(t_has(&t, hash[i], i), in[i]);
    }
    sto_idtab__release(&t);
}

/* Number of times that a walk returns this id. */
static unsigned t_times(const struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    unsigned n = 0;
    uint32_t got;
    for (struct sto_idtab_walk w = sto_idtab__walk(t, hash); sto_idtab__next(&w, &got);)
        n += got == id;
    return n;
}

/* At no time does a table that grows take the memory of both tables, although all stay in it. */
static void test_idtab__growing_takes_little_memory(void **state)
{
    enum { N = 200000 };
    (void)state;
    struct sto_idtab t = {0};
    for (uint32_t id = 0; id < N; id++) {
        sto_idtab__insert(&t, t_hash(id), id);
        assert_true(sto_idtab__bytes(&t) <= (size_t)id * 14 + 4096);
        if (t.old && t.old_next % 2000 < 16) { /* at the edge of what is moved */
            uint32_t some = (uint32_t)(t_hash(id) % (id + 1));
            assert_int_equal(t_times(&t, t_hash(some), some), 1);
        }
    }
    for (uint32_t id = 0; id < N; id++)
        assert_int_equal(t_times(&t, t_hash(id), id), 1);
    sto_idtab__release(&t);
}

static void test_idtab__reserve_keeps_entries_and_avoids_growth(void **state)
{
    (void)state;
    struct sto_idtab t = {0};
    for (uint32_t id = 0; id < 60; id++)
        sto_idtab__insert(&t, t_hash(id), id);
    sto_idtab__reserve(&t, 100000);
    size_t bytes = sto_idtab__bytes(&t);
    for (uint32_t id = 60; id < 100000; id++)
        sto_idtab__insert(&t, t_hash(id), id);
    assert_int_equal(sto_idtab__bytes(&t), bytes);
    for (uint32_t id = 0; id < 100000; id++)
        assert_true(t_has(&t, t_hash(id), id));
    sto_idtab__reserve(&t, 10);
    assert_int_equal(sto_idtab__bytes(&t), bytes);
    sto_idtab__release(&t);
}

static void test_idruns__sort_joins_and_drops_repeats(void **state)
{
    (void)state;
    struct sto_idruns r = {0}, more = {0};
    for (uint32_t id = 10; id < 20; id++)
        sto_idruns__add(&r, id);
    assert_int_equal(r.n, 1);
    sto_idruns__add(&r, 3);
    sto_idruns__add(&r, 4);
    sto_idruns__add(&r, 30);
    sto_idruns__add(&more, 5);
    sto_idruns__add(&more, 15);
    sto_idruns__add(&more, 20);
    sto_idruns__add(&more, UINT32_MAX);
    sto_idruns__add_all(&r, &more);
    sto_idruns__sort(&r);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.runs[0].first, 3);
    assert_int_equal(r.runs[0].n, 3);
    assert_int_equal(r.runs[1].first, 10);
    assert_int_equal(r.runs[1].n, 11);
    assert_int_equal(r.runs[2].first, 30);
    assert_int_equal(r.runs[3].first, UINT32_MAX);
    sto_idruns__release(&r);
    sto_idruns__release(&more);
}

static void test_dense__segments_meet_without_gap(void **state)
{
    (void)state;
    static char marks[3000];
    static struct sto_dense d;
    assert_null(sto_dense__get(&d, 0));
    assert_null(sto_dense__get(&d, UINT32_MAX));
    for (uint32_t id = 0; id < 3000; id++)
        sto_dense__set(&d, id, &marks[id]);
    for (uint32_t id = 0; id < 3000; id++)
        assert_ptr_equal(sto_dense__get(&d, id), &marks[id]);
    assert_null(sto_dense__get(&d, 3000));
    uint64_t place;
    assert_int_equal(sto_dense__segment(255, &place), 0);
    assert_int_equal(place, 255);
    assert_int_equal(sto_dense__segment(256, &place), 1);
    assert_int_equal(place, 0);
    assert_int_equal(sto_dense__segment(UINT32_MAX, &place), STO_DENSE_SEGMENTS - 1);
    assert_true(place < (uint64_t)STO_DENSE_FIRST << (STO_DENSE_SEGMENTS - 1));
    sto_dense__release(&d);
    assert_null(sto_dense__get(&d, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idtab__finds_all_at_every_size),
        cmocka_unit_test(test_idtab__same_hash_and_edge_hashes),
        cmocka_unit_test(test_idtab__agrees_with_a_model),
        cmocka_unit_test(test_idtab__growing_takes_little_memory),
        cmocka_unit_test(test_idtab__reserve_keeps_entries_and_avoids_growth),
        cmocka_unit_test(test_idruns__sort_joins_and_drops_repeats),
        cmocka_unit_test(test_dense__segments_meet_without_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
