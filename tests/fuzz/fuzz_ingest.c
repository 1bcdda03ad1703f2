/*
 * fuzz_ingest.c - every way in for points, on any bytes, with a worker and a real store behind it.
 *
 * First byte: bit 0 = compat; bits 1 and 2: 0 = lines of the line protocol, 1 = a body of /api/put, 2 = of /api/rollup, 3 = of
 * /api/histogram; bit 3 = details, bit 4 = sync.
 *
 * Checked    no crash, no leak; each connection is answered and closed; lines: "sync" at the end is answered and counts no
 * more points than lines; bodies: the answer has a status that the endpoints have, and is JSON unless it is empty
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "tests/fuzz/fuzz_kit.h"
#include "tsd/http/http.h"
#include "tsd/http/job.h"
#include "tsd/worker.h"

#define MAX_INPUT_BYTES 16384 /* fits the buffers of a socket pair, both ways */

/* A daemon with one worker and no port. */
struct side {
    char dir[64];
    struct tsd_daemon d;
    struct tsd_worker *workers[1];
    struct ts_conf *conf;
};
static struct side sides[2]; /* ours, compat */

static void end_side(struct side *s)
{
    char cmd[128];
    tsd_worker_drain(s->workers[0]);
    tsd_worker_cut(s->workers[0]);
    tsd_worker_await_cut(s->workers[0]);
    tsd_jobs_close(&s->d);
    while (atomic_load(&s->workers[0]->n_conns))
        poll(NULL, 0, 1);
    tsd_worker_stop(s->workers[0]);
    tsd_worker_join(s->workers[0]);
    tsd_worker_free(s->workers[0]);
    ts_pool_free(s->d.pieces);
    tsd_rollups_release(&s->d.set.rollups);
    (void)sto_close(s->d.store, NULL);
    ts_conf_free(s->conf);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", s->dir);
    if (system(cmd) != 0)
        abort();
}

static void at_end(void)
{
    end_side(&sides[0]);
    end_side(&sides[1]);
}

static void start_side(struct side *s, bool compat)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys, sto_conf_keys};
    static const char *const keys[][2] = {
        {"auto_create_metrics", "true"}, {"rollups", "true"},         {"histogram_max_buckets", "32"},
        {"json_max_values", "10000"},    {"max_tagv_bytes", "40"},    {"put_details_max_bytes", "8k"},
        {"line_max_syncs", "2"},         {"new_series_per_min", "0"}, {"new_series_per_min_total", "0"}};
    struct ts_error err = {0};
    snprintf(s->dir, sizeof(s->dir), "/tmp/tsd-fuzz-XXXXXX");
    CHECK(mkdtemp(s->dir));
    s->conf = ts_conf_new(tables, 2);
    CHECK(ts_conf_set(s->conf, "data", ts_slice_str(s->dir), "fuzz", &err) == 0);
    CHECK(ts_conf_set(s->conf, "compat", ts_slice_str(compat ? "opentsdb" : "none"), "fuzz", &err) == 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        CHECK(ts_conf_set(s->conf, keys[i][0], ts_slice_str(keys[i][1]), "fuzz", &err) == 0);
    CHECK(tsd_settings_load(s->conf, &s->d.set, &err) == 0);
    ts_log_set_level(TS_LOG_ERROR + 1);
    ts_json_set_max_values(s->d.set.json_max_values);
    tsd_memory_init(&s->d.memory, &s->d.set);
    struct sto_opts opts = {.dir = s->dir,
                            .create = true,
                            .n_ports = 1,
                            .max_series = 5000,
                            .memstore_bytes = (size_t)16 << 20,
                            .wal_sync = STO_SYNC_NONE};
    if (sto_open(&opts, &s->d.store, &err) < 0)
        TS_BUG("%s", err.text);
    tsd_series_total_init(&s->d.new_series, 0, 0);
    s->d.conf = s->conf;
    s->d.n_workers = 1;
    s->d.workers = s->workers;
    s->d.set.n_query_running = 1;
    tsd_jobs_open(&s->d);
    s->d.pieces = ts_pool_new(1, "fuzz-query");
    s->workers[0] = tsd_worker_new(&s->d, 0);
    CHECK(tsd_worker_start(s->workers[0], &err) == 0);
}

static void start(void)
{
    signal(SIGPIPE, SIG_IGN);
    start_side(&sides[0], false);
    start_side(&sides[1], true);
    atexit(at_end);
}

static void send_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) /* libFuzzer's alarm restarts no call */
            continue;
        if (k <= 0)
            return; /* closed by exit */
        p += k;
        n -= (size_t)k;
    }
}

/* Everything that a connection answers to three pieces; a zero behind it. */
static void talk(struct side *s, struct ts_slice before, struct ts_slice data, struct ts_slice after,
                 struct ts_buf *out)
{
    int fds[2];
    static char piece[1 << 16];
    ts_buf_init(out, 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    atomic_fetch_add(&s->d.n_connections, 1);
    tsd_worker_adopt(s->workers[0], fds[1], 0);
    send_all(fds[0], before.p, before.n);
    send_all(fds[0], data.p, data.n);
    send_all(fds[0], after.p, after.n);
    shutdown(fds[0], SHUT_WR);
    for (ssize_t k; (k = recv(fds[0], piece, sizeof(piece), 0)) > 0 || (k < 0 && errno == EINTR);)
        if (k > 0)
            ts_buf_append(out, piece, (size_t)k);
    close(fds[0]);
    ts_buf_char(out, 0);
}

static bool has_exit(struct ts_slice data)
{
    for (size_t i = 0; i + 4 <= data.n; i++)
        if (!strncasecmp(data.p + i, "exit", 4))
            return true;
    return false;
}

static void lines(struct side *s, struct ts_slice data)
{
    size_t n_lines = 0;
    for (size_t i = 0; i < data.n; i++)
        n_lines += data.p[i] == '\n';
    struct ts_buf said;
    talk(s, TS_SLICE_LIT("version\n"), data, TS_SLICE_LIT("\nsync\n"), &said);
    if (!has_exit(data)) {
        size_t n = said.n - 1; /* the zero */
        unsigned long long n_points = 0;
        CHECK(n > 3 && said.p[n - 1] == '\n');
        const char *last = memrchr(said.p, '\n', n - 1);
        CHECK(last && sscanf(last + 1, "ok %llu", &n_points) == 1);
        CHECK(n_points <= n_lines + 1);
    }
    ts_buf_release(&said);
}

static void body(struct side *s, unsigned kind, bool details, bool sync, struct ts_slice data)
{
    static const char *const paths[] = {"", "put", "rollup", "histogram"};
    char head[256];
    int n = snprintf(
        head, sizeof(head),
        "POST /api/%s?%s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        paths[kind], details ? "details&" : "", sync ? "sync" : "", data.n);
    struct ts_buf said;
    talk(s, (struct ts_slice){head, (size_t)n}, data, TS_SLICE_LIT(""), &said);
    int status = 0;
    CHECK(sscanf(said.p, "HTTP/1.1 %d ", &status) == 1);
    CHECK(status == 200 || status == 204 || status == 400 || status == 413);
    const char *text = strstr(said.p, "\r\n\r\n");
    json_t *root;
    struct ts_error err = {0};
    CHECK(text);
    struct ts_slice json = {text + 4, said.n - 1 - (size_t)(text + 4 - said.p)};
    if (json.n && ts_json_load(json, &root, &err) < 0)
        TS_BUG("%s: %s", err.text, json.p);
    if (json.n)
        json_decref(root);
    CHECK(json.n || status == 204);
    ts_buf_release(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!sides[0].d.store)
        start();
    if (n < 1 || n > MAX_INPUT_BYTES)
        return 0;
    struct side *s = &sides[data[0] & 1];
    unsigned kind = data[0] >> 1 & 3;
    struct ts_slice rest = {(const char *)data + 1, n - 1};
    if (kind == 0)
        lines(s, rest);
    else
        body(s, kind, data[0] & 8, data[0] & 16, rest);
    return 0;
}
