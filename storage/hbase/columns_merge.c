/*
 * columns_merge.c - sorts the points of a row, chooses among those of one time, and makes cells of them.
 *
 * Sorting    a natural merge sort (D. E. Knuth, The Art of Computer Programming, volume 3, section 5.2.4): compacted
 *            columns are sorted, so that a row consists of few runs. It is stable, so that the later of two points wins
 */
#include "storage/hbase/columns_int.h"

#include "storage/hbase/encode.h"
#include "storage/hbase/value.h"

/* --- sorting --- */

/* Does a stand before b, so that b wins if they have one offset? */
static bool before(const struct sto_hbase_entry *a, const struct sto_hbase_entry *b,
                   const struct sto_hbase_cell *cells)
{
    if (a->off_ms != b->off_ms)
        return a->off_ms < b->off_ms;
    return a->cell != b->cell && cells[a->cell].ts_ms < cells[b->cell].ts_ms;
}

/* The end of the run that begins at from. */
static size_t run_end(const struct sto_hbase_entry *e, size_t from, size_t n,
                      const struct sto_hbase_cell *cells)
{
    if (from == n)
        return n;
    for (from++; from < n && !before(&e[from], &e[from - 1], cells);)
        from++;
    return from;
}

/* Merge each pair of neighbouring runs of from into to; returns the number of runs there. */
static size_t merge_runs(const struct sto_hbase_entry *from, struct sto_hbase_entry *to, size_t n,
                         const struct sto_hbase_cell *cells)
{
    size_t runs = 0;
    for (size_t begin = 0, end; begin < n; begin = end, runs++) {
        size_t middle = run_end(from, begin, n, cells), a = begin, b = middle;
        end = run_end(from, middle, n, cells);
        for (size_t at = begin; at < end; at++) {
            bool second = a == middle || (b < end && before(&from[b], &from[a], cells));
            to[at] = from[second ? b++ : a++];
        }
    }
    return runs;
}

static int sort(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells, struct ts_error *err)
{
    if (run_end(c->entries, 0, c->n_entries, cells) == c->n_entries)
        return 0;
    TS_TRY(ts_budget_grow(c->memory, &c->spare, &c->cap_spare, c->n_entries, sizeof(*c->spare), err));
    size_t runs;
    do {
        runs = merge_runs(c->entries, c->spare, c->n_entries, cells);
        struct sto_hbase_entry *sorted = c->spare;
        size_t cap = c->cap_spare;
        c->spare = c->entries;
        c->cap_spare = c->cap_entries;
        c->entries = sorted;
        c->cap_entries = cap;
    } while (runs > 1);
    return 0;
}

/* --- result --- */

static bool same_bytes(const struct sto_hbase_entry *a, const struct sto_hbase_entry *b)
{
    return a->length == b->length && ((a->raw ^ b->raw) << (64 - 8 * a->length)) == 0;
}

/* The last of entries[from, to) wins, all of which have one offset. */
static void report(struct sto_hbase_columns *c, size_t from, size_t to, const struct sto_hbase_cell *cells,
                   const struct sto_hbase_visitor *visitor)
{
    const struct sto_hbase_entry *kept = &c->entries[to - 1];
    for (size_t i = from; i + 1 < to; i++) {
        const struct sto_hbase_entry *lost = &c->entries[i];
        struct sto_hbase_duplicate d = {kept->off_ms, kept->cell, lost->cell,
                                        .equal = same_bytes(kept, lost)};
        d.appended = d.kept == d.lost && ts_slice_eq(cells[d.kept].qualifier, STO_HBASE_APPENDS);
        if (d.equal)
            c->n_equal++;
        else if (!d.appended)
            c->n_contradicting++;
        if (visitor && visitor->duplicate)
            visitor->duplicate(visitor->arg, &d);
    }
}

static struct ts_num value_of(const struct sto_hbase_entry *e, bool decimals)
{
    struct ts_num v = sto_hbase_value_num(e->raw, e->length, e->is_float);
    return e->is_float && decimals ? ts_num_from_double(ts_num_double(v)) : v;
}

static void put_cell(struct sto_hbase_columns *c, const struct sto_hbase_entry *e)
{
    struct ts_num v = value_of(e, c->decimals);
    uint32_t flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, e->ms);
    struct sto_cells *out = &c->cells;
    if (out->n == 0)
        out->common = flags;
    out->uniform = out->uniform && out->common == flags;
    c->meta[out->n] = flags | e->off_ms;
    c->m[out->n++] = v.m;
}

int sto_hbase_columns__merge(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells,
                             const struct sto_hbase_visitor *visitor, struct ts_error *err)
{
    size_t n = c->n_entries;
    TS_TRY(sort(c, cells, err));
    TS_TRY(ts_budget_grow(c->memory, &c->meta, &c->cap_meta, n, sizeof(*c->meta), err));
    TS_TRY(ts_budget_grow(c->memory, &c->m, &c->cap_m, n, sizeof(*c->m), err));
    c->cells = (struct sto_cells){.uniform = n > 0, .meta = c->meta, .m = c->m};
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && c->entries[end].off_ms == c->entries[i].off_ms;)
            end++;
        if (end > i + 1)
            report(c, i, end, cells, visitor);
        put_cell(c, &c->entries[end - 1]);
    }
    return 0;
}
