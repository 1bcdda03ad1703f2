/*
 * test_fs_regular.c - in folders in which others write, only regular files are opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs_regular.h"
#include "base/mem.h"

static void test_fs_regular__links_pipes_and_folders_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "link", "pipe", "folder", "none"};
    static const int want[] = {0, TS_EINVAL, TS_EINVAL, TS_EINVAL, TS_ENOTFOUND};
    const struct ts_fs *fs = ts_fs_real();
    struct ts_error err = {0};
    char dir[] = "/tmp/tsd-test-fs-XXXXXX", *path[5];
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 5; i++)
        path[i] = ts_fs_join(dir, names[i]);
    assert_int_equal(ts_fs_write_atomic(fs, path[0], "text", 4, &err), 0);
    assert_int_equal(symlink(path[0], path[1]), 0);
    assert_int_equal(mkfifo(path[2], 0600), 0);
    assert_int_equal(fs->mkdir(fs, path[3], &err), 0);
    for (int i = 0; i < 5; i++) {
        char *p = NULL;
        size_t n = 0;
        assert_int_equal(ts_fs_read_regular(fs, path[i], 100, &p, &n, &err), want[i]);
        if (want[i] == 0)
            assert_memory_equal(p, "text", 5);
        else
            assert_non_null(strstr(err.text, path[i]));
        assert_int_equal(n, want[i] ? 0 : 4);
        ts_free(p);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(fs->unlink(fs, path[i], &err), 0);
    for (int i = 0; i < 5; i++)
        ts_free(path[i]);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fs_regular__links_pipes_and_folders_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
