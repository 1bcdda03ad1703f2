/*
 * pick_int.h - internals of picking: runs of files by window, the runs that overlap a range of time, and the
 * choice.
 *
 * Threads    pure functions on a picker that belongs to one thread
 */
#ifndef STORAGE_ENGINE_MERGE_PICK_INT_H
#define STORAGE_ENGINE_MERGE_PICK_INT_H

#include "storage/engine/merge/partition.h"

/* Files of one window, written by one flush or merge. */
struct sto_pick__run {
    struct sto_window w; /* STO_WINDOW_ALL: its index counts groups of runs that overlap */
    uint64_t gen_lo, gen_hi, bytes;
    int64_t lo, hi;  /* ms of the first and last point */
    size_t at, n;    /* its files, in picker.order */
    bool in;         /* chosen */
    bool skip;       /* its window is skipped */
    bool seen;       /* visited, for rules that visit a group in parts */
    bool known;      /* around is set */
    uint64_t around; /* bytes of runs of its level and below in its windows of the grid */
};

/* Runs lo <= i < hi, all of one window, ascending by generation. */
struct sto_pick__group {
    size_t lo, hi;
};

struct sto_pick__picker {
    const struct sto_sst_info *files;
    const struct sto_pick_opts *opts;
    size_t *order;              /* files with points, sorted by run; owned */
    struct sto_pick__run *runs; /* by window and generation; owned */
    size_t n_runs;
    size_t level_at[STO_WINDOW_LEVELS + 1]; /* first run of each level; the last one ends them */
    size_t *tombs;                          /* files that hold only tombstones, by generation; owned */
    size_t n_tombs;
    uint64_t tomb_gen;   /* highest generation of a tombstone; 0 = there is none */
    uint64_t newest_gen; /* highest generation of a file */
    uint64_t n_looked;
    uint8_t known_levels; /* arguments of the last sum for a run; 0 = none yet, */
    int64_t known_lo, known_hi;
    uint64_t known_bytes; /* and its result */
    /* the choice */
    size_t *chosen; /* its runs, in the order in which they were chosen; owned */
    size_t n_in;    /* their number */
    uint64_t gen_lo, gen_hi, bytes;
    int64_t lo, hi;
};

/* Iterates over runs that overlap a range of time, level by level. Begin with {.p, .lo, .hi, .levels}. */
struct sto_pick__near {
    struct sto_pick__picker *p;
    int64_t lo, hi; /* ms */
    uint8_t levels; /* visit only levels below this one */
    uint8_t level;  /* the present level */
    bool inside;    /* i is set */
    size_t i;
};

/* Where a merge cuts what it writes. */
enum sto_pick__cuts { STO_PICK__CUT_NOT, STO_PICK__CUT_BELOW, STO_PICK__CUT_BORDERS };

/** Sort the files into runs; everything is borrowed. */
void sto_pick__init(struct sto_pick__picker *p, const struct sto_sst_info *files, size_t n,
                    const struct sto_pick_opts *opts);
/** Free what the picker owns; call it once. */
void sto_pick__release(struct sto_pick__picker *p);
/** Order of windows: by level, then by time. */
int sto_pick__cmp_window(struct sto_window a, struct sto_window b);
/** Is the window to be skipped? */
bool sto_pick__is_skipped(const struct sto_pick__picker *p, struct sto_window w);
/** The group that begins at g->hi; false at the end of the level. */
bool sto_pick__next_group(const struct sto_pick__picker *p, uint8_t level, struct sto_pick__group *g);
/** The next run that overlaps the range; NULL at the end. */
struct sto_pick__run *sto_pick__near(struct sto_pick__near *it);
/** Empty the choice. */
void sto_pick__clear(struct sto_pick__picker *p);
/** Add a run to the choice. */
void sto_pick__choose(struct sto_pick__picker *p, struct sto_pick__run *r);
/** Choose runs lo <= i < hi and no others. */
void sto_pick__choose_only(struct sto_pick__picker *p, size_t lo, size_t hi);
/** A run that prevents the merge of the choice: it overlaps it, and its generations are neither all below nor
 * all above those of the choice. NULL: there is none. */
struct sto_pick__run *sto_pick__in_the_way(struct sto_pick__picker *p);
/** Add runs that would prevent the merge; false: the choice would exceed max_bytes, or have too many
 * files. */
bool sto_pick__close(struct sto_pick__picker *p, uint64_t max_bytes);
/** The highest generation that the result of the choice may claim: that of the newest tombstone, unless
 * something newer than the choice overlaps it. The result applies all tombstones up to the generation
 * that it claims. *out_final: nothing older overlaps it. */
uint64_t sto_pick__raised_gen(struct sto_pick__picker *p, bool *out_final);
/** Bytes of runs below a level that overlap lo..hi (ms); remembers the last sum, which neighbours need too. */
uint64_t sto_pick__bytes_around(struct sto_pick__picker *p, uint8_t levels, int64_t lo, int64_t hi);
/** A run of which much was deleted, by itself: nothing can be in the way of that. false: there is none, or a
 * join comes anyway. */
bool sto_pick__worn(struct sto_pick__picker *p, struct sto_pick *out);
/** A run of which much has expired, by itself. It waits for no join, since its space was to be free by now. false: there is none. */
bool sto_pick__expired(struct sto_pick__picker *p, struct sto_pick *out);
/** A run of opts->range that has another level, by itself. */
bool sto_pick__level(struct sto_pick__picker *p, struct sto_pick *out);
/** Files of tombstones that are done, or enough of them for a merge. */
bool sto_pick__tombs(struct sto_pick__picker *p, struct sto_pick *out);
/** Make the choice the answer; w is the window that names it and along which it is cut. */
void sto_pick__take(struct sto_pick__picker *p, enum sto_pick_why why, struct sto_window w,
                    enum sto_pick__cuts cuts, struct sto_pick *out);

#endif
