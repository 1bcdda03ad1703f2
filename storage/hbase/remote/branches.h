/*
 * branches.h - branches and leaves of trees in tsdb-tree: what OpenTSDB's treesync stores, while other programs use the tables.
 *
 * Branches and leaves are written by compare-and-set where there is no cell, as OpenTSDB does it. A leaf that is there stays; if it
 * belongs to another series, that is a collision.
 *
 * Format     docs/OPENTSDB.md, section 10.9
 * Errors     those of storage/remote.h. After an error some of it is done; the same calls do the rest
 * Threads    any, several at the same time
 * Not here   where a series belongs (tsd/meta/tree_rules.h); deleting (metadata.h)
 */
#ifndef STORAGE_HBASE_REMOTE_BRANCHES_H
#define STORAGE_HBASE_REMOTE_BRANCHES_H

#include "storage/hbase/remote/remote.h"
#include "storage/hbase/rowkey.h"

#define STO_HBASE_PATH_MAX_NAMES 250 /* of the path of a leaf */

/* A series that has metadata. */
struct sto_hbase_meta_series {
    struct sto_hbase_ids ids;
    struct ts_slice tsuid; /* binary */
};
/* Receives series, at least one, borrowed until return. It may call the remote store. < 0 ends the call, which returns it. */
typedef int (*sto_hbase_meta_series_fn)(void *arg, const struct sto_hbase_meta_series *list, size_t n,
                                        struct ts_error *err);
/**
 * Report all series that have a document in tsdb-meta, by their TSUIDs, up to 1000 at once.
 *
 * @param call       limits; without a deadline it ends with an error when HBase does not answer for 5 minutes. NULL = none
 * @param out_n_bad  [in, out] rows that no series has are added
 * Blocks. Cost: a request for 1000 series
 */
int sto_hbase_each_meta_series(struct sto_remote *r, const struct sto_remote_call *call,
                               sto_hbase_meta_series_fn each, void *arg, uint64_t *out_n_bad,
                               struct ts_error *err);

/* A name of a path, and its hash as OpenTSDB makes it. */
struct sto_hbase_path_name {
    struct ts_slice name;
    uint32_t hash;
};
/* What was done for a tree. */
struct sto_hbase_leaf_counts {
    uint64_t n_branches, n_leaves; /* that were made; the root is a branch */
    uint64_t n_known;              /* leaves that were there */
    uint64_t n_collisions;         /* series whose leaf belongs to another one */
    uint64_t n_not_matched;        /* series that no rule matched */
    uint64_t n_too_deep;           /* series whose path has too many names: they get no leaf */
    uint64_t n_damaged;            /* leaves that cannot be read, which stay as they are */
};
/* Where a series belongs in a tree. All pointers are borrowed. */
struct sto_hbase_leaf {
    uint16_t tree;
    bool stores_failures;                    /* collisions and series that no rule matched are written, too */
    const struct sto_hbase_path_name *names; /* of the branches below the root, then of the leaf */
    size_t n_names;                          /* 0: no rule matched */
    struct ts_slice why;                     /* n_names 0: the reason, which is written */
    struct ts_slice tsuid;                   /* binary */
    struct sto_hbase_leaf_counts *counts;    /* of the tree; added to */
};
/**
 * Store leaves and the branches that lead to them.
 *
 * @param call  as of sto_hbase_each_meta_series
 * Blocks. Cost: looks up 500 rows a request, and sends one for each cell that is written. Memory: that of the names, several times
 */
int sto_hbase_store_leaves(struct sto_remote *r, const struct sto_hbase_leaf *leaves, size_t n,
                           const struct sto_remote_call *call, struct ts_error *err);

#endif
