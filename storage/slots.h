/*
 * slots.h - dense numbers of series among those of one owner, for tables that an owner keeps.
 *
 * A number is used again when its series was forgotten, so a table that outlives a memstore looks at the series' id, too.
 *
 * Threads    plain data
 */
#ifndef STORAGE_SLOTS_H
#define STORAGE_SLOTS_H

#include "storage/point.h"

/* How shards are distributed among owners, with precomputed factors. */
struct sto_slots {
    uint32_t n_own_shards; /* shards of an owner, rounded up */
    uint64_t owners_part;  /* 2^32 / owners, rounded up: multiplies instead of dividing */
};

/** For a store with so many shards, at least 1; owner (shard mod n_owners) owns a series. */
static inline struct sto_slots sto_slots_of(uint32_t n_shards, uint32_t n_owners)
{
    return (struct sto_slots){.n_own_shards = (n_shards + n_owners - 1) / n_owners,
                              .owners_part = (((uint64_t)1 << 32) + n_owners - 1) / n_owners};
}

/** local * n_own_shards + shard / n_owners. The product is exact, since a shard and the number of owners have 16 bits. */
static inline uint64_t sto_slots_at(const struct sto_slots *slots, const struct sto_series *series)
{
    return (uint64_t)series->local * slots->n_own_shards + (series->shard * slots->owners_part >> 32);
}

#endif
