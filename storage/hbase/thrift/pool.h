/*
 * pool.h - connections to HBase that threads share: at most so many, each used by one thread at a time.
 *
 * Connections are made when they are needed, and stay open when they are returned. The one that was returned last is taken first, so
 * that those that a quiet time does not need grow old and are replaced (max_idle_ms of client.h). New ones begin with different gateways, so
 * that all gateways share the work.
 * Threads    every function from any thread; sto_thrift_pool_free when no other uses the pool
 */
#ifndef STORAGE_HBASE_THRIFT_POOL_H
#define STORAGE_HBASE_THRIFT_POOL_H

#include "base/err.h"
#include "storage/hbase/thrift/client.h"

#include <stdint.h>

struct sto_thrift_pool;

/* Figures for the statistics. */
struct sto_thrift_pool_stats {
    unsigned n_taken;    /* connections in use now */
    unsigned n_idle;     /* connections that wait for a user, connected or not */
    uint64_t n_waits;    /* calls that had to wait for one, since the start */
    uint64_t n_given_up; /* of those, ended without one, by their deadline or cancelled */
};

/**
 * @param opts             of each connection; what it points to is borrowed for the life of the pool. first_gateway is that of the first connection
 * @param max_connections  cap, at least 1
 */
struct sto_thrift_pool *sto_thrift_pool_new(const struct sto_thrift_client_opts *opts,
                                            unsigned max_connections);
/** Close all connections; none may be taken. NULL is harmless. */
void sto_thrift_pool_free(struct sto_thrift_pool *p);
/**
 * Take a connection, or wait for one. It is not connected by this.
 *
 * @param wait     bounds the wait; while it lasts, cancel is looked at every 100 ms
 * @param key      configuration key of the cap, for the error; NULL = not named
 * @param out      [out] to be returned with sto_thrift_pool_return
 * @return 0
 *         TS_EBUSY       none became free before the deadline
 *         TS_ECANCELLED  cancelled
 */
int sto_thrift_pool_take(struct sto_thrift_pool *p, struct sto_thrift_wait wait, const char *key,
                         struct sto_thrift_client **out, struct ts_error *err);
/** A new connection, not open yet, in the place of one that was taken: the pool forgets that one, which the caller frees. */
struct sto_thrift_client *sto_thrift_pool_replace(struct sto_thrift_pool *p);
/** Return a connection. If requests are in flight it is closed. Its last reply ends. */
void sto_thrift_pool_return(struct sto_thrift_pool *p, struct sto_thrift_client *c);
/** Figures of this moment. */
struct sto_thrift_pool_stats sto_thrift_pool_stats(struct sto_thrift_pool *p);

#endif
