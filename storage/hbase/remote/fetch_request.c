/*
 * fetch_request.c - what is requested: ids instead of names, hours, and how it is divided among readers.
 */
#include "storage/hbase/remote/fetch_int.h"

#include "base/time.h"

#include <stdlib.h>

#define SERIES_AT_ONCE 64
/*
 * Known series are fetched by computed keys as long as these are not more. bench_fetch, a busy machine: 12,000 to 20,000 rows/s by computed keys over one
 * connection, 60,000 to 117,000 rows/s that four scanners with a filter pass. So gets cost three to nine times as much a row, and are cheaper if the metric has
 * more than that many times the requested series, which nobody knows without reading. A wrong guess for gets costs that factor, and one for a scan
 * as much as the metric has series. So gets are the rule, and scans are for ranges of many hours, most of which have no row at all.
 */
#define MOST_GETS     100000
#define MOST_FILTERED 4096 /* series for which a scan gets a filter */

/* --- hours --- */

/* False: there are no rows of such times. */
static bool set_hours(struct sto_hbase__fetch *x)
{
    int64_t last_ms = (int64_t)UINT32_MAX * 1000 + 999, from = x->f->from_ms, to = x->f->to_ms;
    if (from > to || to < 0 || from > last_ms)
        return false;
    x->first_h = (uint32_t)((from < 0 ? 0 : from) / TS_HOUR_MS);
    x->last_h = (uint32_t)((to > last_ms ? last_ms : to) / TS_HOUR_MS);
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
            if (!x->histograms)
                continue;
            visible[n] = *list[n];
            visible[n].metric = x->metric_name;
            visible[n].key = STO_REMOTE_NO_KEY; /* it is that of a bucket */
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
        found = sto_hbase_salt(&x->h->opts.schema, (struct ts_slice){(const char *)x->gets[i]->tsuid,
                                                                     x->gets[i]->n_tsuid}) == bucket;
    return found;
}

/* A part for each bucket; where there are fewer buckets than connections, the hours are divided too, unless each series is returned once only. */
static int divide(struct sto_hbase__fetch *x, unsigned n_connections, struct ts_error *err)
{
    uint32_t buckets = sto_hbase_buckets(&x->h->opts.schema), hours = x->last_h - x->first_h + 1;
    uint32_t pieces =
        x->f->series_only || x->f->any_row || buckets >= n_connections ? 1 : n_connections / buckets;
    pieces = pieces < hours ? pieces : hours;
    for (uint32_t b = 0; b < buckets; b++) {
        if (!is_needed(x, b))
            continue;
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t from = (uint32_t)((uint64_t)hours * i / pieces),
                     to = (uint32_t)((uint64_t)hours * (i + 1) / pieces);
            TS_TRY(add_part(x, (struct sto_hbase__part){b, x->first_h + from, x->first_h + to - 1}, err));
        }
    }
    return 0;
}

/* --- all together --- */

static int make_filter(struct sto_hbase__fetch *x, struct ts_error *err)
{
    sto_hbase__filter_conds(&x->h->opts.schema, x->conds, x->n_conds, &x->filter);
    if (x->histograms) {
        sto_hbase__filter_type(6, x->filter.n > 0, &x->filter);
        if (x->f->any_row || (x->f->series_only && !x->f->all_buckets))
            ts_buf_str(&x->filter, " AND KeyOnlyFilter()");
    } else if (x->f->series_only || x->f->any_row)
        ts_buf_printf(&x->filter, "%sFirstKeyOnlyFilter() AND KeyOnlyFilter()", x->filter.n ? " AND " : "");
    else if (!x->each)
        sto_hbase__filter_type(1, x->filter.n > 0, &x->filter);
    return x->filter.failed ? sto_hbase__refused(&x->filter, x->filter.n, "a filter of rows", err) : 0;
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
    TS_TRY(add_part(x, (struct sto_hbase__part){0, x->first_h, x->last_h}, err));
    return 1;
}

/* Which rows have the metric? 0: none has. */
static int set_metric(struct sto_hbase__fetch *x)
{
    struct sto_internal name;
    x->metric_name = x->f->metric;
    if (x->f->metric.p[0] != STO_INTERNAL_MARK)
        return !x->f->all_buckets;
    if (!sto_internal_parse(x->f->metric, &name) || name.kind != STO_INTERNAL_HISTOGRAM ||
        x->h->opts.histogram_codec < 0)
        return 0;
    x->histograms = true;
    x->metric_name = name.metric;
    return x->f->all_buckets ? name.detail.n == 0 : sto_bucket_parse(name.detail, &x->bucket);
}

int sto_hbase__fetch_prepare(struct sto_hbase__fetch *x, struct sto_hbase_session *s, struct ts_error *err)
{
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
    uint64_t n_rows = x->n_gets * (uint64_t)(x->last_h - x->first_h + 1);
    bool scans = !x->f->series || n_rows > MOST_GETS;
    if (x->f->series && scans)
        TS_TRY(filter_series(x, err));
    TS_TRY(make_filter(x, err));
    if (scans)
        TS_TRY(divide(x, x->h->opts.scan_connections ? x->h->opts.scan_connections : 4, err));
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
    ts_buf_release(&x->filter);
}
