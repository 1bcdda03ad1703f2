/*
 * test_request.c - request targets: paths, versions, parameters, percent signs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/query.h"
#include "tsd/protocols/http/http.h"

static struct tsd_daemon daemon;
static struct tsd_req req;

static int target(const char *text, struct ts_error *err)
{
    ts_arena_release(&req.arena);
    memset(&req, 0, sizeof(req));
    req.d = &daemon;
    daemon.set.jsonp = true;
    return tsd_req_target(&req, ts_slice_str(text), err);
}

static int tear_down(void **state)
{
    (void)state;
    ts_arena_release(&req.arena);
    return 0;
}

static void check_path(const char *text, const char *want)
{
    assert_int_equal(target(text, NULL), 0);
    if (!ts_slice_is(req.path, want))
        fail_msg("%s: %.*s, want %s", text, (int)req.path.n, req.path.p, want);
}

static void test_request__paths_are_made_plain(void **state)
{
    (void)state;
    check_path("/api/query", "api/query");
    check_path("/api/query/", "api/query");
    check_path("//api/query//", "api/query");
    check_path("/Api/QUERY", "api/query");
    check_path("/api/v1/query", "api/query");
    check_path("/api/v1/query/last/", "api/query/last");
    check_path("/api/v1", "api");
    check_path("/api/v0/query", "api/query");
    check_path("/api/vx/query", "api/vx/query");
    check_path("/api/version", "api/version");
    check_path("/api/%71uery", "api/query");
    check_path("/a+b", "a+b");
    check_path("/", "");
    check_path("", "");
    check_path("*", "*");
    check_path("http://host:4242/api/put?x", "api/put");
    check_path("http://host", "");
    check_path("/a#b?c", "a");
}

static void test_request__newer_versions_are_refused(void **state)
{
    (void)state;
    assert_int_equal(target("/api/v2/query", NULL), TS_EVERSION);
    assert_int_equal(target("/api/v10/query", NULL), TS_EVERSION);
}

static void check_param(const char *name, const char *want)
{
    struct ts_slice v;
    assert_int_equal(tsd_req_param(&req, name, &v), want != NULL);
    if (want && !ts_slice_is(v, want))
        fail_msg("%s=%.*s, want %s", name, (int)v.n, v.p, want);
}

static void test_request__parameters_are_decoded(void **state)
{
    (void)state;
    assert_int_equal(target("/q?a=1&b=x%20y+z;c&d==e&a=2&=no&&m=sum:m{h=*}&e=%zz%4&%66=%C3%BC&g=", NULL), 0);
    check_param("a", "2");
    check_param("b", "x y z");
    check_param("c", "");
    check_param("d", "=e");
    check_param("m", "sum:m{h=*}");
    check_param("e", "%zz%4");
    check_param("f", "\xc3\xbc");
    check_param("g", "");
    check_param("h", NULL);
    check_param("", NULL);
    assert_true(tsd_req_flag(&req, "c"));
    assert_false(tsd_req_flag(&req, "C"));
    assert_int_equal(req.n_params, 9);
    assert_true(ts_slice_is(req.params[0].value, "1"));
}

static void test_request__only_names_are_callbacks(void **state)
{
    (void)state;
    assert_int_equal(target("/q?jsonp=my.cb_$1", NULL), 0);
    assert_true(ts_slice_is(tsd_req_jsonp(&req), "my.cb_$1"));
    assert_int_equal(target("/q?jsonp=alert(1)//", NULL), 0);
    assert_int_equal(tsd_req_jsonp(&req).n, 0);
    assert_int_equal(target("/q", NULL), 0);
    assert_int_equal(tsd_req_jsonp(&req).n, 0);
}

static void test_request__every_error_code_has_a_status(void **state)
{
    (void)state;
    assert_int_equal(tsd_http_status(0, false), 200);
    for (int code = -1; code > -TS_ERR_COUNT; code--) {
        int status = tsd_http_status(code, false);
        if (status < 400 || status > 599)
            fail_msg("%s has status %d", ts_err_name(code), status);
    }
    assert_int_equal(tsd_http_status(-TS_ERR_COUNT, false), 500);
    assert_int_equal(tsd_http_status(TS_ELIMIT, false), 413);
    assert_int_equal(tsd_http_status(TS_EBACKEND, false), 503);
    assert_int_equal(tsd_http_status(TS_EBACKEND, true), 424);
}

static void test_request__the_table_is_sorted_and_whole(void **state)
{
    (void)state;
    for (const struct tsd_endpoint *e = tsd_endpoints; e->path; e++) {
        assert_int_equal((e->run != NULL) + (e->job != NULL) + (e->print != NULL), 1);
        assert_true(!e->job == !e->type);
        assert_true(e->help && tsd_endpoint_methods(e));
        assert_ptr_equal(tsd_endpoint_find(ts_slice_str(e->path)), e);
        if (e[1].path)
            assert_true(strcmp(e->path, e[1].path) < 0);
    }
    assert_null(tsd_endpoint_find(TS_SLICE_LIT("nope")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_request__paths_are_made_plain, tear_down),
        cmocka_unit_test_teardown(test_request__newer_versions_are_refused, tear_down),
        cmocka_unit_test_teardown(test_request__parameters_are_decoded, tear_down),
        cmocka_unit_test_teardown(test_request__only_names_are_callbacks, tear_down),
        cmocka_unit_test(test_request__every_error_code_has_a_status),
        cmocka_unit_test(test_request__the_table_is_sorted_and_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
