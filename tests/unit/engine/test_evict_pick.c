/*
 * test_evict_pick.c - the cutoff that keeps a store within its limit is the lowest one, and spreads of files add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "storage/engine/evict_pick.h"
#include "tests/unit/t_random.h"

#define H   TS_HOUR_MS
#define MIB (1ull << 20)

static struct sto_evict_file file_of(int64_t from_h, int64_t end_h, uint64_t bytes)
{
    struct sto_evict_file f = {.max_ms = end_h * H - 1};
    sto_spread_even(&f.spread, from_h * H, f.max_ms, bytes);
    return f;
}

static void test_evict_pick__an_even_spread_has_all_bytes(void **state)
{
    (void)state;
    struct sto_spread s;
    sto_spread_even(&s, 5 * H + 7, 15 * H - 3, 1001);
    assert_int_equal(sto_spread_before(&s, 5 * H), 0);
    assert_int_equal(sto_spread_before(&s, INT64_MIN), 0);
    assert_int_equal(sto_spread_before(&s, 15 * H), 1001);
    assert_int_equal(sto_spread_before(&s, INT64_MAX), 1001);
    assert_in_range(sto_spread_before(&s, 10 * H), 499, 501);
    uint64_t last = 0;
    for (int64_t ms = 5 * H; ms <= 15 * H; ms += 60000) { /* it never falls */
        uint64_t now = sto_spread_before(&s, ms);
        assert_true(now >= last);
        last = now;
    }
}

static void test_evict_pick__nothing_goes_within_the_limit(void **state)
{
    (void)state;
    const struct sto_evict_file f = file_of(0, 24, 100 * MIB);
    struct sto_evict_opts o = {
        .max_bytes = 110 * MIB, .fixed_bytes = 10 * MIB, .from_ms = STO_MIN_TS_MS, .last_ms = 1000 * H};
    struct sto_evict_pick p = sto_evict_pick(&o, &f, 1);
    assert_int_equal(p.cutoff_ms, STO_MIN_TS_MS);
    assert_int_equal(p.freed_bytes, 0);
    assert_int_equal(p.left_bytes, 110 * MIB);
    assert_true(p.enough);
    o.fixed_bytes++;
    assert_true(sto_evict_pick(&o, &f, 1).cutoff_ms > 0);
}

static void test_evict_pick__whole_files_go_where_they_suffice(void **state)
{
    (void)state;
    struct sto_evict_file f[100];
    for (int64_t i = 0; i < 100; i++) /* a hundred days of 1 MiB */
        f[i] = file_of(24 * i, 24 * i + 24, MIB);
    struct sto_evict_opts o = {.max_bytes = 99 * MIB, .from_ms = STO_MIN_TS_MS, .last_ms = 10000 * H};
    struct sto_evict_pick p = sto_evict_pick(&o, f, 100);
    assert_int_equal(p.cutoff_ms % (24 * H), 0);
    assert_int_equal(p.cutoff_ms / (24 * H), 5); /* 31/32 of the limit are 95.9 */
    assert_int_equal(p.freed_bytes, 5 * MIB);
    assert_true(p.enough);
    o.from_ms = p.cutoff_ms; /* that suffices */
    assert_int_equal(sto_evict_pick(&o, f, 100).cutoff_ms, p.cutoff_ms);
}

static void test_evict_pick__rows_go_where_a_file_is_too_much(void **state)
{
    (void)state;
    const struct sto_evict_file f = file_of(0, 6400, 64 * MIB);
    struct sto_evict_opts o = {.max_bytes = 60 * MIB, .from_ms = STO_MIN_TS_MS, .last_ms = 10000 * H};
    struct sto_evict_pick p = sto_evict_pick(&o, &f, 1);
    assert_in_range(p.left_bytes, o.max_bytes / 32 * 30 - MIB / 50, o.max_bytes / 32 * 30);
    assert_int_equal(p.cutoff_ms % H, 0);
    assert_true(p.enough);
}

static void test_evict_pick__what_is_put_now_stays(void **state)
{
    (void)state;
    const struct sto_evict_file f = file_of(0, 100, 64 * MIB);
    struct sto_evict_opts o = {.max_bytes = MIB / 4, .from_ms = STO_MIN_TS_MS, .last_ms = 99 * H};
    struct sto_evict_pick p = sto_evict_pick(&o, &f, 1);
    assert_int_equal(p.cutoff_ms, 99 * H);
    assert_false(p.enough);
    assert_true(p.left_bytes > MIB / 4);
    o.fixed_bytes = 2 * MIB;
    o.from_ms = 200 * H; /* a cutoff never goes back, whatever the clock says */
    assert_int_equal(sto_evict_pick(&o, &f, 1).cutoff_ms, 200 * H);
    assert_false(sto_evict_pick(&o, &f, 1).enough);
}

/* A log that takes most of the limit until it is written to files must not push out the history. */
static void test_evict_pick__nothing_goes_in_vain(void **state)
{
    (void)state;
    const struct sto_evict_file f = file_of(0, 6400, 64 * MIB);
    struct sto_evict_opts o = {
        .max_bytes = 64 * MIB, .fixed_bytes = 60 * MIB, .from_ms = STO_MIN_TS_MS, .last_ms = 10000 * H};
    struct sto_evict_pick p = sto_evict_pick(&o, &f, 1);
    assert_true(p.cutoff_ms == STO_MIN_TS_MS && !p.enough);
    assert_int_equal(p.freed_bytes, 0);
    o.fixed_bytes = 59 * MIB;
    p = sto_evict_pick(&o, &f, 1);
    assert_true(p.cutoff_ms > 0 && p.enough);
}

/* --- against every hour --- */

#define N_FILES 12
#define HOURS   600

static uint64_t left_at(const struct sto_evict_file *f, size_t n, int64_t ms)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += f[i].spread.before[STO_SPREAD_PARTS] - sto_spread_before(&f[i].spread, ms);
    return sum;
}

/* The first of all hours from which on files and the rest have at most so many bytes. */
static int64_t first_hour(const struct sto_evict_opts *o, const struct sto_evict_file *f, size_t n,
                          uint64_t bytes)
{
    uint64_t may = bytes > o->fixed_bytes ? bytes - o->fixed_bytes : 0;
    if (left_at(f, n, o->from_ms) <= may)
        return o->from_ms;
    for (int64_t h = -HOURS; h <= 3 * HOURS; h++)
        if (h * H > o->from_ms && h * H < o->last_ms && left_at(f, n, h * H) <= may)
            return h * H;
    return o->last_ms > o->from_ms ? o->last_ms : o->from_ms;
}

static int64_t naive(const struct sto_evict_opts *o, const struct sto_evict_file *f, size_t n)
{
    if (o->fixed_bytes + left_at(f, n, o->from_ms) <= o->max_bytes)
        return o->from_ms;
    if ((double)o->fixed_bytes >= (double)o->max_bytes * STO_EVICT_ROWS / STO_EVICT_PARTS)
        return o->from_ms; /* all points could not make room */
    int64_t high = first_hour(o, f, n, (uint64_t)((double)o->max_bytes * STO_EVICT_HIGH / STO_EVICT_PARTS)),
            whole = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t end = (f[i].max_ms / H + (f[i].max_ms >= 0)) * H;
        if (end >= high && end < whole)
            whole = end;
    }
    if (whole <= o->last_ms && (double)(o->fixed_bytes + left_at(f, n, whole)) >=
                                   (double)o->max_bytes * STO_EVICT_LOW / STO_EVICT_PARTS)
        return whole;
    return first_hour(o, f, n, (uint64_t)((double)o->max_bytes * STO_EVICT_ROWS / STO_EVICT_PARTS));
}

static void test_evict_pick__is_that_of_a_search_of_all_hours(void **state)
{
    (void)state;
    uint64_t x = 4711;
    unsigned n_rows = 0, n_whole = 0, n_short = 0, n_none = 0;
    for (int round = 0; round < 3000; round++) {
        struct sto_evict_file f[N_FILES];
        size_t n = t_random(&x) % (N_FILES + 1);
        uint64_t all = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t from = (int64_t)(t_random(&x) % HOURS) - HOURS / 3;
            int64_t len = t_random(&x) % 3 ? 24 : 1 + (int64_t)(t_random(&x) % HOURS);
            uint64_t bytes = 32 * (1 + t_random(&x) % 100000);
            f[i] = file_of(from, from + len, bytes);
            for (size_t k = 1; t_random(&x) % 2 && k < STO_SPREAD_PARTS; k++) /* denser in the end */
                f[i].spread.before[k] = f[i].spread.before[k] / 3;
            all += bytes;
        }
        struct sto_evict_opts o = {.fixed_bytes = t_random(&x) % 20000,
                                   .from_ms = t_random(&x) % 2 ? STO_MIN_TS_MS
                                                               : ((int64_t)(t_random(&x) % 300) - 150) * H,
                                   .last_ms = ((int64_t)(t_random(&x) % (2 * HOURS)) - 150) * H};
        o.max_bytes = (1 + t_random(&x) % (all / 32 + 1000)) * 32; /* shares are exact */
        struct sto_evict_pick p = sto_evict_pick(&o, f, n);
        assert_int_equal(p.cutoff_ms, naive(&o, f, n));
        assert_int_equal(p.left_bytes, o.fixed_bytes + left_at(f, n, p.cutoff_ms));
        assert_int_equal(p.freed_bytes, left_at(f, n, o.from_ms) - left_at(f, n, p.cutoff_ms));
        assert_int_equal(p.enough, p.left_bytes <= o.max_bytes);
        n_none += p.cutoff_ms == o.from_ms && p.enough;
        n_short += !p.enough;
        bool whole = false;
        for (size_t i = 0; i < n; i++)
            whole |= f[i].max_ms + 1 == p.cutoff_ms;
        n_whole += p.freed_bytes && whole;
        n_rows += p.freed_bytes && !whole && p.enough;
    }
    assert_true(n_rows > 100 && n_whole > 100 && n_short > 100 && n_none > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evict_pick__an_even_spread_has_all_bytes),
        cmocka_unit_test(test_evict_pick__nothing_goes_within_the_limit),
        cmocka_unit_test(test_evict_pick__whole_files_go_where_they_suffice),
        cmocka_unit_test(test_evict_pick__rows_go_where_a_file_is_too_much),
        cmocka_unit_test(test_evict_pick__what_is_put_now_stays),
        cmocka_unit_test(test_evict_pick__nothing_goes_in_vain),
        cmocka_unit_test(test_evict_pick__is_that_of_a_search_of_all_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
