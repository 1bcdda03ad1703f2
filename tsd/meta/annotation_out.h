/*
 * annotation_out.h - notes in answers: as an object, and those of a query's series.
 *
 * Threads    any
 * Source     protocols-and-queries 2.5 (annotations, globalAnnotations), 2.10
 */
#ifndef TSD_META_ANNOTATION_OUT_H
#define TSD_META_ANNOTATION_OUT_H

#include "tsd/meta/annotation.h"

/** A note as an object. */
void tsd_note_json(const struct tsd_record *note, struct ts_json *j);
/** The member "annotations": notes of the series behind s that begin in from_ms..to_ms, by time; nothing if
 * there are none. Cost: a search in the cells for each series. */
void tsd_notes_of_series(struct sto_store *st, const struct qry_series *s, int64_t from_ms, int64_t to_ms,
                         struct ts_json *j);
/** Global notes that begin in from_ms..to_ms as the array of globalAnnotations; nothing if there are none. */
void tsd_notes_global(struct sto_store *st, int64_t from_ms, int64_t to_ms, struct ts_buf *out);

#endif
