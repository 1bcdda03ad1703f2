/*
 * once_all.h - the tables of all shards of a store, and the bytes in which the manifest keeps them.
 *
 * Format     docs/FORMAT.md "Manifest", extension of ids of clients
 * Threads    each table belongs to the owner of its shard; the functions for all tables run while no owner does
 * Not here   one table (once.h)
 */
#ifndef STORAGE_ENGINE_ONCE_ALL_H
#define STORAGE_ENGINE_ONCE_ALL_H

#include "storage/engine/once.h"

/** Make empty tables, one for each shard. 0, TS_ENOMEM. */
int sto_once_all_new(uint32_t n_shards, const struct sto_once_limits *limits, struct sto_once ***out);
/** Free them. NULL is ignored. */
void sto_once_all_free(struct sto_once **tables, uint32_t n_shards);
/** Append the tables of shards first, first + step, ..., without those that are new, to out. A table for which there is no
 * memory forgets its ids, and only that is written. */
void sto_once_all_encode(struct sto_once *const *tables, uint32_t n_shards, uint32_t first, uint32_t step,
                         const struct sto_once_time *now, struct ts_buf *out);
/** Append what says that every shard has forgotten all ids up to a time. */
void sto_once_all_encode_forgotten(uint32_t n_shards, uint64_t made_s, struct ts_buf *out);
/**
 * Make the tables of a store that gets another number of shards; the old ones stay as they are. Both numbers are powers of two. A shard that is divided is copied;
 * shards that become one get one table, if they remember the same sequences of the same ids, so that it can stand for all of them.
 *
 * @param n       the new number
 * @param limits  of the new tables
 * @return 0; TS_EBUSY: they do not; TS_ENOMEM
 */
int sto_once_all_change(struct sto_once *const *tables, uint32_t n_shards, uint32_t n,
                        const struct sto_once_limits *limits, struct sto_once ***out);
/** Does a sequence that was refused have to arrive before later ones, in any of the tables? */
bool sto_once_all_wait(struct sto_once *const *tables, uint32_t n_shards);
/** The latest steady_s of the tables that were read (sto_once_former_s). */
uint64_t sto_once_all_former_s(struct sto_once *const *tables, uint32_t n_shards);
/** Read what these functions appended, any number of times in any order of shards, into tables that are empty. Any bytes are
 * safe. 0, TS_ENOMEM, TS_ECORRUPT. */
int sto_once_all_decode(struct sto_once *const *tables, uint32_t n_shards, struct ts_slice bytes,
                        struct ts_error *err);

#endif
