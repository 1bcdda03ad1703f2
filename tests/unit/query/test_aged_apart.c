/*
 * test_aged_apart.c - what goes wrong with the summaries of one series, and a delete that overtakes them, concerns no other series.
 */
#include "tests/unit/query/aged_kit.h"

#include "query/execution/internal_metric.h"
#include "storage/engine/engine_int.h"
#include "storage/store_int.h"

static void test_aged_apart__a_full_catalog_holds_up_new_series_alone(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 1, 30, 120);
    fill_old(&w);
    w.max_series = SERIES + 3;
    reopen(&w);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_true(stat_of(w.st, "aged.errors") > 0);
    assert_int_equal(stat_of(w.st, "aged.hours"), 3 * 30);
    uint64_t n_errors = stat_of(w.st, "aged.errors");
    pump(&w);
    assert_int_equal(stat_of(w.st, "aged.errors"), n_errors); /* it is not tried all the time */
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), 3);
    check(&w, "with a full catalog");
    w.max_series = 0;
    reopen(&w);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    check(&w, "with room");
    end(&w);
}

/* The path of the n-th file of points. */
static const char *points_file(const struct world *w, unsigned n)
{
    for (size_t i = 0; i < t_faultfs_count(w->f); i++) {
        const char *path = t_faultfs_path(w->f, i), *dot = strrchr(path, '.');
        if (strstr(path, "/files/") && dot && strcmp(dot, ".t") == 0 && n-- == 0)
            return path;
    }
    fail_msg("no such file");
    return NULL;
}

static void test_aged_apart__an_unreadable_block_holds_up_its_series_alone(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 2, 30, 120);
    set_clock(&w, T0 - 40 * TS_HOUR_MS);
    for (unsigned i = 0; i < SERIES; i++) { /* a file for each */
        for (int64_t h = 0; h < 30; h++)
            put(&w, i, T0 - 70 * TS_HOUR_MS + h * TS_HOUR_MS, value(&w, i));
        settle(&w, STO_LEVEL_FILES);
    }
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    t_faultfs_set_unreadable_part(w.f, points_file(&w, 2), 0, 64);
    for (int k = 0; k < 2; k++)
        (void)sto_store_pump_merges(w.st, NULL);
    assert_int_equal(stat_of(w.st, "aged.hours"), (SERIES - 1) * 30);
    assert_true(stat_of(w.st, "aged.errors") > 0);
    (void)sto_close(w.st, NULL);
    struct t_faultfs *f = t_faultfs_clone(w.f, 3); /* the disk reads it again */
    t_faultfs_free(w.f);
    w.f = f;
    w.st = open_aged(&w, w.f);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    check(&w, "when it can be read again");
    end(&w);
}

/* Deletes that come when the first file of a pass is written. */
struct meanwhile {
    struct world *w;
    bool in_pass, came;
    int64_t from_ms, to_ms; /* of series 1 */
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct meanwhile *m = arg;
    if (!m->in_pass || m->came || after || op != T_OP_OPEN || !strstr(path, "/files/"))
        return;
    m->came = true;
    delete_from(m->w->st, 1, m->from_ms, m->to_ms);
    delete_from(m->w->all, 1, m->from_ms, m->to_ms);
}

static void overtake(int64_t from_ms, int64_t to_ms, unsigned n_first)
{
    struct world w;
    begin(&w, 3, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 - 20 * TS_HOUR_MS);
    pump(&w); /* the first of them */
    pump(&w);
    uint64_t n_hours = stat_of(w.st, "aged.hours");
    assert_true(n_hours > 0);
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    flush_to(w.st, STO_LEVEL_FILES);
    struct meanwhile m = {.w = &w, .from_ms = from_ms, .to_ms = to_ms, .in_pass = true};
    t_faultfs_set_hook(w.f, on_call, &m);
    pump(&w);
    t_faultfs_set_hook(w.f, NULL, NULL);
    assert_true(m.came);
    assert_int_equal(n_gone(&w), n_first);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    check(&w, "overtaken");
    for (int k = 0; k < 2; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    check(&w, "after another pass");
    end(&w);
}

static void test_aged_apart__a_delete_holds_up_its_series_alone(void **state)
{
    (void)state;
    overtake(T0 - 45 * TS_HOUR_MS, T0 - 44 * TS_HOUR_MS - 1, SERIES - 1);
    overtake(T0 - 45 * TS_HOUR_MS + 5, T0 - 40 * TS_HOUR_MS - 7, SERIES - 1);
    overtake(T0 - 69 * TS_HOUR_MS, T0 - 65 * TS_HOUR_MS - 1, SERIES); /* hours that have their summaries */
}

static void stop(void *arg, enum t_op op, const char *path, bool after)
{
    struct world *w = arg;
    (void)after;
    if (op == T_OP_PREAD && strstr(path, "/files/"))
        atomic_store(&w->st->engine->stop_compact, true);
}

/* Closing the store ends a pass in the middle, which is no error. */
static void test_aged_apart__a_pass_ends_when_the_store_closes(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 4, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    flush_to(w.st, STO_LEVEL_FILES);
    t_faultfs_set_hook(w.f, stop, &w);
    (void)sto_store_pump_merges(w.st, NULL);
    t_faultfs_set_hook(w.f, NULL, NULL);
    assert_int_equal(stat_of(w.st, "aged.hours"), 0);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    reopen(&w);
    for (int k = 0; k < 2; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    check(&w, "after a start");
    end(&w);
}

static void rename_metric(void *arg, enum t_op op, const char *path, bool after)
{
    struct meanwhile *m = arg;
    struct ts_error err = {0};
    if (!m->in_pass || m->came || after || op != T_OP_PREAD || !strstr(path, "/files/"))
        return;
    m->came = true;
    if (qry_metric_rename(m->w->st, TS_SLICE_LIT("m0"), TS_SLICE_LIT("m9"), &err) < 0)
        fail_msg("%s", err.text);
}

/* A metric is renamed while its hours are read, and back later: its summaries follow it. */
static void test_aged_apart__a_metric_is_renamed_in_a_pass(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct world w;
        struct ts_error err = {0};
        begin(&w, 7, 30, 120);
        fill_old(&w);
        if (again) {
            set_clock(&w, T0 - 20 * TS_HOUR_MS);
            pump(&w);
        }
        set_clock(&w, T0 + 10 * TS_HOUR_MS);
        flush_to(w.st, STO_LEVEL_FILES);
        struct meanwhile m = {.w = &w, .in_pass = true};
        t_faultfs_set_hook(w.f, rename_metric, &m);
        pump(&w);
        t_faultfs_set_hook(w.f, NULL, NULL);
        assert_true(m.came);
        for (int k = 0; k < 3; k++)
            pump(&w);
        if (qry_metric_rename(w.st, TS_SLICE_LIT("m9"), TS_SLICE_LIT("m0"), &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(n_gone(&w), SERIES);
        check(&w, "renamed back");
        reopen(&w);
        check(&w, "after a start");
        end(&w);
    }
}

static void fail_marks(void *arg, enum t_op op, const char *path, bool after)
{
    struct world *w = arg;
    if (!after && op == T_OP_RENAME && strstr(path, "AGED"))
        t_faultfs_plan(w->f, (struct t_fault_plan){.ops = T_OP_RENAME, .at = 1, .fault = T_FAULT_EIO});
}

/* Rows are there and the marks are not. Then all points of some hours are deleted, but no whole hours, so that their rows stay. */
static void test_aged_apart__rows_without_marks_are_made_anew(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 6, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 - 20 * TS_HOUR_MS);
    pump(&w);
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    t_faultfs_set_hook(w.f, fail_marks, &w);
    pump(&w);
    t_faultfs_set_hook(w.f, NULL, NULL);
    assert_true(stat_of(w.st, "aged.errors") > 0);
    assert_int_equal(n_gone(&w), 0);
    for (unsigned i = 0; i < SERIES; i += 2) {
        int64_t hour_ms = T0 - 43 * TS_HOUR_MS;
        delete_from(w.st, i, hour_ms, hour_ms + 2 * TS_HOUR_MS - 10);
        delete_from(w.all, i, hour_ms, hour_ms + 2 * TS_HOUR_MS - 10);
    }
    for (int k = 0; k < 2; k++)
        pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    check(&w, "with new rows");
    end(&w);
}

/* Rows are written whenever they take a quarter of the memory, also in the middle of a series, and nothing is held at the end. */
static void test_aged_apart__memory_is_bounded(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 5, 30, 20000);
    w.merge_bytes = 4 << 20;
    reopen(&w);
    set_clock(&w, T0 - 15000 * TS_HOUR_MS);
    for (int64_t h = 0; h < 6000; h++)
        for (unsigned i = 0; i < 2; i++)
            put(&w, i, w.now_ms + h * TS_HOUR_MS + i, value(&w, i));
    settle(&w, STO_LEVEL_FILES);
    set_clock(&w, T0);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    assert_int_equal(stat_of(w.st, "aged.hours"), 12000);
    assert_int_equal(n_gone(&w), SERIES);
    assert_int_equal(stat_of(w.st, "merges.bytes"), 0);
    assert_true(stat_of(w.st, "merges.most_bytes") > (1 << 20));
    assert_true(stat_of(w.st, "merges.most_bytes") < (2 << 20));
    same(&w, "none:1h-sum:m0", NULL, T0 - 15000 * TS_HOUR_MS, T0 - 15000 * TS_HOUR_MS, "of two years");
    end(&w);
}

/* Four times the points of one hour, which files cannot be merged for within the least that a row may take. */
static void put_long_hour(struct world *w, int64_t hour_ms)
{
    for (int64_t g = 0; g < 4; g++) {
        for (int64_t k = 0; k < 600000; k++)
            assert_int_equal(sto_put(sto_writer(w->st, 0), series(w->st, 0), hour_ms + 5 * k + g,
                                     (struct ts_num){.m = k}, true),
                             0);
        flush_to(w->st, STO_LEVEL_FILES);
    }
}

/* An hour with more points than a merge may hold gets no summary, and holds up its series alone. */
static void test_aged_apart__an_hour_that_is_too_long_holds_up_its_series_alone(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 5, 30, 120);
    w.merge_bytes = 1 << 20;
    reopen(&w);
    set_clock(&w, T0 - 40 * TS_HOUR_MS);
    put_long_hour(&w, T0 - 60 * TS_HOUR_MS);
    for (unsigned i = 1; i < SERIES; i++)
        put(&w, i, T0 - 60 * TS_HOUR_MS, value(&w, i));
    settle(&w, STO_LEVEL_FILES);
    set_clock(&w, T0);
    for (int k = 0; k < 3; k++)
        (void)sto_store_pump_merges(w.st, NULL);
    assert_in_range(stat_of(w.st, "merges.most_bytes"), 1 << 20, 48 << 20);
    assert_true(stat_of(w.st, "aged.errors") > 0);
    assert_int_equal(stat_of(w.st, "aged.hours"), SERIES - 1);
    assert_int_equal(stat_of(w.st, "merges.bytes"), 0);
    end(&w);
}

/* The sum of doubles that is not exact is answered by as many doubles, which count in the memory of the query. */
static void test_aged_apart__sums_of_doubles_take_memory(void **state)
{
    (void)state;
    enum { N = 50000 };
    struct world w;
    struct ts_budget memory;
    begin(&w, 8, 30, 120);
    set_clock(&w, T0 - 40 * TS_HOUR_MS);
    for (int64_t k = 0; k < N; k++)
        put(&w, 2, T0 - 60 * TS_HOUR_MS + k, ts_num_from_double(k % 2 ? 1e30 : 1e-30));
    settle(&w, STO_LEVEL_FILES);
    set_clock(&w, T0);
    pump(&w);
    pump(&w);
    assert_int_equal(n_gone(&w), SERIES);
    ts_budget_init(&memory, "questions", "query_max_bytes", NULL, 0);
    ask_memory = &memory;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    ask(w.st, "none:1h-sum:m0", NULL, T0 - 60 * TS_HOUR_MS, T0, T0, &out);
    ts_buf_release(&out);
    ask_memory = NULL;
    assert_true(atomic_load(&memory.peak_bytes) >= N * (sizeof(uint32_t) + sizeof(int64_t)));
    assert_int_equal(atomic_load(&memory.used_bytes), 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_apart__a_full_catalog_holds_up_new_series_alone),
        CASE(test_aged_apart__an_unreadable_block_holds_up_its_series_alone),
        CASE(test_aged_apart__a_delete_holds_up_its_series_alone),
        CASE(test_aged_apart__an_hour_that_is_too_long_holds_up_its_series_alone),
        CASE(test_aged_apart__a_pass_ends_when_the_store_closes),
        CASE(test_aged_apart__rows_without_marks_are_made_anew),
        CASE(test_aged_apart__a_metric_is_renamed_in_a_pass),
        CASE(test_aged_apart__memory_is_bounded),
        CASE(test_aged_apart__sums_of_doubles_take_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
