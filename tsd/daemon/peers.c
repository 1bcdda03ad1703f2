/*
 * peers.c - a hash table of addresses with connections.
 *
 * Threads    see peers.h; the lock is held for one look-up
 */
#include "tsd/daemon/peers.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

void tsd_peers_init(struct tsd_peers *p, struct tsd_memory *memory, struct ts_budget *spool)
{
    memset(p, 0, sizeof(*p));
    p->memory = memory;
    p->spool = spool;
    pthread_mutex_init(&p->mu, NULL);
}

void tsd_peers_release(struct tsd_peers *p)
{
    for (unsigned i = 0; i < TSD_PEERS_BUCKETS; i++) {
        while (p->buckets[i]) {
            struct tsd_peer *one = p->buckets[i];
            p->buckets[i] = one->next;
            ts_free(one);
        }
    }
    pthread_mutex_destroy(&p->mu);
}

/* IPv4 addresses are numbers above 2^32, in a range where no IPv6 network can be. */
static uint64_t peer_key_v4(uint32_t host_order)
{
    return 1ull << 32 | host_order;
}

bool tsd_peer_is_loopback(uint64_t key)
{
    return key >> 24 == (1u << 8 | IN_LOOPBACKNET);
}

uint64_t tsd_peer_key(const struct sockaddr *addr)
{
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a;
    uint64_t key = 0;
    if (addr->sa_family == AF_INET) {
        memcpy(&a.in, addr, sizeof(a.in));
        return peer_key_v4(ntohl(a.in.sin_addr.s_addr));
    }
    if (addr->sa_family != AF_INET6)
        return 0;
    memcpy(&a.in6, addr, sizeof(a.in6));
    const uint8_t *bytes = a.in6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_LOOPBACK(&a.in6.sin6_addr))
        return peer_key_v4(INADDR_LOOPBACK);
    if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr))
        return peer_key_v4((uint32_t)bytes[12] << 24 | (uint32_t)bytes[13] << 16 | (uint32_t)bytes[14] << 8 |
                           bytes[15]);
    for (int i = 0; i < 8; i++)
        key = key << 8 | bytes[i];
    return key;
}

/* Where the entry of a key is, or would be. */
static struct tsd_peer **peers_find(struct tsd_peers *p, uint64_t key)
{
    struct tsd_peer **at = &p->buckets[ts_hash_u64(key) & (TSD_PEERS_BUCKETS - 1)];
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static struct tsd_peer *peers_new(struct tsd_peers *p, uint64_t key)
{
    struct tsd_peer *one = ts_xcalloc(1, sizeof(*one));
    one->key = key;
    tsd_memory_shares_init(p->memory, &one->memory);
    ts_budget_init_share(&one->spool, "waiting replies to one client address", p->spool);
    return one;
}

bool tsd_peers_add(struct tsd_peers *p, uint64_t key, const struct tsd_peer_limits *limits,
                   struct tsd_peer **out_peer)
{
    bool loopback = tsd_peer_is_loopback(key);
    *out_peer = NULL;
    if (!key)
        return true;
    pthread_mutex_lock(&p->mu);
    struct tsd_peer **at = peers_find(p, key);
    bool room = (!limits->of_address || !*at || (*at)->n < limits->of_address) &&
                (!loopback || !limits->of_loopback || p->n_loopback < limits->of_loopback);
    if (room && !*at)
        *at = peers_new(p, key);
    if (room) {
        (*at)->n++;
        p->n_loopback += loopback;
        *out_peer = *at;
    }
    pthread_mutex_unlock(&p->mu);
    return room;
}

void tsd_peers_remove(struct tsd_peers *p, struct tsd_peer *peer)
{
    if (!peer)
        return;
    pthread_mutex_lock(&p->mu);
    p->n_loopback -= tsd_peer_is_loopback(peer->key);
    if (--peer->n == 0) {
        *peers_find(p, peer->key) = peer->next;
        ts_free(peer);
    }
    pthread_mutex_unlock(&p->mu);
}
