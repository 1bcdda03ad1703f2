/*
 * ep_explain.c - GET and POST /api/query/explain: what /api/query would read for the same parameters or body.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   parameters of queries (ep_query.c)
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/protocols/http/job.h"
#include "tsd/format/explain.h"

static int explain_run(struct tsd_job *job, struct ts_error *err)
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

void tsd_ep_query_explain(struct tsd_req *req)
{
    tsd_job_start(req, TSD_JOB_SMALL, tsd_type_json, explain_run);
}
