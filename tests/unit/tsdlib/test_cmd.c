/*
 * test_cmd.c - commands are found, pages are printed from the table, every error code has an exit code.
 */
#include "tsd/commands/cmd.h"
#include "tsd/commands/import.h"
#include "tsd/commands/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tsd_args *seen; /* of the last run */
static char seen_words[200];

static int t_run(const struct tsd_args *args)
{
    seen = args;
    seen_words[0] = 0;
    for (size_t i = 0; i < args->n_words; i++)
        snprintf(seen_words + strlen(seen_words), sizeof(seen_words) - strlen(seen_words), "%s;",
                 args->words[i]);
    const char *f = tsd_args_get(args, "format");
    snprintf(seen_words + strlen(seen_words), sizeof(seen_words) - strlen(seen_words), "format=%s",
             f ? f : "none");
    return args->conf ? (int)ts_conf_int(args->conf, "depth") : TSD_EXIT_OK;
}

static const struct ts_opt t_opts[] = {
    {.name = "format", .letter = 'f', .arg = "FORM", .help = "Form of it."}, {.name = NULL}};
static const struct ts_conf_key t_keys[] = {
    {.name = "depth", .type = TS_CONF_INT, .def = "7", .min = 0, .max = 100, .help = "How deep."},
    {.name = NULL},
};
static const struct ts_conf_key *const t_tables[] = {t_keys, NULL};
static const struct tsd_cmd t_table[] = {
    {.name = "dig",
     .summary = "Dig.",
     .usage = "WHERE",
     .opts = t_opts,
     .examples = "tsd dig a\ntsd dig b",
     .run = t_run},
    {.name = "bury",
     .summary = "Bury.",
     .usage = "",
     .tables = t_tables,
     .examples = "tsd bury\ntsd bury c",
     .run = t_run},
    {.name = "help",
     .summary = "Help.",
     .usage = "",
     .examples = "tsd help\ntsd help dig",
     .run = tsd_help_run},
    {.name = NULL},
};

static int t_main(int argc, const char *const *argv)
{
    return tsd_cmd_main(t_table, argc, (char *const *)(uintptr_t)argv);
}
#define T_MAIN(...)                                                                                          \
    t_main((int)(sizeof((const char *const[]){"tsd", __VA_ARGS__}) / sizeof(char *)),                        \
           (const char *const[]){"tsd", __VA_ARGS__})

static void test_cmd__every_code_has_an_exit_code(void **state)
{
    (void)state;
    for (int code = 0; code > -TS_ERR_COUNT; code--) {
        int want = code == 0 ? TSD_EXIT_OK : code == TS_ECORRUPT ? TSD_EXIT_DAMAGE : TSD_EXIT_FAILED;
        if (tsd_exit_of(code) != want)
            fail_msg("%s gives %d", ts_err_name(code), tsd_exit_of(code));
    }
    assert_int_equal(tsd_exit_of(-TS_ERR_COUNT), -1);
    assert_int_equal(tsd_exit_of(1), -1);
}

static void test_cmd__options_and_words_arrive(void **state)
{
    (void)state;
    assert_int_equal(T_MAIN("dig", "a", "--format", "x", "b", "-f", "csv", "-"), TSD_EXIT_OK);
    assert_string_equal(seen_words, "a;b;-;format=csv"); /* the last use counts */
    assert_int_equal(T_MAIN("dig", "--", "--format"), TSD_EXIT_OK);
    assert_string_equal(seen_words, "--format;format=none");
    unsetenv("TSD_DEPTH");
    assert_int_equal(T_MAIN("bury"), 7);
    assert_int_equal(T_MAIN("bury", "--depth", "9"), 9);
    setenv("TSD_DEPTH", "11", 1);
    assert_int_equal(T_MAIN("bury"), 11);
    assert_int_equal(T_MAIN("bury", "--depth=9"), 9);
    unsetenv("TSD_DEPTH");
}

static void test_cmd__wrong_usage_ends_with_two(void **state)
{
    (void)state;
    seen = NULL;
    assert_int_equal(T_MAIN("dug"), TSD_EXIT_USAGE);
    assert_int_equal(T_MAIN("dig", "--colour", "red"), TSD_EXIT_USAGE);
    assert_int_equal(T_MAIN("dig", "--format"), TSD_EXIT_USAGE);
    assert_int_equal(T_MAIN("bury", "--depth", "1000"), TSD_EXIT_USAGE);
    assert_int_equal(T_MAIN("help", "nothing"), TSD_EXIT_USAGE);
    assert_int_equal(tsd_cmd_main(t_table, 1, (char *[]){(char *)(uintptr_t) "tsd", NULL}), TSD_EXIT_USAGE);
    assert_null(seen);
    assert_string_equal(tsd_cmd_near(t_table, "dug", NULL)->name, "dig");
    assert_null(tsd_cmd_near(t_table, "zzzzzz", NULL));
}

static void test_cmd__a_page_has_all_its_parts(void **state)
{
    (void)state;
    static const char *const parts[] = {"tsd dig - Dig.",
                                        "Usage:\n  tsd dig WHERE",
                                        "-f, --format FORM",
                                        "Form of it.",
                                        "-h, --help",
                                        "Examples:\n  tsd dig a\n  tsd dig b\n",
                                        "Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 damaged data."};
    struct ts_buf b;
    ts_buf_init(&b, 0);
    tsd_cmd_page(&t_table[0], &b);
    ts_buf_char(&b, 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(b.p, parts[i]))
            fail_msg("no \"%s\" in\n%s", parts[i], b.p);
    ts_buf_clear(&b);
    tsd_cmd_page(&t_table[1], &b);
    ts_buf_char(&b, 0);
    assert_non_null(strstr(b.p, "--depth N"));
    assert_non_null(strstr(b.p, "How deep. Default: 7."));
    ts_buf_release(&b);
}

static void t_line(const char *line, enum tsd_import_kind kind, const char *want)
{
    struct ts_slice got;
    if (tsd_import_line(ts_slice_str(line), &got) != kind || (kind && !ts_slice_is(got, want)))
        fail_msg("\"%s\" gives \"%.*s\"", line, (int)got.n, got.n ? got.p : "");
}

static void test_cmd__import_takes_lines_with_and_without_put(void **state)
{
    (void)state;
    t_line("m 1 2 a=b\n", TSD_IMPORT_POINT, "m 1 2 a=b");
    t_line("put m 1 2 a=b\r\n", TSD_IMPORT_POINT, "m 1 2 a=b");
    t_line("put put 1 2 a=b", TSD_IMPORT_POINT, "put 1 2 a=b");
    t_line("", TSD_IMPORT_NOTHING, "");
    t_line("\r\n", TSD_IMPORT_NOTHING, "");
    t_line("  \t ", TSD_IMPORT_NOTHING, "");
    t_line("# said", TSD_IMPORT_NOTHING, "");
    t_line("  # said", TSD_IMPORT_NOTHING, "");
    t_line(" m 1 2 a=b", TSD_IMPORT_POINT, " m 1 2 a=b"); /* refused later, with its reason */
    t_line("putter 1 2 a=b", TSD_IMPORT_POINT, "putter 1 2 a=b");
    t_line("exit", TSD_IMPORT_POINT, "exit");
}

static void test_cmd__import_knows_rollups_and_histograms(void **state)
{
    (void)state;
    t_line("rollup 1h-sum m 1 2 a=b\n", TSD_IMPORT_ROLLUP, "1h-sum m 1 2 a=b");
    t_line("rollup : m 1 2 a=b", TSD_IMPORT_ROLLUP, ": m 1 2 a=b");
    t_line("rollup 1500000000 2 a=b", TSD_IMPORT_POINT, "rollup 1500000000 2 a=b"); /* a metric */
    t_line("put rollup 1 2 a=b", TSD_IMPORT_POINT, "rollup 1 2 a=b");
    t_line("rollups 1 2 a=b", TSD_IMPORT_POINT, "rollups 1 2 a=b");
    t_line("rollup", TSD_IMPORT_POINT, "rollup");
    t_line("histogram m 1 u=0:o=0 a=b", TSD_IMPORT_HISTOGRAM, "m 1 u=0:o=0 a=b");
    t_line("histogram 1.5 2 a=b", TSD_IMPORT_POINT, "histogram 1.5 2 a=b");
    t_line("histogram 15 16 u=0:o=0 a=b", TSD_IMPORT_HISTOGRAM, "15 16 u=0:o=0 a=b"); /* a metric 15 */
    t_line("histogram 15 16 u=b x=c", TSD_IMPORT_POINT, "histogram 15 16 u=b x=c");
    t_line("histogram 15 16 a=b u=c", TSD_IMPORT_POINT, "histogram 15 16 a=b u=c");
}

static void test_cmd__progress_shows_part_rate_and_time_left(void **state)
{
    (void)state;
    char line[256], count[32];
    struct tsd_progress p = {.done_bytes = 250, .all_bytes = 1000, .n_points = 3000000};
    tsd_progress_line(&p, 2.0, 80, line, sizeof(line));
    assert_non_null(strstr(line, " 25 %  3,000,000 points, 1,500,000 points/s, 0:06 left"));
    assert_int_equal(line[0], '[');
    assert_true(strlen(line) <= 80);
    tsd_progress_line(&p, 2.0, 20, line, sizeof(line));
    assert_true(line[0] != '[');
    p.all_bytes = 0;
    tsd_progress_line(&p, 2.0, 80, line, sizeof(line));
    assert_string_equal(line, "3,000,000 points, 1,500,000 points/s");
    p.in_bytes = true;
    tsd_progress_line(&p, 2.0, 80, line, sizeof(line));
    assert_string_equal(line, "250 bytes, 125 bytes/s");
    p.all_bytes = 1000;
    tsd_progress_line(&p, 2.0, 80, line, sizeof(line));
    assert_non_null(strstr(line, " 25 %  250 bytes, 125 bytes/s, 0:06 left"));
    assert_string_equal(tsd_count_text(0, count), "0");
    assert_string_equal(tsd_count_text(999, count), "999");
    assert_string_equal(tsd_count_text(1000, count), "1,000");
    assert_string_equal(tsd_count_text(UINT64_MAX, count), "18,446,744,073,709,551,615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd__every_code_has_an_exit_code),
        cmocka_unit_test(test_cmd__options_and_words_arrive),
        cmocka_unit_test(test_cmd__wrong_usage_ends_with_two),
        cmocka_unit_test(test_cmd__a_page_has_all_its_parts),
        cmocka_unit_test(test_cmd__import_takes_lines_with_and_without_put),
        cmocka_unit_test(test_cmd__import_knows_rollups_and_histograms),
        cmocka_unit_test(test_cmd__progress_shows_part_rate_and_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
