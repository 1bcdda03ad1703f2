/*
 * test_json.c - JSON out: commas, escapes, broken UTF-8; JSON in: depth, errors with their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/json.h"

#define SEED 0xa0761d6478bd642full
#include "base_kit.h"

static struct ts_buf buf;
static struct ts_json js;

static int set_up(void **state)
{
    (void)state;
    ts_buf_init(&buf, 0);
    ts_json_init(&js, &buf);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_buf_release(&buf);
    return 0;
}

static void t_expect(const char *want)
{
    assert_false(buf.failed);
    ts_buf_char(&buf, 0);
    assert_string_equal(buf.p, want);
}

static void test_json__commas_and_nesting_come_right(void **state)
{
    (void)state;
    ts_json_arr(&js);
    ts_json_obj(&js);
    ts_json_key(&js, "a");
    ts_json_int(&js, -1);
    ts_json_key_slice(&js, TS_SLICE_LIT("b"));
    ts_json_arr(&js);
    ts_json_arr_end(&js);
    ts_json_key(&js, "c");
    ts_json_obj(&js);
    ts_json_obj_end(&js);
    ts_json_key(&js, "d");
    ts_json_arr(&js);
    ts_json_bool(&js, true);
    ts_json_bool(&js, false);
    ts_json_null(&js);
    ts_json_raw(&js, TS_SLICE_LIT("[1, 2]"));
    ts_json_str(&js, "x");
    ts_json_arr_end(&js);
    ts_json_obj_end(&js);
    ts_json_obj(&js);
    ts_json_obj_end(&js);
    ts_json_arr_end(&js);
    t_expect("[{\"a\":-1,\"b\":[],\"c\":{},\"d\":[true,false,null,[1, 2],\"x\"]},{}]");
}

static void test_json__members_are_name_and_value(void **state)
{
    (void)state;
    ts_json_obj(&js);
    ts_json_member_str(&js, "q\"", "a\nb");
    ts_json_member_slice(&js, "s", (struct ts_slice){"xyz", 2});
    ts_json_member_slice(&js, "none", (struct ts_slice){NULL, 0});
    ts_json_member_slices(&js, (struct ts_slice){"k\0\"", 3}, TS_SLICE_LIT("v\xff"));
    ts_json_member_int(&js, "i", INT64_MIN);
    ts_json_member_count(&js, "n", INT64_MAX);
    ts_json_member_count(&js, "wraps", UINT64_MAX);
    ts_json_member_double(&js, "d", 2);
    ts_json_member_double(&js, "nan", (double)NAN);
    ts_json_member_bool(&js, "t", true);
    ts_json_member_bool(&js, "f", false);
    ts_json_member_null(&js, "z");
    ts_json_member_raw(&js, "r", TS_SLICE_LIT("[1, 2]"));
    ts_json_obj_end(&js);
    t_expect("{\"q\\\"\":\"a\\nb\",\"s\":\"xy\",\"none\":\"\",\"k\\u0000\\\"\":\"v\xef\xbf\xbd\","
             "\"i\":-9223372036854775808,\"n\":9223372036854775807,\"wraps\":-1,\"d\":2.0,\"nan\":\"NaN\","
             "\"t\":true,\"f\":false,\"z\":null,\"r\":[1, 2]}");
}

static void test_json__members_that_hold_others_take_commas_right(void **state)
{
    (void)state;
    ts_json_obj(&js);
    ts_json_member_obj(&js, "o");
    ts_json_member_arr(&js, "a");
    ts_json_int(&js, 1);
    ts_json_int(&js, 2);
    ts_json_arr_end(&js);
    ts_json_member_arr(&js, "b");
    ts_json_arr_end(&js);
    ts_json_obj_end(&js);
    ts_json_member_obj(&js, "p");
    ts_json_obj_end(&js);
    ts_json_member_int(&js, "i", 3);
    ts_json_obj_end(&js);
    t_expect("{\"o\":{\"a\":[1,2],\"b\":[]},\"p\":{},\"i\":3}");
}

static void test_json__not_given_and_empty_are_told_apart_by_name(void **state)
{
    (void)state;
    static const struct ts_slice none = {NULL, 0}, empty = {"x", 0}, full = {"x", 1};
    ts_json_obj(&js);
    ts_json_member_given(&js, "a", none);
    ts_json_member_given(&js, "b", empty);
    ts_json_member_given(&js, "c", full);
    ts_json_member_filled(&js, "d", none);
    ts_json_member_filled(&js, "e", empty);
    ts_json_member_filled(&js, "f", full);
    ts_json_obj_end(&js);
    t_expect("{\"a\":null,\"b\":\"\",\"c\":\"x\",\"d\":null,\"e\":null,\"f\":\"x\"}");
}

static void test_json__numbers_are_plain(void **state)
{
    (void)state;
    ts_json_arr(&js);
    ts_json_int(&js, INT64_MIN);
    ts_json_int(&js, INT64_MAX);
    ts_json_double(&js, 7);
    ts_json_double(&js, 1e7);
    ts_json_double(&js, (double)NAN);
    ts_json_double(&js, (double)INFINITY);
    ts_json_double(&js, -(double)INFINITY);
    ts_json_arr_end(&js);
    t_expect("[-9223372036854775808,9223372036854775807,7.0,1.0E7,\"NaN\",\"Infinity\",\"-Infinity\"]");
}

static void test_json__strings_are_escaped(void **state)
{
    (void)state;
    ts_json_obj(&js);
    ts_json_key(&js, "q\"\\/");
    ts_json_slice(&js, (struct ts_slice){"\b\t\n\v\f\r\x01\x1f\x7f\0z", 11});
    ts_json_obj_end(&js);
    t_expect("{\"q\\\"\\\\/\":\"\\b\\t\\n\\u000b\\f\\r\\u0001\\u001f\x7f\\u0000z\"}");
}

static void test_json__broken_utf8_becomes_the_replacement_character(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"a\x80z", "a?z"},             /* stray continuation */
        {"\xc3", "?"},                 /* cut */
        {"\xe2\x82", "??"},            /* cut */
        {"\xc0\xaf", "??"},            /* overlong */
        {"\xe0\x9f\xbf", "???"},       /* overlong */
        {"\xf0\x8f\xbf\xbf", "????"},  /* overlong */
        {"\xed\xa0\x80", "???"},       /* surrogate */
        {"\xf4\x90\x80\x80", "????"},  /* above U+10FFFF */
        {"\xff\xc3\xbc", "?\xc3\xbc"}, /* never a first byte */
        {"\xc3\"", "?\\\""},           /* must not swallow the quote */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_buf want;
        ts_buf_init(&want, 0);
        ts_buf_char(&want, '"');
        for (const char *p = rows[i].out; *p; p++)
            ts_buf_str(&want, *p == '?' ? "\xef\xbf\xbd" : (char[]){*p, 0});
        ts_buf_char(&want, '"');
        ts_buf_clear(&buf);
        ts_json_init(&js, &buf);
        ts_json_str(&js, rows[i].in);
        if (!ts_slice_eq(ts_buf_get(&buf), ts_buf_get(&want)))
            fail_msg("row %zu", i);
        ts_buf_release(&want);
    }
}

static void test_json__any_bytes_give_a_text_that_loads(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        char bytes[40];
        size_t n = t_rand() % sizeof(bytes);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(t_rand() % 4 ? t_rand() : 0xc0 | (t_rand() & 63));
        for (size_t k = 0; k < n; k++)
            bytes[k] = bytes[k] ? bytes[k] : 'x'; /* U+0000 is refused on loading */
        ts_buf_clear(&buf);
        ts_json_init(&js, &buf);
        ts_json_arr(&js);
        ts_json_slice(&js, (struct ts_slice){bytes, n});
        ts_json_arr_end(&js);
        json_t *doc;
        struct ts_error err = {0};
        if (ts_json_load(ts_buf_get(&buf), &doc, &err) != 0)
            fail_msg("round %d: %s", i, err.text);
        json_decref(doc);
    }
}

static void test_json__a_full_buffer_stays_failed(void **state)
{
    (void)state;
    struct ts_buf small;
    ts_buf_init(&small, 10);
    ts_json_init(&js, &small);
    ts_json_arr(&js);
    for (int i = 0; i < 20; i++)
        ts_json_str(&js, "abc");
    ts_json_arr_end(&js);
    assert_true(small.failed);
    assert_true(small.n <= 10);
    ts_buf_release(&small);
}

static int t_load(const char *text, struct ts_error *err)
{
    json_t *doc = (json_t *)&doc;
    int rc = ts_json_load(ts_slice_str(text), &doc, err);
    if (rc != 0)
        assert_null(doc);
    json_decref(doc);
    return rc;
}

static void test_json__good_texts_load(void **state)
{
    (void)state;
    json_t *doc;
    assert_int_equal(ts_json_load(TS_SLICE_LIT("{\"a\":1,\"a\":2.5}  \n"), &doc, NULL), 0);
    assert_true(json_real_value(json_object_get(doc, "a")) == 2.5); /* the last of two wins */
    json_decref(doc);
    assert_int_equal(t_load("[9223372036854775807]", NULL), 0);
    assert_int_equal(t_load("7", NULL), 0);
    assert_int_equal(t_load("\"[[[[\\\"[[\"", NULL), 0);
}

static void test_json__bad_texts_tell_their_place(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      " ",          "{",   "[1,]",    "{\"a\" 1}",     "[NaN]",
                                      "[1] 2", "[\"a\nb\"]", "nul", "[1e400]", "[\"\\u0000\"]", "[\"\xff\"]",
                                      "\"",    "[\"\\"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0};
        if (t_load(bad[i], &err) != TS_EPARSE)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(strncmp(err.text, "JSON line ", 10), 0);
    }
    struct ts_error err = {0};
    assert_int_equal(t_load("{\n\"a\": 1,\n  x}", &err), TS_EPARSE);
    assert_non_null(strstr(err.text, "line 3 column"));
    assert_int_equal(ts_json_load((struct ts_slice){NULL, 0}, &(json_t *){0}, NULL), TS_EPARSE);
}

static void test_json__depth_is_limited(void **state)
{
    (void)state;
    static char text[200001];
    struct ts_error err = {0};
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_int_equal(t_load(text, &err), 0);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_int_equal(t_load(text, &err), TS_EPARSE);
    assert_string_equal(err.text, "JSON line 1 column 65: more than 64 levels deep");
    memset(text, '[', sizeof(text) - 1);
    assert_int_equal(t_load(text, &err), TS_EPARSE);
}

/* At the limit and one above it, each kind of value; what stands in strings counts nothing. */
static void test_json__values_are_limited(void **state)
{
    (void)state;
    static const char *const unit[] = {"1,", "[],", "{},", "\"a,[{\",", "{\"a\":1},", "null,"};
    static const size_t cost[] = {1, 2, 2, 1, 2, 1}; /* of a unit */
    struct ts_buf b;
    ts_json_set_max_values(1001);
    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
        ts_buf_init(&b, 0);
        ts_buf_char(&b, '['); /* 2 with the last 0 */
        for (size_t n = 0; n < 998 / cost[i]; n++)
            ts_buf_str(&b, unit[i]);
        ts_buf_str(&b, "0]");
        struct ts_error err = {0};
        ts_buf_char(&b, 0);
        if (t_load(b.p, &err) != 0)
            fail_msg("%s: %s", unit[i], err.text);
        b.n -= 2; /* the bracket and the zero */
        ts_buf_str(&b, ",0,0]");
        ts_buf_char(&b, 0);
        assert_int_equal(t_load(b.p, &err), TS_ELIMIT);
        assert_string_equal(err.text,
                            "The JSON has more than 1001 values (json_max_values): send it in parts");
        ts_buf_release(&b);
    }
    ts_json_set_max_values(TS_JSON_MAX_VALUES_DEFAULT);
}

static void test_json__members_that_nobody_knows(void **state)
{
    (void)state;
    static const char known[] = "metric tags explicitTags";
    struct ts_json_unknown unknown = {.n = 0};
    struct ts_error err = {0};
    struct ts_buf b;
    json_t *o;
    assert_int_equal(
        ts_json_load(TS_SLICE_LIT("{\"metric\":1,\"refId\":2,\"tag\":null,\"a\\r\\nb\":3}"), &o, &err), 0);
    assert_int_equal(ts_json_known(o, known, &unknown, &err), 0);
    assert_int_equal(ts_json_known(o, known, &unknown, &err), 0); /* each once */
    assert_string_equal(unknown.names, "refId, a??b");
    json_decref(o);
    assert_int_equal(ts_json_load(TS_SLICE_LIT("{\"explicittags\":true}"), &o, &err), 0);
    assert_int_equal(ts_json_known(o, known, &unknown, &err), TS_EINVAL);
    assert_string_equal(err.text, "Unknown member: explicittags; did you mean explicitTags?");
    json_decref(o);
    /* many: their names fit, the rest is not looked at */
    ts_buf_init(&b, 0);
    for (int i = 0; i < 1000; i++)
        ts_buf_printf(&b, "%s\"long.name.%d\":%d", i ? "," : "{", i, i);
    ts_buf_str(&b, "}");
    unknown = (struct ts_json_unknown){.n = 0};
    assert_int_equal(ts_json_load(ts_buf_get(&b), &o, &err), 0);
    assert_int_equal(ts_json_known(o, known, &unknown, &err), 0);
    assert_true(unknown.n <= 101 && strlen(unknown.names) < sizeof(unknown.names));
    json_decref(o);
    ts_buf_release(&b);
}

#define T_CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_json__commas_and_nesting_come_right),
        T_CASE(test_json__members_are_name_and_value),
        T_CASE(test_json__members_that_hold_others_take_commas_right),
        T_CASE(test_json__not_given_and_empty_are_told_apart_by_name),
        T_CASE(test_json__numbers_are_plain),
        T_CASE(test_json__strings_are_escaped),
        T_CASE(test_json__broken_utf8_becomes_the_replacement_character),
        T_CASE(test_json__any_bytes_give_a_text_that_loads),
        T_CASE(test_json__a_full_buffer_stays_failed),
        T_CASE(test_json__good_texts_load),
        T_CASE(test_json__bad_texts_tell_their_place),
        T_CASE(test_json__depth_is_limited),
        T_CASE(test_json__values_are_limited),
        T_CASE(test_json__members_that_nobody_knows),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
