/*
 * scan_hours.c - the families of hours and days: of each row, or of the rows of a day, the summary. Where the files have an exact one no point
 * is read; otherwise it is made of the points.
 *
 * Threads    one
 * Not here   which hours are a day (storage/day.h)
 */
#include "tsd/format/scan_int.h"

#include "base/json.h"
#include "base/xsum.h"
#include "storage/day.h"

enum { SUM, COUNT, MIN, MAX, FIRST, LAST, FIGURES };
static const char *const names[FIGURES] = {"sum", "count", "min", "max", "first", "last"};

/* The figures of a row, as text. */
struct figures {
    char text[FIGURES][TSD_LINES_VALUE_BYTES];
    size_t n[FIGURES];
    bool finite[FIGURES]; /* JSON has no other numbers */
};

static void put(struct figures *f, int which, struct ts_num v)
{
    double d = v.kind == TS_NUM_INT ? 0 : ts_num_double(v);
    f->n[which] = tsd_lines_value(v, f->text[which]);
    f->finite[which] = d - d == 0;
}

static struct ts_num of_int(int64_t m)
{
    return (struct ts_num){.kind = TS_NUM_INT, .m = m};
}

static bool is_nan(struct ts_num v)
{
    double d = v.kind == TS_NUM_INT ? 0 : ts_num_double(v);
    return d != d;
}

/* A NaN is neither less nor greater, but any value takes its place. */
static bool less(struct ts_num a, struct ts_num b)
{
    if (a.kind == TS_NUM_INT && b.kind == TS_NUM_INT)
        return a.m < b.m;
    return ts_num_double(a) < ts_num_double(b);
}

/* --- sums of many --- */

static void sum_begin(struct tsd_scan_sum *t)
{
    ts_xsum_release(&t->sum);
    *t = (struct tsd_scan_sum){.is_int = true};
    ts_xsum_init(&t->sum);
}

/* Add what follows in time: n points with these figures, whose sum the caller adds. */
static void sum_take(struct tsd_scan_sum *t, uint64_t n, struct ts_num min, struct ts_num max,
                     struct ts_num first, struct ts_num last)
{
    if (!t->n || less(min, t->min) || is_nan(t->min))
        t->min = min;
    if (!t->n || less(t->max, max) || is_nan(t->max))
        t->max = max;
    if (!t->n)
        t->first = first;
    t->last = last;
    t->n += n;
}

/* A summary that has a sum. */
static void sum_summary(struct tsd_scan_sum *t, const struct sto_summary *s)
{
    sum_take(t, s->n, s->min, s->max, s->first, s->last);
    t->is_int = t->is_int && s->is_int;
    if (s->is_int) {
        t->int_sum += s->sum;
        ts_xsum_add_i128(&t->sum, s->sum);
    } else {
        struct ts_xsum x = {.fix = s->sum};
        ts_xsum_merge(&t->sum, &x);
    }
}

static void sum_points(struct tsd_scan_sum *t, const struct sto_cells *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        struct ts_num v = sto_cell_num(c->meta[i], c->m[i]);
        sum_take(t, 1, v, v, v, v);
        t->is_int = t->is_int && v.kind == TS_NUM_INT;
        if (v.kind == TS_NUM_INT) {
            t->int_sum += v.m;
            ts_xsum_add_i128(&t->sum, v.m);
        } else {
            ts_xsum_add(&t->sum, ts_num_double(v));
        }
    }
}

/* All points of a row that are chosen. */
static void sum_row(struct tsd_scan_sum *t, const struct sto_row *row, const struct sto_cells *chosen)
{
    if (row->sum)
        sum_summary(t, row->sum);
    else
        sum_points(t, chosen);
}

static void sum_figures(const struct tsd_scan_sum *t, struct figures *out)
{
    bool fits = t->is_int && t->int_sum >= INT64_MIN && t->int_sum <= INT64_MAX;
    put(out, SUM, fits ? of_int((int64_t)t->int_sum) : ts_num_from_double(ts_xsum_get(&t->sum)));
    put(out, COUNT, of_int((int64_t)t->n));
    put(out, MIN, t->min);
    put(out, MAX, t->max);
    put(out, FIRST, t->first);
    put(out, LAST, t->last);
}

/* --- forms --- */

/* Lines of import: a rollup for each figure that rollups have. */
static void lines(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms,
                  const struct figures *f)
{
    struct ts_buf *b = &r->lines.out;
    char time[TSD_LINES_TIME_BYTES];
    size_t n = tsd_lines_time(base_ms, false, time);
    for (int i = SUM; i <= MAX; i++) {
        ts_buf_printf(b, "rollup 1h-%s ", names[i]);
        ts_buf_slice(b, tsd_scan__metric(r, s));
        ts_buf_char(b, ' ');
        ts_buf_append(b, time, n);
        ts_buf_char(b, ' ');
        ts_buf_append(b, f->text[i], f->n[i]);
        ts_buf_slice(b, ts_buf_get(&r->lines.back));
    }
}

static void rows(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms, const struct figures *f)
{
    struct ts_buf *b = &r->lines.out;
    tsd_scan__head(r, s, base_ms);
    ts_buf_char(b, ' ');
    for (int i = 0; i < FIGURES; i++)
        ts_buf_printf(b, " %s=%.*s", names[i], (int)f->n[i], f->text[i]);
    ts_buf_char(b, '\n');
}

static void csv(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms, const struct figures *f)
{
    struct ts_buf *b = &r->lines.out;
    tsd_scan__csv_head(r, s);
    ts_buf_printf(b, "%lld", (long long)(base_ms / 1000));
    for (int i = 0; i < FIGURES; i++) {
        ts_buf_char(b, ',');
        ts_buf_append(b, f->text[i], f->n[i]);
    }
    tsd_scan__csv_tail(r);
}

static void json(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms, const struct figures *f)
{
    struct ts_json j;
    tsd_scan__json_head(r, s, base_ms, &j);
    for (int i = 0; i < FIGURES; i++) {
        ts_json_key(&j, names[i]);
        struct ts_slice text = {f->text[i], f->n[i]};
        f->finite[i] ? ts_json_raw(&j, text) : ts_json_slice(&j, text);
    }
    ts_json_obj_end(&j);
    ts_buf_char(&r->lines.out, '\n');
}

/* Print what was summed up. */
static int print(struct tsd_scan_run *r, const struct sto_series *s, int32_t hour, struct ts_error *err)
{
    struct figures f;
    int64_t base_ms = hour * TS_HOUR_MS;
    sum_figures(&r->sum, &f);
    switch (r->opts->form) {
    case TSD_SCAN_ROWS:
        rows(r, s, base_ms, &f);
        break;
    case TSD_SCAN_IMPORT:
        lines(r, s, base_ms, &f);
        break;
    case TSD_SCAN_CSV:
        csv(r, s, base_ms, &f);
        break;
    case TSD_SCAN_JSON:
        json(r, s, base_ms, &f);
        break;
    }
    return tsd_scan__printed(r, err);
}

int tsd_scan__hour(struct tsd_scan_run *r, const struct sto_series *s, const struct sto_row *row,
                   struct ts_error *err)
{
    if (r->opts->keys) {
        tsd_scan__keys_row(r, s, row->key.hour * TS_HOUR_MS, row->sum ? row->sum->n : r->chosen.n);
        return tsd_scan__printed(r, err);
    }
    sum_begin(&r->sum);
    sum_row(&r->sum, row, &r->chosen);
    return print(r, s, row->key.hour, err);
}

/* --- days --- */

int tsd_scan__day_of(int32_t hour, int32_t *out_first, struct ts_error *err)
{
    struct sto_day day;
    if (!sto_day_of(hour, &day))
        return ts_error_set(err, TS_EINVAL,
                            "The days of this zone do not begin at whole hours, so that they have no "
                            "summaries: choose the family hours, or another zone (--tz; of a daemon, its key "
                            "timezone)");
    *out_first = day.from;
    return 0;
}

int tsd_scan__day(struct tsd_scan_run *r, const struct sto_series *s, int32_t day, const struct sto_row *row,
                  struct ts_error *err)
{
    if (!r->day_series || r->day != day) {
        TS_TRY(tsd_scan__day_end(r, err));
        TS_TRY(tsd_scan__take(r, s, day, err));
        sum_begin(&r->sum);
        r->day = day;
        r->day_series = s;
    }
    sum_row(&r->sum, row, &r->chosen);
    return 0;
}

int tsd_scan__day_end(struct tsd_scan_run *r, struct ts_error *err)
{
    const struct sto_series *s = r->day_series;
    r->day_series = NULL;
    return s ? print(r, s, r->day, err) : 0;
}
