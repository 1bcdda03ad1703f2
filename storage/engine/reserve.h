/*
 * reserve.h - a file that is removed when the disk is full, so that there is space for writes that must not
 * fail.
 *
 * DIR/RESERVE only occupies space. When a flush, retention or the opening of a store finds the disk full, the
 * file is removed, puts are refused, and names, files and manifest use its space. A flush then deletes log
 * segments, which are larger than the files made of them, and retention deletes files. When there is space
 * again the file is written again, and puts are accepted.
 *
 * A store also opens on a full disk without a reserve. The number of its run cannot be written then, so no
 * log may be begun until it is written.
 *
 * Threads    release: any, under files_mu; use and tick take it; may_write: any
 * Not here   refusing puts (writer.c)
 */
#ifndef STORAGE_ENGINE_RESERVE_H
#define STORAGE_ENGINE_RESERVE_H

#include "storage/engine/engine_int.h"

#define STO_RESERVE_NAME "RESERVE" /* in the data folder */

/** When the store opens, before anything else is written: note whether there is a reserve; create it if
 * there is space. */
void sto_reserve__open(struct sto_engine *e);
/** The disk is full: remove the reserve and refuse puts. False: there was no reserve. */
bool sto_reserve__release(struct sto_engine *e, const struct ts_error *why);
/** The same for callers that do not hold files_mu. */
bool sto_reserve__use(struct sto_engine *e, const struct ts_error *why);
/** Write the number of the run, using the space of the reserve if necessary. If the disk is still full,
 * note that the number is not written, refuse puts and return 0. */
int sto_reserve__save_run(struct sto_engine *e, struct ts_error *err);
/** Called once a second: if there is space for what is missing, puts are accepted again. */
void sto_reserve__tick(struct sto_engine *e);
/** May batches that wait for space be written? False while the space is kept for files and manifest. */
bool sto_reserve__may_write(const struct sto_engine *e);

#endif
