/*
 * absolute.c - logs the value of a time that has additions.
 *
 * A request belongs to two threads. `state`, under its mutex, says who frees it: the thread that waits, or the owner if that thread has gone.
 *
 * Threads    absolute.h
 */
#include "storage/engine/absolute.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/memory/fold.h"
#include "storage/engine/memory/memstore.h"

#include <string.h>
#include <unistd.h>

#define LOOK_MS       50   /* between two checks of `stop` */
#define SYNC_PAUSE_US 1000 /* between two checks of the logs */

enum state { WAITING, RUNNING, DONE, LEFT };

struct sto_absolute {
    struct ts_msg msg; /* must be the first member */
    struct sto_engine *e;
    unsigned owner;
    const struct sto_version *v; /* pinned by the thread that waits */
    uint64_t n_frozen;
    struct sto_batch *batch; /* owned */
    pthread_mutex_t mu;
    pthread_cond_t decided;
    enum state state; /* under mu */
    int rc;           /* result of the owner */
    uint32_t n_put;   /* the same */
    bool over;        /* the same */
};

struct sto_absolute *sto_absolute_new(struct sto_engine *e, unsigned owner, const struct sto_version *v,
                                      uint64_t n_frozen)
{
    struct sto_absolute *a = ts_xcalloc(1, sizeof *a);
    pthread_condattr_t steady;
    a->msg.kind = STO_MSG_ABSOLUTE;
    a->e = e;
    a->owner = owner;
    a->v = v;
    a->n_frozen = n_frozen;
    a->batch = ts_xmalloc(sizeof *a->batch);
    a->batch->n = 0;
    a->batch->n_parts = a->batch->n_streams = 0;
    a->batch->from = owner;
    pthread_mutex_init(&a->mu, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&a->decided, &steady);
    pthread_condattr_destroy(&steady);
    return a;
}

struct sto_batch *sto_absolute_batch(struct sto_absolute *a)
{
    return a->batch;
}

static void release(struct sto_absolute *a)
{
    ts_free(a->batch);
    pthread_mutex_destroy(&a->mu);
    pthread_cond_destroy(&a->decided);
    ts_free(a);
}

void sto_absolute__drop(struct ts_msg *msg)
{
    release((struct sto_absolute *)msg);
}

/* --- the owner --- */

uint64_t sto_absolute_frozen(const struct sto_version *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n_mems; i++)
        n += sto_mem_gen(v->mems[i]) < v->newest_gen ? sto_mem_points(v->mems[i]) : 0;
    return n;
}

/* Does its active memstore have everything that the values lack? An owner that was still at an older generation when the values were read may have
 * written something there since. */
static bool follows(const struct sto_owner *o, const struct sto_absolute *a)
{
    bool there = false;
    for (size_t i = 0; i < a->v->n_mems; i++)
        there |= a->v->mems[i] == o->mem;
    return there && sto_mem_gen(o->mem) == a->v->newest_gen && sto_absolute_frozen(a->v) == a->n_frozen;
}

static const struct sto_mem_row *row_of(const struct sto_owner *o, const struct sto_point *p)
{
    const struct sto_mem_row *row = sto_mem_rows(o->mem, p->series);
    while (row && sto_mem_row_hour(row) != sto_hour(p->ts_ms))
        row = sto_mem_row_next(row);
    return row;
}

/* Put what memory has of a time on top of a value. False: no put is needed. */
static bool add_memory(const struct sto_cells *cells, struct sto_point *p)
{
    uint32_t off = (uint32_t)(p->ts_ms - sto_hour(p->ts_ms) * TS_HOUR_MS), meta = p->flags | off;
    uint32_t at = sto_cells_find(cells, off);
    bool any = at < cells->n && sto_meta_off(cells->meta[at]) == off;
    if (any ? sto_meta_op(cells->meta[at]) == STO_OP_PUT : sto_meta_op(meta) == STO_OP_ADD)
        return false;
    if (any)
        sto_fold_on_top(&meta, &p->m, cells->meta[at], cells->m[at]);
    p->flags = meta & STO_META_FLAGS_MASK & ~STO_META_OP_MASK; /* a put */
    return !sto_sum_overflows(meta, p->m); /* queries report it until a client puts a value */
}

/* Leave the puts that are to be made in the batch. TS_EBUSY: some cannot be made now. */
static int decide(struct sto_owner *o, struct sto_batch *b)
{
    struct sto_cells cells = {0}; /* of the row of these in memory: */
    const struct sto_series *series = NULL;
    int32_t hour = 0;
    int rc = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        struct sto_point p = b->points[i];
        if (sto_mem_tombs_last(o->mem, p.series->id)) {
            rc = TS_EBUSY;
            continue;
        }
        if (p.series != series || sto_hour(p.ts_ms) != hour) {
            const struct sto_mem_row *row = row_of(o, &p);
            series = p.series;
            hour = sto_hour(p.ts_ms);
            cells.n = 0;
            if (row)
                sto_mem_row_read(row, &cells);
        }
        if (add_memory(&cells, &p))
            b->points[n++] = p;
    }
    b->n = n;
    sto_cells_release(&cells);
    return rc;
}

/* The owner of a series changes with the number of shards. */
static bool is_mine(const struct sto_owner *o, const struct sto_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (!sto_mem_takes(o->mem, b->points[i].series))
            return false;
    return true;
}

static int put(struct sto_owner *o, struct sto_absolute *a)
{
    if (!o->mem || !follows(o, a) || !is_mine(o, a->batch)) {
        a->over = true;
        return TS_EBUSY;
    }
    int decided = decide(o, a->batch), rc = sto_owner__try(o, a->batch);
    if (rc < 0)
        return rc == TS_EIO ? rc : TS_EBUSY;
    a->n_put = a->batch->n;
    return decided;
}

void sto_absolute__handle(struct sto_owner *o, struct ts_msg *msg)
{
    struct sto_absolute *a = (struct sto_absolute *)msg;
    pthread_mutex_lock(&a->mu);
    bool left = a->state == LEFT;
    a->state = left ? LEFT : RUNNING;
    pthread_mutex_unlock(&a->mu);
    if (left) {
        release(a);
        return;
    }
    a->rc = put(o, a);
    pthread_mutex_lock(&a->mu);
    a->state = DONE;
    pthread_cond_signal(
        &a->decided); /* while holding the mutex: after it is released, the request may be freed */
    pthread_mutex_unlock(&a->mu);
}

/* --- the thread that asks --- */

/* Wait a while; a->mu held. */
static void wait_a_while(struct sto_absolute *a)
{
    int64_t until_ns = ts_clock_mono_ns() + LOOK_MS * 1000000ll;
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_cond_timedwait(&a->decided, &a->mu, &until);
}

int sto_absolute_send(struct sto_absolute *a, const _Atomic bool *stop, uint32_t *out_n_put, bool *out_over,
                      struct ts_error *err)
{
    struct sto_engine *e = a->e;
    *out_n_put = 0;
    *out_over = false;
    if (a->batch->n == 0) {
        release(a);
        return 0;
    }
    ts_queue_push(e->owners[a->owner].in, &a->msg);
    if (!e->threads_run)
        sto_engine__pump(e);
    pthread_mutex_lock(&a->mu);
    while (a->state != DONE && a->state != LEFT) {
        if (a->state == WAITING && atomic_load_explicit(stop, memory_order_relaxed))
            a->state = LEFT;
        else
            wait_a_while(a);
    }
    bool left = a->state == LEFT;
    pthread_mutex_unlock(&a->mu);
    if (left)
        return ts_error_set(err, TS_ECANCELLED, "the store is closing");
    int rc = a->rc;
    *out_n_put = a->n_put;
    *out_over = a->over;
    release(a);
    return rc == TS_EIO    ? ts_error_set(err, rc, "the log is broken")
           : rc < 0 && err ? ts_error_set(err, rc, "sums of additions cannot be logged now")
                           : rc;
}

int sto_absolute_sync(struct sto_engine *e, const _Atomic bool *stop, struct ts_error *err)
{
    if (!e->sync_runs && !e->opts.pumped)
        return 0;
    for (unsigned i = 0; i < e->n_owners; i++) {
        const struct sto_wal *wal = e->owners[i].wal;
        uint64_t written = sto_wal_written(wal);
        while (sto_wal_synced(wal) < written) {
            if (sto_wal_broken(wal))
                return ts_error_set(err, TS_EIO, "the log is broken");
            if (atomic_load_explicit(stop, memory_order_relaxed))
                return ts_error_set(err, TS_ECANCELLED, "the store is closing");
            if (e->opts.pumped) {
                (void)sto_sync__pass(e);
                continue;
            }
            sto_sync__nudge(e);
            usleep(SYNC_PAUSE_US);
        }
    }
    return 0;
}
