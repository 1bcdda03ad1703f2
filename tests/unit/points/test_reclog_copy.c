/*
 * test_reclog_copy.c - the copy beside a record log: it follows, it heals an end that was lost, and costs nothing
 * when it can't be written.
 *
 * Threads    one
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/reclog.h"
#include "tests/faults/faultfs.h"

#define PATH "/x.log"
#define COPY PATH ".copy"

static int take(void *arg, struct ts_slice body, struct ts_error *err)
{
    (void)err;
    ts_buf_slice(arg, body);
    ts_buf_char(arg, '|');
    return 0;
}

static int open_it(struct t_faultfs *f, bool read_only, struct ts_buf *got, struct sto_reclog **out)
{
    struct ts_error err = {0};
    ts_buf_init(got, 0);
    int rc = sto_reclog_open(t_faultfs_fs(f), PATH, "TEST", read_only, take, got, out, &err);
    if (rc == 0)
        rc = sto_reclog_keep_copy(*out, &err);
    if (rc < 0)
        sto_reclog_abandon(*out); /* NULL if it did not open at all */
    return rc;
}

static void add(struct sto_reclog *log, const char *text)
{
    assert_int_equal(sto_reclog_add(log, ts_slice_str(text), NULL), 0);
    assert_int_equal(sto_reclog_flush(log, true, NULL), 0);
}

static void expect_records(struct t_faultfs *f, bool read_only, const char *want)
{
    struct ts_buf got;
    struct sto_reclog *log;
    assert_int_equal(open_it(f, read_only, &got, &log), 0);
    assert_true(ts_slice_is(ts_buf_get(&got), want));
    ts_buf_release(&got);
    sto_reclog_close(log, NULL);
}

static bool same_files(struct t_faultfs *f)
{
    size_t n_a = 0, n_b = 0;
    uint8_t *a = t_faultfs_get(f, PATH, &n_a), *b = t_faultfs_get(f, COPY, &n_b);
    bool same = a && b && n_a == n_b && memcmp(a, b, n_a) == 0;
    ts_free(a);
    ts_free(b);
    return same;
}

/* A log of three records and its copy. */
static struct t_faultfs *three(void)
{
    struct t_faultfs *f = t_faultfs_new(7);
    struct ts_buf got;
    struct sto_reclog *log;
    assert_int_equal(open_it(f, false, &got, &log), 0);
    add(log, "one");
    add(log, "two");
    add(log, "three");
    assert_true(same_files(f));
    sto_reclog_close(log, NULL);
    return f;
}

static void test_reclog_copy__an_end_that_was_lost_is_healed(void **state)
{
    (void)state;
    size_t n;
    struct t_faultfs *f = three();
    uint8_t *all = t_faultfs_get(f, PATH, &n);
    for (size_t cut = STO_RECLOG_HEADER_BYTES; cut <= n; cut++) {
        t_faultfs_put(f, PATH, all, cut);
        expect_records(f, true, "one|two|three|");
        ts_free(t_faultfs_get(f, PATH, &n));
        assert_int_equal(n, cut); /* read-only: nothing was changed */
        expect_records(f, false, "one|two|three|");
        assert_true(same_files(f));
    }
    ts_free(t_faultfs_get(f, PATH, &n));
    for (size_t i = n - 25; i < n;
         i++) { /* the last record: nothing in the log itself tells that it was on disk */
        assert_true(t_faultfs_flip(f, PATH, i, 4));
        expect_records(f, false, "one|two|three|");
        assert_true(same_files(f));
    }
    ts_free(all);
    t_faultfs_free(f);
}

static void test_reclog_copy__a_bad_copy_is_made_anew(void **state)
{
    (void)state;
    size_t n;
    struct t_faultfs *f = three();
    ts_free(t_faultfs_get(f, COPY, &n));
    for (size_t i = 0; i < n; i++) {
        assert_true(t_faultfs_flip(f, COPY, i, 1));
        expect_records(f, true, "one|two|three|");
        assert_false(same_files(f));
        expect_records(f, false, "one|two|three|");
        assert_true(same_files(f));
    }
    assert_true(t_faultfs_remove(f, COPY));
    expect_records(f, false, "one|two|three|");
    assert_true(same_files(f));
    t_faultfs_free(f);
}

/* A checkpoint was made and its copy was not: the old copy is longer and must not be believed. */
/* What the process after a failed sync reads is in memory, and the disk may never have got it. */
static void failed_sync_and_kill(struct t_faultfs *f, bool in_copy)
{
    static char large[20000], want[sizeof large + 8]; /* of pages that the record behind it does not touch */
    struct sto_reclog *log;
    struct ts_buf got;
    memset(large, 'b', sizeof large);
    int n = snprintf(want, sizeof want, "a|%.*s|", (int)sizeof large, large);
    assert_int_equal(open_it(f, false, &got, &log), 0);
    ts_buf_release(&got);
    add(log, "a");
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){large, sizeof large}, NULL), 0);
    if (in_copy)
        assert_int_equal(sto_reclog_flush(log, false, NULL), 0);
    t_faultfs_plan(f, (struct t_fault_plan){.fault = T_FAULT_EIO, .ops = T_OP_SYNC, .at = 1});
    assert_int_equal(sto_reclog_flush(log, true, NULL), TS_EIO);
    t_faultfs_plan(f, (struct t_fault_plan){0});
    sto_reclog_abandon(log);
    t_faultfs_kill(f);

    assert_int_equal(open_it(f, false, &got, &log), 0);
    assert_true(ts_slice_is(ts_buf_get(&got), want));
    ts_buf_release(&got);
    add(log, "c");
    sto_reclog_abandon(log);
    t_faultfs_reboot(f, T_KEEP_NONE);
    (void)snprintf(want + n, sizeof want - (size_t)n, "c|");
    expect_records(f, false, want);
}

static void test_reclog_copy__a_failed_sync_and_a_kill(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        failed_sync_and_kill(f, seed % 2 == 0);
        t_faultfs_free(f);
    }
}

static void test_reclog_copy__of_another_log_heals_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = three(), *other = t_faultfs_new(1);
    struct ts_buf got;
    struct sto_reclog *log;
    assert_int_equal(open_it(other, false, &got, &log), 0);
    add(log, "o-e"); /* as long as "one" */
    sto_reclog_close(log, NULL);
    size_t n;
    uint8_t *p = t_faultfs_get(other, PATH, &n);
    t_faultfs_put(f, PATH, p, n);
    ts_free(p);
    expect_records(f, false, "o-e|");
    assert_true(same_files(f));
    t_faultfs_free(other);
    t_faultfs_free(f);
}

static void test_reclog_copy__a_missing_log_is_not_made_anew(void **state)
{
    (void)state;
    struct t_faultfs *f = three();
    struct ts_buf got;
    struct sto_reclog *log;
    assert_true(t_faultfs_remove(f, PATH));
    assert_int_equal(open_it(f, false, &got, &log), TS_ECORRUPT);
    assert_int_equal(open_it(f, true, &got, &log), TS_ENOTFOUND);
    t_faultfs_free(f);
}

static int emit(void *arg, struct sto_reclog *fresh, struct ts_error *err)
{
    return sto_reclog_add(fresh, ts_slice_str(arg), err);
}

/* Every call fails once, at any place: the log holds what it confirmed, and the copy catches up. */
static void test_reclog_copy__failures_cost_nothing(void **state)
{
    (void)state;
    static char fresh[] = "fresh";
    for (uint64_t at = 1; at < 120; at++) {
        struct t_faultfs *f = t_faultfs_new(at);
        struct ts_buf got;
        struct sto_reclog *log;
        t_faultfs_plan(f, (struct t_fault_plan){.at = at, .fault = at % 2 ? T_FAULT_EIO : T_FAULT_ENOSPC});
        bool whole = open_it(f, false, &got, &log) == 0;
        if (whole) {
            for (int i = 0; whole && i < 4; i++)
                whole = sto_reclog_add(log, TS_SLICE_LIT("one"), NULL) == 0 &&
                        sto_reclog_flush(log, true, NULL) == 0;
            whole = whole && sto_reclog_rewrite(log, emit, fresh, NULL) == 0;
            whole = whole && sto_reclog_add(log, TS_SLICE_LIT("two"), NULL) == 0 &&
                    sto_reclog_flush(log, true, NULL) == 0;
            sto_reclog_close(log, NULL);
        }
        t_faultfs_plan(f, (struct t_fault_plan){0});
        if (whole) {
            expect_records(f, false, "fresh|two|");
            assert_true(same_files(f));
        }
        assert_int_equal(t_faultfs_n_open(f), 0);
        t_faultfs_free(f);
    }
}

/* A rewritten log is the one that is copied from then on. */
static void test_reclog_copy__follows_a_rewrite(void **state)
{
    (void)state;
    struct t_faultfs *f = three();
    struct ts_buf got;
    struct sto_reclog *log;
    assert_int_equal(open_it(f, false, &got, &log), 0);
    ts_buf_release(&got);
    assert_int_equal(sto_reclog_rewrite(log, emit, "new", NULL), 0);
    assert_true(same_files(f));
    add(log, "more");
    assert_true(same_files(f));
    sto_reclog_close(log, NULL);
    t_faultfs_free(f);
}

static bool may(void *arg)
{
    return *(bool *)arg;
}

/* The copy of the former log heals nothing of the new one: not before it is made again, and not if the process ends before that. */
static void test_reclog_copy__a_replacement_leaves_it_behind_until_it_is_made_again(void **state)
{
    (void)state;
    for (unsigned killed = 0; killed < 2; killed++) {
        struct t_faultfs *f = three();
        struct ts_buf got;
        struct ts_error err = {0};
        struct sto_reclog *log;
        bool allowed = false;
        static char contents[] = "new";
        const struct sto_reclog_replacement with = {
            .emit = emit, .arg = contents, .may = may, .may_arg = &allowed};
        assert_int_equal(open_it(f, false, &got, &log), 0);
        ts_buf_release(&got);
        assert_int_equal(sto_reclog_replace(log, &with, &err), TS_EBUSY);
        assert_int_equal(err.code, TS_EBUSY);
        assert_true(same_files(f)); /* nothing has changed */
        add(log, "four");
        allowed = true;
        assert_int_equal(sto_reclog_replace(log, &with, NULL), 0);
        add(log, "five");
        assert_false(same_files(f));
        if (!killed)
            sto_reclog_renew_copy(log);
        if (!killed)
            add(log, "six");
        assert_true(same_files(f) == !killed);
        sto_reclog_abandon(log);
        t_faultfs_kill(f);
        expect_records(f, false, killed ? "new|five|" : "new|five|six|");
        assert_true(same_files(f));
        t_faultfs_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reclog_copy__an_end_that_was_lost_is_healed),
        cmocka_unit_test(test_reclog_copy__a_bad_copy_is_made_anew),
        cmocka_unit_test(test_reclog_copy__a_failed_sync_and_a_kill),
        cmocka_unit_test(test_reclog_copy__of_another_log_heals_nothing),
        cmocka_unit_test(test_reclog_copy__a_missing_log_is_not_made_anew),
        cmocka_unit_test(test_reclog_copy__failures_cost_nothing),
        cmocka_unit_test(test_reclog_copy__follows_a_rewrite),
        cmocka_unit_test(test_reclog_copy__a_replacement_leaves_it_behind_until_it_is_made_again),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
