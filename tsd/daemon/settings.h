/*
 * settings.h - the keys of the daemon (tsd_conf_keys) and their values in a struct.
 *
 * Threads    filled before threads start, constant afterwards
 */
#ifndef TSD_DAEMON_SETTINGS_H
#define TSD_DAEMON_SETTINGS_H

#include "base/conf.h"
#include "base/time.h"
#include "tsd/ingest/histogram.h"
#include "tsd/ingest/rollups.h"

#define TSD_CORS_MAX 32 /* most origins of http_cors_domains */

struct tsd_settings {
    struct tsd_rules rules;               /* compat, max_tags, allow_specialchars ... */
    struct qry_rollups rollups;           /* keys rollups_...; released by the daemon */
    struct tsd_histograms histograms;     /* keys histogram... */
    const char *bind;                     /* addresses to listen on, comma separated */
    const char *data;                     /* data folder */
    bool no_writes, no_reads;             /* mode = ro, mode = wo */
    const struct ts_tz *zone;             /* of dates and days that come without one */
    const char *cors_domains;             /* allowed origins, "*", or "" */
    const char *cors_headers;             /* headers a page of another origin may send */
    unsigned port;                        /* TCP; 0 = any free one */
    unsigned n_workers;                   /* threads that serve sockets and own shards */
    unsigned n_query_threads;             /* threads that run the pieces of queries */
    unsigned n_query_running;             /* queries at once; more wait */
    unsigned max_connections;             /* 0 = no limit */
    unsigned max_connections_per_address; /* the same of one address that is not loopback */
    size_t recv_buffer_bytes;             /* read from a socket at once */
    size_t line_max_bytes;                /* longest line */
    unsigned line_max_syncs;              /* of a connection, not answered yet */
    int64_t line_read_timeout_ms;         /* after which an unfinished line closes its connection; 0 =
                                           * never */
    size_t line_reply_max_bytes;          /* replies waiting for a client that does not read */
    uint64_t new_series_per_min;          /* of a connection; 0 = no limit */
    uint64_t new_series_per_min_total;    /* of all connections; 0 = no limit */
    size_t series_cache_bytes;            /* texts of series, all workers together */
    size_t http_max_header_bytes;         /* request line and headers */
    size_t http_max_body_bytes;           /* after inflating */
    unsigned http_max_inflate_ratio;      /* inflated bytes of a body for each packed byte */
    size_t json_max_values;               /* of a body */
    size_t put_details_max_bytes;         /* of the errors that /api/put?details lists */
    size_t query_reply_buffer_bytes;      /* of one reply, waiting for its client */
    int64_t idle_timeout_ms;              /* 0 = never */
    int64_t http_read_timeout_ms;         /* for the whole of a request to arrive */
    int64_t write_stall_timeout_ms;       /* a client that reads nothing for this long is disconnected */
    int64_t query_timeout_ms;             /* 0 = none */
    int64_t stop_timeout_ms;              /* for clients to get their replies when the daemon stops */
    uint64_t query_max_read_bytes;        /* of files, by estimate; 0 = none */
    uint64_t query_max_regex_steps;       /* of one query; 0 = none */
    size_t n_query_filters;               /* of a sub query; 0 = none */
    size_t n_query_subs;                  /* of a request; 0 = none */
    uint64_t query_max_points, query_max_bytes, query_max_series; /* of one query; 0 = none */
    uint64_t query_max_cells;                                     /* cells of time of totals; 0 = none */
    bool collect;                                                 /* run the collectors too */
    bool admin_remote;                                            /* /api/admin from other machines */
    bool http_log_level;                                          /* /logs may change the level */
    bool allow_diediedie;                                         /* clients may end the daemon */
    int64_t self_interval_ms; /* the daemon stores its own figures; 0 = it does not */
    bool http_gzip;           /* compress replies for clients that accept
                                                                   * it */
    bool meta_series;         /* lookups and metadata cover series without stored records */
    bool search;              /* /api/search/tsmeta ... */
    uint64_t tree_max_rules;  /* of a tree; 0 = no limit */
    bool values_must_exist;   /* filters with a value that no client has sent fail */
    /* requests that have arrived in part, all workers together; 0 = no limit */
    unsigned max_incomplete_requests;

    size_t annotation_max_bytes; /* texts of an annotation, or of the metadata of a name or series */

    const char *views_folder; /* of shared views; "": in the data folder */
    size_t n_views;           /* most of them */

    /* /api/tsd/metrics, of a request */
    size_t metrics_max_sorted;       /* metrics whose figures are computed for an order */
    size_t metrics_max_series;       /* series whose indexes are searched */
    uint64_t metrics_max_points;     /* read to count them */
    uint64_t metrics_max_day_points; /* read to compare two days */
    size_t metrics_max_tag_series;   /* whose tags are looked at (/api/tsd/metric) */

    /* pictures */
    unsigned graph_max_running; /* drawn at once */
    uint64_t graph_max_pixels;  /* of one */
    int64_t graph_timeout_ms;   /* for gnuplot to draw one */

    /* access by HTTP (tsd/protocols/http/access.h) */
    const char *http_hosts; /* names of this daemon in Host, "*", or "" */
    unsigned allow;         /* what clients may delete and rename, of enum tsd_allow */
    bool jsonp;             /* answers may be wrapped in calls of functions */

    /* memory; never 0 */
    uint64_t memory_limit_bytes;     /* of the process */
    uint64_t query_total_bytes;      /* of all queries; query_max_bytes is never 0 either */
    uint64_t http_body_total_bytes;  /* of all bodies */
    uint64_t reply_total_bytes;      /* of all replies made at once */
    uint64_t stream_total_bytes;     /* of the parts of replies of jobs */
    uint64_t connection_total_bytes; /* of input kept and answers to lines */

    /* jobs */
    unsigned query_max_waiting;     /* in the queue of one class */
    unsigned query_max_per_address; /* running and waiting of one client address */
    uint64_t query_spool_bytes;     /* files of replies that wait for slow clients; 0 = none */
    uint64_t write_min_bytes_per_s; /* of a client that has a reply to take; 0 = any */
};

/** The keys of the daemon, a table for ts_conf_new. */
extern const struct ts_conf_key tsd_conf_keys[];
/** Lengths of names from conf (max_metric_bytes and so on). */
void tsd_settings_names(const struct ts_conf *conf, struct tsd_rules *out);
/** Values from conf (borrowed for the life of out). TS_EINVAL if keys contradict each other. */
int tsd_settings_load(const struct ts_conf *conf, struct tsd_settings *out, struct ts_error *err);

#endif
