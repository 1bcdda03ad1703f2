/*
 * client.c - sockets and HTTP answers.
 *
 * Threads    see client.h
 */
#include "tsd/commands/client.h"

#include "base/connect.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "tsd/protocols/http/parser.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_BODY_MAX ((size_t)256 << 20) /* of an answer that is kept whole */
#define CLIENT_HEAD_MAX ((size_t)64 << 10)
#define CLIENT_LINE_MAX ((size_t)1 << 20)
#define CLIENT_READ     ((size_t)128 << 10)

void tsd_client_where(const struct tsd_args *args, const char **out_host, const char **out_port)
{
    const char *port = tsd_args_get(args, "port"), *host = tsd_args_get(args, "host");
    if (!port)
        port = getenv("TSD_PORT");
    *out_port = port && *port ? port : TSD_CLIENT_PORT;
    *out_host = host && *host ? host : TSD_CLIENT_HOST;
}

int tsd_client_or_data(const struct tsd_args *args)
{
    if (tsd_args_has(args, "data") && (tsd_args_has(args, "host") || tsd_args_has(args, "port")))
        return tsd_usage(args,
                         "--data works on a folder, --host and --port on a daemon: give only one of the two");
    return TSD_EXIT_OK;
}

int tsd_client_port_check(const char *port, struct ts_error *err)
{
    int64_t n;
    if (ts_num_parse_int(ts_slice_str(port), &n, NULL) < 0 || n < 1 ||
        n > 65535) /* getaddrinfo takes it modulo 65536 */
        return ts_error_set(err, TS_EINVAL, "a port is a number from 1 to 65535, not %.60s", port);
    return 0;
}

static int client_init(struct tsd_client *c, const char *host, const char *port, struct ts_error *err)
{
    *c = (struct tsd_client){.fd = -1, .host = host, .port = port};
    ts_buf_init(&c->in, CLIENT_LINE_MAX);
    return tsd_client_port_check(port, err);
}

static void client_no_delay(const struct tsd_client *c)
{
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int client_late(const struct tsd_client *c, struct ts_error *err)
{
    return ts_error_set(err, TS_ETIMEOUT, "the daemon at %s:%s did not answer in time", c->host, c->port);
}

static int client_nobody(const struct tsd_client *c, int e, struct ts_error *err)
{
    return ts_error_sys(
        err, TS_EIO, e,
        "no daemon answers at %s:%s (start one with tsd serve, or name it with --host and --port)", c->host,
        c->port);
}

int tsd_client_open_until(struct tsd_client *c, const char *host, const char *port, int64_t until_ns,
                          struct ts_error *err)
{
    char text[300];
    TS_TRY(client_init(c, host, port, err));
    c->until_ns = until_ns;
    (void)snprintf(text, sizeof(text), "%.200s:%.80s", host, port);
    int rc = ts_connect(host, port, text, until_ns, NULL, &c->fd, err);
    if (rc < 0 && ts_clock_mono_ns() >= until_ns)
        return client_late(c, err);
    if (rc < 0)
        return err && err->sys_errno ? client_nobody(c, err->sys_errno, err) : rc;
    client_no_delay(c);
    return 0;
}

int tsd_client_open(struct tsd_client *c, const char *host, const char *port, struct ts_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    TS_TRY(client_init(c, host, port, err));
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return ts_error_set(err, TS_EIO, "no such host or port as %s:%s: %s", host, port, gai_strerror(rc));
    int e = 0;
    for (struct addrinfo *a = list; a && c->fd < 0; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
            c->fd = fd;
        } else {
            e = errno;
            if (fd >= 0)
                close(fd);
        }
    }
    freeaddrinfo(list);
    if (c->fd < 0) {
        return client_nobody(c, e, err);
    }
    client_no_delay(c);
    return 0;
}

void tsd_client_close(struct tsd_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    ts_buf_release(&c->in);
}

int tsd_client_send(struct tsd_client *c, struct ts_slice bytes, struct ts_error *err)
{
    while (bytes.n) {
        if (c->until_ns && !ts_socket_wait(c->fd, POLLOUT, c->until_ns, NULL))
            return client_late(c, err);
        ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && (errno == EINTR || (errno == EAGAIN && c->until_ns)))
            continue;
        if (n < 0)
            return ts_error_sys(err, TS_EIO, errno, "the daemon at %s:%s closed the connection", c->host,
                                c->port);
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return 0;
}

/* Some bytes; 0 at the end. */
static int client_recv(struct tsd_client *c, char *p, size_t n, size_t *out_n, struct ts_error *err)
{
    ssize_t got;
    *out_n = 0;
    do {
        if (c->until_ns && !ts_socket_wait(c->fd, POLLIN, c->until_ns, NULL))
            return client_late(c, err);
        got = recv(c->fd, p, n, 0);
    } while (got < 0 && (errno == EINTR || (errno == EAGAIN && c->until_ns)));
    *out_n = got > 0 ? (size_t)got : 0;
    if (got < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't read from the daemon at %s:%s", c->host, c->port);
    return 0;
}

int tsd_client_line(struct tsd_client *c, struct ts_slice *out, struct ts_error *err)
{
    for (;;) {
        char *from = c->in.p ? c->in.p + c->in_at : NULL;
        size_t left = c->in.n - c->in_at;
        char *nl = left ? memchr(from, '\n', left) : NULL;
        if (nl) {
            *out = (struct ts_slice){from, (size_t)(nl - from)};
            c->in_at += out->n + 1;
            if (out->n && out->p[out->n - 1] == '\r')
                out->n--;
            return 0;
        }
        if (c->in_at) {
            memmove(c->in.p, from, left);
            c->in.n = left;
            c->in_at = 0;
        }
        char *room = ts_buf_reserve(&c->in, 4096);
        if (!room)
            return ts_error_set(err, TS_ELIMIT, "the daemon at %s:%s sends a line without end", c->host,
                                c->port);
        size_t got;
        TS_TRY(client_recv(c, room, 4096, &got, err));
        if (got == 0)
            return ts_error_set(err, TS_EIO, "the daemon at %s:%s closed the connection", c->host, c->port);
        c->in.n += got;
    }
}

/* --- HTTP --- */

/* A piece of a body: to the sink, or kept. */
static int client_body(const struct tsd_client_req *req, const struct tsd_parser *pr,
                       struct tsd_client_reply *reply, struct ts_error *err)
{
    if (req->sink && pr->status_code < 300)
        return req->sink(req->arg, pr->piece, err);
    int rc = ts_buf_slice(&reply->body, pr->piece);
    return rc < 0 ? ts_error_set(err, rc, "the answer is too large to hold in memory") : 0;
}

/* Parse n bytes of the answer; n == 0: the daemon closed the connection. Returns 1 when the answer is complete, 0 before. */
static int client_use(const struct tsd_client *c, const struct tsd_client_req *req, struct tsd_parser *pr,
                      const char *p, size_t n, struct tsd_client_reply *reply, struct ts_error *err)
{
    size_t used = 0, k;
    enum tsd_parse event = TSD_PARSE_END;
    if (n == 0 && !tsd_parser_eof(pr))
        return ts_error_set(err, TS_EIO,
                            "the daemon at %s:%s closed the connection before its answer was complete",
                            c->host, c->port);
    if (n == 0)
        return 1;
    while (event != TSD_PARSE_MORE) {
        event = tsd_parser_next(pr, p + used, n - used, &k);
        used += k;
        if (event == TSD_PARSE_BAD)
            return ts_error_set(err, TS_EPARSE, "what answers at %s:%s does not speak HTTP: %s", c->host,
                                c->port, pr->error);
        reply->status = (unsigned)pr->status_code;
        if (event == TSD_PARSE_HEAD)
            reply->partial = tsd_parser_header(pr, "X-Tsd-Partial").n > 0;
        if (event == TSD_PARSE_BODY)
            TS_TRY(client_body(req, pr, reply, err));
        if (event == TSD_PARSE_END && req->after)
            ts_buf_slice(req->after, tsd_parser_header(pr, TSD_HEADER_AFTER));
        if (event == TSD_PARSE_END && req->left_out)
            ts_buf_slice(req->left_out, tsd_parser_header(pr, TSD_HEADER_LEFT_OUT));
        if (event == TSD_PARSE_END)
            return 1;
    }
    return 0;
}

static int client_send_request(struct tsd_client *c, const struct tsd_client_req *req, struct ts_error *err)
{
    struct ts_buf head;
    ts_buf_init(&head, 0);
    bool v6 = strchr(c->host, ':') != NULL;
    ts_buf_printf(&head, "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: tsd\r\nConnection: close%s\r\n",
                  req->method, req->path, v6 ? "[" : "", c->host, v6 ? "]" : "", c->port,
                  req->after || req->left_out ? ", TE\r\nTE: trailers" : "");
    if (req->content_type)
        ts_buf_printf(&head, "Content-Type: %s\r\n", req->content_type);
    if (req->body.n || strcmp(req->method, "GET") != 0)
        ts_buf_printf(&head, "Content-Length: %zu\r\n", req->body.n);
    ts_buf_str(&head, "\r\n");
    ts_buf_slice(&head, req->body);
    int rc = tsd_client_send(c, ts_buf_get(&head), err);
    ts_buf_release(&head);
    return rc;
}

int tsd_client_http(struct tsd_client *c, const struct tsd_client_req *req, struct tsd_client_reply *reply,
                    struct ts_error *err)
{
    struct tsd_parser parser;
    reply->status = 0;
    reply->partial = false;
    ts_buf_init(&reply->body, CLIENT_BODY_MAX);
    TS_TRY(client_send_request(c, req, err));
    tsd_parser_init(&parser, true, CLIENT_HEAD_MAX);
    char *room = ts_xmalloc(CLIENT_READ);
    int rc = 0;
    while (rc == 0) {
        size_t n;
        rc = client_recv(c, room, CLIENT_READ, &n, err);
        if (rc == 0)
            rc = client_use(c, req, &parser, room, n, reply, err);
    }
    ts_free(room);
    tsd_parser_release(&parser);
    return rc < 0 ? rc : 0;
}

int tsd_client_refused(const struct tsd_client_reply *reply, struct ts_error *err)
{
    int code = reply->status == 404   ? TS_ENOTFOUND
               : reply->status == 408 ? TS_ETIMEOUT
               : reply->status == 413 ? TS_ELIMIT
               : reply->status == 503 ? TS_EBUSY
               : reply->status < 500  ? TS_EINVAL
                                      : TS_EBACKEND;
    struct ts_slice body = ts_buf_get(&reply->body);
    json_t *root = NULL;
    if (body.n && body.p[0] == '{' && ts_json_load(body, &root, NULL) == 0) {
        const char *text = json_string_value(json_object_get(json_object_get(root, "error"), "message"));
        if (text) {
            ts_error_set(err, code, "%s", text);
            json_decref(root);
            return code;
        }
    }
    json_decref(root);
    while (body.n && (body.p[body.n - 1] == '\n' || body.p[body.n - 1] == '\r'))
        body.n--;
    return ts_error_set(err, code, "the daemon answered with status %u%s%.*s", reply->status,
                        body.n ? ": " : "", (int)(body.n > 160 ? 160 : body.n), body.n ? body.p : "");
}

int tsd_client_request(const struct tsd_args *args, const struct tsd_client_req *req,
                       struct tsd_client_reply *reply, struct ts_error *err)
{
    struct tsd_client c;
    const char *host, *port;
    tsd_client_where(args, &host, &port);
    ts_buf_init(&reply->body, 0);
    reply->status = 0;
    int rc = req->timeout_ms
                 ? tsd_client_open_until(&c, host, port, ts_clock_mono_ns() + req->timeout_ms * 1000000, err)
                 : tsd_client_open(&c, host, port, err);
    if (rc == 0)
        rc = tsd_client_http(&c, req, reply, err);
    tsd_client_close(&c);
    if (rc == 0 && reply->status >= 300)
        rc = tsd_client_refused(reply, err);
    return rc;
}

int tsd_client_json(const struct tsd_args *args, const char *path, int64_t timeout_ms, json_t **out,
                    struct ts_error *err)
{
    struct tsd_client_req req = {.method = "GET", .path = path, .timeout_ms = timeout_ms};
    struct tsd_client_reply reply;
    *out = NULL;
    int rc = tsd_client_request(args, &req, &reply, err);
    if (rc == 0)
        rc = ts_json_load(ts_buf_get(&reply.body), out, err);
    ts_buf_release(&reply.body);
    return rc;
}
