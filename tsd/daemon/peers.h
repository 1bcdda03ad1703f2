/*
 * peers.h - client addresses: how many connections each has, and its shares of memory and of the spool.
 *
 * An address is an IPv4 address or the first 64 bits of an IPv6 one, since one client usually has a whole
 * IPv6 network. ::1 counts as 127.0.0.1.
 *
 * Threads    any
 */
#ifndef TSD_DAEMON_PEERS_H
#define TSD_DAEMON_PEERS_H

#include "tsd/daemon/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TSD_PEERS_BUCKETS 1024 /* a power of two */

struct sockaddr;

/* An address with connections. All memory counted in its accounts is released before its last connection
 * is. */
struct tsd_peer {
    struct tsd_peer *next;           /* private: of the chain */
    uint64_t key;                    /* tsd_peer_key */
    uint32_t n;                      /* private: connections, at least one */
    _Atomic uint64_t n_points;       /* accepted from it since its first connection; any thread, relaxed */
    struct tsd_memory_shares memory; /* its share of each account of memory */
    struct ts_budget spool;          /* its share of query_spool_bytes */
};

/* The most connections; 0: no limit. */
struct tsd_peer_limits {
    uint32_t of_address;  /* of one address */
    uint32_t of_loopback; /* of all loopback addresses together */
};

struct tsd_peers {
    struct tsd_memory *memory;                   /* borrowed: accounts that the addresses share */
    struct ts_budget *spool;                     /* borrowed: the same for files of replies */
    pthread_mutex_t mu;                          /* guards the rest */
    uint32_t n_loopback;                         /* connections of all loopback addresses */
    struct tsd_peer *buckets[TSD_PEERS_BUCKETS]; /* chains; as many entries as addresses with connections */
};

/** No connections. The accounts are borrowed and must be ready before the first connection comes. */
void tsd_peers_init(struct tsd_peers *p, struct tsd_memory *memory, struct ts_budget *spool);
/** Free it. */
void tsd_peers_release(struct tsd_peers *p);
/** Key of an address; 0: it is not counted (no internet address). */
uint64_t tsd_peer_key(const struct sockaddr *addr);
/** Is a key that of a loopback address (127.0.0.0/8, ::1)? */
bool tsd_peer_is_loopback(uint64_t key);
/** Count one more connection of an address; false, and nothing is counted, if a limit is reached.
 *
 * @param out_peer  [out] the address, for tsd_peers_remove; NULL if key is 0 */
bool tsd_peers_add(struct tsd_peers *p, uint64_t key, const struct tsd_peer_limits *limits,
                   struct tsd_peer **out_peer);
/** A counted connection has been closed. peer NULL is harmless. */
void tsd_peers_remove(struct tsd_peers *p, struct tsd_peer *peer);

/* An address in a list. */
struct tsd_peer_row {
    uint64_t key, n_points; /* as in struct tsd_peer */
    uint32_t n_connections; /* now */
};
/** The addresses with connections that sent the most points, most first; at most max. Returns how many. Cost: O(addresses). */
size_t tsd_peers_top(struct tsd_peers *p, struct tsd_peer_row *out, size_t max);

#define TSD_PEER_TEXT_BYTES 64
/** The address of a key, "192.0.2.1", or a network "2001:db8:1:2::/64". Returns out, which takes TSD_PEER_TEXT_BYTES. */
char *tsd_peer_text(uint64_t key, char *out);

#endif
