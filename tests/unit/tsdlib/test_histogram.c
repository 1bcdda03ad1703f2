/*
 * test_histogram.c - histograms: both forms, percentiles of example E58, malformed ones of all kinds, limits.
 */
#include "t_ingest.h"

#include "query/execution/internal_metric.h"
#include "tsd/ingest/histogram.h"
#include "tests/unit/t_random.h"

static struct tsd_histogram h;
static struct ts_buf msg;
static const struct tsd_histograms on = {.on = true, .codec = 42, .max_buckets = 8};

static int set_up_on(void **state)
{
    t.line.histograms = &on;
    ts_buf_init(&msg, 0);
    int rc = set_up(state);
    t.line.histograms = &on;
    return rc;
}

static int tear_down_on(void **state)
{
    tsd_histogram_release(&h);
    ts_buf_release(&msg);
    return tear_down(state);
}

/* "u=0 o=1 1.0,2.0=5" */
static const char *shown(void)
{
    static char text[512];
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < h.n; i++) {
        if (i)
            ts_buf_char(&b, ' ');
        sto_bucket_print(&h.buckets[i].b, &b);
        ts_buf_printf(&b, "=%lld", (long long)h.buckets[i].count);
    }
    snprintf(text, sizeof(text), "%.*s", (int)b.n, b.p);
    ts_buf_release(&b);
    return text;
}

static void test_histogram__text_in_any_order_and_case(void **state)
{
    (void)state;
    assert_int_equal(tsd_histogram_text(&h, TS_SLICE_LIT("u=0:o=1:0,1.5=42:1.5,5.75=24"), &msg), 0);
    assert_string_equal(shown(), "u=0 o=1 0.0,1.5=42 1.5,5.75=24");
    assert_int_equal(tsd_histogram_text(&h, TS_SLICE_LIT("1.5,5.75=24:O=7:-3,1.5=1:U=2"), &msg), 0);
    assert_string_equal(shown(), "u=2 o=7 -3.0,1.5=1 1.5,5.75=24");
    assert_int_equal(tsd_histogram_text(&h, TS_SLICE_LIT("0,1=1:0,1=9"), &msg), 0);
    assert_string_equal(shown(), "u=0 o=0 0.0,1.0=9");
}

static void test_histogram__text_that_is_none(void **state)
{
    static const char *const rows[][2] = {
        {":", "Improperly formatted bucket: "},
        {"u", "Improperly formatted bucket: u"},
        {"u=", "Improperly formatted bucket: u="},
        {"u=x", "Improperly formatted bucket: u=x"},
        {"u=-1", "Improperly formatted bucket: u=-1"},
        {"u=1=2", "Improperly formatted bucket: u=1=2"},
        {"u=99999999999999999999", "Improperly formatted bucket: u=99999999999999999999"},
        {"=1", "Improperly formatted bounds: "},
        {"x=1", "Improperly formatted bounds: x"},
        {"0=1", "Improperly formatted bounds: 0"},
        {"0,1,2=1", "Improperly formatted bounds: 0,1,2"},
        {",1=1", "Improperly formatted bounds: ,1"},
        {"1,1=1", "Improperly formatted bounds: 1,1"},
        {"2,1=1", "Improperly formatted bounds: 2,1"},
        {"0,1e99=1", "Improperly formatted bounds: 0,1e99"},
        {"0,NaN=1", "Improperly formatted bounds: 0,NaN"},
        {"0,1=1::o=1", "Improperly formatted bucket: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tsd_histogram_text(&h, ts_slice_str(rows[i][0]), &msg), TS_EINVAL);
        ts_buf_char(&msg, 0);
        assert_string_equal(msg.p, rows[i][1]);
    }
}

static void test_histogram__binary_of_the_facts(void **state)
{
    (void)state;
    /* 0002 3F800000 40000000 05 40000000 40400000 AC02 00 01, and with the codec's id in front */
    static const char *const good[] = {"AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAE=", "AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAE",
                                       "KgACP4AAAEAAAAAFQAAAAEBAAACsAgAB"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(tsd_histogram_binary(&h, &on, 42, ts_slice_str(good[i]), &msg), 0);
        assert_string_equal(shown(), "u=0 o=1 1.0,2.0=5 2.0,3.0=300");
    }
    static const char *const bad[] = {"",
                                      "=",
                                      "A",
                                      "AAE",
                                      "AAI/gAAAQAAAAAVAAAAAQEAAAKwCAA",
                                      "AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAEB",
                                      "AAI*gAAA",
                                      "//////////////////8=",
                                      "AAAAAA",
                                      "AAF/gAAAQAAAAAUAAQ==",
                                      "KgACP4AAAEAAAAAFQAAAAEBAAACsAgABA"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (tsd_histogram_binary(&h, &on, 42, ts_slice_str(bad[i]), &msg) == 0 && strcmp(bad[i], "AAAAAA"))
            fail_msg("%s is taken", bad[i]);
    assert_int_equal(tsd_histogram_binary(&h, &on, 0, ts_slice_str(good[0]), &msg), TS_EINVAL);
    assert_int_equal(tsd_histogram_binary(&h, &on, 256, ts_slice_str(good[0]), &msg), TS_EINVAL);
    assert_int_equal(tsd_histogram_binary(&h, &on, -1, ts_slice_str(good[0]), &msg), TS_EINVAL);
}

/* Bytes changed at random: never a crash, and what is taken is sorted, each bucket once, no count below 0. */
static void test_histogram__random_changes(void **state)
{
    static const char *const seeds[] = {"u=0:o=1:0,1.5=42:1.5,5.75=24", "AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAE="};
    uint64_t rnd = 88172645463325252ull;
    (void)state;
    for (int round = 0; round < 40000; round++) {
        char text[64];
        const char *seed = seeds[round & 1];
        size_t n = strlen(seed);
        memcpy(text, seed, n);
        for (int k = 0; k < 3; k++) {
            (void)t_random(&rnd);
            text[rnd % n] = "0123456789,.:=-uoeA/+z\0\xff"[(rnd >> 32) % 24];
        }
        n -= rnd >> 60 < 3 ? rnd % n : 0;
        char *copy = malloc(n + 1); /* its own block, so that a byte too many is seen */
        memcpy(copy, text, n);
        struct ts_slice s = {copy, n};
        int rc = round & 1 ? tsd_histogram_binary(&h, &on, 42, s, &msg) : tsd_histogram_text(&h, s, &msg);
        for (size_t i = 0; rc == 0 && i < h.n; i++) {
            assert_true(h.buckets[i].count >= 0);
            assert_true(i == 0 || sto_bucket_cmp(&h.buckets[i - 1].b, &h.buckets[i].b) < 0);
        }
        free(copy);
    }
}

static void test_histogram__percentiles_of_the_facts(void **state)
{
    static const struct sto_bucket b[] = {{.kind = STO_BUCKET_UNDER},
                                          {.kind = STO_BUCKET_RANGE, .lower = 0, .upper = 10},
                                          {.kind = STO_BUCKET_RANGE, .lower = 10, .upper = 20},
                                          {.kind = STO_BUCKET_RANGE, .lower = 20, .upper = 50}};
    static const double counts[] = {100, 5, 3, 2}, none[] = {100, 0, 0, 0};
    static const double rows[][2] = {{0.5, -1}, {1, 5},     {50, 5},   {50.1, 15},
                                     {80, 15},  {80.5, 35}, {100, 35}, {100.1, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(qry_histogram_percentile(b, counts, 4, rows[i][0]) == rows[i][1]);
    double d = qry_histogram_percentile(b, none, 4, 50);
    assert_true(d != d);
}

static void test_histogram__floats_as_java_prints_them(void **state)
{
    static const struct {
        float f;
        const char *text;
    } rows[] = {{99.9f, "99.9"},   {50, "50.0"},    {0.1f, "0.1"},
                {1e10f, "1.0E10"}, {-2.5f, "-2.5"}, {16777216, "1.6777216E7"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ts_buf_clear(&msg);
        sto_float_print(rows[i].f, &msg);
        ts_buf_char(&msg, 0);
        assert_string_equal(msg.p, rows[i].text);
    }
}

/* Buckets in falling order, each before all others: without the limit this takes hours. */
static void test_histogram__too_many_buckets_stop_at_the_limit(void **state)
{
    (void)state;
    struct tsd_histogram many = {.max = 1024};
    struct ts_buf text;
    ts_buf_init(&text, 0);
    for (int i = 3000000; i > 0; i--)
        ts_buf_printf(&text, "%s%d,%d=1", text.n ? ":" : "", i, i + 1);
    assert_int_equal(tsd_histogram_text(&many, ts_buf_get(&text), &msg), TS_EINVAL);
    assert_true(ts_slice_is(ts_buf_get(&msg),
                            "More than 1024 different buckets of a metric (histogram_max_buckets)"));
    assert_int_equal(many.n, 1024);
    assert_int_equal(tsd_histogram_text(&many, TS_SLICE_LIT("u=1:0,1=2:0,1=3"), &msg), 0);
    assert_int_equal(many.n, 3);
    tsd_histogram_release(&many);
    many = (struct tsd_histogram){.max = 4};
    /* three buckets of the simple codec with u and o */
    static const char three[] = "AAMAAAAAP4AAAAE/gAAAQAAAAAFAAAAAQEAAAAEBAQ==";
    assert_int_equal(tsd_histogram_binary(&many, &on, 42, TS_SLICE_LIT(three), &msg), TS_EINVAL);
    assert_true(
        ts_slice_is(ts_buf_get(&msg), "More than 4 different buckets of a metric (histogram_max_buckets)"));
    many.max = 5;
    assert_int_equal(tsd_histogram_binary(&many, &on, 42, TS_SLICE_LIT(three), &msg), 0);
    tsd_histogram_release(&many);
    ts_buf_release(&text);
}

static void test_histogram__lines_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"histogram", "histogram: illegal argument: not enough arguments (need least 4, got 0)\n"},
        {"histogram m 1500000000 u=1",
         "histogram: illegal argument: not enough arguments (need least 4, got 3)\n"},
        {"histogram  1500000000 u=1 a=b", "histogram: illegal argument: empty metric name\n"},
        {"histogram m 0 u=1 a=b", "histogram: illegal argument: invalid timestamp: 0\n"},
        {"histogram m 1500000000 u a=b", "histogram: illegal argument: Improperly formatted bucket: u\n"},
        {"histogram m 1500000000 0,x=1 a=b",
         "histogram: illegal argument: Improperly formatted bounds: 0,x\n"},
        {"histogram m 1500000000 42 AAE a=b",
         "histogram: illegal argument: Not a simple histogram in base64: AAE\n"},
        {"histogram m 1500000000 42 a=b",
         "histogram: illegal argument: Not a simple histogram in base64: a=b\n"},
        {"histogram m 1500000000 u=1 ab", "histogram: illegal argument: invalid tag: ab\n"},
        {"histogram m 1500000000 u=1 ",
         "histogram: illegal argument: Need at least one tag (metric=m, tags={})\n"},
        {"histogram m! 1500000000 u=1 a=b",
         "histogram: illegal argument: Invalid metric name (\"m!\"): illegal character: !\n"},
        {"histogram m 1500000000 u=1:0,1=1:1,2=1:2,3=1:3,4=1:4,5=1:5,6=1:6,7=1 a=b",
         "histogram: illegal argument: More than 8 different buckets of a metric (histogram_max_buckets)\n"},
        {"histogram m 1500000000 u=1:0,1=1:1,2=1 a=b", ""},
        {"histogram m 1500000000 42 AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAE= a=b", ""},
    };
    (void)state;
    t_each_line(&t, rows, sizeof(rows) / sizeof(rows[0]));
    assert_string_equal(t_points(&t), "histogram m 1500000000 u=0:o=1:0.0,1.0=0:1.0,2.0=5:2.0,3.0=300 a=b\n");
    t.line.histograms = NULL;
    assert_string_equal(t_send(&t, "histogram\n"),
                        "histogram: illegal argument: Histogram storage has not been enabled. "
                        "Check the 'tsd.core.histograms.config' configuration.\n");
}

static void test_histogram__a_metric_has_all_buckets_of_its_histograms(void **state)
{
    static const char *const rows[][2] = {
        {"histogram m 1500000000 0,1=1:1,2=1 a=b", ""},
        {"histogram m 1500000060 2,3=1:3,4=1:4,5=1:5,6=1 a=b",
         ""}, /* with u and o eight, as many as allowed */
        {"histogram m 1500000120 6,7=1 a=b",
         "histogram: illegal argument: More than 8 different buckets of a metric (histogram_max_buckets)\n"},
        {"histogram n 1500000120 6,7=1 a=b", ""},
        {"histogram m 1500000180 0,1=1:5,6=1 a=b", ""},
    };
    (void)state;
    t_each_line(&t, rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_histogram__compat_blames_storage(void **state)
{
    (void)state;
    t.rules.compat = true;
    assert_string_equal(t_send(&t, "histogram m 1500000000 u a=b\n"),
                        "histogram: HBase error: Improperly formatted bucket: u\n");
    assert_string_equal(t_send(&t, "histogram m 1500000000 u=1\n"),
                        "histogram: illegal argument: not enough arguments (need least 5, got 3)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_histogram__text_in_any_order_and_case, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__text_that_is_none, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__binary_of_the_facts, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__random_changes, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__percentiles_of_the_facts, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__floats_as_java_prints_them, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__too_many_buckets_stop_at_the_limit, set_up_on,
                                        tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__lines_are_refused, set_up_on, tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__a_metric_has_all_buckets_of_its_histograms, set_up_on,
                                        tear_down_on),
        cmocka_unit_test_setup_teardown(test_histogram__compat_blames_storage, set_up_on, tear_down_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
