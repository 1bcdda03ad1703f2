/*
 * scan.c - rows as OpenTSDB prints them.
 *
 * Values are the bytes that OpenTSDB would store: integers in 1, 2, 4 or 8 bytes, others as float if that is exact, else as
 * double. Ids have three bytes, all of a series four if one of them needs it; times that do not fit 32 bits have eight.
 *
 *   [0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, 1] METRIC 1356998400 (Tue Jan 01 00:00:00 UTC 2013) {host=web01}
 *     [0, 0]<TAB>[42]<TAB>0<TAB>l<TAB>1356998400<TAB>(Tue Jan 01 00:00:00 UTC 2013)
 *
 * A row is an hour of a series, of which the points from start to end are shown. Rows come series by series.
 *
 * Threads    one
 * Not here   lines of import (lines.c)
 */
#include "tsd/format/answers.h"

#include "tsd/meta/series.h"
#include "base/double.h"
#include "query/execution/plan.h"
#include "query/execution/reader.h"
#include "query/ids.h"
#include "tsd/format/lines_int.h"
#include "tsd/format/out.h"
#include "tsd/ingest/rules.h"

#include <string.h>

#define SCAN_KEY_MAX 2064 /* bytes of a row's key: 1 + 2 * 255 ids of four bytes, and a time */
#define SCAN_FLOAT   0x8u /* flag of a qualifier: no integer */

/* One scan under way. */
struct scan_run {
    struct tsd_lines_run lines; /* catalog, snapshot, text on its way out */
    struct qry_budget budget;   /* of the request */
    struct ts_sink *sink;       /* where text goes */
    struct ts_buf tags;         /* "{k=v, k=v}" of the current series */
    uint8_t key[SCAN_KEY_MAX];  /* of the current series, without time */
    size_t n_key, metric_n;     /* its bytes, those of the metric */
};

static int scan_emit(void *arg, struct ts_slice text, struct ts_error *err)
{
    struct scan_run *r = arg;
    return ts_sink_write(r->sink, text, err);
}

/* "[1, -2, 3]" */
static void scan_bytes(struct ts_buf *b, const uint8_t *p, size_t n)
{
    ts_buf_char(b, '[');
    for (size_t i = 0; i < n; i++)
        ts_buf_printf(b, i ? ", %d" : "%d", (int8_t)p[i]);
    ts_buf_char(b, ']');
}

static size_t scan_be(uint64_t v, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(v >> 8 * (n - 1 - i));
    return n;
}

/* As Java prints a date. */
static void scan_date(struct ts_buf *b, int64_t ms)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun",
                                       "Mon", "Tue", "Wed"}; /* 1970 began on a Thursday */
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct ts_civil c = ts_civil_from_ms(NULL, ms);
    ts_buf_printf(b, "(%s %s %02d %02d:%02d:%02d UTC %d)", days[ts_floor_mod(ts_floor_div(ms, TS_DAY_MS), 7)],
                  months[c.month - 1], c.day, c.hour, c.minute, c.second, c.year);
}

/* --- a series --- */

/* Its ids as bytes: the TSUID. */
static void scan_ids(struct scan_run *r, const struct sto_series *s)
{
    struct ts_buf hex;
    ts_buf_init(&hex, 0);
    (void)qry_ids_tsuid(&r->lines.view, s, &hex); /* without one the key is the time alone */
    r->n_key = hex.n / 2 < SCAN_KEY_MAX ? hex.n / 2 : SCAN_KEY_MAX;
    for (size_t i = 0; i < r->n_key; i++) {
        unsigned v = 0;
        for (size_t k = 0; k < 2; k++) {
            char c = hex.p[2 * i + k];
            v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
        }
        r->key[i] = (uint8_t)v;
    }
    r->metric_n = hex.n ? qry_ids_metric_digits(&r->lines.view, s) / 2 : 0;
    ts_buf_release(&hex);
}

static void scan_series(struct scan_run *r, const struct sto_series *s)
{
    struct sto_tag_text tags[TSD_SERIES_MAX_TAGS];
    ts_buf_clear(&r->tags);
    tsd_tags_text(tags, tsd_series_tags(&r->lines.view, s, tags), &r->tags);
    scan_ids(r, s);
}

/* --- a row --- */

static void scan_head(struct scan_run *r, const struct sto_series *s, int64_t base_ms)
{
    struct ts_buf *b = &r->lines.out;
    uint8_t key[SCAN_KEY_MAX + 8];
    int64_t base_s = base_ms / 1000;
    size_t n = r->metric_n;
    memcpy(key, r->key, n);
    n += scan_be((uint64_t)base_s, base_s >= 0 && base_s <= UINT32_MAX ? 4 : 8, key + n);
    memcpy(key + n, r->key + r->metric_n, r->n_key - r->metric_n);
    scan_bytes(b, key, n + r->n_key - r->metric_n);
    ts_buf_char(b, ' ');
    ts_buf_slice(b, qry_view_name(&r->lines.view, STO_UID_METRIC, s->metric));
    ts_buf_printf(b, " %lld ", (long long)base_s);
    scan_date(b, base_ms);
    ts_buf_char(b, ' ');
    ts_buf_slice(b, ts_buf_get(&r->tags));
    ts_buf_char(b, '\n');
}

/* Bytes of a value; returns their number. */
static size_t scan_value(struct ts_num v, uint8_t *out)
{
    if (v.kind == TS_NUM_INT) {
        size_t n = v.m >= INT8_MIN && v.m <= INT8_MAX     ? 1
                   : v.m >= INT16_MIN && v.m <= INT16_MAX ? 2
                   : v.m >= INT32_MIN && v.m <= INT32_MAX ? 4
                                                          : 8;
        return scan_be((uint64_t)v.m, n, out);
    }
    double d = ts_num_double(v);
    float f = (float)d;
    uint32_t bits32;
    memcpy(&bits32, &f, 4);
    return (double)f == d ? scan_be(bits32, 4, out) : scan_be(ts_double_bits(d), 8, out);
}

static void scan_point(struct scan_run *r, int64_t base_ms, uint32_t meta, int64_t m)
{
    struct ts_buf *b = &r->lines.out;
    struct ts_num v = sto_cell_num(meta, m);
    uint8_t qualifier[4], value[8];
    uint32_t off_ms = sto_meta_off(meta);
    bool ms = (meta & STO_META_MS) || off_ms % 1000 != 0, is_int = v.kind == TS_NUM_INT;
    size_t n_value = scan_value(v, value), n_qualifier;
    uint32_t flags = (uint32_t)(n_value - 1) | (is_int ? 0 : SCAN_FLOAT);
    n_qualifier = ms ? scan_be(0xf0000000u | off_ms << 6 | flags, 4, qualifier)
                     : scan_be(off_ms / 1000 << 4 | flags, 2, qualifier);
    ts_buf_str(b, "  ");
    scan_bytes(b, qualifier, n_qualifier);
    ts_buf_char(b, '\t');
    scan_bytes(b, value, n_value);
    int64_t time = base_ms + off_ms;
    ts_buf_printf(b, "\t%u\t%c\t%lld\t", ms ? off_ms : off_ms / 1000, is_int ? 'l' : 'f',
                  (long long)(ms ? time : time / 1000));
    scan_date(b, time);
    ts_buf_char(b, '\n');
}

/* The series that are printed now. */
struct scanned {
    struct scan_run *r;
    const struct sto_series *const *series; /* by position */
    bool import;
};

static int scan_begin(void *arg, size_t pos, struct ts_error *err)
{
    struct scanned *s = arg;
    (void)err;
    if (s->import)
        tsd_lines__names(&s->r->lines, s->series[pos]);
    else
        scan_series(s->r, s->series[pos]);
    return 0;
}

static int scan_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct scanned *s = arg;
    struct tsd_lines_run *lines = &s->r->lines;
    int64_t base_ms = row->key.hour * TS_HOUR_MS;
    if (s->import)
        return tsd_lines__row(lines, row, err);
    scan_head(s->r, s->series[row->pos], base_ms);
    for (uint32_t i = 0; i < row->cells->n; i++)
        scan_point(s->r, base_ms, row->cells->meta[i], row->cells->m[i]);
    if (lines->out.failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a row");
    return tsd_lines__flush(lines, TSD_LINES_PIECE_BYTES, err);
}

static int scan_sub(struct scan_run *r, const struct qry_spec *spec, size_t index, bool import,
                    struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    ts_arena_init(&arena, 0);
    arena.budget = r->budget.memory;
    int rc = qry_plan_select(spec, index, NULL, 0, &r->budget, &arena, &plan, err);
    if (rc == 0 && !import)
        rc = qry_ids_load(spec->view, plan.series, plan.n, err);
    if (rc == 0) {
        struct scanned s = {r, plan.series, import};
        struct qry_reading rd = qry_plan_reading(&plan, r->lines.snap, &r->budget);
        qry_delete_target_range(spec, &rd.from_ms, &rd.to_ms);
        rd.to_ms++;
        rd.where = &spec->where;
        rd.begin = scan_begin;
        rd.row = scan_row;
        rd.arg = &s;
        rc = qry_read(&rd, err);
    }
    ts_arena_release(&arena);
    return rc;
}

int tsd_scan_run(struct sto_store *store, const struct qry_spec *spec, bool import, struct qry_limit *limit,
                 struct ts_sink *sink, struct ts_error *err)
{
    struct scan_run *r = ts_xcalloc(1, sizeof *r);
    struct ts_error why = {0};
    int rc = 0;
    r->sink = sink;
    qry_budget_init(&r->budget, limit);
    tsd_lines__open(&r->lines, store, &r->budget, scan_emit, r);
    ts_buf_init(&r->tags, 0);
    struct qry_spec with = *spec;
    with.view = &r->lines.view;
    for (size_t i = 0; i < spec->n_subs && rc == 0; i++)
        rc = scan_sub(r, &with, i, import, err);
    if (rc == 0)
        rc = tsd_lines__flush(&r->lines, 1, err);
    if (rc < 0 && qry_budget_result(&r->budget, &why) < 0)
        *err = why;
    tsd_lines__close(&r->lines);
    ts_buf_release(&r->tags);
    ts_free(r);
    return rc;
}
