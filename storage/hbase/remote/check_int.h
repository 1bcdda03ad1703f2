/*
 * check_int.h - the parts of a running check; for check*.c only.
 *
 *   check.c       what faults are called, limits, threads and ranges
 *   check_scan.c  pages of rows, and the names of their ids
 *   check_row.c   one row: what is wrong with it
 *   check_rollup.c  the same of a row of rollups
 *   check_fix.c   one row: its repair
 *   check_ids.c   the table of ids
 *   check_cell.c  single cells: read, compared and set
 *
 * Threads    a checker belongs to one thread; struct sto_hbase__check is shared, and constant but for what is said there
 */
#ifndef STORAGE_HBASE_REMOTE_CHECK_INT_H
#define STORAGE_HBASE_REMOTE_CHECK_INT_H

#include "storage/hbase/remote/change.h"
#include "storage/hbase/remote/check.h"
#include "storage/hbase/remote/remote_int.h"

#include <pthread.h>
#include <stdatomic.h>

#define STO_HBASE__REQUEST_BYTES ((size_t)64 << 20)
#define STO_HBASE__PAGE_ROWS     1000 /* most rows of a page */

/* Keys from start to before stop; empty: no bound. */
struct sto_hbase__range {
    struct ts_buf start, stop;
};
/* What all checkers of a run share. */
struct sto_hbase__check {
    struct sto_hbase *h;
    const char *table;                    /* that is checked */
    const struct sto_hbase_rollup *shape; /* of its rows of rollups; NULL: they have points */
    const struct sto_hbase_check_opts *opts;
    const struct sto_remote_call *call; /* NULL = no limits */
    struct ts_budget *memory;
    struct sto_hbase__range *ranges; /* n_ranges of them */
    size_t n_ranges;
    pthread_mutex_t mu;                 /* of what follows, and of opts->found and progress */
    size_t next;                        /* range that is read next */
    struct sto_hbase_check_result *res; /* counts */
    int rc;                             /* first error */
    struct ts_error err;
    _Atomic bool stop; /* all checkers end */
};
/* Kinds of cells. */
enum sto_hbase__cell_kind {
    STO_HBASE__SINGLE,
    STO_HBASE__COMPACTED,
    STO_HBASE__APPENDS,
    STO_HBASE__ANNOTATION,
    STO_HBASE__ROLLUP,
    STO_HBASE__OTHER
};
/* What is known of a cell of a row. */
struct sto_hbase__cell_state {
    enum sto_hbase__cell_kind kind;
    uint32_t n_entries; /* points of it that were read */
    bool damaged;       /* points of it could not be read */
    bool irregular;     /* OLD_ENCODING, IRREGULAR_COLUMN, UNSORTED_APPENDS or LONG_INTEGER */
    bool bad;           /* BAD_COLUMN, BAD_ANNOTATION, or BAD_VALUE of a single point */
    bool unknown;       /* UNKNOWN_COLUMN */
    /* ROLLUP, one of several of its function and interval: */
    bool repeated;             /* all have its value, and it is not the newest one */
    bool contested;            /* they have different values */
    bool is_newest, is_oldest; /* of those that are contested */
};
/* One thread of a check. */
struct sto_hbase__checker {
    struct sto_hbase__check *x;
    struct sto_hbase_session s;
    struct sto_thrift_request request; /* pages, single rows, changes */
    struct ts_buf page;                /* copy of a reply: rows of a page */
    struct ts_buf row;                 /* the same: a row that is repaired */
    struct ts_buf start;               /* where the next page begins */
    int32_t n_rows;                    /* of the next page */
    struct sto_hbase_change change;    /* of a row that is compacted */
    struct sto_hbase_columns columns;  /* the row */
    struct sto_hbase_cell *cells;      /* of the row: n_cells */
    size_t n_cells, cap_cells;
    struct sto_hbase__cell_state *states; /* of each cell */
    size_t cap_states;
    struct ts_slice key; /* of the row */
    uint32_t base_s;
    bool reports;                         /* faults of the row are given to the caller and counted */
    bool is_orphan;                       /* an id of the key has no name */
    uint32_t n_found[STO_HBASE_N_FAULTS]; /* of the row */
    uint32_t n_annotations, n_histograms, n_rollups; /* the same */
    struct sto_hbase__rollup_at
        *rollups; /* cells of a row of rollups, by function and interval (check_rollup.c) */
    size_t cap_rollups;
    struct ts_arena arena; /* of a repair */
};
void sto_hbase__checker_init(struct sto_hbase__checker *c, struct sto_hbase__check *x);
/** Free all but the session. */
void sto_hbase__checker_release(struct sto_hbase__checker *c);
/** Begin a session for the checker; its deadline is that of the call, or set anew by sto_hbase__checker_wait. */
int sto_hbase__checker_begin(struct sto_hbase__checker *c, struct ts_error *err);
/** Before each page and row that is repaired: moves the deadline. TS_ECANCELLED, TS_ETIMEOUT. */
int sto_hbase__checker_wait(struct sto_hbase__checker *c, struct ts_error *err);
/** TS_ELIMIT: no memory for rows. */
int sto_hbase__no_memory(struct ts_error *err);
/** Count a fault, and give it to the caller of the check. column.p NULL: of the row. Any thread. */
void sto_hbase__found(struct sto_hbase__check *x, enum sto_hbase_fault fault, const char *table,
                      struct ts_slice row, struct ts_slice column, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/** Now, by the clock of the store. */
int64_t sto_hbase__check_now_ms(const struct sto_hbase__check *x);

/* check_scan.c */
/* Rows of a table in pages. */
struct sto_hbase__pages {
    const char *table;
    struct ts_slice family; /* p NULL: all */
    struct ts_slice stop;   /* before this key; empty = to the end */
};
/**
 * Read the next page, of at most c->n_rows rows from c->start on, into c->page.
 *
 * @return 1; 0: nothing was read, call again, because the page would have been too large, or its first row alone is, which was reported and
 *         ignored; or an error
 */
int sto_hbase__read_page(struct sto_hbase__checker *c, const struct sto_hbase__pages *pages,
                         struct sto_thrift_reply *out, struct ts_error *err);
/** After a page of n rows: begin behind its last row, and choose the size of the next one. */
int sto_hbase__next_page(struct sto_hbase__checker *c, struct ts_slice last, int n, struct ts_error *err);
/** Check all rows of a range. */
int sto_hbase__check_range(struct sto_hbase__checker *c, const struct sto_hbase__range *range,
                           struct ts_error *err);

/* check_row.c */
/* A fault of the row, or of one of its columns. */
#define STO_HBASE__FOUND(C, FAULT, COLUMN, ...)                                                              \
    do {                                                                                                     \
        (C)->n_found[FAULT]++;                                                                               \
        if ((C)->reports)                                                                                    \
            sto_hbase__found((C)->x, FAULT, (C)->x->table, (C)->key, COLUMN, __VA_ARGS__);                   \
    } while (0)
/** Check the row whose key, cells and is_orphan are set; fills states and n_found. */
int sto_hbase__check_row(struct sto_hbase__checker *c, struct ts_error *err);

/* check_rollup.c */
/** Check the cells of a row of rollups, whose states are empty. */
int sto_hbase__check_rollups(struct sto_hbase__checker *c, struct ts_error *err);
/** Free what that needs. */
void sto_hbase__release_rollups(struct sto_hbase__checker *c);

/* check_fix.c */
/** Repair the row that was checked last, as far as the options permit, and count what has gone. */
int sto_hbase__fix_row(struct sto_hbase__checker *c, struct ts_error *err);
/** Read the row into c->row and c->cells. */
int sto_hbase__row_read(struct sto_hbase__checker *c, struct ts_error *err);
/** Is what was put in c->cells, or something newer at its qualifier? */
bool sto_hbase__is_there(const struct sto_hbase__checker *c, const struct sto_thrift_cell *put);
/** Write cells of the row. */
int sto_hbase__put_cells(struct sto_hbase__checker *c, const struct sto_thrift_cell *cells, size_t n,
                         struct ts_error *err);
/** Delete columns of the row, up to their timestamps. */
int sto_hbase__delete_columns(struct sto_hbase__checker *c, const struct sto_thrift_column *columns, size_t n,
                              struct ts_error *err);
/** Does the value of an append column have its points in order, each time once? */
bool sto_hbase__appends_are_sorted(struct ts_slice value);
/** Bytes that an integer needs. */
unsigned sto_hbase__integer_bytes(uint64_t raw);

/* check_move.c */
/** Move the row that was read last to the salt bucket of its series. 1; 0: it was not, because deletes hide what was written, another writer came
 * between, or it was written just now (*out_too_new). Afterwards c->cells are none. */
int sto_hbase__move_row(struct sto_hbase__checker *c, bool *out_too_new, struct ts_error *err);

/* check_cell.c */
/* A cell of a table. */
struct sto_hbase__cell_id {
    const char *table;
    struct ts_slice row, family, qualifier;
};
/** Read a cell: 1, with its value appended to out (may be NULL); 0: it does not exist. out_ts_ms may be NULL. */
int sto_hbase__cell_read(struct sto_hbase_session *s, struct sto_thrift_request *r,
                         const struct sto_hbase__cell_id *id, struct ts_buf *out, int64_t *out_ts_ms,
                         struct ts_error *err);
/**
 * Change a cell from one value to another by compare-and-set; p NULL: it does not exist.
 *
 * @param ts_ms  timestamp of the new value, or up to which the old one is deleted; 0 = HBase's clock
 * @param also   other cells of the family that are deleted with it; n_also of them
 * @return 1: it has the new value; 0: another one; or an error
 */
int sto_hbase__cell_change(struct sto_hbase_session *s, struct sto_thrift_request *r,
                           const struct sto_hbase__cell_id *id, struct ts_slice from, struct ts_slice to,
                           int64_t ts_ms, const struct ts_slice *also, size_t n_also, struct ts_error *err);

#endif
