/*
 * request.c - the table of requests about annotations and metadata.
 *
 * Threads    see request.h
 */
#include "tsd/meta/request.h"

static const struct {
    const char *path; /* a star at the end: everything below */
    int (*run)(struct tsd_meta_req *a, struct ts_error *err);
} asks[] = {
    {"api/annotation", tsd_handle_annotation},
    {"api/annotation/bulk", tsd_handle_annotation_bulk},
    {"api/annotations", tsd_handle_annotations},
    {"api/find/*", tsd_meta_req_find},
    {"api/metric", tsd_handle_metric},
    {"api/retention", tsd_handle_retention},
    {"api/search/*", tsd_handle_search},
    {"api/total", tsd_handle_total},
    {"api/versions", tsd_handle_versions},
    {"api/tree", tsd_handle_tree},
    {"api/tree/branch", tsd_handle_tree_branch},
    {"api/tree/collisions", tsd_handle_tree_collisions},
    {"api/tree/notmatched", tsd_handle_tree_notmatched},
    {"api/tree/rule", tsd_handle_tree_rule},
    {"api/tree/rules", tsd_handle_tree_rules},
    {"api/tree/test", tsd_handle_tree_test},
    {"api/uid/assign", tsd_handle_uid_assign},
    {"api/uid/delete", tsd_handle_uid_delete},
    {"api/uid/fsck", tsd_handle_uid_fsck},
    {"api/uid/rename", tsd_handle_uid_rename},
    {"api/uid/tsmeta", tsd_handle_tsmeta},
    {"api/uid/uidmeta", tsd_handle_uidmeta},
    {"api/uid/*", tsd_handle_uid_other},
};

int tsd_meta_req_run(struct tsd_meta_req *a, struct ts_error *err)
{
    a->status = 200;
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        size_t n = strlen(asks[i].path);
        bool below = asks[i].path[n - 1] == '*' && a->path.n >= n && !memcmp(a->path.p, asks[i].path, n - 1);
        if (!below && !ts_slice_is(a->path, asks[i].path))
            continue;
        if (a->limit && asks[i].run != tsd_handle_search && asks[i].run != tsd_meta_req_find)
            a->limit->allow_partial = false; /* these change something, or answer for one thing */
        ts_buf_init(&a->text, 0);
        qry_view_open(&a->view, a->store, a->limit);
        int rc = asks[i].run(a, err);
        qry_view_close(&a->view);
        ts_buf_release(&a->text);
        if (rc == 0 && a->begins)
            a->begins(a->arg, a->status); /* nothing was written: 204, 304 */
        if (rc == TS_EBACKEND && !a->error_status)
            a->error_status = 503; /* a remote store has what is requested, and does not answer */
        return rc < 0 ? rc : 0;
    }
    a->error_status = 404;
    return ts_error_set(err, TS_ENOTFOUND, "Endpoint not found");
}

bool tsd_meta_req_param(const struct tsd_meta_req *a, const char *name, struct ts_slice *out)
{
    *out = (struct ts_slice){"", 0};
    for (size_t i = a->n_params; i-- > 0;) {
        if (ts_slice_is(a->params[i].name, name)) {
            *out = a->params[i].value;
            return true;
        }
    }
    return false;
}

int tsd_meta_req_body(const struct tsd_meta_req *a, json_t **out, struct ts_error *err)
{
    *out = NULL;
    if (a->body.n == 0)
        return ts_error_set(err, TS_EPARSE, "Missing message content");
    return ts_json_load(a->body, out, err);
}

int tsd_meta_req_name(const struct tsd_meta_req *a, enum sto_uid_kind kind, struct ts_slice name,
                      struct ts_error *err)
{
    static const char *const nouns[] = {
        [STO_UID_METRIC] = "metric name", [STO_UID_TAGK] = "tag name", [STO_UID_TAGV] = "tag value"};
    struct ts_slice bad;
    struct ts_buf why;
    if (tsd_name_ok(a->rules, kind, name, &bad))
        return 0;
    ts_buf_init(&why, 0);
    tsd_name_why(a->rules, kind, ts_slice_str(nouns[kind]), name, bad, &why);
    struct ts_slice text = ts_utf8_cut(ts_buf_get(&why), 200);
    (void)ts_error_set(err, TS_EINVAL, "%.*s", (int)text.n, text.p);
    ts_buf_release(&why);
    return TS_EINVAL;
}

int tsd_meta_req_known(const struct tsd_meta_req *a, const json_t *obj, const struct tsd_field *fields,
                       const char *others, struct ts_error *err)
{
    struct ts_json_unknown unknown = {.n = 0};
    struct ts_buf known;
    if (a->rules->compat)
        return 0;
    ts_buf_init(&known, 0);
    ts_buf_str(&known, others);
    for (; fields && fields->name; fields++)
        ts_buf_printf(&known, " %s", fields->name);
    ts_buf_char(&known, 0);
    int rc = known.failed ? ts_error_set(err, TS_ENOMEM, "no memory for reading the request")
                          : ts_json_known(obj, known.p, &unknown, err);
    ts_buf_release(&known);
    return rc;
}

struct ts_slice tsd_meta_req_text(const struct tsd_meta_req *a, const json_t *v)
{
    if (!json_is_string(v))
        return (struct ts_slice){"", 0};
    size_t n = json_string_length(v);
    return (struct ts_slice){ts_arena_strndup(a->arena, json_string_value(v), n), n};
}

int tsd_meta_req_not_found(struct tsd_meta_req *a, const char *message, struct ts_error *err)
{
    a->error_status = 404;
    (void)snprintf(a->details, sizeof(a->details), "%s", err->text);
    return ts_error_set(err, TS_ENOTFOUND, "%s", message);
}

void tsd_meta_req_json(struct tsd_meta_req *a, const char *before, struct ts_json *j)
{
    ts_buf_clear(&a->text);
    ts_buf_str(&a->text, before);
    ts_json_init(j, &a->text);
}

int tsd_meta_req_write(struct tsd_meta_req *a, struct ts_error *err)
{
    if (a->text.failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for the answer");
    if (a->begins)
        a->begins(a->arg, a->status);
    return ts_sink_write(a->sink, ts_buf_get(&a->text), err);
}
