/*
 * fetch_request.c - what is requested: ids instead of names, hours, and how it is divided among readers.
 */
#include "storage/hbase/remote/fetch_int.h"

#include "base/time.h"

#include <stdlib.h>

#define SERIES_AT_ONCE 256
/*
 * Few rows of known series are fetched by computed keys, which takes one call. Of more, scanners seek from row to row. Rows of one cell, 1,000 series, two
 * connections, HBase on the same two cores, load average 20: 120,000 rows/s by computed keys; 125,000 rows/s of which a scanner seeks each tenth one;
 * 280,000 if it is given all of them; 370,000 to 480,000 by a scanner that is given none. So the last is used where the requested series are known to have
 * most of the rows.
 */
#define MOST_GETS     512
#define MOST_RANGES   4000000 /* of more, a scanner looks at all rows of the metric, */
#define MANY_HOURS    8192    /* or, since most of so many hours have no rows, */
#define MOST_OF_MANY  131072  /* of more than these */
#define MOST_SPARSE   2   /* rows of the metric for each row that is requested, where all of them are read */
#define LEAST_RANGES  256 /* for which another reader begins */
#define MOST_ROLLUPS  100000 /* rows of rollups that are fetched by computed keys */
#define MOST_FILTERED 4096   /* series for which a scan gets a filter */

/* --- hours --- */

uint64_t sto_hbase__next_row(const struct sto_hbase__fetch *x, uint32_t hour)
{
    return x->rollups ? sto_hbase_rollup_next(x->place.shape, hour * STO_HBASE_ROW_S) / STO_HBASE_ROW_S
                      : (uint64_t)hour + 1;
}

uint32_t sto_hbase__count_rows(const struct sto_hbase__fetch *x)
{
    static const uint32_t least_h[] = {1, 24, 28 * 24, 365 * 24}; /* hours of a row, by enum sto_hbase_unit */
    uint32_t hours = x->last_h - x->first_h;
    return 1 + (x->rollups ? hours / (least_h[x->place.shape->unit] * x->place.shape->n_hours) : hours);
}

/* False: there are no rows of such times. */
static bool set_hours(struct sto_hbase__fetch *x)
{
    int64_t last_ms = (int64_t)UINT32_MAX * 1000 + 999, from = x->f->from_ms, to = x->f->to_ms;
    if (from > to || to < 0 || from > last_ms)
        return false;
    x->first_h = (uint32_t)((from < 0 ? 0 : from) / TS_HOUR_MS);
    x->last_h = (uint32_t)((to > last_ms ? last_ms : to) / TS_HOUR_MS);
    if (x->rollups) {
        x->first_h = sto_hbase_rollup_base(x->place.shape, x->first_h * STO_HBASE_ROW_S) / STO_HBASE_ROW_S;
        x->last_h = sto_hbase_rollup_base(x->place.shape, x->last_h * STO_HBASE_ROW_S) / STO_HBASE_ROW_S;
    }
    return true;
}

/* --- ids of conditions --- */

static int by_number(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

static int by_tagk(const void *pa, const void *pb)
{
    const struct sto_hbase__cond *a = pa, *b = pb;
    return by_number(&a->tagk, &b->tagk);
}

static size_t count_names(const struct sto_fetch *f)
{
    size_t n = 1 + f->n_conds;
    for (size_t i = 0; i < f->n_conds; i++)
        n += f->conds[i].n_values;
    return n;
}

static void list_names(const struct sto_hbase__fetch *x, struct sto_remote_name *list)
{
    const struct sto_fetch *f = x->f;
    *list++ = (struct sto_remote_name){.kind = STO_REMOTE_METRIC, .name = x->metric_name};
    for (size_t i = 0; i < f->n_conds; i++) {
        *list++ = (struct sto_remote_name){.kind = STO_REMOTE_TAGK, .name = f->conds[i].tagk};
        for (size_t k = 0; k < f->conds[i].n_values; k++)
            *list++ = (struct sto_remote_name){.kind = STO_REMOTE_TAGV, .name = f->conds[i].values[k]};
    }
}

/* Ids of the conditions, which stand in list in their order. 1; 0: no series matches. */
static int take_ids(struct sto_hbase__fetch *x, const struct sto_remote_name *list, struct ts_error *err)
{
    const struct sto_fetch *f = x->f;
    size_t n_ids = count_names(f);
    x->conds_bytes = f->n_conds * sizeof *x->conds + n_ids * sizeof(uint64_t);
    x->conds = ts_budget_calloc(x->limits.memory, 1, x->conds_bytes, err);
    if (!x->conds)
        return TS_ELIMIT;
    uint64_t *ids = (uint64_t *)(void *)(x->conds + f->n_conds);
    if (list->rc < 0)
        return 0;
    x->metric = (list++)->id;
    for (size_t i = 0; i < f->n_conds; i++) {
        struct sto_hbase__cond *c = &x->conds[x->n_conds++];
        *c = (struct sto_hbase__cond){.tagk = list->id, .values = ids, .any = f->conds[i].n_values == 0};
        if ((list++)->rc < 0)
            return 0;
        for (size_t k = 0; k < f->conds[i].n_values; k++, list++)
            if (list->rc == 0)
                c->values[c->n_values++] = list->id;
        if (!c->any && c->n_values == 0)
            return 0;
        qsort(c->values, c->n_values, sizeof *c->values, by_number);
        ids += c->n_values;
    }
    qsort(x->conds, x->n_conds, sizeof *x->conds, by_tagk);
    return 1;
}

static int find_conds(struct sto_hbase__fetch *x, struct sto_hbase_session *s, struct ts_error *err)
{
    size_t n = x->f->series ? 1 : count_names(x->f);
    struct ts_budget *memory = x->limits.memory;
    struct sto_remote_name *list = ts_budget_calloc(memory, n, sizeof *list, err);
    struct ts_buf unused;
    if (!list)
        return TS_ELIMIT;
    ts_buf_init(&unused, 0);
    if (x->f->series)
        *list = (struct sto_remote_name){.kind = STO_REMOTE_METRIC, .name = x->metric_name};
    else
        list_names(x, list);
    int rc = sto_hbase_ids_names(x->h->ids, s, STO_REMOTE_FIND, list, n, &unused, err);
    if (rc == 0 && x->f->series) {
        rc = list->rc == 0;
        x->metric = list->id;
    } else if (rc == 0) {
        rc = take_ids(x, list, err);
    }
    ts_buf_release(&unused);
    ts_budget_free(memory, list, n * sizeof *list);
    return rc;
}

/* --- requested series --- */

static int want(struct sto_hbase__fetch *x, size_t pos, struct ts_slice tsuid, struct ts_error *err)
{
    struct sto_hbase__met *met;
    size_t before = x->wanted.n;
    TS_TRY(sto_hbase__table_add(&x->wanted, tsuid, &met, err));
    met->pos = pos;
    met->series = x->f->series[pos];
    met->bucket = sto_hbase_salt(&x->h->opts.schema, tsuid);
    met->naming = STO_HBASE__NAMED;
    if (x->wanted.n == before) { /* requested twice: gets point to the first one of the list */
        for (size_t i = 0; i < x->n_gets; i++)
            if (x->gets[i] == met->same)
                x->gets[i] = met;
        return 0;
    }
    TS_TRY(ts_budget_grow(x->limits.memory, &x->gets, &x->cap_gets, x->n_gets + 1, sizeof *x->gets, err));
    x->gets[x->n_gets++] = met;
    return 0;
}

static int find_series(struct sto_hbase__fetch *x, struct sto_hbase_session *s, struct ts_error *err)
{
    const struct sto_remote_series *list[SERIES_AT_ONCE];
    struct sto_remote_series visible[SERIES_AT_ONCE];
    struct sto_hbase_series_id *ids = ts_budget_calloc(x->limits.memory, SERIES_AT_ONCE, sizeof *ids, err);
    int rc = ids ? 0 : TS_ELIMIT;
    for (size_t at = 0; rc == 0 && at < x->f->n_series;) {
        size_t n = 0;
        for (; n < SERIES_AT_ONCE && at + n < x->f->n_series; n++) {
            list[n] = &x->f->series[at + n];
            if (!x->internal)
                continue;
            visible[n] = *list[n];
            visible[n].metric = x->metric_name;
            visible[n].key = STO_REMOTE_NO_KEY; /* it is that of the internal series */
            list[n] = &visible[n];
        }
        rc = sto_hbase_ids_series(x->h->ids, s, STO_REMOTE_FIND, list, n, ids, err);
        for (size_t i = 0; rc == 0 && i < n; i++)
            if (ids[i].rc == 0 && ids[i].n)
                rc = want(x, at + i, (struct ts_slice){(const char *)ids[i].tsuid, ids[i].n}, err);
        at += n;
    }
    ts_budget_free(x->limits.memory, ids, ids ? SERIES_AT_ONCE * sizeof *ids : 0);
    return rc;
}

/* The values that the requested series have for a tag, if all have it. */
static void take_values(const struct sto_hbase__fetch *x, struct sto_hbase__cond *c)
{
    for (size_t i = 0; i < x->n_gets; i++) {
        const struct sto_hbase__met *met = x->gets[i];
        struct sto_hbase_ids ids;
        uint64_t before = c->n_values;
        (void)sto_hbase_tsuid_parse(&x->h->opts.schema,
                                    (struct ts_slice){(const char *)met->tsuid, met->n_tsuid}, &ids, NULL);
        for (size_t k = 0; k < ids.n_tags; k++)
            if (ids.tag[k].k == c->tagk)
                c->values[c->n_values++] = ids.tag[k].v;
        if (c->n_values == before) {
            c->n_values = 0;
            return;
        }
    }
    qsort(c->values, c->n_values, sizeof *c->values, by_number);
}

/* A filter for a scan of requested series: the tags that all of them have. */
static int filter_series(struct sto_hbase__fetch *x, struct ts_error *err)
{
    struct sto_hbase_ids ids;
    const struct sto_hbase__met *met = x->gets[0];
    size_t n_bytes = x->n_gets * sizeof(uint64_t);
    if (x->n_gets > MOST_FILTERED)
        return 0;
    TS_TRY(sto_hbase_tsuid_parse(&x->h->opts.schema,
                                 (struct ts_slice){(const char *)met->tsuid, met->n_tsuid}, &ids, err));
    x->conds_bytes = ids.n_tags * (sizeof *x->conds + n_bytes);
    x->conds = ts_budget_calloc(x->limits.memory, 1, x->conds_bytes, err);
    if (!x->conds)
        return TS_ELIMIT;
    uint64_t *values = (uint64_t *)(void *)(x->conds + ids.n_tags);
    for (size_t i = 0; i < ids.n_tags; i++) {
        struct sto_hbase__cond *c = &x->conds[x->n_conds];
        *c = (struct sto_hbase__cond){.tagk = ids.tag[i].k, .values = values + i * x->n_gets};
        take_values(x, c);
        x->n_conds += c->n_values > 0;
    }
    return 0;
}

/* --- how they are read --- */

static int by_key(const void *pa, const void *pb)
{
    const struct sto_hbase__met *a = *(struct sto_hbase__met *const *)pa,
                                *b = *(struct sto_hbase__met *const *)pb;
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return ts_slice_cmp((struct ts_slice){(const char *)a->tsuid, a->n_tsuid},
                        (struct ts_slice){(const char *)b->tsuid, b->n_tsuid});
}

/* Have the requested series most of the rows of the metric? False if it is not known. */
static bool is_dense(const struct sto_hbase__fetch *x)
{
    struct sto_hbase__density *d = &x->h->densities[x->metric % STO_HBASE__DENSITIES];
    uint64_t rows = atomic_load_explicit(&d->rows_of_hour, memory_order_relaxed);
    return (!x->internal || x->histograms) && /* it is that of the data table */
           atomic_load_explicit(&d->metric, memory_order_relaxed) == x->metric &&
           rows <= MOST_SPARSE * x->n_gets;
}

void sto_hbase__note_density(const struct sto_hbase__fetch *x)
{
    struct sto_hbase__density *d = &x->h->densities[x->metric % STO_HBASE__DENSITIES];
    if (x->narrow != STO_HBASE__WIDE || !x->n_parts || x->f->series || x->n_conds || x->internal ||
        !x->each || x->f->any_row || !x->metric)
        return;
    uint64_t hours = (uint64_t)x->last_h - x->first_h + 1;
    atomic_store_explicit(&d->rows_of_hour,
                          (atomic_load_explicit(&x->n_seen, memory_order_relaxed) + hours - 1) / hours,
                          memory_order_relaxed);
    atomic_store_explicit(&d->metric, x->metric, memory_order_relaxed);
}

/* By computed keys, or by scanners, which get narrow ranges or not? Returns whether there are scanners. */
static int choose(struct sto_hbase__fetch *x, struct ts_error *err)
{
    uint64_t hours = (uint64_t)x->last_h - x->first_h + 1, n_rows = x->n_gets * hours;
    uint64_t most = hours > MANY_HOURS ? MOST_OF_MANY : MOST_RANGES;
    if (x->rollups) { /* narrow ranges are those of hours */
        bool by_key = x->f->series && x->n_gets * (uint64_t)sto_hbase__count_rows(x) <= MOST_ROLLUPS;
        if (x->f->series && !by_key)
            TS_TRY(filter_series(x, err));
        return !by_key;
    }
    if (!x->f->series) {
        size_t of_hour = sto_hbase__ranges_of_conds(x->conds, x->n_conds);
        if (of_hour && of_hour * hours <= most)
            x->narrow = STO_HBASE__BY_CONDS;
        return 1;
    }
    if (n_rows <= MOST_GETS)
        return 0;
    if (is_dense(x))
        return 1;
    if (n_rows > most)
        return filter_series(x, err) < 0 ? TS_ELIMIT : 1;
    x->narrow = STO_HBASE__BY_SERIES;
    qsort(x->gets, x->n_gets, sizeof(struct sto_hbase__met *), by_key);
    return 1;
}

/* --- parts --- */

static int add_part(struct sto_hbase__fetch *x, struct sto_hbase__part part, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(x->limits.memory, &x->parts, &x->cap_parts, x->n_parts + 1, sizeof *x->parts, err));
    x->parts[x->n_parts++] = part;
    return 0;
}

/* Has a requested series this salt? All have if none is requested. */
static bool is_needed(const struct sto_hbase__fetch *x, uint32_t bucket)
{
    bool found = !x->f->series;
    for (size_t i = 0; i < x->n_gets && !found; i++)
        found = x->gets[i]->bucket == bucket;
    return found;
}

/* Series [from, to) of one bucket: pieces of their hours, or of them if there are not enough hours. */
static int divide_run(struct sto_hbase__fetch *x, size_t from, size_t to, unsigned most, struct ts_error *err)
{
    uint64_t hours = x->last_h - x->first_h + 1, n = to - from, pieces = hours * n / LEAST_RANGES + 1;
    pieces = pieces < most ? pieces : most;
    bool by_hours = hours >= pieces && !x->f->series_only;
    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t all = by_hours ? hours : n, lo = all * i / pieces, hi = all * (i + 1) / pieces;
        struct sto_hbase__part part = {x->gets[from]->bucket, x->first_h, x->last_h, from, to};
        if (by_hours) {
            part.first_h = x->first_h + (uint32_t)lo;
            part.last_h = x->first_h + (uint32_t)hi - 1;
        } else {
            part.from = from + lo;
            part.to = from + hi;
        }
        if (lo < hi)
            TS_TRY(add_part(x, part, err));
    }
    return 0;
}

static int divide_series(struct sto_hbase__fetch *x, unsigned n_connections, struct ts_error *err)
{
    uint32_t buckets = sto_hbase_buckets(&x->h->opts.schema);
    for (size_t from = 0, to; from < x->n_gets; from = to) {
        for (to = from + 1; to < x->n_gets && x->gets[to]->bucket == x->gets[from]->bucket;)
            to++;
        TS_TRY(divide_run(x, from, to, buckets >= n_connections ? 1 : n_connections / buckets, err));
    }
    return 0;
}

/* A part for each bucket; where there are fewer buckets than connections, the hours are divided too. */
static int divide(struct sto_hbase__fetch *x, unsigned n_connections, struct ts_error *err)
{
    uint32_t buckets = sto_hbase_buckets(&x->h->opts.schema), hours = x->last_h - x->first_h + 1;
    bool whole = x->f->any_row || (x->f->series_only && x->f->all_buckets);
    uint32_t pieces = whole || buckets >= n_connections ? 1 : n_connections / buckets;
    pieces = pieces < sto_hbase__count_rows(x) ? pieces : sto_hbase__count_rows(x);
    for (uint32_t b = 0; b < buckets; b++) {
        if (!is_needed(x, b))
            continue;
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t from = (uint32_t)((uint64_t)hours * i / pieces),
                     to = (uint32_t)((uint64_t)hours * (i + 1) / pieces);
            TS_TRY(add_part(x,
                            (struct sto_hbase__part){
                                .bucket = b, .first_h = x->first_h + from, .last_h = x->first_h + to - 1},
                            err));
        }
    }
    return 0;
}

/* --- all together --- */

static int make_filter(struct sto_hbase__fetch *x, struct ts_error *err)
{
    sto_hbase__filter_conds(&x->h->opts.schema, x->conds, x->n_conds, &x->filter);
    if (x->histograms) {
        sto_hbase__filter_type(x, 6);
        if (x->f->any_row || (x->f->series_only && !x->f->all_buckets))
            sto_hbase__filter_simple(x, "KeyOnlyFilter");
    } else if (x->rollups) {
        sto_hbase__filter_rollups(x, x->filter.n > 0, &x->filter);
        if (x->f->any_row || x->f->series_only)
            sto_hbase__filter_simple(x, "KeyOnlyFilter");
    } else if (x->f->series_only || x->f->any_row) {
        sto_hbase__filter_simple(x, "FirstKeyOnlyFilter");
        sto_hbase__filter_simple(x, "KeyOnlyFilter");
    } else if (!x->each) {
        sto_hbase__filter_type(x, 1);
    }
    bool failed = x->filter.failed || x->cell_filter.failed;
    return failed ? sto_hbase__refused(&x->filter, x->filter.n, "a filter of rows", err) : 0;
}

/* The rows of global annotations have no series, and stand in one place. */
static int prepare_global(struct sto_hbase__fetch *x, struct ts_error *err)
{
    struct sto_hbase__met *met;
    if (!x->f->note || !set_hours(x))
        return 0;
    TS_TRY(sto_hbase__table_add(&x->wanted, (struct ts_slice){"", 1}, &met, err));
    met->pos = SIZE_MAX;
    met->naming = STO_HBASE__NAMED;
    TS_TRY(make_filter(x, err));
    TS_TRY(add_part(x, (struct sto_hbase__part){.first_h = x->first_h, .last_h = x->last_h}, err));
    return 1;
}

/* Where are rollups of a spec? False: nowhere. */
static bool set_place(struct sto_hbase__fetch *x, struct ts_slice detail)
{
    const struct sto_hbase_opts *o = &x->h->opts;
    if (sto_hbase_rollups_find(o->rollups, detail, &x->place, NULL) < 0)
        return false;
    x->table = ts_slice_str(x->place.table);
    x->rollups = x->place.shape != NULL;
    x->by_tag = !x->f->series && (x->place.shared || ts_slice_is(x->table, o->tables.data));
    return true;
}

/* Which rows have the metric? 0: none has. */
static int set_metric(struct sto_hbase__fetch *x)
{
    struct sto_internal name;
    x->metric_name = x->f->metric;
    if (x->f->metric.p[0] != STO_INTERNAL_MARK)
        return !x->f->all_buckets;
    if (!sto_internal_parse(x->f->metric, &name) || !x->each)
        return 0;
    x->internal = true;
    x->metric_name = name.metric;
    if (name.kind == STO_INTERNAL_ROLLUP)
        return !x->f->all_buckets && set_place(x, name.detail);
    if (x->h->opts.histogram_codec < 0)
        return 0;
    x->histograms = true;
    return x->f->all_buckets ? name.detail.n == 0 : sto_bucket_parse(name.detail, &x->bucket);
}

int sto_hbase__fetch_prepare(struct sto_hbase__fetch *x, struct sto_hbase_session *s, struct ts_error *err)
{
    x->table = ts_slice_str(x->h->opts.tables.data);
    if (x->f->metric.n == 0)
        return prepare_global(x, err);
    if (!set_metric(x) || !set_hours(x) || (x->f->series && x->f->n_series == 0))
        return 0;
    int rc = find_conds(x, s, err);
    if (rc < 1)
        return rc;
    if (x->f->series)
        TS_TRY(find_series(x, s, err));
    if (x->f->series && x->n_gets == 0)
        return 0;
    int scans = choose(x, err);
    TS_TRY(scans);
    TS_TRY(make_filter(x, err));
    unsigned n_connections = x->h->opts.scan_connections ? x->h->opts.scan_connections : 4;
    if (scans)
        TS_TRY(x->narrow == STO_HBASE__BY_SERIES ? divide_series(x, n_connections, err)
                                                 : divide(x, n_connections, err));
    x->next_h = x->first_h;
    return 1;
}

void sto_hbase__fetch_release(struct sto_hbase__fetch *x)
{
    struct ts_budget *memory = x->limits.memory;
    ts_budget_free(memory, x->conds, x->conds_bytes);
    ts_budget_free(memory, x->gets, x->cap_gets * sizeof *x->gets);
    ts_budget_free(memory, x->parts, x->cap_parts * sizeof *x->parts);
    sto_hbase__table_clear(&x->wanted);
    sto_hbase__table_clear(&x->reported);
    ts_buf_release(&x->filter);
    ts_buf_release(&x->cell_filter);
    ts_buf_release(&x->misplaced);
}
