/*
 * test_store_threads.c - a whole store used by many threads: writers, readers, flushes and compactions at once,
 * and closing in the middle of it.
 *
 * Runs on the file system in memory without faults. What is compared does not depend on who was faster.
 */
#include "tests/unit/storage/store_kit.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define N_SHARDS 16

/* Several threads, one store. */
struct crowd {
    struct sto_store *st;
    const struct sto_series *series[N_SERIES]; /* resolved before threads start */
    atomic_bool stop;                          /* readers and flushers */
    atomic_bool stop_workers;                  /* later: a flush needs them */
    atomic_uint n_bad;
    char why[TS_ERROR_TEXT_BYTES]; /* of the first that went wrong */
};

/* One writer's thread. */
struct worker {
    struct crowd *c;
    unsigned writer;
    int64_t first, n;      /* numbers of the points it puts */
    atomic_int n_answered; /* barriers */
    int n_asked;           /* barriers */
    bool loop;             /* worker mode: run the writer until told to stop */
};

static void went_wrong(struct crowd *c, const char *why)
{
    if (atomic_fetch_add(&c->n_bad, 1) == 0)
        snprintf(c->why, sizeof c->why, "%s", why);
}

static void crowd_open(struct crowd *c, const struct sto_opts *opts)
{
    c->st = kit_open(opts);
    for (unsigned i = 0; i < N_SERIES; i++)
        c->series[i] = kit_series(c->st, i);
}

struct count {
    int64_t n;
    bool counted; /* values count 0, 1, 2... by second from T0 */
};

static void count_point(void *arg, int64_t ts_ms, struct ts_num v)
{
    struct count *c = arg;
    c->counted &= ts_ms == T0 + c->n * 1000 && v.m == c->n;
    c->n++;
}

/* Points of a series, and whether values count 0, 1, 2... by second from T0. */
static int64_t count_points(struct crowd *c, unsigned series, bool *out_counted)
{
    struct count count = {.counted = true};
    struct ts_error err = {0};
    if (kit_points(c->st, c->series[series], count_point, &count, &err) < 0)
        went_wrong(c, err.text);
    *out_counted = count.counted;
    return count.n;
}

static void on_answer(void *arg, int rc, const struct ts_error *err)
{
    struct worker *w = arg;
    if (rc < 0)
        went_wrong(w->c, err->text);
    atomic_fetch_add(&w->n_answered, 1);
}

/* Puts point k into every series; every 200th asks for a barrier and, having its answer, looks whether the
 * points are there. */
static void *put_points(void *arg)
{
    struct worker *w = arg;
    struct sto_writer *writer = sto_writer(w->c->st, w->writer);
    for (int64_t k = w->first; k < w->first + w->n; k++) {
        for (unsigned s = w->writer; s < N_SERIES; s += 2)
            while (sto_put(writer, w->c->series[s], T0 + k * 1000,
                           (struct ts_num){.m = k, .kind = TS_NUM_INT}, false) == TS_EBUSY)
                sto_writer_turn(writer);
        if (k % 200 != 199)
            continue;
        sto_writer_barrier(writer, k % 400 == 399 ? STO_LEVEL_DISK : STO_LEVEL_LOG, 1, on_answer, w);
        w->n_asked++;
        while (atomic_load(&w->n_answered) < w->n_asked) {
            struct pollfd p = {.fd = sto_writer_fd(writer), .events = POLLIN};
            (void)poll(&p, 1, 1000);
            sto_writer_turn(writer);
        }
        bool counted;
        if (count_points(w->c, w->writer, &counted) != k + 1 || !counted)
            went_wrong(w->c, "a confirmed point is not seen");
    }
    while (w->loop && !atomic_load(&w->c->stop_workers)) { /* others' batches come to us */
        struct pollfd p = {.fd = sto_writer_fd(writer), .events = POLLIN};
        (void)poll(&p, 1, 5);
        sto_writer_turn(writer);
    }
    return NULL;
}

static void *read_points(void *arg)
{
    struct crowd *c = arg;
    int64_t seen[N_SERIES] = {0};
    while (!atomic_load(&c->stop))
        for (unsigned s = 0; s < 2; s++) {
            bool counted;
            int64_t n = count_points(c, s, &counted);
            if (n < seen[s] || !counted)
                went_wrong(c, "a point was gone for a moment");
            seen[s] = n;
        }
    return NULL;
}

static void *flush_often(void *arg)
{
    struct crowd *c = arg;
    for (unsigned i = 0; !atomic_load(&c->stop); i++) {
        struct ts_error err = {0};
        if (sto_flush(c->st, i % 4 == 3 ? STO_LEVEL_COMPACT : STO_LEVEL_FILES, &err) < 0)
            went_wrong(c, err.text);
    }
    return NULL;
}

static void crowd_check(const struct crowd *c)
{
    if (atomic_load(&c->n_bad))
        fail_msg("%u things went wrong, first: %s", atomic_load(&c->n_bad), c->why);
}

/* Two putting threads among n_writers writers, a reader, two that flush and compact at once; then closed, opened
 * with other writers, the same answer. */
static void crowd_run(struct t_faultfs *f, unsigned n_writers, bool own_threads, int64_t first, int64_t n)
{
    struct crowd c = {0};
    struct sto_opts opts = KIT_OPTS(f, n_writers);
    opts.own_threads = own_threads;
    opts.n_shards = N_SHARDS;
    opts.no_background = false;
    opts.memstore_bytes = 1 << 16;
    opts.wal_sync_interval_ms = 1;
    crowd_open(&c, &opts);
    unsigned n_putting = n_writers > 1 ? 2 : 1, n_workers = own_threads ? n_putting : n_writers;
    struct worker workers[8] = {{0}};
    pthread_t putting[8], reading, flushing[2];
    for (unsigned i = 0; i < n_workers; i++) {
        workers[i] = (struct worker){
            .c = &c, .writer = i, .first = first, .n = i < n_putting ? n : 0, .loop = !own_threads};
        assert_int_equal(pthread_create(&putting[i], NULL, put_points, &workers[i]), 0);
    }
    assert_int_equal(pthread_create(&reading, NULL, read_points, &c), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&flushing[i], NULL, flush_often, &c), 0);
    for (unsigned i = 0; own_threads && i < n_workers; i++)
        pthread_join(putting[i], NULL);
    while (!own_threads) { /* until both have put all */
        bool counted;
        struct timespec pause = {.tv_nsec = 1000000};
        if (count_points(&c, 0, &counted) == first + n &&
            (n_putting < 2 || count_points(&c, 1, &counted) == first + n))
            break;
        nanosleep(&pause, NULL);
    }
    atomic_store(&c.stop, true);
    pthread_join(reading, NULL);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(flushing[i], NULL);
    atomic_store(&c.stop_workers, true);
    for (unsigned i = 0; !own_threads && i < n_workers; i++)
        pthread_join(putting[i], NULL);
    crowd_check(&c);
    kit_close(c.st);
    opts.n_writers = n_writers % 7 + 1;
    opts.own_threads = true;
    crowd_open(&c, &opts);
    for (unsigned s = 0; s < n_putting; s++) {
        bool counted;
        assert_int_equal(count_points(&c, s, &counted), first + n);
        assert_true(counted);
    }
    kit_close(c.st);
    assert_int_equal(t_faultfs_n_open(f), 0);
}

static void test_store_threads__everything_at_once(void **state)
{
    (void)state;
    static const unsigned writers[] = {1, 2, 7};
    for (unsigned i = 0; i < 3; i++) {
        struct t_faultfs *f = t_faultfs_new(i);
        crowd_run(f, writers[i], true, 0, 6000);
        t_faultfs_free(f);
    }
}

/* Workers' own threads run the owners, as in the daemon. */
static void test_store_threads__workers_run_the_owners(void **state)
{
    (void)state;
    static const unsigned writers[] = {1, 2, 7};
    for (unsigned i = 0; i < 3; i++) {
        struct t_faultfs *f = t_faultfs_new(i);
        crowd_run(f, writers[i], false, 0, 4000);
        t_faultfs_free(f);
    }
}

/* Closing cancels a compaction, and loses nothing. */
static void test_store_threads__closing_in_the_middle_of_a_compaction(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct diary d = {0};
    uint64_t rnd = 7;
    for (unsigned round = 0; round < 25; round++) {
        struct sto_opts opts = KIT_OPTS(f, 1 + round % 3);
        opts.no_background = false;
        struct sto_store *st = kit_open(&opts);
        struct ts_error err = {0};
        for (unsigned i = 0; i < 400; i++) {
            uint64_t r = t_rand(&rnd);
            unsigned s = (unsigned)(r % N_SERIES);
            assert_int_equal(kit_op(st, sto_writer(st, s % (1 + round % 3)), &d, s,
                                    r & 64 ? STO_OP_PUT : STO_OP_ADD, T0 + (int64_t)(r >> 8 & 4095) * 1000,
                                    (int64_t)(r >> 32 & 255)),
                             0);
        }
        for (unsigned i = 0; i < 3; i++)
            sto_writer_turn(sto_writer(st, i % (1 + round % 3)));
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
        if (round % 5 == 4)
            kit_expect_all(st, &d, "before closing");
        sto_compact_soon(st);
        kit_close(st);
        assert_int_equal(t_faultfs_n_open(f), 0);
    }
    diary_release(&d);
    t_faultfs_free(f);
}

static void never(void *arg, int rc, const struct ts_error *err)
{
    (void)rc;
    (void)err;
    *(int *)arg += 1;
}

/* Who asked may be gone: a barrier that is under way when the store closes is not answered, and not leaked;
 * the points before it are there. */
static void test_store_threads__closing_with_barriers_under_way(void **state)
{
    (void)state;
    for (unsigned own = 0; own < 2; own++)
        for (unsigned n_writers = 1; n_writers <= 3; n_writers++) {
            struct t_faultfs *f = t_faultfs_new(1);
            struct sto_opts opts = KIT_OPTS(f, n_writers);
            opts.own_threads = own;
            struct sto_store *st = kit_open(&opts);
            struct diary d = {0};
            int n_answers = 0;
            for (unsigned i = 0; i < 50; i++) {
                kit_op(st, sto_writer(st, i % n_writers), &d, i % N_SERIES, STO_OP_PUT, T0 + i * 1000, i);
                sto_writer_barrier(sto_writer(st, i % n_writers), i & 1 ? STO_LEVEL_DISK : STO_LEVEL_LOG, 0,
                                   never, &n_answers);
            }
            kit_close(st);
            assert_int_equal(n_answers, 0);
            opts.own_threads = true;
            st = kit_open(&opts);
            kit_expect_all(st, &d, "after closing with barriers");
            kit_close(st);
            diary_release(&d);
            t_faultfs_free(f);
        }
}

/* A flush that waits for owners whose workers have ended must not keep the store from closing. */
static void test_store_threads__closing_while_a_flush_waits_for_workers(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        struct t_faultfs *f = t_faultfs_new(round);
        struct sto_opts opts = KIT_OPTS(f, 2);
        opts.own_threads = false;
        opts.no_background = false;
        opts.memstore_bytes = 1; /* each batch asks for a flush */
        struct sto_store *st = kit_open(&opts);
        struct diary d = {0};
        for (unsigned i = 0; i < 12; i++)
            kit_op(st, sto_writer(st, 0), &d, i % N_SERIES, STO_OP_PUT, T0 + i * 1000, i);
        sto_writer_turn(sto_writer(st, 0));
        sto_writer_turn(sto_writer(st, 1)); /* the flush thread is told, and nobody turns a writer any more */
        if (round & 1)
            sto_compact_soon(st);
        kit_close(st);
        st = kit_open(&opts);
        kit_expect_all(st, &d, "after closing");
        kit_close(st);
        diary_release(&d);
        t_faultfs_free(f);
    }
}

/* 16 shards on 1, 2 and 7 owners in turn, each time killed or closed: the same answer to the last bit. */
static void test_store_threads__any_number_of_ports_reads_what_another_wrote(void **state)
{
    (void)state;
    static const unsigned writers[] = {1, 2, 7, 16, 20, 3, 1};
    struct t_faultfs *f = t_faultfs_new(3);
    struct diary d = {0};
    uint64_t rnd = 99;
    for (unsigned p = 0; p < 7; p++) {
        struct sto_opts opts = KIT_OPTS(f, writers[p]);
        opts.n_shards = N_SHARDS;
        struct sto_store *st = kit_open(&opts);
        struct ts_error err = {0};
        kit_expect_all(st, &d, "opened");
        for (unsigned i = 0; i < 300; i++) {
            uint64_t r = t_rand(&rnd);
            unsigned s = (unsigned)(r % N_SERIES);
            enum sto_op op = r % 50 == 0 ? STO_OP_DEL : r & 1024 ? STO_OP_PUT : STO_OP_ADD;
            int64_t t = T0 + (int64_t)(r >> 20 & 511) * 1000;
            assert_int_equal(kit_op(st, sto_writer(st, s % writers[p]), &d, s, op, t,
                                    op == STO_OP_DEL ? t + 30000 : (int64_t)(r >> 32 & 255)),
                             0);
        }
        for (unsigned i = 0; i < writers[p]; i++)
            sto_writer_turn(sto_writer(st, i));
        assert_int_equal(sto_flush(st, p % 3 == 2 ? STO_LEVEL_FILES : STO_LEVEL_LOG, &err), 0);
        kit_expect_all(st, &d, "put");
        if (p % 2 == 0) { /* killed: what the kernel has stays */
            struct t_faultfs *dead = t_faultfs_clone(f, p);
            kit_close(st);
            t_faultfs_free(f);
            f = dead;
        } else {
            kit_close(st);
        }
    }
    diary_release(&d);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_threads__everything_at_once),
        cmocka_unit_test(test_store_threads__workers_run_the_owners),
        cmocka_unit_test(test_store_threads__closing_in_the_middle_of_a_compaction),
        cmocka_unit_test(test_store_threads__closing_with_barriers_under_way),
        cmocka_unit_test(test_store_threads__closing_while_a_flush_waits_for_workers),
        cmocka_unit_test(test_store_threads__any_number_of_ports_reads_what_another_wrote),
    };
    ts_log_set_level(TS_LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
