/*
 * seq.c - encoding and validation of the parameters of a sequence.
 *
 * Format     docs/FORMAT.md "Sequences"
 */
#include "base/bytes.h"
#include "storage/codecs/seq_int.h"

#define HAS_K    (1u << 5)
#define HAS_ESC  (1u << 6)
#define HAS_UNIT (1u << 7)

void sto_seq__put(struct ts_buf *out, const struct sto_seq *s)
{
    uint8_t *begin = (uint8_t *)ts_buf_reserve(out, 1 + 5 * TS_VARINT_MAX_BYTES), *p = begin;
    if (!begin)
        return;
    uint32_t head = s->codec | (uint32_t)s->cls << 3;
    head |= (s->k ? HAS_K : 0) | (s->n_esc ? HAS_ESC : 0) | (s->unit > 1 ? HAS_UNIT : 0);
    *p++ = (uint8_t)head;
    if (s->k)
        *p++ = s->k;
    if (s->n_esc)
        p = ts_put_varint(p, s->n_esc);
    if (s->unit > 1)
        p = ts_put_varint(p, s->unit);
    p = ts_put_varint(p, ts_zigzag(s->first));
    if (sto_codec__get(s->codec)->has_slope)
        p = ts_put_varint(p, ts_zigzag(s->slope));
    out->n += (size_t)(p - begin);
}

bool sto_seq__valid(const struct sto_seq *s)
{
    return s->codec < STO_CODEC_COUNT && s->cls < STO_SYM_CLASSES && s->k <= STO_SEQ_MAX_K && s->unit >= 1;
}

const uint8_t *sto_seq__get(const uint8_t *p, const uint8_t *end, struct sto_seq *out)
{
    *out = (struct sto_seq){.unit = 1};
    if (p >= end)
        return NULL;
    uint8_t head = *p++;
    uint64_t v;
    out->codec = head & 7;
    out->cls = head >> 3 & 3;
    if (head & HAS_K) {
        if (p >= end)
            return NULL;
        out->k = *p++;
    }
    if (head & HAS_ESC) {
        p = ts_get_varint(p, end, &v);
        if (!p || v > UINT32_MAX)
            return NULL;
        out->n_esc = (uint32_t)v;
    }
    if (head & HAS_UNIT) {
        p = ts_get_varint(p, end, &out->unit);
        if (!p)
            return NULL;
    }
    p = ts_get_varint(p, end, &v);
    if (!p || !sto_seq__valid(out))
        return NULL;
    out->first = ts_unzigzag(v);
    if (sto_codec__get(out->codec)->has_slope) {
        p = ts_get_varint(p, end, &v);
        if (!p)
            return NULL;
        out->slope = ts_unzigzag(v);
    }
    return p;
}
