/*
 * test_access.c - pages of other sites, methods that change something, permissions by key; the whole table of endpoints is walked.
 */
#include "t_daemon.h"

#include "tsd/protocols/http/access.h"

static struct t_daemon t;
static char answer[1 << 20];

static void open_with(const char *const *keys)
{
    t_daemon_open(&t, keys);
}

static int set_up(void **state)
{
    static const char *const keys[] = {"http_cors_domains", "https://good.example,http://a.org", NULL};
    (void)state;
    open_with(keys);
    return 0;
}

static int set_up_compat(void **state)
{
    static const char *const keys[] = {"compat", "opentsdb", NULL};
    (void)state;
    open_with(keys);
    return 0;
}

static int set_up_hosts(void **state)
{
    static const char *const keys[] = {"http_hosts", "tsd.example.org, Store", "http_jsonp", "true", NULL};
    (void)state;
    open_with(keys);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    t_daemon_close(&t);
    return 0;
}

/* Status of a request of a method and path with more header lines and a body. */
static int ask(const char *method, const char *path, const char *headers, const char *body)
{
    static char request[8192];
    int n = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n%s%sContent-Length: %zu\r\n\r\n%s", method,
                     path, !strncmp(headers, "Host:", 5) ? "" : "Host: localhost:4242\r\n", headers,
                     strlen(body), body);
    t_talk(&t, request, (size_t)n, answer, sizeof(answer));
    return strncmp(answer, "HTTP/1.1 ", 9) ? 0 : (int)strtol(answer + 9, NULL, 10);
}

static void want(int status, int got, const char *part)
{
    if (got != status || !strstr(answer, part))
        fail_msg("want %d with %s, got %d:\n%s", status, part, got, answer);
}

#define GOOD  "{\"metric\":\"m\",\"timestamp\":1500000000,\"value\":1,\"tags\":{\"a\":\"b\"}}"
#define EVIL  "Origin: http://evil.example\r\n"
#define CROSS "Sec-Fetch-Site: cross-site\r\n"

static void test_access__only_our_hosts_while_loopback_alone_is_bound(void **state)
{
    static const struct {
        const char *host;
        int alone, wide; /* status */
    } rows[] = {
        {"localhost", 200, 200},
        {"LocalHost.:4242", 200, 200},
        {"127.0.0.1:1", 200, 200},
        {"[::1]:4242", 200, 200},
        {"192.0.2.7", 200, 200},
        {"evil.example", 403, 200},
        {"localhost.evil.example", 403, 200},
        {"127.0.0.1.evil.example:4242", 403, 200},
        {"evil.example:80", 403, 200},
        {"[evil", 403, 200},
        {"tsd.example.org", 403, 200},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char header[128];
        snprintf(header, sizeof(header), "Host: %s\r\n", rows[i].host);
        t.d.loopback_only = true;
        want(rows[i].alone, ask("GET", "/api/version", header, ""),
             rows[i].alone == 403 ? "http_hosts" : "nosniff");
        t.d.loopback_only = false;
        want(rows[i].wide, ask("GET", "/api/version", header, ""), "nosniff");
    }
    t.d.loopback_only = true;
    want(403, ask("GET", "http://evil.example/api/version", "Host: localhost\r\n", ""), "http_hosts");
    want(200, ask("GET", "http://localhost/api/version", "Host: localhost\r\n", ""), "version");
    assert_int_equal(atomic_load(&t.d.n_denied[TSD_DENIED_HOST]), 7);
}

static void test_access__http_hosts_names_them_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        t.d.loopback_only = i;
        want(200, ask("GET", "/api/version", "Host: TSD.example.org:4242\r\n", ""), "version");
        want(200, ask("GET", "/api/version", "Host: store\r\n", ""), "version");
        want(200, ask("GET", "/api/version", "Host: 127.0.0.1\r\n", ""), "version");
        want(403, ask("GET", "/api/version", "Host: tsd.example.org.evil\r\n", ""), "http_hosts");
        want(403, ask("GET", "/api/version", "Host: tsd\r\n", ""), "http_hosts");
    }
}

static void test_access__other_sites_change_nothing(void **state)
{
    static const struct {
        const char *headers;
        int status;
    } rows[] = {
        {"", 204},
        {"Origin: http://localhost:4242\r\n", 204},
        {"Origin: http://localhost\r\n", 403}, /* another port is another site */
        {"Origin: http://localhost:42420\r\n", 403},
        {"Origin: http://localhost:4242.evil.example\r\n", 403},
        {EVIL, 403},
        {"Origin: null\r\n", 403},
        {CROSS, 403},
        {"Sec-Fetch-Site: same-site\r\n", 403},
        {"Sec-Fetch-Site: same-origin\r\n", 204},
        {"Sec-Fetch-Site: none\r\n", 204},
        {EVIL CROSS "Content-Type: application/json\r\n", 403},
        {"Origin: http://a.org.evil.example\r\nContent-Type: application/json\r\n", 403},
        {"Origin: http://a.or\r\nContent-Type: application/json\r\n", 403},
        {"Origin: http://a.org\r\nContent-Type: application/json\r\n", 204},
        {"Origin: https://good.example\r\nContent-Type: application/json; charset=utf-8\r\n" CROSS, 204},
        {"Origin: http://a.org\r\nContent-Type: text/plain;charset=UTF-8\r\n", 415},
        {"Origin: http://a.org\r\n", 415},
        {"Origin: http://a.org\r\nContent-Type: multipart/form-data ; boundary=x\r\n", 415},
        {"Content-Type: text/plain\r\n", 204}, /* a program */
    };
    (void)state;
    t.d.set.cors_domains = ""; /* OpenTSDB's own answer to other Origins comes first otherwise */
    for (int cors = 0; cors < 2; cors++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            bool listed = strstr(rows[i].headers, "//a.org\r") || strstr(rows[i].headers, "good.example");
            bool refused_by_cors = cors && strstr(rows[i].headers, "Origin") && !listed &&
                                   !strstr(rows[i].headers, "localhost:4242\r");
            int status = !cors && listed ? 403 : refused_by_cors ? 200 : rows[i].status;
            int got = ask("POST", "/api/put", rows[i].headers, GOOD);
            if (got != status)
                fail_msg("%s: want %d, got %d:\n%s", rows[i].headers, status, got, answer);
            if (refused_by_cors)
                assert_non_null(strstr(answer, "CORS domain not allowed"));
        }
        t.d.set.cors_domains = "https://good.example,http://a.org";
    }
}

static void test_access__reads_of_other_sites_are_answered_without_leave_to_see_them(void **state)
{
    (void)state;
    t.d.set.cors_domains = "";
    want(200, ask("GET", "/api/suggest?type=metrics", EVIL CROSS, ""), "\r\n\r\n[");
    assert_null(strstr(answer, "Access-Control"));
    want(200, ask("POST", "/api/suggest", EVIL CROSS, "{\"type\":\"metrics\"}"), "\r\n\r\n[");
    want(403,
         ask("POST", "/api/query", EVIL,
             "{\"start\":1,\"delete\":true,\"queries\":[{\"metric\":\"m\",\"aggregator\":\"sum\"}]}"),
         "http_cors_domains");
    t.d.set.allow |= TSD_ALLOW_QUERY_DELETE;
    want(403,
         ask("POST", "/api/query", EVIL,
             "{\"start\":1,\"delete\":true,\"queries\":[{\"metric\":\"m\",\"aggregator\":\"sum\"}]}"),
         "http_cors_domains");
}

static void test_access__get_changes_nothing(void **state)
{
    (void)state;
    t.d.set.http_log_level = true;
    t.d.set.allow = ~0u;
    want(405, ask("GET", "/api/uid/assign?metric=new.one", "", ""), "compat = opentsdb");
    want(405, ask("HEAD", "/api/uid/assign?metric=new.one", "", ""), "");
    want(405, ask("GET", "/api/uid/rename?metric=new.one&name=x", "", ""), "use POST");
    want(403, ask("GET", "/api/admin/flush", CROSS, ""), "http_cors_domains");
    want(405, ask("GET", "/diediedie", "", ""), "use POST");
    want(405, ask("GET", "/logs?level=error", "", ""), "use POST");
    want(200, ask("POST", "/logs?level=error", "", ""), "Set the log level");
    want(200, ask("GET", "/api/dropcaches", "", ""), "Caches dropped");
    want(403, ask("GET", "/api/dropcaches", CROSS, ""), "http_cors_domains");
    want(400, ask("GET", "/api/annotation?start_time=1&method_override=post", "", ""), "method_override");
    want(400, ask("GET", "/api/query?start=1&m=sum:m&method_override=delete", "", ""), "compat = opentsdb");
    want(400, ask("GET", "/api/version?jsonp=f", "", ""), "http_jsonp");
    want(200, ask("GET", "/api/suggest?type=metrics&q=new", "", ""), "\r\n\r\n[]");
}

static void test_access__compat_does_as_opentsdb_does(void **state)
{
    (void)state;
    want(200, ask("GET", "/api/uid/assign?metric=new.one", "", ""), "new.one");
    want(200, ask("GET", "/api/uid/rename?metric=new.one&name=new.two", "", ""), "\"true\"");
    want(200, ask("GET", "/api/annotation?start_time=1500000000&description=x&method_override=post", "", ""),
         "x");
    want(200, ask("GET", "/api/annotation/bulk?start_time=1&global=true&method_override=delete", "", ""),
         "totalDeleted\":1");
    want(405, ask("GET", "/api/annotation?start_time=1&method_override=", "", ""),
         "Missing method override value");
    want(405, ask("GET", "/api/annotation?start_time=1&method_override=fly", "", ""),
         "Unknown or unsupported method override value");
    want(200, ask("GET", "/api/version?jsonp=f", "", ""), "\r\n\r\nf({");
    assert_non_null(strstr(answer, "Content-Type: application/javascript"));
    /* but not for pages of other sites */
    want(403, ask("GET", "/api/uid/assign?metric=new.three", CROSS, ""), "http_cors_domains");
    want(403, ask("GET", "/api/annotation?start_time=1&description=x&method_override=post", EVIL, ""),
         "http_cors_domains");
    want(403, ask("POST", "/api/put", EVIL, GOOD), "http_cors_domains");
}

static void test_access__keys_guard_what_is_gone_for_good(void **state)
{
    static const struct {
        const char *method, *path, *key;
        unsigned allow;
        int status; /* once it is allowed */
    } rows[] = {
        {"POST", "/api/uid/delete", "uid_allow_delete", TSD_ALLOW_UID_DELETE, 400},
        {"POST", "/api/uid/fsck", "uid_allow_delete", TSD_ALLOW_UID_DELETE, 200},
        {"POST", "/api/uid/rename", "uid_allow_rename", TSD_ALLOW_UID_RENAME, 400},
        {"DELETE", "/api/annotation/bulk?start_time=1&global", "meta_allow_delete", TSD_ALLOW_META_DELETE,
         200},
        {"DELETE", "/api/tree?treeid=1", "meta_allow_delete", TSD_ALLOW_META_DELETE, 404},
        {"DELETE", "/api/tree/rules?treeid=1", "meta_allow_delete", TSD_ALLOW_META_DELETE, 404},
        {"DELETE", "/api/delete?start=1&m=sum:m", "query_allow_delete", TSD_ALLOW_QUERY_DELETE, 400},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        t.d.set.allow = ~rows[i].allow;
        want(403, ask(rows[i].method, rows[i].path, "", ""), rows[i].key);
        t.d.set.allow = rows[i].allow;
        want(rows[i].status, ask(rows[i].method, rows[i].path, "", ""), "");
        assert_null(strstr(answer, rows[i].key));
    }
    want(403, ask("POST", "/api/admin/flush", "", ""), "admin_remote"); /* the socket pair has no address */
    t.d.set.admin_remote = true;
    want(200, ask("POST", "/api/admin/flush", "", ""), "Flushed");
}

/* Endpoints whose POST only reads: whoever adds one here has looked at it. */
static const char *const readers_by_post[] = {
    "api/aggregators",     "api/config",
    "api/config/filters",  "api/find/*",
    "api/query",           "api/query/exp",
    "api/query/explain",   "api/query/last",
    "api/search/*",        "api/serializers",
    "api/stats",           "api/stats/jvm",
    "api/stats/query",     "api/stats/region_clients",
    "api/stats/threads",   "api/suggest",
    "api/tree/branch",     "api/tree/collisions",
    "api/tree/notmatched", "api/tree/test",
    "api/version",
};

static const struct {
    const char *name;
    unsigned method;
} methods[] = {
    {"GET", TSD_GET}, {"POST", TSD_POST}, {"PUT", TSD_PUT}, {"DELETE", TSD_DELETE}, {"PATCH", TSD_OTHER}};

static void test_access__each_endpoint_says_what_its_methods_do(void **state)
{
    (void)state;
    t.d.set.cors_domains = "";
    t.d.set.allow = ~0u;
    t.d.set.admin_remote = true;
    for (const struct tsd_endpoint *e = tsd_endpoints; e->path; e++) {
        unsigned changing = e->changes | e->admin;
        if ((e->reads & changing) || (e->changes & e->admin))
            fail_msg("%s: a method is in two columns", e->path);
        if (e->reads & ~(unsigned)(TSD_GET | TSD_POST))
            fail_msg("%s: only GET and POST can be without consequences", e->path);
        if ((e->guarded & ~changing) || !e->guarded != !e->allow)
            fail_msg("%s: guarded methods and their key do not fit", e->path);
        bool known = false;
        for (size_t i = 0; i < sizeof(readers_by_post) / sizeof(readers_by_post[0]); i++)
            known = known || !strcmp(readers_by_post[i], e->path);
        if ((e->reads & TSD_POST) && !known)
            fail_msg("%s: does its POST change something? Then it belongs to changes, else to the list above",
                     e->path);
        for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
            char path[64];
            if (!(changing & methods[i].method))
                continue;
            snprintf(path, sizeof(path), "/%.*sx", (int)strcspn(e->path, "*"), e->path);
            if (!strchr(e->path, '*'))
                path[strlen(path) - 1] = 0;
            int got = ask(methods[i].name, path, EVIL "Content-Type: application/json\r\n", GOOD);
            bool by_get = methods[i].method == TSD_GET && !(e->flags & TSD_EP_HARMLESS);
            want(by_get ? 405 : 403, got, by_get ? "use POST" : "http_cors_domains");
        }
    }
    want(200, ask("GET", "/api/suggest?type=metrics", "", ""),
         "\r\n\r\n[]"); /* none of them stored the point */
}

static void test_access__every_answer_carries_the_policy(void **state)
{
    static const char *const paths[] = {
        "/", "/api/version", "/nope", "/s/main.js", "/api/suggest?type=metrics", "/q?start=x"};
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ask("GET", paths[i], "", "");
        if (!strstr(answer, "\r\nX-Content-Type-Options: nosniff\r\n") ||
            !strstr(answer, "\r\nX-Frame-Options: DENY\r\n") ||
            !strstr(answer, "\r\nContent-Security-Policy: default-src 'none';") ||
            !strstr(answer, "frame-ancestors 'none'\r\n") ||
            !strstr(answer, "\r\nReferrer-Policy: no-referrer\r\n"))
            fail_msg("%s:\n%s", paths[i], answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_access__only_our_hosts_while_loopback_alone_is_bound, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_access__http_hosts_names_them_everywhere, set_up_hosts,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_access__other_sites_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_access__reads_of_other_sites_are_answered_without_leave_to_see_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_access__get_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_access__compat_does_as_opentsdb_does, set_up_compat, tear_down),
        cmocka_unit_test_setup_teardown(test_access__keys_guard_what_is_gone_for_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_access__each_endpoint_says_what_its_methods_do, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_access__every_answer_carries_the_policy, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
