/*
 * complete.c - from when on everything that the remote store has is also here.
 *
 * Threads    complete.h
 */
#include "storage/engine/complete.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/engine_int.h"

#define BOOT_PATH "/proc/sys/kernel/random/boot_id"
#define BOOT_MAX  128u            /* bytes; a file of /proc has no size */
#define FIRST_MS  1577836800000ll /* 2020: the clock of a machine that shows an earlier time was not set */

/* --- the proof --- */

static const char contents[] =
    "tsd recognises by this file that the folder is not a copy: with hbase_sole_writer it has points that "
    "HBase need not be asked for.\n"
    "Remove it, while tsd is stopped, after the disk was set back to an earlier snapshot.\n";

/* A number of this start of the machine. One that is not known is another one each time. */
static uint64_t boot_of(const struct sto_engine *e)
{
    char *p = NULL;
    size_t n = 0;
    if (e->opts.boot)
        return e->opts.boot;
    int rc = ts_fs_read_any(BOOT_PATH, BOOT_MAX, &p, &n, NULL);
    uint64_t boot = rc == 0 && n ? ts_hash(p, n) : (uint64_t)ts_clock_ms();
    ts_free(p);
    return boot;
}

/* The identity of DIR/COMPLETE; 0: there is no such file. */
static uint64_t file_of(const struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_COMPLETE_NAME);
    uint64_t id = 0;
    (void)e->fs->identity(e->fs, path, &id, NULL);
    ts_free(path);
    return id;
}

/* boot 0: the store is closed. */
static uint64_t proof_of(uint64_t boot, uint64_t file)
{
    const uint64_t both[] = {boot, file};
    return ts_hash(both, sizeof both);
}

/* Make DIR/COMPLETE anew, and return its identity. After an error it is the one before, if there is one. */
static uint64_t renew_file(const struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_COMPLETE_NAME);
    (void)ts_fs_write_atomic(e->fs, path, contents, sizeof contents - 1, NULL);
    ts_free(path);
    return file_of(e);
}

static void remove_file(const struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_COMPLETE_NAME);
    (void)e->fs->unlink(e->fs, path, NULL);
    ts_free(path);
}

/* --- a life of the store --- */

void sto_complete__begin(struct sto_engine *e, bool torn)
{
    const struct sto_complete was = sto_manifest_state(e->manifest)->complete;
    struct sto_complete__life *life = &e->complete_life;
    *life = (struct sto_complete__life){0};
    if (!was.known || !e->opts.remote)
        return;
    uint64_t boot = boot_of(e), file = file_of(e);
    const char *why = NULL;
    if (torn)
        why = "the end of the write-ahead log was lost";
    else if (!file)
        why = "the data folder has no file " STO_COMPLETE_NAME;
    else if (was.proof != proof_of(boot, file) && was.proof != proof_of(0, file))
        why = "the machine has stopped without closing the store, or the data folder is a copy";
    if (why) {
        ts_log(TS_LOG_WARN,
               "which points only the remote store has is not known any more, and it is read for all times "
               "up to now: %s",
               why);
        if (!e->opts.read_only)
            remove_file(e); /* or the next start might find the proof again */
        return;
    }
    if (!e->opts.read_only)
        file = renew_file(e);
    *life = (struct sto_complete__life){.holds = file != 0, .proof = proof_of(boot, file)};
    const struct sto_complete now = sto_complete__now(e, &was);
    sto_version__complete(e, sto_complete_from_ms(&now));
}

struct sto_complete sto_complete__now(const struct sto_engine *e, const struct sto_complete *was)
{
    struct sto_complete now = *was;
    if (!was->known || !e->complete_life.holds)
        return (struct sto_complete){0};
    now.proof = e->complete_life.proof;
    return now;
}

static int64_t hour_after(int64_t ms)
{
    return ms >= STO_MAX_TS_MS ? STO_MAX_TS_MS : (sto_hour(ms) + 1) * TS_HOUR_MS;
}

struct sto_complete sto_complete__removed(const struct sto_complete *was, int64_t before_ms)
{
    struct sto_complete now = *was;
    if (now.known && before_ms > now.from_ms)
        now.from_ms = hour_after(before_ms - 1);
    return now;
}

void sto_complete__lost(struct sto_engine *e)
{
    const struct sto_complete nothing = {0};
    if (!atomic_exchange(&e->complete_life.holds, false))
        return;
    remove_file(e);
    if (pthread_mutex_trylock(&e->files_mu) != 0)
        return;
    bool known = sto_manifest_state(e->manifest)->complete.known;
    if (known) {
        (void)sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.complete = &nothing}, NULL);
        sto_version__complete(e, INT64_MAX);
    }
    pthread_mutex_unlock(&e->files_mu);
    if (known)
        (void)sto_version__edit(e, NULL, 0, NULL, 0, 0, NULL, 0);
}

void sto_complete__closed(struct sto_engine *e)
{
    const struct sto_complete was = sto_manifest_state(e->manifest)->complete;
    struct sto_complete now = sto_complete__now(e, &was);
    if (!was.known)
        return;
    now.proof = now.known ? proof_of(0, renew_file(e)) : 0;
    (void)sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.complete = &now}, NULL);
}

/* --- the sole writer --- */

/* The first hour after the present time, what is here, what was ever sent, and what was removed. Before it the remote store may have more,
 * whatever the clock shows now, or has shown. */
static int64_t first_hour(struct sto_engine *e)
{
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    struct sto_version *v = sto_engine_pin(e);
    int64_t lo, hi, last_ms = ts_clock_ms();
    if (sto_version_time_range(v, &lo, &hi) && hi > last_ms)
        last_ms = hi;
    sto_engine_unpin(e, v);
    if (state->sent.n) {
        int64_t sent_ms = state->sent.marks[state->sent.n - 1].hour_hi * TS_HOUR_MS;
        last_ms = sent_ms > last_ms ? sent_ms : last_ms;
    }
    if (state->cutoff_gen && state->cutoff_ms - 1 > last_ms)
        last_ms = state->cutoff_ms - 1;
    return hour_after(last_ms);
}

/* What is complete if that begins anew; nothing, if DIR/COMPLETE cannot be made. */
static struct sto_complete complete_anew(struct sto_engine *e)
{
    uint64_t file = renew_file(e);
    return (struct sto_complete){
        .known = file != 0, .from_ms = first_hour(e), .proof = proof_of(boot_of(e), file)};
}

int sto_engine_set_sole_writer(struct sto_engine *e, bool on, struct ts_error *err)
{
    int refuses = 0;
    if (on ? e->opts.read_only || !e->opts.remote
           : e->opts.read_only && sto_engine_complete_from(e) != INT64_MAX)
        return ts_error_set(err, TS_EINVAL, "the store has no remote store, or is opened for reading only");
    if (on && ts_clock_ms() < FIRST_MS)
        return ts_error_set(err, TS_EINVAL, "the clock of the machine shows a time before 2020");
    if (on && sto_engine_refusing(e, &refuses) && refuses == TS_EIO)
        return ts_error_set(err, TS_EINVAL, "the store cannot write its log");
    pthread_mutex_lock(&e->files_mu);
    const struct sto_complete was = sto_manifest_state(e->manifest)->complete;
    struct sto_complete now =
        sto_complete__now(e, &was); /* a full disk may have kept that out of the manifest */
    int rc = 0;
    if (now.known != on)
        now = on ? complete_anew(e) : (struct sto_complete){0};
    if (on && !now.known)
        rc = ts_error_set(err, TS_ENOSPC, "the file " STO_COMPLETE_NAME " cannot be written");
    else if (now.known != was.known || now.from_ms != was.from_ms || now.proof != was.proof)
        rc = sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.complete = &now}, err);
    if (rc == 0) {
        e->complete_life = (struct sto_complete__life){.holds = now.known, .proof = now.proof};
        sto_version__complete(e, sto_complete_from_ms(&now));
    }
    if (rc == 0 && !on && was.known)
        remove_file(e);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, rc, err);
    TS_TRY(rc);
    return sto_version__edit(e, NULL, 0, NULL, 0, 0, NULL, 0);
}

int64_t sto_engine_complete_from(struct sto_engine *e)
{
    pthread_mutex_lock(&e->version_mu);
    int64_t from_ms = e->version->complete_from_ms;
    pthread_mutex_unlock(&e->version_mu);
    return from_ms;
}

int64_t sto_version_complete_from(const struct sto_version *v)
{
    return v->complete_from_ms;
}
