/*
 * settings_load.c - the values of the keys in struct tsd_settings, and what they mean together.
 *
 * Threads    see settings.h
 * Not here   the keys (settings.c)
 */
#include "tsd/daemon/settings.h"

#include "base/log.h"
#include "tsd/daemon/permissions.h"
#include "tsd/daemon/memory.h"

#include <unistd.h>

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
    bool ro = !strcmp(mode, "ro");
    out->rules.no_points = out->no_writes = ro;
    out->no_reads = !strcmp(mode, "wo");
    bool compat = out->rules.compat;
    out->allow = (ts_conf_bool(conf, "query_allow_delete") && !ro ? TSD_ALLOW_QUERY_DELETE : 0u) |
                 (ts_conf_bool(conf, "uid_allow_delete") ? TSD_ALLOW_UID_DELETE : 0u) |
                 (settings_auto(conf, "uid_allow_rename", compat) ? TSD_ALLOW_UID_RENAME : 0u) |
                 (settings_auto(conf, "meta_allow_delete", compat) ? TSD_ALLOW_META_DELETE : 0u);
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
