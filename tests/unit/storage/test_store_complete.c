/*
 * test_store_complete.c - with a sole writer, scans of recent times do not read the remote store, and miss nothing: whatever is removed
 * here, wherever the power is cut, whatever is lost, whatever the clock shows, and if the folder is a copy.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/fsck.h"

#define NOW       (T0 + 40 * TS_HOUR_MS + 1000)
#define NEXT_HOUR (T0 / TS_HOUR_MS * TS_HOUR_MS + 41 * TS_HOUR_MS)
#define BOOT      7 /* number of the machine's start */

static void begin(struct ship_both *b)
{
    ship_init(b, 3);
    ts_clock_set_fake(NOW);
    b->opts.boot = BOOT;
    b->opts.survive_sync_errors = true;
    ship_reopen(b);
}

static void say(struct ship_both *b, bool on)
{
    struct ts_error err = {0};
    if (sto_set_sole_writer(b->st, on, &err) < 0)
        fail_msg("sole writer: %s", err.text);
}

/* Scan a series from a time on without the remote store: the number of points that differ from the diary, or the error. */
static int scan_from(struct ship_both *b, unsigned series, int64_t from_ms)
{
    const struct sto_series *s = kit_series(b->st, series);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = from_ms,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true};
    struct t_ref *ref = t_ref_new();
    struct t_ref_point *want;
    struct sto_merge *m = NULL;
    struct sto_row row;
    struct ts_error err = {0};
    size_t n = 0, bad = 0;
    for (size_t i = 0; i < b->d.n; i++)
        t_ref_apply(ref, &b->d.ops[i]);
    size_t n_want = t_ref_scan(ref, series, from_ms, STO_MAX_TS_MS, &want);
    sto_memory_remote_set_unreachable(b->r, true);
    struct sto_snap *snap = sto_snap_take(b->st);
    int rc = sto_scan(snap, &spec, &m, &err);
    while (rc >= 0 && (rc = sto_merge_next(m, &row, &err)) == 1)
        for (uint32_t i = 0; i < row.cells->n; i++, n++)
            bad += n >= n_want ||
                   want[n].ts_ms != row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[i]) ||
                   !t_ref_same(want[n].value, sto_cell_num(row.cells->meta[i], row.cells->m[i]));
    sto_merge_free(m);
    sto_snap_release(snap);
    sto_memory_remote_set_unreachable(b->r, false);
    ts_free(want);
    t_ref_free(ref);
    return rc < 0 ? rc : (int)(bad + (n > n_want ? n - n_want : n_want - n));
}

/* Whatever the store says is complete is complete, and anything before it is read from the remote store. */
static void expect_complete(struct ship_both *b, const char *when)
{
    int64_t from_ms = sto_complete_from(b->st);
    for (unsigned i = 0; i < N_SERIES; i++) {
        int rc = from_ms == INT64_MAX ? 0 : scan_from(b, i, from_ms);
        if (rc != 0)
            fail_msg("%s: series %u from %lld: %d", when, i, (long long)from_ms, rc);
    }
    assert_int_equal(scan_from(b, 0, from_ms == INT64_MAX ? NOW : from_ms - 1), TS_EBACKEND);
    kit_expect_all(b->st, &b->d, when);
}

/* Points before and after the next full hour, all of them shipped, and in files for the former. */
static void fill(struct ship_both *b)
{
    for (int i = 0; i < 40; i++)
        ship_put(b, (unsigned)i % N_SERIES, T0 + i * TS_HOUR_MS, i);
    ship_flush(b->st);
    for (int i = 0; i < 12; i++)
        ship_put(b, (unsigned)i % N_SERIES, NEXT_HOUR + i * TS_HOUR_MS, i);
    ship_flush(b->st);
    ship_all(b->st);
}

static void test_store_complete__nothing_is_until_it_is_said(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    fill(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    expect_complete(&b, "nothing said");
    say(&b, false);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    say(&b, true); /* points ahead of the clock were sent */
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    expect_complete(&b, "said");
    struct sto_snap *snap = sto_snap_take(b.st);
    ts_clock_set_fake(NOW + 20 * TS_HOUR_MS);
    say(&b, true); /* not anew */
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    say(&b, false);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    assert_int_equal(sto_snap_complete_from(snap), NEXT_HOUR + 12 * TS_HOUR_MS); /* it still has everything */
    sto_snap_release(snap);
    say(&b, true);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 20 * TS_HOUR_MS);
    expect_complete(&b, "said again");
    ship_end(&b);
}

static void test_store_complete__it_outlives_the_process_but_not_the_machine(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    ts_clock_set_fake(NOW + 5 * TS_HOUR_MS);
    b.opts.boot = BOOT + 1;
    ship_reopen(&b); /* it was closed, so that the machine may start anew */
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR);
    ship_kill(&b);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR);
    expect_complete(&b, "killed");
    ship_put(&b, 0, NEXT_HOUR + 60000, 5);
    ship_all(b.st); /* from memory; the log is not synced */
    t_faultfs_power_cut(b.f);
    (void)sto_close(b.st, NULL);
    b.st = NULL;
    t_faultfs_reboot(b.f, T_KEEP_NONE);
    b.opts.boot = BOOT + 2;
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    say(&b, true);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    expect_complete(&b, "after the power cut"); /* the last point too, which only the remote store has */
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    ship_end(&b);
}

static void test_store_complete__without_the_remote_store_it_is_forgotten(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    b.opts.remote = NULL;
    ship_reopen(&b);
    struct sto_snap *snap = sto_snap_take(b.st);
    assert_int_equal(sto_snap_complete_from(snap), INT64_MIN); /* there is no other store to read */
    sto_snap_release(snap);
    b.opts.remote = b.r;
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    expect_complete(&b, "again with the remote store");
    ship_end(&b);
}

static void test_store_complete__removing_files_raises_it(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    struct sto_snap *snap = sto_snap_take(b.st);
    assert_int_equal(sto_drop_shipped(b.st, NOW, NULL), 0); /* nothing that is complete */
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR);
    expect_complete(&b, "old files");
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    assert_int_equal(sto_snap_complete_from(snap), NEXT_HOUR);
    sto_snap_release(snap);
    expect_complete(&b, "all files");
    ship_put(&b, 1, NEXT_HOUR + 12 * TS_HOUR_MS, 1);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    expect_complete(&b, "another start");
    ship_end(&b);
}

/* Files are removed, and the power is cut at the n-th call: afterwards what is said holds. Returns false if there was no such call. */
static bool cut_at(uint64_t n)
{
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR);
    t_faultfs_plan(b.f, (struct t_fault_plan){.at = n, .fault = T_FAULT_POWER});
    (void)sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL);
    bool fired = t_faultfs_fired(b.f);
    (void)sto_close(b.st, NULL);
    b.st = NULL;
    t_faultfs_reboot(b.f, n % 2 ? T_KEEP_RANDOM : T_KEEP_NONE);
    ship_reopen(&b); /* with the same number of the machine's start: what matters here is the order on disk */
    bool removed = ship_stat(b.st, "files.count") == 0;
    assert_int_equal(sto_complete_from(b.st), removed ? NEXT_HOUR + 12 * TS_HOUR_MS : NEXT_HOUR);
    expect_complete(&b, "after the power cut");
    ship_end(&b);
    return fired;
}

static void test_store_complete__a_power_cut_while_files_are_removed(void **state)
{
    (void)state;
    uint64_t n = 1;
    while (cut_at(n))
        n++;
    assert_true(n > 2);
}

static void test_store_complete__expired_points_raise_it(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    b.opts.retention_ms = 10 * TS_HOUR_MS;
    ts_clock_set_fake(NEXT_HOUR + 25 * TS_HOUR_MS);
    ts_clock_set_fake_mono(25 * TS_HOUR_MS * 1000000);
    ship_reopen(&b);
    for (int h = 0; h < 80;
         h++) { /* the clock has jumped while the store was closed, so nothing expires for some time */
        ts_clock_set_fake(NEXT_HOUR + (25 + h) * TS_HOUR_MS);
        ts_clock_set_fake_mono((25 + h) * TS_HOUR_MS * 1000000);
        assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    }
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    assert_true(sto_complete_from(b.st) > NEXT_HOUR + 12 * TS_HOUR_MS);
    ship_reopen(&b);
    assert_true(sto_complete_from(b.st) > NEXT_HOUR + 12 * TS_HOUR_MS);
    ship_end(&b);
}

static void test_store_complete__a_repair_forgets_it(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_fsck_result r;
    begin(&b);
    say(&b, true);
    fill(&b);
    kit_close(b.st);
    b.st = NULL;
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(b.f), .dir = "/db", .repair = true};
    assert_int_equal(sto_fsck(&opts, &r, NULL), 0);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR); /* there was nothing to repair */
    kit_close(b.st);
    b.st = NULL;
    size_t n;
    uint8_t *p = t_faultfs_get(b.f, "/db/files/00000002.t", &n);
    assert_non_null(p);
    p[n / 3] ^= 0x40;
    t_faultfs_put(b.f, "/db/files/00000002.t", p, n);
    ts_free(p);
    assert_int_equal(sto_fsck(&opts, &r, NULL), 0);
    assert_true(r.repaired);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    ship_end(&b);
}

static void test_store_complete__only_with_a_remote_store_that_may_be_written(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    begin(&b);
    b.opts.remote = NULL;
    ship_reopen(&b);
    assert_int_equal(sto_set_sole_writer(b.st, true, &err), TS_EINVAL);
    assert_int_equal(sto_set_sole_writer(b.st, false, &err), 0);
    b.opts.remote = b.r;
    ship_reopen(&b);
    ts_clock_set_fake(1000000); /* nobody has set the clock */
    assert_int_equal(sto_set_sole_writer(b.st, true, &err), TS_EINVAL);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    ts_clock_set_fake(NOW);
    b.opts.read_only = true;
    b.opts.create = false;
    ship_reopen(&b);
    assert_int_equal(sto_set_sole_writer(b.st, true, &err), TS_EINVAL);
    ship_end(&b);
}

/* Whatever the clock shows when it is said: nothing that only the remote store has counts as complete. */
static void test_store_complete__a_clock_that_is_behind(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    fill(&b);
    ts_clock_set_fake(T0 - 1000 * TS_HOUR_MS);
    ship_put(&b, 1, NEXT_HOUR + 100 * TS_HOUR_MS, 1); /* it is here alone */
    ship_turn(b.st);
    say(&b, true);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 101 * TS_HOUR_MS);
    expect_complete(&b, "points here");
    say(&b, false);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    ship_reopen(&b);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    say(&b, true);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 101 * TS_HOUR_MS);
    expect_complete(&b, "points in the remote store");
    ship_end(&b);
}

/* What retention removed here may still be there. */
static void test_store_complete__after_what_has_expired(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_remote *r;
    begin(&b);
    r = b.opts.remote;
    b.opts.remote = NULL; /* so that nothing is sent */
    b.opts.retention_ms = 10 * TS_HOUR_MS;
    ship_reopen(&b);
    for (int i = 0; i < 40; i++)
        ship_put(&b, (unsigned)i % N_SERIES, T0 + i * TS_HOUR_MS, i);
    ship_flush(b.st);
    ts_clock_set_fake_mono(1);
    for (int h = 0; h < 80; h++) {
        ts_clock_set_fake(NOW + h * TS_HOUR_MS);
        ts_clock_set_fake_mono(h * TS_HOUR_MS * 1000000 + 1);
        assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    }
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    b.opts.remote = r;
    ship_reopen(&b);
    ts_clock_set_fake(T0 - 1000 * TS_HOUR_MS);
    say(&b, true);
    assert_true(sto_complete_from(b.st) > T0 + 39 * TS_HOUR_MS &&
                sto_complete_from(b.st) < NOW + 100 * TS_HOUR_MS);
    ship_end(&b);
}

/* Points that came after a backup was made are in the remote store alone once it is restored. closed: the store was, when it was made. */
static void backup(bool closed, bool in_place)
{
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    if (closed) {
        kit_close(b.st);
        b.st = NULL;
    }
    struct t_faultfs *copy = t_faultfs_clone(b.f, 5);
    if (closed)
        b.st = kit_open(&b.opts);
    ship_put(&b, 0, NEXT_HOUR + 60000, 5);
    ship_flush(b.st);
    ship_all(b.st);
    kit_close(b.st);
    b.st = NULL;
    if (in_place) { /* it is written over what is there */
        for (size_t i = t_faultfs_count(b.f); i-- > 0;) {
            char *path = ts_fs_suffixed(t_faultfs_path(b.f, i), "");
            t_faultfs_remove(b.f, path);
            ts_free(path);
        }
        for (size_t i = 0; i < t_faultfs_count(copy); i++) {
            size_t n;
            uint8_t *p = t_faultfs_get(copy, t_faultfs_path(copy, i), &n);
            t_faultfs_put(b.f, t_faultfs_path(copy, i), p, n);
            ts_free(p);
        }
        t_faultfs_free(copy);
    } else {
        t_faultfs_free(b.f);
        b.f = copy;
        b.opts.fs = t_faultfs_fs(copy);
    }
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    expect_complete(&b, "restored");
    say(&b, true);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    expect_complete(&b, "said again");
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), NEXT_HOUR + 12 * TS_HOUR_MS);
    ship_end(&b);
}

static void test_store_complete__a_restored_backup_is_not(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        backup(i & 1, i & 2);
}

/* What the administrator does if the whole disk was set back. */
static void test_store_complete__without_its_file_it_is_forgotten(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    kit_close(b.st);
    b.st = NULL;
    assert_true(t_faultfs_remove(b.f, "/db/COMPLETE"));
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    ship_end(&b);
}

/* A log cannot be synced, and what was not synced is lost; for_good: the manifest cannot be written from then on either. */
static void broken_log(bool for_good)
{
    struct ship_both b;
    struct ts_error err = {0};
    begin(&b);
    say(&b, true);
    fill(&b);
    ship_put(&b, 0, NEXT_HOUR + 60000, 5);
    sto_writer_turn(sto_writer(b.st, 0));
    assert_int_equal(sto_flush(b.st, STO_LEVEL_LOG, NULL), 0);
    assert_int_equal(sto_ship(b.st, NULL), 0); /* from memory; the log is not synced */
    t_faultfs_plan(
        b.f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .for_good = for_good, .fault = T_FAULT_EIO});
    assert_int_equal(sto_flush(b.st, STO_LEVEL_DISK, NULL), TS_EIO);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    assert_int_equal(sto_set_sole_writer(b.st, true, &err), TS_EINVAL); /* it is forgotten for good */
    t_faultfs_plan(b.f, (struct t_fault_plan){
                            .ops = T_OP_SYNC | T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_EIO});
    ship_kill(&b); /* nothing is flushed on the way */
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    expect_complete(&b, "after a failed sync");
    ship_end(&b);
}

static void test_store_complete__a_log_that_cannot_be_synced_ends_it(void **state)
{
    (void)state;
    broken_log(false);
    broken_log(true);
}

/* The end of a log is missing, although the machine was not restarted. */
static void test_store_complete__a_torn_log_ends_it(void **state)
{
    (void)state;
    struct ship_both b;
    begin(&b);
    say(&b, true);
    fill(&b);
    ship_put(&b, 0, NEXT_HOUR + 60000, 5);
    ship_all(b.st);
    t_faultfs_plan(
        b.f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = 1, .for_good = true, .fault = T_FAULT_EIO});
    ship_kill(&b);
    const char *log = NULL;
    for (size_t i = 0; i < t_faultfs_count(b.f); i++)
        if (strstr(t_faultfs_path(b.f, i), "/wal/"))
            log = t_faultfs_path(b.f, i);
    assert_non_null(log);
    size_t n;
    uint8_t *p = t_faultfs_get(b.f, log, &n);
    while (n > 0 && p[n - 1] == 0) /* what is reserved for later records */
        n--;
    t_faultfs_put(b.f, log, p, n - 1);
    ts_free(p);
    ship_reopen(&b);
    assert_int_equal(sto_complete_from(b.st), INT64_MAX);
    expect_complete(&b, "after a torn log");
    ship_end(&b);
}

static int quiet(void **state)
{
    (void)state;
    ts_log_set_level(TS_LOG_ERROR + 1);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_complete__nothing_is_until_it_is_said),
        cmocka_unit_test(test_store_complete__it_outlives_the_process_but_not_the_machine),
        cmocka_unit_test(test_store_complete__without_the_remote_store_it_is_forgotten),
        cmocka_unit_test(test_store_complete__removing_files_raises_it),
        cmocka_unit_test(test_store_complete__a_power_cut_while_files_are_removed),
        cmocka_unit_test(test_store_complete__expired_points_raise_it),
        cmocka_unit_test(test_store_complete__a_repair_forgets_it),
        cmocka_unit_test(test_store_complete__a_clock_that_is_behind),
        cmocka_unit_test(test_store_complete__after_what_has_expired),
        cmocka_unit_test(test_store_complete__a_restored_backup_is_not),
        cmocka_unit_test(test_store_complete__without_its_file_it_is_forgotten),
        cmocka_unit_test(test_store_complete__a_log_that_cannot_be_synced_ends_it),
        cmocka_unit_test(test_store_complete__a_torn_log_ends_it),
        cmocka_unit_test(test_store_complete__only_with_a_remote_store_that_may_be_written),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
