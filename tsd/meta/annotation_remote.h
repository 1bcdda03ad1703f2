/*
 * annotation_remote.h - brings annotations that a remote store has into the small cells here, which answer.
 *
 * With a remote store, other programs write annotations too. A query reads those of its series together with their points, and
 * corrects the cells here by what it finds; other requests fetch them first. Annotations of a series that only the remote store has
 * cannot be kept here, because its TSUID means nothing in the catalog: they live as long as the request.
 *
 * Threads    see the functions
 * Not here   what happens to a cell (storage/cells_shared.h)
 */
#ifndef TSD_META_ANNOTATION_REMOTE_H
#define TSD_META_ANNOTATION_REMOTE_H

#include "query/notes.h"
#include "tsd/meta/annotation.h"

#include <pthread.h>

/* Annotations of one request. */
struct tsd_notes_fetched {
    struct qry_note_taker taker; /* for qry_spec.notes */
    struct sto_store *store;     /* borrowed */
    pthread_mutex_t mu;          /* foreign */
    struct qry_notes
        foreign;    /* of series that the catalog lacks; numbers are those of the view of the request */
    bool is_sorted; /* foreign is */
};
/** Begin; memory (may be NULL) is the account of the request. */
void tsd_notes_fetched_init(struct tsd_notes_fetched *f, struct sto_store *st, struct ts_budget *memory);
/** Free everything. */
void tsd_notes_fetched_release(struct tsd_notes_fetched *f);
/** Annotations of a series that the catalog lacks, which begin in from_ms..to_ms, in order of time; their TSUIDs are made of the ids of the view of
 * the query. Call it after the points of the series were read; any thread. */
void tsd_notes_fetched_each(struct tsd_notes_fetched *f, const struct sto_series *s, int64_t from_ms,
                            int64_t to_ms, tsd_note_fn each, void *arg);

/**
 * Fetch the annotations of a series (plain TSUID; "" = global) that begin in from_ms..to_ms, and correct those here.
 *
 * @param must    an error if the remote store does not answer; otherwise what is here stays
 * @param cancel  ends it; may be NULL
 * @return 0, also without a remote store; TS_EBACKEND; TS_EBUSY in a thread that must not wait; TS_ECANCELLED
 *
 * Blocks: one call of the remote store, at most for STO_SHARED_WRITE_MS.
 */
int tsd_notes_fetch(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms, bool must,
                    const _Atomic bool *cancel, struct ts_error *err);

#endif
