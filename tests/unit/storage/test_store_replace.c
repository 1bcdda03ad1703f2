/*
 * test_store_replace.c - a hand-over that replaces: the old points or the new ones are there, whatever happens, and nothing else changes.
 */
#include "tests/unit/storage/bulk_kit.h"

#define FROM_MS (T0 - 20 * TS_DAY_MS)
#define TO_MS   (T0 - 5 * TS_DAY_MS + 1234567)

/* Series 0 and 2 between FROM_MS and TO_MS. */
struct replaced {
    struct sto_tomb ranges[2];
    struct sto_bulk_replace what;
};

static bool is_replaced(const struct sto_point *p)
{
    return (p->series->id == 0 || p->series->id == 2) && p->ts_ms >= FROM_MS && p->ts_ms <= TO_MS;
}

static void replaced_init(struct replaced *r, struct sto_store *st)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    for (unsigned i = 0; i < 2; i++) {
        const struct sto_series *s = kit_series(st, i * 2);
        r->ranges[i] = (struct sto_tomb){
            .metric = s->metric, .series = s->id, .from_ms = FROM_MS, .to_ms = TO_MS, .gen = 999};
        roaring_bitmap_add(set, s->id);
    }
    r->what = (struct sto_bulk_replace){
        .ranges = r->ranges, .n = 2, .series = set, .from_ms = FROM_MS, .to_ms = TO_MS};
}

static void replaced_release(struct replaced *r)
{
    roaring_bitmap_free(r->what.series);
}

/* Random points of what is replaced. */
static struct bulk_input new_points(uint64_t seed, size_t n)
{
    struct bulk_input in = bulk_random(seed, n);
    size_t left = 0;
    for (size_t i = 0; i < in.n; i++)
        if (is_replaced(&in.v[i]))
            in.v[left++] = in.v[i];
    assert_true(left > 10);
    in.n = left;
    return in;
}

#define N_DELETES 2

/* The deletes and the puts as of now: N_DELETES + in->n operations. */
static void note(struct diary *d, const struct bulk_input *in)
{
    for (unsigned i = 0; i < N_DELETES; i++)
        diary_add(d, i * 2, FROM_MS, TO_MS, sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, false));
    bulk_note(d, in);
}

static void put_all(struct ship_both *b, const struct bulk_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        ship_put(b, in->v[i].series->id, in->v[i].ts_ms, in->v[i].m);
}

/* A staging folder with these points. */
static void stage(struct ship_both *b, const struct bulk_input *in, struct sto_bulk_sum *sum)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct ts_error err = {0};
    bulk_ids(b->st, ids);
    assert_int_equal(sto_catalog_sync(sto_store_catalog(b->st), true, &err), 0);
    assert_int_equal(sto_bulk_begin(b->st, bulk_id(), &place, &err), 0);
    if (bulk_write(t_faultfs_fs(b->f), place.dir, in, ids, sum, &err) < 0)
        fail_msg("%s", err.text);
    ts_free(place.dir);
}

static void begin(struct ship_both *b, uint64_t seed, bool remote)
{
    if (remote) {
        ship_begin(b);
        return;
    }
    ship_init(b, seed);
    b->opts.remote = NULL;
    ship_reopen(b);
}

static void test_store_replace__equals_deletes_and_puts_at_that_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct ship_both b;
        struct replaced r;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        struct bulk_input in = new_points(seed, 600), before = bulk_random(seed + 100, 900),
                          after = bulk_random(seed + 200, 300);
        begin(&b, seed, false);
        replaced_init(&r, b.st);
        put_all(&b, &before);
        if (seed % 2)
            ship_flush(b.st);
        stage(&b, &in, &sum);
        put_all(&b, &after);
        ship_turn(b.st);
        if (sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        assert_true(taken.n_points == sum.n_points && taken.n_files == sum.n_files);
        note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "replaced");
        put_all(&b, &after);
        ship_turn(b.st);
        bulk_expect(b.st, &b.d, 0, "put afterwards");
        if (seed % 3 == 0)
            ship_reopen(&b);
        if (sto_flush(b.st, STO_LEVEL_COMPACT, &err) < 0)
            fail_msg("%s", err.text);
        bulk_expect(b.st, &b.d, 0, "merged");
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "opened again");
        replaced_release(&r);
        ts_free(in.v);
        ts_free(before.v);
        ts_free(after.v);
        ship_end(&b);
    }
}

/* Without points it is a delete. */
static void test_store_replace__by_nothing(void **state)
{
    (void)state;
    struct ship_both b;
    struct replaced r;
    struct sto_bulk_place place;
    struct sto_bulk_sum none = {0}, taken;
    struct ts_error err = {0};
    struct bulk_input before = bulk_random(3, 900), nothing = {0};
    begin(&b, 1, false);
    replaced_init(&r, b.st);
    put_all(&b, &before);
    ship_turn(b.st);
    assert_int_equal(sto_bulk_begin(b.st, bulk_id(), &place, &err), 0);
    if (sto_bulk_replace(b.st, bulk_id(), &none, &r.what, &taken, &err) < 0)
        fail_msg("%s", err.text);
    note(&b.d, &nothing);
    bulk_expect(b.st, &b.d, 0, "replaced by nothing");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
    ship_reopen(&b);
    bulk_expect(b.st, &b.d, 0, "opened again");
    ts_free(place.dir);
    replaced_release(&r);
    ts_free(before.v);
    ship_end(&b);
}

/* Points of another series, or before or after the range: nothing is replaced. */
static void test_store_replace__nothing_outside(void **state)
{
    (void)state;
    const struct sto_point outside[] = {{.series = &t_handles[1], .ts_ms = FROM_MS + 5},
                                        {.series = &t_handles[0], .ts_ms = FROM_MS - 1},
                                        {.series = &t_handles[2], .ts_ms = TO_MS + 1}};
    for (size_t k = 0; k < sizeof outside / sizeof *outside; k++) {
        struct ship_both b;
        struct replaced r;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        struct bulk_input in = new_points(k + 1, 300), before = bulk_random(k + 50, 300);
        begin(&b, k + 1, false);
        replaced_init(&r, b.st);
        put_all(&b, &before);
        ship_turn(b.st);
        in.v[3].series = outside[k].series;
        in.v[3].ts_ms = outside[k].ts_ms;
        in.v[3].flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true);
        stage(&b, &in, &sum);
        assert_int_equal(sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err), TS_EINVAL);
        assert_non_null(strstr(err.text, k ? "is outside of the times that are replaced"
                                           : "is of no series that is replaced"));
        bulk_expect(b.st, &b.d, 0, "refused");
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "refused, and opened again");
        replaced_release(&r);
        ts_free(in.v);
        ts_free(before.v);
        ship_end(&b);
    }
    /* the first and the last time belong to it */
    struct ship_both b;
    struct replaced r;
    struct sto_bulk_sum sum = {0}, taken;
    struct ts_error err = {0};
    struct bulk_input in = new_points(1, 300);
    begin(&b, 1, false);
    replaced_init(&r, b.st);
    in.v[0].ts_ms = FROM_MS;
    in.v[1].ts_ms = TO_MS;
    in.v[0].flags = in.v[1].flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true);
    stage(&b, &in, &sum);
    if (sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err) < 0)
        fail_msg("%s", err.text);
    note(&b.d, &in);
    bulk_expect(b.st, &b.d, 0, "edges");
    replaced_release(&r);
    ts_free(in.v);
    ship_end(&b);
}

/* The power goes, or a call fails, at any call: the old points or the new ones are there, never both, never none. */
static void fault_at_every_call(enum t_fault fault)
{
    bool fired = true;
    unsigned n_all = 0, n_none = 0;
    struct bulk_input in = new_points(4, 300), before = bulk_random(5, 300);
    for (uint64_t at = 1; fired; at += 1 + at / 40) {
        struct ship_both b;
        struct replaced r;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        begin(&b, at, false);
        replaced_init(&r, b.st);
        put_all(&b, &before);
        ship_flush(b.st);
        stage(&b, &in, &sum);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = fault});
        int rc = sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err);
        fired = t_faultfs_fired(b.f);
        if (fault == T_FAULT_POWER) {
            (void)sto_close(b.st, NULL);
            b.st = NULL;
            t_faultfs_reboot(b.f, T_KEEP_RANDOM);
            b.st = kit_open(&b.opts);
        } else {
            t_faultfs_plan(b.f, (struct t_fault_plan){0});
            ship_kill(&b);
            ship_reopen(&b);
        }
        note(&b.d, &in);
        bool all = bulk_expect(b.st, &b.d, N_DELETES + in.n, "after a fault");
        assert_true(all || rc < 0);
        n_all += all;
        n_none += !all;
        if (!all)
            b.d.n -= N_DELETES + in.n;
        ship_put(&b, 0, FROM_MS + 777,
                 77777); /* is deleted by a repeat that does something, and by no other */
        ship_turn(b.st);
        memset(&err, 0, sizeof err);
        if (sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err) < 0)
            fail_msg("call %llu: %s", (unsigned long long)at, err.text);
        if (!all)
            note(&b.d, &in);
        bulk_expect(b.st, &b.d, 0, "repeated");
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "and opened");
        replaced_release(&r);
        ship_end(&b);
    }
    assert_true(n_all > 0 && n_none > 0);
    ts_free(in.v);
    ts_free(before.v);
}

static void test_store_replace__a_crash_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    fault_at_every_call(T_FAULT_POWER);
}

static void test_store_replace__an_error_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    fault_at_every_call(T_FAULT_EIO);
}

/* The remote store gets the deletes and the points, whatever it had. */
static void test_store_replace__the_remote_store_gets_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct ship_both b;
        struct replaced r;
        struct sto_bulk_sum sum = {0}, taken;
        struct ts_error err = {0};
        struct bulk_input in = new_points(seed, 600), before = bulk_random(seed + 100, 900);
        begin(&b, seed, true);
        replaced_init(&r, b.st);
        put_all(&b, &before);
        ship_turn(b.st);
        if (seed % 2)
            ship_all(b.st);
        stage(&b, &in, &sum);
        if (sto_bulk_replace(b.st, bulk_id(), &sum, &r.what, &taken, &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        note(&b.d, &in);
        if (seed % 3 == 0)
            ship_reopen(&b);
        ship_all(b.st);
        ship_expect(b.r, &b.d, "shipped");
        if (sto_flush(b.st, STO_LEVEL_COMPACT, &err) < 0)
            fail_msg("%s", err.text);
        ship_all(b.st);
        ship_expect(b.r, &b.d, "merged and shipped");
        replaced_release(&r);
        ts_free(in.v);
        ts_free(before.v);
        ship_end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_replace__equals_deletes_and_puts_at_that_moment),
        cmocka_unit_test(test_store_replace__by_nothing),
        cmocka_unit_test(test_store_replace__nothing_outside),
        cmocka_unit_test(test_store_replace__a_crash_leaves_the_old_or_the_new),
        cmocka_unit_test(test_store_replace__an_error_leaves_the_old_or_the_new),
        cmocka_unit_test(test_store_replace__the_remote_store_gets_it),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
