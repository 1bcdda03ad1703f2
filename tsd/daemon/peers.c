/*
 * peers.c - a hash table of addresses with connections.
 *
 * Threads    see peers.h; the lock is held for one look-up
 */
#include "tsd/daemon/peers.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
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

/* Put an address where it belongs among those found so far. */
static size_t peers_insert(struct tsd_peer_row *rows, size_t n, size_t max, struct tsd_peer_row row)
{
    if (n == max && (n == 0 || rows[n - 1].n_points >= row.n_points))
        return n;
    size_t i = n < max ? n++ : n - 1;
    for (; i > 0 && rows[i - 1].n_points < row.n_points; i--)
        rows[i] = rows[i - 1];
    rows[i] = row;
    return n;
}

size_t tsd_peers_top(struct tsd_peers *p, struct tsd_peer_row *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&p->mu);
    for (unsigned i = 0; i < TSD_PEERS_BUCKETS; i++)
        for (const struct tsd_peer *one = p->buckets[i]; one; one = one->next) {
            uint64_t n_points = atomic_load_explicit(&one->n_points, memory_order_relaxed);
            n = peers_insert(out, n, max, (struct tsd_peer_row){one->key, n_points, one->n});
        }
    pthread_mutex_unlock(&p->mu);
    return n;
}

char *tsd_peer_text(uint64_t key, char *out)
{
    if (key >> 32 == 1) {
        struct in_addr v4 = {.s_addr = htonl((uint32_t)key)};
        (void)inet_ntop(AF_INET, &v4, out, TSD_PEER_TEXT_BYTES);
        return out;
    }
    struct in6_addr v6 = {0};
    for (int i = 0; i < 8; i++)
        v6.s6_addr[i] = (uint8_t)(key >> (56 - 8 * i));
    (void)inet_ntop(AF_INET6, &v6, out, TSD_PEER_TEXT_BYTES);
    size_t n = strlen(out);
    (void)snprintf(out + n, TSD_PEER_TEXT_BYTES - n, "/64");
    return out;
}
