/*
 * test_emit.c - lines from points: tags, times, numbers, lines of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "t_points.h"

static void with(struct t_points *p, struct col_emit_opts opts)
{
    t_points_init(p);
    col_emit_free(p->emit);
    opts.out = (struct col_out){.put = t_points_put, .arg = p};
    p->emit = col_emit_new(&opts);
    col_emit_time(p->emit, 1000000);
}

static void assert_lines(struct t_points *p, const char *expect)
{
    t_points_end(p);
    ts_buf_char(&p->lines, '\0');
    assert_string_equal(p->lines.p, expect);
    t_points_clear(p);
}

static void test_emit__host_and_tags_are_added_sorted(void **state)
{
    struct t_points p;
    (void)state;
    with(&p, (struct col_emit_opts){.host = "web 1", .tags = "rack=r1,dc=fra", .prefix = "x."});
    col_emit_int(p.emit, "m", -5, COL_TAGS({"type", TS_SLICE_LIT("a b\xc3\xa4=")}, {"empty", {NULL, 0}}));
    col_emit_num(p.emit, "m", 0.25, COL_NO_TAGS);
    assert_lines(&p, "put x.m 1000 -5 type=a_b___ empty=none dc=fra host=web_1 rack=r1\n"
                     "put x.m 1000 0.25 dc=fra host=web_1 rack=r1\n");
    t_points_release(&p);
}

static void test_emit__a_point_keeps_its_own_host(void **state)
{
    struct t_points p;
    (void)state;
    with(&p, (struct col_emit_opts){.host = "web1", .tags = "dc=fra"});
    col_emit_int(p.emit, "m", 1, COL_TAGS({"host", TS_SLICE_LIT("other")}));
    assert_lines(&p, "put m 1000 1 host=other dc=fra\n");
    t_points_release(&p);
}

static void test_emit__huge_counters_and_odd_fractions(void **state)
{
    struct t_points p;
    (void)state;
    t_points_init(&p);
    col_emit_u64(p.emit, "c", UINT64_MAX, COL_NO_TAGS);
    col_emit_u64(p.emit, "c", (uint64_t)INT64_MAX + 1, COL_NO_TAGS);
    col_emit_num(p.emit, "n", (double)NAN, COL_NO_TAGS);
    col_emit_num(p.emit, "n", (double)INFINITY, COL_NO_TAGS);
    col_emit_time(p.emit, 1000500);
    col_emit_num(p.emit, "n", 7, COL_NO_TAGS);
    assert_lines(&p, "put c 1000 9223372036854775807\nput c 1000 0\nput n 1000500 7.0\n");
    t_points_release(&p);
}

static void test_emit__lines_of_programs(void **state)
{
    struct t_points p;
    (void)state;
    with(&p, (struct col_emit_opts){.host = "h"});
    static const char *const good[] = {"a.b 1500000000 1 k=v",
                                       "put  a 1500000000.5\t2.5",
                                       "a 1500000000123 True x=y host=own\r",
                                       "a 10 -1e3",
                                       "a 99999999999 1",
                                       "a 100000000000 1",
                                       NULL}; /* 11 digits are seconds */
    for (size_t i = 0; good[i]; i++)
        assert_int_equal(col_emit_line(p.emit, ts_slice_str(good[i]), NULL), 0);
    assert_lines(&p, "put a.b 1500000000 1 k=v host=h\nput a 1500000000500 2.5 host=h\n"
                     "put a 1500000000123 1 x=y host=own\nput a 10 -1e3 host=h\n"
                     "put a 99999999999 1 host=h\nput a 100000000 1 host=h\n");
    static const char *const bad[] = {"",
                                      "a",
                                      "a 1500000000",
                                      "a 1 1",
                                      "a 15x 1",
                                      "a 1500000000 nan",
                                      "a 1500000000 1 k",
                                      "a 1500000000 1 k=",
                                      "a b$ 1500000000 1",
                                      "a$ 1500000000 1",
                                      "a 1.5.5 1",
                                      "a 15000000001234 1",
                                      NULL};
    for (size_t i = 0; bad[i]; i++) {
        struct ts_error err = {0};
        assert_int_equal(col_emit_line(p.emit, ts_slice_str(bad[i]), &err), TS_EPARSE);
        assert_true(*err.text);
    }
    char longest[1100];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + 1, " 1500000000 1 k=", 16);
    assert_int_equal(col_emit_line(p.emit, (struct ts_slice){longest, 1024}, NULL), TS_EPARSE);
    assert_int_equal(col_emit_line(p.emit, (struct ts_slice){longest, 1023}, NULL), 0);
    t_points_end(&p);
    assert_int_equal(p.n, 1);
    t_points_clear(&p);
    assert_lines(&p, "");
    t_points_release(&p);
}

static void test_emit__repetitions_are_left_out(void **state)
{
    struct t_points p;
    (void)state;
    with(&p, (struct col_emit_opts){.repeat_interval_s = 300});
    static const int values[] = {5, 5, 5, 6, 6};
    for (int i = 0; i < 5; i++) {
        col_emit_time(p.emit, (1000 + 15 * i) * 1000ll);
        col_emit_int(p.emit, "m", values[i], COL_TAGS({"a", TS_SLICE_LIT("b")}));
        col_emit_int(p.emit, "m", i, COL_TAGS({"a", TS_SLICE_LIT("c")}));
    }
    assert_lines(&p, "put m 1000 5 a=b\nput m 1000 0 a=c\nput m 1015 1 a=c\nput m 1030 2 a=c\n"
                     "put m 1030 5 a=b\nput m 1045 6 a=b\nput m 1045 3 a=c\nput m 1060 4 a=c\n");
    for (int i = 5; i < 40; i++) { /* the interval passes: sent again, once */
        col_emit_time(p.emit, (1000 + 15 * i) * 1000ll);
        col_emit_int(p.emit, "m", 6, COL_TAGS({"a", TS_SLICE_LIT("b")}));
    }
    assert_lines(&p, "put m 1345 6 a=b\n");
    uint64_t n, left_out;
    col_emit_counts(p.emit, &n, &left_out);
    assert_int_equal(n, 9);
    assert_int_equal(left_out, 3 + 34 - 1 + 0);
    t_points_release(&p);
}

static void test_emit__many_series_are_remembered(void **state)
{
    struct t_points p;
    char name[32];
    (void)state;
    with(&p, (struct col_emit_opts){.repeat_interval_s = 300});
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof(name), "s%d", i);
            col_emit_time(p.emit, (1000 + round) * 1000ll);
            col_emit_int(p.emit, "m", 1, COL_TAGS({"a", ts_slice_str(name)}));
        }
    t_points_end(&p);
    assert_int_equal(p.n, 5000);
    t_points_release(&p);
}

static void test_emit__tags_of_all_lines_are_checked(void **state)
{
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(col_tags_check("", NULL), 0);
    assert_int_equal(col_tags_check("a=b, c=d", NULL), 0);
    assert_int_equal(col_tags_check("a", &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "collect_tags"));
    assert_int_equal(col_tags_check("a=b c", NULL), TS_EINVAL);
    assert_int_equal(col_tags_check("a=b,=d", NULL), TS_EINVAL);
    assert_int_equal(col_tags_check("a=$", NULL), TS_EINVAL);
    char tags[200] = "";
    for (int i = 0; i < 31; i++)
        snprintf(tags + strlen(tags), sizeof(tags) - strlen(tags), "k%d=v,", i);
    assert_int_equal(col_tags_check(tags, NULL), 0);
    snprintf(tags + strlen(tags), sizeof(tags) - strlen(tags), "m=v");
    assert_int_equal(col_tags_check(tags, &err), TS_EINVAL);
    assert_string_equal(err.text, "collect_tags: at most 31 tags");
    assert_int_equal(col_prefix_check("", NULL), 0);
    assert_int_equal(col_prefix_check("web.", NULL), 0);
    assert_int_equal(col_prefix_check("web x", NULL), TS_EINVAL);
}

static int refuse(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    (void)lines;
    (void)durable;
    *(uint32_t *)arg += n_points;
    return ts_error_set(err, TS_ENOSPC, "full");
}

static void test_emit__what_the_output_says_comes_back(void **state)
{
    uint32_t n = 0;
    struct ts_error err = {0};
    struct col_emit_opts opts = {.out = {.put = refuse, .arg = &n}};
    struct col_emit *e = col_emit_new(&opts);
    (void)state;
    assert_int_equal(col_emit_end(e, false, &err), 0); /* nothing to put */
    for (int i = 0; i < 100000; i++)                   /* goes in parts; the first error is told */
        col_emit_int(e, "some.metric.name", i, COL_NO_TAGS);
    assert_int_equal(col_emit_end(e, false, &err), TS_ENOSPC);
    assert_string_equal(err.text, "full");
    assert_int_equal(n, 100000);
    assert_int_equal(col_emit_end(e, false, &err), 0); /* it is said once */
    col_emit_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emit__host_and_tags_are_added_sorted),
        cmocka_unit_test(test_emit__a_point_keeps_its_own_host),
        cmocka_unit_test(test_emit__huge_counters_and_odd_fractions),
        cmocka_unit_test(test_emit__lines_of_programs),
        cmocka_unit_test(test_emit__repetitions_are_left_out),
        cmocka_unit_test(test_emit__many_series_are_remembered),
        cmocka_unit_test(test_emit__tags_of_all_lines_are_checked),
        cmocka_unit_test(test_emit__what_the_output_says_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
