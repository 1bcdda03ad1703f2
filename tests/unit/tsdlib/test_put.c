/*
 * test_put.c - put lines: every error row of the protocol, values and times against the slow way, the three
 * lanes alike.
 */
#include "t_ingest.h"

struct row {
    const char *line, *reply;
};

#define NINE "a1=1 a2=2 a3=3 a4=4 a5=5 a6=6 a7=7 a8=8 a9=9"

/* Both modes answer alike. */
static const struct row rows_both[] = {
    {"put", "put: illegal argument: not enough arguments (need least 4, got 0)\n"},
    {"put ", "put: illegal argument: not enough arguments (need least 4, got 1)\n"},
    {"put m 1 2", "put: illegal argument: not enough arguments (need least 4, got 3)\n"},
    {"put  m 1 2 a=b", "put: illegal argument: empty metric name\n"},
    {"put m 15x0 2 a=b", "put: invalid value: Invalid character 'x' in 15x0\n"},
    {"put m  2 a=b", "put: invalid value: Empty string\n"},
    {"put m + 2 a=b", "put: invalid value: Just a sign, no value: +\n"},
    {"put m 99999999999999999999 2 a=b", "put: invalid value: Value too long: 99999999999999999999\n"},
    {"put m 9999999999999999999 2 a=b", "put: invalid value: Overflow in 9999999999999999999\n"},
    {"put m 0 2 a=b", "put: illegal argument: invalid timestamp: 0\n"},
    {"put m -5 2 a=b", "put: illegal argument: invalid timestamp: -5\n"},
    {"put m 1500000000  a=b", "put: illegal argument: empty value\n"},
    {"put m 1500000000 2 ab", "put: illegal argument: invalid tag: ab\n"},
    {"put m 1500000000 2 a=", "put: illegal argument: invalid tag: a=\n"},
    {"put m 1500000000 2 =b", "put: illegal argument: invalid tag: =b\n"},
    {"put m 1500000000 2 a=b=c", "put: illegal argument: invalid tag: a=b=c\n"},
    {"put m 1500000000 2 a=b a=c", "put: illegal argument: duplicate tag: a=c, tags={a=b}\n"},
    {"put m 1500000000 2 a=b a=b", ""},
    {"put m 1500000000 2x a=b", "put: invalid value: Invalid character 'x' in 2x\n"},
    {"put m 1500000000 NaN a=b", "put: invalid value: Invalid character 'N' in NaN\n"},
    {"put m 1500000000 0x10 a=b", "put: invalid value: Invalid character 'x' in 0x10\n"},
    {"put m 1500000000 1e400 a=b",
     "put: illegal argument: value is NaN or Infinite: Infinity for metric=m timestamp=1500000000\n"},
    {"put m 1500000000 2 ", "put: illegal argument: Need at least one tag (metric=m, tags={})\n"},
    {"put m 1500000000 2   ", "put: illegal argument: Need at least one tag (metric=m, tags={})\n"},
    {"put m! 1500000000 2 a=b",
     "put: illegal argument: Invalid metric name (\"m!\"): illegal character: !\n"},
    {"put m 1500000000 2 a!=b",
     "put: illegal argument: Invalid tag name with value [b] (\"a!\"): illegal character: !\n"},
    {"put m 1500000000 2 a=b!",
     "put: illegal argument: Invalid tag value with key [a] (\"b!\"): illegal character: !\n"},
    {"put m 1500000000 2 a=b\tc",
     "put: illegal argument: Invalid tag value with key [a] (\"b\tc\"): illegal character: \t\n"},
    {"put m 1500000000 2 a=b ", ""},
    {"put m 1500000000 2   a=b  c=d", ""},
    {"put m 1500000000 2 a=b\r", ""},
    {"put m 1500000000. 2 a=b", ""},
    {"put m/x-y_z.1 1500000000 -3 a-b_c.d/e=f", ""},
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char line[512];
        snprintf(line, sizeof(line), "%s\n", rows[i].line);
        const char *reply = t_send(&t, line);
        if (strcmp(reply, rows[i].reply) != 0)
            fail_msg("%s\n got: %swant: %s", rows[i].line, reply, rows[i].reply);
    }
}

static void test_put__answers_every_error_row(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"put m 10000000000000 2 a=b",
         "put: illegal argument: bad timestamp=10000000000000 when trying to add value=2 to metric=m, "
         "tags={a=b} (milliseconds, 13 digits, are the finest: 16 digits are microseconds, 19 "
         "nanoseconds)\n"},
        {"put m 1500000000 2 " NINE, ""},
        {"put m 1500000000.1234 2 a=b",
         "put: illegal argument: invalid timestamp: 1500000000.1234 (at most 3 decimals)\n"},
        {"put m 1500000000123.5 2 a=b",
         "put: illegal argument: invalid timestamp: 1500000000123.5 (decimals need seconds)\n"},
        {"put m\xff 1500000000 2 a=b",
         "put: illegal argument: Invalid metric name (\"m\xff\"): illegal character: \xff\n"},
        {"put gr\xc3\xbc\xc3\x9f"
         "e 1500000000 2 stadt=k\xc3\xb6ln",
         ""},
        {"put m\xe2\x82\xac 1500000000 2 a=b",
         "put: illegal argument: Invalid metric name (\"m\xe2\x82\xac\"): illegal character: \xe2\x82\xac\n"},
    };
    check_rows(rows_both, sizeof(rows_both) / sizeof(rows_both[0]));
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
    assert_int_equal(t.in.n_refused[TSD_REF_UNKNOWN], 0);
    assert_true(t.in.n_refused[TSD_REF_VALUE] > 5 && t.in.n_refused[TSD_REF_ILLEGAL] > 10);
}

static void test_put__compat_answers_every_error_row(void **state)
{
    (void)state;
    t.rules.make_metrics = false;
    static const struct row unknown[] = {
        {"put m 1500000000 2 a=b", "put: unknown metric: No such name for 'metrics': 'm'\n"}};
    check_rows(unknown, 1);
    t.rules.make_metrics = true;
    static const struct row rows[] = {
        {"put m 10000000000000 2 a=b",
         "put: illegal argument: bad timestamp=10000000000000 when trying to add value=2 to metric=m, "
         "tags={a=b}\n"},
        {"put m 1500000000 2 " NINE,
         "put: illegal argument: Too many tags: 9 maximum allowed: 8, tags: {a1=1, a2=2, a3=3, "
         "a4=4, a5=5, a6=6, a7=7, a8=8, a9=9}\n"},
        {"put m 1500000000.123 2 a=b", ""},
        {"PUT m 1500000000 2 a=b", "unknown command: PUT.  Try `help'.\n"},
        /* ISO-8859-1: the second byte of a UTF-8 letter is often no letter */
        {"put gr\xc3\xbcn 1500000000 2 a=b", "put: illegal argument: Invalid metric name "
                                             "(\"gr\xc3\x83\xc2\xbcn\"): illegal character: \xc2\xbc\n"},
        {"put gr\xfcn 1500000000 2 a=b", ""},
    };
    check_rows(rows_both, sizeof(rows_both) / sizeof(rows_both[0]));
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
    assert_non_null(strstr(t_points(&t), "gr\xc3\xbcn 1500000000 2 a=b\n"));
}

/* The point the last line made, from the open batch. */
static const struct sto_point *last_point(void)
{
    for (unsigned i = 0; i < t.in.n_slots; i++)
        if (t.in.open[i] && t.in.open[i]->n)
            return &t.in.open[i]->points[t.in.open[i]->n - 1];
    return NULL;
}

/* Every word of up to five characters out of these, as a value in the guessing lane: the same as the number
 * parser. */
static void test_put__values_are_what_the_number_parser_says(void **state)
{
    (void)state;
    static const char alphabet[] = "0159.-+eE";
    size_t k = sizeof(alphabet) - 1, total = 0;
    (void)t_send(&t, "put m 1500000000 1 a=b\nput m 1500000000 1 a=b\n");
    for (size_t len = 1; len <= 5; len++) {
        size_t n = 1;
        for (size_t i = 0; i < len; i++)
            n *= k;
        for (size_t code = 0; code < n; code++) {
            char word[8], line[64];
            for (size_t i = 0, c = code; i < len; i++, c /= k)
                word[i] = alphabet[c % k];
            word[len] = 0;
            int line_n = snprintf(line, sizeof(line), "put m 1500000000 %s a=b\n", word);
            struct ts_num want;
            int rc = ts_num_parse((struct ts_slice){word, len}, &want, NULL);
            uint64_t before = t.line.n_points;
            (void)t_bytes(&t, line, (size_t)line_n, false);
            assert_int_equal(t.line.n_points - before, rc == 0);
            if (rc == 0) {
                const struct sto_point *p = last_point();
                if (p->m != want.m || p->flags != sto_meta_flags(STO_OP_PUT, want.kind, want.exp, false))
                    fail_msg("%s: m=%lld flags=%x, want m=%lld kind=%d exp=%d", word, (long long)p->m,
                             p->flags, (long long)want.m, want.kind, want.exp);
            } else if (t.out.n > 1 << 15) {
                ts_buf_clear(&t.out);
            }
            if (++total % 2000 == 0)
                tsd_ingest_turn(&t.in);
        }
    }
    assert_true(t.in.n_guessed > 1000);
}

static void test_put__long_values_are_exact(void **state)
{
    (void)state;
    static const char *const words[] = {"9223372036854775807",
                                        "-9223372036854775808",
                                        "1234567",
                                        "12345678",
                                        "123456789.25",
                                        "-0.0",
                                        "0.1000000000000000055511151231257827",
                                        "1e308",
                                        "4.9e-324",
                                        "-12345.67"};
    (void)t_send(&t, "put m 1500000000 1 a=b\nput m 1500000000 1 a=b\n");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char line[128];
        struct ts_num want;
        int n = snprintf(line, sizeof(line), "put m 1500000000 %s a=b\n", words[i]);
        assert_int_equal(ts_num_parse(ts_slice_str(words[i]), &want, NULL), 0);
        (void)t_bytes(&t, line, (size_t)n, false);
        assert_true(last_point()->m == want.m);
        assert_int_equal(last_point()->flags, sto_meta_flags(STO_OP_PUT, want.kind, want.exp, false));
    }
}

static void check_time(const char *word, int64_t ts_ms, bool ms)
{
    char line[96];
    int n = snprintf(line, sizeof(line), "put m %s 1 a=b\n", word);
    for (int i = 0; i < 3; i++) { /* first, found, guessed */
        uint64_t before = t.line.n_points;
        (void)t_bytes(&t, line, (size_t)n, false);
        if (t.line.n_points != before + 1)
            fail_msg("%s: %.*s", word, (int)t.out.n, t.out.p);
        if (last_point()->ts_ms != ts_ms || ((last_point()->flags & STO_META_MS) != 0) != ms)
            fail_msg("%s: %lld, want %lld", word, (long long)last_point()->ts_ms, (long long)ts_ms);
    }
}

static void test_put__times_have_their_units(void **state)
{
    (void)state;
    check_time("1500000000", 1500000000000, false);
    check_time("1500000000123", 1500000000123, true);
    check_time("1500000001", 1500000001000, false);
    check_time("1500000000124", 1500000000124, true);
    check_time("4294967295", 4294967295000, false);
    check_time("10000000000", 10000000000, true);
    check_time("1", 1000, false);
    check_time("0000000007", 7000, false);
    check_time("9999999999999", 9999999999999, true);
    check_time("15000000001", 15000000001, true);
    check_time("1500000000.5", 1500000000500, true);
    check_time("1500000000.25", 1500000000250, true);
    check_time("1500000000.007", 1500000000007, true);
}

static void check_bad_time(const char *word, const char *why)
{
    char line[96];
    int n = snprintf(line, sizeof(line), "put m %s 1 a=b\n", word);
    uint64_t before = t.line.n_points;
    ts_buf_clear(&t.out);
    (void)t_bytes(&t, line, (size_t)n, false);
    assert_int_equal(t.line.n_points, before);
    assert_non_null(memmem(t.out.p, t.out.n, why, strlen(why)));
    assert_non_null(memmem(t.out.p, t.out.n, word, strlen(word)));
}

static void test_put__iso_times(void **state)
{
    (void)state;
    check_time("2026-11-22T10:00:00Z", 1795341600000, false);
    check_time("2026-11-22T10:00:00.000Z", 1795341600000, true);
    check_time("2026-11-22T10:00:00.125Z", 1795341600125, true);
    check_time("2026-11-22T11:00:00+01:00", 1795341600000, false);
    check_time("2026-11-22T04:30:00.250-05:30", 1795341600250, true);
    check_time("2026-11-22T10:00:00", 1795341600000, false); /* the zone of the daemon, here UTC */
    check_time("1500000000", 1500000000000, false);          /* numbers go on as before */
    check_bad_time("2026-13-22T10:00:00Z", "ISO 8601");
    check_time("2026-11-22T10:00:00.125000Z", 1795341600125, true);
    check_bad_time("2026-11-22T10:00:00.1251Z", "at most 3 decimals");
    check_bad_time("2026-11-22T10:00:00,0001+01:00", "at most 3 decimals");
    check_bad_time("2026-11-22T", "Invalid character");
    check_bad_time("2026-11-22Tx", "ISO 8601");
    check_bad_time("1969-11-22T10:00:00Z", "invalid timestamp");
    check_bad_time("2500-11-22T10:00:00Z", "invalid timestamp");
}

static void test_put__hours_that_a_zone_leaves_out_are_refused(void **state)
{
    (void)state;
    const struct ts_tz *before = ts_tz_default(), *berlin;
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &berlin, NULL), 0);
    ts_tz_set_default(berlin);
    check_bad_time("2026-03-29T02:00:00", "there is no such time: the clock was set forward");
    check_bad_time("2026-03-29T02:59:59.999", "there is no such time");
    check_time("2026-03-29T01:59:59", 1774745999000, false);
    check_time("2026-03-29T03:00:00", 1774746000000, false);
    check_time("2026-03-29T02:30:00+01:00", 1774747800000, false);
    check_time("2026-03-29T02:30:00Z", 1774751400000, false);
    check_time("2026-10-25T02:30:00", 1792888200000, false); /* it is there twice: the first one */
    ts_tz_set_default(before);
}

static void test_put__what_may_be_seconds_or_milliseconds_is_refused(void **state)
{
    (void)state;
    check_bad_time("4294967296", "seconds end at 4294967295");
    check_bad_time("9999999999", "milliseconds have 11 to 13 digits");
    t.rules.old_times = true;
    check_time("4294967296", 4294967296, true);
}

static void test_put__dates_without_separators_are_refused(void **state)
{
    (void)state;
    check_bad_time("20261122", "as a date write 2026-11-22T00:00:00Z, as seconds in 1970 20261122.)");
    check_bad_time("19700101", "as a date write");
    check_bad_time("21991231", "as a date write");
    check_time("20261122.", 20261122000, false);
    check_time("20261122.0", 20261122000, true);
    check_time("20261332", 20261332000, false); /* no such month, day, year */
    check_time("20260230", 20260230000, false);
    check_time("19691231", 19691231000, false);
    check_time("22000101", 22000101000, false);
    t.rules.old_times = true;
    check_bad_time("20261122", "as a date write");
}

static void test_put__times_finer_than_milliseconds_are_named(void **state)
{
    (void)state;
    check_bad_time("1500000000123456", "16 digits are microseconds");
    check_bad_time("1500000000123456789",
                   "bad timestamp=1500000000123456789 when trying to add value=1 to metric=m, tags={a=b} "
                   "(milliseconds, 13 digits, are the finest: 16 digits are microseconds, 19 nanoseconds)");
}

static void test_put__compat_deletes_points_in_times(void **state)
{
    (void)state;
    check_time("4294967296", 4294967296, true);
    check_time("20261122", 20261122000, false);
    check_bad_time("1500000000123456",
                   "bad timestamp=1500000000123456 when trying to add value=1 to metric=m, tags={a=b}\n");
    check_bad_time("2026-11-22T10:00:00Z", "Value too long");
    check_time("1500000000.123", 1500000000123, true);
    check_time("1500000000.5", 15000000005, true);
}

static void test_put__old_times_need_the_key(void **state)
{
    (void)state;
    t.rules.old_times = true;
    check_time("-86400", -86400000, false);
    check_time("0", 0, false);
    check_time("-5000000000", -5000000000, true);
    check_time("-1.5", -1500, true);
    check_time("-0.250", -250, true);
}

static void test_put__spellings_of_a_series_are_one_series(void **state)
{
    (void)state;
    const char *reply = t_send(&t, "put m 1500000000 1 a=b c=d\n"
                                   "put m 1500000001 2 c=d a=b\n"
                                   "put m 1500000002 3 a=b  c=d\r\n"
                                   "put m 1500000003 4 c=d a=b \n"
                                   "put m 1500000004 5 c=d a=b\n"
                                   "put m 1500000005 6 a=b c=d a=b\n");
    assert_string_equal(reply, "");
    assert_int_equal(sto_series_count(t.in.cat), 1);
    assert_string_equal(t_points(&t),
                        "m 1500000000 1 a=b c=d\nm 1500000001 2 a=b c=d\nm 1500000002 3 a=b c=d\n"
                        "m 1500000003 4 a=b c=d\nm 1500000004 5 a=b c=d\nm 1500000005 6 a=b c=d\n");
}

static void test_put__a_repeated_order_is_guessed(void **state)
{
    (void)state;
    char text[8192];
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "put m.%d 1500000000 %d host=web%d\n", i, i, i);
    assert_string_equal(t_send(&t, text), "");
    assert_int_equal(t.in.n_missed, 100);
    for (int round = 0; round < 3; round++)
        assert_string_equal(t_send(&t, text), "");
    assert_int_equal(t.in.n_missed, 100);
    assert_int_equal(t.in.n_found, 1); /* last to first */
    assert_int_equal(t.in.n_guessed, 299);
    assert_int_equal(t.line.n_points, 400);
}

/* A guess must not take a line that only begins or ends like it. */
static void test_put__near_misses_are_other_series(void **state)
{
    (void)state;
    const char *text = "put m 1500000000 1 a=b\n"
                       "put mm 1500000000 2 a=b\n"
                       "put m 1500000000 3 a=bb\n"
                       "put m 1500000000 4 a=b c=d\n"
                       "put n 1500000000 5 a=b\n"
                       "put m 1500000000 6 b=b\n";
    for (int i = 0; i < 3; i++)
        assert_string_equal(t_send(&t, text), "");
    /* other order: every guess is wrong */
    (void)t_send(&t, "put m 1500000001 1 a=b\nput m 1500000001 3 a=bb\nput mm 1500000001 2 a=b\nput m "
                     "1500000001 4 a=b c=d\n");
    assert_string_equal(t_points(&t),
                        "m 1500000000 1 a=b\nm 1500000001 1 a=b\nm 1500000000 3 a=bb\nm 1500000001 3 a=bb\n"
                        "m 1500000000 4 a=b c=d\nm 1500000001 4 a=b c=d\nm 1500000000 6 b=b\n"
                        "mm 1500000000 2 a=b\nmm 1500000001 2 a=b\nn 1500000000 5 a=b\n");
}

static void test_put__a_rename_ends_what_was_remembered(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_string_equal(t_send(&t, "put m 1500000000 1 a=b\nput m 1500000001 1 a=b\n"), "");
    assert_int_equal(sto_uid_rename(t.in.cat, STO_UID_METRIC, TS_SLICE_LIT("m"), TS_SLICE_LIT("new"), &err),
                     0);
    assert_string_equal(t_send(&t,
                               "put m 1500000002 2 a=b\nput m 1500000003 2 a=b\nput new 1500000004 3 a=b\n"
                               "put new 1500000005 3 a=b\n"),
                        "");
    assert_string_equal(t_points(&t), "new 1500000000 1 a=b\nnew 1500000001 1 a=b\nnew 1500000004 3 a=b\n"
                                      "new 1500000005 3 a=b\nm 1500000002 2 a=b\nm 1500000003 2 a=b\n");
}

static void test_put__tags_up_to_the_limit(void **state)
{
    (void)state;
    char line[4096];
    t.line.line_max_bytes = sizeof(line);
    for (unsigned n = 31; n <= 34; n++) {
        size_t at = (size_t)snprintf(line, sizeof(line), "put m 1500000000 1");
        for (unsigned i = 0; i < n; i++)
            at += (size_t)snprintf(line + at, sizeof(line) - at, " k%u=v", i);
        snprintf(line + at, sizeof(line) - at, "\n");
        const char *reply = t_send(&t, line);
        if (n <= 32)
            assert_string_equal(reply, "");
        else
            assert_memory_equal(reply, "put: illegal argument: Too many tags: 3", 39);
    }
}

#define GREEK "\xcf\x87"

static void test_put__what_hbase_cannot_hold_is_refused_and_counted(void **state)
{
    static const struct row rows[] = {
        {"put m 4294967295 2 a=b", ""},
        {"put m 4294967295999 2 a=b", ""},
        {"put m 4294967296000 2 a=b", "put: illegal argument: bad timestamp=4294967296000 when trying to add "
                                      "value=2 to metric=m, tags={a=b} "
                                      "(HBase's tables hold times from 1970 to 2106)\n"},
        {"put m 2106-02-07T06:28:16Z 2 a=b", "put: illegal argument: bad timestamp=4294967296000 when trying "
                                             "to add value=2 to metric=m, tags={a=b} "
                                             "(HBase's tables hold times from 1970 to 2106)\n"},
        {"put m -1.5 2 a=b",
         "put: illegal argument: bad timestamp=-1500 when trying to add value=2 to metric=m, tags={a=b} "
         "(HBase's tables hold times from 1970 to 2106)\n"},
        {"put \xc3\xbc 1500000000 2 a=\xc3\xbf", ""},
        {"put " GREEK " 1500000000 2 a=b",
         "put: illegal argument: Invalid metric name (\"" GREEK "\"): illegal character: " GREEK
         " (HBase's tables hold names in ISO-8859-1)\n"},
        {"put m 1500000000 2 " GREEK "=b",
         "put: illegal argument: Invalid tag name with value [b] (\"" GREEK "\"): illegal character: " GREEK
         " (HBase's tables hold names in ISO-8859-1)\n"},
        {"put m 1500000000 2 a=" GREEK,
         "put: illegal argument: Invalid tag value with key [a] (\"" GREEK "\"): illegal character: " GREEK
         " (HBase's tables hold names in ISO-8859-1)\n"},
        {"put m 1500000000 2 " NINE, "put: illegal argument: Too many tags: 9 maximum allowed: 8, tags: "
                                     "{a1=1, a2=2, a3=3, a4=4, a5=5, a6=6, "
                                     "a7=7, a8=8, a9=9} (remote = hbase)\n"},
    };
    (void)state;
    t.rules.old_times = true;
    tsd_rules_for_hbase(&t.rules, 0, 4294967295999);
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
    assert_int_equal(t.in.n_refused[TSD_REF_HBASE], 7);
    assert_int_equal(t.in.n_refused[TSD_REF_ILLEGAL], 0);
    /* what no mode accepts is counted as before */
    assert_string_equal(t_send(&t, "put m\xe2\x82\xac 1500000000 2 a=b\n"),
                        "put: illegal argument: Invalid metric name (\"m\xe2\x82\xac\"): illegal character: "
                        "\xe2\x82\xac\n");
    assert_int_equal(t.in.n_refused[TSD_REF_ILLEGAL], 1);
    assert_string_equal(t_points(&t), "m 4294967295 2 a=b\nm 4294967295999 2 a=b\n"
                                      "\xc3\xbc 1500000000 2 a=\xc3\xbf\n");
}

/* Each series has its rule; what no rule lets expire is taken without looking at any. */
static void test_put__what_has_expired_is_refused(void **state)
{
    (void)state;
    ts_clock_set_fake(1500000000000);
    t_open_with(&t, false, (struct sto_opts){.pumped = true, .retention_rules = "a points=1h; b points=30d"});
    assert_string_equal(t_send(&t, "put a 1499996400 1 x=y\nput b 1499996399 1 x=y\nput c 1 1 x=y\n"), "");
    assert_string_equal(
        t_send(&t, "put a 1499996399 2 x=y\nput b 1400000000 2 x=y\n"),
        "put: illegal argument: the point has expired: points of this series are kept for 1h\n"
        "put: illegal argument: the point has expired: points of this series are kept for 30d\n");
    assert_string_equal(t_points(&t), "a 1499996400 1 x=y\nb 1499996399 1 x=y\nc 1 1 x=y\n");
    t_close(&t);
    ts_clock_set_fake(0);
}

/* A refused point is lost, so a clock that jumps forward must not refuse what is good; nor may it let old points in. */
static void test_put__a_clock_that_jumps_refuses_nothing(void **state)
{
    (void)state;
    ts_clock_set_fake(1500000000000);
    t_open_with(&t, false, (struct sto_opts){.pumped = true, .retention_ms = 30 * TS_DAY_MS});
    assert_non_null(strstr(t_send(&t, "put m 1497000000 1 a=b\n"), "the point has expired"));
    assert_string_equal(t_send(&t, "put m 1500000000 2 a=b\n"), "");
    ts_clock_set_fake(1500000000000 + 400 * TS_DAY_MS);
    assert_string_equal(t_send(&t, "put m 1500000001 3 a=b\n"), "");
    assert_non_null(strstr(t_send(&t, "put m 1497000000 1 a=b\n"), "the point has expired"));
    assert_int_equal(t.in.n_refused[TSD_REF_EXPIRED], 2);
    ts_clock_set_fake(1500000002000);
    assert_string_equal(t_points(&t), "m 1500000000 2 a=b\nm 1500000001 3 a=b\n");
    t_close(&t);
    ts_clock_set_fake(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put__answers_every_error_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__compat_answers_every_error_row, set_up_compat, tear_down),
        cmocka_unit_test_setup_teardown(test_put__values_are_what_the_number_parser_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__long_values_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__times_have_their_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__iso_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__dates_without_separators_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__times_finer_than_milliseconds_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__hours_that_a_zone_leaves_out_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_put__what_may_be_seconds_or_milliseconds_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_put__compat_deletes_points_in_times, set_up_compat, tear_down),
        cmocka_unit_test_setup_teardown(test_put__old_times_need_the_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__spellings_of_a_series_are_one_series, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__a_repeated_order_is_guessed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__near_misses_are_other_series, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__a_rename_ends_what_was_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__tags_up_to_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put__what_hbase_cannot_hold_is_refused_and_counted, set_up,
                                        tear_down),
        cmocka_unit_test(test_put__what_has_expired_is_refused),
        cmocka_unit_test(test_put__a_clock_that_jumps_refuses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
