/*
 * treesync.c - tsd uid treesync --hbase: the rules of trees over all series that have metadata in OpenTSDB's tables, whose branches and leaves are
 * stored there.
 *
 * Threads    the main thread
 * Not here   rules (tsd/meta/tree_rules.h), cells (storage/hbase/remote/branches.h)
 */
#include "base/map64.h"
#include "base/mem.h"
#include "storage/hbase/remote/branches.h"
#include "storage/remote_cell.h"
#include "tsd/commands/hbase.h"
#include "tsd/commands/progress.h"
#include "tsd/meta/tree_rules.h"

#include <inttypes.h>

#define BATCH      1000               /* names that are looked up together */
#define NAMES_MAX  (1u << 20)         /* that are remembered; before the next page they are forgotten */
#define NAMES_SIZE ((size_t)64 << 20) /* the same, bytes */
#define PATHS_SIZE ((size_t)16 << 20) /* of paths that are stored together */
#define N_KINDS    (STO_REMOTE_TAGV + 1)

/* A name of HBase. */
struct name {
    struct ts_slice text; /* p NULL: the id has none */
    json_t *custom;       /* owned; its free text fields; NULL = none */
    bool has_custom;      /* they were read */
    enum sto_remote_kind kind;
    uint64_t id;
};
/* Names that are known, by numbers that never mean another one. */
struct names {
    struct name *list; /* owned; n of them: number base + 1 is the first */
    size_t n, cap, n_resolved;
    uint32_t base;
    struct ts_map64 places[N_KINDS]; /* id -> index in list */
    struct ts_arena arena;           /* texts */
};
/* A tree that is enabled. */
struct tree {
    struct tsd_tree def;
    struct tsd_tree_plan *plan; /* owned; NULL = not enabled */
    struct sto_hbase_leaf_counts counts;
};
/* One run. */
struct sync {
    struct tsd_hbase_tables *t;
    struct ts_arena arena; /* of trees */
    struct tree *trees;    /* n_trees of them */
    size_t n_trees;
    struct names names;
    struct tsd_tree_names source;
    struct tsd_tree_path path;
    struct ts_slice tsuid;         /* of the series whose path is found */
    struct ts_arena paths;         /* of leaves */
    struct sto_hbase_leaf *leaves; /* owned; n_leaves of them */
    size_t n_leaves, cap_leaves;
    uint64_t n_series, n_unnamed, n_bad;
    struct tsd_progress progress;
};
/* A series with numbers of names. */
struct series {
    _Alignas(struct sto_series) char bytes[sizeof(struct sto_series) +
                                           STO_HBASE_MAX_TAGS * sizeof(struct sto_tag)];
};

static int no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for trees of HBase (hbase_memory_bytes)");
}

/* --- names --- */

static void forget_names(struct names *x)
{
    for (size_t i = 0; i < x->n; i++)
        json_decref(x->list[i].custom);
    for (unsigned k = 0; k < N_KINDS; k++)
        ts_map64_release(&x->places[k]);
    x->base += (uint32_t)x->n;
    x->n = x->n_resolved = 0;
    ts_arena_release(&x->arena);
}

static struct name *name_of(struct names *x, uint32_t number)
{
    return &x->list[number - x->base - 1];
}

/* The number of a name; its text is not known yet if it is a new one. */
static int number_of(struct sync *y, enum sto_remote_kind kind, uint64_t id, uint32_t *out,
                     struct ts_error *err)
{
    struct names *x = &y->names;
    uint32_t at;
    if (!ts_map64_get(&x->places[kind], id, &at)) {
        TS_TRY(ts_budget_grow(&y->t->memory, &x->list, &x->cap, x->n + 1, sizeof *x->list, err));
        if (ts_map64_add(&x->places[kind], id, (uint32_t)x->n) < 0)
            return no_memory(err);
        at = (uint32_t)x->n++;
        x->list[at] = (struct name){.kind = kind, .id = id};
    }
    *out = x->base + at + 1;
    return 0;
}

/* Names by ids on their way. */
struct by_id {
    struct names *names;
    struct sto_remote_name *list;
    size_t n;
    int rc;
    struct ts_error *err;
};

static void on_names(void *arg, int rc, const struct ts_error *err)
{
    struct by_id *b = arg;
    b->rc = rc;
    if (err && b->err)
        *b->err = *err;
    for (size_t i = 0; rc == 0 && i < b->n; i++) {
        struct ts_slice text = b->list[i].name;
        if (b->list[i].rc == 0)
            b->names->list[b->names->n_resolved + i].text =
                (struct ts_slice){ts_arena_strndup(&b->names->arena, text.p, text.n), text.n};
    }
}

/* Read the texts of new names. */
static int resolve(struct sync *y, struct ts_error *err)
{
    struct names *x = &y->names;
    struct sto_remote_name list[BATCH];
    while (x->n_resolved < x->n) {
        struct by_id b = {.names = x, .list = list, .err = err};
        for (; b.n < BATCH && x->n_resolved + b.n < x->n; b.n++)
            list[b.n] = (struct sto_remote_name){.kind = x->list[x->n_resolved + b.n].kind,
                                                 .id = x->list[x->n_resolved + b.n].id};
        y->t->remote->ops->names(y->t->remote, STO_REMOTE_BY_ID, list, b.n, &y->t->call, on_names, &b);
        TS_TRY(b.rc);
        x->n_resolved += b.n;
    }
    return 0;
}

/* Append the record of a small cell. TS_ENOTFOUND. */
static int read_record(struct sync *y, const struct sto_remote_cell *cell, struct ts_buf *out,
                       struct ts_error *err)
{
    struct ts_buf key;
    ts_buf_init(&key, 0);
    int rc = sto_remote_cell_key(cell, &key);
    if (rc == 0)
        rc = y->t->remote->ops->cell_get(y->t->remote, ts_buf_get(&key), &y->t->call, out, err);
    ts_buf_release(&key);
    return rc;
}

/* --- what rules read (struct tsd_tree_names) --- */

static struct ts_slice rule_name(void *arg, enum sto_uid_kind kind, uint32_t id)
{
    struct sync *y = arg;
    (void)kind;
    return name_of(&y->names, id)->text;
}

/* Read the free text fields of a name. */
static int read_custom(struct sync *y, struct name *n, struct ts_error *err)
{
    struct sto_remote_cell cell = {.kind = STO_REMOTE_NAME_META, .name_kind = n->kind, .name = n->text};
    struct ts_buf record;
    json_t *root = NULL;
    ts_buf_init(&record, 0);
    int rc = read_record(y, &cell, &record, err);
    n->has_custom = rc == 0 || rc == TS_ENOTFOUND;
    if (rc == 0 && record.n > 1)
        rc = ts_json_load((struct ts_slice){record.p + 1, record.n - 1}, &root, err);
    if (rc == 0)
        n->custom = json_incref(json_object_get(root, "custom"));
    json_decref(root);
    ts_buf_release(&record);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

static int rule_custom(void *arg, enum sto_uid_kind kind, uint32_t id, struct ts_slice field,
                       struct ts_buf *out, struct ts_error *err)
{
    struct sync *y = arg;
    struct name *n = name_of(&y->names, id);
    (void)kind;
    if (!n->has_custom)
        TS_TRY(read_custom(y, n, err));
    const json_t *v = json_object_getn(n->custom, field.p, field.n);
    if (!json_is_string(v))
        return 0;
    ts_buf_append(out, json_string_value(v), json_string_length(v));
    return 1;
}

static void rule_tsuid(void *arg, const struct sto_series *s, struct ts_buf *out)
{
    const struct sync *y = arg;
    (void)s;
    for (size_t i = 0; i < y->tsuid.n; i++)
        ts_buf_printf(out, "%02X", (unsigned)(uint8_t)y->tsuid.p[i]);
}

/* --- trees --- */

/* Ids of trees. */
struct ids {
    uint16_t list[TSD_TREE_ID_MAX];
    size_t n;
};

static bool on_tree(void *arg, uint16_t id)
{
    struct ids *ids = arg;
    if (ids->n < TSD_TREE_ID_MAX)
        ids->list[ids->n++] = id;
    return true;
}

/* Read a tree; 0 also if it has just been deleted. */
static int read_tree(struct sync *y, uint16_t id, struct ts_error *err)
{
    struct sto_remote_cell cell = {.kind = STO_REMOTE_TREE, .tree = id};
    struct tree *tree = &y->trees[y->n_trees];
    struct ts_buf record;
    ts_buf_init(&record, 0);
    int rc = read_record(y, &cell, &record, err);
    if (rc == 0)
        rc = tsd_tree_parse(ts_buf_get(&record), id, &y->arena, &tree->def, err);
    if (rc == 0 && tree->def.def.v[TSD_TREE_ENABLED].i)
        rc = tsd_tree_plan_over(&y->source, &tree->def, &tree->plan, err);
    y->n_trees += rc == 0;
    ts_buf_release(&record);
    return rc;
}

/* Read the wanted tree, or all of them (0). */
static int read_trees(struct sync *y, uint16_t wanted, struct ts_error *err)
{
    struct ids *ids = ts_xcalloc(1, sizeof *ids);
    int rc = 0;
    if (wanted)
        (void)on_tree(ids, wanted);
    else
        rc = y->t->remote->ops->trees(y->t->remote, &y->t->call, on_tree, ids, err);
    y->trees = ts_xcalloc(ids->n + 1, sizeof *y->trees);
    for (size_t i = 0; i < ids->n && rc == 0; i++) {
        rc = read_tree(y, ids->list[i], err);
        if (rc == TS_ENOTFOUND && !wanted)
            rc = 0;
    }
    ts_free(ids);
    return rc;
}

/* --- series --- */

/* The series with numbers of its names. */
static int take_series(struct sync *y, const struct sto_hbase_meta_series *s, struct series *out,
                       struct ts_error *err)
{
    struct sto_series *series = (struct sto_series *)(void *)out->bytes;
    *series = (struct sto_series){.n_tags = s->ids.n_tags};
    TS_TRY(number_of(y, STO_REMOTE_METRIC, s->ids.metric, &series->metric, err));
    for (unsigned i = 0; i < s->ids.n_tags; i++) {
        TS_TRY(number_of(y, STO_REMOTE_TAGK, s->ids.tag[i].k, &series->tags[i].k, err));
        TS_TRY(number_of(y, STO_REMOTE_TAGV, s->ids.tag[i].v, &series->tags[i].v, err));
    }
    return 0;
}

static bool has_names(struct sync *y, const struct sto_series *s)
{
    bool has = name_of(&y->names, s->metric)->text.p;
    for (unsigned i = 0; i < s->n_tags; i++)
        has = has && name_of(&y->names, s->tags[i].k)->text.p && name_of(&y->names, s->tags[i].v)->text.p;
    return has;
}

static int store(struct sync *y, struct ts_error *err)
{
    int rc = y->n_leaves ? sto_hbase_store_leaves(y->t->remote, y->leaves, y->n_leaves, &y->t->call, err) : 0;
    y->n_leaves = 0;
    ts_arena_release(&y->paths);
    return rc;
}

/* Keep the path that was found as a leaf. */
static int add_leaf(struct sync *y, struct tree *tree, struct ts_error *err)
{
    const struct tsd_tree_path *p = &y->path;
    struct ts_slice why = ts_buf_get(&p->why);
    TS_TRY(
        ts_budget_grow(&y->t->memory, &y->leaves, &y->cap_leaves, y->n_leaves + 1, sizeof *y->leaves, err));
    struct sto_hbase_path_name *names = ts_arena_alloc(&y->paths, (p->n + 1) * sizeof *names);
    for (size_t i = 0; i < p->n; i++) {
        struct ts_slice name = tsd_tree_path_name(p, i);
        names[i] = (struct sto_hbase_path_name){{ts_arena_strndup(&y->paths, name.p, name.n), name.n},
                                                p->parts[i].hash};
    }
    y->leaves[y->n_leaves++] =
        (struct sto_hbase_leaf){.tree = tree->def.id,
                                .stores_failures = tree->def.def.v[TSD_TREE_STORE_FAILURES].i,
                                .names = names,
                                .n_names = p->n,
                                .why = {ts_arena_strndup(&y->paths, why.p ? why.p : "", why.n), why.n},
                                .tsuid = y->tsuid,
                                .counts = &tree->counts};
    return y->paths.used_bytes >= PATHS_SIZE ? store(y, err) : 0;
}

static int on_page(void *arg, const struct sto_hbase_meta_series *list, size_t n, struct ts_error *err)
{
    struct sync *y = arg;
    if (y->names.n >= NAMES_MAX || y->names.arena.used_bytes >= NAMES_SIZE)
        forget_names(&y->names);
    struct series *series = ts_xcalloc(n, sizeof *series);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = take_series(y, &list[i], &series[i], err);
    if (rc == 0)
        rc = resolve(y, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct sto_series *s = (const struct sto_series *)(const void *)series[i].bytes;
        y->n_series++;
        y->n_unnamed += !has_names(y, s);
        if (!has_names(y, s))
            continue;
        y->tsuid = list[i].tsuid;
        for (size_t k = 0; k < y->n_trees && rc == 0; k++) {
            if (y->trees[k].plan)
                rc = tsd_tree_plan_run(y->trees[k].plan, s, &y->path, err);
            if (rc == 0 && y->trees[k].plan)
                rc = add_leaf(y, &y->trees[k], err);
        }
    }
    if (rc == 0)
        rc = store(y, err); /* before the TSUIDs end */
    ts_free(series);
    tsd_progress_set(&y->progress, 0, y->n_series);
    return rc;
}

/* --- the command --- */

static void put_line(struct ts_buf *out, const struct tree *t, uint64_t n, const char *what)
{
    struct ts_slice name = t->def.def.v[TSD_TREE_NAME].text;
    if (n)
        ts_buf_printf(out, "tree %u %.*s: %" PRIu64 " %s\n", (unsigned)t->def.id, (int)name.n, name.p, n,
                      what);
}

static void put_tree(struct ts_buf *out, const struct tree *t)
{
    const struct sto_hbase_leaf_counts *c = &t->counts;
    struct ts_slice name = t->def.def.v[TSD_TREE_NAME].text;
    if (!t->plan) {
        ts_buf_printf(out,
                      "tree %u %.*s: not enabled, it gets no branches (POST /api/tree with enabled=true)\n",
                      (unsigned)t->def.id, (int)name.n, name.p);
        return;
    }
    put_line(out, t, c->n_branches, "branches made");
    put_line(out, t, c->n_leaves, "leaves made");
    put_line(out, t, c->n_known, "leaves were there");
    put_line(out, t, c->n_collisions, "series have no leaf: another series has it");
    put_line(out, t, c->n_not_matched, "series have no leaf: no rule matches");
    put_line(out, t, c->n_too_deep, "series have no leaf: their paths have more than 250 names");
    put_line(out, t, c->n_damaged, "leaves cannot be read, and stay as they are");
}

static void put_all(const struct sync *y, struct ts_buf *out)
{
    ts_buf_printf(out, "%" PRIu64 " series read\n", y->n_series);
    if (y->n_unnamed)
        ts_buf_printf(out, "%" PRIu64 " series have ids without names, and got no leaves\n", y->n_unnamed);
    if (y->n_bad)
        ts_buf_printf(out, "%" PRIu64 " rows belong to no series\n", y->n_bad);
    for (size_t i = 0; i < y->n_trees; i++)
        put_tree(out, &y->trees[i]);
}

static void release(struct sync *y)
{
    for (size_t i = 0; i < y->n_trees; i++)
        tsd_tree_plan_free(y->trees[i].plan);
    ts_free(y->trees);
    forget_names(&y->names);
    ts_budget_free(&y->t->memory, y->names.list, y->names.cap * sizeof *y->names.list);
    ts_budget_free(&y->t->memory, y->leaves, y->cap_leaves * sizeof *y->leaves);
    tsd_tree_path_release(&y->path);
    ts_arena_release(&y->paths);
    ts_arena_release(&y->arena);
}

int tsd_treesync_hbase(struct tsd_hbase_tables *t, uint16_t tree, struct ts_buf *out, struct ts_error *err)
{
    struct sync y = {.t = t};
    y.source =
        (struct tsd_tree_names){.name = rule_name, .custom = rule_custom, .tsuid = rule_tsuid, .arg = &y};
    ts_arena_init(&y.arena, 0);
    ts_arena_init(&y.paths, 0);
    ts_arena_init(&y.names.arena, 0);
    tsd_tree_path_init(&y.path);
    tsd_progress_begin(&y.progress, 0);
    int rc = read_trees(&y, tree, err);
    bool any = false;
    for (size_t i = 0; i < y.n_trees; i++)
        any = any || y.trees[i].plan;
    if (rc == 0 && any)
        rc = sto_hbase_each_meta_series(t->remote, &t->call, on_page, &y, &y.n_bad, err);
    tsd_progress_clear(&y.progress);
    put_all(&y, out);
    release(&y);
    return rc;
}
