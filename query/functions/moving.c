/*
 * moving.c - movingAverage(q, n) and movingAverage(q, '10min').
 *
 * The window of a point is it and the points before it that are no NaN: n of them, or those that are less than
 * the window's length before it. While there are fewer than n, or no point so far back as the window is long,
 * the answer is 0. Windows only move forward, so sums are kept as two parts: a running sum of what came since
 * a cut, and sums from each point up to the cut. Nothing is ever subtracted, so nothing is lost.
 *
 * Cost       O(points), whatever the window
 * Source     docs/OPENTSDB.md, section 8.1, E59, E60
 */
#include "query/functions/function.h"

#include "base/double.h"

#include <math.h>
#include <string.h>

/* What the word says: one of the two is not 0. */
struct window {
    int64_t n, ms;
};

static int window_of(const struct qry_function *f, struct ts_slice word, struct window *out,
                     struct ts_error *err)
{
    bool digits = word.n > 0;
    *out = (struct window){0};
    for (size_t i = 0; i < word.n; i++)
        digits = digits && word.p[i] >= '0' && word.p[i] <= '9';
    return digits ? qry_function__count(f, word, &out->n, err) : qry_function__window(word, &out->ms, err);
}

static int moving_check(const struct qry_function *f, const struct qry_fn_args *args, bool compat,
                        int64_t *out_shift_ms, struct ts_error *err)
{
    struct window win;
    (void)compat, (void)out_shift_ms;
    return window_of(f, args->words[0], &win, err);
}

/* Points that are numbers, and sums over a window of them that moves forward. */
struct sums {
    struct window win;
    size_t n;       /* points so far */
    size_t from;    /* first point of the window */
    size_t cut;     /* upto[] holds sums of points k..cut for k in from..cut */
    double since;   /* sum of points cut..n */
    int64_t *ts_ms; /* [n] */
    double *v;      /* [n] */
    double *upto;   /* [n] */
};

static double window_sum(struct sums *s)
{
    if (s->from >= s->cut) {
        double sum = 0;
        for (size_t k = s->n; k-- > s->from;)
            s->upto[k] = sum += s->v[k];
        s->cut = s->n;
        s->since = 0;
    }
    return s->upto[s->from] + s->since;
}

/* Does a whole window end at the newest point? Then from is moved to its first point. */
static bool window_is_full(struct sums *s, const struct window *win)
{
    if (win->n) {
        if (s->n < (uint64_t)win->n)
            return false;
        s->from = s->n - (size_t)win->n;
        return true;
    }
    int64_t newest = s->ts_ms[s->n - 1];
    while (newest - s->ts_ms[s->from] >= win->ms)
        s->from++;
    return s->from > 0;
}

static void average(void *arg, struct qry_col *c, uint64_t *out)
{
    struct sums *s = arg;
    s->n = s->from = s->cut = 0;
    s->since = 0;
    for (size_t k = 0; k < c->n; k++) {
        double d = qry_col_double(c, k), mean = 0;
        if (!isnan(d)) {
            s->ts_ms[s->n] = c->ts_ms[k];
            s->v[s->n++] = d;
            s->since += d;
        }
        if (s->n && window_is_full(s, &s->win))
            mean = window_sum(s) / (double)(s->n - s->from);
        out[k] = ts_double_bits(mean);
    }
    c->is_int = NULL;
    c->all_int = false;
}

static int moving_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                        struct qry_cols *out, struct ts_error *err)
{
    const struct qry_cols *set = args->sets[0];
    struct sums s = {0};
    size_t longest = 0;
    TS_TRY(window_of(f, args->words[0], &s.win, err));
    for (size_t i = 0; i < set->n; i++)
        longest = set->col[i].n > longest ? set->col[i].n : longest;
    TS_TRY(qry_work_take(w, longest, sizeof *s.ts_ms, &s.ts_ms, err));
    TS_TRY(qry_work_take(w, longest, sizeof *s.v, &s.v, err));
    TS_TRY(qry_work_take(w, longest, sizeof *s.upto, &s.upto, err));
    return qry_function__map(w, set, average, &s, out, err);
}

const struct qry_function qry_function_movingAverage = {
    .name = "movingAverage",
    .min_sets = 1,
    .max_sets = 1,
    .n_words = 1,
    .check = moving_check,
    .apply = moving_apply,
    .usage = "movingAverage(query, n | '10min')",
    .help = "Mean of the last n points, or of a window of time; 0 until there are enough."};
