/*
 * test_cells.c - small cells: get, put, compare-and-set, counters, order, log, checkpoints, full disks,
 * threads.
 *
 * Threads    eight in the last case
 */
#include "storage/cells.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "storage/reclog.h"

#define LOG_NAME "cells.log"
#include "tests/unit/log_kit.h"

static struct sto_cellmap *t_open_fs(const struct ts_fs *fs, bool read_only, bool sync)
{
    struct sto_cellmap *map;
    struct ts_error err = {0};
    if (sto_cellmap_open(fs, dir, read_only, sync, &map, &err) < 0)
        fail_msg("%s", err.text);
    return map;
}
static struct sto_cellmap *t_open(void)
{
    return t_open_fs(ts_fs_real(), false, true);
}
static void t_close(struct sto_cellmap *map)
{
    assert_int_equal(sto_cellmap_close(map, NULL), 0);
}

static void t_put(struct sto_cellmap *map, const char *key, const char *value)
{
    struct ts_error err = {0};
    if (sto_cellmap_put(map, ts_slice_str(key), ts_slice_str(value), false, &err) < 0)
        fail_msg("%s", err.text);
}

/* The cell has this value; "" = it is missing. */
static void t_expect(struct sto_cellmap *map, const char *key, const char *want)
{
    struct ts_buf got;
    ts_buf_init(&got, 0);
    assert_int_equal(sto_cellmap_get(map, ts_slice_str(key), &got), *want ? 0 : TS_ENOTFOUND);
    assert_true(ts_slice_is(ts_buf_get(&got), want));
    ts_buf_release(&got);
}

static uint64_t t_file_bytes(void)
{
    char *p;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), path, 1u << 30, &p, &n, NULL), 0);
    ts_free(p);
    return n;
}

static void test_cells__put_replaces_and_empty_deletes(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    t_expect(map, "a", "");
    t_put(map, "a", "1");
    t_put(map, "b", "2");
    t_put(map, "a", "three");
    t_put(map, "none", "");
    t_put(map, "b", "");
    for (int round = 0; round < 2; round++) {
        t_expect(map, "a", "three");
        t_expect(map, "b", "");
        t_expect(map, "", "");
        t_close(map);
        map = t_open();
    }
    t_close(map);
    t_close(NULL);
}

static void test_cells__get_appends_and_respects_the_limit(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    t_put(map, "k", "value");
    struct ts_buf out;
    ts_buf_init(&out, 8);
    ts_buf_str(&out, "at ");
    assert_int_equal(sto_cellmap_get(map, TS_SLICE_LIT("k"), &out), 0);
    assert_true(ts_slice_is(ts_buf_get(&out), "at value"));
    assert_int_equal(sto_cellmap_get(map, TS_SLICE_LIT("k"), &out), TS_ELIMIT);
    ts_buf_release(&out);
    t_close(map);
}

static void test_cells__wrong_keys_and_values_are_refused(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    struct ts_error err = {0};
    char *big = ts_xcalloc(1, STO_CELL_MAX_VALUE_BYTES + 1);
    struct ts_slice v = TS_SLICE_LIT("v");
    assert_int_equal(sto_cellmap_put(map, (struct ts_slice){big, 0}, v, false, &err), TS_EINVAL);
    assert_int_equal(sto_cellmap_put(map, (struct ts_slice){big, 65536}, v, false, &err), TS_ELIMIT);
    assert_int_equal(sto_cellmap_put(map, (struct ts_slice){big, 65535}, v, false, &err), 0);
    assert_int_equal(
        sto_cellmap_put(map, v, (struct ts_slice){big, STO_CELL_MAX_VALUE_BYTES + 1}, false, &err),
        TS_ELIMIT);
    assert_int_equal(sto_cellmap_put(map, v, (struct ts_slice){big, STO_CELL_MAX_VALUE_BYTES}, false, &err),
                     0);
    assert_true(sto_cellmap_bytes(map) > STO_CELL_MAX_VALUE_BYTES);
    t_close(map);
    map = t_open();
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(sto_cellmap_get(map, v, &out), 0);
    assert_int_equal(out.n, STO_CELL_MAX_VALUE_BYTES);
    ts_buf_release(&out);
    t_close(map);
    ts_free(big);
}

static void test_cells__cas_only_from_what_was_expected(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    struct ts_error err = {0};
    struct ts_slice k = TS_SLICE_LIT("k"), none = {NULL, 0}, a = TS_SLICE_LIT("a"), b = TS_SLICE_LIT("b");
    assert_int_equal(sto_cellmap_cas(map, k, a, b, false, &err), TS_EEXIST);
    assert_int_equal(sto_cellmap_cas(map, k, none, a, false, &err), 0);
    assert_int_equal(sto_cellmap_cas(map, k, none, b, false, &err), TS_EEXIST);
    t_expect(map, "k", "a");
    assert_int_equal(sto_cellmap_cas(map, k, a, b, false, &err), 0);
    t_expect(map, "k", "b");
    assert_int_equal(sto_cellmap_cas(map, k, b, none, false, &err), 0);
    t_expect(map, "k", "");
    t_close(map);
}

static void test_cells__counters_stay_within_64_bits(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    struct ts_error err = {0};
    struct ts_slice k = TS_SLICE_LIT("n");
    int64_t v = 0;
    assert_int_equal(sto_cellmap_incr(map, k, 5, &v, &err), 0);
    assert_int_equal(v, 5);
    assert_int_equal(sto_cellmap_incr(map, k, -7, NULL, &err), 0);
    assert_int_equal(sto_cellmap_incr(map, k, 0, &v, &err), 0);
    assert_int_equal(v, -2);
    assert_int_equal(sto_cellmap_incr(map, k, INT64_MIN + 2, &v, &err), 0);
    assert_true(v == INT64_MIN);
    assert_int_equal(sto_cellmap_incr(map, k, -1, &v, &err), TS_ELIMIT);
    t_close(map);
    map = t_open();
    assert_int_equal(sto_cellmap_incr(map, k, INT64_MAX, &v, &err), 0);
    assert_int_equal(v, -1);
    t_put(map, "text", "no counter");
    assert_int_equal(sto_cellmap_incr(map, TS_SLICE_LIT("text"), 1, &v, &err), TS_EINVAL);
    t_expect(map, "text", "no counter");
    t_close(map);
}

/* What each() told. */
struct t_seen {
    struct sto_cellmap *map; /* to change while it is walked; NULL = only look */
    char last[32];
    size_t n, stop_at;
};

static bool t_each(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct t_seen *seen = arg;
    char k[32];
    (void)snprintf(k, sizeof(k), "%.*s", (int)key.n, key.p);
    assert_true(strcmp(k, seen->last) > 0);
    memcpy(seen->last, k, sizeof(k));
    assert_true(value.n > 0);
    seen->n++;
    if (seen->map)
        t_put(seen->map, k, ""); /* the walk goes on behind a cell that is gone */
    return seen->n != seen->stop_at;
}

static size_t t_walk(struct sto_cellmap *map, const char *prefix, size_t stop_at, bool change)
{
    struct t_seen seen = {.map = change ? map : NULL, .stop_at = stop_at};
    sto_cellmap_each(map, ts_slice_str(prefix), t_each, &seen);
    return seen.n;
}

static size_t t_walk_range(struct sto_cellmap *map, const char *from, const char *to)
{
    struct t_seen seen = {.map = NULL};
    sto_cellmap_range(map, ts_slice_str(from), ts_slice_str(to), t_each, &seen);
    return seen.n;
}

static void test_cells__each_goes_through_a_prefix_in_byte_order(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open_fs(ts_fs_real(), false, false);
    char key[32], value[64];
    for (int i = 0; i < 5000; i++) { /* more than one lock's worth */
        (void)snprintf(key, sizeof(key), "%c%04d", "abc"[i % 3], i * 7 % 5000);
        (void)snprintf(value, sizeof(value), "%050d", i);
        t_put(map, key, value);
    }
    assert_int_equal(t_walk(map, "", 0, false), 5000);
    assert_int_equal(t_walk(map, "b", 0, false), 1667);
    assert_int_equal(t_walk(map, "b", 5, false), 5);
    assert_int_equal(t_walk(map, "d", 0, false), 0);
    assert_int_equal(t_walk(map, "b00000", 0, false), 0);
    assert_int_equal(t_walk(map, "b", 0, true), 1667);
    assert_int_equal(t_walk(map, "b", 0, false), 0);
    assert_int_equal(t_walk_range(map, "", ""), 3333);
    assert_int_equal(t_walk_range(map, "b", ""), 1666);
    assert_int_equal(t_walk_range(map, "b", "c9999"), 1666);
    assert_int_equal(t_walk_range(map, "", "c"), 1667);
    assert_int_equal(t_walk_range(map, "a0000", "a0000"), 0);
    assert_int_equal(t_walk_range(map, "z", ""), 0);
    t_close(map);
    map = t_open();
    assert_int_equal(t_walk(map, "", 0, false), 3333);
    t_close(map);
}

static void test_cells__history_is_rewritten_away(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open_fs(ts_fs_real(), false, false);
    char *big = ts_xmalloc(20001);
    memset(big, 'x', 20000);
    big[20000] = 0;
    t_put(map, "kept", "yes");
    for (int i = 0; i < 1000; i++) {
        big[0] = (char)('a' + i % 26);
        t_put(map, "often", big);
        assert_true(t_file_bytes() < 1200000);
    }
    t_close(map);
    map = t_open();
    t_expect(map, "kept", "yes");
    t_expect(map, "often", big);
    t_close(map);
    ts_free(big);
}

static void test_cells__synced_cells_survive_a_crash_and_a_torn_tail(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open(), *after;
    t_put(map, "a", "1");
    t_put(map, "b", "2");
    after = t_open(); /* the first one is not closed before: as after kill -9 */
    t_expect(after, "b", "2");
    t_close(after);
    t_close(map);
    t_drop_copy();
    assert_int_equal(truncate(path, (off_t)t_file_bytes() - 1), 0);
    map = t_open();
    t_expect(map, "a", "1");
    t_expect(map, "b", "");
    t_close(map);
}

static void test_cells__wrong_records_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\5a", "\1a", "\1a\5x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sto_reclog *log;
        struct sto_cellmap *map;
        struct ts_error err = {0};
        (void)unlink(path);
        t_drop_copy();
        assert_int_equal(sto_reclog_open(ts_fs_real(), path, "CELL", false, NULL, NULL, &log, NULL), 0);
        sto_reclog_add(log, ts_slice_str(bad[i]), NULL);
        sto_reclog_close(log, NULL);
        assert_int_equal(sto_cellmap_open(ts_fs_real(), dir, false, true, &map, &err), TS_ECORRUPT);
        assert_null(map);
    }
}

static void test_cells__read_only_changes_nothing(void **state)
{
    (void)state;
    struct sto_cellmap *map;
    struct ts_error err = {0};
    assert_int_equal(sto_cellmap_open(ts_fs_real(), dir, true, true, &map, &err), TS_ENOTFOUND);
    map = t_open();
    t_put(map, "a", "1");
    t_close(map);
    map = t_open_fs(ts_fs_real(), true, true);
    t_expect(map, "a", "1");
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("a"), TS_SLICE_LIT("2"), false, &err), TS_EINVAL);
    t_expect(map, "a", "1");
    t_close(map);
}

/* --- a file system that is full --- */

static struct ts_fs bad_fs;
static int fail_append;
static int n_syncs; /* fdatasyncs so far; under the log's lock */

static int bad_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    return fail_append ? ts_error_set(err, fail_append, "append fails")
                       : ts_fs_real()->append(file, p, n, err);
}
static int bad_sync(struct ts_file *file, struct ts_error *err)
{
    n_syncs++;
    return ts_fs_real()->sync(file, err);
}
static struct sto_cellmap *t_open_bad(void)
{
    bad_fs = *ts_fs_real();
    bad_fs.append = bad_append;
    bad_fs.sync = bad_sync;
    fail_append = 0;
    return t_open_fs(&bad_fs, false, true);
}

static void test_cells__full_disk_refuses_before_it_changes(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open_bad();
    struct ts_error err = {0};
    t_put(map, "a", "1");
    fail_append = TS_ENOSPC;
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("a"), TS_SLICE_LIT("2"), false, &err), TS_ENOSPC);
    t_expect(map, "a", "2"); /* under way when the disk was found full: see cells.h */
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("a"), TS_SLICE_LIT("3"), false, &err), TS_ENOSPC);
    assert_int_equal(sto_cellmap_incr(map, TS_SLICE_LIT("n"), 1, NULL, &err), TS_ENOSPC);
    t_expect(map, "a", "2");
    t_expect(map, "n", "");
    fail_append = 0;
    t_put(map, "b", "4");
    t_close(map);
    map = t_open();
    t_expect(map, "a", "2");
    t_expect(map, "b", "4");
    t_close(map);
}

/* Above the limit of memory no cell is added and none grows; what is there can be read, become shorter and be deleted. */
static void test_cells__memory_that_is_used_up_refuses_growth(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open();
    struct ts_error err = {0};
    char key[16], text[1000];
    struct ts_slice k = {key, 0}, long_one = {text, sizeof text}, k0 = TS_SLICE_LIT("k0");
    int n = 0, rc = 0;
    memset(text, 'v', sizeof text);
    text[sizeof text - 1] = 0;
    sto_cellmap_set_sizes(map, 0, 100000);
    for (; rc == 0 && n < 1000; n += rc == 0) {
        k.n = (size_t)snprintf(key, sizeof key, "k%d", n);
        rc = sto_cellmap_put(map, k, long_one, false, &err);
    }
    assert_int_equal(rc, TS_ENOSPC);
    assert_non_null(strstr(err.text, "memory_limit leaves 100000 for them"));
    assert_in_range(n, 80, 95);
    assert_in_range(sto_cellmap_bytes(map), 98000, 102000);               /* and a change that was queued */
    assert_int_equal(sto_cellmap_check_room(map, k0, long_one, &err), 0); /* as long as it is */
    assert_int_equal(sto_cellmap_cas(map, k0, long_one, TS_SLICE_LIT("short"), false, &err), 0);
    assert_int_equal(sto_cellmap_check_room(map, k0, long_one, &err), 0);
    t_put(map, "b", "4");
    t_put(map, "k1", "");
    assert_int_equal(sto_cellmap_put(map, k, long_one, false, &err), 0);
    assert_int_equal(sto_cellmap_check_room(map, TS_SLICE_LIT("k1"), long_one, &err), 0);
    t_put(map, "k0", text + sizeof text - 1 - 900);
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("b"), long_one, false, &err), TS_ENOSPC);
    t_expect(map, "b", "4");
    t_close(map);
    map = t_open();
    sto_cellmap_set_sizes(map, 0, 1000); /* less than there is */
    t_expect(map, "b", "4");
    t_put(map, "b", "5");
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("b"), TS_SLICE_LIT("45"), false, &err), TS_ENOSPC);
    t_close(map);
}

static void test_cells__failed_disk_refuses_for_good(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open_bad();
    struct ts_error err = {0};
    t_put(map, "a", "1");
    fail_append = TS_EIO;
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("b"), TS_SLICE_LIT("2"), false, &err), TS_EIO);
    fail_append = 0;
    assert_int_equal(sto_cellmap_put(map, TS_SLICE_LIT("c"), TS_SLICE_LIT("3"), false, &err), TS_EIO);
    t_expect(map, "c", "");
    assert_int_equal(sto_cellmap_close(map, &err), TS_EIO);
    map = t_open();
    t_expect(map, "a", "1");
    t_expect(map, "b", "");
    t_close(map);
}

/* --- threads --- */

#define T_THREADS 8
#define T_ROUNDS  200

static void *t_count(void *arg)
{
    struct sto_cellmap *map = arg;
    for (int i = 0; i < T_ROUNDS; i++) {
        assert_int_equal(sto_cellmap_incr(map, TS_SLICE_LIT("shared"), 1, NULL, NULL), 0);
        char key[32];
        (void)snprintf(key, sizeof(key), "k%d", i % 50);
        t_put(map, key, i % 3 ? "v" : "");
        if (i % 20 == 0)
            (void)t_walk(map, "k", 0, false);
        (void)sto_cellmap_bytes(map);
    }
    return NULL;
}

static void test_cells__many_changes_share_one_sync(void **state)
{
    (void)state;
    char key[16];
    struct ts_error err = {0};
    struct sto_cellmap *map = t_open_bad();
    n_syncs = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof(key), "k%03d", i);
        if (i % 2)
            assert_int_equal(sto_cellmap_put(map, ts_slice_str(key), TS_SLICE_LIT("v"), true, &err), 0);
        else
            assert_int_equal(sto_cellmap_cas(map, ts_slice_str(key), (struct ts_slice){NULL, 0},
                                             TS_SLICE_LIT("v"), true, &err),
                             0);
    }
    assert_int_equal(n_syncs, 0);
    t_expect(map, "k199", "v"); /* seen at once */
    assert_int_equal(sto_cellmap_sync(map, &err), 0);
    int n = n_syncs;
    assert_true(n >= 1 && n <= 2); /* the log, and its copy */
    assert_int_equal(sto_cellmap_sync(map, &err), 0);
    assert_int_equal(n_syncs, n); /* nothing is left to be done */
    t_close(map);
    map = t_open();
    t_expect(map, "k000", "v");
    t_expect(map, "k199", "v");
    t_close(map);
}

static void test_cells__threads_lose_no_count_and_share_syncs(void **state)
{
    (void)state;
    struct sto_cellmap *map = t_open_bad();
    n_syncs = 0;
    pthread_t threads[T_THREADS];
    for (int i = 0; i < T_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, t_count, map), 0);
    for (int i = 0; i < T_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(n_syncs <= T_THREADS * T_ROUNDS * 2);
    int64_t v;
    t_close(map);
    map = t_open();
    assert_int_equal(sto_cellmap_incr(map, TS_SLICE_LIT("shared"), 0, &v, NULL), 0);
    assert_int_equal(v, T_THREADS * T_ROUNDS);
    t_close(map);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
    const struct CMUnitTest tests[] = {
        T(test_cells__put_replaces_and_empty_deletes),
        T(test_cells__get_appends_and_respects_the_limit),
        T(test_cells__wrong_keys_and_values_are_refused),
        T(test_cells__cas_only_from_what_was_expected),
        T(test_cells__counters_stay_within_64_bits),
        T(test_cells__each_goes_through_a_prefix_in_byte_order),
        T(test_cells__history_is_rewritten_away),
        T(test_cells__synced_cells_survive_a_crash_and_a_torn_tail),
        T(test_cells__wrong_records_are_refused),
        T(test_cells__read_only_changes_nothing),
        T(test_cells__full_disk_refuses_before_it_changes),
        T(test_cells__memory_that_is_used_up_refuses_growth),
        T(test_cells__failed_disk_refuses_for_good),
        T(test_cells__many_changes_share_one_sync),
        T(test_cells__threads_lose_no_count_and_share_syncs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
