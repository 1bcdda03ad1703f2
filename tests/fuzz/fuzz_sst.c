/*
 * fuzz_sst.c - sorted files: opening and walking a pair of files of any bytes.
 *
 * First byte, three lowest bits:
 *   0, 1  u32 length of .t | .t | .s; what the footers say stands in the manifest too. 1: all checksums of
 *         footer, sections and blocks are made good first
 *   2..7  the rest describes rows and tombstones; they are written and must come back. From 4 on changes
 *         follow, to either file; checksums are made good again, so that what is behind them is reached
 *
 * Checked    no crash, nothing out of bounds; errors have a code and a text; keys ascend; a walk ends; seeking
 *            finds what walking finds
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "storage/codecs/codec.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/files/sst_series.h"
#include "tests/faults/faultfs.h"
#include "tests/fuzz/fuzz_rows.h"

#define MAX_ROWS  60u
#define MAX_BYTES (1u << 20)
/* Offsets in the footer, docs/FORMAT.md "Sorted file", "Footer". */
#define F_OFFS 80u  /* of tombstones, bitmap, index */
#define F_N    104u /* blocks */
#define F_CRCS 108u /* of tombstones, bitmap, index */
#define F_CRC  148u /* of the footer */

/* Good checksums for sections, header and footer as far as the offsets make sense; blocks after the index. */
static void mend(uint8_t *p, size_t n)
{
    if (n < STO_SST_HEADER_BYTES + STO_SST_FOOTER_BYTES)
        return;
    uint8_t *foot = p + n - STO_SST_FOOTER_BYTES;
    uint64_t end[4] = {ts_ld64(foot + F_OFFS), ts_ld64(foot + F_OFFS + 8), ts_ld64(foot + F_OFFS + 16),
                       n - STO_SST_FOOTER_BYTES};
    bool sane = true;
    for (unsigned i = 0; i < 4; i++)
        sane = sane && end[i] <= n && (i == 0 ? end[0] >= STO_SST_HEADER_BYTES : end[i] >= end[i - 1]);
    uint32_t n_blocks = ts_ld32(foot + F_N);
    if (sane && n_blocks && n_blocks <= (end[3] - end[2]) / 10) {
        struct sto_sst_block *blocks = ts_xcalloc(n_blocks, sizeof *blocks);
        struct ts_slice index = {(const char *)p + end[2], (size_t)(end[3] - end[2])};
        struct ts_buf fresh;
        ts_buf_init(&fresh, 0);
        if (sto_sst__get_index(index, blocks, n_blocks, end[0]) == 0) {
            for (uint32_t i = 0; i < n_blocks; i++)
                if (blocks[i].len > 4) {
                    uint8_t *b = p + blocks[i].off;
                    ts_st32(b, ts_crc32c(0, b + 4, blocks[i].len - 4));
                    blocks[i].crc = ts_ld32(b);
                }
            sto_sst__put_index(&fresh, blocks, n_blocks);
            if (fresh.n == index.n)
                memcpy(p + end[2], fresh.p, fresh.n);
        }
        ts_buf_release(&fresh);
        ts_free(blocks);
    }
    for (unsigned i = 0; sane && i < 3; i++)
        ts_st32(foot + F_CRCS + 4 * i, ts_crc32c(0, p + end[i], (size_t)(end[i + 1] - end[i])));
    ts_st32(foot + F_CRC, ts_crc32c(0, foot, F_CRC));
    ts_st32(p + 12, ts_crc32c(0, p, 12));
}

/* What the manifest would say of these files; else the walk would end at once. */
static struct sto_sst_info info_of(const uint8_t *t, size_t n_t, size_t n_s)
{
    struct sto_sst_info info = {.file_no = 1, .t_bytes = n_t, .s_bytes = n_s};
    struct sto_sst_footer foot;
    if (n_t >= STO_SST_HEADER_BYTES + STO_SST_FOOTER_BYTES &&
        sto_sst__get_footer(t + n_t - STO_SST_FOOTER_BYTES, n_t, "t", &foot, NULL) == 0) {
        info = foot.info;
        info.file_no = 1;
        info.t_bytes = n_t;
        info.s_bytes = n_s;
    }
    return info;
}

/* All rows, front to back; the last key that was seen is found again. Returns rows, or the error. */
static int64_t walk(struct sto_sst *sst, enum sto_sst_what what, uint64_t *hash)
{
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, what, NULL);
    struct sto_key before = {.hour = INT32_MIN};
    struct ts_error err = {0};
    int64_t n = 0;
    int rc = sto_sst_cur_seek(cur, &before, &err);
    for (; rc == 1; rc = sto_sst_cur_next(cur, &err)) {
        const struct sto_key *key = sto_sst_cur_key(cur);
        CHECK(n == 0 || sto_key_cmp(&before, key) < 0);
        before = *key;
        n++;
        if (what == STO_SST_SUMMARIES) {
            const struct sto_summary *s = sto_sst_cur_summary(cur);
            *hash = ts_hash_u64(*hash ^ (s ? s->n : 0));
            continue;
        }
        const struct sto_cells *c;
        if ((rc = sto_sst_cur_cells(cur, &c, &err)) < 0)
            break;
        CHECK(c->n >= 1);
        for (uint32_t i = 0; i < c->n; i++)
            *hash = ts_hash_u64(*hash ^ c->meta[i] ^ (uint64_t)c->m[i]);
    }
    check_answer(rc, &err);
    if (rc == 0 && n) {
        CHECK(sto_sst_cur_seek(cur, &before, &err) == 1 && sto_key_cmp(sto_sst_cur_key(cur), &before) == 0);
        CHECK(sto_sst_cur_next(cur, &err) == 0);
    }
    sto_sst_cur_free(cur);
    return rc < 0 ? rc : n;
}

/* Open and walk both files. */
static int64_t read_pair(struct t_faultfs *f, const struct sto_sst_info *info, uint64_t *hash)
{
    struct sto_sst *sst;
    struct ts_error err = {0};
    size_t n_tombs;
    int rc = sto_sst_open(t_faultfs_fs(f), "d", NULL, info, &sst, &err);
    check_answer(rc, &err);
    CHECK((rc == 0) == (sst != NULL));
    if (rc < 0)
        return rc;
    const struct sto_tomb *tombs = sto_sst_tombs(sst, &n_tombs);
    for (size_t i = 1; i < n_tombs; i++)
        CHECK(sto_sst__tomb_cmp(&tombs[i - 1], &tombs[i]) <= 0);
    roaring_bitmap_t *all = roaring_bitmap_create();
    struct sto_sst_series_reader reader = {.filled = false};
    for (uint32_t id = 0; id < 4096; id += 512)
        (void)sto_sst_series_has(sto_sst_series(sst), &reader, id, NULL);
    (void)sto_sst_series_add_to(sto_sst_series(sst), all, NULL);
    roaring_bitmap_free(all);
    int64_t n = walk(sst, STO_SST_POINTS, hash);
    if (sto_sst_has_sums(sst))
        (void)walk(sst, STO_SST_SUMMARIES, hash);
    sto_sst_unref(sst);
    return n;
}

/* Two files of any bytes, mended or not. */
static void any_bytes(struct t_faultfs *f, const uint8_t *p, size_t n, bool good)
{
    size_t n_t = n < 4 ? 0 : ts_ld32(p);
    uint64_t hash = 0;
    if (n < 4 || n_t > n - 4)
        return;
    uint8_t *copy = ts_xmalloc(n - 4);
    memcpy(copy, p + 4, n - 4);
    if (good) {
        mend(copy, n_t);
        mend(copy + n_t, n - 4 - n_t);
    }
    t_faultfs_put(f, "d/00000001.t", copy, n_t);
    t_faultfs_put(f, "d/00000001.s", copy + n_t, n - 4 - n_t);
    struct sto_sst_info info = info_of(copy, n_t, n - 4 - n_t);
    (void)read_pair(f, &info, &hash);
    ts_free(copy);
}

/* Rows and tombstones as described, written. Returns rows; *hash as walk makes it. */
static int64_t write_pair(struct t_faultfs *f, struct input *in, struct sto_sst_info *info, uint64_t *hash)
{
    struct sto_sst_writer *w;
    struct sto_key key = {.metric = 1, .series = 1, .hour = -5};
    struct sto_cells row = {0};
    int64_t n = 0;
    CHECK(sto_sst_writer_new(t_faultfs_fs(f), "d", 1, &w, NULL) == 0);
    for (uint32_t left = next8(in) % MAX_ROWS; left && in->p < in->end; left--, n++) {
        next_key(in, &key);
        make_row(in, &row);
        CHECK(sto_sst_write_row(w, &key, &row, NULL) == 0);
        *hash += row.n;
    }
    for (uint32_t left = next8(in) % 4; left; left--) {
        struct sto_tomb t = {.metric = next8(in), .series = next8(in), .from_ms = (int64_t)next64(in)};
        t.to_ms = t.from_ms < INT64_MAX - 1000 ? t.from_ms + next8(in) : t.from_ms;
        CHECK(sto_sst_write_tomb(w, &t, NULL) == 0);
    }
    sto_cells_release(&row);
    CHECK(sto_sst_writer_finish(w, 1, 1, info, NULL) == 0);
    return n;
}

/* One of the two files changed, checksums good. */
static void damage(struct t_faultfs *f, struct input *in, struct sto_sst_info *info)
{
    const char *path = info->s_bytes && next8(in) & 1 ? "d/00000001.s" : "d/00000001.t";
    size_t n;
    uint64_t hash = 0;
    uint8_t *p = t_faultfs_get(f, path, &n);
    change_bytes(in, p, n, 8);
    mend(p, n);
    t_faultfs_put(f, path, p, n);
    if (path[11] == 't') {
        struct sto_sst_info said = info_of(p, n, info->s_bytes);
        if (said.t_bytes && next8(in) & 1)
            *info = said;
    }
    (void)read_pair(f, info, &hash);
    ts_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    if (n == 0 || n > MAX_BYTES)
        return 0;
    struct t_faultfs *f = t_faultfs_new(1);
    t_faultfs_put(f, "d/x", "", 0); /* makes the folder */
    if ((data[0] & 7) < 2) {
        any_bytes(f, data + 1, n - 1, data[0] & 1);
    } else {
        struct input in = {data + 1, data + n};
        struct sto_sst_info info;
        uint64_t n_points = 0, hash = 0;
        int64_t rows = write_pair(f, &in, &info, &n_points);
        CHECK((int64_t)info.n_rows == rows && info.n_points == n_points);
        CHECK(read_pair(f, &info, &hash) == rows);
        if ((data[0] & 7) >= 4)
            damage(f, &in, &info);
    }
    CHECK(t_faultfs_n_open(f) == 0);
    t_faultfs_free(f);
    return 0;
}
