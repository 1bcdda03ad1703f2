/*
 * test_queue.c - order, bytes, and that nobody sleeps through a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/queue.h"

/* A message that knows where it comes from. */
struct note {
    struct ts_msg msg; /* first, as queue.h asks */
    unsigned from;     /* producer */
    unsigned number;   /* counts per producer */
};

static struct note *note_new(unsigned from, unsigned number, uint32_t size_bytes)
{
    struct note *n = ts_xcalloc(1, sizeof(*n));
    n->msg.size_bytes = size_bytes;
    n->from = from;
    n->number = number;
    return n;
}

static bool is_readable(const struct ts_queue *q)
{
    struct pollfd p = {.fd = ts_queue_fd(q), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void test_queue__comes_out_in_order(void **state)
{
    (void)state;
    struct ts_queue *q = ts_queue_new(1000);
    assert_null(ts_queue_pop(q));
    unsigned n_pushed = 0, n_popped = 0;
    for (unsigned round = 1; round < 40; round++) { /* pushes between pops, too */
        for (unsigned i = 0; i < round; i++)
            ts_queue_push(q, &note_new(0, n_pushed++, 1)->msg);
        for (unsigned i = 0; i < round / 2; i++) {
            struct note *n = (struct note *)ts_queue_pop(q);
            assert_int_equal(n->number, n_popped++);
            assert_null(n->msg.next);
            ts_free(n);
        }
    }
    for (struct ts_msg *m; (m = ts_queue_pop(q));) {
        assert_int_equal(((struct note *)m)->number, n_popped++);
        ts_free(m);
    }
    assert_int_equal(n_popped, n_pushed);
    ts_queue_free(q);
    ts_queue_free(NULL);
}

static void test_queue__bytes_are_counted_until_popped(void **state)
{
    (void)state;
    struct ts_queue *q = ts_queue_new(1000);
    assert_false(ts_queue_above(q, 0));
    ts_queue_push(q, &note_new(0, 0, 750)->msg);
    assert_true(ts_queue_above(q, 0));
    assert_true(ts_queue_above(q, 74));
    assert_false(ts_queue_above(q, 75)); /* above, not at */
    ts_queue_push(q, &note_new(0, 1, 1)->msg);
    assert_true(ts_queue_above(q, 75));
    ts_queue_push(q, &note_new(0, 2, UINT32_MAX)->msg); /* the cap refuses nothing */
    assert_true(ts_queue_above(q, 100));
    assert_true(ts_queue_above(q, 400000));
    ts_free(ts_queue_pop(q)); /* the others were taken off the stack with it and still count */
    assert_true(ts_queue_above(q, 100));
    ts_free(ts_queue_pop(q));
    ts_free(ts_queue_pop(q));
    assert_false(ts_queue_above(q, 0));
    ts_queue_free(q);
    q = ts_queue_new(SIZE_MAX); /* no overflow in the percentage */
    ts_queue_push(q, &note_new(0, 0, UINT32_MAX)->msg);
    assert_false(ts_queue_above(q, 1));
    assert_true(ts_queue_above(q, 0));
    ts_free(ts_queue_pop(q));
    ts_queue_free(q);
}

static void test_queue__eventfd_is_written_on_the_first_message_only(void **state)
{
    (void)state;
    struct ts_queue *q = ts_queue_new(1000);
    assert_false(is_readable(q));
    for (unsigned i = 0; i < 5; i++)
        ts_queue_push(q, &note_new(0, i, 1)->msg);
    uint64_t n_wakes = 0;
    assert_int_equal(read(ts_queue_fd(q), &n_wakes, sizeof(n_wakes)), sizeof(n_wakes));
    assert_int_equal(n_wakes, 1);
    assert_false(is_readable(q));
    ts_free(ts_queue_pop(q)); /* takes all five; the stack is empty, so the next push is a first one */
    ts_queue_push(q, &note_new(0, 5, 1)->msg);
    assert_true(is_readable(q));
    ts_queue_drained(q);
    assert_false(is_readable(q));
    ts_queue_drained(q); /* harmless */
    for (unsigned i = 1; i < 6; i++) {
        struct note *n = (struct note *)ts_queue_pop(q);
        assert_int_equal(n->number, i);
        ts_free(n);
    }
    assert_null(ts_queue_pop(q));
    ts_queue_free(q);
}

static void test_queue__wait_tells_what_is_there(void **state)
{
    (void)state;
    struct ts_queue *q = ts_queue_new(1000);
    assert_false(ts_queue_wait(q, 0));
    assert_false(ts_queue_wait(q, 1));
    ts_queue_push(q, &note_new(0, 0, 1)->msg);
    ts_queue_push(q, &note_new(0, 1, 1)->msg);
    assert_true(ts_queue_wait(q, 0));
    assert_true(ts_queue_wait(q, -1)); /* not popped: still there */
    ts_free(ts_queue_pop(q));
    assert_true(ts_queue_wait(q, -1)); /* the rest of what was taken */
    ts_free(ts_queue_pop(q));
    assert_false(ts_queue_wait(q, 0)); /* in spite of the old wake-up */
    assert_false(ts_queue_wait(q, 1));
    ts_queue_free(q);
}

/* --- threads --- */

enum { N_PRODUCERS = 4, N_NOTES = 20000 };

/* What a producer is given. */
struct producer {
    struct ts_queue *q; /* where to */
    unsigned from;      /* its number */
};

static void *produce(void *arg)
{
    const struct producer *p = arg;
    for (unsigned i = 0; i < N_NOTES; i++)
        ts_queue_push(p->q, &note_new(p->from, i, 10)->msg);
    return NULL;
}

/* Pops until NULL and checks the order per producer; returns how many. */
static unsigned drain(struct ts_queue *q, unsigned *expect)
{
    unsigned n = 0;
    for (struct ts_msg *m; (m = ts_queue_pop(q)); n++) {
        struct note *note = (struct note *)m;
        assert_int_equal(note->number, expect[note->from]);
        expect[note->from]++;
        ts_free(note);
    }
    return n;
}

/* How the owner waits. */
static void wait_by_poll(struct ts_queue *q)
{
    struct pollfd p = {.fd = ts_queue_fd(q), .events = POLLIN};
    assert_int_equal(poll(&p, 1, -1), 1); /* a lost wake-up sleeps for ever: the test's time limit tells */
    ts_queue_drained(q);
}
static void wait_by_queue(struct ts_queue *q)
{
    assert_true(ts_queue_wait(q, -1));
}

static void run_producers(void (*wait)(struct ts_queue *q))
{
    struct ts_queue *q = ts_queue_new(1u << 20);
    pthread_t threads[N_PRODUCERS];
    struct producer producers[N_PRODUCERS];
    unsigned expect[N_PRODUCERS] = {0};
    for (unsigned i = 0; i < N_PRODUCERS; i++) {
        producers[i] = (struct producer){q, i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (unsigned n = 0; n < N_PRODUCERS * N_NOTES;) {
        wait(q);
        n += drain(q, expect);
    }
    for (unsigned i = 0; i < N_PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(expect[i], N_NOTES);
    }
    assert_false(ts_queue_above(q, 0));
    assert_null(ts_queue_pop(q));
    ts_queue_free(q);
}

static void test_queue__many_producers_keep_their_order_with_poll(void **state)
{
    (void)state;
    run_producers(wait_by_poll);
}

static void test_queue__many_producers_keep_their_order_with_wait(void **state)
{
    (void)state;
    run_producers(wait_by_queue);
}

/* Two threads that send one message to and fro: every push is a transition from empty. */
struct pair {
    struct ts_queue *there, *back;
    unsigned n_rounds;
};

static void *echo(void *arg)
{
    const struct pair *p = arg;
    for (unsigned i = 0; i < p->n_rounds; i++) {
        wait_by_poll(p->there);
        struct ts_msg *m;
        while (!(m = ts_queue_pop(p->there)))
            wait_by_poll(p->there);
        ts_queue_push(p->back, m);
    }
    return NULL;
}

static void test_queue__every_transition_from_empty_wakes_the_owner(void **state)
{
    (void)state;
    struct pair p = {ts_queue_new(100), ts_queue_new(100), 20000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, echo, &p), 0);
    struct note *n = note_new(0, 0, 1);
    for (unsigned i = 0; i < p.n_rounds; i++) {
        n->number = i;
        ts_queue_push(p.there, &n->msg);
        assert_true(ts_queue_wait(p.back, -1));
        assert_ptr_equal(ts_queue_pop(p.back), &n->msg);
        assert_int_equal(n->number, i);
    }
    pthread_join(thread, NULL);
    ts_free(n);
    ts_queue_free(p.there);
    ts_queue_free(p.back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue__comes_out_in_order),
        cmocka_unit_test(test_queue__bytes_are_counted_until_popped),
        cmocka_unit_test(test_queue__eventfd_is_written_on_the_first_message_only),
        cmocka_unit_test(test_queue__wait_tells_what_is_there),
        cmocka_unit_test(test_queue__many_producers_keep_their_order_with_poll),
        cmocka_unit_test(test_queue__many_producers_keep_their_order_with_wait),
        cmocka_unit_test(test_queue__every_transition_from_empty_wakes_the_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
