/*
 * wal_read_int.h - reads segments of a log record by record: shared by replay (wal_read.c) and salvage
 * (wal_salvage.c).
 *
 * Threads    one; no writer at work in these segments
 * Not here   handling of damage, in which the two differ
 */
#ifndef STORAGE_ENGINE_LOG_WAL_READ_INT_H
#define STORAGE_ENGINE_LOG_WAL_READ_INT_H

#include <limits.h>

#include "storage/engine/log/wal.h"
#include "storage/engine/log/wal_format.h"

#define STO_WAL__OUT_POINTS 4096u

/* A segment found in the folder. */
struct sto_wal__found {
    struct sto_wal_head head;    /* name: the file's name; the rest is set if head_rc is 0 */
    int head_rc;                 /* 0; TS_ENOTFOUND: too short or damaged header */
    uint64_t size_bytes;         /* length of the file */
    uint64_t known_bytes;        /* length stated by the segment that follows; 0 = not known */
    struct sto_wal__found *next; /* the following segment, which states it */
    /* the end of an earlier segment was never on disk, so nothing of this one is used */
    bool is_beyond;
};

/* The segments found in the folder. {0} is empty; release v with ts_free. */
struct sto_wal__list {
    struct sto_wal__found *v; /* oldest first */
    size_t n, cap;
    uint32_t max_run; /* highest run in their names; 0 without segments */
    uint64_t max_gen;
};

/* Reads one segment after the other. */
struct sto_wal__reader {
    const struct ts_fs *fs;
    const char *dir;
    const struct sto_wal_replay_ops *ops;
    void *arg; /* of ops */
    /* Called for a record with a valid checksum and invalid contents, and for a series that ops does not
     * know; the reading then continues. NULL: the reading ends with TS_ECORRUPT, or with the code of ops. */
    void (*problem)(struct sto_wal__reader *r, const char *what);
    uint64_t n_points, n_skipped; /* passed to ops->points; of series that ops->series left out */

    /* the open segment */
    struct sto_wal__found *seg;
    char path[PATH_MAX];
    struct ts_file *file;
    uint32_t salt;
    uint64_t limit;          /* end of the bytes that are examined */
    uint64_t mark_off;       /* highest mark seen */
    bool unreadable;         /* the file system could not read bytes of it */
    struct ts_unread unread; /* with problem: what of it is read as zeros */
    bool any_mark;           /* sto_wal__find_marks has found one */
    bool gap; /* a record was lost: definitions that do not state their number are of unknown number */
    int64_t from_ms,
        to_ms; /* if problem is set: times of the last record of points; from > to before the first one */

    /* a window of its bytes */
    uint8_t *win;
    uint64_t win_off;
    size_t win_n, win_cap;

    /* handles by number in the segment; NULL = points are skipped */
    const struct sto_series **series;
    uint32_t n_series, series_cap;
    struct sto_wal_def def; /* the definition being read; large, so not on the stack */
    struct sto_point points[STO_WAL__OUT_POINTS];
};

/** List the segments of the folder. A missing folder has none. */
int sto_wal__list_read(const struct ts_fs *fs, const char *dir, struct sto_wal__list *out,
                       struct ts_error *err);
/** Path of a segment, to out[PATH_MAX]; sto_wal__list_read has checked that it fits. */
void sto_wal__path(const char *dir, const struct sto_wal_name *name, char *out);
/** Read a segment's header and size. A header that is short or damaged is not an error (head_rc). TS_EVERSION; TS_ECORRUPT: the
 * header of another segment; errors of the file system. */
int sto_wal__head_read(const struct ts_fs *fs, const char *dir, struct sto_wal__found *f,
                       struct ts_error *err);
/** The segment that the header of f calls the previous one: its name to *out_name; false if there is none, its header is not
 * readable, or all of it is flushed. *out_prev is NULL if it is not in the list; otherwise it gets what f
 * states about it. */
bool sto_wal__prev(const struct sto_wal__list *l, struct sto_wal__found *f, uint64_t flushed_gen,
                   struct sto_wal_name *out_name, struct sto_wal__found **out_prev);

/** Open a segment; no other one may be open. It is read up to the length that the following segment states. */
int sto_wal__open(struct sto_wal__reader *r, struct sto_wal__found *f, struct ts_error *err);
/** Close it. */
void sto_wal__close(struct sto_wal__reader *r);
/** Free what the reader owns, but not the struct. */
void sto_wal__reader_release(struct sto_wal__reader *r);
/** Read the record at off: *out_n is the length of its body, or 0 if there is no valid record. Borrowed until the next call. */
int sto_wal__record(struct sto_wal__reader *r, uint64_t off, const uint8_t **out_body, size_t *out_n,
                    struct ts_error *err);
/** Pass the contents of a record to ops. */
int sto_wal__take(struct sto_wal__reader *r, uint64_t off, const uint8_t *body, size_t n_body,
                  struct ts_error *err);
/** Find marks from off on, after a bad record: record lengths cannot be trusted there, so every offset is
 * tried. */
int sto_wal__find_marks(struct sto_wal__reader *r, uint64_t off, struct ts_error *err);
/** Was all of a segment on disk, according to the following one? 1, 0, < 0. */
int sto_wal__is_known(struct sto_wal__reader *r, const struct sto_wal__found *f, struct ts_error *err);

#endif
