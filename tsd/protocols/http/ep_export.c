/*
 * ep_export.c - GET /api/export: points as lines that tsd import takes back.
 *
 *   metric=NAME   one metric, or with stars all that match; without it all
 *   tag=k=v       conditions, as often as wanted; v exact, "*" or "a|b"
 *   from=, to=    any time form, both inclusive
 *
 * Threads    a pool thread writes the lines
 * Not here   the form of lines (format/lines.c)
 */
#include "base/text.h"
#include "base/time.h"
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/job.h"
#include "tsd/format/lines.h"

/* Lines into the job's reply, counting against the budget of a query. */
static int export_emit(void *arg, struct ts_slice text, struct ts_error *err)
{
    struct tsd_job *job = arg;
    if (atomic_load_explicit(&tsd_job_limit(job)->cancelled, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the client is gone");
    return ts_sink_write(tsd_job_sink(job), text, err);
}

static int export_time(const struct tsd_req *req, const char *name, int64_t *out_ms, struct ts_error *err)
{
    struct ts_slice text;
    if (!tsd_req_param(req, name, &text) || !text.n)
        return 0;
    return strcmp(name, "to") == 0 ? ts_time_parse_end(text, NULL, ts_clock_ms(), false, out_ms, err)
                                   : ts_time_parse(text, NULL, ts_clock_ms(), false, out_ms, NULL, err);
}

static int export_tags(const struct tsd_req *req, struct sto_tag_text *tags, struct tsd_lines_spec *spec,
                       struct ts_error *err)
{
    for (size_t i = 0; i < req->n_params; i++) {
        if (!ts_slice_is(req->params[i].name, "tag"))
            continue;
        struct ts_slice v = req->params[i].value;
        const char *eq = v.n ? memchr(v.p, '=', v.n) : NULL;
        if (!eq || eq == v.p || eq + 1 == v.p + v.n)
            return ts_error_set(err, TS_EINVAL, "a tag is key=value, not \"%.*s\"", TS_SHOWN(v, 100));
        tags[spec->n_tags++] =
            (struct sto_tag_text){{v.p, (size_t)(eq - v.p)}, {eq + 1, v.n - (size_t)(eq - v.p) - 1}};
    }
    spec->tags = tags;
    return spec->n_tags && !spec->metric.n ? ts_error_set(err, TS_EINVAL, "tags need a metric") : 0;
}

int tsd_ep_export(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_lines_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct sto_tag_text *tags = ts_arena_alloc(tsd_job_arena(job), (req->n_params + 1) * sizeof(*tags));
    (void)tsd_req_param(req, "metric", &spec.metric);
    TS_TRY(export_tags(req, tags, &spec, err));
    TS_TRY(export_time(req, "from", &spec.from_ms, err));
    TS_TRY(export_time(req, "to", &spec.to_ms, err));
    tsd_job_limit(job)->max_points = 0; /* all points of a store may be exported */
    return tsd_lines_export(req->d->store, &spec, tsd_job_limit(job), export_emit, job, NULL, err);
}
