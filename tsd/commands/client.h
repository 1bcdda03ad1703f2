/*
 * client.h - a small blocking client to a running daemon: one connection, HTTP requests or raw lines.
 *
 * Threads    one at a time
 * Not here   the requests (query.c, export.c, ...), lines of import (importtcp.c)
 */
#ifndef TSD_COMMANDS_CLIENT_H
#define TSD_COMMANDS_CLIENT_H

#include "tsd/commands/cmd.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define TSD_CLIENT_HOST "127.0.0.1"
#define TSD_CLIENT_PORT "4242"

/* Options of where the daemon is. */
#define TSD_CLIENT_OPTS                                                                                      \
    {.name = "host", .arg = "HOST", .help = "The daemon's host. Default 127.0.0.1."},                        \
    {                                                                                                        \
        .name = "port", .letter = 'p', .arg = "PORT",                                                        \
        .help = "The daemon's port. Default 4242, or TSD_PORT."                                              \
    }

/* One connection. Zero-initialise before tsd_client_open. */
struct tsd_client {
    int fd;           /* socket; -1 when closed */
    const char *host; /* borrowed, for messages and the Host header */
    const char *port; /* borrowed */
    struct ts_buf in; /* bytes read ahead, raw lines only */
    size_t in_at;     /* of them used */
    int64_t
        until_ns; /* deadline of the whole exchange by the monotonic clock; 0 = none, then the socket blocks */
};

/* One request. */
struct tsd_client_req {
    const char *method;       /* "GET" */
    const char *path;         /* with query, percent-encoded */
    const char *content_type; /* of body; NULL = none */
    struct ts_slice body;     /* may be empty */
    int64_t timeout_ms; /* tsd_client_request: of connecting, sending and reading together; 0 = no limit */
    /* Gets the body piece by piece if the status is 2xx; NULL: it is kept in reply.body. < 0 ends the
     * request. */
    int (*sink)(void *arg, struct ts_slice piece, struct ts_error *err);
    void *arg; /* for sink */
    struct ts_buf
        *left_out; /* gets what the header or trailer X-Tsd-Left-Out says; NULL: nobody wants to know */
    struct ts_buf *after; /* gets what the header or trailer X-Tsd-After says; NULL: nobody wants to know */
};
/* Its answer. */
struct tsd_client_reply {
    unsigned status;    /* 200 */
    bool partial;       /* the answer lacks what only the remote store has (header X-Tsd-Partial) */
    struct ts_buf body; /* whole body, if no sink took it; release it */
};

/** Where the daemon is: --host and --port, TSD_PORT in the environment, 127.0.0.1:4242. */
void tsd_client_where(const struct tsd_args *args, const char **out_host, const char **out_port);
/** Is it the number of a port? 0, TS_EINVAL. */
int tsd_client_port_check(const char *port, struct ts_error *err);
/** Refuses --data together with --host or --port: prints an error and returns TSD_EXIT_USAGE; else
 * TSD_EXIT_OK. */
int tsd_client_or_data(const struct tsd_args *args);
/** Connect. TS_EIO with what to do about it. */
int tsd_client_open(struct tsd_client *c, const char *host, const char *port, struct ts_error *err);
/** The same with a deadline, which also bounds everything that is sent and read afterwards: TS_ETIMEOUT then. The look-up of a host's name
 * is not bounded. */
int tsd_client_open_until(struct tsd_client *c, const char *host, const char *port, int64_t until_ns,
                          struct ts_error *err);
/** Close; idempotent. */
void tsd_client_close(struct tsd_client *c);

/** Send a request and read its answer. 0 for any status; TS_EIO, TS_EPARSE (no HTTP), TS_ELIMIT, or what sink
 * returned. */
int tsd_client_http(struct tsd_client *c, const struct tsd_client_req *req, struct tsd_client_reply *reply,
                    struct ts_error *err);
/** Turns an answer with a status of 400 or above into an error, with the text of its JSON or plain body.
 * Returns its code. */
int tsd_client_refused(const struct tsd_client_reply *reply, struct ts_error *err);
/** Connect, send, read, close; a status of 300 and more is an error. TS_ETIMEOUT if req->timeout_ms are over. */
int tsd_client_request(const struct tsd_args *args, const struct tsd_client_req *req,
                       struct tsd_client_reply *reply, struct ts_error *err);

/** GET a path and parse the answer, which the caller owns (json_decref); NULL after an error.
 *  @param path        with query, percent-encoded
 *  @param timeout_ms  of all of it; 0 = no limit
 *  @return 0; TS_ENOTFOUND: the daemon has no such path; else as tsd_client_request */
int tsd_client_json(const struct tsd_args *args, const char *path, int64_t timeout_ms, json_t **out,
                    struct ts_error *err);

/** Send all bytes. */
int tsd_client_send(struct tsd_client *c, struct ts_slice bytes, struct ts_error *err);
/** Next line without its end, borrowed until the next call; TS_EIO when the daemon closed. */
int tsd_client_line(struct tsd_client *c, struct ts_slice *out, struct ts_error *err);

#endif
