/*
 * status_get.c - requests for a daemon's status and for its metrics, and what /api/stats and /api/suggest say instead of a
 * daemon that has no /api/tsd.
 *
 * Threads    the main thread
 * Source     docs/openapi.yaml; docs/OPERATIONS.md, "What to watch" (names of figures)
 */
#include "tsd/commands/status.h"

#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/commands/client.h"

#include <string.h>
#include <strings.h>

#define METRICS_PAGE  200   /* more metrics of a page when those of the daemon itself are left out */
#define METRICS_MOST  10000 /* of a page */
#define METRICS_PAGES 100

/* --- the status from /api/stats --- */

/* Value of a figure of /api/stats, which may be text. */
static double stats_value(const json_t *figure)
{
    const json_t *v = json_object_get(figure, "value");
    const char *text = json_string_value(v);
    struct ts_num n;
    if (text)
        return ts_num_parse(ts_slice_str(text), &n, NULL) == 0 ? ts_num_double(n) : 0;
    return json_number_value(v);
}

double tsd_stats_sum(const json_t *stats, const char *name, const char *tagk, const char *tagv)
{
    double sum = 0;
    size_t i;
    json_t *figure;
    bool found = false;
    json_array_foreach(stats, i, figure)
    {
        const char *metric = json_string_value(json_object_get(figure, "metric"));
        const char *value =
            tagk ? json_string_value(json_object_get(json_object_get(figure, "tags"), tagk)) : NULL;
        if (!metric || strncmp(metric, "tsd.", 4) != 0 || strcmp(metric + 4, name) != 0)
            continue;
        if (tagv && (!value || strcmp(value, tagv) != 0))
            continue;
        sum += stats_value(figure);
        found = true;
    }
    return found ? sum : -1;
}

/* Set root.part.name to the sum of a figure, if there is one. */
static void stats_take(json_t *part, const char *name, const json_t *stats, const char *figure)
{
    double n = tsd_stats_sum(stats, figure, NULL, NULL);
    if (n >= 0)
        (void)json_object_set_new(part, name, json_real(n));
}

/* Accounts of memory, and what was refused for which reason. */
static void stats_lists(json_t *root, const json_t *stats)
{
    json_t *memory = json_array(), *refused = json_array(), *figure;
    size_t i;
    json_array_foreach(stats, i, figure)
    {
        const char *metric = json_string_value(json_object_get(figure, "metric"));
        json_t *tags = json_object_get(figure, "tags");
        const char *account = json_string_value(json_object_get(tags, "account"));
        const char *type = json_string_value(json_object_get(tags, "type"));
        double value = stats_value(figure);
        if (metric && account && strcmp(metric, "tsd.memory.used_bytes") == 0) {
            double limit = tsd_stats_sum(stats, "memory.limit_bytes", "account", account);
            json_t *row = json_pack("{s:s, s:f}", "account", account, "used", value);
            if (limit > 0)
                (void)json_object_set_new(row, "limit", json_real(limit));
            if (limit > 0 || value > 0)
                (void)json_array_append(memory, row);
            json_decref(row);
        }
        if (metric && type && value > 0 && strcmp(metric, "tsd.rpc.errors") == 0)
            (void)json_array_append_new(refused, json_pack("{s:s, s:f}", "reason", type, "count", value));
    }
    (void)json_object_set_new(root, "memory", memory);
    (void)json_object_set_new(root, "refused", refused);
}

static json_t *status_from_stats(const json_t *version, const json_t *stats)
{
    json_t *root = json_object(), *totals = json_object(), *connections = json_object();
    double now_ms = (double)ts_clock_ms(), uptime_s = tsd_stats_sum(stats, "process.uptime_s", NULL, NULL);
    double files = tsd_stats_sum(stats, "storage.files.points", NULL, NULL);
    double memory = tsd_stats_sum(stats, "storage.memstore.points", NULL, NULL);
    double bytes = tsd_stats_sum(stats, "storage.files.bytes", NULL, NULL);
    double log = tsd_stats_sum(stats, "storage.wal.bytes", NULL, NULL);
    double open = tsd_stats_sum(stats, "connectionmgr.connections", "type", "open");
    (void)json_object_set(root, "version", json_object_get(version, "version"));
    (void)json_object_set_new(root, "now", json_real(now_ms));
    if (uptime_s >= 0)
        (void)json_object_set_new(root, "started", json_real(now_ms - uptime_s * 1000));
    if (files >= 0 && memory >= 0)
        (void)json_object_set_new(totals, "points", json_real(files + memory));
    stats_take(totals, "series", stats, "storage.catalog.series");
    stats_take(totals, "metrics", stats, "storage.catalog.metrics");
    stats_take(totals, "files", stats, "storage.files.count");
    if (bytes >= 0 && log >= 0)
        (void)json_object_set_new(totals, "bytes_on_disk", json_real(bytes + log));
    if (open >= 0)
        (void)json_object_set_new(connections, "open", json_real(open));
    (void)json_object_set_new(root, "totals", totals);
    (void)json_object_set_new(root, "connections", connections);
    stats_lists(root, stats);
    return root;
}

int tsd_status_get(const struct tsd_args *args, json_t **out, struct ts_error *err)
{
    json_t *version = NULL, *stats = NULL;
    int rc = tsd_client_json(args, "/api/tsd/status", TSD_STATUS_TIMEOUT_MS, out, err);
    if (rc != TS_ENOTFOUND)
        return rc;
    rc = tsd_client_json(args, "/api/version", TSD_STATUS_TIMEOUT_MS, &version, err);
    if (rc == 0)
        rc = tsd_client_json(args, "/api/stats", TSD_STATUS_TIMEOUT_MS, &stats, err);
    if (rc == 0)
        *out = status_from_stats(version, stats);
    json_decref(version);
    json_decref(stats);
    return rc;
}

/* --- metrics --- */

/* Does a name fit to a pattern? */
static bool metrics_fits(const char *pattern, const char *name)
{
    if (!pattern)
        return true;
    return strpbrk(pattern, "*?") ? ts_slice_fits(ts_slice_str(name), ts_slice_str(pattern))
                                  : strcasestr(name, pattern) != NULL;
}

/* Is the metric one that the daemon stores about itself? */
static bool metrics_own(const char *name)
{
    return strncmp(name, "tsd.", 4) == 0;
}

/* Names alone, in the form of /api/tsd/metrics. */
static int metrics_from_names(const struct tsd_args *args, const struct tsd_metrics_request *request,
                              json_t **out, struct ts_error *err)
{
    json_t *names, *name, *list;
    size_t i;
    bool more = false;
    TS_TRY(
        tsd_client_json(args, "/api/suggest?type=metrics&max=1000000", TSD_STATUS_TIMEOUT_MS, &names, err));
    list = json_array();
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name) || !metrics_fits(request->pattern, json_string_value(name)) ||
            (!request->own && metrics_own(json_string_value(name))))
            continue;
        more = json_array_size(list) >= request->limit;
        if (more)
            break;
        (void)json_array_append_new(list, json_pack("{s:O}", "metric", name));
    }
    *out = json_pack("{s:o, s:b}", "metrics", list, "more", more);
    json_decref(names);
    return 0;
}

/* One page of /api/tsd/metrics. */
static int metrics_page(const struct tsd_args *args, const struct tsd_metrics_request *request, size_t offset,
                        json_t **out, struct ts_error *err)
{
    struct ts_buf path;
    ts_buf_init(&path, 0);
    (void)ts_buf_printf(&path, "/api/tsd/metrics?limit=%zu&sort=%s", request->limit,
                        request->sort ? request->sort : "name");
    if (offset)
        (void)ts_buf_printf(&path, "&offset=%zu", offset);
    if (request->pattern) {
        (void)ts_buf_str(&path, strpbrk(request->pattern, "*?") ? "&pattern=" : "&match=");
        (void)ts_buf_uri(&path, ts_slice_str(request->pattern));
    }
    (void)ts_buf_char(&path, 0);
    int rc = tsd_client_json(args, path.p, TSD_STATUS_TIMEOUT_MS, out, err);
    ts_buf_release(&path);
    return rc;
}

/* Move metrics that were asked for from a page to the list, up to the limit; returns how many are tsd.* and left out. */
static size_t metrics_take(const struct tsd_metrics_request *request, const json_t *page, json_t *list,
                           bool *more)
{
    size_t i, n_left_out = 0;
    json_t *metric;
    json_array_foreach(json_object_get(page, "metrics"), i, metric)
    {
        const char *name = json_string_value(json_object_get(metric, "metric"));
        if (name && !request->own && metrics_own(name))
            n_left_out++;
        else if (name && metrics_fits(request->pattern, name) && json_array_size(list) < request->limit)
            (void)json_array_append(list, metric);
        else
            *more |= name && metrics_fits(request->pattern, name);
    }
    return n_left_out;
}

/* Replace the list of the answer by the metrics that were asked for. More pages are read while those of the daemon itself stand before others. */
static int metrics_pick(const struct tsd_args *args, const struct tsd_metrics_request *request,
                        json_t *answer, struct ts_error *err)
{
    struct tsd_metrics_request next = *request;
    json_t *list = json_array(), *page = json_incref(answer);
    size_t n_seen = 0, n_left_out = 0;
    bool more = false;
    int rc = 0;
    next.limit = request->limit + METRICS_PAGE < METRICS_MOST ? request->limit + METRICS_PAGE : METRICS_MOST;
    for (size_t n_pages = 0; rc == 0 && page; n_pages++) {
        size_t n = json_array_size(json_object_get(page, "metrics"));
        more = json_is_true(json_object_get(page, "more"));
        n_seen += n;
        n_left_out += metrics_take(request, page, list, &more);
        json_decref(page);
        page = NULL;
        if (n && more && !request->own && json_array_size(list) < request->limit && n_pages < METRICS_PAGES)
            rc = metrics_page(args, &next, n_seen, &page, err);
    }
    (void)json_object_set_new(answer, "metrics", list);
    (void)json_object_set_new(answer, "more", json_boolean(more));
    (void)json_object_set_new(answer, "left_out", json_integer((json_int_t)n_left_out));
    return rc;
}

int tsd_metrics_get(const struct tsd_args *args, const struct tsd_metrics_request *request, json_t **out,
                    struct ts_error *err)
{
    int rc = metrics_page(args, request, 0, out, err);
    if (rc == TS_ENOTFOUND)
        return metrics_from_names(args, request, out, err);
    if (rc < 0)
        return rc;
    rc = metrics_pick(args, request, *out, err);
    if (rc < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}
