/*
 * orphans.h - removes sorted files that belong to nothing when a store is opened.
 *
 * Threads    while no other thread runs
 */
#ifndef STORAGE_ENGINE_ORPHANS_H
#define STORAGE_ENGINE_ORPHANS_H

#include "storage/engine/engine_int.h"

/** Remove the files that the manifest does not list and no interrupted merge holds, and those of kept totals that are not declared. To be called only if everything that
 * the manifest lists could be read; otherwise an unlisted file might hold the only copy of its points. Errors of listing the folder. */
int sto_orphans__drop(struct sto_engine *e, struct ts_error *err);

#endif
