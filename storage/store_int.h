/*
 * store_int.h - the store, shared by the files of its public API: store.c, store_remote.c, bulk.c, max_bytes.c, total.c, versioned.c.
 *
 * Threads    as store.h says
 */
#ifndef STORAGE_STORE_INT_H
#define STORAGE_STORE_INT_H

#include "storage/age.h"
#include "storage/cells_shared.h"
#include "storage/forget.h"
#include "storage/quota.h"
#include "storage/retain.h"
#include "storage/staging.h"
#include "storage/store.h"

struct sto_engine;
struct sto_version;

struct sto_store {
    struct sto_opts opts;
    /* why it could not be opened for writing; code 0 = the caller wanted to read only */
    struct ts_error read_only_why;
    struct sto_catalog *catalog;
    struct sto_engine *engine;
    struct sto_cellmap *cells;
    struct sto_shared_changes changes; /* of cells that are shared with a remote store */
    struct sto_forget forget;          /* series without points */
    struct sto_staging staging;        /* bulk loads; empty if the store is read-only */
    struct sto_retain retain;          /* rules of retention */
    struct sto_quota quota;            /* limit of bytes */
    struct sto_age age;                /* summaries of what has expired */
    _Atomic uint64_t versioned_epoch;  /* versioned.h */
    int close_rc;                      /* of cells and catalog */
    struct ts_error close_err;
};

/* A snapshot: a pinned version and the engine that it belongs to. */
struct sto_snap {
    struct sto_engine *e;
    struct sto_version *v;
    bool has_remote;             /* queries read a remote store too */
    struct sto_keep *keep;       /* how long points are kept */
    struct sto_floors *floors;   /* what was removed by that; NULL = nothing */
    int64_t now_ms;              /* time of the snapshot */
    int64_t from_ms;             /* points before it have expired, of whatever series */
    struct sto_catalog *catalog; /* its series stay in memory until */
    unsigned reads;              /* sto_catalog_read_end gets this number */
};

/** Read the limit of bytes when the store opens (max_bytes.c). Errors of sto_quota_open; TS_EINVAL: the one of the configuration is too low. */
int sto_quota__open(struct sto_store *st, struct ts_error *err);

#endif
