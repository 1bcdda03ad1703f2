/*
 * uidtable.h - rows and cells of the table of names and ids, tsdb-uid.
 *
 *   row                family  qualifier                            value
 *   name, ISO-8859-1   id      metrics, tagk, tagv                  id
 *   id                 name    metrics, tagk, tagv                  name
 *   id                 name    metric_meta, tagk_meta, tagv_meta    document
 *   byte 0             id      metrics, tagk, tagv                  highest id that was assigned, 8 bytes
 *
 * Format     docs/OPENTSDB.md, section 10.8
 * Threads    pure functions
 * Not here   names in ISO-8859-1 (limits.h), assigning ids
 */
#ifndef STORAGE_HBASE_UIDTABLE_H
#define STORAGE_HBASE_UIDTABLE_H

#include "storage/hbase/document.h"
#include "storage/hbase/schema.h"
#include "storage/remote.h"

#define STO_HBASE_UID_FORWARD  TS_SLICE_LIT("id")   /* family: name to id, and the counters */
#define STO_HBASE_UID_REVERSE  TS_SLICE_LIT("name") /* family: id to name, and the documents */
#define STO_HBASE_UID_COUNTERS TS_SLICE_LIT("\0")   /* row of the counters */

/* Members of a document: type, displayName, description, notes, created (seconds), custom. */
extern const struct sto_hbase_field sto_hbase_uid_fields[];

/** Qualifier of names, ids and counters of a kind. */
struct ts_slice sto_hbase_uid_qualifier(enum sto_remote_kind kind);
/** Qualifier of the documents of a kind. */
struct ts_slice sto_hbase_uid_document(enum sto_remote_kind kind);
/** What the member `type` of a document of this kind is: "METRIC", "TAGK", "TAGV". */
const char *sto_hbase_uid_type(enum sto_remote_kind kind);
/** Bytes of the ids of a kind. */
unsigned sto_hbase_uid_width(const struct sto_hbase_schema *s, enum sto_remote_kind kind);

/**
 * Write an id.
 *
 * @param out  [out] STO_HBASE_MAX_WIDTH bytes
 * @return bytes written
 *         TS_ELIMIT  all ids of the kind are assigned: the id is larger than its width permits, or 0; one sentence in err
 */
int sto_hbase_uid_make(const struct sto_hbase_schema *s, enum sto_remote_kind kind, uint64_t id, uint8_t *out,
                       struct ts_error *err);
/** Parse an id. 0, or TS_ECORRUPT with one sentence: it has another width, or is 0. */
int sto_hbase_uid_parse(const struct sto_hbase_schema *s, enum sto_remote_kind kind, struct ts_slice bytes,
                        uint64_t *out, struct ts_error *err);
/** Parse a counter of 8 bytes: of ids, or of points (metatable.h). 0, or TS_ECORRUPT with one sentence: it has another length, or
 * is negative. */
int sto_hbase_counter_parse(struct ts_slice bytes, uint64_t *out, struct ts_error *err);

#endif
