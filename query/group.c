/*
 * group.c - lanes of a group, dense and sparse.
 */
#include "query/group.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PLAIN_SERIES 256 /* larger groups keep exact sums with compat too: what is kept would be much */
#define SLICE_SERIES 128 /* spans that share a lane; slices are joined in order */

void qry_result_release(struct qry_result *r)
{
    ts_free(r->ts);
    ts_free(r->v);
    ts_free(r->is_int);
    *r = (struct qry_result){0};
}

static int infinite(const struct qry_plan *p, int64_t ts_ms, struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL, "Got Infinity: %s at %lld overflows", p->sub->agg->name,
                        (long long)ts_ms);
}

/* What a series contributes between its points. */
static enum qry_interp policy(const struct qry_plan *p)
{
    return p->sub->rate.on ? QRY_INTERP_PREV : p->sub->agg->interp;
}

/* First and last time that is emitted. */
static int64_t shown_from(const struct qry_plan *p)
{
    return p->spec->uncut ? INT64_MIN : p->spec->start_ms;
}
static int64_t shown_to(const struct qry_plan *p)
{
    return p->spec->uncut ? INT64_MAX : p->spec->end_ms;
}

const struct qry_agg *qry_group_agg(const struct qry_plan *p, size_t n)
{
    return p->spec->compat && n <= PLAIN_SERIES ? qry_agg_plain(p->sub->agg) : p->sub->agg;
}

/* --- dense --- */
void qry_part_release(struct qry_part *part)
{
    if (part->lane.ops)
        qry_lane_close(&part->lane);
    ts_free(part->seen);
    part->seen = NULL;
}

void qry_part_open(struct qry_part *part, const struct qry_plan *p, uint32_t group)
{
    *part = (struct qry_part){.group = group};
    qry_lane_open(&part->lane, qry_group_agg(p, p->groups[group].n), p->grid.n, false);
    part->seen = ts_xcalloc(p->grid.n + 1, 1);
}

void qry_part_add(struct qry_part *part, const struct qry_plan *p, const size_t *bucket, const double *v,
                  size_t n, const struct qry_span *phantom, uint32_t rank, double *buf)
{
    size_t at = bucket[0], len = bucket[n - 1] - at + 1;
    part->n_series++;
    if (phantom && phantom->phantom) {
        size_t from = qry_grid_find(&p->grid, phantom->phantom_ts);
        for (size_t k = from; k < at; k++)
            buf[k] = phantom->phantom_v;
        if (from < at)
            part->lane.ops->add_f64(&part->lane, from, buf + from, at - from, rank);
    }
    if (len == n) {
        part->lane.ops->add_f64(&part->lane, at, v, n, rank);
        memset(part->seen + at, 1, n);
        return;
    }
    qry_expand_f64(policy(p), p->grid.edges, bucket, v, n, buf);
    part->lane.ops->add_f64(&part->lane, at, buf, len, rank);
    for (size_t k = 0; k < n; k++)
        part->seen[bucket[k]] = 1;
}

int qry_part_finish(struct qry_part *const *parts, size_t n, const struct qry_plan *p, struct qry_result *out,
                    struct ts_error *err)
{
    struct qry_part *first = parts[0];
    size_t n_buckets = p->grid.n, k0 = 0;
    for (size_t i = 1; i < n; i++) {
        first->lane.ops->merge(&first->lane, &parts[i]->lane);
        for (size_t k = 0; k < n_buckets; k++)
            first->seen[k] |= parts[i]->seen[k];
    }
    double *d = ts_xmalloc(n_buckets * sizeof *d + 1);
    first->lane.ops->done_f64(&first->lane, p->sub->agg, d);
    *out = (struct qry_result){0};
    while (k0 < n_buckets && p->grid.edges[k0] < shown_from(p))
        k0++;
    size_t k1 = k0, n_seen = 0;
    for (; k1 < n_buckets && p->grid.edges[k1] <= shown_to(p); k1++)
        n_seen += first->seen[k1];
    int rc = 0;
    out->ts = ts_xmalloc(n_seen * sizeof *out->ts + 1);
    out->v = ts_xmalloc(n_seen * sizeof *out->v + 1);
    for (size_t k = k0; k < k1 && rc == 0; k++) {
        if (!first->seen[k])
            continue;
        if (isinf(d[k]))
            rc = infinite(p, p->grid.edges[k], err);
        out->ts[out->n] = p->grid.edges[k];
        memcpy(&out->v[out->n++], &d[k], 8);
    }
    ts_free(d);
    return rc;
}

/* --- sparse --- */
/* Spans i..e of a group on their way into lanes. */
struct slice {
    size_t i, e;
    struct qry_stamps stamps; /* union of their times */
    struct qry_lane ints, dbls;
    int rc;
};

struct sparse {
    const struct qry_plan *p;
    const struct qry_span *const *spans;
    const uint32_t *ranks;
    struct qry_budget *budget;
    struct slice *slices;
    struct qry_stamps all;     /* union of all */
    const struct qry_agg *agg; /* what makes it */
    bool any_int, any_dbl;     /* kinds in the group */
    uint8_t *dbl_at;           /* [all.n] a double is held here; NULL: one kind only. */
};

static void slice_union(void *arg, size_t piece)
{
    struct sparse *g = arg;
    struct slice *s = &g->slices[piece];
    s->rc = qry_stamps_of_spans(g->spans + s->i, s->e - s->i, &s->stamps);
}

/* Values of a span as doubles, or as integers where they are (0 where not). */
static const double *as_doubles(const struct qry_span *s, double *buf)
{
    if (!s->any_int)
        return (const double *)(const void *)s->v;
    for (size_t k = 0; k < s->n; k++) {
        if (!s->any_dbl || s->is_int[k])
            buf[k] = (double)(int64_t)s->v[k];
        else
            memcpy(&buf[k], &s->v[k], 8);
    }
    return buf;
}

static const int64_t *as_ints(const struct qry_span *s, int64_t *buf)
{
    if (!s->any_dbl)
        return (const int64_t *)s->v;
    for (size_t k = 0; k < s->n; k++)
        buf[k] = qry_span_int(s, k) ? (int64_t)s->v[k] : 0;
    return buf;
}

static void add_phantom(struct sparse *g, struct qry_lane *l, const struct qry_span *s, size_t first,
                        uint32_t rank, double *buf)
{
    size_t from;
    qry_align_places(&g->all, &s->phantom_ts, 1, &from);
    if (from >= first)
        return;
    for (size_t k = 0; k < first - from; k++)
        buf[k] = s->phantom_v;
    l->ops->add_f64(l, from, buf, first - from, rank);
}

/* Scratch of a slice. */
struct scratch {
    size_t *at;        /* places of a span's points */
    uint64_t *v, *out; /* its values of one kind; its contributions */
};

static void add_span(struct sparse *g, struct slice *s, size_t i, struct scratch *sc)
{
    const struct qry_span *span = g->spans[i];
    enum qry_interp interp = policy(g->p);
    uint32_t rank = g->ranks[i];
    size_t n = span->n;
    if (!n)
        return;
    qry_align_places(&g->all, span->ts, n, sc->at);
    size_t from = sc->at[0], len = sc->at[n - 1] - from + 1;
    if (g->any_dbl) {
        double *out = (double *)(void *)sc->out;
        if (span->phantom)
            add_phantom(g, &s->dbls, span, from, rank, out);
        const double *v = as_doubles(span, (double *)(void *)sc->v);
        if (len != n) {
            qry_expand_f64(interp, g->all.ts, sc->at, v, n, out);
            v = out;
        }
        s->dbls.ops->add_f64(&s->dbls, from, v, len, rank);
    }
    if (g->any_int && g->any_dbl)
        qry_align_doubles(span, sc->at, g->dbl_at);
    if (g->any_int) {
        const int64_t *v = as_ints(span, (int64_t *)sc->v);
        if (len != n) {
            qry_expand_i64(interp, g->all.ts, sc->at, v, n, (int64_t *)sc->out);
            v = (const int64_t *)sc->out;
        }
        s->ints.ops->add_i64(&s->ints, from, v, len, rank);
    }
}

static void slice_lanes(void *arg, size_t piece)
{
    struct sparse *g = arg;
    struct slice *s = &g->slices[piece];
    size_t n = g->all.n, longest = 0;
    const struct qry_agg *agg = g->agg;
    for (size_t i = s->i; i < s->e; i++)
        longest = g->spans[i]->n > longest ? g->spans[i]->n : longest;
    s->rc = qry_budget_bytes(g->budget, qry_lane_bytes(agg, n, s->e - s->i));
    if (s->rc < 0)
        return;
    struct scratch sc = {ts_xmalloc(longest * sizeof *sc.at + 1), ts_xmalloc(longest * 8 + 1),
                         ts_xmalloc(n * 8 + 1)};
    if (g->any_int)
        qry_lane_open(&s->ints, agg, n, true);
    if (g->any_dbl)
        qry_lane_open(&s->dbls, agg, n, false);
    for (size_t i = s->i; i < s->e && s->rc == 0; i++) {
        add_span(g, s, i, &sc);
        s->rc = qry_budget_points(g->budget, 0);
    }
    ts_free(sc.at);
    ts_free(sc.v);
    ts_free(sc.out);
}

/* Points from..to of the lanes into the result. */
static int take_result(struct sparse *g, struct slice *s, struct qry_result *out, struct ts_error *err)
{
    const struct qry_plan *p = g->p;
    const struct qry_agg *agg = p->sub->agg;
    size_t n = g->all.n, k0 = 0, k1 = n;
    while (k0 < n && g->all.ts[k0] < shown_from(p))
        k0++;
    while (k1 > k0 && g->all.ts[k1 - 1] > shown_to(p))
        k1--;
    int64_t *ints = NULL;
    double *dbls = NULL;
    if (g->any_int) {
        ints = ts_xmalloc(n * sizeof *ints + 1);
        s->ints.ops->done_i64(&s->ints, agg, ints);
    }
    if (g->any_dbl) {
        dbls = ts_xmalloc(n * sizeof *dbls + 1);
        s->dbls.ops->done_f64(&s->dbls, agg, dbls);
    }
    out->n = k1 - k0;
    out->ts = ts_xmalloc(out->n * sizeof *out->ts + 1);
    out->v = ts_xmalloc(out->n * sizeof *out->v + 1);
    out->all_int = !g->any_dbl;
    if (g->any_int && g->any_dbl)
        out->is_int = ts_xmalloc(out->n + 1);
    int rc = 0;
    if (out->n)
        memcpy(out->ts, g->all.ts + k0, out->n * sizeof *out->ts);
    for (size_t k = k0; k < k1 && rc == 0; k++) {
        bool is_int = g->any_int && !(g->any_dbl && g->dbl_at[k]);
        if (out->is_int)
            out->is_int[k - k0] = is_int;
        if (is_int) {
            out->v[k - k0] = (uint64_t)ints[k];
        } else {
            memcpy(&out->v[k - k0], &dbls[k], 8);
            if (isinf(dbls[k]))
                rc = infinite(p, g->all.ts[k], err);
        }
    }
    ts_free(ints);
    ts_free(dbls);
    return rc;
}

static int worst(const struct sparse *g, size_t n, struct ts_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (g->slices[i].rc < 0)
            return ts_error_set(err, g->slices[i].rc, "%s", ts_err_text(g->slices[i].rc));
    return 0;
}

static int unite_slices(struct sparse *g, size_t n)
{
    struct qry_stamps *sets = ts_xmalloc(n * sizeof *sets + 1);
    for (size_t i = 0; i < n; i++) {
        sets[i] = g->slices[i].stamps;
        g->slices[i].stamps = (struct qry_stamps){0};
    }
    int rc = qry_stamps_union(sets, n, &g->all);
    for (size_t i = 0; i < n; i++)
        qry_stamps_release(&sets[i]);
    ts_free(sets);
    return rc;
}

int qry_group_spans(const struct qry_plan *p, const struct qry_span *const *spans, const uint32_t *ranks,
                    size_t n, struct ts_pool *pool, struct qry_budget *budget, struct qry_result *out,
                    struct ts_error *err)
{
    size_t n_slices = (n + SLICE_SERIES - 1) / SLICE_SERIES;
    struct sparse g = {.p = p, .spans = spans, .ranks = ranks, .budget = budget, .agg = qry_group_agg(p, n)};
    *out = (struct qry_result){0};
    g.slices = ts_xcalloc(n_slices + 1, sizeof *g.slices);
    for (size_t i = 0; i < n_slices; i++) {
        g.slices[i].i = i * SLICE_SERIES;
        g.slices[i].e = (i + 1) * SLICE_SERIES < n ? (i + 1) * SLICE_SERIES : n;
    }
    for (size_t i = 0; i < n; i++) {
        g.any_int |= spans[i]->n && spans[i]->any_int;
        g.any_dbl |= spans[i]->n && spans[i]->any_dbl;
    }
    ts_pool_each(pool, n_slices, slice_union, &g);
    int rc = worst(&g, n_slices, err);
    if (rc == 0)
        rc = unite_slices(&g, n_slices);
    if (rc == 0 && g.all.n) {
        if (g.any_int && g.any_dbl)
            g.dbl_at = ts_xcalloc(g.all.n, 1);
        /* flags of mixed groups are written by all slices: one after the other there */
        ts_pool_each(g.dbl_at ? NULL : pool, n_slices, slice_lanes, &g);
        rc = worst(&g, n_slices, err);
    }
    for (size_t i = 1; i < n_slices && rc == 0 && g.all.n; i++) {
        if (g.any_int)
            g.slices[0].ints.ops->merge(&g.slices[0].ints, &g.slices[i].ints);
        if (g.any_dbl)
            g.slices[0].dbls.ops->merge(&g.slices[0].dbls, &g.slices[i].dbls);
    }
    if (rc == 0 && g.all.n)
        rc = take_result(&g, &g.slices[0], out, err);
    for (size_t i = 0; i < n_slices; i++) {
        qry_stamps_release(&g.slices[i].stamps);
        if (g.slices[i].ints.ops)
            qry_lane_close(&g.slices[i].ints);
        if (g.slices[i].dbls.ops)
            qry_lane_close(&g.slices[i].dbls);
    }
    qry_stamps_release(&g.all);
    ts_free(g.dbl_at);
    ts_free(g.slices);
    return rc;
}

int qry_group_single(const struct qry_plan *p, const struct qry_span *s, struct qry_result *out,
                     struct ts_error *err)
{
    size_t k0 = 0, k1 = s->n;
    *out = (struct qry_result){.all_int = s->any_int && !s->any_dbl};
    while (k0 < k1 && s->ts[k0] < shown_from(p))
        k0++;
    while (k1 > k0 && s->ts[k1 - 1] > shown_to(p))
        k1--;
    out->n = k1 - k0;
    out->ts = ts_try_malloc(out->n * sizeof *out->ts + 1);
    out->v = ts_try_malloc(out->n * sizeof *out->v + 1);
    if (s->any_int && s->any_dbl)
        out->is_int = ts_try_malloc(out->n + 1);
    if (!out->ts || !out->v || (s->any_int && s->any_dbl && !out->is_int))
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu points", out->n);
    if (out->n) {
        memcpy(out->ts, s->ts + k0, out->n * sizeof *out->ts);
        memcpy(out->v, s->v + k0, out->n * sizeof *out->v);
    }
    if (out->is_int)
        memcpy(out->is_int, s->is_int + k0, out->n);
    for (size_t k = 0; k < out->n && s->any_dbl; k++) {
        if (!qry_span_int(s, k0 + k)) {
            double d;
            memcpy(&d, &out->v[k], 8);
            if (isinf(d))
                return infinite(p, out->ts[k], err);
        } else if (p->spec->compat && k0 + k + 1 < s->n && !s->is_int[k0 + k + 1]) {
            /* OpenTSDB: a double next to come makes it a double */
            double d = (double)(int64_t)out->v[k];
            memcpy(&out->v[k], &d, 8);
            out->is_int[k] = 0;
        }
    }
    return 0;
}
