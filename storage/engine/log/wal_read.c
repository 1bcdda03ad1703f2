/*
 * wal_read.c - write-ahead log, the reading half: replay with the rule for torn tails, drop.
 *
 * After a power cut, any subset of a file's pages may have been written. So the first bad record ends a
 * segment. Whether that is a torn tail (cut it) or damage (refuse) depends on what is known to have been on
 * disk: everything below the highest mark found anywhere in the segment, and below the length that the header
 * of the following segment states, if that segment has a mark. A following segment without a mark was begun
 * before this one was synced: after a torn tail neither it nor those after it count.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    one; no writer at work in these segments
 * Invariant  ops receive a prefix of what was written to a segment
 */
#include "storage/engine/log/wal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/log/wal_format.h"

#define WINDOW_BYTES (1u << 20)
#define OUT_POINTS   4096u
#define MARK_BYTES   (STO_WAL_RECORD_HEAD_BYTES + STO_WAL_MARK_BODY_BYTES)

/* A segment found in the folder. */
struct found {
    struct sto_wal_head head; /* name: the file's name; the rest is set if head_rc is 0 */
    int head_rc;              /* 0; TS_ENOTFOUND: too short or damaged header */
    uint64_t size_bytes;      /* length of the file */
    uint64_t known_bytes;     /* length stated by the segment that follows; 0 = not known */
    struct found *next;       /* the following segment, which states it */
    bool is_beyond;           /* the end of a segment before it was never on disk: nothing of it counts */
};

/* The segments found in the folder. */
struct list {
    struct found *v;
    size_t n, cap;
};

/* State of a replay. */
struct replay {
    const struct ts_fs *fs;
    const char *dir;
    bool read_only;
    const struct sto_wal_replay_ops *ops;
    void *arg;
    struct sto_wal_replay_result *out;

    /* the open segment */
    struct found *seg;
    char path[PATH_MAX];
    struct ts_file *file;
    uint32_t salt;
    uint64_t limit;    /* end of the bytes that are examined */
    uint64_t mark_off; /* highest mark seen */
    bool any_mark;     /* find_marks has found one */

    /* a window of its bytes */
    uint8_t *win;
    uint64_t win_off;
    size_t win_n, win_cap;

    /* handles by number in the segment; NULL = points are skipped */
    const struct sto_series **series;
    uint32_t n_series, series_cap;
    struct sto_wal_def def; /* the definition being read; large, so not on the stack */
    struct sto_point points[OUT_POINTS];
};

/* --- the folder --- */

static int add_name(void *arg, const char *text)
{
    struct list *l = arg;
    struct sto_wal_name name;
    if (!sto_wal__name_parse(text, &name))
        return 0;
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->v = ts_xrealloc(l->v, l->cap * sizeof(*l->v));
    }
    l->v[l->n++] = (struct found){.head.name = name};
    return 0;
}

static int by_age(const void *a, const void *b)
{
    return sto_wal__name_cmp(&((const struct found *)a)->head.name, &((const struct found *)b)->head.name);
}

/* List the segments of the folder, oldest first. A missing folder has none. */
static int list_segments(const struct ts_fs *fs, const char *dir, struct list *out, struct ts_error *err)
{
    if (strlen(dir) + 1 + STO_WAL_NAME_BYTES > PATH_MAX)
        return ts_error_set(err, TS_EINVAL, "path too long: %s", dir);
    int rc = fs->list(fs, dir, add_name, out, err);
    if (rc == TS_ENOTFOUND) {
        if (err)
            *err = (struct ts_error){0};
        rc = 0;
    }
    if (out->n)
        qsort(out->v, out->n, sizeof(*out->v), by_age);
    return rc;
}

static void segment_path(const char *dir, const struct sto_wal_name *name, char *out)
{
    char text[STO_WAL_NAME_BYTES];
    sto_wal__name_print(name, text);
    snprintf(out, PATH_MAX, "%s/%s", dir, text);
}

/* Unlink segments of generations <= gen. The folder is not synced: a segment that reappears is deleted by
 * the next start. */
static int drop_segments(const struct ts_fs *fs, const char *dir, const struct list *l, uint64_t gen,
                         struct ts_error *err)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].head.name.gen > gen)
            continue;
        segment_path(dir, &l->v[i].head.name, path);
        int rc = fs->unlink(fs, path, err);
        if (rc < 0 && rc != TS_ENOTFOUND)
            return rc;
    }
    return 0;
}

int sto_wal_drop(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err)
{
    struct list l = {0};
    int rc = list_segments(fs, dir, &l, err);
    if (rc == 0)
        rc = drop_segments(fs, dir, &l, gen, err);
    ts_free(l.v);
    return rc;
}

int sto_wal_has_gen(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err)
{
    struct list l = {0};
    int rc = list_segments(fs, dir, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        rc = l.v[i].head.name.gen == gen;
    ts_free(l.v);
    return rc;
}

/* Read a segment's header and size. A header that is short or damaged is not an error yet. */
static int read_head(const struct ts_fs *fs, const char *dir, struct found *f, struct ts_error *err)
{
    char path[PATH_MAX];
    uint8_t bytes[STO_WAL_HEADER_BYTES];
    struct sto_wal_head head;
    struct ts_file *file;
    size_t n = 0;
    segment_path(dir, &f->head.name, path);
    TS_TRY(fs->open(fs, path, TS_OPEN_READ, &file, err));
    int rc = fs->size(file, &f->size_bytes, err);
    if (rc == 0)
        rc = fs->pread(file, bytes, sizeof(bytes), 0, &n, err);
    fs->close(file, NULL);
    if (rc < 0)
        return rc;
    f->head_rc = TS_ENOTFOUND;
    if (n < sizeof(bytes)) /* a short read must not be taken for a short file */
        return n == f->size_bytes ? 0 : ts_error_set(err, TS_EIO, "%s: short read of the header", path);
    rc = sto_wal__head_get(bytes, &head);
    if (rc == TS_EVERSION)
        return ts_error_set(err, rc, "%s has format version %u; this program reads version %u", path,
                            ts_ld32(bytes + 8), STO_WAL_VERSION);
    if (rc < 0)
        return 0;
    if (by_age(&(struct found){.head = head}, f) != 0)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s is a segment of another name (its header says run %u, worker %u, segment %u)",
                            path, head.name.run, head.name.worker, head.name.segment);
    f->head = head;
    f->head_rc = 0;
    return 0;
}

/* Check what a segment's header says of the previous one: it must exist and have the stated length. */
static int check_chain(const struct replay *r, const struct list *l, struct found *f, uint64_t flushed_gen,
                       struct ts_error *err)
{
    if (f->head_rc < 0 || f->head.prev_segment == STO_WAL_NO_SEGMENT || f->head.prev_gen <= flushed_gen)
        return 0;
    struct found want = {.head.name = f->head.name};
    want.head.name.gen = f->head.prev_gen;
    want.head.name.segment = f->head.prev_segment;
    char path[PATH_MAX];
    segment_path(r->dir, &want.head.name, path);
    struct found *prev = bsearch(&want, l->v, l->n, sizeof(*l->v), by_age);
    if (!prev)
        return ts_error_set(err, TS_ECORRUPT, "%s is missing (it had %" PRIu64 " bytes)", path,
                            f->head.prev_bytes);
    if (f->head.before_on_disk && prev->size_bytes < f->head.prev_bytes)
        return ts_error_set(err, TS_ECORRUPT, "%s ends at offset %" PRIu64 ", it had %" PRIu64 " bytes", path,
                            prev->size_bytes, f->head.prev_bytes);
    prev->known_bytes = f->head.prev_bytes;
    prev->next = f;
    return 0;
}

/* --- one segment --- */

/* Read the bytes [off, off + n) of the segment; *out_n < n only at its limit. Borrowed until the next
 * call. */
static int look(struct replay *r, uint64_t off, size_t n, const uint8_t **out, size_t *out_n,
                struct ts_error *err)
{
    if (n > r->limit - off)
        n = (size_t)(r->limit - off);
    if (off < r->win_off || off + n > r->win_off + r->win_n) {
        size_t want = n > WINDOW_BYTES ? n : WINDOW_BYTES;
        if (want > r->win_cap) {
            uint8_t *p = ts_try_realloc(r->win, want);
            if (!p)
                return ts_error_set(err, TS_ENOMEM, "no memory for a record of %zu bytes in %s", n, r->path);
            r->win = p;
            r->win_cap = want;
        }
        r->win_n = 0;
        r->win_off = off;
        TS_TRY(r->fs->pread(r->file, r->win, want, off, &r->win_n, err));
        if (r->win_n < n)
            return ts_error_set(err, TS_EIO, "%s: short read at offset %" PRIu64, r->path, off + r->win_n);
    }
    *out = r->win + (off - r->win_off);
    *out_n = n;
    return 0;
}

/* Read the record at off: *out_n is the length of its body, or 0 if there is no valid record. */
static int look_record(struct replay *r, uint64_t off, const uint8_t **out_body, size_t *out_n,
                       struct ts_error *err)
{
    const uint8_t *p;
    size_t n;
    *out_n = 0;
    TS_TRY(look(r, off, STO_WAL_RECORD_HEAD_BYTES, &p, &n, err));
    if (n < STO_WAL_RECORD_HEAD_BYTES)
        return 0;
    size_t n_body = ts_ld32(p);
    if (n_body == 0 || n_body > STO_WAL_MAX_RECORD_BYTES ||
        n_body > r->limit - off - STO_WAL_RECORD_HEAD_BYTES)
        return 0;
    TS_TRY(look(r, off, STO_WAL_RECORD_HEAD_BYTES + n_body, &p, &n, err));
    const uint8_t *body = p + STO_WAL_RECORD_HEAD_BYTES;
    if (sto_wal__record_crc(r->salt, p, body, n_body) != ts_ld32(p + 4))
        return 0;
    *out_body = body;
    *out_n = n_body;
    return 0;
}

/* Find marks after a bad record: record lengths cannot be trusted there, so every offset is tried. */
static int find_marks(struct replay *r, uint64_t off, struct ts_error *err)
{
    while (off + MARK_BYTES <= r->limit) {
        const uint8_t *p;
        size_t n;
        size_t want = r->limit - off < WINDOW_BYTES ? (size_t)(r->limit - off) : WINDOW_BYTES;
        TS_TRY(look(r, off, want, &p, &n, err));
        for (size_t i = 0; i + MARK_BYTES <= n; i++) {
            uint64_t mark;
            if (p[i] != STO_WAL_MARK_BODY_BYTES || !sto_wal__mark_get(p + i, r->salt, &mark) ||
                mark > off + i)
                continue;
            r->any_mark = true;
            if (mark > r->mark_off)
                r->mark_off = mark;
        }
        off += n - MARK_BYTES + 1;
    }
    return 0;
}

/* Report a record with a valid checksum and invalid contents: this is not a torn write. */
static int nonsense(const struct replay *r, uint64_t off, const char *what, struct ts_error *err)
{
    return ts_error_set(err, TS_ECORRUPT, "%s: record at offset %" PRIu64 " %s", r->path, off, what);
}

/* The handle of the definition just read. NULL: its points are skipped, or *why says what is wrong. */
static const struct sto_series *handle_of(const struct replay *r, struct ts_error *why)
{
    const struct sto_wal_def *d = &r->def;
    if (!d->known)
        return r->ops->series(r->arg, d->id, d->metric, d->tags, d->n_tags, d->text, d->metric_len, why);
    if (r->ops->known)
        return r->ops->known(r->arg, d->id, why);
    ts_error_set(why, TS_ECORRUPT, "names series %u by its number, and there is no catalog", d->id);
    return NULL;
}

static int take_series(struct replay *r, uint64_t off, enum sto_wal_record type, const uint8_t *p,
                       const uint8_t *end, struct ts_error *err)
{
    uint32_t before = 0;
    while (p < end) {
        if (!(p = sto_wal__def_get(p, end, type, &before, &r->def)))
            return nonsense(r, off, "holds a malformed series definition", err);
        if (r->n_series == r->series_cap) {
            uint32_t cap = r->series_cap ? r->series_cap * 2 : 1024;
            const struct sto_series **v = ts_try_realloc(r->series, cap * sizeof(*v));
            if (!v)
                return ts_error_set(err, TS_ENOMEM, "no memory for %u series in %s", cap, r->path);
            r->series = v;
            r->series_cap = cap;
        }
        struct ts_error why = {0};
        const struct sto_series *s = handle_of(r, &why);
        if (!s && why.code < 0)
            return ts_error_set(err, why.code, "%s: record at offset %" PRIu64 ": %s", r->path, off,
                                why.text);
        r->series[r->n_series++] = s;
    }
    return 0;
}

static int take_points(struct replay *r, uint64_t off, const uint8_t *p, const uint8_t *end,
                       struct ts_error *err)
{
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    while (p < end) {
        size_t n, n_skipped;
        p = sto_wal__points_get(p, end, &ctx, r->series, r->n_series, r->points, OUT_POINTS, &n, &n_skipped);
        if (!p)
            return nonsense(r, off, "holds a malformed operation", err);
        r->out->n_skipped += n_skipped;
        if (n == 0)
            continue;
        TS_TRY(r->ops->points(r->arg, r->seg->head.name.gen, r->points, n, err));
        r->out->n_points += n;
    }
    return 0;
}

static int take_record(struct replay *r, uint64_t off, const uint8_t *body, size_t n_body,
                       struct ts_error *err)
{
    uint64_t mark, number;
    const uint8_t *p;
    switch (body[0]) {
    case STO_WAL_POINTS:
        return take_points(r, off, body + 1, body + n_body, err);
    case STO_WAL_SERIES:
        return take_series(r, off, STO_WAL_SERIES, body + 1, body + n_body, err);
    case STO_WAL_SERIES_FROM:
    case STO_WAL_SERIES_HEADED:
        if (!(p = ts_get_varint(body + 1, body + n_body, &number)) || number != r->n_series)
            return nonsense(r, off, "defines series out of their order", err);
        return take_series(r, off, (enum sto_wal_record)body[0], p, body + n_body, err);
    case STO_WAL_MARK:
        if (!sto_wal__mark_get(body - STO_WAL_RECORD_HEAD_BYTES, r->salt, &mark) || mark > off)
            return nonsense(r, off, "holds a malformed mark", err);
        if (mark > r->mark_off)
            r->mark_off = mark;
        return 0;
    default:
        return ts_error_set(err, TS_EVERSION, "%s: record at offset %" PRIu64 " has unknown type %u", r->path,
                            off, body[0]);
    }
}

/* Make the cut durable: what was behind it must not reappear after the next crash. */
static int cut(const struct replay *r, uint64_t end_off, struct ts_error *err)
{
    struct ts_file *file;
    TS_TRY(r->fs->open(r->fs, r->path, TS_OPEN_APPEND, &file, err));
    int rc = r->fs->truncate(file, end_off, err);
    if (rc == 0)
        rc = r->fs->sync(file, err);
    int close_rc = r->fs->close(file, rc < 0 ? NULL : err);
    return rc < 0 ? rc : close_rc;
}

/* Does a segment have a valid mark anywhere? It need not be the open one. 1, 0, < 0. */
static int has_mark(struct replay *r, const struct found *f, struct ts_error *err)
{
    struct ts_file *file = r->file;
    uint64_t limit = r->limit, mark_off = r->mark_off;
    uint32_t salt = r->salt;
    char path[PATH_MAX];
    segment_path(r->dir, &f->head.name, path);
    TS_TRY(r->fs->open(r->fs, path, TS_OPEN_READ, &r->file, err));
    r->limit = f->size_bytes;
    r->salt = sto_wal__salt(&f->head.name);
    r->win_n = 0;
    r->any_mark = false;
    int rc = find_marks(r, STO_WAL_HEADER_BYTES, err);
    r->fs->close(r->file, NULL);
    r->file = file;
    r->limit = limit;
    r->mark_off = mark_off;
    r->salt = salt;
    r->win_n = 0;
    return rc < 0 ? rc : r->any_mark;
}

/* Was all of the segment on disk, according to the following one? 1, 0, < 0. */
static int is_known(struct replay *r, const struct found *f, struct ts_error *err)
{
    return !f->next ? 0 : f->next->head.before_on_disk ? 1 : has_mark(r, f->next, err);
}

/* Valid records end at off, before the end of the file or of what is known of it: is this a torn tail or
 * damage? */
static int bad_end(struct replay *r, uint64_t off, struct ts_error *err)
{
    struct found *seg = r->seg;
    TS_TRY(find_marks(r, off + 1, err));
    uint64_t safe_off = r->mark_off;
    if (off < seg->known_bytes) {
        int known = is_known(r, seg, err);
        if (known < 0)
            return known;
        if (known && seg->known_bytes > safe_off)
            safe_off = seg->known_bytes;
        seg->next->is_beyond = !known;
    }
    if (off < safe_off)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s: damaged record at offset %" PRIu64 ", below %" PRIu64 " all was on disk",
                            r->path, off, safe_off);
    r->out->n_torn++;
    ts_log(TS_LOG_WARN, "torn tail of the write-ahead log %s file=%s offset=%" PRIu64 " lost_bytes=%" PRIu64,
           r->read_only ? "passed over" : "cut", r->path, off,
           seg->size_bytes > off ? seg->size_bytes - off : 0);
    return r->read_only || off >= seg->size_bytes ? 0 : cut(r, off, err);
}

/* The segments after a torn tail do not count: they were written after bytes that are missing, and
 * replaying them would leave a gap. */
static int leave_out(struct replay *r, struct ts_error *err)
{
    struct found *f = r->seg;
    if (f->next) {
        int known = is_known(r, f, err);
        if (known)
            return known < 0 ? known
                             : ts_error_set(err, TS_ECORRUPT,
                                            "%s follows a torn tail, but all of it was on disk", r->path);
        f->next->is_beyond = true;
    }
    r->out->n_torn++;
    ts_log(TS_LOG_WARN, "segment behind a torn tail of the write-ahead log %s file=%s lost_bytes=%" PRIu64,
           r->read_only ? "passed over" : "cut", r->path, f->size_bytes);
    return r->read_only ? 0 : cut(r, 0, err);
}

/* Replay all records of the open segment. */
static int read_records(struct replay *r, struct ts_error *err)
{
    uint64_t off = STO_WAL_HEADER_BYTES;
    if (r->seg->is_beyond)
        return leave_out(r, err);
    if (r->seg->head_rc < 0)
        return r->limit == 0 && !r->seg->known_bytes ? 0 : bad_end(r, 0, err);
    while (off < r->limit) {
        const uint8_t *body = NULL;
        size_t n_body;
        TS_TRY(look_record(r, off, &body, &n_body, err));
        if (n_body == 0)
            break;
        TS_TRY(take_record(r, off, body, n_body, err));
        off += STO_WAL_RECORD_HEAD_BYTES + n_body;
    }
    r->out->n_bytes += off;
    return off < r->seg->size_bytes || off < r->seg->known_bytes ? bad_end(r, off, err) : 0;
}

static int read_segment(struct replay *r, struct found *f, struct ts_error *err)
{
    r->seg = f;
    r->salt = sto_wal__salt(&f->head.name);
    r->limit = f->known_bytes && f->known_bytes < f->size_bytes
                   ? f->known_bytes
                   : f->size_bytes; /* bytes after a known end are left from an append that failed */
    r->mark_off = 0;
    r->win_n = 0;
    r->n_series = 0;
    segment_path(r->dir, &f->head.name, r->path);
    TS_TRY(r->fs->open(r->fs, r->path, TS_OPEN_READ, &r->file, err));
    int rc = read_records(r, err);
    /* A killed process left these bytes to the kernel: what becomes visible now must survive a power cut. */
    if (rc == 0 && !r->read_only)
        rc = r->fs->sync(r->file, err);
    r->fs->close(r->file, NULL);
    r->file = NULL;
    r->out->n_segments++;
    return rc;
}

static int replay_list(struct replay *r, const struct list *l, uint64_t flushed_gen, struct ts_error *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(read_head(r->fs, r->dir, &l->v[i], err));
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(check_chain(r, l, &l->v[i], flushed_gen, err));
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(read_segment(r, &l->v[i], err));
    return 0;
}

int sto_wal_replay(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                   const struct sto_wal_replay_ops *ops, void *arg, bool read_only,
                   struct sto_wal_replay_result *out, struct ts_error *err)
{
    *out = (struct sto_wal_replay_result){0};
    struct list l = {0};
    int rc = list_segments(fs, dir, &l, err);
    for (size_t i = 0; i < l.n; i++) {
        if (l.v[i].head.name.run > out->max_run)
            out->max_run = l.v[i].head.name.run;
        if (l.v[i].head.name.gen > out->max_gen)
            out->max_gen = l.v[i].head.name.gen;
    }
    if (rc == 0 && !read_only)
        rc = drop_segments(fs, dir, &l, flushed_gen, err);
    if (rc == 0 && l.n) {
        struct replay *r = ts_xcalloc(1, sizeof(*r));
        r->fs = fs;
        r->dir = dir;
        r->read_only = read_only;
        r->ops = ops;
        r->arg = arg;
        r->out = out;
        rc = replay_list(r, &l, flushed_gen, err);
        ts_free(r->win);
        ts_free(r->series);
        ts_free(r);
    }
    ts_free(l.v);
    return rc;
}
