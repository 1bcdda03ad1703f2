/*
 * test_columns.c - cells of a row to points and back.
 */
#include "tests/unit/hbase/t_row.h"

#include <float.h>
#include <math.h>

#include "base/double.h"
#include "base/mem.h"
#include "storage/hbase/columns.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/limits.h"
#include "tests/unit/t_random.h"

/* --- single points --- */

static uint32_t put_flags(struct ts_num v, bool ms)
{
    return sto_meta_flags(STO_OP_PUT, v.kind, v.exp, ms);
}

/* Text of a value, as a client would put it, is stored as these bytes and comes back. */
static void expect_point(uint32_t off_ms, bool ms, const char *text, const char *qualifier, const char *value,
                         const char *read)
{
    struct ts_num v;
    struct ts_error err = {0};
    assert_int_equal(ts_num_parse(ts_slice_str(text), &v, &err), 0);
    struct sto_hbase_point p;
    sto_hbase_encode_point(put_flags(v, ms) | off_ms, v.m, &p);
    t_assert_hex(p.qualifier, p.n_qualifier, qualifier);
    t_assert_hex(p.value, p.n_value, value);
    char cell[100];
    snprintf(cell, sizeof(cell), "%s %s", qualifier, value);
    t_expect_cells(T_CELLS(cell), read);
}

static void test_columns__known_points(void **state)
{
    (void)state;
    expect_point(0, false, "42", "0000", "2A", "0s=42");
    expect_point(0, false, "-42", "0000", "D6", "0s=-42");
    expect_point(0, false, "257", "0001", "0101", "0s=257");
    expect_point(0, false, "65537", "0003", "00010001", "0s=65537");
    expect_point(0, false, "4294967296", "0007", "0000000100000000", "0s=4294967296");
    expect_point(0, false, "42.5", "000B", "422A0000", "0s=42.5");
    expect_point(0, false, "25.4", "000F", "4039666666666666", "0s=25.4");
    expect_point(30000, false, "42", "01E0", "2A", "30s=42");
    expect_point(3599000, false, "42", "E0F0", "2A", "3599s=42");
    expect_point(500, true, "42", "F0007D00", "2A", "500ms=42");
    expect_point(500, true, "42.5", "F0007D0B", "422A0000", "500ms=42.5");
    expect_point(3600000 - 1, true, "42", "FDBB9FC0", "2A", "3599999ms=42");
    expect_point(123000, false, "1234567890123", "07B7", "0000011F71FB04CB", "123s=1234567890123");
    expect_point(1695000, false, "42", "69F0", "2A", "1695s=42");
    expect_point(167296, true, "42", "F0A36000", "2A", "167296ms=42"); /* 4294967296 ms */
}

static void test_columns__widths_of_values(void **state)
{
    (void)state;
    expect_point(0, false, "127", "0000", "7F", "0s=127");
    expect_point(0, false, "-128", "0000", "80", "0s=-128");
    expect_point(0, false, "128", "0001", "0080", "0s=128");
    expect_point(0, false, "-129", "0001", "FF7F", "0s=-129");
    expect_point(0, false, "-32769", "0003", "FFFF7FFF", "0s=-32769");
    expect_point(0, false, "-2147483649", "0007", "FFFFFFFF7FFFFFFF", "0s=-2147483649");
    expect_point(0, false, "-9223372036854775808", "0007", "8000000000000000", "0s=-9223372036854775808");
    expect_point(0, false, "5.0", "000B", "40A00000", "0s=5.0");
    expect_point(0, false, "-0.0", "000B", "80000000", "0s=-0.0");
    expect_point(0, false, "1e10", "000B", "501502F9", "0s=10000000000.0");
    expect_point(0, false, "3.4028234663852886e38", "000B", "7F7FFFFF", "0s=3.4028234663852886e+38");
    expect_point(0, false, "3.4028235e38", "000F", "47EFFFFFE54DAFF8", "0s=3.4028235e+38");
    expect_point(0, false, "1e300", "000F", "7E37E43C8800759C", "0s=1e+300");
    expect_point(0, false, "1.401298464324817e-45", "000B", "00000001", "0s=1.401298464324817e-45");
}

/* --- compacted and append columns --- */

static void test_columns__compacted(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("00070017 0000000000000004 0000000000000005 00"), "0s=4 1s=5");
    t_expect_cells(T_CELLS("0007F0000047F0000087 0000000000000004 0000000000000005 0000000000000005 01"),
                   "0s=4 1ms=5 2ms=5");
    t_expect_cells(T_CELLS("F0000047F0000087 0000000000000004 0000000000000005 00"), "1ms=4 2ms=5");
}

static void test_columns__appends_in_order_of_arrival(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("050000 00002A 01E018 03C001"), "0s=42 30s=24 60s=1");
    t_expect_cells(T_CELLS("050000 F0000C802A"), "50ms=42");
    t_expect_cells(T_CELLS("050000 00002A 01E018 01E001"), "0s=42 30s=1 replaced(0<0):30000");
    t_expect_cells(T_CELLS("050000 03C001 00002A 01E018 00002B"), "0s=43 30s=24 60s=1 replaced(0<0):0");
    t_expect_cells(T_CELLS("050000 03C001 01E002 00F003 009004"), "9s=4 15s=3 30s=2 60s=1");
    t_expect_cells(T_CELLS("050000"), "");
}

static void test_columns__a_row_may_mix_all_kinds(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("0000 01", "00100020 0203 00", "050000 00F009 003004", "F0003E80 07",
                           "010000 7B7D", "01000001F4 7B7D", "06001E 2A", "06000001F4 2A"),
                   "0s=1 250ms=7 1s=2 2s=3 3s=4 15s=9 annotation(4):0 annotation(5):500 histogram(6):30000 "
                   "histogram(7):500");
}

/* --- which of two points wins --- */

static void test_columns__newest_cell_wins(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("0000 01 @5", "0001 012C @4", "000B 3FC00000 @3"), "0s=1 lost(2<0):0 lost(1<0):0");
    t_expect_cells(T_CELLS("0000 01 @3", "0001 012C @4", "000B 3FC00000 @5"),
                   "0s=1.5 lost(0<2):0 lost(1<2):0");
    t_expect_cells(T_CELLS("00000010 0102 00 @9", "0010 07 @8"), "0s=1 1s=2 lost(1<0):1000");
    t_expect_cells(T_CELLS("00000010 0102 00 @9", "0010 07 @10"), "0s=1 1s=7 lost(0<1):1000");
    t_expect_cells(T_CELLS("03C0 07 @2", "F03A9800 08 @1"), "60s=7 lost(1<0):60000");
    t_expect_cells(T_CELLS("0000 01 @2", "0000 02 @1"), "0s=1 lost(1<0):0"); /* versions */
}

static void test_columns__later_of_the_same_time_stamp_wins(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("0000 01", "0001 012C"), "0s=300 lost(0<1):0");
    t_expect_cells(T_CELLS("00000000 0102 00"), "0s=2 lost(0<0):0");
}

static void test_columns__duplicates_are_equal_by_bytes(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("03C0 07", "F03A9800 07"), "60000ms=7 equal(0<1):60000");
    t_expect_cells(T_CELLS("0000 01", "0001 0001"), "0s=1 lost(0<1):0"); /* one number, other bytes */
    t_expect_cells(T_CELLS("0003 3FC00000", "000B 3FC00000"), "0s=1.5 equal(0<1):0"); /* types do not count */
    t_expect_cells(T_CELLS("0003 BFC00000", "000B BFC00000"), "0s=-1.5 equal(0<1):0");
    t_expect_cells(T_CELLS("000B 3FC00000", "000F 3FF8000000000000"),
                   "0s=1.5 lost(0<1):0"); /* one number, other bytes */
}

/* --- what old versions wrote, and damage --- */

static void test_columns__historical_encodings_are_repaired(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("000B 0000000040866666"), "0s=4.199999809265137 irregular(0)");
    t_expect_cells(T_CELLS("001B FFFFFFFF43FA6666"), "1s=500.79998779296875 irregular(0)");
    t_expect_cells(T_CELLS("001B FB02F40F43FA6666"), " damaged(0)");
    t_expect_cells(T_CELLS("F0007D0B 0000000040866666"), " damaged(0)");
    t_expect_cells(T_CELLS("000F 43FA6666"), " damaged(0)");
    t_expect_cells(T_CELLS("0003 0000000000000005"), "0s=5 irregular(0)");
    t_expect_cells(T_CELLS("0007 FB"), "0s=-5 irregular(0)");
    t_expect_cells(T_CELLS("0002 0005"), "0s=5 irregular(0)");
    t_expect_cells(T_CELLS("0007 0000000000000005"), "0s=5");
    t_expect_cells(T_CELLS("00000010 0102 02"), "0s=1 1s=2 irregular(0)"); /* unknown last byte */
    t_expect_cells(T_CELLS("00100000 0102 00"), "0s=2 1s=1 irregular(0)"); /* not sorted */
}

static void test_columns__damage_spares_other_cells(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "00000010 0102",            /* the last byte is missing */
        "00000010 010203 00",       /* a byte too many */
        "00000010 01",              /* a value is missing */
        "00000010",                 /* all values are missing */
        "0003001300 0000000000",    /* not even: an unknown column */
        "00030013 00000000 000000", /* values too short */
        "00020010 0001 02 00",      /* 3 bytes */
        "0010F000 01 02 00",        /* ends inside of a point */
        "F000 01",                  /* a half ms point */
        "0000 010203",              /* 3 bytes */
        "0000",                     /* no value */
        "000B 0102",                /* float of 2 bytes */
        "000B 7FC00000",            /* not a number */
        "000F FFF0000000000000",    /* infinite */
        "E100 01",                  /* second 3600 */
    };
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
        t_expect_cells(T_CELLS("0010 05", damaged[i], "0020 06"),
                       i == 4 ? "1s=5 2s=6 unknown(1)" : "1s=5 2s=6 damaged(1)");
    t_expect_cells(T_CELLS("FDBBA000 01"), " damaged(0)");          /* ms 3600000 */
    t_expect_cells(T_CELLS("0000E100 0102 00"), "0s=1 damaged(0)"); /* only one point is bad */
    t_expect_cells(T_CELLS("000BF0000040 7F80000005 01"), "1ms=5 damaged(0)");
    t_expect_cells(T_CELLS("050000 00002A 01E3"),
                   "0s=42 damaged(0)"); /* appends: what comes before is read */
    t_expect_cells(T_CELLS("050000 00002A 0002010203 001001"), "0s=42 damaged(0)");
}

static void test_columns__unknown_columns_are_reported(void **state)
{
    (void)state;
    t_expect_cells(T_CELLS("00 01", "050001 00002A", "070000 01", "01000000000000 7B7D", " 01", "05 00002A"),
                   " unknown(0) unknown(1) unknown(2) unknown(3) unknown(4) unknown(5)");
}

static void test_columns__memory_is_limited(void **state)
{
    (void)state;
    struct ts_budget account;
    ts_budget_init(&account, "queries", "query_max_memory_bytes", NULL, 64);
    struct sto_hbase_columns c;
    struct ts_error err = {0};
    sto_hbase_columns_init(&c, &account);
    struct t_row row = {.n = 0};
    t_row_add(&row, "050000 000001 001001 002001 003001 004001 005001 006001 007001");
    assert_int_equal(sto_hbase_columns_decode(&c, row.cell, row.n, NULL, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "query_max_memory_bytes"));
    sto_hbase_columns_release(&c);
    assert_int_equal(account.used_bytes, 0);
    ts_budget_init(&account, "queries", "query_max_memory_bytes", NULL, 100000);
    sto_hbase_columns_init(&c, &account);
    assert_int_equal(sto_hbase_columns_decode(&c, row.cell, row.n, NULL, &err), 0);
    assert_int_equal(c.cells.n, 8);
    assert_true(account.used_bytes > 0);
    sto_hbase_columns_release(&c);
    sto_hbase_columns_release(&c);
    assert_int_equal(account.used_bytes, 0);
}

/* --- encoding rows --- */

static struct sto_cells random_cells(uint64_t *r, uint32_t n, unsigned ms_of_8)
{
    struct sto_cells c = {0};
    sto_cells_reserve(&c, n);
    uint32_t off = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool ms = t_random(r) % 8 < ms_of_8;
        uint32_t left = (n - i) * 1000;
        off += (uint32_t)(t_random(r) % 3) * 1000;
        off = off > 3600000 - left ? 3600000 - left : off;
        struct ts_num v = {(int64_t)(t_random(r) >> t_random(r) % 64), TS_NUM_INT, 0};
        if (t_random(r) % 2)
            v = ts_num_from_double(t_random(r) % 2 ? (double)v.m / 8 : (double)(float)v.m);
        else if (t_random(r) % 2)
            v.m = -v.m;
        c.meta[i] = put_flags(v, ms) | (off + (ms ? (uint32_t)(t_random(r) % 1000) : 0));
        c.m[i] = v.m;
        c.n++;
        off += 1000;
    }
    return c;
}

static void assert_same_points(const struct sto_cells *a, const struct sto_cells *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        struct ts_num x = sto_cell_num(a->meta[i], a->m[i]), y = sto_cell_num(b->meta[i], b->m[i]);
        uint32_t same = STO_META_OFF_MASK | STO_META_MS | STO_META_OP_MASK;
        assert_int_equal(a->meta[i] & same, b->meta[i] & same);
        assert_int_equal(x.kind == TS_NUM_INT, y.kind == TS_NUM_INT);
        if (x.kind == TS_NUM_INT)
            assert_int_equal(x.m, y.m);
        else
            assert_int_equal(ts_double_bits(ts_num_double(x)), ts_double_bits(ts_num_double(y)));
    }
}

static void expect_round_trip(struct sto_hbase_columns *c, const struct sto_hbase_cell *cells, size_t n,
                              const struct sto_cells *points)
{
    struct ts_error err = {0};
    for (int decimals = 0; decimals < 2; decimals++) {
        c->decimals = decimals;
        assert_int_equal(sto_hbase_columns_decode(c, cells, n, NULL, &err), 0);
        assert_int_equal(c->n_damaged + c->n_equal + c->n_contradicting, 0);
        assert_same_points(&c->cells, points);
        for (uint32_t i = 0; c->cells.uniform && i < c->cells.n; i++)
            assert_int_equal(c->cells.meta[i] & STO_META_FLAGS_MASK, c->cells.common);
    }
}

static void test_columns__random_rows_come_back(void **state)
{
    (void)state;
    uint64_t r = 20;
    struct sto_hbase_columns c;
    sto_hbase_columns_init(&c, NULL);
    struct ts_buf q, v, appends;
    ts_buf_init(&q, 0);
    ts_buf_init(&v, 0);
    ts_buf_init(&appends, 0);
    for (int round = 0; round < 300; round++) {
        struct sto_cells points =
            random_cells(&r, 1 + (uint32_t)(t_random(&r) % 200), (unsigned)(t_random(&r) % 9));
        assert_int_equal(sto_hbase_check_points(0, &points, NULL), 0);
        struct sto_hbase_point *single = ts_xcalloc(points.n, sizeof(*single));
        struct sto_hbase_cell *cells = ts_xcalloc(points.n, sizeof(*cells));
        for (uint32_t i = 0; i < points.n; i++) { /* in any order */
            struct sto_hbase_point *p = &single[i];
            sto_hbase_encode_point(points.meta[i], points.m[i], p);
            uint32_t at = (uint32_t)(t_random(&r) % (i + 1));
            cells[i] = cells[at];
            cells[at] = (struct sto_hbase_cell){{(const char *)p->qualifier, p->n_qualifier},
                                                {(const char *)p->value, p->n_value},
                                                (int64_t)(t_random(&r) % 5)};
        }
        expect_round_trip(&c, cells, points.n, &points);
        ts_buf_clear(&q);
        ts_buf_clear(&v);
        ts_buf_clear(&appends);
        assert_int_equal(sto_hbase_encode_compacted(&points, &q, &v), 0);
        struct sto_hbase_cell one = {ts_buf_get(&q), ts_buf_get(&v), 1};
        expect_round_trip(&c, &one, 1, &points);
        assert_int_equal(sto_hbase_encode_appends(&points, &appends), 0);
        one = (struct sto_hbase_cell){STO_HBASE_APPENDS, ts_buf_get(&appends), 1};
        expect_round_trip(&c, &one, 1, &points);
        ts_free(single);
        ts_free(cells);
        sto_cells_release(&points);
    }
    ts_buf_release(&q);
    ts_buf_release(&v);
    ts_buf_release(&appends);
    sto_hbase_columns_release(&c);
}

static void test_columns__a_compacted_column_has_64_kib_at_most(void **state)
{
    (void)state;
    struct sto_cells points = {0};
    struct ts_buf q, v;
    ts_buf_init(&q, 0);
    ts_buf_init(&v, 0);
    sto_cells_reserve(&points, 30000);
    for (uint32_t i = 0; i < 30000; i++) {
        points.meta[i] = put_flags((struct ts_num){.kind = TS_NUM_INT}, true) | i;
        points.m[i] = 1;
    }
    points.n = 13107; /* 5 bytes each, and the last byte: exactly the limit */
    assert_int_equal(sto_hbase_encode_compacted(&points, &q, &v), 0);
    assert_int_equal(q.n + v.n, STO_HBASE_MAX_COMPACTED_BYTES);
    points.m[5] = 1000; /* a byte more */
    assert_int_equal(sto_hbase_encode_compacted(&points, &q, &v), TS_ELIMIT);
    assert_int_equal(q.n + v.n, STO_HBASE_MAX_COMPACTED_BYTES);
    points.n = 30000;
    assert_int_equal(sto_hbase_encode_compacted(&points, &q, &v), TS_ELIMIT);
    ts_buf_release(&q);
    ts_buf_release(&v);
    sto_cells_release(&points);
}

static void test_columns__an_append_column_contradicts_only_other_cells(void **state)
{
    (void)state;
    struct t_row row = {.n = 0};
    struct sto_hbase_columns c;
    struct ts_error err = {0};
    t_row_add(&row, "050000 00002A00002B");
    sto_hbase_columns_init(&c, NULL);
    assert_int_equal(sto_hbase_columns_decode(&c, row.cell, row.n, NULL, &err), 0);
    assert_int_equal(c.n_contradicting, 0);
    t_row_add(&row, "0000 2A");
    assert_int_equal(sto_hbase_columns_decode(&c, row.cell, row.n, NULL, &err), 0);
    assert_int_equal(c.n_contradicting, 1);
    sto_hbase_columns_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns__known_points),
        cmocka_unit_test(test_columns__widths_of_values),
        cmocka_unit_test(test_columns__compacted),
        cmocka_unit_test(test_columns__appends_in_order_of_arrival),
        cmocka_unit_test(test_columns__a_row_may_mix_all_kinds),
        cmocka_unit_test(test_columns__newest_cell_wins),
        cmocka_unit_test(test_columns__later_of_the_same_time_stamp_wins),
        cmocka_unit_test(test_columns__duplicates_are_equal_by_bytes),
        cmocka_unit_test(test_columns__historical_encodings_are_repaired),
        cmocka_unit_test(test_columns__damage_spares_other_cells),
        cmocka_unit_test(test_columns__unknown_columns_are_reported),
        cmocka_unit_test(test_columns__memory_is_limited),
        cmocka_unit_test(test_columns__random_rows_come_back),
        cmocka_unit_test(test_columns__a_compacted_column_has_64_kib_at_most),
        cmocka_unit_test(test_columns__an_append_column_contradicts_only_other_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
