/*
 * test_conf.c - configuration: types and limits, files, OpenTSDB's file, environment, the printed file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/num.h"

static const struct ts_conf_key table_a[] = {
    {.name = "bind",
     .type = TS_CONF_STR,
     .def = "127.0.0.1",
     .opentsdb = "tsd.network.bind",
     .help = "Address to listen on."},
    {.name = "port",
     .type = TS_CONF_INT,
     .def = "4242",
     .min = 1,
     .max = 65535,
     .opentsdb = "tsd.network.port",
     .help = "Port of both protocols."},
    {.name = "idle_timeout_ms",
     .type = TS_CONF_INT,
     .def = "0",
     .max = INT64_MAX,
     .opentsdb = "tsd.core.socket.timeout",
     .help = "Silence after which a connection is closed; 0 = never."},
    {.name = "query_timeout_ms",
     .type = TS_CONF_INT,
     .def = "0",
     .max = INT64_MAX,
     .opentsdb = "tsd.query.timeout",
     .help = "Longest time of a query."},
    {.name = "auto_metric",
     .type = TS_CONF_BOOL,
     .def = "yes",
     .opentsdb = "tsd.core.auto_create_metrics",
     .help = "Create metrics on first use."},
    {.name = NULL},
};
static const struct ts_conf_key table_b[] = {
    {.name = "wal_sync",
     .type = TS_CONF_CHOICE,
     .def = "interval",
     .choices = "always|interval|none",
     .help = "When the log goes to disk. With always no confirmed point is ever lost, at the price of one "
             "sync a batch; "
             "interval may lose what came since the last one."},
    {.name = "cache_bytes",
     .type = TS_CONF_BYTES,
     .def = "64M",
     .min = 1 << 20,
     .max = 1ll << 40,
     .help = "Block cache."},
    {.name = "offset", .type = TS_CONF_INT, .def = "-5", .help = "Any number."},
    {.name = "note", .type = TS_CONF_STR, .def = "", .help = "Free text."},
    {.name = NULL},
};
static const struct ts_conf_key *const tables[] = {table_a, table_b};

static struct ts_conf *conf;
static struct ts_error err;
static char path[64];

static int set_up(void **state)
{
    (void)state;
    memset(&err, 0, sizeof(err));
    conf = ts_conf_new(tables, 2);
    snprintf(path, sizeof(path), "/tmp/tsd-test-conf-%d", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_conf_free(conf);
    unlink(path);
    return 0;
}

static int t_set(const char *name, const char *value)
{
    return ts_conf_set(conf, name, ts_slice_str(value), "option --x", &err);
}

static int t_load(const char *text)
{
    memset(&err, 0, sizeof(err));
    assert_int_equal(ts_fs_write_atomic(ts_fs_real(), path, text, strlen(text), &err), 0);
    return ts_conf_load_file(conf, path, &err);
}

/* The text with the file's name in front. */
static void t_expect_at(const char *rest)
{
    char want[TS_ERROR_TEXT_BYTES];
    snprintf(want, sizeof(want), "file %s %s", path, rest);
    assert_string_equal(err.text, want);
}

static void test_conf__defaults_hold(void **state)
{
    (void)state;
    assert_string_equal(ts_conf_str(conf, "bind"), "127.0.0.1");
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "interval");
    assert_string_equal(ts_conf_str(conf, "note"), "");
    assert_int_equal(ts_conf_int(conf, "port"), 4242);
    assert_int_equal(ts_conf_int(conf, "cache_bytes"), 64 << 20);
    assert_int_equal(ts_conf_int(conf, "offset"), -5);
    assert_true(ts_conf_bool(conf, "auto_metric"));
}

static void test_conf__fill_stores_values_where_rows_say(void **state)
{
    struct values {
        const char *name, *when;
        uint32_t narrow;
        bool yes, other;
        int64_t ms;
        uint64_t bytes;
    } v = {.other = true};
#define TO(MEMBER) TS_CONF_TO(struct values, MEMBER)
    static const struct ts_conf_key keys[] = {
        TS_KEY_STR("name", "x", "Help.", TO(name)),
        TS_KEY_CHOICE("when", "now|later", "later", "Help.", TO(when)),
        TS_KEY_INT("narrow", "7", 0, UINT32_MAX, "Help.", .opentsdb = "tsd.narrow", TO(narrow)),
        TS_KEY_BOOL("yes", "true", "Help.", TO(yes)),
        TS_KEY_BOOL("other", "false", "Help."),
        TS_KEY_INT("wait_s", "5000000", 0, INT32_MAX, "Help.", TO(ms), .factor = 1000),
        TS_KEY_BYTES("bytes", "8G", 0, INT64_MAX, "Help.", TO(bytes)),
        {.name = NULL},
    };
#undef TO
    static const struct ts_conf_key *const one[] = {keys};
    struct ts_conf *c = ts_conf_new(one, 1);
    (void)state;
    assert_int_equal(ts_conf_set(c, "narrow", TS_SLICE_LIT("4294967295"), "test", &err), 0);
    ts_conf_fill(c, keys, &v);
    assert_string_equal(v.name, "x");
    assert_string_equal(v.when, "later");
    assert_int_equal(v.narrow, UINT32_MAX);
    assert_true(v.yes && v.other);
    assert_int_equal(v.ms, 5000000000);
    assert_int_equal(v.bytes, 8ll << 30);
    ts_conf_free(c);
}

static void test_conf__good_values_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", 1}, {"Yes", 1}, {"ON", 1}, {"1", 1}, {"false", 0}, {"no", 0}, {"off", 0}, {"0", 0}};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(t_set("auto_metric", words[i].word), 0);
        assert_int_equal(ts_conf_bool(conf, "auto_metric"), words[i].value);
    }
    assert_int_equal(t_set("wal_sync", "ALWAYS"), 0);
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "always");
    assert_int_equal(t_set("cache_bytes", "1MiB"), 0);
    assert_int_equal(ts_conf_int(conf, "cache_bytes"), 1 << 20);
    assert_int_equal(t_set("port", "65535"), 0);
    assert_int_equal(t_set("offset", "-9223372036854775808"), 0);
    assert_true(ts_conf_int(conf, "offset") == INT64_MIN);
    assert_int_equal(t_set("bind", ""), 0);
    assert_string_equal(ts_conf_str(conf, "bind"), "");
}

static void test_conf__bad_values_tell_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *text;
    } rows[] = {
        {"port", "0", "option --x: port is a whole number, from 1 to 65535, not \"0\""},
        {"port", "65536", "option --x: port is a whole number, from 1 to 65535, not \"65536\""},
        {"port", "", "option --x: port is a whole number, from 1 to 65535, not \"\""},
        {"port", "4k", "option --x: port is a whole number, from 1 to 65535, not \"4k\""},
        {"idle_timeout_ms", "-1", "option --x: idle_timeout_ms is a whole number, at least 0, not \"-1\""},
        {"auto_metric", "maybe", "option --x: auto_metric is true or false, not \"maybe\""},
        {"wal_sync", "never", "option --x: wal_sync is one of always, interval, none, not \"never\""},
        {"wal_sync", "", "option --x: wal_sync is one of always, interval, none, not \"\""},
        {"wal_sync", "always|interval",
         "option --x: wal_sync is one of always, interval, none, not \"always|interval\""},
        {"cache_bytes", "1023k",
         "option --x: cache_bytes is bytes (k, M, G for powers of 1024), from 1M to 1T, not \"1023k\""},
        {"cache_bytes", "16EB",
         "option --x: cache_bytes is bytes (k, M, G for powers of 1024), from 1M to 1T, not \"16EB\""},
        {"note", "two\nlines", "option --x: note is text, not \"two\nlines\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(t_set(rows[i].name, rows[i].value), TS_EINVAL);
        assert_string_equal(err.text, rows[i].text);
    }
    assert_int_equal(ts_conf_int(conf, "port"), 4242);
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "interval");
}

static void test_conf__unknown_keys_get_the_nearest_name(void **state)
{
    (void)state;
    assert_int_equal(t_set("wal_snyc", "x"), TS_ENOTFOUND);
    assert_string_equal(err.text, "option --x: unknown key wal_snyc; did you mean wal_sync?");
    assert_int_equal(t_set("prot", "x"), TS_ENOTFOUND);
    assert_string_equal(err.text, "option --x: unknown key prot; did you mean port?");
    assert_int_equal(t_set("wal-sync", "x"), TS_ENOTFOUND);
    assert_string_equal(err.text, "option --x: unknown key wal-sync; did you mean wal_sync?");
    assert_int_equal(t_set("zzzzzzzzzzzz", "x"), TS_ENOTFOUND);
    assert_string_equal(err.text, "option --x: unknown key zzzzzzzzzzzz");
    char long_name[300];
    memset(long_name, 'p', sizeof(long_name));
    long_name[299] = 0;
    assert_int_equal(t_set(long_name, "x"), TS_ENOTFOUND);
    assert_int_equal(ts_conf_set(conf, "", TS_SLICE_LIT("x"), "here", NULL), TS_ENOTFOUND);
}

static void test_conf__a_file_sets_our_keys(void **state)
{
    (void)state;
    assert_int_equal(t_load("\xef\xbb\xbf# comment = 1\r\n\r\n  ! another\n port=99\r\n"
                            "\twal_sync \t=  none  \n"
                            "bind = 0.0.0.0\n"
                            "note = \" a \\\"b\\\" \\\\ # \"  # said twice\n"
                            "port = 100"),
                     0);
    assert_int_equal(ts_conf_int(conf, "port"), 100); /* the later line */
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "none");
    assert_string_equal(ts_conf_str(conf, "bind"), "0.0.0.0");
    assert_string_equal(ts_conf_str(conf, "note"), " a \"b\" \\ # ");
    assert_int_equal(t_load("note = c:\\temp #1\nbind =\n"), 0);
    assert_string_equal(ts_conf_str(conf, "note"), "c:\\temp #1");
    assert_string_equal(ts_conf_str(conf, "bind"), "");
    assert_int_equal(t_load(""), 0);
}

static void test_conf__bad_lines_are_named(void **state)
{
    (void)state;
    assert_int_equal(t_load("\n# x\nprt = 1\n"), TS_EINVAL);
    assert_int_equal(err.code, TS_EINVAL);
    t_expect_at("line 3: unknown key prt; did you mean port?");
    assert_int_equal(t_load("port = 0\n"), TS_EINVAL);
    t_expect_at("line 1: port is a whole number, from 1 to 65535, not \"0\"");
    assert_int_equal(t_load("port 99\n"), TS_EINVAL);
    t_expect_at("line 1: expected key = value");
    assert_int_equal(t_load("= 99\n"), TS_EINVAL);
    t_expect_at("line 1: expected key = value");
    assert_int_equal(t_load("note = \"open\n"), TS_EINVAL);
    t_expect_at("line 1: closing quote is missing");
    assert_int_equal(t_load("note = \"a\" b\n"), TS_EINVAL);
    t_expect_at("line 1: text after the closing quote");
    unlink(path);
    assert_int_equal(ts_conf_load_file(conf, path, &err), TS_ENOTFOUND);
    assert_non_null(strstr(err.text, path));
}

static unsigned n_warnings; /* lines of the last file that were left out */
static char last_warning[400];

static void t_count_line(void *arg, const char *line)
{
    if (!strstr(line, (const char *)arg) || !strstr(line, "has no meaning here"))
        return;
    if (n_warnings++ == 0)
        snprintf(last_warning, sizeof(last_warning), "%s", line);
}

static void test_conf__an_opentsdb_file_is_understood(void **state)
{
    (void)state;
    assert_int_equal(t_load("# --------- NETWORK ----------\n"
                            "tsd.network.port = 4243\n"
                            "tsd.network.bind=0.0.0.0\n"
                            "tsd.core.auto_create_metrics : TRUE \n"
                            "tsd.core.socket.timeout 90\n"
                            "tsd.query.timeout = 5000\n"
                            "tsd.http.staticroot = ./staticroot\n"
                            "tsd.storage.hbase.zk_quorum = a,\\\n    b,\\\r\n\tc\n"
                            "hbase.rpcs.batch.size = 4096\n"
                            "wal_sync = always\n"),
                     0);
    assert_int_equal(ts_conf_int(conf, "port"), 4243);
    assert_string_equal(ts_conf_str(conf, "bind"), "0.0.0.0");
    assert_true(ts_conf_bool(conf, "auto_metric"));
    assert_int_equal(ts_conf_int(conf, "idle_timeout_ms"), 90000); /* seconds there */
    assert_int_equal(ts_conf_int(conf, "query_timeout_ms"), 5000); /* milliseconds there too */
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "always");
    assert_int_equal(t_load("tsd.network.port =\n"), 0); /* listed without a value: as if it were not there */
    assert_int_equal(ts_conf_int(conf, "port"), 4243);
    n_warnings = 0;
    ts_log_recent(t_count_line, path);
    assert_int_equal(n_warnings, 3);
    assert_non_null(strstr(last_warning, "hbase.rpcs.batch.size"));
    assert_non_null(strstr(last_warning, "line 11")); /* newest first; the continued value took three lines */
}

static void test_conf__java_escapes_are_undone(void **state)
{
    (void)state;
    assert_int_equal(t_load("tsd.network.bind = \\u0041\\=\\:\\#\\!\\\\\\tz\\u00fc\\uD83D\\uDE00\\ud83dx\n"),
                     0);
    assert_string_equal(ts_conf_str(conf, "bind"), "A=:#!\\\tz\xc3\xbc\xf0\x9f\x98\x80\xef\xbf\xbdx");
    assert_int_equal(t_load("tsd\\.network.bi\\u006ed=x\\"), 0);
    assert_string_equal(ts_conf_str(conf, "bind"), "x");
    assert_int_equal(t_load("tsd.network.bind = 1\\\n  2\\\\\nport = 7\n"), 0);
    assert_string_equal(ts_conf_str(conf, "bind"), "12\\");
    assert_int_equal(ts_conf_int(conf, "port"), 7);
    assert_int_equal(t_load("tsd.network.bind = \\u00g0\n"), TS_EINVAL);
    t_expect_at("line 1: \\u needs four hex digits");
    assert_int_equal(t_load("tsd.network.port = lots\n"), TS_EINVAL);
    t_expect_at("line 1, tsd.network.port: port is a whole number, from 1 to 65535, not \"lots\"");
}

static int t_count_property(void *arg, const char *name, struct ts_slice value, const struct ts_conf_key *key,
                            const char *where, struct ts_error *e)
{
    (void)name, (void)value, (void)key, (void)where, (void)e;
    ++*(unsigned *)arg;
    return 0;
}

static void test_conf__lines_of_one_backslash_are_no_properties(void **state)
{
    (void)state;
    static const char *const texts[] = {"\\", "\\\n", "\\\n\\\n  \\", "\\\r\n\\\r\n"};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)t_load(texts[i]);
        assert_int_equal(ts_conf_load_properties(conf, path, t_count_property, &n, &err), 0);
    }
    assert_int_equal(n, 0);
    (void)t_load("\\\n a.b = 1\n");
    assert_int_equal(ts_conf_load_properties(conf, path, t_count_property, &n, &err), 0);
    assert_int_equal(n, 1);
}

static void test_conf__opentsdbs_booleans_are_false_unless_said(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool value;
    } rows[] = {{"tsd.core.auto_create_metrics = 1", 1},     {"tsd.core.auto_create_metrics = Yes", 1},
                {"tsd.core.auto_create_metrics = on", 0},    {"tsd.core.auto_create_metrics = true", 1},
                {"tsd.core.auto_create_metrics = maybe", 0}, {"tsd.core.auto_create_metrics =", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(t_load(rows[i].line), 0);
        assert_int_equal(ts_conf_bool(conf, "auto_metric"), rows[i].value);
    }
}

static void test_conf__the_environment_sets_keys(void **state)
{
    (void)state;
    setenv("TSD_WAL_SYNC", "none", 1);
    setenv("TSD_TEST_ANYTHING", "x", 1);
    setenv("TSDX", "x", 1);
    assert_int_equal(ts_conf_load_env(conf, &err), 0);
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "none");
    setenv("TSD_PORT", "70000", 1);
    assert_int_equal(ts_conf_load_env(conf, &err), TS_EINVAL);
    assert_string_equal(
        err.text, "environment variable TSD_PORT: port is a whole number, from 1 to 65535, not \"70000\"");
    unsetenv("TSD_PORT");
    setenv("TSD_WALSYNC", "none", 1);
    assert_int_equal(ts_conf_load_env(conf, &err), TS_EINVAL);
    assert_string_equal(err.text, "environment: unknown variable TSD_WALSYNC; did you mean TSD_WAL_SYNC?");
    unsetenv("TSD_WALSYNC");
    setenv("TSD_QQQQQQQQQQQQQQQ", "", 1);
    assert_int_equal(ts_conf_load_env(conf, &err), 0); /* somebody else's */
    unsetenv("TSD_QQQQQQQQQQQQQQQ");
    unsetenv("TSD_WAL_SYNC");
}

static void test_conf__the_printed_file_explains_each_key(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(t_set("port", "77"), 0);
    ts_conf_print(conf, &out);
    ts_buf_char(&out, 0);
    static const char head[] = "# Address to listen on.\n"
                               "# text; default 127.0.0.1\n"
                               "bind = 127.0.0.1\n"
                               "\n"
                               "# Port of both protocols.\n"
                               "# a whole number, from 1 to 65535; default 4242\n"
                               "port = 77\n"
                               "\n"
                               "# Silence after which a connection is closed; 0 = never.\n"
                               "# a whole number, at least 0, in milliseconds; default 0\n"
                               "idle_timeout_ms = 0\n";
    assert_int_equal(strncmp(out.p, head, sizeof(head) - 1), 0);
    assert_non_null(
        strstr(out.p, "# one of always, interval, none; default interval\nwal_sync = interval\n"));
    assert_non_null(strstr(
        out.p, "# bytes (k, M, G for powers of 1024), from 1M to 1T; default 64M\ncache_bytes = 64M\n"));
    assert_non_null(strstr(out.p, "# text; default empty\nnote =\n"));
    for (const char *line = out.p; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    ts_buf_release(&out);
}

static void test_conf__the_printed_file_reads_back(void **state)
{
    (void)state;
    static const char *const notes[] = {" leading", "trailing\t", "\"quoted\"", "a \"b\" c\\",
                                        "#",        "= x",        "",           "\" \\ "};
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        struct ts_buf out;
        ts_buf_init(&out, 0);
        assert_int_equal(t_set("note", notes[i]), 0);
        assert_int_equal(t_set("cache_bytes", "3000000"), 0);
        ts_conf_print(conf, &out);
        ts_buf_char(&out, 0);
        assert_int_equal(t_set("note", "other"), 0);
        assert_int_equal(t_set("cache_bytes", "1M"), 0);
        if (t_load(out.p) != 0)
            fail_msg("%s", err.text);
        assert_string_equal(ts_conf_str(conf, "note"), notes[i]);
        assert_int_equal(ts_conf_int(conf, "cache_bytes"), 3000000);
        ts_buf_release(&out);
    }
}

static void t_collect(void *arg, const struct ts_conf_key *key, const char *value)
{
    ts_buf_printf(arg, "%s=%s;", key->name, value);
}

static void test_conf__each_goes_by_name(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    ts_conf_each(conf, t_collect, &out);
    assert_true(ts_slice_is(ts_buf_get(&out),
                            "auto_metric=true;bind=127.0.0.1;cache_bytes=64M;idle_timeout_ms=0;note=;"
                            "offset=-5;port=4242;query_timeout_ms=0;wal_sync=interval;"));
    ts_buf_release(&out);
}

/* One file for several programs: keys of the others are no error, slips still are. */
static void test_conf__keys_of_others_are_passed_over(void **state)
{
    static const struct ts_conf_key theirs[] = {{.name = "their_key", .type = TS_CONF_STR, .def = ""},
                                                {.name = NULL}};
    static const struct ts_conf_key *const others[] = {theirs, NULL};
    (void)state;
    assert_int_equal(t_load("port = 1234\ntheir_key = x\n"), TS_EINVAL);
    ts_conf_pass_over(conf, others);
    assert_int_equal(t_load("port = 1234\ntheir_key = x\n"), 0);
    assert_int_equal(ts_conf_int(conf, "port"), 1234);
    assert_int_equal(t_load("their_keyx = x\n"), TS_EINVAL);
}

static void test_conf__no_tables_and_no_set_are_harmless(void **state)
{
    (void)state;
    ts_conf_free(NULL);
    struct ts_conf *none = ts_conf_new(NULL, 0);
    assert_int_equal(ts_conf_set(none, "port", TS_SLICE_LIT("1"), "here", &err), TS_ENOTFOUND);
    ts_conf_free(none);
}

#define T_CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_conf__defaults_hold),
        T_CASE(test_conf__fill_stores_values_where_rows_say),
        T_CASE(test_conf__good_values_are_taken),
        T_CASE(test_conf__bad_values_tell_what_is_allowed),
        T_CASE(test_conf__unknown_keys_get_the_nearest_name),
        T_CASE(test_conf__a_file_sets_our_keys),
        T_CASE(test_conf__bad_lines_are_named),
        T_CASE(test_conf__an_opentsdb_file_is_understood),
        T_CASE(test_conf__java_escapes_are_undone),
        T_CASE(test_conf__lines_of_one_backslash_are_no_properties),
        T_CASE(test_conf__opentsdbs_booleans_are_false_unless_said),
        T_CASE(test_conf__the_environment_sets_keys),
        T_CASE(test_conf__the_printed_file_explains_each_key),
        T_CASE(test_conf__the_printed_file_reads_back),
        T_CASE(test_conf__each_goes_by_name),
        T_CASE(test_conf__keys_of_others_are_passed_over),
        T_CASE(test_conf__no_tables_and_no_set_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
