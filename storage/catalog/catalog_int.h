/*
 * catalog_int.h - what the files of the catalog share.
 *
 * Locks      rewrite_lock, then log_lock, then lock. The first is held while the log is written anew, the second while it is
 *            written, the third never across I/O.
 */
#ifndef STORAGE_CATALOG_CATALOG_INT_H
#define STORAGE_CATALOG_CATALOG_INT_H

#include "storage/catalog/catalog.h"
#include "storage/catalog/series.h"
#include "storage/catalog/tagindex.h"
#include "storage/catalog/uid.h"
#include "storage/reclog.h"

#include <pthread.h>

struct sto_catalog {
    pthread_mutex_t lock;                  /* tables and index; microseconds */
    pthread_mutex_t rewrite_lock;          /* renames and sto_catalog_tidy; taken before log_lock */
    pthread_mutex_t log_lock;              /* log and what stands below it; held across I/O */
    struct sto_uidtab uids[STO_UID_KINDS]; /* names by kind */
    struct sto_seriestab series;           /* series */
    struct sto_tagindex index;             /* sets of series */
    _Atomic uint64_t generation;           /* renames; add(release) after the new name - load(acquire) */
    _Atomic uint32_t
        n_on_disk;          /* series below it are on disk; store(release) after the sync - load(acquire) */
    uint32_t safe_tagk;     /* tag keys up to this id are on disk; under lock */
    uint64_t max_series;    /* refuse more; constant */
    uint64_t max_bytes;     /* of memory; refuse more; constant */
    bool read_only;         /* constant */
    bool lenient;           /* constant */
    bool tidied;            /* constant */
    uint64_t n_left_out;    /* records that could not be applied; constant once open */
    struct sto_reclog *log; /* catalog.log; under log_lock */
    _Atomic uint64_t log_bytes; /* its size when last written, for stats; relaxed: a number on its own */
    uint64_t checkpoint_bytes;  /* its size after the last checkpoint; under log_lock */
    uint64_t
        grow_bytes; /* a running catalog rewrites its log when it has doubled and grown by this; constant */
    uint64_t retry_bytes; /* a checkpoint failed at about this size: not tried again before; under log_lock */
};

/** Id of a name, made if missing. Lock held. TS_EINVAL (name cannot stand in a text), TS_ELIMIT. */
int sto_uid__make_locked(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t hash,
                         uint32_t *out_id, struct ts_error *err);
/** May this name be given out? 0, TS_EINVAL, TS_ELIMIT. */
int sto_uid__check(enum sto_uid_kind kind, struct ts_slice name, struct ts_error *err);
/** Is there memory for another name or series? Lock held. 0, TS_ELIMIT naming the keys. O(1). */
int sto_catalog__has_memory(const struct sto_catalog *cat, struct ts_error *err);
/** "metric", "tag key", "tag value": for messages. */
const char *sto_uid__kind_name(enum sto_uid_kind kind);
/** Hand what is new to the log and write it; log_lock held. closing: rewrite the log if it has grown by a
 * fourth, not only when it has doubled. */
int sto_catalog__write(struct sto_catalog *cat, bool sync, bool closing, struct ts_error *err);

#endif
