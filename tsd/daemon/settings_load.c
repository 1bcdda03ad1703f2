/*
 * settings_load.c - the values of the keys in struct tsd_settings, and what they mean together.
 *
 * Threads    see settings.h
 * Not here   the keys (settings.c)
 */
#include "tsd/daemon/settings.h"

#include "base/log.h"
#include "base/pool.h"
#include "tsd/daemon/permissions.h"
#include "tsd/daemon/memory.h"

#include <limits.h>

static unsigned settings_cores(int64_t configured)
{
    return configured > 0 ? (unsigned)configured : ts_pool_cores(UINT_MAX);
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
    *out = (struct tsd_settings){.port = 0};
    bool compat = !strcmp(ts_conf_str(conf, "compat"), "opentsdb");
    tsd_rules_init(&out->rules, compat, settings_auto(conf, "auto_create_metrics", !compat),
                   (unsigned)ts_conf_int(conf, "max_tags"), ts_conf_str(conf, "allow_specialchars"));
    ts_conf_fill(conf, tsd_conf_keys, out);
    settings_mode(conf, out);
    out->jsonp = settings_auto(conf, "http_jsonp", compat);
    out->meta_series = settings_auto(conf, "meta_series", !compat);
    out->search = settings_auto(conf, "search", !compat);
    if (settings_auto(conf, "self_metrics", !compat) && !out->no_writes)
        out->self_interval_ms = ts_conf_int(conf, "self_metrics_interval_s") * 1000;
    TS_TRY(settings_cors(out->cors_domains, err));
    const char *zone = ts_conf_str(conf, "timezone");
    int zone_rc = ts_tz_open(ts_slice_str(zone), &out->zone, err);
    if (zone_rc == TS_EPARSE)
        return ts_error_set(err, TS_EINVAL, "timezone: no zone is called '%s'; names are as Europe/Berlin",
                            zone);
    if (zone_rc < 0)
        return ts_error_wrap(err, "timezone");
    out->n_workers = settings_cores(ts_conf_int(conf, "workers"));
    out->n_query_threads = settings_cores(ts_conf_int(conf, "query_threads"));
    tsd_settings_names(conf, &out->rules);
    TS_TRY(tsd_memory_load(conf, out, err));
    TS_TRY(tsd_histograms_load(conf, &out->histograms, err));
    TS_TRY(tsd_rollups_load(conf, &out->rollups, err));
    TS_TRY(tsd_counters_load(ts_conf_str(conf, "counter_resolution"), &out->rules.counters, err));
    const char *skip = ts_conf_str(conf, "skip_unresolved_tagvs");
    out->values_must_exist = strcmp(skip, "auto") ? !strcmp(skip, "false") : compat;
    if (!*out->data)
        return ts_error_set(err, TS_EINVAL, "no data folder: give --data DIR or set the key data");
    enum ts_log_level level;
    TS_TRY(ts_log_level_parse(ts_conf_str(conf, "log_level"), &level));
    ts_log_set_level(level);
    return 0;
}
