/*
 * metadata_int.h - what reading a table in pages, for work on OpenTSDB's metadata and branches, has in common.
 *
 * Threads    a walk belongs to one thread
 */
#ifndef STORAGE_HBASE_REMOTE_METADATA_INT_H
#define STORAGE_HBASE_REMOTE_METADATA_INT_H

#include "storage/hbase/remote/check_int.h"

#define STO_HBASE__WALK_ROWS 1000 /* of a page */

/* Reading, and what belongs to it. */
struct sto_hbase__walk {
    struct sto_hbase *h;
    struct sto_hbase_session s;
    struct sto_thrift_request r;
    const struct sto_remote_call *call; /* NULL = no limits */
    struct ts_buf start;                /* of the next page */
    struct ts_arena arena;              /* of the caller */
};
/** Begin. Limits as of sto_hbase_metasync (metadata.h). After 0 it is to be ended. */
int sto_hbase__walk_begin(struct sto_hbase__walk *w, struct sto_remote *r, const struct sto_remote_call *call,
                          struct ts_error *err);
void sto_hbase__walk_end(struct sto_hbase__walk *w);
/** Before each page and batch: moves the deadline. TS_ECANCELLED, TS_ETIMEOUT. */
int sto_hbase__walk_wait(struct sto_hbase__walk *w, struct ts_error *err);
/** TS_ELIMIT: no memory for metadata. */
int sto_hbase__walk_no_memory(struct ts_error *err);
/** A copy of a text, in the arena. */
struct ts_slice sto_hbase__walk_keep(struct sto_hbase__walk *w, struct ts_slice text);

/* Receives the rows of a page, which are borrowed until it sends a request; sets *n to their number, and *last to the key of the last one, which
 * outlives the call. < 0 ends the walk. */
typedef int (*sto_hbase__walk_fn)(struct sto_hbase__walk *w, struct sto_thrift_items *rows,
                                  struct ts_slice *last, size_t *n, struct ts_error *err);
/** Read all rows from w->start to before stop (empty: to the end); column selects what is read of them. */
int sto_hbase__walk_pages(struct sto_hbase__walk *w, const char *table,
                          const struct sto_thrift_column *column, const char *filter, struct ts_slice stop,
                          sto_hbase__walk_fn page, struct ts_error *err);

#endif
