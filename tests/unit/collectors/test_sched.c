/*
 * test_sched.c - turns of collectors: a slow one delays nobody, errors are counted, those with nothing to measure are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/time.h"
#include "collectors/core/sched.h"
#include "t_points.h"

#define WAIT_MS 60000

static const struct col_metric metrics[] = {{"m", "", "1", "x", COL_GAUGE},
                                            {NULL, NULL, NULL, NULL, COL_GAUGE}};
static atomic_int n_puts, n_released, n_runs;
static atomic_bool let_go, plugged;
static _Atomic int64_t slow_began_ms; /* when slow came to its first read; 0: it has not */

static int count_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    (void)arg;
    (void)durable;
    (void)err;
    n_puts += (int)n_points;
    return memcmp(lines.p, "put m ", 6) ? TS_EINVAL : 0;
}

static int quick_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)state;
    (void)err;
    col_emit_int(emit, "m", 1, COL_NO_TAGS);
    return 0;
}

static int slow_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)state;
    (void)emit;
    (void)err;
    if (slow_began_ms == 0)
        slow_began_ms = ts_clock_ms();
    while (!let_go)
        usleep(5000);
    return 0;
}

static int bad_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)state;
    col_emit_int(emit, "m", 1, COL_NO_TAGS); /* counts all the same */
    return ts_error_set(err, TS_EIO, "broken");
}

static int none_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    (void)ctx;
    (void)out_state;
    return ts_error_set(err, TS_ENOTFOUND, "nothing here");
}

static int plug_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    (void)ctx;
    (void)out_state;
    return plugged ? 0 : ts_error_set(err, TS_ENOTFOUND, "not plugged in");
}

static int wrong_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    (void)ctx;
    (void)out_state;
    return ts_error_set(err, TS_EINVAL, "collect_x = 7 must divide 900");
}

static void count_release(void *state)
{
    (void)state;
    n_released++;
}

static int own_run(void *state, struct col_emit *emit, int stop_fd, struct ts_error *err)
{
    (void)state;
    if (n_runs++ == 0)
        return ts_error_set(err, TS_EIO, "not yet");
    col_emit_int(emit, "m", 1, COL_NO_TAGS);
    struct pollfd p = {.fd = stop_fd, .events = POLLIN};
    (void)poll(&p, 1, -1);
    return 0;
}

static const struct col_collector quick = {.name = "quick",
                                           .help = "x",
                                           .metrics = metrics,
                                           .interval_s = 1,
                                           .read = quick_read,
                                           .release = count_release},
                                  slow = {.name = "slow",
                                          .help = "x",
                                          .metrics = metrics,
                                          .interval_s = 1,
                                          .read = slow_read,
                                          .release = count_release},
                                  bad = {.name = "bad",
                                         .help = "x",
                                         .metrics = metrics,
                                         .interval_s = 1,
                                         .read = bad_read},
                                  none = {.name = "none",
                                          .help = "x",
                                          .metrics = metrics,
                                          .interval_s = 1,
                                          .init = none_init,
                                          .read = quick_read},
                                  plug = {.name = "plug",
                                          .help = "x",
                                          .metrics = metrics,
                                          .interval_s = 1,
                                          .init = plug_init,
                                          .read = quick_read,
                                          .release = count_release},
                                  wrong = {.name = "wrong",
                                           .help = "x",
                                           .metrics = metrics,
                                           .interval_s = 1,
                                           .init = wrong_init,
                                           .read = quick_read},
                                  own = {.name = "own", .help = "x", .metrics = metrics, .run = own_run},
                                  rates = {.name = "rates",
                                           .help = "x",
                                           .metrics = metrics,
                                           .interval_s = 3600,
                                           .rates = true,
                                           .read = quick_read};

static int setup(void **state)
{
    (void)state;
    n_puts = n_released = n_runs = 0;
    let_go = plugged = false;
    slow_began_ms = 0;
    return 0;
}

static struct col_sched *start(const struct col_collector *const *list)
{
    struct col_sched_opts opts = {.collectors = list, .emit = {.out = {.put = count_put}}};
    struct col_sched *s;
    assert_int_equal(col_sched_start(&opts, &s, NULL), 0);
    return s;
}

static struct col_sched_stats stats(const struct col_sched *s, unsigned i)
{
    struct col_sched_stats st;
    assert_true(col_sched_stats(s, i, &st));
    return st;
}

static void test_sched__a_slow_one_delays_nobody(void **state)
{
    static const struct col_collector *const list[] = {&none, &quick, &slow, NULL};
    (void)state;
    struct col_sched *s = start(list);
    for (int i = 0; i < WAIT_MS / 10 && stats(s, 1).n_reads < 3; i++)
        usleep(10000);
    assert_true(stats(s, 1).n_reads >= 3);
    assert_int_equal(stats(s, 2).n_reads, 0);
    assert_string_equal(stats(s, 2).name, "slow");
    struct col_sched_stats st;
    assert_false(stats(s, 0).ready); /* none has nothing to measure */
    assert_false(col_sched_stats(s, 3, &st));
    unsigned n_stuck = col_sched_stop(s, 0);
    for (int i = 0; i < WAIT_MS / 10 && n_stuck > 1; i++)
        n_stuck = col_sched_stop(s, 10);
    assert_int_equal(n_stuck, 1); /* it hangs; the others have ended */
    let_go = true;
    assert_int_equal(col_sched_stop(s, WAIT_MS), 0);
    assert_int_equal(n_released, 2);
}

static void test_sched__errors_and_missed_turns_are_counted(void **state)
{
    static const struct col_collector *const list[] = {&bad, &slow, NULL};
    (void)state;
    struct col_sched *s = start(list);
    for (int i = 0; i < WAIT_MS / 10 && stats(s, 0).n_reads < 3; i++)
        usleep(10000);
    for (int i = 0; i < WAIT_MS / 10 && slow_began_ms == 0; i++)
        usleep(10000);
    assert_true(slow_began_ms > 0);
    while (ts_clock_ms() / 1000 <= slow_began_ms / 1000) /* until its next turn has begun */
        usleep(10000);
    let_go = true;
    for (int i = 0; i < WAIT_MS / 10 && stats(s, 1).n_skipped < 1; i++)
        usleep(10000);
    assert_true(stats(s, 0).n_failed >= 3);
    assert_true(stats(s, 0).n_points >= 3);
    assert_true(stats(s, 1).n_skipped >= 1);
    assert_int_equal(col_sched_stop(s, WAIT_MS), 0);
    assert_int_equal(col_sched_stop(NULL, 0), 0);
}

static void test_sched__runners_come_back_after_an_error(void **state)
{
    static const struct col_collector *const list[] = {&own, NULL};
    (void)state;
    struct col_sched *s = start(list);
    for (int i = 0; i < WAIT_MS / 10 && n_runs < 2; i++)
        usleep(10000);
    assert_int_equal(n_runs, 2);
    assert_int_equal(col_sched_stop(s, WAIT_MS), 0);
    assert_int_equal(n_puts, 1); /* what it had not ended goes out at the end */
}

/* A device is plugged in while collectors run. */
static void test_sched__sources_that_come_later_are_noticed(void **state)
{
    static const struct col_collector *const list[] = {&plug, &own, NULL};
    struct col_sched_opts opts = {.collectors = list, .emit = {.out = {.put = count_put}}, .look_ms = 5};
    struct col_sched *s;
    (void)state;
    assert_int_equal(col_sched_start(&opts, &s, NULL), 0);
    assert_false(stats(s, 0).ready);
    plugged = true;
    for (int i = 0; i < WAIT_MS / 10 && stats(s, 0).n_points < 1; i++)
        usleep(10000);
    assert_true(stats(s, 0).ready);
    assert_true(stats(s, 0).n_reads >= 1);
    assert_int_equal(col_sched_stop(s, WAIT_MS), 0);
    assert_int_equal(n_released, 1);
}

static void test_sched__a_wrong_key_ends_the_start(void **state)
{
    static const struct col_collector *const list[] = {&quick, &wrong, NULL};
    struct col_sched_opts opts = {.collectors = list, .emit = {.out = {.put = count_put}}};
    struct ts_error err = {0};
    struct col_sched *s;
    (void)state;
    assert_int_equal(col_sched_start(&opts, &s, &err), TS_EINVAL);
    assert_string_equal(err.text, "collector wrong: collect_x = 7 must divide 900");
    assert_null(s);
    assert_int_equal(col_sched_once(&opts, NULL), TS_EINVAL);
    assert_int_equal(n_puts, 0);
}

static void test_sched__once(void **state)
{
    static const struct col_collector *const list[] = {&quick, &rates, &bad, &own, NULL}, *const nothing[] = {
                                                                                              &none, NULL};
    struct col_sched_opts opts = {.collectors = list, .emit = {.out = {.put = count_put}}};
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(col_sched_once(&opts, &err), 0);
    assert_int_equal(n_puts, 3);
    opts.collectors = nothing;
    assert_int_equal(col_sched_once(&opts, &err), TS_ENOTFOUND);
    struct col_sched *s;
    assert_int_equal(col_sched_start(&opts, &s, &err), TS_ENOTFOUND);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sched__a_slow_one_delays_nobody, setup),
        cmocka_unit_test_setup(test_sched__errors_and_missed_turns_are_counted, setup),
        cmocka_unit_test_setup(test_sched__runners_come_back_after_an_error, setup),
        cmocka_unit_test_setup(test_sched__sources_that_come_later_are_noticed, setup),
        cmocka_unit_test_setup(test_sched__a_wrong_key_ends_the_start, setup),
        cmocka_unit_test_setup(test_sched__once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
