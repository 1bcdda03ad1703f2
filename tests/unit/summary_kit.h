/*
 * summary_kit.h - are two values, two summaries of a row the same?
 */
#ifndef TESTS_UNIT_SUMMARY_KIT_H
#define TESTS_UNIT_SUMMARY_KIT_H

#include "storage/point.h"

static inline void assert_num_equal(struct ts_num a, struct ts_num b)
{
    double x = ts_num_double(a), y = ts_num_double(b);
    assert_int_equal(a.kind == TS_NUM_INT, b.kind == TS_NUM_INT);
    if (a.kind == TS_NUM_INT)
        assert_true(a.m == b.m);
    else
        assert_memory_equal(&x, &y, 8);
}

static inline void assert_summary_equal(const struct sto_summary *a, const struct sto_summary *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->is_int, b->is_int);
    assert_int_equal(a->has_sum, b->has_sum);
    assert_int_equal(a->first_off, b->first_off);
    assert_int_equal(a->last_off, b->last_off);
    assert_num_equal(a->first, b->first);
    assert_num_equal(a->last, b->last);
    assert_num_equal(a->min, b->min);
    assert_num_equal(a->max, b->max);
    assert_true(a->sum == b->sum);
}

#endif
