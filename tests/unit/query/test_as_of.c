/*
 * test_as_of.c - points as of a time of writing, and lists of versions, are those of a plain history: at each microsecond of a write or a delete, and beside it.
 */
#include "query/versions.h"

#include "base/time.h"
#include "storage/retain.h"
#include "storage/store.h"
#include "storage/versioned.h"
#include "tests/unit/t_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/t_folder.h"

#define T0_MS    1499997600000ll
#define SINCE_MS 1790000000000ll /* when the metric is declared */
#define SINCE_US (SINCE_MS * 1000)
#define N_SERIES 3
#define TIMES    12 /* times of points, in three hours */
#define MOST     400
#define KEEP     4

/* A write, or a delete of a range, in the order of their stamps. */
struct op {
    bool is_delete;
    unsigned series;
    unsigned from, to; /* times, inclusive; of a write both the same */
    int64_t at_us, v;
};

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static struct op ops[MOST];
static size_t n_ops;
static unsigned n_writes[N_SERIES][TIMES];
static uint64_t rnd_state;
static int64_t now_us;
static struct sto_versioned declared;

static uint64_t rnd(uint64_t n)
{
    return t_random(&rnd_state) % n;
}

static int64_t time_of(unsigned i)
{
    return T0_MS + (int64_t)(i % 3) * TS_HOUR_MS + (int64_t)(i / 3) * 997;
}

/* --- the store --- */

static const struct sto_series *series(struct ts_slice metric, unsigned i)
{
    char text[100], host[16];
    struct ts_error err = {0};
    const struct sto_series *s;
    snprintf(host, sizeof host, "h%u", i);
    int n = snprintf(text, sizeof text, "%.*s host=%s", (int)metric.n, metric.p, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, (uint32_t)metric.n,
                           &tag, 1, true, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static const struct sto_series *visible(unsigned i)
{
    return series((struct ts_slice)TS_SLICE_LIT("m.v"), i);
}

static const struct sto_series *internal(enum sto_versioned_what what, unsigned i)
{
    struct ts_buf name;
    ts_buf_init(&name, 0);
    sto_versioned_name(&declared, what, &name);
    const struct sto_series *s = series(ts_buf_get(&name), i);
    ts_buf_release(&name);
    return s;
}

static void settle(enum sto_level level)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("%s", err.text);
}

static void declare(void)
{
    struct ts_error err = {0};
    ts_clock_set_fake(SINCE_MS);
    if (sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("m.v"), KEEP, &err) < 0)
        fail_msg("%s", err.text);
    ts_clock_set_fake(0);
    sto_versioned_find(st, (struct ts_slice)TS_SLICE_LIT("m.v"), &declared);
    assert_int_equal(declared.since_us, SINCE_US);
}

static void open_store(void)
{
    struct sto_opts opts = {
        .dir = dir, .create = true, .own_threads = true, .wal_sync = STO_SYNC_NONE, .no_background = true};
    t_folder_make(dir);
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    n_ops = 0;
    memset(n_writes, 0, sizeof n_writes);
    now_us = SINCE_US;
    rnd_state = 88172645463325252ull;
}

static int setup(void **state)
{
    (void)state;
    open_store();
    declare();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    return t_folder_remove(dir);
}

static struct op *next_op(unsigned s, unsigned from, unsigned to)
{
    assert_true(n_ops < MOST);
    now_us += 1 + (int64_t)rnd(3);
    ops[n_ops] = (struct op){.series = s, .from = from, .to = to, .at_us = now_us};
    return &ops[n_ops++];
}

static void write_at(unsigned s, int64_t ts_ms, int64_t at_us, int64_t v)
{
    struct sto_writer *w = sto_writer(st, 0);
    const struct ts_num value = {.m = v};
    assert_int_equal(sto_put_version(w, internal(STO_VERSIONED_WRITES, s), ts_ms,
                                     &(struct sto_stamp){at_us, KEEP}, value, true),
                     0);
    assert_int_equal(sto_put(w, visible(s), ts_ms, value, true), 0);
}

static void delete_at(unsigned s, int64_t from_ms, int64_t to_ms, int64_t at_us)
{
    struct sto_writer *w = sto_writer(st, 0);
    const int64_t range[2] = {from_ms, to_ms};
    for (int i = 0; i < 2; i++)
        assert_int_equal(sto_put_version(w, internal(STO_VERSIONED_DELETES, s), at_us / 1000,
                                         &(struct sto_stamp){at_us, STO_VERSIONS_MAX},
                                         (struct ts_num){.m = range[i]}, true),
                         0);
    assert_int_equal(sto_delete(w, visible(s), from_ms, to_ms), 0);
}

static void write_point(unsigned s, unsigned time, int64_t v)
{
    struct op *op = next_op(s, time, time);
    op->v = v;
    write_at(s, time_of(time), op->at_us, v);
}

/* Both ends are deleted. */
static void delete_points(unsigned s, unsigned from, unsigned to)
{
    struct op *op = next_op(s, from, to);
    op->is_delete = true;
    now_us += 1000; /* one delete a millisecond, as they are told apart by that */
    delete_at(s, time_of(from), time_of(to), op->at_us);
}

/* --- what is expected --- */

/* Does an operation concern a time of a series? */
static bool concerns(const struct op *op, unsigned s, unsigned time)
{
    return op->series == s && time_of(op->from) <= time_of(time) && time_of(time) <= time_of(op->to);
}

/* The value that counted at a moment; false: there was none. */
static bool value_at(unsigned s, unsigned time, int64_t us, int64_t *out)
{
    bool is = false;
    for (size_t i = 0; i < n_ops && ops[i].at_us <= us; i++)
        if (concerns(&ops[i], s, time)) {
            is = !ops[i].is_delete;
            *out = ops[i].v;
        }
    return is;
}

/* --- reading --- */

static bool has[N_SERIES][TIMES];
static int64_t got[N_SERIES][TIMES];

static unsigned index_of(int64_t ts_ms)
{
    for (unsigned i = 0; i < TIMES; i++)
        if (time_of(i) == ts_ms)
            return i;
    fail_msg("a time that was never written: %lld", (long long)ts_ms);
    return 0;
}

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)err;
    unsigned i = (unsigned)(s->tags[0].v.p[1] - '0');
    for (size_t k = 0; k < s->n; k++) {
        unsigned t = index_of(s->ts_ms[k]);
        assert_false(has[i][t]);
        has[i][t] = true;
        got[i][t] = (int64_t)s->v[k];
    }
    return 0;
}

static void parse(const char *m, int64_t from_ms, int64_t to_ms, const char *extra, const char *value,
                  struct ts_arena *arena, struct qry_spec *spec)
{
    char start[24], end[24];
    struct ts_error err = {0};
    snprintf(start, sizeof start, "%lldms", (long long)from_ms);
    snprintf(end, sizeof end, "%lldms", (long long)to_ms);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {ts_slice_str(extra ? extra : ""), ts_slice_str(value ? value : "")}};
    ts_arena_init(arena, 0);
    if (qry_parse_params(p, extra ? 4 : 3, SINCE_MS + TS_DAY_MS, false, arena, spec, &err) < 0)
        fail_msg("%s", err.text);
}

static int read_as_of(const char *m, int64_t us, int64_t from_ms, int64_t to_ms, struct qry_limit *limit,
                      struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_spec spec;
    parse(m, from_ms, to_ms, NULL, NULL, &arena, &spec);
    spec.as_of_us = us;
    spec.ms = true;
    memset(has, 0, sizeof has);
    int rc = qry_run(st, NULL, &spec, limit, on_series, NULL, err);
    ts_arena_release(&arena);
    return rc;
}

static unsigned n_points;

static int on_points(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)err;
    n_points += (unsigned)s->n;
    return 0;
}

/* Add the points of all series to n_points. */
static int count_as_of(int64_t us, int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_spec spec;
    parse("none:m.v", from_ms, to_ms, NULL, NULL, &arena, &spec);
    spec.as_of_us = us;
    spec.ms = true;
    int rc = qry_run(st, NULL, &spec, NULL, on_points, NULL, err);
    ts_arena_release(&arena);
    return rc;
}

static void check_at(int64_t us, const char *when)
{
    struct ts_error err = {0};
    if (read_as_of("none:m.v", us, T0_MS, T0_MS + 4 * TS_HOUR_MS, NULL, &err) < 0)
        fail_msg("%s: %s", when, err.text);
    for (unsigned s = 0; s < N_SERIES; s++)
        for (unsigned t = 0; t < TIMES; t++) {
            int64_t v = 0;
            bool is = value_at(s, t, us, &v);
            if (is != has[s][t] || (is && v != got[s][t]))
                fail_msg("%s: series %u time %u as of +%lld us: %d %lld instead of %d %lld", when, s, t,
                         (long long)(us - SINCE_US), has[s][t], (long long)got[s][t], is, (long long)v);
        }
}

/* At each operation, and one microsecond before it. */
static void check_all(const char *when)
{
    check_at(SINCE_US, when);
    for (size_t i = 0; i < n_ops; i++) {
        check_at(ops[i].at_us - 1, when);
        check_at(ops[i].at_us, when);
    }
}

/* --- cases --- */

/* Writes and deletes of all series; no time is written more often than versions are kept. */
static void random_history(void)
{
    for (int i = 0; i < 60; i++) {
        unsigned s = (unsigned)rnd(N_SERIES), t = (unsigned)rnd(TIMES), to = (unsigned)rnd(TIMES);
        if (rnd(5) == 0)
            delete_points(s, time_of(t) < time_of(to) ? t : to, time_of(t) < time_of(to) ? to : t);
        else if (n_writes[s][t]++ < KEEP)
            write_point(s, t, (int64_t)rnd(1000));
    }
}

static void test_as_of__each_moment_is_that_of_the_history(void **state)
{
    (void)state;
    random_history();
    settle(STO_LEVEL_LOG);
    check_all("in memory");
    settle(STO_LEVEL_FILES);
    check_all("in files");
    random_history();
    settle(STO_LEVEL_LOG);
    check_all("in both");
    settle(STO_LEVEL_COMPACT);
    check_all("merged");
}

/* A time names its whole millisecond: what the list of versions shows as the time of writing shows that version. */
static void test_as_of__a_time_is_its_whole_millisecond(void **state)
{
    struct ts_arena arena;
    struct qry_spec spec;
    (void)state;
    parse("none:m.v", T0_MS, T0_MS + 9, "as_of", "1790000000001ms", &arena, &spec);
    assert_int_equal(spec.as_of_us, 1790000000001999);
    ts_arena_release(&arena);
}

/* A series that was there before. */
static void test_as_of__of_older_series_not_all_is_known(void **state)
{
    const int64_t a_ms = time_of(3), b_ms = time_of(6); /* 0.997 s and 1.994 s after T0 */
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(t_folder_remove(dir), 0);
    open_store();
    struct sto_writer *w = sto_writer(st, 0);
    for (unsigned t = 0; t < TIMES; t += 3)
        assert_int_equal(sto_put(w, visible(0), time_of(t), (struct ts_num){.m = 100 + t}, true), 0);
    settle(STO_LEVEL_LOG);
    declare();
    assert_int_equal(read_as_of("none:m.v", SINCE_US, T0_MS, T0_MS + TS_HOUR_MS, NULL, &err), 0);
    assert_true(has[0][0] && has[0][9] && got[0][0] == 100 && got[0][9] == 109);
    assert_int_equal(read_as_of("none:m.v", SINCE_US - 1, T0_MS, T0_MS + TS_HOUR_MS, NULL, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "keeps versions since"));
    /* what was replaced is not known, what it was replaced by is */
    write_point(0, 0, 7);
    settle(STO_LEVEL_LOG);
    assert_int_equal(read_as_of("none:m.v", now_us - 1, T0_MS, T0_MS + 1, NULL, &err), TS_EINVAL);
    assert_int_equal(read_as_of("none:m.v", now_us - 1, T0_MS + 2, T0_MS + 9000, NULL, &err), 0);
    assert_int_equal(read_as_of("none:m.v", now_us, T0_MS, T0_MS + 1, NULL, &err), 0);
    assert_true(has[0][0] && got[0][0] == 7);
    /* nor is what was deleted since: of ranges that have a millisecond of it */
    delete_points(0, 3, 6);
    settle(STO_LEVEL_FILES);
    int64_t before_us = ops[n_ops - 1].at_us - 1;
    assert_int_equal(read_as_of("none:m.v", before_us, T0_MS, a_ms - 1, NULL, &err), 0);
    assert_int_equal(read_as_of("none:m.v", before_us, T0_MS, a_ms, NULL, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "were deleted since"));
    assert_int_equal(read_as_of("none:m.v", before_us, b_ms, b_ms + 9000, NULL, &err), TS_EINVAL);
    assert_int_equal(read_as_of("none:m.v", before_us, b_ms + 1, b_ms + 9000, NULL, &err), 0);
    assert_true(has[0][9]);
    assert_int_equal(read_as_of("none:m.v", before_us + 1, T0_MS, b_ms + 9000, NULL, &err), 0);
    assert_true(has[0][0] && !has[0][3] && !has[0][6] && has[0][9]);
}

/* A value that was dropped is an error, for the time that had it alone. */
static void test_as_of__what_was_dropped_is_an_error(void **state)
{
    struct ts_error err = {0};
    (void)state;
    write_point(0, 3, 50);
    for (int i = 0; i <= KEEP; i++)
        write_point(0, 0, i);
    settle(STO_LEVEL_FILES);
    int64_t oldest_us = ops[2].at_us; /* the first one that is kept */
    assert_int_equal(read_as_of("none:m.v", oldest_us, T0_MS, T0_MS + 9000, NULL, &err), 0);
    assert_true(has[0][0] && got[0][0] == 1);
    assert_int_equal(read_as_of("none:m.v", oldest_us - 1, T0_MS, T0_MS + 9000, NULL, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "not known any more"));
    assert_int_equal(read_as_of("none:m.v", oldest_us - 1, T0_MS + 1, T0_MS + 9000, NULL, &err), 0);
    assert_true(has[0][3] && got[0][3] == 50);
    /* where points of the same hour may have a part in the answer, its first hour is read as a whole */
    assert_int_equal(read_as_of("sum:m.v", oldest_us - 1, T0_MS + 1, T0_MS + 9000, NULL, &err), TS_EINVAL);
    assert_int_equal(read_as_of("none:rate:m.v", oldest_us - 1, T0_MS + 1, T0_MS + 9000, NULL, &err),
                     TS_EINVAL);
}

/* A point that was written ahead of its time outlives the memory of its delete: it does not come back. */
static void test_as_of__a_point_outlives_its_delete(void **state)
{
    const struct sto_retain_call call = {.what = STO_RETAIN_ADD, .text = TS_SLICE_LIT("m.v points=30d\n")};
    const int64_t ahead_ms = SINCE_MS + 100 * TS_DAY_MS, delete_ms = SINCE_MS + TS_HOUR_MS;
    const int64_t from_ms = ahead_ms - 10, to_ms = ahead_ms + 10;
    struct ts_error err = {0};
    (void)state;
    write_at(0, ahead_ms, SINCE_US + 1, 5);
    write_at(1, ahead_ms, SINCE_US + 1, 6);
    delete_at(0, ahead_ms, ahead_ms, delete_ms * 1000);
    settle(STO_LEVEL_FILES);
    ts_clock_set_fake(SINCE_MS + 20 * TS_DAY_MS);
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
    for (int forgotten = 0; forgotten < 2; forgotten++) {
        int64_t now_ms = SINCE_MS + (forgotten ? 40 : 20) * TS_DAY_MS;
        ts_clock_set_fake(now_ms);
        n_points = 0;
        assert_int_equal(count_as_of(now_ms * 1000, from_ms, to_ms, &err), 0);
        assert_int_equal(n_points, 1);
        n_points = 0;
        assert_int_equal(count_as_of(delete_ms * 1000 - 1, from_ms, to_ms, &err), forgotten ? TS_EINVAL : 0);
        assert_int_equal(n_points, forgotten ? 0 : 2);
    }
    assert_non_null(strstr(err.text, "deleted longer ago"));
    assert_int_equal(count_as_of(delete_ms * 1000 - 1, from_ms, ahead_ms - 1, &err), 0);
    ts_clock_set_fake(0);
}

/* A point that was written ahead of its time before its metric was declared, and replaced since: what it was is not known. */
static void test_as_of__a_point_ahead_of_its_time_is_older_than_its_metric(void **state)
{
    const int64_t ahead_ms = SINCE_MS + 10 * TS_DAY_MS;
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("m.v"), 0, NULL), 0);
    assert_int_equal(sto_put(sto_writer(st, 0), visible(0), ahead_ms, (struct ts_num){.m = 5}, true), 0);
    settle(STO_LEVEL_LOG);
    declare();
    write_at(0, ahead_ms, SINCE_US + 5, 6);
    settle(STO_LEVEL_FILES);
    n_points = 0;
    assert_int_equal(count_as_of(SINCE_US + 5, ahead_ms - 10, ahead_ms + 10, &err), 0);
    assert_int_equal(n_points, 1);
    assert_int_equal(count_as_of(SINCE_US + 4, ahead_ms - 10, ahead_ms + 10, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "older than the versions"));
}

/* A reading of versions is limited as any other. */
static void test_as_of__limits_hold(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TIMES; t++)
        write_point(0, t, t);
    settle(STO_LEVEL_LOG);
    struct qry_limit limit = {.max_points = TIMES};
    struct ts_error err = {0};
    assert_int_equal(read_as_of("none:m.v", now_us, T0_MS, T0_MS + 4 * TS_HOUR_MS, &limit, &err), 0);
    assert_int_equal(atomic_load(&limit.n_points), TIMES);
    struct qry_limit low = {.max_points = TIMES / 2};
    assert_int_equal(read_as_of("none:m.v", now_us, T0_MS, T0_MS + 4 * TS_HOUR_MS, &low, &err), TS_ELIMIT);
    struct qry_limit cancelled = {.max_points = 0};
    atomic_store(&cancelled.cancelled, true);
    assert_int_equal(read_as_of("none:m.v", now_us, T0_MS, T0_MS + 4 * TS_HOUR_MS, &cancelled, &err),
                     TS_ECANCELLED);
}

/* --- lists --- */

/* The i-th write of a time of a series, from 0. */
static const struct op *write_no(unsigned s, unsigned time, unsigned i)
{
    for (size_t k = 0; k < n_ops; k++)
        if (!ops[k].is_delete && concerns(&ops[k], s, time) && i-- == 0)
            return &ops[k];
    return NULL;
}

/* When a write was deleted before it was replaced; 0: it was not. */
static int64_t deleted_us(const struct op *write)
{
    for (const struct op *op = write + 1; op < ops + n_ops; op++)
        if (concerns(op, write->series, write->from))
            return op->is_delete ? op->at_us : 0;
    return 0;
}

static unsigned n_listed[N_SERIES][TIMES];

static int on_version(void *arg, const struct qry_version *v, struct ts_error *err)
{
    (void)arg, (void)err;
    unsigned t = index_of(v->ts_ms), s = 0;
    while (v->series != visible(s))
        s++;
    const struct op *op = write_no(s, t, n_listed[s][t]++);
    assert_non_null(op);
    assert_int_equal(v->written_us, op->at_us);
    assert_int_equal(v->value.m, op->v);
    assert_int_equal(v->deleted_us, deleted_us(op));
    assert_false(v->older_gone);
    return 0;
}

static void test_as_of__a_list_says_what_was_deleted_and_when(void **state)
{
    struct ts_arena arena;
    struct qry_spec spec;
    struct ts_error err = {0};
    (void)state;
    random_history();
    random_history();
    settle(STO_LEVEL_COMPACT);
    memset(n_listed, 0, sizeof n_listed);
    parse("none:m.v", T0_MS, T0_MS + 4 * TS_HOUR_MS, "versions", "true", &arena, &spec);
    if (qry_versions(st, &spec, NULL, on_version, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (unsigned s = 0; s < N_SERIES; s++)
        for (unsigned t = 0; t < TIMES; t++)
            assert_null(write_no(s, t, n_listed[s][t]));
    ts_arena_release(&arena);
}

/* --- names --- */

/* A declaration goes with its metric. A metric that takes a declared name was written before without versions, so it begins anew. */
static void test_as_of__a_metric_that_takes_a_declared_name_begins_anew(void **state)
{
    const struct ts_slice m = TS_SLICE_LIT("m.v"), other = TS_SLICE_LIT("m.other");
    struct sto_versioned v;
    (void)state;
    uint64_t epoch = sto_versioned_epoch(st);
    assert_int_equal(sto_versioned_rename(st, m, other, NULL), 0);
    assert_true(sto_versioned_epoch(st) > epoch); /* workers look at declarations again */
    sto_versioned_find(st, m, &v);
    assert_int_equal(v.n, 0);
    sto_versioned_find(st, other, &v);
    assert_int_equal(v.n, KEEP);
    assert_int_equal(v.no, declared.no);
    assert_int_equal(v.since_us, SINCE_US);
    epoch = sto_versioned_epoch(st);
    ts_clock_set_fake(SINCE_MS + 5000);
    assert_int_equal(sto_versioned_rename(st, m, other, NULL), 0);
    ts_clock_set_fake(0);
    sto_versioned_find(st, other, &v);
    assert_int_equal(v.n, KEEP);
    assert_int_not_equal(v.no, declared.no);
    assert_int_equal(v.since_us, SINCE_US + 5000000);
    assert_true(sto_versioned_epoch(st) > epoch);
}

static void test_as_of__so_many_metrics_keep_versions(void **state)
{
    char name[16];
    (void)state;
    for (unsigned i = 1; i < STO_VERSIONED_MAX; i++) { /* one is there */
        snprintf(name, sizeof name, "v%u", i);
        assert_int_equal(sto_versioned_set(st, ts_slice_str(name), 2, NULL), 0);
    }
    assert_int_equal(sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("more"), 2, NULL), TS_ELIMIT);
    assert_int_equal(sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("v1"), 3, NULL), 0);
    assert_int_equal(sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("v1"), 0, NULL), 0);
    assert_int_equal(sto_versioned_set(st, (struct ts_slice)TS_SLICE_LIT("more"), 2, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_of__each_moment_is_that_of_the_history, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__a_time_is_its_whole_millisecond, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__of_older_series_not_all_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__what_was_dropped_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__a_point_outlives_its_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__a_point_ahead_of_its_time_is_older_than_its_metric, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_as_of__limits_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__a_list_says_what_was_deleted_and_when, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_of__a_metric_that_takes_a_declared_name_begins_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_as_of__so_many_metrics_keep_versions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
