/*
 * ep.h - the endpoints' functions, for the table in routes.c. Contract: struct tsd_endpoint.
 */
#ifndef TSD_PROTOCOLS_HTTP_EP_H
#define TSD_PROTOCOLS_HTTP_EP_H

#include "tsd/protocols/http/http.h"

/* ep_meta.c */
void tsd_ep_meta(struct tsd_req *req);
/* ep_put.c */
void tsd_ep_put(struct tsd_req *req);
void tsd_ep_incr(struct tsd_req *req);
void tsd_ep_rollup(struct tsd_req *req);
void tsd_ep_histogram(struct tsd_req *req);
/* ep_bulk.c */
int tsd_ep_bulk(struct tsd_job *job, struct ts_error *err);
int tsd_ep_bulk_names(struct tsd_job *job, struct ts_error *err);
int tsd_ep_bulk_take(struct tsd_job *job, struct ts_error *err);
/* ep_series.c */
int tsd_ep_series(struct tsd_job *job, struct ts_error *err);
/* ep_graph.c */
void tsd_ep_graph(struct tsd_req *req);
/* ep_legacy.c */
void tsd_ep_stats_text(struct tsd_req *req);
void tsd_ep_favicon(struct tsd_req *req);
void tsd_ep_diediedie(struct tsd_req *req);
/* ep_page.c */
void tsd_ep_page(struct tsd_req *req);
void tsd_ep_page_file(struct tsd_req *req);
/* ep_logs.c */
void tsd_ep_logs(struct tsd_req *req);
/* ep_threads.c */
void tsd_ep_threads(struct tsd_req *req, struct ts_json *j);
void tsd_ep_jvm(struct tsd_req *req, struct ts_json *j);
void tsd_ep_region_clients(struct tsd_req *req);
/* ep_export.c */
int tsd_ep_export(struct tsd_job *job, struct ts_error *err);
/* ep_query.c */
struct tsd_out_format;
/** Format with the highest quality in an Accept header: text/csv, application/x-ndjson or JSON; of equal ones
 * the first. JSON for everything else, including text/plain: clients of OpenTSDB send it and expect JSON.
 * Never NULL. RFC 9110 12.5.1. */
const struct tsd_out_format *tsd_accept_format(struct ts_slice accept);
/** The query of a request: parameters of GET and DELETE, body of POST and flags beside it. */
int tsd_ep_query_parse(struct tsd_job *job, struct qry_spec *spec, struct ts_error *err);
/** May a query be deleted? TS_EINVAL: where, top, totals, a day, month or year as start without an end. */
int tsd_ep_delete_fits(const struct qry_spec *spec, struct ts_error *err);
/** json (also for an Accept that means points) or text of the parameter format; TS_EINVAL for others. */
int tsd_ep_plain_format(struct tsd_job *job, bool *out_json, struct ts_error *err);
/** What the configuration says about queries, after the spec was parsed. */
void tsd_ep_query_settings(const struct tsd_req *req, struct qry_spec *spec);
/** Format of an answer by the parameter format, else by the header Accept, else JSON. TS_EINVAL. */
int tsd_ep_query_format(const struct tsd_req *req, const struct tsd_out_format **out, struct ts_error *err);
void tsd_ep_query(struct tsd_req *req);
int tsd_ep_query_explain(struct tsd_job *job, struct ts_error *err);
int tsd_ep_scan(struct tsd_job *job, struct ts_error *err);
/* ep_delete.c */
struct tsd_deleted;
/** Delete what a query matches between its start and end, both inclusive; durable as a put is when 0 is returned.
 *  Series that have nothing there are not touched.
 *  @param d  prepared; gets what was found. dry: nothing is deleted
 *  @return 0; errors of selecting and reading (nothing is deleted), TS_ECANCELLED before the first delete,
 *          TS_EBUSY, TS_ENOSPC, TS_EIO: some series may be deleted and others not, the text says so
 *  Blocks. */
int tsd_delete_run(struct tsd_job *job, struct tsd_deleted *d, struct ts_error *err);
int tsd_ep_delete(struct tsd_job *job, struct ts_error *err);
/* ep_exp.c */
void tsd_ep_query_exp(struct tsd_req *req);
int tsd_ep_query_gexp(struct tsd_job *job, struct ts_error *err);
/* ep_last.c */
void tsd_ep_query_last(struct tsd_req *req);
/* ep_names.c */
int tsd_ep_suggest(struct tsd_job *job, struct ts_error *err);
/* ep_info.c */
/** Is the value of this configuration key not to be shown? */
bool tsd_conf_secret(const char *name);
void tsd_ep_aggregators(struct tsd_req *req, struct ts_json *j);
void tsd_ep_config(struct tsd_req *req, struct ts_json *j);
void tsd_ep_config_filters(struct tsd_req *req, struct ts_json *j);
void tsd_ep_serializers(struct tsd_req *req, struct ts_json *j);
void tsd_ep_version(struct tsd_req *req);
/* ep_health.c */
void tsd_ep_healthz(struct tsd_req *req);
void tsd_ep_readyz(struct tsd_req *req);
void tsd_ep_metrics_text(struct tsd_req *req);
/* ep_complete.c */
int tsd_ep_complete(struct tsd_job *job, struct ts_error *err);
/* ep_metrics.c */
int tsd_ep_metrics(struct tsd_job *job, struct ts_error *err);
int tsd_ep_metric_stored(struct tsd_job *job, struct ts_error *err);
/* ep_views.c */
int tsd_ep_views(struct tsd_job *job, struct ts_error *err);
/* ep_status.c */
int tsd_ep_status(struct tsd_job *job, struct ts_error *err);
void tsd_ep_cancel(struct tsd_req *req);
/* ep_stats.c */
void tsd_ep_stats(struct tsd_req *req);
void tsd_ep_stats_query(struct tsd_req *req);
/* ep_admin.c */
void tsd_ep_dropcaches(struct tsd_req *req);
void tsd_ep_flush(struct tsd_req *req);
int tsd_ep_reship(struct tsd_job *job, struct ts_error *err);
void tsd_ep_memory(struct tsd_req *req, struct ts_json *j);
void tsd_ep_refused(struct tsd_req *req, struct ts_json *j);
/* ep_compact.c */
int tsd_ep_compact(struct tsd_job *job, struct ts_error *err);
int tsd_ep_rebalance(struct tsd_job *job, struct ts_error *err);

#endif
