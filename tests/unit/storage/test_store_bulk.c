/*
 * test_store_bulk.c - bulk loads: sorting and merging, handing over, faults and crashes at every call, hostile files.
 */
#include "tests/unit/storage/bulk_kit.h"

#include "storage/engine/bulk/pair.h"
#include "storage/engine/bulk/sort.h"
#include "storage/engine/bulk/times.h"
#include "storage/fsck.h"

#define N_POINTS 1500

static void test_store_bulk__times_are_sorted_and_the_last_one_stays(void **state)
{
    (void)state;
    struct sto_bulk_times times = {0};
    uint64_t seed = 5;
    for (size_t n = 1; n < 300; n += n < 40 ? 1 : 37) {
        struct sto_bulk_point p[300], aux[300], want[300];
        size_t n_want = 0;
        for (size_t i = 0; i < n; i++)
            p[i] = (struct sto_bulk_point){.hour = (int32_t)(t_random(&seed) % 5) - 2,
                                           .meta = (uint32_t)(t_random(&seed) % 20) * 1000,
                                           .m = (int64_t)i};
        for (int32_t hour = -2; hour <= 2; hour++)
            for (uint32_t off = 0; off < 20000; off += 1000)
                for (size_t i = n; i-- > 0;)
                    if (p[i].hour == hour && p[i].meta == off) {
                        want[n_want++] = p[i];
                        break;
                    }
        size_t kept;
        const struct sto_bulk_point *got = sto_bulk_sort_times(&times, p, n, aux, &kept);
        assert_int_equal(kept, n_want);
        for (size_t i = 0; i < n_want; i++)
            assert_true(got[i].hour == want[i].hour && got[i].meta == want[i].meta && got[i].m == want[i].m);
    }
    ts_free(times.keys);
}

/* Points at both ends of time need more bits than a key has, unless they are few. */
static void test_store_bulk__times_far_apart_are_sorted(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct sto_bulk_point *p = ts_xcalloc(N, sizeof *p), *aux = ts_xcalloc(N, sizeof *aux);
    struct sto_bulk_times times = {0};
    static const size_t counts[] = {64, 1000, N};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        size_t n = counts[k], kept;
        int64_t sum = 0, before = INT64_MIN;
        for (size_t i = 0; i < n; i++) /* all hours differ */
            p[i] = (struct sto_bulk_point){.hour = (int32_t)((uint32_t)i * 2654435761u), .m = (int64_t)i};
        const struct sto_bulk_point *got = sto_bulk_sort_times(&times, p, n, aux, &kept);
        assert_int_equal(kept, n);
        for (size_t i = 0; i < n; i++) {
            assert_true(got[i].hour > before);
            assert_int_equal((uint32_t)got[i].m * 2654435761u, (uint32_t)got[i].hour);
            before = got[i].hour;
            sum += got[i].m;
        }
        assert_int_equal(sum, (int64_t)(n * (n - 1) / 2));
    }
    ts_free(times.keys);
    ts_free(p);
    ts_free(aux);
}

/* Loaded points win over what was put before, deletes too, and lose against what is put later. */
static void test_store_bulk__equals_puts_at_that_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct ship_both b;
        struct ts_error err = {0};
        struct bulk_input in = bulk_random(seed, N_POINTS), before = bulk_random(seed + 100, 300),
                          after = bulk_random(seed + 200, 300);
        ship_init(&b, seed);
        b.opts.remote = NULL;
        ship_reopen(&b);
        for (size_t i = 0; i < before.n; i++)
            ship_put(&b, before.v[i].series->id, before.v[i].ts_ms, before.v[i].m);
        if (seed % 2)
            ship_flush(b.st);
        ship_del(&b, 1, T0 - 10 * TS_DAY_MS, T0);
        ship_turn(b.st);
        if (bulk_load(b.st, t_faultfs_fs(b.f), &in, &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "handed over");
        for (size_t i = 0; i < after.n; i++)
            ship_put(&b, after.v[i].series->id, after.v[i].ts_ms, after.v[i].m);
        ship_del(&b, 2, T0 - 3 * TS_DAY_MS, T0 - TS_DAY_MS);
        ship_turn(b.st);
        bulk_expect(b.st, &b.d, 0, "put afterwards");
        assert_int_equal(ship_stat(b.st, "bulk.points") > 0, 1);
        if (sto_flush(b.st, STO_LEVEL_COMPACT, &err) < 0)
            fail_msg("%s", err.text);
        bulk_expect(b.st, &b.d, 0, "merged");
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "opened again");
        ts_free(in.v);
        ts_free(before.v);
        ts_free(after.v);
        ship_end(&b);
    }
}

/* An importer that is stopped by an error at any call continues, and nothing is repeated or lost. */
static void test_store_bulk__an_import_continues(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(3, N_POINTS);
    bool fired = true;
    for (uint64_t at = 1; fired; at += 1 + at / 8) {
        struct ship_both b;
        struct sto_bulk_id ids[N_SERIES];
        struct sto_bulk_place place;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        ship_init(&b, at);
        b.opts.remote = NULL;
        ship_reopen(&b);
        bulk_ids(b.st, ids);
        assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_EIO});
        int rc = bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err);
        fired = t_faultfs_fired(b.f);
        assert_true(rc == 0 || fired);
        t_faultfs_plan(b.f, (struct t_fault_plan){0});
        memset(&err, 0, sizeof err);
        if (bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err) < 0 ||
            sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
            fail_msg("call %llu: %s", (unsigned long long)at, err.text);
        bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "continued");
        ts_free(place.dir);
        ship_end(&b);
    }
    ts_free(in.v);
}

/* The power goes at any call of a hand-over: all or nothing is there, and repeating it completes it, once. */
static void test_store_bulk__a_crash_leaves_all_or_nothing(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(4, 400);
    bool cut = true;
    unsigned n_all = 0, n_none = 0;
    for (uint64_t at = 1; cut; at += 1 + at / 40) {
        struct ship_both b;
        struct sto_bulk_id ids[N_SERIES];
        struct sto_bulk_place place;
        struct sto_bulk_sum sum = {0}, taken;
        struct sto_bulk_ended ended;
        struct ts_error err = {0};
        ship_init(&b, at);
        b.opts.remote = NULL;
        b.opts.wal_sync = STO_SYNC_INTERVAL;
        ship_reopen(&b);
        ship_put(&b, 0, in.v[0].ts_ms, 1);
        ship_flush(b.st);
        bulk_ids(b.st, ids);
        assert_int_equal(sto_catalog_sync(sto_store_catalog(b.st), true, &err), 0);
        assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
        assert_int_equal(bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err), 0);
        ts_free(place.dir);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_POWER});
        int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        cut = t_faultfs_is_off(b.f);
        (void)sto_close(b.st, NULL);
        b.st = NULL;
        t_faultfs_reboot(b.f, T_KEEP_RANDOM);
        b.st = kit_open(&b.opts);
        bulk_note(&b.d, &in);
        bool all = bulk_expect(b.st, &b.d, in.n, "after a power cut");
        assert_true(all || rc < 0);
        n_all += all;
        n_none += !all;
        /* what is put now must not be replaced by a hand-over that had happened before */
        ship_put(&b, in.v[1].series->id, in.v[1].ts_ms, 77777);
        ship_turn(b.st);
        memset(&err, 0, sizeof err);
        if (sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
            fail_msg("call %llu: %s", (unsigned long long)at, err.text);
        if (!all)
            bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "repeated");
        assert_int_equal(taken.n_points, sum.n_points);
        assert_int_equal(sto_bulk_end(b.st, bulk_id(), &ended, &err), 0);
        assert_true(ended.found && ended.done);
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "and opened");
        ship_end(&b);
    }
    assert_true(n_all > 0 && n_none > 0);
    ts_free(in.v);
}

/* A call of a hand-over fails while the store goes on: nothing is seen, and the next attempt succeeds. */
static void test_store_bulk__an_error_changes_nothing(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(6, 400);
    bool fired = true;
    for (uint64_t at = 1; fired; at += 1 + at / 40) {
        struct ship_both b;
        struct sto_bulk_id ids[N_SERIES];
        struct sto_bulk_place place;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        ship_init(&b, at);
        b.opts.remote = NULL;
        ship_reopen(&b);
        bulk_ids(b.st, ids);
        assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
        assert_int_equal(bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err), 0);
        ts_free(place.dir);
        ship_put(&b, 0, T0 + 5 * TS_DAY_MS, 1);
        ship_turn(b.st);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_ENOSPC});
        int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        fired = t_faultfs_fired(b.f);
        t_faultfs_plan(b.f, (struct t_fault_plan){0});
        bool all = rc == 0;
        if (rc == TS_EIO || sto_catalog_sync(sto_store_catalog(b.st), true, NULL) < 0) {
            /* the process may have ended, and a start decides; or the log of names takes nothing more until a start */
            ship_kill(&b);
            ship_reopen(&b);
            bulk_note(&b.d, &in);
            all = bulk_expect(b.st, &b.d, in.n, "opened after an error of the disk");
            b.d.n -= all ? 0 : in.n;
        } else if (all) {
            bulk_note(&b.d, &in);
        }
        bulk_expect(b.st, &b.d, 0, all ? "without an error" : "after an error");
        ship_put(&b, 1, T0 + 6 * TS_DAY_MS, 2);
        ship_flush(b.st); /* a generation above that of the attempt */
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "opened after an error");
        memset(&err, 0, sizeof err);
        if (sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
            fail_msg("call %llu: %s", (unsigned long long)at, err.text);
        if (!all)
            bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "repeated");
        ship_end(&b);
    }
    ts_free(in.v);
}

/* Whatever bit of the staged files is changed: the store refuses all of them, and has not changed. threads: several copy and check the files. */
static void refuse_damaged(bool threads)
{
    struct bulk_input in = bulk_random(7, threads ? 1000 : 300);
    struct ship_both b;
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0}, taken;
    struct ts_error err = {0};
    uint64_t seed = 9;
    ship_init(&b, 1);
    b.opts.remote = NULL;
    b.opts.pumped = !threads;
    ship_reopen(&b);
    bulk_ids(b.st, ids);
    assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
    assert_int_equal(bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err), 0);
    assert_true(sum.n_files > 1);
    for (size_t i = 0; i < t_faultfs_count(b.f); i++) {
        char *path = ts_xstrdup(t_faultfs_path(b.f, i));
        size_t n = 0;
        if (!strstr(path, "/ready/")) {
            ts_free(path);
            continue;
        }
        ts_free(t_faultfs_get(b.f, path, &n));
        for (int k = 0; k < 6; k++) {
            uint64_t off = t_random(&seed) % n;
            uint8_t mask = (uint8_t)(1u << t_random(&seed) % 8);
            assert_true(t_faultfs_flip(b.f, path, off, mask));
            int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
            if (rc != TS_EINVAL)
                fail_msg("%s at %llu: %d", path, (unsigned long long)off, rc);
            assert_true(t_faultfs_flip(b.f, path, off, mask));
        }
        ts_free(path);
    }
    bulk_expect(b.st, &b.d, 0, "refused");
    sum.n_points++;
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), TS_EINVAL);
    sum.n_points--;
    assert_int_equal(sto_bulk_hand_over(b.st, TS_SLICE_LIT("00000000000000bb"), &sum, &taken, &err),
                     TS_ENOTFOUND);
    assert_int_equal(sto_bulk_hand_over(b.st, TS_SLICE_LIT("../../etc"), &sum, &taken, &err), TS_ENOTFOUND);
    if (threads) { /* a store that is not pumped waits for its owners when it takes the files */
        b.opts.pumped = true;
        ship_reopen(&b);
    }
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), 0);
    bulk_note(&b.d, &in);
    bulk_expect(b.st, &b.d, 0, "not damaged any more");
    ts_free(place.dir);
    ts_free(in.v);
    ship_end(&b);
}

static void test_store_bulk__damaged_files_are_refused(void **state)
{
    (void)state;
    refuse_damaged(false);
}

static void test_store_bulk__threads_refuse_damaged_files(void **state)
{
    (void)state;
    refuse_damaged(true);
}

/* Write one file with one row into ready/. */
static void one_row(struct ship_both *b, const char *dir, const struct sto_key *key, uint32_t meta, int64_t m)
{
    char *ready = ts_fs_join(dir, "ready");
    struct sto_sst_writer *w;
    struct sto_sst_info info;
    struct ts_error err = {0};
    struct sto_cells cells = {.n = 1, .meta = &meta, .m = &m};
    (void)t_faultfs_fs(b->f)->mkdir(t_faultfs_fs(b->f), ready, NULL);
    (void)sto_pair_remove(t_faultfs_fs(b->f), ready, 1, NULL);
    assert_int_equal(sto_sst_writer_new(t_faultfs_fs(b->f), ready, 1, &w, &err), 0);
    assert_int_equal(sto_sst_write_row(w, key, &cells, &err), 0);
    assert_int_equal(sto_sst_writer_finish(w, 1, 1, &info, &err), 0);
    ts_free(ready);
}

/* Files that are whole, but not made of puts of this store's series. */
static void test_store_bulk__what_no_put_makes_is_refused(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {.n_files = 1, .n_points = 1}, taken;
    struct ts_error err = {0};
    uint32_t put = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false),
             add = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false),
             raw = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, false);
    ship_init(&b, 1);
    b.opts.remote = NULL;
    ship_reopen(&b);
    const struct sto_series *s = kit_series(b.st, 0);
    assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
    struct sto_key good = {s->metric, s->id, sto_hour(T0)}, other = {s->metric + 7, s->id, good.hour},
                   none = {s->metric, s->id + 100, good.hour}, late = {s->metric, s->id, INT32_MAX};
    const struct {
        struct sto_key key;
        uint32_t meta;
        int64_t m;
        int want;
    } cases[] = {{other, put, 1, TS_EINVAL},
                 {none, put, 1, TS_EINVAL},
                 {late, put, 1, TS_EINVAL},
                 {good, add, 1, TS_EINVAL},
                 {good, raw, 0x7ff8000000000000, TS_EINVAL},
                 {good, put, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_row(&b, place.dir, &cases[i].key, cases[i].meta, cases[i].m);
        int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        if (rc != cases[i].want)
            fail_msg("case %zu: %d %s", i, rc, err.text);
        if (rc < 0)
            bulk_expect(b.st, &b.d, 0, "refused");
    }
    diary_add(&b.d, 0, T0, 1, put);
    bulk_expect(b.st, &b.d, 0, "taken");
    ts_free(place.dir);
    ship_end(&b);
}

/* Loaded points are shipped, whatever was shipped before. */
static void test_store_bulk__the_remote_store_gets_it(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    struct bulk_input in = bulk_random(8, 500), before = bulk_random(9, 200);
    ship_begin(&b);
    for (size_t i = 0; i < before.n; i++) {
        ship_put(&b, before.v[i].series->id, before.v[i].ts_ms, before.v[i].m);
        if (i == before.n / 2) {
            ship_flush(b.st);
            ship_all(b.st);
        }
    }
    ship_all(b.st); /* a part of it from memory */
    if (bulk_load(b.st, t_faultfs_fs(b.f), &in, &err) < 0)
        fail_msg("%s", err.text);
    bulk_note(&b.d, &in);
    ship_put(&b, 0, in.v[0].ts_ms, 5);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "loaded");
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "flushed");
    ts_free(in.v);
    ts_free(before.v);
    ship_end(&b);
}

/* Series that only a staging folder refers to are not forgotten; when it has expired, they are, and so is the folder. */
static void test_store_bulk__a_folder_keeps_series_until_it_expires(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_bulk_place place;
    struct ts_error err = {0};
    ship_init(&b, 1);
    b.opts.remote = NULL;
    b.opts.forget_every_ms = 3600000;
    b.opts.bulk_keep_ms = 1000;
    ts_clock_set_fake_mono(1000000000000);
    ship_reopen(&b);
    uint32_t id = kit_series(b.st, 0)->id;
    assert_int_equal(sto_catalog_sync(sto_store_catalog(b.st), true, &err), 0);
    assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
    ts_free(place.dir);
    ship_reopen(&b); /* the folder is found again */
    assert_int_equal(sto_store_pump_forget(b.st, &err), 0);
    assert_non_null(sto_series_get(sto_store_catalog(b.st), id));
    ts_clock_set_fake_mono(1002000000000);
    assert_int_equal(sto_store_pump_merges(b.st, &err), 0);
    for (size_t i = 0; i < t_faultfs_count(b.f); i++)
        assert_null(strstr(t_faultfs_path(b.f, i), "/bulk/"));
    assert_int_equal(sto_store_pump_forget(b.st, &err), 0);
    assert_null(sto_series_get(sto_store_catalog(b.st), id));
    ship_end(&b);
}

/* Whatever call of a repeated begin fails: the folder is still known, so its series are kept and it can be handed over. */
static void test_store_bulk__a_failed_begin_leaves_the_folder(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(11, 200);
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        struct ship_both b;
        struct sto_bulk_id ids[N_SERIES];
        struct sto_bulk_place place, again;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        ship_init(&b, at);
        b.opts.remote = NULL;
        b.opts.forget_every_ms = 3600000;
        ship_reopen(&b);
        bulk_ids(b.st, ids);
        assert_int_equal(sto_catalog_sync(sto_store_catalog(b.st), true, &err), 0);
        assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
        assert_int_equal(bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err), 0);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_EIO});
        int rc = sto_bulk_begin(b.st, bulk_id(), &again, &err);
        fired = t_faultfs_fired(b.f);
        assert_int_equal(rc == 0, again.dir != NULL);
        assert_true(rc == 0 || fired);
        t_faultfs_plan(b.f, (struct t_fault_plan){0});
        assert_int_equal(sto_store_pump_forget(b.st, &err), 0);
        for (unsigned i = 0; i < N_SERIES; i++)
            assert_non_null(sto_series_get(sto_store_catalog(b.st), ids[i].series));
        if (sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
            fail_msg("call %llu: %s", (unsigned long long)at, err.text);
        bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "after a failed begin");
        ts_free(place.dir);
        ts_free(again.dir);
        ship_end(&b);
    }
    ts_free(in.v);
}

static void test_store_bulk__refused_series_are_left_out(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(10, 400);
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0}, taken;
    struct ts_error err = {0};
    ship_init(&b, 1);
    b.opts.remote = NULL;
    ship_reopen(&b);
    bulk_ids(b.st, ids);
    ids[2] = (struct sto_bulk_id){0};
    assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
    assert_int_equal(bulk_write(t_faultfs_fs(b.f), place.dir, &in, ids, &sum, &err), 0);
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), 0);
    for (size_t i = 0; i < in.n; i++)
        if (in.v[i].series->id != 2)
            diary_add(&b.d, in.v[i].series->id, in.v[i].ts_ms, in.v[i].m, in.v[i].flags);
    bulk_expect(b.st, &b.d, 0, "without one series");
    ts_free(place.dir);
    ts_free(in.v);
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_bulk__times_are_sorted_and_the_last_one_stays),
        cmocka_unit_test(test_store_bulk__times_far_apart_are_sorted),
        cmocka_unit_test(test_store_bulk__equals_puts_at_that_moment),
        cmocka_unit_test(test_store_bulk__an_import_continues),
        cmocka_unit_test(test_store_bulk__a_crash_leaves_all_or_nothing),
        cmocka_unit_test(test_store_bulk__an_error_changes_nothing),
        cmocka_unit_test(test_store_bulk__damaged_files_are_refused),
        cmocka_unit_test(test_store_bulk__threads_refuse_damaged_files),
        cmocka_unit_test(test_store_bulk__what_no_put_makes_is_refused),
        cmocka_unit_test(test_store_bulk__the_remote_store_gets_it),
        cmocka_unit_test(test_store_bulk__a_folder_keeps_series_until_it_expires),
        cmocka_unit_test(test_store_bulk__a_failed_begin_leaves_the_folder),
        cmocka_unit_test(test_store_bulk__refused_series_are_left_out),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
