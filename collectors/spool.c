/*
 * spool.c - takes lines at one end, gives them away at the other.
 *
 * Threads    see spool.h; the mutex is held across one write, read, sync or unlink: local disk only, never the network
 * Invariant  segments lie in the order of arrival; all before the first one with lines not acknowledged are gone
 * Not here   the folder at the start (spool_open.c)
 */
#include "collectors/spool.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/spool_int.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#define SEGMENT_MIN_BYTES ((uint64_t)64 << 10)
#define SEGMENT_MAX_BYTES ((uint64_t)4 << 20)
#define FALLBACK_BYTES    ((uint64_t)4 << 20)
#define DISK_RETRY_NS     1000000000ll /* after the disk refused */

static void seg_free(struct col_spool__seg *seg)
{
    ts_buf_release(&seg->mem);
    ts_free(seg->path);
    ts_free(seg);
}

struct col_spool__seg *col_spool__add(struct col_spool *s, char *path, uint64_t number, int64_t hour_s)
{
    struct col_spool__seg *seg = ts_xcalloc(1, sizeof(*seg));
    seg->path = path;
    seg->number = number;
    seg->hour_s = hour_s;
    ts_buf_init(&seg->mem, 0);
    if (s->last)
        s->last->next = seg;
    else
        s->first = seg;
    s->last = seg;
    return seg;
}

/* --- open, close --- */

static int spool_open_folder(struct col_spool *s, struct ts_error *err)
{
    char path[PATH_MAX];
    TS_TRY(s->fs->mkdir(s->fs, s->dir, err));
    (void)snprintf(path, sizeof(path), "%s/lock", s->dir);
    TS_TRY(s->fs->open(s->fs, path, TS_OPEN_APPEND, &s->lock, err));
    int rc = s->fs->lock(s->lock, err);
    if (rc < 0) {
        (void)ts_error_wrap(err, "another process collects with this folder (give each its own collect_dir)");
        return rc;
    }
    return col_spool__scan(s, err);
}

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
    int rc = s->dir ? spool_open_folder(s, err) : 0;
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

/* Take a segment out of the list; its file goes too. */
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

static void spool_drop_hour(struct col_spool *s)
{
    int64_t hour_s = s->first->hour_s;
    uint64_t n = 0;
    for (struct col_spool__seg *seg = s->first, *next; seg; seg = next) {
        next = seg->next;
        if (seg->hour_s != hour_s)
            continue;
        n += seg->n_points - seg->n_acked;
        spool_remove(s, seg);
    }
    s->stats.n_dropped_points += n;
    s->stats.n_dropped_hours++;
    struct ts_civil c = ts_civil_from_ms(NULL, hour_s * 1000);
    ts_log(TS_LOG_WARN,
           "spool full: dropped the oldest hour hour=%04d-%02u-%02uT%02uZ n_points=%llu max_bytes=%llu; "
           "%s sets the size",
           c.year, c.month, c.day, c.hour, (unsigned long long)n, (unsigned long long)s->max_bytes, s->key);
}

/* A new last segment with a file. */
static int spool_new_file(struct col_spool *s, int64_t hour_s, struct ts_error *err)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%lld-%llu.put", s->dir, (long long)hour_s,
                   (unsigned long long)s->next_number);
    TS_TRY(s->fs->open(s->fs, path, TS_OPEN_CREATE, &s->tail, err));
    col_spool__add(s, ts_xstrdup(path), s->next_number++, hour_s);
    return 0;
}

static int spool_write(struct col_spool *s, struct ts_slice lines, int64_t hour_s, struct ts_error *err)
{
    struct col_spool__seg *seg = s->last;
    if (s->tail && (seg->hour_s != hour_s || seg->n_bytes >= s->segment_bytes))
        spool_seal(s);
    if (!s->tail)
        TS_TRY(spool_new_file(s, hour_s, err));
    seg = s->last;
    int rc = s->fs->append(s->tail, lines.p, lines.n, err);
    if (rc == 0) {
        seg->n_bytes += lines.n;
        seg->synced = false;
        return 0;
    }
    /* what was written of it must not be sent by a later process; nothing more goes into this file */
    if (s->fs->truncate(s->tail, seg->n_bytes, NULL) < 0)
        ts_log(TS_LOG_WARN, "spool: can't cut what was written of a batch off %s", seg->path);
    spool_seal(s);
    return rc;
}

/* Memory, because there is no folder or its disk takes nothing. */
static int spool_keep(struct col_spool *s, struct ts_slice lines, int64_t hour_s, struct ts_error *err)
{
    if (s->dir && s->n_mem_bytes + lines.n > s->fallback_bytes) {
        (void)ts_error_wrap(err, "the disk takes nothing and %llu bytes of memory for that are full",
                            (unsigned long long)s->fallback_bytes);
        return TS_ENOSPC;
    }
    struct col_spool__seg *seg = s->last;
    if (!seg || seg->path || seg->hour_s != hour_s || seg->n_bytes >= s->segment_bytes)
        seg = col_spool__add(s, NULL, s->next_number++, hour_s);
    ts_buf_slice(&seg->mem, lines);
    seg->n_bytes += lines.n;
    s->n_mem_bytes += lines.n;
    return 0;
}

/* --- one end --- */

static int spool_take(struct col_spool *s, struct ts_slice lines, struct ts_error *err)
{
    static struct ts_log_limit limit;
    struct ts_error disk_err = {0};
    int64_t hour_s = ts_floor_div(ts_clock_ms(), TS_HOUR_MS) * (TS_HOUR_MS / 1000);
    if (lines.n > s->max_bytes)
        return ts_error_set(err, TS_ELIMIT, "a batch of %zu bytes is larger than the spool (%s = %llu)",
                            lines.n, s->key, (unsigned long long)s->max_bytes);
    while (s->first && s->n_bytes + lines.n > s->max_bytes)
        spool_drop_hour(s);
    int rc = TS_EIO;
    int64_t now_ns = ts_clock_mono_ns();
    if (s->dir && now_ns >= s->disk_retry_ns) {
        rc = spool_write(s, lines, hour_s, &disk_err);
        if (rc < 0) {
            s->disk_retry_ns = now_ns + DISK_RETRY_NS;
            ts_log_limited(&limit, TS_LOG_WARN, "spool: %s; points are kept in memory", disk_err.text);
        }
    }
    if (rc < 0) {
        if (s->dir)
            (void)ts_error_set(err, TS_ENOSPC, "%s", *disk_err.text ? disk_err.text : s->dir);
        rc = spool_keep(s, lines, hour_s, err);
    }
    s->n_bytes += rc == 0 ? lines.n : 0;
    return rc;
}

/* All that came so far is to be on disk. */
static int spool_sync(struct col_spool *s, struct ts_error *err)
{
    int rc = 0;
    s->was_durable = true;
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
        rc = spool_take(s, lines, err);
        if (rc < 0) {
            s->stats.n_dropped_points += n_points;
        } else {
            s->last->n_points += n_points;
            s->stats.n_taken += n_points;
            pthread_cond_broadcast(&s->changed);
        }
    }
    if (rc == 0 && durable && s->dir)
        rc = spool_sync(s, err);
    pthread_mutex_unlock(&s->mutex);
    return rc;
}

/* --- the other end --- */

/* Copy the n bytes that follow the acknowledged ones. */
static int spool_fetch(struct col_spool *s, const struct col_spool__seg *seg, size_t n, struct ts_buf *out,
                       struct ts_error *err)
{
    size_t got = 0;
    char *p = ts_buf_reserve(out, n);
    if (!p)
        return ts_error_set(err, TS_ELIMIT, "a block of %zu bytes is too large to send", n);
    if (!seg->path) {
        memcpy(p, seg->mem.p + seg->acked_off, n);
        out->n += n;
        return 0;
    }
    if (s->head_number != seg->number) {
        (void)s->fs->close(s->head, NULL);
        s->head = NULL;
        s->head_number = 0;
        TS_TRY(s->fs->open(s->fs, seg->path, TS_OPEN_READ, &s->head, err));
        s->head_number = seg->number;
    }
    TS_TRY(s->fs->pread(s->head, p, n, seg->acked_off, &got, err));
    out->n += got;
    if (got < n)
        return ts_error_set(err, TS_ECORRUPT, "%s has become shorter", seg->path);
    return 0;
}

/* The whole lines at the front. */
static size_t whole_lines(struct ts_slice text, uint32_t *out_n)
{
    size_t end = 0;
    *out_n = 0;
    for (const char *p = text.p, *nl; end < text.n && (nl = memchr(p + end, '\n', text.n - end)); ++*out_n)
        end = (size_t)(nl + 1 - p);
    return end;
}

/* A segment that can't be read any more is lost; say so and go on. */
static void spool_lose(struct col_spool *s, struct col_spool__seg *seg, const char *why)
{
    uint64_t n = seg->n_points - seg->n_acked;
    ts_log(TS_LOG_ERROR, "spool: %s; lost n_points=%llu", why, (unsigned long long)n);
    s->stats.n_dropped_points += n;
    spool_remove(s, seg);
}

int col_spool_read(struct col_spool *s, size_t max_bytes, struct ts_buf *out, struct col_spool_pos *out_pos,
                   struct ts_error *err)
{
    int rc = 0;
    *out_pos = (struct col_spool_pos){0};
    pthread_mutex_lock(&s->mutex);
    struct col_spool__seg *seg = s->first;
    while (seg && seg->acked_off == seg->n_bytes)
        seg = seg->next;
    for (size_t want = max_bytes; rc == 0 && seg && !out_pos->n_lines; want *= 2) {
        uint64_t left = seg->n_bytes - seg->acked_off;
        ts_buf_clear(out);
        rc = spool_fetch(s, seg, left < want ? (size_t)left : want, out, err);
        if (rc < 0)
            break;
        out->n = whole_lines(ts_buf_get(out), &out_pos->n_lines);
        if (!out_pos->n_lines && want >= left)
            rc = ts_error_set(err, TS_ECORRUPT, "%s does not end with a line",
                              seg->path ? seg->path : "memory");
        *out_pos = (struct col_spool_pos){seg->number, seg->acked_off + out->n, out_pos->n_lines};
    }
    if (rc < 0)
        spool_lose(s, seg, err ? err->text : "can't be read");
    pthread_mutex_unlock(&s->mutex);
    return rc < 0 ? rc : out_pos->n_lines > 0;
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
