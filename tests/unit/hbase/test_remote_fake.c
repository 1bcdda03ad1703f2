/*
 * test_remote_fake.c - the fake HBase itself: what tests read and write directly, the clock, faults, scanners that expire.
 *
 * What it has in common with a real one is tested by tests/hbase/thrift_live.c.
 */
#include "tests/unit/hbase/thrift_kit.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "storage/hbase/remote/access.h"
#include "tests/hbase/fake_hbase.h"

#define MINUTE_NS 60000000000ll
#define LIT       TS_SLICE_LIT

static struct fake_hbase *f;
static struct sto_thrift_client *c;
static struct sto_thrift_gateway gateway;
static struct sto_thrift_request r;
static struct sto_thrift_reply reply;
static struct ts_error err;
static enum sto_thrift_sent sent;

static int setup(void **state)
{
    (void)state;
    f = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_non_null(f);
    fake_hbase_create(f, "t", "a b");
    gateway = (struct sto_thrift_gateway){"127.0.0.1", fake_hbase_port(f)};
    c = sto_thrift_client_new(
        &(struct sto_thrift_client_opts){.gateways = &gateway, .n_gateways = 1, .max_idle_ms = 3600000});
    sto_thrift_request_init(&r, 0, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sto_thrift_request_release(&r);
    sto_thrift_client_free(c);
    fake_hbase_stop(f);
    return 0;
}

static int call(void)
{
    struct sto_thrift_wait wait = {.until_ns = ts_clock_mono_ns() + MINUTE_NS};
    return sto_thrift_client_call(c, &r, wait, &reply, &sent, &err);
}

static int put(const char *row, const char *qualifier, const char *value)
{
    struct sto_thrift_cell cell = {
        .family = LIT("a"), .qualifier = ts_slice_str(qualifier), .value = ts_slice_str(value)};
    sto_thrift_call_put(&r, LIT("t"),
                        &(struct sto_thrift_put){.row = ts_slice_str(row), .cells = &cell, .n_cells = 1});
    return call();
}

/* The table is this. */
static void holds(const char *want)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    fake_hbase_dump(f, "t", true, &text);
    ts_buf_char(&text, 0);
    assert_string_equal(text.p, want);
    ts_buf_release(&text);
}

static void test_remote_fake__cells_are_written_and_read_directly(void **state)
{
    (void)state;
    struct ts_buf value;
    int64_t ts_ms = 0;
    ts_buf_init(&value, 0);
    fake_hbase_set_clock(f, 1000);
    fake_hbase_put(f, "t", LIT("r2"), "b", LIT("q"), LIT("v"), 0);
    fake_hbase_put(f, "t", LIT("r1"), "a", LIT("q"), LIT("w"), 5);
    holds("7231 a:71@5=77\n7232 b:71@1000=76\n");
    assert_int_equal(fake_hbase_cells(f, "t"), 2);
    assert_true(fake_hbase_get(f, "t", LIT("r1"), "a", LIT("q"), &value, &ts_ms));
    assert_int_equal(ts_ms, 5);
    assert_true(ts_slice_is(ts_buf_get(&value), "w"));
    assert_false(fake_hbase_get(f, "t", LIT("r1"), "b", LIT("q"), &value, NULL));
    fake_hbase_delete(f, "t", LIT("r1"), "a", LIT("q"));
    fake_hbase_delete(f, "t", LIT("r2"), NULL, (struct ts_slice){0});
    holds("");
    ts_buf_release(&value);
}

static void test_remote_fake__the_clock_is_the_tests(void **state)
{
    (void)state;
    fake_hbase_set_clock(f, 1000);
    assert_int_equal(put("r", "q", "1"), 0);
    assert_int_equal(put("r", "q", "2"), 0); /* replaces it */
    holds("72 a:71@1000=32\n");
    fake_hbase_delete(f, "t", LIT("r"), "a", LIT("q"));
    assert_int_equal(put("r", "q", "3"), 0); /* in the same millisecond: stays deleted */
    holds("");
    fake_hbase_compact(f, "t");
    assert_int_equal(put("r", "q", "4"), 0);
    holds("72 a:71@1000=34\n");
    fake_hbase_set_clock(f, 0);
    fake_hbase_delete(f, "t", LIT("r"), "a", LIT("q"));
    assert_int_equal(put("r", "q", "5"), 0);
    assert_int_equal(fake_hbase_cells(f, "t"), 1);
}

/* What a fault does: the result of the request, and whether it was executed. */
static void test_remote_fake__faults_happen_as_planned(void **state)
{
    (void)state;
    static const struct {
        enum fake_hbase_fault fault;
        int rc;
        enum sto_thrift_outcome outcome;
        bool can_retry, executed;
    } rows[] = {
        {FAKE_HBASE_DROP, TS_EIO, STO_THRIFT_DONE, false, false},
        {FAKE_HBASE_DROP_AFTER, TS_EIO, STO_THRIFT_DONE, false, true},
        {FAKE_HBASE_IO_ERROR, TS_EBACKEND, STO_THRIFT_IO_ERROR, true, false},
        {FAKE_HBASE_IO_ERROR_AFTER, TS_EBACKEND, STO_THRIFT_IO_ERROR, true, true},
        {FAKE_HBASE_FINAL_ERROR, TS_EBACKEND, STO_THRIFT_IO_ERROR, false, false},
        {FAKE_HBASE_ILLEGAL_ARGUMENT, TS_EBACKEND, STO_THRIFT_ILLEGAL_ARGUMENT, false, false},
        {FAKE_HBASE_GARBAGE, TS_ECORRUPT, STO_THRIFT_DONE, false, true},
        {FAKE_HBASE_HALF, TS_EIO, STO_THRIFT_DONE, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char row[8];
        struct ts_buf value;
        ts_buf_init(&value, 0);
        (void)snprintf(row, sizeof row, "r%zu", i);
        fake_hbase_inject(f, (struct fake_hbase_plan){
                                 .fault = rows[i].fault, .of_call = true, .call = STO_THRIFT_PUT, .skip = 1});
        assert_int_equal(put("other", "q", "v"), 0);
        assert_int_equal(put(row, "q", "v"), rows[i].rc);
        assert_int_equal(reply.outcome, rows[i].outcome);
        assert_int_equal(reply.can_retry, rows[i].can_retry);
        assert_int_equal(fake_hbase_get(f, "t", ts_slice_str(row), "a", LIT("q"), &value, NULL),
                         rows[i].executed);
        assert_int_equal(fake_hbase_faults(f), i + 1);
        assert_int_equal(put(row, "q", "v"), 0);
        ts_buf_release(&value);
    }
    assert_int_equal(fake_hbase_count(f, STO_THRIFT_PUT), 3 * sizeof rows / sizeof *rows);
    fake_hbase_inject(f, (struct fake_hbase_plan){.fault = FAKE_HBASE_IO_ERROR, .n = UINT_MAX});
    for (int i = 0; i < 3; i++)
        assert_int_equal(put("r", "q", "v"), TS_EBACKEND);
    fake_hbase_heal(f);
    assert_int_equal(put("r", "q", "v"), 0);
}

static void test_remote_fake__some_rows_of_a_batch_are_executed(void **state)
{
    (void)state;
    struct sto_thrift_cell cell = {.family = LIT("a"), .qualifier = LIT("q"), .value = LIT("v")};
    fake_hbase_inject(f, (struct fake_hbase_plan){.fault = FAKE_HBASE_SOME_ROWS, .n_rows = 2});
    sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, LIT("t"));
    for (int i = 0; i < 3; i++)
        sto_thrift_batch_put(&r,
                             &(struct sto_thrift_put){.row = {&"123"[i], 1}, .cells = &cell, .n_cells = 1});
    sto_thrift_batch_end(&r);
    assert_int_equal(call(), TS_EBACKEND);
    assert_true(reply.can_retry);
    assert_int_equal(fake_hbase_cells(f, "t"), 2);
    assert_int_equal(fake_hbase_count_rows(f, STO_THRIFT_PUT_MULTIPLE), 3);
    assert_int_equal(call(), 0);
    assert_int_equal(fake_hbase_cells(f, "t"), 3);
}

static void *put_in_thread(void *arg)
{
    *(int *)arg = put("late", "q", "v");
    return NULL;
}

static void test_remote_fake__late_replies_wait_for_the_test(void **state)
{
    (void)state;
    pthread_t thread;
    int rc = 1;
    fake_hbase_inject(f, (struct fake_hbase_plan){.fault = FAKE_HBASE_LATE});
    assert_int_equal(pthread_create(&thread, NULL, put_in_thread, &rc), 0);
    fake_hbase_wait_faults(f, 1);
    assert_int_equal(fake_hbase_cells(f, "t"), 1);
    fake_hbase_release(f);
    pthread_join(thread, NULL);
    assert_int_equal(rc, 0);
}

static void test_remote_fake__gateways_go_down_and_come_up(void **state)
{
    (void)state;
    assert_int_equal(put("r", "q", "v"), 0);
    fake_hbase_down(f);
    fake_hbase_down(f);
    assert_int_equal(put("r", "q", "w"), TS_EIO);
    assert_int_equal(sent, STO_THRIFT_NOT_SENT);
    fake_hbase_up(f);
    assert_int_equal(put("r2", "q", "w"), 0);
    assert_int_equal(fake_hbase_cells(f, "t"), 2);
    assert_int_equal(fake_hbase_connections(f), 2);
}

/* Another writer: puts a cell just before a conditional change looks for it. */
static void other_writer(void *arg, const struct fake_hbase_request *q)
{
    (void)arg;
    if (q->call == STO_THRIFT_CHECK_AND_PUT && q->n == 1) {
        assert_true(ts_slice_is(q->table, "t") && ts_slice_is(q->family, "a"));
        fake_hbase_put(f, "t", q->row, "a", q->qualifier, LIT("theirs"), 0);
    }
}

static void test_remote_fake__other_writers_come_between(void **state)
{
    (void)state;
    struct sto_thrift_cell cell = {.family = LIT("a"), .qualifier = LIT("q"), .value = LIT("ours")};
    fake_hbase_set_before(f, other_writer, NULL);
    for (int i = 0; i < 2; i++) {
        struct ts_slice row = {&"xy"[i], 1};
        sto_thrift_call_check_and_put(
            &r, LIT("t"), &(struct sto_thrift_check){.row = row, .family = LIT("a"), .qualifier = LIT("q")},
            &(struct sto_thrift_put){.row = row, .cells = &cell, .n_cells = 1});
        assert_int_equal(call(), 0);
        assert_int_equal(sto_thrift_reply_bool(&reply), i);
    }
}

static void test_remote_fake__scanners_expire(void **state)
{
    (void)state;
    fake_hbase_put(f, "t", LIT("r"), "a", LIT("q"), LIT("v"), 0);
    for (int32_t id = 0; id < 2; id++) {
        sto_thrift_call_open_scanner(&r, LIT("t"), &(struct sto_thrift_scan){.caching = 1});
        assert_int_equal(call(), 0);
        struct sto_thrift_scanner s = sto_thrift_reply_scanner(&reply);
        assert_int_equal(s.id, id);
        assert_int_equal(fake_hbase_scanners(f), 1);
        fake_hbase_expire_scanners(f);
        sto_thrift_call_get_scanner_rows(&r, s, 1);
        assert_int_equal(call(), TS_EBACKEND);
        assert_int_equal(reply.outcome, STO_THRIFT_ILLEGAL_ARGUMENT);
    }
}

static void test_remote_fake__golden_rows_are_loaded(void **state)
{
    (void)state;
    assert_true(fake_hbase_load(f, T_GOLDEN_FOLDER "/plain.jsonl"));
    assert_true(fake_hbase_load(f, T_GOLDEN_FOLDER "/meta.jsonl"));
    assert_true(fake_hbase_cells(f, "tsdb") > 10);
    assert_true(fake_hbase_cells(f, "tsdb-uid") > 10);
    struct ts_buf value;
    ts_buf_init(&value, 0);
    assert_true(
        fake_hbase_get(f, "tsdb-uid", (struct ts_slice){"\0", 1}, "id", LIT("metrics"), &value, NULL));
    assert_int_equal(value.n, 8);
    ts_buf_release(&value);
    assert_false(fake_hbase_load(f, T_GOLDEN_FOLDER "/puts.txt"));
    assert_false(fake_hbase_load(f, T_GOLDEN_FOLDER "/none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_fake__cells_are_written_and_read_directly, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__the_clock_is_the_tests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__faults_happen_as_planned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__some_rows_of_a_batch_are_executed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__late_replies_wait_for_the_test, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__gateways_go_down_and_come_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__other_writers_come_between, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__scanners_expire, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_fake__golden_rows_are_loaded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
