/*
 * expire.c - raises the floors of retention and finds the files that are below them.
 *
 * Threads    expire.h
 * Invariant  a floor is in DIR/FLOORS before a version without its points is; a series leaves a floor only if a higher one has it, if it
 *            is in no file, or if no file has points that the floor hides
 */
#include "storage/engine/expire.h"

#include "base/array.h"
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/evict.h"
#include "storage/engine/evict_pick.h"
#include "storage/engine/expire_cut.h"
#include "storage/engine/output.h"
#include "storage/engine/reserve.h"

/* --- what is in force --- */

struct sto_keep *sto_expire__keep(struct sto_engine *e)
{
    if (e->owner.keep)
        return e->owner.keep(e->owner.arg);
    return sto_keep_new(
        &(struct sto_keep_opts){.rest_ms = e->opts.retention_ms ? e->opts.retention_ms : STO_KEEP_FOREVER,
                                .least_ms = STO_MIN_TS_MS,
                                .least_points_ms = STO_MIN_TS_MS});
}

struct sto_floors *sto_engine_floors(struct sto_engine *e)
{
    pthread_mutex_lock(&e->version_mu);
    struct sto_floors *f = e->floors && e->floors->n ? sto_floors_ref(e->floors) : NULL;
    pthread_mutex_unlock(&e->version_mu);
    return f;
}

static void publish(struct sto_engine *e, struct sto_floors *f)
{
    f->epoch = ++e->floors_epoch;
    pthread_mutex_lock(&e->version_mu);
    struct sto_floors *old = e->floors;
    e->floors = f;
    pthread_mutex_unlock(&e->version_mu);
    sto_floors_unref(old);
}

int sto_expire__open(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    struct sto_floors *f;
    int rc = sto_floors_read(e->fs, e->dir, &f, &why);
    if (rc == 1)
        publish(e, f);
    else if (rc == TS_ECORRUPT)
        ts_log(TS_LOG_WARN,
               "values that were overwritten or deleted and have expired may reappear if a rule of retention "
               "keeps points longer: %s",
               why.text);
    else if (rc < 0 && err)
        *err = why;
    return rc < 0 && rc != TS_ECORRUPT ? rc : 0;
}

void sto_expire__close(struct sto_engine *e)
{
    sto_floors_unref(e->floors);
    sto_keep_unref(e->raised_keep);
    e->floors = NULL;
    e->raised_keep = NULL;
}

/* --- raising --- */

/* Series by rule, as far as files have them. */
struct sets {
    roaring_bitmap_t **of; /* n_rules + 1; NULL: nothing of the rule expires; owned */
    roaring_bitmap_t **
        summaries; /* the same of series of summaries, if the limit of bytes has points apart from them; else they are in `of`; owned */
    size_t n;      /* length of both */
    roaring_bitmap_t *all; /* all series that are known; owned */
};

/* Every series in the files of v has a lower number. */
static uint32_t series_end(const struct sto_version *v)
{
    uint32_t end = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_series *set = sto_sst_series(v->ssts[i]);
        if (!sto_sst_broken(v->ssts[i]) && set->count && set->max >= end)
            end = set->max + 1;
    }
    return end;
}

/* Has the limit of bytes removed points whose summaries stay? */
static bool is_apart(const struct sto_keep *keep)
{
    return sto_keep_least_points_ms(keep) > sto_keep_least_ms(keep);
}

/* floors: as floors need them, without what never expires, and summaries apart. */
static void sets_init(struct sets *s, const struct sto_version *v, struct sto_keep *keep, bool floors)
{
    bool apart = floors && is_apart(keep);
    s->n = sto_keep_n_rules(keep) + 1;
    s->of = ts_xcalloc(s->n, sizeof(roaring_bitmap_t *));
    s->summaries = ts_xcalloc(s->n, sizeof(roaring_bitmap_t *));
    s->all = roaring_bitmap_create();
    for (size_t r = 0; r < s->n; r++) {
        bool expires = !floors || sto_keep_rule_ms(keep, r) != STO_KEEP_FOREVER;
        s->of[r] = expires || apart ? roaring_bitmap_create() : NULL;
        s->summaries[r] = expires && apart ? roaring_bitmap_create() : NULL;
    }
    for (uint32_t id = 0, end = series_end(v); id < end; id++) {
        int rule = sto_keep_rule(keep, id);
        if (rule < 0)
            continue;
        roaring_bitmap_t *set = apart && sto_keep_is_summary(keep, id) ? s->summaries[rule] : s->of[rule];
        roaring_bitmap_add(s->all, id);
        if (set)
            roaring_bitmap_add(set, id);
    }
}

static void sets_release(struct sets *s)
{
    for (size_t r = 0; r < s->n; r++) {
        if (s->of[r])
            roaring_bitmap_free(s->of[r]);
        if (s->summaries[r])
            roaring_bitmap_free(s->summaries[r]);
    }
    roaring_bitmap_free(s->all);
    ts_free(s->of);
    ts_free(s->summaries);
}

/* Has a file of v points that a floor hides, if it has its series? */
static bool is_needed(const struct sto_version *v, int64_t cutoff_ms, uint64_t gen)
{
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && f->gen_hi < gen && f->min_ms < cutoff_ms)
            return true;
    }
    return false;
}

/* What is left of a former floor beside the new ones out->at[0..n): NULL if nothing is. */
static roaring_bitmap_t *left_of(const struct sto_floor *old, const struct sets *s,
                                 const struct sto_floors *out, size_t n)
{
    roaring_bitmap_t *left = roaring_bitmap_and(old->series, s->all);
    for (size_t i = 0; i < n; i++)
        if (out->at[i].cutoff_ms >= old->cutoff_ms)
            roaring_bitmap_andnot_inplace(left, out->at[i].series);
    if (!roaring_bitmap_is_empty(left))
        return left;
    roaring_bitmap_free(left);
    return NULL;
}

/* Add a floor to out->at[0..*n), which takes its set: to the one that says the same of other series, or behind the last. */
static void add_floor(struct sto_floors *out, size_t *n, const struct sto_floor *floor)
{
    for (size_t i = 0; i < *n; i++)
        if (out->at[i].cutoff_ms == floor->cutoff_ms && out->at[i].gen == floor->gen) {
            roaring_bitmap_or_inplace(out->at[i].series, floor->series);
            roaring_bitmap_free(floor->series);
            return;
        }
    out->at[(*n)++] = *floor;
}

/* Add floors for those of these series that have summaries of their hours, as far as they have them. */
static void add_aged(struct sto_floors *out, size_t *n, const struct sto_floors *aged,
                     const roaring_bitmap_t *series, int64_t cutoff_ms, uint64_t gen)
{
    for (size_t i = 0; aged && i < aged->n; i++) {
        int64_t to_ms = aged->at[i].cutoff_ms < cutoff_ms ? aged->at[i].cutoff_ms : cutoff_ms;
        roaring_bitmap_t *both = roaring_bitmap_and(series, aged->at[i].series);
        if (to_ms <= STO_MIN_TS_MS || roaring_bitmap_is_empty(both)) /* the mark was lost */
            roaring_bitmap_free(both);
        else
            add_floor(out, n, &(struct sto_floor){.cutoff_ms = to_ms, .gen = gen, .series = both});
    }
}

/* Up to where points of a rule, or summaries, are to be removed at before_ms: STO_MIN_TS_MS, nowhere. */
static int64_t cutoff_of(const struct sto_keep *keep, size_t rule, bool summaries, int64_t before_ms)
{
    int64_t keep_ms = sto_keep_rule_ms(keep, rule), least_ms = STO_MIN_TS_MS, cutoff_ms = STO_MIN_TS_MS;
    /* one duration for all is a matter of the cutoff (retention.c) */
    if (sto_keep_n_rules(keep) && keep_ms != STO_KEEP_FOREVER && before_ms >= STO_MIN_TS_MS + keep_ms)
        cutoff_ms = sto_hour(before_ms - keep_ms) * TS_HOUR_MS;
    if (is_apart(keep) && !summaries)
        least_ms = sto_keep_least_points_ms(keep);
    return cutoff_ms > least_ms ? cutoff_ms : least_ms;
}

/* The floors of the rules at before_ms, and what is left of the former ones; NULL if there would be too many. */
static struct sto_floors *risen(const struct sto_version *v, struct sto_keep *keep,
                                const struct sto_floors *old, int64_t before_ms, uint64_t gen)
{
    struct sets s;
    size_t n = 0;
    sets_init(&s, v, keep, true);
    const struct sto_floors *aged = sto_keep_aged(keep);
    struct sto_floors *out = sto_floors_new(2 * s.n * (1 + (aged ? aged->n : 0)) + (old ? old->n : 0));
    for (size_t i = 0; i < 2 * s.n; i++) {
        size_t r = i / 2;
        roaring_bitmap_t **set = i % 2 ? &s.summaries[r] : &s.of[r];
        int64_t cutoff_ms = cutoff_of(keep, r, i % 2, before_ms);
        if (!*set || roaring_bitmap_is_empty(*set) || !is_needed(v, cutoff_ms, gen))
            continue;
        if (sto_keep_rule_ages(keep, r)) {
            add_aged(out, &n, aged, *set, cutoff_ms, gen);
            continue;
        }
        add_floor(out, &n, &(struct sto_floor){.cutoff_ms = cutoff_ms, .gen = gen, .series = *set});
        *set = NULL;
    }
    size_t n_new = n;
    for (size_t i = 0; old && i < old->n; i++) {
        roaring_bitmap_t *left =
            is_needed(v, old->at[i].cutoff_ms, old->at[i].gen) ? left_of(&old->at[i], &s, out, n_new) : NULL;
        if (left)
            add_floor(out, &n,
                      &(struct sto_floor){
                          .cutoff_ms = old->at[i].cutoff_ms, .gen = old->at[i].gen, .series = left});
    }
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        roaring_bitmap_run_optimize(out->at[i].series);
        roaring_bitmap_shrink_to_fit(out->at[i].series);
    }
    sets_release(&s);
    sto_floors_filled(out);
    if (n <= STO_FLOORS_MAX)
        return out;
    sto_floors_unref(out);
    return NULL;
}

static int save(struct sto_engine *e, const struct sto_floors *f, struct ts_error *err)
{
    int rc = sto_floors_write(e->fs, e->dir, f, err);
    if (rc == TS_ENOSPC && sto_reserve__use(e, err))
        rc = sto_floors_write(e->fs, e->dir, f, err);
    return rc;
}

void sto_expire__raise(struct sto_engine *e, const struct sto_version *v, int64_t before_ms,
                       uint64_t merge_gen)
{
    static struct ts_log_limit limit;
    struct ts_error why = {0};
    struct sto_keep *keep = sto_expire__keep(e);
    bool rules = (sto_keep_n_rules(keep) && sto_keep_expires(keep)) || is_apart(keep);
    uint64_t gen = merge_gen + 1;
    for (size_t i = 0; i < v->n_ssts; i++)
        gen = sto_sst_info(v->ssts[i])->gen_hi >= gen ? sto_sst_info(v->ssts[i])->gen_hi + 1 : gen;
    if ((!rules && !(e->floors && e->floors->n)) ||
        (keep == e->raised_keep && sto_hour(before_ms) == e->raised_hour)) {
        sto_keep_unref(keep);
        return;
    }
    struct sto_floors *next = risen(v, keep, e->floors, before_ms, gen);
    int rc = next ? save(e, next, &why)
                  : ts_error_set(&why, TS_ELIMIT,
                                 "the rules have changed too often, more than %u of their "
                                 "cutoffs are needed still",
                                 STO_FLOORS_MAX);
    if (rc == 0) {
        publish(e, next);
        sto_keep_unref(e->raised_keep);
        e->raised_keep = sto_keep_ref(keep);
        e->raised_hour = sto_hour(before_ms);
    } else {
        ts_log_limited(&limit, TS_LOG_WARN, "expired points stay on disk: %s", why.text);
        sto_floors_unref(next);
    }
    sto_keep_unref(keep);
}

bool sto_expire__raise_to_limit(struct sto_engine *e, const struct sto_version *v, uint64_t merge_gen)
{
    sto_keep_unref(e->raised_keep);
    e->raised_keep = NULL;
    sto_expire__raise(e, v, STO_MIN_TS_MS, merge_gen);
    return e->raised_keep != NULL;
}

/* --- files below the floors --- */

/* How many series of a file have expired with all that it has of them. */
static uint64_t n_below(struct sto_sst *sst, const struct sto_floors *floors)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    struct sto_sst_wear *w = sto_sst_wear(sst);
    if (w->floors_epoch == floors->epoch)
        return w->n_below;
    roaring_bitmap_t *below = roaring_bitmap_create();
    int rc = 0;
    for (size_t i = 0; rc == 0 && f->n_points && i < floors->n; i++)
        if (f->gen_hi < floors->at[i].gen && f->max_ms < floors->at[i].cutoff_ms)
            rc = sto_sst_series_common(sto_sst_series(sst), floors->at[i].series, below, NULL);
    w->n_below = rc == 0 ? roaring_bitmap_get_cardinality(below) : 0;
    w->below_since_ms = !w->n_below ? 0 : w->below_since_ms ? w->below_since_ms : ts_clock_ms();
    w->floors_epoch = floors->epoch;
    roaring_bitmap_free(below);
    return w->n_below;
}

/* Does a floor hide all that a tombstone could have deleted? */
static bool is_tomb_below(const struct sto_floors *floors, const struct sto_tomb *t, uint64_t gen_hi)
{
    for (size_t i = 0; i < floors->n; i++)
        if (gen_hi < floors->at[i].gen && t->to_ms < floors->at[i].cutoff_ms &&
            roaring_bitmap_contains(floors->at[i].series, t->series))
            return true;
    return false;
}

static bool is_below(struct sto_sst *sst, const struct sto_floors *floors)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    size_t n;
    if (!f->n_points || sto_sst_broken(sst) || !sto_sst_series(sst)->count ||
        n_below(sst, floors) != sto_sst_series(sst)->count)
        return false;
    const struct sto_tomb *t = sto_sst_tombs(sst, &n);
    for (size_t i = 0; i < n; i++)
        if (!is_tomb_below(floors, &t[i], f->gen_hi))
            return false;
    return true;
}

size_t sto_expire__choose(struct sto_engine *e, const struct sto_version *v, uint64_t *gone, size_t n)
{
    size_t n_others = n;
    for (size_t i = 0; e->floors && i < v->n_ssts; i++) {
        uint64_t no = sto_sst_info(v->ssts[i])->file_no;
        if (!ts_has_u64(gone, n_others, no) && !sto_output__is_taken(e, no) &&
            is_below(v->ssts[i], e->floors))
            gone[n++] = no;
    }
    return n;
}

/* How many points of a file are hidden while others stay; counted again when the floors or the cutoff have risen. */
static uint64_t n_cut(struct sto_sst *sst, const struct sto_cut_by *by)
{
    struct sto_sst_wear *w = sto_sst_wear(sst);
    uint64_t epoch = by->floors ? by->floors->epoch : 0;
    if (w->cut_known && w->cut_epoch == epoch && w->cut_gen == by->cutoff_gen && w->cut_ms == by->cutoff_ms &&
        w->cut_at_once == by->at_once)
        return w->n_cut;
    w->n_cut = sto_expire_cut__points(sst, by);
    w->cut_since_ms = !w->n_cut ? 0 : w->cut_since_ms ? w->cut_since_ms : ts_clock_ms();
    w->cut_epoch = epoch;
    w->cut_gen = by->cutoff_gen;
    w->cut_ms = by->cutoff_ms;
    w->cut_at_once = by->at_once;
    w->cut_known = true;
    return w->n_cut;
}

/* Add n points that have expired to the wear of a file. */
static void wear_out(struct sto_pick_wear *out, const struct sto_sst_info *f, uint64_t n, int64_t since_ms)
{
    uint64_t n_dead = out->n_dead + n;
    out->n_dead = n_dead < f->n_points ? n_dead : f->n_points;
    out->n_expired = n;
    out->since_ms = since_ms < out->since_ms ? since_ms : out->since_ms;
}

static struct sto_cut_by cut_by(const struct sto_engine *e, const struct sto_version *v)
{
    return (struct sto_cut_by){.floors = e->floors && e->floors->n ? e->floors : NULL,
                               .cutoff_ms = v->cutoff_ms,
                               .cutoff_gen = v->cutoff_gen,
                               .now_ms = ts_clock_ms(),
                               .at_once = sto_evict__is_urgent(e)};
}

/* Is that so much of a file that it is written again at once while the store exceeds its limit? */
static bool is_worth_it(const struct sto_sst_info *f, uint64_t n)
{
    return n && n >= f->n_points / STO_EVICT_PARTS;
}

uint64_t sto_expire__pending_bytes(struct sto_engine *e, const struct sto_version *v)
{
    struct sto_cut_by by = cut_by(e, v);
    uint64_t bytes = 0;
    by.at_once = true;
    for (size_t i = 0; by.floors && i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        uint64_t n = !f->n_points || sto_sst_broken(v->ssts[i]) ? 0 : n_cut(v->ssts[i], &by);
        if (is_worth_it(f, n))
            bytes += (uint64_t)((double)sto_sst_disk_bytes(v->ssts[i]) * ((double)n / (double)f->n_points));
    }
    return bytes;
}

void sto_expire__look(struct sto_engine *e, const struct sto_version *v, struct sto_pick_wear *out)
{
    const struct sto_cut_by by = cut_by(e, v);
    for (size_t i = 0; (by.floors || by.cutoff_gen) && i < v->n_ssts; i++) {
        struct sto_sst *sst = v->ssts[i];
        const struct sto_sst_info *f = sto_sst_info(sst);
        const struct sto_sst_wear *w = sto_sst_wear(sst);
        if (atomic_load_explicit(&e->stop_compact, memory_order_relaxed))
            break; /* each file may take dozens of reads, and no merge comes of it */
        if (!f->n_points || sto_sst_broken(sst))
            continue;
        if (n_cut(sst, &by)) /* those of series that have expired in it as a whole are among them */
            wear_out(&out[i], f, w->n_cut,
                     by.at_once && is_worth_it(f, w->n_cut) ? 0 : w->cut_since_ms); /* 0: long enough ago */
        else if (by.floors && n_below(sst, by.floors))
            wear_out(
                &out[i], f,
                (uint64_t)((double)w->n_below / (double)sto_sst_series(sst)->count * (double)f->n_points),
                w->below_since_ms);
    }
    sto_evict__wear(e, v, out);
}

bool sto_expire__concerns(const struct sto_floors *f, const struct sto_sst_info *file)
{
    for (size_t i = 0; f && i < f->n; i++)
        if (file->gen_hi < f->at[i].gen && file->min_ms < f->at[i].cutoff_ms)
            return true;
    return false;
}

/* --- what there is to expire --- */

/* Add the part of one file that a rule lets expire. */
static void add_part(const struct sto_sst_info *f, double series_share, int64_t cutoff_ms,
                     struct sto_expired *out)
{
    double span = (double)(f->max_ms - f->min_ms) + 1;
    double part = cutoff_ms <= f->min_ms  ? 0
                  : cutoff_ms > f->max_ms ? 1
                                          : (double)(cutoff_ms - f->min_ms) / span;
    out->n_points += (uint64_t)((double)f->n_points * series_share);
    out->n_expired += (uint64_t)((double)f->n_points * series_share * part);
    out->expired_bytes += (uint64_t)((double)(f->t_bytes + f->s_bytes) * series_share * part);
    int64_t oldest_ms = f->min_ms > cutoff_ms ? f->min_ms : cutoff_ms;
    if (part < 1 && oldest_ms < out->oldest_ms)
        out->oldest_ms = oldest_ms;
}

int sto_engine_expired(struct sto_engine *e, struct sto_keep *keep, int64_t now_ms, struct sto_expired *out,
                       struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    struct sets s;
    int rc = 0;
    sets_init(&s, v, keep, false);
    for (size_t r = 0; r < s.n; r++) {
        int64_t keep_ms = sto_keep_rule_ms(keep, r);
        bool never = keep_ms == STO_KEEP_FOREVER || now_ms < STO_MIN_TS_MS + keep_ms;
        out[r] = (struct sto_expired){.cutoff_ms = never ? INT64_MIN : now_ms - keep_ms,
                                      .oldest_ms = INT64_MAX,
                                      .n_series = roaring_bitmap_get_cardinality(s.of[r])};
        for (size_t i = 0; rc == 0 && out[r].n_series && i < v->n_ssts; i++) {
            struct sto_sst_series *set = sto_sst_series(v->ssts[i]);
            if (sto_sst_broken(v->ssts[i]) || !sto_sst_info(v->ssts[i])->n_points || !set->count)
                continue;
            roaring_bitmap_t *both = roaring_bitmap_create();
            rc = sto_sst_series_common(set, s.of[r], both, err);
            double share = (double)roaring_bitmap_get_cardinality(both) / (double)set->count;
            if (rc == 0 && share > 0)
                add_part(sto_sst_info(v->ssts[i]), share, out[r].cutoff_ms, &out[r]);
            roaring_bitmap_free(both);
        }
    }
    sets_release(&s);
    sto_engine_unpin(e, v);
    return rc;
}
