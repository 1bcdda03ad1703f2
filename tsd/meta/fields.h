/*
 * fields.h - records of named fields, in which annotations, trees and metadata of names and series are
 * stored.
 *
 * A kind of record is a table of fields. Clients send some of them, in JSON or as request parameters; a
 * change merges the given fields into the stored record, or replaces it. A record is stored in a small cell
 * as a version byte and JSON.
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * Threads    a record belongs to one thread; storing may block (a sync of the cells' log)
 * Not here   what the fields mean (annotation.h, uidmeta.h, tsmeta.h)
 */
#ifndef TSD_META_FIELDS_H
#define TSD_META_FIELDS_H

#include "base/json.h"
#include "base/mem.h"
#include "query/query.h"

#define TSD_FIELDS_MAX    14  /* fields of a record */
#define TSD_FIELDS_FORMAT '1' /* first byte of a stored record */

enum tsd_field_kind {
    TSD_FIELD_TEXT,   /* "" by default */
    TSD_FIELD_INT,    /* 0 */
    TSD_FIELD_DOUBLE, /* NaN */
    TSD_FIELD_MAP,    /* object of texts; null */
    TSD_FIELD_BOOL,   /* false */
};
enum tsd_field_flag {
    TSD_FIELD_OURS = 1,     /* clients do not set it */
    TSD_FIELD_OMIT = 2,     /* left out of answers when it is null */
    TSD_FIELD_COMPUTED = 4, /* not stored */
};

/* One field, a row of a record's table. */
struct tsd_field {
    const char *name;         /* in JSON; NULL ends the table */
    const char *param;        /* in a query string; NULL = not there */
    enum tsd_field_kind kind; /* type of its value */
    unsigned flags;           /* of enum tsd_field_flag */
};

/* Value of a field. */
struct tsd_field_value {
    struct ts_slice text; /* TEXT; MAP: a JSON object, {NULL,0} = null */
    int64_t i;            /* INT; BOOL: 0, 1 */
    double d;             /* DOUBLE */
    bool given;           /* the client or the code that filled the record has set it */
};

/* A record. Texts are borrowed or live in the arena given when it was filled. */
struct tsd_record {
    const struct tsd_field *fields;           /* its table */
    struct tsd_field_value v[TSD_FIELDS_MAX]; /* by row */
};

/** All defaults, nothing given. */
void tsd_record_init(struct tsd_record *r, const struct tsd_field *fields);
/** Set a field from text, as of a query string. TS_EINVAL names the field. */
int tsd_record_set(struct tsd_record *r, size_t field, struct ts_slice text, struct ts_arena *arena,
                   struct ts_error *err);
/** Set the fields that a client sent in an object; unknown ones and nulls are ignored. TS_EINVAL names the
 * field. */
int tsd_record_from_json(struct tsd_record *r, const json_t *obj, struct ts_arena *arena,
                         struct ts_error *err);
/** Set the fields that a client sent as request parameters. TS_EINVAL names the field. */
int tsd_record_from_params(struct tsd_record *r, const struct qry_param *params, size_t n,
                           struct ts_arena *arena, struct ts_error *err);
/** Write all fields as members of an object that is open. */
void tsd_record_members(const struct tsd_record *r, struct ts_json *j);
/** The same without fields that have one of the flags `skip`. */
void tsd_record_members_but(const struct tsd_record *r, unsigned skip, struct ts_json *j);

/** Read a stored record. TS_ECORRUPT, TS_EVERSION. */
int tsd_record_decode(struct ts_slice cell, const struct tsd_field *fields, struct ts_arena *arena,
                      struct tsd_record *out, struct ts_error *err);
/** Write the fields that are stored and not null as members of an object that is open: for small cells that
 * hold more than one record. */
void tsd_record_store_members(const struct tsd_record *r, struct ts_json *j);
/** Read what tsd_record_store_members wrote. TS_ECORRUPT. */
int tsd_record_load_members(const json_t *obj, const struct tsd_field *fields, struct ts_arena *arena,
                            struct tsd_record *out, struct ts_error *err);
/** Copy the given fields of a record; replace: fields that are not given return to their defaults, except
 * TSD_FIELD_OURS and TSD_FIELD_COMPUTED. */
void tsd_record_merge(struct tsd_record *io, const struct tsd_record *given, bool replace);
/* How tsd_record_store stores. */
enum tsd_store_how {
    TSD_STORE_MERGE = 0,   /* fields that are not given stay */
    TSD_STORE_REPLACE = 1, /* fields that are not given return to their defaults */
    TSD_STORE_LATER = 2,   /* durable only after sto_cell_sync: for many records */
};
/** Load the record of a key; TS_ENOTFOUND (no text). */
int tsd_record_load(struct sto_store *st, struct ts_slice key, const struct tsd_field *fields,
                    struct ts_arena *arena, struct tsd_record *out, struct ts_error *err);
/**
 * Merge the fields that a client sent into the stored record, atomically with respect to other changes.
 *
 * @param given        its given fields are taken
 * @param replace      fields not given go back to their defaults, but for TSD_FIELD_OURS
 * @param out          [out] what is stored now
 * @param out_changed  [out] false: it was so before, nothing was written
 * @return 0; what storing said
 *
 * @param how          of enum tsd_store_how
 * Blocks: one sync, unless TSD_STORE_LATER.
 */
int tsd_record_store(struct sto_store *st, struct ts_slice key, const struct tsd_record *given, unsigned how,
                     struct ts_arena *arena, struct tsd_record *out, bool *out_changed, struct ts_error *err);

/** Set one member of a stored map field, atomically with respect to other changes; an empty value removes
 * it. Blocks: one sync. */
int tsd_record_set_member(struct sto_store *st, struct ts_slice key, const struct tsd_field *fields,
                          size_t field, struct ts_slice name, struct ts_slice value, struct ts_error *err);
/** Most bytes of the texts of a record, given or stored (annotation_max_bytes; 64 KiB by default). Set before
 * threads start. */
void tsd_record_set_max_bytes(size_t max_bytes);
/** Is there any cell from <= key < to? */
bool tsd_record_any(struct sto_store *st, struct ts_slice from, struct ts_slice to);

#endif
