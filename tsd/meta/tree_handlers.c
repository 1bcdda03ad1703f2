/*
 * tree_handlers.c - /api/tree and /api/tree/branch: definitions of trees, and their branches.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, section 2.15
 */
#include "tsd/meta/tree_handlers.h"

#include "tsd/meta/search_lookup.h"

#define ROOT_NAME "ROOT"

/* --- requests --- */

static int tree_id_text(struct ts_slice text, int64_t *out, struct ts_error *err)
{
    if (ts_num_parse_int(text, out, NULL) == 0 && *out >= 0 && *out <= TSD_TREE_ID_MAX)
        return 0;
    return ts_error_set(err, TS_EINVAL, "Invalid tree ID: %.*s (1 to %d)", (int)ts_utf8_cut(text, 30).n,
                        text.p, TSD_TREE_ID_MAX);
}

int tsd_tree_id_of(const json_t *obj, uint16_t *out, struct ts_error *err)
{
    const json_t *v = json_object_get(obj, "treeId");
    char number[TS_NUM_TEXT_BYTES];
    struct ts_slice text = {number, 0};
    int64_t id;
    if (!v || json_is_null(v))
        return 0;
    if (json_is_integer(v))
        text.n = ts_num_print_int(json_integer_value(v), number);
    else if (json_is_string(v))
        text = (struct ts_slice){json_string_value(v), json_string_length(v)};
    else
        return ts_error_set(err, TS_EINVAL, "Field 'treeId' must be a whole number");
    TS_TRY(tree_id_text(text, &id, err));
    if (id)
        *out = (uint16_t)id;
    return 0;
}

static int tree_request_read(struct tsd_meta_req *a, unsigned methods, struct tsd_tree_request *out,
                             struct ts_error *err)
{
    struct ts_slice text;
    int64_t id = 0;
    if (!(a->method & methods))
        return ts_error_set(err, TS_EINVAL, "Unsupported HTTP request method");
    if (a->method != TSD_GET && a->body.n)
        TS_TRY(tsd_meta_req_body(a, &out->root, err));
    if (tsd_meta_req_param(a, "treeid", &text))
        TS_TRY(tree_id_text(text, &id, err));
    out->id = (uint16_t)id;
    if (json_is_object(out->root))
        TS_TRY(tsd_tree_id_of(out->root, &out->id, err));
    out->has_id = out->id != 0;
    return 0;
}

int tsd_tree_request_run(struct tsd_meta_req *a, unsigned methods,
                         int (*answer)(struct tsd_meta_req *a, struct tsd_tree_request *r,
                                       struct ts_error *err),
                         struct ts_error *err)
{
    struct tsd_tree_request r = {0};
    int rc = tree_request_read(a, methods, &r, err);
    if (rc == 0)
        rc = answer(a, &r, err);
    json_decref(r.root);
    return rc;
}

/* A 404 about a tree, if rc says that it is not there; else rc. */
static int tree_gone(struct tsd_meta_req *a, uint16_t id, int rc, struct ts_error *err)
{
    char text[48];
    if (rc != TS_ENOTFOUND)
        return rc;
    (void)snprintf(text, sizeof(text), "Unable to locate tree: %u", (unsigned)id);
    return tsd_meta_req_not_found(a, text, err);
}

int tsd_tree_request_load(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    if (!r->has_id)
        return ts_error_set(err, TS_EINVAL, "Missing tree ID");
    return tree_gone(a, r->id, tsd_tree_load(a->store, r->id, a->arena, &r->tree, err), err);
}

/* --- definitions --- */

static int tree_write(struct tsd_meta_req *a, const struct tsd_tree *t, const char *before,
                      struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(a, before, &j);
    tsd_tree_json(t, &j);
    return tsd_meta_req_write(a, err);
}

static int tree_list(struct tsd_meta_req *a, struct ts_error *err)
{
    uint16_t *ids;
    size_t n = tsd_tree_ids(a->store, a->arena, &ids), n_shown = 0;
    TS_TRY(ts_sink_str(a->sink, "[", err));
    for (size_t i = 0; i < n; i++) {
        struct ts_arena arena;
        struct tsd_tree t;
        ts_arena_init(&arena, 0);
        int rc = tsd_tree_load(a->store, ids[i], &arena, &t, err);
        if (rc == 0)
            rc = tree_write(a, &t, n_shown++ ? "," : "", err);
        ts_arena_release(&arena);
        if (rc < 0 && rc != TS_ENOTFOUND) /* somebody has just deleted it */
            return rc;
    }
    return ts_sink_str(a->sink, "]", err);
}

/* A change of a definition. */
struct tree_edit {
    const struct tsd_record *given; /* fields */
    bool replace;                   /* the others go back to their defaults */
};

static int tree_edit(void *arg, struct tsd_tree *t, struct ts_arena *arena, struct ts_error *err)
{
    const struct tree_edit *e = arg;
    (void)arena;
    tsd_record_merge(&t->def, e->given, e->replace);
    return t->def.v[TSD_TREE_NAME].text.n ? 0 : ts_error_set(err, TS_EINVAL, "Missing tree name");
}

static int tree_store(struct tsd_meta_req *a, const struct tsd_tree_request *r, struct tsd_tree *out,
                      struct ts_error *err)
{
    struct tsd_record given;
    struct tree_edit edit = {&given, a->method == TSD_PUT};
    bool changed;
    tsd_record_init(&given, tsd_tree_fields);
    if (r->root) {
        TS_TRY(tsd_meta_req_known(a, r->root, tsd_tree_fields, "treeId rules", err));
        TS_TRY(tsd_record_from_json(&given, r->root, a->arena, err));
    } else {
        TS_TRY(tsd_record_from_params(&given, a->params, a->n_params, a->arena, err));
    }
    if (!r->has_id)
        return tsd_tree_create(a->store, &given, a->arena, out, err);
    TS_TRY(tree_gone(a, r->id,
                     tsd_tree_change(a->store, r->id, a->arena, tree_edit, &edit, out, &changed, err), err));
    if (!changed)
        a->status = 304;
    return 0;
}

/* With definition=true everything goes; else nothing has to: branches follow from the rules. */
static int tree_delete(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    struct ts_slice definition;
    const json_t *v = json_object_get(r->root, "definition");
    bool all = tsd_meta_req_param(a, "definition", &definition) && ts_slice_is(definition, "true");
    all = all || json_is_true(v) || (json_is_string(v) && strcmp(json_string_value(v), "true") == 0);
    TS_TRY(tsd_tree_request_load(a, r, err));
    a->status = 204;
    return all ? tree_gone(a, r->id, tsd_tree_delete(a->store, r->id, err), err) : 0;
}

static int tree_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    if (a->method == TSD_DELETE)
        return tree_delete(a, r, err);
    if (a->method == TSD_GET && !r->has_id)
        return tree_list(a, err);
    TS_TRY(a->method == TSD_GET ? tsd_tree_request_load(a, r, err) : tree_store(a, r, &r->tree, err));
    return tree_write(a, &r->tree, "", err);
}

int tsd_handle_tree(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TSD_GET | TSD_POST | TSD_PUT | TSD_DELETE, tree_do, err);
}

/* --- branches --- */

void tsd_tree_branch_members(uint16_t tree, const struct ts_slice *names, const uint32_t *hashes,
                             size_t depth, const struct tsd_tree_child *last, struct ts_json *j)
{
    struct ts_buf id;
    struct ts_slice name = depth ? names[depth - 1] : TS_SLICE_LIT(ROOT_NAME);
    char key[24];
    ts_buf_init(&id, 0);
    tsd_tree_branch_hex(tree, hashes, depth, &id);
    if (last)
        ts_buf_printf(&id, "%08X", last->hash);
    ts_json_member_int(j, "treeId", tree);
    ts_json_member_slice(j, "branchId", ts_buf_get(&id));
    ts_json_member_int(j, "depth", (int64_t)depth + (last ? 1 : 0));
    ts_json_member_slice(j, "displayName", last ? last->name : name);
    ts_json_member_obj(j, "path");
    ts_json_member_str(j, "0", ROOT_NAME);
    for (size_t i = 1; i <= depth + (last ? 1 : 0); i++) {
        (void)snprintf(key, sizeof(key), "%zu", i);
        ts_json_member_slice(j, key, i <= depth ? names[i - 1] : last->name);
    }
    ts_json_obj_end(j);
    ts_buf_release(&id);
}

int tsd_tree_leaf_json(struct qry_view *view, const struct sto_series *s, struct ts_slice name,
                       struct ts_json *j, struct ts_error *err)
{
    ts_json_obj(j);
    int rc = tsd_lookup_members(view, s, j, err);
    ts_json_member_slice(j, "displayName", name);
    ts_json_obj_end(j);
    return rc;
}

/* Write children [from, to) as an array, null if there are none. */
static int branch_children(struct tsd_meta_req *a, const struct tsd_tree_branch *b, size_t from, size_t to,
                           struct ts_error *err)
{
    int rc = ts_sink_str(a->sink, from < to ? "[" : "null", err);
    for (size_t i = from; i < to && rc == 0; i++) {
        const struct tsd_tree_child *c = &b->children[i];
        struct ts_json j;
        tsd_meta_req_json(a, i > from ? "," : "", &j);
        if (c->leaf) {
            rc = tsd_tree_leaf_json(&a->view, c->leaf, c->name, &j, err);
        } else {
            ts_json_obj(&j);
            tsd_tree_branch_members(b->id.tree, b->names, b->id.hashes, b->id.depth, c, &j);
            ts_json_member_null(&j, "branches");
            ts_json_member_null(&j, "leaves");
            ts_json_obj_end(&j);
        }
        rc = rc < 0 ? rc : tsd_meta_req_write(a, err);
    }
    return rc < 0 || from == to ? rc : ts_sink_str(a->sink, "]", err);
}

static int branch_write(struct tsd_meta_req *a, const struct tsd_tree_branch *b, struct ts_error *err)
{
    struct ts_json j;
    tsd_meta_req_json(a, "", &j);
    ts_json_obj(&j);
    tsd_tree_branch_members(b->id.tree, b->names, b->id.hashes, b->id.depth, NULL, &j);
    ts_buf_str(&a->text, ",\"branches\":");
    TS_TRY(tsd_meta_req_write(a, err));
    TS_TRY(branch_children(a, b, 0, b->n_branches, err));
    TS_TRY(ts_sink_str(a->sink, ",\"leaves\":", err));
    TS_TRY(branch_children(a, b, b->n_branches, b->n, err));
    return ts_sink_str(a->sink, "}", err);
}

static int branch_gone(struct tsd_meta_req *a, const struct tsd_tree_branch_id *id, struct ts_error *err)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "Unable to locate branch '");
    tsd_tree_branch_hex(id->tree, id->hashes, id->depth < 20 ? id->depth : 20, &text);
    ts_buf_printf(&text, "' for tree '%u'", (unsigned)id->tree);
    ts_buf_char(&text, '\0');
    int rc = tsd_meta_req_not_found(a, text.p, err);
    ts_buf_release(&text);
    return rc;
}

static int branch_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    struct tsd_tree_branch_id id = {.tree = r->id};
    struct tsd_tree_branch b;
    struct ts_slice hex;
    if (tsd_meta_req_param(a, "branch", &hex)) {
        TS_TRY(tsd_tree_branch_parse(hex, a->arena, &id, err));
        r->id = id.tree;
        r->has_id = true;
    }
    if (!r->has_id)
        return ts_error_set(err, TS_EINVAL, "Missing branch or tree ID");
    TS_TRY(tsd_tree_request_load(a, r, err));
    if (!r->tree.def.v[TSD_TREE_ENABLED].i) {
        (void)ts_error_set(err, TS_ENOTFOUND, "Tree %u is not enabled", (unsigned)r->id);
        return branch_gone(a, &id, err);
    }
    int rc = tsd_tree_branch_find(a->store, &r->tree, &id, a->limit, &b, err);
    if (rc == 0)
        rc = branch_write(a, &b, err);
    else if (rc == TS_ENOTFOUND)
        rc = branch_gone(a, &id, err);
    tsd_tree_branch_release(&b);
    return rc;
}

int tsd_handle_tree_branch(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TSD_GET, branch_do, err);
}
