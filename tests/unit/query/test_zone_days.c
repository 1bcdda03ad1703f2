/*
 * test_zone_days.c - day summaries of a zone with daylight saving answer totals: also the days on which the clock changes, and those on which the data
 * begin and end.
 */
#include "query/query.h"

#include "base/time.h"
#include "storage/store.h"
#include "storage/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/t_folder.h"

#define T0_MS 1774000800000ll /* 2026-03-20 10:00 UTC, 11:00 in Berlin, where the 29th has 23 hours */
#define HOURS (24 * 20)
#define DAYS  21
#define N_SERIES                                                                                             \
    40 /* pages of cells of several series, whose days follow each other; every fifth has holes */

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static int64_t want[DAYS + 1], got[DAYS + 1]; /* sums by day of Berlin since 2026-03-20 */
static int64_t want_n, got_rows;

static int64_t day_of(int64_t t_ms)
{
    int64_t local = t_ms + ts_tz_offset_ms(ts_tz_default(), t_ms),
            first = T0_MS + ts_tz_offset_ms(ts_tz_default(), T0_MS);
    return ts_floor_div(local, TS_DAY_MS) - ts_floor_div(first, TS_DAY_MS);
}

static const struct sto_series *series(unsigned i)
{
    char text[40], value[10];
    const struct sto_series *s;
    snprintf(value, sizeof value, "d%u", i);
    int n = snprintf(text, sizeof text, "hits domain=%s", value);
    struct sto_tag_text tag = {TS_SLICE_LIT("domain"), ts_slice_str(value)};
    assert_int_equal(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 4, &tag, 1,
                                        true, &s, NULL),
                     0);
    return s;
}

static int setup(void **state)
{
    (void)state;
    const struct ts_tz *zone;
    struct ts_error err = {0};
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &zone, &err), 0);
    ts_tz_set_default(zone);
    t_folder_make(dir);
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .day_rows = 1,
                            .own_threads = true,
                            .wal_sync = STO_SYNC_NONE,
                            .no_background = true};
    assert_int_equal(sto_open(&opts, &st, &err), 0);
    memset(want, 0, sizeof want);
    want_n = 0;
    for (unsigned i = 0; i < N_SERIES; i++) {
        const struct sto_series *s = series(i);
        uint32_t days = 0;
        for (int64_t h = 0; h < HOURS; h++) {
            int64_t t = T0_MS + h * TS_HOUR_MS, v = h * 7 + i;
            if (i % 5 == 4 && day_of(t) % 3 == 1)
                continue;
            assert_int_equal(sto_put(sto_writer(st, 0), s, t, (struct ts_num){.m = v}, false), 0);
            want[day_of(t)] += v;
            days |= 1u << day_of(t);
        }
        want_n += __builtin_popcount(days);
    }
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    ts_tz_set_default(NULL);
    return t_folder_remove(dir);
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    (void)arg, (void)err;
    assert_true(t->is_int);
    got[t->ts_ms < T0_MS ? 0 : day_of(t->ts_ms)] = (int64_t)t->i;
    got_rows++;
    return 0;
}

/* Totals by a key; returns how many summaries and points were read. */
static uint64_t ask(const char *m, const char *by)
{
    struct ts_arena arena;
    struct qry_spec spec;
    struct ts_error err = {0};
    struct qry_limit limit = {.max_points = UINT64_MAX};
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("2026/03/01-00:00:00")},
                            {TS_SLICE_LIT("end"), TS_SLICE_LIT("2026/04/30-00:00:00")},
                            {TS_SLICE_LIT("timezone"), TS_SLICE_LIT("Europe/Berlin")},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by)}};
    ts_arena_init(&arena, 0);
    memset(got, 0, sizeof got);
    got_rows = 0;
    if (qry_parse_params(p, 5, T0_MS, false, &arena, &spec, &err) < 0 ||
        qry_totals(st, NULL, &spec, &limit, on_total, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ts_arena_release(&arena);
    return atomic_load(&limit.n_points);
}

static void test_zone_days__answer_days(void **state)
{
    (void)state;
    assert_int_equal(ask("sum:hits", "day"), want_n);
    assert_int_equal(got_rows, DAYS);
    assert_memory_equal(got, want, sizeof got);
}

static void test_zone_days__answer_months(void **state)
{
    int64_t march = 0, april = 0;
    (void)state;
    for (int k = 0; k < DAYS; k++)
        *(k < 12 ? &march : &april) += want[k];
    assert_int_equal(ask("sum:hits", "month"), want_n);
    assert_int_equal(got_rows, 2);
    assert_int_equal(got[12], april);
    assert_int_equal(got[0], march);
}

/* Each series has cells of its own. */
static void test_zone_days__answer_groups(void **state)
{
    (void)state;
    assert_int_equal(ask("count:hits", "day,domain"), want_n);
    assert_int_equal(got_rows, want_n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone_days__answer_days),
        cmocka_unit_test(test_zone_days__answer_months),
        cmocka_unit_test(test_zone_days__answer_groups),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
