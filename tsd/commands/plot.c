/*
 * plot.c - the script for gnuplot.
 *
 * Totals that can be added are stacked bars (one bar a day or an hour), other totals and plain series are
 * lines; a breakdown without time is horizontal bars, largest on top.
 *
 * Threads    see plot.h
 * Not here   what the series are (plotdata.c), the process (format/gnuplot.c)
 */
#include "tsd/commands/plot.h"

#include "base/mem.h"
#include "base/num.h"
#include "tsd/format/picture.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLOT_WIDTH      1200
#define PLOT_HEIGHT     640
#define PLOT_TIMEOUT_MS 600000 /* for gnuplot */
#define PLOT_MAX_BESIDE 200    /* bars side by side; more are lines */
#define PLOT_GAP_TIMES  5      /* a gap of so many usual distances ends a line */

/* Ten colours that colour-blind people distinguish as well as any ten, and grey for the rest. */
static const unsigned colours[TSD_PLOT_MAX_SERIES] = {0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0x76b7b2,
                                                      0xedc948, 0xb07aa1, 0xff9da7, 0x9c755f, 0x2f4b7c};
#define PLOT_GREY   0xbab0acu
#define PLOT_GROUND "#ececec"          /* behind lines of partial intervals */
#define PLOT_HATCH  "pattern 4 border" /* of bars of partial intervals */
#define PLOT_PALE   0.55               /* share of white in the colour of what was before */

/* --- the script --- */

enum tsd_plot_form tsd_plot__form(const struct tsd_plot *p)
{
    size_t n_bars = 0;
    bool negative = false;
    if (p->axis != TSD_PLOT_DAYS && p->axis != TSD_PLOT_HOURS)
        return TSD_PLOT_LINES;
    for (size_t i = 0; i < p->n; i++) {
        n_bars += p->series[i].n;
        for (size_t k = 0; k < p->series[i].n; k++)
            negative |= p->series[i].y[k] < 0;
    }
    if (p->additive && !negative)
        return TSD_PLOT_STACKED;
    return p->sums && p->compared && n_bars <= PLOT_MAX_BESIDE ? TSD_PLOT_BESIDE : TSD_PLOT_LINES;
}

static void script_head(const struct tsd_plot *p, size_t height, struct ts_buf *out)
{
    ts_buf_printf(out, "set terminal %s size %d,%zu noenhanced font 'DejaVu Sans,10' background '#ffffff'\n",
                  p->svg ? "svg" : "pngcairo", PLOT_WIDTH, height);
    ts_buf_str(out, "set encoding utf8\nset title ");
    tsd_gnuplot_quote(p->title, out);
    ts_buf_str(
        out, " font 'DejaVu Sans,13' textcolor rgb '#333333'\n"
             "set border 3 linecolor rgb '#888888'\nset tics nomirror out scale 0.5 textcolor rgb '#444444'\n"
             "set grid ytics linetype 1 linecolor rgb '#e4e4e4'\nset style fill solid 1.0 noborder\n"
             "set datafile missing 'NaN'\n");
    if (p->n > 1)
        ts_buf_str(out, "set key outside right top vertical Left reverse samplen 1 spacing 1.25 textcolor "
                        "rgb '#333333'\n");
    else if (p->n_partial)
        ts_buf_str(
            out,
            "set key above right horizontal Left reverse samplen 1 textcolor rgb '#333333'\nset rmargin 4\n");
    else
        ts_buf_str(out, "set key off\nset rmargin 4\n");
}

size_t tsd_plot__times(const struct tsd_plot *p, int64_t **out_x)
{
    size_t all = 1, n = 0;
    for (size_t i = 0; i < p->n; i++)
        all += p->series[i].n;
    int64_t *x = ts_xmalloc(all * sizeof(*x)), *merged = ts_xmalloc(all * sizeof(*merged));
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        size_t a = 0, b = 0, m = 0;
        while (a < n || b < s->n) {
            int64_t next = b == s->n || (a < n && x[a] <= s->x_s[b]) ? x[a++] : s->x_s[b++];
            if (m == 0 || merged[m - 1] != next)
                merged[m++] = next;
        }
        int64_t *swap = x;
        x = merged;
        merged = swap;
        n = m;
    }
    ts_free(merged);
    *out_x = x;
    return n;
}

void tsd_plot__extent(const struct tsd_plot *p, bool stacked, double *out_min, double *out_max)
{
    *out_min = INFINITY;
    *out_max = -INFINITY;
    int64_t *x;
    size_t n = stacked ? tsd_plot__times(p, &x) : 0;
    double *sum = stacked ? ts_xcalloc(n + 1, sizeof(*sum)) : NULL;
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        for (size_t k = 0, at = 0; k < s->n; k++) {
            if (isnan(s->y[k]))
                continue;
            double v = s->y[k];
            while (stacked && x[at] < s->x_s[k])
                at++;
            if (stacked)
                v = sum[at] += v;
            *out_min = fmin(*out_min, v);
            *out_max = fmax(*out_max, v);
        }
    }
    if (stacked) {
        ts_free(x);
        ts_free(sum);
    }
}

/* Numbers beside the axis of values, and their unit, if the numbers do not say it. */
static void script_value_axis(const struct tsd_plot *p, const char *name, bool stacked, bool from_zero,
                              struct ts_buf *out)
{
    double min, max;
    struct tsd_axis axis;
    tsd_plot__extent(p, stacked, &min, &max);
    tsd_axis_choose(min, max, from_zero, p->unit, &axis);
    tsd_axis_script(&axis, name, out);
    if (!p->unit[0] || axis.has_unit)
        return;
    ts_buf_printf(out, "set %slabel ", name);
    tsd_gnuplot_quote(p->unit, out);
    ts_buf_str(out, " textcolor rgb '#444444'\n");
}

static unsigned plot_pale(unsigned colour)
{
    unsigned pale = 0;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        unsigned part = colour >> shift & 0xff;
        pale |= (part + (unsigned)((255 - part) * PLOT_PALE)) << shift;
    }
    return pale;
}

/* From light to dark, for the hours of a day. */
static unsigned plot_ramp(size_t i, size_t n)
{
    unsigned light = 0xc6dbef, dark = 0x08306b, mixed = 0;
    double share = n > 1 ? (double)i / (double)(n - 1) : 1;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        double a = light >> shift & 0xff, b = dark >> shift & 0xff;
        mixed |= (unsigned)(a + (b - a) * share) << shift;
    }
    return mixed;
}

static void script_colour(const struct tsd_plot *p, const struct tsd_plot_series *s, struct ts_buf *out)
{
    unsigned colour = s->colour == TSD_PLOT_GREY ? PLOT_GREY
                      : p->columns_in_order && p->n_colours > TSD_PLOT_MAX_SERIES
                          ? plot_ramp(s->colour, p->n_colours)
                          : colours[s->colour % TSD_PLOT_MAX_SERIES];
    ts_buf_printf(out, "linecolor rgb '#%06x'", s->before ? plot_pale(colour) : colour);
}

static int plot_cmp_gaps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int64_t tsd_plot__gap_s(const struct tsd_plot_series *s)
{
    if (s->gap_s)
        return s->gap_s;
    if (s->n < 3)
        return INT64_MAX;
    int64_t *gaps = ts_xmalloc(s->n * sizeof(*gaps));
    for (size_t k = 1; k < s->n; k++)
        gaps[k - 1] = s->x_s[k] - s->x_s[k - 1];
    qsort(gaps, s->n - 1, sizeof(*gaps), plot_cmp_gaps);
    int64_t usual = gaps[(s->n - 1) / 2];
    ts_free(gaps);
    return usual > INT64_MAX / PLOT_GAP_TIMES ? INT64_MAX : (usual > 0 ? usual : 1) * PLOT_GAP_TIMES;
}

static void script_point(int64_t x_s, double y, struct ts_buf *out)
{
    ts_buf_printf(out, "%lld ", (long long)x_s);
    tsd_gnuplot_number(y, out);
    ts_buf_char(out, '\n');
}

/* Points of a series; an empty line, which ends gnuplot's line, where there are none for long. A step ends with its interval. */
static void script_points(const struct tsd_plot *p, size_t at, struct ts_buf *out)
{
    const struct tsd_plot_series *s = &p->series[at];
    int64_t gap_s = tsd_plot__gap_s(s);
    bool steps = p->axis == TSD_PLOT_HOURS;
    ts_buf_printf(out, "$d%zu << EOD\n", at);
    for (size_t k = 0; k < s->n; k++) {
        bool last = k + 1 == s->n || s->x_s[k + 1] - s->x_s[k] > gap_s;
        script_point(tsd_plot__middle_s(p, s->x_s[k]), s->y[k], out);
        if (last && steps)
            script_point(tsd_plot__next_s(p, s->x_s[k]), s->y[k], out);
        if (last && k + 1 < s->n)
            ts_buf_char(out, '\n');
    }
    ts_buf_str(out, "EOD\n");
}

static void script_title(const struct tsd_plot *p, const struct tsd_plot_series *s, struct ts_buf *out)
{
    if (p->n == 1) {
        ts_buf_str(out, " notitle");
        return;
    }
    ts_buf_str(out, " title ");
    tsd_gnuplot_quote(s->name, out);
}

/* The end of a plot: what the look of partial intervals means. */
static void script_partial_key(const struct tsd_plot *p, const char *look, struct ts_buf *out)
{
    if (p->n_partial)
        ts_buf_printf(out, ", keyentry with boxes %s title 'partial interval'", look);
    ts_buf_char(out, '\n');
}

bool tsd_plot__is_partial(const struct tsd_plot *p, int64_t x_s)
{
    for (size_t i = 0; i < p->n_partial; i++)
        if (p->partial_s[i] == x_s)
            return true;
    return false;
}

/* A grey ground behind partial intervals, for lines. */
static void script_partial_ground(const struct tsd_plot *p, struct ts_buf *out)
{
    for (size_t i = 0; i < p->n_partial; i++)
        ts_buf_printf(
            out,
            "set object rectangle from %lld, graph 0 to %lld, graph 1 behind fillcolor rgb '" PLOT_GROUND
            "' fillstyle solid noborder\n",
            (long long)p->partial_s[i], (long long)tsd_plot__next_s(p, p->partial_s[i]));
}

/* Lines, one a series; a hole in the data is a hole in the line. */
static void script_lines(const struct tsd_plot *p, struct ts_buf *out)
{
    script_partial_ground(p, out);
    for (size_t i = 0; i < p->n; i++)
        script_points(p, i, out);
    ts_buf_str(out, "plot ");
    for (size_t i = 0; i < p->n; i++) {
        const char *style = p->axis == TSD_PLOT_HOURS ? "steps"
                            : p->series[i].n <= 60    ? "linespoints pointtype 7 pointsize 0.6"
                                                      : "lines";
        ts_buf_printf(out, "%s$d%zu using 1:2 with %s linewidth 1.6 ", i ? ", " : "", i, style);
        script_colour(p, &p->series[i], out);
        script_title(p, &p->series[i], out);
    }
    script_partial_key(p, "linecolor rgb '" PLOT_GROUND "'", out);
}

/* One bar: left and right end, from, to. */
static void script_bar(double left, double right, double from, double to, struct ts_buf *out)
{
    const double v[] = {left, right, from, to};
    for (size_t i = 0; i < 4; i++) {
        tsd_gnuplot_number(v[i], out);
        ts_buf_char(out, i < 3 ? ' ' : '\n');
    }
}

/* Plot what script_bar wrote; bars of partial intervals, $pN, are hatched. */
static void script_plot_bars(const struct tsd_plot *p, struct ts_buf *out)
{
    ts_buf_str(out, "plot ");
    for (size_t i = 0; i < p->n; i++) {
        ts_buf_printf(out, "%s$d%zu using 1:3:1:2:3:4 with boxxyerror ", i ? ", " : "", i);
        script_colour(p, &p->series[i], out);
        script_title(p, &p->series[i], out);
        if (!p->n_partial)
            continue;
        ts_buf_printf(out, ", $p%zu using 1:3:1:2:3:4 with boxxyerror ", i);
        script_colour(p, &p->series[i], out); /* behind "border" it would be the colour of the border alone */
        ts_buf_str(out, " fillstyle " PLOT_HATCH " notitle");
    }
    script_partial_key(p, "linecolor rgb '#666666' fillstyle " PLOT_HATCH, out);
}

/* Bars of an interval, each from the sum of those before it to the sum with it, or side by side. */
static void script_bars(const struct tsd_plot *p, bool stacked, struct ts_buf *out)
{
    int64_t *x;
    size_t n = tsd_plot__times(p, &x);
    double *sum = ts_xcalloc(n + 1, sizeof(*sum));
    struct ts_buf partial;
    ts_buf_init(&partial, 0);
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        ts_buf_printf(out, "$d%zu << EOD\n", i);
        ts_buf_clear(&partial);
        for (size_t k = 0, at = 0; k < s->n; k++) {
            while (x[at] < s->x_s[k])
                at++;
            if (isnan(s->y[k]))
                continue;
            double length_s = (double)(tsd_plot__next_s(p, s->x_s[k]) - s->x_s[k]);
            double gap_s = length_s * (p->axis == TSD_PLOT_DAYS || !stacked ? 0.15 : 0.03);
            double left = (double)s->x_s[k] + gap_s, width = length_s - 2 * gap_s;
            if (!stacked) {
                width /= (double)p->n;
                left += width * (double)i;
            }
            script_bar(left, left + width, sum[at], sum[at] + s->y[k],
                       tsd_plot__is_partial(p, s->x_s[k]) ? &partial : out);
            if (stacked)
                sum[at] += s->y[k];
        }
        ts_buf_str(out, "EOD\n");
        if (p->n_partial) {
            ts_buf_printf(out, "$p%zu << EOD\n", i);
            ts_buf_slice(out, ts_buf_get(&partial));
            ts_buf_str(out, "EOD\n");
        }
    }
    ts_buf_release(&partial);
    script_plot_bars(p, out);
    ts_free(x);
    ts_free(sum);
}

/* Bars without an axis of time: a group for each row, below each other from the top, or side by side. */
static void script_names(const struct tsd_plot *p, struct ts_buf *out)
{
    const char *rows = p->upright ? "x" : "y", *values = p->upright ? "y" : "x";
    double width = p->n ? (p->n > 1 ? 0.8 : 0.7) / (double)p->n : 0;
    script_value_axis(p, values, false, true, out);
    ts_buf_printf(out, "set grid no%stics %stics linetype 1 linecolor rgb '#e4e4e4'\nset %stics scale 0 (",
                  rows, values, rows);
    for (size_t i = 0; i < p->n_rows; i++) {
        ts_buf_str(out, i ? ", " : "");
        tsd_gnuplot_tic(p->rows[i].name, out);
        ts_buf_printf(out, " %zu", i);
    }
    ts_buf_printf(out, p->upright ? ")\nset xrange [-0.6:%zu.6]\n" : ")\nset yrange [%zu.6:-0.6]\n",
                  p->n_rows ? p->n_rows - 1 : 0);
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        ts_buf_printf(out, "$d%zu << EOD\n", i);
        for (size_t k = 0; k < s->n; k++) {
            double from = (double)s->x_s[k] + width * ((double)i - (double)p->n / 2), v = s->y[k];
            if (isnan(v))
                continue;
            if (p->upright)
                script_bar(from, from + width, 0, v, out);
            else
                script_bar(v < 0 ? v : 0, v < 0 ? 0 : v, from, from + width, out);
        }
        ts_buf_str(out, "EOD\n");
    }
    script_plot_bars(p, out);
}

void tsd_plot_script(const struct tsd_plot *p, struct ts_buf *out)
{
    bool names = p->axis == TSD_PLOT_NAMES;
    size_t row_px = p->n > 1 ? 10 + 12 * p->n : 22, height = 120 + p->n_rows * row_px, key = 80 + p->n * 18;
    script_head(p, !names || p->upright ? PLOT_HEIGHT : height > key ? height : key, out);
    if (names) {
        script_names(p, out);
        return;
    }
    enum tsd_plot_form form = tsd_plot__form(p);
    tsd_plot__time_axis(p, out);
    script_value_axis(p, "y", form == TSD_PLOT_STACKED, form != TSD_PLOT_LINES || p->sums, out);
    if (form == TSD_PLOT_LINES)
        script_lines(p, out);
    else
        script_bars(p, form == TSD_PLOT_STACKED, out);
}

/* --- the file --- */

/* The finished picture into its file: a failure before this leaves an older picture alone. */
static int plot_copy(FILE *from, const char *path, struct ts_error *err)
{
    char piece[16384];
    size_t n;
    FILE *to = fopen(path, "wbe");
    if (!to)
        return ts_error_sys(err, TS_EIO, errno, "%s: can't be written", path);
    rewind(from);
    while ((n = fread(piece, 1, sizeof(piece), from)) > 0 && fwrite(piece, 1, n, to) == n)
        ;
    int e = errno;
    bool bad = ferror(from) || ferror(to);
    if (fclose(to) != 0 && !bad) {
        e = errno;
        bad = true;
    }
    return bad ? ts_error_sys(err, TS_EIO, e, "%s: can't be written", path) : 0;
}

int tsd_plot_kind(const char *path, bool *out_svg, struct ts_error *err)
{
    static const char *const others[] = {".pdf", ".jpg", ".jpeg", ".gif", ".webp",
                                         ".eps", ".ps",  ".html", ".bmp"};
    const char *dot = strrchr(path, '.');
    *out_svg = dot && strcasecmp(dot, ".svg") == 0;
    for (size_t i = 0; dot && i < sizeof(others) / sizeof(others[0]); i++)
        if (strcasecmp(dot, others[i]) == 0)
            return ts_error_set(err, TS_EINVAL,
                                "pictures are FILE.png, FILE.svg, or - for one in the terminal, not %s",
                                path);
    return 0;
}

int tsd_plot_any(const struct tsd_plot *p, struct ts_error *err)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->series[i].n; k++)
            if (!isnan(p->series[i].y[k]))
                return 0;
    return ts_error_set(err, TS_ENOTFOUND, "there are no points to draw");
}

int tsd_plot_draw(const struct tsd_plot *p, const char *path, struct ts_error *err)
{
    struct ts_buf script;
    TS_TRY(tsd_plot_any(p, err));
    FILE *picture = NULL;
    ts_buf_init(&script, 0);
    tsd_plot_script(p, &script);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = tsd_gnuplot_run(ts_buf_get(&script), PLOT_TIMEOUT_MS, NULL, &picture, err);
    signal(SIGPIPE, old);
    ts_buf_release(&script);
    if (rc == 0)
        rc = plot_copy(picture, path, err);
    if (picture)
        fclose(picture);
    return rc;
}
