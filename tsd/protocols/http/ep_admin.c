/*
 * ep_admin.c - requests of administrators: drop caches, flush, ship again.
 *
 * Threads    the endpoints in the worker, what blocks in a job
 * Source     docs/OPENTSDB.md, section 2.12; flush and reship exist only in tsd
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/meta/series.h"
#include "tsd/protocols/http/job.h"
#include "tsd/net/stats.h"

#include <stdio.h>

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

/* Times of the parameters from and to, both required, as hours since 1970. */
static int reship_hours(const struct tsd_req *req, int32_t *out_from, int32_t *out_to, struct ts_error *err)
{
    struct ts_slice from, to;
    int64_t from_ms, to_ms;
    if (!tsd_req_param(req, "from", &from) || !tsd_req_param(req, "to", &to))
        return ts_error_set(err, TS_EINVAL, "from and to are required: times of the points to ship again");
    TS_TRY(ts_time_parse(from, NULL, ts_clock_ms(), false, &from_ms, NULL, err));
    TS_TRY(ts_time_parse_end(to, NULL, ts_clock_ms(), false, &to_ms, err));
    if (from_ms < 0 || to_ms < from_ms || to_ms > STO_MAX_TS_MS)
        return ts_error_set(err, TS_EINVAL,
                            "from=%.*s to=%.*s is no range of times: it must begin in 1970 or later and not "
                            "end before it begins",
                            TS_SHOWN(from, 40), TS_SHOWN(to, 40));
    *out_from = (int32_t)(from_ms / TS_HOUR_MS);
    *out_to = (int32_t)(to_ms / TS_HOUR_MS);
    return 0;
}

int tsd_ep_reship(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    int32_t from_hour = 0, to_hour = 0;
    char text[120];
    if (!req->d->hbase)
        return ts_error_set(err, TS_EINVAL, "there is nothing to ship to: remote = none");
    TS_TRY(reship_hours(req, &from_hour, &to_hour, err));
    TS_TRY(sto_reship(req->d->store, from_hour, to_hour, err));
    (void)snprintf(text, sizeof(text), "{\"status\":\"200\",\"message\":\"Shipping again\",\"hours\":%d}",
                   to_hour - from_hour + 1);
    return ts_sink_str(tsd_job_sink(job), text, err);
}

void tsd_ep_refused(struct tsd_req *req, struct ts_json *j)
{
    struct sto_refused_row *rows = ts_xcalloc(STO_REFUSALS_MAX, sizeof *rows);
    size_t n = sto_refused_rows(req->d->store, rows, STO_REFUSALS_MAX);
    struct qry_view view = qry_view_of(sto_store_catalog(req->d->store));
    ts_json_arr(j);
    for (size_t i = 0; i < n; i++) {
        const struct sto_series *s = sto_series_get(view.cat, rows[i].series);
        if (!s)
            continue;
        ts_json_obj(j);
        tsd_series_members(&view, s, j);
        ts_json_member_int(j, "hour", rows[i].hour * (TS_HOUR_MS / 1000));
        ts_json_member_int(j, "refused", rows[i].at_ms / 1000);
        ts_json_member_count(j, "times", rows[i].n);
        ts_json_member_str(j, "reason", rows[i].why);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_free(rows);
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
    if (req->d->hbase)
        memory_account(j, tsd_hbase_account(req->d->hbase));
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}
