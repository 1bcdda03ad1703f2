/*
 * cellset.h - aggregator states of the cells of totals, each a (group, time cell) pair; only cells with points have a state.
 *
 * A page holds the states of 32 neighbouring time cells of one group, without gaps, and grows with the cells used: a series with one
 * point costs one state and about 50 bytes. A hash table finds the pages; after reading they are merged and sorted by time.
 *
 * Threads    a set belongs to one thread at a time
 */
#ifndef QUERY_EXECUTION_CELLSET_H
#define QUERY_EXECUTION_CELLSET_H

#include "query/aggregators/agg.h"
#include "query/limit.h"

#define QRY_PAGE_CELLS 32 /* time cells of a page; each has a bit in used */

/* States of one group in neighbouring time cells. Callers may read it; only cellset.c changes it. */
struct qry_page {
    uint32_t group; /* index in the plan */
    uint32_t no;    /* its first cell is no * QRY_PAGE_CELLS */
    uint32_t used;  /* one bit per cell that has points */
    uint32_t cap;   /* capacity in states */
    _Alignas(16) unsigned char states[];
};
struct qry_cellset {
    const struct qry_acc_ops *ops; /* functions of the states */
    struct qry_budget *budget;     /* limits of the run; its account counts the memory */
    struct qry_page **slots;       /* open addressing; sorted array of n pages after qry_cellset_sort */
    size_t n_slots;                /* a power of 2, or 0 */
    size_t n;                      /* pages */
    size_t last;                   /* the most recently used slot */
};
/** Initialise an empty set; allocates nothing. */
void qry_cellset_init(struct qry_cellset *s, const struct qry_acc_ops *ops, struct qry_budget *budget);
/** Free all states. Idempotent; a zeroed set is allowed. */
void qry_cellset_release(struct qry_cellset *s);
/** Find the state of a cell or create an empty one; valid until the next call. NULL on error, with TS_ELIMIT
 * or TS_ENOMEM in err. Cost: O(1). */
void *qry_cellset_state(struct qry_cellset *s, uint32_t group, size_t cell, struct ts_error *err);
/** How many states that exist follow each other in memory from that of this cell on, each of the next cell; 0: it has none. Cost: as before. */
size_t qry_cellset_row(struct qry_cellset *s, uint32_t group, size_t cell, void **out_first);
/** Add all states of the set from, whose values are later, and empty it. TS_ELIMIT, TS_ENOMEM, errors of
 * qry_budget_look. */
int qry_cellset_join(struct qry_cellset *s, struct qry_cellset *from, struct ts_error *err);
/**
 * Sort the pages s->slots[0 .. n-1] by time, then by place[group]. No states can be added afterwards.
 *
 * @param place  [groups] position of each group in the desired order
 * @return 0, or an error of qry_budget_look
 */
int qry_cellset_sort(struct qry_cellset *s, const uint32_t *place, struct ts_error *err);
/** State of cell k (< QRY_PAGE_CELLS) of a page; NULL if the cell has no points. */
static inline const void *qry_page_state(const struct qry_page *p, unsigned k, size_t state_bytes)
{
    if (!(p->used >> k & 1))
        return NULL;
    return p->states + (size_t)__builtin_popcount(p->used & ((1u << k) - 1)) * state_bytes;
}

#endif
