/*
 * test_store_expiry.c - files that retention cuts through are written again soon, but not over and over; whole files go while a merge runs.
 */
#include "tests/unit/storage/windows_kit.h"

#include "storage/retain.h"
#include "storage/engine/engine_int.h"
#include "storage/store_int.h"

static struct sto_store *begin(struct t_faultfs **out_f)
{
    *out_f = t_faultfs_new(1);
    clocks(T0, 1000);
    return open_at(*out_f, 0, 0);
}

static void end(struct sto_store *st, struct t_faultfs *f)
{
    kit_close(st);
    t_faultfs_free(f);
}

static void add_rule(struct sto_store *st, const char *rule)
{
    struct ts_error err = {0};
    struct sto_retain_call call = {.what = STO_RETAIN_ADD, .text = ts_slice_str(rule), .at = SIZE_MAX};
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
}

/* One file with a point of each of two series (m0, m1) for each of the last n days. */
static void one_file(struct sto_store *st, int64_t n_days)
{
    for (int64_t d = 0; d < n_days; d++)
        for (unsigned i = 0; i < 2; i++)
            put_at(st, i, T0 - d * DAY - 2 * TS_HOUR_MS, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(stat_of(st, "files.count"), 1);
}

/* The clock goes on by hours, one merge pass after each. Returns how many merges there were. */
static uint64_t hours(struct sto_store *st, int64_t n)
{
    static int64_t at_ms;
    uint64_t before = stat_of(st, "compaction.count");
    if (ts_clock_ms() == T0)
        at_ms = 0;
    for (int64_t i = 0; i < n; i++) {
        at_ms += TS_HOUR_MS;
        clocks(T0 + at_ms, 1000 + at_ms);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    }
    return stat_of(st, "compaction.count") - before;
}

static void test_store_expiry__a_file_that_a_rule_cuts_is_written_again(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    one_file(st, 40);
    add_rule(st, "* points=10d");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 10);
    assert_int_equal(stat_of(st, "compaction.count"), 1);
    assert_int_equal(seen(st, 0).n, 10);
    assert_int_equal(seen(st, 1).n, 10);
    end(st, f);
}

/* A small part that has expired is not worth it, and more and more expires: each point is written few times. */
static void test_store_expiry__a_small_part_waits(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    one_file(st, 40);
    add_rule(st, "* points=35d");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 40);
    assert_int_equal(hours(st, 4 * 24), 0);
    assert_in_range(hours(st, 2 * 24), 1, 1);
    assert_in_range(stat_of(st, "files.points"), 2 * 29, 2 * 31);
    end(st, f);
}

/* A file that is written over and over ends the test, which would not end otherwise. */
static void count_syncs(void *arg, enum t_op op, const char *path, bool after)
{
    unsigned *n = arg;
    if (!after && op == T_OP_SYNC && path && strstr(path, "/files/") && ++*n > 50)
        fail_msg("the same file is written again and again");
}

/* A series that is kept for ever has the times that others have lost. */
static void test_store_expiry__is_not_repeated_for_what_stays(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    one_file(st, 60);
    unsigned n_syncs = 0;
    t_faultfs_set_hook(f, count_syncs, &n_syncs);
    add_rule(st, "m0 points=10d");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 60 + 10);
    assert_int_equal(stat_of(st, "compaction.count"), 1);
    assert_int_equal(hours(st, 5 * 24), 0);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_int_equal(seen(st, 1).n, 60);
    end(st, f);
}

/* A file of a day goes as a whole a day later at most, so its rows are not written again before. */
static void test_store_expiry__a_file_that_goes_soon_is_left_alone(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (int64_t h = 0; h < 24; h++)
        for (unsigned i = 0; i < 2; i++)
            put_at(st, i, T0 - T0 % DAY - 5 * DAY + h * TS_HOUR_MS, 1);
    flush_to(st, STO_LEVEL_FILES);
    add_rule(st, "* points=5d");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(hours(st, 12), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 24);
    assert_int_equal(hours(st, 2), 0);
    assert_int_equal(stat_of(st, "files.count"), 0);
    end(st, f);
}

/* Nearly all of a file has expired: it does not wait for the rest. */
static void test_store_expiry__a_rest_is_not_waited_for(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (int64_t d = 20; d < 36; d++)
        for (unsigned i = 0; i < 2; i++)
            put_at(st, i, T0 - d * DAY - 2 * TS_HOUR_MS, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(stat_of(st, "files.count"), 1);
    add_rule(st, "* points=500h");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2);
    assert_int_equal(hours(st, 12), 0);
    assert_int_equal(stat_of(st, "files.points"), 2);
    end(st, f);
}

/* What is kept for hours only does not take space for a day. */
static void test_store_expiry__short_times_are_kept(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (int64_t h = 0; h < 12; h++)
        for (unsigned i = 0; i < 2; i++)
            put_at(st, i, T0 - T0 % DAY + h * TS_HOUR_MS, 1);
    flush_to(st, STO_LEVEL_FILES);
    add_rule(st, "* points=4h");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 5);
    end(st, f);
}

/* The same with one duration for all. */
static void test_store_expiry__retention_days_cuts_files_too(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    one_file(st, 40);
    kit_close(st);
    st = open_at(f, 10, 0);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 10);
    assert_int_equal(seen(st, 0).n, 10);
    kit_close(st);
    st = open_at(f, 0, 0);
    assert_int_equal(seen(st, 0).n, 10);
    assert_int_equal(hours(st, 24), 0);
    end(st, f);
}

/* More and more expires by one duration for all, while nothing else happens to the store. */
static void test_store_expiry__retention_days_looks_again_when_more_has_expired(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    one_file(st, 40);
    kit_close(st);
    st = open_at(f, 35, 0);
    assert_int_equal(hours(st, 4 * 24), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 * 40);
    assert_int_equal(hours(st, 2 * 24), 1);
    assert_in_range(stat_of(st, "files.points"), 2 * 29, 2 * 31);
    end(st, f);
}

/* A rule is set at the first read of a merge. */
struct rule_meanwhile {
    struct sto_store *st;
    bool set;          /* the rule */
    unsigned n_synced; /* files that the merge has written */
    bool early;        /* a file was unlinked before that */
};

static void set_rule(void *arg, enum t_op op, const char *path, bool after)
{
    struct rule_meanwhile *r = arg;
    if (after || !path || !strstr(path, "/files/"))
        return;
    r->n_synced += op == T_OP_SYNC;
    r->early |= r->set && op == T_OP_UNLINK && r->n_synced == 0;
    if (op == T_OP_PREAD && !r->set) {
        r->set = true;
        add_rule(r->st, "* points=10d");
    }
}

static void test_store_expiry__whole_files_go_while_a_merge_runs(void **state)
{
    (void)state;
    enum { N_SERIES_EACH = 100, N_MERGED = 20 };
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (unsigned i = 0; i < N_SERIES_EACH; i++)
        put_at(st, i, T0 - 29 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t k = 0; k < N_MERGED; k++) {
        for (unsigned i = 0; i < N_SERIES_EACH; i++)
            for (int64_t h = 0; h < 12; h++)
                put_at(st, i, T0 - T0 % DAY + h * TS_HOUR_MS + k, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    struct rule_meanwhile r = {.st = st};
    t_faultfs_set_hook(f, set_rule, &r);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(r.set && r.early);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_int_equal(seen(st, 0).n, 12 * N_MERGED);
    end(st, f);
}

/* The store is closed at the first read of a file; the files are 1 to 3, another one is what a merge writes. */
struct close_meanwhile {
    struct sto_store *st;
    bool begun;        /* there was that read */
    unsigned n_others; /* reads of files 2 and 3 */
};

static void begin_to_close(void *arg, enum t_op op, const char *path, bool after)
{
    struct close_meanwhile *c = arg;
    if (after || op != T_OP_PREAD || !path || !strstr(path, "/files/"))
        return;
    c->n_others += strstr(path, "00000002.t") || strstr(path, "00000003.t");
    c->begun = true;
    atomic_store(&c->st->engine->stop_compact, true);
}

/* Looking at how much of many files has expired does not keep a store from closing. */
static void test_store_expiry__closing_waits_for_one_file(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (int64_t k = 0; k < 3; k++) {
        for (int64_t d = 0; d < 40; d++)
            for (unsigned i = 0; i < 2; i++)
                put_at(st, i, T0 - d * DAY - 2 * TS_HOUR_MS + k, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), 3);
    add_rule(st, "* points=10d");
    struct close_meanwhile c = {.st = st};
    t_faultfs_set_hook(f, begin_to_close, &c);
    (void)sto_store_pump_merges(st, NULL);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(c.begun);
    assert_int_equal(c.n_others, 0);
    end(st, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_expiry__a_file_that_a_rule_cuts_is_written_again),
        CASE(test_store_expiry__a_small_part_waits),
        CASE(test_store_expiry__is_not_repeated_for_what_stays),
        CASE(test_store_expiry__a_file_that_goes_soon_is_left_alone),
        CASE(test_store_expiry__a_rest_is_not_waited_for),
        CASE(test_store_expiry__short_times_are_kept),
        CASE(test_store_expiry__retention_days_cuts_files_too),
        CASE(test_store_expiry__retention_days_looks_again_when_more_has_expired),
        CASE(test_store_expiry__whole_files_go_while_a_merge_runs),
        CASE(test_store_expiry__closing_waits_for_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
