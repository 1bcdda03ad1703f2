/*
 * catalog_int.h - what the files of the catalog share.
 *
 * Locks      rewrite_lock, then log_lock, then lock. The first is held while the log is written anew, the second while it is
 *            written, the third never across I/O.
 */
#ifndef STORAGE_CATALOG_CATALOG_INT_H
#define STORAGE_CATALOG_CATALOG_INT_H

#include "storage/catalog/catalog.h"
#include "storage/catalog/forget.h"
#include "storage/catalog/series.h"
#include "storage/catalog/tagindex.h"
#include "storage/catalog/uid.h"
#include "storage/reclog.h"

#include <pthread.h>

/* Series that were taken out. */
struct sto_retired {
    const struct sto_series **series; /* owned */
    size_t n, cap;                    /* used, room */
};

/* What is being forgotten, and who looks (forget.h). */
struct sto_forgetting {
    _Atomic bool on; /* a pass is under way; store(release) before anybody acts on it - load(acquire) */
    roaring_bitmap_t *leaving; /* may leave unless somebody asks for them; under lock; NULL = none */
    roaring_bitmap_t *going;   /* the log says so, or is about to: refused; under lock; NULL = none */
    roaring_bitmap_t *gone;    /* numbers that were forgotten, all of them; under lock */
    uint64_t n_forgotten;      /* since the start; under lock */
    uint64_t n_dead;           /* in the log since the last checkpoint, about; under log_lock */
    pthread_mutex_t mu;        /* readers; a leaf */
    unsigned now;              /* where new readers count: 0 or 1; under mu */
    uint64_t n_readers[2];     /* under mu */
    struct sto_retired fresh,
        waiting; /* since the last reclaim, and before; of the thread that forgets; n under mu */
    void (*step)(void *arg,
                 enum sto_forget_step where); /* tests; NULL = nobody waits for moments of a pass */
    void *step_arg;
};

struct sto_catalog {
    pthread_mutex_t lock;                  /* tables and index; microseconds */
    pthread_mutex_t rewrite_lock;          /* renames and sto_catalog_tidy; taken before log_lock */
    pthread_mutex_t log_lock;              /* log and what stands below it; held across I/O */
    struct sto_uidtab uids[STO_UID_KINDS]; /* names by kind */
    struct sto_seriestab series;           /* series */
    struct sto_tagindex index;             /* sets of series */
    struct sto_forgetting forget;          /* as it says */
    _Atomic uint64_t generation; /* renames and passes of forgetting; add(release) after the change -
                                              load(acquire) */
    _Atomic uint64_t n_renames;  /* names that stand in texts otherwise; the same */
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
/** A name is called otherwise now, or a text has a name of before: caches of texts are void. Lock held, or nobody else
 * there. */
void sto_catalog__renamed(struct sto_catalog *cat);
/** Somebody asks for a series that was found: it stays. Lock held. 0; TS_EBUSY: too late, it is being forgotten. */
int sto_catalog__touch(struct sto_catalog *cat, uint32_t id, struct ts_error *err);
/** Was this number forgotten? Lock held. */
bool sto_catalog__is_gone(const struct sto_catalog *cat, uint32_t id);
/** From the log: a series was forgotten. Nobody else is there. */
void sto_catalog__replay_gone(struct sto_catalog *cat, uint32_t id);
/** Nothing is forgotten yet; and back. */
void sto_catalog__forget_init(struct sto_catalog *cat);
void sto_catalog__forget_release(struct sto_catalog *cat);
/** "metric", "tag key", "tag value": for messages. */
const char *sto_uid__kind_name(enum sto_uid_kind kind);
/** Hand what is new to the log and write it; log_lock held. closing: rewrite the log if it has grown by a
 * fourth, not only when it has doubled. */
int sto_catalog__write(struct sto_catalog *cat, bool sync, bool closing, struct ts_error *err);

#endif
