/*
 * test_remote_ship_columns.c - two writers that change one compacted column at the same time: neither loses the change of the other. One name whose
 * id is damaged.
 */
#include "tests/unit/hbase/ship_kit.h"

#include <stdatomic.h>

struct second {
    struct sto_remote *remote;
    enum sto_thrift_call call;
    const char *points;
    atomic_int n;
};

static void ship_by(struct sto_remote *r, const char *points)
{
    struct sto_cells c = k_cells(points);
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    struct k_result res = {.mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct sto_shipment s = {.rows = &row, .n = 1, .refused = k_refused, .arg = &res};
    r->ops->ship(r, &s, NULL, k_done, &res);
    pthread_mutex_lock(&res.mu);
    while (!res.done)
        pthread_cond_wait(&res.cond, &res.mu);
    pthread_mutex_unlock(&res.mu);
    if (res.rc < 0 || res.n_refused)
        abort();
    sto_cells_release(&c);
}

/* The second daemon ships as a whole between the read of the first one and its change. */
static void between(void *arg, const struct fake_hbase_request *r)
{
    struct second *s = arg;
    if (r->call != s->call || atomic_fetch_add(&s->n, 1) != 0)
        return;
    ship_by(s->remote, s->points);
}

/* A row of one column, and after: more of it. The first daemon ships, or deletes 120 s (first NULL), the second comes between. */
static void two_of(bool compacts, enum sto_thrift_call call, const char *more, const char *first,
                   const char *second, const char *want)
{
    struct ts_error err = {0};
    struct second s = {.call = call, .points = second};
    k_open(compacts, false);
    s.remote = k_remote;
    k_open(compacts, false);
    k_ship(K_HOUR + 9, true, "0:1");
    k_other(K_HOUR, 'c', "0:1 60:2 120:3");
    ship_by(s.remote, "0:1"); /* ids are known */
    if (more)
        k_other(K_HOUR, 's', more);
    fake_hbase_set_before(k_fake, between, &s);
    if (first)
        k_ship(K_HOUR, false, first);
    else if (k_remote->ops->delete_range(k_remote, &k_series, K_HOUR * TS_HOUR_MS + 120000,
                                         K_HOUR * TS_HOUR_MS + 120999, NULL, &err) < 0)
        fail_msg("%s", err.text);
    fake_hbase_set_before(k_fake, NULL, NULL);
    s.remote->ops->close(s.remote);
    (void)k_expect(K_HOUR, want);
}

static void two(enum sto_thrift_call call, const char *first, const char *second, const char *want)
{
    two_of(false, call, NULL, first, second, want);
}

static void test_remote_ship_columns__same_length(void **state)
{
    (void)state;
    two(STO_THRIFT_CHECK_AND_MUTATE, "60:9", "0:5", "0s=5 60s=9 120s=3");
}

static void test_remote_ship_columns__other_length(void **state)
{
    (void)state;
    two(STO_THRIFT_CHECK_AND_MUTATE, "60:70000", "0:5", "0s=5 60s=70000 120s=3");
}

static void test_remote_ship_columns__both_other_length(void **state)
{
    (void)state;
    two(STO_THRIFT_CHECK_AND_MUTATE, "60:70000", "0:70000", "0s=70000 60s=70000 120s=3");
}

/* The row of an hour that is over becomes one column. */
static void test_remote_ship_columns__compacting(void **state)
{
    (void)state;
    k_now += 2 * TS_HOUR_MS;
    two_of(true, STO_THRIFT_CHECK_AND_MUTATE, "30:4", "60:9", "0:5", "0s=5 30s=4 60s=9 120s=3");
    k_now -= 2 * TS_HOUR_MS;
}

static void test_remote_ship_columns__deletes(void **state)
{
    (void)state;
    two_of(false, STO_THRIFT_CHECK_AND_MUTATE, NULL, NULL, "0:5", "0s=5 60s=2");
    k_forget(K_HOUR);
    two_of(false, STO_THRIFT_CHECK_AND_MUTATE, "120:3", NULL, "60:70000", "0s=1 60s=70000");
}

static atomic_int n_contradicting; /* requests before which the row contradicted itself */

static void between_and_look(void *arg, const struct fake_hbase_request *r)
{
    if (k_contradicts(K_HOUR))
        atomic_fetch_add(&n_contradicting, 1);
    between(arg, r);
}

/* A point that lies in a column and in the append column, the first of which another daemon has changed: nothing is appended before the row was
 * read again. */
static void test_remote_ship_columns__appends_wait_for_the_column(void **state)
{
    (void)state;
    struct second s = {.call = STO_THRIFT_CHECK_AND_MUTATE, .points = "0:5"};
    k_open(false, false);
    s.remote = k_remote;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    k_other(K_HOUR, 'c', "0:1 60:2 120:3");
    k_other(K_HOUR, 'a', "60:2");
    ship_by(s.remote, "0:1"); /* ids are known */
    n_contradicting = 0;
    fake_hbase_set_before(k_fake, between_and_look, &s);
    k_ship(K_HOUR, false, "60:70000");
    fake_hbase_set_before(k_fake, NULL, NULL);
    s.remote->ops->close(s.remote);
    (void)k_expect(K_HOUR, "0s=5 60s=70000 120s=3");
    assert_int_equal(n_contradicting, 0);
}

/* Beside a row that is only put: the answers are those of their own rows. */
static void test_remote_ship_columns__rows_together(void **state)
{
    (void)state;
    struct second s = {.call = STO_THRIFT_CHECK_AND_MUTATE, .points = "0:5"};
    struct sto_cells c = k_cells("60:9"), d = k_cells("60:70000");
    struct sto_remote_row rows[3];
    k_open(false, false);
    s.remote = k_remote;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    for (int i = 0; i < 3; i++) {
        rows[i] = (struct sto_remote_row){.series = k_series, .hour = K_HOUR + i, .cells = i == 1 ? &d : &c};
        k_other(K_HOUR + i, i == 2 ? 's' : 'c', i == 2 ? "0:1" : "0:1 60:2 120:3");
    }
    ship_by(s.remote, "0:1");
    fake_hbase_set_before(k_fake, between, &s);
    struct k_result r = k_ship_rows(rows, 3);
    fake_hbase_set_before(k_fake, NULL, NULL);
    s.remote->ops->close(s.remote);
    assert_true(r.rc == 0 && r.n_refused == 0);
    (void)k_expect(K_HOUR, "0s=5 60s=9 120s=3");
    (void)k_expect(K_HOUR + 1, "0s=1 60s=70000 120s=3");
    (void)k_expect(K_HOUR + 2, "0s=1 60s=9");
    sto_cells_release(&c);
    sto_cells_release(&d);
}

/* A row with a cell that cannot be read does not become one column, in which that cell would be lost. */
static void test_remote_ship_columns__damaged_cells_stay(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    k_open(true, false);
    k_ship(K_HOUR + 9, true, "0:1");
    k_other(K_HOUR - 1, 's', "60:1");
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR - 1), "t", TS_SLICE_LIT("\0\x1f"), TS_SLICE_LIT("\1"),
                   0); /* a float of 8 bytes has one */
    k_ship(K_HOUR - 1, false, "120:2");
    assert_true(fake_hbase_get(k_fake, "tsdb", k_key(K_HOUR - 1), "t", TS_SLICE_LIT("\0\x1f"), &out, NULL));
    assert_true(ts_slice_is(ts_buf_get(&out), "\1"));
    ts_buf_release(&out);
}

/* Of a time that a column has twice the later point counts, and it alone is written anew. */
static void test_remote_ship_columns__times_that_a_column_has_twice(void **state)
{
    (void)state;
    struct ts_buf out;
    ts_buf_init(&out, 0);
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t", TS_SLICE_LIT("\0\0\0\0\3\xc0"),
                   TS_SLICE_LIT("\1\5\2\0"), 0);
    k_ship(K_HOUR, false, "60:9");
    (void)k_expect(K_HOUR, "0s=5 60s=9");
    assert_true(fake_hbase_get(k_fake, "tsdb", k_key(K_HOUR), "t", TS_SLICE_LIT("\0\0\3\xc0"), &out, NULL));
    t_assert_hex(out.p, out.n, "05 09 00");
    ts_buf_release(&out);
}

/* What tsdb-uid has of one name is no id: the rows of its series are refused, and those of others are stored. */
static void test_remote_ship_columns__one_damaged_id(void **state)
{
    (void)state;
    static const struct sto_remote_tag bad[] = {{{"host", 4}, {"b", 1}}};
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row rows[2] = {{.series = k_series, .hour = K_HOUR, .cells = &c, .fresh = true},
                                     {.series = k_series, .hour = K_HOUR, .cells = &c, .fresh = true}};
    rows[1].series.tags = bad;
    rows[1].series.key = 2;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    fake_hbase_put(k_fake, "tsdb-uid", TS_SLICE_LIT("b"), "id", TS_SLICE_LIT("tagv"), TS_SLICE_LIT("\0\7"),
                   0);
    struct k_result r = k_ship_rows(rows, 2);
    sto_cells_release(&c);
    if (r.rc < 0)
        fail_msg("the shipment fails: %d %s", r.rc, r.err.text);
    assert_int_equal(r.n_refused, 1);
    (void)k_expect(K_HOUR, "0s=1");
    struct sto_fetch f = {.metric = k_series.metric,
                          .series = &rows[1].series,
                          .n_series = 1,
                          .from_ms = K_HOUR * TS_HOUR_MS,
                          .to_ms = (K_HOUR + 1) * TS_HOUR_MS};
    struct ts_error err = {0};
    rows[1].series.key =
        STO_REMOTE_NO_KEY; /* a query says what is wrong, or it would lack points without saying so */
    assert_int_equal(k_remote->ops->fetch(k_remote, &f, NULL, NULL, NULL, &err), TS_EBACKEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__same_length, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__other_length, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__both_other_length, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__compacting, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__deletes, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__appends_wait_for_the_column, k_setup,
                                        k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__rows_together, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__damaged_cells_stay, k_setup, k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__times_that_a_column_has_twice, k_setup,
                                        k_teardown),
        cmocka_unit_test_setup_teardown(test_remote_ship_columns__one_damaged_id, k_setup, k_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
