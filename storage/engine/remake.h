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
 * Rewrite all files of the present version for which sto_sst_needs_remake is true, with a line in the log for
 * each. A failure does not stop the others; the next call tries again unless rows are lost.
 *
 * @param out_broken  the manifest accepts no more edits; any other error concerns a file or the disk
 * @return 0, also if a file without its summaries could not be rewritten: its points are read instead.
 *         Otherwise the first error:
 *         TS_ECORRUPT  rows of a broken file are lost; what sto_sst_broken says is in err
 *         TS_EIO TS_ENOSPC TS_EMFILE TS_ENOMEM  a damaged file could not be rewritten
 *
 * Blocks: reads and writes these files; otherwise one check of each file.
 */
int sto_remake__all(struct sto_engine *e, bool *out_broken, struct ts_error *err);

#endif
