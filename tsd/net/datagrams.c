/*
 * datagrams.c - reading of UDP.
 *
 * Threads    see listen.h
 * Not here   what a datagram says (protocols/), binding (listen.c)
 */
#include "tsd/net/listen.h"

#include "tsd/net/worker.h"

#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATAGRAMS_A_TURN 256 /* read from one socket before others have their turn */

struct tsd_datagrams {
    struct tsd_datagrams *next;       /* of the worker */
    struct tsd_worker *w;             /* whose */
    const struct tsd_protocol *proto; /* what they hold */
    struct event *ev_read;            /* owned */
    int fd;                           /* owned */
};

static void datagrams_on_read(evutil_socket_t fd, short what, void *arg)
{
    struct tsd_datagrams *g = arg;
    struct tsd_worker *w = g->w;
    (void)what;
    for (int i = 0; i < DATAGRAMS_A_TURN && !w->paused; i++) {
        union {
            struct sockaddr sa;
            struct sockaddr_storage ss;
        } from = {.sa = {.sa_family = AF_UNSPEC}};
        struct tsd_identity who;
        socklen_t n_from = sizeof(from);
        ssize_t n = recvfrom(fd, w->buf, w->recv_bytes, MSG_DONTWAIT, &from.sa, &n_from);
        if (n < 0)
            return;
        tsd_identity_init(&who, w->daemon, &from.sa);
        tsd_count(&w->counts.n_datagrams, 1);
        g->proto->datagram(w, &who, w->buf, (size_t)n);
    }
}

void tsd_datagrams_open(struct tsd_worker *w, int fd, const struct tsd_protocol *proto)
{
    if (w->draining) {
        (void)close(fd);
        return;
    }
    struct tsd_datagrams *g = ts_xcalloc(1, sizeof(*g));
    *g = (struct tsd_datagrams){.next = w->datagrams, .w = w, .proto = proto, .fd = fd};
    g->ev_read = event_new(w->base, fd, EV_READ | EV_PERSIST, datagrams_on_read, g);
    if (!g->ev_read || (!w->paused && event_add(g->ev_read, NULL) < 0))
        TS_BUG("no memory for an event");
    w->datagrams = g;
}

void tsd_datagrams_pause(struct tsd_worker *w, bool paused)
{
    for (struct tsd_datagrams *g = w->datagrams; g; g = g->next)
        (void)(paused ? event_del(g->ev_read) : event_add(g->ev_read, NULL));
}

void tsd_datagrams_close(struct tsd_worker *w)
{
    while (w->datagrams) {
        struct tsd_datagrams *g = w->datagrams;
        w->datagrams = g->next;
        event_free(g->ev_read);
        (void)close(g->fd);
        ts_free(g);
    }
}
