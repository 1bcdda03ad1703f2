/*
 * test_totals_zones.c - totals by days and months of zones whose hours begin at half past, or at a quarter: whatever the zone of the store, and whether
 * rows are read one by one, as runs, as hours or as days.
 */
#include "query/query.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/store.h"
#include "tests/unit/t_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/t_folder.h"

#define T0_MS  1490400000000ll /* 2017-03-25 00:00 UTC: clocks change in the week that follows */
#define N_DAYS 40
#define STEP_S 600 /* between two points of the dense series */
#define DENSE  (N_DAYS * 24 * 6)
#define SPARSE (N_DAYS * 24)

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static uint64_t rnd_state;
static int64_t dense_at[DENSE], sparse_at[SPARSE]; /* times of the points; values follow from them */

static const char *const zones[] = {"UTC", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
                                    "Europe/Berlin"};
#define N_ZONES (sizeof zones / sizeof *zones)

static const struct ts_tz *zone(const char *name)
{
    const struct ts_tz *tz;
    assert_int_equal(ts_tz_open(ts_slice_str(name), &tz, NULL), 0);
    return tz;
}

static int64_t value_at(int64_t ts_ms)
{
    return ts_ms / 1000 % 100003 - 50000;
}

static void put(const char *metric, int64_t ts_ms)
{
    char text[32];
    const struct sto_series *s;
    struct sto_writer *writer = sto_writer(st, 0);
    struct sto_tag_text tag = {TS_SLICE_LIT("a"), TS_SLICE_LIT("b")};
    int n = snprintf(text, sizeof text, "%s a=b", metric), rc;
    assert_int_equal(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                                        (uint32_t)strlen(metric), &tag, 1, true, &s, NULL),
                     0);
    while ((rc = sto_put(writer, s, ts_ms, (struct ts_num){.m = value_at(ts_ms)}, false)) == TS_EBUSY)
        sto_writer_turn(writer);
    assert_int_equal(rc, 0);
}

/* One point in most hours of "sparse", whose rows have no summaries, and six in all of "dense". */
static void fill(void)
{
    for (int64_t i = 0; i < DENSE; i++)
        put("dense", dense_at[i] = T0_MS + i * STEP_S * 1000);
    for (int64_t i = 0; i < SPARSE; i++) {
        sparse_at[i] = T0_MS + i * TS_HOUR_MS + (int64_t)(t_random(&rnd_state) % 3600) * 1000;
        put("sparse", sparse_at[i]);
    }
    sto_writer_turn(sto_writer(st, 0));
    struct ts_error err = {0};
    if (sto_flush(st, STO_LEVEL_COMPACT, &err) < 0)
        fail_msg("%s", err.text);
}

static void open_in(const char *name)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = true,
                            .day_rows = 1,
                            .wal_sync = STO_SYNC_NONE,
                            .no_background = true};
    ts_tz_set_default(zone(name));
    t_folder_make(dir);
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("%s", err.text);
}

static void done(void)
{
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(t_folder_remove(dir), 0);
    ts_tz_set_default(NULL);
}

/* What is left of the points from..to, cell by cell. */
struct expected {
    const int64_t *at, *end;
    const struct ts_tz *tz;
    bool by_month;
    unsigned agg; /* 0 sum, 1 count, 2 avg */
    const char *text;
};
static const char *const aggs[] = {"sum", "count", "avg"};

static int64_t cell_of(const struct expected *x, int64_t ts_ms)
{
    struct ts_civil c = ts_civil_from_ms(x->tz, ts_ms);
    return ((int64_t)c.year * 100 + c.month) * 100 + (x->by_month ? 0 : c.day);
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct expected *x = arg;
    int64_t sum = 0, n = 0;
    (void)err;
    if (x->at == x->end)
        fail_msg("%s: more cells than there should be", x->text);
    int64_t cell = cell_of(x, *x->at);
    for (; x->at < x->end && cell_of(x, *x->at) == cell; x->at++, n++)
        sum += value_at(*x->at);
    double want = x->agg == 0 ? (double)sum : x->agg == 1 ? (double)n : (double)sum / (double)n;
    double is = t->is_int ? (double)t->i : t->d, apart = is - want;
    if (apart > 1e-9 || apart < -1e-9)
        fail_msg("%s: cell %lld is %.17g, expected %.17g", x->text, (long long)cell, is, want);
    return 0;
}

static void ask(const char *metric, const int64_t *at, size_t n, const char *zone_name, int64_t from,
                int64_t to, unsigned agg, bool by_month)
{
    char start[24], end[24], m[32], text[160];
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    struct expected x = {.at = at, .end = at + n, .tz = zone(zone_name), .by_month = by_month, .agg = agg};
    while (x.at < x.end && *x.at < from)
        x.at++;
    while (x.end > x.at && x.end[-1] > to)
        x.end--;
    snprintf(start, sizeof start, "%lldms", (long long)from);
    snprintf(end, sizeof end, "%lldms", (long long)to);
    snprintf(m, sizeof m, "%s:%s", aggs[agg], metric);
    snprintf(text, sizeof text, "%s %s %s..%s by %s", m, zone_name, start, end, by_month ? "month" : "day");
    x.text = text;
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("timezone"), ts_slice_str(zone_name)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by_month ? "month" : "day")}};
    ts_arena_init(&arena, 0);
    if (qry_parse_params(p, 5, T0_MS + 400 * TS_DAY_MS, false, &arena, &spec, &err) < 0 ||
        qry_totals(st, NULL, &spec, &limit, on_total, &x, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    if (x.at != x.end)
        fail_msg("%s: cells are missing", text);
    ts_arena_release(&arena);
}

static int64_t time_near(int64_t most)
{
    int64_t at = T0_MS + (int64_t)(t_random(&rnd_state) % (uint64_t)most);
    return t_random(&rnd_state) % 3 ? at / 1800000 * 1800000 : at;
}

static void test_totals_zones__are_those_of_the_points(void **state)
{
    (void)state;
    rnd_state = 88172645463325252ull;
    for (size_t i = 0; i < N_ZONES; i++) {
        open_in(zones[i]);
        fill();
        for (unsigned k = 0; k < 400; k++) {
            int64_t from = k % 4 ? time_near(N_DAYS * TS_DAY_MS) : T0_MS - TS_DAY_MS;
            int64_t to = k % 4 ? from + (int64_t)(t_random(&rnd_state) % (20 * 86400)) * 1000
                               : T0_MS + (N_DAYS + 1) * TS_DAY_MS;
            to = to / 1800000 * 1800000 - 1 > from ? to / 1800000 * 1800000 - 1 : from + 1000;
            const char *in = zones[k % N_ZONES];
            ask("dense", dense_at, DENSE, in, from, to, k / 5 % 3, k % 7 == 0);
            ask("sparse", sparse_at, SPARSE, in, from, to, k / 5 % 3, k % 7 == 0);
        }
        done();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_totals_zones__are_those_of_the_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
