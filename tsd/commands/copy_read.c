/*
 * copy_read.c - points, histograms and rollups of a metric on either side, in slices of time.
 *
 * Rollups   are read like metrics of their own, by the names of their internal metrics
 *
 * Slices    A slice begins at a point, so that times without points cost a few questions, whatever their length. The next one is
 *           twice as long while slices have few points, and half as long while they have many.
 * Threads   the main thread; rows from HBase come from threads of the remote store, one at a time
 */
#include "base/mem.h"
#include "query/execution/internal_metric.h"
#include "tsd/commands/copy.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SLICE_POINTS 4000000ull /* that a slice should have, about */
#define SLICE_MAX_MS (64 * TS_DAY_MS)
#define CALL_NS      (600ll * 1000 * 1000 * 1000)
#define HBASE_MAX_MS (UINT32_MAX * 1000ll + 999)
#define SERIES_MAX   255 /* tags */

struct sto_remote_call tsd_copy_call(struct tsd_copy *c)
{
    return (struct sto_remote_call){.deadline_ns = ts_clock_mono_ns() + CALL_NS,
                                    .cancel = c->interrupted,
                                    .memory = &c->memory,
                                    .is_query = true};
}

/* --- a side --- */

/* A metric of the catalog, which may be internal. */
struct part {
    struct ts_slice metric;           /* memory of the catalog, or of the side */
    const struct sto_series **series; /* owned: n_series of cap, ascending by number */
    size_t n_series, cap;
};
/* A metric on one side. */
struct side {
    struct tsd_copy *c;
    struct ts_slice metric;
    struct sto_snap *snap; /* folder */
    struct part *parts;    /* owned, folder: the metric, and the buckets of its histograms */
    size_t n_parts, cap_parts;
    const struct tsd_copy_reader *r;
    uint64_t n_points; /* reported */
};
/* Reads a side. */
struct side_ops {
    /* Are there points, or from HBase rows of any kind? They may be gone when they are read. 1, 0. */
    int (*any)(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err);
    int (*read)(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err);
};

/* Of a side it is one of rollups, of a row of another side a bucket of histograms. */
static bool is_internal(struct ts_slice metric)
{
    return metric.n && metric.p[0] == STO_INTERNAL_MARK;
}

static int report(struct side *s, const struct sto_remote_row *row, struct ts_error *err)
{
    bool is_bucket = s->r->bucket && is_internal(row->series.metric) && !is_internal(s->metric);
    s->n_points += row->cells->n;
    TS_TRY((is_bucket ? s->r->bucket : s->r->row)(s->r->arg, row, err));
    return tsd_copy_turn(s->c, err);
}

/* Narrow the hours [*io_lo, *io_hi] that the first point may have by a guess, which is right for most rollups of a metric: two questions instead of twenty. */
static int guess_first(struct side *s, const struct side_ops *ops, int64_t from_ms, int64_t *io_lo,
                       int64_t *io_hi, struct ts_error *err)
{
    int64_t guess = s->c->first_hour;
    int rc;
    if (guess < *io_lo || guess >= *io_hi)
        return 0;
    TS_TRY(rc = ops->any(s, from_ms, (guess + 1) * TS_HOUR_MS - 1, err));
    if (!rc) {
        *io_lo = guess + 1;
        return 0;
    }
    *io_hi = guess;
    if (guess == *io_lo)
        return 0;
    TS_TRY(rc = ops->any(s, from_ms, guess * TS_HOUR_MS - 1, err));
    if (rc)
        *io_hi = guess - 1;
    else
        *io_lo = guess;
    return 0;
}

/* The time of the first point, rounded down to its hour. 1; 0: there is none. O(log of the hours) questions. */
static int find_first(struct side *s, const struct side_ops *ops, int64_t from_ms, int64_t to_ms,
                      int64_t *out_ms, struct ts_error *err)
{
    int64_t lo = sto_hour(from_ms), hi = sto_hour(to_ms);
    int rc = ops->any(s, from_ms, to_ms, err);
    if (rc != 1)
        return rc;
    TS_TRY(guess_first(s, ops, from_ms, &lo, &hi, err));
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        TS_TRY(rc = ops->any(s, from_ms, (mid + 1) * TS_HOUR_MS - 1, err));
        if (rc)
            hi = mid;
        else
            lo = mid + 1;
    }
    s->c->first_hour = lo;
    *out_ms = lo * TS_HOUR_MS > from_ms ? lo * TS_HOUR_MS : from_ms;
    return 1;
}

static int end_slice(struct side *s, int64_t next_ms, struct ts_error *err)
{
    return s->r->slice ? s->r->slice(s->r->arg, next_ms, err) : 0;
}

static int64_t next_width(int64_t width_ms, uint64_t n_points)
{
    if (n_points > SLICE_POINTS && width_ms > TS_HOUR_MS)
        return width_ms / 2 / TS_HOUR_MS * TS_HOUR_MS;
    return n_points < SLICE_POINTS / 4 && width_ms < SLICE_MAX_MS ? width_ms * 2 : width_ms;
}

static int read_slices(struct side *s, const struct side_ops *ops, int64_t from_ms, int64_t to_ms,
                       struct ts_error *err)
{
    int64_t at = from_ms, width_ms = TS_DAY_MS;
    bool gap = true; /* the last slice had no points */
    while (at <= to_ms) {
        int rc = gap ? find_first(s, ops, at, to_ms, &at, err) : 1;
        if (rc < 0)
            return rc;
        if (rc == 0)
            break;
        if (s->n_points == 0)
            s->c->first_ms = at;
        int64_t end = sto_hour(at) * TS_HOUR_MS + width_ms - 1;
        uint64_t before = s->n_points;
        end = end < to_ms ? end : to_ms;
        if (s->r->begin)
            TS_TRY(s->r->begin(s->r->arg, at, end, err));
        TS_TRY(ops->read(s, at, end, err));
        TS_TRY(end_slice(s, end + 1, err));
        gap = s->n_points == before;
        width_ms = next_width(width_ms, s->n_points - before);
        at = end + 1;
    }
    return end_slice(s, to_ms + 1, err);
}

/* --- HBase --- */

static int on_any(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)row, (void)pos, (void)err;
    *(bool *)arg = true;
    return 0;
}

static int hbase_any(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    bool found = false;
    struct sto_remote *remote = s->c->remote;
    struct sto_remote_call call = tsd_copy_call(s->c);
    struct sto_fetch f = {.metric = s->metric, .from_ms = from_ms, .to_ms = to_ms, .any_row = true};
    int rc = remote->ops->fetch(remote, &f, &call, on_any, &found, err);
    return rc < 0 ? rc : found;
}

static int on_remote_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)pos;
    return report(arg, row, err);
}

static int on_remote_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    struct side *s = arg;
    (void)pos;
    return s->r->note(s->r->arg, note, err);
}

static int hbase_buckets(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct sto_remote *remote = s->c->remote;
    struct sto_remote_call call = tsd_copy_call(s->c);
    struct ts_buf names;
    ts_buf_init(&names, 0);
    sto_internal_buckets(s->metric, &names);
    struct sto_fetch f = {
        .metric = ts_buf_get(&names), .from_ms = from_ms, .to_ms = to_ms, .all_buckets = true};
    call.deadline_ns += 5 * CALL_NS;
    int rc = remote->ops->fetch(remote, &f, &call, on_remote_row, s, err);
    ts_buf_release(&names);
    return rc;
}

static int hbase_read(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct sto_remote *remote = s->c->remote;
    struct sto_remote_call call = tsd_copy_call(s->c);
    bool has_notes = s->r->note && !is_internal(s->metric);
    struct sto_fetch f = {
        .metric = s->metric, .from_ms = from_ms, .to_ms = to_ms, .note = has_notes ? on_remote_note : NULL};
    call.deadline_ns += 5 * CALL_NS; /* an hour may have billions of points */
    TS_TRY(remote->ops->fetch(remote, &f, &call, on_remote_row, s, err));
    return s->r->bucket && !is_internal(s->metric) ? hbase_buckets(s, from_ms, to_ms, err) : 0;
}

static const struct side_ops HBASE = {hbase_any, hbase_read};

/* The part of a time range that HBase can have. False: none. */
static bool hbase_range(int64_t *from_ms, int64_t *to_ms)
{
    *from_ms = *from_ms < 0 ? 0 : *from_ms;
    *to_ms = *to_ms > HBASE_MAX_MS ? HBASE_MAX_MS : *to_ms;
    return *from_ms <= *to_ms;
}

int tsd_copy_read_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms,
                        const struct tsd_copy_reader *r, struct ts_error *err)
{
    struct side s = {.c = c, .metric = metric, .r = r};
    int64_t to_ms = c->to_ms;
    return hbase_range(&from_ms, &to_ms) ? read_slices(&s, &HBASE, from_ms, to_ms, err) : 0;
}

int tsd_copy_any_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                       struct ts_error *err)
{
    struct side s = {.c = c, .metric = metric};
    return hbase_range(&from_ms, &to_ms) ? hbase_any(&s, from_ms, to_ms, err) : 0;
}

int tsd_copy_first_hbase(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                         int64_t *out_ms, struct ts_error *err)
{
    struct side s = {.c = c, .metric = metric};
    return hbase_range(&from_ms, &to_ms) ? find_first(&s, &HBASE, from_ms, to_ms, out_ms, err) : 0;
}

/* --- the folder --- */

/* The series of a metric of the catalog; a metric that does not exist has none. */
static int open_part(struct side *s, struct ts_slice metric, struct ts_error *err)
{
    struct sto_catalog *cat = sto_store_catalog(s->c->store);
    struct sto_select_ctl ctl = {.memory = &s->c->memory};
    struct part *part;
    roaring_bitmap_t *set = NULL;
    roaring_uint32_iterator_t it;
    uint32_t id;
    if (sto_uid_find(cat, STO_UID_METRIC, metric, &id) < 0)
        return 0;
    TS_TRY(ts_budget_grow(&s->c->memory, &s->parts, &s->cap_parts, s->n_parts + 1, sizeof *s->parts, err));
    TS_TRY(sto_select(cat, id, NULL, 0, false, &ctl, &set, err));
    size_t n = (size_t)roaring_bitmap_get_cardinality(set);
    part = &s->parts[s->n_parts++];
    *part = (struct part){.metric = metric, .cap = n + 1};
    part->series = ts_budget_calloc(&s->c->memory, part->cap, sizeof *part->series, err);
    roaring_init_iterator(set, &it);
    for (; part->series && it.has_value && part->n_series < n; roaring_advance_uint32_iterator(&it)) {
        part->series[part->n_series] = sto_series_get(cat, it.current_value);
        part->n_series += part->series[part->n_series] != NULL;
    }
    roaring_bitmap_free(set);
    return part->series ? 0 : TS_ELIMIT;
}

/* The metric and, if the reader takes them, the buckets of its histograms. */
static int open_folder(struct side *s, struct ts_error *err)
{
    const struct qry_internal_metric *list;
    struct ts_arena arena;
    size_t n = 0;
    if (!s->c->store)
        return 0;
    s->snap = sto_snap_take(s->c->store);
    TS_TRY(open_part(s, s->metric, err));
    if (!s->r->bucket || is_internal(s->metric))
        return 0;
    ts_arena_init(&arena, 0);
    qry_internal_list(sto_store_catalog(s->c->store), s->metric, &arena, &list, &n);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        if (list[i].parts.kind == STO_INTERNAL_HISTOGRAM)
            rc = open_part(s, list[i].name, err);
    ts_arena_release(&arena);
    return rc;
}

static void close_folder(struct side *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].series)
            ts_budget_free(&s->c->memory, s->parts[i].series, s->parts[i].cap * sizeof *s->parts[i].series);
    ts_budget_free(&s->c->memory, s->parts, s->cap_parts * sizeof *s->parts);
    sto_snap_release(s->snap);
}

static struct sto_scan_spec spec_of(const struct side *s, const struct part *part, int64_t from_ms,
                                    int64_t to_ms)
{
    return (struct sto_scan_spec){.metric = part->series[0]->metric,
                                  .series = part->series,
                                  .n_series = part->n_series,
                                  .from_ms = from_ms,
                                  .to_ms = to_ms,
                                  .final = true,
                                  .local_only = true,
                                  .memory = &s->c->memory};
}

/* Reads until the first row: estimates from indexes may round a few points down to none. */
static int folder_any(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->n_parts && rc == 0; i++) {
        struct sto_merge *scan = NULL;
        struct sto_row row;
        if (s->parts[i].n_series == 0)
            continue;
        struct sto_scan_spec spec = spec_of(s, &s->parts[i], from_ms, to_ms);
        rc = sto_scan(s->snap, &spec, &scan, err);
        if (rc == 0)
            rc = sto_merge_next(scan, &row, err);
        sto_merge_free(scan);
    }
    return rc;
}

static int by_key(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

static void names_of(const struct side *s, const struct part *part, const struct sto_series *series,
                     struct sto_remote_tag *tags, struct sto_remote_series *out)
{
    const struct sto_catalog *cat = sto_store_catalog(s->c->store);
    for (size_t i = 0; i < series->n_tags; i++)
        tags[i] = (struct sto_remote_tag){sto_uid_name(cat, STO_UID_TAGK, series->tags[i].k),
                                          sto_uid_name(cat, STO_UID_TAGV, series->tags[i].v)};
    qsort(tags, series->n_tags, sizeof *tags, by_key);
    *out = (struct sto_remote_series){
        .key = series->id, .metric = part->metric, .tags = tags, .n_tags = series->n_tags};
}

static int read_part(struct side *s, const struct part *part, int64_t from_ms, int64_t to_ms,
                     struct ts_error *err)
{
    struct sto_scan_spec spec = spec_of(s, part, from_ms, to_ms);
    struct sto_remote_tag tags[SERIES_MAX];
    struct sto_remote_row row = {.cells = NULL};
    struct sto_merge *scan = NULL;
    struct sto_row got;
    size_t pos = SIZE_MAX;
    int rc = sto_scan(s->snap, &spec, &scan, err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &got, err)) == 1) {
        if (got.pos != pos)
            names_of(s, part, part->series[pos = got.pos], tags, &row.series);
        row.hour = got.key.hour;
        row.cells = got.cells;
        rc = report(s, &row, err);
    }
    sto_merge_free(scan);
    return rc;
}

static int folder_read(struct side *s, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->n_parts && rc == 0; i++)
        if (s->parts[i].n_series)
            rc = read_part(s, &s->parts[i], from_ms, to_ms, err);
    return rc;
}

static const struct side_ops FOLDER = {folder_any, folder_read};

int tsd_copy_read_folder(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms, int64_t to_ms,
                         const struct tsd_copy_reader *r, struct ts_error *err)
{
    struct side s = {.c = c, .metric = metric, .r = r};
    int rc = open_folder(&s, err);
    if (rc == 0 && s.n_parts)
        rc = folder_read(&s, from_ms, to_ms, err);
    close_folder(&s);
    return rc;
}

int tsd_copy_read_slices(struct tsd_copy *c, struct ts_slice metric, int64_t from_ms,
                         const struct tsd_copy_reader *r, struct ts_error *err)
{
    struct side s = {.c = c, .metric = metric, .r = r};
    int rc = open_folder(&s, err);
    if (rc == 0 && s.n_parts)
        rc = read_slices(&s, &FOLDER, from_ms, c->to_ms, err);
    close_folder(&s);
    return rc;
}
