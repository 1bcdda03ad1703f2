/*
 * sst_write.c - writes sorted rows to a pair of files.
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Threads    a writer belongs to one thread
 * Not here   which rows (flush.c, compact.c), listing the files (manifest.c), syncing the folder (its
 * caller)
 */
#include <roaring/roaring.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/codecs/codec.h"
#include "storage/codecs/sums.h"
#include "storage/engine/files/days_int.h"
#include "storage/engine/files/sst_int.h"

#define BUFFER_BYTES   (256u << 10) /* bytes collected before they are written */
#define SUMS_MIN_RATIO 16u          /* points per row from which summaries of a metric are written */
/* after this many rows of a metric with less than half of the ratio, summaries are given up */
#define SUMS_EARLY 16384u

/* One file being written. */
struct out_file {
    struct ts_file *file;         /* NULL until the first bytes are written */
    char *path;                   /* owned */
    bool created;                 /* the file exists */
    struct ts_buf buf;            /* bytes that are not yet written */
    uint64_t bytes;               /* length, with what is in buf */
    struct sto_sst_block *blocks; /* index so far */
    size_t n_blocks, cap_blocks;
};

struct sto_sst_writer {
    const struct ts_fs *fs;                  /* borrowed */
    struct out_file t, s;                    /* points, summaries */
    int64_t made_ms;                         /* for the footer */
    uint64_t carried_gen;                    /* the same */
    unsigned level;                          /* of zstd; 0 = the usual one */
    uint32_t times;                          /* blocks are so many times as large as usual */
    struct sto_enc *enc;                     /* open block of points */
    struct sto_sums_enc *sums;               /* open block of summaries; NULL: no summaries are written */
    uint64_t n_metric_rows, n_metric_points; /* of the present metric */
    uint64_t n_summed;                       /* points of earlier metrics with summaries */
    struct sto_key t_first;                  /* first key of the open block */
    struct sto_key s_first;                  /* the same of the summaries */
    struct sto_key last;                     /* last key */
    struct sto_tomb *tombs;                  /* in order of arrival; sorted at the end */
    size_t n_tombs, cap_tombs;
    roaring_bitmap_t *series; /* series with rows */
    struct sto_sst_info info; /* counts and times so far */
    struct ts_slice about;    /* derived file: what identifies it; borrowed */
};

static int open_file(struct sto_sst_writer *w, struct out_file *f, struct ts_error *err)
{
    if (f->file)
        return 0;
    TS_TRY(w->fs->open(w->fs, f->path, TS_OPEN_CREATE, &f->file, err));
    f->created = true;
    return 0;
}

static int drain(struct sto_sst_writer *w, struct out_file *f, struct ts_error *err)
{
    TS_TRY(open_file(w, f, err));
    if (f->buf.n)
        TS_TRY(w->fs->append(f->file, f->buf.p, f->buf.n, err));
    ts_buf_clear(&f->buf);
    return 0;
}

static int put(struct sto_sst_writer *w, struct out_file *f, const void *p, size_t n, struct ts_error *err)
{
    if (f->buf.n && f->buf.n + n > BUFFER_BYTES)
        TS_TRY(drain(w, f, err));
    if (ts_buf_append(&f->buf, p, n) < 0)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for %zu bytes", f->path, n);
    f->bytes += n;
    return 0;
}

static int begin_file(struct sto_sst_writer *w, struct out_file *f, struct ts_error *err)
{
    uint8_t header[STO_SST_HEADER_BYTES];
    sto_sst__put_header(header, w->level);
    return put(w, f, header, sizeof header, err);
}

static int put_block(struct sto_sst_writer *w, struct out_file *f, struct ts_slice block,
                     const struct sto_key *first, struct ts_error *err)
{
    if (f->n_blocks == f->cap_blocks) {
        f->cap_blocks = f->cap_blocks ? f->cap_blocks * 2 : 64;
        f->blocks = ts_xrealloc(f->blocks, f->cap_blocks * sizeof *f->blocks);
    }
    f->blocks[f->n_blocks++] = (struct sto_sst_block){
        .first = *first, .last = w->last, .off = f->bytes, .len = (uint32_t)block.n, .crc = ts_ld32(block.p)};
    return put(w, f, block.p, block.n, err);
}

static int close_points(struct sto_sst_writer *w, struct ts_error *err)
{
    return sto_enc_rows(w->enc) ? put_block(w, &w->t, sto_enc_finish(w->enc), &w->t_first, err) : 0;
}

static int close_sums(struct sto_sst_writer *w, struct ts_error *err)
{
    return w->sums && sto_sums_enc_rows(w->sums)
               ? put_block(w, &w->s, sto_sums_enc_finish(w->sums), &w->s_first, err)
               : 0;
}

static void release_file(struct out_file *f)
{
    ts_free(f->path);
    ts_free(f->blocks);
    ts_buf_release(&f->buf);
}

static void writer_free(struct sto_sst_writer *w)
{
    release_file(&w->t);
    release_file(&w->s);
    sto_sums_enc_free(w->sums); /* first: it borrows the contexts of enc */
    sto_enc_free(w->enc);
    ts_free(w->tombs);
    if (w->series)
        roaring_bitmap_free(w->series);
    ts_free(w);
}

/* Close and remove what was written of a file. */
static void drop_file(struct sto_sst_writer *w, struct out_file *f)
{
    if (f->file)
        (void)w->fs->close(f->file, NULL);
    if (f->created)
        (void)w->fs->unlink(w->fs, f->path, NULL);
    f->file = NULL;
    f->created = false;
}

void sto_sst_writer_abort(struct sto_sst_writer *w)
{
    if (!w)
        return;
    drop_file(w, &w->t);
    drop_file(w, &w->s);
    writer_free(w);
}

int sto_sst_writer_new(const struct ts_fs *fs, const char *dir, uint64_t file_no,
                       struct sto_sst_writer **out_w, struct ts_error *err)
{
    *out_w = NULL;
    struct sto_sst_writer *w = ts_xcalloc(1, sizeof *w);
    w->fs = fs;
    w->times = 1;
    w->t.path = sto_sst__path(dir, file_no, STO_SST_KIND_POINTS);
    w->s.path = sto_sst__path(dir, file_no, STO_SST_KIND_SUMS);
    w->enc = sto_enc_new();
    w->sums = sto_sums_enc_new();
    sto_sums_enc_share(w->sums, w->enc);
    w->series = roaring_bitmap_create();
    if (!w->series)
        TS_BUG("no memory for a bitmap");
    w->info = (struct sto_sst_info){.file_no = file_no,
                                    .min_ms = INT64_MAX,
                                    .max_ms = INT64_MIN,
                                    .tomb_min_ms = INT64_MAX,
                                    .tomb_max_ms = INT64_MIN};
    int rc = begin_file(w, &w->t, err);
    rc = rc < 0 ? rc : begin_file(w, &w->s, err);
    /* so that a folder that can't be written to is an error at once */
    rc = rc < 0 ? rc : open_file(w, &w->t, err);
    if (rc < 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    *out_w = w;
    return 0;
}

int sto_sst_writer_set_level(struct sto_sst_writer *w, unsigned level, struct ts_error *err)
{
    if (w->info.n_rows)
        TS_BUG("a file has rows before its level is set");
    w->level = level;
    w->times = level >= STO_LEVEL_BIG ? STO_BLOCK_TIMES : 1;
    sto_enc_set_level(w->enc, level);
    struct out_file *files[2] = {&w->t, &w->s};
    for (int i = 0; i < 2; i++) { /* the header tells the version; it is still in the buffer */
        ts_buf_clear(&files[i]->buf);
        files[i]->bytes = 0;
        TS_TRY(begin_file(w, files[i], err));
    }
    return 0;
}

int sto_sst_writer_set_rough(struct sto_sst_writer *w, struct ts_error *err)
{
    TS_TRY(sto_sst_writer_set_level(w, STO_LEVEL_ROUGH, err));
    sto_sums_enc_free(w->sums);
    w->sums = NULL;
    return 0;
}

size_t sto_sst_writer_level_bytes(unsigned level)
{
    return level ? sto_enc_level_bytes(level) : 0; /* summaries use the contexts of points */
}

/* Are the rows of this metric so short that summaries save nothing? */
static bool sums_are_vain(const struct sto_sst_writer *w)
{
    return w->n_metric_rows >= SUMS_EARLY && w->n_metric_points * 2 < w->n_metric_rows * SUMS_MIN_RATIO;
}

/* All rows of a metric were written. */
static void end_metric(struct sto_sst_writer *w)
{
    if (w->n_metric_points >= w->n_metric_rows * SUMS_MIN_RATIO)
        w->n_summed += w->n_metric_points;
    w->n_metric_rows = w->n_metric_points = 0;
}

static int add_sum(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_summary *sum,
                   uint8_t exp, struct ts_error *err)
{
    if (sto_sums_enc_rows(w->sums) == STO_SUMS_ROWS)
        TS_TRY(close_sums(w, err)); /* w->last is still the previous row */
    if (sto_sums_enc_rows(w->sums) == 0)
        w->s_first = *key;
    sto_sums_enc_row(w->sums, key, sum, exp);
    return 0;
}

/* Add a row to the file of summaries, through which queries find rows. Every row has an entry there, without
 * a summary if summaries save nothing. */
static int put_summary(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_cells *cells,
                       struct ts_error *err)
{
    struct sto_summary sum;
    bool has = !sums_are_vain(w) && sto_summary_make(cells, &sum);
    uint8_t exp = 0;
    for (uint32_t i = 0; has && !sum.is_int && i < cells->n; i++) {
        uint8_t e = sto_meta_kind(cells->meta[i]) == TS_NUM_DEC ? sto_meta_exp(cells->meta[i]) : 0;
        exp = e > exp ? e : exp;
    }
    return add_sum(w, key, has ? &sum : NULL, exp, err);
}

int sto_sst_write_row(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_cells *cells,
                      struct ts_error *err)
{
    if (cells->n == 0 || (w->info.n_rows && sto_key_cmp(&w->last, key) >= 0))
        TS_BUG("row %u %u %d of %u cells is out of order", key->metric, key->series, key->hour, cells->n);
    if (w->last.metric != key->metric)
        end_metric(w);
    if (w->sums)
        TS_TRY(put_summary(w, key, cells, err));
    w->n_metric_rows++;
    w->n_metric_points += cells->n;
    for (uint32_t at = 0; at < cells->n;) {
        struct sto_cells piece = *cells;
        piece.n = cells->n - at < STO_BLOCK_MAX_POINTS ? cells->n - at : STO_BLOCK_MAX_POINTS;
        piece.meta += at;
        piece.m += at;
        if (sto_enc_points(w->enc) + piece.n > STO_BLOCK_MAX_POINTS)
            TS_TRY(close_points(w, err));
        if (sto_enc_rows(w->enc) == 0)
            w->t_first = *key;
        sto_enc_row(w->enc, key, &piece);
        w->last = *key;
        if (sto_enc_points(w->enc) >= w->times * STO_BLOCK_POINTS ||
            sto_enc_rows(w->enc) >= w->times * STO_BLOCK_ROWS)
            TS_TRY(close_points(w, err));
        at += piece.n;
    }
    if (w->info.n_rows == 0 || !roaring_bitmap_contains(w->series, key->series))
        roaring_bitmap_add(w->series, key->series);
    int64_t hour_ms = key->hour * TS_HOUR_MS;
    int64_t first = hour_ms + sto_meta_off(cells->meta[0]),
            last = hour_ms + sto_meta_off(cells->meta[cells->n - 1]);
    w->info.min_ms = first < w->info.min_ms ? first : w->info.min_ms;
    w->info.max_ms = last > w->info.max_ms ? last : w->info.max_ms;
    w->info.n_rows++;
    w->info.n_points += cells->n;
    return 0;
}

int sto_sst_write_tomb(struct sto_sst_writer *w, const struct sto_tomb *tomb, struct ts_error *err)
{
    if (tomb->from_ms > tomb->to_ms)
        return ts_error_set(err, TS_EINVAL, "%s: tombstone ends before it begins", w->t.path);
    if (w->n_tombs == w->cap_tombs) {
        w->cap_tombs = w->cap_tombs ? w->cap_tombs * 2 : 64;
        w->tombs = ts_xrealloc(w->tombs, w->cap_tombs * sizeof *w->tombs);
    }
    w->tombs[w->n_tombs++] = *tomb;
    w->info.tomb_min_ms = tomb->from_ms < w->info.tomb_min_ms ? tomb->from_ms : w->info.tomb_min_ms;
    w->info.tomb_max_ms = tomb->to_ms > w->info.tomb_max_ms ? tomb->to_ms : w->info.tomb_max_ms;
    return 0;
}

uint64_t sto_sst_writer_bytes(const struct sto_sst_writer *w)
{
    return w->t.bytes + w->s.bytes;
}

uint64_t sto_sst_writer_weight(const struct sto_sst_writer *w)
{
    return sto_sst_writer_bytes(w) + (uint64_t)sto_enc_points(w->enc) * 8;
}

void sto_sst_writer_note(struct sto_sst_writer *w, int64_t made_ms, uint64_t carried_gen)
{
    w->made_ms = made_ms;
    w->carried_gen = carried_gen;
}

/* Append a section; where it begins and its checksum go to the footer. */
static int put_section(struct sto_sst_writer *w, struct out_file *f, const char *p, size_t n,
                       uint64_t *out_off, uint32_t *out_crc, struct ts_error *err)
{
    *out_off = f->bytes;
    *out_crc = ts_crc32c(0, p, n);
    return n ? put(w, f, p, n, err) : 0;
}

/* Series bitmap in CRoaring's portable form. */
static void put_bitmap(struct sto_sst_writer *w, struct ts_buf *out)
{
    roaring_bitmap_run_optimize(w->series);
    size_t n = roaring_bitmap_portable_size_in_bytes(w->series);
    char *p = ts_buf_reserve(out, n);
    if (!p)
        TS_BUG("no memory for a bitmap of %zu bytes", n);
    out->n += roaring_bitmap_portable_serialize(w->series, p);
}

static int end_file(struct sto_sst_writer *w, struct out_file *f, enum sto_sst_kind kind,
                    struct ts_error *err)
{
    struct sto_sst_footer foot = {.kind = kind,
                                  .level = w->level,
                                  .n_blocks = (uint32_t)f->n_blocks,
                                  .made_ms = w->made_ms,
                                  .carried_gen = w->carried_gen,
                                  .info = w->info};
    struct ts_buf tombs, bitmap, index;
    uint8_t bytes[STO_SST_FOOTER_BYTES];
    ts_buf_init(&tombs, 0);
    ts_buf_init(&bitmap, 0);
    ts_buf_init(&index, 0);
    if (kind == STO_SST_KIND_POINTS) {
        sto_sst__put_tombs(&tombs, w->tombs, w->n_tombs, w->info.gen_lo);
        put_bitmap(w, &bitmap);
    } else {
        if (w->about.n && ts_buf_append(&bitmap, w->about.p, w->about.n) < 0)
            TS_BUG("no memory for what identifies a file");
        foot.info.n_tombs = 0;
        foot.info.tomb_min_ms = INT64_MAX;
        foot.info.tomb_max_ms = INT64_MIN;
    }
    sto_sst__put_index(&index, f->blocks, f->n_blocks);
    int rc = put_section(w, f, tombs.p, tombs.n, &foot.tombs_off, &foot.tombs_crc, err);
    if (rc == 0)
        rc = put_section(w, f, bitmap.p, bitmap.n, &foot.bitmap_off, &foot.bitmap_crc, err);
    if (rc == 0)
        rc = put_section(w, f, index.p, index.n, &foot.index_off, &foot.index_crc, err);
    sto_sst__put_footer(&foot, bytes);
    if (rc == 0)
        rc = put(w, f, bytes, sizeof bytes, err);
    ts_buf_release(&tombs);
    ts_buf_release(&bitmap);
    ts_buf_release(&index);
    if (rc == 0)
        rc = drain(w, f, err);
    return rc;
}

static int finish(struct sto_sst_writer *w, struct ts_error *err)
{
    TS_TRY(close_points(w, err));
    end_metric(w);
    /* the file of summaries would cost more than it saves */
    if (!w->sums || w->n_summed < w->info.n_rows || w->info.n_rows == 0) {
        sto_sums_enc_free(w->sums);
        w->sums = NULL;
        drop_file(w, &w->s);
    }
    TS_TRY(close_sums(w, err));
    if (w->n_tombs)
        qsort(w->tombs, w->n_tombs, sizeof *w->tombs, sto_sst__tomb_cmp);
    w->info.n_tombs = w->n_tombs;
    TS_TRY(end_file(w, &w->t, STO_SST_KIND_POINTS, err));
    if (w->sums)
        TS_TRY(end_file(w, &w->s, STO_SST_KIND_SUMS, err));
    TS_TRY(w->fs->sync(w->t.file, err));
    if (w->sums)
        TS_TRY(w->fs->sync(w->s.file, err));
    struct out_file *files[2] = {&w->t, &w->s};
    for (int i = 0; i < 2; i++) {
        struct ts_file *file = files[i]->file;
        files[i]->file = NULL;
        if (file)
            TS_TRY(w->fs->close(file, err));
    }
    w->info.t_bytes = w->t.bytes;
    w->info.s_bytes = w->sums ? w->s.bytes : 0;
    return 0;
}

int sto_sst_writer_finish(struct sto_sst_writer *w, uint64_t gen_lo, uint64_t gen_hi,
                          struct sto_sst_info *out_info, struct ts_error *err)
{
    w->info.gen_lo = gen_lo;
    w->info.gen_hi = gen_hi;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->n_tombs; i++) {
        struct sto_tomb *t = &w->tombs[i];
        t->gen = t->gen ? t->gen : gen_lo;
        if (t->gen < gen_lo || t->gen > gen_hi)
            rc = ts_error_set(err, TS_EINVAL, "%s: the generation of a tombstone is not one of its file",
                              w->t.path);
    }
    if (rc == 0)
        rc = finish(w, err);
    if (rc < 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    *out_info = w->info;
    writer_free(w);
    return 0;
}

/* --- files that are derived --- */

int sto_sst__sums_begin(struct sto_sst *sst, const char *path, struct sto_sst_writer **out_w,
                        struct ts_error *err)
{
    struct sto_sst_writer *w = ts_xcalloc(1, sizeof *w);
    *out_w = NULL;
    w->fs = sst->fs;
    w->s.path = ts_xstrdup(path);
    w->sums = sto_sums_enc_new();
    sto_sums_enc_favour_reads(w->sums);
    w->info = sst->info;
    int rc = w->fs->unlink(w->fs, w->s.path, err);
    if (rc == 0 || rc == TS_ENOTFOUND)
        rc = begin_file(w, &w->s, err);
    if (rc < 0)
        sto_sst_writer_abort(w);
    else
        *out_w = w;
    return rc;
}

uint8_t sto_sst__exponent(const struct sto_summary *s)
{
    const struct ts_num v[4] = {s->min, s->max, s->first, s->last};
    uint8_t exp = 0;
    for (int i = 0; i < 4; i++)
        exp = v[i].kind == TS_NUM_DEC && v[i].exp > exp ? v[i].exp : exp;
    return exp;
}

int sto_sst__write_sum(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_summary *sum,
                       uint8_t exp, struct ts_error *err)
{
    TS_TRY(add_sum(w, key, sum, exp, err));
    w->last = *key;
    return 0;
}

int sto_sst__sums_end(struct sto_sst_writer *w, enum sto_sst_kind kind, struct ts_slice about,
                      struct ts_error *err)
{
    w->about = about;
    int rc = close_sums(w, err);
    if (rc == 0)
        rc = end_file(w, &w->s, kind, err);
    if (rc == 0)
        rc = w->fs->sync(w->s.file, err);
    if (rc == 0) {
        struct ts_file *file = w->s.file;
        w->s.file = NULL;
        rc = w->fs->close(file, err);
    }
    if (rc < 0)
        sto_sst_writer_abort(w);
    else
        writer_free(w);
    return rc;
}
