/*
 * ep_meta.c - annotations, ids, metadata, searches: requests handed to tsd/meta.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   what is answered (tsd/meta/)
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/protocols/http/job.h"
#include "tsd/meta/request.h"

static void meta_begins(void *arg, int status)
{
    tsd_job_status(arg, status);
}

static int meta_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_meta_req a = {.store = req->d->store,
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
    int rc = tsd_meta_req_run(&a, err);
    if (a.error_status)
        tsd_job_error_status(job, a.error_status);
    if (a.details[0])
        tsd_job_error_details(job, a.details);
    return rc;
}

/* Searches and trees may pass over all series. */
static enum tsd_job_kind meta_kind(const struct tsd_req *req)
{
    static const char *const small[] = {"api/annotation", "api/uid/", "api/search/lookup"};
    if (ts_slice_is(req->path, "api/uid/rename")) /* may wait for the log of names to be rewritten */
        return TSD_JOB_QUERY;
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        if (req->path.n >= strlen(small[i]) && !memcmp(req->path.p, small[i], strlen(small[i])))
            return TSD_JOB_SMALL;
    return TSD_JOB_QUERY;
}

void tsd_ep_meta(struct tsd_req *req)
{
    tsd_job_start(req, meta_kind(req), tsd_type_json, meta_run);
}
