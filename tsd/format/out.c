/*
 * out.c - the table of formats and what they share.
 *
 * Threads    see out.h
 */
#include "tsd/format/out.h"

#include "base/mem.h"
#include "query/limit.h"
#include "tsd/meta/annotation_remote.h"

#include <math.h>

#define POINT_BYTES 96 /* at least what a time, a separator and a value take */

#define ADDRESS(identifier, name) &tsd_out_##identifier,
const struct tsd_out_format *const tsd_out_formats[] = {&tsd_out_ascii, TSD_OUT_FORMATS(ADDRESS) NULL};

const struct tsd_out_format *tsd_out_find(struct ts_slice name)
{
    for (const struct tsd_out_format *const *f = tsd_out_formats; *f; f++)
        if (ts_slice_is(name, (*f)->name))
            return *f;
    return NULL;
}

int tsd_out_nothing(struct tsd_out *o, struct ts_error *err)
{
    (void)o;
    (void)err;
    return 0;
}

int tsd_out_total_words(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    return tsd_out_total_row(o, t, ' ', ts_buf_slice, err);
}

void tsd_out_init(struct tsd_out *o, const struct tsd_out_format *format, const struct qry_spec *spec,
                  struct ts_sink *sink)
{
    *o = (struct tsd_out){.format = format, .spec = spec, .sink = sink, .time_hi = -1};
    ts_buf_init(&o->scratch, 0);
    ts_buf_init(&o->globals, 0);
}

void tsd_out_release(struct tsd_out *o)
{
    ts_buf_release(&o->scratch);
    ts_buf_release(&o->globals);
    ts_free(o->n_of);
    o->n_of = NULL;
    qry_thin_release(&o->thin);
    tsd_out__kept_free(o->kept);
    o->kept = NULL;
}

int tsd_out_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct tsd_out *o = arg;
    const struct qry_spec *spec = o->spec;
    if (o->n_of)
        o->n_of[s->sub]++;
    if (spec->max_series && o->n >= spec->max_series) {
        o->n_left_out++;
        return 0;
    }
    if (spec->thin || spec->figures) {
        struct qry_budget budget;
        struct qry_series thinned = *s;
        qry_budget_init(&budget, o->limit);
        TS_TRY(qry_thin_series(&o->thin, spec, &budget, &thinned, err));
        thinned.figures = &o->thin.figures;
        TS_TRY(o->format->series(o, &thinned, err));
    } else {
        TS_TRY(o->format->series(o, s, err));
    }
    o->n++;
    return 0;
}

int tsd_out_head(void *arg, const struct qry_head *head, struct ts_error *err)
{
    struct tsd_out *o = arg;
    o->head = head;
    return o->format->head ? o->format->head(o, err) : 0;
}

int tsd_out_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct tsd_out *o = arg;
    TS_TRY(o->format->total(o, t, err));
    o->n++;
    return 0;
}

int tsd_out_begin(struct tsd_out *o, struct sto_store *store, struct ts_error *err)
{
    bool remote = sto_store_remote(store) != NULL;
    if (o->spec->figures && !o->format->has_figures)
        return ts_error_set(err, TS_EINVAL,
                            "figures are printed by the formats json and ndjson only, not by %s",
                            o->format->name);
    if (!o->spec->by_on && !o->spec->no_annotations && (remote || tsd_notes_any(store)))
        o->notes = store;
    if (!o->spec->by_on && o->spec->global_annotations)
        TS_TRY(tsd_notes_fetch(store, (struct ts_slice){"", 0}, o->spec->start_ms, o->spec->end_ms, false,
                               o->limit ? &o->limit->cancelled : NULL, err));
    if (!o->spec->by_on && o->spec->global_annotations)
        tsd_notes_global(store, o->spec->start_ms, o->spec->end_ms, &o->globals);
    o->cat = sto_store_remote(store) ? NULL : sto_store_catalog(store);
    return o->format->begin(o, err);
}

/* Run a query, with the annotations that the remote store has of its series. */
static int run(struct tsd_out *o, struct sto_store *store, struct ts_pool *pool, struct qry_limit *limit,
               struct ts_error *err)
{
    struct tsd_notes_fetched fetched;
    struct qry_spec spec = *o->spec;
    struct qry_budget budget;
    qry_budget_init(&budget, limit);
    tsd_notes_fetched_init(&fetched, store, budget.memory);
    o->fetched = &fetched;
    if (o->notes && sto_store_remote(store))
        spec.notes = &fetched.taker;
    int rc = qry_run(store, pool, &spec, limit, tsd_out_series, o, err);
    o->fetched = NULL;
    tsd_notes_fetched_release(&fetched);
    return rc;
}

int tsd_out_run(struct tsd_out *o, struct sto_store *store, struct ts_pool *pool, struct qry_limit *limit,
                struct ts_error *err)
{
    o->stats = limit ? limit->stats : NULL;
    o->limit = limit;
    if (o->spec->versions)
        return tsd_out_versions(o, store, limit, err);
    TS_TRY(tsd_out_begin(o, store, err));
    if (o->spec->by_on) {
        TS_TRY(qry_table(store, pool, o->spec, limit, tsd_out_head, tsd_out_total, o, err));
        return o->format->end(o, err);
    }
    o->n_of = ts_xcalloc(o->spec->n_subs + 1, sizeof *o->n_of);
    TS_TRY(run(o, store, pool, limit, err));
    for (size_t i = 0; i < o->spec->n_subs; i++)
        TS_TRY(tsd_out_nameless(o, i, o->n_of[i], store, pool, limit, err));
    return o->format->end(o, err);
}

struct qry_total_value tsd_out_total_nth(const struct qry_total *t, size_t i)
{
    return i ? t->more[i - 1]
             : (struct qry_total_value){.null = t->null, .is_int = t->is_int, .i = t->i, .d = t->d};
}

size_t tsd_out_total_value(const struct qry_total_value *v, char *out)
{
    if (!v->is_int)
        return ts_num_print_double(v->d, out);
    if (v->i >= INT64_MIN && v->i <= INT64_MAX)
        return ts_num_print_i128(v->i, out);
    return ts_num_print_double((double)v->i, out); /* beyond 64 bits other programs read doubles */
}

void tsd_out_time(struct ts_buf *b, int64_t ms)
{
    struct ts_civil c = ts_civil_from_ms(NULL, ms);
    ts_buf_printf(b, "%04d-%02d-%02d %02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
    if (c.ms)
        ts_buf_printf(b, ".%03d", c.ms);
}

int tsd_out_total_row(struct tsd_out *o, const struct qry_total *t, char sep,
                      int (*field)(struct ts_buf *b, struct ts_slice s), struct ts_error *err)
{
    const struct qry_head *head = o->head;
    enum qry_partial partial = o->spec->partial;
    struct ts_buf *b = &o->scratch;
    char text[64];
    ts_buf_clear(b);
    for (size_t i = 0; i < head->n_times; i++) {
        ts_buf_append(b, text, qry_time_column_print(head->times[i], t, text));
        if (t->partial && partial == QRY_PARTIAL_MARK && i + 1 == head->n_times)
            ts_buf_char(b, '*');
        ts_buf_char(b, sep);
    }
    for (size_t i = 0; i < head->n_tags; i++) {
        field(b, t->tags[i]);
        ts_buf_char(b, sep);
    }
    for (size_t i = 0; i <= t->n_more; i++) {
        struct qry_total_value v = tsd_out_total_nth(t, i);
        if (i)
            ts_buf_char(b, sep);
        if (!v.null)
            ts_buf_append(b, text, tsd_out_total_value(&v, text));
        else if (sep != ',')
            ts_buf_str(b, "null");
    }
    if (partial == QRY_PARTIAL_COLUMN)
        ts_buf_printf(b, "%c%s", sep, t->partial ? "yes" : "no");
    ts_buf_char(b, '\n');
    return ts_sink_write(o->sink, ts_buf_get(b), err);
}

/* A time of a row; at most 40 bytes. */
static char *out_row_time(const struct tsd_out *o, int64_t ts_ms, enum tsd_out_time time, char *p)
{
    struct ts_buf text;
    if (time != TSD_OUT_ISO)
        return p + ts_num_print_int(time == TSD_OUT_MS ? ts_ms : ts_floor_div(ts_ms, 1000), p);
    ts_buf_init(&text, 0);
    ts_time_print(o->spec->tz, ts_ms, false, &text);
    memcpy(p, text.p, text.n);
    p += text.n;
    ts_buf_release(&text);
    return p;
}

int tsd_out_points(struct tsd_out *o, const struct qry_series *s, struct ts_slice head,
                   enum tsd_out_time time, const char *sep, struct ts_slice tail, struct ts_error *err)
{
    size_t n_sep = strlen(sep);
    for (size_t i = 0; i < s->n; i++) {
        TS_TRY(ts_sink_write(o->sink, head, err));
        TS_TRY(ts_sink_room(o->sink, POINT_BYTES, err));
        char *p = o->sink->p;
        p = out_row_time(o, s->ts_ms[i], time, p);
        memcpy(p, sep, n_sep);
        p += n_sep;
        if (tsd_out_is_int(s, i)) {
            p += ts_num_print_int((int64_t)s->v[i], p);
        } else {
            double d;
            memcpy(&d, &s->v[i], 8);
            if (!isnan(d) || !s->nan_is_null)
                p += ts_num_print_double(d, p);
            else if (*sep != ',') /* a field may be empty, a column may not */
                p = (char *)memcpy(p, "null", 4) + 4;
        }
        o->sink->p = p;
        TS_TRY(ts_sink_write(o->sink, tail, err));
    }
    return 0;
}
