/*
 * test_store_bulk_cancel.c - bulk loads are listed, used, given up, and removed when nobody uses them.
 */
#include "tests/unit/storage/bulk_kit.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/handover.h"
#include "storage/store_int.h"

#define N_POINTS 300
#define STUCK_S  90 /* of one case */

/* A store with a point, and a folder that is ready to be handed over. */
static struct sto_bulk_sum cancel_begin(struct ship_both *b, const struct bulk_input *in)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0};
    struct ts_error err = {0};
    alarm(STUCK_S);
    ship_init(b, 1);
    b->opts.remote = NULL;
    b->opts.bulk_keep_ms = 1000;
    ts_clock_set_fake_mono(1000000000000);
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

static size_t count_files(const struct ship_both *b, const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < t_faultfs_count(b->f); i++)
        n += strstr(t_faultfs_path(b->f, i), part) != NULL;
    return n;
}

static struct sto_bulk_load list_one(struct sto_store *st, size_t n_want)
{
    struct sto_bulk_load list[STO_BULK_MAX] = {0};
    struct ts_error err = {0};
    size_t n;
    assert_int_equal(sto_bulk_list(st, list, &n, &err), 0);
    assert_int_equal(n, n_want);
    return list[0];
}

static void test_store_bulk_cancel__a_load_is_listed_until_it_ends(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(41, N_POINTS);
    struct sto_bulk_sum sum = cancel_begin(&b, &in), taken;
    struct sto_bulk_ended ended;
    struct ts_error err = {0};
    ts_clock_set_fake_mono(1000500000000);
    struct sto_bulk_load one = list_one(b.st, 1);
    assert_string_equal(one.id, BULK_ID);
    assert_true(one.n_bytes > sum.n_bytes && one.idle_ms == 500 && !one.busy && !one.done && !one.given_up);
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), 0);
    bulk_note(&b.d, &in);
    one = list_one(b.st, 1);
    assert_true(one.n_bytes < 200 && one.done && !one.busy);
    assert_int_equal(sto_bulk_end(b.st, bulk_id(), &ended, &err), 0);
    assert_true(ended.found && ended.done);
    (void)list_one(b.st, 0);
    assert_int_equal(sto_bulk_end(b.st, bulk_id(), &ended, &err), 0);
    assert_true(!ended.found && !ended.done);
    bulk_expect(b.st, &b.d, 0, "the points stay");
    ts_free(in.v);
    ship_end(&b);
}

/* What is used stays, what is not used goes; nothing of it can be used then. */
static void test_store_bulk_cancel__what_nobody_uses_expires(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(42, N_POINTS);
    struct sto_bulk_sum sum = cancel_begin(&b, &in), taken;
    struct ts_error err = {0};
    for (int64_t ms = 900; ms < 10000; ms += 900) {
        ts_clock_set_fake_mono(1000000000000 + ms * 1000000);
        assert_int_equal(sto_store_pump_merges(b.st, &err), 0);
        assert_int_equal(sto_bulk_touch(b.st, bulk_id(), &err), 0);
    }
    ts_clock_set_fake_mono(1011000000000);
    assert_int_equal(sto_store_pump_merges(b.st, &err), 0);
    (void)list_one(b.st, 0);
    assert_int_equal(count_files(&b, "/bulk/"), 0);
    assert_int_equal(sto_bulk_touch(b.st, bulk_id(), &err), TS_ENOTFOUND);
    assert_non_null(strstr(err.text, "given up"));
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), TS_ENOTFOUND);
    bulk_expect(b.st, &b.d, 0, "nothing is loaded");
    ts_free(in.v);
    ship_end(&b);
}

/* An importer that does not know yet that its load was given up. */
struct late_importer {
    struct ship_both *b;
    unsigned n_left; /* files that it makes */
};

static void on_remove(void *arg, enum t_op op, const char *path, bool after)
{
    struct late_importer *m = arg;
    if (op == T_OP_UNLINK && !after && m->n_left && strcmp(path, "/db/bulk/" BULK_ID) == 0) {
        m->n_left--;
        t_faultfs_put(m->b->f, "/db/bulk/" BULK_ID "/00000099.t", "x", 1);
    }
}

static void test_store_bulk_cancel__an_importer_at_work_does_not_prevent_it(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(43, N_POINTS);
    struct sto_bulk_sum sum = cancel_begin(&b, &in), taken;
    struct sto_bulk_ended ended;
    struct ts_error err = {0};
    struct late_importer m = {.b = &b, .n_left = 2};
    t_faultfs_set_hook(b.f, on_remove, &m);
    if (sto_bulk_end(b.st, bulk_id(), &ended, &err) < 0)
        fail_msg("%s", err.text);
    t_faultfs_set_hook(b.f, NULL, NULL);
    assert_true(ended.found && !ended.done);
    assert_int_equal(m.n_left, 0);
    assert_int_equal(count_files(&b, "/bulk/"), 0);
    assert_int_equal(sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err), TS_ENOTFOUND);
    ts_free(in.v);
    ship_end(&b);
}

/* Somebody gives a load up while it is inside a call of its hand-over. */
struct giver {
    struct ship_both *b;
    const char *at; /* part of the path */
    bool started;
    pthread_t thread;
    int rc;
    struct sto_bulk_ended ended;
};

static void *give_up(void *arg)
{
    struct giver *g = arg;
    struct ts_error err = {0};
    g->rc = sto_bulk_end(g->b->st, bulk_id(), &g->ended, &err);
    return NULL;
}

static void on_hand_over(void *arg, enum t_op op, const char *path, bool after)
{
    struct giver *g = arg;
    if (g->started || after || op != T_OP_SYNC || !strstr(path, g->at))
        return;
    g->started = true;
    assert_int_equal(ts_thread_start(&g->thread, &(struct ts_thread_opts){.fn = give_up, .arg = g}), 0);
    while (!list_one(g->b->st, 1).given_up)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int hand_over_and_give_up(struct giver *g, const struct sto_bulk_sum *sum)
{
    struct sto_bulk_sum taken;
    struct ts_error err = {0};
    t_faultfs_set_hook(g->b->f, on_hand_over, g);
    int rc = sto_bulk_hand_over(g->b->st, bulk_id(), sum, &taken, &err);
    assert_true(g->started);
    pthread_join(g->thread, NULL);
    t_faultfs_set_hook(g->b->f, NULL, NULL);
    assert_int_equal(g->rc, 0);
    assert_true(g->ended.found);
    assert_int_equal(count_files(g->b, "/bulk/"), 0);
    assert_int_equal(count_files(g->b, "/db/BULK"), 0);
    (void)list_one(g->b->st, 0);
    return rc;
}

static void test_store_bulk_cancel__copying_ends(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(44, N_POINTS);
    struct sto_bulk_sum sum = cancel_begin(&b, &in);
    struct giver g = {.b = &b, .at = "/db/files/"};
    struct ts_error err = {0};
    size_t n_files = count_files(&b, "/db/files/");
    assert_int_equal(hand_over_and_give_up(&g, &sum), TS_ECANCELLED);
    assert_false(g.ended.done);
    assert_int_equal(count_files(&b, "/db/files/"), n_files);
    assert_int_equal(b.st->engine->reserved_gen, 0); /* or flushes would end with TS_EBUSY some day */
    bulk_expect(b.st, &b.d, 0, "nothing is loaded");
    if (bulk_load(b.st, t_faultfs_fs(b.f), &in, &err) < 0) /* the same import once more */
        fail_msg("%s", err.text);
    bulk_note(&b.d, &in);
    bulk_expect(b.st, &b.d, 0, "loaded after all");
    ts_free(in.v);
    ship_end(&b);
}

static void test_store_bulk_cancel__it_is_too_late_when_all_is_copied(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(45, N_POINTS);
    struct sto_bulk_sum sum = cancel_begin(&b, &in);
    struct giver g = {.b = &b, .at = "/db/MANIFEST"};
    assert_int_equal(hand_over_and_give_up(&g, &sum), 0);
    assert_true(g.ended.done);
    bulk_note(&b.d, &in);
    bulk_expect(b.st, &b.d, 0, "loaded");
    ship_reopen(&b);
    bulk_expect(b.st, &b.d, 0, "opened again");
    ts_free(in.v);
    ship_end(&b);
}

/* Settles a hand-over while it copies files. */
static void on_copy(void *arg, enum t_op op, const char *path, bool after)
{
    struct ship_both *b = arg;
    struct ts_error err = {0};
    char id[STO_BULK_ID_CHARS + 1];
    if (after || op != T_OP_SYNC || !strstr(path, "/db/files/"))
        return;
    (void)snprintf(id, sizeof id, "%.*s", (int)bulk_id().n, bulk_id().p);
    assert_int_equal(sto_engine_hand_over_settle(b->st->engine, id, &err), TS_EBUSY);
}

/* A hand-over at work is not one that a crash has left: nobody removes what it copies. */
static void test_store_bulk_cancel__what_is_at_work_is_not_settled(void **state)
{
    (void)state;
    struct ship_both b;
    struct bulk_input in = bulk_random(46, N_POINTS);
    struct sto_bulk_sum taken, sum = cancel_begin(&b, &in);
    struct ts_error err = {0};
    t_faultfs_set_hook(b.f, on_copy, &b);
    int rc = sto_bulk_hand_over(b.st, bulk_id(), &sum, &taken, &err);
    t_faultfs_set_hook(b.f, NULL, NULL);
    if (rc < 0)
        fail_msg("%s", err.text);
    bulk_note(&b.d, &in);
    bulk_expect(b.st, &b.d, 0, "loaded");
    ts_free(in.v);
    ship_end(&b);
}

#define N_BEGIN  4
#define N_ROUNDS 200

/* Importers that begin with one new folder at the same time, as after a request whose client did not wait for its answer. */
struct beginners {
    struct sto_store *st;
    pthread_barrier_t start; /* of a round */
    struct beginner {
        struct beginners *all;
        struct sto_bulk_place place; /* what the last call has given */
        char why[240];
        int rc;
    } each[N_BEGIN];
};

static void begin_id(unsigned round, char out[STO_BULK_ID_CHARS + 1])
{
    (void)snprintf(out, STO_BULK_ID_CHARS + 1, "%016x", round + 1);
}

static void *begin_one(void *arg)
{
    struct beginner *one = arg;
    struct ts_error err = {0};
    char id[STO_BULK_ID_CHARS + 1];
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        begin_id(i, id);
        (void)pthread_barrier_wait(&one->all->start);
        one->rc = sto_bulk_begin(one->all->st, ts_slice_str(id), &one->place, &err);
        (void)snprintf(one->why, sizeof one->why, "%s", err.text);
        (void)pthread_barrier_wait(&one->all->start); /* the test looks at it */
        (void)pthread_barrier_wait(&one->all->start);
    }
    return NULL;
}

static void test_store_bulk_cancel__those_who_begin_at_once_get_one_token(void **state)
{
    (void)state;
    struct ship_both b;
    struct beginners all = {0};
    struct sto_bulk_ended ended;
    struct ts_error err = {0};
    pthread_t threads[N_BEGIN];
    char id[STO_BULK_ID_CHARS + 1];
    alarm(STUCK_S);
    ship_init(&b, 1);
    b.opts.remote = NULL;
    ship_reopen(&b);
    all.st = b.st;
    assert_int_equal(pthread_barrier_init(&all.start, NULL, N_BEGIN + 1), 0);
    for (unsigned i = 0; i < N_BEGIN; i++) {
        all.each[i].all = &all;
        assert_int_equal(
            ts_thread_start(&threads[i], &(struct ts_thread_opts){.fn = begin_one, .arg = &all.each[i]}), 0);
    }
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        (void)pthread_barrier_wait(&all.start);
        (void)pthread_barrier_wait(&all.start);
        for (unsigned i = 0; i < N_BEGIN; i++) {
            if (all.each[i].rc < 0)
                fail_msg("round %u: %s", round, all.each[i].why);
            assert_string_equal(all.each[i].place.token, all.each[0].place.token);
            ts_free(all.each[i].place.dir);
        }
        begin_id(round, id);
        assert_int_equal(sto_bulk_end(b.st, ts_slice_str(id), &ended, &err), 0);
        (void)pthread_barrier_wait(&all.start);
    }
    for (unsigned i = 0; i < N_BEGIN; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&all.start);
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_bulk_cancel__a_load_is_listed_until_it_ends),
        cmocka_unit_test(test_store_bulk_cancel__what_nobody_uses_expires),
        cmocka_unit_test(test_store_bulk_cancel__an_importer_at_work_does_not_prevent_it),
        cmocka_unit_test(test_store_bulk_cancel__copying_ends),
        cmocka_unit_test(test_store_bulk_cancel__it_is_too_late_when_all_is_copied),
        cmocka_unit_test(test_store_bulk_cancel__what_is_at_work_is_not_settled),
        cmocka_unit_test(test_store_bulk_cancel__those_who_begin_at_once_get_one_token),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
