/*
 * fuzz_http.c - what comes from the network by HTTP, on any bytes.
 *
 * First byte modulo 4: 0 = a connection with a worker behind it; 1 = a request target; 2 = a body of
 * /api/put; 3 = a packed body.
 *
 * Checked    no crash, no hang, no leak; a connection is always closed in the end; a body is taken or refused
 * the same way twice
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "tsd/http/gzip.h"
#include "tsd/http/http.h"
#include "tsd/http/job.h"
#include "tsd/http/put_json.h"
#include "tsd/worker.h"
#include "tests/fuzz/fuzz_kit.h"

static char dir[64];
static struct tsd_daemon d;
static struct tsd_worker *workers[1];
static struct ts_conf *conf;

static void at_end(void)
{
    char cmd[128];
    tsd_worker_drain(workers[0]);
    tsd_worker_cut(workers[0]);
    tsd_worker_await_cut(workers[0]);
    tsd_jobs_close(&d);
    while (atomic_load(&workers[0]->n_conns))
        poll(NULL, 0, 1);
    tsd_worker_stop(workers[0]);
    tsd_worker_join(workers[0]);
    tsd_worker_free(workers[0]);
    ts_pool_free(d.pieces);
    (void)sto_close(d.store, NULL);
    ts_conf_free(conf);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    if (system(cmd) != 0)
        abort();
}

static void start(void)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys};
    struct ts_error err = {0};
    signal(SIGPIPE, SIG_IGN);
    snprintf(dir, sizeof(dir), "/tmp/tsd-fuzz-XXXXXX");
    CHECK(mkdtemp(dir));
    conf = ts_conf_new(tables, 2);
    CHECK(ts_conf_set(conf, "data", ts_slice_str(dir), "fuzz", &err) == 0);
    CHECK(ts_conf_set(conf, "http_max_body_bytes", TS_SLICE_LIT("64k"), "fuzz", &err) == 0);
    CHECK(ts_conf_set(conf, "http_cors_domains", TS_SLICE_LIT("*"), "fuzz", &err) == 0);
    CHECK(tsd_settings_load(conf, &d.set, &err) == 0);
    tsd_memory_init(&d.memory, &d.set);
    ts_log_set_level(TS_LOG_ERROR);
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .n_ports = 1,
                            .no_background = true,
                            .max_series = 5000,
                            .wal_sync = STO_SYNC_NONE};
    CHECK(sto_open(&opts, &d.store, &err) == 0);
    d.conf = conf;
    d.n_workers = 1;
    d.workers = workers;
    d.set.n_query_running = 1;
    tsd_jobs_open(&d);
    d.pieces = ts_pool_new(1, "fuzz-query");
    workers[0] = tsd_worker_new(&d, 0);
    CHECK(tsd_worker_start(workers[0], &err) == 0);
    atexit(at_end);
}

static void connection(const uint8_t *p, size_t n)
{
    static char answer[1 << 16];
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    atomic_fetch_add(&d.n_connections, 1);
    tsd_worker_adopt(workers[0], fds[1], 0);
    while (n) {
        ssize_t k = send(fds[0], p, n, MSG_NOSIGNAL);
        if (k <= 0)
            break;
        p += k;
        n -= (size_t)k;
    }
    shutdown(fds[0], SHUT_WR);
    while (recv(fds[0], answer, sizeof(answer), 0) > 0)
        ;
    close(fds[0]);
}

static void target(const uint8_t *p, size_t n)
{
    struct tsd_req req = {.d = &d};
    struct ts_error err = {0};
    struct ts_slice v;
    char *copy = ts_xmalloc(n + 1);
    memcpy(copy, p, n);
    if (tsd_req_target(&req, (struct ts_slice){copy, n}, &err) == 0) {
        (void)tsd_req_param(&req, "m", &v);
        (void)tsd_req_jsonp(&req);
        (void)tsd_endpoint_find(req.path);
        CHECK(req.path.n == 0 || (req.path.p[0] != '/' && req.path.p[req.path.n - 1] != '/'));
    } else {
        CHECK(err.code < 0);
    }
    ts_arena_release(&req.arena);
    ts_free(copy);
}

static void put_body(const uint8_t *p, size_t n)
{
    struct ts_arena arena = {0};
    struct tsd_put_body body;
    struct ts_error err = {0}, details = {0};
    size_t n_points = 0;
    int rc[2];
    char *copy = ts_xmalloc(n + 1);
    memcpy(copy, p, n);
    for (int i = 0; i < 2; i++) {
        rc[i] = tsd_put_body_read((struct ts_slice){copy, n}, false, &arena, &body, &err, &details);
        CHECK(i == 0 || body.n_points == n_points || rc[i] < 0);
        n_points = body.n_points;
        for (size_t k = 0; rc[i] == 0 && k < body.n_points; k++)
            CHECK(body.points[k].n_tags == 0 || body.points[k].tags[0].k.p);
        tsd_put_body_release(&body);
    }
    CHECK(rc[0] == rc[1]);
    ts_arena_release(&arena);
    ts_free(copy);
}

static void packed(const uint8_t *p, size_t n)
{
    struct ts_buf out;
    struct ts_error err = {0};
    ts_buf_init(&out, 1 << 18);
    int rc = tsd_gunzip((struct ts_slice){(const char *)p, n}, 1100, &out, &err);
    CHECK(rc == 0 || err.text[0]);
    CHECK(out.n <= 1 << 18);
    ts_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!workers[0])
        start();
    if (n < 1)
        return 0;
    switch (data[0] & 3) {
    case 0:
        connection(data + 1, n - 1);
        break;
    case 1:
        target(data + 1, n - 1);
        break;
    case 2:
        put_body(data + 1, n - 1);
        break;
    default:
        packed(data + 1, n - 1);
    }
    return 0;
}
