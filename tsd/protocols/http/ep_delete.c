/*
 * ep_delete.c - /api/delete: selects as /api/query does; GET shows what would be deleted, DELETE deletes it
 * and shows what was.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Not here   deleting (delete.c), whether it is allowed (routes.c)
 */
#include "tsd/protocols/http/delete.h"
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/queries.h"

static int delete_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    struct tsd_deleted deleted;
    bool json;
    TS_TRY(tsd_ep_plain_format(job, &json, err));
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    TS_TRY(tsd_ep_delete_fits(&spec, err));
    spec.del = req->method == TSD_DELETE;
    tsd_query_begin_spec(job, &spec, NULL);
    tsd_deleted_init(&deleted, &spec, !spec.del, tsd_job_arena(job));
    int rc = tsd_delete_run(job, &deleted, err);
    if (rc == 0)
        rc = tsd_deleted_print(&deleted, json, tsd_job_sink(job), err);
    tsd_deleted_release(&deleted);
    return rc;
}

void tsd_ep_delete(struct tsd_req *req)
{
    tsd_job_start(req, TSD_JOB_LONG, tsd_type_json, delete_run);
}
