/*
 * reclog.c - append-only log of checksummed records in one file, which a checkpoint replaces at times.
 *
 * Format     docs/FORMAT.md "Record log"
 * Threads    one thread at a time (callers lock)
 * Invariant  bytes before end_off are complete records; bytes after it are truncated before anything is
 *            written
 * Not here   what records mean (manifest.c, catalog/catalog_log.c, cells.c), when to checkpoint
 */
#include "storage/reclog.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/reclog_int.h"

_Static_assert(STO_RECLOG_HEADER_BYTES == 20 && STO_RECLOG_HEAD_BYTES == 20, "docs/FORMAT.md says so");

#define READ_BYTES (256u << 10) /* read at once */

/* A buffered window on a file that is read sequentially. */
struct window {
    const struct ts_fs *fs;
    struct ts_file *file;
    uint64_t size; /* of the file */
    uint64_t off;  /* position of p[0] in the file */
    size_t n, cap; /* bytes held, capacity */
    uint8_t *p;    /* owned */
};

void sto_reclog__header_make(uint8_t h[STO_RECLOG_HEADER_BYTES], const char kind[4])
{
    memcpy(h, STO_RECLOG_MAGIC, 8);
    ts_st32(h + 8, STO_RECLOG_VERSION);
    memcpy(h + 12, kind, 4);
    ts_st32(h + 16, ts_crc32c(0, h, 16));
}

int sto_reclog__header_check(const uint8_t *h, const char *path, const char kind[4], struct ts_error *err)
{
    if (memcmp(h, STO_RECLOG_MAGIC, 8) != 0 || ts_ld32(h + 16) != ts_crc32c(0, h, 16))
        return ts_error_set(err, TS_ECORRUPT, "%s: offset 0: not a record log", path);
    if (ts_ld32(h + 8) != STO_RECLOG_VERSION)
        return ts_error_set(err, TS_EVERSION, "%s: format version %u, this program reads %u", path,
                            ts_ld32(h + 8), STO_RECLOG_VERSION);
    if (memcmp(h + 12, kind, 4) != 0)
        return ts_error_set(err, TS_ECORRUPT, "%s: a log of kind %.4s, expected %.4s", path,
                            (const char *)h + 12, kind);
    return 0;
}

bool sto_reclog__head_get(const uint8_t *p, uint64_t off, uint64_t size, struct sto_reclog__head *out)
{
    *out = (struct sto_reclog__head){.n_bytes = ts_ld32(p), .crc = ts_ld32(p + 4), .synced = ts_ld64(p + 8)};
    return out->n_bytes != 0 && out->n_bytes <= STO_RECLOG_MAX_RECORD_BYTES &&
           out->n_bytes <= size - off - STO_RECLOG_HEAD_BYTES && out->synced <= off &&
           ts_ld32(p + 16) == ts_crc32c(0, p, 16);
}

void sto_reclog__head_make(uint8_t h[STO_RECLOG_HEAD_BYTES], struct ts_slice body, uint64_t synced)
{
    ts_st32(h, (uint32_t)body.n);
    ts_st32(h + 4, ts_crc32c(0, body.p, body.n));
    ts_st64(h + 8, synced);
    ts_st32(h + 16, ts_crc32c(0, h, 16));
}

uint64_t sto_reclog__synced(const char *head)
{
    return ts_ld64(head + 8);
}

/* Does the body match the checksum in its head? */
static bool body_good(const uint8_t *body, const struct sto_reclog__head *head)
{
    return ts_crc32c(0, body, head->n_bytes) == head->crc;
}

bool sto_reclog__record_get(struct ts_slice file, uint64_t off, struct ts_slice *out_body,
                            uint64_t *out_synced)
{
    struct sto_reclog__head head;
    const uint8_t *p = (const uint8_t *)file.p + off;
    if (off > file.n || file.n - off < STO_RECLOG_HEAD_BYTES ||
        !sto_reclog__head_get(p, off, file.n, &head) || !body_good(p + STO_RECLOG_HEAD_BYTES, &head))
        return false;
    *out_body = (struct ts_slice){(const char *)p + STO_RECLOG_HEAD_BYTES, head.n_bytes};
    *out_synced = head.synced;
    return true;
}

/* Bytes [off, off + n) of the file, which the caller knows to be in it; borrowed until the next call. */
static int window_at(struct window *w, uint64_t off, size_t n, const uint8_t **out, struct ts_error *err)
{
    if (off < w->off || off + n > w->off + w->n) {
        size_t want = n > READ_BYTES ? n : READ_BYTES;
        if (want > w->cap) {
            uint8_t *p = ts_try_realloc(w->p, want);
            if (!p)
                return ts_error_set(err, TS_ENOMEM, "no memory for a record of %zu bytes", n);
            w->p = p;
            w->cap = want;
        }
        w->off = off;
        w->n = 0;
        TS_TRY(w->fs->pread(w->file, w->p, w->cap, off, &w->n, err));
        if (w->n < n)
            return ts_error_set(err, TS_EIO, "the file became shorter while it was read");
    }
    *out = w->p + (off - w->off);
    return 0;
}

/* Is there a plausible head at off? 1 yes, 0 no, < 0 error. */
static int head_at(struct window *w, uint64_t off, struct sto_reclog__head *out, struct ts_error *err)
{
    const uint8_t *p;
    if (w->size - off < STO_RECLOG_HEAD_BYTES)
        return 0;
    TS_TRY(window_at(w, off, STO_RECLOG_HEAD_BYTES, &p, err));
    return sto_reclog__head_get(p, off, w->size, out);
}

/* Is there a complete record at off? 1 yes (body borrowed until the next call), 0 no, < 0 error. */
static int record_at(struct window *w, uint64_t off, struct sto_reclog__head *head, struct ts_slice *out_body,
                     struct ts_error *err)
{
    int is_head = head_at(w, off, head, err);
    if (is_head <= 0)
        return is_head;
    const uint8_t *p;
    TS_TRY(window_at(w, off + STO_RECLOG_HEAD_BYTES, head->n_bytes, &p, err));
    *out_body = (struct ts_slice){(const char *)p, head->n_bytes};
    return body_good(p, head);
}

/* The record at bad_off is incomplete. The file is damaged if a later record was made when bad_off was
 * already on disk. */
static int judge_tail(struct window *w, uint64_t bad_off, const char *path, struct ts_error *err)
{
    for (uint64_t off = bad_off + 1; off + STO_RECLOG_HEAD_BYTES < w->size;) {
        struct sto_reclog__head head;
        struct ts_slice body;
        int good = record_at(w, off, &head, &body, err);
        if (good < 0)
            return good;
        if (good && head.synced > bad_off)
            return ts_error_set(err, TS_ECORRUPT, "%s: offset %llu: damaged record, good ones follow at %llu",
                                path, (unsigned long long)bad_off, (unsigned long long)off);
        off += good ? STO_RECLOG_HEAD_BYTES + head.n_bytes : 1;
    }
    return 0;
}

/* Call fn for the complete records from *off on; *off becomes the end of the last one. */
static int read_records(struct window *w, uint64_t *off, sto_reclog__record_fn fn, void *arg,
                        struct ts_error *err)
{
    while (*off < w->size) {
        struct sto_reclog__head head;
        struct ts_slice body;
        int good = record_at(w, *off, &head, &body, err);
        if (good <= 0)
            return good;
        TS_TRY(fn(arg, *off, &head, body, err));
        *off += STO_RECLOG_HEAD_BYTES + head.n_bytes;
    }
    return 0;
}

int sto_reclog__read(const struct ts_fs *fs, struct ts_file *file, uint64_t size, uint64_t *off,
                     sto_reclog__record_fn fn, void *arg, struct ts_error *err)
{
    struct window w = {.fs = fs, .file = file, .size = size};
    int rc = read_records(&w, off, fn, arg, err);
    ts_free(w.p);
    return rc;
}

/* Receiver of the records of a log that is being opened. */
struct reader {
    const char *path;   /* of the log */
    sto_reclog_fn each; /* may be NULL */
    void *arg;          /* of each */
};

/* Pass one record on. */
static int give(void *arg, uint64_t off, const struct sto_reclog__head *head, struct ts_slice body,
                struct ts_error *err)
{
    (void)head;
    const struct reader *r = arg;
    int rc = r->each ? r->each(r->arg, body, err) : 0;
    if (rc < 0)
        ts_error_wrap(err, "%s: record at offset %llu", r->path, (unsigned long long)off);
    return rc;
}

/* Read the records that the copy has after the end of the log: they were lost here, because the copy is
 * written second. */
static int read_healed(struct sto_reclog *log, struct reader *r, struct ts_error *err)
{
    TS_TRY(sto_reclog__copy_heal(log, err));
    if (log->healed.n == 0)
        return 0;
    ts_log(TS_LOG_WARN, "the end of a log was lost and is taken from its copy file=%s offset=%llu bytes=%zu",
           log->path, (unsigned long long)log->end_off, log->healed.n);
    for (size_t at = 0; at < log->healed.n;) {
        const uint8_t *p = (const uint8_t *)log->healed.p + at;
        struct ts_slice body = {(const char *)p + STO_RECLOG_HEAD_BYTES, ts_ld32(p)};
        TS_TRY(give(r, log->end_off + at, NULL, body, err));
        at += STO_RECLOG_HEAD_BYTES + body.n;
    }
    return 0;
}

/* Pass all records to the reader; log->end_off becomes the end of the last complete one. */
static int read_all(struct sto_reclog *log, struct window *w, struct reader *r, struct ts_error *err)
{
    const uint8_t *p;
    if (w->size < STO_RECLOG_HEADER_BYTES)
        return ts_error_set(err, TS_ECORRUPT, "%s: %llu bytes are too few for a record log", log->path,
                            (unsigned long long)w->size);
    TS_TRY(window_at(w, 0, STO_RECLOG_HEADER_BYTES, &p, err));
    TS_TRY(sto_reclog__header_check(p, log->path, log->kind, err));
    log->end_off = STO_RECLOG_HEADER_BYTES;
    TS_TRY(read_records(w, &log->end_off, give, r, err));
    if (log->end_off < w->size)
        TS_TRY(judge_tail(w, log->end_off, log->path, err));
    return read_healed(log, r, err);
}

/* Prepare the file for writing: nothing follows the last record, and everything before is on disk. */
static int begin_writing(struct sto_reclog *log, uint64_t size, struct ts_error *err)
{
    if (size > log->end_off) {
        ts_log(TS_LOG_WARN, "torn tail cut file=%s offset=%llu bytes=%llu", log->path,
               (unsigned long long)log->end_off, (unsigned long long)(size - log->end_off));
        TS_TRY(log->fs->truncate(log->file, log->end_off, err));
    }
    if (log->healed.n) {
        TS_TRY(log->fs->append(log->file, log->healed.p, log->healed.n, err));
        log->end_off += log->healed.n;
        ts_buf_release(&log->healed);
    }
    TS_TRY(log->fs->sync(log->file, err));
    log->synced_off = log->end_off;
    return 0;
}

struct sto_reclog *sto_reclog__new(const struct ts_fs *fs, const char *path, const char kind[4])
{
    struct sto_reclog *log = ts_xcalloc(1, sizeof(*log));
    log->fs = fs;
    log->path = ts_xstrdup(path);
    memcpy(log->kind, kind, 4);
    ts_buf_init(&log->buf, 0);
    ts_buf_init(&log->healed, 0);
    return log;
}

int sto_reclog__free(struct sto_reclog *log, struct ts_error *err)
{
    sto_reclog__copy_close(log);
    int rc = log->file ? log->fs->close(log->file, err) : 0;
    ts_buf_release(&log->buf);
    ts_buf_release(&log->healed);
    ts_free(log->path);
    ts_free(log);
    return rc;
}

/* A log that is missing while its copy exists was lost; creating an empty one would conceal that. */
static int no_copy(const struct sto_reclog *log, struct ts_error *err)
{
    char *path = sto_reclog__copy_path(log->path);
    int rc = ts_fs_exists(log->fs, path, NULL);
    ts_free(path);
    if (rc < 1)
        return 0;
    return ts_error_set(err, TS_ECORRUPT, "%s is missing, but its copy is there; run tsd fsck --repair",
                        log->path);
}

/* Open the file; if it is missing and writing is allowed, create an empty one, which is complete from the
 * start. */
static int open_file(struct sto_reclog *log, struct ts_error *err)
{
    struct ts_file *probe;
    int rc = log->fs->open(log->fs, log->path, TS_OPEN_READ, &probe, err);
    if (log->read_only || (rc < 0 && rc != TS_ENOTFOUND)) {
        log->file = probe;
        return rc;
    }
    if (rc == TS_ENOTFOUND) {
        uint8_t header[STO_RECLOG_HEADER_BYTES];
        TS_TRY(no_copy(log, err));
        sto_reclog__header_make(header, log->kind);
        TS_TRY(ts_fs_write_atomic(log->fs, log->path, header, sizeof(header), err));
    } else {
        TS_TRY(log->fs->close(probe, err));
    }
    return log->fs->open(log->fs, log->path, TS_OPEN_APPEND, &log->file, err);
}

int sto_reclog_open(const struct ts_fs *fs, const char *path, const char kind[4], bool read_only,
                    sto_reclog_fn each, void *arg, struct sto_reclog **out_log, struct ts_error *err)
{
    *out_log = NULL;
    struct sto_reclog *log = sto_reclog__new(fs, path, kind);
    log->read_only = read_only;
    struct window w = {.fs = fs};
    struct reader reader = {log->path, each, arg};
    int rc = open_file(log, err);
    if (rc < 0)
        goto fail;
    w.file = log->file;
    rc = fs->size(log->file, &w.size, err);
    if (rc < 0)
        goto fail;
    rc = read_all(log, &w, &reader, err);
    if (rc < 0)
        goto fail;
    if (!read_only) {
        rc = begin_writing(log, w.size, err);
        if (rc < 0)
            goto fail;
    }
    ts_free(w.p);
    *out_log = log;
    return 0;
fail:
    ts_free(w.p);
    (void)sto_reclog__free(log, NULL); /* the first error is reported */
    return rc;
}

void sto_reclog_abandon(struct sto_reclog *log)
{
    if (log)
        (void)sto_reclog__free(log, NULL);
}

int sto_reclog_close(struct sto_reclog *log, struct ts_error *err)
{
    if (!log)
        return 0;
    int rc = log->broken ? 0 : sto_reclog_flush(log, false, err);
    int rc_close = sto_reclog__free(log, rc < 0 ? NULL : err);
    return rc < 0 ? rc : rc_close;
}

int sto_reclog_add(struct sto_reclog *log, struct ts_slice body, struct ts_error *err)
{
    if (body.n > STO_RECLOG_MAX_RECORD_BYTES)
        return ts_error_set(err, TS_ELIMIT, "%s: a record of %zu bytes is larger than %u", log->path, body.n,
                            STO_RECLOG_MAX_RECORD_BYTES);
    if (body.n == 0 || log->read_only)
        return ts_error_set(err, TS_EINVAL, "%s: %s", log->path,
                            body.n ? "opened read-only" : "empty record");
    uint8_t *p = (uint8_t *)ts_buf_reserve(&log->buf, STO_RECLOG_HEAD_BYTES + body.n);
    if (!p) {
        log->buf.failed = false; /* it contains only complete records and stays valid */
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for a record of %zu bytes", log->path, body.n);
    }
    sto_reclog__head_make(p, body, log->synced_off);
    memcpy(p + STO_RECLOG_HEAD_BYTES, body.p, body.n);
    log->buf.n += STO_RECLOG_HEAD_BYTES + body.n;
    return 0;
}

void sto_reclog__break(struct sto_reclog *log, const struct ts_error *why)
{
    if (!log->broken)
        log->why = *why;
    log->broken = true;
}

bool sto_reclog_broken(const struct sto_reclog *log)
{
    return log->broken;
}

int sto_reclog__refuse(const struct sto_reclog *log, struct ts_error *err)
{
    ts_error_set(err, TS_EIO, "%s takes nothing more until tsd is started again, because of: %s", log->path,
                 log->why.text);
    if (err)
        err->sys_errno = log->why.sys_errno;
    return TS_EIO;
}

/* Write the buffer; on error none of it counts as written. */
static int write_buffer(struct sto_reclog *log, struct ts_error *err)
{
    int rc = 0;
    if (log->dirty_end)
        rc = log->fs->truncate(log->file, log->end_off, err);
    if (rc < 0) {
        if (rc != TS_ENOSPC)
            sto_reclog__break(log, err);
        return rc;
    }
    log->dirty_end = false;
    rc = log->fs->append(log->file, log->buf.p, log->buf.n, err);
    if (rc < 0) {
        if (rc != TS_ENOSPC)
            sto_reclog__break(log, err);
        log->dirty_end = log->fs->truncate(log->file, log->end_off, NULL) < 0;
        return rc;
    }
    log->end_off += log->buf.n;
    return 0;
}

/* Write the buffer and sync if requested; err is not NULL. */
static int flush(struct sto_reclog *log, bool sync, struct ts_error *err)
{
    size_t n = log->buf.n;
    int rc = 0;
    if (n)
        TS_TRY(write_buffer(log, err));
    if (sync && log->synced_off < log->end_off) {
        rc = log->fs->sync(log->file, err);
        if (rc < 0) { /* the kernel may have dropped the pages: another sync would succeed wrongly */
            sto_reclog__break(log, err);
            sto_reclog__copy_cut(log);
        } else {
            log->synced_off = log->end_off;
        }
    }
    if (rc == 0 && log->copy.wanted)
        sto_reclog__copy_append(log, log->buf.p, n);
    if (n)
        ts_buf_clear(&log->buf);
    return rc;
}

int sto_reclog_flush(struct sto_reclog *log, bool sync, struct ts_error *err)
{
    struct ts_error why = {0};
    if (log->read_only)
        return 0;
    if (log->broken)
        return sto_reclog__refuse(log, err);
    int rc = flush(log, sync, &why);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

uint64_t sto_reclog_bytes(const struct sto_reclog *log)
{
    return log->end_off + log->buf.n;
}
