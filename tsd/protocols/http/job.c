/*
 * job.c - the life of a job: at once in the worker or on a thread of its class, its time, its end.
 *
 * Threads    see job.h; members say which side they belong to
 * Not here   what is computed (ep_query.c ...), how it is written (out/), how it gets to the client (job_out.c), who runs next
 *            (schedule.c)
 */
#include "tsd/protocols/http/job.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "tsd/protocols/http/job_int.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/daemon/schedule.h"

#define JOB_GZIP_MIN_BYTES 1400 /* smaller results fit one packet as they are */
#define JOB_SMALL_THREADS  4
#ifdef __SANITIZE_THREAD__
#define JOB_ONCE_NS 100000000 /* under the thread sanitizer a small query takes up to some milliseconds */
#else
#define JOB_ONCE_NS 1000000 /* what runs in the worker becomes a job after so much processor time, */
#endif
#define JOB_ONCE_POINTS     20000                 /* or after reading so many points, */
#define JOB_ONCE_SERIES     100                   /* or choosing so many series, */
#define JOB_ONCE_READ_BYTES ((uint64_t)512 << 10) /* or when more of files would be read, */
#define JOB_ONCE_PACK_BYTES ((size_t)16 << 10)    /* or when more is to be compressed; */
#define JOB_ONCE_BODY_BYTES 4096                  /* a longer body and */
#define JOB_ONCE_PARAMS     32                    /* more parameters are not tried */

bool tsd_job_at_once(const struct tsd_job *job)
{
    return job->at_once;
}
struct ts_pool *tsd_job_pool(const struct tsd_job *job)
{
    return job->at_once ? NULL : job->req->d->pieces;
}
struct ts_sink *tsd_job_sink(struct tsd_job *job)
{
    return &job->sink;
}
const struct tsd_req *tsd_job_req(const struct tsd_job *job)
{
    return job->req;
}
struct ts_arena *tsd_job_arena(struct tsd_job *job)
{
    return &job->arena;
}
struct qry_limit *tsd_job_limit(struct tsd_job *job)
{
    return &job->limit;
}
void tsd_job_type(struct tsd_job *job, const char *type)
{
    job->type = type;
}
void tsd_job_max_age(struct tsd_job *job, int64_t max_age_s)
{
    job->has_max_age = true;
    job->max_age_s = max_age_s;
}
void tsd_job_ignored(struct tsd_job *job, const struct ts_json_unknown *unknown)
{
    memcpy(job->ignored, unknown->names, sizeof(job->ignored));
}
void tsd_job_error_status(struct tsd_job *job, int status)
{
    job->status = status;
}
void tsd_job_status(struct tsd_job *job, int status)
{
    if (!job->posted) /* after that the worker reads it: the head is on its way */
        job->ok_status = status;
}
bool tsd_job_committed(const struct tsd_job *job)
{
    return job->head_sent;
}

void tsd_job_error_details(struct tsd_job *job, const char *details)
{
    (void)snprintf(job->details, sizeof(job->details), "%s", details);
}

void tsd_job_listed(struct tsd_job *job, struct tsd_query_entry *entry)
{
    job->entry = entry;
}

void tsd_job_cancel(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    job->ended = true;
    pthread_cond_signal(&job->cond);
    pthread_mutex_unlock(&job->mu);
    /* release: whoever sees it sees why (job_cancelled) */
    atomic_store_explicit(&job->limit.cancelled, true, memory_order_release);
}

/* Has the client gone? Any thread. */
static bool job_gone(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    bool gone = job->gone;
    pthread_mutex_unlock(&job->mu);
    return gone;
}

int job_cancelled(struct tsd_job *job, struct ts_error *err)
{
    pthread_mutex_lock(&job->mu);
    bool ended = job->ended;
    pthread_mutex_unlock(&job->mu);
    if (!ended)
        return ts_error_set(err, TS_ECANCELLED, "the client went away");
    uint64_t n = atomic_load_explicit(&job->limit.n_points, memory_order_relaxed);
    return ts_error_set(err, TS_ECANCELLED,
                        "The query was cancelled through /api/stats/query after %llu points",
                        (unsigned long long)n);
}

int tsd_job_json(struct tsd_job *job, json_t **out, struct ts_error *err)
{
    struct ts_error why = {0};
    *out = NULL;
    if (job->req->body.n == 0) {
        tsd_job_error_details(job, "Supply valid JSON formatted data in the body of your request");
        return ts_error_set(err, TS_EPARSE, "Missing message content");
    }
    int rc = ts_json_load(job->req->body, out, &why);
    if (rc == 0)
        return 0;
    if (rc == TS_ENOMEM)
        return tsd_memory_no_body(&job->req->d->memory, job->req->arena.budget, job->req->body.n, err);
    if (rc != TS_EPARSE)
        return ts_error_set(err, rc, "%s", why.text);
    tsd_job_error_details(job, why.text);
    return ts_error_set(err, TS_EPARSE, "Unable to parse the given JSON");
}

/* --- worker's side --- */

/* Threads that a job of a kind runs on. */
static struct tsd_schedule *job_schedule(struct tsd_daemon *d, enum tsd_job_kind kind)
{
    return kind == TSD_JOB_SMALL ? d->small_jobs : kind == TSD_JOB_PICTURE ? d->picture_jobs : d->jobs;
}

static void job_run_end(struct tsd_worker *w, struct tsd_call *call);

/* Nobody needs a job any more that may still be queued: then it ends without having run, and its place is free. */
static void job_take_back(struct tsd_job *job)
{
    if (atomic_load_explicit(&job->begun, memory_order_relaxed) || /* a hint that saves the walk */
        !tsd_schedule_remove(job_schedule(job->req->d, job->kind), job))
        return;
    job->rc = job_check(job, &job->err);
    job->end.run = job_run_end;
    tsd_worker_call(job->req->w, &job->end);
}

void tsd_job_gone(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    job->gone = true;
    pthread_cond_signal(&job->cond);
    pthread_mutex_unlock(&job->mu);
    /* release: whoever sees it sees why (job_cancelled) */
    atomic_store_explicit(&job->limit.cancelled, true, memory_order_release);
    job_take_back(job);
}

/* Give back what the run used; its reply may still be on its way. */
static void job_release_run(struct tsd_job *job)
{
    struct tsd_memory *memory = &job->req->d->memory;
    ts_arena_release(&job->arena);
    ts_budget_give_all(&job->memory);
    atomic_fetch_add_explicit(&memory->n_query_refused, atomic_load(&job->memory.n_refused),
                              memory_order_relaxed);
    atomic_store(&job->memory.n_refused, 0);
    unsigned why = atomic_exchange(&job->limit.refusal, QRY_REFUSAL_NONE);
    if (!job->at_once) /* what a worker's try may not use is no limit of the query */
        atomic_fetch_add_explicit(&memory->n_query_ended[why], 1, memory_order_relaxed);
    tsd_memory_ended(memory, atomic_load(&job->memory.peak_bytes));
}

static void job_free(struct tsd_job *job)
{
    job_release_run(job);
    job_out_release(job);
    ts_buf_release(&job->after);
    pthread_mutex_destroy(&job->mu);
    pthread_cond_destroy(&job->cond);
    ts_free(job);
}

static bool job_wraps(const struct tsd_job *job)
{
    return job->type == tsd_type_json && tsd_req_jsonp(job->req).n > 0;
}

void job_head(struct tsd_job *job, int64_t length)
{
    bool partial = qry_limit_incomplete(&job->limit);
    job->req->partial = partial ? "remote store" : NULL;
    job->req->left_out = job_left_out(job);
    job->req->has_max_age = job->has_max_age && !partial && !job->req->left_out;
    job->req->max_age_s = job->max_age_s;
    job->req->ignored = job->ignored[0] ? job->ignored : NULL;
    job->req->pages = job->pages;
    if (length >= 0 && job->after.n) { /* the run has ended */
        struct ts_slice after = ts_buf_get(&job->after);
        job->req->after =
            (struct ts_slice){after.p + sizeof JOB_LAST_CHUNK - 1, after.n - (sizeof JOB_LAST_CHUNK - 1) - 2};
    }
    tsd_reply_head(job->req, job->ok_status, job->type, length, job->packs);
}

/* The end of the chunks is sent, or the connection is gone: all pieces are back. */
static void job_last_done(void *arg, struct tsd_block *block)
{
    struct tsd_job *job = arg;
    struct tsd_req *req = job->req;
    (void)block;
    req->job = NULL;
    job_free(job);
    tsd_reply_done(req);
}

static int job_status(const struct tsd_job *job)
{
    return job->rc < 0 ? job->status ? job->status : tsd_http_status(job->rc, job->req->d->set.rules.compat)
                       : job->ok_status;
}

static void job_count(struct tsd_worker *w, const struct tsd_job *job)
{
    int status = job_status(job);
    if (status < 400)
        tsd_count(&w->counts.n_query_ok, 1);
    else if (status < 500)
        tsd_count(&w->counts.n_query_bad, 1);
    else
        tsd_count(&w->counts.n_query_failed, 1);
}

static void job_reply_error(struct tsd_job *job)
{
    struct tsd_req *req = job->req;
    struct ts_error err = job->err;
    char details[sizeof(job->details)];
    int status = job_status(job);
    memcpy(details, job->details, sizeof(details));
    job_free(job);
    tsd_reply_error(req, status, err.text[0] ? err.text : ts_err_text(err.code), details);
}

/* Small enough for one piece: with its length. */
static void job_reply_whole(struct tsd_job *job)
{
    struct tsd_req *req = job->req;
    int status = job->ok_status;
    if (status == 204 || status == 304) {
        job_free(job);
        tsd_reply_empty(req, status);
        return;
    }
    int64_t unpacked = job->packs ? -1 : (int64_t)job->n_bytes; /* of HEAD, whose body nobody packed */
    tsd_conn_reserve(req->c, TSD_REPLY_HEAD_BYTES + (req->head ? 0 : job->cur->n));
    job_head(job, req->head ? unpacked : (int64_t)job->cur->n);
    if (!req->head && !req->c->dead)
        ts_buf_append(&req->c->out, job_data(job->cur), job->cur->n);
    job_free(job);
    tsd_reply_done(req);
}

static void job_run_end(struct tsd_worker *w, struct tsd_call *call)
{
    struct tsd_job *job = (struct tsd_job *)call;
    struct tsd_req *req = job->req;
    job_count(w, job);
    if (!job->posted) {
        req->job = NULL;
        if (job->rc < 0)
            job_reply_error(job);
        else
            job_reply_whole(job);
        return;
    }
    if (job_out_ended(job))
        job_end_reply(job);
}

void job_end_reply(struct tsd_job *job)
{
    struct tsd_req *req = job->req;
    struct ts_error why = job->err;
    pthread_mutex_lock(&job->mu);
    bool rest = job->spool.bytes > job->spool_read; /* it was cancelled after its run */
    pthread_mutex_unlock(&job->mu);
    if (rest && job->rc >= 0)
        (void)job_cancelled(job, &why);
    if (job->rc < 0 || rest) {
        if (!req->c->dead)
            ts_log(TS_LOG_WARN, "reply cut off: %s", why.text);
        tsd_conn_kill(req->c);
    }
    job_trail_left_out(job);
    struct ts_slice end = job->after.n ? ts_buf_get(&job->after) : TS_SLICE_LIT(JOB_LAST_CHUNK "\r\n");
    job->last =
        (struct tsd_block){.p = (char *)(uintptr_t)end.p, .n = end.n, .done = job_last_done, .arg = job};
    if (req->http10)
        job->last.n = 0;
    tsd_conn_send_block(req->c, &job->last);
}

/* --- run's side --- */

int job_check(struct tsd_job *job, struct ts_error *err)
{
    if (atomic_load_explicit(&job->limit.cancelled, memory_order_relaxed))
        return job_cancelled(job, err);
    if (!qry_limit_late(&job->limit))
        return 0;
    atomic_store_explicit(&job->limit.refusal, QRY_REFUSAL_TIME, memory_order_relaxed);
    return ts_error_set(
        err, TS_ETIMEOUT,
        "The query ran out of time after %llu points; decrease your time range (query_timeout_ms)",
        (unsigned long long)atomic_load_explicit(&job->limit.n_points, memory_order_relaxed));
}

/* What is in cur goes through the compressor. */
static int job_pack(struct tsd_job *job, bool finish, struct ts_error *err)
{
    struct ts_slice in = {job_data(job->cur), job->cur->n};
    if (!job->gzip)
        job->gzip = tsd_gzip_new(job->req->deflate);
    for (bool ended = false; in.n || (finish && !ended);) {
        if (!job->packed)
            job->packed = job_out_piece(job, err);
        if (!job->packed)
            return TS_ELIMIT;
        size_t room = JOB_PIECE_BYTES - job->packed->n;
        job->packed->n +=
            tsd_gzip_run(job->gzip, &in, job_data(job->packed) + job->packed->n, room, finish, &ended);
        if (job->packed->n < JOB_PIECE_BYTES)
            continue;
        struct job_piece *full = job->packed;
        job->packed = NULL;
        TS_TRY(job_out_post(job, full, err));
    }
    return 0;
}

static int job_more(struct ts_sink *s, struct ts_error *err)
{
    struct tsd_job *job = s->arg;
    job->cur->n = (size_t)(s->p - s->start);
    job->n_bytes += job->cur->n;
    TS_TRY(job_check(job, err));
    if (job->at_once)
        return ts_error_set(err, TS_EBUSY, "the reply is too long to be made at once");
    if (!job->req->head && job->packs) {
        TS_TRY(job_pack(job, false, err));
    } else if (!job->req->head) {
        struct job_piece *full = job->cur;
        job->cur = NULL;
        TS_TRY(job_out_post(job, full, err));
    }
    return job_out_begin(job, err);
}

/* Last bytes: alone if nothing was posted, else one more piece. */
static int job_finish(struct tsd_job *job, struct ts_error *err)
{
    job->cur->n = (size_t)(job->sink.p - job->sink.start);
    job->n_bytes += job->cur->n;
    if (job->n_bytes < JOB_GZIP_MIN_BYTES)
        job->packs = false;
    if (job->req->head)
        return 0;
    if (job->packs) {
        TS_TRY(job_pack(job, true, err));
        job_out_drop(job, job->cur);
        job->cur = job->packed ? job->packed : job_out_piece(job, err);
        job->packed = NULL;
        if (!job->cur)
            return TS_ELIMIT;
    }
    if (!job->posted || job->cur->n == 0)
        return 0;
    struct job_piece *rest = job->cur;
    job->cur = NULL;
    return job_out_post(job, rest, err);
}

static int job_body(struct tsd_job *job)
{
    struct ts_slice cb = job_wraps(job) ? tsd_req_jsonp(job->req) : (struct ts_slice){NULL, 0};
    if (cb.n) {
        TS_TRY(ts_sink_write(&job->sink, cb, &job->err));
        TS_TRY(ts_sink_str(&job->sink, "(", &job->err));
    }
    TS_TRY(job->run(job, &job->err));
    if (cb.n)
        TS_TRY(ts_sink_str(&job->sink, ")", &job->err));
    return job_finish(job, &job->err);
}

/* The work and its end in the list of queries. */
static void job_work(struct tsd_job *job)
{
    job->rc = job_out_begin(job, &job->err);
    if (job->rc < 0)
        job->status = 503;                          /* later there may be space */
    if (job->rc == 0 && job->at_once && job->packs) /* compressing takes longer than writing */
        job->sink.end = job->sink.start + JOB_ONCE_PACK_BYTES;
    if (job->rc == 0)
        job->rc = job_check(job, &job->err);
    if (job->rc == 0)
        job->rc = job_body(job);
    if (job->rc == TS_ECANCELLED)
        job->rc = job_cancelled(job, &job->err);
    tsd_gzip_free(job->gzip); /* the client may be slow: nothing but its reply is kept for it */
    job->gzip = NULL;
}

static void job_unlist(struct tsd_job *job)
{
    tsd_query_end(job->req->d->queries, job->entry, job_status(job), job->rc < 0 ? job->err.text : NULL,
                  !job_gone(job));
    job->entry = NULL;
}

static void job_task(void *arg)
{
    struct tsd_job *job = arg;
    struct tsd_worker *w = job->req->w;
    atomic_store_explicit(&job->begun, true, memory_order_relaxed); /* a hint: the schedule knows */
    ts_json_small(job->req->body.n <= TSD_REQ_SMALL_BYTES);
    struct sto_catalog *cat = sto_store_catalog(job->req->d->store);
    unsigned reads = sto_catalog_read_begin(cat); /* series that it finds stay where they are */
    job_work(job);
    job_unlist(job);
    job_release_run(job);
    sto_catalog_read_end(cat, reads);
    job->end.run = job_run_end;
    tsd_worker_call(w, &job->end);
}

static bool job_allows_partial(const struct tsd_req *req)
{
    struct ts_slice value;
    return tsd_req_param(req, "allow_partial", &value) && !ts_slice_is(value, "false");
}

static void job_limits(struct tsd_job *job)
{
    struct tsd_daemon *d = job->req->d;
    const struct tsd_settings *set = &d->set;
    ts_budget_init(&job->memory, "one query", "query_max_bytes",
                   tsd_conn_account(job->req->c, TSD_SHARED_QUERIES), set->query_max_bytes);
    job->limit.memory = &job->memory;
    job->limit.max_points = set->query_max_points;
    job->limit.max_bytes = set->query_max_bytes;
    job->limit.max_read_bytes = set->query_max_read_bytes;
    job->limit.max_series = set->query_max_series;
    job->limit.max_cells = set->query_max_cells;
    job->limit.max_regex_steps = set->query_max_regex_steps;
    job->limit.max_filters = set->n_query_filters;
    job->limit.max_subs = set->n_query_subs;
    job->limit.allow_partial = job_allows_partial(job->req);
    if (set->query_timeout_ms && job->kind != TSD_JOB_LONG)
        job->limit.deadline_ns = job->late_ns = job->req->began_ns + set->query_timeout_ms * 1000000;
}

static struct tsd_job *job_new(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run)
{
    struct tsd_job *job = ts_xcalloc(1, sizeof(*job));
    job->req = req;
    job->kind = kind;
    job->run = run;
    job->type = type;
    job->ok_status = 200;
    job->sink = (struct ts_sink){.more = job_more, .arg = job};
    job->spool.all = &req->d->spools;
    job->spool.account = req->c->address ? &req->c->address->spool : &req->d->spools.account;
    job_limits(job);
    ts_arena_init(&job->arena, 0);
    job->arena.budget = &job->memory;
    job->packs = req->gzip_ok && req->d->set.http_gzip;
    pthread_mutex_init(&job->mu, NULL);
    pthread_cond_init(&job->cond, NULL);
    return job;
}

void tsd_job_start(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run)
{
    struct ts_error err = {0};
    if (!tsd_req_keep_body(req)) {
        int rc = tsd_memory_no_body(&req->d->memory, req->arena.budget, req->body.n, &err);
        tsd_reply_err(req, rc, err.text);
        return;
    }
    struct tsd_job *job = job_new(req, kind, type, run);
    req->job = job;
    tsd_req_later(req);
    int rc = tsd_schedule_add(job_schedule(req->d, kind), req->c->address ? req->c->address->key : 0,
                              req->c->who.local, job_task, job, &err);
    if (rc == 0)
        return;
    req->job = NULL;
    job_free(job);
    tsd_reply_error(req, rc == TS_ELIMIT ? 429 : 503, err.text, NULL);
}

void tsd_job_tick(struct tsd_job *job)
{
    if (job->late_ns && ts_clock_mono_ns() > job->late_ns)
        job_take_back(job);
}

static uint64_t job_least(uint64_t a, uint64_t b)
{
    return a && a < b ? a : b; /* 0 = no limit */
}

static void job_once_limits(struct tsd_job *job)
{
    struct qry_limit *l = &job->limit;
    l->deadline_ns = ts_clock_mono_ns() + JOB_ONCE_NS;
    l->cpu_deadline_ns = ts_clock_thread_ns() + JOB_ONCE_NS; /* a busy machine does not make a query long */
    l->max_points = job_least(l->max_points, JOB_ONCE_POINTS);
    l->max_series = job_least(l->max_series, JOB_ONCE_SERIES);
    l->max_read_bytes = job_least(l->max_read_bytes, JOB_ONCE_READ_BYTES);
}

/* Answer in the worker; false when that takes too long or would wait. */
static bool job_run_at_once(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run)
{
    struct tsd_job *job = job_new(req, kind, type, run);
    job->at_once = true;
    job_once_limits(job);
    ts_fs_set_nowait(true);
    job_work(job);
    ts_fs_set_nowait(false);
    if (job->rc == TS_EBUSY || job->rc == TS_ELIMIT || job->rc == TS_ENOMEM || job->rc == TS_ETIMEOUT) {
        tsd_query_drop(req->d->queries, job->entry);
        job_free(job);
        return false;
    }
    job_unlist(job);
    job_count(req->w, job);
    tsd_count(&req->w->counts.n_at_once, 1);
    if (job->rc < 0)
        job_reply_error(job);
    else
        job_reply_whole(job);
    return true;
}

void tsd_job_start_now(struct tsd_req *req, enum tsd_job_kind kind, const char *type, tsd_job_fn run)
{
    if (req->body.n > JOB_ONCE_BODY_BYTES || req->n_params > JOB_ONCE_PARAMS ||
        !job_run_at_once(req, kind, type, run))
        tsd_job_start(req, kind, type, run);
}

void tsd_jobs_open(struct tsd_daemon *d)
{
    const struct tsd_settings *set = &d->set;
    struct tsd_schedule_limits limits = {.n_threads = set->n_query_running,
                                         .max_waiting = set->query_max_waiting,
                                         .max_per_address = set->query_max_per_address,
                                         .nice = TSD_JOBS_NICE};
    d->jobs = tsd_schedule_new("tsd-job", &limits);
    limits.n_threads = JOB_SMALL_THREADS;
    limits.nice = 0;
    d->small_jobs = tsd_schedule_new("tsd-small-job", &limits);
    limits.nice = TSD_JOBS_NICE;
    limits.n_threads = 4 * set->graph_max_running + 4; /* ep_graph.c lets some wait and refuses more */
    d->picture_jobs = tsd_schedule_new("tsd-picture", &limits);
    d->refills = ts_pool_new(1, "tsd-refill");
    tsd_spools_init(&d->spools, set->data, set->query_spool_bytes);
}

void tsd_jobs_close(struct tsd_daemon *d)
{
    tsd_schedule_free(d->jobs);
    tsd_schedule_free(d->small_jobs);
    tsd_schedule_free(d->picture_jobs);
    ts_pool_free(d->refills);
    d->jobs = d->small_jobs = d->picture_jobs = NULL;
    d->refills = NULL;
}
