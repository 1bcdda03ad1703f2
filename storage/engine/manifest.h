/*
 * manifest.h - the list of the files that make up the store: a log of edits, which is rewritten as one record
 * at times.
 *
 * An edit adds and removes files, records up to which generation all points are in files, and which numbers
 * are used. It is durable before it takes effect.
 *
 * Format     docs/FORMAT.md "Manifest"
 * Threads    one background thread at a time (callers lock)
 * Not here   opening the files (version.c), deleting files that are not listed (engine.c), a manifest that
 *            lost edits (lost.h)
 */
#ifndef STORAGE_ENGINE_MANIFEST_H
#define STORAGE_ENGINE_MANIFEST_H

#include "base/err.h"
#include "base/fs.h"
#include "storage/engine/complete.h"
#include "storage/engine/files/sst.h"
#include "storage/engine/mark_history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_MANIFEST_NAME "MANIFEST" /* in the data folder */

struct sto_manifest;

/* The state after the last edit. */
struct sto_manifest_state {
    uint32_t n_shards;          /* changed by sto_manifest_set_shards alone */
    uint64_t flushed_gen;       /* points of generations <= this are in files */
    uint64_t next_file_no;      /* lowest file number that was never used; starts at 1 */
    uint32_t run;               /* number of the last run (a run begins when the store is opened for
                                 * writing) */
    int64_t cutoff_ms;          /* retention has removed points before this time, */
    uint64_t cutoff_gen;        /* provided they are of generations below this one; 0 = it has removed none */
    struct sto_mark_list marks; /* what the remote store has received; owned by the manifest */
    struct sto_mark_list sent;  /* set of hours: something of them was sent, or may have been; owned */
    struct sto_mark_list again; /* set of hours: what their marks cover is to be sent again; owned */
    struct sto_mark_history past; /* marks of earlier times; owned */
    struct ts_slice once;         /* ids of clients, as engine/once_all.h writes them; owned */
    struct sto_complete complete; /* from when on the remote store has nothing more */
    struct sto_sst_info *files;   /* owned by the manifest; order unspecified */
    size_t n_files;               /* number of elements of files */
};
/* A change. Removals are applied before additions. */
struct sto_manifest_edit {
    const struct sto_sst_info *add; /* files to add; the state has no file with such a number */
    size_t n_add;
    const uint64_t *remove; /* numbers of files to remove; the state has all of them */
    size_t n_remove;
    uint64_t flushed_gen;  /* 0 = unchanged; never decreases */
    uint32_t run;          /* 0 = unchanged; never decreases */
    int64_t cutoff_ms;     /* goes with cutoff_gen; decreases only when no file has points that it removes */
    uint64_t cutoff_gen;   /* 0 = both unchanged; never decreases, and is at most flushed_gen + 1 */
    uint64_t next_file_no; /* 0 = unchanged; never decreases, and is always above the numbers of all files
                            * added */
    const struct sto_mark_list *marks;   /* all marks, none above flushed_gen; NULL = unchanged */
    const struct sto_mark_list *sent;    /* the whole set; NULL = unchanged */
    const struct sto_mark_list *again;   /* the whole set; NULL = unchanged */
    const struct sto_mark_history *past; /* all of it; NULL = unchanged */
    /* ids of clients at the end of flushed_gen (engine/once_all.h); n 0 = unchanged */
    struct ts_slice once;
    const struct sto_complete *complete; /* NULL = unchanged */
};
/**
 * Open dir/MANIFEST. If there is none and create is set, write one for n_shards.
 *
 * @param create     the store may be created (dir exists; n_shards >= 1)
 * @param read_only  nothing is written, and sto_manifest_apply is refused
 * @return 0
 *         TS_ENOTFOUND  "DIR is not a tsd store"
 *         TS_ECORRUPT   damage; err names file and offset
 *         TS_EVERSION   written by a newer program
 */
int sto_manifest_open(const struct ts_fs *fs, const char *dir, bool create, bool read_only, uint32_t n_shards,
                      struct sto_manifest **out_m, struct ts_error *err);
/** Length, bytes, below which the log is not rewritten; 64 KiB by default. */
void sto_manifest_set_rewrite_bytes(struct sto_manifest *m, uint64_t n_bytes);
/** Close and free. NULL is ignored. */
void sto_manifest_close(struct sto_manifest *m);
/** The state, borrowed until the next sto_manifest_apply. */
const struct sto_manifest_state *sto_manifest_state(const struct sto_manifest *m);
/** The file with that number in a state; NULL if the state has none. Cost: linear in the number of files. */
const struct sto_sst_info *sto_manifest_file(const struct sto_manifest_state *state, uint64_t file_no);
/**
 * Make an edit durable, then apply it to the state. On error the state is unchanged.
 *
 * @return 0
 *         TS_EINVAL  the edit contradicts the state, or the manifest was opened read-only; nothing is written
 *         TS_ENOSPC  the edit is certainly not on disk; the call may be repeated
 *         TS_EIO     it is not known whether the edit is on disk: keep all files it names. Every later edit
 *                    is refused
 *
 * Blocks: one fdatasync; now and then a rewrite of the whole manifest.
 */
int sto_manifest_apply(struct sto_manifest *m, const struct sto_manifest_edit *edit, struct ts_error *err);

/* Another number of shards. */
struct sto_manifest_shards {
    uint32_t n;           /* shards */
    struct ts_slice once; /* the ids of clients (empty: there are none); borrowed */
    bool (*may)(
        void *
            arg); /* NULL, or asked when only the name of the new manifest and the sync of its folder are missing; false: it is not to be */
    void *arg;    /* of may */
};
/** Change the number of shards and the ids of clients at once, by writing the whole manifest anew. With `may`, the copy of the manifest is missing until
 * sto_manifest_renew_copy. Errors as sto_manifest_apply; TS_EBUSY: may() has returned false, and the disk has nothing of the change. After other errors the
 * state is unchanged, but the disk may have the change if may() was asked, or is NULL. */
int sto_manifest_set_shards(struct sto_manifest *m, const struct sto_manifest_shards *to,
                            struct ts_error *err);
/** Make the copy of the manifest anew if there is none. Errors are logged. Blocks: one fdatasync. */
void sto_manifest_renew_copy(struct sto_manifest *m);

#endif
