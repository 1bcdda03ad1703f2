/*
 * wear.h - estimates how much of older files deletes have removed, so that their space is freed.
 *
 * Every merge leaves out what tombstones delete. A file that no join will write within 30 days of the first
 * delete that concerns it is rewritten on its own when about a quarter of its points is deleted, any other
 * file after these 30 days. A tombstone that concerns no file any more is dropped.
 *
 * Threads    compact_mu held
 * Cost       each tombstone is compared once with each file that is older; then each file is visited once
 * Not here   which files to write (pick_deleted.c), writing them (compact.c)
 */
#ifndef STORAGE_ENGINE_WEAR_H
#define STORAGE_ENGINE_WEAR_H

#include "storage/engine/engine_int.h"

/** Update what is known of the files of v. out: for each of v->ssts. */
void sto_wear_look(const struct sto_version *v, struct sto_pick_wear *out);
/** Generation of the newest tombstone in the files of v; a merge of files of v applies all up to it. 0 =
 * there is none. */
uint64_t sto_wear_tomb_gen(const struct sto_version *v);
/** May a file hold points that t deletes, since they were written without applying it? */
bool sto_wear_concerns(struct sto_sst *sst, const struct sto_tomb *t);

#endif
