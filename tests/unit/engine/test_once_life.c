/*
 * test_once_life.c - clients that number their additions, send, lose connections and repeat, while flushes, merges, full disks, kills, power
 * cuts and changes of the number of shards come between.
 */
#include "tests/unit/engine/once_kit.h"

#include "tests/unit/t_random.h"

#define CLIENTS 3u
#define SEQS    40u
#define WRITERS 3u

struct client {
    struct sto_stream stream; /* number 0: it has none */
    unsigned writer;
    uint64_t next, ok; /* next sequence to send; all up to ok were answered */
    uint64_t bad;      /* a refusal has reached it since the last answer */
    bool asks;         /* a barrier of this stream is under way */
};
static struct client clients[CLIENTS];

/* A barrier that a client has requested. */
struct question {
    struct client *c;
    uint64_t stream, upto;
};
static struct question questions[4096];
static size_t n_questions;

static bool concerns(uint64_t client, uint64_t seq, unsigned series)
{
    return (seq * 7 + client) % N_SERIES == series || seq % 5 == series;
}

static int64_t value_of(uint64_t client, uint64_t seq)
{
    return (int64_t)(1 + client * 1000 + seq * seq);
}

/* The connection is lost, or the client has to repeat: everything without an answer, on a new stream. */
static void stream_end(struct client *c)
{
    c->stream.number = 0;
    c->next = c->ok + 1;
    c->asks = false;
}

static void on_client_refused(void *arg, const struct sto_refused *refused)
{
    (void)arg;
    struct client *c = &clients[refused->stream->asker - 1];
    if (c->stream.number == refused->stream->number)
        c->bad = refused->seq;
}

static void on_client_answer(void *arg, int rc, const struct ts_error *err)
{
    struct question *q = arg;
    struct client *c = q->c;
    (void)err;
    if (c->stream.number != q->stream)
        return;
    c->asks = false;
    if (rc < 0 || c->bad)
        stream_end(c);
    else
        c->ok = q->upto;
}

static void client_step(struct sto_engine *e, struct client *c, unsigned n_writers, uint64_t *x)
{
    uint64_t index = (uint64_t)(c - clients);
    if (!c->stream.number) {
        c->stream = stream_new(e, index + 1, (uint32_t)index + 1);
        c->writer = (unsigned)(t_random(x) % n_writers);
        c->bad = 0;
    }
    if (c->next <= SEQS && !c->bad && t_random(x) % 4) {
        for (unsigned i = 0; i < N_SERIES; i++)
            if (concerns(index, c->next, i) &&
                !add_part(e, c->writer, &c->stream, c->next, i, value_of(index, c->next),
                          (unsigned)(1 + c->next % 3)))
                c->bad = c->next;
        c->next++;
    } else if (!c->asks && n_questions < 4096) {
        struct question *q = &questions[n_questions++];
        *q = (struct question){c, c->stream.number, c->next - 1};
        c->asks = true;
        sto_writer_barrier(sto_engine_writer(e, c->writer), STO_LEVEL_DISK, c->stream.asker, on_client_answer,
                           q);
    }
}

static void expect_sums(struct sto_engine *e)
{
    int64_t want = 0;
    for (unsigned c = 0; c < CLIENTS; c++)
        for (uint64_t seq = 1; seq <= SEQS; seq++)
            for (unsigned i = 0; i < N_SERIES; i++)
                if (concerns(c, seq, i))
                    want += value_of(c, seq) * (int64_t)(1 + seq % 3);
    assert_int_equal(sum_of(e), want);
}

static bool all_done(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        if (clients[i].ok < SEQS)
            return false;
    return true;
}

static struct sto_engine *life_open(struct sto_engine *e, unsigned n_writers)
{
    for (unsigned i = 0; i < n_writers; i++)
        sto_writer_on_refused(sto_engine_writer(e, i), on_client_refused, NULL);
    for (unsigned i = 0; i < CLIENTS; i++)
        stream_end(&clients[i]);
    n_questions = 0;
    return e;
}

static unsigned n_more, n_fewer; /* changes of the number of shards */

/* The store is closed in order, and may have another number of shards afterwards. */
static struct sto_engine *rebalance(struct sto_engine *e, unsigned n_writers, struct t_faultfs *f,
                                    unsigned n_shards)
{
    uint32_t was = sto_engine_shards(e).n_now;
    assert_int_equal(sto_engine_set_shards(e, n_shards, NULL), 0);
    assert_int_equal(close_rc(e, f), 0);
    e = once_open_at(f, n_writers, ts_clock_ms());
    uint32_t now = sto_engine_shards(e).n_now;
    assert_true(now == n_shards || (now == was && n_shards < was));
    assert_int_equal(sto_engine_shards(e).n_wanted, n_shards);
    n_more += now > was;
    n_fewer += now < was;
    return e;
}

static unsigned n_open_more, n_open_fewer,
    n_open_waits; /* changes while the store is in use; tries in vain */

/* The number of shards changes while clients go on with their streams. */
static void rebalance_open(struct sto_engine *e, unsigned n_shards)
{
    uint32_t was = sto_engine_shards(e).n_now;
    if (sto_engine_set_shards(e, n_shards, NULL) < 0)
        return; /* the disk is full */
    (void)sto_engine_pump_shards(e, NULL);
    struct sto_shards s = sto_engine_shards(e);
    assert_true(s.n_wanted == n_shards && (s.n_now == n_shards) == (s.waits == NULL));
    assert_true(s.n_now == n_shards || s.n_now == was);
    n_open_more += s.n_now > was;
    n_open_fewer += s.n_now < was;
    n_open_waits += s.waits != NULL;
}

static void life(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    struct ts_error err = {0};
    uint64_t x = seed * 0x9e3779b97f4a7c15ull;
    unsigned n_writers = 2, n_steps = 0;
    bool full = false;
    memset(clients, 0, sizeof clients);
    ts_clock_set_fake_mono(100000000); /* with 0 it would be that of this machine */
    struct sto_engine *e = life_open(once_open(f, n_writers), n_writers);
    t_faultfs_set_writeback(f, (unsigned)(t_random(&x) % 300));
    for (; !all_done(); n_steps++) {
        assert_true(n_steps < 200000);
        struct client *c = &clients[t_random(&x) % CLIENTS];
        uint64_t r = n_steps < 20000 ? t_random(&x) % 200 : 10 + t_random(&x) % 190;
        if (r < 3) {
            n_writers = 1 + (unsigned)(t_random(&x) % WRITERS);
            no_plan(f);
            full = false;
            e = life_open(crash(e, f, r < 2, n_writers), n_writers);
        } else if (r == 3 || (full && r < 10)) {
            full = !full;
            full ? plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true) : no_plan(f);
        } else if (r < 7) {
            stream_end(c); /* the connection is lost; what it has sent may still be on its way */
        } else if (r < 10) {
            (void)sto_engine_flush(e, &err);
        } else if (r < 14) {
            (void)sto_engine_pump_merges(e, &err);
        } else if (r < 60) {
            sto_writer_turn(sto_engine_writer(e, (unsigned)(t_random(&x) % n_writers)));
        } else if (r < 80) {
            sto_engine_pump_sync(e);
        } else if (r >= 81 && r < 84 && !full) {
            e = life_open(rebalance(e, n_writers, f, 1u << t_random(&x) % 4), n_writers);
        } else if (r >= 84 && r < 88) {
            rebalance_open(e, 1u << t_random(&x) % 6);
        } else if (r == 80) { /* somebody sets the clock, or corrects it */
            bool wrong = ts_clock_ms() != (int64_t)NOW_S * 1000;
            int64_t month = n_steps % 2 ? 30 * 86400 : -30 * 86400;
            ts_clock_set_fake(((int64_t)NOW_S + (wrong ? 0 : month)) * 1000);
        } else {
            client_step(e, c, n_writers, &x);
        }
        if (n_steps >= 20000 && full) {
            no_plan(f);
            full = false;
        }
        ts_clock_set_fake_mono((int64_t)(n_steps + 2) * 100000000);
    }
    no_plan(f);
    turn_all(e, n_writers);
    expect_sums(e);
    e = crash(e, f, true, 1 + (unsigned)(seed % WRITERS));
    expect_sums(e);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_once_life__sums_are_exact_whatever_fails(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        life(seed);
    print_message("closing: %u times more shards, %u times fewer; in use: %u times more, %u times fewer, %u "
                  "tries had to wait\n",
                  n_more, n_fewer, n_open_more, n_open_fewer, n_open_waits);
    assert_true(n_more > 10 && n_fewer > 3);
    assert_true(n_open_more > 30 && n_open_fewer > 5 && n_open_waits > 30);
}

/* Two shards that have not added the same sequences do not become one before their ids are forgotten. */
static void test_once_life__fewer_shards_wait_for_repeats(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 2);
    struct sto_stream s = stream_new(e, 7, 1);
    for (uint64_t seq = 1; seq <= 3; seq++) /* the last part for series 3 is lost on the way */
        for (unsigned i = 0; i < N_SERIES - (seq == 3); i++)
            assert_true(add_part(e, 0, &s, seq, i, (int64_t)seq, 2));
    turn_all(e, 2);
    e = rebalance(e, 2, f, 2);
    assert_int_equal(sto_engine_shards(e).n_now, 4);
    send_three(e, 2); /* adds what is missing, and nothing else */
    e = rebalance(e, 2, f, 2);
    assert_int_equal(sto_engine_shards(e).n_now, 2);
    send_three(e, 2);
    e = rebalance(e, 3, f, 16);
    assert_int_equal(sto_engine_shards(e).n_now, 16);
    send_three(e, 3);
    e = crash(e, f, true, 1);
    send_three(e, 1);
    assert_int_equal(sto_engine_set_shards(e, 3, NULL), TS_EINVAL);
    assert_int_equal(sto_engine_set_shards(e, 8192, NULL), TS_EINVAL);
    assert_int_equal(sto_engine_set_shards(e, 0, NULL), TS_EINVAL);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A number of shards that could not be written down is not in force when the store is closed. */
static void test_once_life__a_number_of_shards_that_is_not_written_is_not_wanted(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 2);
    uint64_t at = 0;
    for (int rc = TS_EIO; rc < 0;) {
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = ++at, .fault = T_FAULT_EIO});
        rc = sto_engine_set_shards(e, 8, NULL);
        no_plan(f);
        assert_int_equal(sto_engine_shards(e).n_wanted, rc < 0 ? 4 : 8);
        assert_int_equal(sto_engine_set_shards(e, 4, NULL), 0);
    }
    assert_true(at > 2);
    assert_int_equal(close_rc(e, f), 0);
    e = once_open(f, 1);
    assert_int_equal(sto_engine_shards(e).n_now, 4);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A power cut at any call while the store is closed: it has the old number of shards or the new one, and adds nothing twice. */
static void test_once_life__a_power_cut_leaves_old_or_new_shards(void **state)
{
    (void)state;
    bool cut = true, was_old = false, was_new = false;
    for (uint64_t at = 1; cut; at++) {
        struct t_faultfs *f = t_faultfs_new(at);
        struct sto_engine *e = once_open(f, 2);
        send_three(e, 2);
        assert_int_equal(sto_engine_set_shards(e, 8, NULL), 0);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        cut = sto_engine_close(e, NULL) < 0;
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        e = once_open(f, 3);
        uint32_t n = sto_engine_shards(e).n_now;
        assert_true(n == 4 || n == 8);
        was_old |= n == 4;
        was_new |= n == 8;
        assert_int_equal(sto_engine_shards(e).n_wanted, 8);
        send_three(e, 3);
        assert_int_equal(close_rc(e, f), 0);
        e = once_open(f, 1);
        assert_int_equal(sto_engine_shards(e).n_now, 8);
        send_three(e, 1);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
    assert_true(was_old && was_new);
}

/* The same while the store is in use. */
static void test_once_life__a_power_cut_in_use_leaves_old_or_new_shards(void **state)
{
    (void)state;
    bool cut = true, was_old = false, was_new = false;
    for (uint64_t at = 1; cut; at++) {
        struct t_faultfs *f = t_faultfs_new(at);
        struct sto_engine *e = once_open(f, 3);
        send_three(e, 3);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        int asked = sto_engine_set_shards(e, 16, NULL);
        (void)sto_engine_pump_shards(e, NULL);
        uint32_t n = sto_engine_shards(e).n_now;
        if (n == 16) { /* what comes afterwards belongs to the new shards */
            struct sto_stream s = stream_new(e, 8, 1);
            for (unsigned i = 0; i < N_SERIES; i++)
                (void)add_part(e, 0, &s, 1, i, 0, 1);
            turn_all(e, 3);
        }
        cut = sto_engine_close(e, NULL) < 0 || asked < 0;
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        e = once_open(f, 2);
        n = sto_engine_shards(e).n_now;
        assert_true(n == 4 || n == 16);
        was_old |= n == 4;
        was_new |= n == 16;
        send_three(e, 2);
        assert_int_equal(sto_engine_set_shards(e, 16, NULL), 0);
        (void)sto_engine_pump_shards(e, NULL);
        assert_int_equal(sto_engine_shards(e).n_now, 16);
        send_three(e, 2);
        e = crash(e, f, false, 3);
        assert_int_equal(sto_engine_shards(e).n_now, 16);
        send_three(e, 3);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
    assert_true(was_old && was_new);
}

/* A refused sequence keeps the number of shards until it has come again. */
static void test_once_life__a_refusal_keeps_the_shards(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 2);
    struct sto_stream s = stream_new(e, 7, 1);
    struct answer a = {0};
    plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
    for (unsigned i = 0; i < N_SERIES; i++)
        assert_true(add_part(e, 0, &s, 1, i, 1, 2));
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &a);
    wait_answer(e, 2, &a);
    assert_true(a.n == 1 && a.rc == TS_ENOSPC);
    no_plan(f);
    assert_int_equal(sto_engine_wait(e, false, NULL), 0); /* there is space again */
    turn_all(e, 2);
    assert_true(t_refused.n > 0);
    rebalance_open(e, 8);
    assert_int_equal(sto_engine_shards(e).n_now, 4);
    t_refused.n = 0;
    send_three(e, 2);
    rebalance_open(e, 8);
    assert_int_equal(sto_engine_shards(e).n_now, 8);
    send_three(e, 2);
    rebalance_open(e, 1);
    assert_int_equal(sto_engine_shards(e).n_now, 1);
    send_three(e, 2);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_life__fewer_shards_wait_for_repeats),
        cmocka_unit_test(test_once_life__a_number_of_shards_that_is_not_written_is_not_wanted),
        cmocka_unit_test(test_once_life__a_power_cut_leaves_old_or_new_shards),
        cmocka_unit_test(test_once_life__a_power_cut_in_use_leaves_old_or_new_shards),
        cmocka_unit_test(test_once_life__a_refusal_keeps_the_shards),
        cmocka_unit_test(test_once_life__sums_are_exact_whatever_fails),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* full disks and torn tails are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
