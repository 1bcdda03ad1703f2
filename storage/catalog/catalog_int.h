/*
 * catalog_int.h - what the files of the catalog share.
 *
 * Locks      rewrite_lock, then log_lock, then lock. The first is held while the log is rewritten, the second
 *            while it is written, the third never across I/O.
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

/* A name that was removed from its table and is not freed yet. */
struct sto_retired_name {
    enum sto_uid_kind kind;
    const void *interned; /* its bytes, as sto_uidtab__take_out returned them */
};

/* Series and names that were removed from the tables and are not freed yet. */
struct sto_retired {
    const struct sto_series **series; /* owned */
    size_t n, cap;                    /* used, capacity */
    struct sto_retired_name *names;   /* owned */
    size_t n_names, cap_names;        /* used, capacity */
};

/* State of forgetting series, and its readers (forget.h). */
struct sto_forgetting {
    _Atomic bool on; /* a pass is running; store(release) before any of its effects - load(acquire) */
    roaring_bitmap_t *leaving; /* candidates, kept if they are looked up; under lock; NULL = none */
    /* written to the log as forgotten, or about to be; lookups get TS_EBUSY; under lock; NULL = none */
    roaring_bitmap_t *going;
    roaring_bitmap_t *gone; /* numbers of all forgotten series; under lock */
    uint64_t n_forgotten;   /* since the start; under lock */
    /* the same for names, by kind: candidates; written as forgotten; since the start; under lock */
    roaring_bitmap_t *names_leaving[STO_UID_KINDS], *names_going[STO_UID_KINDS];
    uint64_t n_names_forgotten;
    struct sto_name_keeper keeper; /* what keeps names; constant while passes run */
    /* forgotten series and names that the log still contains, approximately; under log_lock once open */
    uint64_t n_dead;
    pthread_mutex_t mu;    /* readers; a leaf */
    unsigned now;          /* index in n_readers for new readers: 0 or 1; under mu */
    uint64_t n_readers[2]; /* under mu */
    /* removed since the last reclaim, and before it; used by the thread that forgets, n under mu */
    struct sto_retired fresh, waiting;
    void (*step)(void *arg,
                 enum sto_forget_step where); /* tests: called at each step of a pass; NULL = none */
    void *step_arg;
};

struct sto_catalog {
    pthread_mutex_t lock;                  /* tables and index; microseconds */
    pthread_mutex_t rewrite_lock;          /* renames and sto_catalog_tidy; taken before log_lock */
    pthread_mutex_t log_lock;              /* the log and the members marked with it; held across I/O */
    struct sto_uidtab uids[STO_UID_KINDS]; /* names by kind */
    struct sto_seriestab series;           /* series */
    struct sto_tagindex index;             /* sets of series */
    struct sto_forgetting forget;          /* state of forgetting */
    _Atomic uint64_t generation; /* renames and passes of forgetting; add(release) after the change -
                                              load(acquire) */
    _Atomic uint64_t n_renames;  /* renames that made texts of series out of date; ordered as generation */
    _Atomic uint32_t
        n_on_disk;       /* series below it are on disk; store(release) after the sync - load(acquire) */
    uint32_t safe_tagk;  /* tag keys up to this id are on disk; under lock */
    uint64_t max_series; /* refuse more; constant */
    uint64_t max_bytes;  /* limit of memory; constant */
    bool read_only;      /* constant */
    const struct ts_error *read_only_why; /* constant; borrowed; may be NULL */
    bool lenient;                         /* constant */
    bool tidied;                          /* constant */
    uint64_t n_left_out;                  /* records that could not be applied; constant once open */
    bool knows_assigned;        /* the log says which names people have assigned; under log_lock once open */
    bool names_were_gone;       /* the log that was read has forgotten names; constant once open */
    struct sto_reclog *log;     /* catalog.log; under log_lock */
    _Atomic uint64_t log_bytes; /* its size when last written, for stats; relaxed: a number on its own */
    uint64_t checkpoint_bytes;  /* its size after the last checkpoint; under log_lock */
    uint64_t
        grow_bytes; /* a running catalog rewrites its log when it has doubled and grown by this; constant */
    /* after a failed checkpoint: none is tried before the log has this size; under log_lock */
    uint64_t retry_bytes;
};

/** Find the id of a name, or create it. Lock held. TS_EINVAL: the name is not allowed in the text of a
 * series; TS_ELIMIT. */
int sto_uid__make_locked(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t hash,
                         uint32_t *out_id, struct ts_error *err);
/** Is this name allowed? 0, TS_EINVAL, TS_ELIMIT. */
int sto_uid__check(enum sto_uid_kind kind, struct ts_slice name, struct ts_error *err);
/** Is there memory for another name or series? Lock held. 0, TS_ELIMIT naming the keys. O(1). */
int sto_catalog__has_memory(const struct sto_catalog *cat, struct ts_error *err);
/** A name was changed, or the text of a series has an old name: caches of texts are void. Lock held, or no
 * other thread runs. */
void sto_catalog__renamed(struct sto_catalog *cat);
/** Keep a series that was looked up. Lock held. 0; TS_EBUSY: too late, it is being forgotten. */
int sto_catalog__touch(struct sto_catalog *cat, uint32_t id, struct ts_error *err);
/** Was this number forgotten? Lock held. */
bool sto_catalog__is_gone(const struct sto_catalog *cat, uint32_t id);
/** Apply a record of the log: a series was forgotten. No other thread runs. */
void sto_catalog__replay_gone(struct sto_catalog *cat, uint32_t id);
/** Keep a name that was looked up. Lock held. 0; TS_EBUSY: too late, it is being forgotten. */
int sto_catalog__touch_name(struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id,
                            struct ts_error *err);
/** Apply a record of the log: names were forgotten. No other thread runs. */
void sto_catalog__replay_gone_names(struct sto_catalog *cat, enum sto_uid_kind kind, const uint32_t *ids,
                                    uint32_t n);
/** After the log was read: check that no series has lost a name (TS_ECORRUPT; such series are ignored and
 * counted if the catalog is lenient); a log that does not say which names people have assigned is taken to mean
 * all that no series has. No other thread runs. */
int sto_catalog__names_opened(struct sto_catalog *cat, struct ts_error *err);

/* The part of names in a pass of forgetting, in this order (forget_names.c); all but the one that names_left
 * describes are called without the lock, by the thread that forgets. */
/** Publish all names that may be forgotten as candidates; from now on a lookup keeps them. */
void sto_catalog__names_begin(struct sto_catalog *cat);
/** Keep those that series have, or the keeper mentions. Returns how many candidates are left. */
uint64_t sto_catalog__names_unused(struct sto_catalog *cat);
/** Keep those that the keeper mentions by now. */
void sto_catalog__names_spare(struct sto_catalog *cat);
/** Are there names to be forgotten, or being forgotten? Lock held. */
bool sto_catalog__names_left(const struct sto_catalog *cat);
/** No name is a candidate any more. */
void sto_catalog__names_cancel(struct sto_catalog *cat);
/** Add records of the candidates to the log's buffer; from now on they are refused. log_lock held. */
int sto_catalog__names_write(struct sto_catalog *cat, struct ts_error *err);
/** Remove them from the tables. */
void sto_catalog__names_take(struct sto_catalog *cat);
/** Free the bytes of retired names and the list. */
void sto_catalog__names_free(struct sto_catalog *cat, struct sto_retired *r);

/** Initialise and release the state of forgetting. */
void sto_catalog__forget_init(struct sto_catalog *cat);
void sto_catalog__forget_release(struct sto_catalog *cat);
/** "metric", "tag key", "tag value": for messages. */
const char *sto_uid__kind_name(enum sto_uid_kind kind);
/** Add what is new to the log and write it; log_lock held. closing: rewrite the log if it has grown by a
 * fourth rather than only when it has doubled. */
int sto_catalog__write(struct sto_catalog *cat, bool sync, bool closing, struct ts_error *err);

#endif
