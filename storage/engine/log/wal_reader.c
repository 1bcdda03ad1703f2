/*
 * wal_reader.c - lists segments and reads their records, for replay and for salvage.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    one; no writer at work in these segments
 * Invariant  an operation is passed on only with the series it was written for: where definitions were lost, numbers
 *            without a definition are skipped
 */
#include "storage/engine/log/wal_read_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

#define WINDOW_BYTES (1u << 20)
#define MARK_BYTES   (STO_WAL_RECORD_HEAD_BYTES + STO_WAL_MARK_BODY_BYTES)
#define BLANK_SERIES (1u << 22) /* numbers a segment may use after definitions were lost */

/* --- the folder --- */

static int add_name(void *arg, const char *text)
{
    struct sto_wal__list *l = arg;
    struct sto_wal_name name;
    if (!sto_wal__name_parse(text, &name))
        return 0;
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->v = ts_xrealloc(l->v, l->cap * sizeof(*l->v));
    }
    l->v[l->n++] = (struct sto_wal__found){.head.name = name};
    l->max_run = name.run > l->max_run ? name.run : l->max_run;
    l->max_gen = name.gen > l->max_gen ? name.gen : l->max_gen;
    return 0;
}

static int by_age(const void *a, const void *b)
{
    return sto_wal__name_cmp(&((const struct sto_wal__found *)a)->head.name,
                             &((const struct sto_wal__found *)b)->head.name);
}

int sto_wal__list_read(const struct ts_fs *fs, const char *dir, struct sto_wal__list *out,
                       struct ts_error *err)
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

void sto_wal__path(const char *dir, const struct sto_wal_name *name, char *out)
{
    char text[STO_WAL_NAME_BYTES];
    sto_wal__name_print(name, text);
    snprintf(out, PATH_MAX, "%s/%s", dir, text);
}

int sto_wal__head_read(const struct ts_fs *fs, const char *dir, struct sto_wal__found *f,
                       struct ts_error *err)
{
    char path[PATH_MAX];
    uint8_t bytes[STO_WAL_HEADER_BYTES];
    struct sto_wal_head head;
    struct ts_file *file;
    size_t n = 0;
    sto_wal__path(dir, &f->head.name, path);
    TS_TRY(fs->open(fs, path, TS_OPEN_READ, &file, err));
    int rc = fs->size(file, &f->size_bytes, err);
    if (rc == 0)
        rc = fs->pread(file, bytes, sizeof(bytes), 0, &n, err);
    fs->close(file, NULL);
    if (rc < 0)
        return rc;
    f->head_rc = TS_ENOTFOUND;
    if (n < sizeof(bytes)) /* a short read must not be mistaken for a short file */
        return n == f->size_bytes ? 0 : ts_error_set(err, TS_EIO, "%s: short read of the header", path);
    rc = sto_wal__head_get(bytes, &head);
    if (rc == TS_EVERSION)
        return ts_error_set(err, rc, "%s has format version %u; this program reads version %u", path,
                            ts_ld32(bytes + 8), STO_WAL_VERSION);
    if (rc < 0)
        return 0;
    if (by_age(&(struct sto_wal__found){.head = head}, f) != 0)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s is a segment of another name (its header says run %u, worker %u, segment %u)",
                            path, head.name.run, head.name.owner, head.name.segment);
    f->head = head;
    f->head_rc = 0;
    return 0;
}

bool sto_wal__prev(const struct sto_wal__list *l, struct sto_wal__found *f, uint64_t flushed_gen,
                   struct sto_wal_name *out_name, struct sto_wal__found **out_prev)
{
    if (f->head_rc < 0 || f->head.prev_segment == STO_WAL_NO_SEGMENT || f->head.prev_gen <= flushed_gen)
        return false;
    struct sto_wal__found want = {.head.name = f->head.name};
    want.head.name.gen = f->head.prev_gen;
    want.head.name.segment = f->head.prev_segment;
    *out_name = want.head.name;
    *out_prev = bsearch(&want, l->v, l->n, sizeof(*l->v), by_age);
    if (*out_prev) {
        (*out_prev)->known_bytes = f->head.prev_bytes;
        (*out_prev)->next = f;
    }
    return true;
}

/* --- one segment --- */

/* Read the bytes [off, off + n) of the segment; *out_n < n only at its limit. Borrowed until the next
 * call. */
static int look(struct sto_wal__reader *r, uint64_t off, size_t n, const uint8_t **out, size_t *out_n,
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
        int rc = r->problem ? ts_fs_pread_rest(r->fs, r->file, r->win, want, off, &r->win_n, &r->unread, err)
                            : r->fs->pread(r->file, r->win, want, off, &r->win_n, err);
        r->unreadable |= rc < 0 || r->win_n < n;
        TS_TRY(rc);
        if (r->win_n < n)
            return ts_error_set(err, TS_EIO, "%s: short read at offset %" PRIu64, r->path, off + r->win_n);
    }
    *out = r->win + (off - r->win_off);
    *out_n = n;
    return 0;
}

/* Salvage tries every offset; most are rejected by their type, without computing a checksum. */
static bool is_type(uint8_t type)
{
    return type >= STO_WAL_POINTS && type <= STO_WAL_LAST_TYPE;
}

int sto_wal__record(struct sto_wal__reader *r, uint64_t off, const uint8_t **out_body, size_t *out_n,
                    struct ts_error *err)
{
    const uint8_t *p;
    size_t n;
    *out_n = 0;
    TS_TRY(look(r, off, STO_WAL_RECORD_HEAD_BYTES + 1, &p, &n, err));
    if (n < STO_WAL_RECORD_HEAD_BYTES + 1 || (r->problem && !is_type(p[STO_WAL_RECORD_HEAD_BYTES])))
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

int sto_wal__find_marks(struct sto_wal__reader *r, uint64_t off, struct ts_error *err)
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

/* A record with a valid checksum and invalid contents is not a torn write. */
static int nonsense(struct sto_wal__reader *r, uint64_t off, const char *what, struct ts_error *err)
{
    if (!r->problem)
        return ts_error_set(err, TS_ECORRUPT, "%s: record at offset %" PRIu64 " %s", r->path, off, what);
    r->problem(r, what);
    return 0;
}

/* The handle for the definition just read. NULL: its points are skipped, or *why has the reason. */
static const struct sto_series *handle_of(const struct sto_wal__reader *r, struct ts_error *why)
{
    const struct sto_wal_def *d = &r->def;
    if (!d->known)
        return r->ops->series(r->arg, d->id, d->metric, d->tags, d->n_tags, d->text, d->metric_len, why);
    if (r->ops->known)
        return r->ops->known(r->arg, d->id, why);
    ts_error_set(why, TS_ECORRUPT, "refers to series %u by number, but there is no catalog", d->id);
    return NULL;
}

static int give_number(struct sto_wal__reader *r, uint32_t number, const struct sto_series *s,
                       struct ts_error *err)
{
    if (number >= r->series_cap) {
        uint32_t cap = number < 512 ? 1024 : number * 2;
        const struct sto_series **v = ts_try_realloc(r->series, cap * sizeof(*v));
        if (!v)
            return ts_error_set(err, TS_ENOMEM, "no memory for %u series in %s", cap, r->path);
        memset(v + r->series_cap, 0, (cap - r->series_cap) * sizeof(*v));
        r->series = v;
        r->series_cap = cap;
    }
    r->series[number] = s;
    r->n_series = number >= r->n_series ? number + 1 : r->n_series;
    return 0;
}

/* A record of definitions; all types but the first state the number of the first definition. */
static int take_series(struct sto_wal__reader *r, uint64_t off, enum sto_wal_record type, const uint8_t *p,
                       const uint8_t *end, struct ts_error *err)
{
    uint64_t number = r->n_series;
    uint32_t before = 0;
    bool sure = type != STO_WAL_SERIES || !r->gap;
    if (type != STO_WAL_SERIES && (!(p = ts_get_varint(p, end, &number)) || number > UINT32_MAX / 4 ||
                                   (!r->gap && number != r->n_series)))
        return nonsense(r, off, "defines series in the wrong order", err);
    while (p < end) {
        if (!(p = sto_wal__def_get(p, end, type, &before, &r->def)))
            return nonsense(r, off, "has a malformed series definition", err);
        struct ts_error why = {0};
        const struct sto_series *s = handle_of(r, &why);
        if (!s && why.code < 0 && !r->problem)
            return ts_error_set(err, why.code, "%s: record at offset %" PRIu64 ": %s", r->path, off,
                                why.text);
        if (!s && r->problem)
            r->problem(r, why.code < 0 ? why.text : "defines a series that the catalog does not know");
        if (sure)
            TS_TRY(give_number(r, (uint32_t)number++, s, err));
    }
    return 0;
}

/* Times of the points that were read last. */
static void note_times(struct sto_wal__reader *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        r->from_ms = r->points[i].ts_ms < r->from_ms ? r->points[i].ts_ms : r->from_ms;
        r->to_ms = r->points[i].ts_ms > r->to_ms ? r->points[i].ts_ms : r->to_ms;
    }
}

/* Pass on the points that were gathered. */
static int give_points(struct sto_wal__reader *r, size_t n, struct ts_error *err)
{
    if (n == 0)
        return 0;
    if (r->problem)
        note_times(r, n);
    r->n_points += n;
    return r->ops->points(r->arg, r->seg->head.name.gen, r->points, n, err);
}

static int take_points(struct sto_wal__reader *r, uint64_t off, const uint8_t *p, const uint8_t *end,
                       struct ts_error *err)
{
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    r->from_ms = INT64_MAX;
    r->to_ms = INT64_MIN;
    if (r->gap) /* numbers that a lost record defined: their operations are skipped */
        TS_TRY(give_number(r, BLANK_SERIES, NULL, err));
    while (p < end) {
        size_t n, n_skipped;
        p = sto_wal__points_get(p, end, &ctx, r->series, r->n_series, r->points, STO_WAL__OUT_POINTS, &n,
                                &n_skipped);
        if (!p)
            return nonsense(r, off, "has a malformed operation", err);
        r->n_skipped += n_skipped;
        TS_TRY(give_points(r, n, err));
    }
    return 0;
}

/* A record of operations with an id and sequences. It is checked as a whole first, so that ops get all of it or nothing. */
static int take_once(struct sto_wal__reader *r, uint64_t off, const uint8_t *p, const uint8_t *end,
                     struct ts_error *err)
{
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    struct sto_wal_once once;
    size_t n, n_skipped, n_points = 0;
    uint64_t seq = 0, n_ops = 0;
    if (!sto_wal__once_get(p, end, &once))
        return nonsense(r, off, "has malformed sequences", err);
    r->from_ms = INT64_MAX;
    r->to_ms = INT64_MIN;
    if (r->gap)
        TS_TRY(give_number(r, BLANK_SERIES, NULL, err));
    for (p = once.ops; p && p < end; n_ops += n + n_skipped)
        p = sto_wal__points_get(p, end, &ctx, r->series, r->n_series, r->points, STO_WAL__OUT_POINTS, &n,
                                &n_skipped);
    if (!p || n_ops != once.n)
        return nonsense(r, off, "has a malformed operation", err);
    ctx = (struct sto_wal_ctx)STO_WAL_CTX_INIT;
    for (p = once.ops; p < end;) {
        p = sto_wal__points_get(p, end, &ctx, r->series, r->n_series, r->points + n_points, 1, &n,
                                &n_skipped);
        once.seqs = sto_wal__seq_get(once.seqs, once.ops, &seq);
        r->n_skipped += n_skipped;
        if (n == 0)
            continue;
        if (r->ops->once)
            TS_TRY(r->ops->once(r->arg, r->points[n_points].series->shard, &once.id, seq, err));
        if (++n_points < STO_WAL__OUT_POINTS)
            continue;
        TS_TRY(give_points(r, n_points, err));
        n_points = 0;
    }
    return give_points(r, n_points, err);
}

int sto_wal__take(struct sto_wal__reader *r, uint64_t off, const uint8_t *body, size_t n_body,
                  struct ts_error *err)
{
    uint64_t mark;
    switch (body[0]) {
    case STO_WAL_POINTS:
        return take_points(r, off, body + 1, body + n_body, err);
    case STO_WAL_ONCE:
        return take_once(r, off, body + 1, body + n_body, err);
    case STO_WAL_SERIES:
    case STO_WAL_SERIES_FROM:
    case STO_WAL_SERIES_HEADED:
        return take_series(r, off, (enum sto_wal_record)body[0], body + 1, body + n_body, err);
    case STO_WAL_MARK:
        if (!sto_wal__mark_get(body - STO_WAL_RECORD_HEAD_BYTES, r->salt, &mark) || mark > off)
            return r->problem ? 0 /* bytes before it are missing, which is reported */
                              : nonsense(r, off, "has a malformed mark", err);
        r->mark_off = mark > r->mark_off ? mark : r->mark_off;
        return 0;
    default:
        return ts_error_set(err, TS_EVERSION, "%s: record at offset %" PRIu64 " has unknown type %u", r->path,
                            off, body[0]);
    }
}

/* Does a segment have a valid mark anywhere? It need not be the open one. 1, 0, < 0. */
static int has_mark(struct sto_wal__reader *r, const struct sto_wal__found *f, struct ts_error *err)
{
    struct ts_file *file = r->file, *other;
    uint64_t limit = r->limit, mark_off = r->mark_off;
    uint32_t salt = r->salt;
    struct ts_unread unread = r->unread;
    char path[PATH_MAX];
    sto_wal__path(r->dir, &f->head.name, path);
    TS_TRY(r->fs->open(r->fs, path, TS_OPEN_READ, &other, err));
    r->file = other;
    r->limit = f->size_bytes;
    r->salt = sto_wal__salt(&f->head.name);
    r->unread = (struct ts_unread){0};
    r->win_n = 0;
    r->any_mark = false;
    int rc = sto_wal__find_marks(r, STO_WAL_HEADER_BYTES, err);
    r->fs->close(r->file, NULL);
    r->file = file;
    r->limit = limit;
    r->mark_off = mark_off;
    r->salt = salt;
    r->unread = unread;
    r->win_n = 0;
    return rc < 0 ? rc : r->any_mark;
}

int sto_wal__is_known(struct sto_wal__reader *r, const struct sto_wal__found *f, struct ts_error *err)
{
    return !f->next ? 0 : f->next->head.before_on_disk ? 1 : has_mark(r, f->next, err);
}

int sto_wal__open(struct sto_wal__reader *r, struct sto_wal__found *f, struct ts_error *err)
{
    r->seg = f;
    r->salt = sto_wal__salt(&f->head.name);
    r->limit = f->known_bytes && f->known_bytes < f->size_bytes
                   ? f->known_bytes
                   : f->size_bytes; /* bytes after a known end are left from an append that failed */
    r->mark_off = 0;
    r->unread = (struct ts_unread){0};
    r->win_n = 0;
    if (r->n_series)
        memset(r->series, 0, r->n_series * sizeof(*r->series));
    r->n_series = 0;
    r->gap = false;
    r->from_ms = INT64_MAX;
    r->to_ms = INT64_MIN;
    sto_wal__path(r->dir, &f->head.name, r->path);
    return r->fs->open(r->fs, r->path, TS_OPEN_READ, &r->file, err);
}

void sto_wal__close(struct sto_wal__reader *r)
{
    r->fs->close(r->file, NULL);
    r->file = NULL;
}

void sto_wal__reader_release(struct sto_wal__reader *r)
{
    ts_free(r->win);
    ts_free(r->series);
}
