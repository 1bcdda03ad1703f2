/*
 * test_remote_order.c - a gateway that answers with the rows of a request in another order while points are shipped. Those of deletes, rollups and histograms:
 * test_remote_delete.c, test_remote_rollup.c, test_remote_histogram.c.
 */
#include "tests/unit/hbase/ship_kit.h"

/* Ship a point of two series that HBase may have in this hour, for at most some milliseconds; the result. */
static int ship_two(const char *a, const char *b, int64_t ms)
{
    static const struct sto_remote_tag other[] = {{{"host", 4}, {"b", 1}}};
    struct sto_cells cells[2] = {k_cells(a), k_cells(b)};
    struct sto_remote_row rows[2] = {{.series = k_series, .hour = K_HOUR, .cells = &cells[0]},
                                     {.series = k_series, .hour = K_HOUR, .cells = &cells[1]}};
    struct sto_remote_call call = k_call_for(ms);
    rows[1].series.key = 2;
    rows[1].series.tags = other;
    struct k_result r = k_ship_within(rows, 2, &call);
    sto_cells_release(&cells[0]);
    sto_cells_release(&cells[1]);
    return r.rc;
}

/* A gateway that answers with the rows in another order: no row is taken for another one. */
static void test_remote_order__rows_in_another_order(void **state)
{
    (void)state;
    k_open(false, true);
    assert_int_equal(ship_two("0:1 10:2", "0:3", 30000), 0); /* also gives them ids */
    k_reverse_rows();
    int rc = ship_two("10:7", "0:4", 300);
    assert_true(rc == TS_EBACKEND || rc == TS_ETIMEOUT);
    (void)k_expect(K_HOUR, "0s=1 10s=2");
    fake_hbase_heal(k_fake);
    assert_int_equal(ship_two("10:7", "0:4", 30000), 0);
    (void)k_expect(K_HOUR, "0s=1 10s=7");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_order__rows_in_another_order, k_setup, k_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
