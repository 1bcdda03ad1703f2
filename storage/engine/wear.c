/*
 * wear.c - estimates how much of older files deletes have removed.
 *
 * Threads    wear.h
 */
#include "storage/engine/wear.h"

uint64_t sto_wear_tomb_gen(const struct sto_version *v)
{
    uint64_t gen = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_tombs && f->gen_hi > gen)
            gen = f->gen_hi;
    }
    return gen;
}

/* Does the range of t overlap a file that was written without applying t? */
static bool touches(const struct sto_sst_info *f, const struct sto_sst_wear *w, const struct sto_tomb *t)
{
    return f->n_points && f->gen_hi < t->gen && w->carried_gen < t->gen && f->min_ms <= t->to_ms &&
           f->max_ms >= t->from_ms;
}

/* Has a file rows of a series? What cannot be read counts as if it had. */
static bool perhaps_has(struct sto_sst *sst, struct sto_sst_series_reader *reader, uint32_t series)
{
    return sto_sst_series_has(sto_sst_series(sst), reader, series, NULL) != 0;
}

bool sto_wear_concerns(struct sto_sst *sst, const struct sto_tomb *t)
{
    struct sto_sst_series_reader reader = {.filled = false};
    return touches(sto_sst_info(sst), sto_sst_wear(sst), t) &&
           (sto_sst_broken(sst) || perhaps_has(sst, &reader, t->series));
}

/* Estimate the points of a file that belong to a series and lie in the range of t. */
static double share_of(const struct sto_sst_info *f, double n_series, const struct sto_tomb *t)
{
    int64_t lo = t->from_ms > f->min_ms ? t->from_ms : f->min_ms;
    int64_t hi = t->to_ms < f->max_ms ? t->to_ms : f->max_ms;
    double part = ((double)(hi - lo) + 1) / ((double)(f->max_ms - f->min_ms) + 1);
    return (double)f->n_points / n_series * part;
}

/* Compare the tombstones of one file with the rows of another. */
static void judge_by(struct sto_sst *sst, struct sto_sst *deletes)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct sto_sst_wear *w = sto_sst_wear(sst);
    struct sto_sst_series_reader reader = {.filled = false};
    double n_series = (double)sto_sst_series(sst)->count;
    int64_t made_ms = sto_sst_wear(deletes)->made_ms;
    size_t n;
    const struct sto_tomb *t = sto_sst_tombs(deletes, &n);
    bool has = false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || t[i].series != t[i - 1].series)
            has = perhaps_has(sst, &reader, t[i].series);
        if (!has || t[i].gen <= w->judged_gen || !touches(f, w, &t[i]))
            continue;
        w->n_dead += share_of(f, n_series, &t[i]);
        w->since_ms = made_ms < w->since_ms ? made_ms : w->since_ms;
    }
}

/* Compare a file with the tombstones that are newer than those of its last comparison. */
static void judge(const struct sto_version *v, struct sto_sst *sst, uint64_t tomb_gen)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct sto_sst_wear *w = sto_sst_wear(sst);
    uint64_t known = w->judged_gen > w->carried_gen ? w->judged_gen : w->carried_gen;
    known = known > f->gen_hi ? known : f->gen_hi;
    for (size_t i = 0; known < tomb_gen && i < v->n_ssts; i++) {
        const struct sto_sst_info *t = sto_sst_info(v->ssts[i]);
        if (t->n_tombs && t->gen_hi > known && t->tomb_min_ms <= f->max_ms && t->tomb_max_ms >= f->min_ms)
            judge_by(sst, v->ssts[i]);
    }
    w->judged_gen = tomb_gen > w->judged_gen ? tomb_gen : w->judged_gen;
}

/* Does a tombstone of a file concern no other file? Once this is so, it remains so: files only lose points
 * that it deletes. */
static bool is_done(const struct sto_version *v, struct sto_sst *deletes)
{
    struct sto_sst_wear *w = sto_sst_wear(deletes);
    size_t n;
    const struct sto_tomb *t = sto_sst_tombs(deletes, &n);
    for (; w->n_done < n; w->n_done++)
        for (size_t i = 0; i < v->n_ssts; i++)
            if (sto_wear_concerns(v->ssts[i], &t[w->n_done]))
                return false;
    return true;
}

void sto_wear_look(const struct sto_version *v, struct sto_pick_wear *out)
{
    uint64_t tomb_gen = sto_wear_tomb_gen(v);
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        out[i] = (struct sto_pick_wear){.since_ms = INT64_MAX, .level = (uint8_t)sto_sst_level(v->ssts[i])};
        if (f->n_points && tomb_gen > f->gen_hi) {
            judge(v, v->ssts[i], tomb_gen);
            const struct sto_sst_wear *w = sto_sst_wear(v->ssts[i]);
            out[i].n_dead = w->n_dead < (double)f->n_points ? (uint64_t)w->n_dead : f->n_points;
            out[i].since_ms = w->since_ms;
        } else if (f->n_tombs && !f->n_points) {
            out[i].done = is_done(v, v->ssts[i]);
        }
    }
}
