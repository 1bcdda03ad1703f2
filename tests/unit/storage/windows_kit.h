/*
 * windows_kit.h - stores with clocks that the test sets, for tests of windows and of retention.
 */
#ifndef TESTS_UNIT_STORAGE_WINDOWS_KIT_H
#define TESTS_UNIT_STORAGE_WINDOWS_KIT_H

#include "tests/unit/storage/store_kit.h"

#include "base/time.h"

#define DAY TS_DAY_MS

static inline struct sto_store *open_at(struct t_faultfs *f, int64_t retention_days, uint64_t big_day_points)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.retention_ms = retention_days * DAY;
    opts.big_day_points = big_day_points;
    return kit_open(&opts);
}

static inline void put_at(struct sto_store *st, unsigned series, int64_t ts_ms, int64_t v)
{
    assert_int_equal(sto_put(sto_writer(st, 0), kit_series(st, series), ts_ms, (struct ts_num){.m = v}, true),
                     0);
}

/* So many points of a series that a file with them and one other point is not written again when that one has expired. */
#define KEPT_POINTS 9
static inline void put_kept(struct sto_store *st, unsigned series, int64_t ts_ms)
{
    for (int64_t i = 0; i < KEPT_POINTS; i++)
        put_at(st, series, ts_ms + i, 1);
}

static inline void flush_to(struct sto_store *st, enum sto_level level)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("flush: %s", err.text);
}

/* Points of a series: how many, and the sum of their values. */
struct seen {
    int64_t n;
    uint64_t sum; /* modulo 2^64 */
};

static inline void see(void *arg, int64_t ts_ms, struct ts_num v)
{
    struct seen *s = arg;
    (void)ts_ms;
    s->n++;
    s->sum += (uint64_t)v.m;
}

static inline struct seen seen(struct sto_store *st, unsigned series)
{
    struct seen s = {0, 0};
    struct ts_error err = {0};
    if (kit_points(st, kit_series(st, series), see, &s, &err) < 0)
        fail_msg("scan: %s", err.text);
    return s;
}

struct t_stat {
    const char *name;
    uint64_t value;
};

static inline void on_stat(void *arg, const char *name, uint64_t value)
{
    struct t_stat *s = arg;
    if (strcmp(name, s->name) == 0)
        s->value = value;
}

static inline uint64_t stat_of(struct sto_store *st, const char *name)
{
    struct t_stat s = {name, UINT64_MAX};
    sto_stats(st, on_stat, &s);
    assert_true(s.value != UINT64_MAX);
    return s.value;
}

/* Tombstones that a scan of a series has looked at. */
static inline uint64_t tombs_looked_at(struct sto_store *st, unsigned series)
{
    const struct sto_series *s = kit_series(st, series);
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_scan_spec spec = {
        .metric = s->metric, .series = &s, .n_series = 1, .from_ms = T0, .to_ms = T0 + DAY, .final = true};
    struct sto_merge *scan;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    while (sto_merge_next(scan, &row, NULL) == 1)
        ;
    uint64_t n = sto_merge_counts(scan)->n_tombs;
    sto_merge_free(scan);
    sto_snap_release(snap);
    return n;
}

static inline void clocks(int64_t now_ms, int64_t mono_ms)
{
    ts_clock_set_fake(now_ms);
    ts_clock_set_fake_mono(mono_ms * 1000000);
}

/* From now on the disk has so many bytes left. */
static inline void leave_room(struct t_faultfs *f, uint64_t bytes)
{
    uint64_t room = 0;
    t_faultfs_set_capacity(f, 1ull << 40);
    assert_int_equal(t_faultfs_fs(f)->free_bytes(t_faultfs_fs(f), "/db", &room, NULL), 0);
    t_faultfs_set_capacity(f, (1ull << 40) - room + bytes);
}

static inline int clocks_back(void **state)
{
    (void)state;
    clocks(T0, 1000);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, clocks_back)

#endif
