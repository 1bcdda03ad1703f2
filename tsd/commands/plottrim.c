/*
 * plottrim.c - what of an answer a picture shows: the largest rows and series, in which order and colours.
 *
 * Threads    see plot.h
 */
#include "tsd/commands/plot.h"

#include "base/mem.h"
#include "tsd/format/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLOT_NAME_CHARS  44  /* of a name beside a bar or in the key */
#define PLOT_MAX_GROUPED 120 /* bars in groups without a time axis */

/* The rest of a table, "(others)" or "b.org, (others)", comes last. */
static bool trim_is_others(const char *name)
{
    return strstr(name, "(others)") != NULL || strncmp(name, "others (", 8) == 0;
}

static int trim_heavier(const char *name_a, double a, const char *name_b, double b)
{
    bool last = trim_is_others(name_a);
    if (last != trim_is_others(name_b))
        return last ? 1 : -1;
    return a > b ? -1 : a < b ? 1 : strcmp(name_a, name_b);
}

/* " (bytes)" behind the names of columns says what the axis says already. */
static void trim_unit(char *name, const char *unit)
{
    size_t n = strlen(name), n_unit = strlen(unit);
    if (n_unit && n > n_unit + 3 && name[n - 1] == ')' && memcmp(name + n - n_unit - 3, " (", 2) == 0 &&
        memcmp(name + n - n_unit - 1, unit, n_unit) == 0)
        name[n - n_unit - 3] = 0;
}

/* Names of series that are drawn, without what all have in common. The title has the metrics. */
static void trim_common(struct tsd_plot *p)
{
    char *names[TSD_PLOT_MAX_SERIES + 1];
    size_t n = p->n;
    if (!p->named || n > TSD_PLOT_MAX_SERIES + 1)
        return;
    if (n && trim_is_others(p->series[n - 1].name)) /* the sum of the rest has no tags */
        n--;
    for (size_t i = 0; i < n; i++)
        names[i] = p->series[i].name;
    tsd_legend_own(names, n);
    for (size_t i = 0; i < n; i++)
        p->series[i].name = names[i];
}

/* --- rows --- */

static int trim_cmp_rows(const void *a, const void *b)
{
    const struct tsd_plot_row *x = a, *y = b;
    return trim_heavier(x->name, x->weight, y->name, y->weight);
}

/* Values of a series in the order of the rows, at[i] is the new place of row i; rows from number `max` on go into the last one. */
static void trim_place(struct tsd_plot_series *s, const size_t *at, size_t n_rows, size_t max, bool rest)
{
    size_t n = max + rest;
    int64_t *x = ts_xmalloc((n + 1) * sizeof(*x));
    double *y = ts_xmalloc((n + 1) * sizeof(*y));
    for (size_t i = 0; i < n; i++) {
        x[i] = (int64_t)i;
        y[i] = NAN;
    }
    for (size_t k = 0; k < s->n; k++) {
        size_t row = (size_t)s->x_s[k] < n_rows ? at[s->x_s[k]] : n;
        if (row >= max)
            row = max;
        if (row < n && !isnan(s->y[k]))
            y[row] = isnan(y[row]) ? s->y[k] : y[row] + s->y[k];
    }
    ts_free(s->x_s);
    ts_free(s->y);
    s->x_s = x;
    s->y = y;
    s->n = s->cap = n;
}

/* Keep the first rows by weight, or as they come; sums of the rest become one more. */
static void trim_rows(struct tsd_plot *p, size_t max)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->series[i].n; k++)
            if (!isnan(p->series[i].y[k]))
                p->rows[p->series[i].x_s[k]].weight += fabs(p->series[i].y[k]);
    if (p->n_rows && !p->in_order)
        qsort(p->rows, p->n_rows, sizeof(*p->rows), trim_cmp_rows);
    size_t *at = ts_xmalloc((p->n_rows + 1) * sizeof(*at)), n = p->n_rows;
    for (size_t i = 0; i < n; i++)
        at[p->rows[i].at] = i;
    bool rest = n > max + 1 && (p->additive || p->sums);
    if (n <= max + 1)
        max = n;
    for (size_t i = 0; i < p->n; i++)
        trim_place(&p->series[i], at, n, max, rest);
    ts_free(at);
    for (size_t i = max; i < n; i++)
        ts_free(p->rows[i].name);
    p->n_rows = max;
    if (rest) {
        char name[40];
        (void)snprintf(name, sizeof(name), "others (%zu)", n - max);
        p->rows[p->n_rows++] = (struct tsd_plot_row){.name = ts_xstrdup(name)};
    } else {
        p->n_left_out = n - max;
    }
    p->n_shown = max;
    for (size_t i = 0; i < p->n_rows; i++)
        tsd_legend_cut(p->rows[i].name, PLOT_NAME_CHARS);
}

/* --- series --- */

static int trim_cmp_series(const void *a, const void *b)
{
    const struct tsd_plot_series *x = a, *y = b;
    return trim_heavier(x->name, x->weight, y->name, y->weight);
}

/* Sum of the series from number `from` on, as one. */
static struct tsd_plot_series trim_rest(const struct tsd_plot *p, size_t from)
{
    struct tsd_plot_series rest = {0};
    char name[40];
    for (size_t i = from; i < p->n; i++)
        for (size_t k = 0; k < p->series[i].n; k++)
            if (!isnan(p->series[i].y[k]))
                tsd_plot__add(&rest, p->series[i].x_s[k], p->series[i].y[k]);
    tsd_plot__by_time(&rest);
    size_t n = 0;
    for (size_t k = 0; k < rest.n; k++) {
        if (n && rest.x_s[n - 1] == rest.x_s[k]) {
            rest.y[n - 1] += rest.y[k];
            continue;
        }
        rest.x_s[n] = rest.x_s[k];
        rest.y[n++] = rest.y[k];
    }
    rest.n = n;
    (void)snprintf(name, sizeof(name), "others (%zu)", p->n - from);
    rest.name = ts_xstrdup(name);
    return rest;
}

/* Remove the series from number `from` on. */
static void trim_drop(struct tsd_plot *p, size_t from)
{
    for (size_t i = from; i < p->n; i++) {
        ts_free(p->series[i].name);
        ts_free(p->series[i].x_s);
        ts_free(p->series[i].y);
    }
    p->n = from < p->n ? from : p->n;
}

/* Now and before have one colour; series without points have used theirs up and go. */
static void trim_colour(struct tsd_plot *p, size_t per)
{
    size_t n = 0;
    trim_common(p);
    for (size_t i = 0; i < p->n; i++) {
        struct tsd_plot_series *s = &p->series[i];
        trim_unit(s->name, p->unit);
        bool grey = trim_is_others(s->name) || (i / per >= TSD_PLOT_MAX_SERIES && !p->columns_in_order);
        s->colour = grey ? TSD_PLOT_GREY : i / per;
        tsd_legend_cut(s->name, PLOT_NAME_CHARS);
    }
    p->n_colours = p->n / per;
    for (size_t i = 0; i < p->n; i++) {
        struct tsd_plot_series s = p->series[i];
        p->series[i] = p->series[n];
        p->series[n] = s;
        n += s.n > 0;
    }
    trim_drop(p, n);
}

void tsd_plot_trim(struct tsd_plot *p)
{
    const size_t per = p->compared ? 2 : 1, all = p->n / per;
    const size_t max = p->columns_in_order ? 24 : TSD_PLOT_MAX_SERIES / per;
    bool names = p->axis == TSD_PLOT_NAMES, many = all > max + 1;
    bool by_size = many || p->columns_by_size ||
                   (!names && p->axis != TSD_PLOT_TIMES); /* others stay in the order of the answer */
    if (p->n && !p->columns_in_order && by_size)
        qsort(p->series, all, per * sizeof(*p->series), trim_cmp_series);
    if (many) {
        bool sum = p->additive;
        struct tsd_plot_series rest = {0};
        if (sum)
            rest = trim_rest(p, max * per);
        else
            p->n_left_out = all - max;
        trim_drop(p, max * per);
        if (sum)
            p->series[p->n++] = rest;
    }
    p->n_shown = p->n / per;
    if (names) {
        size_t most = p->in_order ? TSD_PLOT_MAX_ORDERED
                      : p->n > 1  ? PLOT_MAX_GROUPED / p->n
                                  : TSD_PLOT_MAX_BARS;
        trim_rows(p, most > TSD_PLOT_MAX_BARS && !p->in_order ? TSD_PLOT_MAX_BARS : most < 4 ? 4 : most);
    }
    trim_colour(p, per);
}
