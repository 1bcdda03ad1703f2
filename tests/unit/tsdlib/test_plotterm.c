/*
 * test_plotterm.c - pictures of characters: dots of braille, size, bars from zero, lines with gaps, ASCII, colours, figures.
 */
#include "tests/unit/t_plot.h"
#include "tsd/commands/plotdots.h"
#include "tsd/commands/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ts_buf text;

/* The lines of a picture, valid until the next call. */
static const char *drawn(const struct tsd_plot *p, size_t width, size_t height, bool utf8, bool colours)
{
    struct tsd_terminal t = {
        .width = width, .height = height, .utf8 = utf8, .colours = colours, .is_tty = colours};
    ts_buf_release(&text);
    ts_buf_init(&text, 0);
    tsd_plot_terminal(p, &t, &text);
    ts_buf_char(&text, 0);
    return text.p;
}

/* Number of lines; the longest one in characters. */
static size_t lines_of(const char *s, size_t *out_longest)
{
    size_t n = 0, cols = 0;
    *out_longest = 0;
    for (; *s; s++) {
        if (*s == '\n') {
            n++;
            cols = 0;
            continue;
        }
        cols += ((unsigned char)*s & 0xc0) != 0x80;
        *out_longest = cols > *out_longest ? cols : *out_longest;
    }
    return n;
}

static void test_plotterm__dots_are_those_of_unicode(void **state)
{
    (void)state;
    static const struct {
        int x, y;
        const char *text;
    } dots[] = {{0, 3, "⠁"}, {0, 2, "⠂"}, {0, 1, "⠄"}, {1, 3, "⠈"},
                {1, 2, "⠐"}, {1, 1, "⠠"}, {0, 0, "⡀"}, {1, 0, "⢀"}};
    struct tsd_dots d;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < 8; i++) {
        tsd_dots_init(&d, 1, 1, true, "*");
        tsd_dots_set(&d, dots[i].x, dots[i].y, 3);
        tsd_dots_set(&d, 2, 0, 4); /* outside */
        tsd_dots_set(&d, 0, -1, 4);
        ts_buf_clear(&b);
        assert_int_equal(tsd_dots_put(&d, 0, 0, &b), 3);
        ts_buf_char(&b, 0);
        assert_string_equal(b.p, dots[i].text);
        tsd_dots_release(&d);
    }
    tsd_dots_init(&d, 3, 1, true, "*");
    tsd_dots_line(&d, 0, 0, 5, 3, 0);
    tsd_dots_fill(&d, 4, 5, 0, 3, TSD_DOTS_FULL, 1);
    ts_buf_clear(&b);
    for (size_t i = 0; i < 3; i++)
        (void)tsd_dots_put(&d, i, 0, &b);
    ts_buf_char(&b, 0);
    assert_string_equal(b.p, "⡠⠔⣿");
    tsd_dots_release(&d);
    ts_buf_release(&b);
}

static void read_text(struct tsd_plot *p, const char *points, const struct qry_spec *spec)
{
    struct ts_error err = {0};
    tsd_plot_requested(p, spec);
    assert_int_equal(tsd_plot_read_text(p, ts_slice_str(points), &err), 0);
}

static void test_plotterm__lines_have_axes_gaps_and_figures(void **state)
{
    (void)state;
    struct qry_spec spec = {.start_ms = 1793491200000, .end_ms = 1793491200000 + 1200000};
    struct tsd_plot p = {.title = "avg of temp", .unit = "mV"};
    struct ts_buf points;
    ts_buf_init(&points, 0);
    for (int i = 0; i < 21; i++)
        if (i < 7 || i > 13)
            ts_buf_printf(&points, "temp %lld %d.5 {}\n", 1793491200000ll + i * 60000, i);
    ts_buf_char(&points, 0);
    read_text(&p, points.p, &spec);
    tsd_plot_trim(&p);
    assert_string_equal(drawn(&p, 40, 15, false, false), "              avg of temp\n"
                                                         "mV\n"
                                                         "25 |\n"
                                                         "20 |                                 ***\n"
                                                         "15 |                          *******\n"
                                                         "   |                         *\n"
                                                         "10 |          *\n"
                                                         " 5 |  ********\n"
                                                         " 0 |**\n"
                                                         "   ++--------+--------+--------+-------+\n"
                                                         "    00:00  00:05    00:10    00:15 00:20\n"
                                                         "              2026-11-01, UTC\n"
                                                         "         last    avg    min    max\n"
                                                         "* temp  20.50  10.50   0.50  20.50\n");
    size_t longest;
    assert_int_equal(lines_of(drawn(&p, 100, 40, true, false), &longest), 39);
    assert_true(longest <= 100);
    assert_non_null(strstr(text.p, "└┬"));
    assert_null(strstr(text.p, "\x1b["));
    ts_buf_release(&points);
    tsd_plot_release(&p);
}

static void test_plotterm__counts_are_bars_from_zero(void **state)
{
    (void)state;
    struct qry_spec spec = {.start_ms = 1793491200000, .end_ms = 1793491200000 + 4 * 3600000 - 1};
    struct tsd_plot p = {.title = "sum of hits", .tz = NULL};
    struct qry_downsample none = {.on = false};
    struct ts_buf points;
    ts_buf_init(&points, 0);
    for (int i = 0; i < 240; i++)
        ts_buf_printf(&points, "hits %lld %d {}\n", 1793491200000ll + i * 60000, 10 + i / 60);
    ts_buf_char(&points, 0);
    read_text(&p, points.p, &spec);
    tsd_plot_count(&p, 10, &none);
    assert_int_equal(p.axis, TSD_PLOT_HOURS);
    assert_true(p.by_time.n == 30 && p.by_time.unit == TS_UNIT_M);
    assert_int_equal(p.series[0].n, 8);
    for (size_t i = 0; i < 8; i++)
        assert_true(p.series[0].y[i] == 30.0 * (10 + (double)(i / 2)));
    tsd_plot_trim(&p);
    const char *s = drawn(&p, 44, 14, true, false);
    assert_non_null(strstr(s, "\n  0 ┤⣿⣿"));
    assert_non_null(strstr(s, "⣿ hits   2760  11.50     10     13\n")); /* of the points, not of the bars */
    tsd_plot_release(&p);
    /* bars hold whole buckets of the query */
    struct qry_downsample ds = {.on = true, .n = 20, .unit = TS_UNIT_M, .interval_ms = 1200000};
    p = (struct tsd_plot){.additive = false};
    read_text(&p, points.p, &spec);
    tsd_plot_count(&p, 50, &ds);
    assert_true(p.by_time.n == 20 && p.by_time.unit == TS_UNIT_M);
    tsd_plot_release(&p);
    p = (struct tsd_plot){.additive = false};
    read_text(&p, points.p, &spec);
    tsd_plot_count(&p, 10, &ds);
    assert_true(p.by_time.n == 1 && p.by_time.unit == TS_UNIT_H); /* not 30 minutes */
    tsd_plot_release(&p);
    ts_buf_release(&points);
}

static void test_plotterm__thinned_json_brings_its_figures(void **state)
{
    (void)state;
    static const char json[] =
        "[{\"metric\":\"m\",\"tags\":{\"a\":\"b\",\"c\":\"d\"},\"aggregateTags\":[],\"dps\":[[100,1],[200,"
        "\"NaN\"],[300,2.5]],"
        "\"figures\":{\"count\":1000,\"min\":1,\"max\":99,\"avg\":5.5,\"sum\":5500,\"first\":1,\"last\":2.5}}"
        ","
        "{\"metric\":\"m\",\"tags\":{\"a\":\"b\",\"c\":\"d\"},\"aggregateTags\":[],\"dps\":[],"
        "\"figures\":{\"count\":0,\"min\":null,\"max\":null,\"avg\":null,\"sum\":null,\"first\":null,"
        "\"last\":null}}]";
    struct qry_spec spec = {.start_ms = 0, .end_ms = 400000};
    struct tsd_plot p = {.additive = false};
    struct ts_error err = {0};
    tsd_plot_requested(&p, &spec);
    assert_int_equal(tsd_plot_read_json(&p, TS_SLICE_LIT(json), false, 100, &err), 0);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.series[0].name, "m {a=b, c=d}");
    assert_string_equal(p.series[1].name, "m {a=b, c=d} #2");
    assert_int_equal(p.series[0].n, 3);
    assert_true(isnan(p.series[0].y[1]) && p.series[0].x_s[2] == 300);
    assert_true(p.series[0].figures.n == 1000 && p.series[0].figures.max == 99);
    assert_int_equal(p.series[0].gap_s, 10); /* two columns of 5 s */
    tsd_plot_release(&p);
    p = (struct tsd_plot){.additive = false};
    assert_int_equal(
        tsd_plot_read_json(&p, TS_SLICE_LIT("[{\"metric\":\"m\",\"dps\":[[1]]}]"), false, 0, &err),
        TS_EPARSE);
    tsd_plot_release(&p);
}

static void test_plotterm__series_are_told_apart(void **state)
{
    (void)state;
    struct qry_spec spec = {.start_ms = 1793491200000, .end_ms = 1793491200000 + 120000};
    struct tsd_plot p = {.title = "two"};
    read_text(&p,
              "m 1793491200000 1 {h=a}\nm 1793491320000 5 {h=a}\nm 1793491200000 5 {h=b}\nm 1793491320000 1 "
              "{h=b}\n",
              &spec);
    tsd_plot_trim(&p);
    const char *s = drawn(&p, 60, 16, true, false);
    assert_non_null(strstr(s, " a\n")); /* letters behind the lines */
    assert_non_null(strstr(s, "\nb h=b "));
    s = drawn(&p, 60, 16, true, true);
    assert_non_null(strstr(s, "\x1b[38;5;67m"));
    assert_non_null(strstr(s, "\x1b[38;5;208m"));
    s = drawn(&p, 60, 16, false, false);
    assert_non_null(strstr(s, "\n* h=a "));
    assert_non_null(strstr(s, "\no h=b "));
    for (; *s; s++)
        assert_true((unsigned char)*s < 128);
    tsd_plot_release(&p);
}

static void test_plotterm__any_size_holds(void **state)
{
    (void)state;
    static const char csv[] =
        "date,domain,hits\n2026-11-01,a.org,5\n2026-11-01,b.org,7\n2026-11-02,a.org,1000000\n";
    for (size_t width = 10; width < 140; width += 13)
        for (size_t height = 10; height < 60; height += 11)
            for (int names = 0; names < 2; names++) {
                struct tsd_plot p = {.title = "a title that is longer than the smallest terminal",
                                     .additive = true,
                                     .sums = true};
                struct ts_error err = {0};
                const char *one = names ? "domain,hits\na.org,5\nb.org,-7\n" : csv;
                size_t longest;
                assert_int_equal(
                    tsd_plot_read_csv(&p, ts_slice_str(one), t_by(names ? "domain" : "day,domain"), &err), 0);
                tsd_plot_trim(&p);
                size_t n = lines_of(drawn(&p, width, height, true, false), &longest);
                assert_true(names || n <= (height < 14 ? 14 : height));
                assert_true(width < 40 || longest <= width);
                tsd_plot_release(&p);
            }
}

static void test_plotterm__the_largest_values_are_drawn(void **state)
{
    (void)state;
    struct qry_spec spec = {.start_ms = 1793491200000, .end_ms = 1793491200000 + 120000};
    struct tsd_plot p = {.title = "huge"};
    size_t longest;
    read_text(&p, "m 1793491200000 -1.7e308 {}\nm 1793491260000 1.7e308 {}\nm 1793491320000 5e-324 {}\n",
              &spec);
    tsd_plot_trim(&p);
    assert_true(lines_of(drawn(&p, 80, 24, true, false), &longest) <= 24 && longest <= 80);
    assert_non_null(strstr(text.p, "1.7e+308 ┤"));
    tsd_plot_release(&p);
}

static void test_plotterm__the_environment_says_what_is_shown(void **state)
{
    (void)state;
    struct tsd_terminal t;
    setenv("COLUMNS", "123", 1);
    setenv("LINES", "45", 1);
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "de_DE.utf8", 1);
    setenv("LANG", "C", 1);
    tsd_terminal_look(&t);
    assert_int_equal(t.width, 123);
    assert_int_equal(t.height, 45);
    assert_true(t.utf8);
    setenv("LC_ALL", "POSIX", 1);
    setenv("COLUMNS", "many", 1);
    setenv("LINES", "-3", 1);
    tsd_terminal_look(&t);
    assert_false(t.utf8);
    assert_true(t.is_tty || (t.width == 80 && t.height == 24 && !t.colours));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plotterm__dots_are_those_of_unicode),
        cmocka_unit_test(test_plotterm__lines_have_axes_gaps_and_figures),
        cmocka_unit_test(test_plotterm__counts_are_bars_from_zero),
        cmocka_unit_test(test_plotterm__thinned_json_brings_its_figures),
        cmocka_unit_test(test_plotterm__series_are_told_apart),
        cmocka_unit_test(test_plotterm__any_size_holds),
        cmocka_unit_test(test_plotterm__the_largest_values_are_drawn),
        cmocka_unit_test(test_plotterm__the_environment_says_what_is_shown),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    ts_buf_release(&text);
    return rc;
}
