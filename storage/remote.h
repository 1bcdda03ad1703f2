/*
 * remote.h - what a remote store behind the engine provides: a table of functions, and what it is able to do.
 *
 * The engine accepts, logs and shows points by itself; the remote store receives them later, hour by hour
 * (ship), and queries read what it has beside what is here (fetch). A remote store is a member of
 * storage/remote/ or a module of its own (HBase); it begins with a struct sto_remote and has a constructor with
 * the parameters that it needs.
 *
 *   engine/ship    hours that changed -> ship, delete_range -> marks in the manifest
 *   queries        fetch -> rows that are merged with those of memstores and files
 *   small cells    cell_get, cell_cas, cell_each
 *
 * Series are known by their names: numbers of the catalog mean nothing elsewhere. A remote store that has ids
 * of its own finds them through `key`, the number of the series here, which never means another series while
 * the remote store is open. Rollups and buckets of histograms are series of internal metrics, whose names begin
 * with byte 1; a remote store that has tables or cells of other shapes for them keeps them there.
 *
 * Order      of two writes to one time, the one that the remote store applied later counts, whoever sent it
 * Values     points are PUTs (never additions); each time occurs once in a row
 * Errors     TS_EBACKEND    the store cannot be reached, or has answered with an error: try again later
 *            TS_ETIMEOUT    the deadline of the call has passed; it is not known what was done
 *            TS_ECANCELLED  the caller has cancelled; it is not known what was done
 *            TS_ELIMIT      the caller's account refuses memory; the text names its key
 *            TS_ENOTFOUND   the remote store does not have the function (abilities), or not the thing named
 *            After any error what the call should have changed may be changed wholly, partly or not at all; all
 *            calls that change something may be repeated, and the last repetition counts.
 * Threads    every function may be called from any thread, several at the same time; close after all have ended
 * Not here   when to ship (engine), what HBase's bytes look like
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

/* A tag by its text. */
struct sto_remote_tag {
    struct ts_slice k, v;
};
#define STO_REMOTE_NO_KEY UINT64_MAX
/* A series by its names. All is borrowed. */
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
    int rc;               /* [out] 0; TS_ENOTFOUND; TS_EINVAL: the remote store cannot hold such a name */
};
enum sto_remote_lookup {
    STO_REMOTE_FIND,  /* names that have no id stay without one */
    STO_REMOTE_MAKE,  /* names that have no id get one; two callers get the same one */
    STO_REMOTE_BY_ID, /* the names of ids */
};

/* --- calls --- */

/* What bounds a call. {0} is a call without bounds. Borrowed until the call has ended (done, for those that have it). */
struct sto_remote_call {
    int64_t deadline_ns;        /* monotonic clock (ts_clock_mono_ns); 0 = the limit that the remote store is
                                 * configured with */
    const _Atomic bool *cancel; /* ends the call within 100 ms of becoming true; NULL = never */
    struct ts_budget *memory;   /* account for what the call holds for its caller; NULL: not counted */
};
/* Result of a call that does not wait: called exactly once, from any thread, perhaps before the call returns. It
 * must not call the remote store. err is borrowed until return, and NULL if rc is 0. */
typedef void (*sto_remote_done_fn)(void *arg, int rc, const struct ts_error *err);

/* --- points --- */

/* An hour of a series. All is borrowed. */
struct sto_remote_row {
    struct sto_remote_series series;
    int32_t hour; /* since 1970 */
    const struct sto_cells
        *cells; /* n >= 1, sorted, each offset once, PUT; NULL where only series are wanted */
};
/* Rows on their way into the remote store. It belongs to the caller, and must stay until done is called. */
struct sto_shipment {
    const struct sto_remote_row
        *rows; /* of one hour, each series once, ascending by the caller's numbers of metrics and series */
    size_t n;  /* at least 1 */
    uint64_t n_bytes; /* memory that the cells take, about: what the caller limits */
    bool
        first; /* this store has shipped nothing of the hour yet: cells may be written without reading the row */
    /* Called before done, by one thread at a time, for a row that the remote store will never take (a name or time that it cannot
     * hold); the others are shipped. err says why. */
    void (*refused)(void *arg, size_t row, const struct ts_error *err);
    void *arg; /* of refused */
};
/* A condition on a tag; a series without the key does not match. */
struct sto_remote_cond {
    struct ts_slice tagk;
    const struct ts_slice *values; /* the value is one of these; n_values 0 = any */
    size_t n_values;
};
/* What to read. All is borrowed until the call returns. */
struct sto_fetch {
    struct ts_slice metric; /* every series read belongs to it */
    const struct sto_remote_series
        *series; /* n_series of them, all of the metric; NULL: those that meet conds */
    size_t n_series;
    const struct sto_remote_cond *conds; /* all must be met; used if series is NULL */
    size_t n_conds;
    int64_t from_ms, to_ms; /* from <= t <= to; STO_MIN_TS_MS..STO_MAX_TS_MS */
    bool
        series_only; /* one row without cells for each series that has points there (or near: the whole hours count) */
};
/* Receives a row; pos is the index in fetch->series, or SIZE_MAX. The row is borrowed until return. A result below 0 ends the call
 * with it; *err is then set. One thread at a time calls it for one call of fetch; it must not call the remote store. */
typedef int (*sto_fetch_row_fn)(void *arg, const struct sto_remote_row *row, size_t pos,
                                struct ts_error *err);

/* --- the table --- */

/* What a remote store is able to do; constant while it is open. */
struct sto_remote_abilities {
    bool exact;          /* decimals come back digit for digit; otherwise as the nearest double or float */
    bool milliseconds;   /* keeps times below a second; otherwise rows with such times are refused */
    bool knows_range;    /* time_range answers */
    int64_t min_ms;      /* times that it can hold, inclusive */
    int64_t max_ms;      /* the same */
    unsigned max_tags;   /* tags of a series */
    size_t max_id_bytes; /* of its ids, 1 to 8; 0: it has no ids, and the function names is TS_ENOTFOUND */
};

struct sto_remote_ops {
    const char *name; /* "hbase"; static */
    /** Release everything. All calls have ended. */
    void (*close)(struct sto_remote *r);
    const struct sto_remote_abilities *(*abilities)(const struct sto_remote *r);
    /**
     * Write points, replacing what the remote store has at their times. Returns at once; the caller limits the bytes in flight.
     * Shipments that are in flight at the same time have no row in common.
     *
     * Result: 0: every row that was not refused is stored, and as durable as the remote store makes what it
     * acknowledges. Otherwise some rows may be stored: ship them all again.
     */
    void (*ship)(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                 sto_remote_done_fn done, void *arg);
    /** Delete the points of a series with from_ms <= t <= to_ms that were stored before the call, annotations and other
     * cells not. A series that is not there has no points: 0. Blocks. */
    int (*delete_range)(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err);
    /**
     * Read rows: whatever was stored before the call, by whomever, is among them. Each row once, in any order. Blocks.
     *
     * Large requests are the caller's to cut, by time or by series; several calls may run at the same time.
     * Cost: memory of a few rows of its own; what each does with a row is the caller's.
     */
    int (*fetch)(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                 sto_fetch_row_fn each, void *arg, struct ts_error *err);
    /** Bounds of the times of all points, perhaps too wide, or rounded to hours. 1; 0: there are no points; TS_ENOTFOUND: nobody
     * knows, which is not the same as "no points". Blocks. */
    int (*time_range)(struct sto_remote *r, const struct sto_remote_call *call, int64_t *out_min_ms,
                      int64_t *out_max_ms, struct ts_error *err);
    /** Look names or ids up, a batch in one go; results are in list, which belongs to the caller and must stay until done.
     * Returns at once. */
    void (*names)(struct sto_remote *r, enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                  const struct sto_remote_call *call, sto_remote_done_fn done, void *arg);
    /** Names that begin with prefix, in byte order, at most max of them, until each returns false. Blocks. */
    int (*suggest)(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                   const struct sto_remote_call *call, bool (*each)(void *arg, struct ts_slice name),
                   void *arg, struct ts_error *err);
    /** Rename; points stay with the name. TS_ENOTFOUND: no such name; TS_EEXIST: the new name is in use. Blocks. */
    int (*rename)(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice from, struct ts_slice to,
                  const struct sto_remote_call *call, struct ts_error *err);
    /** Append the value of a small cell to out. 0; TS_ENOTFOUND. Blocks. */
    int (*cell_get)(struct sto_remote *r, struct ts_slice key, const struct sto_remote_call *call,
                    struct ts_buf *out, struct ts_error *err);
    /** Set a small cell if its value is expected (empty: there is none), atomically among all writers; an empty
     * value deletes it. 0; TS_EEXIST: it has another value, and nothing has changed. Blocks. */
    int (*cell_cas)(struct sto_remote *r, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, const struct sto_remote_call *call, struct ts_error *err);
    /** Small cells with from <= key < to (empty: no bound) in byte order, until each returns false. Blocks. */
    int (*cell_each)(struct sto_remote *r, struct ts_slice from, struct ts_slice to,
                     const struct sto_remote_call *call,
                     bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg,
                     struct ts_error *err);
    /** Report counters and states, whose names carry the unit: each(arg, "rows", 5). Does not wait for the network. */
    void (*status)(struct sto_remote *r, void (*each)(void *arg, const char *name, uint64_t value),
                   void *arg);
    /** Check everything that is stored; found(arg, text) for each fault, borrowed until return. With repair it mends
     * what it can. 0 whatever was found. Blocks, for hours perhaps. */
    int (*check)(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                 void (*found)(void *arg, const char *text), void *arg, struct ts_error *err);
};

/* A remote store; the first member of the struct of each kind. */
struct sto_remote {
    const struct sto_remote_ops *ops; /* every function is set */
};

#endif
