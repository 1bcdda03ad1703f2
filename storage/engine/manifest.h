/*
 * manifest.h - which files make up the store: a log of edits, rewritten as one snapshot now and then.
 *
 * An edit adds and removes files, says up to which generation all points are in files, which numbers are given out. It is on disk before it counts.
 * Format     docs/FORMAT.md "Manifest"
 * Threads    one background thread at a time (callers lock)
 */
#ifndef STORAGE_ENGINE_MANIFEST_H
#define STORAGE_ENGINE_MANIFEST_H

#include "base/err.h"
#include "base/fs.h"
#include "storage/engine/sst.h"

struct sto_manifest;

/* What the manifest says after its last edit. */
struct sto_manifest_state {
    uint32_t n_shards;      /* fixed when the store is made */
    uint64_t flushed_gen;   /* points of generations <= this are in files */
    uint64_t next_file_no;  /* never given out before */
    uint32_t run;           /* number of the last run (start for writing) */
    struct sto_sst_info *files; /* owned by the manifest; order unspecified */
    size_t n_files;
};
struct sto_manifest_edit {
    const struct sto_sst_info *add;
    size_t n_add;
    const uint64_t *remove; /* file numbers */
    size_t n_remove;
    uint64_t flushed_gen;   /* 0 = unchanged */
    uint32_t run;           /* 0 = unchanged */
    uint64_t next_file_no;  /* 0 = unchanged */
};
/** Open dir/MANIFEST; if there is none and create: write one for n_shards. TS_ENOTFOUND "DIR is not a tsd store" otherwise. */
int sto_manifest_open(const struct ts_fs *fs, const char *dir, bool create, bool read_only, uint32_t n_shards, struct sto_manifest **out_m, struct ts_error *err);
void sto_manifest_close(struct sto_manifest *m);
const struct sto_manifest_state *sto_manifest_state(const struct sto_manifest *m);
/** Make an edit durable, then apply it to the state. On error the state is unchanged. */
int sto_manifest_apply(struct sto_manifest *m, const struct sto_manifest_edit *edit, struct ts_error *err);

#endif
