/*
 * test_filters.c - tag filters on single values.
 */
#include "query/filters/filter.h"
#include "query/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct qry_budget free_run; /* without limits */

/* Does a filter's function say yes? By-value filters are compared here. */
static bool matches(const char *expr, const char *value)
{
    struct ts_arena a;
    struct qry_filter f;
    struct ts_error err = {0};
    void *state = NULL;
    bool yes = false;
    ts_arena_init(&a, 0);
    if (qry_filter_parse(TS_SLICE_LIT("host"), ts_slice_str(expr), true, false, &a, &f, &err) < 0)
        fail_msg("%s: %s", expr, err.text);
    if (f.type->by_values) {
        for (size_t i = 0; i < f.n_values; i++)
            yes |= ts_slice_is(f.values[i], value);
        yes ^= f.type->negate;
    } else if (f.any) {
        yes = true;
    } else {
        if (f.type->open)
            assert_int_equal(f.type->open(&f, &free_run, &state, &err), 0);
        yes = f.type->match(state ? state : &f, ts_slice_str(value));
        if (state)
            assert_int_equal(f.type->close(state, &err), 0);
    }
    ts_arena_release(&a);
    return yes;
}

static void test_filters__match_as_opentsdb(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *value;
        bool want;
    } cases[] = {
        {"*", "x", true},
        {"web01", "web01", true},
        {"web01", "WEB01", false},
        {"web01|web02", "web02", true},
        {"literal_or(web01|web02)", "web03", false},
        {"not_literal_or(web01|web02)", "web03", true},
        {"not_literal_or(web01)", "web01", false},
        {"iliteral_or(WEB01)", "web01", true},
        {"ILITERAL_OR(ÄRGER)", "ärger", true},
        {"not_iliteral_or(WEB01)", "wEb01", false},
        {"not_iliteral_or(WEB01)", "web02", true},
        {"wildcard(web*net)", "xwebfoonetx", true},
        {"wildcard(web*net)", "netweb", false},
        {"wildcard(web*)", "aweb", false},
        {"wildcard(web*)", "web", true},
        {"wildcard(*net)", "netx", false},
        {"wildcard(*net)", "xnet", true},
        {"wildcard(a*a)", "a", false},
        {"wildcard(a*a)", "aa", true},
        {"wildcard(*eu*)", "x.eu.y", true},
        {"wildcard(*eu*)", "x.us.y", false},
        {"wildcard(***)", "", true},
        {"wildcard(a**b)", "a1b", true},
        {"WEB*", "web1", true},
        {"wildcard(WEB*)", "web1", false},
        {"iwildcard(WEB*)", "web1", true},
        {"regexp(web[0-9]+)", "my-web12-x", true},
        {"regexp(^web[0-9]+$)", "my-web12", false},
        {"regexp(.*)", "", true},
        {"regexp(ä.)", "äß", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (matches(cases[i].expr, cases[i].value) != cases[i].want)
            fail_msg("%s on %s is not %d", cases[i].expr, cases[i].value, cases[i].want);
}

static void test_filters__long_values_are_lowered_whole(void **state)
{
    (void)state;
    char value[2000];
    memset(value, 'A', sizeof value - 1);
    value[sizeof value - 1] = 0;
    value[sizeof value - 2] = 'z';
    assert_true(matches("iwildcard(*aZ)", value));
    assert_false(matches("iwildcard(*aa)", value));
}

static void test_filters__bad_ones_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"literal_or()", "literal_or(|)", "wildcard(a)", "wildcard()",
                                      "regexp([)",    "regexp()",      "bogus(x)",    "literal_or(x"};
    struct ts_arena a;
    struct qry_filter f;
    ts_arena_init(&a, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ts_error err = {0};
        if (qry_filter_parse(TS_SLICE_LIT("host"), ts_slice_str(bad[i]), true, false, &a, &f, &err) >= 0)
            fail_msg("%s is taken", bad[i]);
        assert_true(err.text[0]);
    }
    struct ts_error err = {0};
    assert_int_equal(qry_filter_parse(TS_SLICE_LIT(""), TS_SLICE_LIT("x"), true, false, &a, &f, &err),
                     TS_EINVAL);
    ts_arena_release(&a);
}

static void test_filters__a_pattern_that_explodes_is_stopped(void **state)
{
    (void)state;
    struct ts_arena a;
    struct qry_filter f;
    struct ts_error err = {0};
    void *st;
    ts_arena_init(&a, 0);
    assert_int_equal(qry_filter_parse(TS_SLICE_LIT("host"), TS_SLICE_LIT("regexp((a+)+(b+)+$)"), true, false,
                                      &a, &f, &err),
                     0);
    assert_int_equal(f.type->open(&f, &free_run, &st, &err), 0);
    char value[64];
    memset(value, 'a', sizeof value);
    memset(value + 32, 'b', 31);
    value[63] = 'c';
    assert_false(f.type->match(st, (struct ts_slice){value, 64}));
    assert_int_equal(f.type->close(st, &err), TS_ELIMIT);
    ts_arena_release(&a);
}

static void test_filters__table_is_sorted(void **state)
{
    (void)state;
    const struct qry_filter_type *const *t = qry_filter_table();
    size_t n = 0;
    for (; t[n]; n++) {
        assert_true(n == 0 || strcmp(t[n - 1]->name, t[n]->name) < 0);
        assert_true(t[n]->help && t[n]->example && t[n]->prepare);
    }
    assert_int_equal(n, 7);
    assert_null(qry_filter_find(TS_SLICE_LIT("not_key")));
    assert_null(qry_filter_find(TS_SLICE_LIT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters__match_as_opentsdb),
        cmocka_unit_test(test_filters__long_values_are_lowered_whole),
        cmocka_unit_test(test_filters__bad_ones_are_refused),
        cmocka_unit_test(test_filters__a_pattern_that_explodes_is_stopped),
        cmocka_unit_test(test_filters__table_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
