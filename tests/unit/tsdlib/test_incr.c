/*
 * test_incr.c - the line incr and /api/incr without sockets: sums instead of replaced values, times by counter_resolution, refusals.
 */
#include "t_ingest.h"

static void resolution(const char *text)
{
    struct ts_error err = {0};
    if (tsd_counters_load(text, &t.rules.counters, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_incr__adds_instead_of_replacing(void **state)
{
    (void)state;
    assert_string_equal(t_send(&t,
                               "incr m 1500000000 1 a=b\nincr m 1500000000 41 a=b\nincr m 1500000001 -3 a=b\n"
                               "put n 1500000000 7 a=b\nincr n 1500000000 2 a=b\nINCR n 1500000000 1 a=b\n"),
                        "");
    assert_int_equal(t.line.n_points, 6);
    assert_string_equal(t_points(&t), "m 1500000000 42 a=b\nm 1500000001 -3 a=b\nn 1500000000 10 a=b\n");
    (void)t_send(&t, "put n 1500000000 5 a=b\n");
    assert_non_null(strstr(t_points(&t), "n 1500000000 5 a=b\n"));
}

/* The third line of a series and those after it are guessed; sums are the same on every path. */
static void test_incr__all_paths_of_lines_add(void **state)
{
    (void)state;
    char line[64], want[200];
    long long sums[3] = {0};
    for (int i = 0; i < 1000; i++) {
        int delta = i % 7 ? 1 : 1000000007;
        sums[i % 3] += delta;
        snprintf(line, sizeof line, "incr c 1500000000 %d h=%d\n", delta, i % 3);
        assert_string_equal(t_send(&t, line), "");
    }
    assert_true(t.in.n_guessed > 500);
    snprintf(want, sizeof want, "c 1500000000 %lld h=0\nc 1500000000 %lld h=1\nc 1500000000 %lld h=2\n",
             sums[0], sums[1], sums[2]);
    assert_string_equal(t_points(&t), want);
}

static void test_incr__times_are_rounded_down(void **state)
{
    (void)state;
    static const char lines[] = "incr web.x 1500000059 1 a=b\nincr web.x 1500000059999 1 a=b\n"
                                "incr web.x 1500000060 1 a=b\nincr hits 1500000059 1 a=b\n"
                                "incr hits 1500001999 1 a=b\nincr hits 1500003601 1 a=b\n"
                                "incr fine 1500000059123 1 a=b\nincr fine 1500000059124 1 a=b\n"
                                "incr hits2 1500000059123 1 a=b\nincr hits2 1500000059124 1 a=b\n"
                                "incr day 1500000059 1 a=b\nincr day -5 1 a=b\n";
    resolution("web.*=1m, hits=1h,fine=1ms,day=1d");
    assert_string_equal(t_send(&t, lines), "incr: illegal argument: invalid timestamp: -5\n");
    assert_string_equal(t_points(&t), "web.x 1500000000 2 a=b\nweb.x 1500000060 1 a=b\n"
                                      "hits 1499997600 1 a=b\nhits 1500001200 2 a=b\n"
                                      "fine 1500000059123 1 a=b\nfine 1500000059124 1 a=b\n"
                                      "hits2 1500000059 2 a=b\nday 1499990400 1 a=b\n");
    (void)t_send(&t, "put hits 1500000059 9 a=b\n"); /* times of puts stay */
    assert_non_null(strstr(t_points(&t), "hits 1500000059 9 a=b\n"));
}

/* What is kept by the id of a metric must not outlive its name, and 256 metrics share a place. */
static void test_incr__resolutions_follow_the_metric(void **state)
{
    (void)state;
    char line[64];
    resolution("a0=1m,a256=1h");
    for (int i = 0; i <= 512; i++) {
        snprintf(line, sizeof line, "incr a%d 1500001259 1 a=b\n", i);
        (void)t_send(&t, line);
    }
    for (int i = 0; i < 3; i++)
        (void)t_send(&t,
                     "incr a0 1500001259 1 a=b\nincr a256 1500001259 1 a=b\nincr a512 1500001259 1 a=b\n");
    const char *points = t_points(&t);
    assert_non_null(strstr(points, "a0 1500001200 4 a=b\n"));
    assert_non_null(strstr(points, "a256 1500001200 4 a=b\n"));
    assert_non_null(strstr(points, "a512 1500001259 4 a=b\n"));
    assert_int_equal(tsd_counters_resolution(&t.rules.counters, TS_SLICE_LIT("a1")), 1000);
    assert_int_equal(sto_uid_rename(t.in.cat, STO_UID_METRIC, TS_SLICE_LIT("a512"), TS_SLICE_LIT("b"), NULL),
                     0);
    resolution("b=1m");
    (void)t_send(&t, "incr b 1500001259 1 a=b\n");
    assert_non_null(strstr(t_points(&t), "b 1500001200 1 a=b\n"));
}

static void test_incr__rules_that_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"web.*", "METRIC=DURATION"}, {"=1m", "METRIC=DURATION"},
                                         {"a=7m", "divides a day"},    {"a=0s", "divides a day"},
                                         {"a=2d", "divides a day"},    {"a=x", "divides a day"},
                                         {"a*b=1m", "not its end"},    {"a=1m,,b=1m", "METRIC=DURATION"}};
    struct tsd_counters c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ts_error err = {0};
        assert_int_equal(tsd_counters_load(bad[i][0], &c, &err), TS_EINVAL);
        if (!strstr(err.text, bad[i][1]) || !strstr(err.text, "counter_resolution"))
            fail_msg("%s: %s", bad[i][0], err.text);
    }
    struct ts_buf many;
    ts_buf_init(&many, 0);
    for (int i = 0; i <= TSD_COUNTER_RULES; i++)
        ts_buf_printf(&many, "%sm%d=1m", i ? "," : "", i);
    ts_buf_char(&many, 0);
    assert_int_equal(tsd_counters_load(many.p, &c, NULL), TS_EINVAL);
    ts_buf_release(&many);
    assert_int_equal(tsd_counters_load(" ", &c, NULL), 0);
    assert_int_equal(tsd_counters_resolution(&c, TS_SLICE_LIT("m")), TSD_COUNTER_DEFAULT_MS);
}

static void test_incr__bad_lines_name_the_command(void **state)
{
    (void)state;
    assert_string_equal(t_send(&t, "incr\nincr m\nincr m 1500000000 x a=b\nincr m 1500000000 1\n"),
                        "incr: illegal argument: not enough arguments (need least 4, got 0)\n"
                        "incr: illegal argument: not enough arguments (need least 4, got 1)\n"
                        "incr: invalid value: Invalid character 'x' in x\n"
                        "incr: illegal argument: not enough arguments (need least 4, got 3)\n");
    assert_string_equal(t_points(&t), "");
    t.rules.no_points = true;
    assert_string_equal(t_send(&t, "incr m 1500000000 1 a=b\n"),
                        "incr: read-only: this daemon takes no points (mode = ro)\n");
    t.rules.no_points = false;
    assert_string_equal(t_points(&t), "");
}

/* A killed client may have sent the beginning of a line: a put counts, as in OpenTSDB's protocol, an increment does not. */
static void test_incr__a_last_line_that_is_cut_adds_nothing(void **state)
{
    (void)state;
    static const char said[] =
        "incr: the line has no line feed, so its end may be missing: nothing was added, repeat it\n";
    assert_string_equal(t_send(&t, "incr m 1500000000 1 a=bc\nincr m 1500000000 1 a=b"), said);
    assert_string_equal(t_send(&t, "INCR m 1500000000 1 a=b"), said);
    assert_string_equal(t_send(&t, "incr m 1500000000 1 a=bc\n"), "");
    assert_string_equal(t_send(&t, "put m 1500000000 5 a=b"), "");
    assert_string_equal(t_points(&t), "m 1500000000 2 a=bc\nm 1500000000 5 a=b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_incr__adds_instead_of_replacing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__all_paths_of_lines_add, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__times_are_rounded_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__resolutions_follow_the_metric, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__rules_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__bad_lines_name_the_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_incr__a_last_line_that_is_cut_adds_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
