/*
 * wal_format.c - bytes of the write-ahead log: names, header, records, operations.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    pure functions
 * Invariant  each get function returns exactly what its put function was given
 */
#include "storage/engine/log/wal_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "storage/versions.h"

_Static_assert(sizeof(STO_WAL_MAGIC) == 8 + 1, "FORMAT.md: magic is 8 bytes");
_Static_assert(STO_META_MS == 1u << 22 && STO_META_OP_SHIFT == 30, "FORMAT.md: flags are meta >> 22");

#define FLAGS_SHIFT 22 /* of sto_meta_flags: the offset bits below are not stored */

void sto_wal__name_print(const struct sto_wal_name *name, char *out)
{
    snprintf(out, STO_WAL_NAME_BYTES, "%08" PRIx32 "-%08" PRIx64 "-%03" PRIx32 "-%04" PRIx32 ".log",
             name->run, name->gen, name->owner, name->segment);
}

/* Parse a lower-case hexadecimal number of at most 16 digits, followed by stop. */
static const char *hex_get(const char *p, char stop, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    const char *begin = p;
    for (; *p && *p != stop; p++) {
        unsigned d = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                     : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                              : 16;
        if (d > 15 || p - begin >= 16)
            return NULL;
        v = v << 4 | d;
    }
    *out = v;
    return p == begin || *p != stop || v > max ? NULL : p + 1;
}

int sto_wal__name_cmp(const struct sto_wal_name *x, const struct sto_wal_name *y)
{
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->gen != y->gen)
        return x->gen < y->gen ? -1 : 1;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

bool sto_wal__name_parse(const char *text, struct sto_wal_name *out)
{
    uint64_t run, gen, owner, segment;
    const char *p = text;
    if (!(p = hex_get(p, '-', UINT32_MAX, &run)) || !(p = hex_get(p, '-', UINT64_MAX, &gen)) ||
        !(p = hex_get(p, '-', UINT32_MAX, &owner)) || !(p = hex_get(p, '.', UINT32_MAX, &segment)))
        return false;
    *out = (struct sto_wal_name){(uint32_t)run, gen, (uint32_t)owner, (uint32_t)segment};
    char again[STO_WAL_NAME_BYTES]; /* a segment has exactly one name, with the leading zeros as printed */
    sto_wal__name_print(out, again);
    return strcmp(text, again) == 0;
}

uint32_t sto_wal__salt(const struct sto_wal_name *name)
{
    uint8_t b[20];
    ts_st32(b, name->run);
    ts_st64(b + 4, name->gen);
    ts_st32(b + 12, name->owner);
    ts_st32(b + 16, name->segment);
    return ts_crc32c(0, b, sizeof(b));
}

void sto_wal__head_put(uint8_t *out, const struct sto_wal_head *head)
{
    memcpy(out, STO_WAL_MAGIC, 8);
    ts_st32(out + 8, STO_WAL_VERSION);
    ts_st32(out + 12, head->name.run);
    ts_st64(out + 16, head->name.gen);
    ts_st32(out + 24, head->name.owner);
    ts_st32(out + 28, head->name.segment);
    ts_st64(out + 32, head->prev_gen);
    ts_st64(out + 40, head->prev_bytes);
    ts_st32(out + 48, head->prev_segment);
    ts_st32(out + 52, ts_crc32c(0, out, 52));
}

int sto_wal__head_get(const uint8_t *p, struct sto_wal_head *out)
{
    if (memcmp(p, STO_WAL_MAGIC, 8) != 0 || ts_crc32c(0, p, 52) != ts_ld32(p + 52))
        return TS_ECORRUPT;
    if (ts_ld32(p + 8) == 0 || ts_ld32(p + 8) > STO_WAL_VERSION)
        return TS_EVERSION;
    out->name = (struct sto_wal_name){ts_ld32(p + 12), ts_ld64(p + 16), ts_ld32(p + 24), ts_ld32(p + 28)};
    out->prev_gen = ts_ld64(p + 32);
    out->prev_bytes = ts_ld64(p + 40);
    out->prev_segment = ts_ld32(p + 48);
    out->before_on_disk = ts_ld32(p + 8) < STO_WAL_VERSION_MARKED;
    return 0;
}

/* --- records --- */

uint32_t sto_wal__record_crc(uint32_t salt, const uint8_t *length_field, const uint8_t *body, size_t n_body)
{
    return ts_crc32c(ts_crc32c(salt, length_field, 4), body, n_body);
}

void sto_wal__record_close(uint8_t *rec, const uint8_t *end, uint32_t salt)
{
    const uint8_t *body = rec + STO_WAL_RECORD_HEAD_BYTES;
    size_t n_body = (size_t)(end - body);
    ts_st32(rec, (uint32_t)n_body);
    ts_st32(rec + 4, sto_wal__record_crc(salt, rec, body, n_body));
}

uint8_t *sto_wal__mark_put(uint8_t *out, uint64_t synced_off, uint32_t salt)
{
    uint8_t *body = out + STO_WAL_RECORD_HEAD_BYTES;
    body[0] = STO_WAL_MARK;
    ts_st64(body + 1, synced_off);
    sto_wal__record_close(out, body + STO_WAL_MARK_BODY_BYTES, salt);
    return body + STO_WAL_MARK_BODY_BYTES;
}

bool sto_wal__mark_get(const uint8_t *p, uint32_t salt, uint64_t *out_synced_off)
{
    const uint8_t *body = p + STO_WAL_RECORD_HEAD_BYTES;
    if (ts_ld32(p) != STO_WAL_MARK_BODY_BYTES || body[0] != STO_WAL_MARK ||
        sto_wal__record_crc(salt, p, body, STO_WAL_MARK_BODY_BYTES) != ts_ld32(p + 4))
        return false;
    *out_synced_off = ts_ld64(body + 1);
    return true;
}

/* --- definitions --- */

size_t sto_wal__def_bound(const struct sto_series *s, bool known)
{
    return known ? 5 : 5 * 4 + 1 + 10u * s->n_tags + (size_t)s->text_len;
}

uint8_t *sto_wal__def_put(uint8_t *p, const struct sto_series *s, bool known, uint32_t *before)
{
    uint64_t diff = ts_zigzag((int64_t)s->id - (int64_t)*before);
    *before = s->id;
    p = ts_put_varint(p, diff << 1 | (known ? STO_WAL_DEF_KNOWN : 0));
    if (known)
        return p;
    p = ts_put_varint(p, s->metric);
    *p++ = s->n_tags;
    for (unsigned i = 0; i < s->n_tags; i++) {
        p = ts_put_varint(p, s->tags[i].k);
        p = ts_put_varint(p, s->tags[i].v);
    }
    p = ts_put_varint(p, s->text_len);
    p = ts_put_varint(p, s->metric_len);
    memcpy(p, sto_series_text(s).p, s->text_len);
    return p + s->text_len;
}

/* Decode a varint of at most 32 bits. */
static const uint8_t *get_u32(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint64_t v;
    p = ts_get_varint(p, end, &v);
    if (!p || v > UINT32_MAX)
        return NULL;
    *out = (uint32_t)v;
    return p;
}

/* Decode the head of a definition: the distance of its id from the previous one, and whether the series is
 * known. */
static const uint8_t *get_head(const uint8_t *p, const uint8_t *end, uint32_t before, struct sto_wal_def *out)
{
    uint64_t v;
    if (!(p = ts_get_varint(p, end, &v)) || v >> 34)
        return NULL;
    int64_t id = (int64_t)before + ts_unzigzag(v >> 1);
    if (id < 0 || id > UINT32_MAX)
        return NULL;
    out->id = (uint32_t)id;
    out->known = v & STO_WAL_DEF_KNOWN;
    return p;
}

const uint8_t *sto_wal__def_get(const uint8_t *p, const uint8_t *end, enum sto_wal_record type,
                                uint32_t *before, struct sto_wal_def *out)
{
    uint32_t text_len;
    out->known = false;
    p = type == STO_WAL_SERIES_HEADED ? get_head(p, end, *before, out) : get_u32(p, end, &out->id);
    *before = out->id;
    if (!p || out->known)
        return p;
    if (!(p = get_u32(p, end, &out->metric)) || p == end)
        return NULL;
    out->n_tags = *p++;
    for (uint32_t i = 0; i < out->n_tags; i++)
        if (!(p = get_u32(p, end, &out->tags[i].k)) || !(p = get_u32(p, end, &out->tags[i].v)))
            return NULL;
    if (!(p = get_u32(p, end, &text_len)) || !(p = get_u32(p, end, &out->metric_len)))
        return NULL;
    if (text_len > (size_t)(end - p) || out->metric_len > text_len)
        return NULL;
    out->text = (struct ts_slice){(const char *)p, text_len};
    return p + text_len;
}

/* --- sequences --- */

uint8_t *sto_wal__once_put(uint8_t *p, const struct sto_once_id *id, const struct sto_part *parts,
                           size_t n_parts)
{
    uint64_t n = 0, before = 0;
    for (size_t i = 0; i < n_parts; i++)
        n += parts[i].n;
    *p++ = STO_WAL_ONCE;
    p = ts_put_varint(p, id->made_s);
    ts_st64(p, id->random);
    p = ts_put_varint(p + 8, n);
    for (size_t i = 0; i < n_parts; i++)
        for (unsigned k = 0; k < parts[i].n; k++) {
            p = ts_put_varint(p, ts_zigzag((int64_t)(parts[i].seq - before)));
            before = parts[i].seq;
        }
    return p;
}

bool sto_wal__once_get(const uint8_t *p, const uint8_t *end, struct sto_wal_once *out)
{
    uint64_t seq = 0;
    if (!(p = ts_get_varint(p, end, &out->id.made_s)) || !out->id.made_s || end - p < 8)
        return false;
    out->id.random = ts_ld64(p);
    if (!(p = ts_get_varint(p + 8, end, &out->n)) || !out->n || out->n > (uint64_t)(end - p))
        return false;
    out->seqs = p;
    for (uint64_t i = 0; i < out->n; i++)
        if (!(p = sto_wal__seq_get(p, end, &seq)))
            return false;
    out->ops = p;
    return true;
}

const uint8_t *sto_wal__seq_get(const uint8_t *p, const uint8_t *end, uint64_t *seq)
{
    uint64_t v;
    if (!(p = ts_get_varint(p, end, &v)))
        return NULL;
    *seq += (uint64_t)ts_unzigzag(v);
    return *seq ? p : NULL;
}

/* --- operations --- */

/* Move the flags at place i of the recent ones (3 = new) to the front. */
static inline void flags_to_front(uint32_t *f, unsigned i, uint32_t flags)
{
    if (i >= 2)
        f[2] = f[1];
    f[1] = f[0];
    f[0] = flags;
}

/* Encode flags that are not the latest ones, in full if they are new; returns their place. */
static unsigned put_flags(uint8_t **p, uint32_t *f, uint32_t flags)
{
    unsigned i = flags == f[1] ? 1 : flags == f[2] ? 2 : STO_WAL_FLAGS_EXPLICIT;
    if (i == STO_WAL_FLAGS_EXPLICIT) {
        ts_st16(*p, (uint16_t)(flags >> FLAGS_SHIFT));
        *p += 2;
    }
    flags_to_front(f, i, flags);
    return i;
}

/* Encode a time that differs from the previous one; returns its code. Differences wrap around, here and in
 * the decoder. */
static unsigned put_time(uint8_t **p, struct sto_wal_ctx *ctx, int64_t ts_ms)
{
    int64_t d = (int64_t)((uint64_t)ts_ms - (uint64_t)ctx->ts_ms);
    ctx->ts_ms = ts_ms;
    if (d == ctx->step_ms)
        return STO_WAL_TIME_STEP;
    ctx->step_ms = d;
    if (d % 1000 == 0) {
        *p = ts_put_varint(*p, ts_zigzag(d / 1000));
        return STO_WAL_TIME_DELTA_S;
    }
    *p = ts_put_varint(*p, ts_zigzag(d));
    return STO_WAL_TIME_DELTA_MS;
}

/* Encode a series that is not the next one; returns its code. */
static unsigned put_series(uint8_t **p, uint32_t before, uint32_t number)
{
    if (number == before)
        return STO_WAL_SERIES_SAME;
    *p = ts_put_varint(*p, ts_zigzag((int64_t)number - (int64_t)before));
    return STO_WAL_SERIES_DELTA;
}

uint8_t *sto_wal__points_put(uint8_t *p, const uint8_t *stop, struct sto_wal_ctx *ctx,
                             const struct sto_point *points, const uint32_t *numbers, size_t n, size_t *out_n)
{
    struct sto_wal_ctx c = *ctx;
    size_t i;
    for (i = 0; i < n; i++) {
        if (p >= stop && !(i && sto_is_stamp(points[i - 1].flags)))
            break; /* the value of a stamp goes with it */
        const struct sto_point *pt = &points[i];
        uint8_t *ctl = p++;
        unsigned bits = 0;
        if (numbers[i] != c.number + 1)
            bits |= put_series(&p, c.number, numbers[i]) << STO_WAL_CTL_SERIES_SHIFT;
        c.number = numbers[i];
        if (pt->ts_ms != c.ts_ms)
            bits |= put_time(&p, &c, pt->ts_ms) << STO_WAL_CTL_TIME_SHIFT;
        if (pt->flags != c.flags[0])
            bits |= put_flags(&p, c.flags, pt->flags) << STO_WAL_CTL_FLAGS_SHIFT;
        uint64_t v = (uint64_t)pt->m;
        if (pt->m < 0 && (pt->flags & STO_META_KIND_MASK) != (uint32_t)TS_NUM_RAW << STO_META_KIND_SHIFT) {
            v = ~v;
            bits |= STO_WAL_CTL_NEGATIVE;
        }
        if (v >= 1ull << 49) { /* a varint would take 8 bytes or more */
            ts_st64(p, v);
            p += 8;
            bits |= STO_WAL_CTL_RAW;
        } else {
            p = ts_put_varint(p, v);
        }
        *ctl = (uint8_t)bits;
    }
    *ctx = c;
    *out_n = i;
    return p;
}

static const uint8_t *get_series(const uint8_t *p, const uint8_t *end, unsigned code, uint32_t *number)
{
    uint64_t v;
    if (code == STO_WAL_SERIES_SAME)
        return p;
    if (code != STO_WAL_SERIES_DELTA || !(p = ts_get_varint(p, end, &v)))
        return NULL;
    *number = (uint32_t)((uint64_t)*number + (uint64_t)ts_unzigzag(v)); /* the caller checks the bound */
    return p;
}

static const uint8_t *get_time(const uint8_t *p, const uint8_t *end, unsigned code, struct sto_wal_ctx *ctx)
{
    uint64_t v;
    if (code != STO_WAL_TIME_STEP) {
        if (!(p = ts_get_varint(p, end, &v)))
            return NULL;
        uint64_t d = (uint64_t)ts_unzigzag(v);
        ctx->step_ms = (int64_t)(code == STO_WAL_TIME_DELTA_S ? d * 1000u : d);
    }
    ctx->ts_ms = (int64_t)((uint64_t)ctx->ts_ms + (uint64_t)ctx->step_ms);
    return p;
}

static const uint8_t *get_flags(const uint8_t *p, const uint8_t *end, unsigned code, uint32_t *f)
{
    if (code < STO_WAL_FLAGS_EXPLICIT) {
        flags_to_front(f, code, f[code]);
        return p;
    }
    if (end - p < 2)
        return NULL;
    uint32_t v = ts_ld16(p);
    uint32_t flags = v << FLAGS_SHIFT;
    if (v >> (32 - FLAGS_SHIFT) || sto_meta_kind(flags) > TS_NUM_RAW ||
        (sto_meta_exp(flags) > TS_NUM_MAX_EXP && !sto_is_stamp(flags)))
        return NULL;
    flags_to_front(f, code, flags);
    return p + 2;
}

static const uint8_t *get_value(const uint8_t *p, const uint8_t *end, unsigned ctl, int64_t *out)
{
    uint64_t v;
    if (ctl & STO_WAL_CTL_RAW) {
        if (end - p < 8)
            return NULL;
        v = ts_ld64(p);
        p += 8;
    } else if (!(p = ts_get_varint(p, end, &v))) {
        return NULL;
    }
    *out = (int64_t)(ctl & STO_WAL_CTL_NEGATIVE ? ~v : v);
    return p;
}

const uint8_t *sto_wal__points_get(const uint8_t *p, const uint8_t *end, struct sto_wal_ctx *ctx,
                                   const struct sto_series *const *series, uint32_t n_series,
                                   struct sto_point *out, size_t cap, size_t *out_n, size_t *out_n_skipped)
{
    struct sto_wal_ctx c = *ctx;
    size_t n = 0, n_skipped = 0;
    while (p < end && n < cap) {
        unsigned ctl = *p++;
        unsigned by_series = ctl >> STO_WAL_CTL_SERIES_SHIFT & 3;
        unsigned by_time = ctl >> STO_WAL_CTL_TIME_SHIFT & 3;
        unsigned by_flags = ctl >> STO_WAL_CTL_FLAGS_SHIFT & 3;
        if (by_series == STO_WAL_SERIES_NEXT)
            c.number++;
        else if (!(p = get_series(p, end, by_series, &c.number)))
            return NULL;
        if (by_time != STO_WAL_TIME_SAME && !(p = get_time(p, end, by_time, &c)))
            return NULL;
        if (by_flags != 0 && !(p = get_flags(p, end, by_flags, c.flags)))
            return NULL;
        int64_t m;
        if (!(p = get_value(p, end, ctl, &m)) || c.number >= n_series)
            return NULL;
        const struct sto_series *s = series[c.number];
        out[n] = (struct sto_point){.series = s, .ts_ms = c.ts_ms, .m = m, .flags = c.flags[0]};
        n += s != NULL;
        n_skipped += s == NULL;
    }
    *ctx = c;
    *out_n = n;
    *out_n_skipped = n_skipped;
    return p;
}
