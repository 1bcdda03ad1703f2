/*
 * ep_query.c - GET and POST /api/query: series of points, or totals with our own parameter by; /api/query/explain and /api/scan.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     docs/OPENTSDB.md, sections 2.5, 3.1, 3.5
 */
#include "tsd/protocols/http/ep.h"

#include "base/cut.h"
#include "base/near.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "query/filters/filter.h"
#include "tsd/format/answers.h"
#include "tsd/format/out.h"
#include "tsd/meta/kind.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"

#define QUERY_ONCE_SUBS    4  /* of a query that a worker tries by itself; */
#define QUERY_ONCE_FILTERS 8  /* of each */
#define QUERY_ONCE_VALUES  32 /* of a filter */

/* Flags of the query string also hold for a body. */
static void query_flags(const struct tsd_req *req, struct qry_spec *spec)
{
    spec->arrays = spec->arrays || tsd_req_flag(req, "arrays");
    spec->ms = spec->ms || tsd_req_flag(req, "ms");
}

int tsd_ep_query_parse(struct tsd_job *job, struct qry_spec *spec, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    bool compat = req->d->set.rules.compat;
    if (req->method != TSD_POST)
        return qry_parse_params(req->params, req->n_params, ts_clock_ms(), compat, arena, spec, err);
    if (req->body.n == 0) {
        json_t *none;
        return tsd_job_json(job, &none, err);
    }
    TS_TRY(qry_parse_json(req->body, ts_clock_ms(), compat, arena, spec, err));
    query_flags(req, spec);
    tsd_job_ignored(job, &spec->unknown);
    return 0;
}

int tsd_ep_delete_fits(const struct qry_spec *spec, struct ts_error *err)
{
    if (spec->where.n || spec->top.n || spec->thin || spec->figures || spec->max_series)
        return ts_error_set(
            err, TS_EINVAL,
            "A delete takes all points of a range: leave out where, top, bottom, thin, figures and "
            "max_series");
    if (spec->by_on)
        return ts_error_set(err, TS_EINVAL, "Totals can't be deleted: ask for series");
    return qry_delete_need_end(spec, err);
}

/* DELETE, method_override=delete of a GET, "delete":true of a body. */
static int query_delete(struct tsd_job *job, struct qry_spec *spec, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_denial denial;
    struct ts_slice method;
    bool overridden = req->method == TSD_GET && tsd_req_param(req, "method_override", &method) &&
                      ts_slice_is_nocase(method, "delete");
    spec->del = spec->del || req->method == TSD_DELETE || overridden;
    if (!spec->del)
        return 0;
    tsd_job_limit(job)->allow_partial = false; /* what is not found would not be deleted */
    bool allowed = req->d->set.allow & TSD_ALLOW_QUERY_DELETE;
    if (!allowed && overridden && req->d->set.rules.compat) {
        spec->del = false; /* OpenTSDB silently answers the query */
        return 0;
    }
    if (!tsd_access_change(req, &denial)) {
        tsd_job_error_status(job, denial.status);
        return ts_error_set(err, TS_EINVAL, "%s", denial.message);
    }
    if (!allowed && !req->d->set.rules.compat)
        return ts_error_set(err, TS_EINVAL, "Deleting is switched off: %s",
                            req->d->set.no_writes ? "the daemon is read-only (mode = ro)"
                                                  : "the daemon needs query_allow_delete = true");
    if (!allowed) {
        tsd_job_error_details(job, "Deleting data is not enabled (tsd.http.query.allow_delete=false)");
        return ts_error_set(err, TS_EINVAL, "Bad request");
    }
    return tsd_ep_delete_fits(spec, err);
}

void tsd_ep_query_settings(const struct tsd_req *req, struct qry_spec *spec)
{
    spec->values_must_exist = req->d->set.values_must_exist;
    spec->rollups = &req->d->set.rollups;
}

int tsd_ep_query_format(const struct tsd_req *req, const struct tsd_out_format **out, struct ts_error *err)
{
    struct ts_slice name;
    *out = &tsd_out_json;
    if (!tsd_req_param(req, "format", &name) || name.n == 0) {
        if (!req->d->set.rules.compat) /* OpenTSDB looks at no Accept */
            *out = tsd_accept_format(req->accept);
        return 0;
    }
    *out = tsd_out_find(name);
    if (*out)
        return 0;
    int rc = ts_error_set(err, TS_EINVAL, "No such format: %.*s (%s)", TS_SHOWN(name, 64), TSD_OUT_NAMES);
    struct ts_slice names = ts_slice_str(TSD_OUT_NAMES);
    struct ts_near near;
    ts_near_init(&near, name);
    while (names.n)
        ts_near_see(&near, ts_slice_cut(&names, '|'));
    ts_near_hint(&near, err);
    return rc;
}

int tsd_ep_plain_format(struct tsd_job *job, bool *out_json, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const struct tsd_out_format *format;
    struct ts_slice name;
    TS_TRY(tsd_ep_query_format(req, &format, err));
    *out_json = format != &tsd_out_text;
    if (*out_json && format != &tsd_out_json && tsd_req_param(req, "format", &name) && name.n)
        return ts_error_set(err, TS_EINVAL, "The answer comes as json or text, not as %s", format->name);
    tsd_job_type(job, *out_json ? tsd_type_json : format->content_type);
    return 0;
}

/* May the worker try a query? Not a delete, not what looks at every value of a tag. */
static bool query_is_small(const struct qry_spec *spec)
{
    if (spec->del || spec->n_subs > QUERY_ONCE_SUBS)
        return false;
    for (size_t i = 0; i < spec->n_subs; i++) {
        const struct qry_sub *sub = &spec->subs[i];
        if (sub->n_filters > QUERY_ONCE_FILTERS)
            return false;
        for (size_t k = 0; k < sub->n_filters; k++)
            if (!sub->filters[k].any &&
                (!sub->filters[k].type->by_values || sub->filters[k].n_values > QUERY_ONCE_VALUES))
                return false;
    }
    return true;
}

static int query_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const struct tsd_out_format *format;
    struct qry_spec spec = {.n_subs = 0};
    struct tsd_out out;
    TS_TRY(tsd_ep_query_format(req, &format, err));
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    TS_TRY(query_delete(job, &spec, err));
    tsd_kinds_apply(req->d->store, &spec, tsd_job_limit(job));
    if (tsd_job_at_once(job) && !query_is_small(&spec))
        return ts_error_set(err, TS_EBUSY, "the query may take long");
    tsd_query_begin_spec(job, &spec, NULL);
    tsd_job_type(job, format == &tsd_out_json ? tsd_type_json : format->content_type);
    tsd_out_init(&out, format, &spec, tsd_job_sink(job));
    int rc = tsd_out_run(&out, req->d->store, tsd_job_pool(job), tsd_job_limit(job), err);
    tsd_out_release(&out);
    if (rc == 0 && spec.del) { /* what is answered is gone before the answer's end */
        struct tsd_deleted deleted;
        tsd_deleted_init(&deleted, &spec, false, tsd_job_arena(job));
        rc = tsd_delete_run(job, &deleted, err);
        tsd_deleted_release(&deleted);
    }
    return rc;
}

void tsd_ep_query(struct tsd_req *req)
{
    tsd_job_start_now(req, TSD_JOB_QUERY, tsd_type_json, query_run);
}

/* --- /api/query/explain: what a query would read --- */

int tsd_ep_query_explain(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    bool json;
    TS_TRY(tsd_ep_plain_format(job, &json, err));
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    return tsd_explain_run(req->d->store, &spec, tsd_job_limit(job), req->d->set.query_timeout_ms, json,
                           tsd_job_sink(job), err);
}

/* --- /api/scan: rows of what a query chooses, for tsd scan; with import as lines of import --- */

static int scan_opts(struct tsd_job *job, struct tsd_scan_opts *opts, bool where, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const char *name;
    bool flag;
    for (size_t i = 0; (name = tsd_scan_opt_name(i, &flag)); i++) {
        struct ts_slice value = {NULL, 0};
        if (flag ? tsd_req_flag(req, name) : tsd_req_param(req, name, &value))
            TS_TRY(tsd_scan_opts_set(opts, i, value, err));
    }
    if (opts->form == TSD_SCAN_CSV)
        tsd_job_type(job, tsd_out_csv.content_type);
    else if (opts->form == TSD_SCAN_JSON)
        tsd_job_type(job, tsd_out_ndjson.content_type);
    return tsd_scan_opts_check(opts, where, err);
}

/* With delete the rows are printed before they are deleted: what would refuse that refuses the scan. */
static int scan_may_delete(struct tsd_job *job, struct ts_error *err)
{
    struct tsd_req as = *tsd_job_req(job);
    struct tsd_denial denial;
    if (!tsd_req_flag(&as, "delete"))
        return 0;
    as.method = TSD_DELETE;
    as.by_get = false;
    if (tsd_access_endpoint(&as, tsd_endpoint_find(TS_SLICE_LIT("api/delete")), &denial))
        return 0;
    tsd_job_error_status(job, denial.status);
    return ts_error_set(err, TS_EINVAL, "%s", denial.message);
}

int tsd_ep_scan(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    struct tsd_scan_opts opts = {0};
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    if (spec.top.n || spec.by_on || spec.thin || spec.figures || spec.max_series)
        return ts_error_set(
            err, TS_EINVAL,
            "A scan shows rows of all series: leave out top, bottom, by, thin, figures and max_series");
    TS_TRY(scan_opts(job, &opts, spec.where.n > 0, err));
    TS_TRY(scan_may_delete(job, err));
    opts.deletes = tsd_req_flag(req, "delete");
    tsd_query_begin_spec(job, &spec, NULL);
    struct ts_buf token;
    ts_buf_init(&token, 0);
    if (opts.form == TSD_SCAN_CSV && opts.max_rows && tsd_job_pages(job))
        opts.token = &token;
    int rc = tsd_scan_run(req->d->store, &spec, &opts, tsd_job_limit(job), tsd_job_sink(job), err);
    if (rc == 0 && token.n)
        rc = tsd_job_after(job, ts_buf_get(&token), err);
    ts_buf_release(&token);
    return rc;
}

/* --- the header Accept --- */

/* Does a media type, without parameters, stand for a format? */
static bool accept_means(struct ts_slice name, const struct tsd_out_format *format)
{
    struct ts_slice types = ts_slice_str(format->accept ? format->accept : "");
    while (types.n) {
        struct ts_slice type = ts_slice_cut(&types, ' ');
        if (type.n == name.n && strncasecmp(type.p, name.p, name.n) == 0)
            return true;
    }
    return false;
}

static struct ts_slice accept_trim(struct ts_slice s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* The weight (q) in the parameters of a media range of Accept; 1 if they have none, 0 if it is not a number. */
static double accept_q(struct ts_slice params)
{
    while (params.n) {
        struct ts_slice one = accept_trim(ts_slice_cut(&params, ';'));
        struct ts_num num;
        if (one.n < 2 || (one.p[0] != 'q' && one.p[0] != 'Q') || one.p[1] != '=')
            continue;
        return ts_num_parse((struct ts_slice){one.p + 2, one.n - 2}, &num, NULL) < 0 ? 0 : ts_num_double(num);
    }
    return 1;
}

const struct tsd_out_format *tsd_accept_format(struct ts_slice accept)
{
    const struct tsd_out_format *best = &tsd_out_json;
    double best_q = 0;
    while (accept.n) {
        struct ts_slice params = accept_trim(ts_slice_cut(&accept, ','));
        struct ts_slice name = accept_trim(ts_slice_cut(&params, ';'));
        double q = accept_q(params);
        for (const struct tsd_out_format *const *f = tsd_out_formats; *f; f++) {
            if (q > best_q && accept_means(name, *f)) {
                best = *f;
                best_q = q;
            }
        }
    }
    return best;
}
