/*
 * test_limits.c - what HBase's tables cannot hold is refused with a sentence, and names keep their characters.
 */
#include "tests/unit/hbase/t_hbase.h"

#include <math.h>

#include "base/double.h"
#include "storage/hbase/limits.h"

static int rc;
static struct ts_error err;
#define REFUSED(call, words)                                                                                 \
    do {                                                                                                     \
        memset(&err, 0, sizeof(err));                                                                        \
        rc = (call);                                                                                         \
        assert_int_equal(rc, TS_EINVAL);                                                                     \
        assert_non_null(strstr(err.text, words));                                                            \
    } while (0)

static void test_limits__times_have_32_bits_of_seconds(void **state)
{
    (void)state;
    assert_int_equal(sto_hbase_check_time(0, NULL), 0);
    assert_int_equal(sto_hbase_check_time(4294967295999, NULL), 0);
    REFUSED(sto_hbase_check_time(-1, &err), "-1 ms");
    REFUSED(sto_hbase_check_time(4294967296000, &err), "4294967296000 ms");
}

static void test_limits__values_are_finite(void **state)
{
    (void)state;
    assert_int_equal(sto_hbase_check_value((struct ts_num){INT64_MIN, TS_NUM_INT, 0}, NULL), 0);
    assert_int_equal(sto_hbase_check_value((struct ts_num){15, TS_NUM_DEC, 1}, NULL), 0);
    REFUSED(sto_hbase_check_value((struct ts_num){(int64_t)ts_double_bits(NAN), TS_NUM_RAW, 0}, &err),
            "finite");
    REFUSED(sto_hbase_check_value((struct ts_num){(int64_t)ts_double_bits(-INFINITY), TS_NUM_RAW, 0}, &err),
            "finite");
}

static void test_limits__names_are_iso_8859_1(void **state)
{
    (void)state;
    assert_int_equal(sto_hbase_check_name(STO_REMOTE_METRIC, TS_SLICE_LIT("sys.cpu"), NULL), 0);
    assert_int_equal(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("K\xc3\xb6ln\xc2\x80\xc3\xbf"), NULL),
                     0);
    assert_int_equal(sto_hbase_check_name(STO_REMOTE_METRIC, TS_SLICE_LIT("\1rollup"), NULL), 0);
    REFUSED(sto_hbase_check_name(STO_REMOTE_METRIC, TS_SLICE_LIT(""), &err), "metric");
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGK, TS_SLICE_LIT("\0"), &err), "tag key");
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("\xc4\x80"), &err), "tag value"); /* U+0100 */
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("5 \xe2\x82\xac"), &err),
            "ISO-8859-1"); /* euro */
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("\xc3"), &err), "ISO-8859-1");
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("\xc3("), &err), "ISO-8859-1");
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("\xc1\x81"), &err), "ISO-8859-1");
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, TS_SLICE_LIT("\x80"), &err), "ISO-8859-1");
    char long_name[STO_HBASE_MAX_NAME_BYTES + 1];
    memset(long_name, 'x', sizeof(long_name));
    REFUSED(sto_hbase_check_name(STO_REMOTE_TAGV, (struct ts_slice){long_name, sizeof(long_name)}, &err),
            "32767");
    assert_int_equal(
        sto_hbase_check_name(STO_REMOTE_TAGV, (struct ts_slice){long_name, sizeof(long_name) - 1}, NULL), 0);
}

static void test_limits__series_have_1_to_8_tags(void **state)
{
    (void)state;
    struct sto_remote_tag tags[9];
    for (size_t i = 0; i < 9; i++)
        tags[i] = (struct sto_remote_tag){TS_SLICE_LIT("k"), TS_SLICE_LIT("v")};
    struct sto_remote_series series = {STO_REMOTE_NO_KEY, TS_SLICE_LIT("m"), tags, 8};
    assert_int_equal(sto_hbase_check_series(&series, NULL), 0);
    series.n_tags = 9;
    REFUSED(sto_hbase_check_series(&series, &err), "not 9");
    series.n_tags = 0;
    REFUSED(sto_hbase_check_series(&series, &err), "not 0");
    series.n_tags = 8;
    tags[7].v = TS_SLICE_LIT("\xe2\x82\xac");
    REFUSED(sto_hbase_check_series(&series, &err), "tag value");
    tags[7].k = TS_SLICE_LIT("\xe2\x82\xac");
    REFUSED(sto_hbase_check_series(&series, &err), "tag key");
    series.metric = TS_SLICE_LIT("\xe2\x82\xac");
    REFUSED(sto_hbase_check_series(&series, &err), "metric");
}

static void test_limits__points_of_a_row(void **state)
{
    (void)state;
    uint32_t put = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    uint32_t meta[2] = {put, put | 1696000};
    int64_t m[2] = {1, 2};
    struct sto_cells cells = {.n = 2, .meta = meta, .m = m};
    assert_int_equal(sto_hbase_check_points(0, &cells, NULL), 0);
    assert_int_equal(sto_hbase_check_points(STO_HBASE_MAX_HOUR - 1, &cells, NULL), 0);
    REFUSED(sto_hbase_check_points(STO_HBASE_MAX_HOUR, &cells, &err),
            "4294967296000 ms"); /* its hour has 1,696 seconds */
    REFUSED(sto_hbase_check_points(-1, &cells, &err), "-3600000 ms");
    REFUSED(sto_hbase_check_points(INT32_MAX, &cells, &err), "1970 and 2106");
    meta[1] = meta[0];
    REFUSED(sto_hbase_check_points(0, &cells, &err), "order");
    meta[1] = put | 3600000;
    REFUSED(sto_hbase_check_points(0, &cells, &err), "order");
    meta[1] = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false) | 1;
    REFUSED(sto_hbase_check_points(0, &cells, &err), "no put");
    meta[1] = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, false) | 1;
    m[1] = (int64_t)ts_double_bits(NAN);
    REFUSED(sto_hbase_check_points(0, &cells, &err), "finite");
}

static void test_limits__names_come_back(void **state)
{
    (void)state;
    struct ts_buf latin, utf8;
    ts_buf_init(&latin, 0);
    ts_buf_init(&utf8, 0);
    uint8_t all[256];
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    struct ts_slice bytes = {(const char *)all, 256};
    assert_int_equal(sto_hbase_name_decode(bytes, &utf8), 0);
    assert_int_equal(utf8.n, 384);
    assert_int_equal(sto_hbase_name_encode(ts_buf_get(&utf8), &latin), 0);
    assert_true(ts_slice_eq(ts_buf_get(&latin), bytes));
    assert_int_equal(sto_hbase_name_encode(TS_SLICE_LIT("\xe2\x82\xac"), &latin), TS_EINVAL);
    ts_buf_release(&latin);
    ts_buf_release(&utf8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits__times_have_32_bits_of_seconds),
        cmocka_unit_test(test_limits__values_are_finite),
        cmocka_unit_test(test_limits__names_are_iso_8859_1),
        cmocka_unit_test(test_limits__series_have_1_to_8_tags),
        cmocka_unit_test(test_limits__points_of_a_row),
        cmocka_unit_test(test_limits__names_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
