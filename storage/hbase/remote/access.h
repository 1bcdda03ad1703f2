/*
 * access.h - calls to HBase within the limits of a caller: a connection of the pool, a deadline, repeats.
 *
 * A session holds one connection. Requests that were not sent as a whole, or whose repeat only reads or sets the same state again
 * (sto_thrift_call_info), are repeated after a pause that doubles and has jitter, over another gateway if the first one does not answer, until
 * the deadline of the caller is too near for another pause. Those of a query are not repeated any more, and wait for a few seconds only, once no gateway
 * has answered for away_ms: HBase may be away behind a gateway that takes requests. Others (increments, compare-and-set, rows of a scanner) are repeated by callers that know what a repeat
 * does.
 *
 * Errors     those of storage/remote.h: TS_EBACKEND, TS_ETIMEOUT, TS_ECANCELLED, TS_ELIMIT; of a scanner also TS_ENOTFOUND. The text names the
 *            gateway, unless HBase itself has answered with an exception
 * Threads    the access: any; a session belongs to one thread
 * Not here   what is requested
 */
#ifndef STORAGE_HBASE_REMOTE_ACCESS_H
#define STORAGE_HBASE_REMOTE_ACCESS_H

#include "storage/hbase/thrift/client.h"
#include "storage/hbase/thrift/pool.h"
#include "storage/remote.h"

struct sto_hbase_access;
struct sto_hbase_scanner; /* closer.h */

/* How to reach HBase. Everything is copied, except names of configuration keys, which are static, and the account. */
struct sto_hbase_access_opts {
    const struct sto_thrift_gateway *gateways; /* n_gateways of them, at least one */
    size_t n_gateways;
    enum sto_thrift_transport transport; /* that of the gateways */
    struct ts_tls *tls;                  /* connections use it; owned together. NULL: no TLS */
    unsigned max_connections;            /* to all gateways together; 0 = 8 */
    int64_t timeout_ms;                  /* until a reply is given up and its request repeated; 0 = 30000 */
    int64_t connect_timeout_ms;          /* for one gateway; 0 = 5000 */
    int64_t call_ms;                     /* deadline of calls without one; 0 = 60000 */
    /* after this time without an answer to anybody, calls of queries are not repeated and wait for twice this time; 0 = 2000 */
    int64_t away_ms;
    size_t max_reply_bytes;          /* of one reply; 0 = 64 MiB */
    struct ts_budget *memory;        /* account of replies; NULL: not counted */
    const char *max_connections_key; /* configuration key of that limit, for the error; NULL = not named */
    const char *max_reply_key;       /* the same of max_reply_bytes */
};
/** Nothing is connected by this. */
struct sto_hbase_access *sto_hbase_access_new(const struct sto_hbase_access_opts *opts);
/** No session may be open. NULL is ignored. */
void sto_hbase_access_free(struct sto_hbase_access *a);

/* A connection and the limits of the call that uses it. */
struct sto_hbase_session {
    struct sto_hbase_access *access;
    struct sto_thrift_client *client; /* may be used directly: pipelines, scanners */
    struct sto_thrift_wait wait;      /* deadline and cancellation of the whole call */
    bool is_query;                    /* see struct sto_remote_call */
    /* a call that is cancelled leaves its request in flight, for sto_hbase_leave_scanner; the caller keeps the request */
    bool leaves;
};
/**
 * Take a connection, which is opened by the first request.
 *
 * @param call  limits; NULL = none but the default deadline. Borrowed until the end of the session
 * @return 0; TS_ETIMEOUT: none became free, or the deadline has passed already; TS_ECANCELLED
 */
int sto_hbase_begin(struct sto_hbase_access *a, const struct sto_remote_call *call,
                    struct sto_hbase_session *out, struct ts_error *err);
/** Return the connection; requests in flight are abandoned. Idempotent. */
void sto_hbase_end(struct sto_hbase_session *s);
/** Deadline and cancellation of one request that is sent now: timeout_ms, or twice away_ms for a query while nobody answers, but not after the deadline of the
 * session. For callers that use the client directly. */
struct sto_thrift_wait sto_hbase_attempt(const struct sto_hbase_session *s);
/**
 * Send a request and receive its reply, with repeats. Nothing else may be in flight over the connection.
 *
 * @param out       [out] borrowed until the next call of the session
 * @param out_sent  [out] what became of the request, of all attempts: only NOT_SENT excludes that it was executed. After an error ANSWERED means an exception,
 *                  of which IO_ERROR may come after execution, or after that of some of the rows; may be NULL
 * @return 0; or an error:
 *         TS_EBACKEND    with out->outcome set HBase has answered with an exception, and a repeat is useless (sto_hbase_is_final), is not
 *                        harmless, or did not help before the deadline; without, no gateway has answered
 *         TS_ETIMEOUT    the deadline of the session has passed while the reply was awaited
 *         TS_ECANCELLED  within 100 ms
 *         TS_ELIMIT      the request or the reply is too large, or its account is full
 *         TS_ENOTFOUND   it is of a scanner whose connection is closed: open a new one. A connection that breaks during a request of a scanner is
 *                        TS_EBACKEND, and a scanner that has expired TS_EBACKEND with outcome ILLEGAL_ARGUMENT
 */
int sto_hbase_call(struct sto_hbase_session *s, const struct sto_thrift_request *r,
                   struct sto_thrift_reply *out, enum sto_thrift_sent *out_sent, struct ts_error *err);
/**
 * End with a scanner that has replies on their way, as when its fetch was cancelled: its connection goes to a thread that receives them,
 * closes the scanner and then the connection, and the session gets another one, which is not open yet. The scanner of a connection that is broken,
 * or that cannot be closed within seconds, ends by its lease.
 *
 * @param requests  taken; nothing else of the session is in flight
 */
void sto_hbase_leave_scanner(struct sto_hbase_session *s, struct sto_hbase_scanner *requests);
/** The next row of a reply to getMultiple, which was asked for with this key; out->row.p is NULL if HBase has no such row. A gateway that leaves
 * rows out or returns others must not make the caller take them for those that it has asked for. 0; TS_ECORRUPT. */
int sto_hbase_asked_row(struct sto_thrift_items *it, struct ts_slice key, struct sto_thrift_row *out,
                        struct ts_error *err);
/** Would the same request fail again? True of every exception but a TIOError that may be repeated; HBase also allows repeats of puts to families and
 * tables that do not exist, so the text is looked at. */
bool sto_hbase_is_final(const struct sto_thrift_reply *r);
/** Did HBase refuse rows of this request, so that the others could be accepted without them? Exceptions that concern a whole table are none. */
bool sto_hbase_refuses_rows(const struct sto_thrift_reply *r);
/** Wait before attempt number n (0 = the first one, which does not wait) of something that the caller repeats itself: a pause that doubles from 50 ms to 5 s, of
 * which half is jitter. 0; TS_ETIMEOUT at once: the deadline would pass meanwhile, or the session is that of a query and no gateway has answered any session
 * for away_ms; TS_ECANCELLED within 100 ms. */
int sto_hbase_pause(struct sto_hbase_session *s, unsigned n, struct ts_error *err);
/** Translate an error of the Thrift2 layer into one of storage/remote.h, which is returned; sets err->code (err may be NULL). */
int sto_hbase_error(int rc, struct ts_error *err);
/** Counters: calls, call_repeats, call_exceptions, call_timeouts, call_failures, connections_in_use, connections_idle, connection_waits,
 * connection_waits_in_vain; each(arg, "calls", 5). */
void sto_hbase_access_status(struct sto_hbase_access *a,
                             void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
