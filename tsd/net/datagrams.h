/*
 * datagrams.h - protocols that come by UDP: a socket for each worker, the kernel spreads senders over them.
 *
 * Nothing of a datagram is kept. While the store is behind, sockets are not read, and the kernel drops what it has no
 * room for: that is what senders of UDP have chosen.
 *
 * Threads    the worker
 */
#ifndef TSD_NET_DATAGRAMS_H
#define TSD_NET_DATAGRAMS_H

#include <stdbool.h>

struct tsd_protocol;
struct tsd_worker;

/** Read a bound socket (taken) and give its datagrams to the protocol; not while the worker drains. */
void tsd_datagrams_open(struct tsd_worker *w, int fd, const struct tsd_protocol *proto);
/** Stop reading, or go on: the worker pauses. */
void tsd_datagrams_pause(struct tsd_worker *w, bool paused);
/** Close all sockets. Idempotent. */
void tsd_datagrams_close(struct tsd_worker *w);

#endif
