/*
 * test_remote_counters.c - what shipping writes to tsdb-meta: counters and metadata of series.
 */
#include "tests/unit/hbase/ship_kit.h"

#include "storage/hbase/metatable.h"

#define TSUID TS_SLICE_LIT("\0\0\1\0\0\1\0\0\1")

static void open_with(enum sto_hbase_counters counters)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .counters = counters,
                                  .now_ms = k_clock};
    struct ts_error err = {0};
    if (sto_hbase_open(&opts, &k_remote, &err) < 0)
        fail_msg("%s", err.text);
}

/* A cell of the series in tsdb-meta; "-": there is none. */
static void expect(struct ts_slice qualifier, const char *hex)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    bool found = fake_hbase_get(k_fake, "tsdb-meta", TSUID, "name", qualifier, &out, NULL);
    if (strcmp(hex, "-") == 0)
        assert_false(found);
    else
        t_assert_hex(out.p, out.n, hex);
    ts_buf_release(&out);
}

static void expect_document(const char *text)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_true(fake_hbase_get(k_fake, "tsdb-meta", TSUID, "name", STO_HBASE_META_DOCUMENT, &out, NULL));
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, text);
    ts_buf_release(&out);
}

struct counter {
    const char *name;
    uint64_t value;
};
static void on_counter(void *arg, const char *name, uint64_t value)
{
    struct counter *c = arg;
    if (strcmp(name, c->name) == 0)
        c->value = value;
}
static uint64_t failures(void)
{
    struct counter c = {"counters_failed", UINT64_MAX};
    k_remote->ops->status(k_remote, on_counter, &c);
    return c.value;
}

static void test_remote_counters__nothing_unless_configured(void **state)
{
    (void)state;
    open_with(STO_HBASE_NO_COUNTERS);
    k_ship(K_HOUR, true, "0:1 1:2");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb-meta"), 0);
}

static void test_remote_counters__seen(void **state)
{
    (void)state;
    open_with(STO_HBASE_SEEN);
    k_ship(K_HOUR, true, "0:1 1:2");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 01");
    k_ship(K_HOUR, false, "2:3");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 01");
    expect(STO_HBASE_META_DOCUMENT, "-");
}

static void test_remote_counters__points_are_counted_once(void **state)
{
    (void)state;
    open_with(STO_HBASE_COUNTED);
    k_ship(K_HOUR, true, "0:1 1:2");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 02");
    expect_document(
        "{\"tsuid\":\"000001000001000001\",\"displayName\":\"\",\"description\":\"\",\"notes\":\"\","
        "\"created\":1440000000,"
        "\"custom\":null,\"units\":\"\",\"dataType\":\"\",\"retention\":0,\"max\":\"NaN\",\"min\":\"NaN\"}");
    k_ship(K_HOUR, false, "0:1 1:2"); /* shipped again */
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 02");
    k_ship(K_HOUR, false, "0:1 1:7 2:3"); /* another value, and a new point */
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 04");
    fake_hbase_put(k_fake, "tsdb-meta", TSUID, "name", STO_HBASE_META_DOCUMENT, TS_SLICE_LIT("{}"), 0);
    k_ship(K_HOUR - 1, true, "0:1");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 05");
    expect_document("{}"); /* that of another program stays */
}

static void test_remote_counters__metadata_of_others_stay(void **state)
{
    (void)state;
    open_with(STO_HBASE_COUNTED);
    fake_hbase_put(k_fake, "tsdb-meta", TSUID, "name", STO_HBASE_META_DOCUMENT, TS_SLICE_LIT("{}"), 0);
    k_ship(K_HOUR, true, "0:1"); /* the counter begins */
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 01");
    expect_document("{}");
}

/* A series that was counted before is not new, whether it has metadata or not. */
static void test_remote_counters__known_series_get_no_metadata(void **state)
{
    (void)state;
    open_with(STO_HBASE_SEEN);
    k_ship(K_HOUR, true, "0:1");
    k_close();
    open_with(STO_HBASE_COUNTED);
    k_ship(K_HOUR - 1, true, "0:1");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 02");
    expect(STO_HBASE_META_DOCUMENT, "-");
}

static void test_remote_counters__many_rows(void **state)
{
    (void)state;
    enum { N = 40 };
    struct sto_remote_row rows[N];
    struct sto_cells cells = k_cells("0:1 1:2 2:3");
    open_with(STO_HBASE_COUNTED);
    for (int i = 0; i < N; i++)
        rows[i] = (struct sto_remote_row){
            .series = k_series, .hour = K_HOUR - i, .cells = &cells, .fresh = i % 2 == 0};
    struct k_result r = k_ship_rows(rows, N);
    assert_int_equal(r.rc, 0);
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 78"); /* 120 */
    sto_cells_release(&cells);
}

static void test_remote_counters__failures_do_not_hold_points_up(void **state)
{
    (void)state;
    open_with(STO_HBASE_COUNTED);
    fake_hbase_inject(k_fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_INCREMENT,
                                                       .skip = 3}); /* of ids */
    k_ship(K_HOUR, true, "0:1 1:2");
    (void)k_expect(K_HOUR, "0s=1 1s=2");
    expect(STO_HBASE_META_COUNTER, "-");
    fake_hbase_inject(k_fake, (struct fake_hbase_plan){
                                  .fault = FAKE_HBASE_DROP, .of_call = true, .call = STO_THRIFT_INCREMENT});
    k_ship(K_HOUR - 1, true, "0:1 1:2");
    (void)k_expect(K_HOUR - 1, "0s=1 1s=2");
    expect(STO_HBASE_META_COUNTER, "-");
    assert_int_equal(failures(), 2);
    k_ship(K_HOUR - 2, true, "0:1");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 01");
}

/* A row that HBase refuses is not stored, so its points are not counted; those of the row beside it are. */
static void test_remote_counters__refused_rows_are_not_counted(void **state)
{
    (void)state;
    struct sto_cells refused = k_cells("0:1 1:2 2:3"), good = k_cells("0:1 1:2");
    struct sto_remote_row rows[2] = {
        {.series = k_series, .hour = K_HOUR - 1, .cells = &refused, .fresh = true},
        {.series = k_series, .hour = K_HOUR, .cells = &good, .fresh = true}};
    open_with(STO_HBASE_COUNTED);
    k_ship(K_HOUR - 2, true, "0:1"); /* ids of the names */
    fake_hbase_inject(k_fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR,
                                                       .of_call = true,
                                                       .call = STO_THRIFT_PUT_MULTIPLE,
                                                       .n = 3}); /* both rows twice, then the first one */
    struct k_result r = k_ship_rows(rows, 2);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 1);
    (void)k_expect(K_HOUR - 1, "");
    (void)k_expect(K_HOUR, "0s=1 1s=2");
    expect(STO_HBASE_META_COUNTER, "00 00 00 00 00 00 00 03");
    sto_cells_release(&refused);
    sto_cells_release(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_counters__##NAME, k_setup, k_teardown)
        CASE(nothing_unless_configured),
        CASE(seen),
        CASE(points_are_counted_once),
        CASE(metadata_of_others_stay),
        CASE(many_rows),
        CASE(failures_do_not_hold_points_up),
        CASE(refused_rows_are_not_counted),
        CASE(known_series_get_no_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
