/*
 * test_pool.c - every task once, in order of priority; pieces shared, nested and fair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/pool.h"

/* A door that tasks wait at. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned n_waiting; /* tasks that have come */
    bool open;
};
#define GATE_INIT                                                                                            \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false                                        \
    }

static void gate_pass(void *arg)
{
    struct gate *g = arg;
    pthread_mutex_lock(&g->mutex);
    g->n_waiting++;
    pthread_cond_broadcast(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}
static void gate_await(struct gate *g, unsigned n)
{
    pthread_mutex_lock(&g->mutex);
    while (g->n_waiting < n)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}
static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->mutex);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

static void count(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static void test_pool__free_runs_all_that_is_queued(void **state)
{
    (void)state;
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        struct ts_pool *pool = ts_pool_new(n_threads, "test");
        assert_int_equal(ts_pool_threads(pool), n_threads);
        atomic_uint n = 0;
        for (int i = 0; i < 3000; i++)
            ts_pool_run(pool, i % 3 ? TS_PRIO_HIGH : TS_PRIO_LOW, count, &n);
        ts_pool_free(pool);
        assert_int_equal(n, 3000);
    }
    ts_pool_free(ts_pool_new(3, "idle"));
    ts_pool_free(NULL);
}

/* A task that queues its successor. */
struct chain {
    struct ts_pool *pool;
    atomic_uint left;
};
static void chain_run(void *arg)
{
    struct chain *c = arg;
    if (atomic_fetch_sub(&c->left, 1) > 1)
        ts_pool_run(c->pool, TS_PRIO_LOW, chain_run, c);
}

static void test_pool__tasks_queued_by_tasks_run_before_free_returns(void **state)
{
    (void)state;
    struct chain c = {.pool = ts_pool_new(2, "test"), .left = 500};
    ts_pool_run(c.pool, TS_PRIO_HIGH, chain_run, &c);
    ts_pool_free(c.pool);
    assert_int_equal(c.left, 0);
}

/* Where tasks write down their order; one thread at a time. */
static char order[64];
static size_t n_order;
static void write_down(void *arg)
{
    order[n_order++] = *(const char *)arg;
}

static void test_pool__high_goes_first_and_each_priority_in_order(void **state)
{
    (void)state;
    struct ts_pool *pool = ts_pool_new(1, "test");
    struct gate gate = GATE_INIT;
    n_order = 0;
    memset(order, 0, sizeof(order));
    ts_pool_run(pool, TS_PRIO_LOW, gate_pass, &gate);
    gate_await(&gate, 1);
    static const char low[] = "abc", high[] = "ABCD";
    for (size_t i = 0; i < 4; i++) {
        if (i < 3)
            ts_pool_run(pool, TS_PRIO_LOW, write_down, (void *)(uintptr_t)&low[i]);
        ts_pool_run(pool, TS_PRIO_HIGH, write_down, (void *)(uintptr_t)&high[i]);
    }
    gate_open(&gate);
    ts_pool_free(pool);
    assert_string_equal(order, "ABCDabc");
}

static void look_at_thread(void *arg)
{
    char *name = arg;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (sigismember(&mask, SIGTERM) && sigismember(&mask, SIGHUP) && !sigismember(&mask, SIGSEGV))
        pthread_getname_np(pthread_self(), name, 16);
}

static void look_at_priority(void *arg)
{
    *(int *)arg = getpriority(PRIO_PROCESS, 0); /* of the thread, on Linux */
}

static void test_pool__threads_can_have_a_lower_priority(void **state)
{
    (void)state;
    int ours = getpriority(PRIO_PROCESS, 0), same = -100, lower = -100;
    struct ts_pool *pool = ts_pool_new(1, "t");
    ts_pool_run(pool, TS_PRIO_HIGH, look_at_priority, &same);
    ts_pool_free(pool);
    pool = ts_pool_new_nice(1, "t", 3);
    ts_pool_run(pool, TS_PRIO_HIGH, look_at_priority, &lower);
    ts_pool_free(pool);
    assert_int_equal(same, ours);
    assert_int_equal(lower, ours + 3 < 19 ? ours + 3 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), ours);
}

static void test_pool__threads_have_the_name_and_take_no_signals(void **state)
{
    (void)state;
    sigset_t before, after;
    sigemptyset(&before);
    sigaddset(&before, SIGHUP);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    char name[16] = "";
    struct ts_pool *pool = ts_pool_new(1, "a-name-that-is-too-long");
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_false(sigismember(&after, SIGTERM)); /* the caller's mask is as before */
    assert_true(sigismember(&after, SIGHUP));
    ts_pool_run(pool, TS_PRIO_HIGH, look_at_thread, name);
    ts_pool_free(pool);
    assert_string_equal(name, "a-name-that-is-");
    sigemptyset(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Pieces that count how often each ran; plain words: ts_pool_each must make them visible to its caller. */
struct tally {
    unsigned *n_runs;
};
static void tally_piece(void *arg, size_t piece)
{
    ((struct tally *)arg)->n_runs[piece]++;
}

static void check_each(struct ts_pool *pool, size_t n_pieces)
{
    struct tally t = {ts_xcalloc(n_pieces + 1, sizeof(unsigned))};
    ts_pool_each(pool, n_pieces, tally_piece, &t);
    for (size_t i = 0; i < n_pieces; i++)
        assert_int_equal(t.n_runs[i], 1);
    assert_int_equal(t.n_runs[n_pieces], 0);
    ts_free(t.n_runs);
}

static void test_pool__each_runs_every_piece_once(void **state)
{
    (void)state;
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        struct ts_pool *pool = ts_pool_new(n_threads, "test");
        for (size_t n_pieces = 0; n_pieces < 40; n_pieces++)
            check_each(pool, n_pieces);
        check_each(pool, 5000);
        ts_pool_free(pool);
    }
}

static void test_pool__each_needs_no_free_thread(void **state)
{
    (void)state;
    struct ts_pool *pool = ts_pool_new(2, "test");
    struct gate gate = GATE_INIT;
    ts_pool_run(pool, TS_PRIO_HIGH, gate_pass, &gate);
    ts_pool_run(pool, TS_PRIO_LOW, gate_pass, &gate);
    gate_await(&gate, 2);
    check_each(pool, 100); /* both threads stand at the gate */
    gate_open(&gate);
    ts_pool_free(pool);
}

/* Work that branches: each piece of depth d makes jobs of depth d - 1 in the same pool. */
struct tree {
    struct ts_pool *pool;
    atomic_uint *n_leaves;
    unsigned depth;
};
enum { TREE_WIDTH = 5 };
static void tree_piece(void *arg, size_t piece)
{
    const struct tree *t = arg;
    (void)piece;
    if (t->depth == 0) {
        atomic_fetch_add(t->n_leaves, 1);
        return;
    }
    struct tree below = *t;
    below.depth--;
    ts_pool_each(t->pool, TREE_WIDTH, tree_piece, &below);
}
static void tree_task(void *arg)
{
    tree_piece(arg, 0);
}

static void test_pool__each_nests_in_tasks_and_pieces_of_the_same_pool(void **state)
{
    (void)state;
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        atomic_uint n_leaves = 0;
        struct tree t = {ts_pool_new(n_threads, "test"), &n_leaves, 4};
        for (int i = 0; i < 8; i++)
            ts_pool_run(t.pool, i % 2 ? TS_PRIO_LOW : TS_PRIO_HIGH, tree_task, &t);
        tree_piece(&t, 0); /* and from outside at the same time */
        ts_pool_free(t.pool);
        assert_int_equal(n_leaves, 9 * TREE_WIDTH * TREE_WIDTH * TREE_WIDTH * TREE_WIDTH);
    }
}

static void *call_each_often(void *arg)
{
    for (size_t i = 0; i < 300; i++)
        check_each(arg, i % 17);
    return NULL;
}

static void test_pool__many_callers_at_once_get_their_own_pieces(void **state)
{
    (void)state;
    struct ts_pool *pool = ts_pool_new(2, "test");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_each_often, pool), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ts_pool_free(pool);
}

/* A caller whose own first piece stands at a gate, so that the pool's only thread runs all the others. */
struct fair {
    struct ts_pool *pool;
    struct gate *callers; /* callers wait here */
    pthread_t caller;
    char name;
};
enum { N_FAIR = 10 };
static void fair_piece(void *arg, size_t piece)
{
    struct fair *f = arg;
    (void)piece;
    if (pthread_equal(pthread_self(), f->caller)) {
        gate_pass(f->callers);
        return;
    }
    order[n_order++] = f->name;
    if (n_order == 2 * (N_FAIR - 1))
        gate_open(f->callers);
}
static void *fair_call(void *arg)
{
    struct fair *f = arg;
    f->caller = pthread_self();
    ts_pool_each(f->pool, N_FAIR, fair_piece, f);
    return NULL;
}

static void test_pool__jobs_take_turns_piece_by_piece(void **state)
{
    (void)state;
    struct ts_pool *pool = ts_pool_new(1, "test");
    struct gate start = GATE_INIT, callers = GATE_INIT;
    n_order = 0;
    memset(order, 0, sizeof(order));
    ts_pool_run(pool, TS_PRIO_HIGH, gate_pass, &start);
    gate_await(&start, 1);
    struct fair a = {.pool = pool, .callers = &callers, .name = 'a'}, b = a;
    b.name = 'b';
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, fair_call, &a), 0);
    gate_await(&callers, 1);
    assert_int_equal(pthread_create(&threads[1], NULL, fair_call, &b), 0);
    gate_await(&callers, 2);
    static const char high = 'H', low = 'l';
    ts_pool_run(pool, TS_PRIO_LOW, write_down, (void *)(uintptr_t)&low);
    gate_open(&start);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ts_pool_run(pool, TS_PRIO_HIGH, write_down, (void *)(uintptr_t)&high);
    ts_pool_free(pool);
    assert_memory_equal(order, "ababababababababab", 18); /* the low task after all pieces */
    assert_int_equal(n_order, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool__free_runs_all_that_is_queued),
        cmocka_unit_test(test_pool__tasks_queued_by_tasks_run_before_free_returns),
        cmocka_unit_test(test_pool__high_goes_first_and_each_priority_in_order),
        cmocka_unit_test(test_pool__threads_have_the_name_and_take_no_signals),
        cmocka_unit_test(test_pool__threads_can_have_a_lower_priority),
        cmocka_unit_test(test_pool__each_runs_every_piece_once),
        cmocka_unit_test(test_pool__each_needs_no_free_thread),
        cmocka_unit_test(test_pool__each_nests_in_tasks_and_pieces_of_the_same_pool),
        cmocka_unit_test(test_pool__many_callers_at_once_get_their_own_pieces),
        cmocka_unit_test(test_pool__jobs_take_turns_piece_by_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
