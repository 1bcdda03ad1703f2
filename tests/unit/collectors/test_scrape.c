/*
 * test_scrape.c - pages fetched over HTTP from servers played by a thread: whole, missing, too large, dripped, no HTTP; addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/collect.h"
#include "collectors/core/fetch.h"
#include "t_points.h"

extern const struct col_collector col_scrape;

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"

/* A server: gives the same answer to each request, then closes. */
struct server {
    int fd;                       /* listening */
    unsigned port;                /* of it */
    _Atomic(const char *) answer; /* text; NULL = drip bytes without end */
    atomic_int n_requests;        /* seen */
    char request[1024];           /* the last one */
    atomic_bool end;              /* told to end */
    pthread_t thread;             /* its thread */
};

static void server_answer(struct server *s, int fd)
{
    ssize_t n = recv(fd, s->request, sizeof(s->request) - 1, 0);
    const char *answer = s->answer;
    s->request[n > 0 ? n : 0] = '\0';
    s->n_requests++;
    if (answer)
        (void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    while (!answer && !s->end && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        usleep(10000);
}

static void *server_main(void *arg)
{
    struct server *s = arg;
    while (!s->end) {
        struct pollfd f = {.fd = s->fd, .events = POLLIN};
        if (poll(&f, 1, 20) <= 0)
            continue;
        int fd = accept(s->fd, NULL, NULL);
        server_answer(s, fd);
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *s, const char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    memset(s, 0, sizeof(*s));
    s->answer = answer;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, server_main, s), 0);
}

static void server_stop(struct server *s)
{
    s->end = true;
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static struct ts_conf *conf;
static struct t_points p;
static void *scrape;

static int setup(void **state)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    conf = ts_conf_new(tables, 1);
    t_points_init(&p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (scrape)
        col_scrape.release(scrape);
    scrape = NULL;
    t_points_release(&p);
    ts_conf_free(conf);
    return 0;
}

static void set(const char *key, const char *value)
{
    assert_int_equal(ts_conf_set(conf, key, ts_slice_str(value), "test", NULL), 0);
}

static int start(const char *targets, const char *timeout_ms)
{
    struct col_ctx ctx = {.conf = conf, .root = ""};
    set("collect_scrape", targets);
    set("collect_scrape_timeout_ms", timeout_ms);
    return col_scrape.init(&ctx, &scrape, NULL);
}

static void turn(void)
{
    t_points_clear(&p);
    assert_int_equal(col_scrape.read(scrape, p.emit, NULL), 0);
    t_points_end(&p);
    assert_true(t_all_listed(&p, &col_scrape));
}

static void test_scrape__pages_become_points(void **state)
{
    struct server s;
    char targets[128];
    (void)state;
    server_start(&s, OK_HEAD "Content-Length: 21\r\n\r\nm{a=\"b\"} 5\nbad line\nn 1");
    snprintf(targets, sizeof(targets), "db = http://127.0.0.1:%u/x?y=1 ; http://127.0.0.1:%u", s.port,
             s.port);
    assert_int_equal(start(targets, "60000"), 0);
    turn();
    assert_string_equal(t_value(&p, "up job=db"), "1");
    assert_string_equal(t_value(&p, "m a=b job=db"), "5");
    assert_string_equal(t_value(&p, "scrape_samples job=db"), "2");
    assert_string_equal(t_value(&p, "scrape_left_out job=db"), "1");
    char point[64];
    snprintf(point, sizeof(point), "up job=127.0.0.1_%u", s.port);
    assert_string_equal(t_value(&p, point), "1");
    assert_non_null(strstr(s.request, "GET /metrics HTTP/1.0\r\n"));
    server_stop(&s);
}

/* A page cannot write into the series of other hosts or jobs, but for those that are named in the key. */
static void test_scrape__host_and_job_are_ours(void **state)
{
    struct server s;
    char targets[160];
    (void)state;
    server_start(&s, OK_HEAD
                 "\r\nm{host=\"db9\",job=\"x\"} 5\nn{exported_job=\"y\",job=\"x\"} 6\nup{job=\"gate\"} 7\n");
    snprintf(targets, sizeof(targets), "db=http://127.0.0.1:%u; gateway=http://127.0.0.1:%u", s.port, s.port);
    set("collect_scrape_honor_labels", "push*, gate*");
    assert_int_equal(start(targets, "60000"), 0);
    turn();
    assert_string_equal(t_value(&p, "m exported_host=db9 exported_job=x job=db"), "5");
    assert_string_equal(t_value(&p, "n exported_job=y exported_exported_job=x job=db"), "6");
    assert_string_equal(t_value(&p, "up exported_job=gate job=db"), "7");
    assert_string_equal(t_value(&p, "up job=db"), "1");
    assert_string_equal(t_value(&p, "m host=db9 job=x"), "5");
    assert_string_equal(t_value(&p, "n exported_job=y job=x"), "6");
    server_stop(&s);
}

/* A target that is away has up = 0 in each turn, but is asked less and less often; the others go on. */
static void test_scrape__a_target_that_is_down_costs_nothing(void **state)
{
    struct server bad, good;
    char targets[128];
    int n_good;
    (void)state;
    server_start(&bad, "HTTP/1.1 503 Busy\r\n\r\n");
    server_start(&good, OK_HEAD "\r\nm 1\n");
    snprintf(targets, sizeof(targets), "bad=http://127.0.0.1:%u;good=http://127.0.0.1:%u", bad.port,
             good.port);
    assert_int_equal(start(targets, "60000"), 0);
    for (int i = 0; i < 40; i++) {
        turn();
        assert_string_equal(t_value(&p, "up job=bad"), "0");
        assert_string_equal(t_value(&p, "up job=good"), "1");
        assert_string_equal(t_value(&p, "m job=good"), "1");
    }
    n_good = good.n_requests;
    assert_int_equal(n_good, 40);
    assert_int_equal(bad.n_requests, 6); /* turns 0, 1, 3, 7, 15, 31 */
    bad.answer = OK_HEAD "\r\nm 2\n";
    for (int i = 0; i < 16; i++)
        turn();
    assert_string_equal(t_value(&p, "m job=bad"), "2");
    server_stop(&bad);
    server_stop(&good);
}

static int fetch(const char *answer, int64_t timeout_ms, size_t max_bytes, struct ts_buf *out)
{
    struct server s;
    struct col_url url;
    char address[64];
    server_start(&s, answer);
    snprintf(address, sizeof(address), "http://127.0.0.1:%u/", s.port);
    assert_int_equal(col_url_parse(ts_slice_str(address), "/", &url, NULL), 0);
    ts_buf_init(out, max_bytes);
    int rc = col_fetch(&url, timeout_ms, out, NULL);
    server_stop(&s);
    return rc;
}

static void test_scrape__answers_of_all_kinds(void **state)
{
    static const struct {
        const char *answer; /* NULL: dripped */
        int rc;             /* of the fetch */
    } cases[] = {
        {OK_HEAD "\r\nbody", 0},
        {OK_HEAD "content-length: 4\r\n\r\nbody", 0},
        {OK_HEAD "Content-Length: 5\r\n\r\nbody", TS_EIO},
        {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", TS_EPARSE},
        {OK_HEAD "Content-Encoding: gzip\r\n\r\nbody", TS_EPARSE},
        {"HTTP/1.1 404 Not Found\r\n\r\n", TS_EIO},
        {"HTTP/1.1 301 Moved\r\nLocation: http://elsewhere/\r\n\r\n", TS_EIO},
        {"SSH-2.0-OpenSSH_9.2\r\n", TS_EPARSE},
        {"", TS_EPARSE},
        {NULL, TS_ETIMEOUT},
    };
    struct ts_buf body;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int rc = fetch(cases[i].answer, cases[i].answer ? 60000 : 100, 0, &body);
        assert_int_equal(rc, cases[i].rc);
        if (rc == 0)
            assert_true(ts_slice_is(ts_buf_get(&body), "body"));
        ts_buf_release(&body);
    }
    assert_int_equal(
        fetch(OK_HEAD "\r\nthis body is larger than one hundred and twenty bytes together with its head, "
                      "as one may count",
              60000, 120, &body),
        TS_ELIMIT);
    ts_buf_release(&body);
}

static void test_scrape__addresses(void **state)
{
    static const struct {
        const char *text, *host, *port, *path; /* host NULL: refused */
    } cases[] = {
        {"http://h", "h", "80", "/metrics"},
        {"http://h:9100", "h", "9100", "/metrics"},
        {"http://[::1]:9100/m?a=b", "::1", "9100", "/m?a=b"},
        {"http://10.0.0.1/", "10.0.0.1", "80", "/"},
        {"https://h", NULL, NULL, NULL},
        {"h:9100", NULL, NULL, NULL},
        {"http://", NULL, NULL, NULL},
        {"http://h:0", NULL, NULL, NULL},
        {"http://h:x", NULL, NULL, NULL},
        {"http://u@h", NULL, NULL, NULL},
        {"http://h/a b", NULL, NULL, NULL},
        {"http://h/\r\nX: y", NULL, NULL, NULL},
    };
    struct col_url url;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int rc = col_url_parse(ts_slice_str(cases[i].text), "/metrics", &url, NULL);
        assert_int_equal(rc, cases[i].host ? 0 : TS_EINVAL);
        if (rc < 0)
            continue;
        assert_string_equal(url.host, cases[i].host);
        assert_string_equal(url.port, cases[i].port);
        assert_string_equal(url.path, cases[i].path);
    }
    assert_int_equal(start("a=ftp://x", "1000"), TS_EINVAL);
    assert_int_equal(start("", "1000"), TS_ENOTFOUND);
}

/* A case with keys and points of its own. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_scrape__pages_become_points),
        CASE(test_scrape__host_and_job_are_ours),
        CASE(test_scrape__a_target_that_is_down_costs_nothing),
        CASE(test_scrape__answers_of_all_kinds),
        CASE(test_scrape__addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
