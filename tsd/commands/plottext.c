/*
 * plottext.c - figures of series in columns, bars beside names, UTF-8 as ASCII.
 *
 * Threads    see plot.h
 */
#include "tsd/commands/plottext.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_NAME_COLS 30 /* most of a terminal's width that names may have */

size_t tsd_plot__columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void tsd_plot__pad(struct ts_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ts_buf_char(out, ' ');
}

/* Bytes of the first n characters. */
static size_t text_bytes(struct ts_slice text, size_t n)
{
    size_t i = 0;
    for (; i < text.n; i++)
        if (((unsigned char)text.p[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

static size_t text_columns(struct ts_slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

void tsd_plot__centre(struct ts_buf *out, struct ts_slice text, size_t n)
{
    size_t cols = text_columns(text);
    tsd_plot__pad(out, cols < n ? (n - cols) / 2 : 0);
    ts_buf_append(out, text.p, cols > n ? text_bytes(text, n) : text.n);
}

int tsd_plot__term_colour(const struct tsd_plot_series *s)
{
    /* the nearest to those of plot.c, and paler ones */
    static const int colours[TSD_PLOT_MAX_SERIES] = {67, 208, 71, 167, 109, 221, 139, 217, 137, 60};
    static const int pale[TSD_PLOT_MAX_SERIES] = {153, 223, 151, 224, 152, 230, 182, 224, 181, 146};
    if (s->colour == TSD_PLOT_GREY)
        return 247;
    return s->before ? pale[s->colour % TSD_PLOT_MAX_SERIES] : colours[s->colour % TSD_PLOT_MAX_SERIES];
}

void tsd_plot__ascii(struct ts_slice text, struct ts_buf *out)
{
    static const struct {
        const char *from, *to;
    } chars[] = {{"│", "|"},           {"┤", "|"}, {"└", "+"}, {"─", "-"},
                 {"┬", "+"},           {"µ", "u"}, {"…", "~"}, {"\xe2\xa3\xbf", "#"},
                 {"\xe2\xa1\x87", "|"}};
    for (size_t i = 0; i < text.n;) {
        size_t len = 1;
        if (!((unsigned char)text.p[i] & 0x80)) {
            ts_buf_char(out, text.p[i++]);
            continue;
        }
        while (i + len < text.n && ((unsigned char)text.p[i + len] & 0xc0) == 0x80)
            len++;
        const char *to = "?";
        for (size_t k = 0; k < sizeof chars / sizeof chars[0]; k++)
            if (strlen(chars[k].from) == len && memcmp(chars[k].from, text.p + i, len) == 0)
                to = chars[k].to;
        ts_buf_str(out, to);
        i += len;
    }
}

/* --- figures --- */

/* A value with its unit; whole numbers without decimals. */
static void text_value(const struct tsd_axis *a, double v, char out[TSD_AXIS_TEXT_BYTES])
{
    struct tsd_axis whole = *a;
    if (a->scale == 1 && a->digits > 0 && fabs(v) < 1e15 && v == floor(v))
        whole.digits = 0;
    if (a->step == 0)
        (void)snprintf(out, TSD_AXIS_TEXT_BYTES, "%.6g", v);
    else
        (void)tsd_axis_print(&whole, v, out);
}

/* The figures of series i in the order of the columns. */
static void legend_values(const struct tsd_plot_legend *l, size_t i, char out[][TSD_AXIS_TEXT_BYTES])
{
    struct tsd_plot_series s = l->p->series[i];
    tsd_plot__figures(&s);
    const struct tsd_plot_figures *f = &s.figures;
    const double v[TSD_PLOT_FIGURES] = {l->p->sums ? f->sum : f->last, f->avg, f->min, f->max,
                                        l->p->sums ? f->last : f->sum};
    for (size_t k = 0; k < TSD_PLOT_FIGURES; k++) {
        if (f->n)
            text_value(&l->axis, v[k], out[k]);
        else
            (void)snprintf(out[k], TSD_AXIS_TEXT_BYTES, "-");
    }
}

/* Two digits more than beside the axis, unless all figures are whole. */
static void legend_digits(struct tsd_plot_legend *l)
{
    bool whole = true;
    for (size_t i = 0; i < l->p->n; i++) {
        struct tsd_plot_series s = l->p->series[i];
        tsd_plot__figures(&s);
        const double v[] = {s.figures.min, s.figures.max, s.figures.avg, s.figures.sum};
        for (size_t k = 0; k < 4; k++)
            whole &= v[k] / l->axis.scale == floor(v[k] / l->axis.scale);
    }
    if (!whole)
        l->axis.digits += l->axis.digits < 0 ? -2 : 2;
    l->axis.step /= 1000; /* smaller values are written as 0 */
}

void tsd_plot__legend_init(struct tsd_plot_legend *l, const struct tsd_plot *p, struct tsd_axis axis,
                           size_t width)
{
    static const char *const of_lines[TSD_PLOT_FIGURES] = {"last", "avg", "min", "max", "sum"};
    static const char *const of_bars[TSD_PLOT_FIGURES] = {"sum", "avg", "min", "max", "last"};
    char values[TSD_PLOT_FIGURES][TSD_AXIS_TEXT_BYTES];
    *l = (struct tsd_plot_legend){.p = p, .axis = axis, .figure_cols = 4, .n_figures = 4};
    memcpy(l->names, p->sums ? of_bars : of_lines, sizeof l->names);
    legend_digits(l);
    for (size_t i = 0; i < p->n; i++) {
        size_t n = tsd_plot__columns(p->series[i].name);
        l->name_cols = n > l->name_cols ? n : l->name_cols;
        legend_values(l, i, values);
        for (size_t k = 0; k < l->n_figures; k++) {
            n = tsd_plot__columns(values[k]);
            l->figure_cols = n > l->figure_cols ? n : l->figure_cols;
        }
    }
    l->figure_cols += 2;
    size_t room = width > 2 ? width - 2 : 0,
           least = l->name_cols < TEXT_NAME_COLS / 2 ? l->name_cols : TEXT_NAME_COLS / 2;
    while (l->n_figures > 1 && least + l->n_figures * l->figure_cols > room)
        l->n_figures--;
    size_t figures = l->n_figures * l->figure_cols;
    if (l->name_cols + figures > room)
        l->name_cols = room > figures + 4 ? room - figures : 4;
}

void tsd_plot__legend_head(const struct tsd_plot_legend *l, struct ts_buf *out)
{
    tsd_plot__pad(out, 2 + l->name_cols);
    for (size_t k = 0; k < l->n_figures; k++) {
        tsd_plot__pad(out, l->figure_cols - strlen(l->names[k]));
        ts_buf_str(out, l->names[k]);
    }
    ts_buf_char(out, '\n');
}

/* A name in so many columns. */
static void text_name(struct ts_buf *out, const char *name, size_t cols)
{
    char cut[512];
    (void)snprintf(cut, sizeof cut, "%s", name);
    tsd_legend_cut(cut, cols > 4 ? cols : 4);
    struct ts_slice text = ts_slice_str(cut);
    ts_buf_append(out, text.p, text_bytes(text, cols));
    size_t n = text_columns(text);
    tsd_plot__pad(out, n < cols ? cols - n : 0);
}

void tsd_plot__legend_line(const struct tsd_plot_legend *l, size_t i, struct ts_slice sign, int colour,
                           struct ts_buf *out)
{
    char values[TSD_PLOT_FIGURES][TSD_AXIS_TEXT_BYTES];
    legend_values(l, i, values);
    if (colour)
        ts_buf_printf(out, "\x1b[38;5;%dm", colour);
    ts_buf_slice(out, sign);
    ts_buf_str(out, colour ? "\x1b[0m " : " ");
    text_name(out, l->p->series[i].name, l->name_cols);
    for (size_t k = 0; k < l->n_figures; k++) {
        size_t n = tsd_plot__columns(values[k]);
        tsd_plot__pad(out, l->figure_cols > n ? l->figure_cols - n : 1);
        ts_buf_str(out, values[k]);
    }
    ts_buf_char(out, '\n');
}

/* --- bars beside names --- */

/* A table of names, bars and values. */
struct names {
    const struct tsd_plot *p;
    const struct tsd_terminal *t;
    struct tsd_axis axis;
    size_t name_cols, series_cols, value_cols, bar_cols; /* widths; series_cols: 0 for one series */
    double most;                                         /* the longest bar */
};

static void names_measure(struct names *m)
{
    const struct tsd_plot *p = m->p;
    char value[TSD_AXIS_TEXT_BYTES];
    double min, max;
    tsd_plot__extent(p, false, &min, &max);
    tsd_axis_choose(min, max, true, p->unit, &m->axis);
    struct tsd_plot_legend l = {.p = p, .axis = m->axis};
    legend_digits(&l);
    m->axis = l.axis;
    m->most = fmax(fabs(min), fabs(max));
    for (size_t i = 0; i < p->n_rows; i++) {
        size_t n = tsd_plot__columns(p->rows[i].name);
        m->name_cols = n > m->name_cols ? n : m->name_cols;
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        size_t n = p->n > 1 ? tsd_plot__columns(s->name) : 0;
        m->series_cols = n > m->series_cols ? n : m->series_cols;
        for (size_t k = 0; k < s->n; k++) {
            text_value(&m->axis, isnan(s->y[k]) ? 0 : s->y[k], value);
            n = tsd_plot__columns(value);
            m->value_cols = n > m->value_cols ? n : m->value_cols;
        }
    }
    m->name_cols = m->name_cols > TEXT_NAME_COLS ? TEXT_NAME_COLS : m->name_cols;
    m->series_cols = m->series_cols > TEXT_NAME_COLS / 2 ? TEXT_NAME_COLS / 2 : m->series_cols;
    size_t taken = m->name_cols + m->series_cols + m->value_cols + 4;
    m->bar_cols = m->t->width > taken + 8 ? m->t->width - taken : 8;
}

/* A bar in halves of characters. */
static void names_bar(const struct names *m, double v, int colour, struct ts_buf *out)
{
    size_t halves = m->most > 0 ? (size_t)floor(fabs(v) / m->most * (double)m->bar_cols * 2 + 0.5) : 0;
    if (colour)
        ts_buf_printf(out, "\x1b[38;5;%dm", colour);
    for (size_t i = 0; i + 1 < halves; i += 2)
        ts_buf_str(out, "\xe2\xa3\xbf"); /* all dots */
    if (halves % 2)
        ts_buf_str(out, "\xe2\xa1\x87"); /* the left ones */
    if (colour)
        ts_buf_str(out, "\x1b[0m");
    tsd_plot__pad(out, m->bar_cols - (halves + 1) / 2);
}

static void names_line(const struct names *m, size_t row, size_t i, bool first, struct ts_buf *out)
{
    const struct tsd_plot_series *s = &m->p->series[i];
    char value[TSD_AXIS_TEXT_BYTES] = "-";
    double v = NAN;
    for (size_t k = 0; k < s->n; k++)
        v = s->x_s[k] == (int64_t)row ? s->y[k] : v;
    text_name(out, first ? m->p->rows[row].name : "", m->name_cols);
    ts_buf_char(out, ' ');
    if (m->series_cols) {
        text_name(out, s->name, m->series_cols);
        ts_buf_char(out, ' ');
    }
    names_bar(m, isnan(v) ? 0 : v, m->t->colours ? tsd_plot__term_colour(s) : 0, out);
    if (!isnan(v))
        text_value(&m->axis, v, value);
    tsd_plot__pad(out, 1 + m->value_cols - tsd_plot__columns(value));
    ts_buf_str(out, value);
    ts_buf_char(out, '\n');
}

void tsd_plot__term_names(const struct tsd_plot *p, const struct tsd_terminal *t, struct ts_buf *out)
{
    struct names m = {.p = p, .t = t};
    names_measure(&m);
    if (p->unit[0] && !m.axis.has_unit) {
        tsd_plot__centre(out, ts_slice_str(p->unit), t->width);
        ts_buf_char(out, '\n');
    }
    for (size_t row = 0; row < p->n_rows; row++)
        for (size_t i = 0; i < p->n; i++)
            names_line(&m, row, i, i == 0, out);
}
