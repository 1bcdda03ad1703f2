/*
 * test_axis.c - numbers beside the axis of a picture are short, in one unit, and hold the values between them.
 */
#include "tsd/format/picture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_axis__numbers_are_written_in_one_unit(void **state)
{
    (void)state;
    static const struct {
        double min, max;
        bool from_zero;
        const char *unit, *want; /* the numbers, a blank and a bar between */
    } rows[] = {
        {0, 1.1e9, true, "", "0 | 0.2 G | 0.4 G | 0.6 G | 0.8 G | 1.0 G | 1.2 G"},
        {3, 2.4e8, true, "hits", "0 | 50 M | 100 M | 150 M | 200 M | 250 M"},
        {5, 29000, true, "", "0 | 5000 | 10000 | 15000 | 20000 | 25000 | 30000"},
        {0, 1.2e9, true, "bytes", "0 | 0.2 GiB | 0.4 GiB | 0.6 GiB | 0.8 GiB | 1.0 GiB | 1.2 GiB"},
        {0, 700, true, "bytes", "0 | 200 B | 400 B | 600 B | 800 B"},
        {0, 90000, true, "bytes/s", "0 | 20 KiB/s | 40 KiB/s | 60 KiB/s | 80 KiB/s | 100 KiB/s"},
        {0, 2.5e6, true, "bits", "0 | 0.5 Mbit | 1.0 Mbit | 1.5 Mbit | 2.0 Mbit | 2.5 Mbit"},
        {0.0001, 0.0041, false, "s", "0 | 1 ms | 2 ms | 3 ms | 4 ms | 5 ms"},
        {0, 45, true, "ms", "0 | 10 ms | 20 ms | 30 ms | 40 ms | 50 ms"},
        {0, 21000, true, "s", "0 | 1 h | 2 h | 3 h | 4 h | 5 h | 6 h"},
        {10, 90, false, "percent", "0 | 20 % | 40 % | 60 % | 80 % | 100 %"},
        {-15, 5, false, "", "-15 | -10 | -5 | 0 | 5"},
        {0, 9.9e-11, false, "", "0 | 2e-11 | 4e-11 | 6e-11 | 8e-11 | 1e-10"},
        {0, 9.9e31, false, "", "0 | 2e+31 | 4e+31 | 6e+31 | 8e+31 | 1e+32"},
        {1e9, 1e9 + 99, false, "",
         "1000000000 | 1000000020 | 1000000040 | 1000000060 | 1000000080 | 1000000100"},
        {1e6, 1e6, false, "", "0.94 M | 0.96 M | 0.98 M | 1.00 M | 1.02 M | 1.04 M | 1.06 M"},
        {1, -1, true, "", "0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0"},
        {-3, -1, true, "s/s", "-3.0 | -2.5 | -2.0 | -1.5 | -1.0 | -0.5 | 0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tsd_axis a;
        struct ts_buf all;
        char text[TSD_AXIS_TEXT_BYTES];
        ts_buf_init(&all, 0);
        tsd_axis_choose(rows[i].min, rows[i].max, rows[i].from_zero, rows[i].unit, &a);
        assert_true(a.step > 0);
        for (int k = 0; a.lo + k * a.step < a.hi + a.step / 2; k++) {
            (void)tsd_axis_print(&a, a.lo + k * a.step, text);
            ts_buf_printf(&all, "%s%s", k ? " | " : "", text);
        }
        ts_buf_char(&all, 0);
        assert_string_equal(all.p, rows[i].want);
        ts_buf_release(&all);
    }
}

static void test_axis__any_values_lie_between_the_ends(void **state)
{
    (void)state;
    static const double values[] = {-INFINITY, -1.7e308, -1e30, -7, -1e-300, 0,   5e-324, 1e-200,  1e-9,
                                    0.1,       1,        3,     99, 1e6,     1e9, 1e250,  1.7e308, INFINITY};
    const size_t n = sizeof(values) / sizeof(values[0]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            for (int zero = 0; zero < 2; zero++) {
                struct tsd_axis a;
                struct ts_buf script;
                ts_buf_init(&script, 0);
                tsd_axis_choose(values[i], values[k], zero, "bytes", &a);
                if (a.step > 0) {
                    assert_true(a.lo <= values[i] + a.step / 1000 && a.hi >= values[k] - a.step / 1000);
                    assert_true((a.hi - a.lo) / a.step < 20);
                }
                tsd_axis_script(&a, "y", &script);
                ts_buf_char(&script, 0);
                assert_null(strstr(script.p, "nan"));
                assert_null(strstr(script.p, "inf"));
                ts_buf_release(&script);
            }
}

/* gnuplot takes what stands beside an axis for a format. */
static void test_axis__percent_signs_are_doubled_in_the_script(void **state)
{
    (void)state;
    struct tsd_axis a;
    struct ts_buf script;
    ts_buf_init(&script, 0);
    tsd_axis_choose(0, 100, true, "percent", &a);
    tsd_axis_script(&a, "y", &script);
    ts_buf_char(&script, 0);
    assert_string_equal(script.p, "set yrange [0.0:100.0]\nset ytics ('0' 0.0, '20 %%' 20.0, '40 %%' 40.0, "
                                  "'60 %%' 60.0, '80 %%' 80.0, '100 %%' 100.0)\n");
    ts_buf_release(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axis__numbers_are_written_in_one_unit),
        cmocka_unit_test(test_axis__percent_signs_are_doubled_in_the_script),
        cmocka_unit_test(test_axis__any_values_lie_between_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
