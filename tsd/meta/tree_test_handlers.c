/*
 * tree_test_handlers.c - /api/tree/test, /api/tree/collisions, /api/tree/notmatched: what the rules of a tree make of some
 * series, and which are not in it.
 *
 * Threads    see request.h
 * Source     docs/OPENTSDB.md, section 2.15
 */
#include "tsd/meta/tree_handlers.h"

#include "base/cut.h"
#include "query/execution/select.h"
#include "tsd/meta/tsmeta.h"

#include <stdlib.h>

/* A list of TSUIDs as given: slices of parameters, or of the body. */
struct tsuids {
    struct ts_slice *all; /* memory of the arena */
    size_t n;             /* how many */
};

static void tsuids_split(struct tsd_meta_req *a, struct ts_slice list, struct tsuids *out)
{
    out->all = ts_arena_alloc(a->arena, (list.n + 1) * sizeof(*out->all));
    while (list.n) {
        struct ts_slice part = ts_slice_cut(&list, ',');
        if (part.n)
            out->all[out->n++] = part;
    }
}

/* An array of texts, or a text with commas, of the body; else the parameter. */
static int tsuids_given(struct tsd_meta_req *a, const json_t *root, struct tsuids *out, struct ts_error *err)
{
    const json_t *list = json_object_get(root, "tsuids");
    struct ts_slice text;
    *out = (struct tsuids){0};
    if (root && !json_is_object(root))
        return ts_error_set(err, TS_EPARSE, "Expected a JSON object");
    if (!root)
        (void)tsd_meta_req_param(a, "tsuids", &text);
    else
        text = tsd_meta_req_text(a, list);
    tsuids_split(a, text, out);
    if (!list || json_is_string(list) || json_is_null(list))
        return 0;
    out->all = ts_arena_alloc(a->arena, (json_array_size(list) + 1) * sizeof(*out->all));
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_string(json_array_get(list, i)))
            return ts_error_set(err, TS_EINVAL, "Field 'tsuids' must be an array of texts");
        out->all[out->n++] = tsd_meta_req_text(a, json_array_get(list, i));
    }
    return json_is_array(list) ? 0 : ts_error_set(err, TS_EINVAL, "Field 'tsuids' must be an array of texts");
}

/* --- test --- */

/* A test at work. */
struct test {
    struct tsd_meta_req *ask;    /* the request */
    const struct tsd_tree *tree; /* tested */
    struct tsd_tree_plan *plan;  /* its rules */
    struct tsd_tree_path path;   /* of the current series */
};

/* The branch that holds the leaf. */
static int test_branch(const struct test *t, const struct sto_series *s, struct ts_arena *arena,
                       struct ts_json *j, struct ts_error *err)
{
    const struct tsd_tree_path *p = &t->path;
    size_t depth = p->n - 1;
    struct ts_slice *names = ts_arena_alloc(arena, p->n * sizeof(*names));
    uint32_t *hashes = ts_arena_alloc(arena, p->n * sizeof(*hashes));
    for (size_t i = 0; i < depth; i++) {
        names[i] = tsd_tree_path_name(p, i);
        hashes[i] = p->parts[i].hash;
    }
    ts_json_obj(j);
    tsd_tree_branch_members(t->tree->id, names, hashes, depth, NULL, j);
    ts_json_member_null(j, "branches");
    ts_json_member_arr(j, "leaves");
    int rc = tsd_tree_leaf_json(&t->ask->view, s, tsd_tree_path_name(p, depth), j, err);
    ts_json_arr_end(j);
    ts_json_obj_end(j);
    return rc;
}

/* Trees file series of the catalog. */
static int tree_series(struct tsd_meta_req *ask, struct ts_slice tsuid, const struct sto_series **out,
                       struct ts_error *err)
{
    TS_TRY(qry_ids_series(&ask->view, tsuid, out, err));
    if (!qry_series_foreign(*out))
        return 0;
    *out = NULL;
    return TS_ENOTFOUND;
}

static int test_meta(const struct test *t, const struct sto_series *s, struct ts_arena *arena,
                     struct ts_json *j, struct ts_error *err)
{
    struct tsd_tsmeta_points points;
    struct tsd_record meta;
    bool stored;
    TS_TRY(tsd_tsmeta_load(t->ask->store, s, arena, &meta, &stored, err));
    TS_TRY(tsd_tsmeta_points(t->ask->store, &t->ask->view, s, t->ask->limit, &points, err));
    return tsd_tsmeta_json(t->ask->store, &t->ask->view, s, &meta, &points, j, err);
}

static int test_one(struct test *t, const char *before, struct ts_slice tsuid, struct ts_arena *arena,
                    struct ts_error *err)
{
    const struct sto_series *s = NULL;
    struct ts_buf messages;
    struct ts_json j, jm;
    int rc = tree_series(t->ask, tsuid, &s, err);
    if (rc < 0 && rc != TS_ENOTFOUND)
        return rc;
    ts_buf_init(&messages, 0);
    ts_json_init(&jm, &messages);
    ts_json_arr(&jm);
    t->path.messages = &jm;
    rc = 0;
    if (s)
        rc = tsd_tree_plan_run(t->plan, s, &t->path, err);
    else
        ts_json_str(&jm, "Unable to locate TSUID meta data");
    if (rc == 0 && s && t->path.n == 0)
        ts_json_slice(&jm, ts_buf_get(&t->path.why));
    ts_json_arr_end(&jm);
    tsd_meta_req_json(t->ask, before, &j);
    ts_json_key_slice(&j, tsuid);
    ts_json_obj(&j);
    ts_json_key(&j, "branch");
    if (rc == 0 && s && t->path.n)
        rc = test_branch(t, s, arena, &j, err);
    else
        ts_json_null(&j);
    ts_json_key(&j, "meta");
    if (rc == 0 && s)
        rc = test_meta(t, s, arena, &j, err);
    else
        ts_json_null(&j);
    ts_json_member_raw(&j, "messages", ts_buf_get(&messages));
    ts_json_obj_end(&j);
    ts_buf_release(&messages);
    return rc;
}

static int test_all(struct test *t, const struct tsuids *ids, struct ts_error *err)
{
    TS_TRY(ts_sink_str(t->ask->sink, "{", err));
    for (size_t i = 0; i < ids->n; i++) {
        struct ts_arena arena;
        ts_arena_init(&arena, 0);
        int rc = tsd_tree_walk_check(t->ask->limit, err);
        if (rc == 0)
            rc = test_one(t, i ? "," : "", ids->all[i], &arena, err);
        if (rc == 0)
            rc = tsd_meta_req_write(t->ask, err);
        ts_arena_release(&arena);
        TS_TRY(rc);
    }
    return ts_sink_str(t->ask->sink, "}", err);
}

static int test_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    struct test t = {.ask = a, .tree = &r->tree};
    struct tsuids ids;
    TS_TRY(tsd_tree_request_load(a, r, err));
    TS_TRY(tsuids_given(a, r->root, &ids, err));
    if (ids.n == 0)
        return ts_error_set(err, TS_EINVAL, "Missing TSUIDs");
    TS_TRY(tsd_tree_plan_new(a->store, &r->tree, &t.plan, err));
    tsd_tree_path_init(&t.path);
    int rc = test_all(&t, &ids, err);
    tsd_tree_path_release(&t.path);
    tsd_tree_plan_free(t.plan);
    return rc;
}

#define TEST_METHODS (TSD_GET | TSD_POST | TSD_PUT)

int tsd_handle_tree_test(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TEST_METHODS, test_do, err);
}

/* --- failures --- */

/* A list of failures at work. */
struct failures {
    struct tsd_meta_req *ask; /* the request */
    uint32_t *wanted;         /* numbers of series, ascending */
    size_t n_wanted;          /* how many */
    bool all;                 /* none were named */
    size_t n;                 /* shown */
};

static int number_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int failures_each(void *arg, const struct sto_series *s, const struct sto_series *first,
                         struct ts_slice why, struct ts_error *err)
{
    struct failures *f = arg;
    struct ts_buf tsuid;
    struct ts_json j;
    if (!f->all && !bsearch(&s->id, f->wanted, f->n_wanted, sizeof(*f->wanted), number_cmp))
        return 0;
    ts_buf_init(&tsuid, 0);
    tsd_meta_req_json(f->ask, f->n++ ? "," : "", &j);
    int rc = qry_ids_tsuid_of(&f->ask->view, s, &tsuid, err);
    ts_json_key_slice(&j, ts_buf_get(&tsuid));
    ts_buf_clear(&tsuid);
    if (first && (rc == 0 || rc == TS_ENOTFOUND))
        rc = qry_ids_tsuid_of(&f->ask->view, first, &tsuid, err);
    ts_json_slice(&j, first ? ts_buf_get(&tsuid) : why);
    ts_buf_release(&tsuid);
    return rc < 0 && rc != TS_ENOTFOUND ? rc : tsd_meta_req_write(f->ask, err);
}

/* Numbers of the series that are named; those that are not there are left out. */
static int failures_wanted(struct failures *f, const struct tsuids *ids, struct ts_error *err)
{
    f->all = ids->n == 0;
    f->wanted = ts_arena_alloc(f->ask->arena, (ids->n + 1) * sizeof(*f->wanted));
    for (size_t i = 0; i < ids->n; i++) {
        const struct sto_series *s;
        int rc = tree_series(f->ask, ids->all[i], &s, err);
        if (rc == 0)
            f->wanted[f->n_wanted++] = s->id;
        else if (rc != TS_ENOTFOUND)
            return rc;
    }
    qsort(f->wanted, f->n_wanted, sizeof(*f->wanted), number_cmp);
    return 0;
}

/* Walks over the failures of a tree. */
typedef int (*failures_walk)(struct sto_store *st, const struct tsd_tree *t, struct qry_limit *limit,
                             tsd_tree_failure_fn each, void *arg, struct ts_error *err);

static int failures_do(struct tsd_meta_req *a, struct tsd_tree_request *r, failures_walk walk,
                       struct ts_error *err)
{
    struct failures f = {.ask = a};
    struct tsuids ids;
    TS_TRY(tsd_tree_request_load(a, r, err));
    TS_TRY(tsuids_given(a, r->root, &ids, err));
    TS_TRY(failures_wanted(&f, &ids, err));
    TS_TRY(ts_sink_str(a->sink, "{", err));
    if (r->tree.def.v[TSD_TREE_ENABLED].i && r->tree.def.v[TSD_TREE_STORE_FAILURES].i &&
        (f.all || f.n_wanted))
        TS_TRY(walk(a->store, &r->tree, a->limit, failures_each, &f, err));
    return ts_sink_str(a->sink, "}", err);
}

static int collisions_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    return failures_do(a, r, tsd_tree_collisions, err);
}

static int notmatched_do(struct tsd_meta_req *a, struct tsd_tree_request *r, struct ts_error *err)
{
    return failures_do(a, r, tsd_tree_not_matched, err);
}

int tsd_handle_tree_collisions(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TEST_METHODS, collisions_do, err);
}

int tsd_handle_tree_notmatched(struct tsd_meta_req *a, struct ts_error *err)
{
    return tsd_tree_request_run(a, TEST_METHODS, notmatched_do, err);
}
