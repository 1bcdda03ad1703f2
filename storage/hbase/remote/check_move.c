/*
 * check_move.c - moves a row to the salt bucket of its series.
 *
 * Cells keep their timestamps, so of two at one qualifier the one that was written last wins, as if both had been written to one row. Two append
 * columns become one, by compare-and-set. The row is read again to see that everything is there, because deletes of the past may hide it; only then the old cells
 * are deleted, up to the timestamps that were read: what another program writes to the old row meanwhile stays for the next run. Wherever the move is
 * interrupted, points are stored at worst twice, with the same values.
 */
#include "storage/hbase/remote/check_int.h"

#include "storage/hbase/columns.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/remote/ship_int.h"

#include <string.h>

/* A move. */
struct move {
    struct sto_hbase__checker *c;
    struct ts_slice from; /* key */
    uint8_t to[STO_HBASE_MAX_KEY_BYTES];
    size_t n_to;
    struct sto_hbase_cell *cells; /* of the old row, n of them; copies */
    size_t n;
    struct sto_thrift_cell *puts; /* n_puts of them */
    size_t n_puts;
    bool appends; /* the last of puts is the append column, which is not put, but changed */
};

static int no_key(struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL, "the key of a row cannot be made with another salt");
}

/* The key of the row with the salt of its series. */
static int make_key(struct move *m, struct ts_error *err)
{
    const struct sto_hbase_schema *schema = &m->c->x->h->opts.schema;
    struct sto_hbase_rowkey key;
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
    if (sto_hbase_rowkey_parse(schema, m->from, &key, NULL) < 0)
        return no_key(err);
    if (key.global) {
        m->n_to = sto_hbase_rowkey_global(schema, key.base_s, m->to);
    } else {
        size_t n = sto_hbase_tsuid_make(schema, &key.ids, tsuid);
        m->n_to = sto_hbase_rowkey_make(schema, (struct ts_slice){(const char *)tsuid, n}, key.base_s, m->to);
    }
    bool same = m->n_to == m->from.n && memcmp(m->to, m->from.p, m->n_to) == 0;
    return m->n_to != m->from.n || same ? no_key(err) : 0;
}

static int copy(struct move *m, struct ts_slice *text, struct ts_error *err)
{
    char *p = ts_arena_try(&m->c->arena, text->n + 1);
    if (!p)
        return sto_hbase__no_memory(err);
    if (text->n)
        memcpy(p, text->p, text->n);
    text->p = p;
    return 0;
}

/* Copy the cells of the old row. */
static int keep_cells(struct move *m, struct ts_error *err)
{
    struct sto_hbase__checker *c = m->c;
    m->n = c->n_cells;
    m->cells = ts_arena_try(&c->arena, (m->n + 1) * sizeof *m->cells);
    m->puts = m->cells ? ts_arena_try(&c->arena, (m->n + 1) * sizeof *m->puts) : NULL;
    if (!m->puts)
        return sto_hbase__no_memory(err);
    for (size_t i = 0; i < m->n; i++) {
        m->cells[i] = c->cells[i];
        TS_TRY(copy(m, &m->cells[i].qualifier, err));
        TS_TRY(copy(m, &m->cells[i].value, err));
    }
    return 0;
}

static const struct sto_hbase_cell *find(const struct sto_hbase__checker *c, struct ts_slice qualifier)
{
    for (size_t i = 0; i < c->n_cells; i++)
        if (ts_slice_eq(c->cells[i].qualifier, qualifier))
            return &c->cells[i];
    return NULL;
}

/* Join an append column with the one of the new row, if there is one: what was written last comes last, and counts. 1; 0: another writer came between. */
static int move_appends(struct move *m, const struct sto_hbase_cell *cell, struct ts_error *err)
{
    struct sto_hbase__checker *c = m->c;
    const struct sto_hbase_cell *there = find(c, cell->qualifier);
    struct sto_hbase__cell_id id = {c->x->table, c->key, STO_HBASE_FAMILY, cell->qualifier};
    struct ts_slice is = there ? there->value : (struct ts_slice){NULL, 0}, value = cell->value;
    int64_t ts_ms = there && there->ts_ms > cell->ts_ms ? there->ts_ms : cell->ts_ms;
    if (there) {
        bool newer = there->ts_ms >= cell->ts_ms;
        const struct ts_slice first = newer ? value : is, second = newer ? is : value;
        char *p = ts_arena_try(&c->arena, first.n + second.n + 1);
        if (!p)
            return sto_hbase__no_memory(err);
        memcpy(p, first.p, first.n);
        memcpy(p + first.n, second.p, second.n);
        value = (struct ts_slice){p, first.n + second.n};
        is.p = is.p ? is.p : "";
    }
    m->puts[m->n_puts++] = (struct sto_thrift_cell){STO_HBASE_FAMILY, cell->qualifier, value, ts_ms, true};
    m->appends = true;
    return sto_hbase__cell_change(&c->s, &c->request, &id, is, value, ts_ms, NULL, 0, err);
}

/* Write the cells to the new row, which was read. 1: all are there; 0. */
static int write_cells(struct move *m, struct ts_error *err)
{
    struct sto_hbase__checker *c = m->c;
    const struct sto_hbase_cell *appends = NULL;
    int done = 1;
    for (size_t i = 0; i < m->n; i++) {
        struct sto_hbase_cell *cell = &m->cells[i];
        const struct sto_hbase_cell *there = find(c, cell->qualifier);
        if (ts_slice_eq(cell->qualifier, STO_HBASE_APPENDS))
            appends = cell;
        else if (!there || there->ts_ms < cell->ts_ms)
            m->puts[m->n_puts++] =
                (struct sto_thrift_cell){STO_HBASE_FAMILY, cell->qualifier, cell->value, cell->ts_ms, true};
    }
    if (m->n_puts)
        TS_TRY(sto_hbase__put_cells(c, m->puts, m->n_puts, err));
    if (appends)
        done = move_appends(m, appends, err);
    if (done != 1)
        return done;
    TS_TRY(sto_hbase__row_read(c, err));
    for (size_t i = 0; i < m->n_puts && done; i++)
        done = sto_hbase__is_there(c, &m->puts[i]);
    return done;
}

static int delete_old(struct move *m, struct ts_error *err)
{
    struct sto_thrift_column *columns = ts_arena_try(&m->c->arena, (m->n + 1) * sizeof *columns);
    if (!columns)
        return sto_hbase__no_memory(err);
    for (size_t i = 0; i < m->n; i++)
        columns[i] =
            (struct sto_thrift_column){STO_HBASE_FAMILY, m->cells[i].qualifier, m->cells[i].ts_ms, true};
    return sto_hbase__delete_columns(m->c, columns, m->n, err);
}

int sto_hbase__move_row(struct sto_hbase__checker *c, bool *out_too_new, struct ts_error *err)
{
    struct move m = {.c = c, .from = c->key};
    int64_t limit_ms = sto_hbase__check_now_ms(c->x) - STO_HBASE_SETTLED_MS;
    for (size_t i = 0; i < c->n_cells; i++)
        if (c->cells[i].ts_ms > limit_ms) {
            *out_too_new = true;
            return 0;
        }
    TS_TRY(make_key(&m, err));
    TS_TRY(keep_cells(&m, err));
    c->key = (struct ts_slice){(const char *)m.to, m.n_to};
    int rc = sto_hbase__row_read(c, err);
    if (rc == 0)
        rc = write_cells(&m, err);
    c->key = m.from;
    c->n_cells = 0;
    if (rc == 1) {
        int deleted = delete_old(&m, err);
        rc = deleted < 0 ? deleted : 1;
    }
    return rc;
}
