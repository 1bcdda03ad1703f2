/*
 * t_daemon.h - a worker with its store inside the test: connections are socket pairs, no port is opened.
 */
#ifndef TESTS_T_DAEMON_H
#define TESTS_T_DAEMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "tsd/protocols/http/http.h"
#include "tsd/protocols/http/job.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/net/worker.h"
#include "tsd/protocols.h"

struct t_daemon {
    char dir[64];
    struct ts_conf *conf;
    struct tsd_daemon d;
    struct tsd_worker *workers[1];
    bool may_fail; /* the store is on a file system that fails: closing it may too */
};

static inline void t_daemon_check(int rc, const struct ts_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "t_daemon: %s\n", err->text);
        abort();
    }
}

/* keys: "name", "value" ... NULL. fs: where the store is, NULL = the real one. background: the store has its threads. */
static inline void t_daemon_open_as(struct t_daemon *t, const char *const *keys, const struct ts_fs *fs,
                                    bool background)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys};
    struct ts_error err = {0};
    memset(t, 0, sizeof(*t));
    snprintf(t->dir, sizeof(t->dir), "/tmp/tsd-test-XXXXXX");
    if (!mkdtemp(t->dir))
        abort();
    signal(SIGPIPE, SIG_IGN);
    t->conf = ts_conf_new(tables, 2);
    int rc = ts_conf_set(t->conf, "data", ts_slice_str(t->dir), "test", &err);
    if (rc == 0) /* tests count points */
        rc = ts_conf_set(t->conf, "self_metrics", TS_SLICE_LIT("false"), "test", &err);
    for (; rc == 0 && keys && keys[0]; keys += 2)
        rc = ts_conf_set(t->conf, keys[0], ts_slice_str(keys[1]), "test", &err);
    if (rc == 0)
        rc = tsd_settings_load(t->conf, &t->d.set, &err);
    ts_log_set_level(TS_LOG_ERROR);
    tsd_memory_init(&t->d.memory, &t->d.set);
    struct sto_opts opts = {.fs = NULL};
    sto_opts_from_conf(&opts, t->conf);
    opts.fs = fs;
    t->may_fail = fs != NULL;
    opts.survive_sync_errors = fs != NULL;
    opts.dir = fs ? "/db" : t->dir;
    opts.create = true;
    opts.knows_zone = true;
    opts.no_background = !background;
    opts.n_writers = 1;
    if (rc == 0)
        rc = sto_open(&opts, &t->d.store, &err);
    t_daemon_check(rc, &err);
    tsd_series_total_init(&t->d.new_series, t->d.set.new_series_per_min_total, 0);
    t->d.conf = t->conf;
    t->d.protocols = tsd_protocols;
    t->d.n_workers = 1;
    t->d.workers = t->workers;
    t->d.set.n_query_running = 2;
    t->d.queries = tsd_queries_new();
    tsd_jobs_open(&t->d);
    t->d.pieces = ts_pool_new(1, "test-query");
    snprintf(t->d.host, sizeof(t->d.host), "here");
    t->workers[0] = tsd_worker_new(&t->d, 0);
    t_daemon_check(tsd_worker_start(t->workers[0], &err), &err);
}

static inline void t_daemon_open_on(struct t_daemon *t, const char *const *keys, const struct ts_fs *fs)
{
    t_daemon_open_as(t, keys, fs, false);
}

static inline void t_daemon_open(struct t_daemon *t, const char *const *keys)
{
    t_daemon_open_on(t, keys, NULL);
}

/* Nothing is counted any more for clients and their requests, whatever became of them. */
static inline void t_accounts_empty(const struct tsd_memory *m)
{
    static const enum tsd_account of_clients[] = {TSD_MEM_QUERIES, TSD_MEM_BODIES, TSD_MEM_REPLIES,
                                                  TSD_MEM_STREAMS, TSD_MEM_CONNECTIONS};
    for (size_t i = 0; i < sizeof(of_clients) / sizeof(of_clients[0]); i++) {
        const struct ts_budget *account = &m->accounts[of_clients[i]];
        unsigned long long used = atomic_load(&account->used_bytes);
        if (used) {
            fprintf(stderr, "t_daemon: the account \"%s\" still counts %llu bytes\n", account->name, used);
            abort();
        }
    }
}

static inline void t_daemon_close(struct t_daemon *t)
{
    struct ts_error err = {0};
    char cmd[128];
    tsd_worker_drain(t->workers[0]);
    tsd_worker_cut(t->workers[0]);
    tsd_worker_await_cut(t->workers[0]);
    tsd_jobs_close(&t->d);
    while (atomic_load(&t->workers[0]->n_conns))
        poll(NULL, 0, 1);
    tsd_worker_stop(t->workers[0]);
    tsd_worker_join(t->workers[0]);
    tsd_worker_free(t->workers[0]);
    t_accounts_empty(&t->d.memory);
    ts_pool_free(t->d.pieces);
    tsd_rollups_release(&t->d.set.rollups);
    tsd_queries_free(t->d.queries);
    tsd_series_total_release(&t->d.new_series);
    int rc = sto_close(t->d.store, &err);
    t_daemon_check(t->may_fail ? 0 : rc, &err);
    ts_conf_free(t->conf);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", t->dir);
    if (system(cmd) != 0)
        abort();
}

/* Our end of a new connection. */
static inline int t_connect(struct t_daemon *t)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        abort();
    atomic_fetch_add(&t->d.n_connections, 1);
    tsd_worker_adopt(t->workers[0], &(struct tsd_accepted){.fd = fds[1], .transport = t->d.transport});
    return fds[0];
}

/* Read to the end; terminated. */
static inline size_t t_read_all(int fd, char *out, size_t max)
{
    size_t n = 0;
    for (ssize_t k; n < max - 1 && (k = recv(fd, out + n, max - 1 - n, 0)) > 0;)
        n += (size_t)k;
    out[n] = 0;
    return n;
}

/* Send bytes, shut our side, read all answers. */
static inline size_t t_talk(struct t_daemon *t, const void *p, size_t n, char *out, size_t max)
{
    int fd = t_connect(t);
    for (size_t at = 0; at < n;) {
        ssize_t k = send(fd, (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (k <= 0)
            break;
        at += (size_t)k;
    }
    shutdown(fd, SHUT_WR);
    size_t got = t_read_all(fd, out, max);
    close(fd);
    return got;
}

#endif
