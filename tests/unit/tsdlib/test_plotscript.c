/*
 * test_plotscript.c - what gnuplot is told: axes, colours, bars and lines.
 */
#include "tests/unit/t_plot.h"

#include <stdio.h>
#include <stdlib.h>

static void test_plotscript__numbers_beside_the_axis_are_short_and_in_the_unit(void **state)
{
    (void)state;
    static const char csv[] = "date,tag,m\n2026-01-01,a,150000000\n2026-01-01,b,100000000\n2026-01-02,a,5\n";
    struct tsd_plot p = {.additive = true};
    const char *script = t_script(&p, csv, t_by("day,tag"));
    assert_non_null(strstr(script, "'0' 0.0, '50 M' 50000000.0, '100 M'"));
    assert_non_null(strstr(script, "'250 M' 250000000.0)\n")); /* a bar is as high as its parts */
    p = (struct tsd_plot){.additive = true, .unit = "bytes"};
    script = t_script(&p, csv, t_by("day,tag"));
    assert_non_null(strstr(script, "'100 MiB' 104857600.0"));
    assert_null(strstr(script, "'bytes'"));
    p = (struct tsd_plot){.unit = "percent"};
    script = t_script(&p, "tag,m\n50%,40\n", t_by("tag"));
    assert_non_null(strstr(script, "set xtics ('0' 0.0, '10 %%' 10.0"));
    assert_non_null(strstr(script, "set ytics scale 0 ('50%%' 0)"));
}

static void test_plotscript__the_axis_of_time_is_the_range_asked_for(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    const char *script =
        t_script(&p, "date,m\n2026-11-03,5\n", t_asked("day", "Europe/Berlin", "2026-11-01", "2026-11-05"));
    assert_non_null(
        strstr(script, "set xrange [1793491200:1793923200]\n")); /* dates, as if they were of UTC */
    assert_non_null(strstr(script, "\"01 Nov\\n2026\" 1793534400, \"02 Nov\" 1793620800, "));
    p = (struct tsd_plot){.additive = true};
    script = t_script(&p, "date,hour,m\n2026-11-01,03,5\n",
                      t_asked("hour", "Europe/Berlin", "2026-11-01", "2026-11-01"));
    assert_non_null(strstr(script, "set xrange [1793487600:1793574000]\n"));
    assert_non_null(strstr(script, "(\"00:00\" 1793487600, \"02:00\" 1793494800, "));
    /* points of a query without totals */
    struct ts_error err = {0};
    struct ts_buf b;
    struct qry_spec spec = *t_asked("", "Asia/Kathmandu", "2026-11-01", "2026-11-01");
    spec.by_on = false;
    p = (struct tsd_plot){0};
    tsd_plot_requested(&p, &spec);
    assert_int_equal(tsd_plot_read_text(&p, TS_SLICE_LIT("m 1793500000000 1 {}\n"), &err), 0);
    ts_buf_init(&b, 0);
    tsd_plot_script(&p, &b);
    ts_buf_char(&b, 0);
    assert_non_null(strstr(b.p, "set xrange [1793470500:1793556900]\n"));
    assert_non_null(strstr(b.p, "(\"00:00\" 1793470500, \"02:00\""));
    ts_buf_release(&b);
    tsd_plot_release(&p);
    /* everything since 1970 is what there is */
    spec = *t_by("day");
    spec.end_ms = 1793577600000;
    p = (struct tsd_plot){.additive = true};
    assert_non_null(strstr(t_script(&p, "date,m\n2026-10-31,5\n", &spec), "set xrange [1793404800:"));
}

static void test_plotscript__weeks_and_months_stand_above_their_own_dates(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    const char *script = t_script(&p, "week,m\n2026-10-19,1\n2026-10-26,2\n",
                                  t_asked("week", "UTC", "2026-10-21", "2026-10-29"));
    assert_non_null(strstr(script, "set xrange [1792368000:1793577600]\n")); /* Monday to Monday */
    assert_non_null(strstr(script, "(\"19 Oct\\n2026\" 1792670400, \"26 Oct\" 1793275200)\n"));
    p = (struct tsd_plot){.additive = true};
    script =
        t_script(&p, "month,m\n2026-10,1\n2026-12,2\n", t_asked("month", "UTC", "2026-10-21", "2026-12-01"));
    assert_non_null(strstr(script, "set xrange [1790812800:1798761600]\n"));
    assert_non_null(strstr(script, "(\"Oct\\n2026\" 1792152000, \"Nov\" 1794787200, \"Dec\" 1797422400)\n"));
}

/* Colour of the series of a name in a script, -1: there is none. */
static long t_colour(const char *script, const char *name)
{
    char title[100];
    snprintf(title, sizeof(title), " title '%s'", name);
    const char *at = strstr(script, title), *rgb = at;
    while (rgb && rgb > script && *rgb != '#')
        rgb--;
    return rgb ? strtol(rgb + 1, NULL, 16) : -1;
}

static void test_plotscript__before_is_the_paler_colour_of_now(void **state)
{
    (void)state;
    struct qry_spec spec = *t_by("day,tag");
    spec.compare_n = 1;
    struct tsd_plot p = {.sums = true}; /* what was before is larger, and comes first once */
    const char *script =
        t_script(&p,
                 "date,tag,m,before,difference,ratio\n2026-01-01,a,1,90,,\n2026-01-01,b,50,60,,\n"
                 "2026-01-01,c,,7,,\n2026-01-02,c,2,3,,\n",
                 &spec);
    static const char *const order[] = {"b", "b, before", "c", "c, before", "a", "a, before"};
    const char *at = script;
    for (size_t i = 0; i < 6; i++) {
        char title[40];
        snprintf(title, sizeof(title), " title '%s'", order[i]);
        at = strstr(at, title);
        assert_non_null(at);
        long colour = t_colour(script, order[i]), now = t_colour(script, order[i - i % 2]);
        for (int shift = 0; shift < 24; shift += 8) {
            long part = now >> shift & 255, want = i % 2 ? part + (long)((double)(255 - part) * 0.55) : part;
            assert_int_equal(colour >> shift & 255, want);
        }
    }
    assert_int_not_equal(t_colour(script, "a"), t_colour(script, "b"));
    /* side by side: now ends where before begins */
    assert_non_null(strstr(script, "$d0 << EOD\n1767238560.0 1767248640.0 0.0 50.0\n"));
    assert_non_null(strstr(script, "$d1 << EOD\n1767248640.0 1767258720.0 0.0 60.0\n"));
    /* averages are lines */
    p = (struct tsd_plot){.sums = false};
    script = t_script(&p, "date,tag,m,before,difference,ratio\n2026-01-01,a,1,90,,\n", &spec);
    assert_non_null(strstr(script, "with linespoints"));
    assert_int_equal(t_colour(script, "a"), 0x4e79a7);
}

static void test_plotscript__the_rest_of_a_table_is_grey_and_last(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    const char *script =
        t_script(&p, "date,tag,m\n2026-01-01,a,1\n2026-01-01,b,2\n2026-01-01,(others),50\n", t_by("day,tag"));
    assert_int_equal(t_colour(script, "(others)"), 0xbab0ac);
    assert_true(strstr(script, "title '(others)'") > strstr(script, "title 'a'"));
    assert_int_equal(t_colour(script, "b"), 0x4e79a7);
}

static void test_plotscript__partial_intervals_are_marked(void **state)
{
    (void)state;
    struct qry_spec spec = *t_asked("day", "UTC", "2026-01-01T07:00", "2026-01-02T12:00");
    static const char csv[] = "date,m,partial\n2026-01-01,5,yes\n2026-01-02,7,no\n";
    spec.partial = QRY_PARTIAL_COLUMN;
    struct tsd_plot p = {.additive = true};
    const char *script = t_script(&p, csv, &spec);
    assert_non_null(strstr(script, "$d0 << EOD\n1767324960.0 1767385440.0 0.0 7.0\nEOD\n"));
    assert_non_null(strstr(script, "$p0 << EOD\n1767238560.0 1767299040.0 0.0 5.0\nEOD\n"));
    assert_non_null(strstr(
        script, "$p0 using 1:3:1:2:3:4 with boxxyerror linecolor rgb '#4e79a7' fillstyle pattern 4 border "));
    assert_non_null(strstr(script, "title 'partial interval'"));
    assert_null(strstr(script, "set key off"));
    /* lines have a grey ground there */
    p = (struct tsd_plot){.additive = false};
    script = t_script(&p, csv, &spec);
    assert_non_null(strstr(script, "rectangle from 1767225600, graph 0 to 1767312000, graph 1 behind"));
    assert_non_null(strstr(script, "title 'partial interval'"));
    /* whole ones have no such key, also if a tag has this name */
    p = (struct tsd_plot){.additive = true};
    spec = *t_asked("day,partial", "UTC", "2026-01-01", "2026-01-01");
    spec.partial = QRY_PARTIAL_COLUMN;
    script = t_script(&p, "date,partial,m,partial\n2026-01-01,yes,5,no\n", &spec);
    assert_null(strstr(script, "partial interval"));
    assert_null(strstr(script, "$p0"));
}

static void test_plotscript__the_last_step_is_as_long_as_its_interval(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = false};
    const char *script = t_script(&p, "date,hour,m\n2026-01-01,00,5\n2026-01-01,01,7\n", t_by("hour"));
    assert_non_null(strstr(script, "$d0 << EOD\n1767225600 5.0\n1767229200 7.0\n1767232800 7.0\nEOD\n"));
}

static void test_plotscript__columns_are_groups_of_bars(void **state)
{
    (void)state;
    /* weekdays beside each other, and above each a bar for each domain */
    struct qry_spec spec = *t_by("weekday,domain");
    spec.columns = TS_SLICE_LIT("domain");
    struct tsd_plot p = {.additive = true, .sums = true};
    const char *script = t_script(&p, "weekday,b.org,a.org\nMon,5,9\nTue,1,\n", &spec);
    assert_non_null(strstr(script, "set xtics scale 0 ('Mon' 0, 'Tue' 1)\nset xrange [-0.6:1.6]\n"));
    assert_non_null(strstr(script, "$d0 << EOD\n-0.4 0.0 0.0 9.0\nEOD\n"));
    assert_non_null(strstr(script, "$d1 << EOD\n0.0 0.4 0.0 5.0\n1.0 1.4 0.0 1.0\nEOD\n"));
    assert_int_equal(t_colour(script, "a.org"), 0x4e79a7);
    assert_int_equal(t_colour(script, "b.org"), 0xf28e2b);
    /* the other way round: a row for each domain, the largest on top, its weekdays in their order */
    spec.columns = TS_SLICE_LIT("weekday");
    p = (struct tsd_plot){.additive = true, .sums = true};
    script = t_script(&p, "domain,Mon,Tue\na.org,3,\nb.org,5,7\n", &spec);
    assert_non_null(strstr(script, "set ytics scale 0 ('b.org' 0, 'a.org' 1)\nset yrange [1.6:-0.6]\n"));
    assert_non_null(strstr(script, "$d0 << EOD\n0.0 5.0 -0.4 0.0\n0.0 3.0 0.6 1.0\nEOD\n"));
    assert_true(strstr(script, "title 'Mon'") < strstr(script, "title 'Tue'"));
    /* a comparison: now and before of each */
    spec = *t_by("domain");
    spec.compare_n = 1;
    p = (struct tsd_plot){.sums = true};
    script = t_script(&p, "domain,m,before,difference,ratio\na.org,3,9,-6,0.3\nb.org,5,1,4,5\n", &spec);
    assert_non_null(strstr(script, "('a.org' 0, 'b.org' 1)"));
    assert_non_null(strstr(script, "$d1 << EOD\n0.0 9.0 0.0 0.4\n0.0 1.0 1.0 1.4\nEOD\n"));
    assert_int_equal(t_colour(script, "m"), 0x4e79a7);
    assert_int_not_equal(t_colour(script, "before"), -1);
}

static void test_plotscript__names_keep_what_tells_them_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want[3]; /* lines, names */
    } rows[] = {
        {"m 1000 3 {dc=eu, host=a}\nm 1000 2 {dc=eu, host=b}\nm 1000 1 {dc=eu, host=ab}\n",
         {"host=a", "host=b", "host=ab"}},
        {"m 1000 3 {dc=eu, host=a}\nm2 1000 2 {dc=eu, host=a}\n", {"m", "m2"}},
        {"m 1000 3 {dc=eu, host=a}\nm2 1000 2 {dc=eu, host=b}\n", {"m host=a", "m2 host=b"}},
        {"m 1000 3 {host=a}\nm 1000 2 {}\n", {"m {host=a}", "m"}},
        {"m 1000 3 {host=a}\nm 1000 2 {host=a}\n", {"m {host=a}", "m {host=a} #2"}},
        {"m 1000 9 {host=a}\nm 1000 8 {host=b}\nm 1000 2 {host=a}\n", {"host=a", "host=b", "host=a #2"}},
        {"m 1000 3 {host=a}\n", {"m {host=a}"}},
        {"m 1000 3 {pod=frontend-deployment-of-cuomer-7d9c8b0001-x01zq}\nm 1000 2 "
         "{pod=frontend-deployment-of-cuomer-7d9c8b0002-x02zq}\n",
         {"pod=frontend-deploym\xe2\x80\xa6omer-7d9c8b0001-x01zq",
          "pod=frontend-deploym\xe2\x80\xa6omer-7d9c8b0002-x02zq"}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tsd_plot p = {0};
        struct ts_error err = {0};
        assert_int_equal(tsd_plot_read_text(&p, ts_slice_str(rows[i].text), &err), 0);
        tsd_plot_trim(&p);
        for (size_t k = 0; k < 3 && rows[i].want[k]; k++) {
            assert_true(k < p.n);
            assert_string_equal(p.series[k].name, rows[i].want[k]);
        }
        tsd_plot_release(&p);
    }
    /* beside bars too, at characters; and a unit that the axis has */
    struct tsd_plot p = {.unit = "hits"};
    const char *script =
        t_script(&p,
                 "tag,sum m (hits),max m (hits)\n"
                 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 "\xc3\xa4\xc3\xa4-MIDDLE-\xc3\xb6-0123456789-012345678,3,2\n",
                 t_by("tag"));
    assert_non_null(strstr(script, "\xc3\xa4\xc3\xa4\xe2\x80\xa6-0123456789-012345678' 0)"));
    assert_non_null(strstr(script, "title 'sum m'"));
    assert_non_null(strstr(script, "title 'max m'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plotscript__numbers_beside_the_axis_are_short_and_in_the_unit),
        cmocka_unit_test(test_plotscript__the_axis_of_time_is_the_range_asked_for),
        cmocka_unit_test(test_plotscript__weeks_and_months_stand_above_their_own_dates),
        cmocka_unit_test(test_plotscript__before_is_the_paler_colour_of_now),
        cmocka_unit_test(test_plotscript__the_rest_of_a_table_is_grey_and_last),
        cmocka_unit_test(test_plotscript__partial_intervals_are_marked),
        cmocka_unit_test(test_plotscript__the_last_step_is_as_long_as_its_interval),
        cmocka_unit_test(test_plotscript__columns_are_groups_of_bars),
        cmocka_unit_test(test_plotscript__names_keep_what_tells_them_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
