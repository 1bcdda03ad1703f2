/*
 * wal.c - write-ahead log, the writing half: append, rotate, sync.
 *
 * Two descriptors a segment: the owner writes through one, the sync thread syncs through the other, so that
 * the kernel reports a failed write-back to each of them.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    the owner has everything but the members under lock; sync threads reference the open segment
 * Invariant  a segment is on disk, whole, before the next one is made; end_off is the end of a good record
 * Not here   replay (wal_read.c), bytes (wal_format.c)
 */
#include "storage/engine/wal.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/wal_format.h"

#define CHUNK_POINTS 1024u /* series of these are looked up together, before they are encoded */

/* An open segment as sync threads see it. */
struct seg {
    struct ts_file *file; /* for sync alone */
    unsigned refs;        /* under wal->lock: the log's and those of sync threads at work */
};

struct sto_wal {
    const struct ts_fs *fs;
    char *dir;                      /* owned */
    struct sto_wal_name name;       /* of the open segment, or of the last one */
    uint64_t segment_bytes;         /* rotate above */
    uint32_t (*n_known)(void *arg); /* series with lower ids are in the catalog, on disk; NULL = none */
    void *known_arg;

    /* owner only: the open segment */
    struct ts_file *file;  /* NULL = none open */
    uint64_t base;         /* position (as in written) of its first byte */
    uint64_t end_off;      /* its good length */
    uint64_t marked_off;   /* what its last mark says */
    uint64_t mark_off;     /* the same, after the write being made */
    uint32_t salt;         /* of its records */
    uint32_t next_segment; /* number of the one after */
    uint32_t prev_segment; /* last segment that holds records, before the open one */
    uint64_t prev_gen;     /* its generation */
    uint64_t prev_bytes;   /* its length */

    /* owner only: numbers of series in the open segment */
    uint32_t *number_of; /* by series id: number + 1, 0 = not defined yet */
    size_t ids_cap;      /* room in number_of */
    uint32_t *ids;       /* by number: series id */
    uint32_t n_ids;      /* numbers given out */
    size_t numbers_cap;  /* room in ids */

    /* owner only: the write being made */
    uint8_t *buf;                   /* bytes */
    size_t buf_n, buf_cap;          /* used, room */
    uint32_t numbers[CHUNK_POINTS]; /* of the chunk's points */

    pthread_mutex_t lock;     /* not held across I/O */
    pthread_cond_t sync_done; /* a sync has ended */
    struct seg *seg;          /* under lock: the open segment, NULL = none */
    bool syncing;             /* under lock: a thread is in fdatasync */

    _Atomic uint64_t written; /* owner adds; release after the write(2), acquire in sync */
    _Atomic uint64_t synced;  /* changed under lock; only grows */
    _Atomic bool broken;      /* never cleared; changed under lock */
    struct ts_error why;      /* the error that broke it; written once, under lock, before broken */
};

/* What a broken log answers. */
static int refuse(const struct sto_wal *wal, struct ts_error *err)
{
    (void)sto_wal_broken(wal); /* acquire: why is there */
    ts_error_set(err, TS_EIO,
                 "the write-ahead log of worker %u is broken until tsd is started again, because of: %s",
                 wal->name.worker, wal->why.text);
    if (err)
        err->sys_errno = wal->why.sys_errno;
    return TS_EIO;
}

/* From now on nothing is accepted; returns TS_EIO with the text that is in err. lock not held. */
static int break_log(struct sto_wal *wal, struct ts_error *err)
{
    if (err)
        err->code = TS_EIO;
    pthread_mutex_lock(&wal->lock);
    bool first = !atomic_load_explicit(&wal->broken, memory_order_relaxed);
    if (first && err)
        wal->why = *err;
    else if (first)
        ts_error_set(&wal->why, TS_EIO, "%s: input/output error", wal->dir);
    atomic_store_explicit(&wal->broken, true, memory_order_release); /* pairs with refuse */
    pthread_mutex_unlock(&wal->lock);
    if (first)
        ts_log(TS_LOG_ERROR, "write-ahead log broken worker=%u error=\"%s\"", wal->name.worker,
               wal->why.text);
    return TS_EIO;
}

int sto_wal_new(const struct ts_fs *fs, const char *dir, uint32_t run, uint32_t worker, uint64_t gen,
                struct sto_wal **out_wal, struct ts_error *err)
{
    *out_wal = NULL;
    if (strlen(dir) + 1 + STO_WAL_NAME_BYTES > PATH_MAX)
        return ts_error_set(err, TS_EINVAL, "path too long: %s", dir);
    struct sto_wal *wal = ts_xcalloc(1, sizeof(*wal));
    wal->fs = fs;
    wal->dir = ts_xstrdup(dir);
    wal->name = (struct sto_wal_name){.run = run, .worker = worker, .gen = gen};
    wal->segment_bytes = STO_WAL_SEGMENT_BYTES;
    wal->prev_segment = STO_WAL_NO_SEGMENT;
    pthread_mutex_init(&wal->lock, NULL);
    pthread_cond_init(&wal->sync_done, NULL);
    *out_wal = wal;
    return 0;
}

void sto_wal_set_segment_bytes(struct sto_wal *wal, uint64_t n_bytes)
{
    wal->segment_bytes = n_bytes ? n_bytes : STO_WAL_SEGMENT_BYTES;
}

void sto_wal_set_known(struct sto_wal *wal, uint32_t (*n_known)(void *arg), void *arg)
{
    wal->n_known = n_known;
    wal->known_arg = arg;
}

static void segment_path(const struct sto_wal *wal, char *out)
{
    char name[STO_WAL_NAME_BYTES];
    sto_wal__name_print(&wal->name, name);
    snprintf(out, PATH_MAX, "%s/%s", wal->dir, name);
}

/* Give a reference back; the last one closes. */
static void seg_unref(struct sto_wal *wal, struct seg *seg)
{
    pthread_mutex_lock(&wal->lock);
    bool last = --seg->refs == 0;
    pthread_mutex_unlock(&wal->lock);
    if (!last)
        return;
    wal->fs->close(seg->file, NULL); /* nothing was written through it */
    ts_free(seg);
}

/* --- segments --- */

/* Forget the numbers given out from number `from` on. */
static void numbers_forget(struct sto_wal *wal, uint32_t from)
{
    for (uint32_t k = from; k < wal->n_ids; k++)
        wal->number_of[wal->ids[k]] = 0;
    wal->n_ids = from;
}

/* The open segment is over: on disk, then closed. An empty one is deleted. */
static int close_segment(struct sto_wal *wal, struct ts_error *err)
{
    const struct ts_fs *fs = wal->fs;
    if (!wal->file)
        return 0;
    if (wal->end_off > 0 && fs->sync(wal->file, err) < 0)
        return break_log(wal, err);
    pthread_mutex_lock(&wal->lock);
    struct seg *seg = wal->seg;
    wal->seg = NULL;
    atomic_store_explicit(&wal->synced, atomic_load_explicit(&wal->written, memory_order_relaxed),
                          memory_order_release);
    pthread_mutex_unlock(&wal->lock);
    seg_unref(wal, seg);
    int rc = fs->close(wal->file, err);
    wal->file = NULL;
    if (rc < 0)
        return break_log(wal, err);
    numbers_forget(wal, 0);
    if (wal->end_off > 0) {
        wal->prev_segment = wal->name.segment;
        wal->prev_gen = wal->name.gen;
        wal->prev_bytes = wal->end_off;
    } else {
        char path[PATH_MAX];
        segment_path(wal, path);
        fs->unlink(fs, path, NULL); /* an empty segment does no harm */
    }
    return 0;
}

/* Create the next segment and make its name last; its header goes with the first records. */
static int open_segment(struct sto_wal *wal, struct ts_error *err)
{
    const struct ts_fs *fs = wal->fs;
    if (wal->next_segment == STO_WAL_NO_SEGMENT)
        return ts_error_set(err, TS_ELIMIT, "no segment numbers left in %s; restart", wal->dir);
    char path[PATH_MAX];
    struct ts_file *sync_file = NULL;
    wal->name.segment = wal->next_segment++; /* also after an error: the name may be taken */
    segment_path(wal, path);
    int rc = fs->open(fs, path, TS_OPEN_CREATE, &wal->file, err);
    if (rc == 0)
        rc = fs->open(fs, path, TS_OPEN_READ, &sync_file, err);
    if (rc == 0)
        rc = fs->sync_dir(fs, wal->dir, err);
    if (rc < 0) {
        fs->close(sync_file, NULL);
        if (wal->file) {
            fs->close(wal->file, NULL);
            fs->unlink(fs, path, NULL);
        }
        wal->file = NULL;
        return rc == TS_ENOSPC || rc == TS_EMFILE ? rc : break_log(wal, err);
    }
    wal->salt = sto_wal__salt(&wal->name);
    wal->end_off = 0;
    wal->marked_off = 0;
    wal->base = atomic_load_explicit(&wal->written, memory_order_relaxed);
    struct seg *seg = ts_xcalloc(1, sizeof(*seg));
    seg->file = sync_file;
    seg->refs = 1;
    pthread_mutex_lock(&wal->lock);
    wal->seg = seg;
    pthread_mutex_unlock(&wal->lock);
    return 0;
}

int sto_wal_set_gen(struct sto_wal *wal, uint64_t gen, struct ts_error *err)
{
    if (gen < wal->name.gen)
        TS_BUG("generation goes back from %llu to %llu", (unsigned long long)wal->name.gen,
               (unsigned long long)gen);
    if (atomic_load_explicit(&wal->broken, memory_order_relaxed))
        return refuse(wal, err);
    if (gen == wal->name.gen)
        return 0;
    TS_TRY(close_segment(wal, err));
    wal->name.gen = gen;
    return 0;
}

/* --- making the bytes of an append --- */

/* Room for n more bytes; NULL when memory is gone. */
static uint8_t *reserve(struct sto_wal *wal, size_t n)
{
    if (wal->buf_cap - wal->buf_n < n) {
        size_t cap = wal->buf_cap ? wal->buf_cap * 2 : 2 * STO_WAL_RECORD_BYTES;
        while (cap - wal->buf_n < n)
            cap *= 2;
        uint8_t *p = ts_try_realloc(wal->buf, cap);
        if (!p)
            return NULL;
        wal->buf = p;
        wal->buf_cap = cap;
    }
    return wal->buf + wal->buf_n;
}

static int no_memory(const struct sto_wal *wal, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOMEM, "no memory for an append of %zu bytes to the write-ahead log",
                        wal->buf_n);
}

/* The next number for a series seen for the first time in this segment. */
static int give_number(struct sto_wal *wal, uint32_t id, struct ts_error *err)
{
    if (id >= wal->ids_cap) {
        size_t cap = wal->ids_cap ? wal->ids_cap : 1024;
        while (cap <= id)
            cap *= 2;
        uint32_t *p = ts_try_realloc(wal->number_of, cap * sizeof(*p));
        if (!p)
            return no_memory(wal, err);
        memset(p + wal->ids_cap, 0, (cap - wal->ids_cap) * sizeof(*p));
        wal->number_of = p;
        wal->ids_cap = cap;
    }
    if (wal->n_ids == wal->numbers_cap) {
        size_t cap = wal->numbers_cap ? wal->numbers_cap * 2 : 1024;
        uint32_t *p = ts_try_realloc(wal->ids, cap * sizeof(*p));
        if (!p)
            return no_memory(wal, err);
        wal->ids = p;
        wal->numbers_cap = cap;
    }
    wal->ids[wal->n_ids++] = id;
    wal->number_of[id] = wal->n_ids;
    return 0;
}

/* A record of definitions while it is made. */
struct defs {
    size_t off;      /* where it begins; SIZE_MAX: none is open */
    uint32_t before; /* id of its last definition */
};

/* Add a definition to the open record, or to a new one when there is none or it is full. */
static int add_definition(struct sto_wal *wal, const struct sto_series *s, struct defs *rec,
                          struct ts_error *err)
{
    bool known = wal->n_known && s->id < wal->n_known(wal->known_arg);
    size_t bound = sto_wal__def_bound(s, known);
    if (bound + 1 + TS_VARINT_MAX_BYTES > STO_WAL_MAX_RECORD_BYTES)
        return ts_error_set(err, TS_ELIMIT, "series text of %u bytes is too long for the write-ahead log",
                            s->text_len);
    uint8_t *p = reserve(wal, STO_WAL_RECORD_HEAD_BYTES + 1 + TS_VARINT_MAX_BYTES + bound);
    if (!p)
        return no_memory(wal, err);
    TS_TRY(give_number(wal, s->id, err));
    if (rec->off != SIZE_MAX && wal->buf_n - rec->off + bound > STO_WAL_RECORD_BYTES) {
        sto_wal__record_close(wal->buf + rec->off, p, wal->salt);
        rec->off = SIZE_MAX;
    }
    if (rec->off == SIZE_MAX) {
        *rec = (struct defs){.off = wal->buf_n};
        p += STO_WAL_RECORD_HEAD_BYTES;
        *p++ = STO_WAL_SERIES_HEADED;
        p = ts_put_varint(p, wal->n_ids - 1);
    }
    wal->buf_n = (size_t)(sto_wal__def_put(p, s, known, &rec->before) - wal->buf);
    return 0;
}

/* Numbers of n <= CHUNK_POINTS points; writes the definitions of series that have none yet. One test a point.
 */
static int number_points(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    struct defs rec = {.off = SIZE_MAX};
    for (size_t i = 0; i < n; i++) {
        uint32_t id = points[i].series->id;
        uint32_t k = id < wal->ids_cap ? wal->number_of[id] : 0;
        if (__builtin_expect(k == 0, 0)) {
            TS_TRY(add_definition(wal, points[i].series, &rec, err));
            k = wal->n_ids;
        }
        wal->numbers[i] = k - 1;
    }
    if (rec.off != SIZE_MAX)
        sto_wal__record_close(wal->buf + rec.off, wal->buf + wal->buf_n, wal->salt);
    return 0;
}

/* Records of points (and of definitions before them) into the buffer. Points of neighbouring chunks share a
 * record while no definition comes between. */
static int encode(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    size_t rec_off = SIZE_MAX; /* open record of points */
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    for (size_t at = 0; at < n;) {
        size_t n_chunk = n - at < CHUNK_POINTS ? n - at : CHUNK_POINTS;
        size_t before = wal->buf_n;
        uint32_t n_known = wal->n_ids;
        TS_TRY(number_points(wal, points + at, n_chunk, err));
        if (n_known != wal->n_ids && rec_off != SIZE_MAX) {
            sto_wal__record_close(wal->buf + rec_off, wal->buf + before, wal->salt);
            rec_off = SIZE_MAX;
        }
        for (size_t done = 0; done < n_chunk;) {
            uint8_t *p =
                reserve(wal, STO_WAL_RECORD_HEAD_BYTES + 1 + (CHUNK_POINTS + 1) * STO_WAL_POINT_MAX_BYTES);
            if (!p)
                return no_memory(wal, err);
            if (rec_off == SIZE_MAX) {
                rec_off = wal->buf_n;
                ctx = (struct sto_wal_ctx)STO_WAL_CTX_INIT;
                p += STO_WAL_RECORD_HEAD_BYTES;
                *p++ = STO_WAL_POINTS;
            }
            const uint8_t *stop = wal->buf + rec_off + STO_WAL_RECORD_BYTES;
            size_t n_put;
            p = sto_wal__points_put(p, stop, &ctx, points + at + done, wal->numbers + done, n_chunk - done,
                                    &n_put);
            done += n_put;
            wal->buf_n = (size_t)(p - wal->buf);
            if (p >= stop) {
                sto_wal__record_close(wal->buf + rec_off, p, wal->salt);
                rec_off = SIZE_MAX;
            }
        }
        at += n_chunk;
    }
    if (rec_off != SIZE_MAX)
        sto_wal__record_close(wal->buf + rec_off, wal->buf + wal->buf_n, wal->salt);
    return 0;
}

/* What stands before the records of an append: the header of a new segment, a mark after a sync. */
static int begin(struct sto_wal *wal, struct ts_error *err)
{
    wal->buf_n = 0;
    wal->mark_off = wal->marked_off;
    uint8_t *p = reserve(wal, STO_WAL_HEADER_BYTES + STO_WAL_RECORD_HEAD_BYTES + STO_WAL_MARK_BODY_BYTES);
    if (!p)
        return no_memory(wal, err);
    if (wal->end_off == 0) {
        struct sto_wal_head head = {.name = wal->name,
                                    .prev_segment = wal->prev_segment,
                                    .prev_gen = wal->prev_gen,
                                    .prev_bytes = wal->prev_bytes};
        sto_wal__head_put(p, &head);
        p += STO_WAL_HEADER_BYTES;
    }
    uint64_t synced = sto_wal_synced(wal);
    if (synced > wal->base + wal->marked_off) {
        wal->mark_off = synced - wal->base;
        p = sto_wal__mark_put(p, wal->mark_off, wal->salt);
    }
    wal->buf_n = (size_t)(p - wal->buf);
    return 0;
}

/* Write the buffer behind the good end. */
static int write_out(struct sto_wal *wal, struct ts_error *err)
{
    int rc = wal->fs->append(wal->file, wal->buf, wal->buf_n, err);
    if (rc == 0) {
        wal->end_off += wal->buf_n;
        wal->marked_off = wal->mark_off;
        atomic_fetch_add_explicit(&wal->written, wal->buf_n, memory_order_release);
        return 0;
    }
    if (wal->fs->truncate(wal->file, wal->end_off, NULL) < 0) /* a part of a refused append would stay */
        return break_log(wal, err);
    return rc == TS_ENOSPC ? rc : break_log(wal, err);
}

int sto_wal_append(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    if (atomic_load_explicit(&wal->broken, memory_order_relaxed))
        return refuse(wal, err);
    if (n == 0)
        return 0;
    if (wal->file && wal->end_off >= wal->segment_bytes)
        TS_TRY(close_segment(wal, err));
    if (!wal->file)
        TS_TRY(open_segment(wal, err));
    uint32_t n_known = wal->n_ids;
    int rc = begin(wal, err);
    if (rc == 0)
        rc = encode(wal, points, n, err);
    if (rc == 0)
        rc = write_out(wal, err);
    if (rc < 0)
        numbers_forget(wal, n_known);
    return rc;
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
    return atomic_load_explicit(&wal->broken, memory_order_acquire); /* pairs with break_log */
}

/* One fdatasync of the open segment; the lock is held on entry and on return, not between. */
static int sync_once(struct sto_wal *wal, struct ts_error *err)
{
    struct seg *seg = wal->seg;
    if (!seg) /* rotation syncs all it closes, or breaks the log */
        TS_BUG("bytes without a segment");
    uint64_t upto =
        sto_wal_written(wal); /* acquire: these bytes are in the file (or in older, synced ones) */
    seg->refs++;
    wal->syncing = true;
    pthread_mutex_unlock(&wal->lock);
    int rc = wal->fs->sync(seg->file, err);
    if (rc < 0)
        rc = break_log(wal, err);
    seg_unref(wal, seg);
    pthread_mutex_lock(&wal->lock);
    wal->syncing = false;
    if (rc == 0 && upto > atomic_load_explicit(&wal->synced, memory_order_relaxed))
        atomic_store_explicit(&wal->synced, upto, memory_order_release); /* partner: sto_wal_synced */
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
            rc = refuse(wal, err);
        else if (atomic_load_explicit(&wal->synced, memory_order_relaxed) >= target)
            break;
        else if (wal->syncing)
            pthread_cond_wait(&wal->sync_done, &wal->lock);
        else
            rc = sync_once(wal, err);
    }
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

/* All is on disk: say so in the file too, so that later damage to the last records is told from a torn tail.
 */
static void mark_end(struct sto_wal *wal)
{
    if (!wal->file || wal->end_off == 0)
        return;
    if (begin(wal, NULL) == 0 && wal->fs->append(wal->file, wal->buf, wal->buf_n, NULL) < 0)
        wal->fs->truncate(wal->file, wal->end_off, NULL);
}

int sto_wal_close(struct sto_wal *wal, struct ts_error *err)
{
    if (!wal)
        return 0;
    int rc = sto_wal_sync(wal, err);
    if (rc == 0)
        mark_end(wal);
    int close_rc = wal->fs->close(wal->file, rc < 0 ? NULL : err);
    if (wal->seg)
        seg_unref(wal, wal->seg);
    pthread_cond_destroy(&wal->sync_done);
    pthread_mutex_destroy(&wal->lock);
    ts_free(wal->number_of);
    ts_free(wal->ids);
    ts_free(wal->buf);
    ts_free(wal->dir);
    ts_free(wal);
    return rc < 0 ? rc : close_rc;
}
