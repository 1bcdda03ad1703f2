/*
 * ship_pick.c - keeps merges from mixing points that were shipped with points that were not.
 *
 * The marks of all hours, and the target of the pass under way, cut generations into intervals; a merge of files of one interval
 * has no mark between its inputs, whatever their hours. Files of which everything was shipped are merged with each other first,
 * so that they can be removed, and files that were not shipped are; both together only if nothing else is left to do.
 *
 * Threads    compact_mu is held
 */
#include "storage/engine/ship.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 16 /* merges picked from one set of files until one is valid */

/* Files that may be merged with each other. */
struct set {
    uint64_t above, upto; /* generations above < gen <= upto */
    bool shipped;         /* those of which everything was shipped, */
    bool others;          /* and those of which something was not */
};

/* What was shipped, and what the running pass may ship. */
struct progress {
    /* the version whose marks are used: pinned after the target was read, so that it has the marks of a pass
     * that has just ended */
    struct sto_version *now;
    const struct sto_mark_list *marks; /* of now */
    uint64_t target; /* generation up to which the running pass may set marks; 0 = no pass runs */
};

static struct progress progress_of(struct sto_engine *e)
{
    struct progress l = {.target = sto_ship__target(e)};
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

static bool is_shipped(const struct progress *l, const struct sto_sst_info *f)
{
    int64_t lo = smaller(f->min_ms, f->tomb_min_ms), hi = larger(f->max_ms, f->tomb_max_ms);
    return lo <= hi && sto_mark_covers(l->marks, f->gen_hi, lo, hi);
}

static bool is_of(const struct progress *l, const struct sto_sst_info *f, const struct set *set)
{
    return f->gen_lo > set->above && f->gen_hi <= set->upto &&
           (set->shipped == set->others || is_shipped(l, f) == set->shipped);
}

/* Does a mark of these hours lie between the generations of a merge? */
static bool is_between(const struct progress *l, const struct sto_pick *pick, int32_t lo, int32_t hi)
{
    for (size_t i = 0; i < l->marks->n; i++) {
        const struct sto_mark *m = &l->marks->marks[i];
        if (m->hour_lo <= hi && m->hour_hi >= lo && m->gen >= pick->gen_lo && m->gen < pick->gen_hi)
            return true;
    }
    return l->target >= pick->gen_lo && l->target < pick->gen_hi;
}

/* Does a merge keep the order of writes beside files that its pick has not seen, and the marks? */
static bool is_valid(const struct progress *l, const struct sto_sst_info *infos, size_t n_infos,
                     const struct sto_pick *pick)
{
    int64_t lo = STO_MAX_TS_MS, hi = STO_MIN_TS_MS;
    bool good = true;
    if (pick->why == STO_PICK_TOMBS) /* each tombstone keeps its generation */
        return true;
    bool *in = ts_xcalloc(n_infos + 1, sizeof *in);
    for (size_t i = 0; i < pick->n; i++) {
        const struct sto_sst_info *f = &infos[pick->files[i]];
        in[pick->files[i]] = true;
        lo = smaller(lo, f->min_ms);
        hi = larger(hi, f->max_ms);
    }
    for (size_t i = 0; i < n_infos && good; i++) {
        const struct sto_sst_info *f = &infos[i];
        good = in[i] || !f->n_points || f->min_ms > hi || f->max_ms < lo || f->gen_hi < pick->gen_lo ||
               f->gen_lo > pick->gen_hi;
    }
    ts_free(in);
    return good && (lo > hi || !is_between(l, pick, sto_hour(lo), sto_hour(hi)));
}

/* Joining and splitting depend on how much lies in a window. They are left to the sets that hold either kind of files, or one set
 * would undo what another has done. */
static bool is_within(const struct set *set, const struct sto_pick *pick)
{
    return !(set->shipped && set->others) || (pick->why != STO_PICK_JOIN && pick->why != STO_PICK_SPLIT);
}

/* The next merge among some files; its files are indexes in `some`. Windows whose merge would not be valid are skipped. */
static bool pick_valid(const struct progress *l, const struct sto_version *v,
                       const struct sto_sst_info *infos, const struct set *set,
                       const struct sto_sst_info *some, const size_t *map, size_t n,
                       const struct sto_pick_opts *opts, struct sto_pick *out)
{
    struct sto_window *skip = ts_xcalloc(opts->n_skip + TRIES, sizeof *skip);
    struct sto_pick_opts again = *opts;
    bool valid = false;
    if (opts->n_skip)
        memcpy(skip, opts->skip, opts->n_skip * sizeof *skip);
    again.skip = skip;
    for (unsigned i = 0; i < TRIES && !valid; i++) {
        sto_pick_next(some, n, &again, out);
        if (out->why == STO_PICK_NONE)
            break;
        for (size_t k = 0; k < out->n; k++)
            out->files[k] = map[out->files[k]];
        valid = is_within(set, out) && is_valid(l, infos, v->n_ssts, out);
        if (valid)
            break;
        skip[again.n_skip++] = out->window; /* until files that lie between them are shipped */
        ts_free(out->files);
        *out = (struct sto_pick){.why = STO_PICK_NONE};
    }
    ts_free(skip);
    return valid;
}

/* The next merge among the files of a set; out->files are indexes in v->ssts. */
static bool pick_one(const struct progress *l, const struct sto_version *v, const struct sto_sst_info *infos,
                     const struct set *set, const struct sto_pick_opts *opts, struct sto_pick *out)
{
    struct sto_sst_info *some = ts_xcalloc(v->n_ssts + 1, sizeof *some);
    struct sto_pick_wear *wear = ts_xcalloc(v->n_ssts + 1, sizeof *wear);
    size_t *map = ts_xcalloc(v->n_ssts + 1, sizeof *map), n = 0;
    struct sto_pick_opts of_set = *opts;
    for (size_t i = 0; i < v->n_ssts; i++) {
        if (!is_of(l, &infos[i], set))
            continue;
        some[n] = infos[i];
        wear[n] = opts->wear[i];
        map[n++] = i;
    }
    of_set.wear = wear;
    /* They are not shipped yet, or files that the pick does not see may have what they delete. */
    of_set.keep_tombs = set->others || n < v->n_ssts;
    bool any = n && pick_valid(l, v, infos, set, some, map, n, &of_set, out);
    out->keep_tombs = set->others;
    ts_free(some);
    ts_free(wear);
    ts_free(map);
    return any;
}

static int cmp_gen(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* The next merge of files of one interval, the newest first. */
static bool pick_interval(const struct progress *l, const struct sto_version *v,
                          const struct sto_sst_info *infos, bool shipped, const struct sto_pick_opts *opts,
                          struct sto_pick *out)
{
    uint64_t *ends = ts_xcalloc(l->marks->n + 3, sizeof *ends);
    size_t n = 1; /* ends[0] is 0 */
    bool any = false;
    for (size_t i = 0; i < l->marks->n; i++)
        ends[n++] = l->marks->marks[i].gen;
    ends[n++] = l->target;
    ends[n++] = UINT64_MAX;
    qsort(ends, n, sizeof *ends, cmp_gen);
    for (size_t i = n - 1; i > 0 && !any; i--) {
        const struct set set = {.above = ends[i - 1], .upto = ends[i], .shipped = shipped, .others = true};
        any = ends[i - 1] < ends[i] && pick_one(l, v, infos, &set, opts, out);
    }
    ts_free(ends);
    return any;
}

void sto_ship__pick(struct sto_engine *e, const struct sto_version *v, const struct sto_sst_info *infos,
                    const struct sto_pick_opts *opts, struct sto_pick *out)
{
    const struct set shipped = {.upto = UINT64_MAX, .shipped = true};
    *out = (struct sto_pick){.why = STO_PICK_NONE};
    if (!e->shipper) {
        struct sto_pick_opts all = *opts;
        all.keep_tombs =
            v->marks != NULL; /* the remote store, which is not there now, may have what they delete */
        sto_pick_next(infos, v->n_ssts, &all, out);
        out->keep_tombs = all.keep_tombs;
    } else {
        struct progress l = progress_of(e);
        (void)(pick_interval(&l, v, infos, false, opts, out) || pick_one(&l, v, infos, &shipped, opts, out) ||
               pick_interval(&l, v, infos, true, opts, out));
        sto_engine_unpin(e, l.now);
    }
    if (e->shipper || v->marks)
        out->final = false; /* what additions add to may be in the remote store alone */
}

const char *sto_ship__misfit(struct sto_engine *e, const struct sto_sst_info *infos,
                             const struct sto_pick *pick)
{
    int64_t lo = STO_MAX_TS_MS, hi = STO_MIN_TS_MS;
    const char *why = NULL;
    struct progress l = progress_of(e);
    for (size_t i = 0; i < pick->n; i++) {
        lo = smaller(lo, infos[pick->files[i]].min_ms);
        hi = larger(hi, infos[pick->files[i]].max_ms);
    }
    if (e->shipper && lo <= hi && is_between(&l, pick, sto_hour(lo), sto_hour(hi)))
        why = "some of its inputs were shipped, but not all";
    else if (pick->final && l.marks->n)
        why = "the points that its additions add to may be only in the remote store";
    sto_engine_unpin(e, l.now);
    return why;
}
