/*
 * fsck_file.h - reads a pair of sorted files that may be damaged: reports every row that can be read, and
 * what cannot.
 *
 * Everything is checked, and no part depends on another one that is damaged: blocks are found without the
 * index if necessary, and counts without the footer.
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Threads    one thread a walk
 * Not here   repairing damage (storage/fsck_repair.c), names (storage/fsck.c)
 */
#ifndef STORAGE_ENGINE_CHECK_FSCK_FILE_H
#define STORAGE_ENGINE_CHECK_FSCK_FILE_H

#include <roaring/roaring.h>

#include "storage/engine/files/sst.h"

/* Called while a pair is read. All arguments are borrowed until return. */
struct sto_fsck_file_ops {
    /* A row, joined from all its pieces that can be read; keys ascend. */
    int (*row)(void *arg, const struct sto_key *key, const struct sto_cells *cells, struct ts_error *err);
    /* A tombstone, in the order of the file. */
    int (*tomb)(void *arg, const struct sto_tomb *tomb, struct ts_error *err);
    /* Something is wrong with a file; off is the offset, UINT64_MAX if there is none. May be NULL. */
    void (*damage)(void *arg, const char *path, uint64_t off, const char *what);
    /* Rows that can't be read: hours from..to, n_points 0 if not known. series UINT32_MAX: any series of
     * the metric between the keys of `first` and `last`; bitmap: the series of the file, NULL if not
     * known. */
    void (*lost)(void *arg, const struct sto_key *first, const struct sto_key *last, uint64_t n_points,
                 const roaring_bitmap_t *bitmap);
    /* n_bytes more were read. May be NULL. */
    void (*read)(void *arg, uint64_t n_bytes);
};

/* Result of a walk. */
struct sto_fsck_file {
    bool damaged;              /* something is wrong with one of the two files */
    bool unread;               /* the disk gave errors: another attempt may find less damage */
    bool readable;             /* there is a .t file, of a version this program knows */
    bool tombs_lost;           /* tombstones can't be read */
    uint64_t n_blocks, n_bad;  /* blocks of both files; of these, not readable */
    uint64_t n_rows, n_points; /* reported */
    uint64_t n_tombs;          /* reported */
    struct sto_sst_info info;  /* from the footer, or computed from what was read */
    uint64_t carried_gen;      /* from the footer; 0 without one */
    int64_t made_ms;           /* the same */
    bool has_footer;           /* info is from the footer */
};

/**
 * Read DIR/NNNNNNNN.t and .s from front to back.
 *
 * @param info  what the manifest says; NULL: there is no manifest (file_no is then the number)
 * @return 0 whatever is damaged; TS_ENOMEM TS_EMFILE, or the result of row or tomb
 *
 * Blocks: reads both files once; if the index is damaged, searching for blocks takes about 5 ns a byte.
 */
int sto_fsck_file_walk(const struct ts_fs *fs, const char *dir, uint64_t file_no,
                       const struct sto_sst_info *info, const struct sto_fsck_file_ops *ops, void *arg,
                       struct sto_fsck_file *out, struct ts_error *err);
/**
 * Write the rows and tombstones that can be read to a new pair of files, synced (the folder too). When the old pair was
 * written, and which tombstones are applied to it, is taken from its footer.
 *
 * @param found  [out] result of reading the old pair: whether fewer rows were read than there are, and why
 * @return 1 written, 0 there was nothing to write, TS_ENOSPC TS_EIO TS_ENOMEM TS_EMFILE
 */
int sto_fsck_file_salvage(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info,
                          uint64_t new_file_no, struct sto_sst_info *out_info, struct sto_fsck_file *found,
                          struct ts_error *err);

#endif
