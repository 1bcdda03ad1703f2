/*
 * remote_contract_buckets.c - what every remote store must do with buckets of histograms, see sto_fetch.all_buckets.
 */
#include "tests/unit/storage/remote_contract_int.h"
#include "tests/unit/storage/remote_kit.h"

#define BUCKETS TS_SLICE_LIT("\1hcpu\1")

static void erase(struct sto_remote *r, const char *series)
{
    struct ts_error err = {0};
    struct r_series *s = r_series(series);
    if (r->ops->delete_range(r, &s->s, R_T0, R_T0 + 3600000 - 1, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ts_free(s);
}

void remote_contract__buckets_of_histograms(void **state)
{
    struct sto_remote *r = *state;
    struct r_series *b = r_series("cpu host=b");
    struct sto_fetch f = {
        .metric = BUCKETS, .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS, .all_buckets = true};
    assert_int_equal(r_ship(r, "cpu host=a", R_HOUR, R_CELLS(0, 77)), 0); /* a point is another thing */
    assert_int_equal(r_ship(r, "\1hcpu\1u host=a", R_HOUR, R_CELLS(30, 0, 60, 2)), 0);
    assert_int_equal(r_ship(r, "\1hcpu\1o host=a", R_HOUR, R_CELLS(30, 1, 60, 0)), 0);
    assert_int_equal(r_ship(r,
                            "\1hcpu\1"
                            "0.5,10.0 host=a",
                            R_HOUR, R_CELLS(30, 5, 60, 3)),
                     0);
    assert_int_equal(r_ship(r, "\1hcpu\1u host=b", R_HOUR + 1, R_CELLS(0, 8)), 0);
    assert_int_equal(r_ship(r, "\1hcpu\1o host=b", R_HOUR + 1, R_CELLS(0, 9)), 0);
    assert_int_equal(r_ship(r,
                            "\1hcpu\1"
                            "0.5,10.0 host=a",
                            R_HOUR, R_CELLS(60, 4)),
                     0);
    r_expect(r, &f,
             "\1hcpu\1"
             "0.5,10.0 host=a @0 30:5 60:4\n"
             "\1hcpu\1o host=a @0 30:1 60:0\n"
             "\1hcpu\1o host=b @1 0:9\n"
             "\1hcpu\1u host=a @0 30:0 60:2\n"
             "\1hcpu\1u host=b @1 0:8\n");
    f.series = &b->s;
    f.n_series = 1;
    r_expect(r, &f, "\1hcpu\1o host=b @1 0:9\n\1hcpu\1u host=b @1 0:8\n");
    r_expect_metric(r,
                    "\1hcpu\1"
                    "0.5,10.0",
                    "\1hcpu\1"
                    "0.5,10.0 host=a @0 30:5 60:4\n");
    r_expect_metric(r, "cpu", "cpu host=a @0 0:77\n");
    erase(r, "\1hcpu\1u host=a");
    erase(r, "\1hcpu\1o host=a");
    erase(r, "\1hcpu\1"
             "0.5,10.0 host=a");
    f.series = NULL;
    r_expect(r, &f, "\1hcpu\1o host=b @1 0:9\n\1hcpu\1u host=b @1 0:8\n");
    r_expect_metric(r, "cpu", "cpu host=a @0 0:77\n");
    ts_free(b);
}
