/*
 * test_faultfs.c - the faulty file system of the tests: a plain file system, and faults as promised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/faults/faultfs.h"

static struct ts_file *open_file(struct t_faultfs *f, const char *path, enum ts_open how)
{
    struct ts_file *h;
    const struct ts_fs *fs = t_faultfs_fs(f);
    assert_int_equal(fs->open(fs, path, how, &h, NULL), 0);
    return h;
}

/* Does path hold exactly text? NULL: it must not exist. */
static void assert_holds(struct t_faultfs *f, const char *path, const char *text)
{
    size_t n;
    uint8_t *p = t_faultfs_get(f, path, &n);
    if (!text) {
        assert_null(p);
        return;
    }
    assert_non_null(p);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(p, text, n);
    ts_free(p);
}

static int count_name(void *arg, const char *name)
{
    size_t *n = arg;
    *n += strlen(name);
    return strcmp(name, "stop") == 0 ? TS_ECANCELLED : 0;
}

/* --- a plain file system --- */

static void test_faultfs__files_are_written_and_read(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_error err = {0};
    char b[16];
    size_t n;
    uint64_t size;
    struct ts_file *h = open_file(f, "a", TS_OPEN_CREATE), *h2;
    assert_int_equal(fs->open(fs, "a", TS_OPEN_CREATE, &h2, &err), TS_EEXIST);
    assert_null(h2);
    assert_int_equal(fs->open(fs, "b", TS_OPEN_READ, &h2, &err), TS_ENOTFOUND);
    assert_int_equal(fs->append(h, "hello ", 6, NULL), 0);
    assert_int_equal(fs->append(h, "world", 5, NULL), 0);
    assert_int_equal(fs->pread(h, b, sizeof(b), 6, &n, NULL), 0);
    assert_true(n == 5 && memcmp(b, "world", 5) == 0);
    assert_int_equal(fs->pread(h, b, sizeof(b), 99, &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(fs->truncate(h, 5, NULL), 0);
    assert_int_equal(fs->size(h, &size, NULL), 0);
    assert_int_equal(size, 5);
    assert_int_equal(fs->append(h, "!", 1, NULL), 0);
    assert_holds(f, "a", "hello!");
    h2 = open_file(f, "a", TS_OPEN_READ);
    assert_int_equal(fs->append(h2, "x", 1, &err), TS_EIO);
    assert_int_equal(fs->truncate(h2, 0, &err), TS_EIO);
    assert_int_equal(t_faultfs_n_open(f), 2);
    assert_int_equal(fs->close(h2, NULL), 0);
    assert_int_equal(fs->close(h, NULL), 0);
    assert_int_equal(fs->close(NULL, NULL), 0);
    h = open_file(f, "a", TS_OPEN_APPEND);
    assert_int_equal(fs->append(h, "!", 1, NULL), 0);
    assert_holds(f, "a", "hello!!");
    assert_int_equal(t_faultfs_n_open(f), 1);
    t_faultfs_free(f); /* closes what is open */
}

static void test_faultfs__names_behave(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_error err = {0};
    struct ts_file *h;
    size_t n = 0;
    assert_int_equal(fs->open(fs, "d/a", TS_OPEN_CREATE, &h, &err), TS_ENOTFOUND);
    assert_int_equal(fs->mkdir(fs, "d/e", &err), TS_ENOTFOUND);
    assert_int_equal(fs->list(fs, "d", count_name, &n, &err), TS_ENOTFOUND);
    assert_int_equal(fs->sync_dir(fs, "d", &err), TS_ENOTFOUND);
    assert_int_equal(fs->mkdir(fs, "d", NULL), 0);
    assert_int_equal(fs->mkdir(fs, "d", NULL), 0);
    assert_int_equal(fs->open(fs, "d", TS_OPEN_READ, &h, &err), TS_EIO);
    h = open_file(f, "d/a", TS_OPEN_CREATE);
    assert_int_equal(fs->append(h, "1", 1, NULL), 0);
    t_faultfs_put(f, "d/b", "2", 1);
    assert_int_equal(fs->rename(fs, "d/c", "d/b", &err), TS_ENOTFOUND);
    assert_int_equal(fs->rename(fs, "d/a", "d/b", NULL), 0);
    assert_int_equal(fs->append(h, "1", 1, NULL), 0); /* the handle stays with the file */
    assert_holds(f, "d/a", NULL);
    assert_holds(f, "d/b", "11");
    t_faultfs_put(f, "d/e/stop", "", 0);
    assert_int_equal(fs->list(fs, "d", count_name, &n, NULL), 0);
    assert_int_equal(n, 2); /* "b", "e": not what is below */
    assert_int_equal(fs->list(fs, "d/e", count_name, &n, NULL), TS_ECANCELLED);
    assert_int_equal(fs->unlink(fs, "d/b", NULL), 0);
    assert_int_equal(fs->unlink(fs, "d/b", &err), TS_ENOTFOUND);
    assert_int_equal(fs->append(h, "1", 1, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 1);
    assert_string_equal(t_faultfs_path(f, 0), "d/e/stop");
    fs->close(h, NULL);
    t_faultfs_free(f);
}

static void test_faultfs__a_lock_has_one_owner(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_file *a = open_file(f, "l", TS_OPEN_CREATE), *b = open_file(f, "l", TS_OPEN_APPEND);
    assert_int_equal(fs->lock(a, NULL), 0);
    assert_int_equal(fs->lock(a, NULL), 0);
    assert_int_equal(fs->lock(b, NULL), TS_EBUSY);
    fs->close(a, NULL);
    assert_int_equal(fs->lock(b, NULL), 0);
    fs->close(b, NULL);
    t_faultfs_free(f);
}

/* --- power cuts --- */

/* "old" synced in a synced folder, then more; what is there after the cut? */
static struct t_faultfs *before_cut(uint64_t seed, bool sync_more)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    const struct ts_fs *fs = t_faultfs_fs(f);
    t_faultfs_set_page(f, 4);
    struct ts_file *h = open_file(f, "a", TS_OPEN_CREATE);
    assert_int_equal(fs->append(h, "oldoldoldold", 12, NULL), 0);
    assert_int_equal(fs->sync(h, NULL), 0);
    assert_int_equal(fs->sync_dir(fs, ".", NULL), 0);
    assert_int_equal(fs->append(h, "newnewnew", 9, NULL), 0);
    if (sync_more)
        assert_int_equal(fs->sync(h, NULL), 0);
    struct ts_file *b = open_file(f, "b", TS_OPEN_CREATE);
    assert_int_equal(fs->append(b, "b", 1, NULL), 0);
    assert_int_equal(fs->sync(b, NULL), 0); /* its name is not */
    t_faultfs_power_cut(f);
    assert_int_equal(fs->append(h, "x", 1, NULL), TS_EIO);
    assert_int_equal(fs->sync(h, NULL), TS_EIO);
    assert_int_equal(fs->unlink(fs, "a", NULL), TS_EIO);
    fs->close(h, NULL);
    fs->close(b, NULL);
    return f;
}

static void test_faultfs__what_was_synced_survives(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct t_faultfs *f = before_cut(seed, true);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        assert_holds(f, "a", "oldoldoldoldnewnewnew");
        t_faultfs_free(f);
    }
    struct t_faultfs *f = before_cut(1, false);
    t_faultfs_reboot(f, T_KEEP_NONE);
    assert_holds(f, "a", "oldoldoldold");
    assert_holds(f, "b", NULL);
    t_faultfs_free(f);
    f = before_cut(1, false);
    t_faultfs_reboot(f, T_KEEP_ALL);
    assert_holds(f, "a", "oldoldoldoldnewnewnew");
    assert_holds(f, "b", "b");
    t_faultfs_free(f);
}

static void test_faultfs__the_rest_is_kept_lost_or_torn(void **state)
{
    (void)state;
    unsigned n_short = 0, n_torn = 0, n_whole = 0, n_named = 0, n_zero = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct t_faultfs *f = before_cut(seed, false);
        size_t n, n_good = 0;
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        uint8_t *p = t_faultfs_get(f, "a", &n);
        assert_true(n >= 12 && n <= 21 && memcmp(p, "oldoldoldold", 12) == 0);
        for (size_t i = 12; i < n; i++) {
            assert_true(p[i] == (uint8_t) "new"[i % 3] || p[i] == 0);
            n_good += p[i] != 0;
        }
        n_short += n < 21;
        n_whole += n_good == 9;
        n_zero += n > 12 && n_good == 0;
        n_torn += n == 21 && n_good % 4 != 0;
        ts_free(p);
        p = t_faultfs_get(f, "b", &n);
        n_named += p != NULL;
        ts_free(p);
        t_faultfs_free(f);
    }
    assert_true(n_short > 50 && n_torn > 20 && n_whole > 1 && n_zero > 1 && n_named > 100 && n_named < 200);
}

static void test_faultfs__one_seed_one_outcome(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct t_faultfs *a = before_cut(seed, false), *b = before_cut(seed, false);
        size_t n_a, n_b;
        t_faultfs_reboot(a, T_KEEP_RANDOM);
        t_faultfs_reboot(b, T_KEEP_RANDOM);
        uint8_t *p_a = t_faultfs_get(a, "a", &n_a), *p_b = t_faultfs_get(b, "a", &n_b);
        assert_true(n_a == n_b && memcmp(p_a, p_b, n_a) == 0);
        assert_int_equal(t_faultfs_count(a), t_faultfs_count(b));
        ts_free(p_a);
        ts_free(p_b);
        t_faultfs_free(a);
        t_faultfs_free(b);
    }
}

static void test_faultfs__renames_and_removals_need_the_folder_synced(void **state)
{
    (void)state;
    unsigned n_old = 0, n_new = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        const struct ts_fs *fs = t_faultfs_fs(f);
        t_faultfs_put(f, "d/name", "old", 3);
        t_faultfs_put(f, "d/gone", "x", 1);
        struct ts_file *h = open_file(f, "d/tmp", TS_OPEN_CREATE);
        assert_int_equal(fs->append(h, "new", 3, NULL), 0);
        assert_int_equal(fs->sync(h, NULL), 0);
        fs->close(h, NULL);
        assert_int_equal(fs->rename(fs, "d/tmp", "d/name", NULL), 0);
        assert_int_equal(fs->unlink(fs, "d/gone", NULL), 0);
        if (seed % 2)
            assert_int_equal(fs->sync_dir(fs, "d", NULL), 0);
        t_faultfs_power_cut(f);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        size_t n;
        uint8_t *p = t_faultfs_get(f, "d/name", &n);
        bool is_new = memcmp(p, "new", 3) == 0;
        assert_true(n == 3 && (is_new || (seed % 2 == 0 && memcmp(p, "old", 3) == 0)));
        n_new += is_new;
        n_old += !is_new;
        ts_free(p);
        p = t_faultfs_get(f, "d/gone", &n);
        assert_true(!p || seed % 2 == 0);
        ts_free(p);
        t_faultfs_free(f);
    }
    assert_true(n_old > 10 && n_new > 60);
}

static void test_faultfs__handles_and_locks_die_with_the_power(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    t_faultfs_put(f, "a", "123", 3);
    struct ts_file *h = open_file(f, "a", TS_OPEN_APPEND), *b;
    struct ts_error err = {0};
    assert_int_equal(fs->lock(h, NULL), 0);
    t_faultfs_reboot(f, T_KEEP_RANDOM);
    assert_int_equal(fs->append(h, "4", 1, &err), TS_EIO);
    assert_int_equal(fs->sync(h, &err), TS_EIO);
    b = open_file(f, "a", TS_OPEN_APPEND);
    assert_int_equal(fs->lock(b, NULL), 0);
    fs->close(h, NULL);
    assert_int_equal(fs->append(b, "4", 1, NULL), 0);
    fs->close(b, NULL);
    assert_holds(f, "a", "1234");
    t_faultfs_free(f);
}

/* --- faults --- */

static void test_faultfs__the_nth_call_fails_once_or_for_good(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_error err = {0};
    struct ts_file *h = open_file(f, "a", TS_OPEN_CREATE);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 2, .fault = T_FAULT_EIO});
    assert_int_equal(fs->append(h, "1", 1, NULL), 0);
    assert_int_equal(fs->sync(h, NULL), 0);
    assert_false(t_faultfs_fired(f));
    assert_int_equal(fs->sync(h, &err), TS_EIO);
    assert_true(t_faultfs_fired(f));
    assert_int_equal(fs->sync(h, NULL), 0);
    t_faultfs_plan(f, (struct t_fault_plan){.at = 2, .for_good = true, .fault = T_FAULT_EDQUOT});
    assert_int_equal(fs->append(h, "2", 1, NULL), 0);
    assert_int_equal(fs->append(h, "3", 1, &err), TS_ENOSPC);
    assert_int_equal(fs->mkdir(fs, "d", &err), TS_ENOSPC);
    assert_int_equal(fs->unlink(fs, "a", &err), TS_EIO); /* takes no space */
    assert_int_equal(fs->truncate(h, 0, &err), TS_EIO);
    t_faultfs_plan(f, (struct t_fault_plan){0});
    assert_int_equal(fs->append(h, "4", 1, NULL), 0);
    assert_holds(f, "a", "124");
    assert_int_equal(t_faultfs_calls(f, T_OP_SYNC), 3);
    assert_int_equal(t_faultfs_calls(f, T_OP_APPEND | T_OP_OPEN), 5);
    fs->close(h, NULL);
    t_faultfs_free(f);
}

static void test_faultfs__a_failed_append_leaves_a_part_and_a_full_disk_the_rest(void **state)
{
    (void)state;
    bool seen[8] = {false};
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        const struct ts_fs *fs = t_faultfs_fs(f);
        struct ts_file *h = open_file(f, "a", TS_OPEN_CREATE);
        uint64_t size, left;
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .fault = T_FAULT_SHORT});
        assert_int_equal(fs->append(h, "1234567", 7, NULL), TS_EIO);
        assert_int_equal(fs->size(h, &size, NULL), 0);
        assert_true(size < 7);
        seen[size] = true;
        assert_int_equal(fs->truncate(h, 0, NULL), 0);
        t_faultfs_set_capacity(f, 10);
        assert_int_equal(fs->append(h, "1234567", 7, NULL), 0);
        assert_int_equal(fs->free_bytes(fs, ".", &left, NULL), 0);
        assert_int_equal(left, 3);
        assert_int_equal(fs->append(h, "abcdefg", 7, NULL), TS_ENOSPC);
        assert_holds(f, "a", "1234567abc");
        fs->close(h, NULL);
        t_faultfs_free(f);
    }
    for (size_t i = 0; i < 7; i++)
        assert_true(seen[i]);
}

static void test_faultfs__a_failed_sync_forgets_pages_for_good(void **state)
{
    (void)state;
    unsigned n_lost = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        const struct ts_fs *fs = t_faultfs_fs(f);
        t_faultfs_put(f, "a", "", 0);
        struct ts_file *h = open_file(f, "a", TS_OPEN_APPEND);
        assert_int_equal(fs->append(h, "data", 4, NULL), 0);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .fault = T_FAULT_EIO});
        assert_int_equal(fs->sync(h, NULL), TS_EIO);
        assert_int_equal(fs->sync(h, NULL), 0); /* a lie, as the kernel's */
        fs->close(h, NULL);
        assert_holds(f, "a", "data"); /* still in memory */
        t_faultfs_power_cut(f);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        size_t n;
        uint8_t *p = t_faultfs_get(f, "a", &n);
        assert_int_equal(n, 4);
        n_lost += p[0] == 0;
        ts_free(p);
        t_faultfs_free(f);
    }
    assert_true(n_lost > 5 && n_lost < 35);
}

static void test_faultfs__a_short_read_is_short_without_an_error(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    char b[8];
    size_t n;
    t_faultfs_put(f, "a", "12345678", 8);
    struct ts_file *h = open_file(f, "a", TS_OPEN_READ);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_PREAD, .at = 1, .fault = T_FAULT_SHORT});
    assert_int_equal(fs->pread(h, b, 8, 0, &n, NULL), 0);
    assert_true(n < 8 && t_faultfs_fired(f));
    assert_int_equal(fs->pread(h, b, 8, 0, &n, NULL), 0);
    assert_int_equal(n, 8);
    fs->close(h, NULL);
    t_faultfs_free(f);
}

static void test_faultfs__the_power_can_go_at_any_call(void **state)
{
    (void)state;
    unsigned n_old = 0, n_new = 0;
    for (uint64_t seed = 0; seed < 40; seed++)
        for (uint64_t at = 1; at <= 7; at++) {
            struct t_faultfs *f = t_faultfs_new(seed);
            const struct ts_fs *fs = t_faultfs_fs(f);
            t_faultfs_put(f, "a", "old", 3);
            t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
            int rc = ts_fs_write_atomic(fs, "a", "new", 3,
                                        NULL); /* unlink open append sync close rename sync_dir */
            assert_true(rc < 0 && t_faultfs_fired(f));
            t_faultfs_reboot(f, T_KEEP_RANDOM);
            size_t n;
            uint8_t *p = t_faultfs_get(f, "a", &n);
            assert_true(n == 3 && (memcmp(p, "old", 3) == 0 || memcmp(p, "new", 3) == 0));
            n_old += p[0] == 'o';
            n_new += p[0] == 'n';
            assert_true(at >= 6 || p[0] == 'o');
            ts_free(p);
            assert_int_equal(t_faultfs_n_open(f), 0);
            assert_int_equal(ts_fs_write_atomic(fs, "a", "newer", 5, NULL), 0);
            assert_holds(f, "a", "newer");
            t_faultfs_free(f);
        }
    assert_true(n_old > 100 && n_new > 10);
}

static void test_faultfs__a_clone_goes_its_own_way(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    t_faultfs_put(f, "d/a", "1", 1);
    struct t_faultfs *c = t_faultfs_clone(f, 2);
    assert_true(t_faultfs_flip(c, "d/a", 0, 3));
    assert_false(t_faultfs_flip(c, "d/a", 1, 3));
    assert_true(t_faultfs_remove(f, "d/a"));
    assert_false(t_faultfs_remove(f, "d/a"));
    assert_holds(c, "d/a", "2");
    assert_holds(f, "d/a", NULL);
    t_faultfs_free(f);
    t_faultfs_free(c);
    t_faultfs_free(NULL);
}

/* A process that ends takes nothing with it; a power cut after it takes what nobody has synced. */
static void test_faultfs__a_kill_keeps_what_is_not_synced_unsynced(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(3);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_file *h = open_file(f, "/a", TS_OPEN_CREATE);
    assert_int_equal(fs->lock(h, NULL), 0);
    assert_int_equal(fs->sync_dir(fs, "/", NULL), 0);
    assert_int_equal(fs->append(h, "one", 3, NULL), 0);
    assert_int_equal(fs->sync(h, NULL), 0);
    assert_int_equal(fs->append(h, "two", 3, NULL), 0);
    t_faultfs_kill(f);
    assert_int_equal(fs->append(h, "x", 1, NULL), TS_EIO);
    fs->close(h, NULL);
    assert_holds(f, "/a", "onetwo");
    h = open_file(f, "/a", TS_OPEN_READ);
    assert_int_equal(fs->lock(h, NULL), 0);
    fs->close(h, NULL);
    t_faultfs_power_cut(f);
    t_faultfs_kill(f); /* ends the cut too */
    assert_holds(f, "/a", "onetwo");
    t_faultfs_reboot(f, T_KEEP_NONE);
    assert_holds(f, "/a", "one");
    t_faultfs_free(f);
}

/* With write-back, what a later call takes back may be what a power cut leaves. */
static void test_faultfs__writeback_brings_states_between_two_syncs_to_the_disk(void **state)
{
    (void)state;
    bool old_there = false, new_there = false, none = false;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        const struct ts_fs *fs = t_faultfs_fs(f);
        t_faultfs_set_writeback(f, 500);
        struct ts_file *h = open_file(f, "/a", TS_OPEN_CREATE);
        assert_int_equal(fs->sync_dir(fs, "/", NULL), 0);
        assert_int_equal(fs->append(h, "old", 3, NULL), 0);
        assert_int_equal(fs->truncate(h, 0, NULL), 0);
        assert_int_equal(fs->append(h, "new", 3, NULL), 0);
        fs->close(h, NULL);
        t_faultfs_reboot(f, T_KEEP_NONE);
        size_t n;
        uint8_t *p = t_faultfs_get(f, "/a", &n);
        none |= n == 0;
        old_there |= n == 3 && memcmp(p, "old", 3) == 0;
        new_there |= n == 3 && memcmp(p, "new", 3) == 0;
        ts_free(p);
        t_faultfs_free(f);
    }
    assert_true(none && old_there && new_there);
}

/* A hook sees each call before it is carried out, and a sync once more when its bytes are on disk. */
struct hooked {
    struct t_faultfs *f;
    struct ts_file *h;
    unsigned n_before, n_after;
};

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct hooked *k = arg;
    assert_string_equal(path, "/a");
    k->n_before += !after;
    k->n_after += after;
    if (op == T_OP_SYNC && after) { /* another thread writes while the sync is under way */
        t_faultfs_set_hook(k->f, NULL, NULL);
        assert_int_equal(t_faultfs_fs(k->f)->append(k->h, "late", 4, NULL), 0);
    }
}

static void test_faultfs__a_hook_stands_for_other_threads(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(3);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_file *h = open_file(f, "/a", TS_OPEN_CREATE);
    assert_int_equal(fs->sync_dir(fs, "/", NULL), 0);
    struct hooked k = {.f = f, .h = h};
    t_faultfs_set_hook(f, on_call, &k);
    assert_int_equal(fs->append(h, "one", 3, NULL), 0);
    assert_int_equal(fs->sync(h, NULL), 0);
    assert_int_equal(k.n_before, 2);
    assert_int_equal(k.n_after, 1);
    fs->close(h, NULL);
    assert_holds(f, "/a", "onelate");
    t_faultfs_reboot(f, T_KEEP_NONE);
    assert_holds(f, "/a", "one");
    t_faultfs_free(f);
}

/* A power cut in the middle of an append leaves any part of it, also to a process that is only killed. */
static void test_faultfs__a_cut_append_leaves_any_part(void **state)
{
    (void)state;
    bool none = false, part = false, all = false;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        const struct ts_fs *fs = t_faultfs_fs(f);
        struct ts_file *h = open_file(f, "/a", TS_OPEN_CREATE);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .fault = T_FAULT_POWER});
        assert_int_equal(fs->append(h, "abcd", 4, NULL), TS_EIO);
        assert_int_equal(fs->append(h, "efgh", 4, NULL), TS_EIO);
        fs->close(h, NULL);
        t_faultfs_kill(f);
        size_t n;
        uint8_t *p = t_faultfs_get(f, "/a", &n);
        assert_true(n <= 4 && memcmp(p, "abcd", n) == 0);
        none |= n == 0;
        part |= n > 0 && n < 4;
        all |= n == 4;
        ts_free(p);
        t_faultfs_free(f);
    }
    assert_true(none && part && all);
}

static void test_faultfs__an_interruption_has_its_errno(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(3);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_file *h = open_file(f, "/a", TS_OPEN_CREATE);
    struct ts_error err = {0};
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .fault = T_FAULT_EINTR});
    assert_int_equal(fs->sync(h, &err), TS_EIO);
    assert_int_equal(err.sys_errno, EINTR);
    fs->close(h, NULL);
    t_faultfs_free(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faultfs__files_are_written_and_read),
        cmocka_unit_test(test_faultfs__names_behave),
        cmocka_unit_test(test_faultfs__a_lock_has_one_owner),
        cmocka_unit_test(test_faultfs__what_was_synced_survives),
        cmocka_unit_test(test_faultfs__the_rest_is_kept_lost_or_torn),
        cmocka_unit_test(test_faultfs__one_seed_one_outcome),
        cmocka_unit_test(test_faultfs__renames_and_removals_need_the_folder_synced),
        cmocka_unit_test(test_faultfs__handles_and_locks_die_with_the_power),
        cmocka_unit_test(test_faultfs__the_nth_call_fails_once_or_for_good),
        cmocka_unit_test(test_faultfs__a_failed_append_leaves_a_part_and_a_full_disk_the_rest),
        cmocka_unit_test(test_faultfs__a_failed_sync_forgets_pages_for_good),
        cmocka_unit_test(test_faultfs__a_short_read_is_short_without_an_error),
        cmocka_unit_test(test_faultfs__the_power_can_go_at_any_call),
        cmocka_unit_test(test_faultfs__a_clone_goes_its_own_way),
        cmocka_unit_test(test_faultfs__a_kill_keeps_what_is_not_synced_unsynced),
        cmocka_unit_test(test_faultfs__writeback_brings_states_between_two_syncs_to_the_disk),
        cmocka_unit_test(test_faultfs__a_hook_stands_for_other_threads),
        cmocka_unit_test(test_faultfs__a_cut_append_leaves_any_part),
        cmocka_unit_test(test_faultfs__an_interruption_has_its_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
