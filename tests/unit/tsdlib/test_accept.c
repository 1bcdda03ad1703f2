/*
 * test_accept.c - which format a header Accept asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tsd/format/out.h"
#include "tsd/protocols/http/ep.h"

static void expect(const char *header, const char *format)
{
    assert_string_equal(tsd_accept_format(ts_slice_str(header))->name, format);
}

static void test_accept__types_of_their_own_are_heard(void **state)
{
    (void)state;
    expect("text/csv", "csv");
    expect("Text/CSV; charset=utf-8", "csv");
    expect("application/x-ndjson", "ndjson");
    expect("application/jsonl,text/csv", "ndjson");
    expect(" text/html , text/csv;q=0.5 ", "csv");
}

static void test_accept__anything_else_is_json(void **state)
{
    (void)state;
    const char *const all[] = {"",     "*/*",       "application/json", "text/plain",   "text/html,*/*;q=0.8",
                               ",,;;", "text/csvx", "text/csv;q=0",     "text/csv;q=x", "text/*"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        expect(all[i], "json");
}

static void test_accept__the_most_liked_wins_then_the_first(void **state)
{
    (void)state;
    expect("text/csv;q=0.5, application/json", "json");
    expect("application/json;q=0.5, text/csv;q=0.9, application/x-ndjson;q=0.8", "csv");
    expect("application/json, text/csv", "json");
    expect("text/csv, */*", "csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept__types_of_their_own_are_heard),
        cmocka_unit_test(test_accept__anything_else_is_json),
        cmocka_unit_test(test_accept__the_most_liked_wins_then_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
