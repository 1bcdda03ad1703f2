/*
 * spool.c - temporary files of replies.
 *
 * Threads    see spool.h
 */
#include "tsd/daemon/spool.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>

#define SPOOL_SHARE      4                   /* one reply has at most this part of the limit */
#define SPOOL_PART_BYTES ((uint64_t)1 << 20) /* written out at once */
#define SPOOL_SPARE      4  /* this part is for client addresses that have little in files: */
#define SPOOL_SMALL      64 /* this part each */
#define SPOOL_FREE_RATIO 4  /* so many times what is spooled stays free on the disk */

void tsd_spools_init(struct tsd_spools *s, const char *dir, uint64_t limit_bytes)
{
    *s = (struct tsd_spools){.dir = dir};
    ts_budget_init(&s->account, "spool", "query_spool_bytes", NULL, limit_bytes);
    ts_budget_divide(&s->account, 1, limit_bytes / SPOOL_SPARE, limit_bytes / SPOOL_SMALL);
}

/* A new file without a name. */
static int spool_begin(struct tsd_spool *s, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    char name[64];
    uint64_t no = atomic_fetch_add_explicit(&s->all->n_begun, 1, memory_order_relaxed);
    (void)snprintf(name, sizeof(name), "reply-%llu.tmp", (unsigned long long)no);
    char *path = ts_fs_join(s->all->dir, name);
    int rc = fs->open(fs, path, TS_OPEN_CREATE, &s->file, err);
    if (rc == TS_EEXIST) { /* of a daemon that was killed between open and unlink */
        rc = fs->unlink(fs, path, err);
        if (rc == 0)
            rc = fs->open(fs, path, TS_OPEN_CREATE, &s->file, err);
    }
    if (rc == 0)
        rc = fs->unlink(fs, path, err);
    ts_free(path);
    return rc;
}

static int spool_take(struct tsd_spool *s, size_t n, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    struct tsd_spools *all = s->all;
    uint64_t left = 0;
    if (s->bytes + n <= all->account.limit_bytes / SPOOL_SHARE && ts_budget_take(s->account, n, NULL) == 0) {
        uint64_t used = atomic_load_explicit(&all->account.used_bytes, memory_order_relaxed);
        if (fs->free_bytes(fs, all->dir, &left, NULL) == 0 && left / SPOOL_FREE_RATIO > used)
            return 0;
        ts_budget_give(s->account, n);
    }
    atomic_fetch_add_explicit(&all->n_full, 1, memory_order_relaxed);
    return ts_error_set(err, TS_ELIMIT,
                        "The client takes its reply too slowly, and there is no space to keep more of it "
                        "(query_spool_bytes)");
}

/* Whole parts go to the disk; the one before is there when the next one begins. */
static void spool_write_out(struct tsd_spool *s)
{
    for (; s->bytes - s->begun >= SPOOL_PART_BYTES; s->begun += SPOOL_PART_BYTES) {
        ts_fs_write_out(s->file, s->begun, SPOOL_PART_BYTES);
        if (!s->begun)
            continue;
        ts_fs_await_written(s->file, s->begun - SPOOL_PART_BYTES, SPOOL_PART_BYTES);
        ts_fs_forget(s->file, s->begun - SPOOL_PART_BYTES, SPOOL_PART_BYTES);
    }
}

int tsd_spool_append(struct tsd_spool *s, const void *p, size_t n, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    TS_TRY(spool_take(s, n, err));
    int rc = s->file ? 0 : spool_begin(s, err);
    if (rc == 0)
        rc = fs->append(s->file, p, n, err);
    if (rc < 0) {
        ts_budget_give(s->account, n);
        return rc;
    }
    s->bytes += n;
    spool_write_out(s);
    return 0;
}

int tsd_spool_read(struct tsd_spool *s, void *p, size_t n, uint64_t off, struct ts_error *err)
{
    size_t got = 0;
    TS_TRY(ts_fs_real()->pread(s->file, p, n, off, &got, err));
    /* from its beginning: what lies across an edge or is being written stays until the next time. One thread reads for all
     * replies, so it never waits for the disk to write. */
    ts_fs_forget(s->file, 0, off + n);
    return got == n ? 0 : ts_error_set(err, TS_EIO, "a spooled reply ends after %zu of %zu bytes", got, n);
}

int tsd_spool_rewind(struct tsd_spool *s, struct ts_error *err)
{
    if (!s->file)
        return 0;
    ts_budget_give(s->account, s->bytes);
    s->bytes = s->begun = 0;
    return ts_fs_real()->truncate(s->file, 0, err);
}

void tsd_spool_release(struct tsd_spool *s)
{
    if (!s->file)
        return;
    ts_budget_give(s->account, s->bytes);
    (void)ts_fs_real()->close(s->file, NULL);
    *s = (struct tsd_spool){.all = s->all, .account = s->account};
}
