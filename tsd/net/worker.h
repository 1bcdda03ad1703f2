/*
 * worker.h - one thread: an event base, its connections, its port of the store, a queue of calls from other
 * threads.
 *
 * A loop turn: libevent runs what is ready, then the port takes what was put, then connections that can
 * continue without their socket continue, then the dead are freed.
 *
 * Threads    everything here is for the worker's own thread, except tsd_worker_call, _new, _start, _join,
 * _free and the counts, which others read without a lock
 */
#ifndef TSD_NET_WORKER_H
#define TSD_NET_WORKER_H

#include "base/queue.h"
#include "tsd/net/conn.h"
#include "tsd/net/self_metrics.h"
#include "tsd/daemon/daemon.h"
#include "tsd/ingest/ingest.h"

#include <pthread.h>

struct event;
struct event_base;
struct tsd_datagrams;
struct tsd_peer;
struct tsd_worker;

#define TSD_LATENCY_SLOTS 58 /* 2 ms wide up to 100 ms, then doubling up to 16 s, then the rest */

/* Counters of one worker; written by it, read by anyone. */
struct tsd_counts {
    uint64_t n_lines;                  /* commands of the line protocol, puts included */
    uint64_t n_http;                   /* requests */
    uint64_t n_http_put;               /* of them, /api/put and the like */
    uint64_t n_graphs;                 /* of them, /q */
    uint64_t n_datagrams;              /* datagrams of UDP */
    uint64_t n_points;                 /* points taken */
    uint64_t n_refused[TSD_REF_KINDS]; /* points refused, by kind */
    uint64_t n_dropped;                /* error replies dropped because the client did not read */
    uint64_t n_exceptions;             /* requests that failed with a server error */
    uint64_t n_idle;                   /* connections closed for inactivity */
    uint64_t n_line_timeouts;          /* connections closed because a line did not end */
    uint64_t n_stalled;                /* connections closed because the client did not read its reply */
    uint64_t n_incomplete;             /* requests given up because too many were incomplete */
    uint64_t n_paused;                 /* times reading stopped because the store was overloaded */
    uint64_t n_paused_series;          /* times reading of a connection stopped because of its new series */
    uint64_t n_query_ok, n_query_bad, n_query_failed; /* queries by outcome: done, client error, server
                                                       * error */
    uint64_t n_at_once;                               /* of them, answered by the worker itself */
    uint64_t cache_bytes;                             /* texts of series */
    uint64_t n_guessed, n_found, n_missed;            /* series by guess, by table, by catalog */
    uint64_t latency[TSD_LATENCY_SLOTS];              /* HTTP requests by duration */
};

/** Add to a counter of this worker while other threads may read it. */
static inline void tsd_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* A message to a worker: run is called in its thread and owns the call. Put this first into your own struct.
 */
struct tsd_call {
    struct ts_msg msg;
    void (*run)(struct tsd_worker *w, struct tsd_call *call);
};

struct tsd_worker {
    struct tsd_daemon *daemon;                             /* shared, constant */
    unsigned index;                                        /* number of the worker and its port */
    pthread_t thread;                                      /* running after tsd_worker_start */
    struct event_base *base;                               /* libevent's loop */
    struct event *ev_inbox, *ev_port, *ev_tick, *ev_retry; /* calls, store, every second, while paused */
    struct ts_queue *inbox;                                /* struct tsd_call */
    struct tsd_ingest ingest;                              /* series cache and batches; the worker owns
                                                            * ingest.writer */
    char *buf;                                             /* input of the connection being worked on */
    size_t buf_bytes, recv_bytes;                          /* room in buf; read at once */
    struct tsd_datagrams *datagrams;                       /* sockets of UDP, a list */
    struct tsd_conn *conns;                                /* all of ours that are alive */
    struct tsd_conn *run_first, **run_end;                 /* to be worked on without their socket */
    struct tsd_conn *half_first,
        *half_last;           /* those whose request has begun and is not complete, oldest first */
    uint32_t n_half;          /* how many */
    struct tsd_conn *dead;    /* to be freed when nobody holds them */
    _Atomic uint32_t n_conns; /* connections assigned and not freed; main picks the worker with the fewest */
    int64_t now_ms;           /* monotonic clock at the start of the turn */
    uint32_t n_askers;        /* numbers of askers given to connections; after 2^32 they begin again */
    uint32_t drop_seen;       /* dropcaches seen */
    struct tsd_self self;     /* of worker 0 */
    _Atomic bool is_cut;      /* tsd_worker_cut was applied */
    bool paused;              /* the store is overloaded: no input for protocols that pause */
    bool draining;            /* stopping: connections end as soon as they can */
    bool quit;                /* leave the loop */
    struct tsd_counts counts; /* see there */
};

/** New worker i with port i of the store; not running yet. */
struct tsd_worker *tsd_worker_new(struct tsd_daemon *daemon, unsigned index);
/** Begin its thread. */
int tsd_worker_start(struct tsd_worker *w, struct ts_error *err);
/** Any thread: run a call in the worker. */
void tsd_worker_call(struct tsd_worker *w, struct tsd_call *call);
/** Any thread: give an accepted socket to the worker. */
void tsd_worker_adopt(struct tsd_worker *w, const struct tsd_accepted *a);
/** Any thread: read datagrams of a protocol from a bound socket (taken) until the worker drains. */
void tsd_worker_adopt_datagrams(struct tsd_worker *w, int fd, const struct tsd_protocol *proto);
/** Any thread: finish running requests and close connections. n_conns, which the caller polls, is 0 when none
 * is left. */
void tsd_worker_drain(struct tsd_worker *w);
/** Any thread: close the sockets that are left, cancel their work. */
void tsd_worker_cut(struct tsd_worker *w);
/** Wait until that is done: after a drain, nothing is begun any more then. */
void tsd_worker_await_cut(const struct tsd_worker *w);
/** Any thread: leave the loop, when no worker has connections any more (the port is not needed by others
 * then); and wait for it. */
void tsd_worker_stop(struct tsd_worker *w);
/** Wait for its end. */
void tsd_worker_join(struct tsd_worker *w);
/** After join. NULL is harmless. */
void tsd_worker_free(struct tsd_worker *w);

/** Work on a connection's tail at the end of this turn. */
void tsd_worker_run_soon(struct tsd_worker *w, struct tsd_conn *c);
/** A connection died, or the last hold of a dead one is gone. */
void tsd_worker_conn_dead(struct tsd_worker *w, struct tsd_conn *c);
/** The store said it is busy: stop reading until it is not. */
void tsd_worker_pause(struct tsd_worker *w);
/** Put the counters that the ingest keeps for itself where others may read them: after every turn, and before something is sent, so that
 * what an answer says is counted when its client asks. */
void tsd_worker_publish(struct tsd_worker *w);
/** Count one HTTP request that took so long. */
void tsd_worker_latency(struct tsd_worker *w, int64_t ms);

#endif
