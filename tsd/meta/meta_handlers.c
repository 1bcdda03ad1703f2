/*
 * meta_handlers.c - /api/uid/uidmeta and /api/uid/tsmeta: metadata of a name, of a series, and what is computed from its points.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, sections 2.18, 2.19
 */
#include "tsd/meta/request.h"

#include "base/text.h"
#include "query/execution/select.h"
#include "tsd/meta/series.h"
#include "tsd/meta/search_lookup.h"
#include "tsd/meta/tsmeta.h"
#include "tsd/meta/uidmeta.h"

/* Which name, and what is given. */
struct uidmeta_wanted {
    enum sto_uid_kind kind;  /* of the name */
    uint32_t id;             /* its id */
    struct tsd_record given; /* fields */
    json_t *merge;           /* ours: free text fields to set one by one; NULL = none */
};

/* The id in the catalog for one of a client. */
static int uidmeta_id(struct tsd_meta_req *ask, struct ts_slice uid, struct uidmeta_wanted *out,
                      struct ts_error *err)
{
    struct qry_view *view = &ask->view;
    int rc = !qry_ids_remote(view) ? tsd_uid_parse(uid, &out->id) ? 0 : TS_EINVAL
                                   : qry_ids_find(view, out->kind, uid, &out->id, err);
    if (rc == TS_EINVAL)
        return ts_error_set(err, rc, "Invalid UID: %.*s", TS_SHOWN(uid, 64));
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "No such unique ID for '%s': %.*s",
                            out->kind == STO_UID_METRIC ? "metrics" : tsd_uid_kind_name(out->kind),
                            TS_SHOWN(uid, 64));
    return rc == 0 ? qry_ids_adopt(view, out->kind, &out->id, err) : rc;
}

static int uidmeta_which(struct tsd_meta_req *ask, struct ts_slice uid, struct ts_slice type,
                         struct uidmeta_wanted *out, struct ts_error *err)
{
    if (!uid.n)
        return ts_error_set(err, TS_EINVAL, "Missing UID");
    if (!type.n)
        return ts_error_set(err, TS_EINVAL, "Missing type");
    if (!tsd_uid_kind(type, &out->kind))
        return ts_error_set(err, TS_EINVAL, "Invalid type: %.*s (metric, tagk, tagv)", TS_SHOWN(type, 64));
    return uidmeta_id(ask, uid, out, err);
}

static int uidmeta_request(struct tsd_meta_req *ask, struct uidmeta_wanted *out, struct ts_error *err)
{
    out->merge = NULL;
    tsd_record_init(&out->given, tsd_uidmeta_fields);
    if (ask->method == TSD_GET || ask->body.n == 0) {
        struct ts_slice uid, type;
        (void)tsd_meta_req_param(ask, "uid", &uid);
        (void)tsd_meta_req_param(ask, "type", &type);
        TS_TRY(uidmeta_which(ask, uid, type, out, err));
        return tsd_record_from_params(&out->given, ask->params, ask->n_params, ask->arena, err);
    }
    json_t *root;
    TS_TRY(tsd_meta_req_body(ask, &root, err));
    const char *uid = json_string_value(json_object_get(root, "uid"));
    const char *type = json_string_value(json_object_get(root, "type"));
    int rc = uidmeta_which(ask, ts_slice_str(uid ? uid : ""), ts_slice_str(type ? type : ""), out, err);
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
        tsd_uidmeta_refresh(st, wanted->kind, wanted->id);
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
    struct ts_json j;
    tsd_record_init(&r, tsd_uidmeta_fields);
    int rc = uidmeta_request(ask, &wanted, err);
    if (rc == 0)
        rc = uidmeta_do(ask, &wanted, &r, err);
    json_decref(wanted.merge);
    if (rc == TS_ENOTFOUND)
        return tsd_meta_req_not_found(ask, "Could not find the requested UID", err);
    TS_TRY(rc);
    if (ask->method != TSD_DELETE)
        TS_TRY(tsd_uidmeta_show(&ask->view, wanted.kind, wanted.id, ask->arena, &r, err));
    tsd_meta_req_json(ask, "", &j);
    tsd_uidmeta_json(&r, &j);
    return tsd_meta_req_write(ask, err);
}

/* --- /api/uid/tsmeta: metadata of a series --- */

/* A request at work. */
struct tsmeta_work {
    struct tsd_meta_req *ask; /* the request */
    struct sto_store *store;  /* where */
    struct ts_slice tsuid;    /* which series, or */
    struct ts_slice m;        /* "metric{k=v}" */
    bool create;              /* make the series of m */
    struct tsd_record given;  /* fields */
    size_t n;                 /* elements of an array written */
    struct ts_error *err;     /* why a walk stopped */
    int rc;                   /* the same */
};

static int tsmeta_request(struct tsmeta_work *a, struct ts_error *err)
{
    struct ts_arena *arena = a->ask->arena;
    struct ts_slice create;
    tsd_record_init(&a->given, tsd_tsmeta_fields);
    (void)tsd_meta_req_param(a->ask, "tsuid", &a->tsuid);
    (void)tsd_meta_req_param(a->ask, "m", &a->m);
    a->create = tsd_meta_req_param(a->ask, "create", &create) && ts_slice_is(create, "true");
    if (a->ask->method == TSD_GET || a->ask->body.n == 0) {
        TS_TRY(tsd_record_from_params(&a->given, a->ask->params, a->ask->n_params, arena, err));
    } else {
        json_t *root;
        TS_TRY(tsd_meta_req_body(a->ask, &root, err));
        const json_t *tsuid = json_object_get(root, "tsuid");
        if (json_is_string(tsuid))
            a->tsuid = tsd_meta_req_text(a->ask, tsuid);
        int rc = tsd_meta_req_known(a->ask, root, tsd_tsmeta_fields,
                                    "metric tags lastReceived totalDatapoints", err);
        if (rc == 0)
            rc = tsd_record_from_json(&a->given, root, arena, err);
        json_decref(root);
        TS_TRY(rc);
    }
    return a->tsuid.n || a->m.n ? 0 : ts_error_set(err, TS_EINVAL, "Missing tsuid or m");
}

static int tsmeta_not_found(struct tsmeta_work *a, struct ts_error *err)
{
    return tsd_meta_req_not_found(a->ask, "Could not find Timeseries meta data", err);
}

static int tsmeta_write(struct tsmeta_work *a, const struct sto_series *s, const struct tsd_record *r,
                        struct ts_error *err)
{
    struct tsd_tsmeta_points points;
    struct ts_buf text;
    struct ts_json j;
    TS_TRY(tsd_tsmeta_points(a->store, &a->ask->view, s, a->ask->limit, &points, err));
    if (qry_series_foreign(s) && !points.n)
        return ts_error_set(err, TS_ENOTFOUND, "There are no points of it");
    ts_buf_init(&text, 0);
    if (a->n++)
        ts_buf_char(&text, ',');
    ts_json_init(&j, &text);
    int rc = tsd_tsmeta_json(a->store, &a->ask->view, s, r, &points, &j, err);
    if (rc == 0)
        rc = ts_sink_write(a->ask->sink, ts_buf_get(&text), err);
    ts_buf_release(&text);
    return rc;
}

/* --- many, for m --- */

static bool tsmeta_each(void *arg, const struct sto_series *s)
{
    struct tsmeta_work *a = arg;
    struct ts_arena arena;
    struct tsd_record r;
    bool stored;
    ts_arena_init(&arena, 0);
    a->rc = tsd_tsmeta_load(a->store, s, &arena, &r, &stored, a->err);
    if (a->rc == 0 && (stored || a->ask->meta_series))
        a->rc = tsmeta_write(a, s, &r, a->err);
    ts_arena_release(&arena);
    return a->rc == 0;
}

static int tsmeta_list(struct tsmeta_work *a, struct ts_error *err)
{
    struct tsd_lookup what;
    a->err = err;
    TS_TRY(tsd_lookup_parse(a->m, a->ask->arena, &what, err));
    what.compat = a->ask->rules->compat;
    TS_TRY(ts_sink_str(a->ask->sink, "[", err));
    int rc = tsd_lookup_run(&a->ask->view, &what, a->ask->limit, tsmeta_each, a, err);
    if (rc == TS_ENOTFOUND)
        return tsmeta_not_found(a, err);
    TS_TRY(rc);
    TS_TRY(a->rc);
    return ts_sink_str(a->ask->sink, "]", err);
}

/* --- one --- */

/* The series of exactly the names of m; made if create was requested and the names are there. */
static int tsmeta_names(struct tsmeta_work *a, const struct sto_series **out, struct ts_error *err)
{
    struct sto_catalog *cat = sto_store_catalog(a->store);
    struct tsd_lookup what;
    struct ts_buf text;
    uint32_t id;
    TS_TRY(tsd_lookup_parse(a->m, a->ask->arena, &what, err));
    ts_buf_init(&text, 0);
    ts_buf_slice(&text, what.metric);
    bool known = sto_uid_find(cat, STO_UID_METRIC, what.metric, &id) == 0;
    for (size_t i = 0; i < what.n_pairs; i++) {
        known = known && sto_uid_find(cat, STO_UID_TAGK, what.pairs[i].k, &id) == 0 &&
                sto_uid_find(cat, STO_UID_TAGV, what.pairs[i].v, &id) == 0;
        ts_buf_char(&text, ' ');
        ts_buf_slice(&text, what.pairs[i].k);
        ts_buf_char(&text, '=');
        ts_buf_slice(&text, what.pairs[i].v);
    }
    int rc = known ? sto_series_resolve(cat, ts_buf_get(&text), (uint32_t)what.metric.n, what.pairs,
                                        what.n_pairs, a->create, out, err)
                   : TS_ENOTFOUND;
    ts_buf_release(&text);
    if (rc == TS_ENOTFOUND)
        return ts_error_set(err, rc, "No such series: %.*s", TS_SHOWN(a->m, 150));
    if (rc == 0 && a->create)
        rc = sto_catalog_sync(cat, true, err);
    return rc;
}

/* A series that only the remote store has: a record here would be of no use, since nobody has changed it here. */
static int tsmeta_foreign(struct tsmeta_work *a, const struct sto_series *s, struct ts_error *err)
{
    struct tsd_record r;
    tsd_record_init(&r, tsd_tsmeta_fields);
    return a->ask->meta_series
               ? tsmeta_write(a, s, &r, err)
               : ts_error_set(err, TS_ENOTFOUND, "Nothing is stored for it (meta_series = false)");
}

/* The series of the TSUID. One that only the remote store has enters the catalog when its metadata is changed. */
static int tsmeta_series(struct tsmeta_work *a, const struct sto_series **out, struct ts_error *err)
{
    struct sto_tag_text tags[TSD_SERIES_MAX_TAGS];
    TS_TRY(qry_ids_series(&a->ask->view, a->tsuid, out, err));
    if (!qry_series_foreign(*out) || a->ask->method == TSD_GET)
        return 0;
    const struct sto_series *s = *out;
    unsigned n_tags = tsd_series_tags(&a->ask->view, s, tags);
    return sto_series_resolve(sto_store_catalog(a->store), sto_series_text(s), s->metric_len, tags, n_tags,
                              true, out, err);
}

static int tsmeta_one(struct tsmeta_work *a, const struct sto_series *s, struct ts_error *err)
{
    struct ts_arena *arena = a->ask->arena;
    struct tsd_record r;
    bool stored, changed;
    if (a->ask->method == TSD_DELETE) {
        a->ask->status = 204;
        return tsd_tsmeta_delete(a->store, s, err);
    }
    if (qry_series_foreign(s))
        return tsmeta_foreign(a, s, err);
    tsd_tsmeta_refresh(a->store, s);
    TS_TRY(tsd_tsmeta_load(a->store, s, arena, &r, &stored, err));
    if (!stored && !a->ask->meta_series && !(a->create && a->ask->method != TSD_GET))
        return ts_error_set(err, TS_ENOTFOUND, "Nothing is stored for it (meta_series = false)");
    if (a->ask->method != TSD_GET) {
        TS_TRY(tsd_tsmeta_store(a->store, s, &a->given, a->ask->method == TSD_PUT, arena, &r, &changed, err));
        if (!changed)
            a->ask->status = 304;
    }
    return tsmeta_write(a, s, &r, err);
}

int tsd_handle_tsmeta(struct tsd_meta_req *ask, struct ts_error *err)
{
    struct tsmeta_work a = {.ask = ask, .store = ask->store};
    const struct sto_series *s;
    TS_TRY(tsmeta_request(&a, err));
    if (!a.tsuid.n && ask->method == TSD_GET)
        return tsmeta_list(&a, err);
    int rc = a.tsuid.n ? tsmeta_series(&a, &s, err) : tsmeta_names(&a, &s, err);
    if (rc == 0)
        rc = tsmeta_one(&a, s, err);
    return rc == TS_ENOTFOUND ? tsmeta_not_found(&a, err) : rc;
}
