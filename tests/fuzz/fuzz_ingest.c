/*
 * fuzz_ingest.c - every way in for points, on any bytes, with a worker and a real store behind it.
 *
 * First byte: bit 0 = compat; bits 1 and 2: 0 = lines of the line protocol, 1 = a body of /api/put, 2 = of /api/rollup, 3 = of
 * /api/histogram; bit 3 = details, bit 4 = sync.
 *
 * Checked    no crash, no leak; each connection is answered and closed; lines: "sync" at the end is answered and counts no
 * more points than lines; bodies: the answer has a status that the endpoints have, and is JSON unless it is empty
 */
#include "tests/fuzz/fuzz_daemon.h"

#define MAX_INPUT_BYTES 16384 /* fits the buffers of a socket pair, both ways */

#define COMMON_KEYS                                                                                          \
    "auto_create_metrics", "true", "rollups", "true", "histogram_max_buckets", "32", "json_max_values",      \
        "10000", "max_tagv_bytes", "40", "put_details_max_bytes", "8k", "line_max_syncs", "2",               \
        "new_series_per_min", "0", "new_series_per_min_total", "0", "max_series", "5000", "memstore_bytes",  \
        "16M", "wal_sync", "none"

static struct t_daemon sides[2]; /* ours, compat */

static void at_end(void)
{
    t_daemon_close(&sides[0]);
    t_daemon_close(&sides[1]);
}

static void start(void)
{
    static const char *const ours[] = {COMMON_KEYS, "compat", "none", NULL};
    static const char *const compat[] = {COMMON_KEYS, "compat", "opentsdb", NULL};
    t_daemon_open_as(&sides[0], ours, NULL, true);
    t_daemon_open_as(&sides[1], compat, NULL, true);
    ts_log_set_level(TS_LOG_ERROR + 1);
    atexit(at_end);
}

static bool has_exit(struct ts_slice data)
{
    for (size_t i = 0; i + 4 <= data.n; i++)
        if (!strncasecmp(data.p + i, "exit", 4))
            return true;
    return false;
}

static void lines(struct t_daemon *s, struct ts_slice data)
{
    size_t n_lines = 0;
    for (size_t i = 0; i < data.n; i++)
        n_lines += data.p[i] == '\n';
    struct ts_buf said;
    fuzz_talk(s, TS_SLICE_LIT("version\n"), data, TS_SLICE_LIT("\nsync\n"), &said);
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

static void body(struct t_daemon *s, unsigned kind, bool details, bool sync, struct ts_slice data)
{
    static const char *const paths[] = {"", "put", "rollup", "histogram"};
    char head[256];
    int n = snprintf(
        head, sizeof(head),
        "POST /api/%s?%s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        paths[kind], details ? "details&" : "", sync ? "sync" : "", data.n);
    struct ts_buf said;
    fuzz_talk(s, (struct ts_slice){head, (size_t)n}, data, TS_SLICE_LIT(""), &said);
    struct ts_slice json;
    bool whole;
    int status = fuzz_answer(&said, &json, &whole);
    CHECK(whole);
    CHECK(status == 200 || status == 204 || status == 400 || status == 413);
    CHECK(json.n || status == 204);
    fuzz_check_json(json);
    ts_buf_release(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!sides[0].d.store)
        start();
    if (n < 1 || n > MAX_INPUT_BYTES)
        return 0;
    struct t_daemon *s = &sides[data[0] & 1];
    unsigned kind = data[0] >> 1 & 3;
    struct ts_slice rest = {(const char *)data + 1, n - 1};
    if (kind == 0)
        lines(s, rest);
    else
        body(s, kind, data[0] & 8, data[0] & 16, rest);
    return 0;
}
