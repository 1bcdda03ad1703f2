/*
 * test_as_of_parted.c - points as of a time of writing, where a point and its versions do not agree: the version of a put is in another batch than the
 * point, so a crash, or a snapshot taken meanwhile, may have one without the other.
 */
#include "query/execution/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/versioned.h"
#include "tests/unit/t_folder.h"

#define T0_MS  1499997600000ll
#define N_KEPT 3
#define GONE   (-1) /* no point */

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static const struct sto_series *points, *writes;
static int64_t since_us; /* when the metric was declared */

static const struct sto_series *series_of(struct ts_slice metric)
{
    struct ts_buf text;
    const struct sto_series *s;
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), TS_SLICE_LIT("a")};
    ts_buf_init(&text, 0);
    ts_buf_printf(&text, "%.*s host=a", (int)metric.n, metric.p);
    assert_int_equal(sto_series_resolve(sto_store_catalog(st), ts_buf_get(&text), (uint32_t)metric.n, &tag, 1,
                                        true, &s, NULL),
                     0);
    ts_buf_release(&text);
    return s;
}

static int setup(void **state)
{
    struct ts_buf name;
    struct sto_versioned v;
    struct ts_error err = {0};
    (void)state;
    t_folder_make(dir);
    struct sto_opts opts = {.dir = dir, .create = true, .pumped = true, .no_background = true};
    assert_int_equal(sto_open(&opts, &st, NULL), 0);
    assert_int_equal(sto_versioned_set(st, TS_SLICE_LIT("m"), N_KEPT, &err), 0);
    sto_versioned_find(st, TS_SLICE_LIT("m"), &v);
    since_us = v.since_us;
    points = series_of(TS_SLICE_LIT("m"));
    ts_buf_init(&name, 0);
    sto_versioned_name(&v, STO_VERSIONED_WRITES, &name);
    writes = series_of(ts_buf_get(&name));
    ts_buf_release(&name);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    return t_folder_remove(dir);
}

/* One of the two halves of a put. */
static void point(int64_t value)
{
    assert_int_equal(sto_put(sto_writer(st, 0), points, T0_MS, (struct ts_num){.m = value}, false), 0);
    sto_writer_turn(sto_writer(st, 0));
}

static void version(unsigned second, int64_t value)
{
    struct sto_stamp stamp = {.written_us = since_us + second * 1000000, .keep = N_KEPT};
    assert_int_equal(
        sto_put_version(sto_writer(st, 0), writes, T0_MS, &stamp, (struct ts_num){.m = value}, false), 0);
    sto_writer_turn(sto_writer(st, 0));
}

static int on_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    (void)err;
    assert_int_equal(row->cells->n, 1);
    *(int64_t *)arg = row->cells->m[0];
    return 0;
}

static void expect(unsigned second, int64_t want)
{
    struct qry_limit limit = {0};
    struct qry_budget budget;
    struct qry_view view;
    struct ts_error err = {0};
    int64_t got = GONE;
    qry_budget_init(&budget, &limit);
    qry_view_open(&view, st, &limit);
    struct qry_reading r = {.snap = sto_snap_take(st),
                            .budget = &budget,
                            .view = &view,
                            .metric = points->metric,
                            .series = &points,
                            .n = 1,
                            .from_ms = T0_MS,
                            .to_ms = T0_MS + 1000,
                            .as_of_us = since_us + second * 1000000 + 500000,
                            .row = on_row,
                            .arg = &got};
    if (qry_read(&r, &err) < 0)
        fail_msg("as of %u s: %s", second, err.text);
    sto_snap_release(r.snap);
    qry_view_close(&view);
    if (got != want)
        fail_msg("as of %u s: %lld, expected %lld", second, (long long)got, (long long)want);
}

static void test_as_of_parted__each_version_counts_until_the_next_one(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= N_KEPT; i++) {
        version(i, i * 10);
        point(i * 10);
    }
    expect(0, GONE);
    expect(1, 10);
    expect(2, 20);
    expect(3, 30);
    expect(9, 30);
}

/* The point of a put that was not confirmed: when it was written is not known, so it counts at no time. */
static void test_as_of_parted__a_point_without_its_version_was_not_written(void **state)
{
    (void)state;
    version(1, 10);
    point(10);
    version(2, 20);
    point(20);
    point(30);
    expect(1, 10);
    expect(2, 20);
    expect(9, 20);
}

/* Two clients at the same moment: the order of the points counts, since that is what queries show. */
static void test_as_of_parted__points_and_versions_in_another_order(void **state)
{
    (void)state;
    version(1, 10);
    version(1, 20);
    point(20);
    point(10);
    expect(1, 10);
}

static void test_as_of_parted__a_version_without_its_point(void **state)
{
    (void)state;
    version(1, 10);
    point(10);
    version(2, 20);
    expect(1, 10);
    expect(2, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_of_parted__each_version_counts_until_the_next_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_as_of_parted__a_point_without_its_version_was_not_written, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_as_of_parted__points_and_versions_in_another_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_as_of_parted__a_version_without_its_point, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
