/*
 * group.c - group accumulators of a group, dense and sparse.
 */
#include "query/execution/group.h"

#include <math.h>
#include <string.h>

/* larger groups use exact sums with compat too, since keeping all values would take much memory */
#define PLAIN_SERIES   256
#define SLICE_SERIES   128 /* spans that share a group accumulator; slices are joined in order */
#define SLICES_AT_ONCE 16  /* group accumulators at the same time, enough for any number of cores */
#define LOOK_POINTS    8192 /* wide sums that a group accumulator may begin before its limit is checked: 5 MB */

void qry_result_release(struct qry_result *r)
{
    ts_budget_free(r->memory, r->ts, r->ts ? r->cap * sizeof *r->ts : 0);
    ts_budget_free(r->memory, r->v, r->v ? r->cap * sizeof *r->v : 0);
    ts_budget_free(r->memory, r->is_int, r->is_int ? r->cap : 0);
    *r = (struct qry_result){0};
}

/* Reserve memory for n points; the result must be released even after an error. */
static int result_open(struct qry_result *r, size_t n, bool flags, struct ts_budget *memory,
                       struct ts_error *err)
{
    *r = (struct qry_result){.cap = n, .memory = memory};
    r->ts = ts_budget_alloc(memory, n * sizeof *r->ts, err);
    r->v = r->ts ? ts_budget_alloc(memory, n * sizeof *r->v, err) : NULL;
    return r->v && (!flags || qry_result_flags(r, err) == 0) ? 0 : qry_memory_code(err);
}

int qry_result_flags(struct qry_result *r, struct ts_error *err)
{
    r->is_int = ts_budget_alloc(r->memory, r->cap, err);
    return r->is_int ? 0 : qry_memory_code(err);
}

static int infinite(const struct qry_plan *p, int64_t ts_ms, struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL, "Got Infinity: %s at %lld overflows", p->sub->agg->name,
                        (long long)ts_ms);
}

/* How a series contributes between its points. */
static enum qry_interp policy(const struct qry_plan *p)
{
    return p->sub->rate.on ? QRY_INTERP_PREV : p->sub->agg->interp;
}

/* First time that is emitted; the last one is below. */
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
    if (part->seen)
        ts_budget_free(part->group_acc.budget->memory, part->seen, part->group_acc.n);
    part->seen = NULL;
    if (part->group_acc.ops)
        qry_group_acc_close(&part->group_acc);
}

int qry_part_open(struct qry_part *part, const struct qry_plan *p, uint32_t group, struct qry_budget *budget,
                  struct ts_error *err)
{
    *part = (struct qry_part){.group = group};
    int rc =
        qry_group_acc_open(&part->group_acc, qry_group_agg(p, p->groups[group].n), p->grid.n, false, budget);
    if (rc < 0)
        return qry_budget_result(budget, err);
    part->seen = ts_budget_calloc(budget->memory, p->grid.n, 1, err);
    return part->seen ? 0 : qry_memory_code(err);
}

/* Add contributions to a group accumulator. Sums of numbers of very different size take memory, which is
 * counted afterwards. */
static int acc_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    if (!l->xs || n <= LOOK_POINTS) {
        l->ops->add_f64(l, at, v, n, rank);
        return l->rc;
    }
    for (size_t k = 0; k < n && l->rc == 0; k += LOOK_POINTS) {
        l->ops->add_f64(l, at + k, v + k, n - k < LOOK_POINTS ? n - k : LOOK_POINTS, rank);
        l->rc = l->rc ? l->rc : qry_budget_look(l->budget, NULL);
    }
    return l->rc;
}

int qry_part_add(struct qry_part *part, const struct qry_plan *p, const size_t *bucket, const double *v,
                 size_t n, const struct qry_span *phantom, uint32_t rank, double *buf)
{
    size_t at = bucket[0], len = bucket[n - 1] - at + 1;
    part->n_series++;
    if (phantom && phantom->phantom) {
        size_t from = qry_grid_find(&p->grid, phantom->phantom_ts);
        for (size_t k = from; k < at; k++)
            buf[k] = phantom->phantom_v;
        if (from < at)
            TS_TRY(acc_f64(&part->group_acc, from, buf + from, at - from, rank));
    }
    if (len == n) {
        memset(part->seen + at, 1, n);
        return acc_f64(&part->group_acc, at, v, n, rank);
    }
    qry_expand_f64(policy(p), p->grid.edges, bucket, v, n, buf);
    for (size_t k = 0; k < n; k++)
        part->seen[bucket[k]] = 1;
    return acc_f64(&part->group_acc, at, buf, len, rank);
}

/* Write buckets k0..k1 with values d as points. */
static int part_points(const struct qry_part *part, const struct qry_plan *p, const double *d, size_t k0,
                       size_t k1, struct qry_result *out, struct ts_error *err)
{
    size_t n_seen = 0;
    for (size_t k = k0; k < k1; k++)
        n_seen += part->seen[k];
    TS_TRY(result_open(out, n_seen, false, part->group_acc.budget->memory, err));
    for (size_t k = k0; k < k1; k++) {
        if (!part->seen[k])
            continue;
        if (isinf(d[k]))
            return infinite(p, p->grid.edges[k], err);
        out->ts[out->n] = p->grid.edges[k];
        out->v[out->n++] = ts_double_bits(d[k]);
    }
    return 0;
}

int qry_part_finish(struct qry_part *const *parts, size_t n, const struct qry_plan *p, struct qry_result *out,
                    struct ts_error *err)
{
    struct qry_part *first = parts[0];
    struct qry_budget *budget = first->group_acc.budget;
    size_t n_buckets = p->grid.n, k0 = 0;
    *out = (struct qry_result){0};
    for (size_t i = 1; i < n; i++) {
        first->group_acc.ops->merge(&first->group_acc, &parts[i]->group_acc);
        for (size_t k = 0; k < n_buckets; k++)
            first->seen[k] |= parts[i]->seen[k];
        qry_part_release(parts[i]);
        TS_TRY(first->group_acc.rc ? first->group_acc.rc : qry_budget_look(budget, err));
    }
    double *d = ts_budget_alloc(budget->memory, n_buckets * sizeof *d, err);
    if (!d)
        return qry_memory_code(err);
    first->group_acc.ops->done_f64(&first->group_acc, d);
    while (k0 < n_buckets && p->grid.edges[k0] < shown_from(p))
        k0++;
    size_t k1 = k0;
    while (k1 < n_buckets && p->grid.edges[k1] <= shown_to(p))
        k1++;
    int rc = first->group_acc.rc ? first->group_acc.rc : part_points(first, p, d, k0, k1, out, err);
    ts_budget_free(budget->memory, d, n_buckets * sizeof *d);
    return rc;
}

/* --- sparse --- */
/* Spans i..e of a group that are added to group accumulators. */
struct slice {
    size_t i, e;
    struct qry_stamps stamps; /* union of their times */
    struct qry_group_acc ints, dbls;
};

struct sparse {
    const struct qry_plan *p;
    const struct qry_span *const *spans;
    const uint32_t *ranks;
    struct qry_budget *budget;
    struct slice *slices;
    size_t first_slice;        /* first of the slices that are processed now */
    struct qry_stamps all;     /* union of all */
    const struct qry_agg *agg; /* aggregator of the group */
    bool any_int, any_dbl;     /* kinds in the group */
    uint8_t *dbl_at;           /* [all.n] a double occurs at this time; NULL: one kind only. */
};

static int slice_union(void *arg, size_t piece, struct ts_error *err)
{
    struct sparse *g = arg;
    struct slice *s = &g->slices[piece];
    return qry_stamps_of_spans(g->spans + s->i, s->e - s->i, g->budget, &s->stamps, err);
}

/* Values of a span as doubles; or only its integers, with 0 in place of others. */
static const double *as_doubles(const struct qry_span *s, double *buf)
{
    if (!s->any_int)
        return (const double *)(const void *)s->v;
    for (size_t k = 0; k < s->n; k++) {
        if (!s->any_dbl || s->is_int[k])
            buf[k] = (double)(int64_t)s->v[k];
        else
            buf[k] = ts_double_of(s->v[k]);
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

static void add_phantom(struct sparse *g, struct qry_group_acc *l, const struct qry_span *s, size_t first,
                        uint32_t rank, double *buf)
{
    size_t from;
    qry_align_places(&g->all, &s->phantom_ts, 1, &from);
    if (from >= first)
        return;
    for (size_t k = 0; k < first - from; k++)
        buf[k] = s->phantom_v;
    acc_f64(l, from, buf, first - from, rank);
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
        acc_f64(&s->dbls, from, v, len, rank);
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

static int fill_slice(struct sparse *g, struct slice *s, struct scratch *sc, struct ts_error *err)
{
    if (g->any_int)
        TS_TRY(qry_group_acc_open(&s->ints, g->agg, g->all.n, true, g->budget));
    if (g->any_dbl)
        TS_TRY(qry_group_acc_open(&s->dbls, g->agg, g->all.n, false, g->budget));
    for (size_t i = s->i; i < s->e; i++) {
        add_span(g, s, i, sc);
        TS_TRY(s->ints.rc ? s->ints.rc : s->dbls.rc ? s->dbls.rc : qry_budget_look(g->budget, err));
    }
    return 0;
}

static int slice_accs(void *arg, size_t piece, struct ts_error *err)
{
    struct sparse *g = arg;
    struct slice *s = &g->slices[g->first_slice + piece];
    struct ts_budget *memory = g->budget->memory;
    size_t n = g->all.n, longest = 0;
    for (size_t i = s->i; i < s->e; i++)
        longest = g->spans[i]->n > longest ? g->spans[i]->n : longest;
    struct scratch sc = {.at = ts_budget_alloc(memory, longest * sizeof *sc.at, err)};
    sc.v = sc.at ? ts_budget_alloc(memory, longest * sizeof *sc.v, err) : NULL;
    sc.out = sc.v ? ts_budget_alloc(memory, n * sizeof *sc.out, err) : NULL;
    int rc = sc.out ? fill_slice(g, s, &sc, err) : qry_memory_code(err);
    ts_budget_free(memory, sc.at, sc.at ? longest * sizeof *sc.at : 0);
    ts_budget_free(memory, sc.v, sc.v ? longest * sizeof *sc.v : 0);
    ts_budget_free(memory, sc.out, sc.out ? n * sizeof *sc.out : 0);
    return rc;
}

static void close_accs(struct slice *s)
{
    if (s->ints.ops)
        qry_group_acc_close(&s->ints);
    if (s->dbls.ops)
        qry_group_acc_close(&s->dbls);
}

/* Join all slices, some at a time and in their order, into the group accumulators of the first one. */
static int join_slices(struct sparse *g, size_t n_slices, struct ts_pool *pool, struct ts_error *err)
{
    /* all slices write the flags of mixed groups, so they run one after the other then */
    struct ts_pool *with = g->dbl_at ? NULL : pool;
    for (g->first_slice = 0; g->first_slice < n_slices; g->first_slice += SLICES_AT_ONCE) {
        size_t left = n_slices - g->first_slice, n = left < SLICES_AT_ONCE ? left : SLICES_AT_ONCE;
        struct qry_group_acc *ints = &g->slices[0].ints, *dbls = &g->slices[0].dbls;
        TS_TRY(qry_budget_each(g->budget, with, n, slice_accs, g, err));
        struct ts_budget *before = ts_xsum_account(g->budget->memory);
        for (size_t i = g->first_slice ? 0 : 1; i < n; i++) {
            struct slice *s = &g->slices[g->first_slice + i];
            if (g->any_int)
                ints->ops->merge(ints, &s->ints);
            if (g->any_dbl)
                dbls->ops->merge(dbls, &s->dbls);
            close_accs(s);
        }
        (void)ts_xsum_account(before);
        TS_TRY(ints->rc ? ints->rc : dbls->rc);
    }
    return 0;
}

/* Write points of `all` from k0 on, with their values, to the result. */
static int put_points(const struct sparse *g, const int64_t *ints, const double *dbls, size_t k0,
                      struct qry_result *out, struct ts_error *err)
{
    if (out->n)
        memcpy(out->ts, g->all.ts + k0, out->n * sizeof *out->ts);
    for (size_t i = 0, k = k0; i < out->n; i++, k++) {
        bool is_int = g->any_int && !(g->any_dbl && g->dbl_at[k]);
        if (out->is_int)
            out->is_int[i] = is_int;
        if (is_int)
            out->v[i] = (uint64_t)ints[k];
        else
            memcpy(&out->v[i], &dbls[k], 8);
        if (!is_int && isinf(dbls[k]))
            return infinite(g->p, g->all.ts[k], err);
    }
    return 0;
}

/* Take the points between start and end from the group accumulators. */
static int take_result(struct sparse *g, struct slice *s, struct qry_result *out, struct ts_error *err)
{
    const struct qry_plan *p = g->p;
    struct ts_budget *memory = g->budget->memory;
    size_t n = g->all.n, k0 = 0, k1 = n;
    while (k0 < n && g->all.ts[k0] < shown_from(p))
        k0++;
    while (k1 > k0 && g->all.ts[k1 - 1] > shown_to(p))
        k1--;
    int rc = 0;
    int64_t *ints = g->any_int ? ts_budget_alloc(memory, n * sizeof *ints, err) : NULL;
    double *dbls = NULL;
    if (g->any_dbl && (ints || !g->any_int))
        dbls = ts_budget_alloc(memory, n * sizeof *dbls, err);
    if ((g->any_int && !ints) || (g->any_dbl && !dbls))
        rc = qry_memory_code(err);
    if (ints && rc == 0)
        s->ints.ops->done_i64(&s->ints, ints);
    if (dbls && rc == 0)
        s->dbls.ops->done_f64(&s->dbls, dbls);
    rc = rc ? rc : s->ints.rc ? s->ints.rc : s->dbls.rc;
    if (rc == 0)
        rc = result_open(out, k1 - k0, g->any_int && g->any_dbl, memory, err);
    if (rc == 0) {
        out->n = k1 - k0;
        out->all_int = !g->any_dbl;
        rc = put_points(g, ints, dbls, k0, out, err);
    }
    ts_budget_free(memory, ints, ints ? n * sizeof *ints : 0);
    ts_budget_free(memory, dbls, dbls ? n * sizeof *dbls : 0);
    return rc;
}

static int unite_slices(struct sparse *g, size_t n, struct ts_error *err)
{
    struct ts_budget *memory = g->budget->memory;
    struct qry_stamps *sets = ts_budget_alloc(memory, n * sizeof *sets, err);
    if (!sets)
        return qry_memory_code(err);
    for (size_t i = 0; i < n; i++) {
        sets[i] = g->slices[i].stamps;
        g->slices[i].stamps = (struct qry_stamps){0};
    }
    int rc = qry_stamps_union(sets, n, g->budget, &g->all, err);
    for (size_t i = 0; i < n; i++)
        qry_stamps_release(&sets[i]);
    ts_budget_free(memory, sets, n * sizeof *sets);
    return rc;
}

static int group_slices(struct sparse *g, size_t n_slices, struct ts_pool *pool, struct qry_result *out,
                        struct ts_error *err)
{
    TS_TRY(qry_budget_each(g->budget, pool, n_slices, slice_union, g, err));
    TS_TRY(unite_slices(g, n_slices, err));
    if (!g->all.n)
        return 0;
    if (g->any_int && g->any_dbl) {
        g->dbl_at = ts_budget_calloc(g->budget->memory, g->all.n, 1, err);
        if (!g->dbl_at)
            return qry_memory_code(err);
    }
    TS_TRY(join_slices(g, n_slices, pool, err));
    return take_result(g, &g->slices[0], out, err);
}

int qry_group_spans(const struct qry_plan *p, const struct qry_span *const *spans, const uint32_t *ranks,
                    size_t n, struct ts_pool *pool, struct qry_budget *budget, struct qry_result *out,
                    struct ts_error *err)
{
    size_t n_slices = (n + SLICE_SERIES - 1) / SLICE_SERIES;
    struct sparse g = {.p = p, .spans = spans, .ranks = ranks, .budget = budget, .agg = qry_group_agg(p, n)};
    *out = (struct qry_result){0};
    g.slices = ts_budget_calloc(budget->memory, n_slices, sizeof *g.slices, err);
    if (!g.slices)
        return qry_memory_code(err);
    for (size_t i = 0; i < n_slices; i++) {
        g.slices[i].i = i * SLICE_SERIES;
        g.slices[i].e = (i + 1) * SLICE_SERIES < n ? (i + 1) * SLICE_SERIES : n;
    }
    for (size_t i = 0; i < n; i++) {
        g.any_int |= spans[i]->n && spans[i]->any_int;
        g.any_dbl |= spans[i]->n && spans[i]->any_dbl;
    }
    int rc = group_slices(&g, n_slices, pool, out, err);
    for (size_t i = 0; i < n_slices; i++) {
        qry_stamps_release(&g.slices[i].stamps);
        close_accs(&g.slices[i]);
    }
    if (g.dbl_at)
        ts_budget_free(budget->memory, g.dbl_at, g.all.n);
    qry_stamps_release(&g.all);
    ts_budget_free(budget->memory, g.slices, n_slices * sizeof *g.slices);
    if (rc < 0 && (!err || !err->code))
        qry_budget_result(budget, err); /* a group accumulator reports errors only in the budget */
    return rc;
}

int qry_group_single(const struct qry_plan *p, const struct qry_span *s, struct qry_budget *budget,
                     struct qry_result *out, struct ts_error *err)
{
    size_t k0 = 0, k1 = s->n;
    while (k0 < k1 && s->ts[k0] < shown_from(p))
        k0++;
    while (k1 > k0 && s->ts[k1 - 1] > shown_to(p))
        k1--;
    TS_TRY(result_open(out, k1 - k0, s->any_int && s->any_dbl, budget->memory, err));
    out->n = k1 - k0;
    out->all_int = s->any_int && !s->any_dbl;
    if (out->n) {
        memcpy(out->ts, s->ts + k0, out->n * sizeof *out->ts);
        memcpy(out->v, s->v + k0, out->n * sizeof *out->v);
    }
    if (out->is_int)
        memcpy(out->is_int, s->is_int + k0, out->n);
    for (size_t k = 0; k < out->n && s->any_dbl; k++) {
        if (!qry_span_int(s, k0 + k)) {
            if (isinf(ts_double_of(out->v[k])))
                return infinite(p, out->ts[k], err);
        } else if (p->spec->compat && k0 + k + 1 < s->n && !s->is_int[k0 + k + 1]) {
            /* as in OpenTSDB: it becomes a double if the next value is one */
            out->v[k] = ts_double_bits((double)(int64_t)out->v[k]);
            out->is_int[k] = 0;
        }
    }
    return 0;
}
