/*
 * reserve.h - a file that is given up when the disk is full, so that what must be written still can be.
 *
 * DIR/RESERVE is only there to take room. When a flush, retention or the opening of a store finds the disk full it is
 * removed, puts are refused, and the room goes to names, files and manifest; a flush then deletes log segments,
 * which are larger than the files made of them, and retention deletes files. When there is room again the file is written anew, and puts are
 * accepted.
 *
 * A store opens without it too: the number of its run could not be written then, so no log may be begun until
 * it is.
 *
 * Threads    release: any, under files_mu; use and tick take it; may_write: any
 * Not here   refusing puts (port.c)
 */
#ifndef STORAGE_ENGINE_RESERVE_H
#define STORAGE_ENGINE_RESERVE_H

#include "storage/engine/engine_int.h"

#define STO_RESERVE_NAME "RESERVE" /* in the data folder */

/** At opening, before anything else is written: note whether there is a reserve; make one if there is room. */
void sto_reserve__open(struct sto_engine *e);
/** The disk is full: give the reserve up and refuse puts. False: there was none to give. */
bool sto_reserve__release(struct sto_engine *e, const struct ts_error *why);
/** The same for who does not hold files_mu. */
bool sto_reserve__use(struct sto_engine *e, const struct ts_error *why);
/** Write the number of the run, with the reserve's room if it must be. Full all the same: note that it is not
 * written, refuse puts, answer 0. */
int sto_reserve__save_run(struct sto_engine *e, struct ts_error *err);
/** Once a second: is there room for what is missing? Then puts are accepted again. */
void sto_reserve__tick(struct sto_engine *e);
/** May batches that wait for room be written? No: what room there is is kept for files and manifest. */
bool sto_reserve__may_write(const struct sto_engine *e);

#endif
