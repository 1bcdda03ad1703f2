/*
 * test_store_ship.c - a store ships its points to a remote store: all of them, once they are marked not again, and
 * whatever happens in between.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/merge/partition.h"
#include "storage/engine/unfinished.h"
#include "tests/unit/t_random.h"

#define CHECKPOINT 3000u /* bytes between two checkpoints of a merge */

static void put(struct sto_store *st, struct diary *d, unsigned series, int64_t ts_ms, int64_t v)
{
    assert_int_equal(kit_op(st, sto_writer(st, 0), d, series, STO_OP_PUT, ts_ms, v), 0);
}

static void del(struct sto_store *st, struct diary *d, unsigned series, int64_t from_ms, int64_t to_ms)
{
    assert_int_equal(kit_op(st, sto_writer(st, 0), d, series, STO_OP_DEL, from_ms, to_ms), 0);
}

static void test_store_ship__memory_is_shipped_without_a_flush(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 50; i++)
        put(st, &d, (unsigned)i % N_SERIES, T0 + i * 400000, i);
    ship_all(st);
    ship_expect(r, &d, "in memory");
    assert_int_equal(ship_stat(st, "files.count"), 0);
    uint64_t rows = r_stat(r, "shipped_rows");
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), rows); /* nothing has changed */
    put(st, &d, 0, T0, 100);
    ship_all(st);
    ship_expect(r, &d, "one more");
    assert_true(r_stat(r, "shipped_rows") <= rows + N_SERIES); /* one hour */
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

static void test_store_ship__marks_outlive_the_process(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 50; i++)
        put(st, &d, (unsigned)i % N_SERIES, T0 + i * 400000, i);
    ship_flush(st);
    ship_all(st);
    uint64_t rows = r_stat(r, "shipped_rows");
    assert_true(rows > 0);
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), rows);
    put(st, &d, 1, T0, 7);
    del(st, &d, 2, T0, T0 + 2 * TS_HOUR_MS);
    put(st, &d, 2, T0 + 1000, 8);
    ship_flush(st);
    ship_all(st);
    ship_expect(r, &d, "after another start");
    assert_int_equal(r_stat(r, "deletes"), 1);
    kit_close(st);
    st = kit_open(&opts);
    ship_all(st);
    assert_int_equal(r_stat(r, "deletes"), 1);
    ship_expect(r, &d, "after a third");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* A delete of all time spares what was put and shipped after it. */
static void test_store_ship__a_delete_spares_newer_hours(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    struct ts_error err = {0};
    put(st, &d, 0, T0, 1);
    put(st, &d, 0, T0 + TS_HOUR_MS, 2);
    put(st, &d, 0, T0 + 2 * TS_HOUR_MS, 3);
    ship_flush(st);
    ship_all(st);
    del(st, &d, 0, STO_MIN_TS_MS, STO_MAX_TS_MS);
    put(st, &d, 0, T0 + TS_HOUR_MS, 4);
    put(st, &d, 0, T0 + 2 * TS_HOUR_MS, 5);
    ship_flush(st);
    /* The delete and the newest hour arrive, then the store is away. */
    ship_turn(st);
    sto_memory_remote_unreachable_after(r, 2);
    assert_int_equal(sto_ship(st, &err), TS_EBACKEND);
    sto_memory_remote_set_unreachable(r, false);
    kit_close(st);
    st = kit_open(&opts);
    put(st, &d, 0, T0 + 2 * TS_HOUR_MS + 1000, 6);
    ship_all(st); /* from memory, into the hour that is marked */
    ship_flush(st);
    ship_all(st);
    ship_expect(r, &d, "after the rest");
    kit_expect_all(st, &d, "local");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* What an addition adds to may be somewhere else: it stays, and its hour is not marked. */
static void test_store_ship__additions_stay(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put(st, &d, 0, T0, 1);
    put(st, &d, 0, T0 + 1000, 10);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_ADD, T0, 5), 0);
    put(st, &d, 0, T0 + 2000, 7);
    ship_flush(st);
    ship_all(st);
    r_expect_metric(r, "m0", "m0 host=h0 @0 0:1 1:10 2:7\n");
    assert_int_equal(ship_stat(st, "ship.held_hours"), 1);
    uint64_t rows = r_stat(r, "shipped_rows");
    ship_all(st);
    assert_int_equal(r_stat(r, "shipped_rows"), rows);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(st, &d, "local");
    /* A put at that time makes it absolute. */
    put(st, &d, 0, T0, 20);
    ship_flush(st);
    ship_all(st);
    ship_expect(r, &d, "with a put");
    assert_int_equal(ship_stat(st, "ship.held_hours"), 0);
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

static void test_store_ship__shipped_files_may_go(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put(st, &d, 0, T0, 1);
    ship_flush(st);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 1); /* not shipped */
    ship_all(st);
    put(st, &d, 0, T0 + 1000, 2);
    ship_flush(st);
    assert_int_equal(sto_drop_shipped(st, T0, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 2); /* not before */
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 1);
    assert_int_equal(ship_stat(st, "files.points"), 1);
    ship_all(st);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 0);
    kit_close(st);
    st = kit_open(&opts); /* their series are still known */
    ship_all(st);
    ship_expect(r, &d, "dropped");
    kit_expect_all(st, &d, "read from the remote store");
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* What was shipped stays while an older file that has to stay has a point of the same time, be it the first or the last. */
static void test_store_ship__a_file_stays_above_an_older_one(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_remote *r = sto_memory_remote_new(NULL);
        struct sto_opts opts = SHIP_OPTS(f, r);
        struct sto_store *st = kit_open(&opts);
        struct diary d = {0};
        int64_t held_ms = T0 + (last ? 2 : 0) * TS_HOUR_MS, both_ms = T0 + TS_HOUR_MS;
        put(st, &d, 0, held_ms, 1);
        ship_flush(st);
        ship_all(st);
        assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
        assert_int_equal(ship_stat(st, "files.count"), 0);
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_ADD, held_ms, 5),
                         0); /* is not shipped */
        put(st, &d, 0, both_ms, 7);
        ship_flush(st);
        put(st, &d, 0, both_ms, 8);
        put(st, &d, 0, both_ms + (last ? -1 : 1) * 1000, 9);
        ship_flush(st);
        ship_all(st);
        assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
        assert_int_equal(ship_stat(st, "files.count"), 2);
        kit_expect_all(st, &d, "one is not shipped");
        kit_close(st);
        r->ops->close(r);
        t_faultfs_free(f);
        diary_release(&d);
    }
}

/* While a scan runs its account counts what was fetched, and nothing afterwards. */
static void test_store_ship__a_scan_gives_its_memory_back(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    struct ts_budget account;
    struct sto_merge *scan = NULL;
    struct sto_row row;
    for (int i = 0; i < 100; i++)
        put(st, &d, 0, T0 + i * 100000, i);
    ship_flush(st);
    ship_all(st);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    const struct sto_series *s = kit_series(st, 0);
    ts_budget_init(&account, "the test", "no_key", NULL, 1 << 24);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true,
                                 .memory = &account};
    struct sto_snap *snap = sto_snap_take(st);
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 1);
    assert_true(atomic_load(&account.used_bytes) > 100 * sizeof(int64_t));
    sto_merge_free(scan);
    assert_int_equal(atomic_load(&account.used_bytes), 0);
    sto_snap_release(snap);
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

/* The power fails at each call of the file system while a store ships; the results of shipments, and the marks, are
 * lost or not. */
static void test_store_ship__a_crash_neither_loses_nor_doubles(void **state)
{
    (void)state;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        assert_true(at < 1000);
        struct t_faultfs *f = t_faultfs_new(at);
        struct sto_remote *r = sto_memory_remote_new(NULL);
        struct sto_opts opts = SHIP_OPTS(f, r);
        struct sto_store *st = kit_open(&opts);
        struct diary d = {0};
        for (int i = 0; i < 30; i++)
            put(st, &d, (unsigned)i % 3, T0 + i * 700000, i);
        ship_flush(st);
        ship_all(st);
        for (int i = 0; i < 10; i++)
            put(st, &d, (unsigned)i % 3, T0 + i * 1400000, 100 + i);
        del(st, &d, 1, T0, T0 + 3 * TS_HOUR_MS);
        put(st, &d, 1, T0 + TS_HOUR_MS, 1000);
        ship_flush(st);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        (void)sto_ship(st, NULL);
        fired = t_faultfs_fired(f);
        if (!fired)
            t_faultfs_power_cut(f);
        (void)sto_close(st, NULL);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        st = kit_open(&opts);
        kit_expect_all(st, &d, "local, after the crash");
        put(st, &d, 0, T0, 2000);
        del(st, &d, 2, T0, T0 + TS_HOUR_MS);
        ship_flush(st);
        ship_all(st);
        ship_expect(r, &d, "after the crash");
        kit_close(st);
        r->ops->close(r);
        t_faultfs_free(f);
        diary_release(&d);
    }
}

/* --- merges beside it --- */

/* A file of some hours, which is too small to stay alone. */
static void put_file(struct sto_store *st, struct diary *d, int64_t i)
{
    uint64_t rnd = (uint64_t)i + 1;
    for (unsigned s = 0; s < N_SERIES; s++)
        for (int64_t k = 0; k < 40; k++)
            put(st, d, s, T0 + i * 10000 + k * 600000, (int64_t)(t_rand(&rnd) >> 1));
    ship_flush(st);
}

static struct sto_store *open_to_merge(struct t_faultfs *f, struct sto_remote *r)
{
    struct sto_opts opts = SHIP_OPTS(f, r);
    opts.checkpoint_bytes = CHECKPOINT;
    opts.big_day_points = 1;
    return kit_open(&opts);
}

/* Interrupt the merge that is due at a write of the file system. True: it has made a checkpoint before. */
static bool interrupt(struct t_faultfs *f, uint64_t at, bool *out_fired)
{
    struct sto_unfinished u;
    struct sto_store *st = open_to_merge(f, NULL);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(st, NULL);
    *out_fired = t_faultfs_fired(f);
    t_faultfs_power_cut(f);
    (void)sto_close(st, NULL);
    t_faultfs_kill(f);
    bool has = sto_unfinished_read(t_faultfs_fs(f), "/db", &u, NULL) == 1;
    sto_unfinished_release(&u);
    return has;
}

/* A store that was opened without its remote store for a while has begun to merge what was shipped with what was not. */
static void test_store_ship__a_merge_across_a_mark_starts_again(void **state)
{
    (void)state;
    struct t_faultfs *base = t_faultfs_new(1), *f = NULL;
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct diary d = {0};
    bool fired = true, has = false;
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    struct sto_store *st = open_to_merge(base, r);
    for (int64_t i = 0; i < (int64_t)STO_TINY_FILES / 2; i++)
        put_file(st, &d, i);
    ship_all(st);
    kit_close(st);
    st = open_to_merge(base, NULL);
    for (int64_t i = STO_TINY_FILES / 2; i < (int64_t)STO_TINY_FILES; i++)
        put_file(st, &d, i);
    kit_close(st);
    for (uint64_t at = 10; fired && !has; at++) {
        t_faultfs_free(f);
        f = t_faultfs_clone(base, at);
        has = interrupt(f, at, &fired);
    }
    assert_true(has);
    struct t_faultfs *other = t_faultfs_clone(f, 1);
    st = open_to_merge(other, NULL); /* without the remote store it would continue */
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(ship_stat(st, "compaction.resumed"), 1);
    kit_close(st);
    st = open_to_merge(f, r);
    assert_true(ship_stat(st, "compaction.unfinished_bytes") > 0);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(ship_stat(st, "compaction.resumed"), 0);
    assert_int_equal(ship_stat(st, "compaction.unfinished_bytes"), 0);
    kit_expect_all(st, &d, "local");
    ship_all(st);
    ship_expect(r, &d, "after the rest");
    kit_close(st);
    r->ops->close(r);
    ts_clock_set_fake(0);
    t_faultfs_free(other);
    t_faultfs_free(f);
    t_faultfs_free(base);
    diary_release(&d);
}

/* What happens while a merge writes its files. */
struct beside {
    struct sto_store *st;
    unsigned n;                 /* calls */
    int rc;                     /* of the first */
    uint64_t n_before, n_after; /* files, before and after it */
};

static void drop_beside(void *arg, enum t_op op, const char *path, bool after)
{
    struct beside *b = arg;
    if (after || op != T_OP_SYNC || !path || !strstr(path, "/files/") || b->n++)
        return;
    b->n_before = ship_stat(b->st, "files.count");
    b->rc = sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL);
    b->n_after = ship_stat(b->st, "files.count");
}

/* The inputs of the merge stay until it ends; it may take hours. */
static void test_store_ship__shipped_files_go_beside_a_merge(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct diary d = {0};
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    struct sto_store *st = open_to_merge(f, r);
    put(st, &d, 0, T0 - 3 * TS_DAY_MS, 1);
    ship_flush(st);
    for (int64_t i = 0; i < (int64_t)STO_TINY_FILES; i++)
        put_file(st, &d, i);
    ship_all(st);
    struct beside b = {.st = st};
    t_faultfs_set_hook(f, drop_beside, &b);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(b.n > 0);
    assert_int_equal(b.rc, 0);
    assert_int_equal(b.n_before, STO_TINY_FILES + 1);
    assert_int_equal(b.n_after, STO_TINY_FILES);
    assert_true(ship_stat(st, "files.count") < STO_TINY_FILES);
    assert_int_equal(ship_stat(st, "files.points"), d.n - 1);
    assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(st, "files.count"), 0);
    ship_all(st);
    ship_expect(r, &d, "dropped");
    kit_close(st);
    r->ops->close(r);
    ts_clock_set_fake(0);
    t_faultfs_free(f);
    diary_release(&d);
}

/* --- any order of everything --- */

static void fail_somehow(struct sto_remote *r, uint64_t *rnd)
{
    if (t_rand(rnd) % 2)
        sto_memory_remote_unreachable_after(r, t_rand(rnd) % 8);
    else
        sto_memory_remote_cut_next(r, t_rand(rnd) % 3);
}

static void some_ops(struct sto_store *st, struct diary *d, uint64_t *rnd)
{
    for (uint64_t n = t_rand(rnd) % 20; n; n--) {
        unsigned series = (unsigned)(t_rand(rnd) % N_SERIES);
        int64_t t = T0 + (int64_t)(t_rand(rnd) % 60) * 900000;
        if (t_rand(rnd) % 8)
            put(st, d, series, t, (int64_t)(t_rand(rnd) % 1000));
        else
            del(st, d, series, t, t + (int64_t)(t_rand(rnd) % 8) * 1800000);
    }
    ship_turn(st);
}

static void life(uint64_t seed)
{
    uint64_t rnd = seed;
    struct t_faultfs *f = t_faultfs_new(seed);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = SHIP_OPTS(f, r);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    char when[64];
    for (int step = 0; step < 120; step++) {
        snprintf(when, sizeof when, "seed %llu step %d", (unsigned long long)seed, step);
        some_ops(st, &d, &rnd);
        switch (t_rand(&rnd) % 11) {
        case 0:
        case 1:
            ship_flush(st);
            break;
        case 2:
            fail_somehow(r, &rnd);
            (void)sto_ship(st, NULL);
            sto_memory_remote_set_unreachable(r, false);
            sto_memory_remote_cut_next(r, SIZE_MAX);
            break;
        case 3:
            ship_all(st);
            break;
        case 4:
            assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
            break;
        case 5:
            assert_int_equal(sto_store_pump_merges(st, NULL), 0);
            break;
        case 6:
            kit_close(st);
            st = kit_open(&opts);
            break;
        case 7:
            (void)sto_close(st, NULL);
            t_faultfs_kill(f);
            st = kit_open(&opts);
            break;
        case 8:
            assert_int_equal(sto_drop_shipped(st, T0 + (int64_t)(t_rand(&rnd) % 80) * 900000, NULL), 0);
            break;
        case 9:
            assert_int_equal(sto_drop_shipped(st, STO_MAX_TS_MS, NULL), 0);
            break;
        default:
            ship_flush(st);
            ship_all(st);
            ship_expect(r, &d, when);
        }
        kit_expect_all(st, &d, when);
    }
    kit_close(st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

static void test_store_ship__any_order_of_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        life(seed);
}

/* The shipping thread does all this by itself. */
static void test_store_ship__the_thread_ships(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.no_background = false;
    opts.remote = r;
    opts.ship_every_ms = 1;
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    for (int i = 0; i < 500; i++)
        put(st, &d, (unsigned)i % N_SERIES, T0 + i * 100000, i);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    while (r_stat(r, "points") < 500) /* it ends when the thread has done it; ctest ends it otherwise */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    kit_close(st);
    ship_expect(r, &d, "by the thread");
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_ship__memory_is_shipped_without_a_flush),
        cmocka_unit_test(test_store_ship__marks_outlive_the_process),
        cmocka_unit_test(test_store_ship__a_delete_spares_newer_hours),
        cmocka_unit_test(test_store_ship__additions_stay),
        cmocka_unit_test(test_store_ship__shipped_files_may_go),
        cmocka_unit_test(test_store_ship__a_file_stays_above_an_older_one),
        cmocka_unit_test(test_store_ship__a_scan_gives_its_memory_back),
        cmocka_unit_test(test_store_ship__a_merge_across_a_mark_starts_again),
        cmocka_unit_test(test_store_ship__shipped_files_go_beside_a_merge),
        cmocka_unit_test(test_store_ship__a_crash_neither_loses_nor_doubles),
        cmocka_unit_test(test_store_ship__any_order_of_everything),
        cmocka_unit_test(test_store_ship__the_thread_ships),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
