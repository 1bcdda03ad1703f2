/*
 * check_rollup.c - the cells of a row of rollups: their functions, intervals and values, several cells of one interval.
 */
#include "storage/hbase/remote/check_int.h"

#include "base/text.h"
#include "storage/hbase/rollup_config.h"

#include <stdlib.h>

#define FOUND STO_HBASE__FOUND

/* A cell that can be read. */
struct sto_hbase__rollup_at {
    unsigned function;
    uint32_t index; /* of the interval */
    int64_t ts_ms;
    size_t cell;
    struct ts_num value;
};

/* The id of the function of a cell; -1: it is not configured. */
static int function_of(const struct sto_hbase_rollups *r, const struct sto_hbase_rollup_cell *cell)
{
    if (cell->function >= 0)
        return r->functions[cell->function] ? cell->function : -1;
    for (int i = 0; i <= STO_HBASE_MAX_FUNCTION; i++)
        if (r->functions[i] && ts_slice_is_nocase(cell->name, r->functions[i]))
            return i;
    return -1;
}

/* Is the interval one of the row? Keys that are wrong have none. */
static bool is_in_row(const struct sto_hbase__checker *c, uint32_t index)
{
    const struct sto_hbase_rollup *shape = c->x->shape;
    return c->base_s == UINT32_MAX ||
           c->base_s + (uint64_t)index * shape->interval_s < sto_hbase_rollup_next(shape, c->base_s);
}

/* Check a cell by itself. Returns whether it can be read. */
static bool check_cell(struct sto_hbase__checker *c, size_t i, struct sto_hbase__rollup_at *out)
{
    const struct sto_hbase_cell *cell = &c->cells[i];
    struct sto_hbase__cell_state *state = &c->states[i];
    struct sto_hbase_rollup_cell parsed;
    struct ts_error why = {0};
    state->kind = STO_HBASE__OTHER;
    if (sto_hbase_rollup_parse_qualifier(cell->qualifier, &parsed, &why) < 0) {
        state->unknown = true;
        FOUND(c, STO_HBASE_UNKNOWN_COLUMN, cell->qualifier, "It is no rollup: %s.", why.text);
        return false;
    }
    int function = function_of(c->x->h->opts.rollups, &parsed);
    if (function < 0) {
        state->unknown = true;
        FOUND(c, STO_HBASE_UNKNOWN_COLUMN, cell->qualifier,
              "Its function is not one of aggregationIds of rollups_config.");
        return false;
    }
    state->kind = STO_HBASE__ROLLUP;
    if (!is_in_row(c, parsed.index)) {
        state->bad = true;
        FOUND(c, STO_HBASE_BAD_VALUE, cell->qualifier, "Its interval %u is behind the end of the row.",
              (unsigned)parsed.index);
        return false;
    }
    if (sto_hbase_rollup_value(&parsed, cell->value, &out->value, &why) < 0) {
        state->bad = true;
        FOUND(c, STO_HBASE_BAD_VALUE, cell->qualifier, "It cannot be read: %s.", why.text);
        return false;
    }
    out->function = (unsigned)function;
    out->index = parsed.index;
    out->ts_ms = cell->ts_ms;
    out->cell = i;
    return true;
}

static int by_place(const void *pa, const void *pb)
{
    const struct sto_hbase__rollup_at *a = pa, *b = pb;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->ts_ms != b->ts_ms)
        return a->ts_ms < b->ts_ms ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static bool same_value(const struct ts_num *a, const struct ts_num *b)
{
    return a->kind == b->kind && a->exp == b->exp && a->m == b->m;
}

/* Rollups [from, to) are of one function and interval, from the oldest to the newest. */
static void check_several(struct sto_hbase__checker *c, size_t from, size_t to)
{
    bool equal = true;
    for (size_t i = from + 1; i < to; i++)
        equal = equal && same_value(&c->rollups[i].value, &c->rollups[from].value);
    for (size_t i = from; i < to; i++) {
        struct sto_hbase__cell_state *state = &c->states[c->rollups[i].cell];
        state->repeated = equal && i + 1 < to;
        state->contested = !equal;
        state->is_oldest = i == from;
        state->is_newest = i + 1 == to;
        if (i + 1 == to)
            continue;
        struct ts_slice q = c->cells[c->rollups[i].cell].qualifier;
        if (equal)
            FOUND(c, STO_HBASE_REPEATED_POINT, q, "The rollup of interval %u is stored more than once.",
                  (unsigned)c->rollups[i].index);
        else
            FOUND(c, STO_HBASE_DUPLICATE_POINT, q, "There are rollups with different values of interval %u.",
                  (unsigned)c->rollups[i].index);
    }
}

int sto_hbase__check_rollups(struct sto_hbase__checker *c, struct ts_error *err)
{
    size_t n = 0;
    TS_TRY(sto_hbase_columns_decode(&c->columns, NULL, 0, NULL, err)); /* there are no points */
    TS_TRY(ts_budget_grow(c->x->memory, &c->rollups, &c->cap_rollups, c->n_cells, sizeof *c->rollups, err));
    for (size_t i = 0; i < c->n_cells; i++)
        n += check_cell(c, i, &c->rollups[n]);
    if (n)
        qsort(c->rollups, n, sizeof *c->rollups, by_place);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && c->rollups[to].function == c->rollups[from].function &&
                            c->rollups[to].index == c->rollups[from].index;)
            to++;
        if (to > from + 1)
            check_several(c, from, to);
        c->n_rollups++;
    }
    return 0;
}

void sto_hbase__release_rollups(struct sto_hbase__checker *c)
{
    ts_budget_free(c->x->memory, c->rollups, c->cap_rollups * sizeof *c->rollups);
}
