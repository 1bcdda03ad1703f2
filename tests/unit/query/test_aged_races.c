/*
 * test_aged_races.c - summaries are made while rules change, a metric is renamed and points are on their way: all that was taken is in an answer.
 */
#include "tests/unit/query/aged_kit.h"

#include "query/execution/internal_metric.h"
#include "storage/catalog/catalog_int.h"
#include "storage/slots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define RULE      "m* points=30h hours=120h" /* of the kit */
#define RULE_LONG "m* points=100h hours=120h"
#define OLD_MS    (T0 - 69 * TS_HOUR_MS + 1) /* of a point that RULE_LONG keeps, among those of fill_old */

static void wait_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Wait until a flag is set, but not for ever: what is waited for must not happen, or may. */
static void wait_for(atomic_bool *flag)
{
    for (int k = 0; k < 500 && !atomic_load(flag); k++)
        wait_ms(1);
}

/* --- rules --- */

/* Somebody who lets points be kept longer once a pass reads, and puts an old one. */
struct client {
    struct world *w;
    bool is_back; /* and the former rule is in force again before the pass has ended */
    bool done;
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct client *c = arg;
    if (after || c->done || op != T_OP_PREAD || !strstr(path, "/files/"))
        return;
    c->done = true;
    rule(c->w->st, STO_RETAIN_REPLACE, RULE_LONG);
    c->w->points_ms = 100 * TS_HOUR_MS;
    put(c->w, 0, OLD_MS, (struct ts_num){.m = 17});
    sto_writer_turn(sto_writer(c->w->st, 0));
    sto_writer_turn(sto_writer(c->w->all, 0));
    if (!c->is_back)
        return;
    rule(c->w->st, STO_RETAIN_REPLACE, RULE);
    c->w->points_ms = 30 * TS_HOUR_MS;
}

static void test_aged_races__points_that_other_rules_take(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct world w;
        struct client c = {.w = &w, .is_back = back};
        begin(&w, 5, 30, 120);
        fill_old(&w);
        settle(&w, STO_LEVEL_FILES);
        reopen(&w); /* so that the pass has to read */
        t_faultfs_set_hook(w.f, on_call, &c);
        pump(&w);
        t_faultfs_set_hook(w.f, NULL, NULL);
        assert_true(c.done);
        same(&w, "count:m0", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "after the pass");
        if (!back)
            same(&w, "none:m0", NULL, T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "as points");
        rule(w.st, STO_RETAIN_REPLACE, RULE);
        w.points_ms = 30 * TS_HOUR_MS;
        pump(&w);
        pump(&w);
        assert_int_equal(n_gone(&w), SERIES);
        same(&w, "sum:m0", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "as summaries");
        end(&w);
    }
}

/* --- points on their way --- */

/* Two workers. The first one puts a point that belongs to the second one, in the middle of a turn that lasts until summaries are being made; then the second one
 * does not turn for a while. */
struct workers {
    struct sto_store *st;
    const struct sto_series *series; /* of the second one's shards */
    atomic_bool may_put, has_put, pass_begins, sends, may_go_on, stop;
};

static void *first_run(void *arg)
{
    struct workers *k = arg;
    struct sto_writer *writer = sto_writer(k->st, 0);
    while (!atomic_load(&k->stop)) {
        if (atomic_load(&k->may_put) && !atomic_load(&k->has_put)) {
            assert_int_equal(sto_put(writer, k->series, OLD_MS, (struct ts_num){.m = 1}, true), 0);
            atomic_store(&k->has_put, true);
            wait_for(&k->pass_begins);
            wait_ms(50); /* so that the pass waits for this turn, and the second worker has ended one */
            atomic_store(&k->sends, true);
            wait_ms(10);
        }
        sto_writer_turn(writer);
        wait_ms(1);
    }
    return NULL;
}

static void *second_run(void *arg)
{
    struct workers *k = arg;
    while (!atomic_load(&k->stop)) {
        if (atomic_load(&k->sends))
            wait_for(&k->may_go_on);
        sto_writer_turn(sto_writer(k->st, 1));
        wait_ms(1);
    }
    return NULL;
}

/* A series that belongs to the second owner. */
static const struct sto_series *of_second(struct sto_store *st)
{
    for (unsigned i = 0; i < 64; i++)
        if (sto_shard_of(series(st, i), 2) == 1)
            return series(st, i);
    fail_msg("there is none");
    return NULL;
}

static void test_aged_races__points_on_their_way(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 2);
    struct workers k = {.st = NULL};
    struct ts_error err = {0};
    struct ts_buf out;
    pthread_t threads[2];
    opts.own_threads = false;
    opts.n_shards = 2;
    k.st = kit_open(&opts);
    k.series = of_second(k.st);
    assert_int_equal(pthread_create(&threads[0], NULL, first_run, &k), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, second_run, &k), 0);
    rule(k.st, STO_RETAIN_ADD, RULE_LONG);
    atomic_store(&k.may_put, true);
    while (!atomic_load(&k.has_put))
        wait_ms(1);
    rule(k.st, STO_RETAIN_REPLACE, RULE);
    atomic_store(&k.pass_begins, true);
    assert_int_equal(sto_store_pump_merges(k.st, &err), 0);
    atomic_store(&k.may_go_on, true);
    assert_int_equal(sto_flush(k.st, STO_LEVEL_FILES, &err), 0);
    assert_int_equal(sto_store_pump_merges(k.st, &err), 0);
    ts_buf_init(&out, 0);
    ask(k.st, "count:m0", "hour", T0 - 100 * TS_HOUR_MS, T0, T0, &out);
    assert_int_not_equal(out.n, 0);
    ts_buf_release(&out);
    atomic_store(&k.stop, true);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    kit_close(k.st);
    t_faultfs_free(f);
}

/* --- names --- */

/* What a thread does, and whether it has done it. */
struct act {
    struct world *w;
    atomic_bool done;
    int rc;
};

static void *rename_run(void *arg)
{
    struct act *a = arg;
    a->rc = qry_metric_rename(a->w->st, ts_slice_str("m0"), ts_slice_str("m9"), NULL);
    atomic_store(&a->done, true);
    return NULL;
}

static void *pass_run(void *arg)
{
    struct act *a = arg;
    a->rc = sto_store_pump_merges(a->w->st, NULL);
    atomic_store(&a->done, true);
    return NULL;
}

/* A pass that reads points waits until a rename of their metric is under way. */
struct meeting {
    atomic_bool reads, goes_on;
};

static void on_read(void *arg, enum t_op op, const char *path, bool after)
{
    struct meeting *m = arg;
    if (after || op != T_OP_PREAD || !strstr(path, "/files/") || atomic_exchange(&m->reads, true))
        return;
    wait_for(&m->goes_on);
}

/* A rename has listed the internal metrics and waits for the log of names; meanwhile the first summaries of its metric are made. */
static void test_aged_races__a_rename_takes_the_first_summaries_along(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 6, 30, 120);
    fill_old(&w);
    reopen(&w); /* so that the pass has to read */
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    struct meeting m = {.reads = false};
    struct act rename = {.w = &w}, pass = {.w = &w};
    pthread_t threads[2];
    struct sto_catalog *cat = sto_store_catalog(w.st);
    t_faultfs_set_hook(w.f, on_read, &m);
    assert_int_equal(pthread_create(&threads[0], NULL, pass_run, &pass), 0);
    wait_for(&m.reads);
    assert_true(atomic_load(&m.reads));
    pthread_mutex_lock(&cat->rewrite_lock); /* as a checkpoint does */
    assert_int_equal(pthread_create(&threads[1], NULL, rename_run, &rename), 0);
    wait_ms(50);
    atomic_store(&m.goes_on, true);
    wait_for(&pass.done);
    pthread_mutex_unlock(&cat->rewrite_lock);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    t_faultfs_set_hook(w.f, NULL, NULL);
    assert_int_equal(rename.rc, 0);
    assert_int_equal(pass.rc, 0);
    pump(&w);
    pump(&w);
    assert_int_equal(qry_metric_rename(w.all, ts_slice_str("m0"), ts_slice_str("m9"), NULL), 0);
    same(&w, "sum:m9", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "after the rename");
    same(&w, "count:m9", "host", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "after the rename");
    assert_int_equal(n_gone(&w), SERIES);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_races__points_that_other_rules_take),
        CASE(test_aged_races__points_on_their_way),
        CASE(test_aged_races__a_rename_takes_the_first_summaries_along),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
