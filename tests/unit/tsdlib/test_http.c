/*
 * test_http.c - requests over a socket pair: routing, limits, keep-alive, bodies, errors, cut requests.
 */
#include "t_daemon.h"

#include "tsd/protocols/http/gzip.h"

#define MAX ((size_t)1 << 20)

static struct t_daemon t;
static char answer[1 << 20];

static int set_up(void **state)
{
    static const char *const keys[] = {
        "http_max_header_bytes", "2k", "http_max_body_bytes", "4k", "http_jsonp", "true", NULL};
    (void)state;
    t_daemon_open(&t, keys);
    return 0;
}

static int set_up_large(void **state)
{
    (void)state;
    t_daemon_open(&t, NULL);
    return 0;
}

static int set_up_cors(void **state)
{
    static const char *const keys[] = {"http_cors_domains", "http://a.org,http://B.org", NULL};
    (void)state;
    t_daemon_open(&t, keys);
    return 0;
}

static int set_up_compat(void **state)
{
    (void)state;
    t_daemon_open(&t, (const char *const[]){"compat", "opentsdb", NULL});
    return 0;
}

static int set_up_old_times(void **state)
{
    (void)state;
    t_daemon_open(&t, (const char *const[]){"allow_old_times", "true", NULL});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    t_daemon_close(&t);
    return 0;
}

/* A text of requests; those of HTTP/1.1 without Host get one. */
static const char *ask(const char *request)
{
    static char text[1 << 16];
    static const char version[] = " HTTP/1.1\r\n";
    size_t n = 0;
    for (const char *p = request; *p; text[n++] = *p++) {
        assert_true(n < sizeof(text) - 64);
        if (strncmp(p, version, sizeof(version) - 1) || !strncmp(p + sizeof(version) - 1, "Host:", 5))
            continue;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%sHost: x", version);
        p += sizeof(version) - 3; /* the line's end follows */
    }
    t_talk(&t, text, n, answer, sizeof(answer));
    return answer;
}

static const char *post(const char *path, const char *body)
{
    static char request[65536];
    snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", path,
             strlen(body), body);
    return ask(request);
}

static void expect(const char *got, const char *status, const char *part)
{
    if (memcmp(got, "HTTP/1.1 ", 9) || memcmp(got + 9, status, strlen(status)) || !strstr(got, part))
        fail_msg("want %s with %s, got:\n%s", status, part, got);
}

static void test_http__routes_and_methods(void **state)
{
    (void)state;
    expect(ask("GET /api/version HTTP/1.1\r\n\r\n"), "200 OK", "{\"version\":");
    expect(ask("GET /api/v1/version/ HTTP/1.1\r\n\r\n"), "200", "{\"version\":");
    expect(ask("GET /API/Version?x=1&y HTTP/1.1\r\n\r\n"), "200", "{\"version\":");
    expect(ask("GET http://h:1/api/version HTTP/1.1\r\n\r\n"), "200", "{\"version\":");
    expect(ask("GET /api/v2/version HTTP/1.1\r\n\r\n"), "501",
           "Requested API version is greater than the max implemented");
    expect(ask("GET /api/nope HTTP/1.1\r\n\r\n"), "404",
           "{\"error\":{\"code\":404,\"message\":\"Endpoint not found\"}}");
    expect(ask("GET /api/querry HTTP/1.1\r\n\r\n"), "404",
           "{\"error\":{\"code\":404,\"message\":\"Endpoint not found; did you mean api/query?\"}}");
    expect(ask("DELETE /api/query?start=1h-ago&m=sum:m HTTP/1.1\r\n\r\n"), "400",
           "Deleting is switched off: the daemon needs query_allow_delete = true");
    expect(ask("GET /api/last?metric=m HTTP/1.1\r\n\r\n"), "404", "did you mean api/query/last?");
    expect(ask("GET /nope HTTP/1.1\r\n\r\n"), "404", "<p>Endpoint not found</p>");
    expect(ask("GET /nope?json HTTP/1.1\r\n\r\n"), "404", "\r\n\r\n{\"err\":\"Endpoint not found\"}");
    expect(ask("GET /api/version?serializer=x HTTP/1.1\r\n\r\n"), "400",
           "Requested serializer was not found");
    expect(ask("GET /api/serializers HTTP/1.1\r\n\r\n"), "200", "\"serializer\":\"json\"");
    expect(ask("GET /api HTTP/1.1\r\n\r\n"), "404", "Endpoint not found");
    expect(ask("DELETE /api/put HTTP/1.1\r\n\r\n"), "405",
           "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":\"The HTTP method "
           "[DELETE] is not permitted "
           "for this endpoint\"}}");
    expect(ask("OPTIONS /api/version HTTP/1.1\r\nOrigin: http://a.org\r\n\r\n"), "405", "Method not allowed");
    expect(ask("GET /api/version?jsonp=cb.x HTTP/1.1\r\n\r\n"), "200", "\r\n\r\ncb.x({\"version\":");
    expect(ask("GET /version HTTP/1.1\r\n\r\n"), "200", "\r\n\r\ntsd ");
    expect(ask("GET /api/dropcaches HTTP/1.1\r\n\r\n"), "200",
           "{\"status\":\"200\",\"message\":\"Caches dropped\"}");
    expect(ask("GET /api/aggregators HTTP/1.1\r\n\r\n"), "200", "\"squareSum\"");
    expect(ask("GET /api/config HTTP/1.1\r\n\r\n"), "200", "\"tsd.network.port\":\"4242\"");
}

static void test_http__head_has_no_body(void **state)
{
    (void)state;
    const char *got = ask("HEAD /api/version HTTP/1.1\r\n\r\n");
    expect(got, "200", "Content-Length: ");
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");
    got = ask("HEAD /api/suggest?type=metrics HTTP/1.1\r\n\r\n");
    expect(got, "200", "Content-Length: 2\r\n");
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void test_http__pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    const char *got = ask("GET /api/version HTTP/1.1\r\n\r\nGET /api/suggest?type=metrics "
                          "HTTP/1.1\r\n\r\nGET /nope HTTP/1.1\r\n\r\n"
                          "GET /api/suggest?type=no HTTP/1.1\r\n\r\nGET /api/version HTTP/1.1\r\n\r\n");
    assert_int_equal(count(got, "HTTP/1.1 200 OK"), 3);
    const char *a = strstr(got, "{\"version\""), *b = strstr(got, "[]"),
               *c = strstr(got, "Endpoint not found"), *d = strstr(got, "Invalid 'type' parameter:no");
    assert_true(a && b && c && d && a < b && b < c && c < d && strstr(d, "{\"version\""));
    got = ask("GET /api/version HTTP/1.1\r\nConnection: close\r\n\r\nGET /api/version HTTP/1.1\r\n\r\n");
    assert_int_equal(count(got, "HTTP/1.1"), 1);
    expect(got, "200", "Connection: close\r\n");
    got = ask("GET /api/version HTTP/1.0\r\n\r\nGET /api/version HTTP/1.0\r\n\r\n");
    assert_int_equal(count(got, "HTTP/1.1"), 1);
    got = ask("GET /api/version HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /api/version HTTP/1.0\r\n\r\n");
    assert_int_equal(count(got, "HTTP/1.1"), 2);
}

static int set_up_small_queries(void **state)
{
    static const char *const keys[] = {"query_max_points", "15", "query_max_series", "1", NULL};
    (void)state;
    t_daemon_open(&t, keys);
    return 0;
}

/* Limits below those of what the worker answers itself. */
static void test_http__limits_of_small_queries_hold(void **state)
{
    (void)state;
    static char lines[4096];
    size_t n = 0;
    for (int i = 0; i < 30; i++)
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "put %s.m %d 1 h=a\n", i < 20 ? "many" : "few",
                              1500000000 + i % 20);
    n += (size_t)snprintf(lines + n, sizeof(lines) - n,
                          "put two.m 1500000000 1 h=a\nput two.m 1500000000 1 h=b\nsync\n");
    t_talk(&t, lines, n, answer, sizeof(answer));
    assert_string_equal(answer, "ok 32\n");
    expect(ask("GET /api/query?start=1500000000&end=1500000009&m=sum:few.m HTTP/1.1\r\nConnection: "
               "close\r\n\r\n"),
           "200", "\"1500000009\":1");
    expect(ask("GET /api/query?start=1500000000&end=1500000019&m=sum:many.m HTTP/1.1\r\nConnection: "
               "close\r\n\r\n"),
           "413", "query_max_points");
    expect(ask("GET /api/query?start=1500000000&end=1500000009&m=sum:two.m HTTP/1.1\r\nConnection: "
               "close\r\n\r\n"),
           "413", "query_max_series");
}

static void test_http__limits_are_answered(void **state)
{
    (void)state;
    static char big[16384];
    int n = snprintf(big, sizeof(big), "GET /");
    memset(big + n, 'a', 3000);
    snprintf(big + n + 3000, 64, " HTTP/1.1\r\n\r\n");
    expect(ask(big), "414", "http_max_header_bytes");
    n = snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nX: ");
    memset(big + n, 'a', 3000);
    snprintf(big + n + 3000, 64, "\r\n\r\n");
    expect(ask(big), "431", "http_max_header_bytes");
    memset(big, 'a', 8000);
    n = snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nX: ");
    memset(big + n, 'a', 12000);
    big[n + 12000] = 0;
    expect(ask(big), "431", "\"error\"");
    n = snprintf(big, sizeof(big), "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 200; i++)
        n += snprintf(big + n, sizeof(big) - (size_t)n, "a:b\r\n");
    snprintf(big + n, sizeof(big) - (size_t)n, "\r\n");
    expect(ask(big), "431", "Too many headers");
    expect(ask("POST /api/put HTTP/1.1\r\nContent-Length: 5000\r\n\r\n"), "413", "http_max_body_bytes");
    n = snprintf(big, sizeof(big), "POST /api/put HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n");
    memset(big + n, ' ', 5000);
    snprintf(big + n + 5000, 64, "\r\n0\r\n\r\n");
    expect(ask(big), "413", "http_max_body_bytes");
    n = snprintf(big, sizeof(big), "GET /api/version?a");
    for (int i = 0; i < 200; i++)
        n += snprintf(big + n, sizeof(big) - (size_t)n, "&&&&&&");
    snprintf(big + n, sizeof(big) - (size_t)n, " HTTP/1.1\r\n\r\n");
    expect(ask(big), "400", "more than 1024 parameters");
}

static void test_http__nonsense_is_refused(void **state)
{
    (void)state;
    expect(ask("GET\r\n\r\n"), "400", "Bad request: ");
    expect(ask("FOO / HTTP/1.1\r\n\r\n"), "405", "<p>Method not allowed</p>");
    expect(ask("GET / HTTP/x\r\n\r\n"), "400", "Bad request: ");
    expect(ask("POST /api/put HTTP/1.1\r\nContent-Length: x\r\n\r\n"), "400", "Bad request: ");
    expect(ask("POST /api/put HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           "400", "Bad request: ");
    expect(ask("POST /api/put HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "400", "Bad request: ");
    assert_int_equal(strlen(ask("GET /api/version HTTP/1.1\r\nHost: x\r\n")), 0);
    assert_int_equal(strlen(ask("POST /api/put HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}")), 0);
}

static void test_http__upgrade_offers_are_ignored(void **state)
{
    (void)state;
    expect(ask("GET /api/version HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
               "h2c\r\nHTTP2-Settings: x\r\n\r\n"),
           "200", "{\"version\"");
}

#define GOOD "{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":1,\"tags\":{\"a\":\"b\"}}"

static void test_http__bodies_come_in_all_ways(void **state)
{
    (void)state;
    expect(post("/api/put", GOOD), "204 No Content", "");
    assert_null(strstr(answer, "Content-Length"));
    expect(post("/api/put/", "[" GOOD "," GOOD "]"), "204", "");
    char chunked[512];
    snprintf(chunked, sizeof(chunked),
             "POST /api/put?summary HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: "
             "100-continue\r\n\r\n1\r\n[\r\n%zx\r\n%s\r\n1\r\n]\r\n"
             "0\r\n\r\n",
             strlen(GOOD), GOOD);
    ask(chunked);
    assert_memory_equal(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", 40);
    assert_non_null(strstr(answer, "{\"success\":1,\"failed\":0}"));
    /* byte by byte */
    char request[512];
    int fd = t_connect(&t);
    int n = snprintf(request, sizeof(request),
                     "POST /api/put?details HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(GOOD), GOOD);
    for (int i = 0; i < n; i++)
        assert_int_equal(send(fd, request + i, 1, 0), 1);
    shutdown(fd, SHUT_WR);
    t_read_all(fd, answer, sizeof(answer));
    close(fd);
    expect(answer, "200", "{\"success\":1,\"failed\":0,\"errors\":[]}");
}

static void test_http__gzip_both_ways(void **state)
{
    (void)state;
    char packed[4096], request[8192];
    struct ts_slice in = TS_SLICE_LIT("[" GOOD "]");
    struct tsd_gzip *z = tsd_gzip_new(false);
    bool ended;
    size_t n = tsd_gzip_run(z, &in, packed, sizeof(packed), true, &ended);
    tsd_gzip_free(z);
    assert_true(ended);
    size_t k = (size_t)snprintf(request, sizeof(request),
                                "POST /api/put?details=true HTTP/1.1\r\nHost: x\r\nContent-Encoding: "
                                "gzip\r\nContent-Length: %zu\r\n\r\n",
                                n);
    memcpy(request + k, packed, n);
    t_talk(&t, request, k + n, answer, MAX);
    expect(answer, "200", "{\"success\":1,\"failed\":0,\"errors\":[]}");
    request[k + n / 2] ^= 0x55;
    t_talk(&t, request, k + n, answer, MAX);
    expect(answer, "400", "Content-Encoding");
    expect(ask("GET /api/version HTTP/1.1\r\nContent-Encoding: gzip\r\n\r\n"), "200", "{\"version\"");
    expect(ask("POST /api/put HTTP/1.1\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"), "415",
           "Unsupported");
    expect(ask("GET /api/stats HTTP/1.1\r\nAccept-Encoding: deflate, gzip;q=1.0\r\n\r\n"), "200",
           "Content-Encoding: gzip\r\n");
    static const struct {
        const char *accept;
        bool packed;
    } rows[] = {{"gzip", true},
                {"gzip;q=0.5", true},
                {"gzip;q=0.001", true},
                {"*", true},
                {"br, *;q=0.1", true},
                {"GZIP ; Q=1.000", true},
                {"gzip;q=0", false},
                {"gzip;q=0.0", false},
                {"gzip; q=0.000", false},
                {"*;q=0", false},
                {"gzip;q=0, deflate;q=0, *", false},
                {"identity", false},
                {"xgzip", false},
                {"deflate;q=0.0 , gzip;q=0.00", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(request, sizeof(request), "GET /api/stats HTTP/1.1\r\nAccept-Encoding: %s\r\n\r\n",
                 rows[i].accept);
        bool got = strstr(ask(request), "Content-Encoding: ") != NULL;
        if (got != rows[i].packed)
            fail_msg("%s: packed %d", rows[i].accept, got);
    }
}

/* What a header line of an answer says after its name; NULL: it is not there. */
static const char *header_of(const char *got, const char *name)
{
    static char value[128];
    const char *p = strstr(got, name);
    if (!p || p > strstr(got, "\r\n\r\n"))
        return NULL;
    p += strlen(name);
    snprintf(value, sizeof(value), "%.*s", (int)strcspn(p, "\r"), p);
    return value;
}

/* HEAD is answered as GET, but for the body; a length that is told is that of GET. */
static void test_http__head_tells_the_length_of_get(void **state)
{
    static const char *const paths[] = {"/api/aggregators", "/api/config/filters",
                                        "/api/suggest?type=metrics&max=1000"};
    char request[512], length[128], body[8192];
    (void)state;
    int n = snprintf(body, sizeof(body), "[");
    for (int i = 0; i < 500; i++)
        n += snprintf(body + n, sizeof(body) - (size_t)n, "%s\"m%d\"", i ? "," : "{\"metric\":[", i);
    snprintf(body + n, sizeof(body) - (size_t)n, "]}");
    post("/api/uid/assign", body + 1);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        for (int gzip = 0; gzip < 2; gzip++) {
            const char *more = gzip ? "Accept-Encoding: gzip\r\n" : "";
            snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n%s\r\n", paths[i], more);
            const char *got = header_of(ask(request), "Content-Length: ");
            snprintf(length, sizeof(length), "%s", got ? got : "");
            bool packed = header_of(answer, "Content-Encoding: ") != NULL;
            if (packed != gzip && (packed || i == 2)) /* the others may be too small */
                fail_msg("%s, gzip %d: %s", paths[i], gzip, answer);
            snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\n%s\r\n", paths[i], more);
            got = header_of(ask(request), "Content-Length: ");
            if (got && strcmp(got, length))
                fail_msg("%s, gzip %d: HEAD tells %s, GET %s", paths[i], gzip, got, length);
            assert_int_equal(header_of(answer, "Content-Encoding: ") != NULL, packed);
            assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
        }
    }
}

static void test_http__continue_is_not_for_http_1_0(void **state)
{
    char request[512];
    (void)state;
    for (int minor = 0; minor < 2; minor++) {
        snprintf(request, sizeof(request),
                 "POST /api/put HTTP/1.%d\r\nExpect: 100-continue\r\nContent-Length: %zu\r\n\r\n%s", minor,
                 strlen(GOOD), GOOD);
        assert_int_equal(!strncmp(ask(request), "HTTP/1.1 100 ", 13), minor);
        assert_non_null(strstr(answer, "HTTP/1.1 204 "));
    }
}

/* Bodies of /api/put?details, the status and a part of the answer. */
static const struct {
    const char *body, *status, *part;
} judged[] = {
    {"", "400", "Missing request content"},
    {"x", "400", "The JSON must start as an object or an array"},
    {"[{]", "400", "Unable to parse the given JSON"},
    {"{\"metric\":\"\",\"timestamp\":1500000000,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "Metric name was empty"},
    {"{\"timestamp\":1500000000,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400", "Metric name was empty"},
    {"{\"metric\":\"m\",\"value\":1,\"tags\":{\"a\":\"b\"}}", "400", "Invalid timestamp"},
    {"{\"metric\":\"m\",\"timestamp\":-5,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400", "Invalid timestamp"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"tags\":{\"a\":\"b\"}}", "400", "Empty value"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":\"\",\"tags\":{\"a\":\"b\"}}", "400",
     "Empty value"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":1}", "400", "Missing tags"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":1,\"tags\":{}}", "400", "Missing tags"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":\"x\",\"tags\":{\"a\":\"b\"}}", "400",
     "Unable to parse value to a number"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":NaN,\"tags\":{\"a\":\"b\"}}", "400",
     "Unable to parse value to a number"},
    {"{\"metric\":\"m!\",\"timestamp\":1500000000,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "Invalid metric name (\\\"m!\\\"): illegal character: !"},
    {"{\"metric\":\"m\",\"timestamp\":99999999999999,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "bad timestamp=99999999999999 when trying to add value=1"},
    {"{\"metric\":\"m\",\"timestamp\":20261122,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "Invalid timestamp: 20261122 (as a date write 2026-11-22T00:00:00Z, as seconds in 1970 20261122.)"},
    {"{\"metric\":\"m\",\"timestamp\":\"1500000000123456\",\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "tags={a=b} (milliseconds, 13 digits, are the finest: 16 digits are microseconds, 19 nanoseconds)"},
    {"{\"metric\":\"m\",\"timestamp\":0.5,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200", "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":0.5001,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200", "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":1.5e9,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200", "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000.1234567,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200",
     "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":20261122.0,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200",
     "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000000.5,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200",
     "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000123.0,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200",
     "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000123.456,\"value\":1,\"tags\":{\"a\":\"b\"}}", "200",
     "\"success\":1"},
    {"{\"metric\":\"m\",\"timestamp\":-0.5,\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "Invalid timestamp: -0.5"},
    {"{\"metric\":\"m\",\"timestamp\":\"2026-02-30T10:00:00Z\",\"value\":1,\"tags\":{\"a\":\"b\"}}", "400",
     "Invalid timestamp: 2026-02-30T10:00:00Z (an ISO 8601 time looks like 2026-11-22T06:15:00Z)"},
    {"[null]", "400", "Unexpected null datapoint encountered in set.\",\"datapoint\":null}"},
    {"{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":\"1.5\",\"tags\":{\"a\":7}}", "200",
     "\"success\":1,\"failed\":0"},
    {"{\"metric\":\"\\u006d\",\"timestamp\":\"1500000000\",\"value\":1e3,\"tags\":{\"a\":\"b\"},\"x\":{"
     "\"y\":[1]}}",
     "200", "\"success\":1,\"failed\":0"},
    {"[" GOOD ",{\"metric\":\"\"}," GOOD "]", "400",
     "{\"success\":2,\"failed\":1,\"errors\":[{\"error\":\"Metric name was "
     "empty\",\"datapoint\":{\"metric\":\"\",\"timestamp\":0}}]}"},
};

static void test_http__put_judges_each_point(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
        expect(post("/api/put?details", judged[i].body), judged[i].status, judged[i].part);
    expect(post("/api/put", "[" GOOD ",{\"metric\":\"\"}]"), "400",
           "{\"error\":{\"code\":400,\"message\":\"One or more data points had errors\",\"details\":\"1 of 2 "
           "points were refused: Metric name was empty\"}}");
    expect(post("/api/put?summary", "[" GOOD ",{}]"), "400", "\r\n\r\n{\"success\":1,\"failed\":1}");
    expect(post("/api/put", "[\n\n]"), "204", "");
    expect(post("/api/put?sync&sync_timeout=60000&summary", GOOD), "200",
           "{\"success\":1,\"failed\":0,\"timeouts\":0}");
    expect(post("/api/put?sync&sync_timeout=x", GOOD), "400", "sync_timeout");
}

static void test_http__times_with_exponents_are_rounded_to_milliseconds(void **state)
{
    (void)state;
    expect(post("/api/put?summary",
                "[{\"metric\":\"m\",\"timestamp\":-1.2346e0,\"value\":1,\"tags\":{\"a\":\"b\"}},"
                "{\"metric\":\"m\",\"timestamp\":1.2346e0,\"value\":2,\"tags\":{\"a\":\"b\"}},"
                "{\"metric\":\"m\",\"timestamp\":1.5e9,\"value\":3,\"tags\":{\"a\":\"b\"}}]"),
           "200", "\"success\":3");
    expect(ask("GET /api/export?metric=m HTTP/1.1\r\n\r\n"), "200",
           "m -1.235 1 a=b\nm 1.235 2 a=b\nm 1500000000 3 a=b\n");
}

static void test_http__an_export_to_a_date_has_all_of_it(void **state)
{
    (void)state;
    expect(post("/api/put", GOOD), "204", "");
    expect(ask("GET /api/export?metric=m&from=2017-07-14&to=2017-07-14 HTTP/1.1\r\n\r\n"), "200",
           "m 1500000000 ");
    const char *got = ask("GET /api/export?metric=m&to=2017-07-13 HTTP/1.1\r\n\r\n");
    expect(got, "200", "");
    assert_null(strstr(got, "m 1500000000"));
}

static void test_http__compat_refuses_what_opentsdb_refuses(void **state)
{
    (void)state;
    expect(post("/api/put", "[]"), "400", "No datapoints found in content");
    expect(ask("GET /api/querry HTTP/1.1\r\n\r\n"), "404", "\"message\":\"Endpoint not found\"");
    expect(post("/api/put?details", GOOD), "400", "\"error\":\"Unknown metric\"");
    expect(ask("PUT m 1500000000 1 a=b\n\n"), "400", "Bad request");
}

static void test_http__put_in_capitals_is_a_line(void **state)
{
    (void)state;
    assert_memory_equal(ask("PUT m 1500000000\n"), "put: illegal argument: not enough", 33);
    assert_memory_equal(ask("PUT hits 1500000000\n"), "put: illegal argument: not enough", 33);
    expect(ask("PUT /api/put HTTP/1.1\r\n\r\n"), "405", "[PUT]");
    assert_memory_equal(ask("get / HTTP/1.1\n"), "unknown command: get.", 21);
}

static void test_http__cors(void **state)
{
    (void)state;
    const char *got = ask("OPTIONS /api/query HTTP/1.1\r\nOrigin: HTTP://b.org\r\n\r\n");
    expect(got, "200", "Access-Control-Allow-Origin: HTTP://b.org\r\n");
    expect(got, "200", "Access-Control-Allow-Methods: GET, POST, PUT, DELETE\r\n");
    expect(got, "200", "Access-Control-Allow-Headers: Authorization, Content-Type");
    expect(ask("GET /api/version HTTP/1.1\r\nOrigin: http://a.org\r\n\r\n"), "200",
           "Access-Control-Allow-Origin: http://a.org\r\n");
    got = ask("GET /api/version HTTP/1.1\r\nOrigin: http://evil.org\r\n\r\n");
    expect(got, "200",
           "{\"error\":{\"code\":200,\"message\":\"CORS domain not allowed\",\"details\":\"The domain "
           "[http://evil.org] is not "
           "permitted access\"}}");
    assert_null(strstr(got, "Access-Control"));
    expect(ask("GET /api/version HTTP/1.1\r\n\r\n"), "200", "{\"version\"");
}

/* A client that goes while its query runs: nothing hangs, nothing leaks (tear_down waits for the connection).
 */
static void test_http__a_client_may_go_at_any_time(void **state)
{
    (void)state;
    static const char request[] =
        "GET /api/query?start=1&m=sum:m HTTP/1.1\r\n\r\nPOST /api/put HTTP/1.1\r\nContent-Length: 4\r\n\r\n";
    for (size_t n = 1; n < sizeof(request); n++) {
        int fd = t_connect(&t);
        assert_int_equal(send(fd, request, n, 0), (ssize_t)n);
        close(fd);
    }
    expect(ask("GET /api/version HTTP/1.1\r\n\r\n"), "200", "{\"version\"");
}

/* Requests that were just sent when the daemon stops: answered or cut off, nothing is begun any more. */
static void test_http__a_stop_ends_what_is_under_way(void **state)
{
    (void)state;
    static const char request[] = "GET /api/query?start=1&m=sum:m HTTP/1.1\r\n\r\n";
    int fds[32];
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        fds[i] = t_connect(&t);
        assert_int_equal(send(fds[i], request, sizeof(request) - 1, 0), (ssize_t)sizeof(request) - 1);
    }
    t_daemon_close(&t);
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        close(fds[i]);
}

/* The head goes out with the first piece, long before the answer is whole. */
static void test_http__a_large_answer_has_its_own_status(void **state)
{
    (void)state;
    static char request[200000];
    enum { N_NAMES = 6000 };
    struct ts_buf body;
    ts_buf_init(&body, 0);
    ts_buf_str(&body, "{\"metric\":[");
    for (unsigned i = 0; i < N_NAMES; i++)
        ts_buf_printf(&body, "%s\"!%u\"", i ? "," : "", i);
    ts_buf_str(&body, "]}");
    int n = snprintf(request, sizeof(request),
                     "POST /api/uid/assign HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%.*s", body.n,
                     (int)body.n, body.p);
    assert_true(n > 0 && (size_t)n < sizeof(request));
    ts_buf_release(&body);
    for (unsigned i = 0; i < 3; i++) {
        size_t got = t_talk(&t, request, (size_t)n, answer, sizeof(answer));
        assert_true(got > (300u << 10)); /* several pieces */
        expect(answer, "400", "Transfer-Encoding: chunked");
    }
}

#define CASE(name, set_up) cmocka_unit_test_setup_teardown(test_http__##name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(routes_and_methods, set_up),
        CASE(head_has_no_body, set_up),
        CASE(pipelined_requests_are_answered_in_order, set_up),
        CASE(limits_are_answered, set_up),
        CASE(limits_of_small_queries_hold, set_up_small_queries),
        CASE(nonsense_is_refused, set_up),
        CASE(upgrade_offers_are_ignored, set_up),
        CASE(bodies_come_in_all_ways, set_up),
        CASE(gzip_both_ways, set_up),
        CASE(head_tells_the_length_of_get, set_up_large),
        CASE(continue_is_not_for_http_1_0, set_up),
        CASE(put_judges_each_point, set_up),
        CASE(times_with_exponents_are_rounded_to_milliseconds, set_up_old_times),
        CASE(an_export_to_a_date_has_all_of_it, set_up),
        CASE(compat_refuses_what_opentsdb_refuses, set_up_compat),
        CASE(put_in_capitals_is_a_line, set_up),
        CASE(cors, set_up_cors),
        CASE(a_client_may_go_at_any_time, set_up),
        CASE(a_large_answer_has_its_own_status, set_up_large),
        cmocka_unit_test_setup(test_http__a_stop_ends_what_is_under_way, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
