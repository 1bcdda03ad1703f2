/*
 * output.h - sorted files that are written and then listed by the manifest, or discarded.
 *
 * Flushes and merges share these functions, which implement the order of steps that keeps a store consistent
 * after any crash: files are written and synced, their folder is synced, the manifest lists them, readers see
 * them.
 *
 * Threads    one flush or merge; commit takes files_mu and version_mu, take and give_back remove_mu
 * Not here   which rows (flush.c, compact.c), format of a file (sst_write.c)
 */
#ifndef STORAGE_ENGINE_OUTPUT_H
#define STORAGE_ENGINE_OUTPUT_H

#include "storage/engine/engine_int.h"
#include "storage/engine/merge/partition.h"

/* Files that the manifest does not list yet. {0} with e, gen_lo and gen_hi set is an empty one. */
struct sto_output {
    struct sto_engine *e;       /* engine to which the files are added */
    uint64_t gen_lo, gen_hi;    /* generations of the rows */
    const _Atomic bool *cancel; /* fail with TS_ECANCELLED when it is true; may be NULL */
    int64_t made_ms;            /* creation time of the files; 0 = now */
    uint64_t carried_gen;       /* tombstones up to this generation are applied to the files; 0 = not known */
    /* Called every 256 rows, and every 50 ms while bytes_per_s makes the output wait, for work that must not
     * wait until it ends. May be NULL. */
    void (*meanwhile)(void *arg);
    void *arg;                  /* argument of meanwhile and checkpoint */
    unsigned level;             /* of zstd for the files; 0 = the usual one */
    uint64_t max_bytes;         /* fail with TS_ENOSPC beyond this; 0 = no limit */
    uint64_t bytes_per_s;       /* write no faster than this; 0 = no limit */
    uint64_t n_bytes, n_points; /* written so far; output */
    /* time of the first row, 0 = there was none; time for which bytes_per_s has paused; output */
    int64_t began_ns, paused_ns;
    int64_t cutoff_ms;    /* commit: points before it are permanently removed, */
    uint64_t cutoff_gen;  /* provided they are of generations below this one; 0 = as before */
    struct ts_slice once; /* commit of a flush: the ids of clients (sto_manifest_edit); n 0 = as before */
    int64_t dropped_ms;   /* commit: points before it are removed that the remote store has; 0 = none are */
    /* call checkpoint each time this much was written, see sto_output__rows; 0 = never */
    uint64_t checkpoint_bytes;
    int (*checkpoint)(void *arg, const struct sto_key *last, struct ts_error *err);
    uint64_t weight, marked_weight; /* bytes written, open blocks included: now, and at the last checkpoint */
    size_t n_kept;                  /* release does not unlink this many of the first infos */
    struct sto_sst_info *infos;     /* n files; owned */
    size_t n, cap;                  /* used, capacity */
    struct sto_sst_writer *tombs;   /* file of the tombstones, NULL while there are none */
    bool unreadable;                /* commit couldn't read a file that was written; output */
    bool perhaps_named;             /* the manifest failed half-way: it may name the files, they must stay */
};

/** Is there disk space for n_bytes more, besides that of the reserve? True also if it is not known.
 * *out_room: the free space, bytes. */
bool sto_output__has_room(struct sto_engine *e, uint64_t n_bytes, uint64_t *out_room);

#define STO_OUTPUT_CUTS STO_SPLIT /* most files that are written at the same time */
/** Write the rows of merge in one pass, those of each cut into files of its own, which are cut by key at output_bytes of
 *  the engine; no file is empty. Each time checkpoint_bytes were written, all files end and are synced
 *  (not their folder); then checkpoint is called with the last row in them, and its errors are returned. The
 *  cuts ascend, cover all of time, and are at most STO_OUTPUT_CUTS. merge is freed in any case. Errors of
 *  reading and writing; TS_ECANCELLED. Memory: a block of each cut. */
int sto_output__rows(struct sto_output *o, struct sto_merge *merge, const struct sto_cut *cuts, size_t n_cuts,
                     struct ts_error *err);
/** Add tombstones to the file of tombstones, which has no rows. Their generations are those of the output. */
int sto_output__tombs(struct sto_output *o, const struct sto_tomb *tombs, size_t n, struct ts_error *err);
/** Add the files to the store, and remove the files gone[0..n_gone) and the memstores up to flushed_gen (0:
 * none). No more files may be added to o afterwards. On error nothing has changed for readers. */
int sto_output__commit(struct sto_output *o, const uint64_t *gone, size_t n_gone, uint64_t flushed_gen,
                       struct ts_error *err);
/** Empty it. Files stay if the manifest lists or may list them, or if they are among the first n_kept; others
 * are unlinked. */
void sto_output__release(struct sto_output *o, bool committed);

/* --- files that must not be removed --- */

/** Reserve the files that a merge reads and will replace: until sto_output__give_back no other thread removes
 * them. False: one of them was removed already, and none is reserved. compact_mu held; one set at a time;
 * ssts is borrowed. */
bool sto_output__take(struct sto_engine *e, struct sto_sst *const *ssts, size_t n);
/** The merge has ended. Does nothing if no files are reserved. */
void sto_output__give_back(struct sto_engine *e);
/** Is a file reserved by a merge? remove_mu is held from the choice of files to remove until the manifest no
 * longer lists them. */
bool sto_output__is_taken(const struct sto_engine *e, uint64_t file_no);

#endif
