/*
 * test_waiting.c - points that wait: what makes two lines one point, many of them, and what is left when some go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collectors/core/waiting.h"

#define N_MANY 5000

static struct col_waiting w;
static struct ts_buf text;

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    ts_buf_init(&text, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    col_waiting_clear(&w);
    col_waiting_clear(&w);
    ts_buf_release(&text);
    return 0;
}

static uint64_t count(const char *line)
{
    return col_waiting_count(&w, ts_slice_str(line));
}

static void test_waiting__a_point_is_a_series_and_a_time(void **state)
{
    (void)state;
    assert_int_equal(count("put m 1 2 a=b"), 0);
    col_waiting_add(&w, TS_SLICE_LIT("put m 1 2 a=b\nput m 1 3 a=c\nput m 1 4 a=b\n"));
    assert_int_equal(w.n_lines, 3);
    assert_int_equal(count("put m 1 77 a=b"), 2);
    assert_int_equal(count("put m 1 2 a=c"), 1);
    assert_int_equal(count("put m 1 2 a=d"), 0);
    assert_int_equal(count("put m 2 2 a=b"), 0);
    assert_int_equal(count("put n 1 2 a=b"), 0);
    col_waiting_remove(&w, TS_SLICE_LIT("put m 1 9 a=b\nput m 1 9 a=d\n"));
    assert_int_equal(count("put m 1 2 a=b"), 1);
    assert_int_equal(w.n_lines, 2);
    col_waiting_remove(&w, TS_SLICE_LIT("put m 1 9 a=b\nput m 1 9 a=b\nput m 1 9 a=c\n"));
    assert_int_equal(w.n_lines, 0);
    assert_int_equal(count("put m 1 2 a=b"), 0);
}

static void test_waiting__lines_of_one_time_are_split_by_series(void **state)
{
    struct col_lines yes = {.n = 7}, no = {.n = 7};
    (void)state;
    ts_buf_init(&yes.text, 0);
    ts_buf_init(&no.text, 0);
    const struct ts_slice lines = TS_SLICE_LIT("put m 1 2 a=b\nput m 1 3 a=c\nput m 1 4 a=b\n");
    col_waiting_add(&w, lines);
    col_waiting_split(&w, lines, 1, true, &yes, &no); /* the last value of each point stays */
    assert_true(ts_slice_is(ts_buf_get(&yes.text), "put m 1 2 a=b\n"));
    assert_true(ts_slice_is(ts_buf_get(&no.text), "put m 1 3 a=c\nput m 1 4 a=b\n"));
    assert_int_equal(yes.n, 1);
    assert_int_equal(no.n, 2);
    assert_int_equal(w.n_lines, 2);
    col_waiting_split(&w, lines, 0, false, &yes, &no); /* nobody leaves */
    assert_int_equal(yes.n, 3);
    assert_int_equal(no.n, 0);
    assert_int_equal(w.n_lines, 2);
    ts_buf_release(&yes.text);
    ts_buf_release(&no.text);
}

/* More than the table begins with; those that left make room for others when it grows. */
static void test_waiting__many_points(void **state)
{
    char line[64];
    (void)state;
    for (int round = 0; round < 3; round++) {
        ts_buf_clear(&text);
        for (int i = 0; i < N_MANY; i++)
            ts_buf_printf(&text, "put m %d %d a=b\n", i + round * N_MANY, i);
        col_waiting_add(&w, ts_buf_get(&text));
        assert_int_equal(w.n_lines, N_MANY);
        for (int i = 0; i < N_MANY; i++) {
            snprintf(line, sizeof(line), "put m %d 0 a=b", i + round * N_MANY);
            if (count(line) != 1)
                fail_msg("%s waits %llu times", line, (unsigned long long)count(line));
        }
        col_waiting_remove(&w, ts_buf_get(&text));
        assert_int_equal(w.n_lines, 0);
    }
    assert_true(w.n_places <= 8 * N_MANY);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_waiting__a_point_is_a_series_and_a_time),
        CASE(test_waiting__lines_of_one_time_are_split_by_series),
        CASE(test_waiting__many_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
