/*
 * pick_deleted.c - which files to write again because of deletes, and which files of tombstones to merge.
 *
 * A join leaves out what was deleted, so a worn run that a join will write waits for it: it would be written twice. It does
 * not wait if the join is due later than STO_WORN_AGE_MS after the first delete, or when the disk is full. What has expired waits for
 * nothing, since retention says when space is free.
 *
 * Not here   all other rules (pick_rules.c), how much was deleted (wear.c)
 */
#include "storage/engine/merge/pick_int.h"

#include "base/mem.h"

/* --- what was deleted --- */

/* When the window above that of a run will be joined if nothing changes, or the join is given up; INT64_MAX: none is expected. */
static int64_t join_due(struct sto_pick__picker *p, const struct sto_pick__run *r)
{
    const struct sto_window above = {(uint8_t)(r->w.level + 1), r->w.index >> 3};
    int64_t lo, end;
    if (above.level >= STO_WINDOW_ALL || sto_pick__is_skipped(p, above))
        return INT64_MAX;
    sto_window_span(above, &lo, &end);
    return sto_pick__bytes_around(p, (uint8_t)(above.level + 1), lo, end - 1) < STO_JOINED_BYTES
               ? end + STO_JOIN_AGE_MS
               : INT64_MAX;
}

/* Joins are picked first: a run whose join is due and does not come is written by itself. */
static bool is_worn(struct sto_pick__picker *p, const struct sto_pick__run *r)
{
    uint64_t n_points = 0, n_dead = 0;
    int64_t since_ms = INT64_MAX;
    for (size_t i = 0; i < r->n; i++) {
        const struct sto_pick_wear *w = &p->opts->wear[p->order[r->at + i]];
        n_points += p->files[p->order[r->at + i]].n_points;
        n_dead += w->n_dead;
        since_ms = w->since_ms < since_ms ? w->since_ms : since_ms;
    }
    if (since_ms == INT64_MAX || p->opts->full || since_ms < p->opts->now_ms - STO_WORN_AGE_MS)
        return since_ms < INT64_MAX;
    if (n_dead < n_points / STO_WORN_SHARE)
        return false;
    int64_t due = p->opts->disk_full ? INT64_MAX : join_due(p, r);
    return due <= p->opts->now_ms || due - STO_WORN_AGE_MS > since_ms;
}

static bool is_expired(struct sto_pick__picker *p, const struct sto_pick__run *r)
{
    uint64_t n_points = 0, n_expired = 0;
    for (size_t i = 0; i < r->n; i++) {
        n_points += p->files[p->order[r->at + i]].n_points;
        n_expired += p->opts->wear[p->order[r->at + i]].n_expired;
    }
    return n_expired && n_expired >= n_points / STO_WORN_SHARE;
}

/* Take the first run of a kind by itself. */
static bool take_first(struct sto_pick__picker *p,
                       bool (*is)(struct sto_pick__picker *p, const struct sto_pick__run *r),
                       struct sto_pick *out)
{
    for (size_t i = 0; p->opts->wear && i < p->n_runs; i++)
        if (!p->runs[i].skip && is(p, &p->runs[i])) {
            sto_pick__choose_only(p, i, i + 1);
            sto_pick__take(p, STO_PICK_WORN, p->runs[i].w, STO_PICK__CUT_NOT, out);
            return true;
        }
    return false;
}

bool sto_pick__expired(struct sto_pick__picker *p, struct sto_pick *out)
{
    return take_first(p, is_expired, out);
}

bool sto_pick__worn(struct sto_pick__picker *p, struct sto_pick *out)
{
    return take_first(p, is_worn, out);
}

/* --- tombstones --- */

/* Has everything that a file of tombstones touches been rewritten since? */
static bool is_done(struct sto_pick__picker *p, size_t i)
{
    const struct sto_sst_info *t = &p->files[i];
    if (p->opts->wear && p->opts->wear[i].done)
        return true;
    struct sto_pick__near it = {
        .p = p, .lo = t->tomb_min_ms, .hi = t->tomb_max_ms, .levels = STO_WINDOW_LEVELS};
    for (const struct sto_pick__run *r; (r = sto_pick__near(&it));)
        if (r->gen_hi < t->gen_hi)
            return false;
    return true;
}

bool sto_pick__tombs(struct sto_pick__picker *p, struct sto_pick *out)
{
    size_t first = p->n_tombs, n = 0;
    uint64_t sum = 0;
    out->files = ts_xcalloc(p->n_tombs + 1, sizeof *out->files);
    for (size_t i = 0; i < p->n_tombs && !p->opts->keep_tombs; i++)
        if (is_done(p, p->tombs[i]))
            out->files[n++] = p->tombs[i];
    for (size_t i = p->n_tombs; n == 0 && i-- > 0; sum += p->files[p->tombs[i]].n_tombs)
        if (sum >= p->files[p->tombs[i]].n_tombs || (p->opts->full && sum))
            first = i;
    if (n == 0 && p->n_tombs - first >= (p->opts->full ? 2 : STO_TIER_FILES))
        for (size_t i = first; i < p->n_tombs; i++)
            out->files[n++] = p->tombs[i];
    if (n == 0) {
        ts_free(out->files);
        out->files = NULL;
        return false;
    }
    out->why = STO_PICK_TOMBS;
    out->n = n;
    out->gen_lo = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *f = &p->files[out->files[i]];
        out->gen_lo = f->gen_lo < out->gen_lo ? f->gen_lo : out->gen_lo;
        out->gen_hi = f->gen_hi > out->gen_hi ? f->gen_hi : out->gen_hi;
        out->bytes += f->t_bytes + f->s_bytes;
    }
    return true;
}
