/*
 * ep_admin.c - what an administrator asks for: caches dropped, everything flushed, all points as lines.
 *
 * Threads    the endpoints in the worker, what blocks in a job
 * Source     protocols-and-queries 2.12; flush and export are our own
 */
#include "tsd/http/ep.h"

#include "base/time.h"
#include "tsd/http/job.h"
#include "tsd/out/lines.h"

void tsd_ep_dropcaches(struct tsd_req *req)
{
    atomic_fetch_add_explicit(&req->d->drop_asked, 1, memory_order_relaxed);
    tsd_reply_json(req, 200, TS_SLICE_LIT("{\"status\":\"200\",\"message\":\"Caches dropped\"}"));
}

/* Administration is for this machine, unless a key opens it. True when the request is answered. */
static bool admin_refused(struct tsd_req *req)
{
    if (req->c->local || req->d->set.admin_remote)
        return false;
    tsd_reply_error(req, 403, "Only for clients on this machine", "admin_remote opens it to others");
    return true;
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

void tsd_ep_flush(struct tsd_req *req)
{
    if (!admin_refused(req))
        tsd_job_start(req, tsd_type_json, flush_run);
}

/* --- export --- */

static int export_write(void *arg, struct ts_slice text, struct ts_error *err)
{
    return tsd_sink_write(tsd_job_sink(arg), text, err);
}

static int export_time(const struct tsd_req *req, const char *name, int64_t *out_ms, struct ts_error *err)
{
    struct ts_slice text;
    int64_t ms;
    if (!tsd_req_param(req, name, &text))
        return 0;
    if (text.n > 2 && !memcmp(text.p + text.n - 2, "ms", 2) &&
        ts_num_parse_int((struct ts_slice){text.p, text.n - 2}, &ms, NULL) == 0) {
        *out_ms = ms; /* also before 1970 */
        return 0;
    }
    return ts_time_parse(text, NULL, ts_clock_ms(), false, out_ms, NULL, err);
}

static int export_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_lines_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct sto_tag_text *tags = ts_arena_alloc(tsd_job_arena(job), (req->n_params + 1) * sizeof(*tags));
    TS_TRY(export_time(req, "from", &spec.from_ms, err));
    TS_TRY(export_time(req, "to", &spec.to_ms, err));
    (void)tsd_req_param(req, "metric", &spec.metric);
    for (size_t i = 0; i < req->n_params; i++) {
        struct ts_slice tag = req->params[i].value;
        if (!ts_slice_is(req->params[i].name, "tag"))
            continue;
        const char *eq = memchr(tag.p, '=', tag.n);
        if (!eq)
            return ts_error_set(err, TS_EINVAL, "invalid tag: %.*s", (int)(tag.n < 64 ? tag.n : 64), tag.p);
        tags[spec.n_tags++] =
            (struct sto_tag_text){{tag.p, (size_t)(eq - tag.p)}, {eq + 1, tag.n - (size_t)(eq - tag.p) - 1}};
    }
    spec.tags = tags;
    return tsd_lines_export(req->d->store, &spec, export_write, job, NULL, err);
}

void tsd_ep_export(struct tsd_req *req)
{
    tsd_job_start(req, tsd_type_text, export_run);
}
