/*
 * test_pick_day.c - the files of a day are joined once it is over, as far as that is cheap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/unit/engine/pick_kit.h"

#define TODAY 20032
#define OVER  (DAY(TODAY + 1) + STO_OVER_AGE_MS)

/* Files of one day in order of generations; one of 0 bytes ends the list. Returns their number. After them comes a file of the
 * next day. */
static size_t files_of(const uint64_t *kib, struct sto_sst_info *out)
{
    size_t n = 0;
    for (; kib[n]; n++)
        out[n] = t_file(n + 1, n + 1, DAY(TODAY), DAY(TODAY + 1) - 1, kib[n] << 10);
    out[n] = t_file(n + 1, n + 1, DAY(TODAY + 1), DAY(TODAY + 1) + 1, 1 << 10);
    return n;
}

/* So many of these files are merged at now_ms: always the newest ones. 0: none are. */
static size_t n_merged(const uint64_t *kib, int64_t now_ms)
{
    struct sto_sst_info f[64];
    struct sto_pick p;
    size_t n = files_of(kib, f);
    sto_pick_next(f, n + 1, &(struct sto_pick_opts){.now_ms = now_ms}, &p);
    if (p.n) {
        assert_int_equal(p.why, STO_PICK_DAY);
        assert_int_equal(p.gen_lo, n - p.n + 1);
        assert_int_equal(p.gen_hi, n);
    }
    ts_free(p.files);
    return p.n;
}

static void test_pick_day__one_file_when_it_is_over(void **state)
{
    (void)state;
    const uint64_t kib[] = {200, 200, 200, 20, 20, 0};
    assert_int_equal(n_merged(kib, OVER - 1), 0);
    assert_int_equal(n_merged(kib, OVER), 5);
}

/* The newest flush has points of this day: more may come, and would write all of it again. */
static void test_pick_day__a_day_that_is_still_filled_is_not_over(void **state)
{
    (void)state;
    const uint64_t kib[] = {200, 200, 200, 20, 20, 0};
    struct sto_sst_info f[6];
    struct sto_pick p;
    size_t n = files_of(kib, f);
    f[n].gen_lo = f[n].gen_hi = n; /* the flush of the newest file of the day */
    sto_pick_next(f, n + 1, &(struct sto_pick_opts){.now_ms = OVER}, &p);
    assert_int_equal(p.why, STO_PICK_NONE);
    f[n].gen_lo = f[n].gen_hi = n + 1;
    sto_pick_next(f, n + 1, &(struct sto_pick_opts){.now_ms = OVER}, &p);
    assert_int_equal(p.why, STO_PICK_DAY);
    ts_free(p.files);
}

/* What comes later is less than a quarter: the large file is not written again. */
static void test_pick_day__late_files_are_joined_by_themselves(void **state)
{
    (void)state;
    const uint64_t few[] = {640, 1, 1, 1, 0}, four[] = {640, 1, 1, 1, 1, 0}, again[] = {640, 4, 1, 1, 1, 0},
                   quarter[] = {640, 160, 60, 0};
    assert_int_equal(n_merged(few, OVER), 0);
    assert_int_equal(n_merged(four, OVER), 4);
    assert_int_equal(n_merged(four, OVER - 1), 0);
    assert_int_equal(n_merged(again, OVER), 0);
    assert_int_equal(n_merged(quarter, OVER), 3);
}

/* The points of a small day are written by three more joins: only what is a quarter of it at most is written once more. */
static void test_pick_day__a_small_day_joins_its_last_files(void **state)
{
    (void)state;
    const uint64_t last[] = {20, 1, 1, 1, 1, 0}, alike[] = {20, 20, 20, 20, 20, 20, 0},
                   some[] = {40, 40, 40, 40, 40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0},
                   many[] = {20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 1, 1, 1, 1, 0};
    assert_int_equal(n_merged(last, OVER - 1), 0);
    assert_int_equal(n_merged(last, OVER), 4);
    assert_int_equal(n_merged(alike, OVER), 0);
    assert_int_equal(n_merged(some, OVER), 12);
    assert_int_equal(n_merged(many, OVER), 0); /* less than half of its files */
}

/* A file of several days whose generation lies between those of the day keeps them from being merged: it is split. */
static void test_pick_day__a_wide_file_between_is_split(void **state)
{
    (void)state;
    const uint64_t kib[] = {300, 300, 0};
    struct sto_sst_info f[4];
    struct sto_pick p;
    assert_int_equal(files_of(kib, f), 2);
    f[1].gen_lo = f[1].gen_hi = 3;
    f[2].gen_lo = f[2].gen_hi = 4;
    f[3] = t_file(2, 2, DAY(TODAY), DAY(TODAY + 3), 1 << 10);
    sto_pick_next(f, 4, &(struct sto_pick_opts){.now_ms = OVER}, &p);
    assert_int_equal(p.why, STO_PICK_SPLIT);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.files[0], 3);
    ts_free(p.files);
}

static void test_pick_day__a_day_left_alone_stays(void **state)
{
    (void)state;
    const uint64_t kib[] = {300, 300, 0};
    const struct sto_window skip = {STO_WINDOW_DAY, TODAY};
    struct sto_sst_info f[3];
    struct sto_pick p;
    sto_pick_next(f, files_of(kib, f) + 1,
                  &(struct sto_pick_opts){.now_ms = OVER, .skip = &skip, .n_skip = 1}, &p);
    assert_int_equal(p.why, STO_PICK_NONE);
    ts_free(p.files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pick_day__one_file_when_it_is_over),
        cmocka_unit_test(test_pick_day__a_day_that_is_still_filled_is_not_over),
        cmocka_unit_test(test_pick_day__late_files_are_joined_by_themselves),
        cmocka_unit_test(test_pick_day__a_small_day_joins_its_last_files),
        cmocka_unit_test(test_pick_day__a_wide_file_between_is_split),
        cmocka_unit_test(test_pick_day__a_day_left_alone_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
