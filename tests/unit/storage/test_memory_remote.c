/*
 * test_memory_remote.c - the remote store in memory: the contract of all remote stores, and its faults.
 */
#include "storage/remote/memory_remote.h"

#include "tests/unit/storage/remote_contract.h"
#include "tests/unit/storage/remote_kit.h"

static struct sto_remote *open_plain(void)
{
    return sto_memory_remote_new(NULL);
}

static struct sto_remote *open_poor(void)
{
    return sto_memory_remote_new(&(struct sto_memory_remote_opts){.max_tags = 3, .no_range = true});
}

static void test_memory_remote__away_changes_nothing(void **state)
{
    struct sto_remote *r = open_plain();
    struct ts_error err = {0};
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0, .to_ms = R_T0 + TS_HOUR_MS};
    (void)state;
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 1)), 0);
    sto_memory_remote_set_unreachable(r, true);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 2)), TS_EBACKEND);
    assert_int_equal(r->ops->fetch(r, &f, NULL, r_print, NULL, &err), TS_EBACKEND);
    assert_int_equal(r->ops->cell_cas(r, TS_SLICE_LIT("a"), TS_SLICE_LIT(""), TS_SLICE_LIT("1"), NULL, &err),
                     TS_EBACKEND);
    assert_int_equal(r_stat(r, "away"), 1);
    sto_memory_remote_set_unreachable(r, false);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1\n");
    sto_memory_remote_unreachable_after(r, 1);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 3)), 0);
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 4)), TS_EBACKEND);
    sto_memory_remote_set_unreachable(r, false);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:3\n");
    r->ops->close(r);
}

static void test_memory_remote__a_shipment_is_cut_off(void **state)
{
    struct sto_remote *r = open_plain();
    struct r_series *a = r_series("cpu host=a"), *b = r_series("cpu host=b");
    struct sto_cells *c = R_CELLS(0, 1);
    struct sto_remote_row rows[2] = {{.series = a->s, .hour = R_HOUR, .cells = c},
                                     {.series = b->s, .hour = R_HOUR, .cells = c}};
    struct sto_shipment s = {.rows = rows, .n = 2, .n_bytes = 24};
    struct r_result first = R_RESULT, second = R_RESULT;
    (void)state;
    sto_memory_remote_cut_next(r, 1);
    r->ops->ship(r, &s, NULL, r_done, &first);
    assert_int_equal(r_wait(&first), TS_EBACKEND);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1\n");
    r->ops->ship(r, &s, NULL, r_done, &second);
    assert_int_equal(r_wait(&second), 0);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1\ncpu host=b @0 0:1\n");
    r->ops->close(r);
    sto_cells_release(c);
    ts_free(c);
    ts_free(a);
    ts_free(b);
}

static void test_memory_remote__refused_rows_stop_no_others(void **state)
{
    struct sto_remote *r = open_poor();
    struct r_series *a = r_series("cpu host=a"), *b = r_series("bad host=a"),
                    *t = r_series("cpu a=1 b=1 c=1 d=1");
    struct sto_cells *c = R_CELLS(0, 1);
    struct sto_remote_row rows[3] = {{.series = b->s, .hour = R_HOUR, .cells = c},
                                     {.series = t->s, .hour = R_HOUR, .cells = c},
                                     {.series = a->s, .hour = R_HOUR, .cells = c}};
    struct r_result result = R_RESULT;
    struct sto_shipment s = {.rows = rows, .n = 3, .n_bytes = 36, .refused = r_refused, .arg = &result};
    (void)state;
    sto_memory_remote_refuse(r, TS_SLICE_LIT("bad"));
    r->ops->ship(r, &s, NULL, r_done, &result);
    assert_int_equal(r_wait(&result), 0);
    assert_int_equal(result.n_refused, 2);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1\n");
    r_expect_metric(r, "bad", "");
    r->ops->close(r);
    sto_cells_release(c);
    ts_free(c);
    ts_free(a);
    ts_free(b);
    ts_free(t);
}

static void test_memory_remote__results_wait_while_it_is_slow(void **state)
{
    struct sto_remote *r = open_plain();
    struct r_series *a = r_series("cpu host=a");
    struct sto_cells *c = R_CELLS(0, 1);
    struct sto_remote_row row = {.series = a->s, .hour = R_HOUR, .cells = c};
    struct sto_shipment s = {.rows = &row, .n = 1, .n_bytes = 12};
    struct r_result result = R_RESULT;
    (void)state;
    sto_memory_remote_hold(r);
    r->ops->ship(r, &s, NULL, r_done, &result);
    assert_int_equal(result.n_done, 0);
    r_expect_metric(r, "cpu", "cpu host=a @0 0:1\n");
    sto_memory_remote_release(r);
    assert_int_equal(r_wait(&result), 0);
    r->ops->close(r);
    sto_cells_release(c);
    ts_free(c);
    ts_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_remote__away_changes_nothing),
        cmocka_unit_test(test_memory_remote__a_shipment_is_cut_off),
        cmocka_unit_test(test_memory_remote__refused_rows_stop_no_others),
        cmocka_unit_test(test_memory_remote__results_wait_while_it_is_slow),
    };
    int n = remote_contract_run("remote store in memory", open_plain, NULL);
    n += remote_contract_run("remote store in memory, with fewer abilities", open_poor, NULL);
    return n + cmocka_run_group_tests(tests, NULL, NULL);
}
