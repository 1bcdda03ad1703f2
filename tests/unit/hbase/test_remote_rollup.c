/*
 * test_remote_rollup.c - shipping rollups and pre-aggregates to a fake HBase: bytes, other writers, faults, refusals.
 */
#include "tests/unit/hbase/rollup_kit.h"

/* --- writing --- */

static void test_remote_rollup__bytes_are_those_of_opentsdb(void **state)
{
    (void)state;
    struct rows b = {.n = 0};
    add(&b, "1h-sum", K_HOUR - 1, true, "0:42");
    add(&b, "1h-count", K_HOUR - 1, true, "0:300");
    add(&b, "1h-max", K_HOUR - 1, true, "0:42.5");
    add(&b, "1h-min:", K_HOUR - 1, true, "0:25.4");
    add(&b, "30s-last", K_HOUR - 1, true, "0:1 30:-1 3570:65537");
    add(&b, ":", K_HOUR - 1, true, "0:5 90:6");
    ship(&b);
    expect("r1h", DAY_HOUR, "0100F0=2A 2700F1=012C 2C00FB=422A0000");
    expect("p1h", DAY_HOUR, "2800FF=4039666666666666");
    expect("r30s", DAY_HOUR, "2A7080=01 2A7090=FF 2A77F3=00010001"); /* 15 hours of 120 intervals */
    expect("agg", K_HOUR - 1, "0000=05 05A0=06");
    ship_one("1d-sum", DAY_HOUR, true, "0:7");
    /* 2015-08-19 is the 19th day of its month */
    expect("p1d", DAY_HOUR - 18 * 24, "010120=07");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1); /* the one of setup */
}

static void test_remote_rollup__hours_of_one_span_share_a_row(void **state)
{
    (void)state;
    ship_one("1h-sum", DAY_HOUR, true, "0:1");
    ship_one("1h-sum", DAY_HOUR + 23, true, "0:2");
    ship_one("1h-sum", DAY_HOUR + 1, false, "0:3");
    expect("r1h", DAY_HOUR, "010000=01 010010=03 010170=02");
    ship_one("1h-sum", DAY_HOUR + 1, false, "0:300");
    expect("r1h", DAY_HOUR, "010000=01 010011=012C 010170=02"); /* the cell of another length is gone */
    uint64_t n = k_changes();
    ship_one("1h-sum", DAY_HOUR + 1, false, "0:300");
    assert_int_equal(k_changes(), n); /* nothing has changed */
    ship_one("1h-sum", DAY_HOUR + 1, false, "0:1.5");
    expect("r1h", DAY_HOUR, "010000=01 01001B=3FC00000 010170=02");
}

static void *ship_in_thread(void *arg)
{
    int at = *(const int *)arg;
    for (int i = 0; i < 5; i++) {
        struct rows b = {.n = 0};
        char points[32];
        (void)snprintf(points, sizeof points, "0:%d", i < 4 ? i * 100 : at);
        add(&b, "1h-sum", DAY_HOUR + at, i == 0, points);
        add(&b, "1h-count", DAY_HOUR + at, false, points);
        ship(&b);
    }
    return NULL;
}

static void test_remote_rollup__shipments_at_the_same_time_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[6];
    int numbers[6];
    for (int i = 0; i < 6; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, ship_in_thread, &numbers[i]), 0);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    expect("r1h", DAY_HOUR,
           "010000=00 010010=01 010020=02 010030=03 010040=04 010050=05 "
           "270000=00 270010=01 270020=02 270030=03 270040=04 270050=05");
}

/* --- other writers --- */

static void test_remote_rollup__what_others_wrote_stays(void **state)
{
    (void)state;
    put("r1h", DAY_HOUR, "010000", "07");
    put("r1h", DAY_HOUR, "0100F1", "0101"); /* the same interval as ours, of another length */
    put("r1h", DAY_HOUR, "2700F0", "09");   /* another function */
    put("r1h", DAY_HOUR, "7F00F0", "09");   /* one that is not configured */
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("sum:\0\xf3"), "00000008", 0);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("SUM:\0\xe0"), "08", 0);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("summary:\0\xf0"), "08", 0);
    put("r1h", DAY_HOUR, "0102", "08"); /* no rollup at all */
    ship_one("1h-sum", K_HOUR - 1, false, "0:42");
    expect("r1h", DAY_HOUR,
           "010000=07 0100F0=2A 0102=08 2700F0=09 53554D3A00E0=08 73756D6D6172793A00F0=08 7F00F0=09");
    clear("r1h", DAY_HOUR);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("count:\0\xf0"), "01", 0);
    put_at("r1h", DAY_HOUR, TS_SLICE_LIT("MAX:\0\xf0"), "02", 0);
    struct rows b = {.n = 0};
    add(&b, "1h-count", K_HOUR - 1, false, "0:3");
    add(&b, "1h-max", K_HOUR - 1, false, "0:4");
    add(&b, "1h-min", K_HOUR - 1, false, "0:5");
    ship(&b);
    expect("r1h", DAY_HOUR, "2700F0=03 2800F0=05 2C00F0=04");
}

/* A pre-aggregate without interval is written as a point, and not compacted, although its hour is over. */
static void test_remote_rollup__pre_aggregates_contradict_nobody(void **state)
{
    (void)state;
    put("agg", K_HOUR - 1, "0001", "0101");
    put("agg", K_HOUR - 1, "05A007B0", "010200"); /* compacted: 90 s and 123 s */
    ship_one(":", K_HOUR - 1, false, "0:5 90:6");
    expect("agg", K_HOUR - 1, "0000=05 05A007B0=060200");
    for (int i = 1; i < 20; i++) { /* by whichever of the senders, some of which have just sent rollups */
        char points[16];
        (void)snprintf(points, sizeof points, "0:%d 90:6", i);
        ship_one("1h-max", K_HOUR - 1, false, i % 2 ? "0:4" : "0:5");
        ship_one(":", K_HOUR - 1, false, points);
    }
    expect("agg", K_HOUR - 1, "0000=13 05A007B0=060200");
}

/* Another writer puts the same interval with another length before each of our changes. */
static void put_between(void *arg, const struct fake_hbase_request *r)
{
    _Atomic int *left = arg;
    if ((r->call == STO_THRIFT_MUTATE_ROW || r->call == STO_THRIFT_PUT_MULTIPLE) &&
        ts_slice_is(r->table, "r1h") && atomic_fetch_sub(left, 1) > 0)
        put("r1h", DAY_HOUR, *left % 2 ? "0100F1" : "0100F3", *left % 2 ? "0101" : "00010001");
}

static void test_remote_rollup__a_row_is_left_without_contradictions(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        _Atomic int left = n;
        put("r1h", DAY_HOUR, "0100FB", "3F800000");
        fake_hbase_set_before(k_fake, put_between, &left);
        ship_one("1h-sum", K_HOUR - 1, false, "0:42");
        fake_hbase_set_before(k_fake, NULL, NULL);
        /* whoever came last wins: the other writer, if he did after our look; one cell is left */
        assert_int_equal(fake_hbase_cells(k_fake, "r1h"), 1);
        clear("r1h", DAY_HOUR);
    }
}

/* A writer that is later than ours, as seen in the look afterwards, keeps the interval. */
static void put_later(void *arg, const struct fake_hbase_request *r)
{
    _Atomic int *left = arg;
    struct t_bytes q = t_hex("0100F1");
    if (r->call == STO_THRIFT_GET_MULTIPLE && ts_slice_is(r->table, "r1h") && atomic_fetch_sub(left, 1) == 1)
        put_at("r1h", DAY_HOUR, t_slice(&q), "0101", ts_clock_ms() + 60000);
}

static void test_remote_rollup__the_newest_of_two_writers_wins(void **state)
{
    (void)state;
    _Atomic int left = 2; /* before the second look */
    fake_hbase_set_before(k_fake, put_later, &left);
    ship_one("1h-sum", K_HOUR - 1, false, "0:42");
    fake_hbase_set_before(k_fake, NULL, NULL);
    expect("r1h", DAY_HOUR, "0100F1=0101");
}

static void test_remote_rollup__faults_are_repeated(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP, FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_IO_ERROR, FAKE_HBASE_IO_ERROR_AFTER,
                                                   FAKE_HBASE_FEWER_ROWS};
    static const enum sto_thrift_call calls[] = {STO_THRIFT_PUT_MULTIPLE, STO_THRIFT_GET_MULTIPLE,
                                                 STO_THRIFT_MUTATE_ROW};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            if (faults[i] == FAKE_HBASE_FEWER_ROWS && calls[k] != STO_THRIFT_GET_MULTIPLE)
                continue;
            put("r1h", DAY_HOUR, "0100F1", "0101");
            fake_hbase_inject(
                k_fake, (struct fake_hbase_plan){.fault = faults[i], .of_call = true, .call = calls[k]});
            struct rows b = {.n = 0};
            add(&b, "1h-sum", K_HOUR - 1, false, "0:42");
            add(&b, "1h-count", K_HOUR - 1, true, "0:3");
            add(&b, "1h-sum:", K_HOUR - 1, true, "0:2");
            ship(&b);
            fake_hbase_heal(k_fake);
            expect("r1h", DAY_HOUR, "0100F0=2A 2700F0=03");
            expect("p1h", DAY_HOUR, "0100F0=02");
            clear("r1h", DAY_HOUR);
            clear("p1h", DAY_HOUR);
        }
}

/* A gateway that answers with the rows in another order: no cell stays because another row does not have it. */
static void test_remote_rollup__rows_in_another_order(void **state)
{
    (void)state;
    struct rows b = {.n = 0};
    put("r1h", DAY_HOUR, "0100F1", "0101"); /* contradicts what is shipped */
    add(&b, "1h-sum", K_HOUR - 25, false, "0:41");
    add(&b, "1h-sum", K_HOUR - 1, false, "0:42");
    uint64_t n = k_changes();
    k_reverse_rows();
    struct sto_remote_call call = k_call_for(300);
    struct k_result r = k_ship_within(b.row, b.n, &call);
    assert_true(r.rc == TS_EBACKEND || r.rc == TS_ETIMEOUT);
    assert_int_equal(k_changes(), n);
    expect("r1h", DAY_HOUR, "0100F1=0101");
    fake_hbase_heal(k_fake);
    ship(&b);
    clear("r1h", DAY_HOUR - 24);
    expect("r1h", DAY_HOUR, "0100F0=2A");
}

/* Functions of one series and hour are one change: that of the first one is fresh, that of the second one is not. */
static void test_remote_rollup__one_function_of_several_was_sent_before(void **state)
{
    (void)state;
    struct rows b = {.n = 0};
    ship_one("1h-count", DAY_HOUR, true, "0:257");
    add(&b, "1h-sum", DAY_HOUR, true, "0:1");
    add(&b, "1h-count", DAY_HOUR, false, "0:7");
    ship(&b);
    expect("r1h", DAY_HOUR, "010000=01 270000=07");
}

static void test_remote_rollup__a_row_that_is_refused_stops_nothing_else(void **state)
{
    (void)state;
    static const struct sto_remote_tag other[] = {{{"host", 4}, {"b", 1}}};
    struct rows b = {.n = 0};
    add(&b, "30s-sum", K_HOUR, true, "0:1");
    b.row[0].series.tags = other; /* its id */
    ship(&b);
    for (int fresh = 0; fresh < 2; fresh++) {
        add(&b, "1h-sum", K_HOUR - 1, fresh, "0:1");
        add(&b, "1h-count", K_HOUR - 1, fresh, "0:1");
        add(&b, "1h-sum", K_HOUR - 1, fresh, "0:2");
        b.row[2].series.tags = other;
        fake_hbase_inject(k_fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR,
                                                           .of_call = true,
                                                           .call = STO_THRIFT_PUT_MULTIPLE,
                                                           .n = 2}); /* the whole, then the first half */
        struct k_result r = k_ship_rows(b.row, b.n);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 2);                     /* both functions of the first series */
        assert_int_equal(fake_hbase_cells(k_fake, "r1h"), 1); /* that of the other series */
        release(&b);
        fake_hbase_heal(k_fake);
    }
}

static void test_remote_rollup__what_cannot_be_stored_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][3] = {{"1h-dev", "0:1", "function \"dev\""},
                                         {"2h-sum", "0:1", "rollups of 2h-sum"},
                                         {"1h-sum", "60:1", "beginning of an interval of 3600"},
                                         {"30s-sum", "30001ms:1", "beginning of an interval of 30"},
                                         {"1d-sum", "0:1", "beginning of an interval of 86400"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rows b = {.n = 0};
        add(&b, bad[i][0], K_HOUR - 1, true, bad[i][1]);
        add(&b, "1h-last", K_HOUR - 1, true, "0:1");
        struct k_result r = k_ship_rows(b.row, b.n);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 1);
        if (!strstr(r.why.text, bad[i][2]))
            fail_msg("%s", r.why.text);
        release(&b);
    }
    expect("r1h", DAY_HOUR, "2A00F0=01");
    k_close();
    open_rollups(false);
    struct rows b = {.n = 0};
    add(&b, "1h-last", K_HOUR - 1, true, "0:1");
    struct k_result r = k_ship_rows(b.row, b.n);
    assert_int_equal(r.n_refused, 1);
    assert_non_null(strstr(r.why.text, "rollups_config"));
    release(&b);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_rollup__##NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_those_of_opentsdb),
        TEST(hours_of_one_span_share_a_row),
        TEST(shipments_at_the_same_time_lose_nothing),
        TEST(what_others_wrote_stays),
        TEST(pre_aggregates_contradict_nobody),
        TEST(a_row_is_left_without_contradictions),
        TEST(the_newest_of_two_writers_wins),
        TEST(faults_are_repeated),
        TEST(rows_in_another_order),
        TEST(one_function_of_several_was_sent_before),
        TEST(a_row_that_is_refused_stops_nothing_else),
        TEST(what_cannot_be_stored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
