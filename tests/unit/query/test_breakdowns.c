/*
 * test_breakdowns.c - cells of days and hours in zones whose clocks change.
 */
#include "query/breakdowns/breakdown.h"

#include "query/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct ts_tz *zone(const char *name)
{
    const struct ts_tz *tz;
    assert_int_equal(ts_tz_open(ts_slice_str(name), &tz, NULL), 0);
    return tz;
}

/* UTC of a local wall time that is not ambiguous. */
static int64_t at(const struct ts_tz *tz, int y, int mo, int d, int h, int mi)
{
    return ts_tz_from_local(tz, ts_civil_to_ms(y, mo, d, h, mi, 0));
}

static struct qry_budget unlimited;

/* Cells of keys with commas between. */
static int cut(const char *keys, const struct ts_tz *tz, int64_t from, int64_t to, struct qry_cells *c)
{
    struct qry_spec spec = {.tz = tz};
    for (const char *p = keys; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        assert_int_equal(qry_breakdown_add((struct ts_slice){p, strcspn(p, ",")}, &spec, NULL), 0);
    return qry_breakdown_cut(&spec, from, to, &unlimited, c, NULL);
}

static int64_t length(const struct qry_cells *c, size_t cell)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->n_stretches; i++)
        if (c->stretch[i].cell == cell)
            sum += qry_stretch_end(c, i) - c->stretch[i].start_ms;
    return sum;
}

/* Every minute lies in the cell that its own local time names. */
static void check_minutes(const struct ts_tz *tz, const struct qry_cells *c, int64_t from, int64_t to,
                          int64_t unit)
{
    size_t near = 0;
    for (int64_t t = from; t < to; t += 60000) {
        size_t i = qry_cells_find(c, near, t);
        assert_int_equal(i, qry_cells_find(c, 0, t));
        near = i;
        assert_true(c->stretch[i].start_ms <= t && t < qry_stretch_end(c, i));
        int64_t local = t + ts_tz_offset_ms(tz, t);
        assert_int_equal(c->cell[c->stretch[i].cell].local_ms, ts_floor_div(local, unit) * unit);
    }
    for (size_t i = 1; i < c->n; i++)
        assert_true(c->cell[i - 1].start_ms < c->cell[i].start_ms);
}

static void test_breakdowns__days_follow_the_clock(void **state)
{
    (void)state;
    const struct ts_tz *tz = zone("Europe/Berlin");
    struct qry_cells c = {.budget = &unlimited};
    int64_t from = at(tz, 2026, 3, 28, 0, 0), to = at(tz, 2026, 3, 31, 0, 0);
    assert_int_equal(cut("day", tz, from, to, &c), 0);
    assert_int_equal(c.n, 3);
    assert_int_equal(length(&c, 0), 24 * TS_HOUR_MS);
    assert_int_equal(length(&c, 1), 23 * TS_HOUR_MS);
    check_minutes(tz, &c, from, to, TS_DAY_MS);
    qry_cells_release(&c);
    from = at(tz, 2026, 10, 25, 0, 0), to = at(tz, 2026, 10, 26, 0, 0);
    assert_int_equal(cut("day", tz, from, to, &c), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(length(&c, 0), 25 * TS_HOUR_MS);
    qry_cells_release(&c);
}

static void test_breakdowns__the_hour_of_autumn_stands_twice(void **state)
{
    (void)state;
    const struct ts_tz *tz = zone("America/New_York");
    struct qry_cells c = {.budget = &unlimited};
    int64_t from = at(tz, 2026, 11, 1, 0, 0), to = at(tz, 2026, 11, 2, 0, 0);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    assert_int_equal(c.n, 25);
    for (size_t i = 0; i < 25; i++) {
        assert_int_equal(length(&c, i), TS_HOUR_MS);
        assert_int_equal(c.cell[i].repeated, i == 2);
    }
    assert_int_equal(c.cell[1].local_ms, c.cell[2].local_ms);
    assert_int_equal(c.cell[1].offset_ms, -4 * TS_HOUR_MS);
    assert_int_equal(c.cell[2].offset_ms, -5 * TS_HOUR_MS);
    check_minutes(tz, &c, from, to, TS_HOUR_MS);
    qry_cells_release(&c);
    /* asked from inside the second run on: it still is the second */
    assert_int_equal(cut("hour", tz, from + 150 * 60000, to, &c), 0);
    assert_int_equal(c.n, 23);
    assert_true(c.cell[0].repeated);
    assert_int_equal(c.cell[0].start_ms, from + 2 * TS_HOUR_MS);
    qry_cells_release(&c);
    /* spring: 23 hours, none twice */
    from = at(tz, 2026, 3, 8, 0, 0), to = at(tz, 2026, 3, 9, 0, 0);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    assert_int_equal(c.n, 23);
    for (size_t i = 0; i < c.n; i++)
        assert_false(c.cell[i].repeated);
    qry_cells_release(&c);
}

static void test_breakdowns__half_hours(void **state)
{
    (void)state;
    const struct ts_tz *tz = zone("Australia/Lord_Howe");
    struct qry_cells c = {.budget = &unlimited};
    int64_t from = at(tz, 2026, 4, 5, 0, 0), to = at(tz, 2026, 4, 6, 0, 0);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    assert_int_equal(c.n, 25); /* 01:00 whole, then 01:30 to 02:00 once more */
    assert_int_equal(length(&c, 1), TS_HOUR_MS);
    assert_int_equal(length(&c, 2), TS_HOUR_MS / 2);
    assert_true(c.cell[2].repeated && !c.cell[1].repeated && !c.cell[3].repeated);
    check_minutes(tz, &c, from, to, TS_HOUR_MS);
    qry_cells_release(&c);
    assert_int_equal(cut("day", tz, from, to, &c), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(length(&c, 0), 24 * TS_HOUR_MS + TS_HOUR_MS / 2);
    qry_cells_release(&c);
    from = at(tz, 2026, 10, 4, 0, 0), to = at(tz, 2026, 10, 5, 0, 0);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    assert_int_equal(c.n, 24);
    assert_int_equal(length(&c, 2), TS_HOUR_MS / 2);
    qry_cells_release(&c);
    tz = zone("Asia/Kathmandu");
    from = at(tz, 2026, 4, 5, 0, 0), to = at(tz, 2026, 4, 6, 0, 0);
    assert_int_equal(ts_floor_mod(from, TS_HOUR_MS), 15 * 60000);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    assert_int_equal(c.n, 24);
    check_minutes(tz, &c, from, to, TS_HOUR_MS);
    qry_cells_release(&c);
}

static void test_breakdowns__dates_that_are_skipped_or_come_back(void **state)
{
    (void)state;
    struct qry_cells c = {.budget = &unlimited};
    const struct ts_tz *tz = zone("Pacific/Apia"); /* had no 2011-12-30 */
    int64_t from = at(tz, 2011, 12, 29, 0, 0), to = at(tz, 2012, 1, 1, 0, 0);
    assert_int_equal(cut("day", tz, from, to, &c), 0);
    assert_int_equal(c.n, 2);
    check_minutes(tz, &c, from, to, TS_DAY_MS);
    qry_cells_release(&c);
    tz = zone("America/St_Johns"); /* 2010-11-07 00:01 went back to 23:01 of the day before */
    from = at(tz, 2010, 11, 5, 0, 0), to = at(tz, 2010, 11, 9, 0, 0);
    assert_int_equal(cut("day", tz, from, to, &c), 0);
    assert_int_equal(c.n, 4);
    assert_int_equal(length(&c, 1), 24 * TS_HOUR_MS + 59 * 60000);
    check_minutes(tz, &c, from, to, TS_DAY_MS);
    qry_cells_release(&c);
    assert_int_equal(cut("hour", tz, from, to, &c), 0);
    check_minutes(tz, &c, from, to, TS_HOUR_MS);
    qry_cells_release(&c);
}

static void test_breakdowns__before_1970_and_too_much(void **state)
{
    (void)state;
    struct qry_cells c = {.budget = &unlimited};
    struct ts_error err;
    const struct ts_tz *tz = zone("UTC");
    assert_int_equal(cut("day", tz, -TS_DAY_MS - 1, 1, &c), 0);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.cell[0].start_ms, -2 * TS_DAY_MS);
    qry_cells_release(&c);
    struct qry_spec spec = {.tz = tz, .by_time = {.n = 1, .unit = TS_UNIT_H}};
    assert_int_equal(qry_breakdown_cut(&spec, 0, (QRY_MAX_CELLS + 5ll) * TS_HOUR_MS, &unlimited, &c, &err),
                     TS_ELIMIT);
    struct qry_limit limit = {.max_cells = 100};
    struct qry_budget few;
    qry_budget_init(&few, &limit);
    assert_int_equal(qry_breakdown_cut(&spec, 0, 120 * TS_HOUR_MS, &few, &c, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "more than 100 cells of time"));
    assert_non_null(strstr(err.text, "query_max_cells"));
    assert_int_equal(qry_breakdown_cut(&spec, 0, 90 * TS_HOUR_MS, &few, &c, &err), 0);
    qry_cells_release(&c);
    spec.by_time.n = 0;
    assert_int_equal(qry_breakdown_cut(&spec, 5, 99, &unlimited, &c, NULL), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(qry_stretch_end(&c, 0), 99);
    qry_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_breakdowns__days_follow_the_clock),
        cmocka_unit_test(test_breakdowns__the_hour_of_autumn_stands_twice),
        cmocka_unit_test(test_breakdowns__half_hours),
        cmocka_unit_test(test_breakdowns__dates_that_are_skipped_or_come_back),
        cmocka_unit_test(test_breakdowns__before_1970_and_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
