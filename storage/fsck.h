/*
 * fsck.h - check a stopped store, and repair it.
 *
 * Everything is read: each byte that a store would ever read back is covered by a checksum, and what stands twice
 * (summaries and points, series in files and in the catalog, manifest and folder) is compared.
 *
 * A repair keeps every row, name and cell that can be read: damaged logs are put together from themselves and
 * their copies, healthy rows of a damaged file are written to a new one, healthy records of a damaged write-ahead
 * log to files. What was damaged is moved to DIR/damaged/ and never deleted. Series whose names are lost get new
 * ones, NAME lost_series=NUMBER.
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
    STO_FIND_NOTE,   /* no damage: what a crash leaves, and the next opening mends */
    STO_FIND_DAMAGE, /* bytes are not what was written, or do not agree */
    STO_FIND_LOST,   /* points that can't be read any more */
    STO_FIND_DONE,   /* what a repair did */
};

/* One thing found. Everything is borrowed until return. */
struct sto_finding {
    enum sto_finding_kind kind;
    const char *path;       /* file concerned */
    uint64_t off;           /* place in it, bytes; UINT64_MAX = none */
    const char *text;       /* what is wrong, or was done; LOST: a comment or "" */
    struct ts_slice series; /* LOST: "metric k=v"; {NULL, 0} = not known */
    int64_t from_ms, to_ms; /* LOST: times, inclusive, whole hours; from > to = not known */
    uint64_t n_points;      /* LOST: how many; 0 = not known */
};

struct sto_fsck_opts {
    const struct ts_fs *fs;                                               /* NULL = the real one */
    const char *dir;                                                      /* data folder */
    bool repair;                                                          /* else nothing is written */
    void (*found)(void *arg, const struct sto_finding *f);                /* may be NULL */
    void (*progress)(void *arg, uint64_t done_bytes, uint64_t all_bytes); /* may be NULL */
    void *arg;                                                            /* for both */
};

/* What was read and found. */
struct sto_fsck_result {
    uint64_t n_files, n_blocks, n_rows, n_points; /* of sorted files; blocks of both kinds */
    uint64_t n_log_points;                        /* operations in the write-ahead log */
    uint64_t n_series, n_cells;                   /* named; small cells */
    uint64_t n_bytes;                             /* read */
    uint64_t n_damage, n_lost;                    /* findings of these kinds */
    uint64_t n_lost_points;                       /* as far as they were counted */
    bool repaired;                                /* something was changed */
    uint64_t n_left; /* findings of damage after the repair; without one: n_damage */
};

/**
 * Check a store; with opts->repair make it whole.
 *
 * @return 0 whatever was found
 *         TS_ENOTFOUND  no store there
 *         TS_EBUSY      a process uses it
 *         TS_EVERSION   some file was made by a newer program
 *         TS_ENOSPC TS_EIO TS_ENOMEM  it could not be finished; what was repaired by then is whole, call again
 *
 * Blocks: reads the whole store (twice, and writes what is salvaged, if something is repaired).
 */
int sto_fsck(const struct sto_fsck_opts *opts, struct sto_fsck_result *out, struct ts_error *err);

#endif
