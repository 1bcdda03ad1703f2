/*
 * status.h - what a daemon says about itself, for tsd status and tsd top; lists of its metrics.
 *
 * A daemon without /api/tsd/status is asked for /api/stats instead; what is not known then is left out.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_STATUS_H
#define TSD_COMMANDS_STATUS_H

#include "base/json.h"
#include "tsd/commands/cmd.h"

#define TSD_STATUS_TIMEOUT_MS 10000 /* of one request */

/** The daemon's status as the object of /api/tsd/status; the caller owns it. Members that are not known are missing. */
int tsd_status_get(const struct tsd_args *args, json_t **out, struct ts_error *err);
/** Sum of a figure of an answer of /api/stats; -1 if it is not there.
 *  @param name  without "tsd."
 *  @param tagk  with tagv: only figures with this tag; NULL = all */
double tsd_stats_sum(const json_t *stats, const char *name, const char *tagk, const char *tagv);
/** Member by path ("totals.points"); NULL. Borrowed. */
json_t *tsd_status_at(const json_t *root, const char *path);
/** The same as a number; fallback if there is none. */
double tsd_status_num(const json_t *root, const char *path, double fallback);
/** Append the object as JSON, indented. */
void tsd_status_json(const json_t *root, struct ts_buf *out);
/** Append the first lines of a status: version, health, rates, totals, connections. */
void tsd_status_head(const json_t *root, struct ts_buf *out);
/** Append a list of objects as a table with a heading; nothing if it is missing or empty.
 *  @param columns  members to show, "metric,series,bytes"; bytes, used and limit are shown as sizes, times as dates; a column that no object has is left
 *                  out. Numbers of an object whose member "estimated" is true begin with ~, but for series
 *  @param n_keys   the first columns, which are texts
 *  @param max      lines at most */
void tsd_status_list(const json_t *list, const char *heading, const char *columns, size_t n_keys, size_t max,
                     struct ts_buf *out);

/** Queries of a status that took least_ms or longer, with what they ask for as addresses have it in the place of their JSON; the caller owns the list. */
json_t *tsd_status_queries(const json_t *queries, double least_ms);

/* A request for metrics. */
struct tsd_metrics_request {
    const char *pattern; /* part of a name, or a pattern with * and ?; NULL = all */
    const char *sort;    /* "name", ...; NULL = name */
    size_t limit;        /* metrics at most */
    bool own;            /* also tsd.*, which the daemon stores about itself */
};
/** Metrics as the object of /api/tsd/metrics; the caller owns it. A daemon without it lists names alone. The member "left_out" is the number of
 * metrics of the daemon itself that were left out before the list was full. */
int tsd_metrics_get(const struct tsd_args *args, const struct tsd_metrics_request *request, json_t **out,
                    struct ts_error *err);
/** Columns of such metrics that a table shows. */
#define TSD_METRICS_COLUMNS "metric,kind,unit,series,points,bytes,first,last"

#endif
