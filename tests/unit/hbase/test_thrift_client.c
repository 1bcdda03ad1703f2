/*
 * test_thrift_client.c - connections to gateways that answer, hang, drop, refuse, and send what nobody expects; the pool.
 *
 * Deadlines that must not pass are a minute away; those that must pass are in the past, or belong to calls that are never answered.
 */
#include "tests/unit/hbase/t_gateway.h"

#include "base/budget.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/thrift/client.h"
#include "storage/hbase/thrift/pool.h"

#define MINUTE_NS 60000000000ll
#define SOON_NS   50000000ll /* for calls that are never answered */

static struct t_gateway gateway, second;
static struct sto_thrift_request exists, get;

static struct sto_thrift_wait within(int64_t ns)
{
    return (struct sto_thrift_wait){.until_ns = ts_clock_mono_ns() + ns};
}

static int setup(void **state)
{
    (void)state;
    sto_thrift_request_init(&exists, 0, NULL);
    sto_thrift_request_init(&get, 0, NULL);
    sto_thrift_call_table_exists(&exists, TS_SLICE_LIT("t"));
    sto_thrift_call_get(&get, TS_SLICE_LIT("t"), &(struct sto_thrift_get){.row = TS_SLICE_LIT("row")});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sto_thrift_request_release(&exists);
    sto_thrift_request_release(&get);
    return 0;
}

/* A client of a new gateway that behaves in that manner. */
static struct sto_thrift_client *start(enum t_manner manner, struct sto_thrift_client_opts opts)
{
    static struct sto_thrift_gateway where;
    t_gateway_start(&gateway, opts.transport, manner);
    where = (struct sto_thrift_gateway){"127.0.0.1", gateway.port};
    opts.gateways = &where;
    opts.n_gateways = 1;
    opts.max_idle_ms = 3600000;
    return sto_thrift_client_new(&opts);
}

static void stop(struct sto_thrift_client *c)
{
    sto_thrift_client_free(c);
    t_gateway_stop(&gateway);
}

/* A call that ends with this code, and says what became of the request. */
static void call(struct sto_thrift_client *c, struct sto_thrift_wait wait, int want,
                 enum sto_thrift_sent want_sent, const char *want_text)
{
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    enum sto_thrift_sent sent;
    int rc = sto_thrift_client_call(c, &exists, wait, &reply, &sent, &err);
    if (rc != want || sent != want_sent || (want_text && !strstr(err.text, want_text)))
        fail_msg("%d, sent %d: %s", rc, sent, err.text);
    assert_int_equal(err.code, rc);
    assert_int_equal(reply.call, STO_THRIFT_TABLE_EXISTS);
    if (rc == 0)
        assert_true(sto_thrift_reply_bool(&reply));
    if (rc < 0 && rc != TS_EBACKEND)
        assert_false(sto_thrift_client_is_open(c));
}

static void test_thrift_client__calls_are_answered(void **state)
{
    (void)state;
    for (int framed = 0; framed < 2; framed++) {
        struct sto_thrift_client_opts o = {.transport = framed ? STO_THRIFT_FRAMED : STO_THRIFT_BUFFERED};
        struct sto_thrift_client *c = start(T_ANSWER, o);
        for (int i = 0; i < 3; i++)
            call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
        atomic_store(&gateway.manner, T_DRIP);
        call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
        assert_int_equal(gateway.n_conns, 1);
        stop(c);
    }
}

static void test_thrift_client__replies_come_in_order(void **state)
{
    (void)state;
    enum { N = 10 };
    struct ts_error err = {0};
    struct sto_thrift_client *c = start(T_ANSWER, (struct sto_thrift_client_opts){.max_in_flight = N});
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            assert_int_equal(sto_thrift_client_send(c, i % 3 ? &get : &exists, within(MINUTE_NS), &err), 0);
        assert_int_equal(sto_thrift_client_send(c, &get, within(MINUTE_NS), &err), TS_EBUSY);
        assert_int_equal(sto_thrift_client_in_flight(c), N);
        for (int i = 0; i < N; i++) {
            struct sto_thrift_reply reply;
            enum sto_thrift_sent sent;
            assert_int_equal(sto_thrift_client_receive(c, NULL, &reply, &sent, &err), 0);
            assert_int_equal(reply.call, i % 3 ? STO_THRIFT_GET : STO_THRIFT_TABLE_EXISTS);
            assert_int_equal(sent, STO_THRIFT_ANSWERED);
        }
    }
    struct sto_thrift_reply reply;
    assert_int_equal(sto_thrift_client_receive(c, NULL, &reply, NULL, &err), TS_EINVAL);
    stop(c);
}

/* The gateway writes replies that fill the socket while we have requests to write that fill it too. */
static void test_thrift_client__large_requests_and_replies_do_not_block_each_other(void **state)
{
    (void)state;
    enum { N = 4, BYTES = 8 << 20 };
    struct ts_error err = {0};
    struct sto_thrift_request big;
    struct sto_thrift_client *c = start(T_ANSWER, (struct sto_thrift_client_opts){0});
    char *filter = ts_xcalloc(1, BYTES);
    gateway.value_bytes = BYTES;
    sto_thrift_request_init(&big, 0, NULL);
    assert_int_equal(sto_thrift_call_get(&big, TS_SLICE_LIT("t"),
                                         &(struct sto_thrift_get){.row = TS_SLICE_LIT("row"),
                                                                  .select = {.filter = {filter, BYTES}}}),
                     0);
    for (int i = 0; i < N; i++)
        assert_int_equal(sto_thrift_client_send(c, &big, within(MINUTE_NS), &err), 0);
    for (int i = 0; i < N; i++) {
        struct sto_thrift_reply reply;
        struct sto_thrift_items it;
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        if (sto_thrift_client_receive(c, NULL, &reply, NULL, &err) != 0)
            fail_msg("%s", err.text);
        sto_thrift_items_init(&it, &reply);
        assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
        assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 1);
        assert_int_equal(cell.value.n, BYTES);
    }
    sto_thrift_request_release(&big);
    ts_free(filter);
    stop(c);
}

static void test_thrift_client__exceptions_keep_the_connection(void **state)
{
    (void)state;
    struct sto_thrift_client *c = start(T_REFUSE, (struct sto_thrift_client_opts){0});
    call(c, within(MINUTE_NS), TS_EBACKEND, STO_THRIFT_ANSWERED, "HBase refuses tableExists: no such thing");
    atomic_store(&gateway.manner, T_UNKNOWN_CALL);
    call(c, within(MINUTE_NS), TS_EBACKEND, STO_THRIFT_ANSWERED, "no such thing");
    atomic_store(&gateway.manner, T_ANSWER);
    call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    assert_int_equal(gateway.n_conns, 1);
    stop(c);
}

static void test_thrift_client__bad_gateways_are_disconnected(void **state)
{
    (void)state;
    static const struct {
        enum t_manner manner;
        int rc;
        const char *text;
    } rows[] = {
        {T_HANG, TS_ETIMEOUT, "did not answer tableExists before the deadline"},
        {T_DROP, TS_EIO,
         "did not answer tableExists, nor anything else over this connection (hbase_transport must be"},
        {T_HALF, TS_EIO, "closed the connection and did not answer tableExists"},
        {T_GARBAGE, TS_ECORRUPT, "no strict message"},
        {T_HUGE, TS_ELIMIT, "more than 1000000 bytes (hbase_max_reply_bytes)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sto_thrift_client_opts o = {.max_reply_bytes = 1000000,
                                           .max_reply_key = "hbase_max_reply_bytes"};
        struct sto_thrift_client *c = start(rows[i].manner, o);
        bool hangs = rows[i].manner == T_HANG;
        /* Only a call that is never answered has a short deadline. Connecting may take longer than it, so there is a connection before. */
        if (hangs) {
            atomic_store(&gateway.manner, T_ANSWER);
            call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
            atomic_store(&gateway.manner, T_HANG);
        }
        call(c, within(hangs ? SOON_NS : MINUTE_NS), rows[i].rc, STO_THRIFT_SENT, rows[i].text);
        assert_int_equal(gateway.n_requests, hangs ? 2 : 1); /* nothing is repeated */
        atomic_store(&gateway.manner, T_ANSWER);             /* and the next call connects again */
        call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
        assert_int_equal(gateway.n_conns, 2);
        stop(c);
    }
}

static void test_thrift_client__replies_out_of_order_are_refused(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct sto_thrift_reply reply;
    enum sto_thrift_sent sent;
    struct sto_thrift_client *c = start(T_SWAP, (struct sto_thrift_client_opts){0});
    assert_int_equal(sto_thrift_client_send(c, &exists, within(MINUTE_NS), &err), 0);
    assert_int_equal(sto_thrift_client_send(c, &exists, within(MINUTE_NS), &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sto_thrift_client_receive(c, NULL, &reply, &sent, &err), TS_ECORRUPT);
        assert_int_equal(sent, STO_THRIFT_SENT);
        assert_non_null(strstr(err.text, "reply number 2"));
        if (i == 0) /* the other one must be received first */
            assert_int_equal(sto_thrift_client_send(c, &exists, within(MINUTE_NS), &err), TS_EBUSY);
    }
    assert_int_equal(sto_thrift_client_in_flight(c), 0);
    stop(c);
}

/* A reply that nobody waits for must never be taken for that to the next call. */
static void test_thrift_client__surplus_replies_end_the_connection(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct sto_thrift_reply reply;
    struct sto_thrift_client *c = start(T_ANSWER_TWICE, (struct sto_thrift_client_opts){0});
    assert_int_equal(sto_thrift_client_call(c, &exists, within(MINUTE_NS), &reply, NULL, &err), 0);
    int rc = sto_thrift_client_call(c, &exists, within(MINUTE_NS), &reply, NULL, &err);
    if (rc == 0) /* it had come before the call, so there is a new connection */
        assert_int_equal(gateway.n_conns, 2);
    else
        assert_int_equal(rc, TS_ECORRUPT);
    stop(c);
}

static void test_thrift_client__what_was_not_sent_is_known(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20 };
    struct ts_error err = {0};
    struct sto_thrift_request big;
    struct sto_thrift_reply reply;
    enum sto_thrift_sent sent;
    struct sto_thrift_client *c = start(T_NO_READ, (struct sto_thrift_client_opts){0});
    char *filter = ts_xcalloc(1, BYTES);
    sto_thrift_request_init(&big, 0, NULL);
    assert_int_equal(sto_thrift_call_get(&big, TS_SLICE_LIT("t"),
                                         &(struct sto_thrift_get){.row = TS_SLICE_LIT("row"),
                                                                  .select = {.filter = {filter, BYTES}}}),
                     0);
    struct sto_thrift_wait wait = within(MINUTE_NS);
    _Atomic bool cancel = false;
    assert_int_equal(sto_thrift_client_send(c, &exists, wait, &err), 0);
    assert_int_equal(sto_thrift_client_send(c, &big, wait, &err), 0);
    assert_int_equal(sto_thrift_client_send(c, &exists, wait, &err), 0);
    atomic_store(&cancel, true);
    static const enum sto_thrift_sent want[] = {STO_THRIFT_SENT, STO_THRIFT_NOT_SENT, STO_THRIFT_NOT_SENT};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sto_thrift_client_receive(c, &cancel, &reply, &sent, &err), TS_ECANCELLED);
        assert_int_equal(sent, want[i]);
    }
    sto_thrift_request_release(&big);
    ts_free(filter);
    stop(c);
}

static void test_thrift_client__a_call_is_cancelled_while_it_waits(void **state)
{
    (void)state;
    _Atomic bool cancel = false;
    struct sto_thrift_client *c = start(T_CANCEL, (struct sto_thrift_client_opts){0});
    gateway.cancel = &cancel;
    struct sto_thrift_wait wait = {.until_ns = INT64_MAX, .cancel = &cancel};
    call(c, wait, TS_ECANCELLED, STO_THRIFT_SENT, "cancelled");
    call(c, wait, TS_ECANCELLED, STO_THRIFT_NOT_SENT, "cancelled"); /* before it connects */
    stop(c);
}

static void test_thrift_client__a_connection_that_was_closed_meanwhile_is_replaced(void **state)
{
    (void)state;
    struct sto_thrift_client *c = start(T_ANSWER_AND_CLOSE, (struct sto_thrift_client_opts){0});
    call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    t_gateway_closed(&gateway, 1);
    call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    assert_int_equal(gateway.n_requests, 2);
    stop(c);
}

static void test_thrift_client__what_arrives_is_counted(void **state)
{
    (void)state;
    struct ts_budget b;
    struct ts_error err = {0};
    struct sto_thrift_reply reply;
    enum sto_thrift_sent sent;
    ts_budget_init(&b, "hbase", "hbase_read_bytes", NULL, 1 << 20);
    struct sto_thrift_client *c = start(T_ANSWER, (struct sto_thrift_client_opts){.budget = &b});
    gateway.value_bytes = 100000;
    assert_int_equal(sto_thrift_client_call(c, &get, within(MINUTE_NS), &reply, &sent, &err), 0);
    assert_true(b.used_bytes >= 100000);
    sto_thrift_client_trim(c);
    assert_int_equal(b.used_bytes, 0);
    gateway.value_bytes = 4 << 20;
    assert_int_equal(sto_thrift_client_call(c, &get, within(MINUTE_NS), &reply, &sent, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "hbase_read_bytes"));
    assert_int_equal(sent, STO_THRIFT_SENT);
    assert_int_equal(b.used_bytes, 0);
    stop(c);
}

static void test_thrift_client__requests_that_did_not_fit_are_refused(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct sto_thrift_request small;
    struct sto_thrift_client *c = start(T_ANSWER, (struct sto_thrift_client_opts){0});
    sto_thrift_request_init(&small, 20, NULL);
    assert_int_equal(sto_thrift_call_table_exists(&small, TS_SLICE_LIT("t")), TS_ELIMIT);
    assert_int_equal(sto_thrift_client_send(c, &small, within(MINUTE_NS), &err), TS_ELIMIT);
    assert_int_equal(sto_thrift_client_in_flight(c), 0);
    sto_thrift_request_release(&small);
    stop(c);
}

static void test_thrift_client__gateways_are_tried_in_turn(void **state)
{
    (void)state;
    t_gateway_start(&gateway, STO_THRIFT_BUFFERED, T_ANSWER);
    t_gateway_start(&second, STO_THRIFT_BUFFERED, T_ANSWER);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* a port where nobody listens */
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    char port[8];
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    (void)snprintf(port, sizeof(port), "%u", ntohs(a.sin_port));
    struct sto_thrift_gateway all[] = {
        {"127.0.0.1", port}, {"127.0.0.1", gateway.port}, {"127.0.0.1", second.port}};
    struct sto_thrift_client_opts o = {.gateways = all, .n_gateways = 3, .first_gateway = 3};
    struct sto_thrift_client *c = sto_thrift_client_new(&o);
    call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    assert_int_equal(gateway.n_requests, 1);
    atomic_store(&gateway.manner, T_DROP); /* after a failure comes the next one */
    call(c, within(MINUTE_NS), TS_EIO, STO_THRIFT_SENT, NULL);
    call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    assert_int_equal(second.n_requests, 1);
    sto_thrift_client_free(c);
    o.n_gateways = 1;
    c = sto_thrift_client_new(&o);
    call(c, within(MINUTE_NS), TS_EIO, STO_THRIFT_NOT_SENT, "nobody answers at the HBase gateway 127.0.0.1:");
    call(c, within(-1), TS_ETIMEOUT, STO_THRIFT_NOT_SENT, "before the deadline");
    sto_thrift_client_free(c);
    close(fd);
    t_gateway_stop(&second);
    t_gateway_stop(&gateway);
}

/* The number of a scanner means another one at a gateway that has started again. */
static void test_thrift_client__scanners_belong_to_their_connection(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct sto_thrift_reply reply;
    struct sto_thrift_request open, rows;
    struct sto_thrift_client *c = start(T_ANSWER, (struct sto_thrift_client_opts){0});
    sto_thrift_request_init(&open, 0, NULL);
    sto_thrift_request_init(&rows, 0, NULL);
    assert_int_equal(
        sto_thrift_call_open_scanner(&open, TS_SLICE_LIT("t"), &(struct sto_thrift_scan){.limit_rows = 1}),
        0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sto_thrift_client_call(c, &open, within(MINUTE_NS), &reply, NULL, &err), 0);
        assert_int_equal(sto_thrift_call_get_scanner_rows(&rows, sto_thrift_reply_scanner(&reply), 10), 0);
        assert_int_equal(sto_thrift_client_call(c, &rows, within(MINUTE_NS), &reply, NULL, &err), 0);
        sto_thrift_client_close(c);
        if (round) /* with another connection, and without any */
            call(c, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
        int n = gateway.n_requests;
        assert_int_equal(sto_thrift_client_call(c, &rows, within(MINUTE_NS), &reply, NULL, &err),
                         TS_ENOTFOUND);
        assert_string_equal(err.text, "the connection of a scanner is closed");
        assert_int_equal(gateway.n_requests, n);
    }
    sto_thrift_request_release(&open);
    sto_thrift_request_release(&rows);
    stop(c);
}

/* --- the pool --- */

static struct sto_thrift_pool *pool_of(unsigned max)
{
    static struct sto_thrift_gateway where;
    t_gateway_start(&gateway, STO_THRIFT_BUFFERED, T_ANSWER);
    where = (struct sto_thrift_gateway){"127.0.0.1", gateway.port};
    return sto_thrift_pool_new(
        &(struct sto_thrift_client_opts){.gateways = &where, .n_gateways = 1, .max_idle_ms = 3600000}, max);
}

static void test_thrift_client__pool_has_a_cap(void **state)
{
    (void)state;
    struct ts_error err = {0};
    struct sto_thrift_client *a, *b;
    _Atomic bool cancel = true;
    struct sto_thrift_pool *p = pool_of(1);
    assert_int_equal(sto_thrift_pool_take(p, within(MINUTE_NS), NULL, &a, &err), 0);
    assert_int_equal(sto_thrift_pool_take(p, within(-1), "hbase_connections", &b, &err), TS_EBUSY);
    assert_string_equal(err.text, "all 1 connections to HBase are in use (hbase_connections)");
    assert_null(b);
    assert_int_equal(sto_thrift_pool_take(p, (struct sto_thrift_wait){INT64_MAX, &cancel}, NULL, &b, &err),
                     TS_ECANCELLED);
    call(a, within(MINUTE_NS), 0, STO_THRIFT_ANSWERED, NULL);
    sto_thrift_pool_return(p, a);
    assert_int_equal(sto_thrift_pool_take(p, within(-1), NULL, &b, &err),
                     0); /* one that is free needs no wait */
    assert_ptr_equal(a, b);
    assert_true(sto_thrift_client_is_open(b));
    assert_int_equal(sto_thrift_client_send(b, &exists, within(MINUTE_NS), &err), 0);
    sto_thrift_pool_return(p, b); /* nobody receives that reply */
    assert_false(sto_thrift_client_is_open(b));
    struct sto_thrift_pool_stats s = sto_thrift_pool_stats(p);
    assert_int_equal(s.n_taken, 0);
    assert_int_equal(s.n_idle, 1);
    assert_int_equal(s.n_waits, 2);
    assert_int_equal(s.n_given_up, 2);
    sto_thrift_pool_free(p);
    t_gateway_stop(&gateway);
}

static void *use_pool(void *arg)
{
    struct sto_thrift_pool *p = arg;
    for (int i = 0; i < 25; i++) {
        struct sto_thrift_client *c;
        struct sto_thrift_reply reply;
        if (sto_thrift_pool_take(p, within(MINUTE_NS), NULL, &c, NULL) < 0)
            return p;
        int rc = sto_thrift_client_call(c, &exists, within(MINUTE_NS), &reply, NULL, NULL);
        sto_thrift_pool_return(p, c);
        if (rc < 0)
            return p;
    }
    return NULL;
}

static void test_thrift_client__threads_share_a_pool(void **state)
{
    (void)state;
    struct sto_thrift_pool *p = pool_of(2);
    pthread_t threads[5];
    void *failed;
    for (int i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_pool, p), 0);
    for (int i = 0; i < 5; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(gateway.n_requests, 125);
    assert_in_range(gateway.n_conns, 1, 2);
    sto_thrift_pool_free(p);
    t_gateway_stop(&gateway);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thrift_client__calls_are_answered),
        cmocka_unit_test(test_thrift_client__replies_come_in_order),
        cmocka_unit_test(test_thrift_client__large_requests_and_replies_do_not_block_each_other),
        cmocka_unit_test(test_thrift_client__exceptions_keep_the_connection),
        cmocka_unit_test(test_thrift_client__bad_gateways_are_disconnected),
        cmocka_unit_test(test_thrift_client__replies_out_of_order_are_refused),
        cmocka_unit_test(test_thrift_client__surplus_replies_end_the_connection),
        cmocka_unit_test(test_thrift_client__what_was_not_sent_is_known),
        cmocka_unit_test(test_thrift_client__a_call_is_cancelled_while_it_waits),
        cmocka_unit_test(test_thrift_client__a_connection_that_was_closed_meanwhile_is_replaced),
        cmocka_unit_test(test_thrift_client__what_arrives_is_counted),
        cmocka_unit_test(test_thrift_client__requests_that_did_not_fit_are_refused),
        cmocka_unit_test(test_thrift_client__gateways_are_tried_in_turn),
        cmocka_unit_test(test_thrift_client__scanners_belong_to_their_connection),
        cmocka_unit_test(test_thrift_client__pool_has_a_cap),
        cmocka_unit_test(test_thrift_client__threads_share_a_pool),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
