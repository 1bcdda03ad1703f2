/*
 * totals.c - totals by day, hour and tags: one aggregator over all points of a cell, without downsampling or
 * grouping before.
 *
 * A series' tag cell is found once, its time cell once a row; a row that lies within one interval of time is
 * added as a summary or as one array. Each piece of series has its own set of states (cellset.h); they are
 * joined in the order of the pieces.
 *
 * Threads    pieces and columns spread over the pool; emit runs in the caller's thread
 */
#include "query/breakdowns/breakdown.h"
#include "query/execution/days.h"
#include "query/execution/kept.h"
#include "query/execution/plan.h"
#include "query/execution/reader.h"

#include "base/mem.h"
#include "query/execution/cellset.h"
#include "query/execution/feed.h"
#include "query/sort.h"

#include <math.h>

/* The hours of a stretch, for series that have a summary in each of many: three comparisons less a summary. */
struct span {
    int32_t hour;     /* the first one that begins in it */
    uint32_t n_hours; /* that begin in it */
    uint32_t n_steps; /* stretches from it on, each of the next cell */
};

struct totals {
    struct qry_plan plan;
    const struct qry_acc_ops *ops;
    struct qry_cells cells;
    struct span *spans; /* [cells.n_stretches]; NULL: no hour is whole; owned by the plan's arena */
    struct sto_snap *snap;
    struct qry_budget budget;
    struct qry_cellset *pieces; /* [n_pieces] states of each piece; owned */
    size_t n_pieces;
    struct qry_kept kept; /* what a kept total answers */
};

/* State of one piece. */
struct piece {
    struct totals *t;
    struct qry_cellset *set; /* its states */
    struct qry_feed feed;
    size_t first;    /* position of its first series */
    uint32_t group;  /* of the current series */
    size_t at;       /* interval at which the search begins */
    int64_t last_ms; /* of a kept total: hour of the last row */
};

static int begin_series(void *arg, size_t i, struct ts_error *err)
{
    struct piece *pc = arg;
    (void)err;
    pc->group = pc->t->plan.group_of[pc->first + i];
    pc->at = 0;
    return 0;
}

static int add_hour(struct piece *pc, uint32_t group, int64_t start_ms, const struct qry_hour *h,
                    struct ts_error *err)
{
    const struct qry_cells *cells = &pc->t->cells;
    pc->at = qry_cells_find(cells, pc->at, start_ms);
    void *st = qry_cellset_state(pc->set, group, cells->stretch[pc->at].cell, err);
    if (!st)
        return qry_memory_code(err);
    pc->t->ops->add_hour(st, h);
    return 0;
}

/* From summary i of a run on, whose stretch is pc->at: how many lie each in the stretch after the one before, whose cell is the next one too? At most max. */
static size_t count_steps(const struct piece *pc, const struct sto_run *run, size_t i, size_t max)
{
    const struct span *at = pc->t->spans + pc->at;
    const struct sto_key *keys = run->keys + i;
    size_t n = 1;
    max = run->n - i < max ? run->n - i : max;
    max = at->n_steps < max ? at->n_steps : max;
    while (n < max && (uint32_t)keys[n].hour - (uint32_t)at[n].hour < at[n].n_hours)
        n++;
    return n;
}

/* Add the summaries of a run to their cells. */
static int add_run(struct piece *pc, const struct sto_run *run, struct ts_error *err)
{
    const struct qry_cells *cells = &pc->t->cells;
    for (size_t i = 0, e; i < run->n; i = e) {
        pc->at = qry_cells_find(cells, pc->at, run->keys[i].hour * TS_HOUR_MS);
        int64_t end = qry_stretch_end(cells, pc->at);
        void *row;
        size_t n = qry_cellset_row(pc->set, pc->group, cells->stretch[pc->at].cell, &row);
        n = n > 1 && pc->t->spans ? count_steps(pc, run, i, n) : 0;
        if (n > 1) { /* as of a series that has a summary of every day, by day */
            pc->t->ops->add_each(row, run->counts + i, run->sums + i, n, run->is_int);
            pc->at += n - 1;
            e = i + n;
            continue;
        }
        void *st = qry_cellset_state(pc->set, pc->group, cells->stretch[pc->at].cell, err);
        if (!st)
            return qry_memory_code(err);
        if (run->keys[run->n - 1].hour * TS_HOUR_MS < end)
            e = run->n;
        else
            for (e = i + 1; run->keys[e].hour * TS_HOUR_MS < end;)
                e++;
        pc->t->ops->add_sums(st, run->counts + i, run->sums + i, e - i, run->is_int);
    }
    return 0;
}

/* Add one row to its cells. */
static int add_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct piece *pc = arg;
    const struct qry_cells *cells = &pc->t->cells;
    struct qry_feed *feed = &pc->feed;
    int64_t base = row->key.hour * TS_HOUR_MS;
    if (row->run)
        return add_run(pc, row->run, err);
    if (row->sum) {
        struct qry_hour h;
        qry_feed_hour(row, &h);
        return add_hour(pc, pc->group, base, &h, err);
    }
    TS_TRY(qry_feed_row(feed, row, err));
    feed->guess = 0;
    for (size_t i = 0, n = row->cells->n; i < n;) {
        pc->at = qry_cells_find(cells, pc->at, base + sto_meta_off(row->cells->meta[i]));
        size_t e = qry_feed_border(feed, i, qry_stretch_end(cells, pc->at) - base);
        void *st = qry_cellset_state(pc->set, pc->group, cells->stretch[pc->at].cell, err);
        if (!st)
            return qry_memory_code(err);
        TS_TRY(qry_feed_add(feed, st, i, e, err));
        i = e;
    }
    return 0;
}

static int read_piece(void *arg, size_t i, struct ts_error *err)
{
    struct totals *t = arg;
    struct qry_plan *p = &t->plan;
    struct piece pc = {.t = t,
                       .set = &t->pieces[i],
                       .feed = {.ops = t->ops, .memory = t->budget.memory},
                       .first = i * p->chunk};
    struct qry_reading rd = qry_plan_reading(p, t->snap, &t->budget);
    rd.series += pc.first;
    rd.n = p->n - pc.first < p->chunk ? p->n - pc.first : p->chunk;
    rd.needs_sum = t->ops->needs_sum;
    rd.sums_only = t->ops->add_sums != NULL;
    rd.where = &p->spec->where;
    rd.begin = begin_series;
    rd.row = add_row;
    rd.arg = &pc;
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < t->kept.n_gaps; k++) {
        qry_kept_cut(&t->kept, k, &rd);
        rc = qry_read(&rd, err);
    }
    qry_feed_release(&pc.feed);
    return rc;
}

static int add_kept(void *arg, uint32_t group, const struct sto_row *row, struct ts_error *err)
{
    struct piece *pc = arg;
    const struct sto_run *run = row->run;
    int64_t first_ms = row->key.hour * TS_HOUR_MS;
    if (first_ms < pc->last_ms) /* of another group */
        pc->at = 0;
    pc->last_ms = run ? run->keys[run->n - 1].hour * TS_HOUR_MS : first_ms;
    pc->group = group;
    return add_row(pc, row, err);
}

/* Read the hours that a kept total answers, as one piece more. */
static int read_kept(struct totals *t, struct ts_error *err)
{
    struct piece pc = {.t = t, .set = &t->pieces[t->n_pieces]};
    qry_cellset_init(pc.set, t->ops, &t->budget);
    struct ts_budget *before = ts_xsum_account(t->budget.memory);
    int rc = qry_kept_read(&t->kept, add_kept, &pc, err);
    (void)ts_xsum_account(before);
    if (rc == 0)
        qry_cellset_release(pc.set);
    t->n_pieces++;
    return rc < 0 ? rc : 0;
}

/* Join all pieces into the first one, in their order. */
static int join_all(struct totals *t, struct ts_error *err)
{
    struct ts_budget *before = ts_xsum_account(t->budget.memory);
    int rc = 0;
    for (size_t i = 1; i < t->n_pieces && rc == 0; i++)
        rc = qry_cellset_join(&t->pieces[0], &t->pieces[i], err);
    (void)ts_xsum_account(before);
    return rc;
}

static void totals_release(struct totals *t)
{
    for (size_t i = 0; i < t->n_pieces; i++)
        qry_cellset_release(&t->pieces[i]);
    ts_budget_free(t->budget.memory, t->pieces,
                   t->pieces ? (qry_plan_chunks(&t->plan) + 1) * sizeof *t->pieces : 0);
    t->pieces = NULL;
    qry_kept_release(&t->kept);
    qry_cells_release(&t->cells);
}

/* --- output --- */
/* A tag cell as text. */
struct label {
    const struct ts_slice *values; /* in the order of by_tags */
    const uint32_t *ids;           /* of the values */
    uint32_t group;
};

static int cmp_labels(const void *a, const void *b, void *arg)
{
    const struct label *x = a, *y = b;
    for (size_t i = 0, n = *(const size_t *)arg; i < n; i++) {
        int c = qry_total_cmp_values(x->ids[i], x->values[i], y->ids[i], y->values[i]);
        if (c)
            return c;
    }
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Labels of all tag cells, sorted, in the plan's arena; and the place of each group among them. */
static int make_labels(const struct qry_view *view, struct totals *t, struct label **out_labels,
                       uint32_t **out_place, struct ts_error *err)
{
    struct qry_plan *p = &t->plan;
    struct ts_slice *v = qry_arena_take(p->arena, p->n_groups * p->n_keys, sizeof *v, err);
    struct label *l = v ? qry_arena_take(p->arena, p->n_groups, sizeof *l, err) : NULL;
    uint32_t *place = l ? qry_arena_take(p->arena, p->n_groups, sizeof *place, err) : NULL;
    size_t step = 0;
    if (!place)
        return qry_memory_code(err);
    for (size_t g = 0; g < p->n_groups; g++, v += p->n_keys) {
        for (size_t k = 0; k < p->n_keys; k++)
            v[k] = qry_plan_value_name(view, p->groups[g].key[k]);
        l[g] = (struct label){v, p->groups[g].key, (uint32_t)g};
        TS_TRY(qry_budget_step(&t->budget, &step, err));
    }
    TS_TRY(qry_sort(l, p->n_groups, sizeof *l, cmp_labels, &p->n_keys, &t->budget, err));
    for (size_t i = 0; i < p->n_groups; i++)
        place[l[i].group] = (uint32_t)i;
    *out_labels = l;
    *out_place = place;
    return 0;
}

struct output {
    struct totals *t;
    const struct label *labels; /* sorted */
    const uint32_t *place;      /* index of each group among them */
    qry_total_fn emit;
    void *arg;
    size_t n_steps; /* since the last check of the limits */
};

/* Emit one cell; state NULL: it has no points. */
static int emit_cell(struct output *o, size_t cell, const struct ts_civil *local, const struct label *l,
                     const void *state, struct ts_error *err)
{
    struct totals *t = o->t;
    const struct qry_cell *c = &t->cells.cell[cell];
    struct qry_value v = {.is_int = true};
    TS_TRY(qry_budget_step(&t->budget, &o->n_steps, err));
    if (state)
        t->ops->done(state, t->plan.sub->agg, &v);
    if (!v.is_int && isinf(v.d))
        return ts_error_set(err, TS_EINVAL, "Got Infinity: %s at %lld overflows", t->plan.sub->agg->name,
                            (long long)c->start_ms);
    struct qry_total out = {.ts_ms = c->start_ms,
                            .local = *local,
                            .local_ms = c->local_ms,
                            .offset_ms = c->offset_ms,
                            .repeated = c->repeated,
                            .unit = t->plan.spec->by_time.unit,
                            .weekday = c->weekday,
                            .hour_of_day = c->hour_of_day,
                            .tags = l->values,
                            .ids = l->ids,
                            .is_int = v.is_int,
                            .empty = !state,
                            .null = !state && t->plan.spec->fill_null,
                            .i = v.i,
                            .d = v.d};
    return o->emit(o->arg, &out, err);
}

/* Pages of adjacent cells, in the order of their groups. */
struct run {
    struct qry_page **pages;
    size_t n;
};

/* Emit cell k of the pages of a run; with fill policy zero, for all groups. */
static int emit_time(struct output *o, size_t cell, const struct run *run, struct ts_error *err)
{
    struct totals *t = o->t;
    size_t bytes = t->ops->state_bytes;
    unsigned k = cell % QRY_PAGE_CELLS;
    struct ts_civil local = ts_civil_from_ms(NULL, t->cells.cell[cell].local_ms);
    for (size_t i = 0; i < run->n && !t->plan.spec->fill_zero; i++) {
        const void *state = qry_page_state(run->pages[i], k, bytes);
        TS_TRY(state ? emit_cell(o, cell, &local, &o->labels[o->place[run->pages[i]->group]], state, err)
                     : qry_budget_step(&t->budget, &o->n_steps, err));
    }
    for (size_t g = 0, i = 0; g < t->plan.n_groups && t->plan.spec->fill_zero; g++) {
        bool here = i < run->n && run->pages[i]->group == o->labels[g].group;
        const void *state = here ? qry_page_state(run->pages[i++], k, bytes) : NULL;
        TS_TRY(emit_cell(o, cell, &local, &o->labels[g], state, err));
    }
    return 0;
}

static int emit_all(struct output *o, struct ts_error *err)
{
    struct totals *t = o->t;
    struct qry_page **pages = t->n_pieces ? t->pieces[0].slots : NULL;
    size_t n_pages = t->n_pieces ? t->pieces[0].n : 0;
    struct run run = {pages, 0};
    for (size_t cell = 0; cell < t->cells.n; cell++) {
        size_t no = cell / QRY_PAGE_CELLS, left = n_pages - (size_t)(run.pages - pages);
        if (cell % QRY_PAGE_CELLS == 0) {
            if (run.n)
                run.pages += run.n;
            left -= run.n;
            if (!t->plan.spec->fill_zero && !left)
                return 0;
            if (!t->plan.spec->fill_zero && run.pages[0]->no > no) {
                no = run.pages[0]->no; /* there are no cells in between */
                cell = no * QRY_PAGE_CELLS;
            }
            for (run.n = 0; run.n < left && run.pages[run.n]->no == no;)
                run.n++;
        }
        TS_TRY(emit_time(o, cell, &run, err));
    }
    return 0;
}

static bool in_one_stretch(void *arg, int64_t from_ms, int64_t to_ms)
{
    const struct totals *t = arg;
    return to_ms <= qry_stretch_end(&t->cells, qry_cells_find(&t->cells, 0, from_ms));
}

/* The first hour that begins at or after a time. */
static int32_t hour_after(int64_t ms)
{
    ms = ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : ms > STO_MAX_TS_MS ? STO_MAX_TS_MS + 1 : ms;
    return (int32_t)ts_floor_div(ms + TS_HOUR_MS - 1, TS_HOUR_MS);
}

static int find_spans(struct totals *t, struct ts_error *err)
{
    const struct qry_cells *cells = &t->cells;
    size_t n = cells->n_stretches;
    t->spans = qry_arena_take(t->plan.arena, n, sizeof *t->spans, err);
    if (!t->spans)
        return qry_memory_code(err);
    for (size_t i = n; i-- > 0;) {
        int32_t hour = hour_after(cells->stretch[i].start_ms), end = hour_after(qry_stretch_end(cells, i));
        bool goes_on = i + 1 < n && cells->stretch[i + 1].cell == cells->stretch[i].cell + 1;
        t->spans[i] = (struct span){hour, (uint32_t)(end - hour), goes_on ? t->spans[i + 1].n_steps + 1 : 1};
    }
    return 0;
}

/* Mark the hours that lie within one interval and that are read completely. */
static int whole_hours(struct totals *t, struct ts_error *err)
{
    struct qry_plan *p = &t->plan;
    size_t n = 0, at = 0;
    bool any = false;
    if (!t->ops->add_hour)
        return qry_plan_no_hours(t->snap, p, err);
    TS_TRY(qry_plan_whole_hours(p, &n, err));
    for (size_t h = 0; h < n; h++) {
        int64_t from = (sto_hour(p->scan_from_ms) + (int64_t)h) * TS_HOUR_MS;
        if (!p->whole_hours[h])
            continue;
        at = qry_cells_find(&t->cells, at, from);
        p->whole_hours[h] = from + TS_HOUR_MS <= qry_stretch_end(&t->cells, at);
        any |= p->whole_hours[h];
    }
    if (n == 0)
        return 0;
    if (any)
        TS_TRY(find_spans(t, err));
    return qry_plan_days(p, in_one_stretch, t, err);
}

static int plan_totals(const struct qry_spec *spec, struct ts_arena *arena, struct totals *t,
                       struct ts_error *err)
{
    static const struct ts_slice no_keys[1];
    struct qry_plan *p = &t->plan;
    TS_TRY(qry_plan_select(spec, 0, spec->n_by_tags ? spec->by_tags : no_keys, spec->n_by_tags, &t->budget,
                           arena, p, err));
    t->ops = p->sub->agg->bucket_acc;
    if (!t->ops)
        return ts_error_set(err, TS_EINVAL, "The aggregator none has no totals");
    p->from_ms = spec->start_ms;
    p->to_ms = spec->end_ms + 1;
    p->chunk = qry_plan_chunk(p->n, (p->to_ms - p->from_ms) / TS_HOUR_MS, t->ops->add_hour != NULL);
    qry_plan_clip(t->snap, p);
    bool empty = p->scan_from_ms >= p->scan_to_ms;
    if (empty && !spec->fill_zero)
        return 0;
    int64_t from = spec->fill_zero ? p->from_ms : p->scan_from_ms,
            to = spec->fill_zero ? p->to_ms : p->scan_to_ms;
    TS_TRY(qry_breakdown_cut(spec, from, to, &t->budget, &t->cells, err));
    return whole_hours(t, err);
}

int qry_totals_plan(struct sto_snap *snap, const struct qry_spec *spec, struct qry_limit *limit,
                    struct ts_arena *arena, struct qry_plan *out, struct ts_error *err)
{
    struct totals t = {.snap = snap};
    qry_budget_init(&t.budget, limit);
    t.budget.any_series = true;
    int rc = plan_totals(spec, arena, &t, err);
    *out = t.plan;
    totals_release(&t);
    return rc;
}

static int run_totals(struct ts_pool *pool, struct totals *t, qry_total_fn emit, void *arg,
                      struct ts_error *err)
{
    size_t n = qry_plan_chunks(&t->plan);
    struct label *labels = NULL;
    uint32_t *place = NULL;
    t->pieces = ts_budget_calloc(t->budget.memory, n + 1, sizeof *t->pieces, err);
    if (!t->pieces)
        return qry_memory_code(err);
    t->n_pieces = n;
    for (size_t i = 0; i < n; i++)
        qry_cellset_init(&t->pieces[i], t->ops, &t->budget);
    if (n)
        TS_TRY(read_kept(t, err));
    TS_TRY(qry_budget_each(&t->budget, pool, n, read_piece, t, err));
    TS_TRY(join_all(t, err));
    TS_TRY(make_labels(t->plan.spec->view, t, &labels, &place, err));
    if (n)
        TS_TRY(qry_cellset_sort(&t->pieces[0], place, err));
    struct output o = {t, labels, place, emit, arg, 0};
    return emit_all(&o, err);
}

int qry_totals(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
               struct qry_limit *limit, qry_total_fn emit, void *arg, struct ts_error *err)
{
    struct totals t = {0};
    struct ts_arena arena;
    struct qry_view view;
    struct qry_spec copy;
    if (spec->n_subs != 1)
        return ts_error_set(err, TS_EINVAL, "Totals are of one metric, not of %zu", spec->n_subs);
    spec = qry_view_use(&view, st, limit, spec, &copy);
    ts_arena_init(&arena, 0);
    qry_budget_init(&t.budget, limit);
    arena.budget = t.budget.memory;
    t.snap = sto_snap_take(st);
    int rc = plan_totals(spec, &arena, &t, err);
    if (rc == 0)
        rc = qry_kept_begin(&t.plan, t.snap, &t.budget, t.ops, &t.kept, err);
    if (rc == 0)
        rc = qry_kept_afford(&t.kept, t.snap, err);
    if (rc == 0)
        rc = run_totals(pool, &t, emit, arg, err);
    sto_snap_release(t.snap);
    totals_release(&t);
    ts_arena_release(&arena);
    qry_view_unuse(&view, spec);
    return rc;
}
