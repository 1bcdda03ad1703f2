/*
 * merge_cells.c - merges the pieces of one row from several sources.
 *
 * First the cells that tombstones of newer sources cover are removed from each piece. Then the pieces are
 * appended to each other if they do not overlap in time, else merged by runs, two at a time. Versions of one time
 * are put behind each other, and what is more than is kept of them goes in the end.
 *
 * Threads    pure functions
 * Not here   finding the pieces (merge.c), put and add of one time (fold.c)
 */
#include "storage/engine/merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/engine/memory/fold.h"
#include "storage/versions.h"

#define STACK_PIECES 16 /* up to this many pieces of a row need no heap memory */

/* Offsets from..to are deleted. */
struct dead_span {
    uint32_t from, to; /* ms, inclusive */
};

/* Union of the deleted spans so far, newest source first: sorted, disjoint. */
struct dead {
    struct dead_span *spans; /* owned */
    size_t n, cap;           /* used, capacity */
};

static int cmp_span(const void *pa, const void *pb)
{
    const struct dead_span *a = pa, *b = pb;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Add the parts of tombs that lie in the hour. */
static void dead_add(struct dead *dead, int32_t hour, const struct sto_tomb *tombs, size_t n)
{
    size_t had = dead->n;
    for (size_t i = 0; i < n; i++) {
        struct dead_span part;
        if (!sto_hour_part(hour, tombs[i].from_ms, tombs[i].to_ms, &part.from, &part.to))
            continue;
        if (dead->n == dead->cap) {
            dead->cap = dead->cap ? dead->cap * 2 : 16;
            dead->spans = ts_xrealloc(dead->spans, dead->cap * sizeof(dead->spans[0]));
        }
        dead->spans[dead->n++] = part;
    }
    if (dead->n == had)
        return;
    qsort(dead->spans, dead->n, sizeof(dead->spans[0]), cmp_span);
    size_t k = 0;
    for (size_t i = 1; i < dead->n; i++) {
        struct dead_span *last = &dead->spans[k], *next = &dead->spans[i];
        if (next->from > last->to)
            dead->spans[++k] = *next;
        else if (next->to > last->to)
            last->to = next->to;
    }
    dead->n = k + 1;
}

/* First cell from i on whose offset is >= off, by galloping search: cheap for long runs and for short
 * ones. */
static uint32_t run_end(const uint32_t *meta, uint32_t i, uint32_t n, uint32_t off)
{
    uint32_t step = 1, lo = i;
    while (lo < n && sto_meta_off(meta[lo]) < off) {
        i = lo + 1;
        lo = n - lo > step ? lo + step : n;
        step *= 2;
    }
    while (i < lo) { /* all before i are below off, lo is not */
        uint32_t mid = i + (lo - i) / 2;
        if (sto_meta_off(meta[mid]) < off)
            i = mid + 1;
        else
            lo = mid;
    }
    return i;
}

static void append_run(struct sto_cells *out, const struct sto_cells *c, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    memcpy(out->meta + out->n, c->meta + from, (to - from) * sizeof(out->meta[0]));
    memcpy(out->m + out->n, c->m + from, (to - from) * sizeof(out->m[0]));
    out->n += to - from;
}

/* Does a deleted span cover a cell? */
static bool is_hit(const struct dead *dead, const struct sto_cells *c)
{
    uint32_t i = 0;
    for (size_t k = 0; k < dead->n && i < c->n; k++) {
        i = run_end(c->meta, i, c->n, dead->spans[k].from);
        if (i < c->n && sto_meta_off(c->meta[i]) <= dead->spans[k].to)
            return true;
    }
    return false;
}

/* A copy of c without deleted cells. */
static void copy_living(const struct dead *dead, const struct sto_cells *c, struct sto_cells *copy)
{
    uint32_t i = 0;
    sto_cells_reserve(copy, c->n);
    copy->n = 0;
    for (size_t k = 0; k < dead->n && i < c->n; k++) {
        uint32_t end = run_end(c->meta, i, c->n, dead->spans[k].from);
        append_run(copy, c, i, end);
        i = run_end(c->meta, end, c->n, dead->spans[k].to + 1);
    }
    append_run(copy, c, i, c->n);
}

/* Append all versions of the time at which both stand, those of a first. */
static void merge_versions(const struct sto_cells *a, uint32_t *i, const struct sto_cells *b, uint32_t *j,
                           struct sto_cells *out)
{
    uint32_t off = sto_meta_off(a->meta[*i]), end = run_end(a->meta, *i, a->n, off + 1);
    append_run(out, a, *i, end);
    *i = end;
    end = run_end(b->meta, *j, b->n, off + 1);
    append_run(out, b, *j, end);
    *j = end;
}

/* Both sorted; b is newer. */
static void merge_two(const struct sto_cells *a, const struct sto_cells *b, struct sto_cells *out)
{
    uint32_t i = 0, j = 0;
    while (i < a->n && j < b->n) {
        uint32_t end = run_end(a->meta, i, a->n, sto_meta_off(b->meta[j]));
        append_run(out, a, i, end);
        i = end;
        if (i == a->n)
            break;
        end = run_end(b->meta, j, b->n, sto_meta_off(a->meta[i]));
        append_run(out, b, j, end);
        j = end;
        if (j == b->n || sto_meta_off(a->meta[i]) != sto_meta_off(b->meta[j]))
            continue;
        if (sto_meta_op(b->meta[j]) == STO_OP_KEEP) {
            merge_versions(a, &i, b, &j, out);
            continue;
        }
        out->meta[out->n] = a->meta[i];
        out->m[out->n] = a->m[i];
        sto_fold_on_top(&out->meta[out->n], &out->m[out->n], b->meta[j], b->m[j]);
        out->n++, i++, j++;
    }
    append_run(out, a, i, a->n);
    append_run(out, b, j, b->n);
}

/* Sort pieces by time; false if two overlap (their order is then undefined: the caller keeps its own). */
static bool order_by_time(const struct sto_cells **by_time, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct sto_cells *c = by_time[i];
        size_t j = i;
        for (; j > 0 && sto_meta_off(by_time[j - 1]->meta[0]) > sto_meta_off(c->meta[0]); j--)
            by_time[j] = by_time[j - 1];
        by_time[j] = c;
    }
    for (size_t i = 1; i < n; i++)
        if (sto_meta_off(by_time[i - 1]->meta[by_time[i - 1]->n - 1]) >= sto_meta_off(by_time[i]->meta[0]))
            return false;
    return true;
}

/* Merge n >= 2 pieces that overlap, two neighbours at a time, the shortest first: so a few late points do
 * not cause a long piece to be copied twice. The order of the pairs does not matter to puts and adds. The
 * pieces are consumed. */
static void merge_many(struct sto_cells *pieces, size_t n, struct sto_cells *out)
{
    for (; n > 2; n--) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (pieces[i].n + pieces[i + 1].n < pieces[best].n + pieces[best + 1].n)
                best = i;
        struct sto_cells both = {0};
        sto_cells_reserve(&both, pieces[best].n + pieces[best + 1].n);
        merge_two(&pieces[best], &pieces[best + 1], &both);
        for (size_t i = best; i < best + 2; i++)
            if (pieces[i].cap > 0)
                sto_cells_release(&pieces[i]);
        pieces[best] = both;
        memmove(&pieces[best + 1], &pieces[best + 2], (n - best - 2) * sizeof(pieces[0]));
    }
    merge_two(&pieces[0], &pieces[1], out);
    for (size_t i = 0; i < 2; i++)
        if (pieces[i].cap > 0)
            sto_cells_release(&pieces[i]);
}

/* Join pieces, none empty, oldest first, borrowed (cap 0); they are consumed. by_time is scratch for n
 * pointers. */
static void join(struct sto_cells *pieces, size_t n, const struct sto_cells **by_time, struct sto_cells *out)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += pieces[i].n;
        by_time[i] = &pieces[i];
    }
    if (total > UINT32_MAX / 2)
        TS_BUG("%zu cells in one row", total);
    sto_cells_reserve(out, (uint32_t)total);
    out->n = 0;
    if (!order_by_time(by_time, n)) {
        merge_many(pieces, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        append_run(out, by_time[i], 0, by_time[i]->n);
}

void sto_merge_cells(int32_t hour, const struct sto_merge_src *src, size_t n_src, bool final,
                     struct sto_cells *out)
{
    struct sto_cells stack_pieces[STACK_PIECES], stack_copies[STACK_PIECES];
    const struct sto_cells *stack_by_time[STACK_PIECES];
    struct sto_cells *pieces = stack_pieces, *copies = stack_copies;
    const struct sto_cells **by_time = stack_by_time;
    if (n_src > STACK_PIECES) {
        pieces = ts_xmalloc(n_src * sizeof(*pieces));
        copies = ts_xmalloc(n_src * sizeof(*copies));
        by_time = ts_xmalloc(n_src * sizeof(struct sto_cells *));
    }
    struct dead dead = {0};
    size_t at = n_src, n_copies = 0; /* pieces fill their array from the end, since the newest comes first */
    for (size_t i = n_src; i-- > 0;) {
        const struct sto_cells *c = src[i].cells;
        if (c && c->n > 0 && dead.n > 0 && is_hit(&dead, c)) {
            copies[n_copies] = (struct sto_cells){0};
            copy_living(&dead, c, &copies[n_copies]);
            c = &copies[n_copies++];
        }
        if (c && c->n > 0) {
            pieces[--at] = *c;
            pieces[at].cap = 0; /* borrowed */
        }
        if (i > 0)
            dead_add(&dead, hour, src[i].tombs, src[i].n_tombs);
    }
    join(pieces + at, n_src - at, by_time, out);
    if (sto_cells_are_kept(out))
        sto_versions_trim(out);
    else if (final)
        for (uint32_t i = 0; i < out->n; i++)
            out->meta[i] &= ~STO_META_OP_MASK; /* ADD becomes PUT, which is 0 */
    sto_fold_uniform(out);

    for (size_t i = 0; i < n_copies; i++)
        sto_cells_release(&copies[i]);
    ts_free(dead.spans);
    if (pieces != stack_pieces) {
        ts_free(pieces);
        ts_free(copies);
        ts_free(by_time);
    }
}
_Static_assert(STO_OP_PUT == 0, "clearing the op of a cell makes it a PUT");
