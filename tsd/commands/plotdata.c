/*
 * plotdata.c - from the text of an answer to series of a picture.
 *
 * Threads    see plot.h
 * Not here   what of it is shown (plottrim.c), how it is drawn (plot.c)
 */
#include "tsd/commands/plot.h"

#include "base/hash.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/commands/csvread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tsd_plot_release(struct tsd_plot *p)
{
    for (size_t i = 0; i < p->n; i++) {
        ts_free(p->series[i].name);
        ts_free(p->series[i].x_s);
        ts_free(p->series[i].y);
    }
    for (size_t i = 0; i < p->n_rows; i++)
        ts_free(p->rows[i].name);
    ts_free(p->rows);
    p->rows = NULL;
    p->n_rows = p->cap_rows = 0;
    ts_free(p->series);
    ts_map64_release(&p->by_name);
    p->series = NULL;
    p->n = p->cap = 0;
}

static char *plot_text(struct ts_slice s)
{
    char *text = ts_xmalloc(s.n + 1);
    if (s.n)
        memcpy(text, s.p, s.n);
    text[s.n] = 0;
    return text;
}

/* Find a series by the hash of its name; if another name has the same hash, by comparing all names. */
static struct tsd_plot_series *plot_find(struct tsd_plot *p, struct ts_slice name, uint64_t hash)
{
    uint32_t i;
    if (!ts_map64_get(&p->by_name, hash, &i))
        return NULL;
    if (ts_slice_is(name, p->series[i].name))
        return &p->series[p->hint = i];
    for (size_t k = 0; k < p->n; k++)
        if (ts_slice_is(name, p->series[k].name))
            return &p->series[p->hint = k];
    return NULL;
}

/* Series of a name. Answers name them again and again in the same order. */
static struct tsd_plot_series *plot_series(struct tsd_plot *p, struct ts_slice name)
{
    for (size_t i = p->hint; i < p->n && i < p->hint + 2; i++)
        if (ts_slice_is(name, p->series[i].name))
            return &p->series[p->hint = i];
    uint64_t hash = ts_hash(name.p, name.n);
    struct tsd_plot_series *known = plot_find(p, name, hash);
    if (known)
        return known;
    TS_ARRAY_GROW(p->series, p->n, p->cap, 16);
    uint32_t taken;
    if (!ts_map64_get(&p->by_name, hash, &taken))
        (void)ts_map64_add(&p->by_name, hash, (uint32_t)p->n);
    p->hint = p->n;
    struct tsd_plot_series *s = &p->series[p->n++];
    *s = (struct tsd_plot_series){.name = plot_text(name)};
    return s;
}

void tsd_plot__add(struct tsd_plot_series *s, int64_t x_s, double y)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->x_s = ts_xrealloc(s->x_s, s->cap * sizeof(*s->x_s));
        s->y = ts_xrealloc(s->y, s->cap * sizeof(*s->y));
    }
    s->x_s[s->n] = x_s;
    s->y[s->n++] = y;
    if (!isnan(y))
        s->weight += fabs(y);
}

/* One more row without a time; its number. */
static int64_t plot_row(struct tsd_plot *p, struct ts_slice name)
{
    TS_ARRAY_GROW(p->rows, p->n_rows, p->cap_rows, 64);
    p->rows[p->n_rows] = (struct tsd_plot_row){.name = plot_text(name), .at = p->n_rows};
    return (int64_t)p->n_rows++;
}

static int plot_value(struct ts_slice text, double *out, struct ts_error *err)
{
    struct ts_num v;
    *out = NAN;
    if (text.n == 0 || ts_slice_is(text, "NaN") || ts_slice_is(text, "null"))
        return 0;
    if (ts_slice_is(text, "Infinity") || ts_slice_is(text, "-Infinity"))
        return ts_error_set(err, TS_EINVAL, "an infinite value can't be drawn");
    if (ts_num_parse(text, &v, NULL) == 0) {
        *out = ts_num_double(v);
        return 0;
    }
    char digits[64]; /* integers beyond 64 bits are drawn as doubles */
    if (text.n < sizeof(digits) - 2) {
        memcpy(digits, text.p, text.n);
        memcpy(digits + text.n, ".0", 2);
        if (ts_num_parse((struct ts_slice){digits, text.n + 2}, &v, NULL) == 0) {
            *out = ts_num_double(v);
            return 0;
        }
    }
    return ts_error_set(err, TS_EPARSE, "no value in the answer: %.*s", TS_SHOWN(text, 40));
}

/* --- CSV --- */

/* Digits of a date or hour. */
static int csv_number(struct ts_slice s, size_t at, size_t n, int32_t *out)
{
    int64_t v;
    if (s.n < at + n || ts_num_parse_int((struct ts_slice){s.p + at, n}, &v, NULL) < 0)
        return TS_EPARSE;
    *out = (int32_t)v;
    return 0;
}

static int csv_date(struct ts_slice s, int64_t *out_s)
{
    int32_t y, m, d;
    size_t minus = s.n && s.p[0] == '-'; /* years before 1 */
    const char *dash = s.n > minus ? memchr(s.p + minus, '-', s.n - minus) : NULL;
    size_t n = dash ? (size_t)(dash - s.p) : 0;
    if (!n || csv_number(s, 0, n, &y) < 0 || csv_number(s, n + 1, 2, &m) < 0 ||
        csv_number(s, n + 4, 2, &d) < 0)
        return TS_EPARSE;
    *out_s = ts_civil_to_ms(y, m, d, 0, 0, 0) / 1000;
    return 0;
}

/* "03", "03:10", "03:10:05" as seconds; what stands behind is not looked at, but for "+01:00" of an hour that comes the second time. */
static int csv_clock(struct ts_slice s, int64_t *out_s, bool *out_repeated, int64_t *out_offset_s)
{
    int32_t part, h, m;
    const char *sign = s.n > 6 && (s.p[s.n - 6] == '+' || s.p[s.n - 6] == '-') ? s.p + s.n - 6 : NULL;
    *out_s = 0;
    *out_repeated = false;
    for (size_t i = 0; i < 3 && s.n >= 3 * i + 2 && (i == 0 || s.p[3 * i - 1] == ':'); i++) {
        if (csv_number(s, 3 * i, 2, &part) < 0)
            return TS_EPARSE;
        *out_s += part * (i == 0 ? 3600 : i == 1 ? 60 : 1);
    }
    if (sign && csv_number(s, s.n - 5, 2, &h) == 0 && csv_number(s, s.n - 2, 2, &m) == 0) {
        *out_repeated = true;
        *out_offset_s = (*sign == '-' ? -1 : 1) * (h * 3600 + m * 60);
    }
    return s.n < 2 ? TS_EPARSE : 0;
}

/* "2026-11" or "2026". */
static int csv_month(struct ts_slice s, int64_t *out_s)
{
    int32_t y, m = 1;
    size_t minus = s.n && s.p[0] == '-';
    const char *dash = s.n > minus ? memchr(s.p + minus, '-', s.n - minus) : NULL;
    size_t n = dash ? (size_t)(dash - s.p) : s.n;
    bool quarter = dash && s.n > n + 1 && s.p[n + 1] == 'Q';
    if (!n || csv_number(s, 0, n, &y) < 0 ||
        (dash && csv_number(s, n + 1 + quarter, quarter ? 1 : 2, &m) < 0))
        return TS_EPARSE;
    m = quarter ? 3 * m - 2 : m;
    *out_s = ts_civil_to_ms(y, m, 1, 0, 0, 0) / 1000;
    return 0;
}

/* Columns of the CSV: of time, of tags, of values with their names. */
struct csv_columns {
    enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
    size_t n_times, n_tags, n_values;
    bool partial;        /* a last column says yes or no */
    bool compared;       /* values come by fours: now, before, difference, ratio */
    struct ts_buf names; /* of values, a zero behind each */
};

static void csv_header(const char **at, const char *end, struct ts_buf *field, struct csv_columns *c)
{
    bool more = true;
    for (size_t i = 0; *at < end && more; i++) {
        tsd_csv_field(at, end, field, &more);
        if (i < c->n_times + c->n_tags || (c->partial && !more))
            continue;
        ts_buf_slice(&c->names, ts_buf_get(field));
        ts_buf_char(&c->names, 0);
        c->n_values++;
    }
}

/* The interval of a row is not whole. */
static void csv_partial(struct tsd_plot *p, int64_t x_s)
{
    size_t i = 0;
    while (i < p->n_partial && p->partial_s[i] != x_s)
        i++;
    if (i == p->n_partial && i < TSD_PLOT_MAX_PARTIAL)
        p->partial_s[p->n_partial++] = x_s;
}

/* Columns of time of one record; weekdays and hours of the day go into its name. */
static int csv_times(const struct tsd_plot *p, const char **at, const char *end, const struct csv_columns *c,
                     struct ts_buf *field, struct ts_buf *name, int64_t *out_x_s, struct ts_error *err)
{
    int64_t x_s = 0, clock_s = 0, offset_s = 0;
    bool more = true, repeated = false;
    for (size_t i = 0; i < c->n_times; i++) {
        int rc = 0;
        tsd_csv_field(at, end, field, &more);
        struct ts_slice text = ts_buf_get(field);
        enum qry_time_column col = c->times[i];
        if (col == QRY_COLUMN_DATE || col == QRY_COLUMN_WEEK)
            rc = csv_date(text, &x_s);
        else if (col == QRY_COLUMN_MONTH || col == QRY_COLUMN_QUARTER || col == QRY_COLUMN_YEAR)
            rc = csv_month(text, &x_s);
        else if (col == QRY_COLUMN_HOUR || col == QRY_COLUMN_TIME)
            rc = csv_clock(text, &clock_s, &repeated, &offset_s);
        else {
            ts_buf_str(name, name->n ? ", " : "");
            ts_buf_slice(name, text);
        }
        if (!more || rc < 0)
            return ts_error_set(err, TS_EPARSE, "no %s in the answer: %.*s", qry_time_column_name(col),
                                TS_SHOWN(text, 40));
    }
    *out_x_s = x_s + clock_s;
    if (repeated)
        *out_x_s -= offset_s;
    else if (p->axis == TSD_PLOT_HOURS && p->tz)
        *out_x_s = ts_floor_div(ts_tz_from_local(p->tz, *out_x_s * 1000), 1000);
    return 0;
}

/* Does a column of values have a series? Difference and ratio have another scale. */
static bool csv_is_drawn(const struct csv_columns *c, size_t i)
{
    return !c->compared || i % 4 < 2;
}

/* Values of one record into series whose names begin with name. */
static int csv_values(struct tsd_plot *p, const char **at, const char *end, const struct csv_columns *c,
                      int64_t x_s, struct ts_buf *field, struct ts_buf *name, struct ts_error *err)
{
    size_t n_name = name->n;
    const char *value = c->names.p;
    bool more = true;
    double y;
    for (size_t i = 0; i < c->n_values; i++, value += strlen(value) + 1) {
        if (!more)
            return ts_error_set(err, TS_EPARSE, "a row of the answer has too few columns");
        tsd_csv_field(at, end, field, &more);
        TS_TRY(plot_value(ts_buf_get(field), &y, err));
        if (!csv_is_drawn(c, i))
            continue;
        name->n = n_name;
        bool itself = c->compared && c->n_values == 4 && i == 0 && n_name; /* "a.org" and "a.org, before" */
        if (c->n_values > 1 && !itself) {
            ts_buf_str(name, n_name ? ", " : "");
            ts_buf_str(name, value);
        }
        struct tsd_plot_series *s = NULL;
        if (c->compared || c->n_values == 1 || !isnan(y)) /* pairs are made together */
            s = plot_series(p, ts_buf_get(name));
        if (s && (c->n_values == 1 || !isnan(y)))
            tsd_plot__add(s, x_s, y);
        if (s && c->compared)
            s->before = i % 4 == 1;
    }
    if (c->partial && !more)
        return ts_error_set(err, TS_EPARSE, "a row of the answer has too few columns");
    if (c->partial)
        tsd_csv_field(at, end, field, &more);
    if (c->partial && ts_slice_is(ts_buf_get(field), "yes"))
        csv_partial(p, x_s);
    return 0;
}

/* Series of the columns of values in their order, if nothing else makes names. */
static void csv_series(struct tsd_plot *p, const struct csv_columns *c)
{
    const char *value = c->names.p;
    bool alone =
        p->axis == TSD_PLOT_NAMES || (c->n_tags == 0 && !p->by_time.weekday && !p->by_time.hour_of_day);
    for (size_t i = 0; i < c->n_values && c->n_values > 1 && alone; i++, value += strlen(value) + 1)
        if (csv_is_drawn(c, i))
            (void)plot_series(p, ts_slice_str(value));
}

/* One record. */
static int csv_record(struct tsd_plot *p, const char **at, const char *end, const struct csv_columns *c,
                      struct ts_buf *field, struct ts_buf *name, struct ts_error *err)
{
    int64_t x_s = 0;
    bool more = true;
    ts_buf_clear(name);
    TS_TRY(csv_times(p, at, end, c, field, name, &x_s, err));
    for (size_t i = 0; i < c->n_tags && more; i++) {
        tsd_csv_field(at, end, field, &more);
        ts_buf_str(name, name->n ? ", " : "");
        ts_buf_slice(name, ts_buf_get(field));
    }
    if (!more)
        return ts_error_set(err, TS_EPARSE, "a row of the answer has too few columns");
    if (p->axis == TSD_PLOT_NAMES) { /* the row has the name, its series those of the columns */
        x_s = plot_row(p, ts_buf_get(name));
        ts_buf_clear(name);
    }
    return csv_values(p, at, end, c, x_s, field, name, err);
}

void tsd_plot_requested(struct tsd_plot *p, const struct qry_spec *spec)
{
    const struct qry_by_time *t = &spec->by_time;
    p->axis = !spec->by_on           ? TSD_PLOT_TIMES
              : !t->n                ? TSD_PLOT_NAMES
              : t->unit <= TS_UNIT_H ? TSD_PLOT_HOURS
                                     : TSD_PLOT_DAYS;
    p->by_time = *t;
    p->tz = spec->tz;
    p->from_ms = spec->start_ms;
    p->to_ms = spec->end_ms;
}

/* A point to be sorted. */
struct plot_pair {
    int64_t x_s; /* time */
    double y;    /* value */
};
static int plot_earlier(const void *a, const void *b)
{
    const struct plot_pair *x = a, *y = b;
    return x->x_s < y->x_s ? -1 : x->x_s > y->x_s;
}

void tsd_plot__by_time(struct tsd_plot_series *s)
{
    size_t k = 1;
    while (k < s->n && s->x_s[k - 1] <= s->x_s[k])
        k++;
    if (k >= s->n)
        return;
    struct plot_pair *pairs = ts_xmalloc(s->n * sizeof(*pairs));
    for (size_t i = 0; i < s->n; i++)
        pairs[i] = (struct plot_pair){s->x_s[i], s->y[i]};
    qsort(pairs, s->n, sizeof(*pairs), plot_earlier);
    for (size_t i = 0; i < s->n; i++) {
        s->x_s[i] = pairs[i].x_s;
        s->y[i] = pairs[i].y;
    }
    ts_free(pairs);
}

int tsd_plot_read_csv(struct tsd_plot *p, struct ts_slice csv, const struct qry_spec *spec,
                      struct ts_error *err)
{
    struct ts_buf field, name;
    struct csv_columns c = {.n_tags = spec->n_by_tags,
                            .partial = spec->partial == QRY_PARTIAL_COLUMN,
                            .compared = spec->compare_n > 0};
    const char *at = csv.p, *end = csv.p + csv.n;
    int rc = 0;
    ts_buf_init(&field, 0);
    ts_buf_init(&name, 0);
    ts_buf_init(&c.names, 0);
    enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
    size_t n_times = qry_time_columns(&spec->by_time, times);
    for (size_t i = 0; i < n_times; i++)
        if (!ts_slice_is(spec->columns, qry_time_column_name(times[i])))
            c.times[c.n_times++] = times[i];
    for (size_t i = 0; i < spec->n_by_tags; i++)
        c.n_tags -= spec->columns.n && ts_slice_eq(spec->columns, spec->by_tags[i]);
    tsd_plot_requested(p, spec);
    p->compared = c.compared;
    p->columns_in_order = ts_slice_is(spec->columns, "weekday") || ts_slice_is(spec->columns, "hourofday");
    p->in_order = p->axis == TSD_PLOT_NAMES && c.n_times > 0;
    p->columns_by_size = spec->columns.n > 0 && !p->columns_in_order;
    p->upright = p->axis == TSD_PLOT_NAMES && c.n_times == 1 && c.n_tags == 0;
    csv_header(&at, end, &field, &c);
    csv_series(p, &c);
    while (rc == 0 && at < end)
        rc = csv_record(p, &at, end, &c, &field, &name, err);
    for (size_t i = 0; i < p->n; i++)
        tsd_plot__by_time(&p->series[i]);
    ts_buf_release(&field);
    ts_buf_release(&name);
    ts_buf_release(&c.names);
    return rc;
}

struct tsd_plot_series *tsd_plot__series(struct tsd_plot *p, struct ts_buf *name, bool again)
{
    size_t n = name->n;
    for (unsigned k = 2; again && plot_find(p, ts_buf_get(name), ts_hash(name->p, name->n)); k++) {
        name->n = n;
        ts_buf_printf(name, " #%u", k);
    }
    return plot_series(p, ts_buf_get(name));
}

void tsd_plot__figures(struct tsd_plot_series *s)
{
    struct tsd_plot_figures f = {.n = 0};
    if (s->figures.n)
        return;
    for (size_t k = 0; k < s->n; k++) {
        double y = s->y[k];
        if (isnan(y))
            continue;
        f.min = !f.n || y < f.min ? y : f.min;
        f.max = !f.n || y > f.max ? y : f.max;
        f.sum += y;
        f.last = y;
        f.n++;
    }
    f.avg = f.n ? f.sum / (double)f.n : 0;
    s->figures = f;
}

/* --- text --- */

/* The series that a point of a plain answer belongs to. Series come one after the other, so that a name that begins again is that of
 * another sub query: "cpu {host=a} #2". */
static struct tsd_plot_series *text_series(struct tsd_plot *p, struct ts_buf *name, struct ts_buf *last,
                                           bool later)
{
    size_t n = name->n;
    if (p->n && later && ts_slice_eq(ts_buf_get(name), ts_buf_get(last)))
        return &p->series[p->n - 1];
    struct tsd_plot_series *s = tsd_plot__series(p, name, true);
    ts_buf_clear(last);
    ts_buf_append(last, name->p, n);
    return s;
}

int tsd_plot_read_text(struct tsd_plot *p, struct ts_slice text, struct ts_error *err)
{
    const char *at = text.p, *end = text.p + text.n;
    struct ts_buf name, last;
    ts_buf_init(&name, 0);
    ts_buf_init(&last, 0);
    int rc = 0;
    int64_t last_ms = INT64_MIN;
    p->axis = TSD_PLOT_TIMES;
    p->named = true;
    while (rc == 0 && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at)), *stop = nl ? nl : end;
        const char *a = memchr(at, ' ', (size_t)(stop - at));
        const char *b = a ? memchr(a + 1, ' ', (size_t)(stop - a - 1)) : NULL;
        const char *c = b ? memchr(b + 1, ' ', (size_t)(stop - b - 1)) : NULL;
        int64_t ts_ms;
        double y;
        if (!c || ts_num_parse_int((struct ts_slice){a + 1, (size_t)(b - a - 1)}, &ts_ms, NULL) < 0) {
            rc = ts_error_set(err, TS_EPARSE, "no point in the answer: %.*s",
                              (int)(stop - at > 60 ? 60 : stop - at), at);
            break;
        }
        rc = plot_value((struct ts_slice){b + 1, (size_t)(c - b - 1)}, &y, err);
        ts_buf_clear(&name);
        ts_buf_append(&name, at, (size_t)(a - at));
        if (stop - c > 3) { /* more than {} */
            ts_buf_char(&name, ' ');
            ts_buf_append(&name, c + 1, (size_t)(stop - c - 1));
        }
        if (rc == 0)
            tsd_plot__add(text_series(p, &name, &last, ts_ms > last_ms), ts_floor_div(ts_ms, 1000), y);
        last_ms = ts_ms;
        at = nl ? nl + 1 : end;
    }
    ts_buf_release(&name);
    ts_buf_release(&last);
    return rc;
}
