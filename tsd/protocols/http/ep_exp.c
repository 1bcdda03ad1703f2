/*
 * ep_exp.c - POST /api/query/exp: formulas over metrics; GET /api/query/gexp: functions over series.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     docs/OPENTSDB.md, sections 8.1, 8.2
 */
#include "tsd/protocols/http/ep.h"

#include "base/time.h"
#include "query/functions/gexp.h"
#include "tsd/format/answers.h"
#include "tsd/format/out.h"
#include "tsd/meta/kind.h"
#include "tsd/protocols/http/queries.h"

/* The text of tsd_type_json, but not it: jsonp is not for this type, as in OpenTSDB. */
static const char exp_type[] = "application/json; charset=UTF-8";

/* Into the list of /api/stats/query: the metrics, and the formulas over them. */
static void exp_list(struct tsd_job *job, const struct qry_exp *q)
{
    struct ts_buf member;
    struct ts_json j;
    ts_buf_init(&member, 0);
    ts_json_init(&j, &member);
    ts_json_member_arr(&j, "expressions");
    for (size_t i = 0; i < q->n_formulas; i++) {
        ts_json_obj(&j);
        ts_json_member_slice(&j, "id", q->formulas[i].id);
        ts_json_member_slice(&j, "expr", q->formulas[i].text);
        ts_json_obj_end(&j);
    }
    ts_json_arr_end(&j);
    tsd_query_begin_spec(job, &q->spec, &member);
    ts_buf_release(&member);
}

static int exp_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    bool compat = req->d->set.rules.compat;
    struct tsd_exp_out out = {.sink = tsd_job_sink(job)};
    struct qry_exp q;
    int rc = qry_exp_parse(req->body, ts_clock_ms(), compat, tsd_job_arena(job), &q, err);
    if (rc < 0) {
        if (compat)
            tsd_job_error_status(job, 500);
        return rc;
    }
    tsd_job_ignored(job, &q.spec.unknown);
    tsd_ep_query_settings(req, &q.spec);
    tsd_kinds_apply(req->d->store, &q.spec, tsd_job_limit(job));
    exp_list(job, &q);
    out.q = &q;
    ts_buf_init(&out.scratch, 0);
    rc = tsd_exp_begin(&out, err);
    if (rc == 0)
        rc = qry_exp_run(req->d->store, req->d->pieces, &q, tsd_job_limit(job), tsd_exp_output, &out, err);
    if (rc == 0)
        rc = tsd_exp_end(&out, err);
    ts_buf_release(&out.scratch);
    return rc;
}

void tsd_ep_query_exp(struct tsd_req *req)
{
    tsd_job_start(req, TSD_JOB_QUERY, req->d->set.rules.compat ? exp_type : tsd_type_json, exp_run);
}

/* --- /api/query/gexp --- */

/* Into the list of /api/stats/query, with its texts. */
static void gexp_list(struct tsd_job *job, const struct qry_gexp *g)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_buf member;
    struct ts_json j;
    ts_buf_init(&member, 0);
    ts_json_init(&j, &member);
    ts_json_member_arr(&j, "exp");
    for (size_t i = 0; i < req->n_params; i++)
        if (ts_slice_is(req->params[i].name, "exp"))
            ts_json_slice(&j, req->params[i].value);
    ts_json_arr_end(&j);
    tsd_query_begin_spec(job, &g->spec, &member);
    ts_buf_release(&member);
}

int tsd_ep_query_gexp(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const struct tsd_out_format *format;
    struct qry_gexp g;
    struct tsd_out out;
    TS_TRY(tsd_ep_query_format(req, &format, err));
    TS_TRY(qry_gexp_parse(req->params, req->n_params, ts_clock_ms(), req->d->set.rules.compat,
                          tsd_job_arena(job), &g, err));
    if (g.spec.versions)
        return ts_error_set(err, TS_EINVAL,
                            "versions are listed by /api/query, not by functions: leave it out");
    tsd_ep_query_settings(req, &g.spec);
    tsd_kinds_apply(req->d->store, &g.spec, tsd_job_limit(job));
    gexp_list(job, &g);
    tsd_job_type(job, format == &tsd_out_json ? tsd_type_json : format->content_type);
    tsd_out_init(&out, format, &g.spec, tsd_job_sink(job));
    out.limit = tsd_job_limit(job);
    int rc = tsd_out_begin(&out, req->d->store, err);
    if (rc == 0)
        rc = qry_gexp_run(req->d->store, req->d->pieces, &g, tsd_job_limit(job), tsd_out_series, &out, err);
    if (rc == 0)
        rc = format->end(&out, err);
    tsd_out_release(&out);
    return rc;
}
