/*
 * test_plot.c - answers become series, the heaviest stay, texts can't leave their quotes.
 */
#include "query/breakdowns/breakdown.h"
#include "tsd/cmds/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A query by such keys, valid until the next call. */
static const struct qry_spec *t_by(const char *keys)
{
    static struct qry_spec spec;
    static struct ts_slice tags[8];
    spec = (struct qry_spec){.by_on = true, .by_tags = tags};
    while (*keys) {
        size_t n = strcspn(keys, ",");
        assert_int_equal(qry_breakdown_add((struct ts_slice){keys, n}, &spec, NULL), 0);
        keys += n + (keys[n] == ',');
    }
    return &spec;
}

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

/* The script for CSV of a query by keys, valid until the next call. */
static const char *t_script(struct tsd_plot *p, const char *csv, const struct qry_spec *spec)
{
    static struct ts_buf script;
    struct ts_error err = {0};
    ts_buf_release(&script);
    ts_buf_init(&script, 0);
    assert_int_equal(tsd_plot_read_csv(p, ts_slice_str(csv), spec, &err), 0);
    tsd_plot_trim(p);
    tsd_plot_script(p, &script);
    ts_buf_char(&script, 0);
    tsd_plot_release(p);
    return script.p;
}

static void test_plot__numbers_beside_the_axis_are_short_and_in_the_unit(void **state)
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

/* A query by such keys over a range in a zone. */
static const struct qry_spec *t_asked(const char *keys, const char *zone, const char *from, const char *to)
{
    static struct qry_spec spec;
    struct ts_error err = {0};
    spec = *t_by(keys);
    assert_int_equal(ts_tz_open(ts_slice_str(zone), &spec.tz, &err), 0);
    assert_int_equal(ts_time_parse(ts_slice_str(from), spec.tz, 0, false, &spec.start_ms, NULL, &err), 0);
    assert_int_equal(ts_time_parse_end(ts_slice_str(to), spec.tz, 0, false, &spec.end_ms, &err), 0);
    return &spec;
}

static void test_plot__the_axis_of_time_is_the_range_asked_for(void **state)
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
    tsd_plot_asked(&p, &spec);
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

static void test_plot__weeks_and_months_stand_above_their_own_dates(void **state)
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

static void test_plot__before_is_the_paler_colour_of_now(void **state)
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

static void test_plot__the_rest_of_a_table_is_grey_and_last(void **state)
{
    (void)state;
    struct tsd_plot p = {.additive = true};
    const char *script =
        t_script(&p, "date,tag,m\n2026-01-01,a,1\n2026-01-01,b,2\n2026-01-01,(others),50\n", t_by("day,tag"));
    assert_int_equal(t_colour(script, "(others)"), 0xbab0ac);
    assert_true(strstr(script, "title '(others)'") > strstr(script, "title 'a'"));
    assert_int_equal(t_colour(script, "b"), 0x4e79a7);
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

static void test_plot__partial_intervals_are_marked(void **state)
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
        script, "$p0 using 1:3:1:2:3:4 with boxxyerror fillstyle pattern 4 border linecolor rgb '#4e79a7'"));
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

static void test_plot__columns_are_groups_of_bars(void **state)
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
        cmocka_unit_test(test_plot__numbers_beside_the_axis_are_short_and_in_the_unit),
        cmocka_unit_test(test_plot__the_axis_of_time_is_the_range_asked_for),
        cmocka_unit_test(test_plot__weeks_and_months_stand_above_their_own_dates),
        cmocka_unit_test(test_plot__hours_stand_at_their_instants),
        cmocka_unit_test(test_plot__a_comparison_draws_both_values_alone),
        cmocka_unit_test(test_plot__before_is_the_paler_colour_of_now),
        cmocka_unit_test(test_plot__the_rest_of_a_table_is_grey_and_last),
        cmocka_unit_test(test_plot__hours_of_a_week_are_all_drawn),
        cmocka_unit_test(test_plot__partial_intervals_are_marked),
        cmocka_unit_test(test_plot__columns_are_groups_of_bars),
        cmocka_unit_test(test_plot__rows_beyond_the_largest_are_one),
        cmocka_unit_test(test_plot__texts_stay_in_their_quotes),
        cmocka_unit_test(test_plot__nothing_to_draw_is_said_before_gnuplot_runs),
        cmocka_unit_test(test_plot__a_missing_gnuplot_is_named),
        cmocka_unit_test(test_plot__gnuplot_takes_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
