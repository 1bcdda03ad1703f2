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

/*
 * A shard is the lower bits of sto_series.shard, and the number of shards may change while a store is open; `local` is dense among the series with
 * the same lower bits as of the opening, its group. So a table has a spread of its own, and its slots stay what they are.
 *
 *   slot = local * n_own + (group >> shift) * n_high + (group & low) / owners
 *
 * With at most as many shards as groups, the owner follows from the group, and its slots are dense. With more shards only the power of two in the
 * number of owners is known of a group, and an owner's slots are dense if that is all; otherwise there are gaps until the store is opened again.
 */
/* How shards are distributed among owners, with precomputed factors. */
struct sto_slots {
    uint32_t group;       /* mask of the group in sto_series.shard */
    uint32_t low;         /* mask of what decides on the owner, within the group */
    uint32_t shift;       /* bits of it */
    uint32_t n_high;      /* groups of an owner that differ in these bits, rounded up */
    uint32_t n_own;       /* groups of an owner, rounded up */
    uint64_t owners_part; /* 2^32 / owners, rounded up: multiplies instead of dividing */
};
/* A table's part of the series. All but the owners are powers of two, or n_groups is n_shards. */
struct sto_shard_spread {
    uint32_t n_groups; /* groups of series within which `local` is dense; at least 1 */
    uint32_t n_shards; /* shards; at least 1 */
    uint32_t n_owners; /* owner (shard mod n_owners) owns a shard; 1: all series are of one owner */
};

/** The shard of a series in a store with so many shards, a power of two. */
static inline uint32_t sto_shard_of(const struct sto_series *series, uint32_t n_shards)
{
    return series->shard & (n_shards - 1);
}

/** Factors for a spread. */
static inline struct sto_slots sto_slots_of(struct sto_shard_spread spread)
{
    uint32_t n_owners = spread.n_owners, n = spread.n_groups;
    if (spread.n_shards <= n) {
        n = spread.n_shards;
    } else {
        for (n_owners = 1; n_owners < n && spread.n_owners % (2 * n_owners) == 0;)
            n_owners *= 2;
    }
    struct sto_slots slots = {.group = spread.n_groups - 1,
                              .low = n - 1,
                              .n_high = (n + n_owners - 1) / n_owners,
                              .owners_part = (((uint64_t)1 << 32) + n_owners - 1) / n_owners};
    while (n >> slots.shift > 1)
        slots.shift++;
    slots.n_own = slots.n_high * (spread.n_groups / n);
    return slots;
}

/** The slot of a series of the owner. The products are exact, since a group and the number of owners have 16 bits. */
static inline uint64_t sto_slots_at(const struct sto_slots *slots, const struct sto_series *series)
{
    uint32_t group = series->shard & slots->group;
    return (uint64_t)series->local * slots->n_own + (uint64_t)(group >> slots->shift) * slots->n_high +
           ((group & slots->low) * slots->owners_part >> 32);
}

#endif
