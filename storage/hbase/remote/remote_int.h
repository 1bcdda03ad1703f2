/*
 * remote_int.h - the parts of a remote store in HBase; for the files of this folder only.
 */
#ifndef STORAGE_HBASE_REMOTE_REMOTE_INT_H
#define STORAGE_HBASE_REMOTE_REMOTE_INT_H

#include "storage/hbase/remote/ids.h"
#include "storage/hbase/remote/remote.h"

struct sto_hbase__sender;

/* What fetches have found since the start; relaxed counters. */
struct sto_hbase__fetched {
    _Atomic uint64_t n_rows, n_cells, n_points; /* rows given to callers; cells and points decoded for them */
    _Atomic uint64_t n_damaged;                 /* cells of which points could not be read */
    _Atomic uint64_t n_histograms;              /* cells of histograms that were read, or met beside points */
    _Atomic uint64_t
        n_contradicting;          /* points that another one of the same time and of another value replaced */
    _Atomic uint64_t n_odd_keys;  /* rows with keys that no series has: skipped */
    _Atomic uint64_t n_misplaced; /* rows in the salt bucket of another series: read */
    _Atomic uint64_t n_unnamed;   /* rows with an id that has no name: skipped */
    _Atomic uint64_t n_resumed;   /* scanners that were opened again after an error */
};

/* How many rows an hour of a metric has, as a scan has found that read all of them. */
struct sto_hbase__density {
    _Atomic uint64_t metric; /* id; 0 = free */
    _Atomic uint64_t rows_of_hour;
};
#define STO_HBASE__DENSITIES 256u /* metric % this is the place of a metric; the last one is kept */

struct sto_hbase {
    struct sto_remote remote; /* first member */
    struct sto_hbase_opts opts;
    struct sto_hbase_access *access;
    struct sto_hbase_id_cache *ids;
    struct sto_hbase__sender *sender; /* threads that ship; ship.c */
    struct sto_remote_abilities abilities;
    struct sto_hbase__fetched fetched;                         /* fetch.c */
    struct sto_hbase__density densities[STO_HBASE__DENSITIES]; /* the same */
};
static inline struct sto_hbase *sto_hbase_of(struct sto_remote *r)
{
    return (struct sto_hbase *)(void *)r;
}

/* ship.c */
int sto_hbase__sender_start(struct sto_hbase *h, struct ts_error *err);
void sto_hbase__sender_stop(struct sto_hbase *h);
void sto_hbase__ship(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                     sto_remote_done_fn done, void *arg);
void sto_hbase__sender_status(struct sto_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                              void *arg);
/* delete.c */
int sto_hbase__delete_range(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                            int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err);
/* fetch.c */
int sto_hbase__fetch(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                     sto_fetch_row_fn each, void *arg, struct ts_error *err);
void sto_hbase__fetch_status(struct sto_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                             void *arg);
/* names.c */
void sto_hbase__names(struct sto_remote *r, enum sto_remote_lookup what, struct sto_remote_name *list,
                      size_t n, const struct sto_remote_call *call, sto_remote_done_fn done, void *arg);
int sto_hbase__suggest(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice prefix, size_t max,
                       const struct sto_remote_call *call, bool (*each)(void *arg, struct ts_slice name),
                       void *arg, struct ts_error *err);
int sto_hbase__rename(struct sto_remote *r, enum sto_remote_kind kind, struct ts_slice from,
                      struct ts_slice to, const struct sto_remote_call *call, struct ts_error *err);
/* cells.c */
int sto_hbase__cell_get(struct sto_remote *r, struct ts_slice key, const struct sto_remote_call *call,
                        struct ts_buf *out, struct ts_error *err);
int sto_hbase__cell_cas(struct sto_remote *r, struct ts_slice key, struct ts_slice expected,
                        struct ts_slice value, const struct sto_remote_call *call, struct ts_error *err);
/* cells_tree.c: a tree's small cell, and which trees there are */
int sto_hbase__tree_get(struct sto_hbase *h, uint16_t tree, const struct sto_remote_call *call,
                        struct ts_buf *out, struct ts_error *err);
int sto_hbase__tree_cas(struct sto_hbase *h, uint16_t tree, struct ts_slice expected, struct ts_slice value,
                        const struct sto_remote_call *call, struct ts_error *err);
int sto_hbase__trees(struct sto_remote *r, const struct sto_remote_call *call,
                     bool (*each)(void *arg, uint16_t id), void *arg, struct ts_error *err);
/* check.c */
int sto_hbase__check(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                     void (*found)(void *arg, const char *text), void *arg, struct ts_error *err);

#endif
