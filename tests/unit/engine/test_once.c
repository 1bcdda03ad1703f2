/*
 * test_once.c - repeated additions are recognised: single rules, and clients that send, fail, crash and repeat at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storage/engine/once.h"
#include "tests/unit/t_random.h"

#define NOW  1000000u
#define KEPT 1000u

static const struct sto_once_id A = {NOW, 1}, B = {NOW, 2}, C = {NOW - 10, 1};

static struct sto_once *make(size_t max_ids, struct ts_budget *budget)
{
    struct sto_once *t;
    struct sto_once_limits limits = {.max_ids = max_ids, .kept_s = KEPT, .budget = budget};
    assert_int_equal(sto_once_new(&limits, &t), 0);
    return t;
}

/* The table after a crash: what was encoded, in a new one. */
static struct sto_once *reload(struct sto_once *t)
{
    struct sto_once *copy = make(100, NULL);
    struct ts_buf buf;
    ts_buf_init(&buf, 0);
    assert_int_equal(sto_once_encode(t, &buf), 0);
    assert_int_equal(sto_once_decode(copy, ts_buf_get(&buf), NULL), 0);
    ts_buf_release(&buf);
    sto_once_free(t);
    return copy;
}

static void test_once__a_repeat_is_recognised_and_gaps_are_not_errors(void **state)
{
    (void)state;
    struct sto_once *t = make(100, NULL);
    assert_int_equal(sto_once_look(t, &A, 1, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 1), 0);
    assert_int_equal(sto_once_look(t, &A, 7, 1, NOW), STO_ONCE_NEW); /* 2 to 6 concern other owners */
    assert_int_equal(sto_once_added(t, &A, 7), 0);
    assert_int_equal(sto_once_look(t, &B, 1, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_look(t, &C, 1, 1, NOW), STO_ONCE_NEW);
    t = reload(t);
    assert_int_equal(sto_once_n(t), 1); /* ids that have added nothing are not kept */
    assert_int_equal(sto_once_look(t, &A, 1, 1, NOW), STO_ONCE_REPEAT);
    assert_int_equal(sto_once_look(t, &A, 7, 1, NOW), STO_ONCE_REPEAT);
    assert_int_equal(sto_once_look(t, &A, 8, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_look(t, &B, 1, 1, NOW), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__after_a_refusal_later_sequences_wait(void **state)
{
    (void)state;
    struct sto_once *t = make(100, NULL);
    assert_int_equal(sto_once_look(t, &A, 5, 1, NOW), STO_ONCE_NEW);
    sto_once_refused(t, &A, 5);
    assert_int_equal(sto_once_look(t, &A, 6, 1, NOW), STO_ONCE_WAIT);
    assert_int_equal(sto_once_look(t, &B, 6, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_look(t, &A, 4, 2, NOW), STO_ONCE_NEW);
    sto_once_refused(t, &A, 4);
    assert_int_equal(sto_once_look(t, &A, 5, 2, NOW), STO_ONCE_WAIT);
    assert_int_equal(sto_once_look(t, &A, 4, 2, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 4), 0);
    assert_int_equal(sto_once_look(t, &A, 6, 1, NOW), STO_ONCE_STALE); /* it would pass 5 */
    assert_int_equal(sto_once_look(t, &A, 4, 1, NOW), STO_ONCE_REPEAT);
    assert_int_equal(sto_once_look(t, &A, 5, 2, NOW), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__a_forgotten_id_is_refused(void **state)
{
    (void)state;
    struct sto_once *t = make(2, NULL);
    assert_int_equal(sto_once_look(t, &C, 1, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &C, 1), 0);
    assert_int_equal(sto_once_look(t, &A, 1, 1, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 1), 0);
    assert_int_equal(sto_once_look(t, &B, 1, 1, NOW), STO_ONCE_FULL);
    assert_int_equal(sto_once_look(t, &C, 1, 1, NOW - 11 + KEPT), STO_ONCE_REPEAT);
    assert_int_equal(sto_once_look(t, &C, 1, 1, NOW - 10 + KEPT), STO_ONCE_FORGOTTEN);
    assert_int_equal(sto_once_look(t, &C, 2, 1, NOW), STO_ONCE_FORGOTTEN); /* the clock went back */
    assert_int_equal(sto_once_look(t, &B, 2, 1, NOW),
                     STO_ONCE_FULL); /* room, but 1 was refused in this stream */
    assert_int_equal(sto_once_look(t, &B, 1, 2, NOW), STO_ONCE_NEW);
    assert_int_equal(sto_once_n(t), 2);
    t = reload(t);
    assert_int_equal(sto_once_look(t, &C, 2, 1, NOW), STO_ONCE_FORGOTTEN);
    assert_int_equal(sto_once_look(t, &A, 1, 1, NOW), STO_ONCE_REPEAT);
    struct sto_once_id ahead = {NOW + STO_ONCE_AHEAD_S + 1, 1};
    assert_int_equal(sto_once_look(t, &ahead, 1, 3, NOW), STO_ONCE_AHEAD);
    assert_int_equal(sto_once_look(t, &ahead, 2, 3, NOW + 1), STO_ONCE_FULL);
    assert_int_equal(sto_once_look(t, &ahead, 1, 4, NOW + 1), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__the_account_limits_ids_but_not_replay(void **state)
{
    (void)state;
    struct ts_budget budget;
    ts_budget_init(&budget, "ids", "key", NULL, 4096);
    struct sto_once *t = make(1000000, &budget);
    struct sto_once_id id = {NOW, 0};
    while (sto_once_look(t, &id, 1, 1, NOW) == STO_ONCE_NEW) {
        assert_int_equal(sto_once_added(t, &id, 1), 0);
        id.random++;
    }
    assert_in_range(id.random, 10, 100);
    assert_int_equal(sto_once_look(t, &id, 1, 2, NOW), STO_ONCE_FULL);
    for (; id.random < 1000; id.random++)
        assert_int_equal(sto_once_added(t, &id, 1), 0);
    for (id.random = 0; id.random < 1000; id.random++)
        assert_int_equal(sto_once_look(t, &id, 1, 1, NOW), STO_ONCE_REPEAT);
    sto_once_free(t);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_once__damaged_bytes_are_refused(void **state)
{
    (void)state;
    static const struct ts_slice bad[] = {{NULL, 0},
                                          TS_SLICE_LIT("\x05"),
                                          TS_SLICE_LIT("\x05\x01\x05\x01\x01"), /* forgotten */
                                          TS_SLICE_LIT("\x05\x01\x06\x01\x00"), /* no sequence */
                                          TS_SLICE_LIT("\x05\x02\x06\x01\x01"), /* one is missing */
                                          TS_SLICE_LIT("\x05\x02\x06\x01\x01\x06\x01\x02"), /* twice */
                                          TS_SLICE_LIT("\x05\x01\x06\x01\x01\x00")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sto_once *t = make(10, NULL);
        struct ts_error err = {0};
        assert_int_equal(sto_once_decode(t, bad[i], &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, "ids of clients"));
        sto_once_free(t);
    }
}

/* --- one client, several owners, crashes --- */
#define OWNERS  3
#define SEQS    60
#define STREAMS 400

/* An owner: what its files have, what its log has, and its table. */
struct owner {
    struct sto_once *table;
    struct ts_buf frozen;       /* the table as encoded at the last flush */
    unsigned n_files[SEQS + 1]; /* how often each sequence was added, in files */
    uint64_t log[SEQS * 4];     /* sequences of the records after the flush */
    size_t n_log, n_synced;     /* records; those that survive a power cut */
};
/* A stream: its parts arrive in order at each owner. */
struct stream {
    uint64_t next[OWNERS], end; /* next sequence for each owner; where the client stopped sending */
};
static struct owner owners[OWNERS];
static struct stream streams[STREAMS];

static bool concerns(uint64_t seq, unsigned o)
{
    return seq % 7 % OWNERS == o || seq % 4 == o;
}

static bool has(const struct owner *o, uint64_t seq)
{
    unsigned n = o->n_files[seq];
    for (size_t i = 0; i < o->n_log; i++)
        n += o->log[i] == seq;
    assert_true(n <= 1);
    return n;
}

static void flush(struct owner *o)
{
    ts_buf_clear(&o->frozen);
    assert_int_equal(sto_once_encode(o->table, &o->frozen), 0);
    for (size_t i = 0; i < o->n_log; i++)
        o->n_files[o->log[i]]++;
    o->n_log = o->n_synced = 0;
}

static void crash(struct owner *o, uint64_t *x)
{
    o->n_log = o->n_synced + t_random(x) % (o->n_log - o->n_synced + 1);
    o->n_synced = o->n_log;
    sto_once_free(o->table);
    o->table = make(10, NULL);
    if (o->frozen.n)
        assert_int_equal(sto_once_decode(o->table, ts_buf_get(&o->frozen), NULL), 0);
    for (size_t i = 0; i < o->n_log; i++)
        assert_int_equal(sto_once_added(o->table, &A, o->log[i]), 0);
}

/* The next part of a stream arrives at an owner. */
static void arrive(unsigned s, unsigned k, uint64_t *x)
{
    struct owner *o = &owners[k];
    uint64_t seq = streams[s].next[k];
    if (seq >= streams[s].end)
        return;
    streams[s].next[k]++;
    if (!concerns(seq, k) || sto_once_look(o->table, &A, seq, s + 1, NOW) != STO_ONCE_NEW)
        return;
    if (t_random(x) % 8 == 0) {
        sto_once_refused(o->table, &A, seq);
        return;
    }
    o->log[o->n_log++] = seq;
    assert_int_equal(sto_once_added(o->table, &A, seq), 0);
}

/* First sequence that has a part which is missing. The client repeats from there on or from before, as far as it has no answers. */
static uint64_t first_missing(void)
{
    for (uint64_t seq = 1; seq <= SEQS; seq++)
        for (unsigned k = 0; k < OWNERS; k++)
            if (concerns(seq, k) && !has(&owners[k], seq))
                return seq;
    return SEQS + 1;
}

static void run(uint64_t x)
{
    unsigned n = 0, oldest = 0; /* streams; the first one that a crash has not ended */
    memset(owners, 0, sizeof owners);
    for (unsigned k = 0; k < OWNERS; k++) {
        owners[k].table = make(10, NULL);
        ts_buf_init(&owners[k].frozen, 0);
    }
    while (first_missing() <= SEQS && n < STREAMS) {
        uint64_t missing = first_missing(), back_by = t_random(&x) % 4;
        uint64_t from = missing > back_by ? missing - back_by : 1;
        streams[n].end = missing + 1 + t_random(&x) % 12;
        streams[n].end = streams[n].end > SEQS + 1 ? SEQS + 1 : streams[n].end;
        for (unsigned k = 0; k < OWNERS; k++)
            streams[n].next[k] = from;
        n++;
        for (unsigned i = (unsigned)(t_random(&x) % 40); i; i--) {
            unsigned back = (unsigned)(t_random(&x) % 3), s = n - 1 >= oldest + back ? n - 1 - back : n - 1;
            arrive(s, (unsigned)(t_random(&x) % OWNERS), &x);
        }
        struct owner *o = &owners[t_random(&x) % OWNERS];
        if (t_random(&x) % 4 == 0)
            flush(o);
        if (t_random(&x) % 4 == 0)
            o->n_synced = o->n_log;
        if (t_random(&x) % 8 == 0) {
            for (unsigned k = 0; k < OWNERS; k++)
                crash(&owners[k], &x);
            oldest = n;
        }
    }
    assert_int_equal(first_missing(), SEQS + 1);
    for (unsigned k = 0; k < OWNERS; k++) {
        sto_once_free(owners[k].table);
        ts_buf_release(&owners[k].frozen);
    }
}

static void test_once__sums_are_exact_whatever_fails(void **state)
{
    (void)state;
    uint64_t x = 20261124;
    for (int i = 0; i < 2000; i++)
        run(t_random(&x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once__a_repeat_is_recognised_and_gaps_are_not_errors),
        cmocka_unit_test(test_once__after_a_refusal_later_sequences_wait),
        cmocka_unit_test(test_once__a_forgotten_id_is_refused),
        cmocka_unit_test(test_once__the_account_limits_ids_but_not_replay),
        cmocka_unit_test(test_once__damaged_bytes_are_refused),
        cmocka_unit_test(test_once__sums_are_exact_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
