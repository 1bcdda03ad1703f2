/*
 * settings.c - one row a key.
 *
 * Threads    see settings.h
 * Not here   keys of storage (storage/store.c)
 */
#include "tsd/settings.h"

#include "base/log.h"
#include "tsd/http/http.h"
#include "tsd/memory.h"

#include <unistd.h>

#define KIB (1ll << 10)
#define MIB (1ll << 20)
#define GIB (1ll << 30)

const struct ts_conf_key tsd_conf_keys[] = {
    {.name = "port",
     .type = TS_CONF_INT,
     .def = "4242",
     .max = 65535,
     .opentsdb = "tsd.network.port",
     .help = "TCP port for the line protocol and HTTP alike. 0 = any free one, named in the log."},
    {.name = "bind",
     .type = TS_CONF_STR,
     .def = "127.0.0.1",
     .opentsdb = "tsd.network.bind",
     .help =
         "Addresses to listen on, comma separated. 0.0.0.0 and :: are all of this machine's: everybody who "
         "reaches them may read and write."},
    {.name = "data", .type = TS_CONF_STR, .def = "", .help = "Data folder. Made if missing."},
    {.name = "workers",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 1024,
     .opentsdb = "tsd.network.worker_threads",
     .help = "Threads that serve sockets and own shards. 0 = one for each core."},
    {.name = "memory_limit",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * 1024 * GIB,
     .help = "Memory of the process; the other limits of memory are shares of it. 15 % of it stay free for "
             "fragmentation. 0 = 60 % of what the machine or the cgroup has. See /api/admin/memory."},
    {.name = "connection_total_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help = "Input that is kept and answers of the line protocol that wait, all connections together. A "
             "connection that needs more is closed. 0 = 4 % of memory_limit."},
    {.name = "max_connections",
     .type = TS_CONF_INT,
     .def = "10000",
     .max = 1000000,
     .opentsdb = "tsd.core.connections.limit",
     .help = "Connections above this many are closed at once and counted, and those for which no descriptor "
             "is left: a quarter of "
             "the limit of open files (64 to 8,192) is kept for the store's files. 0 = no limit of ours."},
    {.name = "max_connections_per_address",
     .type = TS_CONF_INT,
     .def = "1000",
     .max = 1000000,
     .help = "The same for one IPv4 address or IPv6 network (/64). Loopback has no such limit. 0 = none."},
    {.name = "max_incomplete_requests",
     .type = TS_CONF_INT,
     .def = "1000",
     .max = 1000000,
     .help = "HTTP requests that have arrived in part. Above it the oldest is answered with 503 and its "
             "connection closed. Each worker has "
             "its share. 0 = no limit."},
    {.name = "idle_timeout_s",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 86400 * 30,
     .opentsdb = "tsd.core.socket.timeout",
     .help = "Close connections on which nothing moved for so long. 0 = never: collectors may be silent for "
             "hours."},
    {.name = "recv_buffer_bytes",
     .type = TS_CONF_BYTES,
     .def = "256k",
     .min = 4 * KIB,
     .max = 64 * MIB,
     .help =
         "Read from one socket at once. Larger = fewer turns under load; each worker has one such buffer."},
    {.name = "line_max_bytes",
     .type = TS_CONF_BYTES,
     .def = "64k",
     .min = 256,
     .max = 64 * MIB,
     .help = "Longest line of the line protocol. A longer one gets one error line and is skipped."},
    {.name = "line_reply_max_bytes",
     .type = TS_CONF_BYTES,
     .def = "64k",
     .min = 256,
     .max = GIB,
     .help = "Replies to lines kept for a client that does not read them; more are dropped and counted, and "
             "a sync is not "
             "looked at before some were read."},
    {.name = "line_max_syncs",
     .type = TS_CONF_INT,
     .def = "1024",
     .min = 1,
     .max = 1000000,
     .help = "Syncs of one connection that wait for their answer; at more the connection is not read."},
    {.name = "line_read_timeout_s",
     .type = TS_CONF_INT,
     .def = "60",
     .max = 86400,
     .help = "A connection whose line has not ended after so long is closed; those that are silent between "
             "lines stay. 0 = "
             "never."},
    {.name = "series_cache_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help = "Most memory for texts of series already seen, all workers together. 24 bytes a series are "
             "enough. 0 = 256M, or an eighth of memory_limit if that is less."},
    {.name = "new_series_per_min",
     .type = TS_CONF_INT,
     .def = "1000000",
     .max = 4294967295,
     .help = "New series that one connection may make in a minute. Above it the connection is not read for a "
             "while, then "
             "points of new series are refused; those of known series are taken. 0 = no limit."},
    {.name = "new_series_per_min_total",
     .type = TS_CONF_INT,
     .def = "2000000",
     .max = 4294967295,
     .help = "The same for all connections together. 0 = no limit."},
    {.name = "auto_create_metrics",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .opentsdb = "tsd.core.auto_create_metrics",
     .help = "Make metrics on first use. auto = yes, but no with compat = opentsdb."},
    {.name = "max_tags",
     .type = TS_CONF_INT,
     .def = "0",
     .max = TSD_TAGS_MAX,
     .opentsdb = "tsd.storage.max_tags",
     .help = "Most tags of a series. 0 = 32, but 8 with compat = opentsdb."},
    {.name = "max_metric_bytes",
     .type = TS_CONF_BYTES,
     .def = "256",
     .min = 1,
     .max = TSD_NAME_BYTES_MAX,
     .help = "Longest name of a metric. A point with a longer one is refused; what is stored already stays "
             "readable."},
    {.name = "max_tagk_bytes",
     .type = TS_CONF_BYTES,
     .def = "256",
     .min = 1,
     .max = TSD_NAME_BYTES_MAX,
     .help = "Longest tag key."},
    {.name = "max_tagv_bytes",
     .type = TS_CONF_BYTES,
     .def = "1k",
     .min = 1,
     .max = TSD_NAME_BYTES_MAX,
     .help = "Longest tag value."},
    {.name = "allow_specialchars",
     .type = TS_CONF_STR,
     .def = "",
     .opentsdb = "tsd.core.tag.allow_specialchars",
     .help = "Characters allowed in names besides letters, digits and -_./ (63 bytes at most)."},
    {.name = "allow_old_times",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help = "Take times <= 0 (before 1970) from clients."},
    {.name = "mode",
     .type = TS_CONF_CHOICE,
     .def = "rw",
     .choices = "rw|ro|wo",
     .opentsdb = "tsd.mode",
     .help = "ro = clients cannot store or delete, wo = they cannot query: those commands and paths are not "
             "there."},
    {.name = "timezone",
     .type = TS_CONF_STR,
     .def = "UTC",
     .opentsdb = "tsd.core.timezone",
     .help =
         "Zone of the dates, days and calendar intervals of queries that name none, as Europe/Berlin. Zones "
         "are read from the system's tzdata (TZDIR or /usr/share/zoneinfo)."},
    {.name = "compat",
     .type = TS_CONF_CHOICE,
     .def = "none",
     .choices = "none|opentsdb",
     .help = "opentsdb = every behaviour a client of OpenTSDB could notice, also where ours is better; see "
             "docs/COMPATIBILITY.md."},
    {.name = "http_max_header_bytes",
     .type = TS_CONF_BYTES,
     .def = "64k",
     .min = KIB,
     .max = 16 * MIB,
     .help = "Request line and headers together; a larger request gets 431."},
    {.name = "http_max_body_bytes",
     .type = TS_CONF_BYTES,
     .def = "8M",
     .min = KIB,
     .max = 4 * GIB,
     .opentsdb = "tsd.http.request.max_chunk",
     .help = "Body of a request, also after inflating; a larger one gets 413."},
    {.name = "http_max_inflate_ratio",
     .type = TS_CONF_INT,
     .def = "100",
     .min = 1,
     .max = 1100,
     .help = "A packed body that inflates to more than this many times its size, and to more than 256 KiB, "
             "gets 413."},
    {.name = "json_max_values",
     .type = TS_CONF_INT,
     .def = "500000",
     .min = 10000,
     .max = 1000000000,
     .help = "Elements of arrays and members of objects in a JSON body; a body with more gets 413, and so "
             "does a put "
             "of more points. 140 bytes of memory each."},
    {.name = "put_details_max_bytes",
     .type = TS_CONF_BYTES,
     .def = "4M",
     .min = 4 * KIB,
     .max = GIB,
     .help = "Most bytes of errors that /api/put?details lists; points refused after that are only counted."},
    {.name = "http_body_total_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help =
         "Bodies of all requests together, as they arrive, inflated and parsed. A request that needs more "
         "gets 503. 0 = 15 % of memory_limit."},
    {.name = "reply_total_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help = "Parts of HTTP replies that wait for their clients, all together. 0 = 10 % of memory_limit."},
    {.name = "http_read_timeout_s",
     .type = TS_CONF_INT,
     .def = "60",
     .min = 1,
     .max = 86400,
     .help = "A request that has begun must be here whole after this time."},
    {.name = "http_gzip",
     .type = TS_CONF_BOOL,
     .def = "true",
     .help = "Compress replies for clients that accept it. Costs the daemon time, saves the network bytes."},
    {.name = "http_cors_domains",
     .type = TS_CONF_STR,
     .def = "",
     .opentsdb = "tsd.http.request.cors_domains",
     .help = "Origins whose pages may read and change what is here, comma separated, or * for all. Empty = "
             "none."},
    {.name = "http_hosts",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Names by which clients call this daemon in the header Host, comma separated, or * for any. "
             "localhost and addresses "
             "are always taken. Empty = any while more than loopback is bound, else none: a web page could "
             "point a name of its "
             "own at this machine."},
    {.name = "http_jsonp",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .help = "The parameter jsonp wraps answers in a call of a function, which lets every web page read "
             "them. auto = no, but yes with "
             "compat = opentsdb."},
    {.name = "http_cors_headers",
     .type = TS_CONF_STR,
     .opentsdb = "tsd.http.request.cors_headers",
     .def = "Authorization, Content-Type, Accept, Origin, User-Agent, DNT, Cache-Control, X-Mx-ReqToken, "
            "Keep-Alive, "
            "X-Requested-With, If-Modified-Since",
     .help = "Headers such pages may send."},
    {.name = "write_stall_timeout_s",
     .type = TS_CONF_INT,
     .def = "60",
     .min = 1,
     .max = 86400,
     .help = "A client that takes nothing of its reply for so long is dropped and its query cancelled."},
    {.name = "write_min_bytes_per_s",
     .type = TS_CONF_BYTES,
     .def = "1k",
     .max = GIB,
     .help = "A client that takes less of its reply than this, on average over write_stall_timeout_s, is "
             "dropped. "
             "0 = any rate will do."},
    {.name = "query_threads",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 1024,
     .help = "Threads that do the pieces of queries. 0 = one for each core."},
    {.name = "query_max_running",
     .type = TS_CONF_INT,
     .def = "16",
     .min = 1,
     .max = 1024,
     .help = "Queries at once; more wait in line."},
    {.name = "query_max_waiting",
     .type = TS_CONF_INT,
     .def = "1000",
     .min = 1,
     .max = 1000000,
     .help =
         "Queries that wait in line; more get 503. The same holds for small requests (names, annotations, "
         "last points) and for pictures, which have threads and lines of their own."},
    {.name = "query_max_per_address",
     .type = TS_CONF_INT,
     .def = "250",
     .min = 1,
     .max = 1000000,
     .help =
         "Queries of one client address, running and waiting; more get 429. Clients on this machine may "
         "have four times as many. One address never runs more than three quarters of query_max_running."},
    {.name = "query_spool_bytes",
     .type = TS_CONF_BYTES,
     .def = "4G",
     .max = 1024 * GIB,
     .help =
         "Files in the data folder for replies whose clients are slow; one reply has at most a quarter, and "
         "three quarters of what is free on the disk stay free. Above it queries wait for their clients, "
         "then replies are cut. 0 = none."},
    {.name = "query_reply_buffer_bytes",
     .type = TS_CONF_BYTES,
     .def = "4M",
     .min = 256 * KIB,
     .max = 4 * GIB,
     .help = "Of one reply, waiting for its client; what is above it goes to a file (query_spool_bytes)."},
    {.name = "query_timeout_ms",
     .type = TS_CONF_INT,
     .def = "30000",
     .max = 86400000,
     .opentsdb = "tsd.query.timeout",
     .help =
         "A query that takes longer, waiting in line included, is ended with 408; the time its client takes "
         "to read does not count. 0 = none."},
    {.name = "query_max_points",
     .type = TS_CONF_INT,
     .def = "0",
     .max = INT64_MAX,
     .opentsdb = "tsd.query.limits.data_points.default",
     .help = "A query that reads more points is ended with 413. 0 = none."},
    {.name = "query_max_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help = "Memory of one query; more ends it with 413. 0 = 1G, or half of query_total_bytes if that is "
             "less."},
    {.name = "query_total_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * GIB,
     .help = "Memory of all queries together; one that needs more then ends with 413. 0 = 40 % of "
             "memory_limit."},
    {.name = "query_max_read_bytes",
     .type = TS_CONF_BYTES,
     .def = "0",
     .max = 1024 * 1024 * GIB,
     .opentsdb = "tsd.query.limits.bytes.default",
     .help = "A query that would read more of files, by the estimate of their indexes, is refused with 413. "
             "0 = none."},
    {.name = "query_max_series",
     .type = TS_CONF_INT,
     .def = "0",
     .max = INT64_MAX,
     .help = "A query that selects more series is refused with 413. 0 = none."},
    {.name = "query_max_cells",
     .type = TS_CONF_INT,
     .def = "1000000",
     .max = INT64_MAX,
     .help =
         "Totals (by) with more cells of time, as hours of 114 years, are refused with 413. 0 = 16777216."},
    {.name = "query_max_filters",
     .type = TS_CONF_INT,
     .def = "100",
     .max = INT32_MAX,
     .help = "A sub query with more filters is refused with 413. 0 = none."},
    {.name = "query_max_subqueries",
     .type = TS_CONF_INT,
     .def = "1000",
     .max = INT32_MAX,
     .help = "A request with more sub queries is refused with 413. 0 = none."},
    {.name = "query_max_regex_steps",
     .type = TS_CONF_INT,
     .def = "1000000000",
     .max = INT64_MAX,
     .help = "A query whose regular expressions together take more steps of matching, some 10 ns each, is "
             "refused "
             "with 413. 0 = none."},
    {.name = "skip_unresolved_tagvs",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .opentsdb = "tsd.query.skip_unresolved_tagvs",
     .help = "A value that nobody sent matches nothing in a filter; false = it is an error. auto = true, but "
             "false with "
             "compat = opentsdb."},
    {.name = "graph_max_running",
     .type = TS_CONF_INT,
     .def = "2",
     .min = 1,
     .max = 64,
     .help = "Pictures of /q that are drawn at once, each by a gnuplot of at most 1 GiB. Twice as many wait, "
             "further ones are refused with 503."},
    {.name = "graph_max_pixels",
     .type = TS_CONF_INT,
     .def = "4000000",
     .min = 10000,
     .max = 67108864,
     .help = "Width times height of a picture of /q; a larger one is refused with 400."},
    {.name = "graph_timeout_s",
     .type = TS_CONF_INT,
     .def = "10",
     .min = 1,
     .max = 3600,
     .help = "A picture that takes longer to draw, or to wait for its turn, is ended."},
    {.name = "http_log_level",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help = "/logs?level=NAME changes log_level of the running daemon."},
    {.name = "allow_diediedie",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help = "Clients may end the daemon with the line diediedie or /diediedie."},
    {.name = "query_allow_delete",
     .type = TS_CONF_BOOL,
     .def = "false",
     .opentsdb = "tsd.http.query.allow_delete",
     .help = "Queries may ask to delete what they read."},
    {.name = "uid_allow_delete",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help = "Requests may delete names (/api/uid/delete) and metadata of names that are gone (POST "
             "/api/uid/fsck)."},
    {.name = "uid_allow_rename",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .help = "Requests may rename metrics, tag keys and values (/api/uid/rename). auto = no, but yes with "
             "compat = opentsdb."},
    {.name = "meta_allow_delete",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .help = "Requests may delete all annotations of a range (DELETE /api/annotation/bulk), trees and all "
             "rules of a tree. auto = no, "
             "but yes with compat = opentsdb."},
    {.name = "annotation_max_bytes",
     .type = TS_CONF_BYTES,
     .def = "64k",
     .min = 1 * KIB,
     .max = 8 * MIB,
     .help = "Texts of one annotation, of the metadata of one name or series, of one rule of a tree: names, "
             "descriptions, notes, custom "
             "fields together. More is refused with 413."},
    {.name = "meta_series",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .opentsdb = "tsd.core.meta.enable_tsuid_tracking",
     .help = "/api/search/lookup and /api/uid/tsmeta know every series. auto = yes, but no with compat = "
             "opentsdb."},
    {.name = "search",
     .type = TS_CONF_CHOICE,
     .def = "auto",
     .choices = "auto|true|false",
     .opentsdb = "tsd.search.enable",
     .help = "Answer searches for series, names and annotations. auto = yes, but no with compat = opentsdb, "
             "which needs a plug-in for it."},
    {.name = "tree_max_rules",
     .type = TS_CONF_INT,
     .def = "1000",
     .max = INT64_MAX,
     .help = "Rules of one tree (/api/tree); more are refused with 413. Each costs every request for a "
             "branch its time, "
             "series by series. 0 = no limit."},
    {.name = "histograms_config",
     .type = TS_CONF_STR,
     .def = "{\"net.opentsdb.core.SimpleHistogramDecoder\": 0}",
     .opentsdb = "tsd.core.histograms.config",
     .help = "Ids of codecs of histograms, as OpenTSDB's JSON or a file of it whose name ends in .json; "
             "empty = histograms "
             "are refused. The simple codec is known."},
    {.name = "histogram_max_buckets",
     .type = TS_CONF_INT,
     .def = "1024",
     .min = 1,
     .max = 1000000,
     .help = "Most different buckets of the histograms of one metric: each is a series of its own."},
    {.name = "rollups",
     .type = TS_CONF_BOOL,
     .def = "false",
     .opentsdb = "tsd.rollups.enable",
     .help = "Take rollups that clients send, and answer queries from them where they fit."},
    {.name = "rollups_config",
     .type = TS_CONF_STR,
     .def = "1m,1h,1d",
     .opentsdb = "tsd.rollups.config",
     .help = "Intervals of rollups, comma separated; or OpenTSDB's JSON, or a file of it whose name ends in "
             ".json."},
    {.name = "rollups_agg_tag_key",
     .type = TS_CONF_STR,
     .def = "_aggregate",
     .opentsdb = "tsd.rollups.agg_tag_key",
     .help = "Tag that names the aggregator of a pre-aggregate."},
    {.name = "rollups_raw_agg_tag_value",
     .type = TS_CONF_STR,
     .def = "RAW",
     .opentsdb = "tsd.rollups.raw_agg_tag_value",
     .help = "Its value for rollups of points."},
    {.name = "rollups_tag_raw",
     .type = TS_CONF_BOOL,
     .def = "false",
     .opentsdb = "tsd.rollups.tag_raw",
     .help = "Give rollups of points that tag too."},
    {.name = "rollups_block_derived",
     .type = TS_CONF_BOOL,
     .def = "true",
     .opentsdb = "tsd.rollups.block_derived",
     .help = "Refuse rollups by avg and dev: they can't be rolled up further."},
    {.name = "admin_remote",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help = "Answer /api/admin/... to other machines too; else only to this one."},
    {.name = "stop_timeout_s",
     .type = TS_CONF_INT,
     .def = "10",
     .max = 3600,
     .help = "Time for clients to get replies under way when the daemon is told to stop."},
    {.name = "collect",
     .type = TS_CONF_BOOL,
     .def = "false",
     .help =
         "Measure this machine too, as tsd collect does; its points come in through our own port and wait in "
         "DATA/collect meanwhile."},
    {.name = "log_level",
     .type = TS_CONF_CHOICE,
     .def = "info",
     .choices = "debug|info|warn|error",
     .help = "Log lines below this level are dropped."},
    {.name = NULL},
};

static unsigned settings_cores(int64_t asked)
{
    long n = asked > 0 ? (long)asked : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

/* "*" beside names is OpenTSDB's start-up error; it is ours too, since it says two things. */
static int settings_cors(const char *domains, struct ts_error *err)
{
    if (strchr(domains, '*') && strcmp(domains, "*") != 0)
        return ts_error_set(err, TS_EINVAL, "http_cors_domains: * can't be mixed with names: %s", domains);
    return 0;
}

void tsd_settings_names(const struct ts_conf *conf, struct tsd_rules *out)
{
    out->max_name_bytes[STO_UID_METRIC] = (size_t)ts_conf_int(conf, "max_metric_bytes");
    out->max_name_bytes[STO_UID_TAGK] = (size_t)ts_conf_int(conf, "max_tagk_bytes");
    out->max_name_bytes[STO_UID_TAGV] = (size_t)ts_conf_int(conf, "max_tagv_bytes");
}

static void settings_limits(const struct ts_conf *conf, struct tsd_settings *out)
{
    out->recv_buffer_bytes = (size_t)ts_conf_int(conf, "recv_buffer_bytes");
    tsd_settings_names(conf, &out->rules);
    out->line_max_bytes = (size_t)ts_conf_int(conf, "line_max_bytes");
    out->line_max_syncs = (unsigned)ts_conf_int(conf, "line_max_syncs");
    out->line_read_timeout_ms = ts_conf_int(conf, "line_read_timeout_s") * 1000;
    out->line_reply_max_bytes = (size_t)ts_conf_int(conf, "line_reply_max_bytes");
    out->new_series_per_min = (uint64_t)ts_conf_int(conf, "new_series_per_min");
    out->new_series_per_min_total = (uint64_t)ts_conf_int(conf, "new_series_per_min_total");
    out->series_cache_bytes = (size_t)ts_conf_int(conf, "series_cache_bytes");
    out->http_max_header_bytes = (size_t)ts_conf_int(conf, "http_max_header_bytes");
    out->http_max_body_bytes = (size_t)ts_conf_int(conf, "http_max_body_bytes");
    out->http_max_inflate_ratio = (unsigned)ts_conf_int(conf, "http_max_inflate_ratio");
    out->json_max_values = (size_t)ts_conf_int(conf, "json_max_values");
    out->put_details_max_bytes = (size_t)ts_conf_int(conf, "put_details_max_bytes");
    out->query_reply_buffer_bytes = (size_t)ts_conf_int(conf, "query_reply_buffer_bytes");
    out->idle_timeout_ms = ts_conf_int(conf, "idle_timeout_s") * 1000;
    out->http_read_timeout_ms = ts_conf_int(conf, "http_read_timeout_s") * 1000;
    out->write_stall_timeout_ms = ts_conf_int(conf, "write_stall_timeout_s") * 1000;
    out->stop_timeout_ms = ts_conf_int(conf, "stop_timeout_s") * 1000;
    out->query_timeout_ms = ts_conf_int(conf, "query_timeout_ms");
    out->write_min_bytes_per_s = (uint64_t)ts_conf_int(conf, "write_min_bytes_per_s");
    out->query_max_waiting = (unsigned)ts_conf_int(conf, "query_max_waiting");
    out->query_max_per_address = (unsigned)ts_conf_int(conf, "query_max_per_address");
    out->query_spool_bytes = (uint64_t)ts_conf_int(conf, "query_spool_bytes");
    out->query_max_points = (uint64_t)ts_conf_int(conf, "query_max_points");
    out->query_max_bytes = (uint64_t)ts_conf_int(conf, "query_max_bytes");
    out->query_max_read_bytes = (uint64_t)ts_conf_int(conf, "query_max_read_bytes");
    out->query_max_series = (uint64_t)ts_conf_int(conf, "query_max_series");
    out->query_max_cells = (uint64_t)ts_conf_int(conf, "query_max_cells");
    out->query_max_regex_steps = (uint64_t)ts_conf_int(conf, "query_max_regex_steps");
    out->n_query_filters = (size_t)ts_conf_int(conf, "query_max_filters");
    out->n_query_subs = (size_t)ts_conf_int(conf, "query_max_subqueries");
}

/* A key auto|true|false. */
static bool settings_auto(const struct ts_conf *conf, const char *key, bool automatic)
{
    const char *value = ts_conf_str(conf, key);
    return strcmp(value, "auto") ? !strcmp(value, "true") : automatic;
}

/* What clients may do. */
static void settings_mode(const struct ts_conf *conf, struct tsd_settings *out)
{
    const char *mode = ts_conf_str(conf, "mode");
    bool ro = !strcmp(mode, "ro"), wo = !strcmp(mode, "wo");
    out->rules.no_points = ro;
    bool compat = out->rules.compat;
    out->allow = (ts_conf_bool(conf, "query_allow_delete") && !ro ? TSD_ALLOW_QUERY_DELETE : 0u) |
                 (ts_conf_bool(conf, "uid_allow_delete") ? TSD_ALLOW_UID_DELETE : 0u) |
                 (settings_auto(conf, "uid_allow_rename", compat) ? TSD_ALLOW_UID_RENAME : 0u) |
                 (settings_auto(conf, "meta_allow_delete", compat) ? TSD_ALLOW_META_DELETE : 0u);
    out->ep_hidden = (compat ? TSD_EP_OURS : 0u) | (ro ? TSD_EP_STORES : 0u) | (wo ? TSD_EP_READS : 0u);
}

int tsd_settings_load(const struct ts_conf *conf, struct tsd_settings *out, struct ts_error *err)
{
    *out = (struct tsd_settings){.bind = ts_conf_str(conf, "bind"), .data = ts_conf_str(conf, "data")};
    bool compat = !strcmp(ts_conf_str(conf, "compat"), "opentsdb");
    tsd_rules_init(&out->rules, compat, settings_auto(conf, "auto_create_metrics", !compat),
                   (unsigned)ts_conf_int(conf, "max_tags"), ts_conf_str(conf, "allow_specialchars"));
    out->rules.old_times = ts_conf_bool(conf, "allow_old_times");
    settings_mode(conf, out);
    out->http_hosts = ts_conf_str(conf, "http_hosts");
    out->jsonp = settings_auto(conf, "http_jsonp", compat);
    out->cors_domains = ts_conf_str(conf, "http_cors_domains");
    out->cors_headers = ts_conf_str(conf, "http_cors_headers");
    out->meta_series = settings_auto(conf, "meta_series", !compat);
    out->search = settings_auto(conf, "search", !compat);
    out->tree_max_rules = (uint64_t)ts_conf_int(conf, "tree_max_rules");
    TS_TRY(settings_cors(out->cors_domains, err));
    const char *zone = ts_conf_str(conf, "timezone");
    int zone_rc = ts_tz_open(ts_slice_str(zone), &out->zone, err);
    if (zone_rc == TS_EPARSE)
        return ts_error_set(err, TS_EINVAL, "timezone: no zone is called '%s'; names are as Europe/Berlin",
                            zone);
    if (zone_rc < 0)
        return ts_error_wrap(err, "timezone");
    out->port = (unsigned)ts_conf_int(conf, "port");
    out->n_workers = settings_cores(ts_conf_int(conf, "workers"));
    out->n_query_threads = settings_cores(ts_conf_int(conf, "query_threads"));
    out->n_query_running = (unsigned)ts_conf_int(conf, "query_max_running");
    out->max_connections = (unsigned)ts_conf_int(conf, "max_connections");
    out->annotation_max_bytes = (size_t)ts_conf_int(conf, "annotation_max_bytes");
    out->graph_max_running = (unsigned)ts_conf_int(conf, "graph_max_running");
    out->graph_max_pixels = (uint64_t)ts_conf_int(conf, "graph_max_pixels");
    out->graph_timeout_ms = ts_conf_int(conf, "graph_timeout_s") * 1000;
    out->max_incomplete_requests = (unsigned)ts_conf_int(conf, "max_incomplete_requests");
    out->max_connections_per_address = (unsigned)ts_conf_int(conf, "max_connections_per_address");
    settings_limits(conf, out);
    TS_TRY(tsd_memory_load(conf, out, err));
    out->collect = ts_conf_bool(conf, "collect");
    TS_TRY(tsd_histograms_load(conf, &out->histograms, err));
    TS_TRY(tsd_rollups_load(conf, &out->rollups, err));
    out->http_log_level = ts_conf_bool(conf, "http_log_level");
    out->allow_diediedie = ts_conf_bool(conf, "allow_diediedie");
    out->admin_remote = ts_conf_bool(conf, "admin_remote");
    out->http_gzip = ts_conf_bool(conf, "http_gzip");
    const char *skip = ts_conf_str(conf, "skip_unresolved_tagvs");
    out->values_must_exist = strcmp(skip, "auto") ? !strcmp(skip, "false") : compat;
    if (!*out->data)
        return ts_error_set(err, TS_EINVAL, "no data folder: give --data DIR or set the key data");
    enum ts_log_level level;
    TS_TRY(ts_log_level_parse(ts_conf_str(conf, "log_level"), &level));
    ts_log_set_level(level);
    return 0;
}
