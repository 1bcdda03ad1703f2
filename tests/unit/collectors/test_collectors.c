/*
 * test_collectors.c - rows of collectors and metrics are complete; small parts: words, patterns, the clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/host/parse.h"
#include "collectors/collect.h"
#include "collectors/core/fields.h"
#include "t_points.h"

extern const struct col_collector col_clock;

static void test_collectors__rows_are_complete(void **state)
{
    const char *last = "";
    (void)state;
    for (const struct col_collector *const *c = col_collectors; *c; c++) {
        assert_true(strcmp(last, (*c)->name) < 0);
        last = (*c)->name;
        assert_true(*(*c)->help);
        assert_true(!(*c)->read != !(*c)->run);
        assert_true((*c)->run || (*c)->interval_s > 0);
        assert_ptr_equal(col_collector_find(ts_slice_str((*c)->name)), *c);
        for (const struct col_metric *m = (*c)->metrics; m->name; m++) {
            assert_true(*m->unit && *m->help && m->tags);
            assert_ptr_equal(col_metric_find(*c, ts_slice_str(m->name)), m); /* no other row takes it */
        }
    }
    assert_null(col_collector_find(TS_SLICE_LIT("no")));
    assert_null(col_metric_find(&col_clock, TS_SLICE_LIT("ntp")));
}

static void test_collectors__list_has_every_row(void **state)
{
    struct ts_buf text, csv;
    (void)state;
    ts_buf_init(&text, 0);
    ts_buf_init(&csv, 0);
    col_list(false, &text);
    col_list(true, &csv);
    ts_buf_char(&text, '\0');
    ts_buf_char(&csv, '\0');
    size_t n_rows = 1, n_lines = 0;
    for (const struct col_collector *const *c = col_collectors; *c; c++)
        for (const struct col_metric *m = (*c)->metrics; m->name; m++, n_rows++)
            assert_non_null(strstr(text.p, m->name));
    for (const char *p = csv.p; *p; p++)
        n_lines += *p == '\n';
    assert_int_equal(n_lines, n_rows);
    assert_non_null(strstr(csv.p, "load,15,proc.loadavg.5min,,processes,gauge,The same over 5 minutes.\n"));
    assert_non_null(strstr(csv.p, ",\"Points of this process: sent, refused"));
    ts_buf_release(&text);
    ts_buf_release(&csv);
}

static void test_collectors__clock(void **state)
{
    struct t_points p;
    struct timex t = {.offset = -1500, .esterror = 250, .maxerror = 16000, .freq = 65536 * 3, .status = 0};
    (void)state;
    t_points_init(&p);
    col_clock_points(&t, TIME_OK, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "ntp.offset"), "-1.5");
    assert_string_equal(t_value(&p, "ntp.error type=max"), "16.0");
    assert_string_equal(t_value(&p, "ntp.frequency"), "3.0");
    assert_string_equal(t_value(&p, "ntp.synchronized"), "1");
    assert_true(t_all_listed(&p, &col_clock));
    t_points_clear(&p);
    t.status = STA_NANO | STA_UNSYNC;
    col_clock_points(&t, TIME_ERROR, p.emit);
    t_points_end(&p);
    assert_string_equal(t_value(&p, "ntp.offset"), "-0.0015");
    assert_string_equal(t_value(&p, "ntp.synchronized"), "0");
    t_points_release(&p);
}

static void test_collectors__words_and_numbers(void **state)
{
    struct ts_slice text = TS_SLICE_LIT("a\t12 -5\r\n\nlast"), line, word;
    uint64_t v = 0, row[4];
    int64_t i = 0;
    (void)state;
    assert_true(col_line_next(&text, &line));
    assert_true(col_word_next(&line, &word) && ts_slice_is(word, "a"));
    assert_true(col_u64_next(&line, &v) && v == 12);
    assert_false(col_u64_next(&line, &v));
    assert_true(col_word_next(&line, &word) && col_i64_of(word, &i) && i == -5);
    assert_false(col_word_next(&line, &word));
    assert_true(col_line_next(&text, &line) && line.n == 0);
    assert_true(col_line_next(&text, &line) && ts_slice_is(line, "last"));
    assert_false(col_line_next(&text, &line));
    assert_int_equal(col_u64_row(TS_SLICE_LIT("1 2 x 4"), row, 4), 2);
    assert_true(col_u64_of(TS_SLICE_LIT("18446744073709551615"), &v) && v == UINT64_MAX);
    assert_false(col_u64_of(TS_SLICE_LIT("18446744073709551616"), &v));
    assert_false(col_u64_of(TS_SLICE_LIT(""), &v));
    assert_false(col_i64_of(TS_SLICE_LIT("9223372036854775808"), &i));
    assert_false(col_i64_of(TS_SLICE_LIT("-"), &i));
    assert_true(col_match_any("eth*, lo", TS_SLICE_LIT("eth0")));
    assert_true(col_match_any("eth*, lo", TS_SLICE_LIT("lo")));
    assert_false(col_match_any("eth*,lo", TS_SLICE_LIT("lo0")));
    assert_false(col_match_any("", TS_SLICE_LIT("x")));
    assert_false(col_match_any(",,", TS_SLICE_LIT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectors__rows_are_complete),
        cmocka_unit_test(test_collectors__list_has_every_row),
        cmocka_unit_test(test_collectors__clock),
        cmocka_unit_test(test_collectors__words_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
