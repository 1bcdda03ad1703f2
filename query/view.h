/*
 * view.h - the names and series that a query sees: those of the catalog, and those that only the remote store has.
 *
 * Without a remote store a view is the catalog. With one, a request looks up in the remote store what the catalog
 * lacks, and which series of a metric match its filters (qry_view_add). What is found there and unknown here gets
 * ids and numbers from STO_FOREIGN on, which are valid in this view only: nothing enters the catalog. All runs of
 * one request share a view, so an id means the same in all of them.
 *
 *   qry_view_open -> qry_view_find, qry_view_add ... -> a snapshot is read -> qry_view_close
 *
 * Ids        names and series found by one call of qry_view_add get ascending ids in the order of their bytes,
 *            so answers do not depend on the order in which the remote store reports series
 * Memory     counted in the account of the request; series also against query_max_series
 * Errors     those of storage/remote.h: TS_EBACKEND, TS_ETIMEOUT, TS_ECANCELLED; TS_EBUSY in a thread that must
 *            not wait (ts_fs_set_nowait): run the query again in another one. Texts name the remote store
 * Threads    one thread opens a view and adds to it; afterwards any thread may read it
 */
#ifndef QUERY_VIEW_H
#define QUERY_VIEW_H

#include "query/limit.h"
#include "query/notes.h"
#include "storage/remote.h"
#include "storage/store.h"

#define QRY_VIEW_MAX_TAGS UINT8_MAX /* a series has no more */

/* Names of one kind that the catalog does not have; the id of names[i] is STO_FOREIGN + i. */
struct qry_view_names {
    struct ts_slice *names; /* copies; ascending within each call of qry_view_add */
    size_t n, cap;
    uint32_t *slots; /* open addressing: index + 1 */
    size_t n_slots;  /* a power of 2, at least twice n; or 0 */
};

/* Ids of the remote store for names of one kind (ids.h). */
struct qry_view_remote_ids {
    struct qry_view_remote_id {
        uint32_t id;     /* in the view; 0: the slot is free */
        uint64_t remote; /* there; 0: the name can have none */
    } * slots;           /* open addressing */
    size_t n, n_slots;   /* n_slots is a power of 2, at least twice n; or 0 */
};

struct qry_view {
    struct sto_catalog *cat;
    struct sto_store *store;   /* NULL: only the catalog is known */
    struct sto_remote *remote; /* NULL: there is none, and all members below are unused */
    int64_t complete_from_ms;  /* from this time on the catalog has all series (sto_complete_from) */
    struct qry_limit *limit;   /* deadline and cancellation of calls; NULL: none */
    struct ts_budget *memory;  /* account */
    struct ts_arena arena;     /* copies of names, and series */
    struct qry_view_names names[STO_UID_KINDS];
    const struct sto_series **series; /* the number of series[i] is STO_FOREIGN + i */
    size_t n_series, cap_series;
    uint32_t *slots; /* of series by their ids: index + 1 */
    size_t n_slots;
    struct qry_view_remote_ids ids[STO_UID_KINDS];
    const struct qry_note_taker
        *notes; /* borrowed; those of the spec (qry_view_use). NULL: annotations are not read */
};

/** Open a view on a store. limit (NULL: none) must outlive it. */
void qry_view_open(struct qry_view *view, struct sto_store *st, struct qry_limit *limit);
/** Open a view for a run of a spec that has none: *copy becomes the spec with the view. Returns the spec of the run;
 * the caller calls qry_view_unuse with it. */
const struct qry_spec *qry_view_use(struct qry_view *view, struct sto_store *st, struct qry_limit *limit,
                                    const struct qry_spec *spec, struct qry_spec *copy);
/** Close the view if qry_view_use has opened it. */
void qry_view_unuse(struct qry_view *view, const struct qry_spec *spec);
/** A view of a catalog alone, as if there were no remote store; it need not be closed. */
static inline struct qry_view qry_view_of(struct sto_catalog *cat)
{
    return (struct qry_view){.cat = cat};
}
/** Release everything that was found. Idempotent. */
void qry_view_close(struct qry_view *view);

/** The name of an id; {NULL, 0} if there is none. It stays valid while the view is open. */
static inline struct ts_slice qry_view_name(const struct qry_view *view, enum sto_uid_kind kind, uint32_t id)
{
    if (id < STO_FOREIGN)
        return sto_uid_name(view->cat, kind, id);
    const struct qry_view_names *foreign = &view->names[kind];
    return id - STO_FOREIGN < foreign->n ? foreign->names[id - STO_FOREIGN] : (struct ts_slice){NULL, 0};
}
/** The series with a number; NULL if there is none. */
static inline const struct sto_series *qry_view_series(const struct qry_view *view, uint32_t id)
{
    if (id < STO_FOREIGN)
        return sto_series_get(view->cat, id);
    return id - STO_FOREIGN < view->n_series ? view->series[id - STO_FOREIGN] : NULL;
}
/** Does the catalog lack this series, so that its number and the ids of its names mean nothing elsewhere? */
static inline bool qry_series_foreign(const struct sto_series *s)
{
    return s->id >= STO_FOREIGN;
}
/** The id of a name among those of the catalog and those found so far. 0, TS_ENOTFOUND. */
int qry_view_known(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name,
                   uint32_t *out_id);
/** The id of a name; one that is not known yet is looked up in the remote store. 0; TS_ENOTFOUND, without a
 * text; errors as above. */
int qry_view_find(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                  struct ts_error *err);
/** The series of these ids, sorted by key id, among those of the catalog and those found so far. 0,
 * TS_ENOTFOUND. */
int qry_view_find_ids(const struct qry_view *view, uint32_t metric, const struct sto_tag *tags, size_t n_tags,
                      const struct sto_series **out);

/* A condition on a tag. A series without the key does not match, negated or not. */
struct qry_view_cond {
    struct ts_slice tagk;
    const struct ts_slice *values; /* values that match; NULL: see match */
    size_t n_values;
    bool negate; /* with values: match if the value is not listed */
    /* if values is NULL; NULL: any value matches */
    bool (*match)(void *arg, struct ts_slice value);
    void *arg;
};
/* What qry_view_add looks for. Everything is borrowed until return. */
struct qry_view_ask {
    struct ts_slice metric;
    struct ts_slice shown; /* if not empty: add instead the series of this metric that have the same tags */
    const struct qry_view_cond *conds; /* a series must match all of them */
    size_t n_conds;
    bool explicit_keys;     /* only series whose keys are exactly those of the conditions */
    int64_t from_ms, to_ms; /* only series that may have points from <= t <= to */
    /* Series that the catalog lacks are of no use if the catalog has all series that have points from this time on (with
     * hbase_sole_writer): then the remote store is not read. STO_MIN_TS_MS: it always is */
    int64_t useful_from_ms;
};
/**
 * Find the series of the remote store that match, and add their numbers to a set. Does nothing without a remote
 * store. A series that the catalog has is added by its number there, which is of use only if it was created after
 * the caller selected from the catalog.
 *
 * @return 0; TS_ELIMIT: query_max_series or the account (query_max_bytes) refuses; errors as above
 *
 * Blocks: one call of the remote store, which reads keys alone.
 */
int qry_view_add(struct qry_view *view, const struct qry_view_ask *ask, struct qry_budget *budget,
                 roaring_bitmap_t *set, struct ts_error *err);
/* Which buckets or rollups are looked for. Everything is borrowed until return. */
struct qry_view_buckets {
    struct ts_slice metric;                 /* the visible metric; of rollups the internal one */
    const struct sto_series *const *series; /* n_series of it */
    size_t n_series;
    int64_t from_ms, to_ms; /* of the histograms or rollups, inclusive */
    int64_t useful_from_ms; /* as in struct qry_view_ask */
};
/** Find the buckets that histograms of these series have in the remote store: their internal metrics and series are known to the view then. Does
 * nothing without a remote store. Errors as qry_view_add. Blocks: reads the histograms, some hundred series a call. */
int qry_view_add_buckets(struct qry_view *view, const struct qry_view_buckets *ask, struct qry_budget *budget,
                         struct ts_error *err);
/** Find which of these series have rollups of an internal metric in the remote store: its name and their internal series are known to the view then. Errors and
 * cost as qry_view_add_buckets, but one call for all series. */
int qry_view_add_rollups(struct qry_view *view, const struct qry_view_buckets *ask, struct qry_budget *budget,
                         struct ts_error *err);
/** Report the names that begin with prefix among those of the catalog and those found so far, each once, in no particular order. */
void qry_view_known_names(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice prefix,
                          void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg);
/** Report the names that begin with prefix, at most max of the catalog and max of the remote store, each once, in
 * no particular order; each NULL: those of the remote store only enter the view. */
int qry_view_suggest(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg,
                     struct ts_error *err);
/** Does the request read the remote store? Not if there is none, nor after it has failed and the request continues
 * without it. */
static inline bool qry_view_remote(const struct qry_view *view)
{
    return view->remote && !(view->limit && qry_limit_incomplete(view->limit));
}
/** Deadline and cancellation of the request, in the form that the remote store takes. */
struct sto_remote_call qry_view_call(const struct qry_view *view);
/** The names of a foreign series, for the remote store; tags has space for QRY_VIEW_MAX_TAGS. */
void qry_view_names_of(const struct qry_view *view, const struct sto_series *s, struct sto_remote_tag *tags,
                       struct sto_remote_series *out);
/** The remote store has failed with rc: 0 if the request continues without it (allow_partial of its limit); otherwise an error
 * whose text names the store: TS_EBACKEND also where the store, not the request, ran out of time. */
int qry_view_failed(const struct qry_view *view, int rc, struct ts_error *err);

#endif
