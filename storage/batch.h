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

#define STO_BATCH_POINTS 4096

struct sto_batch {
    struct ts_msg msg; /* link in a ts_queue; must be the first member */
    uint32_t n;        /* number of points in use */
    uint32_t from;     /* number of the writer that sent it and gets it back */
    struct sto_point points[STO_BATCH_POINTS];
};

#endif
