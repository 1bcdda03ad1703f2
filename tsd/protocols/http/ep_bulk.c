/*
 * ep_bulk.c - bulk loads: list, begin, numbers of series, hand over, end.
 *
 * Threads    jobs
 * Not here   what a bulk load is (storage/bulk.h), the importer (tsd/commands/importbulk.c)
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/num.h"
#include "tsd/ingest/bulknames.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/replace.h"

#include <limits.h>
#include <stdlib.h>

#define BULK_NAMES_BYTES ((size_t)64 << 20) /* longest answer about names */

static int bulk_id(const struct tsd_req *req, struct ts_slice *out, struct ts_error *err)
{
    if (!tsd_req_param(req, "id", out) || !out->n)
        return ts_error_set(err, TS_EINVAL, "the parameter id is missing: write id=HEXADECIMAL-DIGITS");
    return 0;
}

static void bulk_sum(struct ts_json *j, const struct sto_bulk_sum *sum)
{
    ts_json_member_count(j, "files", sum->n_files);
    ts_json_member_count(j, "points", sum->n_points);
    ts_json_member_count(j, "bytes", sum->n_bytes);
}

/* What the importer checks lines by. */
static void bulk_rules(struct ts_json *j, const struct tsd_rules *r)
{
    ts_json_member_obj(j, "rules");
    ts_json_member_bool(j, "compat", r->compat);
    ts_json_member_bool(j, "oldTimes", r->old_times);
    ts_json_member_bool(j, "hbase", r->hbase);
    ts_json_member_int(j, "minMs", r->min_ms);
    ts_json_member_int(j, "maxMs", r->max_ms);
    ts_json_member_count(j, "maxTags", r->max_tags);
    ts_json_member_count(j, "maxMetricBytes", r->max_name_bytes[STO_UID_METRIC]);
    ts_json_member_count(j, "maxTagkBytes", r->max_name_bytes[STO_UID_TAGK]);
    ts_json_member_count(j, "maxTagvBytes", r->max_name_bytes[STO_UID_TAGV]);
    ts_json_member_str(j, "special", r->special);
    ts_json_obj_end(j);
}

static int bulk_write(struct tsd_job *job, struct ts_buf *b, struct ts_error *err)
{
    int rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(b), err);
    ts_buf_release(b);
    return rc;
}

static int bulk_begin(struct tsd_job *job, struct ts_slice id, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct sto_bulk_place place;
    struct ts_buf b;
    struct ts_json j;
    TS_TRY(sto_bulk_begin(req->d->store, id, &place, err));
    char whole[PATH_MAX]; /* the importer has another working directory */
    bool found = realpath(place.dir, whole) != NULL;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_str(&j, "dir", found ? whole : place.dir);
    ts_json_member_str(&j, "token", place.token);
    ts_json_member_bool(&j, "done", place.done);
    bulk_sum(&j, &place.sum);
    bulk_rules(&j, &req->d->set.rules);
    ts_json_obj_end(&j);
    ts_free(place.dir);
    return bulk_write(job, &b, err);
}

static int bulk_list(struct tsd_job *job, struct ts_error *err)
{
    struct sto_bulk_load list[STO_BULK_MAX];
    struct ts_buf b;
    struct ts_json j;
    size_t n;
    TS_TRY(sto_bulk_list(tsd_job_req(job)->d->store, list, &n, err));
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_arr(&j);
    for (size_t i = 0; i < n; i++) {
        ts_json_obj(&j);
        ts_json_member_str(&j, "id", list[i].id);
        ts_json_member_count(&j, "bytes", list[i].n_bytes);
        ts_json_member_int(&j, "idleMs", list[i].idle_ms);
        ts_json_member_bool(&j, "busy", list[i].busy);
        ts_json_member_bool(&j, "givenUp", list[i].given_up);
        ts_json_member_bool(&j, "done", list[i].done);
        ts_json_obj_end(&j);
    }
    ts_json_arr_end(&j);
    return bulk_write(job, &b, err);
}

static int bulk_end(struct tsd_job *job, struct ts_slice id, struct ts_error *err)
{
    struct sto_bulk_ended ended;
    struct ts_buf b;
    struct ts_json j;
    TS_TRY(sto_bulk_end(tsd_job_req(job)->d->store, id, &ended, err));
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_str(&j, "status", "200");
    ts_json_member_str(&j, "message", "Removed");
    ts_json_member_bool(&j, "found", ended.found);
    ts_json_member_bool(&j, "done", ended.done);
    ts_json_obj_end(&j);
    return bulk_write(job, &b, err);
}

int tsd_ep_bulk(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice id;
    if (req->method == TSD_GET)
        return bulk_list(job, err);
    TS_TRY(bulk_id(req, &id, err));
    return req->method == TSD_POST ? bulk_begin(job, id, err) : bulk_end(job, id, err);
}

int tsd_ep_bulk_names(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct ts_slice id;
    struct ts_buf b;
    TS_TRY(bulk_id(req, &id, err));
    TS_TRY(sto_bulk_touch(req->d->store, id, err)); /* while there is a folder, no series is forgotten */
    ts_buf_init(&b, BULK_NAMES_BYTES);
    int rc = tsd_bulk_names(req->d->store, &req->d->set.rules, req->body, &b, err);
    if (rc < 0) {
        ts_buf_release(&b);
        return rc;
    }
    return bulk_write(job, &b, err);
}

static int bulk_number(const struct tsd_req *req, const char *name, uint64_t *out, struct ts_error *err)
{
    struct ts_slice text;
    int64_t n;
    if (!tsd_req_param(req, name, &text) || ts_num_parse_int(text, &n, NULL) < 0 || n < 0)
        return ts_error_set(err, TS_EINVAL, "the parameter %s is missing, or no number: write %s=N", name,
                            name);
    *out = (uint64_t)n;
    return 0;
}

/* The files replace what the parameters choose. */
static int bulk_replace(struct tsd_job *job, struct ts_slice id, const struct sto_bulk_sum *expect,
                        struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_replace r;
    struct sto_bulk_sum taken = {0};
    struct ts_buf b;
    struct ts_json j;
    if (!(req->d->set.allow & TSD_ALLOW_QUERY_DELETE))
        return ts_error_set(err, TS_EINVAL,
                            "Deleting is switched off: the daemon needs query_allow_delete = true");
    int rc = tsd_replace_parse(job, &r, err);
    if (rc == 0)
        rc = tsd_replace_find(job, &r, err);
    if (rc == 0)
        rc = sto_bulk_replace(req->d->store, id, expect, &r.what, &taken, err);
    if (rc == 0) {
        ts_buf_init(&b, 0);
        ts_json_init(&j, &b);
        ts_json_obj(&j);
        bulk_sum(&j, &taken);
        ts_json_member_count(&j, "deleted", tsd_replace_old(&r));
        ts_json_obj_end(&j);
        rc = bulk_write(job, &b, err);
    }
    tsd_replace_release(&r);
    return rc;
}

int tsd_ep_bulk_take(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct sto_bulk_sum expect = {0}, taken;
    struct ts_slice id;
    struct ts_buf b;
    struct ts_json j;
    TS_TRY(bulk_id(req, &id, err));
    TS_TRY(bulk_number(req, "files", &expect.n_files, err));
    TS_TRY(bulk_number(req, "points", &expect.n_points, err));
    if (tsd_replace_asked(req))
        return bulk_replace(job, id, &expect, err);
    TS_TRY(sto_bulk_hand_over(req->d->store, id, &expect, &taken, err));
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    bulk_sum(&j, &taken);
    ts_json_obj_end(&j);
    return bulk_write(job, &b, err);
}
