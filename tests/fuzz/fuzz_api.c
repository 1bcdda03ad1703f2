/*
 * fuzz_api.c - every endpoint that takes a body or parameters, on any bytes, with a worker, job threads and a store
 * that has series, annotations, histograms, metadata and a tree.
 *
 * First byte: bit 0 = compat; second byte: the row of calls[], modulo their number; then parameters up to the first
 * line end, then the body.
 *
 * Checked    no crash, no leak; each request is answered once and closed; a status other than 500, which only OpenTSDB has for bad requests; JSON where the
 * endpoint answers with JSON
 */
#include "tests/fuzz/fuzz_daemon.h"

#define MAX_INPUT_BYTES 16384 /* fits the buffers of a socket pair, both ways */

#define COMMON_KEYS                                                                                          \
    "auto_create_metrics", "true", "rollups", "true", "query_timeout_ms", "2000", "json_max_values",         \
        "10000", "new_series_per_min", "0", "new_series_per_min_total", "0", "max_series", "5000",           \
        "memstore_bytes", "16M", "wal_sync", "none", "query_allow_delete", "true", "uid_allow_delete",       \
        "true", "uid_allow_rename", "true", "meta_allow_delete", "true", "meta_series", "true"

/* New rows at the end, so that the corpus keeps its meaning. */
static const struct {
    const char *method, *path;
} calls[] = {
    {"POST", "api/query"},
    {"GET", "api/query"},
    {"DELETE", "api/query"},
    {"POST", "api/query/exp"},
    {"GET", "api/query/gexp"},
    {"POST", "api/query/last"},
    {"GET", "api/query/last"},
    {"POST", "api/query/explain"},
    {"POST", "api/suggest"},
    {"GET", "api/suggest"},
    {"POST", "api/search/lookup"},
    {"GET", "api/search/lookup"},
    {"POST", "api/search/tsmeta"},
    {"POST", "api/annotation"},
    {"DELETE", "api/annotation"},
    {"GET", "api/annotation"},
    {"POST", "api/annotation/bulk"},
    {"DELETE", "api/annotation/bulk"},
    {"GET", "api/annotations"},
    {"POST", "api/tree"},
    {"PUT", "api/tree"},
    {"DELETE", "api/tree"},
    {"POST", "api/tree/rule"},
    {"POST", "api/tree/rules"},
    {"DELETE", "api/tree/rules"},
    {"GET", "api/tree/branch"},
    {"POST", "api/tree/test"},
    {"GET", "api/tree/collisions"},
    {"POST", "api/uid/assign"},
    {"POST", "api/uid/rename"},
    {"POST", "api/uid/delete"},
    {"POST", "api/uid/uidmeta"},
    {"DELETE", "api/uid/uidmeta"},
    {"POST", "api/uid/tsmeta"},
    {"PUT", "api/uid/tsmeta"},
    {"GET", "api/uid/tsmeta"},
    {"GET", "api/metric"},
    {"GET", "api/delete"},
    {"DELETE", "api/delete"},
    {"GET", "api/export"},
    {"GET", "api/scan"},
    {"GET", "q"},
    {"POST", "api/stats/query"},
    {"GET", "logs"},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static struct t_daemon sides[2]; /* ours, compat */

static void call(struct t_daemon *t, size_t at, struct ts_slice params, struct ts_slice body)
{
    struct ts_buf head, said;
    struct ts_slice answer;
    ts_buf_init(&head, 0);
    ts_buf_printf(&head, "%s /%s%s", calls[at].method, calls[at].path, params.n ? "?" : "");
    for (size_t i = 0; i < params.n; i++) { /* a request line holds no blanks and no controls */
        unsigned char c = (unsigned char)params.p[i];
        ts_buf_printf(&head, c <= ' ' || c >= 127 ? "%%%02x" : "%c", c);
    }
    ts_buf_printf(&head, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                  body.n);
    fuzz_talk(t, (struct ts_slice){head.p, head.n}, body, TS_SLICE_LIT(""), &said);
    bool whole;
    int status = fuzz_answer(&said, &answer, &whole);
    if (status < 200 || status > 505 || (status == 500 && t == &sides[0]))
        TS_BUG("status %d: %s", status, said.p);
    if (whole && strstr(said.p, "\r\nContent-Type: application/json"))
        fuzz_check_json(answer);
    ts_buf_release(&said);
    ts_buf_release(&head);
}

static void load(struct t_daemon *t)
{
    static const char lines[] =
        "put web.hits 1600000000 3 host=a domain=x\nput web.hits 1600000060 4.5 host=b\n"
        "put web.hits 1600003600 7 host=a domain=y\nput cpu 1600000001 -1 host=a\n"
        "put cpu 1600086400500 1e9 host=b\n"
        "rollup 1h-sum web.hits 1600000000 8 host=a\nsync\n";
    static const struct {
        const char *path, *body;
    } posts[] = {
        {"api/annotation",
         "{\"startTime\":1600000000,\"description\":\"a\",\"tsuid\":\"000001000001000001\"}"},
        {"api/annotation", "{\"startTime\":1600000100,\"endTime\":1600000200,\"description\":\"global\"}"},
        {"api/tree", "{\"name\":\"t\",\"enabled\":true,\"strictMatch\":false}"},
        {"api/tree/rule",
         "{\"treeId\":1,\"level\":0,\"order\":0,\"type\":\"METRIC\",\"separator\":\"\\\\.\"}"},
        {"api/uid/tsmeta",
         "{\"tsuid\":\"000001000001000001\",\"description\":\"d\",\"custom\":{\"k\":\"v\"}}"},
    };
    struct ts_buf said;
    fuzz_talk(t, TS_SLICE_LIT(lines), TS_SLICE_LIT(""), TS_SLICE_LIT(""), &said);
    CHECK(strstr(said.p, "ok "));
    ts_buf_release(&said);
    for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); i++) {
        size_t at = 0;
        while (strcmp(calls[at].method, "POST") != 0 || strcmp(calls[at].path, posts[i].path) != 0)
            at++;
        call(t, at, TS_SLICE_LIT(""), ts_slice_str(posts[i].body));
    }
}

static void at_end(void)
{
    (void)setenv("PATH", "/usr/bin:/bin", 1);
    t_daemon_close(&sides[0]);
    t_daemon_close(&sides[1]);
}

static void start(void)
{
    static const char *const ours[] = {COMMON_KEYS, "compat", "none", NULL};
    static const char *const compat[] = {COMMON_KEYS, "compat", "opentsdb", NULL};
    (void)setenv("PATH", "/nonexistent", 1); /* no process for a picture */
    t_daemon_open_as(&sides[0], ours, NULL, true);
    t_daemon_open_as(&sides[1], compat, NULL, true);
    ts_log_set_level(TS_LOG_ERROR + 1);
    load(&sides[0]);
    load(&sides[1]);
    atexit(at_end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!sides[0].d.store)
        start();
    if (n < 2 || n > MAX_INPUT_BYTES)
        return 0;
    const char *text = (const char *)data + 2, *end = memchr(text, '\n', n - 2);
    size_t n_params = end ? (size_t)(end - text) : n - 2;
    struct ts_slice body = {text + n_params, 0};
    if (end)
        body = (struct ts_slice){end + 1, n - 2 - n_params - 1};
    call(&sides[data[0] & 1], data[1] % N_CALLS, (struct ts_slice){text, n_params}, body);
    return 0;
}
