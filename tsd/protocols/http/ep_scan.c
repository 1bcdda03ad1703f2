/*
 * ep_scan.c - GET /api/scan: rows of what a query chooses, for tsd scan; with the parameter import as lines of import.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   the form of rows (out/scan.c)
 */
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/format/scan.h"

static int scan_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    if (spec.top.n || spec.by_on)
        return ts_error_set(err, TS_EINVAL, "A scan shows rows of all series: leave out top, bottom and by");
    tsd_query_begin_spec(job, &spec, NULL);
    return tsd_scan_run(req->d->store, &spec, tsd_req_flag(req, "import"), tsd_job_limit(job),
                        tsd_job_sink(job), err);
}

void tsd_ep_scan(struct tsd_req *req)
{
    tsd_job_start(req, TSD_JOB_LONG, tsd_type_text, scan_run);
}
