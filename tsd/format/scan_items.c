/*
 * scan_items.c - the families of annotations and histograms: a row has those of an hour of a series, each a time and a text.
 *
 * Threads    one
 * Not here   how histograms are joined from the counts of their buckets (lines_internal.c)
 */
#include "tsd/format/scan_int.h"

#include "base/json.h"
#include "query/execution/histogram.h"
#include "query/tsuid.h"
#include "tsd/format/out.h"
#include "tsd/meta/annotation.h"

/* --- a row --- */

static struct ts_slice text_of(const struct tsd_scan_items *items, const struct tsd_scan_item *i)
{
    return (struct ts_slice){items->text.p + i->at, i->text_n};
}

static void put_time(struct ts_buf *b, const struct tsd_scan_item *i)
{
    char text[TSD_LINES_TIME_BYTES];
    ts_buf_append(b, text, tsd_lines_time(i->ts_ms, i->ms || i->ts_ms % 1000, text));
}

static void rows(struct tsd_scan_run *r, const struct tsd_scan_items *items)
{
    struct ts_buf *b = &r->lines.out;
    tsd_scan__head(r, items->series, items->hour * TS_HOUR_MS);
    for (size_t i = 0; i < items->n; i++) {
        ts_buf_str(b, "  ");
        put_time(b, &items->v[i]);
        ts_buf_char(b, '\t');
        ts_buf_slice(b, text_of(items, &items->v[i]));
        ts_buf_char(b, '\n');
    }
}

static void lines(struct tsd_scan_run *r, const struct tsd_scan_items *items)
{
    struct ts_buf *b = &r->lines.out;
    for (size_t i = 0; i < items->n; i++) {
        ts_buf_slice(b, ts_buf_get(&r->lines.front));
        put_time(b, &items->v[i]);
        ts_buf_char(b, ' ');
        ts_buf_slice(b, text_of(items, &items->v[i]));
        ts_buf_slice(b, ts_buf_get(&r->lines.back));
    }
}

static void csv(struct tsd_scan_run *r, const struct tsd_scan_items *items)
{
    struct ts_buf *b = &r->lines.out;
    for (size_t i = 0; i < items->n; i++) {
        tsd_scan__csv_head(r, items->series);
        put_time(b, &items->v[i]);
        ts_buf_char(b, ',');
        (void)tsd_out_csv_field(b, text_of(items, &items->v[i]));
        tsd_scan__csv_tail(r);
    }
}

/* Annotations are objects, which have their times. */
static void json(struct tsd_scan_run *r, const struct tsd_scan_items *items)
{
    bool notes = r->opts->family == TSD_SCAN_ANNOTATIONS;
    struct ts_json j;
    tsd_scan__json_head(r, items->series, items->hour * TS_HOUR_MS, &j);
    ts_json_member_arr(&j, notes ? "annotations" : "histograms");
    for (size_t i = 0; i < items->n; i++) {
        if (notes) {
            ts_json_raw(&j, text_of(items, &items->v[i]));
            continue;
        }
        ts_json_arr(&j);
        ts_json_int(&j, items->v[i].ts_ms);
        ts_json_slice(&j, text_of(items, &items->v[i]));
        ts_json_arr_end(&j);
    }
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
    ts_buf_char(&r->lines.out, '\n');
}

int tsd_scan__items_end(struct tsd_scan_run *r, struct ts_error *err)
{
    struct tsd_scan_items *items = &r->items;
    size_t n = items->n;
    if (!n)
        return 0;
    TS_TRY(tsd_scan__take(r, items->series, items->hour, err));
    if (items->text.failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a row");
    if (r->opts->keys)
        tsd_scan__keys_row(r, items->series, items->hour * TS_HOUR_MS, n);
    else if (r->opts->form == TSD_SCAN_ROWS)
        rows(r, items);
    else if (r->opts->form == TSD_SCAN_IMPORT)
        lines(r, items);
    else if (r->opts->form == TSD_SCAN_CSV)
        csv(r, items);
    else
        json(r, items);
    items->n = 0;
    ts_buf_clear(&items->text);
    return tsd_scan__printed(r, err);
}

int tsd_scan__item(struct tsd_scan_run *r, const struct sto_series *s, int64_t ts_ms, bool ms,
                   struct ts_slice text, struct ts_error *err)
{
    struct tsd_scan_items *items = &r->items;
    int32_t hour = sto_hour(ts_ms);
    if (items->n && hour != items->hour)
        TS_TRY(tsd_scan__items_end(r, err));
    if (!tsd_scan__wants(r, s, hour) || (r->opts->between && !tsd_scan__is_between(r, ts_ms)) ||
        (r->opts->first && items->n))
        return 0;
    TS_TRY(ts_budget_grow(r->budget.memory, &items->v, &items->cap, items->n + 1, sizeof *items->v, err));
    items->series = s;
    items->hour = hour;
    items->v[items->n++] =
        (struct tsd_scan_item){.ts_ms = ts_ms, .ms = ms, .at = items->text.n, .text_n = text.n};
    ts_buf_slice(&items->text, text);
    return 0;
}

/* --- annotations --- */

/* Annotations of a series on their way to rows. */
struct noting {
    struct tsd_scan_run *r;
    const struct sto_series *series;
    struct ts_buf text; /* of one */
    int rc;             /* of the first error */
    struct ts_error *err;
};

static bool on_note(void *arg, const struct tsd_record *note)
{
    struct noting *n = arg;
    struct ts_json j;
    ts_buf_clear(&n->text);
    ts_json_init(&j, &n->text);
    n->rc = tsd_note_json(&n->r->lines.view, note, &j, n->err);
    if (n->rc == 0)
        n->rc = tsd_scan__item(n->r, n->series, tsd_note_ms(note->v[TSD_NOTE_START].i), false,
                               ts_buf_get(&n->text), n->err);
    return n->rc == 0;
}

int tsd_scan__notes(struct tsd_scan_run *r, const struct sto_series *const *series, size_t n, bool resumes,
                    int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct noting noting = {.r = r, .err = err};
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    ts_buf_init(&noting.text, 0);
    for (size_t i = 0; i < n && noting.rc == 0; i++) {
        noting.rc = qry_budget_look(&r->budget, err);
        r->skips = resumes && i == 0;
        if (noting.rc < 0 || !tsd_notes_any(r->store))
            break;
        noting.series = series[i];
        ts_buf_clear(&tsuid);
        qry_tsuid(series[i], &tsuid);
        tsd_scan__series(r, series[i]);
        tsd_notes_each(r->store, ts_buf_get(&tsuid), from_ms, to_ms, on_note, &noting);
        if (noting.rc == 0)
            noting.rc = tsd_scan__items_end(r, err);
    }
    ts_buf_release(&tsuid);
    ts_buf_release(&noting.text);
    return noting.rc;
}

/* --- histograms --- */

/* Histograms of a series. */
struct histograms {
    struct tsd_scan_run *r;
    const struct sto_series *series; /* of the first bucket */
};

static int on_histogram(void *arg, int64_t ts_ms, bool ms, struct ts_slice text, struct ts_error *err)
{
    struct histograms *h = arg;
    return tsd_scan__item(h->r, h->series, ts_ms, ms, text, err);
}

int tsd_scan__histograms(struct tsd_scan_run *r, struct ts_slice metric, struct ts_arena *arena,
                         const struct sto_series *const *series, size_t n, bool resumes, int64_t from_ms,
                         int64_t to_ms, struct ts_error *err)
{
    struct histograms h = {.r = r};
    struct tsd_lines_hists *hists = tsd_lines__hists_open(&r->lines, metric, arena, on_histogram, &h);
    int rc = 0;
    r->lines.lead = TS_SLICE_LIT("histogram ");
    r->lines.metric = metric;
    for (size_t i = 0; i < n && rc == 0; i++) {
        h.series = series[i];
        r->skips = resumes && i == 0;
        tsd_scan__series(r, series[i]);
        rc = qry_budget_look(&r->budget, err);
        if (rc == 0)
            rc = tsd_lines__hists_read(hists, series[i], from_ms, to_ms, err);
        if (rc == 0)
            rc = tsd_scan__items_end(r, err);
    }
    r->lines.lead = r->lines.metric = (struct ts_slice){NULL, 0};
    tsd_lines__hists_close(hists);
    return rc;
}
