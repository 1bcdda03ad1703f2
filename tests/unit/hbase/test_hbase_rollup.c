/*
 * test_hbase_rollup.c - rows, qualifiers and values of rollups.
 */
#include "tests/unit/hbase/t_hbase.h"

#include "base/num.h"
#include "storage/hbase/rollup.h"

static struct sto_hbase_rollup table(const char *interval, const char *span)
{
    struct sto_hbase_rollup r;
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_rollup_parse(ts_slice_str(interval), ts_slice_str(span), &r, &err), 0);
    return r;
}

static void expect_base(const char *interval, const char *span, uint32_t time_s, uint32_t base_s)
{
    struct sto_hbase_rollup r = table(interval, span);
    assert_int_equal(sto_hbase_rollup_base(&r, time_s), base_s);
    assert_int_equal(sto_hbase_rollup_base(&r, base_s), base_s);
}

static void test_hbase_rollup__rows_begin_at_their_span(void **state)
{
    (void)state;
    expect_base("1m", "1h", 1357002000 + 3599, 1357002000);
    expect_base("10m", "6h", 1357041599, 1357041600 - 21600); /* 2013-01-01T11:59:59Z */
    expect_base("1h", "1d", 1357041599, 1356998400);          /* midnight */
    expect_base("1h", "1n", 1362095999, 1359676800);          /* 2013-02-28T23:59:59Z, 2013-02-01 */
    expect_base("1d", "1n", 1330559999, 1328054400);          /* 2012-02-29T23:59:59Z, 2012-02-01 */
    expect_base("1d", "1y", 1356998399, 1325376000);          /* the last second of 2012 */
    expect_base("1d", "1y", 1356998400, 1356998400);
    expect_base("1h", "1d", 4294967295u, 4294944000u);
    expect_base("1h", "1n", 0, 0);
    expect_base("1h", "14h", 14 * 3600 * 5 + 7, 14 * 3600 * 5); /* counted from 1970 */
}

static void test_hbase_rollup__what_opentsdb_refuses_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"1h", "3h"},  {"1h", "2d"},    {"1h", "1w"},  {"1m", "30m"},
        {"1d", "1d"},  {"1h", "6h"}, /* 6 intervals */
        {"15s", "1d"},               /* 5,760 intervals */
        {"1h", "1y"},  {"500ms", "1h"}, {"", "1h"},    {"1h", ""},
        {"1x", "1d"},  {"0h", "1d"},    {"1h", "-1d"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sto_hbase_rollup r;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_rollup_parse(ts_slice_str(bad[i][0]), ts_slice_str(bad[i][1]), &r, &err),
                         TS_EINVAL);
        assert_true(err.text[0]);
    }
    struct sto_hbase_rollup r = table("30s", "1d");
    assert_int_equal(r.interval_s, 30);
    table("1s", "1h");
    table("5m", "1h");
}

/* A value of a table at a time has this cell, and the cell is read as that value. */
static void expect_cell(const char *interval, const char *span, unsigned function, uint32_t time_s,
                        const char *value, const char *qualifier_hex, const char *value_hex)
{
    struct sto_hbase_rollup r = table(interval, span);
    uint8_t q[STO_HBASE_ROLLUP_BYTES], v[8];
    struct ts_num number, read;
    struct ts_error err = {0};
    assert_int_equal(ts_num_parse(ts_slice_str(value), &number, &err), 0);
    uint32_t base = sto_hbase_rollup_base(&r, time_s);
    size_t n = sto_hbase_rollup_encode(&r, function, base, time_s, number, q, v);
    t_assert_hex(q, sizeof(q), qualifier_hex);
    t_assert_hex(v, n, value_hex);
    struct sto_hbase_rollup_cell cell;
    assert_int_equal(sto_hbase_rollup_parse_qualifier((struct ts_slice){(char *)q, sizeof(q)}, &cell, &err),
                     0);
    assert_int_equal(cell.function, function);
    assert_int_equal(base + cell.index * r.interval_s, time_s - time_s % r.interval_s);
    assert_int_equal(sto_hbase_rollup_value(&cell, (struct ts_slice){(char *)v, n}, &read, &err), 0);
    assert_int_equal(read.kind == TS_NUM_INT, number.kind == TS_NUM_INT);
    assert_true(ts_num_double(read) == ts_num_double(number));
}

static void test_hbase_rollup__known_cells(void **state)
{
    (void)state;
    expect_cell("1h", "1d", 1, 1356998400 + 15 * 3600, "42", "0100F0", "2A");
    expect_cell("1h", "1d", 0, 1356998400 + 15 * 3600 + 77, "42.5", "0000FB", "422A0000");
    expect_cell("30s", "1h", 42, 1356998400 + 35 * 60 + 25, "9223372036854775807", "2A0467",
                "7FFFFFFFFFFFFFFF");
    expect_cell("30s", "1d", 127, 1357084799, "0.1", "7FB3FF", "3FB999999999999A"); /* the last of 2,880 */
}

static void test_hbase_rollup__old_qualifiers_have_names(void **state)
{
    (void)state;
    struct t_bytes q = t_hex("73756D3A 00F0"); /* "sum:" */
    struct sto_hbase_rollup_cell cell;
    struct ts_error err = {0};
    assert_int_equal(sto_hbase_rollup_parse_qualifier(t_slice(&q), &cell, &err), 0);
    assert_int_equal(cell.function, -1);
    assert_true(ts_slice_is(cell.name, "sum"));
    assert_int_equal(cell.index, 15);
    assert_int_equal(cell.flags, 0);
}

static void test_hbase_rollup__damage_is_reported(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "00", "0000", "800000", "00000000", "3A00F0", "73756D00F0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct t_bytes q = t_hex(bad[i]);
        struct sto_hbase_rollup_cell cell;
        struct ts_error err = {0};
        int rc = sto_hbase_rollup_parse_qualifier(t_slice(&q), &cell, &err);
        assert_int_equal(rc, i == 5 ? 0 : TS_ECORRUPT); /* 3A is an id */
        assert_true(rc == 0 || err.text[0]);
    }
    static const struct {
        uint8_t flags;
        const char *value;
    } values[] = {{0, ""},          {0, "0000"}, {2, "000000"}, {0xB, "7FC00000"}, {0xF, "7FF0000000000000"},
                  {0xF, "00000000"}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct t_bytes v = t_hex(values[i].value);
        struct sto_hbase_rollup_cell cell = {.flags = values[i].flags};
        struct ts_num number;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_rollup_value(&cell, t_slice(&v), &number, &err), TS_ECORRUPT);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hbase_rollup__rows_begin_at_their_span),
        cmocka_unit_test(test_hbase_rollup__what_opentsdb_refuses_is_refused),
        cmocka_unit_test(test_hbase_rollup__known_cells),
        cmocka_unit_test(test_hbase_rollup__old_qualifiers_have_names),
        cmocka_unit_test(test_hbase_rollup__damage_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
