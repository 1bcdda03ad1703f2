/*
 * top.c - ranks of series. Sums and averages are exact, so ranks do not depend on threads or files.
 */
#include "query/execution/top.h"

#include "base/xsum.h"
#include "query/execution/labels.h"
#include "query/sort.h"

#include <string.h>

/* A series that is ranked. */
struct ranked {
    double value;
    bool bottom;
    size_t group;
    struct qry_labels labels;
};

/* Rank of a series; false: it has no value other than NaN. */
static bool rank_of(enum qry_top_by rank, const struct qry_result *r, double *out)
{
    struct ts_xsum sum;
    uint64_t n = 0;
    double max = 0, min = 0, last = 0;
    ts_xsum_init(&sum);
    for (size_t k = 0; k < r->n; k++) {
        double d = qry_result_double(r, k);
        if (d != d)
            continue;
        max = !n || d > max ? d : max;
        min = !n || d < min ? d : min;
        last = d;
        n++;
        if (rank == QRY_TOP_AVG || rank == QRY_TOP_SUM)
            ts_xsum_add(&sum, d);
    }
    *out = rank == QRY_TOP_MAX     ? max
           : rank == QRY_TOP_MIN   ? min
           : rank == QRY_TOP_LAST  ? last
           : rank == QRY_TOP_COUNT ? (double)n
           : rank == QRY_TOP_SUM   ? ts_xsum_get(&sum)
           : n                     ? ts_xsum_mean(&sum, n)
                                   : 0;
    ts_xsum_release(&sum);
    return n > 0;
}

static int cmp_labels(const struct qry_labels *a, const struct qry_labels *b)
{
    for (size_t i = 0; i < a->n_tags && i < b->n_tags; i++) {
        int c = ts_slice_cmp(a->tags[i].k, b->tags[i].k);
        c = c ? c : ts_slice_cmp(a->tags[i].v, b->tags[i].v);
        if (c)
            return c;
    }
    return a->n_tags < b->n_tags ? -1 : a->n_tags > b->n_tags;
}

static int cmp_ranked(const void *x, const void *y, void *arg)
{
    (void)arg;
    const struct ranked *a = x, *b = y;
    if (a->value != b->value)
        return (a->value < b->value) == a->bottom ? -1 : 1;
    int c = cmp_labels(&a->labels, &b->labels);
    return c ? c : a->group < b->group ? -1 : a->group > b->group;
}

int qry_top_order(const struct qry_view *view, const struct qry_top *top, const struct qry_sub_run *sr,
                  struct ts_arena *arena, size_t **out_order, size_t *out_n, struct ts_error *err)
{
    const struct qry_plan *p = &sr->plan;
    struct ranked *r = qry_arena_take(arena, p->n_groups, sizeof *r, err);
    size_t n = 0;
    if (!r)
        return qry_memory_code(err);
    for (size_t g = 0; g < p->n_groups; g++) {
        TS_TRY(qry_budget_look(sr->budget, err));
        r[n] = (struct ranked){.bottom = top->bottom, .group = g};
        if (!rank_of(top->rank, &sr->results[g], &r[n].value))
            continue;
        TS_TRY(qry_labels_make(view, p, &p->groups[g], false, sr->budget, arena, &r[n].labels, err));
        n += r[n].labels.n_series > 0;
    }
    TS_TRY(qry_sort(r, n, sizeof *r, cmp_ranked, NULL, sr->budget, err));
    n = n < top->n ? n : top->n;
    *out_order = qry_arena_take(arena, n, sizeof **out_order, err);
    for (size_t i = 0; i < n && *out_order; i++)
        (*out_order)[i] = r[i].group;
    *out_n = n;
    return *out_order ? 0 : qry_memory_code(err);
}
