/*
 * test_search.c - words of a search, and what they are held against.
 */
#include "tsd/meta/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Does the query hold for a station? */
static bool t_holds(const char *query)
{
    struct ts_error err = {0};
    struct tsd_terms *terms;
    struct tsd_doc doc = {0};
    tsd_doc_add(&doc, TS_SLICE_LIT("name"), TS_SLICE_LIT("EDDF"));
    tsd_doc_add(&doc, TS_SLICE_LIT("type"), TS_SLICE_LIT("TAGV"));
    tsd_doc_add(&doc, TS_SLICE_LIT("place"), TS_SLICE_LIT("Frankfurt am Main"));
    tsd_doc_add(&doc, TS_SLICE_LIT("url"), TS_SLICE_LIT("http://x.org/a=\"b\""));
    tsd_doc_add(&doc, TS_SLICE_LIT("bytes"), TS_SLICE_LIT("\xff\xfe"));
    tsd_doc_add(&doc, TS_SLICE_LIT("empty"), (struct ts_slice){NULL, 0});
    if (tsd_terms_new(ts_slice_str(query), &terms, &err) < 0)
        fail_msg("%s: %s", query, err.text);
    int holds = tsd_terms_match(terms, &doc, &err);
    assert_true(holds >= 0);
    tsd_terms_free(terms);
    ts_free(doc.fields);
    return holds > 0;
}

static void t_all(const char *const *queries, bool want)
{
    for (; *queries; queries++)
        if (t_holds(*queries) != want)
            fail_msg("%s: %s", *queries, want ? "does not hold" : "holds");
}

static void test_search__words_that_hold(void **state)
{
    static const char *const queries[] = {"",
                                          "*",
                                          "eddf",
                                          "FURT",
                                          "edd*",
                                          "*f",
                                          "e??f",
                                          "*d*d*",
                                          "name:eddf",
                                          "NAME:edd",
                                          "name=EDDF",
                                          "place:frank*main",
                                          "place:\"am main\"",
                                          "\"am main\"",
                                          "custom.place:main",
                                          "eddf  frankfurt type:tag",
                                          "name:/^E.*F$/",
                                          "name:/^e.*f$/i",
                                          "/am\\ Main/",
                                          "place:\"/am Main/\"",
                                          "url=http://x.org/a=\\\"b\\\"",
                                          "\"http://x\"",
                                          "empty=",
                                          "empty:*",
                                          NULL};
    (void)state;
    t_all(queries, true);
}

static void test_search__words_that_do_not(void **state)
{
    static const char *const queries[] = {
        "edds",         "e?f",       "name=eddf", "name=EDD",          "place:eddf",
        "eddf hamburg", "name:/^e/", "x:eddf",    "custom.x:*",        "dd?",
        "place:*frank", "place=",    "bytes:/x/", "name:/^((E+)+)+$/", NULL};
    (void)state;
    t_all(queries, false);
}

static void test_search__mistakes_are_told(void **state)
{
    struct ts_error err = {0};
    struct tsd_terms *terms;
    struct ts_buf many;
    (void)state;
    assert_int_equal(tsd_terms_new(TS_SLICE_LIT("name:/(/"), &terms, &err), TS_EINVAL);
    assert_null(terms);
    assert_non_null(strstr(err.text, "missing closing parenthesis"));
    ts_buf_init(&many, 0);
    for (int i = 0; i < 64; i++)
        ts_buf_str(&many, "a ");
    assert_int_equal(tsd_terms_new(ts_buf_get(&many), &terms, &err), 0);
    tsd_terms_free(terms);
    ts_buf_str(&many, "a ");
    assert_int_equal(tsd_terms_new(ts_buf_get(&many), &terms, &err), TS_ELIMIT);
    ts_buf_release(&many);
    tsd_terms_free(NULL);
}

static void test_search__expressions_end(void **state)
{
    struct ts_error err = {0};
    struct tsd_terms *terms;
    struct tsd_doc doc = {0};
    (void)state;
    assert_int_equal(tsd_terms_new(TS_SLICE_LIT("/^(a+)+$/"), &terms, &err), 0);
    tsd_doc_add(&doc, TS_SLICE_LIT("x"),
                TS_SLICE_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
    assert_int_equal(tsd_terms_match(terms, &doc, &err), TS_ELIMIT); /* it is not known whether it matches */
    assert_non_null(strstr(err.text, "takes too long"));
    assert_true(tsd_terms_steps(terms) >= 100000);
    tsd_terms_free(terms);
    ts_free(doc.fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__words_that_hold),
        cmocka_unit_test(test_search__words_that_do_not),
        cmocka_unit_test(test_search__mistakes_are_told),
        cmocka_unit_test(test_search__expressions_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
