/*
 * scan.c - which rows a scan prints: those that a spec chooses, less what its options leave out, page by page.
 *
 * A row is an hour of a series, or a day, of which the points from start to end are shown. Rows come series by series. A page ends with a token, which names the
 * last row by the index of its query, the TSUID of its series and its hour, so that the next page begins behind it whatever was written
 * meanwhile; and the range of the first page, which is that of all of them, however late they are asked for.
 *
 * Threads    one
 * Not here   how rows are printed (scan_forms.c), options (scan_opts.c)
 */
#include "tsd/format/scan_int.h"

#include "base/cut.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"
#include "query/execution/days.h"
#include "query/execution/plan.h"
#include "query/ids.h"

#include <string.h>

static int scan_emit(void *arg, struct ts_slice text, struct ts_error *err)
{
    struct tsd_scan_run *r = arg;
    return ts_sink_write(r->sink, text, err);
}

/* --- pages --- */

static int bad_token(struct ts_slice token, struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL,
                        "\"%.*s\" is not a token of a scan; after takes what the page before ended with",
                        TS_SHOWN(token, 64));
}

/* "HOUR.FROM.TO", or the hour alone. */
static bool read_tail(struct tsd_scan_run *r, struct ts_slice s)
{
    const int64_t most = STO_MAX_TS_MS / 4; /* as of queries */
    struct ts_slice text = ts_slice_cut(&s, '.');
    int64_t hour;
    if (ts_num_parse_int(text, &hour, NULL) < 0 || hour < INT32_MIN || hour > INT32_MAX)
        return false;
    r->after_hour = (int32_t)hour;
    r->ranged = s.n > 0;
    if (!r->ranged)
        return true;
    text = ts_slice_cut(&s, '.');
    return ts_num_parse_int(text, &r->from_ms, NULL) == 0 && ts_num_parse_int(s, &r->to_ms, NULL) == 0 &&
           r->from_ms >= -most && r->from_ms <= r->to_ms && r->to_ms <= most;
}

int tsd_scan__token_read(struct tsd_scan_run *r, struct ts_slice token, struct ts_error *err)
{
    const char *a = token.n ? memchr(token.p, '-', token.n) : NULL;
    const char *b = a ? memchr(a + 1, '-', token.n - (size_t)(a + 1 - token.p)) : NULL;
    int64_t sub;
    if (!b || ts_num_parse_int((struct ts_slice){token.p, (size_t)(a - token.p)}, &sub, NULL) < 0 ||
        sub < 0 || !read_tail(r, (struct ts_slice){b + 1, token.n - (size_t)(b + 1 - token.p)}))
        return bad_token(token, err);
    r->after_sub = (size_t)sub;
    r->after = (struct ts_slice){a + 1, (size_t)(b - a - 1)};
    return 0;
}

/* The position of the series of the token among those of the plan, if it is one of them. */
static int find_series(struct tsd_scan_run *r, const struct qry_plan *plan, size_t *out, bool *out_found,
                       struct ts_error *err)
{
    struct ts_buf tsuid;
    size_t step = 0;
    int rc = 0;
    ts_buf_init(&tsuid, 0);
    *out_found = false;
    for (size_t i = 0; i < plan->n && !*out_found && rc == 0; i++) {
        rc = qry_budget_step(&r->budget, &step, err);
        ts_buf_clear(&tsuid);
        *out_found = qry_ids_tsuid(&r->lines.view, plan->series[i], &tsuid) &&
                     ts_slice_cmp(ts_buf_get(&tsuid), r->after) == 0;
        *out = i;
    }
    ts_buf_release(&tsuid);
    return rc;
}

/* --- rows --- */

/* The series that are printed now. */
struct scanned {
    struct tsd_scan_run *r;
    const struct sto_series *const *series; /* by position */
    bool resumes;                           /* the first one was printed up to after_hour */
};

bool tsd_scan__is_between(const struct tsd_scan_run *r, int64_t t_ms)
{
    const struct tsd_scan_opts *o = r->opts;
    struct ts_civil c = ts_civil_from_ms(r->tz, t_ms);
    int32_t ms = ((c.hour * 60 + c.minute) * 60 + c.second) * 1000 + c.ms;
    return o->day_from_ms < o->day_to_ms ? ms >= o->day_from_ms && ms < o->day_to_ms
                                         : ms >= o->day_from_ms || ms < o->day_to_ms;
}

/* Copy the points of a row that are chosen. */
static void choose(struct tsd_scan_run *r, const struct sto_row *row)
{
    const struct sto_cells *from = row->cells;
    struct sto_cells *to = &r->chosen;
    sto_cells_reserve(to, from->n);
    to->n = 0;
    to->uniform = from->uniform;
    to->common = from->common;
    for (uint32_t i = 0; i < from->n && !(r->opts->first && to->n); i++) {
        if (r->opts->between &&
            !tsd_scan__is_between(r, row->key.hour * TS_HOUR_MS + sto_meta_off(from->meta[i])))
            continue;
        to->meta[to->n] = from->meta[i];
        to->m[to->n++] = from->m[i];
    }
}

/* Is a row part of the sample? The same rows are each time. */
static bool is_sampled(const struct tsd_scan_run *r, const struct sto_series *s, int32_t hour)
{
    uint64_t hash = ts_hash_u64((uint64_t)s->id << 32 | (uint32_t)hour);
    return r->opts->sample == 0 || (double)(hash >> 11) * 0x1p-53 < r->opts->sample;
}

static bool has_range(const struct tsd_scan_run *r)
{
    return r->opts->range.from.n || r->opts->range.to.n;
}

bool tsd_scan__wants(const struct tsd_scan_run *r, const struct sto_series *s, int32_t hour)
{
    uint8_t key[TSD_SCAN_KEY_MAX + 8];
    if ((r->skips && hour <= r->after_hour) || !is_sampled(r, s, hour))
        return false;
    return !has_range(r) ||
           (r->n_key && tsd_scan__key_has(&r->opts->range, key, tsd_scan__key(r, hour * TS_HOUR_MS, key)));
}

int tsd_scan__take(struct tsd_scan_run *r, const struct sto_series *s, int32_t hour, struct ts_error *err)
{
    if (r->opts->max_rows && r->n_rows == r->opts->max_rows) {
        r->full = true;
        return ts_error_set(err, TS_ECANCELLED, "the page is full");
    }
    r->n_rows++;
    r->last_series = s;
    r->last_hour = hour;
    r->last_sub = r->sub;
    return 0;
}

static int scan_begin(void *arg, size_t pos, struct ts_error *err)
{
    struct scanned *s = arg;
    TS_TRY(tsd_scan__day_end(s->r, err));
    s->r->skips = s->resumes && pos == 0;
    tsd_scan__series(s->r, s->series[pos]);
    return 0;
}

static int scan_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct scanned *s = arg;
    struct tsd_scan_run *r = s->r;
    const struct sto_series *series = s->series[row->pos];
    bool days = r->opts->family == TSD_SCAN_DAYS;
    int32_t hour = row->key.hour; /* with which what is printed begins */
    if (days)
        TS_TRY(tsd_scan__day_of(hour, &hour, err));
    if (!tsd_scan__wants(r, series, hour))
        return 0;
    if (row->cells)
        choose(r, row);
    if (row->cells && r->chosen.n == 0)
        return 0;
    if (days)
        return tsd_scan__day(r, series, hour, row, err);
    TS_TRY(tsd_scan__take(r, series, hour, err));
    return r->opts->family == TSD_SCAN_HOURS ? tsd_scan__hour(r, series, row, err)
                                             : tsd_scan__row(r, series, row, err);
}

/* What is read of a query. */
struct chosen {
    const struct qry_spec *spec;
    const struct sto_series **series; /* [n]; of the plan, less what is left out */
    size_t n;
    bool resumes;           /* the first one was printed up to after_hour */
    int64_t from_ms, to_ms; /* both included */
};

/* Leave out series and times that have no key in the range. Keys of other times have another form, so these are read if they are asked for,
 * and judged row by row. */
static void narrow(struct tsd_scan_run *r, struct chosen *c)
{
    int64_t first_s = INT64_MAX, last_s = INT64_MIN, from_s, to_s;
    bool usual = c->from_ms >= 0 && c->to_ms / 1000 <= UINT32_MAX;
    size_t n = 0;
    for (size_t i = 0; usual && i < c->n; i++) {
        tsd_scan__ids(r, c->series[i]);
        bool any =
            r->n_key && tsd_scan__key_hours(&r->opts->range, r->key, r->n_key, r->metric_n, &from_s, &to_s);
        if (i == 0 && c->resumes)
            c->resumes = any;
        if (!any)
            continue;
        first_s = from_s < first_s ? from_s : first_s;
        last_s = to_s > last_s ? to_s : last_s;
        c->series[n++] = c->series[i];
    }
    if (!usual)
        return;
    c->n = n;
    if (n && first_s * 1000 > c->from_ms)
        c->from_ms = first_s * 1000;
    if (n && last_s * 1000 + TS_HOUR_MS - 1 < c->to_ms)
        c->to_ms = last_s * 1000 + TS_HOUR_MS - 1;
}

/* Points, or their summaries where these are asked for and no point need be looked at. */
static int read_rows(struct tsd_scan_run *r, const struct qry_plan *plan, const struct chosen *c,
                     struct ts_error *err)
{
    struct qry_plan p = *plan;
    struct scanned s = {r, c->series, c->resumes};
    size_t n_hours;
    p.scan_from_ms = c->from_ms > STO_MIN_TS_MS ? c->from_ms : STO_MIN_TS_MS;
    p.scan_to_ms = (c->to_ms < STO_MAX_TS_MS ? c->to_ms : STO_MAX_TS_MS) + 1;
    bool days = r->opts->family == TSD_SCAN_DAYS;
    if ((days || r->opts->family == TSD_SCAN_HOURS) && !r->opts->between)
        TS_TRY(qry_plan_whole_hours(&p, &n_hours, err));
    if (days && !r->opts->between)
        TS_TRY(qry_plan_days(&p, NULL, NULL, err));
    struct qry_reading rd = qry_plan_reading(&p, r->lines.snap, &r->budget);
    rd.series = c->series;
    rd.n = c->n;
    rd.needs_sum = true;
    rd.counts_only = r->opts->deletes || (r->opts->keys && !c->spec->where.n);
    rd.where = &c->spec->where;
    rd.begin = scan_begin;
    rd.row = scan_row;
    rd.arg = &s;
    TS_TRY(qry_read(&rd, err));
    return tsd_scan__day_end(r, err);
}

/* Read what was chosen of a query. metric: whose histograms are read. */
static int scan_plan(struct tsd_scan_run *r, const struct qry_spec *spec, const struct qry_plan *plan,
                     struct ts_slice metric, struct ts_error *err)
{
    bool resumes = r->after.p && r->sub == r->after_sub && !r->resumed;
    size_t at = 0;
    struct chosen c = {.spec = spec};
    if (resumes)
        TS_TRY(find_series(r, plan, &at, &resumes, err));
    if (r->after.p && r->sub == r->after_sub && !r->resumed && !resumes)
        return 0; /* the series of the token is one of another metric */
    r->resumed = true;
    c.series = plan->series + at;
    c.n = plan->n - at;
    c.resumes = resumes;
    qry_delete_target_range(spec, &c.from_ms, &c.to_ms);
    if (has_range(r))
        narrow(r, &c);
    int rc = 0;
    if (c.n == 0 || c.from_ms > c.to_ms)
        return 0;
    if (r->opts->family == TSD_SCAN_ANNOTATIONS)
        rc = tsd_scan__notes(r, c.series, c.n, c.resumes, c.from_ms, c.to_ms, err);
    else if (r->opts->family == TSD_SCAN_HISTOGRAMS)
        rc = tsd_scan__histograms(r, metric, plan->arena, c.series, c.n, c.resumes, c.from_ms, c.to_ms, err);
    else
        rc = read_rows(r, plan, &c, err);
    return r->full ? 0 : rc;
}

/* A query of one metric, or of TSUIDs. */
static int scan_metric(struct tsd_scan_run *r, const struct qry_spec *spec, const struct qry_sub *sub,
                       struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    struct qry_sub one = *sub;
    struct qry_spec with = *spec;
    bool histograms = r->opts->family == TSD_SCAN_HISTOGRAMS;
    bool ids = !histograms || !qry_ids_remote(spec->view); /* a remote store has no ids for their buckets */
    with.subs = &one;
    with.n_subs = 1;
    ts_arena_init(&arena, 0);
    arena.budget = r->budget.memory;
    int rc = 0;
    if (!ids && (r->opts->max_rows || r->after.p))
        rc = ts_error_set(err, TS_EINVAL,
                          "With remote = hbase histograms have no pages: leave out limit and after");
    if (r->opts->family == TSD_SCAN_ANNOTATIONS && qry_ids_remote(spec->view))
        rc = ts_error_set(err, TS_EINVAL,
                          "With remote = hbase annotations are not scanned, since some are only there: the "
                          "answers of queries have them");
    if (r->opts->form == TSD_SCAN_IMPORT && !r->opts->max_rows && !r->after.p && !has_range(r))
        ids = false; /* none is printed */
    if (histograms) {
        struct tsd_lines_hists *hists = tsd_lines__hists_open(&r->lines, sub->metric, &arena, NULL, NULL);
        one.metric = tsd_lines__hists_metric(hists);
        tsd_lines__hists_close(hists);
    }
    if (rc == 0 && (one.metric.n || one.n_tsuids)) {
        rc = qry_plan_select(&with, 0, NULL, 0, &r->budget, &arena, &plan, err);
        if (rc == 0 && ids)
            rc = qry_ids_load(spec->view, plan.series, plan.n, err);
        if (rc == 0)
            rc = scan_plan(r, &with, &plan, sub->metric, err);
    }
    ts_arena_release(&arena);
    return rc;
}

/* One metric, if the pattern matches it; *n counts those. */
static int scan_matching(struct tsd_scan_run *r, const struct qry_spec *spec, const struct qry_sub *sub,
                         uint32_t id, size_t *n, struct ts_error *err)
{
    struct qry_sub one = *sub;
    one.metric = qry_view_name(&r->lines.view, STO_UID_METRIC, id);
    if (!one.metric.p || sto_name_internal(one.metric) || sto_uid_deleted(one.metric) ||
        !ts_slice_fits_stars(one.metric, sub->metric))
        return 0;
    ++*n;
    int rc = scan_metric(r, spec, &one, err);
    return rc == TS_ENOTFOUND ? 0 : rc; /* a metric may lack the tag keys of the filters */
}

/* Metrics that a pattern with stars matches, in the order of their ids, those that only a remote store has last. */
static int scan_pattern(struct tsd_scan_run *r, const struct qry_spec *spec, const struct qry_sub *sub,
                        struct ts_error *err)
{
    const char *star = memchr(sub->metric.p, '*', sub->metric.n);
    struct ts_slice prefix = {sub->metric.p, (size_t)(star - sub->metric.p)};
    uint32_t last = sto_uid_max(r->lines.cat, STO_UID_METRIC);
    size_t step = 0, n = 0;
    TS_TRY(qry_view_suggest(&r->lines.view, STO_UID_METRIC, prefix, SIZE_MAX, NULL, NULL, err));
    for (uint32_t id = 1; id <= last && !r->full; id++) {
        TS_TRY(qry_budget_step(&r->budget, &step, err));
        TS_TRY(scan_matching(r, spec, sub, id, &n, err));
    }
    const struct qry_view_names *found = &r->lines.view.names[STO_UID_METRIC];
    for (size_t i = 0; i < found->n && !r->full; i++) {
        TS_TRY(qry_budget_step(&r->budget, &step, err));
        TS_TRY(scan_matching(r, spec, sub, STO_FOREIGN + (uint32_t)i, &n, err));
    }
    return n ? 0 : ts_error_set(err, TS_ENOTFOUND, "No metric matches '%.*s'", TS_SHOWN(sub->metric, 100));
}

static int scan_sub(struct tsd_scan_run *r, const struct qry_spec *spec, struct ts_error *err)
{
    const struct qry_sub *sub = &spec->subs[r->sub];
    bool pattern = sub->metric.n && memchr(sub->metric.p, '*', sub->metric.n);
    int rc = pattern ? scan_pattern(r, spec, sub, err) : scan_metric(r, spec, sub, err);
    if (rc == 0 && r->after.p && r->sub == r->after_sub && !r->resumed)
        rc = ts_error_set(err, TS_EINVAL,
                          "The series of the token %.*s is not among those that are asked for any more: "
                          "begin again, without after",
                          TS_SHOWN(r->opts->after, 64));
    return rc;
}

int tsd_scan_run(struct sto_store *store, const struct qry_spec *spec, const struct tsd_scan_opts *opts,
                 struct qry_limit *limit, struct ts_sink *sink, struct ts_error *err)
{
    struct tsd_scan_run *r = ts_xcalloc(1, sizeof *r);
    struct ts_error why = {0};
    r->opts = opts;
    r->sink = sink;
    r->store = store;
    r->tz = spec->tz;
    qry_budget_init(&r->budget, limit);
    tsd_lines__open(&r->lines, store, &r->budget, scan_emit, r);
    ts_buf_init(&r->tags, 0);
    ts_buf_init(&r->items.text, 0);
    r->items.text.budget = r->budget.memory;
    struct qry_spec with = *spec;
    with.view = &r->lines.view;
    int rc = opts->after.p ? tsd_scan__token_read(r, opts->after, err) : 0;
    if (rc == 0 && r->after_sub >= spec->n_subs)
        rc = bad_token(opts->after, err);
    if (r->ranged) {
        with.start_ms = r->from_ms;
        with.end_ms = r->to_ms;
    }
    r->from_ms = with.start_ms;
    r->to_ms = with.end_ms;
    if (rc == 0)
        tsd_scan__begin(r);
    for (r->sub = r->after_sub; r->sub < spec->n_subs && rc == 0 && !r->full; r->sub++)
        rc = scan_sub(r, &with, err);
    if (rc == 0 && r->full)
        tsd_scan__more(r);
    if (rc == 0)
        rc = tsd_lines__flush(&r->lines, 1, err);
    if (rc < 0 && qry_budget_result(&r->budget, &why) < 0)
        *err = why;
    tsd_lines__close(&r->lines);
    ts_buf_release(&r->tags);
    ts_buf_release(&r->items.text);
    ts_budget_free(r->budget.memory, r->items.v, r->items.cap * sizeof *r->items.v);
    sto_cells_release(&r->chosen);
    ts_xsum_release(&r->sum.sum);
    ts_free(r);
    return rc;
}
