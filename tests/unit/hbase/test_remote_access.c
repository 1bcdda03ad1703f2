/*
 * test_remote_access.c - sessions: requests that are repeated and those that must not be, deadlines, cancellation, errors.
 *
 * Deadlines that must not pass are a minute away; those that must pass belong to calls that are never answered.
 */
#include "tests/unit/hbase/t_gateway.h"

#include "base/time.h"
#include "storage/hbase/remote/access.h"

#define MINUTE_NS 60000000000ll
#define SOON_MS   50 /* for requests that are never answered */

static struct t_gateway gateways[2];
static struct sto_hbase_access *a;
static struct sto_hbase_session s;
static struct sto_thrift_request exists, add; /* one that may be repeated, and one that may not */
static struct sto_thrift_reply reply;
static struct ts_error err;
static enum sto_thrift_sent sent;
static _Atomic bool cancel;

static int setup(void **state)
{
    (void)state;
    struct sto_thrift_column column = {.family = TS_SLICE_LIT("f"), .qualifier = TS_SLICE_LIT("q")};
    sto_thrift_request_init(&exists, 0, NULL);
    sto_thrift_request_init(&add, 0, NULL);
    sto_thrift_call_table_exists(&exists, TS_SLICE_LIT("t"));
    sto_thrift_call_increment(&add, TS_SLICE_LIT("t"), TS_SLICE_LIT("row"), &column, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sto_thrift_request_release(&exists);
    sto_thrift_request_release(&add);
    return 0;
}

/* Two gateways; sessions begin with the first one. */
static void start(enum t_manner first, enum t_manner second, struct sto_hbase_access_opts opts)
{
    struct sto_thrift_gateway where[2];
    for (int i = 0; i < 2; i++) {
        t_gateway_start(&gateways[i], STO_THRIFT_BUFFERED, i ? second : first);
        gateways[i].cancel = &cancel;
        where[i] = (struct sto_thrift_gateway){"127.0.0.1", gateways[i].port};
    }
    opts.gateways = where;
    opts.n_gateways = 2;
    atomic_store(&cancel, false);
    a = sto_hbase_access_new(&opts); /* copies where */
    memset(&err, 0, sizeof err);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS, .cancel = &cancel};
    assert_int_equal(sto_hbase_begin(a, &call, &s, &err), 0);
}

static void stop(void)
{
    sto_hbase_end(&s);
    sto_hbase_end(&s);
    sto_hbase_access_free(a);
    t_gateway_stop(&gateways[0]);
    t_gateway_stop(&gateways[1]);
}

/* A counter of the access. */
struct wanted {
    const char *name;
    uint64_t value;
    bool found;
};
static void see(void *arg, const char *name, uint64_t value)
{
    struct wanted *w = arg;
    if (strcmp(name, w->name) == 0) {
        w->value = value;
        w->found = true;
    }
}
static uint64_t counter(const char *name)
{
    struct wanted w = {.name = name};
    sto_hbase_access_status(a, see, &w);
    assert_true(w.found);
    return w.value;
}

static void call(const struct sto_thrift_request *r, int want, enum sto_thrift_sent want_sent)
{
    int rc = sto_hbase_call(&s, r, &reply, &sent, &err);
    if (rc != want || sent != want_sent)
        fail_msg("%s: %d, sent %d: %s", sto_thrift_call_info(r->call)->name, rc, sent, err.text);
    assert_int_equal(err.code, rc);
    assert_int_equal(reply.call, r->call);
}

static void test_remote_access__calls_are_answered_and_counted(void **state)
{
    (void)state;
    start(T_ANSWER, T_ANSWER, (struct sto_hbase_access_opts){0});
    call(&exists, 0, STO_THRIFT_ANSWERED);
    assert_true(sto_thrift_reply_bool(&reply));
    call(&exists, 0, STO_THRIFT_ANSWERED);
    assert_int_equal(counter("calls"), 2);
    assert_int_equal(counter("call_repeats"), 0);
    assert_int_equal(counter("connections_in_use"), 1);
    sto_hbase_end(&s);
    assert_int_equal(counter("connections_in_use"), 0);
    assert_int_equal(counter("connections_idle"), 1);
    stop();
}

/* The manners of a gateway that breaks the connection. */
static void test_remote_access__reads_go_to_another_gateway(void **state)
{
    (void)state;
    static const enum t_manner manners[] = {T_DROP, T_HALF, T_GARBAGE, T_HANG, T_NO_READ};
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        bool hangs = manners[i] == T_HANG || manners[i] == T_NO_READ;
        start(manners[i], T_ANSWER, (struct sto_hbase_access_opts){.timeout_ms = hangs ? SOON_MS : 0});
        int rc; /* the second gateway may be slow to answer too */
        while ((rc = sto_hbase_call(&s, &exists, &reply, &sent, &err)) == TS_EBACKEND && hangs)
            ;
        assert_int_equal(rc, 0);
        assert_true(counter("call_repeats") >= 1);
        assert_true(gateways[1].n_requests >= 1);
        stop();
    }
}

static void test_remote_access__changes_are_not_repeated_once_sent(void **state)
{
    (void)state;
    start(T_DROP, T_ANSWER, (struct sto_hbase_access_opts){0});
    call(&add, TS_EBACKEND, STO_THRIFT_SENT);
    assert_non_null(strstr(err.text, gateways[0].port));
    assert_int_equal(reply.outcome, STO_THRIFT_DONE);
    assert_int_equal(gateways[1].n_requests, 0);
    assert_int_equal(counter("call_repeats"), 0);
    assert_int_equal(counter("call_failures"), 1);
    stop();
    start(T_HANG, T_ANSWER, (struct sto_hbase_access_opts){.timeout_ms = SOON_MS});
    call(&add, TS_EBACKEND, STO_THRIFT_SENT); /* the deadline of the call has not passed */
    assert_int_equal(counter("call_timeouts"), 1);
    assert_int_equal(gateways[1].n_requests, 0);
    stop();
    start(T_REFUSE, T_ANSWER, (struct sto_hbase_access_opts){0});
    call(&add, TS_EBACKEND, STO_THRIFT_ANSWERED);
    assert_int_equal(reply.outcome, STO_THRIFT_IO_ERROR);
    assert_int_equal(gateways[0].n_requests, 1);
    stop();
}

static void test_remote_access__unsent_changes_are_repeated(void **state)
{
    (void)state;
    struct t_gateway gone;
    t_gateway_start(&gone, STO_THRIFT_BUFFERED, T_ANSWER);
    t_gateway_stop(&gone); /* nobody listens there */
    t_gateway_start(&gateways[0], STO_THRIFT_BUFFERED, T_REFUSE);
    struct sto_thrift_gateway where[] = {{"127.0.0.1", gone.port}, {"127.0.0.1", gateways[0].port}};
    a = sto_hbase_access_new(&(struct sto_hbase_access_opts){.gateways = where, .n_gateways = 2});
    assert_int_equal(sto_hbase_begin(a, NULL, &s, &err), 0);
    call(&add, TS_EBACKEND, STO_THRIFT_ANSWERED);
    assert_int_equal(gateways[0].n_requests, 1);
    sto_hbase_end(&s);
    sto_hbase_access_free(a);
    t_gateway_stop(&gateways[0]);
}

static void test_remote_access__exceptions_that_allow_it_are_repeated(void **state)
{
    (void)state;
    start(T_REFUSE, T_ANSWER, (struct sto_hbase_access_opts){0});
    atomic_store(&gateways[0].n_manner, 3);
    call(&exists, 0, STO_THRIFT_ANSWERED);
    assert_int_equal(gateways[0].n_requests, 4);
    assert_int_equal(counter("call_exceptions"), 3);
    assert_int_equal(counter("call_repeats"), 3);
    assert_int_equal(counter("calls"), 1);
    stop();
    start(T_UNKNOWN_CALL, T_ANSWER, (struct sto_hbase_access_opts){0});
    call(&exists, TS_EBACKEND, STO_THRIFT_ANSWERED);
    assert_int_equal(reply.outcome, STO_THRIFT_APPLICATION);
    assert_int_equal(gateways[0].n_requests, 1);
    stop();
}

static void test_remote_access__final_exceptions_are_known_by_their_text(void **state)
{
    (void)state;
    struct sto_thrift_reply r = {.outcome = STO_THRIFT_IO_ERROR, .can_retry = true};
    r.text = TS_SLICE_LIT("Failed 1 action: region is not online: 1 time, servers with issues: a,1,2");
    assert_false(sto_hbase_is_final(&r));
    r.text =
        TS_SLICE_LIT("Failed 1 action: org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: x");
    assert_true(sto_hbase_is_final(&r));
    r.text = TS_SLICE_LIT("");
    r.can_retry = false;
    assert_true(sto_hbase_is_final(&r));
    r = (struct sto_thrift_reply){.outcome = STO_THRIFT_ILLEGAL_ARGUMENT};
    assert_true(sto_hbase_is_final(&r));
    r = (struct sto_thrift_reply){0};
    assert_false(sto_hbase_is_final(&r));
}

/* An exception that concerns a table says nothing of the rows of a request. */
static void test_remote_access__refusals_of_rows_are_known_by_their_text(void **state)
{
    (void)state;
    static const char *const of_tables[] = {"org.apache.hadoop.hbase.TableNotFoundException: x",
                                            "org.apache.hadoop.hbase.TableNotEnabledException: x",
                                            "a.NoSuchColumnFamilyException: x",
                                            "a.NamespaceNotFoundException",
                                            "org.apache.hadoop.hbase.security.AccessDeniedException: x",
                                            "a.RpcThrottlingException: QuotaExceededException: x",
                                            "a.quotas.SpaceLimitingException: x"};
    struct sto_thrift_reply r = {.outcome = STO_THRIFT_IO_ERROR};
    assert_true(sto_hbase_refuses_rows(&r));
    r.text = TS_SLICE_LIT("a.DoNotRetryIOException: the row is too large");
    assert_true(sto_hbase_refuses_rows(&r));
    r.text = TS_SLICE_LIT("region is not online");
    r.can_retry = true;
    assert_false(sto_hbase_refuses_rows(&r));
    r.can_retry = false;
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++) {
        r.text = ts_slice_str(of_tables[i]);
        if (sto_hbase_refuses_rows(&r))
            fail_msg("%s", of_tables[i]);
    }
    r = (struct sto_thrift_reply){.outcome = STO_THRIFT_DONE};
    assert_false(sto_hbase_refuses_rows(&r));
}

static void test_remote_access__cancellation_ends_a_call_and_its_repeats(void **state)
{
    (void)state;
    start(T_CANCEL, T_ANSWER, (struct sto_hbase_access_opts){0});
    call(&exists, TS_ECANCELLED, STO_THRIFT_SENT);
    stop();
    start(T_REFUSE, T_ANSWER, (struct sto_hbase_access_opts){0});
    assert_int_equal(sto_hbase_pause(&s, 0, &err), 0);
    atomic_store(&cancel, true);
    for (unsigned n = 0; n < 40; n++)
        assert_int_equal(sto_hbase_pause(&s, n, &err), TS_ECANCELLED);
    call(&exists, TS_ECANCELLED, STO_THRIFT_NOT_SENT);
    stop();
}

static void test_remote_access__deadlines_end_calls(void **state)
{
    (void)state;
    start(T_HANG, T_HANG, (struct sto_hbase_access_opts){0});
    sto_hbase_end(&s);
    struct sto_remote_call soon = {.deadline_ns = ts_clock_mono_ns() + MINUTE_NS};
    assert_int_equal(sto_hbase_begin(a, &soon, &s, &err), 0);
    s.wait.until_ns = ts_clock_mono_ns() + SOON_MS * 1000000;
    assert_int_equal(sto_hbase_call(&s, &exists, &reply, &sent, &err), TS_ETIMEOUT);
    assert_true(sto_hbase_attempt(&s).until_ns <= s.wait.until_ns);
    assert_int_equal(sto_hbase_pause(&s, 1, &err), TS_ETIMEOUT);
    s.wait.until_ns = ts_clock_mono_ns() + MINUTE_NS;
    int64_t now_ns = ts_clock_mono_ns();
    assert_int_equal(sto_hbase_pause(&s, 1, &err), 0);
    assert_true(ts_clock_mono_ns() - now_ns >= 25000000);
    stop();
}

/* Nobody listens: a query is told soon, others go on until their deadline. An answer to anybody ends that. */
static void test_remote_access__queries_do_not_wait_for_who_is_away(void **state)
{
    (void)state;
    start(T_DROP, T_DROP, (struct sto_hbase_access_opts){.away_ms = 300});
    s.is_query = true;
    int64_t began_ns = ts_clock_mono_ns();
    call(&exists, TS_EBACKEND, STO_THRIFT_SENT); /* its deadline is a minute away */
    assert_true(ts_clock_mono_ns() - began_ns >= 300000000);
    assert_non_null(strstr(err.text, "tried"));
    uint64_t n_repeats = counter("call_repeats");
    call(&exists, TS_EBACKEND, STO_THRIFT_SENT);
    assert_int_equal(counter("call_repeats"), n_repeats); /* one attempt */
    assert_int_equal(sto_hbase_pause(&s, 1, &err), TS_ETIMEOUT);
    assert_int_equal(sto_hbase_pause(&s, 0, &err), 0);
    s.is_query = false;
    assert_int_equal(sto_hbase_pause(&s, 1, &err), 0);
    atomic_store(&gateways[0].manner, T_ANSWER);
    atomic_store(&gateways[1].manner, T_ANSWER);
    s.is_query = true;
    err = (struct ts_error){0};
    call(&exists, 0, STO_THRIFT_ANSWERED);
    assert_int_equal(sto_hbase_pause(&s, 1, &err), 0);
    stop();
}

/* The gateway takes requests, but HBase behind it is away. */
static void test_remote_access__queries_wait_a_little_for_a_silent_gateway(void **state)
{
    (void)state;
    start(T_DROP, T_DROP, (struct sto_hbase_access_opts){.away_ms = 50});
    s.is_query = true;
    call(&exists, TS_EBACKEND, STO_THRIFT_SENT);
    atomic_store(&gateways[0].manner, T_HANG);
    atomic_store(&gateways[1].manner, T_HANG);
    s.wait.until_ns = ts_clock_mono_ns() + MINUTE_NS / 10;
    call(&exists, TS_EBACKEND, STO_THRIFT_SENT); /* TS_ETIMEOUT: it has waited until its deadline */
    s.is_query = false;
    s.wait.until_ns = ts_clock_mono_ns() + 500 * 1000000ll;
    call(&exists, TS_ETIMEOUT, STO_THRIFT_SENT);
    stop();
}

/* Requests are taken and never answered: after some of them a query is told that nobody is there, long before its deadline. */
static void test_remote_access__who_never_answers_is_away(void **state)
{
    (void)state;
    start(T_HANG, T_HANG, (struct sto_hbase_access_opts){.away_ms = SOON_MS, .timeout_ms = SOON_MS});
    s.is_query = true;
    s.wait.until_ns = ts_clock_mono_ns() + MINUTE_NS / 10;
    call(&exists, TS_EBACKEND, STO_THRIFT_SENT); /* TS_ETIMEOUT: it has waited until its deadline */
    assert_int_equal(sto_hbase_pause(&s, 1, &err), TS_ETIMEOUT);
    stop();
}

static void test_remote_access__connections_are_limited(void **state)
{
    (void)state;
    struct sto_hbase_session other;
    start(T_ANSWER, T_ANSWER,
          (struct sto_hbase_access_opts){.max_connections = 1, .max_connections_key = "the_key"});
    struct sto_remote_call past = {.deadline_ns = 1};
    assert_int_equal(sto_hbase_begin(a, &past, &other, &err), TS_ETIMEOUT);
    assert_int_equal(err.code, TS_ETIMEOUT);
    assert_non_null(strstr(err.text, "the_key"));
    sto_hbase_end(&other);
    atomic_store(&cancel, true);
    struct sto_remote_call cancelled = {.cancel = &cancel};
    assert_int_equal(sto_hbase_begin(a, &cancelled, &other, &err), TS_ECANCELLED);
    assert_int_equal(counter("connection_waits_in_vain"), 2);
    stop();
}

static void test_remote_access__scanners_stay_on_their_connection(void **state)
{
    (void)state;
    struct sto_thrift_request open, rows;
    sto_thrift_request_init(&open, 0, NULL);
    sto_thrift_request_init(&rows, 0, NULL);
    start(T_ANSWER, T_ANSWER, (struct sto_hbase_access_opts){0});
    sto_thrift_call_open_scanner(&open, TS_SLICE_LIT("t"), &(struct sto_thrift_scan){0});
    call(&open, 0, STO_THRIFT_ANSWERED);
    sto_thrift_call_get_scanner_rows(&rows, sto_thrift_reply_scanner(&reply), 5);
    call(&rows, 0, STO_THRIFT_ANSWERED);
    atomic_store(&gateways[0].manner, T_DROP);
    call(&rows, TS_EBACKEND, STO_THRIFT_SENT);
    call(&rows, TS_ENOTFOUND, STO_THRIFT_NOT_SENT);
    assert_int_equal(gateways[1].n_requests, 0);
    stop();
    sto_thrift_request_release(&open);
    sto_thrift_request_release(&rows);
}

static void test_remote_access__errors_are_those_of_remote_stores(void **state)
{
    (void)state;
    static const struct {
        int from, to;
    } rows[] = {{0, 0},
                {TS_EIO, TS_EBACKEND},
                {TS_ECORRUPT, TS_EBACKEND},
                {TS_EBUSY, TS_EBACKEND},
                {TS_EBACKEND, TS_EBACKEND},
                {TS_ENOMEM, TS_ELIMIT},
                {TS_ELIMIT, TS_ELIMIT},
                {TS_ETIMEOUT, TS_ETIMEOUT},
                {TS_ECANCELLED, TS_ECANCELLED},
                {TS_ENOTFOUND, TS_ENOTFOUND}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_error e = {.code = rows[i].from, .text = "text"};
        assert_int_equal(sto_hbase_error(rows[i].from, &e), rows[i].to);
        assert_int_equal(e.code, rows[i].to);
        assert_string_equal(e.text, "text");
        assert_int_equal(sto_hbase_error(rows[i].from, NULL), rows[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_access__calls_are_answered_and_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__reads_go_to_another_gateway, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__changes_are_not_repeated_once_sent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__unsent_changes_are_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__exceptions_that_allow_it_are_repeated, setup,
                                        teardown),
        cmocka_unit_test(test_remote_access__final_exceptions_are_known_by_their_text),
        cmocka_unit_test(test_remote_access__refusals_of_rows_are_known_by_their_text),
        cmocka_unit_test_setup_teardown(test_remote_access__cancellation_ends_a_call_and_its_repeats, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__deadlines_end_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__queries_do_not_wait_for_who_is_away, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__queries_wait_a_little_for_a_silent_gateway, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__who_never_answers_is_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__connections_are_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remote_access__scanners_stay_on_their_connection, setup,
                                        teardown),
        cmocka_unit_test(test_remote_access__errors_are_those_of_remote_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
