/*
 * test_settings.c - keys to settings: defaults, modes, contradictions; OpenTSDB's names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tsd/daemon/settings.h"

static struct ts_conf *conf;

static int set_up(void **state)
{
    static const struct ts_conf_key *const tables[] = {tsd_conf_keys};
    (void)state;
    conf = ts_conf_new(tables, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ts_conf_free(conf);
    return 0;
}

static void set(const char *key, const char *value)
{
    struct ts_error err = {0};
    if (ts_conf_set(conf, key, ts_slice_str(value), "test", &err) < 0)
        fail_msg("%s", err.text);
}

static void test_settings__defaults_are_our_own_ways(void **state)
{
    struct tsd_settings s;
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(tsd_settings_load(conf, &s, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "--data"));
    set("data", "x");
    assert_int_equal(tsd_settings_load(conf, &s, &err), 0);
    assert_int_equal(s.port, 4242);
    assert_string_equal(s.bind, "127.0.0.1");
    assert_int_equal(s.rules.max_tags, 32);
    assert_true(s.rules.make_metrics && !s.rules.compat && !s.rules.old_times);
    assert_int_equal(s.line_max_bytes, 65536);
    assert_true(s.n_workers >= 1 && s.n_query_threads >= 1);
}

static void test_settings__compat_changes_what_was_not_said(void **state)
{
    struct tsd_settings s;
    (void)state;
    set("data", "x");
    set("compat", "opentsdb");
    assert_int_equal(tsd_settings_load(conf, &s, NULL), 0);
    assert_true(s.rules.compat && !s.rules.make_metrics);
    assert_int_equal(s.rules.max_tags, 8);
    set("auto_create_metrics", "true");
    set("max_tags", "9");
    assert_int_equal(tsd_settings_load(conf, &s, NULL), 0);
    assert_true(s.rules.make_metrics);
    assert_int_equal(s.rules.max_tags, 9);
}

static void test_settings__contradictions_are_told(void **state)
{
    struct tsd_settings s;
    struct ts_error err = {0};
    (void)state;
    set("data", "x");
    set("http_cors_domains", "*,http://a.org");
    assert_int_equal(tsd_settings_load(conf, &s, &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "http_cors_domains"));
    assert_true(ts_conf_set(conf, "port", TS_SLICE_LIT("70000"), "test", &err) < 0);
}

static void test_settings__special_characters_are_allowed(void **state)
{
    struct tsd_settings s;
    struct ts_slice bad;
    (void)state;
    set("data", "x");
    assert_int_equal(tsd_settings_load(conf, &s, NULL), 0);
    assert_false(tsd_name_ok(&s.rules, STO_UID_METRIC, TS_SLICE_LIT("a:b"), &bad));
    assert_true(ts_slice_is(bad, ":"));
    assert_false(tsd_name_ok(&s.rules, STO_UID_METRIC, TS_SLICE_LIT("\xe2\x82\xac"), NULL));
    set("allow_specialchars", ":\xe2\x82\xac!");
    assert_int_equal(tsd_settings_load(conf, &s, NULL), 0);
    assert_true(tsd_name_ok(&s.rules, STO_UID_METRIC, TS_SLICE_LIT("a:b!\xe2\x82\xac"), NULL));
    assert_false(tsd_name_ok(&s.rules, STO_UID_METRIC, TS_SLICE_LIT("a b"), NULL));
}

static void test_settings__names_in_other_scripts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool ours, theirs;
    } rows[] = {
        {"plain-A_1./x", true, true},
        {"\xc3\xbc", true, true},
        {"\xe6\x97\xa5\xe6\x9c\xac", true, true},
        {"\xe0\xa4\x95\xe0\xa5\x8d", true, false}, /* a letter and a mark */
        {"\xd9\xa3", true, false},                 /* a digit of another script */
        {"\xf0\x9f\x98\x80", false, false},        /* a picture */
        {"\xc3", false, false},
        {"\xc0\xaf", false, false},
        {"\xed\xa0\x80", false, false},
        {"\xf4\x90\x80\x80", false, false},
        {"", false, false},
        {"a\tb", false, false},
        {"\x80", false, false},
        {"a\x7f", false, false},
    };
    struct tsd_rules ours, theirs;
    tsd_rules_init(&ours, false, true, 0, NULL);
    tsd_rules_init(&theirs, true, true, 0, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tsd_name_ok(&ours, STO_UID_METRIC, ts_slice_str(rows[i].name), NULL), rows[i].ours);
        assert_int_equal(tsd_name_ok(&theirs, STO_UID_METRIC, ts_slice_str(rows[i].name), NULL),
                         rows[i].theirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_settings__defaults_are_our_own_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings__compat_changes_what_was_not_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings__contradictions_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings__special_characters_are_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings__names_in_other_scripts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
