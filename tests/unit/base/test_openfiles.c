/*
 * test_openfiles.c - the soft limit of open files becomes the hard one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "base/openfiles.h"

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
    assert_int_equal(ts_open_files_raise(), hard == RLIM_INFINITY ? UINT64_MAX : (uint64_t)hard); /* again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openfiles__the_soft_limit_becomes_the_hard_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
