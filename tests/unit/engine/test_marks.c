/*
 * test_marks.c - ship marks by ranges of hours, compared with an array of hours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "storage/engine/manifest.h"
#include "tests/faults/faultfs.h"

#define HOURS 40
#define FIRST (-20) /* hour of the array's first element */

static void expect_same(const struct sto_mark_list *list, const uint64_t *want)
{
    uint64_t highest = 0;
    assert_true(sto_mark_list_valid(list, 100));
    for (int i = 0; i < HOURS; i++) {
        highest = want[i] > highest ? want[i] : highest;
        assert_int_equal(sto_mark_of(list, FIRST + i), want[i]);
        int end = i;
        while (end + 1 < HOURS && want[end + 1] == want[i])
            end++;
        /* the hours without a mark go on behind the array; neighbours with one mark are one */
        if (end + 1 < HOURS || want[i])
            assert_int_equal(sto_mark_end(list, FIRST + i), FIRST + end);
        else
            assert_int_equal(sto_mark_end(list, FIRST + i), INT32_MAX);
        uint64_t lowest = UINT64_MAX;
        for (int k = i; k < HOURS; k++) {
            lowest = want[k] < lowest ? want[k] : lowest;
            assert_int_equal(sto_mark_lowest(list, FIRST + i, FIRST + k), lowest);
        }
    }
    assert_int_equal(sto_mark_highest(list), highest);
}

static void test_marks__ranges_are_what_each_hour_has(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t rnd = seed, want[HOURS] = {0};
        struct sto_mark_list list = {0};
        for (int step = 0; step < 60; step++) {
            int lo = (int)(t_rand(&rnd) % HOURS), hi = lo + (int)(t_rand(&rnd) % (uint64_t)(HOURS - lo));
            uint64_t gen = 1 + t_rand(&rnd) % 6;
            struct sto_mark_list next = sto_mark_list_with(&list, FIRST + lo, FIRST + hi, gen);
            ts_free(list.marks);
            list = next;
            for (int i = lo; i <= hi; i++)
                want[i] = gen;
            expect_same(&list, want);
        }
        ts_free(list.marks);
    }
}

static void test_marks__all_hours_are_one_range(void **state)
{
    (void)state;
    struct sto_mark_list none = {0}, some = sto_mark_list_with(&none, -5, INT32_MAX, 3);
    struct sto_mark_list more = sto_mark_list_with(&some, INT32_MIN, 7, 4);
    struct sto_mark_list all = sto_mark_list_with(&more, INT32_MIN, INT32_MAX, 9);
    assert_int_equal(sto_mark_lowest(&none, INT32_MIN, INT32_MAX), 0);
    assert_int_equal(sto_mark_lowest(&some, INT32_MIN, INT32_MAX), 0);
    assert_int_equal(more.n, 2);
    assert_int_equal(sto_mark_lowest(&more, INT32_MIN, INT32_MAX), 3);
    assert_int_equal(all.n, 1);
    assert_int_equal(sto_mark_lowest(&all, INT32_MIN, INT32_MAX), 9);
    assert_int_equal(sto_mark_end(&all, INT32_MIN), INT32_MAX);
    assert_true(sto_mark_list_same(&all, &all));
    assert_false(sto_mark_list_same(&all, &more));
    assert_false(sto_mark_list_valid(&all, 8));
    all.marks[0].hour_lo = 5;
    all.marks[0].hour_hi = 4;
    assert_false(sto_mark_list_valid(&all, 9));
    ts_free(some.marks);
    ts_free(more.marks);
    ts_free(all.marks);
}

static struct sto_manifest *open_manifest(struct t_faultfs *f)
{
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct sto_manifest *m;
    struct ts_error err = {0};
    (void)fs->mkdir(fs, "d", NULL);
    if (sto_manifest_open(fs, "d", true, false, 16, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

/* Ship marks come back after each way of opening, and cannot cover what is not in files. */
static void test_marks__ship_marks_are_kept(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(5);
    struct sto_mark marks[2] = {{-7, 12, 3}, {14, INT32_MAX, 2}};
    const struct sto_mark_list list = {marks, 2}, one = {marks, 1}, none = {0};
    struct ts_error err = {0};
    struct sto_manifest *m = open_manifest(f);
    assert_int_equal(
        sto_manifest_apply(m, &(struct sto_manifest_edit){.flushed_gen = 2, .marks = &list}, &err),
        TS_EINVAL);
    assert_int_equal(
        sto_manifest_apply(m, &(struct sto_manifest_edit){.flushed_gen = 3, .marks = &list}, &err), 0);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.flushed_gen = 4}, &err), 0);
    assert_true(sto_mark_list_same(&sto_manifest_state(m)->marks, &list));
    sto_manifest_close(m);
    m = open_manifest(f); /* from the edit */
    assert_true(sto_mark_list_same(&sto_manifest_state(m)->marks, &list));
    sto_manifest_set_rewrite_bytes(m, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.run = 1}, &err), 0);
    sto_manifest_close(m);
    m = open_manifest(f); /* from a state */
    assert_true(sto_mark_list_same(&sto_manifest_state(m)->marks, &list));
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.marks = &one}, &err), 0);
    assert_true(sto_mark_list_same(&sto_manifest_state(m)->marks, &one));
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.marks = &none}, &err), 0);
    sto_manifest_close(m);
    m = open_manifest(f);
    assert_int_equal(sto_manifest_state(m)->marks.n, 0);
    sto_manifest_close(m);
    t_faultfs_free(f);
}

/* Sets of hours come back too, whichever of the lists an edit has; marks of a program that knew no sets mean that anything may have
 * been sent. */
static void test_marks__hours_that_were_sent_are_kept(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(5);
    struct sto_mark some[2] = {{-7, 12, 1}, {14, 20, 1}}, bad = {3, 3, 2}, mark = {1, 2, 1};
    const struct sto_mark_list set = {some, 2}, one = {some, 1}, wrong = {&bad, 1}, marks = {&mark, 1};
    struct ts_error err = {0};
    struct sto_manifest *m = open_manifest(f);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.sent = &wrong}, &err), TS_EINVAL);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.sent = &set}, &err), 0);
    assert_int_equal(
        sto_manifest_apply(m, &(struct sto_manifest_edit){.flushed_gen = 1, .marks = &marks}, &err), 0);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.again = &one}, &err), 0);
    sto_manifest_close(m);
    for (int i = 0; i < 2; i++) { /* from edits, then from a state */
        m = open_manifest(f);
        assert_true(sto_mark_list_same(&sto_manifest_state(m)->sent, &set));
        assert_true(sto_mark_list_same(&sto_manifest_state(m)->again, &one));
        assert_true(sto_mark_list_same(&sto_manifest_state(m)->marks, &marks));
        sto_manifest_set_rewrite_bytes(m, 1);
        for (int k = 0; k < 100; k++)
            assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.run = 1}, &err), 0);
        sto_manifest_close(m);
    }
    t_faultfs_free(f);
}

static void test_marks__a_set_of_hours_is_reduced_or_coarsened(void **state)
{
    (void)state;
    struct sto_mark some[4] = {{INT32_MIN, -5, 1}, {-3, 12, 1}, {14, 20, 1}, {INT32_MAX - 1, INT32_MAX, 1}};
    const struct sto_mark_list set = {some, 4};
    struct sto_mark_list less = sto_mark_list_without(&set, -2, 15), copy;
    assert_int_equal(less.n, 4);
    assert_int_equal(less.marks[1].hour_hi, -3);
    assert_int_equal(less.marks[2].hour_lo, 16);
    ts_free(less.marks);
    assert_true(sto_mark_list_copy(&set, &copy));
    sto_mark_list_coarsen(&copy, 4);
    assert_int_equal(copy.n, 4);
    sto_mark_list_coarsen(&copy, 3); /* both gaps of one hour are closed */
    assert_int_equal(copy.n, 2);
    assert_int_equal(copy.marks[0].hour_hi, 20);
    sto_mark_list_coarsen(&copy, 1);
    assert_int_equal(copy.n, 1);
    assert_int_equal(copy.marks[0].hour_lo, INT32_MIN);
    assert_int_equal(copy.marks[0].hour_hi, INT32_MAX);
    ts_free(copy.marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks__ranges_are_what_each_hour_has),
        cmocka_unit_test(test_marks__all_hours_are_one_range),
        cmocka_unit_test(test_marks__ship_marks_are_kept),
        cmocka_unit_test(test_marks__hours_that_were_sent_are_kept),
        cmocka_unit_test(test_marks__a_set_of_hours_is_reduced_or_coarsened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
