/*
 * rollup_cells.c - filters for cells of rollups, and plans of their changes.
 */
#include "storage/hbase/remote/rollup_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MOST_PREFIXES 48 /* of a filter */

/* --- selecting --- */

bool sto_hbase_rollup_part(const struct sto_hbase_rollup *shape, uint32_t base_s, uint64_t first_s,
                           uint64_t last_s, uint32_t *out_first, uint32_t *out_last)
{
    uint64_t next_s = sto_hbase_rollup_next(shape, base_s), step_s = shape->interval_s;
    uint64_t from_s = first_s > base_s ? first_s : base_s, to_s = last_s < next_s ? last_s : next_s - 1;
    if (from_s > to_s || to_s < base_s)
        return false;
    uint64_t first = (from_s - base_s + step_s - 1) / step_s, last = (to_s - base_s) / step_s;
    if (first > last)
        return false;
    *out_first = (uint32_t)first;
    *out_last = (uint32_t)last;
    return true;
}

/* Append one prefix in quotes: id or name, and the upper 8 bits of the index, unless all are wanted. */
static void put_prefix(struct ts_buf *out, struct ts_slice begin, bool has_high, uint32_t high, size_t *n)
{
    char bytes[200];
    size_t n_bytes = begin.n < sizeof bytes - 1 ? begin.n : sizeof bytes - 1;
    memcpy(bytes, begin.p, n_bytes);
    if (has_high)
        bytes[n_bytes++] = (char)high;
    ts_buf_str(out, (*n)++ ? ",'" : "'");
    for (size_t i = 0; i < n_bytes; i++) {
        if (bytes[i] == '\'')
            ts_buf_char(out, '\'');
        ts_buf_char(out, bytes[i]);
    }
    ts_buf_char(out, '\'');
}

/* The beginnings of the qualifiers of a function: its id, and its name in small letters and in capitals with a colon. */
static void put_function(struct ts_buf *out, const struct sto_hbase_rollup_cells *c, bool has_high,
                         uint32_t high, size_t *n)
{
    char id = (char)c->place->function, names[2][80];
    size_t n_name = strlen(c->place->function_name);
    put_prefix(out, (struct ts_slice){&id, 1}, has_high, high, n);
    for (int upper = 0; upper < 2; upper++) {
        for (size_t i = 0; i < n_name; i++) {
            char ch = c->place->function_name[i];
            names[upper][i] = (char)(upper && ch >= 'a' && ch <= 'z' ? ch - 32 : ch);
        }
        names[upper][n_name] = ':';
        put_prefix(out, (struct ts_slice){names[upper], n_name + 1}, has_high, high, n);
    }
}

void sto_hbase_rollup_filter(const struct sto_hbase_rollup_cells *list, size_t n, struct ts_buf *out)
{
    size_t n_all = 0, n_put = 0;
    for (size_t i = 0; i < n; i++)
        n_all += 3 * ((list[i].last >> 4) - (list[i].first >> 4) + 1);
    bool has_high = n_all <= MOST_PREFIXES; /* 16 intervals have the upper 8 bits of their index in common */
    if (!has_high && 3 * n > MOST_PREFIXES)
        return;
    ts_buf_str(out, "MultipleColumnPrefixFilter(");
    for (size_t i = 0; i < n; i++) {
        uint32_t last = has_high ? list[i].last >> 4 : list[i].first >> 4;
        for (uint32_t high = list[i].first >> 4; high <= last; high++)
            put_function(out, &list[i], has_high, high, &n_put);
    }
    ts_buf_char(out, ')');
}

bool sto_hbase_rollup_is(const struct sto_hbase_rollup_place *place, struct ts_slice qualifier,
                         uint32_t *out_index, uint8_t *out_flags)
{
    struct sto_hbase_rollup_cell cell;
    if (sto_hbase_rollup_parse_qualifier(qualifier, &cell, NULL) < 0)
        return false;
    *out_index = cell.index;
    *out_flags = cell.flags;
    return cell.function >= 0 ? cell.function == place->function
                              : ts_slice_is_nocase(cell.name, place->function_name);
}

/* --- changing --- */

/* A cell that was read, of an interval. */
struct old {
    uint32_t function; /* in the wish */
    uint32_t index;    /* of the interval */
    const struct sto_hbase_cell *cell;
};
/* A plan under way. */
struct plan {
    struct sto_hbase_change *c;
    const struct sto_hbase_rollup_wish *wish;
    struct old *old; /* by function, interval and age */
    size_t n_old, at;
};

static int cmp_old(const void *pa, const void *pb)
{
    const struct old *a = pa, *b = pb;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->cell->ts_ms != b->cell->ts_ms)
        return a->cell->ts_ms < b->cell->ts_ms ? -1 : 1;
    return ts_slice_cmp(a->cell->qualifier, b->cell->qualifier);
}

static void *take(struct sto_hbase_change *c, size_t n, size_t size, struct ts_error *err)
{
    void *got = ts_arena_try(&c->arena, n * size + 1);
    if (!got)
        (void)ts_error_set(err, TS_ELIMIT, "there is no memory for a change of a row of %zu rollups", n);
    return got;
}

static int list_old(struct plan *p, const struct sto_hbase_cell *cells, size_t n, struct ts_error *err)
{
    p->old = take(p->c, n, sizeof *p->old, err);
    if (!p->old)
        return TS_ELIMIT;
    for (size_t i = 0; i < n; i++) {
        struct old o = {.cell = &cells[i]};
        uint8_t flags;
        p->c->newest_ms = cells[i].ts_ms > p->c->newest_ms ? cells[i].ts_ms : p->c->newest_ms;
        for (; o.function < p->wish->n; o.function++)
            if (sto_hbase_rollup_is(p->wish->list[o.function].place, cells[i].qualifier, &o.index, &flags))
                break;
        if (o.function < p->wish->n)
            p->old[p->n_old++] = o;
    }
    if (p->n_old)
        qsort(p->old, p->n_old, sizeof *p->old, cmp_old);
    return 0;
}

static void delete_cell(struct plan *p, const struct sto_hbase_cell *cell)
{
    p->c->deletes[p->c->n_deletes++] = (struct sto_thrift_column){
        .family = STO_HBASE_FAMILY, .qualifier = cell->qualifier, .ts_ms = cell->ts_ms, .has_ts = true};
}

/* The interval of a point: old[from, to) are its cells. bytes: 3 of the qualifier, 8 of the value. */
static void plan_point(struct plan *p, size_t from, size_t to, const struct ts_slice *qualifier,
                       const struct ts_slice *value)
{
    const struct sto_hbase_cell *stays = NULL;
    if (p->wish->settles && to > from && p->old[to - 1].cell->ts_ms > p->wish->known_ms)
        stays = p->old[to - 1].cell;
    for (size_t i = from; i < to && !stays; i++)
        if (ts_slice_eq(p->old[i].cell->qualifier, *qualifier) && ts_slice_eq(p->old[i].cell->value, *value))
            stays = p->old[i].cell;
    for (size_t i = from; i < to; i++)
        if (p->old[i].cell != stays && !(!stays && ts_slice_eq(p->old[i].cell->qualifier, *qualifier)))
            delete_cell(p, p->old[i].cell);
    if (stays)
        return;
    p->c->puts[p->c->n_puts++] =
        (struct sto_thrift_cell){.family = STO_HBASE_FAMILY, .qualifier = *qualifier, .value = *value};
    p->c->n_points++;
}

static void plan_function(struct plan *p, uint32_t function, uint8_t *bytes)
{
    const struct sto_hbase_rollup_cells *want = &p->wish->list[function];
    const struct sto_hbase_rollup *shape = want->place->shape;
    for (uint32_t i = 0; i < want->points->n; i++, bytes += STO_HBASE_ROLLUP_BYTES + 8) {
        uint32_t time_s = (uint32_t)want->hour * 3600u + sto_meta_off(want->points->meta[i]) / 1000;
        size_t n = sto_hbase_rollup_encode(shape, want->place->function, p->wish->base_s, time_s,
                                           sto_cell_num(want->points->meta[i], want->points->m[i]), bytes,
                                           bytes + STO_HBASE_ROLLUP_BYTES);
        struct ts_slice qualifier = {(const char *)bytes, STO_HBASE_ROLLUP_BYTES},
                        value = {(const char *)bytes + STO_HBASE_ROLLUP_BYTES, n};
        uint32_t index = (time_s - p->wish->base_s) / shape->interval_s;
        while (p->at < p->n_old && (p->old[p->at].function < function ||
                                    (p->old[p->at].function == function && p->old[p->at].index < index)))
            p->at++;
        size_t from = p->at;
        while (p->at < p->n_old && p->old[p->at].function == function && p->old[p->at].index == index)
            p->at++;
        plan_point(p, from, p->at, &qualifier, &value);
    }
}

int sto_hbase_rollup_change(struct sto_hbase_change *c, const struct sto_hbase_cell *cells, size_t n,
                            const struct sto_hbase_rollup_wish *wish, struct ts_error *err)
{
    struct plan p = {.c = c, .wish = wish};
    size_t n_points = 0;
    ts_arena_release(&c->arena);
    c->n_puts = c->n_deletes = 0;
    c->n_points = 0;
    c->append = (struct ts_slice){NULL, 0};
    c->newest_ms = INT64_MIN;
    for (size_t i = 0; i < wish->n; i++)
        n_points += wish->list[i].points->n;
    TS_TRY(list_old(&p, cells, n, err));
    c->puts = take(c, n_points, sizeof *c->puts, err);
    c->deletes = take(c, p.n_old, sizeof *c->deletes, err);
    uint8_t *bytes = take(c, n_points, STO_HBASE_ROLLUP_BYTES + 8, err);
    if (!c->puts || !c->deletes || !bytes)
        return TS_ELIMIT;
    for (uint32_t i = 0; i < wish->n; i++) {
        plan_function(&p, i, bytes);
        bytes += (STO_HBASE_ROLLUP_BYTES + 8) * (size_t)wish->list[i].points->n;
    }
    return 0;
}
