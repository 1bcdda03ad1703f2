/*
 * test_weblog_kind.c - the format auto: which lines decide, what is read how afterwards, and that no host is overlooked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "collectors/weblog/weblog_kind.h"

#define TIME   "[17/May/2015:10:05:03 +0000]"
#define REST   " - - " TIME " \"GET /a/b HTTP/1.1\" 200 5"
#define TAIL   " \"http://r.org/\" \"Mozilla (x)\""
#define PLAIN  "1.2.3.4" REST
#define JSON   "{\"time\": 1431857103, \"status\": 200, \"host\": \"j.org\"}"
#define UNSURE "burger.example" REST TAIL

/* What the first lines of a file decide, by name, and how many were looked at. */
static const char *decides(const char *text)
{
    static char out[64];
    struct col_web_auto *a = col_web_auto_new();
    struct col_web_look look;
    struct ts_buf scratch;
    size_t n = strlen(text);
    char *copy = ts_xmalloc(n + 1); /* so that a byte too far is noticed */
    memcpy(copy, text, n);
    ts_buf_init(&scratch, 0);
    col_web_auto_look(a, (struct ts_slice){copy, n}, &scratch, &look);
    snprintf(out, sizeof(out), "%s %u", col_web_kind_name(look.kind), look.n_lines);
    ts_buf_release(&scratch);
    ts_free(copy);
    col_web_auto_free(a);
    return out;
}

/* What a line of a file says that was decided: "domain|path|status|referrer", or "bad". */
static const char *reads(enum col_web_kind kind, const char *line)
{
    static char out[300];
    struct col_web_auto *a = col_web_auto_new();
    struct col_web_hit h;
    struct ts_buf scratch;
    ts_buf_init(&scratch, 0);
    const char *why = col_web_auto_parse(a, kind, ts_slice_str(line), &scratch, &h);
    if (why)
        snprintf(out, sizeof(out), "bad");
    else
        snprintf(out, sizeof(out), "%.*s|%.*s|%u|%.*s", (int)h.domain.n, h.domain.p, (int)h.path.n, h.path.p,
                 h.status, (int)h.referrer.n, h.referrer.p);
    ts_buf_release(&scratch);
    col_web_auto_free(a);
    return out;
}

static void test_weblog_kind__a_sure_line_decides(void **state)
{
    static const char *const sure[][2] = {
        {PLAIN, "common 1"},
        {PLAIN TAIL, "combined 1"},
        {PLAIN TAIL "\r", "combined 1"},
        {PLAIN " \"-\" \"-\"", "combined 1"},
        {PLAIN TAIL " \"-\"", "combined 1"}, /* nginx.org's "main" */
        {PLAIN TAIL " \"10.0.0.1, 2001:db8::1, unknown\" 0.123 [::1]:80", "combined 1"},
        {PLAIN " 1234 0.5", "common 1"},
        {"::1" REST TAIL, "combined 1"},
        {"2001:db8::1:80" REST TAIL, "combined 1"},
        {"::ffff:1.2.3.4" REST, "common 1"},
        {"1.2.3.4 - two words " TIME " \"GET / HTTP/1.1\" 200 -", "common 1"},
        {"1.2.3.4 - - " TIME " \"\\x16\\x03\" 400 226 \"-\" \"-\"", "combined 1"},
        {"a.org:80 " PLAIN TAIL, "vhost_combined 1"},
        {"a.org:443 ::1" REST TAIL, "vhost_combined 1"},
        {"a.org:443 burger.example" REST TAIL " shop", "vhost_combined 1"},
        {"a.org:80 " PLAIN, "vhost_combined 1"},
        {"-:80 " PLAIN TAIL, "vhost_combined 1"},
        {"1.2.3.4:80 5.6.7.8" REST TAIL, "vhost_combined 1"},
        {"[2001:db8::1]:443 ::1" REST TAIL, "vhost_combined 1"},
        {"localhost:80 ::1" REST TAIL, "vhost_combined 1"},
        {JSON, "json 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(sure) / sizeof(*sure); i++)
        if (strcmp(decides(sure[i][0]), sure[i][1]) != 0)
            fail_msg("%s: %s", sure[i][0], decides(sure[i][0]));
}

static void test_weblog_kind__what_may_hide_a_host_decides_nothing(void **state)
{
    static const char *const unsure[] = {
        "a.org" REST TAIL, /* a client's name, or a host in the client's place */
        "- " PLAIN TAIL,   /* the same where it is not known */
        "1.2.3.4 a.org - " TIME " \"GET / HTTP/1.1\" 200 5" TAIL, /* lighttpd */
        "1.2.3.4:5678" REST TAIL,                                 /* a client with its port */
        "a.org:80" REST TAIL,                                     /* a host in the client's place */
        "a.org:99999 - " PLAIN TAIL,
        "a.org:x " PLAIN TAIL,
        ":80 " PLAIN TAIL,
        PLAIN TAIL " \"a.org\"",
        PLAIN TAIL " a.org",
        PLAIN TAIL " host=intranet",
        PLAIN TAIL " \"-\" \"intranet\"",
        PLAIN " \"a.org\" \"Mozilla\"", /* instead of the referrer */
        PLAIN " a.org",
        PLAIN " \"a.org\"",
        PLAIN " \"http://r.org/\" \"cut",
        "1.2.3.4 - - " TIME " \"GET / HTTP/1.1\" 200",
        "1.2.3.4 - - " TIME " \"GET / HTTP/1.1",
        "1.2.3.4 - - [99/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5",
        "1.2.3.4 - - " TIME " \"GET / HTTP/1.1\" 2000 5",
        "1.2.3.4\t-\t-\t" TIME "\t\"GET / HTTP/1.1\"\t200\t5",
        "1.2.3.4  - - " TIME " \"GET / HTTP/1.1\" 200 5",
        " " PLAIN,
        "{\"time\": 1431857103}",
        "{\"status\": 200}",
        "{",
        "x",
        " [",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(unsure) / sizeof(*unsure); i++)
        if (strcmp(decides(unsure[i]), " 1") != 0)
            fail_msg("%s: %s", unsure[i], decides(unsure[i]));
}

static void test_weblog_kind__the_first_sure_line_counts(void **state)
{
    struct ts_buf text;
    (void)state;
    assert_string_equal(decides(""), " 0");
    assert_string_equal(decides("\n\r\n\n"), " 0");
    assert_string_equal(decides("\n\n" PLAIN TAIL "\na.org:80 " PLAIN TAIL "\n"), "combined 1");
    assert_string_equal(decides("TP/1.1\" 200 5 \"-\" \"-\"\n\na.org:80 " PLAIN TAIL "\n" PLAIN "\n"),
                        "vhost_combined 2");
    assert_string_equal(decides(UNSURE "\n" UNSURE "\n" PLAIN TAIL "\n"), "combined 3");
    ts_buf_init(&text, 0);
    for (unsigned i = 0; i < COL_WEB_LOOK_LINES; i++)
        ts_buf_str(&text, "odd\n\n");
    ts_buf_str(&text, PLAIN "\n");
    ts_buf_char(&text, '\0');
    assert_string_equal(decides(text.p), " 50");
    assert_string_equal(decides(text.p + 5), "common 50");
    ts_buf_release(&text);
}

static void test_weblog_kind__lines_behind_the_decision(void **state)
{
    static const struct {
        enum col_web_kind kind;
        const char *line, *says;
    } rows[] = {
        {COL_WEB_KIND_COMBINED, PLAIN TAIL, "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_COMBINED, PLAIN, "|/a/b|200|"},
        {COL_WEB_KIND_COMBINED, PLAIN TAIL "\r", "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_COMMON, PLAIN TAIL, "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_COMMON, PLAIN " 17", "|/a/b|200|"},
        {COL_WEB_KIND_COMBINED, UNSURE, "|/a/b|200|http://r.org/"}, /* a client with a name */
        {COL_WEB_KIND_COMBINED, "unix:" REST TAIL, "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_COMBINED, PLAIN " \"http://r.org/cut", "|/a/b|200|http://r.org/cut"},
        {COL_WEB_KIND_COMMON, "1.2.3.4 - - " TIME " \"GET / HTTP/1.1\" 200", "|/|200|"},
        {COL_WEB_KIND_VHOST, "a.org:80 " PLAIN TAIL, "a.org|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_VHOST, "-:80 " PLAIN TAIL, "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_VHOST, "[2001:db8::1]:443 ::1" REST TAIL, "[2001:db8::1]|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_VHOST, "a.org:80 " PLAIN " \"cut", "a.org|/a/b|200|cut"},
        {COL_WEB_KIND_JSON, "{\"time\": 1431857103}", "bad"},
        {COL_WEB_KIND_JSON, "{\"time\": 1431857103, \"uri\": \"/a\"}", "|/a|0|"},
        /* another format in the middle of a file, and surely so */
        {COL_WEB_KIND_COMBINED, "a.org:80 " PLAIN TAIL, "a.org|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_COMMON, JSON, "j.org||200|"},
        {COL_WEB_KIND_VHOST, PLAIN TAIL, "|/a/b|200|http://r.org/"},
        {COL_WEB_KIND_JSON, "a.org:80 " PLAIN, "a.org|/a/b|200|"},
        {COL_WEB_KIND_COMBINED, "a.org " PLAIN TAIL, "a.org|/a/b|200|"},
        {COL_WEB_KIND_NONE, PLAIN, "|/a/b|200|"},
        {COL_WEB_KIND_UNKNOWN, JSON, "j.org||200|"},
        /* not surely */
        {COL_WEB_KIND_VHOST, UNSURE, "bad"},
        {COL_WEB_KIND_JSON, UNSURE, "bad"},
        {COL_WEB_KIND_NONE, UNSURE, "bad"},
        {COL_WEB_KIND_COMBINED, "{\"time\": 1431857103}", "bad"},
        {COL_WEB_KIND_COMBINED, "{", "bad"},
        {COL_WEB_KIND_JSON, "{\"status\": 200}", "bad"},
        /* a host would be overlooked */
        {COL_WEB_KIND_COMBINED, "a.org:80" REST TAIL, "bad"},
        {COL_WEB_KIND_COMMON, "1.2.3.4 a.org - " TIME " \"GET / HTTP/1.1\" 200 5", "bad"},
        {COL_WEB_KIND_COMMON, PLAIN " a.org", "bad"},
        {COL_WEB_KIND_COMBINED, PLAIN TAIL " \"a.org\"", "bad"},
        {COL_WEB_KIND_COMBINED, "", "bad"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(reads(rows[i].kind, rows[i].line), rows[i].says) != 0)
            fail_msg("%s as %s: %s", rows[i].line, col_web_kind_name(rows[i].kind),
                     reads(rows[i].kind, rows[i].line));
}

static void test_weblog_kind__names_go_both_ways(void **state)
{
    (void)state;
    for (unsigned k = COL_WEB_KIND_UNKNOWN; k <= COL_WEB_KIND_NONE; k++)
        assert_int_equal(col_web_kind_of(col_web_kind_name((enum col_web_kind)k)), k);
    assert_int_equal(col_web_kind_of("combinde"), COL_WEB_KIND_UNKNOWN);
}

static void test_weblog_kind__messages_show_what_can_not_be_seen(void **state)
{
    char out[COL_WEB_SHOWN], odd[COL_WEB_ODD_BYTES], is[COL_WEB_SHOWN + 100];
    struct col_web_look look = {.n_lines = 3,
                                .first = TS_SLICE_LIT("a\tb\x01"
                                                      "c\x7f")};
    (void)state;
    col_web_show(look.first, out, sizeof(out));
    assert_string_equal(out, "a\\tb\\x01c\\x7f");
    col_web_look_odd(&look, "gone", odd);
    assert_non_null(strstr(odd, "none of its first 3 lines is"));
    assert_non_null(strstr(odd, "gone"));
    assert_non_null(strstr(odd, "collect_weblog_format"));
    assert_non_null(strstr(odd, "a\\tb"));
    memset(is, 1, sizeof(is));
    look = (struct col_web_look){.n_lines = 1, .first = {is, sizeof(is)}};
    col_web_look_odd(&look, "gone", odd);
    assert_non_null(strstr(odd, "its first line is not"));
    assert_string_equal(odd + strlen(odd) - 3, "...");
    for (size_t n = 1; n < 40; n++) {
        col_web_show(look.first, out, n);
        assert_true(strlen(out) < n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_kind__a_sure_line_decides),
        cmocka_unit_test(test_weblog_kind__what_may_hide_a_host_decides_nothing),
        cmocka_unit_test(test_weblog_kind__the_first_sure_line_counts),
        cmocka_unit_test(test_weblog_kind__lines_behind_the_decision),
        cmocka_unit_test(test_weblog_kind__names_go_both_ways),
        cmocka_unit_test(test_weblog_kind__messages_show_what_can_not_be_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
