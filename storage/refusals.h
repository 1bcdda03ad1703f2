/*
 * refusals.h - the rows that a remote store has refused for good: the newest ones, each once, with the reason.
 *
 * Such a row stays here, is sent again when its hour changes or after a start, and stops nothing else. Memory is bounded, so the oldest
 * entries go.
 *
 * Threads    any
 */
#ifndef STORAGE_REFUSALS_H
#define STORAGE_REFUSALS_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_REFUSALS_MAX       100
#define STO_REFUSALS_WHY_BYTES 200 /* of a reason, with the zero at its end; longer ones are cut */

/* A row that was refused. */
struct sto_refused_row {
    uint32_t series; /* its number */
    int32_t hour;    /* since 1970 */
    int64_t at_ms;   /* wall clock: when it was last refused */
    uint64_t n;      /* how often it was, since the start or since it came back into the list */
    char why[STO_REFUSALS_WHY_BYTES];
};
/* The list. */
struct sto_refusals {
    pthread_mutex_t mu;
    size_t n;
    struct sto_refused_row rows[STO_REFUSALS_MAX]; /* by at_ms, the newest last; under mu */
};
/** An empty list. */
void sto_refusals_init(struct sto_refusals *list);
/** Nobody uses it any more. */
void sto_refusals_release(struct sto_refusals *list);
/** A row was refused now. O(STO_REFUSALS_MAX). */
void sto_refusals_note(struct sto_refusals *list, uint32_t series, int32_t hour, int64_t at_ms,
                       const struct ts_error *why);
/** Copy the newest rows, the newest first, at most max of them. Returns how many. */
size_t sto_refusals_copy(struct sto_refusals *list, struct sto_refused_row *out, size_t max);

#endif
