/*
 * test_aged_bulk.c - a bulk load may have points that have expired, of hours that have no summary yet: they count, also if it comes in the middle of a pass.
 * Points of hours that have one are refused.
 */
#include "tests/unit/query/aged_kit.h"
#include "tests/unit/storage/bulk_kit.h"

/* A bulk load of points of some hours of series 1, into one of the stores. */
static int try_load(struct sto_store *st, struct t_faultfs *f, struct ts_error *err)
{
    struct sto_point v[8];
    struct bulk_input in = {.v = v, .n = 8};
    for (unsigned i = 0; i < 8; i++)
        v[i] = (struct sto_point){.series = &t_handles[2],
                                  .ts_ms = T0 - 45 * TS_HOUR_MS + i * TS_HOUR_MS / 4 + 99,
                                  .m = 5 + i,
                                  .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
    return bulk_load(st, t_faultfs_fs(f), &in, err);
}

static void load(struct sto_store *st, struct t_faultfs *f)
{
    struct ts_error err = {0};
    if (try_load(st, f, &err) < 0)
        fail_msg("%s", err.text);
}

struct meanwhile {
    struct world *w;
    bool came;
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct meanwhile *m = arg;
    if (m->came || after || op != T_OP_PREAD || !strstr(path, "/files/"))
        return;
    m->came = true;
    load(m->w->st, m->w->f);
    load(m->w->all, m->w->all_f);
}

static void test_aged_bulk__expired_points_count(void **state)
{
    (void)state;
    for (int in_pass = 0; in_pass < 2; in_pass++) {
        struct world w;
        begin(&w, 1, 30, 120);
        fill_old(&w);
        set_clock(&w, T0 - 20 * TS_HOUR_MS);
        pump(&w);
        set_clock(&w, T0 + 10 * TS_HOUR_MS);
        flush_to(w.st, STO_LEVEL_FILES);
        struct meanwhile m = {.w = &w};
        if (in_pass)
            t_faultfs_set_hook(w.f, on_call, &m);
        else
            on_call(&m, T_OP_PREAD, "/files/", false);
        pump(&w);
        t_faultfs_set_hook(w.f, NULL, NULL);
        assert_true(m.came);
        check(&w, "after a bulk load");
        for (int k = 0; k < 2; k++)
            pump(&w);
        assert_int_equal(n_gone(&w), SERIES);
        check(&w, "after another pass");
        end(&w);
    }
}

/* They would be in no answer. */
static void refused_for_good(struct world *w, const char *when)
{
    struct ts_error err = {0};
    assert_int_equal(try_load(w->st, w->f, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "points of m0 host=h2 at "));
    assert_non_null(strstr(err.text, "a summary is in their place"));
    check(w, when);
}

static void test_aged_bulk__points_of_summarised_hours_are_refused(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 2, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    pump(&w);
    refused_for_good(&w, "after a refused load");
    reopen(&w);
    refused_for_good(&w, "after another one");
    end(&w);
}

/* A pass comes while files are copied. */
static void pass_comes(void *arg, enum t_op op, const char *path, bool after)
{
    struct meanwhile *m = arg;
    if (m->came || after || op != T_OP_APPEND || !strstr(path, "/files/"))
        return;
    m->came = true;
    pump(m->w);
}

static void test_aged_bulk__summaries_are_made_during_the_hand_over(void **state)
{
    (void)state;
    struct world w;
    struct ts_error err = {0};
    begin(&w, 3, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 - 20 * TS_HOUR_MS);
    pump(&w);
    set_clock(&w, T0 + 10 * TS_HOUR_MS);
    struct meanwhile m = {.w = &w};
    t_faultfs_set_hook(w.f, pass_comes, &m);
    assert_int_equal(try_load(w.st, w.f, &err), TS_EBUSY);
    t_faultfs_set_hook(w.f, NULL, NULL);
    assert_true(m.came);
    check(&w, "after the hand-over has failed");
    refused_for_good(&w, "after it has failed again");
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_bulk__expired_points_count),
        CASE(test_aged_bulk__points_of_summarised_hours_are_refused),
        CASE(test_aged_bulk__summaries_are_made_during_the_hand_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
