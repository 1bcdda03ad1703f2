/*
 * wal_kit.h - what the tests of the write-ahead log share: series, random points, a diary.
 *
 * Threads    one
 */
#ifndef TESTS_UNIT_ENGINE_WAL_KIT_H
#define TESTS_UNIT_ENGINE_WAL_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/log/wal.h"
#include "storage/engine/log/wal_format.h"
#include "tests/faults/faultfs.h"

#define DIR_NAME "w"
#define N_SERIES 300u

/* --- series and points --- */

static struct sto_series *all_series[N_SERIES];
#define MAX_TEXT 64

/* Series i: ids with holes, tags in no order, 0 to 3 of them. */
static inline int make_series(void **state)
{
    (void)state;
    ts_log_set_level(TS_LOG_ERROR + 1); /* hundreds of torn tails are cut here on purpose */
    for (uint32_t i = 0; i < N_SERIES; i++) {
        uint8_t n_tags = (uint8_t)(i % 4);
        struct sto_series *s = ts_xcalloc(1, sizeof(*s) + n_tags * sizeof(struct sto_tag) + MAX_TEXT);
        char *text = (char *)(s->tags + n_tags);
        int n = snprintf(text, MAX_TEXT, "m.%u", i % 7);
        s->id = i * 3 + (i > 250 ? 1000000 : 0);
        s->local = i;
        s->metric = i % 7 + 1;
        s->metric_len = (uint32_t)n;
        s->n_tags = n_tags;
        for (uint32_t k = 0; k < n_tags; k++) {
            s->tags[k] = (struct sto_tag){k * 70000 + 1, i * 5 + k};
            n += snprintf(text + n, MAX_TEXT - (size_t)n, " k%u=v%u", k, i);
        }
        s->text_len = (uint32_t)n;
        all_series[i] = s;
    }
    return 0;
}

static inline int free_series(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_SERIES; i++)
        ts_free(all_series[i]);
    return 0;
}

static inline int64_t random_time(uint64_t *r, int64_t before)
{
    switch (t_rand(r) % 8) {
    case 0:
        return before + 1000;
    case 1:
        return before + 10000 * (int64_t)(t_rand(r) % 9);
    case 2:
        return before - (int64_t)(t_rand(r) % 200000);
    case 3:
        return STO_MAX_TS_MS;
    case 4:
        return STO_MIN_TS_MS;
    case 5:
        return (int64_t)t_rand(r);
    default:
        return before;
    }
}

static inline struct sto_point random_point(uint64_t *r, uint32_t *series, int64_t *ts_ms)
{
    static const int64_t edge[] = {0,
                                   1,
                                   -1,
                                   127,
                                   128,
                                   -128,
                                   -129,
                                   INT64_MAX,
                                   INT64_MIN,
                                   1ll << 49,
                                   (1ll << 49) - 1,
                                   -(1ll << 49),
                                   -(1ll << 49) - 1};
    *series = t_rand(r) % 4 ? (*series + 1) % N_SERIES : (uint32_t)(t_rand(r) % N_SERIES);
    *ts_ms = t_rand(r) % 3 ? *ts_ms : random_time(r, t_rand(r) % 2 ? 1600000000000 : *ts_ms);
    uint8_t kind = (uint8_t)(t_rand(r) % 3),
            exp = kind == TS_NUM_DEC ? (uint8_t)(t_rand(r) % 4 ? 2 : t_rand(r) % 23) : 0;
    enum sto_op op = t_rand(r) % 9 ? STO_OP_PUT : (enum sto_op)(t_rand(r) % 3);
    int64_t m = t_rand(r) % 4 ? (int64_t)(t_rand(r) >> (t_rand(r) % 64)) : edge[t_rand(r) % 13];
    return (struct sto_point){.series = all_series[*series],
                              .ts_ms = *ts_ms,
                              .m = t_rand(r) % 2 ? m : (int64_t) ~(uint64_t)m,
                              .flags = sto_meta_flags(op, kind, exp, t_rand(r) % 5 == 0)};
}

/* What was written, what came back. */
struct diary {
    struct sto_point *v;
    uint64_t *gen;
    size_t n, cap;
    uint32_t leave_out; /* id of a series that replay is to leave out; UINT32_MAX = none */
    int fail_points;    /* answer of points() */
    size_t n_defs;      /* definitions with names seen */
    size_t n_known;     /* definitions by number seen */
};

static inline void note(struct diary *d, uint64_t gen, const struct sto_point *p, size_t n)
{
    if (d->n + n > d->cap) {
        d->cap = 2 * (d->n + n);
        d->v = ts_xrealloc(d->v, d->cap * sizeof(*d->v));
        d->gen = ts_xrealloc(d->gen, d->cap * sizeof(*d->gen));
    }
    for (size_t i = 0; i < n; i++) {
        d->v[d->n] = p[i];
        d->gen[d->n++] = gen;
    }
}

static inline void diary_release(struct diary *d)
{
    ts_free(d->v);
    ts_free(d->gen);
    *d = (struct diary){0};
}

static inline bool same_point(const struct sto_point *a, const struct sto_point *b)
{
    return a->series == b->series && a->ts_ms == b->ts_ms && a->m == b->m && a->flags == b->flags;
}

/* Is got the front part of want? */
static inline bool is_prefix(const struct diary *got, const struct diary *want)
{
    if (got->n > want->n)
        return false;
    for (size_t i = 0; i < got->n; i++)
        if (!same_point(&got->v[i], &want->v[i]) || got->gen[i] != want->gen[i])
            return false;
    return true;
}

static inline const struct sto_series *on_series(void *arg, uint32_t id, uint32_t metric,
                                                 const struct sto_tag *tags, size_t n_tags,
                                                 struct ts_slice text, uint32_t metric_len,
                                                 struct ts_error *err)
{
    struct diary *d = arg;
    d->n_defs++;
    if (id == d->leave_out)
        return NULL;
    for (uint32_t i = 0; i < N_SERIES; i++) {
        const struct sto_series *s = all_series[i];
        if (s->id != id)
            continue;
        assert_int_equal(metric, s->metric);
        assert_int_equal(metric_len, s->metric_len);
        assert_int_equal(n_tags, s->n_tags);
        assert_true(ts_slice_eq(text, sto_series_text(s)));
        assert_true(n_tags == 0 || memcmp(tags, s->tags, n_tags * sizeof(*tags)) == 0);
        return s;
    }
    ts_error_set(err, TS_ECORRUPT, "no series %u", id);
    return NULL;
}

static inline int on_points(void *arg, uint64_t gen, const struct sto_point *p, size_t n,
                            struct ts_error *err)
{
    struct diary *d = arg;
    assert_true(n >= 1);
    note(d, gen, p, n);
    return d->fail_points ? ts_error_set(err, d->fail_points, "stop") : 0;
}

static inline const struct sto_series *on_known(void *arg, uint32_t id, struct ts_error *err)
{
    struct diary *d = arg;
    d->n_known++;
    if (id == d->leave_out)
        return NULL;
    for (uint32_t i = 0; i < N_SERIES; i++)
        if (all_series[i]->id == id)
            return all_series[i];
    ts_error_set(err, TS_ECORRUPT, "no series %u", id);
    return NULL;
}

static const struct sto_wal_replay_ops ops = {.series = on_series, .known = on_known, .points = on_points};

/* For sto_wal_set_known: the number at arg. */
static inline uint32_t known_below(void *arg)
{
    return *(const uint32_t *)arg;
}

static inline int replay(struct t_faultfs *f, uint64_t flushed_gen, bool read_only, struct diary *out,
                         struct sto_wal_replay_result *res, struct ts_error *err)
{
    struct sto_wal_replay_result none;
    *out = (struct diary){.leave_out = UINT32_MAX};
    return sto_wal_replay(t_faultfs_fs(f), DIR_NAME, flushed_gen, &ops, out, read_only, res ? res : &none,
                          err);
}

static inline struct t_faultfs *new_fs(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    t_faultfs_set_page(f, 64);
    const struct ts_fs *fs = t_faultfs_fs(f);
    assert_int_equal(fs->mkdir(fs, DIR_NAME, NULL), 0);
    assert_int_equal(fs->sync_dir(fs, ".", NULL), 0);
    return f;
}

static inline struct sto_wal *new_wal(struct t_faultfs *f, uint32_t run, uint32_t worker, uint64_t gen)
{
    struct sto_wal *wal;
    assert_int_equal(sto_wal_new(t_faultfs_fs(f), DIR_NAME, run, worker, gen, &wal, NULL), 0);
    return wal;
}

/* Append n random points; on success they are noted. */
static inline int append_random(struct sto_wal *wal, uint64_t gen, uint64_t *r, size_t n, struct diary *d)
{
    static uint32_t series;
    static int64_t ts_ms;
    struct sto_point *p = ts_xmalloc((n + 1) * sizeof(*p));
    for (size_t i = 0; i < n; i++)
        p[i] = random_point(r, &series, &ts_ms);
    int rc = sto_wal_append(wal, p, n, NULL);
    if (rc == 0)
        note(d, gen, p, n);
    ts_free(p);
    return rc;
}

static inline void assert_same(const struct diary *got, const struct diary *want)
{
    assert_int_equal(got->n, want->n);
    assert_true(is_prefix(got, want));
}

/* The only file, or the i-th. */
/* Close the log: what comes back from it is want. Ends f and want too. */
static inline void end_as(struct t_faultfs *f, struct sto_wal *wal, struct diary *want)
{
    struct diary got;
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    assert_int_equal(replay(f, 0, true, &got, NULL, NULL), 0);
    assert_same(&got, want);
    diary_release(&got);
    diary_release(want);
    t_faultfs_free(f);
}

static inline const char *file_path(struct t_faultfs *f, size_t i)
{
    const char *path = t_faultfs_path(f, i);
    assert_non_null(path);
    return path;
}

#endif
