/*
 * ship_pick.c - keeps merges from mixing what the remote store has with what it does not have.
 *
 * Files that were not shipped are merged with each other, and so are files of which everything was shipped. The others
 * wait: they hold hours of both kinds, or are being shipped.
 *
 * Threads    compact_mu is held
 */
#include "storage/engine/ship.h"

#define CLASSES 2 /* of files that may be merged with each other: not shipped at all, shipped as a whole */

/* What was shipped, and what may be shipped any moment. */
struct line {
    struct sto_version
        *now; /* whose marks are looked at: pinned after the target was read, so that the marks of a pass
                              * that has just ended are seen */
    const struct sto_mark_list *marks; /* of now */
    uint64_t target; /* generation up to which the pass under way may set marks; 0 = none is */
};

static struct line draw(struct sto_engine *e)
{
    struct line l = {.target = sto_ship__target(e)};
    l.now = sto_engine_pin(e);
    l.marks = sto_marks_list(l.now->marks);
    return l;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_of(const struct line *l, const struct sto_sst_info *f, unsigned class)
{
    uint64_t highest = sto_mark_highest(l->marks);
    int64_t lo = smaller(f->min_ms, f->tomb_min_ms), hi = larger(f->max_ms, f->tomb_max_ms);
    if (class == 0)
        return f->gen_lo > highest && f->gen_lo > l->target;
    return lo <= hi && f->gen_hi <= sto_mark_lowest(l->marks, sto_hour(lo), sto_hour(hi));
}

/* The next merge among the files of a class; out->files are indexes in v->ssts. */
static void pick_one(const struct line *l, const struct sto_version *v, const struct sto_sst_info *infos,
                     unsigned class, const struct sto_pick_opts *opts, struct sto_pick *out)
{
    struct sto_sst_info *some = ts_xcalloc(v->n_ssts + 1, sizeof *some);
    struct sto_pick_wear *wear = ts_xcalloc(v->n_ssts + 1, sizeof *wear);
    size_t *map = ts_xcalloc(v->n_ssts + 1, sizeof *map), n = 0;
    struct sto_pick_opts of_class = *opts;
    for (size_t i = 0; i < v->n_ssts; i++) {
        if (!is_of(l, &infos[i], class))
            continue;
        some[n] = infos[i];
        wear[n] = opts->wear[i];
        map[n++] = i;
    }
    of_class.wear = wear;
    /* They are not shipped yet, or files that the pick does not see may have what they delete. */
    of_class.keep_tombs = class == 0 || n < v->n_ssts;
    sto_pick_next(some, n, &of_class, out);
    for (size_t i = 0; i < out->n; i++)
        out->files[i] = map[out->files[i]];
    if (out->why != STO_PICK_NONE && out->why != STO_PICK_TOMBS &&
        !sto_pick_valid(infos, v->n_ssts, out->files, out->n)) {
        ts_free(out->files); /* until files that lie between them are shipped */
        *out = (struct sto_pick){.why = STO_PICK_NONE};
    }
    ts_free(some);
    ts_free(wear);
    ts_free(map);
}

void sto_ship__pick(struct sto_engine *e, const struct sto_version *v, const struct sto_sst_info *infos,
                    const struct sto_pick_opts *opts, struct sto_pick *out)
{
    *out = (struct sto_pick){.why = STO_PICK_NONE};
    if (!e->shipper) {
        sto_pick_next(infos, v->n_ssts, opts, out);
    } else {
        struct line l = draw(e);
        for (unsigned class = 0; class < CLASSES && out->why == STO_PICK_NONE; class ++)
            pick_one(&l, v, infos, class, opts, out);
        sto_engine_unpin(e, l.now);
    }
    if (e->shipper || v->marks)
        out->final = false; /* what additions add to may be in the remote store alone */
}

/* Does a mark of these hours lie between the generations of a merge? */
static bool is_between(const struct line *l, const struct sto_pick *pick, int32_t lo, int32_t hi)
{
    for (size_t i = 0; i < l->marks->n; i++) {
        const struct sto_mark *m = &l->marks->marks[i];
        if (m->hour_lo <= hi && m->hour_hi >= lo && m->gen >= pick->gen_lo && m->gen < pick->gen_hi)
            return true;
    }
    return l->target >= pick->gen_lo && l->target < pick->gen_hi;
}

const char *sto_ship__misfit(struct sto_engine *e, const struct sto_sst_info *infos,
                             const struct sto_pick *pick)
{
    int64_t lo = STO_MAX_TS_MS, hi = STO_MIN_TS_MS;
    const char *why = NULL;
    struct line l = draw(e);
    for (size_t i = 0; i < pick->n; i++) {
        lo = smaller(lo, infos[pick->files[i]].min_ms);
        hi = larger(hi, infos[pick->files[i]].max_ms);
    }
    if (e->shipper && lo <= hi && is_between(&l, pick, sto_hour(lo), sto_hour(hi)))
        why = "the remote store has some of its inputs, but not all";
    else if (pick->final && l.marks->n)
        why = "what its additions add to may be in the remote store alone";
    sto_engine_unpin(e, l.now);
    return why;
}
