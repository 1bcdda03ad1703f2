/*
 * test_merge_random.c - any layering of the same operations answers alike: random stores against the plain
 * reference, and scans beside a writer.
 */
#include <pthread.h>

#include "tests/unit/engine/merge_kit.h"

static void random_ops(struct world *w, uint32_t n, uint32_t hours, uint32_t dels_per_1000)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sto_series *s = &w->series[rnd(N_SERIES)];
        int64_t ts = ((int64_t)rnd(hours) - hours / 3) * HOUR + rnd(90) * 40000;
        if (rnd(1000) < dels_per_1000)
            apply(w, del(s, ts, rnd(20) ? ts + rnd(3 * HOUR) : INT64_MAX));
        else
            apply(w, op_int(s, rnd(4) ? STO_OP_PUT : STO_OP_ADD, ts, (int64_t)rnd(100000) - 50000));
    }
}

static void random_asks(const struct world *w, uint32_t n, uint32_t hours)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t whole[ALL_HOURS];
        for (size_t k = 0; k < ALL_HOURS; k++)
            whole[k] = rnd(4) > 0;
        int64_t from = ((int64_t)rnd(hours) - hours / 3) * HOUR + (rnd(2) ? rnd(3600000) : 0);
        int64_t to = from + rnd(hours) * HOUR + (int64_t)(rnd(2) ? rnd(3600001) : 0) - 1;
        struct ask a = ask_some(w, 1 + rnd(6), from, to, rnd(3) ? whole : NULL);
        check(w, &a);
    }
}

/* The same operations in memstores, in files, in fewer files: the answers are those of the reference each
 * time. */
static void test_merge_random__random_worlds_match_the_reference(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 40; run++) {
        struct world w;
        uint32_t hours = 2 + run % 10;
        seed = 0x2545f4914f6cdd1dull + run; /* a failing run can be run alone */
        world_init(&w);
        for (uint32_t step = 0; step < 12; step++) {
            random_ops(&w, 1 + rnd(run % 3 ? 1500 : 6000), hours, run % 4 ? 3 : 60);
            random_asks(&w, 2, hours);
            if (rnd(2))
                next_generation(&w);
            if (w.n_mems > 1 && rnd(2)) {
                flush(&w, 1 + rnd((uint32_t)w.n_mems - 1), (int32_t)rnd(hours) - (int32_t)hours / 3);
                random_asks(&w, 2, hours);
            }
            if (rnd(4) == 0) {
                compact(&w, rnd(2));
                random_asks(&w, 2, hours);
            }
        }
        world_release(&w);
    }
}

static void test_merge_random__cuts_by_hour_split_and_lose_nothing(void **state)
{
    (void)state;
    struct world w;
    seed = 77;
    world_init(&w);
    random_ops(&w, 3000, 9, 0);
    next_generation(&w);
    random_ops(&w, 3000, 9, 0);
    next_generation(&w);
    flush(&w, 2, -1);
    assert_int_equal(w.n_ssts, 2);
    uint64_t n_rows = sto_sst_info(w.ssts[0])->n_rows + sto_sst_info(w.ssts[1])->n_rows;
    assert_true(sto_sst_info(w.ssts[0])->max_ms < -HOUR && sto_sst_info(w.ssts[1])->min_ms >= -HOUR);
    random_asks(&w, 20, 9);
    /* files cut too: each hour alone */
    struct sto_sst *in[2] = {w.ssts[0], w.ssts[1]};
    w.n_ssts = 0;
    for (int32_t h = -3; h < 6; h++)
        if (h != 0) /* 0,1 comes last: two zeros would mean no cut */
            write_rows(&w, in, 2, NULL, 0, true, h, h + 1, 1, 2);
    write_rows(&w, in, 2, NULL, 0, true, 0, 1, 1, 2);
    for (size_t i = 0; i < w.n_ssts; i++)
        n_rows -= sto_sst_info(w.ssts[i])->n_rows;
    assert_int_equal(n_rows, 0);
    random_asks(&w, 20, 9);
    for (int i = 0; i < 2; i++) {
        sto_sst_unlink_later(in[i], NULL);
        sto_sst_unref(in[i]);
    }
    world_release(&w);
}

/* --- beside a writer --- */

/* What the scanning thread shares with the writer. */
struct race {
    struct world w;    /* the last memstore is written to */
    _Atomic bool done; /* set by the writer */
    const char *wrong; /* set by the reader, read after it ended */
};

/* Each time of series 0 holds 1 in the file. The writer deletes the whole and adds 5 to each time again and
 * again: a reader sees 1 or a sum of fives, never 6. */
static void *race_scan(void *arg)
{
    struct race *race = arg;
    const struct sto_series *s[] = {&race->w.series[0]};
    struct sto_scan_spec spec = {.metric = 5, .series = s, .n_series = 1, .to_ms = 3 * HOUR, .final = true};
    bool last = false;
    while (!race->wrong) {
        struct sto_merge *merge;
        struct sto_row row;
        bool stop = last;
        last = race->done;
        if (sto_merge_new(&spec, race->w.ssts, race->w.n_ssts, race->w.mems, race->w.n_mems, &merge, NULL) <
            0)
            race->wrong = "open";
        while (!race->wrong && sto_merge_next(merge, &row, NULL) == 1)
            for (uint32_t i = 0; i < row.cells->n; i++)
                if (row.cells->m[i] != 1 && row.cells->m[i] % 5 != 0)
                    race->wrong = "an add was put onto what was deleted before it";
        sto_merge_free(merge);
        if (stop)
            break;
    }
    return NULL;
}

static void test_merge_random__scans_beside_a_writer_are_sane(void **state)
{
    (void)state;
    static struct race race;
    race = (struct race){0};
    world_init(&race.w);
    const struct sto_series *s = &race.w.series[0];
    for (int64_t i = 0; i < 120; i++)
        apply(&race.w, op_int(s, STO_OP_PUT, i * 60000, 1));
    next_generation(&race.w);
    flush(&race.w, 1, INT32_MAX);
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, race_scan, &race), 0);
    for (int round = 0; round < 200; round++) {
        apply(&race.w, del(s, round % 7, 3 * HOUR - round % 5));
        apply(&race.w, del(s, 0, 3 * HOUR));
        for (int64_t i = 0; i < 120; i += 1 + round % 3)
            apply(&race.w, op_int(s, STO_OP_ADD, i * 60000, 5));
    }
    race.done = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    if (race.wrong)
        fail_msg("%s", race.wrong);
    struct ask a = {.series = {s}, .n = 1, .from_ms = 0, .to_ms = 3 * HOUR};
    check(&race.w, &a);
    world_release(&race.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_random__random_worlds_match_the_reference),
        cmocka_unit_test(test_merge_random__cuts_by_hour_split_and_lose_nothing),
        cmocka_unit_test(test_merge_random__scans_beside_a_writer_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
