/*
 * scan_hours.c - the family of hours: of each row its summary. Where the files have an exact one no point is read; otherwise it is made of
 * the points.
 *
 * Threads    one
 */
#include "tsd/format/scan_int.h"

#include "base/json.h"
#include "base/xsum.h"

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

static struct ts_num sum_of(const struct sto_summary *s)
{
    struct ts_xsum x;
    ts_xsum_init(&x);
    if (s->is_int && s->sum >= INT64_MIN && s->sum <= INT64_MAX)
        return of_int((int64_t)s->sum);
    if (s->is_int)
        ts_xsum_add_i128(&x, s->sum);
    else
        x.fix = s->sum;
    double d = ts_xsum_get(&x);
    ts_xsum_release(&x);
    return ts_num_from_double(d);
}

static void of_summary(const struct sto_summary *s, struct figures *out)
{
    put(out, SUM, sum_of(s));
    put(out, COUNT, of_int(s->n));
    put(out, MIN, s->min);
    put(out, MAX, s->max);
    put(out, FIRST, s->first);
    put(out, LAST, s->last);
}

/* Points for which there is no summary: integers among others, or a NaN, which is neither least nor greatest. */
static void of_points(const struct sto_cells *c, struct figures *out)
{
    struct ts_num min = sto_cell_num(c->meta[0], c->m[0]), max = min;
    struct ts_xsum x;
    ts_xsum_init(&x);
    for (uint32_t i = 0; i < c->n; i++) {
        struct ts_num v = sto_cell_num(c->meta[i], c->m[i]);
        double d = ts_num_double(v), lo = ts_num_double(min), hi = ts_num_double(max);
        min = d < lo || lo != lo ? v : min;
        max = d > hi || hi != hi ? v : max;
        if (v.kind == TS_NUM_INT)
            ts_xsum_add_i128(&x, v.m);
        else
            ts_xsum_add(&x, d);
    }
    put(out, SUM, ts_num_from_double(ts_xsum_get(&x)));
    put(out, COUNT, of_int(c->n));
    put(out, MIN, min);
    put(out, MAX, max);
    put(out, FIRST, sto_cell_num(c->meta[0], c->m[0]));
    put(out, LAST, sto_cell_num(c->meta[c->n - 1], c->m[c->n - 1]));
    ts_xsum_release(&x);
}

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

int tsd_scan__hour(struct tsd_scan_run *r, const struct sto_series *s, const struct sto_row *row,
                   struct ts_error *err)
{
    int64_t base_ms = row->key.hour * TS_HOUR_MS;
    struct sto_summary made;
    struct figures f;
    if (r->opts->keys) {
        tsd_scan__keys_row(r, s, base_ms, row->sum ? row->sum->n : r->chosen.n);
        return tsd_scan__printed(r, err);
    }
    if (row->sum)
        of_summary(row->sum, &f);
    else if (sto_summary_make(&r->chosen, &made) && made.has_sum)
        of_summary(&made, &f);
    else
        of_points(&r->chosen, &f);
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
