/*
 * client.h - one connection to HBase's Thrift2 gateway: requests go out in order, replies come back in the same order.
 *
 * Each request that sto_thrift_client_send accepts is answered by exactly one sto_thrift_client_receive, with a reply or with an error. Several
 * may be in flight: a gateway reads the next request while the replies before it are on their way. Requests leave when send or receive find that the
 * socket takes bytes, so that neither waits for a gateway that waits for us to read.
 *
 * Nothing is ever sent twice. When a connection breaks, receive says of each request in flight whether it was sent: one that was not has had no
 * effect, one that was may have been executed (sto_thrift_call_info tells what a repeat of it would do). The next send connects again, to
 * the next gateway of the list if the last one failed.
 *
 * Limits     a reply has at most max_reply_bytes and is held once; what arrives is counted in an account before it is kept, and memory grows with
 *            the bytes that came, not with the length that a gateway claims. A gateway that sends anything unexpected is disconnected
 * Deadlines  by the monotonic clock, one for each call; one that passes breaks the connection, because its reply could come at any time later
 * Threads    one thread at a time
 * Not here   sharing connections (pool.h), repeating calls, TLS itself (base/tls.h)
 */
#ifndef STORAGE_HBASE_THRIFT_CLIENT_H
#define STORAGE_HBASE_THRIFT_CLIENT_H

#include "base/err.h"
#include "storage/hbase/thrift/calls.h"
#include "storage/hbase/thrift/replies.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_budget;
struct ts_tls;

/* Where a gateway listens. */
struct sto_thrift_gateway {
    const char *host; /* name or address */
    const char *port; /* in digits */
};

/* How to reach HBase; everything is borrowed for the life of the client. */
struct sto_thrift_client_opts {
    const struct sto_thrift_gateway *gateways; /* n_gateways of them, at least one; tried in turn */
    size_t n_gateways;
    size_t first_gateway;                /* the one to try first; counted modulo n_gateways */
    enum sto_thrift_transport transport; /* that of the gateways */
    struct ts_tls *tls;                  /* connections use TLS; NULL: they do not */
    int64_t
        connect_timeout_ms; /* for one gateway, TLS included; 0 = 5000. The look-up of a name is not bounded by it */
    int64_t
        max_idle_ms; /* a connection that was not used for longer is replaced; 0 = 30000 (HBase closes after 60 s) */
    size_t max_reply_bytes;    /* longest reply; 0 = 64 MiB */
    const char *max_reply_key; /* configuration key of that limit, for the error; NULL = not named */
    unsigned max_in_flight;    /* requests without a reply; 0 = 16 */
    struct ts_budget *budget;  /* account of what is received; NULL = uncounted */
};

/* How long a call may take. */
struct sto_thrift_wait {
    int64_t until_ns; /* deadline, ts_clock_mono_ns */
    const _Atomic bool
        *cancel; /* the call ends within 100 ms after this becomes true; NULL = it can't be cancelled */
};

/* What became of a request. */
enum sto_thrift_sent {
    STO_THRIFT_NOT_SENT, /* not sent as a whole: it has had no effect */
    STO_THRIFT_SENT,     /* sent, and no reply came: it may have been executed, or may yet be */
    STO_THRIFT_ANSWERED, /* a reply came, a result or an exception */
};

struct sto_thrift_client;

/** A client, not connected yet. Ends the process when memory is short. */
struct sto_thrift_client *sto_thrift_client_new(const struct sto_thrift_client_opts *opts);
/** Close and free it; requests in flight are abandoned. NULL is harmless. */
void sto_thrift_client_free(struct sto_thrift_client *c);

/**
 * Queue a request, and send of it what the socket takes at once. Connects first if there is no connection.
 *
 * @param r     borrowed until its receive has returned, or the client is closed
 * @param wait  bounds connecting; until_ns is also the deadline of the reply
 * @return 0    one call of sto_thrift_client_receive belongs to it, even if the connection is already broken again
 *         else nothing was queued or sent:
 *         TS_EIO         no gateway accepts a connection; the text is that of the last one
 *         TS_ETIMEOUT    the deadline passed while connecting
 *         TS_ECANCELLED  cancelled while connecting
 *         TS_EBUSY       max_in_flight requests are in flight, or the connection broke and receive has not reported all of them
 *         TS_ELIMIT      the request did not fit into its buffer
 *         TS_ENOTFOUND   it is of a scanner of another connection, or of one that is closed: open a new scanner
 * Blocks: only to connect.
 */
int sto_thrift_client_send(struct sto_thrift_client *c, const struct sto_thrift_request *r,
                           struct sto_thrift_wait wait, struct ts_error *err);
/**
 * Wait for the reply to the oldest request in flight.
 *
 * @param cancel    as in struct sto_thrift_wait; the deadline is that of the request
 * @param out       [out] the reply; borrowed until the next call with this client
 * @param out_sent  [out] what became of the request; may be NULL
 * @return 0
 *         TS_EBACKEND    HBase answered with an exception (out->outcome); the connection can still be used
 *         else the connection is broken; so are, one receive each, all requests in flight:
 *         TS_ETIMEOUT    no reply before the deadline
 *         TS_ECANCELLED  cancelled
 *         TS_EIO         closed by the gateway, or an error of the network
 *         TS_ECORRUPT    what came is no reply, or one to another request
 *         TS_ELIMIT      the reply is too large, or its account is full
 *         TS_EINVAL      nothing is in flight
 */
int sto_thrift_client_receive(struct sto_thrift_client *c, const _Atomic bool *cancel,
                              struct sto_thrift_reply *out, enum sto_thrift_sent *out_sent,
                              struct ts_error *err);
/**
 * As sto_thrift_client_receive, but when the wait ends, nothing changes: the request stays in flight and the connection open, for another receive.
 *
 * @param wait  until when to wait; the deadline of the request counts as well, and breaks the connection
 * @return as sto_thrift_client_receive; TS_ECANCELLED: cancelled, or wait.until_ns has passed
 */
int sto_thrift_client_try_receive(struct sto_thrift_client *c, struct sto_thrift_wait wait,
                                  struct sto_thrift_reply *out, struct ts_error *err);
/** Send and receive; nothing may be in flight (TS_EBUSY). Errors of both; those of send have *out_sent STO_THRIFT_NOT_SENT. */
int sto_thrift_client_call(struct sto_thrift_client *c, const struct sto_thrift_request *r,
                           struct sto_thrift_wait wait, struct sto_thrift_reply *out,
                           enum sto_thrift_sent *out_sent, struct ts_error *err);
/** Close the connection and forget the requests in flight. The client can be used again. */
void sto_thrift_client_close(struct sto_thrift_client *c);
/** Free received bytes that nobody needs any more; ends the life of the last reply. Nothing happens while requests are in flight. */
void sto_thrift_client_trim(struct sto_thrift_client *c);
/** Requests without a receive. */
unsigned sto_thrift_client_in_flight(const struct sto_thrift_client *c);
/** Is there a connection? It may be broken without anybody having noticed. */
bool sto_thrift_client_is_open(const struct sto_thrift_client *c);

#endif
