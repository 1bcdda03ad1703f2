/*
 * spool.c - a queue of lines in files: appended at one end, delivered at the other.
 *
 * Threads    see spool.h; the mutex is held across one write, read, sync or unlink: local disk only, never
 * the network Invariant  segments lie in the order of arrival; all before the first one with lines not
 * acknowledged are gone Not here   the folder at the start (spool_open.c)
 */
#include "collectors/core/spool.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/core/spool_int.h"
#include "collectors/core/spool_record.h"

#include <stdio.h>
#include <time.h>

#define SEGMENT_MIN_BYTES ((uint64_t)4 << 10)
#define SEGMENT_MAX_BYTES ((uint64_t)4 << 20)
#define FALLBACK_BYTES    ((uint64_t)4 << 20)
#define RECORD_READ_BYTES ((size_t)64 << 10) /* read at least */
#define DISK_RETRY_NS     1000000000ll       /* after the disk refused */

static void seg_free(struct col_spool__seg *seg)
{
    ts_buf_release(&seg->mem);
    ts_free(seg->path);
    ts_free(seg);
}

struct col_spool__seg *col_spool__add(struct col_spool *s, char *path, uint64_t number)
{
    struct col_spool__seg *seg = ts_xcalloc(1, sizeof(*seg));
    seg->path = path;
    seg->number = number;
    ts_buf_init(&seg->mem, 0);
    if (s->last)
        s->last->next = seg;
    else
        s->first = seg;
    s->last = seg;
    return seg;
}

/* --- open, close --- */

int col_spool_open(const struct col_spool_opts *opts, struct col_spool **out, struct ts_error *err)
{
    struct col_spool *s = ts_xcalloc(1, sizeof(*s));
    pthread_condattr_t attr;
    *out = NULL;
    s->fs = opts->fs ? opts->fs : ts_fs_real();
    s->dir = opts->dir ? ts_xstrdup(opts->dir) : NULL;
    s->key = opts->key ? opts->key : "collect_spool_bytes";
    s->max_bytes = opts->max_bytes;
    uint64_t part = opts->max_bytes / 16;
    part = part < SEGMENT_MIN_BYTES ? SEGMENT_MIN_BYTES : part;
    s->segment_bytes = opts->segment_bytes        ? opts->segment_bytes
                       : part > SEGMENT_MAX_BYTES ? SEGMENT_MAX_BYTES
                                                  : part;
    s->fallback_bytes = opts->fallback_bytes ? opts->fallback_bytes : FALLBACK_BYTES;
    s->next_number = 1;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
    ts_buf_init(&s->raw, 0);
    int rc = s->dir ? col_spool__folder(s, err) : 0;
    if (rc == 0 && s->dir)
        rc = col_spool__scan(s, err);
    if (rc < 0) {
        col_spool_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void col_spool_close(struct col_spool *s)
{
    if (!s)
        return;
    while (s->first) {
        struct col_spool__seg *seg = s->first;
        s->first = seg->next;
        seg_free(seg);
    }
    ts_buf_release(&s->raw);
    (void)s->fs->close(s->head, NULL);
    (void)s->fs->close(s->tail, NULL);
    (void)s->fs->close(s->lock, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    ts_free(s->dir);
    ts_free(s);
}

/* --- segments, mutex held --- */

/* The segment before seg; NULL for the first. */
static struct col_spool__seg *spool_prev(const struct col_spool *s, const struct col_spool__seg *seg)
{
    struct col_spool__seg *prev = NULL;
    for (struct col_spool__seg *p = s->first; p != seg; p = p->next)
        prev = p;
    return prev;
}

/* Take a segment out of the list; its file is removed too. */
static void spool_remove(struct col_spool *s, struct col_spool__seg *seg)
{
    struct col_spool__seg *prev = spool_prev(s, seg);
    struct ts_error err = {0};
    if (seg == s->last) {
        (void)s->fs->close(s->tail, NULL);
        s->tail = NULL;
        s->last = prev;
    }
    if (prev)
        prev->next = seg->next;
    else
        s->first = seg->next;
    if (seg->path && s->fs->unlink(s->fs, seg->path, &err) < 0)
        ts_log(TS_LOG_WARN, "spool: %s", err.text);
    s->n_bytes -= seg->n_bytes;
    s->n_mem_bytes -= seg->path ? 0 : seg->n_bytes;
    seg_free(seg);
}

/* Append no more to the last segment's file. */
static void spool_seal(struct col_spool *s)
{
    if (!s->tail)
        return;
    if (!s->last->n_bytes) {
        spool_remove(s, s->last);
        return;
    }
    if (s->was_durable && !s->last->synced && s->fs->sync(s->tail, NULL) == 0)
        s->last->synced = s->fs->sync_dir(s->fs, s->dir, NULL) == 0;
    (void)s->fs->close(s->tail, NULL);
    s->tail = NULL;
}

/* Make space for new points. */
static void spool_drop_oldest(struct col_spool *s)
{
    static struct ts_log_limit limit;
    uint64_t n = s->first->n_points - s->first->n_acked;
    s->stats.n_dropped_points += n;
    s->stats.n_dropped_segments++;
    ts_log_limited(
        &limit, TS_LOG_WARN,
        "spool full: dropped the oldest segment n_points=%llu n_points_in_all=%llu max_bytes=%llu; %s "
        "sets the size",
        (unsigned long long)n, (unsigned long long)s->stats.n_dropped_points,
        (unsigned long long)s->max_bytes, s->key);
    spool_remove(s, s->first);
}

/* Path of a segment. */
static void spool_path(const struct col_spool *s, uint64_t number, char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s/%llu.seg", s->dir, (unsigned long long)number);
}

/* A new last segment with a file. */
static int spool_new_file(struct col_spool *s, struct ts_error *err)
{
    char path[PATH_MAX];
    spool_path(s, s->next_number, path);
    int rc = s->fs->open(s->fs, path, TS_OPEN_CREATE, &s->tail, err);
    if (rc == TS_ENOTFOUND && col_spool__folder(s, err) == 0) /* somebody removed the folder */
        rc = s->fs->open(s->fs, path, TS_OPEN_CREATE, &s->tail, err);
    if (rc == 0)
        col_spool__add(s, ts_xstrdup(path), s->next_number++);
    return rc;
}

/* Append to the last segment's file, which is open. */
static int spool_write_tail(struct col_spool *s, struct ts_slice record, struct ts_error *err)
{
    struct col_spool__seg *seg = s->last;
    int rc = s->fs->append(s->tail, record.p, record.n, err);
    if (rc == 0) {
        seg->n_bytes += record.n;
        s->n_bytes += record.n;
        seg->synced = false;
        return 0;
    }
    /* what was written of it must not be sent by a later process; nothing more goes into this file */
    if (s->fs->truncate(s->tail, seg->n_bytes, NULL) < 0)
        ts_log(TS_LOG_WARN, "spool: can't cut what was written of a batch off %s", seg->path);
    spool_seal(s);
    return rc;
}

/* The last segment's file was removed by somebody: move what waits in it to a new one. Best effort: what can't be moved is counted. */
static void spool_move_tail(struct col_spool *s)
{
    struct col_spool__seg *seg = s->last;
    uint64_t n_points = seg->n_points - seg->n_acked;
    size_t n = (size_t)(seg->n_bytes - seg->acked_off), got = 0;
    struct ts_buf rest;
    ts_buf_init(&rest, 0);
    char *p = ts_buf_reserve(&rest, n);
    int rc = p ? s->fs->pread(s->tail, p, n, seg->acked_off, &got, NULL) : TS_ENOMEM;
    rest.n = got;
    ts_log(TS_LOG_WARN, "spool: somebody removed %s; it is made again", seg->path);
    spool_remove(s, seg);
    if (rc == 0 && got == n && n && spool_new_file(s, NULL) == 0 &&
        spool_write_tail(s, ts_buf_get(&rest), NULL) == 0)
        s->last->n_points = n_points;
    else
        s->stats.n_dropped_points += n_points;
    ts_buf_release(&rest);
}

static int spool_write(struct col_spool *s, struct ts_slice record, struct ts_error *err)
{
    if (s->tail && ts_fs_exists(s->fs, s->last->path, NULL) == 0)
        spool_move_tail(s);
    if (s->tail && s->last->n_bytes >= s->segment_bytes)
        spool_seal(s);
    if (!s->tail)
        TS_TRY(spool_new_file(s, err));
    return spool_write_tail(s, record, err);
}

/* Memory, because there is no folder or its disk takes nothing. */
static int spool_keep(struct col_spool *s, struct ts_slice record, struct ts_error *err)
{
    if (s->dir && s->n_mem_bytes + record.n > s->fallback_bytes) {
        (void)ts_error_wrap(err, "the disk takes nothing and %llu bytes of memory for that are full",
                            (unsigned long long)s->fallback_bytes);
        return TS_ENOSPC;
    }
    struct col_spool__seg *seg = s->last;
    if (!seg || seg->path || seg->n_bytes >= s->segment_bytes)
        seg = col_spool__add(s, NULL, s->next_number++);
    ts_buf_slice(&seg->mem, record);
    seg->n_bytes += record.n;
    s->n_bytes += record.n;
    s->n_mem_bytes += record.n;
    return 0;
}

/* --- one end --- */

static int spool_store(struct col_spool *s, struct ts_slice record, struct ts_error *err)
{
    static struct ts_log_limit limit;
    struct ts_error disk_err = {0};
    int64_t now_ns = ts_clock_mono_ns();
    if (s->dir && now_ns >= s->disk_retry_ns) {
        if (spool_write(s, record, &disk_err) == 0)
            return 0;
        s->disk_retry_ns = now_ns + DISK_RETRY_NS;
        ts_log_limited(&limit, TS_LOG_WARN, "spool: %s; points are kept in memory", disk_err.text);
    }
    if (s->dir)
        (void)ts_error_set(err, TS_ENOSPC, "%s", *disk_err.text ? disk_err.text : s->dir);
    return spool_keep(s, record, err);
}

int col_spool__take(struct col_spool *s, struct ts_slice lines, uint32_t n_points, struct ts_error *err)
{
    char head[COL_RECORD_HEAD_BYTES + 1];
    struct ts_buf record;
    size_t n = lines.n + COL_RECORD_HEAD_BYTES;
    if (n > s->max_bytes || lines.n > UINT32_MAX)
        return ts_error_set(err, TS_ELIMIT, "a batch of %zu bytes is larger than the spool (%s = %llu)", n,
                            s->key, (unsigned long long)s->max_bytes);
    while (s->first && s->n_bytes + n > s->max_bytes)
        spool_drop_oldest(s);
    ts_buf_init(&record, 0);
    col_record_head(lines, n_points, head);
    ts_buf_append(&record, head, COL_RECORD_HEAD_BYTES);
    ts_buf_slice(&record, lines);
    int rc = spool_store(s, ts_buf_get(&record), err);
    ts_buf_release(&record);
    if (rc < 0)
        return rc;
    s->last->n_points += n_points;
    s->stats.n_taken += n_points;
    return 0;
}

int col_spool__sync(struct col_spool *s, struct ts_error *err)
{
    int rc = 0;
    for (struct col_spool__seg *seg = s->first; rc == 0 && seg; seg = seg->next) {
        struct ts_file *file = seg == s->last ? s->tail : NULL;
        if (seg->synced || !seg->path)
            continue;
        if (!file)
            rc = s->fs->open(s->fs, seg->path, TS_OPEN_READ, &file, err);
        if (rc == 0)
            rc = s->fs->sync(file, err);
        if (rc == 0)
            rc = s->fs->sync_dir(s->fs, s->dir, err);
        if (file != s->tail)
            (void)s->fs->close(file, NULL);
        seg->synced = rc == 0;
    }
    if (rc < 0)
        spool_seal(s); /* a file whose sync failed takes nothing more */
    return rc;
}

int col_spool_append(struct col_spool *s, struct ts_slice lines, uint32_t n_points, bool durable,
                     struct ts_error *err)
{
    pthread_mutex_lock(&s->mutex);
    int rc = 0;
    if (lines.n) {
        rc = col_spool__take(s, lines, n_points, err);
        if (rc < 0)
            s->stats.n_dropped_points += n_points;
        else
            pthread_cond_broadcast(&s->changed);
    }
    if (rc == 0 && durable && s->dir) {
        s->was_durable = true;
        rc = col_spool__sync(s, err);
    }
    pthread_mutex_unlock(&s->mutex);
    return rc;
}

/* --- the other end --- */

/* Read the n bytes of a segment from `from` on into s->raw. */
static int spool_fetch(struct col_spool *s, const struct col_spool__seg *seg, uint64_t from, size_t n,
                       struct ts_error *err)
{
    size_t got = 0;
    ts_buf_clear(&s->raw);
    if (!seg->path)
        return ts_buf_append(&s->raw, seg->mem.p + from, n);
    char *p = ts_buf_reserve(&s->raw, n);
    if (!p)
        return ts_error_set(err, TS_ELIMIT, "a batch of %zu bytes is too large to send", n);
    if (s->head_number != seg->number) {
        (void)s->fs->close(s->head, NULL);
        s->head = NULL;
        s->head_number = 0;
        TS_TRY(s->fs->open(s->fs, seg->path, TS_OPEN_READ, &s->head, err));
        s->head_number = seg->number;
    }
    TS_TRY(s->fs->pread(s->head, p, n, from, &got, err));
    s->raw.n = got;
    if (got < n)
        return ts_error_set(err, TS_ECORRUPT, "%s has become shorter", seg->path);
    return 0;
}

/* A segment that can't be read any more is lost; say so and continue. */
static void spool_lose(struct col_spool *s, struct col_spool__seg *seg, const char *why)
{
    uint64_t n = seg->n_points - seg->n_acked;
    ts_log(TS_LOG_ERROR, "spool: %s; lost n_points=%llu", why, (unsigned long long)n);
    s->stats.n_dropped_points += n;
    spool_remove(s, seg);
}

/* The batches at the front of s->raw, at most max_bytes of lines if that is one at least. Returns bytes passed; 0 = *out_need_bytes more
 * must be read. left: bytes of the segment from there on. */
static size_t spool_records(struct col_spool *s, size_t max_bytes, uint64_t left, struct ts_buf *out,
                            struct col_spool_pos *pos, size_t *out_need_bytes)
{
    struct ts_slice text = ts_buf_get(&s->raw);
    size_t at = 0;
    while (at < text.n) {
        struct ts_slice rest = {text.p + at, text.n - at};
        struct col_record r;
        int rc = col_record_get(rest, &r, out_need_bytes);
        if (rc == 0 && text.n < left) /* the whole of it was not read */
            break;
        if (rc <= 0) { /* damaged: the whole segment is looked through for the next one */
            *out_need_bytes = (size_t)left;
            if (text.n < left)
                break;
            ts_log(TS_LOG_ERROR, "spool: a damaged batch is left out");
            at += 1 + col_record_find((struct ts_slice){rest.p + 1, rest.n - 1});
            continue;
        }
        if (pos->n_lines && out->n + r.lines.n > max_bytes)
            break;
        ts_buf_slice(out, r.lines);
        pos->n_lines += r.n_points;
        at += r.n_bytes;
    }
    return at;
}

/* Lines of one segment from `from` on, where it has some. */
static int spool_give(struct col_spool *s, struct col_spool__seg *seg, uint64_t from, size_t max_bytes,
                      struct ts_buf *out, struct col_spool_pos *pos, struct ts_error *err)
{
    uint64_t left = seg->n_bytes - from;
    size_t passed = 0, want = max_bytes < RECORD_READ_BYTES ? RECORD_READ_BYTES : max_bytes;
    while (!passed) {
        size_t need = 0;
        want = left < want ? (size_t)left : want;
        ts_buf_clear(out);
        TS_TRY(spool_fetch(s, seg, from, want, err));
        passed = spool_records(s, max_bytes, left, out, pos, &need);
        want = need > want ? need : 2 * want;
    }
    pos->segment = seg->number;
    pos->off = from + passed;
    return 0;
}

/* Batches that were damaged in a segment which ends here: their points are gone. */
static void spool_damaged(struct col_spool *s, struct col_spool__seg *seg)
{
    uint64_t n = seg->n_points - seg->n_acked;
    s->stats.n_damaged += n;
    seg->n_acked += n;
}

int col_spool_read(struct col_spool *s, size_t max_bytes, struct ts_buf *out, struct col_spool_pos *out_pos,
                   struct ts_error *err)
{
    int rc = 0;
    bool any;
    do {
        *out_pos = (struct col_spool_pos){0};
        pthread_mutex_lock(&s->mutex);
        struct col_spool__seg *seg = s->first;
        while (seg && seg->acked_off == seg->n_bytes)
            seg = seg->next;
        if (seg)
            rc = spool_give(s, seg, seg->acked_off, max_bytes, out, out_pos, err);
        if (rc < 0)
            spool_lose(s, seg, err && *err->text ? err->text : "a segment can't be read");
        pthread_mutex_unlock(&s->mutex);
        any = seg != NULL;
        if (rc == 0 && any && !out_pos->n_lines)
            col_spool_ack(s, out_pos); /* nothing but damage there */
    } while (rc == 0 && any && !out_pos->n_lines);
    return rc < 0 ? rc : any;
}

void col_spool_each(struct col_spool *s, void (*take)(void *arg, struct ts_slice lines), void *arg)
{
    struct ts_buf lines;
    ts_buf_init(&lines, 0);
    pthread_mutex_lock(&s->mutex);
    for (struct col_spool__seg *seg = s->first; seg; seg = seg->next) {
        struct col_spool_pos pos = {.off = seg->acked_off};
        int rc = 0;
        while (rc == 0 && pos.off < seg->n_bytes) {
            pos.n_lines = 0;
            rc = spool_give(s, seg, pos.off, RECORD_READ_BYTES, &lines, &pos, NULL);
            if (rc == 0)
                take(arg, ts_buf_get(&lines));
        }
    }
    pthread_mutex_unlock(&s->mutex);
    ts_buf_release(&lines);
}

void col_spool_ack(struct col_spool *s, const struct col_spool_pos *pos)
{
    pthread_mutex_lock(&s->mutex);
    struct col_spool__seg *seg = s->first;
    while (seg && seg->number != pos->segment)
        seg = seg->next;
    if (seg && pos->off > seg->acked_off && pos->off <= seg->n_bytes) {
        seg->acked_off = pos->off;
        seg->n_acked += pos->n_lines;
        s->stats.n_acked += pos->n_lines;
    }
    if (seg && seg->acked_off == seg->n_bytes) {
        spool_damaged(s, seg);
        if (seg == s->last && s->tail && s->fs->truncate(s->tail, 0, NULL) == 0) {
            s->n_bytes -= seg->n_bytes;
            seg->n_bytes = seg->acked_off = 0;
            seg->n_points = seg->n_acked = 0;
        } else {
            spool_remove(s, seg);
        }
    }
    pthread_mutex_unlock(&s->mutex);
}

/* --- waiting, figures --- */

static bool spool_waits(const struct col_spool *s)
{
    for (const struct col_spool__seg *seg = s->first; seg; seg = seg->next)
        if (seg->acked_off < seg->n_bytes)
            return true;
    return false;
}

bool col_spool_wait(struct col_spool *s, int64_t timeout_ms)
{
    int64_t until_ns = ts_clock_mono_ns() + timeout_ms * 1000000;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&s->mutex);
    while (!spool_waits(s) && !s->woken)
        if (pthread_cond_timedwait(&s->changed, &s->mutex, &until) != 0)
            break;
    bool waits = spool_waits(s);
    s->woken = false;
    pthread_mutex_unlock(&s->mutex);
    return waits;
}

void col_spool_wake(struct col_spool *s)
{
    pthread_mutex_lock(&s->mutex);
    s->woken = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

uint64_t col_spool_max_bytes(const struct col_spool *s)
{
    return s->max_bytes;
}

void col_spool_stats(struct col_spool *s, struct col_spool_stats *out)
{
    pthread_mutex_lock(&s->mutex);
    *out = s->stats;
    out->n_points = out->n_bytes = 0;
    for (const struct col_spool__seg *seg = s->first; seg; seg = seg->next) {
        out->n_points += seg->n_points - seg->n_acked;
        out->n_bytes += seg->n_bytes - seg->acked_off;
    }
    pthread_mutex_unlock(&s->mutex);
}
