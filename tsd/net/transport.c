/*
 * transport.c - plain sockets.
 *
 * Threads    see transport.h
 */
#include "tsd/net/transport.h"

#include "tsd/net/conn.h"

#include <sys/socket.h>

static ssize_t plain_receive(struct tsd_conn *c, void *p, size_t n)
{
    return recv(c->fd, p, n, MSG_DONTWAIT);
}

static ssize_t plain_send(struct tsd_conn *c, const void *p, size_t n)
{
    return send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void plain_shutdown(struct tsd_conn *c)
{
    (void)shutdown(c->fd, SHUT_WR);
}

const struct tsd_transport tsd_transport_plain = {
    .name = "plain", .receive = plain_receive, .send = plain_send, .shutdown = plain_shutdown};
