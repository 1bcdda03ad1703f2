/*
 * calls.h - requests to HBase's Thrift2 gateway, each encoded into a buffer of its own.
 *
 * A request is filled by one function, or item by item between sto_thrift_batch_begin and _end. It can be sent more than once and over
 * any connection, but for those of a scanner: the connection adds the sequence id and the frame. Names, row keys and values are copied into it, so that nothing is
 * borrowed after a function has returned. One that did not fit (its limit, its account, memory) has bytes.failed set and is refused by
 * sto_thrift_client_send; the functions return TS_ELIMIT then.
 *
 * Optional bytes are left out when their p is NULL; bytes that are present and empty have another p.
 * Source     hbase.thrift of HBase 2.5 (hbase-thrift, package thrift2): numbers and types of fields, names of calls
 * Threads    a request belongs to one thread at a time
 * Cost       O(bytes); no allocation beyond the growth of the buffer, which is kept for the next request
 * Not here   replies (replies.h), connections (client.h), what OpenTSDB's rows are
 */
#ifndef STORAGE_HBASE_THRIFT_CALLS_H
#define STORAGE_HBASE_THRIFT_CALLS_H

#include "base/buf.h"
#include "storage/hbase/thrift/binary.h"

#include <stdbool.h>
#include <stdint.h>

enum sto_thrift_call {
    STO_THRIFT_GET,
    STO_THRIFT_GET_MULTIPLE,
    STO_THRIFT_PUT,
    STO_THRIFT_PUT_MULTIPLE,
    STO_THRIFT_DELETE_SINGLE,
    STO_THRIFT_DELETE_MULTIPLE,
    STO_THRIFT_MUTATE_ROW,
    STO_THRIFT_CHECK_AND_PUT,
    STO_THRIFT_CHECK_AND_MUTATE,
    STO_THRIFT_INCREMENT,
    STO_THRIFT_APPEND,
    STO_THRIFT_OPEN_SCANNER,
    STO_THRIFT_GET_SCANNER_ROWS,
    STO_THRIFT_CLOSE_SCANNER,
    STO_THRIFT_GET_SCANNER_RESULTS,
    STO_THRIFT_TABLE_EXISTS,
    STO_THRIFT_GET_TABLE_DESCRIPTOR,
    STO_THRIFT_CREATE_TABLE,
    STO_THRIFT_GET_ALL_REGION_LOCATIONS,
    STO_THRIFT_N_CALLS
};

/* What a repeated call does, when nobody knows whether the first one was executed. */
enum sto_thrift_effect {
    STO_THRIFT_READS, /* nothing is changed; a scanner that was opened in vain ends by its lease */
    STO_THRIFT_SETS, /* the same state again, unless another writer came between; cells without a timestamp get a newer one */
    STO_THRIFT_CHANGES, /* something else: it adds again, compares with its own result, skips rows of a scanner */
};

/* Facts about a call. */
struct sto_thrift_call_info {
    const char *name;              /* on the wire */
    enum sto_thrift_effect effect; /* of a repeat */
    enum sto_thrift_type result;   /* type of its result; STO_THRIFT_STOP = none */
};
/** Facts about a call; static. */
const struct sto_thrift_call_info *sto_thrift_call_info(enum sto_thrift_call call);

/* One encoded request. Callers read call, n_items and bytes. */
struct sto_thrift_request {
    enum sto_thrift_call call; /* what was encoded last */
    uint32_t n_items;          /* of a batch */
    uint64_t connection; /* the only one that it may be sent over (struct sto_thrift_scanner); 0 = any */
    size_t n_items_off;  /* of a batch: where their number stands in bytes */
    struct ts_buf
        bytes; /* strict message with sequence id 0; bytes.n tells its size while a batch is built */
};
/** Empty request of at most max_bytes, counted in budget (NULL = uncounted). */
void sto_thrift_request_init(struct sto_thrift_request *r, size_t max_bytes, struct ts_budget *budget);
/** Free its bytes. Idempotent. */
void sto_thrift_request_release(struct sto_thrift_request *r);

/* A cell to be written, or one that was read. */
struct sto_thrift_cell {
    struct ts_slice family, qualifier, value;
    int64_t ts_ms; /* timestamp as HBase keeps it */
    bool has_ts;   /* false when writing: HBase assigns the timestamp */
};

/* Cells that are selected: of a family, or of one qualifier. */
struct sto_thrift_column {
    struct ts_slice family;
    struct ts_slice qualifier; /* optional: the whole family */
    int64_t ts_ms;             /* of a delete: this timestamp, or up to this one, by its type */
    bool has_ts;               /* ts_ms is sent */
};

enum sto_thrift_durability {
    STO_THRIFT_USE_DEFAULT, /* as the table says */
    STO_THRIFT_SKIP_WAL,
    STO_THRIFT_ASYNC_WAL,
    STO_THRIFT_SYNC_WAL,
    STO_THRIFT_FSYNC_WAL
};

/* Which cells a get or a scan returns; all zero: the newest version of each. */
struct sto_thrift_select {
    const struct sto_thrift_column *columns; /* n_columns of them; none = all */
    size_t n_columns;
    int32_t max_versions;   /* of a cell; 0 = 1 */
    int64_t from_ts_ms;     /* timestamps from this one ... */
    int64_t to_ts_ms;       /* ... to before this one; 0 = any timestamps */
    struct ts_slice filter; /* in HBase's filter language; optional */
    /* The same filter as a message of HBase's protocol buffers, which can say more; optional. Gateways that know it (HBase 2.2 and later) use it
     * instead of `filter`, others leave it alone */
    struct ts_slice filter_bytes;
};
struct sto_thrift_get {
    struct ts_slice row;
    struct sto_thrift_select select;
};
struct sto_thrift_put {
    struct ts_slice row;
    const struct sto_thrift_cell *cells; /* n_cells of them, at least one */
    size_t n_cells;
    enum sto_thrift_durability durability;
};

enum sto_thrift_delete_type {
    STO_THRIFT_DELETE_COLUMN,        /* one version of a cell: the newest one, or that of the timestamp */
    STO_THRIFT_DELETE_COLUMNS,       /* all versions, up to the timestamp if there is one */
    STO_THRIFT_DELETE_FAMILY,        /* all cells of a family */
    STO_THRIFT_DELETE_FAMILY_VERSION /* those of one timestamp */
};
struct sto_thrift_delete {
    struct ts_slice row;
    const struct sto_thrift_column *columns; /* n_columns of them; none = the whole row */
    size_t n_columns;
    enum sto_thrift_delete_type type;
    enum sto_thrift_durability durability;
};
/* One step of an atomic change of a row: exactly one of the two. */
struct sto_thrift_mutation {
    const struct sto_thrift_put *put;
    const struct sto_thrift_delete *delete;
};

enum sto_thrift_compare {
    STO_THRIFT_LESS,
    STO_THRIFT_LESS_OR_EQUAL,
    STO_THRIFT_EQUAL,
    STO_THRIFT_NOT_EQUAL,
    STO_THRIFT_GREATER_OR_EQUAL,
    STO_THRIFT_GREATER
};
/* The cell that a conditional change looks at; the change is of the same row. */
struct sto_thrift_check {
    struct ts_slice row, family, qualifier;
    enum sto_thrift_compare
        compare;           /* checkAndMutate alone: how value compares with the cell's; checkAndPut: equal */
    struct ts_slice value; /* optional: left out, the cell must not exist */
};

/** get: one row. */
int sto_thrift_call_get(struct sto_thrift_request *r, struct ts_slice table,
                        const struct sto_thrift_get *get);
/** put: one row. */
int sto_thrift_call_put(struct sto_thrift_request *r, struct ts_slice table,
                        const struct sto_thrift_put *put);
/** deleteSingle: cells of one row. */
int sto_thrift_call_delete(struct sto_thrift_request *r, struct ts_slice table,
                           const struct sto_thrift_delete *del);
/** mutateRow: puts and deletes of one row, atomically. */
int sto_thrift_call_mutate_row(struct sto_thrift_request *r, struct ts_slice table, struct ts_slice row,
                               const struct sto_thrift_mutation *mutations, size_t n);
/** checkAndPut: put if a cell has a value, or does not exist. The reply is a truth value. */
int sto_thrift_call_check_and_put(struct sto_thrift_request *r, struct ts_slice table,
                                  const struct sto_thrift_check *check, const struct sto_thrift_put *put);
/** checkAndMutate: puts and deletes of the row, atomically, if a cell compares as said. The reply is a truth value. */
int sto_thrift_call_check_and_mutate(struct sto_thrift_request *r, struct ts_slice table,
                                     const struct sto_thrift_check *check,
                                     const struct sto_thrift_mutation *mutations, size_t n);
/** increment: add to an 8-byte counter. The reply has its new value, 8 bytes big-endian. */
int sto_thrift_call_increment(struct sto_thrift_request *r, struct ts_slice table, struct ts_slice row,
                              const struct sto_thrift_column *column, int64_t amount);
/** append: bytes to the end of cells; returns_cells: the reply has the new values. Timestamps are not sent. */
int sto_thrift_call_append(struct sto_thrift_request *r, struct ts_slice table,
                           const struct sto_thrift_put *cells, bool returns_cells);

/** Begin getMultiple, putMultiple or deleteMultiple. */
void sto_thrift_batch_begin(struct sto_thrift_request *r, enum sto_thrift_call call, struct ts_slice table);
/** One more row of getMultiple. */
void sto_thrift_batch_get(struct sto_thrift_request *r, const struct sto_thrift_get *get);
/** One more row of putMultiple. */
void sto_thrift_batch_put(struct sto_thrift_request *r, const struct sto_thrift_put *put);
/** One more row of deleteMultiple. */
void sto_thrift_batch_delete(struct sto_thrift_request *r, const struct sto_thrift_delete *del);
/** The batch has r->n_items rows. */
int sto_thrift_batch_end(struct sto_thrift_request *r);

/* Rows in the order of their keys. */
struct sto_thrift_scan {
    struct ts_slice start;           /* first row; empty = of the table */
    struct ts_slice stop;            /* before this row; empty = to the end of the table */
    struct sto_thrift_select select; /* cells of each row */
    int32_t caching;     /* rows that the gateway fetches from a region at once; 0 = HBase's default */
    int32_t batch_cells; /* most cells in one result, longer rows come in several; 0 = whole rows */
    int32_t limit_rows;  /* most rows; 0 = all */
    bool reversed;       /* in descending order; start is the greatest row then */
    bool spares_cache;   /* blocks that are read do not enter HBase's block cache */
};
/* An open scanner. Gateways number scanners from zero, each for itself and anew after a restart, so that an id means something else, perhaps
 * the scanner of another client, at any other process. It is therefore used over the connection that opened it alone. */
struct sto_thrift_scanner {
    uint64_t connection; /* number of that connection; 0 = not known, and not checked */
    int32_t id;          /* at the gateway */
};
/** openScanner: the reply is a scanner (sto_thrift_reply_scanner). */
int sto_thrift_call_open_scanner(struct sto_thrift_request *r, struct ts_slice table,
                                 const struct sto_thrift_scan *scan);
/** getScannerRows: its next rows, at most n_rows; none = the end. */
int sto_thrift_call_get_scanner_rows(struct sto_thrift_request *r, struct sto_thrift_scanner scanner,
                                     int32_t n_rows);
/** closeScanner. */
int sto_thrift_call_close_scanner(struct sto_thrift_request *r, struct sto_thrift_scanner scanner);
/** getScannerResults: the first n_rows rows of a scan that is opened and closed by the same call. */
int sto_thrift_call_get_scanner_results(struct sto_thrift_request *r, struct ts_slice table,
                                        const struct sto_thrift_scan *scan, int32_t n_rows);

/* Numbers of HBase; those of sto_thrift_family are sent if not negative. */
enum { STO_THRIFT_BLOOM_NONE, STO_THRIFT_BLOOM_ROW, STO_THRIFT_BLOOM_ROWCOL };
enum {
    STO_THRIFT_COMPRESSION_LZO,
    STO_THRIFT_COMPRESSION_GZ,
    STO_THRIFT_COMPRESSION_NONE,
    STO_THRIFT_COMPRESSION_SNAPPY,
    STO_THRIFT_COMPRESSION_LZ4,
    STO_THRIFT_COMPRESSION_BZIP2,
    STO_THRIFT_COMPRESSION_ZSTD
};
enum {
    STO_THRIFT_ENCODING_NONE = 0,
    STO_THRIFT_ENCODING_PREFIX = 2,
    STO_THRIFT_ENCODING_DIFF = 3,
    STO_THRIFT_ENCODING_FAST_DIFF = 4,
    STO_THRIFT_ENCODING_ROW_INDEX_V1 = 7
};

/* A column family, as it is created or was read. -1: HBase's default, or not said. */
struct sto_thrift_family {
    struct ts_slice name;
    int32_t bloom;        /* STO_THRIFT_BLOOM_* */
    int32_t compression;  /* STO_THRIFT_COMPRESSION_* */
    int32_t encoding;     /* of data blocks, STO_THRIFT_ENCODING_* */
    int32_t max_versions; /* that are kept of a cell */
    int32_t ttl_s;        /* seconds that cells live */
};
/* A family of the given name with HBase's defaults. */
#define STO_THRIFT_FAMILY(NAME)                                                                              \
    ((struct sto_thrift_family){                                                                             \
        .name = (NAME), .bloom = -1, .compression = -1, .encoding = -1, .max_versions = -1, .ttl_s = -1})

/** tableExists. Tables of a namespace are named "namespace:table", here and below. */
int sto_thrift_call_table_exists(struct sto_thrift_request *r, struct ts_slice table);
/** getTableDescriptor: its families. */
int sto_thrift_call_get_table_descriptor(struct sto_thrift_request *r, struct ts_slice table);
/** createTable, with a region from each split key on and one before the first. A gateway with framed transport refuses split keys
 * (HBase 2.5.8: "All split keys must be unique"). */
int sto_thrift_call_create_table(struct sto_thrift_request *r, struct ts_slice table,
                                 const struct sto_thrift_family *families, size_t n_families,
                                 const struct ts_slice *splits, size_t n_splits);
/** getAllRegionLocations: the regions of a table. */
int sto_thrift_call_get_all_region_locations(struct sto_thrift_request *r, struct ts_slice table);

#endif
