/*
 * test_graph.c - the script for gnuplot never holds anything but checked words, numbers and quoted strings; where the legend is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tsd/protocols/http/graph.h"
#include "tests/unit/t_random.h"

static const char *const names[] = {"yrange",  "y2range",  "ylabel",  "y2label", "title",
                                    "yformat", "y2format", "xformat", "key",     "wxh",
                                    "fgcolor", "style",    "smooth",  "bgcolor", "o"};

/* Is every line of the script one that we wrote? Quotes must close on their line, and no shell is spoken to. */
static void check_script(const struct ts_buf *b, const char *value)
{
    bool quoted = false;
    for (size_t i = 0; i < b->n; i++) {
        if (b->p[i] == '\'')
            quoted = !quoted;
        if (b->p[i] == '\n' && quoted)
            fail_msg("an open quote with %s", value);
        if (!quoted && (b->p[i] == ';' || b->p[i] == '`' || b->p[i] == '!' || b->p[i] == '|'))
            fail_msg("%c in the script with %s", b->p[i], value);
    }
}

static void one(const char *name, struct ts_slice value)
{
    struct ts_arena arena;
    struct tsd_graph g;
    struct ts_error err = {0};
    struct ts_buf b;
    struct qry_param param = {ts_slice_str(name), value};
    struct qry_spec spec = {.start_ms = 0, .end_ms = 60000, .n_subs = 1};
    int64_t x[] = {1, 2};
    double y[] = {1.5, -1e300};
    char title[] = "m{a=it's; system \"id\"}", said[] = "it's `done`; plot\n!id";
    struct tsd_graph_note note = {1, said};
    struct tsd_graph_line line = {.name = title, .x_s = x, .y = y, .n = 2};
    ts_arena_init(&arena, 0);
    ts_buf_init(&b, 0);
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("UTC"), &spec.tz, &err), 0);
    if (tsd_graph_parse(&param, 1, 1, false, &arena, &g, &err) == 0) {
        g.notes = &note;
        g.n_notes = 1;
        tsd_graph_script(&g, &spec, &line, 1, &b);
        assert_false(b.failed);
        check_script(&b, err.text);
    } else {
        assert_true(err.text[0]);
    }
    ts_buf_release(&b);
    ts_arena_release(&arena);
}

static void test_graph__nothing_leaves_its_quotes(void **state)
{
    static const char *const seeds[] = {"[0:100]", "axis x1y2", "%H:%M",  "out right box",
                                        "640x480", "x00ff00",   "bezier", "a b_c"};
    static const char evil[] = "';`\"!|\n\\$()[]{}:%xX0123456789.-+eE ab\t\0\xff";
    uint64_t rnd = 88172645463325252ull;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[32];
        const char *seed = seeds[(size_t)round % (sizeof(seeds) / sizeof(seeds[0]))];
        size_t n = strlen(seed);
        memcpy(text, seed, n);
        for (int k = 0; k < round % 3; k++) {
            (void)t_random(&rnd);
            text[rnd % n] = evil[(rnd >> 32) % sizeof(evil)];
        }
        char *copy = malloc(n + 1);
        memcpy(copy, text, n);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            one(names[i], (struct ts_slice){copy, n});
        free(copy);
    }
}

static void test_graph__empty_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        one(names[i], (struct ts_slice){"", 0});
        one(names[i], (struct ts_slice){NULL, 0});
    }
}

static void test_graph__how_long_it_holds(void **state)
{
    (void)state;
    const int64_t now = 2000000000000, hour = 3600000;
    struct qry_param fixed[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("2033/01/01")},
                                {TS_SLICE_LIT("end"), TS_SLICE_LIT("1")}};
    struct qry_param moving[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("2h-ago")}};
    assert_int_equal(tsd_graph_max_age_s(fixed, 2, now - 9 * hour, now - 2 * hour, now), 86400);
    assert_int_equal(tsd_graph_max_age_s(fixed, 2, now - 9 * hour, now - hour / 2, now), 30600 / 1024);
    assert_int_equal(tsd_graph_max_age_s(fixed, 2, now - 9 * hour, now + 1, now), 0);
    assert_int_equal(tsd_graph_max_age_s(moving, 1, now - 9 * hour, now - 2 * hour, now), 7 * 3600 / 1024);
    assert_int_equal(tsd_graph_max_age_s(moving, 1, now - 2 * hour, now, now), 7);
    assert_int_equal(tsd_graph_max_age_s(fixed, 1, now, now, now), 0);
}

static void test_graph__compat_passes_over_other_plot_options(void **state)
{
    (void)state;
    struct qry_param o = {TS_SLICE_LIT("o"), TS_SLICE_LIT("with lines")};
    struct ts_arena arena;
    struct tsd_graph g;
    struct ts_error err = {0};
    ts_arena_init(&arena, 0);
    assert_int_equal(tsd_graph_parse(&o, 1, 1, false, &arena, &g, &err), TS_EINVAL);
    assert_int_equal(tsd_graph_parse(&o, 1, 1, true, &arena, &g, &err), 0);
    assert_false(g.any_y2);
    assert_int_equal(tsd_graph_parse(&o, 1, 2, true, &arena, &g, &err), TS_EINVAL); /* one for two of m */
    ts_arena_release(&arena);
}

static int64_t t_start_ms = 0, t_end_ms = 60000; /* of t_script */

/* The script for n lines of two points with such parameters, in a zone of UTC, valid until the next call. */
static const char *t_script(const char *name, const char *value, bool compat, size_t n)
{
    static struct ts_buf b;
    struct ts_arena arena;
    struct tsd_graph g;
    struct ts_error err = {0};
    struct qry_param param = {ts_slice_str(name), ts_slice_str(value)};
    struct qry_sub sub = {.unit = "bytes"};
    struct qry_spec spec = {.start_ms = t_start_ms, .end_ms = t_end_ms, .subs = &sub, .n_subs = 1};
    struct tsd_graph_line *lines = calloc(n, sizeof(*lines));
    int64_t x[] = {1, 2};
    double y[] = {0, 2e9};
    assert_non_null(lines);
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("UTC"), &spec.tz, &err), 0);
    ts_arena_init(&arena, 0);
    ts_buf_release(&b);
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < n; i++) {
        char title[100];
        snprintf(title, sizeof(title), "m{dc=eu, pod=frontend-of-a-large-customer-in-production-%04zu}", i);
        lines[i] = (struct tsd_graph_line){.name = strdup(title), .x_s = x, .y = y, .n = 2};
    }
    assert_int_equal(tsd_graph_parse(&param, 1, 1, compat, &arena, &g, &err), 0);
    tsd_graph_script(&g, &spec, lines, n, &b);
    ts_buf_char(&b, 0);
    for (size_t i = 0; i < n; i++)
        free(lines[i].name);
    free(lines);
    ts_arena_release(&arena);
    return b.p;
}

static void test_graph__an_instant_has_a_second_on_each_side(void **state)
{
    (void)state;
    assert_non_null(strstr(t_script("nokey", "", false, 1), "set xrange ['0':'60']\n"));
    t_start_ms = 20000;
    t_end_ms = 20900;
    assert_non_null(strstr(t_script("nokey", "", false, 1), "set xrange ['19':'21']\n"));
    t_start_ms = 0;
    t_end_ms = 60000;
}

static void test_graph__a_legend_lies_outside_of_the_curves(void **state)
{
    (void)state;
    const char *s = t_script("wxh", "1024x768", false, 60);
    assert_non_null(strstr(s, "set key outside right top vertical"));
    assert_non_null(strstr(s, "title 'pod=frontend-of-…n-production-0000'"));
    assert_null(strstr(s, "-0059'"));
    assert_non_null(strstr(s, "keyentry title 'and 33 more'"));
    assert_non_null(strstr(s, "set style data lines\n"));
    s = t_script("wxh", "400x300", false, 3);
    assert_non_null(strstr(s, "set key outside below vertical"));
    assert_non_null(strstr(s, "-0002'"));
    assert_non_null(strstr(s, "set style data linespoints\n"));
    assert_non_null(strstr(t_script("wxh", "300x150", false, 3), "set key off\n"));
    /* what is asked for is drawn so */
    assert_non_null(strstr(t_script("key", "top left", false, 60), "set key top left textcolor"));
    assert_non_null(strstr(t_script("nokey", "", false, 2), "set key off\n"));
    assert_non_null(strstr(t_script("style", "linespoint", false, 60), "set style data linespoints\n"));
    /* OpenTSDB's defaults */
    s = t_script("wxh", "1024x768", true, 60);
    assert_non_null(strstr(s, "set key right box textcolor"));
    assert_non_null(strstr(s, "title 'm{dc=eu, pod=frontend-of-a-large-customer-in-production-0059}'"));
    assert_non_null(strstr(s, "set style data linespoints\n"));
    assert_null(strstr(s, "set ytics ("));
}

static void test_graph__numbers_have_the_unit_unless_a_format_is_given(void **state)
{
    (void)state;
    assert_non_null(
        strstr(t_script("wxh", "640x480", false, 1), "set ytics ('0' 0.0, '0.5 GiB' 536870912.0"));
    assert_null(strstr(t_script("yformat", "%.2f", false, 1), "set ytics ("));
    assert_null(strstr(t_script("yrange", "[0:10]", false, 1), "set ytics ("));
    assert_null(strstr(t_script("ylog", "", false, 1), "set ytics ("));
    assert_non_null(strstr(t_script("o", "axis x1y2", false, 1), "set y2tics ('0' 0.0, '0.5 GiB'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph__nothing_leaves_its_quotes),
        cmocka_unit_test(test_graph__empty_values),
        cmocka_unit_test(test_graph__compat_passes_over_other_plot_options),
        cmocka_unit_test(test_graph__an_instant_has_a_second_on_each_side),
        cmocka_unit_test(test_graph__a_legend_lies_outside_of_the_curves),
        cmocka_unit_test(test_graph__numbers_have_the_unit_unless_a_format_is_given),
        cmocka_unit_test(test_graph__how_long_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
