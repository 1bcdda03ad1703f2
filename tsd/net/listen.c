/*
 * listen.c - accept and hand off.
 *
 * SO_REUSEPORT would let the kernel spread connections by hash; with the few long connections of collectors
 * it is often 6 : 2 or worse, so one thread accepts and counts.
 *
 * Threads    main
 */
#include "tsd/net/listen.h"

#include "base/log.h"
#include "base/mem.h"
#include "tsd/net/worker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_MAX     8      /* addresses in bind */
#define LISTEN_BACKLOG 1024   /* the kernel cuts it to its own limit */
#define LISTEN_WAIT_US 100000 /* without descriptors: how long to wait before the next try */

/* A listening socket of TCP. */
struct listener {
    struct tsd_listen *l;             /* whose */
    struct event *event;              /* owned */
    int fd;                           /* owned */
    const struct tsd_protocol *proto; /* whose own port it is; NULL: the shared port */
};

/* The port that a protocol has of its own. */
struct own_port {
    const struct tsd_protocol *proto;
    unsigned port;
};

struct tsd_listen {
    struct tsd_daemon *daemon;   /* borrowed */
    struct event_base *base;     /* borrowed */
    struct listener **listeners; /* owned, n of them */
    unsigned n;                  /* of listeners */
    struct own_port *own;        /* owned, n_own of them: ports of protocols */
    unsigned n_own;              /* of own */
    struct event *ev_again;      /* listens again after a pause */
    struct ts_log_limit limit;   /* of complaints */
};

static void listen_hand_off(struct tsd_daemon *d, const struct tsd_accepted *a)
{
    struct tsd_worker *best = d->workers[0];
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < d->n_workers; i++) {
        uint32_t n = atomic_load_explicit(&d->workers[i]->n_conns, memory_order_relaxed);
        if (n < least) {
            least = n;
            best = d->workers[i];
        }
    }
    atomic_fetch_add_explicit(&d->n_connections, 1, memory_order_relaxed);
    tsd_worker_adopt(best, a);
}

static void listen_switch(struct tsd_listen *l, bool on)
{
    for (unsigned i = 0; i < l->n; i++)
        (void)(on ? event_add(l->listeners[i]->event, NULL) : event_del(l->listeners[i]->event));
}

static void listen_on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    listen_switch(arg, true);
}

/* A new socket that is one too many is closed and counted. */
static bool listen_refuse(struct tsd_listen *l, int fd, enum tsd_rejection why, const char *text,
                          uint64_t limit)
{
    atomic_fetch_add_explicit(&l->daemon->n_rejected[why], 1, memory_order_relaxed);
    ts_log_limited(&l->limit, TS_LOG_WARN, "connection refused: %s (%llu)", text, (unsigned long long)limit);
    (void)close(fd);
    return false;
}

/*
 * Proxies and collectors on this machine share a loopback address, so one such address may have eight tenths of all connections, and all of
 * them together nine tenths; the rest is left for other machines.
 */
static struct tsd_peer_limits listen_address_limits(const struct tsd_daemon *d, uint64_t peer)
{
    uint64_t most = d->max_fd < UINT32_MAX ? d->max_fd : UINT32_MAX;
    if (d->set.max_connections && d->set.max_connections < most)
        most = d->set.max_connections;
    struct tsd_peer_limits limits = {.of_address = d->set.max_connections_per_address,
                                     .of_loopback = (uint32_t)(most - most / 10)};
    if (tsd_peer_is_loopback(peer))
        limits.of_address = (uint32_t)(most - 2 * (most / 10));
    return limits;
}

/* May a new socket become a connection? A descriptor's number is the lowest free one: from max_fd on, only those that are kept for
 * files are left. */
static bool listen_admit(struct tsd_listen *l, int fd, uint64_t key, struct tsd_peer **out_peer)
{
    struct tsd_daemon *d = l->daemon;
    const struct tsd_settings *set = &d->set;
    struct tsd_peer_limits limits = listen_address_limits(d, key);
    if (set->max_connections &&
        atomic_load_explicit(&d->n_connections, memory_order_relaxed) >= set->max_connections)
        return listen_refuse(l, fd, TSD_REJECTED_TOTAL, "there are as many as max_connections allows",
                             set->max_connections);
    if ((uint64_t)fd >= d->max_fd)
        return listen_refuse(
            l, fd, TSD_REJECTED_FILES,
            "the other descriptors are kept for files; raise the limit of open files (LimitNOFILE)",
            d->max_fd);
    if (!tsd_peers_add(&d->peers, key, &limits, out_peer))
        return listen_refuse(l, fd, TSD_REJECTED_ADDRESS,
                             tsd_peer_is_loopback(key)
                                 ? "a loopback address may have eight tenths of max_connections, all of "
                                   "them together nine tenths"
                                 : "its address has as many as max_connections_per_address allows",
                             limits.of_address);
    return true;
}

static void listen_on_accept(evutil_socket_t listener, short what, void *arg)
{
    const struct listener *from = arg;
    struct tsd_listen *l = from->l;
    struct tsd_daemon *d = l->daemon;
    (void)what;
    for (int i = 0; i < 64; i++) {
        union {
            struct sockaddr sa;
            struct sockaddr_storage ss;
        } peer = {.sa = {.sa_family = AF_UNSPEC}};
        socklen_t peer_n = sizeof(peer);
        int fd = accept4(listener, &peer.sa, &peer_n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                struct timeval wait = {0, LISTEN_WAIT_US};
                ts_log_limited(&l->limit, TS_LOG_WARN, "can't accept connections: %s", strerror(errno));
                listen_switch(l, false);
                (void)event_add(l->ev_again, &wait);
            }
            return;
        }
        atomic_fetch_add_explicit(&d->n_accepted, 1, memory_order_relaxed);
        struct tsd_accepted a = {.fd = fd, .proto = from->proto, .transport = d->transport};
        if (listen_admit(l, fd, tsd_peer_key(&peer.sa), &a.peer))
            listen_hand_off(d, &a);
    }
}

/* Port of a listening socket; *loopback: only this machine reaches it. */
static unsigned listen_port_of(int fd, bool *loopback)
{
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a = {.sa = {.sa_family = AF_UNSPEC}};
    socklen_t n = sizeof(a);
    *loopback = false;
    if (getsockname(fd, &a.sa, &n) < 0)
        return 0;
    *loopback = tsd_peer_is_loopback(tsd_peer_key(&a.sa));
    return ntohs(a.sa.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
}

/* A bound socket of one type, which listens if it is of TCP. shared: others may bind the same port (the sockets of one protocol of
 * UDP, one for each worker). */
static int listen_socket(const struct addrinfo *ai, bool shared, const char *where, int *out_fd,
                         struct ts_error *err)
{
    int one = 1;
    int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ts_error_sys(err, TS_EIO, errno, "no socket for %s", where);
    (void)setsockopt(fd, SOL_SOCKET, shared ? SO_REUSEPORT : SO_REUSEADDR, &one, sizeof(one));
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 ||
        (ai->ai_socktype == SOCK_STREAM && listen(fd, LISTEN_BACKLOG) < 0)) {
        int e = errno;
        (void)close(fd);
        if (e == EADDRINUSE)
            return ts_error_set(err, TS_EBUSY,
                                "can't listen on %s: another program does; stop it, or choose another port",
                                where);
        return ts_error_sys(err, TS_EIO, e, "can't listen on %s", where);
    }
    *out_fd = fd;
    return 0;
}

/* Accept on a listening socket (taken). */
static void listen_add(struct tsd_listen *l, int fd, const struct tsd_protocol *proto)
{
    struct listener *one = ts_xcalloc(1, sizeof(*one));
    *one = (struct listener){.l = l, .fd = fd, .proto = proto};
    one->event = event_new(l->base, fd, EV_READ | EV_PERSIST, listen_on_accept, one);
    if (!one->event || event_add(one->event, NULL) < 0)
        TS_BUG("no memory for an event");
    l->listeners = ts_xrealloc(l->listeners, (l->n + 1) * sizeof(struct listener *));
    l->listeners[l->n++] = one;
}

/* A socket of UDP for each worker, all of one port. */
static int listen_datagrams(struct tsd_listen *l, struct addrinfo *ai, const struct tsd_protocol *proto,
                            const char *where, unsigned *port, struct ts_error *err)
{
    union {
        struct sockaddr *sa;
        struct sockaddr_in *in; /* the port is at the same place in both */
    } a = {.sa = ai->ai_addr};
    for (unsigned i = 0; i < l->daemon->n_workers; i++) {
        int fd = -1;
        bool loopback;
        a.in->sin_port = htons((uint16_t)*port);
        TS_TRY(listen_socket(ai, true, where, &fd, err));
        *port = listen_port_of(fd, &loopback);
        l->daemon->loopback_only = l->daemon->loopback_only && loopback;
        tsd_worker_adopt_datagrams(l->daemon->workers[i], fd, proto);
    }
    return 0;
}

/* One address; proto NULL: the shared port. */
static int listen_one(struct tsd_listen *l, const char *host, const struct tsd_protocol *proto,
                      unsigned *port, struct ts_error *err)
{
    char service[16], where[300];
    bool udp = proto && proto->datagram, loopback;
    struct addrinfo hints = {.ai_socktype = udp ? SOCK_DGRAM : SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *list;
    int fd = -1;
    (void)snprintf(service, sizeof(service), "%u", *port);
    (void)snprintf(where, sizeof(where), "%s port %u%s%s%s", host, *port, proto ? " (" : "",
                   proto ? proto->name : "", proto ? ")" : "");
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc)
        return ts_error_set(err, TS_EINVAL, "bind: %s: %s", host, gai_strerror(rc));
    rc = udp ? listen_datagrams(l, list, proto, where, port, err)
             : listen_socket(list, false, where, &fd, err);
    freeaddrinfo(list);
    if (rc < 0 || udp)
        return rc;
    *port = listen_port_of(fd, &loopback);
    l->daemon->loopback_only = l->daemon->loopback_only && loopback;
    listen_add(l, fd, proto);
    return 0;
}

/* All addresses of the key bind, with the same port. */
static int listen_all(struct tsd_listen *l, const struct tsd_protocol *proto, unsigned *port,
                      struct ts_error *err)
{
    unsigned n_hosts = 0;
    for (const char *p = l->daemon->set.bind; *p;) {
        char host[256];
        size_t n = strcspn(p, ", ");
        if (n && n < sizeof(host)) {
            memcpy(host, p, n);
            host[n] = 0;
            if (++n_hosts > LISTEN_MAX)
                return ts_error_set(err, TS_EINVAL, "bind: at most %d addresses", LISTEN_MAX);
            TS_TRY(listen_one(l, host, proto, port, err));
        }
        p += n;
        p += strspn(p, ", ");
    }
    return n_hosts ? 0 : ts_error_set(err, TS_EINVAL, "bind: no address");
}

int tsd_listen_open(struct tsd_daemon *daemon, struct event_base *base, struct tsd_listen **out_listen,
                    unsigned *out_port, struct ts_error *err)
{
    struct tsd_listen *l = ts_xcalloc(1, sizeof(*l));
    *out_listen = NULL;
    *out_port = daemon->set.port;
    l->daemon = daemon;
    l->base = base;
    daemon->loopback_only = true; /* until an address says otherwise */
    l->ev_again = event_new(base, -1, 0, listen_on_again, l);
    if (!l->ev_again)
        TS_BUG("no memory for an event");
    int rc = listen_all(l, NULL, out_port, err);
    for (const struct tsd_protocol *const *p = daemon->protocols; rc == 0 && *p; p++) {
        int own = (*p)->own_port ? (*p)->own_port(&daemon->set) : -1;
        unsigned port = (unsigned)own;
        if (own < 0)
            continue;
        rc = listen_all(l, *p, &port, err);
        if (rc < 0)
            break;
        ts_log(TS_LOG_INFO, "listening protocol=%s port=%u", (*p)->name, port);
        l->own = ts_xrealloc(l->own, (l->n_own + 1) * sizeof(*l->own));
        l->own[l->n_own++] = (struct own_port){*p, port};
    }
    if (rc < 0) {
        tsd_listen_close(l);
        return rc;
    }
    *out_listen = l;
    return 0;
}

unsigned tsd_listen_own_port(const struct tsd_listen *l, const struct tsd_protocol *proto)
{
    for (unsigned i = 0; i < l->n_own; i++)
        if (l->own[i].proto == proto)
            return l->own[i].port;
    return 0;
}

void tsd_listen_close(struct tsd_listen *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < l->n; i++) {
        event_free(l->listeners[i]->event);
        (void)close(l->listeners[i]->fd);
        ts_free(l->listeners[i]);
    }
    ts_free(l->listeners);
    ts_free(l->own);
    event_free(l->ev_again);
    ts_free(l);
}
