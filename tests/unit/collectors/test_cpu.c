/*
 * test_cpu.c - /proc/stat of several kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/parse.h"
#include "t_points.h"

extern const struct col_collector col_cpu;

static void parse(struct t_points *p, const char *text)
{
    t_points_clear(p);
    col_cpu_parse(ts_slice_str(text), p->emit);
    t_points_end(p);
    assert_true(t_all_listed(p, &col_cpu));
}

/* Linux 6.1, cores 1 and 3 switched off */
static void test_cpu__columns_have_the_kernels_names(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, "cpu  4705 356 584 3699176 23060 7 23 99 11 2\n"
              "cpu0 1393280 32966 572056 13343292 6130 0 17875 1 2 3\n"
              "cpu2 1 2 3 4 5 6 7 8 9 10\n"
              "intr 8885917 17 0 0 0 0 0 0 0 1 79281 0 0\n"
              "ctxt 38014093\nbtime 1418183276\nprocesses 26442\nprocs_running 3\nprocs_blocked 1\n"
              "softirq 5057579 250191 1481983 1647 211099 186066 0 1783454 622196 12499 508444\n");
    assert_string_equal(t_value(&p, "proc.stat.cpu type=user"), "4705");
    assert_string_equal(t_value(&p, "proc.stat.cpu type=steal"), "99");
    assert_string_equal(t_value(&p, "proc.stat.cpu type=guest"), "11");
    assert_string_equal(t_value(&p, "proc.stat.cpu type=guest_nice"), "2");
    assert_string_equal(t_value(&p, "proc.stat.cpu.percpu cpu=0 type=idle"), "13343292");
    assert_string_equal(t_value(&p, "proc.stat.cpu.percpu cpu=2 type=guest_nice"), "10");
    assert_string_equal(t_value(&p, "proc.stat.cpu.percpu cpu=1 type=idle"), "");
    assert_string_equal(t_value(&p, "proc.stat.intr"), "8885917");
    assert_string_equal(t_value(&p, "proc.stat.ctxt"), "38014093");
    assert_string_equal(t_value(&p, "proc.stat.processes"), "26442");
    assert_string_equal(t_value(&p, "proc.stat.procs_blocked"), "1");
    assert_string_equal(t_value(&p, "proc.stat.btime"), "1418183276");
    assert_int_equal(p.n, 35);
    t_points_release(&p);
}

/* Linux 2.6.18: eight columns; 2.4: four, and no line of a single core */
static void test_cpu__old_kernels_have_fewer(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, "cpu  10 20 30 40 50 60 70 80\ncpu0 10 20 30 40 50 60 70 80\nintr 1\nctxt 2\n");
    assert_int_equal(p.n, 18);
    assert_string_equal(t_value(&p, "proc.stat.cpu type=steal"), "80");
    assert_string_equal(t_value(&p, "proc.stat.cpu type=guest"), "");
    parse(&p, "cpu 10 20 30 40\npage 1 2\nswap 3 4\n");
    assert_int_equal(p.n, 4);
    t_points_release(&p);
}

/* columns of kernels to come, counters at their end, nonsense, nothing */
static void test_cpu__odd_texts(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    parse(&p, "cpu  1 2 3 4 5 6 7 8 9 10 11 12 13\nctxt 18446744073709551615\nintr 18446744073709551616\n");
    assert_int_equal(p.n, 11);
    assert_string_equal(t_value(&p, "proc.stat.ctxt"), "9223372036854775807");
    parse(&p, "");
    assert_int_equal(p.n, 0);
    parse(&p, "cpu\ncpu0\n\nctxt\nctxt x\nprocesses -1\ncpu1 1 x 3");
    assert_int_equal(p.n, 1);
    t_points_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu__columns_have_the_kernels_names),
        cmocka_unit_test(test_cpu__old_kernels_have_fewer),
        cmocka_unit_test(test_cpu__odd_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
