/*
 * hbase_keys.c - the configuration keys of HBase, and what their values mean together.
 *
 * Threads    see hbase.h
 */
#include "tsd/daemon/hbase.h"

#include "base/cut.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "base/tls.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/rowkey.h"
#include "tsd/ingest/rollups.h"

#define AT_ONCE_MS  100 /* between passes with hbase_ship = at_once */
#define THRIFT_PORT "9090"
#define SHIP_MAX_S  86400
#define MIB         (1ll << 20)

/* Values as they stand in the keys. */
struct values {
    const char *remote, *gateways, *transport, *ship, *counters;
    struct sto_hbase_tables tables;
    unsigned salt_buckets, salt_width, metric_width, tagk_width, tagv_width;
    int64_t timeout_ms, connect_timeout_ms, keep_local_ms;
    unsigned max_connections, ship_connections, scan_connections;
    uint64_t max_cached_ids, max_reply_bytes, memory_bytes;
    bool sole_writer, compact, tls;
    const char *tls_ca, *tls_cert, *tls_key;
};
#define TO(MEMBER) TS_CONF_TO(struct values, MEMBER)

const struct ts_conf_key tsd_hbase_conf_keys[] = {
    TS_KEY_CHOICE(
        "remote", "none|hbase", "none",
        "The store behind the data folder. hbase = points are accepted and kept here as always, sent to "
        "OpenTSDB's tables in HBase after hbase_ship, and queries read both. See docs/OPERATIONS.md.",
        TO(remote)),
    TS_KEY_STR("hbase_gateways", "127.0.0.1:" THRIFT_PORT,
               "Thrift2 gateways of HBase as host:port, comma separated; the port is 9090 if none is given, "
               "and IPv6 is "
               "written [ADDRESS]:port. Several are used "
               "at the same time, and one that does not answer is left out.",
               TO(gateways)),
    TS_KEY_STR("hbase_data_table", "tsdb", "Table of the points, as NAME or NAMESPACE:NAME.",
               .opentsdb = "tsd.storage.hbase.data_table", TO(tables.data)),
    TS_KEY_STR("hbase_uid_table", "tsdb-uid", "Table of the ids of names.",
               .opentsdb = "tsd.storage.hbase.uid_table", TO(tables.uid)),
    TS_KEY_STR("hbase_tree_table", "tsdb-tree", "Table of the trees.",
               .opentsdb = "tsd.storage.hbase.tree_table", TO(tables.tree)),
    TS_KEY_STR("hbase_meta_table", "tsdb-meta", "Table of the metadata of series.",
               .opentsdb = "tsd.storage.hbase.meta_table", TO(tables.meta)),
    TS_KEY_INT(
        "hbase_salt_buckets", "20", 1, INT32_MAX,
        "Number of salts of row keys, if hbase_salt_width is not 0. Every program that uses the tables needs "
        "the same value, for as long as they exist.",
        .opentsdb = "tsd.storage.salt.buckets", TO(salt_buckets)),
    TS_KEY_INT(
        "hbase_salt_width", "0", 0, STO_HBASE_MAX_WIDTH,
        "Bytes of the salt in row keys; 0 = no salt. The same for every program, as hbase_salt_buckets.",
        .opentsdb = "tsd.storage.salt.width", TO(salt_width)),
    TS_KEY_INT(
        "hbase_metric_width", "3", 1, STO_HBASE_MAX_WIDTH,
        "Bytes of the id of a metric; 3 are enough for 16,777,215 metrics. The same for every program.",
        .opentsdb = "tsd.storage.uid.width.metric", TO(metric_width)),
    TS_KEY_INT("hbase_tagk_width", "3", 1, STO_HBASE_MAX_WIDTH, "Bytes of the id of a tag key.",
               .opentsdb = "tsd.storage.uid.width.tagk", TO(tagk_width)),
    TS_KEY_INT("hbase_tagv_width", "3", 1, STO_HBASE_MAX_WIDTH, "Bytes of the id of a tag value.",
               .opentsdb = "tsd.storage.uid.width.tagv", TO(tagv_width)),
    TS_KEY_CHOICE("hbase_transport", "buffered|framed", "buffered",
                  "Transport of the gateways: framed if hbase.regionserver.thrift.framed is true.",
                  TO(transport)),
    TS_KEY_BOOL(
        "hbase_tls", "false",
        "Connections to the gateways use TLS, and their certificates are checked. HBase's own gateway "
        "has no TLS for these transports: put a proxy such as stunnel or HAProxy before it.",
        TO(tls)),
    TS_KEY_STR(
        "hbase_tls_ca", "",
        "File with the certificates that sign those of the gateways, in PEM form. Empty: those that the "
        "system trusts.",
        TO(tls_ca)),
    TS_KEY_STR("hbase_tls_cert", "",
               "File with the certificate of this daemon, in PEM form, if the gateways ask for one.",
               TO(tls_cert)),
    TS_KEY_STR("hbase_tls_key", "", "File with the private key of hbase_tls_cert, without a passphrase.",
               TO(tls_key)),
    TS_KEY_INT(
        "hbase_timeout_ms", "30000", 100, STO_HBASE_WAIT_MAX_MS,
        "A gateway that has not answered a request after this time is given up, and the request is sent to "
        "another one if a repeat does no harm.",
        TO(timeout_ms)),
    TS_KEY_INT("hbase_connect_timeout_ms", "5000", 10, 600000, "Time to connect to a gateway.",
               TO(connect_timeout_ms)),
    TS_KEY_INT("hbase_max_connections", "16", STO_HBASE_CONNECTIONS_MIN, STO_HBASE_CONNECTIONS_MAX,
               "Most connections to all gateways together. Each uses a thread of its gateway.",
               TO(max_connections)),
    TS_KEY_INT("hbase_ship_connections", "4", 1, 256,
               "Connections that send points at the same time; at most hbase_max_connections - 2.",
               TO(ship_connections)),
    TS_KEY_INT("hbase_scan_connections", "4", 1, 256, "Scanners of one query that read at the same time.",
               TO(scan_connections)),
    TS_KEY_STR(
        "hbase_ship", "10",
        "When a point is sent to HBase: at_once, after so many seconds at the latest, or hour = five minutes "
        "after the end of its hour, so that each row is written once; points that arrive later follow "
        "within ten seconds. The longer, the fewer and larger the writes.",
        TO(ship)),
    TS_KEY_BOOL(
        "hbase_compact", "true",
        "The points of an hour that is over are written as one column, as OpenTSDB's compaction does.",
        .opentsdb = "tsd.storage.enable_compaction", TO(compact)),
    TS_KEY_CHOICE(
        "hbase_series_counters", "none|seen|count", "none",
        "What the table of metadata gets for series whose points are sent: seen = a counter of 1, by which "
        "OpenTSDB's "
        "searches find them, as with tsd.core.meta.enable_tsuid_tracking; count = the number of points, "
        "and metadata of new series, as with enable_realtime_ts and enable_tsuid_incrementing too, at the "
        "cost of a request for each "
        "row.",
        TO(counters)),
    TS_KEY_INT("hbase_keep_local_h", "48", 1, 24 * 366 * 100,
               "Points are kept here too until they are this old and HBase has had them for this long. HBase "
               "may lose "
               "what it has just acknowledged.",
               TO(keep_local_ms), .factor = 1),
    TS_KEY_BOOL(
        "hbase_sole_writer", "false",
        "Nobody else writes the series that this daemon writes. Queries then do not ask HBase "
        "for times after the full hour that followed when this was set, and after all points that were "
        "there by then, as far as they are still "
        "kept here (hbase_keep_local_h). Before the first start after the disk was set back to a "
        "snapshot, remove the file COMPLETE of the data folder.",
        TO(sole_writer)),
    TS_KEY_BYTES("hbase_max_reply_bytes", "64M", STO_HBASE_REPLY_MIN_BYTES, STO_HBASE_REPLY_MAX_BYTES,
                 "Longest reply of a gateway.", TO(max_reply_bytes)),
    TS_KEY_INT("hbase_cached_ids", "1000000", 1000, 1000000000,
               "Most names whose ids are kept in memory, about 100 bytes each.", TO(max_cached_ids)),
    TS_KEY_BYTES("hbase_memory_bytes", "256M", 16 * MIB, 1024 * 1024 * MIB,
                 "Memory of replies of HBase and of cached ids, all together; at most half of what "
                 "memory_limit leaves for work.",
                 TO(memory_bytes)),
    {.name = NULL},
};

/* --- gateways --- */

static int bad_gateway(struct ts_slice part, struct ts_error *err)
{
    return ts_error_set(err, TS_EINVAL,
                        "hbase_gateways: \"%.*s\" is no host:port; write several as a:9090,b:9090",
                        TS_SHOWN(part, 80));
}

/* "host:port", "host", "[::1]:port": both parts, the port may be empty. */
static bool split_gateway(struct ts_slice part, struct ts_slice *host, struct ts_slice *port)
{
    const char *colon;
    if (part.n && part.p[0] == '[') {
        const char *end = memchr(part.p, ']', part.n);
        if (!end)
            return false;
        *host = (struct ts_slice){part.p + 1, (size_t)(end - part.p) - 1};
        *port = (struct ts_slice){end + 1, part.n - host->n - 2};
        if (port->n && *port->p != ':')
            return false;
    } else {
        colon = part.n ? memchr(part.p, ':', part.n) : NULL;
        *host = (struct ts_slice){part.p, colon ? (size_t)(colon - part.p) : part.n};
        *port = (struct ts_slice){part.p + host->n, part.n - host->n};
    }
    if (port->n) { /* the colon */
        port->p++;
        port->n--;
        return port->n > 0 && host->n > 0;
    }
    return host->n > 0;
}

static int take_gateway(struct tsd_hbase_settings *out, struct ts_slice part, char **text,
                        struct ts_error *err)
{
    struct ts_slice host, port;
    if (!split_gateway(part, &host, &port) || memchr(host.p, ' ', host.n))
        return bad_gateway(part, err);
    if (!port.n)
        port = ts_slice_str(THRIFT_PORT);
    if (out->opts.access.n_gateways == TSD_HBASE_GATEWAYS_MAX)
        return ts_error_set(err, TS_EINVAL, "hbase_gateways: at most %d gateways can be named",
                            TSD_HBASE_GATEWAYS_MAX);
    struct sto_thrift_gateway *g = &out->gateways[out->opts.access.n_gateways++];
    g->host = *text;
    memcpy(*text, host.p, host.n);
    *text += host.n;
    *(*text)++ = 0;
    g->port = *text;
    memcpy(*text, port.p, port.n);
    *text += port.n;
    *(*text)++ = 0;
    return 0;
}

static int take_gateways(struct tsd_hbase_settings *out, const char *list, struct ts_error *err)
{
    struct ts_slice rest = ts_slice_str(list);
    /* each gateway needs two ends, and its port if it names none */
    char *text = out->gateways_text = ts_xcalloc(1, rest.n + (ts_slice_count(rest, ',') + 1) * 8);
    while (rest.n) {
        struct ts_slice part = ts_slice_trim(ts_slice_cut(&rest, ','));
        if (part.n)
            TS_TRY(take_gateway(out, part, &text, err));
    }
    out->opts.access.gateways = out->gateways;
    return 0;
}

/* --- other values --- */

static int take_ship(struct tsd_hbase_settings *out, const char *text, struct ts_error *err)
{
    int64_t seconds;
    out->ship_whole_hours = !strcmp(text, "hour");
    if (!strcmp(text, "at_once")) {
        out->ship_every_ms = AT_ONCE_MS;
    } else if (!out->ship_whole_hours) {
        if (ts_num_parse_int(ts_slice_str(text), &seconds, NULL) < 0 || seconds < 1 || seconds > SHIP_MAX_S)
            return ts_error_set(err, TS_EINVAL,
                                "hbase_ship is at_once, hour, or 1 to %d seconds, not \"%.60s\"", SHIP_MAX_S,
                                text);
        out->ship_every_ms = seconds * 1000;
    }
    return 0;
}

static int take_tls(struct tsd_hbase_settings *out, const struct values *v, struct ts_error *err)
{
    struct ts_tls_opts o = {.ca_file = v->tls_ca, .cert_file = v->tls_cert, .key_file = v->tls_key};
    if (!v->tls && (*o.ca_file || *o.cert_file || *o.key_file))
        return ts_error_set(err, TS_EINVAL,
                            "hbase_tls_ca, hbase_tls_cert and hbase_tls_key need hbase_tls = true");
    if (!v->tls || !out->on)
        return 0;
    int rc = ts_tls_new(&o, &out->tls, err);
    if (rc < 0)
        ts_error_wrap(err, "hbase_tls");
    out->opts.access.tls = out->tls;
    return rc;
}

static int check_memory(const struct values *v, struct ts_error *err)
{
    return v->max_reply_bytes <= v->memory_bytes
               ? 0
               : ts_error_set(err, TS_EINVAL, "hbase_max_reply_bytes is more than hbase_memory_bytes allows");
}

static void take_opts(struct tsd_hbase_settings *out, const struct values *v)
{
    out->opts.schema = (struct sto_hbase_schema){.metric_width = (uint8_t)v->metric_width,
                                                 .tagk_width = (uint8_t)v->tagk_width,
                                                 .tagv_width = (uint8_t)v->tagv_width,
                                                 .salt_width = (uint8_t)v->salt_width,
                                                 .salt_buckets = v->salt_buckets};
    out->opts.tables = v->tables;
    out->opts.ship_connections = v->ship_connections;
    out->opts.scan_connections = v->scan_connections;
    out->opts.max_cached_ids = (size_t)v->max_cached_ids;
    out->opts.sole_writer = v->sole_writer;
    out->opts.compacts = v->compact;
    out->opts.counters = !strcmp(v->counters, "seen")    ? STO_HBASE_SEEN
                         : !strcmp(v->counters, "count") ? STO_HBASE_COUNTED
                                                         : STO_HBASE_NO_COUNTERS;
    struct sto_hbase_access_opts *a = &out->opts.access;
    a->transport = strcmp(v->transport, "framed") ? STO_THRIFT_BUFFERED : STO_THRIFT_FRAMED;
    a->max_connections = v->max_connections;
    a->timeout_ms = v->timeout_ms;
    a->connect_timeout_ms = v->connect_timeout_ms;
    a->call_ms = 2 * v->timeout_ms;
    a->max_reply_bytes = (size_t)v->max_reply_bytes;
    out->keep_local_ms = v->keep_local_ms * TS_HOUR_MS;
    out->memory_bytes = v->memory_bytes;
    out->gateways_key = v->gateways;
}

/* Names of keys that are set without effect. */
static void note_unused(void *arg, const struct ts_conf_key *key, const char *value)
{
    struct ts_buf *names = arg;
    if (strncmp(key->name, "hbase_", 6) != 0 || !strcmp(value, key->def))
        return;
    ts_buf_str(names, names->n ? ", " : "");
    ts_buf_str(names, key->name);
}

static void warn_unused(const struct ts_conf *conf)
{
    struct ts_buf names;
    ts_buf_init(&names, 0);
    ts_conf_each(conf, note_unused, &names);
    if (names.n)
        ts_log(TS_LOG_WARN, "no effect without remote = hbase: %.*s", (int)names.n, names.p);
    ts_buf_release(&names);
}

int tsd_hbase_load(const struct ts_conf *conf, struct tsd_hbase_settings *out, struct ts_error *err)
{
    struct values v = {0};
    *out = (struct tsd_hbase_settings){.on = false};
    ts_conf_fill(conf, tsd_hbase_conf_keys, &v);
    out->on = !strcmp(v.remote, "hbase");
    take_opts(out, &v);
    int rc = take_gateways(out, v.gateways, err);
    if (rc == 0)
        rc = sto_hbase_opts_check(&out->opts, err);
    if (rc == 0)
        rc = take_ship(out, v.ship, err);
    if (rc == 0)
        rc = take_tls(out, &v, err);
    if (rc == 0)
        rc = check_memory(&v, err);
    if (rc == 0 && !out->on)
        warn_unused(conf);
    if (rc < 0)
        tsd_hbase_settings_release(out);
    return rc;
}

int tsd_hbase_load_rollups(const struct ts_conf *conf, struct tsd_hbase_settings *set, struct ts_error *err)
{
    char *file = NULL;
    struct ts_slice text;
    bool is_json = false;
    if (!set->on || !ts_conf_bool(conf, "rollups"))
        return 0;
    set->rollups = ts_xcalloc(1, sizeof *set->rollups);
    int rc = tsd_rollups_text(conf, &file, &text, &is_json, err);
    if (rc == 0 && !is_json)
        rc =
            ts_error_set(err, TS_EINVAL,
                         "with remote = hbase it must be OpenTSDB's JSON, which names the tables of rollups");
    if (rc == 0)
        rc = sto_hbase_rollups_parse(text, ts_conf_str(conf, "rollups_agg_tag_key"),
                                     ts_conf_str(conf, "rollups_raw_agg_tag_value"), set->rollups, err);
    ts_free(file);
    if (rc < 0)
        return ts_error_wrap(err, "rollups_config");
    TS_TRY(sto_hbase_names_check(&set->opts.tables, set->rollups, err));
    set->opts.rollups = set->rollups;
    return 0;
}

int tsd_hbase_rules(const struct ts_conf *conf, struct tsd_rules *rules, struct ts_error *err)
{
    static const char *const lengths[] = {"max_metric_bytes", "max_tagk_bytes", "max_tagv_bytes"};
    _Static_assert(TSD_TAGS_HBASE == STO_HBASE_MAX_TAGS, "tags of a row");
    if (strcmp(ts_conf_str(conf, "remote"), "hbase") != 0)
        return 0;
    if (ts_conf_int(conf, "max_tags") > TSD_TAGS_HBASE)
        return ts_error_set(err, TS_EINVAL,
                            "max_tags is %lld, but rows in HBase have at most %d (remote = hbase)",
                            (long long)ts_conf_int(conf, "max_tags"), TSD_TAGS_HBASE);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        if (ts_conf_int(conf, lengths[i]) > STO_HBASE_MAX_NAME_BYTES)
            return ts_error_set(err, TS_EINVAL,
                                "%s is %lld, but names in HBase have at most %d (remote = hbase)", lengths[i],
                                (long long)ts_conf_int(conf, lengths[i]), STO_HBASE_MAX_NAME_BYTES);
    tsd_rules_for_hbase(rules, 0, UINT32_MAX * 1000ll + 999);
    return 0;
}

void tsd_hbase_settings_release(struct tsd_hbase_settings *set)
{
    ts_free(set->gateways_text);
    set->gateways_text = NULL;
    ts_tls_unref(set->tls);
    set->tls = NULL;
    if (set->rollups)
        sto_hbase_rollups_release(set->rollups);
    ts_free(set->rollups);
    set->rollups = NULL;
    set->opts.rollups = NULL;
}
