/*
 * metadata_purge.c - deletes OpenTSDB's metadata, and its branches of trees.
 */
#include "base/mem.h"
#include "storage/hbase/metatable.h"
#include "storage/hbase/remote/metadata.h"
#include "storage/hbase/remote/metadata_int.h"
#include "storage/hbase/treetable.h"
#include "storage/hbase/uidtable.h"

#include <string.h>

#define BATCH 500 /* rows of a delete */

/* Which cells are deleted. */
struct purge {
    struct sto_hbase__walk w; /* first member */
    struct sto_hbase_metadata_counts *counts;
    const char *table;
    bool (*wanted)(const struct purge *p, struct ts_slice row, struct ts_slice qualifier);
    uint16_t tree;
    bool definition;
};

static int send_deletes(struct purge *p, size_t n_rows, struct ts_error *err)
{
    struct sto_hbase__walk *w = &p->w;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row left;
    if (n_rows == 0)
        return 0;
    if (sto_thrift_batch_end(&w->r) < 0)
        return sto_hbase__walk_no_memory(err);
    TS_TRY(sto_hbase_call(&w->s, &w->r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &left, err);
    return rc == 1 ? ts_error_set(err, TS_EBACKEND, "HBase has not deleted all cells of table %s", p->table)
                   : sto_hbase_error(rc, err);
}

/* A copy of what a page has to be deleted: requests are sent only when it is read. */
struct deleted_row {
    struct ts_slice row;
    struct sto_thrift_column *columns;
    size_t n;
};

/* The cells of a row that are wanted. */
static int take_row(struct purge *p, struct sto_thrift_row *row, struct ts_slice family,
                    struct deleted_row *out, struct ts_error *err)
{
    struct sto_hbase__walk *w = &p->w;
    struct sto_thrift_cell cell;
    size_t most = row->n_left;
    int rc;
    *out = (struct deleted_row){.row = sto_hbase__walk_keep(w, row->row),
                                .columns = ts_arena_alloc(&w->arena, (most + 1) * sizeof *out->columns)};
    while ((rc = sto_thrift_row_next(row, &cell, err)) == 1 && out->n < most)
        if (p->wanted(p, row->row, cell.qualifier))
            out->columns[out->n++] =
                (struct sto_thrift_column){.family = family,
                                           .qualifier = sto_hbase__walk_keep(w, cell.qualifier),
                                           .ts_ms = cell.ts_ms,
                                           .has_ts = true};
    return rc < 0 ? rc : 0;
}

static int purge_page(struct sto_hbase__walk *w, struct sto_thrift_items *rows, struct ts_slice *last,
                      size_t *n, struct ts_error *err)
{
    struct purge *p = (struct purge *)(void *)w;
    struct ts_slice family =
        p->table == w->h->opts.tables.tree ? STO_HBASE_TREE_FAMILY : TS_SLICE_LIT("name");
    struct deleted_row *list = ts_xcalloc(STO_HBASE__WALK_ROWS, sizeof *list);
    struct sto_thrift_row row;
    int rc;
    ts_arena_release(&w->arena);
    while ((rc = sto_thrift_row(rows, &row, err)) == 1 && *n < STO_HBASE__WALK_ROWS) {
        rc = take_row(p, &row, family, &list[*n], err);
        if (rc < 0)
            break;
        *last = list[(*n)++].row;
    }
    for (size_t at = 0; at < *n && rc >= 0;) {
        size_t n_rows = 0, n_cells = 0;
        sto_thrift_batch_begin(&w->r, STO_THRIFT_DELETE_MULTIPLE, ts_slice_str(p->table));
        for (; at < *n && n_rows < BATCH; at++) {
            if (list[at].n == 0)
                continue;
            sto_thrift_batch_delete(&w->r, &(struct sto_thrift_delete){.row = list[at].row,
                                                                       .columns = list[at].columns,
                                                                       .n_columns = list[at].n,
                                                                       .type = STO_THRIFT_DELETE_COLUMNS});
            n_rows++;
            n_cells += list[at].n;
        }
        rc = send_deletes(p, n_rows, err);
        p->counts->n_deleted += rc == 0 ? n_cells : 0;
    }
    ts_free(list);
    return rc < 0 ? rc : 0;
}

static bool is_name_metadata(const struct purge *p, struct ts_slice row, struct ts_slice qualifier)
{
    (void)p, (void)row;
    return ts_slice_eq(qualifier, sto_hbase_uid_document(STO_REMOTE_METRIC)) ||
           ts_slice_eq(qualifier, sto_hbase_uid_document(STO_REMOTE_TAGK)) ||
           ts_slice_eq(qualifier, sto_hbase_uid_document(STO_REMOTE_TAGV));
}

static bool is_series_metadata(const struct purge *p, struct ts_slice row, struct ts_slice qualifier)
{
    (void)p, (void)row;
    return ts_slice_eq(qualifier, STO_HBASE_META_DOCUMENT) || ts_slice_eq(qualifier, STO_HBASE_META_COUNTER);
}

int sto_hbase_metapurge(struct sto_remote *r, const struct sto_remote_call *call,
                        struct sto_hbase_metadata_counts *out, struct ts_error *err)
{
    struct purge p = {.counts = out, .wanted = is_name_metadata};
    struct sto_thrift_column name = {.family = STO_HBASE_META_FAMILY}; /* of both tables */
    struct ts_slice all = {NULL, 0};
    TS_TRY(sto_hbase__walk_begin(&p.w, r, call, err));
    p.table = p.w.h->opts.tables.uid;
    int rc = sto_hbase__walk_pages(&p.w, p.table, &name, "KeyOnlyFilter()", all, purge_page, err);
    ts_buf_clear(&p.w.start);
    p.table = p.w.h->opts.tables.meta;
    p.wanted = is_series_metadata;
    if (rc == 0)
        rc = sto_hbase__walk_pages(&p.w, p.table, &name, "KeyOnlyFilter()", all, purge_page, err);
    sto_hbase__walk_end(&p.w);
    return rc;
}

static bool is_of_tree(const struct purge *p, struct ts_slice row, struct ts_slice qualifier)
{
    int64_t level, order;
    return p->definition || row.n != STO_HBASE_TREE_BYTES ||
           (!ts_slice_eq(qualifier, STO_HBASE_TREE_DEFINITION) &&
            sto_hbase_rule_parse(qualifier, &level, &order) < 0);
}

int sto_hbase_treepurge(struct sto_remote *r, uint16_t tree, bool definition,
                        const struct sto_remote_call *call, struct sto_hbase_metadata_counts *out,
                        struct ts_error *err)
{
    struct purge p = {.counts = out, .wanted = is_of_tree, .tree = tree, .definition = definition};
    struct sto_thrift_column family = {.family = STO_HBASE_TREE_FAMILY};
    const char start[] = {(char)(tree >> 8), (char)(tree & 255)};
    const char after[] = {(char)((tree + 1) >> 8 & 255), (char)((tree + 1) & 255)};
    struct ts_slice stop = {after, tree == UINT16_MAX ? 0 : sizeof after};
    TS_TRY(sto_hbase__walk_begin(&p.w, r, call, err));
    p.table = p.w.h->opts.tables.tree;
    int rc = ts_buf_append(&p.w.start, start, sizeof start) < 0 ? sto_hbase__walk_no_memory(err) : 0;
    if (rc == 0)
        rc = sto_hbase__walk_pages(&p.w, p.table, &family, "KeyOnlyFilter()", stop, purge_page, err);
    sto_hbase__walk_end(&p.w);
    return rc;
}
