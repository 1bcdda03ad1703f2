/*
 * run.c - reads the pieces of a sub query on threads of a pool.
 */
#include "query/execution/run.h"

#include "query/execution/rate.h"

#include <string.h>

/* State of one piece while it is read. */
struct work {
    struct qry_sub_run *r;
    struct qry_piece *piece;
    size_t first, n;      /* its series */
    struct qry_down down; /* if downsampling */
    struct qry_span span; /* the current series */
    size_t *at;           /* dense with rate: buckets of the span */
    size_t cap_at;
    double *buf;                      /* dense: memory for all buckets */
    const struct sto_series **series; /* its series, if they are not adjacent in the plan */
};

int qry_sub_run_init(struct qry_sub_run *r, struct sto_snap *snap, struct qry_budget *budget,
                     struct ts_pool *pool, struct ts_error *err)
{
    r->snap = snap;
    r->budget = budget;
    r->pool = pool;
    r->dense = qry_plan_dense(&r->plan);
    r->pieces = qry_arena_zero(r->plan.arena, qry_plan_chunks(&r->plan), sizeof *r->pieces, err);
    if (r->pieces)
        r->results = qry_arena_zero(r->plan.arena, r->plan.n_groups, sizeof *r->results, err);
    if (r->results && !r->dense)
        r->spans = qry_arena_zero(r->plan.arena, r->plan.n, sizeof *r->spans, err);
    return r->results && (r->dense || r->spans) ? 0 : qry_memory_code(err);
}

void qry_sub_run_release(struct qry_sub_run *r)
{
    for (size_t c = 0; r->pieces && c < qry_plan_chunks(&r->plan); c++) {
        for (size_t i = 0; i < r->pieces[c].n_parts; i++)
            qry_part_release(&r->pieces[c].parts[i]);
        ts_budget_free(r->budget->memory, r->pieces[c].parts,
                       r->pieces[c].cap_parts * sizeof *r->pieces[c].parts);
    }
    for (size_t i = 0; r->spans && i < r->plan.n; i++)
        qry_span_release(&r->spans[i]);
    for (size_t g = 0; r->results && g < r->plan.n_groups; g++)
        qry_result_release(&r->results[g]);
    r->pieces = NULL;
    r->spans = NULL;
    r->results = NULL;
}

/* The part of a group in this piece; the newest parts are searched first. NULL: no memory. */
static struct qry_part *part_of(struct work *w, uint32_t group, struct ts_error *err)
{
    struct qry_piece *pc = w->piece;
    for (size_t i = pc->n_parts; i-- > 0;)
        if (pc->parts[i].group == group)
            return &pc->parts[i];
    if (ts_budget_grow(w->r->budget->memory, &pc->parts, &pc->cap_parts, pc->n_parts + 1, sizeof *pc->parts,
                       err) < 0)
        return NULL;
    struct qry_part *part = &pc->parts[pc->n_parts++];
    return qry_part_open(part, &w->r->plan, group, w->r->budget, err) < 0 ? NULL : part;
}

/* Finish the parts whose whole group is in this piece, since group accumulators are larger than results. */
static int finish_inner(struct work *w, struct qry_part *part, struct ts_error *err)
{
    int rc = qry_part_finish(&part, 1, &w->r->plan, &w->r->results[part->group], err);
    qry_part_release(part);
    return rc;
}

static int add_dense(struct work *w, size_t pos, const size_t *bucket, const double *v, size_t n,
                     struct ts_error *err)
{
    const struct qry_plan *p = &w->r->plan;
    uint32_t group = p->group_of[pos];
    if (!n)
        return 0;
    struct qry_part *part = part_of(w, group, err);
    if (!part)
        return qry_memory_code(err);
    TS_TRY(qry_part_add(part, p, bucket, v, n, p->sub->rate.on ? &w->span : NULL, qry_plan_rank(p, pos),
                        w->buf));
    const struct qry_group *g = &p->groups[group];
    if (!qry_plan_inner(p, group, w->first, w->n) || g->members[g->n - 1] != pos)
        return 0;
    int rc = finish_inner(w, part, err);
    *part = w->piece->parts[--w->piece->n_parts];
    return rc;
}

/* Buckets of the downsampler as a span. */
static int span_of_buckets(struct work *w, struct ts_error *err)
{
    struct qry_span *s = &w->span;
    qry_span_clear(s);
    TS_TRY(qry_span_reserve(s, w->down.n, err));
    for (size_t k = 0; k < w->down.n; k++)
        s->ts[k] = qry_grid_start(w->down.grid, w->down.bucket[k]);
    if (w->down.n)
        memcpy(s->v, w->down.v, w->down.n * sizeof *s->v);
    s->n = w->down.n;
    s->any_dbl = s->n > 0;
    return 0;
}

static int add_dense_rate(struct work *w, size_t pos, struct ts_error *err)
{
    const struct qry_span *s = &w->span;
    TS_TRY(ts_budget_grow(w->r->budget->memory, &w->at, &w->cap_at, s->n, sizeof *w->at, err));
    for (size_t k = 0; k < s->n; k++)
        w->at[k] = qry_grid_find(&w->r->plan.grid, s->ts[k]);
    return add_dense(w, pos, w->at, (const double *)(const void *)s->v, s->n, err);
}

static int begin_series(void *arg, size_t i, struct ts_error *err)
{
    struct work *w = arg;
    (void)i, (void)err;
    qry_span_clear(&w->span);
    if (w->r->plan.sub->downsample.on)
        qry_down_begin(&w->down);
    return 0;
}

static int end_series(void *arg, size_t i, struct ts_error *err)
{
    struct work *w = arg;
    const struct qry_plan *p = &w->r->plan;
    const struct qry_sub *sub = p->sub;
    size_t pos = qry_plan_pos(p, w->first, i);
    p->has_data[pos] = 1;
    if (sub->downsample.on) {
        TS_TRY(qry_down_end(&w->down, err));
        if (w->r->dense && !sub->rate.on)
            return add_dense(w, pos, w->down.bucket, w->down.v, w->down.n, err);
        TS_TRY(span_of_buckets(w, err));
    }
    if (sub->rate.on && !p->keep_spans)
        qry_rate_span(&sub->rate, p->spec->compat, &w->span);
    if (w->r->dense)
        return add_dense_rate(w, pos, err);
    qry_span_trim(&w->span);
    w->r->spans[pos] = w->span;
    w->span = (struct qry_span){.memory = w->span.memory};
    return 0;
}

static int take_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct work *w = arg;
    if (w->r->plan.sub->downsample.on)
        return qry_down_row(&w->down, row, err);
    return qry_span_append(&w->span, row->key.hour, row->cells, err);
}

/* Finish the groups that end in this piece. */
static int finish_parts(struct work *w, struct ts_error *err)
{
    int rc = 0;
    for (size_t i = w->piece->n_parts; i-- > 0 && rc == 0;) {
        struct qry_part *part = &w->piece->parts[i];
        if (!qry_plan_inner(&w->r->plan, part->group, w->first, w->n))
            continue;
        rc = finish_inner(w, part, err);
        memmove(part, part + 1, (--w->piece->n_parts - i) * sizeof *part);
    }
    return rc;
}

/* Memory of a piece; freed by close_work, also after an error. */
static int open_work(struct work *w, size_t piece, struct ts_error *err)
{
    const struct qry_plan *p = &w->r->plan;
    struct ts_budget *memory = w->r->budget->memory;
    const struct qry_downsample *ds = &p->sub->downsample;
    w->piece = &w->r->pieces[piece];
    w->first = qry_plan_piece(p, piece, &w->n);
    w->span.memory = memory;
    if (ds->on)
        qry_down_init(&w->down, &p->grid, ds->fn, memory);
    if (w->r->dense && !(w->buf = ts_budget_alloc(memory, p->grid.n * sizeof *w->buf, err)))
        return qry_memory_code(err);
    if (!p->piece_at)
        return 0;
    w->series = ts_budget_alloc(memory, w->n * sizeof(*w->series), err);
    if (!w->series)
        return qry_memory_code(err);
    for (size_t i = 0; i < w->n; i++)
        w->series[i] = p->series[p->piece_at[w->first + i]];
    return 0;
}

static void close_work(struct work *w)
{
    struct ts_budget *memory = w->r->budget->memory;
    if (w->r->plan.sub->downsample.on)
        qry_down_release(&w->down);
    qry_span_release(&w->span);
    ts_budget_free(memory, w->buf, w->buf ? w->r->plan.grid.n * sizeof *w->buf : 0);
    ts_budget_free(memory, w->series, w->series ? w->n * sizeof(*w->series) : 0);
    ts_budget_free(memory, w->at, w->cap_at * sizeof *w->at);
}

static int read_piece(struct qry_sub_run *r, size_t piece, struct ts_error *err)
{
    const struct qry_plan *p = &r->plan;
    const struct qry_downsample *ds = &p->sub->downsample;
    struct work w = {.r = r};
    struct qry_reading rd = qry_plan_reading(p, r->snap, r->budget);
    rd.needs_sum = ds->on && ds->fn->bucket_acc->needs_sum;
    rd.where = &p->spec->where;
    rd.begin = begin_series;
    rd.row = take_row;
    rd.end = end_series;
    rd.arg = &w;
    int rc = open_work(&w, piece, err);
    rd.series = w.series ? w.series : p->series + w.first;
    rd.n = w.n;
    if (rc == 0)
        rc = qry_read(&rd, err);
    if (rc == 0)
        rc = finish_parts(&w, err);
    atomic_fetch_add_explicit(&r->n_rows, rd.n_rows, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->n_points, rd.n_points, memory_order_relaxed);
    close_work(&w);
    return rc;
}

/* Runs that are read together. */
struct runs {
    struct qry_sub_run *run; /* [n] */
    size_t n;                /* how many */
};

static int read_any_piece(void *arg, size_t piece, struct ts_error *err)
{
    const struct runs *r = arg;
    size_t i = 0;
    while (i + 1 < r->n && piece >= r->run[i + 1].first_piece)
        i++;
    return read_piece(&r->run[i], piece - r->run[i].first_piece, err);
}

int qry_sub_runs_read(struct qry_sub_run *runs, size_t n, struct qry_budget *budget, struct ts_pool *pool,
                      struct ts_error *err)
{
    struct runs r = {runs, n};
    size_t n_pieces = 0;
    for (size_t i = 0; i < n; i++) {
        runs[i].first_piece = n_pieces;
        n_pieces += qry_plan_chunks(&runs[i].plan);
    }
    return qry_budget_each(budget, pool, n_pieces, read_any_piece, &r, err);
}

/* --- groups --- */
struct joiner {
    struct qry_sub_run *r;
    struct qry_part **parts; /* of all groups, group by group, in piece order */
    size_t *first;           /* [groups + 1] */
};

static int join_group(void *arg, size_t g, struct ts_error *err)
{
    struct joiner *j = arg;
    size_t n = j->first[g + 1] - j->first[g];
    struct qry_part **parts = j->parts + j->first[g];
    if (!n)
        return 0;
    int rc = qry_part_finish(parts, n, &j->r->plan, &j->r->results[g], err);
    qry_part_release(parts[0]);
    return rc;
}

static int join_dense(struct qry_sub_run *r, struct ts_error *err)
{
    size_t n_groups = r->plan.n_groups, n_pieces = qry_plan_chunks(&r->plan), n = 0;
    struct ts_budget *memory = r->budget->memory;
    struct joiner j = {.r = r, .first = ts_budget_calloc(memory, n_groups + 2, sizeof *j.first, err)};
    if (!j.first)
        return qry_memory_code(err);
    for (size_t c = 0; c < n_pieces; c++)
        for (size_t i = 0; i < r->pieces[c].n_parts; i++, n++)
            j.first[r->pieces[c].parts[i].group + 2]++;
    for (size_t g = 0; g < n_groups; g++)
        j.first[g + 2] += j.first[g + 1];
    j.parts = ts_budget_alloc(memory, n * sizeof(*j.parts), err);
    int rc = j.parts ? 0 : qry_memory_code(err);
    /* first[g + 1] runs from the start of group g to its end, which is the start of g + 1 */
    for (size_t c = 0; c < n_pieces && rc == 0; c++)
        for (size_t i = 0; i < r->pieces[c].n_parts; i++)
            j.parts[j.first[r->pieces[c].parts[i].group + 1]++] = &r->pieces[c].parts[i];
    if (rc == 0)
        rc = qry_budget_each(r->budget, r->pool, n_groups, join_group, &j, err);
    ts_budget_free(memory, j.parts, j.parts ? n * sizeof(*j.parts) : 0);
    ts_budget_free(memory, j.first, (n_groups + 2) * sizeof *j.first);
    return rc;
}

/* Collect the spans of a group and their ranks. */
static int join_members(struct qry_sub_run *r, size_t g, struct ts_error *err)
{
    const struct qry_plan *p = &r->plan;
    const struct qry_group *group = &p->groups[g];
    const struct qry_span **spans = ts_budget_alloc(r->budget->memory, group->n * sizeof(*spans), err);
    uint32_t *ranks = spans ? ts_budget_alloc(r->budget->memory, group->n * sizeof *ranks, err) : NULL;
    int rc = ranks ? 0 : qry_memory_code(err);
    for (size_t i = 0; i < group->n && rc == 0; i++) {
        spans[i] = &r->spans[group->members[i]];
        ranks[i] = qry_plan_rank(p, group->members[i]);
    }
    if (rc == 0)
        rc = qry_group_spans(p, spans, ranks, group->n, r->pool, r->budget, &r->results[g], err);
    ts_budget_free(r->budget->memory, spans, spans ? group->n * sizeof(*spans) : 0);
    ts_budget_free(r->budget->memory, ranks, ranks ? group->n * sizeof *ranks : 0);
    return rc;
}

static int join_spans(void *arg, size_t g, struct ts_error *err)
{
    struct qry_sub_run *r = arg;
    const struct qry_plan *p = &r->plan;
    const struct qry_group *group = &p->groups[g];
    TS_TRY(qry_budget_look(r->budget, err));
    int rc = p->sub->none ? qry_group_single(p, &r->spans[group->members[0]], r->budget, &r->results[g], err)
                          : join_members(r, g, err);
    for (size_t i = 0; i < group->n; i++)
        qry_span_release(&r->spans[group->members[i]]);
    return rc;
}

int qry_sub_run_groups(struct qry_sub_run *r, struct ts_error *err)
{
    if (r->dense)
        return join_dense(r, err);
    return qry_budget_each(r->budget, r->pool, r->plan.n_groups, join_spans, r, err);
}
