/*
 * test_weblog_own.c - logs of HAProxy, IIS, CloudFront and Tomcat: told by their lines, and what these say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_field.h"
#include "collectors/weblog/weblog_logs.h"
#include "collectors/weblog/weblog_own.h"

/* From the manuals of each, with names of our own. */
static const char haproxy[] =
    "Feb  6 12:14:14 lb haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 "
    "10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {example.org|curl} {} \"GET /index.html HTTP/1.1\"\n"
    "Feb  6 12:14:15 lb haproxy[14389]: Proxy http-in started.\n"
    "2001:db8::7:4021 [06/Feb/2009:12:14:16.100] web~ app/<NOSRV> -1/-1/-1/-1/0 503 +212 - - SC-- 2/2/0/0/3 "
    "0/0 "
    "\"GET https://shop.example.org/cart HTTP/2.0\"\n"
    "<134>1 2009-02-06T12:14:17+00:00 lb haproxy 7 - - 10.0.1.3:1 [06/Feb/2009:12:14:17.000] a b/c "
    "0/0/0/1/+5 -1 0 - - CR-- 1/1/0/0/0 0/0 \"<BADREQ>\"\n";
static const char iis[] =
    "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n#Date: 2026-11-06 "
    "12:00:00\r\n"
    "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) "
    "cs(Referer) "
    "sc-status sc-substatus sc-win32-status time-taken\r\n"
    "2026-11-06 12:00:01 10.0.0.1 GET /shop/cart id=7 443 - 192.0.2.7 Mozilla/5.0+(Windows+NT+10.0) "
    "https://a.example/x 200 0 0 15\r\n"
    "#Fields: date time cs-uri-stem cs-host sc-status sc-bytes X-Forwarded-For\r\n"
    "2026-11-06 12:00:02 /b b.example.org:8080 404 512 192.0.2.9\r\n"
    "2026-11-06 12:00:03 /b\r\n";
static const char cloudfront[] =
    "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem "
    "sc-status "
    "cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header "
    "cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol\n"
    "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\t"
    "Mozilla/5.0%20(Windows)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\t"
    "www.example.org\thttps\t23\t0.001\t-\tTLSv1.2\n"
    "2019-12-04\t21:02:32\tLAX1\t0\t2001:db8::1\tGET\td111111abcdef8.cloudfront.net\t/img/"
    "a.png\t000\t-\tcurl\t-\t-\t"
    "Error\tk6WGMNkEzR5BEM_SaF47gjtX9zBDO2m349OY2an0QPEaUum1ZOLrow==\t-\thttp\t387\t0.103\t-\t-\n";
static const char tomcat[] =
    "shop.example.org 10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] \"GET /a/b HTTP/1.1\" 200 100\n"
    "localhost 2001:db8::1 - john [06/Nov/2026:12:00:01 +0100] \"POST /c HTTP/1.1\" 302 - 12\n"
    "shop.example.org 10.0.0.1 - - [06/Nov/2026:12:00:02 +0000] \"GET / HTTP/1.1\" 200 7 \"-\" \"curl/8\"\n";

/* Each line as "TIME domain path status bytes took|"; a bad one as "bad|". */
static void lines_are(const char *text, enum col_web_kind want, const char *lines)
{
    struct col_web_auto *a = col_web_auto_new();
    struct ts_buf scratch, out;
    struct col_web_look look;
    struct col_web_hit h;
    struct ts_slice all = ts_slice_str(text), line;
    ts_buf_init(&scratch, 0);
    ts_buf_init(&out, 0);
    col_web_auto_look(a, all, &scratch, &look);
    enum col_web_kind kind = look.kind;
    char saved[COL_WEB_KIND_BYTES];
    col_web_kind_text(kind, saved);
    assert_int_equal(col_web_kind_base(kind), want);
    assert_int_equal(col_web_kind_of(saved), kind); /* a checkpoint knows the fields too */
    while (col_line_next(&all, &line)) {
        if (col_web_kind_directive(line, &kind))
            continue;
        if (col_web_auto_parse(a, kind, line, &scratch, &h)) {
            ts_buf_str(&out, "bad|");
            continue;
        }
        struct ts_slice host = col_web_host(h.domain), path = col_web_prefix(h.path, 9);
        ts_buf_printf(&out, "%lld %.*s %.*s %u %llu %lld|", (long long)h.time_ms, (int)host.n,
                      host.n ? host.p : "", (int)path.n, path.n ? path.p : "", h.status,
                      (unsigned long long)h.bytes, (long long)h.took_us);
    }
    ts_buf_char(&out, '\0');
    assert_string_equal(out.p, lines);
    ts_buf_release(&scratch);
    ts_buf_release(&out);
    col_web_auto_free(a);
}

static void test_weblog_own__haproxy(void **state)
{
    const struct ts_tz *berlin, *before = ts_tz_default();
    (void)state;
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("UTC"), &berlin, NULL), 0);
    ts_tz_set_default(berlin);
    lines_are(haproxy, COL_WEB_KIND_HAPROXY,
              "1233922454000 example.org / 200 2750 109000|bad|1233922456000 shop.example.org / 503 212 0|"
              "1233922457000   0 0 5000|");
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &berlin, NULL), 0);
    ts_tz_set_default(berlin);
    lines_are("10.0.1.2:33317 [06/Feb/2009:12:14:14.655] a b/c 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET "
              "/ HTTP/1.1\"\n",
              COL_WEB_KIND_HAPROXY, "1233918854000  / 200 1 1000|");
    ts_tz_set_default(before);
}

static void test_weblog_own__iis(void **state)
{
    (void)state;
    lines_are(iis, COL_WEB_KIND_IIS,
              "1793966401000  /shop 200 0 15000|1793966402000 b.example.org / 404 512 -1|bad|");
    /* any order, with fields of its own anywhere, and another one further down */
    lines_are("#Fields: time x-own date time-taken sc-status cs-host\n12:00:00 - 2026-11-06 0.250 200 a.org\n"
              "#Fields: sc-bytes sc-status cs-uri-stem time date\n7 301 /b/c 12:00:01 2026-11-06\n",
              COL_WEB_KIND_IIS, "1793966400000 a.org  200 0 250000|1793966401000  /b 301 7 -1|");
    /* what lacks what is needed, or says it twice, decides nothing */
    lines_are("#Fields: date time date sc-status\n2026-11-06 12:00:00 2026-11-06 200\n", COL_WEB_KIND_UNKNOWN,
              "bad|");
    lines_are("#Fields: date time x-edge-id sc-status\n2026-11-06 12:00:00 x 200\n", COL_WEB_KIND_UNKNOWN,
              "bad|");
    lines_are("#Fields: date time c-ip\n2026-11-06 12:00:00 10.0.0.1\n", COL_WEB_KIND_UNKNOWN, "bad|");
}

static void test_weblog_own__cloudfront(void **state)
{
    (void)state;
    lines_are(cloudfront, COL_WEB_KIND_CLOUDFRONT,
              "1575493351000 www.example.org / 200 392 1000|1575493352000 d111111abcdef8.cloudfront.net /img "
              "0 0 103000|");
    lines_are(strstr(cloudfront, "2019"), COL_WEB_KIND_CLOUDFRONT, /* without its head */
              "1575493351000 www.example.org / 200 392 1000|1575493352000 d111111abcdef8.cloudfront.net /img "
              "0 0 103000|");
}

/* A date or a time of another length is no date of CloudFront: seconds would be read as something else. */
static void test_weblog_own__cloudfront_dates_have_one_length(void **state)
{
    (void)state;
    static const char *const dates[] = {"2019-12-4\t21:02:31", "2019-12-04\t21:02:31Z",
                                        "2019-12-04\t21:02:31.5", "2019-12-04\t21:02",
                                        "2019-12-04\t21:02:31+01:00"};
    for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
        char lines[512],
            rest[] =
                "\tL\t3\t::1\tGET\td.cloudfront.net\t/i\t200\t-\tx\t-\t-\tHit\tI\ta.org\thttps\t2\t0.001";
        snprintf(lines, sizeof(lines), "2019-12-04\t21:02:31%s\n%s%s\n", rest, dates[i], rest);
        lines_are(lines, COL_WEB_KIND_CLOUDFRONT, "1575493351000 a.org / 200 3 1000|bad|");
    }
}

/* In the middle of a file of another format. */
static void test_weblog_own__a_sure_line_is_read_as_what_it_is(void **state)
{
    (void)state;
    lines_are("10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 100\n"
              "2019-12-04\t21:02:31\tL\t3\t::1\tGET\td.cloudfront.net\t/"
              "i\t200\t-\tx\t-\t-\tHit\tI\ta.org\thttps\t2\t0.001\n",
              COL_WEB_KIND_COMMON, "1793966400000  / 200 100 -1|1575493351000 a.org / 200 3 1000|");
}

static void test_weblog_own__tomcat(void **state)
{
    (void)state;
    lines_are(tomcat, COL_WEB_KIND_HOST,
              "1793966400000 shop.example.org /a 200 100 -1|1793962801000 localhost / 302 0 -1|"
              "1793966402000 shop.example.org / 200 7 -1|");
}

/* A day that its month does not have is no time, in a line of any format; the first line is right and decides. */
static void test_weblog_own__days_that_are_none(void **state)
{
    (void)state;
    lines_are("10.0.1.2:3 [28/Feb/2026:12:14:14.655] a b/c 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET / "
              "HTTP/1.1\"\n"
              "10.0.1.2:3 [31/Feb/2026:12:14:14.655] a b/c 0/0/0/0/1 200 1 - - ---- 1/1/1/1/0 0/0 \"GET / "
              "HTTP/1.1\"\n",
              COL_WEB_KIND_HAPROXY, "1772280854000  / 200 1 1000|bad|");
    lines_are("#Fields: date time cs-uri-stem sc-status\n"
              "2024-02-29 12:00:00 /a 200\n2025-02-29 12:00:00 /a 200\n2026-04-31 12:00:00 /a 200\n",
              COL_WEB_KIND_IIS, "1709208000000  / 200 0 -1|bad|bad|");
    lines_are(
        "2024-02-29\t21:02:31\tL\t3\t::1\tGET\td.net\t/i\t200\t-\tx\t-\t-\tHit\tI\ta.org\thttps\t2\t0.001\n"
        "2023-02-29\t21:02:31\tL\t3\t::1\tGET\td.net\t/i\t200\t-\tx\t-\t-\tHit\tI\ta.org\thttps\t2\t0.001\n",
        COL_WEB_KIND_CLOUDFRONT, "1709240551000 a.org / 200 3 1000|bad|");
}

/* A log whose head is gone: its fields are named in the configuration. They are kept as text with the place in the file. */
static void test_weblog_own__fields_by_configuration(void **state)
{
    static const char *const wrong[] = {"iis", "iis:", "iis:date time", "iis:date time sc-status date",
                                        "iis:date,time,sc-status"};
    struct col_web_log log;
    struct col_web_look look;
    struct col_web_hit h;
    struct ts_buf scratch;
    char text[COL_WEB_KIND_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(col_web_log_init(&log, wrong[i], "auto", NULL), TS_EINVAL);
    ts_buf_init(&scratch, 0);
    assert_int_equal(col_web_log_init(&log, "iis: sc-status cs-uri-stem time date", "auto", NULL), 0);
    struct ts_slice line = TS_SLICE_LIT("404 /a 12:00:00 2026-11-06");
    col_web_auto_look(log.detect, line, &scratch, &look);
    col_web_kind_text(look.kind, text);
    assert_true(col_web_kind_of(text) == look.kind);
    assert_null(col_web_log_parse(&log, look.kind, line, &scratch, &h));
    assert_int_equal(h.status, 404);
    assert_int_equal(h.time_ms, 1793966400000);
    ts_buf_release(&scratch);
    col_web_log_release(&log);
}

/* Names in the configuration: those whose lines stand for themselves. */
static void test_weblog_own__names(void **state)
{
    static const char *const good[] = {"haproxy", "cloudfront", "vhost_common"};
    struct col_web_format *f;
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(col_web_format_new(ts_slice_str(good[i]), &f, NULL), 0);
        col_web_format_free(f);
    }
    assert_int_equal(col_web_format_new(TS_SLICE_LIT("iis"), &f, NULL), TS_EINVAL);
    assert_int_equal(col_web_kind_of("iis:99999999999999999"), COL_WEB_KIND_UNKNOWN);
    assert_int_equal(col_web_kind_of("iis:x"), COL_WEB_KIND_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_own__haproxy),
        cmocka_unit_test(test_weblog_own__iis),
        cmocka_unit_test(test_weblog_own__fields_by_configuration),
        cmocka_unit_test(test_weblog_own__cloudfront),
        cmocka_unit_test(test_weblog_own__cloudfront_dates_have_one_length),
        cmocka_unit_test(test_weblog_own__tomcat),
        cmocka_unit_test(test_weblog_own__a_sure_line_is_read_as_what_it_is),
        cmocka_unit_test(test_weblog_own__days_that_are_none),
        cmocka_unit_test(test_weblog_own__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
