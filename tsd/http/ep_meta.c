/*
 * ep_meta.c - annotations, ids, metadata, searches: requests handed to tsd/meta.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   what is answered (tsd/meta/)
 */
#include "tsd/http/ep.h"

#include "tsd/http/job.h"
#include "tsd/meta/ask.h"

static void meta_begins(void *arg, int status)
{
    tsd_job_status(arg, status);
}

static int meta_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_ask a = {.store = req->d->store,
                        .rules = &req->d->set.rules,
                        .meta_series = req->d->set.meta_series,
                        .search = req->d->set.search,
                        .tree_max_rules = req->d->set.tree_max_rules,
                        .method = req->method,
                        .method_name = req->method_name,
                        .path = req->path,
                        .params = req->params,
                        .n_params = req->n_params,
                        .body = req->body,
                        .arena = tsd_job_arena(job),
                        .limit = tsd_job_limit(job),
                        .sink = tsd_job_sink(job),
                        .begins = meta_begins,
                        .arg = job};
    int rc = tsd_ask_run(&a, err);
    if (a.error_status)
        tsd_job_error_status(job, a.error_status);
    if (a.details[0])
        tsd_job_error_details(job, a.details);
    return rc;
}

void tsd_ep_meta(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_json, meta_run);
}
