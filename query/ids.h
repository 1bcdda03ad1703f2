/*
 * ids.h - the ids of names that clients see, and the TSUIDs that are made of them.
 *
 * Without a remote store these are the ids of the catalog. A remote store that has ids (HBase: those of tsdb-uid) shares them with other
 * programs, so clients see its ids, and what clients send is understood as its ids; the numbers of the catalog never leave this process
 * then. A name that has no id there gets one when somebody asks for it. The names of series that only the remote store has are known to a view
 * (view.h), so these have TSUIDs too.
 *
 *   to clients    qry_ids_load: look up the ids of many series at once -> qry_ids_tsuid, qry_ids_hex: print
 *   from clients  qry_ids_series: TSUID -> series; qry_ids_find: id -> name; qry_ids_local: TSUID -> the catalog's, for keys of small cells
 *
 * Ids that were looked up are kept in the view, for one request.
 *
 * Memory     counted in the account of the view
 * Errors     those of storage/remote.h and of the view; TS_EBUSY in a thread that must not wait (ts_fs_is_nowait). If the remote store fails
 *            and the request continues without it (allow_partial), names have no ids, and TSUIDs are left out
 * Threads    as a view: one thread loads and finds; qry_ids_tsuid and qry_ids_hex from any thread while none does
 */
#ifndef QUERY_IDS_H
#define QUERY_IDS_H

#include "query/view.h"

#define QRY_IDS_UID_HEX 16 /* most digits of an id */

/** Are the ids of clients those of a remote store? */
bool qry_ids_remote(const struct qry_view *view);

/* --- to clients --- */
/** Look up the ids of all names of n series, and give ids to names that have none. Does nothing where clients see the ids of the catalog.
 * Blocks: a call for every 1,024 names that this view has not looked up before. */
int qry_ids_load(struct qry_view *view, const struct sto_series *const *series, size_t n,
                 struct ts_error *err);
/** The same for n names of one kind, by their ids in the view. */
int qry_ids_load_names(struct qry_view *view, enum sto_uid_kind kind, const uint32_t *ids, size_t n,
                       struct ts_error *err);
/** Append the TSUID of a series that was loaded. False, with nothing appended: it has none, because the remote store cannot hold one of its
 * names, or the request continues without it. */
bool qry_ids_tsuid(const struct qry_view *view, const struct sto_series *s, struct ts_buf *out);
/** Hexadecimal digits of the metric in the TSUID of a series. */
size_t qry_ids_metric_digits(const struct qry_view *view, const struct sto_series *s);
/** Load one series and append its TSUID. 0; TS_ENOTFOUND, without a text, where qry_ids_tsuid is false; errors as above. */
int qry_ids_tsuid_of(struct qry_view *view, const struct sto_series *s, struct ts_buf *out,
                     struct ts_error *err);
/** Append the id of a name in hexadecimal digits. Loads it. As qry_ids_tsuid_of. */
int qry_ids_hex(struct qry_view *view, enum sto_uid_kind kind, uint32_t id, struct ts_buf *out,
                struct ts_error *err);
/** Append the TSUID of clients for one of the catalog or the view, in the form of qry_tsuid, whose series need not exist. One with an id that has no name
 * is appended as it is. As qry_ids_tsuid_of. */
int qry_ids_shown(struct qry_view *view, struct ts_slice local, struct ts_buf *out, struct ts_error *err);
/** The same for one that is made of the ids of another view, `from`, whose names are looked up in this one. */
int qry_ids_shown_from(struct qry_view *view, const struct qry_view *from, struct ts_slice local,
                       struct ts_buf *out, struct ts_error *err);
/** Is a name known to the remote store, or of a kind that clients see there? FIND: 0, TS_ENOTFOUND; MAKE: an id is assigned. TS_EINVAL: the
 * remote store cannot hold it. *out_id: its id there; 0 without one. */
int qry_ids_of_name(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, bool make,
                    uint64_t *out_id, struct ts_error *err);
/** Append an id of the remote store in hexadecimal digits. */
void qry_ids_print(const struct qry_view *view, enum sto_uid_kind kind, uint64_t remote_id,
                   struct ts_buf *out);

/* --- from clients --- */
/** The series of a TSUID. Where the ids are those of the remote store, a series whose names all exist there is found even if nobody has sent
 * a point of it. TS_EINVAL "Invalid TSUID: x", TS_ENOTFOUND "No such TSUID: x". Blocks. */
int qry_ids_series(struct qry_view *view, struct ts_slice hex, const struct sto_series **out,
                   struct ts_error *err);
/** The name of an id, as an id of the view. TS_EINVAL: no hexadecimal digits, or too many; TS_ENOTFOUND: it has no name. Neither sets a text. */
int qry_ids_find(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice hex, uint32_t *out_id,
                 struct ts_error *err);
/** Append the catalog's TSUID for one of clients, in the form of qry_tsuid. Names that the catalog lacks are given ids there; the series
 * need not exist. TS_EINVAL, TS_ENOTFOUND (an id has no name) with texts; errors of sto_uid_make. */
int qry_ids_local(struct qry_view *view, struct ts_slice hex, struct ts_buf *out, struct ts_error *err);
/** The id of a name in the catalog, which is given one if it is known to the view alone. */
int qry_ids_adopt(struct qry_view *view, enum sto_uid_kind kind, uint32_t *id, struct ts_error *err);

#endif
