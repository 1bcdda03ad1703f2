/*
 * spool.h - output that waits for slow clients: temporary files in the data folder, with a limit.
 *
 * A query that has finished its work must not hold a thread, a snapshot and memory because its client is
 * slow: output that does not fit the reply's buffer goes to a file, and is sent from there. The file has no
 * name while it is in use, so a crash leaves nothing behind.
 *
 * The log and the sorted files are on the same disk. So that their syncs wait for no more than 2 MiB of each
 * reply, a file is written to the disk as it grows, and is dropped from the page cache, where it would
 * displace data that queries read.
 *
 * Threads    a file belongs to one writer and one reader at a time (job_out.c says who); the totals are
 * atomic
 */
#ifndef TSD_DAEMON_SPOOL_H
#define TSD_DAEMON_SPOOL_H

#include "base/budget.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ts_file;

/* All files of a daemon. */
struct tsd_spools {
    const char *dir; /* data folder; borrowed */
    struct ts_budget
        account; /* bytes of all files; a reply has at most a quarter, and each client address its share */
    _Atomic uint64_t n_begun; /* files since the start */
    _Atomic uint64_t n_full;  /* times that a reply found no space */
};

/* The file of one reply; {0} is one that was not begun. */
struct tsd_spool {
    struct tsd_spools *all;    /* set before use */
    struct ts_budget *account; /* set before use: that of all, or a share of it */
    struct ts_file *file;      /* NULL: not begun */
    uint64_t bytes;            /* written since the last rewind */
    uint64_t begun;            /* of them, on their way to the disk or there */
};

/** No files yet. dir is borrowed; limit_bytes is the most of all files together, 0 = none are used. */
void tsd_spools_init(struct tsd_spools *s, const char *dir, uint64_t limit_bytes);
/** Append n bytes. TS_ELIMIT: query_spool_bytes is used up, or the disk has less than four times as much left; TS_ENOSPC, TS_EIO,
 *  TS_ENOMEM: nothing was appended, and further calls fail until a rewind. Blocks: for the disk, if it is
 *  slower than
 *  the caller. */
int tsd_spool_append(struct tsd_spool *s, const void *p, size_t n, struct ts_error *err);
/** Read n bytes at off, all of which were appended. TS_EIO. */
int tsd_spool_read(struct tsd_spool *s, void *p, size_t n, uint64_t off, struct ts_error *err);
/** Truncate the file after all of it was read. TS_EIO. */
int tsd_spool_rewind(struct tsd_spool *s, struct ts_error *err);
/** Release the file. Idempotent. */
void tsd_spool_release(struct tsd_spool *s);

#endif
