/*
 * bulk.h - bulk load: points in any order become sorted files beside a store, and the store takes these files with one
 * change of its manifest.
 *
 *   importer   points -> runs, sorted in memory -> runs merged -> DIR/bulk/ID/ready/NNNNNNNN.t .s
 *   store      names -> numbers of series; ready/ -> copies, checked -> manifest
 *
 * The importer is a process of its own, which writes into a staging folder that the store has named. It sees nothing of the
 * store but that folder and the numbers of series. The store trusts nothing in the folder: it copies the files and checks each
 * byte of the copies.
 *
 * Format     docs/FORMAT.md "Bulk load"
 * Threads    a bulk writer belongs to one thread, which lends it a pool; functions of the store: any thread
 * Not here   parsing of points (tsd/commands/)
 */
#ifndef STORAGE_BULK_H
#define STORAGE_BULK_H

#include "base/buf.h"
#include "base/fs.h"
#include "base/pool.h"
#include "storage/point.h"

#include <roaring/roaring.h>

#define STO_BULK_DIR         "bulk" /* folder of the staging folders, in the data folder */
#define STO_BULK_ID_CHARS    16u    /* length of the name of a staging folder: hexadecimal digits */
#define STO_BULK_TOKEN_BYTES 64u    /* room for the contents of TOKEN */

/* --- the importer --- */

/* A point on its way; 24 bytes. */
struct sto_bulk_point {
    uint32_t series; /* number that the importer has given to its series, from 0 */
    int32_t hour;    /* sto_hour of its time */
    uint32_t meta;   /* offset and flags, operation PUT (storage/point.h) */
    uint32_t unused; /* 0 */
    int64_t m;       /* value */
};

/** A put of the series that the importer has given this number. */
static inline struct sto_bulk_point sto_bulk_point_of(const struct sto_point *p)
{
    int32_t hour = sto_hour(p->ts_ms);
    return (struct sto_bulk_point){.series = p->series->id,
                                   .hour = hour,
                                   .meta = p->flags | (uint32_t)(p->ts_ms - hour * TS_HOUR_MS),
                                   .m = p->m};
}

/* Points in the order of the input. */
struct sto_bulk_chunk {
    struct sto_bulk_point *points; /* owned, ts_free */
    size_t n, cap;                 /* used, allocated */
};

/* What the store calls a series of the importer. */
struct sto_bulk_id {
    uint32_t metric; /* id; 0: the store has refused the series, its points are left out */
    uint32_t series; /* number */
};

/* What a hand-over replaces. Everything is borrowed. */
struct sto_bulk_replace {
    const struct sto_tomb
        *ranges; /* deleted before the points of the files are there; generations are not read */
    size_t n;
    const roaring_bitmap_t *series; /* the files may have points of these series alone, */
    int64_t from_ms, to_ms;         /* at these times, both inclusive */
};

/* Sizes of files. */
struct sto_bulk_sum {
    uint64_t n_files;  /* pairs of files */
    uint64_t n_points; /* in them */
    uint64_t n_bytes;  /* of both files of each pair */
};

struct sto_bulk_writer_opts {
    const struct ts_fs *fs;     /* borrowed */
    const char *dir;            /* the staging folder; copied */
    struct ts_pool *pool;       /* threads besides the caller's; borrowed */
    uint64_t memory_bytes;      /* for the blocks that merging holds; 0 = 64 MiB */
    uint64_t big_day_points;    /* tests: a day with so many points gets a file of its own; 0 = 100,000 */
    uint64_t output_bytes;      /* tests: files are cut by key at this size; 0 = 1 GiB */
    uint64_t unit_points;       /* tests: about so many points are merged as one unit; 0 = 4 million */
    const _Atomic bool *cancel; /* ends a call with TS_ECANCELLED when it becomes true; NULL = nothing does */
};
struct sto_bulk_writer;

/**
 * Begin to write into a staging folder, or continue: the file STATE of the folder says what is finished. Files that it does not
 * mention are removed.
 *
 * @param out_note  [out] the note of the last run, empty if there is none; initialised by the caller
 * @return 0; TS_ECORRUPT, TS_EVERSION: STATE is damaged or of a newer program; errors of the file system
 */
int sto_bulk_writer_open(const struct sto_bulk_writer_opts *opts, struct ts_buf *out_note,
                         struct sto_bulk_writer **out_w, struct ts_error *err);
/**
 * Sort points and write them as one run, which is newer than all runs before: of points with equal series and time the last
 * one of the chunks stays. When 0 is returned, the run and the note are on disk, and a writer that is opened later gets the note.
 *
 * @param chunks  in the order of the input; their points are scratch afterwards
 * @param ids     by number of the importer, n_ids of them, above all numbers of the points
 * @param note    one line of text, kept with the run
 * @return 0; errors of the file system; TS_ENOMEM; TS_ECANCELLED
 *
 * Memory: the points once more, kept for the next run until sto_bulk_writer_finish or _close.   Cost: about 60 ns a point on one thread
 *
 * If the next run is the last one, sto_bulk_writer_last should be called before: otherwise files are written in a form that costs less, and
 * must be merged, where further points of their time seem likely.
 */
int sto_bulk_writer_run(struct sto_bulk_writer *w, struct sto_bulk_chunk *chunks, size_t n_chunks,
                        const struct sto_bulk_id *ids, size_t n_ids, struct ts_slice note,
                        struct ts_error *err);
/** The next run is the last one. */
void sto_bulk_writer_last(struct sto_bulk_writer *w);
/** Merge all runs into the files of DIR/bulk/ID/ready, cut along windows of time, and remove the runs. No run may be added
 * afterwards. After an error call it again, or open the folder again: what is finished is not repeated. */
int sto_bulk_writer_finish(struct sto_bulk_writer *w, struct sto_bulk_sum *out_sum, struct ts_error *err);
/** The note of the last run of a staging folder, whoever writes into it; appended to out_note. 1; 0: there is none; TS_ECORRUPT, TS_EVERSION, errors of
 * reading. */
int sto_bulk_note_read(const struct ts_fs *fs, const char *dir, struct ts_buf *out_note,
                       struct ts_error *err);
/** Does the folder say that the last run was written, so that only merging is left? */
bool sto_bulk_writer_is_merging(const struct sto_bulk_writer *w);
/** Points of all runs, and those that sto_bulk_writer_finish has merged so far. Any thread. */
void sto_bulk_writer_progress(const struct sto_bulk_writer *w, uint64_t *out_points, uint64_t *out_merged);
/** Points of refused series that were left out, by this writer. */
uint64_t sto_bulk_writer_refused(const struct sto_bulk_writer *w);
/** Free it; files stay. NULL is ignored. */
void sto_bulk_writer_close(struct sto_bulk_writer *w);

/* --- the store --- */

struct sto_store;

#define STO_BULK_MAX 64u /* staging folders at the same time */

/* A staging folder, as operators see it. */
struct sto_bulk_load {
    char id[STO_BULK_ID_CHARS + 1];
    uint64_t n_bytes; /* of its files, as far as they can be read */
    int64_t idle_ms;  /* since a call has named it, or since the store was opened */
    bool busy;        /* it is being handed over or removed */
    bool given_up;    /* somebody waits for the hand-over to end, to remove it */
    bool done;        /* its files are part of the store */
};

/* What there was to end. */
struct sto_bulk_ended {
    bool found; /* a folder */
    bool done;  /* whose files are part of the store, and stay there */
};

/* A staging folder, as an importer sees it. */
struct sto_bulk_place {
    char *dir; /* its path; owned, ts_free */
    char token
        [STO_BULK_TOKEN_BYTES]; /* contents of its file TOKEN, by which the importer sees that it is the same folder */
    bool done;                  /* its files are part of the store: nothing is left to be done */
    struct sto_bulk_sum sum; /* of what the store has taken, if done */
};

/**
 * Create a staging folder, or find it. While there is one, no series and no name is forgotten. A folder that no call has named
 * for opts.bulk_keep_ms is removed.
 *
 * @param id  STO_BULK_ID_CHARS hexadecimal digits, lower case: what is imported
 * @return 0; TS_EINVAL: id; TS_ELIMIT: too many folders; error of a read-only store; errors of the file system
 */
int sto_bulk_begin(struct sto_store *st, struct ts_slice id, struct sto_bulk_place *out,
                   struct ts_error *err);
/**
 * Make the files of ready/ part of the store, all of them with one edit of the manifest, and remove the folder's other files. They are
 * newer than everything that was put before the call returns, and older than what is put afterwards. If it was done
 * before, 0 is returned at once.
 *
 * @param expect  what ready/ must contain; n_bytes is not compared
 * @return 0
 *         TS_ENOTFOUND  there is no such folder
 *         TS_EINVAL     the files are not what expect says, or are not valid: the text says which and why
 *         TS_ENOSPC     there is no room for the copies
 *         TS_EBUSY      another hand-over is at work
 *         TS_ECANCELLED sto_bulk_end was called meanwhile
 *         or an error of a flush; the store has not changed, and the call may be repeated
 *
 * Blocks: reads and copies all files, then flushes the memstores.
 */
int sto_bulk_hand_over(struct sto_store *st, struct ts_slice id, const struct sto_bulk_sum *expect,
                       struct sto_bulk_sum *out, struct ts_error *err);
/**
 * As sto_bulk_hand_over, and delete ranges of series with the same edit of the manifest: what was put there before the call returns is gone, and
 * the files have all that is left. A snapshot, and a start after a crash, sees the old points or the new ones. Files without points
 * (expect is empty, and ready/ need not exist) leave nothing. With a remote store the deletes and then the points are shipped, row by row.
 *
 * @return as sto_bulk_hand_over; TS_EINVAL too if a point is outside of what is replaced
 */
int sto_bulk_replace(struct sto_store *st, struct ts_slice id, const struct sto_bulk_sum *expect,
                     const struct sto_bulk_replace *what, struct sto_bulk_sum *out, struct ts_error *err);
/** Use a staging folder, so that it does not expire. 0; TS_ENOTFOUND: it was given up, or has expired. */
int sto_bulk_touch(struct sto_store *st, struct ts_slice id, struct ts_error *err);
/** List the staging folders, *out_n of them. 0; error of a read-only store. Cost: opens each file of them. */
int sto_bulk_list(struct sto_store *st, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                  struct ts_error *err);
/**
 * Remove a staging folder and all of its files, whether its import has ended or is to be given up. A hand-over that is at work ends with
 * TS_ECANCELLED if it has not copied everything yet; otherwise its files become part of the store. What an importer does afterwards with
 * the folder fails.
 *
 * @return 0, also if there is no such folder; TS_EINVAL: id; TS_EBUSY: another hand-over is at work, which concerns it; errors of the file system
 *
 * Blocks: until a hand-over of the folder has ended.
 */
int sto_bulk_end(struct sto_store *st, struct ts_slice id, struct sto_bulk_ended *out, struct ts_error *err);

#endif
