/*
 * test_aged_said.c - what estimates say of summaries of hours and days whose points have expired, and answers of those that they lack.
 */
#include "tests/unit/query/aged_kit.h"

#include "query/execution/explain.h"

#define DAYS 12

static int64_t day_of(int64_t ms)
{
    return ts_floor_div(ms, DAY) * DAY;
}

/* A point an hour of each series for DAYS days; points are kept for 30 hours, hours for 80. */
static void fill(struct world *w)
{
    begin_days(w, 1, 30, 80, 400 * 24);
    for (int64_t d = 0; d < DAYS; d++) {
        set_clock(w, T0 + (d + 1) * DAY);
        for (int64_t h = 0; h < 24; h++)
            for (unsigned i = 0; i < SERIES; i++)
                put(w, i, T0 + d * DAY + h * TS_HOUR_MS + i, value(w, i));
        settle(w, STO_LEVEL_FILES);
        pump(w);
    }
    flush_to(w->st, STO_LEVEL_COMPACT);
}

/* The only sub query of a query from T0 on. */
static struct qry_explained explain(struct world *w, struct sto_store *st, const char *m, const char *by,
                                    struct ts_arena *arena)
{
    char start[32], end_text[32];
    struct qry_spec spec;
    struct qry_explain x;
    struct ts_error err = {0};
    snprintf(start, sizeof start, "%lldms", (long long)T0);
    snprintf(end_text, sizeof end_text, "%lldms", (long long)w->now_ms);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end_text)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by ? by : "")}};
    if (qry_parse_params(p, by ? 4 : 3, w->now_ms, false, arena, &spec, &err) < 0 ||
        qry_explain(st, &spec, NULL, 0, arena, &x, &err) < 0)
        fail_msg("%s: %s", m, err.text);
    assert_int_equal(x.n_subs, 1);
    return x.subs[0];
}

static void test_aged_said__by_estimates(void **state)
{
    (void)state;
    static const struct {
        const char *m, *by;
    } of[] = {{"none:1d-sum:m0", NULL}, {"sum:m0", "day"}};
    struct world w;
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    fill(&w);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        struct qry_explained e = explain(&w, w.st, of[k].m, of[k].by, &arena);
        /* 12 days less 80 hours are days, the next 50 hours are hours; about, since they are of some blocks */
        assert_in_range(e.n_expired_days, 6 * SERIES, 10 * SERIES);
        assert_in_range(e.n_expired_hours, 30 * SERIES, 80 * SERIES);
        assert_true(e.total.n_sums >= e.n_expired_days + e.n_expired_hours);
        assert_true(e.total.n_sum_blocks > 0 && e.total.n_sum_bytes > 0);
        e = explain(&w, w.all, of[k].m, of[k].by, &arena);
        assert_int_equal(e.n_expired_days + e.n_expired_hours, 0);
    }
    struct qry_explained e = explain(&w, w.st, "none:m0", NULL, &arena);
    assert_int_equal(e.n_expired_days + e.n_expired_hours, 0); /* it needs points */
    ts_arena_release(&arena);
    end(&w);
}

/* What an answer says that it lacks. */
static void say(struct world *w, const char *m, const char *by, int64_t from_ms, struct ts_buf *out)
{
    struct ts_buf answer;
    ts_buf_init(&answer, 0);
    ask(w->st, m, by, from_ms, w->now_ms, w->now_ms, &answer);
    ts_buf_clear(out);
    qry_left_out_say(&ask_left_out_what, out);
    ts_buf_char(out, 0);
    ts_buf_release(&answer);
}

/* Percentiles, buckets that begin at a point, and others that need all points have no other way to say that some of a month are missing. */
static void test_aged_said__by_percentiles(void **state)
{
    (void)state;
    static const struct {
        const char *m, *by;
    } lack[] = {{"p95:m0", "month"},
                {"none:1d-p50:m0", NULL},
                {"sum:1n-p99:m0", NULL},
                {"dev:m0", "day"},
                {"sum:2dc-sum:m0", NULL}},
      whole[] = {{"p95:1d-sum:m0", NULL}, {"max:m0", "day"}};
    struct world w;
    struct ts_buf said;
    ts_buf_init(&said, 0);
    fill(&w);
    for (size_t k = 0; k < sizeof lack / sizeof *lack; k++) {
        say(&w, lack[k].m, lack[k].by, T0, &said);
        if (!strstr(said.p, " of 5 series were left out (") ||
            !strstr(said.p, "do not suffice for percentiles"))
            fail_msg("%s says: %s", lack[k].m, said.p);
        say(&w, lack[k].m, lack[k].by, w.now_ms - 29 * TS_HOUR_MS, &said);
        if (*said.p)
            fail_msg("%s of points that have not expired says: %s", lack[k].m, said.p);
    }
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        say(&w, whole[k].m, whole[k].by, day_of(T0), &said);
        if (*said.p)
            fail_msg("%s says: %s", whole[k].m, said.p);
    }
    ts_buf_release(&said);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aged_said__by_estimates),
        cmocka_unit_test(test_aged_said__by_percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
