/*
 * fetch_histogram.c - the histograms of a row: the counts of their buckets, as rows of the buckets' series.
 *
 * Of several cells of one time the newest one counts. A cell of another codec than that of histograms_config is left out and counted as damaged, as
 * is one that cannot be read.
 */
#include "base/time.h"
#include "storage/hbase/remote/fetch_int.h"

#include <stdlib.h>

/* The count of a bucket, or a cell that is to be read. */
struct sto_hbase__found {
    struct sto_bucket bucket;
    uint32_t off_ms;
    bool ms;
    int64_t n;     /* count */
    int64_t age;   /* of a cell: its timestamp */
    uint32_t cell; /* index of the cell */
};

static int add(struct sto_hbase__reader *r, const struct sto_hbase__found *f, struct ts_error *err)
{
    TS_TRY(
        ts_budget_grow(r->x->limits.memory, &r->found, &r->cap_found, r->n_found + 1, sizeof *r->found, err));
    r->found[r->n_found++] = *f;
    return 0;
}

/* Must the fetch end? A row may have millions of buckets. */
static int ended(const struct sto_hbase__fetch *x, struct ts_error *err)
{
    TS_TRY(sto_hbase__fetch_ended(x, err));
    if (x->limits.deadline_ns && ts_clock_mono_ns() >= x->limits.deadline_ns)
        return ts_error_set(err, TS_ETIMEOUT, "reading histograms from HBase took too long");
    return 0;
}

/* --- cells --- */

static int by_time(const void *pa, const void *pb)
{
    const struct sto_hbase__found *a = pa, *b = pb;
    if (a->off_ms != b->off_ms)
        return a->off_ms < b->off_ms ? -1 : 1;
    return a->age < b->age ? -1 : a->age > b->age;
}

/* List the cells of histograms within the range, each time once. */
static int list_cells(struct sto_hbase__reader *r, struct ts_error *err)
{
    const struct sto_fetch *f = r->x->f;
    const struct sto_hbase__row *row = &r->row;
    uint32_t lo, hi;
    r->n_found = 0;
    if (!sto_hour_part((int32_t)(row->base_s / STO_HBASE_ROW_S), f->from_ms, f->to_ms, &lo, &hi))
        return 0;
    for (size_t i = 0; i < row->n_cells; i++) {
        struct sto_hbase__found one = {.age = row->cells[i].ts_ms, .cell = (uint32_t)i};
        if (sto_hbase_histogram_is(row->cells[i].qualifier, &one.off_ms, &one.ms) && one.off_ms >= lo &&
            one.off_ms <= hi)
            TS_TRY(add(r, &one, err));
    }
    if (r->n_found)
        qsort(r->found, r->n_found, sizeof *r->found, by_time);
    size_t n = 0;
    for (size_t i = 0; i < r->n_found; i++)
        if (i + 1 == r->n_found || r->found[i + 1].off_ms != r->found[i].off_ms)
            r->found[n++] = r->found[i];
    r->n_found = n;
    return 0;
}

/* --- buckets --- */

static int add_count(struct sto_hbase__reader *r, struct sto_hbase__found *one, const struct sto_bucket *b,
                     uint64_t n, struct ts_error *err)
{
    one->bucket = *b;
    one->n = (int64_t)n;
    return add(r, one, err);
}

/* A histogram with a count that no point can have is damaged. */
static int check(const struct sto_hbase__reader *r, struct ts_error *why)
{
    const struct sto_hbase_tally *t = &r->tally;
    uint64_t most = t->head.under > t->head.over ? t->head.under : t->head.over;
    for (size_t i = 0; i < t->head.n_buckets; i++)
        most = t->buckets[i].count > most ? t->buckets[i].count : most;
    if (most > INT64_MAX)
        return ts_error_set(why, TS_ECORRUPT, "a count of a histogram is too large");
    if (t->head.codec != r->x->h->opts.histogram_codec)
        return ts_error_set(why, TS_ECORRUPT, "a histogram has the codec %u, but histograms_config names %d",
                            t->head.codec, r->x->h->opts.histogram_codec);
    return 0;
}

/* Add the counts of the histogram in r->tally. */
static int add_counts(struct sto_hbase__reader *r, struct sto_hbase__found one, struct ts_error *err)
{
    const struct sto_hbase_tally *t = &r->tally;
    uint64_t n;
    if (!r->x->f->all_buckets)
        return sto_hbase_tally_get(t, &r->x->bucket, &n) ? add_count(r, &one, &r->x->bucket, n, err) : 0;
    TS_TRY(add_count(r, &one, &(struct sto_bucket){.kind = STO_BUCKET_UNDER}, t->head.under, err));
    TS_TRY(add_count(r, &one, &(struct sto_bucket){.kind = STO_BUCKET_OVER}, t->head.over, err));
    for (size_t i = 0; i < t->head.n_buckets; i++) {
        const struct sto_hbase_bucket *b = &t->buckets[i];
        TS_TRY(add_count(r, &one, &(struct sto_bucket){STO_BUCKET_RANGE, b->low, b->high}, b->count, err));
    }
    return 0;
}

/* Replace the cells in r->found by the counts that they have. */
static int read_cells(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    size_t n_cells = r->n_found;
    for (size_t i = 0; i < n_cells; i++) {
        struct sto_hbase__found one = r->found[i];
        struct ts_error why = {0};
        TS_TRY(ended(r->x, err));
        int rc = sto_hbase_tally_read(&r->tally, r->row.cells[one.cell].value, &why);
        if (rc == TS_ELIMIT || rc == TS_ENOMEM)
            return ts_error_set(err, TS_ELIMIT, "%s", why.text);
        if (rc < 0 || check(r, &why) < 0)
            sto_hbase__row_damaged(r, key, why.text);
        else
            TS_TRY(add_counts(r, one, err));
    }
    r->n_found -= n_cells;
    memmove(r->found, r->found + n_cells, r->n_found * sizeof *r->found);
    sto_hbase__count(&r->x->h->fetched.n_cells, r->row.n_cells);
    sto_hbase__count(&r->x->h->fetched.n_histograms, n_cells);
    return 0;
}

/* --- to the caller --- */

static int by_bucket(const void *pa, const void *pb)
{
    const struct sto_hbase__found *a = pa, *b = pb;
    int c = sto_bucket_cmp(&a->bucket, &b->bucket);
    if (c)
        return c;
    return a->off_ms < b->off_ms ? -1 : a->off_ms > b->off_ms;
}

/* Note that the caller has a bucket of the series. 1: it has not had it before. */
static int note_bucket(struct sto_hbase__fetch *x, struct sto_hbase__met *met, const struct sto_bucket *b,
                       struct ts_error *err)
{
    size_t lo = 0, hi = met->n_buckets;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = sto_bucket_cmp(&met->buckets[mid], b);
        if (c == 0)
            return 0;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    TS_TRY(ts_budget_grow(x->limits.memory, &met->buckets, &met->cap_buckets, met->n_buckets + 1,
                          sizeof *met->buckets, err));
    memmove(met->buckets + lo + 1, met->buckets + lo, (met->n_buckets - lo) * sizeof *met->buckets);
    met->buckets[lo] = *b;
    met->n_buckets++;
    return 1;
}

/* The bucket of found[from, to): a row of its points, or its name alone. */
static int deliver(struct sto_hbase__reader *r, size_t from, size_t to, struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    struct ts_slice metric;
    size_t n = to - from;
    if (x->f->series_only) {
        pthread_mutex_lock(&x->deliver_mu);
        int rc = note_bucket(x, r->row.met, &r->found[from].bucket, err);
        pthread_mutex_unlock(&x->deliver_mu);
        if (rc <= 0)
            return rc;
    }
    ts_buf_clear(&r->record);
    sto_internal_buckets(x->metric_name, &r->record);
    sto_bucket_print(&r->found[from].bucket, &r->record);
    if (r->record.failed)
        return sto_hbase__refused(&r->record, r->record.n + 1, "the name of a bucket", err);
    metric = ts_buf_get(&r->record);
    if (x->f->series_only)
        return sto_hbase__row_deliver(x, r->row.met, r->row.base_s, &metric, NULL, err);
    TS_TRY(ts_budget_grow(x->limits.memory, &r->meta, &r->cap_meta, n, sizeof *r->meta, err));
    TS_TRY(ts_budget_grow(x->limits.memory, &r->m, &r->cap_m, n, sizeof *r->m, err));
    for (size_t i = 0; i < n; i++) {
        const struct sto_hbase__found *f = &r->found[from + i];
        r->meta[i] = f->off_ms | sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, f->ms);
        r->m[i] = f->n;
    }
    struct sto_cells cells = {.meta = r->meta, .m = r->m, .n = (uint32_t)n};
    sto_hbase__count(&x->h->fetched.n_points, n);
    return sto_hbase__row_deliver(x, r->row.met, r->row.base_s, &metric, &cells, err);
}

int sto_hbase__row_histograms(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    size_t n_delivered = 0;
    TS_TRY(list_cells(r, err));
    TS_TRY(read_cells(r, key, err));
    if (r->n_found)
        qsort(r->found, r->n_found, sizeof *r->found, by_bucket);
    for (size_t from = 0, to; from < r->n_found; from = to) {
        for (to = from + 1;
             to < r->n_found && sto_bucket_cmp(&r->found[to].bucket, &r->found[from].bucket) == 0;)
            to++;
        if ((++n_delivered & 255) == 0)
            TS_TRY(ended(r->x, err));
        TS_TRY(deliver(r, from, to, err));
    }
    return 0;
}

void sto_hbase__row_release_histograms(struct sto_hbase__reader *r)
{
    struct ts_budget *memory = r->x->limits.memory;
    ts_budget_free(memory, r->found, r->cap_found * sizeof *r->found);
    ts_budget_free(memory, r->meta, r->cap_meta * sizeof *r->meta);
    ts_budget_free(memory, r->m, r->cap_m * sizeof *r->m);
    sto_hbase_tally_release(&r->tally);
}
