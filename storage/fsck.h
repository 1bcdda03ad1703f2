/*
 * fsck.h - checks a stopped store and repairs it.
 *
 * A check reads everything. A checksum covers each byte that the store uses, and what is stored twice is
 * compared: summaries with points, series in files with the catalog, the manifest with the folder.
 *
 * A repair keeps every row, name and cell that can be read: damaged record logs are rebuilt from the good
 * records of the log and of its copy, good rows of a damaged file are written to a new file, and good records
 * of a damaged write-ahead log to sorted files. Damaged files are moved to DIR/damaged/ and never deleted.
 * Series whose names are lost get the name METRIC lost_series=NUMBER.
 *
 * Threads    one; the store is locked meanwhile
 * Not here   printing (tsd/commands/fsck.c)
 */
#ifndef STORAGE_FSCK_H
#define STORAGE_FSCK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#define STO_FSCK_DAMAGED "damaged" /* folder in the data folder to which damaged files are moved */

enum sto_finding_kind {
    STO_FIND_NOTE,   /* no damage: left by a crash, and corrected when the store is next opened */
    STO_FIND_DAMAGE, /* bytes are not what was written, or do not agree */
    STO_FIND_LOST,   /* points that can no longer be read */
    STO_FIND_DONE,   /* what a repair did */
};

/* One thing found. Everything is borrowed until return. */
struct sto_finding {
    enum sto_finding_kind kind;
    const char *path;       /* file concerned */
    uint64_t off;           /* offset in the file, bytes; UINT64_MAX = none */
    const char *text;       /* what is wrong, or what was done; LOST: a comment or "" */
    struct ts_slice series; /* LOST: "metric k=v"; {NULL, 0} = not known */
    int64_t from_ms, to_ms; /* LOST: times, inclusive, whole hours; from > to: not known */
    uint64_t n_points;      /* LOST: how many; 0 = not known */
};

struct sto_fsck_opts {
    const struct ts_fs *fs;                                /* NULL = the real one */
    const char *dir;                                       /* data folder */
    bool repair;                                           /* repair damage; otherwise nothing is written */
    void (*found)(void *arg, const struct sto_finding *f); /* may be NULL */
    void (*progress)(void *arg, uint64_t done_bytes, uint64_t all_bytes); /* may be NULL */
    void *arg;                                                            /* for both */
};

/* What was read and found. */
struct sto_fsck_result {
    uint64_t n_files, n_blocks, n_rows, n_points; /* of sorted files; blocks of points and of summaries */
    uint64_t n_log_points;                        /* operations in the write-ahead log */
    uint64_t n_series, n_cells;                   /* series in the catalog; small cells */
    uint64_t n_bytes;                             /* read */
    uint64_t n_damage, n_lost;                    /* findings of these kinds */
    uint64_t n_lost_points;                       /* as far as they could be counted */
    bool repaired;                                /* the repair changed something */
    uint64_t n_left; /* findings of damage after the repair; equals n_damage without a repair */
};

/**
 * Check a store; with opts->repair, repair it too.
 *
 * @return 0 whatever was found
 *         TS_ENOTFOUND  the folder is no store
 *         TS_EBUSY      a process uses it
 *         TS_EVERSION   some file was made by a newer program
 *         TS_ENOSPC TS_EIO TS_ENOMEM  it could not be finished; the repairs made so far are complete, call
 *         again
 *
 * Blocks: reads the whole store; a repair reads it twice, and writes what it saves from damaged files.
 */
int sto_fsck(const struct sto_fsck_opts *opts, struct sto_fsck_result *out, struct ts_error *err);

#endif
