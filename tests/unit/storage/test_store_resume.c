/*
 * test_store_resume.c - merges that are interrupted and continue: how much is written again, what readers see, when a merge
 * starts again.
 */
#include "tests/unit/storage/resume_kit.h"

#include "storage/fsck.h"

/* --- the cost of an interruption --- */

static void test_store_resume__an_end_at_any_write_costs_one_interval(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *base = waiting(sum);
    uint64_t before = files_bytes(base), n_resumed = 0;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        struct ts_error err = {0};
        struct t_faultfs *f = interrupted(base, at, &fired);
        if (at % 3 == 0)
            t_faultfs_reboot(f, at % 2 ? T_KEEP_NONE : T_KEEP_RANDOM);
        else
            t_faultfs_kill(f);
        uint64_t written = files_bytes(f) > before ? files_bytes(f) - before : 0;
        struct sto_store *st = open_again(f);
        uint64_t kept = stat_of(st, "compaction.unfinished_bytes");
        if (stat_of(st, "files.count") == FILES) /* otherwise the merge was completed */
            assert_true(written <= kept + INTERVAL + SLACK);
        expect_all(st, sum);
        assert_int_equal(sto_store_pump_merges(st, &err), 0);
        expect_all(st, sum);
        assert_int_equal(stat_of(st, "compaction.resumed"), kept > 0);
        assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
        if (kept)
            assert_true(stat_of(st, "compaction.points") < TOTAL);
        n_resumed += kept > 0;
        assert_false(has_record(f));
        kit_close(st);
        t_faultfs_free(f);
    }
    assert_true(n_resumed > 10);
    t_faultfs_free(base);
}

/* An error interrupts a merge: it continues in the same process, and what it wrote before is counted once. */
static void interrupt_by(enum t_fault fault, unsigned ops, int code)
{
    uint64_t sum[SERIES];
    struct t_faultfs *base = waiting(sum);
    unsigned n_resumed = 0;
    for (uint64_t at = 12; at < 60; at += 4) {
        struct t_faultfs *f = t_faultfs_clone(base, at);
        struct ts_error err = {0};
        clocks(NOW, 1000);
        struct sto_store *st = open_again(f);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = ops, .at = at, .fault = fault});
        int rc = sto_store_pump_merges(st, &err);
        bool fired = t_faultfs_fired(f);
        t_faultfs_plan(f, (struct t_fault_plan){0});
        if (fired && rc == code && stat_of(st, "compaction.unfinished_bytes") > 0) {
            n_resumed++;
            assert_int_equal(sto_store_pump_merges(st, &err), 0); /* left alone */
            assert_int_equal(stat_of(st, "compaction.resumed"), 0);
            clocks(NOW, 1000 + LATER);
            assert_int_equal(sto_store_pump_merges(st, &err), 0);
            assert_int_equal(stat_of(st, "compaction.resumed"), 1);
            assert_int_equal(stat_of(st, "compaction.points"), TOTAL);
            assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
        }
        expect_all(st, sum);
        kit_close(st);
        t_faultfs_free(f);
    }
    assert_true(n_resumed > 0);
    t_faultfs_free(base);
}

static void test_store_resume__a_full_disk(void **state)
{
    (void)state;
    interrupt_by(T_FAULT_ENOSPC, T_OP_APPEND, TS_ENOSPC);
}

static void test_store_resume__no_descriptor(void **state)
{
    (void)state;
    interrupt_by(T_FAULT_EMFILE, T_OP_OPEN, TS_EMFILE);
}

/* --- free space --- */

static void test_store_resume__room_is_needed_for_the_rest_alone(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct ts_error err = {0};
    struct sto_store *st = open_again(f);
    uint64_t whole = stat_of(st, "files.bytes"), done = stat_of(st, "compaction.unfinished_bytes");
    assert_true(done > 0);
    leave_room(f, whole - done + (whole - done) / 8 + 8); /* not enough for a merge of all */
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    assert_int_equal(stat_of(st, "compaction.resumed"), 1);
    t_faultfs_set_capacity(f, 0);
    expect_all(st, sum);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_resume__room_is_given_back_when_puts_are_refused(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct ts_error err = {0};
    struct sto_store *st = open_again(f);
    assert_true(stat_of(st, "compaction.unfinished_bytes") > 0);
    leave_room(f, 1);
    for (int64_t k = 0; k < 100; k++)
        (void)sto_put(sto_writer(st, 0), kit_series(st, 0), T0 + 3000000 + k * 977, (struct ts_num){.m = k},
                      true);
    sto_writer_turn(sto_writer(st, 0));
    assert_non_null(sto_store_refusing(st));
    (void)sto_store_pump_merges(st, &err);
    assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
    assert_false(has_record(f));
    t_faultfs_set_capacity(f, 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* --- in between --- */

/* Delete rows that are written already, and rows that are not. */
static void test_store_resume__deletes_in_between_hold(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct ts_error err = {0};
    struct sto_store *st = open_again(f);
    for (unsigned s = 0; s < SERIES; s++)
        assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, s), T0, T0 + 10 * 600000 - 1), 0);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0, 7);
    flush_to(st, STO_LEVEL_FILES);
    for (int pass = 0; pass < 3; pass++) {
        for (unsigned s = 0; s < SERIES; s++)
            assert_int_equal(seen(st, s).n, FILES * (POINTS - 10) + (s == 0));
        if (pass == 0)
            assert_int_equal(sto_store_pump_merges(st, &err), 0);
        else if (pass == 1)
            flush_to(st, STO_LEVEL_COMPACT);
    }
    assert_int_equal(stat_of(st, "compaction.resumed"), 1);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_resume__readers_do_not_see_it(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = opts.create = false;
    opts.read_only = true;
    struct sto_store *st = kit_open(&opts);
    expect_all(st, sum);
    kit_close(st);
    assert_true(has_record(f));
    t_faultfs_free(f);
}

/* --- retention --- */

enum { EXPIRING_SERIES = 100 };

/* A disk with a store of three days' retention: a file that expires first, the files of a day that wait for a merge, and a
 * delete that concerns none of them. Its generation is the highest. */
static struct t_faultfs *expiring(struct sto_opts *opts, int64_t today)
{
    struct t_faultfs *f = t_faultfs_new(1);
    *opts = (struct sto_opts)KIT_OPTS(f, 1);
    opts->own_threads = false;
    opts->pumped = true;
    opts->retention_ms = 3 * DAY;
    opts->checkpoint_bytes = 1000;
    clocks(today + 14 * TS_HOUR_MS, 1000);
    struct sto_store *st = kit_open(opts);
    put_at(st, 0, today - 2 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t k = 0; k < FILES; k++) {
        for (unsigned s = 0; s < EXPIRING_SERIES; s++)
            for (int64_t h = 0; h < 4; h++)
                put_at(st, s, today + (h < 2 ? h : h + 10) * TS_HOUR_MS + k, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, EXPIRING_SERIES), today, today + DAY), 0);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(stat_of(st, "files.count"), FILES + 2);
    kit_close(st);
    return f;
}

/* At the first read of a file three days pass. */
static void days_pass(void *arg, enum t_op op, const char *path, bool after)
{
    const int64_t *today = arg;
    if (!after && op == T_OP_PREAD && path && strstr(path, "/files/"))
        clocks(*today + 80 * TS_HOUR_MS, 1000 + 66 * TS_HOUR_MS);
}

/* The files of a resumed merge have the generation of a delete that was removed since. What retention drops while it is at work
 * stays dropped nevertheless, even when retention is switched off then. */
static void test_store_resume__what_expires_meanwhile_stays_expired(void **state)
{
    (void)state;
    int64_t today = T0 - T0 % DAY;
    struct sto_opts opts;
    struct t_faultfs *base = expiring(&opts, today);
    unsigned n_resumed = 0;
    for (uint64_t at = 6; at < 60; at++) {
        struct t_faultfs *f = t_faultfs_clone(base, at);
        struct ts_error err = {0};
        clocks(today + 14 * TS_HOUR_MS, 1000);
        opts.fs = t_faultfs_fs(f);
        struct sto_store *st = kit_open(&opts);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_OPEN, .at = at, .fault = T_FAULT_EMFILE});
        (void)sto_store_pump_merges(st, &err);
        t_faultfs_plan(f, (struct t_fault_plan){0});
        bool kept = stat_of(st, "compaction.unfinished_bytes") > 0;
        if (kept)
            assert_int_equal(stat_of(st, "files.count"), FILES + 1); /* without the delete */
        clocks(today + 14 * TS_HOUR_MS + LATER, 1000 + LATER);
        t_faultfs_set_hook(f, days_pass, &today);
        assert_int_equal(sto_store_pump_merges(st, &err), 0);
        t_faultfs_set_hook(f, NULL, NULL);
        n_resumed += kept && stat_of(st, "compaction.resumed") == 1;
        kit_close(st);
        opts.retention_ms = 0;
        st = kit_open(&opts);
        for (unsigned s = 0; kept && s < EXPIRING_SERIES; s++)
            assert_int_equal(seen(st, s).n, 2 * FILES);
        kit_close(st);
        opts.retention_ms = 3 * DAY;
        t_faultfs_free(f);
    }
    assert_true(n_resumed > 0);
    t_faultfs_free(base);
}

/* --- damage --- */

static char *last_file(struct t_faultfs *f)
{
    struct sto_unfinished u;
    char *path = ts_xmalloc(64);
    assert_int_equal(sto_unfinished_read(t_faultfs_fs(f), "/db", &u, NULL), 1);
    snprintf(path, 64, "/db/files/%08llx.t", (unsigned long long)u.outputs[u.n_outputs - 1].file_no);
    sto_unfinished_release(&u);
    return path;
}

enum harm { FLIP_RECORD, CUT_RECORD, FLIP_FOOTER, FILE_GONE, N_HARMS };

static void harm(struct t_faultfs *f, enum harm h)
{
    char *path = last_file(f);
    size_t n;
    uint8_t *p = t_faultfs_get(f, h == CUT_RECORD ? RECORD_PATH : path, &n);
    if (h == FLIP_RECORD)
        assert_true(t_faultfs_flip(f, RECORD_PATH, 20, 1));
    else if (h == CUT_RECORD)
        t_faultfs_put(f, RECORD_PATH, p, n - 3);
    else if (h == FLIP_FOOTER)
        assert_true(t_faultfs_flip(f, path, n - 40, 1));
    else
        assert_true(t_faultfs_remove(f, path));
    ts_free(p);
    ts_free(path);
}

/* Whatever part of the record or its files is damaged, the merge starts again and nothing is lost. */
static void test_store_resume__damage_costs_the_work_alone(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *whole = halfway(sum);
    for (enum harm h = FLIP_RECORD; h < N_HARMS; h++) {
        struct t_faultfs *f = t_faultfs_clone(whole, h);
        struct ts_error err = {0};
        clocks(NOW, 1000);
        harm(f, h);
        struct sto_store *st = open_again(f);
        assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
        expect_all(st, sum);
        assert_int_equal(sto_store_pump_merges(st, &err), 0);
        assert_int_equal(stat_of(st, "compaction.resumed"), 0);
        assert_int_equal(stat_of(st, "compaction.points"), TOTAL);
        expect_all(st, sum);
        kit_close(st);
        t_faultfs_free(f);
    }
    t_faultfs_free(whole);
}

/* A block of an input is damaged: the merge can't be completed. */
static void test_store_resume__a_damaged_input_drops_it(void **state)
{
    (void)state;
    uint64_t sum[SERIES];
    struct t_faultfs *f = halfway(sum);
    struct ts_error err = {0};
    struct sto_store *st = open_again(f);
    size_t n;
    uint8_t *p = t_faultfs_get(f, "/db/files/00000001.t", &n);
    assert_non_null(p);
    ts_free(p);
    for (size_t at = 24; at < 400 && at < n; at += 8)
        assert_true(t_faultfs_flip(f, "/db/files/00000001.t", at, 1));
    assert_int_equal(sto_store_pump_merges(st, &err), TS_ECORRUPT);
    assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
    assert_false(has_record(f));
    kit_close(st);
    t_faultfs_free(f);
}

/* --- the check of a store --- */

struct findings {
    unsigned n[STO_FIND_DONE + 1];
};

static void on_found(void *arg, const struct sto_finding *found)
{
    struct findings *s = arg;
    s->n[found->kind]++;
}

static struct findings check(struct t_faultfs *f, bool repair, uint64_t *out_points)
{
    struct findings s = {{0}};
    struct sto_fsck_result out;
    struct ts_error err = {0};
    struct sto_fsck_opts opts = {
        .fs = t_faultfs_fs(f), .dir = "/db", .repair = repair, .found = on_found, .arg = &s};
    if (sto_fsck(&opts, &out, &err) < 0)
        fail_msg("fsck: %s", err.text);
    *out_points = out.n_points;
    if (repair)
        assert_int_equal(out.n_left, 0);
    return s;
}

static void test_store_resume__fsck_knows_it(void **state)
{
    (void)state;
    uint64_t sum[SERIES], points;
    struct t_faultfs *whole = halfway(sum);
    struct findings s = check(whole, false, &points);
    assert_int_equal(s.n[STO_FIND_DAMAGE], 0);
    assert_true(s.n[STO_FIND_NOTE] >= 2); /* its files */
    assert_int_equal(points, TOTAL);
    s = check(whole, true, &points);
    assert_true(has_record(whole)); /* nothing was to be repaired */
    for (enum harm h = FLIP_RECORD; h < N_HARMS; h++) {
        struct t_faultfs *f = t_faultfs_clone(whole, h);
        harm(f, h);
        s = check(f, true, &points);
        assert_true(s.n[STO_FIND_DAMAGE] > 0);
        assert_int_equal(s.n[STO_FIND_LOST], 0);
        assert_false(has_record(f));
        struct sto_store *st = open_again(f);
        expect_all(st, sum);
        kit_close(st);
        t_faultfs_free(f);
    }
    t_faultfs_free(whole);
}

/* Repair writes the readable rows of a damaged input to a new file: the merge starts again. */
static void test_store_resume__a_repaired_input_ends_it(void **state)
{
    (void)state;
    uint64_t sum[SERIES], points;
    struct t_faultfs *f = halfway(sum);
    struct ts_error err = {0};
    assert_true(t_faultfs_flip(f, "/db/files/00000001.t", 24, 1)); /* within its first block */
    struct findings s = check(f, true, &points);
    assert_true(s.n[STO_FIND_DAMAGE] > 0 && s.n[STO_FIND_LOST] > 0);
    assert_false(has_record(f));
    struct sto_store *st = open_again(f);
    assert_int_equal(stat_of(st, "compaction.unfinished_bytes"), 0);
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    for (unsigned i = 0; i < SERIES; i++)
        assert_int_equal(seen(st, i).n, (FILES - 1) * POINTS);
    kit_close(st);
    t_faultfs_free(f);
}

/* Without a manifest, finished files of the merge are distinguished from its inputs. */
static void test_store_resume__a_manifest_made_anew_leaves_it_out(void **state)
{
    (void)state;
    uint64_t sum[SERIES], points;
    struct t_faultfs *f = halfway(sum);
    assert_true(t_faultfs_remove(f, "/db/MANIFEST"));
    assert_true(t_faultfs_remove(f, "/db/MANIFEST.copy"));
    check(f, false, &points);
    assert_int_equal(points, TOTAL);
    check(f, true, &points);
    assert_false(has_record(f));
    struct sto_store *st = open_again(f);
    assert_int_equal(stat_of(st, "files.count"), FILES);
    expect_all(st, sum);
    kit_close(st);
    t_faultfs_free(f);
}

/* Without a manifest, repair knows the generation of the merge's files although the delete that had it was removed: what it
 * leaves of them is no sign of lost edits. */
static void test_store_resume__a_manifest_made_anew_knows_its_generation(void **state)
{
    (void)state;
    int64_t today = T0 - T0 % DAY;
    struct sto_opts opts;
    struct t_faultfs *base = expiring(&opts, today);
    unsigned n_repaired = 0;
    for (uint64_t at = 6; at < 60 && n_repaired < 2; at++) {
        struct t_faultfs *f = t_faultfs_clone(base, at);
        uint64_t points;
        clocks(today + 14 * TS_HOUR_MS, 1000);
        opts.fs = t_faultfs_fs(f);
        struct sto_store *st = kit_open(&opts);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_OPEN, .at = at, .fault = T_FAULT_EMFILE});
        (void)sto_store_pump_merges(st, NULL);
        t_faultfs_plan(f, (struct t_fault_plan){0});
        kit_close(st);
        if (has_record(f)) {
            n_repaired++;
            assert_true(t_faultfs_remove(f, "/db/MANIFEST"));
            assert_true(t_faultfs_remove(f, "/db/MANIFEST.copy"));
            check(f, true, &points);
            st = kit_open(&opts);
            for (unsigned s = 0; s < EXPIRING_SERIES; s++)
                assert_int_equal(seen(st, s).n, 4 * FILES + (s == 0));
            kit_close(st);
        }
        t_faultfs_free(f);
    }
    assert_true(n_repaired > 0);
    t_faultfs_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_resume__an_end_at_any_write_costs_one_interval),
        CASE(test_store_resume__a_full_disk),
        CASE(test_store_resume__no_descriptor),
        CASE(test_store_resume__room_is_needed_for_the_rest_alone),
        CASE(test_store_resume__room_is_given_back_when_puts_are_refused),
        CASE(test_store_resume__deletes_in_between_hold),
        CASE(test_store_resume__readers_do_not_see_it),
        CASE(test_store_resume__what_expires_meanwhile_stays_expired),
        CASE(test_store_resume__damage_costs_the_work_alone),
        CASE(test_store_resume__a_damaged_input_drops_it),
        CASE(test_store_resume__fsck_knows_it),
        CASE(test_store_resume__a_repaired_input_ends_it),
        CASE(test_store_resume__a_manifest_made_anew_leaves_it_out),
        CASE(test_store_resume__a_manifest_made_anew_knows_its_generation),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
