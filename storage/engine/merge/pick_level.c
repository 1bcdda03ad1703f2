/*
 * pick_level.c - which files to compress harder because somebody has asked for it.
 *
 * Each run is written by itself, which no other file can prevent. A day that is not over is left alone: flushes still add to it, and what
 * they add would be compressed again and again.
 *
 * Not here   all other rules (pick_rules.c), what level a merge by these rules writes (compact.c)
 */
#include "storage/engine/merge/pick_int.h"

bool sto_pick_is_over(int64_t max_ms, int64_t now_ms)
{
    return (ts_floor_div(max_ms, TS_DAY_MS) + 1) * TS_DAY_MS <= now_ms - STO_OVER_AGE_MS;
}

static bool has_other_level(const struct sto_pick__picker *p, const struct sto_pick__run *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (p->opts->wear[p->order[r->at + i]].level != p->opts->range->level)
            return true;
    return false;
}

bool sto_pick__level(struct sto_pick__picker *p, struct sto_pick *out)
{
    const struct sto_pick_range *range = p->opts->range;
    for (size_t i = 0; p->opts->wear && i < p->n_runs; i++) {
        const struct sto_pick__run *r = &p->runs[i];
        if (r->skip || r->lo > range->to_ms || r->hi < range->from_ms ||
            !sto_pick_is_over(r->hi, p->opts->now_ms) || !has_other_level(p, r))
            continue;
        sto_pick__choose_only(p, i, i + 1);
        sto_pick__take(p, STO_PICK_LEVEL, r->w, STO_PICK__CUT_NOT, out);
        return true;
    }
    return false;
}
