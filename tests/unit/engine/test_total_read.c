/*
 * test_total_read.c - hours that a kept total answers: cutoffs of retention beside files to which newer deletes were applied.
 */
#include "tests/unit/engine/merge_kit.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/files/total.h"
#include "storage/engine/total_read.h"

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

/* A file of generation 5 with two points an hour, to whose rows deletes up to generation carried were applied, and its total. */
static void make_file(struct world *w, struct ts_budget *memory, uint64_t carried)
{
    struct ts_error err = {0};
    struct sto_cells cells = {0};
    struct sto_sst_writer *writer = new_writer(w);
    sto_sst_writer_note(writer, 1, carried);
    sto_cells_reserve(&cells, 2);
    for (int32_t h = 0; h < N_HOURS; h++) {
        for (uint32_t k = 0; k < 2; k++) {
            cells.meta[k] = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false) | (k * 1000);
            cells.m[k] = 1;
        }
        cells.n = 2;
        const struct sto_key key = {5, 0, h};
        assert_int_equal(sto_sst_write_row(writer, &key, &cells, &err), 0);
    }
    sto_cells_release(&cells);
    add_file(w, writer, 5, 5);
    if (sto_total_make(w->ssts[0], &t_ids, tags_of, NULL, memory, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* How many points the total has of the hours that it answers. */
static int64_t points(struct world *w, struct ts_budget *memory, int64_t cutoff_ms, uint64_t cutoff_gen,
                      const struct sto_floors *floors)
{
    uint8_t wanted[N_HOURS];
    const struct sto_series *series = &w->series[0];
    const struct sto_version v = {
        .n_ssts = 1, .ssts = w->ssts, .cutoff_ms = cutoff_ms, .cutoff_gen = cutoff_gen};
    const struct sto_total_spec spec = {.total = t_ids,
                                        .series = &series,
                                        .n_series = 1,
                                        .n_hours = N_HOURS,
                                        .wanted = wanted,
                                        .memory = memory,
                                        .group = on_group};
    struct sto_total_scan *scan;
    const struct sto_summary *sum;
    struct ts_error err = {0};
    int64_t group, n = 0;
    int32_t hour;
    int rc;
    memset(wanted, 1, sizeof wanted);
    assert_int_equal(sto_version_total_scan(&v, floors, STO_MIN_TS_MS, &spec, &scan, &err), 0);
    while ((rc = sto_total_scan_next(scan, &group, &hour, &sum, &err)) == 1)
        n += sum->n;
    assert_int_equal(rc, 0);
    sto_total_scan_free(scan);
    return n;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total_read__cutoffs_concern_the_generations_of_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
