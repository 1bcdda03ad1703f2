/*
 * test_thread.c - what threads inherit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>

#include "base/thread.h"

static void *note_policy(void *arg)
{
    *(int *)arg = sched_getscheduler(0);
    return NULL;
}

static void *go_idle(void *arg)
{
    int *policy = arg;
    pthread_t thread;
    ts_thread_idle();
    policy[0] = sched_getscheduler(0);
    if (ts_thread_start(&thread, &(struct ts_thread_opts){.fn = note_policy, .arg = &policy[1]}) == 0)
        pthread_join(thread, NULL);
    return NULL;
}

/* The thread that asks for it and those that it starts are idle, and no others. */
static void test_thread__idle_threads_start_idle_threads(void **state)
{
    (void)state;
    int policy[2] = {-1, -1}, other = -1;
    pthread_t thread;
    assert_int_equal(ts_thread_start(&thread, &(struct ts_thread_opts){.fn = go_idle, .arg = policy}), 0);
    pthread_join(thread, NULL);
    assert_int_equal(ts_thread_start(&thread, &(struct ts_thread_opts){.fn = note_policy, .arg = &other}), 0);
    pthread_join(thread, NULL);
    assert_int_equal(policy[0], SCHED_IDLE);
    assert_int_equal(policy[1], SCHED_IDLE);
    assert_int_equal(other, SCHED_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread__idle_threads_start_idle_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
