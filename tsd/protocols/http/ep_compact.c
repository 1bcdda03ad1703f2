/*
 * ep_compact.c - requests of administrators that rearrange the store: compress files harder, change the number of shards.
 *
 * Threads    jobs
 * Not here   what they do (storage/store.h)
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/protocols/http/job.h"

#define COMPACT_LEVEL 9 /* without the parameter level */

/* A parameter that is a number; *out stays as it is without it. */
static int number_of(const struct tsd_req *req, const char *name, unsigned *out, struct ts_error *err)
{
    struct ts_slice text;
    int64_t n;
    if (!tsd_req_param(req, name, &text))
        return 0;
    if (ts_num_parse_int(text, &n, NULL) < 0 || n < 0 || n > UINT32_MAX)
        return ts_error_set(err, TS_EINVAL, "%s=%.*s is no number", name, TS_SHOWN(text, 40));
    *out = (unsigned)n;
    return 0;
}

static bool is_stopped(void *arg)
{
    const struct qry_limit *limit = arg;
    return atomic_load_explicit(&limit->cancelled, memory_order_relaxed);
}

static int spec_of(struct tsd_job *job, struct sto_compact_spec *out, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice text;
    *out = (struct sto_compact_spec){.from_ms = STO_MIN_TS_MS,
                                     .to_ms = ts_clock_ms(),
                                     .level = COMPACT_LEVEL,
                                     .stop = is_stopped,
                                     .arg = tsd_job_limit(job)};
    if (tsd_req_param(req, "from", &text))
        TS_TRY(ts_time_parse(text, NULL, ts_clock_ms(), false, &out->from_ms, NULL, err));
    if (tsd_req_param(req, "to", &text))
        TS_TRY(ts_time_parse_end(text, NULL, ts_clock_ms(), false, &out->to_ms, err));
    return number_of(req, "level", &out->level, err);
}

static int send(struct tsd_job *job, struct ts_buf *b, struct ts_error *err)
{
    int rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(b), err);
    ts_buf_release(b);
    return rc;
}

int tsd_ep_compact(struct tsd_job *job, struct ts_error *err)
{
    struct sto_compact_spec spec;
    struct sto_compact_result r;
    struct ts_buf b;
    struct ts_json j;
    TS_TRY(spec_of(job, &spec, err));
    TS_TRY(sto_compact(tsd_job_req(job)->d->store, &spec, &r, err));
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_count(&j, "files", r.n_files);
    ts_json_member_count(&j, "bytes", r.n_bytes);
    ts_json_member_count(&j, "filesAfter", r.n_files_after);
    ts_json_member_count(&j, "bytesAfter", r.n_bytes_after);
    ts_json_member_count(&j, "filesSame", r.n_same);
    ts_json_member_count(&j, "bytesSame", r.n_same_bytes);
    ts_json_member_count(&j, "filesRecent", r.n_recent);
    ts_json_obj_end(&j);
    return send(job, &b, err);
}

int tsd_ep_rebalance(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_buf b;
    struct ts_json j;
    unsigned n = 0;
    if (req->method == TSD_POST) {
        TS_TRY(number_of(req, "shards", &n, err));
        TS_TRY(sto_rebalance(req->d->store, n, err));
    }
    struct sto_shards shards = sto_shards(req->d->store);
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_count(&j, "shards", shards.n_now);
    ts_json_member_count(&j, "wanted", shards.n_wanted);
    if (shards.waits)
        ts_json_member_str(&j, "waits", shards.waits);
    ts_json_obj_end(&j);
    return send(job, &b, err);
}
