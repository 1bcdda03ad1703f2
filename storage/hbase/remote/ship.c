/*
 * ship.c - writes points to the data table: the queue of shipments, and the threads that send them.
 *
 * Why rows are written as they are, beside other writers of the same row (other programs of this kind, OpenTSDB):
 *
 *   Contradictions   OpenTSDB refuses to read a row in which one time has two cells with different bytes, and the length of a value is a part of its
 *                    qualifier. So a new value of another length must remove the old cell in the same atomic step.
 *   Fresh rows       No point of these times was ever sent from here, so there is nothing of ours to contradict. They are put without a look. An
 *                    OpenTSDB that writes to the same times does the same; the value of two blind writers is theirs to agree on.
 *   Other rows       The row is read, compared (change.h), and one mutateRow puts the new cells and deletes the contradicting ones by the timestamps
 *                    that were read. A reader sees the row before or after it. What another writer has put since the read is newer than these
 *                    timestamps and survives; a row without deletes is one put, which is atomic too.
 *   Columns          A change of one point of a compacted column writes its other points anew, as they were read. It is made only if the column still has the
 *                    bytes that were read (checkAndMutate); otherwise the row is read again. If several columns of a row are written anew, one of them is
 *                    compared. Other programs do not compare: an OpenTSDB that compacts the row at that moment may write again what it has read.
 *   Who wins         The change is looked at afterwards: if another writer came between at the same time, the newest cell stays and the others are
 *                    deleted in the same way. All writers that do this choose the same cell.
 *   Timestamps       Those of fresh rows are the time at which their shipment was begun here. If HBase assigned them, a request that a gateway executes
 *                    after its connection was given up, when the same times have been shipped again, would be the newest. Before our own writes the clock of
 *                    this machine decides; beside other writers that of HBase's servers does, which HBase itself wants to agree within half a minute.
 *                    A delete hides cells of its qualifier with its timestamp or an older one, also those that are put
 *                    later, perhaps within the same millisecond. So the puts of a change have a timestamp of ours: now, and in any case greater than all
 *                    that were read. As every delete comes with such a put, a timestamp above all cells that are seen is above all deletes too,
 *                    whatever the clocks of HBase's servers do. delete_range, which puts nothing, waits instead, and hides nothing of a row but the
 *                    qualifiers that it has read (delete.c). Should a point be missing in the look afterwards all the same, it is written
 *                    again; a row that does not settle is refused, so that its points stay here.
 *   Repeats          A batch of puts repeats the same bytes. A merge that failed begins with the read again: whatever was executed is found equal.
 *                    After any error a row is complete, partly written at other times, or unchanged, and never contradicts itself.
 *   Not covered      A request that a gateway executes after its connection was given up, when the points were deleted meanwhile: they are there again.
 *                    A fresh row that HBase took long ago, and that another program has deleted with a clock ahead of ours within that difference.
 *
 * Columns    Rows of a running hour have a cell for each point, which other writers overwrite without contradictions. Nobody else writes (sole_writer), or
 *            the hour is over (compacts): several points become one compacted column, and a row that is merged becomes one as a whole.
 * Threads    each sender has a connection of the pool while it sends a shipment; the queue is under a mutex
 * Not here   encoding and bisection (ship_rows.c), merging (ship_merge.c), deleting (delete.c)
 */
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/hbase/remote/ship_int.h"

#include <string.h>

#define MAX_QUEUED 4096 /* shipments; callers limit the bytes */

/* A shipment that waits for a sender. */
struct job {
    struct job *next;
    const struct sto_shipment *s;
    struct sto_remote_call call;
    sto_remote_done_fn done;
    void *arg;
};

struct sto_hbase__sender {
    struct sto_hbase__worker **workers;
    unsigned n_workers;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    struct job *first, **end; /* under mu */
    size_t n_queued;          /* under mu */
    bool stops;               /* under mu */
    struct sto_hbase__counts counts;
};

struct sto_hbase__counts *sto_hbase__ship_counts(struct sto_hbase *h)
{
    return &h->sender->counts;
}

static struct job *next_job(struct sto_hbase__sender *q)
{
    pthread_mutex_lock(&q->mu);
    while (!q->first && !q->stops)
        pthread_cond_wait(&q->cond, &q->mu);
    struct job *j = q->first;
    if (j) {
        q->first = j->next;
        q->end = q->first ? q->end : &q->first;
        q->n_queued--;
    }
    pthread_mutex_unlock(&q->mu);
    return j;
}

static void *work(void *arg)
{
    struct sto_hbase__worker *w = arg;
    struct sto_hbase__sender *q = w->h->sender;
    for (struct job *j; (j = next_job(q));) {
        struct ts_error err = {0};
        int rc = sto_hbase__ship_now(w, j->s, &j->call, &err);
        sto_hbase__count(rc < 0 ? &q->counts.n_failed : &q->counts.n_shipments, 1);
        j->done(j->arg, rc < 0 ? rc : 0, rc < 0 ? &err : NULL);
        ts_free(j);
    }
    return NULL;
}

int sto_hbase__sender_start(struct sto_hbase *h, struct ts_error *err)
{
    struct sto_hbase__sender *q = h->sender = ts_xcalloc(1, sizeof *q);
    unsigned n = h->opts.ship_connections;
    pthread_mutex_init(&q->mu, NULL);
    pthread_cond_init(&q->cond, NULL);
    q->end = &q->first;
    q->workers = ts_xcalloc(n, sizeof *q->workers);
    for (; q->n_workers < n; q->n_workers++) {
        struct sto_hbase__worker *w = q->workers[q->n_workers] = ts_xcalloc(1, sizeof *w);
        sto_hbase__worker_init(w, h, &q->counts);
        int rc =
            ts_thread_start(&w->thread, &(struct ts_thread_opts){.name = "hbase-ship", .fn = work, .arg = w});
        if (rc) {
            sto_hbase__worker_release(w);
            ts_free(w);
            return ts_error_sys(err, TS_ELIMIT, rc, "cannot start a thread that ships to HBase");
        }
    }
    return 0;
}

void sto_hbase__sender_stop(struct sto_hbase *h)
{
    struct sto_hbase__sender *q = h->sender;
    if (!q)
        return;
    pthread_mutex_lock(&q->mu);
    q->stops = true;
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mu);
    for (unsigned i = 0; i < q->n_workers; i++) {
        pthread_join(q->workers[i]->thread, NULL);
        sto_hbase__worker_release(q->workers[i]);
        ts_free(q->workers[i]);
    }
    ts_free(q->workers);
    pthread_mutex_destroy(&q->mu);
    pthread_cond_destroy(&q->cond);
    ts_free(q);
    h->sender = NULL;
}

void sto_hbase__ship(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                     sto_remote_done_fn done, void *arg)
{
    struct sto_hbase__sender *q = sto_hbase_of(r)->sender;
    struct job *j = ts_xcalloc(1, sizeof *j);
    *j = (struct job){.s = s, .done = done, .arg = arg};
    if (call)
        j->call = *call;
    pthread_mutex_lock(&q->mu);
    bool full = q->n_queued >= MAX_QUEUED;
    if (!full) {
        *q->end = j;
        q->end = &j->next;
        q->n_queued++;
        pthread_cond_signal(&q->cond);
    }
    pthread_mutex_unlock(&q->mu);
    if (full) {
        struct ts_error err = {0};
        ts_free(j);
        int rc = ts_error_set(&err, TS_EBACKEND, "%d shipments wait for HBase already", MAX_QUEUED);
        done(arg, rc, &err);
    }
}

void sto_hbase__sender_status(struct sto_hbase *h, void (*each)(void *arg, const char *name, uint64_t value),
                              void *arg)
{
    struct sto_hbase__sender *q = h->sender;
    const struct sto_hbase__counts *n = &q->counts;
    const struct {
        const char *name;
        const _Atomic uint64_t *value;
    } counters[] = {
        {"shipments", &n->n_shipments},
        {"shipments_failed", &n->n_failed},
        {"shipped_rows", &n->n_rows},
        {"shipped_points", &n->n_points},
        {"shipped_compacted_rows", &n->n_compacted},
        {"shipped_merged_rows", &n->n_merged},
        {"shipped_changed_rows", &n->n_changed},
        {"shipped_settled_rows", &n->n_settled},
        {"shipped_refused_rows", &n->n_refused},
        {"shipped_repeats", &n->n_repeats},
        {"counters_failed", &n->n_uncounted},
        {"deletes", &n->n_deletes},
        {"deleted_rows", &n->n_deleted_rows},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        each(arg, counters[i].name, atomic_load_explicit(counters[i].value, memory_order_relaxed));
    pthread_mutex_lock(&q->mu);
    size_t n_queued = q->n_queued;
    pthread_mutex_unlock(&q->mu);
    each(arg, "shipments_queued", n_queued);
}
