/*
 * test_put_json.c - data points out of JSON: the pull parser and the tree see the same, nonsense is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/budget.h"
#include "tsd/protocols/http/put_json.h"

static struct ts_arena arena;
static struct tsd_put_body body;

static int tear_down(void **state)
{
    (void)state;
    tsd_put_body_release(&body);
    ts_arena_release(&arena);
    return 0;
}

/* What was read, as text. */
static void show(char *out, size_t max)
{
    size_t n = (size_t)snprintf(out, max, "%s", body.is_array ? "[" : "");
    for (size_t i = 0; i < body.n_points; i++) {
        const struct tsd_put_point *p = &body.points[i];
        if (p->null_point) {
            n += (size_t)snprintf(out + n, max - n, "null;");
            continue;
        }
        n += (size_t)snprintf(out + n, max - n, "%.*s %.*s%s %.*s", p->metric.p ? (int)p->metric.n : 1,
                              p->metric.p ? p->metric.p : "-", p->time.p ? (int)p->time.n : 1,
                              p->time.p ? p->time.p : "-", p->time_quoted ? "\"" : "",
                              p->value.p ? (int)p->value.n : 1, p->value.p ? p->value.p : "-");
        for (uint32_t k = 0; k < p->n_tags; k++)
            n += (size_t)snprintf(out + n, max - n, " %.*s=%.*s", (int)p->tags[k].k.n, p->tags[k].k.p,
                                  (int)p->tags[k].v.n, p->tags[k].v.p);
        n += (size_t)snprintf(out + n, max - n, ";");
    }
}

static void check(const char *json, bool tree, const char *want)
{
    char got[1024];
    struct ts_error err = {0}, details = {0};
    tear_down(NULL);
    if (tsd_put_body_read(ts_slice_str(json), false, &arena, &body, &err, &details) < 0)
        fail_msg("%s: %s (%s)", json, err.text, details.text);
    if ((body.texts != NULL) != tree)
        fail_msg("%s: read by the %s", json, body.texts ? "tree" : "pull parser");
    show(got, sizeof(got));
    assert_string_equal(got, want);
}

static void test_put_json__usual_shapes_are_read_in_place(void **state)
{
    (void)state;
    check("{\"metric\":\"m\",\"timestamp\":1,\"value\":2,\"tags\":{\"a\":\"b\"}}", false, "m 1 2 a=b;");
    check(" [ { \"tags\" : { \"a\" : \"b\" , \"c\" : 5 } , \"value\" : -1.5e+3 ,\n\t\"timestamp\" : \"7\" , "
          "\"metric\" : \"m\" } ] \r\n",
          false, "[m 7\" -1.5e+3 a=b c=5;");
    check("[]", false, "[");
    check("[\n\n]", false, "[");
    check("[{},{\"value\":\"\"}]", false, "[- - -;- - ;");
    check("{\"metric\":\"m\",\"metric\":\"n\",\"tags\":{\"a\":\"b\",\"a\":\"c\"}}", false, "n - - a=c;");
    check("{\"other\":\"x\",\"value\":NaN,\"timestamp\":-Infinity}", false, "- -Infinity NaN;");
    check("{\"value\":99999999999999999999999,\"metric\":\"k\xc3\xb6ln\"}", false,
          "k\xc3\xb6ln - 99999999999999999999999;");
    check("{\"value\":0,\"timestamp\":0.5}", false, "- 0.5 0;");
}

static void test_put_json__unusual_shapes_go_to_the_tree(void **state)
{
    (void)state;
    check("{\"metric\":\"a\\u0062\",\"value\":2,\"timestamp\":1,\"tags\":{\"x\\ty\":\"z\"}}", true,
          "ab 1 2 x\ty=z;");
    check("[null,{\"metric\":null,\"value\":1.5,\"tags\":null},5]", true, "[null;- - 1.5;null;");
    check("{\"metric\":\"m\",\"more\":{\"x\":[1,2]},\"value\":true,\"tags\":{\"a\":true,\"b\":1.5}}", true,
          "m - true a=true b=1.5;");
    check("{\"metric\":\"m\",\"timestamp\":[1],\"value\":{}}", true, "m - -;");
}

/* Numbers keep their text, whatever way they are read. */
static void test_put_json__numbers_are_the_text_that_was_sent(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "-0", "1.50", "1e3", "0.0", "-1E+05", "18446744073709551616", "1e999", "-0.10", "NaN", "-Infinity"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *n = numbers[i];
        char json[300], want[200];
        snprintf(json, sizeof(json), "{\"timestamp\":%s,\"value\": %s ,\"tags\":{\"a\":%s}}", n, n, n);
        snprintf(want, sizeof(want), "- %s %s a=%s;", n, n, n);
        check(json, false, want);
        snprintf(json, sizeof(json), "{\"timestamp\":%s,\"value\": %s ,\"tags\":{\"\\u0061\":%s}}", n, n, n);
        check(json, true, want);
        snprintf(json, sizeof(json), "{\"more\":[%s,[%s]],\"timestamp\":%s,\"value\":%s,\"tags\":{\"a\":%s}}",
                 n, n, n, n, n);
        check(json, true, want);
    }
    check("{\"timestamp\":\"5\",\"tags\":{\"1\":\"2\\u0033\"}}", true, "- 5\" - 1=23;");
    /* strings that look like what numbers become meanwhile */
    check("{\"timestamp\":\"\x7f\x35\",\"tags\":{\"\\u007Fx\":\"\\u007f\x7f\"}}", true,
          "- \x7f\x35\" - \x7fx=\x7f\x7f;");
    check("{\"metric\":\"a\\\"1\",\"value\":1}", true, "a\"1 - 1;");
}

static void test_put_json__nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{",
                                      "[",
                                      "[{]",
                                      "[{}",
                                      "[{},]",
                                      "[,]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"value\":01}",
                                      "{\"value\":1.}",
                                      "{\"value\":.5}",
                                      "{\"value\":+1}",
                                      "{\"value\":1e}",
                                      "{\"value\":--1}",
                                      "{}x",
                                      "[]]",
                                      "{\"a\":\"b}",
                                      "{\"metric\":\"a\nb\"}",
                                      "{\"tags\":{\"a\":\"b\",}}",
                                      "{,}",
                                      "{\"value\":Nan}",
                                      "{1:2}",
                                      "{\"a\":{-1 : 2}}",
                                      "{\"a\":1 2}",
                                      "{\"a\":1\"2\"}",
                                      "{\"a\":{\"b\":[1.e5]}}",
                                      "{\"a\":[01]}",
                                      "{\"a\":[1-2]}",
                                      "[{}{}]",
                                      "[{}] \"and more",
                                      "{\"value\":1} \"\\"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0}, details = {0};
        tear_down(NULL);
        if (tsd_put_body_read(ts_slice_str(bad[i]), false, &arena, &body, &err, &details) != TS_EPARSE)
            fail_msg("%s was taken", bad[i]);
        assert_string_equal(err.text, "Unable to parse the given JSON");
        assert_true(details.text[0] != 0);
    }
    static const char *const other[] = {"", " ", "x", "\"a\"", "5", "null"};
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        struct ts_error err = {0};
        assert_int_equal(tsd_put_body_read(ts_slice_str(other[i]), false, &arena, &body, &err, NULL),
                         TS_EPARSE);
        assert_string_equal(err.text, "The JSON must start as an object or an array");
    }
}

static void test_put_json__many_points_and_tags(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err = {0};
    ts_buf_init(&b, 0);
    ts_buf_char(&b, '[');
    for (int i = 0; i < 5000; i++)
        ts_buf_printf(&b, "%s{\"metric\":\"m%d\",\"timestamp\":%d,\"value\":%d,\"tags\":{\"a\":\"b\"}}",
                      i ? "," : "", i, i, i);
    ts_buf_char(&b, ']');
    assert_int_equal(tsd_put_body_read(ts_buf_get(&b), false, &arena, &body, &err, NULL), 0);
    assert_null(body.tree);
    assert_int_equal(body.n_points, 5000);
    for (int i = 0; i < 5000; i++) {
        char want[16];
        snprintf(want, sizeof(want), "m%d", i);
        assert_true(ts_slice_is(body.points[i].metric, want));
    }
    /* more tags than the pull parser keeps: the tree takes over */
    ts_buf_clear(&b);
    ts_buf_str(&b, "{\"metric\":\"m\",\"tags\":{");
    for (int i = 0; i < 300; i++)
        ts_buf_printf(&b, "%s\"k%d\":\"v\"", i ? "," : "", i);
    ts_buf_str(&b, "}}");
    assert_int_equal(tsd_put_body_read(ts_buf_get(&b), false, &arena, &body, &err, NULL), 0);
    assert_non_null(body.texts);
    assert_int_equal(body.points[0].n_tags, 300);
    ts_buf_release(&b);
}

/* Every front part of a body is refused, whatever lies behind its end. */
static void test_put_json__cut_bodies_are_refused(void **state)
{
    (void)state;
    static const char json[] =
        "[{\"metric\":\"m\",\"timestamp\":15,\"value\":-2.5e3,\"tags\":{\"a\":\"b\",\"c\":\"d\"}},{}]";
    for (size_t n = 1; n < sizeof(json) - 1; n++) {
        struct ts_error err = {0};
        tear_down(NULL);
        char *copy = ts_xmalloc(n);
        memcpy(copy, json, n);
        assert_int_equal(tsd_put_body_read((struct ts_slice){copy, n}, false, &arena, &body, &err, NULL),
                         TS_EPARSE);
        ts_free(copy);
    }
}

/* A text of n times unit between two others. */
static struct ts_slice repeated(struct ts_buf *b, const char *before, const char *unit, size_t n,
                                const char *after)
{
    ts_buf_clear(b);
    ts_buf_str(b, before);
    for (size_t i = 0; i < n; i++)
        ts_buf_str(b, unit);
    ts_buf_str(b, after);
    return ts_buf_get(b);
}

/* Each of these took hours when every digit was read again from there on. */
static void test_put_json__digits_without_end_are_read_once(void **state)
{
    (void)state;
    static const char *const shapes[][3] = {{"[", "0", ""},      {"[", "7", ":1]"},        {"[-", "0", "]"},
                                            {"[1.", "00", "x]"}, {"[0", "000", ":\"a\"]"}, {"[1e", "5", ""}};
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct ts_error err = {0};
        tear_down(NULL);
        struct ts_slice text = repeated(&b, shapes[i][0], shapes[i][1], 8000000, shapes[i][2]);
        assert_int_equal(tsd_put_body_read(text, false, &arena, &body, &err, NULL), TS_EPARSE);
    }
    ts_buf_release(&b);
}

static void test_put_json__large_bodies_are_refused_before_they_take_memory(void **state)
{
    (void)state;
    static const char *const units[] = {"[],", "{},", "null,{},{},", "[[]],", "\"\\n\","};
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (int tree = 0; tree < 2; tree++)
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
            struct ts_error err = {0}, details = {0};
            tear_down(NULL);
            struct ts_slice text = repeated(&b, "[", units[i], 600000, "{}]");
            assert_int_equal(tsd_put_body_read(text, tree, &arena, &body, &err, &details), TS_ELIMIT);
            assert_non_null(strstr(err.text, "json_max_values"));
            assert_true(arena.used_bytes <=
                        (size_t)TS_JSON_MAX_VALUES_DEFAULT * 4 * sizeof(*body.points) + (1 << 20));
        }
    assert_int_equal(tsd_put_body_read(repeated(&b, "[", "{},", 499999, "{}]"), false, &arena, &body,
                                       &(struct ts_error){0}, NULL),
                     0);
    assert_int_equal(body.n_points, 500000);
    tear_down(NULL);
    assert_int_equal(tsd_put_body_read(repeated(&b, "[", "{},", 500000, "{}]"), false, &arena, &body,
                                       &(struct ts_error){0}, NULL),
                     TS_ELIMIT);
    ts_buf_release(&b);
}

static void test_put_json__points_are_taken_from_the_account(void **state)
{
    static const char *const units[] = {"{\"tags\":{\"a\":1,\"b\":2}},", "{\"x\":[],\"tags\":{\"a\":1}},",
                                        "{},", "{\"x\":[]},"};
    struct ts_budget account;
    struct ts_buf b;
    (void)state;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        struct ts_error err = {0};
        tear_down(NULL);
        ts_budget_init(&account, "bodies", "http_body_total_bytes", NULL, 1 << 20);
        arena.budget = &account;
        struct ts_slice text = repeated(&b, "[", units[i], 100000, "{}]");
        assert_int_equal(tsd_put_body_read(text, false, &arena, &body, &err, NULL), TS_ELIMIT);
        assert_non_null(strstr(err.text, "http_body_total_bytes"));
        assert_non_null(strstr(err.text, "in parts")); /* it would never fit: no reason to try again */
        assert_true(atomic_load(&account.peak_bytes) <= 1 << 20);
        assert_null(body.texts);
        tear_down(NULL);
        assert_int_equal(atomic_load(&account.used_bytes), 0);
        assert_int_equal(
            tsd_put_body_read(repeated(&b, "[", units[i], 10, "{}]"), false, &arena, &body, &err, NULL), 0);
        assert_true(atomic_load(&account.used_bytes) > 0);
    }
    tear_down(NULL);
    arena.budget = NULL;
    ts_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_put_json__usual_shapes_are_read_in_place, tear_down),
        cmocka_unit_test_teardown(test_put_json__unusual_shapes_go_to_the_tree, tear_down),
        cmocka_unit_test_teardown(test_put_json__numbers_are_the_text_that_was_sent, tear_down),
        cmocka_unit_test_teardown(test_put_json__nonsense_is_refused, tear_down),
        cmocka_unit_test_teardown(test_put_json__many_points_and_tags, tear_down),
        cmocka_unit_test_teardown(test_put_json__cut_bodies_are_refused, tear_down),
        cmocka_unit_test_teardown(test_put_json__digits_without_end_are_read_once, tear_down),
        cmocka_unit_test_teardown(test_put_json__large_bodies_are_refused_before_they_take_memory, tear_down),
        cmocka_unit_test_teardown(test_put_json__points_are_taken_from_the_account, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
