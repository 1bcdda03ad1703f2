/*
 * sink_conn.c - sockets of the sink.
 *
 * Sends and reads at once: a daemon that reports errors must not wait for us to finish. An exchange has a deadline as a whole, so that a
 * peer that sends a byte now and then holds nothing.
 * Threads    see sink_int.h
 * Source     docs/PROTOCOL.md "Line protocol"
 */
#include "collectors/core/sink.h"
#include "collectors/core/sink_int.h"

#include "base/connect.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "collectors/core/answer.h"
#include "collectors/core/keys.h"
#include "collectors/core/fields.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_PORT "4242"
#define ANSWER_MAX   ((size_t)1 << 20) /* bytes of one line */
#define RECV_BYTES   ((size_t)16 << 10)
#define VERSION_MAX  (COL_SINK_VERSION_BYTES - 1)

/* --- addresses --- */

static int addr_parse(struct ts_slice text, struct col_sink__addr *out, struct ts_error *err)
{
    const char *own = getenv("TSD_PORT");
    struct ts_slice host = text, port = ts_slice_str(own && *own ? own : DEFAULT_PORT);
    const char *end = text.n && text.p[0] == '[' ? memchr(text.p, ']', text.n) : NULL;
    const char *colon = end ? end + 1 : text.n ? memchr(text.p, ':', text.n) : NULL;
    bool has_port = colon && colon < text.p + text.n;
    if (end)
        host = (struct ts_slice){text.p + 1, (size_t)(end - text.p - 1)};
    else if (colon)
        host.n = (size_t)(colon - text.p);
    if (has_port)
        port = (struct ts_slice){colon + 1, (size_t)(text.p + text.n - colon - 1)};
    uint64_t n;
    bool second = !end && has_port && memchr(port.p, ':', port.n);
    if (!host.n || (has_port && *colon != ':') || second || !col_u64_of(port, &n) || n < 1 || n > 65535)
        return ts_error_set(
            err, TS_EINVAL,
            "collect_server: \"%.*s\" is no HOST:PORT (an IPv6 address stands in brackets: [::1]:4242)",
            (int)text.n, text.p);
    *out = (struct col_sink__addr){.text = ts_xstrndup(text.p, text.n),
                                   .host = ts_xstrndup(host.p, host.n),
                                   .port = ts_xstrndup(port.p, port.n)};
    return 0;
}

int col_sink__addrs_parse(const char *servers, struct col_sink__addrs *out, struct ts_error *err)
{
    *out = (struct col_sink__addrs){0};
    int rc = 0;
    while (rc == 0 && *servers) {
        size_t n = strcspn(servers, ",");
        struct ts_slice text = col_trim((struct ts_slice){servers, n});
        if (text.n) {
            out->p = ts_xrealloc(out->p, (out->n + 1) * sizeof(*out->p));
            rc = addr_parse(text, &out->p[out->n], err);
            out->n += rc == 0;
        }
        servers += n + (servers[n] == ',');
    }
    if (rc == 0 && !out->n)
        rc = ts_error_set(err, TS_EINVAL, "collect_server is empty: where should points be sent?");
    if (rc < 0)
        col_sink__addrs_release(out);
    return rc;
}

void col_sink__addrs_release(struct col_sink__addrs *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        ts_free(a->p[i].text);
        ts_free(a->p[i].host);
        ts_free(a->p[i].port);
    }
    ts_free(a->p);
    *a = (struct col_sink__addrs){0};
}

int col_servers_check(const char *servers, struct ts_error *err)
{
    struct col_sink__addrs a;
    TS_TRY(col_sink__addrs_parse(servers, &a, err));
    col_sink__addrs_release(&a);
    return 0;
}

int col_server_first(const char *servers, char **out_host, char **out_port, struct ts_error *err)
{
    struct col_sink__addrs a;
    *out_host = *out_port = NULL;
    TS_TRY(col_sink__addrs_parse(servers, &a, err));
    *out_host = ts_xstrdup(a.p[0].host);
    *out_port = ts_xstrdup(a.p[0].port);
    col_sink__addrs_release(&a);
    return 0;
}

/* --- connection --- */

int col_sink__open(struct col_sink__conn *c, const struct col_sink__addr *a, int64_t timeout_ms,
                   struct ts_error *err)
{
    *c = (struct col_sink__conn){.fd = -1};
    TS_TRY(
        ts_connect(a->host, a->port, a->text, ts_clock_mono_ns() + timeout_ms * 1000000, NULL, &c->fd, err));
    ts_buf_init(&c->in, ANSWER_MAX);
    return 0;
}

void col_sink__close(struct col_sink__conn *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    ts_buf_release(&c->in);
}

/* --- bytes --- */

static int conn_recv(struct col_sink__conn *c, struct ts_error *err)
{
    char *p = ts_buf_reserve(&c->in, RECV_BYTES);
    if (!p)
        return ts_error_set(err, TS_EIO, "an answer longer than %zu bytes; is that a tsd?", ANSWER_MAX);
    ssize_t n = recv(c->fd, p, RECV_BYTES, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't read the answer");
    if (n == 0)
        return ts_error_set(err, TS_EIO, "the daemon closed the connection");
    c->in.n += (size_t)n;
    return 0;
}

static int conn_send(struct col_sink__conn *c, struct ts_slice *text, struct ts_error *err)
{
    ssize_t n = send(c->fd, text->p, text->n, MSG_NOSIGNAL);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't send");
    *text = (struct ts_slice){text->p + n, text->n - (size_t)n};
    return 0;
}

/* An exchange in progress: what was sent, and how the lines of its answer are used. */
struct talk {
    struct col_sink__conn *c;     /* connection */
    struct col_sink__answer *out; /* figures */
    uint32_t n_lines;             /* sent */
    uint8_t *verdicts;            /* an enum col_verdict for each line; sort only */
    uint32_t at;                  /* line whose answer comes; sort only */
    bool in_version;              /* the second line of an answer to version comes; sort only */
    /** Use one line. 1 = the exchange is over. */
    int (*line)(struct talk *t, struct ts_slice line, struct ts_error *err);
};

/* Use the complete lines of what was read. */
static int talk_lines(struct talk *t, struct ts_error *err)
{
    struct col_sink__conn *c = t->c;
    struct ts_slice text = ts_buf_get(&c->in), line;
    int rc = 0;
    while (rc == 0 && text.n && memchr(text.p, '\n', text.n)) {
        (void)col_line_next(&text, &line);
        rc = t->line(t, col_trim(line), err);
    }
    if (text.n)
        memmove(c->in.p, text.p, text.n);
    c->in.n = text.n;
    return rc;
}

/* Send a text and read lines until one ends the exchange. */
static int talk(struct talk *t, struct ts_slice text, int64_t timeout_ms, struct ts_error *err)
{
    struct col_sink__conn *c = t->c;
    int64_t until_ns = ts_clock_mono_ns() + timeout_ms * 1000000;
    for (;;) {
        int ready = ts_socket_wait(c->fd, text.n ? POLLIN | POLLOUT : POLLIN, until_ns, NULL);
        if (!ready || ts_clock_mono_ns() > until_ns)
            return ts_error_set(err, TS_ETIMEOUT, "no whole answer within %lld ms (collect_timeout_s)",
                                (long long)timeout_ms);
        if (ready & ~POLLOUT) {
            TS_TRY(conn_recv(c, err));
            int rc = talk_lines(t, err);
            if (rc < 0)
                return rc;
            if (rc > 0)
                return text.n ? ts_error_set(err, TS_EIO, "an answer to what was not sent yet") : 0;
        }
        if (text.n && (ready & POLLOUT))
            TS_TRY(conn_send(c, &text, err));
    }
}

/* --- answers --- */

static int talk_not_now(struct ts_slice line, struct ts_error *err)
{
    return ts_error_set(err, TS_EBACKEND, "the daemon takes no points at present: \"%.*s\"",
                        TS_SHOWN(line, 150));
}

/* A refusal is counted, the first one kept for the log. */
static void talk_count(struct talk *t, enum col_verdict verdict, struct ts_slice line)
{
    struct col_sink__answer *out = t->out;
    if (!*out->text)
        (void)snprintf(out->text, sizeof(out->text), "%.*s", (int)line.n, line.p);
    out->n_never += verdict == COL_NEVER;
    out->n_later += verdict != COL_NEVER;
}

/* Is it the answer to sync? 1, 0, or what sync says is wrong. */
static int talk_sync(struct talk *t, struct ts_slice line, struct ts_error *err)
{
    struct ts_slice rest = line;
    uint64_t n;
    if (col_prefix_take(&rest, "ok ") && col_u64_of(rest, &n)) {
        t->out->n_taken = n - t->c->n_ok;
        t->c->n_ok = n;
        return 1;
    }
    if (col_prefix_take(&rest, "sync: "))
        return talk_not_now(line, err);
    if (col_prefix_take(&rest, "unknown command: sync")) {
        uint64_t n_refused = t->out->n_never + t->out->n_later;
        t->c->opentsdb = true;
        t->out->n_taken = n_refused < t->n_lines ? t->n_lines - n_refused : 0;
        return 1;
    }
    return 0;
}

/* A line of the answer to a block. */
static int block_line(struct talk *t, struct ts_slice line, struct ts_error *err)
{
    int rc = line.n ? talk_sync(t, line, err) : 0;
    if (rc != 0 || !line.n)
        return rc;
    enum col_verdict verdict = col_verdict_of(line);
    if (verdict == COL_LATER)
        return talk_not_now(line, err);
    talk_count(t, verdict, line);
    return 0;
}

int col_sink__exchange(struct col_sink__conn *c, struct ts_slice block, uint32_t n_lines, int64_t timeout_ms,
                       struct col_sink__answer *out, struct ts_error *err)
{
    struct talk t = {.c = c, .out = out, .n_lines = n_lines, .line = block_line};
    *out = (struct col_sink__answer){0};
    TS_TRY(talk(&t, block, timeout_ms, err));
    c->n_blocks++;
    return 0;
}

/* The answer to version, which has two lines: the first is remembered. */
static int version_line(struct talk *t, struct ts_slice line, struct ts_error *err)
{
    (void)err;
    if (!t->in_version)
        (void)snprintf(t->c->version, sizeof(t->c->version), "%.*s", (int)line.n, line.p);
    t->in_version = !t->in_version;
    return t->in_version ? 0 : 1;
}

/* A line of the answer to "put ... / version / put ... / version / ... / sync". */
static int sort_line(struct talk *t, struct ts_slice line, struct ts_error *err)
{
    if (t->in_version) {
        t->in_version = false;
        t->at++;
        return 0;
    }
    if (t->at == t->n_lines)
        return line.n ? talk_sync(t, line, err) : 0;
    t->in_version =
        ts_slice_is((struct ts_slice){line.p, line.n < VERSION_MAX ? line.n : VERSION_MAX}, t->c->version);
    if (!t->in_version && line.n && t->verdicts[t->at] == COL_TAKEN) {
        t->verdicts[t->at] = (uint8_t)col_verdict_of(line);
        talk_count(t, col_verdict_of(line), line);
    }
    return 0;
}

int col_sink__sort(struct col_sink__conn *c, struct ts_slice lines, uint32_t n_lines, int64_t timeout_ms,
                   struct ts_buf *verdicts, struct col_sink__answer *out, struct ts_error *err)
{
    struct ts_slice line;
    struct ts_buf text;
    *out = (struct col_sink__answer){0};
    ts_buf_clear(verdicts);
    struct talk t = {.c = c, .out = out, .n_lines = n_lines, .line = version_line};
    if (!*c->version)
        TS_TRY(talk(&t, TS_SLICE_LIT("version\n"), timeout_ms, err));
    t.line = sort_line;
    ts_buf_init(&text, 0);
    while (col_line_next(&lines, &line)) {
        ts_buf_slice(&text, line);
        ts_buf_str(&text, "\nversion\n");
        ts_buf_char(verdicts, COL_TAKEN);
    }
    ts_buf_str(&text, "sync\n");
    t.verdicts = (uint8_t *)verdicts->p;
    int rc = talk(&t, ts_buf_get(&text), timeout_ms, err);
    ts_buf_release(&text);
    if (rc == 0)
        c->n_blocks++;
    return rc;
}
