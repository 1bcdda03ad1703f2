/*
 * output.h - sorted files on their way into a store: written, then named by the manifest, or thrown away.
 *
 * What a flush and a merge of files have in common. The order that keeps a store whole after any crash is
 * here: files are written and synced, their folder is synced, the manifest names them, readers see them.
 *
 * Threads    one flush or merge; commit takes files_mu and version_mu, take and give_back remove_mu
 * Not here   which rows (flush.c, compact.c), what a file looks like (sst_write.c)
 */
#ifndef STORAGE_ENGINE_OUTPUT_H
#define STORAGE_ENGINE_OUTPUT_H

#include "storage/engine/engine_int.h"
#include "storage/engine/merge/partition.h"

/* Files written that nothing names yet. {0} with e, gen_lo and gen_hi set is an empty one. */
struct sto_output {
    struct sto_engine *e;       /* whose files */
    uint64_t gen_lo, gen_hi;    /* generations the rows come from */
    const _Atomic bool *cancel; /* give up with TS_ECANCELLED when it is true; may be NULL */
    int64_t made_ms;            /* of the files: 0 = now */
    uint64_t carried_gen; /* of the files: tombstones up to this generation are carried out; 0 = not known */
    /* Called every 256 rows, and every 50 ms while bytes_per_s makes the output wait, for what cannot wait until it
     * ends. May be NULL. */
    void (*meanwhile)(void *arg);
    void *arg;                  /* argument of meanwhile and checkpoint */
    uint64_t max_bytes;         /* give up with TS_ENOSPC beyond; 0 = write what there is */
    uint64_t bytes_per_s;       /* write no faster than this; 0 = no limit */
    uint64_t n_bytes, n_points; /* written; output */
    int64_t began_ns,
        paused_ns;       /* when the first row was written, 0 = none was; what the limit took; output */
    int64_t cutoff_ms;   /* commit: points before it are gone for good, */
    uint64_t cutoff_gen; /* as far as they are of generations below; 0 = as before */
    uint64_t
        checkpoint_bytes; /* call checkpoint each time this much was written, see sto_output__rows; 0 = never */
    int (*checkpoint)(void *arg, const struct sto_key *last, struct ts_error *err);
    uint64_t weight, marked_weight; /* bytes written, open blocks included: now, and at the last checkpoint */
    size_t n_kept;                  /* so many of infos, from the first, release does not unlink */
    struct sto_sst_info *infos;     /* n files; owned */
    size_t n, cap;                  /* used and room */
    struct sto_sst_writer *tombs;   /* file of the tombstones, NULL while there are none */
    bool unreadable;                /* commit couldn't read a file that was written; output */
    bool perhaps_named;             /* the manifest failed half-way: it may name the files, they must stay */
};

/** Is there room for copies of files of n_bytes in all, beside that of the reserve? True also if nobody knows. *out_room: what is
 *  left, bytes. */
bool sto_output__has_room(struct sto_engine *e, uint64_t n_bytes, uint64_t *out_room);

#define STO_OUTPUT_CUTS STO_SPLIT /* files written beside each other, at most */
/** Write the rows of merge in one pass, those of each cut into files of its own, which are cut by key at output_bytes of
 *  the engine; no file is empty. Each time checkpoint_bytes were written, all files end and are synced
 *  (not their folder); then checkpoint is called with the last row in them, and its errors are returned. The cuts ascend,
 *  leave out nothing, and are at most STO_OUTPUT_CUTS. merge is freed in any case. Errors of reading and writing; TS_ECANCELLED. Memory: a block of each cut. */
int sto_output__rows(struct sto_output *o, struct sto_merge *merge, const struct sto_cut *cuts, size_t n_cuts,
                     struct ts_error *err);
/** Add tombstones to the file of tombstones, which has no rows. Their generations are those of the output. */
int sto_output__tombs(struct sto_output *o, const struct sto_tomb *tombs, size_t n, struct ts_error *err);
/** The files count from here on, those in gone[0..n_gone) no longer, memstores up to flushed_gen neither (0: none
 *  is concerned). Files must not be added any more. On error nothing changed for readers. */
int sto_output__commit(struct sto_output *o, const uint64_t *gone, size_t n_gone, uint64_t flushed_gen,
                       struct ts_error *err);
/** Empty it. Files stay if they are named, or may be, or are among the first n_kept; else they are unlinked. */
void sto_output__release(struct sto_output *o, bool committed);

/* --- files that must not be removed --- */

/** Files that a merge is reading, which is to replace them: until sto_output__give_back nobody else removes them. False: one of
 * them has been removed already; then none is taken. compact_mu held; one set at a time; ssts is borrowed. */
bool sto_output__take(struct sto_engine *e, struct sto_sst *const *ssts, size_t n);
/** The merge has ended. Does nothing if no files are taken. */
void sto_output__give_back(struct sto_engine *e);
/** Is a file taken? remove_mu held, from the choice of files to remove until the manifest no longer lists them. */
bool sto_output__is_taken(const struct sto_engine *e, uint64_t file_no);

#endif
