/*
 * manifest.h - which files make up the store: a log of edits, rewritten as one snapshot now and then.
 *
 * An edit adds and removes files, says up to which generation all points are in files, which numbers are
 * given out. It is on disk before it counts.
 *
 * Format     docs/FORMAT.md "Manifest"
 * Threads    one background thread at a time (callers lock)
 * Not here   opening the files (version.c), deleting those nobody lists (engine.c), a manifest that lost edits (lost.h)
 */
#ifndef STORAGE_ENGINE_MANIFEST_H
#define STORAGE_ENGINE_MANIFEST_H

#include "base/err.h"
#include "base/fs.h"
#include "storage/engine/sst.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_MANIFEST_NAME "MANIFEST" /* in the data folder */

struct sto_manifest;

/* What the manifest says after its last edit. */
struct sto_manifest_state {
    uint32_t n_shards;          /* fixed when the store is made */
    uint64_t flushed_gen;       /* points of generations <= this are in files */
    uint64_t next_file_no;      /* never given out before; from 1 */
    uint32_t run;               /* number of the last run (start for writing) */
    int64_t cutoff_ms;          /* retention has dropped points before it, */
    uint64_t cutoff_gen;        /* as far as they are of generations below; 0 = it has dropped none */
    struct sto_sst_info *files; /* owned by the manifest; order unspecified */
    size_t n_files;             /* in files */
};
/* A change. Removals are carried out before additions. */
struct sto_manifest_edit {
    const struct sto_sst_info *add; /* files to add; numbers not in the state */
    size_t n_add;
    const uint64_t *remove; /* numbers of files to take out; all in the state */
    size_t n_remove;
    uint64_t flushed_gen;  /* 0 = unchanged; never goes back */
    uint32_t run;          /* 0 = unchanged; never goes back */
    int64_t cutoff_ms;     /* with cutoff_gen; goes back only when no file has points that it concealed */
    uint64_t cutoff_gen;   /* 0 = both unchanged; never goes back, and at most flushed_gen + 1 */
    uint64_t next_file_no; /* 0 = unchanged; never goes back, and is always above all files added */
};
/**
 * Open dir/MANIFEST; if there is none and create: write one for n_shards.
 *
 * @param create     may make a new store (dir exists; n_shards >= 1)
 * @param read_only  nothing is written; sto_manifest_apply is refused
 * @return 0
 *         TS_ENOTFOUND  "DIR is not a tsd store"
 *         TS_ECORRUPT   damage, named with file and offset
 *         TS_EVERSION   made by a newer program
 */
int sto_manifest_open(const struct ts_fs *fs, const char *dir, bool create, bool read_only, uint32_t n_shards,
                      struct sto_manifest **out_m, struct ts_error *err);
/** A log shorter than this is not rewritten; 64 KiB unless told. */
void sto_manifest_set_rewrite_bytes(struct sto_manifest *m, uint64_t n_bytes);
/** Close and free. NULL is harmless. */
void sto_manifest_close(struct sto_manifest *m);
/** The state, borrowed until the next sto_manifest_apply. */
const struct sto_manifest_state *sto_manifest_state(const struct sto_manifest *m);
/** The file of that number in a state; NULL: it is not there. Cost: looks at each of the files. */
const struct sto_sst_info *sto_manifest_file(const struct sto_manifest_state *state, uint64_t file_no);
/**
 * Make an edit durable, then apply it to the state. On error the state is unchanged.
 *
 * @return 0
 *         TS_EINVAL  the edit contradicts the state, or the manifest was opened read-only; nothing written
 *         TS_ENOSPC  not on disk, certainly; may be tried again
 *         TS_EIO     nobody knows whether the edit is on disk: keep all files it names; every later edit is
 * refused
 *
 * Blocks: one fdatasync; now and then a rewrite of the whole manifest.
 */
int sto_manifest_apply(struct sto_manifest *m, const struct sto_manifest_edit *edit, struct ts_error *err);

#endif
