/*
 * test_openfiles.c - the soft limit of open files becomes the hard one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/openfiles.h"

static int stop_at_first(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return TS_ECANCELLED;
}

static void test_openfiles__the_soft_limit_becomes_the_hard_one(void **state)
{
    struct rlimit lim, now;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
    rlim_t hard = lim.rlim_max;
    lim.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
    assert_int_equal(ts_open_files_raise(), hard == RLIM_INFINITY ? UINT64_MAX : (uint64_t)hard);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, hard);
    assert_int_equal(now.rlim_max, hard);
    assert_int_equal(ts_open_files_limit(), hard == RLIM_INFINITY ? UINT64_MAX : (uint64_t)hard);
    assert_int_equal(ts_open_files_raise(), hard == RLIM_INFINITY ? UINT64_MAX : (uint64_t)hard); /* again */
}

/* As clients would: all descriptors are taken; files are opened nevertheless, as many as are kept aside. */
static void test_openfiles__spare_descriptors_open_files(void **state)
{
    struct rlimit lim, before;
    const struct ts_fs *fs = ts_fs_real();
    struct ts_file *files[TS_FS_SPARE] = {NULL}, *one_more = NULL;
    struct ts_error err = {0};
    int taken[128], n_taken = 0;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lim = before;
    lim.rlim_cur = 128;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE);
    while (n_taken < 128 && (taken[n_taken] = dup(0)) >= 0)
        n_taken++;
    assert_int_equal(errno, EMFILE);
    assert_true(ts_fs_has_descriptors(0));
    assert_false(ts_fs_has_descriptors(1));
    close(taken[--n_taken]);
    assert_true(ts_fs_has_descriptors(1));
    assert_false(ts_fs_has_descriptors(2));
    taken[n_taken++] = dup(0);
    assert_int_equal(fs->open(fs, "/proc/self/exe", TS_OPEN_REOPEN, &one_more, &err), TS_EMFILE);
    assert_true(ts_fs_has_descriptors(0)); /* none of them was used */
    for (unsigned i = 0; i < TS_FS_SPARE; i++)
        if (fs->open(fs, "/proc/self/exe", TS_OPEN_READ, &files[i], &err) < 0)
            fail_msg("file %u: %s", i, err.text);
    assert_int_equal(fs->open(fs, "/proc/self/exe", TS_OPEN_READ, &one_more, &err), TS_EMFILE);
    assert_int_equal(fs->sync_dir(fs, "/", &err), TS_EMFILE);
    assert_int_equal(ts_fs_keep_spare(), 0);
    assert_false(ts_fs_has_descriptors(0)); /* those kept aside come first */
    for (unsigned i = 0; i < TS_FS_SPARE; i++)
        assert_int_equal(fs->close(files[i], &err), 0);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE);
    assert_int_equal(fs->list(fs, "/proc/self", stop_at_first, NULL, &err), TS_ECANCELLED);
    while (n_taken > 0)
        close(taken[--n_taken]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openfiles__the_soft_limit_becomes_the_hard_one),
        cmocka_unit_test(test_openfiles__spare_descriptors_open_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
