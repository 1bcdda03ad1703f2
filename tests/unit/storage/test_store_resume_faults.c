/*
 * test_store_resume_faults.c - an interrupted merge on a disk that can't read its record or its files, for once or for good.
 */
#include "tests/unit/storage/resume_kit.h"

#include "base/log.h"
#include "storage/fsck.h"

/* No read error that passes, whichever read meets it, costs the work. */
static void test_store_resume_faults__a_passing_read_error_at_the_start_costs_nothing(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *whole = halfway(sum);
    bool fired = true;
    unsigned n_opened = 0;
    for (uint64_t at = 1; fired; at++) {
        struct t_faultfs *f = t_faultfs_clone(whole, at);
        struct sto_opts opts = KIT_OPTS(f, 1);
        struct sto_store *st = NULL;
        struct ts_error err = {0};
        opts.own_threads = false;
        opts.pumped = true;
        opts.checkpoint_bytes = INTERVAL;
        clocks(NOW, 1000);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_PREAD, .at = at, .fault = T_FAULT_EIO});
        int rc = sto_open(&opts, &st, &err);
        fired = t_faultfs_fired(f);
        t_faultfs_plan(f, (struct t_fault_plan){0});
        n_opened += rc == 0;
        if (rc < 0) /* something else couldn't be read, and nothing was changed */
            st = kit_open(&opts);
        assert_true(stat_of(st, "compaction.unfinished_bytes") > 0);
        kit_close(st);
        t_faultfs_free(f);
    }
    assert_true(n_opened > 1); /* the last one met no error */
    t_faultfs_free(whole);
}

/* While the disk can't read the record, its files stay; another start continues the merge. */
static void test_store_resume_faults__a_record_that_cannot_be_read_stays(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    uint64_t before = files_bytes(f);
    t_faultfs_set_unreadable(f, RECORD_PATH, 20);
    struct sto_store *st = open_again(f);
    assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
    kit_close(st);
    struct t_faultfs *mended = t_faultfs_clone(f, 2);
    assert_true(has_record(mended));
    assert_true(files_bytes(mended) >= before - INTERVAL - SLACK);
    st = open_again(mended);
    assert_true(stat_of(st, "compaction.unfinished_bytes") > 0);
    kit_close(st);
    t_faultfs_free(mended);
    /* Otherwise the merge starts again, and its own record takes the place of the other. */
    struct ts_error err = {0};
    st = open_again(f);
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    assert_int_equal(stat_of(st, "compaction.resumed"), 0);
    kit_close(st);
    st = open_again(f);
    expect_all(st, sum);
    assert_true(files_bytes(f) < before);
    assert_false(has_record(f));
    kit_close(st);
    t_faultfs_free(f);
}

/* A finished file stays unreadable: the merge starts again some time, and ends. */
static void test_store_resume_faults__an_unreadable_file_does_not_stop_it_for_good(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct sto_unfinished u;
    struct ts_error err = {0};
    char path[64];
    assert_int_equal(sto_unfinished_read(t_faultfs_fs(f), "/db", &u, NULL), 1);
    (void)snprintf(path, sizeof path, "/db/files/%08llx.t", (unsigned long long)u.outputs[0].file_no);
    sto_unfinished_release(&u);
    struct sto_store *st = open_again(f);
    t_faultfs_set_unreadable(f, path, 0);
    for (int64_t i = 1, mono = 1000; stat_of(st, "files.count") == FILES; i++, mono += DAY) {
        assert_true(i < 5);
        clocks(NOW, mono);
        (void)sto_store_pump_merges(st, &err);
        expect_all(st, sum);
    }
    assert_int_equal(stat_of(st, "compaction.resumed"), 3); /* errors of a disk may pass */
    assert_false(has_record(f));
    kit_close(st);
    t_faultfs_free(f);
}

/* The finished files that stay with a record that can't be read do not keep a full disk full. */
static void test_store_resume_faults__files_kept_for_a_record_give_way(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *whole = halfway(sum);
    for (int refused = 0; refused < 2; refused++) {
        struct t_faultfs *f = t_faultfs_clone(whole, 4);
        struct ts_error err = {0};
        t_faultfs_set_unreadable(f, RECORD_PATH, 20);
        struct sto_store *st = open_again(f);
        uint64_t listed = stat_of(st, "files.bytes");
        assert_true(files_bytes(f) > listed + listed / 8 + 8);
        if (refused) {
            leave_room(f, 1);
            for (int64_t k = 0; k < 100; k++)
                (void)sto_put(sto_writer(st, 0), kit_series(st, 0), T0 + 3000000 + k * 977,
                              (struct ts_num){.m = k}, true);
            sto_writer_turn(sto_writer(st, 0));
            assert_non_null(sto_store_refusing(st));
            (void)sto_store_pump_merges(st, &err);
            assert_int_equal(files_bytes(f), listed);
        } else {
            leave_room(f, listed); /* not enough for the merge */
            assert_int_equal(sto_store_pump_merges(st, &err), 0);
            expect_all(st, sum);
            assert_true(stat_of(st, "files.count") < FILES);
        }
        assert_false(has_record(f));
        t_faultfs_set_capacity(f, 0);
        kit_close(st);
        t_faultfs_free(f);
    }
    t_faultfs_free(whole);
}

/* A check does not need the record, unless the manifest is lost too: finished files must not be taken for files of the store. */
static void test_store_resume_faults__fsck_goes_on_without_the_record(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    for (int lost = 0; lost < 2; lost++) {
        struct t_faultfs *c = t_faultfs_clone(f, 3);
        struct sto_fsck_result r;
        struct ts_error err = {0};
        struct sto_fsck_opts opts = {.fs = t_faultfs_fs(c), .dir = "/db", .repair = true};
        t_faultfs_set_unreadable(c, RECORD_PATH, 20);
        if (lost) {
            assert_true(t_faultfs_remove(c, "/db/MANIFEST"));
            assert_true(t_faultfs_remove(c, "/db/MANIFEST.copy"));
            assert_int_equal(sto_fsck(&opts, &r, &err), TS_EIO);
            assert_non_null(strstr(err.text, RECORD_PATH));
            assert_true(t_faultfs_remove(c, RECORD_PATH)); /* what the error advises */
        }
        assert_int_equal(sto_fsck(&opts, &r, &err), 0);
        assert_true(r.n_damage > 0);
        assert_true(r.repaired);
        assert_int_equal(r.n_left, 0);
        assert_false(has_record(c));
        struct sto_store *st = open_again(c);
        expect_all(st, sum);
        kit_close(st);
        t_faultfs_free(c);
    }
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_resume_faults__a_passing_read_error_at_the_start_costs_nothing),
        CASE(test_store_resume_faults__a_record_that_cannot_be_read_stays),
        CASE(test_store_resume_faults__an_unreadable_file_does_not_stop_it_for_good),
        CASE(test_store_resume_faults__files_kept_for_a_record_give_way),
        CASE(test_store_resume_faults__fsck_goes_on_without_the_record),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
