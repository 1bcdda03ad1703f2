/*
 * test_retain_rules.c - texts of rules of retention.
 */
#include "storage/retain_rules.h"

#include "base/text.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct sto_retain_rules read_rules(const char *text)
{
    struct sto_retain_rules r = {0};
    struct ts_error err = {0};
    if (sto_retain_rules_add(&r, ts_slice_str(text), &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return r;
}

static void test_retain_rules__texts(void **state)
{
    (void)state;
    struct sto_retain_rules r =
        read_rules("# a comment; with a semicolon\n\n cpu.*   host=web* dc=eu\tpoints=30d ;* env=test "
                   "points=36h\r\naudit.* points=forever");
    assert_int_equal(r.n, 3);
    assert_true(ts_slice_is(r.v[0].text, "cpu.* host=web* dc=eu points=30d"));
    assert_true(ts_slice_is(r.v[0].metric, "cpu.*"));
    assert_int_equal(r.v[0].n_tags, 2);
    assert_true(ts_slice_is(r.v[0].tags[0].k, "host"));
    assert_true(ts_slice_is(r.v[0].tags[0].v, "web*"));
    assert_int_equal(r.v[0].points_ms, 30 * TS_DAY_MS);
    assert_int_equal(r.v[0].hours_ms, 30 * TS_DAY_MS);
    assert_int_equal(r.v[1].points_ms, 36 * TS_HOUR_MS);
    assert_int_equal(r.v[2].points_ms, STO_KEEP_FOREVER);
    assert_int_equal(r.v[2].n_tags, 0);
    sto_retain_rules_release(&r);
    r = read_rules("cpu.* hours=2y points=30d; mem points=1d hours=forever");
    assert_int_equal(r.v[0].points_ms, 30 * TS_DAY_MS);
    assert_int_equal(r.v[0].hours_ms, 2 * 365 * TS_DAY_MS);
    assert_int_equal(r.v[1].hours_ms, STO_KEEP_FOREVER);
    assert_int_equal(r.v[0].days_ms, 2 * 365 * TS_DAY_MS);
    assert_int_equal(r.v[1].days_ms, STO_KEEP_FOREVER);
    sto_retain_rules_release(&r);
    r = read_rules(
        "cpu.* points=30d hours=2y days=forever; mem points=1d days=3d; * points=forever days=forever");
    assert_int_equal(r.v[0].hours_ms, 2 * 365 * TS_DAY_MS);
    assert_int_equal(r.v[0].days_ms, STO_KEEP_FOREVER);
    assert_int_equal(r.v[1].hours_ms, 3 * TS_DAY_MS);
    assert_int_equal(r.v[1].days_ms, 3 * TS_DAY_MS);
    assert_int_equal(r.v[2].hours_ms, STO_KEEP_FOREVER);
    sto_retain_rules_release(&r);
    sto_retain_rules_release(&r);
}

static void test_retain_rules__refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {{"cpu.*", "does not say for how long"},
               {"points=30d", "is where the metric should be"},
               {"cpu.* points=30", "is neither a duration"},
               {"cpu.* points=59m", "is not between 1h and 10000y"},
               {"cpu.* points=1d points=2d", "comes twice"},
               {"cpu.* points=30d host=a", "comes after points="},
               {"cpu.* host points=30d", "is not NAME=VALUE"},
               {"cpu.* host= points=30d", "is not NAME=VALUE"},
               {"cpu.* ho*=a points=30d", "star in the name of a tag"},
               {"cpu.* hours=2y", "does not say for how long"},
               {"cpu.* points=30d hours=7d", "shorter than the points"},
               {"cpu.* points=forever hours=2y", "shorter than the points"},
               {"cpu.* points=30d hours=2y hours=3y", "comes twice"},
               {"cpu.* hours=2y host=a points=1d", "comes after points="},
               {"cpu.* points=30d hours=2y days=1y", "keeps days shorter than hours"},
               {"cpu.* points=30d days=31d", "keeps days shorter than hours"},
               {"cpu.* points=30d days=7d", "keeps days shorter than hours"},
               {"cpu.* points=forever days=2y", "keeps days shorter than hours"},
               {"cpu.* points=30d hours=30d days=1y", "no hours to make them of"},
               {"cpu.* days=2y", "does not say for how long"},
               {"cpu.* points=30d days=2y days=3y", "comes twice"},
               {"cpu.* days=2y host=a points=1d", "comes after points="},
               {"*a*a*a*a*a*a*a*a*b points=1d", "more than 8 stars"},
               {"cpu.* host=*********a points=1d", "more than 8 stars"},
               {" #cpu points=1d", "begins with a #"},
               {"ok points=1d;#cpu points=1d", "begins with a #"},
               {"ok points=1d; cpu.*\1 points=1d", "control character"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sto_retain_rules r = {0};
        struct ts_error err = {0};
        assert_int_equal(sto_retain_rules_add(&r, ts_slice_str(bad[i].text), &err), TS_EINVAL);
        if (!strstr(err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, err.text);
        assert_int_equal(r.n, 0);
        sto_retain_rules_release(&r);
    }
}

static void test_retain_rules__limits(void **state)
{
    (void)state;
    struct sto_retain_rules r = {0};
    struct ts_error err = {0};
    char text[64];
    for (int i = 0; i < STO_KEEP_RULES; i++) {
        snprintf(text, sizeof text, "m%d points=1d", i);
        assert_int_equal(sto_retain_rules_add(&r, ts_slice_str(text), &err), 0);
    }
    assert_int_equal(sto_retain_rules_add(&r, TS_SLICE_LIT("more points=1d"), &err), TS_ELIMIT);
    assert_int_equal(r.n, STO_KEEP_RULES);
    sto_retain_rules_release(&r);
}

static bool glob(const char *pattern, const char *name)
{
    return ts_slice_fits_stars(ts_slice_str(name), ts_slice_str(pattern));
}

static void test_retain_rules__patterns(void **state)
{
    (void)state;
    assert_true(glob("*", "") && glob("*", "a.b") && glob("a.b", "a.b") && glob("", ""));
    assert_true(glob("cpu.*", "cpu.") && glob("cpu.*", "cpu.idle") && !glob("cpu.*", "cpu") &&
                !glob("cpu.*", "xcpu.idle"));
    assert_true(glob("*.p99", "a.b.p99") && !glob("*.p99", "a.b.p999") && glob("a*b*c", "axbxbxc") &&
                !glob("a*b*c", "axbxbx") && glob("**a", "ba") && !glob("a", "ab") && !glob("ab", "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retain_rules__texts), cmocka_unit_test(test_retain_rules__refused),
        cmocka_unit_test(test_retain_rules__limits), cmocka_unit_test(test_retain_rules__patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
