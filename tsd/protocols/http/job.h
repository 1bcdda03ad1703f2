/*
 * job.h - work that may block, done on a thread of a pool, whose result is streamed to the client.
 *
 *   job's thread                              worker
 *   run(job) > sink > piece full > post ----> head, chunk > socket
 *                       |                          ^ | sent: next one
 *                       +--> spool (a file) -------+-+
 *
 * A run does not wait for its client. Output beyond query_reply_buffer_bytes goes to a file
 * (spool.h) and is sent from there after the run has ended: threads, snapshots and memory of queries are free
 * again whatever their clients do. Only when query_spool_bytes are used up a run waits for its client, at
 * most a quarter of query_max_running at once; the replies of others are cut off then. A client that reads
 * less than write_min_bytes_per_s is disconnected in any case (conn.c). Growing the number of threads instead
 * would keep memory and snapshots for as long as clients like.
 *
 * A result that fits one piece goes out with a Content-Length, errors before the first piece is posted become
 * an error reply; later ones close the connection, so that no client mistakes half a result for a whole one.
 *
 * Threads    run: a pool thread. tsd_job_start, tsd_job_gone: the request's worker
 */
#ifndef TSD_PROTOCOLS_HTTP_JOB_H
#define TSD_PROTOCOLS_HTTP_JOB_H

#include "query/query.h"
#include "tsd/protocols/http/http.h"
#include "base/sink.h"

struct tsd_job;
struct tsd_query_entry;
/* Does the work and writes the body to tsd_job_sink. < 0: err is the error for the client. */
typedef int (*tsd_job_fn)(struct tsd_job *job, struct ts_error *err);

/* Classes of jobs. Each has threads and a queue of its own (schedule.h), so that large jobs never delay small
 * ones. */
enum tsd_job_kind {
    TSD_JOB_SMALL,   /* names, annotations, last points: some ms */
    TSD_JOB_QUERY,   /* of any size, at most query_timeout_ms */
    TSD_JOB_LONG,    /* exports, deletes, flushes: on the threads of queries, without a limit of time */
    TSD_JOB_PICTURE, /* a query and gnuplot */
};
/** As tsd_job_start, but first the worker tries by itself, at once: an answer that takes less than a
 * millisecond needs no other thread, and waking one costs more than the work. run is called with
 * tsd_job_at_once true, must change nothing then, and is called again in a job when it fails with TS_EBUSY,
 * TS_ELIMIT, TS_ENOMEM or TS_ETIMEOUT: too much to read, to choose or to print, or a file that is not in the
 * page cache. */
void tsd_job_start_now(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run);
/** Answer a request with the result of run, 200 and a type (may be changed by tsd_job_type before the first
 * byte), or with 429 or
 * 503 when the queue is full. From the endpoint, in the worker. */
void tsd_job_start(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run);

/* --- inside run --- */
/** Does run work in the worker? Then whatever may take long or wait returns TS_EBUSY. */
bool tsd_job_at_once(const struct tsd_job *job);
/** Threads for the pieces of run's work; NULL: they are done one after the other. */
struct ts_pool *tsd_job_pool(const struct tsd_job *job);
/** Where the body goes. */
struct ts_sink *tsd_job_sink(struct tsd_job *job);
/** The request: everything in it is constant while the job runs. */
const struct tsd_req *tsd_job_req(const struct tsd_job *job);
/** Memory for the life of the job, for run's thread. */
struct ts_arena *tsd_job_arena(struct tsd_job *job);
/** Budget of a query, filled from the settings; cancelled when the client goes. */
struct qry_limit *tsd_job_limit(struct tsd_job *job);
/** Another content type (static text). Before the first byte. */
void tsd_job_type(struct tsd_job *job, const char *type);
/** Another status for success, before the first byte: 400 with a body of its own, or 204 and 304, which have
 * none (what run wrote is dropped). Later, when the head may be sent already, it changes nothing. */
void tsd_job_status(struct tsd_job *job, int status);
/** How long clients may cache a successful reply (Cache-Control). Before the first byte. */
void tsd_job_max_age(struct tsd_job *job, int64_t max_age_s);
/** Members of the body that were ignored: the header X-Tsd-Ignored names them. Before the first byte. */
void tsd_job_ignored(struct tsd_job *job, const struct ts_json_unknown *unknown);
/** The reply is a page, and run may say with tsd_job_after which one follows: before the first byte. False: the client speaks HTTP/1.0, and run writes the token
 * itself. */
bool tsd_job_pages(struct tsd_job *job);
/** The token of the page that follows, as the last thing that run writes: the header X-Tsd-After of a reply in one piece; the trailer of that name of a reply in
 * chunks, if the client takes trailers (TE: trailers); otherwise the last line of the body, "# after TOKEN". Characters of a header only. Errors: TS_ENOMEM,
 * those of the sink. */
int tsd_job_after(struct tsd_job *job, struct ts_slice token, struct ts_error *err);
/** Another status for an error that run returns. */
void tsd_job_error_status(struct tsd_job *job, int status);
/** The request's body as JSON (the caller's: json_decref). TS_EPARSE with OpenTSDB's texts and details. */
int tsd_job_json(struct tsd_job *job, json_t **out, struct ts_error *err);
/** Details of the error object. Copied. */
void tsd_job_error_details(struct tsd_job *job, const char *details);

/* --- for queries.c --- */
/** The job is in the list of queries: job.c reports its end to the list. */
void tsd_job_listed(struct tsd_job *job, struct tsd_query_entry *entry);
/** End the work from outside; any thread, while run has not returned. */
void tsd_job_cancel(struct tsd_job *job);

/* --- for server.c --- */
/* Nice value of threads that compute for long, so that workers, which accept points and answer small queries,
 * take precedence. */
#define TSD_JOBS_NICE 5
/** Make the threads of jobs, from the settings. */
void tsd_jobs_open(struct tsd_daemon *d);
/** Run waiting jobs, end the threads. No new requests are accepted; jobs whose clients have disconnected end
 * at once. */
void tsd_jobs_close(struct tsd_daemon *d);

/* --- for http.c --- */
/** The client has disconnected: cancel the job. */
void tsd_job_gone(struct tsd_job *job);
/** Once a second: a job whose time is over while it waits for a thread is answered. May end the job. */
void tsd_job_tick(struct tsd_job *job);
/** Has the client been sent anything yet? */
bool tsd_job_committed(const struct tsd_job *job);

#endif
