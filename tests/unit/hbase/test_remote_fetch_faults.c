/*
 * test_remote_fetch_faults.c - fetches whose requests fail: every row is returned once all the same, or the error is the right one.
 *
 * Nothing depends on time: faults come at requests by their number, and deadlines that must pass belong to requests that are never answered.
 */
#include "tests/unit/hbase/t_fetch.h"

#include <sched.h>

#define HOUR      376944u
#define N_SERIES  60u
#define N_HOURS   8u
#define MINUTE_NS 60000000000ll

static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 20},
                                     few_buckets = {3, 3, 3, 1, 3};
static struct t_fetch t;
static struct t_rows rows;
static struct ts_error err;
static char *want;

/* 480 rows of 60 series; what a fetch returns of them. */
static void open_filled(const struct sto_hbase_schema *schema, unsigned connections)
{
    t_fetch_open(&t, *schema, connections);
    t_fetch_names(&t, 1, 1, N_SERIES);
    for (unsigned v = 1; v <= N_SERIES; v++)
        for (uint32_t hour = 0; hour < N_HOURS; hour++)
            t_put(&t, T_PAIRS(1, v), HOUR + hour, v % 2 ? "0000 07" : "000001E0 07 08 00");
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    want = t_fetch_text(&t, &f);
    memset(&rows, 0, sizeof(rows));
}

static void close_filled(void)
{
    ts_free(want);
    t_fetch_close(&t);
}

static void expect_all(void)
{
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    t_expect_fetch(&t, &f, want);
}

/* --- faults at every request --- */

static void fail_each(enum sto_thrift_call call, const enum fake_hbase_fault *faults, size_t n_faults)
{
    uint64_t before = fake_hbase_count(t.fake, call);
    expect_all();
    uint64_t n = fake_hbase_count(t.fake, call) - before;
    assert_true(n > 0);
    for (size_t i = 0; i < n_faults; i++)
        for (unsigned skip = 0; skip < n; skip++) {
            uint64_t happened = fake_hbase_faults(t.fake);
            fake_hbase_inject(t.fake, (struct fake_hbase_plan){
                                          .fault = faults[i], .of_call = true, .call = call, .skip = skip});
            expect_all();
            fake_hbase_heal(t.fake);
            assert_in_range(fake_hbase_faults(t.fake) - happened, 0, 1);
        }
}

static const enum fake_hbase_fault FAULTS[] = {
    FAKE_HBASE_DROP,        FAKE_HBASE_DROP_AFTER,       FAKE_HBASE_IO_ERROR, FAKE_HBASE_IO_ERROR_AFTER,
    FAKE_HBASE_FINAL_ERROR, FAKE_HBASE_ILLEGAL_ARGUMENT, FAKE_HBASE_GARBAGE,  FAKE_HBASE_HALF};

static void test_remote_fetch_faults__every_request_for_rows(void **state)
{
    (void)state;
    open_filled(&plain, 1);
    fail_each(STO_THRIFT_GET_SCANNER_ROWS, FAULTS, sizeof(FAULTS) / sizeof(FAULTS[0]));
    assert_true(t_status(&t, "scanners_resumed") > 20);
    close_filled();
    open_filled(&few_buckets, 3);
    fail_each(STO_THRIFT_GET_SCANNER_ROWS, FAULTS, 3);
    close_filled();
}

static void test_remote_fetch_faults__every_other_request(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP_AFTER, FAKE_HBASE_IO_ERROR};
    open_filled(&plain, 2);
    fail_each(STO_THRIFT_OPEN_SCANNER, faults, 2);
    close_filled();
}

/* Before every n-th request for rows all scanners expire, as when the client is slow. */
static void expire(void *arg, const struct fake_hbase_request *r)
{
    unsigned *every = arg;
    if (r->call == STO_THRIFT_GET_SCANNER_ROWS && r->n % *every == 0)
        fake_hbase_expire_scanners(t.fake);
}

static void test_remote_fetch_faults__scanners_expire(void **state)
{
    (void)state;
    uint64_t n_resumed = 0;
    for (unsigned every = 3; every < 8; every++) {
        open_filled(&plain, 1);
        fake_hbase_set_before(t.fake, expire, &every);
        expect_all();
        n_resumed += t_status(&t, "scanners_resumed");
        fake_hbase_set_before(t.fake, NULL, NULL);
        close_filled();
    }
    assert_true(n_resumed > 3);
}

/* A row that comes in several results and breaks in the middle is read again as a whole. */
static void test_remote_fetch_faults__rows_of_several_results(void **state)
{
    (void)state;
    char cell[64];
    t_fetch_open(&t, plain, 1);
    t_fetch_names(&t, 1, 1, 3);
    t_put(&t, T_PAIRS(1, 1), HOUR, "0000 01");
    t_put(&t, T_PAIRS(1, 3), HOUR, "0000 03");
    for (unsigned i = 0; i < 9000; i++) {
        (void)snprintf(cell, sizeof(cell), "%08X 05", 0xF0000000u | i << 6);
        t_put(&t, T_PAIRS(1, 2), HOUR, cell);
    }
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    want = t_fetch_text(&t, &f);
    memset(&rows, 0, sizeof(rows));
    fail_each(STO_THRIFT_GET_SCANNER_ROWS, FAULTS, sizeof(FAULTS) / sizeof(FAULTS[0]));
    close_filled();
}

/* Requests that always fail end the fetch. */
static void test_remote_fetch_faults__errors_that_stay(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_FINAL_ERROR, FAKE_HBASE_ILLEGAL_ARGUMENT};
    static const unsigned connections[] = {1, 4};
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (int i = 0; i < 2; i++) {
        open_filled(&salted, connections[i]);
        for (int k = 0; k < 2; k++) {
            fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = faults[k],
                                                               .of_call = true,
                                                               .call = STO_THRIFT_GET_SCANNER_ROWS,
                                                               .n = UINT32_MAX});
            assert_int_equal(t_fetch_into(&t, &f, NULL, &rows, &err), TS_EBACKEND);
            assert_true(err.code == TS_EBACKEND && err.text[0]);
            t_rows_release(&rows);
            fake_hbase_heal(t.fake);
            expect_all();
        }
        close_filled();
    }
}

/* Every third request for rows fails for good. */
static void fail_some(void *arg, const struct fake_hbase_request *r)
{
    (void)arg;
    if (r->call == STO_THRIFT_GET_SCANNER_ROWS && r->n % 3 == 0)
        fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR,
                                                           .of_call = true,
                                                           .call = STO_THRIFT_GET_SCANNER_ROWS});
}

/* Errors with rows between them do not add up: a long scan may meet many. */
static void test_remote_fetch_faults__errors_with_rows_between(void **state)
{
    (void)state;
    enum { SERIES = 100, HOURS = 80 };
    t_fetch_open(&t, plain, 1);
    t_fetch_names(&t, 1, 1, SERIES);
    for (unsigned v = 1; v <= SERIES; v++)
        for (uint32_t hour = 0; hour < HOURS; hour++)
            t_put(&t, T_PAIRS(1, v), HOUR + hour, "0000 07");
    struct sto_fetch f = t_hours(HOUR, HOUR + HOURS);
    want = t_fetch_text(&t, &f);
    fake_hbase_set_before(t.fake, fail_some, NULL);
    t_expect_fetch(&t, &f, want);
    fake_hbase_set_before(t.fake, NULL, NULL);
    assert_true(t_status(&t, "scanners_resumed") > 3); /* more than are allowed in a row */
    close_filled();
}

/* A scanner that goes on behind its range meets the rows of other readers: they must not be returned twice. */
static void test_remote_fetch_faults__rows_behind_the_range(void **state)
{
    (void)state;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    open_filled(&plain, 4);
    fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_NO_STOP,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_OPEN_SCANNER,
                                                       .n = UINT32_MAX});
    assert_int_equal(t_fetch_into(&t, &f, NULL, &rows, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "behind the end"));
    t_rows_release(&rows);
    fake_hbase_heal(t.fake);
    expect_all();
    close_filled();
}

/* --- limits --- */

static _Atomic bool cancel;

static void cancel_at(void *arg, const struct fake_hbase_request *r)
{
    unsigned *at = arg;
    if (r->call == STO_THRIFT_GET_SCANNER_ROWS && r->n == *at)
        atomic_store(&cancel, true);
}

static void test_remote_fetch_faults__cancelled(void **state)
{
    (void)state;
    static const unsigned connections[] = {1, 4};
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (int i = 0; i < 2; i++) {
        open_filled(&salted, connections[i]);
        struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS, .cancel = &cancel};
        unsigned at = (unsigned)fake_hbase_count(t.fake, STO_THRIFT_GET_SCANNER_ROWS) + 5;
        atomic_store(&cancel, false);
        fake_hbase_set_before(t.fake, cancel_at, &at);
        fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_HANG,
                                                           .of_call = true,
                                                           .call = STO_THRIFT_GET_SCANNER_ROWS,
                                                           .skip = 4,
                                                           .n = UINT32_MAX});
        assert_int_equal(t_fetch_into(&t, &f, &call, &rows, &err), TS_ECANCELLED);
        t_rows_release(&rows);
        fake_hbase_set_before(t.fake, NULL, NULL);
        fake_hbase_heal(t.fake);
        close_filled();
    }
}

/* Scanners are closed by another thread; without it they stay open, and this waits until the test is ended. */
static void expect_no_scanners(void)
{
    while (fake_hbase_scanners(t.fake))
        sched_yield();
}

static void cancel_at_row(void *arg, const struct fake_hbase_request *r)
{
    if (r->call == STO_THRIFT_GET_SCANNER_ROWS && ++*(_Atomic unsigned *)arg == 3)
        atomic_store(&cancel, true);
}

static void test_remote_fetch_faults__scanners_are_closed_early(void **state)
{
    (void)state;
    static const unsigned connections[] = {1, 4};
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (int i = 0; i < 2; i++) {
        open_filled(&salted, connections[i]);
        struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS, .cancel = &cancel};
        _Atomic unsigned n = 0;
        atomic_store(&cancel, false);
        fake_hbase_set_before(t.fake, cancel_at_row, &n);
        (void)t_fetch_into(&t, &f, &call, &rows, &err);
        t_rows_release(&rows);
        expect_no_scanners();
        fake_hbase_set_before(t.fake, NULL, NULL);
        rows.fail_at = 2;
        assert_int_equal(t_fetch_into(&t, &f, NULL, &rows, &err), TS_ELIMIT);
        t_rows_release(&rows);
        rows.fail_at = 0;
        expect_no_scanners();
        expect_all();
        close_filled();
    }
}

/* A reply that does not come until the scanner is being closed. */
static void test_remote_fetch_faults__a_late_reply_before_the_end_of_a_scanner(void **state)
{
    (void)state;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    open_filled(&plain, 1);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS, .cancel = &cancel};
    unsigned at = (unsigned)fake_hbase_count(t.fake, STO_THRIFT_GET_SCANNER_ROWS) + 1;
    atomic_store(&cancel, false);
    fake_hbase_set_before(t.fake, cancel_at, &at);
    fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_LATE,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_GET_SCANNER_ROWS});
    assert_int_equal(t_fetch_into(&t, &f, &call, &rows, &err), TS_ECANCELLED);
    assert_int_equal(fake_hbase_scanners(t.fake), 1);
    fake_hbase_release(t.fake);
    expect_no_scanners();
    fake_hbase_set_before(t.fake, NULL, NULL);
    expect_all();
    close_filled();
}

static int count_found(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *why)
{
    (void)row, (void)pos, (void)why;
    ++*(unsigned *)arg;
    return 0;
}

/* Any row is found by a few requests, over connections that stay open. */
static void test_remote_fetch_faults__any_row_of_many(void **state)
{
    (void)state;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    unsigned n = 0;
    f.any_row = true;
    open_filled(&plain, 1);
    uint64_t connections = fake_hbase_connections(t.fake);
    uint64_t before = fake_hbase_count(t.fake, STO_THRIFT_GET_SCANNER_ROWS);
    for (int i = 0; i < 100; i++)
        assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, count_found, &n, &err), 0);
    assert_int_equal(n, 100);
    assert_int_equal(fake_hbase_scanners(t.fake), 0);
    assert_int_equal(fake_hbase_connections(t.fake), connections);
    assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_GET_SCANNER_ROWS) - before, 100);
    f.from_ms += 100 * TS_HOUR_MS;
    f.to_ms += 100 * TS_HOUR_MS;
    assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, count_found, &n, &err), 0);
    assert_int_equal(n, 100);
    t_put(&t, T_PAIRS(1, 1), HOUR + 101, "060000 00"); /* a histogram */
    assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, count_found, &n, &err), 0);
    assert_int_equal(n, 101);
    close_filled();
    open_filled(&salted, 4);
    f = t_hours(HOUR, HOUR + N_HOURS);
    f.any_row = true;
    for (int i = 0; i < 20; i++)
        assert_int_equal(t.remote->ops->fetch(t.remote, &f, NULL, count_found, &n, &err), 0);
    assert_int_equal(n, 121);
    expect_no_scanners();
    close_filled();
}

/* Nothing is sent for a call that is cancelled, or whose deadline has passed, when it begins. */
static void test_remote_fetch_faults__over_before_it_begins(void **state)
{
    (void)state;
    static const unsigned connections[] = {1, 4};
    _Atomic bool yes = true;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    struct sto_remote_call cancelled = {.cancel = &yes}, late = {.deadline_ns = 1};
    for (int i = 0; i < 2; i++) {
        open_filled(&salted, connections[i]);
        uint64_t n = fake_hbase_count(t.fake, STO_THRIFT_N_CALLS);
        assert_int_equal(t_fetch_into(&t, &f, &cancelled, &rows, &err), TS_ECANCELLED);
        assert_int_equal(t_fetch_into(&t, &f, &late, &rows, &err), TS_ETIMEOUT);
        assert_int_equal(rows.n, 0);
        assert_int_equal(fake_hbase_count(t.fake, STO_THRIFT_N_CALLS), n);
        close_filled();
    }
}

static void test_remote_fetch_faults__deadline(void **state)
{
    (void)state;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    open_filled(&salted, 3);
    fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_HANG,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_GET_SCANNER_ROWS,
                                                       .skip = 6,
                                                       .n = UINT32_MAX});
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS / 600};
    assert_int_equal(t_fetch_into(&t, &f, &call, &rows, &err), TS_ETIMEOUT);
    t_rows_release(&rows);
    fake_hbase_heal(t.fake);
    close_filled();
}

/* With any limit of memory the fetch succeeds or is refused with the key, and gives everything back. */
static void test_remote_fetch_faults__memory(void **state)
{
    (void)state;
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    unsigned n_refused = 0, n_good = 0;
    open_filled(&salted, 2);
    for (uint64_t limit = 100; limit < 4 << 20; limit = limit * 3 / 2) {
        static struct ts_budget memory; /* until the teardown */
        ts_budget_init(&memory, "test", "query_max_bytes", NULL, limit);
        struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS, .memory = &memory};
        int rc = t_fetch_into(&t, &f, &call, &rows, &err);
        assert_int_equal(memory.used_bytes, 0);
        assert_true(rc == 0 || rc == TS_ELIMIT);
        if (rc < 0)
            assert_true(strstr(err.text, "query_max_bytes") || !fprintf(stderr, "%s\n", err.text));
        else
            assert_int_equal(rows.n, N_SERIES * N_HOURS);
        n_refused += rc < 0;
        n_good += rc == 0;
        t_rows_release(&rows);
    }
    assert_true(n_refused > 3 && n_good > 1);
    close_filled();
}

static void test_remote_fetch_faults__caller_ends_it(void **state)
{
    (void)state;
    static const unsigned connections[] = {1, 4};
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (int i = 0; i < 2; i++) {
        open_filled(&salted, connections[i]);
        for (rows.fail_at = 1; rows.fail_at < 400; rows.fail_at += 97) {
            assert_int_equal(t_fetch_into(&t, &f, NULL, &rows, &err), TS_ELIMIT);
            assert_string_equal(err.text, "enough");
            assert_int_equal(rows.n, rows.fail_at - 1);
            t_rows_release(&rows);
        }
        close_filled();
    }
}

/* --- computed keys --- */

/* All hours of all series, each of them requested. */
static struct sto_fetch all_series(void)
{
    static char names[N_SERIES][8];
    static struct sto_remote_tag tags[N_SERIES];
    static struct sto_remote_series series[N_SERIES];
    struct sto_fetch f = t_hours(HOUR, HOUR + N_HOURS);
    for (unsigned i = 0; i < N_SERIES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "v%u", i + 1);
        tags[i] = (struct sto_remote_tag){TS_SLICE_LIT("k1"), ts_slice_str(names[i])};
        series[i] = (struct sto_remote_series){STO_REMOTE_NO_KEY, TS_SLICE_LIT("m1"), &tags[i], 1};
    }
    f.series = series;
    f.n_series = N_SERIES;
    return f;
}

static void test_remote_fetch_faults__every_request_for_computed_keys(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP, FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_IO_ERROR, FAKE_HBASE_HALF};
    struct sto_fetch f = all_series();
    open_filled(&salted, 2);
    ts_free(want);
    want = t_fetch_text(&t, &f);
    uint64_t n = fake_hbase_count(t.fake, STO_THRIFT_GET_MULTIPLE);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        for (unsigned skip = 0; skip < n; skip += 2) {
            fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = faults[i],
                                                               .of_call = true,
                                                               .call = STO_THRIFT_GET_MULTIPLE,
                                                               .skip = skip});
            t_expect_fetch(&t, &f, want);
            fake_hbase_heal(t.fake);
        }
    close_filled();
}

/* Rows that do not fit into one reply together come in several, by computed keys and by a scanner. */
static void test_remote_fetch_faults__large_rows(void **state)
{
    (void)state;
    enum { SERIES = 8, BYTES = 300000 };
    struct sto_remote_series series[SERIES];
    struct sto_remote_tag tags[SERIES];
    char values[SERIES][4], *large = ts_xcalloc(1, BYTES);
    t_fetch_open(&t, plain, 1);
    t.remote->ops->close(t.remote);
    struct sto_thrift_gateway gateway = {"127.0.0.1", fake_hbase_port(t.fake)};
    struct sto_hbase_opts opts = {
        .access = {.gateways = &gateway, .n_gateways = 1, .max_reply_bytes = 1 << 20}, .schema = plain};
    assert_int_equal(sto_hbase_open(&opts, &t.remote, &err), 0);
    t_fetch_names(&t, 1, 1, SERIES);
    for (unsigned v = 1; v <= SERIES; v++) {
        struct t_bytes key = t_key(&t, T_PAIRS(1, v), HOUR);
        (void)snprintf(values[v - 1], sizeof values[0], "v%u", v);
        tags[v - 1] = (struct sto_remote_tag){TS_SLICE_LIT("k1"), ts_slice_str(values[v - 1])};
        series[v - 1] = (struct sto_remote_series){
            .key = STO_REMOTE_NO_KEY, .metric = TS_SLICE_LIT("m1"), .tags = &tags[v - 1], .n_tags = 1};
        t_put(&t, T_PAIRS(1, v), HOUR, "0000 07");
        fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", TS_SLICE_LIT("\1\0\0"), /* an annotation */
                       (struct ts_slice){large, BYTES}, 0);
    }
    ts_free(large);
    struct sto_fetch f = t_hours(HOUR, HOUR + 1);
    for (int scans = 0; scans < 2; scans++) {
        f.series = scans ? NULL : series;
        f.n_series = scans ? 0 : SERIES;
        char *text = t_fetch_text(&t, &f);
        size_t n_lines = 0;
        for (const char *p = text; *p; p = strchr(p, '\n') + 1)
            n_lines++;
        assert_int_equal(n_lines, SERIES);
        ts_free(text);
    }
    t_fetch_close(&t);
}

/* A reply that lacks rows is an error, whatever it lacks: the fetch would be incomplete. */
static void test_remote_fetch_faults__fewer_rows_than_were_requested(void **state)
{
    (void)state;
    struct sto_fetch f = all_series();
    open_filled(&plain, 1);
    ts_free(want);
    want = t_fetch_text(&t, &f); /* all ids are cached now */
    for (size_t n_rows = 0; n_rows < 32; n_rows += 31) {
        fake_hbase_inject(t.fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FEWER_ROWS,
                                                           .of_call = true,
                                                           .call = STO_THRIFT_GET_MULTIPLE,
                                                           .n_rows = n_rows});
        assert_int_equal(t_fetch_into(&t, &f, NULL, &rows, &err), TS_EBACKEND);
        assert_non_null(strstr(err.text, "although"));
        t_rows_release(&rows);
        t_expect_fetch(&t, &f, want);
    }
    close_filled();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_fetch_faults__every_request_for_rows),
        cmocka_unit_test(test_remote_fetch_faults__every_other_request),
        cmocka_unit_test(test_remote_fetch_faults__scanners_expire),
        cmocka_unit_test(test_remote_fetch_faults__rows_of_several_results),
        cmocka_unit_test(test_remote_fetch_faults__errors_that_stay),
        cmocka_unit_test(test_remote_fetch_faults__errors_with_rows_between),
        cmocka_unit_test(test_remote_fetch_faults__rows_behind_the_range),
        cmocka_unit_test(test_remote_fetch_faults__cancelled),
        cmocka_unit_test(test_remote_fetch_faults__scanners_are_closed_early),
        cmocka_unit_test(test_remote_fetch_faults__a_late_reply_before_the_end_of_a_scanner),
        cmocka_unit_test(test_remote_fetch_faults__any_row_of_many),
        cmocka_unit_test(test_remote_fetch_faults__over_before_it_begins),
        cmocka_unit_test(test_remote_fetch_faults__deadline),
        cmocka_unit_test(test_remote_fetch_faults__memory),
        cmocka_unit_test(test_remote_fetch_faults__caller_ends_it),
        cmocka_unit_test(test_remote_fetch_faults__every_request_for_computed_keys),
        cmocka_unit_test(test_remote_fetch_faults__large_rows),
        cmocka_unit_test(test_remote_fetch_faults__fewer_rows_than_were_requested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
