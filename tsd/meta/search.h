/*
 * search.h - search for series, names and annotations by their metadata.
 *
 * A query consists of words separated by blanks, all of which must match:
 *
 *   web          some field contains it, whatever its case       web*          some field matches it (* and
 *   ?)
 *   place:berlin the field contains it                           place:b?rlin  the field is like it
 *   name=web01   the field is exactly it                         name:/^web/   a regular expression (/i at
 *   the end: any case)
 *   "a b"        quotes keep blanks                              *             everything
 *
 * Fields are the members of the answer; free text fields go by their own name, tags of a series by their key.
 *
 * Threads    a search belongs to one thread
 */
#ifndef TSD_META_SEARCH_H
#define TSD_META_SEARCH_H

#include "query/ids.h"
#include "tsd/meta/fields.h"

/* --- queries --- */
struct tsd_terms;
/** Read a query. TS_EINVAL with text. Owned by the caller. */
int tsd_terms_new(struct ts_slice query, struct tsd_terms **out, struct ts_error *err);
/** NULL is harmless. */
void tsd_terms_free(struct tsd_terms *terms);

/* What a query is matched with: names and values of fields. */
struct tsd_doc {
    struct qry_param *fields; /* owned; slices borrowed */
    size_t n, cap;            /* used, allocated */
};
/** Add a field. */
void tsd_doc_add(struct tsd_doc *doc, struct ts_slice name, struct ts_slice value);
/** Add all fields of a record; members of maps by their own names. Texts live in the arena. */
void tsd_doc_record(struct tsd_doc *doc, const struct tsd_record *r, struct ts_arena *arena);
/** Do all words of the query match? 1; 0; TS_ELIMIT: a regular expression takes too long, so it is not known. */
int tsd_terms_match(const struct tsd_terms *terms, const struct tsd_doc *doc, struct ts_error *err);
/** Steps of all regular expressions so far (ts_regex_steps). */
uint64_t tsd_terms_steps(const struct tsd_terms *terms);

/* --- searches --- */
/* A hit; which members are set depends on the search. */
struct tsd_hit {
    const struct sto_series *series; /* of a series */
    const struct tsd_record *record; /* its metadata; NULL = there is none */
};
/* Gets a hit; false to stop. */
typedef bool (*tsd_hit_fn)(void *arg, const struct tsd_hit *hit);
/** Visit all series, names or annotations of this store and report those that match, with the ids that clients see. limit may be NULL; TS_ECANCELLED,
 * TS_ETIMEOUT; errors of query/ids.h.
 * Cost: about a microsecond for each series, name or annotation. */
int tsd_search_series(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                      struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err);
int tsd_search_names(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                     struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err);
/** The same for deleted names only. */
int tsd_search_deleted(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                       struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err);
int tsd_search_notes(struct qry_view *view, struct sto_store *st, const struct tsd_terms *terms,
                     struct qry_limit *limit, tsd_hit_fn each, void *arg, struct ts_error *err);

#endif
