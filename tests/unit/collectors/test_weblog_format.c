/*
 * test_weblog_format.c - formats and lines of web server logs, odd ones among them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "collectors/weblog/weblog_format.h"

/* What a line says, as text: "time|status|bytes|took_us|domain|path|referrer|client", or why it is bad. */
static const char *read_line(const char *format, const char *line, size_t n)
{
    static char out[1024];
    struct col_web_format *f;
    struct col_web_hit h;
    struct ts_buf scratch;
    struct ts_error err = {0};
    if (col_web_format_new(ts_slice_str(format), &f, &err) < 0) {
        snprintf(out, sizeof(out), "%s", err.text);
        return out;
    }
    ts_buf_init(&scratch, 0);
    char *copy = ts_xmalloc(n + 1); /* so that a byte too far is noticed */
    memcpy(copy, line, n);
    const char *why = col_web_line_parse(f, (struct ts_slice){copy, n}, &scratch, &h);
    if (why)
        snprintf(out, sizeof(out), "%s", why);
    else
        snprintf(out, sizeof(out), "%lld|%u|%llu|%lld|%.*s|%.*s|%.*s|%.*s", (long long)h.time_ms, h.status,
                 (unsigned long long)h.bytes, (long long)h.took_us, (int)h.domain.n, h.domain.p,
                 (int)h.path.n, h.path.p, (int)h.referrer.n, h.referrer.p, (int)h.client.n, h.client.p);
    ts_free(copy);
    ts_buf_release(&scratch);
    col_web_format_free(f);
    return out;
}
#define READ(format, line) read_line(format, line, sizeof(line) - 1)

#define HEAD "1.2.3.4 - bob [17/May/2015:10:05:03 +0000] "

static void test_weblog_format__known_names(void **state)
{
    (void)state;
    assert_string_equal(READ("common", HEAD "\"GET /a/b?c=d HTTP/1.1\" 200 203023"),
                        "1431857103000|200|203023|-1||/a/b?c=d||1.2.3.4");
    assert_string_equal(READ("combined", HEAD "\"GET /a HTTP/1.1\" 304 - \"http://x.org/y\" \"Mozilla (x)\""),
                        "1431857103000|304|0|-1||/a|http://x.org/y|1.2.3.4");
    assert_string_equal(READ("vhost_combined",
                             "shop.example.org:443 ::1 - - [17/May/2015:12:05:03 +0200] \"POST / HTTP/2.0\" "
                             "500 7 \"-\" \"curl\"\r"),
                        "1431857103000|500|7|-1|shop.example.org|/|-|::1");
    assert_string_equal(READ("vhost_combined", "[2001:db8::1]:443 " HEAD "\"GET /a HTTP/1.1\" 200 5"),
                        "1431857103000|200|5|-1|[2001:db8::1]|/a||1.2.3.4");
    /* a format takes lines that go on behind it, and lines that end early once time and status are there */
    assert_string_equal(READ("common", HEAD "\"GET /a HTTP/1.1\" 200 5 \"ref\" \"agent\""),
                        "1431857103000|200|5|-1||/a||1.2.3.4");
    assert_string_equal(READ("combined", HEAD "\"GET /a HTTP/1.1\" 200 5"),
                        "1431857103000|200|5|-1||/a||1.2.3.4");
    assert_string_equal(READ("combined", HEAD "\"GET /a HTTP/1.1\" 200 5 \"http://x.org/ab"),
                        "1431857103000|200|5|-1||/a|http://x.org/ab|1.2.3.4");
}

static void test_weblog_format__odd_requests(void **state)
{
    (void)state;
    assert_string_equal(READ("common", HEAD "\"GET /say\\\"hi\\\" HTTP/1.1\" 200 5"),
                        "1431857103000|200|5|-1||/say\\\"hi\\\"||1.2.3.4");
    assert_string_equal(READ("common", HEAD "\"\\x16\\x03\\x01\\x02\" 400 226"),
                        "1431857103000|400|226|-1||||1.2.3.4");
    assert_string_equal(READ("common", HEAD "\"-\" 408 -"), "1431857103000|408|0|-1||||1.2.3.4");
    assert_string_equal(READ("common", HEAD "\"\" 400 0"), "1431857103000|400|0|-1||||1.2.3.4");
    assert_string_equal(READ("common", HEAD "\"GET /\xff\xfe\x01 HTTP/1.1\" 404 1"),
                        "1431857103000|404|1|-1||/\xff\xfe\x01||1.2.3.4");
    assert_string_equal(
        READ("common", "2001:db8::1 - - [17/May/2015:10:05:03 -0830] \"GET / HTTP/1.0\" 200 1"),
        "1431887703000|200|1|-1||/||2001:db8::1");
    assert_string_equal(
        READ("common", "h.example - two words [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.0\" 200 1"),
        "1431857103000|200|1|-1||/||h.example");
    assert_string_equal(READ("common", "h.example - - [17/May/2015:10:05:03 +0000] x"),
                        "it is not of this format");
}

static void test_weblog_format__bad_lines_say_why(void **state)
{
    (void)state;
    assert_string_equal(READ("common", ""), "it has no time");
    assert_string_equal(READ("common", "\0\0\0\0"), "it has no time");
    assert_string_equal(READ("common", "1.2.3.4 - - [17/May"), "the time can't be read");
    assert_string_equal(READ("common", "1.2.3.4 - - [99/May/2015:10:05:03 +0000] \"GET /\" 200 5"),
                        "the time can't be read");
    assert_string_equal(READ("common", "1.2.3.4 - - [17/Mai/2015:10:05:03 +0000] \"GET /\" 200 5"),
                        "the time can't be read");
    assert_string_equal(READ("common", "1.2.3.4 - - [31/Feb/2026:09:00:00 +0000] \"GET /\" 200 5"),
                        "the time can't be read");
    assert_string_equal(READ("json", "{\"time\": \"2026-04-31T09:00:00Z\", \"status\": 200}"),
                        "the time can't be read");
    assert_string_equal(READ("common", HEAD "\"GET / HTTP/1.1\" abc 5"), "the status is no number");
    assert_string_equal(READ("common", HEAD "\"GET / HTTP/1.1\" 200 5x"), "the number of bytes is no number");
    assert_string_equal(READ("common", HEAD "\"GET / HTTP/1.1\""), "it has no status");
    assert_string_equal(READ("json", "{\"time\": 1431857103"), "it is no JSON");
    assert_string_equal(READ("json", "[1]"), "it is no JSON object");
    assert_string_equal(READ("json", "{\"status\": 200}"), "it has no time");
    assert_string_equal(READ("json", "{\"time\": 1431857103, \"status\": -7}"), "a number makes no sense");
}

static void test_weblog_format__strings_of_nginx(void **state)
{
    (void)state;
    assert_string_equal(READ("$host $remote_addr [$time_local] \"$request\" $status $body_bytes_sent "
                             "\"$http_referer\" \"$http_user_agent\" $request_time",
                             "a.org ::1 [17/May/2015:10:05:03 +0000] \"GET /x HTTP/2.0\" 201 12 \"-\" "
                             "\"say \\x22hi\\x22\" 0.0305"),
                        "1431857103000|201|12|30500|a.org|/x|-|::1");
    assert_string_equal(READ("${time_iso8601}|$upstream_response_time|$status|$request_uri|$bytes_sent",
                             "2015-05-17T12:05:03+02:00|0.1, 0.2 : 0.3|404|/a b|99"),
                        "1431857103000|404|99|-1||/a b||");
    assert_string_equal(READ("$msec $upstream_addr $status $request_time",
                             "1431857103.123 10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 502 1.5"),
                        "1431857103123|502|0|1500000||||");
    assert_string_equal(
        READ("$time_local $uri$is_args$args $status", "17/May/2015:10:05:03 +0000 /q?a=b 200"),
        "1431857103000|200|0|-1||/q?a=b||");
}

static void test_weblog_format__strings_of_apache(void **state)
{
    (void)state;
    assert_string_equal(
        READ("%v %{c}a %t \\\"%r\\\" %>s %O %D",
             "A.Example 9.8.7.6 [17/May/2015:10:05:03 +0000] \"GET /x HTTP/1.1\" 200 10 1234"),
        "1431857103000|200|10|1234|A.Example|/x||9.8.7.6");
    assert_string_equal(READ("%{Host}i %{msec}t \"%m %U%q %H\" %400,501{Referer}i %!200>s %B %{ms}T %%",
                             "x.org:8080 1431857103123 \"GET /p/q?r HTTP/1.1\" - 503 4 17 %"),
                        "1431857103123|503|4|17000|x.org:8080|/p/q?r|-|");
    assert_string_equal(
        READ("%{X-Forwarded-For}i %t %>s", "1.1.1.1, 2.2.2.2 [17/May/2015:10:05:03 +0000] 200"),
        "1431857103000|200|0|-1||||");
}

static void test_weblog_format__bad_strings_say_why(void **state)
{
    (void)state;
    assert_non_null(strstr(READ("combinde", ""), "\"combinde\" is no log format"));
    assert_non_null(strstr(READ("", ""), "is no log format"));
    assert_non_null(strstr(READ("$status $host", ""), "it has no time"));
    assert_non_null(strstr(READ("%t %{x", ""), "no } behind"));
    assert_non_null(strstr(READ("%t %", ""), "ends in the middle"));
    assert_non_null(strstr(READ("%h%v %t", ""), "nothing between"));
    assert_non_null(strstr(READ("$time_local$host", ""), "nothing between \"host\""));
    assert_non_null(strstr(READ("%{%d/%b}t %s", ""), "is no time that can be read"));
}

static void test_weblog_format__json_lines(void **state)
{
    (void)state;
    assert_string_equal(
        READ("json", "{\"time_local\":\"17/May/2015:10:05:03 +0000\",\"host\":\"a.org\",\"status\":\"200\","
                     "\"request\":\"GET /x HTTP/1.1\",\"body_bytes_sent\":\"7\",\"request_time\":\"0.25\","
                     "\"http_referer\":\"http://b.org/\",\"remote_addr\":\"::1\",\"more\":[1,{}]}"),
        "1431857103000|200|7|250000|a.org|/x|http://b.org/|::1");
    assert_string_equal(
        READ("json", "{\"ts\":1431857103.123,\"duration\":0.0015,\"size\":12,\"status\":404,\"request\":"
                     "{\"remote_ip\":\"1.2.3.4\",\"host\":\"c.org\",\"uri\":\"/u/v\"}}"),
        "1431857103123|404|12|1500|c.org|/u/v||1.2.3.4");
    assert_string_equal(
        READ("json",
             "{\"@timestamp\":\"2015-05-17T10:05:03.500Z\",\"url\":\"/\\u00e4\\\"\",\"status\":null}"),
        "1431857103500|0|0|-1||/\xc3\xa4\"||");
    /* an object without a status and a request, or with names nobody knows, is no request; one of the two is enough */
    static const char none[] = "no status and no request are known in it";
    assert_string_equal(READ("json", "{\"time\":1431857103123}"), none);
    assert_string_equal(
        READ("json", "{\"time\":1431857103,\"StatusCode\":200,\"RequestUri\":\"/a\",\"host\":\"a.org\"}"),
        none);
    assert_string_equal(READ("json", "{\"time\":1431857103,\"status\":null,\"uri\":\"\"}"), none);
    assert_string_equal(READ("json", "{\"time\":1431857103,\"status\":499}"), "1431857103000|499|0|-1||||");
    assert_string_equal(READ("json", "{\"time\":1431857103,\"uri\":\"/a\"}"), "1431857103000|0|0|-1||/a||");
    assert_string_equal(READ("json", "{\"time\":1431857103,\"status\":\"400\",\"request\":\"\"}"),
                        "1431857103000|400|0|-1||||");
    /* bytes of clients as they came, cut characters, nginx's \\xHH, control bytes: the line counts */
    static const char *const odd[] = {"/\xff/b",      "/\xc3(b",     "/\xed\xa0\x80", "/\xf5\x80",
                                      "/a\xe2\x82\"", "/\\xC3\\xBC", "/\001b"};
    static const char *const even[] = {"/_/b", "/_(b", "/___", "/__", "/a__", "/__", "/ b"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        char line[200], want[200];
        bool ended = odd[i][strlen(odd[i]) - 1] == '"';
        snprintf(line, sizeof(line),
                 "{\"time\":1431857103123,\"uri\":\"%s%s,\"status\":200,\"host\":\"\\\"\"}", odd[i],
                 ended ? "" : "\"");
        snprintf(want, sizeof(want), "1431857103123|200|0|-1|\"|%s||", even[i]);
        assert_string_equal(read_line("json", line, strlen(line)), want);
    }
}

static const char *text(struct ts_slice s)
{
    static char out[200];
    snprintf(out, sizeof(out), "%.*s", (int)s.n, s.p);
    return out;
}

static void test_weblog_format__hosts_sites_and_prefixes(void **state)
{
    (void)state;
    static const char *const hosts[][2] = {{"http://u:p@x.org:80/a@b", "x.org"},
                                           {"X.org:443", "X.org"},
                                           {"[2001:db8::1]:80", "2001:db8::1"},
                                           {"2001:db8::1", "2001:db8::1"},
                                           {"android-app://com.x/", "com.x"},
                                           {"-", ""},
                                           {"", ""},
                                           {"x.org.", "x.org"},
                                           {"http://", ""},
                                           {"[", ""}};
    static const char *const sites[][2] = {{"a.b.example.org", "example.org"},
                                           {"10.1.2.3", "ip"},
                                           {"fe80::1", "ip"},
                                           {"x.ac.uk", "x.ac.uk"},
                                           {"www.x.ac.uk", "x.ac.uk"},
                                           {"single", "single"},
                                           {"de.fa.ce", "de.fa.ce"},
                                           {"", ""}};
    static const struct {
        const char *path;
        unsigned depth;
        const char *prefix;
    } paths[] = {{"/a/b/c?d/e", 1, "/a"},
                 {"/a/b/c", 2, "/a/b"},
                 {"/a/b/c", 9, "/a/b"},
                 {"/c", 1, "/"},
                 {"/", 1, "/"},
                 {"//a//b", 1, "//a"},
                 {"a/b", 1, ""},
                 {"*", 1, ""},
                 {"/a/", 1, "/a"},
                 {"", 1, ""},
                 {"http://x/a/b", 1, "/a"},
                 {"http://x", 1, ""},
                 {"/?u=http://x/y", 1, "/"},
                 {"/a#/b/c", 1, "/"}};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        assert_string_equal(text(col_web_host(ts_slice_str(hosts[i][0]))), hosts[i][1]);
    for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
        assert_string_equal(text(col_web_site(ts_slice_str(sites[i][0]))), sites[i][1]);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        assert_string_equal(text(col_web_prefix(ts_slice_str(paths[i].path), paths[i].depth)),
                            paths[i].prefix);
}

static void test_weblog_format__times(void **state)
{
    int64_t ms;
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"[29/Feb/2016:23:59:60 +0530]", 1456770600000},
                {"31/Dec/2025:23:59:60 +0000", 1767225600000},
                {"30/Apr/2026:00:00:00 +0000", 1777507200000},
                {"2000-02-29T00:00:00Z", 951782400000},
                {"2016-02-29 18:30:00", 1456770600000},
                {"2016-02-29T18:30:00.25-01", 1456774200250},
                {"2016-02-29T18:30:00,5 +0000", 1456770600500},
                {"1456770600", 1456770600000},
                {"1456770600.0019", 1456770600001}};
    static const char *const bad[] = {"",
                                      "[]",
                                      "-",
                                      "2016-02-29",
                                      "2016-13-29T18:30:00Z",
                                      "2016-02-29T18:30:00+1",
                                      "2016-02-29T18:30:00Zx",
                                      "29/Feb/2016:24:00:00 +0000",
                                      "[31/Feb/2026:09:00:00 +0000]",
                                      "[31/Apr/2026:09:00:00 +0000]",
                                      "29/Feb/2025:09:00:00 +0000",
                                      "29/Feb/2100:09:00:00 +0000",
                                      "00/Jan/2026:09:00:00 +0000",
                                      "2026-02-31T09:00:00Z",
                                      "2025-02-29 09:00:00",
                                      "2026-11-31T09:00:00+01:00",
                                      "99999999999999999999",
                                      "145677060x",
                                      "[29/Feb/2016:23:59:60 +0530",
                                      "1969-12-31T23:59:59Z"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(col_web_time_parse(ts_slice_str(good[i].text), &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (col_web_time_parse(ts_slice_str(bad[i]), &ms))
            fail_msg("\"%s\" is taken for a time", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_format__known_names),
        cmocka_unit_test(test_weblog_format__odd_requests),
        cmocka_unit_test(test_weblog_format__bad_lines_say_why),
        cmocka_unit_test(test_weblog_format__strings_of_nginx),
        cmocka_unit_test(test_weblog_format__strings_of_apache),
        cmocka_unit_test(test_weblog_format__bad_strings_say_why),
        cmocka_unit_test(test_weblog_format__json_lines),
        cmocka_unit_test(test_weblog_format__hosts_sites_and_prefixes),
        cmocka_unit_test(test_weblog_format__times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
