/*
 * test_store_ship_sums.c - sums of additions when passes fail, disks are full, processes are killed, and others read and write meanwhile.
 */
#include "tests/unit/storage/ship_kit.h"

#include "tests/unit/t_random.h"

#include <time.h>

/* A sum that does not fit stays here, and keeps no other addition away from the remote store. */
static void test_ship_sums__overflow_blocks_no_other(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    ship_begin(&b);
    ship_put(&b, 0, T0, INT64_MAX);
    ship_put(&b, 1, T0, 1);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    ship_add(&b, 0, T0, 5); /* overflows */
    ship_add(&b, 1, T0, 5); /* another metric, later in the order */
    ship_flush(b.st);
    for (int i = 0; i < 5; i++) {
        err = (struct ts_error){0};
        (void)sto_ship(b.st, &err);
        ship_flush(b.st);
    }
    r_expect_metric(b.r, "m1", "m1 host=h1 @0 0:6\n");
    ship_end(&b);
}

/* Puts of a pass that fails after some groups are synced before the next one sends them. */
static void test_ship_sums__failed_passes_and_power_cuts(void **state)
{
    (void)state;
    int wrong = 0;
    for (uint64_t k = 0; k < 8; k++)
        for (uint64_t j = 0; j < 8; j++) {
            struct ship_both b;
            ship_init(&b, 1);
            b.opts.wal_sync = STO_SYNC_INTERVAL;
            ship_reopen(&b);
            ship_put(&b, 0, T0, 10);
            ship_put(&b, 1, T0, 10);
            ship_flush(b.st);
            ship_all(b.st);
            ship_add(&b, 0, T0, 5);
            ship_add(&b, 1, T0, 5);
            ship_turn(b.st); /* synced */
            sto_memory_remote_unreachable_after(b.r, k);
            (void)sto_ship(b.st, NULL);
            sto_memory_remote_set_unreachable(b.r, false);
            sto_memory_remote_unreachable_after(b.r, j);
            (void)sto_ship(b.st, NULL);
            t_faultfs_power_cut(b.f);
            (void)sto_close(b.st, NULL);
            b.st = NULL;
            t_faultfs_reboot(b.f, T_KEEP_NONE);
            sto_memory_remote_unreachable_after(b.r, UINT64_MAX);
            sto_memory_remote_set_unreachable(b.r, false);
            ship_reopen(&b);
            for (int i = 0; i < 3; i++) {
                ship_all(b.st);
                ship_flush(b.st);
            }
            ship_all(b.st);
            struct r_series *s = r_series("m0 host=h0");
            char text[200] = "";
            (void)s;
            (void)text;
            {
                struct t_ref *ref = t_ref_new();
                char why[200] = "";
                for (size_t i = 0; i < b.d.n; i++)
                    t_ref_apply(ref, &b.d.ops[i]);
                for (unsigned n = 0; n < 2; n++)
                    if (!kit_same(b.st, ref, n, why, sizeof why)) {
                        wrong++;
                    }
                t_ref_free(ref);
            }
            ts_free(s);
            ship_end(&b);
        }
    assert_int_equal(wrong, 0);
}

/* A sum for which the disk has no space, and that is put when it has, is not sent before it is synced. */
static void test_ship_sums__full_disk(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    ship_init(&b, 1);
    b.opts.wal_sync = STO_SYNC_INTERVAL;
    ship_reopen(&b);
    ship_put(&b, 0, T0, 10);
    ship_flush(b.st);
    ship_all(b.st);
    ship_add(&b, 0, T0, 5);
    ship_flush(b.st);
    sto_memory_remote_set_unreachable(b.r, true);
    (void)sto_ship(b.st, NULL); /* marks are set, the value is not read */
    sto_memory_remote_set_unreachable(b.r, false);
    t_faultfs_plan(
        b.f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_ENOSPC});
    (void)sto_ship(b.st, &err); /* the put waits */
    sto_memory_remote_set_unreachable(b.r, true);
    err = (struct ts_error){0};
    (void)sto_ship(b.st, &err);
    sto_memory_remote_set_unreachable(b.r, false);
    t_faultfs_plan(b.f, (struct t_fault_plan){0});
    (void)sto_flush(b.st, STO_LEVEL_LOG, NULL); /* a barrier: the owner writes what waits */
    assert_int_equal(sto_ship(b.st, NULL), 0);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
    t_faultfs_power_cut(b.f);
    (void)sto_close(b.st, NULL);
    b.st = NULL;
    t_faultfs_reboot(b.f, T_KEEP_NONE);
    ship_reopen(&b);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "after the power cut");
    ship_end_settled(&b);
}

/* A kill indeed: nothing is written by the close (ship_kill closes the store first, which flushes). */
static void really_kill(struct ship_both *b)
{
    t_faultfs_power_cut(b->f);
    (void)sto_close(b->st, NULL);
    b->st = NULL;
    t_faultfs_kill(b->f);
}

/* After a kill, passes with nothing new send nothing. */
static void test_ship_sums__nothing_new_after_a_kill(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    ship_flush(b.st);
    ship_all(b.st);
    for (int i = 0; i < 1000; i++)
        ship_put(&b, 2, T0 + i, i);
    ship_all(b.st);
    really_kill(&b);
    ship_reopen(&b);
    ship_all(b.st);
    uint64_t was = ship_stat(b.st, "ship.points"), now = was;
    for (int i = 0; i < 5; i++, was = now) {
        ship_all(b.st);
        now = ship_stat(b.st, "ship.points");
    }
    ship_put(&b, 4, T0, 1);
    ship_all(b.st);
    was = ship_stat(b.st, "ship.points");
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.points"), was);
    ship_end(&b);
}

/* The same while memory has a delete of the series, because of which the addition waits. */
static void test_ship_sums__nothing_new_beside_a_delete(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    ship_flush(b.st);
    ship_del(&b, 0, T0 + 90 * TS_HOUR_MS, T0 + 90 * TS_HOUR_MS);
    for (int i = 0; i < 1000; i++)
        ship_put(&b, 2, T0 + i, i);
    ship_all(b.st);
    uint64_t was = ship_stat(b.st, "ship.points");
    for (int i = 0; i < 3; i++) {
        ship_all(b.st);
    }
    assert_int_equal(ship_stat(b.st, "ship.points"), was);
    ship_end(&b);
}

/* Additions in memory that a failed pass has met are not forgotten. */
static void test_ship_sums__a_failed_pass_forgets_nothing(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0 + TS_HOUR_MS, 10);
    ship_put(&b, 1, T0, 1);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    ship_add(&b, 0, T0 + TS_HOUR_MS, 5);
    ship_put(&b, 1, T0, 2); /* an older hour, which fails */
    ship_turn(b.st);
    sto_memory_remote_set_unreachable(b.r, true);
    assert_true(sto_ship(b.st, NULL) < 0);
    sto_memory_remote_set_unreachable(b.r, false);
    for (int i = 0; i < 5; i++)
        ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.absolute_points"), 1);
    ship_end(&b);
}

static void to_log(struct sto_store *st)
{
    ship_turn(st);
    (void)sto_flush(st, STO_LEVEL_LOG, NULL);
    ship_turn(st);
}

/* What a life is about, besides random operations. */
enum mode {
    KILLS,   /* and a remote store that fails */
    CUTS,    /* of power; additions and deletes alone */
    HOURS,   /* are shipped as a whole; and kills */
    REFUSALS /* of rows of a metric; and kills */
};

struct life {
    struct ship_both b;
    uint64_t rnd;
    enum mode mode;
    char when[80];
};

static void write_some(struct life *l, uint64_t what)
{
    unsigned s = (unsigned)(t_rand(&l->rnd) % 3);
    int64_t t = T0 + (int64_t)(t_rand(&l->rnd) % 2) * TS_HOUR_MS + (int64_t)(t_rand(&l->rnd) % 3) * 500;
    if (what > 1)
        ship_add(&l->b, s, t, (int64_t)(t_rand(&l->rnd) % 1000));
    else if (what == 1 && t_rand(&l->rnd) % 3 == 0)
        ship_del(&l->b, s, t, t + (int64_t)(t_rand(&l->rnd) % 2) * 600);
    else if (what == 0 && l->mode != CUTS)
        ship_put(&l->b, s, t, (int64_t)(t_rand(&l->rnd) % 1000));
}

static void all_to_log(struct life *l)
{
    to_log(l->b.st);
    l->b.d.n_acked = l->b.d.n;
}

static void fail_and_ship(struct life *l)
{
    to_log(l->b.st);
    if (l->mode != CUTS)
        sto_memory_remote_unreachable_after(l->b.r, t_rand(&l->rnd) % 8);
    (void)sto_ship(l->b.st, NULL);
    sto_memory_remote_unreachable_after(l->b.r, UINT64_MAX);
    sto_memory_remote_set_unreachable(l->b.r, false);
}

/* A power cut, after what was written last has perhaps not been synced; or a kill, after which there are as many workers as before or others. */
static void end_badly(struct life *l)
{
    struct ship_both *b = &l->b;
    if (l->mode != CUTS) {
        to_log(b->st);
        b->opts.n_writers = b->opts.n_writers == 1 ? 3 : 1;
        really_kill(b);
        ship_reopen(b);
        return;
    }
    if (t_rand(&l->rnd) % 2) {
        sto_writer_turn(sto_writer(b->st, 0)); /* in the log, not synced */
        if (t_rand(&l->rnd) % 2)
            assert_int_equal(sto_ship(b->st, NULL), 0);
    } else {
        all_to_log(l);
    }
    t_faultfs_power_cut(b->f);
    (void)sto_close(b->st, NULL);
    b->st = NULL;
    t_faultfs_reboot(b->f, T_KEEP_RANDOM);
    ship_reopen(b);
    ship_all(b->st); /* what was sent and is lost here is replaced */
    kit_expect_front(b->st, &b->d, true, l->when);
    b->d.n_acked = b->d.n;
}

static void step(struct life *l)
{
    struct ship_both *b = &l->b;
    uint64_t what = t_rand(&l->rnd) % 20;
    if (l->mode == REFUSALS && t_rand(&l->rnd) % 8 == 0)
        sto_memory_remote_refuse(b->r, t_rand(&l->rnd) % 2 ? ts_slice_str("m0") : (struct ts_slice){0});
    if (what < 8)
        write_some(l, what);
    else if (what < 10)
        ship_flush(b->st);
    else if (what < 12)
        fail_and_ship(l);
    else if (what == 12)
        (void)sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL);
    else if (what == 13)
        (void)sto_store_pump_merges(b->st, NULL);
    else if (what == 14)
        end_badly(l);
    else if (what == 15)
        (void)sto_reship(b->st, sto_hour(T0), sto_hour(T0) + 2, NULL);
    else {
        all_to_log(l);
        ship_all(b->st);
        if (what == 19)
            kit_expect_all(b->st, &b->d, l->when);
    }
}

static void life(uint64_t seed, enum mode mode)
{
    struct life l = {.rnd = seed * 7919 + 1, .mode = mode};
    struct ship_both *b = &l.b;
    ship_init(b, seed);
    b->opts.wal_sync = STO_SYNC_INTERVAL;
    b->opts.ship_additions = t_rand(&l.rnd) % 3 ? 0 : 3;
    b->opts.ship_whole_hours = mode == HOURS;
    b->opts.ship_pass_points = seed % 3 ? 0 : 1 + seed % 40;
    ship_reopen(b);
    for (int i = 0; i < 150; i++) {
        snprintf(l.when, sizeof l.when, "seed %d mode %d step %d", (int)seed, (int)mode, i);
        step(&l);
    }
    sto_memory_remote_refuse(b->r, (struct ts_slice){0});
    if (mode == REFUSALS)
        (void)sto_reship(b->st, INT32_MIN, INT32_MAX, NULL);
    for (int i = 0; i < 20; i++) {
        ship_flush(b->st);
        ship_all(b->st);
    }
    kit_expect_all(b->st, &b->d, l.when);
    ship_expect(b->r, &b->d, l.when);
    assert_int_equal(ship_stat(b->st, "ship.held_hours"), 0);
    ship_end(b);
}

static void test_ship_sums__random_lives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (int mode = KILLS; mode <= REFUSALS; mode++)
            life(seed, (enum mode)mode);
}

/* What another writer has put after the pass has shipped the hour is what is added to. */
struct other {
    struct sto_remote *r;
    bool armed, done;
};
static void other_writes(void *arg, enum t_op op, const char *path, bool after)
{
    struct other *o = arg;
    (void)after;
    if (!o->armed || o->done || op != T_OP_APPEND || !path || !strstr(path, "MANIFEST"))
        return;
    o->done = true;
    (void)r_ship(o->r, "m0 host=h0", sto_hour(T0), r_cells((int[]){0, 100}, 1));
}
static void test_ship_sums__another_writer_between_shipping_and_reading(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0 + 60000, 1);
    ship_flush(b.st);
    ship_all(b.st); /* the hour is listed as sent */
    ship_put(&b, 0, T0, 10);
    ship_flush(b.st);
    ship_add(&b, 0, T0, 5);
    struct other o = {.r = b.r, .armed = true};
    t_faultfs_set_hook(b.f, other_writes, &o); /* when the mark is set: the put was acknowledged before */
    ship_all(b.st);
    t_faultfs_set_hook(b.f, NULL, NULL);
    assert_true(o.done);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:105 60:1\n");
    ship_end(&b);
}

/* An addition that waits counts in the backlog; after a kill it need not wait for a flush. */
static void test_ship_sums__backlog_after_a_kill(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    to_log(b.st);
    really_kill(&b);
    ship_reopen(&b);
    ship_all(b.st);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
    ship_end(&b);
}

/* A query whose snapshot lacks the memstore of the sum, and which reads the remote store later, does not add to the sum. */
static void test_ship_sums__a_snapshot_holds_sums_back(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    ship_turn(b.st);
    struct sto_snap *snap = sto_snap_take(b.st); /* a query begins: 15 */
    ship_flush(b.st);
    ship_all(b.st); /* the sum would go to a generation that the snapshot lacks: it waits */
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:10\n");
    assert_int_equal(ship_stat(b.st, "ship.waiting_additions"), 1);
    const struct sto_series *s = kit_series(b.st, 0);
    struct sto_scan_spec spec = {
        .metric = s->metric, .series = &s, .n_series = 1, .from_ms = T0, .to_ms = T0, .final = true};
    struct sto_merge *scan = NULL;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 1);
    int64_t v = row.cells->m[0];
    sto_merge_free(scan);
    sto_snap_release(snap);
    assert_int_equal(v, 15);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
    ship_end(&b);
}

/* New additions become absolute although memory has what was replayed after a kill. */
static void test_ship_sums__additions_after_a_kill(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    for (int i = 0; i < 1000; i++)
        ship_put(&b, 2, T0 + i, i);
    to_log(b.st);
    ship_all(b.st);
    really_kill(&b);
    ship_reopen(&b);
    ship_all(b.st);
    ship_add(&b, 0, T0, 5); /* new, in the active memstore */
    for (int i = 0; i < 5; i++) {
        ship_all(b.st);
    }
    ship_expect(b.r, &b.d, "with what was replayed in memory");
    ship_end(&b);
}

/* While somebody adds, sto_ship returns. */
struct shipping {
    struct sto_store *st;
    _Atomic bool over;
};
static void *ship_once(void *arg)
{
    struct shipping *s = arg;
    (void)sto_ship(s->st, NULL);
    s->over = true;
    return NULL;
}
static void slow_sync(void *arg, enum t_op op, const char *path, bool after)
{
    (void)arg, (void)path;
    if (op == T_OP_SYNC && !after)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* as a disk */
}
static void test_ship_sums__ship_returns_while_somebody_adds(void **state)
{
    (void)state;
    enum { MANY = 100000 }; /* additions, about a millisecond each */
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_remote *r = sto_memory_remote_new(NULL);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct diary d = {0};
    opts.remote = r;
    opts.wal_sync = STO_SYNC_INTERVAL;
    t_faultfs_set_hook(f, slow_sync, NULL); /* while no other thread runs */
    struct shipping s = {.st = kit_open(&opts)};
    pthread_t thread;
    int n = 0;
    for (; n < 10; n++)
        (void)kit_op(s.st, sto_writer(s.st, 0), &d, 0, STO_OP_ADD, T0 + n * 1000, 1);
    sto_writer_turn(sto_writer(s.st, 0));
    pthread_create(&thread, NULL, ship_once, &s);
    for (; !s.over && n < MANY; n++) {
        (void)kit_op(s.st, sto_writer(s.st, 0), &d, 0, STO_OP_ADD, T0 + n * 100, 1);
        sto_writer_turn(sto_writer(s.st, 0));
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* about 900 a second */
    }
    bool over = s.over;
    pthread_join(thread, NULL);
    kit_close(s.st);
    r->ops->close(r);
    t_faultfs_free(f);
    diary_release(&d);
    assert_true(over);
}

/* An addition to a time that has expired does not replace the value of the remote store, which is hidden here. */
static void test_ship_sums__expired_times_are_left_alone(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    b.opts.retention_ms = TS_DAY_MS;
    ts_clock_set_fake(T0 + TS_HOUR_MS);
    ts_clock_set_fake_mono(1000000000ll);
    ship_reopen(&b);
    ship_put(&b, 0, T0, 10);
    ship_put(&b, 1, T0, 1);
    ship_flush(b.st);
    ship_all(b.st);
    for (int d = 1; d < 5; d++) {
        ts_clock_set_fake(T0 + TS_HOUR_MS + d * TS_DAY_MS);
        ts_clock_set_fake_mono(1000000000ll + d * TS_DAY_MS * 1000000ll);
        (void)sto_store_pump_merges(b.st, NULL);
    }
    ship_put(&b, 1, T0 + 4 * TS_DAY_MS, 1);
    ship_flush(b.st);
    (void)sto_store_pump_merges(b.st, NULL);
    ship_add(&b, 0, T0, 5);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:10\n");
    ship_end(&b);
}

/* A sum for which the disk has no space makes no client repeat an addition that was written. */
static void barrier_said(void *arg, int rc, const struct ts_error *err)
{
    (void)err;
    *(int *)arg = rc;
}
static void test_ship_sums__full_disk_fails_no_client(void **state)
{
    (void)state;
    struct ship_both b;
    int said = 1;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 1);
    ship_flush(b.st);
    sto_memory_remote_set_unreachable(b.r, true);
    (void)sto_ship(b.st, NULL);
    sto_memory_remote_set_unreachable(b.r, false);
    ship_add(&b, 1, T0, 5);
    sto_writer_turn(sto_writer(b.st, 0)); /* written */
    t_faultfs_plan(
        b.f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_ENOSPC});
    (void)sto_ship(b.st, NULL);
    sto_writer_barrier(sto_writer(b.st, 0), STO_LEVEL_LOG, 1, barrier_said, &said);
    ship_turn(b.st);
    assert_int_equal(said, 0); /* otherwise it repeats what counts already */
    t_faultfs_plan(b.f, (struct t_fault_plan){0});
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_sums__overflow_blocks_no_other),
        cmocka_unit_test(test_ship_sums__failed_passes_and_power_cuts),
        cmocka_unit_test(test_ship_sums__full_disk),
        cmocka_unit_test(test_ship_sums__nothing_new_after_a_kill),
        cmocka_unit_test(test_ship_sums__nothing_new_beside_a_delete),
        cmocka_unit_test(test_ship_sums__a_failed_pass_forgets_nothing),
        cmocka_unit_test(test_ship_sums__random_lives),
        cmocka_unit_test(test_ship_sums__another_writer_between_shipping_and_reading),
        cmocka_unit_test(test_ship_sums__backlog_after_a_kill),
        cmocka_unit_test(test_ship_sums__a_snapshot_holds_sums_back),
        cmocka_unit_test(test_ship_sums__additions_after_a_kill),
        cmocka_unit_test(test_ship_sums__ship_returns_while_somebody_adds),
        cmocka_unit_test(test_ship_sums__expired_times_are_left_alone),
        cmocka_unit_test(test_ship_sums__full_disk_fails_no_client),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
