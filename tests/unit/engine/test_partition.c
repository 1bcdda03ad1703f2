/*
 * test_partition.c - cutting days into files and picking merges that keep the order of writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/engine/partition.h"

#define DAY(d) ((int64_t)(d)*TS_DAY_MS)
#define NOW    DAY(20000)

static struct sto_sst_info t_file(uint64_t gen_lo, uint64_t gen_hi, int64_t lo, int64_t hi, uint64_t bytes)
{
    return (struct sto_sst_info){.file_no = gen_lo,
                                 .gen_lo = gen_lo,
                                 .gen_hi = gen_hi,
                                 .min_ms = lo,
                                 .max_ms = hi,
                                 .n_points = 1,
                                 .n_rows = 1,
                                 .t_bytes = bytes,
                                 .tomb_min_ms = INT64_MAX,
                                 .tomb_max_ms = INT64_MIN};
}

static void test_partition__big_days_have_their_own_file(void **state)
{
    (void)state;
    const struct sto_day_count days[] = {{-3, 5}, {-1, 10}, {4, 200}, {5, 300}, {9, 1}, {10, 1}};
    struct sto_cut cut[6];
    assert_int_equal(sto_partition_plan(days, 6, 100, cut), 4);
    assert_int_equal(cut[0].hour_lo, INT32_MIN);
    assert_int_equal(cut[0].hour_hi, 4 * 24);
    assert_int_equal(cut[1].hour_hi, 5 * 24);
    assert_int_equal(cut[2].hour_lo, 5 * 24);
    assert_int_equal(cut[2].hour_hi, 9 * 24);
    assert_int_equal(cut[3].hour_hi, INT32_MAX);
    assert_int_equal(sto_partition_plan(days, 0, 100, cut), 0);
}

static void test_partition__cuts_cover_all_time_without_overlap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sto_day_count days[20];
        struct sto_cut cut[20];
        size_t n = 1 + ts_hash_u64(seed) % 20;
        int32_t day = -50;
        for (size_t i = 0; i < n; i++) {
            day += 1 + (int32_t)(ts_hash_u64(seed * 100 + i) % 9);
            days[i] = (struct sto_day_count){day, ts_hash_u64(seed * 77 + i) % 200};
        }
        size_t k = sto_partition_plan(days, n, 100, cut);
        assert_true(k >= 1 && k <= n);
        assert_int_equal(cut[0].hour_lo, INT32_MIN);
        assert_int_equal(cut[k - 1].hour_hi, INT32_MAX);
        for (size_t i = 1; i < k; i++)
            assert_int_equal(cut[i].hour_lo, cut[i - 1].hour_hi);
    }
}

static void test_partition__a_tier_of_similar_files_is_merged(void **state)
{
    (void)state;
    struct sto_sst_info f[5];
    struct sto_pick p;
    for (uint64_t i = 0; i < 3; i++)
        f[i] = t_file(i + 1, i + 1, DAY(19999) + 1, DAY(19999) + 100, 1000);
    sto_pick_next(f, 3, NOW, false, &p);
    assert_int_equal(p.why, STO_PICK_NONE);
    ts_free(p.files);
    f[3] = t_file(4, 4, DAY(19999) + 1, DAY(19999) + 100, 1000);
    sto_pick_next(f, 4, NOW, false, &p);
    assert_int_equal(p.why, STO_PICK_DAY);
    assert_int_equal(p.n, 4);
    assert_true(p.final);
    ts_free(p.files);
    f[0].t_bytes = 1000000; /* a large old one is left alone */
    sto_pick_next(f, 4, NOW, false, &p);
    assert_int_equal(p.why, STO_PICK_NONE);
    ts_free(p.files);
}

static void test_partition__a_file_between_generations_blocks(void **state)
{
    (void)state;
    /* generations 1, 2, 4 of one day and a wide file of generation 3 over it */
    struct sto_sst_info f[] = {t_file(1, 1, DAY(10), DAY(10) + 9, 10), t_file(2, 2, DAY(10), DAY(10) + 9, 10),
                               t_file(3, 3, DAY(9), DAY(12), 10), t_file(4, 4, DAY(10), DAY(10) + 9, 10)};
    const size_t a[] = {0, 1}, b[] = {0, 1, 3}, c[] = {0, 1, 2, 3};
    assert_true(sto_pick_valid(f, 4, a, 2));
    assert_false(sto_pick_valid(f, 4, b, 3));
    assert_true(sto_pick_valid(f, 4, c, 4));
}

static void test_partition__old_small_days_are_joined(void **state)
{
    (void)state;
    struct sto_sst_info f[10];
    struct sto_pick p;
    for (uint64_t i = 0; i < 10; i++) /* ten days of one month, long ago */
        f[i] = t_file(i + 1, i + 1, DAY(19723 + i), DAY(19723 + i) + 1000, 1000);
    sto_pick_next(f, 10, NOW, false, &p);
    assert_int_equal(p.why, STO_PICK_JOIN);
    assert_true(p.one);
    assert_int_equal(p.n, 10);
    ts_free(p.files);
    sto_pick_next(f, 10, DAY(19733), false, &p); /* the youngest days wait */
    assert_true(p.n < 10);
    ts_free(p.files);
}

/* Whatever is picked keeps the order of writes, and `full` ends. */
static void test_partition__random_stores_settle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sto_sst_info f[64];
        size_t n = 2 + ts_hash_u64(seed) % 24;
        for (size_t i = 0; i < n; i++) {
            uint64_t r = ts_hash_u64(seed * 1000 + i);
            int64_t lo = DAY(19000 + (int64_t)(r % 30)) + (int64_t)(r >> 8) % TS_DAY_MS;
            int64_t len = (r >> 40) % 4 == 0 ? DAY((int64_t)(r >> 50) % 20) : 1000;
            f[i] = t_file(i + 1, i + 1, lo, lo + len, 1 + (r >> 20) % 100000);
            if ((r >> 60) == 0) {
                f[i].n_tombs = 1;
                f[i].tomb_min_ms = lo - DAY(3);
                f[i].tomb_max_ms = lo;
            }
        }
        for (int round = 0;; round++) {
            struct sto_pick p;
            assert_true(round < 500);
            sto_pick_next(f, n, NOW, round % 3 != 0 || round > 100, &p);
            if (p.why == STO_PICK_NONE && (round % 3 != 0 || round > 100)) {
                ts_free(p.files);
                break;
            }
            if (p.why == STO_PICK_NONE) {
                ts_free(p.files);
                continue;
            }
            assert_true(sto_pick_valid(f, n, p.files, p.n));
            struct sto_sst_info out = t_file(UINT64_MAX, 0, INT64_MAX, INT64_MIN, 0);
            for (size_t i = 0; i < p.n; i++) {
                const struct sto_sst_info *in = &f[p.files[i]];
                out.gen_lo = in->gen_lo < out.gen_lo ? in->gen_lo : out.gen_lo;
                out.gen_hi = in->gen_hi > out.gen_hi ? in->gen_hi : out.gen_hi;
                out.min_ms = in->min_ms < out.min_ms ? in->min_ms : out.min_ms;
                out.max_ms = in->max_ms > out.max_ms ? in->max_ms : out.max_ms;
                out.t_bytes += in->t_bytes;
                if (!p.final && in->n_tombs) {
                    out.n_tombs += in->n_tombs;
                    out.tomb_min_ms = in->tomb_min_ms < out.tomb_min_ms ? in->tomb_min_ms : out.tomb_min_ms;
                    out.tomb_max_ms = in->tomb_max_ms > out.tomb_max_ms ? in->tomb_max_ms : out.tomb_max_ms;
                }
            }
            size_t kept = 0;
            for (size_t i = 0; i < n; i++) {
                bool gone = false;
                for (size_t k = 0; k < p.n; k++)
                    gone |= p.files[k] == i;
                if (!gone)
                    f[kept++] = f[i];
            }
            f[kept++] = out;
            n = kept;
            ts_free(p.files);
        }
        for (size_t a = 0; a < n; a++) /* settled: nothing overlaps */
            for (size_t b = a + 1; b < n; b++)
                assert_true(f[a].max_ms < f[b].min_ms || f[b].max_ms < f[a].min_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partition__big_days_have_their_own_file),
        cmocka_unit_test(test_partition__cuts_cover_all_time_without_overlap),
        cmocka_unit_test(test_partition__a_tier_of_similar_files_is_merged),
        cmocka_unit_test(test_partition__a_file_between_generations_blocks),
        cmocka_unit_test(test_partition__old_small_days_are_joined),
        cmocka_unit_test(test_partition__random_stores_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
