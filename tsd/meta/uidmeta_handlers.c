/*
 * uidmeta_handlers.c - /api/uid/uidmeta: metadata of a name.
 *
 * Threads    see request.h
 * Source     protocols-and-queries 2.18
 */
#include "tsd/meta/request.h"

#include "base/text.h"
#include "tsd/meta/uidmeta.h"

/* Which name, and what is given. */
struct uidmeta_wanted {
    enum sto_uid_kind kind;  /* of the name */
    uint32_t id;             /* its id */
    struct tsd_record given; /* fields */
    json_t *merge;           /* ours: free text fields to set one by one; NULL = none */
};

static int uidmeta_which(struct ts_slice uid, struct ts_slice type, struct uidmeta_wanted *out,
                         struct ts_error *err)
{
    if (!uid.n)
        return ts_error_set(err, TS_EINVAL, "Missing UID");
    if (!type.n)
        return ts_error_set(err, TS_EINVAL, "Missing type");
    if (!tsd_uid_kind(type, &out->kind))
        return ts_error_set(err, TS_EINVAL, "Invalid type: %.*s (metric, tagk, tagv)", TS_SHOWN(type, 64));
    if (!tsd_uid_parse(uid, &out->id))
        return ts_error_set(err, TS_EINVAL, "Invalid UID: %.*s", TS_SHOWN(uid, 64));
    return 0;
}

static int uidmeta_request(struct tsd_meta_req *ask, struct uidmeta_wanted *out, struct ts_error *err)
{
    out->merge = NULL;
    tsd_record_init(&out->given, tsd_uidmeta_fields);
    if (ask->method == TSD_GET || ask->body.n == 0) {
        struct ts_slice uid, type;
        (void)tsd_meta_req_param(ask, "uid", &uid);
        (void)tsd_meta_req_param(ask, "type", &type);
        TS_TRY(uidmeta_which(uid, type, out, err));
        return tsd_record_from_params(&out->given, ask->params, ask->n_params, ask->arena, err);
    }
    json_t *root;
    TS_TRY(tsd_meta_req_body(ask, &root, err));
    const char *uid = json_string_value(json_object_get(root, "uid"));
    const char *type = json_string_value(json_object_get(root, "type"));
    int rc = uidmeta_which(ts_slice_str(uid ? uid : ""), ts_slice_str(type ? type : ""), out, err);
    if (rc == 0)
        rc = tsd_meta_req_known(ask, root, tsd_uidmeta_fields, "customMerge", err);
    if (rc == 0)
        rc = tsd_record_from_json(&out->given, root, ask->arena, err);
    out->merge = json_incref(json_object_get(root, "customMerge"));
    json_decref(root);
    return rc;
}

/* {"field":"text", ...}: other free text fields stay; an empty text removes one. */
static int uidmeta_merge(struct tsd_meta_req *ask, const struct uidmeta_wanted *wanted, struct ts_error *err)
{
    const char *k;
    json_t *v;
    json_object_foreach(wanted->merge, k, v)
    {
        if (!json_is_string(v))
            return ts_error_set(err, TS_EINVAL, "Field 'customMerge' must be an object of texts");
        TS_TRY(tsd_uidmeta_set(ask->store, wanted->kind, wanted->id, ts_slice_str(k),
                               tsd_meta_req_text(ask, v), err));
    }
    return 0;
}

static int uidmeta_do(struct tsd_meta_req *ask, const struct uidmeta_wanted *wanted, struct tsd_record *out,
                      struct ts_error *err)
{
    struct sto_store *st = ask->store;
    struct ts_arena *arena = ask->arena;
    bool changed = true;
    if (ask->method == TSD_DELETE) {
        ask->status = 204;
        return tsd_uidmeta_delete(st, wanted->kind, wanted->id, err);
    }
    if (ask->method == TSD_GET)
        return tsd_uidmeta_load(st, wanted->kind, wanted->id, arena, out, err);
    TS_TRY(uidmeta_merge(ask, wanted, err));
    TS_TRY(tsd_uidmeta_store(st, wanted->kind, wanted->id, &wanted->given, ask->method == TSD_PUT, arena, out,
                             &changed, err));
    if (!changed && !wanted->merge)
        ask->status = 304;
    return 0;
}

int tsd_handle_uidmeta(struct tsd_meta_req *ask, struct ts_error *err)
{
    struct uidmeta_wanted wanted;
    struct tsd_record r;
    struct ts_buf text;
    struct ts_json j;
    tsd_record_init(&r, tsd_uidmeta_fields);
    int rc = uidmeta_request(ask, &wanted, err);
    if (rc == 0)
        rc = uidmeta_do(ask, &wanted, &r, err);
    json_decref(wanted.merge);
    if (rc == TS_ENOTFOUND)
        return tsd_meta_req_not_found(ask, "Could not find the requested UID", err);
    TS_TRY(rc);
    ts_buf_init(&text, 0);
    ts_json_init(&j, &text);
    tsd_uidmeta_json(&r, &j);
    rc = tsd_meta_req_write(ask, &text, err);
    ts_buf_release(&text);
    return rc;
}
