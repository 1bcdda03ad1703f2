/*
 * reserve.c - space on the disk that is reserved for the moment when the disk is full.
 *
 * Threads    see reserve.h
 * Invariant  while the reserve is spent, or the run is not in the manifest, no log grows
 */
#include "storage/engine/reserve.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define CHUNK_BYTES (256u << 10)

/* Fill with bytes that no file system compresses or stores as a hole. */
static void fill(uint8_t *p, size_t n, uint64_t *state)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        memcpy(p + i, state, 8);
    }
}

static int write_file(struct sto_engine *e, const char *path, struct ts_error *err)
{
    uint64_t state = 0x9e3779b97f4a7c15ull;
    struct ts_file *file = NULL;
    uint8_t *p = ts_xcalloc(1, CHUNK_BYTES);
    (void)e->fs->unlink(e->fs, path, NULL);
    int rc = e->fs->open(e->fs, path, TS_OPEN_CREATE, &file, err);
    for (uint64_t at = 0; rc == 0 && at < e->opts.reserve_bytes; at += CHUNK_BYTES) {
        uint64_t left = e->opts.reserve_bytes - at;
        fill(p, CHUNK_BYTES, &state);
        rc = e->fs->append(file, p, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES, err);
    }
    if (rc == 0)
        rc = e->fs->sync(file, err); /* otherwise its blocks may not be allocated yet */
    if (file)
        (void)e->fs->close(file, NULL);
    if (rc < 0)
        (void)e->fs->unlink(e->fs, path, NULL);
    ts_free(p);
    return rc;
}

/* Is there space for a reserve, and as much again? */
static bool has_room(struct sto_engine *e)
{
    uint64_t free_bytes = 0;
    return e->fs->free_bytes(e->fs, e->dir, &free_bytes, NULL) == 0 &&
           free_bytes / 2 >= e->opts.reserve_bytes;
}

/* Create it if there is space. The caller holds files_mu, or no other thread runs. */
static bool make(struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_RESERVE_NAME);
    bool made = has_room(e) && write_file(e, path, NULL) == 0;
    ts_free(path);
    atomic_store_explicit(&e->reserve_there, made, memory_order_relaxed);
    return made;
}

void sto_reserve__open(struct sto_engine *e)
{
    char *path = ts_fs_join(e->dir, STO_RESERVE_NAME);
    struct ts_file *file = NULL;
    uint64_t size = 0;
    bool there = e->fs->open(e->fs, path, TS_OPEN_READ, &file, NULL) == 0;
    if (there) {
        there = e->fs->size(file, &size, NULL) == 0 && size == e->opts.reserve_bytes;
        (void)e->fs->close(file, NULL);
        if (!there)
            (void)e->fs->unlink(e->fs, path, NULL); /* of another size, or half made */
    }
    ts_free(path);
    atomic_store_explicit(&e->reserve_there, there, memory_order_relaxed);
    if (!there && e->opts.reserve_bytes)
        (void)make(e);
}

bool sto_reserve__release(struct sto_engine *e, const struct ts_error *why)
{
    if (!atomic_load_explicit(&e->reserve_there, memory_order_relaxed))
        return false;
    char *path = ts_fs_join(e->dir, STO_RESERVE_NAME);
    /* refuse first: threads that still put must not use the space */
    atomic_store_explicit(&e->reserve_spent, true,
                          memory_order_release); /* pairs with sto_reserve__may_write */
    sto_engine__refuse(e, TS_ENOSPC, why);
    bool gone = e->fs->unlink(e->fs, path, NULL) == 0;
    atomic_store_explicit(&e->reserve_there, false, memory_order_relaxed);
    ts_log(TS_LOG_WARN, "the disk is full, the reserve was removed file=%s bytes=%llu", path,
           (unsigned long long)e->opts.reserve_bytes);
    ts_free(path);
    return gone;
}

bool sto_reserve__use(struct sto_engine *e, const struct ts_error *why)
{
    pthread_mutex_lock(&e->files_mu);
    bool released = sto_reserve__release(e, why);
    pthread_mutex_unlock(&e->files_mu);
    return released;
}

/* files_mu is held, or no other thread runs. */
static int save_run(struct sto_engine *e, struct ts_error *err)
{
    const struct sto_complete *was = &sto_manifest_state(e->manifest)->complete,
                              now = sto_complete__now(e, was);
    struct sto_manifest_edit edit = {
        .run = e->run, .next_file_no = e->next_file_no, .complete = was->known ? &now : NULL};
    return sto_manifest_apply(e->manifest, &edit, err);
}

int sto_reserve__save_run(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = save_run(e, &why);
    if (rc == TS_ENOSPC && sto_reserve__release(e, &why))
        rc = save_run(e, &why);
    if (rc == TS_ENOSPC) {
        atomic_store_explicit(&e->run_unsaved, true,
                              memory_order_release); /* pairs with sto_reserve__may_write */
        sto_engine__refuse(e, TS_ENOSPC, &why);
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

void sto_reserve__tick(struct sto_engine *e)
{
    if (sto_reserve__may_write(e))
        return;
    pthread_mutex_lock(&e->files_mu);
    if (atomic_load_explicit(&e->run_unsaved, memory_order_relaxed) && save_run(e, NULL) == 0)
        atomic_store_explicit(&e->run_unsaved, false, memory_order_release);
    if (atomic_load_explicit(&e->reserve_spent, memory_order_relaxed) &&
        !atomic_load_explicit(&e->run_unsaved, memory_order_relaxed) && make(e))
        atomic_store_explicit(&e->reserve_spent, false, memory_order_release);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__recovered(e);
}

bool sto_reserve__may_write(const struct sto_engine *e)
{
    return !atomic_load_explicit(&e->reserve_spent, memory_order_acquire) &&
           !atomic_load_explicit(&e->run_unsaved, memory_order_acquire);
}
