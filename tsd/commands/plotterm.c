/*
 * plotterm.c - a picture of characters: title, axes, lines or bars, and below the figures of each series.
 *
 * All of it is composed in UTF-8; where the locale has another encoding, what is not ASCII is replaced at the end.
 *
 * Threads    see plot.h
 * Not here   dots and lines (plotdots.c), the size of the terminal (terminal.c)
 */
#include "tsd/commands/plot.h"

#include "base/mem.h"
#include "tsd/commands/plotdots.h"
#include "tsd/commands/plottext.h"
#include "tsd/format/picture.h"

#include <math.h>
#include <string.h>

#define TERM_LEAST_ROWS 4  /* of the canvas, even if the terminal is smaller */
#define TERM_LABEL_COLS 12 /* characters for each label of the axis of time */
#define TERM_SYMBOLS    "*o#x@%=&+~"
#define TERM_LETTERS    "abcdefghijk" /* behind lines that look alike; TSD_PLOT_MAX_SERIES and one */

/* The picture while it is drawn. */
struct term {
    const struct tsd_plot *p;
    const struct tsd_terminal *t;
    struct ts_buf *out;
    struct tsd_dots dots;
    struct tsd_axis axis;         /* of values */
    double lo, hi;                /* ends of that axis */
    int64_t lo_s, hi_s;           /* ends of the axis of time */
    size_t margin;                /* characters left of the axis of values */
    enum tsd_plot_form form;      /* lines or bars */
    char *tics, *below;           /* [cols + 1] labels of the axis of time; owned */
    bool *tic_at;                 /* [cols] a label belongs here; owned */
    size_t next_free, next_below; /* first column that no label has taken */
};

/* --- places --- */

static int64_t term_x(const struct term *m, int64_t x_s)
{
    double share = (double)(x_s - m->lo_s) / (double)(m->hi_s - m->lo_s);
    return (int64_t)floor(share * (double)m->dots.width);
}

static int64_t term_y(const struct term *m, double y)
{
    double share =
        (y / 2 - m->lo / 2) / (m->hi / 2 - m->lo / 2); /* the difference of two doubles may be no double */
    share = share > 0 ? fmin(share, 1) : 0;
    return (int64_t)floor(share * (double)(m->dots.height - 1) + 0.5);
}

/* --- lines and bars --- */

static void term_line(struct term *m, const struct tsd_plot_series *s, uint8_t owner)
{
    int64_t gap_s = tsd_plot__gap_s(s), before_s = 0, x0 = 0, y0 = 0;
    bool joined = false;
    for (size_t k = 0; k < s->n; k++) {
        if (isnan(s->y[k])) {
            joined = false;
            continue;
        }
        int64_t x = term_x(m, tsd_plot__middle_s(m->p, s->x_s[k])), y = term_y(m, s->y[k]);
        x = x == (int64_t)m->dots.width ? x - 1 : x; /* the end of the range */
        joined = joined && s->x_s[k] - before_s <= gap_s;
        tsd_dots_line(&m->dots, joined ? x0 : x, joined ? y0 : y, x, y, owner);
        x0 = x;
        y0 = y;
        before_s = s->x_s[k];
        joined = true;
    }
}

/* Bars of one interval and series: without colours each series has a pattern of its own. */
static enum tsd_dots_fill term_fill(const struct term *m, size_t i, int64_t x_s)
{
    if (m->t->colours || m->p->n == 1)
        return tsd_plot__is_partial(m->p, x_s) ? TSD_DOTS_CHESS : TSD_DOTS_FULL;
    return (enum tsd_dots_fill)(i % (TSD_DOTS_THIN + 1));
}

static void term_bar(struct term *m, size_t i, int64_t x_s, double from, double to)
{
    int64_t left = term_x(m, x_s), right = term_x(m, tsd_plot__next_s(m->p, x_s)) - 1;
    if (m->form == TSD_PLOT_BESIDE) {
        int64_t each = (right - left + 1) / (int64_t)m->p->n;
        left += (int64_t)i * each;
        right = each > 0 ? left + each - 1 : left;
    }
    if (right - left >= 3)
        right--; /* a gap between bars */
    if (right < left)
        right = left;
    int64_t y0 = term_y(m, from), y1 = term_y(m, to);
    if (from > m->lo && y1 > y0)
        y0++; /* the dot below belongs to the bar below */
    tsd_dots_fill(&m->dots, left, right, y0, y1, term_fill(m, i, x_s), (uint8_t)i);
}

static void term_bars(struct term *m)
{
    const struct tsd_plot *p = m->p;
    bool stacked = m->form == TSD_PLOT_STACKED;
    int64_t *x;
    size_t n = tsd_plot__times(p, &x);
    double *sum = ts_xcalloc(n + 1, sizeof *sum);
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        for (size_t k = 0, at = 0; k < s->n; k++) {
            while (x[at] < s->x_s[k])
                at++;
            if (isnan(s->y[k]) || s->y[k] == 0)
                continue;
            term_bar(m, i, s->x_s[k], sum[at], sum[at] + s->y[k]);
            if (stacked)
                sum[at] += s->y[k];
        }
    }
    ts_free(x);
    ts_free(sum);
}

/* --- axes --- */

static int term_colour(const struct term *m, size_t i)
{
    return m->t->colours ? tsd_plot__term_colour(&m->p->series[i]) : 0;
}

/* Number of the row of the canvas at which a value stands. */
static size_t term_row(const struct term *m, double v)
{
    int64_t from_top = (int64_t)m->dots.height - 1 - term_y(m, v);
    int64_t row = from_top * (int64_t)m->dots.rows / (int64_t)m->dots.height;
    return row < 0 ? 0 : row >= (int64_t)m->dots.rows ? m->dots.rows - 1 : (size_t)row;
}

/* The label of a row beside the axis of values; false: it has none. */
static bool term_row_label(const struct term *m, size_t row, char text[TSD_AXIS_TEXT_BYTES])
{
    if (m->axis.step == 0) { /* values too large or too close for numbers of steps */
        double v = row == 0 ? m->hi : m->lo;
        (void)snprintf(text, TSD_AXIS_TEXT_BYTES, "%.6g", v);
        return row == 0 || row + 1 == m->dots.rows;
    }
    size_t least = (size_t)((m->hi - m->lo) / m->axis.step + 0.5) + 1;
    size_t every = least > m->dots.rows ? 2 : 1; /* fewer labels on few rows */
    for (size_t i = 0; i < least; i += every) {
        double v = m->lo + (double)i * m->axis.step;
        if (term_row(m, v) == row) {
            (void)tsd_axis_print(&m->axis, v, text);
            return true;
        }
    }
    return false;
}

/* Width of the labels of values. */
static size_t term_margin(const struct term *m)
{
    char text[TSD_AXIS_TEXT_BYTES];
    size_t most = 0;
    for (size_t row = 0; row < m->dots.rows; row++)
        if (term_row_label(m, row, text) && tsd_plot__columns(text) > most)
            most = tsd_plot__columns(text);
    return most;
}

static void term_values(struct term *m)
{
    double min, max;
    bool bars = m->form != TSD_PLOT_LINES;
    tsd_plot__extent(m->p, m->form == TSD_PLOT_STACKED, &min, &max);
    tsd_axis_choose(min, max, bars || m->p->sums, m->p->unit, &m->axis);
    m->lo = m->axis.step > 0 ? m->axis.lo : min;
    m->hi = m->axis.step > 0 ? m->axis.hi : max;
    if (!(m->hi > m->lo))
        m->hi = m->lo + (m->lo != 0 ? fabs(m->lo) : 1);
}

/* A label of the axis of time, in the middle below its place, unless others are in the way. */
static size_t term_place(char *line, size_t cols, int64_t at, const char *text, size_t free_from)
{
    size_t n = strlen(text);
    int64_t from = at - (int64_t)n / 2;
    if (from + (int64_t)n > (int64_t)cols)
        from = (int64_t)cols - (int64_t)n;
    if (from < (int64_t)free_from)
        from = at >= (int64_t)free_from && free_from == 0 ? 0 : -1;
    if (from < 0 || (size_t)from + n > cols)
        return SIZE_MAX;
    memcpy(line + from, text, n);
    return (size_t)from + n + 1;
}

static void term_tic(void *arg, int64_t x_s, const char *label, const char *below)
{
    struct term *m = arg;
    size_t cols = m->dots.cols;
    int64_t at = term_x(m, x_s) * (int64_t)cols / (int64_t)m->dots.width;
    at = at >= (int64_t)cols ? (int64_t)cols - 1 : at;
    size_t next = at < 0 ? SIZE_MAX : term_place(m->tics, cols, at, label, m->next_free);
    if (next == SIZE_MAX)
        return;
    m->next_free = next;
    m->tic_at[at] = true;
    next = *below ? term_place(m->below, cols, at, below, m->next_below) : SIZE_MAX;
    m->next_below = next == SIZE_MAX ? m->next_below : next;
}

/* The axis of time and the labels below it. */
static void term_time_axis(struct term *m)
{
    struct ts_buf *out = m->out, caption;
    size_t cols = m->dots.cols, n_labels = cols / TERM_LABEL_COLS + 1;
    ts_buf_init(&caption, 0);
    m->tics = ts_xmalloc(cols + 1);
    m->below = ts_xmalloc(cols + 1);
    m->tic_at = ts_xcalloc(cols + 1, sizeof *m->tic_at);
    memset(m->tics, ' ', cols);
    memset(m->below, ' ', cols);
    bool below = tsd_plot__tics(m->p, m->lo_s, m->hi_s, n_labels, term_tic, m, &caption);
    tsd_plot__pad(out, m->margin + 1);
    ts_buf_str(out, "└");
    for (size_t i = 0; i < cols; i++)
        ts_buf_str(out, m->tic_at[i] ? "┬" : "─");
    ts_buf_char(out, '\n');
    for (int i = 0; i < (below ? 2 : 1); i++) {
        const char *line = i ? m->below : m->tics;
        size_t n = cols;
        while (n && line[n - 1] == ' ')
            n--;
        tsd_plot__pad(out, m->margin + 2);
        ts_buf_append(out, line, n);
        ts_buf_char(out, '\n');
    }
    tsd_plot__pad(out, m->margin + 2);
    tsd_plot__centre(out, ts_buf_get(&caption), cols);
    ts_buf_char(out, '\n');
    ts_buf_release(&caption);
    ts_free(m->tics);
    ts_free(m->below);
    ts_free(m->tic_at);
}

/* Lines of braille dots without colours look alike: a letter stands behind each. */
static bool term_has_letters(const struct term *m)
{
    return m->form == TSD_PLOT_LINES && m->t->utf8 && !m->t->colours && m->p->n > 1;
}

/* letters[row] is the letter behind a row of the canvas, 0 if there is none. */
static void term_place_letters(const struct term *m, char *letters)
{
    for (size_t i = 0; i < m->p->n; i++) {
        const struct tsd_plot_series *s = &m->p->series[i];
        size_t k = s->n, row;
        while (k && isnan(s->y[k - 1]))
            k--;
        if (!k)
            continue;
        row = term_row(m, s->y[k - 1]);
        for (size_t off = 0; off < 2 * m->dots.rows; off++) { /* the nearest row without a letter */
            size_t at = off % 2 ? row + (off + 1) / 2 : row - off / 2;
            if (at >= m->dots.rows || letters[at])
                continue;
            letters[at] = TERM_LETTERS[i % strlen(TERM_LETTERS)];
            break;
        }
    }
}

/* The canvas, a line of text a row, labels on the left. */
static void term_canvas(struct term *m)
{
    char *letters = ts_xcalloc(m->dots.rows, 1);
    if (term_has_letters(m))
        term_place_letters(m, letters);
    struct ts_buf *out = m->out;
    char label[TSD_AXIS_TEXT_BYTES];
    for (size_t row = 0; row < m->dots.rows; row++) {
        bool has = term_row_label(m, row, label);
        size_t n = has ? tsd_plot__columns(label) : 0;
        uint8_t colour_of = TSD_DOTS_NOBODY;
        tsd_plot__pad(out, m->margin > n ? m->margin - n : 0);
        if (has)
            ts_buf_str(out, label);
        ts_buf_str(out, has ? " ┤" : " │");
        size_t last = m->dots.cols;
        while (last && !m->dots.bits[row * m->dots.cols + last - 1])
            last--;
        last = letters[row] ? m->dots.cols : last;
        for (size_t col = 0; col < last; col++) {
            uint8_t owner = m->dots.owner[row * m->dots.cols + col];
            if (m->t->colours && owner != TSD_DOTS_NOBODY && owner != colour_of)
                ts_buf_printf(out, "\x1b[38;5;%dm", term_colour(m, colour_of = owner));
            (void)tsd_dots_put(&m->dots, col, row, out);
        }
        ts_buf_str(out, colour_of != TSD_DOTS_NOBODY ? "\x1b[0m" : "");
        if (letters[row])
            ts_buf_append(out, (char[]){' ', letters[row]}, 2);
        ts_buf_char(out, '\n');
    }
    ts_free(letters);
}

/* The unit above the axis, where the numbers do not say it. */
static bool term_has_unit(const struct term *m)
{
    return m->p->unit[0] && !m->axis.has_unit;
}

/* The sign of a series before its name below the picture: what its line or bar is drawn with. */
static void term_sign(const struct term *m, size_t i, struct ts_buf *out)
{
    struct tsd_dots one;
    if (term_has_letters(m)) {
        ts_buf_char(out, TERM_LETTERS[i % strlen(TERM_LETTERS)]);
        return;
    }
    tsd_dots_init(&one, 1, 1, m->t->utf8, TERM_SYMBOLS);
    tsd_dots_fill(&one, 0, 1, 0, m->form == TSD_PLOT_LINES && m->t->utf8 ? 1 : 3,
                  m->form == TSD_PLOT_LINES ? TSD_DOTS_FULL : term_fill(m, i, INT64_MIN), (uint8_t)i);
    (void)tsd_dots_put(&one, 0, 0, out);
    tsd_dots_release(&one);
}

/* Figures of all series, in columns. */
static void term_legend(const struct term *m, size_t n_lines)
{
    const struct tsd_plot *p = m->p;
    struct tsd_plot_legend l;
    tsd_plot__legend_init(&l, p, m->axis, m->t->width);
    tsd_plot__legend_head(&l, m->out);
    for (size_t i = 0; i < p->n && i + 1 < n_lines + (p->n <= n_lines); i++) {
        struct ts_buf sign;
        ts_buf_init(&sign, 0);
        term_sign(m, i, &sign);
        tsd_plot__legend_line(&l, i, ts_buf_get(&sign), term_colour(m, i), m->out);
        ts_buf_release(&sign);
    }
    if (p->n > n_lines)
        ts_buf_printf(m->out, "  and %zu more; choose some with --top\n", p->n - n_lines + 1);
}

static void term_graph(struct term *m)
{
    const struct tsd_plot *p = m->p;
    const struct tsd_terminal *t = m->t;
    size_t lines = t->is_tty ? t->height - 1 : t->height; /* the prompt needs one */
    size_t n_legend = p->n < lines / 3 ? p->n : lines / 3;
    m->form = tsd_plot__form(p);
    tsd_plot__range(p, &m->lo_s, &m->hi_s);
    term_values(m);
    /* title, axis, two lines of labels, caption, head of the legend */
    size_t taken = 6u + n_legend + (p->sums && p->n_partial ? 1u : 0u) + (term_has_unit(m) ? 1u : 0u);
    size_t rows = lines > taken + TERM_LEAST_ROWS ? lines - taken : TERM_LEAST_ROWS;
    m->dots.rows = rows;
    m->dots.height = t->utf8 ? rows * 4 : rows;
    m->margin = term_margin(m);
    size_t beside = m->margin + 2 + (term_has_letters(m) ? 2 : 0),
           cols = t->width > beside + 10 ? t->width - beside : 10;
    tsd_dots_init(&m->dots, cols, rows, t->utf8, TERM_SYMBOLS);
    if (m->form == TSD_PLOT_LINES)
        for (size_t i = 0; i < p->n; i++)
            term_line(m, &p->series[i], (uint8_t)i);
    else
        term_bars(m);
    if (term_has_unit(m)) {
        ts_buf_str(m->out, p->unit);
        ts_buf_char(m->out, '\n');
    }
    term_canvas(m);
    term_time_axis(m);
    if (p->sums && p->n_partial)
        ts_buf_str(m->out, "  The first or last interval is partial.\n");
    term_legend(m, n_legend);
    tsd_dots_release(&m->dots);
}

void tsd_plot_terminal(const struct tsd_plot *p, const struct tsd_terminal *t, struct ts_buf *out)
{
    struct ts_buf text;
    struct term m = {.p = p, .t = t, .out = &text};
    ts_buf_init(&text, 0);
    tsd_plot__centre(&text, ts_slice_str(p->title), t->width);
    ts_buf_char(&text, '\n');
    if (p->axis == TSD_PLOT_NAMES)
        tsd_plot__term_names(p, t, &text);
    else
        term_graph(&m);
    if (t->utf8)
        ts_buf_slice(out, ts_buf_get(&text));
    else
        tsd_plot__ascii(ts_buf_get(&text), out);
    ts_buf_release(&text);
}
