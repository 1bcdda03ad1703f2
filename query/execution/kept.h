/*
 * kept.h - lets kept totals (storage/total.h) answer the hours of a plan in which they are exact.
 *
 * A total helps if the query neither selects nor groups by one of the keys that it sums over, and its aggregator needs nothing of a group of series but how
 * many points there are, their sum, and the smallest and the largest. Then all series of a group belong to the same output. The other hours are read as
 * without it, in a few gaps of time.
 *
 * Threads    one thread
 * Not here   which hours are exact (storage/engine/total_read.h)
 */
#ifndef QUERY_EXECUTION_KEPT_H
#define QUERY_EXECUTION_KEPT_H

#include "query/execution/plan.h"
#include "storage/total_scan.h"

#define QRY_GAPS 8 /* most gaps */

/* Time that no total answers: from <= t < to. */
struct qry_gap {
    int64_t from_ms, to_ms;
};

struct qry_kept {
    struct qry_plan *plan;        /* borrowed */
    struct qry_budget *budget;    /* limits of the run; borrowed */
    struct sto_total_scan *scan;  /* NULL: no total helps; owned */
    struct sto_total_ids total;   /* that total */
    struct qry_gap gap[QRY_GAPS]; /* what is to be read by series, ascending */
    size_t n_gaps;
    int64_t n_hours; /* hours that the total answers */
    bool sums_only;  /* counts and sums suffice */
    uint32_t
        *slots; /* with filters: groups that have selected series; open addressing, position + 1; counted */
    size_t n_slots; /* a power of two, or 0: all are selected */
};

/**
 * Find the total that helps a plan whose range and whole hours are set, and the hours that it answers. Without one, or if it answers none, the only gap is the
 * range of the scan.
 *
 * @param ops  of the aggregator of all points of an output; also of those that downsample
 * @return 0; TS_ELIMIT, TS_ENOMEM, and errors of reading sets of series of files. out is to be released in any case
 */
int qry_kept_begin(struct qry_plan *p, struct sto_snap *snap, struct qry_budget *budget,
                   const struct qry_acc_ops *ops, struct qry_kept *out, struct ts_error *err);
/** Refuse a plan whose gaps would read more bytes of files than the limit allows; errors as for qry_budget_scan. */
int qry_kept_afford(const struct qry_kept *k, struct sto_snap *snap, struct ts_error *err);
/** The scan of gap i. */
struct sto_scan_spec qry_kept_scan(const struct qry_kept *k, size_t i);
/** Let a reading of the plan read gap i. */
void qry_kept_cut(const struct qry_kept *k, size_t i, struct qry_reading *rd);
/** Called for a row of a total, of one hour or a run of several: the group of the plan, and what the group has in them. The series of the row's keys mean nothing. */
typedef int (*qry_kept_fn)(void *arg, uint32_t group, const struct sto_row *row, struct ts_error *err);
/**
 * Read the hours that the total answers.
 *
 * @return 1; 0: it cannot be read, so that what was reported is to be forgotten, and the only gap is the range of the scan; < 0: errors of each, limits,
 *         TS_EBUSY
 */
int qry_kept_read(struct qry_kept *k, qry_kept_fn each, void *arg, struct ts_error *err);
/** Release; idempotent, also for {0}. */
void qry_kept_release(struct qry_kept *k);

#endif
