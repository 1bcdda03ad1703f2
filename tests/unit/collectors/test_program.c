/*
 * test_program.c - when one program is started again: pauses, turns of the clock, status 13, silence. Clocks are set, programs are real.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "collectors/programs/program.h"
#include "t_points.h"

#include <poll.h>

#define S_NS  1000000000ll
#define T0_MS 1700000000000ll /* 20 s after a full minute */

static struct ts_conf *conf;
static struct t_points points;
static int64_t now_s; /* since T0 */

static void clock_set(int64_t s)
{
    now_s = s;
    ts_clock_set_fake(T0_MS + s * 1000);
    ts_clock_set_fake_mono((1000 + s) * S_NS);
}

static int setup(void **state)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    (void)state;
    conf = ts_conf_new(tables, 1);
    t_points_init(&points);
    clock_set(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ts_clock_set_fake(0);
    ts_clock_set_fake_mono(0);
    t_points_release(&points);
    ts_conf_free(conf);
    return 0;
}

static struct col_program_env at(void)
{
    return (struct col_program_env){.conf = conf, .folder = ""};
}

static struct col_program *program(const char *command, unsigned interval_s)
{
    struct col_program_file f = {
        .name = ts_xstrdup("p"), .path = ts_xstrdup(command), .shell = 1, .interval_s = interval_s};
    return col_program_new(&f, points.emit);
}

/* Steps until it does not run any more; the clocks stand still. */
static void run_out(struct col_program *p)
{
    struct col_program_env env = at();
    uint64_t n_starts = p->n_starts;
    col_program_step(&env, p);
    assert_int_equal(p->n_starts, n_starts + 1);
    while (p->child.pid) {
        struct pollfd fds[COL_CHILD_FDS];
        (void)poll(fds, col_child_fds(&p->child, fds), 100);
        col_program_read(p);
        if (col_child_over(&p->child))
            col_program_ended(&env, p, ts_clock_mono_ns());
    }
}

/* Seconds from now until its next start. */
static int64_t next_s(const struct col_program *p)
{
    return p->next_ns / S_NS - 1000 - now_s;
}

static void test_program__pauses_double_up_to_the_maximum(void **state)
{
    struct col_program *p = program("exit 1", 0);
    const int want[] = {1, 2, 4, 8, 10, 10};
    (void)state;
    assert_int_equal(ts_conf_set(conf, "collect_programs_retry_max_s", TS_SLICE_LIT("10"), "test", NULL), 0);
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        run_out(p);
        assert_int_equal(next_s(p), want[i]);
        clock_set(now_s + want[i]);
    }
    assert_int_equal(p->n_ends[COL_PROGRAM_FAILED], 6);
    /* one that ran for a minute begins anew */
    struct col_program_env env = at();
    col_program_start(&env, p, ts_clock_mono_ns());
    clock_set(now_s + 60);
    while (!col_child_over(&p->child))
        col_program_read(p);
    col_program_ended(&env, p, ts_clock_mono_ns());
    assert_int_equal(next_s(p), 1);
    col_program_free(p);
}

static void test_program__status_0_for_ever_waits_at_most_15_s(void **state)
{
    struct col_program *p = program("exit 0", 0);
    const int want[] = {1, 2, 4, 8, 15, 15};
    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        run_out(p);
        assert_int_equal(next_s(p), want[i]);
        clock_set(now_s + want[i]);
    }
    assert_int_equal(p->n_ends[COL_PROGRAM_OK], 6);
    col_program_free(p);
}

static void test_program__turns_of_the_clock(void **state)
{
    struct col_program *p = program("echo a.b 1700000000 5", 60);
    struct col_program_env env = at();
    (void)state;
    run_out(p); /* begun 40 s before the full minute */
    assert_int_equal(next_s(p), 40);
    col_program_step(&env, p);
    assert_int_equal(p->n_starts, 1); /* not before */
    clock_set(40);
    run_out(p);
    assert_int_equal(next_s(p), 60);
    clock_set(100 + 35); /* begun late: the turn 25 s away is left out */
    run_out(p);
    assert_int_equal(next_s(p), 25 + 60);
    assert_int_equal(p->n_points, 3);
    t_points_end(&points);
    assert_int_equal(points.n, 3);
    assert_int_equal(p->n_ends[COL_PROGRAM_OK], 3);
    col_program_free(p);
    /* one that fails leaves turns out when its pause is longer than the interval */
    p = program("exit 2", 10);
    clock_set(0);
    const int want[] = {10, 10, 10, 10, 20, 40};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        run_out(p);
        assert_int_equal(next_s(p), want[i]); /* pauses 1 2 4 8 16 32 */
        clock_set(now_s + want[i]);
    }
    col_program_free(p);
}

static void test_program__status_13_is_for_good_until_the_file_changes(void **state)
{
    struct col_program *p = program("exit 13", 10);
    struct col_program_env env = at();
    (void)state;
    run_out(p);
    assert_true(p->next_ns == INT64_MAX);
    assert_true(col_program_wake_ns(&env, p) == INT64_MAX);
    clock_set(1000000);
    col_program_step(&env, p);
    assert_int_equal(p->n_starts, 1);
    col_program_renew(p, 77);
    run_out(p);
    assert_int_equal(p->n_ends[COL_PROGRAM_NEVER], 2);
    col_program_free(p);
}

/* Steps until it was stopped. */
static void stopped(struct col_program *p)
{
    struct col_program_env env = at();
    col_program_step(&env, p);
    assert_true(p->child.asked);
    while (p->child.pid) {
        struct pollfd fds[COL_CHILD_FDS];
        (void)poll(fds, col_child_fds(&p->child, fds), 100);
        col_program_read(p);
        col_program_step(&env, p);
    }
    assert_int_equal(p->n_ends[COL_PROGRAM_STOPPED], 1);
}

static void test_program__silent_ones_and_late_ones_are_stopped(void **state)
{
    struct col_program *p = program("echo a.b 1700000000 5; exec sleep 1000", 0);
    struct col_program_env env = at();
    (void)state;
    col_program_step(&env, p);
    clock_set(300);
    while (!p->n_points) { /* its line comes at 300 s */
        struct pollfd fds[COL_CHILD_FDS];
        (void)poll(fds, col_child_fds(&p->child, fds), 100);
        col_program_read(p);
    }
    assert_true(col_program_wake_ns(&env, p) <= (1000 + 900) * S_NS);
    clock_set(899);
    col_program_step(&env, p);
    assert_false(p->child.asked);
    clock_set(900);
    stopped(p);
    assert_int_equal(next_s(p), 1);
    col_program_free(p);
    clock_set(0);
    p = program("exec sleep 1000", 30);
    col_program_step(&env, p);
    assert_true(col_program_wake_ns(&env, p) <=
                (1000 + 40) * S_NS); /* 10 s are less than half: it is the turn after */
    clock_set(39);
    col_program_step(&env, p);
    assert_false(p->child.asked);
    clock_set(40);
    stopped(p);
    assert_int_equal(next_s(p), 30);
    col_program_free(p);
    /* silence is nothing to one of an interval; and 0 s means never */
    assert_int_equal(ts_conf_set(conf, "collect_programs_silence_s", TS_SLICE_LIT("0"), "test", NULL), 0);
    p = program("exec sleep 1000", 0);
    col_program_step(&env, p);
    clock_set(100000);
    col_program_step(&env, p);
    assert_false(p->child.asked);
    col_child_stop(&p->child, 0);
    while (!col_child_over(&p->child))
        col_program_read(p);
    col_program_free(p);
}

static void test_program__bad_lines_are_counted(void **state)
{
    struct col_program *p = program("echo oops; echo a.b 1700000000 5; printf 'a.b 1700000001 6'", 0);
    (void)state;
    run_out(p);
    t_points_end(&points);
    assert_int_equal(p->n_points, 1);
    assert_int_equal(p->n_bad, 2);
    assert_int_equal(points.n, 1);
    col_program_free(p);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_program__pauses_double_up_to_the_maximum),
        CASE(test_program__status_0_for_ever_waits_at_most_15_s),
        CASE(test_program__turns_of_the_clock),
        CASE(test_program__status_13_is_for_good_until_the_file_changes),
        CASE(test_program__silent_ones_and_late_ones_are_stopped),
        CASE(test_program__bad_lines_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
