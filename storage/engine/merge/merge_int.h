/*
 * merge_int.h - what the files of a merge share: merge.c (rows), merge_src.c (sources), merge_tomb.c
 * (tombstones), merge_slices.c (long rows).
 *
 * Threads    a merge and all in it belongs to one thread; memstores are read beside their writers
 */
#ifndef STORAGE_ENGINE_MERGE_MERGE_INT_H
#define STORAGE_ENGINE_MERGE_MERGE_INT_H

#include "storage/engine/files/sst_series.h"
#include "storage/engine/merge/merge.h"

/* A cursor and what is known of its position. */
struct sto_merge__cur {
    struct sto_sst_cur *cur; /* NULL until first wanted */
    bool at_end;             /* there is no row with a key >= that of the last search */
    uint8_t backoff;         /* seeks before the next try with "next"; doubles with each miss */
    uint8_t wait;            /* seeks left before that try */
};

/* A row of a memstore, sortable. */
struct sto_merge__ref {
    const struct sto_mem_row *row; /* borrowed from the memstore */
    uint32_t metric, series;       /* of its key */
};

/* One file or memstore. */
struct sto_merge__src {
    uint64_t gen_lo, gen_hi;             /* generations inside */
    struct sto_sst *sst;                 /* file, or */
    struct sto_mem *mem;                 /* memstore; one of the two is NULL */
    bool has_rows;                       /* may have rows for this scan */
    bool open;                           /* file: a block of it is open */
    bool keeps;                          /* file: may keep its block open while other files are read */
    int32_t hour_first;                  /* file: no row is before it */
    bool by_sums;                        /* file: rows are found through its summaries */
    bool vain;                           /* but not the rest of the present series, which has none */
    struct sto_sst_series_reader series; /* file: looks series up in its set */
    struct sto_merge__cur points;        /* file: rows */
    struct sto_merge__cur sums;          /* file: summaries; used if by_sums */
    bool by_days;                        /* file: its days may answer (merge_day.c) */
    bool on_day;                         /* its present row is a day */
    struct sto_merge__cur days;          /* file: day summaries; used if by_days */
    struct sto_merge__ref *refs;         /* memstore, scan of all rows: in key order; owned */
    size_t n_refs, at_ref;               /* length; row that is in the heap */
};

/* A source that has tombstones, or may get some. */
struct sto_merge__tomber {
    struct sto_mem *mem;          /* memstore, or NULL: */
    const struct sto_tomb *tombs; /* of a file, sorted by metric and series; borrowed */
    size_t n;                     /* length of tombs */
    /* memstore: position of the last tombstone of the series when the spans were computed */
    size_t last;
};

/* The smallest key comes out first; equal keys come out oldest source first. A file that begins later is not read before its first
 * hour has come: an item without STO_MERGE__ROW stands for it, which sorts before the rows of that hour. */
#define STO_MERGE__ROW 0x80000000u
struct sto_merge__item {
    unsigned __int128 key;         /* metric | series | hour with its sign turned | source, 32 bits each */
    const struct sto_mem_row *row; /* memstore: the row */
};

/* A source that has the present row. */
struct sto_merge__member {
    struct sto_merge__src *src;    /* the source */
    const struct sto_mem_row *row; /* memstore: the row */
};

struct sto_merge {
    struct sto_sst_share share; /* memory of this struct, its arrays and the cursors */
    struct sto_scan_spec spec;  /* from_ms and to_ms brought within what rows can hold */
    int32_t hour_lo, hour_hi;   /* rows of the scan, inclusive */
    /* of the present series: points before it are left out, and so are rows before its hour. Not less than spec.from_ms and hour_lo */
    int64_t from_ms;
    int32_t row_lo;
    struct sto_merge__src *srcs;       /* oldest first */
    size_t n_srcs;                     /* length of srcs */
    struct sto_merge__tomber *tombers; /* sources that have or may get tombstones; owned */
    size_t n_tombers;                  /* length */
    /* tombstones of a series, in the order in which they were found; owned */
    struct sto_tomb *found;
    size_t n_found, cap_found;       /* used, capacity */
    struct sto_tomb *spans;          /* the same without overlaps, ascending; owned */
    size_t n_spans, cap_spans;       /* used, capacity */
    bool spans_valid;                /* spans are those of spans_key */
    struct sto_key spans_key;        /* metric and series of the spans */
    size_t pos;                      /* next of spec.series to enter */
    struct sto_merge__item *heap;    /* next row of each source */
    size_t n_heap, cap_heap;         /* used, capacity */
    size_t n_open;                   /* files of which a block is open */
    size_t n_keeps;                  /* sources that keep their blocks */
    struct sto_merge__member *group; /* sources of the row returned last, oldest first; capacity n_srcs */
    size_t n_group;                  /* used */
    size_t n_read;                   /* the cells of this many of them are in use, */
    size_t n_gone;                   /* but of so many, which are deleted as a whole, none are read */
    struct sto_cells *bufs;          /* by place in group: cells read from memstores; owned */
    struct sto_cells *pieces;        /* by place in group: cells within from..to, borrowed */
    struct sto_merge_src *parts;     /* arguments of sto_merge_cells; capacity 2 * n_srcs */
    /* tombstones of the present hour, by the members that they delete from; owned */
    struct sto_tomb *hour_tombs;
    size_t n_hour_tombs, cap_hour_tombs;  /* used, capacity */
    struct sto_merge__del *dels;          /* groups of these tombstones; capacity n_srcs */
    size_t n_dels;                        /* used */
    struct sto_summary day;               /* the day returned last, of several files */
    struct sto_run run;                   /* returned last */
    struct sto_merge__run_rows *run_rows; /* of it; NULL until first wanted; owned */
    struct sto_cells out;                 /* merged cells */
    struct sto_cells view;                /* part of borrowed cells */
    struct sto_merge_counts counts;       /* so far */
    struct sto_mem **own;                 /* memstores that it owns */
    size_t n_own;                         /* length */
};

/* The arrays of a run. */
struct sto_merge__run_rows {
    __int128 sums[STO_SST_RUN_ROWS];
    int64_t ones[STO_SST_RUN_ROWS]; /* counts of rows with one point */
    struct sto_key keys[STO_SST_RUN_ROWS];
    int64_t n_of_parts; /* count of a day of several files */
};

/* Tombstones of the present hour that delete from the same members of the group. */
struct sto_merge__del {
    size_t at, n; /* in hour_tombs */
    size_t older; /* they delete from this many members, beginning with the oldest */
};

/* --- merge_src.c --- */
/** Fill m->srcs with the files and memstores that the scan needs, in order of generation. */
int sto_merge__srcs_init(struct sto_merge *m, struct sto_sst *const *ssts, size_t n_ssts,
                         struct sto_mem *const *mems, size_t n_mems, struct ts_error *err);
/** Close the block of the file that is needed last, see struct sto_sst_share; arg: the merge. */
bool sto_merge__make_room(void *arg, const struct sto_sst_cur *cur);
/** Count n_bytes; while they are refused, files close their blocks. 0, TS_ELIMIT. */
int sto_merge__take(struct sto_merge *m, uint64_t n_bytes, struct ts_error *err);
/** The error of a row that needs more than spec.most_bytes. Returns TS_ELIMIT. */
int sto_merge__too_long(const struct sto_merge *m, const struct sto_key *key, struct ts_error *err);
/** Close all sources. */
void sto_merge__srcs_release(struct sto_merge *m);
/** Does a file have rows of a series? 1, 0, < 0. */
int sto_merge__has(struct sto_merge__src *src, uint32_t series, struct ts_error *err);
/** Move to the first row of a series at or after key->hour and not after hour_hi. 1, 0 = there is none, < 0.
 */
int sto_merge__find(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t hour_hi, struct ts_error *err);
/** The file has no more rows of the present series: close its block unless it may keep it, so that the memory
 * of a scan does not depend on the number of files. */
void sto_merge__rest(struct sto_merge *m, struct sto_merge__src *src);
/** The file stands on a row without a summary, in a block that has none: find the rest of the rows of the series through the points. 1; 0: it does not; < 0. */
int sto_merge__to_points(struct sto_merge *m, struct sto_merge__src *src, struct ts_error *err);
/** Move to the next row of the same series, not after hour_hi. 1, 0, < 0. */
int sto_merge__find_next(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_hi,
                         struct ts_error *err);
/** Scan of all rows: move to the first one after spec.after, or to the next one, with hour_lo <= hour <=
 * hour_hi. 1, 0, < 0. */
int sto_merge__walk(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi,
                    struct ts_error *err);
/** Move to the first day summary of a series at or after key->hour and not after hour_hi. 1, 0 = there is none, < 0. */
int sto_merge__find_summary(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                            int32_t hour_hi, struct ts_error *err);
/** Has it a block open? */
bool sto_merge__is_open(const struct sto_merge__src *src);
/** Key of the present row of a file, or of the day on which it stands. */
const struct sto_key *sto_merge__key(const struct sto_merge__src *src);
/** Its cells; TS_ECORRUPT if there is a summary but no row. */
int sto_merge__cells(struct sto_merge *m, struct sto_merge__src *src, const struct sto_cells **out_cells,
                     struct ts_error *err);
/** Collect the rows of a memstore within hour_lo..hour_hi in src->refs, in key order. */
void sto_merge__collect(struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi);

/* --- merge_day.c --- */
/** As sto_merge__find, and sto_merge__find_next; the file may stand on a day then (src->on_day). */
int sto_merge__seek(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t hour_hi, struct ts_error *err);
int sto_merge__step(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_hi, struct ts_error *err);
/** The hour at which the day of an hour begins; the hour itself if that is before the scan. */
int32_t sto_merge__day_start(const struct sto_merge *m, int32_t hour);
/** Does a member of the group stand on a day? */
bool sto_merge__has_day(const struct sto_merge *m);
/** Do all members of the group, which begins at key, stand on that day of n_hours, and has no other source rows of it? */
bool sto_merge__has_whole_day(const struct sto_merge *m, const struct sto_key *key, int32_t n_hours);
/** The group, which begins at key, has a day. 1: the day is the row; 0: all members were put back into the heap, those on a day with its first hour; < 0. */
int sto_merge__day(struct sto_merge *m, const struct sto_key *key, struct sto_row *out_row,
                   struct ts_error *err);

/* --- merge_run.c --- */
/** The group, which begins at key, is one file that stands on a summary: return it and those that follow it as a run, as far as no other source has rows between them. 1; 0: it cannot be
 * returned in this way, and nothing has changed; < 0. */
int sto_merge__run(struct sto_merge *m, const struct sto_key *key, struct sto_row *out_row,
                   struct ts_error *err);

/* --- merge_slices.c --- */
#define STO_MERGE__SLICE_CELLS (1u << 17) /* longer rows are merged slice by slice */
/** Most cells of the result of merging all cells of the group. */
uint32_t sto_merge__most_cells(const struct sto_merge *m, uint64_t all);
/** Merge all cells of the group as n parts, whose pieces become slices, to m->out. */
void sto_merge__slices(struct sto_merge *m, int32_t hour, size_t n, uint64_t all);

/* --- merge_tomb.c --- */
/** Find the sources that have tombstones, or may get some. */
void sto_merge__tombs_init(struct sto_merge *m);
/** Free what sto_merge__tombs_init and sto_merge__tombs_at have allocated. */
void sto_merge__tombs_release(struct sto_merge *m);
/** Collect the tombstones that overlap a row and are newer than at least one member of the group. Sets
 * m->dels.
 */
void sto_merge__tombs_at(struct sto_merge *m, const struct sto_key *key);
/** The same for the n_hours hours from key->hour on. */
void sto_merge__tombs_in(struct sto_merge *m, const struct sto_key *key, int32_t n_hours);
/** After sto_merge__tombs_at of a row of this hour: of how many members of the group, from the oldest, do the tombstones delete all of it? */
size_t sto_merge__n_gone(const struct sto_merge *m, int32_t hour);
/** Bytes that tombstones take. */
uint64_t sto_merge__tomb_bytes(const struct sto_merge *m);

#endif
