/*
 * test_buf.c - slices in order, buffers that grow to their maximum and no further.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static void test_buf__slices_compare_by_bytes(void **state)
{
    (void)state;
    const struct ts_slice none = {NULL, 0}, a = TS_SLICE_LIT("a"), ab = TS_SLICE_LIT("ab"),
                          b = TS_SLICE_LIT("b"), high = TS_SLICE_LIT("\xff");
    assert_true(ts_slice_cmp(none, none) == 0);
    assert_true(ts_slice_cmp(none, a) < 0);
    assert_true(ts_slice_cmp(a, none) > 0);
    assert_true(ts_slice_cmp(a, ab) < 0);
    assert_true(ts_slice_cmp(ab, b) < 0);
    assert_true(ts_slice_cmp(high, b) > 0); /* unsigned */
    assert_true(ts_slice_eq(none, ts_slice_str("")));
    assert_true(ts_slice_eq(ab, ts_slice_str("ab")));
    assert_false(ts_slice_eq(a, ab));
    assert_true(ts_slice_is(ab, "ab"));
    assert_false(ts_slice_is(TS_SLICE_LIT("a\0b"), "a"));
}

static void test_buf__patterns_fit_whole_slices(void **state)
{
    (void)state;
    static const struct {
        const char *text, *pattern;
        bool fits;
    } rows[] = {
        {"", "", true},
        {"", "*", true},
        {"", "?", false},
        {"a", "", false},
        {"abc", "abc", true},
        {"abc", "ab", false},
        {"abc", "abcd", false},
        {"abc", "a?c", true},
        {"abc", "*c", true},
        {"abc", "a*", true},
        {"abc", "**", true},
        {"abc", "*b*", true},
        {"abc", "*d*", false},
        {"abab", "*ab", true},
        {"aab", "*a?", true},
        {"abcabd", "*ab?", true},
        {"abcbc", "a*bc", true},
        {"abcbd", "a*bc", false},
        {"[a]", "[a]", true},
        {"a", "[a]", false},
        {"aaaaab", "*a*a*b", true},
        {"aaaaa", "*a*a*b", false},
        {"a*b", "a*b", true},
        {"ABC", "abc", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (ts_slice_fits(ts_slice_str(rows[i].text), ts_slice_str(rows[i].pattern)) != rows[i].fits)
            fail_msg("%s and %s", rows[i].text, rows[i].pattern);
    assert_false(ts_slice_fits(TS_SLICE_LIT("a\0b"), TS_SLICE_LIT("a")));
}

static void test_buf__utf8_cut_keeps_characters_whole(void **state)
{
    (void)state;
    const struct ts_slice s = TS_SLICE_LIT("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"); /* 1 2 3 4 1 bytes */
    const size_t expect[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < sizeof(expect) / sizeof(expect[0]); max++) {
        assert_int_equal(ts_utf8_cut(s, max).n, expect[max]);
        assert_ptr_equal(ts_utf8_cut(s, max).p, s.p);
    }
    char junk[20]; /* not UTF-8: a plain cut */
    memset(junk, 0x80, sizeof(junk));
    for (size_t max = 0; max <= sizeof(junk); max++)
        assert_int_equal(ts_utf8_cut((struct ts_slice){junk, sizeof(junk)}, max).n, max);
}

static void test_buf__appends_of_all_kinds_line_up(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    assert_int_equal(ts_buf_get(&b).n, 0);
    assert_int_equal(ts_buf_str(&b, "str "), 0);
    assert_int_equal(ts_buf_slice(&b, TS_SLICE_LIT("slice ")), 0);
    assert_int_equal(ts_buf_slice(&b, (struct ts_slice){NULL, 0}), 0);
    assert_int_equal(ts_buf_append(&b, NULL, 0), 0);
    assert_int_equal(ts_buf_char(&b, 'c'), 0);
    assert_int_equal(ts_buf_append(&b, "\0x", 2), 0);
    assert_int_equal(ts_buf_printf(&b, "%d-%s", 42, "p"), 0);
    assert_int_equal(ts_buf_printf(&b, "%s", ""), 0);
    assert_true(ts_slice_eq(ts_buf_get(&b), TS_SLICE_LIT("str slice c\0x42-p")));
    assert_false(b.failed);
    ts_buf_clear(&b);
    assert_int_equal(b.n, 0);
    assert_true(b.cap > 0);
    ts_buf_release(&b);
    ts_buf_release(&b);
    assert_int_equal(ts_buf_str(&b, "again"), 0);
    ts_buf_release(&b);
}

static void test_buf__grows_across_many_sizes(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    char text[3000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    size_t n_all = 0;
    for (size_t n = 0; n < sizeof(text); n += 7) {
        assert_int_equal(n % 2 ? ts_buf_append(&b, text, n) : ts_buf_printf(&b, "%.*s", (int)n, text), 0);
        n_all += n;
        assert_int_equal(b.n, n_all);
    }
    size_t at = 0;
    for (size_t n = 0; n < sizeof(text); n += 7) {
        assert_memory_equal(b.p + at, text, n ? n : 1);
        at += n;
    }
    ts_buf_release(&b);
}

static void test_buf__reserve_gives_room_to_write(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    assert_non_null(ts_buf_reserve(&b, 0));
    ts_buf_str(&b, "ab");
    char *p = ts_buf_reserve(&b, 1000);
    assert_ptr_equal(p, b.p + 2);
    assert_true(b.cap - b.n >= 1000);
    memset(p, 'x', 1000);
    b.n += 1000;
    assert_memory_equal(b.p, "abx", 3);
    assert_null(ts_buf_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    ts_buf_release(&b);
}

static void test_buf__maximum_is_exact_for_every_kind(void **state)
{
    (void)state;
    for (size_t max = 1; max < 600; max += 13) {
        struct ts_buf b;
        ts_buf_init(&b, max);
        for (size_t i = 0; i < max; i++)
            assert_int_equal(i % 2 ? ts_buf_char(&b, 'x') : ts_buf_printf(&b, "%c", 'x'), 0);
        assert_int_equal(b.n, max);
        assert_true(b.cap <= max);
        assert_false(b.failed);
        assert_int_equal(ts_buf_printf(&b, "y"), TS_ELIMIT);
        assert_true(b.failed);
        assert_int_equal(b.n, max);
        ts_buf_release(&b);
        char text[700];
        memset(text, 'z', sizeof(text));
        assert_int_equal(ts_buf_printf(&b, "%.*s", (int)max, text), 0); /* at once, same limit */
        ts_buf_clear(&b);
        assert_int_equal(ts_buf_append(&b, text, max), 0);
        ts_buf_clear(&b);
        assert_int_equal(ts_buf_append(&b, text, max + 1), TS_ELIMIT);
        ts_buf_release(&b);
    }
}

static void test_buf__failure_stays_until_cleared(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 10);
    assert_int_equal(ts_buf_str(&b, "12345678"), 0);
    assert_int_equal(ts_buf_str(&b, "abc"), TS_ELIMIT);
    assert_int_equal(ts_buf_str(&b, "a"), TS_ELIMIT); /* would fit, but would leave a hole */
    assert_int_equal(ts_buf_char(&b, 'a'), TS_ELIMIT);
    assert_int_equal(ts_buf_printf(&b, "a"), TS_ELIMIT);
    assert_int_equal(ts_buf_append(&b, "", 0), TS_ELIMIT);
    assert_null(ts_buf_reserve(&b, 1));
    assert_true(ts_slice_is(ts_buf_get(&b), "12345678"));
    ts_buf_clear(&b);
    assert_int_equal(ts_buf_str(&b, "a"), 0);
    ts_buf_release(&b);
}

static void test_buf__no_memory_is_an_error_and_keeps_the_bytes(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_mem_fail_after(1);
    assert_int_equal(ts_buf_str(&b, "x"), TS_ENOMEM);
    assert_true(b.failed);
    ts_buf_clear(&b);
    assert_int_equal(ts_buf_str(&b, "keep"), 0);
    ts_mem_fail_after(1);
    assert_int_equal(ts_buf_printf(&b, "%5000d", 1), TS_ENOMEM);
    assert_true(b.failed);
    assert_true(ts_slice_is(ts_buf_get(&b), "keep"));
    ts_mem_fail_after(0);
    ts_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf__slices_compare_by_bytes),
        cmocka_unit_test(test_buf__patterns_fit_whole_slices),
        cmocka_unit_test(test_buf__utf8_cut_keeps_characters_whole),
        cmocka_unit_test(test_buf__appends_of_all_kinds_line_up),
        cmocka_unit_test(test_buf__grows_across_many_sizes),
        cmocka_unit_test(test_buf__reserve_gives_room_to_write),
        cmocka_unit_test(test_buf__maximum_is_exact_for_every_kind),
        cmocka_unit_test(test_buf__failure_stays_until_cleared),
        cmocka_unit_test(test_buf__no_memory_is_an_error_and_keeps_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
