/*
 * fuzz_daemon.h - what fuzzers of a whole daemon share: one conversation with a worker of tests/unit/tsdlib/t_daemon.h.
 *
 * Threads    one, beside the daemon's
 */
#ifndef TESTS_FUZZ_FUZZ_DAEMON_H
#define TESTS_FUZZ_FUZZ_DAEMON_H

#include <errno.h>

#include "base/buf.h"
#include "base/json.h"
#include "tests/fuzz/fuzz_kit.h"
#include "tests/unit/tsdlib/t_daemon.h"

static inline void fuzz_send_all(int fd, struct ts_slice data)
{
    while (data.n) {
        ssize_t k = send(fd, data.p, data.n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) /* libFuzzer's alarm restarts no call */
            continue;
        if (k <= 0)
            return; /* the daemon closed it, after exit for instance */
        data.p += k;
        data.n -= (size_t)k;
    }
}

/** Everything that a connection answers to three pieces, until it is closed; a zero behind it, which out->n counts. */
static inline void fuzz_talk(struct t_daemon *t, struct ts_slice before, struct ts_slice data,
                             struct ts_slice after, struct ts_buf *out)
{
    static char piece[1 << 16];
    int fd = t_connect(t);
    ts_buf_init(out, 0);
    fuzz_send_all(fd, before);
    fuzz_send_all(fd, data);
    fuzz_send_all(fd, after);
    shutdown(fd, SHUT_WR);
    for (ssize_t k; (k = recv(fd, piece, sizeof(piece), 0)) > 0 || (k < 0 && errno == EINTR);)
        if (k > 0)
            ts_buf_append(out, piece, (size_t)k);
    close(fd);
    ts_buf_char(out, 0);
}

/** The chunks of a body become the body, in place. False: it was cut, as long answers are when their time is over. */
static inline bool fuzz_unchunk(struct ts_slice *body)
{
    char *out = (char *)body->p;
    const char *p = body->p, *end = p + body->n; /* a zero follows */
    for (size_t n;; out += n, p += n + 2) {
        char *stop;
        n = strtoull(p, &stop, 16);
        if (stop == p || end - stop < 2)
            return false;
        p = stop + 2;
        if (n == 0 || (size_t)(end - p) < n + 2) {
            body->n = (size_t)(out - body->p);
            return n == 0;
        }
        memmove(out, p, n);
    }
}

/**
 * The status of an answer to one request; ends the program if there is none.
 *
 * @param said       from fuzz_talk; changed if the body comes in chunks
 * @param out_body   what follows its head, or as much of it as came
 * @param out_whole  it was not cut
 */
static inline int fuzz_answer(struct ts_buf *said, struct ts_slice *out_body, bool *out_whole)
{
    int status = 0;
    CHECK(sscanf(said->p, "HTTP/1.%*d %d ", &status) == 1);
    const char *text = strstr(said->p, "\r\n\r\n");
    CHECK(text);
    const char *chunked = strstr(said->p, "\r\nTransfer-Encoding: chunked\r\n");
    *out_body = (struct ts_slice){text + 4, said->n - 1 - (size_t)(text + 4 - said->p)};
    *out_whole = !chunked || chunked > text || fuzz_unchunk(out_body);
    return status;
}

/** Ends the program if text is neither empty nor one JSON value. */
static inline void fuzz_check_json(struct ts_slice text)
{
    static const char zero[] = "\\u0000"; /* jansson takes none in the names of members */
    json_error_t err;
    if (!text.n)
        return;
    char *copy = ts_xmalloc(text.n);
    memcpy(copy, text.p, text.n);
    for (char *p = copy; (p = memmem(p, text.n - (size_t)(p - copy), zero, 6)); p += 6)
        p[5] = '1';
    json_t *root = json_loadb(copy, text.n, JSON_DECODE_ANY, &err);
    if (!root)
        TS_BUG("%s: %.*s", err.text, (int)text.n, text.p);
    json_decref(root);
    ts_free(copy);
}

#endif
