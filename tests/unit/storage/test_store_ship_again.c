/*
 * test_store_ship_again.c - hours and rows that are sent again, to a remote store of which the test replaces functions.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/shipment.h"

#define N_HOURS 5

static unsigned n_rechecks;

static void count_recheck(struct sto_remote *r)
{
    (void)r;
    n_rechecks++;
}

/* Each hour of a file can be sent again by itself, after the remote store has been told that it may have lost something. */
static void test_ship_again__each_hour_by_itself(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    struct sto_remote_ops ops = *b.r->ops;
    ops.recheck = count_recheck;
    b.r->ops = &ops;
    n_rechecks = 0;
    for (int64_t i = 0; i < N_HOURS; i++)
        for (unsigned k = 0; k < 3; k++)
            ship_put(&b, k, T0 + i * TS_HOUR_MS, i);
    ship_flush(b.st);
    ship_all(b.st);
    for (int32_t i = 0; i < N_HOURS; i++) {
        assert_int_equal(n_rechecks, i);
        int32_t hour = (int32_t)(T0 / TS_HOUR_MS) + i;
        uint64_t before = r_stat(b.r, "shipped_points");
        assert_int_equal(sto_reship(b.st, hour, hour, NULL), 0);
        ship_all(b.st);
        assert_int_equal(r_stat(b.r, "shipped_points"), before + 3);
    }
    ship_end(&b);
}

/* A remote store that refuses all rows, or counts them. */
static struct {
    bool refuses;
    size_t n;
} counting;

static void count_rows(struct sto_remote *r, const struct sto_shipment *s, const struct sto_remote_call *call,
                       sto_remote_done_fn done, void *arg)
{
    struct ts_error why = {0};
    (void)r, (void)call;
    for (size_t i = 0; i < s->n && counting.refuses; i++)
        s->refused(s->arg, i, &why);
    counting.n += counting.refuses ? 0 : s->n;
    done(arg, 0, NULL);
}

/* More rows are refused than their hour can list: later all of them are sent again. */
static void test_ship_again__all_of_many_refused_rows(void **state)
{
    (void)state;
    enum { MANY = STO_SENDING_REFUSALS + 64 };
    struct ship_both b;
    ship_begin(&b);
    struct sto_remote_ops ops = *b.r->ops;
    ops.ship = count_rows;
    b.r->ops = &ops;
    counting.refuses = true;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS);
    for (unsigned i = 0; i < MANY; i++) {
        const struct sto_series *series = kit_series(b.st, i);
        while (sto_put(sto_writer(b.st, 0), series, T0, (struct ts_num){.m = 1}, false) == TS_EBUSY)
            sto_writer_turn(sto_writer(b.st, 0));
    }
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), MANY);
    counting.refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 600000);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    assert_int_equal(counting.n, MANY);
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_again__each_hour_by_itself),
        cmocka_unit_test(test_ship_again__all_of_many_refused_rows),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
