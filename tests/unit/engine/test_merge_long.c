/*
 * test_merge_long.c - rows with very many points: they are merged slice by slice, and within a limit.
 */
#include "tests/unit/engine/merge_kit.h"

#define GENERATIONS 4
#define CELLS       90000u /* of a generation: together more than a slice */

/* Points of one hour in several generations: puts and additions at some times of all of it, and a delete. */
static void put_long_row(struct world *w, const struct sto_series *s)
{
    for (uint32_t g = 0; g < GENERATIONS; g++) {
        for (uint32_t i = 0; i < CELLS; i++)
            apply(w, op_int(s, (i + g) % 3 ? STO_OP_PUT : STO_OP_ADD, i * (g == 2 ? 7 : 40) + g * 13,
                            i * 10 + g));
        if (g == 1)
            apply(w, del(s, 500000, 1500000));
        next_generation(w);
        flush(w, 1, 0);
    }
}

static void test_merge_long__slices_answer_as_one(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    const struct sto_series *s = &w.series[0];
    put_long_row(&w, s);
    struct ask all = {.series = {s}, .n = 1, .from_ms = 0, .to_ms = HOUR - 1};
    check(&w, &all);
    struct ask part = {.series = {s}, .n = 1, .from_ms = HOUR / 3 + 7, .to_ms = HOUR / 2};
    check(&w, &part);
    apply(&w, del(s, 0, HOUR - 2)); /* nothing but the last millisecond is left */
    check(&w, &all);
    world_release(&w);
}

static void test_merge_long__scratch_is_that_of_a_slice(void **state)
{
    (void)state;
    struct world w;
    struct ts_budget memory;
    struct ts_error err = {0};
    struct sto_row row;
    world_init(&w);
    const struct sto_series *s = &w.series[0];
    put_long_row(&w, s);
    uint64_t all = GENERATIONS * CELLS * 12ull;
    for (int limited = 0; limited < 2; limited++) {
        struct sto_scan_spec spec = {.metric = s->metric,
                                     .series = &s,
                                     .n_series = 1,
                                     .to_ms = HOUR - 1,
                                     .final = true,
                                     .memory = &memory,
                                     .must_go_on = true,
                                     .most_bytes = limited ? all : 0};
        struct sto_merge *m = NULL;
        ts_budget_init(&memory, "this scan", "some_key", NULL, 1u << 20);
        assert_int_equal(sto_merge_new(&spec, w.ssts, w.n_ssts, NULL, 0, &m, &err), 0);
        int rc = sto_merge_next(m, &row, &err);
        assert_int_equal(rc, limited ? TS_ELIMIT : 1);
        if (!limited) /* the pieces and the result, with an eighth to a half of each more, and a slice; in one piece it would be five times all */
            assert_in_range(memory.peak_bytes, 3 * all - all / 4, 5 * all - all / 2);
        sto_merge_free(m);
        assert_int_equal(memory.used_bytes, 0);
    }
    world_release(&w);
}

/* All rows of a series within an account of 1 MiB, beyond which one may take most_bytes: 0, or an error. */
static int read_all(struct world *w, const struct sto_series *s, uint64_t most_bytes, uint32_t *out_n)
{
    struct ts_budget memory;
    struct ts_error err = {0};
    struct sto_row row;
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .to_ms = 2 * HOUR - 1,
                                 .final = true,
                                 .memory = &memory,
                                 .must_go_on = true,
                                 .most_bytes = most_bytes};
    struct sto_merge *m = NULL;
    int rc;
    ts_budget_init(&memory, "this scan", "some_key", NULL, 1u << 20);
    assert_int_equal(sto_merge_new(&spec, w->ssts, w->n_ssts, NULL, 0, &m, &err), 0);
    for (*out_n = 0; (rc = sto_merge_next(m, &row, &err)) == 1;)
        *out_n += row.cells->n;
    sto_merge_free(m);
    assert_int_equal(memory.used_bytes, 0);
    return rc;
}

/* A row that is too long for a merge can be deleted, and is gone after it: nothing of it is held. */
static void test_merge_long__deleted_rows_take_no_memory(void **state)
{
    (void)state;
    struct world w;
    uint32_t n;
    world_init(&w);
    const struct sto_series *s = &w.series[0];
    put_long_row(&w, s);
    assert_int_equal(read_all(&w, s, 2u << 20, &n), TS_ELIMIT);
    apply(&w, del(s, 0, HOUR / 2));
    next_generation(&w);
    flush(&w, 1, 0);
    assert_int_equal(read_all(&w, s, 2u << 20, &n), TS_ELIMIT);
    apply(&w, del(s, HOUR / 2, HOUR - 1));
    next_generation(&w);
    flush(&w, 1, 0);
    assert_int_equal(read_all(&w, s, 2u << 20, &n), 0);
    apply(&w, op_int(s, STO_OP_ADD, 77, 5));
    next_generation(&w);
    flush(&w, 1, 0);
    assert_int_equal(read_all(&w, s, 2u << 20, &n), 0);
    assert_int_equal(n, 1);
    struct ask all = {.series = {s}, .n = 1, .from_ms = 0, .to_ms = HOUR - 1};
    check(&w, &all);
    world_release(&w);
}

/* What tombstones take is not of a row: a merge must be able to get rid of them. */
static void test_merge_long__tombstones_are_not_of_the_row(void **state)
{
    (void)state;
    struct world w;
    uint32_t n;
    world_init(&w);
    const struct sto_series *s = &w.series[0];
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < 20000; i++)
            apply(&w, op_int(s, STO_OP_PUT, i < 10 ? i : HOUR + i, i));
        next_generation(&w);
        flush(&w, 1, 0);
    }
    for (uint32_t i = 0; i < 100000; i++)
        apply(&w, del(s, HOUR + 100000 + 3 * i, HOUR + 100000 + 3 * i));
    next_generation(&w);
    flush(&w, 1, 0);
    assert_int_equal(read_all(&w, s, 4u << 20, &n), 0);
    assert_int_equal(n, 20000);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_long__slices_answer_as_one),
        cmocka_unit_test(test_merge_long__scratch_is_that_of_a_slice),
        cmocka_unit_test(test_merge_long__deleted_rows_take_no_memory),
        cmocka_unit_test(test_merge_long__tombstones_are_not_of_the_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
