/*
 * test_pick_deleted.c - when a file is written again because points of it were deleted, and when it waits for a join that
 * leaves them out anyway.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/unit/engine/pick_kit.h"

#define FIRST 20032 /* the first day of a window of 64 days, and so of one of 8 */
#define JOINS (DAY(FIRST + 8) + STO_JOIN_AGE_MS) /* when its first 8 days are joined */

/* What is picked of n files of which all have 100 points, of each of which `dead` were deleted since since_ms. */
static enum sto_pick_why picked(struct sto_sst_info *f, size_t n, uint64_t dead, int64_t since_ms,
                                struct sto_pick_opts opts)
{
    struct sto_pick_wear wear[8];
    struct sto_pick p;
    for (size_t i = 0; i < n; i++) {
        f[i].n_points = 100;
        wear[i] = (struct sto_pick_wear){.n_dead = dead, .since_ms = since_ms};
    }
    opts.wear = wear;
    sto_pick_next(f, n, &opts, &p);
    if (p.why == STO_PICK_WORN)
        assert_int_equal(p.n, 1);
    if (p.why == STO_PICK_JOIN)
        assert_int_equal(p.n, n);
    ts_free(p.files);
    return p.why;
}

static enum sto_pick_why picked_at(struct sto_sst_info *f, size_t n, uint64_t dead, int64_t since_ms,
                                   int64_t now_ms)
{
    return picked(f, n, dead, since_ms, (struct sto_pick_opts){.now_ms = now_ms});
}

/* A file of one whole day. */
static struct sto_sst_info day_file(uint64_t gen, int64_t day, uint64_t bytes)
{
    return t_file(gen, gen, DAY(day), DAY(day + 1) - 1, bytes);
}

static void test_pick_deleted__a_join_that_comes_is_waited_for(void **state)
{
    (void)state;
    struct sto_sst_info f[4];
    for (int64_t i = 0; i < 4; i++)
        f[i] = day_file((uint64_t)i + 1, FIRST + i, 1 << 20);
    int64_t since = DAY(FIRST + 4);
    assert_int_equal(picked_at(f, 4, 50, since, since), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 4, 100, since, JOINS - 1), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 4, 50, since, JOINS), STO_PICK_JOIN);
}

/* Too few files for a join: when it would have come they are written by themselves. */
static void test_pick_deleted__a_join_that_does_not_come_ends_the_wait(void **state)
{
    (void)state;
    struct sto_sst_info f[2] = {day_file(1, FIRST, 1 << 20), day_file(2, FIRST + 1, 1 << 20)};
    int64_t since = DAY(FIRST + 4);
    assert_int_equal(picked_at(f, 2, 50, since, JOINS - 1), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 2, 50, since, JOINS), STO_PICK_WORN);
    assert_int_equal(picked_at(f, 2, 24, since, JOINS), STO_PICK_NONE); /* too little is deleted */
}

/* A window of 64 days is joined up to 67 days after a delete: the wait is 30 days at most, or does not begin. */
static void test_pick_deleted__the_wait_has_an_end(void **state)
{
    (void)state;
    struct sto_sst_info f[1] = {t_file(1, 8, DAY(FIRST), DAY(FIRST + 8) - 1, 8 << 20)};
    int64_t joins = DAY(FIRST + 64) + STO_JOIN_AGE_MS, since = joins - STO_WORN_AGE_MS;
    assert_int_equal(picked_at(f, 1, 50, since - 1, since), STO_PICK_WORN);
    assert_int_equal(picked_at(f, 1, 50, since, since), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 1, 50, since, joins - 1), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 1, 50, since, joins), STO_PICK_WORN);
    /* Little is deleted: that is rewritten after the same time. */
    assert_int_equal(picked_at(f, 1, 24, since, joins), STO_PICK_NONE);
    assert_int_equal(picked_at(f, 1, 24, since - 1, joins), STO_PICK_WORN);
}

static void test_pick_deleted__what_is_never_joined_does_not_wait(void **state)
{
    (void)state;
    int64_t now = DAY(FIRST + 5);
    struct sto_sst_info large[2] = {day_file(1, FIRST, STO_JOINED_BYTES / 2),
                                    day_file(2, FIRST + 1, STO_JOINED_BYTES / 2)};
    assert_int_equal(picked_at(large, 2, 25, now, now), STO_PICK_WORN);
    large[1].t_bytes--;
    assert_int_equal(picked_at(large, 2, 25, now, now), STO_PICK_NONE);
    struct sto_sst_info wide[2] = {t_file(1, 1, DAY(FIRST), DAY(FIRST + 40), 1 << 20),
                                   t_file(2, 2, DAY(FIRST + 100), DAY(FIRST + 200), 1 << 20)};
    assert_int_equal(picked_at(wide, 1, 25, now, now), STO_PICK_WORN);
    assert_int_equal(picked_at(wide + 1, 1, 25, now, now), STO_PICK_WORN);
}

/* Space is needed at once, or the window of the join is left alone since a merge of it failed. */
static void test_pick_deleted__a_full_disk_and_a_failed_join_end_the_wait(void **state)
{
    (void)state;
    int64_t now = DAY(FIRST + 5);
    const struct sto_window above = {STO_WINDOW_8, FIRST >> 3};
    struct sto_sst_info f[1] = {day_file(1, FIRST, 1 << 20)};
    const struct sto_pick_opts waits = {.now_ms = now}, full_disk = {.now_ms = now, .disk_full = true},
                               failed = {.now_ms = now, .skip = &above, .n_skip = 1},
                               full = {.now_ms = now, .full = true};
    assert_int_equal(picked(f, 1, 50, now, waits), STO_PICK_NONE);
    assert_int_equal(picked(f, 1, 50, now, full_disk), STO_PICK_WORN);
    assert_int_equal(picked(f, 1, 24, now, full_disk), STO_PICK_NONE);
    assert_int_equal(picked(f, 1, 50, now, failed), STO_PICK_WORN);
    assert_int_equal(picked(f, 1, 1, now, full), STO_PICK_WORN);
}

/* What has expired waits for no join, and comes before all other merges; it is written by itself. */
static void test_pick_deleted__what_has_expired_does_not_wait(void **state)
{
    (void)state;
    struct sto_sst_info f[4];
    struct sto_pick_wear wear[4];
    struct sto_pick p;
    for (int64_t i = 0; i < 4; i++) {
        f[i] = day_file((uint64_t)i + 1, FIRST + i, 1 << 20);
        f[i].n_points = 100;
        wear[i] = (struct sto_pick_wear){.since_ms = JOINS};
    }
    const struct sto_pick_opts opts = {.now_ms = JOINS, .wear = wear};
    for (uint64_t n = 24; n <= 25; n++) { /* a quarter */
        wear[2].n_dead = wear[2].n_expired = n;
        sto_pick_next(f, 4, &opts, &p);
        assert_int_equal(p.why, n < 25 ? STO_PICK_JOIN : STO_PICK_WORN);
        assert_int_equal(p.n, n < 25 ? 4 : 1);
        assert_int_equal(p.files[p.n - 1], n < 25 ? 3 : 2);
        ts_free(p.files);
    }
    wear[2].n_dead = wear[2].n_expired = 0;
    wear[1].n_dead = 50; /* deletes wait */
    sto_pick_next(f, 4, &opts, &p);
    assert_int_equal(p.why, STO_PICK_JOIN);
    ts_free(p.files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pick_deleted__a_join_that_comes_is_waited_for),
        cmocka_unit_test(test_pick_deleted__a_join_that_does_not_come_ends_the_wait),
        cmocka_unit_test(test_pick_deleted__the_wait_has_an_end),
        cmocka_unit_test(test_pick_deleted__what_is_never_joined_does_not_wait),
        cmocka_unit_test(test_pick_deleted__a_full_disk_and_a_failed_join_end_the_wait),
        cmocka_unit_test(test_pick_deleted__what_has_expired_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
