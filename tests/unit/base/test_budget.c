/*
 * test_budget.c - accounts of memory: limits, parents, refusals, growth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/mem.h"

static struct ts_budget root, kind, one;

static void accounts(uint64_t root_bytes, uint64_t kind_bytes, uint64_t one_bytes)
{
    ts_budget_init(&root, "the process", "memory_limit", NULL, root_bytes);
    ts_budget_init(&kind, "queries", "query_total_bytes", &root, kind_bytes);
    ts_budget_init(&one, "one query", "query_max_bytes", &kind, one_bytes);
}

static void test_budget__bytes_count_in_all_parents(void **state)
{
    (void)state;
    accounts(1000, 0, 500);
    assert_int_equal(ts_budget_take(&one, 300, NULL), 0);
    assert_int_equal(one.used_bytes, 300);
    assert_int_equal(kind.used_bytes, 300);
    assert_int_equal(root.used_bytes, 300);
    assert_int_equal(ts_budget_room(&one), 200);
    ts_budget_give(&one, 100);
    assert_int_equal(root.used_bytes, 200);
    assert_int_equal(one.peak_bytes, 300);
    ts_budget_give_all(&one);
    assert_int_equal(root.used_bytes, 0);
    assert_int_equal(one.used_bytes, 0);
}

static void test_budget__refusal_names_the_key_and_takes_nothing(void **state)
{
    struct ts_error err = {0};
    (void)state;
    accounts(1000, 400, 500);
    assert_int_equal(ts_budget_take(&one, 500, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_total_bytes"));
    assert_non_null(strstr(err.text, "queries"));
    assert_int_equal(one.used_bytes + kind.used_bytes + root.used_bytes, 0);
    assert_int_equal(kind.n_refused, 1);
    assert_int_equal(one.n_refused + root.n_refused, 0);
    assert_int_equal(ts_budget_take(&one, 501, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_bytes"));
    assert_int_equal(ts_budget_take(&one, 400, &err), 0); /* the limit itself is allowed */
    assert_int_equal(ts_budget_take(&one, 1, &err), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&one, UINT64_MAX, &err), TS_ELIMIT); /* no overflow */
    ts_budget_give_all(&one);
}

static void test_budget__what_exists_counts_above_the_limit(void **state)
{
    (void)state;
    accounts(100, 0, 0);
    ts_budget_report(&kind, 150);
    assert_int_equal(root.used_bytes, 150);
    assert_int_equal(ts_budget_room(&root), 0);
    assert_int_equal(ts_budget_take(&one, 1, NULL), TS_ELIMIT);
    ts_budget_report(&kind, 40);
    assert_int_equal(root.used_bytes, 40);
    assert_int_equal(ts_budget_take(&one, 60, NULL), 0);
    ts_budget_give_all(&one);
    assert_int_equal(ts_budget_take(NULL, UINT64_MAX, NULL), 0);
}

static void test_budget__arrays_grow_within_the_limit(void **state)
{
    struct ts_error err = {0};
    uint32_t *items = NULL;
    size_t cap = 0;
    (void)state;
    accounts(0, 0, 100);
    assert_int_equal(ts_budget_grow(&one, &items, &cap, 10, sizeof(*items), &err), 0);
    assert_int_equal(cap, 10);
    items[9] = 7;
    assert_int_equal(ts_budget_grow(&one, &items, &cap, 11, sizeof(*items), &err), 0);
    assert_int_equal(cap, 20);
    assert_int_equal(items[9], 7);
    assert_int_equal(one.used_bytes, 80);
    assert_int_equal(ts_budget_grow(&one, &items, &cap, 26, sizeof(*items), &err), TS_ELIMIT);
    assert_int_equal(cap, 20);
    assert_int_equal(one.used_bytes, 80);
    assert_int_equal(ts_budget_grow(&one, &items, &cap, SIZE_MAX / 2, sizeof(*items), &err), TS_ELIMIT);
    ts_budget_free(&one, items, cap * sizeof(*items));
    assert_int_equal(one.used_bytes, 0);
}

static void test_budget__no_memory_gives_the_bytes_back(void **state)
{
    struct ts_error err = {0};
    char *items = NULL;
    size_t cap = 0;
    (void)state;
    accounts(0, 0, 1000);
    ts_mem_fail_after(1);
    assert_null(ts_budget_alloc(&one, 10, &err));
    assert_int_equal(err.code, TS_ENOMEM);
    ts_mem_fail_after(1);
    assert_null(ts_budget_calloc(&one, 10, 10, &err));
    ts_mem_fail_after(1);
    assert_int_equal(ts_budget_grow(&one, &items, &cap, 10, 1, &err), TS_ENOMEM);
    assert_int_equal(one.used_bytes, 0);
    assert_null(ts_budget_calloc(&one, SIZE_MAX, SIZE_MAX, &err));
    assert_int_equal(err.code, TS_ELIMIT);
    char *p = ts_budget_calloc(&one, 10, 10, &err);
    assert_int_equal(p[99], 0);
    assert_int_equal(one.used_bytes, 100);
    ts_budget_free(&one, p, 100);
    assert_int_equal(one.used_bytes, 0);
}

static void *take_and_give(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        if (ts_budget_take(&kind, 60, NULL) == 0) {
            if (atomic_load(&kind.used_bytes) > 100)
                return "over the limit";
            ts_budget_give(&kind, 60);
        }
    }
    return NULL;
}

static void test_budget__the_limit_holds_among_threads(void **state)
{
    pthread_t threads[4];
    (void)state;
    accounts(0, 100, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        void *why;
        assert_int_equal(pthread_join(threads[i], &why), 0);
        assert_null(why);
    }
    assert_int_equal(kind.used_bytes, 0);
    assert_int_equal(root.used_bytes, 0);
    assert_true(kind.peak_bytes <= 100);
}

/* Buffers and arenas that count in an account. */
static void test_budget__buffers_count_what_they_hold(void **state)
{
    struct ts_buf b;
    (void)state;
    accounts(0, 0, 2000);
    ts_buf_init(&b, 0);
    b.budget = &one;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ts_buf_char(&b, 'x'), 0);
    assert_int_equal(one.used_bytes, b.cap + 1);
    char more[2000] = {0};
    assert_int_equal(ts_buf_append(&b, more, sizeof(more)), TS_ELIMIT);
    assert_true(b.failed);
    assert_int_equal(b.n, 1000);
    ts_buf_release(&b);
    assert_int_equal(one.used_bytes, 0);
    assert_ptr_equal(b.budget, &one);
}

static void test_budget__arenas_refuse_what_is_over(void **state)
{
    struct ts_arena a;
    (void)state;
    accounts(0, 0, 10000);
    ts_arena_init(&a, 1024);
    a.budget = &one;
    assert_non_null(ts_arena_try(&a, 500));
    assert_int_equal(one.used_bytes, a.used_bytes);
    assert_null(ts_arena_try(&a, 20000));
    assert_non_null(ts_arena_alloc(&a, 20000)); /* for small sizes of our own: counted, never refused */
    assert_true(one.used_bytes > 20000);
    ts_arena_release(&a);
    assert_int_equal(one.used_bytes, 0);
}

/* Nobody else can take what is reserved, and what is taken above it counts as usual. */
static void test_budget__a_reserve_is_left_alone_by_others(void **state)
{
    static struct ts_budget bodies;
    (void)state;
    accounts(1000, 0, 0);
    ts_budget_init(&bodies, "bodies", "http_body_total_bytes", &root, 500);
    ts_budget_reserve(&bodies, 300);
    assert_int_equal(root.used_bytes, 300);
    assert_int_equal(ts_budget_take(&one, 701, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&one, 700, NULL), 0);
    assert_int_equal(ts_budget_room(&bodies), 300);
    assert_int_equal(ts_budget_take(&bodies, 301, NULL), TS_ELIMIT);
    assert_int_equal(bodies.used_bytes, 0);
    assert_int_equal(root.used_bytes, 1000);
    assert_int_equal(ts_budget_take(&bodies, 300, NULL), 0);
    assert_int_equal(root.used_bytes, 1000);
    ts_budget_give(&one, 100);
    assert_int_equal(ts_budget_take(&bodies, 100, NULL), 0);
    assert_int_equal(root.used_bytes, 1000);
    ts_budget_give(&bodies, 250);
    assert_int_equal(root.used_bytes, 900);
    ts_budget_report(&one, 2000); /* measured: even far above the limit, the reserve is there */
    assert_int_equal(ts_budget_take(&bodies, 300 - bodies.used_bytes, NULL), 0);
    assert_int_equal(ts_budget_take(&bodies, 1, NULL), TS_ELIMIT);
    assert_int_equal(bodies.used_bytes, 300);
    ts_budget_give(&bodies, 150);
    ts_budget_report(&one, 600);
    ts_budget_report(&bodies, 350);
    assert_int_equal(root.used_bytes, 950);
    ts_budget_give_all(&bodies);
    ts_budget_give_all(&one);
    assert_int_equal(root.used_bytes, 300);
}

/* Three clients below one account of 1000 bytes, of which 200 are for those that hold at most 50. */
static void test_budget__shares_leave_something_for_others(void **state)
{
    static struct ts_budget a, b, c;
    struct ts_error err = {0};
    (void)state;
    accounts(0, 1000, 0);
    ts_budget_divide(&kind, 1, 200, 50);
    ts_budget_init_share(&a, "queries of one client address", &kind);
    ts_budget_init_share(&b, "queries of one client address", &kind);
    ts_budget_init_share(&c, "queries of one client address", &kind);
    assert_int_equal(ts_budget_room(&a), 400);
    assert_int_equal(ts_budget_most(&a), 400);
    assert_int_equal(ts_budget_take(&a, 401, &err), TS_ELIMIT); /* half of 800 */
    assert_non_null(strstr(err.text, "query_total_bytes"));
    assert_non_null(strstr(err.text, "of one client address"));
    assert_int_equal(kind.n_share_refused, 1);
    assert_int_equal(kind.n_refused, 0);
    assert_int_equal(ts_budget_take(&a, 300, NULL), 0);
    assert_int_equal(ts_budget_take(&a, 100, NULL), 0);
    assert_int_equal(ts_budget_take(&a, 1, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&b, 200, NULL), 0); /* half of what a left */
    assert_int_equal(ts_budget_take(&b, 1, NULL), TS_ELIMIT);
    ts_budget_force(&b, 300); /* even if they hold more than they may, ... */
    assert_int_equal(ts_budget_take(&a, 1, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_room(&c), 50);
    assert_int_equal(ts_budget_most(&c), 400);
    assert_int_equal(ts_budget_most(&kind), 1000);
    assert_int_equal(ts_budget_most(&root), UINT64_MAX);
    assert_int_equal(ts_budget_take(&c, 51, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&c, 50, NULL), 0); /* ... who holds little is served */
    ts_budget_give_all(&b);
    assert_int_equal(ts_budget_take(&c, 100, NULL), 0);
    ts_budget_give_all(&a);
    ts_budget_give_all(&c);
    assert_int_equal(kind.used_bytes, 0);
}

/* What has begun is not ended by clients that come later, but by limits that all have. */
static void test_budget__who_was_let_in_is_refused_by_no_share(void **state)
{
    static struct ts_budget a, b, job, part;
    (void)state;
    accounts(0, 1000, 0);
    ts_budget_divide(&kind, 1, 0, 0);
    ts_budget_init_share(&a, "a", &kind);
    ts_budget_init_share(&b, "b", &kind);
    ts_budget_init(&job, "job", "query_max_bytes", &a, 700);
    ts_budget_init(&part, "part", "query_max_bytes", &job, 0);
    assert_int_equal(ts_budget_take(&part, 500, NULL), 0);
    assert_int_equal(ts_budget_take(&b, 200, NULL), 0);
    assert_int_equal(ts_budget_take(&part, 10, NULL), TS_ELIMIT); /* 400 are its share now */
    ts_budget_let_in(&job);
    assert_int_equal(ts_budget_take(&part, 10, NULL), 0);
    assert_int_equal(ts_budget_take(&a, 10, NULL), TS_ELIMIT); /* another job of the same client */
    assert_int_equal(ts_budget_take(&part, 191, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&part, 190, NULL), 0);
    assert_int_equal(job.n_refused, 1);
    ts_budget_force(&b, 100);
    ts_budget_give(&part, 100);
    assert_int_equal(ts_budget_take(&part, 101, NULL), TS_ELIMIT); /* 900 of 1000 */
    ts_budget_give_all(&part);
    ts_budget_give_all(&b);
    assert_int_equal(kind.used_bytes, 0);
}

static void test_budget__shares_follow_a_weight(void **state)
{
    static struct ts_budget a;
    (void)state;
    accounts(0, 1000, 0);
    ts_budget_divide(&kind, 3, 0, 0);
    ts_budget_init_share(&a, "a", &kind);
    assert_int_equal(ts_budget_take(&a, 751, NULL), TS_ELIMIT);
    assert_int_equal(ts_budget_take(&a, 750, NULL), 0);
    ts_budget_give_all(&a);
    accounts(0, 0, 0); /* without a limit there is nothing to divide */
    ts_budget_divide(&kind, 1, 10, 10);
    ts_budget_init_share(&a, "a", &kind);
    assert_int_equal(ts_budget_take(&a, 1 << 30, NULL), 0);
    ts_budget_give_all(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget__bytes_count_in_all_parents),
        cmocka_unit_test(test_budget__refusal_names_the_key_and_takes_nothing),
        cmocka_unit_test(test_budget__what_exists_counts_above_the_limit),
        cmocka_unit_test(test_budget__arrays_grow_within_the_limit),
        cmocka_unit_test(test_budget__no_memory_gives_the_bytes_back),
        cmocka_unit_test(test_budget__the_limit_holds_among_threads),
        cmocka_unit_test(test_budget__a_reserve_is_left_alone_by_others),
        cmocka_unit_test(test_budget__shares_leave_something_for_others),
        cmocka_unit_test(test_budget__who_was_let_in_is_refused_by_no_share),
        cmocka_unit_test(test_budget__shares_follow_a_weight),
        cmocka_unit_test(test_budget__buffers_count_what_they_hold),
        cmocka_unit_test(test_budget__arenas_refuse_what_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
