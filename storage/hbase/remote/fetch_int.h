/*
 * fetch_int.h - the parts of a running fetch; for fetch.c and fetch_*.c only.
 *
 *   fetch.c          limits, ids of the request, threads
 *   fetch_request.c  what is requested: ids, hours, parts that are read one by one
 *   fetch_filter.c   filters that HBase applies
 *   fetch_ranges.c   narrow ranges of keys, in which all rows lie that are wanted
 *   fetch_scan.c     rows of a range of keys
 *   fetch_gets.c     rows of computed keys
 *   fetch_row.c      a row: which series it belongs to, its points, to the caller
 *   fetch_note.c     annotations of a row
 *   fetch_histogram.c  histograms of a row
 *   fetch_rollup.c   rollups of a row
 *   fetch_met.c      series by their TSUIDs
 *   fetch_misplaced.c  rows in the salt buckets of other series
 *
 * Threads    several readers work at the same time, each with a session of its own and a thread of its own; struct sto_hbase__fetch is shared by
 *            them, and is constant but for what is said there
 */
#ifndef STORAGE_HBASE_REMOTE_FETCH_INT_H
#define STORAGE_HBASE_REMOTE_FETCH_INT_H

#include "storage/hbase/columns.h"
#include "storage/hbase/histogram.h"
#include "storage/hbase/remote/remote_int.h"

#include <pthread.h>
#include <stdatomic.h>

#define STO_HBASE__FAMILY TS_SLICE_LIT("t")

/* --- series by their TSUIDs --- */

enum sto_hbase__naming {
    STO_HBASE__NEW,     /* not looked up yet */
    STO_HBASE__LISTED,  /* about to be looked up */
    STO_HBASE__NAMED,   /* series is set */
    STO_HBASE__UNNAMED, /* an id has no name */
};
/* A series that this fetch has met: it was requested, or a row of it was found. */
struct sto_hbase__met {
    enum sto_hbase__naming naming;   /* NAMED for series that were requested */
    _Atomic bool is_reported;        /* series_only: the caller has it; set under deliver_mu */
    size_t pos;                      /* in fetch->series; SIZE_MAX = it was not requested */
    uint32_t bucket;                 /* salt of its rows */
    struct sto_hbase__met *same;     /* the next one that was requested with the same names */
    struct sto_remote_series series; /* names; pointers into `names`, or those of the request */
    struct sto_bucket *
        buckets; /* owned: all_buckets with series_only: those that the caller has, ascending; under deliver_mu */
    size_t n_buckets, cap_buckets;
    void *names;        /* owned: tags and names */
    size_t names_bytes; /* of it */
    uint8_t n_tsuid;    /* bytes of tsuid */
    uint8_t tsuid[];
};
/* Series by TSUID: a hash table with open addressing. Owns them. */
struct sto_hbase__table {
    struct sto_hbase__met **slots; /* cap of them, a power of two; NULL = free */
    size_t n, cap;                 /* different series; slots */
    struct ts_budget *memory;      /* account */
};
/** The series of a TSUID; NULL: it is not there. O(1). */
struct sto_hbase__met *sto_hbase__table_find(const struct sto_hbase__table *t, struct ts_slice tsuid);
/** Add a series; one that is there already with the same TSUID gets it as `same`. 0, TS_ELIMIT, TS_ENOMEM. */
int sto_hbase__table_add(struct sto_hbase__table *t, struct ts_slice tsuid, struct sto_hbase__met **out,
                         struct ts_error *err);
/** Copy the names of a series that was found. 0, TS_ELIMIT, TS_ENOMEM. */
int sto_hbase__met_name(struct sto_hbase__table *t, struct sto_hbase__met *m,
                        const struct sto_remote_series *series, struct ts_error *err);
/** Forget all series. */
void sto_hbase__table_clear(struct sto_hbase__table *t);

/* --- the request --- */

/* A condition by ids. */
struct sto_hbase__cond {
    uint64_t tagk;    /* id */
    uint64_t *values; /* owned: n_values ids, ascending */
    size_t n_values;  /* those that have ids */
    bool any;         /* every value */
};
/* Narrow ranges of keys in which all rows lie that are wanted. */
enum sto_hbase__narrow {
    STO_HBASE__WIDE, /* they are not known: scanners read all rows of the metric, or those that pass the filter */
    STO_HBASE__BY_SERIES, /* one for each hour of each series of gets */
    STO_HBASE__BY_CONDS,  /* a few for each hour: where keys begin with tags of the conditions */
};
/* A range of keys that one reader scans: of one salt bucket. */
struct sto_hbase__part {
    uint32_t bucket;
    uint32_t first_h, last_h; /* hours, both inclusive */
    size_t from, to;          /* BY_SERIES: of gets */
};
/* What all readers share. */
struct sto_hbase__fetch {
    struct sto_hbase *h;
    const struct sto_fetch *f;
    struct sto_remote_call limits; /* of the whole fetch; deadline_ns is set */
    sto_fetch_row_fn each;         /* under deliver_mu; NULL: only annotations are read */
    void *arg;                     /* of each and of f->note */

    struct ts_slice metric_name; /* of the rows in HBase: the visible metric of internal ones */
    struct ts_slice table;       /* that is read */
    bool internal;   /* the metric of the request is internal: rows have it, not that of their series */
    bool histograms; /* they are read, not points */
    bool rollups;    /* the same; of pre-aggregates without interval points are read */
    struct sto_hbase_rollup_place place; /* of rollups and of such pre-aggregates */
    bool by_tag;                         /* place.pre tells which series of the table are wanted */
    struct sto_bucket bucket;            /* of histograms; not with all_buckets */
    uint64_t metric;                     /* id; 0 = global annotations */
    uint32_t first_h, last_h;            /* hours at which the first and the last row begin */
    struct sto_hbase__cond *conds;       /* owned: n_conds of them, ascending by tagk */
    size_t n_conds, conds_bytes;         /* number, memory */
    struct sto_hbase__table wanted;      /* series that were requested and have ids */
    /* series_only: those that the caller has, if several readers may find the same; under deliver_mu */
    struct sto_hbase__table reported;
    struct sto_hbase__met **
        gets; /* owned: n_gets series that are requested; each TSUID once. BY_SERIES: ascending by bucket and TSUID */
    size_t n_gets, cap_gets;
    enum sto_hbase__narrow narrow; /* of parts */
    struct sto_hbase__part *parts; /* owned: n_parts of them are scanned */
    size_t n_parts, cap_parts;
    struct ts_buf filter; /* for all requests but those of narrow ranges */
    struct ts_buf
        cell_filter; /* the part of it that concerns cells, for requests of narrow ranges: members of a list of filters */
    _Atomic uint64_t n_seen; /* rows that scanners have received */
    struct ts_buf misplaced; /* keys of rows that are read last (fetch_misplaced.c); under mu */

    pthread_mutex_t mu; /* next_*, rc, err, n_running, ended */
    size_t next;        /* part, or series of gets, that is read next */
    uint32_t next_h;    /* hour of gets */
    int rc;             /* first error */
    struct ts_error err;
    unsigned n_running; /* readers at work */
    pthread_cond_t ended;
    pthread_mutex_t deliver_mu;
    _Atomic bool stop;      /* all readers end */
    _Atomic bool exhausted; /* everything is being read; nobody needs another connection */
    _Atomic bool found;     /* f->any_row: the caller has its row; set under deliver_mu */
};
/** Look up the ids of the request and divide it. 0: there are no such rows; 1: there may be. Otherwise an error. */
int sto_hbase__fetch_prepare(struct sto_hbase__fetch *x, struct sto_hbase_session *s, struct ts_error *err);
/** End all readers with an error; the first one counts. rc 0 is ignored. */
void sto_hbase__fetch_fail(struct sto_hbase__fetch *x, int rc, const struct ts_error *err);
/** Free what prepare made. */
void sto_hbase__fetch_release(struct sto_hbase__fetch *x);
/** The hour at which the next row begins after the one that begins at an hour. */
uint64_t sto_hbase__next_row(const struct sto_hbase__fetch *x, uint32_t hour);
/** Rows of a series between first_h and last_h; perhaps a few more. */
uint32_t sto_hbase__count_rows(const struct sto_hbase__fetch *x);
/** Append a filter on the tags of keys by conditions, of which wanted series are one; nothing if none is possible. */
void sto_hbase__filter_conds(const struct sto_hbase_schema *s, const struct sto_hbase__cond *conds, size_t n,
                             struct ts_buf *out);

/** Add a filter of HBase without arguments to those of the fetch. */
void sto_hbase__filter_simple(struct sto_hbase__fetch *x, const char *name);
/** Add the filter that lets alone cells of a type pass, whose qualifiers begin with it: 1 annotations, 6 histograms. */
void sto_hbase__filter_type(struct sto_hbase__fetch *x, char type);
/** A fetch has succeeded: remember how many rows an hour of its metric has, if it has seen all of them. */
void sto_hbase__note_density(const struct sto_hbase__fetch *x);

/* Ranges that one scanner is given at most, which makes its filter some hundred KiB. */
#define STO_HBASE__RANGES 4096u
/** Ranges of an hour that conditions leave; 0: they do not narrow it. conds are ascending by tagk. */
size_t sto_hbase__ranges_of_conds(const struct sto_hbase__cond *conds, size_t n);
/**
 * Make the next request of a part that has narrow ranges: at most STO_HBASE__RANGES of them, from *hour and *at on.
 *
 * @param hour, at  hour and series of gets; moved behind what the request covers. The part is done when *hour > part->last_h
 * @param start     [out] first key
 * @param stop      [out] end of the last range
 * @param filter    [out] the filter of the request; its failure is that of memory
 */
void sto_hbase__ranges_next(const struct sto_hbase__fetch *x, const struct sto_hbase__part *part,
                            uint32_t *hour, size_t *at, struct ts_buf *start, struct ts_buf *stop,
                            struct ts_buf *filter);
/** Append a filter of HBase without arguments to a list of filters. */
void sto_hbase__list_simple(struct ts_buf *list, const char *name);
/** Append the filter that lets alone cells pass whose qualifiers begin with prefix. */
void sto_hbase__list_prefix(struct ts_buf *list, struct ts_slice prefix);

/* --- readers --- */

/* A row that is being collected. */
struct sto_hbase__row {
    struct sto_hbase__met *met; /* NULL: it is skipped */
    uint32_t base_s;
    struct sto_hbase_cell *cells; /* owned; bytes are borrowed from replies, or from held */
    size_t n_cells, cap_cells;
    struct ts_buf held; /* bytes of cells of replies that are not kept */
    /* cells before this one are of misplaced rows, those from it on of the row in the right bucket, which the caller has; 0: there is one row */
    size_t n_misplaced;
};
/* One thread of a fetch. */
struct sto_hbase__reader {
    struct sto_hbase__fetch *x;
    struct sto_hbase_session s;
    struct sto_hbase_columns columns;
    struct sto_hbase__row row;
    struct sto_hbase__table met; /* series that were found; forgotten from time to time */
    struct ts_buf doubtful; /* series_only: rows whose first cell is no point: [bytes of the key, 4][key] */
    struct ts_buf record;   /* of an annotation; name of a metric */
    struct sto_hbase__found *found; /* owned: counts of buckets of the present row (fetch_histogram.c) */
    size_t n_found, cap_found;
    struct sto_hbase_tally tally;      /* a histogram */
    struct sto_hbase__rollup *rollups; /* owned: cells of rollups of the present row (fetch_rollup.c) */
    size_t n_rollups, cap_rollups;
    uint32_t *meta; /* owned: points of one bucket, or of an hour of rollups */
    int64_t *m;
    size_t cap_meta, cap_m;
    bool reads_misplaced; /* rows in salt buckets of other series are not put off */
    pthread_t thread;
};
/** Empty; no session. */
void sto_hbase__reader_init(struct sto_hbase__reader *r, struct sto_hbase__fetch *x);
/** Free all but the session. */
void sto_hbase__reader_release(struct sto_hbase__reader *r);
/** Scan one part. 0, or an error of storage/remote.h. */
int sto_hbase__scan_part(struct sto_hbase__reader *r, const struct sto_hbase__part *part,
                         struct ts_error *err);
/** Fetch computed keys until there are no more. */
int sto_hbase__read_gets(struct sto_hbase__reader *r, struct ts_error *err);
/** Read the rows of r->doubtful again, with all their qualifiers. */
int sto_hbase__read_doubtful(struct sto_hbase__reader *r, struct ts_error *err);

/** Put off a row in the salt bucket of another series. TS_ELIMIT. */
int sto_hbase__misplaced_add(struct sto_hbase__fetch *x, struct ts_slice key, struct ts_error *err);
/** All other rows were read: read those that were put off, each together with the others of its series and hour, and give what is newer there to the
 * caller. */
int sto_hbase__misplaced_read(struct sto_hbase__fetch *x, struct ts_error *err);
/** Of the points of r->columns those that a misplaced row has, and that differ from what the caller has; borrowed until the next row. */
int sto_hbase__misplaced_points(struct sto_hbase__reader *r, struct sto_cells *out, struct ts_error *err);
/** Has the caller this cell of the present row already, or a newer version of it? */
bool sto_hbase__misplaced_is_old(const struct sto_hbase__row *row, size_t cell);

/** The series that a row belongs to, as far as it is one of those that are fetched; NULL: skip the row. A new one
 * is added to r->met. count: rows that no series can have are counted, and misplaced ones are put off. */
int sto_hbase__row_judge(struct sto_hbase__reader *r, struct ts_slice key, bool count,
                         struct sto_hbase__met **out, uint32_t *out_base_s, struct ts_error *err);
/** Begin with a row. met NULL: its cells are skipped. */
void sto_hbase__row_begin(struct sto_hbase__reader *r, struct sto_hbase__met *met, uint32_t base_s);
/** Add the cells of a result. TS_EBACKEND: it cannot be read. */
int sto_hbase__row_add(struct sto_hbase__reader *r, struct sto_thrift_row *result, struct ts_error *err);
/** Copy what is borrowed from a reply. */
int sto_hbase__row_hold(struct sto_hbase__reader *r, struct ts_error *err);
/** The row is complete: give it to the caller. key is for messages. */
int sto_hbase__row_end(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err);
/** Give the series of the present row to the caller (series_only), unless it was before. */
int sto_hbase__row_report(struct sto_hbase__reader *r, struct sto_hbase__met *met, uint32_t base_s,
                          struct ts_error *err);
/** any_row: give the present row to the caller, whatever it has, unless there was one before. */
int sto_hbase__row_found(struct sto_hbase__reader *r, struct ts_error *err);
/** The row is complete, and histograms are read: give their buckets to the caller. */
int sto_hbase__row_histograms(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err);
/** Free what that needs. */
void sto_hbase__row_release_histograms(struct sto_hbase__reader *r);
/** The row is complete, and rollups are read: give the points of each of its hours to the caller, or its series. */
int sto_hbase__row_rollups(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err);
/** Free what that needs. */
void sto_hbase__row_release_rollups(struct sto_hbase__reader *r);
/** Append the filter that lets cells of the rollups pass; more: after another filter. */
void sto_hbase__filter_rollups(const struct sto_hbase__fetch *x, bool more, struct ts_buf *out);
/** Is a series, whose names are known, one of those that by_tag wants? */
bool sto_hbase__is_of_place(const struct sto_hbase__fetch *x, const struct sto_remote_series *series);
/** Something is wrong with a cell of this row: it is logged, and counted as damaged. */
void sto_hbase__row_damaged(struct sto_hbase__reader *r, struct ts_slice key, const char *text);
/** Give points of a series to the caller, which are counted. metric: that of the row instead of that of the series, or NULL. cells NULL: the series alone,
 * only once if there is no metric. */
int sto_hbase__row_deliver(struct sto_hbase__fetch *x, struct sto_hbase__met *met, uint32_t base_s,
                           const struct ts_slice *metric, const struct sto_cells *cells,
                           struct ts_error *err);
/** Give an annotation of the present row to the caller, if it starts within the range. *why is filled if its document cannot be
 * read, which is no error. Errors: those of the caller's function; TS_ELIMIT. */
int sto_hbase__row_note(struct sto_hbase__reader *r, struct ts_slice document, struct ts_error *why,
                        struct ts_error *err);
/** Does the fetch end: a reader has failed, or the caller has cancelled it? TS_ECANCELLED. */
int sto_hbase__fetch_ended(const struct sto_hbase__fetch *x, struct ts_error *err);
/** Is a cell with this qualifier a point, or several? */
bool sto_hbase__is_point(struct ts_slice qualifier);
/** TS_ELIMIT: a buffer was refused n bytes by its account, which is named, or there is no memory. */
int sto_hbase__refused(const struct ts_buf *b, size_t n, const char *what, struct ts_error *err);

/* Has the caller got the one row that it wants? */
static inline bool sto_hbase__fetch_found(const struct sto_hbase__fetch *x)
{
    return atomic_load_explicit(&x->found, memory_order_relaxed);
}

static inline void sto_hbase__count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
