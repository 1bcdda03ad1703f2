/*
 * pick_rules.c - the rules that choose which files are merged next.
 *
 * The rules are tried from narrow windows to wide ones. The newest runs of similar size in a window are
 * merged into one, so that each point is rewritten few times. Wide runs are split into windows one level
 * lower once they have a quarter of the bytes of the narrower runs in their window. An old and small window
 * becomes one run, and so does an old day that is too large to be joined with others. A wide run that
 * prevents a merge of narrower ones is split by itself, which is always allowed.
 *
 * Invariant  a window that stays joined (old, and small) is never split, so no rule undoes another
 * Not here   runs and the choice (pick.c), what deletes leave (pick_deleted.c), doing it (compact.c)
 */
#include "storage/engine/merge/pick_int.h"

#include "base/mem.h"

/* wide runs are split when they have 1/QUARTER of the bytes of the narrower runs in their window */
#define QUARTER 4u

/* --- how large and old a window is --- */

/* Bytes of runs up to a level that lie in lo_ms..hi_ms. */
static uint64_t bytes_of(struct sto_pick__picker *p, uint8_t level, uint8_t levels, int64_t lo_ms,
                         int64_t hi_ms)
{
    uint64_t sum = 0;
    struct sto_pick__near it = {.p = p, .lo = lo_ms, .hi = hi_ms, .level = level, .levels = levels};
    for (const struct sto_pick__run *r; (r = sto_pick__near(&it));)
        sum += r->bytes;
    return sum;
}

static uint64_t bytes_in(struct sto_pick__picker *p, uint8_t levels, int64_t lo_ms, int64_t hi_ms)
{
    return bytes_of(p, STO_WINDOW_DAY, levels, lo_ms, hi_ms);
}

/* The windows of the grid that a run lies in: its own, or those of 64 days below the one of all time. */
static void grid_span(const struct sto_pick__run *r, int64_t *out_lo, int64_t *out_hi)
{
    int64_t end;
    if (r->w.level < STO_WINDOW_ALL) {
        sto_window_span(r->w, out_lo, &end);
    } else {
        int64_t len = TS_DAY_MS << (STO_WINDOW_64 * 3u);
        *out_lo = ts_floor_div(r->lo, len) * len;
        end = (ts_floor_div(r->hi, len) + 1) * len;
    }
    *out_hi = end - 1;
}

/* Does a run stay in its window, given the bytes in its windows? A joined run stays until they reach
 * max_bytes. Small runs that were added later must not stay once nothing will be joined any more, or they
 * would accumulate. */
static bool is_small_enough(const struct sto_pick__run *r, uint64_t max_bytes)
{
    return r->around < max_bytes && (r->around < STO_JOINED_BYTES || r->bytes >= r->around / QUARTER);
}

uint64_t sto_pick__bytes_around(struct sto_pick__picker *p, uint8_t levels, int64_t lo, int64_t hi)
{
    if (p->known_levels != levels || p->known_lo != lo || p->known_hi != hi) {
        p->known_levels = levels;
        p->known_lo = lo;
        p->known_hi = hi;
        p->known_bytes = bytes_in(p, levels, lo, hi);
    }
    return p->known_bytes;
}

/* Does this run stay in its window, because its windows are old and small? */
static bool stays_joined(struct sto_pick__picker *p, struct sto_pick__run *r, uint64_t max_bytes)
{
    int64_t lo, hi;
    grid_span(r, &lo, &hi);
    if (r->w.level == STO_WINDOW_DAY || hi >= p->opts->now_ms - STO_JOIN_AGE_MS)
        return false;
    if (r->known)
        return is_small_enough(r, max_bytes);
    r->known = true;
    r->around = sto_pick__bytes_around(p, (uint8_t)(r->w.level + 1), lo, hi);
    return is_small_enough(r, max_bytes);
}

/* --- the rules --- */

/* Does a run stay in its window, and have a large part of the bytes in its windows? */
static bool is_joined(struct sto_pick__picker *p, struct sto_pick__run *r)
{
    return stays_joined(p, r, 2 * STO_JOINED_BYTES) && r->bytes >= r->around / QUARTER;
}

/* Choose to split a wide run that prevents a merge, unless it is the result of joining its windows. */
static bool split_blocker(struct sto_pick__picker *p, struct sto_pick__run *r, uint8_t level,
                          struct sto_pick *out)
{
    if (r->w.level <= level || r->skip || is_joined(p, r))
        return false;
    sto_pick__choose_only(p, (size_t)(r - p->runs), (size_t)(r - p->runs) + 1);
    sto_pick__take(p, STO_PICK_SPLIT, r->w, STO_PICK__CUT_BELOW, out);
    return true;
}

/* Choose the runs of a group that do not stay in their window. Of the runs of all time, choose those that
 * overlap each other, directly or through others, beginning with the first one that was not visited yet; the
 * results of splitting such sets do not overlap. False: there are none. */
static bool choose_loose(struct sto_pick__picker *p, struct sto_pick__group g, uint64_t max_bytes)
{
    bool all = p->runs[g.lo].w.level == STO_WINDOW_ALL, grew = true;
    sto_pick__clear(p);
    while (grew) {
        grew = false;
        for (size_t i = g.lo; i < g.hi; i++) {
            struct sto_pick__run *r = &p->runs[i];
            bool joins = !p->n_in || !all || (r->lo <= p->hi && r->hi >= p->lo);
            if (r->seen || !joins || stays_joined(p, r, max_bytes))
                continue;
            sto_pick__choose(p, r);
            r->seen = grew = true;
        }
    }
    return p->n_in > 0;
}

static void forget_seen(struct sto_pick__picker *p, struct sto_pick__group g)
{
    for (size_t i = g.lo; i < g.hi; i++)
        p->runs[i].seen = false;
}

/* Split the choice into windows one level lower, or only its oldest run, which is always possible. */
static void split_choice(struct sto_pick__picker *p, struct sto_pick__group g, struct sto_pick *out)
{
    if (sto_pick__in_the_way(p)) {
        size_t i = g.lo;
        while (!p->runs[i].in)
            i++;
        sto_pick__choose_only(p, i, i + 1);
    }
    sto_pick__take(p, STO_PICK_SPLIT, p->runs[g.lo].w, STO_PICK__CUT_BELOW, out);
}

/* Does run i belong to a tier whose newest run is `newest`? Runs of all time do if they overlap it. */
static bool is_beside(const struct sto_pick__picker *p, size_t i, size_t newest)
{
    const struct sto_pick__run *a = &p->runs[i], *b = &p->runs[newest];
    return a->w.level < STO_WINDOW_ALL || (a->lo <= b->hi && a->hi >= b->lo);
}

/* Did this day end so long ago that few points come for it any more, and had the newest flush none? A day that is filled late is
 * not over: it would become one run again and again. */
static bool is_day_over(const struct sto_pick__picker *p, struct sto_pick__group g)
{
    struct sto_window w = p->runs[g.lo].w;
    int64_t lo, end;
    sto_window_span(w, &lo, &end);
    return w.level == STO_WINDOW_DAY && end <= p->opts->now_ms - STO_OVER_AGE_MS &&
           p->runs[g.hi - 1].gen_hi < p->newest_gen;
}

/* Is this day over, and too large to be joined with its neighbours? */
static bool is_day_done(struct sto_pick__picker *p, struct sto_pick__group g)
{
    struct sto_window w = p->runs[g.lo].w;
    int64_t lo, end, over_ms = p->opts->now_ms - STO_JOIN_AGE_MS;
    uint64_t sum = 0;
    sto_window_span(w, &lo, &end);
    if (w.level != STO_WINDOW_DAY || end > over_ms)
        return false;
    for (size_t i = g.lo; i < g.hi; i++)
        sum += p->runs[i].bytes;
    if (sum >= STO_JOINED_BYTES / 8)
        return true;
    sto_window_span((struct sto_window){STO_WINDOW_8, w.index >> 3}, &lo, &end);
    return end <= over_ms && bytes_in(p, STO_WINDOW_8 + 1, lo, end - 1) >= STO_JOINED_BYTES;
}

/* The number of similar runs that starts a merge. It is larger for windows that are still written to or will
 * be joined anyway. */
static size_t tier_files(struct sto_pick__picker *p, struct sto_pick__group g, bool done)
{
    return p->runs[g.lo].w.level > STO_WINDOW_DAY || done ? STO_TIER_FILES
           : p->bytes / p->n_in < STO_TINY_BYTES          ? STO_TINY_FILES
                                                          : STO_DAY_FILES;
}

/* Choose, of the runs from..newest, as many of the newest ones as possible such that the oldest of them is at
 * most twice as large as the average of the others. */
static void choose_tier(struct sto_pick__picker *p, size_t from, size_t newest)
{
    uint64_t sum = 0, n = 0;
    size_t first = newest + 1;
    for (size_t i = newest + 1; i-- > from;)
        if (is_beside(p, i, newest)) {
            first = n == 0 || p->runs[i].bytes / 2 <= sum / n ? i : first;
            sum += p->runs[i].bytes;
            n++;
        }
    sto_pick__clear(p);
    for (size_t i = first; i <= newest; i++)
        if (is_beside(p, i, newest))
            sto_pick__choose(p, &p->runs[i]);
}

/* Do all chosen runs come from one merge, which cut them by key into pieces that share no time? Merging them would change nothing. */
static bool is_one_merge(struct sto_pick__picker *p)
{
    p->n_looked += p->n_in;
    for (size_t i = 0; i < p->n_in; i++) {
        const struct sto_pick__run *r = &p->runs[p->chosen[i]];
        if (r->gen_lo != p->gen_lo || r->gen_hi != p->gen_hi)
            return false;
    }
    return true;
}

static bool tier_at(struct sto_pick__picker *p, struct sto_pick__group g, size_t newest, bool done,
                    struct sto_pick *out)
{
    for (size_t from = g.lo;;) {
        choose_tier(p, from, newest);
        if (p->n_in == 0 || is_one_merge(p) || p->n_in < tier_files(p, g, done))
            return false;
        struct sto_pick__run *r = sto_pick__in_the_way(p);
        if (!r) {
            sto_pick__take(p, STO_PICK_TIER, p->runs[g.lo].w, STO_PICK__CUT_NOT, out);
            return true;
        }
        if (split_blocker(p, r, p->runs[g.lo].w.level, out))
            return true;
        while (from <= newest && p->runs[from].gen_lo <= r->gen_hi) /* only those that are newer */
            from++;
    }
}

/* Many small wide runs overlap, and narrower files have generations between theirs: split the oldest run. */
static bool split_crowd(struct sto_pick__picker *p, struct sto_pick__group g, size_t newest,
                        struct sto_pick *out)
{
    size_t n = 0, oldest = newest;
    for (size_t i = newest + 1; i-- > g.lo;)
        if (is_beside(p, i, newest) && !stays_joined(p, &p->runs[i], 2 * STO_JOINED_BYTES)) {
            n++;
            oldest = i;
        }
    if (n < STO_CROWD_FILES || p->runs[g.lo].w.level == STO_WINDOW_DAY)
        return false;
    sto_pick__choose_only(p, oldest, oldest + 1);
    sto_pick__take(p, STO_PICK_SPLIT, p->runs[g.lo].w, STO_PICK__CUT_BELOW, out);
    return true;
}

/* Choose the newest runs of a day that are similar and hold at most a quarter of its bytes, which are `all`. Returns whether
 * joining them pays: they are half of its runs or more. */
static bool choose_tail(struct sto_pick__picker *p, struct sto_pick__group g, uint64_t all)
{
    choose_tier(p, g.lo, g.hi - 1);
    size_t first = g.hi - p->n_in;
    for (uint64_t bytes = p->bytes; bytes > all / QUARTER; first++)
        bytes -= p->runs[first].bytes;
    sto_pick__choose_only(p, first, g.hi);
    return p->n_in >= STO_TIER_FILES && p->n_in >= (g.hi - g.lo) / 2;
}

/* A day that is over becomes one run when a quarter of it lies beside its largest one. If it will be joined with its neighbours
 * (not done) and is small, which means three more joins, or less lies beside, only its last small runs become one. */
static bool pick_day(struct sto_pick__picker *p, struct sto_pick__group g, bool done, struct sto_pick *out)
{
    uint64_t most = 0, least = done ? 0 : STO_OVER_BYTES;
    for (size_t i = g.lo; i < g.hi; i++)
        most = p->runs[i].bytes > most ? p->runs[i].bytes : most;
    sto_pick__choose_only(p, g.lo, g.hi);
    uint64_t all = p->bytes;
    bool whole = all >= least && all < STO_DAY_BYTES && all - most >= all / QUARTER;
    if ((!whole && (done || !choose_tail(p, g, all))) || is_one_merge(p))
        return false;
    struct sto_pick__run *r = sto_pick__in_the_way(p);
    if (r)
        return split_blocker(p, r, STO_WINDOW_DAY, out);
    sto_pick__take(p, STO_PICK_DAY, p->runs[g.lo].w, STO_PICK__CUT_NOT, out);
    return true;
}

static bool pick_tier(struct sto_pick__picker *p, struct sto_pick__group g, struct sto_pick *out)
{
    bool all = p->runs[g.lo].w.level == STO_WINDOW_ALL;
    bool done = g.hi - g.lo > 1 && is_day_done(p, g);
    if ((done || (g.hi - g.lo > 1 && is_day_over(p, g))) && pick_day(p, g, done, out))
        return true;
    for (size_t newest = g.hi; newest-- > g.lo + STO_TIER_FILES - 1;) {
        if (tier_at(p, g, newest, done, out) || split_crowd(p, g, newest, out))
            return true;
        /* only the newest run is checked, since each of the others was checked when it was the newest */
        if (!all)
            break;
    }
    return false;
}

static bool pick_split(struct sto_pick__picker *p, struct sto_pick__group g, struct sto_pick *out)
{
    if (p->runs[g.lo].w.level == STO_WINDOW_DAY)
        return false;
    forget_seen(p, g);
    while (choose_loose(p, g, 2 * STO_JOINED_BYTES)) {
        uint64_t below = bytes_in(p, p->runs[g.lo].w.level, p->lo, p->hi);
        if (p->bytes > 2ull * STO_JOINED_BYTES || (below && p->bytes >= below / QUARTER)) {
            split_choice(p, g, out);
            return true;
        }
    }
    return false;
}

static bool pick_window(struct sto_pick__picker *p, struct sto_pick *out)
{
    for (uint8_t level = STO_WINDOW_DAY; level < STO_WINDOW_LEVELS; level++)
        for (struct sto_pick__group g = {0, p->level_at[level]}; sto_pick__next_group(p, level, &g);)
            if (!p->runs[g.lo].skip && (pick_split(p, g, out) || pick_tier(p, g, out)))
                return true;
    return false;
}

/* --- joining --- */

/* Choose the narrower runs of a window, except those that are more than four times as large as all smaller ones together: they
 * are the result of a join that stayed in one narrower window. Returns the number of those chosen. */
static size_t choose_lower(struct sto_pick__picker *p, struct sto_pick__near lower)
{
    uint64_t most = UINT64_MAX, largest;
    do {
        struct sto_pick__near it = lower;
        largest = 0;
        sto_pick__clear(p);
        for (struct sto_pick__run *r; (r = sto_pick__near(&it));)
            if (r->bytes <= most) {
                sto_pick__choose(p, r);
                largest = r->bytes > largest ? r->bytes : largest;
            }
        most = largest - 1;
    } while (!p->opts->full && p->n_in > 1 && largest / QUARTER > p->bytes - largest);
    return p->n_in;
}

/* Choose the runs that a join of w merges: narrower runs, and the runs of w that are at most four times
 * as large as all of these together. Returns the number of narrower ones. */
static size_t choose_join(struct sto_pick__picker *p, struct sto_window w, int64_t lo, int64_t hi)
{
    const struct sto_pick__near lower = {.p = p, .lo = lo, .hi = hi, .levels = w.level};
    const struct sto_pick__near own = {
        .p = p, .lo = lo, .hi = hi, .level = w.level, .levels = (uint8_t)(w.level + 1)};
    size_t n_lower = choose_lower(p, lower);
    for (size_t before = 0; p->n_in > before;) {
        before = p->n_in;
        struct sto_pick__near it = own;
        for (struct sto_pick__run *r; (r = sto_pick__near(&it));)
            if (p->opts->full || r->bytes / QUARTER <= p->bytes)
                sto_pick__choose(p, r);
    }
    return n_lower;
}

/* The first wider run that prevents the merge of the choice and can be split; NULL: there is none. Merging it
 * with the choice would require merging everything that overlaps it as well. */
static struct sto_pick__run *wide_in_the_way(struct sto_pick__picker *p, uint8_t level)
{
    struct sto_pick__near it = {
        .p = p, .lo = p->lo, .hi = p->hi, .level = (uint8_t)(level + 1), .levels = STO_WINDOW_LEVELS};
    for (struct sto_pick__run *r; (r = sto_pick__near(&it));)
        if (r->gen_hi >= p->gen_lo && r->gen_lo <= p->gen_hi && !r->skip && !is_joined(p, r))
            return r;
    return NULL;
}

/* Choose to merge all runs in an old and small window into one, except for a large one. level 1 or 2. */
static bool join_window(struct sto_pick__picker *p, struct sto_window w, struct sto_pick *out)
{
    int64_t lo, end;
    uint64_t bytes = 0;
    size_t n_lower = 0;
    bool full = p->opts->full, bad = sto_pick__is_skipped(p, w);
    sto_window_span(w, &lo, &end);
    if (bad || end > p->opts->now_ms - STO_JOIN_AGE_MS)
        return false;
    struct sto_pick__near it = {.p = p, .lo = lo, .hi = end - 1, .levels = (uint8_t)(w.level + 1)};
    for (const struct sto_pick__run *r; (r = sto_pick__near(&it));) {
        n_lower += r->w.level < w.level;
        bytes += r->bytes;
        bad |= r->skip;
    }
    if (bad || bytes >= STO_JOINED_BYTES || !n_lower)
        return false;
    n_lower = choose_join(p, w, lo, end - 1);
    if (n_lower < STO_TIER_FILES && p->n_in < (full ? 2 : STO_CROWD_FILES))
        return false;
    struct sto_pick__run *wide = full ? NULL : wide_in_the_way(p, w.level);
    if (wide && split_blocker(p, wide, w.level, out))
        return true;
    if (!sto_pick__close(p, STO_JOINED_BYTES))
        return split_blocker(p, sto_pick__in_the_way(p), w.level, out);
    sto_pick__take(p, STO_PICK_JOIN, w, STO_PICK__CUT_BORDERS, out);
    return true;
}

/* Try to join the windows of a level that contain narrower runs. */
static bool pick_join(struct sto_pick__picker *p, uint8_t level, struct sto_pick *out)
{
    for (uint8_t below = 0; below < level; below++) {
        int32_t last = INT32_MIN;
        for (size_t i = p->level_at[below]; i < p->level_at[below + 1]; i++) {
            int32_t index = p->runs[i].w.index >> ((level - below) * 3);
            if (index == last && i > p->level_at[below])
                continue;
            last = index;
            if (join_window(p, (struct sto_window){level, index}, out))
                return true;
        }
    }
    return false;
}

/* Choose all runs in adjacent old windows of 64 days, beginning with runs[i], that are small together.
 * Returns the number of these windows; *out_next: the run after them. */
static size_t choose_old(struct sto_pick__picker *p, size_t i, size_t *out_next)
{
    size_t end = p->level_at[STO_WINDOW_64 + 1], n = 0;
    int64_t from, lo, hi, upto = INT64_MIN;
    uint64_t sum = 0;
    grid_span(&p->runs[i], &from, &hi);
    for (*out_next = i; *out_next < end; ++*out_next) {
        const struct sto_pick__run *r = &p->runs[*out_next];
        grid_span(r, &lo, &hi);
        if (r->skip || hi >= p->opts->now_ms - STO_JOIN_AGE_MS)
            break;
        if (hi > upto)
            sum += bytes_in(p, STO_WINDOW_ALL, n ? upto + 1 : from, hi);
        if (hi > upto && sum + bytes_of(p, STO_WINDOW_ALL, STO_WINDOW_LEVELS, from, hi) >= STO_JOINED_BYTES)
            break;
        n += hi > upto;
        upto = hi;
    }
    sto_pick__clear(p);
    struct sto_pick__near it = {.p = p, .lo = from, .hi = upto, .levels = STO_WINDOW_ALL};
    for (struct sto_pick__run *r; n && (r = sto_pick__near(&it));)
        if (!r->skip)
            sto_pick__choose(p, r);
    return n;
}

static bool pick_join_all(struct sto_pick__picker *p, struct sto_pick *out)
{
    const struct sto_window all = {STO_WINDOW_ALL, 0};
    size_t want = p->opts->full ? 2 : STO_JOIN_FILES_ALL;
    if (sto_pick__is_skipped(p, all))
        return false;
    for (size_t i = p->level_at[STO_WINDOW_64], next; i < p->level_at[STO_WINDOW_64 + 1]; i = next) {
        if (choose_old(p, i, &next) >= want && sto_pick__close(p, STO_JOINED_BYTES)) {
            sto_pick__take(p, STO_PICK_JOIN, all, STO_PICK__CUT_NOT, out);
            return true;
        }
        next += next == i;
    }
    return false;
}

/* --- everything --- */

/* Choose a run of all time that stays, and everything that overlaps it. */
static bool full_old(struct sto_pick__picker *p, struct sto_pick__run *r, struct sto_pick *out)
{
    struct sto_pick__near it = {.p = p, .lo = r->lo, .hi = r->hi, .levels = STO_WINDOW_LEVELS};
    sto_pick__clear(p);
    for (struct sto_pick__run *other; (other = sto_pick__near(&it));)
        if (!other->skip)
            sto_pick__choose(p, other);
    if (p->n_in < 2 || !sto_pick__close(p, UINT64_MAX))
        return false;
    sto_pick__take(p, STO_PICK_FULL, r->w, STO_PICK__CUT_NOT, out);
    return true;
}

/* Wide runs that overlap others: merge the window into one run if it is old and small, otherwise split them. */
static bool full_wide(struct sto_pick__picker *p, struct sto_pick__group g, struct sto_pick *out)
{
    const struct sto_pick__run *r = &p->runs[g.lo];
    if (r->w.level < STO_WINDOW_ALL) {
        sto_pick__choose_only(p, g.lo, g.hi);
        if (bytes_in(p, r->w.level, p->lo, p->hi) == 0)
            return false;
        if (join_window(p, r->w, out))
            return true;
        sto_pick__choose_only(p, g.lo, g.hi);
        split_choice(p, g, out);
        return true;
    }
    forget_seen(p, g);
    while (choose_loose(p, g, STO_JOINED_BYTES))
        if (bytes_in(p, STO_WINDOW_LEVELS, p->lo, p->hi) > p->bytes) {
            split_choice(p, g, out);
            return true;
        }
    for (size_t i = g.lo; i < g.hi; i++)
        if (stays_joined(p, &p->runs[i], STO_JOINED_BYTES) && full_old(p, &p->runs[i], out))
            return true;
    return false;
}

/* Merge runs of one window that overlap. */
static bool full_group(struct sto_pick__picker *p, struct sto_pick__group g, struct sto_pick *out)
{
    bool overlap = false;
    for (size_t i = g.lo; i < g.hi; i++)
        for (size_t k = g.lo; k < i && !overlap; k++)
            overlap = p->runs[i].lo <= p->runs[k].hi && p->runs[i].hi >= p->runs[k].lo;
    if (!overlap)
        return false;
    sto_pick__choose_only(p, g.lo, g.hi);
    if (!sto_pick__close(p, UINT64_MAX))
        return false;
    sto_pick__take(p, STO_PICK_FULL, p->runs[g.lo].w, STO_PICK__CUT_BORDERS, out);
    return true;
}

/* Rewrite a run without the points that a newer file of tombstones may delete. */
static bool full_touched(struct sto_pick__picker *p, struct sto_pick *out)
{
    for (size_t i = 0; i < p->n_runs; i++) {
        struct sto_pick__run *r = &p->runs[i];
        bool touched = false, final;
        for (size_t k = 0; k < p->n_tombs && !r->skip; k++) {
            const struct sto_sst_info *t = &p->files[p->tombs[k]];
            touched |= t->gen_hi > r->gen_hi && t->tomb_min_ms <= r->hi && t->tomb_max_ms >= r->lo;
        }
        if (!touched)
            continue;
        sto_pick__choose_only(p, i, i + 1);
        if (sto_pick__in_the_way(p) || sto_pick__raised_gen(p, &final) == r->gen_hi)
            continue;
        sto_pick__take(p, STO_PICK_FULL, r->w, STO_PICK__CUT_NOT, out);
        return true;
    }
    return false;
}

static bool pick_full(struct sto_pick__picker *p, struct sto_pick *out)
{
    for (uint8_t level = STO_WINDOW_ALL; level > STO_WINDOW_DAY; level--)
        for (struct sto_pick__group g = {0, p->level_at[level]}; sto_pick__next_group(p, level, &g);)
            if (!p->runs[g.lo].skip && full_wide(p, g, out))
                return true;
    for (uint8_t level = STO_WINDOW_DAY; level < STO_WINDOW_LEVELS; level++)
        for (struct sto_pick__group g = {0, p->level_at[level]}; sto_pick__next_group(p, level, &g);)
            if (!p->runs[g.lo].skip && full_group(p, g, out))
                return true;
    return false;
}

void sto_pick_next(const struct sto_sst_info *files, size_t n, const struct sto_pick_opts *opts,
                   struct sto_pick *out)
{
    struct sto_pick__picker p;
    *out = (struct sto_pick){.why = STO_PICK_NONE};
    sto_pick__init(&p, files, n, opts);
    if (opts->range)
        (void)sto_pick__level(&p, out);
    else
        (void)(sto_pick__expired(&p, out) || (opts->full ? pick_full(&p, out) : pick_window(&p, out)) ||
               pick_join(&p, STO_WINDOW_8, out) || pick_join(&p, STO_WINDOW_64, out) ||
               pick_join_all(&p, out) || (opts->full && full_touched(&p, out)) || sto_pick__worn(&p, out) ||
               sto_pick__tombs(&p, out));
    out->n_looked = p.n_looked;
    sto_pick__release(&p);
}
