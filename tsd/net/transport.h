/*
 * transport.h - what carries the bytes of a connection: a plain socket, or something that changes them on the way.
 *
 * A transport stands between conn.c, which knows when to read and write, and the socket; every protocol has it without
 * knowing. Its functions never wait.
 *
 * Threads    the connection's worker
 */
#ifndef TSD_NET_TRANSPORT_H
#define TSD_NET_TRANSPORT_H

#include <stddef.h>
#include <sys/types.h>

struct tsd_conn;

/* A transport: its functions, each with the meaning of the system call of its name. */
struct tsd_transport {
    const char *name;
    /* A connection begins; c->fd is its socket. What it needs is kept in c->transport_state. NULL: nothing. < 0: close it. */
    int (*open)(struct tsd_conn *c);
    /* Bytes that came, at most n: how many, 0 at the end, -1 with errno (EAGAIN: none are there now). */
    ssize_t (*receive)(struct tsd_conn *c, void *p, size_t n);
    /* Bytes to send: how many were taken, -1 with errno (EAGAIN: none can be now). */
    ssize_t (*send)(struct tsd_conn *c, const void *p, size_t n);
    /* Nothing more will be sent. */
    void (*shutdown)(struct tsd_conn *c);
    /* Bytes that have left the socket and wait to be received: no event reports these. NULL: there are never any. */
    size_t (*decoded)(const struct tsd_conn *c);
    /* The connection ends: free c->transport_state. NULL: nothing. */
    void (*close)(struct tsd_conn *c);
};

/** Sockets as they are. */
extern const struct tsd_transport tsd_transport_plain;

#endif
