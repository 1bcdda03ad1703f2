/*
 * schedule.h - a scheduler: threads for one class of work, a bounded queue, and a fair share for each client
 * address.
 *
 *   add > queue > a thread takes the first waiting entry whose address runs the fewest
 *
 * A client address runs at most three quarters of the threads at once (clients on this machine: all of them),
 * so that others always find a thread, and has at most max_per_address entries (this machine: four times as
 * many), running and waiting, but never more than three quarters of the queue.
 *
 * Threads    every function from any thread; one mutex, held for a walk through the queue
 * Not here   what runs (job.c)
 */
#ifndef TSD_DAEMON_SCHEDULE_H
#define TSD_DAEMON_SCHEDULE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct tsd_schedule_limits {
    unsigned n_threads;       /* entries that run at once, at least 1 */
    unsigned max_waiting;     /* entries in the queue */
    unsigned max_per_address; /* entries of one client address, running and waiting */
    int nice;                 /* of its threads, as in struct ts_thread_opts */
};

/* Counts for /api/stats. */
struct tsd_schedule_counts {
    unsigned n_running, n_waiting;
    uint64_t n_full;    /* refused because the queue was full */
    uint64_t n_address; /* refused because of the share of an address */
};

struct tsd_schedule;
/** Start threads with a name (at most 15 bytes). Aborts if no threads can be created. */
struct tsd_schedule *tsd_schedule_new(const char *name, const struct tsd_schedule_limits *limits);
/** Run all waiting entries, then end the threads. NULL is harmless. */
void tsd_schedule_free(struct tsd_schedule *s);
/**
 * Run fn(arg) on a thread of the schedule, when it is its turn.
 *
 * @param address  of the client, from tsd_peer_key: an IPv6 network is one address
 * @param local    the client is on this machine
 * @return 0
 *         TS_EBUSY   the queue is full; the text names query_max_waiting
 *         TS_ELIMIT  the address has reached its share; the text names query_max_per_address
 */
int tsd_schedule_add(struct tsd_schedule *s, uint64_t address, bool local, void (*fn)(void *arg), void *arg,
                     struct ts_error *err);
/** Remove the entry with this arg from the queue. False: it runs, or has run. Cost: a walk through the
 * queue. */
bool tsd_schedule_remove(struct tsd_schedule *s, const void *arg);
/** What runs, waits and was refused. */
void tsd_schedule_count(struct tsd_schedule *s, struct tsd_schedule_counts *out);

#endif
