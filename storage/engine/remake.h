/*
 * remake.h - rewrites files that are damaged without loss of points.
 *
 * Summaries, the index, the bitmap of series and the footer of a sorted file can be computed from its rows
 * and the manifest. If all rows and tombstones can be read, they are written to a new pair of files, which
 * replaces the damaged one.
 *
 * Threads    while the store opens, or with compact_mu held
 * Not here   what to do when rows are lost (storage/fsck.h)
 */
#ifndef STORAGE_ENGINE_REMAKE_H
#define STORAGE_ENGINE_REMAKE_H

#include "storage/engine/engine_int.h"

/**
 * Write anew all files of the present version that sto_sst_needs_remake names; a line in the log for each. One that fails stops no
 * other; it is tried again by the next call unless its rows are lost.
 *
 * @param out_broken  the manifest takes nothing more; any other error is one of a file, or of the disk
 * @return 0, also if a file without its summaries could not be written anew: it is read by its points. Else the first error:
 *         TS_ECORRUPT  rows of a broken file are lost; what sto_sst_broken says is in err
 *         TS_EIO TS_ENOSPC TS_EMFILE TS_ENOMEM  a damaged file could not be written anew
 *
 * Blocks: reads and writes the files named, all else costs a look at each file.
 */
int sto_remake__all(struct sto_engine *e, bool *out_broken, struct ts_error *err);

#endif
