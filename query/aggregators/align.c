/*
 * align.c - unions of times, interpolation.
 */
#include "query/aggregators/align.h"

#include <float.h>
#include <string.h>

void qry_stamps_release(struct qry_stamps *s)
{
    if (s->owner)
        ts_budget_free(s->owner->memory, (void *)(uintptr_t)s->ts, s->cap * sizeof *s->ts);
    *s = (struct qry_stamps){0};
}

/* a becomes a united with b; b is emptied. */
static int unite(struct qry_stamps *a, struct qry_stamps *b, struct qry_budget *budget, struct ts_error *err)
{
    if (a->n == b->n && (a->n == 0 || memcmp(a->ts, b->ts, a->n * sizeof *a->ts) == 0)) {
        qry_stamps_release(b);
        return 0;
    }
    size_t i = 0, k = 0, n = 0, cap = a->n + b->n;
    int64_t *out = ts_budget_alloc(budget->memory, cap * sizeof *out, err);
    if (!out)
        return qry_memory_code(err);
    while (i < a->n && k < b->n) {
        int64_t x = a->ts[i], y = b->ts[k];
        out[n++] = x < y ? x : y;
        i += x <= y;
        k += y <= x;
    }
    if (i < a->n)
        memcpy(out + n, a->ts + i, (a->n - i) * sizeof *out);
    n += a->n - i;
    if (k < b->n)
        memcpy(out + n, b->ts + k, (b->n - k) * sizeof *out);
    n += b->n - k;
    qry_stamps_release(a);
    qry_stamps_release(b);
    *a = (struct qry_stamps){.ts = out, .n = n, .cap = cap, .owner = budget};
    return qry_budget_look(budget, err);
}

int qry_stamps_union(struct qry_stamps *sets, size_t n, struct qry_budget *budget, struct qry_stamps *out,
                     struct ts_error *err)
{
    *out = (struct qry_stamps){0};
    for (size_t step = 1; step < n; step *= 2)
        for (size_t i = 0; i + step < n; i += 2 * step)
            TS_TRY(unite(&sets[i], &sets[i + step], budget, err));
    if (n) {
        *out = sets[0];
        sets[0] = (struct qry_stamps){0};
    }
    return 0;
}

int qry_stamps_of_spans(const struct qry_span *const *spans, size_t n, struct qry_budget *budget,
                        struct qry_stamps *out, struct ts_error *err)
{
    size_t n_sets = 0;
    *out = (struct qry_stamps){0};
    struct qry_stamps *sets = ts_budget_alloc(budget->memory, n * sizeof *sets, err);
    if (!sets)
        return qry_memory_code(err);
    for (size_t i = 0; i < n; i++) {
        const struct qry_span *s = spans[i];
        if (!s->n)
            continue;
        if (n_sets && sets[n_sets - 1].n == s->n &&
            memcmp(sets[n_sets - 1].ts, s->ts, s->n * sizeof *s->ts) == 0)
            continue; /* collectors send all series of a round with one time */
        sets[n_sets++] = (struct qry_stamps){.ts = s->ts, .n = s->n};
    }
    int rc = qry_stamps_union(sets, n_sets, budget, out, err);
    for (size_t i = 0; i < n_sets; i++)
        qry_stamps_release(&sets[i]);
    ts_budget_free(budget->memory, sets, n * sizeof *sets);
    return rc;
}

/* First place in g from lo on whose time is not below t. */
static size_t lower_bound(const struct qry_stamps *g, size_t lo, int64_t t)
{
    size_t step = 1, hi = lo;
    while (hi < g->n && g->ts[hi] < t) {
        lo = hi + 1;
        hi += step;
        step *= 2;
    }
    if (hi > g->n)
        hi = g->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->ts[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void qry_align_places(const struct qry_stamps *g, const int64_t *ts, size_t n, size_t *at)
{
    size_t p = n ? lower_bound(g, 0, ts[0]) : 0;
    if (n && p + n <= g->n && memcmp(g->ts + p, ts, n * sizeof *ts) == 0) {
        for (size_t k = 0; k < n; k++)
            at[k] = p + k;
        return;
    }
    for (size_t k = 0; k < n; k++) {
        p = lower_bound(g, p, ts[k]);
        at[k] = p;
    }
}

/* Between two points of a series, places from..to of the grid. */
static void gap_f64(enum qry_interp interp, const int64_t *grid, size_t from, size_t to, double y0, double y1,
                    double *out)
{
    double fill;
    int64_t x0 = grid[from];
    double dx = (double)(grid[to] - x0), dy = y1 - y0;
    switch (interp) {
    case QRY_INTERP_LERP:
        for (size_t p = from + 1; p < to; p++)
            out[p - from - 1] = y0 + (double)(grid[p] - x0) * dy / dx;
        return;
    case QRY_INTERP_ZIM:
        fill = 0;
        break;
    case QRY_INTERP_MAX:
        fill = DBL_MAX;
        break;
    case QRY_INTERP_MIN:
        fill = -DBL_MAX;
        break;
    default:
        fill = y0;
    }
    for (size_t p = from + 1; p < to; p++)
        out[p - from - 1] = fill;
}

static void gap_i64(enum qry_interp interp, const int64_t *grid, size_t from, size_t to, int64_t y0,
                    int64_t y1, int64_t *out)
{
    int64_t fill;
    int64_t x0 = grid[from], dx = grid[to] - x0;
    __int128 dy = (__int128)y1 - y0;
    switch (interp) {
    case QRY_INTERP_LERP:
        /* 128 bits in between: OpenTSDB's 64 overflow on byte counters; the quotient is cut toward zero */
        for (size_t p = from + 1; p < to; p++)
            out[p - from - 1] = (int64_t)(y0 + (grid[p] - x0) * dy / dx);
        return;
    case QRY_INTERP_ZIM:
        fill = 0;
        break;
    case QRY_INTERP_MAX:
        fill = INT64_MAX;
        break;
    case QRY_INTERP_MIN:
        fill = INT64_MIN;
        break;
    default:
        fill = y0;
    }
    for (size_t p = from + 1; p < to; p++)
        out[p - from - 1] = fill;
}

/* Values of 8 bytes to their places in out; false: there are no gaps between them. */
static bool put_values(const size_t *at, const void *v, size_t n, void *out)
{
    const uint64_t *from = v;
    uint64_t *to = out;
    size_t base = at[0];
    if (at[n - 1] - base + 1 == n) {
        memcpy(to, from, n * sizeof *to);
        return false;
    }
    for (size_t k = 0; k < n; k++)
        to[at[k] - base] = from[k];
    return true;
}

void qry_expand_f64(enum qry_interp interp, const int64_t *grid, const size_t *at, const double *v, size_t n,
                    double *out)
{
    size_t base = at[0], last = put_values(at, v, n, out) ? n - 1 : 0;
    for (size_t k = 0; k < last; k++)
        if (at[k + 1] - at[k] > 1)
            gap_f64(interp, grid, at[k], at[k + 1], v[k], v[k + 1], out + (at[k] - base) + 1);
}

void qry_expand_i64(enum qry_interp interp, const int64_t *grid, const size_t *at, const int64_t *v, size_t n,
                    int64_t *out)
{
    size_t base = at[0], last = put_values(at, v, n, out) ? n - 1 : 0;
    for (size_t k = 0; k < last; k++)
        if (at[k + 1] - at[k] > 1)
            gap_i64(interp, grid, at[k], at[k + 1], v[k], v[k + 1], out + (at[k] - base) + 1);
}

void qry_align_doubles(const struct qry_span *s, const size_t *at, uint8_t *flags)
{
    if (!s->n || !s->any_dbl)
        return;
    if (!s->any_int) {
        memset(flags, 1, at[s->n - 1] + 1);
        return;
    }
    if (!s->is_int[0])
        memset(flags, 1, at[0]);
    for (size_t k = 0; k < s->n; k++) {
        bool dbl = !s->is_int[k] || (k + 1 < s->n && !s->is_int[k + 1]);
        size_t to = k + 1 < s->n ? at[k + 1] : at[k] + 1;
        if (dbl)
            memset(flags + at[k], 1, to - at[k]);
    }
}
