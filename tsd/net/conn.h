/*
 * conn.h - one connection: its socket, the unused input, the output that waits to be sent.
 *
 * Bytes arrive in the worker's buffer; only what a protocol could not use yet is kept in `tail`. Replies go
 * to `out` or, for long ones, come as finished blocks.
 *
 * Threads    its worker
 * Invariant  a connection is freed at the end of a loop turn, never inside a callback, and not while n_held >
 * 0
 */
#ifndef TSD_NET_CONN_H
#define TSD_NET_CONN_H

#include "base/buf.h"
#include "tsd/daemon/memory.h"
#include "tsd/daemon/permissions.h"
#include "tsd/ingest/once.h"
#include "tsd/ingest/series_rate.h"
#include "tsd/net/transport.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct tsd_conn;
struct tsd_peer;
struct tsd_settings;
struct tsd_worker;

/* A protocol, a row of the table that the daemon was started with (tsd_daemon.protocols). */
struct tsd_protocol {
    const char *name;
    /* Do these first bytes of a connection to the shared port belong to the protocol: 1 yes, 0 no, -1 more
     * bytes are needed. NULL: it is spoken on its own port alone. */
    int (*match)(const struct tsd_worker *w, const char *p, size_t n);
    /* The number of a port of its own, on the addresses of `bind`; 0: the system chooses one; < 0: there is none.
     * NULL: there is none. */
    int (*own_port)(const struct tsd_settings *set);
    /* Its own port is one of UDP: what a datagram holds. TSD_INPUT_PAD bytes beyond are readable. NULL: the port is one of
     * TCP, and connections to it need no match. */
    void (*datagram)(struct tsd_worker *w, const struct tsd_identity *who, const char *p, size_t n);
    /* A connection begins to speak it. */
    void (*open)(struct tsd_conn *c);
    /* Use bytes of [p, p + n); returns how many. TSD_INPUT_PAD bytes beyond are readable. eof: nothing will
     * follow. */
    size_t (*input)(struct tsd_conn *c, const char *p, size_t n, bool eof);
    /* Called when all waiting output has been sent. */
    void (*sent)(struct tsd_conn *c);
    /* Once a second. */
    void (*tick)(struct tsd_conn *c);
    /* Called when the client has disconnected or all output has been sent. Work that holds the connection
     * continues. */
    void (*close)(struct tsd_conn *c);
    /* Called when nothing holds the connection any more: release what open allocated. */
    void (*free)(struct tsd_conn *c);
    bool waits; /* its input pauses while the store is overloaded */
};

/* A finished piece of a reply, sent after `out`. */
struct tsd_block {
    struct tsd_block *next;                           /* private */
    char *p;                                          /* bytes */
    size_t n, off;                                    /* how many, how many are sent */
    void (*done)(void *arg, struct tsd_block *block); /* sent, or the client is gone (off < n) */
    void *arg;                                        /* for done */
};

struct tsd_conn {
    struct tsd_worker *w;                   /* owner */
    const struct tsd_protocol *proto;       /* NULL until the first bytes are here */
    const struct tsd_transport *transport;  /* what carries its bytes */
    void *transport_state;                  /* of the transport */
    void *state;                            /* of the protocol */
    struct event *ev_read, *ev_write;       /* libevent's */
    struct tsd_conn *prev, *next;           /* list of the worker */
    struct tsd_conn *half_prev, *half_next; /* list of incomplete requests of the worker */
    struct tsd_conn *run_next; /* list of connections to be worked on without waiting for the socket */
    struct ts_buf tail;        /* received and not used yet */
    struct ts_buf out;         /* to be sent */
    size_t out_off;            /* of it, sent */
    struct tsd_block *blocks, **blocks_end; /* sent after out */
    int64_t rate_ms;                        /* when counting of sent_bytes began; 0 = nothing is unsent */
    uint64_t sent_bytes;                    /* since then */
    int64_t active_ms;                      /* worker's clock when something moved last */
    int64_t eof_ms;                         /* when the client shut down its sending side; meaningful if
                                             * eof */
    int64_t linger_until_ms;  /* 0, or the sending side is shut down and the client's end is awaited until
                               * then */
    struct tsd_peer *address; /* of the client, for its accounts; NULL: none */
    uint32_t asker;       /* number of its additions, unlike those of the worker's other connections; not 0 */
    struct tsd_once once; /* increments that the client numbers */
    uint32_t n_held;      /* operations under way that hold the connection */
    int fd;               /* socket, -1 when closed */
    bool eof;             /* the client has shut its side */
    bool blocked;         /* the protocol wants no input now */
    bool stuck;           /* tail holds input that only waits for blocked or the store */
    bool closing;         /* close when all is sent */
    bool in_input;        /* the protocol is using its input: the end of what is sent is not the end of the
                   * connection */
    bool dead;            /* the socket is closed; freed when nothing holds it */
    bool reading, writing; /* events that are on */
    bool forced;           /* out counts more than its account has */
    bool queued;           /* in the worker's run list */
    bool half;             /* in the worker's list of incomplete requests */
    bool again; /* the protocol set it: it will use its tail when other connections had their turn */
    struct tsd_series_conn new_series; /* how many it may make */
    struct tsd_identity who;           /* the client and what it may do */
};

/* A socket that was accepted. */
struct tsd_accepted {
    int fd;                                /* the socket, taken */
    struct tsd_peer *peer;                 /* of tsd_peers_add; NULL: none */
    const struct tsd_protocol *proto;      /* of the port; NULL: the first bytes decide */
    const struct tsd_transport *transport; /* NULL: plain */
};
/** New connection of a worker around an accepted socket. */
struct tsd_conn *tsd_conn_new(struct tsd_worker *w, const struct tsd_accepted *a);
/** It is in the worker's list: begin to read. May end it. */
void tsd_conn_begin(struct tsd_conn *c);
/** The account of memory that what this client causes counts in. */
struct ts_budget *tsd_conn_account(const struct tsd_conn *c, enum tsd_shared account);
/** Send as much as the socket takes now; the rest follows when it is writable. */
void tsd_conn_flush(struct tsd_conn *c);
/**
 * Reserve n bytes in `out` for a reply. If the account of replies refuses, waiting output is sent first; once
 * all of it is sent, the bytes are granted even if the account is full: a client that reads gets its answers
 * while others fill the memory. What the socket then does not take must fit the account, or the connection is
 * closed. On failure out.failed is set, or the connection is dead.
 */
void tsd_conn_reserve(struct tsd_conn *c, size_t n);
/** Queue a block to be sent after everything before it. */
void tsd_conn_send_block(struct tsd_conn *c, struct tsd_block *block);
/** Bytes waiting to be sent. */
size_t tsd_conn_unsent(const struct tsd_conn *c);
/** Enable or disable input. */
void tsd_conn_block(struct tsd_conn *c, bool blocked);
/** A request has begun on this connection and is not complete (or it is now): puts it at the end of the
 * worker's list of those, or takes it out. */
void tsd_conn_incomplete(struct tsd_conn *c, bool incomplete);
/** Close once everything is sent and nobody holds it. */
void tsd_conn_close_soon(struct tsd_conn *c);
/** Close the socket at once; operations that hold the connection may still end later. */
void tsd_conn_kill(struct tsd_conn *c);
/** Hold the connection for an operation: it is not freed until tsd_conn_unhold. */
void tsd_conn_hold(struct tsd_conn *c);
/** The operation has ended; may free the connection. */
void tsd_conn_unhold(struct tsd_conn *c);

/* --- for the worker --- */
/** Work on input that is here already (tail). */
void tsd_conn_run(struct tsd_conn *c);
/** Switch the read event on or off as the flags say. */
void tsd_conn_update(struct tsd_conn *c);
/** Once a second: idle, stalled and lingering connections. */
void tsd_conn_tick(struct tsd_conn *c);
/** Free a dead connection that nobody holds. */
void tsd_conn_free(struct tsd_conn *c);

#endif
