/*
 * test_query_memory.c - limits of every kind of query: its account counts what malloc really gave, all of it comes back, a query
 * that is refused never had more than its limit; whoever cancels one ends it at its next look at the limits.
 *
 * malloc and its like are this program's own here (but not with sanitizers, which have theirs): they count the bytes in use.
 * All points lie in memory here; what readers hold of files is counted in tests/unit/engine/test_merge.c.
 */
#include "query/execution/explain.h"
#include "query/expressions/exprquery.h"
#include "query/functions/gexp.h"
#include "query/execution/internal_metric.h"
#include "query/query.h"

#include "base/cut.h"
#include <malloc.h>
#include <stdatomic.h>

#include "tests/memory/query_memory_kit.h"
#include "tests/unit/t_random.h"

#define FACTOR_PCT 125       /* what malloc gave may be so much of what is counted, */
#define SLACK      (8 * MIB) /* and this much more: readers, stacks of blocks */

/* --- counting --- */
static _Atomic int64_t live_bytes, peak_bytes;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define T_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T_SANITIZED 1
#endif
#ifndef T_SANITIZED

static void *counted(void *p)
{
    if (!p)
        return NULL;
    int64_t now =
        atomic_fetch_add(&live_bytes, (int64_t)malloc_usable_size(p)) + (int64_t)malloc_usable_size(p);
    int64_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now))
        ;
    return p;
}

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

void *malloc(size_t n)
{
    return counted(__libc_malloc(n));
}
void *calloc(size_t n, size_t size)
{
    return counted(__libc_calloc(n, size));
}
void *realloc(void *p, size_t n)
{
    int64_t old = p ? (int64_t)malloc_usable_size(p) : 0;
    void *q = __libc_realloc(p, n);
    if (q || !n)
        atomic_fetch_sub(&live_bytes, old);
    return counted(q);
}
void *aligned_alloc(size_t align, size_t n)
{
    return counted(__libc_memalign(align, n));
}
void free(void *p)
{
    if (p)
        atomic_fetch_sub(&live_bytes, (int64_t)malloc_usable_size(p));
    __libc_free(p);
}

#endif

/* --- queries --- */
enum kind { TOTALS, TABLE, SERIES, GEXP, EXP, LATEST, EXPLAIN, DELETE };

static const struct {
    enum kind kind;
    const char *m, *by;  /* query; breakdown of totals, and further parameters behind & */
    const char *fill;    /* of totals */
    int64_t days;        /* from DAY_S on */
    uint64_t most_bytes; /* what physics needs, generously; the peak must stay below */
    uint64_t n_looks;    /* at least so often the run looks at its limits: its long loops all do */
    const char *why;
} rows[] = {
    {TOTALS, "sum:wide", "hour,host", NULL, 366, 12 * MIB, 3 * N_WIDE / 256,
     "one state and some 100 bytes a series"},
    {TOTALS, "sum:cpus", "hour", "zero", 30000, 80 * MIB, 2812, "cells of 80 years of hours"},
    {TOTALS, "p99:long", "", NULL, 10, 8 * MIB, 30, "8 bytes a point, doubled"},
    {TOTALS, "p90:pct", "day", NULL, 2, 8 * MIB, 26, "8 bytes a point"},
    {TOTALS, "sum:cpus", "hourofday", "zero", 30000, 80 * MIB, 2 * 2812, "hours of 80 years, then 24 cells"},
    {TABLE, "sum:wide", "host&sort=value", NULL, 366, 24 * MIB, 3 * N_WIDE / 256, "rows to be sorted"},
    {TABLE, "sum:wide", "host&top=15000&others=true&sort=name", NULL, 366, 32 * MIB, 4 * N_WIDE / 256,
     "values of the best, then rows"},
    {TABLE, "sum:wide", "hour,host&compare=1d", NULL, 366, 32 * MIB, 4 * N_WIDE / 256, "two values a row"},
    {TABLE, "sum:cpus", "hour,host,cpu&columns=cpu", NULL, 1, 64 * MIB, 24 * N_HOSTS / 256,
     "four columns a row"},
    {SERIES, "sum:1m-avg:cpus{host=*}", NULL, NULL, 1, 48 * MIB, 1570,
     "some groups at a time, their answers"},
    {SERIES, "p99:1m-avg:pct", NULL, NULL, 1, 8 * MIB, 29, "8 bytes a point"},
    {SERIES, "p99:pct", NULL, NULL, 1, 16 * MIB, 300, "24 bytes a point"},
    {SERIES, "sum:long", NULL, NULL, 10, 64 * MIB, 30, "spans, a lane, the answer"},
    {SERIES, "sum:1s-avg-zero:long", NULL, NULL, 12, 160 * MIB, 30, "a million buckets"},
    {SERIES, "none:wide", NULL, NULL, 366, 12 * MIB, N_WIDE, "some 400 bytes a series"},
    {SERIES, "sum:wide{host=*}", NULL, NULL, 366, 24 * MIB, N_WIDE, "some 1000 bytes a series"},
    {SERIES, "sum:wide", NULL, NULL, 366, 24 * MIB, N_WIDE, "lanes of 20,000 times, some at a time"},
    {SERIES, "dev:1m-avg:wide", NULL, NULL, 30, 160 * MIB, N_WIDE / 256, "lanes of 43,000 buckets"},
    {SERIES, "sum:1h-sum:tiny", NULL, NULL, 3, 8 * MIB, 9, "wide sums"},
    {SERIES, "sum:tiny{host=*}", NULL, NULL, 3, 8 * MIB, 40, "spans"},
    {GEXP, "scale(sum:tiny{host=*},2)", NULL, NULL, 3, 16 * MIB, 80, "copies"},
    {EXP, "cpus", NULL, NULL, 1, 32 * MIB, 6000, "columns"},
    {LATEST, "tiny", NULL, NULL, 1, 8 * MIB, 9, "24 bytes a point"},
    {LATEST, "wide", NULL, NULL, 1, 24 * MIB, 3 * N_WIDE / 256, "24 bytes a point"},
    {TOTALS, "sum:tiny", "hour", NULL, 3, 8 * MIB, 9, "wide sums"},
    {SERIES, "sum:percentiles[50,99]:hist", NULL, NULL, 1, 8 * MIB, 20, "counts of three buckets"},
    {SERIES, "none:wide{host=regexp(h0+[0-9]*[05]$)}", NULL, NULL, 366, 40 * MIB, N_WIDE / 256,
     "answers of the expression"},
    {SERIES, "sum:wide{host=iliteral_or(H000001|h000002|nobody)}", NULL, NULL, 366, 8 * MIB, N_WIDE / 256,
     "answers by value"},
    {SERIES, "sum:wide{host=wildcard(h*1)}", NULL, NULL, 366, 40 * MIB, N_WIDE / 256, "answers by value"},
    {EXPLAIN, "sum:wide{host=regexp(1$)}", NULL, NULL, 366, 16 * MIB, N_WIDE / 256, "a plan"},
    {DELETE, "sum:wide", NULL, NULL, 366, 16 * MIB, N_WIDE / 256, "a plan"},
};

static uint64_t n_calls;                 /* of the functions below: parts of answers */
static struct qry_limit *cancel_at_call; /* cancelled by the first of them */

static void called(void)
{
    n_calls++;
    if (cancel_at_call)
        atomic_store(&cancel_at_call->cancelled, true);
}

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)err;
    called();
    *(uint64_t *)arg += s->n;
    return 0;
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    (void)err, (void)t;
    called();
    ++*(uint64_t *)arg;
    return 0;
}

static int on_head(void *arg, const struct qry_head *h, struct ts_error *err)
{
    (void)arg, (void)err;
    assert_true(h->n_values > 0);
    return 0;
}

static int on_target(void *arg, const struct qry_delete_target *d, struct ts_error *err)
{
    (void)err;
    called();
    *(uint64_t *)arg += d->n_points;
    return 0;
}

static int on_latest(void *arg, const struct qry_latest *p, struct ts_error *err)
{
    (void)err;
    called();
    *(uint64_t *)arg += p->n;
    return 0;
}

static int on_exp(void *arg, const struct qry_exp_result *r, struct ts_error *err)
{
    (void)err;
    called();
    *(uint64_t *)arg += r->n_rows;
    return 0;
}

/* A query of m, parsed from its parameters. */
static int run_spec(size_t row, const struct qry_param *p, size_t n_params, struct ts_pool *with,
                    struct qry_limit *limit, struct ts_arena *arena, uint64_t *n, struct ts_error *err)
{
    struct qry_spec spec;
    struct qry_explain x;
    int rc = qry_parse_params(p, n_params, DAY_S * 1000, false, arena, &spec, err);
    if (rc)
        return rc;
    switch (rows[row].kind) {
    case TOTALS:
        return qry_totals(st, with, &spec, limit, on_total, n, err);
    case TABLE:
        return qry_table(st, with, &spec, limit, on_head, on_total, n, err);
    case SERIES:
        return qry_run(st, with, &spec, limit, on_series, n, err);
    case DELETE:
        return qry_delete_find(st, &spec, limit, on_target, n, err);
    default:
        ++*n;
        return qry_explain(st, &spec, limit, 0, arena, &x, err);
    }
}

/* Two metrics in a formula. */
static int run_exp(size_t row, const char *start, const char *end, struct ts_pool *with,
                   struct qry_limit *limit, struct ts_arena *arena, uint64_t *n, struct ts_error *err)
{
    struct qry_exp q;
    char body[600];
    snprintf(body, sizeof body,
             "{\"time\":{\"start\":\"%s\",\"end\":\"%s\",\"aggregator\":\"sum\"},"
             "\"metrics\":[{\"id\":\"a\",\"metric\":\"%s\",\"filter\":\"f\"},{\"id\":\"b\",\"metric\":\"%"
             "s\",\"filter\":\"f\"}],"
             "\"filters\":[{\"id\":\"f\",\"tags\":[{\"tagk\":\"host\",\"type\":\"wildcard\",\"filter\":"
             "\"*\",\"groupBy\":true}]}],"
             "\"expressions\":[{\"id\":\"e\",\"expr\":\"a * 2 + b\"}],\"outputs\":[{\"id\":\"e\"}]}",
             start, end, rows[row].m, rows[row].m);
    int rc = qry_exp_parse(ts_slice_str(body), DAY_S * 1000, false, arena, &q, err);
    if (rc == 0)
        rc = qry_exp_run(st, with, &q, limit, on_exp, n, err);
    return rc;
}

static int run(size_t row, struct ts_pool *with, struct qry_limit *limit, struct ts_error *err)
{
    char start[32], end[32];
    uint64_t n = 0;
    struct ts_arena arena;
    snprintf(start, sizeof start, "%lld", (long long)DAY_S);
    snprintf(end, sizeof end, "%lld", (long long)(DAY_S + rows[row].days * 86400));
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(rows[row].m)},
                            {TS_SLICE_LIT("by"), TS_SLICE_LIT("")},
                            {TS_SLICE_LIT("fill"), ts_slice_str(rows[row].fill ? rows[row].fill : "")},
                            {TS_SLICE_LIT(""), TS_SLICE_LIT("")},
                            {TS_SLICE_LIT(""), TS_SLICE_LIT("")},
                            {TS_SLICE_LIT(""), TS_SLICE_LIT("")}};
    size_t n_params = 3;
    if (rows[row].by) {
        struct ts_slice more = ts_slice_str(rows[row].by);
        p[3].value = ts_slice_cut(&more, '&');
        n_params = rows[row].fill ? 5 : 4;
        for (; more.n; n_params++) {
            p[n_params].value = ts_slice_cut(&more, '&');
            p[n_params].name = ts_slice_cut(&p[n_params].value, '=');
        }
    }
    ts_arena_init(&arena, 0);
    int rc = 0;
    switch (rows[row].kind) {
    case TOTALS:
    case TABLE:
    case SERIES:
    case DELETE:
    case EXPLAIN:
        rc = run_spec(row, p, n_params, with, limit, &arena, &n, err);
        break;
    case GEXP: {
        struct qry_gexp g;
        p[2].name = TS_SLICE_LIT("exp");
        rc = qry_gexp_parse(p, 3, DAY_S * 1000, false, &arena, &g, err);
        if (rc == 0)
            rc = qry_gexp_run(st, with, &g, limit, on_series, &n, err);
        break;
    }
    case EXP:
        rc = run_exp(row, start, end, with, limit, &arena, &n, err);
        break;
    default: {
        struct qry_last_request ask = {
            .timeseries = ts_slice_str(rows[row].m), .n = 500, .now_ms = DAY_S * 1000};
        rc = qry_run_latest(st, with, &ask, limit, on_latest, &n, err);
    }
    }
    ts_arena_release(&arena);
    if (rc == 0)
        assert_true(n > 0);
    return rc;
}

#define WITHIN 1 /* TS_ELIMIT, or done within its limit */

/* Bytes that malloc gave beyond what there was before. */
static int64_t measured(size_t row, struct qry_limit *limit, int want, struct ts_error *err)
{
    int64_t before = atomic_load(&live_bytes);
    atomic_store(&peak_bytes, before);
    int rc = run(row, pool, limit, err);
    bool within = want == WITHIN && rc == 0 &&
                  atomic_load(&limit->memory->peak_bytes) <= limit->max_bytes; /* fewer pieces ran at once */
    if (rc != (want == WITHIN ? TS_ELIMIT : want) && !within)
        fail_msg("%s by %s: %d %s", rows[row].m, rows[row].by ? rows[row].by : "-", rc,
                 rc < 0 ? err->text : "");
    assert_int_equal(atomic_load(&limit->memory->used_bytes), 0); /* all of it came back */
    return atomic_load(&peak_bytes) - before;
}

static void test_memory__the_account_counts_what_malloc_gives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ts_error err = {0};
        struct qry_limit limit = {.max_bytes = 0};
        int64_t real = measured(i, &limit, 0, &err);
        int64_t peak = (int64_t)atomic_load(&limit.memory->peak_bytes);
        print_message("%-24s %-10s counted %7.2f MiB, malloc %7.2f MiB, looks %llu\n", rows[i].m,
                      rows[i].by ? rows[i].by : "", (double)peak / MIB, (double)real / MIB,
                      (unsigned long long)limit.n_looks);
        if (limit.n_looks < rows[i].n_looks)
            fail_msg("%s: %llu looks at the limits", rows[i].m, (unsigned long long)limit.n_looks);
        assert_true(real <= peak * FACTOR_PCT / 100 + SLACK);
        if ((uint64_t)peak > rows[i].most_bytes)
            fail_msg("%s by %s: %lld bytes, should need %llu (%s)", rows[i].m, rows[i].by ? rows[i].by : "-",
                     (long long)peak, (unsigned long long)rows[i].most_bytes, rows[i].why);
    }
}

/* At limits below the need: refused, by name, and never more taken than the limit says. */
static void test_memory__limits_hold_at_every_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qry_limit free_run = {.max_bytes = 0};
        struct ts_error err = {0};
        measured(i, &free_run, 0, &err);
        uint64_t peak = atomic_load(&free_run.memory->peak_bytes);
        for (unsigned part = 1; part < 8; part += 3) {
            uint64_t most = peak * part / 10;
            struct qry_limit limit = {.max_bytes = most};
            err = (struct ts_error){0};
            int64_t real = measured(i, &limit, part == 1 ? TS_ELIMIT : WITHIN, &err);
            if (*err.text && !strstr(err.text, "query_max_bytes"))
                fail_msg("%s by %s at %llu of %llu bytes: %s", rows[i].m, rows[i].by ? rows[i].by : "-",
                         (unsigned long long)most, (unsigned long long)peak, err.text);
            if (real > (int64_t)(most * FACTOR_PCT / 100 + SLACK))
                fail_msg("%s: %lld bytes at a limit of %llu", rows[i].m, (long long)real,
                         (unsigned long long)most);
        }
    }
}

/* Series made cpu by cpu: every group reaches over all of them, and its answer is the sum of its four. */
static int on_host(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)err;
    assert_int_equal(s->n, 12);
    for (size_t k = 0; k < s->n; k++) {
        double d;
        memcpy(&d, &s->v[k], sizeof d);
        assert_int_equal(s->ts_ms[k], (DAY_S + (int64_t)k * 7200) / 60 * 60000);
        assert_true(d == (double)(4 * k));
    }
    ++*(uint64_t *)arg;
    return 0;
}

static void test_memory__pieces_that_follow_groups_answer_the_same(void **state)
{
    (void)state;
    char start[32], end[32];
    struct ts_arena arena;
    struct qry_spec spec;
    uint64_t n = 0;
    snprintf(start, sizeof start, "%lld", (long long)DAY_S - 60);
    snprintf(end, sizeof end, "%lld", (long long)DAY_S + 86400);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), TS_SLICE_LIT("sum:1m-avg:cpus{host=*}")}};
    ts_arena_init(&arena, 0);
    assert_int_equal(qry_parse_params(p, 3, DAY_S * 1000, false, &arena, &spec, NULL), 0);
    assert_int_equal(qry_run(st, pool, &spec, NULL, on_host, &n, NULL), 0);
    assert_int_equal(n, N_HOSTS);
    ts_arena_release(&arena);
}

/* Cancelled or out of time at any look: that is the last one, but for those under way in other threads. */
static void test_memory__a_query_ends_at_its_next_look(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252ull;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qry_limit whole = {.max_bytes = 0};
        struct ts_error err = {0};
        measured(i, &whole, 0, &err);
        for (int k = 0; k < 5; k++) {
            uint64_t at = k == 0 ? 1 : 1 + t_random(&random) % (whole.n_looks * 9 / 10);
            struct qry_limit limit = {.cancel_at_look = at};
            measured(i, &limit, TS_ECANCELLED, &err);
            if (limit.n_looks > at + T_THREADS)
                fail_msg("%s: cancelled at look %llu, ended after %llu", rows[i].m, (unsigned long long)at,
                         (unsigned long long)limit.n_looks);
        }
        struct qry_limit late = {.deadline_ns = 1};
        measured(i, &late, TS_ETIMEOUT, &err);
        assert_non_null(strstr(err.text, "query_timeout_ms"));
        assert_int_equal(late.refusal, QRY_REFUSAL_TIME);
        assert_true(late.n_looks <= 1 + T_THREADS);
    }
}

/* Cancelled while it is printed: of many parts of an answer few follow. */
static void test_memory__a_query_ends_while_it_is_printed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qry_limit whole = {.max_bytes = 0}, limit = {.max_bytes = 0};
        struct ts_error err = {0};
        n_calls = 0;
        assert_int_equal(run(i, pool, &whole, &err), 0);
        if (n_calls < 2 * QRY_LOOK_STEPS)
            continue;
        n_calls = 0;
        cancel_at_call = &limit;
        int rc = run(i, pool, &limit, &err);
        cancel_at_call = NULL;
        if (rc != TS_ECANCELLED || n_calls > QRY_LOOK_STEPS + 1)
            fail_msg("%s by %s: %d, %llu more parts", rows[i].m, rows[i].by ? rows[i].by : "-", rc,
                     (unsigned long long)n_calls - 1);
    }
}

/* One more or one less decides. In one thread, so that the same is counted each time. */
static void test_memory__limits_hold_at_their_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ts_error err = {0};
        struct qry_limit whole = {.max_bytes = 0};
        if (rows[i].kind == EXPLAIN)
            continue; /* it says what would be refused */
        assert_int_equal(run(i, NULL, &whole, &err), 0);
        uint64_t bytes = whole.own.peak_bytes, points = whole.n_points;
        struct qry_limit enough = {.max_bytes = bytes, .max_points = points};
        assert_int_equal(run(i, NULL, &enough, &err), 0);
        /* Readers take memory by steps while there is enough. Wide sums are counted when they are there already: the limit is seen a
         * little later. */
        uint64_t idle = 2 * TS_TALLY_STEP, fewer = bytes > 16 * idle ? bytes - idle - 1 : bytes / 4;
        struct qry_limit few_bytes = {.max_bytes = strstr(rows[i].m, "tiny") ? fewer / 4 * 3 : fewer},
                         few_points = {.max_points = points - 1};
        if (run(i, NULL, &few_bytes, &err) != TS_ELIMIT)
            fail_msg("%s: runs with %llu bytes, though it took one more", rows[i].m,
                     (unsigned long long)fewer);
        assert_non_null(strstr(err.text, "query_max_bytes"));
        assert_int_equal(run(i, NULL, &few_points, &err), TS_ELIMIT);
        assert_non_null(strstr(err.text, "query_max_points"));
        assert_int_equal(few_points.refusal, QRY_REFUSAL_POINTS);
    }
}

static int run_text(const char *m, const char *m2, struct qry_limit *limit, struct ts_error *err)
{
    char start[32], end[32];
    uint64_t n = 0;
    struct ts_arena arena;
    struct qry_spec spec;
    snprintf(start, sizeof start, "%lld", (long long)DAY_S);
    snprintf(end, sizeof end, "%lld", (long long)DAY_S + 86400);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m2 ? m2 : "")}};
    ts_arena_init(&arena, 0);
    int rc = qry_parse_params(p, m2 ? 4 : 3, DAY_S * 1000, false, &arena, &spec, err);
    if (rc == 0)
        rc = qry_run(st, pool, &spec, limit, on_series, &n, err);
    ts_arena_release(&arena);
    return rc;
}

static void test_memory__series_filters_and_sub_queries_have_edges(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct qry_limit l = {.max_series = N_PCT};
    assert_int_equal(run_text("sum:pct", NULL, &l, &err), 0);
    l = (struct qry_limit){.max_series = N_PCT - 1};
    assert_int_equal(run_text("sum:pct", NULL, &l, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_series"));
    assert_int_equal(l.refusal, QRY_REFUSAL_SERIES);
    static const char two[] = "sum:pct{host=*,cpu=c0}";
    l = (struct qry_limit){.max_filters = 2};
    assert_int_equal(run_text(two, NULL, &l, &err), 0);
    l = (struct qry_limit){.max_filters = 1};
    assert_int_equal(run_text(two, NULL, &l, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_filters"));
    assert_int_equal(l.refusal, QRY_REFUSAL_FILTERS);
    l = (struct qry_limit){.max_subs = 2};
    assert_int_equal(run_text("sum:pct", "sum:tiny", &l, &err), 0);
    l = (struct qry_limit){.max_subs = 1};
    assert_int_equal(run_text("sum:pct", "sum:tiny", &l, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_subqueries"));
    assert_int_equal(l.refusal, QRY_REFUSAL_SUBS);
}

/* Names of values of a filter are looked up one by one: that takes looks of its own. */
static void test_memory__values_of_a_filter_take_looks(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct ts_buf m;
    ts_buf_init(&m, 0);
    ts_buf_str(&m, "sum:pct{host=literal_or(h000001");
    for (unsigned i = 0; i < 100 * QRY_LOOK_STEPS; i++)
        ts_buf_printf(&m, "|none%u", i);
    ts_buf_str(&m, ")}");
    ts_buf_char(&m, 0);
    struct qry_limit one = {.max_bytes = 0}, many = {.max_bytes = 0};
    assert_int_equal(run_text("sum:pct{host=literal_or(h000001)}", NULL, &one, &err), 0);
    assert_int_equal(run_text(m.p, NULL, &many, &err), 0);
    assert_true(many.n_looks >= one.n_looks + 100);
    ts_buf_release(&m);
}

/* A pattern that goes back and forth ends by steps, and looks at the limits on the way. */
static void test_memory__regular_expressions_are_limited_in_sum(void **state)
{
    (void)state;
    static const char costly[] = "none:wide{host=regexp((h|0|0|[0-9]|.){0,14}[^0-9]$)}";
    struct ts_error err = {0};
    struct qry_limit l = {.max_regex_steps = 5000000};
    assert_int_equal(run_text(costly, NULL, &l, &err), TS_ELIMIT);
    if (!strstr(err.text, "query_max_regex_steps"))
        fail_msg("%s after %llu steps", err.text, (unsigned long long)l.n_regex_steps);
    assert_int_equal(l.refusal, QRY_REFUSAL_REGEX);
    assert_true(l.n_regex_steps < 2 * l.max_regex_steps);
    uint64_t looks = l.n_looks;
    assert_true(looks >= 5000000 / 1200000); /* a match may take a million steps more than a look allows */
    l = (struct qry_limit){.cancel_at_look = looks / 2};
    assert_int_equal(run_text(costly, NULL, &l, &err), TS_ECANCELLED);
    l = (struct qry_limit){.max_regex_steps = 10000000};
    assert_int_equal(run_text("none:wide{host=regexp(^h0000[0-9]+$)}", NULL, &l, &err), 0);
}

/* Last, because it moves the points into files. */
static void test_memory__bytes_of_files_are_limited_in_sum(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    struct qry_limit l = {.max_read_bytes = UINT64_MAX};
    assert_int_equal(run_text("sum:pct", NULL, &l, &err), 0);
    uint64_t one = l.n_read_bytes;
    assert_true(one > 0);
    l = (struct qry_limit){.max_read_bytes = one};
    assert_int_equal(run_text("sum:pct", NULL, &l, &err), 0);
    l = (struct qry_limit){.max_read_bytes = one - 1};
    assert_int_equal(run_text("sum:pct", NULL, &l, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_read_bytes"));
    assert_int_equal(l.refusal, QRY_REFUSAL_READ_BYTES);
    l = (struct qry_limit){.max_read_bytes = 2 * one};
    assert_int_equal(run_text("sum:pct", "avg:pct", &l, &err), 0);
    l = (struct qry_limit){.max_read_bytes = 2 * one - 1};
    assert_int_equal(run_text("sum:pct", "avg:pct", &l, &err), TS_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory__the_account_counts_what_malloc_gives),
        cmocka_unit_test(test_memory__pieces_that_follow_groups_answer_the_same),
        cmocka_unit_test(test_memory__limits_hold_at_every_size),
        cmocka_unit_test(test_memory__a_query_ends_at_its_next_look),
        cmocka_unit_test(test_memory__a_query_ends_while_it_is_printed),
        cmocka_unit_test(test_memory__limits_hold_at_their_edges),
        cmocka_unit_test(test_memory__series_filters_and_sub_queries_have_edges),
        cmocka_unit_test(test_memory__values_of_a_filter_take_looks),
        cmocka_unit_test(test_memory__regular_expressions_are_limited_in_sum),
        cmocka_unit_test(test_memory__bytes_of_files_are_limited_in_sum),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
