/*
 * cells_int.h - where a small cell lies in OpenTSDB's tables, and its value in both forms; for cells*.c only.
 *
 *   annotation            data table, row of the series (or the global one) and hour, family t, qualifier 01..   JSON
 *   metadata of a name    tsdb-uid, row id, family name, qualifiers metric_meta, tagk_meta, tagv_meta            JSON
 *   metadata of a series  tsdb-meta, row TSUID, family name, qualifier ts_meta                                   JSON
 *   tree                  tsdb-tree, row id, family t, several qualifiers (cells_tree.c)                          JSON
 *
 * Two values are equal if OpenTSDB would write the same document for both, so that a document that another program has written
 * with other blanks or another order can be changed, too; what is compared in HBase are the bytes that were read.
 */
#ifndef STORAGE_HBASE_REMOTE_CELLS_INT_H
#define STORAGE_HBASE_REMOTE_CELLS_INT_H

#include "storage/hbase/annotation.h"
#include "storage/hbase/document.h"
#include "storage/hbase/remote/remote_int.h"
#include "storage/remote_cell.h"

/* A cell in a table. */
struct sto_hbase__place {
    const char *table;
    struct ts_slice family;
    const struct sto_hbase_field *fields; /* of its document */
    const char *type;                     /* member `type` of the document; NULL = it has none */
    uint8_t row[STO_HBASE_MAX_KEY_BYTES]; /* n_row bytes */
    size_t n_row;
    char tsuid[2 * STO_HBASE_MAX_TSUID_BYTES + 1]; /* member `tsuid` in hexadecimal digits, or "" */
    /* Qualifiers under which the cell may be found, n_qualifiers of them. An annotation has two if its start is a multiple of
     * 1000 s: OpenTSDB divides such seconds once more, but not milliseconds. */
    struct ts_slice qualifier[2];
    size_t n_qualifiers;
    uint8_t bytes[2][STO_HBASE_OFFSET_BYTES]; /* of these qualifiers */
};

/**
 * Find where a cell lies.
 *
 * @param what  FIND, or MAKE: names get ids
 * @return 0; TS_ENOTFOUND: a name has no id; TS_EINVAL: the tables cannot hold the cell; errors of the connection
 */
int sto_hbase__place_of(struct sto_hbase *h, struct sto_hbase_session *s, struct ts_slice key,
                        enum sto_remote_lookup what, struct sto_hbase__place *out, struct ts_error *err);
/** Which qualifier of a place a record is written to, if it is not there yet: that of its startTime; empty: 0. Errors of sto_hbase__record_load. */
int sto_hbase__place_for(const struct sto_hbase__place *p, struct ts_slice record);

/** Append OpenTSDB's document for a record. TS_EINVAL with one sentence. */
int sto_hbase__document_of_record(const struct sto_hbase__place *p, struct ts_slice record,
                                  struct ts_buf *out, struct ts_error *err);
/** Append the document again as OpenTSDB would write it at this place. TS_ECORRUPT with one sentence. */
int sto_hbase__document_again(const struct sto_hbase__place *p, struct ts_slice document, struct ts_buf *out,
                              struct ts_error *err);
/** Parse a record (json_decref it). TS_EINVAL: it is none; TS_ELIMIT. */
int sto_hbase__record_load(struct ts_slice record, json_t **out, struct ts_error *err);
/** Append an object as a record. TS_ELIMIT. */
int sto_hbase__record_write(const json_t *record, struct ts_buf *out, struct ts_error *err);
/** Send a conditional change. 1: it was made; 0: the condition was not fulfilled, or it is not known what became of it; or an error. */
int sto_hbase__send_change(struct sto_hbase_session *s, const struct sto_thrift_request *r, unsigned attempt,
                           struct ts_error *err);
/** A delete hides what is put with the same timestamp: wait until the clock is past it, but not for a cell from the future. */
void sto_hbase__wait_for_clock(int64_t ts_ms);
/** Append the record for a document; the same bytes for equal documents. TS_ECORRUPT with one sentence. */
int sto_hbase__record_of_document(const struct sto_hbase_field *fields, struct ts_slice document,
                                  struct ts_buf *out, struct ts_error *err);

#endif
