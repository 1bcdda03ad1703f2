/*
 * delete_rest.h - what stays of columns that are written anew, in a row of which not all cells are known.
 *
 * A change makes such a column newer than all other cells, with the values that were the newest (change.h). Of a row that is read in pieces, a cell with a
 * newer value may be in another piece. So what stays is put first, beside the column, with the timestamp of the column, and is as old as before. A
 * delete of the same qualifier that HBase still remembers may hide such a put; so it is looked for, and the column is deleted only if it is there.
 *
 * Threads    one
 * Cost       two calls for a row
 */
#ifndef STORAGE_HBASE_REMOTE_DELETE_REST_H
#define STORAGE_HBASE_REMOTE_DELETE_REST_H

#include "storage/hbase/remote/change.h"
#include "storage/hbase/thrift/replies.h"

struct sto_hbase__rest {
    struct sto_thrift_request put;  /* [out] to be sent first, */
    struct sto_thrift_request look; /* [out] and then this one: a getMultiple */
};
void sto_hbase__rest_init(struct sto_hbase__rest *r, size_t max_bytes, struct ts_budget *memory);
/** Idempotent. */
void sto_hbase__rest_release(struct sto_hbase__rest *r);
/** Make the requests for the puts of a change, which has a guard and no other puts than what stays of columns. 0, TS_ELIMIT, TS_ENOMEM. */
int sto_hbase__rest_plan(struct sto_hbase__rest *r, struct ts_slice table, struct ts_slice row,
                         struct sto_hbase_change *change);
/** The reply to the look: is all of it there, or what is newer? 1; 0: something is hidden, or the column has changed meanwhile; TS_ECORRUPT. */
int sto_hbase__rest_is_there(const struct sto_thrift_reply *reply, struct ts_error *err);

#endif
