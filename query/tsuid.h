/*
 * tsuid.h - TSUIDs made of the ids of the catalog: those of clients without a remote store, and in keys of small cells always.
 *
 * Threads    any
 * Not here   TSUIDs of clients (ids.h)
 */
#ifndef QUERY_TSUID_H
#define QUERY_TSUID_H

#include "base/buf.h"
#include "storage/store.h"

#define QRY_TSUID_MAX_IDS 511 /* a metric and 255 tags */

/** Append the TSUID of a series in upper-case hexadecimal with 3-byte ids, or 4-byte ids where they do not
 * fit. */
void qry_tsuid(const struct sto_series *s, struct ts_buf *out);
/** Append a TSUID that a client sent, in any case and width of ids, in the form of qry_tsuid. The series need
 * not exist. TS_EINVAL "Invalid TSUID: ..". */
int qry_tsuid_plain(struct ts_slice hex, struct ts_buf *out, struct ts_error *err);
/** Ids of a hex TSUID: the metric, then keys and values in turn. 0, TS_EINVAL. */
int qry_tsuid_ids(struct ts_slice hex, uint32_t ids[QRY_TSUID_MAX_IDS], size_t *out_n);
/** Series by hex TSUID; TS_EINVAL, TS_ENOTFOUND, with texts. */
int qry_tsuid_series(struct sto_catalog *cat, struct ts_slice hex, const struct sto_series **out,
                     struct ts_error *err);

#endif
