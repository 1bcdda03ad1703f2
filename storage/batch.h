/*
 * batch.h - points on their way from a worker's parser to the owner of their shards.
 *
 * Threads    a batch belongs to the sender until pushed, to the receiver until done, then to the sender's
 *            free list again
 */
#ifndef STORAGE_BATCH_H
#define STORAGE_BATCH_H

#include "base/queue.h"
#include "storage/point.h"

#define STO_BATCH_POINTS 4096

struct sto_batch {
    struct ts_msg msg; /* first: travels in a ts_queue */
    uint32_t n;        /* points used */
    uint32_t from;     /* port that sent it: where it goes back to */
    struct sto_point points[STO_BATCH_POINTS];
};

#endif
