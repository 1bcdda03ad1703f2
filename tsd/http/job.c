/*
 * job.c - pieces from a pool thread to a socket, with back-pressure.
 *
 * Threads    see job.h; members say which side they belong to
 * Not here   what is computed (ep_query.c ...), how it is written (out/)
 */
#include "tsd/http/job.h"

#include "base/log.h"
#include "base/time.h"
#include "tsd/http/gzip.h"
#include "tsd/http/queries.h"
#include "tsd/worker.h"

#include <pthread.h>

#define JOB_PIECE_BYTES    ((size_t)128 << 10)
#define JOB_HEAD_BYTES     12   /* room for the length of a chunk before its bytes */
#define JOB_GZIP_MIN_BYTES 1400 /* smaller results fit one packet as they are */

/* A piece of the body. */
struct job_piece {
    struct tsd_call call;                             /* on its way to the worker */
    struct tsd_block block;                           /* in the connection */
    struct tsd_job *job;                              /* owner */
    struct job_piece *next;                           /* in the free list */
    size_t n;                                         /* bytes in data */
    char bytes[JOB_HEAD_BYTES + JOB_PIECE_BYTES + 2]; /* room for the chunk's length, data, line end */
};

static char *job_data(struct job_piece *piece)
{
    return piece->bytes + JOB_HEAD_BYTES;
}

struct tsd_job {
    struct tsd_call end;           /* last message to the worker */
    struct tsd_block last;         /* end of the chunks */
    struct tsd_req *req;           /* worker's; what is constant may be read */
    tsd_job_fn run;                /* the work */
    const char *type;              /* content type */
    struct ts_arena arena;         /* run's */
    struct tsd_sink sink;          /* run's: writes to cur */
    struct job_piece *cur;         /* run's: being written */
    struct job_piece *packed;      /* run's: being filled by the compressor */
    struct tsd_gzip *gzip;         /* run's: NULL = not compressed */
    struct qry_limit limit;        /* budget */
    struct ts_budget memory;       /* account of what the run allocates, below that of all queries */
    struct ts_error err;           /* of run */
    int rc;                        /* of run */
    int ok_status;                 /* of success; run's until a piece is posted */
    int status;                    /* of an error; 0 = by its code */
    bool has_max_age;              /* of success: how long clients may keep it, */
    int64_t max_age_s;             /* in seconds */
    char details[256];             /* of the error object */
    struct tsd_query_entry *entry; /* run's: in the list of queries, or NULL */
    uint64_t n_bytes;              /* run's: body bytes so far (HEAD) */
    bool posted;                   /* run's: a piece is on its way */
    bool head_sent;                /* worker's: status line is out */
    bool cut;                      /* worker's: ends by cutting the connection */
    pthread_mutex_t mu;            /* guards what follows */
    pthread_cond_t cond;           /* room again, or gone */
    size_t unsent_bytes;           /* posted and not sent */
    struct job_piece *spare;       /* free list */
    bool gone;                     /* the client is */
    bool ended;                    /* somebody ended it: /api/stats/query */
};

struct tsd_sink *tsd_job_sink(struct tsd_job *job)
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

/* Why a job that was cancelled ends. */
static int job_cancelled(struct tsd_job *job, struct ts_error *err)
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
    if (rc != TS_EPARSE)
        return ts_error_set(err, rc, "%s", why.text);
    tsd_job_error_details(job, why.text);
    return ts_error_set(err, TS_EPARSE, "Unable to parse the given JSON");
}

/* --- worker's side --- */

void tsd_job_gone(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    job->gone = true;
    pthread_cond_signal(&job->cond);
    pthread_mutex_unlock(&job->mu);
    /* release: whoever sees it sees why (job_cancelled) */
    atomic_store_explicit(&job->limit.cancelled, true, memory_order_release);
}

static void job_free(struct tsd_job *job)
{
    struct tsd_memory *memory = &job->req->d->memory;
    while (job->spare) {
        struct job_piece *piece = job->spare;
        job->spare = piece->next;
        ts_free(piece);
    }
    ts_free(job->cur);
    ts_free(job->packed);
    tsd_gzip_free(job->gzip);
    ts_arena_release(&job->arena);
    ts_budget_give_all(&job->memory);
    atomic_fetch_add_explicit(&memory->n_query_refused, atomic_load(&job->memory.n_refused),
                              memory_order_relaxed);
    tsd_memory_ended(memory, atomic_load(&job->memory.peak_bytes));
    pthread_mutex_destroy(&job->mu);
    pthread_cond_destroy(&job->cond);
    ts_free(job);
}

/* A piece was sent, or never will be. */
static void job_piece_done(void *arg, struct tsd_block *block)
{
    struct job_piece *piece = arg;
    struct tsd_job *job = piece->job;
    (void)block;
    pthread_mutex_lock(&job->mu);
    job->unsent_bytes -= piece->n;
    piece->next = job->spare;
    job->spare = piece;
    pthread_cond_signal(&job->cond);
    pthread_mutex_unlock(&job->mu);
}

static bool job_wraps(const struct tsd_job *job)
{
    return job->type == tsd_type_json && tsd_req_jsonp(job->req).n > 0;
}

/* Head of a success. Worker. */
static void job_head(struct tsd_job *job, int64_t length)
{
    job->req->has_max_age = job->has_max_age;
    job->req->max_age_s = job->max_age_s;
    tsd_reply_head(job->req, job->ok_status, job->type, length, job->gzip != NULL);
}

static void job_run_piece(struct tsd_worker *w, struct tsd_call *call)
{
    struct job_piece *piece = (struct job_piece *)call;
    struct tsd_job *job = piece->job;
    (void)w;
    if (!job->head_sent) {
        job->head_sent = true;
        job_head(job, -1);
    }
    piece->block =
        (struct tsd_block){.p = job_data(piece), .n = piece->n, .done = job_piece_done, .arg = piece};
    if (!job->req->http10) {
        char head[JOB_HEAD_BYTES + 1];
        size_t n = (size_t)snprintf(head, sizeof(head), "%zx\r\n", piece->n);
        piece->block.p = piece->bytes + JOB_HEAD_BYTES - n;
        memcpy(piece->block.p, head, n);
        memcpy(job_data(piece) + piece->n, "\r\n", 2);
        piece->block.n = piece->n + n + 2;
    }
    tsd_conn_send_block(job->req->c, &piece->block);
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
    return job->rc < 0 ? job->status ? job->status : tsd_http_status(job->rc) : job->ok_status;
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
    int64_t unpacked = job->gzip ? -1 : (int64_t)job->n_bytes; /* of HEAD, whose body nobody packed */
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
    if (job->rc < 0) {
        if (!req->c->dead)
            ts_log(TS_LOG_WARN, "reply cut off: %s", job->err.text);
        tsd_conn_kill(req->c);
    }
    job->last =
        (struct tsd_block){.p = (char *)(uintptr_t) "0\r\n\r\n", .n = 5, .done = job_last_done, .arg = job};
    if (req->http10)
        job->last.n = 0;
    tsd_conn_send_block(req->c, &job->last);
}

/* --- run's side --- */

static struct job_piece *job_take_piece(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    struct job_piece *piece = job->spare;
    if (piece)
        job->spare = piece->next;
    pthread_mutex_unlock(&job->mu);
    if (!piece)
        piece = ts_xmalloc(sizeof(*piece));
    piece->job = job;
    piece->n = 0;
    return piece;
}

/* Give a piece to the worker; waits while the client is slow. */
static int job_post(struct tsd_job *job, struct job_piece *piece, struct ts_error *err)
{
    size_t max = job->req->d->set.query_reply_buffer_bytes;
    pthread_mutex_lock(&job->mu);
    while (job->unsent_bytes && job->unsent_bytes + piece->n > max && !job->gone && !job->ended)
        pthread_cond_wait(&job->cond, &job->mu);
    bool gone = job->gone || job->ended;
    if (!gone)
        job->unsent_bytes += piece->n;
    pthread_mutex_unlock(&job->mu);
    if (gone) {
        ts_free(piece);
        return job_cancelled(job, err);
    }
    job->posted = true;
    piece->call.run = job_run_piece;
    piece->call.msg.size_bytes = (uint32_t)sizeof(*piece);
    tsd_worker_call(job->req->w, &piece->call);
    return 0;
}

static void job_fresh(struct tsd_job *job)
{
    if (!job->cur)
        job->cur = job_take_piece(job);
    job->sink.start = job->sink.p = job_data(job->cur);
    job->sink.end = job_data(job->cur) + JOB_PIECE_BYTES;
}

/* What is in cur goes through the compressor. */
static int job_pack(struct tsd_job *job, bool finish, struct ts_error *err)
{
    struct ts_slice in = {job_data(job->cur), job->cur->n};
    for (bool ended = false; in.n || (finish && !ended);) {
        if (!job->packed)
            job->packed = job_take_piece(job);
        size_t room = JOB_PIECE_BYTES - job->packed->n;
        job->packed->n +=
            tsd_gzip_run(job->gzip, &in, job_data(job->packed) + job->packed->n, room, finish, &ended);
        if (job->packed->n < JOB_PIECE_BYTES)
            continue;
        struct job_piece *full = job->packed;
        job->packed = NULL;
        TS_TRY(job_post(job, full, err));
    }
    return 0;
}

static int job_more(struct tsd_sink *s, struct ts_error *err)
{
    struct tsd_job *job = s->arg;
    job->cur->n = (size_t)(s->p - s->start);
    job->n_bytes += job->cur->n;
    if (atomic_load_explicit(&job->limit.cancelled, memory_order_relaxed))
        return job_cancelled(job, err);
    if (!job->req->head && job->gzip) {
        TS_TRY(job_pack(job, false, err));
    } else if (!job->req->head) {
        struct job_piece *full = job->cur;
        job->cur = NULL;
        TS_TRY(job_post(job, full, err));
    }
    job_fresh(job);
    return 0;
}

/* Last bytes: alone if nothing was posted, else one more piece. */
static int job_finish(struct tsd_job *job, struct ts_error *err)
{
    job->cur->n = (size_t)(job->sink.p - job->sink.start);
    job->n_bytes += job->cur->n;
    if (job->gzip && job->n_bytes < JOB_GZIP_MIN_BYTES) {
        tsd_gzip_free(job->gzip);
        job->gzip = NULL;
    }
    if (job->req->head)
        return 0;
    if (job->gzip) {
        TS_TRY(job_pack(job, true, err));
        ts_free(job->cur);
        job->cur = job->packed ? job->packed : job_take_piece(job);
        job->packed = NULL;
    }
    if (!job->posted || job->cur->n == 0)
        return 0;
    struct job_piece *rest = job->cur;
    job->cur = NULL;
    return job_post(job, rest, err);
}

static int job_body(struct tsd_job *job)
{
    struct ts_slice cb = job_wraps(job) ? tsd_req_jsonp(job->req) : (struct ts_slice){NULL, 0};
    if (cb.n) {
        TS_TRY(tsd_sink_write(&job->sink, cb, &job->err));
        TS_TRY(tsd_sink_str(&job->sink, "(", &job->err));
    }
    TS_TRY(job->run(job, &job->err));
    if (cb.n)
        TS_TRY(tsd_sink_str(&job->sink, ")", &job->err));
    return job_finish(job, &job->err);
}

static void job_task(void *arg)
{
    struct tsd_job *job = arg;
    struct tsd_worker *w = job->req->w;
    job_fresh(job);
    if (atomic_load_explicit(&job->limit.cancelled, memory_order_relaxed))
        job->rc = ts_error_set(&job->err, TS_ECANCELLED, "the client went away");
    else
        job->rc = job_body(job);
    if (job->rc == TS_ECANCELLED)
        job->rc = job_cancelled(job, &job->err);
    tsd_query_end(job->req->d->queries, job->entry, job_status(job), job->rc < 0 ? job->err.text : NULL,
                  !job_gone(job));
    job->end.run = job_run_end;
    tsd_worker_call(w, &job->end);
}

static void job_account(struct tsd_job *job)
{
    struct tsd_daemon *d = job->req->d;
    ts_budget_init(&job->memory, "one query", "query_max_bytes",
                   tsd_memory_account(&d->memory, TSD_MEM_QUERIES), d->set.query_max_bytes);
}

void tsd_job_start(struct tsd_req *req, const char *type, tsd_job_fn run)
{
    const struct tsd_settings *set = &req->d->set;
    struct tsd_job *job = ts_xcalloc(1, sizeof(*job));
    job->req = req;
    job->run = run;
    job->type = type;
    job->ok_status = 200;
    job->sink = (struct tsd_sink){.more = job_more, .arg = job};
    job_account(job);
    ts_arena_init(&job->arena, 0);
    job->arena.budget = &job->memory;
    job->limit.memory = &job->memory;
    job->limit.max_points = set->query_max_points;
    job->limit.max_bytes = set->query_max_bytes;
    job->limit.max_read_bytes = set->query_max_read_bytes;
    job->limit.max_series = set->query_max_series;
    job->limit.max_cells = set->query_max_cells;
    if (set->query_timeout_ms)
        job->limit.deadline_ns = req->began_ns + set->query_timeout_ms * 1000000;
    if (req->gzip_ok && set->http_gzip)
        job->gzip = tsd_gzip_new(req->deflate);
    pthread_mutex_init(&job->mu, NULL);
    pthread_cond_init(&job->cond, NULL);
    req->job = job;
    tsd_req_keep_body(req);
    tsd_req_later(req);
    ts_pool_run(req->d->jobs, TS_PRIO_HIGH, job_task, job);
}
