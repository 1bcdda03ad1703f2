/*
 * test_engine_once.c - additions that clients number, in an engine without names: single rules (clients of which everything fails:
 * test_once_life.c).
 */
#include "tests/unit/engine/once_kit.h"

#include "storage/engine/once.h"
#include "tests/unit/t_random.h"

static void test_engine_once__repeats_add_nothing_whatever_comes_between(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 2);
    struct ts_error err = {0};
    send_three(e, 2);
    send_three(e, 2);
    assert_int_equal(stat_of(e, "counters.repeated"), 3 * N_SERIES);
    e = crash(e, f, false, 3); /* from the log, by other owners */
    send_three(e, 3);
    assert_int_equal(sto_engine_flush(e, &err), 0);
    send_three(e, 3);
    e = crash(e, f, true, 1); /* from the manifest */
    send_three(e, 1);
    assert_int_equal(close_rc(e, f), 0);
    e = once_open(f, 4);
    send_three(e, 4);
    e = crash(e, f, true, 2);
    struct sto_stream s = stream_new(e, 7, 1);
    assert_true(add_part(e, 1, &s, 4, 0, 100, 1));
    assert_true(add_part(e, 1, &s, 4, 0, 100, 1)); /* twice in one batch */
    turn_all(e, 2);
    assert_int_equal(sum_of(e), N_SERIES * 12 + 100);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_engine_once__after_a_full_disk_later_sequences_wait(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 1);
    struct sto_stream s = stream_new(e, 1, 5), other = stream_new(e, 2, 6);
    struct answer a = {0}, b = {0};
    plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
    assert_true(add_part(e, 0, &s, 1, 0, 1, 1) && add_part(e, 0, &other, 1, 0, 10, 1));
    assert_true(add_part(e, 0, &s, 2, 1, 1, 1));
    turn_all(e, 1);
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 5, on_answer, &a);
    wait_answer(e, 1, &a);
    assert_int_equal(a.rc, TS_ENOSPC);
    no_plan(f);
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 6, on_answer, &b);
    wait_answer(e, 1, &b);
    assert_int_equal(b.rc, 0);
    assert_int_equal(sum_of(e), 10); /* what the other one added has waited */
    t_refused.n = 0;
    assert_true(add_part(e, 0, &s, 3, 0, 100, 1)); /* it was sent before the client knew */
    turn_all(e, 1);
    assert_int_equal(t_refused.n, 1);
    assert_int_equal(t_refused.seq, 3);
    assert_int_equal(t_refused.stream, s.number);
    assert_int_equal(sum_of(e), 10);
    for (uint64_t seq = 1; seq <= 3; seq++)
        assert_true(add_part(e, 0, &s, seq, seq == 2, seq == 3 ? 100 : 1, 1));
    turn_all(e, 1);
    assert_int_equal(t_refused.n, 1);
    assert_int_equal(sum_of(e), 112);
    assert_int_equal(stat_of(e, "counters.refused"), 3);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Time passes; before, somebody sets the clock. */
static void pass(int64_t s, int64_t set)
{
    ts_clock_set_fake_mono(ts_clock_mono_ns() + s * 1000000000);
    ts_clock_set_fake(ts_clock_ms() + (s + set) * 1000);
}

/* The same, while the machine is off. */
static struct sto_engine *later(struct sto_engine *e, struct t_faultfs *f, int64_t s, int64_t set)
{
    pass(s, set);
    return crash(e, f, false, 1);
}

/* One addition to a series, and how it ends. */
static void one(struct sto_engine *e, const struct sto_stream *s, uint64_t seq, int n_refused, int64_t sum)
{
    t_refused.n = 0;
    assert_true(add_part(e, 0, s, seq, 0, 1, 1));
    turn_all(e, 1);
    assert_int_equal(t_refused.n, n_refused);
    assert_int_equal(sum_of(e), sum);
}

static void test_engine_once__an_old_id_adds_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 1);
    struct ts_error err = {0};
    struct sto_stream s = stream_new(e, 1, 5);
    ts_clock_set_fake_mono(1000000000);
    one(e, &s, 1, 0, 1);
    pass(1000, 0);
    one(e, &s, 2, 1, 1);
    assert_true(t_refused.forgotten);
    one(e, &s, 1, 0, 1);
    pass(STO_ONCE_LONGER_S, 0);
    one(e, &s, 1, 1, 1);
    assert_int_equal(sto_engine_flush(e, &err), 0);
    e = later(e, f, 0, -1000 - (int64_t)STO_ONCE_LONGER_S);
    s = stream_new(e, 1, 5);
    one(e, &s, 2, 1, 1);
    assert_true(t_refused.forgotten);
    s.id.made_s += STO_ONCE_LONGER_S;
    one(e, &s, 1, 0, 2); /* this clock has it in the future, but the one before had not */
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    ts_clock_set_fake_mono(0);
}

/* A clock that is wrong by a month, forward or back, while the store runs or when it starts, makes it refuse nothing and
 * forget nothing. */
static void test_engine_once__a_wrong_clock_refuses_nothing(void **state)
{
    (void)state;
    for (int64_t month = -30 * 86400; month <= 30 * 86400; month += 60 * 86400) {
        struct t_faultfs *f = t_faultfs_new(1);
        ts_clock_set_fake_mono(1000000000);
        struct sto_engine *e = once_open(f, 1);
        struct ts_error err = {0};
        struct sto_stream s = stream_new(e, 1, 5), other = stream_new(e, 2, 5);
        one(e, &s, 1, 0, 1);
        pass(900, month);
        one(e, &s, 1, 0, 1);
        one(e, &s, 2, 0, 2);
        one(e, &other, 1, 0, 3); /* a new id of a client whose clock is right */
        pass(50, -month);
        one(e, &s, 3, 0, 4);
        assert_int_equal(sto_engine_flush(e, &err), 0);
        e = later(e, f, 10, month); /* and now the clock is wrong at a start */
        s = stream_new(e, 1, 5);
        struct sto_stream third = stream_new(e, 3, 5);
        one(e, &s, 3, 0, 4);
        one(e, &s, 4, 0, 5);
        one(e, &third, 1, 0, 6);
        e = later(e, f, 10, -month);
        s = stream_new(e, 1, 5);
        one(e, &s, 4, 0, 6);
        pass(100, 0);
        one(e, &s, 5, 1, 6); /* it is old, and was made at the right time */
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
    ts_clock_set_fake_mono(0);
}

/* Ids are not kept for ever where the clock was set back: a place for others is there as soon as the store has run long enough. */
static void test_engine_once__a_clock_that_stands_forgets_all_the_same(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    ts_clock_set_fake_mono(1000000000);
    struct sto_engine *e = once_open(f, 1);
    struct ts_error err = {0};
    int64_t sum = 0;
    for (uint64_t round = 0; round < 5; round++) {
        for (uint64_t id = 1; id <= 5; id++) { /* four of them at most in a shard */
            struct sto_stream s = stream_new(e, id, 5);
            s.id.made_s += round; /* ids of the second before are forgotten */
            one(e, &s, 1, id == 5, id == 5 ? sum : ++sum);
        }
        pass(1000 + STO_ONCE_LONGER_S, -1000 - (int64_t)STO_ONCE_LONGER_S);
        if (round % 2)
            assert_int_equal(sto_engine_flush(e, &err), 0);
    }
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    ts_clock_set_fake_mono(0);
}

/* One address may have three of the four ids of a shard. */
static void test_engine_once__an_address_has_its_share(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = once_open(f, 1);
    for (uint64_t id = 1; id <= 5; id++) {
        struct sto_stream s = stream_new(e, id, 5);
        s.client = 7;
        one(e, &s, 1, id > 3, id > 3 ? 3 : (int64_t)id);
    }
    struct sto_stream s = stream_new(e, 6, 5);
    s.client = 8;
    one(e, &s, 1, 0, 4);
    assert_int_equal(stat_of(e, "counters.refused"), 2);
    assert_int_equal(stat_of(e, "counters.refused_per_address"), 2);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Its share is one of the memory for ids, too. */
static void test_engine_once__an_address_has_its_share_of_memory(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    ids_bytes = 256 << 10; /* 64 KiB for each shard, of some 70 a slot */
    struct sto_engine *e = once_open(f, 1);
    for (uint64_t i = 0; i < 3000; i++, turn_all(e, 1)) {
        struct sto_stream s = stream_new(e, i + 1, 5);
        s.client = 7 + i / 1000;
        assert_true(add_part(e, 0, &s, 1, 0, 1, 1));
    }
    assert_in_range(sum_of(e), 3 * 50, 3 * 150);
    assert_int_equal(stat_of(e, "counters.refused_per_address"), 3000 - (uint64_t)sum_of(e));
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    ids_bytes = 0;
}

/* A part is in one record, however many additions it has. */
static void test_engine_once__large_parts_are_whole_or_missing(void **state)
{
    (void)state;
    for (unsigned n = 1000; n <= STO_BATCH_POINTS; n += 1032)
        for (uint64_t at = 1; at <= 3; at++) {
            struct t_faultfs *f = t_faultfs_new(at);
            struct sto_engine *e = once_open(f, 1);
            struct sto_stream s = stream_new(e, 1, 5);
            for (uint64_t seq = 1; seq <= 3; seq++)
                assert_true(put(e, 0, 1, 0) && add_part(e, 0, &s, seq, 0, 1, n) && put(e, 0, 2, 0));
            turn_all(e, 1);
            e = crash(e, f, true, 2);
            assert_int_equal(sum_of(e) % n, 0);
            s = stream_new(e, 1, 5);
            for (uint64_t seq = 1; seq <= 3; seq++)
                assert_true(add_part(e, 1, &s, seq, 0, 1, n));
            turn_all(e, 2);
            assert_int_equal(sum_of(e), 3 * n);
            assert_int_equal(close_rc(e, f), 0);
            t_faultfs_free(f);
        }
}

/* What a reader of a series is told: 0 and the sum, or an error. */
static int read_series(struct sto_engine *e, unsigned series, int64_t *out_sum, struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    const struct sto_series *list[] = {t_series[series]};
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true,
                                 .metric = 1,
                                 .series = list,
                                 .n_series = 1};
    struct sto_merge *m = NULL;
    struct sto_row row;
    int rc = sto_version_scan(v, &spec, &m, err);
    *out_sum = 0;
    while (rc >= 0 && (rc = sto_merge_next(m, &row, err)) == 1)
        for (uint32_t i = 0; i < row.cells->n; i++)
            *out_sum += row.cells->m[i];
    sto_merge_free(m);
    sto_engine_unpin(e, v);
    return rc;
}

/* Whether the additions meet in memory, in files or in a merge of files, a sum that does not fit is neither wrapped nor rounded. */
static void test_engine_once__a_sum_beyond_64_bits_is_an_error(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = once_open(f, 1);
        struct ts_error err = {0};
        int64_t sum;
        struct sto_stream s = stream_new(e, 1, 1);
        assert_true(add_part(e, 0, &s, 5, 0, INT64_MAX, 1) && add_part(e, 0, &s, 5, 1, 7, 1));
        turn_all(e, 1);
        if (way & 1)
            assert_int_equal(sto_engine_flush(e, &err), 0);
        assert_int_equal(read_series(e, 0, &sum, &err), 0);
        assert_true(sum == INT64_MAX);
        assert_true(add_part(e, 0, &s, 10, 0, 1, 1));
        turn_all(e, 1);
        if (way & 1)
            assert_int_equal(sto_engine_flush(e, &err), 0);
        if (way & 2)
            assert_int_equal(sto_engine_compact(e, &err), 0);
        assert_int_equal(read_series(e, 0, &sum, &err), TS_EINVAL);
        assert_non_null(strstr(err.text, "the sum of m h=0 at 1793620800000 ms does not fit"));
        assert_int_equal(read_series(e, 1, &sum, &err), 0); /* others are not concerned */
        assert_int_equal(sum, 7);
        assert_true(add_part(e, 0, &s, 15, 0, -5, 1)); /* nobody knows by how much it is too large */
        turn_all(e, 1);
        assert_int_equal(read_series(e, 0, &sum, &err), TS_EINVAL);
        assert_true(put(e, 0, 0, 0)); /* 0 at that time */
        assert_true(add_part(e, 0, &s, 20, 0, 3, 1));
        turn_all(e, 1);
        assert_int_equal(read_series(e, 0, &sum, &err), 0);
        assert_int_equal(sum, 3);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_once__repeats_add_nothing_whatever_comes_between),
        cmocka_unit_test(test_engine_once__after_a_full_disk_later_sequences_wait),
        cmocka_unit_test(test_engine_once__an_old_id_adds_nothing),
        cmocka_unit_test(test_engine_once__a_wrong_clock_refuses_nothing),
        cmocka_unit_test(test_engine_once__a_clock_that_stands_forgets_all_the_same),
        cmocka_unit_test(test_engine_once__an_address_has_its_share),
        cmocka_unit_test(test_engine_once__an_address_has_its_share_of_memory),
        cmocka_unit_test(test_engine_once__large_parts_are_whole_or_missing),
        cmocka_unit_test(test_engine_once__a_sum_beyond_64_bits_is_an_error),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* full disks and torn tails are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
