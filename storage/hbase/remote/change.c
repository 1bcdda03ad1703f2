/*
 * change.c - plans changes of rows of the data table.
 */
#include "storage/hbase/remote/change.h"

#include <string.h>

#include "storage/hbase/bigendian.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/qualifier.h"
#include "storage/hbase/value.h"

enum cell_kind { SINGLE, COMPACTED, APPENDS, OTHER };
/* A cell that was read. */
struct old_cell {
    enum cell_kind kind;
    bool damaged;  /* it has points that cannot be read, and stays */
    bool touched;  /* a point of it changes */
    bool replaced; /* its qualifier is put */
};
#define HOME_OWN     UINT32_MAX       /* a cell of its own */
#define HOME_APPENDS (UINT32_MAX - 1) /* the append column */
/* A point that is written. */
struct new_point {
    struct sto_hbase_entry e;
    uint32_t home;  /* index of the compacted column that it stays in, or HOME_... */
    bool unchanged; /* it is not written after all */
};
struct plan {
    struct sto_hbase_change *c;
    const struct sto_hbase_cell *cells;
    size_t n_cells;
    const struct sto_hbase_wish *wish;
    struct old_cell *old; /* n_cells of them */
    struct new_point *wanted;
    size_t n_wanted;
    const struct sto_hbase_entry *entries; /* of the row, sorted */
    size_t n_entries;
    bool *gone;                   /* of each entry: it does not stay in its cell */
    bool has_appends, has_damage; /* in the row */
    bool contradicts;             /* points that are not changed contradict each other */
};

/* --- points --- */

static bool same_point(const struct sto_hbase_entry *a, const struct sto_hbase_entry *b)
{
    return a->ms == b->ms && a->is_float == b->is_float && a->length == b->length &&
           ((a->raw ^ b->raw) << (64 - 8 * a->length)) == 0;
}

static struct sto_hbase_entry entry_of(uint32_t meta, int64_t m)
{
    struct sto_hbase_point p;
    struct sto_hbase_qualifier q = {0};
    sto_hbase_encode_point(meta, m, &p);
    (void)sto_hbase_qualifier_parse(p.qualifier, p.n_qualifier, &q);
    bool is_float = q.flags & STO_HBASE_FLOAT;
    return (struct sto_hbase_entry){.off_ms = q.off_ms & STO_META_OFF_MASK,
                                    .ms = q.n == 4,
                                    .is_float = is_float,
                                    .length = (unsigned)p.n_value & 15,
                                    .raw = sto_hbase_value_load(p.value, p.n_value, is_float)};
}

void sto_hbase_entry_put(const struct sto_hbase_entry *e, uint8_t **qualifier, uint8_t **value)
{
    uint32_t flags = (e->is_float ? STO_HBASE_FLOAT : 0) | (e->length - 1u);
    if (e->ms)
        *qualifier = sto_hbase_put(*qualifier,
                                   (uint32_t)STO_HBASE_MS_BYTE << 24 | (uint32_t)e->off_ms << 6 | flags, 4);
    else
        *qualifier = sto_hbase_put(*qualifier, e->off_ms / 1000u << 4 | flags, 2);
    *value = sto_hbase_put(*value, e->raw, e->length);
}

static void *take(struct plan *p, size_t n, size_t n_bytes, struct ts_error *err)
{
    void *got = ts_arena_try(&p->c->arena, n * n_bytes + 1);
    if (got)
        memset(got, 0, n * n_bytes);
    else
        (void)ts_error_set(err, TS_ELIMIT, "there is no memory for a change of a row of %zu points", n);
    return got;
}

/* --- the row that was read --- */

static enum cell_kind kind_of(struct ts_slice q)
{
    struct sto_hbase_qualifier first;
    if (ts_slice_eq(q, STO_HBASE_APPENDS))
        return APPENDS;
    if (q.n == 0 || q.n % 2 || !sto_hbase_qualifier_parse((const uint8_t *)q.p, q.n, &first))
        return OTHER;
    return first.n == q.n ? SINGLE : COMPACTED;
}

bool sto_hbase_is_points(struct ts_slice qualifier)
{
    return kind_of(qualifier) != OTHER;
}

static void on_finding(void *arg, size_t cell, enum sto_hbase_finding finding, const char *text)
{
    struct plan *p = arg;
    (void)text;
    p->old[cell].damaged = p->old[cell].damaged || finding == STO_HBASE_DAMAGED;
}

static int read_row(struct plan *p, struct ts_error *err)
{
    struct sto_hbase_change *c = p->c;
    struct sto_hbase_visitor visitor = {.finding = on_finding, .arg = p};
    p->old = take(p, p->n_cells, sizeof *p->old, err);
    if (!p->old)
        return TS_ELIMIT;
    TS_TRY(sto_hbase_columns_decode(&c->columns, p->cells, p->n_cells, &visitor, err));
    p->entries = c->columns.entries;
    p->n_entries = c->columns.n_entries;
    for (size_t i = 0; i < p->n_cells; i++) {
        p->old[i].kind = kind_of(p->cells[i].qualifier);
        p->has_appends = p->has_appends || p->old[i].kind == APPENDS;
        p->has_damage = p->has_damage || p->old[i].damaged;
        c->newest_ms = p->cells[i].ts_ms > c->newest_ms ? p->cells[i].ts_ms : c->newest_ms;
    }
    p->gone = take(p, p->n_entries, sizeof *p->gone, err);
    return p->gone ? 0 : TS_ELIMIT;
}

/* --- what changes --- */

static size_t group_end(const struct plan *p, size_t i)
{
    size_t end = i + 1;
    while (end < p->n_entries && p->entries[end].off_ms == p->entries[i].off_ms)
        end++;
    return end;
}

/* All entries of [i, end), which have one time, leave their cells. */
static void leave(struct plan *p, size_t i, size_t end)
{
    for (; i < end; i++) {
        p->gone[i] = true;
        p->old[p->entries[i].cell].touched = true;
    }
    p->c->n_points++;
}

/* Do all cells that have a point in the entries [i, end), which have one time, have this one? In an append column the last one counts. */
static bool all_equal(const struct plan *p, size_t i, size_t end, const struct sto_hbase_entry *e)
{
    bool appended = false;
    for (size_t k = end; k-- > i;) {
        bool is_append = p->old[p->entries[k].cell].kind == APPENDS;
        if (!(is_append && appended) && !same_point(&p->entries[k], e))
            return false;
        appended = appended || is_append;
    }
    return true;
}

/* A cell of its own is written for a point: is it this one? */
static void note_replaced(struct plan *p, uint32_t cell, const struct sto_hbase_entry *e)
{
    uint8_t q[4], v[8], *q_end = q, *v_end = v;
    sto_hbase_entry_put(e, &q_end, &v_end);
    if (ts_slice_eq(p->cells[cell].qualifier, (struct ts_slice){(char *)q, (size_t)(q_end - q)}))
        p->old[cell].replaced = true;
}

/* A point is written at the time of the entries [i, end). */
static void replace(struct plan *p, struct new_point *w, size_t i, size_t end)
{
    const struct sto_hbase_entry *last = &p->entries[end - 1];
    if (p->wish->settles && p->cells[last->cell].ts_ms > p->wish->known_ms)
        w->e = *last;
    w->unchanged = all_equal(p, i, end, &w->e);
    if (w->unchanged)
        return;
    for (size_t k = end; k-- > i;) {
        uint32_t cell = p->entries[k].cell;
        if (p->old[cell].kind == APPENDS)
            w->home = HOME_APPENDS;
        else if (p->old[cell].kind == COMPACTED && !p->old[cell].damaged && w->home != HOME_APPENDS)
            w->home = cell;
    }
    for (size_t k = i; k < end && w->home == HOME_OWN; k++)
        note_replaced(p, p->entries[k].cell, &w->e);
    leave(p, i, end);
}

/* Decide for every point of the row and every one that is wanted. */
static void compare(struct plan *p)
{
    const struct sto_hbase_wish *wish = p->wish;
    size_t at = 0;
    for (size_t i = 0, end; i < p->n_entries; i = end) {
        uint32_t off = p->entries[i].off_ms;
        end = group_end(p, i);
        for (; at < p->n_wanted && p->wanted[at].e.off_ms < off; at++)
            p->c->n_points++;
        if (at < p->n_wanted && p->wanted[at].e.off_ms == off) {
            replace(p, &p->wanted[at++], i, end);
        } else if (wish->removes && off >= wish->from_off && off <= wish->to_off) {
            leave(p, i, end);
        } else {
            p->contradicts = p->contradicts || !all_equal(p, i, end, &p->entries[end - 1]);
        }
    }
    p->c->n_points += (uint32_t)(p->n_wanted - at);
}

/* --- what is written --- */

static void add_put(struct sto_hbase_change *c, struct ts_slice qualifier, struct ts_slice value)
{
    c->puts[c->n_puts++] =
        (struct sto_thrift_cell){.family = STO_HBASE_FAMILY, .qualifier = qualifier, .value = value};
}

static void add_delete(struct plan *p, size_t cell)
{
    p->c->deletes[p->c->n_deletes++] = (struct sto_thrift_column){.family = STO_HBASE_FAMILY,
                                                                  .qualifier = p->cells[cell].qualifier,
                                                                  .ts_ms = p->cells[cell].ts_ms,
                                                                  .has_ts = true};
}

/* Write points, sorted, each time once: as one column, or as cells of their own if that would be too large or is not wanted. */
static int put_points(struct plan *p, const struct sto_hbase_entry *e, size_t n, bool as_one,
                      struct ts_error *err)
{
    uint8_t *q = take(p, n, 4, err), *v = q ? take(p, n + 1, 8, err) : NULL;
    if (!v)
        return TS_ELIMIT;
    uint8_t *q_begin = q, *v_begin = v;
    size_t n_ms = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t *q_at = q, *v_at = v;
        n_ms += e[i].ms;
        sto_hbase_entry_put(&e[i], &q, &v);
        if (!as_one || n == 1)
            add_put(p->c, (struct ts_slice){(char *)q_at, (size_t)(q - q_at)},
                    (struct ts_slice){(char *)v_at, (size_t)(v - v_at)});
    }
    if (!as_one || n <= 1)
        return 0;
    *v++ = n_ms && n_ms < n;
    add_put(p->c, (struct ts_slice){(char *)q_begin, (size_t)(q - q_begin)},
            (struct ts_slice){(char *)v_begin, (size_t)(v - v_begin)});
    return 0;
}

static size_t column_bytes(const struct sto_hbase_entry *e, size_t n)
{
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += (e[i].ms ? 4u : 2u) + e[i].length;
    return bytes;
}

/* Write the rest of a compacted or append column with the new values that stay in it, and remove the old one. */
static int rewrite(struct plan *p, uint32_t cell, const struct sto_hbase_entry *rest, size_t n,
                   struct ts_error *err)
{
    size_t before = p->c->n_puts;
    p->c->guard = p->c->guard ? p->c->guard : &p->cells[cell];
    TS_TRY(put_points(p, rest, n, column_bytes(rest, n) <= STO_HBASE_MAX_COMPACTED_BYTES, err));
    for (size_t i = before; i < p->c->n_puts; i++)
        p->c->puts[i].ts_ms = p->cells[cell].ts_ms;
    bool replaced =
        p->c->n_puts == before + 1 && ts_slice_eq(p->c->puts[before].qualifier, p->cells[cell].qualifier);
    if (!replaced)
        add_delete(p, cell);
    return 0;
}

/* Must a column with several points be written anew? */
static bool is_rewritten(const struct plan *p, uint32_t cell)
{
    const struct old_cell *old = &p->old[cell];
    return old->touched && !old->damaged &&
           (old->kind == COMPACTED || (old->kind == APPENDS && p->wish->removes));
}

/* Add a point to the column that it stays in; n[cell] points of it are there. */
static void stay(const struct plan *p, uint32_t cell, const struct sto_hbase_entry *e,
                 struct sto_hbase_entry **rest, size_t *n)
{
    if (!is_rewritten(p, cell))
        return;
    n[cell] -=
        n[cell] && rest[cell][n[cell] - 1].off_ms == e->off_ms; /* twice in a column: the later one counts */
    rest[cell][n[cell]++] = *e;
}

/* Collect the points of all columns that are written anew, and write them. */
static int rewrite_columns(struct plan *p, struct ts_error *err)
{
    struct sto_hbase_entry *all = take(p, p->n_entries + p->n_wanted, sizeof *all, err), **rest = NULL;
    size_t *n = all ? take(p, p->n_cells, sizeof *n, err) : NULL, at = 0;
    rest = n ? take(p, p->n_cells, sizeof *rest, err) : NULL;
    if (!rest)
        return TS_ELIMIT;
    for (size_t i = 0; i < p->n_entries; i++) /* a point that is written has an entry in its column */
        n[p->entries[i].cell]++;
    for (uint32_t i = 0; i < p->n_cells; i++) {
        rest[i] = all;
        all += n[i];
        n[i] = 0;
    }
    for (size_t i = 0, end; i < p->n_entries; i = end) {
        end = group_end(p, i);
        for (; at < p->n_wanted && p->wanted[at].e.off_ms <= p->entries[i].off_ms; at++)
            if (p->wanted[at].home < p->n_cells && !p->wanted[at].unchanged)
                stay(p, p->wanted[at].home, &p->wanted[at].e, rest, n);
        for (size_t k = i; k < end && !p->gone[i]; k++) /* the column becomes newer than the other cells */
            stay(p, p->entries[k].cell, &p->entries[end - 1], rest, n);
    }
    for (uint32_t i = 0; i < p->n_cells; i++)
        if (is_rewritten(p, i))
            TS_TRY(rewrite(p, i, rest[i], n[i], err));
    return 0;
}

/* Change the cells that have points which change. */
static int change_cells(struct plan *p, struct ts_error *err)
{
    for (size_t i = 0; i < p->n_wanted; i++)
        if (!p->wanted[i].unchanged && p->wanted[i].home == HOME_OWN)
            TS_TRY(put_points(p, &p->wanted[i].e, 1, false, err));
    TS_TRY(rewrite_columns(p, err));
    for (uint32_t i = 0; i < p->n_cells; i++)
        if (p->old[i].touched && p->old[i].kind == SINGLE && !p->old[i].damaged && !p->old[i].replaced)
            add_delete(p, i);
    return 0;
}

/* Points for the append column. */
static int change_appends(struct plan *p, struct ts_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_wanted; i++)
        n += p->wanted[i].home == HOME_APPENDS && !p->wanted[i].unchanged;
    if (n == 0)
        return 0;
    uint8_t *begin = take(p, n, 12, err), *at = begin;
    if (!begin)
        return TS_ELIMIT;
    for (size_t i = 0; i < p->n_wanted; i++) {
        const struct new_point *w = &p->wanted[i];
        uint8_t q[4], v[8], *q_end = q, *v_end = v;
        if (w->home != HOME_APPENDS || w->unchanged)
            continue;
        sto_hbase_entry_put(&w->e, &q_end, &v_end);
        memcpy(at, q, (size_t)(q_end - q));
        at += q_end - q;
        memcpy(at, v, (size_t)(v_end - v));
        at += v_end - v;
    }
    p->c->append = (struct ts_slice){(char *)begin, (size_t)(at - begin)};
    return 0;
}

/* --- one column for all --- */

/* The points of the row after the change; returns how many there are. */
static size_t all_points(const struct plan *p, struct sto_hbase_entry *out)
{
    size_t n = 0, at = 0;
    for (size_t i = 0, end; i < p->n_entries; i = end) {
        end = group_end(p, i);
        for (; at < p->n_wanted && p->wanted[at].e.off_ms <= p->entries[i].off_ms; at++)
            if (p->wanted[at].e.off_ms < p->entries[i].off_ms || p->gone[i])
                out[n++] = p->wanted[at].e;
        if (!p->gone[i])
            out[n++] = p->entries[end - 1];
    }
    for (; at < p->n_wanted; at++)
        out[n++] = p->wanted[at].e;
    return n;
}

/* 1: planned; 0: the row cannot become one column. */
static int compact(struct plan *p, struct ts_error *err)
{
    if (!p->wish->compacts || p->wish->settles || p->wish->removes || p->has_appends || p->has_damage ||
        p->contradicts)
        return 0;
    struct sto_hbase_entry *all = take(p, p->n_entries + p->n_wanted, sizeof *all, err);
    if (!all)
        return TS_ELIMIT;
    size_t n = all_points(p, all), n_points = 0, same = p->n_cells;
    if (n == 0 || column_bytes(all, n) > STO_HBASE_MAX_COMPACTED_BYTES)
        return 0;
    TS_TRY(put_points(p, all, n, true, err));
    for (size_t i = 0; i < p->n_cells; i++)
        if (p->old[i].kind != OTHER) {
            p->c->guard = p->old[i].kind == COMPACTED && !p->c->guard ? &p->cells[i] : p->c->guard;
            n_points++;
            if (!ts_slice_eq(p->cells[i].qualifier, p->c->puts[0].qualifier))
                add_delete(p, i);
            else if (ts_slice_eq(p->cells[i].value, p->c->puts[0].value))
                same = i;
        }
    if (n_points == 1 && same < p->n_cells)
        p->c->n_puts = 0;
    return 1;
}

/* --- */

static int want(struct plan *p, struct ts_error *err)
{
    const struct sto_cells *points = p->wish->points;
    if (!points)
        return 0;
    p->wanted = take(p, points->n, sizeof *p->wanted, err);
    if (!p->wanted)
        return TS_ELIMIT;
    for (uint32_t i = 0; i < points->n; i++)
        p->wanted[i] = (struct new_point){.e = entry_of(points->meta[i], points->m[i]), .home = HOME_OWN};
    p->n_wanted = points->n;
    return 0;
}

void sto_hbase_change_init(struct sto_hbase_change *c, struct ts_budget *memory)
{
    *c = (struct sto_hbase_change){.n_puts = 0};
    ts_arena_init(&c->arena, 16u << 10);
    c->arena.budget = memory;
    sto_hbase_columns_init(&c->columns, memory);
}

void sto_hbase_change_release(struct sto_hbase_change *c)
{
    ts_arena_release(&c->arena);
    sto_hbase_columns_release(&c->columns);
    c->n_puts = c->n_deletes = 0;
    c->append = (struct ts_slice){0};
}

int sto_hbase_change_plan(struct sto_hbase_change *c, const struct sto_hbase_cell *cells, size_t n,
                          const struct sto_hbase_wish *wish, struct ts_error *err)
{
    struct plan p = {.c = c, .cells = cells, .n_cells = n, .wish = wish};
    ts_arena_release(&c->arena);
    c->n_puts = c->n_deletes = 0;
    c->n_points = 0;
    c->guard = NULL;
    c->append = (struct ts_slice){0};
    c->newest_ms = INT64_MIN;
    TS_TRY(read_row(&p, err));
    TS_TRY(want(&p, err));
    compare(&p);
    c->deletes = take(&p, n, sizeof *c->deletes, err);
    c->puts = c->deletes ? take(&p, p.n_entries + 2 * p.n_wanted + n, sizeof *c->puts, err) : NULL;
    if (!c->puts)
        return TS_ELIMIT;
    int rc = compact(&p, err);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    TS_TRY(change_cells(&p, err));
    return change_appends(&p, err);
}

int sto_hbase_change_request(const struct sto_hbase_change *c, struct ts_slice table, struct ts_slice row,
                             const struct sto_thrift_mutation *steps, size_t n,
                             struct sto_thrift_request *out)
{
    if (!c->guard)
        return sto_thrift_call_mutate_row(out, table, row, steps, n);
    const struct sto_thrift_check check = {.row = row,
                                           .family = STO_HBASE_FAMILY,
                                           .compare = STO_THRIFT_EQUAL,
                                           .qualifier = c->guard->qualifier,
                                           .value = c->guard->value};
    return sto_thrift_call_check_and_mutate(out, table, &check, steps, n);
}
