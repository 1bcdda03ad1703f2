/*
 * scan_forms.c - how rows of a scan are printed: as OpenTSDB prints them, as lines of import, as CSV, as lines of JSON.
 *
 * Values in OpenTSDB's form are the bytes that OpenTSDB would store: integers in 1, 2, 4 or 8 bytes, others as float if that is exact, else as
 * double. Ids have three bytes, all of a series four if one of them needs it; times that do not fit 32 bits have eight.
 *
 *   [0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, 1] METRIC 1356998400 (Tue Jan 01 00:00:00 UTC 2013) {host=web01}
 *     [0, 0]<TAB>[42]<TAB>0<TAB>l<TAB>1356998400<TAB>(Tue Jan 01 00:00:00 UTC 2013)
 *
 * Threads    one
 * Not here   lines of import (lines.c)
 */
#include "tsd/format/scan_int.h"

#include "base/double.h"
#include "base/json.h"
#include "query/ids.h"
#include "tsd/format/out.h"
#include "tsd/ingest/rules.h"
#include "tsd/meta/series.h"

#include <string.h>

#define SCAN_FLOAT 0x8u /* flag of a qualifier: no integer */

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
void tsd_scan__ids(struct tsd_scan_run *r, const struct sto_series *s)
{
    struct ts_buf hex;
    ts_buf_init(&hex, 0);
    (void)qry_ids_tsuid(&r->lines.view, s, &hex); /* without one the key is the time alone */
    r->n_key = hex.n / 2 < TSD_SCAN_KEY_MAX ? hex.n / 2 : TSD_SCAN_KEY_MAX;
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

/* The tags in the form of the scan. */
static void scan_tags(struct tsd_scan_run *r, const struct sto_tag_text *tags, size_t n)
{
    struct ts_json j;
    ts_buf_clear(&r->tags);
    if (r->opts->form == TSD_SCAN_ROWS) {
        tsd_tags_text(tags, n, &r->tags);
    } else if (r->opts->form == TSD_SCAN_JSON) {
        ts_json_init(&j, &r->tags);
        ts_json_obj(&j);
        for (size_t i = 0; i < n; i++)
            ts_json_member_slices(&j, tags[i].k, tags[i].v);
        ts_json_obj_end(&j);
    } else {
        for (size_t i = 0; i < n; i++) {
            ts_buf_str(&r->tags, i ? " " : "");
            ts_buf_slice(&r->tags, tags[i].k);
            ts_buf_char(&r->tags, '=');
            ts_buf_slice(&r->tags, tags[i].v);
        }
    }
}

void tsd_scan__series(struct tsd_scan_run *r, const struct sto_series *s)
{
    struct sto_tag_text tags[TSD_SERIES_MAX_TAGS];
    if (r->opts->form == TSD_SCAN_IMPORT)
        tsd_lines__names(&r->lines, s);
    else
        scan_tags(r, tags, tsd_series_tags(&r->lines.view, s, tags));
    if (r->opts->form == TSD_SCAN_ROWS || r->opts->keys || r->opts->range.from.n || r->opts->range.to.n)
        tsd_scan__ids(r, s);
}

/* --- a row --- */

struct ts_slice tsd_scan__metric(const struct tsd_scan_run *r, const struct sto_series *s)
{
    return r->lines.metric.p ? r->lines.metric : qry_view_name(&r->lines.view, STO_UID_METRIC, s->metric);
}

size_t tsd_scan__key(const struct tsd_scan_run *r, int64_t base_ms, uint8_t *out)
{
    int64_t base_s = base_ms / 1000;
    size_t n = r->metric_n;
    memcpy(out, r->key, n);
    n += scan_be((uint64_t)base_s, base_s >= 0 && base_s <= UINT32_MAX ? TSD_SCAN_TIME_BYTES : 8, out + n);
    memcpy(out + n, r->key + r->metric_n, r->n_key - r->metric_n);
    return n + r->n_key - r->metric_n;
}

void tsd_scan__head(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms)
{
    struct ts_buf *b = &r->lines.out;
    uint8_t key[TSD_SCAN_KEY_MAX + 8];
    if (r->opts->family != TSD_SCAN_DAYS) { /* days have no keys */
        scan_bytes(b, key, tsd_scan__key(r, base_ms, key));
        ts_buf_char(b, ' ');
    }
    ts_buf_slice(b, tsd_scan__metric(r, s));
    ts_buf_printf(b, " %lld ", (long long)(base_ms / 1000));
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

static void scan_point(struct tsd_scan_run *r, int64_t base_ms, uint32_t meta, int64_t m)
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

static void scan_rows(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms)
{
    tsd_scan__head(r, s, base_ms);
    for (uint32_t i = 0; i < r->chosen.n; i++)
        scan_point(r, base_ms, r->chosen.meta[i], r->chosen.m[i]);
}

/* --- CSV --- */

void tsd_scan__csv_head(struct tsd_scan_run *r, const struct sto_series *s)
{
    (void)tsd_out_csv_field(&r->lines.out, tsd_scan__metric(r, s));
    ts_buf_char(&r->lines.out, ',');
}

void tsd_scan__csv_tail(struct tsd_scan_run *r)
{
    ts_buf_char(&r->lines.out, ',');
    (void)tsd_out_csv_field(&r->lines.out, ts_buf_get(&r->tags));
    ts_buf_char(&r->lines.out, '\n');
}

static void csv_rows(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms)
{
    struct ts_buf *b = &r->lines.out;
    char text[TSD_LINES_VALUE_BYTES > TSD_LINES_TIME_BYTES ? TSD_LINES_VALUE_BYTES : TSD_LINES_TIME_BYTES];
    for (uint32_t i = 0; i < r->chosen.n; i++) {
        uint32_t meta = r->chosen.meta[i], off_ms = sto_meta_off(meta);
        tsd_scan__csv_head(r, s);
        ts_buf_append(b, text, tsd_lines_time(base_ms + off_ms, (meta & STO_META_MS) || off_ms % 1000, text));
        ts_buf_char(b, ',');
        ts_buf_append(b, text, tsd_lines_value(sto_cell_num(meta, r->chosen.m[i]), text));
        tsd_scan__csv_tail(r);
    }
}

/* --- lines of JSON --- */

void tsd_scan__json_head(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms,
                         struct ts_json *j)
{
    ts_json_init(j, &r->lines.out);
    ts_json_obj(j);
    ts_json_member_slice(j, "metric", tsd_scan__metric(r, s));
    ts_json_member_raw(j, "tags", ts_buf_get(&r->tags));
    ts_json_member_int(j, r->opts->family == TSD_SCAN_DAYS ? "day" : "hour", base_ms / 1000);
}

static void json_row(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms)
{
    char text[TSD_LINES_VALUE_BYTES];
    struct ts_json j;
    tsd_scan__json_head(r, s, base_ms, &j);
    ts_json_member_arr(&j, "points");
    for (uint32_t i = 0; i < r->chosen.n; i++) {
        uint32_t meta = r->chosen.meta[i];
        struct ts_num v = sto_cell_num(meta, r->chosen.m[i]);
        size_t n = tsd_lines_value(v, text);
        double d = v.kind == TS_NUM_INT ? 0 : ts_num_double(v);
        ts_json_arr(&j);
        ts_json_int(&j, base_ms + sto_meta_off(meta));
        if (d - d != 0) /* JSON has no numbers for NaN and infinities */
            ts_json_slice(&j, (struct ts_slice){text, n});
        else
            ts_json_raw(&j, (struct ts_slice){text, n});
        ts_json_arr_end(&j);
    }
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
    ts_buf_char(&r->lines.out, '\n');
}

/* --- rows without what they have --- */

/* The key in hexadecimal digits, as prefix, startkey and stopkey take it. */
static void key_hex(const struct tsd_scan_run *r, int64_t base_ms, struct ts_buf *out)
{
    uint8_t key[TSD_SCAN_KEY_MAX + 8];
    size_t n = tsd_scan__key(r, base_ms, key);
    for (size_t i = 0; i < n; i++)
        ts_buf_printf(out, "%02X", key[i]);
}

void tsd_scan__keys_row(struct tsd_scan_run *r, const struct sto_series *s, int64_t base_ms, uint64_t n)
{
    struct ts_buf *b = &r->lines.out;
    bool histograms = r->opts->family == TSD_SCAN_HISTOGRAMS; /* these have no keys */
    struct ts_json j;
    if (r->opts->form == TSD_SCAN_ROWS) {
        tsd_scan__head(r, s, base_ms);
    } else if (r->opts->form == TSD_SCAN_CSV) {
        if (!histograms)
            key_hex(r, base_ms, b);
        ts_buf_char(b, ',');
        tsd_scan__csv_head(r, s);
        ts_buf_printf(b, "%lld,%llu", (long long)(base_ms / 1000), (unsigned long long)n);
        tsd_scan__csv_tail(r);
    } else {
        tsd_scan__json_head(r, s, base_ms, &j);
        if (!histograms) {
            struct ts_buf hex;
            ts_buf_init(&hex, 0);
            key_hex(r, base_ms, &hex);
            ts_json_member_slice(&j, "key", ts_buf_get(&hex));
            ts_buf_release(&hex);
        }
        ts_json_member_count(&j,
                             r->opts->family == TSD_SCAN_ANNOTATIONS ? "annotations"
                             : histograms                            ? "histograms"
                                                                     : "points",
                             n);
        ts_json_obj_end(&j);
        ts_buf_char(b, '\n');
    }
}

/* --- all --- */

void tsd_scan__begin(struct tsd_scan_run *r)
{
    static const char *const heads[] = {[TSD_SCAN_POINTS] = "metric,time,value,tags\n",
                                        [TSD_SCAN_HOURS] = "metric,hour,sum,count,min,max,first,last,tags\n",
                                        [TSD_SCAN_DAYS] = "metric,day,sum,count,min,max,first,last,tags\n",
                                        [TSD_SCAN_ANNOTATIONS] = "metric,time,annotation,tags\n",
                                        [TSD_SCAN_HISTOGRAMS] = "metric,time,histogram,tags\n"};
    if (r->opts->form == TSD_SCAN_CSV)
        ts_buf_str(&r->lines.out, r->opts->keys ? "key,metric,hour,n,tags\n" : heads[r->opts->family]);
}

int tsd_scan__printed(struct tsd_scan_run *r, struct ts_error *err)
{
    if (r->lines.out.failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a row");
    return tsd_lines__flush(&r->lines, TSD_LINES_PIECE_BYTES, err);
}

int tsd_scan__row(struct tsd_scan_run *r, const struct sto_series *s, const struct sto_row *row,
                  struct ts_error *err)
{
    int64_t base_ms = row->key.hour * TS_HOUR_MS;
    struct sto_row chosen = *row;
    if (r->opts->keys) {
        tsd_scan__keys_row(r, s, base_ms, r->chosen.n);
        return tsd_scan__printed(r, err);
    }
    switch (r->opts->form) {
    case TSD_SCAN_IMPORT:
        chosen.cells = &r->chosen;
        return tsd_lines__row(&r->lines, &chosen, err);
    case TSD_SCAN_ROWS:
        scan_rows(r, s, base_ms);
        break;
    case TSD_SCAN_CSV:
        csv_rows(r, s, base_ms);
        break;
    case TSD_SCAN_JSON:
        json_row(r, s, base_ms);
        break;
    }
    return tsd_scan__printed(r, err);
}

void tsd_scan__more(struct tsd_scan_run *r)
{
    bool json = r->opts->form == TSD_SCAN_JSON;
    bool apart = r->opts->form == TSD_SCAN_CSV && r->opts->token; /* a table has rows only */
    struct ts_buf *b = apart ? r->opts->token : &r->lines.out;
    ts_buf_printf(b, "%s%zu-", apart ? "" : json ? "{\"after\":\"" : "# after ", r->last_sub);
    (void)qry_ids_tsuid(&r->lines.view, r->last_series, b);
    ts_buf_printf(b, "-%d.%lld.%lld%s", r->last_hour, (long long)r->from_ms, (long long)r->to_ms,
                  apart  ? ""
                  : json ? "\"}\n"
                         : "\n");
}
