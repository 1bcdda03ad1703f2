/*
 * ep_last.c - GET and POST /api/query/last: the last point of each series.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     docs/OPENTSDB.md, section 5.1; back_scan 0 looks everywhere, since our files know their last points
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/meta/series.h"
#include "base/cut.h"
#include "base/json.h"
#include "query/ids.h"
#include "base/time.h"
#include "query/language/parse.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/format/answers.h"

#include <strings.h>

/* What was requested, and where the answer goes. */
struct last {
    struct tsd_job *job;                 /* runs us */
    struct ts_slice *queries;            /* "metric{k=v}" each */
    size_t n_queries;                    /* how many */
    struct ts_slice *tsuids;             /* hex each */
    size_t n_tsuids;                     /* how many */
    int64_t back_scan_hours;             /* 0 = everything */
    const struct ts_tz *tz;              /* of dates and of times in text; NULL = UTC */
    struct qry_last_request ask;         /* n and at */
    bool several;                        /* n or a form other than JSON was requested: points as series */
    const struct tsd_out_format *format; /* of series */
    bool resolve;                        /* metric and tags in the answer */
    struct ts_buf text;                  /* one element */
    struct ts_buf tsuid;                 /* of one series */
    size_t n;                            /* elements written */
};

static int last_emit(void *arg, const struct qry_last *p, struct ts_error *err)
{
    struct last *l = arg;
    struct ts_json j;
    char value[TS_NUM_TEXT_BYTES];
    size_t n = p->value.kind == TS_NUM_INT ? ts_num_print_int(p->value.m, value)
                                           : ts_num_print_java(ts_num_double(p->value), value);
    ts_buf_clear(&l->text);
    if (l->n++)
        ts_buf_char(&l->text, ',');
    ts_json_init(&j, &l->text);
    ts_json_obj(&j);
    if (l->resolve)
        tsd_series_members(p->view, p->series, &j);
    ts_json_member_int(&j, "timestamp", p->ts_ms);
    ts_json_member_slice(&j, "value", (struct ts_slice){value, n});
    ts_buf_clear(&l->tsuid);
    if (qry_ids_tsuid(p->view, p->series, &l->tsuid))
        ts_json_member_slice(&j, "tsuid", ts_buf_get(&l->tsuid));
    ts_buf_char(&l->text, '}');
    return ts_sink_write(tsd_job_sink(l->job), ts_buf_get(&l->text), err);
}

/* Parts of "T1,T2". */
static void last_split(struct last *l, struct ts_slice list)
{
    while (list.n) {
        struct ts_slice part = ts_slice_cut(&list, ',');
        if (part.n)
            l->tsuids[l->n_tsuids++] = part;
    }
}

/* Ours: n points of each series, at or before a time. */
static int last_several(struct last *l, struct ts_slice n, struct ts_slice at, struct ts_slice tz,
                        struct ts_error *err)
{
    TS_TRY(tsd_ep_query_format(tsd_job_req(l->job), &l->format, err));
    l->several = n.n > 0 || l->format != &tsd_out_json;
    return tsd_latest_parse(n, at, tz, ts_clock_ms(), &l->ask, &l->tz, err);
}

static int last_params(struct last *l, const struct tsd_req *req, struct ts_arena *arena,
                       struct ts_error *err)
{
    struct ts_slice s;
    size_t n_tsuids = 0;
    for (size_t i = 0; i < req->n_params; i++)
        n_tsuids += req->params[i].value.n / 2 + 1;
    l->queries = ts_arena_alloc(arena, (req->n_params + 1) * sizeof(*l->queries));
    l->tsuids = ts_arena_alloc(arena, (n_tsuids + 1) * sizeof(*l->tsuids));
    for (size_t i = 0; i < req->n_params; i++) {
        if (ts_slice_is(req->params[i].name, "timeseries"))
            l->queries[l->n_queries++] = req->params[i].value;
        else if (ts_slice_is(req->params[i].name, "tsuids"))
            last_split(l, req->params[i].value);
    }
    l->resolve = tsd_req_flag(req, "resolve");
    struct ts_slice n = {NULL, 0}, at = {NULL, 0}, tz = {NULL, 0};
    (void)tsd_req_param(req, "n", &n);
    (void)tsd_req_param(req, "at", &at);
    (void)tsd_req_param(req, "tz", &tz);
    TS_TRY(last_several(l, n, at, tz, err));
    if (tsd_req_param(req, "back_scan", &s) && ts_num_parse_int(s, &l->back_scan_hours, NULL) < 0)
        return ts_error_set(err, TS_EINVAL, "Unable to parse 'back_scan' as a number");
    return 0;
}

/* {"metric":"m","tags":{"k":"v"}} to "m{k=v}". */
static struct ts_slice last_query(struct ts_arena *arena, json_t *q)
{
    struct ts_buf b;
    const char *k;
    json_t *v;
    bool first = true;
    ts_buf_init(&b, 0);
    const char *metric = json_string_value(json_object_get(q, "metric"));
    ts_buf_str(&b, metric ? metric : "");
    json_object_foreach(json_object_get(q, "tags"), k, v)
    {
        ts_buf_str(&b, first ? "{" : ",");
        first = false;
        ts_buf_printf(&b, "%s=%s", k, json_is_string(v) ? json_string_value(v) : "");
    }
    if (!first)
        ts_buf_char(&b, '}');
    struct ts_slice out = {ts_arena_strndup(arena, b.p ? b.p : "", b.n), b.n};
    ts_buf_release(&b);
    return out;
}

static bool last_true(const json_t *v)
{
    return json_is_true(v) || (json_is_string(v) && !strcasecmp(json_string_value(v), "true"));
}

static struct ts_slice last_copy(struct ts_arena *arena, const json_t *text)
{
    size_t n = json_string_length(text);
    return (struct ts_slice){ts_arena_strndup(arena, n ? json_string_value(text) : "", n), n};
}

/* tsuids win over metric inside one element. */
static void last_elements(struct last *l, const json_t *queries, struct ts_arena *arena)
{
    size_t i, k, n_tsuids = 0;
    json_t *q, *tsuid;
    json_array_foreach(queries, i, q) n_tsuids += json_array_size(json_object_get(q, "tsuids"));
    l->queries = ts_arena_alloc(arena, (json_array_size(queries) + 1) * sizeof(*l->queries));
    l->tsuids = ts_arena_alloc(arena, (n_tsuids + 1) * sizeof(*l->tsuids));
    json_array_foreach(queries, i, q)
    {
        const json_t *tsuids = json_object_get(q, "tsuids");
        json_array_foreach(tsuids, k, tsuid) l->tsuids[l->n_tsuids++] = last_copy(arena, tsuid);
        if (!json_array_size(tsuids) && json_object_get(q, "metric"))
            l->queries[l->n_queries++] = last_query(arena, q);
    }
}

/* Members that are not known: misspelt ones are refused. */
static int last_known(struct last *l, const json_t *root, struct ts_error *err)
{
    bool compat = tsd_job_req(l->job)->d->set.rules.compat;
    static const char *const range_only[] = {"thin", "figures", "max_series"};
    struct ts_json_unknown unknown = {.n = 0};
    size_t i;
    json_t *q;
    for (i = 0; !compat && i < sizeof range_only / sizeof range_only[0]; i++)
        if (json_object_get(root, range_only[i]))
            return ts_error_set(
                err, TS_EINVAL,
                "%s is for queries over a range of time (/api/query): n limits the newest points of a series",
                range_only[i]);
    TS_TRY(qry_json_known(root, "queries resolveNames backScan n at tz", compat, &unknown, err));
    json_array_foreach(json_object_get(root, "queries"), i, q)
        TS_TRY(qry_json_known(q, "metric tags tsuids", compat, &unknown, err));
    tsd_job_ignored(l->job, &unknown);
    return 0;
}

static int last_object(struct last *l, const json_t *root, struct ts_arena *arena, struct ts_error *err)
{
    TS_TRY(last_known(l, root, err));
    last_elements(l, json_object_get(root, "queries"), arena);
    l->resolve = last_true(json_object_get(root, "resolveNames"));
    struct ts_slice n = qry_json_text(json_object_get(root, "n"), arena);
    struct ts_slice at = qry_json_text(json_object_get(root, "at"), arena);
    l->back_scan_hours = json_integer_value(json_object_get(root, "backScan"));
    return last_several(l, n, at, last_copy(arena, json_object_get(root, "tz")), err);
}

static int last_body(struct last *l, struct ts_arena *arena, struct ts_error *err)
{
    json_t *root;
    TS_TRY(tsd_job_json(l->job, &root, err));
    int rc = last_object(l, root, arena, err);
    json_decref(root);
    return rc;
}

/* Points of each series as series, in any form. */
static int last_series(struct last *l, const struct tsd_req *req, struct qry_last_request ask,
                       struct ts_error *err)
{
    struct ts_arena *arena = tsd_job_arena(l->job);
    size_t n = l->n_queries + l->n_tsuids;
    struct qry_last_request *asks = ts_arena_alloc(arena, n * sizeof *asks);
    for (size_t i = 0; i < n; i++) {
        asks[i] = ask;
        if (i < l->n_queries)
            asks[i].timeseries = l->queries[i];
        else
            asks[i].tsuid = l->tsuids[i - l->n_queries];
    }
    tsd_job_type(l->job, l->format == &tsd_out_json ? tsd_type_json : l->format->content_type);
    struct tsd_latest what = {l->format, asks, n, l->tz};
    return tsd_latest_run(&what, req->d->store, tsd_job_pool(l->job), tsd_job_limit(l->job),
                          tsd_job_sink(l->job), err);
}

static int last_all(struct last *l, const struct tsd_req *req, struct ts_error *err)
{
    struct ts_sink *out = tsd_job_sink(l->job);
    struct qry_last_request ask = l->ask;
    ask.back_scan_hours = l->back_scan_hours;
    ask.now_ms = ts_clock_ms();
    /* OpenTSDB looks for one row key when it goes back */
    ask.only = req->d->set.rules.compat && l->back_scan_hours > 0;
    ask.compat = req->d->set.rules.compat;
    if (l->several)
        return last_series(l, req, ask, err);
    TS_TRY(ts_sink_str(out, "[", err));
    for (size_t i = 0; i < l->n_queries + l->n_tsuids; i++) {
        bool by_name = i < l->n_queries;
        ask.timeseries = by_name ? l->queries[i] : TS_SLICE_LIT("");
        ask.tsuid = by_name ? TS_SLICE_LIT("") : l->tsuids[i - l->n_queries];
        TS_TRY(qry_run_last(req->d->store, tsd_job_pool(l->job), &ask, tsd_job_limit(l->job), last_emit, l,
                            err));
    }
    return ts_sink_str(out, "]", err);
}

/* Into the list of /api/stats/query. */
static void last_list(const struct last *l)
{
    struct ts_buf member;
    struct ts_json j;
    ts_buf_init(&member, 0);
    ts_json_init(&j, &member);
    ts_json_member_obj(&j, "last");
    ts_json_member_arr(&j, "timeseries");
    for (size_t i = 0; i < l->n_queries; i++)
        ts_json_slice(&j, l->queries[i]);
    ts_json_arr_end(&j);
    ts_json_member_arr(&j, "tsuids");
    for (size_t i = 0; i < l->n_tsuids; i++)
        ts_json_slice(&j, l->tsuids[i]);
    ts_json_arr_end(&j);
    ts_json_member_int(&j, "n", l->ask.n ? (int64_t)l->ask.n : 1);
    ts_json_member_int(&j, "backScan", l->back_scan_hours);
    if (l->ask.at_on)
        ts_json_member_int(&j, "at", l->ask.at_ms);
    ts_json_obj_end(&j);
    tsd_query_begin_member(l->job, &member);
    ts_buf_release(&member);
}

static int last_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    struct last l = {.job = job};
    TS_TRY(req->method == TSD_POST ? last_body(&l, arena, err) : last_params(&l, req, arena, err));
    if (l.n_queries + l.n_tsuids == 0)
        return ts_error_set(err, TS_EINVAL, "Missing sub queries");
    last_list(&l);
    ts_buf_init(&l.text, 0);
    ts_buf_init(&l.tsuid, 0);
    int rc = last_all(&l, req, err);
    ts_buf_release(&l.text);
    ts_buf_release(&l.tsuid);
    return rc;
}

void tsd_ep_query_last(struct tsd_req *req)
{
    tsd_job_start_now(req, TSD_JOB_SMALL, tsd_type_json, last_run);
}
