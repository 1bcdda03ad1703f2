/*
 * fsck_wal.c - reads a write-ahead log that may be damaged, record by record.
 *
 * A segment is read as a whole. After a bad record, each following byte is tried as the beginning of a valid
 * one. Length, type and a checksum that starts from the segment's name make a false match unlikely (2^-32 for
 * each try).
 *
 * Threads    one
 * Invariant  an operation is reported only with the series it was written for: where definitions were lost,
 *            numbers without a definition are skipped
 */
#include "storage/engine/check/fsck_wal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "storage/engine/log/wal_format.h"

#define MAX_SEGMENT_BYTES (1ull << 32)
#define OUT_POINTS        4096u
#define BLANK_SERIES      (1u << 22) /* numbers a segment may use after definitions were lost */

/* A segment of the folder. */
struct segment {
    struct sto_wal_name name; /* as the file is called */
    struct sto_wal_head head; /* if has_head */
    bool has_head;
    uint64_t known_bytes;       /* length stated by the segment that follows; 0 = not known */
    const struct segment *next; /* the segment that follows and states it */
};

/* One reading. */
struct reading {
    const struct ts_fs *fs;
    const char *dir;
    const struct sto_fsck_wal_ops *ops;
    void *arg;
    struct sto_fsck_wal *out;
    struct segment *v;
    size_t n, cap;

    /* the open segment */
    const struct segment *seg;
    char *path;     /* owned */
    const char *p;  /* its bytes; owned */
    uint64_t bytes; /* how many */
    uint32_t salt;
    uint64_t mark_off;                /* highest valid mark */
    const struct sto_series **series; /* by number; NULL = left out */
    uint32_t n_series, cap_series;
    bool gap;               /* a record was lost: definitions that do not state their number are of unknown
                             * number */
    int64_t from_ms, to_ms; /* times of the record before */
    struct sto_wal_def def; /* the one being read */
    struct sto_point points[OUT_POINTS];
};

/* --- the folder --- */

static int add_name(void *arg, const char *text)
{
    struct reading *r = arg;
    struct sto_wal_name name;
    if (!sto_wal__name_parse(text, &name))
        return 0;
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        r->v = ts_xrealloc(r->v, r->cap * sizeof *r->v);
    }
    r->v[r->n++] = (struct segment){.name = name};
    r->out->max_run = name.run > r->out->max_run ? name.run : r->out->max_run;
    r->out->max_gen = name.gen > r->out->max_gen ? name.gen : r->out->max_gen;
    return 0;
}

static int by_age(const void *a, const void *b)
{
    return sto_wal__name_cmp(&((const struct segment *)a)->name, &((const struct segment *)b)->name);
}

static char *path_of(const struct reading *r, const struct sto_wal_name *name)
{
    char text[STO_WAL_NAME_BYTES];
    sto_wal__name_print(name, text);
    return ts_fs_join(r->dir, text);
}

static void damage(struct reading *r, const char *path, const char *what, bool lost)
{
    r->out->damaged = true;
    r->ops->damage(r->arg, path, what, lost);
}

/* Read the headers, and what they state of the previous segment. */
static int read_heads(struct reading *r, uint64_t flushed_gen, struct ts_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        struct segment *s = &r->v[i];
        uint8_t head[STO_WAL_HEADER_BYTES];
        struct ts_file *file = NULL;
        size_t n = 0;
        char *path = path_of(r, &s->name);
        int rc = r->fs->open(r->fs, path, TS_OPEN_READ, &file, NULL);
        if (rc == 0)
            rc = r->fs->pread(file, head, sizeof head, 0, &n, NULL);
        if (file)
            (void)r->fs->close(file, NULL);
        rc = rc == 0 && n == sizeof head ? sto_wal__head_get(head, &s->head) : TS_ECORRUPT;
        s->has_head = rc == 0 && by_age(&(struct segment){.name = s->head.name}, s) == 0;
        rc = rc == TS_EVERSION && s->name.gen > flushed_gen
                 ? ts_error_set(err, rc, "%s was written by a newer program", path)
                 : 0;
        ts_free(path);
        TS_TRY(rc);
    }
    return 0;
}

static void check_chain(struct reading *r, uint64_t flushed_gen)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct segment *s = &r->v[i];
        if (!s->has_head || s->name.gen <= flushed_gen || s->head.prev_segment == STO_WAL_NO_SEGMENT ||
            s->head.prev_gen <= flushed_gen)
            continue;
        struct segment want = {.name = s->name};
        want.name.gen = s->head.prev_gen;
        want.name.segment = s->head.prev_segment;
        struct segment *prev = bsearch(&want, r->v, r->n, sizeof *r->v, by_age);
        if (prev) {
            prev->known_bytes = s->head.prev_bytes;
            prev->next = s;
        } else {
            char *path = path_of(r, &want.name);
            damage(r, path, "is missing", true);
            ts_free(path);
        }
    }
}

/* --- one segment --- */

/* Length of the valid record at off, 0 if there is none. */
static size_t record_at(const struct reading *r, uint64_t off)
{
    if (r->bytes - off < STO_WAL_RECORD_HEAD_BYTES + 1u)
        return 0;
    const uint8_t *p = (const uint8_t *)r->p + off, *body = p + STO_WAL_RECORD_HEAD_BYTES;
    size_t n = ts_ld32(p);
    if (n == 0 || n > STO_WAL_MAX_RECORD_BYTES || n > r->bytes - off - STO_WAL_RECORD_HEAD_BYTES ||
        body[0] < STO_WAL_POINTS || body[0] > STO_WAL_LAST_TYPE ||
        sto_wal__record_crc(r->salt, p, body, n) != ts_ld32(p + 4))
        return 0;
    return n;
}

static void give_number(struct reading *r, uint32_t number, const struct sto_series *s)
{
    if (number >= r->cap_series) {
        uint32_t cap = number < 512 ? 1024 : number * 2;
        r->series = ts_xrealloc(r->series, cap * sizeof *r->series);
        memset(r->series + r->cap_series, 0, (cap - r->cap_series) * sizeof *r->series);
        r->cap_series = cap;
    }
    r->series[number] = s;
    r->n_series = number >= r->n_series ? number + 1 : r->n_series;
}

/* Read a record of definitions; all versions but the first state the number of the first definition. */
static void take_series(struct reading *r, enum sto_wal_record type, const uint8_t *p, const uint8_t *end)
{
    uint64_t number = r->n_series;
    uint32_t before = 0;
    bool numbered = type != STO_WAL_SERIES, sure = numbered || !r->gap;
    if (numbered && (!(p = ts_get_varint(p, end, &number)) || number > UINT32_MAX / 4))
        p = NULL;
    while (p && p < end) {
        struct sto_wal_def *d = &r->def;
        if (!(p = sto_wal__def_get(p, end, type, &before, d)))
            break;
        struct ts_error why = {0};
        const struct sto_series *s = d->known
                                         ? r->ops->replay.known(r->arg, d->id, &why)
                                         : r->ops->replay.series(r->arg, d->id, d->metric, d->tags, d->n_tags,
                                                                 d->text, d->metric_len, &why);
        if (!s)
            damage(r, r->path, why.code < 0 ? why.text : "defines a series that nobody knows", true);
        if (sure)
            give_number(r, (uint32_t)number++, s);
    }
    if (!p)
        damage(r, r->path, "holds a malformed definition of a series", true);
}

static int take_points(struct reading *r, const uint8_t *p, const uint8_t *end, struct ts_error *err)
{
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    r->from_ms = INT64_MAX;
    r->to_ms = INT64_MIN;
    if (r->gap) /* numbers that a lost record defined: their operations are skipped */
        give_number(r, BLANK_SERIES, NULL);
    while (p < end) {
        size_t n, n_skipped;
        p = sto_wal__points_get(p, end, &ctx, r->series, r->n_series, r->points, OUT_POINTS, &n, &n_skipped);
        if (!p) {
            damage(r, r->path, "holds a malformed operation", true);
            return 0;
        }
        r->out->n_skipped += n_skipped;
        for (size_t i = 0; i < n; i++) {
            r->from_ms = r->points[i].ts_ms < r->from_ms ? r->points[i].ts_ms : r->from_ms;
            r->to_ms = r->points[i].ts_ms > r->to_ms ? r->points[i].ts_ms : r->to_ms;
        }
        if (n)
            TS_TRY(r->ops->replay.points(r->arg, r->seg->name.gen, r->points, n, err));
        r->out->n_points += n;
    }
    return 0;
}

static int take_record(struct reading *r, uint64_t off, size_t n, struct ts_error *err)
{
    const uint8_t *body = (const uint8_t *)r->p + off + STO_WAL_RECORD_HEAD_BYTES;
    uint64_t mark;
    switch (body[0]) {
    case STO_WAL_POINTS:
        return take_points(r, body + 1, body + n, err);
    case STO_WAL_SERIES:
    case STO_WAL_SERIES_FROM:
    case STO_WAL_SERIES_HEADED:
        take_series(r, (enum sto_wal_record)body[0], body + 1, body + n);
        return 0;
    default:
        if (n == STO_WAL_MARK_BODY_BYTES &&
            sto_wal__mark_get(body - STO_WAL_RECORD_HEAD_BYTES, r->salt, &mark) && mark <= off &&
            mark > r->mark_off)
            r->mark_off = mark;
        return 0;
    }
}

/* A range that can't be read; only the end of the segment shows whether it is torn or damaged. */
struct hole {
    uint64_t off, n;
    int64_t from_ms, to_ms;
};

/* Does the segment that follows prove that all of this one was on disk: is it of an old version, or has it
 * a mark? */
static bool is_known(const struct reading *r)
{
    const struct segment *next = r->seg->next;
    char *p = NULL;
    size_t n = 0;
    uint64_t mark;
    bool found = next && next->head.before_on_disk;
    if (!next || found)
        return found;
    char *path = path_of(r, &next->name);
    if (ts_fs_read_file(r->fs, path, MAX_SEGMENT_BYTES, &p, &n, NULL) == 0)
        for (size_t i = STO_WAL_HEADER_BYTES;
             i + STO_WAL_RECORD_HEAD_BYTES + STO_WAL_MARK_BODY_BYTES <= n && !found; i++)
            found = p[i] == STO_WAL_MARK_BODY_BYTES &&
                    sto_wal__mark_get((const uint8_t *)p + i, sto_wal__salt(&next->name), &mark);
    ts_free(p);
    ts_free(path);
    return found;
}

static void tell_hole(struct reading *r, const struct hole *h, bool good_behind)
{
    bool below = h->off < r->seg->known_bytes, known = below && is_known(r);
    uint64_t safe = known && r->seg->known_bytes > r->mark_off ? r->seg->known_bytes : r->mark_off;
    bool torn = h->off >= safe;
    r->out->damaged |= !torn;
    r->out->beyond_torn |= torn && (good_behind || below); /* opening the store would ignore the next
                                                            * segment */
    r->ops->bad(r->arg, r->path, h->off, h->n, torn, h->from_ms, h->to_ms);
}

static int read_records(struct reading *r, struct ts_error *err)
{
    struct hole holes[64];
    size_t n_holes = 0;
    uint64_t off = STO_WAL_HEADER_BYTES, good_end = 0;
    int rc = 0;
    if (!r->seg->has_head)
        holes[n_holes++] = (struct hole){0, r->bytes < off ? r->bytes : off, INT64_MAX, INT64_MIN};
    while (rc == 0 && off < r->bytes) {
        size_t n = record_at(r, off);
        if (n) {
            rc = take_record(r, off, n, err);
            off += STO_WAL_RECORD_HEAD_BYTES + n;
            good_end = off;
            continue;
        }
        uint64_t begin = off++;
        while (off < r->bytes && !record_at(r, off))
            off++;
        struct hole h = {begin, off - begin, r->from_ms, r->to_ms};
        if (n_holes < sizeof holes / sizeof holes[0])
            holes[n_holes++] = h;
        r->gap = true;
    }
    if (r->bytes < r->seg->known_bytes)
        holes[n_holes < 64 ? n_holes++ : 63] =
            (struct hole){r->bytes, r->seg->known_bytes - r->bytes, r->from_ms, r->to_ms};
    for (size_t i = 0; rc == 0 && i < n_holes; i++)
        tell_hole(r, &holes[i], good_end > holes[i].off);
    return rc;
}

static int read_segment(struct reading *r, const struct segment *s, struct ts_error *err)
{
    char *p = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    r->seg = s;
    r->path = path_of(r, &s->name);
    int rc = ts_fs_read_file(r->fs, r->path, MAX_SEGMENT_BYTES, &p, &n, &why);
    if (rc == TS_ENOMEM) {
        rc = ts_error_set(err, rc, "%s", why.text);
    } else if (rc < 0) {
        damage(r, r->path, "can't be read", true);
        rc = 0;
    } else {
        r->p = p;
        r->bytes =
            s->known_bytes && s->known_bytes < n ? s->known_bytes : n; /* after it: what a failed append
                                                                        * left */
        r->salt = sto_wal__salt(&s->name);
        r->mark_off = 0;
        r->n_series = 0;
        if (r->cap_series)
            memset(r->series, 0, r->cap_series * sizeof *r->series);
        r->gap = false;
        r->from_ms = INT64_MAX;
        r->to_ms = INT64_MIN;
        r->out->n_segments++;
        rc = r->bytes || s->known_bytes ? read_records(r, err) : 0;
        r->ops->read(r->arg, n);
    }
    ts_free(p);
    ts_free(r->path);
    return rc;
}

int sto_fsck_wal_read(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                      const struct sto_fsck_wal_ops *ops, void *arg, struct sto_fsck_wal *out,
                      struct ts_error *err)
{
    *out = (struct sto_fsck_wal){0};
    struct reading *r = ts_xcalloc(1, sizeof *r);
    r->fs = fs;
    r->dir = dir;
    r->ops = ops;
    r->arg = arg;
    r->out = out;
    struct ts_error why = {0};
    int rc = fs->list(fs, dir, add_name, r, &why);
    if (rc < 0 && rc != TS_ENOTFOUND && err)
        *err = why;
    rc = rc == TS_ENOTFOUND ? 0 : rc;
    if (r->n)
        qsort(r->v, r->n, sizeof *r->v, by_age);
    if (rc == 0)
        rc = read_heads(r, flushed_gen, err);
    if (rc == 0)
        check_chain(r, flushed_gen);
    for (size_t i = 0; rc == 0 && i < r->n; i++)
        if (r->v[i].name.gen > flushed_gen)
            rc = read_segment(r, &r->v[i], err);
    ts_free(r->series);
    ts_free(r->v);
    ts_free(r);
    return rc;
}
