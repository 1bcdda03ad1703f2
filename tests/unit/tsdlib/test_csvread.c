/*
 * test_csvread.c - fields of CSV, and the table for people.
 */
#include "tsd/commands/csvread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* All fields, each ended by | and records by ;. */
static void t_fields(const char *csv, const char *want)
{
    struct ts_buf field, all;
    const char *at = csv, *end = csv + strlen(csv);
    ts_buf_init(&field, 0);
    ts_buf_init(&all, 0);
    while (at < end) {
        bool more;
        tsd_csv_field(&at, end, &field, &more);
        ts_buf_slice(&all, ts_buf_get(&field));
        ts_buf_str(&all, more ? "|" : "|;");
    }
    ts_buf_char(&all, 0);
    assert_string_equal(all.p, want);
    ts_buf_release(&field);
    ts_buf_release(&all);
}

static void test_csvread__fields_come_out_of_their_quotes(void **state)
{
    (void)state;
    t_fields("a,b\nc", "a|b|;c|;");
    t_fields("a,b\r\nc,d\r\n", "a|b|;c|d|;");
    t_fields(",\n", "||;");
    t_fields("\n\n", "|;|;");
    t_fields("\"a,b\",\"c\nd\",\"e\"\"f\"\n", "a,b|c\nd|e\"f|;");
    t_fields("\"\",\"\"\"\"\n", "|\"|;");
    t_fields("\"not ended, at all", "not ended, at all|;");
    t_fields("\"a", "a|;");
    t_fields("\"", "|;");
}

static void t_table(const char *csv, const char *want)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    tsd_csv_table(ts_slice_str(csv), 1, &out);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    ts_buf_release(&out);
}

static void test_csvread__columns_are_aligned(void **state)
{
    (void)state;
    t_table("", "");
    t_table("hits\n5\n1234567\n", "   hits\n      5\n1234567\n");
    t_table("date,domain,hits\n2026-11-01,köln.de,5\n2026-11-02,b,12345\n",
            "date        domain    hits\n2026-11-01  köln.de      5\n2026-11-02  b        12345\n");
    t_table("a,b\nx\n1,2,3\n", "a  b\nx\n1  2  3\n"); /* rows of other lengths do no harm */
}

static void test_csvread__a_very_long_field_pushes_its_row_only(void **state)
{
    (void)state;
    t_table("a,b\n0123456789012345678901234567890123456789012345678901234567890123456789,1\ny,2\n",
            "a  b\n0123456789012345678901234567890123456789012345678901234567890123456789  1\ny  2\n");
}

static void test_csvread__sizes_and_thousands_are_numbers(void **state)
{
    struct ts_buf out;
    (void)state;
    ts_buf_init(&out, 0);
    tsd_csv_table(TS_SLICE_LIT("m,bytes,n,x,last\na,\"1.5 KiB\",\"1,234\",5 apples,1\nb,12 bytes,7,6,20\n"),
                  1, &out);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, "m     bytes      n  x         last\n"
                               "a   1.5 KiB  1,234  5 apples     1\n"
                               "b  12 bytes      7  6           20\n");
    ts_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csvread__fields_come_out_of_their_quotes),
        cmocka_unit_test(test_csvread__columns_are_aligned),
        cmocka_unit_test(test_csvread__a_very_long_field_pushes_its_row_only),
        cmocka_unit_test(test_csvread__sizes_and_thousands_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
