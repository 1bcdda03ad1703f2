/*
 * fsck_blocks.c - one sorted file that may be damaged: header, footer, index, blocks.
 *
 * A footer with one changed bit is corrected if the result agrees with the manifest. Without an index, blocks
 * are found by their checksums: a block begins with the CRC-32C of everything after it, so it may end
 * wherever the running checksum equals that value, and it does end there if a decoder accepts it.
 *
 * Threads    one thread a walk
 * Not here   rows (fsck_file.c)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/engine/check/fsck_int.h"

#define MIN_BLOCK_BYTES    24u          /* checksum, version, counts, key, parameters */
#define SEARCH_BLOCK_BYTES (512u << 10) /* longest block that is searched for after a damaged one */

void sto_fsck__damage(struct sto_fsck__one *f, uint64_t off, const char *what)
{
    f->w->out->damaged = true;
    if (f->w->ops->damage)
        f->w->ops->damage(f->w->arg, f->path, off, what);
}

int sto_fsck__read(struct sto_fsck__one *f, void *p, size_t n, uint64_t off)
{
    size_t got = 0;
    int rc = f->file ? f->w->fs->pread(f->file, p, n, off, &got, NULL) : TS_ECORRUPT;
    if (rc == TS_EIO) /* some errors are temporary: a loose cable, a changing path in a storage network */
        rc = f->w->fs->pread(f->file, p, n, off, &got, NULL);
    f->w->out->unread |= rc == TS_EIO;
    return rc == TS_ENOMEM ? rc : rc < 0 || got != n ? TS_ECORRUPT : 0;
}

int sto_fsck__section(struct sto_fsck__one *f, uint64_t off, uint64_t end, uint32_t crc, struct ts_slice *out)
{
    size_t n = (size_t)(end - off);
    char *p = ts_try_malloc(n + 1);
    *out = (struct ts_slice){NULL, 0};
    if (!p)
        return TS_ENOMEM;
    int rc = sto_fsck__read(f, p, n, off);
    if (rc == 0 && ts_crc32c(0, p, n) != crc)
        rc = TS_ECORRUPT;
    if (rc < 0) {
        ts_free(p);
        return rc;
    }
    *out = (struct ts_slice){p, n};
    if (f->w->ops->read)
        f->w->ops->read(f->w->arg, n);
    return 0;
}

/* Does this footer agree with the manifest? */
static bool agrees(const struct sto_fsck__one *f, const struct sto_sst_footer *foot)
{
    const struct sto_sst_info *in = &foot->info, *want = f->w->want;
    bool points = f->kind == STO_SST_KIND_POINTS;
    return !want || (foot->kind == (uint32_t)f->kind && in->file_no == want->file_no &&
                     in->n_points == want->n_points && in->n_rows == want->n_rows &&
                     in->gen_lo == want->gen_lo && in->gen_hi == want->gen_hi && in->min_ms == want->min_ms &&
                     in->max_ms == want->max_ms && in->n_tombs == (points ? want->n_tombs : 0));
}

/* Has one bit changed? The correction is accepted only if it agrees with the manifest in everything. */
static bool mend_footer(struct sto_fsck__one *f, uint8_t *p)
{
    for (unsigned bit = 0; f->w->want && bit < STO_SST_FOOTER_BYTES * 8; bit++) {
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (sto_sst__get_footer(p, f->bytes, f->path, &f->foot, NULL) == 0 && agrees(f, &f->foot))
            return true;
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    return false;
}

static void read_footer(struct sto_fsck__one *f)
{
    uint8_t p[STO_SST_FOOTER_BYTES] = {0};
    struct ts_error err = {0};
    uint64_t at = f->bytes - sizeof p;
    uint64_t want = !f->w->want                      ? f->bytes
                    : f->kind == STO_SST_KIND_POINTS ? f->w->want->t_bytes
                                                     : f->w->want->s_bytes;
    if (f->bytes < want)
        sto_fsck__damage(f, f->bytes, "is cut off here");
    else if (f->bytes > want)
        sto_fsck__damage(f, want, "has bytes after its end");
    if (want < f->bytes && want >= sizeof p) {
        f->bytes = want;
        at = want - sizeof p;
    }
    if (sto_fsck__read(f, p, sizeof p, at) == 0 &&
        sto_sst__get_footer(p, f->bytes, f->path, &f->foot, &err) == 0) {
        f->has_footer = agrees(f, &f->foot);
        if (!f->has_footer)
            sto_fsck__damage(f, at, "footer does not agree with the manifest");
        return;
    }
    if (f->bytes >= want)
        sto_fsck__damage(f, at, "footer is damaged");
    f->has_footer = mend_footer(f, p);
}

static int read_index(struct sto_fsck__one *f, struct ts_error *err)
{
    struct ts_slice bytes = {NULL, 0};
    int rc = TS_ECORRUPT;
    if (f->has_footer) {
        f->blocks = ts_try_malloc((f->foot.n_blocks + 1) * sizeof *f->blocks);
        if (!f->blocks)
            return ts_error_set(err, TS_ENOMEM, "%s: no memory for an index of %u blocks", f->path,
                                f->foot.n_blocks);
        rc = sto_fsck__section(f, f->foot.index_off, f->bytes - STO_SST_FOOTER_BYTES, f->foot.index_crc,
                               &bytes);
        if (rc == 0)
            rc = sto_sst__get_index(bytes, f->blocks, f->foot.n_blocks, f->foot.tombs_off);
        ts_free((void *)(uintptr_t)bytes.p);
        if (rc == TS_ENOMEM)
            return ts_error_set(err, rc, "%s: no memory for an index", f->path);
        if (rc < 0)
            sto_fsck__damage(f, f->foot.index_off, "index is damaged");
        f->n_blocks = f->foot.n_blocks;
    }
    f->indexed = rc == 0;
    return f->indexed ? 0 : sto_fsck__search(f, err);
}

int sto_fsck__open(struct sto_fsck__one *f, const char *dir, uint64_t file_no, struct ts_error *err)
{
    uint8_t header[STO_SST_HEADER_BYTES];
    struct ts_error why = {0};
    f->path = sto_sst__path(dir, file_no, f->kind);
    f->dec = f->kind == STO_SST_KIND_POINTS ? sto_dec_new() : NULL;
    f->sums = f->dec ? NULL : sto_sums_dec_new();
    int rc = f->w->fs->open(f->w->fs, f->path, TS_OPEN_READ, &f->file, &why);
    if (rc == 0)
        rc = f->w->fs->size(f->file, &f->bytes, &why);
    if (rc == TS_EMFILE || rc == TS_ENOMEM) /* says nothing about the file */
        return ts_error_set(err, rc, "%s", why.text);
    if (rc < 0) {
        f->w->out->unread |= rc != TS_ENOTFOUND;
        sto_fsck__damage(f, UINT64_MAX, rc == TS_ENOTFOUND ? "is missing" : "can't be read");
        return 0;
    }
    if (f->bytes < sizeof header + STO_SST_FOOTER_BYTES || sto_fsck__read(f, header, sizeof header, 0) < 0) {
        sto_fsck__damage(f, f->bytes, "is cut off here");
    } else {
        rc = sto_sst__check_header(header, f->path, &why);
        if (rc == TS_EVERSION)
            return ts_error_set(err, rc, "%s", why.text);
        if (rc < 0)
            sto_fsck__damage(f, 0, "header is damaged");
        read_footer(f);
    }
    return read_index(f, err);
}

void sto_fsck__close(struct sto_fsck__one *f)
{
    if (f->file)
        (void)f->w->fs->close(f->file, NULL);
    sto_dec_free(f->dec);
    sto_sums_dec_free(f->sums);
    ts_free(f->path);
    ts_free(f->blocks);
    ts_free(f->buf);
}

/* --- blocks --- */

static int open_bytes(struct sto_fsck__one *f, struct ts_slice bytes, struct ts_error *err)
{
    return f->dec ? sto_dec_open(f->dec, bytes, err) : sto_sums_dec_open(f->sums, bytes, err);
}

static uint32_t n_rows(const struct sto_fsck__one *f)
{
    return f->dec ? sto_dec_n_rows(f->dec) : sto_sums_dec_n_rows(f->sums);
}

static const struct sto_key *key_at(const struct sto_fsck__one *f, uint32_t i)
{
    return f->dec ? &sto_dec_row_at(f->dec, i)->key : sto_sums_dec_key(f->sums, i);
}

static int room(struct sto_fsck__one *f, size_t n)
{
    if (n <= f->cap)
        return 0;
    uint8_t *p = ts_try_realloc(f->buf, n);
    if (!p)
        return TS_ENOMEM;
    f->buf = p;
    f->cap = n;
    return 0;
}

int sto_fsck__load(struct sto_fsck__one *f, uint32_t i, struct ts_error *err)
{
    const struct sto_sst_block *b = &f->blocks[i];
    if (room(f, b->len) < 0)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for a block of %u bytes", f->path, b->len);
    int rc = sto_fsck__read(f, f->buf, b->len, b->off);
    if (rc < 0)
        return ts_error_set(err, rc, "block is cut off or can't be read");
    if (f->w->ops->read)
        f->w->ops->read(f->w->arg, b->len);
    TS_TRY(open_bytes(f, (struct ts_slice){(const char *)f->buf, b->len}, err));
    if (ts_ld32(f->buf) != b->crc || sto_key_cmp(key_at(f, 0), &b->first) != 0 ||
        sto_key_cmp(key_at(f, n_rows(f) - 1), &b->last) != 0)
        return ts_error_set(err, TS_ECORRUPT, "block is not the one that the index lists");
    return 0;
}

/* Length of the block that begins at p, 0 if none begins there. */
static size_t block_len(struct sto_fsck__one *f, const uint8_t *p, size_t max)
{
    if (max < MIN_BLOCK_BYTES || p[4] != 1 || p[5] == 0)
        return 0;
    uint32_t want = ts_ld32(p), crc = ts_crc32c(0, p + 4, MIN_BLOCK_BYTES - 5);
    for (size_t n = MIN_BLOCK_BYTES; n <= max; n++) {
        crc = ts_crc32c(crc, p + n - 1, 1);
        if (crc == want && open_bytes(f, (struct ts_slice){(const char *)p, n}, NULL) == 0)
            return n;
    }
    return 0;
}

static void add_block(struct sto_fsck__one *f, uint64_t off, size_t len, uint32_t crc)
{
    if (f->n_blocks == f->cap_blocks) {
        f->cap_blocks = f->cap_blocks ? f->cap_blocks * 2 : 64;
        f->blocks = ts_xrealloc(f->blocks, f->cap_blocks * sizeof *f->blocks);
    }
    f->blocks[f->n_blocks++] = (struct sto_sst_block){.first = *key_at(f, 0),
                                                      .last = *key_at(f, n_rows(f) - 1),
                                                      .len = (uint32_t)len,
                                                      .crc = crc,
                                                      .off = off};
}

int sto_fsck__search(struct sto_fsck__one *f, struct ts_error *err)
{
    uint64_t end = f->has_footer ? f->foot.tombs_off : f->bytes;
    bool lost = false; /* a block was not found where it should begin */
    ts_free(f->blocks);
    f->blocks = NULL;
    f->n_blocks = f->cap_blocks = 0;
    if (room(f, STO_BLOCK_MAX_BYTES) < 0)
        return ts_error_set(err, TS_ENOMEM, "%s: no memory for a block", f->path);
    uint64_t off = STO_SST_HEADER_BYTES, have_off = 0;
    size_t have = 0;
    while (off + MIN_BLOCK_BYTES <= end) {
        size_t want = end - off < STO_BLOCK_MAX_BYTES ? (size_t)(end - off) : STO_BLOCK_MAX_BYTES;
        size_t need = lost && want > SEARCH_BLOCK_BYTES ? SEARCH_BLOCK_BYTES : want;
        if (have_off + have < off + need || off < have_off || !have) {
            if (sto_fsck__read(f, f->buf, want, off) < 0)
                break;
            have_off = off;
            have = want;
        }
        const uint8_t *p = f->buf + (off - have_off);
        size_t n = block_len(f, p, need);
        if (n)
            add_block(f, off, n, ts_ld32(p));
        lost = n == 0;
        off += n ? n : 1;
    }
    if (f->dec)
        f->w->out->n_bad += lost && f->has_footer; /* the last block before a known end was not found */
    return 0;
}
