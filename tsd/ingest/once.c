/*
 * once.c - see once.h.
 */
#include "tsd/ingest/once.h"

#include <string.h>

int tsd_once_seq(struct ts_slice text, uint64_t *out)
{
    uint64_t v = 0;
    if (text.n == 0 || text.n > 20)
        return TS_EPARSE;
    for (size_t i = 0; i < text.n; i++) {
        unsigned d = (unsigned char)(text.p[i] - '0');
        if (d > 9 || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, d, &v))
            return TS_EPARSE;
    }
    *out = v;
    return v ? 0 : TS_EPARSE;
}

int tsd_once_id(struct ts_slice text, struct sto_once_id *out)
{
    const char *dash = text.n ? memchr(text.p, '-', text.n) : NULL;
    struct ts_slice hex = {dash ? dash + 1 : NULL, dash ? text.n - (size_t)(dash - text.p) - 1 : 0};
    *out = (struct sto_once_id){0};
    if (hex.n == 0 || hex.n > 16 ||
        tsd_once_seq((struct ts_slice){text.p, (size_t)(dash - text.p)}, &out->made_s) < 0)
        return TS_EPARSE;
    for (size_t i = 0; i < hex.n; i++) {
        char c = hex.p[i];
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 16;
        if (d > 15)
            return TS_EPARSE;
        out->random = out->random << 4 | d;
    }
    return 0;
}

void tsd_once_begin(struct tsd_once *o, struct sto_writer *writer, uint32_t asker,
                    const struct sto_once_id *id, struct ts_slice text)
{
    *o = (struct tsd_once){
        .client = o->client,
        .stream = {.id = *id, .number = sto_writer_stream(writer), .client = o->client, .asker = asker}};
    o->text_n = (uint32_t)(text.n < sizeof o->text ? text.n : 0);
    if (o->text_n)
        memcpy(o->text, text.p, o->text_n);
}

void tsd_once_refused(struct tsd_once *o, uint64_t seq, struct ts_slice why)
{
    size_t n = why.n < sizeof o->why - 1 ? why.n : sizeof o->why - 1;
    o->n_refusals++;
    if (!o->refused || seq < o->refused)
        o->refused = seq;
    if (n)
        memcpy(o->why, why.p, n);
    o->why[n] = 0;
}
