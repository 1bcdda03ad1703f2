/*
 * engine_kit.h - an engine without names on the file system in memory: series, operations, barriers, what is seen.
 *
 * Writers and owners run in the test's thread, as a worker's loop runs them, unless a test asks for threads.
 */
#ifndef TESTS_UNIT_ENGINE_ENGINE_KIT_H
#define TESTS_UNIT_ENGINE_ENGINE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/engine.h"
#include "tests/faults/faultfs.h"

#define T0       1793620800000ll /* an hour */
#define N_SERIES 4u

/* Series as the catalog would make them: one tag each, behind the struct. */
static struct sto_series *t_series[N_SERIES];

static inline void series_make(void)
{
    static const char *const texts[N_SERIES] = {"m h=0", "m h=1", "m h=2", "m h=3"};
    for (uint32_t i = 0; i < N_SERIES; i++) {
        struct sto_series *s = t_series[i] = ts_xcalloc(1, sizeof *s + sizeof s->tags[0] + 5);
        s->id = i;
        s->metric = 1;
        s->shard = (uint16_t)i;
        s->n_tags = 1;
        s->metric_len = 1;
        s->text_len = 5;
        s->tags[0] = (struct sto_tag){.k = 1, .v = i + 1};
        memcpy(s->tags + 1, texts[i], 5);
    }
}

static inline int on_ready(void *arg, const struct sto_engine_found *found, struct ts_error *err)
{
    (void)arg;
    (void)err;
    for (uint32_t i = 0; t_series[0] && i < N_SERIES; i++) { /* the number of a series is its hash here */
        t_series[i]->shard = (uint16_t)(i & (found->n_shards - 1));
        t_series[i]->local = i / found->n_shards;
    }
    return 0;
}

static inline const struct sto_series *on_restore(void *arg, uint32_t id, uint32_t metric,
                                                  const struct sto_tag *tags, size_t n_tags,
                                                  struct ts_slice text, uint32_t metric_len,
                                                  struct ts_error *err)
{
    (void)arg;
    if (id >= N_SERIES || metric != 1 || n_tags != 1 || tags[0].v != id + 1 || text.n != 5 ||
        metric_len != 1) {
        ts_error_set(err, TS_ECORRUPT, "not a series of this test");
        return NULL;
    }
    return t_series[id];
}

static inline struct sto_opts engine_opts(struct t_faultfs *f, unsigned n_writers)
{
    return (struct sto_opts){.fs = t_faultfs_fs(f),
                             .dir = "/e",
                             .create = true,
                             .no_background = true,
                             .n_writers = n_writers,
                             .n_shards = 4,
                             .wal_sync = STO_SYNC_NONE,
                             .wal_sync_interval_ms = 100,
                             .memstore_bytes = 1 << 20,
                             .queue_bytes = 1 << 20};
}

static const struct sto_engine_owner t_owner = {.ready = on_ready, .restore = on_restore};

/* pumped: without any thread, so that the test's own may flush. */
static inline struct sto_engine *engine_open_as(struct t_faultfs *f, unsigned n_writers, bool pumped)
{
    struct sto_opts opts = engine_opts(f, n_writers);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.pumped = pumped;
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    return e;
}

static inline struct sto_engine *engine_open(struct t_faultfs *f, unsigned n_writers)
{
    return engine_open_as(f, n_writers, false);
}

static inline void turn_all(struct sto_engine *e, unsigned n_writers)
{
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < n_writers; i++)
            sto_writer_turn(sto_engine_writer(e, i));
}

/* One operation; false if the writer takes none. */
static inline bool operate(struct sto_engine *e, enum sto_op op, unsigned writer, unsigned series, int64_t k)
{
    struct sto_batch *b = sto_writer_batch(sto_engine_writer(e, writer), t_series[series]);
    if (!b)
        return false;
    b->points[b->n++] = (struct sto_point){.series = t_series[series],
                                           .ts_ms = T0 + k * 1000,
                                           .m = k,
                                           .flags = sto_meta_flags(op, TS_NUM_INT, 0, false),
                                           .asker = op == STO_OP_ADD};
    return true;
}

static inline bool put(struct sto_engine *e, unsigned writer, unsigned series, int64_t k)
{
    return operate(e, STO_OP_PUT, writer, series, k);
}

/* Points a query sees, and the sum of their values. */
static inline uint64_t look(struct sto_engine *e, int64_t *out_sum)
{
    struct sto_version *v = sto_engine_pin(e);
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS, .final = true};
    struct sto_merge *m = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    uint64_t n = 0;
    assert_int_equal(sto_version_scan(v, &spec, &m, &err), 0);
    *out_sum = 0;
    while (sto_merge_next(m, &row, &err) == 1) {
        n += row.cells->n;
        for (uint32_t i = 0; i < row.cells->n; i++)
            *out_sum += row.cells->m[i];
    }
    assert_int_equal(err.code, 0);
    sto_merge_free(m);
    sto_engine_unpin(e, v);
    return n;
}

static inline uint64_t seen(struct sto_engine *e)
{
    int64_t sum;
    return look(e, &sum);
}

static inline int64_t sum_of(struct sto_engine *e)
{
    int64_t sum;
    (void)look(e, &sum);
    return sum;
}

/* What a barrier said. */
struct answer {
    int n, rc; /* how often, the last code */
    char text[TS_ERROR_TEXT_BYTES];
};

static inline void on_answer(void *arg, int rc, const struct ts_error *err)
{
    struct answer *a = arg;
    a->n++;
    a->rc = rc;
    snprintf(a->text, sizeof a->text, "%s", err->text);
}

/* Turn until the sync thread has answered. */
static inline void wait_answer(struct sto_engine *e, unsigned n_writers, const struct answer *a)
{
    for (int i = 0; i < 5000 && a->n == 0; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        turn_all(e, n_writers);
        if (a->n == 0)
            nanosleep(&pause, NULL);
    }
    assert_int_equal(a->n, 1);
}

static inline int close_rc(struct sto_engine *e, struct t_faultfs *f)
{
    struct ts_error err = {0};
    int rc = sto_engine_close(e, &err);
    assert_int_equal(rc, err.code);
    assert_int_equal(t_faultfs_n_open(f), 0);
    return rc;
}

static inline void plan(struct t_faultfs *f, unsigned ops, enum t_fault fault, bool for_good)
{
    t_faultfs_plan(f, (struct t_fault_plan){.ops = ops, .at = 1, .for_good = for_good, .fault = fault});
}

static inline void no_plan(struct t_faultfs *f)
{
    t_faultfs_plan(f, (struct t_fault_plan){0});
}

static uint64_t t_stat;
static inline void on_stat(void *arg, const char *name, uint64_t value)
{
    if (strcmp(name, arg) == 0)
        t_stat = value;
}

static inline uint64_t stat_of(struct sto_engine *e, char *name)
{
    t_stat = UINT64_MAX;
    sto_engine_stats(e, on_stat, name);
    return t_stat;
}

#endif
