/*
 * test_group.c - series of a group into one: interpolation, integers and doubles, rates. Examples E1..E19 and
 * E20..E27 of docs/OPENTSDB.md, section 9 (offsets in seconds).
 */
#include "query/execution/group.h"

#include "query/language/parse.h"
#include "query/execution/rate.h"
#include "tests/unit/t_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE_S     1499997600ll
#define MAX_SERIES 4

/* "0:5 20:9 40:7.5": a '.' makes a double. */
static void parse_span(const char *text, struct qry_span *s)
{
    static const uint32_t int_flags = (uint32_t)TS_NUM_INT << STO_META_KIND_SHIFT;
    static const uint32_t raw_flags = (uint32_t)TS_NUM_RAW << STO_META_KIND_SHIFT;
    memset(s, 0, sizeof *s);
    while (*text) {
        char *end;
        int64_t t = (BASE_S + strtoll(text, &end, 10)) * 1000, m;
        const char *v = end + 1;
        size_t len = strcspn(v, " ");
        struct ts_num num;
        assert_int_equal(ts_num_parse((struct ts_slice){v, len}, &num, NULL), 0);
        double d = ts_num_double(num);
        if (num.kind == TS_NUM_INT)
            m = num.m;
        else
            memcpy(&m, &d, 8);
        uint32_t meta =
            (num.kind == TS_NUM_INT ? int_flags : raw_flags) | (uint32_t)ts_floor_mod(t, TS_HOUR_MS);
        struct sto_cells c = {
            .n = 1, .uniform = true, .common = meta & STO_META_FLAGS_MASK, .meta = &meta, .m = &m};
        assert_int_equal(qry_span_append(s, sto_hour(t), &c, NULL), 0);
        text = v + len;
        text += *text == ' ';
    }
}

static void print_value(const struct qry_result *r, size_t k, char *out, size_t n)
{
    char num[TS_NUM_TEXT_BYTES + 1];
    bool is_int = r->is_int ? r->is_int[k] : r->all_int;
    double d;
    memcpy(&d, &r->v[k], 8);
    size_t len = is_int ? ts_num_print_int((int64_t)r->v[k], num) : ts_num_print_java(d, num);
    snprintf(out, n, "%s%lld:%.*s", k ? " " : "", (long long)(r->ts[k] / 1000 - BASE_S), (int)len, num);
}

/* One query over spans; the result as text. */
static void run(const char *agg, const char *rate, bool compat, int64_t start_s, int64_t end_s,
                const char *const *text, char *out, size_t out_bytes, int want_rc)
{
    struct qry_spec spec = {
        .start_ms = (BASE_S + start_s) * 1000, .end_ms = (BASE_S + end_s) * 1000, .compat = compat};
    struct qry_sub sub = {.agg = qry_agg_find(ts_slice_str(agg), compat)};
    struct qry_plan plan = {.spec = &spec, .sub = &sub};
    struct qry_span spans[MAX_SERIES];
    const struct qry_span *ptr[MAX_SERIES];
    uint32_t ranks[MAX_SERIES];
    struct qry_budget budget;
    struct qry_result r;
    struct ts_error err = {0};
    size_t n = 0;
    assert_non_null(sub.agg);
    for (; text[n]; n++) {
        parse_span(text[n], &spans[n]);
        if (rate) {
            assert_int_equal(qry_parse_rate(ts_slice_str(rate), &sub.rate, &err), 0);
            qry_rate_span(&sub.rate, compat, &spans[n]);
        }
        ptr[n] = &spans[n];
        ranks[n] = (uint32_t)n;
    }
    qry_budget_init(&budget, NULL);
    assert_int_equal(qry_group_spans(&plan, ptr, ranks, n, NULL, &budget, &r, &err), want_rc);
    out[0] = 0;
    for (size_t k = 0; want_rc == 0 && k < r.n; k++)
        print_value(&r, k, out + strlen(out), out_bytes - strlen(out));
    if (want_rc)
        snprintf(out, out_bytes, "%s", err.text);
    qry_result_release(&r);
    for (size_t i = 0; i < n; i++)
        qry_span_release(&spans[i]);
}

struct group_case {
    const char *agg, *rate;
    int64_t start, end;
    const char *series[MAX_SERIES];
    const char *want;
};

static void check(const struct group_case *cases, size_t n, bool compat)
{
    for (size_t c = 0; c < n; c++) {
        char got[1000];
        run(cases[c].agg, cases[c].rate, compat, cases[c].start, cases[c].end, cases[c].series, got,
            sizeof got, 0);
        if (strcmp(got, cases[c].want) != 0)
            fail_msg("case %zu, %s:\n got  %s\n want %s", c, cases[c].agg, got, cases[c].want);
    }
}

#define A3 "0:5 20:9 40:7"
#define C3 "10:4 30:8"

static void test_group__merges_as_the_examples(void **state)
{
    (void)state;
    static const struct group_case cases[] = {
        {"sum", NULL, 0, 100, {"0:10 20:13", "10:100 30:101"}, "0:10 10:111 20:113 30:101"},
        {"sum", NULL, 0, 100, {"0:0 3:-2", "1:0 2:0"}, "0:0 1:0 2:-1 3:-2"},
        {"zimsum", NULL, 0, 100, {A3, C3}, "0:5 10:4 20:9 30:8 40:7"},
        {"pfsum", NULL, 0, 100, {A3, C3}, "0:5 10:9 20:13 30:17 40:7"},
        {"max", NULL, 0, 100, {A3, C3}, "0:5 10:7 20:9 30:8 40:7"},
        {"min", NULL, 0, 100, {A3, C3}, "0:5 10:4 20:6 30:8 40:7"},
        {"mimmax", NULL, 0, 100, {A3, C3}, "0:5 10:4 20:9 30:8 40:7"},
        {"mimmin", NULL, 0, 100, {A3, C3}, "0:5 10:4 20:9 30:8 40:7"},
        {"count", NULL, 0, 100, {A3, C3}, "0:1 10:2 20:2 30:2 40:1"},
        {"first", NULL, 0, 100, {A3, C3}, "0:5 10:0 20:9 30:0 40:7"},
        {"last", NULL, 0, 100, {A3, C3}, "0:5 10:4 20:0 30:8 40:7"},
        {"diff", NULL, 0, 100, {A3, C3}, "0:0 10:-3 20:-3 30:0 40:0"},
        {"mult", NULL, 0, 100, {A3, C3}, "0:5 10:28 20:54 30:64 40:7"},
        {"squareSum", NULL, 0, 100, {A3, C3}, "0:25 10:16 20:81 30:64 40:49"},
        {"avg", NULL, 0, 100, {A3, C3}, "0:5 10:5 20:7 30:8 40:7"},
        {"median", NULL, 0, 100, {A3, C3}, "0:5 10:7 20:9 30:8 40:7"},
        {"dev", NULL, 0, 100, {A3, C3}, "0:0 10:1 20:1 30:0 40:0"},
        {"zimsum", NULL, 0, 100, {"0:1 10:2 40:3", "20:10 30:20"}, "0:1 10:2 20:10 30:20 40:3"},
        {"sum", NULL, 0, 100, {"0:10 60:70", "10:1 20:2"}, "0:10 10:21 20:32 60:70"},
        {"avg", NULL, 0, 100, {"0:-3", "0:0"}, "0:-1"},
        {"avg", NULL, 0, 100, {"0:1 10:3", "0:2.0 10:4.5"}, "0:1.5 10:3.75"},
        {"sum", NULL, 0, 100, {"0:1 10:2.5 20:3 30:4 40:5"}, "0:1.0 10:2.5 20:3 30:4 40:5"},
        {"sum", NULL, 0, 100, {"0:1 10:2 20:3 30:4", "0:0.5 10:1.5"}, "0:1.5 10:3.5 20:3 30:4"},
        {"sum", NULL, 5, 15, {"0:10 10:20 20:30", "8:1 18:11"}, "8:19 10:23"},
        {"sum", NULL, 0, 100, {"0:9223372036854775807", "0:1"}, "0:-9223372036854775808"},
        /* a series that has not begun holds its first point: doubles before it */
        {"sum", NULL, 0, 100, {"0:1 10:2 20:3", "20:0.5"}, "0:1.0 10:2.0 20:3.5"},
        {"sum", NULL, 0, 100, {"", ""}, ""},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
    check(cases, sizeof cases / sizeof cases[0], true);
}

static void test_group__lines_between_large_integers_do_not_overflow(void **state)
{
    (void)state;
    static const struct group_case cases[] = {
        {"max",
         NULL,
         0,
         5000,
         {"0:0 3600:9000000000000000000", "1800:1"},
         "0:0 1800:4500000000000000000 3600:9000000000000000000"},
        {"min",
         NULL,
         0,
         100,
         {"0:-9223372036854775808 20:9223372036854775807", "10:5"},
         "0:-9223372036854775808 10:-1 20:9223372036854775807"},
    };
    check(cases, 2, false);
}

static void test_group__rates_as_the_examples(void **state)
{
    (void)state;
    static const char a[] = "0:1000000 10:1000100 20:1000300", c[] = "5:3000000 15:3000050 25:3000150";
    static const struct group_case cases[] = {
        {"sum", "rate", 0, 100, {"0:100 10:150 20:140 40:200"}, "10:5.0 20:-1.0 40:3.0"},
        {"sum", "rate", 0, 100, {a, c}, "10:10.0 15:15.0 20:25.0 25:10.0"},
        {"sum", "rate", 15, 100, {"0:100 10:150 20:140 40:200"}, "20:-1.0 40:3.0"},
        {"sum", "rate{counter,65535}", 0, 100, {"0:64000 10:1000"}, "10:253.5"},
        {"sum", "rate{counter}", 0, 100, {"0:64000 10:1000"}, "10:9.223372036854712E17"},
        {"sum", "rate{counter,65535,100}", 0, 100, {"0:2000 30:500 60:530"}, "30:0.0 60:1.0"},
        {"sum", "rate{dropcounter,65535}", 0, 100, {"0:2000 30:500 60:530"}, "60:1.0"},
        {"sum", "rate{counter,,5}", 0, 100, {"0:0 10:1000"}, "10:100.0"},
        {"sum", "rate", 0, 100, {"50:10"}, ""},
        {"sum", "rate", 0, 100, {"0:1 10:2.5 20:3"}, "10:0.15 20:0.05"},
    };
    check(cases, sizeof cases / sizeof cases[0], false);
    static const struct group_case leaks[] = {
        {"sum", "rate", 0, 100, {a, c}, "10:10.002000003193338 15:15.0 20:25.0 25:10.0"},
        {"sum", "rate", 0, 100, {"0:100 10:150 20:140 40:200"}, "10:5.0 20:-1.0 40:3.0"},
    };
    check(leaks, 2, true);
}

static void test_group__infinity_ends_the_query(void **state)
{
    (void)state;
    static const char *const series[] = {"0:1e200", "0:1e200", NULL};
    char got[300];
    run("mult", NULL, false, 0, 100, series, got, sizeof got, TS_EINVAL);
    assert_memory_equal(got, "Got Infinity: ", 14);
}

/* 300 series: three slices, joined in order; the same with and without a pool. */
static void test_group__slices_and_threads_do_not_show(void **state)
{
    (void)state;
    static const char *const aggs[] = {"sum",  "avg", "dev",    "mult", "first", "last",
                                       "diff", "p90", "median", "min",  "count"};
    enum { N = 300, POINTS = 40 };
    struct qry_span *spans = calloc(N, sizeof *spans);
    const struct qry_span *ptr[N];
    uint32_t ranks[N];
    uint64_t x = 2463534242ull;
    for (size_t s = 0; s < N; s++) {
        for (int k = 0; k < POINTS; k++) {
            (void)t_random(&x);
            bool dbl = s % 3 == 1 || (s % 3 == 2 && x % 5 == 0);
            double d = (double)(x % 1000) / 16 + 1;
            int64_t m = (int64_t)(x % 1000) + 1;
            if (dbl)
                memcpy(&m, &d, 8);
            uint32_t meta = (dbl ? (uint32_t)TS_NUM_RAW << STO_META_KIND_SHIFT : 0) |
                            (uint32_t)(k * 1000 * (1 + (int)(s % 4)));
            struct sto_cells c = {
                .n = 1, .uniform = true, .common = meta & STO_META_FLAGS_MASK, .meta = &meta, .m = &m};
            assert_int_equal(qry_span_append(&spans[s], 400000, &c, NULL), 0);
        }
        ptr[s] = &spans[s];
        ranks[s] = (uint32_t)(N - 1 - s);
    }
    struct ts_pool *pool = ts_pool_new(3, "t");
    for (size_t a = 0; a < sizeof aggs / sizeof aggs[0]; a++) {
        struct qry_spec spec = {.start_ms = INT64_MIN / 2, .end_ms = INT64_MAX / 2};
        struct qry_sub sub = {.agg = qry_agg_find(ts_slice_str(aggs[a]), false)};
        struct qry_plan plan = {.spec = &spec, .sub = &sub};
        struct qry_result one, many;
        struct qry_budget budget;
        struct ts_error err = {0};
        qry_budget_init(&budget, NULL);
        int rc = qry_group_spans(&plan, ptr, ranks, N, NULL, &budget, &one, &err);
        assert_int_equal(qry_group_spans(&plan, ptr, ranks, N, pool, &budget, &many, &err), rc);
        if (rc == 0) {
            assert_int_equal(one.n, many.n);
            assert_memory_equal(one.ts, many.ts, one.n * 8);
            assert_memory_equal(one.v, many.v, one.n * 8);
            assert_memory_equal(one.is_int, many.is_int, one.n);
        } else {
            assert_string_equal(aggs[a], "mult");
        }
        qry_result_release(&one);
        qry_result_release(&many);
    }
    ts_pool_free(pool);
    for (size_t s = 0; s < N; s++)
        qry_span_release(&spans[s]);
    free(spans);
}

static void test_group__unions_of_times(void **state)
{
    (void)state;
    struct qry_span s[3];
    struct qry_stamps g;
    struct qry_budget free_run;
    qry_budget_init(&free_run, NULL);
    parse_span("1:1 3:1 5:1", &s[0]);
    parse_span("0:1 3:1 9:1 11:2", &s[1]);
    parse_span("", &s[2]);
    const struct qry_span *p[] = {&s[0], &s[0], &s[1], &s[2]};
    assert_int_equal(qry_stamps_of_spans(p, 4, &free_run, &g, NULL), 0);
    static const int64_t want[] = {0, 1, 3, 5, 9, 11};
    assert_int_equal(g.n, 6);
    for (size_t k = 0; k < 6; k++)
        assert_int_equal(g.ts[k] / 1000 - BASE_S, want[k]);
    size_t at[4];
    qry_align_places(&g, s[1].ts, 4, at);
    assert_true(at[0] == 0 && at[1] == 2 && at[2] == 4 && at[3] == 5);
    qry_stamps_release(&g);
    assert_int_equal(qry_stamps_of_spans(NULL, 0, &free_run, &g, NULL), 0);
    assert_int_equal(g.n, 0);
    for (int k = 0; k < 3; k++)
        qry_span_release(&s[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group__merges_as_the_examples),
        cmocka_unit_test(test_group__lines_between_large_integers_do_not_overflow),
        cmocka_unit_test(test_group__rates_as_the_examples),
        cmocka_unit_test(test_group__infinity_ends_the_query),
        cmocka_unit_test(test_group__slices_and_threads_do_not_show),
        cmocka_unit_test(test_group__unions_of_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
