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
        if (!limited) /* the pieces and the result, each with half of it more, and a slice; in one piece it would be five times all */
            assert_in_range(memory.peak_bytes, 3 * all - all / 4, 5 * all - all / 2);
        sto_merge_free(m);
        assert_int_equal(memory.used_bytes, 0);
    }
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_long__slices_answer_as_one),
        cmocka_unit_test(test_merge_long__scratch_is_that_of_a_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
