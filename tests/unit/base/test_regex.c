/*
 * test_regex.c - expressions: groups, places, what is refused, what takes too long.
 */
#include "base/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct ts_regex *t_regex(const char *pattern, bool caseless)
{
    struct ts_error err = {0};
    struct ts_regex *re;
    if (ts_regex_new(ts_slice_str(pattern), caseless, TS_REGEX_STEPS, &re, &err) < 0)
        fail_msg("%s", err.text);
    return re;
}

static void test_regex__groups_and_places(void **state)
{
    (void)state;
    struct ts_regex *re = t_regex("([a-z]+)(\\d)?-", false);
    size_t from, to;
    assert_int_equal(ts_regex_groups(re), 2);
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("a1-bc-"), 0, NULL), 1);
    assert_true(ts_regex_group(re, 2, &from, &to));
    assert_int_equal(from, 1);
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("a1-bc-"), 3, NULL), 1);
    assert_true(ts_regex_group(re, 0, &from, &to));
    assert_int_equal(from, 3);
    assert_int_equal(to, 6);
    assert_false(ts_regex_group(re, 2, &from, &to)); /* took no part */
    assert_false(ts_regex_group(re, 3, &from, &to)); /* there is none */
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("A1-"), 0, NULL), 0);
    assert_int_equal(ts_regex_find(re, (struct ts_slice){NULL, 0}, 0, NULL), 0);
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("a-\xff"), 0, NULL), 0);
    ts_regex_free(re);
    re = t_regex("\xc3\xa4", true);
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("\xc3\x84"), 0, NULL), 1);
    ts_regex_free(re);
    ts_regex_free(NULL);
}

static void test_regex__wrong_ones_say_why(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct ts_regex *re;
    assert_int_equal(ts_regex_new(TS_SLICE_LIT("a("), false, TS_REGEX_STEPS, &re, &err), TS_EINVAL);
    assert_string_equal(err.text,
                        "Failed to compile regular expression \"a(\": missing closing parenthesis at 2");
    assert_null(re);
}

static void test_regex__costly_ones_end(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct ts_regex *re = t_regex("^(a+)+$", false);
    assert_int_equal(ts_regex_find(re, TS_SLICE_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), 0, &err),
                     TS_ELIMIT);
    assert_non_null(strstr(err.text, "takes too long"));
    ts_regex_free(re);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex__groups_and_places),
        cmocka_unit_test(test_regex__wrong_ones_say_why),
        cmocka_unit_test(test_regex__costly_ones_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
