/*
 * closer.h - closes scanners whose fetch has ended before their rows did.
 *
 * A gateway keeps a scanner, and the region server its state, until it is closed or its lease ends, which takes a minute. A fetch that is cancelled cannot wait for
 * the replies that are on their way, so it leaves the connection to a thread, which receives them, closes the scanner, and then the connection.
 *
 * Limits     CLOSER_MOST connections wait; of more, and of those that take longer than CLOSER_WAIT_MS, only the connection is closed
 * Threads    any; the thread starts with the first connection
 */
#ifndef STORAGE_HBASE_REMOTE_CLOSER_H
#define STORAGE_HBASE_REMOTE_CLOSER_H

#include "storage/hbase/thrift/client.h"

#define STO_HBASE_CLOSER_MOST    32
#define STO_HBASE_CLOSER_WAIT_MS 5000 /* for one scanner */

struct sto_hbase_closer;

/* The requests of a scanner, which its connection borrows while they are in flight. */
struct sto_hbase_scanner {
    struct sto_thrift_request open;    /* for the scanner */
    struct sto_thrift_request rows[2]; /* for rows */
    bool is_opening;                   /* open is in flight: its reply names the scanner */
    struct sto_thrift_scanner scanner; /* what is to be closed */
};
/** Requests without an account: they are small, and the filter was counted when it was made. To be freed by sto_hbase_scanner_free. */
struct sto_hbase_scanner *sto_hbase_scanner_new(void);
/** NULL is ignored. */
void sto_hbase_scanner_free(struct sto_hbase_scanner *s);

/** Without a thread. */
struct sto_hbase_closer *sto_hbase_closer_new(void);
/** Close what waits for up to half a second, and abandon the rest. NULL is ignored. */
void sto_hbase_closer_free(struct sto_hbase_closer *c);
/** Close a scanner and its connection. Both are taken. Does not block. */
void sto_hbase_closer_take(struct sto_hbase_closer *c, struct sto_thrift_client *client,
                           struct sto_hbase_scanner *scanner);

#endif
