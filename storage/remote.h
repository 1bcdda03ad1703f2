/*
 * remote.h - what a remote store behind the engine provides: a table of functions and its abilities.
 *
 * The engine accepts, logs and shows points by itself; the remote store receives them later, hour by hour
 * (ship), and queries read from both (fetch). A remote store is a member of
 * storage/remote/ or a module of its own (HBase); it begins with a struct sto_remote and has a constructor with
 * the parameters that it needs.
 *
 *   engine/ship    hours that changed -> ship, delete_range -> marks in the manifest
 *   queries        fetch -> rows that are merged with those of memstores and files
 *   annotations    fetch -> those of the series and hours that are read, or of all series (global ones)
 *   small cells    cell_get, cell_cas, trees
 *
 * Series are identified by their names, since the catalog's numbers mean nothing elsewhere. A remote store
 * with ids of its own may cache them by `key`, the number of the series in the catalog, which never refers to
 * another series while the remote store is open.
 *
 * Rollups and buckets of histograms are series of internal metrics (storage/internal.h). A remote store that has other tables or
 * formats for them stores them there, and returns them as such series. One that keeps all buckets of a histogram in one place
 * puts each bucket into what is there, so that buckets may come in several shipments, also at the same time; buckets that nobody
 * has sent stay as they are. A delete of bucket "u", which every histogram has, deletes the whole histogram.
 *
 * Order      of two writes to one time the one that the remote store applies later wins, whoever sent it
 * Values     points are PUTs (never additions); each time occurs once in a row
 * Errors     TS_EBACKEND    the store cannot be reached, or has answered with an error: try again later
 *            TS_ETIMEOUT    the deadline of the call has passed; it is not known what was done
 *            TS_ECANCELLED  the caller has cancelled; it is not known what was done
 *            TS_ELIMIT      the caller's account refuses memory; the text names the configuration key
 *            TS_ENOTFOUND   the remote store lacks the function (abilities) or the named object
 *            After any error the change may have been made completely, partly or not at all. All calls that
 *            change something may be repeated; the result of the last repetition holds.
 * Threads    every function may be called from any thread, several at the same time; close after all have ended
 * Not here   when to ship (engine), the format of HBase's tables
 */
#ifndef STORAGE_REMOTE_H
#define STORAGE_REMOTE_H

#include "base/budget.h"
#include "base/buf.h"
#include "storage/point.h"

struct sto_remote;

/* --- names --- */

/* The same order as enum sto_uid_kind of the catalog. */
enum sto_remote_kind { STO_REMOTE_METRIC, STO_REMOTE_TAGK, STO_REMOTE_TAGV };

/* A tag by its names. */
struct sto_remote_tag {
    struct ts_slice k, v;
};
#define STO_REMOTE_NO_KEY UINT64_MAX
/* A series by its names. All pointers are borrowed. */
struct sto_remote_series {
    uint64_t key; /* number of the series at the caller, for caches of ids; STO_REMOTE_NO_KEY = none */
    struct ts_slice metric;
    const struct sto_remote_tag *tags; /* ascending by the bytes of the keys; a key occurs once */
    size_t n_tags;                     /* at least 1 */
};
/* A name and the id that the remote store has for it. */
struct sto_remote_name {
    enum sto_remote_kind kind;
    struct ts_slice name; /* BY_ID: [out] borrowed until done returns */
    uint64_t id;          /* BY_ID: in; otherwise [out] */
    int rc;               /* [out] 0; TS_ENOTFOUND; TS_EINVAL: the remote store cannot hold such a name;
                           * FIND_EACH: TS_ECORRUPT: what it has of the name cannot be read */
};
enum sto_remote_lookup {
    STO_REMOTE_FIND, /* only look up; names without an id keep none; one that is damaged fails the call */
    STO_REMOTE_FIND_EACH, /* the same, but a name that is damaged fails alone */
    STO_REMOTE_MAKE,      /* give an id to names that have none; concurrent callers get the same id */
    STO_REMOTE_BY_ID,     /* look up the names of ids */
};

/* --- calls --- */

/* Limits of a call; {0} sets none. Borrowed until the call has ended, which is when `done` is called if it
 * has one. */
struct sto_remote_call {
    int64_t deadline_ns; /* monotonic clock (ts_clock_mono_ns); 0 = the limit that the remote store is
                                 * configured with */
    /* the call ends within 100 ms after this becomes true; NULL = it can't be cancelled */
    const _Atomic bool *cancel;
    struct ts_budget *memory; /* account for what the call holds for its caller; NULL: not counted */
    /* somebody waits for the result: the call is attempted, but not again and again until its deadline while
     * the remote store has been away for some time */
    bool is_query;
};
/* Receives the result of a call that does not wait: called exactly once, from any thread, perhaps before the
 * call returns. It must not call the remote store. err is borrowed until return, and NULL if rc is 0. */
typedef void (*sto_remote_done_fn)(void *arg, int rc, const struct ts_error *err);

/* --- points --- */

/* An hour of a series. All pointers are borrowed. */
struct sto_remote_row {
    struct sto_remote_series series;
    int32_t hour; /* since 1970 */
    /* n >= 1, sorted, each offset once, all PUT; NULL if only series are requested */
    const struct sto_cells *cells;
    /* ship: none of these offsets was ever sent to this row from this store, by a shipment that failed either: the cells
     * may be written without reading the row first. fetch: ignored */
    bool fresh;
};
/* Rows being written to the remote store. The caller owns it and keeps it until done is called. */
struct sto_shipment {
    /* of one hour or several, each series and hour once, ascending by the caller's numbers of metrics and series, then by hour */
    const struct sto_remote_row *rows;
    size_t n;         /* at least 1 */
    uint64_t n_bytes; /* memory of the cells, an estimate, which the caller limits */
    /* Called before done, by one thread at a time, for each row that the remote store can never accept
     * (because of a name or time that it cannot store); the other rows are shipped. err has the reason. */
    void (*refused)(void *arg, size_t row, const struct ts_error *err);
    void *arg; /* argument of refused */
};
/* A condition on a tag; a series without the key does not match. */
struct sto_remote_cond {
    struct ts_slice tagk;
    const struct ts_slice *values; /* accepted values; n_values 0 = any */
    size_t n_values;
};
/* An annotation that a fetch has found. All pointers are borrowed until return. */
struct sto_remote_note {
    const struct sto_remote_series *series; /* NULL: a global one */
    int64_t start_ms;                       /* its start time, as remote_cell.h has it in keys */
    struct ts_slice record;                 /* as the value of its small cell (remote_cell.h) */
};
/* Receives an annotation; otherwise as sto_fetch_row_fn. */
typedef int (*sto_fetch_note_fn)(void *arg, const struct sto_remote_note *note, size_t pos,
                                 struct ts_error *err);
/* What to read. All pointers are borrowed until the call returns. */
struct sto_fetch {
    /* every series read belongs to it; empty: global annotations are read, which have no series and no points */
    struct ts_slice metric;
    /* n_series of them, all of the metric; NULL: all series that match conds */
    const struct sto_remote_series *series;
    size_t n_series;
    const struct sto_remote_cond *conds; /* a series must match all of them; used if series is NULL */
    size_t n_conds;
    int64_t from_ms, to_ms; /* from <= t <= to; STO_MIN_TS_MS..STO_MAX_TS_MS */
    /* return one row without cells for each series that has points in the hours of the range. Of a bucket of histograms
     * these may be all series that have histograms there */
    bool series_only;
    /* end at the first row in the hours of the range, and return it with its metric alone (pos
     * SIZE_MAX). A row counts whatever it has: a point, but also an annotation or a histogram alone, and of rollups those of other hours that the
     * remote store keeps together with these. Costs little, however many rows there
     * are; use it to ask whether there is anything */
    bool any_row;
    /* Read all buckets of the histograms of a metric: `metric` is the beginning of their names (sto_internal_buckets), `series` are
     * series of the visible metric, and rows are those of the buckets' series, each with its own metric; pos is that of the
     * visible series. With series_only there is one row for each bucket that a series has */
    bool all_buckets;
    /* NULL: no annotations. Otherwise it is called with arg of the call for each annotation of these series that starts in
     * from <= start <= to, in any order, also where there are no points; not with series_only or any_row. One that cannot be read is
     * left out and counted (status). Those with a start time that the remote store keeps in another hour than that of the
     * time are not found */
    sto_fetch_note_fn note;
};
/* Receives a row; pos is the index in fetch->series, or SIZE_MAX. The row is borrowed until return. A result
 * below 0 ends the call, which returns it; *err is then set. Within one fetch, one thread at a time calls it.
 * It must not call the remote store. */
typedef int (*sto_fetch_row_fn)(void *arg, const struct sto_remote_row *row, size_t pos,
                                struct ts_error *err);

/* --- the table of functions --- */

/* What a remote store is able to do; constant while it is open. */
struct sto_remote_abilities {
    bool exact;        /* decimals are stored exactly; otherwise as the nearest double or float */
    bool milliseconds; /* times have milliseconds; otherwise rows with fractions of a second are refused */
    bool knows_range;  /* time_range is implemented */
    int64_t min_ms;    /* range of times that it can store, inclusive */
    int64_t max_ms;    /* the same */
    unsigned max_tags; /* most tags of a series */
    /* length of its ids by enum sto_remote_kind, 1 to 8 each; all 0: it has no ids, and `names` is TS_ENOTFOUND */
    uint8_t id_bytes[3];
};

struct sto_remote_ops {
    const char *name; /* "hbase"; static */
    /** Release everything. All calls must have ended. */
    void (*close)(struct sto_remote *r);
    const struct sto_remote_abilities *(*abilities)(const struct sto_remote *r);
    /**
     * Write points, replacing what the remote store has at their times. Returns at once; the caller limits the bytes in flight.
     * Shipments that are in flight at the same time have no row in common.
     *
     * Result: 0: every row that was not refused is stored, as durably as the remote store stores what it
     * acknowledges. Otherwise only some rows may be stored: ship all of them again.
     */
    void (*ship)(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                 sto_remote_done_fn done, void *arg);
    /** Delete the points of a series with from_ms <= t <= to_ms that were stored before the call; annotations
     * and other cells stay. A series that does not exist is no error: 0. TS_EINVAL: the remote store refuses this delete, or cannot
     * execute it, for reasons that do not concern what else is shipped. Blocks. */
    int (*delete_range)(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err);
    /**
     * Read rows, including everything that any writer stored before the call. Each row is returned once, in
     * any order; but if parts of it stand in several places, others of its points may be returned later, and of two points of one
     * time the one that is returned later counts. Blocks.
     *
     * The caller divides large requests, by time or by series; several calls may run at the same time. Cost:
     * the memory of a few rows, besides what `each` keeps. The annotations of f->note come from the rows that are read for
     * points anyway.
     *
     * @param each  NULL: only annotations are read, which takes less time where the remote store can select them
     */
    int (*fetch)(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                 sto_fetch_row_fn each, void *arg, struct ts_error *err);
    /** Bounds of the times of all points; they may be wider than necessary or rounded to hours. 1; 0: there
     * are no points; TS_ENOTFOUND: the bounds are not known, but there may be points. Blocks. */
    int (*time_range)(struct sto_remote *r, const struct sto_remote_call *call, int64_t *out_min_ms,
                      int64_t *out_max_ms, struct ts_error *err);
    /** Look up a batch of names or ids. The results are in list, which the caller owns and keeps until done
     * is called. Returns at once. */
    void (*names)(struct sto_remote *r, enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                  const struct sto_remote_call *call, sto_remote_done_fn done, void *arg);
    /** Report names that begin with prefix, in byte order, at most max of them, until each returns false.
     * Blocks. */
    int (*suggest)(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                   const struct sto_remote_call *call, bool (*each)(void *arg, struct ts_slice name),
                   void *arg, struct ts_error *err);
    /** Rename; the points then belong to the new name. TS_ENOTFOUND: no such name; TS_EEXIST: the new name is
     * in use. Blocks. */
    int (*rename)(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice from, struct ts_slice to,
                  const struct sto_remote_call *call, struct ts_error *err);
    /** Append the value of a small cell to out. 0; TS_ENOTFOUND. A store that has OpenTSDB's tables holds only the cells of
     * remote_cell.h; for other keys this and cell_cas are TS_EINVAL. Blocks. */
    int (*cell_get)(struct sto_remote *r, struct ts_slice key, const struct sto_remote_call *call,
                    struct ts_buf *out, struct ts_error *err);
    /** Set a small cell if its present value equals expected (empty: the cell does not exist), atomically
     * among all writers; an empty value deletes it. 0; TS_EEXIST: it has another value, and nothing has
     * changed. Blocks. */
    int (*cell_cas)(struct sto_remote *r, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, const struct sto_remote_call *call, struct ts_error *err);
    /** The remote store may have lost what it had acknowledged: read again, before it is used the next time, what is remembered of it,
     * such as ids. Returns at once. */
    void (*recheck)(struct sto_remote *r);
    /** Report the ids of the trees that it has, ascending, until each returns false; of one that is being made or deleted it may report
     * either. Blocks: a request for each tree. */
    int (*trees)(struct sto_remote *r, const struct sto_remote_call *call,
                 bool (*each)(void *arg, uint16_t id), void *arg, struct ts_error *err);
    /** Report counters and states; the unit is part of the name: each(arg, "rows", 5). Does not wait for
     * the network. */
    void (*status)(struct sto_remote *r, void (*each)(void *arg, const char *name, uint64_t value),
                   void *arg);
    /** Check everything that is stored; found(arg, text) for each fault, borrowed until return. With repair,
     * it repairs what it can. 0 whatever was found. Blocks, possibly for hours. */
    int (*check)(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                 void (*found)(void *arg, const char *text), void *arg, struct ts_error *err);
};

/* A remote store; the first member of the struct of each implementation. */
struct sto_remote {
    const struct sto_remote_ops *ops; /* every function is set */
};

#endif
