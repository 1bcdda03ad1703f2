/*
 * test_remote_sample.c - a sample of keys says whether they fit the configuration, wherever in the table they are.
 */
#include "tests/unit/hbase/check_kit.h"

#define N_ROWS 100

/* A hundred rows in the bucket of their series, and as many with a salt that is not theirs, at the end of the table. */
static void test_remote_sample__all_parts_of_the_table_speak(void **state)
{
    struct sto_hbase_sample keys;
    struct ts_error err = {0};
    (void)state;
    open_store(SALTED);
    for (uint32_t hour = 0; hour < N_ROWS; hour++) {
        struct t_bytes key = t_key(&t, T_PAIRS(1, 1), hour);
        assert_true(key.p[0] < 19);
        t_put_key(&t, &key, "0000 07");
        key.p[0] = 19;
        t_put_key(&t, &key, "0000 07");
    }
    assert_int_equal(sto_hbase_sample_keys(t.remote, NULL, &keys, &err), 0);
    assert_int_equal(keys.n_rows, 2 * STO_HBASE_SAMPLE_MIN);
    assert_int_equal(keys.n_odd, STO_HBASE_SAMPLE_MIN);
    assert_int_equal(keys.n_beyond, 0);
    assert_true(sto_hbase_sample_is_odd(
        &keys)); /* with twice as many buckets half of the series are where they should be */
    t_fetch_close(&t);
}

/* A table that was made with more buckets: in those that are known all rows fit, and behind them are others. */
static void test_remote_sample__rows_behind_the_last_bucket(void **state)
{
    struct sto_hbase_sample keys;
    struct ts_error err = {0};
    (void)state;
    open_store(SALTED);
    for (uint32_t pair = 1; pair <= 100; pair++)
        for (uint32_t hour = 0; hour < N_ROWS; hour++) {
            struct t_bytes key = t_key(&t, T_PAIRS(1, pair), hour);
            t_put_key(&t, &key, "0000 07");
        }
    assert_int_equal(sto_hbase_sample_keys(t.remote, NULL, &keys, &err), 0);
    assert_int_equal(keys.n_odd, 0);
    assert_false(sto_hbase_sample_is_odd(&keys));
    assert_int_equal(sto_hbase_sample_check(&keys, &err), 0);
    for (uint32_t hour = 0; hour < N_ROWS; hour++) {
        struct t_bytes key = t_key(&t, T_PAIRS(1, 1), hour);
        key.p[0] = 25;
        t_put_key(&t, &key, "0000 07");
    }
    assert_int_equal(sto_hbase_sample_keys(t.remote, NULL, &keys, &err), 0);
    assert_int_equal(keys.n_beyond, STO_HBASE_SAMPLE_MIN);
    assert_true(keys.n_odd <= keys.n_rows / 4);
    assert_true(sto_hbase_sample_is_odd(&keys));
    assert_int_equal(sto_hbase_sample_check(&keys, &err), TS_EINVAL);
    assert_non_null(strstr(
        err.text, "rows from all parts of the table of points have keys that do not fit hbase_salt_width"));
    t_fetch_close(&t);
}

/* A table of one part is read as far as a larger one. */
static void test_remote_sample__a_table_without_salts(void **state)
{
    struct sto_hbase_sample keys;
    struct ts_error err = {0};
    (void)state;
    open_store(PLAIN);
    assert_int_equal(sto_hbase_sample_keys(t.remote, NULL, &keys, &err), 0);
    assert_int_equal(keys.n_rows, 0);
    for (uint32_t hour = 0; hour < N_ROWS; hour++)
        t_put(&t, T_PAIRS(1, 1), hour, "0000 07");
    assert_int_equal(sto_hbase_sample_keys(t.remote, NULL, &keys, &err), 0);
    assert_int_equal(keys.n_rows, STO_HBASE_SAMPLE_ROWS);
    assert_int_equal(keys.n_odd, 0);
    t_fetch_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_sample__all_parts_of_the_table_speak),
        cmocka_unit_test(test_remote_sample__rows_behind_the_last_bucket),
        cmocka_unit_test(test_remote_sample__a_table_without_salts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
