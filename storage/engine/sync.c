/*
 * sync.c - the thread that syncs the logs: group commit for all waiting callers.
 *
 * It wakes at once for barriers, otherwise each interval (wal_sync = interval) or after each append (always).
 * One pass syncs every log that has new bytes, in parallel on a pool of threads, and then answers all
 * barriers that arrived before the pass began.
 *
 * Threads    the sync thread, and sync_pool while it waits for that; appends go on meanwhile
 * Invariant  a failed sync is never retried on the same log, since the kernel may have dropped the pages: the
 *            process reports it and exits, and the next start replays what is really on disk
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/engine_int.h"

void sto_sync__nudge(struct sto_engine *e)
{
    if (atomic_exchange_explicit(&e->nudged, true, memory_order_acq_rel))
        return; /* already in the queue */
    e->nudge.kind = STO_MSG_NUDGE;
    ts_queue_push(e->sync_q, &e->nudge);
}

/* One pass over the logs. */
struct pass {
    struct sto_engine *e;
    struct sto_wal **wals; /* the logs with new bytes, or broken; n of them */
    size_t n;
    pthread_mutex_t mu;
    int rc;              /* under mu: error of the first one that failed */
    struct ts_error err; /* the same */
};

static void sync_one(void *arg, size_t i)
{
    struct pass *p = arg;
    struct ts_error err = {0};
    int rc = sto_wal_sync(p->wals[i], &err);
    atomic_fetch_add_explicit(&p->e->n_syncs, 1, memory_order_relaxed);
    if (rc == 0)
        return;
    pthread_mutex_lock(&p->mu);
    if (p->rc == 0) {
        p->rc = rc;
        p->err = err;
    }
    pthread_mutex_unlock(&p->mu);
}

/* Sync all logs in parallel: if they were synced one after the other, the delay would grow with the number of
 * workers. A broken log is reported like one that can't be synced, even if no barrier waits for it. */
static int sync_all(struct sto_engine *e, struct ts_error *err)
{
    struct pass p = {.e = e, .wals = ts_xcalloc(e->n_owners, sizeof(struct sto_wal *))};
    pthread_mutex_init(&p.mu, NULL);
    for (unsigned i = 0; i < e->n_owners; i++) {
        struct sto_wal *wal = e->owners[i].wal;
        if (sto_wal_synced(wal) < sto_wal_written(wal) || sto_wal_broken(wal))
            p.wals[p.n++] = wal;
    }
    ts_pool_each(p.n > 1 ? e->sync_pool : NULL, p.n, sync_one, &p);
    pthread_mutex_destroy(&p.mu);
    ts_free(p.wals);
    if (p.rc < 0)
        *err = p.err;
    return p.rc;
}

static void answer(struct sto_barrier *b, int rc, const struct ts_error *err)
{
    if (rc < 0) {
        b->rc = rc;
        b->err = *err;
    }
    if (b->writer)
        ts_queue_push(b->writer->replies, &b->done_msg);
    else
        ts_latch_count_down(b->latch);
}

/* Prepare the next segment of logs whose segment is half full, so that their owners do not have to create
 * it. */
static void prepare_next(struct sto_engine *e)
{
    uint64_t gen;
    for (unsigned i = 0; i < e->n_owners; i++)
        if (sto_wal_wants_next(e->owners[i].wal, &gen) && sto_wal_prepare(e->owners[i].wal, gen) &&
            e->fs->sync_dir(e->fs, e->wal_dir, NULL) == 0)
            sto_wal_prepared(e->owners[i].wal);
}

bool sto_sync__pass(struct sto_engine *e)
{
    struct ts_msg *waiting = NULL;
    bool stop = false;
    ts_queue_drained(e->sync_q);
    for (struct ts_msg *msg; (msg = ts_queue_pop(e->sync_q));) {
        if (msg->kind == STO_MSG_STOP) {
            stop = true;
            ts_free(msg);
        } else if (msg->kind == STO_MSG_NUDGE) {
            atomic_store_explicit(&e->nudged, false, memory_order_release);
        } else {
            msg->next = waiting;
            waiting = msg;
        }
    }
    struct ts_error err = {0};
    int rc = sync_all(e, &err);
    if (rc < 0)
        sto_engine__refuse(e, TS_EIO, &err);
    if (rc < 0)
        sto_complete__lost(e);
    /* The list was built in reverse order; answer the oldest first. */
    struct ts_msg *in_order = NULL;
    for (struct ts_msg *next; waiting; waiting = next) {
        next = waiting->next;
        waiting->next = in_order;
        in_order = waiting;
    }
    for (struct ts_msg *next; in_order; in_order = next) {
        next = in_order->next;
        answer((struct sto_barrier *)in_order, rc, &err);
    }
    sto_engine__fatal(e, rc, &err);
    if (rc == 0 && !stop)
        prepare_next(e);
    return stop;
}

void *sto_sync__thread(void *arg)
{
    struct sto_engine *e = arg;
    int wait_ms = e->opts.wal_sync == STO_SYNC_INTERVAL ? (int)e->opts.wal_sync_interval_ms : -1;
    do
        ts_queue_wait(e->sync_q, wait_ms);
    while (!sto_sync__pass(e));
    return NULL;
}

void sto_engine_pump_sync(struct sto_engine *e)
{
    if (!e->opts.read_only)
        sto_sync__pass(e);
}
