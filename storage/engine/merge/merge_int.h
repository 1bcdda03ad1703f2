/*
 * merge_int.h - what the files of a merge share: merge.c (rows), merge_src.c (sources), merge_tomb.c
 * (tombstones).
 *
 * Threads    a merge and all in it belongs to one thread; memstores are read beside their writers
 */
#ifndef STORAGE_ENGINE_MERGE_MERGE_INT_H
#define STORAGE_ENGINE_MERGE_MERGE_INT_H

#include "storage/engine/files/sst_series.h"
#include "storage/engine/merge/merge.h"

/* A cursor and what is known of where it stands. */
struct sto_merge__cur {
    struct sto_sst_cur *cur; /* NULL until first wanted */
    bool at_end;             /* no row with a key >= the last one asked for */
    uint8_t backoff;         /* seeks before the next try with "next"; doubles with each miss */
    uint8_t wait;            /* seeks left of these */
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
    struct sto_mem *mem;                 /* memstore; the other is NULL */
    bool has_rows;                       /* may have rows for this scan */
    bool open;                           /* file: a block of it is open */
    bool keeps;                          /* file: may hold its block while others are read */
    int32_t hour_first;                  /* file: no row is before it */
    bool by_sums;                        /* file: rows are found through its summaries */
    struct sto_sst_series_reader series; /* file: looks series up in its set */
    struct sto_merge__cur points;        /* file: rows */
    struct sto_merge__cur sums;          /* file: summaries; used if by_sums */
    struct sto_merge__ref *refs;         /* memstore, scan of all rows: in key order; owned */
    size_t n_refs, at_ref;               /* length; row that is in the heap */
};

/* A source that has tombstones, or may get some. */
struct sto_merge__tomber {
    struct sto_mem *mem;          /* memstore, or NULL: */
    const struct sto_tomb *tombs; /* of a file, sorted by metric and series; borrowed */
    size_t n;                     /* length of tombs */
    size_t last;                  /* memstore: place of the series' last one when the spans were made */
};

/* The smallest key comes out first; equal keys come out oldest source first. A file that begins later is not read before its first
 * hour has come: an item without STO_MERGE__ROW stands for it, which sorts before the rows of that hour. */
#define STO_MERGE__ROW 0x80000000u
struct sto_merge__item {
    unsigned __int128 key;         /* metric | series | hour with its sign turned | source, 32 bits each */
    const struct sto_mem_row *row; /* memstore: the row */
};

/* A source that has the row at hand. */
struct sto_merge__member {
    struct sto_merge__src *src;    /* who */
    const struct sto_mem_row *row; /* memstore: the row */
};

struct sto_merge {
    struct sto_sst_share share;          /* memory of all this, and of the cursors */
    struct sto_scan_spec spec;           /* from_ms and to_ms brought within what rows can hold */
    int32_t hour_lo, hour_hi;            /* rows of the scan, inclusive */
    struct sto_merge__src *srcs;         /* oldest first */
    size_t n_srcs;                       /* length of srcs */
    struct sto_merge__tomber *tombers;   /* sources that have or may get tombstones; owned */
    size_t n_tombers;                    /* length */
    struct sto_tomb *found;              /* tombstones of a series, as they were found; owned */
    size_t n_found, cap_found;           /* used, room */
    struct sto_tomb *spans;              /* the same without overlaps, ascending; owned */
    size_t n_spans, cap_spans;           /* used, room */
    bool spans_valid;                    /* spans are those of spans_key */
    struct sto_key spans_key;            /* metric and series whose spans are made */
    size_t pos;                          /* next of spec.series to enter */
    struct sto_merge__item *heap;        /* next row of each source */
    size_t n_heap, cap_heap;             /* used, room */
    size_t n_open;                       /* files of which a block is open */
    size_t n_keeps;                      /* sources that keep their blocks */
    struct sto_merge__member *group;     /* sources of the row given last, oldest first; room for n_srcs */
    size_t n_group;                      /* used */
    size_t n_read;                       /* of them: their cells are in use */
    struct sto_cells *bufs;              /* by place in group: cells read from memstores; owned */
    struct sto_cells *pieces;            /* by place in group: cells within from..to, borrowed */
    struct sto_merge_src *parts;         /* what sto_merge_cells gets; room for 2 * n_srcs */
    struct sto_tomb *hour_tombs;         /* tombstones of the hour at hand, by what they delete from; owned */
    size_t n_hour_tombs, cap_hour_tombs; /* used, room */
    struct sto_merge__del *dels;         /* tombstones of the hour at hand; room for n_srcs */
    size_t n_dels;                       /* used */
    struct sto_cells out;                /* merged cells */
    struct sto_cells view;               /* part of borrowed cells */
    struct sto_merge_counts counts;      /* so far */
    struct sto_mem **own;                /* memstores that go with it; owned */
    size_t n_own;                        /* length */
};

/* Tombstones in the hour at hand that delete from the same members of the group. */
struct sto_merge__del {
    size_t at, n; /* in hour_tombs */
    size_t older; /* so many members, from the oldest */
};

/* --- merge_src.c --- */
/** Fill m->srcs: which files and memstores take part, in order of generation. */
int sto_merge__srcs_init(struct sto_merge *m, struct sto_sst *const *ssts, size_t n_ssts,
                         struct sto_mem *const *mems, size_t n_mems, struct ts_error *err);
/** Let the file that is wanted last close its block, see struct sto_sst_share; arg: the merge. */
bool sto_merge__make_room(void *arg, const struct sto_sst_cur *cur);
/** Count n_bytes; while they are refused, files close their blocks. 0, TS_ELIMIT. */
int sto_merge__take(struct sto_merge *m, uint64_t n_bytes, struct ts_error *err);
/** Close all sources. */
void sto_merge__srcs_release(struct sto_merge *m);
/** Has a file rows of a series? 1, 0, < 0. */
int sto_merge__has(struct sto_merge__src *src, uint32_t series, struct ts_error *err);
/** Stand on the first row of a series at or after key->hour and not after hour_hi. 1, 0 = there is none, < 0.
 */
int sto_merge__find(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t hour_hi, struct ts_error *err);
/** The file has no more rows of the series at hand: unless it keeps its block it lets go of it, so that the memory of a scan does not
 * depend on the number of files. */
void sto_merge__rest(struct sto_merge *m, struct sto_merge__src *src);
/** Stand on the next row of the same series, not after hour_hi. 1, 0, < 0. */
int sto_merge__find_next(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_hi,
                         struct ts_error *err);
/** All rows: stand on the first one after spec.after, or the next one, with hour_lo <= hour <= hour_hi.
 *  1, 0, < 0. */
int sto_merge__walk(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi,
                    struct ts_error *err);
/** Key of the row a file stands on. */
const struct sto_key *sto_merge__key(const struct sto_merge__src *src);
/** Its cells; TS_ECORRUPT if there is a summary but no row. */
int sto_merge__cells(struct sto_merge *m, struct sto_merge__src *src, const struct sto_cells **out_cells,
                     struct ts_error *err);
/** Rows of a memstore within hour_lo..hour_hi into src->refs, in key order. */
void sto_merge__collect(struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi);

/* --- merge_tomb.c --- */
/** Which sources have tombstones. */
void sto_merge__tombs_init(struct sto_merge *m);
/** Free what tombstones took. */
void sto_merge__tombs_release(struct sto_merge *m);
/** Collect the tombstones that touch a row and are newer than at least one member of the group. Sets m->dels.
 */
void sto_merge__tombs_at(struct sto_merge *m, const struct sto_key *key);

#endif
