/*
 * listen.h - listening sockets and the hand-off of accepted ones to the worker with the fewest connections.
 *
 * Threads    main
 */
#ifndef TSD_NET_LISTEN_H
#define TSD_NET_LISTEN_H

#include "tsd/daemon/daemon.h"

struct event_base;
struct tsd_listen;

/** Listen on all addresses of set.bind; accepts when base runs. TS_EBUSY: the port is taken.
 *  @param out_port  [out] the port, also when 0 was asked for */
int tsd_listen_open(struct tsd_daemon *daemon, struct event_base *base, struct tsd_listen **out_listen,
                    unsigned *out_port, struct ts_error *err);
/** Stop listening. NULL is harmless. */
void tsd_listen_close(struct tsd_listen *l);

#endif
