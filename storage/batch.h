/*
 * batch.h - batch of points that a writer sends to the owner of their shards.
 *
 * Threads    a batch belongs to the sender until it is pushed, to the receiver until its points are applied,
 *            and then to the free list of the sender again
 */
#ifndef STORAGE_BATCH_H
#define STORAGE_BATCH_H

#include "base/queue.h"
#include "storage/point.h"

#define STO_BATCH_POINTS  4096
#define STO_BATCH_PARTS   1024 /* parts of sequences in a batch; lines have one addition each */
#define STO_BATCH_STREAMS 16   /* streams that these parts belong to */

/* Identity of a client that numbers its additions. No two clients may have the same. */
struct sto_once_id {
    uint64_t made_s; /* seconds since 1970 when the client made it; at least 1 */
    uint64_t random; /* distinguishes ids of one second */
};
/* A connection or request that sends sequences of an id in order. */
struct sto_stream {
    struct sto_once_id id;
    uint64_t number; /* higher than those of all streams before it in this run; at least 1 */
    uint64_t
        client;     /* address that it comes from, as a number: it may have so many ids; 0 = does not count */
    uint32_t asker; /* whose barrier asks for the result (sto_writer_barrier) */
};
/* The additions of one sequence that belong to one shard: they are made together or not at all. */
struct sto_part {
    uint64_t seq;      /* at least 1 */
    uint16_t first, n; /* points[first .. first + n) of the batch; n 0: the owner has taken it out */
    uint8_t stream;    /* index of its stream in the batch */
    uint8_t answer;    /* the owner's decision, an enum sto_once_answer (engine/once.h) */
};

struct sto_batch {
    struct ts_msg msg; /* link in a ts_queue; must be the first member */
    uint32_t n;        /* number of points in use */
    uint32_t from;     /* number of the writer that sent it and gets it back */
    uint16_t
        n_parts; /* number of parts in use, in the order of their points; points between them belong to none */
    uint16_t n_streams; /* number of streams in use */
    struct sto_point points[STO_BATCH_POINTS];
    struct sto_part parts[STO_BATCH_PARTS];
    struct sto_stream streams[STO_BATCH_STREAMS];
};

/** Begin a part of n points, which the caller appends at once (asker 0), all of them of one shard. False: the batch has no room for it. */
static inline bool sto_batch_part(struct sto_batch *b, const struct sto_stream *stream, uint64_t seq,
                                  uint32_t n)
{
    unsigned at = b->n_streams - 1u;
    if (STO_BATCH_POINTS - b->n < n || b->n_parts == STO_BATCH_PARTS)
        return false;
    if (!b->n_streams || b->streams[at].number != stream->number) {
        if (b->n_streams == STO_BATCH_STREAMS)
            return false;
        at = b->n_streams++;
        b->streams[at] = *stream;
    }
    b->parts[b->n_parts++] =
        (struct sto_part){.seq = seq, .first = (uint16_t)b->n, .n = (uint16_t)n, .stream = (uint8_t)at};
    return true;
}

#endif
