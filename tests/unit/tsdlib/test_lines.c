/*
 * test_lines.c - times and values of export are read back as the same points.
 */
#include "tsd/format/lines.h"
#include "tsd/ingest/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void t_time(int64_t ts_ms, bool ms, const char *want)
{
    char text[TSD_LINES_TIME_BYTES + 1];
    struct tsd_rules rules;
    struct tsd_time back;
    struct ts_buf msg;
    size_t n = tsd_lines_time(ts_ms, ms, text);
    text[n] = 0;
    assert_string_equal(text, want);
    tsd_rules_init(&rules, false, true, 0, "");
    rules.old_times = true;
    ts_buf_init(&msg, 0);
    assert_int_equal(tsd_time_read(&rules, (struct ts_slice){text, n}, &back, &msg), 0);
    assert_int_equal(back.ts_ms, ts_ms);
    assert_int_equal(back.ms, ms);
    assert_false(back.bad);
    ts_buf_release(&msg);
}

static void test_lines__times_come_back_with_their_resolution(void **state)
{
    (void)state;
    t_time(1793620800000, false, "1793620800");
    t_time(1793620800123, true, "1793620800123");
    t_time(1793620800000, true, "1793620800000");
    t_time(4294967295000, false, "4294967295");
    t_time(10000000000, true, "10000000000");
    t_time(4294967296, true, "4294967.296"); /* as a number it would be refused */
    t_time(4294967295, true, "4294967.295"); /* as a number it would be seconds */
    t_time(20261122000, false, "20261122."); /* without the point it would be refused as a date */
    t_time(20261122000, true, "20261122000");
    t_time(1, true, "0.001");
    t_time(1000, true, "1.000");
    t_time(1000, false, "1");
    t_time(0, false, "0");
    t_time(0, true, "0.000");
    t_time(-1, true, "-0.001");
    t_time(-1234, true, "-1.234");
    t_time(-1000, false, "-1");
    t_time(-2208988800000, false, "-2208988800");
    t_time(-2208988800001, true, "-2208988800001");
    t_time(9999999999999, true, "9999999999999");
}

static void t_value(struct ts_num v, const char *want)
{
    char text[TSD_LINES_VALUE_BYTES + 1];
    struct ts_num back;
    size_t n = tsd_lines_value(v, text);
    assert_true(n < sizeof(text));
    text[n] = 0;
    if (want)
        assert_string_equal(text, want);
    assert_int_equal(ts_num_parse((struct ts_slice){text, n}, &back, NULL), 0);
    if (v.kind == TS_NUM_INT) {
        assert_int_equal(back.kind, TS_NUM_INT);
        assert_true(back.m == v.m);
        return;
    }
    double a = ts_num_double(v), b = ts_num_double(back);
    assert_int_not_equal(back.kind, TS_NUM_INT);
    assert_memory_equal(&a, &b, sizeof(a));
}

static struct ts_num t_dec(int64_t m, unsigned exp)
{
    return (struct ts_num){m, TS_NUM_DEC, (uint8_t)exp};
}

static void test_lines__values_come_back_bit_for_bit(void **state)
{
    (void)state;
    t_value((struct ts_num){0, TS_NUM_INT, 0}, "0");
    t_value((struct ts_num){INT64_MIN, TS_NUM_INT, 0}, "-9223372036854775808");
    t_value((struct ts_num){INT64_MAX, TS_NUM_INT, 0}, "9223372036854775807");
    t_value(t_dec(15, 1), "1.5");
    t_value(t_dec(-15, 1), "-1.5");
    t_value(t_dec(7, 0), "7.0");
    t_value(t_dec(0, 0), "0.0");
    t_value(t_dec(5, 3), "0.005");
    t_value(t_dec(-5, 1), "-0.5");
    t_value(t_dec(1 << 30, 22), "0.0000000000001073741824");
    t_value(t_dec((int64_t)1 << 53, 22), NULL);
    t_value(t_dec(-((int64_t)1 << 53), 22), NULL);
    static const double raws[] = {-0.0, 1.0 / 3, 1e300, 5e-324, 1.7976931348623157e308, 123456789.123456789,
                                  1e22, 1e23};
    for (size_t i = 0; i < sizeof(raws) / sizeof(raws[0]); i++) {
        struct ts_num v = {0, TS_NUM_RAW, 0};
        memcpy(&v.m, &raws[i], 8);
        t_value(v, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines__times_come_back_with_their_resolution),
        cmocka_unit_test(test_lines__values_come_back_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
