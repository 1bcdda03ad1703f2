/*
 * fsck_file.c - reads a pair of sorted files that may be damaged, row by row.
 *
 * Threads    one thread a walk
 * Invariant  a row that is reported has passed the checksum of its block
 * Not here   finding blocks (fsck_blocks.c)
 */
#include "storage/engine/check/fsck_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "storage/engine/check/fsck_int.h"

/* Both files and the row being joined. */
struct pair {
    struct sto_fsck__walk w;
    struct sto_fsck__one t, s;
    roaring_bitmap_t *bitmap; /* of the file; NULL: damaged */
    roaring_bitmap_t *seen;   /* series with rows that were read */
    bool on_row;              /* key and cells hold a row */
    struct sto_key key;
    struct sto_cells cells, piece;
    int64_t min_ms, max_ms;
    bool rows_lost; /* a block of points can't be read */

    /* summaries, in step with rows */
    uint32_t s_block, s_row; /* the next one */
    bool s_loaded;           /* f->sums holds s_block */
    bool s_bad;              /* their damage is reported already */
};

/* --- summaries --- */

static void sums_bad(struct pair *p, uint64_t off, const char *what)
{
    if (!p->s_bad)
        sto_fsck__damage(&p->s, off, what);
    p->s_bad = true;
}

/* Read the next summary: 1, 0 at the end, TS_ECORRUPT (damage is reported), TS_ENOMEM. */
static int next_sum(struct pair *p, struct sto_key *key, bool *has, struct sto_summary *sum,
                    struct ts_error *err)
{
    if (p->s_loaded && p->s_row == sto_sums_dec_n_rows(p->s.sums)) {
        p->s_loaded = false;
        p->s_block++;
    }
    if (!p->s_loaded) {
        if (p->s_block == p->s.n_blocks)
            return 0;
        struct ts_error why = {0};
        int rc = sto_fsck__load(&p->s, p->s_block, &why);
        p->w.out->n_blocks++;
        if (rc == TS_ENOMEM)
            return ts_error_set(err, rc, "%s", why.text);
        if (rc < 0) {
            p->w.out->n_bad++;
            sums_bad(p, p->s.blocks[p->s_block].off, "summary block is damaged");
            return rc;
        }
        p->s_loaded = true;
        p->s_row = 0;
    }
    *key = *sto_sums_dec_key(p->s.sums, p->s_row);
    *has = sto_sums_dec_get(p->s.sums, p->s_row, sum);
    p->s_row++;
    return 1;
}

/* Does the summary of a row agree with its points? Not checked after the first damage, since the files are
 * rewritten then. */
static int check_sum(struct pair *p, struct ts_error *err)
{
    if (!p->s.file || p->s_bad || p->rows_lost || p->w.out->damaged)
        return 0;
    struct sto_key key = {0};
    struct sto_summary sum = {0}, want;
    bool has = false;
    int rc = next_sum(p, &key, &has, &sum, err);
    if (rc == TS_ECORRUPT)
        return 0;
    if (rc < 0)
        return rc;
    bool wants = sto_summary_make(&p->cells, &want);
    if (rc == 0 || sto_key_cmp(&key, &p->key) != 0 || (has && !wants) ||
        (has && !sto_summary_same(&sum, &want)))
        sums_bad(p, rc ? p->s.blocks[p->s_block].off : UINT64_MAX, "summaries do not agree with the points");
    return 0;
}

/* --- rows --- */

static int end_row(struct pair *p, struct ts_error *err)
{
    if (!p->on_row)
        return 0;
    p->on_row = false;
    int64_t hour_ms = p->key.hour * TS_HOUR_MS;
    int64_t lo = hour_ms + sto_meta_off(p->cells.meta[0]),
            hi = hour_ms + sto_meta_off(p->cells.meta[p->cells.n - 1]);
    p->min_ms = lo < p->min_ms ? lo : p->min_ms;
    p->max_ms = hi > p->max_ms ? hi : p->max_ms;
    p->w.out->n_rows++;
    p->w.out->n_points += p->cells.n;
    roaring_bitmap_add(p->seen, p->key.series);
    TS_TRY(check_sum(p, err));
    return p->w.ops->row ? p->w.ops->row(p->w.arg, &p->key, &p->cells, err) : 0;
}

static void copy_cells(struct sto_cells *to, const struct sto_cells *from, bool join)
{
    uint32_t at = join ? to->n : 0;
    sto_cells_reserve(to, at + from->n);
    memcpy(to->meta + at, from->meta, from->n * sizeof *from->meta);
    memcpy(to->m + at, from->m, from->n * sizeof *from->m);
    to->uniform = from->uniform && (!join || (to->uniform && to->common == from->common));
    to->common = from->common;
    to->n = at + from->n;
}

/* Report the rows of the loaded block. < 0: TS_ENOMEM, or the result of a callback; TS_ECORRUPT: its
 * contents are invalid. */
static int block_rows(struct pair *p, bool *out_bad, struct ts_error *err)
{
    uint32_t n = sto_dec_n_rows(p->t.dec);
    struct ts_error why = {0};
    for (uint32_t i = 0; i < n; i++) /* decode all rows before any of them is reported */
        if (sto_dec_cells(p->t.dec, i, &p->piece, &why) < 0) {
            *out_bad = true;
            return 0;
        }
    for (uint32_t i = 0; i < n; i++) {
        const struct sto_key *key = &sto_dec_row_at(p->t.dec, i)->key;
        TS_TRY(sto_dec_cells(p->t.dec, i, &p->piece, err));
        int cmp = p->on_row ? sto_key_cmp(&p->key, key) : -1;
        if (cmp > 0 || (cmp == 0 && !sto_meta_follows(p->cells.meta[p->cells.n - 1], p->piece.meta[0]))) {
            *out_bad = true;
            return 0;
        }
        if (cmp < 0)
            TS_TRY(end_row(p, err));
        copy_cells(&p->cells, &p->piece, cmp == 0);
        p->key = *key;
        p->on_row = true;
    }
    return 0;
}

/* Report the rows between two keys as lost, from the summaries if they can be read. */
static int report_lost(struct pair *p, const struct sto_key *first, const struct sto_key *last,
                       struct ts_error *err)
{
    p->rows_lost = true;
    if (!p->w.ops->lost)
        return 0;
    struct sto_fsck__one *s = &p->s;
    bool by_sums = s->file && s->n_blocks > 0;
    struct ts_error why = {0};
    struct sto_key from = {0}, to = {0};
    uint64_t n = 0;
    uint32_t b = 0;
    for (; by_sums && b < s->n_blocks; b++) {
        if (sto_key_cmp(&s->blocks[b].last, first) < 0 || sto_key_cmp(&s->blocks[b].first, last) > 0)
            continue;
        if (sto_fsck__load(s, b, &why) < 0) {
            by_sums = n > 0 || b > 0 ? by_sums : false;
            break;
        }
        for (uint32_t i = 0; i < sto_sums_dec_n_rows(s->sums); i++) {
            const struct sto_key *key = sto_sums_dec_key(s->sums, i);
            struct sto_summary sum;
            if (sto_key_cmp(key, first) < 0 || sto_key_cmp(key, last) > 0)
                continue;
            if (n && (key->series != to.series || key->metric != to.metric)) {
                p->w.ops->lost(p->w.arg, &from, &to, n, NULL);
                n = 0;
            }
            if (!n)
                from = *key;
            to = *key;
            n += sto_sums_dec_get(s->sums, i, &sum) ? sum.n : 1;
        }
    }
    p->s_loaded = false;
    if (n)
        p->w.ops->lost(p->w.arg, &from, &to, n, NULL);
    if (!by_sums || b < s->n_blocks)
        p->w.ops->lost(p->w.arg, first, last, 0, p->bitmap);
    (void)err;
    return 0;
}

/* If the index is lost, so are the keys of blocks that were not found: report the gaps between those that
 * were. */
static int report_gaps(struct pair *p, struct ts_error *err)
{
    const struct sto_sst_block *b = p->t.blocks;
    struct sto_key before = {0, 0, INT32_MIN}, end = {UINT32_MAX, UINT32_MAX, INT32_MAX};
    uint64_t off = STO_SST_HEADER_BYTES;
    for (uint32_t i = 0; i < p->t.n_blocks; i++) {
        if (b[i].off != off) {
            sto_fsck__damage(&p->t, off, "block is damaged");
            TS_TRY(report_lost(p, &before, &b[i].first, err));
        }
        off = b[i].off + b[i].len;
        before = b[i].last;
    }
    uint64_t n_points = p->w.out->n_points, want = p->w.want ? p->w.want->n_points : n_points;
    if (p->t.has_footer ? off != p->t.foot.tombs_off : n_points < want) {
        sto_fsck__damage(&p->t, off, "blocks are missing from here on");
        TS_TRY(report_lost(p, &before, &end, err));
    }
    return 0;
}

static int walk_blocks(struct pair *p, struct ts_error *err)
{
    for (uint32_t i = 0; i < p->t.n_blocks; i++) {
        struct ts_error why = {0};
        bool bad = false;
        int rc = sto_fsck__load(&p->t, i, &why);
        p->w.out->n_blocks++;
        if (rc == TS_ENOMEM)
            return ts_error_set(err, rc, "%s", why.text);
        if (rc == 0)
            TS_TRY(block_rows(p, &bad, err));
        if (rc < 0 || bad) {
            p->w.out->n_bad++;
            TS_TRY(end_row(p, err));
            sto_fsck__damage(&p->t, p->t.blocks[i].off, "block is damaged");
            TS_TRY(report_lost(p, &p->t.blocks[i].first, &p->t.blocks[i].last, err));
        }
    }
    return end_row(p, err);
}

/* --- the other sections --- */

static int read_tombs(struct pair *p, struct ts_error *err)
{
    struct sto_fsck_file *out = p->w.out;
    struct ts_slice bytes = {NULL, 0};
    uint64_t want = p->w.want ? p->w.want->n_tombs : p->t.has_footer ? p->t.foot.info.n_tombs : 0;
    if (!p->t.has_footer) {
        out->tombs_lost = want > 0;
        return 0;
    }
    const struct sto_sst_footer *f = &p->t.foot;
    size_t n = (size_t)f->info.n_tombs;
    struct sto_tomb *tombs = ts_try_malloc((n + 1) * sizeof *tombs);
    if (!tombs)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for %zu tombstones", p->t.path, n);
    int rc = sto_fsck__section(&p->t, f->tombs_off, f->bitmap_off, f->tombs_crc, &bytes);
    if (rc == 0)
        rc = sto_sst__get_tombs(bytes, f, tombs);
    ts_free((void *)(uintptr_t)bytes.p);
    if (rc == TS_ECORRUPT) {
        sto_fsck__damage(&p->t, f->tombs_off, "tombstones are damaged");
        out->tombs_lost = n > 0;
        rc = 0;
    } else {
        out->n_tombs = n;
        for (size_t i = 0; rc == 0 && p->w.ops->tomb && i < n; i++)
            rc = p->w.ops->tomb(p->w.arg, &tombs[i], err);
    }
    ts_free(tombs);
    return rc;
}

static int read_bitmap(struct pair *p, struct ts_error *err)
{
    struct ts_slice bytes = {NULL, 0};
    if (!p->t.has_footer)
        return 0;
    const struct sto_sst_footer *f = &p->t.foot;
    int rc = sto_fsck__section(&p->t, f->bitmap_off, f->index_off, f->bitmap_crc, &bytes);
    if (rc == TS_ENOMEM)
        return ts_error_set(err, rc, "%s: no memory for a bitmap", p->t.path);
    if (rc == 0 && roaring_bitmap_portable_deserialize_size(bytes.p, bytes.n) == bytes.n)
        p->bitmap = roaring_bitmap_portable_deserialize_safe(bytes.p, bytes.n);
    ts_free((void *)(uintptr_t)bytes.p);
    if (!p->bitmap)
        sto_fsck__damage(&p->t, f->bitmap_off, "series bitmap is damaged");
    return 0;
}

/* Check counts, times and series of a file without other damage. */
static void check_totals(struct pair *p)
{
    const struct sto_fsck_file *out = p->w.out;
    const struct sto_sst_info *in = &p->t.foot.info;
    if (out->damaged)
        return;
    if (out->n_rows != in->n_rows || out->n_points != in->n_points || p->min_ms != in->min_ms ||
        p->max_ms != in->max_ms)
        sto_fsck__damage(&p->t, p->t.bytes - STO_SST_FOOTER_BYTES,
                         "counts of the footer do not agree with the rows");
    if (!roaring_bitmap_equals(p->seen, p->bitmap))
        sto_fsck__damage(&p->t, p->t.foot.bitmap_off, "series bitmap does not agree with the rows");
    if (p->s.file && !p->s_bad) {
        struct sto_key key;
        struct sto_summary sum;
        bool has;
        if (next_sum(p, &key, &has, &sum, NULL) != 0)
            sums_bad(p, UINT64_MAX, "has summaries without rows");
    }
}

static void fill_info(struct pair *p, uint64_t file_no)
{
    struct sto_fsck_file *out = p->w.out;
    out->has_footer = p->t.has_footer;
    const struct sto_fsck__one *footer = p->t.has_footer ? &p->t : p->s.has_footer ? &p->s : NULL;
    out->carried_gen = footer ? footer->foot.carried_gen : 0;
    out->made_ms = footer ? footer->foot.made_ms : 0;
    out->info = p->t.has_footer ? p->t.foot.info
                                : (struct sto_sst_info){.file_no = file_no,
                                                        .gen_lo = 1,
                                                        .gen_hi = 1,
                                                        .min_ms = p->min_ms,
                                                        .max_ms = p->max_ms,
                                                        .tomb_min_ms = INT64_MAX,
                                                        .tomb_max_ms = INT64_MIN,
                                                        .n_points = out->n_points,
                                                        .n_rows = out->n_rows};
    if (!p->t.has_footer && p->s.has_footer)
        out->info = p->s.foot.info;
    out->info.t_bytes = p->t.bytes;
    out->info.s_bytes = p->s.file ? p->s.bytes : 0;
}

static bool there_is(const struct ts_fs *fs, const char *dir, uint64_t file_no)
{
    char *path = sto_sst__path(dir, file_no, STO_SST_KIND_SUMS);
    int rc = ts_fs_exists(fs, path, NULL);
    ts_free(path);
    return rc == 1;
}

static int walk(struct pair *p, const char *dir, uint64_t file_no, struct ts_error *err)
{
    TS_TRY(sto_fsck__open(&p->t, dir, file_no, err));
    if (p->w.want ? p->w.want->s_bytes > 0 : there_is(p->w.fs, dir, file_no))
        TS_TRY(sto_fsck__open(&p->s, dir, file_no, err));
    p->w.out->readable = p->t.file != NULL;
    TS_TRY(read_bitmap(p, err));
    if (!p->t.file) {
        struct sto_key first = {0, 0, INT32_MIN}, last = {UINT32_MAX, UINT32_MAX, INT32_MAX};
        p->w.out->tombs_lost = p->w.want && p->w.want->n_tombs > 0;
        return p->w.want && p->w.want->n_rows ? report_lost(p, &first, &last, err) : 0;
    }
    TS_TRY(walk_blocks(p, err));
    if (!p->t.indexed)
        TS_TRY(report_gaps(p, err));
    TS_TRY(read_tombs(p, err));
    check_totals(p);
    return 0;
}

int sto_fsck_file_walk(const struct ts_fs *fs, const char *dir, uint64_t file_no,
                       const struct sto_sst_info *info, const struct sto_fsck_file_ops *ops, void *arg,
                       struct sto_fsck_file *out, struct ts_error *err)
{
    *out = (struct sto_fsck_file){0};
    struct pair *p = ts_xcalloc(1, sizeof *p);
    p->w = (struct sto_fsck__walk){.fs = fs, .want = info, .ops = ops, .arg = arg, .out = out};
    p->t = (struct sto_fsck__one){.w = &p->w, .kind = STO_SST_KIND_POINTS};
    p->s = (struct sto_fsck__one){.w = &p->w, .kind = STO_SST_KIND_SUMS};
    p->seen = roaring_bitmap_create();
    p->min_ms = INT64_MAX;
    p->max_ms = INT64_MIN;
    int rc = walk(p, dir, file_no, err);
    fill_info(p, file_no);
    sto_fsck__close(&p->t);
    sto_fsck__close(&p->s);
    sto_cells_release(&p->cells);
    sto_cells_release(&p->piece);
    if (p->bitmap)
        roaring_bitmap_free(p->bitmap);
    roaring_bitmap_free(p->seen);
    ts_free(p);
    return rc;
}

/* --- salvage --- */

static int put_row(void *arg, const struct sto_key *key, const struct sto_cells *cells, struct ts_error *err)
{
    return sto_sst_write_row(arg, key, cells, err);
}

static int put_tomb(void *arg, const struct sto_tomb *tomb, struct ts_error *err)
{
    return sto_sst_write_tomb(arg, tomb, err);
}

int sto_fsck_file_salvage(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info,
                          uint64_t new_file_no, struct sto_sst_info *out_info, struct sto_fsck_file *found,
                          struct ts_error *err)
{
    static const struct sto_fsck_file_ops ops = {.row = put_row, .tomb = put_tomb};
    struct sto_sst_writer *w = NULL;
    TS_TRY(sto_sst_writer_new(fs, dir, new_file_no, &w, err));
    int rc = sto_fsck_file_walk(fs, dir, info->file_no, info, &ops, w, found, err);
    if (rc < 0 || found->n_rows + found->n_tombs == 0) {
        sto_sst_writer_abort(w);
        return rc;
    }
    sto_sst_writer_note(w, found->made_ms, found->carried_gen);
    TS_TRY(sto_sst_writer_finish(w, info->gen_lo, info->gen_hi, out_info, err));
    TS_TRY(fs->sync_dir(fs, dir, err));
    return 1;
}
