/*
 * test_opt.c - command lines: words, options, configuration keys, mistakes; the help lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/conf.h"

static const struct ts_conf_key table[] = {
    {.name = "wal_sync",
     .type = TS_CONF_CHOICE,
     .def = "interval",
     .choices = "always|interval|none",
     .help = "x"},
    {.name = "read_only", .type = TS_CONF_BOOL, .def = "false", .help = "x"},
    {.name = "port", .type = TS_CONF_INT, .def = "4242", .min = 1, .max = 65535, .help = "x"},
    {.name = NULL},
};
static const struct ts_conf_key *const tables[] = {table};
static const struct ts_opt opts[] = {
    {"help", 'h', NULL, "this page"},
    {"format", 'f', "FORMAT", "text, json or csv"},
    {"an-option-with-a-very-long-name", 0, "VALUE",
     "a long text that goes on and on until it does not fit the line any more and has to be continued on the "
     "next"},
    {NULL, 0, NULL, NULL},
};

#define T_MAX 12
static struct ts_conf *conf;
static struct ts_error err;
static struct ts_opt_use uses[T_MAX];
static unsigned n_uses;

static int set_up(void **state)
{
    (void)state;
    memset(&err, 0, sizeof(err));
    conf = ts_conf_new(tables, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_conf_free(conf);
    return 0;
}

/* Parse words up to NULL. */
static int t_parse(const char *const *argv)
{
    int n = 0;
    while (argv[n])
        n++;
    return ts_opt_parse(n, (char *const *)argv, opts, conf, uses, &n_uses, &err);
}
#define T_PARSE(...) t_parse((const char *const[]){__VA_ARGS__, NULL})

static void t_expect_use(unsigned i, const char *name, const char *value)
{
    assert_true(i < n_uses);
    if (name)
        assert_string_equal(uses[i].name, name);
    else
        assert_null(uses[i].name);
    if (value)
        assert_string_equal(uses[i].value, value);
    else
        assert_null(uses[i].value);
}

static void test_opt__options_and_words_keep_their_order(void **state)
{
    (void)state;
    assert_int_equal(
        T_PARSE("one", "--format", "csv", "-", "-h", "--format=json", "two", "-fx", "-f", "-y", "--format="),
        0);
    assert_int_equal(n_uses, 9);
    t_expect_use(0, NULL, "one");
    t_expect_use(1, "format", "csv");
    t_expect_use(2, NULL, "-");
    t_expect_use(3, "help", NULL);
    t_expect_use(4, "format", "json");
    t_expect_use(5, NULL, "two");
    t_expect_use(6, "format", "x");
    t_expect_use(7, "format", "-y");
    t_expect_use(8, "format", "");
}

static void test_opt__two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(T_PARSE("--help", "--", "--format", "--", "-h"), 0);
    assert_int_equal(n_uses, 4);
    t_expect_use(1, NULL, "--format");
    t_expect_use(2, NULL, "--");
    t_expect_use(3, NULL, "-h");
    assert_int_equal(T_PARSE(""), 0);
    t_expect_use(0, NULL, "");
    assert_int_equal(ts_opt_parse(0, NULL, opts, conf, uses, &n_uses, &err), 0);
    assert_int_equal(n_uses, 0);
}

static void test_opt__keys_are_set_and_not_reported(void **state)
{
    (void)state;
    assert_int_equal(T_PARSE("--wal-sync", "always", "x", "--port=99", "--read-only"), 0);
    assert_int_equal(n_uses, 1);
    t_expect_use(0, NULL, "x");
    assert_string_equal(ts_conf_str(conf, "wal_sync"), "always");
    assert_int_equal(ts_conf_int(conf, "port"), 99);
    assert_true(ts_conf_bool(conf, "read_only"));
    assert_int_equal(T_PARSE("--read-only", "no", "--port", "98"), 0);
    assert_false(ts_conf_bool(conf, "read_only"));
    assert_int_equal(n_uses, 0);
    assert_int_equal(T_PARSE("--read-only", "file"), 0); /* a word that is no truth value stays a word */
    assert_true(ts_conf_bool(conf, "read_only"));
    t_expect_use(0, NULL, "file");
    assert_int_equal(T_PARSE("--read-only=off"), 0);
    assert_false(ts_conf_bool(conf, "read_only"));
}

static void test_opt__mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *argv[3], *text;
    } rows[] = {
        {{"--fromat", "x"}, "unknown option --fromat; did you mean --format?"},
        {{"--wal-snyc=x"}, "unknown option --wal-snyc; did you mean --wal-sync?"},
        {{"--wal_sync", "none"}, "unknown option --wal_sync; did you mean --wal-sync?"},
        {{"--qqqqqqqqqqqqq"}, "unknown option --qqqqqqqqqqqqq"},
        {{"-x"}, "unknown option -x"},
        {{"-hx"}, "unknown option -hx"},
        {{"--format"}, "option --format needs a value: FORMAT"},
        {{"-f"}, "option -f needs a value: FORMAT"},
        {{"--help=yes"}, "option --help takes no value"},
        {{"--port"}, "option --port needs a value"},
        {{"--port", "0"}, "option --port: port is a whole number, from 1 to 65535, not \"0\""},
        {{"--read-only=perhaps"}, "option --read-only: read_only is true or false, not \"perhaps\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (t_parse(rows[i].argv) != TS_EINVAL)
            fail_msg("%s was taken", rows[i].argv[0]);
        assert_string_equal(err.text, rows[i].text);
    }
    static char long_name[500] = "--";
    memset(long_name + 2, 'p', sizeof(long_name) - 3);
    assert_int_equal(T_PARSE(long_name), TS_EINVAL);
    assert_int_equal(ts_opt_parse(1, (char *const[]){(char[]){"--port"}}, opts, NULL, uses, &n_uses, NULL),
                     TS_EINVAL);
}

static void test_opt__help_lines_are_aligned(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    ts_opt_print_help(opts, &out);
    ts_buf_char(&out, 0);
    assert_string_equal(
        out.p, "  -h, --help           this page\n"
               "  -f, --format FORMAT  text, json or csv\n"
               "      --an-option-with-a-very-long-name VALUE\n"
               "                       a long text that goes on and on until it does not fit the line any "
               "more and\n"
               "                       has to be continued on the next\n");
    ts_buf_release(&out);
}

#define T_CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_opt__options_and_words_keep_their_order),
        T_CASE(test_opt__two_dashes_end_the_options),
        T_CASE(test_opt__keys_are_set_and_not_reported),
        T_CASE(test_opt__mistakes_are_named),
        T_CASE(test_opt__help_lines_are_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
