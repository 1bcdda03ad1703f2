/*
 * stop.h - a stop of all writers: until it ends none of them sends a batch and none of their batches is under way, while owners go on
 * handling messages.
 *
 *   sto_stop__begin   wakes all writers and waits. Each sends its open batches at the beginning of its next turn, and then stops there. Where
 *                     owner and writer are one thread, it goes on with what comes for the owner and puts aside what comes for the
 *                     writer, so that no callback puts anything.
 *   sto_stop__end     writers go on, first with what was put aside, in order.
 *
 * A writer whose thread does not turn would keep the others waiting. So they stop only after each of them has shown that it turns, and go on
 * if one has not stopped soon afterwards. A disk may take any time, so writers also go on by themselves, all of them together, when a stop has lasted for STO_STOP_MOST_MS.
 * The thread that has stopped them finds that out by sto_stop__hold, between whose calls and sto_stop__let they wait for the end: there it may use what belongs to
 * owners, but must not wait for a disk.
 *
 * Alternatives: owners that pass a mark on to each other, as in a distributed snapshot, would not stop writers, but both numbers of shards would be
 * in use for a while, and a table of ids can belong to one owner only; a lock around each batch would be paid for all the time.
 *
 * Threads    each function says whose
 * Not here   what is changed meanwhile (shards.h)
 */
#ifndef STORAGE_ENGINE_STOP_H
#define STORAGE_ENGINE_STOP_H

#include "base/err.h"
#include "base/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sto_engine;
struct sto_writer;

#define STO_STOP_MOST_MS 1000 /* a stop ends by itself after this time */

/* How long a stop waits and lasts. Tests on slow machines wait longer, and set it before there is a stop. */
struct sto_stop_times {
    int64_t turn_ms; /* a writer that turns does so within this time */
    int64_t stop_ms; /* and stops within this one; points wait for so long if one does not */
    int64_t most_ms; /* STO_STOP_MOST_MS */
    unsigned parts;  /* for at most one part of so many of the time writers are stopped; at least 1 */
};
/* A stop, or none. */
struct sto_stop {
    pthread_mutex_t mu;
    pthread_cond_t stop_cond; /* a writer has stopped, or all go on */
    _Atomic bool wanted;      /* writers stop at their next turn; changed under mu */
    uint64_t number;          /* of stops that have ended; under mu */
    unsigned n_stopped;       /* writers that have stopped; under mu */
    bool is_held;             /* it does not end by itself; under mu */
    struct sto_stop_times times;
    int64_t until_ns; /* monotonic time at which it does; under mu */
    uint64_t begun;   /* number of the stop that was begun last; the thread that stops */
};
/* The side of a writer. */
struct sto_stop_writer {
    _Atomic uint64_t n_turns;       /* the writer's thread counts */
    bool stopped;                   /* what comes for the writer is put aside; its thread */
    struct ts_msg *aside, **at_end; /* what was put aside, oldest first; its thread */
    uint32_t n_shards;              /* of the store, as reported to the user of the writer; its thread */
};

/** Make one; no writer stops. */
void sto_stop__init(struct sto_stop *stop);
/** Empty it; no thread uses it. */
void sto_stop__release(struct sto_stop *stop);
/** Stop all writers, and wait until everything that they have put is with its owner. 0; TS_EBUSY: a writer does not turn, or points wait for space or
 * memory; none is stopped then. *out_began_ns: monotonic time at which the first one may have stopped. flush_mu held; a thread that is neither owner nor writer, unless the store is `pumped`. */
int sto_stop__begin(struct sto_engine *e, int64_t *out_began_ns, struct ts_error *err);
/** From now on writers wait for sto_stop__let or sto_stop__end. False: the stop has ended by itself. The thread of sto_stop__begin, as are the next two. */
bool sto_stop__hold(struct sto_engine *e);
/** The stop may end by itself again: what follows may take any time. */
void sto_stop__let(struct sto_engine *e);
/** The writers go on, if they have not gone on by themselves. */
void sto_stop__end(struct sto_engine *e);
/** The stop of a store that is `pumped` ends by itself now, unless it is held or there is none; false then. Tests: inside a call of the file system. */
bool sto_stop__expire(struct sto_engine *e);
/** A turn begins, and there is no open batch: stop if that is wanted. The writer's thread. Cost: one store and one load. */
void sto_stop__turn(struct sto_writer *writer);
/** The next message of the queue of a writer, NULL if there is none. Its thread. */
struct ts_msg *sto_stop__pop(struct sto_writer *writer);
/** True: the message was put aside, because it is for a writer that has stopped. Its thread. */
bool sto_stop__put_aside(struct sto_writer *writer, struct ts_msg *msg);

#endif
