/*
 * test_inputs.c - formats of tsd import: mappings, records of CSV, each format's points, guesses, limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/cut.h"
#include "tsd/inputs/input.h"
#include "tsd/inputs/mapping.h"

/* Lines through a format: put lines, and behind them the number and the text of each refusal. */
static char result[16384];

static const struct tsd_input_opts none, micro = {.units_per_s = 1000000};

static const char *give(const char *format, const struct tsd_input_opts *opts, const char *text)
{
    struct tsd_input_run run;
    struct ts_error err = {0};
    struct ts_slice rest = ts_slice_str(text), line;
    size_t n = 0;
    uint64_t number = 1;
    result[0] = '\0';
    if (tsd_input_begin(&run, tsd_input_find(format), opts, &err) < 0) {
        tsd_input_release(&run);
        (void)snprintf(result, sizeof result, "%s", err.text);
        return result;
    }
    tsd_input_file(&run);
    char bad[4096] = "";
    size_t n_bad = 0;
    while (rest.n) {
        line = ts_slice_cut(&rest, '\n');
        run.line = number++;
        err = (struct ts_error){0};
        if (tsd_input_line(&run, line, &err) < 0)
            n_bad += (size_t)snprintf(bad + n_bad, sizeof bad - n_bad, "%llu: %s\n",
                                      (unsigned long long)run.first_line, err.text);
    }
    err = (struct ts_error){0};
    if (tsd_input_end(&run, &err) < 0)
        (void)snprintf(bad + n_bad, sizeof bad - n_bad, "%llu: %s\n", (unsigned long long)run.first_line,
                       err.text);
    assert_int_equal(run.n_points, ts_slice_count(ts_buf_get(&run.text), '\n'));
    n = run.text.n;
    assert_true(n < 8000);
    if (n)
        memcpy(result, run.text.p, n);
    (void)snprintf(result + n, sizeof result - n, "%s", bad);
    tsd_input_release(&run);
    return result;
}

static const char *csv(const char *mapping, const char *text)
{
    struct tsd_input_opts opts = {.mapping = ts_slice_str(mapping)};
    return give("csv", &opts, text);
}

static void test_inputs__columns_by_number_and_name(void **state)
{
    (void)state;
    assert_string_equal(
        csv("time={1:%d/%b/%Y},metric=temp.{2},value={5},station={0}", "EWR,2/Nov/2026,max,,,7.5\n"),
        "temp.max 1793577600 7.5 station=EWR\n");
    assert_string_equal(
        csv("time={t},metric=m.{},value={a},value={b}, h = {h}x\\,\\{ ", "h,t,b,a\nweb 1,1793620800,2,1\n"),
        "m.a 1793620800 1 h=web_1x__\nm.b 1793620800 2 h=web_1x__\n");
    assert_string_equal(csv("time={0},metric=a,value={1},metric=b,value={2}*2,k=v", "1793620800123,1,2\n"),
                        "a 1793620800.123 1 k=v\nb 1793620800.123 4.0 k=v\n");
    assert_string_equal(csv("time={0},metric=a,value={1},k={2}", "1793620800,1,\n"), "a 1793620800 1\n");
}

static void test_inputs__mappings_say_what_is_wrong(void **state)
{
    (void)state;
    assert_string_equal(csv("time={0}}", "x"),
                        "the mapping, character 10: value is missing: metric=NAME,value={COLUMN}");
    assert_string_equal(csv("time={0", "x"), "the mapping, character 6: this brace is not closed");
    assert_string_equal(csv("time={0},time={1}", "x"), "the mapping, character 15: time stands twice");
    assert_string_equal(csv("time={},metric=a,value={1}", "x"),
                        "the mapping, character 8: {} stands for a value's name, in metric alone");
    assert_string_equal(csv("time={0},metric=a,value=7", "x"),
                        "the mapping, character 26: a value is one column, {COLUMN}, perhaps with a factor "
                        "behind it, as in {5}/10");
    assert_string_equal(csv("time={0},metric=a,value={1},k={2:%Y}", "x"),
                        "the mapping, character 37: a tag takes columns, {COLUMN}, without a format");
    assert_string_equal(csv("time={0},metric=a,value={1},k=", "x"),
                        "the mapping, character 31: a text is missing behind =");
    assert_string_equal(csv("time={:%Y},metric=a,value={1}", "x"),
                        "the mapping, character 6: a reference has no column");
    assert_string_equal(give("csv", &none, "x"), "csv needs --csv, which says what each column is");
}

static void test_inputs__csv_is_that_of_rfc_4180(void **state)
{
    static const char m[] = "time={0},metric=m,value={1},k={2}";
    (void)state;
    assert_string_equal(csv(m, "1,2,\"a\"\"b\"\r\n\"2\",\"3\",\"x,y\"\n3,4,\"one\n\ntwo\"\n4,5,z"),
                        "m 1 2 k=a_b\nm 2 3 k=x_y\nm 3 4 k=one__two\nm 4 5 k=z\n");
    assert_string_equal(csv(m, "1,2,\"a\"b\n2,3\n3,4,c"),
                        "m 3 4 k=c\n1: column {2}: text stands behind the closing quote\n2: column {2}: the "
                        "line has only 2 columns\n");
    assert_string_equal(csv(m, "1,2,k\n3,4,\"open\n5,6,x\n"),
                        "m 1 2 k=k\n2: the file ends before the quotes that open in this line are closed\n");
    assert_string_equal(csv(m, "\xef\xbb\xbf"
                               "1,2,k\n"),
                        "m 1 2 k=k\n");
}

static void test_inputs__quotes_that_never_close_cost_little(void **state)
{
    (void)state;
    char text[2000] = "1,2,\"open\n";
    size_t n = strlen(text);
    for (unsigned i = 0; i < 110; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%u,4,c\n", i + 10);
    const char *got = csv("time={0},metric=m,value={1},k={2}", text);
    assert_non_null(strstr(got, "m 110 4 k=c\n"));
    assert_non_null(
        strstr(got, "1: quotes that open here are not closed within 100 lines and 1048576 bytes\n"));
}

static void test_inputs__a_header_without_a_column_ends_the_file(void **state)
{
    struct tsd_input_opts opts = {.mapping = TS_SLICE_LIT("time={t},metric=m,value={v}")};
    struct tsd_input_run run;
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(tsd_input_begin(&run, tsd_input_find("csv"), &opts, &err), 0);
    assert_int_equal(tsd_input_line(&run, TS_SLICE_LIT("a,t"), &err), TS_EINVAL);
    assert_string_equal(err.text, "the header has no column {v}; it has a, t");
    tsd_input_release(&run);
}

static void test_inputs__fixed_widths(void **state)
{
    struct tsd_input_opts opts = {
        .mapping = TS_SLICE_LIT("station=1-4,time={5-8:%Y}{9-10:%m},metric=t,value={11-15}/10"),
        .missing = TS_SLICE_LIT("-9999,x")};
    (void)state;
    assert_string_equal(give("fixed", &opts, "EWR 202611  -11\nJFK 202612-9999\nLGA 202611    x\nEWR 2026\n"),
                        "t 1793491200 -1.1 station=EWR\n4: the time \"2026\" has no %m at its character 5\n");
    opts.mapping = TS_SLICE_LIT("time={0},metric=t,value={1-2}");
    assert_string_equal(
        give("fixed", &opts, "x"),
        "the mapping, character 6: with fixed widths a reference is {FROM-TO}, characters counted from 1");
}

/* A line with many fields takes memory for what is in it, not for what is behind each word. */
static void test_inputs__influx_of_many_fields(void **state)
{
    enum { FIELDS = 20000 };
    struct tsd_input_run run;
    struct ts_budget memory;
    struct ts_buf line;
    (void)state;
    ts_budget_init(&memory, "test", "test", NULL, 0);
    ts_buf_init(&line, 0);
    ts_buf_str(&line, "m,h=a ");
    for (int i = 0; i < FIELDS; i++)
        ts_buf_printf(&line, "%sf\\ %d=1", i ? "," : "", i);
    ts_buf_str(&line, " 1793620800000000");
    assert_int_equal(tsd_input_begin(&run, tsd_input_find("influx"), &micro, NULL), 0);
    tsd_input_file(&run);
    run.arena.budget = &memory;
    run.line = 1;
    assert_int_equal(tsd_input_line(&run, ts_buf_get(&line), NULL), 0);
    assert_int_equal(run.n_points, FIELDS);
    assert_in_range(atomic_load(&memory.peak_bytes), 1, 16 * line.n);
    tsd_input_release(&run);
    ts_buf_release(&line);
}

static void test_inputs__influx(void **state)
{
    struct tsd_input_opts opts = {.now_ms = 5999};
    (void)state;
    assert_string_equal(give("influx", &opts,
                             "# DML\nCREATE DATABASE x\nc\\,pu,ho\\ st=a\\=b v=1.5,n=-3i,t=\"a \\\" "
                             "b=1\",b=F 1793620800123999999\nm,k=v f=2u\n"),
                        "c_pu.v 1793620800.123 1.5 ho_st=a_b\nc_pu.n 1793620800.123 -3 ho_st=a_b\nc_pu.b "
                        "1793620800.123 0 ho_st=a_b\nm.f 5 2 k=v\n");
    assert_string_equal(
        give("influx", &opts,
             "m,k v=1 1\nm\nm,k=v f 1\nm,k=v f=\"x 1\nm,k=v f=x 31536000000000000\nm f=1 x\nm f=1 "
             "1793620800\n"),
        "1: a tag is not NAME=VALUE, at character 4\n2: not MEASUREMENT,tag=value FIELD=VALUE TIME\n"
        "3: not MEASUREMENT,tag=value FIELD=VALUE TIME\n4: a field is not NAME=VALUE\n5: field f: \"x\" is "
        "not a number\n"
        "6: \"x\" is not a time\n7: the time 1793620800 is in 1970 if it counts nanoseconds: --time-unit s, "
        "ms or us "
        "says what it counts, --time-unit ns that it is right\n");
    opts.units_per_s = 1000000000;
    assert_string_equal(give("influx", &opts, "m f=1 1793620800\n"), "m.f 1.793 1\n");
}

static void test_inputs__samples_of_prometheus(void **state)
{
    struct tsd_input_opts opts = {.now_ms = 5999, .tags = TS_SLICE_LIT(" t=u")};
    (void)state;
    assert_string_equal(give("promdump", &opts,
                             "{__name__=\"a:b\", path=\"/x y\", e=\"\"} 1.5 1793620800123\n{job=\"x\", "
                             "__name__=\"up\"} +Inf 1\n"),
                        "a_b 1793620800.123 1.5 path=/x_y t=u\n");
    assert_string_equal(give("promdump", &opts,
                             "{job=\"x\"} 1 1\n{__name__=\"a\",__name__=\"b\"} 1 1\n{__name__=\"a b\"} 1 "
                             "1\n{__name__=\"a\"}\n"),
                        "1: not METRIC{LABEL=\"VALUE\"} VALUE TIME, from character 10 on\n"
                        "2: not METRIC{LABEL=\"VALUE\"} VALUE TIME, from character 27 on\n"
                        "3: not METRIC{LABEL=\"VALUE\"} VALUE TIME, from character 16 on\n"
                        "4: not METRIC{LABEL=\"VALUE\"} VALUE TIME, from character 15 on\n");
    assert_string_equal(
        give("openmetrics", &opts,
             "# TYPE a gauge\na 5\na{le=\"+Inf\"} 6 1793620800.25 # {x=\"y\"} 1\na 7 # {} 1\na 1 x\n"),
        "a 5 5 t=u\na 1793620800.250 6 le=Inf t=u\na 5 7 t=u\n5: \"x\" is not a time\n");
}

static void test_inputs__lines_of_json(void **state)
{
    (void)state;
    assert_string_equal(
        give("jsonl", &none,
             "{\"metric\":\"a b\",\"timestamp\":1793620800,\"value\":\"1\",\"tags\":{\"k\":\"v w\"}}\n\n[]\n"
             "[{\"metric\":\"a\",\"timestamp\":1793620800001,\"value\":1e3,\"tags\":{\"k\":\"\\u00e4\"}},"
             "null]\n"),
        "a_b 1793620800 1 k=v_w\na 1793620800.001 1e3 k=\xc3\xa4\n");
    assert_string_equal(give("jsonl", &none,
                             "[{\"metric\":\"a\",\"timestamp\":1,\"value\":1,\"tags\":{\"k\":\"v\"}},{"
                             "\"metric\":\"a\",\"value\":1}]\n"),
                        "1: \"timestamp\" is missing\n");
}

static void test_inputs__times_by_their_size(void **state)
{
    struct tsd_input_run run = {.opts = &none};
    struct tsd_input_run us = {.opts = &micro};
    int64_t ms = 0;
    (void)state;
    assert_int_equal(tsd_input_number_time(&run, TS_SLICE_LIT("1793620800"), 0, &ms, NULL), 0);
    assert_int_equal(ms, 1793620800000);
    assert_int_equal(tsd_input_number_time(&run, TS_SLICE_LIT("1793620800.1234"), 0, &ms, NULL), 0);
    assert_int_equal(ms, 1793620800123);
    assert_int_equal(tsd_input_number_time(&run, TS_SLICE_LIT("1793620800123456"), 0, &ms, NULL), 0);
    assert_int_equal(ms, 1793620800123);
    assert_int_equal(tsd_input_number_time(&us, TS_SLICE_LIT("-1"), 0, &ms, NULL), 0);
    assert_int_equal(ms, -1);
    assert_int_equal(tsd_input_number_time(&run, TS_SLICE_LIT("1e300"), 1, &ms, NULL), TS_ELIMIT);
    assert_int_equal(tsd_input_number_time(&run, TS_SLICE_LIT("x"), 1, &ms, NULL), TS_EPARSE);
    assert_string_equal(csv("time={0},metric=m,value={1}", "20261122,1\n20261122.0,1\n5000000000,1\n"),
                        "m 1795305600 1\nm 20261122. 1\nm 5000000000000 1\n");
}

static void test_inputs__limits(void **state)
{
    struct tsd_input_opts opts = {.mapping = TS_SLICE_LIT("time={0},metric=m,value={1},a={2}{2}{2}"),
                                  .max_line_bytes = 50000};
    char *text = ts_xmalloc(60001);
    (void)state;
    memset(text, 'x', 60000);
    text[60000] = '\0';
    assert_string_equal(give("csv", &opts, text), "1: the line is longer than 50000 bytes (--max-line)\n");
    memcpy(text, "1,2,", 4);
    text[40000] = '\0';
    assert_string_equal(give("csv", &opts, text),
                        "1: a text of the mapping becomes longer than 65536 bytes\n");
    memset(text, ',', 5000);
    text[5000] = '\0';
    assert_string_equal(give("csv", &opts, text), "1: the line has more than 4096 columns\n");
    ts_free(text);
}

static void guess(const char *want, const char *text)
{
    const struct tsd_input *row = tsd_input_guess(ts_slice_str(text));
    assert_string_equal(row ? row->name : "none", want);
}

static void test_inputs__guesses(void **state)
{
    (void)state;
    guess("put", "# x\n\nput m 1 2 a=b\n");
    guess("put", "m 1 2 a=b c=d\n");
    guess("put", "");
    guess("put", "rollup 1h-sum m 1 2 a=b\n");
    guess("influx", "m,a=b v=1 1793620800000000000\n");
    guess("influx", "m v=1,t=\"x y\"\n");
    guess("openmetrics", "# TYPE a gauge\na 1\n");
    guess("openmetrics", "a{b=\"c,d\"} 1\n");
    guess("promdump", "{__name__=\"up\"} 1 2\n");
    guess("jsonl", "[{\"metric\":\"m\"}]\n");
    guess("csv", "a,b\n1,2\n");
    guess("csv", "a;b\n1;2\n");
    guess("tsv", "a\tb\tc\n1\t\t\n");
    guess("none", "m 1\n");
    guess("none", "{}\n");
    for (const struct tsd_input *row = tsd_inputs; row->name; row++)
        assert_ptr_equal(tsd_input_find(row->name), row);
    assert_null(tsd_input_find("xml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs__columns_by_number_and_name),
        cmocka_unit_test(test_inputs__mappings_say_what_is_wrong),
        cmocka_unit_test(test_inputs__csv_is_that_of_rfc_4180),
        cmocka_unit_test(test_inputs__quotes_that_never_close_cost_little),
        cmocka_unit_test(test_inputs__a_header_without_a_column_ends_the_file),
        cmocka_unit_test(test_inputs__fixed_widths),
        cmocka_unit_test(test_inputs__influx),
        cmocka_unit_test(test_inputs__influx_of_many_fields),
        cmocka_unit_test(test_inputs__samples_of_prometheus),
        cmocka_unit_test(test_inputs__lines_of_json),
        cmocka_unit_test(test_inputs__times_by_their_size),
        cmocka_unit_test(test_inputs__limits),
        cmocka_unit_test(test_inputs__guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
