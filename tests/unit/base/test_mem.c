/*
 * test_mem.c - aborting and trying allocation, arenas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static void test_mem__zero_bytes_are_a_block_too(void **state)
{
    (void)state;
    char *a = ts_xmalloc(0), *b = ts_xcalloc(0, 8), *c = ts_xrealloc(NULL, 0), *d = ts_try_malloc(0),
         *e = ts_xaligned(0), *f = ts_try_realloc(NULL, 0);
    assert_true(a && b && c && d && e && f);
    c = ts_xrealloc(c, 0);
    assert_non_null(c);
    ts_free(a);
    ts_free(b);
    ts_free(c);
    ts_free(d);
    ts_free(e);
    ts_free(f);
    ts_free(NULL);
}

static void test_mem__contents_are_as_promised(void **state)
{
    (void)state;
    unsigned char *z = ts_xcalloc(100, 3);
    for (int i = 0; i < 300; i++)
        assert_int_equal(z[i], 0);
    memset(z, 7, 300);
    z = ts_xrealloc(z, 5000);
    for (int i = 0; i < 300; i++)
        assert_int_equal(z[i], 7);
    ts_free(z);
    char *s = ts_xstrdup("text"), *empty = ts_xstrdup("");
    assert_string_equal(s, "text");
    assert_string_equal(empty, "");
    ts_free(s);
    ts_free(empty);
}

static void test_mem__aligned_blocks_begin_on_cache_lines(void **state)
{
    (void)state;
    void *p[20];
    for (size_t i = 0; i < 20; i++) {
        p[i] = ts_xaligned(1 + i * 37);
        assert_int_equal((uintptr_t)p[i] % 64, 0);
        memset(p[i], 1, 1 + i * 37);
    }
    for (size_t i = 0; i < 20; i++)
        ts_free(p[i]);
}

static void test_mem__the_nth_try_fails_once(void **state)
{
    (void)state;
    ts_mem_fail_after(3);
    void *a = ts_try_malloc(8);
    void *b = ts_try_realloc(NULL, 8);
    assert_true(a && b);
    assert_null(ts_try_realloc(b, 16)); /* b stays */
    b = ts_try_realloc(b, 16);
    assert_non_null(b);
    ts_mem_fail_after(1);
    void *x = ts_xmalloc(8); /* not counted */
    assert_null(ts_try_malloc(8));
    ts_mem_fail_after(1);
    ts_mem_fail_after(0);
    void *c = ts_try_malloc(8);
    assert_non_null(c);
    ts_free(a);
    ts_free(b);
    ts_free(c);
    ts_free(x);
}

/* Runs fn in a child and tells whether the child died instead of returning. */
static int dies(void (*fn)(size_t), size_t n)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        FILE *sink = freopen("/dev/null", "w", stderr);
        (void)sink;
        fn(n);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *volatile sink; /* so that the compiler cannot drop an unused allocation */
static void call_xmalloc(size_t n)
{
    sink = ts_xmalloc(n);
}
static void call_xcalloc(size_t n)
{
    sink = ts_xcalloc(n, 16);
}
static void call_xrealloc(size_t n)
{
    sink = ts_xrealloc(NULL, n);
}
static void call_xaligned(size_t n)
{
    sink = ts_xaligned(n);
}
static void call_arena(size_t n)
{
    struct ts_arena a;
    ts_arena_init(&a, 0);
    sink = ts_arena_alloc(&a, n);
}

static void test_mem__x_functions_die_rather_than_answer_null(void **state)
{
    (void)state;
    volatile size_t most = SIZE_MAX; /* hidden from the compiler, which would warn */
    assert_true(dies(call_xmalloc, most - 1000));
    assert_true(dies(call_xcalloc, most / 8));
    assert_true(dies(call_xrealloc, most - 1000));
    assert_true(dies(call_xaligned, most));
    assert_true(dies(call_xaligned, most - 100));
    for (size_t i = 0; i < 20; i++)
        assert_true(dies(call_arena, most - i)); /* rounding up must not wrap */
    assert_false(dies(call_arena, 10));
}

static void test_mem__arena_pieces_are_aligned_and_apart(void **state)
{
    (void)state;
    struct ts_arena a;
    ts_arena_init(&a, 0);
    assert_int_equal(a.used_bytes, 0);
    enum { N = 3000 };
    unsigned char **p = ts_xmalloc(N * sizeof(*p));
    for (size_t i = 0; i < N; i++) {
        size_t n = i % 97;
        p[i] = ts_arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p[i] % 8, 0);
        memset(p[i], (int)(i & 0xff), n);
    }
    size_t n_all = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < i % 97; j++)
            assert_int_equal(p[i][j], i & 0xff);
        n_all += i % 97;
    }
    assert_true(a.used_bytes >= n_all && a.used_bytes < 4 * n_all);
    ts_free(p);
    ts_arena_release(&a);
    assert_int_equal(a.used_bytes, 0);
}

static void test_mem__arena_blocks_double_up_to_a_mebibyte(void **state)
{
    (void)state;
    struct ts_arena a;
    ts_arena_init(&a, 1000);
    size_t expect = 1000, total = 0, last = 0;
    while (total < 20u << 20) {
        ts_arena_alloc(&a, 64);
        if (a.used_bytes != last) {
            assert_int_equal(a.used_bytes - last, expect);
            last = a.used_bytes;
            expect = expect * 2 < 1u << 20 ? expect * 2 : 1u << 20;
        }
        total += 64;
    }
    ts_arena_release(&a);
    ts_arena_alloc(&a, 1);
    assert_int_equal(a.used_bytes, 1000); /* begins small again */
    ts_arena_release(&a);
}

static void test_mem__a_large_piece_does_not_waste_the_block_in_use(void **state)
{
    (void)state;
    struct ts_arena a;
    ts_arena_init(&a, 4096);
    char *small = ts_arena_alloc(&a, 16);
    char *large = ts_arena_alloc(&a, 5u << 20);
    memset(large, 1, 5u << 20);
    char *next = ts_arena_alloc(&a, 16);
    assert_ptr_equal(next, small + 16);
    assert_true(a.used_bytes >= 4096 + (5u << 20) && a.used_bytes < 4096 + (5u << 20) + 64);
    ts_arena_release(&a);
    large = ts_arena_alloc(&a, 5u << 20); /* as the first one */
    memset(large, 1, 5u << 20);
    small = ts_arena_alloc(&a, 16);
    memset(small, 2, 16);
    assert_int_equal(large[(5u << 20) - 1], 1);
    ts_arena_release(&a);
    ts_arena_release(&a);
}

static void test_mem__zalloc_clears_and_strndup_terminates(void **state)
{
    (void)state;
    struct ts_arena a = {0}; /* zero is an arena too */
    for (int i = 0; i < 200; i++) {
        unsigned char *p = ts_arena_zalloc(&a, 100);
        for (int j = 0; j < 100; j++)
            assert_int_equal(p[j], 0);
        memset(p, 0xff, 100);
    }
    char *s = ts_arena_strndup(&a, "abcdef", 3);
    assert_string_equal(s, "abc");
    assert_string_equal(ts_arena_strndup(&a, NULL, 0), "");
    char *with_zero = ts_arena_strndup(&a, "a\0b", 3);
    assert_memory_equal(with_zero, "a\0b", 4);
    ts_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem__zero_bytes_are_a_block_too),
        cmocka_unit_test(test_mem__contents_are_as_promised),
        cmocka_unit_test(test_mem__aligned_blocks_begin_on_cache_lines),
        cmocka_unit_test(test_mem__the_nth_try_fails_once),
        cmocka_unit_test(test_mem__x_functions_die_rather_than_answer_null),
        cmocka_unit_test(test_mem__arena_pieces_are_aligned_and_apart),
        cmocka_unit_test(test_mem__arena_blocks_double_up_to_a_mebibyte),
        cmocka_unit_test(test_mem__a_large_piece_does_not_waste_the_block_in_use),
        cmocka_unit_test(test_mem__zalloc_clears_and_strndup_terminates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
