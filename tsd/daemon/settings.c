/*
 * settings.c - the keys, a row each.
 *
 * Threads    see settings.h
 * Not here   keys of storage (storage/store_conf.c), values that depend on several keys (settings_load.c)
 */
#include "tsd/daemon/settings.h"

#define KIB (1ll << 10)
#define MIB (1ll << 20)
#define GIB (1ll << 30)

/* The member of struct tsd_settings that takes the value; TO_MS: that takes these seconds as milliseconds. */
#define TO(MEMBER)    TS_CONF_TO(struct tsd_settings, MEMBER)
#define TO_MS(MEMBER) TO(MEMBER), .factor = 1000

const struct ts_conf_key tsd_conf_keys[] = {
    TS_KEY_INT("port", "4242", 0, 65535,
               "TCP port of both the line protocol and HTTP. 0 = any free one, named in the log.",
               .opentsdb = "tsd.network.port", TO(port)),
    TS_KEY_STR("bind", "127.0.0.1",
               "Addresses to listen on, comma separated. 0.0.0.0 and :: are all addresses of this machine: "
               "everyone who can connect may read and write.",
               .opentsdb = "tsd.network.bind", TO(bind)),
    TS_KEY_STR("data", "", "Data folder. Created if missing.", TO(data)),
    TS_KEY_INT("workers", "0", 0, 1024,
               "Threads that serve connections and own shards. 0 = one for each core.",
               .opentsdb = "tsd.network.worker_threads"),
    TS_KEY_BYTES(
        "memory_limit", "0", 0, 1024 * 1024 * GIB,
        "Memory of the process; the other limits of memory are shares of it. 15 % of it are left free for "
        "fragmentation. 0 = 60 % of the memory of the machine or of its cgroup. See /api/admin/memory."),
    TS_KEY_BYTES("connection_total_bytes", "0", 0, 1024 * GIB,
                 "Buffered input, and answers of the line protocol that wait for their clients, all "
                 "connections together. A connection that needs more is closed. One client address has at "
                 "most half. 0 = 4 % of memory_limit."),
    TS_KEY_INT("max_connections", "10000", 0, 1000000,
               "Connections above this number are closed at once and counted, as are those for which no "
               "descriptor is left: a quarter of the limit of open files (64 to 8,192) is reserved for the "
               "store's files. 0 = only the limit of open files.",
               .opentsdb = "tsd.core.connections.limit", TO(max_connections)),
    TS_KEY_INT("max_connections_per_address", "1000", 0, 1000000,
               "The same for one IPv4 address or IPv6 network (/64). 0 = no limit. A loopback address may "
               "have 80 % of max_connections, since proxies and collectors on this machine share it, and all "
               "loopback addresses together 90 %.",
               TO(max_connections_per_address)),
    TS_KEY_INT("max_incomplete_requests", "1000", 0, 1000000,
               "Most HTTP requests that have arrived only in part. Above this number the oldest is answered "
               "with 503 and its connection closed. Each worker has an equal share. 0 = no limit.",
               TO(max_incomplete_requests)),
    TS_KEY_INT("idle_timeout_s", "0", 0, 86400 * 30,
               "Connections without traffic for this long are closed. 0 = never: collectors may be silent "
               "for hours.",
               .opentsdb = "tsd.core.socket.timeout", TO_MS(idle_timeout_ms)),
    TS_KEY_BYTES("recv_buffer_bytes", "256k", 4 * KIB, 64 * MIB,
                 "Most bytes read from a socket at once. A larger buffer needs fewer turns under load; each "
                 "worker has one.",
                 TO(recv_buffer_bytes)),
    TS_KEY_BYTES("line_max_bytes", "64k", 256, 64 * MIB,
                 "Longest line of the line protocol. A longer one gets one error line and is skipped.",
                 TO(line_max_bytes)),
    TS_KEY_BYTES("line_reply_max_bytes", "64k", 256, GIB,
                 "Answers to lines that wait for a client that does not read them; further ones are dropped "
                 "and counted, and a sync waits until some were read.",
                 TO(line_reply_max_bytes)),
    TS_KEY_INT("line_max_syncs", "1024", 1, 1000000,
               "Syncs of one connection that wait for their answer; with this many waiting, the connection "
               "is not read.",
               TO(line_max_syncs)),
    TS_KEY_INT("line_read_timeout_s", "60", 0, 86400,
               "A connection whose line has not ended after this time is closed; connections that are idle "
               "between lines stay open. 0 = never.",
               TO_MS(line_read_timeout_ms)),
    TS_KEY_BYTES("series_cache_bytes", "0", 0, 1024 * GIB,
                 "Most memory of the cache of series texts, all workers together. 24 bytes a series are "
                 "enough. 0 = 256M, or an eleventh of memory_limit if that is less.",
                 TO(series_cache_bytes)),
    TS_KEY_INT("new_series_per_min", "1000000", 0, 4294967295,
               "New series that one connection may create in a minute. Above it the connection is not read "
               "for a while, then points of new series are refused while those of known series are accepted. "
               "0 = no limit.",
               TO(new_series_per_min)),
    TS_KEY_INT("new_series_per_min_total", "2000000", 0, 4294967295,
               "The same for all connections together. 0 = no limit.", TO(new_series_per_min_total)),
    TS_KEY_CHOICE("auto_create_metrics", "auto|true|false", "auto",
                  "Create metrics on first use. auto = yes, but no with compat = opentsdb.",
                  .opentsdb = "tsd.core.auto_create_metrics"),
    TS_KEY_INT("max_tags", "0", 0, TSD_TAGS_MAX,
               "Most tags of a series. 0 = 32, but 8 with compat = opentsdb.",
               .opentsdb = "tsd.storage.max_tags"),
    TS_KEY_BYTES("max_metric_bytes", "256", 1, TSD_NAME_BYTES_MAX,
                 "Longest name of a metric. A point with a longer one is refused; points stored before stay "
                 "readable."),
    TS_KEY_BYTES("max_tagk_bytes", "256", 1, TSD_NAME_BYTES_MAX, "Longest tag key."),
    TS_KEY_BYTES("max_tagv_bytes", "1k", 1, TSD_NAME_BYTES_MAX, "Longest tag value."),
    TS_KEY_STR("allow_specialchars", "",
               "Characters allowed in names besides letters, digits and -_./ (63 bytes at most).",
               .opentsdb = "tsd.core.tag.allow_specialchars"),
    TS_KEY_BOOL("allow_old_times", "false", "Accept times <= 0 (before 1970) from clients.",
                TO(rules.old_times)),
    TS_KEY_CHOICE("mode", "rw|ro|wo", "rw",
                  "ro = clients cannot store or delete, wo = they cannot query: these commands and paths do "
                  "not exist then.",
                  .opentsdb = "tsd.mode"),
    TS_KEY_STR("timezone", "UTC",
               "Zone of dates, days and calendar intervals in queries that name no zone, such as "
               "Europe/Berlin. Zones are read from the system's tzdata (TZDIR or /usr/share/zoneinfo).",
               .opentsdb = "tsd.core.timezone"),
    TS_KEY_CHOICE("compat", "none|opentsdb", "none",
                  "opentsdb = behave like OpenTSDB wherever a client could notice a difference; see "
                  "docs/COMPATIBILITY.md."),
    TS_KEY_BYTES("http_max_header_bytes", "64k", KIB, 16 * MIB,
                 "Request line and headers together; a larger request gets 431.", TO(http_max_header_bytes)),
    TS_KEY_BYTES(
        "http_max_body_bytes", "8M", KIB, 4 * GIB,
        "Most bytes of the body of a request, before and after decompression; a larger one gets 413.",
        .opentsdb = "tsd.http.request.max_chunk", TO(http_max_body_bytes)),
    TS_KEY_INT("http_max_inflate_ratio", "100", 1, 1100,
               "A compressed body that inflates to more than this many times its size, and to more than 256 "
               "KiB, gets 413.",
               TO(http_max_inflate_ratio)),
    TS_KEY_INT("json_max_values", "500000", 10000, 1000000000,
               "Elements of arrays and members of objects in a JSON body; a body with more gets 413, and so "
               "does a put of more points. 192 bytes of memory each, 140 more for an object.",
               TO(json_max_values)),
    TS_KEY_BYTES(
        "put_details_max_bytes", "4M", 4 * KIB, GIB,
        "Most bytes of errors that /api/put?details lists; points refused after that are only counted.",
        TO(put_details_max_bytes)),
    TS_KEY_BYTES(
        "http_body_total_bytes", "0", 0, 1024 * GIB,
        "Memory of the bodies of all requests together, as received, inflated and parsed. A request that "
        "needs more gets 503. One client address has at most three quarters. 0 = 15 % of memory_limit."),
    TS_KEY_BYTES("reply_total_bytes", "0", 0, 1024 * GIB,
                 "Memory of all HTTP replies that are made in one piece and wait for their clients; a "
                 "connection whose reply gets no memory is closed. One client address has at most half. 0 = "
                 "6 % of memory_limit."),
    TS_KEY_BYTES("stream_total_bytes", "0", 0, 1024 * GIB,
                 "Memory of all parts of longer HTTP replies that wait for their clients; parts beyond it go "
                 "to files (query_spool_bytes), and further long replies get 503. One client address has at "
                 "most half. 0 = 6 % of memory_limit."),
    TS_KEY_INT("http_read_timeout_s", "60", 1, 86400,
               "A request must have arrived whole within this time after its first byte.",
               TO_MS(http_read_timeout_ms)),
    TS_KEY_BOOL("http_gzip", "true",
                "Compress replies for clients that accept it. Costs processor time, saves network traffic.",
                TO(http_gzip)),
    TS_KEY_STR(
        "http_cors_domains", "",
        "Origins whose web pages may read and change data, comma separated, or * for all. Empty = none.",
        .opentsdb = "tsd.http.request.cors_domains", TO(cors_domains)),
    TS_KEY_STR(
        "http_hosts", "",
        "Names of this daemon that clients may send in the header Host, comma separated, or * for any. "
        "localhost and addresses are always accepted. Empty = any name if addresses other than loopback are "
        "bound, else none, because a web page could point a name of its own at this machine.",
        TO(http_hosts)),
    TS_KEY_CHOICE("http_jsonp", "auto|true|false", "auto",
                  "The parameter jsonp wraps answers in a call of a function, which lets every web page read "
                  "them. auto = no, but yes with compat = opentsdb."),
    TS_KEY_STR("http_cors_headers",
               "Authorization, Content-Type, Accept, Origin, User-Agent, DNT, Cache-Control, X-Mx-ReqToken, "
               "Keep-Alive, X-Requested-With, If-Modified-Since",
               "Headers that pages of these origins may send.", .opentsdb = "tsd.http.request.cors_headers",
               TO(cors_headers)),
    TS_KEY_INT(
        "write_stall_timeout_s", "60", 1, 86400,
        "A client that reads nothing of its reply for this long is disconnected and its query cancelled.",
        TO_MS(write_stall_timeout_ms)),
    TS_KEY_BYTES("write_min_bytes_per_s", "1k", 0, GIB,
                 "A client that reads its reply more slowly than this, on average over "
                 "write_stall_timeout_s, is disconnected. 0 = no minimum.",
                 TO(write_min_bytes_per_s)),
    TS_KEY_INT("query_threads", "0", 0, 1024,
               "Threads that run the pieces of queries. 0 = one for each core."),
    TS_KEY_INT("query_max_running", "16", 1, 1024, "Queries that run at once; further ones wait in a queue.",
               TO(n_query_running)),
    TS_KEY_INT(
        "query_max_waiting", "1000", 1, 1000000,
        "Queries that wait in the queue; further ones get 503. The same limit applies to small requests "
        "(names, annotations, last points) and to pictures, which have threads and queues of their own.",
        TO(query_max_waiting)),
    TS_KEY_INT(
        "query_max_per_address", "250", 1, 1000000,
        "Queries of one client address, running and waiting; further ones get 429. Clients on this machine "
        "may have four times as many, but no address more than three quarters of the queue. One address of "
        "another machine never runs more than three quarters of query_max_running.",
        TO(query_max_per_address)),
    TS_KEY_BYTES("query_spool_bytes", "4G", 0, 1024 * GIB,
                 "Most bytes of files in the data folder for replies whose clients are slow. One reply may "
                 "use a quarter of it, one client address half, and all of them a quarter of the free disk "
                 "space. Above it queries wait for their clients, then replies are cut off. 0 = no files.",
                 TO(query_spool_bytes)),
    TS_KEY_BYTES(
        "query_reply_buffer_bytes", "4M", 256 * KIB, 4 * GIB,
        "Most memory of one reply that waits for its client; the rest goes to a file (query_spool_bytes).",
        TO(query_reply_buffer_bytes)),
    TS_KEY_INT("query_timeout_ms", "30000", 0, 86400000,
               "A query that takes longer, time in the queue included, ends with 408; the time that its "
               "client takes to read does not count. 0 = no limit.",
               .opentsdb = "tsd.query.timeout", TO(query_timeout_ms)),
    TS_KEY_INT("query_max_points", "0", 0, INT64_MAX,
               "A query that reads more points ends with 413. 0 = no limit.",
               .opentsdb = "tsd.query.limits.data_points.default", TO(query_max_points)),
    TS_KEY_BYTES("query_max_bytes", "0", 0, 1024 * GIB,
                 "Memory of one query; a query that needs more ends with 413. 0 = 1G, or half of "
                 "query_total_bytes if that is less.",
                 TO(query_max_bytes)),
    TS_KEY_BYTES(
        "query_total_bytes", "0", 0, 1024 * GIB,
        "Memory of all queries together; one that needs more then ends with 413. 0 = 33 % of memory_limit."),
    TS_KEY_BYTES("query_max_read_bytes", "0", 0, 1024 * 1024 * GIB,
                 "A query that would read more bytes of files, as estimated from their indexes, is refused "
                 "with 413. 0 = no limit.",
                 .opentsdb = "tsd.query.limits.bytes.default", TO(query_max_read_bytes)),
    TS_KEY_INT("query_max_series", "0", 0, INT64_MAX,
               "A query that selects more series is refused with 413. 0 = none.", TO(query_max_series)),
    TS_KEY_INT("query_max_cells", "1000000", 0, INT64_MAX,
               "Totals (by) with more intervals of time are refused with 413; a million are the hours of 114 "
               "years. 0 = 16777216.",
               TO(query_max_cells)),
    TS_KEY_INT("query_max_filters", "100", 0, INT32_MAX,
               "A sub query with more filters is refused with 413. 0 = none.", TO(n_query_filters)),
    TS_KEY_INT("query_max_subqueries", "1000", 0, INT32_MAX,
               "A request with more sub queries is refused with 413. 0 = none.", TO(n_query_subs)),
    TS_KEY_INT("query_max_regex_steps", "1000000000", 0, INT64_MAX,
               "A query whose regular expressions together need more matching steps, of about 10 ns each, is "
               "refused with 413. 0 = no limit.",
               TO(query_max_regex_steps)),
    TS_KEY_CHOICE("skip_unresolved_tagvs", "auto|true|false", "auto",
                  "In a filter, a tag value that no client has sent matches nothing; false = it is an error. "
                  "auto = true, but false with compat = opentsdb.",
                  .opentsdb = "tsd.query.skip_unresolved_tagvs"),
    TS_KEY_INT("graph_max_running", "2", 1, 64,
               "Pictures of /q that are drawn at once, each by a gnuplot process of at most 1 GiB. Twice as "
               "many may wait; further ones are refused with 503.",
               TO(graph_max_running)),
    TS_KEY_INT("graph_max_pixels", "4000000", 10000, 67108864,
               "Width times height of a picture of /q; a larger one is refused with 400.",
               TO(graph_max_pixels)),
    TS_KEY_INT("graph_timeout_s", "10", 1, 3600,
               "A picture that takes longer to draw, or waits longer for its turn, is cancelled.",
               TO_MS(graph_timeout_ms)),
    TS_KEY_BOOL("http_log_level", "false", "/logs?level=NAME changes log_level of the running daemon.",
                TO(http_log_level)),
    TS_KEY_BOOL("allow_diediedie", "false",
                "Clients may end the daemon with the line diediedie or the path /diediedie.",
                TO(allow_diediedie)),
    TS_KEY_BOOL("query_allow_delete", "false", "Queries may delete the points that they select.",
                .opentsdb = "tsd.http.query.allow_delete"),
    TS_KEY_BOOL(
        "uid_allow_delete", "false",
        "Requests may delete names (/api/uid/delete) and metadata of deleted names (POST /api/uid/fsck)."),
    TS_KEY_CHOICE("uid_allow_rename", "auto|true|false", "auto",
                  "Requests may rename metrics, tag keys and values (/api/uid/rename). auto = no, but yes "
                  "with compat = opentsdb."),
    TS_KEY_CHOICE("meta_allow_delete", "auto|true|false", "auto",
                  "Requests may delete all annotations of a range (DELETE /api/annotation/bulk), trees and "
                  "all rules of a tree. auto = no, but yes with compat = opentsdb."),
    TS_KEY_BYTES(
        "annotation_max_bytes", "64k", 1 * KIB, 8 * MIB,
        "Most bytes of the texts of one annotation, of the metadata of one name or series, or of one rule of "
        "a tree: names, descriptions, notes and custom fields together. Longer ones are refused with 413.",
        TO(annotation_max_bytes)),
    TS_KEY_STR(
        "views_folder", "",
        "Folder of the shared views of the web page, a file of JSON for each. It is made when the first "
        "view is saved. Empty = the folder views in the data folder.",
        TO(views_folder)),
    TS_KEY_INT("views_max", "1000", 0, 10000,
               "Most files of shared views; further ones are refused with 413. 0 = clients can save none.",
               TO(n_views)),
    TS_KEY_INT(
        "metrics_max_sorted", "10000", 1, 1000000,
        "Metrics whose figures /api/tsd/metrics computes to sort by one of them: the first ones by name "
        "of those that match. An answer to which others would belong is partial.",
        TO(metrics_max_sorted)),
    TS_KEY_INT(
        "metrics_max_series", "50000", 1, 10000000,
        "Series whose indexes a request for /api/tsd/metrics searches, all of its metrics together and "
        "at least one of each; figures of a metric with more are estimates. 5 us each.",
        TO(metrics_max_series)),
    TS_KEY_INT("metrics_max_points", "500000", 0, 1000000000000,
               "Points that such a request reads to count them; where more are stored, their number is an "
               "estimate.",
               TO(metrics_max_points)),
    TS_KEY_INT("metrics_max_day_points", "2000000", 0, 1000000000000,
               "Points that such a request reads to compare today with yesterday; metrics with more have no "
               "such figures.",
               TO(metrics_max_day_points)),
    TS_KEY_INT("metrics_max_tag_series", "200000", 1, 4294967295,
               "Series whose tags /api/tsd/metric looks at; an answer that left some out says more.",
               TO(metrics_max_tag_series)),
    TS_KEY_CHOICE("meta_series", "auto|true|false", "auto",
                  "/api/search/lookup and /api/uid/tsmeta cover every series. auto = yes, but no with compat "
                  "= opentsdb.",
                  .opentsdb = "tsd.core.meta.enable_tsuid_tracking"),
    TS_KEY_CHOICE("search", "auto|true|false", "auto",
                  "Answer searches for series, names and annotations. auto = yes, but no with compat = "
                  "opentsdb, which needs a plug-in for it.",
                  .opentsdb = "tsd.search.enable"),
    TS_KEY_INT("tree_max_rules", "1000", 0, INT64_MAX,
               "Most rules of one tree (/api/tree); further ones are refused with 413. Every request for a "
               "branch applies each rule to every series. 0 = no limit.",
               TO(tree_max_rules)),
    TS_KEY_STR("histograms_config", "{\"net.opentsdb.core.SimpleHistogramDecoder\": 0}",
               "Ids of histogram codecs, as OpenTSDB's JSON or the name of a file with it that ends in "
               ".json; empty = histograms are refused. Only the simple codec is supported.",
               .opentsdb = "tsd.core.histograms.config"),
    TS_KEY_INT(
        "histogram_max_buckets", "1024", 1, 1000000,
        "Most different buckets of the histograms of one metric; each is stored as a series of its own."),
    TS_KEY_STR("counter_resolution", "",
               "Resolution of the times of increments (incr, /api/incr): pairs METRIC=DURATION, comma "
               "separated, where * may end the "
               "metric and the duration divides a day, as in web.*=1m,hits=1h. The first pair that fits "
               "counts; it is 1s for other "
               "metrics. All increments of such an interval make one point."),
    TS_KEY_BOOL("rollups", "false",
                "Accept rollups that clients send, and answer queries from them where possible.",
                .opentsdb = "tsd.rollups.enable"),
    TS_KEY_STR("rollups_config", "1m,1h,1d",
               "Intervals of rollups, comma separated; or OpenTSDB's JSON, or the name of a file with it "
               "that ends in .json. With remote = hbase the JSON is needed, since it names the tables.",
               .opentsdb = "tsd.rollups.config"),
    TS_KEY_STR("rollups_agg_tag_key", "_aggregate", "Tag that names the aggregator of a pre-aggregate.",
               .opentsdb = "tsd.rollups.agg_tag_key"),
    TS_KEY_STR("rollups_raw_agg_tag_value", "RAW", "Value of this tag for rollups of points.",
               .opentsdb = "tsd.rollups.raw_agg_tag_value"),
    TS_KEY_BOOL("rollups_tag_raw", "false", "Add this tag to rollups of points too.",
                .opentsdb = "tsd.rollups.tag_raw"),
    TS_KEY_BOOL("rollups_block_derived", "true",
                "Refuse rollups by avg and dev, which cannot be rolled up further.",
                .opentsdb = "tsd.rollups.block_derived"),
    TS_KEY_BOOL("admin_remote", "false",
                "Answer requests for /api/admin/... from other machines too, not only from this one.",
                TO(admin_remote)),
    TS_KEY_INT("stop_timeout_s", "10", 0, 3600,
               "Time that clients have to read their replies when the daemon is stopped.",
               TO_MS(stop_timeout_ms)),
    TS_KEY_BOOL("collect", "false",
                "Also run the collectors of tsd collect; their points wait in DATA/collect and arrive "
                "through the daemon's own TCP port.",
                TO(collect)),
    TS_KEY_CHOICE(
        "self_metrics", "auto|true|false", "auto",
        "Store the daemon's own figures (docs/METRICS.md) as metrics tsd.* with the tag host, about 230 "
        "series, which do not count against max_series. auto = yes, but no with compat = opentsdb; never "
        "with mode = ro."),
    TS_KEY_INT("self_metrics_interval_s", "15", 1, 3600, "Seconds between two points of them."),
    TS_KEY_CHOICE("log_level", "debug|info|warn|error", "info", "Log lines below this level are dropped."),
    {.name = NULL},
};
