/*
 * quota.h - the limit of the store's bytes on disk, and the time before which points had to go because of it.
 *
 * The limit is that of a command, if one was given, else that of the configuration (max_bytes). When the store exceeds it, the engine picks a
 * *cutoff*: all points before it go, of whatever series (engine/evict.h). Summaries of hours and days (aged.h) have a cutoff of their own, which is not later:
 * it rises only when removing points does not suffice. The cutoffs are on disk before they are in force, and in force before
 * anything is removed. From then on points before it are in no answer and are not taken, as if they had expired (keep.h). They only rise, until
 * the limit is removed: then the engine makes sure that nothing reappears, and clears them.
 *
 * After a start, and after a change to a lower limit, nothing is removed for the time `grace_ms`, so that a typing error can be corrected.
 *
 * Format     docs/FORMAT.md, "Limit of bytes"
 * Threads    any
 * Not here   which cutoff (engine/evict_pick.h), removal (engine/evict.h, engine/retention.h)
 */
#ifndef STORAGE_QUOTA_H
#define STORAGE_QUOTA_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fs.h"
#include "storage/point.h"

#define STO_QUOTA_NAME "QUOTA" /* in the data folder */

/* Contents of DIR/QUOTA. */
struct sto_quota_file {
    bool is_set;        /* a command has set max_bytes */
    uint64_t max_bytes; /* 0 = no limit */
    int64_t cutoff_ms;  /* nothing is left before it; STO_MIN_TS_MS = none */
    int64_t points_ms;  /* the cutoff of points: summaries alone are left before it; at least cutoff_ms */
};

struct sto_quota {
    const struct ts_fs *fs;     /* borrowed */
    const char *dir;            /* borrowed */
    uint64_t conf_bytes;        /* limit of the configuration; 0 = none */
    int64_t grace_ms;           /* time after a start or a lower limit */
    pthread_mutex_t mu;         /* held during a change, with its I/O */
    struct sto_quota_file file; /* what DIR/QUOTA has, or would have; under mu */
    _Atomic uint64_t max_bytes; /* limit in force; 0 = none */
    _Atomic int64_t cutoff_ms;  /* in force */
    _Atomic int64_t points_ms;  /* the same of points */
    _Atomic int64_t hold_ms;    /* monotonic time before which no point is removed */
    _Atomic uint64_t n_changes; /* of the cutoff */
    bool is_open;               /* the mutex exists */
};

/**
 * Read the limit and the cutoff when a store opens.
 *
 * @param fs, dir     borrowed until sto_quota_close
 * @param conf_bytes  limit of the configuration; 0 = none
 * @return 0; TS_ECORRUPT: DIR/QUOTA is damaged; TS_EVERSION, TS_EIO, TS_ENOMEM
 */
int sto_quota_open(struct sto_quota *q, const struct ts_fs *fs, const char *dir, uint64_t conf_bytes,
                   int64_t grace_ms, struct ts_error *err);
/** Release; harmless if it was not opened. */
void sto_quota_close(struct sto_quota *q);

/** The limit in force, bytes; 0 = none. O(1). */
uint64_t sto_quota_max_bytes(const struct sto_quota *q);
/** Was it set by a command? */
bool sto_quota_is_set(struct sto_quota *q);
/** The cutoff of everything, summaries too; STO_MIN_TS_MS = none. O(1). */
int64_t sto_quota_cutoff_ms(const struct sto_quota *q);
/** The cutoff of points, at least that of everything unless both are being changed; STO_MIN_TS_MS = none. O(1). */
int64_t sto_quota_points_ms(const struct sto_quota *q);
/** A number that changes with the cutoffs. O(1). */
uint64_t sto_quota_n_changes(const struct sto_quota *q);
/** For how long nothing is removed still, ms; 0 = removal may begin. */
int64_t sto_quota_held_ms(const struct sto_quota *q);

/**
 * Set the limit by a command. It is on disk, and then in force, when 0 is returned.
 *
 * @param is_set     false: the limit is that of the configuration again, max_bytes is ignored
 * @param max_bytes  0 = no limit
 * @return 0; TS_ENOSPC, TS_EIO: the former limit is in force. Blocks: a sync
 */
int sto_quota_set(struct sto_quota *q, bool is_set, uint64_t max_bytes, struct ts_error *err);
/**
 * Raise the cutoffs because of a limit.
 *
 * @param points_ms  the one of points; at least cutoff_ms counts
 * @param cutoff_ms  the one of everything; a lower one than that in force changes nothing, nor does one of points
 * @param max_bytes  limit that they were chosen for: somebody may have set another one meanwhile, for which nothing must be removed
 * @return 1; 0: the limit is another one by now, or the cutoffs are as high already, and nothing changes; errors as sto_quota_set
 *
 * On disk and in force when 1 is returned. Blocks: a sync
 */
int sto_quota_raise(struct sto_quota *q, int64_t points_ms, int64_t cutoff_ms, uint64_t max_bytes,
                    struct ts_error *err);
/** There is no limit any more, and nothing before the cutoffs can reappear: clear them. Does nothing if there is a limit by now. Errors as
 * sto_quota_set. */
int sto_quota_clear(struct sto_quota *q, struct ts_error *err);

/** Read DIR/QUOTA: 1, 0 = there is none, TS_ECORRUPT, TS_EVERSION, TS_EIO, TS_ENOMEM. For checks. */
int sto_quota_read(const struct ts_fs *fs, const char *dir, struct sto_quota_file *out, struct ts_error *err);

#endif
