/*
 * ep_admin.c - what an administrator asks for: caches dropped, everything flushed.
 *
 * Threads    the endpoints in the worker, what blocks in a job
 * Source     protocols-and-queries 2.12; flush is our own
 */
#include "tsd/http/ep.h"

#include "tsd/http/job.h"

void tsd_ep_dropcaches(struct tsd_req *req)
{
    if (req->method == TSD_POST && req->d->set.rules.compat) {
        tsd_reply_method(req);
        return;
    }
    atomic_fetch_add_explicit(&req->d->drop_asked, 1, memory_order_relaxed);
    tsd_reply_json(req, 200, TS_SLICE_LIT("{\"status\":\"200\",\"message\":\"Caches dropped\"}"));
}

static int flush_level(const struct tsd_req *req, enum sto_level *out, struct ts_error *err)
{
    struct ts_slice level, compact;
    *out = STO_LEVEL_FILES;
    if (tsd_req_param(req, "compact", &compact) && !ts_slice_is(compact, "false"))
        *out = STO_LEVEL_COMPACT;
    if (!tsd_req_param(req, "level", &level))
        return 0;
    if (ts_slice_is(level, "disk"))
        *out = STO_LEVEL_DISK;
    else if (ts_slice_is(level, "files"))
        *out = STO_LEVEL_FILES;
    else if (ts_slice_is(level, "compact"))
        *out = STO_LEVEL_COMPACT;
    else
        return ts_error_set(err, TS_EINVAL, "Unknown level: %.*s (disk, files, compact)",
                            (int)(level.n < 64 ? level.n : 64), level.p);
    return 0;
}

static int flush_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    enum sto_level level;
    TS_TRY(flush_level(req, &level, err));
    TS_TRY(sto_flush(req->d->store, level, err));
    return tsd_sink_str(tsd_job_sink(job), "{\"status\":\"200\",\"message\":\"Flushed\"}", err);
}

/* wait=false: flush and merge behind the scenes, answer at once. */
void tsd_ep_flush(struct tsd_req *req)
{
    struct ts_slice wait;
    if (tsd_req_param(req, "wait", &wait) && ts_slice_is(wait, "false")) {
        sto_compact_soon(req->d->store);
        tsd_reply_json(req, 202, TS_SLICE_LIT("{\"status\":\"202\",\"message\":\"Flushing and merging\"}"));
    } else {
        tsd_job_start(req, tsd_type_json, flush_run);
    }
}
