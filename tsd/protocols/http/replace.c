/*
 * replace.c - finds what a request replaces.
 *
 * Threads    see replace.h
 */
#include "tsd/protocols/http/replace.h"

#include "storage/versioned.h"

#include "base/mem.h"
#include "tsd/protocols/http/ep.h"
#include "tsd/protocols/http/queries.h"

#define REPLACE_AGG "none:" /* a query has an aggregator, which says nothing here */

bool tsd_replace_asked(const struct tsd_req *req)
{
    struct ts_slice text;
    return tsd_req_param(req, "series", &text);
}

static int replace_param(const struct tsd_req *req, const char *name, struct qry_param *out,
                         struct ts_error *err)
{
    out->name = ts_slice_str(name);
    if (!tsd_req_param(req, name, &out->value) || !out->value.n)
        return ts_error_set(
            err, TS_EINVAL,
            "the parameter %s is missing: a replacement has series=METRIC{FILTERS}, start and end", name);
    return 0;
}

int tsd_replace_parse(struct tsd_job *job, struct tsd_replace *r, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_arena *arena = tsd_job_arena(job);
    struct qry_param params[4];
    size_t n = 3;
    *r = (struct tsd_replace){.series = NULL};
    TS_TRY(replace_param(req, "series", &params[0], err));
    TS_TRY(replace_param(req, "start", &params[1], err));
    TS_TRY(replace_param(req, "end", &params[2], err));
    if (tsd_req_param(req, "tz", &params[3].value))
        params[n++].name = TS_SLICE_LIT("timezone"); /* tz counts for totals only */
    size_t bytes = sizeof REPLACE_AGG - 1 + params[0].value.n;
    char *m = ts_arena_alloc(arena, bytes);
    memcpy(m, REPLACE_AGG, sizeof REPLACE_AGG - 1);
    memcpy(m + sizeof REPLACE_AGG - 1, params[0].value.p, params[0].value.n);
    params[0] = (struct qry_param){.name = TS_SLICE_LIT("m"), .value = {m, bytes}};
    /* not as OpenTSDB, which has no replacements: exactly this range, not whole hours, and no option is overlooked */
    TS_TRY(qry_parse_params(params, n, ts_clock_ms(), false, arena, &r->spec, err));
    tsd_ep_query_settings(req, &r->spec);
    r->spec.kinds = QRY_KIND_POINTS;
    r->spec.del = true;
    tsd_query_begin_spec(job, &r->spec, NULL);
    tsd_deleted_init(&r->old, &r->spec, false, arena);
    r->series = roaring_bitmap_create();
    tsd_job_limit(job)->allow_partial = false; /* what is not found would not be replaced */
    return 0;
}

int tsd_replace_find(struct tsd_job *job, struct tsd_replace *r, struct ts_error *err)
{
    struct sto_store *store = tsd_job_req(job)->d->store;
    TS_TRY(qry_series_select(store, &r->spec, tsd_job_limit(job), r->series, err));
    TS_TRY(tsd_deleted_find(&r->old, store, tsd_job_limit(job), err));
    r->ranges = ts_xcalloc(r->old.n + 1, sizeof *r->ranges);
    for (size_t i = 0; i < r->old.n; i++) {
        const struct qry_delete_target *t = &r->old.targets[i];
        TS_TRY(sto_versioned_refuse(
            store, t->series, "which a replacement would go past: delete the range and put its points", err));
        r->ranges[i] = (struct sto_tomb){
            .metric = t->series->metric, .series = t->series->id, .from_ms = t->from_ms, .to_ms = t->to_ms};
        roaring_bitmap_add(r->series, t->series->id); /* one that only the remote store had until now */
    }
    r->what = (struct sto_bulk_replace){.ranges = r->ranges,
                                        .n = r->old.n,
                                        .series = r->series,
                                        .from_ms = r->spec.start_ms,
                                        .to_ms = r->spec.end_ms};
    return 0;
}

uint64_t tsd_replace_old(const struct tsd_replace *r)
{
    return tsd_deleted_sum(&r->old);
}

void tsd_replace_release(struct tsd_replace *r)
{
    if (!r->series)
        return;
    tsd_deleted_release(&r->old);
    roaring_bitmap_free(r->series);
    ts_free(r->ranges);
    *r = (struct tsd_replace){.series = NULL};
}
