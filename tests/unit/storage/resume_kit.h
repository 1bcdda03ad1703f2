/*
 * resume_kit.h - a store whose merge was interrupted, for tests of merges that continue.
 */
#ifndef TESTS_UNIT_STORAGE_RESUME_KIT_H
#define TESTS_UNIT_STORAGE_RESUME_KIT_H

#include "tests/unit/storage/windows_kit.h"

#include "storage/engine/merge/partition.h"
#include "storage/engine/unfinished.h"
#include "tests/unit/t_random.h"

#define FILES       ((int64_t)STO_TINY_FILES) /* small files of a day that start a merge */
#define SERIES      6u
#define POINTS      40 /* points of a series in a file */
#define TOTAL       ((uint64_t)FILES * SERIES * POINTS)
#define INTERVAL    3000u        /* bytes between two checkpoints */
#define SLACK       2000u        /* the last row, indexes and footers of unfinished files */
#define LATER       (11 * 60000) /* monotonic ms: a window whose merge failed is tried again */
#define NOW         (T0 + 8 * 3600000)
#define RECORD_PATH "/db/" STO_UNFINISHED_NAME

static inline struct sto_store *open_again(struct t_faultfs *f)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.big_day_points = 1;
    opts.checkpoint_bytes = INTERVAL;
    return kit_open(&opts);
}

/* A disk with a closed store in which the files of a day wait for a merge. *out_sum: sum of the values of each series. */
static inline struct t_faultfs *waiting(uint64_t out_sum[SERIES])
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_store *st = open_again(f);
    uint64_t r = 5;
    clocks(NOW, 1000);
    memset(out_sum, 0, SERIES * sizeof *out_sum);
    for (int64_t i = 0; i < FILES; i++) {
        for (unsigned s = 0; s < SERIES; s++)
            for (int64_t k = 0; k < POINTS; k++) {
                int64_t v = (int64_t)(t_rand(&r) >> 1);
                put_at(st, s, T0 + i * 10000 + k * 600000, v);
                out_sum[s] += (uint64_t)v;
            }
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), FILES);
    kit_close(st);
    return f;
}

static inline void expect_all(struct sto_store *st, const uint64_t sum[SERIES])
{
    for (unsigned s = 0; s < SERIES; s++) {
        struct seen got = seen(st, s);
        assert_int_equal(got.n, FILES * POINTS);
        assert_true(got.sum == sum[s]);
    }
}

/* Bytes of all sorted files. */
static inline uint64_t files_bytes(struct t_faultfs *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *path = t_faultfs_path(f, i);
        size_t n = 0;
        if (strstr(path, "/files/"))
            ts_free(t_faultfs_get(f, path, &n));
        sum += n;
    }
    return sum;
}

static inline bool has_record(struct t_faultfs *f)
{
    size_t n;
    uint8_t *p = t_faultfs_get(f, RECORD_PATH, &n);
    ts_free(p);
    return p != NULL;
}

/* A copy of the disk, on which a merge was interrupted after about `at` calls of the file system that write. */
static inline struct t_faultfs *interrupted(struct t_faultfs *base, uint64_t at, bool *out_fired)
{
    struct t_faultfs *f = t_faultfs_clone(base, at);
    struct sto_store *st = open_again(f);
    struct ts_error err = {0};
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(st, &err);
    *out_fired = t_faultfs_fired(f);
    t_faultfs_power_cut(f);
    sto_close(st, NULL);
    return f;
}

/* A disk on which a merge was interrupted after its second checkpoint; two of its files are finished. */
static inline struct t_faultfs *halfway(uint64_t out_sum[SERIES])
{
    struct t_faultfs *base = waiting(out_sum), *f = NULL;
    struct sto_unfinished u;
    struct ts_error err = {0};
    bool fired = true, found = false;
    for (uint64_t at = 10; fired && !found; at++) {
        t_faultfs_free(f);
        f = interrupted(base, at, &fired);
        t_faultfs_kill(f);
        found = sto_unfinished_read(t_faultfs_fs(f), "/db", &u, &err) == 1 && u.n_outputs == 2;
        sto_unfinished_release(&u);
    }
    assert_true(found);
    t_faultfs_free(base);
    return f;
}

#endif
