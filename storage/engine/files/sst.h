/*
 * sst.h - sorted files of the engine: rows of points (NNNNNNNN.t) and row summaries (NNNNNNNN.s), written
 * once, read by many.
 *
 * A file pair holds the rows of one or more neighbouring generations of the memstore (gen_lo..gen_hi) in a
 * stretch of time. What is in a higher generation is newer. Each tombstone deletes from files and
 * memstores that are wholly of lower generations than its own.
 *
 *   .t   header | block | block | ... | tombstones | series bitmap | block index | footer
 *   .s   header | summary block | ... | index | footer        (left out when rows hold few points: n_points <
 * 16 * n_rows)
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Threads    a writer belongs to one thread; an open sst is immutable and shared (ref/unref); cursors belong
 *            to one thread
 * Not here   which files there are (manifest.h), merging (merge.h)
 */
#ifndef STORAGE_ENGINE_FILES_SST_H
#define STORAGE_ENGINE_FILES_SST_H

#include <stdatomic.h>

#include "base/budget.h"
#include "base/fs.h"
#include "storage/point.h"

/* What is known of a file without opening it; kept in the manifest. */
struct sto_sst_info {
    uint64_t file_no;                 /* names the files; never used again */
    uint64_t gen_lo, gen_hi;          /* generations inside, inclusive */
    int64_t min_ms, max_ms;           /* first and last time of points; INT64_MAX/MIN if there are none */
    int64_t tomb_min_ms, tomb_max_ms; /* stretch of the tombstones; min > max = none */
    uint64_t n_points, n_rows, n_tombs;
    uint64_t t_bytes, s_bytes; /* sizes; s_bytes 0 = no summary file */
};

/* --- writing --- */
struct sto_sst_writer;
/** Begin file_no in folder dir. */
int sto_sst_writer_new(const struct ts_fs *fs, const char *dir, uint64_t file_no,
                       struct sto_sst_writer **out_w, struct ts_error *err);
/** Add a row; keys strictly ascending; any n >= 1 (long rows are cut into blocks inside). Cells: sorted, PUT
 * and ADD. */
int sto_sst_write_row(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_cells *cells,
                      struct ts_error *err);
/** Add a tombstone, any order, any time before finish; its generation is one of the file's, or 0 (the lowest). */
int sto_sst_write_tomb(struct sto_sst_writer *w, const struct sto_tomb *tomb, struct ts_error *err);
/** Bytes written so far (to cut files by size). */
uint64_t sto_sst_writer_bytes(const struct sto_sst_writer *w);
/** The same with the block that is open, whose points count as 8 bytes each: it may become less. */
uint64_t sto_sst_writer_weight(const struct sto_sst_writer *w);
/** What the footer tells of deletes: when the file, or its oldest tombstone, was written [wall clock, ms]; all tombstones
 *  up to carried_gen were heeded when its rows were written. Both are 0 = not known unless this is called. */
void sto_sst_writer_note(struct sto_sst_writer *w, int64_t made_ms, uint64_t carried_gen);
/** Write index and footer, sync the files (not the folder), fill out_info. Frees w in any case; on error the
 * files are unlinked. */
int sto_sst_writer_finish(struct sto_sst_writer *w, uint64_t gen_lo, uint64_t gen_hi,
                          struct sto_sst_info *out_info, struct ts_error *err);
/** Give up: unlink what was written, free w. NULL is harmless. */
void sto_sst_writer_abort(struct sto_sst_writer *w);

/* --- reading --- */
struct sto_sst;
struct sto_sst_series;
struct sto_pages;
struct sto_handles;
/* What the open files of a store share. All borrowed; they outlive the files. */
struct sto_sst_caches {
    struct sto_pages *pages;     /* index pages; NULL: each cursor keeps a page of its own */
    struct sto_handles *handles; /* descriptors; NULL: those of sto_handle_init */
};
/**
 * Read and check footer, bitmap, tombstones, and the index if it is small (STO_PAGES_EAGER_BYTES); a larger one is read when it is
 * first used. Count of references is 1. A file of summaries that is damaged or missing costs a line in the log: the file is read by
 * its points.
 *
 * @param caches  copied; NULL: none
 */
int sto_sst_open(const struct ts_fs *fs, const char *dir, const struct sto_sst_caches *caches,
                 const struct sto_sst_info *info, struct sto_sst **out_sst, struct ts_error *err);
/** Read and check the indexes that were not read yet. 0, also if the summaries are lost now; TS_ECORRUPT: the index is lost
 * (sto_sst_has_lost_index); TS_EIO TS_ENOMEM TS_EMFILE TS_EBUSY. Any thread. */
int sto_sst_check_index(struct sto_sst *sst, struct ts_error *err);
/** Stands for a file that could not be opened: without rows, to be asked with sto_sst_broken before it is believed. */
struct sto_sst *sto_sst_new_broken(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info,
                                   const char *why);
/** Why the file can't be read; NULL: it can. Borrowed. */
const char *sto_sst_broken(const struct sto_sst *sst);
/** Has it summaries that can be read? */
bool sto_sst_has_sums(const struct sto_sst *sst);
/** Its summaries are damaged: they are not read any more. The first call writes a line to the log. Any thread. */
void sto_sst_lose_sums(struct sto_sst *sst, const struct ts_error *why);
/** Was its index, or its set of series, found damaged since it was opened? Whoever needs it gets TS_ECORRUPT. Any thread. */
bool sto_sst_has_lost_index(const struct sto_sst *sst);
/** Is it broken, or has it lost its index or its summaries? Then remake.h may help. */
bool sto_sst_needs_remake(const struct sto_sst *sst);
/** It was tried and failed: the file stays as it is, and is not read as a whole again and again. */
void sto_sst_set_no_remake(struct sto_sst *sst);
/** Writing it anew failed because the disk could not read all of it: after three such attempts it is not tried again either. One thread
 * at a time. */
void sto_sst_note_unread(struct sto_sst *sst);
/** One more reference. */
struct sto_sst *sto_sst_ref(struct sto_sst *sst);
/** The last one closes the files, and unlinks them if sto_sst_doom was called; until then they can be opened again (handles.h). NULL is
 * harmless. */
void sto_sst_unref(struct sto_sst *sst);
/* Files that are no longer part of the store but whose last reference has not gone: readers hold them. */
struct sto_sst_held {
    _Atomic uint64_t n, bytes; /* pairs of files; what they occupy on disk. Statistics: no order */
};
/** Unlink the files when the last reference goes; until then they count in held, which outlives sst. NULL: they are not counted. Once. */
void sto_sst_doom(struct sto_sst *sst, struct sto_sst_held *held);
/** Unlink the files of one that was written and that nobody has open; what cannot be unlinked stays until the next start. */
void sto_sst_remove(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info);
/* How far deletes have gone in a file. */
struct sto_sst_wear {
    int64_t made_ms;      /* as the footer says: see sto_sst_writer_note */
    uint64_t carried_gen; /* the same */
    uint64_t judged_gen;  /* tombstones up to this generation are counted in: */
    double n_dead;        /* points that were deleted since, about */
    int64_t since_ms;     /* made_ms of the oldest tombstones that deleted some; INT64_MAX = none did */
    size_t n_done;        /* of its tombstones, from the first one: these concern no file any more */
};
/** Never NULL; what the footer does not say belongs to wear.c. */
struct sto_sst_wear *sto_sst_wear(struct sto_sst *sst);
/** What the manifest knows of it; borrowed. */
const struct sto_sst_info *sto_sst_info(const struct sto_sst *sst);
/** Memory that it takes while it is open, bytes: fences of the index, tombstones, directory of its series. Pages are in the cache. */
size_t sto_sst_memory(struct sto_sst *sst);
/** Series that have rows here; borrowed. */
struct sto_sst_series *sto_sst_series(struct sto_sst *sst);
/** Tombstones, sorted by (metric, series, from); borrowed. */
const struct sto_tomb *sto_sst_tombs(const struct sto_sst *sst, size_t *out_n);

/* Walks rows in key order. One cursor reads either points or summaries. */
struct sto_sst_cur;
enum sto_sst_what { STO_SST_POINTS, STO_SST_SUMMARIES };
/* What the cursors of one scan share. */
struct sto_sst_share {
    struct ts_tally tally; /* their memory; its budget NULL: not counted */
    bool (*make_room)(
        void *arg,
        const struct sto_sst_cur *cur); /* memory for cur was refused: let others rest; true = try again */
    void *arg;
};
#define STO_SST_CUR_BYTES 768u /* of a cursor without a block */
/** New cursor, before the first row. Keeps a reference to sst. STO_SST_SUMMARIES needs info->s_bytes > 0.
 * @param share  outlives the cursor; NULL: nothing is counted. With it calls that read blocks may answer TS_ELIMIT */
struct sto_sst_cur *sto_sst_cur_new(struct sto_sst *sst, enum sto_sst_what what, struct sto_sst_share *share);
/** The cursor walks the whole file: pages of the index that it reads are of no use to others and stay out of the cache. */
void sto_sst_cur_set_walk(struct sto_sst_cur *cur);
/** It will not be moved for a while: the open block and its cells go, it stays where it stands. The next use reads the block again.
 * NULL is harmless. */
void sto_sst_cur_rest(struct sto_sst_cur *cur);
/** The same, but cells that sto_sst_cur_cells gave stay valid. */
void sto_sst_cur_close_block(struct sto_sst_cur *cur);
/** Does it hold an open block? NULL: no. */
bool sto_sst_cur_is_open(const struct sto_sst_cur *cur);
/** End it. NULL is harmless. */
void sto_sst_cur_free(struct sto_sst_cur *cur);
/** Stand on the first row with key >= key. 1 = there is one, 0 = end, < 0 error (TS_EIO, TS_EMFILE, TS_ECORRUPT naming
 * file and offset). Cheap when the row lies in the block the cursor stands in or the next one; goes back if
 * key lies there. Cells and summary stay valid if the cursor stands there already. */
int sto_sst_cur_seek(struct sto_sst_cur *cur, const struct sto_key *key, struct ts_error *err);
/** Stand on the next row. 1, 0, < 0 as above. */
int sto_sst_cur_next(struct sto_sst_cur *cur, struct ts_error *err);
/** Key of the row the cursor stands on. */
const struct sto_key *sto_sst_cur_key(const struct sto_sst_cur *cur);
/** Cells of the row (all pieces joined), borrowed until the cursor moves. */
int sto_sst_cur_cells(struct sto_sst_cur *cur, const struct sto_cells **out_cells, struct ts_error *err);
/** Summary of the row; NULL if the row has none (mixed kinds): read its points. */
const struct sto_summary *sto_sst_cur_summary(const struct sto_sst_cur *cur);

#endif
