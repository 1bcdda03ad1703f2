/*
 * reclog_copy.c - NAME.copy, the copy of a record log.
 *
 * Manifest, catalog and small cells are small and contain what no other file does, so each is stored twice.
 * The copy is written after the log and synced only when the log is closed. At worst it is incomplete or out
 * of date; then it is made again when the log is opened for writing. If the copy cannot be written, the
 * program logs a line and continues.
 *
 * A copy that differs also shows that the end of the log may be only in memory: the last process may have
 * ended after a failed sync, whose pages the kernel marks as clean although they are not on disk. Then the
 * log is rewritten first.
 *
 * Format     docs/FORMAT.md "Copy of a record log"
 * Threads    one thread at a time (callers lock)
 * Invariant  the copy never has a record that was not written to the log before
 * Not here   choice between two damaged files (fsck.c)
 */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/reclog_int.h"

#define CHUNK_BYTES (256u << 10)

char *sto_reclog__copy_path(const char *path)
{
    return ts_fs_suffixed(path, STO_RECLOG_COPY);
}

/* --- reading --- */

/* Are the first n bytes of both files the same? 1, 0, < 0. */
static int same_front(const struct ts_fs *fs, struct ts_file *a, struct ts_file *b, uint64_t n,
                      struct ts_error *err)
{
    uint8_t *buf = ts_xmalloc(2 * (size_t)CHUNK_BYTES);
    int rc = 1;
    for (uint64_t off = 0; rc == 1 && off < n; off += CHUNK_BYTES) {
        size_t want = n - off < CHUNK_BYTES ? (size_t)(n - off) : CHUNK_BYTES, n_a = 0, n_b = 0;
        int rc_read = fs->pread(a, buf, want, off, &n_a, err);
        if (rc_read == 0)
            rc_read = fs->pread(b, buf + CHUNK_BYTES, want, off, &n_b, err);
        rc = rc_read < 0 ? rc_read : n_a == want && n_b == want && memcmp(buf, buf + CHUNK_BYTES, want) == 0;
    }
    ts_free(buf);
    return rc;
}

/* Append one record, head and body as in the copy, to arg. */
static int take_record(void *arg, uint64_t off, const struct sto_reclog__head *head, struct ts_slice body,
                       struct ts_error *err)
{
    (void)off;
    struct ts_buf *out = arg;
    uint8_t *p = (uint8_t *)ts_buf_reserve(out, STO_RECLOG_HEAD_BYTES + body.n);
    if (!p)
        return ts_error_set(err, TS_ENOMEM, "no memory for a record of %zu bytes of a copy", body.n);
    sto_reclog__head_make(p, body, head->synced);
    memcpy(p + STO_RECLOG_HEAD_BYTES, body.p, body.n);
    out->n += STO_RECLOG_HEAD_BYTES + body.n;
    return 0;
}

int sto_reclog__copy_heal(struct sto_reclog *log, struct ts_error *err)
{
    char *path = sto_reclog__copy_path(log->path);
    struct ts_file *file = NULL;
    struct ts_error why = {0};
    uint64_t size = 0, end_off = log->end_off;
    int rc = log->fs->open(log->fs, path, TS_OPEN_READ, &file, &why);
    ts_free(path);
    if (rc == TS_ENOTFOUND)
        return 0;
    if (rc == 0)
        rc = log->fs->size(file, &size, &why);
    if (rc == 0 && size > log->end_off)
        rc = same_front(log->fs, log->file, file, log->end_off, &why);
    if (rc == 1)
        rc = sto_reclog__read(log->fs, file, size, &end_off, take_record, &log->healed, &why);
    if (file)
        (void)log->fs->close(file, NULL);
    if (rc < 0 && err)
        *err = why;
    return rc < 0 ? rc : 0;
}

/* --- writing --- */

/* Give the copy up until it is made again. */
static void give_up(struct sto_reclog *log, const struct ts_error *err)
{
    struct sto_reclog__copy *c = &log->copy;
    if (!c->warned)
        ts_log(TS_LOG_WARN, "copy of a log is behind file=%s error=\"%s\"", c->path, err->text);
    c->warned = true;
    if (c->file && err->code != TS_ENOSPC) {
        (void)log->fs->close(c->file, NULL);
        c->file = NULL;
    }
}

/* Append [*off, to) of the log's file to another one; *off becomes the end of what was appended. */
static int copy_bytes(struct sto_reclog *log, struct ts_file *out, uint64_t *off, uint64_t to,
                      struct ts_error *err)
{
    char *p = ts_xmalloc(CHUNK_BYTES);
    int rc = 0;
    while (rc == 0 && *off < to) {
        size_t want = to - *off < CHUNK_BYTES ? (size_t)(to - *off) : CHUNK_BYTES, n = 0;
        rc = log->fs->pread(log->file, p, want, *off, &n, err);
        if (rc == 0 && n < want)
            rc = ts_error_set(err, TS_EIO, "%s: became shorter while it was copied", log->path);
        if (rc == 0)
            rc = log->fs->append(out, p, n, err);
        if (rc == 0)
            *off += n;
    }
    ts_free(p);
    return rc;
}

/* Append [copy.end_off, to) of the log's file. */
static int catch_up(struct sto_reclog *log, uint64_t to, struct ts_error *err)
{
    struct sto_reclog__copy *c = &log->copy;
    int rc = copy_bytes(log, c->file, &c->end_off, to, err);
    c->dirty_end |= rc < 0;
    return rc;
}

void sto_reclog__copy_append(struct sto_reclog *log, const void *p, size_t n)
{
    struct sto_reclog__copy *c = &log->copy;
    struct ts_error err = {0};
    int rc = 0;
    if (!c->file)
        return;
    if (c->dirty_end) {
        rc = log->fs->truncate(c->file, c->end_off, &err);
        c->dirty_end = rc < 0;
    }
    if (rc == 0)
        rc = catch_up(log, log->end_off - n, &err); /* does nothing except after a full disk */
    if (rc == 0 && n) {
        c->dirty_end = true;
        rc = log->fs->append(c->file, p, n, &err);
    }
    if (rc == 0) {
        c->dirty_end = false;
        c->end_off = log->end_off;
        c->warned = false;
    } else {
        give_up(log, &err);
    }
}

/* Create a file with the bytes of the log under a name, open for appending. */
static int write_anew(struct sto_reclog *log, const char *path, struct ts_file **out, struct ts_error *err)
{
    char *tmp = ts_fs_suffixed(path, ".tmp");
    uint64_t off = 0;
    (void)log->fs->unlink(log->fs, tmp, NULL);
    *out = NULL;
    int rc = log->fs->open(log->fs, tmp, TS_OPEN_CREATE, out, err);
    if (rc == 0)
        rc = copy_bytes(log, *out, &off, log->end_off, err);
    if (rc == 0)
        rc = log->fs->sync(*out, err); /* the name must not refer to bytes that are not on disk */
    if (rc == 0)
        rc = log->fs->rename(log->fs, tmp, path, err);
    if (rc < 0) {
        if (*out)
            (void)log->fs->close(*out, NULL);
        *out = NULL;
        (void)log->fs->unlink(log->fs, tmp, NULL);
    }
    ts_free(tmp);
    return rc;
}

static int renew(struct sto_reclog *log, struct ts_error *err)
{
    struct sto_reclog__copy *c = &log->copy;
    int rc = write_anew(log, c->path, &c->file, err);
    c->end_off = rc < 0 ? 0 : log->end_off;
    c->dirty_end = false;
    return rc;
}

void sto_reclog__copy_cut(struct sto_reclog *log)
{
    struct sto_reclog__copy *c = &log->copy;
    if (!c->file || c->end_off <= log->synced_off)
        return;
    if (log->fs->truncate(c->file, log->synced_off, NULL) == 0)
        c->end_off = log->synced_off;
}

void sto_reclog__copy_drop(struct sto_reclog *log)
{
    if (log->copy.file)
        (void)log->fs->close(log->copy.file, NULL);
    log->copy.file = NULL;
}

void sto_reclog__copy_renew(struct sto_reclog *log)
{
    struct ts_error err = {0};
    if (!log->copy.wanted)
        return;
    sto_reclog__copy_drop(log);
    if (renew(log, &err) < 0)
        give_up(log, &err);
}

void sto_reclog_renew_copy(struct sto_reclog *log)
{
    if (!log->copy.file && !log->read_only)
        sto_reclog__copy_renew(log);
}

/* Open the copy if its bytes equal those of the log. */
static bool open_same(struct sto_reclog *log)
{
    struct sto_reclog__copy *c = &log->copy;
    struct ts_file *probe = NULL;
    uint64_t size = 0;
    if (log->fs->open(log->fs, c->path, TS_OPEN_READ, &probe, NULL) < 0)
        return false;
    bool same = log->fs->size(probe, &size, NULL) == 0 && size == log->end_off &&
                same_front(log->fs, log->file, probe, size, NULL) == 1;
    (void)log->fs->close(probe, NULL);
    if (!same || log->fs->open(log->fs, c->path, TS_OPEN_APPEND, &c->file, NULL) < 0)
        return false;
    c->end_off = size;
    return true;
}

/* Rewrite the log itself, because it is unknown whether the disk has all that was read. */
static int refresh(struct sto_reclog *log, struct ts_error *err)
{
    struct ts_file *file;
    TS_TRY(write_anew(log, log->path, &file, err));
    return sto_reclog__take_over(log, file, err);
}

int sto_reclog_keep_copy(struct sto_reclog *log, struct ts_error *err)
{
    if (log->read_only)
        return 0;
    log->copy.wanted = true;
    log->copy.path = sto_reclog__copy_path(log->path);
    if (open_same(log))
        return 0;
    int rc = log->end_off > STO_RECLOG_HEADER_BYTES ? refresh(log, err) : 0;
    if (rc < 0 &&
        rc != TS_ENOSPC) /* without disk space it stays unchanged: the sync of the opening must suffice */
        return rc;
    sto_reclog__copy_renew(log);
    return 0;
}

void sto_reclog__copy_close(struct sto_reclog *log)
{
    struct sto_reclog__copy *c = &log->copy;
    if (c->file) {
        (void)log->fs->sync(c->file, NULL); /* if this fails, the copy is made again */
        (void)log->fs->close(c->file, NULL);
    }
    ts_free(c->path);
    *c = (struct sto_reclog__copy){0};
}
