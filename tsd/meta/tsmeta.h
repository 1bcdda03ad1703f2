/*
 * tsmeta.h - metadata of a series, and what is computed from its points.
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * Threads    any; storing and counting points may block
 * Source     docs/OPENTSDB.md, section 2.19
 */
#ifndef TSD_META_TSMETA_H
#define TSD_META_TSMETA_H

#include "tsd/meta/fields.h"

/* Rows of tsd_tsmeta_fields. */
enum tsd_tsmeta_field {
    TSD_TSMETA_TSUID,
    TSD_TSMETA_DISPLAY_NAME,
    TSD_TSMETA_DESCRIPTION,
    TSD_TSMETA_NOTES,
    TSD_TSMETA_CREATED, /* seconds */
    TSD_TSMETA_CUSTOM,
    TSD_TSMETA_UNITS,
    TSD_TSMETA_DATA_TYPE,
    TSD_TSMETA_RETENTION, /* days */
    TSD_TSMETA_MAX,
    TSD_TSMETA_MIN,
};
extern const struct tsd_field tsd_tsmeta_fields[];

struct qry_limit;
/* What is computed from the points of a series. */
struct tsd_tsmeta_points {
    uint64_t n;                /* how many */
    int64_t first_ms, last_ms; /* times of the first and the last; 0 if there is none */
};
/** Count the points of a series of a view (NULL: the catalog): from summaries where they are exact. limit: account of its memory, and when to give up; may be
 * NULL. */
int tsd_tsmeta_points(struct sto_store *st, const struct qry_view *view, const struct sto_series *s,
                      struct qry_limit *limit, struct tsd_tsmeta_points *out, struct ts_error *err);

/** The stored record of a series; *out_stored is false, and the record has all defaults, if none is
 * stored. */
int tsd_tsmeta_load(struct sto_store *st, const struct sto_series *s, struct ts_arena *arena,
                    struct tsd_record *out, bool *out_stored, struct ts_error *err);
/** Read the record of a series anew from a remote store that shares it with other programs; one that does not answer changes
 * nothing. Blocks. */
void tsd_tsmeta_refresh(struct sto_store *st, const struct sto_series *s);
/** The TSUID in the key of a small cell. False: it is not the key of such a record. */
bool tsd_tsmeta_key_parse(struct ts_slice key, struct ts_slice *out_tsuid);
/** Does a series have a stored record? */
bool tsd_tsmeta_there(struct sto_store *st, const struct sto_series *s);
/** Call each(arg, tsuid) with the TSUID of each stored record. */
void tsd_tsmeta_tsuids(struct sto_store *st, void (*each)(void *arg, struct ts_slice tsuid), void *arg);
/** Merge the given fields into it, or replace it, as tsd_record_store does. A new record gets the present
 * time as created. */
int tsd_tsmeta_store(struct sto_store *st, const struct sto_series *s, struct tsd_record *given, bool replace,
                     struct ts_arena *arena, struct tsd_record *out, bool *out_changed, struct ts_error *err);
/** Delete it. */
int tsd_tsmeta_delete(struct sto_store *st, const struct sto_series *s, struct ts_error *err);
/** The record as an object, with the records of its names and the ids that clients see; points may be NULL: without
 * lastReceived and totalDatapoints. Errors of query/ids.h. */
int tsd_tsmeta_json(struct sto_store *st, struct qry_view *view, const struct sto_series *s,
                    const struct tsd_record *r, const struct tsd_tsmeta_points *points, struct ts_json *j,
                    struct ts_error *err);
/** Is any record stored? */
bool tsd_tsmeta_any(struct sto_store *st);

#endif
