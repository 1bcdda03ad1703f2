/*
 * cells_tree.c - trees: the cells of a row of tsdb-tree as one small cell, whose record has the rules in an array.
 *
 * A change reads the row, compares it with the expected record, and writes and deletes only cells that differ, atomically. The condition of
 * a change of one cell is the value that it had, as OpenTSDB does it, so neither overwrites the other; that of several cells is the value
 * of the definition. Cells of other kinds (the root's branch, leaves) stay.
 */
#include "base/text.h"
#include "storage/hbase/remote/cells_int.h"
#include "storage/hbase/remote/ship_int.h"
#include "storage/hbase/treetable.h"

#include <stdlib.h>

#define REQUEST_BYTES ((size_t)4 << 20)
#define TREE_BYTES    ((size_t)4 << 20) /* most bytes of a tree that is read */

/* A cell of the row: the definition, or a rule. Memory of the call's arena. */
struct part {
    int64_t level, order; /* the definition: -1 */
    struct ts_slice qualifier;
    struct ts_slice raw;      /* as it was read */
    struct ts_slice document; /* as OpenTSDB would write it */
    int64_t ts_ms;            /* timestamp of raw */
};
/* By level and order. */
struct parts {
    struct part *list;
    size_t n, cap;
    size_t n_bytes; /* of the cells that were read */
};

/* One call. */
struct tree_call {
    struct sto_hbase *h;
    struct sto_hbase_session s;
    struct sto_thrift_request r;
    struct ts_arena arena;
    struct ts_budget *memory;
    uint16_t tree;
    char row[STO_HBASE_TREE_BYTES];
};

static int begin(struct tree_call *c, struct sto_hbase *h, uint16_t tree, const struct sto_remote_call *call,
                 struct ts_error *err)
{
    *c = (struct tree_call){.h = h,
                            .tree = tree,
                            .memory = call ? call->memory : NULL,
                            .row = {(char)(tree >> 8), (char)(tree & 255)}};
    TS_TRY(sto_hbase_begin(h->access, call, &c->s, err));
    sto_thrift_request_init(&c->r, REQUEST_BYTES, c->memory);
    ts_arena_init(&c->arena, 0);
    return 0;
}

static void end(struct tree_call *c)
{
    sto_hbase_end(&c->s);
    sto_thrift_request_release(&c->r);
    ts_arena_release(&c->arena);
}

static struct ts_slice row_of(const struct tree_call *c)
{
    return (struct ts_slice){c->row, sizeof c->row};
}

static struct ts_slice table_of(const struct tree_call *c)
{
    return ts_slice_str(c->h->opts.tables.tree);
}

static int no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for a tree of HBase");
}

static struct ts_slice keep(struct tree_call *c, struct ts_slice text)
{
    char *p = ts_arena_alloc(&c->arena, text.n + 1);
    if (text.n)
        memcpy(p, text.p, text.n);
    return (struct ts_slice){p, text.n};
}

static int compare_parts(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct part *add_part(struct tree_call *c, struct parts *parts, int64_t level, int64_t order)
{
    if (parts->n == parts->cap) {
        size_t cap = parts->cap ? parts->cap * 2 : 16;
        struct part *more = ts_arena_alloc(&c->arena, cap * sizeof *more);
        if (parts->n)
            memcpy(more, parts->list, parts->n * sizeof *more);
        parts->list = more;
        parts->cap = cap;
    }
    char text[STO_HBASE_RULE_BYTES];
    struct part *p = &parts->list[parts->n++];
    struct ts_slice rule = {text, level < 0 ? 0 : sto_hbase_rule_qualifier(level, order, text)};
    *p = (struct part){
        .level = level, .order = order, .qualifier = level < 0 ? STO_HBASE_TREE_DEFINITION : keep(c, rule)};
    return p;
}

/* --- documents --- */

static const struct sto_hbase_field *fields_of(const struct part *p)
{
    return p->level < 0 ? sto_hbase_tree_fields : sto_hbase_rule_fields;
}

/* Write the document of a part. */
static int write_part(struct tree_call *c, struct part *p, json_t *members, struct ts_error *err)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    out.budget = c->memory;
    if (p->level >= 0) {
        json_object_set_new(members, "level", json_integer(p->level));
        json_object_set_new(members, "order", json_integer(p->order));
        json_object_set_new(members, "treeId", json_integer(c->tree));
    }
    int rc = sto_hbase_document_write(fields_of(p), members, &out, err);
    if (rc == 0)
        p->document = keep(c, ts_buf_get(&out));
    ts_buf_release(&out);
    return rc == TS_ENOMEM || rc == TS_ELIMIT ? no_memory(err) : rc;
}

/* The level or order of a rule of a record. */
static bool rank_of(const json_t *rule, const char *name, int64_t *out)
{
    const json_t *v = json_object_get(rule, name);
    *out = v ? json_integer_value(v) : 0;
    return (!v || json_is_integer(v)) && *out >= 0 && *out <= STO_HBASE_TREE_RANK_MAX;
}

/* The parts of a record; empty: none. */
static int parts_of_record(struct tree_call *c, struct ts_slice record, struct parts *out,
                           struct ts_error *err)
{
    json_t *root;
    *out = (struct parts){.n = 0};
    if (record.n == 0)
        return 0;
    TS_TRY(sto_hbase__record_load(record, &root, err));
    json_t *rules = json_object_get(root, "rules"), *rule;
    size_t i;
    int rc = write_part(c, add_part(c, out, -1, -1), root, err);
    json_array_foreach(rules, i, rule)
    {
        int64_t level = 0, order = 0;
        if (rc == 0 &&
            (!json_is_object(rule) || !rank_of(rule, "level", &level) || !rank_of(rule, "order", &order)))
            rc = ts_error_set(err, TS_EINVAL, "a rule of tree %u has no level or no order", c->tree);
        if (rc == 0)
            rc = write_part(c, add_part(c, out, level, order), rule, err);
    }
    json_decref(root);
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, compare_parts);
    for (size_t k = 1; k < out->n && rc == 0; k++)
        if (compare_parts(&out->list[k - 1], &out->list[k]) == 0)
            rc = ts_error_set(err, TS_EINVAL, "tree %u has two rules of level %lld and order %lld", c->tree,
                              (long long)out->list[k].level, (long long)out->list[k].order);
    return rc;
}

/* --- reading --- */

static int damaged(const struct tree_call *c, struct ts_slice qualifier, const struct ts_error *why,
                   struct ts_error *err)
{
    return ts_error_set(err, TS_EBACKEND, "the column %.*s of tree %u in table %s: %s",
                        TS_SHOWN(qualifier, 60), c->tree, c->h->opts.tables.tree, why->text);
}

/* Take a cell that was read, if it is one of the tree. */
static int take_cell(struct tree_call *c, const struct sto_thrift_cell *cell, struct parts *out,
                     struct ts_error *err)
{
    int64_t level = -1, order = -1;
    struct ts_error why = {0};
    json_t *members;
    if (!ts_slice_eq(cell->qualifier, STO_HBASE_TREE_DEFINITION) &&
        sto_hbase_rule_parse(cell->qualifier, &level, &order) < 0)
        return 0;
    out->n_bytes += cell->value.n + sizeof(struct part);
    if (out->n_bytes > TREE_BYTES)
        return ts_error_set(err, TS_ELIMIT, "the rules of tree %u in HBase are longer than %zu bytes",
                            c->tree, TREE_BYTES);
    struct part *p = add_part(c, out, level, order);
    p->raw = keep(c, cell->value);
    p->ts_ms = cell->ts_ms;
    int rc = sto_hbase_document_parse(fields_of(p), cell->value, &members, &why);
    if (rc == TS_ELIMIT)
        return ts_error_set(err, rc, "%s", why.text);
    if (rc < 0)
        return damaged(c, cell->qualifier, &why, err);
    rc = write_part(c, p, members, err);
    json_decref(members);
    return rc;
}

/* Read the parts of the row. */
static int read_parts(struct tree_call *c, struct parts *out, struct ts_error *err)
{
    struct sto_thrift_column family = {.family = STO_HBASE_TREE_FAMILY};
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    struct sto_thrift_get get = {
        .row = row_of(c),
        .select = {.columns = &family, .n_columns = 1, .filter = TS_SLICE_LIT("ColumnPrefixFilter('tree')")}};
    *out = (struct parts){.n = 0};
    if (sto_thrift_call_get(&c->r, table_of(c), &get) < 0)
        return no_memory(err);
    TS_TRY(sto_hbase_call(&c->s, &c->r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    while (rc == 1 && (rc = sto_thrift_row_next(&row, &cell, err)) == 1)
        TS_TRY(take_cell(c, &cell, out, err));
    TS_TRY(sto_hbase_error(rc, err));
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, compare_parts);
    return 0;
}

/* Rules without a definition are what is left of a tree: there is none. */
static bool exists(const struct parts *p)
{
    return p->n && p->list[0].level < 0;
}

/* Add the members of a part that a record keeps. */
static int add_members(const struct tree_call *c, const struct part *p, json_t *to, struct ts_error *err)
{
    json_t *members;
    struct ts_error why = {0};
    if (sto_hbase_document_parse(fields_of(p), p->document, &members, &why) < 0)
        return damaged(c, p->qualifier, &why, err);
    json_object_del(members, "treeId");
    json_object_update(to, members);
    json_decref(members);
    return 0;
}

/* Append the record of a tree: the same bytes for equal trees. */
static int write_record(const struct tree_call *c, const struct parts *parts, struct ts_buf *out,
                        struct ts_error *err)
{
    json_t *root = json_object(), *rules = json_array();
    int rc = add_members(c, &parts->list[0], root, err);
    for (size_t i = 1; i < parts->n && rc == 0; i++) {
        json_t *rule = json_object();
        rc = add_members(c, &parts->list[i], rule, err);
        json_array_append_new(rules, rule);
    }
    json_object_set_new(root, "rules", rules);
    if (rc == 0)
        rc = sto_hbase__record_write(root, out, err);
    json_decref(root);
    return rc;
}

int sto_hbase__tree_get(struct sto_hbase *h, uint16_t tree, const struct sto_remote_call *call,
                        struct ts_buf *out, struct ts_error *err)
{
    struct tree_call c;
    struct parts parts;
    TS_TRY(begin(&c, h, tree, call, err));
    int rc = read_parts(&c, &parts, err);
    if (rc == 0 && !exists(&parts))
        rc = ts_error_set(err, TS_ENOTFOUND, "table %s has no tree %u", h->opts.tables.tree, tree);
    if (rc == 0)
        rc = write_record(&c, &parts, out, err);
    end(&c);
    return rc;
}

/* --- changing --- */

static bool same(const struct parts *a, const struct parts *b)
{
    size_t n_a = exists(a) ? a->n : 0, n_b = exists(b) ? b->n : 0;
    bool is = n_a == n_b;
    for (size_t i = 0; i < n_a && is; i++)
        is = ts_slice_eq(a->list[i].qualifier, b->list[i].qualifier) &&
             ts_slice_eq(a->list[i].document, b->list[i].document);
    return is;
}

/* What changes. */
struct change {
    struct sto_thrift_cell *puts;
    struct sto_thrift_column *deletes;
    size_t n_puts, n_deletes;
    const struct part *was; /* the cell that is put or deleted last, as it was read; NULL: it was not there */
    struct ts_slice qualifier; /* of that cell */
    int64_t ts_ms;             /* the newest timestamp of what is deleted */
};

static void plan_put(struct change *ch, const struct part *was, const struct part *want)
{
    if (was && ts_slice_eq(was->document, want->document))
        return;
    ch->puts[ch->n_puts++] = (struct sto_thrift_cell){
        .family = STO_HBASE_TREE_FAMILY, .qualifier = want->qualifier, .value = want->document};
    ch->was = was;
    ch->qualifier = want->qualifier;
}

static void plan_delete(struct change *ch, const struct part *was)
{
    ch->deletes[ch->n_deletes++] = (struct sto_thrift_column){
        .family = STO_HBASE_TREE_FAMILY, .qualifier = was->qualifier, .ts_ms = was->ts_ms, .has_ts = true};
    ch->was = was;
    ch->qualifier = was->qualifier;
    ch->ts_ms = was->ts_ms > ch->ts_ms ? was->ts_ms : ch->ts_ms;
}

static struct change plan(struct tree_call *c, const struct parts *now, const struct parts *want)
{
    struct change ch = {.puts = ts_arena_alloc(&c->arena, (want->n + 1) * sizeof *ch.puts),
                        .deletes = ts_arena_alloc(&c->arena, (now->n + 1) * sizeof *ch.deletes)};
    for (size_t i = 0, k = 0; i < now->n || k < want->n;) {
        int order = i == now->n ? 1 : k == want->n ? -1 : compare_parts(&now->list[i], &want->list[k]);
        if (order < 0)
            plan_delete(&ch, &now->list[i++]);
        else if (order > 0)
            plan_put(&ch, NULL, &want->list[k++]);
        else
            plan_put(&ch, &now->list[i++], &want->list[k++]);
    }
    return ch;
}

static int make_change(struct tree_call *c, const struct parts *now, const struct change *ch)
{
    bool one = ch->n_puts + ch->n_deletes == 1;
    const struct part *was = one ? ch->was : exists(now) ? &now->list[0] : NULL;
    struct sto_thrift_check check = {.row = row_of(c),
                                     .family = STO_HBASE_TREE_FAMILY,
                                     .qualifier = one ? ch->qualifier : STO_HBASE_TREE_DEFINITION,
                                     .compare = STO_THRIFT_EQUAL};
    if (was)
        check.value = was->raw; /* its p is not NULL, also if it is empty */
    struct sto_thrift_put put = {.row = check.row, .cells = ch->puts, .n_cells = ch->n_puts};
    struct sto_thrift_delete del = {.row = check.row,
                                    .columns = ch->deletes,
                                    .n_columns = ch->n_deletes,
                                    .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_mutation m[2];
    size_t n = 0;
    if (!ch->n_deletes) /* checkAndMutate has no condition that a cell does not exist */
        return sto_thrift_call_check_and_put(&c->r, table_of(c), &check, &put);
    if (ch->n_puts)
        m[n++] = (struct sto_thrift_mutation){.put = &put};
    if (ch->n_deletes)
        m[n++] = (struct sto_thrift_mutation){.delete = &del};
    return sto_thrift_call_check_and_mutate(&c->r, table_of(c), &check, m, n);
}

/* Delete the rules that a tree without a definition has left, up to the timestamps that were read. */
static int delete_rest(struct tree_call *c, const struct change *ch, struct ts_error *err)
{
    struct sto_thrift_reply reply;
    struct sto_thrift_delete del = {.row = row_of(c),
                                    .columns = ch->deletes,
                                    .n_columns = ch->n_deletes,
                                    .type = STO_THRIFT_DELETE_COLUMNS};
    if (sto_thrift_call_delete(&c->r, table_of(c), &del) < 0)
        return no_memory(err);
    TS_TRY(sto_hbase_call(&c->s, &c->r, &reply, NULL, err));
    sto_hbase__wait_for_clock(ch->ts_ms);
    return 0;
}

static int swap(struct tree_call *c, const struct parts *expected, const struct parts *want,
                struct ts_error *err)
{
    for (unsigned attempt = 1;; attempt++) {
        struct parts now;
        TS_TRY(read_parts(c, &now, err));
        if (attempt > 1 && same(&now, want))
            return 0; /* the attempt before, whose reply was lost, has made the change */
        if (!same(&now, expected))
            return ts_error_set(err, TS_EEXIST, "the tree has changed");
        struct change ch = plan(c, &now, want);
        if (!ch.n_puts && !ch.n_deletes)
            return 0;
        if (!exists(&now) && ch.n_deletes) {
            TS_TRY(delete_rest(c, &ch, err));
            continue;
        }
        if (make_change(c, &now, &ch) < 0)
            return no_memory(err);
        int rc = sto_hbase__send_change(&c->s, &c->r, attempt, err);
        if (rc == 1 && ch.n_deletes)
            sto_hbase__wait_for_clock(ch.ts_ms);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
}

int sto_hbase__tree_cas(struct sto_hbase *h, uint16_t tree, struct ts_slice expected, struct ts_slice value,
                        const struct sto_remote_call *call, struct ts_error *err)
{
    struct tree_call c;
    struct parts before, after;
    TS_TRY(begin(&c, h, tree, call, err));
    int rc = parts_of_record(&c, expected, &before, err);
    if (rc == 0)
        rc = parts_of_record(&c, value, &after, err);
    if (rc == 0)
        rc = swap(&c, &before, &after, err);
    end(&c);
    return rc;
}

/* --- which trees there are --- */

/* Find the first row of a tree with this id or a higher one. 1: no tree before *out_id has a row, and that one has
 * one (*out_is_tree) or branches alone; 0: there is none. */
static int next_tree(struct tree_call *c, unsigned from, unsigned *out_id, bool *out_is_tree,
                     struct ts_error *err)
{
    char start[STO_HBASE_TREE_BYTES] = {(char)(from >> 8), (char)(from & 255)};
    struct sto_thrift_column family = {.family = STO_HBASE_TREE_FAMILY};
    struct sto_thrift_scan scan = {
        .start = {start, sizeof start},
        .select = {.columns = &family,
                   .n_columns = 1,
                   .filter = TS_SLICE_LIT("FirstKeyOnlyFilter() AND KeyOnlyFilter()")},
        .caching = 1,
        .limit_rows = 1};
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    if (sto_thrift_call_get_scanner_results(&c->r, table_of(c), &scan, 1) < 0)
        return no_memory(err);
    TS_TRY(sto_hbase_call(&c->s, &c->r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    if (rc <= 0)
        return sto_hbase_error(rc, err);
    if (!row.row.n)
        return ts_error_set(err, TS_EBACKEND, "HBase has returned a row of trees without a key");
    *out_is_tree = row.row.n == STO_HBASE_TREE_BYTES;
    *out_id = (unsigned)(unsigned char)row.row.p[0] << 8;
    if (row.row.n >= STO_HBASE_TREE_BYTES)
        *out_id |= (unsigned char)row.row.p[1];
    else /* no row of OpenTSDB's, which lies before all others that begin alike */
        *out_id = *out_id > from ? *out_id - 1 : from;
    if (*out_id < from)
        return ts_error_set(err, TS_EBACKEND, "HBase has returned a row of trees that precedes the scan");
    return 1;
}

int sto_hbase__trees(struct sto_remote *r, const struct sto_remote_call *call,
                     bool (*each)(void *arg, uint16_t id), void *arg, struct ts_error *err)
{
    struct tree_call c;
    bool goes_on = true, is_tree = false;
    int rc = 1;
    TS_TRY(begin(&c, sto_hbase_of(r), 0, call, err));
    for (unsigned from = 1, id = 0; from <= UINT16_MAX && goes_on; from = id + 1) {
        rc = next_tree(&c, from, &id, &is_tree, err);
        if (rc != 1)
            break;
        if (is_tree)
            goes_on = each(arg, (uint16_t)id);
    }
    end(&c);
    return rc < 0 ? rc : 0;
}
