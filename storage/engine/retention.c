/*
 * retention.c - removes files that hold nothing but expired points.
 *
 * No answer contains a point from the second on in which it expires: snapshots begin at the present time less
 * retention_days, and each series by the rule that it matches (keep.h). Files are removed an hour later. Before that, the manifest records up to which
 * time points are removed for good, and in which generations. So nothing that a removed file had overwritten
 * or deleted reappears from older files, whatever the clock or the configuration say later. Points that are
 * put after that are of a newer generation and are not affected.
 *
 * Format     docs/FORMAT.md, "Retention"
 * Threads    retention.h
 * Invariant  the cutoff concerns generations of files alone, never a memstore; its time moves back only when
 *            no file has points left that it cuts off
 */
#include "storage/engine/retention.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/evict.h"
#include "storage/engine/expire.h"
#include "storage/engine/expire_cut.h"
#include "storage/engine/output.h"
#include "storage/engine/reserve.h"
#include "storage/engine/ship.h"
#include "storage/engine/unfinished.h"

#define LAG_MS   TS_HOUR_MS     /* files are removed this long after their points expired */
#define JUMP_MS  (10 * 60000ll) /* wall and monotonic clock differ by more than this: the wall clock was set */
#define HOLD_MS  (7 * TS_DAY_MS) /* nothing is removed for as long as the clock jumped, at most this long */
#define AGAIN_MS 60000ll         /* interval of checks for expired files while merges run */
#define SAVE_MS  TS_HOUR_MS      /* interval at which the time of the clocks is saved */

#define MAGIC   "TSDKEEP\n"
#define VERSION 1u
/* Little-endian. */
enum file_off {
    R_VERSION = 8,
    R_CUTOFF_MS = 12,
    R_CUTOFF_GEN = 20,
    R_WALL_MS = 28,
    R_HOLD_MS = 36,
    R_AHEAD_MS = 44,
    R_CRC = 52, /* of bytes 0 to 51 */
    R_BYTES = 56
};

static int64_t mono_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- the file --- */

int sto_retention_read(const struct ts_fs *fs, const char *dir, struct sto_retention *out,
                       struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_RETENTION_NAME), *p = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    int rc = ts_fs_read_file(fs, path, R_BYTES + 1, &p, &n, &why);
    const uint8_t *b = (const uint8_t *)p;
    if (rc == TS_ENOTFOUND)
        rc = 0;
    else if (rc == TS_ELIMIT || (rc == 0 && (n != R_BYTES || memcmp(b, MAGIC, 8) != 0 ||
                                             ts_ld32(b + R_CRC) != ts_crc32c(0, b, R_CRC))))
        rc = ts_error_set(err, TS_ECORRUPT, "%s is damaged", path);
    else if (rc < 0)
        rc = ts_error_set(err, rc, "%s", why.text);
    else if (ts_ld32(b + R_VERSION) != VERSION)
        rc = ts_error_set(err, TS_EVERSION, "%s: version %u, this program knows %u", path,
                          ts_ld32(b + R_VERSION), VERSION);
    else
        rc = 1;
    if (rc == 1)
        *out = (struct sto_retention){.cutoff_ms = (int64_t)ts_ld64(b + R_CUTOFF_MS),
                                      .cutoff_gen = ts_ld64(b + R_CUTOFF_GEN),
                                      .wall_ms = (int64_t)ts_ld64(b + R_WALL_MS),
                                      .hold_ms = (int64_t)ts_ld64(b + R_HOLD_MS),
                                      .ahead_ms = (int64_t)ts_ld64(b + R_AHEAD_MS)};
    ts_free(p);
    ts_free(path);
    return rc;
}

/* Write the present state of the clock, and this cutoff, to the file. */
static void save(struct sto_engine *e, int64_t cutoff_ms, uint64_t cutoff_gen)
{
    static struct ts_log_limit limit;
    const struct sto_clock *c = &e->clock;
    int64_t now = mono_ms();
    uint8_t b[R_BYTES];
    struct ts_error why = {0};
    memcpy(b, MAGIC, 8);
    ts_st32(b + R_VERSION, VERSION);
    ts_st64(b + R_CUTOFF_MS, (uint64_t)cutoff_ms);
    ts_st64(b + R_CUTOFF_GEN, cutoff_gen);
    ts_st64(b + R_WALL_MS, (uint64_t)ts_clock_ms());
    ts_st64(b + R_HOLD_MS, (uint64_t)(c->hold_until_ms > now ? c->hold_until_ms - now : 0));
    ts_st64(b + R_AHEAD_MS, (uint64_t)c->ahead_ms);
    ts_st32(b + R_CRC, ts_crc32c(0, b, R_CRC));
    char *path = ts_fs_join(e->dir, STO_RETENTION_NAME);
    if (ts_fs_write_atomic(e->fs, path, b, sizeof b, &why) < 0)
        ts_log_limited(&limit, TS_LOG_WARN, "retention continues without its file: %s", why.text);
    e->clock.saved_ms = now; /* also after a failure: the next attempt is an hour later */
    ts_free(path);
}

/* --- the clock --- */

/* Note that the wall clock moved by jump_ms relative to the monotonic one. known: false if its former time is not known. */
static void note_jump(struct sto_clock *c, int64_t jump_ms, int64_t now_ms, bool known)
{
    if (jump_ms < 0) {
        c->ahead_ms -= smaller(-jump_ms, c->ahead_ms);
        if (c->ahead_ms <= JUMP_MS)
            c->hold_until_ms = INT64_MIN; /* the clock is back where it was */
        return;
    }
    int64_t until = now_ms + smaller(jump_ms, HOLD_MS);
    c->ahead_ms += smaller(jump_ms, INT64_MAX / 4 - smaller(c->ahead_ms, INT64_MAX / 4));
    c->hold_until_ms = until > c->hold_until_ms ? until : c->hold_until_ms;
    long long hold_s = (c->hold_until_ms - now_ms) / 1000;
    if (known)
        ts_log(TS_LOG_WARN,
               "the clock jumped by s=%lld: no files are removed because of their age for s=%lld",
               (long long)(jump_ms / 1000), hold_s);
    else
        ts_log(
            TS_LOG_WARN,
            "nothing says whether the clock is right, since the store has no time of its last use: no files "
            "are removed because of their age for s=%lld",
            hold_s);
}

/* May files be removed by the present time of the clock? Small steps are added up until they amount to a
 * jump. */
static bool is_trusted(struct sto_clock *c, int64_t wall_ms, int64_t now_ms)
{
    int64_t jump = (wall_ms - c->wall_ms) - (now_ms - c->mono_ms);
    if (jump > JUMP_MS || jump < -JUMP_MS) {
        c->wall_ms = wall_ms;
        c->mono_ms = now_ms;
        note_jump(c, jump, now_ms, true);
    }
    if (now_ms < c->hold_until_ms)
        return false;
    c->ahead_ms = 0;
    return true;
}

/* The same, and whoever takes points (sto_engine_sure_ms) learns of it. */
static bool look_at_clock(struct sto_engine *e, int64_t wall_ms, int64_t now_ms)
{
    bool trusted = is_trusted(&e->clock, wall_ms, now_ms);
    if (trusted)
        atomic_store_explicit(&e->trusted_ahead_ms, wall_ms - now_ms, memory_order_relaxed);
    return trusted;
}

int64_t sto_engine_sure_ms(struct sto_engine *e)
{
    int64_t ahead_ms = atomic_load_explicit(&e->trusted_ahead_ms, memory_order_relaxed);
    return ahead_ms == INT64_MIN ? INT64_MIN : smaller(ts_clock_ms(), mono_ms() + ahead_ms + JUMP_MS);
}

/* Estimate how far the clock may have jumped if its former time is not known: the newest point of a store
 * in use is hardly older than a day. In other cases it may be any distance. */
static int64_t jump_of_unknown(const struct sto_version *v, int64_t wall_ms)
{
    int64_t newest_ms = INT64_MIN;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && f->max_ms > newest_ms)
            newest_ms = f->max_ms;
    }
    return newest_ms >= wall_ms - TS_DAY_MS && newest_ms <= wall_ms + TS_DAY_MS ? 0 : HOLD_MS;
}

/* Does the time decide which files are removed: those that are expired, or those that were shipped long ago? */
static bool needs_clock(struct sto_engine *e)
{
    struct sto_keep *keep = sto_expire__keep(e);
    bool expires = sto_keep_expires(keep);
    sto_keep_unref(keep);
    return (expires || e->opts.remote) && !e->opts.read_only;
}

void sto_retention__begin(struct sto_engine *e)
{
    struct sto_clock *c = &e->clock;
    struct sto_retention was = {0};
    struct ts_error why = {0};
    *c = (struct sto_clock){.wall_ms = ts_clock_ms(),
                            .mono_ms = mono_ms(),
                            .hold_until_ms = INT64_MIN,
                            .saved_ms = INT64_MIN,
                            .is_new = sto_manifest_state(e->manifest)->run == 0};
    atomic_store_explicit(&e->trusted_ahead_ms, c->is_new ? c->wall_ms - c->mono_ms : INT64_MIN,
                          memory_order_relaxed);
    if (!needs_clock(e))
        return;
    int rc = sto_retention_read(e->fs, e->dir, &was, &why);
    if (rc < 0)
        ts_log(TS_LOG_WARN, "retention does not know the former time of the clock: %s", why.text);
    if (rc == 1 && was.hold_ms > 0) {
        c->ahead_ms = was.ahead_ms > 0 ? smaller(was.ahead_ms, INT64_MAX / 4) : 0;
        c->hold_until_ms = c->mono_ms + smaller(was.hold_ms, HOLD_MS);
    }
    int64_t since = rc == 1     ? c->wall_ms - was.wall_ms
                    : c->is_new ? 0
                    : rc == 0   ? jump_of_unknown(e->version, c->wall_ms)
                                : HOLD_MS;
    if (since > JUMP_MS || since < -JUMP_MS)
        note_jump(c, since, c->mono_ms, rc == 1);
    c->is_judged = true;
    (void)look_at_clock(e, c->wall_ms, c->mono_ms);
}

/* Rules were set while the store runs, and nothing looked at the clock when it was opened: as if retention was switched on now. */
static void judge_late(struct sto_engine *e, const struct sto_version *v, int64_t wall_ms, int64_t now_ms)
{
    int64_t since = e->clock.is_new ? 0 : jump_of_unknown(v, wall_ms);
    if (is_trusted(&e->clock, wall_ms, now_ms) && since > JUMP_MS) /* it has not jumped since */
        note_jump(&e->clock, since, now_ms, false);
    e->clock.is_judged = true;
}

void sto_retention__end(struct sto_engine *e)
{
    if ((!needs_clock(e) && !sto_evict__is_on(e)) || !e->version)
        return;
    (void)is_trusted(&e->clock, ts_clock_ms(), mono_ms());
    save(e, e->version->cutoff_ms, e->version->cutoff_gen);
}

bool sto_retention__trusts_clock(struct sto_engine *e)
{
    int64_t now = mono_ms();
    bool trusted = look_at_clock(e, ts_clock_ms(), now);
    if (e->clock.saved_ms == INT64_MIN || now - e->clock.saved_ms >= SAVE_MS) {
        struct sto_version *v = sto_engine_pin(e);
        save(e, v->cutoff_ms, v->cutoff_gen);
        sto_engine_unpin(e, v);
    }
    return trusted;
}

/* --- choosing files to remove --- */

static bool is_expired(const struct sto_sst_info *f, int64_t before_ms)
{
    return (!f->n_points || f->max_ms < before_ms) && (!f->n_tombs || f->tomb_max_ms < before_ms);
}

/* Is a file cut off as a whole? */
static bool is_cut_off(const struct sto_version *v, const struct sto_sst_info *f)
{
    return f->gen_hi < v->cutoff_gen && is_expired(f, v->cutoff_ms);
}

/* Does a file that stays have points that the cutoff hides? */
static bool is_needed(const struct sto_engine *e, const struct sto_version *v)
{
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && f->gen_hi < v->cutoff_gen && f->min_ms < v->cutoff_ms &&
            (!is_cut_off(v, f) || sto_output__is_taken(e, f->file_no)))
            return true;
    }
    return false;
}

/* Must the cutoff rise for the rows of a file that stays? Rows that are merely old are left out once the cutoff rises because of a file. */
static bool cuts_rows(const struct sto_version *v, const struct sto_sst_info *f, int64_t least_ms)
{
    return f->n_points && f->min_ms < least_ms && (f->gen_hi >= v->cutoff_gen || least_ms > v->cutoff_ms);
}

/* What a choice of files depends on. */
struct choice {
    uint64_t
        merge_gen; /* the cutoff concerns files of an interrupted merge, which have generations up to this one */
    int64_t before_ms; /* first time that is kept of any series */
    int64_t least_ms;  /* the cutoff of the limit of bytes */
    int64_t now_ms;    /* wall clock; INT64_MIN: time cuts through no file */
};

/* Must the cutoff rise, which it does once an hour, for a file that time cuts through and that stays for long? */
static bool cuts_through(const struct sto_version *v, const struct sto_sst_info *f, const struct choice *c)
{
    return c->now_ms != INT64_MIN && f->n_points && f->min_ms < c->before_ms && f->max_ms >= c->before_ms &&
           (f->gen_hi >= v->cutoff_gen || sto_hour(c->before_ms) > sto_hour(v->cutoff_ms)) &&
           !sto_expire_cut__waits(f, c->before_ms, c->now_ms);
}

/* Choose the files to remove, and the cutoff that must be in force when they are removed: it concerns all files of v, and those
 * of an interrupted merge. Returns the number of files to remove. */
static size_t choose(const struct sto_version *v, const struct choice *c, uint64_t *gone,
                     struct sto_output *out)
{
    /* The clock was set back, or retention was extended: one cutoff can't express both. As long as the old
     * cutoff is needed, only files that it covers are removed. */
    bool stays = v->cutoff_gen && c->before_ms < v->cutoff_ms && is_needed(out->e, v);
    uint64_t gen = v->cutoff_gen > c->merge_gen ? v->cutoff_gen : c->merge_gen + 1;
    size_t n = 0, n_new = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        gen = f->gen_hi >= gen ? f->gen_hi + 1 : gen;
        n_new += !stays && (cuts_rows(v, f, c->least_ms) || cuts_through(v, f, c));
        if ((!is_cut_off(v, f) && (stays || !is_expired(f, c->before_ms))) ||
            sto_output__is_taken(out->e, f->file_no))
            continue;
        n_new += !is_cut_off(v, f);
        gone[n++] = f->file_no;
    }
    out->cutoff_ms = n_new ? c->before_ms : 0;
    out->cutoff_gen = n_new ? gen : 0;
    return n;
}

/* Choose the files to remove at a time: by the longest duration, which holds for all series, and then by the rules of each. INT64_MIN: the clock is
 * not trusted, and only the limit of bytes decides. */
static size_t choose_all(struct sto_engine *e, const struct sto_version *v, uint64_t merge_gen, int64_t at_ms,
                         uint64_t *gone, struct sto_output *out)
{
    struct sto_keep *keep = sto_expire__keep(e);
    struct choice c = {.merge_gen = merge_gen,
                       .least_ms = sto_keep_least_ms(keep),
                       .now_ms = e->opts.remote ? INT64_MIN : at_ms};
    c.before_ms = at_ms == INT64_MIN ? c.least_ms : sto_keep_first_ms(keep, at_ms);
    size_t n = c.before_ms > STO_MIN_TS_MS ? choose(v, &c, gone, out) : 0;
    sto_keep_unref(keep);
    if (e->opts.remote || (at_ms == INT64_MIN && !sto_evict__is_apart(e)))
        return n; /* it has what would be removed here, and rules that keep points longer would show it again */
    sto_expire__raise(e, v, at_ms == INT64_MIN ? STO_MIN_TS_MS : at_ms, merge_gen);
    return sto_expire__choose(e, v, gone, n);
}

/* On a full disk the edit that removes files uses the space of the reserve; the files free more than that. */
static int drop_files(struct sto_engine *e, struct sto_output *none, const uint64_t *gone, size_t n,
                      struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_output__commit(none, gone, n, 0, &why);
    if (rc == TS_ENOSPC && sto_reserve__use(e, &why))
        rc = sto_output__commit(none, gone, n, 0, &why);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* The time at which something must have expired to be removed now; INT64_MIN: the clock is not trusted. */
static int64_t removable_ms(struct sto_engine *e, bool expires, int64_t wall_ms, int64_t now)
{
    struct sto_version *v = sto_engine_pin(e);
    if (expires && !e->clock.is_judged)
        judge_late(e, v, wall_ms, now);
    sto_engine_unpin(e, v);
    return look_at_clock(e, wall_ms, now) ? wall_ms - LAG_MS : INT64_MIN;
}

/* Make summaries of what is to be removed. While the clock is not trusted that is what the limit of bytes removes. */
static void make_summaries(struct sto_engine *e, int64_t at_ms)
{
    if (!e->owner.age || (at_ms == INT64_MIN && !sto_evict__is_apart(e)))
        return;
    int64_t points_ms = sto_evict__points_ms(e);
    const struct sto_age_left *left;
    int rc = e->owner.age(e->owner.arg, at_ms == INT64_MIN ? STO_MIN_TS_MS : at_ms, &left);
    sto_evict__aged(e, rc, points_ms, left);
}

/* ages: make summaries of what is to be removed, which may take long. */
static int drop(struct sto_engine *e, bool ages, struct ts_error *err)
{
    int64_t wall_ms = ts_clock_ms(), now = mono_ms();
    e->retention_ms = now;
    atomic_store_explicit(&e->look_wanted, false, memory_order_relaxed);
    bool expires = needs_clock(e);
    if (!expires && !(e->floors && e->floors->n) && !sto_evict__is_on(e))
        return 0;
    int64_t at_ms = removable_ms(e, expires, wall_ms, now);
    if (ages)
        make_summaries(e, at_ms);
    sto_evict__look(e);
    pthread_mutex_lock(&e->remove_mu);
    struct sto_version *v = sto_engine_pin(e);
    struct sto_output none = {.e = e};
    uint64_t *gone = ts_xcalloc(v->n_ssts + 1, sizeof *gone);
    int rc = 0;
    /* the tombstones whose generation the merge uses may have been removed, and with them that generation
     * from v */
    uint64_t merge_gen = e->unfinished ? e->unfinished->gen_hi : 0;
    size_t n = choose_all(e, v, merge_gen, at_ms, gone, &none);
    if (none.cutoff_gen)
        save(e, none.cutoff_ms, none.cutoff_gen);
    else if (e->clock.saved_ms == INT64_MIN || now - e->clock.saved_ms >= SAVE_MS)
        save(e, v->cutoff_ms, v->cutoff_gen);
    if (n || none.cutoff_gen)
        rc = drop_files(e, &none, gone, n, err);
    pthread_mutex_unlock(&e->remove_mu);
    if (n && rc == 0)
        ts_log(TS_LOG_INFO, "retention dropped files=%zu", n);
    if (rc == 0)
        sto_ship__expired(e, v, gone, n);
    ts_free(gone);
    sto_engine_unpin(e, v);
    if (rc == 0)
        sto_evict__end(e);
    return rc;
}

int sto_retention__drop(struct sto_engine *e, struct ts_error *err)
{
    return drop(e, true, err);
}

int sto_retention__drop_again(struct sto_engine *e, struct ts_error *err)
{
    bool asked = atomic_load_explicit(&e->look_wanted, memory_order_relaxed);
    return !asked && mono_ms() - e->retention_ms < AGAIN_MS ? 0 : drop(e, false, err);
}
