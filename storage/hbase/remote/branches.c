/*
 * branches.c - stores branches and leaves of trees.
 */
#include "storage/hbase/remote/branches.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "storage/hbase/metatable.h"
#include "storage/hbase/remote/metadata_int.h"
#include "storage/hbase/treetable.h"

#include <stdlib.h>
#include <string.h>

#define BATCH       500                /* rows of a look-up */
#define BATCH_BYTES ((size_t)16 << 20) /* of keys that are collected before they are looked up */
#define ROOT        "ROOT"
#define COLLISIONS  1 /* byte behind a tree's id: row of its collisions */
#define NOT_MATCHED 2 /* of series that no rule matched */

/* --- series --- */

/* A run over tsdb-meta. */
struct series_walk {
    struct sto_hbase__walk w; /* first member */
    sto_hbase_meta_series_fn each;
    void *arg;
    uint64_t *n_bad;
};

static int series_page(struct sto_hbase__walk *w, struct sto_thrift_items *rows, struct ts_slice *last,
                       size_t *n, struct ts_error *err)
{
    struct series_walk *x = (struct series_walk *)(void *)w;
    struct sto_thrift_row row;
    size_t n_series = 0;
    int rc = 0;
    ts_arena_release(&w->arena);
    struct sto_hbase_meta_series *list = ts_arena_alloc(&w->arena, STO_HBASE__WALK_ROWS * sizeof *list);
    while (*n < STO_HBASE__WALK_ROWS && (rc = sto_thrift_row(rows, &row, err)) == 1) {
        struct sto_hbase_meta_series *s = &list[n_series];
        ++*n;
        *last = sto_hbase__walk_keep(w, row.row);
        s->tsuid = *last;
        if (sto_hbase_tsuid_parse(&w->h->opts.schema, *last, &s->ids, NULL) == 0)
            n_series++;
        else
            ++*x->n_bad;
    }
    if (rc < 0)
        return rc;
    return n_series ? x->each(x->arg, list, n_series, err) : 0;
}

int sto_hbase_each_meta_series(struct sto_remote *r, const struct sto_remote_call *call,
                               sto_hbase_meta_series_fn each, void *arg, uint64_t *out_n_bad,
                               struct ts_error *err)
{
    struct series_walk x = {.each = each, .arg = arg, .n_bad = out_n_bad};
    struct sto_thrift_column document = {.family = STO_HBASE_META_FAMILY,
                                         .qualifier = STO_HBASE_META_DOCUMENT};
    TS_TRY(sto_hbase__walk_begin(&x.w, r, call, err));
    int rc = sto_hbase__walk_pages(&x.w, x.w.h->opts.tables.meta, &document, "KeyOnlyFilter()",
                                   (struct ts_slice){NULL, 0}, series_page, err);
    sto_hbase__walk_end(&x.w);
    return rc;
}

/* --- cells --- */

enum item_kind { BRANCH, LEAF, FAILURE };
/* A cell that there should be. Memory of the arena. */
struct item {
    enum item_kind kind;
    struct ts_slice row, qualifier;
    const struct sto_hbase_leaf *leaf; /* for which */
    size_t depth;                      /* of a branch; 0 = the root */
    struct ts_slice value;             /* FAILURE: what it says */
    struct ts_slice present;           /* what HBase has; p NULL: nothing */
    size_t order;                      /* among those with the same row and qualifier */
};
struct items {
    struct item *list; /* owned; n of them */
    size_t n, cap;
    size_t n_bytes; /* of keys */
};
/* One call. */
struct store {
    struct sto_hbase__walk w;
    struct items items;    /* to be looked at next */
    struct items failures; /* collisions that were found, and series that no rule matched */
};

static int add_item(struct items *items, const struct item *item, struct ts_error *err)
{
    if (items->n == items->cap) {
        size_t cap = items->cap ? 2 * items->cap : 256;
        struct item *more = ts_try_realloc(items->list, cap * sizeof *more);
        if (!more)
            return sto_hbase__walk_no_memory(err);
        items->list = more;
        items->cap = cap;
    }
    items->list[items->n] = *item;
    items->list[items->n].order = items->n;
    items->n_bytes += item->row.n + item->qualifier.n + item->value.n;
    items->n++;
    return 0;
}

/* The row of a branch of the leaf's path. */
static struct ts_slice branch_row(struct store *st, const struct sto_hbase_leaf *leaf, size_t depth)
{
    size_t n = STO_HBASE_TREE_BYTES + depth * STO_HBASE_BRANCH_BYTES;
    char *p = ts_arena_alloc(&st->w.arena, n);
    p[0] = (char)(leaf->tree >> 8);
    p[1] = (char)(leaf->tree & 255);
    for (size_t i = 0; i < depth; i++)
        for (unsigned k = 0; k < STO_HBASE_BRANCH_BYTES; k++)
            p[STO_HBASE_TREE_BYTES + i * STO_HBASE_BRANCH_BYTES + k] =
                (char)(leaf->names[i].hash >> (24 - 8 * k) & 255);
    return (struct ts_slice){p, n};
}

static int add_failure(struct store *st, const struct sto_hbase_leaf *leaf, char row, struct ts_slice prefix,
                       struct ts_slice value, struct ts_error *err)
{
    const char key[] = {(char)(leaf->tree >> 8), (char)(leaf->tree & 255), row};
    char *q = ts_arena_alloc(&st->w.arena, prefix.n + leaf->tsuid.n);
    memcpy(q, prefix.p, prefix.n);
    memcpy(q + prefix.n, leaf->tsuid.p, leaf->tsuid.n);
    struct item item = {.kind = FAILURE,
                        .row = sto_hbase__walk_keep(&st->w, (struct ts_slice){key, sizeof key}),
                        .qualifier = {q, prefix.n + leaf->tsuid.n},
                        .leaf = leaf,
                        .value = sto_hbase__walk_keep(&st->w, value)};
    return leaf->stores_failures ? add_item(&st->failures, &item, err) : 0;
}

static int add_leaf(struct store *st, const struct sto_hbase_leaf *leaf, struct ts_error *err)
{
    size_t n_prefix = sizeof STO_HBASE_TREE_LEAF - 1;
    if (leaf->n_names == 0) {
        leaf->counts->n_not_matched++;
        return add_failure(st, leaf, NOT_MATCHED, STO_HBASE_TREE_NOT_MATCHED, leaf->why, err);
    }
    if (leaf->n_names > STO_HBASE_PATH_MAX_NAMES) {
        leaf->counts->n_too_deep++;
        return 0;
    }
    struct item item = {.kind = BRANCH, .leaf = leaf, .qualifier = STO_HBASE_TREE_BRANCH};
    for (item.depth = 0; item.depth < leaf->n_names; item.depth++) {
        item.row = branch_row(st, leaf, item.depth);
        TS_TRY(add_item(&st->items, &item, err));
    }
    char *q = ts_arena_alloc(&st->w.arena, n_prefix + STO_HBASE_BRANCH_BYTES);
    memcpy(q, STO_HBASE_TREE_LEAF, n_prefix);
    for (unsigned k = 0; k < STO_HBASE_BRANCH_BYTES; k++)
        q[n_prefix + k] = (char)(leaf->names[leaf->n_names - 1].hash >> (24 - 8 * k) & 255);
    item.kind = LEAF;
    item.qualifier = (struct ts_slice){q, n_prefix + STO_HBASE_BRANCH_BYTES};
    return add_item(&st->items, &item, err);
}

/* --- documents --- */

/* {"path":{"0":"ROOT","1":"web"},"displayName":"web"} */
static int branch_document(const struct item *i, struct ts_buf *out)
{
    struct ts_slice name = i->depth ? i->leaf->names[i->depth - 1].name : TS_SLICE_LIT(ROOT);
    struct ts_json j;
    ts_json_init(&j, out);
    ts_json_obj(&j);
    ts_json_key(&j, "path");
    ts_json_obj(&j);
    ts_json_member_str(&j, "0", ROOT);
    for (size_t k = 0; k < i->depth; k++) {
        char level[24];
        (void)snprintf(level, sizeof level, "%zu", k + 1);
        ts_json_member_slice(&j, level, i->leaf->names[k].name);
    }
    ts_json_obj_end(&j);
    ts_json_member_slice(&j, "displayName", name);
    ts_json_obj_end(&j);
    return out->failed ? TS_ELIMIT : 0;
}

static void put_tsuid(const struct sto_hbase_leaf *leaf, char hex[2 * STO_HBASE_MAX_TSUID_BYTES + 1])
{
    sto_hbase_hex_print(leaf->tsuid, hex);
    hex[2 * leaf->tsuid.n] = 0;
}

static int document_of(const struct item *i, struct ts_buf *out, struct ts_error *err)
{
    char hex[2 * STO_HBASE_MAX_TSUID_BYTES + 1];
    if (i->kind == FAILURE)
        return ts_buf_slice(out, i->value) < 0 ? sto_hbase__walk_no_memory(err) : 0;
    if (i->kind == BRANCH)
        return branch_document(i, out) < 0 ? sto_hbase__walk_no_memory(err) : 0;
    struct ts_slice name = i->leaf->names[i->leaf->n_names - 1].name;
    put_tsuid(i->leaf, hex);
    json_t *root = json_object();
    json_object_set_new(root, "displayName", json_stringn(name.p, name.n));
    json_object_set_new(root, "tsuid", json_string(hex));
    int rc = sto_hbase_document_write(sto_hbase_leaf_fields, root, out, err);
    json_decref(root);
    return rc == TS_ENOMEM ? sto_hbase__walk_no_memory(err) : rc;
}

/* --- what is there --- */

static int compare_items(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    int order = ts_slice_cmp(a->row, b->row);
    if (order == 0)
        order = ts_slice_cmp(a->qualifier, b->qualifier);
    return order ? order : a->order < b->order ? -1 : a->order > b->order;
}

static bool same_cell(const struct item *a, const struct item *b)
{
    return ts_slice_eq(a->row, b->row) && ts_slice_eq(a->qualifier, b->qualifier);
}

/* Items of one row, from `at` on. */
static size_t n_of_row(const struct items *items, size_t at)
{
    size_t n = 1;
    while (at + n < items->n && ts_slice_eq(items->list[at].row, items->list[at + n].row))
        n++;
    return n;
}

static int take_row(struct store *st, struct sto_thrift_row *row, struct item *of_row, size_t n,
                    struct ts_error *err)
{
    struct sto_thrift_cell cell;
    int rc = 0;
    while (row->row.p && (rc = sto_thrift_row_next(row, &cell, err)) == 1) {
        struct ts_slice value = sto_hbase__walk_keep(&st->w, cell.value);
        for (size_t i = 0; i < n; i++)
            if (ts_slice_eq(of_row[i].qualifier, cell.qualifier))
                of_row[i].present = value;
    }
    return rc;
}

/* Look up the items from *io_at on, as many as fit a request. */
static int look_up(struct store *st, struct items *items, size_t *io_at, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    size_t first = *io_at, at = first;
    TS_TRY(sto_hbase__walk_wait(&st->w, err));
    sto_thrift_batch_begin(&st->w.r, STO_THRIFT_GET_MULTIPLE, ts_slice_str(st->w.h->opts.tables.tree));
    for (unsigned k = 0; k < BATCH && at < items->n; k++) {
        size_t n = n_of_row(items, at), n_columns = 0;
        struct sto_thrift_column *columns = ts_arena_alloc(&st->w.arena, n * sizeof *columns);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || !same_cell(&items->list[at + i - 1], &items->list[at + i]))
                columns[n_columns++] = (struct sto_thrift_column){.family = STO_HBASE_TREE_FAMILY,
                                                                  .qualifier = items->list[at + i].qualifier};
        sto_thrift_batch_get(
            &st->w.r, &(struct sto_thrift_get){.row = items->list[at].row,
                                               .select = {.columns = columns, .n_columns = n_columns}});
        at += n;
    }
    if (sto_thrift_batch_end(&st->w.r) < 0)
        return sto_hbase__walk_no_memory(err);
    TS_TRY(sto_hbase_call(&st->w.s, &st->w.r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    for (size_t i = first, n; i < at; i += n) {
        struct sto_thrift_row row;
        n = n_of_row(items, i);
        int rc = sto_hbase_asked_row(&it, items->list[i].row, &row, err);
        if (rc >= 0)
            rc = take_row(st, &row, &items->list[i], n, err);
        TS_TRY(sto_hbase_error(rc < 0 ? rc : 0, err));
    }
    *io_at = at;
    return 0;
}

/* --- writing --- */

/* Write an item if nothing is there; then item->present is what is there. 1: it was written. */
static int make_cell(struct store *st, struct item *i, struct ts_error *err)
{
    struct sto_hbase__cell_id id = {st->w.h->opts.tables.tree, i->row, STO_HBASE_TREE_FAMILY, i->qualifier};
    struct ts_buf value;
    if (i->present.p && i->kind != FAILURE)
        return 0;
    ts_buf_init(&value, 0);
    int rc = document_of(i, &value, err);
    while (rc == 0 && (!i->present.p || (i->kind == FAILURE && !ts_slice_eq(i->present, i->value)))) {
        rc = sto_hbase__walk_wait(&st->w, err);
        if (rc == 0)
            rc = sto_hbase__cell_change(&st->w.s, &st->w.r, &id, i->present, ts_buf_get(&value), 0, NULL, 0,
                                        err);
        if (rc == 1)
            i->present = sto_hbase__walk_keep(&st->w, ts_buf_get(&value));
        if (rc != 0 || i->kind == FAILURE) /* another program has just written why */
            break;
        struct ts_buf now;
        ts_buf_init(&now, 0);
        rc = sto_hbase__cell_read(&st->w.s, &st->w.r, &id, &now, NULL, err);
        if (rc == 1)
            i->present = sto_hbase__walk_keep(&st->w, ts_buf_get(&now));
        ts_buf_release(&now);
        rc = rc < 0 ? rc : 0;
    }
    ts_buf_release(&value);
    return rc;
}

/* A leaf is there: whose? */
static int settle_owner(struct store *st, struct item *i, struct ts_error *err)
{
    struct sto_hbase_leaf_counts *counts = i->leaf->counts;
    char hex[2 * STO_HBASE_MAX_TSUID_BYTES + 1];
    struct ts_error why = {0};
    json_t *root;
    int rc = sto_hbase_document_parse(sto_hbase_leaf_fields, i->present, &root, &why);
    if (rc < 0) {
        counts->n_damaged++;
        return 0;
    }
    const json_t *owner = json_object_get(root, "tsuid");
    struct ts_slice text = {json_string_value(owner), json_string_length(owner)};
    put_tsuid(i->leaf, hex);
    if (ts_slice_is_nocase(text, hex)) {
        counts->n_known++;
    } else {
        counts->n_collisions++;
        rc = add_failure(st, i->leaf, COLLISIONS, STO_HBASE_TREE_COLLISION, text, err);
    }
    json_decref(root);
    return rc;
}

static int settle(struct store *st, struct item *i, const struct item *before, struct ts_error *err)
{
    if (before && same_cell(before, i)) {
        i->present = before->present;
        if (i->kind == BRANCH)
            return 0;
    }
    int rc = make_cell(st, i, err);
    if (rc < 0)
        return rc;
    if (rc == 1 && i->kind != FAILURE)
        ++*(i->kind == BRANCH ? &i->leaf->counts->n_branches : &i->leaf->counts->n_leaves);
    return rc == 0 && i->kind == LEAF ? settle_owner(st, i, err) : 0;
}

static int settle_all(struct store *st, struct items *items, struct ts_error *err)
{
    if (items->n == 0)
        return 0;
    qsort(items->list, items->n, sizeof *items->list, compare_items);
    for (size_t at = 0, done = 0; at < items->n;) {
        TS_TRY(look_up(st, items, &at, err));
        for (; done < at; done++)
            TS_TRY(settle(st, &items->list[done], done ? &items->list[done - 1] : NULL, err));
    }
    return 0;
}

/* Look at what was collected, and forget it. */
static int flush(struct store *st, struct ts_error *err)
{
    TS_TRY(settle_all(st, &st->items, err));
    TS_TRY(settle_all(st, &st->failures, err)); /* after it: leaves have collisions */
    st->items.n = st->failures.n = 0;
    st->items.n_bytes = st->failures.n_bytes = 0;
    ts_arena_release(&st->w.arena);
    return 0;
}

int sto_hbase_store_leaves(struct sto_remote *r, const struct sto_hbase_leaf *leaves, size_t n,
                           const struct sto_remote_call *call, struct ts_error *err)
{
    struct store st = {.items = {.n = 0}};
    TS_TRY(sto_hbase__walk_begin(&st.w, r, call, err));
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = add_leaf(&st, &leaves[i], err);
        if (rc == 0 && st.items.n_bytes + st.failures.n_bytes >= BATCH_BYTES)
            rc = flush(&st, err);
    }
    if (rc == 0)
        rc = flush(&st, err);
    ts_free(st.items.list);
    ts_free(st.failures.list);
    sto_hbase__walk_end(&st.w);
    return rc < 0 ? sto_hbase_error(rc, err) : 0;
}
