/*
 * daemon.h - what the threads of a running daemon share: settings, store, pools, the list of workers.
 *
 * Threads    members are constant while threads run, except the atomics
 */
#ifndef TSD_DAEMON_DAEMON_H
#define TSD_DAEMON_DAEMON_H

#include "base/pool.h"
#include "query/query.h"
#include "storage/store.h"
#include "tsd/daemon/permissions.h"
#include "tsd/daemon/spool.h"
#include "tsd/daemon/hbase.h"
#include "tsd/daemon/peers.h"
#include "tsd/daemon/memory.h"
#include "tsd/daemon/settings.h"
#include "tsd/daemon/views.h"

#include <stdatomic.h>

struct tsd_queries;
struct tsd_schedule;
struct tsd_worker;
struct tsd_protocol;
struct tsd_transport;

/* Why a connection is refused. */
enum tsd_rejection {
    TSD_REJECTED_TOTAL,   /* max_connections */
    TSD_REJECTED_ADDRESS, /* max_connections_per_address */
    TSD_REJECTED_FILES,   /* the limit of open files */
    TSD_REJECTIONS,
};

#define TSD_RATE_SAMPLES 17 /* one a second (net/rates.h) */
/* Counters at a moment. */
struct tsd_rate_sample {
    _Atomic int64_t at_ms; /* monotonic clock */
    _Atomic uint64_t n_in, n_out,
        n_requests; /* points accepted, points read, HTTP requests, since the start */
};

struct tsd_daemon {
    const struct ts_conf *conf; /* all keys, for /api/config */
    const struct tsd_protocol *const
        *protocols;                        /* in the order in which they look at first bytes, ended by NULL */
    struct tsd_settings set;               /* their values */
    const struct tsd_transport *transport; /* under connections; NULL: plain sockets */
    /* Which permissions (enum tsd_permission) a client lacks; NULL: every client has all. Any worker. */
    unsigned (*restrict_client)(const struct tsd_identity *who);
    struct sto_store *store;             /* the store */
    struct tsd_hbase_settings hbase_set; /* keys of HBase */
    struct tsd_hbase *hbase;             /* behind the store; NULL: remote = none */
    struct tsd_memory memory;            /* accounts of memory and their limits */
    struct ts_pool *pieces;              /* parallel pieces of queries */
    struct tsd_queries *queries;         /* running and ended ones; NULL: not kept */
    struct tsd_schedule *jobs;           /* threads for queries, exports and other long jobs */
    struct tsd_schedule *small_jobs;     /* threads for jobs of some ms */
    struct tsd_schedule *picture_jobs;   /* threads for pictures */
    struct ts_pool *refills;             /* reads what slow clients have not taken yet */
    struct tsd_spools spools;            /* the files that hold it */
    _Atomic unsigned n_reply_waits;      /* jobs that wait for their clients, since the spool is full */
    _Atomic uint64_t n_reply_cut;        /* replies cut because too many waited */
    struct tsd_worker **workers;         /* n_workers */
    unsigned n_workers;                  /* threads that serve sockets */
    int64_t started_ms;                  /* wall clock */
    char host[256];                      /* name of this machine, for stats */
    struct tsd_series_total new_series;  /* new series that all connections may create */
    _Atomic uint32_t n_connections;      /* open now; main adds, workers subtract */
    _Atomic uint64_t n_accepted;         /* since the start */
    _Atomic uint64_t n_rejected[TSD_REJECTIONS]; /* connections refused, by reason */
    _Atomic unsigned n_graphs_running,
        n_graphs_waiting; /* pictures being drawn; jobs that wait to draw one */
    _Atomic uint64_t n_graphs_refused,
        n_graphs_late;      /* refused (graph_max_running); ended by graph_timeout_s */
    uint64_t max_fd;        /* connections use descriptors below this one; the others are reserved for
                             * files */
    struct tsd_views views; /* of the web page, shared */
    struct tsd_peers peers; /* connections by address */
    bool loopback_only;     /* only loopback addresses are bound; set before connections are accepted */
    _Atomic uint64_t n_denied[TSD_DENIED_KINDS];           /* requests that access.c refused, by kind */
    struct tsd_rate_sample rate_samples[TSD_RATE_SAMPLES]; /* a ring, written by worker 0 */
    _Atomic uint64_t n_rate_samples;                       /* taken since the start */
    _Atomic uint64_t n_points_read;                        /* by queries that have ended */
    _Atomic bool stopping;                                 /* the daemon is being stopped */
    _Atomic uint64_t n_self_points,
        n_self_skipped; /* points about the daemon itself (net/self_metrics.h): stored, not stored */
    _Atomic uint64_t n_self_no_series,
        n_self_late;                /* of the last round: without a series; not taken by the store in time */
    _Atomic uint32_t drop_requests; /* incremented by dropcaches; workers check it each turn */
};

#endif
