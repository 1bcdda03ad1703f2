/*
 * uidmeta.h - metadata of a name: display name, description, notes and free text fields ("custom").
 *
 * Every name has such a record; if none is stored, it has the defaults.
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * Threads    any; storing may block
 * Source     docs/OPENTSDB.md, sections 2.16, 2.18
 */
#ifndef TSD_META_UIDMETA_H
#define TSD_META_UIDMETA_H

#include "query/ids.h"
#include "tsd/meta/fields.h"

/* Rows of tsd_uidmeta_fields. */
enum tsd_uidmeta_field {
    TSD_UIDMETA_UID,  /* hex */
    TSD_UIDMETA_TYPE, /* METRIC, TAGK, TAGV */
    TSD_UIDMETA_NAME, /* the catalog's */
    TSD_UIDMETA_DESCRIPTION,
    TSD_UIDMETA_NOTES,
    TSD_UIDMETA_CREATED, /* seconds; 0 = unknown */
    TSD_UIDMETA_CUSTOM,
    TSD_UIDMETA_DISPLAY_NAME,
};
extern const struct tsd_field tsd_uidmeta_fields[];

/** Kind by its name, "metric", "metrics", "tagk", "tagv" in any case; false if the name is unknown. */
bool tsd_uid_kind(struct ts_slice name, enum sto_uid_kind *out);
/** "metric", "tagk", "tagv". */
const char *tsd_uid_kind_name(enum sto_uid_kind kind);
/** Append an id as hex, 6 digits where they are enough. */
void tsd_uid_hex(uint32_t id, struct ts_buf *out);
/** Append an id as OpenTSDB's tools print it: "[0, 0, -58]". */
void tsd_uid_bytes(uint32_t id, struct ts_buf *out);
/** Put the id that clients see into a record of a name, "" if it has none. 0; errors of query/ids.h. */
int tsd_uidmeta_show(struct qry_view *view, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                     struct tsd_record *r, struct ts_error *err);
/** Read 6 or 8 hexadecimal digits; false if there is anything else. */
bool tsd_uid_parse(struct ts_slice hex, uint32_t *out_id);

/** Record of an id, its name filled in. TS_ENOTFOUND "No such unique ID for 'metrics': [0, 0, 9]". */
int tsd_uidmeta_load(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                     struct tsd_record *out, struct ts_error *err);
/** Read it anew from a remote store that shares it with other programs; one that does not answer changes nothing. Blocks. */
void tsd_uidmeta_refresh(struct sto_store *st, enum sto_uid_kind kind, uint32_t id);
/** Kind and id in the key of a small cell. False: it is not the key of such a record. */
bool tsd_uidmeta_key_parse(struct ts_slice key, enum sto_uid_kind *out_kind, uint32_t *out_id);
/** The same with defaults, without reading the stored record. */
int tsd_uidmeta_plain(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_arena *arena,
                      struct tsd_record *out, struct ts_error *err);
/** The same for a name that only the remote store has (query/view.h). 0. */
int tsd_uidmeta_foreign(const struct qry_view *view, enum sto_uid_kind kind, uint32_t id,
                        struct tsd_record *out);
/** Merge what was given into it, or replace it: as tsd_record_store. */
int tsd_uidmeta_store(struct sto_store *st, enum sto_uid_kind kind, uint32_t id,
                      const struct tsd_record *given, bool replace, struct ts_arena *arena,
                      struct tsd_record *out, bool *out_changed, struct ts_error *err);
/** Set one free text field; an empty value removes it. */
int tsd_uidmeta_set(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_slice field,
                    struct ts_slice value, struct ts_error *err);
/** Back to the defaults. TS_ENOTFOUND as load. */
int tsd_uidmeta_delete(struct sto_store *st, enum sto_uid_kind kind, uint32_t id, struct ts_error *err);
/** The record as an object. */
void tsd_uidmeta_json(const struct tsd_record *r, struct ts_json *j);
/** Is any record stored? If not, searches skip records. */
bool tsd_uidmeta_any(struct sto_store *st);
/** Call each(arg, kind, id) with the name of each stored record. */
void tsd_uidmeta_ids(struct sto_store *st, void (*each)(void *arg, enum sto_uid_kind kind, uint32_t id),
                     void *arg);

#endif
