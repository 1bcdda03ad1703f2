/*
 * fetch.c - a GET and its answer.
 *
 * Threads    see fetch.h
 */
#include "collectors/core/fetch.h"

#include "base/connect.h"
#include "base/time.h"
#include "collectors/core/fields.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECV_BYTES ((size_t)16 << 10)

static bool url_port(struct ts_slice port, struct col_url *out)
{
    uint64_t n = 80;
    if (port.n && (!col_u64_of(port, &n) || n < 1 || n > 65535))
        return false;
    (void)snprintf(out->port, sizeof(out->port), "%u", (unsigned)n);
    return true;
}

int col_url_parse(struct ts_slice text, const char *default_path, struct col_url *out, struct ts_error *err)
{
    struct ts_slice rest = text, host, port = {NULL, 0};
    *out = (struct col_url){.host = ""};
    if (!col_prefix_take(&rest, "http://"))
        return ts_error_set(err, TS_EINVAL, "\"%.*s\" is no http:// address", (int)text.n, text.p);
    const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
    struct ts_slice path = ts_slice_str(default_path);
    if (slash) {
        path = (struct ts_slice){slash, (size_t)(rest.p + rest.n - slash)};
        rest.n = (size_t)(slash - rest.p);
    }
    const char *end = rest.n && *rest.p == '[' ? memchr(rest.p, ']', rest.n) : NULL;
    const char *from = end ? end : rest.p,
               *colon = rest.n ? memchr(from, ':', (size_t)(rest.p + rest.n - from)) : NULL;
    host = (struct ts_slice){rest.p, colon ? (size_t)(colon - rest.p) : rest.n};
    if (colon)
        port = (struct ts_slice){colon + 1, (size_t)(rest.p + rest.n - colon - 1)};
    if (end)
        host = (struct ts_slice){rest.p + 1, (size_t)(end - rest.p - 1)};
    bool odd = false;
    for (size_t i = 0; i < text.n; i++)
        odd = odd || (unsigned char)text.p[i] <= ' ' || text.p[i] == '@';
    if (odd || !host.n || host.n >= sizeof(out->host) || path.n >= sizeof(out->path) || !url_port(port, out))
        return ts_error_set(err, TS_EINVAL, "\"%.*s\" is no http://HOST[:PORT][/PATH]", (int)text.n, text.p);
    (void)snprintf(out->host, sizeof(out->host), "%.*s", (int)host.n, host.p);
    (void)snprintf(out->where, sizeof(out->where), end ? "[%s]:%s" : "%s:%s", out->host, out->port);
    (void)snprintf(out->path, sizeof(out->path), "%.*s", (int)path.n, path.p);
    return 0;
}

static int fetch_send(int fd, const struct col_url *url, int64_t until_ns, struct ts_error *err)
{
    char request[2048];
    size_t sent = 0;
    int n = snprintf(
        request, sizeof(request),
        "GET %s HTTP/1.0\r\nHost: %s\r\nAccept: text/plain;version=0.0.4\r\nUser-Agent: tsd\r\nConnection: "
        "close\r\n\r\n",
        url->path, url->where);
    while (sent < (size_t)n) {
        if (!ts_socket_wait(fd, POLLOUT, until_ns, NULL))
            return ts_error_set(err, TS_ETIMEOUT, "%s takes no request", url->where);
        ssize_t k = send(fd, request + sent, (size_t)n - sent, MSG_NOSIGNAL);
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return ts_error_sys(err, TS_EIO, errno, "can't send to %s", url->where);
        sent += k > 0 ? (size_t)k : 0;
    }
    return 0;
}

/* All there is, up to the end of the connection. */
static int fetch_recv(int fd, const struct col_url *url, int64_t until_ns, struct ts_buf *out,
                      struct ts_error *err)
{
    for (;;) {
        if (!ts_socket_wait(fd, POLLIN, until_ns, NULL) || ts_clock_mono_ns() > until_ns)
            return ts_error_set(err, TS_ETIMEOUT, "%s has not answered in time", url->where);
        size_t step = out->max && out->max - out->n < RECV_BYTES ? out->max - out->n : RECV_BYTES;
        char *p = step ? ts_buf_reserve(out, step) : NULL;
        if (!p)
            return ts_error_set(err, TS_ELIMIT, "the answer of %s is larger than %zu bytes", url->where,
                                out->max);
        ssize_t n = recv(fd, p, step, 0);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return ts_error_sys(err, TS_EIO, errno, "can't read from %s", url->where);
        out->n += n > 0 ? (size_t)n : 0;
    }
}

/* Value of a field of the head, if it has it. */
static bool head_has(struct ts_slice head, const char *name, struct ts_slice *out)
{
    struct ts_slice line;
    size_t n = strlen(name);
    while (col_line_next(&head, &line))
        if (line.n > n && strncasecmp(line.p, name, n) == 0 && line.p[n] == ':') {
            *out = col_trim((struct ts_slice){line.p + n + 1, line.n - n - 1});
            return true;
        }
    return false;
}

/* Check the head and cut it off. */
static int fetch_head(const struct col_url *url, struct ts_buf *all, struct ts_error *err)
{
    const char *end = all->n ? memmem(all->p, all->n, "\r\n\r\n", 4) : NULL;
    uint64_t status, want;
    if (!end || all->n < 12 || memcmp(all->p, "HTTP/1.", 7) != 0 ||
        !col_u64_of((struct ts_slice){all->p + 9, 3}, &status))
        return ts_error_set(err, TS_EPARSE, "%s does not answer as an HTTP server", url->where);
    if (status != 200)
        return ts_error_set(err, TS_EIO, "%s answers %llu to %s", url->where, (unsigned long long)status,
                            url->path);
    struct ts_slice head = {all->p, (size_t)(end - all->p)}, v;
    size_t n = head.n + 4;
    if (head_has(head, "Transfer-Encoding", &v) ||
        (head_has(head, "Content-Encoding", &v) && !ts_slice_is(v, "identity")))
        return ts_error_set(err, TS_EPARSE, "%s answers HTTP/1.0 in an encoding that was not asked for",
                            url->where);
    if (head_has(head, "Content-Length", &v) && (!col_u64_of(v, &want) || want > all->n - n))
        return ts_error_set(err, TS_EIO, "the answer of %s ends too early", url->where);
    memmove(all->p, all->p + n, all->n - n);
    all->n -= n;
    return 0;
}

int col_fetch(const struct col_url *url, int64_t timeout_ms, struct ts_buf *body, struct ts_error *err)
{
    int fd;
    int64_t until_ns = ts_clock_mono_ns() + timeout_ms * 1000000;
    ts_buf_clear(body);
    TS_TRY(ts_connect(url->host, url->port, url->where, until_ns, NULL, &fd, err));
    int rc = fetch_send(fd, url, until_ns, err);
    if (rc == 0)
        rc = fetch_recv(fd, url, until_ns, body, err);
    close(fd);
    return rc < 0 ? rc : fetch_head(url, body, err);
}
