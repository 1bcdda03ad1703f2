/*
 * test_plot.c - answers become series, the heaviest stay, texts can't leave their quotes.
 */
#include "query/breakdowns/breakdown.h"
#include "tsd/commands/plot.h"
#include "tests/unit/t_plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_plot__csv_of_hours_and_tags_is_read(void **state)
{
    (void)state;
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    static const char csv[] =
        "date,hour,domain,web.hits\r\n2026-11-01,00,a.org,5\r\n2026-11-01,00,\"b,\"\"x\"\"\",2.5\r\n"
        "2026-11-01,01,a.org,170141183460469231731687303715884105727\r\n";
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(csv), t_by("hour,domain"), &err), 0);
    assert_int_equal(p.axis, TSD_PLOT_HOURS);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.series[0].name, "a.org");
    assert_string_equal(p.series[1].name, "b,\"x\"");
    assert_int_equal(p.series[0].n, 2);
    assert_int_equal(p.series[0].x_s[0], 1793491200);
    assert_int_equal(p.series[0].x_s[1], 1793494800);
    assert_true(p.series[0].y[1] > 1.7e38);
    assert_true(p.series[1].y[0] == 2.5);
    tsd_plot_release(&p);
}

static void test_plot__broken_answers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"date,m\nx,1\n", "date,m\n2026-11-01\n", "date,m\n2026-11-01,abc\n",
                                      "date,m\n2026-11,1\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tsd_plot p = {0};
        struct ts_error err = {0};
        assert_int_equal(tsd_plot_read_csv(&p, ts_slice_str(bad[i]), t_by("day"), &err), TS_EPARSE);
        tsd_plot_release(&p);
    }
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    assert_int_equal(tsd_plot_read_text(&p, TS_SLICE_LIT("m 12 x {}\n"), &err), TS_EPARSE);
    assert_int_equal(tsd_plot_read_text(&p, TS_SLICE_LIT("m 12\n"), &err), TS_EPARSE);
    tsd_plot_release(&p);
}

static void test_plot__text_lines_become_series(void **state)
{
    (void)state;
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    assert_int_equal(
        tsd_plot_read_text(
            &p, TS_SLICE_LIT("m 1000 1 {a=b}\nm 2000 NaN {a=b}\nm -1500 2.5 {a=c, d=e}\nm 3000 4 {}"), &err),
        0);
    assert_int_equal(p.n, 3);
    assert_string_equal(p.series[0].name, "m {a=b}");
    assert_true(isnan(p.series[0].y[1]));
    assert_int_equal(p.series[1].x_s[0], -2);
    assert_string_equal(p.series[2].name, "m");
    tsd_plot_release(&p);
}

static void test_plot__a_name_that_begins_again_is_another_series(void **state)
{
    (void)state;
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    static const char text[] =
        "m 1000 1 {a=b}\nm 2000 2 {a=b}\nm 1000 5 {a=c}\nm 1000 3 {a=b}\nm 2000 4 {a=b}\n"
        "m 1000 6 {a=c}\nm 1000 7 {a=b}\n";
    static const char *const names[] = {"m {a=b}", "m {a=c}", "m {a=b} #2", "m {a=c} #2", "m {a=b} #3"};
    static const size_t n[] = {2, 1, 2, 1, 1};
    assert_int_equal(tsd_plot_read_text(&p, TS_SLICE_LIT(text), &err), 0);
    assert_int_equal(p.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(p.series[i].name, names[i]);
        assert_int_equal(p.series[i].n, n[i]);
    }
    tsd_plot_release(&p);
}

static void t_many(struct tsd_plot *p, unsigned n)
{
    struct ts_buf csv;
    struct ts_error err = {0};
    ts_buf_init(&csv, 0);
    ts_buf_str(&csv, "date,tag,m\n");
    for (unsigned day = 1; day < 4; day++)
        for (unsigned i = 0; i < n; i++)
            ts_buf_printf(&csv, "2026-01-%02u,t%03u,%u\n", day, i, i + day);
    assert_int_equal(tsd_plot_read_csv(p, ts_buf_get(&csv), t_by("day,tag"), &err), 0);
    ts_buf_release(&csv);
}

static void test_plot__the_rest_is_summed_or_left_out(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    t_many(&p, 30);
    tsd_plot_trim(&p);
    assert_int_equal(p.n, TSD_PLOT_MAX_SERIES + 1);
    assert_string_equal(p.series[0].name, "t029");
    assert_string_equal(p.series[TSD_PLOT_MAX_SERIES].name, "others (20)");
    assert_int_equal(p.series[TSD_PLOT_MAX_SERIES].n, 3);
    assert_true(p.series[TSD_PLOT_MAX_SERIES].y[0] == 19 * 20 / 2 + 20);
    assert_int_equal(p.n_left_out, 0);
    tsd_plot_release(&p);
    p = (struct tsd_plot){.additive = false};
    t_many(&p, 30);
    tsd_plot_trim(&p);
    assert_int_equal(p.n, TSD_PLOT_MAX_SERIES);
    assert_int_equal(p.n_left_out, 20);
    tsd_plot_release(&p);
    p = (struct tsd_plot){.additive = true};
    t_many(&p, TSD_PLOT_MAX_SERIES + 1); /* one more is drawn rather than called "others (1)" */
    tsd_plot_trim(&p);
    assert_int_equal(p.n, TSD_PLOT_MAX_SERIES + 1);
    assert_string_equal(p.series[TSD_PLOT_MAX_SERIES].name, "t000");
    tsd_plot_release(&p);
}

static void test_plot__rows_by_value_are_drawn_by_time(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true, .unit = "hits"};
    struct ts_error err = {0};
    struct ts_buf script;
    static const char csv[] = "date,m\n2026-01-03,9\n2026-01-01,5\n2026-01-02,2\n";
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(csv), t_by("day"), &err), 0);
    assert_int_equal(p.series[0].x_s[0], 1767225600);
    assert_int_equal(p.series[0].x_s[2], 1767225600 + 2 * 86400);
    assert_true(p.series[0].y[0] == 5 && p.series[0].y[1] == 2 && p.series[0].y[2] == 9);
    ts_buf_init(&script, 0);
    tsd_plot_script(&p, &script);
    ts_buf_char(&script, 0);
    assert_non_null(strstr(script.p, "set ylabel 'hits'"));
    ts_buf_release(&script);
    tsd_plot_release(&p);
}

static void test_plot__hours_stand_at_their_instants(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    struct ts_error err = {0};
    static const char autumn[] = "date,hour,m\n2026-10-25,01,1\n2026-10-25,02,2\n2026-10-25,02+01:00,3\n"
                                 "2026-10-25,03,4\n";
    const struct qry_spec *spec = t_asked("hour", "Europe/Berlin", "2026-10-25", "2026-10-25");
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(autumn), spec, &err), 0);
    assert_int_equal(p.series[0].n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(p.series[0].x_s[i], 1792882800 + 3600 * i); /* 23:00 UTC is 01:00 */
    tsd_plot_release(&p);
    p = (struct tsd_plot){.additive = true};
    static const char spring[] = "date,hour,m\n2027-03-28,01,1\n2027-03-28,03,2\n";
    spec = t_asked("hour", "Europe/Berlin", "2027-03-28", "2027-03-28");
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(spring), spec, &err), 0);
    assert_int_equal(p.series[0].x_s[1] - p.series[0].x_s[0], 3600);
    tsd_plot_release(&p);
}

static void test_plot__a_comparison_draws_both_values_alone(void **state)
{
    (void)state;
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    struct qry_spec spec = *t_by("day");
    static const char csv[] = "date,m,before,difference,ratio\n2026-01-01,5,4,1,1.25\n2026-01-02,,3,,\n";
    spec.compare_n = 1;
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(csv), &spec, &err), 0);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.series[0].name, "m");
    assert_string_equal(p.series[1].name, "before");
    assert_int_equal(p.series[0].n, 1);
    assert_int_equal(p.series[1].n, 2);
    tsd_plot_release(&p);
}

static void test_plot__hours_of_a_week_are_all_drawn(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    struct ts_error err = {0};
    struct ts_buf csv;
    ts_buf_init(&csv, 0);
    ts_buf_str(&csv, "weekday,hourofday,m\n");
    for (unsigned day = 0; day < 7; day++)
        for (unsigned h = 0; h < 24; h++)
            ts_buf_printf(&csv, "%.3s,%02u,%u\n", &"MonTueWedThuFriSatSun"[3 * day], h, day * 24 + h);
    assert_int_equal(tsd_plot_read_csv(&p, ts_buf_get(&csv), t_by("weekday,hourofday"), &err), 0);
    tsd_plot_trim(&p);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.n_rows, 168);
    assert_string_equal(p.rows[25].name, "Tue, 01");
    assert_true(p.series[0].y[25] == 25);
    ts_buf_release(&csv);
    tsd_plot_release(&p);
}

static void test_plot__rows_beyond_the_largest_are_one(void **state)
{
    (void)state;
    for (int additive = 0; additive < 2; additive++) {
        struct tsd_plot p = {.additive = additive};
        struct ts_error err = {0};
        struct ts_buf csv;
        ts_buf_init(&csv, 0);
        ts_buf_str(&csv, "tag,m\n");
        for (int i = 0; i < 40; i++)
            ts_buf_printf(&csv, "t%02d,%d\n", i, i);
        assert_int_equal(tsd_plot_read_csv(&p, ts_buf_get(&csv), t_by("tag"), &err), 0);
        tsd_plot_trim(&p);
        assert_int_equal(p.n_rows, TSD_PLOT_MAX_BARS + additive);
        assert_string_equal(p.rows[0].name, "t39");
        assert_true(p.series[0].y[0] == 39);
        if (additive) {
            assert_string_equal(p.rows[TSD_PLOT_MAX_BARS].name, "others (15)");
            assert_true(p.series[0].y[TSD_PLOT_MAX_BARS] == 14 * 15 / 2);
        }
        assert_int_equal(p.n_left_out, additive ? 0 : 15);
        ts_buf_release(&csv);
        tsd_plot_release(&p);
    }
}

static void test_plot__texts_stay_in_their_quotes(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true, .title = "it's `date`\n; system('x')"};
    struct ts_error err = {0};
    struct ts_buf script;
    static const char csv[] = "date,tag,m\n2026-01-01,a'b`touch /tmp/x`,1\n2026-01-01,\"c\nsystem('y')\",2\n";
    assert_int_equal(tsd_plot_read_csv(&p, TS_SLICE_LIT(csv), t_by("day,tag"), &err), 0);
    ts_buf_init(&script, 0);
    tsd_plot_script(&p, &script);
    ts_buf_char(&script, 0);
    assert_non_null(strstr(script.p, "set title 'it''s `date` ; system(''x'')'"));
    assert_non_null(strstr(script.p, "'a''b`touch /tmp/x`'"));
    assert_non_null(strstr(script.p, "'c system(''y'')'"));
    assert_null(strstr(script.p, "\nsystem"));
    ts_buf_release(&script);
    tsd_plot_release(&p);
}

static void test_plot__nothing_to_draw_is_said_before_gnuplot_runs(void **state)
{
    (void)state;
    struct tsd_plot p = {0};
    struct ts_error err = {0};
    assert_int_equal(tsd_plot_draw(&p, "/tmp/tsd-never.png", &err), TS_ENOTFOUND);
    assert_int_equal(access("/tmp/tsd-never.png", F_OK), -1);
}

static void test_plot__a_missing_gnuplot_is_named(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    struct ts_error err = {0};
    char *old = strdup(getenv("PATH"));
    t_many(&p, 2);
    setenv("PATH", "/nonexistent", 1);
    int rc = tsd_plot_draw(&p, "/tmp/tsd-never.png", &err);
    setenv("PATH", old, 1);
    free(old);
    assert_int_equal(rc, TS_ENOTFOUND);
    assert_non_null(strstr(err.text, "apt-get install gnuplot-nox"));
    assert_int_equal(access("/tmp/tsd-never.png", F_OK), -1);
    tsd_plot_release(&p);
}

/* Every kind of picture is drawn without complaint, and as a PNG. TSD_TEST_PLOTS keeps them in a folder. */
static void test_plot__gnuplot_takes_every_kind(void **state)
{
    (void)state;
    static const struct {
        const char *by;
        bool additive;
    } kinds[] = {{"day", true},       {"hour", true}, {"day,tag", true}, {"hour,tag", true},
                 {"hour,tag", false}, {"tag", true},  {"", true}};
    const char *dir = getenv("TSD_TEST_PLOTS");
    if (system("command -v gnuplot >/dev/null") != 0)
        fail_msg("gnuplot is not installed; scripts/setup run installs it");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct tsd_plot p = {.additive = kinds[i].additive};
        struct ts_error err = {0};
        struct ts_buf b;
        char path[200];
        bool day = strstr(kinds[i].by, "day"), hour = strstr(kinds[i].by, "hour"),
             tag = strstr(kinds[i].by, "tag");
        ts_buf_init(&b, 0);
        snprintf(p.title, sizeof(p.title), "sum of web.hits by %s", kinds[i].by);
        ts_buf_printf(&b, "%s%s%svalue\n", day ? "date," : "", hour ? "date,hour," : "", tag ? "tag," : "");
        for (unsigned t = 0; t < (day ? 9u : hour ? 84u : 1u); t++)
            for (unsigned k = 0; k < (tag ? 25u : 1u); k++) {
                if (day)
                    ts_buf_printf(&b, "2026-11-%02u,", t + 1);
                if (hour)
                    ts_buf_printf(&b, "2026-11-%02u,%02u,", t / 24 + 1, t % 24);
                if (tag)
                    ts_buf_printf(&b, "domain%u.example.org,", k);
                ts_buf_printf(&b, "%u\n", (1000 + 400 * (t * 7 % 11)) / (k + 1));
            }
        if (*kinds[i].by) {
            assert_int_equal(tsd_plot_read_csv(&p, ts_buf_get(&b), t_by(kinds[i].by), &err), 0);
        } else {
            ts_buf_clear(&b);
            for (unsigned t = 0; t < 200; t++)
                ts_buf_printf(&b, "sys.cpu %llu %f {host=web1}\n", 1793491200000ull + t * 60000,
                              50 + 30 * sin(t / 9.0));
            assert_int_equal(tsd_plot_read_text(&p, ts_buf_get(&b), &err), 0);
        }
        tsd_plot_trim(&p);
        snprintf(path, sizeof(path), "%s/tsd-test-plot-%d-%zu.png", dir ? dir : "/tmp",
                 dir ? 0 : (int)getpid(), i);
        if (tsd_plot_draw(&p, path, &err) != 0)
            fail_msg("%s: %s", kinds[i].by, err.text);
        FILE *f = fopen(path, "rb");
        unsigned char head[8] = {0};
        assert_non_null(f);
        assert_int_equal(fread(head, 1, 8, f), 8);
        fclose(f);
        assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
        if (!dir)
            remove(path);
        ts_buf_release(&b);
        tsd_plot_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plot__csv_of_hours_and_tags_is_read),
        cmocka_unit_test(test_plot__broken_answers_are_refused),
        cmocka_unit_test(test_plot__text_lines_become_series),
        cmocka_unit_test(test_plot__the_rest_is_summed_or_left_out),
        cmocka_unit_test(test_plot__rows_by_value_are_drawn_by_time),
        cmocka_unit_test(test_plot__hours_stand_at_their_instants),
        cmocka_unit_test(test_plot__a_comparison_draws_both_values_alone),
        cmocka_unit_test(test_plot__hours_of_a_week_are_all_drawn),
        cmocka_unit_test(test_plot__a_name_that_begins_again_is_another_series),
        cmocka_unit_test(test_plot__rows_beyond_the_largest_are_one),
        cmocka_unit_test(test_plot__texts_stay_in_their_quotes),
        cmocka_unit_test(test_plot__nothing_to_draw_is_said_before_gnuplot_runs),
        cmocka_unit_test(test_plot__a_missing_gnuplot_is_named),
        cmocka_unit_test(test_plot__gnuplot_takes_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
