/*
 * peers.h - how many connections each address has.
 *
 * An address is an IPv4 address or the first 64 bits of an IPv6 one: whoever has an IPv6 network has all of those. ::1 is 127.0.0.1.
 *
 * Threads    any
 */
#ifndef TSD_PEERS_H
#define TSD_PEERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TSD_PEERS_BUCKETS 1024 /* a power of two */

struct sockaddr;
struct tsd_peer;

struct tsd_peers {
    pthread_mutex_t mu;                          /* guards the rest */
    struct tsd_peer *buckets[TSD_PEERS_BUCKETS]; /* chains; as many entries as addresses with connections */
};

/** No connections. */
void tsd_peers_init(struct tsd_peers *p);
/** Free it. */
void tsd_peers_release(struct tsd_peers *p);
/** Key of an address; 0: it is not counted (no internet address). */
uint64_t tsd_peer_key(const struct sockaddr *addr);
/** Is a key that of a loopback address (127.0.0.0/8, ::1)? */
bool tsd_peer_is_loopback(uint64_t key);
/** Count one more connection of an address; false, and nothing is counted, if it has max already. max == 0: no limit. */
bool tsd_peers_add(struct tsd_peers *p, uint64_t key, uint32_t max);
/** A connection that was counted is gone. */
void tsd_peers_remove(struct tsd_peers *p, uint64_t key);

#endif
