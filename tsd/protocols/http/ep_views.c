/*
 * ep_views.c - /api/tsd/views: the shared views of the web page. GET lists them, POST saves a new one, PUT one that may be there
 * already, DELETE removes one.
 *
 * Threads    jobs
 * Not here   the folder (tsd/daemon/views.h)
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/daemon/views.h"
#include "tsd/protocols/http/job.h"

/* The list while it is written: views as they are found, files that are none afterwards. */
struct views_out {
    struct tsd_job *job;
    struct ts_buf problems; /* elements of the array */
    struct ts_json problem; /* prints them */
    bool any;               /* a view was written */
    struct ts_error *err;
};

static int views_out_each(void *arg, const struct tsd_view *view)
{
    struct views_out *o = arg;
    struct ts_buf b;
    struct ts_json j;
    if (view->problem) {
        ts_json_obj(&o->problem);
        ts_json_member_str(&o->problem, "file", view->file);
        ts_json_member_str(&o->problem, "what", view->problem);
        ts_json_obj_end(&o->problem);
        return 0;
    }
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    (void)ts_buf_str(&b, o->any ? "," : "");
    ts_json_obj(&j);
    ts_json_member_slice(&j, "name", view->name);
    ts_json_member_slice(&j, "address", view->address);
    ts_json_obj_end(&j);
    o->any = true;
    int rc = ts_sink_write(tsd_job_sink(o->job), ts_buf_get(&b), o->err);
    ts_buf_release(&b);
    return rc;
}

static int views_list_write(struct tsd_job *job, struct ts_error *err)
{
    struct tsd_daemon *d = tsd_job_req(job)->d;
    struct views_out o = {.job = job, .err = err};
    ts_buf_init(&o.problems, 0);
    ts_json_init(&o.problem, &o.problems);
    ts_json_arr(&o.problem);
    int rc = ts_sink_str(tsd_job_sink(job), "{\"views\":[", err);
    if (rc == 0)
        rc = tsd_views_each(&d->views, views_out_each, &o, err);
    ts_json_arr_end(&o.problem);
    if (rc == 0)
        rc = ts_sink_str(tsd_job_sink(job), "],\"problems\":", err);
    if (rc == 0)
        rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(&o.problems), err);
    if (rc == 0)
        rc = ts_sink_str(tsd_job_sink(job),
                         d->set.no_writes || !d->views.n_max ? ",\"writable\":false}" : ",\"writable\":true}",
                         err);
    ts_buf_release(&o.problems);
    return rc;
}

/* Save what the body describes. */
static int views_save(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_json_unknown unknown = {0};
    json_t *body;
    TS_TRY(tsd_job_json(job, &body, err));
    const json_t *name = json_object_get(body, "name"), *address = json_object_get(body, "address");
    int rc = ts_json_known(body, "name address", &unknown, err);
    if (rc == 0 && (!json_is_string(name) || !json_is_string(address)))
        rc = ts_error_set(err, TS_EINVAL,
                          "write {\"name\": NAME, \"address\": what the page's address has behind #}");
    if (rc == 0)
        rc = tsd_views_save(&req->d->views,
                            (struct ts_slice){json_string_value(name), json_string_length(name)},
                            (struct ts_slice){json_string_value(address), json_string_length(address)},
                            req->method == TSD_PUT, err);
    if (rc == 0)
        tsd_job_ignored(job, &unknown);
    json_decref(body);
    return rc;
}

static int views_remove(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice name;
    if (!tsd_req_param(req, "name", &name))
        return ts_error_set(err, TS_EINVAL, "the parameter name is missing: write name=NAME");
    int rc = tsd_views_remove(&req->d->views, name, err);
    if (rc == TS_ENOTFOUND)
        tsd_job_error_status(job, 404);
    return rc;
}

int tsd_ep_views(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    if (req->method == TSD_GET)
        return views_list_write(job, err);
    if (req->d->set.no_writes) {
        tsd_job_error_status(job, 403);
        return ts_error_set(err, TS_EINVAL, "this daemon changes nothing: mode is ro");
    }
    TS_TRY(req->method == TSD_DELETE ? views_remove(job, err) : views_save(job, err));
    tsd_job_status(job, 204);
    return 0;
}
