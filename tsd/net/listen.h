/*
 * listen.h - listening sockets and the hand-off of accepted ones to the worker with the fewest connections.
 *
 * Threads    main
 */
#ifndef TSD_NET_LISTEN_H
#define TSD_NET_LISTEN_H

#include "tsd/daemon/daemon.h"

#include <stdbool.h>

struct event_base;
struct tsd_listen;

/** Listen on all addresses of set.bind, on the shared port and on those that protocols have of their own; accepts when base
 *  runs. Workers read what comes by UDP. TS_EBUSY: a port is taken.
 *  @param out_port  [out] the shared port, also when set.port is 0 */
int tsd_listen_open(struct tsd_daemon *daemon, struct event_base *base, struct tsd_listen **out_listen,
                    unsigned *out_port, struct ts_error *err);
/** The port that a protocol has of its own; 0: none. */
unsigned tsd_listen_own_port(const struct tsd_listen *l, const struct tsd_protocol *proto);
/** Stop listening. NULL is harmless. */
void tsd_listen_close(struct tsd_listen *l);

/* --- protocols that come by UDP: a socket for each worker, the kernel spreads senders over them --- */

struct tsd_protocol;
struct tsd_worker;

/** Read a bound socket (taken) and give its datagrams to the protocol; not while the worker drains. */
void tsd_datagrams_open(struct tsd_worker *w, int fd, const struct tsd_protocol *proto);
/** Stop reading, or go on: the worker pauses. */
void tsd_datagrams_pause(struct tsd_worker *w, bool paused);
/** Close all sockets. Idempotent. */
void tsd_datagrams_close(struct tsd_worker *w);

#endif
