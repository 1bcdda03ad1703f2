/*
 * parts.h - the parts of sequences in a batch: what the owner decides about them before it writes the batch, and notes afterwards.
 *
 * Threads    the owner of the batch's shards
 * Not here   the table of a shard (once.h), what the sender does with refusals (sto_writer_on_refused)
 */
#ifndef STORAGE_ENGINE_PARTS_H
#define STORAGE_ENGINE_PARTS_H

#include "storage/batch.h"
#include "storage/engine/once.h"

/* Tables of ids by shard. */
struct sto_parts_tables {
    struct sto_once *const *of;
    uint32_t n_shards;
};

/**
 * Decide about each part of a batch that still has points. Points of parts that are not new are taken out of the batch; what is refused keeps its answer.
 *
 * Cost: two probes of a table for each part; the points move only if a part is not new.
 */
void sto_parts_decide(struct sto_batch *b, const struct sto_parts_tables *tables,
                      const struct sto_once_time *now);
/** The points of the batch are in the log. */
void sto_parts_added(struct sto_batch *b, const struct sto_parts_tables *tables);
/** They are not, and the batch is tried again later, beginning with sto_parts_decide. */
void sto_parts_undone(struct sto_batch *b, const struct sto_parts_tables *tables);
/** A batch waits, and one asker is about to learn that its additions were not made: take these out, of parts and without. Later sequences of the
 * ids concerned are refused until the refused ones arrive. */
void sto_parts_drop(struct sto_batch *b, const struct sto_parts_tables *tables, uint32_t asker,
                    const struct sto_once_time *now);
/* What became of parts. */
struct sto_parts_counts {
    uint64_t n_repeats; /* they were there already */
    uint64_t n_refused; /* of these, */
    uint64_t n_share;   /* because their address has too many ids */
};
/** Count the parts of a batch that were not new. */
struct sto_parts_counts sto_parts_count(const struct sto_batch *b);
/** The lowest refused sequence of a stream of the batch; 0 = none was refused. *out_why: the reason. */
uint64_t sto_parts_refused(const struct sto_batch *b, unsigned stream, enum sto_once_answer *out_why);

#endif
