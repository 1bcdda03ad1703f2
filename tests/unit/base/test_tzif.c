/*
 * test_tzif.c - compiled zone rules: files made here byte by byte, rules of the footer, damage.
 *
 * The system's own files are compared with Python's zoneinfo in tests/integration/zone_files.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/tz_int.h"
#include "tests/unit/t_folder.h"

/* One zone file in the making. */
struct zone_file {
    int64_t times_s[4]; /* changes */
    uint8_t kinds[4];   /* offset number after each */
    int32_t offsets_s[4];
    uint32_t n_times, n_offsets, n_leap;
    const char *rule;
    char version;
};

static void put32(struct ts_buf *b, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        ts_buf_char(b, (char)(v >> shift));
}

static void put_header(struct ts_buf *b, const struct zone_file *z, bool empty)
{
    ts_buf_append(b, "TZif", 4);
    ts_buf_char(b, z->version ? z->version : '2');
    ts_buf_append(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    put32(b, 0);
    put32(b, 0);
    put32(b, empty ? 0 : z->n_leap);
    put32(b, empty ? 0 : z->n_times);
    put32(b, empty ? 0 : z->n_offsets);
    put32(b, empty ? 0 : 4);
}

static struct ts_slice t_file(struct ts_buf *b, const struct zone_file *z)
{
    ts_buf_init(b, 0);
    put_header(b, z, true);
    put_header(b, z, false);
    for (uint32_t i = 0; i < z->n_times; i++) {
        put32(b, (uint32_t)((uint64_t)z->times_s[i] >> 32));
        put32(b, (uint32_t)z->times_s[i]);
    }
    for (uint32_t i = 0; i < z->n_times; i++)
        ts_buf_char(b, (char)z->kinds[i]);
    for (uint32_t i = 0; i < z->n_offsets; i++) {
        put32(b, (uint32_t)z->offsets_s[i]);
        ts_buf_append(b, "\0\0", 2);
    }
    ts_buf_append(b, "ABC", 4);
    for (uint32_t i = 0; i < z->n_leap; i++)
        ts_buf_append(b, "\0\0\0\0\0\0\0\1\0\0\0\1", 12);
    ts_buf_char(b, '\n');
    ts_buf_str(b, z->rule ? z->rule : "");
    ts_buf_char(b, '\n');
    return ts_buf_get(b);
}

static int64_t t_offset_s(const struct tz_table *t, int64_t at_s)
{
    size_t i = t->n_steps;
    while (i > 1 && t->steps[i - 1].from_ms > at_s * 1000)
        i--;
    return t->steps[i - 1].offset_ms / 1000;
}

static void t_read(const struct zone_file *z, struct tz_table *out)
{
    struct ts_buf b;
    struct ts_error err = {0};
    if (ts_tzif_read(t_file(&b, z), out, &err) != 0)
        fail_msg("%s: %s", z->rule ? z->rule : "", err.text);
    ts_buf_release(&b);
}

static void test_tzif__known_changes_and_then_the_rule(void **state)
{
    (void)state;
    struct tz_table t;
    struct zone_file z = {.times_s = {-1000, 0, 1700000000},
                          .kinds = {1, 1, 2},
                          .offsets_s = {600, 1200, 3600},
                          .n_times = 3,
                          .n_offsets = 3,
                          .rule = "CET-1CEST,M3.5.0,M10.5.0/3"};
    t_read(&z, &t);
    assert_int_equal(t_offset_s(&t, -1001), 600);
    assert_int_equal(t_offset_s(&t, -1000), 1200);
    assert_int_equal(t_offset_s(&t, 1699999999), 1200);
    assert_int_equal(t_offset_s(&t, 1700000000), 3600);
    assert_int_equal(t_offset_s(&t, 1711846799), 3600); /* 2024-03-31 01:00 UTC */
    assert_int_equal(t_offset_s(&t, 1711846800), 7200);
    assert_int_equal(t_offset_s(&t, 1729990799), 7200);
    assert_int_equal(t_offset_s(&t, 1729990800), 3600);
    assert_true(t.repeats && t.steps[t.n_steps - 1].from_ms >= TZ_END_MS);
    ts_tzif_release(&t);
    ts_tzif_release(&t);
}

/* Each row: a rule, an instant, the offset there. */
static void test_tzif__rules_of_all_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        int64_t t_s;
        int32_t offset_s;
    } rows[] = {
        {"<+03>-3", 0, 10800},
        {"<-0330>3:30", 0, -12600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1704067200, 0},    /* Dublin in January: negative daylight saving */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1720000000, 3600}, /* and in July */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1711846799, -7200},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1711846800, -3600}, /* Nuuk: 2024-03-30 23:00 local */
        {"EET-2EEST,M3.4.4/50,M10.4.4/50", 1711749599, 7200},   /* Gaza's shape: Saturday 02:00 */
        {"EET-2EEST,M3.4.4/50,M10.4.4/50", 1711756800, 10800},
        {"XXX3YYY,J60/0,J300/0", 1709261999, -10800}, /* 1 March of a leap year, 00:00 local */
        {"XXX3YYY,J60/0,J300/0", 1709262000, -7200},
        {"XXX3YYY,59/0,300/0", 1709175599, -10800}, /* day 59 counts 29 February */
        {"XXX3YYY,59/0,300/0", 1709175600, -7200},
        {"EST5EDT,0/0,J365/25", 1704067200, -14400}, /* daylight saving all year */
        {"EST5EDT,0/0,J365/25", 1735707600, -14400}, /* 2025-01-01 05:00, where two rules meet */
        {"NZST-12NZDT,M9.5.0,M4.1.0/3", 1704067200, 46800},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tz_table t;
        struct zone_file z = {.n_offsets = 1, .rule = rows[i].rule};
        t_read(&z, &t);
        if (t_offset_s(&t, rows[i].t_s) != rows[i].offset_s)
            fail_msg("%s at %lld: %lld", rows[i].rule, (long long)rows[i].t_s,
                     (long long)t_offset_s(&t, rows[i].t_s));
        for (size_t k = 1; k < t.n_steps; k++)
            assert_true(t.steps[k - 1].from_ms < t.steps[k].from_ms &&
                        t.steps[k - 1].offset_ms != t.steps[k].offset_ms);
        ts_tzif_release(&t);
    }
}

static void t_refused(const struct zone_file *z, const char *text)
{
    struct ts_buf b;
    struct tz_table t;
    struct ts_error err = {0};
    if (ts_tzif_read(t_file(&b, z), &t, &err) != TS_ECORRUPT || !strstr(err.text, text))
        fail_msg("%s was expected, not: %s", text, err.text);
    ts_tzif_release(&t);
    ts_buf_release(&b);
}

static void test_tzif__damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const rules[] = {"C",
                                        "CET",
                                        "CET-25",
                                        "CET-1CEST",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-1CEST,M3.6.0,M10.5.0",
                                        "CET-1CEST,M3.5.0/168,M10.5.0",
                                        "CET-1CEST,M3.5.0,M10.5.0 ",
                                        "<CET-1",
                                        "CET-24"};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        t_refused(&(struct zone_file){.n_offsets = 1, .rule = rules[i]}, "its rule can't be read");
    t_refused(&(struct zone_file){.n_offsets = 1, .version = '1'}, "version 1");
    t_refused(&(struct zone_file){.n_offsets = 0}, "no type of time");
    t_refused(&(struct zone_file){.n_offsets = 1, .n_leap = 1}, "leap seconds");
    t_refused(&(struct zone_file){.n_offsets = 1, .offsets_s = {86400}}, "an offset of a day");
    t_refused(&(struct zone_file){.n_offsets = 1, .n_times = 1, .kinds = {1}}, "unknown type");
    t_refused(&(struct zone_file){.n_offsets = 1, .n_times = 2, .times_s = {5, 5}}, "not in order");
    /* cut anywhere */
    struct ts_buf b;
    struct zone_file z = {.n_offsets = 1, .n_times = 1, .times_s = {7}, .rule = "CET-1"};
    struct ts_slice whole = t_file(&b, &z);
    for (size_t n = 0; n < whole.n; n++) {
        struct tz_table t;
        struct ts_error err = {0};
        char *copy = malloc(n ? n : 1); /* of its own, so that reading behind it is noticed */
        memcpy(copy, whole.p, n);
        int rc = ts_tzif_read((struct ts_slice){copy, n}, &t, &err);
        assert_true(rc == (n < 44 ? TS_ENOTFOUND : TS_ECORRUPT) && err.text[0]);
        ts_tzif_release(&t);
        free(copy);
    }
    ts_buf_release(&b);
}

static void test_tzif__times_beyond_milliseconds_do_no_harm(void **state)
{
    (void)state;
    struct tz_table t;
    struct zone_file z = {.times_s = {INT64_MIN, -576460752303423488, 0, INT64_MAX},
                          .kinds = {1, 2, 3, 0},
                          .offsets_s = {60, 120, 180, 240},
                          .n_times = 4,
                          .n_offsets = 4};
    t_read(&z, &t);
    assert_int_equal(t.n_steps, 2);
    assert_int_equal(t.steps[0].offset_ms, 180000);
    assert_int_equal(t.steps[1].offset_ms, 240000);
    assert_true(t.steps[0].from_ms == INT64_MIN && t.steps[1].from_ms == 0 && !t.repeats);
    ts_tzif_release(&t);
}

static void t_error(const char *name, int code, const char *text)
{
    const struct ts_tz *tz;
    struct ts_error err = {0};
    if (ts_tz_open(ts_slice_str(name), &tz, &err) != code || !strstr(err.text, text))
        fail_msg("%s: %s", name, err.text);
}

/* What ts_tz_open says of a folder without zones, with a damaged file, with other files. */
static void test_tzif__errors_name_the_cause(void **state)
{
    (void)state;
    char dir[T_FOLDER_BYTES];
    t_folder_make(dir);
    char *missing = ts_fs_join(dir, "missing"), *bad = ts_fs_join(dir, "Bad");
    char *sub = ts_fs_join(dir, "Folder");
    const struct ts_fs *fs = ts_fs_real();
    setenv("TZDIR", missing, 1);
    t_error("Europe/Rome", TS_EIO, "install the package tzdata");
    t_error("../../etc/passwd", TS_EPARSE, "Invalid timezone name: ../../etc/passwd");
    t_folder_file(dir, "Text", "zones", 0644);
    assert_int_equal(fs->mkdir(fs, sub, NULL), 0);
    setenv("TZDIR", dir, 1);
    t_error("Europe/Rome", TS_EPARSE, "Invalid timezone name: Europe/Rome");
    t_error("Text", TS_EPARSE, "Invalid timezone name: Text");
    t_error("Folder", TS_EPARSE, "Invalid timezone name: Folder");
    t_error("Text/Europe", TS_EPARSE, "Invalid timezone name: Text/Europe");
    t_folder_file(dir, "zone.tab",
                  "# zones\nDE\t+5230+01322\tEurope/Berlin\tmost of Germany\nIT\t+4154+01229\tEurope/Rome\n",
                  0644);
    t_error("Europe/Berln", TS_EPARSE, "Invalid timezone name: Europe/Berln; did you mean Europe/Berlin?");
    t_error("europe/rome", TS_EPARSE, "; did you mean Europe/Rome?");
    t_error("berlin", TS_EPARSE, "; did you mean Europe/Berlin?");
    t_error("utc", TS_EPARSE, "; did you mean UTC?");
    t_error("Germany", TS_EPARSE, "Invalid timezone name: Germany");
    struct ts_buf b;
    struct zone_file z = {.n_offsets = 1, .rule = "CET"};
    struct ts_slice bytes = t_file(&b, &z);
    assert_int_equal(ts_fs_write_atomic(fs, bad, bytes.p, bytes.n, NULL), 0);
    t_error("Bad", TS_ECORRUPT, "the time zone file is damaged: its rule can't be read");
    ts_buf_release(&b);
    unsetenv("TZDIR");
    assert_int_equal(t_folder_remove(dir), 0);
    ts_free(missing);
    ts_free(bad);
    ts_free(sub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tzif__known_changes_and_then_the_rule),
        cmocka_unit_test(test_tzif__rules_of_all_kinds),
        cmocka_unit_test(test_tzif__damaged_files_are_refused),
        cmocka_unit_test(test_tzif__times_beyond_milliseconds_do_no_harm),
        cmocka_unit_test(test_tzif__errors_name_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
