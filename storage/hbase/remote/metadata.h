/*
 * metadata.h - OpenTSDB's metadata as a whole: what its metasync, metapurge and treepurge do with the tables, while other programs use them.
 *
 * Metadata is written by compare-and-set, and deleted up to the timestamps that were read, so what another program writes meanwhile stays.
 *
 * Errors     those of storage/remote.h. After an error some of it is done; the same call does the rest
 * Threads    any, several at the same time
 * Not here   single documents (cells.c), checks (check.h), storing branches (branches.h)
 */
#ifndef STORAGE_HBASE_REMOTE_METADATA_H
#define STORAGE_HBASE_REMOTE_METADATA_H

#include "storage/hbase/remote/remote.h"

/* What was done. */
struct sto_hbase_metadata_counts {
    uint64_t n_rows;            /* of the data table that were read */
    uint64_t n_bad_keys;        /* of these, rows that no series has */
    uint64_t n_names, n_series; /* metadata that was made */
    uint64_t n_counters;        /* counters of series that were made */
    uint64_t n_corrected;       /* metadata whose time of creation was corrected */
    uint64_t n_unnamed;         /* ids and series without names, which get none */
    uint64_t n_damaged;         /* documents that cannot be read, which stay as they are */
    uint64_t n_deleted;         /* cells */
};

/**
 * Make what is missing of the metadata of all series that have points: `metric_meta` and its like, `ts_meta`, `ts_ctr` (as 1). A time of creation that
 * is 0, or more than an hour after the first row, becomes that of the first row.
 *
 * @param call  limits; without a deadline it ends with an error when HBase does not answer for 5 minutes. NULL = none
 * @param out   [in, out] counts are added
 * Blocks. Cost: reads the keys of all rows of the data table; looks up 500 names or series a request, and sends one for each cell that is written.
 * Memory: up to 12 MiB, counted in the store's account
 */
int sto_hbase_metasync(struct sto_remote *r, const struct sto_remote_call *call,
                       struct sto_hbase_metadata_counts *out, struct ts_error *err);
/** Delete all metadata of names and series, and the counters of series. Arguments as of sto_hbase_metasync. */
int sto_hbase_metapurge(struct sto_remote *r, const struct sto_remote_call *call,
                        struct sto_hbase_metadata_counts *out, struct ts_error *err);
/** Delete branches, leaves, collisions and unmatched series that OpenTSDB has stored of a tree; definition: also its definition and rules.
 * Arguments as of sto_hbase_metasync. */
int sto_hbase_treepurge(struct sto_remote *r, uint16_t tree, bool definition,
                        const struct sto_remote_call *call, struct sto_hbase_metadata_counts *out,
                        struct ts_error *err);

#endif
