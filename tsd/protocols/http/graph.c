/*
 * graph.c - parameters of /q, strictly: a whole value is of the form wanted or it is refused.
 *
 * Threads    any
 * Not here   the query and the reply (ep_graph.c), the process (format/gnuplot.c)
 */
#include "tsd/protocols/http/graph.h"

#include "base/mem.h"
#include "base/text.h"
#include "tsd/format/picture.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAPH_MIN_PX       100
#define GRAPH_MAX_PX       8192
#define GRAPH_WEEK_S       604800
#define GRAPH_KEY_RIGHT_PX 600 /* a picture of this width can have a legend beside the plot */
#define GRAPH_ROW_PX       20  /* of the legend */
#define GRAPH_LABELS_PX    200 /* title, labels of time and margins */
#define GRAPH_SMALL_PX     250 /* a picture less high has no legend and gnuplot's own numbers */
#define GRAPH_FEW_LINES    10  /* more show no points */
#define GRAPH_CHAR_PX      8   /* of its letters, about */
#define GRAPH_FEW_POINTS   100 /* of a line: more are not shown one by one */
#define GRAPH_NICE_WORDS   "letters, digits, space, - _ ."

/* --- parameters --- */

/* Last value of a parameter; false if it is not given. */
static bool graph_param(const struct qry_param *params, size_t n, const char *name, struct ts_slice *out)
{
    for (size_t i = n; i-- > 0;)
        if (ts_slice_is(params[i].name, name)) {
            *out = params[i].value;
            return true;
        }
    return false;
}

static int graph_bad(struct ts_error *err, const char *name, struct ts_slice v, const char *want)
{
    return ts_error_set(err, TS_EINVAL, "'%s' was invalid: \"%.*s\" is not %s", name, TS_SHOWN(v, 80), want);
}

static bool graph_chars(struct ts_slice v, const char *more)
{
    for (size_t i = 0; i < v.n; i++)
        if (!isalnum((unsigned char)v.p[i]) && !(v.p[i] && strchr(more, v.p[i])))
            return false;
    return true;
}

static void graph_copy(struct ts_slice v, char *out)
{
    memcpy(out, v.p, v.n);
    out[v.n] = 0;
}

static bool graph_number(struct ts_slice v)
{
    struct ts_num num;
    return v.n > 0 && v.n < 24 && ts_num_parse(v, &num, NULL) == 0;
}

/* "[min:max]", either may be missing. */
static bool graph_is_range(struct ts_slice v)
{
    if (v.n < 3 || v.n > 60 || v.p[0] != '[' || v.p[v.n - 1] != ']')
        return false;
    struct ts_slice in = {v.p + 1, v.n - 2};
    const char *colon = memchr(in.p, ':', in.n);
    if (!colon)
        return false;
    struct ts_slice lo = {in.p, (size_t)(colon - in.p)}, hi = {colon + 1, in.n - (size_t)(colon - in.p) - 1};
    return (lo.n == 0 || graph_number(lo)) && (hi.n == 0 || graph_number(hi));
}

/* "%H:%M", "%.2f": conversions and the few characters that stand between them. */
static bool graph_is_format(struct ts_slice v)
{
    return v.n < 60 && graph_chars(v, "%.:/- _,+") && memchr(v.p, '%', v.n);
}

static bool graph_is_text(struct ts_slice v)
{
    return v.n < 200 && graph_chars(v, "-_ .");
}

/* Words with single blanks, each in a list of words between blanks. */
static bool graph_are_words(struct ts_slice v, const char *list)
{
    size_t n_list = strlen(list);
    if (v.n == 0 || v.n > 60)
        return false;
    while (v.n) {
        const char *blank = memchr(v.p, ' ', v.n);
        struct ts_slice one = {v.p, blank ? (size_t)(blank - v.p) : v.n};
        bool found = false;
        for (const char *p = list; !found && p < list + n_list; p += strcspn(p, " ") + 1)
            found = ts_slice_eq(one, (struct ts_slice){p, strcspn(p, " ")});
        if (!found)
            return false;
        v = blank ? (struct ts_slice){blank + 1, v.n - one.n - 1} : (struct ts_slice){v.p, 0};
    }
    return true;
}

static bool graph_is_key(struct ts_slice v)
{
    return graph_are_words(v, "out left top center right horiz box bottom");
}

static bool graph_is_smooth(struct ts_slice v)
{
    return !memchr(v.p, ' ', v.n) &&
           graph_are_words(
               v,
               "unique frequency fnormal cumulative cnormal bins csplines acsplines mcsplines bezier sbezier "
               "unwrap zsort");
}

static int graph_texts(const struct qry_param *params, size_t n, struct tsd_graph *g, struct ts_error *err)
{
    const struct {
        const char *name;
        char *out;
        bool (*ok)(struct ts_slice v);
        const char *want;
    } rows[] = {
        {"yrange", g->yrange, graph_is_range, "[min:max]"},
        {"y2range", g->y2range, graph_is_range, "[min:max]"},
        {"yformat", g->yformat, graph_is_format, "a format with %"},
        {"y2format", g->y2format, graph_is_format, "a format with %"},
        {"xformat", g->xformat, graph_is_format, "a format with %"},
        {"title", g->title, graph_is_text, GRAPH_NICE_WORDS},
        {"ylabel", g->ylabel, graph_is_text, GRAPH_NICE_WORDS},
        {"y2label", g->y2label, graph_is_text, GRAPH_NICE_WORDS},
        {"key", g->key, graph_is_key, "words of: out left top center right horiz box bottom"},
        {"smooth", g->smooth, graph_is_smooth, "a kind of smoothing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_slice v;
        if (!graph_param(params, n, rows[i].name, &v) || v.n == 0)
            continue;
        if (!rows[i].ok(v))
            return graph_bad(err, rows[i].name, v, rows[i].want);
        graph_copy(v, rows[i].out);
    }
    return 0;
}

/* "1024x768". */
static int graph_size(struct ts_slice v, struct tsd_graph *g, struct ts_error *err)
{
    const char *x = v.n ? memchr(v.p, 'x', v.n) : NULL;
    int64_t w = 0, h = 0;
    struct ts_slice a = {v.p, x ? (size_t)(x - v.p) : 0}, b = {x ? x + 1 : v.p, x ? v.n - a.n - 1 : 0};
    if (!x || ts_num_parse_int(a, &w, NULL) < 0 || ts_num_parse_int(b, &h, NULL) < 0 || w < GRAPH_MIN_PX ||
        h < GRAPH_MIN_PX || w > GRAPH_MAX_PX || h > GRAPH_MAX_PX)
        return graph_bad(err, "wxh", v, "WIDTHxHEIGHT, each from 100 to 8192");
    g->width = (unsigned)w;
    g->height = (unsigned)h;
    return 0;
}

/* "x00ff00". */
static int graph_colour(const char *name, struct ts_slice v, unsigned *out, struct ts_error *err)
{
    char text[8];
    if (v.n == sizeof(text) - 1)
        graph_copy(v, text);
    if (v.n != sizeof(text) - 1 || text[0] != 'x' || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
        return graph_bad(err, name, v, "xRRGGBB");
    *out = (unsigned)strtoul(text + 1, NULL, 16);
    return 0;
}

static int graph_style(struct ts_slice v, struct tsd_graph *g, struct ts_error *err)
{
    static const char *const styles[][2] = {
        {"linespoint", "linespoints"}, {"linespoints", "linespoints"}, {"lines", "lines"},
        {"points", "points"},          {"circles", "circles"},         {"dots", "dots"}};
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (ts_slice_is(v, styles[i][0])) {
            g->style = styles[i][1];
            return 0;
        }
    return graph_bad(err, "style", v, "linespoint, lines, points, circles or dots");
}

/* One o for each m: "", "axis x1y1" or "axis x1y2"; nothing else is honoured. */
static int graph_axes(const struct qry_param *params, size_t n, size_t n_subs, bool compat,
                      struct ts_arena *arena, struct tsd_graph *g, struct ts_error *err)
{
    size_t n_o = 0;
    g->y2 = ts_arena_zalloc(arena, n_subs + 1);
    for (size_t i = 0; i < n; i++) {
        struct ts_slice v = params[i].value;
        if (!ts_slice_is(params[i].name, "o"))
            continue;
        bool right = ts_slice_is(v, "axis x1y2");
        if (v.n && !right && !compat && !ts_slice_is(v, "axis x1y1"))
            return graph_bad(err, "o", v, "empty, axis x1y1 or axis x1y2");
        if (n_o < n_subs)
            g->y2[n_o] = right;
        g->any_y2 = g->any_y2 || right;
        n_o++;
    }
    if (n_o && n_o != n_subs)
        return ts_error_set(err, TS_EINVAL, "Missing `o' parameters, or too many: %zu for %zu of `m'", n_o,
                            n_subs);
    return 0;
}

int tsd_graph_parse(const struct qry_param *params, size_t n, size_t n_subs, bool compat,
                    struct ts_arena *arena, struct tsd_graph *out, struct ts_error *err)
{
    struct ts_slice v;
    *out = (struct tsd_graph){.compat = compat,
                              .style = compat ? "linespoints" : NULL,
                              .width = 1024,
                              .height = 768,
                              .fg = 0,
                              .bg = 0xffffff};
    if (compat)
        memcpy(out->key, "right box", 10);
    for (size_t i = 0; i < n; i++)
        if (params[i].value.n && memchr(params[i].value.p, '`', params[i].value.n))
            return ts_error_set(err, TS_EINVAL, "Parameter %.*s contained a back-tick. That's a no-no.",
                                TS_SHOWN(params[i].name, 40));
    TS_TRY(graph_texts(params, n, out, err));
    out->key_free = !compat && !out->key[0];
    if (graph_param(params, n, "nokey", &v)) {
        out->key[0] = 0;
        out->key_free = false;
    }
    out->ylog = graph_param(params, n, "ylog", &v);
    out->y2log = graph_param(params, n, "y2log", &v);
    if (graph_param(params, n, "wxh", &v))
        TS_TRY(graph_size(v, out, err));
    if (graph_param(params, n, "style", &v))
        TS_TRY(graph_style(v, out, err));
    if (graph_param(params, n, "fgcolor", &v))
        TS_TRY(graph_colour("fgcolor", v, &out->fg, err));
    if (graph_param(params, n, "bgcolor", &v))
        TS_TRY(graph_colour("bgcolor", v, &out->bg, err));
    return graph_axes(params, n, n_subs, compat, arena, out, err);
}

/* --- how long it holds --- */

/* Does a bound move with the clock? */
static bool graph_relative(const struct qry_param *params, size_t n, const char *name)
{
    struct ts_slice v;
    if (!graph_param(params, n, name, &v))
        return false;
    return memmem(v.p ? v.p : "", v.n, "ago", 3) != NULL || ts_slice_is(v, "now");
}

int64_t tsd_graph_max_age_s(const struct qry_param *params, size_t n, int64_t start_ms, int64_t end_ms,
                            int64_t now_ms)
{
    if (end_ms > now_ms)
        return 0;
    if (end_ms < now_ms - TS_HOUR_MS && !graph_relative(params, n, "start") &&
        !graph_relative(params, n, "end"))
        return 86400;
    return end_ms > start_ms ? (end_ms - start_ms) / 1000 / 1024 : 0;
}

/* --- the script --- */

/* Lines at the annotations' times, with their texts. */
static void graph_notes(const struct tsd_graph *g, struct ts_buf *out)
{
    for (size_t i = 0; i < g->n_notes; i++) {
        long long x = (long long)g->notes[i].x_s;
        ts_buf_printf(
            out,
            "set arrow from '%lld', graph 0 to '%lld', graph 1 nohead dashtype 2 linecolor rgb '#%06x'\n"
            "set label ",
            x, x, g->fg);
        tsd_gnuplot_quote(g->notes[i].text, out);
        ts_buf_printf(out,
                      " at '%lld', graph 0.02 left rotate offset character -0.8,0 textcolor rgb '#%06x'\n", x,
                      g->fg);
    }
}

static const char *graph_xformat(int64_t span_s)
{
    return span_s < 2100               ? "%H:%M:%S"
           : span_s < 86400            ? "%H:%M"
           : span_s < GRAPH_WEEK_S     ? "%a %H:%M"
           : span_s < 2 * GRAPH_WEEK_S ? "%a %d %H:%M"
           : span_s < 90 * 86400       ? "%b %d"
                                       : "%Y/%m/%d";
}

static void graph_set(struct ts_buf *out, const char *what, const char *text)
{
    if (!*text)
        return;
    ts_buf_printf(out, "set %s ", what);
    tsd_gnuplot_quote(text, out);
    ts_buf_char(out, '\n');
}

/* Numbers of the left or right axis in the unit of what is drawn there, unless the request says something else. */
static void graph_values(const struct tsd_graph *g, const struct qry_spec *spec,
                         const struct tsd_graph_line *lines, size_t n, bool right, struct ts_buf *out)
{
    const char *unit = NULL;
    double min = INFINITY, max = -INFINITY;
    struct tsd_axis axis;
    for (size_t i = 0; i < n; i++) {
        if (g->y2[lines[i].sub] != right)
            continue;
        const char *own = spec->subs ? spec->subs[lines[i].sub].unit : "";
        unit = !unit || strcmp(unit, own) == 0 ? own : "";
        for (size_t k = 0; k < lines[i].n; k++) {
            min = fmin(min, lines[i].y[k]);
            max = fmax(max, lines[i].y[k]);
        }
    }
    if (!unit || min > max)
        return;
    tsd_axis_choose(min, max, false, unit, &axis);
    tsd_axis_script(&axis, right ? "y2" : "y", out);
    if (!axis.has_unit && !*(right ? g->y2label : g->ylabel))
        graph_set(out, right ? "y2label" : "ylabel", unit);
}

static bool graph_own_numbers(const struct tsd_graph *g, bool right)
{
    return !g->compat && g->height >= GRAPH_SMALL_PX && !*g->smooth &&
           (right ? !*g->y2range && !*g->y2format && !g->y2log : !*g->yrange && !*g->yformat && !g->ylog);
}

/* The legend where nobody said where: right of the picture if that is wide, else below. */
struct graph_key {
    size_t n_rows, n_chars; /* that fit */
};
static struct graph_key graph_key(const struct tsd_graph *g, size_t n, struct ts_buf *out)
{
    bool right = g->width >= GRAPH_KEY_RIGHT_PX && n > 1;
    size_t rows = (right ? g->height - GRAPH_LABELS_PX : g->height / 4) / GRAPH_ROW_PX;
    size_t chars = (right ? g->width / 3 : g->width - 40) / GRAPH_CHAR_PX;
    ts_buf_printf(out, "set key outside %s vertical maxcols 1 Left reverse samplen 2 textcolor rgb '#%06x'\n",
                  right ? "right top" : "below", g->fg);
    return (struct graph_key){rows > 1 ? rows : 1, chars > 12 ? chars - 6 : 6};
}

/* Names as the legend shows them: unchanged, or reduced to what distinguishes them and shortened to the
 * available space. */
static char **graph_names(const struct tsd_graph_line *lines, size_t n, const struct graph_key *key)
{
    char **names = ts_xcalloc(n + 1, sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = ts_xstrdup(lines[i].name);
    if (key)
        tsd_legend_own(names, n);
    for (size_t i = 0; i < n && key; i++)
        tsd_legend_cut(names[i], key->n_chars);
    return names;
}

/* The command that draws the lines. key: space for the legend; NULL: gnuplot places it as requested. */
static void graph_plot(const struct tsd_graph *g, const struct tsd_graph_line *lines, size_t n,
                       const struct graph_key *key, struct ts_buf *out)
{
    size_t shown = key && key->n_rows < n ? key->n_rows - 1 : n;
    char **names = graph_names(lines, n, key);
    ts_buf_str(out, "plot ");
    for (size_t i = 0; i < n; i++) {
        ts_buf_printf(out, "%s$d%zu using 1:2 ", i ? ", " : "", i);
        if (*g->smooth)
            ts_buf_printf(out, "smooth %s ", g->smooth);
        ts_buf_str(out, g->y2[lines[i].sub] ? "axes x1y2 " : "");
        ts_buf_str(out, i < shown ? "title " : "notitle");
        if (i < shown)
            tsd_gnuplot_quote(names[i], out);
        ts_free(names[i]);
    }
    ts_free(names);
    if (shown < n)
        ts_buf_printf(out, ", keyentry title 'and %zu more'", n - shown);
    ts_buf_char(out, '\n');
}

void tsd_graph_script(const struct tsd_graph *g, const struct qry_spec *spec,
                      const struct tsd_graph_line *lines, size_t n, struct ts_buf *out)
{
    int64_t from_s = ts_floor_div(spec->start_ms + ts_tz_offset_ms(spec->tz, spec->start_ms), 1000);
    int64_t to_s = ts_floor_div(spec->end_ms + ts_tz_offset_ms(spec->tz, spec->end_ms), 1000);
    size_t n_points = 0;
    for (size_t i = 0; i < n; i++)
        n_points += lines[i].n;
    ts_buf_printf(out, "set terminal pngcairo size %u,%u noenhanced background '#%06x'\nset encoding utf8\n",
                  g->width, g->height, g->bg);
    ts_buf_printf(out, "set border linecolor rgb '#%06x'\nset grid\nset datafile missing 'NaN'\n", g->fg);
    const char *style = g->style                                                 ? g->style
                        : n > GRAPH_FEW_LINES || n_points > n * GRAPH_FEW_POINTS ? "lines"
                                                                                 : "linespoints";
    ts_buf_printf(out, "set style data %s\nset tics textcolor rgb '#%06x'\n", style, g->fg);
    ts_buf_printf(out,
                  "set xdata time\nset timefmt '%%s'\nset xtics rotate right\nset xrange ['%lld':'%lld']\n",
                  (long long)(from_s - (from_s == to_s)), (long long)(to_s + (from_s == to_s)));
    graph_set(out, "format x", *g->xformat ? g->xformat : graph_xformat(to_s - from_s));
    graph_set(out, "format y", g->yformat);
    graph_set(out, "title", g->title);
    graph_set(out, "ylabel", g->ylabel);
    struct graph_key key = {0};
    if (g->key_free && n_points && g->height >= GRAPH_SMALL_PX)
        key = graph_key(g, n, out);
    else
        ts_buf_printf(out, *g->key ? "set key %s textcolor rgb '#%06x'\n" : "set key off\n", g->key, g->fg);
    if (*g->yrange)
        ts_buf_printf(out, "set yrange %s\n", g->yrange);
    if (g->ylog)
        ts_buf_str(out, "set logscale y\n");
    if (g->any_y2) {
        ts_buf_str(out, "set y2tics\n");
        graph_set(out, "format y2", g->y2format);
        graph_set(out, "y2label", g->y2label);
        if (*g->y2range)
            ts_buf_printf(out, "set y2range %s\n", g->y2range);
        if (g->y2log)
            ts_buf_str(out, "set logscale y2\n");
    }
    graph_notes(g, out);
    if (n_points == 0) {
        ts_buf_str(out, "set yrange [0:10]\nset label 'No data' at graph 0.5,0.9 center\nplot NaN notitle\n");
        return;
    }
    if (graph_own_numbers(g, false))
        graph_values(g, spec, lines, n, false, out);
    if (g->any_y2 && graph_own_numbers(g, true))
        graph_values(g, spec, lines, n, true, out);
    for (size_t i = 0; i < n; i++)
        tsd_gnuplot_data(i, lines[i].x_s, lines[i].y, lines[i].n, out);
    graph_plot(g, lines, n, key.n_rows ? &key : NULL, out);
}
