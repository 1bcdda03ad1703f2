/*
 * ep_admin.c - requests of administrators: drop caches, flush.
 *
 * Threads    the endpoints in the worker, what blocks in a job
 * Source     docs/OPENTSDB.md, section 2.12; flush exists only in tsd
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/text.h"
#include "tsd/protocols/http/job.h"
#include "tsd/net/stats.h"

void tsd_ep_dropcaches(struct tsd_req *req)
{
    if (req->method == TSD_POST && req->d->set.rules.compat) {
        tsd_reply_method(req);
        return;
    }
    atomic_fetch_add_explicit(&req->d->drop_requests, 1, memory_order_relaxed);
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
                            TS_SHOWN(level, 64));
    return 0;
}

static int flush_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    enum sto_level level;
    TS_TRY(flush_level(req, &level, err));
    TS_TRY(sto_flush(req->d->store, level, err));
    return ts_sink_str(tsd_job_sink(job), "{\"status\":\"200\",\"message\":\"Flushed\"}", err);
}

/* wait=false: flush and merge behind the scenes, answer at once. */
void tsd_ep_flush(struct tsd_req *req)
{
    struct ts_slice wait;
    if (tsd_req_param(req, "wait", &wait) && ts_slice_is(wait, "false")) {
        sto_compact_soon(req->d->store);
        tsd_reply_json(req, 202, TS_SLICE_LIT("{\"status\":\"202\",\"message\":\"Flushing and merging\"}"));
    } else {
        tsd_job_start(req, TSD_JOB_LONG, tsd_type_json, flush_run);
    }
}

static void memory_account(void *arg, const struct ts_budget *b)
{
    struct ts_json *j = arg;
    ts_json_obj(j);
    ts_json_member_str(j, "account", b->name);
    ts_json_member_str(j, "within", b->parent ? b->parent->name : "");
    ts_json_member_str(j, "key", b->key);
    ts_json_member_count(j, "usedBytes", atomic_load(&b->used_bytes));
    ts_json_member_count(j, "peakBytes", atomic_load(&b->peak_bytes));
    ts_json_member_count(j, "limitBytes", b->limit_bytes);
    ts_json_member_count(j, "refused", atomic_load(&b->n_refused));
    if (b->weight)
        ts_json_member_count(j, "refusedPerAddress", atomic_load(&b->n_share_refused));
    ts_json_obj_end(j);
}

void tsd_ep_memory(struct tsd_req *req, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_member_count(j, "machineBytes", tsd_memory_machine_bytes(""));
    ts_json_member_count(j, "limitBytes", req->d->set.memory_limit_bytes);
    ts_json_member_count(j, "residentBytes", tsd_stats_resident_bytes());
    ts_json_member_arr(j, "accounts");
    tsd_memory_each(&req->d->memory, memory_account, j);
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}
