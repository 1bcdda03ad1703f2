/*
 * check.h - checks OpenTSDB's tables in HBase, and repairs them.
 *
 *   data table    keys of rows, names of their ids, columns and values, several points of one time
 *   rollups       the same of the tables of rollups and pre-aggregates
 *   table of ids  names without ids and ids without names, names and ids that contradict each other, counters
 *
 * Other writers may use the tables meanwhile. Nothing is changed that was written less than STO_HBASE_SETTLED_MS ago: it may be half of a change. A
 * repair of a row puts new cells with the timestamp of the cells that they replace, so that whatever was written later stays the newest; reads the
 * row to see that the new cells are there; and only then deletes the old ones, up to the timestamps that were read. Append columns and mappings of names
 * are changed by compare-and-set. A row is checked again after its repair, and what is counted as repaired is what has gone.
 *
 * Errors     those of access.h
 * Threads    plain functions; they use as many threads as scan_connections. found and progress are called by one thread at a time
 * Memory     a page of about 1 MiB and one row for each thread, counted
 * Not here   printing (tsd/commands), creating tables (tables.h)
 * Source     docs/OPENTSDB.md, section 11.6; what differs from OpenTSDB's fsck: docs/OPERATIONS.md
 */
#ifndef STORAGE_HBASE_REMOTE_CHECK_H
#define STORAGE_HBASE_REMOTE_CHECK_H

#include "storage/hbase/remote/remote.h"

#define STO_HBASE_SETTLED_MS (10 * 60000ll) /* clocks of HBase and its clients differ by less than this */

/* What can be wrong. The names, without STO_HBASE_ and in lower case, are those that are printed. */
enum sto_hbase_fault {
    /* rows of the data table, and of those of rollups */
    STO_HBASE_BAD_KEY,         /* no series has such a key */
    STO_HBASE_WRONG_SALT,      /* the row lies in the salt bucket of another series */
    STO_HBASE_ORPHAN,          /* an id of the key has no name */
    STO_HBASE_BAD_VALUE,       /* a point cannot be read */
    STO_HBASE_BAD_COLUMN,      /* a compacted column of which no point can be read */
    STO_HBASE_BAD_ANNOTATION,  /* the document of an annotation cannot be read */
    STO_HBASE_DUPLICATE_POINT, /* points of one time have different values */
    STO_HBASE_OLD_ENCODING,    /* the length of a value is not that of its qualifier, but it can be read */
    STO_HBASE_IRREGULAR_COLUMN, /* a compacted column that is not sorted, or has another last byte than 0 or 1 */
    STO_HBASE_UNKNOWN_COLUMN, /* the qualifier is that of no known type */
    STO_HBASE_UNREADABLE_ROW, /* larger than hbase_max_reply_bytes: not checked */
    STO_HBASE_REPEATED_POINT, /* points of one time have the same value: OpenTSDB ignores all but one */
    STO_HBASE_UNSORTED_APPENDS, /* points of an append column are not in order, or there are several of one time */
    STO_HBASE_LONG_INTEGER,  /* an integer has more bytes than it needs */
    STO_HBASE_FUTURE_COLUMN, /* a type that a later version may have: never touched */
    /* table of ids */
    STO_HBASE_UID_LENGTH,  /* an id has another length than the configuration says, or is 0 */
    STO_HBASE_UID_COUNTER, /* a counter does not have 8 bytes, or is negative */
    STO_HBASE_COUNTER_LOW, /* a counter is lower than an id of its kind */
    STO_HBASE_NO_REVERSE,  /* the id of a name has no name */
    STO_HBASE_NO_FORWARD,  /* the name of an id has no id */
    STO_HBASE_SHARED_ID,   /* two names have one id */
    STO_HBASE_OTHER_NAME,  /* the id of a name has another name, which does not have this id */
    STO_HBASE_SECOND_ID,   /* an id has a name that has another id */
    STO_HBASE_UID_COLUMN,  /* a column of no known kind */
    STO_HBASE_RANDOM_IDS,  /* ids of metrics were assigned at random, without the counter */
    STO_HBASE_N_FAULTS
};
/* What may be changed; bits. */
enum sto_hbase_fix {
    STO_HBASE_FIX = 1,              /* whatever can be repaired without losing a point */
    STO_HBASE_FIX_NEWEST = 2,       /* of different values of one time the newest one stays */
    STO_HBASE_FIX_OLDEST = 4,       /* the oldest one */
    STO_HBASE_DELETE_VALUES = 8,    /* points that cannot be read */
    STO_HBASE_DELETE_COLUMNS = 16,  /* columns and annotations that cannot be read */
    STO_HBASE_DELETE_ROWS = 32,     /* rows with keys that no series has */
    STO_HBASE_DELETE_ORPHANS = 64,  /* rows of ids without names */
    STO_HBASE_DELETE_UNKNOWN = 128, /* columns of no known type */
    STO_HBASE_COMPACT = 256,        /* rows of hours that are over become one column */
    STO_HBASE_DELETE_ALL = STO_HBASE_DELETE_VALUES | STO_HBASE_DELETE_COLUMNS | STO_HBASE_DELETE_ROWS |
                           STO_HBASE_DELETE_ORPHANS | STO_HBASE_DELETE_UNKNOWN
};
/* A fault as it is listed; text and slices are borrowed until return. */
struct sto_hbase_found {
    enum sto_hbase_fault fault;
    const char *name;       /* of the fault */
    bool is_note;           /* harmless: readers of the tables read all points correctly */
    const char *table;      /* that it was found in */
    struct ts_slice row;    /* its key */
    struct ts_slice column; /* qualifier; p NULL: the row as a whole */
    const char *text;       /* one sentence */
};
struct sto_hbase_check_opts {
    unsigned fixes;         /* enum sto_hbase_fix; 0 = nothing is changed */
    struct ts_slice metric; /* of the data table only rows of this one; empty = all */
    int64_t from_ms, to_ms; /* of the data table only rows whose hour has a time of this range, inclusive */
    void (*found)(void *arg, const struct sto_hbase_found *f);       /* NULL = faults are only counted */
    void (*progress)(void *arg, uint64_t n_rows, uint64_t n_points); /* after each page; may be NULL */
    void *arg;                                                       /* argument of both */
};
#define STO_HBASE_CHECK_ALL ((struct sto_hbase_check_opts){.from_ms = INT64_MIN, .to_ms = INT64_MAX})

/* What was found. */
struct sto_hbase_check_result {
    uint64_t n_rows, n_cells;                       /* of the data table and those of rollups */
    uint64_t n_rollups;                             /* that can be read; each function and interval once */
    uint64_t n_points, n_annotations, n_histograms; /* that can be read; each time once */
    uint64_t n_names;                               /* forward mappings of the table of ids */
    uint64_t n_compacted;                           /* rows that became one column */
    uint64_t
        n_too_new; /* rows and mappings with faults that were not changed because they were written just now */
    uint64_t n_found[STO_HBASE_N_FAULTS];
    uint64_t n_fixed[STO_HBASE_N_FAULTS]; /* of these, those that have gone */
};

/** Name of a fault, "duplicate_point"; static. */
const char *sto_hbase_fault_name(enum sto_hbase_fault fault);
/** Is it harmless? */
bool sto_hbase_fault_is_note(enum sto_hbase_fault fault);
/** Which bits of enum sto_hbase_fix may repair it; 0: nothing does. */
unsigned sto_hbase_fault_fixes(enum sto_hbase_fault fault);

/**
 * Check the data table.
 *
 * @param r     opened by sto_hbase_open
 * @param call  limits; without a deadline the check ends with an error when HBase does not answer for 5 minutes. NULL = none
 * @param res   [in, out] counts are added
 * @return 0 whatever was found
 *         TS_ENOTFOUND  opts->metric has no id
 * Blocks. Cost: reads the whole table, or the rows of the metric.
 */
int sto_hbase_check_data(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                         const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                         struct ts_error *err);
/**
 * Check the tables of rollups and pre-aggregates that the store is configured with, if there are any. As sto_hbase_check_data. Of rollups, rows are never compacted.
 *
 * @return also TS_EBACKEND: a table does not exist
 */
int sto_hbase_check_rollups(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                            const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                            struct ts_error *err);
/** Check the table of ids; of opts, fixes STO_HBASE_FIX and STO_HBASE_DELETE_UNKNOWN, found, progress and arg are used. Otherwise as
 * sto_hbase_check_data. Cost: reads the table and looks up each mapping's counterpart, 500 a request. */
int sto_hbase_check_ids(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                        const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                        struct ts_error *err);
/** Delete a name: its two mappings and its metadata, never its points, by compare-and-set. 0; TS_ENOTFOUND: it has no id; TS_EBUSY: another writer has
 * changed it meanwhile. Blocks. */
int sto_hbase_delete_name(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice name,
                          const struct sto_remote_call *call, struct ts_error *err);

#endif
