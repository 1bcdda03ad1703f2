/*
 * pick.c - sorts files into runs by window, and keeps a choice among them.
 *
 * Files of the same generations that overlap were written by one merge and split by key: they are one *run*
 * and are taken as a whole. Runs are sorted by window, so that those that overlap a range of time are found
 * by searching.
 *
 * Not here   the grid (partition.c), the rules (pick_rules.c)
 */
#include "storage/engine/merge/pick_int.h"

#include "base/mem.h"

#include <stdlib.h>

/* --- runs --- */

int sto_pick__cmp_window(struct sto_window a, struct sto_window b)
{
    if (a.level != b.level)
        return a.level < b.level ? -1 : 1;
    return a.index < b.index ? -1 : a.index > b.index;
}

static int cmp_run(const void *pa, const void *pb)
{
    const struct sto_pick__run *a = pa, *b = pb;
    int c = sto_pick__cmp_window(a->w, b->w);
    if (c)
        return c;
    if (a->gen_lo != b->gen_lo)
        return a->gen_lo < b->gen_lo ? -1 : 1;
    if (a->gen_hi != b->gen_hi)
        return a->gen_hi < b->gen_hi ? -1 : 1;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static int cmp_time(const void *pa, const void *pb)
{
    const struct sto_pick__run *a = pa, *b = pb;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

bool sto_pick__is_skipped(const struct sto_pick__picker *p, struct sto_window w)
{
    for (size_t i = 0; i < p->opts->n_skip; i++)
        if (sto_pick__cmp_window(p->opts->skip[i], w) == 0)
            return true;
    return false;
}

/* Give runs of all time that overlap the same index. runs: only those, each one file; lo of the first. */
static void number_wide(struct sto_pick__run *runs, size_t n)
{
    int64_t end = INT64_MIN;
    int32_t index = 0;
    if (n)
        qsort(runs, n, sizeof *runs, cmp_time);
    for (size_t i = 0; i < n; i++) {
        index += i > 0 && runs[i].lo > end;
        end = runs[i].hi > end ? runs[i].hi : end;
        runs[i].w.index = index;
    }
}

/* Files of the same generations that overlap were split by key and become one run, whose window is that of
 * all of them: a piece may span less time than the others. Before, the runs are one file each, sorted by
 * generation and time. */
static void join_pieces(struct sto_pick__picker *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_runs; i++) {
        struct sto_pick__run r = p->runs[i], *last = n ? &p->runs[n - 1] : NULL;
        p->order[i] = r.at;
        r.at = i;
        if (last && last->gen_lo == r.gen_lo && last->gen_hi == r.gen_hi && r.lo <= last->hi) {
            last->bytes += r.bytes;
            last->hi = r.hi > last->hi ? r.hi : last->hi;
            last->n++;
        } else {
            p->runs[n++] = r;
        }
    }
    p->n_runs = n;
    for (size_t i = 0; i < n; i++) {
        p->runs[i].w = sto_window_of(p->runs[i].lo, p->runs[i].hi);
        p->runs[i].skip = sto_pick__is_skipped(p, p->runs[i].w);
    }
}

static void add_tombs(struct sto_pick__picker *p, size_t i)
{
    size_t k = p->n_tombs++;
    for (; k > 0 && p->files[p->tombs[k - 1]].gen_lo > p->files[i].gen_lo; k--)
        p->tombs[k] = p->tombs[k - 1];
    p->tombs[k] = i;
}

void sto_pick__init(struct sto_pick__picker *p, const struct sto_sst_info *files, size_t n,
                    const struct sto_pick_opts *opts)
{
    *p = (struct sto_pick__picker){.files = files, .opts = opts, .n_looked = n};
    p->order = ts_xcalloc(n + 1, sizeof *p->order);
    p->tombs = ts_xcalloc(n + 1, sizeof *p->tombs);
    p->chosen = ts_xcalloc(n + 1, sizeof *p->chosen);
    p->runs = ts_xcalloc(n + 1, sizeof *p->runs);
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *f = &files[i];
        p->newest_gen = f->gen_hi > p->newest_gen ? f->gen_hi : p->newest_gen;
        if (f->n_tombs && f->gen_hi > p->tomb_gen)
            p->tomb_gen = f->gen_hi;
        if (f->n_tombs && !f->n_points)
            add_tombs(p, i);
        if (!f->n_points)
            continue;
        p->runs[p->n_runs++] = (struct sto_pick__run){.gen_lo = f->gen_lo,
                                                      .gen_hi = f->gen_hi,
                                                      .bytes = f->t_bytes + f->s_bytes,
                                                      .lo = f->min_ms,
                                                      .hi = f->max_ms,
                                                      .at = i,
                                                      .n = 1};
    }
    if (p->n_runs) {
        qsort(p->runs, p->n_runs, sizeof *p->runs, cmp_run);
        join_pieces(p); /* runs have windows from here on */
        qsort(p->runs, p->n_runs, sizeof *p->runs, cmp_run);
    }
    size_t wide = 0;
    while (wide < p->n_runs && p->runs[wide].w.level < STO_WINDOW_ALL)
        wide++;
    number_wide(p->runs + wide, p->n_runs - wide);
    if (p->n_runs > wide)
        qsort(p->runs + wide, p->n_runs - wide, sizeof *p->runs, cmp_run);
    for (uint8_t level = 0; level <= STO_WINDOW_LEVELS; level++) {
        p->level_at[level] = level ? p->level_at[level - 1] : 0;
        while (level && p->level_at[level] < p->n_runs && p->runs[p->level_at[level]].w.level < level)
            p->level_at[level]++;
    }
}

void sto_pick__release(struct sto_pick__picker *p)
{
    ts_free(p->order);
    ts_free(p->tombs);
    ts_free(p->chosen);
    ts_free(p->runs);
}

bool sto_pick__next_group(const struct sto_pick__picker *p, uint8_t level, struct sto_pick__group *g)
{
    size_t end = p->level_at[level + 1];
    g->lo = g->hi;
    if (g->lo >= end)
        return false;
    for (g->hi = g->lo + 1; g->hi < end && sto_pick__cmp_window(p->runs[g->hi].w, p->runs[g->lo].w) == 0;
         g->hi++)
        ;
    return true;
}

/* --- runs that overlap a range of time --- */

static size_t first_from(const struct sto_pick__picker *p, uint8_t level, int32_t index)
{
    size_t lo = p->level_at[level], hi = p->level_at[level + 1];
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->runs[mid].w.index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct sto_pick__run *sto_pick__near(struct sto_pick__near *it)
{
    struct sto_pick__picker *p = it->p;
    for (; it->level < it->levels; it->level++, it->inside = false) {
        bool all = it->level == STO_WINDOW_ALL;
        int64_t len = all ? 1 : TS_DAY_MS << (it->level * 3u);
        if (!it->inside)
            it->i =
                all ? p->level_at[it->level] : first_from(p, it->level, (int32_t)ts_floor_div(it->lo, len));
        it->inside = true;
        while (it->i < p->level_at[it->level + 1]) {
            struct sto_pick__run *r = &p->runs[it->i];
            if (!all && r->w.index > ts_floor_div(it->hi, len))
                break;
            it->i++;
            p->n_looked++;
            if (r->lo <= it->hi && r->hi >= it->lo)
                return r;
        }
    }
    return NULL;
}

/* --- the choice --- */

void sto_pick__clear(struct sto_pick__picker *p)
{
    p->n_looked += p->n_in;
    while (p->n_in)
        p->runs[p->chosen[--p->n_in]].in = false;
    p->bytes = 0;
}

void sto_pick__choose(struct sto_pick__picker *p, struct sto_pick__run *r)
{
    if (r->in)
        return;
    r->in = true;
    p->chosen[p->n_in] = (size_t)(r - p->runs);
    if (p->n_in++ == 0) {
        p->gen_lo = r->gen_lo;
        p->gen_hi = r->gen_hi;
        p->lo = r->lo;
        p->hi = r->hi;
        p->bytes = 0;
    }
    p->gen_lo = r->gen_lo < p->gen_lo ? r->gen_lo : p->gen_lo;
    p->gen_hi = r->gen_hi > p->gen_hi ? r->gen_hi : p->gen_hi;
    p->lo = r->lo < p->lo ? r->lo : p->lo;
    p->hi = r->hi > p->hi ? r->hi : p->hi;
    p->bytes += r->bytes;
}

void sto_pick__choose_only(struct sto_pick__picker *p, size_t lo, size_t hi)
{
    sto_pick__clear(p);
    for (size_t i = lo; i < hi; i++)
        sto_pick__choose(p, &p->runs[i]);
}

static struct sto_pick__near around_choice(struct sto_pick__picker *p)
{
    return (struct sto_pick__near){.p = p, .lo = p->lo, .hi = p->hi, .levels = STO_WINDOW_LEVELS};
}

struct sto_pick__run *sto_pick__in_the_way(struct sto_pick__picker *p)
{
    struct sto_pick__near it = around_choice(p);
    for (struct sto_pick__run *r; (r = sto_pick__near(&it));)
        if (!r->in && r->gen_hi >= p->gen_lo && r->gen_lo <= p->gen_hi)
            return r;
    return NULL;
}

bool sto_pick__close(struct sto_pick__picker *p, uint64_t max_bytes)
{
    struct sto_pick__run *r;
    for (unsigned n = 0; (r = sto_pick__in_the_way(p)); n++) {
        if (r->skip || (n == 4 * STO_CROWD_FILES && !p->opts->full) || p->bytes + r->bytes > max_bytes)
            return false;
        sto_pick__choose(p, r);
    }
    return true;
}

uint64_t sto_pick__raised_gen(struct sto_pick__picker *p, bool *out_final)
{
    uint64_t gen = p->tomb_gen > p->gen_hi ? p->tomb_gen : p->gen_hi;
    struct sto_pick__near it = around_choice(p);
    *out_final = true;
    for (struct sto_pick__run *r; (r = sto_pick__near(&it));) {
        if (!r->in && r->gen_lo > p->gen_hi && r->gen_lo <= gen)
            gen = r->gen_lo - 1;
        if (!r->in && r->gen_lo < p->gen_lo)
            *out_final = false;
    }
    return gen;
}

static void cut_at(struct sto_pick *out, int64_t ms)
{
    struct sto_cut *last = &out->cuts[out->n_cuts - 1];
    int32_t hour = (int32_t)ts_floor_div(ms, TS_HOUR_MS);
    out->cuts[out->n_cuts++] = (struct sto_cut){hour, last->hour_hi};
    last->hour_hi = hour;
}

/* Decide where to cut the output of the choice: not at all, at the borders of w, or into the windows one
 * level below w. */
static void set_cuts(const struct sto_pick__picker *p, enum sto_pick__cuts cuts, struct sto_window w,
                     struct sto_pick *out)
{
    out->n_cuts = 1;
    out->cuts[0] = (struct sto_cut){INT32_MIN, INT32_MAX};
    if (cuts == STO_PICK__CUT_BORDERS && w.level < STO_WINDOW_ALL) {
        int64_t lo, end;
        sto_window_span(w, &lo, &end);
        if (p->lo < lo)
            cut_at(out, lo);
        if (p->hi >= end)
            cut_at(out, end);
    }
    if (cuts != STO_PICK__CUT_BELOW || w.level == STO_WINDOW_DAY)
        return;
    int64_t len = TS_DAY_MS << ((w.level - 1) * 3u);
    int64_t first = ts_floor_div(p->lo, len), n = ts_floor_div(p->hi, len) - first + 1;
    int64_t parts = n < (int64_t)STO_SPLIT ? n : (int64_t)STO_SPLIT;
    for (int64_t k = 1; k < parts; k++)
        cut_at(out, (first + n * k / parts) * len);
}

void sto_pick__take(struct sto_pick__picker *p, enum sto_pick_why why, struct sto_window w,
                    enum sto_pick__cuts cuts, struct sto_pick *out)
{
    size_t n = 0;
    out->why = why;
    out->window = w;
    out->window.index = w.level == STO_WINDOW_ALL ? 0 : w.index;
    out->bytes = p->bytes;
    out->gen_lo = p->gen_lo;
    out->gen_hi = sto_pick__raised_gen(p, &out->final);
    set_cuts(p, cuts, w, out);
    for (size_t i = 0; i < p->n_runs; i++)
        n += p->runs[i].in ? p->runs[i].n : 0;
    out->files = ts_xcalloc(n + 1, sizeof *out->files);
    for (size_t i = 0; i < p->n_runs; i++)
        for (size_t k = 0; p->runs[i].in && k < p->runs[i].n; k++)
            out->files[out->n++] = p->order[p->runs[i].at + k];
}

/* --- valid? --- */

bool sto_pick_valid(const struct sto_sst_info *files, size_t n, const size_t *chosen, size_t n_chosen)
{
    uint64_t gen_lo = UINT64_MAX, gen_hi = 0;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    bool *in = ts_xcalloc(n + 1, sizeof *in), good = n_chosen > 0;
    for (size_t i = 0; i < n_chosen; i++) {
        const struct sto_sst_info *f = &files[chosen[i]];
        in[chosen[i]] = true;
        gen_lo = f->gen_lo < gen_lo ? f->gen_lo : gen_lo;
        gen_hi = f->gen_hi > gen_hi ? f->gen_hi : gen_hi;
        lo = f->n_points && f->min_ms < lo ? f->min_ms : lo;
        hi = f->n_points && f->max_ms > hi ? f->max_ms : hi;
    }
    for (size_t i = 0; i < n; i++)
        good &= in[i] || !files[i].n_points || files[i].min_ms > hi || files[i].max_ms < lo ||
                files[i].gen_hi < gen_lo || files[i].gen_lo > gen_hi;
    ts_free(in);
    return good;
}
