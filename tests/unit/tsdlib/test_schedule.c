/*
 * test_schedule.c - order, shares of addresses, limits of the queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "tsd/daemon/schedule.h"

#define WAIT_MS 60000 /* for threads that begin at once on a machine that is not busy */

static struct tsd_schedule *s; /* of the case at hand; NULL = none */

/* Entries wait in a thread until they are let go, and note the order in which they begin. */
static struct {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    unsigned n_let; /* entries that may end */
    unsigned n_begun;
    char order[64];
} gate = {.mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void entry(void *arg)
{
    pthread_mutex_lock(&gate.mu);
    gate.order[gate.n_begun++] = *(const char *)arg;
    while (!gate.n_let)
        pthread_cond_wait(&gate.cond, &gate.mu);
    gate.n_let--;
    pthread_mutex_unlock(&gate.mu);
}

static void let(unsigned n)
{
    pthread_mutex_lock(&gate.mu);
    gate.n_let += n;
    pthread_cond_broadcast(&gate.cond);
    pthread_mutex_unlock(&gate.mu);
}

static void reset(void)
{
    gate.n_let = gate.n_begun = 0;
    memset(gate.order, 0, sizeof(gate.order));
}

/* Wait until so many have begun. */
static void begun(unsigned n)
{
    unsigned now = 0;
    for (int i = 0; i < WAIT_MS; i++) {
        pthread_mutex_lock(&gate.mu);
        now = gate.n_begun;
        pthread_mutex_unlock(&gate.mu);
        if (now >= n)
            return;
        poll(NULL, 0, 1);
    }
    fail_msg("only %u of %u entries have begun", now, n);
}

static void make(struct tsd_schedule_limits limits)
{
    reset();
    s = tsd_schedule_new("t", &limits);
}

/* Ends when all that waits has run. */
static void end(void)
{
    tsd_schedule_free(s);
    s = NULL;
}

/* A case that failed leaves threads that wait in entry(): they end here, before the next case begins. */
static int tear_down(void **state)
{
    (void)state;
    let(sizeof(gate.order));
    end();
    return 0;
}

static int add(uint64_t address, bool local, const char *name)
{
    return tsd_schedule_add(s, address, local, entry, (void *)(uintptr_t)name, NULL);
}

static void test_schedule__others_come_before_the_rest_of_one_address(void **state)
{
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 1, .max_waiting = 9, .max_per_address = 9});
    assert_int_equal(add(1, false, "a"), 0);
    begun(1);
    assert_int_equal(add(1, false, "b"), 0);
    assert_int_equal(add(1, false, "c"), 0);
    assert_int_equal(add(2, false, "d"), 0);
    let(4);
    end();
    assert_string_equal(gate.order, "abcd");
    make((struct tsd_schedule_limits){.n_threads = 2, .max_waiting = 9, .max_per_address = 9});
    assert_int_equal(add(1, true, "a"), 0);
    assert_int_equal(add(1, true, "b"), 0);
    begun(2);
    assert_int_equal(add(1, true, "c"), 0);
    assert_int_equal(add(2, true, "d"), 0);
    let(1);
    begun(3);
    assert_int_equal(gate.order[2], 'd'); /* y runs none, x still one */
    let(3);
    end();
}

static void test_schedule__one_address_leaves_threads_for_others(void **state)
{
    struct tsd_schedule_counts n;
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 4, .max_waiting = 9, .max_per_address = 9});
    for (int i = 0; i < 5; i++)
        assert_int_equal(add(1, false, "a"), 0);
    begun(3);
    tsd_schedule_count(s, &n);
    assert_int_equal(n.n_running, 3);
    assert_int_equal(n.n_waiting, 2);
    assert_int_equal(add(2, false, "b"), 0);
    begun(4);
    assert_int_equal(gate.order[3], 'b');
    let(6);
    end();
    assert_int_equal(gate.n_begun, 6);
}

static void test_schedule__clients_of_this_machine_take_all_threads(void **state)
{
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 4, .max_waiting = 9, .max_per_address = 1});
    for (int i = 0; i < 4; i++)
        assert_int_equal(add(0, true, "a"), 0);
    begun(4);
    assert_int_equal(add(0, true, "a"), TS_ELIMIT); /* four times the share of others */
    let(4);
    end();
}

static void test_schedule__limits_name_their_keys(void **state)
{
    struct tsd_schedule_counts n;
    struct ts_error err = {0};
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 1, .max_waiting = 2, .max_per_address = 2});
    assert_int_equal(add(1, false, "a"), 0);
    begun(1);
    assert_int_equal(add(1, false, "b"), 0);
    assert_int_equal(tsd_schedule_add(s, 1, false, entry, "c", &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_per_address"));
    assert_int_equal(add(2, false, "d"), 0);
    assert_int_equal(tsd_schedule_add(s, 3, false, entry, "e", &err), TS_EBUSY);
    assert_non_null(strstr(err.text, "query_max_waiting"));
    tsd_schedule_count(s, &n);
    assert_int_equal(n.n_full, 1);
    assert_int_equal(n.n_address, 1);
    let(3);
    end();
    assert_int_equal(gate.n_begun, 3);
}

/* Clients of this machine, which may have more than others, do not fill the queue. */
static void test_schedule__an_address_leaves_room_in_the_queue(void **state)
{
    struct ts_error err = {0};
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 1, .max_waiting = 8, .max_per_address = 2});
    assert_int_equal(add(1, true, "a"), 0);
    begun(1);
    for (int i = 0; i < 6; i++)
        assert_int_equal(add(1, true, "b"), 0);
    assert_int_equal(tsd_schedule_add(s, 1, true, entry, "c", &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_per_address"));
    assert_int_equal(add(2, false, "d"), 0);
    let(8);
    end();
    assert_int_equal(gate.n_begun, 8);
}

static void test_schedule__what_waits_can_be_taken_out(void **state)
{
    struct tsd_schedule_counts n;
    static const char *const b = "b", *const c = "c", *const d = "d";
    (void)state;
    make((struct tsd_schedule_limits){.n_threads = 1, .max_waiting = 9, .max_per_address = 2});
    assert_int_equal(add(1, false, "a"), 0);
    begun(1);
    assert_int_equal(add(2, false, b), 0);
    assert_int_equal(add(2, false, c), 0);
    assert_int_equal(add(2, false, d), TS_ELIMIT);
    assert_true(tsd_schedule_remove(s, c)); /* the last one of the queue */
    assert_false(tsd_schedule_remove(s, c));
    assert_int_equal(add(2, false, d), 0); /* its address has its share again */
    assert_true(tsd_schedule_remove(s, b));
    tsd_schedule_count(s, &n);
    assert_int_equal(n.n_waiting, 1);
    let(2);
    end();
    assert_string_equal(gate.order, "ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_schedule__others_come_before_the_rest_of_one_address, tear_down),
        cmocka_unit_test_teardown(test_schedule__one_address_leaves_threads_for_others, tear_down),
        cmocka_unit_test_teardown(test_schedule__clients_of_this_machine_take_all_threads, tear_down),
        cmocka_unit_test_teardown(test_schedule__limits_name_their_keys, tear_down),
        cmocka_unit_test_teardown(test_schedule__an_address_leaves_room_in_the_queue, tear_down),
        cmocka_unit_test_teardown(test_schedule__what_waits_can_be_taken_out, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
