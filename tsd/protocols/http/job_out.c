/*
 * job_out.c - a job's reply on its way: pieces in memory first, then in the spool.
 *
 *   run > piece > worker > connection            while the client keeps up
 *   run > piece > spool > refill > worker > ...  while it is behind by query_reply_buffer_bytes
 *
 * Order: nothing is posted past the spool while it holds anything, and one piece at a time is read from it; so bytes leave as
 * they were written. A refill is read by a thread for that, since a file may not be in the page cache.
 *
 * When the spool is full the run waits until the client has taken all of it. At most a quarter of the threads may do that;
 * the replies of others are cut, so that threads stay free.
 *
 * Threads    see job_int.h
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "tsd/protocols/http/job_int.h"
#include "tsd/protocols/http/parser.h"

#include <stdio.h>
#include <string.h>

static struct ts_budget *out_account(const struct tsd_job *job)
{
    return tsd_conn_account(job->req->c, TSD_SHARED_STREAMS);
}

/* Count a piece elsewhere; account was taken from already. */
static void piece_count(struct job_piece *piece, struct ts_budget *account)
{
    ts_budget_give(piece->account, sizeof(*piece));
    piece->account = account;
}

void job_out_drop(struct tsd_job *job, struct job_piece *piece)
{
    (void)job;
    if (!piece)
        return;
    piece_count(piece, NULL);
    ts_free(piece);
}

struct job_piece *job_out_piece(struct tsd_job *job, struct ts_error *err)
{
    bool small = job->kind == TSD_JOB_SMALL;
    struct ts_budget *account = small ? tsd_memory_account(&job->req->d->memory, TSD_MEM_PROCESS)
                                      : tsd_conn_account(job->req->c, TSD_SHARED_QUERIES);
    struct job_piece *piece;
    if (small || job->posted) /* two for each thread at most; what was begun is not cut since others came */
        ts_budget_force(account, sizeof(*piece));
    else if (ts_budget_take(account, sizeof(*piece), err) < 0)
        return NULL;
    piece = ts_xmalloc(sizeof(*piece));
    piece->account = account;
    piece->job = job;
    piece->n = 0;
    piece->spooled = false;
    return piece;
}

int job_out_begin(struct tsd_job *job, struct ts_error *err)
{
    if (!job->cur)
        job->cur = job_out_piece(job, err);
    if (!job->cur)
        return TS_ELIMIT;
    job->sink.start = job->sink.p = job_data(job->cur);
    job->sink.end = job_data(job->cur) + JOB_PIECE_BYTES;
    return 0;
}

void job_out_release(struct tsd_job *job)
{
    job_out_drop(job, job->cur);
    job_out_drop(job, job->packed);
    job->cur = job->packed = NULL;
    tsd_gzip_free(job->gzip);
    job->gzip = NULL;
    tsd_spool_release(&job->spool);
    if (job->reserved)
        ts_budget_give(out_account(job), sizeof(struct job_piece));
    job->reserved = false;
}

/* --- from the spool --- */

static uint64_t spool_left(const struct tsd_job *job)
{
    return job->spool.bytes - job->spool_read;
}

static void out_run_piece(struct tsd_worker *w, struct tsd_call *call);

/* Reads the next part of the spool into a piece and gives it to the worker. A thread of the spool's. */
static void out_refill(void *arg)
{
    struct job_piece *piece = arg;
    struct tsd_job *job = piece->job;
    struct ts_error err = {0};
    pthread_mutex_lock(&job->mu);
    uint64_t off = job->spool_read, left = spool_left(job);
    struct tsd_spool spool = job->spool;
    pthread_mutex_unlock(&job->mu);
    piece->spooled = true;
    piece->n = left < JOB_PIECE_BYTES ? (size_t)left : JOB_PIECE_BYTES;
    if (tsd_spool_read(&spool, job_data(piece), piece->n, off, &err) < 0) {
        ts_log(TS_LOG_ERROR, "reply cut off: %s", err.text);
        piece->n = 0;
    }
    pthread_mutex_lock(&job->mu);
    job->unsent_bytes += piece->n;
    job->spool_read += piece->n;
    pthread_mutex_unlock(&job->mu);
    piece->call.run = out_run_piece;
    piece->call.msg.size_bytes = (uint32_t)sizeof(*piece);
    tsd_worker_call(job->req->w, &piece->call);
}

static void out_begin_refill(struct job_piece *piece)
{
    ts_pool_run(piece->job->req->d->refills, TS_PRIO_HIGH, out_refill, piece);
}

/* --- worker's side --- */

/* Is it time to end the reply, and must the caller do it? Under the mutex. */
static bool out_take_end(struct tsd_job *job)
{
    bool over =
        job->end_waits && !job->refilling && (job->gone || job->ended || job->rc < 0 || !spool_left(job));
    if (over)
        job->end_waits = false;
    return over;
}

static void out_run_over(struct tsd_worker *w, struct tsd_call *call)
{
    (void)w;
    job_end_reply((struct tsd_job *)call);
}

/* A piece was sent, or never will be. */
static void out_piece_done(void *arg, struct tsd_block *block)
{
    struct job_piece *piece = arg;
    struct tsd_job *job = piece->job;
    (void)block;
    pthread_mutex_lock(&job->mu);
    job->unsent_bytes -= piece->n;
    bool refill = !job->refilling && !job->gone && !job->ended && spool_left(job) > 0;
    if (refill)
        job->refilling = true;
    bool over = out_take_end(job);
    pthread_cond_signal(&job->cond);
    pthread_mutex_unlock(&job->mu);
    if (refill)
        out_begin_refill(piece);
    else
        job_out_drop(job, piece);
    if (over) { /* not from here: the connection is in the middle of sending or dying */
        job->end.run = out_run_over;
        tsd_worker_call(job->req->w, &job->end);
    }
}

static void out_send(struct job_piece *piece)
{
    struct tsd_job *job = piece->job;
    if (!job->head_sent) {
        job->head_sent = true;
        tsd_conn_reserve(job->req->c, TSD_REPLY_HEAD_BYTES);
        job_head(job, -1);
        if (job->req->c->out.failed && !job->req->c->dead)
            tsd_conn_kill(job->req->c); /* a body without its head would be taken for another reply */
    }
    piece->block =
        (struct tsd_block){.p = job_data(piece), .n = piece->n, .done = out_piece_done, .arg = piece};
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

static void out_run_piece(struct tsd_worker *w, struct tsd_call *call)
{
    struct job_piece *piece = (struct job_piece *)call;
    struct tsd_job *job = piece->job;
    bool spooled = piece->spooled;
    (void)w;
    if (spooled) { /* before it is sent: its end may begin the next one */
        pthread_mutex_lock(&job->mu);
        job->refilling = false;
        pthread_mutex_unlock(&job->mu);
    }
    if (spooled &&
        !piece->n) { /* a chunk of no bytes would be the end: the client must not take this for the whole */
        tsd_conn_kill(job->req->c);
        out_piece_done(piece, NULL);
    } else {
        out_send(piece);
    }
    if (!spooled)
        return;
    pthread_mutex_lock(&job->mu);
    bool over = out_take_end(job);
    pthread_mutex_unlock(&job->mu);
    if (over)
        job_end_reply(job);
}

bool job_out_ended(struct tsd_job *job)
{
    pthread_mutex_lock(&job->mu);
    bool waits = job->refilling || (spool_left(job) > 0 && !job->gone && !job->ended && job->rc == 0);
    job->end_waits = waits;
    pthread_mutex_unlock(&job->mu);
    return !waits;
}

/* --- run's side --- */

/* Wait until the client has taken all that is spooled. Under the mutex. */
static int out_wait(struct tsd_job *job, struct ts_error *err)
{
    struct tsd_daemon *d = job->req->d;
    unsigned most = d->set.n_query_running / 4;
    if (atomic_fetch_add_explicit(&d->n_reply_waits, 1, memory_order_relaxed) >= (most ? most : 1)) {
        atomic_fetch_sub_explicit(&d->n_reply_waits, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&d->n_reply_cut, 1, memory_order_relaxed);
        return TS_ELIMIT; /* err says why */
    }
    int64_t began = ts_clock_mono_ns();
    while ((spool_left(job) > 0 || job->refilling || job->unsent_bytes) && !job->gone && !job->ended)
        pthread_cond_wait(&job->cond, &job->mu);
    atomic_fetch_sub_explicit(&d->n_reply_waits, 1, memory_order_relaxed);
    if (job->limit.deadline_ns) /* the time of a query is its work, not its client's */
        job->limit.deadline_ns += ts_clock_mono_ns() - began;
    if (job->gone || job->ended)
        return 0;
    job->spool_read = 0; /* nothing is under way, so nobody else looks */
    return tsd_spool_rewind(&job->spool, err);
}

/* The first piece of a reply takes the memory that the reply has in any case until its end; whoever comes too late is refused while
 * that is still possible. */
static int out_reserve(struct tsd_job *job, struct ts_error *err)
{
    if (job->reserved)
        return 0;
    int rc = ts_budget_take(out_account(job), sizeof(struct job_piece), err);
    job->reserved = rc == 0;
    if (rc < 0)
        job->status = 503;
    return rc;
}

/* May a piece go to the worker? Then it counts as a part of the stream. No: the client is behind. Half of the account is kept for the
 * first pieces of other replies. Under the mutex. */
static bool out_admit(struct tsd_job *job, struct job_piece *piece)
{
    struct ts_budget *account = NULL, /* the reservation, when nothing else uses it */
        *all = tsd_memory_account(&job->req->d->memory, TSD_MEM_STREAMS);
    if (job->refilling || spool_left(job) > 0)
        return false;
    if (job->unsent_bytes) {
        account = out_account(job);
        if (job->unsent_bytes + piece->n > job->req->d->set.query_reply_buffer_bytes ||
            ts_budget_room(all) < all->limit_bytes / 2 + sizeof(*piece) ||
            ts_budget_take(account, sizeof(*piece), NULL) < 0)
            return false;
    }
    piece_count(piece, account);
    return true;
}

/* Keep a piece (then taken) in the spool. 0, 1: the spool is full. */
static int out_spool(struct tsd_job *job, struct job_piece *piece, struct ts_error *err)
{
    struct tsd_spool spool = job->spool; /* written outside of the mutex: readers look at bytes */
    int rc = tsd_spool_append(&spool, job_data(piece), piece->n, err);
    pthread_mutex_lock(&job->mu);
    job->spool = spool;
    /* the end of a piece that is under way begins a refill */
    bool refill = rc == 0 && !job->refilling && !job->unsent_bytes && !job->gone && !job->ended;
    if (refill)
        job->refilling = true;
    pthread_mutex_unlock(&job->mu);
    if (rc < 0)
        return 1;
    if (refill) {
        piece_count(piece, NULL);
        out_begin_refill(piece);
    } else {
        job_out_drop(job, piece);
    }
    return 0;
}

int job_out_post(struct tsd_job *job, struct job_piece *piece, struct ts_error *err)
{
    bool admitted = false;
    int rc = out_reserve(job, err);
    pthread_mutex_lock(&job->mu);
    while (rc == 0 && !job->gone && !job->ended && !(admitted = out_admit(job, piece))) {
        pthread_mutex_unlock(&job->mu);
        if (out_spool(job, piece, err) == 0)
            return 0;
        pthread_mutex_lock(&job->mu);
        rc = out_wait(job, err);
    }
    bool gone = job->gone || job->ended;
    if (admitted)
        job->unsent_bytes += piece->n;
    pthread_mutex_unlock(&job->mu);
    if (!admitted) {
        job_out_drop(job, piece);
        return gone ? job_cancelled(job, err) : rc;
    }
    if (err)
        *err = (struct ts_error){0};
    if (!job->posted) {
        ts_budget_let_in(&job->memory); /* its reply has begun: it is not cut because other clients came */
        qry_limit_commit(&job->limit);  /* the head is on its way */
    }
    job->posted = true;
    piece->call.run = out_run_piece;
    piece->call.msg.size_bytes = (uint32_t)sizeof(*piece);
    tsd_worker_call(job->req->w, &piece->call);
    return 0;
}

/* --- behind the body --- */

bool tsd_job_pages(struct tsd_job *job)
{
    job->pages = job->req->trailers;
    return !job->req->http10;
}

int tsd_job_after(struct tsd_job *job, struct ts_slice token, struct ts_error *err)
{
    /* what a compressor still holds may make a second piece */
    bool whole = !job->posted && !job->packs;
    if (!whole && !job->pages) {
        TS_TRY(ts_sink_str(&job->sink, "# after ", err));
        TS_TRY(ts_sink_write(&job->sink, token, err));
        return ts_sink_str(&job->sink, "\n", err);
    }
    ts_buf_clear(&job->after);
    ts_buf_printf(&job->after, JOB_LAST_CHUNK TSD_HEADER_AFTER ": %.*s\r\n\r\n", (int)token.n, token.p);
    return job->after.failed ? ts_error_set(err, TS_ENOMEM, "no memory for the token of a page") : 0;
}

const char *job_left_out(struct tsd_job *job)
{
    struct ts_buf text;
    if (!qry_left_out_any(&job->limit.left_out))
        return NULL;
    ts_buf_init(&text, 0);
    qry_left_out_say(&job->limit.left_out, &text);
    (void)snprintf(job->left_out, sizeof job->left_out, "%.*s", (int)text.n, text.n ? text.p : "");
    ts_buf_release(&text);
    return job->left_out;
}

void job_trail_left_out(struct tsd_job *job)
{
    if (job->after.n || job->req->left_out || !job->req->trailers || !job_left_out(job))
        return;
    ts_buf_printf(&job->after, JOB_LAST_CHUNK TSD_HEADER_LEFT_OUT ": %s\r\n\r\n", job->left_out);
    if (job->after.failed)
        ts_buf_clear(&job->after);
}
