/*
 * query_memory_kit.h - a store with points of many shapes, all of them in memory.
 */
#ifndef TESTS_MEMORY_QUERY_MEMORY_KIT_H
#define TESTS_MEMORY_QUERY_MEMORY_KIT_H

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "tests/unit/t_folder.h"

#define T_THREADS 2
#define MIB       (1u << 20)
#define DAY_S     1600000000ll /* 2020-09-13T12:26:40Z */
#define N_WIDE    20000        /* series of one point each */
#define N_LONG    400000       /* points of one series, a second apart */
#define N_HOSTS   1500         /* of 4 cpus each, made cpu by cpu */
#define N_PCT     300          /* series of a point a minute over 12 hours */
#define N_PCT_PTS 720

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static struct ts_pool *pool;

static void put(const struct sto_series *s, int64_t t_ms, struct ts_num v)
{
    struct sto_writer *writer = sto_writer(st, 0);
    int rc;
    while ((rc = sto_put(writer, s, t_ms, v, false)) == TS_EBUSY) {
        struct pollfd pfd = {.fd = sto_writer_fd(writer), .events = POLLIN};
        sto_writer_turn(writer);
        poll(&pfd, 1, 10);
    }
    assert_int_equal(rc, 0);
}

static const struct sto_series *series_of(const char *metric, unsigned a, unsigned b)
{
    char text[160], host[16], cpu[16];
    snprintf(host, sizeof host, "h%06u", a);
    snprintf(cpu, sizeof cpu, "c%u", b);
    struct sto_tag_text tags[] = {{TS_SLICE_LIT("cpu"), ts_slice_str(cpu)},
                                  {TS_SLICE_LIT("host"), ts_slice_str(host)}};
    const struct sto_series *s;
    int n = snprintf(text, sizeof text, "%s cpu=%s host=%s", metric, cpu, host);
    assert_int_equal(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                                        (uint32_t)strlen(metric), tags, 2, true, &s, NULL),
                     0);
    return s;
}

/* Counts of three buckets of 20 histograms, as they are stored: in metrics beside the one users see. */
static void put_histograms(void)
{
    static const char *const buckets[] = {"u", "0.0,10.0", "10.0,20.0"};
    for (unsigned h = 0; h < 20; h++) {
        (void)series_of("hist", h, 0);
        for (unsigned b = 0; b < 3; b++) {
            struct ts_buf name;
            ts_buf_init(&name, 0);
            sto_internal_buckets(TS_SLICE_LIT("hist"), &name);
            ts_buf_str(&name, buckets[b]);
            ts_buf_char(&name, 0);
            const struct sto_series *s = series_of(name.p, h, 0);
            for (unsigned k = 0; k < 500; k++)
                put(s, (DAY_S + k * 60) * 1000, (struct ts_num){.m = (int64_t)(k % (7 + b))});
            ts_buf_release(&name);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = true,
                            .wal_sync = STO_SYNC_NONE,
                            .memstore_bytes = 512 * MIB,
                            .no_background = true};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    for (unsigned i = 0; i < N_WIDE; i++)
        put(series_of("wide", i, 0), (DAY_S + (int64_t)i * 521 % 31536000) * 1000, (struct ts_num){.m = i});
    const struct sto_series *one = series_of("long", 0, 0);
    for (unsigned i = 0; i < N_LONG; i++)
        put(one, (DAY_S + i) * 1000, (struct ts_num){.m = i});
    for (unsigned c = 0; c < 4; c++)
        for (unsigned h = 0; h < N_HOSTS; h++)
            for (unsigned k = 0; k < 12; k++)
                put(series_of("cpus", h, c), (DAY_S + k * 7200) * 1000, (struct ts_num){.m = k});
    for (unsigned h = 0; h < N_PCT; h++)
        for (unsigned k = 0; k < N_PCT_PTS; k++)
            put(series_of("pct", h, 0), (DAY_S + k * 60) * 1000, ts_num_from_double((double)(h * k) / 7));
    for (unsigned h = 0; h < 40; h++)
        for (unsigned k = 0; k < 2000; k++)
            put(series_of("tiny", h, 0), (DAY_S + k * 60) * 1000,
                ts_num_from_double((h + 1) * (k % 2 ? 1e-200 : 1e200)));
    put_histograms();
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_LOG, NULL), 0);
    pool = ts_pool_new(T_THREADS, "t");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ts_pool_free(pool);
    assert_int_equal(sto_close(st, NULL), 0);
    return t_folder_remove(dir);
}

#endif
