/*
 * t_peer.h - daemons that a thread plays, and sinks that deliver to them.
 */
#ifndef T_PEER_H
#define T_PEER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "collectors/core/sink.h"

#define WAIT_MS 60000 /* for things that happen at once on a machine that is not busy */

/* How a daemon answers. REFUSE_ODD: every second line is bad. NO_ROOM: max_series is reached, series with "new" are refused. READ_ONLY: no
 * such command as put. STRANGE: series with "new" are refused in words nobody knows. DRIP: sync is answered by a byte now and then, without
 * end. FIRST: as NO_ROOM, but only the first line of a block is refused. */
enum answer { OK, OPENTSDB, REFUSE_ODD, FULL, CLOSE, SILENT, NO_ROOM, READ_ONLY, STRANGE, DRIP, FIRST };

/* A daemon that listens; one connection at a time. */
struct peer {
    int fd;             /* listening */
    unsigned port;      /* of it */
    atomic_int answer;  /* enum answer to the next sync */
    atomic_int n_lines; /* put lines that were acknowledged */
    atomic_int n_conns; /* connections accepted */
    atomic_int n_syncs; /* syncs read */
    atomic_int n_known; /* acknowledged put lines without "new" */
    atomic_int newest;  /* value of the last acknowledged line "put new 1 VALUE" */
    atomic_bool end;    /* told to end */
    pthread_t thread;   /* its thread */
};

/* The text a put line is refused with; "" = it is taken. n_new counts lines since the last sync. */
static inline const char *peer_refusal(int how, const char *line, int n_new)
{
    bool new_series = strstr(line, "new") != NULL;
    if (how == REFUSE_ODD && n_new % 2)
        return "put: illegal argument: Invalid metric name (\"m\"): illegal character: !\n";
    if ((how == NO_ROOM || (how == FIRST && n_new == 1)) && new_series)
        return "put: storage error: no more than 1 series (max_series)\n";
    if (how == READ_ONLY)
        return "unknown command: put.  Try `help'.\n";
    if (how == STRANGE && new_series)
        return "put: the moon is full\n";
    return "";
}

static inline bool peer_sync(struct peer *p, int fd, int *n_new, int *n_taken)
{
    char text[128] = "";
    int how = p->answer;
    p->n_syncs++;
    while (p->answer == DRIP && !p->end) {
        if (send(fd, "o", 1, MSG_NOSIGNAL) < 0)
            return false;
        usleep(20000);
    }
    if (how == CLOSE || how == DRIP)
        return false;
    if (how == OPENTSDB)
        snprintf(text, sizeof(text), "unknown command: sync.  Try `help'.\n");
    else if (how == FULL)
        snprintf(text, sizeof(text), "sync: error disk full\n");
    else if (how != SILENT)
        snprintf(text, sizeof(text), "ok %d\n", *n_taken);
    *n_new = 0;
    return !*text || send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

/* Answer one line; false = close. n_new, n_taken: put lines since the last sync, and taken on this connection. */
static inline bool peer_line(struct peer *p, int fd, const char *line, int *n_new, int *n_taken)
{
    int how = p->answer;
    const char *text = "";
    if (strncmp(line, "put ", 4) == 0) {
        ++*n_new;
        text = peer_refusal(how, line, *n_new);
        *n_taken += !*text;
        if (!*text && how != FULL && how != SILENT && how != CLOSE && how != DRIP) {
            p->n_lines++;
            p->n_known += strstr(line, "new") == NULL;
            if (strncmp(line, "put new 1 ", 10) == 0)
                p->newest = (int)strtol(line + 10, NULL, 10);
        }
    } else if (strcmp(line, "version") == 0) {
        text = "tsd 1\nBuilt by hand\n";
    } else if (strcmp(line, "sync") == 0) {
        return peer_sync(p, fd, n_new, n_taken);
    }
    return !*text || send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

static inline void peer_serve(struct peer *p, int fd)
{
    char buf[4096];
    size_t n = 0;
    int n_new = 0, n_taken = 0;
    while (!p->end) {
        struct pollfd f = {.fd = fd, .events = POLLIN};
        if (poll(&f, 1, 20) <= 0)
            continue;
        ssize_t got = recv(fd, buf + n, sizeof(buf) - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        for (char *nl; (nl = memchr(buf, '\n', n));) {
            *nl = '\0';
            if (!peer_line(p, fd, buf, &n_new, &n_taken))
                return;
            n -= (size_t)(nl + 1 - buf);
            memmove(buf, nl + 1, n);
        }
    }
}

static inline void *peer_main(void *arg)
{
    struct peer *p = arg;
    while (!p->end) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN};
        if (poll(&f, 1, 20) <= 0)
            continue;
        int fd = accept(p->fd, NULL, NULL);
        p->n_conns++;
        peer_serve(p, fd);
        close(fd);
    }
    return NULL;
}

static inline void peer_start(struct peer *p, enum answer answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    int one = 1;
    memset(p, 0, sizeof(*p));
    p->answer = (int)answer;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    assert_int_equal(bind(p->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(p->fd, 8), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&a, &n), 0);
    p->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static inline void peer_stop(struct peer *p)
{
    p->end = true;
    pthread_join(p->thread, NULL);
    close(p->fd);
}

static inline struct col_spool *spool_of(int n)
{
    struct col_spool_opts opts = {.max_bytes = 1 << 20};
    struct col_spool *s;
    assert_int_equal(col_spool_open(&opts, &s, NULL), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(col_spool_append(s, TS_SLICE_LIT("put m 1 1 a=b\n"), 1, false, NULL), 0);
    return s;
}

/* Points put aside by the sinks of a case. */
static struct col_spool *later;

static inline int setup(void **state)
{
    (void)state;
    later = spool_of(0);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    col_spool_close(later);
    return 0;
}

static inline struct col_sink *start(struct col_spool *spool, const char *servers, int64_t timeout_ms)
{
    struct col_sink_opts opts = {.spool = spool,
                                 .later = later,
                                 .servers = servers,
                                 .timeout_ms = timeout_ms,
                                 .retry_min_ms = 1,
                                 .retry_max_ms = 50,
                                 .block_bytes = 140};
    return col_sink_start(&opts);
}

static inline uint64_t points_in(struct col_spool *s)
{
    struct col_spool_stats st;
    col_spool_stats(s, &st);
    return st.n_points;
}

/* Until n points wait: more do for a moment, when what is refused again is put behind the others before it is cut off in front. */
static inline void wait_points(struct col_spool *s, uint64_t n)
{
    uint64_t found = points_in(s);
    for (int i = 0; i < WAIT_MS / 10 && found != n; i++) {
        usleep(10000);
        found = points_in(s);
    }
    assert_int_equal(found, n);
}

static inline void wait_empty(struct col_spool *s)
{
    wait_points(s, 0);
}

static inline void wait_acked(struct col_spool *s, uint64_t n)
{
    struct col_spool_stats st;
    for (int i = 0; i < WAIT_MS / 10; i++) {
        col_spool_stats(s, &st);
        if (st.n_acked >= n)
            return;
        usleep(10000);
    }
    fail_msg("only %llu points were acknowledged", (unsigned long long)st.n_acked);
}

/* Until all of n points are sent or refused, which is counted after their acknowledgement. */
static inline void wait_counted(struct col_sink *k, uint64_t n, struct col_sink_stats *out)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        col_sink_stats(k, out);
        if (out->n_sent + out->n_refused == n)
            return;
        usleep(10000);
    }
    fail_msg("only %llu points were counted", (unsigned long long)(out->n_sent + out->n_refused));
}

static inline void wait_least(const atomic_int *count, int n)
{
    for (int i = 0; i < WAIT_MS / 10 && *count < n; i++)
        usleep(10000);
    assert_true(*count >= n);
}

/* Append a line "put NAME TIME REST". */
static inline void append(struct col_spool *s, const char *name, int time, const char *rest)
{
    char line[64];
    snprintf(line, sizeof(line), "put %s %d %s\n", name, time, rest);
    assert_int_equal(col_spool_append(s, ts_slice_str(line), 1, false, NULL), 0);
}

/* A case with a spool for what is put aside. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
