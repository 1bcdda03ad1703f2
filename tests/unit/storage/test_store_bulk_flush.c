/*
 * test_store_bulk_flush.c - a hand-over of bulk files lets others flush while it is inside any call for its own files.
 *
 * A flush that waited for the hand-over would never return here, since the hand-over waits for the hook: the alarm ends the test.
 */
#include "tests/unit/storage/bulk_kit.h"

#include <stdlib.h>
#include <unistd.h>

#include "storage/engine/handover_record.h"

#define N_POINTS  300
#define STUCK_S   90 /* of one case */
#define PUT_VALUE 5000000

/* Puts a point and flushes at each call by which a hand-over makes its own files last. */
struct flusher {
    struct ship_both *b;
    const struct bulk_input *in;
    bool inside; /* the calls are those of the flush */
    bool loaded; /* DONE is being written: what is put now is newer than the files */
    bool lost;   /* the power went while a point was put or flushed: it may be there or not */
    unsigned n_copies, n_records, n_dones; /* calls for copies, for DIR/BULK, for the staging folder */
    unsigned max_flushes;                  /* 0 = no limit */
    unsigned n_flushes, n_busy;            /* of them TS_EBUSY */
};

/* Is it a copy that the record names? */
static bool is_copy(struct flusher *m, const char *path, bool *out_stamped)
{
    struct sto_handover_record r;
    const char *name = strrchr(path, '/');
    bool is = sto_handover_record_read(t_faultfs_fs(m->b->f), "/db", &r, NULL) == 1;
    *out_stamped = is && r.gen;
    is = is && strstr(path, "/files/") && sto_handover_record_holds(&r, 0, strtoull(name + 1, NULL, 16));
    sto_handover_record_release(&r);
    return is;
}

/* Is the call one of the hand-over, not of the flush that is a part of it? */
static bool is_own(struct flusher *m, enum t_op op, const char *path)
{
    bool stamped = false, copy = is_copy(m, path, &stamped);
    unsigned *n = NULL;
    if (strstr(path, "/db/bulk/"))
        n = &m->n_dones;
    else if (strstr(path, "/db/BULK") || (op == T_OP_SYNC_DIR && strcmp(path, "/db") == 0))
        n = &m->n_records;
    else if (copy || (op == T_OP_SYNC_DIR && strcmp(path, "/db/files") == 0 && !stamped))
        n = &m->n_copies;
    if (n)
        ++*n;
    return n != NULL;
}

static void put_and_flush(struct flusher *m)
{
    const struct sto_point *p = &m->in->v[m->n_flushes % m->in->n];
    struct ts_error err = {0};
    if (kit_op(m->b->st, sto_writer(m->b->st, 0), &m->b->d, p->series->id, STO_OP_PUT, p->ts_ms,
               PUT_VALUE + m->n_flushes) == 0)
        ship_turn(m->b->st);
    int rc = sto_flush(m->b->st, STO_LEVEL_FILES, &err);
    m->n_flushes++;
    m->n_busy += rc == TS_EBUSY;
    m->lost |= t_faultfs_is_off(m->b->f);
    if (rc < 0 && rc != TS_EBUSY && !m->lost)
        fail_msg("a flush during a hand-over: %s", err.text);
}

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct flusher *m = arg;
    if (after || m->inside || m->lost || t_faultfs_is_off(m->b->f) ||
        (op & (T_OP_SYNC | T_OP_SYNC_DIR | T_OP_RENAME | T_OP_UNLINK)) == 0)
        return;
    m->inside = true;
    if (is_own(m, op, path) && (!m->max_flushes || m->n_flushes < m->max_flushes)) {
        if (m->n_dones && !m->loaded)
            bulk_note(&m->b->d, m->in);
        m->loaded = m->n_dones > 0;
        put_and_flush(m);
    }
    m->inside = false;
}

/* A store with a point, and a folder that is ready to be handed over. */
static struct sto_bulk_sum flush_begin(struct ship_both *b, uint64_t seed, const struct bulk_input *in)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0};
    struct ts_error err = {0};
    alarm(STUCK_S);
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

static void test_store_bulk_flush__others_flush_at_each_of_its_syncs(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(31, N_POINTS);
    struct sto_bulk_sum sum = flush_begin(&b, 1, &in), taken;
    struct flusher m = {.b = &b, .in = &in};
    struct ts_error err = {0};
    t_faultfs_set_hook(b.f, on_call, &m);
    if (sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
        fail_msg("%s", err.text);
    t_faultfs_set_hook(b.f, NULL, NULL);
    assert_true(sum.n_files > 1 && m.n_copies > sum.n_files); /* each copy, and their folder */
    assert_true(m.n_records >= 8);                            /* written twice, removed once */
    assert_true(m.n_dones >= 3 && m.loaded && m.n_busy == 0);
    bulk_expect(b.st, &b.d, 0, "handed over while others flush");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
    bulk_expect(b.st, &b.d, 0, "merged");
    ship_reopen(&b);
    bulk_expect(b.st, &b.d, 0, "opened again");
    ts_free(in.v);
    ship_end(&b);
}

/* The power goes at any call of a hand-over during which others flush: all or nothing is there, in its place among the other points. */
static void test_store_bulk_flush__a_crash_leaves_all_or_nothing(void **state)
{
    (void)state;
    struct bulk_input in = bulk_random(32, N_POINTS);
    bool cut = true;
    unsigned n_all = 0, n_none = 0;
    for (uint64_t at = 1; cut; at += 1 + at / 30) {
        struct ship_both b;
        struct sto_bulk_sum sum = flush_begin(&b, at, &in), taken;
        struct flusher m = {.b = &b, .in = &in};
        struct ts_error err = {0};
        t_faultfs_set_hook(b.f, on_call, &m);
        t_faultfs_plan(b.f, (struct t_fault_plan){.at = at, .fault = T_FAULT_POWER});
        int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
        cut = t_faultfs_is_off(b.f);
        t_faultfs_set_hook(b.f, NULL, NULL);
        (void)sto_close(b.st, NULL);
        b.st = NULL;
        t_faultfs_reboot(b.f, T_KEEP_RANDOM);
        b.st = kit_open(&b.opts);
        if (!m.lost) {
            size_t n = m.loaded ? 0 : in.n;
            if (!m.loaded)
                bulk_note(&b.d, &in);
            bool all = bulk_expect(b.st, &b.d, n, "after a power cut");
            assert_true(all || rc < 0);
            n_all += all;
            n_none += !all;
        }
        assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), 0);
        assert_int_equal(taken.n_points, sum.n_points);
        ship_end(&b);
    }
    assert_true(n_all > 0 && n_none > 0);
    ts_free(in.v);
}

/* Flushes do not reach the generation of the files, however many there are: they wait for the end of the hand-over. */
static void test_store_bulk_flush__its_generation_is_not_reached(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(33, N_POINTS);
    struct sto_bulk_sum sum = flush_begin(&b, 1, &in), taken;
    struct flusher m = {.b = &b, .in = &in, .max_flushes = 20};
    struct ts_error err = {0};
    b.opts.bulk_ahead_gens = 3;
    ship_reopen(&b);
    t_faultfs_set_hook(b.f, on_call, &m);
    if (sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err) < 0)
        fail_msg("%s", err.text);
    t_faultfs_set_hook(b.f, NULL, NULL);
    assert_true(m.n_busy > 0 && m.n_flushes == 20);
    if (!m.loaded)
        bulk_note(&b.d, &in);
    ship_put(&b, 1, T0 + TS_DAY_MS, 9);
    ship_flush(b.st);
    bulk_expect(b.st, &b.d, 0, "flushed afterwards");
    ship_kill(&b);
    ship_reopen(&b);
    bulk_expect(b.st, &b.d, 0, "opened again");
    ts_free(in.v);
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_bulk_flush__others_flush_at_each_of_its_syncs),
        cmocka_unit_test(test_store_bulk_flush__a_crash_leaves_all_or_nothing),
        cmocka_unit_test(test_store_bulk_flush__its_generation_is_not_reached),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
