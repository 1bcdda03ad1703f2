/*
 * queries.h - queries that run now and the last ones that ended: for /api/stats/query, and to cancel them.
 *
 * Threads    any; one mutex, held for a copy of a few members, never across I/O
 * Source     docs/OPENTSDB.md, section 2.14
 */
#ifndef TSD_PROTOCOLS_HTTP_QUERIES_H
#define TSD_PROTOCOLS_HTTP_QUERIES_H

#include "base/json.h"
#include "tsd/protocols/http/job.h"

#define TSD_QUERIES_KEPT 256 /* ended queries */

struct tsd_queries;
struct tsd_query_entry;
/** Empty list. Aborts when memory is short. */
struct tsd_queries *tsd_queries_new(void);
/** No query runs any more. NULL is harmless. */
void tsd_queries_free(struct tsd_queries *qs);

/** The same for a spec that is run as it stands or as parts of something larger: its echo, and memory for the
 * statistics of the run in the job's limit.
 *  @param member  a JSON member to put in front of the echo, `"exp":[..]`; NULL: none */
void tsd_query_begin_spec(struct tsd_job *job, const struct qry_spec *spec, const struct ts_buf *member);
/** The same for a request that is no query of series: member alone says what. */
void tsd_query_begin_member(struct tsd_job *job, const struct ts_buf *member);
/** For job.c: run has returned. NULL is harmless. text: why it failed, or NULL. */
void tsd_query_end(struct tsd_queries *qs, struct tsd_query_entry *entry, int status, const char *text,
                   bool sent);

/** Forget a query that was only tried (tsd_job_start_now). NULL is harmless. */
void tsd_query_drop(struct tsd_queries *qs, struct tsd_query_entry *entry);
/** {"running":[..],"completed":[..]}; only_id != 0: just this one. */
void tsd_queries_print(struct tsd_queries *qs, uint64_t only_id, struct ts_json *j);
/** Members of an object: "running":[{id,text,client,ms}], and "slow":[{id,text,client,ms,ended}], those max of the kept ones that took longest,
 * the slowest first. */
void tsd_queries_summary(struct tsd_queries *qs, size_t max, struct ts_json *j);
/** How often queries that have ended read a metric (its id, not 0) since the daemon was started, and when the last of them ended; false: never, or so
 * many others were read since that it is not known any more (some 4,000 are kept). The first 64 metrics of a query count. */
bool tsd_queries_reads(struct tsd_queries *qs, uint32_t metric, uint64_t *out_n, int64_t *out_last_ms);
/** Cancel a running query; TS_ENOTFOUND. */
int tsd_queries_cancel(struct tsd_queries *qs, uint64_t id);

#endif
