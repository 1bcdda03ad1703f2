/*
 * test_run.c - queries over a store: limits and their words, cancelling, and the same bits from memory,
 * files, summaries and any number of threads.
 */
#include "query/query.h"

#include "base/mem.h"
#include "base/time.h"
#include "tests/unit/t_random.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/t_folder.h"

#define T0_MS    1499997600000ll
#define N_SERIES 140

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;

static uint64_t rnd_state = 88172645463325252ull;
static uint64_t rnd(void)
{
    return t_random(&rnd_state);
}

static void put(const struct sto_series *s, int64_t t, struct ts_num v)
{
    struct sto_writer *writer = sto_writer(st, 0);
    int rc;
    while ((rc = sto_put(writer, s, t, v, t % 1000 != 0)) == TS_EBUSY) {
        struct pollfd pfd = {.fd = sto_writer_fd(writer), .events = POLLIN};
        sto_writer_turn(writer);
        poll(&pfd, 1, 10);
    }
    assert_int_equal(rc, 0);
}

static void settle(enum sto_level level)
{
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, level, NULL), 0);
}

/* Integers, decimals, doubles; values from 1e-300 to 1e30, so that some hours have no exact sum word. */
static struct ts_num some_value(unsigned series)
{
    switch (series % 5) {
    case 0:
        return (struct ts_num){.m = (int64_t)(rnd() % 2000) - 1000};
    case 1:
        return (struct ts_num){.m = (int64_t)(rnd() % 100000), .kind = TS_NUM_DEC, .exp = 2};
    case 2:
        return ts_num_from_double((double)(int64_t)rnd() * 1e-9);
    case 3:
        return ts_num_from_double((double)(rnd() % 1000 + 1) * (rnd() % 3 ? 1e30 : 1e-300));
    default:
        return rnd() % 2 ? (struct ts_num){.m = (int64_t)rnd()}
                         : ts_num_from_double((double)(rnd() % 97) / 7);
    }
}

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    struct sto_opts opts = {
        .dir = dir, .create = true, .own_threads = true, .wal_sync = STO_SYNC_NONE, .no_background = true};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    for (unsigned i = 0; i < N_SERIES; i++) {
        char text[64], host[16], zone[16];
        snprintf(host, sizeof host, "h%u", i);
        snprintf(zone, sizeof zone, "z%u", i % 7);
        int n = snprintf(text, sizeof text, "m host=%s zone=%s", host, zone);
        struct sto_tag_text tags[] = {{TS_SLICE_LIT("host"), ts_slice_str(host)},
                                      {TS_SLICE_LIT("zone"), ts_slice_str(zone)}};
        const struct sto_series *s;
        assert_int_equal(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 1,
                                            tags, 2, true, &s, NULL),
                         0);
        int64_t t = T0_MS + (int64_t)(rnd() % 3600000);
        for (int k = 0; k < 60; k++) {
            put(s, t, some_value(i));
            t += i % 3 ? 300000 : 1 + (int64_t)(rnd() % 900000);
        }
    }
    settle(STO_LEVEL_LOG);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    return t_folder_remove(dir);
}

/* What a callback saw, as bytes. */
struct seen {
    struct ts_buf bytes;
    int n_calls, stop_after;
};

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct seen *seen = arg;
    ts_buf_printf(&seen->bytes, "%zu %zu %zu", s->n, s->n_tags, s->n_agg_tags);
    ts_buf_append(&seen->bytes, s->ts_ms, s->n * 8);
    ts_buf_append(&seen->bytes, s->v, s->n * 8);
    if (s->is_int)
        ts_buf_append(&seen->bytes, s->is_int, s->n);
    return ++seen->n_calls == seen->stop_after ? ts_error_set(err, TS_ECANCELLED, "enough") : 0;
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct seen *seen = arg;
    ts_buf_append(&seen->bytes, &t->ts_ms, 8);
    if (t->is_int)
        ts_buf_append(&seen->bytes, &t->i, 16);
    else
        ts_buf_append(&seen->bytes, &t->d, 8);
    return ++seen->n_calls == seen->stop_after ? ts_error_set(err, TS_ECANCELLED, "enough") : 0;
}

static int run(const char *m, const char *by, struct ts_pool *pool, struct qry_limit *limit,
               struct seen *seen, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1499997600")},
                            {TS_SLICE_LIT("end"), TS_SLICE_LIT("1500020000")},
                            {TS_SLICE_LIT("ms"), TS_SLICE_LIT("")},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by ? by : "")}};
    ts_arena_init(&arena, 0);
    ts_buf_clear(&seen->bytes);
    seen->n_calls = 0;
    int rc = qry_parse_params(p, by ? 5 : 4, T0_MS, false, &arena, &spec, err);
    if (rc == 0)
        rc = by ? qry_totals(st, pool, &spec, limit, on_total, seen, err)
                : qry_run(st, pool, &spec, limit, on_series, seen, err);
    ts_arena_release(&arena);
    return rc;
}

static void test_run__limits_name_themselves(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct ts_pool *pool = ts_pool_new(2, "t");
    static const char *const bys[] = {NULL, "hour,host"};
    for (int k = 0; k < 4; k++) {
        const char *by = bys[k % 2];
        struct ts_pool *with = k < 2 ? NULL : pool;
        struct ts_error err = {0};
        struct qry_limit l = {.max_points = 2000};
        assert_int_equal(run("p90:m", by, with, &l, &seen, &err), TS_ELIMIT);
        assert_non_null(strstr(err.text, "our limit of 2000 data points"));
        assert_non_null(strstr(err.text, "query_max_points"));
        assert_int_equal(seen.n_calls, 0);
        l = (struct qry_limit){.max_series = 50};
        assert_int_equal(run("sum:m", by, with, &l, &seen, &err), TS_ELIMIT);
        assert_non_null(strstr(err.text, "query_max_series"));
        assert_int_equal(atomic_load(&l.n_points), 0);
        l = (struct qry_limit){.max_bytes = 10000};
        assert_int_equal(run("sum:m", by, with, &l, &seen, &err), TS_ELIMIT);
        assert_non_null(strstr(err.text, "query_max_bytes"));
        l = (struct qry_limit){.deadline_ns = 1};
        assert_int_equal(run("sum:m", by, with, &l, &seen, &err), TS_ETIMEOUT);
        l = (struct qry_limit){.cancelled = true};
        assert_int_equal(run("sum:m", by, with, &l, &seen, &err), TS_ECANCELLED);
        l = (struct qry_limit){.max_points = 1000000};
        assert_int_equal(run("sum:m", by, with, &l, &seen, &err), 0);
        assert_true(atomic_load(&l.n_points) > 140 && seen.n_calls > 0);
    }
    ts_pool_free(pool);
    ts_buf_release(&seen.bytes);
}

static void test_run__waiting_for_a_processor_is_not_counted(void **state)
{
    (void)state;
    int64_t now = ts_clock_mono_ns(), cpu = ts_clock_thread_ns(), left = 3600ll * 1000000000;
    struct qry_limit l = {.deadline_ns = 1, .cpu_deadline_ns = cpu + left};
    assert_false(qry_limit_late(&l));
    assert_true(l.deadline_ns > now && l.deadline_ns <= ts_clock_mono_ns() + left);
    l = (struct qry_limit){.deadline_ns = 1, .cpu_deadline_ns = 1};
    assert_true(qry_limit_late(&l));
    l = (struct qry_limit){.deadline_ns = now + left, .cpu_deadline_ns = 1};
    assert_false(qry_limit_late(&l));
    l = (struct qry_limit){.deadline_ns = 1};
    assert_true(qry_limit_late(&l));
    l = (struct qry_limit){.deadline_ns = 0};
    assert_false(qry_limit_late(&l));
}

static void test_run__a_callback_ends_the_query(void **state)
{
    (void)state;
    struct seen seen = {.stop_after = 3};
    struct ts_error err = {0};
    assert_int_equal(run("none:m", NULL, NULL, NULL, &seen, &err), TS_ECANCELLED);
    assert_string_equal(err.text, "enough");
    assert_int_equal(seen.n_calls, 3);
    assert_int_equal(run("sum:m", "host", NULL, NULL, &seen, &err), TS_ECANCELLED);
    assert_int_equal(seen.n_calls, 3);
    ts_buf_release(&seen.bytes);
}

struct question {
    char m[60];
    const char *by;
    struct ts_buf want;
    int rc;
};

/* Each aggregator: raw, downsampled within and over hours, rated, by zone, and as totals. */
static size_t make_questions(struct question *q)
{
    static const char *const forms[] = {"%s:m",
                                        "%s:7m-%s:m{zone=*}",
                                        "%s:1h-%s:m",
                                        "%s:2h-%s-zero:m{zone=z1|z3}",
                                        "%s:rate:m{zone=*}",
                                        "%s:1ms-%s:m{host=h1*}",
                                        "%s:50mc-%s:m{zone=*}"};
    size_t n = 0;
    const char *name;
    for (size_t at = 0; (name = qry_agg_name(at)) != NULL; at++) {
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            if (strcmp(name, "none") == 0 && strstr(forms[f], "-%s"))
                continue;
            q[n].by = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(q[n++].m, sizeof q[0].m, forms[f], name, name);
#pragma GCC diagnostic pop
        }
        for (int by = 0; by < 2 && strcmp(name, "none") != 0; by++) {
            q[n].by = by ? "hour,zone" : "day";
            snprintf(q[n++].m, sizeof q[0].m, "%s:m", name);
        }
    }
    return n;
}

static void test_run__the_same_bits_always(void **state)
{
    (void)state;
    static struct question q[400];
    struct seen seen = {0};
    size_t n = make_questions(q), n_ok = 0;
    assert_true(n < 400);
    static const enum sto_level levels[] = {STO_LEVEL_LOG, STO_LEVEL_FILES, STO_LEVEL_COMPACT};
    for (int l = 0; l < 3; l++) {
        settle(levels[l]);
        static const unsigned threads[] = {0, 6};
        for (int t = 0; t < 2; t++) {
            struct ts_pool *pool = threads[t] ? ts_pool_new(threads[t], "t") : NULL;
            for (size_t i = 0; i < n; i++) {
                struct ts_error err = {0};
                int rc = run(q[i].m, q[i].by, pool, NULL, &seen, &err);
                if (l == 0 && t == 0) {
                    q[i].rc = rc;
                    ts_buf_init(&q[i].want, 0);
                    if (rc == 0)
                        ts_buf_slice(&q[i].want, ts_buf_get(&seen.bytes));
                    n_ok += rc == 0 && seen.bytes.n > 0;
                    continue;
                }
                if (rc != q[i].rc ||
                    (rc == 0 && !ts_slice_eq(ts_buf_get(&seen.bytes), ts_buf_get(&q[i].want))))
                    fail_msg("%s by %s: level %d, %u threads: another answer (%d, %s)", q[i].m,
                             q[i].by ? q[i].by : "-", l, threads[t], rc, err.text);
            }
            ts_pool_free(pool);
        }
    }
    /* products overflow, and say so; the others answer */
    assert_true(n_ok > n - 20);
    for (size_t i = 0; i < n; i++)
        ts_buf_release(&q[i].want);
    ts_buf_release(&seen.bytes);
}

static void test_run__an_empty_store_answers_nothing(void **state)
{
    (void)state;
    char other[T_FOLDER_BYTES];
    struct sto_store *kept = st;
    t_folder_make(other);
    struct sto_opts opts = {
        .dir = other, .create = true, .own_threads = true, .wal_sync = STO_SYNC_NONE, .no_background = true};
    struct seen seen = {0};
    struct ts_error err = {0};
    uint32_t id;
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    assert_int_equal(run("sum:m", NULL, NULL, NULL, &seen, &err), TS_ENOTFOUND);
    assert_string_equal(err.text, "No such name for 'metrics': 'm'");
    assert_int_equal(sto_uid_make(sto_store_catalog(st), STO_UID_METRIC, TS_SLICE_LIT("m"), &id, NULL), 0);
    assert_int_equal(run("sum:m", NULL, NULL, NULL, &seen, &err), 0);
    assert_int_equal(run("sum:1h-sum-zero:m", NULL, NULL, NULL, &seen, &err), 0);
    assert_int_equal(run("sum:m", "day", NULL, NULL, &seen, &err), 0);
    assert_int_equal(seen.n_calls, 0);
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(t_folder_remove(other), 0);
    st = kept;
    ts_buf_release(&seen.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__limits_name_themselves),
        cmocka_unit_test(test_run__waiting_for_a_processor_is_not_counted),
        cmocka_unit_test(test_run__a_callback_ends_the_query),
        cmocka_unit_test(test_run__the_same_bits_always),
        cmocka_unit_test(test_run__an_empty_store_answers_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
