/*
 * lines_internal.c - rollups and histograms as lines: "rollup 1h-sum METRIC TIME VALUE k=v", "histogram METRIC TIME
 * u=0:o=0:0.0,1.5=42 k=v".
 *
 * A rollup is a series whose points are printed as they are. The counts of a histogram's buckets are series each: they are read
 * bucket by bucket for a stretch of time that holds some thousand histograms, sorted by time, and joined to lines.
 *
 * Threads    one
 * Not here   names of internal series (query/execution/internal_metric.h), reading these lines (line/rollup.c, line/histogram.c)
 */
#include "tsd/format/lines_int.h"

#include "query/execution/internal_metric.h"
#include "query/execution/histogram.h"
#include "query/execution/select.h"

#include <stdlib.h>

#define HIST_COUNTS 200000u /* counts of a stretch, about: 5 MB */

static int rollup_lines(struct tsd_lines_run *r, const struct qry_internal_metric *h,
                        const struct tsd_lines_spec *spec, const struct sto_tag_cond *conds,
                        struct ts_error *err)
{
    struct ts_buf lead;
    ts_buf_init(&lead, 0);
    ts_buf_str(&lead, "rollup ");
    ts_buf_slice(&lead, h->parts.detail);
    ts_buf_char(&lead, ' ');
    r->lead = ts_buf_get(&lead);
    r->metric = h->parts.metric;
    int rc = tsd_lines__metric(r, h->id, spec, conds, err);
    ts_buf_release(&lead);
    r->lead = r->metric = (struct ts_slice){NULL, 0};
    return rc;
}

/* --- histograms --- */

/* A bucket of a histogram. */
struct hist_count {
    int64_t ts_ms;   /* of the histogram */
    int64_t count;   /* of the bucket */
    uint32_t bucket; /* its number */
    bool ms;         /* came with milliseconds */
};

/* Histograms of one metric. */
struct tsd_lines_hists {
    struct tsd_lines_run *r;
    tsd_lines_hist_fn each;     /* receives them */
    void *arg;                  /* for each */
    struct ts_buf text;         /* of one */
    struct qry_buckets buckets; /* ascending: u, o, ranges */
    uint32_t *metrics;          /* [buckets.n] their internal metrics */
    struct hist_count *counts;  /* of the current stretch; owned */
    size_t n, cap;              /* used, allocated */
    uint32_t bucket;            /* number of the bucket that is read */
};

static int hist_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct tsd_lines_hists *h = arg;
    TS_TRY(ts_budget_grow(h->r->budget->memory, &h->counts, &h->cap, h->n + row->cells->n, sizeof *h->counts,
                          err));
    for (uint32_t i = 0; i < row->cells->n; i++) {
        uint32_t meta = row->cells->meta[i];
        h->counts[h->n++] =
            (struct hist_count){.ts_ms = (int64_t)row->key.hour * TS_HOUR_MS + sto_meta_off(meta),
                                .count = row->cells->m[i],
                                .bucket = h->bucket,
                                .ms = (meta & STO_META_MS) != 0};
    }
    return 0;
}

static int cmp_counts(const void *pa, const void *pb)
{
    const struct hist_count *a = pa, *b = pb;
    if (a->ts_ms != b->ts_ms)
        return a->ts_ms < b->ts_ms ? -1 : 1;
    return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

/* One histogram: counts of one time. */
static int hist_emit(struct tsd_lines_hists *h, const struct hist_count *c, size_t n, struct ts_error *err)
{
    ts_buf_clear(&h->text);
    if (h->buckets.b[c[0].bucket].kind != STO_BUCKET_UNDER)
        ts_buf_str(&h->text, "u=0:"); /* how import knows the line */
    for (size_t i = 0; i < n; i++) {
        if (i)
            ts_buf_char(&h->text, ':');
        sto_bucket_print(&h->buckets.b[c[i].bucket], &h->text);
        ts_buf_printf(&h->text, "=%lld", (long long)c[i].count);
    }
    return h->text.failed ? ts_error_set(err, TS_ENOMEM, "no memory for a histogram")
                          : h->each(h->arg, c[0].ts_ms, c[0].ms, ts_buf_get(&h->text), err);
}

/* As a line of export. */
static int hist_line(void *arg, int64_t ts_ms, bool ms, struct ts_slice text, struct ts_error *err)
{
    struct tsd_lines_run *r = arg;
    char time[TSD_LINES_TIME_BYTES];
    ts_buf_slice(&r->out, ts_buf_get(&r->front));
    ts_buf_append(&r->out, time, tsd_lines_time(ts_ms, ms, time));
    ts_buf_char(&r->out, ' ');
    ts_buf_slice(&r->out, text);
    ts_buf_slice(&r->out, ts_buf_get(&r->back));
    r->n++;
    return tsd_lines__flush(r, TSD_LINES_PIECE_BYTES, err);
}

/* All histograms of a series in a stretch of time. */
static int hist_stretch(struct tsd_lines_hists *h, const struct sto_series *any, int64_t from_ms,
                        int64_t to_ms, struct ts_error *err)
{
    h->n = 0;
    for (uint32_t b = 0; b < h->buckets.n; b++) {
        const struct sto_series *s;
        if (sto_series_find_ids(h->r->cat, h->metrics[b], any->tags, any->n_tags, &s) < 0)
            continue;
        struct qry_reading reading = tsd_lines__reading(h->r, h->metrics[b], &s, 1, from_ms, to_ms);
        reading.row = hist_row;
        reading.arg = h;
        h->bucket = b;
        TS_TRY(qry_read(&reading, err));
    }
    if (h->n)
        qsort(h->counts, h->n, sizeof *h->counts, cmp_counts);
    for (size_t i = 0, e; i < h->n; i = e) {
        for (e = i + 1; e < h->n && h->counts[e].ts_ms == h->counts[i].ts_ms; e++)
            continue;
        TS_TRY(hist_emit(h, &h->counts[i], e - i, err));
    }
    return 0;
}

/* A series on its way through stretches of time. */
struct hist_series {
    struct tsd_lines_hists *h;
    const struct sto_series *first; /* of the first bucket */
    int64_t from_ms, to_ms;         /* what is left */
    uint64_t most, n;               /* points of the first bucket: limit of a stretch; in the present one */
};

static int hist_first_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct hist_series *s = arg;
    int64_t end_ms = (int64_t)row->key.hour * TS_HOUR_MS + TS_HOUR_MS - 1;
    s->n += row->cells->n;
    if (s->n < s->most || end_ms >= s->to_ms)
        return 0;
    TS_TRY(hist_stretch(s->h, s->first, s->from_ms, end_ms, err));
    s->from_ms = end_ms + 1;
    s->n = 0;
    return 0;
}

/* Stretches end where the first bucket has enough points: every histogram has it. */
int tsd_lines__hists_read(struct tsd_lines_hists *h, const struct sto_series *first, int64_t from_ms,
                          int64_t to_ms, struct ts_error *err)
{
    struct hist_series s = {
        .h = h, .first = first, .from_ms = from_ms, .to_ms = to_ms, .most = HIST_COUNTS / h->buckets.n + 60};
    struct qry_reading reading = tsd_lines__reading(h->r, h->metrics[0], &first, 1, from_ms, to_ms);
    reading.row = hist_first_row;
    reading.arg = &s;
    TS_TRY(qry_read(&reading, err));
    return hist_stretch(h, first, s.from_ms, to_ms, err);
}

struct tsd_lines_hists *tsd_lines__hists_open(struct tsd_lines_run *r, struct ts_slice metric,
                                              struct ts_arena *arena, tsd_lines_hist_fn each, void *arg)
{
    struct tsd_lines_hists *h = ts_arena_zalloc(arena, sizeof *h);
    *h = (struct tsd_lines_hists){.r = r, .each = each, .arg = arg};
    ts_buf_init(&h->text, 0);
    qry_buckets_find(&r->view, metric, arena, &h->buckets);
    h->metrics = ts_arena_zalloc(arena, (h->buckets.n + 1) * sizeof *h->metrics);
    for (size_t b = 0; b < h->buckets.n; b++)
        (void)sto_uid_find(r->cat, STO_UID_METRIC, h->buckets.metrics[b], &h->metrics[b]);
    return h;
}

struct ts_slice tsd_lines__hists_metric(const struct tsd_lines_hists *h)
{
    return h->buckets.n ? h->buckets.metrics[0] : (struct ts_slice){NULL, 0};
}

void tsd_lines__hists_close(struct tsd_lines_hists *h)
{
    ts_budget_free(h->r->budget->memory, h->counts, h->cap * sizeof *h->counts);
    ts_buf_release(&h->text);
}

/* All series of the first bucket that meet the conditions. */
static int histogram_series(struct tsd_lines_hists *h, const struct tsd_lines_spec *spec,
                            const struct sto_tag_cond *conds, struct ts_error *err)
{
    struct tsd_lines_run *r = h->r;
    roaring_bitmap_t *set;
    TS_TRY(qry_select_here(&r->view, h->metrics[0], conds, spec->n_tags, false, r->budget, &set, err));
    roaring_uint32_iterator_t it;
    int rc = 0;
    for (roaring_init_iterator(set, &it); it.has_value && rc == 0; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(r->cat, it.current_value);
        rc = qry_budget_look(r->budget, err);
        if (!s || rc < 0)
            continue;
        tsd_lines__names(r, s);
        rc = tsd_lines__hists_read(h, s, spec->from_ms, spec->to_ms, err);
    }
    roaring_bitmap_free(set);
    return rc;
}

static int histogram_lines(struct tsd_lines_run *r, struct ts_slice metric, const struct tsd_lines_spec *spec,
                           const struct sto_tag_cond *conds, struct ts_arena *arena, struct ts_error *err)
{
    struct tsd_lines_hists *h = tsd_lines__hists_open(r, metric, arena, hist_line, r);
    r->lead = TS_SLICE_LIT("histogram ");
    r->metric = metric;
    int rc = h->buckets.n ? histogram_series(h, spec, conds, err) : 0;
    r->lead = r->metric = (struct ts_slice){NULL, 0};
    tsd_lines__hists_close(h);
    return rc;
}

int tsd_lines__internal(struct tsd_lines_run *r, const struct tsd_lines_spec *spec,
                        const struct sto_tag_cond *conds, struct ts_arena *arena, struct ts_error *err)
{
    const struct qry_internal_metric *list;
    struct ts_slice done = {NULL, 0}; /* metric whose histograms are written: its buckets stand together */
    size_t n;
    int rc = 0;
    qry_internal_list(r->cat, tsd_lines_star(spec) ? TS_SLICE_LIT("") : spec->metric, arena, &list, &n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct sto_internal *h = &list[i].parts;
        if (!tsd_lines__wanted(r, spec, h->metric))
            continue;
        if (h->kind == STO_INTERNAL_ROLLUP) {
            rc = rollup_lines(r, &list[i], spec, conds, err);
        } else if (h->kind == STO_INTERNAL_HISTOGRAM && !ts_slice_eq(h->metric, done)) {
            rc = histogram_lines(r, h->metric, spec, conds, arena, err);
            done = h->metric;
        }
    }
    return rc;
}
