/*
 * test_near.c - names that were probably meant, and those that were not.
 */
#include "base/near.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The nearest of some names. */
static const char *t_nearest(const char *wanted, const char *const *names)
{
    static struct ts_near near;
    ts_near_init(&near, ts_slice_str(wanted));
    for (; *names; names++)
        ts_near_see(&near, ts_slice_str(*names));
    return near.n ? near.best : "";
}

static void test_near__few_wrong_letters_are_forgiven(void **state)
{
    static const char *const names[] = {"sys.cpu.user", "sys.cpu.system", "web.hits", "day",
                                        "domain",       "Host",           NULL};
    (void)state;
    assert_string_equal(t_nearest("sys.cpu.usr", names), "sys.cpu.user");
    assert_string_equal(t_nearest("sys.cpu.sistem", names), "sys.cpu.system");
    assert_string_equal(t_nearest("days", names), "day");
    assert_string_equal(t_nearest("domains", names), "domain");
    assert_string_equal(t_nearest("host", names), "Host");
    assert_string_equal(t_nearest("web.hist", names), "web.hits");
    assert_string_equal(t_nearest("adn", names), "");
    assert_string_equal(t_nearest("dya", names), "day");
    assert_string_equal(t_nearest("dog", names), "");
    assert_string_equal(t_nearest("x", names), "");
    assert_string_equal(t_nearest("", names), "");
    assert_string_equal(t_nearest("temperature", names), "");
}

static void test_near__dashes_and_underscores_are_the_same(void **state)
{
    static const char *const names[] = {"wal_sync_interval_ms", "collect-dir", NULL};
    (void)state;
    assert_string_equal(t_nearest("wal-sync-interval-ms", names), "wal_sync_interval_ms");
    assert_string_equal(t_nearest("WAL-SYNC_INTERVALL-MS", names), "wal_sync_interval_ms");
    assert_string_equal(t_nearest("collect_dri", names), "collect-dir");
}

static void test_near__a_part_is_marked_as_one(void **state)
{
    struct ts_near near;
    (void)state;
    ts_near_init(&near, TS_SLICE_LIT("host"));
    ts_near_see(&near, TS_SLICE_LIT("compat_host"));
    assert_int_equal(near.least, TS_NEAR_PART);
    ts_near_see(&near, TS_SLICE_LIT("hots"));
    assert_int_equal(near.least, 1);
}

static void test_near__whole_parts_are_found(void **state)
{
    static const char *const names[] = {"sys.cpu.user", "Europe/Berlin", "web.hits", "whitish", NULL};
    (void)state;
    assert_string_equal(t_nearest("berlin", names), "Europe/Berlin");
    assert_string_equal(t_nearest("cpu", names), "sys.cpu.user");
    assert_string_equal(t_nearest("hits", names), "web.hits");
    assert_string_equal(t_nearest("pu", names), "");
    assert_string_equal(t_nearest("erli", names), "");
}

static void test_near__lists_have_blanks_between(void **state)
{
    struct ts_near near;
    struct ts_error err = {0};
    (void)state;
    ts_near_init(&near, TS_SLICE_LIT("end"));
    assert_true(ts_near_list(&near, "start end m"));
    assert_true(ts_near_list(&near, "end"));
    ts_near_init(&near, TS_SLICE_LIT("edn"));
    assert_false(ts_near_list(&near, "start end m"));
    assert_false(ts_near_list(&near, ""));
    ts_near_hint(&near, &err);
    assert_string_equal(err.text, "; did you mean end?");
}

static void test_near__long_names_are_passed_over(void **state)
{
    char wanted[TS_NEAR_MAX_BYTES + 2], name[TS_NEAR_MAX_BYTES + 2];
    const char *names[] = {name, NULL};
    (void)state;
    memset(wanted, 'a', sizeof(wanted));
    memset(name, 'a', sizeof(name));
    wanted[TS_NEAR_MAX_BYTES] = name[TS_NEAR_MAX_BYTES] = 0;
    wanted[3] = 'b';
    assert_string_equal(t_nearest(wanted, names), name);
    wanted[TS_NEAR_MAX_BYTES] = name[TS_NEAR_MAX_BYTES] = 'a';
    wanted[TS_NEAR_MAX_BYTES + 1] = name[TS_NEAR_MAX_BYTES + 1] = 0;
    assert_string_equal(t_nearest(wanted, names), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near__few_wrong_letters_are_forgiven),
        cmocka_unit_test(test_near__dashes_and_underscores_are_the_same),
        cmocka_unit_test(test_near__a_part_is_marked_as_one),
        cmocka_unit_test(test_near__whole_parts_are_found),
        cmocka_unit_test(test_near__lists_have_blanks_between),
        cmocka_unit_test(test_near__long_names_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
