/*
 * test_aggs.c - the table of aggregators; folds and lanes on arrays.
 */
#include "query/aggregators/agg.h"
#include "query/limit.h"

#include "base/mem.h"
#include "query/query.h"
#include "tests/unit/t_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct qry_agg *agg(const char *name)
{
    const struct qry_agg *a = qry_agg_find(ts_slice_str(name), false);
    assert_non_null(a);
    return a;
}

static struct qry_budget free_run; /* without limits */

static void reserve(const struct qry_agg *a, void *st, size_t n, const void *from)
{
    if (a->bucket_acc->reserve)
        assert_int_equal(a->bucket_acc->reserve(st, n, from, NULL, NULL), 0);
}

/* A fold of doubles and then integers, in pieces of `step`, each piece into one of two states that are
 * merged. */
static struct qry_value fold(const struct qry_agg *a, const double *d, size_t nd, const int64_t *i, size_t ni,
                             size_t step, bool two)
{
    unsigned char *st[2];
    for (int k = 0; k < 2; k++) {
        st[k] = ts_xaligned(a->bucket_acc->state_bytes);
        memset(st[k], 0, a->bucket_acc->state_bytes);
    }
    int64_t t = 0;
    for (size_t at = 0; at < nd; at += step) {
        size_t n = nd - at < step ? nd - at : step;
        reserve(a, st[two && at >= nd / 2], n, NULL);
        a->bucket_acc->add_f64(st[two && at >= nd / 2], d + at, n, t, t + (int64_t)n - 1);
        t += (int64_t)n;
    }
    for (size_t at = 0; at < ni; at += step) {
        size_t n = ni - at < step ? ni - at : step;
        reserve(a, st[two && at >= ni / 2], n, NULL);
        a->bucket_acc->add_i64(st[two && at >= ni / 2], i + at, n, t, t + (int64_t)n - 1);
        t += (int64_t)n;
    }
    struct qry_value out;
    reserve(a, st[0], 0, st[1]);
    a->bucket_acc->merge(st[0], st[1]);
    a->bucket_acc->done(st[0], a, &out);
    for (int k = 0; k < 2; k++) {
        if (a->bucket_acc->reset)
            a->bucket_acc->reset(st[k]);
        ts_free(st[k]);
    }
    return out;
}

static void test_aggs__table_has_the_names_of_opentsdb(void **state)
{
    (void)state;
    static const char *const names[] = {
        "sum",    "min",     "max",    "avg",    "none",   "median", "mult",   "dev",       "diff",
        "count",  "zimsum",  "mimmin", "mimmax", "first",  "last",   "pfsum",  "squareSum", "p50",
        "p75",    "p90",     "p95",    "p99",    "p999",   "ep50r3", "ep75r3", "ep90r3",    "ep95r3",
        "ep99r3", "ep999r3", "ep50r7", "ep75r7", "ep90r7", "ep95r7", "ep99r7", "ep999r7"};
    size_t n = 0;
    for (; qry_agg_name(n); n++) {
        assert_string_equal(qry_agg_name(n), qry_agg_table()[n].name);
        assert_non_null(qry_agg_table()[n].help);
    }
    assert_true(n >= 35); /* ours stand behind them */
    for (size_t k = 0; k < 35; k++)
        assert_string_equal(qry_agg_name(k), names[k]); /* OpenTSDB's order */
    assert_null(qry_agg_find(TS_SLICE_LIT("Sum"), false));
    assert_null(qry_agg_find(TS_SLICE_LIT("squaresum"), false));
    assert_null(qry_agg_find(TS_SLICE_LIT(""), false));
    assert_true(qry_agg_is_none(agg("none")));
    for (const struct qry_agg *a = qry_agg_table(); a->name; a++)
        if (a->bucket_acc)
            assert_int_equal(a->bucket_acc->state_bytes % 16, 0);
}

struct fold_case {
    const char *name;
    double want; /* over the doubles 1.5, 9, -4, 9 */
};

static void test_aggs__folds_of_doubles(void **state)
{
    (void)state;
    static const double v[] = {1.5, 9, -4, 9};
    static const struct fold_case cases[] = {
        {"sum", 15.5},  {"zimsum", 15.5}, {"pfsum", 15.5},  {"min", -4},           {"max", 9},
        {"mimmin", -4}, {"mimmax", 9},    {"avg", 3.875},   {"median", 9},         {"mult", -486},
        {"diff", 7.5},  {"first", 1.5},   {"last", 9},      {"squareSum", 180.25}, {"p50", 5.25},
        {"p75", 9},     {"ep50r3", 1.5},  {"ep50r7", 5.25}, {"ep75r7", 9},         {"p999", 9}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t step = 1; step <= 4; step++) {
            struct qry_value got = fold(agg(cases[c].name), v, 4, NULL, 0, step, step == 2);
            assert_false(got.is_int);
            if (got.d != cases[c].want)
                fail_msg("%s in steps of %zu: %.17g, not %.17g", cases[c].name, step, got.d, cases[c].want);
        }
    }
    struct qry_value got = fold(agg("count"), v, 4, NULL, 0, 3, true);
    assert_true(got.is_int && got.i == 4);
    got = fold(agg("dev"), v, 4, NULL, 0, 4, false);
    assert_true(fabs(got.d - sqrt((2.375 * 2.375 + 2 * 5.125 * 5.125 + 7.875 * 7.875) / 4)) < 1e-12);
    assert_true(fabs(fold(agg("dev"), v, 4, NULL, 0, 1, true).d - got.d) < 1e-12);
}

static void test_aggs__integers_stay_integers_beyond_64_bits(void **state)
{
    (void)state;
    int64_t v[] = {INT64_MAX, INT64_MAX, INT64_MIN, 3, -5};
    struct qry_value got = fold(agg("sum"), NULL, 0, v, 2, 1, true);
    assert_true(got.is_int && got.i == (__int128)INT64_MAX * 2);
    got = fold(agg("sum"), NULL, 0, v, 5, 2, false);
    assert_true(got.is_int && got.i == (__int128)INT64_MAX + -1 + 3 - 5);
    got = fold(agg("avg"), NULL, 0, v + 3, 2, 1, true);
    assert_true(!got.is_int && got.d == -1);
    got = fold(agg("min"), NULL, 0, v, 5, 5, false);
    assert_true(got.is_int && got.i == INT64_MIN);
    got = fold(agg("max"), NULL, 0, v, 5, 1, true);
    assert_true(got.is_int && got.i == INT64_MAX);
    got = fold(agg("diff"), NULL, 0, v + 1, 2, 1, false);
    assert_true(got.is_int && got.i == (__int128)INT64_MIN - INT64_MAX);
    got = fold(agg("median"), NULL, 0, v, 5, 2, true);
    assert_true(got.is_int && got.i == 3);
    /* squares and products that leave 127 bits become doubles */
    got = fold(agg("squareSum"), NULL, 0, v, 3, 1, false);
    assert_false(got.is_int);
    assert_true(fabs(got.d / (3 * 0x1p126) - 1) < 1e-15);
    got = fold(agg("squareSum"), NULL, 0, v + 3, 2, 1, true);
    assert_true(got.is_int && got.i == 34);
    got = fold(agg("mult"), NULL, 0, v, 3, 1, true);
    assert_false(got.is_int);
    assert_true(fabs(got.d / -0x1p189 - 1) < 1e-15);
    got = fold(agg("mult"), NULL, 0, v + 3, 2, 1, true);
    assert_true(got.is_int && got.i == -15);
}

static void test_aggs__a_double_makes_the_answer_a_double(void **state)
{
    (void)state;
    double d[] = {0.5};
    int64_t i[] = {1ll << 60, 1};
    struct qry_value got = fold(agg("sum"), d, 1, i, 2, 1, true);
    assert_true(!got.is_int && got.d == 0x1p60); /* exact sum 2^60 + 1.5, rounded once */
    got = fold(agg("max"), d, 1, i, 2, 1, true);
    assert_true(!got.is_int && got.d == 0x1p60);
    got = fold(agg("min"), d, 1, i, 2, 1, true);
    assert_true(!got.is_int && got.d == 0.5);
    got = fold(agg("last"), d, 1, i, 2, 1, false);
    assert_true(got.is_int && got.i == 1);
}

static void test_aggs__nothing_is_nan_and_counts_zero(void **state)
{
    (void)state;
    for (const struct qry_agg *a = qry_agg_table(); a->name; a++) {
        if (!a->bucket_acc)
            continue;
        struct qry_value got = fold(a, NULL, 0, NULL, 0, 1, false);
        if (strcmp(a->name, "count") == 0)
            assert_true(got.is_int && got.i == 0);
        else
            assert_true(!got.is_int && isnan(got.d));
    }
}

static void test_aggs__sums_do_not_depend_on_order(void **state)
{
    (void)state;
    double v[1000], sum_up, sum_down;
    uint64_t x = 88172645463325252ull;
    for (size_t k = 0; k < 1000; k++) {
        (void)t_random(&x);
        v[k] = (double)(int64_t)(x >> 11) * (k % 7 ? 1e-9 : 1e-300) * (k % 2 ? 1 : -1);
    }
    sum_up = fold(agg("sum"), v, 1000, NULL, 0, 7, true).d;
    for (size_t k = 0; k < 500; k++) {
        double t = v[k];
        v[k] = v[999 - k];
        v[999 - k] = t;
    }
    sum_down = fold(agg("sum"), v, 1000, NULL, 0, 64, false).d;
    assert_memory_equal(&sum_up, &sum_down, 8);
}

static void test_aggs__decimals_and_hours_equal_points(void **state)
{
    (void)state;
    static const char *const names[] = {"min", "max", "count", "first", "last", "diff"};
    int64_t m[] = {-1234, 5, 99999, 42};
    double d[4];
    for (int k = 0; k < 4; k++)
        d[k] = (double)m[k] / 100;
    for (size_t c = 0; c < sizeof names / sizeof names[0]; c++) {
        const struct qry_agg *a = agg(names[c]);
        unsigned char st[64] __attribute__((aligned(16))) = {0};
        struct qry_value want = fold(a, d, 4, NULL, 0, 2, false), got;
        a->bucket_acc->add_dec(st, m, 4, 2, 0, 3);
        a->bucket_acc->done(st, a, &got);
        assert_int_equal(got.is_int, want.is_int);
        assert_true(got.is_int ? got.i == want.i : got.d == want.d);
    }
    struct qry_hour h = {.n = 4,
                         .has_sum = true,
                         .first_ms = 0,
                         .last_ms = 3,
                         .first = {-1234, TS_NUM_DEC, 2},
                         .last = {42, TS_NUM_DEC, 2},
                         .min = {-1234, TS_NUM_DEC, 2},
                         .max = {99999, TS_NUM_DEC, 2}};
    struct ts_xsum x;
    ts_xsum_init(&x);
    ts_xsum_add_n(&x, d, 4);
    h.sum = x.fix;
    for (const struct qry_agg *a = qry_agg_table(); a->name; a++) {
        if (!a->bucket_acc || !a->bucket_acc->add_hour)
            continue;
        unsigned char st[64] __attribute__((aligned(16))) = {0};
        struct qry_value want = fold(a, d, 4, NULL, 0, 1, false), got;
        a->bucket_acc->add_hour(st, &h);
        a->bucket_acc->done(st, a, &got);
        assert_true(got.is_int ? got.i == want.i : got.d == want.d);
        if (a->bucket_acc->reset)
            a->bucket_acc->reset(st);
    }
}

static void test_aggs__percentile_rules(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t want; /* of ten integer series 10..100 */
    } cases[] = {{"p75", 82}, {"ep75r3", 80}, {"ep75r7", 77}, {"p95", 100}, {"ep95r3", 100}, {"ep95r7", 95}};
    for (size_t c = 0; c < 6; c++) {
        struct qry_group_acc l;
        int64_t out;
        qry_group_acc_open(&l, agg(cases[c].name), 1, true, &free_run);
        for (int64_t v = 100; v >= 10; v -= 10)
            l.ops->add_i64(&l, 0, &v, 1, 0);
        l.ops->done_i64(&l, &out);
        assert_int_equal(out, cases[c].want);
        qry_group_acc_close(&l);
    }
    double v[1000];
    static const double p[] = {.5, .75, .9, .95, .99, .999};
    static const double want[] = {500.5, 750.75, 900.9, 950.95, 990.99, 999.999};
    for (int c = 0; c < 6; c++) {
        for (int k = 0; k < 1000; k++)
            v[k] = (k * 617 % 1000) + 1;
        assert_true(fabs(qry_percentile(v, 1000, p[c], QRY_RANK_LEGACY) - want[c]) < 1e-9);
    }
    double one = 7;
    assert_true(qry_percentile(&one, 1, .5, QRY_RANK_LEGACY) == 7);
    assert_true(qry_percentile(&one, 1, .999, QRY_RANK_R7) == 7);
    assert_true(qry_percentile(&one, 1, .5, QRY_RANK_R3) == 7);
}

static void test_aggs__percentiles_equal_a_sort(void **state)
{
    (void)state;
    uint64_t x = 1181783497276652981ull;
    double v[200], sorted[200];
    for (int round = 0; round < 300; round++) {
        size_t n = 1 + (size_t)(x % 200);
        for (size_t k = 0; k < n; k++) {
            (void)t_random(&x);
            v[k] = (double)(int)(x % (uint64_t)(1 + round));
            size_t at = k;
            for (; at && sorted[at - 1] > v[k]; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = v[k];
        }
        double h = .9 * (double)(n + 1), want;
        size_t f = (size_t)h;
        want = h < 1            ? sorted[0]
               : h >= (double)n ? sorted[n - 1]
                                : sorted[f - 1] + (h - (double)f) * (sorted[f] - sorted[f - 1]);
        assert_true(qry_percentile(v, n, .9, QRY_RANK_LEGACY) == want);
    }
}

static void test_aggs__compat_drops_the_rule_for_doubles(void **state)
{
    (void)state;
    const struct qry_agg *a = qry_agg_find(TS_SLICE_LIT("ep75r3"), true), *plain = agg("ep75r3");
    double v[10];
    for (int k = 0; k < 10; k++)
        v[k] = 10 * (k + 1);
    assert_true(fold(a, v, 10, NULL, 0, 3, false).d == 82.5);
    assert_true(fold(plain, v, 10, NULL, 0, 3, false).d == 80);
    assert_ptr_equal(qry_agg_find(TS_SLICE_LIT("p75"), true), agg("p75"));
}

/* Two series into lanes, at once and in two parts; NaN left out. */
static void test_aggs__lanes_skip_nan_and_merge(void **state)
{
    (void)state;
    static const double a[] = {1, NAN, 3, NAN}, b[] = {10, 20, NAN, NAN};
    static const struct {
        const char *name;
        double want[4];
    } cases[] = {
        {"sum", {11, 20, 3, NAN}},     {"avg", {5.5, 20, 3, NAN}},        {"min", {1, 20, 3, NAN}},
        {"max", {10, 20, 3, NAN}},     {"count", {2, 1, 1, 0}},           {"dev", {4.5, 0, 0, NAN}},
        {"mult", {10, NAN, NAN, NAN}}, {"first", {1, NAN, 3, NAN}},       {"last", {10, 20, NAN, NAN}},
        {"diff", {9, 0, NAN, NAN}},    {"squareSum", {101, 400, 9, NAN}}, {"median", {10, 20, 3, NAN}},
        {"p50", {5.5, 20, 3, NAN}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct qry_agg *g = agg(cases[c].name);
        for (int parts = 1; parts <= 2; parts++) {
            struct qry_group_acc l, m;
            double out[4];
            qry_group_acc_open(&l, g, 4, false, &free_run);
            qry_group_acc_open(&m, g, 4, false, &free_run);
            /* the later series comes first: rank decides, not arrival */
            (parts == 2 ? m : l).ops->add_f64(parts == 2 ? &m : &l, 0, b, 4, 1);
            l.ops->add_f64(&l, 0, a, 4, 0);
            l.ops->merge(&l, &m);
            l.ops->done_f64(&l, out);
            for (int k = 0; k < 4; k++)
                if (!(out[k] == cases[c].want[k] || (isnan(out[k]) && isnan(cases[c].want[k]))))
                    fail_msg("%s[%d] in %d parts: %g, not %g", g->name, k, parts, out[k], cases[c].want[k]);
            qry_group_acc_close(&l);
            qry_group_acc_close(&m);
        }
    }
}

static void test_aggs__integer_lanes_wrap_and_truncate(void **state)
{
    (void)state;
    static const int64_t a[] = {INT64_MAX, -3, 7}, b[] = {1, 0, 5};
    static const struct {
        const char *name;
        int64_t want[3];
    } cases[] = {{"sum", {INT64_MIN, -3, 12}},
                 {"avg", {INT64_MIN / 2, -1, 6}},
                 {"min", {1, -3, 5}},
                 {"max", {INT64_MAX, 0, 7}},
                 {"count", {2, 2, 2}},
                 {"mult", {INT64_MAX, 0, 35}},
                 {"diff", {-INT64_MAX + 1, 3, -2}},
                 {"first", {INT64_MAX, -3, 7}},
                 {"last", {1, 0, 5}},
                 {"squareSum", {2, 9, 74}},
                 {"median", {INT64_MAX, 0, 7}},
                 {"p50", {1ll << 62, -1, 6}},
                 {"dev", {1ll << 62, 1, 1}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct qry_agg *g = agg(cases[c].name);
        struct qry_group_acc l;
        int64_t out[3];
        qry_group_acc_open(&l, g, 3, true, &free_run);
        l.ops->add_i64(&l, 0, a, 3, 0);
        l.ops->add_i64(&l, 0, b, 1, 1);
        l.ops->add_i64(&l, 1, b + 1, 2, 1);
        l.ops->done_i64(&l, out);
        for (int k = 0; k < 3; k++)
            if (out[k] != cases[c].want[k])
                fail_msg("%s[%d]: %lld, not %lld", g->name, k, (long long)out[k],
                         (long long)cases[c].want[k]);
        qry_group_acc_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aggs__table_has_the_names_of_opentsdb),
        cmocka_unit_test(test_aggs__folds_of_doubles),
        cmocka_unit_test(test_aggs__integers_stay_integers_beyond_64_bits),
        cmocka_unit_test(test_aggs__a_double_makes_the_answer_a_double),
        cmocka_unit_test(test_aggs__nothing_is_nan_and_counts_zero),
        cmocka_unit_test(test_aggs__sums_do_not_depend_on_order),
        cmocka_unit_test(test_aggs__decimals_and_hours_equal_points),
        cmocka_unit_test(test_aggs__percentile_rules),
        cmocka_unit_test(test_aggs__percentiles_equal_a_sort),
        cmocka_unit_test(test_aggs__compat_drops_the_rule_for_doubles),
        cmocka_unit_test(test_aggs__lanes_skip_nan_and_merge),
        cmocka_unit_test(test_aggs__integer_lanes_wrap_and_truncate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
