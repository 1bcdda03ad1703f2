/*
 * queue.h - a queue of messages between threads: many producers, one consumer, a limit in bytes, one wake-up (eventfd)
 * whenever it becomes non-empty.
 *
 * Threads    push from any thread; pop by the owner only
 * Cost       push: one atomic add, one compare-exchange (+ one write(2) when it was empty); pop: amortised
 *            O(1)
 * Source     R. K. Treiber's stack ("Systems Programming: Coping with Parallelism", 1986), taken whole and
 *            reversed
 */
#ifndef BASE_QUEUE_H
#define BASE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Put this first into a message. */
struct ts_msg {
    struct ts_msg *next; /* private to the queue while inside */
    uint32_t kind;       /* the receiver's own enum */
    uint32_t size_bytes; /* counted against the cap while queued */
};

struct ts_queue;
/** Queue with a cap in bytes; aborts when memory or descriptors are gone. */
struct ts_queue *ts_queue_new(size_t cap_bytes);
/** Messages still inside are not freed: drain first. NULL is harmless. */
void ts_queue_free(struct ts_queue *q);
/** Append. Never refuses: the cap is advisory, and producers check it with ts_queue_above. FIFO per
 * producer. */
void ts_queue_push(struct ts_queue *q, struct ts_msg *msg);
/** Next message or NULL; owner only. */
struct ts_msg *ts_queue_pop(struct ts_queue *q);
/** Bytes queued above pct percent of the cap? Any thread. */
bool ts_queue_above(const struct ts_queue *q, unsigned pct);
/** eventfd that is readable while messages may be waiting; the owner polls it, then ts_queue_drained + pop
 * until NULL. */
int ts_queue_fd(const struct ts_queue *q);
/** Owner: reset the eventfd before popping until NULL, so that no wake-up is lost. */
void ts_queue_drained(struct ts_queue *q);
/** Owner: make the eventfd readable, because it stops popping although messages may be waiting. */
void ts_queue_wake(struct ts_queue *q);
/** Owner without an event loop: block until a message is there or timeout_ms passed (-1 = for ever). True =
 * pop now. */
bool ts_queue_wait(struct ts_queue *q, int timeout_ms);

#endif
