/*
 * test_shards.c - the number of shards changes again and again while threads put points, number increments, flush and read: nothing is lost, nothing is counted
 * twice, and a snapshot goes on showing what it has.
 *
 * Once with owners in the threads of the writers, as in the daemon, and once with owners of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/engine/engine_int.h"
#include "storage/store_int.h"
#include "tests/unit/storage/scan_kit.h"
#include "tests/unit/t_folder.h"
#include "tsd/ingest/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { WRITERS = 3, COUNTERS = 64, PLAIN = 40, SEQUENCES_MOST = 1000000, CHANGES = 8 };
#define PATIENCE_MS 60000 /* under a sanitizer beside other tests a thread gets a processor late */
#define T0          1793620800000ll

static struct sto_store *st;
static struct tsd_rules rules;
static const struct sto_series *counters[COUNTERS]; /* at least one in each shard of 16 */
static const struct sto_series *plain[WRITERS][PLAIN];
static atomic_bool ended;        /* writers send nothing more */
static _Atomic unsigned n_quiet; /* writers that have noticed */
static atomic_bool closing;      /* they stop turning */
static _Atomic uint64_t n_confirmed[WRITERS], n_points[WRITERS];
static _Atomic unsigned n_refused, n_wrong;

static const struct sto_series *series_of(const char *metric, unsigned i)
{
    char text[64], host[16];
    const struct sto_series *s = NULL;
    snprintf(host, sizeof host, "h%u", i);
    int n = snprintf(text, sizeof text, "%s host=%s", metric, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    struct ts_error err = {0};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                           (uint32_t)strlen(metric), &tag, 1, true, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

/* Counters in as many shards as there are, up to 64, so that one sequence has a part in each. */
static void make_series(void)
{
    unsigned n = 0;
    memset(counters, 0, sizeof counters);
    for (unsigned i = 0; n < COUNTERS; i++) {
        const struct sto_series *s = series_of("hits", i);
        if (counters[s->shard % COUNTERS])
            continue;
        counters[s->shard % COUNTERS] = s;
        n++;
    }
    for (unsigned w = 0; w < WRITERS; w++)
        for (unsigned i = 0; i < PLAIN; i++) {
            char metric[8];
            snprintf(metric, sizeof metric, "m%u", w);
            plain[w][i] = series_of(metric, i);
        }
}

/* --- writers --- */

static void on_refused(void *arg, const struct sto_refused *refused)
{
    (void)arg;
    (void)refused;
    atomic_fetch_add(&n_refused, 1);
}

struct answer {
    unsigned writer;
    uint64_t n;
};

static void on_answer(void *arg, int rc, const struct ts_error *err)
{
    struct answer *a = arg;
    (void)err;
    if (rc == 0)
        atomic_store(&n_confirmed[a->writer], a->n);
    else
        atomic_fetch_add(&n_wrong, 1);
    ts_free(a);
}

/* Add 1 to each counter; a sequence is sent as often as it takes. */
static void send_sequence(struct tsd_ingest *in, const struct sto_stream *stream, uint64_t seq)
{
    struct sto_point points[COUNTERS];
    int rc;
    do {
        for (unsigned i = 0; i < COUNTERS; i++)
            points[i] = (struct sto_point){.series = counters[i],
                                           .ts_ms = T0 + (int64_t)(seq % 7) * 1000,
                                           .m = 1,
                                           .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
        rc = tsd_ingest_sequence(in, stream, seq, points, COUNTERS);
        if (rc)
            tsd_ingest_turn(in);
    } while (rc == TS_EBUSY);
    if (rc)
        atomic_fetch_add(&n_wrong, 1);
}

static void put_points(struct tsd_ingest *in, unsigned w, uint64_t k)
{
    for (unsigned i = 0; i < PLAIN; i++) {
        int64_t at = T0 + (int64_t)k * 1000;
        uint32_t flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
        while (tsd_ingest_point(in, plain[w][i], at, (int64_t)k, flags) == TS_EBUSY)
            tsd_ingest_turn(in);
    }
}

static void *write_all(void *arg)
{
    unsigned w = (unsigned)(uintptr_t)arg;
    struct tsd_ingest in;
    tsd_ingest_init(&in, &rules, st, sto_writer(st, w), 1 << 20);
    sto_writer_on_refused(in.writer, on_refused, NULL);
    struct sto_stream stream = {.id = {(uint64_t)ts_clock_ms() / 1000, w + 1},
                                .number = sto_writer_stream(in.writer),
                                .asker = w + 1};
    uint64_t k = 0;
    for (; !atomic_load(&ended) && k < SEQUENCES_MOST; k++) {
        put_points(&in, w, k);
        send_sequence(&in, &stream, k + 1);
        if (k % 50 == 49) { /* a connection is lost, and the client repeats what it does not need to */
            stream.number = sto_writer_stream(in.writer);
            for (uint64_t seq = k - 3; seq <= k + 1; seq++)
                send_sequence(&in, &stream, seq);
        }
        if (k % 10 == 9) {
            struct answer *a = ts_xcalloc(1, sizeof *a);
            *a = (struct answer){w, k + 1};
            tsd_ingest_barrier(&in, STO_LEVEL_LOG, 0, on_answer, a);
        }
        tsd_ingest_turn(&in);
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
    atomic_store(&n_points[w], k);
    tsd_ingest_turn(&in);
    atomic_fetch_add(&n_quiet, 1);
    while (!atomic_load(&closing)) {
        tsd_ingest_turn(&in);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    tsd_ingest_release(&in);
    return NULL;
}

/* --- readers --- */

static void count(void *arg, int64_t ts_ms, struct ts_num v)
{
    uint64_t *n = arg;
    if (ts_ms != T0 + v.m * 1000)
        atomic_fetch_add(&n_wrong, 1);
    ++*n;
}

static void sum(void *arg, int64_t ts_ms, struct ts_num v)
{
    (void)ts_ms;
    *(int64_t *)arg += v.m;
}

static uint64_t points_in(struct sto_snap *snap, unsigned w)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < PLAIN; i++)
        if (kit_points_of(snap, plain[w][i], count, &n, NULL) < 0)
            atomic_fetch_add(&n_wrong, 1);
    return n;
}

static int64_t sum_of(struct sto_snap *snap, unsigned i)
{
    int64_t all = 0;
    if (kit_points_of(snap, counters[i], sum, &all, NULL) < 0)
        atomic_fetch_add(&n_wrong, 1);
    return all;
}

/* What was confirmed is there, and stays in a snapshot that is held while shards change. */
static void *read_all(void *arg)
{
    (void)arg;
    for (unsigned k = 0; !atomic_load(&ended); k++) {
        unsigned w = k % WRITERS;
        uint64_t confirmed = atomic_load(&n_confirmed[w]);
        struct sto_snap *snap = sto_snap_take(st);
        uint64_t n = points_in(snap, w);
        int64_t hits = sum_of(snap, k % COUNTERS);
        if (n < confirmed * PLAIN || hits < (int64_t)confirmed)
            atomic_fetch_add(&n_wrong, 1);
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        if (points_in(snap, w) < n || sum_of(snap, k % COUNTERS) < hits)
            atomic_fetch_add(&n_wrong, 1);
        sto_snap_release(snap);
    }
    return NULL;
}

static void *flush_all(void *arg)
{
    (void)arg;
    while (!atomic_load(&ended)) {
        if (sto_flush(st, STO_LEVEL_FILES, NULL) < 0)
            atomic_fetch_add(&n_wrong, 1);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return NULL;
}

/* --- the test --- */

/* Ask for a number of shards, unless a change is at work. */
static void ask(unsigned n_shards)
{
    int rc = sto_rebalance(st, n_shards, NULL);
    assert_true(rc == 0 || rc == TS_EBUSY);
}

/* Change to a number of shards; false: it did not change within a long time. */
static bool change(unsigned n_shards)
{
    for (unsigned k = 0; k < 60000; k++) {
        struct sto_shards s = sto_shards(st);
        if (s.n_now == n_shards)
            return true;
        if (s.n_wanted != n_shards ||
            s.waits) /* a part of a sequence may be missing in a shard for a moment: at once, not in 10 s */
            ask(n_shards);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return false;
}

static void open_store(const char *dir, bool own_threads)
{
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = own_threads,
                            .n_writers = WRITERS,
                            .n_shards = 16,
                            .memstore_bytes = 1 << 20,
                            .wal_sync = STO_SYNC_NONE};
    struct ts_error err = {0};
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("%s", err.text);
    st->engine->stop.times = (struct sto_stop_times){PATIENCE_MS, PATIENCE_MS, PATIENCE_MS, 1};
}

static void expect_all(const char *dir)
{
    int64_t hits = 0;
    open_store(dir, true);
    make_series();
    struct sto_snap *snap = sto_snap_take(st);
    for (unsigned w = 0; w < WRITERS; w++) {
        uint64_t n = atomic_load(&n_points[w]);
        assert_true(n > 100);
        assert_int_equal(points_in(snap, w), n * PLAIN);
        hits += (int64_t)n;
    }
    for (unsigned i = 0; i < COUNTERS; i++)
        assert_int_equal(sum_of(snap, i), hits);
    sto_snap_release(snap);
    assert_int_equal(sto_close(st, NULL), 0);
}

static void changes_while_in_use(bool own_threads)
{
    static const unsigned numbers[] = {64, 8, 16, 1, 64};
    char dir[T_FOLDER_BYTES];
    pthread_t threads[WRITERS + 2];
    t_folder_make(dir);
    open_store(dir, own_threads);
    make_series();
    tsd_rules_init(&rules, false, true, 0, NULL);
    atomic_store(&ended, false);
    atomic_store(&closing, false);
    atomic_store(&n_quiet, 0);
    for (unsigned w = 0; w < WRITERS; w++)
        atomic_store(&n_confirmed[w], 0);
    for (uintptr_t w = 0; w < WRITERS; w++)
        assert_int_equal(
            ts_thread_start(&threads[w], &(struct ts_thread_opts){.fn = write_all, .arg = (void *)w}), 0);
    assert_int_equal(ts_thread_start(&threads[WRITERS], &(struct ts_thread_opts){.fn = read_all}), 0);
    assert_int_equal(ts_thread_start(&threads[WRITERS + 1], &(struct ts_thread_opts){.fn = flush_all}), 0);
    bool changed = true;
    for (unsigned k = 0; k < CHANGES && changed; k++)
        changed = change(numbers[k % (sizeof numbers / sizeof *numbers)]);
    const char *why = sto_shards(st).waits;
    while (changed && atomic_load(&n_confirmed[0]) < 150)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&ended, true);
    while (atomic_load(&n_quiet) < WRITERS)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (unsigned i = WRITERS; i < WRITERS + 2; i++)
        pthread_join(threads[i], NULL); /* a flush waits for the writers, so it ends before them */
    assert_int_equal(sto_flush(st, STO_LEVEL_LOG, NULL), 0);
    atomic_store(&closing, true);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    uint32_t n_shards = sto_shards(st).n_now;
    assert_int_equal(sto_close(st, NULL), 0);
    if (!changed)
        fail_msg("the number of shards did not change: %s", why ? why : "nothing is known to keep it");
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_refused, 0);
    expect_all(dir);
    open_store(dir, true);
    assert_int_equal(sto_shards(st).n_now, n_shards);
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(t_folder_remove(dir), 0);
}

static void test_shards__change_beside_workers(void **state)
{
    (void)state;
    changes_while_in_use(false);
}

static void test_shards__change_beside_owners_of_their_own(void **state)
{
    (void)state;
    changes_while_in_use(true);
}

int main(void)
{
    ts_log_set_level(TS_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shards__change_beside_workers),
                                       cmocka_unit_test(test_shards__change_beside_owners_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
