/*
 * fake_scan.c - which cells of a row a get or a scan returns, and scanners.
 */
#include "tests/hbase/fake_int.h"

#include <stdio.h>

#include "base/array.h"

/* Cells of one row that were selected. */
struct found {
    const struct fake_cell **cells;
    size_t n, cap;
    bool no_values;
};

void fake__result(const struct fake_table *t, struct ts_slice row, const struct fake_cell *const *cells,
                  size_t n, bool no_values, bool partial, struct ts_buf *out)
{
    if (row.p)
        sto_thrift_put_bytes(out, 1, row);
    sto_thrift_put_list(out, 2, STO_THRIFT_STRUCT, (int32_t)n);
    for (size_t i = 0; i < n; i++) {
        sto_thrift_put_bytes(out, 1, t->families[cells[i]->family].name);
        sto_thrift_put_bytes(out, 2, cells[i]->qualifier);
        sto_thrift_put_bytes(out, 3, no_values ? TS_SLICE_LIT("") : cells[i]->value);
        sto_thrift_put_i64(out, 4, cells[i]->ts_ms);
        sto_thrift_put_stop(out);
    }
    sto_thrift_put_bool(out, 3, false);
    sto_thrift_put_bool(out, 4, partial);
    sto_thrift_put_stop(out);
}

/* Is a column selected? As Get.addFamily and Get.addColumn: a family forgets its columns before it, a column forgets that all were
 * selected. */
static bool is_selected(const struct fake_table *t, const struct sto_thrift_select *s,
                        const struct fake_cell *c)
{
    bool yes = s->n_columns == 0;
    bool all = false;
    for (size_t i = 0; i < s->n_columns; i++) {
        if (!ts_slice_eq(s->columns[i].family, t->families[c->family].name))
            continue;
        if (!s->columns[i].qualifier.p) {
            yes = all = true;
        } else {
            yes = (yes && !all) || ts_slice_eq(s->columns[i].qualifier, c->qualifier);
            all = false;
        }
    }
    return yes;
}

static void select_cells(struct fake_hbase *f, const struct fake_table *t, const struct fake_row *r,
                         const struct sto_thrift_select *s, struct fake_filter *filter, struct found *out)
{
    int64_t now_ms = fake__now_ms(f);
    int32_t versions = 0;
    const struct fake_cell *last = NULL;
    out->n = 0;
    if (filter)
        fake__filter_row(filter);
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct fake_cell *c = &r->cells[i];
        int32_t kept = t->families[c->family].max_versions, wanted = s->max_versions ? s->max_versions : 1;
        if (s->to_ts_ms && (c->ts_ms < s->from_ts_ms || c->ts_ms >= s->to_ts_ms))
            continue;
        if (!is_selected(t, s, c) || !fake__is_visible(t, r, c, now_ms))
            continue;
        if (!last || last->family != c->family || !ts_slice_eq(last->qualifier, c->qualifier))
            versions = 0;
        last = c;
        if (++versions > (wanted < kept ? wanted : kept))
            continue;
        if (filter && !fake__filter_cell(filter, r->key, c, &out->no_values))
            continue;
        TS_ARRAY_GROW(out->cells, out->n, out->cap, 16);
        out->cells[out->n++] = c;
    }
}

/* False: a family that does not exist. */
static bool families_exist(const struct fake_table *t, const struct sto_thrift_select *s,
                           struct fake_error *e)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (fake__family(t, s->columns[i].family) == SIZE_MAX)
            fake__io_error(e, false,
                           "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family "
                           "%.*s does not exist in region %s,,1.0. in table '%s'",
                           (int)s->columns[i].family.n, s->columns[i].family.p, t->name, t->name);
    return e->kind == FAKE_FINE;
}

/* The filter of a request; NULL: it has none, or an error. */
static struct fake_filter *filter_of(const struct fake_hbase *f, struct ts_arena *arena,
                                     const struct sto_thrift_select *s, struct fake_error *e)
{
    if (s->filter_bytes.p && !f->is_old)
        return fake__filter_message(arena, s->filter_bytes, e);
    return s->filter.p ? fake__filter(arena, s->filter, e) : NULL;
}

void fake__get(struct fake_hbase *f, const struct fake_table *t, const struct sto_thrift_get *get,
               struct ts_buf *out, struct fake_error *e)
{
    struct ts_arena arena;
    struct fake_filter *filter = NULL;
    struct found found = {0};
    ts_arena_init(&arena, 0);
    filter = filter_of(f, &arena, &get->select, e);
    if (!get->row.n && e->kind == FAKE_FINE) {
        e->kind = FAKE_APPLICATION;
        (void)snprintf(e->text, sizeof e->text, "Internal error processing get");
    }
    const struct fake_row *r = fake__row(t, get->row);
    if (families_exist(t, &get->select, e) && r)
        select_cells(f, t, r, &get->select, filter, &found);
    fake__result(t, found.n ? r->key : (struct ts_slice){0}, found.cells, found.n, found.no_values, false,
                 out);
    ts_free(found.cells);
    fake__filter_release(filter);
    ts_arena_release(&arena);
}

/* --- scanners --- */

struct fake_scanner *fake__scanner_new(const struct fake_hbase *f, struct ts_slice message,
                                       struct fake_error *e)
{
    struct fake_scanner *s = ts_xcalloc(1, sizeof *s);
    enum sto_thrift_message type;
    struct ts_slice name;
    int32_t seq;
    ts_arena_init(&s->arena, 0);
    ts_buf_init(&s->last, 0);
    struct ts_slice own = {ts_arena_strndup(&s->arena, message.p, message.n), message.n};
    struct sto_thrift_in in = sto_thrift_in(own);
    sto_thrift_get_message(&in, &type, &name, &seq);
    fake__decode(&in, STO_THRIFT_OPEN_SCANNER, &s->arena, &s->args);
    s->filter = filter_of(f, &s->arena, &s->args.scan.select, e);
    if (e->kind == FAKE_FINE)
        return s;
    fake__scanner_free(s);
    return NULL;
}

void fake__scanner_free(struct fake_scanner *s)
{
    fake__filter_release(s->filter);
    ts_buf_release(&s->last);
    ts_arena_release(&s->arena);
    ts_free(s);
}

/* The row that comes next, beginning with the one that has not been sent whole; NULL: the end. */
static struct fake_row *next_row(const struct fake_table *t, const struct fake_scanner *s)
{
    const struct sto_thrift_scan *scan = &s->args.scan;
    struct ts_slice from = s->has_begun ? ts_buf_get(&s->last) : scan->start;
    bool itself = !s->has_begun || s->in_row || s->has_sought; /* from may be returned */
    size_t at = fake__row_at(t, from);
    bool hit = at < t->n_rows && ts_slice_eq(t->rows[at]->key, from);
    if (!scan->reversed)
        at += hit && !itself;
    else if (!s->has_begun && !from.n)
        at = t->n_rows - 1; /* SIZE_MAX in an empty table */
    else if (!hit || !itself)
        at--;
    if (at >= t->n_rows)
        return NULL;
    struct fake_row *r = t->rows[at];
    bool one = scan->start.n && ts_slice_eq(scan->start, scan->stop); /* HBase then includes the stop row */
    int d = ts_slice_cmp(r->key, scan->stop);
    d = scan->reversed ? -d : d;
    return scan->stop.n && (one ? d > 0 : d >= 0) ? NULL : r;
}

/* One more result; false: the end. */
static bool next_result(struct fake_hbase *f, const struct fake_table *t, struct fake_scanner *s,
                        struct found *found, struct ts_buf *out)
{
    const struct sto_thrift_scan *scan = &s->args.scan;
    for (;;) {
        bool goes_on = s->in_row;
        if (!goes_on && scan->limit_rows > 0 && s->n_rows >= scan->limit_rows)
            return false;
        const struct fake_row *r = next_row(t, s);
        if (!r)
            return false;
        struct ts_slice key = r->key, next;
        f->n_looked++;
        select_cells(f, t, r, &scan->select, s->filter, found);
        size_t from = goes_on && ts_slice_eq(key, ts_buf_get(&s->last)) ? s->n_sent : 0;
        size_t n = found->n > from ? found->n - from : 0;
        size_t sends = scan->batch_cells > 0 && n > (size_t)scan->batch_cells ? (size_t)scan->batch_cells : n;
        ts_buf_clear(&s->last);
        ts_buf_slice(&s->last, key);
        s->has_begun = true;
        s->in_row = sends < n;
        s->n_sent = from + sends;
        enum fake_seek seek = n || scan->reversed ? FAKE_SEEK_NONE : fake__filter_seek(s->filter, key, &next);
        s->has_sought = seek == FAKE_SEEK_ROW;
        if (seek == FAKE_SEEK_END)
            return false;
        if (s->has_sought) {
            ts_buf_clear(&s->last);
            ts_buf_slice(&s->last, next);
        }
        if (!n)
            continue;
        s->n_rows += from == 0;
        fake__result(t, key, found->cells + from, sends, found->no_values, s->in_row, out);
        return true;
    }
}

void fake__scanner_rows(struct fake_hbase *f, struct fake_scanner *s, int32_t n, struct ts_buf *out,
                        struct fake_error *e)
{
    const struct fake_table *t = fake__table_or(f, s->args.table, e);
    struct found found = {0};
    int32_t sent = 0;
    if (!t || !families_exist(t, &s->args.scan.select, e))
        return;
    size_t off = sto_thrift_put_list(out, 0, STO_THRIFT_STRUCT, 0);
    while (sent < n && next_result(f, t, s, &found, out))
        sent++;
    sto_thrift_set_i32(out, off, sent);
    ts_free(found.cells);
}
