/*
 * fake_int.h - the parts of the fake HBase; for its files only.
 *
 *   fake_hbase.c    the gateway: connections, faults, counters
 *   fake_decode.c   requests -> struct fake_args
 *   fake_exec.c     struct fake_args -> changes of tables, replies
 *   fake_scan.c     gets and scanners
 *   fake_filter.c   HBase's filter language
 *   fake_message.c  filters as messages of protocol buffers
 *   fake_table.c    tables, cells, delete markers
 *   fake_access.c   what tests read and write directly
 */
#ifndef TESTS_HBASE_FAKE_INT_H
#define TESTS_HBASE_FAKE_INT_H

#include "tests/hbase/fake_hbase.h"

#include <netinet/in.h>
#include <pthread.h>

#include "base/mem.h"
#include "storage/hbase/thrift/binary.h"

/* --- tables --- */

struct fake_cell {
    size_t family;                    /* index in the table's families */
    int64_t ts_ms;                    /* version */
    struct ts_slice qualifier, value; /* owned, one allocation that begins with the qualifier */
};
struct fake_marker {
    size_t family;
    enum sto_thrift_delete_type type;
    struct ts_slice qualifier; /* owned; of DELETE_COLUMN and DELETE_COLUMNS */
    int64_t ts_ms;
};
struct fake_row {
    struct ts_slice key;     /* owned */
    struct fake_cell *cells; /* by family, qualifier, newest first */
    size_t n_cells, cap_cells;
    struct fake_marker *markers;
    size_t n_markers, cap_markers;
};
struct fake_table {
    char *name;
    struct sto_thrift_family *families; /* by name; names are owned */
    size_t n_families;
    struct ts_slice *splits; /* ascending, owned */
    size_t n_splits;
    struct fake_row **rows; /* by key */
    size_t n_rows, cap_rows;
};

/* How a request fails. */
struct fake_error {
    enum { FAKE_FINE, FAKE_IO, FAKE_ARGUMENT, FAKE_APPLICATION } kind;
    bool can_retry;
    char text[300];
};
/* Fill it, unless an error is there already. */
void fake__io_error(struct fake_error *e, bool can_retry, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A table; NULL. Like everything below, under f->mu. */
struct fake_table *fake__table(struct fake_hbase *f, struct ts_slice name);
/* The same; an error if there is none. */
struct fake_table *fake__table_or(struct fake_hbase *f, struct ts_slice name, struct fake_error *e);
struct fake_table *fake__table_new(struct fake_hbase *f, struct ts_slice name,
                                   const struct sto_thrift_family *families, size_t n);
void fake__tables_free(struct fake_hbase *f);
/* Add a family unless it is there. */
bool fake__add_family(struct fake_table *t, const struct sto_thrift_family *family);
/* Index of a family; SIZE_MAX: none. */
size_t fake__family(const struct fake_table *t, struct ts_slice name);
/* Index of the first row whose key is not less. */
size_t fake__row_at(const struct fake_table *t, struct ts_slice key);
struct fake_row *fake__row(const struct fake_table *t, struct ts_slice key);
void fake__put_cell(struct fake_table *t, struct ts_slice row, size_t family, struct ts_slice qualifier,
                    struct ts_slice value, int64_t ts_ms);
void fake__put_marker(struct fake_table *t, struct ts_slice row, enum sto_thrift_delete_type type,
                      size_t family, struct ts_slice qualifier, int64_t ts_ms);
/* Is a cell neither deleted nor too old? */
bool fake__is_visible(const struct fake_table *t, const struct fake_row *r, const struct fake_cell *c,
                      int64_t now_ms);
/* The newest visible version of a cell; NULL. */
const struct fake_cell *fake__newest(const struct fake_table *t, struct ts_slice row, size_t family,
                                     struct ts_slice qualifier, int64_t now_ms);
void fake__compact(struct fake_table *t, int64_t now_ms);

/* --- filters --- */

struct fake_filter;
/* NULL with an error: the text cannot be parsed. In an arena. */
struct fake_filter *fake__filter(struct ts_arena *arena, struct ts_slice text, struct fake_error *e);
/* The same of a message of protocol buffers. */
struct fake_filter *fake__filter_message(struct ts_arena *arena, struct ts_slice message,
                                         struct fake_error *e);
enum fake_seek { FAKE_SEEK_NONE, FAKE_SEEK_ROW, FAKE_SEEK_END };
/* Where does a scanner go from a row that does not pass? ROW: to *out, END: no row passes any more. */
enum fake_seek fake__filter_seek(const struct fake_filter *x, struct ts_slice row, struct ts_slice *out);
/* A new row begins. */
void fake__filter_row(struct fake_filter *filter);
/* Does a cell pass? Sets *no_value if its value is not to be sent. */
bool fake__filter_cell(struct fake_filter *filter, struct ts_slice row, const struct fake_cell *c,
                       bool *no_value);
/* Free what is not in the arena. */
void fake__filter_release(struct fake_filter *filter);

/* --- requests --- */

struct fake_args {
    enum sto_thrift_call call;
    struct ts_slice table, row; /* row: of a conditional change or mutateRow, or the first one of others */
    struct sto_thrift_check check;
    struct sto_thrift_put *puts; /* put, putMultiple, append, checkAndPut, increment (values are 8 bytes) */
    size_t n_puts;
    struct sto_thrift_delete *deletes;
    size_t n_deletes;
    struct sto_thrift_get *gets;
    size_t n_gets;
    struct sto_thrift_mutation *mutations;
    size_t n_mutations;
    struct sto_thrift_scan scan;
    struct sto_thrift_family *families;
    size_t n_families;
    struct ts_slice *splits;
    size_t n_splits;
    int32_t scanner, n_rows;
    bool returns_cells; /* of append */
};
/* Decode the arguments behind the head of a message; they are borrowed from it and in the arena. False: damaged. */
bool fake__decode(struct sto_thrift_in *in, enum sto_thrift_call call, struct ts_arena *arena,
                  struct fake_args *out);
/* Rows that a request has. */
size_t fake__n_rows(const struct fake_args *a);
/* Execute. Appends the result as field 0, if there is one; without the end of its struct. Under f->mu. max_rows: execute no more rows of a batch. */
void fake__execute(struct fake_hbase *f, const struct fake_args *a, size_t max_rows, struct ts_slice message,
                   struct ts_buf *out, struct fake_error *e);

/* --- reading --- */

struct fake_scanner {
    int32_t id;
    struct ts_arena arena; /* of everything below */
    struct fake_args args; /* the request that opened it */
    struct fake_filter *filter;
    bool has_begun;     /* last is set */
    struct ts_buf last; /* the row that was returned last, or is being returned */
    size_t n_sent;      /* cells of it, if it is sent in parts */
    bool in_row;        /* there are more */
    bool has_sought;    /* last is a key from which on rows are returned */
    int32_t n_rows;     /* rows that were begun */
};
void fake__get(struct fake_hbase *f, const struct fake_table *t, const struct sto_thrift_get *get,
               struct ts_buf *out, struct fake_error *e);
struct fake_scanner *fake__scanner_new(const struct fake_hbase *f, struct ts_slice message,
                                       struct fake_error *e);
void fake__scanner_free(struct fake_scanner *s);
/* Append a list of at most n results as field 0. */
void fake__scanner_rows(struct fake_hbase *f, struct fake_scanner *s, int32_t n, struct ts_buf *out,
                        struct fake_error *e);
/* Append a TResult. */
void fake__result(const struct fake_table *t, struct ts_slice row, const struct fake_cell *const *cells,
                  size_t n, bool no_values, bool partial, struct ts_buf *out);

/* --- the gateway --- */

struct fake_conn {
    struct fake_hbase *f;
    int fd;
    pthread_t thread;
    bool has_ended; /* under mu: it can be joined */
    struct fake_conn *next;
};
struct fake_hbase {
    enum sto_thrift_transport transport;
    struct sockaddr_in addr;
    char port[8];
    int fd;                 /* listening; -1 */
    pthread_t accepting;    /* while fd >= 0 */
    pthread_mutex_t mu;     /* of what follows */
    pthread_cond_t changed; /* of faults, releases, connections */
    bool is_stopping;
    struct fake_conn *conns;
    struct fake_table **tables; /* by name */
    size_t n_tables, cap_tables;
    struct fake_scanner **scanners;
    size_t n_scanners, cap_scanners;
    int32_t next_scanner;
    int64_t clock_ms; /* 0 = the wall clock */
    int64_t stamp_ms; /* of the last change */
    uint64_t n_calls[STO_THRIFT_N_CALLS + 1], n_rows[STO_THRIFT_N_CALLS + 1];
    uint64_t n_conns, n_looked;
    bool is_old;    /* fake_hbase_set_old */
    bool same_page; /* FAKE_HBASE_SAME_PAGE for the request under way */
    struct fake_hbase_plan *plans;
    size_t n_plans, cap_plans;
    uint64_t n_faults;
    uint64_t n_released; /* calls of fake_hbase_release */
    void (*before)(void *arg, const struct fake_hbase_request *r);
    void *before_arg;
};
/* The time of reading. */
int64_t fake__now_ms(const struct fake_hbase *f);
/* The timestamp of a change: without a clock of the test later than that of the change before. */
int64_t fake__stamp_ms(struct fake_hbase *f);

#endif
