/*
 * faultfs.h - a file system in memory that forgets and fails on command.
 *
 * It keeps twice what it holds: as programs see it, and as it is on the disk. sync and sync_dir carry over; a
 * power cut throws away the rest, page by page and entry by entry as the seed decides. The n-th call can fail
 * once or from then on.
 *
 *   disk     what survives for certain: pages synced, folder entries synced
 *   pages    dirty ones: each may be kept, lost or torn; a longer file may have any length in between, pages
 *            never written read as zeros
 *   names    create, rename, unlink, mkdir: each may be kept or lost
 *   a failed sync leaves its pages clean and not on disk (as Linux does), some of them written
 *   write-back   pages, lengths and names may reach the disk by themselves at any call, so that what is left may
 *            also be a state between two syncs
 *
 * Threads    the file system, plans, capacity and power: from any thread; the rest while nobody works on it
 */
#ifndef TESTS_FAULTS_FAULTFS_H
#define TESTS_FAULTS_FAULTFS_H

#include "base/fs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct t_faultfs;

/* Calls of struct ts_fs, for masks. */
enum t_op {
    T_OP_OPEN = 1 << 0,
    T_OP_CLOSE = 1 << 1,
    T_OP_APPEND = 1 << 2,
    T_OP_PREAD = 1 << 3,
    T_OP_SYNC = 1 << 4,
    T_OP_TRUNCATE = 1 << 5,
    T_OP_SIZE = 1 << 6,
    T_OP_LOCK = 1 << 7,
    T_OP_RENAME = 1 << 8,
    T_OP_UNLINK = 1 << 9,
    T_OP_MKDIR = 1 << 10,
    T_OP_SYNC_DIR = 1 << 11,
    T_OP_LIST = 1 << 12,
    T_OP_FREE_BYTES = 1 << 13,
    T_OP_ALL = (1 << 14) - 1,
    /* those that change something or make it last */
    T_OP_WRITES = T_OP_OPEN | T_OP_CLOSE | T_OP_APPEND | T_OP_SYNC | T_OP_TRUNCATE | T_OP_RENAME |
                  T_OP_UNLINK | T_OP_MKDIR | T_OP_SYNC_DIR,
};

enum t_fault {
    T_FAULT_EIO,    /* TS_EIO; an append may have written a part */
    T_FAULT_ENOSPC, /* TS_ENOSPC; an append may have written a part. Calls that need no space fail with TS_EIO
                     */
    T_FAULT_EDQUOT, /* the same with another errno */
    T_FAULT_EINTR,  /* TS_EIO with that errno: an interruption that the file system did not try again */
    T_FAULT_SHORT,  /* pread: fewer bytes than there are, no error. Others: as T_FAULT_EIO */
    T_FAULT_EMFILE, /* TS_EMFILE, no descriptor is left. Calls that need none are neither counted nor fail */
    T_FAULT_POWER, /* power cut before, in the middle of or after this call: it and all later calls fail until
                      reboot */
};

/* Which call fails, and how. */
struct t_fault_plan {
    unsigned ops;       /* mask of enum t_op that are counted; 0 = T_OP_ALL */
    uint64_t at;        /* the at-th of them from now on fails, 1 = the next one; 0 = none */
    bool for_good;      /* and all of them after it */
    enum t_fault fault; /* how */
};

/* What a power cut leaves of what was not synced. */
enum t_keep {
    T_KEEP_RANDOM, /* by seed */
    T_KEEP_NONE,   /* nothing */
    T_KEEP_ALL,    /* everything: a killed process, not a power cut */
};

/** Empty file system; every random choice comes from seed. */
struct t_faultfs *t_faultfs_new(uint64_t seed);
/** Everything goes; open files too. NULL is harmless. */
void t_faultfs_free(struct t_faultfs *f);
/** The file system to be given to the code under test. Borrowed. */
const struct ts_fs *t_faultfs_fs(struct t_faultfs *f);

/** Plan a fault; replaces the plan before. */
void t_faultfs_plan(struct t_faultfs *f, struct t_fault_plan plan);
/** Reads that touch byte off of a file fail with TS_EIO from now on, in addition to the plan, until the file is replaced or removed. */
void t_faultfs_set_unreadable(struct t_faultfs *f, const char *path, uint64_t off);
/** The same for n bytes from off on. */
void t_faultfs_set_unreadable_part(struct t_faultfs *f, const char *path, uint64_t off, uint64_t n);
/** Is the power off? */
bool t_faultfs_is_off(const struct t_faultfs *f);
/** Has the planned fault happened? */
bool t_faultfs_fired(const struct t_faultfs *f);
/** Syncs of a handle after one that failed: 0 for code that knows what that means. */
uint64_t t_faultfs_n_synced_again(const struct t_faultfs *f);
/** Calls of these operations so far. */
uint64_t t_faultfs_calls(const struct t_faultfs *f, unsigned ops);
/** Total bytes that fit (0 = no limit): appends beyond it fail with TS_ENOSPC. */
void t_faultfs_set_capacity(struct t_faultfs *f, uint64_t n_bytes);
/** Size of a page, default 4096; small ones show more in small files. */
void t_faultfs_set_page(struct t_faultfs *f, size_t n_bytes);

/** Pull the plug now. Handles stay valid only to be closed; all calls fail until t_faultfs_reboot. */
void t_faultfs_power_cut(struct t_faultfs *f);
/** The process ends and nothing else: open handles may only be closed, locks are gone, the plan is cleared; what
 * is not synced stays so, and may be lost by a later power cut. Also ends a power cut as if it had not been. */
void t_faultfs_kill(struct t_faultfs *f);
/** Power is back (after a cut, or without one): unsynced things are kept or lost, what is left is the disk.
 * Open handles may only be closed; locks are gone; the plan is cleared. */
void t_faultfs_reboot(struct t_faultfs *f, enum t_keep keep);

/** Chance in 1,000 that a call that changes something is followed by a write-back of some of what is not on disk
 * yet; 0 (default) = only syncs bring anything to the disk. */
void t_faultfs_set_writeback(struct t_faultfs *f, unsigned per_mille);
/** What other threads might do meanwhile: called without the mutex before every call with power, and once more
 * after a sync (after = true). It may call anything that the caller's thread would not deadlock on. NULL = none.
 */
typedef void (*t_hook_fn)(void *arg, enum t_op op, const char *path, bool after);
/** Set the hook; arg is handed to it. */
void t_faultfs_set_hook(struct t_faultfs *f, t_hook_fn hook, void *arg);

/** Copy of a file's bytes as programs see them (ts_free it), NULL if it does not exist. */
uint8_t *t_faultfs_get(const struct t_faultfs *f, const char *path, size_t *out_n);
/** Make a file with these bytes, on disk at once; replaces one that is there. Not counted as a call. */
void t_faultfs_put(struct t_faultfs *f, const char *path, const void *p, size_t n);
/** Remove a file for certain; false if it is not there. */
bool t_faultfs_remove(struct t_faultfs *f, const char *path);
/** Exclusive-or a byte, on disk too; false if the file is shorter. */
bool t_faultfs_flip(struct t_faultfs *f, const char *path, uint64_t off, uint8_t mask);
/** Number of files (not folders), and the path of the i-th in byte order; NULL if there are fewer. Borrowed
 * until a change. */
size_t t_faultfs_count(const struct t_faultfs *f);
const char *t_faultfs_path(const struct t_faultfs *f, size_t i);
/** Handles that are open: 0 when the code under test has closed all. */
size_t t_faultfs_n_open(const struct t_faultfs *f);
/** A copy of what programs see, all of it on disk, with another seed; no open files, no plan. */
struct t_faultfs *t_faultfs_clone(const struct t_faultfs *f, uint64_t seed);

/** Next number of a sequence (splitmix64), for tests that need one. */
uint64_t t_rand(uint64_t *state);

#endif
