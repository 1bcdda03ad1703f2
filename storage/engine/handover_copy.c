/*
 * handover_copy.c - copies bulk files and checks the copies.
 *
 * The copies are checked, not the originals, since whoever writes a staging folder may change it at any time.
 *
 * Threads    see handover.h
 */
#include "base/fs_regular.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/bulk/pair.h"
#include "storage/engine/check/fsck_file.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/handover.h"
#include "storage/versions.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)

/* --- copying --- */

static bool cancelled(const struct sto_handover *h)
{
    return h->cancel && atomic_load_explicit(h->cancel, memory_order_relaxed);
}

/* Copy the first n bytes. */
static int copy_bytes(struct sto_engine *e, const struct sto_handover *h, struct ts_file *from,
                      struct ts_file *to, uint64_t n, const char *path, struct ts_error *err)
{
    char *piece = ts_xmalloc(PIECE_BYTES);
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < n;) {
        size_t want = n - at < PIECE_BYTES ? (size_t)(n - at) : PIECE_BYTES, got = 0;
        rc = e->fs->pread(from, piece, want, at, &got, err);
        if (rc == 0 && got < want)
            rc = ts_error_set(err, TS_EINVAL, "%s has become shorter", path);
        if (rc == 0)
            rc = e->fs->append(to, piece, got, err);
        if (rc == 0 && cancelled(h))
            rc = ts_error_set(err, TS_ECANCELLED, "the bulk load was given up");
        at += got;
    }
    ts_free(piece);
    return rc;
}

/* Copy one file of a pair; its footer gets the number and the generation of the copy. */
static int copy_file(struct sto_engine *e, const struct sto_handover *h, const char *from, uint64_t from_no,
                     const struct sto_sst_info *copy, enum sto_sst_kind kind, struct ts_error *err)
{
    struct sto_sst_footer foot;
    uint8_t bytes[STO_SST_FOOTER_BYTES];
    uint64_t size = 0;
    struct ts_file *in = NULL, *out = NULL;
    TS_TRY(sto_pair_footer(e->fs, from, from_no, kind, &foot, &size, err));
    char *in_path = sto_sst__path(from, from_no, kind),
         *out_path = sto_sst__path(e->files_dir, copy->file_no, kind);
    int rc = foot.version == sto_sst__version(foot.level)
                 ? ts_fs_open_regular(e->fs, in_path, &in, err)
                 : ts_error_set(err, TS_EINVAL, "%s was written by another version of tsd", in_path);
    if (rc == 0)
        rc = e->fs->open(e->fs, out_path, TS_OPEN_CREATE, &out, err);
    if (rc == 0)
        rc = copy_bytes(e, h, in, out, size - sizeof bytes, in_path, err);
    foot.info.file_no = copy->file_no;
    foot.info.gen_lo = foot.info.gen_hi = copy->gen_lo;
    foot.made_ms = ts_clock_ms();
    foot.carried_gen = 0;
    sto_sst__put_footer(&foot, bytes);
    if (rc == 0)
        rc = e->fs->append(out, bytes, sizeof bytes, err);
    if (rc == 0)
        rc = e->fs->sync(out, err);
    if (out) {
        int closed = e->fs->close(out, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : closed;
    }
    if (in)
        (void)e->fs->close(in, NULL);
    ts_free(in_path);
    ts_free(out_path);
    return rc;
}

/* --- checking --- */

struct check {
    const struct sto_handover *h;
    const char *from;               /* folder of the original */
    uint64_t from_no;               /* its number */
    const struct sto_floors *marks; /* NULL = none */
    uint64_t n_rows;
    uint32_t metric, series; /* of the last row, which the store has; metric 0 = none */
    int64_t mark_ms;         /* of that series */
    struct ts_error why;     /* the first thing that is wrong; code 0 = nothing */
};

static int bad(struct check *c, const char *what)
{
    if (!c->why.code)
        ts_error_set(&c->why, TS_EINVAL, "%s/%08" PRIx64 ": %s", c->from, c->from_no, what);
    return TS_EINVAL;
}

#define INFINITE (0x7ffull << 52) /* exponent of a double that is no number, or infinite */

/* What a put, or the value of a version, can be. */
static bool is_good_value(uint32_t meta, int64_t m)
{
    uint8_t kind = sto_meta_kind(meta), exp = sto_meta_exp(meta);
    if (sto_meta_off(meta) >= TS_HOUR_MS)
        return false;
    if (kind == TS_NUM_DEC)
        return exp <= TS_NUM_MAX_EXP;
    return exp == 0 && (kind == TS_NUM_INT || (kind == TS_NUM_RAW && ((uint64_t)m & INFINITE) != INFINITE));
}

static bool is_good_row(const struct sto_cells *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (sto_meta_op(c->meta[i]) != STO_OP_PUT || !is_good_value(c->meta[i], c->m[i]) ||
            (i && !sto_meta_follows(c->meta[i - 1], c->meta[i])))
            return false;
    return true;
}

/* Is each cell of a row of versions a stamp, or the value that belongs to the one before it? */
static bool are_good_versions(const struct sto_cells *c)
{
    if (c->n % 2)
        return false;
    for (uint32_t i = 0; i < c->n; i += 2) {
        uint32_t stamp = c->meta[i], value = c->meta[i + 1];
        if (!sto_is_stamp(stamp) || sto_is_stamp(value) || sto_meta_op(value) != STO_OP_KEEP ||
            sto_meta_off(stamp) != sto_meta_off(value) || !is_good_value(value, c->m[i + 1]) ||
            (i && !sto_meta_follows(c->meta[i - 1], stamp)))
            return false;
    }
    return true;
}

/* Do all points of a row lie in what is replaced? The first and the last of them tell, since the others are between them. *out_ms: the time of
 * the first one that does not. */
static bool is_replaced(const struct sto_bulk_replace *r, const struct sto_key *key,
                        const struct sto_cells *cells, int64_t *out_ms)
{
    int64_t at_ms = key->hour * TS_HOUR_MS;
    bool is_series = roaring_bitmap_contains(r->series, key->series);
    uint32_t i = 0;
    *out_ms = at_ms + sto_meta_off(cells->meta[0]);
    if (!is_series || *out_ms < r->from_ms)
        return false;
    if (at_ms + sto_meta_off(cells->meta[cells->n - 1]) <= r->to_ms)
        return true;
    while (at_ms + sto_meta_off(cells->meta[i]) <= r->to_ms)
        i++;
    *out_ms = at_ms + sto_meta_off(cells->meta[i]);
    return false;
}

/* The file has a point that is not replaced. */
static int not_replaced(struct check *c, const struct sto_key *key, int64_t ts_ms)
{
    struct ts_buf text;
    if (c->why.code)
        return TS_EINVAL;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "the point of ");
    c->h->name(c->h->arg, key->series, &text);
    ts_buf_str(&text, " at ");
    ts_time_print(NULL, ts_ms, ts_ms % 1000 != 0, &text);
    ts_buf_str(&text, roaring_bitmap_contains(c->h->replace->series, key->series)
                          ? " is outside of the times that are replaced"
                          : " is of no series that is replaced");
    (void)ts_error_set(&c->why, TS_EINVAL, "%.*s", (int)text.n, text.p);
    ts_buf_release(&text);
    return TS_EINVAL;
}

/* The time before which a series has summaries in place of points. */
static int64_t mark_of(const struct sto_floors *marks, uint32_t series)
{
    for (size_t i = 0; marks && i < marks->n; i++)
        if (roaring_bitmap_contains(marks->at[i].series, series))
            return marks->at[i].cutoff_ms;
    return STO_MIN_TS_MS;
}

/* A point of the hour would never be in an answer. */
static int is_summarised(struct check *c, const struct sto_key *key)
{
    struct ts_buf text;
    if (c->why.code)
        return TS_EINVAL;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, "points of ");
    c->h->name(c->h->arg, key->series, &text);
    ts_buf_str(&text, " at ");
    ts_time_print(NULL, key->hour * TS_HOUR_MS, false, &text);
    ts_buf_str(&text, " have expired, and a summary is in their place since the import began");
    if (!c->h->replace)
        ts_buf_printf(&text, ": tsd import --bulk --cancel %s, and import again, which leaves them out",
                      c->h->id);
    (void)ts_error_set(&c->why, TS_EINVAL, "%.*s", (int)text.n, text.p);
    ts_buf_release(&text);
    return TS_EINVAL;
}

static int check_row(void *arg, const struct sto_key *key, const struct sto_cells *cells,
                     struct ts_error *err)
{
    struct check *c = arg;
    int64_t outside_ms;
    (void)err;
    if (key->hour < sto_hour(STO_MIN_TS_MS) || key->hour >= sto_hour(STO_MAX_TS_MS))
        return bad(c, "has a time that a point cannot have");
    if (key->series != c->series || key->metric != c->metric) {
        if (!c->h->known(c->h->arg, key->metric, key->series))
            return bad(c, "has points of a series that this store does not have");
        c->metric = key->metric;
        c->series = key->series;
        c->mark_ms = mark_of(c->marks, key->series);
    }
    if (key->hour * TS_HOUR_MS < c->mark_ms)
        return is_summarised(c, key);
    if (c->h->replace && !is_replaced(c->h->replace, key, cells, &outside_ms))
        return not_replaced(c, key, outside_ms);
    if (sto_cells_are_kept(cells) ? !are_good_versions(cells) : !is_good_row(cells))
        return bad(c, "has a point that is not valid");
    if ((++c->n_rows & 255) == 0 && cancelled(c->h))
        return ts_error_set(&c->why, TS_ECANCELLED, "the bulk load was given up");
    return 0;
}

static int check_tomb(void *arg, const struct sto_tomb *tomb, struct ts_error *err)
{
    (void)tomb;
    (void)err;
    return bad(arg, "has deletes");
}

static void on_damage(void *arg, const char *path, uint64_t off, const char *what)
{
    (void)path;
    (void)off;
    bad(arg, what);
}

static void on_lost(void *arg, const struct sto_key *first, const struct sto_key *last, uint64_t n_points,
                    const roaring_bitmap_t *bitmap)
{
    (void)first;
    (void)last;
    (void)n_points;
    (void)bitmap;
    bad(arg, "has rows that cannot be read");
}

static int check_copy(struct sto_engine *e, struct check *c, struct sto_sst_info *copy, struct ts_error *err)
{
    static const struct sto_fsck_file_ops ops = {
        .row = check_row, .tomb = check_tomb, .damage = on_damage, .lost = on_lost};
    struct sto_fsck_file found;
    struct ts_error why = {0};
    int rc = sto_fsck_file_walk(e->fs, e->files_dir, copy->file_no, NULL, &ops, c, &found, &why);
    if (c->why.code)
        why = c->why;
    else if (rc == 0 && (found.damaged || !found.readable || !found.has_footer || !found.n_rows ||
                         found.n_rows != found.info.n_rows || found.n_points != found.info.n_points))
        (void)bad(c, "is no complete file of points"), why = c->why;
    else if (rc == 0) {
        *copy = found.info;
        return 0;
    }
    if (err)
        *err = why;
    return why.code ? why.code : rc;
}

int sto_handover__copy(struct sto_engine *e, const struct sto_handover *h, const char *from,
                       const struct sto_sst_info *info, const struct sto_floors *marks,
                       struct sto_sst_info *copy, struct ts_error *err)
{
    struct check c = {.h = h, .from = from, .from_no = info->file_no, .marks = marks};
    TS_TRY(copy_file(e, h, from, info->file_no, copy, STO_SST_KIND_POINTS, err));
    if (info->s_bytes)
        TS_TRY(copy_file(e, h, from, info->file_no, copy, STO_SST_KIND_SUMS, err));
    return check_copy(e, &c, copy, err);
}
