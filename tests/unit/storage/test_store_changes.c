/*
 * test_store_changes.c - a limit of bytes, compressing harder, another number of shards and scans, all beside puts and merges of the
 * background: what is newer than the cutoff is there, each point once.
 */
#include "tests/unit/storage/store_kit.h"

#include "base/time.h"
#include "storage/compaction.h"
#include "storage/max_bytes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/t_folder.h"

#define N_DAYS    40
#define A_DAY     2000
#define MEMSTORE  (128u << 10)
#define LIMIT     (700u << 10)
#define N_THREADS 3

static struct sto_store *st;
static atomic_bool ended;
static int64_t first_ms; /* of the points */

static int64_t value_at(int64_t ts_ms)
{
    return (int64_t)((uint64_t)ts_ms * 0x9e3779b97f4a7c15ull >> 20);
}

static atomic_uint n_failed;

static void expect(int rc, const struct ts_error *err)
{
    if (rc == 0)
        return;
    atomic_fetch_add(&n_failed, 1);
    ts_log(TS_LOG_ERROR, "%s", err->text);
}

/* Ask for limits, lower and higher ones and none, and what they would do. */
static void *limit(void *arg)
{
    (void)arg;
    for (unsigned k = 0; !atomic_load(&ended); k++) {
        struct sto_max_bytes m;
        struct ts_error err = {0};
        struct sto_max_bytes_call call = {.what = k % 3 ? STO_MAX_BYTES_SET : STO_MAX_BYTES_CONF,
                                          .max_bytes = k % 7 ? LIMIT + k % 5 * (LIMIT / 4) : 0,
                                          .dry_run = k % 2,
                                          .explain = true};
        expect(sto_max_bytes(st, &call, &m, &err), &err);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return NULL;
}

/* Compress, and ask for another number of shards. */
static void *rearrange(void *arg)
{
    (void)arg;
    for (unsigned k = 0; !atomic_load(&ended); k++) {
        struct sto_compact_result r;
        struct ts_error err = {0};
        struct sto_compact_spec spec = {.from_ms = first_ms + k % 30 * TS_DAY_MS,
                                        .to_ms = first_ms + (k % 30 + 20) * TS_DAY_MS,
                                        .level = STO_LEVEL_LEAST + k % 6};
        expect(sto_compact(st, &spec, &r, &err), &err);
        int rc = sto_rebalance(st, 1u << k % 5, &err);
        expect(rc == TS_EBUSY ? 0 : rc, &err); /* a change is at work */
    }
    return NULL;
}

/* What a scan has seen: points from a time on, in order. */
struct order {
    int64_t from_ms, last_ms;
    uint64_t n;
};

static void see(void *arg, int64_t ts_ms, struct ts_num v)
{
    struct order *o = arg;
    struct ts_error err = {0};
    (void)ts_error_set(&err, TS_ECORRUPT, "the point at %lld is wrong", (long long)ts_ms);
    expect(ts_ms > o->last_ms && v.m == value_at(ts_ms) ? 0 : TS_ECORRUPT, &err);
    o->last_ms = ts_ms;
    o->n += ts_ms >= o->from_ms;
}

static uint64_t points_from(int64_t from_ms)
{
    struct order o = {from_ms, INT64_MIN, 0};
    struct ts_error err = {0};
    expect(kit_points(st, kit_series(st, 0), see, &o, &err), &err);
    return o.n;
}

static void on_stat(void *arg, const char *name, uint64_t value)
{
    (void)name;
    *(uint64_t *)arg += value;
}

static void *look(void *arg)
{
    uint64_t sum = 0;
    (void)arg;
    while (!atomic_load(&ended)) {
        (void)points_from(INT64_MIN);
        sto_stats(st, on_stat, &sum);
    }
    return NULL;
}

/* --- the store --- */

static void open_folder(const char *dir)
{
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = true,
                            .day_rows = 1,
                            .n_shards = 4,
                            .memstore_bytes = MEMSTORE,
                            .wal_sync = STO_SYNC_NONE};
    struct ts_error err = {0};
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("%s", err.text);
}

static void put_day(int64_t d, unsigned life)
{
    struct sto_writer *writer = sto_writer(st, 0);
    const struct sto_series *series = kit_series(st, 0);
    for (int64_t k = 0; k < A_DAY; k++) {
        int64_t at = first_ms + d * TS_DAY_MS + k * (TS_DAY_MS / A_DAY) + life;
        while (sto_put(writer, series, at, (struct ts_num){.m = value_at(at)}, true) == TS_EBUSY)
            sto_writer_turn(writer);
        if (k % 500 == 0)
            sto_writer_turn(writer);
    }
    sto_writer_turn(writer);
    if (d % 5 == 4) /* so that the log leaves room for points within the limit */
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
}

static void test_store_changes__beside_each_other(void **state)
{
    (void)state;
    static void *(*const fns[])(void *) = {limit, rearrange, look};
    char dir[T_FOLDER_BYTES];
    t_folder_make(dir);
    first_ms = ts_clock_ms() / TS_DAY_MS * TS_DAY_MS - N_DAYS * TS_DAY_MS;
    for (unsigned life = 0; life < 3; life++) {
        pthread_t t[N_THREADS];
        open_folder(dir);
        (void)kit_series(st, 0);
        atomic_store(&ended, false);
        for (size_t i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_create(&t[i], NULL, fns[i], NULL), 0);
        for (int64_t d = 0; d < N_DAYS; d++)
            put_day(d, life);
        atomic_store(&ended, true);
        for (size_t i = 0; i < N_THREADS; i++)
            pthread_join(t[i], NULL);
        assert_int_equal(points_from(first_ms + (N_DAYS - 2) * TS_DAY_MS), (life + 1) * 2 * A_DAY);
        assert_int_equal(sto_close(st, NULL), 0);
        assert_int_equal(n_failed, 0);
    }
    assert_int_equal(t_folder_remove(dir), 0);
}

int main(void)
{
    ts_log_set_level(TS_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_store_changes__beside_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
