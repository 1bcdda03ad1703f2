/*
 * replies.h - replies of HBase's Thrift2 gateway, read in place: whatever is found in a message is borrowed from it.
 *
 * Gateways are not trusted: lengths are checked against what is left, unknown fields are skipped, a required field that is missing is
 * an error. Nothing is copied or allocated.
 * Source     hbase.thrift of HBase 2.5; TApplicationException: Apache Thrift, doc/specs/thrift-rpc.md
 * Threads    plain values: one thread at a time
 * Not here   requests (calls.h), how replies arrive (client.h)
 */
#ifndef STORAGE_HBASE_THRIFT_REPLIES_H
#define STORAGE_HBASE_THRIFT_REPLIES_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/hbase/thrift/binary.h"
#include "storage/hbase/thrift/calls.h"

/* How a call ended. */
enum sto_thrift_outcome {
    STO_THRIFT_DONE, /* there is a result */
    STO_THRIFT_IO_ERROR, /* TIOError: HBase failed, perhaps after some of the rows; can_retry says what it thinks of a repeat */
    STO_THRIFT_ILLEGAL_ARGUMENT, /* TIllegalArgument: such as a scanner that does not exist, or no more */
    STO_THRIFT_APPLICATION, /* TApplicationException: the gateway does not know or cannot read the call */
};

/* One reply; slices are borrowed from the message. */
struct sto_thrift_reply {
    enum sto_thrift_call call;       /* that it answers */
    enum sto_thrift_outcome outcome; /* result or exception */
    uint64_t connection;             /* number of the connection that it came over; set by the client */
    bool can_retry;                  /* of an IO_ERROR */
    struct ts_slice text;            /* of an exception, whole: often a Java stack trace */
    struct ts_slice value;           /* of a result: its value */
};

/**
 * Read the outer part of a reply.
 *
 * @param message  a whole message (sto_thrift_framer_walk); borrowed as long as *out is used
 * @param call     the call that was sent, and its sequence id
 * @return 0
 *         TS_EBACKEND  the gateway answered with an exception: out->outcome, and err has the first line of its text
 *         TS_ECORRUPT  this is no reply to that call
 */
int sto_thrift_reply_open(struct ts_slice message, enum sto_thrift_call call, int32_t seq,
                          struct sto_thrift_reply *out, struct ts_error *err);
/** The result of checkAndPut, checkAndMutate, tableExists. */
bool sto_thrift_reply_bool(const struct sto_thrift_reply *r);
/** The result of openScanner. */
struct sto_thrift_scanner sto_thrift_reply_scanner(const struct sto_thrift_reply *r);

/* A walk over the items of a result. */
struct sto_thrift_items {
    struct sto_thrift_in in;   /* next item */
    uint32_t left;             /* items to come */
    enum sto_thrift_call call; /* whose reply it is */
};
/** Begin with the first item of a result that is a list, or one struct: the list with this one. */
void sto_thrift_items_init(struct sto_thrift_items *it, const struct sto_thrift_reply *r);

/* A row that was found. */
struct sto_thrift_row {
    struct ts_slice row;        /* its key; p NULL: a get found no such row */
    struct sto_thrift_in cells; /* those that sto_thrift_row_next has not returned yet */
    uint32_t n_left;            /* how many these are */
    bool is_partial;            /* more cells of this row come in the next result */
};
/**
 * Next row of get, getMultiple, increment, append, getScannerRows, getScannerResults; of deleteMultiple the next row that was *not*
 * deleted, without cells. getMultiple answers each row in the order of the request.
 *
 * @return 1; 0 = there are no more; TS_ECORRUPT
 * Cost: O(bytes of the row)
 */
int sto_thrift_row(struct sto_thrift_items *it, struct sto_thrift_row *out, struct ts_error *err);
/** Next cell of a row: 1; 0 = there are no more; TS_ECORRUPT. */
int sto_thrift_row_next(struct sto_thrift_row *row, struct sto_thrift_cell *out, struct ts_error *err);

/** Families of getTableDescriptor. */
void sto_thrift_families_init(struct sto_thrift_items *it, const struct sto_thrift_reply *r);
/** Next one: 1; 0 = there are no more; TS_ECORRUPT. */
int sto_thrift_family(struct sto_thrift_items *it, struct sto_thrift_family *out, struct ts_error *err);

/* A region of a table. */
struct sto_thrift_region {
    struct ts_slice host;  /* of the server that has it */
    int32_t port;          /* of that server; 0 = not said */
    int64_t id;            /* of the region */
    struct ts_slice start; /* first row; empty = from the beginning */
    struct ts_slice stop;  /* before this row; empty = to the end */
};
/** Next region of getAllRegionLocations: 1; 0 = there are no more; TS_ECORRUPT. */
int sto_thrift_region(struct sto_thrift_items *it, struct sto_thrift_region *out, struct ts_error *err);

#endif
