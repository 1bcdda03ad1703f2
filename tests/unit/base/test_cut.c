/*
 * test_cut.c - parts of texts: empty ones, the last one, nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cut.h"

static void test_cut__parts_come_in_order_and_end(void **state)
{
    static const struct {
        const char *list, *parts; /* parts: each followed by a bar */
    } rows[] = {
        {"", ""},      {"a", "a|"},         {"a,b", "a|b|"}, {"a,", "a|"},
        {",a", "|a|"}, {"a,,bc", "a||bc|"}, {",", "|"},      {",,", "||"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ts_buf got;
        struct ts_slice list = ts_slice_str(rows[i].list);
        ts_buf_init(&got, 0);
        while (list.n) {
            ts_buf_slice(&got, ts_slice_cut(&list, ','));
            ts_buf_char(&got, '|');
        }
        if (!ts_slice_is(ts_buf_get(&got), rows[i].parts))
            fail_msg("\"%s\" gives %.*s", rows[i].list, (int)got.n, got.p);
        ts_buf_release(&got);
    }
}

static void test_cut__bytes_behind_a_slice_are_not_looked_at(void **state)
{
    struct ts_slice list = {"ab,cd", 2}, none = {NULL, 0};
    (void)state;
    assert_true(ts_slice_is(ts_slice_cut(&list, ','), "ab"));
    assert_int_equal(list.n, 0);
    assert_int_equal(ts_slice_cut(&none, ',').n, 0);
    assert_int_equal(none.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut__parts_come_in_order_and_end),
        cmocka_unit_test(test_cut__bytes_behind_a_slice_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
