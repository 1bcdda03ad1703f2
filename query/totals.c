/*
 * totals.c - totals by day, hour and tags: one aggregator over all points of a cell, nothing in between.
 *
 * A series' tag cell is found once, its time cell once a row; a row that no border cuts goes in as a summary
 * or as one array. Each piece of series has its own columns (tag cell -> pages of states by time); they are
 * joined in the order of the pieces.
 *
 * Threads    pieces and columns spread over the pool; emit runs in the caller's thread
 */
#include "query/breakdowns/breakdown.h"
#include "query/plan.h"
#include "query/reader.h"

#include "base/mem.h"
#include "query/feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_CELLS 32 /* cells of time in a page: days and hours of a dashboard touch few pages */

/* States of some neighbouring cells of time. */
struct page {
    uint32_t used; /* a bit a cell: it has points */
    _Alignas(16) unsigned char states[];
};
/* All of one tag cell. */
struct column {
    uint32_t group;      /* in the plan */
    struct page **pages; /* [n_pages] owned; NULL where nothing is */
};
struct tot_piece {
    struct column *columns; /* owned */
    size_t n, cap;
};
struct totals {
    struct qry_plan plan;
    const struct qry_fold_ops *ops;
    struct qry_cells cells;
    size_t n_pages;
    struct sto_snap *snap;
    struct qry_budget budget;
    struct tot_piece *pieces;
    struct column **of_group; /* [groups] first column of each, the others joined into it; NULL: no points */
};

static void page_free(const struct qry_fold_ops *ops, struct page *p)
{
    for (unsigned k = 0; p && ops->reset && k < PAGE_CELLS; k++)
        if (p->used >> k & 1)
            ops->reset(p->states + k * ops->state_bytes);
    ts_free(p);
}

static struct column *column_of(struct totals *t, struct tot_piece *pc, uint32_t group)
{
    for (size_t i = pc->n; i-- > 0;)
        if (pc->columns[i].group == group)
            return &pc->columns[i];
    if (pc->n == pc->cap) {
        pc->cap = pc->cap ? pc->cap * 2 : 8;
        pc->columns = ts_xrealloc(pc->columns, pc->cap * sizeof *pc->columns);
    }
    struct column *c = &pc->columns[pc->n++];
    *c = (struct column){group, ts_xcalloc(t->n_pages + 1, sizeof(struct page *))};
    return c;
}

static void *state_of(struct totals *t, struct column *c, size_t cell)
{
    struct page **p = &c->pages[cell / PAGE_CELLS];
    unsigned k = cell % PAGE_CELLS;
    if (!*p) {
        size_t bytes = sizeof **p + PAGE_CELLS * t->ops->state_bytes;
        *p = ts_xaligned(bytes);
        memset(*p, 0, bytes);
        qry_budget_bytes(&t->budget, bytes);
    }
    (*p)->used |= 1u << k;
    return (*p)->states + k * t->ops->state_bytes;
}

/* One row into its cells; *at is the stretch where the search begins. */
static void add_row(struct totals *t, struct column *c, struct qry_feed *feed, const struct sto_row *row,
                    size_t *at)
{
    const struct qry_cells *cells = &t->cells;
    int64_t base = row->key.hour * TS_HOUR_MS;
    if (row->sum) {
        struct qry_hour h;
        qry_feed_hour(row, &h);
        *at = qry_cells_find(cells, *at, base);
        t->ops->add_hour(state_of(t, c, cells->stretch[*at].cell), &h);
        return;
    }
    qry_feed_row(feed, row);
    feed->guess = 0;
    for (size_t i = 0, n = row->cells->n; i < n;) {
        *at = qry_cells_find(cells, *at, base + sto_meta_off(row->cells->meta[i]));
        size_t e = qry_feed_border(feed, i, qry_stretch_end(cells, *at) - base);
        qry_feed_add(feed, state_of(t, c, cells->stretch[*at].cell), i, e);
        i = e;
    }
}

static int read_piece(struct totals *t, size_t piece, struct ts_error *err)
{
    struct qry_plan *p = &t->plan;
    size_t first = piece * p->chunk, n = p->n - first < p->chunk ? p->n - first : p->chunk;
    struct qry_feed feed = {.ops = t->ops};
    struct qry_reader rd;
    struct sto_row row;
    size_t pos = SIZE_MAX, at = 0;
    uint32_t group = 0;
    struct column *c = NULL;
    int rc = qry_reader_open(&rd, t->snap, &t->budget, p->metric, p->series + first, n, p->scan_from_ms,
                             p->scan_to_ms, p->whole_hours, t->ops->needs_sum, err);
    rd.where = &p->spec->where;
    while (rc == 0 && (rc = qry_reader_next(&rd, &row, err)) > 0) {
        if (first + row.pos != pos) {
            pos = first + row.pos;
            group = p->group_of[pos];
            c = column_of(t, &t->pieces[piece], group);
            at = 0;
        }
        add_row(t, c, &feed, &row, &at);
        rc = 0;
    }
    qry_reader_close(&rd);
    qry_feed_release(&feed);
    return rc;
}

static void piece_task(void *arg, size_t piece)
{
    struct totals *t = arg;
    struct ts_error err = {0};
    if (qry_budget_stopped(&t->budget))
        return;
    int rc = read_piece(t, piece, &err);
    if (rc < 0)
        qry_budget_fail(&t->budget, rc, &err);
}

static void join_columns(struct totals *t, struct column *into, struct column *from)
{
    const struct qry_fold_ops *ops = t->ops;
    for (size_t i = 0; i < t->n_pages; i++) {
        struct page *a = into->pages[i], *b = from->pages[i];
        from->pages[i] = NULL;
        if (!a) {
            into->pages[i] = b;
            continue;
        }
        for (unsigned k = 0; b && k < PAGE_CELLS; k++) {
            if (!(b->used >> k & 1))
                continue;
            ops->merge(a->states + k * ops->state_bytes, b->states + k * ops->state_bytes);
            a->used |= 1u << k;
        }
        page_free(ops, b);
    }
}

static void join_all(struct totals *t)
{
    t->of_group = ts_xcalloc(t->plan.n_groups + 1, sizeof(*t->of_group));
    for (size_t i = 0; i < qry_plan_chunks(&t->plan); i++) {
        for (size_t k = 0; k < t->pieces[i].n; k++) {
            struct column *c = &t->pieces[i].columns[k];
            if (t->of_group[c->group])
                join_columns(t, t->of_group[c->group], c);
            else
                t->of_group[c->group] = c;
        }
    }
}

static void totals_release(struct totals *t)
{
    for (size_t i = 0; t->pieces && i < qry_plan_chunks(&t->plan); i++) {
        for (size_t k = 0; k < t->pieces[i].n; k++) {
            for (size_t p = 0; p < t->n_pages; p++)
                page_free(t->ops, t->pieces[i].columns[k].pages[p]);
            ts_free(t->pieces[i].columns[k].pages);
        }
        ts_free(t->pieces[i].columns);
    }
    ts_free(t->pieces);
    ts_free(t->of_group);
    qry_cells_release(&t->cells);
}

/* --- output --- */
/* A tag cell by its texts. */
struct label {
    uint32_t group;
    const struct ts_slice *values; /* in the order of by_tags */
    size_t n;
};

static int cmp_labels(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    for (size_t i = 0; i < x->n; i++) {
        int c = ts_slice_cmp(x->values[i], y->values[i]);
        if (c)
            return c;
    }
    return 0;
}

static struct label *make_labels(const struct sto_catalog *cat, const struct qry_plan *p)
{
    struct label *l = ts_arena_alloc(p->arena, p->n_groups * sizeof *l + 1);
    for (size_t g = 0; g < p->n_groups; g++) {
        struct ts_slice *v = ts_arena_alloc(p->arena, p->n_keys * sizeof *v + 1);
        for (size_t k = 0; k < p->n_keys; k++)
            v[k] = sto_uid_name(cat, STO_UID_TAGV, p->groups[g].key[k]);
        l[g] = (struct label){(uint32_t)g, v, p->n_keys};
    }
    qsort(l, p->n_groups, sizeof *l, cmp_labels);
    return l;
}

struct output {
    struct totals *t;
    const struct label *labels;
    qry_total_fn emit;
    void *arg;
};

static int emit_cell(const struct output *o, size_t cell, const struct ts_civil *local, const struct label *l,
                     struct ts_error *err)
{
    struct totals *t = o->t;
    const struct qry_cell *c = &t->cells.cell[cell];
    const struct column *col = t->of_group[l->group];
    const struct page *page = col ? col->pages[cell / PAGE_CELLS] : NULL;
    unsigned k = cell % PAGE_CELLS;
    bool has = page && (page->used >> k & 1);
    if (!has && !t->plan.spec->fill_zero)
        return 0;
    struct qry_value v = {.is_int = true};
    if (has)
        t->ops->done(page->states + k * t->ops->state_bytes, t->plan.sub->agg, &v);
    if (!v.is_int && isinf(v.d))
        return ts_error_set(err, TS_EINVAL, "Got Infinity: %s at %lld overflows", t->plan.sub->agg->name,
                            (long long)c->start_ms);
    struct qry_total out = {.ts_ms = c->start_ms,
                            .local = *local,
                            .offset_ms = c->offset_ms,
                            .repeated = c->repeated,
                            .tags = l->values,
                            .is_int = v.is_int,
                            .empty = !has,
                            .null = !has && t->plan.spec->fill_null,
                            .i = v.i,
                            .d = v.d};
    return o->emit(o->arg, &out, err);
}

/* Does any tag cell have points in this page? */
static bool page_used(const struct totals *t, size_t page)
{
    for (size_t g = 0; g < t->plan.n_groups; g++)
        if (t->of_group[g] && t->of_group[g]->pages[page])
            return true;
    return false;
}

static int emit_all(const struct output *o, struct ts_error *err)
{
    struct totals *t = o->t;
    int rc = 0;
    for (size_t cell = 0; cell < t->cells.n && rc >= 0; cell++) {
        if (cell % PAGE_CELLS == 0 && !t->plan.spec->fill_zero && !page_used(t, cell / PAGE_CELLS)) {
            cell += PAGE_CELLS - 1;
            continue;
        }
        struct ts_civil local = ts_civil_from_ms(NULL, t->cells.cell[cell].local_ms);
        for (size_t g = 0; g < t->plan.n_groups && rc >= 0; g++)
            rc = emit_cell(o, cell, &local, &o->labels[g], err);
    }
    return rc < 0 ? rc : 0;
}

/* Hours that lie in one stretch, all of them read. */
static void whole_hours(struct totals *t)
{
    struct qry_plan *p = &t->plan;
    if (!t->ops->add_hour || p->scan_from_ms >= p->scan_to_ms)
        return;
    int32_t h0 = sto_hour(p->scan_from_ms), h1 = sto_hour(p->scan_to_ms - 1);
    size_t n = (size_t)((int64_t)h1 - h0 + 1), at = 0;
    if (n > QRY_WHOLE_HOURS_MAX)
        return;
    p->whole_hours = ts_arena_alloc(p->arena, n);
    for (size_t h = 0; h < n; h++) {
        int64_t from = ((int64_t)h0 + (int64_t)h) * TS_HOUR_MS, to = from + TS_HOUR_MS;
        p->whole_hours[h] = 0;
        if (from < p->scan_from_ms || to > p->scan_to_ms)
            continue;
        at = qry_cells_find(&t->cells, at, from);
        p->whole_hours[h] = to <= qry_stretch_end(&t->cells, at);
    }
}

static int plan_totals(struct sto_store *st, const struct qry_spec *spec, uint64_t max_series,
                       struct ts_arena *arena, struct totals *t, struct ts_error *err)
{
    static const struct ts_slice no_keys[1];
    struct qry_plan *p = &t->plan;
    TS_TRY(qry_plan_select(st, spec, 0, spec->n_by_tags ? spec->by_tags : no_keys, spec->n_by_tags,
                           max_series, arena, p, err));
    t->ops = p->sub->agg->fold;
    if (!t->ops)
        return ts_error_set(err, TS_EINVAL, "The aggregator none makes no totals");
    p->from_ms = spec->start_ms;
    p->to_ms = spec->end_ms + 1;
    p->chunk = qry_plan_chunk(p->n, (p->to_ms - p->from_ms) / TS_HOUR_MS, t->ops->add_hour != NULL);
    qry_plan_clip(t->snap, p);
    bool empty = p->scan_from_ms >= p->scan_to_ms;
    if (empty && !spec->fill_zero)
        return 0;
    int64_t from = spec->fill_zero ? p->from_ms : p->scan_from_ms,
            to = spec->fill_zero ? p->to_ms : p->scan_to_ms;
    TS_TRY(qry_breakdown_cut(spec, from, to, &t->cells, err));
    t->n_pages = (t->cells.n + PAGE_CELLS - 1) / PAGE_CELLS;
    whole_hours(t);
    return 0;
}

int qry_totals_plan(struct sto_store *st, struct sto_snap *snap, const struct qry_spec *spec,
                    uint64_t max_series, struct ts_arena *arena, struct qry_plan *out, struct ts_error *err)
{
    struct totals t = {.snap = snap};
    int rc = plan_totals(st, spec, max_series, arena, &t, err);
    *out = t.plan;
    totals_release(&t);
    return rc;
}

static int run_totals(struct sto_store *st, struct ts_pool *pool, struct totals *t, qry_total_fn emit,
                      void *arg, struct ts_error *err)
{
    size_t n = qry_plan_chunks(&t->plan);
    t->pieces = ts_xcalloc(n + 1, sizeof *t->pieces);
    ts_pool_each(pool, n, piece_task, t);
    TS_TRY(qry_budget_result(&t->budget, err));
    join_all(t);
    struct output o = {t, make_labels(sto_store_catalog(st), &t->plan), emit, arg};
    return emit_all(&o, err);
}

int qry_totals(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
               struct qry_limit *limit, qry_total_fn emit, void *arg, struct ts_error *err)
{
    struct totals t = {0};
    struct ts_arena arena;
    if (spec->n_subs != 1)
        return ts_error_set(err, TS_EINVAL, "Totals are of one metric, not of %zu", spec->n_subs);
    ts_arena_init(&arena, 0);
    qry_budget_init(&t.budget, limit);
    t.snap = sto_snap_take(st);
    int rc = plan_totals(st, spec, limit ? limit->max_series : 0, &arena, &t, err);
    if (rc == 0)
        rc = qry_plan_afford(&t.plan, t.snap, &t.budget, err);
    if (rc == 0)
        rc = run_totals(st, pool, &t, emit, arg, err);
    sto_snap_release(t.snap);
    totals_release(&t);
    ts_arena_release(&arena);
    return rc;
}
