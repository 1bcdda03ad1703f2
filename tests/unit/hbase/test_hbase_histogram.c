/*
 * test_hbase_histogram.c - qualifiers and values of histograms.
 */
#include "tests/unit/hbase/t_hbase.h"

#include <math.h>

#include "storage/hbase/histogram.h"

static struct sto_hbase_bucket seen[8];
static size_t n_seen;

static void on_bucket(void *arg, const struct sto_hbase_bucket *bucket)
{
    (void)arg;
    assert_true(n_seen < 8);
    seen[n_seen++] = *bucket;
}

static void test_hbase_histogram__qualifiers(void **state)
{
    (void)state;
    uint8_t q[5];
    t_assert_hex(q, sto_hbase_histogram_qualifier(30000, false, q), "06001E");
    t_assert_hex(q, sto_hbase_histogram_qualifier(500, true, q), "06000001F4");
    t_assert_hex(q, sto_hbase_histogram_qualifier(1000, true, q), "06000003E8");
    t_assert_hex(q, sto_hbase_histogram_qualifier(3599000, false, q), "060E0F");
}

static void test_hbase_histogram__values_of_the_simple_codec(void **state)
{
    (void)state;
    static const char known[] = "2A 0002 3F800000 40000000 05 40000000 40400000 AC02 00 01";
    struct t_bytes value = t_hex(known);
    struct sto_hbase_histogram h;
    struct ts_error err = {0};
    n_seen = 0;
    assert_int_equal(sto_hbase_histogram_parse(t_slice(&value), &h, on_bucket, NULL, &err), 0);
    assert_int_equal(h.codec, 42);
    assert_int_equal(n_seen, 2);
    assert_true(seen[0].low == 1 && seen[0].high == 2 && seen[0].count == 5);
    assert_true(seen[1].low == 2 && seen[1].high == 3 && seen[1].count == 300);
    assert_true(h.under == 0 && h.over == 1);
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(sto_hbase_histogram_write(&h, seen, &out, &err), 0);
    t_assert_hex(out.p, out.n, known);
    ts_buf_release(&out);
}

static void test_hbase_histogram__damage_is_reported(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "2A00",
        "2A 0000 00",                                                /* no overflow */
        "2A 0000 00 01 00",                                          /* a byte too many */
        "2A 0001 3F800000 400000",                                   /* half a bound */
        "2A 0001 3F800000 40000000",                                 /* no count */
        "2A 0001 3F800000 40000000 80 00",                           /* counts end too early */
        "2A 0001 7FC00000 40000000 05 00 01",                        /* not a number */
        "2A FFFF 3F800000 40000000 05 40000000 40400000 AC02 00 01", /* too few buckets */
        "2A 0001 3F800000 40000000 FFFFFFFFFFFFFFFFFFFF 00 01",      /* more than 64 bits */
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct t_bytes value = t_hex(broken[i]);
        struct sto_hbase_histogram h;
        struct ts_error err = {0};
        assert_int_equal(sto_hbase_histogram_parse(t_slice(&value), &h, NULL, NULL, &err), TS_ECORRUPT);
        assert_true(err.text[0]);
    }
}

static void test_hbase_histogram__what_cannot_be_stored_is_refused(void **state)
{
    (void)state;
    struct sto_hbase_bucket bucket = {1, 2, STO_HBASE_MAX_COUNT};
    struct sto_hbase_histogram h = {1, 1, STO_HBASE_MAX_COUNT, 0};
    struct ts_error err = {0};
    struct ts_buf out;
    ts_buf_init(&out, 0);
    assert_int_equal(sto_hbase_histogram_write(&h, &bucket, &out, &err), 0);
    struct sto_hbase_histogram read;
    n_seen = 0;
    assert_int_equal(sto_hbase_histogram_parse(ts_buf_get(&out), &read, on_bucket, NULL, &err), 0);
    assert_true(seen[0].count == STO_HBASE_MAX_COUNT && read.under == STO_HBASE_MAX_COUNT);
    bucket.count++;
    assert_int_equal(sto_hbase_histogram_write(&h, &bucket, &out, &err), TS_EINVAL);
    bucket = (struct sto_hbase_bucket){NAN, 2, 1};
    assert_int_equal(sto_hbase_histogram_write(&h, &bucket, &out, &err), TS_EINVAL);
    ts_buf_release(&out);
}

/* --- tallies --- */

static int set(struct sto_hbase_tally *t, float low, float high, uint64_t n)
{
    return sto_hbase_tally_set(t, &(struct sto_bucket){STO_BUCKET_RANGE, low, high}, n, NULL);
}

static void test_hbase_histogram__buckets_are_set_one_by_one(void **state)
{
    (void)state;
    struct sto_hbase_tally t = {.memory = NULL};
    struct sto_bucket over = {.kind = STO_BUCKET_OVER}, none = {STO_BUCKET_RANGE, 5, 6};
    struct ts_buf out;
    uint64_t n = 7;
    ts_buf_init(&out, 0);
    sto_hbase_tally_clear(&t, 42);
    assert_int_equal(set(&t, 2, 3, 300), 1);
    assert_int_equal(set(&t, 1, 2, 4), 1);
    assert_int_equal(set(&t, 1, 2, 5), 1);
    assert_int_equal(set(&t, 1, 2, 5), 0); /* it has that count */
    assert_int_equal(sto_hbase_tally_set(&t, &over, 1, NULL), 1);
    assert_int_equal(sto_hbase_tally_set(&t, &over, 1, NULL), 0);
    assert_int_equal(sto_hbase_histogram_write(&t.head, t.buckets, &out, NULL), 0);
    t_assert_hex(out.p, out.n, "2A 0002 3F800000 40000000 05 40000000 40400000 AC02 00 01");
    assert_int_equal(sto_hbase_tally_read(&t, ts_buf_get(&out), NULL), 0);
    assert_true(sto_hbase_tally_get(&t, &over, &n) && n == 1);
    assert_false(sto_hbase_tally_get(&t, &none, &n));
    struct t_bytes twice =
        t_hex("2A 0003 40000000 40400000 01 3F800000 40000000 05 40000000 40400000 02 00 00");
    assert_int_equal(sto_hbase_tally_read(&t, t_slice(&twice), NULL), 0);
    assert_int_equal(t.head.n_buckets, 2);
    assert_true(t.buckets[0].count == 5 && t.buckets[1].count == 2);
    struct t_bytes endless = t_hex("2A 0001 3F800000 7F800000 01 00 00"); /* up to infinity */
    assert_int_equal(sto_hbase_tally_read(&t, t_slice(&endless), NULL), TS_ECORRUPT);
    sto_hbase_tally_release(&t);
    ts_buf_release(&out);
}

static void test_hbase_histogram__a_tally_counts_its_memory(void **state)
{
    (void)state;
    struct ts_budget memory;
    struct sto_hbase_tally t = {.memory = &memory};
    struct ts_error err = {0};
    int rc = 0;
    ts_budget_init(&memory, "test", "test_bytes", NULL, 4096);
    for (int i = 0; i < 4096 && rc >= 0; i++)
        rc = sto_hbase_tally_set(&t, &(struct sto_bucket){STO_BUCKET_RANGE, (float)-i, 1}, 1, &err);
    assert_int_equal(rc, TS_ELIMIT);
    sto_hbase_tally_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hbase_histogram__qualifiers),
        cmocka_unit_test(test_hbase_histogram__values_of_the_simple_codec),
        cmocka_unit_test(test_hbase_histogram__damage_is_reported),
        cmocka_unit_test(test_hbase_histogram__what_cannot_be_stored_is_refused),
        cmocka_unit_test(test_hbase_histogram__buckets_are_set_one_by_one),
        cmocka_unit_test(test_hbase_histogram__a_tally_counts_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
