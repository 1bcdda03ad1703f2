/*
 * evict.c - the work on the compact thread that keeps the store within max_bytes.
 *
 * Threads    evict.h
 * Invariant  the cutoff is in DIR/QUOTA, and hides points, before a file or a row goes because of it
 */
#include "storage/engine/evict.h"

#include "base/log.h"
#include "base/time.h"
#include "storage/bulk.h"
#include "storage/engine/evict_pick.h"
#include "storage/engine/expire.h"
#include "storage/engine/expire_cut.h"
#include "storage/engine/output.h"
#include "storage/engine/ship.h"
#include "storage/engine/unfinished.h"

#define EVEN_MS (2 * TS_DAY_MS) /* the bytes of files that span less count evenly for their time */

/* What the store has on the disk. */
struct use {
    struct sto_evict_file *files; /* with points; owned */
    size_t n;                     /* length */
    uint64_t files_bytes;         /* of these */
    uint64_t fixed_bytes;         /* of everything else */
};

/* --- measuring --- */

struct names {
    char **v; /* owned */
    size_t n;
};

static int on_name(void *arg, const char *name)
{
    struct names *list = arg;
    if (strcmp(name, "files") == 0 || strcmp(name, "wal") == 0 || strcmp(name, STO_BULK_DIR) == 0)
        return 0;
    list->v = ts_xrealloc(list->v, (list->n + 1) * sizeof *list->v);
    list->v[list->n++] = ts_xstrdup(name);
    return 0;
}

/* Bytes of the files that stand in a folder. What cannot be read, because it was just removed, counts nothing. */
static uint64_t folder_bytes(struct sto_engine *e, const char *dir)
{
    struct names list = {NULL, 0};
    uint64_t sum = 0;
    (void)e->fs->list(e->fs, dir, on_name, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        char *path = ts_fs_join(dir, list.v[i]);
        struct ts_file *f;
        uint64_t bytes = 0;
        if (e->fs->open(e->fs, path, TS_OPEN_READ, &f, NULL) == 0) {
            if (e->fs->size(f, &bytes, NULL) == 0)
                sum += bytes;
            (void)e->fs->close(f, NULL);
        }
        ts_free(path);
        ts_free(list.v[i]);
    }
    ts_free(list.v);
    return sum;
}

static void measure(struct sto_engine *e, const struct sto_version *v, struct use *out)
{
    *out = (struct use){.files = ts_xcalloc(v->n_ssts + 1, sizeof *out->files),
                        .fixed_bytes = folder_bytes(e, e->dir) + folder_bytes(e, e->wal_dir)};
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        uint64_t bytes = sto_sst_disk_bytes(v->ssts[i]);
        if (!f->n_points || sto_sst_broken(v->ssts[i])) {
            out->fixed_bytes += bytes;
            continue;
        }
        struct sto_evict_file *file = &out->files[out->n++];
        file->max_ms = f->max_ms;
        sto_spread_even(&file->spread, f->min_ms, f->max_ms, bytes);
        out->files_bytes += bytes;
    }
}

/* Look more closely at the files that span long times. An index that cannot be read leaves its file as it is. */
static void look_closely(const struct sto_version *v, struct use *use)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || sto_sst_broken(v->ssts[i]))
            continue;
        if (f->max_ms - f->min_ms > EVEN_MS)
            (void)sto_spread_of(v->ssts[i], &use->files[n].spread, NULL);
        n++;
    }
}

/* --- choosing --- */

/* The cutoffs that should be in force. */
struct choice {
    int64_t points_ms, cutoff_ms; /* of points, and of everything */
    struct sto_evict_pick pick;   /* what the one does that rises */
};

/* Do points go before summaries? */
static bool has_summaries(struct sto_engine *e)
{
    struct sto_keep *keep = sto_expire__keep(e);
    bool has = !e->opts.remote && e->owner.age && sto_keep_ages(keep);
    sto_keep_unref(keep);
    return has;
}

/* Is what has been cut off still being made into summaries? */
static bool waits_for_summaries(const struct sto_engine *e, const struct choice *c)
{
    return c->points_ms > c->cutoff_ms &&
           atomic_load_explicit(&e->evict.aged_ms, memory_order_relaxed) < c->points_ms;
}

/* Are there none to come? */
static bool has_failed(const struct sto_engine *e)
{
    return atomic_load_explicit(&e->evict.n_failures, memory_order_relaxed) >= STO_EVICT_FAILURES;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Let the cutoff of points rise if it may. Returns false if it may not, or points do not suffice. */
static bool choose_points(struct choice *c, struct sto_evict_opts opts, const struct use *use,
                          uint64_t going_bytes)
{
    uint64_t before =
        sto_evict_left(use->files, use->n, c->cutoff_ms) - sto_evict_left(use->files, use->n, c->points_ms);
    opts.before_bytes = before > going_bytes ? before - going_bytes : 0;
    opts.last_ms = later(c->points_ms, ts_floor_div(opts.last_ms, TS_DAY_MS) * TS_DAY_MS);
    c->pick = sto_evict_pick(&opts, use->files, use->n);
    if (!c->pick.enough && c->pick.cutoff_ms <= c->points_ms)
        return false;
    c->points_ms = c->pick.cutoff_ms;
    c->pick.enough = true; /* if it is not, more goes later */
    return true;
}

/* going_bytes: what floors hide. */
static struct choice choose(struct sto_engine *e, const struct use *use, uint64_t max_bytes,
                            uint64_t going_bytes)
{
    const struct sto_quota *q = e->owner.quota;
    struct choice c = {sto_quota_points_ms(q), sto_quota_cutoff_ms(q), {.enough = true}};
    int64_t last_ms = (int64_t)sto_hour(ts_clock_ms() - TS_HOUR_MS) * TS_HOUR_MS; /* what is put now stays */
    struct sto_evict_opts opts = {
        .max_bytes = max_bytes, .fixed_bytes = use->fixed_bytes, .from_ms = c.points_ms, .last_ms = last_ms};
    if (!has_summaries(e)) {
        c.pick = sto_evict_pick(&opts, use->files, use->n);
        c.points_ms = c.cutoff_ms = later(c.points_ms, c.pick.cutoff_ms);
        return c;
    }
    if (!has_failed(e) && (waits_for_summaries(e, &c) || choose_points(&c, opts, use, going_bytes)))
        return c;
    opts.going_bytes = going_bytes;
    opts.from_ms = c.cutoff_ms;
    c.pick = sto_evict_pick(&opts, use->files, use->n);
    c.cutoff_ms = later(c.cutoff_ms, c.pick.cutoff_ms);
    c.points_ms = later(c.points_ms, c.cutoff_ms);
    return c;
}

/* --- removing --- */

static int raise_cutoffs(struct sto_engine *e, const struct choice *to, uint64_t max_bytes,
                         struct ts_error *err)
{
    const struct sto_evict_pick *p = &to->pick;
    if (e->opts.remote)
        return sto_ship__drop_before(e, p->cutoff_ms, err);
    bool points = to->points_ms > sto_quota_points_ms(e->owner.quota);
    int rc = sto_quota_raise(e->owner.quota, to->points_ms, to->cutoff_ms, max_bytes, err);
    if (rc <= 0)
        return rc;
    struct ts_civil c = ts_civil_from_ms(NULL, p->cutoff_ms);
    atomic_fetch_add_explicit(&e->evict.n_cutoffs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&e->evict.freed_bytes, p->freed_bytes, memory_order_relaxed);
    ts_log(TS_LOG_INFO,
           "the store exceeds max_bytes=%llu: %s before %04lld-%02d-%02d %02d:00 UTC are removed, "
           "which frees about bytes=%llu",
           (unsigned long long)max_bytes,
           points          ? "points"
           : has_failed(e) ? "summaries, and points of which none could be made,"
                           : "summaries",
           (long long)c.year, c.month, c.day, c.hour, (unsigned long long)p->freed_bytes);
    return 0;
}

static void evict(struct sto_engine *e, const struct sto_version *v, struct use *use, uint64_t max_bytes)
{
    static struct ts_log_limit failed, short_of;
    struct ts_error why = {0};
    look_closely(v, use);
    uint64_t going_bytes = has_summaries(e) ? sto_expire__pending_bytes(e, v) : 0;
    atomic_store_explicit(&e->evict.going_bytes, going_bytes, memory_order_relaxed);
    struct choice c = choose(e, use, max_bytes, going_bytes);
    bool higher = c.points_ms > sto_quota_points_ms(e->owner.quota) ||
                  c.cutoff_ms > sto_quota_cutoff_ms(e->owner.quota);
    atomic_store_explicit(&e->evict.is_short, !c.pick.enough, memory_order_relaxed);
    if (!c.pick.enough)
        ts_log_limited(
            &short_of, TS_LOG_WARN,
            "the store cannot be kept within max_bytes=%llu: bytes=%llu are not points that could be "
            "removed",
            (unsigned long long)max_bytes, (unsigned long long)c.pick.left_bytes);
    if (higher && raise_cutoffs(e, &c, max_bytes, &why) < 0)
        ts_log_limited(&failed, TS_LOG_WARN, "the store exceeds max_bytes, and nothing is removed: %s",
                       why.text);
}

void sto_evict__look(struct sto_engine *e)
{
    struct sto_quota *q = e->owner.quota;
    uint64_t max_bytes = q && !e->opts.read_only ? sto_quota_max_bytes(q) : 0;
    struct use use;
    if (!max_bytes) {
        atomic_store_explicit(&e->evict.is_over, false, memory_order_relaxed);
        atomic_store_explicit(&e->evict.is_short, false, memory_order_relaxed);
        return;
    }
    struct sto_version *v = sto_engine_pin(e);
    measure(e, v, &use);
    uint64_t bytes = use.files_bytes + use.fixed_bytes;
    atomic_store_explicit(&e->evict.bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&e->evict.is_over, bytes > max_bytes, memory_order_relaxed);
    if (bytes <= max_bytes) {
        atomic_store_explicit(&e->evict.is_short, false, memory_order_relaxed);
        atomic_store_explicit(&e->evict.going_bytes, 0, memory_order_relaxed);
    } else if (sto_quota_held_ms(q) == 0) {
        evict(e, v, &use, max_bytes);
    }
    ts_free(use.files);
    sto_engine_unpin(e, v);
}

/* Bytes of points of these series at all times: of those that the cutoff of points has not reached, too, since a higher one would leave them behind. */
static uint64_t left_bytes(struct sto_engine *e, const struct sto_age_left *left)
{
    struct sto_version *v = sto_engine_pin(e);
    int64_t from_ms = sto_quota_cutoff_ms(e->owner.quota);
    uint64_t bytes = 0;
    for (size_t i = 0; i < v->n_ssts && !atomic_load_explicit(&e->stop_compact, memory_order_relaxed); i++) {
        struct sto_sst_wear *w = sto_sst_wear(v->ssts[i]);
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (w->left_epoch != left->epoch || w->left_ms != from_ms) {
            w->n_left = sto_expire_cut__points_of(v->ssts[i], left->series, from_ms);
            w->left_epoch = left->epoch;
            w->left_ms = from_ms;
        }
        if (w->n_left)
            bytes += (uint64_t)((double)sto_sst_disk_bytes(v->ssts[i]) *
                                ((double)w->n_left / (double)f->n_points));
    }
    sto_engine_unpin(e, v);
    return bytes;
}

/* Have series without summaries so many points that the cutoff of points would take the room for them from all others? */
static bool are_large(struct sto_engine *e, const struct sto_age_left *left)
{
    uint64_t max_bytes = e->owner.quota ? sto_quota_max_bytes(e->owner.quota) : 0;
    return max_bytes && left->series && !roaring_bitmap_is_empty(left->series) &&
           left_bytes(e, left) > max_bytes / STO_EVICT_PARTS;
}

void sto_evict__aged(struct sto_engine *e, int rc, int64_t points_ms, const struct sto_age_left *left)
{
    if (rc == 1 && are_large(e, left))
        rc = TS_EBUSY;
    if (rc == 1) {
        atomic_store_explicit(&e->evict.aged_ms, points_ms, memory_order_relaxed);
        atomic_store_explicit(&e->evict.n_failures, 0, memory_order_relaxed);
    } else if (rc < 0 && rc != TS_ECANCELLED && !has_failed(e)) {
        atomic_fetch_add_explicit(&e->evict.n_failures, 1, memory_order_relaxed);
    }
}

/* --- what is in force --- */

int64_t sto_evict__points_ms(const struct sto_engine *e)
{
    return e->owner.quota ? sto_quota_points_ms(e->owner.quota) : STO_MIN_TS_MS;
}

bool sto_evict__is_apart(const struct sto_engine *e)
{
    return sto_evict__points_ms(e) > STO_MIN_TS_MS &&
           sto_evict__points_ms(e) > sto_quota_cutoff_ms(e->owner.quota);
}

bool sto_evict__is_urgent(const struct sto_engine *e)
{
    return atomic_load_explicit(&e->evict.is_over, memory_order_relaxed) && sto_evict__is_apart(e);
}

bool sto_evict__is_on(const struct sto_engine *e)
{
    return e->owner.quota && (sto_quota_max_bytes(e->owner.quota) || sto_evict__points_ms(e) > STO_MIN_TS_MS);
}

/* Does the cutoff of the manifest hide all that this one hides in files? */
static bool is_covered(const struct sto_version *v, int64_t least_ms)
{
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && f->min_ms < least_ms && (f->gen_hi >= v->cutoff_gen || least_ms > v->cutoff_ms))
            return false;
    }
    return true;
}

/* Do floors hide what the cutoff of points hides in files, but for points that lack their summaries? These are all there still. */
static bool floors_cover(struct sto_engine *e, const struct sto_version *v)
{
    if (!sto_evict__is_apart(e))
        return true;
    pthread_mutex_lock(&e->remove_mu);
    bool cover = sto_expire__raise_to_limit(e, v, e->unfinished ? e->unfinished->gen_hi : 0);
    pthread_mutex_unlock(&e->remove_mu);
    return cover;
}

void sto_evict__end(struct sto_engine *e)
{
    static struct ts_log_limit limit;
    struct sto_quota *q = e->owner.quota;
    struct ts_error why = {0};
    if (!q || e->opts.read_only || sto_quota_max_bytes(q) || sto_evict__points_ms(e) == STO_MIN_TS_MS)
        return;
    if (sto_flush__all(e, &why) < 0) {
        ts_log_limited(&limit, TS_LOG_WARN, "the cutoff of max_bytes stays until a flush succeeds: %s",
                       why.text);
        return;
    }
    struct sto_version *v = sto_engine_pin(e);
    bool covered = is_covered(v, sto_quota_cutoff_ms(q)) && floors_cover(e, v);
    if (covered && sto_quota_clear(q, &why) < 0)
        ts_log_limited(&limit, TS_LOG_WARN, "the cutoff of max_bytes stays: %s", why.text);
    else if (covered) /* what another limit cuts off later may be older */
        atomic_store_explicit(&e->evict.aged_ms, STO_MIN_TS_MS, memory_order_relaxed);
    sto_engine_unpin(e, v);
}

void sto_evict__wear(struct sto_engine *e, const struct sto_version *v, struct sto_pick_wear *out)
{
    bool over = atomic_load_explicit(&e->evict.is_over, memory_order_relaxed);
    for (size_t i = 0; over && sto_evict__is_on(e) && i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || sto_sst_broken(v->ssts[i]) || f->gen_hi >= v->cutoff_gen ||
            f->min_ms >= v->cutoff_ms)
            continue;
        double part = f->max_ms < v->cutoff_ms
                          ? 1
                          : (double)(v->cutoff_ms - f->min_ms) / ((double)(f->max_ms - f->min_ms) + 1);
        uint64_t n_dead = out[i].n_dead + (uint64_t)((double)f->n_points * part);
        out[i].n_dead = n_dead < f->n_points ? n_dead : f->n_points;
        out[i].since_ms = 0; /* long enough ago to be written at once */
    }
}

/* --- what there is to say --- */

int sto_engine_evicts(struct sto_engine *e, uint64_t max_bytes, struct sto_evicts *out, struct ts_error *err)
{
    struct sto_quota *q = e->owner.quota;
    struct use use;
    *out = (struct sto_evicts){
        .cutoff_ms = STO_MIN_TS_MS, .summaries_ms = STO_MIN_TS_MS, .next_ms = STO_MIN_TS_MS};
    if (!q)
        return ts_error_set(err, TS_EINVAL, "the store has no limit of bytes");
    struct sto_version *v = sto_engine_pin(e);
    measure(e, v, &use);
    look_closely(v, &use);
    out->bytes = use.files_bytes + use.fixed_bytes;
    out->fixed_bytes = use.fixed_bytes;
    out->cutoff_ms = sto_quota_points_ms(q);
    out->summaries_ms = sto_quota_cutoff_ms(q);
    out->held_ms = sto_quota_held_ms(q);
    uint64_t left =
        sto_evict_left(use.files, use.n, out->summaries_ms); /* summaries may have come meanwhile */
    uint64_t going = atomic_load_explicit(&e->evict.going_bytes, memory_order_relaxed);
    out->pending_bytes = (left < use.files_bytes ? use.files_bytes - left : 0) + going;
    if (max_bytes && out->bytes > max_bytes) {
        struct choice c = choose(e, &use, max_bytes, going);
        bool higher = c.points_ms > out->cutoff_ms || c.cutoff_ms > out->summaries_ms;
        out->next_ms = higher ? c.pick.cutoff_ms : STO_MIN_TS_MS;
        out->freed_bytes = c.pick.freed_bytes;
        out->is_short = !c.pick.enough;
    }
    ts_free(use.files);
    sto_engine_unpin(e, v);
    return 0;
}

void sto_evict__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                      void *arg)
{
    int64_t cutoff_ms = sto_evict__points_ms(e);
    int64_t summaries_ms = e->owner.quota ? sto_quota_cutoff_ms(e->owner.quota) : 0;
    uint64_t max_bytes = e->owner.quota ? sto_quota_max_bytes(e->owner.quota) : 0;
    each(arg, "quota.max_bytes", max_bytes);
    each(arg, "quota.bytes", max_bytes ? atomic_load(&e->evict.bytes) : 0);
    each(arg, "quota.held_s", max_bytes ? (uint64_t)(sto_quota_held_ms(e->owner.quota) + 999) / 1000 : 0);
    each(arg, "quota.exceeded", atomic_load(&e->evict.is_over));
    each(arg, "quota.short", atomic_load(&e->evict.is_short));
    each(arg, "quota.cutoffs", atomic_load(&e->evict.n_cutoffs));
    each(arg, "quota.freed_bytes", atomic_load(&e->evict.freed_bytes));
    each(arg, "quota.cutoff_s", cutoff_ms > 0 ? (uint64_t)cutoff_ms / 1000 : 0);
    each(arg, "quota.summaries_cutoff_s", summaries_ms > 0 ? (uint64_t)summaries_ms / 1000 : 0);
}
