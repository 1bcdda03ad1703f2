/*
 * wal_read.c - replay of a write-ahead log, with the rule for torn tails; removal of its segments.
 *
 * After a power cut, any subset of a file's pages may have been written. So the first bad record ends a
 * segment. Whether that is a torn tail (cut it) or damage (refuse) depends on what is known to have been on
 * disk: everything below the highest mark found anywhere in the segment, and below the length that the header
 * of the following segment states, if that segment has a mark. A following segment without a mark was begun
 * before this one was synced: after a torn tail neither it nor any later one is used.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    one; no writer at work in these segments
 * Not here   a log that replay refuses (wal_salvage.c)
 * Invariant  ops receive a prefix of what was written to a segment
 */
#include "storage/engine/log/wal_read_int.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"

/* State of a replay. */
struct replay {
    struct sto_wal__reader reader;
    bool read_only;
    struct sto_wal_replay_result *out;
};

/* Unlink segments of generations <= gen. The folder is not synced: a segment that reappears is deleted by
 * the next start. */
static int drop_segments(const struct ts_fs *fs, const char *dir, const struct sto_wal__list *l, uint64_t gen,
                         struct ts_error *err)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].head.name.gen > gen)
            continue;
        sto_wal__path(dir, &l->v[i].head.name, path);
        int rc = fs->unlink(fs, path, err);
        if (rc < 0 && rc != TS_ENOTFOUND)
            return rc;
    }
    return 0;
}

int sto_wal_drop(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err)
{
    struct sto_wal__list l = {0};
    int rc = sto_wal__list_read(fs, dir, &l, err);
    if (rc == 0)
        rc = drop_segments(fs, dir, &l, gen, err);
    ts_free(l.v);
    return rc;
}

int sto_wal_has_gen(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err)
{
    struct sto_wal__list l = {0};
    int rc = sto_wal__list_read(fs, dir, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        rc = l.v[i].head.name.gen == gen;
    ts_free(l.v);
    return rc;
}

/* Check what a segment's header says of the previous one: it must exist and have the stated length. */
static int check_chain(const struct replay *rp, const struct sto_wal__list *l, struct sto_wal__found *f,
                       uint64_t flushed_gen, struct ts_error *err)
{
    struct sto_wal_name name;
    struct sto_wal__found *prev;
    char path[PATH_MAX];
    if (!sto_wal__prev(l, f, flushed_gen, &name, &prev))
        return 0;
    sto_wal__path(rp->reader.dir, &name, path);
    if (!prev)
        return ts_error_set(err, TS_ECORRUPT, "%s is missing (it had %" PRIu64 " bytes)", path,
                            f->head.prev_bytes);
    if (f->head.before_on_disk && prev->size_bytes < f->head.prev_bytes)
        return ts_error_set(err, TS_ECORRUPT, "%s ends at offset %" PRIu64 ", it had %" PRIu64 " bytes", path,
                            prev->size_bytes, f->head.prev_bytes);
    return 0;
}

/* Truncate the segment and sync it: the bytes removed must not reappear after the next crash. */
static int cut(const struct sto_wal__reader *r, uint64_t end_off, struct ts_error *err)
{
    struct ts_file *file;
    TS_TRY(r->fs->open(r->fs, r->path, TS_OPEN_APPEND, &file, err));
    int rc = r->fs->truncate(file, end_off, err);
    if (rc == 0)
        rc = r->fs->sync(file, err);
    int close_rc = r->fs->close(file, rc < 0 ? NULL : err);
    return rc < 0 ? rc : close_rc;
}

/* Valid records end at off, before the end of the file or the length that is known: is this a torn tail or
 * damage? */
static int bad_end(struct replay *rp, uint64_t off, struct ts_error *err)
{
    struct sto_wal__reader *r = &rp->reader;
    struct sto_wal__found *seg = r->seg;
    TS_TRY(sto_wal__find_marks(r, off + 1, err));
    uint64_t safe_off = r->mark_off;
    if (off < seg->known_bytes) {
        int known = sto_wal__is_known(r, seg, err);
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
    rp->out->n_torn++;
    ts_log(TS_LOG_WARN, "torn tail of the write-ahead log %s file=%s offset=%" PRIu64 " lost_bytes=%" PRIu64,
           rp->read_only ? "passed over" : "cut", r->path, off,
           seg->size_bytes > off ? seg->size_bytes - off : 0);
    return rp->read_only || off >= seg->size_bytes ? 0 : cut(r, off, err);
}

/* Leave out the segments after a torn tail: they were written after bytes that are missing, so replaying them
 * would leave a gap. */
static int leave_out(struct replay *rp, struct ts_error *err)
{
    struct sto_wal__reader *r = &rp->reader;
    struct sto_wal__found *f = r->seg;
    if (f->next) {
        int known = sto_wal__is_known(r, f, err);
        if (known)
            return known < 0 ? known
                             : ts_error_set(err, TS_ECORRUPT,
                                            "%s follows a torn tail, but all of it was on disk", r->path);
        f->next->is_beyond = true;
    }
    rp->out->n_torn++;
    ts_log(TS_LOG_WARN, "segment after a torn tail of the write-ahead log %s file=%s lost_bytes=%" PRIu64,
           rp->read_only ? "passed over" : "cut", r->path, f->size_bytes);
    return rp->read_only ? 0 : cut(r, 0, err);
}

/* Replay all records of the open segment. */
static int read_records(struct replay *rp, struct ts_error *err)
{
    struct sto_wal__reader *r = &rp->reader;
    uint64_t off = STO_WAL_HEADER_BYTES;
    if (r->seg->is_beyond)
        return leave_out(rp, err);
    if (r->seg->head_rc < 0)
        return r->limit == 0 && !r->seg->known_bytes ? 0 : bad_end(rp, 0, err);
    while (off < r->limit) {
        const uint8_t *body = NULL;
        size_t n_body;
        TS_TRY(sto_wal__record(r, off, &body, &n_body, err));
        if (n_body == 0)
            break;
        TS_TRY(sto_wal__take(r, off, body, n_body, err));
        off += STO_WAL_RECORD_HEAD_BYTES + n_body;
    }
    rp->out->n_bytes += off;
    return off < r->seg->size_bytes || off < r->seg->known_bytes ? bad_end(rp, off, err) : 0;
}

static int read_segment(struct replay *rp, struct sto_wal__found *f, struct ts_error *err)
{
    struct sto_wal__reader *r = &rp->reader;
    TS_TRY(sto_wal__open(r, f, err));
    int rc = read_records(rp, err);
    /* After a process was killed, these bytes may be only in the kernel's cache. They become visible now, so
     * they must survive a power cut. */
    if (rc == 0 && !rp->read_only)
        rc = r->fs->sync(r->file, err);
    sto_wal__close(r);
    rp->out->n_segments++;
    return rc;
}

static int replay_list(struct replay *rp, const struct sto_wal__list *l, uint64_t flushed_gen,
                       struct ts_error *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(sto_wal__head_read(rp->reader.fs, rp->reader.dir, &l->v[i], err));
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(check_chain(rp, l, &l->v[i], flushed_gen, err));
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].head.name.gen > flushed_gen)
            TS_TRY(read_segment(rp, &l->v[i], err));
    return 0;
}

int sto_wal_replay(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                   const struct sto_wal_replay_ops *ops, void *arg, bool read_only,
                   struct sto_wal_replay_result *out, struct ts_error *err)
{
    *out = (struct sto_wal_replay_result){0};
    struct sto_wal__list l = {0};
    int rc = sto_wal__list_read(fs, dir, &l, err);
    out->max_run = l.max_run;
    out->max_gen = l.max_gen;
    if (rc == 0 && !read_only)
        rc = drop_segments(fs, dir, &l, flushed_gen, err);
    if (rc == 0 && l.n) {
        struct replay *rp = ts_xcalloc(1, sizeof(*rp));
        *rp = (struct replay){
            .reader = {.fs = fs, .dir = dir, .ops = ops, .arg = arg}, .read_only = read_only, .out = out};
        rc = replay_list(rp, &l, flushed_gen, err);
        out->n_points = rp->reader.n_points;
        out->n_skipped = rp->reader.n_skipped;
        sto_wal__reader_release(&rp->reader);
        ts_free(rp);
    }
    ts_free(l.v);
    return rc;
}
