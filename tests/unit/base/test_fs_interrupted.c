/*
 * test_fs_interrupted.c - the real file system when the kernel does less than it was asked: interruptions, short
 * reads and writes, errors. The calls of the C library are replaced when the program is linked (sim.cmake).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fs.h"

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __real_pread(int fd, void *p, size_t n, off_t off);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t n);
int __real_close(int fd);

/* What the next calls do. */
static struct {
    int n_interrupted; /* so many calls are interrupted first */
    size_t most;       /* then no more bytes than this at once; 0 = no limit */
    int error;         /* then this errno; 0 = none */
    int n_calls;       /* calls seen */
} plan;

static char path[64];

static bool fails(void)
{
    plan.n_calls++;
    errno = plan.n_interrupted > 0 ? EINTR : plan.error;
    return plan.n_interrupted-- > 0 || plan.error;
}

static size_t less(size_t n)
{
    return plan.most && n > plan.most ? plan.most : n;
}

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (fd <= 2)
        return __real_write(fd, p, n);
    return fails() ? -1 : __real_write(fd, p, less(n));
}
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t off)
{
    return fails() ? -1 : __real_pread(fd, p, less(n), off);
}
int __wrap_fdatasync(int fd)
{
    return fails() ? -1 : __real_fdatasync(fd);
}
int __wrap_ftruncate(int fd, off_t n)
{
    return fails() ? -1 : __real_ftruncate(fd, n);
}
int __wrap_close(int fd)
{
    if (fd <= 2 || !fails())
        return __real_close(fd);
    int sys = errno;
    __real_close(fd);
    errno = sys;
    return -1;
}

static int setup(void **state)
{
    const struct ts_fs *fs = ts_fs_real();
    struct ts_file *file;
    snprintf(path, sizeof path, "/tmp/tsd-fs-%d", (int)getpid());
    memset(&plan, 0, sizeof plan);
    fs->unlink(fs, path, NULL);
    assert_int_equal(fs->open(fs, path, TS_OPEN_CREATE, &file, NULL), 0);
    memset(&plan, 0, sizeof plan);
    *state = file;
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    return ts_fs_real()->unlink(ts_fs_real(), path, NULL);
}

static void test_fs__short_and_interrupted_calls_are_completed(void **state)
{
    const struct ts_fs *fs = ts_fs_real();
    struct ts_file *file = *state;
    char out[32];
    size_t n;
    plan.n_interrupted = 2;
    plan.most = 3;
    assert_int_equal(fs->append(file, "0123456789", 10, NULL), 0);
    assert_int_equal(plan.n_calls, 6);
    plan.n_interrupted = 2;
    assert_int_equal(fs->pread(file, out, sizeof out, 0, &n, NULL), 0);
    assert_int_equal(n, 10);
    assert_memory_equal(out, "0123456789", 10);
    plan.n_interrupted = 2;
    assert_int_equal(fs->sync(file, NULL), 0);
    plan.n_interrupted = 2;
    assert_int_equal(fs->truncate(file, 4, NULL), 0);
    assert_int_equal(fs->pread(file, out, sizeof out, 0, &n, NULL), 0);
    assert_int_equal(n, 4);
    assert_int_equal(fs->close(file, NULL), 0);
}

static void test_fs__an_interrupted_close_is_not_repeated(void **state)
{
    plan.n_interrupted = 1;
    assert_int_equal(ts_fs_real()->close(*state, NULL), 0);
    assert_int_equal(plan.n_calls, 1);
}

static void test_fs__errors_keep_their_number(void **state)
{
    static const struct {
        int sys, code;
    } all[] = {{EIO, TS_EIO}, {ENOSPC, TS_ENOSPC}, {EDQUOT, TS_ENOSPC}};
    const struct ts_fs *fs = ts_fs_real();
    struct ts_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        plan.error = all[i].sys;
        assert_int_equal(fs->append(*state, "x", 1, &err), all[i].code);
        assert_int_equal(err.sys_errno, all[i].sys);
        assert_non_null(strstr(err.text, path));
    }
    plan.error = EIO;
    assert_int_equal(fs->close(*state, &err), TS_EIO);
}

static void test_fs__a_failed_sync_is_never_tried_again(void **state)
{
    const struct ts_fs *fs = ts_fs_real();
    struct ts_error err = {0};
    plan.error = EIO;
    assert_int_equal(fs->sync(*state, &err), TS_EIO);
    plan.error = 0;
    plan.n_calls = 0;
    assert_int_equal(fs->sync(*state, &err), TS_EIO);
    assert_int_equal(plan.n_calls, 0);
    assert_int_equal(fs->close(*state, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fs__short_and_interrupted_calls_are_completed, setup, cleanup),
        cmocka_unit_test_setup_teardown(test_fs__an_interrupted_close_is_not_repeated, setup, cleanup),
        cmocka_unit_test_setup_teardown(test_fs__errors_keep_their_number, setup, cleanup),
        cmocka_unit_test_setup_teardown(test_fs__a_failed_sync_is_never_tried_again, setup, cleanup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
