/*
 * versions.c - requests about the metrics that keep versions.
 *
 *   GET    /api/versions    which metrics keep how many, and since when
 *   POST   /api/versions    {"metric": "stats.users", "versions": 5}
 *   DELETE /api/versions    {"metric": "stats.users"}: it keeps them no longer
 *
 * Threads    see request.h
 * Not here   declarations (storage/versioned.h)
 */
#include "tsd/meta/request.h"

#include "storage/versioned.h"

static void print_row(void *arg, const struct sto_versioned *v)
{
    struct ts_json *j = arg;
    ts_json_obj(j);
    ts_json_member_slice(j, "metric", v->metric);
    ts_json_member_count(j, "versions", v->n);
    ts_json_member_int(j, "since", v->since_us / 1000);
    ts_json_obj_end(j);
}

static int print(struct tsd_meta_req *a, struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(a, "", &j);
    ts_json_obj(&j);
    ts_json_member_arr(&j, "metrics");
    sto_versioned_each(a->store, print_row, &j);
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
    return tsd_meta_req_write(a, err);
}

static int change(struct tsd_meta_req *a, const json_t *root, struct ts_error *err)
{
    bool remove = a->method == TSD_DELETE;
    const json_t *metric = json_object_get(root, "metric"), *n = json_object_get(root, "versions");
    TS_TRY(tsd_meta_req_known(a, root, NULL, remove ? "metric" : "metric versions", err));
    if (!json_is_string(metric))
        return ts_error_set(err, TS_EINVAL, "Missing or not a text: 'metric'");
    if (!remove &&
        (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > STO_VERSIONS_MAX))
        return ts_error_set(err, TS_EINVAL, "'versions' must be a whole number from 1 to %u",
                            STO_VERSIONS_MAX);
    struct ts_slice name = {json_string_value(metric), json_string_length(metric)};
    if (!remove)
        TS_TRY(tsd_meta_req_name(a, STO_UID_METRIC, name, err));
    return sto_versioned_set(a->store, name, remove ? 0 : (unsigned)json_integer_value(n), err);
}

int tsd_handle_versions(struct tsd_meta_req *a, struct ts_error *err)
{
    json_t *root = NULL;
    int rc = 0;
    if (a->method != TSD_GET) {
        TS_TRY(tsd_meta_req_body(a, &root, err));
        rc = change(a, root, err);
    }
    json_decref(root);
    if (rc == TS_ENOTFOUND)
        a->error_status = 404;
    return rc == 0 ? print(a, err) : rc;
}
