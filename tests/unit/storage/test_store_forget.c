/*
 * test_store_forget.c - series without points are forgotten by a whole store: what mentions them, who puts meanwhile, what
 * a crash leaves.
 */
#include "tests/unit/storage/windows_kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static uint64_t forget(struct sto_store *st)
{
    struct ts_error err = {0};
    uint64_t before = stat_of(st, "catalog.series_forgotten");
    sto_writer_turn(sto_writer(st, 0));
    if (sto_store_pump_forget(st, &err) < 0)
        fail_msg("forget: %s", err.text);
    return stat_of(st, "catalog.series_forgotten") - before;
}

static void test_store_forget__what_files_and_memory_mention_stays(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    uint32_t ids[4];
    put_at(st, 0, T0 - 29 * DAY, 1); /* in a file */
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 1, T0, 1); /* in memory */
    put_at(st, 2, T0, 1); /* in an open batch */
    for (unsigned i = 0; i < 4; i++)
        ids[i] = kit_series(st, i)->id; /* the last one has nothing */
    assert_int_equal(forget(st), 1);
    assert_null(sto_series_get(sto_store_catalog(st), ids[3]));
    assert_int_equal(seen(st, 0).n + seen(st, 1).n + seen(st, 2).n, 3);
    assert_int_equal(forget(st), 0);
    /* Expired, but the file is there: retention may be raised. */
    clocks(T0 + 2 * DAY, 1000 + 2 * DAY);
    assert_int_equal(seen(st, 0).n, 0);
    assert_int_equal(forget(st), 0);
    flush_to(st, STO_LEVEL_COMPACT); /* the file goes */
    assert_int_equal(forget(st), 1);
    assert_null(sto_series_get(sto_store_catalog(st), ids[0]));
    put_at(st, 0, T0 + 2 * DAY, 7);
    sto_writer_turn(sto_writer(st, 0));
    assert_true(kit_series(st, 0)->id > ids[3]);
    assert_int_equal(seen(st, 0).n, 1);
    kit_close(st);
    t_faultfs_free(f);
}

/* Who has forgotten series and gets their names again does not mix them up, whatever is left after a power cut. */
static void test_store_forget__comes_back_under_another_number(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    uint32_t id = kit_series(st, 0)->id;
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), 0, STO_MAX_TS_MS), 0);
    assert_int_equal(forget(st), 0); /* a delete in memory mentions it */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(forget(st), 1);
    put_at(st, 0, T0, 5); /* in the log, and the catalog does not know it yet */
    sto_writer_turn(sto_writer(st, 0));
    flush_to(st, STO_LEVEL_DISK);
    t_faultfs_power_cut(f);
    (void)sto_close(st, NULL);
    t_faultfs_reboot(f, T_KEEP_NONE);
    st = open_at(f, 30, 0);
    assert_true(kit_series(st, 0)->id != id);
    assert_int_equal(seen(st, 0).n, 1);
    assert_int_equal(seen(st, 0).sum, 5);
    kit_close(st);
    t_faultfs_free(f);
}

/* A snapshot is a reader: what it found stays in memory. */
static void test_store_forget__a_snapshot_keeps_what_it_found(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    put_at(st, 0, T0, 3);
    flush_to(st, STO_LEVEL_FILES);
    const struct sto_series *s = kit_series(st, 0);
    struct sto_snap *snap = sto_snap_take(st);
    assert_int_equal(sto_delete(sto_writer(st, 0), s, 0, STO_MAX_TS_MS), 0);
    flush_to(st, STO_LEVEL_COMPACT);
    for (int i = 0; i < 5; i++)
        (void)forget(st);
    struct sto_scan_spec spec = {
        .metric = s->metric, .series = &s, .n_series = 1, .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct sto_merge *scan;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 0);
    assert_true(stat_of(st, "catalog.series_forgotten") == 1);
    sto_merge_free(scan);
    assert_memory_equal(sto_series_text(s).p, "m0 host=h0", 10);
    sto_snap_release(snap);
    kit_close(st);
    t_faultfs_free(f);
}

/* --- threads --- */

#define RACERS 2
#define PASSES 300
#define MOST   20000 /* series of a racer, at most */
#define PUTS   3     /* points of each */

struct race {
    struct sto_store *st;
    _Atomic bool stop; /* no more points */
    _Atomic bool over; /* and no more turns */
    struct racer {
        struct race *r;
        unsigned i;    /* its writer */
        unsigned done; /* series that have all their points */
        pthread_t thread;
    } racers[RACERS];
};

/* Series of a racer, as a worker asks for it; NULL: not now. */
static const struct sto_series *race_series(struct sto_store *st, unsigned i, unsigned k, bool create)
{
    char text[48], host[24];
    snprintf(host, sizeof host, "w%u.%u", i, k);
    int n = snprintf(text, sizeof text, "race host=%s", host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    int rc = sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 4, &tag, 1, create,
                                &s, NULL);
    assert_true(rc == 0 || (rc == TS_EBUSY && create));
    return s;
}

/* A worker as the daemon has them: it keeps a series until the generation changes, and ends turns. Each series is known for
 * some turns before its first point. */
static void *racer(void *arg)
{
    struct racer *w = arg;
    struct sto_store *st = w->r->st;
    struct sto_writer *writer = sto_writer(st, w->i);
    const struct sto_series *s = NULL;
    uint64_t generation = 0;
    unsigned n_put = 0;
    for (uint64_t turn = 0; !atomic_load(&w->r->over); turn++) {
        if (atomic_load(&w->r->stop) || w->done == MOST) {
            sto_writer_turn(writer);
            sched_yield();
            continue;
        }
        if (!s || sto_catalog_generation(sto_store_catalog(st)) != generation) {
            generation = sto_catalog_generation(sto_store_catalog(st));
            s = race_series(st, w->i, w->done, true);
        } else if (turn % 2 &&
                   sto_put(writer, s, T0 + (int64_t)n_put * 1000, (struct ts_num){.m = 1}, false) == 0 &&
                   ++n_put == PUTS) {
            w->done++;
            n_put = 0;
            s = NULL;
        }
        sto_writer_turn(writer);
    }
    return NULL;
}

/* Passes look at series that workers know and that have no points yet: none may be lost, nor a point of one. */
static void test_store_forget__loses_no_point_that_comes_meanwhile(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, RACERS);
    struct race r = {0};
    struct ts_error err = {0};
    opts.own_threads = false;
    r.st = kit_open(&opts);
    for (unsigned i = 0; i < RACERS; i++) {
        r.racers[i].r = &r;
        r.racers[i].i = i;
        assert_int_equal(pthread_create(&r.racers[i].thread, NULL, racer, &r.racers[i]), 0);
    }
    for (int k = 0; k < PASSES; k++)
        if (sto_store_pump_forget(r.st, &err) < 0)
            fail_msg("forget: %s", err.text);
    atomic_store(&r.stop, true);
    assert_int_equal(sto_flush(r.st, STO_LEVEL_FILES, &err), 0);
    atomic_store(&r.over, true);
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(r.racers[i].thread, NULL);
    for (unsigned i = 0; i < RACERS; i++)
        for (unsigned k = 0; k < r.racers[i].done; k++) {
            struct seen found = {0, 0};
            if (kit_points(r.st, race_series(r.st, i, k, false), see, &found, &err) < 0)
                fail_msg("scan: %s", err.text);
            assert_int_equal(found.n, PUTS);
        }
    kit_close(r.st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_forget__what_files_and_memory_mention_stays),
        cmocka_unit_test(test_store_forget__comes_back_under_another_number),
        cmocka_unit_test(test_store_forget__a_snapshot_keeps_what_it_found),
        cmocka_unit_test(test_store_forget__loses_no_point_that_comes_meanwhile),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
