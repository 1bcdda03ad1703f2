/*
 * sort.h - sorts arrays whose length comes from outside: a sort can be cancelled, and its memory is counted.
 *
 * Threads    any
 */
#ifndef QUERY_SORT_H
#define QUERY_SORT_H

#include "query/limit.h"

/**
 * Sort n items of size bytes.
 *
 * @param cmp  as for qsort_r; must order all items that differ (the sort is not stable)
 * @param arg  for cmp
 * @return 0
 *         TS_ELIMIT, TS_ENOMEM   no memory for a copy of the array, needed from QRY_SORT_RUN items on
 *         TS_ECANCELLED, ...     as qry_budget_look
 *         After an error the array holds all its items in some order.
 *
 * Cost:   O(n log n); checks the limits after each QRY_SORT_RUN items of a pass
 */
int qry_sort(void *items, size_t n, size_t size, int (*cmp)(const void *a, const void *b, void *arg),
             void *arg, struct qry_budget *budget, struct ts_error *err);

#define QRY_SORT_RUN 16384 /* items between two checks: a few milliseconds */

#endif
