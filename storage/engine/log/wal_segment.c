/*
 * wal_segment.c - the files of a write-ahead log: creating, ending and syncing segments.
 *
 * An owner never waits for the disk when a segment ends. The next segment has been prepared
 * (sto_wal_prepare), and the one that ended is *retired*: a thread that syncs the log syncs it first. So
 * after a power cut the end of a segment may be missing although the next segment has records. Nothing after
 * the missing part was acknowledged, so replay ignores the next segment then. A mark in the next segment says
 * that everything before it is on disk.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    open and close: the owner. prepare: one thread at a time. sync: any number of threads; they
 *            share one fdatasync
 * Invariant  a byte counts as synced only when everything before it, also in older segments, is on disk
 * Not here   records (wal.c), replay (wal_read.c)
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/log/wal_int.h"

#define MAX_RETIRED 8u /* with more of them the owner waits for a sync */

int sto_wal__refuse(const struct sto_wal *wal, struct ts_error *err)
{
    (void)sto_wal_broken(wal); /* its acquire load makes `why` visible */
    ts_error_set(err, TS_EIO,
                 "the write-ahead log of worker %u is broken until tsd is started again, because of: %s",
                 wal->name.owner, wal->why.text);
    if (err)
        err->sys_errno = wal->why.sys_errno;
    return TS_EIO;
}

int sto_wal__break(struct sto_wal *wal, struct ts_error *err)
{
    if (err)
        err->code = TS_EIO;
    pthread_mutex_lock(&wal->lock);
    bool first = !atomic_load_explicit(&wal->broken, memory_order_relaxed);
    if (first && err)
        wal->why = *err;
    else if (first)
        ts_error_set(&wal->why, TS_EIO, "%s: input/output error", wal->dir);
    atomic_store_explicit(&wal->broken, true, memory_order_release); /* pairs with sto_wal_broken */
    pthread_mutex_unlock(&wal->lock);
    if (first)
        ts_log(TS_LOG_ERROR, "write-ahead log broken worker=%u error=\"%s\"", wal->name.owner, wal->why.text);
    return TS_EIO;
}

/* --- one segment --- */

static void segment_path(const struct sto_wal *wal, const struct sto_wal_name *name, char *out)
{
    char text[STO_WAL_NAME_BYTES];
    sto_wal__name_print(name, text);
    snprintf(out, PATH_MAX, "%s/%s", wal->dir, text);
}

/* Close the files of a segment and free it; remove: unlink the file, too. Returns an error of closing what
 * was written. */
static int segment_free(struct sto_wal *wal, struct sto_wal__seg *seg, bool remove, struct ts_error *err)
{
    int rc = 0;
    if (!seg)
        return 0;
    wal->fs->close(seg->sync_file, NULL); /* nothing was written through it */
    if (seg->file)
        rc = wal->fs->close(seg->file, err);
    if (remove) {
        char path[PATH_MAX];
        segment_path(wal, &seg->name, path);
        wal->fs->unlink(wal->fs, path, NULL); /* an empty segment that stays is harmless */
    }
    ts_free(seg);
    return rc;
}

/* Create a file under a number that no segment has had. The folder is not synced. */
static int segment_make(struct sto_wal *wal, uint64_t gen, struct sto_wal__seg **out, struct ts_error *err)
{
    const struct ts_fs *fs = wal->fs;
    struct sto_wal_name name = {
        .run = wal->name.run, .owner = wal->name.owner, .gen = gen}; /* the other members change in the
                                                                        * owner's thread */
    char path[PATH_MAX];
    pthread_mutex_lock(&wal->lock);
    name.segment = wal->next_segment;
    wal->next_segment += name.segment != STO_WAL_NO_SEGMENT; /* also after an error: the name may be taken */
    pthread_mutex_unlock(&wal->lock);
    if (name.segment == STO_WAL_NO_SEGMENT)
        return ts_error_set(err, TS_ELIMIT, "no segment numbers left in %s; restart", wal->dir);
    struct sto_wal__seg *seg = ts_xcalloc(1, sizeof(*seg));
    seg->name = name;
    segment_path(wal, &name, path);
    int rc = fs->open(fs, path, TS_OPEN_CREATE, &seg->file, err);
    if (rc == 0)
        rc = fs->open(fs, path, TS_OPEN_READ, &seg->sync_file, err);
    if (rc == 0)
        *out = seg;
    else
        segment_free(wal, seg, seg->file != NULL, NULL);
    return rc;
}

/* --- the owner's side --- */

int sto_wal__close_segment(struct sto_wal *wal, struct ts_error *err)
{
    if (!wal->file)
        return 0;
    pthread_mutex_lock(&wal->lock);
    /* where one thread is owner and sync thread (tests), it must not wait for itself */
    bool many =
        wal->n_retired >= MAX_RETIRED && !(wal->syncing && pthread_equal(wal->syncer, pthread_self()));
    pthread_mutex_unlock(&wal->lock);
    if (many)
        TS_TRY(sto_wal_sync(wal, err));
    pthread_mutex_lock(&wal->lock);
    struct sto_wal__seg **last = &wal->retired;
    while (*last)
        last = &(*last)->next;
    *last = wal->seg;
    wal->seg->end = atomic_load_explicit(&wal->written, memory_order_relaxed); /* only this thread writes
                                                                                * it */
    wal->seg->is_empty = wal->end_off == 0;
    wal->seg = NULL;
    wal->n_retired++;
    pthread_mutex_unlock(&wal->lock);
    wal->file = NULL;
    wal->just_retired = true;
    wal->n_ids = 0;
    if (wal->end_off > 0) {
        wal->prev_segment = wal->name.segment;
        wal->prev_gen = wal->name.gen;
        wal->prev_bytes = wal->end_off;
    }
    return 0;
}

/* Take the prepared segment if it is of this generation and comes after all that were used. */
static struct sto_wal__seg *spare_take(struct sto_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    struct sto_wal__seg *seg = wal->spare;
    if (seg && wal->spare_ready && seg->name.gen == wal->name.gen && seg->name.segment >= wal->used_end)
        wal->spare = NULL;
    else
        seg = NULL;
    pthread_mutex_unlock(&wal->lock);
    return seg;
}

int sto_wal__open_segment(struct sto_wal *wal, struct ts_error *err)
{
    struct sto_wal__seg *seg = spare_take(wal);
    if (!seg) {
        int rc = segment_make(wal, wal->name.gen, &seg, err);
        if (rc == 0 && (rc = wal->fs->sync_dir(wal->fs, wal->dir, err)) < 0)
            segment_free(wal, seg, true, NULL);
        if (rc < 0)
            return rc == TS_ENOSPC || rc == TS_EMFILE || rc == TS_ELIMIT ? rc : sto_wal__break(wal, err);
    }
    wal->name.segment = seg->name.segment;
    wal->used_end = seg->name.segment + 1;
    wal->salt = sto_wal__salt(&wal->name);
    wal->end_off = 0;
    wal->marked_off = 0;
    wal->marked = false;
    wal->base = atomic_load_explicit(&wal->written, memory_order_relaxed); /* only this thread writes it */
    wal->file = seg->file;
    seg->base = wal->base;
    pthread_mutex_lock(&wal->lock);
    wal->seg = seg;
    pthread_mutex_unlock(&wal->lock);
    return 0;
}

bool sto_wal_take_retired(struct sto_wal *wal)
{
    bool retired = wal->just_retired;
    wal->just_retired = false;
    return retired;
}

/* --- the next one --- */

bool sto_wal_wants_next(struct sto_wal *wal, uint64_t *out_gen)
{
    pthread_mutex_lock(&wal->lock);
    bool wants =
        wal->seg && !wal->spare &&
        atomic_load_explicit(&wal->written, memory_order_relaxed) - wal->seg->base > wal->segment_bytes / 2;
    *out_gen = wants ? wal->seg->name.gen : 0;
    pthread_mutex_unlock(&wal->lock);
    return wants;
}

bool sto_wal_prepare(struct sto_wal *wal, uint64_t gen)
{
    struct sto_wal__seg *old = NULL, *seg = NULL;
    pthread_mutex_lock(&wal->lock);
    bool wants = (wal->seg || wal->spare) && !(wal->spare && wal->spare->name.gen == gen) &&
                 !atomic_load_explicit(&wal->broken, memory_order_relaxed);
    if (wants) {
        old = wal->spare;
        wal->spare = NULL;
    }
    pthread_mutex_unlock(&wal->lock);
    segment_free(wal, old, true, NULL);
    if (!wants || segment_make(wal, gen, &seg, NULL) < 0)
        return false;
    pthread_mutex_lock(&wal->lock);
    old = wal->spare; /* another thread has prepared one meanwhile */
    wal->spare = seg;
    wal->spare_ready = false;
    pthread_mutex_unlock(&wal->lock);
    segment_free(wal, old, true, NULL);
    return true;
}

void sto_wal_prepared(struct sto_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    wal->spare_ready = true;
    pthread_mutex_unlock(&wal->lock);
}

/* --- that of a generation which may begin --- */

bool sto_wal_ahead(struct sto_wal *wal, uint64_t gen)
{
    struct sto_wal__seg *seg = NULL;
    sto_wal_end_ahead(wal);
    pthread_mutex_lock(&wal->lock);
    bool wants = (wal->seg || wal->spare) && !atomic_load_explicit(&wal->broken, memory_order_relaxed);
    pthread_mutex_unlock(&wal->lock);
    if (!wants || segment_make(wal, gen, &seg, NULL) < 0)
        return false;
    pthread_mutex_lock(&wal->lock);
    wal->ahead = seg;
    wal->ahead_ready = false;
    pthread_mutex_unlock(&wal->lock);
    return true;
}

void sto_wal_ahead_synced(struct sto_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    wal->ahead_ready = true;
    pthread_mutex_unlock(&wal->lock);
}

void sto_wal_end_ahead(struct sto_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    struct sto_wal__seg *seg = wal->ahead;
    wal->ahead = NULL;
    pthread_mutex_unlock(&wal->lock);
    segment_free(wal, seg, true, NULL);
}

void sto_wal__take_ahead(struct sto_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    if (wal->ahead && wal->ahead->name.gen == wal->name.gen) {
        struct sto_wal__seg *former = wal->spare;
        wal->spare = wal->ahead;
        wal->spare_ready = wal->ahead_ready;
        wal->ahead = former;
        wal->ahead_ready = false;
    }
    pthread_mutex_unlock(&wal->lock);
}

/* --- positions and sync --- */

uint64_t sto_wal_written(const struct sto_wal *wal)
{
    return atomic_load_explicit(&wal->written, memory_order_acquire);
}

uint64_t sto_wal_synced(const struct sto_wal *wal)
{
    return atomic_load_explicit(&wal->synced, memory_order_acquire);
}

bool sto_wal_broken(const struct sto_wal *wal)
{
    return atomic_load_explicit(&wal->broken, memory_order_acquire); /* pairs with sto_wal__break */
}

/* Call fdatasync once, for the oldest segment that is not on disk. The caller holds the lock; it is
 * released meanwhile. */
static int sync_once(struct sto_wal *wal, struct ts_error *err)
{
    struct sto_wal__seg *old = wal->retired, *seg = old ? old : wal->seg;
    if (!seg)
        TS_BUG("bytes without a segment");
    /* acquire: these bytes are in the file, and those of older segments are synced */
    uint64_t upto = old ? old->end : sto_wal_written(wal);
    wal->syncing = true;
    wal->syncer = pthread_self();
    pthread_mutex_unlock(&wal->lock);
    int rc = old && old->is_empty ? 0 : wal->fs->sync(seg->sync_file, err);
    if (rc < 0)
        rc = sto_wal__break(wal, err);
    pthread_mutex_lock(&wal->lock);
    if (rc == 0 && upto > atomic_load_explicit(&wal->synced, memory_order_relaxed))
        atomic_store_explicit(&wal->synced, upto, memory_order_release); /* partner: sto_wal_synced */
    if (rc == 0 && old) {
        wal->retired = old->next;
        wal->n_retired--;
        pthread_mutex_unlock(&wal->lock);
        rc = segment_free(wal, old, old->is_empty, err);
        if (rc < 0)
            rc = sto_wal__break(wal, err);
        pthread_mutex_lock(&wal->lock);
    }
    wal->syncing = false;
    pthread_cond_broadcast(&wal->sync_done);
    return rc;
}

int sto_wal_sync(struct sto_wal *wal, struct ts_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&wal->lock);
    uint64_t target = sto_wal_written(wal);
    while (rc == 0) {
        if (atomic_load_explicit(&wal->broken, memory_order_relaxed))
            rc = sto_wal__refuse(wal, err);
        else if (!wal->retired && atomic_load_explicit(&wal->synced, memory_order_relaxed) >= target)
            break;
        else if (wal->syncing)
            pthread_cond_wait(&wal->sync_done, &wal->lock);
        else
            rc = sync_once(wal, err);
    }
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

int sto_wal__free_segments(struct sto_wal *wal, struct ts_error *err)
{
    int rc = 0;
    for (struct sto_wal__seg *seg = wal->retired, *next; seg; seg = next) {
        next = seg->next;
        segment_free(wal, seg, seg->is_empty, NULL);
    }
    segment_free(wal, wal->spare, true, NULL);
    segment_free(wal, wal->ahead, true, NULL);
    rc = segment_free(wal, wal->seg, false, err);
    wal->retired = wal->spare = wal->ahead = wal->seg = NULL;
    wal->file = NULL;
    return rc;
}
