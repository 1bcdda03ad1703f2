/*
 * test_err.c - codes, their texts, and how long texts are truncated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static void test_err__each_code_has_its_own_name_and_text(void **state)
{
    (void)state;
    for (int i = 0; i < TS_ERR_COUNT; i++) {
        assert_memory_equal(ts_err_name(-i), "TS_", 3);
        assert_true(strlen(ts_err_text(-i)) > 3);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(ts_err_name(-i), ts_err_name(-j));
            assert_string_not_equal(ts_err_text(-i), ts_err_text(-j));
        }
    }
    assert_string_equal(ts_err_name(TS_OK), "TS_OK");
    assert_string_equal(ts_err_name(TS_EIO), "TS_EIO");
    assert_string_equal(ts_err_name(TS_EINVAL), "TS_EINVAL");
    assert_string_equal(ts_err_name(TS_EBACKEND), "TS_EBACKEND");
    assert_string_equal(ts_err_text(TS_EIO), "input/output error");
}

static void test_err__unknown_codes_have_a_name_too(void **state)
{
    (void)state;
    const int unknown[] = {1, -TS_ERR_COUNT, -1000, 2147483647, -2147483647 - 1};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_string_equal(ts_err_name(unknown[i]), "TS_E?");
        assert_string_equal(ts_err_text(unknown[i]), "unknown error");
    }
}

static void test_err__set_fills_and_overwrites(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_int_equal(ts_error_sys(&err, TS_EIO, EACCES, "first"), TS_EIO);
    assert_int_equal(ts_error_set(&err, TS_EPARSE, "bad %s at %d", "word", 7), TS_EPARSE);
    assert_int_equal(err.code, TS_EPARSE);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.text, "bad word at 7");
}

static void test_err__text_may_be_its_own_argument(void **state)
{
    (void)state;
    struct ts_error err = {0};
    ts_error_set(&err, TS_EIO, "inner");
    ts_error_set(&err, TS_EINVAL, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    ts_error_wrap(&err, "seen %s", err.text);
    assert_string_equal(err.text, "seen outer (inner): outer (inner)");
}

static void test_err__null_error_still_gives_the_code(void **state)
{
    (void)state;
    assert_int_equal(ts_error_set(NULL, TS_EBUSY, "x"), TS_EBUSY);
    assert_int_equal(ts_error_sys(NULL, TS_EIO, ENOSPC, "x"), TS_ENOSPC);
    assert_int_equal(ts_error_wrap(NULL, "x"), TS_EINVAL);
}

static void test_err__full_disk_and_quota_turn_io_errors_only(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_int_equal(ts_error_sys(&err, TS_EIO, ENOSPC, "cannot write %s", "a"), TS_ENOSPC);
    assert_int_equal(err.code, TS_ENOSPC);
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_string_equal(err.text, "cannot write a: No space left on device");
    assert_int_equal(ts_error_sys(&err, TS_EIO, EDQUOT, "a"), TS_ENOSPC);
    assert_int_equal(ts_error_sys(&err, TS_EIO, EIO, "a"), TS_EIO);
    assert_int_equal(ts_error_sys(&err, TS_EBACKEND, ENOSPC, "a"), TS_EBACKEND);
    assert_int_equal(err.code, TS_EBACKEND);
}

static void test_err__long_text_is_cut_and_terminated(void **state)
{
    (void)state;
    char longer[1000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    struct ts_error err;
    memset(&err, '#', sizeof(err));
    ts_error_set(&err, TS_EIO, "%s", longer);
    assert_int_equal(strlen(err.text), TS_ERROR_TEXT_BYTES - 1);
    ts_error_set(&err, TS_EIO, "%.*s", TS_ERROR_TEXT_BYTES - 1, longer); /* just fits */
    assert_int_equal(strlen(err.text), TS_ERROR_TEXT_BYTES - 1);
    ts_error_sys(&err, TS_EIO, ENOSPC, "%s", longer); /* the reason stays whole */
    assert_int_equal(strlen(err.text), TS_ERROR_TEXT_BYTES - 1);
    const char *tail = "x: No space left on device";
    assert_string_equal(err.text + TS_ERROR_TEXT_BYTES - 1 - strlen(tail), tail);
    ts_error_set(&err, TS_EIO, "end");
    ts_error_wrap(&err, "%s", longer); /* no room for what was there */
    assert_int_equal(strlen(err.text), TS_ERROR_TEXT_BYTES - 1);
    ts_error_set(&err, TS_EIO, "%.*s", 200, longer);
    ts_error_wrap(&err, "%.*s", 100,
                  "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                  "yyyyyyyyyy");
    assert_int_equal(strlen(err.text), TS_ERROR_TEXT_BYTES - 1);
    assert_memory_equal(err.text + 98, "yy: xx", 6);
}

static void test_err__cut_never_splits_a_character(void **state)
{
    (void)state;
    for (int n_before = 0; n_before < 4; n_before++) {
        char text[600];
        memset(text, 'x', 4);
        for (size_t i = 0; i < 148; i++)
            memcpy(text + n_before + 4 * i, "\xf0\x9f\x98\x80", 4);
        text[n_before + 4 * 148] = '\0';
        struct ts_error err = {0};
        ts_error_set(&err, TS_EIO, "%s", text);
        size_t n = strlen(err.text);
        assert_true(n < TS_ERROR_TEXT_BYTES && n > TS_ERROR_TEXT_BYTES - 5);
        assert_int_equal((n - (size_t)n_before) % 4, 0);
    }
}

static void test_err__wrap_puts_words_in_front(void **state)
{
    (void)state;
    struct ts_error err = {0};
    ts_error_sys(&err, TS_ENOTFOUND, ENOENT, "cannot open a");
    assert_int_equal(ts_error_wrap(&err, "while starting %s", "shard 3"), TS_ENOTFOUND);
    assert_string_equal(err.text, "while starting shard 3: cannot open a: No such file or directory");
    assert_int_equal(err.sys_errno, ENOENT);
    struct ts_error empty = {0};
    assert_int_equal(ts_error_wrap(&empty, "alone"), 0);
    assert_string_equal(empty.text, "alone");
}

static int pass_on(int rc, bool *went_on)
{
    TS_TRY(rc);
    *went_on = true;
    return 1;
}

static void test_err__try_returns_negative_values_only(void **state)
{
    (void)state;
    bool went_on = false;
    assert_int_equal(pass_on(TS_EBUSY, &went_on), TS_EBUSY);
    assert_false(went_on);
    assert_int_equal(pass_on(0, &went_on), 1);
    assert_true(went_on);
    assert_int_equal(pass_on(5, &went_on), 1);
}

static void test_err__bug_tells_the_place_and_aborts(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        TS_BUG("count is %d", 42);
    }
    close(fds[1]);
    char text[512];
    ssize_t n = read(fds[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "tsd: bug at "));
    assert_non_null(strstr(text, "test_err.c:"));
    assert_non_null(strstr(text, ": count is 42\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err__each_code_has_its_own_name_and_text),
        cmocka_unit_test(test_err__unknown_codes_have_a_name_too),
        cmocka_unit_test(test_err__set_fills_and_overwrites),
        cmocka_unit_test(test_err__text_may_be_its_own_argument),
        cmocka_unit_test(test_err__null_error_still_gives_the_code),
        cmocka_unit_test(test_err__full_disk_and_quota_turn_io_errors_only),
        cmocka_unit_test(test_err__long_text_is_cut_and_terminated),
        cmocka_unit_test(test_err__cut_never_splits_a_character),
        cmocka_unit_test(test_err__wrap_puts_words_in_front),
        cmocka_unit_test(test_err__try_returns_negative_values_only),
        cmocka_unit_test(test_err__bug_tells_the_place_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
