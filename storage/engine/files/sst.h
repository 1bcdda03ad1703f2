/*
 * sst.h - sorted files of the engine: rows of points (NNNNNNNN.t) and summaries of rows (NNNNNNNN.s). They
 * are written once and never changed.
 *
 * A file pair holds the rows of one or more adjacent generations of memstores (gen_lo..gen_hi) in a range of
 * time. A higher generation is newer. A tombstone deletes from files and memstores all of whose generations
 * are lower than its own.
 *
 *   .t   header | block | block | ... | tombstones | series bitmap | block index | footer
 *   .s   header | summary block | ... | index | footer        (left out when rows hold few points: n_points <
 * 16 * n_rows)
 *
 * Format     docs/FORMAT.md "Sorted file"
 * Threads    a writer belongs to one thread; an open sst is immutable and shared (ref/unref); cursors belong
 *            to one thread
 * Not here   the list of files (manifest.h), merging (merge.h)
 */
#ifndef STORAGE_ENGINE_FILES_SST_H
#define STORAGE_ENGINE_FILES_SST_H

#include <stdatomic.h>

#include "base/budget.h"
#include "base/fs.h"
#include "storage/point.h"

struct ts_tz;

/* What is known of a file without opening it; kept in the manifest. */
struct sto_sst_info {
    uint64_t file_no;                 /* number in the names of the files; never reused */
    uint64_t gen_lo, gen_hi;          /* generations inside, inclusive */
    int64_t min_ms, max_ms;           /* first and last time of points; INT64_MAX/MIN if there are none */
    int64_t tomb_min_ms, tomb_max_ms; /* range of the tombstones; min > max = none */
    uint64_t n_points, n_rows, n_tombs;
    uint64_t t_bytes, s_bytes; /* sizes; s_bytes 0 = no summary file */
};

/* --- writing --- */
struct sto_sst_writer;
/** Begin to write file_no in folder dir. */
int sto_sst_writer_new(const struct ts_fs *fs, const char *dir, uint64_t file_no,
                       struct sto_sst_writer **out_w, struct ts_error *err);
/** Compress the file harder: with a level of zstd from STO_LEVEL_LEAST to STO_LEVEL_MOST (storage/compaction.h), which the footer
 * records; 0 = as usual. From STO_LEVEL_BIG on blocks are larger. Before the first row. */
int sto_sst_writer_set_level(struct sto_sst_writer *w, unsigned level, struct ts_error *err);
/** Write a file that is to be merged and then removed: without summaries, its blocks with STO_LEVEL_ROUGH. Before the first row. */
int sto_sst_writer_set_rough(struct sto_sst_writer *w, struct ts_error *err);
/** Most memory that a writer uses for compressing with a level, bytes; 0 for level 0. */
size_t sto_sst_writer_level_bytes(unsigned level);
/** Add a row; keys strictly ascending; any n >= 1 (long rows are cut into blocks inside). Cells: sorted, PUT
 * and ADD. */
int sto_sst_write_row(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_cells *cells,
                      struct ts_error *err);
/** Add a tombstone, any order, any time before finish; its generation is one of the file's, or 0 (the lowest). */
int sto_sst_write_tomb(struct sto_sst_writer *w, const struct sto_tomb *tomb, struct ts_error *err);
/** Bytes written so far (to cut files by size). */
uint64_t sto_sst_writer_bytes(const struct sto_sst_writer *w);
/** The same plus the open block, whose points count as 8 bytes each; the file may become smaller. */
uint64_t sto_sst_writer_weight(const struct sto_sst_writer *w);
/** Set what the footer records about deletes: when the file, or its oldest tombstone, was written [wall
 * clock, ms], and that all tombstones up to carried_gen were applied to its rows. Both are 0 = not known
 * unless this is called. */
void sto_sst_writer_note(struct sto_sst_writer *w, int64_t made_ms, uint64_t carried_gen);
/** Write index and footer, sync the files (not the folder), fill out_info. Frees w in any case; on error the
 * files are unlinked. */
int sto_sst_writer_finish(struct sto_sst_writer *w, uint64_t gen_lo, uint64_t gen_hi,
                          struct sto_sst_info *out_info, struct ts_error *err);
/** Abort: unlink what was written and free w. NULL is ignored. */
void sto_sst_writer_abort(struct sto_sst_writer *w);

/* --- reading --- */
struct sto_sst;
struct sto_sst_series;
struct sto_pages;
struct sto_handles;
/* Caches that the open files of a store share. They are borrowed and must outlive the files. */
struct sto_sst_caches {
    struct sto_pages *pages;     /* index pages; NULL: each cursor keeps a page of its own */
    struct sto_handles *handles; /* descriptors; NULL: those of sto_handle_init */
};
/**
 * Read and check footer, bitmap, tombstones, and the index if it is small (STO_PAGES_EAGER_BYTES); a larger
 * one is read when it is first used. The caller gets the first reference. A damaged or missing file of
 * summaries is no error: it is logged, and points are read instead.
 *
 * @param caches  copied; NULL: none
 */
int sto_sst_open(const struct ts_fs *fs, const char *dir, const struct sto_sst_caches *caches,
                 const struct sto_sst_info *info, struct sto_sst **out_sst, struct ts_error *err);
/** Read and check the indexes that were not read yet. 0, also if the summaries turn out to be damaged;
 * TS_ECORRUPT: the index is damaged (sto_sst_has_lost_index); TS_EIO TS_ENOMEM TS_EMFILE TS_EBUSY. Any
 * thread. */
int sto_sst_check_index(struct sto_sst *sst, struct ts_error *err);
/** A placeholder for a file that could not be opened. It has no rows; callers must check sto_sst_broken
 * first. */
struct sto_sst *sto_sst_new_broken(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info,
                                   const char *why);
/** Why the file can't be read; NULL if it can. Borrowed. */
const char *sto_sst_broken(const struct sto_sst *sst);
/** Does it have summaries that can be read? */
bool sto_sst_has_sums(const struct sto_sst *sst);
/** Mark its summaries as damaged, so that they are not read any more. The first call writes a line to the
 * log. Any thread. */
void sto_sst_lose_sums(struct sto_sst *sst, const struct ts_error *why);
/** Open the day summaries of a file that has none open yet, if they exist and are those of its rows and of the zone. True if it has some now. A file that is damaged
 * is logged. Beside readers; one thread at a time. */
bool sto_sst_open_days(struct sto_sst *sst);
/** The zone of the day summaries beside a file that has none open; they may be those of other rows. TS_ENOTFOUND: there are none; TS_ECORRUPT; TS_EPARSE: the
 * machine does not know the zone; TS_EIO, TS_EMFILE. One thread, no readers. */
int sto_sst_days_zone(struct sto_sst *sst, const struct ts_tz **out_zone, struct ts_error *err);
/** Does it have day summaries that can be read? Once true it stays so until they turn out to be damaged. Any thread. */
bool sto_sst_has_days(const struct sto_sst *sst);
/** Bytes of its files on the disk: points, summaries of hours, and those of days and kept totals if it has them. Any thread. */
uint64_t sto_sst_disk_bytes(const struct sto_sst *sst);
/** Mark its day summaries as damaged, as sto_sst_lose_sums does. Any thread. */
void sto_sst_lose_days(struct sto_sst *sst, const struct ts_error *why);
/** If its day summaries were found damaged: remove their file, so that they are made again after the file is opened the next time, and return true. One thread at a time. */
bool sto_sst_drop_lost_days(struct sto_sst *sst);
/** Was it tried to make its day summaries since it was opened? compact_mu of the engine held. */
bool *sto_sst_days_tried(struct sto_sst *sst);
/** Was its index, or its set of series, found damaged since it was opened? Calls that need it return
 * TS_ECORRUPT. Any thread. */
bool sto_sst_has_lost_index(const struct sto_sst *sst);
/** Is it broken, or is its index or its file of summaries damaged, so that it should be rewritten (remake.h)? */
bool sto_sst_needs_remake(const struct sto_sst *sst);
/** Rewriting has failed: leave the file as it is, and do not try again. */
void sto_sst_set_no_remake(struct sto_sst *sst);
/** Rewriting has failed because the disk could not read all of the file: after three such failures it is not
 * tried again. One thread at a time. */
void sto_sst_note_unread(struct sto_sst *sst);
/** Add a reference. */
struct sto_sst *sto_sst_ref(struct sto_sst *sst);
/** Remove a reference. The last one closes the files, and unlinks them if sto_sst_unlink_later was called; until then
 * they can be opened again (handles.h). NULL is ignored. */
void sto_sst_unref(struct sto_sst *sst);
/* Files that are no longer part of the store, but that readers still reference. */
struct sto_sst_held {
    _Atomic uint64_t n, bytes; /* pairs of files; their size on disk. Statistics: relaxed */
};
/** Unlink the files when the last reference is removed; until then they are counted in held, which outlives
 * sst. NULL: they are not counted. To be called once. */
void sto_sst_unlink_later(struct sto_sst *sst, struct sto_sst_held *held);
/** Unlink the files of a pair that is not open. A file that cannot be unlinked stays until the next start. */
void sto_sst_remove(const struct ts_fs *fs, const char *dir, const struct sto_sst_info *info);
/* How much of a file deletes have removed. */
struct sto_sst_wear {
    int64_t made_ms;      /* from the footer: see sto_sst_writer_note */
    uint64_t carried_gen; /* the same */
    uint64_t judged_gen;  /* tombstones up to this generation are included in n_dead */
    double n_dead;        /* points that were deleted since the file was written, an estimate */
    int64_t since_ms;     /* made_ms of the oldest tombstones that deleted any; INT64_MAX = none did */
    size_t n_done;        /* this many of its tombstones, from the first one, concern no file any more */
    uint64_t
        floors_epoch; /* of the floors of retention that n_below was computed with (expire.c); 0 = none */
    uint64_t n_below; /* series of which it has nothing that these floors do not hide */
    int64_t below_since_ms; /* when there was one first, wall clock; 0 = there is none */
    uint64_t n_cut;         /* points that retention hides while others of the file stay (expire_cut.h), */
    int64_t cut_since_ms;   /* since when, wall clock; 0 = there are none */
    uint64_t cut_epoch;     /* of the floors that n_cut was computed with */
    uint64_t cut_gen;       /* and the cutoff: its generation */
    int64_t cut_ms;         /* and its time */
    bool cut_at_once;       /* and whether files waited for it */
    bool cut_known;         /* n_cut was computed */
    uint64_t left_epoch;    /* of the series that n_left was computed with (evict.c); 0 = none */
    int64_t left_ms;        /* and from when on */
    uint64_t n_left;        /* points of these series */
};
/** The state of deletes; never NULL. wear.c and expire.c alone change the members that are not from the footer. */
struct sto_sst_wear *sto_sst_wear(struct sto_sst *sst);
/** The level of zstd that its footer records; 0 = the usual one, or the file is broken. */
unsigned sto_sst_level(const struct sto_sst *sst);
/** Its description in the manifest; borrowed. */
const struct sto_sst_info *sto_sst_info(const struct sto_sst *sst);
/** Memory that it uses while it is open, bytes: fences of the index, tombstones, directory of its series.
 * Pages are counted by the cache. */
size_t sto_sst_memory(struct sto_sst *sst);
/** Series that have rows here; borrowed. */
struct sto_sst_series *sto_sst_series(struct sto_sst *sst);
/** Tombstones, sorted by (metric, series, from); borrowed. */
const struct sto_tomb *sto_sst_tombs(const struct sto_sst *sst, size_t *out_n);

/* Iterates over rows in key order. A cursor reads either points, or summaries of hours, or of days (days.h: the hour of a key is the
 * first one of the day), or of groups of series (total.h). */
struct sto_sst_cur;
enum sto_sst_what { STO_SST_POINTS, STO_SST_SUMMARIES, STO_SST_DAYS, STO_SST_TOTAL };
/* State that the cursors of one scan share. */
struct sto_sst_share {
    struct ts_tally tally; /* their memory; its budget NULL: not counted */
    /* memory for cur was refused: release blocks of other cursors; true = try again */
    bool (*make_room)(void *arg, const struct sto_sst_cur *cur);
    void *arg;
};
#define STO_SST_CUR_BYTES 768u /* memory of a cursor without a block */
/** New cursor, before the first row. Keeps a reference to sst. STO_SST_SUMMARIES needs info->s_bytes > 0, STO_SST_DAYS
 * sto_sst_has_days; STO_SST_TOTAL has a function of its own.
 * @param share  outlives the cursor; NULL: nothing is counted. With it, calls that read blocks may return
 *               TS_ELIMIT */
struct sto_sst_cur *sto_sst_cur_new(struct sto_sst *sst, enum sto_sst_what what, struct sto_sst_share *share);
/** The cursor will read the whole file, so the pages of the index that it reads are not put into the cache. */
void sto_sst_cur_set_walk(struct sto_sst_cur *cur);
/** Release the open block and its cells, because the cursor will not be used for a while. Its position stays;
 * the next use reads the block again. NULL is ignored. */
void sto_sst_cur_rest(struct sto_sst_cur *cur);
/** The same, but cells that sto_sst_cur_cells returned stay valid. */
void sto_sst_cur_close_block(struct sto_sst_cur *cur);
/** Does it have an open block? False for NULL. */
bool sto_sst_cur_is_open(const struct sto_sst_cur *cur);
/** Free the cursor. NULL is ignored. */
void sto_sst_cur_free(struct sto_sst_cur *cur);
/** Move to the first row with key >= key. 1 = there is one, 0 = end, < 0 error (TS_EIO, TS_EMFILE,
 * TS_ECORRUPT naming file and offset). Cheap if the row is in the present block or the next one. The cursor
 * also moves backwards. Cells and summary stay valid if it is on that row already. */
int sto_sst_cur_seek(struct sto_sst_cur *cur, const struct sto_key *key, struct ts_error *err);
/** Move to the next row. 1, 0, < 0 as above. */
int sto_sst_cur_next(struct sto_sst_cur *cur, struct ts_error *err);
/** Key of the present row. */
const struct sto_key *sto_sst_cur_key(const struct sto_sst_cur *cur);
/** Cells of the present row (all pieces joined), borrowed until the cursor moves. */
int sto_sst_cur_cells(struct sto_sst_cur *cur, const struct sto_cells **out_cells, struct ts_error *err);
/** Summary of the present row; NULL if it has none (mixed kinds), so that its points must be read. Borrowed until the cursor moves. */
const struct sto_summary *sto_sst_cur_summary(struct sto_sst_cur *cur);
/** Has the present row a summary, and if with_sum is set, one with a sum? Cheaper than reading it. */
bool sto_sst_cur_has_summary(const struct sto_sst_cur *cur, bool with_sum);

#define STO_SST_RUN_ROWS 512u /* most of the following */
/* Rows of one series that follow each other in the open block. Borrowed until the cursor loads another block. */
struct sto_sst_rows {
    const struct sto_key *keys;
    const int64_t *counts; /* points of each */
    bool is_int;           /* of all */
};
/** The rows from the present one on, as far as the block has rows of the same series with summaries (and sums, if with_sum is set) of the same kind. Returns how many;
 * 0 also while the block is closed. */
size_t sto_sst_cur_rows(const struct sto_sst_cur *cur, bool with_sum, struct sto_sst_rows *out);
/** Has no row of the open block of summaries one? */
bool sto_sst_cur_is_vain(const struct sto_sst_cur *cur);
/** Of a cursor over points: as sto_dec_singles, from the present row on, at most STO_SST_RUN_ROWS. Errors as for sto_sst_cur_cells. */
int sto_sst_cur_singles(struct sto_sst_cur *cur, int64_t end, struct sto_key *keys, __int128 *sums,
                        struct ts_error *err);
/** The sums of the first n of these rows, which have sums. */
void sto_sst_cur_sums(const struct sto_sst_cur *cur, size_t n, __int128 *out);
/** Move n rows forward within these rows. The cursor does not know the summary of the row on which it then stands. */
void sto_sst_cur_skip(struct sto_sst_cur *cur, size_t n);

#endif
