/*
 * connect.c - getaddrinfo, connect, poll.
 *
 * Threads    see connect.h
 */
#include "base/connect.h"

#include "base/time.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define CANCEL_LOOK_MS 100 /* between two checks of cancel */

static bool is_cancelled(const _Atomic bool *cancel)
{
    return cancel && atomic_load_explicit(cancel, memory_order_relaxed);
}

int ts_socket_wait(int fd, int events, int64_t until_ns, const _Atomic bool *cancel)
{
    struct pollfd p = {.fd = fd, .events = (short)events};
    int64_t most_ms = cancel ? CANCEL_LOOK_MS : INT32_MAX;
    for (;;) {
        if (is_cancelled(cancel))
            return 0;
        int64_t left_ms = (until_ns - ts_clock_mono_ns() + 999999) / 1000000;
        if (left_ms < 0)
            left_ms = 0;
        int n = poll(&p, 1, (int)(left_ms < most_ms ? left_ms : most_ms));
        if (n > 0)
            return p.revents;
        if (n == 0 ? left_ms <= most_ms : errno != EINTR)
            return 0;
    }
}

/* Connect to one address. Returns 0 or an errno. */
static int connect_one(const struct addrinfo *a, int64_t until_ns, const _Atomic bool *cancel, int *out_fd)
{
    int e = 0, fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    socklen_t n = sizeof(e);
    if (fd < 0)
        return errno;
    if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
        e = errno;
        if (e == EINPROGRESS)
            e = !ts_socket_wait(fd, POLLOUT, until_ns, cancel)     ? ETIMEDOUT
                : getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) < 0 ? errno
                                                                   : e;
    }
    if (e)
        close(fd);
    else
        *out_fd = fd;
    return e;
}

int ts_connect(const char *host, const char *port, const char *text, int64_t until_ns,
               const _Atomic bool *cancel, int *out_fd, struct ts_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    int e = 0, one = 1;
    *out_fd = -1;
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return ts_error_set(err, TS_EIO, "no such host as %s: %s", text, gai_strerror(rc));
    for (struct addrinfo *p = list; p && *out_fd < 0 && !is_cancelled(cancel); p = p->ai_next)
        e = connect_one(p, until_ns, cancel, out_fd);
    freeaddrinfo(list);
    if (*out_fd < 0 && is_cancelled(cancel))
        return ts_error_set(err, TS_ECANCELLED, "connecting to %s was cancelled", text);
    if (*out_fd < 0)
        return ts_error_sys(err, TS_EIO, e, "nobody answers at %s", text);
    (void)setsockopt(*out_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return 0;
}
