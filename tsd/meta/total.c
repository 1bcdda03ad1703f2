/*
 * total.c - requests about kept totals.
 *
 *   GET    /api/total      the totals that are kept
 *   POST   /api/total      {"metric": "web.hits", "over": ["domain"]}: keep one
 *   DELETE /api/total      the same body: keep it no longer
 *
 * Threads    see request.h
 * Not here   declarations (storage/total.h)
 */
#include "tsd/meta/request.h"

#include "storage/total.h"

static void print_row(void *arg, const struct sto_total_row *row)
{
    struct ts_json *j = arg;
    ts_json_obj(j);
    ts_json_member_slice(j, "metric", row->metric);
    ts_json_member_arr(j, "over");
    for (size_t i = 0; i < row->n_over; i++)
        ts_json_slice(j, row->over[i]);
    ts_json_arr_end(j);
    ts_json_member_bool(j, "known", row->known);
    ts_json_member_count(j, "files", row->state.n_files);
    ts_json_member_count(j, "waiting", row->state.n_waiting);
    ts_json_member_count(j, "without", row->state.n_without);
    ts_json_member_count(j, "groups", row->state.n_groups);
    ts_json_member_count(j, "bytes", row->state.n_bytes);
    ts_json_obj_end(j);
}

static int print(struct tsd_meta_req *a, struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(a, "", &j);
    ts_json_obj(&j);
    ts_json_member_arr(&j, "totals");
    sto_total_each(a->store, print_row, &j);
    ts_json_arr_end(&j);
    ts_json_obj_end(&j);
    return tsd_meta_req_write(a, err);
}

/* Read the keys of a body into over, which has room for STO_TOTAL_KEYS. */
static int get_keys(const json_t *list, struct ts_slice *over, size_t *out_n, struct ts_error *err)
{
    if (!json_is_array(list) || json_array_size(list) == 0)
        return ts_error_set(err, TS_EINVAL, "'over' must be an array of keys of tags");
    if (json_array_size(list) > STO_TOTAL_KEYS)
        return ts_error_set(err, TS_EINVAL, "a total is over %u keys at most", STO_TOTAL_KEYS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *key = json_array_get(list, i);
        if (!json_is_string(key))
            return ts_error_set(err, TS_EINVAL, "'over' must be an array of keys of tags");
        over[i] = (struct ts_slice){json_string_value(key), json_string_length(key)};
    }
    *out_n = json_array_size(list);
    return 0;
}

static int change(struct tsd_meta_req *a, const json_t *root, struct ts_error *err)
{
    struct ts_slice over[STO_TOTAL_KEYS];
    const json_t *metric = json_object_get(root, "metric");
    size_t n = 0;
    TS_TRY(tsd_meta_req_known(a, root, NULL, "metric over", err));
    if (!json_is_string(metric))
        return ts_error_set(err, TS_EINVAL, "Missing or not a text: 'metric'");
    TS_TRY(get_keys(json_object_get(root, "over"), over, &n, err));
    struct ts_slice name = {json_string_value(metric), json_string_length(metric)};
    if (a->method == TSD_DELETE)
        return sto_total_remove(a->store, name, over, n, err);
    TS_TRY(tsd_meta_req_name(a, STO_UID_METRIC, name, err));
    for (size_t i = 0; i < n; i++)
        TS_TRY(tsd_meta_req_name(a, STO_UID_TAGK, over[i], err));
    return sto_total_add(a->store, name, over, n, NULL, err);
}

int tsd_handle_total(struct tsd_meta_req *a, struct ts_error *err)
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
