/*
 * run.c - pieces of a sub query.
 */
#include "query/run.h"

#include "base/mem.h"
#include "query/rate.h"

#include <string.h>

/* What one piece needs while it reads. */
struct work {
    struct qry_sub_run *r;
    struct qry_piece *piece;
    size_t first, n;      /* its series */
    struct qry_down down; /* if downsampling */
    struct qry_span span; /* the series at hand */
    size_t *at;           /* dense with rate: buckets of the span */
    size_t cap_at;
    double *buf; /* dense: room for all buckets */
};

void qry_sub_run_init(struct qry_sub_run *r, struct sto_snap *snap, struct qry_budget *budget,
                      struct ts_pool *pool)
{
    const struct qry_sub *sub = r->plan.sub;
    r->snap = snap;
    r->budget = budget;
    r->pool = pool;
    r->dense = sub->downsample.on && r->plan.grid.dense && !sub->none && !r->plan.keep_spans;
    r->pieces = ts_xcalloc(qry_plan_chunks(&r->plan) + 1, sizeof *r->pieces);
    r->results = ts_xcalloc(r->plan.n_groups + 1, sizeof *r->results);
    if (!r->dense)
        r->spans = ts_xcalloc(r->plan.n + 1, sizeof *r->spans);
}

void qry_sub_run_release(struct qry_sub_run *r)
{
    for (size_t c = 0; r->pieces && c < qry_plan_chunks(&r->plan); c++) {
        for (size_t i = 0; i < r->pieces[c].n_parts; i++)
            qry_part_release(&r->pieces[c].parts[i]);
        ts_free(r->pieces[c].parts);
    }
    for (size_t i = 0; r->spans && i < r->plan.n; i++)
        qry_span_release(&r->spans[i]);
    for (size_t g = 0; r->results && g < r->plan.n_groups; g++)
        qry_result_release(&r->results[g]);
    ts_free(r->pieces);
    ts_free(r->spans);
    ts_free(r->results);
    r->pieces = NULL;
    r->spans = NULL;
    r->results = NULL;
}

/* The part of a group in this piece; the newest ones are the likeliest. */
static struct qry_part *part_of(struct work *w, uint32_t group)
{
    struct qry_piece *pc = w->piece;
    for (size_t i = pc->n_parts; i-- > 0;)
        if (pc->parts[i].group == group)
            return &pc->parts[i];
    if (pc->n_parts == pc->cap_parts) {
        pc->cap_parts = pc->cap_parts ? pc->cap_parts * 2 : 4;
        pc->parts = ts_xrealloc(pc->parts, pc->cap_parts * sizeof *pc->parts);
    }
    struct qry_part *part = &pc->parts[pc->n_parts++];
    qry_part_open(part, &w->r->plan, group);
    return part;
}

/* Parts whose group ends in this piece are finished here: lanes are larger than answers. */
static int finish_inner(struct work *w, struct qry_part *part, struct ts_error *err)
{
    int rc = qry_part_finish(&part, 1, &w->r->plan, &w->r->results[part->group], err);
    qry_part_release(part);
    return rc;
}

static bool is_inner(const struct work *w, uint32_t group)
{
    const struct qry_group *g = &w->r->plan.groups[group];
    return g->members[0] >= w->first && g->members[g->n - 1] < w->first + w->n;
}

static int add_dense(struct work *w, size_t pos, const size_t *bucket, const double *v, size_t n,
                     struct ts_error *err)
{
    const struct qry_plan *p = &w->r->plan;
    uint32_t group = p->group_of[pos];
    if (!n)
        return 0;
    size_t before = w->piece->n_parts;
    struct qry_part *part = part_of(w, group);
    if (w->piece->n_parts > before && p->groups[group].n > 1)
        TS_TRY(qry_budget_bytes(w->r->budget, qry_lane_bytes(qry_group_agg(p, p->groups[group].n), p->grid.n,
                                                             p->groups[group].n)));
    qry_part_add(part, p, bucket, v, n, p->sub->rate.on ? &w->span : NULL, qry_plan_rank(p, pos), w->buf);
    const struct qry_group *g = &p->groups[group];
    if (!is_inner(w, group) || g->members[g->n - 1] != pos)
        return 0;
    TS_TRY(qry_budget_bytes(w->r->budget, p->grid.n * 16));
    int rc = finish_inner(w, part, err);
    *part = w->piece->parts[--w->piece->n_parts];
    return rc;
}

/* Buckets of the downsampler as a span. */
static int span_of_buckets(struct work *w)
{
    struct qry_span *s = &w->span;
    qry_span_clear(s);
    TS_TRY(qry_span_reserve(s, w->down.n));
    for (size_t k = 0; k < w->down.n; k++)
        s->ts[k] = qry_grid_start(w->down.grid, w->down.bucket[k]);
    memcpy(s->v, w->down.v, w->down.n * sizeof *s->v);
    s->n = w->down.n;
    s->any_dbl = s->n > 0;
    return 0;
}

static int add_dense_rate(struct work *w, size_t pos, struct ts_error *err)
{
    const struct qry_span *s = &w->span;
    if (s->n > w->cap_at) {
        w->cap_at = s->n;
        ts_free(w->at);
        w->at = ts_xmalloc(w->cap_at * sizeof *w->at);
    }
    for (size_t k = 0; k < s->n; k++)
        w->at[k] = qry_grid_find(&w->r->plan.grid, s->ts[k]);
    return add_dense(w, pos, w->at, (const double *)(const void *)s->v, s->n, err);
}

static int end_series(struct work *w, size_t pos, struct ts_error *err)
{
    const struct qry_plan *p = &w->r->plan;
    const struct qry_sub *sub = p->sub;
    p->has_data[pos] = 1;
    if (sub->downsample.on) {
        TS_TRY(qry_down_end(&w->down, err));
        if (w->r->dense && !sub->rate.on)
            return add_dense(w, pos, w->down.bucket, w->down.v, w->down.n, err);
        if (span_of_buckets(w) < 0)
            return ts_error_set(err, TS_ENOMEM, "no memory for %zu buckets", w->down.n);
    }
    if (sub->rate.on && !p->keep_spans)
        qry_rate_span(&sub->rate, p->spec->compat, &w->span);
    if (w->r->dense)
        return add_dense_rate(w, pos, err);
    TS_TRY(qry_budget_bytes(w->r->budget, qry_span_bytes(&w->span)));
    w->r->spans[pos] = w->span;
    w->span = (struct qry_span){0};
    return 0;
}

static int take_row(struct work *w, const struct sto_row *row, struct ts_error *err)
{
    if (w->r->plan.sub->downsample.on)
        return qry_down_row(&w->down, row, err);
    if (qry_span_append(&w->span, row->key.hour, row->cells) < 0)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu points", w->span.n);
    return 0;
}

static int read_piece(struct work *w, struct qry_reader *rd, struct ts_error *err)
{
    struct sto_row row;
    size_t pos = SIZE_MAX;
    int rc;
    while ((rc = qry_reader_next(rd, &row, err)) > 0) {
        if (w->first + row.pos != pos) {
            if (pos != SIZE_MAX)
                TS_TRY(end_series(w, pos, err));
            pos = w->first + row.pos;
            qry_span_clear(&w->span);
            if (w->r->plan.sub->downsample.on)
                qry_down_begin(&w->down);
        }
        TS_TRY(take_row(w, &row, err));
    }
    if (rc == 0 && pos != SIZE_MAX)
        rc = end_series(w, pos, err);
    for (size_t i = w->piece->n_parts; i-- > 0 && rc == 0;) {
        struct qry_part *part = &w->piece->parts[i];
        if (!is_inner(w, part->group))
            continue;
        rc = finish_inner(w, part, err);
        memmove(part, part + 1, (--w->piece->n_parts - i) * sizeof *part);
    }
    return rc;
}

void qry_sub_run_piece(struct qry_sub_run *r, size_t piece)
{
    struct qry_plan *p = &r->plan;
    struct work w = {.r = r, .piece = &r->pieces[piece], .first = piece * p->chunk};
    struct ts_error err = {0};
    struct qry_reader rd;
    w.n = p->n - w.first < p->chunk ? p->n - w.first : p->chunk;
    if (qry_budget_stopped(r->budget))
        return;
    const struct qry_downsample *ds = &p->sub->downsample;
    if (ds->on)
        qry_down_init(&w.down, &p->grid, ds->fn, r->budget->memory);
    if (r->dense)
        w.buf = ts_xmalloc((p->grid.n + 1) * sizeof *w.buf);
    int rc = qry_reader_open(&rd, r->snap, r->budget, p->metric, p->series + w.first, w.n, p->scan_from_ms,
                             p->scan_to_ms, p->whole_hours, ds->on && ds->fn->fold->needs_sum, &err);
    rd.where = &p->spec->where;
    if (rc == 0)
        rc = read_piece(&w, &rd, &err);
    atomic_fetch_add_explicit(&r->n_rows, rd.n_rows_all, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->n_points, rd.n_points_all, memory_order_relaxed);
    qry_reader_close(&rd);
    if (ds->on)
        qry_down_release(&w.down);
    qry_span_release(&w.span);
    ts_free(w.buf);
    ts_free(w.at);
    if (rc < 0)
        qry_budget_fail(r->budget, rc, &err);
}

void qry_sub_runs_piece(struct qry_sub_run *runs, const size_t *first, size_t piece)
{
    size_t i = 0;
    while (piece >= first[i + 1])
        i++;
    qry_sub_run_piece(&runs[i], piece - first[i]);
}

/* --- groups --- */
struct joiner {
    struct qry_sub_run *r;
    struct qry_part **parts; /* of all groups, group by group, in piece order */
    size_t *first;           /* [groups + 1] */
};

static void join_group(void *arg, size_t g)
{
    struct joiner *j = arg;
    struct ts_error err = {0};
    size_t n = j->first[g + 1] - j->first[g];
    if (!n || qry_budget_stopped(j->r->budget))
        return;
    int rc = qry_part_finish(j->parts + j->first[g], n, &j->r->plan, &j->r->results[g], &err);
    if (rc < 0)
        qry_budget_fail(j->r->budget, rc, &err);
}

static void join_dense(struct qry_sub_run *r)
{
    size_t n_groups = r->plan.n_groups, n_pieces = qry_plan_chunks(&r->plan), n = 0;
    struct joiner j = {.r = r, .first = ts_xcalloc(n_groups + 2, sizeof *j.first)};
    for (size_t c = 0; c < n_pieces; c++)
        for (size_t i = 0; i < r->pieces[c].n_parts; i++, n++)
            j.first[r->pieces[c].parts[i].group + 2]++;
    for (size_t g = 0; g < n_groups; g++)
        j.first[g + 2] += j.first[g + 1];
    j.parts = ts_xmalloc(n * sizeof(*j.parts) + 1);
    /* first[g + 1] runs from the start of group g to its end, which is the start of g + 1 */
    for (size_t c = 0; c < n_pieces; c++)
        for (size_t i = 0; i < r->pieces[c].n_parts; i++)
            j.parts[j.first[r->pieces[c].parts[i].group + 1]++] = &r->pieces[c].parts[i];
    ts_pool_each(r->pool, n_groups, join_group, &j);
    ts_free(j.parts);
    ts_free(j.first);
}

static void join_spans(void *arg, size_t g)
{
    struct qry_sub_run *r = arg;
    const struct qry_plan *p = &r->plan;
    const struct qry_group *group = &p->groups[g];
    struct ts_error err = {0};
    int rc;
    if (qry_budget_stopped(r->budget))
        return;
    if (p->sub->none) {
        rc = qry_group_single(p, &r->spans[group->members[0]], &r->results[g], &err);
    } else {
        const struct qry_span **spans = ts_xmalloc(group->n * sizeof(*spans) + 1);
        uint32_t *ranks = ts_xmalloc(group->n * sizeof *ranks + 1);
        for (size_t i = 0; i < group->n; i++) {
            spans[i] = &r->spans[group->members[i]];
            ranks[i] = qry_plan_rank(p, group->members[i]);
        }
        rc = qry_group_spans(p, spans, ranks, group->n, r->pool, r->budget, &r->results[g], &err);
        ts_free(spans);
        ts_free(ranks);
    }
    for (size_t i = 0; i < group->n; i++)
        qry_span_release(&r->spans[group->members[i]]);
    if (rc < 0)
        qry_budget_fail(r->budget, rc, &err);
}

void qry_sub_run_groups(struct qry_sub_run *r)
{
    if (r->dense)
        join_dense(r);
    else
        ts_pool_each(r->pool, r->plan.n_groups, join_spans, r);
}
