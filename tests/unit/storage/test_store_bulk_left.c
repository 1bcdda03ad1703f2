/*
 * test_store_bulk_left.c - what is left of a hand-over: not noted as done, interrupted before the manifest is lost, a damaged record.
 */
#include "tests/unit/storage/bulk_kit.h"

#include "storage/engine/handover_record.h"
#include "storage/fsck.h"

#define N_POINTS 300

/* A store with some points, and a folder that is ready to be handed over. */
static struct sto_bulk_sum left_begin(struct ship_both *b, uint64_t seed, const struct bulk_input *in)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0};
    struct ts_error err = {0};
    ship_init(b, seed);
    b->opts.remote = NULL;
    ship_reopen(b);
    ship_put(b, 0, in->v[0].ts_ms, 1);
    ship_flush(b->st);
    bulk_ids(b->st, ids);
    assert_int_equal(sto_catalog_sync(sto_store_catalog(b->st), true, &err), 0);
    assert_int_equal(sto_bulk_begin(b->st, bulk_id(), &place, &err), 0);
    assert_int_equal(bulk_write(t_faultfs_fs(b->f), place.dir, in, ids, &sum, &err), 0);
    ts_free(place.dir);
    return sum;
}

static void left_repair(struct t_faultfs *f)
{
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db", .repair = true};
    struct sto_fsck_result found;
    struct ts_error err = {0};
    if (sto_fsck(&opts, &found, &err) < 0)
        fail_msg("fsck: %s", err.text);
    assert_int_equal(found.n_left, 0);
}

static void left_lose_manifest(struct t_faultfs *f)
{
    (void)t_faultfs_remove(f, "/db/MANIFEST");
    (void)t_faultfs_remove(f, "/db/MANIFEST.copy");
}

static void left_hand_over(struct ship_both *b, const struct sto_bulk_sum *sum, uint64_t at)
{
    struct sto_bulk_sum taken;
    struct ts_error err = {0};
    if (sto_bulk_hand_over(b->st, bulk_id(), sum, &taken, &err) < 0)
        fail_msg("call %llu: %s", (unsigned long long)at, err.text);
    assert_int_equal(taken.n_points, sum->n_points);
}

/* Hand over while calls fail from `at` on. *out_fired: one did. */
static int left_hand_over_failing(struct ship_both *b, const struct sto_bulk_sum *sum, uint64_t at,
                                  bool *out_fired)
{
    struct sto_bulk_sum taken;
    struct ts_error err = {0};
    t_faultfs_plan(b->f,
                   (struct t_fault_plan){
                       .ops = T_OP_RENAME | T_OP_UNLINK, .at = at, .fault = T_FAULT_EIO, .for_good = true});
    int rc = sto_bulk_hand_over(b->st, bulk_id(), sum, &taken, &err);
    *out_fired = t_faultfs_fired(b->f);
    t_faultfs_plan(b->f, (struct t_fault_plan){0});
    return rc;
}

/* Calls fail from one on until the hand-over has returned. If it says that it has succeeded, what is put afterwards wins for good. */
static void test_store_bulk_left__what_is_not_noted_is_not_loaded_again(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(21, N_POINTS);
    unsigned n_not_noted = 0;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        struct ship_both b;
        struct sto_bulk_sum sum = left_begin(&b, at, &in);
        int rc = left_hand_over_failing(&b, &sum, at, &fired);
        if (rc == 0) {
            n_not_noted += fired;
            bulk_note(&b.d, &in);
            ship_put(&b, in.v[1].series->id, in.v[1].ts_ms, 77777);
            ship_turn(b.st);
            left_hand_over(&b, &sum, at);
            bulk_expect(b.st, &b.d, 0, "repeated");
        }
        ship_kill(&b);
        ship_end(&b);
    }
    assert_true(n_not_noted > 1);
    ts_free(in.v);
}

/* The same, and then the manifest is lost: with the folder, or after it was removed. */
static void test_store_bulk_left__what_is_not_noted_survives_a_lost_manifest(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(22, N_POINTS);
    bool fired = true;
    for (uint64_t at = 1; fired; at++)
        for (unsigned ends = 0; ends < 3; ends++) {
            struct ship_both b;
            struct sto_bulk_sum sum = left_begin(&b, at, &in);
            struct sto_bulk_ended ended;
            struct ts_error err = {0};
            int rc = left_hand_over_failing(&b, &sum, at, &fired);
            if (rc == 0) {
                bulk_note(&b.d, &in);
                if (ends == 1)
                    assert_int_equal(sto_bulk_end(b.st, bulk_id(), &ended, &err), 0);
                if (ends == 2) {
                    ship_put(&b, 1, T0 + 5 * TS_DAY_MS, 3);
                    ship_flush(b.st); /* a later generation */
                }
            }
            ship_kill(&b);
            left_lose_manifest(b.f);
            left_repair(b.f);
            ship_reopen(&b);
            if (rc == 0) /* a repeat of the import brings what is left out */
                bulk_expect(b.st, &b.d, ends ? 0 : in.n, "without a manifest");
            if (rc == 0 && ends != 1)
                left_hand_over(&b, &sum, at);
            if (rc == 0)
                bulk_expect(b.st, &b.d, 0, "at the end");
            ship_end(&b);
        }
    ts_free(in.v);
}

/* Puts one point when the record gets the generation of the copies. */
struct meanwhile {
    struct ship_both *b;
    unsigned n_records; /* that were written */
    bool lost;          /* the process ended while the point was written */
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct meanwhile *m = arg;
    if (op != T_OP_RENAME || !strstr(path, "/db/BULK") || after || m->n_records++ != 1)
        return;
    ship_put(m->b, 0, T0 + 9 * TS_DAY_MS, 4);
    ship_turn(m->b->st);
    m->lost = t_faultfs_is_off(m->b->f);
}

/* The process ends at any call, points have arrived meanwhile, and the manifest is lost: all or nothing is there, and nothing is called
 * done that is not. */
static void test_store_bulk_left__a_repair_does_not_complete_it(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(23, N_POINTS);
    bool cut = true;
    unsigned n_all = 0, n_none = 0;
    for (uint64_t at = 1; cut; at += 1 + at / 60) {
        struct ship_both b;
        struct sto_bulk_sum sum = left_begin(&b, at, &in), taken;
        struct ts_error err = {0};
        struct meanwhile m = {.b = &b};
        t_faultfs_set_hook(b.f, on_call, &m);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_POWER});
        int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        cut = t_faultfs_is_off(b.f);
        t_faultfs_set_hook(b.f, NULL, NULL);
        (void)sto_close(b.st, NULL);
        b.st = NULL;
        t_faultfs_reboot(b.f, T_KEEP_ALL);
        if (m.lost) { /* the log may have it or not */
            ship_end(&b);
            continue;
        }
        left_lose_manifest(b.f);
        left_repair(b.f);
        b.st = kit_open(&b.opts);
        bulk_note(&b.d, &in);
        bool all = bulk_expect(b.st, &b.d, in.n, "repaired");
        assert_true(all || rc < 0 ||
                    cut); /* while DONE is missing, the folder has the points, and a repeat brings them */
        n_all += all;
        n_none += !all;
        left_hand_over(&b, &sum, at);
        bulk_expect(b.st, &b.d, 0, "repeated");
        ship_reopen(&b);
        bulk_expect(b.st, &b.d, 0, "and opened");
        ship_end(&b);
    }
    assert_true(n_all > 0 && n_none > 0);
    ts_free(in.v);
}

/* A damaged record: a start says what to do, a repair removes it, and the import can be repeated. */
static void test_store_bulk_left__a_damaged_record_is_repaired(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(24, N_POINTS);
    bool cut = true;
    unsigned n = 0;
    for (uint64_t at = 1; cut; at += 1 + at / 20) {
        struct ship_both b;
        struct sto_bulk_sum sum = left_begin(&b, at, &in), taken;
        struct ts_error err = {0};
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_POWER});
        (void)sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        cut = t_faultfs_is_off(b.f);
        (void)sto_close(b.st, NULL);
        b.st = NULL;
        t_faultfs_reboot(b.f, T_KEEP_ALL);
        if (t_faultfs_flip(b.f, "/db/" STO_HANDOVER_NAME, 30, 1)) {
            n++;
            memset(&err, 0, sizeof err);
            assert_int_equal(sto_open(&b.opts, &b.st, &err), TS_ECORRUPT);
            assert_non_null(strstr(err.text, "/db/BULK"));
            assert_non_null(strstr(err.text, "fsck --repair"));
            left_repair(b.f);
        }
        b.st = kit_open(&b.opts);
        bulk_note(&b.d, &in);
        bulk_expect(b.st, &b.d, in.n, "repaired");
        left_hand_over(&b, &sum, at);
        bulk_expect(b.st, &b.d, 0, "repeated");
        ship_end(&b);
    }
    assert_true(n > 3);
    ts_free(in.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_bulk_left__what_is_not_noted_is_not_loaded_again),
        cmocka_unit_test(test_store_bulk_left__what_is_not_noted_survives_a_lost_manifest),
        cmocka_unit_test(test_store_bulk_left__a_repair_does_not_complete_it),
        cmocka_unit_test(test_store_bulk_left__a_damaged_record_is_repaired),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
