/*
 * store_kit.h - what the tests of a whole store on the file system in memory share: series, operations,
 * answers.
 *
 * A diary remembers every operation that the store took, in order; what a store answers is compared with the
 * plain reference (tests/model/reference.h) fed with a front part of the diary.
 */
#ifndef TESTS_UNIT_STORAGE_STORE_KIT_H
#define TESTS_UNIT_STORAGE_STORE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/unit/storage/scan_kit.h"
#include "tests/faults/faultfs.h"
#include "tests/model/reference.h"

#define T0       1793620800000ll /* an hour: 2026-11-02 12:00 UTC */
#define N_SERIES 6

/* Every operation a store took, series by index. */
struct diary {
    struct sto_point *ops; /* series points into handles below */
    size_t n, cap;         /* used, room */
    size_t n_acked;        /* of them, from the first: confirmed to be on disk */
};

/* Series as the reference knows them: numbers 0.. whatever the store calls them. */
static struct sto_series t_handles[N_SERIES] = {{.id = 0}, {.id = 1}, {.id = 2},
                                                {.id = 3}, {.id = 4}, {.id = 5}};

static inline void diary_add(struct diary *d, unsigned series, int64_t ts_ms, int64_t m, uint32_t flags)
{
    if (d->n == d->cap)
        d->ops = ts_xrealloc(d->ops, (d->cap = d->cap ? d->cap * 2 : 256) * sizeof *d->ops);
    d->ops[d->n++] = (struct sto_point){.series = &t_handles[series], .ts_ms = ts_ms, .m = m, .flags = flags};
}

static inline void diary_release(struct diary *d)
{
    ts_free(d->ops);
    *d = (struct diary){0};
}

static inline const struct sto_series *kit_series(struct sto_store *st, unsigned i)
{
    char text[32], host[12];
    snprintf(host, sizeof host, "h%u", i);
    int n = snprintf(text, sizeof text, "m%u host=%s", i % 2, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 2, &tag, 1, true, &s,
                           &err) < 0)
        fail_msg("series: %s", err.text);
    return s;
}

/* One operation; written into the diary if the store takes it. Returns what the store said. */
static inline int kit_op(struct sto_store *st, struct sto_writer *writer, struct diary *d, unsigned series,
                         enum sto_op op, int64_t ts_ms, int64_t m)
{
    const struct sto_series *s = kit_series(st, series);
    struct ts_num v = {.m = m, .kind = TS_NUM_INT};
    int rc;
    do
        rc = op == STO_OP_PUT   ? sto_put(writer, s, ts_ms, v, false)
             : op == STO_OP_ADD ? sto_add(writer, s, ts_ms, v, false, 1)
                                : sto_delete(writer, s, ts_ms, m);
    while (rc == TS_EBUSY && (sto_writer_turn(writer), true));
    if (rc == 0)
        diary_add(d, series, ts_ms, m, sto_meta_flags(op, TS_NUM_INT, 0, op == STO_OP_DEL));
    return rc;
}

/* What kit_same has seen so far. */
struct kit_compare {
    const struct t_ref_point *want; /* n_want points */
    size_t n_want, n;               /* expected, seen */
    bool same;                      /* so far */
    unsigned series;                /* for why */
    char *why;                      /* first difference, or NULL */
    size_t n_why;                   /* bytes of why */
};

static inline void kit_compare_point(void *arg, int64_t ts_ms, struct ts_num v)
{
    struct kit_compare *c = arg;
    const struct t_ref_point *w = c->n < c->n_want ? &c->want[c->n] : NULL;
    if (c->same && (!w || w->ts_ms != ts_ms || !t_ref_same(w->value, v))) {
        c->same = false;
        if (c->why)
            snprintf(c->why, c->n_why, "series %u point %zu: %lld = %lld, expected %lld = %lld", c->series,
                     c->n, (long long)ts_ms, (long long)v.m, w ? (long long)w->ts_ms : 0,
                     w ? (long long)w->value.m : 0);
    }
    c->n++;
}

/* All points that the store has of s equal those of the reference's series? why (may be NULL) gets the first
 * difference. */
static inline bool kit_same_as(struct sto_store *st, const struct sto_series *s, const struct t_ref *ref,
                               unsigned series, char *why, size_t n_why)
{
    struct t_ref_point *want;
    struct kit_compare c = {.same = true, .series = series, .why = why, .n_why = n_why};
    struct ts_error err = {0};
    c.n_want = t_ref_scan(ref, series, STO_MIN_TS_MS, STO_MAX_TS_MS, &want);
    c.want = want;
    if (kit_points(st, s, kit_compare_point, &c, &err) < 0)
        fail_msg("scan: %s", err.text);
    if (c.same && c.n != c.n_want && why)
        snprintf(why, n_why, "series %u: %zu points, expected %zu", series, c.n, c.n_want);
    ts_free(want);
    return c.same && c.n == c.n_want;
}

/* The same of the series with the name that the reference's number stands for. */
static inline bool kit_same(struct sto_store *st, const struct t_ref *ref, unsigned series, char *why,
                            size_t n_why)
{
    return kit_same_as(st, kit_series(st, series), ref, series, why, n_why);
}

/* The store holds a front part of the diary that has at least what was confirmed. one_log: the same front
 * part for all series; else each series has its own (several owners, several logs). The diary is cut to what
 * is there (one_log) or left alone. Fails the test otherwise. */
static inline void kit_expect_front(struct sto_store *st, struct diary *d, bool one_log, const char *when)
{
    char why[200] = "";
    for (unsigned s = 0; s < N_SERIES; s++) {
        struct t_ref *ref = t_ref_new();
        bool found = false;
        for (size_t k = 0; !found && k <= d->n; k++) {
            if (k >= d->n_acked) {
                bool same = true;
                for (unsigned i = one_log ? 0 : s; same && i < (one_log ? N_SERIES : s + 1); i++)
                    same = kit_same(st, ref, i, k == d->n_acked ? why : NULL, sizeof why);
                if (same) {
                    found = true;
                    if (one_log)
                        d->n = k;
                    break;
                }
            }
            if (k < d->n && (one_log || d->ops[k].series->id == s))
                t_ref_apply(ref, &d->ops[k]);
        }
        t_ref_free(ref);
        if (!found)
            fail_msg("%s: no front part of the %zu operations (%zu confirmed) is what the store has; at the "
                     "confirmed end: %s",
                     when, d->n, d->n_acked, why);
        if (one_log)
            return;
    }
}

/* The store holds the whole diary. */
static inline void kit_expect_all(struct sto_store *st, const struct diary *d, const char *when)
{
    struct t_ref *ref = t_ref_new();
    for (size_t i = 0; i < d->n; i++)
        t_ref_apply(ref, &d->ops[i]);
    for (unsigned s = 0; s < N_SERIES; s++) {
        char why[200] = "";
        if (!kit_same(st, ref, s, why, sizeof why))
            fail_msg("%s: %s", when, why);
    }
    t_ref_free(ref);
}

/* Open on a file system in memory; each test says what differs. */
#define KIT_OPTS(f, writers)                                                                                 \
    {                                                                                                        \
        .fs = t_faultfs_fs(f), .dir = "/db", .create = true, .own_threads = true, .no_background = true,     \
        .survive_sync_errors = true, .knows_zone = true, .n_writers = (writers),                             \
        .wal_sync_interval_ms = 60000                                                                        \
    }

static inline struct sto_store *kit_open(const struct sto_opts *opts)
{
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    if (sto_open(opts, &st, &err) < 0)
        fail_msg("open: %s", err.text);
    return st;
}

static inline void kit_close(struct sto_store *st)
{
    struct ts_error err = {0};
    if (sto_close(st, &err) < 0)
        fail_msg("close: %s", err.text);
}

#endif
