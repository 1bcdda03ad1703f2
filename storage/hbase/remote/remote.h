/*
 * remote.h - a remote store (storage/remote.h) whose points lie in OpenTSDB's tables in HBase.
 *
 *   points        table data, family t         ship.c, delete.c, fetch.c
 *   histograms    the same                     ship_histogram.c, fetch_histogram.c
 *   rollups       tables of their own          ship_rollup.c, fetch_rollup.c
 *   counters      table meta                   ship_counters.c
 *   names         table uid                    ids.h
 *   small cells   uid, meta, tree, data        cells.c
 *
 * Threads    as storage/remote.h; shipments are sent by threads of its own, one for each ship connection
 * Not here   creating tables (tables.h), checking them (check.c)
 */
#ifndef STORAGE_HBASE_REMOTE_REMOTE_H
#define STORAGE_HBASE_REMOTE_REMOTE_H

#include "storage/hbase/remote/access.h"
#include "storage/hbase/rollup_config.h"
#include "storage/hbase/schema.h"
#include "storage/remote.h"

/* Names of OpenTSDB's tables. */
struct sto_hbase_tables {
    const char *data, *uid, *tree, *meta;
};
#define STO_HBASE_TABLES_DEFAULT ((struct sto_hbase_tables){"tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta"})

#define STO_HBASE_CONNECTIONS_MIN 3 /* one ships, two are left for queries and names */
#define STO_HBASE_CONNECTIONS_MAX 1024
#define STO_HBASE_WAIT_MAX_MS     3600000 /* of timeouts */
#define STO_HBASE_REPLY_MIN_BYTES (1 << 20)
#define STO_HBASE_REPLY_MAX_BYTES (1 << 30)

/* What is written to tsdb-meta for series that points are shipped of. */
enum sto_hbase_counters {
    STO_HBASE_NO_COUNTERS, /* nothing */
    STO_HBASE_SEEN,        /* ts_ctr is there, so that OpenTSDB finds the series */
    STO_HBASE_COUNTED,     /* ts_ctr counts points, and a new series gets ts_meta */
};

struct sto_hbase_opts {
    struct sto_hbase_access_opts access; /* gateways, limits */
    struct sto_hbase_schema schema;
    struct sto_hbase_tables tables; /* copied */
    unsigned
        ship_connections; /* shipments are sent over so many at once; 0 = 4, at most max_connections - 2 */
    unsigned scan_connections; /* scanners of one fetch at once; 0 = 4 */
    size_t max_cached_ids;     /* names whose ids are kept in memory; 0 = 1,000,000 */
    /* id of the simple codec of histograms, 0 to 255; -1: there is none, so that histograms are refused, and not read */
    int histogram_codec;
    /* tables of rollups; borrowed until the store is closed. NULL: there are none, so that rollups are refused, and not read */
    const struct sto_hbase_rollups *rollups;
    enum sto_hbase_counters counters;
    bool sole_writer;        /* nobody else writes rows of the series of this store */
    bool compacts;           /* rows of hours that are over are written as one compacted column */
    int64_t (*now_ms)(void); /* tests: the clock; NULL = the system's */
};

/** Check options that are all set: every rule but those of sizes of types and of memory. 0, or TS_EINVAL with one sentence that names the configuration
 * key. */
int sto_hbase_opts_check(const struct sto_hbase_opts *opts, struct ts_error *err);
/** Check names of tables, which differ, but for a table of pre-aggregates, which may be that of the points. rollups: NULL = there are none. 0, or TS_EINVAL with
 * one sentence that names the configuration key. */
int sto_hbase_names_check(const struct sto_hbase_tables *names, const struct sto_hbase_rollups *rollups,
                          struct ts_error *err);
/**
 * Nothing is connected or read: an HBase that is away is no error.
 *
 * @param opts  copied, except memory accounts, which outlive it
 * @param out   [out] closed by its function `close`
 * @return 0; TS_EINVAL with one sentence: an option is wrong
 */
int sto_hbase_open(const struct sto_hbase_opts *opts, struct sto_remote **out, struct ts_error *err);

#define STO_HBASE_SAMPLE_ROWS  64 /* about; at least STO_HBASE_SAMPLE_MIN of each part */
#define STO_HBASE_SAMPLE_PARTS 16 /* of the table, at most */
/* Rows from all parts of the table of points. */
struct sto_hbase_sample {
    unsigned n_rows;
    unsigned
        n_odd; /* of these: with keys that no row of a series has by the widths and salts of the options */
    unsigned n_beyond; /* and of those: with a salt that no row at all has */
};
#define STO_HBASE_SAMPLE_MIN 8u /* rows from which on keys say something about all */
/** Do the keys say that the widths and salts are not those with which the table was made? With twice as many buckets half of the keys fit; with half as
 * many all of the lower buckets do, and none of the others. */
static inline bool sto_hbase_sample_is_odd(const struct sto_hbase_sample *s)
{
    return s->n_rows >= STO_HBASE_SAMPLE_MIN &&
           (s->n_odd > s->n_rows / 4 || s->n_beyond >= STO_HBASE_SAMPLE_MIN);
}
/** TS_EINVAL, and *err says that the keys do not fit, if sto_hbase_sample_is_odd; otherwise 0. A caller appends to the text what follows from that. */
int sto_hbase_sample_check(const struct sto_hbase_sample *s, struct ts_error *err);
/** Look at the keys of some rows from all parts of the table. Errors of storage/remote.h. Blocks: one request, and one for each part. */
int sto_hbase_sample_keys(struct sto_remote *r, const struct sto_remote_call *call,
                          struct sto_hbase_sample *out, struct ts_error *err);
/** Does HBase answer at all? Asks whether the table of ids exists, which needs no region server. 1: it exists; 0: it is missing; errors of
 * storage/remote.h. Blocks: one request. */
int sto_hbase_has_ids(struct sto_remote *r, const struct sto_remote_call *call, struct ts_error *err);

#endif
