/*
 * test_store_retention_merge.c - files expire while a merge, which may take hours, is under way.
 */
#include "tests/unit/storage/windows_kit.h"

/* A new store that keeps 30 days, at T0. */
static struct sto_store *begin(struct t_faultfs **out_f)
{
    *out_f = t_faultfs_new(1);
    clocks(T0, 1000);
    return open_at(*out_f, 30, 0);
}

/* Merges during which days pass, since every read of a file takes hours. */
struct slow {
    int64_t now_ms;
    char path[64]; /* of the file that expires */
    bool is_gone;
    bool early; /* it was unlinked before the first edit of the manifest that names the result of a merge */
    unsigned n_new;
};

static void hours_pass(void *arg, enum t_op op, const char *path, bool after)
{
    struct slow *s = arg;
    if (after || !path || !strstr(path, "/files/"))
        return;
    s->is_gone |= op == T_OP_UNLINK && strcmp(path, s->path) == 0;
    s->n_new += op == T_OP_SYNC; /* a new file is whole */
    s->early |= s->is_gone && s->n_new == 0;
    if (op == T_OP_PREAD) {
        s->now_ms += 6 * TS_HOUR_MS;
        clocks(s->now_ms, s->now_ms - T0 + 1000);
    }
}

/* The only .t file. */
static struct slow slow_begin(struct t_faultfs *f)
{
    struct slow s = {.now_ms = T0};
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *path = t_faultfs_path(f, i);
        if (strstr(path, "/files/") && !strcmp(path + strlen(path) - 2, ".t"))
            (void)snprintf(s.path, sizeof s.path, "%s", path);
    }
    assert_true(*s.path);
    return s;
}

/* Files that expire while a merge is at work, which may take hours, are removed before it ends. */
static void test_store_retention_merge__does_not_wait_for_a_slow_merge(void **state)
{
    (void)state;
    enum { N_SERIES_EACH = 100, N_MERGED = 20 };
    const int64_t today = T0 - T0 % DAY;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    for (unsigned i = 0; i < N_SERIES_EACH; i++)
        put_at(st, i, T0 - 29 * DAY, 1);
    flush_to(st, STO_LEVEL_FILES); /* it expires in a day */
    struct slow slow = slow_begin(f);
    for (int64_t k = 0; k < N_MERGED; k++) {
        for (unsigned i = 0; i < N_SERIES_EACH; i++)
            for (int64_t h = 0; h < 20; h++)
                put_at(st, i, today + h * TS_HOUR_MS + k, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), 1 + N_MERGED);
    t_faultfs_set_hook(f, hours_pass, &slow);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(slow.now_ms > T0 + 2 * DAY && slow.now_ms < T0 + 29 * DAY);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_true(slow.early);
    assert_int_equal(seen(st, 0).n, 20 * N_MERGED);
    kit_close(st);
    t_faultfs_free(f);
}

/* An input of the merge at work that expires meanwhile: its points never come back, even if retention is extended then. */
static void test_store_retention_merge__an_input_that_expires_stays_expired(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    enum { N = 100, N_FILES = 20 };
    for (unsigned i = 0; i < N; i++)
        put_at(st, i, T0 - 29 * DAY - TS_HOUR_MS, 5); /* another file that expires */
    flush_to(st, STO_LEVEL_FILES);
    struct slow slow = slow_begin(f);
    for (int64_t k = 0; k < N_FILES; k++) {
        for (unsigned i = 0; i < N; i++)
            for (int64_t h = 0; h < 4; h++)
                put_at(st, i, T0 - 28 * DAY + h * TS_HOUR_MS + k, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    t_faultfs_set_hook(f, hours_pass, &slow);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(slow.now_ms > T0 + 4 * DAY && slow.now_ms < T0 + 60 * DAY);
    assert_true(slow.early);
    kit_close(st);
    st = open_at(f, 0, 0);
    assert_int_equal(seen(st, 0).n, 0);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_retention_merge__does_not_wait_for_a_slow_merge),
        CASE(test_store_retention_merge__an_input_that_expires_stays_expired),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
