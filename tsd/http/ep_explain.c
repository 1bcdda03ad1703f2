/*
 * ep_explain.c - GET and POST /api/query/explain: what /api/query would read for the same parameters or body.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   parameters of queries (ep_query.c)
 */
#include "tsd/http/ep.h"

#include "tsd/http/job.h"
#include "tsd/out/explain.h"
#include "tsd/out/out.h"

static int explain_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const struct tsd_out_format *format;
    struct ts_slice name;
    struct qry_spec spec = {.n_subs = 0};
    TS_TRY(tsd_ep_query_format(req, &format, err));
    if (format != &tsd_out_text && format != &tsd_out_json) {
        if (tsd_req_param(req, "format", &name) && name.n)
            return ts_error_set(err, TS_EINVAL, "explain answers as json or text, not as %s", format->name);
        format = &tsd_out_json; /* an Accept that means the points */
    }
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    tsd_job_type(job, format == &tsd_out_json ? tsd_type_json : format->content_type);
    return tsd_explain_run(req->d->store, &spec, tsd_job_limit(job), req->d->set.query_timeout_ms,
                           format == &tsd_out_json, tsd_job_sink(job), err);
}

void tsd_ep_query_explain(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_json, explain_run);
}
