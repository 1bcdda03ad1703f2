/*
 * notes.h - annotations that the remote store has of the series of a query, on their way from a fetch to the caller of the run.
 *
 * A query that reads points of the remote store reads the annotations in the same rows. What they are for, the caller knows (tsd/meta).
 *
 * Threads    a collection belongs to one fetch
 */
#ifndef QUERY_NOTES_H
#define QUERY_NOTES_H

#include "base/budget.h"
#include "base/buf.h"
#include "storage/store.h"

/* An annotation as it was read. */
struct qry_note {
    const struct sto_series *series; /* NULL: global */
    int64_t start_ms;
    struct ts_slice record; /* as in struct sto_remote_note */
    size_t order;           /* private: grows in the order of arrival */
};
/* Annotations of one fetch. {.memory = account} is empty. */
struct qry_notes {
    struct qry_note *list; /* n of them */
    size_t n, cap;
    struct ts_buf texts; /* private: records */
    struct ts_budget *memory;
};
/** Add a copy of one. TS_ELIMIT, TS_ENOMEM. */
int qry_notes_add(struct qry_notes *notes, const struct sto_series *s, int64_t start_ms,
                  struct ts_slice record, struct ts_error *err);
/** Sort by number of the series and start, and remove all but the first of those with the same ones. Records are
 * valid from now until the next change. */
void qry_notes_sort(struct qry_notes *notes);
/** Remove all, and keep the memory for others. */
void qry_notes_clear(struct qry_notes *notes);
/** Free everything; idempotent. */
void qry_notes_release(struct qry_notes *notes);

/* What a fetch has read. */
struct qry_notes_read {
    const struct sto_series *const
        *series; /* all annotations of these series, n of them ascending by number */
    size_t n;
    int64_t from_ms, to_ms;        /* that start in from <= t <= to */
    const struct qry_notes *notes; /* are these, sorted */
    uint64_t stamp;                /* what `before` returned before the fetch */
};
/* Receives annotations; its functions may be called by several threads at the same time. */
struct qry_note_taker {
    uint64_t (*before)(void *arg);
    /* Everything is borrowed until return; it may call the remote store. */
    int (*read)(void *arg, const struct qry_notes_read *read, struct ts_error *err);
    void *arg; /* argument of both */
};

#endif
