/*
 * ids_cache.h - a bounded table of names and numbers, found by either; for the files of this folder only.
 *
 * A record is a name and a number, with a link for each direction: BY_NAME if HBase said that the name has this id, BY_NUMBER if it said that
 * the id has this name. The two are read apart, since a number that lost a race for a name keeps its reverse mapping. A table of series has the catalog's
 * number and the TSUID, and the direction BY_NUMBER alone.
 *
 * Bound      max records; what was not used for longest is removed first. Memory is taken from a
 *            tally: never more than is left in its account for others; instead, older records are removed
 * Threads    one thread at a time: the cache of ids has a mutex
 * Cost       O(1) each; growth of the table O(records)
 */
#ifndef STORAGE_HBASE_REMOTE_IDS_CACHE_H
#define STORAGE_HBASE_REMOTE_IDS_CACHE_H

#include "base/buf.h"
#include "base/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sto_hbase__direction { STO_HBASE__BY_NAME, STO_HBASE__BY_NUMBER, STO_HBASE__DIRECTIONS };

/* A name and its number. */
struct sto_hbase__record {
    uint64_t number;                                       /* id; or number of a series at the caller */
    int64_t seen_ms[STO_HBASE__DIRECTIONS];                /* when HBase said so last */
    struct sto_hbase__record *next[STO_HBASE__DIRECTIONS]; /* in its chain; private */
    struct sto_hbase__record *newer, *older;               /* by use; private */
    uint32_t hash[STO_HBASE__DIRECTIONS];                  /* private */
    uint32_t n;                                            /* bytes */
    uint32_t generation;                                   /* of the table when it was added or seen */
    uint8_t kind;                                          /* enum sto_remote_kind; 0 for series */
    bool is_linked[STO_HBASE__DIRECTIONS];                 /* valid directions */
    char bytes[];                                          /* name in UTF-8; TSUID */
};

/* The table. {.max, .memory} set, the rest zero: an empty one. */
struct sto_hbase__records {
    size_t max;                                              /* records */
    struct ts_tally *memory;                                 /* counted here */
    uint32_t generation;                                     /* written into records */
    size_t n;                                                /* records */
    size_t n_heads;                                          /* of each direction, a power of two; private */
    struct sto_hbase__record **heads[STO_HBASE__DIRECTIONS]; /* owned chains; private */
    struct sto_hbase__record *newest, *oldest;               /* by use; private */
};

/** Free all records. */
void sto_hbase__records_release(struct sto_hbase__records *t);
/** The record of a name; NULL: none. It counts as used, and is borrowed until the next change of the table. */
struct sto_hbase__record *sto_hbase__records_by_name(struct sto_hbase__records *t, uint8_t kind,
                                                     struct ts_slice name);
/** The record of a number. */
struct sto_hbase__record *sto_hbase__records_by_number(struct sto_hbase__records *t, uint8_t kind,
                                                       uint64_t number);
/** HBase said that name and number belong together in one direction. What the table said of the key of that direction is replaced.
 * Nothing is remembered if there is no memory. Returns whether it contradicts what was there. */
bool sto_hbase__records_put(struct sto_hbase__records *t, enum sto_hbase__direction d, uint8_t kind,
                            struct ts_slice name, uint64_t number, int64_t seen_ms);
/** Forget one direction of a record, which is freed when none is left. NULL is harmless. */
void sto_hbase__records_forget(struct sto_hbase__records *t, struct sto_hbase__record *r,
                               enum sto_hbase__direction d);

#endif
