/*
 * marks.h - ship marks: for each hour the highest generation that the remote store has received.
 *
 * Everything of the hour in generations up to its mark, deletes too, was shipped; a file with rows of the hour
 * holds generations on one side of the mark only (merges see to that). A mark is at most the generation up to
 * which all points are in files, so a crash cannot take back what a mark covers.
 *
 * Threads    a set of marks is immutable and shared (ref/unref)
 */
#ifndef STORAGE_ENGINE_MARKS_H
#define STORAGE_ENGINE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of hours with one mark. */
struct sto_mark {
    int32_t hour_lo, hour_hi; /* inclusive */
    uint64_t gen;             /* not 0 */
};
/* Marks, ascending and disjoint; hours between them were never shipped. {0} is empty. */
struct sto_mark_list {
    struct sto_mark *marks; /* owned; ts_free */
    size_t n;
};
/* A set of hours is such a list too; the generation of each of its marks is 1. */
/** Copy a list into new arrays, which the caller frees. False: there is no memory. */
bool sto_mark_list_copy(const struct sto_mark_list *list, struct sto_mark_list *out);
/** The mark of an hour; 0 = it was never shipped. O(log n). */
uint64_t sto_mark_of(const struct sto_mark_list *list, int32_t hour);
/** The lowest mark of the hours lo..hi, inclusive; 0 if one of them was never shipped. */
uint64_t sto_mark_lowest(const struct sto_mark_list *list, int32_t lo, int32_t hi);
/** Was everything up to a generation shipped, in all hours from lo_ms to hi_ms, inclusive? lo_ms > hi_ms: there are no hours, true. */
bool sto_mark_covers(const struct sto_mark_list *list, uint64_t gen, int64_t lo_ms, int64_t hi_ms);
/** The highest mark of all hours; 0 = nothing was ever shipped. */
uint64_t sto_mark_highest(const struct sto_mark_list *list);
/** The end of the hours from hour on that have the same mark; at most INT32_MAX. */
int32_t sto_mark_end(const struct sto_mark_list *list, int32_t hour);
/** A copy of list in which the hours lo..hi have the mark gen; the caller owns it. Neighbours with one mark are
 * joined. */
struct sto_mark_list sto_mark_list_with(const struct sto_mark_list *list, int32_t lo, int32_t hi,
                                        uint64_t gen);
/** Put next, whose marks it takes, in the place of a list, whose marks are freed. */
void sto_mark_list_replace(struct sto_mark_list *list, struct sto_mark_list next);
/** A copy of a list that leaves out the hours lo..hi; with lo = hi + 1 it leaves out nothing. */
struct sto_mark_list sto_mark_list_without(const struct sto_mark_list *list, int32_t lo, int32_t hi);
/** Reduce a set of hours to at most max ranges by adding the hours of the narrowest gaps. */
void sto_mark_list_coarsen(struct sto_mark_list *set, size_t max);
/** The same marks? */
bool sto_mark_list_same(const struct sto_mark_list *a, const struct sto_mark_list *b);
/** Are the marks in order, and none above max_gen? */
bool sto_mark_list_valid(const struct sto_mark_list *list, uint64_t max_gen);

/* Marks that versions share. */
struct sto_marks;
/** A copy of list with one reference. */
struct sto_marks *sto_marks_new(const struct sto_mark_list *list);
/** Add a reference; NULL is ignored. */
struct sto_marks *sto_marks_ref(struct sto_marks *m);
/** Remove a reference; the last one frees them. NULL is ignored. */
void sto_marks_unref(struct sto_marks *m);
/** Its marks; of NULL: none. Borrowed. */
const struct sto_mark_list *sto_marks_list(const struct sto_marks *m);

#endif
