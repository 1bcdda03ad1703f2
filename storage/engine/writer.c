/*
 * writer.c - sends points from writers to owners: batches, barriers, changes of generation.
 *
 * A writer belongs to one thread and has one open batch for each owner. A batch is sent when it is full or the
 * turn ends. If the thread is the owner itself, the batch is applied at once; otherwise it goes through the
 * owner's queue and comes back empty. What a writer sends to an owner arrives in order, so a barrier that
 * follows a batch is seen after it.
 *
 * Threads    writer: the thread that it belongs to. Owner: the worker of the same number (one thread for both),
 *            or the store's own thread.
 * Invariant  log first, memstore second: a query never shows what a crash would lose
 * Not here   syncing (sync.c), when to flush (flush.c), why puts are refused (refuse.c)
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/absolute.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/once_engine.h"
#include "storage/engine/parts.h"
#include "storage/engine/reserve.h"

#define QUEUE_BUSY_PCT 75
#define READY_PCT      50
#define TURN_MESSAGES  64   /* most handled at once: others may send faster than an owner handles */
#define RETRY_MS       1000 /* writing to a full disk is tried again once a second */

/* --- the owner's side --- */

/* A log is broken: wake the sync thread, which ends the process, instead of waiting for its next sync. */
static void report_sync(struct sto_engine *e, int rc)
{
    if (rc == TS_EIO && e->sync_runs)
        sto_sync__nudge(e);
}

static struct sto_parts_tables tables_of(const struct sto_engine *e)
{
    return (struct sto_parts_tables){e->once, sto_engine__n_shards(e)};
}

static void parts_decide(struct sto_owner *o, struct sto_batch *b)
{
    struct sto_once_time now = sto_once__now(o);
    struct sto_parts_tables tables = tables_of(o->e);
    sto_parts_decide(b, &tables, &now);
}

/* It is known whether the parts of a batch are in the log. */
static void parts_settle(struct sto_owner *o, struct sto_batch *b, bool added)
{
    struct sto_parts_tables tables = tables_of(o->e);
    if (added)
        sto_parts_added(b, &tables);
    else
        sto_parts_undone(b, &tables);
}

/* Write to the log, then to the memstore. After an error that sto_engine__may_wait accepts nothing was
 * written and the call may be repeated, which `waits` says that it will be; after any other error the log is broken. */
static int owner_write(struct sto_owner *o, struct sto_batch *b, bool waits)
{
    struct sto_engine *e = o->e;
    struct ts_error err = {0};
    if (b->n_parts)
        parts_decide(o, b);
    uint32_t n = b->n;
    int rc = sto_reserve__may_write(e)
                 ? sto_wal_append_batch(o->wal, b, &err)
                 : ts_error_set(&err, TS_ENOSPC, "%s: " STO_DISK_FULL " and the reserve was removed", e->dir);
    if (!waits && sto_engine__may_wait(rc))
        return rc;
    if (sto_engine__may_wait(rc)) {
        if (!o->held)
            atomic_fetch_add_explicit(&e->n_holding, 1, memory_order_relaxed);
        o->held_code = rc;
    } else if (rc < 0) {
        rc = TS_EIO;
    }
    if (rc < 0) {
        if (b->n_parts)
            parts_settle(o, b, false);
        sto_engine__refuse(e, rc, &err);
        report_sync(e, rc);
        return rc;
    }
    if (b->n_parts)
        parts_settle(o, b, true);
    sto_mem_apply(o->mem, b->points, n);
    atomic_store_explicit(&o->n_points, atomic_load_explicit(&o->n_points, memory_order_relaxed) + n,
                          memory_order_relaxed);
    size_t now = sto_mem_bytes(o->mem), total;
    total = atomic_fetch_add_explicit(&e->active_bytes, now - o->counted_bytes, memory_order_relaxed) +
            (now - o->counted_bytes);
    o->counted_bytes = now;
    if (atomic_load_explicit(&e->gen_born_ms, memory_order_relaxed) == 0)
        atomic_store_explicit(&e->gen_born_ms, ts_clock_mono_ns() / 1000000, memory_order_relaxed);
    if (total >= e->opts.memstore_bytes && !e->opts.no_background &&
        !atomic_exchange_explicit(&e->flush_requested, true, memory_order_relaxed))
        sto_flush__wake(e);
    bool retired = sto_wal_take_retired(o->wal);
    if ((e->opts.wal_sync == STO_SYNC_ALWAYS || retired) && e->sync_runs)
        sto_sync__nudge(e);
    return 0;
}

static void owner_lose(struct sto_owner *o, uint32_t n)
{
    atomic_fetch_add_explicit(&o->n_failed, n,
                              memory_order_relaxed); /* barriers read it in this thread, statistics in any */
}

/* A batch goes back to the writer it came from. */
static void batch_return(struct sto_engine *e, struct sto_batch *b)
{
    b->msg.kind = STO_MSG_RETURN;
    b->msg.size_bytes = 0;
    ts_queue_push(e->writers[b->from].replies, &b->msg);
}

/* True: the batch was handled. False: space or memory was missing, and the batch is kept to be written later. Later batches wait behind it, so
 * that the order of each sender is kept. Only few can wait, because writers get no new batches meanwhile. */
static bool owner_apply(struct sto_owner *o, struct sto_batch *b)
{
    if (b->n == 0)
        return true;
    int rc = o->held ? o->held_code : owner_write(o, b, true);
    if (rc == 0)
        return true;
    if (!sto_engine__may_wait(rc)) {
        owner_lose(o, b->n);
        return true;
    }
    if (!o->held) {
        o->held_end = &o->held;
        o->retry_ns = ts_clock_mono_ns() + RETRY_MS * 1000000ll;
    }
    b->msg.next = NULL;
    *o->held_end = &b->msg;
    o->held_end = &b->msg.next;
    return false;
}

int sto_owner__try(struct sto_owner *o, struct sto_batch *b)
{
    int rc = b->n == 0 ? 0 : o->held ? o->held_code : owner_write(o, b, false);
    if (rc < 0 && !sto_engine__may_wait(rc))
        owner_lose(o, b->n);
    return rc;
}

/* Try to write the waiting batches. */
static void owner_retry(struct sto_owner *o)
{
    while (o->held) {
        struct sto_batch *b = (struct sto_batch *)o->held;
        int rc = owner_write(o, b, true);
        if (sto_engine__may_wait(rc)) {
            o->retry_ns = ts_clock_mono_ns() + RETRY_MS * 1000000ll;
            return;
        }
        if (rc < 0)
            owner_lose(o, b->n);
        o->held = b->msg.next;
        batch_return(o->e, b);
        if (!o->held)
            atomic_fetch_sub_explicit(&o->e->n_holding, 1, memory_order_relaxed);
    }
    sto_engine__recovered(o->e);
}

static void owner_retry_due(struct sto_owner *o)
{
    if (o->held && ts_clock_mono_ns() >= o->retry_ns)
        owner_retry(o);
}

static void barrier_answered(struct sto_barrier *b, struct sto_engine *e);

/* A barrier is about to report that space is missing, so its asker will repeat what it sent. Repeated puts and
 * deletes do no harm, but a repeated addition would count twice: drop the waiting additions of that asker. */
static void drop_adds(struct sto_owner *o, const struct sto_writer *writer, uint32_t asker)
{
    struct sto_once_time now = sto_once__now(o);
    struct sto_parts_tables tables = tables_of(o->e);
    for (struct ts_msg *held = o->held; held; held = held->next) {
        struct sto_batch *b = (struct sto_batch *)held;
        uint32_t n = 0;
        if (b->from != writer->index)
            continue; /* its numbers of askers are its own */
        if (b->n_parts) {
            sto_parts_drop(b, &tables, asker, &now);
            continue;
        }
        for (uint32_t i = 0; i < b->n; i++)
            if (sto_meta_op(b->points[i].flags) != STO_OP_ADD || b->points[i].asker != asker)
                b->points[n++] = b->points[i];
        b->n = n;
    }
}

static void owner_barrier(struct sto_owner *o, struct sto_barrier_part *part)
{
    struct sto_barrier *b = part->barrier;
    if (o->held)
        owner_retry(o); /* a caller waits: try now, not in a second */
    if (o->held && b->writer && b->asker)
        drop_adds(o, b->writer, b->asker);
    part->rc = o->held ? o->held_code : atomic_load_explicit(&o->n_failed, memory_order_relaxed) ? TS_EIO : 0;
    /* acq_rel: releases this owner's result; the last owner acquires all results */
    if (atomic_fetch_sub_explicit(&b->left, 1, memory_order_acq_rel) == 1)
        barrier_answered(b, o->e);
}

static void owner_set_gen(struct sto_owner *o, struct sto_set_gen *msg)
{
    struct ts_error err = {0};
    int rc = o->wal ? sto_wal_set_gen(o->wal, sto_mem_gen(msg->mem), &err) : 0;
    if (o->wal)
        sto_wal_set_spread(o->wal, sto_engine__spread(o->e)); /* as that of the memstore */
    if (rc < 0) {
        sto_engine__refuse(o->e, rc, &err);
        report_sync(o->e, rc);
    } else if (o->wal && sto_wal_take_retired(o->wal) && o->e->sync_runs) {
        sto_sync__nudge(o->e);
    }
    sto_once__encode(o, &msg->once);
    o->mem = msg->mem;
    atomic_fetch_sub_explicit(&o->e->active_bytes, o->counted_bytes, memory_order_relaxed);
    o->counted_bytes = 0;
    ts_latch_count_down(msg->latch);
}

static void port_done(struct sto_barrier *b)
{
    if (!b->writer->e->closing)
        b->done(b->arg, b->rc, &b->err);
    ts_free(b);
}

static void batch_clear(struct sto_batch *b)
{
    b->n = 0;
    b->n_parts = b->n_streams = 0;
}

/* A batch is done with: tell the writer's user what was refused, and empty it. */
static void batch_done(struct sto_writer *writer, struct sto_batch *b)
{
    enum sto_once_answer why = STO_ONCE_NEW;
    struct sto_parts_counts counts = sto_parts_count(b);
    sto_once__count(writer->e, &counts);
    for (unsigned i = 0; counts.n_refused && i < b->n_streams; i++) {
        uint64_t seq = sto_parts_refused(b, i, &why);
        struct sto_refused refused = {.stream = &b->streams[i],
                                      .seq = seq,
                                      .why = seq ? sto_once_why(why) : NULL,
                                      .forgotten = why == STO_ONCE_FORGOTTEN};
        if (seq && writer->on_refused)
            writer->on_refused(writer->refused_arg, &refused);
    }
    batch_clear(b);
}

static void batch_home(struct sto_writer *writer, struct sto_batch *b)
{
    batch_done(writer, b);
    if (writer->n_free >= writer->e->n_owners) { /* after a burst; a turn needs one batch for each owner */
        atomic_fetch_sub_explicit(&writer->e->n_batches, 1, memory_order_relaxed);
        ts_free(b);
        return;
    }
    b->msg.next = writer->free_list ? &writer->free_list->msg : NULL;
    writer->free_list = b;
    writer->n_free++;
}

/* One message of an owner's or a writer's queue. */
static void handle(struct sto_engine *e, unsigned index, struct ts_msg *msg)
{
    struct sto_owner *o = &e->owners[index];
    switch ((enum sto_msg_kind)msg->kind) {
    case STO_MSG_BATCH: {
        struct sto_batch *b = (struct sto_batch *)msg;
        if (owner_apply(o, b))
            batch_return(e, b);
        break;
    }
    case STO_MSG_RETURN:
        batch_home(&e->writers[index], (struct sto_batch *)msg);
        break;
    case STO_MSG_BARRIER:
        owner_barrier(o, (struct sto_barrier_part *)msg);
        break;
    case STO_MSG_BARRIER_DONE:
        port_done((struct sto_barrier *)msg);
        break;
    case STO_MSG_SET_GEN:
        owner_set_gen(o, (struct sto_set_gen *)msg);
        break;
    case STO_MSG_ABSOLUTE:
        sto_absolute__handle(o, msg);
        break;
    case STO_MSG_STOP:
        o->stop = true;
        ts_free(msg);
        break;
    case STO_MSG_WAKE:
        ts_free(msg);
        break;
    case STO_MSG_NUDGE:
        TS_BUG("a nudge is for the sync thread");
    }
}

bool sto_owner__drain(struct sto_owner *o)
{
    struct sto_writer *w = &o->e->writers[o->index];
    bool both = w->replies == o->in;
    unsigned n = 0;
    ts_queue_drained(o->in);
    for (struct ts_msg *msg; n < TURN_MESSAGES && (msg = both ? sto_stop__pop(w) : ts_queue_pop(o->in)); n++)
        if (!both || !sto_stop__put_aside(w, msg))
            handle(o->e, o->index, msg);
    owner_retry_due(o);
    return n == TURN_MESSAGES;
}

void *sto_owner__thread(void *arg)
{
    struct sto_owner *o = arg;
    while (!o->stop) {
        ts_queue_wait(o->in, o->held ? RETRY_MS : -1);
        (void)sto_owner__drain(o);
    }
    return NULL;
}

/* --- the writer's side --- */

unsigned sto_writer_slot(const struct sto_writer *writer, const struct sto_series *series)
{
    return sto_engine__owner_of(writer->e, series);
}

static struct sto_batch *batch_take(struct sto_writer *writer)
{
    struct sto_batch *b = writer->free_list;
    if (b) {
        writer->free_list = (struct sto_batch *)b->msg.next;
        writer->n_free--;
    } else {
        b = ts_xmalloc(sizeof *b);
        atomic_fetch_add_explicit(&writer->e->n_batches, 1, memory_order_relaxed);
        b->from = writer->index;
    }
    batch_clear(b);
    return b;
}

static void batch_send(struct sto_writer *writer, unsigned slot)
{
    struct sto_engine *e = writer->e;
    struct sto_batch *b = writer->open[slot];
    if (!b || b->n == 0)
        return;
    struct sto_owner *o = &e->owners[slot];
    if (writer->replies == o->in) { /* this thread is the owner */
        if (owner_apply(o, b))
            batch_done(writer, b);
        else
            writer->open[slot] = NULL;
        return;
    }
    writer->open[slot] = NULL;
    b->msg.kind = STO_MSG_BATCH;
    b->msg.size_bytes = (uint32_t)(sizeof *b);
    ts_queue_push(o->in, &b->msg);
}

/* Has the batch room for n points, for a part of a stream if there is one? */
static bool has_room(const struct sto_batch *b, const struct sto_stream *stream, uint32_t n)
{
    return STO_BATCH_POINTS - b->n >= n &&
           (!stream ||
            (b->n_parts < STO_BATCH_PARTS &&
             (b->n_streams < STO_BATCH_STREAMS || b->streams[b->n_streams - 1].number == stream->number)));
}

bool sto_writer_accepts_parts(const struct sto_writer *writer)
{
    /* relaxed: set while this thread was stopped */
    return !atomic_load_explicit(&writer->e->shards_doubt, memory_order_relaxed);
}

static struct sto_batch *open_batch(struct sto_writer *writer, const struct sto_series *series,
                                    const struct sto_stream *stream, uint32_t n)
{
    struct sto_engine *e = writer->e;
    unsigned slot = sto_writer_slot(writer, series);
    struct sto_batch *b = writer->open[slot];
    bool refuses = e->opts.read_only || atomic_load_explicit(&e->refuse_code, memory_order_relaxed);
    if (stream && !sto_writer_accepts_parts(writer))
        return NULL;
    if (b && b->n && has_room(b, stream, n) && !refuses)
        return b;
    if (b && !refuses)
        batch_send(writer, slot); /* after this the store may refuse puts */
    if (refuses || atomic_load_explicit(&e->refuse_code, memory_order_relaxed) ||
        ts_queue_above(e->owners[slot].in, 100))
        return NULL;
    if (!writer->open[slot])
        writer->open[slot] = batch_take(writer);
    return writer->open[slot];
}

struct sto_batch *sto_writer_batch(struct sto_writer *writer, const struct sto_series *series)
{
    return open_batch(writer, series, NULL, 1);
}

struct sto_batch *sto_writer_batch_part(struct sto_writer *writer, const struct sto_series *series,
                                        const struct sto_stream *stream, uint32_t n)
{
    return open_batch(writer, series, stream, n);
}

uint64_t sto_writer_stream(struct sto_writer *writer)
{
    return atomic_fetch_add_explicit(&writer->e->n_streams, 1, memory_order_relaxed) + 1;
}

void sto_writer_on_refused(struct sto_writer *writer, sto_refused_fn fn, void *arg)
{
    writer->on_refused = fn;
    writer->refused_arg = arg;
}

void sto_writer_on_shards(struct sto_writer *writer, sto_shards_fn fn, void *arg)
{
    writer->on_shards = fn;
    writer->shards_arg = arg;
}

void sto_writer__send(struct sto_writer *writer)
{
    for (unsigned i = 0; i < writer->e->n_owners; i++)
        batch_send(writer, i);
}

void sto_writer_turn(struct sto_writer *writer)
{
    if (writer->turning)
        return;
    writer->turning = true;
    sto_writer__send(writer);
    sto_stop__turn(writer);
    ts_queue_drained(writer->replies);
    unsigned n = 0;
    for (struct ts_msg *msg; (n < TURN_MESSAGES || writer->e->closing) && (msg = sto_stop__pop(writer)); n++)
        handle(writer->e, writer->index, msg);
    if (n == TURN_MESSAGES)
        ts_queue_wake(writer->replies);
    if (writer->replies == writer->e->owners[writer->index].in)
        owner_retry_due(&writer->e->owners[writer->index]);
    writer->turning = false;
}

int sto_writer_fd(const struct sto_writer *writer)
{
    return ts_queue_fd(writer->replies);
}
struct sto_writer *sto_engine_writer(struct sto_engine *e, unsigned i)
{
    return &e->writers[i];
}
bool sto_writer_ready(struct sto_writer *writer)
{
    struct sto_engine *e = writer->e;
    bool full = sto_engine__memory_full(e) && !e->opts.no_background &&
                !atomic_load_explicit(&e->refuse_code, memory_order_relaxed);
    unsigned pct = writer->paused ? READY_PCT : QUEUE_BUSY_PCT;
    for (unsigned i = 0; i < e->n_owners && !full; i++)
        full = ts_queue_above(e->owners[i].in, pct);
    writer->paused = full;
    return !full;
}

/* --- barriers --- */

static struct sto_barrier *barrier_new(struct sto_engine *e, bool disk)
{
    struct sto_barrier *b = ts_xcalloc(1, sizeof *b + e->n_owners * sizeof b->parts[0]);
    b->disk = disk;
    atomic_store_explicit(&b->left, e->n_owners, memory_order_relaxed);
    for (unsigned i = 0; i < e->n_owners; i++) {
        b->parts[i].barrier = b;
        b->parts[i].msg.kind = STO_MSG_BARRIER;
    }
    return b;
}

/* All owners have answered: pass the barrier to the sync thread, or return it to its writer. */
static void barrier_answered(struct sto_barrier *b, struct sto_engine *e)
{
    b->done_msg.kind = STO_MSG_BARRIER_DONE;
    for (unsigned i = 0; i < e->n_owners && b->rc == 0; i++)
        b->rc = b->parts[i].rc;
    if (b->rc < 0)
        sto_engine__refusal(e, b->rc, &b->err);
    if (b->disk && b->rc == 0 && (e->sync_runs || e->opts.pumped))
        ts_queue_push(e->sync_q, &b->done_msg);
    else if (b->writer)
        ts_queue_push(b->writer->replies, &b->done_msg);
    else
        ts_latch_count_down(b->latch);
}

void sto_writer_barrier(struct sto_writer *writer, enum sto_level level, uint32_t asker, sto_done_fn done,
                        void *arg)
{
    bool disk = level == STO_LEVEL_DISK;
    if (level > STO_LEVEL_DISK)
        TS_BUG("a barrier goes to the log or to disk; sto_flush does more");
    struct sto_engine *e = writer->e;
    sto_writer__send(writer);
    struct sto_barrier *b = barrier_new(e, disk);
    b->writer = writer;
    b->asker = asker;
    b->done = done;
    b->arg = arg;
    for (unsigned i = 0; i < e->n_owners; i++)
        ts_queue_push(e->owners[i].in, &b->parts[i].msg);
}

int sto_engine_wait(struct sto_engine *e, bool disk, struct ts_error *err)
{
    if (e->opts.read_only)
        return 0;
    struct ts_latch latch;
    ts_latch_init(&latch, 1);
    struct sto_barrier *b = barrier_new(e, disk);
    b->latch = &latch;
    for (unsigned i = 0; i < e->n_owners; i++)
        ts_queue_push(e->owners[i].in, &b->parts[i].msg);
    if (!e->threads_run)
        sto_engine__pump(e);
    if (disk && e->opts.pumped)
        sto_sync__pass(e);
    ts_latch_wait(&latch);
    ts_latch_release(&latch);
    int rc = b->rc;
    if (rc < 0 && err)
        *err = b->err;
    ts_free(b);
    return rc;
}

/* No thread runs the owners (while opening and closing): run them here. */
void sto_engine__pump(struct sto_engine *e)
{
    for (unsigned i = 0; i < e->n_owners; i++)
        while (sto_owner__drain(&e->owners[i]))
            ;
}
