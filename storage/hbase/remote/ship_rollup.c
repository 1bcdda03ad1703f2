/*
 * ship_rollup.c - writes rollups and pre-aggregates, which are series of internal metrics, to the tables that OpenTSDB has for them.
 *
 *   rollups of an interval       cells by function and interval in rows that may span many hours (rollup_cells.h)
 *   pre-aggregates without one   cells of points in rows of an hour, which are never compacted
 *
 * An hour of a rollup series has the intervals that begin in it, and lies in one row, since rows begin and end with hours. So what one hour writes is
 * nobody else's, and shipments of several hours may change different cells of one row at the same time. The functions of a series in an hour are one
 * group, which is written as ship.c says of rows of points: without a look if no point of it was ever sent from here; otherwise its cells are read, one atomic change
 * of the row puts the new ones and deletes those that contradict them, and the group is looked at once more until nothing is left to change.
 *
 * Cost       of fresh points one putMultiple for some hundred rows; otherwise two reads of the cells of the hour and a change
 * Memory     the rows of the shipment, the cells of STO_HBASE__MERGE_ROWS groups; counted
 * Not here   reading (fetch_rollup.c), deleting (delete.c)
 */
#include "base/mem.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/rollup_cells.h"
#include "storage/hbase/remote/ship_int.h"
#include "storage/internal.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES ((size_t)1 << 20) /* of a putMultiple of fresh groups */
#define ROUNDS      6                 /* of changing and looking, as of rows of points */

/* A row of the shipment: one function of a series in an hour, or a pre-aggregate. */
struct part {
    uint32_t row; /* in the shipment */
    struct ts_slice metric;
    struct sto_hbase_rollup_place place;
};
/* Rows of the shipment that belong to one row in HBase: parts[from, to). */
struct group {
    size_t from, to;
    bool fresh;   /* it is written without a look */
    bool open;    /* it is to be looked at again */
    bool refused; /* the caller knows */
    uint32_t base_s;
    uint8_t n_key; /* bytes of key */
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
    int64_t newest_ms, known_ms; /* timestamps that were read: now, and before the first change */
};
/* Rollups of a shipment on their way. */
struct rollups {
    struct sto_hbase__worker *w;
    struct ts_budget *memory;
    struct part *parts; /* by table, series and function; owned, as all arrays */
    size_t n_parts, cap_parts;
    struct group *groups; /* of one table, that are sent together */
    size_t n_groups, cap_groups;
    struct sto_hbase_rollup_cells *cells; /* of one group */
    size_t cap_cells;
    bool refused, final; /* kind of the last failure */
};

static struct ts_slice table_of(const struct rollups *r, const struct group *g)
{
    return ts_slice_str(r->parts[g->from].place.table);
}
static struct ts_slice key_of(const struct group *g)
{
    return (struct ts_slice){(const char *)g->key, g->n_key};
}
static const struct sto_remote_row *row_of(const struct rollups *r, size_t part)
{
    return &r->w->s->rows[r->parts[part].row];
}

/* --- which rows --- */

static int check_part(const struct sto_remote_row *row, const struct part *part, struct ts_error *err)
{
    const struct sto_hbase_rollup *shape = part->place.shape;
    struct sto_remote_series visible = row->series;
    visible.metric = part->metric;
    if (row->hour < 0 || row->hour > STO_HBASE_MAX_HOUR)
        return sto_hbase_check_time(row->hour * TS_HOUR_MS, err);
    TS_TRY(sto_hbase_check_series(&visible, err));
    TS_TRY(sto_hbase_check_points(row->hour, row->cells, err));
    uint32_t hour_s = (uint32_t)row->hour * STO_HBASE_ROW_S;
    for (uint32_t i = 0; shape && i < row->cells->n; i++) {
        uint32_t off_ms = sto_meta_off(row->cells->meta[i]), time_s = hour_s + off_ms / 1000;
        if (off_ms % 1000 || (time_s - sto_hbase_rollup_base(shape, time_s)) % shape->interval_s)
            return ts_error_set(err, TS_EINVAL,
                                "the time of a rollup is not the beginning of an interval of %u seconds",
                                shape->interval_s);
    }
    return 0;
}

static int add_parts(struct rollups *r, struct ts_error *err)
{
    const struct sto_shipment *s = r->w->s;
    for (size_t i = 0; i < s->n; i++) {
        struct ts_error why = {0};
        struct sto_internal name;
        struct part part = {.row = (uint32_t)i};
        if (!sto_internal_parse(s->rows[i].series.metric, &name) || name.kind != STO_INTERNAL_ROLLUP)
            continue;
        part.metric = name.metric;
        if (sto_hbase_rollups_find(r->w->h->opts.rollups, name.detail, &part.place, &why) < 0 ||
            check_part(&s->rows[i], &part, &why) < 0) {
            sto_hbase__refuse(r->w, i, &why);
            continue;
        }
        if (s->rows[i].cells->n == 0)
            continue;
        TS_TRY(ts_budget_grow(r->memory, &r->parts, &r->cap_parts, r->n_parts + 1, sizeof *r->parts, err));
        r->parts[r->n_parts++] = part;
    }
    return 0;
}

/* Order of rows in HBase, roughly: table, series, hour. */
static int cmp_rows(const struct sto_shipment *s, const struct part *a, const struct part *b)
{
    const struct sto_remote_row *x = &s->rows[a->row], *y = &s->rows[b->row];
    int c = strcmp(a->place.table, b->place.table);
    c = c ? c : ts_slice_cmp(a->metric, b->metric);
    for (size_t i = 0; c == 0 && i < x->series.n_tags && i < y->series.n_tags; i++) {
        c = ts_slice_cmp(x->series.tags[i].k, y->series.tags[i].k);
        c = c ? c : ts_slice_cmp(x->series.tags[i].v, y->series.tags[i].v);
    }
    if (c == 0)
        c = (x->series.n_tags > y->series.n_tags) - (x->series.n_tags < y->series.n_tags);
    return c ? c : (x->hour > y->hour) - (x->hour < y->hour);
}

static int cmp_parts(const void *pa, const void *pb, void *arg)
{
    const struct part *a = pa, *b = pb;
    int c = cmp_rows(arg, a, b);
    return c ? c : (int)a->place.function - (int)b->place.function;
}

/* Do two parts belong to one group? Not those of one function, as "1h-sum" and "60m-sum" are: they would be written one after the other. */
static bool is_same(const struct rollups *r, size_t first, size_t at)
{
    return cmp_rows(r->w->s, &r->parts[first], &r->parts[at]) == 0 &&
           r->parts[at - 1].place.function != r->parts[at].place.function;
}

/* The next groups from *at on: of one table, with few that are not fresh. */
static int next_groups(struct rollups *r, size_t *at, struct ts_error *err)
{
    size_t n_known = 0;
    for (r->n_groups = 0; r->n_groups < STO_HBASE__CHUNK && *at < r->n_parts; r->n_groups++) {
        TS_TRY(
            ts_budget_grow(r->memory, &r->groups, &r->cap_groups, r->n_groups + 1, sizeof *r->groups, err));
        struct group *g = &r->groups[r->n_groups];
        *g = (struct group){.from = *at, .to = *at + 1, .fresh = row_of(r, *at)->fresh};
        for (; g->to < r->n_parts && is_same(r, g->from, g->to); g->to++)
            g->fresh &= row_of(r, g->to)->fresh;
        const struct part *last = r->n_groups ? &r->parts[r->groups[r->n_groups - 1].from] : NULL;
        bool again = last && cmp_rows(r->w->s, last, &r->parts[g->from]) == 0;
        if (again || (last && strcmp(last->place.table, r->parts[g->from].place.table)) ||
            (!g->fresh && n_known == STO_HBASE__MERGE_ROWS))
            return 1;
        n_known += !g->fresh;
        *at = g->to;
    }
    return r->n_groups > 0;
}

/* Ids and keys of the groups. */
static int find_keys(struct rollups *r, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    struct sto_remote_series *visible = ts_budget_calloc(r->memory, STO_HBASE__CHUNK, sizeof *visible, err);
    if (!visible)
        return TS_ELIMIT;
    for (size_t i = 0; i < r->n_groups; i++) {
        visible[i] = row_of(r, r->groups[i].from)->series;
        visible[i].metric = r->parts[r->groups[i].from].metric;
        visible[i].key = STO_REMOTE_NO_KEY; /* it is that of the internal series */
        w->series[i] = &visible[i];
    }
    int rc =
        sto_hbase_ids_series(w->h->ids, &w->session, STO_REMOTE_MAKE, w->series, r->n_groups, w->ids, err);
    for (size_t i = 0; i < r->n_groups && rc == 0; i++) {
        struct group *g = &r->groups[i];
        const struct sto_hbase_rollup *shape = r->parts[g->from].place.shape;
        const struct sto_hbase_series_id *id = &w->ids[i];
        g->refused = id->rc < 0;
        for (size_t k = g->from; k < g->to && g->refused; k++)
            sto_hbase__refuse(w, r->parts[k].row, &id->why);
        g->base_s = (uint32_t)row_of(r, g->from)->hour * STO_HBASE_ROW_S;
        if (shape)
            g->base_s = sto_hbase_rollup_base(shape, g->base_s);
        if (id->rc == 0)
            g->n_key = (uint8_t)sto_hbase_rowkey_make(
                &w->h->opts.schema, (struct ts_slice){(const char *)id->tsuid, id->n}, g->base_s, g->key);
    }
    ts_budget_free(r->memory, visible, STO_HBASE__CHUNK * sizeof *visible);
    return rc;
}

/* --- planning --- */

/* The cells of a group in r->cells. */
static int list_cells(struct rollups *r, const struct group *g, struct ts_error *err)
{
    const struct sto_hbase_rollup *shape = r->parts[g->from].place.shape;
    uint32_t hour_s = (uint32_t)row_of(r, g->from)->hour * STO_HBASE_ROW_S;
    TS_TRY(ts_budget_grow(r->memory, &r->cells, &r->cap_cells, g->to - g->from, sizeof *r->cells, err));
    for (size_t i = g->from; i < g->to; i++) {
        const struct sto_remote_row *row = row_of(r, i);
        struct sto_hbase_rollup_cells *c = &r->cells[i - g->from];
        *c = (struct sto_hbase_rollup_cells){
            .place = &r->parts[i].place, .points = row->cells, .hour = row->hour};
        (void)sto_hbase_rollup_part(shape, g->base_s, hour_s, (uint64_t)hour_s + STO_HBASE_ROW_S - 1,
                                    &c->first, &c->last);
    }
    return 0;
}

/* Plan what a group writes, in w->change: n cells of its row were read. */
static int plan_group(struct rollups *r, const struct group *g, size_t n, bool again, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    if (!r->parts[g->from].place.shape) {
        struct sto_hbase_wish wish = {
            .points = row_of(r, g->from)->cells, .settles = again, .known_ms = g->known_ms};
        return sto_hbase_change_plan(&w->change, w->cells, n, &wish, err);
    }
    TS_TRY(list_cells(r, g, err));
    struct sto_hbase_rollup_wish wish = {.list = r->cells,
                                         .n = g->to - g->from,
                                         .base_s = g->base_s,
                                         .settles = again,
                                         .known_ms = g->known_ms};
    return sto_hbase_rollup_change(&w->change, w->cells, n, &wish, err);
}

/* Encode the change of a group that was read. 1: it changes. */
static int encode_group(struct rollups *r, struct group *g, size_t n, bool again, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    TS_TRY(plan_group(r, g, n, again, err));
    if (!again)
        g->known_ms = w->change.newest_ms;
    if (!again || w->change.newest_ms > g->newest_ms)
        g->newest_ms = w->change.newest_ms;
    if (!sto_hbase_change_writes(&w->change))
        return 0;
    w->change.guard = NULL;
    w->n_changes +=
        sto_hbase__encode_change(table_of(r, g), &w->change, key_of(g), sto_hbase__stamp(g->newest_ms, again),
                                 &w->put, &w->changes[w->n_changes]);
    if (w->change.append.n) {
        struct sto_thrift_cell cell = {
            .family = STO_HBASE_FAMILY, .qualifier = STO_HBASE_APPENDS, .value = w->change.append};
        (void)sto_thrift_call_append(&w->appends[w->n_appends++], table_of(r, g),
                                     &(struct sto_thrift_put){.row = key_of(g), .cells = &cell, .n_cells = 1},
                                     false);
    }
    return 1;
}

/* --- fresh groups --- */

/* Put the fresh ones of groups[from, to) from *at on, as many as one request takes. */
static int put_fresh(struct rollups *r, size_t *at, size_t to, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    struct sto_thrift_reply reply = {0};
    sto_thrift_batch_begin(&w->put, STO_THRIFT_PUT_MULTIPLE, table_of(r, &r->groups[*at]));
    for (; *at < to && w->put.bytes.n < BATCH_BYTES; ++*at) {
        const struct group *g = &r->groups[*at];
        if (!g->fresh || g->refused)
            continue;
        TS_TRY(plan_group(r, g, 0, false, err));
        (void)sto_hbase__encode_change(table_of(r, g), &w->change, key_of(g), w->stamp_ms, &w->put, NULL);
    }
    int rc = sto_thrift_batch_end(&w->put);
    if (rc == 0 && w->put.n_items)
        rc = sto_thrift_client_call(w->session.client, &w->put, sto_hbase_attempt(&w->session), &reply, NULL,
                                    err);
    if (rc == TS_EBACKEND) {
        r->final = sto_hbase_is_final(&reply);
        r->refused = sto_hbase_refuses_rows(&reply);
    }
    return rc;
}

/* --- rounds --- */

static int read_groups(struct rollups *r, size_t from, size_t to, struct sto_thrift_reply *reply,
                       struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    struct sto_thrift_column family = {.family = STO_HBASE_FAMILY};
    int rc = 0;
    sto_thrift_batch_begin(&w->read, STO_THRIFT_GET_MULTIPLE, table_of(r, &r->groups[from]));
    for (size_t i = from; i < to && rc == 0; i++) {
        const struct group *g = &r->groups[i];
        struct sto_thrift_get get = {.row = key_of(g), .select = {.columns = &family, .n_columns = 1}};
        if (!g->open)
            continue;
        ts_buf_clear(&w->value);
        if (r->parts[g->from].place.shape && (rc = list_cells(r, g, err)) == 0)
            sto_hbase_rollup_filter(r->cells, g->to - g->from, &w->value);
        get.select.filter = ts_buf_get(&w->value);
        if (rc == 0)
            sto_thrift_batch_get(&w->read, &get);
    }
    if (rc < 0)
        return rc;
    (void)sto_thrift_batch_end(&w->read);
    rc =
        sto_thrift_client_call(w->session.client, &w->read, sto_hbase_attempt(&w->session), reply, NULL, err);
    if (rc == TS_EBACKEND)
        r->final = sto_hbase_is_final(reply);
    return rc;
}

/* Plan the changes of the open groups that were read; those that do not change are closed. */
static int plan_groups(struct rollups *r, size_t from, size_t to, bool again,
                       const struct sto_thrift_reply *reply, size_t *out_open, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    w->n_changes = w->n_appends = *out_open = 0;
    sto_thrift_batch_begin(&w->put, STO_THRIFT_PUT_MULTIPLE, table_of(r, &r->groups[from]));
    sto_thrift_items_init(&it, reply);
    for (size_t i = from; i < to; i++) {
        if (!r->groups[i].open)
            continue;
        int rc = sto_hbase_asked_row(&it, key_of(&r->groups[i]), &row, err);
        int64_t n = rc < 0 ? rc : sto_hbase__row_cells(&row, &w->cells, &w->cap_cells, r->memory, err);
        if (n < 0)
            return (int)n;
        rc = encode_group(r, &r->groups[i], (size_t)n, again, err);
        if (rc < 0)
            return rc;
        r->groups[i].open = rc > 0;
        *out_open += (size_t)rc;
    }
    return sto_thrift_batch_end(&w->put);
}

static int send_changes(struct rollups *r, struct ts_error *err)
{
    struct sto_hbase__worker *w = r->w;
    struct sto_thrift_request *all[STO_HBASE__MERGE_ROWS + 1];
    size_t n = 0;
    if (w->put.n_items)
        all[n++] = &w->put;
    for (size_t i = 0; i < w->n_changes; i++)
        all[n++] = &w->changes[i];
    TS_TRY(sto_hbase__send_all(&w->session, all, n, NULL, &r->refused, &r->final, err));
    for (size_t i = n = 0; i < w->n_appends; i++)
        all[n++] = &w->appends[i];
    return sto_hbase__send_all(&w->session, all, n, NULL, &r->refused, &r->final, err);
}

static void refuse(struct rollups *r, struct group *g, const struct ts_error *why)
{
    for (size_t k = g->from; k < g->to && !g->refused; k++)
        sto_hbase__refuse(r->w, r->parts[k].row, why);
    g->refused = true;
}

/* Write groups[from, to). */
static int settle(struct rollups *r, size_t from, size_t to, struct ts_error *err)
{
    struct sto_thrift_reply reply = {0};
    struct ts_error why = {0};
    size_t n_open = 0;
    for (size_t at = from; at < to;)
        TS_TRY(put_fresh(r, &at, to, err));
    for (size_t i = from; i < to; i++)
        n_open += r->groups[i].open = !r->groups[i].fresh && !r->groups[i].refused;
    sto_hbase__count(&r->w->counts->n_merged, n_open);
    for (unsigned round = 0; n_open; round++) {
        TS_TRY(read_groups(r, from, to, &reply, err));
        TS_TRY(plan_groups(r, from, to, round > 0, &reply, &n_open, err));
        if (n_open == 0 || round == ROUNDS)
            break;
        sto_hbase__count(round ? &r->w->counts->n_settled : &r->w->counts->n_changed, n_open);
        TS_TRY(send_changes(r, err));
    }
    (void)ts_error_set(
        &why, TS_EBUSY,
        "its rollups do not stay in HBase: deletes with later timestamps hide them, or another "
        "writer replaces them all the time; check the clocks of all machines");
    for (size_t i = from; i < to && n_open; i++)
        if (r->groups[i].open)
            refuse(r, &r->groups[i], &why);
    return 0;
}

/* The same with repeats; groups that HBase refuses for good are found by halves. */
static int settle_again(struct rollups *r, size_t from, size_t to, struct ts_error *err)
{
    struct ts_error why = {0};
    size_t middle = from + (to - from) / 2;
    for (unsigned attempt = 0;; attempt++) {
        TS_TRY(sto_hbase__pause_after(&r->w->session, attempt, &why, err));
        r->refused = r->final = false;
        int rc = settle(r, from, to, &why);
        sto_hbase__trim(r->w);
        if (rc == 0)
            return 0;
        struct sto_hbase__attempt now = {attempt, to - from, r->refused, r->final};
        switch (sto_hbase__judge(r->w->h, &r->w->session, &now, rc, &why)) {
        case STO_HBASE__DIVIDE:
            TS_TRY(settle_again(r, from, middle, err));
            return settle_again(r, middle, to, err);
        case STO_HBASE__REFUSE:
            refuse(r, &r->groups[from], &why);
            return 0;
        case STO_HBASE__FAIL:
            return sto_hbase__fail(&why, err);
        case STO_HBASE__REPEAT:
            break;
        }
        sto_hbase__count(&r->w->counts->n_repeats, 1);
    }
}

/* --- a shipment --- */

static int send_groups(struct rollups *r, struct ts_error *err)
{
    int rc;
    qsort_r(r->parts, r->n_parts, sizeof *r->parts, cmp_parts, (void *)(uintptr_t)r->w->s);
    for (size_t at = 0; (rc = next_groups(r, &at, err)) > 0;) {
        uint64_t n_points = 0, n_rows = 0;
        TS_TRY(find_keys(r, err));
        TS_TRY(settle_again(r, 0, r->n_groups, err));
        for (size_t i = 0; i < r->n_groups; i++) {
            n_rows += !r->groups[i].refused;
            for (size_t k = r->groups[i].from; k < r->groups[i].to && !r->groups[i].refused; k++)
                n_points += row_of(r, k)->cells->n;
        }
        sto_hbase__count(&r->w->counts->n_rows, n_rows);
        sto_hbase__count(&r->w->counts->n_points, n_points);
    }
    return rc;
}

int sto_hbase__ship_rollups(struct sto_hbase__worker *w, struct ts_error *err)
{
    struct rollups r = {.w = w, .memory = w->h->opts.access.memory};
    int rc = add_parts(&r, err);
    if (rc == 0 && r.n_parts)
        rc = send_groups(&r, err);
    ts_budget_free(r.memory, r.parts, r.cap_parts * sizeof *r.parts);
    ts_budget_free(r.memory, r.groups, r.cap_groups * sizeof *r.groups);
    ts_budget_free(r.memory, r.cells, r.cap_cells * sizeof *r.cells);
    return rc;
}
