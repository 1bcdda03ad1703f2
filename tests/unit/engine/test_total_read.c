/*
 * test_total_read.c - hours that a kept total answers: cutoffs of retention beside files to which newer deletes were applied, files with many holes.
 */
#include "tests/unit/engine/merge_kit.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/files/total.h"
#include "storage/engine/total_read.h"
#include "storage/total_run.h"

#define N_HOURS 8

static const struct sto_total_ids t_ids = {.no = 1, .metric = 5, .n_over = 1, .over = {7}};

static int tags_of(void *arg, uint32_t series, struct sto_tag *tags)
{
    (void)arg;
    tags[0] = (struct sto_tag){7, series + 1};
    return 1;
}

static int64_t on_group(void *arg, const struct sto_tag *tags, size_t n_tags)
{
    (void)arg, (void)tags, (void)n_tags;
    return 0;
}

/* A file of a generation with two points in n hours, the first one and each `step` hours later, to whose rows deletes up to generation carried were applied,
 * and its total. */
static void make_hours(struct world *w, struct ts_budget *memory, uint64_t gen, uint64_t carried,
                       int32_t first, int32_t n, int32_t step)
{
    struct ts_error err = {0};
    struct sto_cells cells = {0};
    struct sto_sst_writer *writer = new_writer(w);
    sto_sst_writer_note(writer, 1, carried);
    sto_cells_reserve(&cells, 2);
    for (int32_t h = 0; h < n; h++) {
        for (uint32_t k = 0; k < 2; k++) {
            cells.meta[k] = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false) | (k * 1000);
            cells.m[k] = 1;
        }
        cells.n = 2;
        const struct sto_key key = {5, 0, first + h * step};
        assert_int_equal(sto_sst_write_row(writer, &key, &cells, &err), 0);
    }
    sto_cells_release(&cells);
    add_file(w, writer, gen, gen);
    if (sto_total_make(w->ssts[w->n_ssts - 1], &t_ids, tags_of, NULL, memory, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void make_file(struct world *w, struct ts_budget *memory, uint64_t carried)
{
    make_hours(w, memory, 5, carried, 0, N_HOURS, 1);
}

/* How many points the totals of v have of the hours that they answer, from an hour on. */
static int64_t points_from(struct world *w, struct ts_budget *memory, const struct sto_version *v,
                           int32_t hour_lo, const struct sto_floors *floors)
{
    uint8_t wanted[N_HOURS];
    const struct sto_series *series = &w->series[0];
    const struct sto_total_spec spec = {.total = t_ids,
                                        .series = &series,
                                        .n_series = 1,
                                        .hour_lo = hour_lo,
                                        .n_hours = N_HOURS,
                                        .wanted = wanted,
                                        .memory = memory,
                                        .group = on_group};
    struct sto_total_scan *scan;
    struct sto_run run;
    const struct sto_summary *sum;
    struct ts_error err = {0};
    int64_t group, n = 0, n_of_runs = 0;
    __int128 total = 0, total_of_runs = 0;
    int32_t hour;
    int rc;
    memset(wanted, 1, sizeof wanted);
    assert_int_equal(sto_version_total_scan(v, floors, STO_MIN_TS_MS, &spec, &scan, &err), 0);
    while ((rc = sto_total_scan_next(scan, &group, &hour, &sum, &err)) == 1)
        n += sum->n, total += sum->sum;
    assert_int_equal(rc, 0);
    sto_total_scan_free(scan);
    /* the same as runs */
    assert_int_equal(sto_version_total_scan(v, floors, STO_MIN_TS_MS, &spec, &scan, &err), 0);
    while ((rc = sto_total_scan_run(scan, &group, &run, &err)) == 1)
        for (size_t i = 0; i < run.n; i++)
            n_of_runs += run.counts[i], total_of_runs += run.sums[i];
    assert_int_equal(rc, 0);
    assert_int_equal(n_of_runs, n);
    assert_true(total_of_runs == total);
    sto_total_scan_free(scan);
    return n;
}

static int64_t points(struct world *w, struct ts_budget *memory, int64_t cutoff_ms, uint64_t cutoff_gen,
                      const struct sto_floors *floors)
{
    const struct sto_version v = {
        .n_ssts = w->n_ssts, .ssts = w->ssts, .cutoff_ms = cutoff_ms, .cutoff_gen = cutoff_gen};
    return points_from(w, memory, &v, 0, floors);
}

/* A delete may be newer than all files that are left, and thus than a cutoff: that it was applied to a file says nothing of the cutoff. */
static void test_total_read__cutoffs_concern_the_generations_of_files(void **state)
{
    (void)state;
    static const uint64_t carried[] = {0, 5, 9};
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        struct world w;
        struct ts_budget memory;
        world_init(&w);
        ts_budget_init(&memory, "totals", NULL, NULL, 0);
        make_file(&w, &memory, carried[i]);
        struct sto_floors *floors = sto_floors_new(1);
        floors->at[0] =
            (struct sto_floor){.cutoff_ms = 3 * HOUR, .gen = 6, .series = roaring_bitmap_of(1, 0u)};
        sto_floors_filled(floors);
        assert_int_equal(points(&w, &memory, 0, 0, NULL), 2 * N_HOURS);
        assert_int_equal(points(&w, &memory, 3 * HOUR, 5, NULL),
                         2 * N_HOURS); /* it does not concern the file */
        assert_int_equal(points(&w, &memory, 3 * HOUR, 6, NULL), 2 * (N_HOURS - 3));
        assert_int_equal(points(&w, &memory, 0, 0, floors), 2 * (N_HOURS - 3));
        floors->at[0].gen = 5;
        assert_int_equal(points(&w, &memory, 0, 0, floors), 2 * N_HOURS);
        sto_floors_unref(floors);
        world_release(&w);
        assert_int_equal(atomic_load(&memory.used_bytes), 0);
    }
}

/* Of a file that cannot be read the deletes are not known but for their times: totals do not answer in these. */
static void test_total_read__deletes_of_a_file_that_cannot_be_read(void **state)
{
    (void)state;
    struct world w;
    struct ts_budget memory;
    world_init(&w);
    ts_budget_init(&memory, "totals", NULL, NULL, 0);
    make_file(&w, &memory, 0);
    const struct sto_sst_info info = {.file_no = ++w.file_no,
                                      .gen_lo = 6,
                                      .gen_hi = 6,
                                      .n_tombs = 1,
                                      .tomb_min_ms = 2 * HOUR,
                                      .tomb_max_ms = 4 * HOUR};
    w.ssts[w.n_ssts++] = sto_sst_new_broken(ts_fs_real(), w.dir, &info, "it is damaged");
    assert_int_equal(points(&w, &memory, 0, 0, NULL), 2 * (N_HOURS - 3));
    world_release(&w);
    assert_int_equal(atomic_load(&memory.used_bytes), 0);
}

/* A file that has rows in more runs of hours than a total names: its rows are expected in all hours, the last one too, in which another file has the same
 * series. */
static void test_total_read__hours_of_many_runs_reach_to_the_last_one(void **state)
{
    (void)state;
    static const int32_t n_runs[] = {STO_TOTAL_RUNS, STO_TOTAL_RUNS + 1};
    for (size_t i = 0; i < sizeof n_runs / sizeof *n_runs; i++) {
        struct world w;
        struct ts_budget memory;
        int32_t last = 2 * (n_runs[i] - 1);
        world_init(&w);
        ts_budget_init(&memory, "totals", NULL, NULL, 0);
        make_hours(&w, &memory, 5, 0, 0, n_runs[i], 2);
        const struct sto_version v = {.n_ssts = 1, .ssts = w.ssts};
        assert_int_equal(points_from(&w, &memory, &v, last - N_HOURS + 1, NULL), N_HOURS);
        make_hours(&w, &memory, 6, 0, last, 1, 1); /* puts over the points of that hour */
        const struct sto_version both = {.n_ssts = 2, .ssts = w.ssts};
        assert_int_equal(points_from(&w, &memory, &both, last - N_HOURS + 1, NULL), N_HOURS - 2);
        world_release(&w);
        assert_int_equal(atomic_load(&memory.used_bytes), 0);
    }
}

/* A total whose names are taken by others, and given back: its file goes and takes no space, and it is made anew. */
static void test_total_read__what_was_dropped_is_made_anew(void **state)
{
    (void)state;
    struct world w;
    struct ts_budget memory;
    struct ts_error err = {0};
    struct sto_total_ids other = t_ids;
    other.over[0] = 8;
    world_init(&w);
    ts_budget_init(&memory, "totals", NULL, NULL, 0);
    make_file(&w, &memory, 0);
    struct sto_sst *sst = w.ssts[0];
    const struct sto_total_file *was = sto_sst_total(sst, &t_ids);
    uint64_t bytes = sto_sst_disk_bytes(sst);
    assert_non_null(was);
    sto_sst_drop_totals(sst, &t_ids, 1);
    assert_true(sto_sst_total_is_known(sst, &t_ids));
    sto_sst_drop_totals(sst, &other, 1);
    assert_int_equal(sto_sst_disk_bytes(sst), bytes - was->bytes);
    assert_false(sto_sst_total_is_known(sst, &t_ids));
    assert_int_equal(points(&w, &memory, 0, 0, NULL), 0);
    assert_int_equal(sto_total_make(sst, &other, tags_of, NULL, &memory, NULL, &err),
                     0); /* in a file of the same name */
    sto_sst_drop_totals(sst, &t_ids, 1);
    assert_int_equal(sto_total_make(sst, &t_ids, tags_of, NULL, &memory, NULL, &err), 0);
    sto_sst_drop_totals(sst, &t_ids, 1); /* neither of the two that were dropped before takes it away */
    assert_int_equal(sto_sst_disk_bytes(sst), bytes);
    assert_int_equal(points(&w, &memory, 0, 0, NULL), 2 * N_HOURS);
    struct sto_sst_cur *cur =
        sto_sst_total_cur(sst, was, NULL); /* who has found the first one goes on with it */
    assert_non_null(cur);
    sto_sst_cur_free(cur);
    world_release(&w);
    assert_int_equal(atomic_load(&memory.used_bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total_read__cutoffs_concern_the_generations_of_files),
        cmocka_unit_test(test_total_read__what_was_dropped_is_made_anew),
        cmocka_unit_test(test_total_read__deletes_of_a_file_that_cannot_be_read),
        cmocka_unit_test(test_total_read__hours_of_many_runs_reach_to_the_last_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
