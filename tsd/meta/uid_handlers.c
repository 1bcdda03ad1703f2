/*
 * uid_handlers.c - /api/uid/assign, /api/uid/rename; other paths below /api/uid are 501.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, sections 2.16, 2.17
 */
#include "tsd/meta/request.h"

#include "base/cut.h"
#include "query/execution/internal_metric.h"
#include "tsd/meta/uidmeta.h"

int tsd_handle_uid_other(struct tsd_meta_req *ask, struct ts_error *err)
{
    ask->error_status = 501;
    return ts_error_set(err, TS_EINVAL, "There is no such endpoint below /api/uid");
}

/* --- assign --- */

/* One kind of names to assign. */
struct assign {
    struct tsd_meta_req *ask; /* whose */
    enum sto_uid_kind kind;   /* of the names */
    struct ts_slice *names;   /* as given */
    size_t n;                 /* how many; given at all if names is not NULL */
    /* What is done with one of them. id: its id as clients see it; after an error without a text in err, why not. */
    int (*one)(const struct assign *a, struct ts_slice name, struct ts_buf *id, struct ts_error *err);
};

/* Is the name free where ids come from? The remote store assigns an id in any case. */
static int assign_remote(const struct assign *a, struct ts_slice name, bool created, struct ts_buf *id,
                         struct ts_error *err)
{
    struct qry_view *view = &a->ask->view;
    uint64_t remote_id;
    int rc = created ? qry_ids_of_name(view, a->kind, name, false, &remote_id, err) : TS_EEXIST;
    if (rc < 0 && rc != TS_ENOTFOUND && rc != TS_EEXIST)
        return rc;
    bool existed = rc != TS_ENOTFOUND;
    TS_TRY(rc == 0 ? 0 : qry_ids_of_name(view, a->kind, name, true, &remote_id, err));
    qry_ids_print(view, a->kind, remote_id, id);
    return existed ? TS_EEXIST : 0;
}

/* Id of a name that was free; or why not. */
static int assign_one(const struct assign *a, struct ts_slice name, struct ts_buf *id, struct ts_error *err)
{
    static const char *const nouns[STO_UID_KINDS] = {"metric", "tagk", "tagv"};
    struct sto_catalog *cat = sto_store_catalog(a->ask->store);
    struct ts_slice bad;
    uint32_t local;
    if (!tsd_name_ok(a->ask->rules, a->kind, name, &bad)) {
        tsd_name_why(a->ask->rules, a->kind, ts_slice_str(nouns[a->kind]), name, bad, id);
        return TS_EINVAL;
    }
    bool created;
    int rc = 0;
    if (qry_ids_remote(&a->ask->view)) {
        created = sto_uid_find(cat, a->kind, name, &local) < 0;
        rc = assign_remote(a, name, created, id, err);
        if (rc < 0 && rc != TS_EEXIST)
            return rc;
        created = rc == 0;
        TS_TRY(sto_uid_assign(cat, a->kind, name, &local, &(bool){false}, err));
    } else {
        TS_TRY(sto_uid_assign(cat, a->kind, name, &local, &created, err));
        tsd_uid_hex(local, id);
    }
    return created ? 0
                   : ts_error_set(err, TS_EEXIST, "Name already exists with UID: %.*s", (int)id->n, id->p);
}

static int delete_one(const struct assign *a, struct ts_slice name, struct ts_buf *id, struct ts_error *err)
{
    struct sto_catalog *cat = sto_store_catalog(a->ask->store);
    uint32_t local = 0;
    if (qry_ids_remote(&a->ask->view))
        return ts_error_set(
            err, TS_EINVAL,
            "With remote = hbase names are those of HBase, of which tsd deletes none; rename it instead");
    int rc = sto_uid_find(cat, a->kind, name, &local);
    if (rc == 0)
        rc = tsd_uidmeta_delete(a->ask->store, a->kind, local, err);
    if (rc == 0 || rc == TS_ENOTFOUND)
        rc = sto_uid_delete(cat, a->kind, name, err);
    if (rc == 0 && a->kind == STO_UID_METRIC)
        rc = qry_internal_delete(a->ask->store, name, err);
    if (rc == 0)
        tsd_uid_hex(local, id);
    return rc;
}

/* Is this an error of the request, rather than of one name? */
static bool assign_failed(int rc)
{
    return rc == TS_EBACKEND || rc == TS_ETIMEOUT || rc == TS_ECANCELLED;
}

/* The members "metric" and, if there are any, "metric_errors", which make *clean false. */
static int assign_kind(const struct assign *a, struct ts_json *j, bool *clean, struct ts_error *err)
{
    struct ts_buf errors, text;
    struct ts_json je;
    bool any_error = false;
    int rc = 0;
    ts_buf_init(&errors, 0);
    ts_buf_init(&text, 0);
    ts_json_init(&je, &errors);
    ts_json_obj(&je);
    ts_json_member_obj(j, tsd_uid_kind_name(a->kind));
    for (size_t i = 0; i < a->n; i++) {
        struct ts_error why = {0};
        ts_buf_clear(&text);
        rc = a->one(a, a->names[i], &text, &why);
        if (assign_failed(rc)) {
            *err = why;
            break;
        }
        if (rc == 0)
            ts_json_member_slices(j, a->names[i], ts_buf_get(&text));
        else
            ts_json_member_slices(&je, a->names[i], why.text[0] ? ts_slice_str(why.text) : ts_buf_get(&text));
        any_error = any_error || rc < 0;
    }
    ts_json_obj_end(j);
    ts_json_obj_end(&je);
    if (any_error) {
        *clean = false;
        ts_buf_clear(&text);
        ts_buf_printf(&text, "%s_errors", tsd_uid_kind_name(a->kind));
        ts_json_key_slice(j, ts_buf_get(&text));
        ts_json_raw(j, ts_buf_get(&errors));
    }
    ts_buf_release(&errors);
    ts_buf_release(&text);
    return assign_failed(rc) ? rc : 0;
}

/* Names of one kind from the body, an array of texts. */
static int assign_from_json(struct assign *a, const json_t *root, struct ts_arena *arena,
                            struct ts_error *err)
{
    const json_t *list = json_object_get(root, tsd_uid_kind_name(a->kind));
    if (!list || json_is_null(list))
        return 0;
    if (!json_is_array(list))
        return ts_error_set(err, TS_EPARSE, "Field '%s' must be an array of names",
                            tsd_uid_kind_name(a->kind));
    a->names = ts_arena_alloc(arena, (json_array_size(list) + 1) * sizeof(*a->names));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_string(v))
            return ts_error_set(err, TS_EPARSE, "Field '%s' must be an array of names",
                                tsd_uid_kind_name(a->kind));
        size_t n = json_string_length(v);
        a->names[a->n++] = (struct ts_slice){ts_arena_strndup(arena, json_string_value(v), n), n};
    }
    return 0;
}

/* The same from a parameter with commas. */
static void assign_from_param(struct assign *a, struct ts_arena *arena)
{
    struct ts_slice list;
    if (!tsd_meta_req_param(a->ask, tsd_uid_kind_name(a->kind), &list) || list.n == 0)
        return;
    a->names = ts_arena_alloc(arena, (list.n + 1) * sizeof(*a->names));
    while (list.n) {
        struct ts_slice part = ts_slice_cut(&list, ',');
        if (part.n)
            a->names[a->n++] = part;
    }
}

static int assign_names(struct tsd_meta_req *ask, struct assign *a, struct ts_error *err)
{
    struct ts_arena *arena = ask->arena;
    json_t *root = NULL;
    int rc = 0;
    bool any = false;
    if (ask->method == TSD_POST)
        TS_TRY(tsd_meta_req_body(ask, &root, err));
    for (int kind = 0; kind < STO_UID_KINDS && rc == 0; kind++) {
        a[kind] = (struct assign){.ask = ask, .kind = (enum sto_uid_kind)kind};
        if (root)
            rc = assign_from_json(&a[kind], root, arena, err);
        else
            assign_from_param(&a[kind], arena);
        any = any || a[kind].names;
    }
    json_decref(root);
    if (rc == 0 && !any)
        return ts_error_set(err, TS_EINVAL, "Missing values to assign UIDs");
    return rc;
}

/* Do one thing with each name of a request. */
static int names_run(struct tsd_meta_req *ask,
                     int (*one)(const struct assign *a, struct ts_slice name, struct ts_buf *id,
                                struct ts_error *err),
                     struct ts_error *err)
{
    struct assign kinds[STO_UID_KINDS];
    struct ts_json j;
    bool clean = true;
    TS_TRY(assign_names(ask, kinds, err));
    tsd_meta_req_json(ask, "", &j);
    ts_json_obj(&j);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        kinds[kind].one = one;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        if (kinds[kind].names)
            TS_TRY(assign_kind(&kinds[kind], &j, &clean, err));
    ts_json_obj_end(&j);
    if (!clean)
        ask->status = 400;
    TS_TRY(sto_catalog_sync(sto_store_catalog(ask->store), true, err));
    return tsd_meta_req_write(ask, err);
}

int tsd_handle_uid_assign(struct tsd_meta_req *ask, struct ts_error *err)
{
    return names_run(ask, assign_one, err);
}

int tsd_handle_uid_delete(struct tsd_meta_req *ask, struct ts_error *err)
{
    return names_run(ask, delete_one, err);
}

/* --- rename --- */

static int rename_words(struct tsd_meta_req *ask, enum sto_uid_kind *kind, struct ts_slice *from,
                        struct ts_slice *to, struct ts_error *err)
{
    json_t *root = NULL;
    bool found = false;
    if (ask->method == TSD_POST)
        TS_TRY(tsd_meta_req_body(ask, &root, err));
    *from = *to = (struct ts_slice){"", 0};
    const char *names[] = {tsd_uid_kind_name(STO_UID_METRIC), tsd_uid_kind_name(STO_UID_TAGK),
                           tsd_uid_kind_name(STO_UID_TAGV), "name"};
    for (int i = 0; i <= STO_UID_KINDS; i++) {
        struct ts_slice text;
        const json_t *v = json_object_get(root, names[i]);
        if (json_is_string(v))
            text =
                (struct ts_slice){ts_arena_strndup(ask->arena, json_string_value(v), json_string_length(v)),
                                  json_string_length(v)};
        else if (root || !tsd_meta_req_param(ask, names[i], &text))
            continue;
        if (i == STO_UID_KINDS) {
            *to = text;
        } else if (!found && text.n) {
            found = true;
            *kind = (enum sto_uid_kind)i;
            *from = text;
        }
    }
    json_decref(root);
    return found && to->n ? 0 : ts_error_set(err, TS_EINVAL, "Missing necessary values to rename UID");
}

/* Rename in the remote store first: it may have other writers, and a repeat after an error finds the new name here or there. A name without
 * an id there is renamed here alone. A new name that is in use here, perhaps of points that were not shipped yet, changes nothing there. */
static int rename_remote(struct tsd_meta_req *ask, enum sto_uid_kind kind, struct ts_slice from,
                         struct ts_slice to, bool *out_there, struct ts_error *err)
{
    struct qry_view *view = &ask->view;
    uint32_t id;
    if (!qry_ids_remote(view))
        return 0;
    if (sto_uid_find(sto_store_catalog(ask->store), kind, to, &id) == 0)
        return TS_EEXIST;
    struct sto_remote_call call = qry_view_call(view);
    int rc = view->remote->ops->rename(view->remote, (enum sto_remote_kind)kind, from, to, &call, err);
    *out_there = rc == 0;
    return rc == TS_ENOTFOUND ? 0 : rc;
}

/* Why a rename was refused, in OpenTSDB's words where it has them. */
static int rename_do(struct tsd_meta_req *ask, enum sto_uid_kind kind, struct ts_slice from,
                     struct ts_slice to, struct ts_buf *why)
{
    struct ts_slice bad;
    struct ts_error err = {0};
    if (!tsd_name_ok(ask->rules, kind, to, &bad)) {
        tsd_name_why(ask->rules, kind, ts_slice_str(tsd_uid_kind_name(kind)), to, bad, why);
        return TS_EINVAL;
    }
    bool there = false;
    int rc = rename_remote(ask, kind, from, to, &there, &err);
    if (rc == 0)
        rc = kind == STO_UID_METRIC ? qry_metric_rename(ask->store, from, to, &err)
                                    : qry_tag_rename(ask->store, kind, from, to, &err);
    if (rc == TS_ENOTFOUND && there)
        rc = 0; /* the catalog does not have it, which is right */
    if (rc == TS_ENOTFOUND)
        ts_buf_printf(why, "Name(\"%.*s\") does not exist", (int)from.n, from.p);
    else if (rc == TS_EEXIST)
        ts_buf_printf(why, "Name(\"%.*s\") already exists", (int)to.n, to.p);
    else if (rc < 0)
        ts_buf_str(why, err.text);
    return rc;
}

int tsd_handle_uid_rename(struct tsd_meta_req *ask, struct ts_error *err)
{
    enum sto_uid_kind kind = STO_UID_METRIC;
    struct ts_slice from, to;
    struct ts_buf why;
    struct ts_json j;
    TS_TRY(rename_words(ask, &kind, &from, &to, err));
    ts_buf_init(&why, 0);
    tsd_meta_req_json(ask, "", &j);
    int rc = rename_do(ask, kind, from, to, &why);
    bool done = rc == 0;
    if (assign_failed(rc)) {
        rc = ts_error_set(err, rc, "%.*s", (int)why.n, why.n ? why.p : "");
        ts_buf_release(&why);
        return rc;
    }
    ts_json_obj(&j);
    ts_json_member_str(&j, "result", done ? "true" : "false");
    if (!done) {
        ts_json_member_slice(&j, "error", ts_buf_get(&why));
        ask->status = 400;
    }
    ts_json_obj_end(&j);
    ts_buf_release(&why);
    return tsd_meta_req_write(ask, err);
}
