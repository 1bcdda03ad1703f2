/*
 * test_aged.c - hours whose points have expired are answered as before, where whole hours are asked for, whatever happens to the store.
 */
#include "tests/unit/query/aged_kit.h"

/* --- tests --- */

static void step(struct world *w)
{
    uint64_t what = rnd(w, 12);
    if (what < 5)
        put_some(w, 40);
    else if (what < 7)
        delete_some(w);
    else if (what == 7)
        settle(w, rnd(w, 2) ? STO_LEVEL_FILES : STO_LEVEL_COMPACT);
    else if (what == 8)
        reopen(w);
    else if (what == 9)
        crash(w);
    else
        set_clock(w, w->now_ms + (int64_t)rnd(w, 12 * TS_HOUR_MS));
    if (rnd(w, 2))
        pump(w);
}

static void run(uint64_t seed, unsigned n_series, int64_t points_h, int64_t hours_h)
{
    struct world w;
    char when[64];
    begin(&w, seed, points_h, hours_h);
    w.n_series = n_series;
    for (unsigned k = 0; k < 90; k++) {
        step(&w);
        snprintf(when, sizeof when, "seed %llu step %u", (unsigned long long)seed, k);
        if (k % 3 == 2)
            check(&w, when);
    }
    for (unsigned k = 0; k < 40; k++) { /* all points expire */
        set_clock(&w, w.now_ms + 6 * TS_HOUR_MS);
        pump(&w);
        if (k % 4 == 0)
            check(&w, "afterwards");
    }
    assert_true(stat_of(w.st, "aged.hours") > 0);
    end(&w);
}

static void test_aged__answers_stay_as_points_expire(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        run(seed, SERIES, 30, 120);
    run(5, 1, 30, 120);
    run(9, SERIES, 9 * 24, 14 * 24); /* summaries once a day */
}

static void test_aged__points_go_and_their_files_too(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 1, 30, 120);
    fill_old(&w);
    set_clock(&w, T0 + 2 * TS_HOUR_MS);
    pump(&w);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    assert_int_equal(stat_of(w.st, "aged.hours"), 30 * SERIES);
    check(&w, "when they have expired");
    struct sto_expired does = {0};
    (void)does;
    assert_int_equal(n_gone(&w), SERIES); /* of the series themselves nothing is left */
    set_clock(&w, T0 + 60 * TS_HOUR_MS);
    for (int k = 0; k < 3; k++)
        pump(&w);
    check(&w, "while hours expire");
    set_clock(&w, T0 + 130 * TS_HOUR_MS);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(stat_of(w.st, "files.points"), 0);
    end(&w);
}

/* Other rules take nothing back: what was removed is no point again, and its summary answers for as long as the new rule says. */
static void test_aged__rules_may_change(void **state)
{
    (void)state;
    struct world w;
    char text[64];
    begin(&w, 2, 30, 120);
    fill_old(&w);
    pump(&w);
    rule_text(&w, text);
    rule(w.st, STO_RETAIN_REMOVE, text);
    struct sto_keep *keep = sto_retain_keep(w.st);
    int64_t from_ms = sto_keep_from_ms(keep, series(w.st, 0)->id, w.now_ms);
    sto_keep_unref(keep);
    assert_int_equal(from_ms, up(T0 - TS_HOUR_MS - 30 * TS_HOUR_MS - TS_HOUR_MS + 1, TS_HOUR_MS));
    same(&w, "sum:m0", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "without the rule");
    same(&w, "none:m0", NULL, T0 - 100 * TS_HOUR_MS, from_ms, "without the rule");
    set_clock(&w, T0 + 300 * TS_HOUR_MS);
    pump(&w);
    reopen(&w);
    same(&w, "sum:m0", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "later");
    rule(w.st, STO_RETAIN_ADD, "m* points=300h hours=500h");
    same(&w, "count:m0", "hour", T0 - 100 * TS_HOUR_MS, T0 - 100 * TS_HOUR_MS, "with another rule");
    rule(w.st, STO_RETAIN_REMOVE, "m* points=300h hours=500h");
    rule(w.st, STO_RETAIN_ADD, "m* points=300h");
    same(&w, "count:m0", "hour", T0 - 100 * TS_HOUR_MS, T0, "with points alone");
    end(&w);
}

static void test_aged__a_row_has_what_a_summary_has(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 4, 30, 120);
    for (unsigned i = 0; i < SERIES; i++) {
        struct sto_cells c = {.n = 0}, row = {.n = 0};
        struct sto_point cells[STO_AGED_CELLS];
        struct sto_aged is, as;
        sto_cells_reserve(&c, 50);
        for (; c.n < 50; c.n++) {
            struct ts_num v = value(&w, i);
            c.meta[c.n] = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, true) | (c.n * 7000 + 5);
            c.m[c.n] = v.m;
        }
        assert_true(sto_aged_make(&c, &is));
        size_t n = sto_aged_row(&is, series(w.st, 0), 17, cells);
        sto_cells_reserve(&row, (uint32_t)n);
        for (; row.n < n; row.n++) {
            row.meta[row.n] = cells[row.n].flags | (uint32_t)(cells[row.n].ts_ms - 17 * TS_HOUR_MS);
            row.m[row.n] = cells[row.n].m;
        }
        assert_true(sto_aged_read(&row, &as));
        for (unsigned p = 0; p < 2; p++) {
            assert_int_equal(is.part[p].n, as.part[p].n);
            assert_true(!is.part[p].n || sto_summary_same(&is.part[p], &as.part[p]));
            assert_memory_equal(is.sum[p], as.sum[p], sizeof is.sum[p]);
        }
        assert_int_equal(is.part[0].n + is.part[1].n, 50);
        row.meta++, row.m++, row.n--; /* it expires: its first cell is gone */
        assert_false(sto_aged_read(&row, &as));
        row.meta--, row.m--;
        sto_cells_release(&c);
        sto_cells_release(&row);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged__a_row_has_what_a_summary_has),
        CASE(test_aged__points_go_and_their_files_too),
        CASE(test_aged__rules_may_change),
        CASE(test_aged__answers_stay_as_points_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
