/*
 * parts.c - see parts.h.
 *
 * Invariant  parts with points are in the order of their points, and each lies within one shard
 */
#include "storage/engine/parts.h"

#include "storage/slots.h"

static struct sto_once *table_of(const struct sto_batch *b, const struct sto_part *p,
                                 const struct sto_parts_tables *tables)
{
    return tables->of[sto_shard_of(b->points[p->first].series, tables->n_shards)];
}

static const struct sto_stream *stream_of(const struct sto_batch *b, const struct sto_part *p)
{
    return &b->streams[p->stream];
}

/* Is a point, which belongs to no part, to be taken out? */
static bool is_dropped(const struct sto_point *p, uint32_t asker)
{
    return asker && p->asker == asker && sto_meta_op(p->flags) == STO_OP_ADD;
}

/* Take out the points of parts that are not new, and additions of an asker (0: of none) that belong to no part. */
static void compact(struct sto_batch *b, uint32_t asker)
{
    uint32_t n = 0, i = 0;
    for (unsigned k = 0; k <= b->n_parts; k++) {
        struct sto_part *p = k < b->n_parts ? &b->parts[k] : NULL;
        if (p && p->n == 0)
            continue;
        for (uint32_t end = p ? p->first : b->n; i < end; i++)
            if (!is_dropped(&b->points[i], asker))
                b->points[n++] = b->points[i];
        if (!p)
            break;
        uint32_t end = i + p->n;
        p->first = (uint16_t)n;
        if (p->answer != STO_ONCE_NEW)
            p->n = 0;
        for (; i < end; i++)
            if (p->n)
                b->points[n++] = b->points[i];
    }
    b->n = n;
}

void sto_parts_decide(struct sto_batch *b, const struct sto_parts_tables *tables,
                      const struct sto_once_time *now)
{
    bool all_new = true;
    for (unsigned k = 0; k < b->n_parts; k++) {
        struct sto_part *p = &b->parts[k];
        if (p->n == 0)
            continue;
        p->answer = (uint8_t)sto_once_look(table_of(b, p, tables), stream_of(b, p), p->seq, now);
        all_new &= p->answer == STO_ONCE_NEW;
    }
    if (!all_new)
        compact(b, 0);
}

void sto_parts_added(struct sto_batch *b, const struct sto_parts_tables *tables)
{
    for (unsigned k = 0; k < b->n_parts; k++) {
        const struct sto_part *p = &b->parts[k];
        if (p->n) /* does not fail: sto_parts_decide has made room */
            (void)sto_once_added(table_of(b, p, tables), &stream_of(b, p)->id, p->seq);
    }
}

void sto_parts_undone(struct sto_batch *b, const struct sto_parts_tables *tables)
{
    for (unsigned k = 0; k < b->n_parts; k++)
        if (b->parts[k].n)
            sto_once_undone(table_of(b, &b->parts[k], tables), &stream_of(b, &b->parts[k])->id);
}

void sto_parts_drop(struct sto_batch *b, const struct sto_parts_tables *tables, uint32_t asker,
                    const struct sto_once_time *now)
{
    for (unsigned k = 0; k < b->n_parts; k++) {
        struct sto_part *p = &b->parts[k];
        const struct sto_stream *s = stream_of(b, p);
        if (p->n == 0)
            continue;
        p->answer = STO_ONCE_NEW;
        if (s->asker != asker)
            continue;
        struct sto_once *t = table_of(b, p, tables);
        p->answer = (uint8_t)sto_once_look(t, s, p->seq, now);
        if (p->answer == STO_ONCE_NEW) {
            sto_once_refused(t, &s->id, p->seq);
            p->answer = STO_ONCE_WAIT;
        }
    }
    compact(b, asker);
}

uint64_t sto_parts_refused(const struct sto_batch *b, unsigned stream, enum sto_once_answer *out_why)
{
    uint64_t lowest = 0;
    for (unsigned k = 0; k < b->n_parts; k++) {
        const struct sto_part *p = &b->parts[k];
        if (p->stream != stream || p->answer <= STO_ONCE_REPEAT || (lowest && p->seq >= lowest))
            continue;
        lowest = p->seq;
        *out_why = (enum sto_once_answer)p->answer;
    }
    return lowest;
}

struct sto_parts_counts sto_parts_count(const struct sto_batch *b)
{
    struct sto_parts_counts n = {0};
    for (unsigned k = 0; k < b->n_parts; k++) {
        n.n_repeats += b->parts[k].answer == STO_ONCE_REPEAT;
        n.n_refused += b->parts[k].answer > STO_ONCE_REPEAT;
        n.n_share += b->parts[k].answer == STO_ONCE_SHARE;
    }
    return n;
}
