/*
 * fuzz_http.c - what comes from the network by HTTP, on any bytes.
 *
 * First byte modulo 4: 0 = a connection with a worker behind it; 1 = a request target; 2 = a body of
 * /api/put; 3 = a packed body.
 *
 * Checked    no crash, no hang, no leak; a connection is always closed in the end; a body is taken or refused
 * the same way twice
 */
#include "tests/fuzz/fuzz_daemon.h"

#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/put_json.h"

static struct t_daemon t;

static void at_end(void)
{
    t_daemon_close(&t);
}

static void start(void)
{
    static const char *const keys[] = {"http_max_body_bytes",
                                       "64k",
                                       "http_cors_domains",
                                       "*",
                                       "max_series",
                                       "5000",
                                       "wal_sync",
                                       "none",
                                       NULL};
    t_daemon_open(&t, keys);
    atexit(at_end);
}

static void connection(const uint8_t *p, size_t n)
{
    struct ts_buf said;
    fuzz_talk(&t, (struct ts_slice){NULL, 0}, (struct ts_slice){(const char *)p, n},
              (struct ts_slice){NULL, 0}, &said);
    ts_buf_release(&said);
}

static void target(const uint8_t *p, size_t n)
{
    struct tsd_req req = {.d = &t.d};
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
    if (!t.d.store)
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
