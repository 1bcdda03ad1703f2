/*
 * stop.c - see stop.h.
 */
#include "storage/engine/stop.h"

#include "base/time.h"
#include "storage/engine/engine_int.h"

#include <time.h>

#define WAIT_MS 100 /* between two checks whether the stop has ended */

void sto_stop__init(struct sto_stop *stop)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&stop->mu, NULL);
    pthread_cond_init(&stop->stop_cond, &steady);
    pthread_condattr_destroy(&steady);
    stop->times =
        (struct sto_stop_times){.turn_ms = 1000, .stop_ms = 250, .most_ms = STO_STOP_MOST_MS, .parts = 10};
}

void sto_stop__release(struct sto_stop *stop)
{
    pthread_mutex_destroy(&stop->mu);
    pthread_cond_destroy(&stop->stop_cond);
}

/* --- the side of a writer --- */

static bool is_owner(const struct sto_writer *writer)
{
    return writer->replies == writer->e->owners[writer->index].in;
}

struct ts_msg *sto_stop__pop(struct sto_writer *writer)
{
    struct sto_stop_writer *s = &writer->stop;
    struct ts_msg *msg = s->stopped ? NULL : s->aside;
    if (!msg)
        return ts_queue_pop(writer->replies);
    s->aside = msg->next;
    return msg;
}

bool sto_stop__put_aside(struct sto_writer *writer, struct ts_msg *msg)
{
    struct sto_stop_writer *s = &writer->stop;
    if (!s->stopped || (msg->kind != STO_MSG_RETURN && msg->kind != STO_MSG_BARRIER_DONE))
        return false;
    if (!s->aside)
        s->at_end = &s->aside;
    msg->next = NULL;
    *s->at_end = msg;
    s->at_end = &msg->next;
    return true;
}

/* Report to the user of a writer how many shards there are now. */
static void report_shards(struct sto_writer *writer)
{
    uint32_t n = sto_engine__n_shards(writer->e);
    if (n == writer->stop.n_shards)
        return;
    writer->stop.n_shards = n;
    if (writer->on_shards)
        writer->on_shards(writer->shards_arg, n);
}

/* Let all writers go on. mu held. */
static void go_on(struct sto_stop *stop)
{
    atomic_store_explicit(&stop->wanted, false, memory_order_release);
    stop->is_held = false;
    stop->number++;
    pthread_cond_broadcast(&stop->stop_cond);
}

/* Has the stop with a number ended, or has it lasted for so long that it ends now? */
static bool has_ended(struct sto_stop *stop, uint64_t number)
{
    pthread_mutex_lock(&stop->mu);
    if (stop->number == number && !stop->is_held && ts_clock_mono_ns() >= stop->until_ns)
        go_on(stop);
    bool ended = stop->number != number;
    pthread_mutex_unlock(&stop->mu);
    return ended;
}

/* Wait for a moment, or until the stop with a number has ended. */
static void wait_some(struct sto_stop *stop, uint64_t number)
{
    int64_t until_ns = ts_clock_mono_ns() + WAIT_MS * 1000000ll;
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&stop->mu);
    while (stop->number == number && pthread_cond_timedwait(&stop->stop_cond, &stop->mu, &until) == 0)
        ;
    pthread_mutex_unlock(&stop->mu);
}

/* Wait until the stop with a number has ended. */
static void wait_for_end(struct sto_writer *writer, uint64_t number)
{
    struct sto_stop *stop = &writer->e->stop;
    while (!has_ended(stop, number)) {
        if (is_owner(writer)) {
            (void)ts_queue_wait(writer->replies, WAIT_MS);
            (void)sto_owner__drain(&writer->e->owners[writer->index]);
        } else {
            wait_some(stop, number);
        }
    }
}

void sto_stop__turn(struct sto_writer *writer)
{
    struct sto_stop *stop = &writer->e->stop;
    struct sto_stop_writer *s = &writer->stop;
    /* release: sto_stop__begin has seen that batches of earlier turns were sent; the load may be late, for a wake-up comes with it */
    atomic_store_explicit(&s->n_turns, atomic_load_explicit(&s->n_turns, memory_order_relaxed) + 1,
                          memory_order_release);
    if (!atomic_load_explicit(&stop->wanted, memory_order_acquire))
        return;
    pthread_mutex_lock(&stop->mu);
    bool wanted = atomic_load_explicit(&stop->wanted, memory_order_relaxed);
    uint64_t number = stop->number;
    if (wanted) {
        stop->n_stopped++;
        pthread_cond_broadcast(&stop->stop_cond);
    }
    pthread_mutex_unlock(&stop->mu);
    if (!wanted)
        return;
    s->stopped = true;
    wait_for_end(writer, number);
    s->stopped = false;
    report_shards(writer);
}

/* --- the thread that stops --- */

/* Make workers begin a turn. Other writers turn by themselves; if they do not, messages would gather. */
static void wake(struct sto_engine *e)
{
    for (unsigned i = 0; i < e->n_owners; i++) {
        if (!is_owner(&e->writers[i]))
            continue;
        struct ts_msg *msg = ts_xcalloc(1, sizeof *msg);
        msg->kind = STO_MSG_WAKE;
        ts_queue_push(e->writers[i].replies, msg);
    }
}

static bool is_closing(struct sto_engine *e)
{
    return atomic_load_explicit(&e->stop_compact, memory_order_relaxed);
}

/* Does each writer begin a turn soon? */
static bool all_turn(struct sto_engine *e)
{
    uint64_t *before = ts_xcalloc(e->n_owners, sizeof *before);
    int64_t until_ns = ts_clock_mono_ns() + e->stop.times.turn_ms * 1000000;
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_owners; i++)
        before[i] = atomic_load_explicit(&e->writers[i].stop.n_turns, memory_order_acquire);
    wake(e);
    while (n < e->n_owners && ts_clock_mono_ns() < until_ns && !is_closing(e))
        if (atomic_load_explicit(&e->writers[n].stop.n_turns, memory_order_acquire) != before[n])
            n++;
        else
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    ts_free(before);
    return n == e->n_owners;
}

/* Have all writers stopped soon after they were woken? */
static bool all_stop(struct sto_engine *e)
{
    struct sto_stop *stop = &e->stop;
    int64_t until_ns = ts_clock_mono_ns() + stop->times.stop_ms * 1000000;
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&stop->mu);
    stop->n_stopped = 0;
    stop->begun = stop->number;
    stop->until_ns = ts_clock_mono_ns() + stop->times.most_ms * 1000000;
    atomic_store_explicit(&stop->wanted, true, memory_order_release);
    pthread_mutex_unlock(&stop->mu);
    wake(e);
    pthread_mutex_lock(&stop->mu);
    while (stop->n_stopped < e->n_owners && !is_closing(e) &&
           pthread_cond_timedwait(&stop->stop_cond, &stop->mu, &until) == 0)
        ;
    bool all = stop->n_stopped == e->n_owners;
    pthread_mutex_unlock(&stop->mu);
    return all;
}

/* The same in a store without threads. */
static void stop_here(struct sto_engine *e)
{
    e->stop.begun = e->stop.number;
    for (unsigned i = 0; i < e->n_owners; i++) {
        sto_writer__send(&e->writers[i]);
        e->writers[i].stop.stopped = true;
    }
}

int sto_stop__begin(struct sto_engine *e, int64_t *out_began_ns, struct ts_error *err)
{
    if (!e->opts.pumped && !all_turn(e))
        return ts_error_set(err, TS_EBUSY, "a thread that puts points does not answer");
    *out_began_ns = ts_clock_mono_ns();
    if (e->opts.pumped) {
        stop_here(e);
    } else if (!all_stop(e)) {
        sto_stop__end(e);
        return ts_error_set(err, TS_EBUSY, "a thread that puts points did not stop in time");
    }
    if (sto_engine_wait(e, false, err) == 0)
        return 0;
    sto_stop__end(e);
    return ts_error_set(err, TS_EBUSY, "points wait for space on the disk or for memory");
}

/* Writers of a store without threads go on. */
static void go_on_here(struct sto_engine *e)
{
    e->stop.is_held = false;
    e->stop.number++;
    for (unsigned i = 0; i < e->n_owners; i++) {
        e->writers[i].stop.stopped = false;
        report_shards(&e->writers[i]);
    }
}

bool sto_stop__hold(struct sto_engine *e)
{
    struct sto_stop *stop = &e->stop;
    pthread_mutex_lock(&stop->mu);
    bool lasts = stop->number == stop->begun;
    stop->is_held = lasts;
    pthread_mutex_unlock(&stop->mu);
    return lasts;
}

void sto_stop__let(struct sto_engine *e)
{
    pthread_mutex_lock(&e->stop.mu);
    e->stop.is_held = false;
    pthread_mutex_unlock(&e->stop.mu);
}

void sto_stop__end(struct sto_engine *e)
{
    struct sto_stop *stop = &e->stop;
    if (e->opts.pumped) {
        if (stop->number == stop->begun)
            go_on_here(e);
        return;
    }
    pthread_mutex_lock(&stop->mu);
    if (stop->number == stop->begun)
        go_on(stop);
    pthread_mutex_unlock(&stop->mu);
    wake(e);
}

bool sto_stop__expire(struct sto_engine *e)
{
    bool may = e->opts.pumped && !e->stop.is_held && e->writers[0].stop.stopped;
    if (may)
        go_on_here(e);
    return may;
}
