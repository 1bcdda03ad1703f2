/*
 * wal_salvage.c - reads a write-ahead log that may be damaged, and continues after damaged parts.
 *
 * After a bad record, each following byte is tried as the beginning of a valid one. Length, type and a checksum that
 * starts from the segment's name make a false match unlikely (2^-32 for each try).
 *
 * Threads    one
 */
#include "storage/engine/log/wal_read_int.h"

#include "base/mem.h"

#define HOLES 64 /* of one segment that are distinguished */
#define TRIES 3  /* some errors of a disk pass */

/* A range that can't be read; only the end of the segment shows whether it is torn or damaged. */
struct hole {
    uint64_t off, n;
    int64_t from_ms, to_ms; /* of the records before it */
};

/* A running salvage. The reader is its first member, so that the callback `problem` can reach the rest. */
struct salvage {
    struct sto_wal__reader reader;
    const struct sto_wal_salvage_ops *ops;
    struct sto_wal_salvage_result *out;
    uint64_t good_end; /* end of the last good record of the segment */
    struct hole holes[HOLES];
    size_t n_holes;
};

static void damage(struct salvage *s, const char *path, const char *what)
{
    s->out->damaged = true;
    if (s->ops->damage)
        s->ops->damage(s->reader.arg, path, what);
}

static void on_problem(struct sto_wal__reader *r, const char *what)
{
    damage((struct salvage *)r, r->path, what);
}

static void add_hole(struct salvage *s, uint64_t off, uint64_t n)
{
    if (s->n_holes < HOLES)
        s->holes[s->n_holes++] = (struct hole){off, n, s->reader.from_ms, s->reader.to_ms};
}

static void report_hole(struct salvage *s, const struct hole *h)
{
    struct sto_wal__reader *r = &s->reader;
    bool below = h->off < r->seg->known_bytes, known = below && sto_wal__is_known(r, r->seg, NULL) == 1;
    uint64_t safe = known && r->seg->known_bytes > r->mark_off ? r->seg->known_bytes : r->mark_off;
    bool unread = r->unread.n_bytes && h->off < r->unread.end_off && h->off + h->n > r->unread.first_off;
    bool torn = h->off >= safe && !unread;
    s->out->damaged |= !torn;
    /* opening the store would ignore the rest of this segment, or the next segment */
    s->out->beyond_torn |= torn && (s->good_end > h->off || below);
    if (s->ops->bad)
        s->ops->bad(r->arg, r->path, h->off, h->n, torn, h->from_ms, h->to_ms);
}

/* Find the next valid record from off on: *out_off is its place, or the end. */
static int next_record(struct sto_wal__reader *r, uint64_t off, uint64_t *out_off, const uint8_t **out_body,
                       size_t *out_n, struct ts_error *err)
{
    *out_n = 0;
    for (; off < r->limit; off++) {
        TS_TRY(sto_wal__record(r, off, out_body, out_n, err));
        if (*out_n)
            break;
    }
    *out_off = off;
    return 0;
}

static int read_records(struct salvage *s, struct ts_error *err)
{
    struct sto_wal__reader *r = &s->reader;
    uint64_t off = STO_WAL_HEADER_BYTES;
    s->n_holes = 0;
    s->good_end = 0;
    if (r->seg->head_rc < 0)
        add_hole(s, 0, r->limit < off ? r->limit : off);
    while (off < r->limit) {
        const uint8_t *body;
        uint64_t at;
        size_t n;
        TS_TRY(next_record(r, off, &at, &body, &n, err));
        if (at > off) {
            add_hole(s, off, at - off);
            r->gap = true;
        }
        off = at;
        if (n == 0)
            break;
        TS_TRY(sto_wal__take(r, off, body, n, err));
        s->good_end = off += STO_WAL_RECORD_HEAD_BYTES + n;
    }
    if (r->limit < r->seg->known_bytes)
        add_hole(s, r->limit, r->seg->known_bytes - r->limit);
    for (size_t i = 0; i < s->n_holes; i++)
        report_hole(s, &s->holes[i]);
    return 0;
}

static int read_segment(struct salvage *s, struct sto_wal__found *f, struct ts_error *err)
{
    struct sto_wal__reader *r = &s->reader;
    struct ts_error why = {0};
    r->unreadable = false;
    if (f->head_rc == TS_EIO) {
        char path[PATH_MAX];
        sto_wal__path(r->dir, &f->head.name, path);
        damage(s, path, "can't be read");
        return 0;
    }
    int rc = TS_EIO;
    for (int i = 0; rc == TS_EIO && i < TRIES; i++)
        rc = sto_wal__open(r, f, &why);
    bool unreadable = rc == TS_EIO || rc == TS_ENOTFOUND;
    if (rc == 0) {
        s->out->n_segments++;
        rc = r->limit || f->known_bytes ? read_records(s, &why) : 0;
        unreadable = r->unreadable;
        sto_wal__close(r);
        if (s->ops->read)
            s->ops->read(r->arg, f->size_bytes);
    }
    if (unreadable) {
        damage(s, r->path, "can't be read");
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* As sto_wal__head_read; errors of a disk that pass cost nothing. */
static int read_head(const struct sto_wal__reader *r, struct sto_wal__found *f, struct ts_error *err)
{
    int rc = TS_EIO;
    for (int i = 0; rc == TS_EIO && i < TRIES; i++)
        rc = sto_wal__head_read(r->fs, r->dir, f, err);
    return rc;
}

/* Read the headers of all segments that are not flushed. One that can't be read costs its segment at most. */
static int read_heads(struct salvage *s, struct sto_wal__list *l, uint64_t flushed_gen, struct ts_error *err)
{
    const struct sto_wal__reader *r = &s->reader;
    for (size_t i = 0; i < l->n; i++) {
        struct ts_error why = {0};
        int rc = l->v[i].head.name.gen > flushed_gen ? read_head(r, &l->v[i], &why) : 0;
        if (rc == TS_EVERSION || rc == TS_ENOMEM || rc == TS_EMFILE) {
            if (err)
                *err = why;
            return rc;
        }
        if (rc < 0) /* a foreign header, or one on a bad sector: its records are looked for */
            l->v[i].head_rc = rc == TS_ECORRUPT || l->v[i].size_bytes ? TS_ENOTFOUND : TS_EIO;
    }
    return 0;
}

static void check_chain(struct salvage *s, const struct sto_wal__list *l, uint64_t flushed_gen)
{
    for (size_t i = 0; i < l->n; i++) {
        struct sto_wal_name name;
        struct sto_wal__found *prev;
        char path[PATH_MAX];
        if (l->v[i].head.name.gen <= flushed_gen || !sto_wal__prev(l, &l->v[i], flushed_gen, &name, &prev) ||
            prev)
            continue;
        sto_wal__path(s->reader.dir, &name, path);
        damage(s, path, "is missing");
    }
}

int sto_wal_salvage(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                    const struct sto_wal_salvage_ops *ops, void *arg, struct sto_wal_salvage_result *out,
                    struct ts_error *err)
{
    *out = (struct sto_wal_salvage_result){0};
    struct sto_wal__list l = {0};
    TS_TRY(sto_wal__list_read(fs, dir, &l, err));
    out->max_run = l.max_run;
    out->max_gen = l.max_gen;
    struct salvage *s = ts_xcalloc(1, sizeof *s);
    s->reader.fs = fs;
    s->reader.dir = dir;
    s->reader.ops = &ops->replay;
    s->reader.arg = arg;
    s->reader.problem = on_problem;
    s->ops = ops;
    s->out = out;
    int rc = read_heads(s, &l, flushed_gen, err);
    if (rc == 0)
        check_chain(s, &l, flushed_gen);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (l.v[i].head.name.gen > flushed_gen)
            rc = read_segment(s, &l.v[i], err);
    out->n_points = s->reader.n_points;
    out->n_skipped = s->reader.n_skipped;
    sto_wal__reader_release(&s->reader);
    ts_free(s);
    ts_free(l.v);
    return rc;
}
