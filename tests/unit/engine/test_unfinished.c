/*
 * test_unfinished.c - the record of an interrupted merge: its bytes, and when it can no longer be used.
 *
 * How a store uses it: ../storage/test_store_resume.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/engine/unfinished.h"
#include "tests/faults/faultfs.h"

#define N_INPUTS 3u
#define GEN_LO   4u
#define GEN_HI   20u /* raised: the inputs have up to 9 */
#define LO_MS    1000
#define HI_MS    9000

static struct sto_sst_info file(uint64_t no, uint64_t gen_lo, uint64_t gen_hi, int64_t lo_ms, int64_t hi_ms)
{
    return (struct sto_sst_info){.file_no = no,
                                 .gen_lo = gen_lo,
                                 .gen_hi = gen_hi,
                                 .min_ms = lo_ms,
                                 .max_ms = hi_ms,
                                 .tomb_min_ms = INT64_MAX,
                                 .tomb_max_ms = INT64_MIN,
                                 .n_points = 10,
                                 .n_rows = 2,
                                 .t_bytes = 500};
}

static struct sto_unfinished record(void)
{
    struct sto_unfinished u = {.inputs = ts_xcalloc(N_INPUTS, sizeof *u.inputs),
                               .n_inputs = N_INPUTS,
                               .gen_lo = GEN_LO,
                               .gen_hi = GEN_HI,
                               .carried_gen = 20,
                               .cutoff_ms = 500,
                               .cutoff_gen = 3,
                               .window = {STO_WINDOW_64, -7},
                               .cuts = {{INT32_MIN, -24}, {-24, 48}, {48, INT32_MAX}},
                               .n_cuts = 3,
                               .outputs = ts_xcalloc(2, sizeof *u.outputs),
                               .n_outputs = 2,
                               .last = {3, 70000, -5}};
    for (uint64_t i = 0; i < N_INPUTS; i++)
        u.inputs[i] = 30 + i;
    u.outputs[0] = file(40, GEN_LO, GEN_HI, LO_MS, 2000);
    u.outputs[1] = file(41, GEN_LO, GEN_HI, 5000, HI_MS);
    return u;
}

/* Does the record fit its inputs and one other file? */
static const char *fit(const struct sto_unfinished *u, struct sto_sst_info other, int64_t cutoff_ms,
                       uint64_t cutoff_gen)
{
    struct sto_sst_info files[] = {file(30, 4, 5, LO_MS, 4000), other, file(31, 6, 9, 2000, HI_MS),
                                   file(32, 6, 8, 9000, HI_MS)};
    return sto_unfinished_misfit(u, files, 4, cutoff_ms, cutoff_gen);
}

static void test_unfinished__is_read_as_it_was_written(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_unfinished u = record(), got;
    struct ts_error err = {0};
    assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/d", &err), 0);
    assert_int_equal(sto_unfinished_read(t_faultfs_fs(f), "/d", &got, &err), 0);
    assert_int_equal(sto_unfinished_write(t_faultfs_fs(f), "/d", &u, &err), 0);
    assert_int_equal(sto_unfinished_read(t_faultfs_fs(f), "/d", &got, &err), 1);
    assert_int_equal(got.n_inputs, u.n_inputs);
    assert_memory_equal(got.inputs, u.inputs, u.n_inputs * sizeof *u.inputs);
    assert_int_equal(got.n_outputs, u.n_outputs);
    assert_memory_equal(got.outputs, u.outputs, u.n_outputs * sizeof *u.outputs);
    assert_int_equal(got.n_cuts, u.n_cuts);
    assert_memory_equal(got.cuts, u.cuts, sizeof u.cuts);
    assert_int_equal(sto_key_cmp(&got.last, &u.last), 0);
    assert_true(got.gen_lo == u.gen_lo && got.gen_hi == u.gen_hi && got.carried_gen == u.carried_gen &&
                got.cutoff_ms == u.cutoff_ms && got.cutoff_gen == u.cutoff_gen && got.final == u.final &&
                got.window.level == u.window.level && got.window.index == u.window.index);
    sto_unfinished_release(&got);
    sto_unfinished_release(&u);
    t_faultfs_free(f);
}

/* A flipped bit or a cut end is damage. With a corrected checksum it is damage too, or a record that does no harm. */
static void test_unfinished__no_bytes_do_harm(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct sto_unfinished u = record(), got;
    struct ts_error err = {0};
    size_t n;
    assert_int_equal(fs->mkdir(fs, "/d", &err), 0);
    assert_int_equal(sto_unfinished_write(fs, "/d", &u, &err), 0);
    uint8_t *good = t_faultfs_get(f, "/d/MERGE", &n), *bad = ts_xmalloc(n);
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(bad, good, n);
            bad[i] ^= (uint8_t)(1u << bit);
            t_faultfs_put(f, "/d/MERGE", bad, n);
            assert_int_equal(sto_unfinished_read(fs, "/d", &got, &err), TS_ECORRUPT);
            ts_st32(bad + 12, ts_crc32c(ts_crc32c(0, bad, 12), bad + 16, n - 16));
            t_faultfs_put(f, "/d/MERGE", bad, n);
            int rc = sto_unfinished_read(fs, "/d", &got, &err);
            assert_true(rc == 1 || rc == TS_ECORRUPT || rc == TS_EVERSION);
            if (rc == 1)
                (void)fit(&got, file(1, 1, 1, 0, 1), 0, 0);
            sto_unfinished_release(&got);
        }
    for (size_t i = 0; i < n; i++) {
        t_faultfs_put(f, "/d/MERGE", good, i);
        assert_int_equal(sto_unfinished_read(fs, "/d", &got, &err), TS_ECORRUPT);
    }
    ts_free(good);
    ts_free(bad);
    sto_unfinished_release(&u);
    t_faultfs_free(f);
}

static void test_unfinished__counts_while_its_files_are_there(void **state)
{
    (void)state;
    struct sto_unfinished u = record();
    const struct sto_sst_info far = file(1, 1, 99, 100000, 200000);
    struct sto_pick pick;
    assert_null(fit(&u, far, 500, 3));
    struct sto_sst_info two[] = {file(30, 4, 5, LO_MS, 4000), file(32, 6, 8, 9000, HI_MS)};
    assert_non_null(sto_unfinished_misfit(&u, two, 2, 500, 3));
    assert_non_null(fit(&u, file(41, GEN_LO, GEN_HI, 100000, 200000), 500, 3)); /* its result is listed */
    struct sto_sst_info files[] = {far, file(32, 6, 8, 9000, HI_MS), file(31, 6, 9, 2000, HI_MS),
                                   file(30, 4, 5, LO_MS, 4000)};
    sto_unfinished_pick(&u, files, 4, &pick);
    assert_int_equal(pick.n, 3);
    assert_int_equal(pick.files[0], 1);
    assert_int_equal(pick.bytes, 1500);
    assert_true(pick.gen_lo == GEN_LO && pick.gen_hi == GEN_HI && pick.n_cuts == 3);
    ts_free(pick.files);
    u.gen_hi = 8; /* an input has 9 */
    assert_non_null(fit(&u, far, 500, 3));
    sto_unfinished_release(&u);
}

static void test_unfinished__nothing_may_come_between(void **state)
{
    (void)state;
    struct sto_unfinished u = record();
    assert_null(fit(&u, file(50, 21, 30, 0, HI_MS), 500, 3));     /* newer than the result */
    assert_non_null(fit(&u, file(50, 20, 30, 0, HI_MS), 500, 3)); /* of a generation that it claims */
    assert_non_null(fit(&u, file(50, 10, 12, HI_MS, HI_MS), 500, 3));
    assert_null(fit(&u, file(50, 10, 12, HI_MS + 1, HI_MS + 1), 500, 3)); /* beside it in time */
    assert_null(fit(&u, file(50, 1, 3, 0, HI_MS), 500, 3));               /* older */
    assert_non_null(fit(&u, file(50, 1, 4, 0, HI_MS), 500, 3));
    u.final = true;
    assert_non_null(fit(&u, file(50, 1, 3, 0, HI_MS), 500, 3)); /* additions have become points already */
    sto_unfinished_release(&u);
}

static void test_unfinished__what_retention_drops_stays_dropped(void **state)
{
    (void)state;
    struct sto_unfinished u = record();
    const struct sto_sst_info far = file(1, 1, 99, 100000, 200000);
    assert_null(fit(&u, far, 1500, GEN_HI + 1)); /* applies to its files as to any other */
    assert_non_null(fit(&u, far, 1500, GEN_HI)); /* its files are newer, their inputs were not */
    assert_null(fit(&u, far, LO_MS, GEN_HI));    /* no point is before it */
    u.cutoff_ms = 1500;
    u.cutoff_gen = GEN_HI;
    assert_null(fit(&u, far, 1500, GEN_HI)); /* was applied when they were written */
    sto_unfinished_release(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unfinished__is_read_as_it_was_written),
        cmocka_unit_test(test_unfinished__no_bytes_do_harm),
        cmocka_unit_test(test_unfinished__counts_while_its_files_are_there),
        cmocka_unit_test(test_unfinished__nothing_may_come_between),
        cmocka_unit_test(test_unfinished__what_retention_drops_stays_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
