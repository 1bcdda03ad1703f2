/*
 * reference.h - what a store must answer: every operation kept, every question answered by looking at all of
 * them.
 *
 * Plain and slow on purpose; shares no code with the engine but the number type.
 * Threads    one thread at a time
 */
#ifndef TESTS_MODEL_REFERENCE_H
#define TESTS_MODEL_REFERENCE_H

#include "storage/point.h"

struct t_ref;

/* One point of an answer. */
struct t_ref_point {
    int64_t ts_ms;       /* time */
    struct ts_num value; /* after all adds */
    bool ms;             /* resolution of the newest write */
};

/** Reference without operations. */
struct t_ref *t_ref_new(void);
void t_ref_free(struct t_ref *ref); /* NULL is harmless */
/** Remember one operation; the order of calls is the order of writing. The series is remembered by its id. */
void t_ref_apply(struct t_ref *ref, const struct sto_point *p);
/** Place in the order of writing that the next operation gets. */
size_t t_ref_next(const struct t_ref *ref);
/** Take one operation back as if it had never been: the one of a series with this place in the order. Quick for
 * the last ones. */
void t_ref_undo(struct t_ref *ref, uint32_t series, size_t seq);
/** Points of a series in from..to (inclusive), in order of time. The array is the caller's (ts_free); returns
 * its length. O(operations of the series * deletes of it). */
size_t t_ref_scan(const struct t_ref *ref, uint32_t series, int64_t from_ms, int64_t to_ms,
                  struct t_ref_point **out_points);
/** Highest series id with operations + 1. */
uint32_t t_ref_n_series(const struct t_ref *ref);
/** Are two numbers the same: integers as integers, else the same double (bits). */
bool t_ref_same(struct ts_num a, struct ts_num b);
/** Is sum, whose offsets count from start_ms, the summary of these n points? */
bool t_ref_sums_up(const struct sto_summary *sum, int64_t start_ms, const struct t_ref_point *p, size_t n);
/** Are these points all integers, or all others, and is this their sum (struct sto_summary)? */
bool t_ref_adds_up(const struct t_ref_point *p, size_t n, bool is_int, __int128 sum);

#endif
