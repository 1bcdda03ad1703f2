/*
 * versioned.c - declarations, as small cells.
 *
 *   versions/stats.users  ->  "5 7 1795880000000000 42 1795880000000"     versions, number, since when, number of the next new series, newest time
 *
 * Threads    versioned.h
 */
#include "storage/versioned.h"

#include "base/cut.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "storage/cells.h"
#include "storage/internal.h"
#include "storage/store_int.h"

#include <stdio.h>

#define PREFIX     "versions/"
#define NEXT_KEY   "versions.last" /* counter: the number given away last */
#define NAME_BYTES 4096u           /* longest name */

static void make_key(struct ts_slice metric, struct ts_buf *out)
{
    ts_buf_init(out, 0);
    ts_buf_str(out, PREFIX);
    ts_buf_slice(out, metric);
}

static bool decode(struct ts_slice value, struct sto_versioned *out)
{
    int64_t v[5];
    for (int i = 0; i < 5; i++)
        if (ts_num_parse_int(ts_slice_cut(&value, ' '), &v[i], NULL) < 0)
            return false;
    if (v[0] < 1 || v[0] > STO_VERSIONS_MAX || v[1] < 1 || v[1] > UINT32_MAX || v[3] < 0 || v[3] > UINT32_MAX)
        return false;
    out->n = (unsigned)v[0];
    out->no = (uint32_t)v[1];
    out->since_us = v[2];
    out->series_end = (uint32_t)v[3];
    out->last_ms = v[4];
    return true;
}

static int put(struct sto_store *st, struct ts_slice metric, const struct sto_versioned *v,
               struct ts_error *err)
{
    struct ts_buf key;
    char text[120] = "";
    if (v && v->n)
        (void)snprintf(text, sizeof text, "%u %u %lld %u %lld", v->n, v->no, (long long)v->since_us,
                       v->series_end, (long long)v->last_ms);
    make_key(metric, &key);
    int rc = key.failed ? ts_error_set(err, TS_ENOMEM, "no memory for a declaration")
                        : sto_cellmap_put(st->cells, ts_buf_get(&key), ts_slice_str(text), false, err);
    ts_buf_release(&key);
    return rc;
}

/* --- reading --- */

void sto_versioned_find(struct sto_store *st, struct ts_slice metric, struct sto_versioned *out)
{
    struct ts_buf key, value;
    *out = (struct sto_versioned){.metric = metric};
    if (!sto_versioned_epoch(st))
        return;
    make_key(metric, &key);
    ts_buf_init(&value, 0);
    if (!key.failed && sto_cellmap_get(st->cells, ts_buf_get(&key), &value) == 0 &&
        !decode(ts_buf_get(&value), out))
        *out = (struct sto_versioned){.metric = metric};
    ts_buf_release(&key);
    ts_buf_release(&value);
}

struct list {
    sto_versioned_fn each;
    void *arg;
    size_t n;
};

static bool on_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct list *l = arg;
    struct sto_versioned v = {.metric = {key.p + sizeof PREFIX - 1, key.n - (sizeof PREFIX - 1)}};
    if (!decode(value, &v))
        return true;
    l->n++;
    if (l->each)
        l->each(l->arg, &v);
    return true;
}

static size_t each_cell(struct sto_store *st, sto_versioned_fn each, void *arg)
{
    struct list l = {each, arg, 0};
    sto_cellmap_each(st->cells, (struct ts_slice)TS_SLICE_LIT(PREFIX), on_cell, &l);
    return l.n;
}

void sto_versioned_each(struct sto_store *st, sto_versioned_fn each, void *arg)
{
    (void)each_cell(st, each, arg);
}

uint64_t sto_versioned_epoch(const struct sto_store *st)
{
    return atomic_load_explicit(&st->versioned_epoch, memory_order_acquire); /* pairs with changed */
}

void sto_versioned__open(struct sto_store *st)
{
    atomic_init(&st->versioned_epoch, each_cell(st, NULL, NULL) > 0);
}

void sto_versioned_name(const struct sto_versioned *v, enum sto_versioned_what what, struct ts_buf *out)
{
    char detail[16];
    (void)snprintf(detail, sizeof detail, "%c%u", (char)what, v->no);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_VERSIONS, v->metric, ts_slice_str(detail)}, out);
}

int64_t sto_versioned_deletes_from_ms(const struct sto_snap *snap, const struct sto_series *series)
{
    int64_t from_ms = snap->from_ms, kept_ms = from_ms;
    if (sto_keep_by_series(snap->keep)) /* those of the series are those of its internal ones */
        kept_ms = sto_keep_from_ms(snap->keep, series->id, snap->now_ms);
    return kept_ms > from_ms ? kept_ms : from_ms;
}

int sto_versioned_refuse(struct sto_store *st, const struct sto_series *series, const char *so,
                         struct ts_error *err)
{
    struct sto_versioned v;
    sto_versioned_find(st, sto_uid_name(st->catalog, STO_UID_METRIC, series->metric), &v);
    return v.n ? ts_error_set(err, TS_EINVAL, "%.*s keeps versions, %s", (int)ts_utf8_cut(v.metric, 80).n,
                              v.metric.p, so)
               : 0;
}

/* --- changing --- */

/* Whoever sees the new epoch sees the cells too. */
static void changed(struct sto_store *st)
{
    atomic_fetch_add_explicit(&st->versioned_epoch, 1, memory_order_acq_rel);
}

static int check_name(struct ts_slice metric, struct ts_error *err)
{
    struct sto_internal internal;
    size_t i = 0;
    while (i < metric.n && (unsigned char)metric.p[i] > ' ')
        i++;
    if (sto_internal_parse(metric, &internal))
        return ts_error_set(err, TS_EINVAL, "rollups and histograms keep no versions");
    if (metric.n == 0 || i < metric.n || metric.n > NAME_BYTES)
        return ts_error_set(err, TS_EINVAL, "'%.*s' cannot be the name of a metric",
                            (int)ts_utf8_cut(metric, 80).n, metric.p);
    return 0;
}

/* Make a declaration new, with a number that was never used. */
static int declare(struct sto_store *st, struct sto_versioned *v, struct ts_error *err)
{
    int64_t no;
    if (each_cell(st, NULL, NULL) >= STO_VERSIONED_MAX)
        return ts_error_set(err, TS_ELIMIT, "%u metrics keep versions, which is the most; remove one first",
                            STO_VERSIONED_MAX);
    TS_TRY(sto_cellmap_incr(st->cells, (struct ts_slice)TS_SLICE_LIT(NEXT_KEY), 1, &no, err));
    v->no = (uint32_t)no;
    v->since_us = ts_clock_us();
    v->series_end = sto_series_count(st->catalog);
    v->last_ms = v->since_us / 1000;
    int64_t lo, hi;
    struct sto_snap *snap = sto_snap_take(st);
    if (sto_snap_time_range(snap, &lo, &hi) && hi > v->last_ms)
        v->last_ms = hi;
    sto_snap_release(snap);
    return 0;
}

int sto_versioned_set(struct sto_store *st, struct ts_slice metric, unsigned n, struct ts_error *err)
{
    struct sto_versioned v;
    TS_TRY(check_name(metric, err));
    if (n > STO_VERSIONS_MAX)
        return ts_error_set(err, TS_EINVAL, "a metric keeps 1 to %u versions, not %u", STO_VERSIONS_MAX, n);
    if (n && st->opts.remote)
        return ts_error_set(err, TS_EINVAL, "a store with another one behind it (remote) keeps no versions");
    sto_versioned_find(st, metric, &v);
    if (!n && !v.n)
        return ts_error_set(err, TS_ENOTFOUND,
                            "%.*s keeps no versions; tsd versions list shows the metrics that do",
                            (int)ts_utf8_cut(metric, 80).n, metric.p);
    v.n = n;
    if (!v.no)
        TS_TRY(declare(st, &v, err));
    TS_TRY(put(st, metric, &v, err));
    changed(st);
    return 0;
}

int sto_versioned_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err)
{
    struct sto_versioned v;
    sto_versioned_find(st, from, &v);
    if (!v.n) {
        sto_versioned_find(st, to, &v);
        unsigned n = v.n;
        if (!n)
            return 0;
        TS_TRY(sto_versioned_set(st, to, 0, err));
        return sto_versioned_set(st, to, n, err);
    }
    TS_TRY(put(st, to, &v, err));
    TS_TRY(put(st, from, NULL, err));
    changed(st);
    return 0;
}
