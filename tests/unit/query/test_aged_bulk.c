/*
 * test_aged_bulk.c - a bulk load may have points that have expired, of hours that have no summary yet: they count, also if it comes in the middle of a pass.
 */
#include "tests/unit/query/aged_kit.h"
#include "tests/unit/storage/bulk_kit.h"

/* A bulk load of points of some hours of series 1, into one of the stores. */
static void load(struct sto_store *st, struct t_faultfs *f)
{
    struct sto_point v[8];
    struct bulk_input in = {.v = v, .n = 8};
    struct ts_error err = {0};
    for (unsigned i = 0; i < 8; i++)
        v[i] = (struct sto_point){.series = &t_handles[2],
                                  .ts_ms = T0 - 45 * TS_HOUR_MS + i * TS_HOUR_MS / 4 + 99,
                                  .m = 5 + i,
                                  .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
    if (bulk_load(st, t_faultfs_fs(f), &in, &err) < 0)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_bulk__expired_points_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
