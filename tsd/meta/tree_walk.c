/*
 * tree_walk.c - passes over the catalog.
 *
 * Threads    see tree_walk.h
 */
#include "tsd/meta/tree_walk.h"

#include "base/hash.h"
#include "base/map64.h"
#include "base/num.h"
#include "base/time.h"

#include <stdlib.h>

#define WALK_CHECK      256 /* series between two checks of the limit */
#define BRANCH_TREE_HEX 4   /* digits of the tree in an id */
#define BRANCH_PART_HEX 8   /* digits of a name */

/* --- the pass --- */

/* Gets each series and its path; < 0 ends. */
typedef int (*walk_fn)(void *arg, const struct sto_series *s, const struct tsd_tree_path *p,
                       struct ts_error *err);

int tsd_tree_walk_check(struct qry_limit *limit, struct ts_error *err)
{
    if (limit && atomic_load_explicit(&limit->cancelled, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the client went away");
    if (limit && qry_limit_late(limit))
        return ts_error_set(err, TS_ETIMEOUT, "Walking over all series took longer than query_timeout_ms");
    return 0;
}

static int walk(struct sto_store *st, struct tsd_tree_plan *plan, struct qry_limit *limit, walk_fn each,
                void *arg, struct ts_error *err)
{
    const struct sto_catalog *cat = sto_store_catalog(st);
    struct tsd_tree_path path;
    int rc = 0;
    tsd_tree_path_init(&path);
    for (uint32_t id = 0, n = sto_series_count(cat); id < n && rc == 0; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (id % WALK_CHECK == 0)
            rc = tsd_tree_walk_check(limit, err);
        if (rc < 0 || !s || sto_name_internal(sto_uid_name(cat, STO_UID_METRIC, s->metric)))
            continue;
        rc = tsd_tree_plan_run(plan, s, &path, err);
        if (rc == 0)
            rc = each(arg, s, &path, err);
    }
    tsd_tree_path_release(&path);
    return rc;
}

static int walk_full(struct qry_limit *limit, struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "The answer takes more memory than query_max_bytes = %llu",
                        (unsigned long long)(limit ? limit->max_bytes : 0));
}

static int walk_refused(int rc, struct qry_limit *limit, struct ts_error *err)
{
    return rc == TS_ELIMIT ? walk_full(limit, err) : ts_error_set(err, rc, "no memory for the answer");
}

/* --- ids --- */

int tsd_tree_branch_parse(struct ts_slice hex, struct ts_arena *arena, struct tsd_tree_branch_id *out,
                          struct ts_error *err)
{
    uint32_t tree = 0;
    bool ok = hex.n >= BRANCH_TREE_HEX && (hex.n - BRANCH_TREE_HEX) % BRANCH_PART_HEX == 0 &&
              ts_num_parse_hex((struct ts_slice){hex.p, BRANCH_TREE_HEX}, &tree) && tree;
    size_t depth = ok ? (hex.n - BRANCH_TREE_HEX) / BRANCH_PART_HEX : 0;
    uint32_t *hashes = ts_arena_alloc(arena, (depth + 1) * sizeof(*hashes));
    for (size_t i = 0; i < depth && ok; i++) {
        size_t at = BRANCH_TREE_HEX + i * BRANCH_PART_HEX;
        ok = ts_num_parse_hex((struct ts_slice){hex.p + at, BRANCH_PART_HEX}, &hashes[i]);
    }
    *out = (struct tsd_tree_branch_id){.tree = (uint16_t)tree, .hashes = hashes, .depth = depth};
    if (ok)
        return 0;
    return ts_error_set(err, TS_EINVAL, "Unable to parse branch ID: %.*s", (int)ts_utf8_cut(hex, 60).n,
                        hex.p);
}

void tsd_tree_branch_hex(uint16_t tree, const uint32_t *hashes, size_t depth, struct ts_buf *out)
{
    ts_buf_printf(out, "%04X", (unsigned)tree);
    for (size_t i = 0; i < depth; i++)
        ts_buf_printf(out, "%08X", hashes[i]);
}

/* --- a branch --- */

/* A search for a branch. */
struct branch_search {
    struct tsd_tree_branch *b; /* being filled */
    struct qry_limit *limit;   /* may be NULL */
    struct ts_map64 seen;      /* of kind and hash */
    bool found;                /* something is below it */
};

static int branch_add(struct branch_search *w, struct ts_slice name, uint32_t hash,
                      const struct sto_series *leaf, struct ts_error *err)
{
    struct tsd_tree_branch *b = w->b;
    uint64_t key = (uint64_t)(leaf != NULL) << 32 | hash;
    uint32_t at;
    if (ts_map64_get(&w->seen, key, &at))
        return 0;
    int rc = ts_map64_add(&w->seen, key, (uint32_t)b->n);
    if (rc < 0)
        return walk_refused(rc, w->limit, err);
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        void *more = ts_try_realloc(b->children, cap * sizeof(*b->children));
        if (!more)
            return ts_error_set(err, TS_ENOMEM, "no memory for the answer");
        b->children = more;
        b->cap = cap;
    }
    struct ts_slice copy = {ts_arena_strndup(&b->arena, name.p, name.n), name.n};
    b->children[b->n++] = (struct tsd_tree_child){copy, hash, leaf};
    b->n_branches += !leaf;
    uint64_t used = b->arena.used_bytes + w->seen.used_bytes + b->cap * sizeof(*b->children);
    return w->limit && w->limit->max_bytes && used > w->limit->max_bytes ? walk_full(w->limit, err) : 0;
}

static int branch_each(void *arg, const struct sto_series *s, const struct tsd_tree_path *p,
                       struct ts_error *err)
{
    struct branch_search *w = arg;
    struct tsd_tree_branch *b = w->b;
    size_t depth = b->id.depth;
    if (p->n <= depth)
        return 0;
    for (size_t i = depth; i-- > 0;) /* names differ at the end rather than at the beginning */
        if (p->parts[i].hash != b->id.hashes[i])
            return 0;
    for (size_t i = 0; i < depth && !w->found; i++) {
        struct ts_slice name = tsd_tree_path_name(p, i);
        b->names[i] = (struct ts_slice){ts_arena_strndup(&b->arena, name.p, name.n), name.n};
    }
    w->found = true;
    return branch_add(w, tsd_tree_path_name(p, depth), p->parts[depth].hash, p->n == depth + 1 ? s : NULL,
                      err);
}

static int branch_cmp(const void *a, const void *b)
{
    const struct tsd_tree_child *x = a, *y = b;
    if (!x->leaf != !y->leaf)
        return x->leaf ? 1 : -1;
    return ts_slice_cmp(x->name, y->name);
}

void tsd_tree_branch_release(struct tsd_tree_branch *b)
{
    ts_free(b->children);
    ts_arena_release(&b->arena);
    *b = (struct tsd_tree_branch){0};
}

int tsd_tree_branch_find(struct sto_store *st, const struct tsd_tree *t, const struct tsd_tree_branch_id *id,
                         struct qry_limit *limit, struct tsd_tree_branch *out, struct ts_error *err)
{
    struct branch_search w = {.b = out, .limit = limit};
    struct tsd_tree_plan *plan;
    *out = (struct tsd_tree_branch){.id = *id};
    ts_arena_init(&out->arena, 0);
    out->names = ts_arena_zalloc(&out->arena, (id->depth + 1) * sizeof(*out->names));
    TS_TRY(tsd_tree_plan_new(st, t, &plan, err));
    ts_map64_init(&w.seen, limit ? limit->max_bytes : 0);
    int rc = walk(st, plan, limit, branch_each, &w, err);
    ts_map64_release(&w.seen);
    tsd_tree_plan_free(plan);
    if (rc == 0 && !w.found && id->depth)
        rc = ts_error_set(err, TS_ENOTFOUND, "No series is below it");
    if (rc == 0 && out->n)
        qsort(out->children, out->n, sizeof(*out->children), branch_cmp);
    return rc;
}

/* --- failures --- */

/* A search for collisions. */
struct collisions {
    struct sto_store *store;    /* where */
    struct tsd_tree_plan *plan; /* of the tree */
    struct qry_limit *limit;    /* may be NULL */
    struct ts_map64 places;     /* hash of a path > number of the first series there */
    struct tsd_tree_path other; /* scratch: the path of that series */
    tsd_tree_failure_fn each;   /* gets what is found */
    void *arg;                  /* for each */
};

static bool same_place(const struct tsd_tree_path *a, const struct tsd_tree_path *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->parts[i].hash != b->parts[i].hash)
            return false;
    return true;
}

static int collision_each(void *arg, const struct sto_series *s, const struct tsd_tree_path *p,
                          struct ts_error *err)
{
    struct collisions *w = arg;
    uint64_t key = p->n;
    uint32_t id;
    if (p->n == 0)
        return 0;
    for (size_t i = 0; i < p->n; i++)
        key = ts_hash_u64(key ^ p->parts[i].hash);
    for (; ts_map64_get(&w->places, key, &id); key++) {
        const struct sto_series *first = sto_series_get(sto_store_catalog(w->store), id);
        if (!first) /* forgotten meanwhile */
            continue;
        TS_TRY(tsd_tree_plan_run(w->plan, first, &w->other, err));
        if (same_place(p, &w->other))
            return w->each(w->arg, s, first, (struct ts_slice){"", 0}, err);
    }
    int rc = ts_map64_add(&w->places, key, s->id);
    return rc < 0 ? walk_refused(rc, w->limit, err) : 0;
}

int tsd_tree_collisions(struct sto_store *st, const struct tsd_tree *t, struct qry_limit *limit,
                        tsd_tree_failure_fn each, void *arg, struct ts_error *err)
{
    struct collisions w = {.store = st, .limit = limit, .each = each, .arg = arg};
    TS_TRY(tsd_tree_plan_new(st, t, &w.plan, err));
    ts_map64_init(&w.places, limit ? limit->max_bytes : 0);
    tsd_tree_path_init(&w.other);
    int rc = walk(st, w.plan, limit, collision_each, &w, err);
    tsd_tree_path_release(&w.other);
    ts_map64_release(&w.places);
    tsd_tree_plan_free(w.plan);
    return rc;
}

/* A search for what did not match. */
struct not_matched {
    tsd_tree_failure_fn each; /* gets what is found */
    void *arg;                /* for each */
};

static int not_matched_each(void *arg, const struct sto_series *s, const struct tsd_tree_path *p,
                            struct ts_error *err)
{
    const struct not_matched *w = arg;
    return p->n ? 0 : w->each(w->arg, s, NULL, ts_buf_get(&p->why), err);
}

int tsd_tree_not_matched(struct sto_store *st, const struct tsd_tree *t, struct qry_limit *limit,
                         tsd_tree_failure_fn each, void *arg, struct ts_error *err)
{
    struct not_matched w = {each, arg};
    struct tsd_tree_plan *plan;
    TS_TRY(tsd_tree_plan_new(st, t, &plan, err));
    int rc = walk(st, plan, limit, not_matched_each, &w, err);
    tsd_tree_plan_free(plan);
    return rc;
}
