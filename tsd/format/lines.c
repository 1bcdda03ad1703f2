/*
 * lines.c - export: scans metric by metric, some thousand series at a time, and prints rows.
 *
 * Threads    see lines.h
 * Not here   reading lines (rules.c for times, base/num.h for values), rollups and histograms (lines_internal.c)
 */
#include "tsd/format/lines.h"

#include "base/mem.h"
#include "base/text.h"
#include "query/execution/select.h"
#include "tsd/format/lines_int.h"

#define LINES_MAX_UNCLEAR 9999999999ll /* larger numbers are read as milliseconds everywhere */
#define LINES_POINT_BYTES (TSD_LINES_TIME_BYTES + TSD_LINES_VALUE_BYTES + 2)

/* --- texts of numbers --- */

size_t tsd_lines_time(int64_t ts_ms, bool ms, char *out)
{
    if (!ms && ts_ms % 1000 == 0) {
        size_t n_digits = ts_num_print_int(ts_ms / 1000, out);
        if (ts_time_is_date(ts_ms / 1000)) /* without a point it would be refused */
            out[n_digits++] = '.';
        return n_digits;
    }
    if (ts_ms > LINES_MAX_UNCLEAR || ts_ms < -LINES_MAX_UNCLEAR)
        return ts_num_print_int(ts_ms, out);
    size_t n = 0;
    uint64_t abs = (uint64_t)(ts_ms < 0 ? -ts_ms : ts_ms);
    if (ts_ms < 0)
        out[n++] = '-';
    n += ts_num_print_int((int64_t)(abs / 1000), out + n);
    unsigned part = (unsigned)(abs % 1000);
    out[n++] = '.';
    out[n++] = (char)('0' + part / 100);
    out[n++] = (char)('0' + part / 10 % 10);
    out[n++] = (char)('0' + part % 10);
    return n;
}

/* Mantissa with a point exp digits from the right, without zeros at the end: blocks of one file share an exponent, and the same value
 * reads the same in each. */
static size_t lines_decimal(int64_t m, unsigned exp, char *out)
{
    char digits[24];
    while (exp > 1 && m % 10 == 0) {
        m /= 10;
        exp--;
    }
    size_t n = 0, len = ts_num_print_int(m < 0 ? -m : m, digits);
    if (m < 0)
        out[n++] = '-';
    if (len <= exp) {
        out[n++] = '0';
        out[n++] = '.';
        for (size_t i = len; i < exp; i++)
            out[n++] = '0';
        memcpy(out + n, digits, len);
        return n + len;
    }
    memcpy(out + n, digits, len - exp);
    n += len - exp;
    out[n++] = '.';
    if (exp == 0)
        out[n++] = '0';
    memcpy(out + n, digits + len - exp, exp);
    return n + exp;
}

size_t tsd_lines_value(struct ts_num v, char *out)
{
    if (v.kind == TS_NUM_INT)
        return ts_num_print_int(v.m, out);
    if (v.kind == TS_NUM_DEC)
        return lines_decimal(v.m, v.exp, out);
    return ts_num_print_double(ts_num_double(v), out);
}

/* --- rows --- */

int tsd_lines__flush(struct tsd_lines_run *r, size_t at_least, struct ts_error *err)
{
    if (r->out.n < at_least)
        return 0;
    int rc = r->emit(r->arg, ts_buf_get(&r->out), err);
    ts_buf_clear(&r->out);
    return rc;
}

/* What stands before the time and after the value. Names come from the catalog, so renames are seen. */
void tsd_lines__names(struct tsd_lines_run *r, const struct sto_series *s)
{
    struct ts_slice metric = r->metric.p ? r->metric : qry_view_name(&r->view, STO_UID_METRIC, s->metric);
    ts_buf_clear(&r->front);
    ts_buf_clear(&r->back);
    ts_buf_slice(&r->front, r->lead);
    if (!r->lead.n && ts_slice_is(metric, "put")) /* "put 1 2 a=b" would be read as a put line */
        ts_buf_str(&r->front, "put ");
    ts_buf_slice(&r->front, metric);
    ts_buf_char(&r->front, ' ');
    unsigned order[256];
    for (unsigned i = 0; i < s->n_tags; i++) { /* by name: ids differ between stores that hold the same */
        struct ts_slice k = qry_view_name(&r->view, STO_UID_TAGK, s->tags[i].k);
        unsigned at = i;
        for (; at && ts_slice_cmp(k, qry_view_name(&r->view, STO_UID_TAGK, s->tags[order[at - 1]].k)) < 0;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (unsigned i = 0; i < s->n_tags; i++) {
        const struct sto_tag *tag = &s->tags[order[i]];
        ts_buf_char(&r->back, ' ');
        ts_buf_slice(&r->back, qry_view_name(&r->view, STO_UID_TAGK, tag->k));
        ts_buf_char(&r->back, '=');
        ts_buf_slice(&r->back, qry_view_name(&r->view, STO_UID_TAGV, tag->v));
    }
    ts_buf_char(&r->back, '\n');
}

int tsd_lines__row(struct tsd_lines_run *r, const struct sto_row *row, struct ts_error *err)
{
    int64_t base_ms = (int64_t)row->key.hour * TS_HOUR_MS;
    size_t line_bytes = r->front.n + r->back.n + LINES_POINT_BYTES;
    for (uint32_t i = 0; i < row->cells->n; i++) {
        uint32_t meta = row->cells->meta[i];
        char *room = ts_buf_reserve(&r->out, line_bytes), *p = room;
        if (!room)
            return ts_error_set(err, TS_ENOMEM, "no memory for a line of export");
        memcpy(p, r->front.p, r->front.n);
        p += r->front.n;
        p += tsd_lines_time(base_ms + sto_meta_off(meta), (meta & STO_META_MS) != 0, p);
        *p++ = ' ';
        p += tsd_lines_value(sto_cell_num(meta, row->cells->m[i]), p);
        memcpy(p, r->back.p, r->back.n);
        p += r->back.n;
        r->out.n += (size_t)(p - room);
        TS_TRY(tsd_lines__flush(r, TSD_LINES_PIECE_BYTES, err));
    }
    r->n += row->cells->n;
    return 0;
}

struct qry_reading tsd_lines__reading(const struct tsd_lines_run *r, uint32_t metric,
                                      const struct sto_series *const *series, size_t n, int64_t from_ms,
                                      int64_t to_ms)
{
    return (struct qry_reading){.snap = r->snap,
                                .budget = r->budget,
                                .view = &r->view,
                                .metric = metric,
                                .series = series,
                                .n = n,
                                .from_ms = from_ms,
                                .to_ms = to_ms < INT64_MAX ? to_ms + 1 : to_ms};
}

/* Series whose lines are written. */
struct lines_scan {
    struct tsd_lines_run *r;
    const struct sto_series *const *series;
};

static int scan_begin(void *arg, size_t pos, struct ts_error *err)
{
    const struct lines_scan *scan = arg;
    (void)err;
    tsd_lines__names(scan->r, scan->series[pos]);
    return 0;
}

static int scan_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    return tsd_lines__row(((const struct lines_scan *)arg)->r, row, err);
}

static int lines_scan(struct tsd_lines_run *r, uint32_t metric, const struct sto_series *const *series,
                      size_t n, const struct tsd_lines_spec *spec, struct ts_error *err)
{
    struct lines_scan scan = {r, series};
    struct qry_reading reading = tsd_lines__reading(r, metric, series, n, spec->from_ms, spec->to_ms);
    reading.begin = scan_begin;
    reading.row = scan_row;
    reading.arg = &scan;
    return qry_read(&reading, err);
}

/* --- what is chosen --- */

/* Ids of the values of "a|b"; names that do not exist match nothing. */
static int lines_values(struct tsd_lines_run *r, struct ts_slice text, uint32_t *ids, struct ts_slice *names,
                        size_t *out_n, struct ts_error *err)
{
    size_t n = 0;
    for (;;) {
        const char *bar = text.n ? memchr(text.p, '|', text.n) : NULL;
        struct ts_slice one = {text.p, bar ? (size_t)(bar - text.p) : text.n};
        int rc = qry_view_find(&r->view, STO_UID_TAGV, one, &ids[n], err);
        if (rc < 0 && rc != TS_ENOTFOUND)
            return rc;
        if (rc == 0)
            names[n++] = one;
        *out_n = n;
        if (!bar)
            return 0;
        text = (struct ts_slice){bar + 1, text.n - one.n - 1};
    }
}

/* Set the error of an unknown name, with the name that was probably meant. */
static int lines_unknown(struct tsd_lines_run *r, enum sto_uid_kind kind, struct ts_slice name,
                         struct ts_error *err)
{
    static const char *const kinds[STO_UID_KINDS] = {"metric", "tag key", "tag value"};
    ts_error_set(err, TS_ENOTFOUND, "no such %s: %.*s", kinds[kind], TS_SHOWN(name, 100));
    qry_select_near(&r->view, kind, name, NULL, err);
    return TS_ENOTFOUND;
}

/* Look up a name here and in the remote store. */
static int lines_find(struct tsd_lines_run *r, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                      struct ts_error *err)
{
    int rc = qry_view_find(&r->view, kind, name, out_id, err);
    return rc == TS_ENOTFOUND ? lines_unknown(r, kind, name, err) : rc;
}

static int lines_conds(struct tsd_lines_run *r, const struct tsd_lines_spec *spec, struct ts_arena *arena,
                       struct sto_tag_cond *conds, struct ts_error *err)
{
    struct qry_view_cond *remote = ts_arena_zalloc(arena, (spec->n_tags + 1) * sizeof(*remote));
    r->conds = remote;
    for (size_t i = 0; i < spec->n_tags; i++) {
        struct ts_slice k = spec->tags[i].k, v = spec->tags[i].v;
        conds[i] = (struct sto_tag_cond){0};
        remote[i].tagk = k;
        TS_TRY(lines_find(r, STO_UID_TAGK, k, &conds[i].tagk, err));
        if (ts_slice_is(v, "*"))
            continue;
        uint32_t *ids = ts_arena_alloc(arena, (v.n / 2 + 2) * sizeof(*ids));
        struct ts_slice *names = ts_arena_alloc(arena, (v.n / 2 + 2) * sizeof(*names));
        TS_TRY(lines_values(r, v, ids, names, &conds[i].n_values, err));
        conds[i].values = ids;
        remote[i].values = names;
        remote[i].n_values = conds[i].n_values;
        if (conds[i].n_values == 0)
            return lines_unknown(r, STO_UID_TAGV, v, err);
    }
    return 0;
}

int tsd_lines__metric(struct tsd_lines_run *r, uint32_t metric, const struct tsd_lines_spec *spec,
                      const struct sto_tag_cond *conds, struct ts_error *err)
{
    const struct sto_series *series[TSD_LINES_SERIES];
    roaring_bitmap_t *set = NULL;
    TS_TRY(qry_select_here(&r->view, metric, conds, spec->n_tags, false, r->budget, &set, err));
    struct qry_view_ask ask = {.metric = qry_view_name(&r->view, STO_UID_METRIC, metric),
                               .conds = r->conds,
                               .n_conds = spec->n_tags,
                               .from_ms = spec->from_ms,
                               .to_ms = spec->to_ms,
                               .useful_from_ms = spec->from_ms};
    int rc = qry_view_add(&r->view, &ask, r->budget, set, err);
    roaring_uint32_iterator_t it;
    roaring_init_iterator(set, &it);
    while (rc == 0 && it.has_value) {
        size_t n = 0;
        for (; it.has_value && n < TSD_LINES_SERIES; roaring_advance_uint32_iterator(&it)) {
            series[n] = qry_view_series(&r->view, it.current_value);
            n += series[n] != NULL; /* it may have been forgotten meanwhile */
        }
        rc = qry_budget_look(r->budget, err);
        if (rc == 0)
            rc = lines_scan(r, metric, series, n, spec, err);
    }
    roaring_bitmap_free(set);
    return rc;
}

bool tsd_lines__wanted(struct tsd_lines_run *r, const struct tsd_lines_spec *spec, struct ts_slice metric)
{
    bool wanted = !spec->metric.n || (tsd_lines_star(spec) ? ts_slice_fits_stars(metric, spec->metric)
                                                           : ts_slice_eq(metric, spec->metric));
    r->found |= wanted;
    return wanted;
}

/* Metrics that only the remote store has. */
static int lines_foreign(struct tsd_lines_run *r, const struct tsd_lines_spec *spec,
                         const struct sto_tag_cond *conds, struct ts_error *err)
{
    const char *star = tsd_lines_star(spec);
    struct ts_slice prefix = {spec->metric.p, star ? (size_t)(star - spec->metric.p) : 0};
    TS_TRY(qry_view_suggest(&r->view, STO_UID_METRIC, prefix, SIZE_MAX, NULL, NULL, err));
    const struct qry_view_names *found = &r->view.names[STO_UID_METRIC];
    for (size_t i = 0; i < found->n; i++)
        if (!sto_name_internal(found->names[i]) && tsd_lines__wanted(r, spec, found->names[i]))
            TS_TRY(tsd_lines__metric(r, STO_FOREIGN + (uint32_t)i, spec, conds, err));
    return 0;
}

static int lines_all(struct tsd_lines_run *r, const struct tsd_lines_spec *spec, struct ts_arena *arena,
                     struct ts_error *err)
{
    uint32_t first = 1, last = sto_uid_max(r->cat, STO_UID_METRIC);
    bool one = spec->metric.n && !tsd_lines_star(spec);
    if (one) {
        TS_TRY(lines_find(r, STO_UID_METRIC, spec->metric, &first, err));
        last = first;
    }
    struct sto_tag_cond *conds = ts_arena_zalloc(arena, (spec->n_tags + 1) * sizeof(*conds));
    TS_TRY(lines_conds(r, spec, arena, conds, err));
    size_t step = 0;
    for (uint32_t id = first; id <= last && id >= first; id++) {
        TS_TRY(qry_budget_step(r->budget, &step, err));
        struct ts_slice name = qry_view_name(&r->view, STO_UID_METRIC, id);
        if (name.p && !sto_name_internal(name) && (one || tsd_lines__wanted(r, spec, name)))
            TS_TRY(tsd_lines__metric(r, id, spec, conds, err));
    }
    if (!one)
        TS_TRY(lines_foreign(r, spec, conds, err));
    TS_TRY(tsd_lines__internal(r, spec, conds, arena, err));
    if (tsd_lines_star(spec) && !r->found)
        return ts_error_set(err, TS_ENOTFOUND, "No metric matches '%.*s'", TS_SHOWN(spec->metric, 100));
    return tsd_lines__flush(r, 1, err);
}

void tsd_lines__open(struct tsd_lines_run *r, struct sto_store *st, struct qry_budget *budget,
                     tsd_lines_fn emit, void *arg)
{
    *r = (struct tsd_lines_run){.cat = sto_store_catalog(st), .budget = budget, .emit = emit, .arg = arg};
    ts_buf_init(&r->out, 0);
    ts_buf_init(&r->front, 0);
    ts_buf_init(&r->back, 0);
    qry_view_open(&r->view, st, budget->limit);
    r->snap = sto_snap_take(st);
}

void tsd_lines__close(struct tsd_lines_run *r)
{
    sto_snap_release(r->snap);
    qry_view_close(&r->view);
    ts_buf_release(&r->out);
    ts_buf_release(&r->front);
    ts_buf_release(&r->back);
}

int tsd_lines_export(struct sto_store *st, const struct tsd_lines_spec *spec, struct qry_limit *limit,
                     tsd_lines_fn emit, void *arg, uint64_t *out_n, struct ts_error *err)
{
    struct tsd_lines_run r;
    struct qry_budget budget;
    struct ts_arena arena;
    struct ts_error why = {0};
    ts_arena_init(&arena, 0);
    qry_budget_init(&budget, limit);
    tsd_lines__open(&r, st, &budget, emit, arg);
    int rc = lines_all(&r, spec, &arena, err);
    if (rc < 0 && err && qry_budget_result(&budget, &why) < 0)
        *err = why;
    if (out_n)
        *out_n = r.n;
    tsd_lines__close(&r);
    ts_arena_release(&arena);
    return rc;
}
