/*
 * test_aged_quota.c - max_bytes removes points before summaries: whole hours are answered as ever until points of all days before the newest do not suffice.
 */
#include "tests/unit/query/aged_kit.h"

#include "storage/engine/evict.h"
#include "storage/max_bytes.h"

#define MEMSTORE (16u << 10)
#define DAYS     30
#define AN_HOUR  60 /* points */
#define RULE     "m0 points=4000d hours=forever"

static struct sto_max_bytes look(struct sto_store *st)
{
    struct sto_max_bytes m;
    struct ts_error err = {0};
    if (sto_max_bytes(st, &(struct sto_max_bytes_call){.what = STO_MAX_BYTES_LIST, .explain = true}, &m,
                      &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static void limit(struct sto_store *st, uint64_t max_bytes)
{
    struct sto_max_bytes_call call = {.what = STO_MAX_BYTES_SET, .max_bytes = max_bytes};
    struct sto_max_bytes m;
    struct ts_error err = {0};
    if (sto_max_bytes(st, &call, &m, &err) < 0)
        fail_msg("%s", err.text);
}

static void start_limited(struct world *w, const char *text, uint64_t max_series, size_t memstore_bytes)
{
    *w = (struct world){.rnd = 7,
                        .max_series = max_series,
                        .n_series = SERIES,
                        .points_ms = 4000 * DAY,
                        .hours_ms = 8000 * DAY,
                        .memstore_bytes = memstore_bytes};
    set_clock(w, T0);
    w->f = t_faultfs_new(1);
    w->all_f = t_faultfs_new(1);
    w->st = open_aged(w, w->f);
    w->all = open_aged(w, w->all_f);
    if (text)
        rule(w->st, STO_RETAIN_ADD, text);
}

static void start(struct world *w, const char *text)
{
    start_limited(w, text, 0, MEMSTORE);
}

/* The points of day d, and the time at its end. */
static void a_day(struct world *w, int64_t d)
{
    set_clock(w, T0 + (d + 1) * DAY);
    for (int64_t k = 0; k < 24 * AN_HOUR; k++)
        for (unsigned i = 0; i < SERIES; i++)
            put(w, i, T0 + d * DAY + k * (TS_HOUR_MS / AN_HOUR), value(w, i));
    settle(w, STO_LEVEL_FILES);
}

/* Let retention look, n times. */
static void looks(struct world *w, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        set_clock(w, w->now_ms + 120000);
        pump(w);
    }
}

/* From a time on whole hours are answered as if nothing had been removed; before it, nothing is. */
static void expect_hours(struct world *w, int64_t from_ms, const char *when)
{
    int64_t all_ms = from_ms > T0 ? from_ms : T0;
    same(w, "sum:m0", "hour", T0, all_ms, when);
    same(w, "count:m0", "host", T0, all_ms, when);
    same(w, "none:1h-max:m0", NULL, T0, all_ms, when);
}

static void fill(struct world *w)
{
    for (int64_t d = 0; d < DAYS; d++)
        a_day(w, d);
    pump(w);
}

/* As time passes, points go and all hours stay; then the limit is so low that summaries must go, too. */
static void test_aged_quota__points_go_before_summaries(void **state)
{
    (void)state;
    struct world w;
    start(&w, RULE);
    int64_t last_ms = STO_MIN_TS_MS;
    uint64_t max_bytes = 500u << 10;
    limit(w.st, max_bytes);
    for (int64_t d = 0; d < DAYS; d++) {
        a_day(&w, d);
        looks(&w, 6);
        struct sto_max_bytes m = look(w.st);
        assert_true(m.cutoff_ms >= last_ms);
        assert_int_equal(m.summaries_ms, STO_MIN_TS_MS);
        assert_true(m.bytes <= max_bytes);
        assert_true(m.bytes > max_bytes / 32 * 22 || m.cutoff_ms == STO_MIN_TS_MS); /* no more than needed */
        expect_hours(&w, T0, "while points go");
        same(&w, "none:m0", NULL, T0, m.cutoff_ms > T0 ? m.cutoff_ms : T0, "points"); /* of whole hours */
        last_ms = m.cutoff_ms;
    }
    assert_true(last_ms > T0 + DAY && last_ms < T0 + DAYS * DAY);
    reopen(&w);
    assert_int_equal(look(w.st).cutoff_ms, last_ms);
    expect_hours(&w, T0, "after an opening");
    max_bytes = 120u << 10;
    limit(w.st, max_bytes);
    looks(&w, 12);
    struct sto_max_bytes m = look(w.st);
    assert_true(m.bytes <= max_bytes);
    assert_true(m.summaries_ms > T0 && m.summaries_ms < m.cutoff_ms);
    assert_true(m.cutoff_ms >= T0 + (DAYS - 1) * DAY); /* all days but the newest one */
    expect_hours(&w, m.summaries_ms, "with a low limit");
    assert_true(stat_of(w.st, "quota.summaries_cutoff_s") == (uint64_t)(m.summaries_ms / 1000));
    end(&w);
}

/* The summaries that a rule has left behind are summaries still: without the rule, or with one that does not keep any. */
static void test_aged_quota__summaries_without_a_rule_go_last_too(void **state)
{
    (void)state;
    static const char *const others[] = {NULL, "m* points=5000d"};
    for (size_t k = 0; k < 2; k++) {
        struct world w;
        start(&w, RULE);
        limit(w.st, 600u << 10);
        fill(&w);
        looks(&w, 6);
        int64_t was_ms = look(w.st).cutoff_ms;
        assert_true(was_ms > T0 + DAY);
        rule(w.st, STO_RETAIN_REMOVE, RULE);
        if (others[k])
            rule(w.st, STO_RETAIN_ADD, others[k]);
        looks(&w, 3);
        reopen(&w);
        looks(&w, 3);
        assert_int_equal(look(w.st).summaries_ms, STO_MIN_TS_MS);
        if (others[k])
            rule(w.st, STO_RETAIN_REMOVE, others[k]);
        rule(w.st, STO_RETAIN_ADD, RULE);
        expect_hours(&w, T0, "with the rule again");
        end(&w);
    }
}

/* Series that no rule gives summaries: their points go at the same cutoff, and come back neither with the limit gone nor in a crash. */
static void test_aged_quota__without_a_limit_nothing_comes_back(void **state)
{
    (void)state;
    struct world w;
    start(&w, RULE);
    for (int64_t d = 0; d < DAYS; d++)
        for (int64_t k = 0; k < 100; k++)
            put_at(w.st, 1, T0 + d * DAY + k * 1000, k); /* of m1 */
    limit(w.st, 500u << 10);
    fill(&w);
    looks(&w, 6);
    struct sto_max_bytes m = look(w.st);
    assert_int_equal(m.summaries_ms, STO_MIN_TS_MS);
    int64_t days = ts_floor_div(m.cutoff_ms - T0, DAY) + (ts_floor_mod(m.cutoff_ms - T0, DAY) > 100000);
    int64_t n = seen(w.st, 1).n;
    assert_int_equal(n, (DAYS - days) * 100);
    put_at(w.st, 1, T0 + 5000, 1); /* on its way when the cutoff rose */
    sto_writer_turn(sto_writer(w.st, 0));
    limit(w.st, 0);
    assert_int_equal(seen(w.st, 1).n, n);
    looks(&w, 3);
    assert_int_equal(look(w.st).cutoff_ms, STO_MIN_TS_MS);
    assert_int_equal(seen(w.st, 1).n, n);
    expect_hours(&w, T0, "without a limit");
    same(&w, "none:m0", NULL, T0, m.cutoff_ms, "without a limit");
    put_at(w.st, 1, T0 + 7000, 1);
    flush_to(w.st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(w.st, 1).n, n + 1);
    reopen(&w);
    assert_int_equal(seen(w.st, 1).n, n + 1);
    expect_hours(&w, T0, "after an opening");
    end(&w);
}

/* The power goes at some writes while the first points go: no hour is lost, and no summary that there should be. */
static void test_aged_quota__no_crash_loses_an_hour(void **state)
{
    (void)state;
    struct world w;
    start(&w, RULE);
    fill(&w);
    limit(w.st, 600u << 10);
    kit_close(w.st);
    struct t_faultfs *whole = w.f;
    unsigned n_old = 0, n_new = 0;
    int64_t now_ms = w.now_ms;
    bool fired = true;
    for (uint64_t at = 1; fired; at += 1 + at / 8) {
        set_clock(&w, now_ms);
        w.f = t_faultfs_clone(whole, at);
        w.st = open_aged(&w, w.f);
        t_faultfs_plan(w.f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        for (int k = 0; k < 4; k++)
            (void)sto_store_pump_merges(w.st, NULL);
        fired = t_faultfs_fired(w.f);
        (void)sto_close(w.st, NULL);
        t_faultfs_reboot(w.f, T_KEEP_RANDOM);
        w.st = open_aged(&w, w.f);
        n_old += look(w.st).cutoff_ms == STO_MIN_TS_MS;
        n_new += look(w.st).cutoff_ms > T0;
        expect_hours(&w, T0, "after a crash");
        looks(&w, 6);
        struct sto_max_bytes m = look(w.st);
        assert_int_equal(m.summaries_ms, STO_MIN_TS_MS);
        assert_true(m.cutoff_ms > T0 && m.bytes <= 600u << 10);
        expect_hours(&w, T0, "in the end");
        kit_close(w.st);
        t_faultfs_free(w.f);
    }
    assert_true(n_old > 0 && n_new > 5);
    w.f = whole;
    w.st = open_aged(&w, w.f);
    end(&w);
}

/* Somebody who changes something whenever a pass reads. */
struct client {
    struct world *w;
    bool renames; /* a metric, there and back; else deletes points of a series, which has none at at_ms */
    bool rules;   /* changes rules instead */
    int64_t at_ms;
    bool is_on, is_busy, is_renamed;
    unsigned n;
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct client *c = arg;
    if (!c->is_on || after || c->is_busy || op != T_OP_PREAD || !strstr(path, "/files/") || c->n >= 12)
        return;
    struct ts_slice name[] = {ts_slice_str("m1"), ts_slice_str("m2")};
    struct ts_error err = {0};
    c->is_busy = true;
    if (c->rules)
        rule(c->w->st, c->is_renamed ? STO_RETAIN_REMOVE : STO_RETAIN_ADD, "x points=9d");
    else if (!c->renames)
        sto_delete(sto_writer(c->w->st, 0), series(c->w->st, 1), c->at_ms, c->at_ms);
    else if (sto_uid_rename(sto_store_catalog(c->w->st), STO_UID_METRIC, name[c->is_renamed],
                            name[!c->is_renamed], &err) < 0)
        fail_msg("%s", err.text);
    c->is_renamed = !c->is_renamed;
    c->n++;
    sto_writer_turn(sto_writer(c->w->st, 0));
    c->is_busy = false;
}

/* A client that makes a part of every pass void, or all of it, cannot keep the limit from being kept. */
static void test_aged_quota__no_client_holds_the_limit_up(void **state)
{
    (void)state;
    for (unsigned renames = 0; renames < 2; renames++) {
        struct world w;
        start(&w, RULE);
        struct client c = {.w = &w, .renames = renames};
        put_at(w.st, 1, T0, 1); /* of m1 */
        uint64_t max_bytes = 500u << 10;
        limit(w.st, max_bytes);
        t_faultfs_set_hook(w.f, on_call, &c);
        for (int64_t d = 0; d < DAYS; d++) {
            a_day(&w, d);
            for (unsigned k = 0; k < 14; k++) {
                c.is_on = true;
                c.n = 0;
                int64_t cutoff_ms = look(w.st).cutoff_ms;
                c.at_ms = (cutoff_ms > T0 ? cutoff_ms - TS_HOUR_MS : T0) + 17;
                looks(&w, 1);
                c.is_on = false;
            }
            assert_true(look(w.st).bytes <= max_bytes);
        }
        struct sto_max_bytes m = look(w.st);
        assert_true(m.summaries_ms > T0 + DAY && m.summaries_ms < T0 + DAYS * DAY);
        expect_hours(&w, m.summaries_ms, "while a client changes things");
        t_faultfs_set_hook(w.f, NULL, NULL);
        looks(&w, 3);
        for (int64_t d = DAYS; d < DAYS + 10; d++) { /* without it points go before summaries again */
            a_day(&w, d);
            looks(&w, 6);
        }
        struct sto_max_bytes then = look(w.st);
        assert_true(then.bytes <= max_bytes && then.cutoff_ms > then.summaries_ms);
        expect_hours(&w, then.summaries_ms, "afterwards");
        end(&w);
    }
}

/* Rules change during most passes, but never during four in a row. Each has work, since points expire every hour: none says that all have been made. The store grows,
 * and is beyond its limit all the time. */
static void test_aged_quota__changes_of_rules_are_no_failures(void **state)
{
    (void)state;
    struct world w;
    start(&w, "m0 points=48h hours=forever");
    struct client c = {.w = &w, .rules = true};
    unsigned n_void = 0;
    for (int64_t d = 0; d < 4; d++)
        a_day(&w, d);
    pump(&w);
    uint64_t max_bytes = look(w.st).bytes / 32 * 31;
    limit(w.st, max_bytes);
    t_faultfs_set_hook(w.f, on_call, &c);
    for (int64_t h = 0; h < 40; h++) {
        set_clock(&w, T0 + 4 * DAY + (h + 1) * TS_HOUR_MS);
        for (int64_t k = 0; k < 4 * AN_HOUR; k++)
            for (unsigned i = 0; i < SERIES; i++)
                put(&w, i, T0 + 4 * DAY + h * TS_HOUR_MS + k * (TS_HOUR_MS / AN_HOUR / 4), value(&w, i));
        settle(&w, STO_LEVEL_FILES);
        c.is_on = h % 4 != 3;
        c.n = 0;
        pump(&w);
        c.is_on = false;
        n_void += c.n > 0;
        struct sto_max_bytes m = look(w.st);
        assert_int_equal(m.summaries_ms, STO_MIN_TS_MS);
        assert_true(h < 2 || m.bytes > max_bytes);
    }
    assert_true(n_void > 2 * STO_EVICT_FAILURES && stat_of(w.st, "aged.errors") > 2 * STO_EVICT_FAILURES);
    t_faultfs_set_hook(w.f, NULL, NULL);
    end(&w);
}

/* There is no room for some series of summaries: the points that stay for want of them do not drive the cutoff on. */
static void test_aged_quota__series_that_fail_drive_no_cutoff(void **state)
{
    (void)state;
    struct world w;
    start_limited(&w, RULE, SERIES + 3, MEMSTORE);
    fill(&w);
    uint64_t max_bytes = 500u << 10;
    limit(w.st, max_bytes);
    looks(&w, 1);
    struct sto_max_bytes m = look(w.st);
    int64_t points_ms = m.cutoff_ms;
    assert_true(points_ms > T0 + DAY && points_ms < T0 + (DAYS - 5) * DAY);
    looks(&w, STO_EVICT_FAILURES - 2);
    m = look(w.st);
    assert_int_equal(m.cutoff_ms, points_ms);
    assert_int_equal(m.summaries_ms, STO_MIN_TS_MS);
    expect_hours(&w, T0, "while it is tried");
    looks(&w, 6);
    m = look(w.st);
    assert_true(m.bytes <= max_bytes);
    assert_true(m.summaries_ms > T0 + DAY);
    assert_true(m.cutoff_ms < T0 + (DAYS - 5) * DAY); /* as much as is needed, and not up to today */
    expect_hours(&w, m.summaries_ms, "in the end");
    end(&w);
}

/* One series among so many that it does not matter as a series has no room for its summaries: n points of it in an hour. */
#define MANY 34
static void start_many(struct world *w, int64_t n, int64_t days)
{
    start_limited(w, RULE, 2 * MANY + 1, 256u << 10);
    for (int64_t d = 0; d < days; d++) {
        set_clock(w, T0 + (d + 1) * DAY);
        for (int64_t k = 0; k < 24 * AN_HOUR; k++)
            for (unsigned i = 0; i < MANY; i++)
                put(w, i, T0 + d * DAY + k * (TS_HOUR_MS / AN_HOUR), value(w, 4));
        for (int64_t k = 0; k < 24 * n; k++)
            put(w, MANY, T0 + d * DAY + k * (TS_HOUR_MS / n), value(w, 4));
        settle(w, STO_LEVEL_FILES);
    }
}

/* Its points stay. Be they many, they do not drive the cutoff on, up to the newest day; be they few, points go before summaries as ever. */
static void test_aged_quota__one_large_series_that_fails_drives_no_cutoff(void **state)
{
    (void)state;
    static const struct {
        int64_t n;     /* points of it in an hour */
        int64_t days;  /* the cutoff is before this one */
        bool is_large; /* it has more than 1/32 of the limit */
    } of[] = {{1800, 9, true}, {12, 10, false}};
    for (size_t k = 0; k < 2; k++) {
        struct world w;
        start_many(&w, of[k].n, 12);
        uint64_t max_bytes = look(w.st).bytes / 2;
        limit(w.st, max_bytes);
        looks(&w, 20);
        struct sto_max_bytes m = look(w.st);
        assert_true(m.bytes <= max_bytes);
        assert_true(m.cutoff_ms > T0 + 3 * DAY && m.cutoff_ms < T0 + of[k].days * DAY);
        assert_int_equal(m.summaries_ms > STO_MIN_TS_MS, of[k].is_large);
        expect_hours(&w, m.summaries_ms, "in the end");
        same(&w, "none:m0", NULL, T0, m.cutoff_ms, "points");
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aged_quota__points_go_before_summaries),
        cmocka_unit_test(test_aged_quota__summaries_without_a_rule_go_last_too),
        cmocka_unit_test(test_aged_quota__without_a_limit_nothing_comes_back),
        cmocka_unit_test(test_aged_quota__no_crash_loses_an_hour),
        cmocka_unit_test(test_aged_quota__no_client_holds_the_limit_up),
        cmocka_unit_test(test_aged_quota__changes_of_rules_are_no_failures),
        cmocka_unit_test(test_aged_quota__series_that_fail_drive_no_cutoff),
        cmocka_unit_test(test_aged_quota__one_large_series_that_fails_drives_no_cutoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
