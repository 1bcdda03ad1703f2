/*
 * test_exposition.c - Prometheus' text formats: samples, labels and escapes, histograms and summaries, odd values, limits; a folder of such files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/collect.h"
#include "collectors/core/exposition.h"
#include "t_points.h"
#include "tests/unit/t_folder.h"

extern const struct col_collector col_textfile;

static struct t_points p;

static struct col_exposition give(const char *text, uint64_t max_samples)
{
    static const struct col_tag job = {"job", {"db", 2}};
    struct col_exposition x = {.emit = p.emit, .tags = &job, .n_tags = 1, .max_samples = max_samples};
    t_points_clear(&p);
    col_exposition_read(&x, ts_slice_str(text));
    t_points_end(&p);
    assert_int_equal(x.n_samples, p.n);
    return x;
}

static int setup(void **state)
{
    (void)state;
    t_points_init(&p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    t_points_release(&p);
    return 0;
}

/* The example of the format's own page. */
static const char page[] =
    "# HELP http_requests_total The total number of HTTP requests.\n"
    "# TYPE http_requests_total counter\n"
    "http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n"
    "http_requests_total{method=\"post\",code=\"400\"}    3 1395066363000\n"
    "\n"
    "# Escaping in label values:\n"
    "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find "
    "file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9\n"
    "\n"
    "# Minimalistic line:\n"
    "metric_without_timestamp_and_labels 12.47\n"
    "\n"
    "# A weird metric from before the epoch:\n"
    "something_weird{problem=\"division by zero\"} +Inf -3982045\n"
    "\n"
    "# TYPE http_request_duration_seconds histogram\n"
    "http_request_duration_seconds_bucket{le=\"0.05\"} 24054\n"
    "http_request_duration_seconds_bucket{le=\"+Inf\"} 144320\n"
    "http_request_duration_seconds_sum 53423\n"
    "http_request_duration_seconds_count 144320\n"
    "# TYPE rpc_duration_seconds summary\n"
    "rpc_duration_seconds{quantile=\"0.99\"} 76656\n";

static void test_exposition__samples_become_points(void **state)
{
    (void)state;
    struct col_exposition x = give(page, 1000);
    assert_int_equal(x.n_bad, 0);
    assert_int_equal(x.n_left_out, 1); /* the infinity */
    assert_int_equal(p.n, 9);
    assert_string_equal(t_value(&p, "http_requests_total method=post code=200 job=db"), "1027");
    assert_string_equal(t_value(&p, "metric_without_timestamp_and_labels job=db"), "12.47");
    assert_string_equal(t_value(&p, "msdos_file_access_time_seconds path=C__DIR_FILE.TXT "
                                    "error=Cannot_find_file___FILE.TXT_ job=db"),
                        "1458255915.0");
    assert_string_equal(t_value(&p, "http_request_duration_seconds_bucket le=0.05 job=db"), "24054");
    assert_string_equal(t_value(&p, "http_request_duration_seconds_bucket le=Inf job=db"), "144320");
    assert_string_equal(t_value(&p, "rpc_duration_seconds quantile=0.99 job=db"), "76656");
}

static void test_exposition__openmetrics_and_odd_lines(void **state)
{
    (void)state;
    struct col_exposition x = give("# TYPE foo counter\n# UNIT foo seconds\n"
                                   "foo_total 17.0 1520879607.789 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n"
                                   "rule:sum{ a = \"b\" , } 4\r\n"
                                   "own{job=\"mine\",empty=\"\"} -5\n"
                                   "big 18446744073709551615\n"
                                   "plus +3\n"
                                   "nan NaN\n"
                                   "# EOF\n",
                                   1000);
    assert_int_equal(x.n_bad, 0);
    assert_string_equal(t_value(&p, "foo_total job=db"), "17.0");
    assert_string_equal(t_value(&p, "rule_sum a=b job=db"), "4");
    assert_string_equal(t_value(&p, "own job=mine"), "-5");
    assert_string_equal(t_value(&p, "big job=db"), "1.8446744073709552e+19");
    assert_string_equal(t_value(&p, "plus job=db"), "3");
    assert_int_equal(p.n, 5);
}

static void test_exposition__bad_lines_cost_the_others_nothing(void **state)
{
    static const char *const bad[] = {"{a=\"b\"} 1", "m",      "m{a=\"b\"}",     "m{a=\"b\" 1", "m{a=b} 1",
                                      "m{=\"b\"} 1", "m x",    "m 1x",           "m{a=\"b",     "m{a} 1",
                                      "m{a=\"b\\",   "\x01 1", "m{a=\"b\",,} 1", "= 1",         "<html>"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char text[200];
        snprintf(text, sizeof(text), "good_before 1\n%s\ngood_after 2\n", bad[i]);
        struct col_exposition x = give(text, 1000);
        assert_int_equal(x.n_bad, 1);
        assert_int_equal(p.n, 2);
    }
}

static void test_exposition__samples_and_labels_have_a_limit(void **state)
{
    char text[1000] = "m{";
    (void)state;
    struct col_exposition x = give("a 1\nb 2\nc 3\n", 2);
    assert_int_equal(p.n, 2);
    assert_int_equal(x.n_left_out, 1);
    for (unsigned i = 0; i <= COL_EXPOSITION_LABELS; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "l%u=\"v\",", i);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "} 1\n");
    x = give(text, 10);
    assert_int_equal(x.n_bad, 1);
    assert_int_equal(p.n, 0);
}

/* --- a folder of files --- */

static void test_exposition__files_of_a_folder(void **state)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    char folder[T_FOLDER_BYTES];
    struct ts_conf *conf = ts_conf_new(tables, 1);
    struct col_ctx ctx = {.conf = conf, .root = ""};
    struct ts_error err = {0};
    void *t;
    (void)state;
    t_folder_make(folder);
    assert_int_equal(col_textfile.init(&ctx, &t, &err), TS_ENOTFOUND);
    assert_int_equal(ts_conf_set(conf, "collect_textfile_dir", TS_SLICE_LIT("relative"), "test", NULL), 0);
    assert_int_equal(col_textfile.init(&ctx, &t, &err), TS_EINVAL);
    assert_int_equal(ts_conf_set(conf, "collect_textfile_dir", ts_slice_str(folder), "test", NULL), 0);
    assert_int_equal(col_textfile.init(&ctx, &t, &err), 0);
    t_folder_file(folder, "backup.prom", "backup_bytes{set=\"home\"} 5\n", 0644);
    t_folder_file(folder, "other.txt", "not_this 1\n", 0644);
    t_folder_file(folder, ".internal.prom", "nor_this 1\n", 0644);
    t_folder_file(folder, "dir.prom/x", "nor_this 1\n", 0644);
    assert_int_equal(col_textfile.read(t, p.emit, &err), 0);
    t_points_end(&p);
    assert_int_equal(p.n, 3);
    assert_string_equal(t_value(&p, "backup_bytes set=home"), "5");
    assert_string_equal(t_value(&p, "node_textfile_scrape_error"), "0");
    assert_true(*t_value(&p, "node_textfile_mtime_seconds file=backup.prom"));
    assert_true(t_all_listed(&p, &col_textfile));
    t_folder_file(folder, "broken.prom", "no sample here\nbut_here 1\n", 0644);
    t_points_clear(&p);
    assert_int_equal(col_textfile.read(t, p.emit, &err), 0);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "node_textfile_scrape_error"), "1");
    assert_string_equal(t_value(&p, "but_here"), "1");
    t_folder_remove(folder);
    t_points_clear(&p);
    assert_true(col_textfile.read(t, p.emit, &err) < 0);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "node_textfile_scrape_error"), "1");
    col_textfile.release(t);
    ts_conf_free(conf);
}

/* A case with points of its own. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_exposition__samples_become_points),
        CASE(test_exposition__openmetrics_and_odd_lines),
        CASE(test_exposition__bad_lines_cost_the_others_nothing),
        CASE(test_exposition__samples_and_labels_have_a_limit),
        CASE(test_exposition__files_of_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
