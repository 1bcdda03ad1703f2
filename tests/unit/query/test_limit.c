/*
 * test_limit.c - the first error of a run keeps its text, however its threads race.
 */
#include "query/limit.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS  20000
#define THREADS 2

/* Pieces of one run. */
struct race {
    struct qry_budget budget;
    _Atomic unsigned n_looking; /* pieces that look at the budget */
};

/* The first piece fails with a text while another one looks at the budget, which passes on what it is told. */
static int on_piece(void *arg, size_t i, struct ts_error *err)
{
    struct race *r = arg;
    int rc;
    while (i == 0 && !atomic_load(&r->n_looking))
        sched_yield();
    if (i == 0)
        return ts_error_set(err, TS_ELIMIT, "the text of the first error");
    atomic_fetch_add(&r->n_looking, 1);
    while ((rc = qry_budget_look(&r->budget, err)) == 0)
        sched_yield();
    return rc;
}

static void test_limit__the_first_error_keeps_its_text(void **state)
{
    (void)state;
    struct ts_pool *pool = ts_pool_new(THREADS, "test");
    for (unsigned k = 0; k < ROUNDS; k++) {
        struct race r = {.n_looking = 0};
        struct ts_error err = {0};
        qry_budget_init(&r.budget, NULL);
        assert_int_equal(qry_budget_each(&r.budget, pool, THREADS, on_piece, &r, &err), TS_ELIMIT);
        if (strcmp(err.text, "the text of the first error") != 0)
            fail_msg("round %u: %s", k, err.text);
    }
    ts_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limit__the_first_error_keeps_its_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
