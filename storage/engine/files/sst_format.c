/*
 * sst_format.c - header, footer, index and tombstones of sorted files: bytes <-> structs.
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Not here   blocks (codecs/), reading and writing files (sst_read.c, sst_write.c)
 */
#include "storage/engine/files/sst_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/codecs/codec.h"

/* Offsets of the footer's fields. */
enum footer_off {
    F_FILE_NO = 0,
    F_GEN_LO = 8,
    F_GEN_HI = 16,
    F_MIN_MS = 24,
    F_MAX_MS = 32,
    F_TOMB_MIN_MS = 40,
    F_TOMB_MAX_MS = 48,
    F_N_POINTS = 56,
    F_N_ROWS = 64,
    F_N_TOMBS = 72,
    F_TOMBS_OFF = 80,
    F_BITMAP_OFF = 88,
    F_INDEX_OFF = 96,
    F_N_BLOCKS = 104,
    F_TOMBS_CRC = 108,
    F_BITMAP_CRC = 112,
    F_INDEX_CRC = 116,
    F_KIND = 120,   /* 16 bits from version 3 on, */
    F_LEVEL = 122,  /* then the level, 16 bits */
    F_FAMILY = 124, /* 0: points as they were put; no other family exists yet */
    F_MADE_MS = 128,
    F_CARRIED_GEN = 136,
    F_VERSION = 144,
    F_CRC = 148, /* of bytes 0 to 147 */
    F_MAGIC = 152,
};
_Static_assert(F_MAGIC + 8 == STO_SST_FOOTER_BYTES, "docs/FORMAT.md, Footer");

#define NAME_DIGITS_MAX                                                                                      \
    12 /* length of a file number: a store never uses longer ones, and numbers above such a name would be
        * used up */

static const char kind_letters[] = "tsd"; /* by enum sto_sst_kind, but totals */
#define TOTAL_LETTER     ".g"
#define TOTAL_DIGITS_MAX 10

char *sto_sst__path(const char *dir, uint64_t file_no, enum sto_sst_kind kind)
{
    size_t n = strlen(dir) + STO_SST_NAME_BYTES;
    char *path = ts_xmalloc(n);
    snprintf(path, n, "%s/%08" PRIx64 ".%c", dir, file_no, kind_letters[kind - 1]);
    return path;
}

char *sto_sst__total_path(const char *dir, uint64_t file_no, uint32_t total)
{
    size_t n = strlen(dir) + STO_SST_NAME_BYTES + TOTAL_DIGITS_MAX;
    char *path = ts_xmalloc(n);
    snprintf(path, n, "%s/%08" PRIx64 TOTAL_LETTER "%" PRIu32, dir, file_no, total);
    return path;
}

uint32_t sto_sst__total_of(const char *name)
{
    return (uint32_t)strtoul(strstr(name, TOTAL_LETTER) + sizeof TOTAL_LETTER - 1, NULL, 10);
}

/* Is this ".gN" with a number that 32 bits hold? */
static bool is_total(const char *end)
{
    const char *digits = end + sizeof TOTAL_LETTER - 1;
    return strncmp(end, TOTAL_LETTER, sizeof TOTAL_LETTER - 1) == 0 && *digits >= '1' && *digits <= '9' &&
           strspn(digits, "0123456789") == strlen(digits) && strlen(digits) < TOTAL_DIGITS_MAX;
}

bool sto_sst__name_parse(const char *name, uint64_t *out_no, enum sto_sst_kind *out_kind)
{
    size_t n = strspn(name, "0123456789abcdef");
    if (n < 8 || n > NAME_DIGITS_MAX || name[n] != '.' || !name[n + 1])
        return false;
    const char *letter = name[n + 2] ? NULL : strchr(kind_letters, name[n + 1]);
    if (!letter && !is_total(name + n))
        return false;
    *out_no = strtoull(name, NULL, 16);
    *out_kind = letter ? (enum sto_sst_kind)(letter - kind_letters + 1) : STO_SST_KIND_TOTAL;
    return *out_no > 0;
}

uint32_t sto_sst__version(unsigned level)
{
    return level ? STO_SST_VERSION : STO_SST_VERSION_PLAIN;
}

bool sto_sst__is_rough(const struct sto_sst_footer *f)
{
    return f->level == STO_LEVEL_ROUGH;
}

void sto_sst__put_header(uint8_t out[STO_SST_HEADER_BYTES], unsigned level)
{
    memcpy(out, STO_SST_MAGIC, 8);
    ts_st32(out + 8, sto_sst__version(level));
    ts_st32(out + 12, ts_crc32c(0, out, 12));
}

int sto_sst__check_header(const uint8_t *p, const char *what, struct ts_error *err)
{
    if (memcmp(p, STO_SST_MAGIC, 8) != 0 || ts_ld32(p + 12) != ts_crc32c(0, p, 12))
        return ts_error_set(err, TS_ECORRUPT, "%s: header at 0 is damaged", what);
    if (ts_ld32(p + 8) < 1 || ts_ld32(p + 8) > STO_SST_VERSION)
        return ts_error_set(err, TS_EVERSION, "%s: version %u, this program knows %u", what, ts_ld32(p + 8),
                            STO_SST_VERSION);
    return 0;
}

void sto_sst__put_footer(const struct sto_sst_footer *f, uint8_t out[STO_SST_FOOTER_BYTES])
{
    memset(out, 0, STO_SST_FOOTER_BYTES);
    ts_st64(out + F_FILE_NO, f->info.file_no);
    ts_st64(out + F_GEN_LO, f->info.gen_lo);
    ts_st64(out + F_GEN_HI, f->info.gen_hi);
    ts_st64(out + F_MIN_MS, (uint64_t)f->info.min_ms);
    ts_st64(out + F_MAX_MS, (uint64_t)f->info.max_ms);
    ts_st64(out + F_TOMB_MIN_MS, (uint64_t)f->info.tomb_min_ms);
    ts_st64(out + F_TOMB_MAX_MS, (uint64_t)f->info.tomb_max_ms);
    ts_st64(out + F_N_POINTS, f->info.n_points);
    ts_st64(out + F_N_ROWS, f->info.n_rows);
    ts_st64(out + F_N_TOMBS, f->info.n_tombs);
    ts_st64(out + F_TOMBS_OFF, f->tombs_off);
    ts_st64(out + F_BITMAP_OFF, f->bitmap_off);
    ts_st64(out + F_INDEX_OFF, f->index_off);
    ts_st32(out + F_N_BLOCKS, f->n_blocks);
    ts_st32(out + F_TOMBS_CRC, f->tombs_crc);
    ts_st32(out + F_BITMAP_CRC, f->bitmap_crc);
    ts_st32(out + F_INDEX_CRC, f->index_crc);
    ts_st32(out + F_KIND, f->kind | f->level << 8 * (F_LEVEL - F_KIND));
    ts_st64(out + F_MADE_MS, (uint64_t)f->made_ms);
    ts_st64(out + F_CARRIED_GEN, f->carried_gen);
    ts_st32(out + F_VERSION, sto_sst__version(f->level));
    ts_st32(out + F_CRC, ts_crc32c(0, out, F_CRC));
    memcpy(out + F_MAGIC, STO_SST_MAGIC, 8);
}

int sto_sst__get_footer(const uint8_t *p, uint64_t file_bytes, const char *what, struct sto_sst_footer *f,
                        struct ts_error *err)
{
    uint64_t at = file_bytes - STO_SST_FOOTER_BYTES;
    if (memcmp(p + F_MAGIC, STO_SST_MAGIC, 8) != 0)
        return ts_error_set(err, TS_ECORRUPT, "%s: no footer at %" PRIu64 ": cut off?", what, at);
    if (ts_ld32(p + F_CRC) != ts_crc32c(0, p, F_CRC))
        return ts_error_set(err, TS_ECORRUPT, "%s: footer at %" PRIu64 " is damaged", what, at);
    f->version = ts_ld32(p + F_VERSION);
    if (f->version < 1 || f->version > STO_SST_VERSION)
        return ts_error_set(err, TS_EVERSION, "%s: version %u, this program knows %u", what, f->version,
                            STO_SST_VERSION);
    if (ts_ld32(p + F_FAMILY) != 0)
        return ts_error_set(err, TS_EVERSION, "%s: rows of family %u, which this program does not know", what,
                            ts_ld32(p + F_FAMILY));
    uint32_t kind = ts_ld32(p + F_KIND);
    f->kind = f->version > 2 ? kind & 0xffff : kind;
    f->level = f->version > 2 ? kind >> 8 * (F_LEVEL - F_KIND) : 0;
    f->made_ms = f->version > 1 ? (int64_t)ts_ld64(p + F_MADE_MS) : 0;
    f->carried_gen = f->version > 1 ? ts_ld64(p + F_CARRIED_GEN) : 0;
    f->n_blocks = ts_ld32(p + F_N_BLOCKS);
    f->tombs_off = ts_ld64(p + F_TOMBS_OFF);
    f->bitmap_off = ts_ld64(p + F_BITMAP_OFF);
    f->index_off = ts_ld64(p + F_INDEX_OFF);
    f->tombs_crc = ts_ld32(p + F_TOMBS_CRC);
    f->bitmap_crc = ts_ld32(p + F_BITMAP_CRC);
    f->index_crc = ts_ld32(p + F_INDEX_CRC);
    f->info = (struct sto_sst_info){
        .file_no = ts_ld64(p + F_FILE_NO),
        .gen_lo = ts_ld64(p + F_GEN_LO),
        .gen_hi = ts_ld64(p + F_GEN_HI),
        .min_ms = (int64_t)ts_ld64(p + F_MIN_MS),
        .max_ms = (int64_t)ts_ld64(p + F_MAX_MS),
        .tomb_min_ms = (int64_t)ts_ld64(p + F_TOMB_MIN_MS),
        .tomb_max_ms = (int64_t)ts_ld64(p + F_TOMB_MAX_MS),
        .n_points = ts_ld64(p + F_N_POINTS),
        .n_rows = ts_ld64(p + F_N_ROWS),
        .n_tombs = ts_ld64(p + F_N_TOMBS),
    };
    /* an entry of the index takes at least ten bytes, a tombstone four */
    if (f->tombs_off < STO_SST_HEADER_BYTES || f->bitmap_off < f->tombs_off || f->index_off < f->bitmap_off ||
        at < f->index_off || f->n_blocks > (at - f->index_off) / 10 ||
        f->info.n_tombs > (f->bitmap_off - f->tombs_off) / 4 || f->level > STO_SST_LEVEL_MOST)
        return ts_error_set(err, TS_ECORRUPT, "%s: footer at %" PRIu64 " makes no sense", what, at);
    return 0;
}

static uint8_t *room(struct ts_buf *b, size_t n)
{
    char *p = ts_buf_reserve(b, n);
    if (!p)
        TS_BUG("no memory for an index of %zu bytes", b->n + n);
    return (uint8_t *)p;
}

/* Encode a key as its difference from the previous one. */
static uint8_t *put_key(uint8_t *p, const struct sto_key *before, const struct sto_key *key)
{
    bool same_metric = key->metric == before->metric;
    p = ts_put_varint(p, key->metric - before->metric);
    p = ts_put_varint(p, key->series - (same_metric ? before->series : 0));
    return ts_put_varint(p, ts_zigzag((int64_t)key->hour - before->hour));
}

static const uint8_t *get_key(const uint8_t *p, const uint8_t *end, const struct sto_key *before,
                              struct sto_key *out)
{
    uint64_t metric, series, hour;
    if (!(p = ts_get_varint(p, end, &metric)) || !(p = ts_get_varint(p, end, &series)) ||
        !(p = ts_get_varint(p, end, &hour)))
        return NULL;
    if (metric > UINT32_MAX - before->metric)
        return NULL;
    uint32_t from = metric == 0 ? before->series : 0;
    int64_t h = ts_unzigzag(hour);
    if (series > UINT32_MAX - from || h > (1ll << 33) || h < -(1ll << 33) ||
        h + before->hour != (int32_t)(h + before->hour))
        return NULL;
    *out = (struct sto_key){before->metric + (uint32_t)metric, from + (uint32_t)series,
                            (int32_t)(h + before->hour)};
    return sto_key_cmp(before, out) <= 0 ? p : NULL;
}

void sto_sst__put_index(struct ts_buf *out, const struct sto_sst_block *blocks, size_t n)
{
    struct sto_key before = {.hour = INT32_MIN};
    for (size_t i = 0; i < n; i++) {
        uint8_t *begin = room(out, STO_SST_ENTRY_BYTES), *p = begin;
        p = put_key(p, &before, &blocks[i].first);
        p = put_key(p, &blocks[i].first, &blocks[i].last);
        p = ts_put_varint(p, blocks[i].len);
        ts_st32(p, blocks[i].crc);
        out->n += (size_t)(p + 4 - begin);
        before = blocks[i].last;
    }
}

const uint8_t *sto_sst__get_entry(const uint8_t *p, const uint8_t *end, struct sto_sst_index_at *at,
                                  struct sto_sst_block *out)
{
    uint64_t len;
    if (!(p = get_key(p, end, &at->before, &out->first)) || !(p = get_key(p, end, &out->first, &out->last)) ||
        !(p = ts_get_varint(p, end, &len)) || end - p < 4 || len == 0 || len > STO_BLOCK_MAX_BYTES)
        return NULL;
    out->len = (uint32_t)len;
    out->crc = ts_ld32(p);
    out->off = at->off;
    at->off += len;
    at->before = out->last;
    return p + 4;
}

int sto_sst__get_index(struct ts_slice bytes, struct sto_sst_block *out, size_t n, uint64_t blocks_end)
{
    const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n;
    struct sto_sst_index_at at = STO_SST_INDEX_BEGIN;
    for (size_t i = 0; i < n; i++)
        if (!(p = sto_sst__get_entry(p, end, &at, &out[i])))
            return TS_ECORRUPT;
    return p == end && at.off == blocks_end ? 0 : TS_ECORRUPT;
}

int sto_sst__tomb_cmp(const void *a, const void *b)
{
    const struct sto_tomb *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    if (x->from_ms != y->from_ms)
        return x->from_ms < y->from_ms ? -1 : 1;
    return x->to_ms < y->to_ms ? -1 : x->to_ms > y->to_ms;
}

void sto_sst__put_tombs(struct ts_buf *out, const struct sto_tomb *tombs, size_t n, uint64_t gen_lo)
{
    struct sto_tomb before = {0};
    for (size_t i = 0; i < n; i++) {
        const struct sto_tomb *t = &tombs[i];
        uint8_t *begin = room(out, 5 * TS_VARINT_MAX_BYTES), *p = begin;
        p = ts_put_varint(p, t->metric - before.metric);
        p = ts_put_varint(p, t->series - (t->metric == before.metric ? before.series : 0));
        p = ts_put_varint(p, ts_zigzag((int64_t)((uint64_t)t->from_ms - (uint64_t)before.from_ms)));
        p = ts_put_varint(p, (uint64_t)t->to_ms - (uint64_t)t->from_ms);
        p = ts_put_varint(p, t->gen - gen_lo);
        out->n += (size_t)(p - begin);
        before = *t;
    }
}

int sto_sst__get_tombs(struct ts_slice bytes, const struct sto_sst_footer *foot, struct sto_tomb *out)
{
    size_t n = (size_t)foot->info.n_tombs;
    const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n;
    struct sto_tomb before = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t metric, series, from, len, gen = 0;
        if (!(p = ts_get_varint(p, end, &metric)) || !(p = ts_get_varint(p, end, &series)) ||
            !(p = ts_get_varint(p, end, &from)) || !(p = ts_get_varint(p, end, &len)) ||
            (foot->version > 1 && !(p = ts_get_varint(p, end, &gen))))
            return TS_ECORRUPT;
        uint32_t base = metric == 0 ? before.series : 0;
        if (metric > UINT32_MAX - before.metric || series > UINT32_MAX - base ||
            gen > foot->info.gen_hi - foot->info.gen_lo)
            return TS_ECORRUPT;
        struct sto_tomb *t = &out[i];
        t->metric = before.metric + (uint32_t)metric;
        t->series = base + (uint32_t)series;
        t->from_ms = (int64_t)((uint64_t)before.from_ms + (uint64_t)ts_unzigzag(from));
        t->to_ms = (int64_t)((uint64_t)t->from_ms + len);
        t->gen = foot->info.gen_lo + gen;
        if (t->to_ms < t->from_ms || (i && sto_sst__tomb_cmp(&before, t) > 0))
            return TS_ECORRUPT;
        before = *t;
    }
    return p == end ? 0 : TS_ECORRUPT;
}
