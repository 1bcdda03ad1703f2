/*
 * expire_cut.h - how many points of a file retention hides while the file stays, so that it is written again without them.
 *
 * A file that a cutoff passes goes as a whole when its newest point has expired. If that is soon, and little time has passed since its oldest point
 * expired, rewriting it would free little space for a short time: it waits. Of any other file that a cutoff passes some blocks are read, at most STO_CUT_BLOCKS, and the points in them counted. Times and
 * sets of series alone would not do: in a file that was written again, series that are kept for long still have the times that others have lost, and
 * it would be written over and over.
 *
 * Threads    one at a time for each file
 * Not here   what is done with the number (expire.c), files that go as a whole (expire.c, retention.c)
 */
#ifndef STORAGE_ENGINE_EXPIRE_CUT_H
#define STORAGE_ENGINE_EXPIRE_CUT_H

#include "storage/engine/files/sst.h"
#include "storage/floors.h"

#define STO_CUT_BLOCKS    64u       /* blocks read of a file */
#define STO_CUT_WAIT_MS   TS_DAY_MS /* a file waits if both times are shorter than this, */
#define STO_CUT_WAIT_PART 4u        /* and than 1/4 of that for which its points are kept */

/* What hides points of files. */
struct sto_cut_by {
    const struct sto_floors *floors; /* borrowed; NULL: there are none */
    int64_t cutoff_ms;               /* points before it are hidden, */
    uint64_t cutoff_gen;             /* provided they are of generations below this one; 0 = none are */
    int64_t now_ms;                  /* wall clock */
    bool
        at_once; /* no file waits, and one of which all series but some have expired counts, too: space is needed */
};

/** Does a file that a cutoff passes, or has not reached, wait for the time at which all of it has expired? O(1). */
bool sto_expire_cut__waits(const struct sto_sst_info *file, int64_t cutoff_ms, int64_t now_ms);
/**
 * Estimate how many points of a file are hidden.
 *
 * @return 0 also if no cutoff passes the file, or if it waits, or if a block of it cannot be read
 *
 * Blocks: reads from the file.   Cost: decodes STO_CUT_BLOCKS blocks.
 */
uint64_t sto_expire_cut__points(struct sto_sst *sst, const struct sto_cut_by *by);
/** Estimate how many points of a file are of series of a set, and not before a time. Returns 0, blocks and costs as above. */
uint64_t sto_expire_cut__points_of(struct sto_sst *sst, const roaring_bitmap_t *series, int64_t from_ms);

#endif
