/*
 * cellset.h - states of an aggregator for cells of totals, (group, cell of time), held for those that have points.
 *
 * States of 32 neighbouring cells of a group lie packed in one page, which grows with the cells used: a series of one point
 * costs one state and about 50 bytes. Pages are found by a hash table; after reading they are joined and sorted by time.
 *
 * Threads    one thread each
 */
#ifndef QUERY_EXECUTION_CELLSET_H
#define QUERY_EXECUTION_CELLSET_H

#include "query/aggregators/agg.h"
#include "query/limit.h"

#define QRY_PAGE_CELLS 32 /* cells of time in a page, a bit each in used */

/* States of one group in some neighbouring cells of time. Read by callers, changed by cellset.c alone. */
struct qry_page {
    uint32_t group; /* index in the plan */
    uint32_t no;    /* its first cell is no * QRY_PAGE_CELLS */
    uint32_t used;  /* a bit a cell: it has points */
    uint32_t cap;   /* states that fit */
    _Alignas(16) unsigned char states[];
};
struct qry_cellset {
    const struct qry_acc_ops *ops; /* of the states */
    struct qry_budget *budget;     /* limits; counts the memory */
    struct qry_page **slots;       /* open addressing; sorted array of n pages after qry_cellset_sort */
    size_t n_slots;                /* a power of 2, or 0 */
    size_t n;                      /* pages */
    size_t last;                   /* slot that was used last */
};
/** Empty set; takes no memory yet. */
void qry_cellset_init(struct qry_cellset *s, const struct qry_acc_ops *ops, struct qry_budget *budget);
/** Free all states. Idempotent, also without init. */
void qry_cellset_release(struct qry_cellset *s);
/** State of a cell, empty if it is new; valid until the next call. NULL: TS_ELIMIT, TS_ENOMEM in err. O(1). */
void *qry_cellset_state(struct qry_cellset *s, uint32_t group, size_t cell, struct ts_error *err);
/** Add all states of a set; its values come after. from is empty then. TS_ELIMIT, TS_ENOMEM, errors of qry_budget_look. */
int qry_cellset_join(struct qry_cellset *s, struct qry_cellset *from, struct ts_error *err);
/**
 * Sort the pages by time, then by place[group]: s->slots[0 .. n-1]. The set takes no more states after it.
 *
 * @param place  [groups] place of each group in the order wanted
 * @return 0, or an error of qry_budget_look
 */
int qry_cellset_sort(struct qry_cellset *s, const uint32_t *place, struct ts_error *err);
/** State of cell k (< QRY_PAGE_CELLS) of a page; NULL: it has no points. */
static inline const void *qry_page_state(const struct qry_page *p, unsigned k, size_t state_bytes)
{
    if (!(p->used >> k & 1))
        return NULL;
    return p->states + (size_t)__builtin_popcount(p->used & ((1u << k) - 1)) * state_bytes;
}

#endif
