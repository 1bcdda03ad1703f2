/*
 * health.h - what is wrong with a running daemon, and what to do about it: for /readyz and /api/tsd/status.
 *
 * A problem blocks the daemon if points are refused because of it, or if the daemon is stopping; it is then not
 * ready. All other problems want a look, but clients get their answers.
 *
 * Threads    any
 */
#ifndef TSD_DAEMON_HEALTH_H
#define TSD_DAEMON_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

struct tsd_daemon;

#define TSD_HEALTH_MAX 12 /* problems of one report: more than tsd_health_look knows */

/* A problem. */
struct tsd_health_problem {
    bool blocks;      /* the daemon is not ready */
    char what[400];   /* a sentence without a full stop */
    char action[240]; /* another one: what a person can do */
};
/* All problems of a moment, those that block first. */
struct tsd_health {
    struct tsd_health_problem problems[TSD_HEALTH_MAX];
    size_t n;
};
/**
 * Look for problems.
 *
 * @param disk  also look at the free space of the data folder, which may wait for the disk: not in a worker
 *
 * Takes mutexes for microseconds; asks nobody on the network.
 */
void tsd_health_look(struct tsd_daemon *d, bool disk, struct tsd_health *out);
/** Is none of the problems one that blocks? */
bool tsd_health_ready(const struct tsd_health *h);

#endif
