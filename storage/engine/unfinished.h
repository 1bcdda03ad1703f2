/*
 * unfinished.h - the record of how far a merge has come, so that an interrupted merge continues instead of starting again.
 *
 * A merge runs in key order. Each time it has written checkpoint_bytes it makes a checkpoint: all files that it is writing end
 * with the same row and are synced, their folder is synced, and DIR/MERGE is replaced, which says what is merged into what,
 * which files are finished, and which row is the last one in them. Readers, and stores that are opened for reading, never see
 * these files. At the end one edit of the manifest adds all files of the merge and removes its inputs; then DIR/MERGE is
 * removed. The record is a file of its own and no part of the manifest, so that an older program, which does not know it, can
 * open the store (it removes the files that the manifest does not list, as always), and so that a repair that makes a new
 * manifest still finds it.
 *
 * The record proves nothing by itself: it is used only if the manifest and the files agree with it (sto_unfinished_misfit),
 * whenever it was written. Otherwise the merge starts again, which is always correct. So nothing can be lost here:
 *
 *   crash before DIR/MERGE is replaced    the previous record is used; the start removes files that it does not list
 *   crash after that, before the end      the merge continues after the last row
 *   crash after the edit of the manifest  the inputs are no longer listed: the record is dropped; its files are listed and stay
 *   an error, or the store is closed      the same without a crash: what was written after the last checkpoint is removed
 *   an error of the manifest, which may   the record and all files stay; the next start sees whether the manifest lists them
 *   list the files or not
 *   damaged input, no space for the rest  the record is dropped and its files are removed
 *   record or files damaged or missing    found when the store is opened: the record is dropped with one line in the log
 *   record can't be read                  it stays, and all files that the manifest does not list, until a start can read it,
 *                                         another merge has replaced it, or the space is needed
 *   files can't be read                   the merge continues; if they can't be read at its end either, three times, it starts
 *                                         again
 *   inputs merged, remade or dropped      they are no longer listed: the record is dropped. So it is in a folder that was copied
 *   meanwhile, an older copy of DIR       while the store was running, or in which an older program was running
 *   deletes since                         are newer than the generations of the result, so they still apply to it. They may
 *                                         already be applied to the rows that are still to be written
 *   tombstone files dropped since         concern no listed file any more, and the inputs are listed: the remaining rows do not
 *                                         need them
 *   files beside the inputs               must not have got generations in between, as in any merge (partition.h)
 *   shipping to a remote store            must not have set a mark in between: ship_pick.c looks before the merge continues
 *   retention                             a later cutoff applies to files wholly of generations below its own: to those of the
 *                                         record too, or they are dropped. The inputs keep it from moving back
 *   forgetting series (mentions.c)        looks at the inputs, which have all series of the record's files
 *
 * Only one merge at a time has a record; while it waits because its window is left alone, others make no checkpoints. Its files
 * take space: the record is dropped when puts are refused because the disk is full, or when the reserve is spent.
 *
 * Format     docs/FORMAT.md "Unfinished merge"
 * Threads    compact_mu is held; open: before other threads run; read and misfit: any
 * Not here   merging (compact.c), ending files at a checkpoint (output.c)
 */
#ifndef STORAGE_ENGINE_UNFINISHED_H
#define STORAGE_ENGINE_UNFINISHED_H

#include "base/fs.h"
#include "storage/engine/merge/partition.h"

#define STO_UNFINISHED_NAME      "MERGE"      /* in the data folder */
#define STO_CHECKPOINT_BYTES     (1ull << 30) /* what a merge writes between two checkpoints */
#define STO_UNFINISHED_MAX_BYTES (4u << 20)   /* largest record: thousands of files */

struct sto_engine;

/* The state of a merge at its last checkpoint. */
struct sto_unfinished {
    uint64_t *inputs;               /* numbers of the files that are merged; owned */
    size_t n_inputs;                /* length */
    uint64_t gen_lo, gen_hi;        /* generations of what is written */
    uint64_t carried_gen;           /* tombstones up to this generation are applied in it */
    int64_t cutoff_ms;              /* cutoff of retention when the merge began, ms, */
    uint64_t cutoff_gen;            /* and its generation; 0 = there was none */
    unsigned level;                 /* of zstd for what is written; 0 = the usual one */
    bool final;                     /* nothing older overlaps: additions became points */
    struct sto_window window;       /* as in struct sto_pick */
    struct sto_cut cuts[STO_SPLIT]; /* where the output is cut by time */
    size_t n_cuts;                  /* length */
    struct sto_sst_info *outputs;   /* files that are finished; owned */
    size_t n_outputs;               /* length */
    struct sto_key last; /* the last row in them; the inputs' rows after it are still to be merged */
};
/** Free what it owns and empty it. */
void sto_unfinished_release(struct sto_unfinished *u);
/**
 * Read DIR/MERGE. *out is empty unless 1 is returned; release it then.
 *
 * @return 1; 0 = there is none; TS_ECORRUPT; TS_EVERSION (written by a newer program), TS_EIO, TS_ENOMEM, TS_EMFILE
 */
int sto_unfinished_read(const struct ts_fs *fs, const char *dir, struct sto_unfinished *out,
                        struct ts_error *err);
/** Replace DIR/MERGE. After an error it is the old one or the new one. TS_ELIMIT: it would exceed
 *  STO_UNFINISHED_MAX_BYTES. */
int sto_unfinished_write(const struct ts_fs *fs, const char *dir, const struct sto_unfinished *u,
                         struct ts_error *err);
/** The reason why the merge cannot continue in a store of these files and with this cutoff; NULL: it can. O(files * inputs). */
const char *sto_unfinished_misfit(const struct sto_unfinished *u, const struct sto_sst_info *files, size_t n,
                                  int64_t cutoff_ms, uint64_t cutoff_gen);
/** Express the merge as a pick of these files, which it must fit. The caller owns out->files. */
void sto_unfinished_pick(const struct sto_unfinished *u, const struct sto_sst_info *files, size_t n,
                         struct sto_pick *out);
/** Bytes of the files that are finished. */
uint64_t sto_unfinished_bytes(const struct sto_unfinished *u);

/** Set e->unfinished from the record, or drop it. Called when the store is opened, before files that the
 *  manifest does not list are removed. False: the record can't be read now, so unlisted files must stay. */
bool sto_unfinished__open(struct sto_engine *e);
/** Does the record list this file? */
bool sto_unfinished__holds(const struct sto_engine *e, uint64_t file_no);
/** Remember a file that stays while the record can't be read. */
void sto_unfinished__keep(struct sto_engine *e, uint64_t file_no);
/** As sto_output__has_room; removes the kept files if there is no room otherwise. */
bool sto_unfinished__make_room(struct sto_engine *e, uint64_t n_bytes, uint64_t *out_room);
/** Write the record, which replaces e->unfinished. *u is owned by the callee; on error it is freed and the previous record
 *  stays in use. */
int sto_unfinished__save(struct sto_engine *e, struct sto_unfinished *u, struct ts_error *err);
/** The merge was completed: remove the record. Its files are listed by the manifest. */
void sto_unfinished__done(struct sto_engine *e);
/** The manifest may list the files or not: forget the record, and leave it and its files to the next start. */
void sto_unfinished__leave(struct sto_engine *e);
/** A merge has ended because its files could not be read. Some errors pass, so the record stays; the third time in a row it is
 *  dropped. */
void sto_unfinished__unreadable(struct sto_engine *e, const char *why);
/** The merge starts again: remove the record and its files, or those that are kept for it, with one line in the log. Does
 *  nothing if there is no record. */
void sto_unfinished__drop(struct sto_engine *e, const char *why);

#endif
