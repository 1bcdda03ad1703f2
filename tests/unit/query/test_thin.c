/*
 * test_thin.c - thinning of series against a plain reference that looks at every column by itself; figures; limits.
 */
#include "query/thin.h"

#include "base/double.h"
#include "tests/unit/t_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MAX_POINTS 600
#define START_MS   1500000000000ll

static int64_t ts[MAX_POINTS];
static uint64_t v[MAX_POINTS];
static uint8_t is_int[MAX_POINTS];

static struct qry_series series(size_t n)
{
    return (struct qry_series){.n = n, .ts_ms = ts, .v = v, .is_int = is_int};
}

/* The reference compares integers of 53 bits only, which doubles hold exactly. */
static double value(size_t i)
{
    return is_int[i] ? (double)(int64_t)v[i] : ts_double_of(v[i]);
}

/* Mark what stays of the column whose points are i..e. */
static void mark_column(size_t i, size_t e, bool *stays)
{
    size_t min = e, max = e;
    for (size_t k = i; k < e; k++) {
        if (isnan(value(k)))
            continue;
        min = min == e || value(k) < value(min) ? k : min;
        max = max == e || value(k) > value(max) ? k : max;
    }
    stays[i] = stays[e - 1] = true;
    if (min < e)
        stays[min] = stays[max] = true;
}

/* Thin n points to columns and compare with the reference. */
static void compare(struct qry_thin *t, size_t n, const struct qry_spec *spec)
{
    bool stays[MAX_POINTS] = {false};
    struct qry_budget budget;
    struct qry_series s = series(n);
    int64_t span_ms = spec->end_ms - spec->start_ms + 1;
    for (size_t i = 0, e; i < n; i = e) {
        int64_t column = (ts[i] - spec->start_ms) * (int64_t)spec->thin / span_ms;
        for (e = i; e < n && (ts[e] - spec->start_ms) * (int64_t)spec->thin / span_ms == column; e++)
            continue;
        mark_column(i, e, stays);
    }
    qry_budget_init(&budget, NULL);
    assert_int_equal(qry_thin_series(t, spec, &budget, &s, NULL), 0);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!stays[i])
            continue;
        assert_true(at < s.n);
        assert_int_equal(s.ts_ms[at], ts[i]);
        assert_int_equal(s.v[at], v[i]);
        assert_int_equal(s.is_int[at++], is_int[i]);
    }
    assert_int_equal(at, s.n);
}

static void test_thin__random_series_as_the_reference(void **state)
{
    (void)state;
    struct qry_thin t = {0};
    uint64_t x = 20261124;
    for (int round = 0; round < 2000; round++) {
        struct qry_spec spec = {.start_ms = START_MS,
                                .end_ms = START_MS + 1 + (int64_t)(t_random(&x) % 5000),
                                .thin = 1 + t_random(&x) % (round % 2 ? 20 : 700)};
        size_t n = 0, most = t_random(&x) % MAX_POINTS;
        unsigned kinds = (unsigned)(t_random(&x) % 3);
        for (int64_t at = START_MS; n < most && at <= spec.end_ms;
             at += 1 + (int64_t)(t_random(&x) % 30), n++) {
            ts[n] = at;
            is_int[n] = kinds == 0 || (kinds == 1 && t_random(&x) % 2);
            int64_t number = (int64_t)(t_random(&x) % 41) - 20; /* few values: many are equal */
            v[n] = is_int[n]          ? (uint64_t)number
                   : t_random(&x) % 4 ? ts_double_bits((double)number / 4)
                                      : ts_double_bits((double)NAN);
        }
        compare(&t, n, &spec);
        assert_true(n == 0 || t.figures.n <= n);
    }
    qry_thin_release(&t);
    qry_thin_release(&t);
}

static void run(struct qry_thin *t, size_t n_columns, int64_t start_ms, int64_t end_ms, struct qry_series *s)
{
    struct qry_budget budget;
    struct qry_spec spec = {.start_ms = start_ms, .end_ms = end_ms, .thin = n_columns};
    qry_budget_init(&budget, NULL);
    assert_int_equal(qry_thin_series(t, &spec, &budget, s, NULL), 0);
}

static void test_thin__figures_are_of_all_points(void **state)
{
    (void)state;
    struct qry_thin t = {0};
    const double dbls[] = {NAN, 0.1, 0.2, NAN, 1e300, -1e300, 0.3, NAN};
    for (size_t i = 0; i < 8; i++) {
        ts[i] = START_MS + (int64_t)i;
        is_int[i] = false;
        v[i] = ts_double_bits(dbls[i]);
    }
    struct qry_series s = series(8);
    run(&t, 1, START_MS, START_MS + 7, &s);
    const struct qry_figures *f = &t.figures;
    assert_int_equal(f->n, 5);
    assert_true(f->min.d == -1e300 && f->max.d == 1e300 && f->first.d == 0.1 && f->last.d == 0.3);
    assert_false(f->sum.is_int);
    assert_true(f->sum.d == 0.6 && f->avg.d == 0.12); /* 1e300 is lost by a sum in doubles */
    assert_int_equal(s.n, 4);
    assert_int_equal(s.ts_ms[0], START_MS); /* points without a value at both ends */
    assert_int_equal(s.ts_ms[3], START_MS + 7);

    for (size_t i = 0; i < 3; i++) {
        is_int[i] = true;
        v[i] = (uint64_t)INT64_MAX;
    }
    v[1] = (uint64_t)(INT64_MAX - 1);
    s = series(3);
    run(&t, 0, START_MS, START_MS + 7, &s);
    assert_true(f->sum.is_int && f->sum.i == (__int128)INT64_MAX * 3 - 1);
    assert_true(f->min.is_int && f->min.i == INT64_MAX - 1);
    assert_false(f->avg.is_int);
    assert_true(f->avg.d == 9223372036854775807.0);
    assert_int_equal(s.n, 3); /* without columns the points stay */
    assert_ptr_equal(s.v, v);
    qry_thin_release(&t);
}

static void test_thin__large_integers_and_doubles_compare_exactly(void **state)
{
    (void)state;
    struct qry_thin t = {0};
    int64_t big = (1ll << 53) + 1;
    for (size_t i = 0; i < 5; i++)
        ts[i] = START_MS + (int64_t)i;
    memcpy(is_int, (uint8_t[]){1, 0, 1, 0, 1}, 5);
    v[0] = v[4] = (uint64_t)(big - 1);
    v[1] = v[3] = ts_double_bits((double)(1ll << 53));
    v[2] = (uint64_t)big; /* as a double it would equal the others */
    struct qry_series s = series(5);
    run(&t, 1, START_MS, START_MS + 4, &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.ts_ms[1], START_MS + 2);
    assert_true(t.figures.max.is_int && t.figures.max.i == big);
    qry_thin_release(&t);
}

static void test_thin__nothing_and_no_value(void **state)
{
    (void)state;
    struct qry_thin t = {0};
    struct qry_series s = series(0);
    run(&t, 10, START_MS, START_MS + 7, &s);
    assert_int_equal(s.n, 0);
    assert_true(t.figures.n == 0 && t.figures.min.null && t.figures.sum.null && t.figures.avg.null);
    for (size_t i = 0; i < 8; i++) {
        ts[i] = START_MS + (int64_t)i;
        is_int[i] = false;
        v[i] = ts_double_bits((double)NAN);
    }
    s = series(8);
    run(&t, 2, START_MS, START_MS + 7, &s);
    assert_int_equal(s.n, 4); /* a gap of its own width stays: its first and last point */
    assert_int_equal(s.ts_ms[1], START_MS + 3);
    assert_true(t.figures.n == 0 && t.figures.last.null);
    qry_thin_release(&t);
}

static void test_thin__times_outside_and_the_longest_range(void **state)
{
    (void)state;
    struct qry_thin t = {0};
    int64_t far = STO_MAX_TS_MS / 4;
    ts[0] = -far - 5, ts[1] = -far, ts[2] = 0, ts[3] = far, ts[4] = far + 5;
    memset(is_int, 1, 5);
    for (size_t i = 0; i < 5; i++)
        v[i] = i;
    struct qry_series s = series(5);
    run(&t, QRY_MAX_THIN, -far, far, &s);
    assert_int_equal(s.n, 5);
    s = series(5);
    run(&t, 1, -far, far, &s);
    assert_int_equal(s.n, 2);
    qry_thin_release(&t);
}

static void test_thin__memory_is_counted_and_limited(void **state)
{
    (void)state;
    struct ts_budget account;
    struct qry_limit limit = {.max_points = 0};
    struct qry_budget budget;
    struct qry_thin t = {0};
    struct ts_error err = {0};
    struct qry_spec spec = {.start_ms = START_MS, .end_ms = START_MS + MAX_POINTS, .thin = 100};
    for (size_t i = 0; i < MAX_POINTS; i++) {
        ts[i] = START_MS + (int64_t)i;
        v[i] = i * 7919 % 101;
        is_int[i] = true;
    }
    ts_budget_init(&account, "this query", "query_max_bytes", NULL, 1000);
    limit.memory = &account;
    qry_budget_init(&budget, &limit);
    struct qry_series s = series(MAX_POINTS);
    assert_int_equal(qry_thin_series(&t, &spec, &budget, &s, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_bytes"));
    qry_thin_release(&t);
    spec.thin = 5; /* 20 points */
    s = series(MAX_POINTS);
    assert_int_equal(qry_thin_series(&t, &spec, &budget, &s, &err), 0);
    assert_true(t.cap_ts >= 20 && t.cap_ts < 100);
    qry_thin_release(&t);
    assert_int_equal(atomic_load(&account.used_bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thin__random_series_as_the_reference),
        cmocka_unit_test(test_thin__figures_are_of_all_points),
        cmocka_unit_test(test_thin__large_integers_and_doubles_compare_exactly),
        cmocka_unit_test(test_thin__nothing_and_no_value),
        cmocka_unit_test(test_thin__times_outside_and_the_longest_range),
        cmocka_unit_test(test_thin__memory_is_counted_and_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
