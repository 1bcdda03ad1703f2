/*
 * test_store_behind.c - back-pressure: a writer whose points another one does not take hears of it in time, and
 * nothing is lost.
 *
 * Both writers are turned by this thread, so that the other one is behind exactly as long as it should be.
 */
#include "tests/unit/storage/store_kit.h"

#include <poll.h>

#define QUEUE_BATCHES 16u /* of STO_BATCH_POINTS fill the queue */
#define MANY_MESSAGES 200

/* A store of two writers that nobody turns but the test. */
struct pair {
    struct t_faultfs *f;
    struct sto_store *st;
    struct sto_writer *asks, *owns;
    unsigned number;                 /* of the series, for kit_series */
    const struct sto_series *series; /* its shard is the other's */
    int64_t n;                       /* points taken so far: 0, 1, 2... by second from T0 */
};

static struct pair pair_open(void)
{
    struct pair p = {.f = t_faultfs_new(1)};
    struct sto_opts opts = KIT_OPTS(p.f, 2);
    opts.own_threads = false;
    opts.pumped = true;
    opts.queue_bytes = QUEUE_BATCHES * sizeof(struct sto_batch);
    p.st = kit_open(&opts);
    p.asks = sto_writer(p.st, 0);
    p.owns = sto_writer(p.st, 1);
    while (sto_writer_slot(p.asks, kit_series(p.st, p.number)) != 1)
        assert_true(++p.number < N_SERIES);
    p.series = kit_series(p.st, p.number);
    return p;
}

static int put_next(struct pair *p)
{
    int rc =
        sto_put(p->asks, p->series, T0 + p->n * 1000, (struct ts_num){.m = p->n, .kind = TS_NUM_INT}, false);
    p->n += rc == 0;
    return rc;
}

/* Send n full batches to the other writer's queue. */
static void send_batches(struct pair *p, unsigned n)
{
    for (unsigned i = 0; i < n * STO_BATCH_POINTS; i++)
        assert_int_equal(put_next(p), 0);
    sto_writer_turn(p->asks);
}

static void count_point(void *arg, int64_t ts_ms, struct ts_num v)
{
    int64_t *n = arg;
    assert_int_equal(ts_ms, T0 + *n * 1000);
    assert_int_equal(v.m, *n);
    ++*n;
}

static int64_t seen(struct pair *p)
{
    int64_t n = 0;
    struct ts_error err = {0};
    assert_int_equal(kit_points(p->st, p->series, count_point, &n, &err), 0);
    return n;
}

static void on_answer(void *arg, int rc, const struct ts_error *err)
{
    (void)err;
    *(int *)arg = rc == 0 ? 1 : rc;
}

static void pair_close(struct pair *p)
{
    kit_close(p->st);
    struct sto_opts opts = KIT_OPTS(p->f, 1);
    p->st = kit_open(&opts);
    p->series = kit_series(p->st, p->number);
    assert_int_equal(seen(p), p->n);
    kit_close(p->st);
    t_faultfs_free(p->f);
}

/* Not ready above 75 % of the queue, ready again below 50 %. */
static void test_store_behind__a_port_is_told_at_75_and_at_50_percent(void **state)
{
    (void)state;
    struct pair p = pair_open();
    send_batches(&p, QUEUE_BATCHES * 3 / 4);
    assert_true(sto_writer_ready(p.asks));
    send_batches(&p, 1);
    assert_false(sto_writer_ready(p.asks));
    assert_int_equal(seen(&p), 0); /* the other one has done nothing */
    sto_writer_turn(p.owns);
    assert_int_equal(seen(&p), p.n);
    send_batches(&p, QUEUE_BATCHES / 2 + 1); /* it has paused: now 75 % is not the limit */
    assert_false(sto_writer_ready(p.asks));
    sto_writer_turn(p.owns);
    send_batches(&p, QUEUE_BATCHES / 2);
    assert_true(sto_writer_ready(p.asks));
    send_batches(&p, 1); /* and now it is again */
    assert_true(sto_writer_ready(p.asks));
    sto_writer_turn(p.owns);
    assert_int_equal(seen(&p), p.n);
    pair_close(&p);
}

/* Who goes on all the same is refused above 100 %; what was taken is there, a barrier waits for it. */
static void test_store_behind__a_full_queue_refuses_and_loses_nothing(void **state)
{
    (void)state;
    struct pair p = pair_open();
    int rc, answer = 0;
    while ((rc = put_next(&p)) == 0)
        assert_true(p.n <= (QUEUE_BATCHES + 2) * STO_BATCH_POINTS);
    assert_int_equal(rc, TS_EBUSY);
    assert_int_equal(sto_writer_error(p.asks, NULL), TS_EBUSY);
    assert_true(p.n >= QUEUE_BATCHES * STO_BATCH_POINTS);
    sto_writer_barrier(p.asks, STO_LEVEL_LOG, 1, on_answer, &answer);
    sto_writer_turn(p.asks);
    assert_int_equal(answer, 0);
    sto_writer_turn(p.owns);
    sto_writer_turn(p.asks);
    assert_int_equal(answer, 1);
    assert_int_equal(seen(&p), p.n);
    assert_true(sto_writer_ready(p.asks));
    assert_int_equal(put_next(&p), 0);
    sto_writer_turn(p.asks);
    sto_writer_turn(p.owns);
    assert_int_equal(seen(&p), p.n);
    pair_close(&p);
}

/* Batches that come faster than they are applied do not keep a turn from ending: it leaves the rest to the next one. */
static void test_store_behind__a_turn_applies_some_batches_and_asks_for_another(void **state)
{
    (void)state;
    struct pair p = pair_open();
    struct pollfd pfd = {.fd = sto_writer_fd(p.owns), .events = POLLIN};
    for (unsigned i = 0; i < QUEUE_BATCHES; i++) /* a turn each, and a message each */
        send_batches(&p, 1);
    sto_writer_turn(p.owns);
    assert_int_equal(poll(&pfd, 1, 0), 0);
    int64_t before = p.n;
    int answer = 0;
    for (unsigned i = 0; i < MANY_MESSAGES; i++) {
        sto_writer_barrier(p.asks, STO_LEVEL_LOG, 1, on_answer, &answer);
        sto_writer_turn(p.asks);
    }
    assert_int_equal(put_next(&p), 0); /* behind all of them */
    sto_writer_turn(p.asks);
    unsigned n_turns = 0;
    for (; poll(&pfd, 1, 0) == 1; n_turns++) {
        assert_int_equal(seen(&p), before);
        sto_writer_turn(p.owns);
    }
    assert_true(n_turns > 1);
    assert_int_equal(seen(&p), p.n);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_behind__a_port_is_told_at_75_and_at_50_percent),
        cmocka_unit_test(test_store_behind__a_full_queue_refuses_and_loses_nothing),
        cmocka_unit_test(test_store_behind__a_turn_applies_some_batches_and_asks_for_another),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
