/*
 * test_store.c - the whole store through its door: put, snapshot, flush, compact, close, reopen, several
 * writers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/unit/storage/scan_kit.h"

#define GOT_BYTES 2000

#define T0 1793620800000ll /* an hour: 2026-11-02 12:00 UTC */

/* A folder of its own for each test. */
struct t_dir {
    char path[64];
};

static void t_dir_make(struct t_dir *d)
{
    snprintf(d->path, sizeof d->path, "/tmp/test_store.XXXXXX");
    assert_non_null(mkdtemp(d->path));
}

static void t_dir_remove(struct t_dir *d)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", d->path);
    assert_int_equal(system(cmd), 0);
}

static struct sto_store *t_open(const struct t_dir *d, unsigned n_writers, bool own_threads)
{
    struct sto_opts opts = {.dir = d->path,
                            .create = true,
                            .n_writers = n_writers,
                            .own_threads = own_threads,
                            .no_background = true};
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("open: %s", err.text);
    return st;
}

static void t_close(struct sto_store *st)
{
    struct ts_error err = {0};
    if (sto_close(st, &err) < 0)
        fail_msg("close: %s", err.text);
}

static const struct sto_series *t_series(struct sto_store *st, const char *metric, const char *host)
{
    char text[128];
    int n = snprintf(text, sizeof text, "%s host=%s", metric, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                           (uint32_t)strlen(metric), &tag, 1, true, &s, &err) < 0)
        fail_msg("series: %s", err.text);
    return s;
}

static struct ts_num t_int(int64_t v)
{
    return (struct ts_num){.m = v, .kind = TS_NUM_INT};
}

static void t_print_point(void *arg, int64_t ts_ms, struct ts_num v)
{
    char *got = arg;
    size_t at = strlen(got);
    snprintf(got + at, GOT_BYTES - at, "%s%lld=%lld", at ? " " : "", (long long)((ts_ms - T0) / 1000),
             (long long)v.m);
}

/* Points of one series as text "off=value off=value ...", offsets in s from T0. */
static void t_expect(struct sto_store *st, const struct sto_series *s, const char *expected)
{
    char got[GOT_BYTES] = "";
    struct ts_error err = {0};
    if (kit_points(st, s, t_print_point, got, &err) < 0)
        fail_msg("scan: %s", err.text);
    assert_string_equal(got, expected);
}

static void t_put(struct sto_store *st, const struct sto_series *s, int64_t s_off, int64_t v)
{
    assert_int_equal(sto_put(sto_writer(st, 0), s, T0 + s_off * 1000, t_int(v), false), 0);
}

static void t_settle(struct sto_store *st, enum sto_level level)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("flush: %s", err.text);
}

static void test_store__points_survive_every_level(void **state)
{
    (void)state;
    for (int level = STO_LEVEL_LOG; level <= STO_LEVEL_COMPACT; level++) {
        struct t_dir d;
        t_dir_make(&d);
        struct sto_store *st = t_open(&d, 2, true);
        const struct sto_series *a = t_series(st, "m", "a"), *b = t_series(st, "m", "b");
        t_put(st, a, 10, 1);
        t_put(st, b, 10, 2);
        t_put(st, a, 5, 3);
        t_settle(st, (enum sto_level)level);
        t_expect(st, a, "5=3 10=1");
        t_expect(st, b, "10=2");
        t_put(st, a, 10, 7);
        t_put(st, a, 4000, 8);
        t_settle(st, (enum sto_level)level);
        t_expect(st, a, "5=3 10=7 4000=8");
        t_close(st);
        st = t_open(&d, 3, true);
        a = t_series(st, "m", "a");
        t_expect(st, a, "5=3 10=7 4000=8");
        t_close(st);
        t_dir_remove(&d);
    }
}

static void test_store__adds_and_deletes_cross_files(void **state)
{
    (void)state;
    struct t_dir d;
    t_dir_make(&d);
    struct sto_store *st = t_open(&d, 1, true);
    const struct sto_series *a = t_series(st, "m", "a");
    t_put(st, a, 10, 5);
    t_put(st, a, 20, 6);
    t_settle(st, STO_LEVEL_FILES);
    assert_int_equal(sto_add(sto_writer(st, 0), a, T0 + 10000, t_int(3), false, 1), 0);
    assert_int_equal(sto_add(sto_writer(st, 0), a, T0 + 30000, t_int(4), false, 1), 0);
    t_settle(st, STO_LEVEL_FILES);
    t_expect(st, a, "10=8 20=6 30=4");
    assert_int_equal(sto_delete(sto_writer(st, 0), a, T0 + 15000, T0 + 25000), 0);
    assert_int_equal(sto_add(sto_writer(st, 0), a, T0 + 20000, t_int(1), false, 1), 0);
    t_settle(st, STO_LEVEL_LOG);
    t_expect(st, a, "10=8 20=1 30=4");
    t_settle(st, STO_LEVEL_FILES);
    t_expect(st, a, "10=8 20=1 30=4");
    t_settle(st, STO_LEVEL_COMPACT);
    t_expect(st, a, "10=8 20=1 30=4");
    t_close(st);
    st = t_open(&d, 1, true);
    t_expect(st, t_series(st, "m", "a"), "10=8 20=1 30=4");
    t_close(st);
    t_dir_remove(&d);
}

/* What is written in a later generation never shows in a snapshot; files it stands on stay until it is
 * released. */
static void test_store__a_snapshot_keeps_its_generation(void **state)
{
    (void)state;
    struct t_dir d;
    t_dir_make(&d);
    struct sto_store *st = t_open(&d, 1, true);
    const struct sto_series *a = t_series(st, "m", "a");
    t_put(st, a, 1, 1);
    t_settle(st, STO_LEVEL_FILES);
    t_put(st, a, 2, 7);
    t_settle(st, STO_LEVEL_LOG);
    struct sto_snap *snap = sto_snap_take(st);
    t_settle(st, STO_LEVEL_FILES);
    t_put(st, a, 1, 2);
    t_settle(st, STO_LEVEL_COMPACT);
    struct sto_scan_spec spec = {.metric = a->metric,
                                 .series = &a,
                                 .n_series = 1,
                                 .from_ms = T0,
                                 .to_ms = T0 + 3600000,
                                 .final = true};
    struct sto_merge *scan = NULL;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 1);
    assert_int_equal(row.cells->n, 2);
    assert_int_equal(row.cells->m[0], 1);
    assert_int_equal(row.cells->m[1], 7);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 0);
    sto_merge_free(scan);
    sto_snap_release(snap);
    t_expect(st, a, "1=2 2=7");
    t_close(st);
    t_dir_remove(&d);
}

static void test_store__a_second_process_is_told(void **state)
{
    (void)state;
    struct t_dir d;
    t_dir_make(&d);
    struct sto_store *st = t_open(&d, 1, true), *second = NULL;
    struct sto_opts opts = {.dir = d.path, .create = true};
    struct ts_error err = {0};
    assert_int_equal(sto_open(&opts, &second, &err), TS_EBUSY);
    assert_non_null(strstr(err.text, "in use by another tsd process"));
    t_close(st);
    t_dir_remove(&d);
}

static void test_store__other_folders_are_refused(void **state)
{
    (void)state;
    struct t_dir d;
    char path[128];
    t_dir_make(&d);
    snprintf(path, sizeof path, "%s/letter.txt", d.path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    struct sto_opts opts = {.dir = d.path, .create = true};
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    assert_int_equal(sto_open(&opts, &st, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "is not a tsd store"));
    opts.dir = "/nonexistent/x";
    opts.create = false;
    assert_int_equal(sto_open(&opts, &st, &err), TS_ENOTFOUND);
    t_dir_remove(&d);
}

static void test_store__many_files_merge_to_few(void **state)
{
    (void)state;
    struct t_dir d;
    t_dir_make(&d);
    struct sto_store *st = t_open(&d, 2, true);
    const struct sto_series *a = t_series(st, "m", "a");
    char expected[1000] = "";
    for (int i = 0; i < 12; i++) {
        t_put(st, a, i * 400, i);
        t_put(st, a, 5000, 100 + i);
        t_settle(st, STO_LEVEL_FILES);
        size_t at = strlen(expected);
        snprintf(expected + at, sizeof expected - at, "%d=%d ", i * 400, i);
    }
    size_t end = strlen(expected);
    snprintf(expected + end, sizeof expected - end, "5000=111");
    t_expect(st, a, expected);
    t_settle(st, STO_LEVEL_COMPACT);
    t_expect(st, a, expected);
    t_close(st);
    t_dir_remove(&d);
}

/* Writers and owners in one thread, as an event loop runs them. */
static void on_done(void *arg, int rc, const struct ts_error *err)
{
    (void)err;
    *(int *)arg = rc == 0 ? 1 : -1;
}

static void test_store__barrier_tells_when_points_are_on_disk(void **state)
{
    (void)state;
    struct t_dir d;
    t_dir_make(&d);
    struct sto_store *st = t_open(&d, 1, false);
    struct sto_writer *writer = sto_writer(st, 0);
    const struct sto_series *a = t_series(st, "m", "a");
    int done = 0;
    t_put(st, a, 1, 1);
    sto_writer_barrier(writer, STO_LEVEL_DISK, 1, on_done, &done);
    for (int i = 0; i < 10000 && !done; i++) {
        sto_writer_turn(writer);
        usleep(100);
    }
    assert_int_equal(done, 1);
    t_expect(st, a, "1=1");
    t_close(st);
    t_dir_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store__points_survive_every_level),
        cmocka_unit_test(test_store__adds_and_deletes_cross_files),
        cmocka_unit_test(test_store__a_snapshot_keeps_its_generation),
        cmocka_unit_test(test_store__a_second_process_is_told),
        cmocka_unit_test(test_store__other_folders_are_refused),
        cmocka_unit_test(test_store__many_files_merge_to_few),
        cmocka_unit_test(test_store__barrier_tells_when_points_are_on_disk),
    };
    ts_log_set_level(TS_LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
