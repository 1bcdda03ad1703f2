/*
 * test_remote_check_rollup.c - checks of tables of rollups: each fault is found and repaired by its option alone, and what is good stays.
 */
#include "tests/unit/hbase/rollup_kit.h"

#include "storage/hbase/remote/check.h"

#define SUM_OF "73756D3A" /* "sum:", as old versions write it */

static struct sto_hbase_check_result check_with(struct sto_hbase_check_opts opts)
{
    struct sto_hbase_check_result res = {0};
    struct ts_error err = {0};
    if (sto_hbase_check_rollups(k_remote, &opts, NULL, &res, &err) < 0)
        fail_msg("%s", err.text);
    return res;
}

/* Check, with these changes. */
static struct sto_hbase_check_result check_all(unsigned fixes)
{
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    opts.fixes = fixes;
    return check_with(opts);
}

static uint64_t n_faults(const struct sto_hbase_check_result *res)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < STO_HBASE_N_FAULTS; i++)
        n += res->n_found[i];
    return n;
}

static void put_old(const char *table, int32_t base_hour, const char *qualifier, const char *value,
                    int64_t ts_ms)
{
    struct t_bytes q = t_hex(qualifier);
    put_at(table, base_hour, t_slice(&q), value, ts_ms);
}

/* A row of another series: tag value 9 has no name. */
static void put_orphan(const char *table)
{
    struct t_bytes key = {.n = 0}, q = t_hex("010000"), v = t_hex("01");
    struct ts_slice k = key_of(DAY_HOUR);
    memcpy(key.p, k.p, k.n);
    key.n = k.n;
    key.p[key.n - 1] = 9;
    fake_hbase_put(k_fake, table, t_slice(&key), "t", t_slice(&q), t_slice(&v), 1000);
}

static void put_all(void)
{
    put_old("r1h", DAY_HOUR, "010000", "05", 1000);        /* good */
    put_old("r1h", DAY_HOUR, "010013", "0102", 1000);      /* two bytes instead of four */
    put_old("r1h", DAY_HOUR, "010180", "01", 1000);        /* the 25th hour of a day */
    put_old("r1h", DAY_HOUR, "0000", "01", 1000);          /* a point */
    put_old("r1h", DAY_HOUR, "020000", "01", 1000);        /* no function has this id */
    put_old("r1h", DAY_HOUR, "6176673A0000", "01", 1000);  /* nor this name, avg */
    put_old("r1h", DAY_HOUR, "010020", "01", 1000);        /* two values, */
    put_old("r1h", DAY_HOUR, SUM_OF "0021", "0102", 2000); /* of which this is the newer one */
    put_old("r1h", DAY_HOUR, "010030", "07", 1000);        /* the same value twice */
    put_old("r1h", DAY_HOUR, SUM_OF "0030", "07", 2000);
    put_old("r1h", DAY_HOUR + 1, "010000", "01", 1000); /* no day begins there */
    put_orphan("r1h");
    put_old("p1d", DAY_HOUR - 18 * 24, "010120", "07", 1000); /* good */
    put_old("agg", K_HOUR, "0000", "01", 1000);               /* a good point */
    put_old("agg", K_HOUR, "0025", "010203", 1000);           /* no integer has 3 bytes */
}

static void expect_found(const struct sto_hbase_check_result *res)
{
    assert_int_equal(res->n_found[STO_HBASE_BAD_VALUE], 3);
    assert_int_equal(res->n_found[STO_HBASE_UNKNOWN_COLUMN], 3);
    assert_int_equal(res->n_found[STO_HBASE_DUPLICATE_POINT], 1);
    assert_int_equal(res->n_found[STO_HBASE_REPEATED_POINT], 1);
    assert_int_equal(res->n_found[STO_HBASE_BAD_KEY], 1);
    assert_int_equal(res->n_found[STO_HBASE_ORPHAN], 1);
    assert_int_equal(n_faults(res), 10);
}

static void test_remote_check_rollup__each_fault_is_found(void **state)
{
    (void)state;
    put_all();
    size_t n = fake_hbase_cells(k_fake, "r1h");
    struct sto_hbase_check_result res = check_all(0);
    expect_found(&res);
    assert_int_equal(res.n_rows, 3 + 1 + 1);
    assert_int_equal(res.n_cells, 12 + 1 + 2);
    assert_int_equal(res.n_rollups, 3 + 1 + 1 + 1);
    assert_int_equal(res.n_points, 1);
    assert_int_equal(fake_hbase_cells(k_fake, "r1h"), n); /* nothing is changed */
}

static void test_remote_check_rollup__each_option_repairs_its_own(void **state)
{
    (void)state;
    const struct {
        unsigned fixes;
        enum sto_hbase_fault gone;
        uint64_t n;
    } cases[] = {
        {STO_HBASE_FIX, STO_HBASE_REPEATED_POINT, 1},
        {STO_HBASE_FIX_NEWEST, STO_HBASE_DUPLICATE_POINT, 1},
        {STO_HBASE_FIX_OLDEST, STO_HBASE_DUPLICATE_POINT, 1},
        {STO_HBASE_DELETE_VALUES, STO_HBASE_BAD_VALUE, 3},
        {STO_HBASE_DELETE_UNKNOWN, STO_HBASE_UNKNOWN_COLUMN, 3},
        {STO_HBASE_DELETE_ROWS, STO_HBASE_BAD_KEY, 1},
        {STO_HBASE_DELETE_ORPHANS, STO_HBASE_ORPHAN, 1},
    };
    static const char *const tables[] = {"r1h", "p1d", "agg"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_all();
        struct sto_hbase_check_result res = check_all(cases[i].fixes);
        expect_found(&res);
        assert_int_equal(res.n_fixed[cases[i].gone], cases[i].n);
        struct sto_hbase_check_result again = check_all(0);
        assert_int_equal(again.n_found[cases[i].gone], 0);
        assert_int_equal(n_faults(&again), 10 - cases[i].n);
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
            fake_hbase_compact(k_fake, tables[k]); /* what is put again is not hidden by deletes */
    }
}

static void test_remote_check_rollup__what_is_good_stays(void **state)
{
    (void)state;
    for (int newest = 0; newest < 2; newest++) {
        put_all();
        struct sto_hbase_check_result res =
            check_all(STO_HBASE_FIX | STO_HBASE_DELETE_ALL | STO_HBASE_COMPACT |
                      (newest ? STO_HBASE_FIX_NEWEST : STO_HBASE_FIX_OLDEST));
        expect_found(&res);
        assert_memory_equal(res.n_found, res.n_fixed, sizeof res.n_found);
        res = check_all(0);
        assert_int_equal(n_faults(&res), 0);
        expect("r1h", DAY_HOUR,
               newest ? "010000=05 " SUM_OF "0021=0102 " SUM_OF "0030=07"
                      : "010000=05 010020=01 " SUM_OF "0030=07");
        expect("p1d", DAY_HOUR - 18 * 24, "010120=07");
        expect("agg", K_HOUR, "0000=01");
        clear("r1h", DAY_HOUR);
        clear("agg", K_HOUR);
    }
}

static void test_remote_check_rollup__of_some_rows(void **state)
{
    (void)state;
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    put_all();
    put_old("r1h", DAY_HOUR + 24, "010000", "05", 1000);
    opts.metric = TS_SLICE_LIT("m");
    opts.from_ms = opts.to_ms = (DAY_HOUR + 23) * TS_HOUR_MS + 5; /* of the day that has it */
    struct sto_hbase_check_result res = check_with(opts);
    assert_int_equal(res.n_rows,
                     3 + 1); /* also that of the series without a name, the wrong one, and the month */
    opts.from_ms = opts.to_ms = (DAY_HOUR + 24) * TS_HOUR_MS;
    res = check_with(opts);
    assert_int_equal(res.n_rows, 1 + 1);
    opts = STO_HBASE_CHECK_ALL;
    opts.from_ms = (DAY_HOUR + 24) * TS_HOUR_MS;
    opts.to_ms = opts.from_ms + 5;
    res = check_with(opts);
    assert_int_equal(res.n_rows, 2 + 1); /* the wrong one would reach into this day */
    opts.metric = TS_SLICE_LIT("nobody");
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_check_rollups(k_remote, &opts, NULL, &res, &err), TS_ENOTFOUND);
}

/* What was written just now may be half of a change. */
static void test_remote_check_rollup__what_is_new_stays(void **state)
{
    (void)state;
    put_old("r1h", DAY_HOUR, "010020", "01", 1000);
    put_old("r1h", DAY_HOUR, SUM_OF "0021", "0102", k_clock() - 1000);
    struct sto_hbase_check_result res = check_all(STO_HBASE_FIX_OLDEST);
    assert_int_equal(res.n_too_new, 1);
    assert_int_equal(res.n_found[STO_HBASE_DUPLICATE_POINT], 1);
    assert_int_equal(res.n_fixed[STO_HBASE_DUPLICATE_POINT], 0);
    expect("r1h", DAY_HOUR, "010020=01 " SUM_OF "0021=0102");
}

static void test_remote_check_rollup__without_tables_there_is_nothing(void **state)
{
    (void)state;
    put_all();
    k_close();
    open_rollups(false);
    struct sto_hbase_check_result res = check_all(0);
    assert_int_equal(res.n_rows, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_check_rollup__##NAME, setup, teardown)
        TEST(each_fault_is_found), TEST(each_option_repairs_its_own), TEST(what_is_good_stays),
        TEST(of_some_rows),        TEST(what_is_new_stays),           TEST(without_tables_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
