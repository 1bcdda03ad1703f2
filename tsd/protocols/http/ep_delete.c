/*
 * ep_delete.c - deletes the points that a query matched: a job passes the deletes to a worker's port and waits for the result.
 *
 *   job                              worker
 *   series with points > call ----> DEL operations into its open batches > barrier
 *   waits <------------------------- durable, or why not
 *
 * Threads    tsd_delete_run: a job's
 * Invariant  the job waits until the worker is done with the call: it lives on the job's stack
 */
#include "tsd/protocols/http/ep.h"

#include "base/log.h"
#include "tsd/format/answers.h"
#include "tsd/net/worker.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"

#include <pthread.h>
#include <time.h>

#define DELETE_STEP_SERIES 4096      /* of one call: what a worker does between two checks of its sockets */
#define DELETE_RETRY_NS    20000000  /* while the store is behind */
#define DELETE_MAX_TRIES   (60 * 50) /* one minute of that */

/* All deletes of one request. */
struct delete
{
    struct tsd_call call;                    /* on its way to the worker */
    const struct qry_delete_target *targets; /* series and ranges; borrowed */
    size_t n;                                /* of targets */
    size_t next;         /* first that is not handed in yet; the worker's between call and answer */
    bool barrier;        /* all are handed in: make them durable */
    pthread_mutex_t mu;  /* guards what follows */
    pthread_cond_t cond; /* the worker is done */
    bool done;           /* it is */
    int rc;              /* 0, TS_EBUSY: call again; else why it ends */
    struct ts_error err; /* text of rc */
};

static void delete_answer(struct delete *d, int rc, const struct ts_error *err)
{
    pthread_mutex_lock(&d->mu);
    d->rc = rc;
    if (err)
        d->err = *err;
    d->done = true;
    pthread_cond_signal(&d->cond); /* under the mutex: the job may free d as soon as it has it */
    pthread_mutex_unlock(&d->mu);
}

static void delete_durable(void *arg, int rc, const struct ts_error *err)
{
    delete_answer(arg, rc, rc < 0 ? err : NULL);
}

/* In the worker. */
static void delete_run_call(struct tsd_worker *w, struct tsd_call *call)
{
    struct delete *d = (struct delete *)call;
    size_t end = d->n - d->next > DELETE_STEP_SERIES ? d->next + DELETE_STEP_SERIES : d->n;
    tsd_ingest_begin(&w->ingest); /* a metric may keep versions since the last step */
    for (; d->next < end; d->next++) {
        const struct qry_delete_target *x = &d->targets[d->next];
        int rc = tsd_ingest_delete(&w->ingest, x->series, x->from_ms, x->to_ms);
        if (rc < 0) {
            struct ts_error err = {0};
            if (rc != TS_EBUSY) {
                ts_buf_char(&w->ingest.msg, 0);
                ts_error_set(&err, rc, "%s", w->ingest.msg.p ? w->ingest.msg.p : ts_err_text(rc));
            }
            delete_answer(d, rc, &err);
            return;
        }
    }
    if (d->next == d->n && d->barrier)
        tsd_ingest_barrier(&w->ingest, sto_ack_level(w->daemon->store), 0, delete_durable, d);
    else
        delete_answer(d, 0, NULL);
}

static int delete_call(struct delete *d, struct tsd_worker *w)
{
    d->done = false;
    d->call.run = delete_run_call;
    tsd_worker_call(w, &d->call);
    pthread_mutex_lock(&d->mu);
    while (!d->done)
        pthread_cond_wait(&d->cond, &d->mu);
    pthread_mutex_unlock(&d->mu);
    return d->rc;
}

static int delete_all(struct delete *d, struct tsd_worker *w, const struct qry_limit *limit,
                      struct ts_error *err)
{
    const struct timespec pause = {0, DELETE_RETRY_NS};
    for (int tries = 0;;) {
        if (atomic_load_explicit(&limit->cancelled, memory_order_relaxed))
            return ts_error_set(err, TS_ECANCELLED, "deleted from %zu of %zu series", d->next, d->n);
        size_t before = d->next;
        d->barrier = d->n - d->next <= DELETE_STEP_SERIES;
        bool last = d->barrier;
        int rc = delete_call(d, w);
        if (rc == 0 && last)
            return 0;
        if (rc == TS_EBUSY && (d->next > before || ++tries < DELETE_MAX_TRIES)) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        if (rc < 0)
            return ts_error_set(err, rc, "deleted from %zu of %zu series, then: %s", d->next, d->n,
                                d->err.text[0] ? d->err.text : "the store is behind, try again");
    }
}

int tsd_delete_run(struct tsd_job *job, struct tsd_deleted *what, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    if (!what->dry) /* what is not found would not be deleted */
        tsd_job_limit(job)->allow_partial = false;
    TS_TRY(tsd_deleted_find(what, req->d->store, tsd_job_limit(job), err));
    if (what->dry || !what->n)
        return 0;
    size_t n_found = what->n; /* without summaries of hours */
    struct delete d = {.targets = what->targets, .n = what->n};
    pthread_mutex_init(&d.mu, NULL);
    pthread_cond_init(&d.cond, NULL);
    int rc = delete_all(&d, req->w, tsd_job_limit(job), err);
    for (size_t from = 0; rc == 0 && from < d.n;) { /* summaries, and their summaries: see qry_delete_aged */
        rc = tsd_deleted_find_aged(what, req->d->store, from, err);
        from = d.n;
        d.targets = what->targets;
        d.n = what->n;
        if (rc == 0 && from < d.n)
            rc = delete_all(&d, req->w, tsd_job_limit(job), err);
    }
    pthread_cond_destroy(&d.cond);
    pthread_mutex_destroy(&d.mu);
    if (rc == 0)
        ts_log(TS_LOG_INFO, "deleted %llu points of %zu series, %lld ms to %lld ms",
               (unsigned long long)tsd_deleted_sum(what), n_found, (long long)d.targets[0].from_ms,
               (long long)d.targets[0].to_ms);
    return rc;
}

/* --- /api/delete: GET shows what would be deleted, DELETE deletes it and shows what was --- */

int tsd_ep_delete(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    struct tsd_deleted deleted;
    bool json;
    TS_TRY(tsd_ep_plain_format(job, &json, err));
    TS_TRY(tsd_ep_query_parse(job, &spec, err));
    tsd_ep_query_settings(req, &spec);
    TS_TRY(tsd_ep_delete_fits(&spec, err));
    spec.del = req->method == TSD_DELETE;
    tsd_query_begin_spec(job, &spec, NULL);
    tsd_deleted_init(&deleted, &spec, !spec.del, tsd_job_arena(job));
    int rc = tsd_delete_run(job, &deleted, err);
    if (rc == 0)
        rc = tsd_deleted_print(&deleted, json, tsd_job_sink(job), err);
    tsd_deleted_release(&deleted);
    return rc;
}
