/*
 * test_parser.c - HTTP messages: what is taken in any pieces, and each form that two programs could read differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tsd/protocols/http/parser.h"

#define MAX 4096

static struct tsd_parser pr;
static char log_text[65536]; /* what was read: "GET /a 1 [body]." for each message, "!400" at an error */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    size_t n = strlen(log_text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(log_text + n, sizeof(log_text) - n, format, args);
    va_end(args);
}

static void note_head(void)
{
    struct ts_slice m = tsd_parser_method(&pr), to = tsd_parser_target(&pr);
    if (pr.response)
        note("%d [", pr.status_code);
    else
        note("%.*s %.*s%s [", (int)m.n, m.p, (int)to.n, to.p, pr.keep_alive ? "" : " close");
}

/* Read all of it in pieces of a size; the text of what was read. */
static const char *read_in(const char *p, size_t n, size_t piece, bool response)
{
    log_text[0] = 0;
    tsd_parser_init(&pr, response, MAX);
    bool bad = false;
    for (size_t at = 0; at < n && !bad; at += piece) {
        struct ts_slice after = {"", 0};
        size_t k = n - at < piece ? n - at : piece, used = 0, one;
        enum tsd_parse event = TSD_PARSE_END;
        while (event != TSD_PARSE_MORE && !bad) {
            event = tsd_parser_next(&pr, p + at + used, k - used, &one);
            used += one;
            if (event == TSD_PARSE_HEAD)
                note_head();
            else if (event == TSD_PARSE_BODY)
                note("%.*s", (int)pr.piece.n, pr.piece.p);
            if (event == TSD_PARSE_END)
                after = tsd_parser_header(&pr, TSD_HEADER_AFTER);
            if (event == TSD_PARSE_END)
                note("]%.*s.", (int)after.n, after.p);
            bad = event == TSD_PARSE_BAD;
        }
        if (!bad)
            assert_int_equal(used, k);
    }
    if (bad)
        note("!%d", pr.status);
    else if (tsd_parser_eof(&pr))
        note("].");
    tsd_parser_release(&pr);
    return log_text;
}

/* In one piece, in pieces of 1, 2, 3 and 7 bytes: always the same. */
static void check_bytes(const char *p, size_t n, const char *want, bool response)
{
    static const size_t pieces[] = {SIZE_MAX, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        const char *got = read_in(p, n, pieces[i] < n ? pieces[i] : n, response);
        if (strcmp(got, want))
            fail_msg("%.*s\nin pieces of %zu: want %s, got %s", (int)n, p, pieces[i], want, got);
    }
}

static void check(const char *text, const char *want)
{
    check_bytes(text, strlen(text), want, false);
}

#define H "Host: x\r\n"

static void test_parser__messages_are_read_in_any_pieces(void **state)
{
    static const char *const rows[][2] = {
        {"GET / HTTP/1.1\r\n" H "\r\n", "GET / []."},
        {"\r\n\r\nGET /a?b={c=*} HTTP/1.1\r\n" H "\r\n\r\nHEAD /\xc3\xa4 HTTP/1.0\r\n\r\n",
         "GET /a?b={c=*} [].HEAD /\xc3\xa4 close []."},
        {"POST /p HTTP/1.1\r\nhost:\t x \t\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nConnection: a, "
         "CLOSE\r\n" H "\r\n",
         "POST /p [hello].GET / close []."},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / []."},
        {"GET / HTTP/1.1\r\n" H "Connection: close\r\nConnection: keep-alive\r\n\r\n", "GET / close []."},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", "GET / close []."},
        {"POST /p HTTP/1.1\r\n" H
         "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=\"y z\"\r\n, world, !\r\n0\r\n\r\nGET / "
         "HTTP/1.1\r\n" H "\r\n",
         "POST /p [hello, world, !].GET / []."},
        {"POST /p HTTP/1.1\r\n" H
         "Transfer-Encoding: chunked\r\n\r\n000\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n",
         "POST /p []."},
        {"OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS * []."},
        {"GET http://h:1/a HTTP/1.1\r\n" H "\r\n", "GET http://h:1/a []."},
        {"DELETE / HTTP/1.1\r\n" H "X:\r\nX: \xff\r\nContent-Length: 0\r\n\r\n", "DELETE / []."},
        {"GET / HTTP/1.1\r\nHost:\r\nAccept: a\r\nAccept: b\r\n\r\n", "GET / []."},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / []."},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nab", "POST / [ab"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(rows[i][0], rows[i][1]);
}

/* Each ends with a second request that a program with another reading would see at another place. */
static const struct {
    const char *text;
    int status;
} ambiguous[] = {
    /* how long is the body? */
    {"POST / HTTP/1.1\r\n" H "Content-Length : 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length\t: 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 5, 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 0x5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 5 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551621\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \x0b"
     "chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     501},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding\r\n: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    /* where does a line end? */
    {"GET / HTTP/1.1\n" H "\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "\n", 400},
    {"GET / HTTP/1.1\r\n" H "X: a\rContent-Length: 5\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X: a\r\n\tContent-Length: 5\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
    {"\nGET / HTTP/1.1\r\n" H "\r\n", 400},
    {"\rGET / HTTP/1.1\r\n" H "\r\n", 400},
    /* what is a name? */
    {"GET / HTTP/1.1\r\n" H "X\xe9: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H ": a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X Y: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X(: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "X: a\x7f\r\n\r\n", 400},
    /* who is asked? */
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "Host: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H H "\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "Origin: a\r\nOrigin: b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "Content-Encoding: gzip\r\nContent-Encoding: identity\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "Content-Type: text/plain\r\nContent-Type: application/json\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" H "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n\r\n", 400},
    /* where does a chunk end? */
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\rXhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n;a\r\nhello\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n", 400}, /* no size is not 0 */
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n;a\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nX : a\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n X: a\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\rX", 400},
    /* what is asked for? */
    {"GET  / HTTP/1.1\r\n" H "\r\n", 400},
    {"GET / HTTP/1.1 \r\n" H "\r\n", 400},
    {"GET /a b HTTP/1.1\r\n" H "\r\n", 400},
    {"GET /\tHTTP/1.1\r\n" H "\r\n", 400},
    {"GET /\r\n\r\n", 400},
    {"GET\r\n\r\n", 400},
    {"GET a HTTP/1.1\r\n" H "\r\n", 400},
    {"CONNECT x:1 HTTP/1.1\r\n" H "\r\n", 400},
    {"G\xe9T / HTTP/1.1\r\n" H "\r\n", 400},
    {"GET / http/1.1\r\n" H "\r\n", 400},
    {"GET / HTTP/1.10\r\n" H "\r\n", 400},
    {"GET / HTTP/11\r\n" H "\r\n", 400},
    {"PRI * HTTP/2.0\r\n\r\n", 505},
    {"GET / HTTP/0.9\r\n\r\n", 505},
};

static void test_parser__what_could_be_read_in_two_ways_is_refused(void **state)
{
    char text[1024], want[64];
    (void)state;
    for (size_t i = 0; i < sizeof(ambiguous) / sizeof(ambiguous[0]); i++) {
        snprintf(text, sizeof(text), "%sGET /second HTTP/1.1\r\n" H "\r\n", ambiguous[i].text);
        const char *got = read_in(text, strlen(text), strlen(text), false);
        snprintf(want, sizeof(want), "!%d", ambiguous[i].status);
        if (strlen(got) < 4 || strcmp(got + strlen(got) - 4, want) || strstr(got, "second"))
            fail_msg("%s\nwant %s, got %s", ambiguous[i].text, want, got);
        char whole[512];
        snprintf(whole, sizeof(whole), "%s", got);
        for (size_t piece = 1; piece < 4; piece++)
            if (strcmp(read_in(text, strlen(text), piece, false), whole))
                fail_msg("%s\nin pieces of %zu: want %s, got %s", ambiguous[i].text, piece, whole, log_text);
    }
    check_bytes("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n",
                sizeof("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n") - 1, "!400", false);
    check_bytes("GET /\0 HTTP/1.1\r\n" H "\r\n", sizeof("GET /\0 HTTP/1.1\r\n" H "\r\n") - 1, "!400", false);
}

static void test_parser__sizes_are_limited(void **state)
{
    static char text[65536];
    (void)state;
    int n = snprintf(text, sizeof(text), "GET /");
    memset(text + n, 'a', MAX);
    snprintf(text + n + MAX, 64, " HTTP/1.1\r\n");
    check(text, "!414");
    n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nX: ");
    memset(text + n, 'a', MAX);
    snprintf(text + n + MAX, 64, "\r\n\r\n");
    check(text, "!431");
    n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n");
    for (int i = 0; i <= TSD_HEADERS_MAX; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "a:b\r\n");
    check(text, "!431");
    n = snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1;");
    memset(text + n, 'a', 300);
    snprintf(text + n + 300, 64, "\r\nx\r\n0\r\n\r\n");
    check(text, "POST / [!400");
    n = snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nX: ");
    memset(text + n, 'a', 9000);
    snprintf(text + n + 9000, 64, "\r\n\r\n");
    check(text, "POST / [!431");
}

static void test_parser__headers_are_found_in_any_case(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nhOsT: x:1\r\nAccept-Encoding:  gzip \r\nX-Empty:\r\n\r\n";
    size_t used;
    (void)state;
    tsd_parser_init(&pr, false, MAX);
    assert_int_equal(tsd_parser_next(&pr, text, sizeof(text) - 1, &used), TSD_PARSE_HEAD);
    assert_true(ts_slice_is(tsd_parser_header(&pr, "host"), "x:1"));
    assert_true(ts_slice_is(tsd_parser_header(&pr, "accept-encoding"), "gzip"));
    assert_int_equal(tsd_parser_header(&pr, "x-empty").n, 0);
    assert_int_equal(tsd_parser_header(&pr, "accept").n, 0);
    assert_int_equal(tsd_parser_next(&pr, text, 0, &used), TSD_PARSE_END);
    tsd_parser_release(&pr);
    tsd_parser_release(&pr);
}

static void test_parser__responses_end_by_length_chunks_or_close(void **state)
{
    static const char *const rows[][2] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "200 [ab]."},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "200 [ab]."},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nA:b\r\nx-tsd-after:  0-F-1 "
         "\r\n\r\n",
         "200 [ab]0-F-1."}, /* trailers count as headers */
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Tsd-After: 0-F-1\r\n\r\na", "200 [a]0-F-1."},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n: b\r\n\r\n", "200 [ab!400"},
        {"HTTP/1.0 200 OK\r\n\r\nab", "200 [ab]."},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "204 []."},
        {"HTTP/1.1 400\r\nContent-Length: 0\r\n\r\n", "400 []."},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "200 [ab"},
        {"put: unknown command\n", "!400"},
        {"HTTP/1.1 20 OK\r\n\r\n", "!400"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_bytes(rows[i][0], strlen(rows[i][0]), rows[i][1], true);
}

static void test_parser__empty_lines_begin_no_message(void **state)
{
    static const char text[] = "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n";
    size_t used;
    (void)state;
    tsd_parser_init(&pr, false, MAX);
    assert_true(tsd_parser_idle(&pr));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tsd_parser_next(&pr, text + i, 1, &used), TSD_PARSE_MORE);
        assert_true(tsd_parser_idle(&pr));
    }
    assert_int_equal(tsd_parser_next(&pr, text + 4, 1, &used), TSD_PARSE_MORE);
    assert_false(tsd_parser_idle(&pr));
    assert_int_equal(tsd_parser_next(&pr, text + 5, sizeof(text) - 6, &used), TSD_PARSE_HEAD);
    assert_false(tsd_parser_idle(&pr));
    assert_int_equal(tsd_parser_next(&pr, text, 0, &used), TSD_PARSE_END);
    assert_int_equal(tsd_parser_next(&pr, "\r\n", 2, &used), TSD_PARSE_MORE);
    assert_true(tsd_parser_idle(&pr));
    tsd_parser_release(&pr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parser__messages_are_read_in_any_pieces),
        cmocka_unit_test(test_parser__what_could_be_read_in_two_ways_is_refused),
        cmocka_unit_test(test_parser__sizes_are_limited),
        cmocka_unit_test(test_parser__headers_are_found_in_any_case),
        cmocka_unit_test(test_parser__responses_end_by_length_chunks_or_close),
        cmocka_unit_test(test_parser__empty_lines_begin_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
