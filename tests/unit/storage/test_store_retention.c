/*
 * test_store_retention.c - what is expired is in no answer, files follow, and neither clocks nor configurations that change
 * bring back or remove anything else.
 */
#include "tests/unit/storage/windows_kit.h"

#include "storage/fsck.h"

/* A new store that keeps so many days, at T0. */
static struct sto_store *begin(int64_t retention_days, struct t_faultfs **out_f)
{
    *out_f = t_faultfs_new(1);
    clocks(T0, 1000);
    return open_at(*out_f, retention_days, 0);
}

static void test_store_retention__what_is_expired_is_in_no_answer(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    for (int64_t d = 0; d < 60; d++) /* sixty days: the old ones are joined */
        put_at(st, 0, T0 - d * DAY, 1);
    put_at(st, 0, T0 - 30 * DAY - 1, 1); /* a millisecond too old */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_true(stat_of(st, "files.count") < 10);
    assert_int_equal(seen(st, 0).n, 31);
    clocks(T0 + 1, 1001);
    assert_int_equal(seen(st, 0).n, 30); /* from that very millisecond on */
    put_at(st, 0, T0 - 40 * DAY, 1);     /* in memory too */
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(seen(st, 0).n, 30);
    /* A delete that ends in the future is in nobody's way. */
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 1), 0, STO_MAX_TS_MS), 0);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 31 * DAY, 1000 + 31 * DAY);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).n, 0);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* Hours that summaries may answer are those of the caller, also where a scan begins later than asked for. */
static void test_store_retention__summaries_answer_the_right_hours(void **state)
{
    (void)state;
    enum { N_HOURS = 40, N_OLD = 10, FIRST_WHOLE = 20 };
    struct t_faultfs *f = t_faultfs_new(1);
    const int64_t hour = TS_HOUR_MS, from = T0 - 30 * DAY - N_OLD * hour;
    uint8_t whole[2 * N_HOURS] = {0};
    int n = N_OLD;
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    for (int64_t h = 0; h < N_HOURS; h++)
        for (int64_t k = 0; k < 60; k++)
            put_at(st, 0, from + h * hour + k * 60000, h);
    flush_to(st, STO_LEVEL_FILES);
    memset(whole + FIRST_WHOLE, 1, N_HOURS - FIRST_WHOLE);
    const struct sto_series *s = kit_series(st, 0);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = from,
                                 .to_ms = from + N_HOURS * hour - 1,
                                 .whole_hours = whole,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    for (; sto_merge_next(scan, &row, NULL) == 1; n++) {
        assert_int_equal(row.key.hour, sto_hour(from) + n);
        assert_int_equal(row.sum != NULL, n >= FIRST_WHOLE);
    }
    assert_int_equal(n, N_HOURS);
    sto_merge_free(scan);
    sto_snap_release(snap);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_retention__a_clock_that_jumps_removes_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 4000 * DAY, 2000);
    assert_int_equal(seen(st, 0).n, 0); /* by this clock it is expired */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 1);
    clocks(T0 + 2000, 3000);
    assert_int_equal(seen(st, 0).n, 1);
    clocks(T0 + 4000 * DAY, 4000); /* the clock stays there */
    flush_to(st, STO_LEVEL_COMPACT);
    clocks(T0 + 4007 * DAY, 4000 + 7 * DAY);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* The newer of two files expires first: what it had overwritten stays away when retention is switched off. */
static void test_store_retention__a_cutoff_never_moves_back(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0 - 29 * DAY, 1);
    put_at(st, 0, T0, 10);
    put_kept(st, 1, T0);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 29 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).sum, 12);
    clocks(T0 + 2 * DAY, 1000 + 2 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 + KEPT_POINTS);
    kit_close(st);
    for (int k = 0; k < 2; k++) {
        st = open_at(f, 0, 0);
        assert_int_equal(seen(st, 0).sum, k ? 17 : 10);
        put_at(st, 0, T0 - 29 * DAY, 7); /* what is put from now on is there */
        put_at(st, 0, T0, 10);
        flush_to(st, k ? STO_LEVEL_COMPACT : STO_LEVEL_FILES);
        assert_int_equal(seen(st, 0).sum, 17);
        kit_close(st);
    }
    t_faultfs_free(f);
}

/* What is put after retention was raised is kept as long as it says now, though it is older than what was dropped. */
static void test_store_retention__raised_it_keeps_new_points(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0 - 29 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 2 * DAY, 1000 + 2 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 0); /* there is a cutoff now */
    kit_close(st);
    st = open_at(f, 365, 0);
    put_at(st, 0, T0 - 100 * DAY, 7);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).sum, 7);
    clocks(T0 + 300 * DAY, 1000 + 300 * DAY); /* it expires as any other */
    assert_int_equal(seen(st, 0).sum, 0);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* An old cutoff conceals an overwritten value: no file goes that would need another one. */
static void test_store_retention__raised_it_brings_nothing_back(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0 - 80 * DAY, 1);
    put_at(st, 0, T0 + 80 * DAY, 10); /* keeps its file, */
    put_kept(st, 1, T0 + 80 * DAY);   /* as it is */
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 1, T0 - 40 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2 + KEPT_POINTS); /* the second file went */
    kit_close(st);
    st = open_at(f, 60, 0);
    put_at(st, 0, T0 - 80 * DAY, 2); /* newer, expired too */
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    kit_close(st);
    st = open_at(f, 0, 0);
    assert_int_equal(seen(st, 0).sum, 12); /* the value written last; or none, but never 1 */
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_retention__a_start_with_a_wrong_clock_removes_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    kit_close(st);
    for (int k = 0; k < 3; k++) { /* no number of starts counts as time */
        clocks(T0 + 100 * DAY, 5000);
        st = open_at(f, 30, 0);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(stat_of(st, "files.points"), 1);
        k < 2 ? kit_close(st) : (void)0;
    }
    clocks(T0 + 2000, 6000); /* the clock is set right */
    put_at(st, 0, T0 + 1000, 5);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(seen(st, 0).sum, 6);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 + 1500, 9);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(seen(st, 0).sum, 15);
    kit_close(st);
    t_faultfs_free(f);
}

/* Points in memory are of no cutoff, even if the clock was wrong long enough. */
static void test_store_retention__a_cutoff_leaves_memory_alone(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 + 1000, 5);
    sto_writer_turn(sto_writer(st, 0));
    clocks(T0 + 100 * DAY, 1000);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    clocks(T0 + 108 * DAY, 1000 + 8 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 0); /* it has gone */
    clocks(T0 + 8 * DAY, 1000 + 8 * DAY);
    put_at(st, 0, T0 + 2000, 9);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(seen(st, 0).sum, 14);
    flush_to(st, STO_LEVEL_FILES);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).sum, 14);
    kit_close(st);
    st = open_at(f, 0, 0);
    assert_int_equal(seen(st, 0).sum, 14);
    kit_close(st);
    t_faultfs_free(f);
}

/* A second step of the clock does not end the pause that the first one began; restarts do not either. */
static void steps(int64_t second_ms, bool restart)
{
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    int64_t wall = T0 + 400 * DAY, mono = 2000;
    clocks(wall, mono);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 1);
    clocks(wall += second_ms, mono += 1000);
    flush_to(st, STO_LEVEL_COMPACT);
    for (int64_t d = 0; d < 6; d++) {
        clocks(wall += DAY, mono += DAY);
        flush_to(st, STO_LEVEL_COMPACT);
        assert_int_equal(stat_of(st, "files.points"), 1);
        if (restart) {
            kit_close(st);
            st = open_at(f, 30, 0);
        }
    }
    clocks(wall += 2 * DAY, mono += 2 * DAY); /* it is right after all */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_retention__steps_of_the_clock_end_no_pause(void **state)
{
    (void)state;
    static const int64_t second[] = {11 * 60000, -11 * 60000, 0};
    for (size_t i = 0; i < 3; i++) {
        steps(second[i], false);
        steps(second[i], true);
    }
}

/* Once the clock was trusted again, an earlier jump is no part of how far it has to be set back. */
static void test_store_retention__jumps_that_are_over_do_not_count(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0 + 2 * DAY + 4 * TS_HOUR_MS - 30 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    static const struct {
        int64_t wall_ms, mono_ms;
    } steps[] = {{DAY, 1000},                   /* forward by a day: trusted a day later */
                 {2 * DAY + 2000, DAY + 3000},  /* so it is */
                 {102 * DAY, DAY + 4000},       /* forward by 100 days, */
                 {2 * DAY + 4000, DAY + 5000}}; /* and back again */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        clocks(T0 + steps[i].wall_ms, 1000 + steps[i].mono_ms);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(stat_of(st, "files.points"), 1);
    }
    clocks(T0 + 2 * DAY + 6 * TS_HOUR_MS, 1000 + DAY + 6 * TS_HOUR_MS); /* it expired an hour ago */
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* Steps that are small, one by one, are a jump together. */
static void test_store_retention__small_steps_add_up(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(1, &f);
    put_at(st, 0, T0 - DAY + 60000, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t k = 1; k <= 10; k++) {
        clocks(T0 + k * 540000, 1000 + k * 60000);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    }
    assert_int_equal(stat_of(st, "files.points"), 1);
    kit_close(st);
    t_faultfs_free(f);
}

/* Without a manifest, what retention had concealed stays away. */
static void test_store_retention__a_repair_knows_the_cutoff(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    put_at(st, 0, T0 - 29 * DAY, 1);
    put_at(st, 0, T0, 10);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 29 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 2 * DAY, 1000 + 2 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    kit_close(st);
    assert_true(t_faultfs_remove(f, "/db/MANIFEST"));
    assert_true(t_faultfs_remove(f, "/db/MANIFEST.copy"));
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db", .repair = true};
    struct sto_fsck_result r;
    struct ts_error err = {0};
    if (sto_fsck(&opts, &r, &err) < 0)
        fail_msg("fsck: %s", err.text);
    for (int k = 0; k < 2; k++) {
        st = open_at(f, 0, 0);
        assert_int_equal(seen(st, 0).sum, k ? 17 : 10);
        put_at(st, 0, T0 - 29 * DAY, 7); /* and what is put now is there */
        flush_to(st, STO_LEVEL_COMPACT);
        assert_int_equal(seen(st, 0).sum, 17);
        kit_close(st);
    }
    t_faultfs_free(f);
}

/* Retention is switched on: nothing says what the clock said before, but the newest point shows whether it may be right. */
static void test_store_retention__switched_on_it_looks_at_the_newest_point(void **state)
{
    (void)state;
    static const struct {
        int64_t ahead_ms; /* of the clock, over the newest point */
        int n_left;       /* points in files */
    } cases[] = {{DAY / 2, 1}, {-DAY / 2, 1}, {3 * DAY, 2}, {3000 * DAY, 2}, {-3 * DAY, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct t_faultfs *f;
        struct sto_store *st = begin(0, &f);
        put_at(st, 0, T0 - 60 * DAY, 1);
        flush_to(st, STO_LEVEL_FILES);
        put_at(st, 0, T0, 10);
        flush_to(st, STO_LEVEL_FILES);
        kit_close(st);
        clocks(T0 + cases[i].ahead_ms, 1000);
        st = open_at(f, 30, 0);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(stat_of(st, "files.points"), cases[i].n_left);
        kit_close(st);
        t_faultfs_free(f);
    }
}

static void on_finding(void *arg, const struct sto_finding *x)
{
    if (x->kind == STO_FIND_DAMAGE)
        ++*(int *)arg;
}

/* Each bit of DIR/RETENTION: the store opens and removes nothing, a check tells, a repair takes it away. */
static void test_store_retention__its_file_may_be_damaged(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    size_t n = 0;
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    put_at(st, 0, T0 - 29 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    kit_close(st);
    ts_free(t_faultfs_get(f, "/db/RETENTION", &n));
    assert_int_equal(n, 56);
    clocks(T0 + 2 * DAY, 1000);
    for (size_t i = 0; i < n; i++) {
        int found = 0;
        struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db", .found = on_finding, .arg = &found};
        struct sto_fsck_result r;
        uint8_t bit = (uint8_t)(1u << (i % 8));
        assert_true(t_faultfs_flip(f, "/db/RETENTION", i, bit));
        assert_int_equal(sto_fsck(&opts, &r, NULL), 0);
        assert_int_equal(found, 1);
        assert_true(t_faultfs_flip(f, "/db/RETENTION", i, bit));
    }
    assert_true(t_faultfs_flip(f, "/db/RETENTION", 30, 1));
    st = open_at(f, 30, 0);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 1); /* the clock is not known: 7 days nothing goes */
    clocks(T0 + 10 * DAY, 1000 + 8 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* The disk is full to the last byte: expired files go all the same, with the reserve's room for the edit that says so. */
static void test_store_retention__a_full_disk_is_made_free(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    opts.own_threads = false;
    opts.pumped = true;
    opts.retention_ms = 30 * DAY;
    opts.reserve_bytes = 64 << 10;
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 1000; i++)
        put_at(st, 0, T0 + i * 1000, i * 7919 % 10007);
    flush_to(st, STO_LEVEL_FILES);
    leave_room(f, 0);
    clocks(T0 + 31 * DAY, 1000 + 31 * DAY);
    if (sto_store_pump_merges(st, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(stat_of(st, "files.points"), 0);
    t_faultfs_set_capacity(f, 0);
    flush_to(st, STO_LEVEL_FILES); /* the reserve is there again: puts are accepted */
    put_at(st, 0, T0 + 31 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).n, 1);
    kit_close(st);
    t_faultfs_free(f);
}

/* A delete that begins long ago and ends in what is kept stays as long as that, though its file has no points at all. */
static void test_store_retention__deletes_of_what_is_kept_stay(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(30, &f);
    for (int64_t i = 0; i < 100; i++)
        put_at(st, 0, T0 + i * 1000, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 - 100 * DAY, T0), 0);
    flush_to(st, STO_LEVEL_FILES);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(sto_store_pump_merges(st, NULL), 0); /* too few are deleted to write the file anew */
        assert_int_equal(stat_of(st, "files.count"), 2);
        assert_int_equal(seen(st, 0).n, 99);
        clocks(T0 + (k + 1) * 9 * DAY, 1000 + (k + 1) * 9 * DAY);
    }
    clocks(T0 + 31 * DAY, 1000 + 31 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.count"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* Of two files of one flush the older one is dropped, and the other has a point behind the cutoff too: neither comes back when
 * retention is switched off, for the cutoff concerns all generations of files that there are. */
static void test_store_retention__a_cutoff_concerns_the_newest_file(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 1); /* each day has a file of its own */
    const int64_t day = T0 - T0 % DAY;        /* 2026-11-02 00:00 */
    put_at(st, 0, day - 3 * DAY, 1);
    put_at(st, 0, day + 1000, 10); /* expires in the middle of its file */
    put_at(st, 0, day + DAY - 1, 100);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(stat_of(st, "files.count"), 2);
    clocks(day + 30 * DAY + 2 * TS_HOUR_MS, 1000 + day + 30 * DAY + 2 * TS_HOUR_MS - T0);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.count"), 1);
    kit_close(st);
    st = open_at(f, 0, 1);
    assert_int_equal(seen(st, 0).sum, 100);
    put_at(st, 0, day + 1000, 7); /* what is put from now on is there */
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).sum, 107);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).sum, 107);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_retention__what_is_expired_is_in_no_answer),
        CASE(test_store_retention__summaries_answer_the_right_hours),
        CASE(test_store_retention__jumps_that_are_over_do_not_count),
        CASE(test_store_retention__a_clock_that_jumps_removes_nothing),
        CASE(test_store_retention__a_full_disk_is_made_free),
        CASE(test_store_retention__deletes_of_what_is_kept_stay),
        CASE(test_store_retention__a_cutoff_concerns_the_newest_file),
        CASE(test_store_retention__a_cutoff_never_moves_back),
        CASE(test_store_retention__raised_it_keeps_new_points),
        CASE(test_store_retention__raised_it_brings_nothing_back),
        CASE(test_store_retention__a_start_with_a_wrong_clock_removes_nothing),
        CASE(test_store_retention__a_cutoff_leaves_memory_alone),
        CASE(test_store_retention__steps_of_the_clock_end_no_pause),
        CASE(test_store_retention__small_steps_add_up),
        CASE(test_store_retention__a_repair_knows_the_cutoff),
        CASE(test_store_retention__switched_on_it_looks_at_the_newest_point),
        CASE(test_store_retention__its_file_may_be_damaged),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
