/*
 * annotation.h - annotations of a time, on one series or global.
 *
 * An annotation is a record (fields.h) identified by its series (empty = global) and its start time.
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * Threads    any; storing may block
 * Source     docs/OPENTSDB.md, section 2.10
 */
#ifndef TSD_META_ANNOTATION_H
#define TSD_META_ANNOTATION_H

#include "query/ids.h"
#include "tsd/meta/fields.h"

/* Rows of tsd_note_fields. */
enum tsd_note_field {
    TSD_NOTE_TSUID, /* upper-case hex; "" = global */
    TSD_NOTE_DESCRIPTION,
    TSD_NOTE_NOTES,
    TSD_NOTE_CUSTOM,
    TSD_NOTE_START, /* seconds, or milliseconds from 2^32 on */
    TSD_NOTE_END,   /* likewise; 0 = none */
};
extern const struct tsd_field tsd_note_fields[];

/** Milliseconds of a time in the form stored in annotations. */
int64_t tsd_note_ms(int64_t t);
/** An annotation from a JSON object of a client, whose TSUID becomes that of the catalog (qry_ids_local). TS_EINVAL "Missing start time" and
 * others. */
int tsd_note_from_json(const json_t *obj, struct qry_view *view, struct ts_arena *arena,
                       struct tsd_record *out, struct ts_error *err);
/** The same from request parameters (times in any form, cut to seconds). strict: compat = opentsdb. */
int tsd_note_from_params(const struct qry_param *params, size_t n, int64_t now_ms, bool strict,
                         struct qry_view *view, struct ts_arena *arena, struct tsd_record *out,
                         struct ts_error *err);

/** The stored annotation with the series and start of `which`; TS_ENOTFOUND with text. Blocks: asks a remote store first. */
int tsd_note_load(struct sto_store *st, const struct tsd_record *which, struct ts_arena *arena,
                  struct tsd_record *out, struct ts_error *err);
/** Set key to that of the small cell of a note. */
void tsd_note_key(struct ts_slice tsuid, int64_t start_ms, struct ts_buf *key);
/** The series (plain TSUID; "" = global) and start in the key of a small cell. False: it is no key of a note. */
bool tsd_note_key_parse(struct ts_slice key, struct ts_slice *out_tsuid, int64_t *out_start_ms);
/** Merge into the stored annotation, or replace it: as tsd_record_store. */
int tsd_note_store(struct sto_store *st, const struct tsd_record *given, unsigned how, struct ts_arena *arena,
                   struct tsd_record *out, bool *out_changed, struct ts_error *err);
/** Delete the annotation with the series and start of `which`, if there is one. */
int tsd_note_delete(struct sto_store *st, const struct tsd_record *which, struct ts_error *err);

/* Receives one annotation; returns false to stop. */
typedef bool (*tsd_note_fn)(void *arg, const struct tsd_record *note);
/** Annotations of a series (plain TSUID; "" = global) that begin in from_ms..to_ms, in order of time. Cost: O(log of
 * all cells) if there are none. */
void tsd_notes_each(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms,
                    tsd_note_fn each, void *arg);
/** Call each(arg, key, value) for their cells, until it returns false; it may change them. */
void tsd_notes_cells(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms,
                     bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** The same for the cells of all notes: globals first, then by series. */
void tsd_notes_all_cells(struct sto_store *st,
                         bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** Give the note with this series and stored record to each, whose result is returned; true for one that cannot be read. */
bool tsd_note_visit(struct ts_slice tsuid, struct ts_slice record, tsd_note_fn each, void *arg);
/** All notes: globals first, then by series. */
void tsd_notes_all(struct sto_store *st, tsd_note_fn each, void *arg);
/** Call each(arg, tsuid) with the TSUID of each annotation that has one. */
void tsd_notes_tsuids(struct sto_store *st, void (*each)(void *arg, struct ts_slice tsuid), void *arg);
/** Delete the annotations that tsd_notes_each would find; adds their number to *n. */
int tsd_notes_delete(struct sto_store *st, struct ts_slice tsuid, int64_t from_ms, int64_t to_ms, uint64_t *n,
                     struct ts_error *err);
/** Is there any annotation of a series? If not, queries skip the search. */
bool tsd_notes_any(struct sto_store *st);

/* --- annotations in answers --- */

/** A note as an object, with the TSUID that clients see (qry_ids_shown); "" if it has none. 0; errors of query/ids.h. */
int tsd_note_json(struct qry_view *view, const struct tsd_record *note, struct ts_json *j,
                  struct ts_error *err);
struct tsd_notes_fetched; /* tsd/meta/annotation_remote.h */
/** The notes of the series behind s that begin in from_ms..to_ms, in order of time for each of its members. fetched (may be NULL) has those
 * of series that only the remote store has. Cost: a search in the cells for each series. */
void tsd_notes_members(struct sto_store *st, struct tsd_notes_fetched *fetched, const struct qry_series *s,
                       int64_t from_ms, int64_t to_ms, tsd_note_fn each, void *arg);
/** The same by time as the member "annotations"; nothing if there are none. 0; errors of query/ids.h. */
int tsd_notes_of_series(struct sto_store *st, struct tsd_notes_fetched *fetched, const struct qry_series *s,
                        int64_t from_ms, int64_t to_ms, struct qry_limit *limit, struct ts_json *j,
                        struct ts_error *err);
/** Global annotations that begin in from_ms..to_ms as the array of globalAnnotations; nothing if there are none. */
void tsd_notes_global(struct sto_store *st, int64_t from_ms, int64_t to_ms, struct ts_buf *out);

#endif
