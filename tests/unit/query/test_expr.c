/*
 * test_expr.c - the expression language: what texts mean row by row, and where wrong ones are refused.
 */
#include "query/expressions/expr.h"

#include <math.h>

#include "tests/unit/query/parse_kit.h"

#define NA ((double)NAN)

/* Value of a variable by its name in row k. */
static double value_of(struct ts_slice name, size_t k)
{
    static const double rows[][4] = {
        /* a, b, c: 7, 2, 0, then others; n is no number */
        {7, 2, 0, -1},
        {2, -3, 5, 0.5},
        {0, 0, 1, 4},
    };
    if (ts_slice_is(name, "n"))
        return NA;
    return rows[name.p[0] - 'a'][k % 4];
}

/* Run a text over n rows; 0 or the code. */
static int run(const char *text, bool compat, size_t n, double *out)
{
    struct qry_expr e;
    double cols[8][1200];
    const double *vars[8];
    memset(&err, 0, sizeof err);
    int rc = qry_expr_parse(ts_slice_str(text), compat, &arena, &e, &err);
    if (rc < 0)
        return rc;
    assert_true(e.n_vars <= 8);
    for (size_t v = 0; v < e.n_vars; v++) {
        for (size_t k = 0; k < n; k++)
            cols[v][k] = value_of(e.vars[v], k);
        vars[v] = cols[v];
    }
    return qry_expr_run(&e, vars, n, ts_arena_alloc(&arena, qry_expr_scratch_bytes(&e)), out, &err);
}

struct row {
    const char *text;
    double plain, compat; /* result in row 0: a = 7, b = 2, c = 0, n = NaN */
};

static const struct row means[] = {
    {"a + b", 9, 9},
    {"a - b - b", 3, 3}, /* from left to right */
    {"a - (b - b)", 7, 7},
    {"a + b * 3", 13, 13},
    {"(a + b) * 3", 27, 27},
    {"a / b", 3.5, 3.5},
    {"a % b", 1, 1},
    {"-a % 4", -3, -3}, /* the sign of the dividend */
    {"a / 0", 0, 0},    /* E65 */
    {"a / c", 0, 0},
    {"a % c", 0, 0},
    {"n / 0", 0, 0},
    {"-a", -7, -7},
    {"--a", 7, 7},
    {"a--b", 9, 9},
    {"a * -b", -14, -14},
    {"!a", 0, 0},
    {"!c", 1, 1},
    {"not c", 1, 1},
    {"!!a", 1, 1},
    {"a > b", 1, 1},
    {"a < b", 0, 0},
    {"a >= 7", 1, 1},
    {"a <= 6", 0, 0},
    {"a == 7", 1, 1},
    {"a != 7", 0, 0},
    {"a gt b and b lt a", 1, 1},
    {"a eq 7 or a ne 7", 1, 1},
    {"a ge 7 && a le 7", 1, 1},
    {"a div b", 3.5, 3.5},
    {"a mod b", 1, 1},
    {"a && c", 0, 0},
    {"a || c", 1, 1},
    {"c || c", 0, 0},
    {"(a > b) * 5", 5, 5},
    {"a > b ? a : b", 7, 7},
    {"a < b ? a : b", 2, 2},
    {"c ? a : a > 8 ? b : a * 10", 70, 70},
    {"a + (b ? 1 : 2) * 3", 10, 10},
    {"1 + a > 7 == true", 1, 1},
    {"true", 1, 1},
    {"a * 1.5", 10.5, 10.5},
    {"a * 1e2", 700, 700},
    {"a * 2.5E-1", 1.75, 1.75},
    {"a*0.1", 7 * 0.1, 7 * 0.1},
    {"a * 3.14159265", 7 * 3.14159265, 7 * 3.1415927}, /* JEXL reads 32-bit floats */
    {"a * 3.14159265d", 7 * 3.14159265, 7 * 3.14159265},
    {"a * 10f", 70, 70},
    {"a * (1 / 2)", 3.5, 0}, /* integers in JEXL */
    {"a * (7 % 4)", 21, 21},
    {"a * (1.0 / 2)", 3.5, 3.5},
    {"a + 1 / 0", 7, 7},
    {"a + n", NA, NA},
    {"n * 0", NA, NA},
    {"-n", NA, NA},
    {"n > 1", NA, 0},
    {"n < 1", NA, 1},
    {"n == n", NA, 1},
    {"n != 1", NA, 1},
    {"!n", NA, 1},
    {"n && a", NA, 0},
    {"n && c", 0, 0},
    {"n || a", 1, 1},
    {"n || c", NA, 0},
    {"n ? a : b", NA, 2},
    {"  a+\tb\n", 9, 9},
    {"a+b+a+b+a+b+a+b+a+b", 45, 45},
    {"((((((((((a))))))))))", 7, 7},
};

static void test_expr__means(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++)
        for (int compat = 0; compat < 2; compat++) {
            double got, want = compat ? means[i].compat : means[i].plain;
            if (run(means[i].text, compat, 1, &got) < 0)
                fail_msg("%s: %s", means[i].text, err.text);
            if (!(got == want || (isnan(got) && isnan(want))))
                fail_msg("%s%s: %g, not %g", means[i].text, compat ? " (compat)" : "", got, want);
        }
}

static void test_expr__plain_constants_are_no_result_with_compat(void **state)
{
    static const char *const bad[] = {
        "1",  "a > b ? 1 : 0", "a > b ? 1 : a", "a < b ? a : 0.5", "a > b ? (a > 100 ? a : 2) : a",
        "-3", "1 + 2"};
    static const char *const good[] = {"a > b ? a : 1",
                                       "a < b ? 1 : a * 2",
                                       "a > b ? 1.0d : 0",
                                       "a > b ? a > 1 : 7",
                                       "(a > b ? 1 : 0) * b",
                                       "1.5 + 2",
                                       "!1",
                                       "a && 1",
                                       "c ? 5 : b"};
    double out;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(run(bad[i], false, 1, &out), 0);
        if (run(bad[i], true, 1, &out) != TS_EINVAL)
            fail_msg("%s gives %g", bad[i], out);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (run(good[i], true, 1, &out) < 0)
            fail_msg("%s: %s", good[i], err.text);
}

static void test_expr__all_rows_of_all_blocks(void **state)
{
    double out[1200];
    (void)state;
    assert_int_equal(run("a > 1 ? a * 10 + b : -c", false, 1200, out), 0);
    for (size_t k = 0; k < 1200; k++) {
        double a = value_of(TS_SLICE_LIT("a"), k), b = value_of(TS_SLICE_LIT("b"), k),
               c = value_of(TS_SLICE_LIT("c"), k);
        assert_true(out[k] == (a > 1 ? a * 10 + b : -c));
    }
    assert_int_equal(run("a", false, 1200, out), 0);
    assert_true(out[1199] == -1);
    /* row 2 of four alone is a constant */
    assert_int_equal(run("a == 0 ? 1 : a", true, 2, out), 0);
    assert_int_equal(run("a == 0 ? 1 : a", true, 3, out), TS_EINVAL);
}

static void test_expr__wrong_texts_say_where(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "it ends at position 1 where a variable, a number or '(' is wanted"},
        {"a +", "it ends at position 4"},
        {"a + * b", "unexpected '*' at position 5"},
        {"(a + b", "it ends at position 7 where ')' is wanted"},
        {"a + b)", "unexpected ')' at position 6, an operator is wanted"},
        {"a b", "unexpected 'b' at position 3, an operator is wanted"},
        {"a ? b", "it ends at position 6 where ':' is wanted"},
        {"a : b", "unexpected ':' at position 3"},
        {"a = b", "unexpected '=' at position 3"},
        {"a & b", "unexpected '&' at position 3"},
        {"3a", "unexpected 'a' at position 2"},
        {".5", "unexpected '.' at position 1"},
        {"a + 1e999", "at position 5: value is NaN or Infinite"},
        {"a + 99999999999999999999", "number '99999999999999999999' at position 5"},
        {"f(a)", "unexpected '(' at position 2"},
        {"a + +b", "unexpected '+' at position 5"},
        {"a; b", "unexpected ';' at position 2"},
        {"not", "it ends at position 4"},
        {"a\xc3\xa9", "at position 2"},
    };
    double out;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(run(rows[i].text, false, 1, &out), TS_EPARSE);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void test_expr__limits(void **state)
{
    struct qry_expr e;
    static char text[QRY_EXPR_MAX_BYTES + 10];
    double out;
    (void)state;
    memset(text, '(', 100);
    snprintf(text + 100, 10, "a");
    assert_int_equal(qry_expr_parse(ts_slice_str(text), false, &arena, &e, &err), TS_ELIMIT);
    memset(text, '-', 100);
    assert_int_equal(qry_expr_parse(ts_slice_str(text), false, &arena, &e, &err), TS_ELIMIT);
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "a ? b : ");
    snprintf(text + n, sizeof text - n, "c");
    assert_int_equal(qry_expr_parse(ts_slice_str(text), true, &arena, &e, &err), TS_ELIMIT);
    n = 0;
    for (int i = 0; i <= QRY_EXPR_MAX_VARS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%sv%d", i ? "+" : "", i);
    assert_int_equal(qry_expr_parse(ts_slice_str(text), false, &arena, &e, &err), TS_ELIMIT);
    memset(text, ' ', sizeof text);
    assert_int_equal(qry_expr_parse((struct ts_slice){text, sizeof text}, false, &arena, &e, &err),
                     TS_ELIMIT);
    /* many terms on one level are no depth */
    for (size_t i = 0; i + 1 < 8001; i += 2)
        memcpy(text + i, "a+", 2);
    memcpy(text + 8000, "a", 2);
    assert_int_equal(run(text, false, 1, &out), 0);
    assert_true(out == 7 * 4001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_expr__means, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expr__plain_constants_are_no_result_with_compat, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_expr__all_rows_of_all_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expr__wrong_texts_say_where, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expr__limits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
