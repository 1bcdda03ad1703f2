/*
 * ep_gexp.c - GET /api/query/gexp: functions over series, answered in the formats of /api/query.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     protocols-and-queries 8.1
 */
#include "tsd/protocols/http/ep.h"

#include "base/time.h"
#include "query/functions/gexp.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/meta/kind.h"
#include "tsd/format/out.h"

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

static int gexp_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    const struct tsd_out_format *format;
    struct qry_gexp g;
    struct tsd_out out;
    TS_TRY(tsd_ep_query_format(req, &format, err));
    TS_TRY(qry_gexp_parse(req->params, req->n_params, ts_clock_ms(), req->d->set.rules.compat,
                          tsd_job_arena(job), &g, err));
    tsd_ep_query_settings(req, &g.spec);
    tsd_kinds_apply(req->d->store, &g.spec);
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

void tsd_ep_query_gexp(struct tsd_req *req)
{
    tsd_job_start(req, TSD_JOB_QUERY, tsd_type_json, gexp_run);
}
