/*
 * pack.c - writing packs.
 *
 * Format     docs/FORMAT.md "Packs"
 * Not here   reading (unpack.c)
 */
#include "storage/codecs/pack_int.h"

#include "base/bytes.h"
#include "base/clones.h"
#include "base/mem.h"

void sto_pack__clear(struct sto_pack *p)
{
    for (int i = 0; i < STO_STREAMS; i++)
        ts_buf_clear(&p->s[i]);
    p->acc = 0;
    p->n_acc = 0;
}

void sto_pack__release(struct sto_pack *p)
{
    for (int i = 0; i < STO_STREAMS; i++)
        ts_buf_release(&p->s[i]);
    ts_buf_release(&p->tmp);
}

static uint8_t *room(struct ts_buf *b, size_t n)
{
    char *p = ts_buf_reserve(b, n);
    if (!p)
        TS_BUG("no memory for %zu bytes of a block", n);
    return (uint8_t *)p;
}

TS_CLONES static void put_low(struct sto_pack *p, const uint64_t *res, uint32_t n, unsigned k)
{
    struct ts_buf *low = &p->s[STO_STREAM_LOW];
    uint8_t *begin = room(low, (size_t)n * k / 8 + 16), *at = begin;
    uint64_t acc = p->acc, mask = (1ull << k) - 1;
    unsigned have = p->n_acc;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = res[i] & mask;
        acc |= bits << have;
        have += k;
        if (have >= 64) {
            ts_st64(at, acc);
            at += 8;
            have -= 64;
            acc = have ? bits >> (k - have) : 0;
        }
    }
    low->n += (size_t)(at - begin);
    p->acc = acc;
    p->n_acc = have;
}

static void put_escape(struct sto_pack *p, uint64_t r)
{
    struct ts_buf *esc = &p->s[STO_STREAM_ESC];
    uint8_t *begin = room(esc, TS_VARINT_MAX_BYTES);
    esc->n += (size_t)(ts_put_varint(begin, r) - begin);
}

/* Append residuals as escapes alone. */
static void put_all_escapes(struct sto_pack *p, const uint64_t *res, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put_escape(p, res[i]);
}

TS_CLONES void sto_pack__put(struct sto_pack *p, const uint64_t *res, uint32_t n, struct sto_seq *s)
{
    if (sto_codec__get(s->codec)->in_escapes) {
        put_all_escapes(p, res, n);
        s->n_esc = n;
        return;
    }
    struct ts_buf *b = &p->s[s->cls];
    uint8_t *sym = room(b, n);
    uint64_t esc = sto_sym__escape(s->cls);
    unsigned k = s->k;
    uint32_t n_esc = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t h = res[i] >> k;
        n_esc += h >= esc;
        sym[i] = (uint8_t)(h < esc ? h : esc);
    }
    b->n += n;
    if (k)
        put_low(p, res, n, k);
    s->n_esc = n_esc;
    for (uint32_t i = 0; n_esc && i < n; i++)
        if (sym[i] == esc) {
            put_escape(p, res[i]);
            n_esc--;
        }
}

void sto_pack__bytes(struct sto_pack *p, const void *bytes, size_t n)
{
    memcpy(room(&p->s[STO_STREAM_BYTES], n), bytes, n);
    p->s[STO_STREAM_BYTES].n += n;
}

/* Pack the symbols of a class, two or four in each byte, the first in the lowest bits. */
static struct ts_slice squeeze(struct sto_pack *p, int cls)
{
    struct ts_buf *b = &p->s[cls];
    if (cls == STO_SYM_8 || b->n == 0)
        return ts_buf_get(b);
    uint32_t per = cls == STO_SYM_4 ? 2 : 4, bits = cls == STO_SYM_4 ? 4 : 2;
    size_t n = (b->n + per - 1) / per;
    memset(room(b, per), 0, per); /* the last byte is padded with zeros */
    ts_buf_clear(&p->tmp);
    uint8_t *out = room(&p->tmp, n);
    const uint8_t *sym = (const uint8_t *)b->p;
    if (per == 2) {
        for (size_t i = 0; i < n; i++)
            out[i] = (uint8_t)(sym[2 * i] | sym[2 * i + 1] << 4);
    } else {
        for (size_t i = 0; i < n; i++, sym += 4)
            out[i] = (uint8_t)(sym[0] | sym[1] << bits | sym[2] << 2 * bits | sym[3] << 3 * bits);
    }
    return (struct ts_slice){(const char *)out, n};
}

void sto_pack__finish(struct sto_pack *p, struct sto_zip *z, struct ts_buf *out)
{
    struct ts_buf *low = &p->s[STO_STREAM_LOW];
    if (p->n_acc) {
        ts_st64(room(low, 8), p->acc);
        low->n += (p->n_acc + 7) / 8;
        p->n_acc = 0;
        p->acc = 0;
    }
    for (int i = 0; i < STO_STREAMS; i++) {
        struct ts_slice src = i < STO_SYM_CLASSES ? squeeze(p, i) : ts_buf_get(&p->s[i]);
        uint8_t *begin = room(out, 3 * TS_VARINT_MAX_BYTES + sto_zip__bound(src.n));
        uint8_t *at = ts_put_varint(begin, p->s[i].n);
        if (src.n) {
            /* the stored length precedes the body but is known only afterwards: the body is written after
             * space for it and then moved */
            uint8_t *body = at + TS_VARINT_MAX_BYTES;
            bool zipped = i != STO_STREAM_LOW;
            size_t n = zipped ? sto_zip__write(z, (const uint8_t *)src.p, src.n, body) : 0;
            at = ts_put_varint(at, n);
            memmove(at, n ? (const void *)body : src.p, n ? n : src.n);
            at += n ? n : src.n;
        }
        out->n += (size_t)(at - begin);
    }
}
