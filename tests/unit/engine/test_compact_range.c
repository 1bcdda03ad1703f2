/*
 * test_compact_range.c - compressing files of a range of time with another level: which files, what stays the same, what keeps the level.
 */
#include "tests/unit/engine/engine_kit.h"

#include "base/time.h"
#include "storage/codecs/codec.h"
#include "storage/engine/compact_range.h"

#define DAY_K (TS_DAY_MS / 1000) /* points of two days differ by so much in k */
#define N_DAY 3000               /* points of a day and series */

static uint64_t t_checkpoint_bytes; /* what a merge writes between two checkpoints; 0 = much */

static struct sto_engine *open_at(struct t_faultfs *f, int64_t now_ms, size_t merge_bytes)
{
    struct sto_opts opts = engine_opts(f, 1);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.pumped = true;
    opts.big_day_points = 1000;
    opts.merge_memory_bytes = merge_bytes;
    opts.checkpoint_bytes = t_checkpoint_bytes;
    opts.survive_sync_errors = true;
    ts_clock_set_fake(now_ms);
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    return e;
}

/* A day with a file of its own. */
static void fill_day(struct sto_engine *e, int64_t day)
{
    struct ts_error err = {0};
    for (unsigned s = 0; s < N_SERIES; s++)
        for (int64_t i = 0; i < N_DAY; i++) {
            assert_true(put(e, 0, s, day * DAY_K + i));
            if (i % 1000 == 999)
                turn_all(e, 1);
        }
    turn_all(e, 1);
    assert_int_equal(sto_engine_flush(e, &err), 0);
}

static int compact(struct sto_engine *e, int64_t from_day, int64_t to_day, unsigned level,
                   struct sto_compact_result *out, struct ts_error *err)
{
    int64_t begin = T0 / TS_DAY_MS * TS_DAY_MS;
    const struct sto_compact_spec spec = {.from_ms = begin + from_day * TS_DAY_MS,
                                          .to_ms = begin + (to_day + 1) * TS_DAY_MS - 1,
                                          .level = level};
    *err = (struct ts_error){0};
    return sto_engine_compact_range(e, &spec, out, err);
}

/* How many files have a level. */
static unsigned n_files_of(struct sto_engine *e, unsigned level)
{
    struct sto_version *v = sto_engine_pin(e);
    unsigned n = 0;
    for (size_t i = 0; i < v->n_ssts; i++)
        n += sto_sst_info(v->ssts[i])->n_points && sto_sst_level(v->ssts[i]) == level;
    sto_engine_unpin(e, v);
    return n;
}

static const int64_t t_later = T0 + 6 * TS_DAY_MS; /* when days 0 to 4 are over */

static void test_compact_range__files_of_the_range_alone_are_written_again(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err;
    for (int64_t day = 0; day < 3; day++)
        fill_day(e, day);
    int64_t sum = sum_of(e);
    assert_int_equal(stat_of(e, "files.count"), 3);
    assert_int_equal(compact(e, 1, 1, 9, &r, &err), 0);
    assert_int_equal(r.n_files, 1);
    assert_int_equal(r.n_files_after, 1);
    assert_true(r.n_bytes > 0 && r.n_bytes_after > 0 && r.n_bytes_after <= r.n_bytes);
    assert_int_equal(n_files_of(e, 9), 1);
    assert_int_equal(n_files_of(e, 0), 2);
    assert_int_equal(seen(e), 3 * N_SERIES * N_DAY);
    assert_int_equal(sum_of(e), sum);

    uint64_t before = stat_of(e, "compaction.count"), after_bytes = r.n_bytes_after;
    assert_int_equal(compact(e, 1, 1, 9, &r, &err), 0); /* nothing is left to do */
    assert_int_equal(r.n_files, 0);
    assert_int_equal(r.n_same, 1);
    assert_int_equal(r.n_same_bytes, after_bytes); /* with the summaries of both */
    assert_int_equal(stat_of(e, "compaction.count"), before);

    assert_int_equal(compact(e, 0, 2, 19, &r, &err), 0); /* larger blocks too */
    assert_int_equal(r.n_files, 3);
    assert_int_equal(n_files_of(e, 19), 3);
    assert_int_equal(close_rc(e, f), 0);
    e = open_at(f, t_later, 0); /* the level is in the file */
    assert_int_equal(n_files_of(e, 19), 3);
    assert_int_equal(seen(e), 3 * N_SERIES * N_DAY);
    assert_int_equal(sum_of(e), sum);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* The range includes both of its ends: a file that has its first or its last point there is written again. */
static void test_compact_range__a_point_at_an_end_is_in_the_range(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err = {0};
    for (int64_t day = 0; day < 3; day++)
        fill_day(e, day);
    struct sto_version *v = sto_engine_pin(e);
    int64_t first_ms = INT64_MAX, last_ms = INT64_MIN; /* of the second day */
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *s = sto_sst_info(v->ssts[i]);
        if (s->min_ms / TS_DAY_MS == T0 / TS_DAY_MS + 1) {
            first_ms = s->min_ms;
            last_ms = s->max_ms;
        }
    }
    sto_engine_unpin(e, v);
    assert_true(first_ms < last_ms);
    const struct {
        int64_t from_ms, to_ms;
        uint64_t n_files;
    } ranges[] = {{first_ms - 9, first_ms - 1, 0},
                  {last_ms + 1, last_ms + 9, 0},
                  {first_ms - 9, first_ms, 1},
                  {last_ms, last_ms + 9, 1}};
    for (unsigned i = 0; i < 4; i++) {
        const struct sto_compact_spec spec = {
            .from_ms = ranges[i].from_ms, .to_ms = ranges[i].to_ms, .level = 9 + i};
        assert_int_equal(sto_engine_compact_range(e, &spec, &r, &err), 0);
        assert_int_equal(r.n_files, ranges[i].n_files);
        assert_int_equal(n_files_of(e, 9 + i), ranges[i].n_files);
    }
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_compact_range__a_day_that_is_not_over_is_left_alone(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    int64_t end = (T0 / TS_DAY_MS + 1) * TS_DAY_MS;
    struct sto_engine *e = open_at(f, end + 3 * TS_HOUR_MS - 1, 0);
    struct sto_compact_result r;
    struct ts_error err;
    fill_day(e, 0);
    assert_int_equal(compact(e, 0, 0, 9, &r, &err), 0);
    assert_int_equal(r.n_files, 0);
    assert_int_equal(r.n_recent, 1);
    ts_clock_set_fake(end + 3 * TS_HOUR_MS);
    assert_int_equal(compact(e, 0, 0, 9, &r, &err), 0);
    assert_int_equal(r.n_files, 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Late points of a compressed day: the merge of both keeps the level, but not while the day is written to. */
static void test_compact_range__later_merges_keep_the_highest_level(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err;
    fill_day(e, 0);
    assert_int_equal(compact(e, 0, 0, 16, &r, &err), 0);
    fill_day(e, 0);
    assert_int_equal(n_files_of(e, 0), 1);
    assert_int_equal(sto_engine_compact(e, &err), 0);
    assert_int_equal(n_files_of(e, 0), 0);
    assert_int_equal(n_files_of(e, 16), 1);
    fill_day(e, 0);
    ts_clock_set_fake(T0 + TS_HOUR_MS);
    assert_int_equal(sto_engine_compact(e, &err), 0);
    assert_int_equal(n_files_of(e, 16), 0);
    assert_int_equal(n_files_of(e, 0), 1);
    assert_int_equal(seen(e), N_SERIES * N_DAY);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_compact_range__wrong_levels_and_ranges_are_refused(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err;
    fill_day(e, 0);
    assert_int_equal(compact(e, 0, 0, 3, &r, &err), TS_EINVAL);
    assert_int_equal(compact(e, 0, 0, 20, &r, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "4 to 19"));
    assert_int_equal(compact(e, 1, -1, 9, &r, &err), TS_EINVAL);
    assert_int_equal(n_files_of(e, 0), 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A level that the account has no memory for is refused, and what has it already is merged without it. */
static void test_compact_range__memory_of_a_level_is_counted(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err;
    fill_day(e, 0);
    assert_int_equal(compact(e, 0, 0, 19, &r, &err), 0);
    assert_true(stat_of(e, "merges.most_bytes") >= sto_sst_writer_level_bytes(19));
    assert_int_equal(stat_of(e, "merges.bytes"), 0);
    fill_day(e, 0);
    assert_int_equal(close_rc(e, f), 0);
    /* the default of compaction_memory_bytes with a memory_limit of 128M is 4 MiB, which the default of tsd compact fits */
    e = open_at(f, t_later, 4u << 20);
    assert_int_equal(compact(e, 0, 0, 9, &r, &err), 0);
    assert_true(n_files_of(e, 9) > 0);
    assert_int_equal(close_rc(e, f), 0);
    e = open_at(f, t_later, sto_sst_writer_level_bytes(19) - 1);
    assert_int_equal(compact(e, 0, 0, 19, &r, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "compaction_memory_bytes"));
    assert_int_equal(sto_engine_compact(e, &err), 0);
    assert_int_equal(n_files_of(e, 19), 0);
    assert_int_equal(seen(e), N_SERIES * N_DAY);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static bool on_stop(void *arg)
{
    unsigned *left = arg;
    return *left == 0 || --*left == 0;
}

static void test_compact_range__can_be_stopped(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err = {0};
    unsigned left = 1;
    const struct sto_compact_spec spec = {
        .from_ms = 0, .to_ms = STO_MAX_TS_MS, .level = 9, .stop = on_stop, .arg = &left};
    fill_day(e, 0);
    assert_int_equal(sto_engine_compact_range(e, &spec, &r, &err), TS_ECANCELLED);
    assert_int_equal(r.n_files, 0);
    assert_int_equal(n_files_of(e, 0), 1);
    left = 1000000;
    assert_int_equal(sto_engine_compact_range(e, &spec, &r, &err), 0);
    assert_int_equal(n_files_of(e, 9), 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Asks for another level when it is asked whether to stop. */
static bool on_other_level(void *arg)
{
    struct sto_compact_result r;
    struct ts_error err = {0};
    struct sto_engine *e = arg;
    assert_int_equal(compact(e, 0, 0, 12, &r, &err), TS_EBUSY);
    assert_int_equal(r.n_files, 0);
    return false;
}

/* Two requests for different levels would replace each other's files for ever. */
static void test_compact_range__requests_exclude_each_other(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err = {0};
    const struct sto_compact_spec spec = {
        .from_ms = 0, .to_ms = STO_MAX_TS_MS, .level = 9, .stop = on_other_level, .arg = e};
    fill_day(e, 0);
    assert_int_equal(sto_engine_compact_range(e, &spec, &r, &err), 0);
    assert_int_equal(r.n_files, 1);
    assert_int_equal(n_files_of(e, 9), 1);
    assert_int_equal(compact(e, 0, 0, 12, &r, &err), 0); /* one after the other is allowed, */
    assert_int_equal(compact(e, 0, 0, 3, &r, &err), TS_EINVAL);
    assert_int_equal(compact(e, 0, 0, 13, &r, &err), 0); /* also after one that was refused */
    assert_int_equal(n_files_of(e, 13), 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A damaged block is the error of requests for its time alone. */
static void test_compact_range__damage_of_other_times_is_no_error(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_at(f, t_later, 0);
    struct sto_compact_result r;
    struct ts_error err;
    fill_day(e, 1);
    for (int i = 0; i < 8; i++)
        fill_day(e, 0); /* a merge is due */
    t_faultfs_flip(f, "/e/files/00000002.t", 100, 1);
    assert_int_equal(compact(e, 1, 1, 9, &r, &err), 0);
    assert_int_equal(r.n_files, 1);
    assert_int_equal(n_files_of(e, 0), 8); /* the merge has failed */
    assert_int_equal(n_files_of(e, 9), 1);
    assert_int_equal(compact(e, 0, 1, 9, &r, &err), TS_ECORRUPT);
    assert_int_equal(compact(e, 0, 0, 9, &r, &err), TS_ECORRUPT);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A power cut at any call: nothing is lost, and a later request goes on with the same level. */
static void test_compact_range__survives_power_cuts(void **state)
{
    (void)state;
    t_checkpoint_bytes = 4096;
    int rc = TS_EIO;
    unsigned n_resumed = 0;
    for (uint64_t at = 1; rc < 0; at++) {
        struct t_faultfs *f = t_faultfs_new(at);
        struct sto_engine *e = open_at(f, t_later, 0);
        struct sto_compact_result r;
        struct ts_error err;
        fill_day(e, 0);
        int64_t sum = sum_of(e);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        rc = compact(e, 0, 0, 17, &r, &err);
        t_faultfs_power_cut(f);
        sto_engine_close(e, NULL);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        e = open_at(f, t_later, 0);
        assert_int_equal(seen(e), N_SERIES * N_DAY);
        assert_int_equal(sum_of(e), sum);
        assert_int_equal(sto_engine_pump_merges(e, &err), 0);
        if (stat_of(e, "compaction.resumed")) { /* a merge that goes on keeps the level by itself */
            assert_int_equal(n_files_of(e, 0), 0);
            n_resumed++;
        }
        assert_int_equal(compact(e, 0, 0, 17, &r, &err), 0);
        assert_int_equal(n_files_of(e, 0), 0);
        assert_true(n_files_of(e, 17) > 1); /* each checkpoint ends a file */
        assert_int_equal(sum_of(e), sum);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
    assert_true(n_resumed > 0);
    t_checkpoint_bytes = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact_range__files_of_the_range_alone_are_written_again),
        cmocka_unit_test(test_compact_range__a_point_at_an_end_is_in_the_range),
        cmocka_unit_test(test_compact_range__a_day_that_is_not_over_is_left_alone),
        cmocka_unit_test(test_compact_range__later_merges_keep_the_highest_level),
        cmocka_unit_test(test_compact_range__wrong_levels_and_ranges_are_refused),
        cmocka_unit_test(test_compact_range__memory_of_a_level_is_counted),
        cmocka_unit_test(test_compact_range__can_be_stopped),
        cmocka_unit_test(test_compact_range__requests_exclude_each_other),
        cmocka_unit_test(test_compact_range__damage_of_other_times_is_no_error),
        cmocka_unit_test(test_compact_range__survives_power_cuts),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* power cuts are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
