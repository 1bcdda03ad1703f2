/*
 * unpack.c - decoding of packs, whose bytes are not trusted.
 *
 * Format     docs/FORMAT.md "Packs"
 * Not here   writing (pack.c)
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "storage/codecs/pack_int.h"

#define SLACK_BYTES 16u /* after every inflated stream, since wide loads may read them */

void sto_unpack__release(struct sto_unpack *u)
{
    for (int i = 0; i < STO_STREAMS; i++)
        ts_free(u->out[i]);
    ts_free(u->esc);
    ts_free(u->tmp);
    memset(u, 0, sizeof *u);
}

/* Bytes of a stream before compression. */
static size_t plain_bytes(int stream, uint32_t raw)
{
    return stream == STO_SYM_4 ? ((size_t)raw + 1) / 2 : stream == STO_SYM_2 ? ((size_t)raw + 3) / 4 : raw;
}

const uint8_t *sto_unpack__open(struct sto_unpack *u, const uint8_t *p, const uint8_t *end, uint32_t max_raw)
{
    u->ready = false;
    u->n_esc = 0;
    for (int i = 0; i < STO_STREAMS; i++) {
        uint64_t raw, stored = 0;
        p = ts_get_varint(p, end, &raw);
        if (!p || raw > max_raw)
            return NULL;
        u->raw[i] = (uint32_t)raw;
        u->stored[i] = 0;
        u->src[i] = p;
        if (raw == 0)
            continue;
        p = ts_get_varint(p, end, &stored);
        if (!p)
            return NULL;
        u->src[i] = p;
        size_t plain = plain_bytes(i, u->raw[i]);
        if (stored >= plain || (i == STO_STREAM_LOW && stored))
            return NULL;
        u->stored[i] = (uint32_t)stored;
        size_t n = stored ? stored : plain;
        if (n > (size_t)(end - p))
            return NULL;
        p += n;
    }
    return p;
}

static void widen4(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[2 * i] = src[i] & 15;
        dst[2 * i + 1] = src[i] >> 4;
    }
}

static void widen2(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        /* one multiplication spreads the four symbols of a byte over a word */
        uint32_t x = (uint32_t)src[i] * 0x40100401u >> 0;
        x = (src[i] & 3u) | (src[i] & 12u) << 6 | (src[i] & 48u) << 12 | (src[i] & 192u) << 18;
        ts_st32(dst + 4 * i, x);
    }
}

static int inflate_one(struct sto_unpack *u, struct sto_zip *z, struct sto_dec_memory *memory, int i)
{
    size_t plain = plain_bytes(i, u->raw[i]);
    TS_TRY(sto_dec_memory__grow(memory, &u->out[i], &u->cap[i], (size_t)u->raw[i] + SLACK_BYTES));
    if (u->raw[i] == 0)
        return 0;
    bool packed = !u->lazy && (i == STO_SYM_4 || i == STO_SYM_2);
    const uint8_t *src = u->src[i];
    if (u->stored[i]) {
        if (packed)
            TS_TRY(sto_dec_memory__grow(memory, &u->tmp, &u->tmp_cap, plain));
        uint8_t *dst = packed ? u->tmp : u->out[i];
        TS_TRY(sto_zip__read(z, memory, src, u->stored[i], dst, plain));
        src = dst;
    } else if (!packed) {
        memcpy(u->out[i], src, plain);
    }
    if (!packed)
        return 0;
    if (i == STO_SYM_4)
        widen4(src, plain, u->out[i]);
    else
        widen2(src, plain, u->out[i]);
    return 0;
}

int sto_unpack__inflate(struct sto_unpack *u, struct sto_zip *z, struct sto_dec_memory *memory)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < STO_STREAMS; i++)
        rc = inflate_one(u, z, memory, i);
    sto_zip__idle(z);
    TS_TRY(rc);
    memset(u->out[STO_STREAM_LOW] + u->raw[STO_STREAM_LOW], 0, 8);
    u->n_esc = 0;
    const uint8_t *p = u->out[STO_STREAM_ESC], *end = p + u->raw[STO_STREAM_ESC];
    TS_TRY(
        sto_dec_memory__grow(memory, &u->esc, &u->esc_cap, (size_t)u->raw[STO_STREAM_ESC] * sizeof *u->esc));
    while (p < end) {
        p = ts_get_varint(p, end, &u->esc[u->n_esc++]);
        if (!p)
            return TS_ECORRUPT;
    }
    u->ready = true;
    return 0;
}

bool sto_unpack__skip(struct sto_unpack_pos *pos, const struct sto_seq *s, uint32_t n)
{
    const struct sto_codec *c = sto_codec__get(s->codec);
    uint32_t n_res = sto_codec__n_res(c, n);
    if (s->n_esc > sto_codec__n_esc(c, n) ||
        __builtin_add_overflow(pos->sym[s->cls], n_res, &pos->sym[s->cls]))
        return false;
    pos->bit += (uint64_t)n_res * s->k;
    return !__builtin_add_overflow(pos->esc, s->n_esc, &pos->esc);
}

bool sto_unpack__ends_at(const struct sto_unpack *u, const struct sto_unpack_pos *pos)
{
    for (int i = 0; i < STO_SYM_CLASSES; i++)
        if (u->raw[i] != pos->sym[i])
            return false;
    return (pos->bit + 7) / 8 == u->raw[STO_STREAM_LOW] && pos->byte == u->raw[STO_STREAM_BYTES] &&
           (!u->ready || pos->esc == u->n_esc);
}

/* Combine symbols and low bits to residuals. */
static void join(const uint8_t *sym, const uint8_t *low, uint64_t bit, unsigned k, uint32_t n, uint64_t *res)
{
    if (k == 0) {
        for (uint32_t i = 0; i < n; i++)
            res[i] = sym[i];
        return;
    }
    uint64_t mask = (1ull << k) - 1;
    for (uint32_t i = 0; i < n; i++, bit += k)
        res[i] = (uint64_t)sym[i] << k | (ts_ld64(low + (bit >> 3)) >> (bit & 7) & mask);
}

/* Insert the residuals stored as escapes; false if their number is not the announced one. */
static bool put_escapes(const uint8_t *sym, uint8_t esc, uint32_t n, const uint64_t *from, uint32_t n_esc,
                        uint64_t *res)
{
    uint32_t found = 0;
    for (const uint8_t *p = sym; n_esc > 0 && (p = memchr(p, esc, n - (size_t)(p - sym))); p++) {
        if (found == n_esc)
            return false;
        res[p - sym] = from[found++];
        if (p == sym + n - 1)
            break;
    }
    return found == n_esc;
}

/* Can a sequence of n_res residuals at pos be read? */
static bool is_there(const struct sto_unpack *u, const struct sto_unpack_pos *pos, const struct sto_seq *s,
                     uint32_t n, struct sto_unpack_pos *out_next)
{
    *out_next = *pos;
    return u->ready && sto_unpack__skip(out_next, s, n) && out_next->sym[s->cls] <= u->raw[s->cls] &&
           out_next->esc <= u->n_esc && (out_next->bit + 7) / 8 <= u->raw[STO_STREAM_LOW];
}

/* Symbols of a class in a byte of a lazy pack. */
static uint32_t per_byte(uint8_t cls)
{
    return cls == STO_SYM_4 ? 2 : cls == STO_SYM_2 ? 4 : 1;
}

/* n symbols of a class, one a byte; in a lazy pack those of less than 8 bits are spread to wide. */
static const uint8_t *symbols(const struct sto_unpack *u, uint8_t cls, uint32_t at, uint32_t n, uint8_t *wide)
{
    uint32_t per = per_byte(cls), skip = at % per;
    if (!u->lazy || per == 1)
        return u->out[cls] + at;
    if (n > STO_UNPACK_LAZY)
        TS_BUG("a sequence of %u values in a lazy pack", n);
    if (cls == STO_SYM_4)
        widen4(u->out[cls] + at / per, (skip + n + per - 1) / per, wide);
    else
        widen2(u->out[cls] + at / per, (skip + n + per - 1) / per, wide);
    return wide + skip;
}

/* Advance to the value that escapes i and i + 1 set. False: it makes no sense. */
static bool next_rare(const uint64_t *esc, uint32_t i, uint32_t n, uint64_t *at)
{
    if (esc[i] >= n - *at || (i && !esc[i]))
        return false;
    *at += esc[i];
    return true;
}

/* Find the values of STO_CODEC_RARE that are not first. False: they are more than max, or make no sense. */
static bool find_rare(const uint64_t *esc, uint32_t n_esc, uint32_t n, struct sto_rare *out, uint32_t max)
{
    uint64_t at = 0;
    bool ok = n_esc % 2 == 0 && n_esc / 2 <= max;
    for (uint32_t i = 0; i < n_esc && ok; i += 2) {
        ok = next_rare(esc, i, n, &at);
        out[i / 2] = (struct sto_rare){(uint32_t)at, (uint64_t)ts_unzigzag(esc[i + 1])};
    }
    return ok;
}

/* Set them. */
static bool set_rare(const uint64_t *esc, const struct sto_seq *s, uint32_t n, int64_t *v)
{
    uint64_t at = 0;
    bool ok = s->n_esc % 2 == 0;
    for (uint32_t i = 0; i < s->n_esc && ok; i += 2) {
        ok = next_rare(esc, i, n, &at);
        v[at] = (int64_t)((uint64_t)s->first + (uint64_t)ts_unzigzag(esc[i + 1]) * s->unit);
    }
    return ok;
}

int sto_unpack__get(const struct sto_unpack *u, struct sto_unpack_pos *pos, const struct sto_seq *s,
                    uint32_t n, int64_t *v)
{
    const struct sto_codec *c = sto_codec__get(s->codec);
    uint32_t n_res = sto_codec__n_res(c, n);
    uint8_t wide[STO_UNPACK_LAZY + 8];
    struct sto_unpack_pos next;
    if (!is_there(u, pos, s, n, &next))
        return TS_ECORRUPT;
    if (n_res) {
        uint64_t *res = (uint64_t *)v + c->n_skip;
        const uint8_t *sym = symbols(u, s->cls, pos->sym[s->cls], n_res, wide);
        join(sym, u->out[STO_STREAM_LOW], pos->bit, s->k, n_res, res);
        if (s->n_esc &&
            !put_escapes(sym, (uint8_t)sto_sym__escape(s->cls), n_res, u->esc + pos->esc, s->n_esc, res))
            return TS_ECORRUPT;
    }
    c->decode(v, n, s->unit > 1 ? 0 : s->first, s->slope);
    if (s->unit > 1)
        for (uint32_t i = 0; i < n; i++)
            v[i] = (int64_t)((uint64_t)s->first + (uint64_t)v[i] * s->unit);
    if (c->in_escapes && s->n_esc && !set_rare(u->esc + pos->esc, s, n, v))
        return TS_ECORRUPT;
    *pos = next;
    return 0;
}

bool sto_unpack__rare(const struct sto_unpack *u, const struct sto_unpack_pos *pos, const struct sto_seq *s,
                      uint32_t n, struct sto_rare *out, uint32_t max, uint32_t *out_n)
{
    const struct sto_codec *c = sto_codec__get(s->codec);
    uint32_t n_res = sto_codec__n_res(c, n), per = per_byte(s->cls), n_esc = 0, n_rare = 0;
    uint64_t first = pos->sym[s->cls], end = first + n_res;
    struct sto_unpack_pos next;
    if (!u->lazy || s->k || !is_there(u, pos, s, n, &next))
        return false;
    if (c->in_escapes) {
        *out_n = s->n_esc / 2;
        return !s->n_esc || find_rare(u->esc + pos->esc, s->n_esc, n, out, max);
    }
    if (s->n_esc > max)
        return false;
    const uint8_t *p = u->out[s->cls];
    for (uint64_t b = first / per, last = (end + per - 1) / per; b < last; b++) {
        while (b + 8 <= last && ts_ld64(p + b) == 0)
            b += 8;
        for (uint32_t j = 0; b < last && p[b] && j < per; j++) {
            uint64_t at = b * per + j, sym = p[b] >> (8 / per * j) & ((1u << 8 / per) - 1);
            if (!sym || at < first || at >= end)
                continue;
            bool is_esc = sym == sto_sym__escape(s->cls);
            if (n_rare == max || (is_esc && n_esc == s->n_esc))
                return false;
            out[n_rare++] = (struct sto_rare){(uint32_t)(at - first) + c->n_skip,
                                              is_esc ? u->esc[pos->esc + n_esc++] : sym};
        }
    }
    *out_n = n_rare;
    return n_esc == s->n_esc;
}
