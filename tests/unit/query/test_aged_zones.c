/*
 * test_aged_zones.c - marks of summaries are lost and the zone of the store changes before they are found again: no hour is in two days, and none is lost.
 */
#include "tests/unit/query/aged_kit.h"

#include "base/time.h"

#define DAYS 16

static void in_zone(const char *name)
{
    const struct ts_tz *zone;
    assert_int_equal(ts_tz_open(ts_slice_str(name), &zone, NULL), 0);
    ts_tz_set_default(zone);
}

/* Two points of some hours of DAYS days. */
static void fill(struct world *w)
{
    for (int64_t h = 0; h < DAYS * 24; h++) {
        set_clock(w, T0 - DAYS * DAY + h * TS_HOUR_MS);
        for (unsigned i = 0; i < SERIES; i++) {
            put(w, i, w->now_ms - 1000 * i, value(w, i));
            if (h % 7 == i)
                put(w, i, w->now_ms - 900000, value(w, i));
        }
    }
    settle(w, STO_LEVEL_FILES);
    set_clock(w, T0);
}

static void pumps(struct world *w, int n)
{
    while (n-- > 0)
        pump(w);
}

static void lose(struct world *w)
{
    kit_close(w->st);
    (void)t_faultfs_remove(w->f, "/db/AGED");
    w->st = open_aged(w, w->f);
}

/* Totals over all, which begin before the first day of any zone. */
static void check_all(struct world *w, const char *when)
{
    int64_t from_ms = T0 - (DAYS + 4) * DAY;
    static const char *const aggs[] = {"sum", "count", "min", "max", "diff"};
    char m[32];
    for (size_t a = 0; a < sizeof aggs / sizeof *aggs; a++) {
        snprintf(m, sizeof m, "%s:m0", aggs[a]);
        same(w, m, "", from_ms, from_ms, when);
        same(w, m, "host", from_ms, from_ms, when);
    }
    same(w, "none:0all-last:m0", NULL, from_ms, from_ms, when);
}

static void test_aged_zones__days_of_two_zones_do_not_overlap(void **state)
{
    static const char *const zones[][3] = {{"America/New_York", "UTC", "America/New_York"},
                                           {"UTC", "UTC", "Asia/Tokyo"},
                                           {"Asia/Tokyo", "America/New_York", "UTC"},
                                           {"UTC", "Asia/Tokyo", "Asia/Kolkata"}};
    (void)state;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct world w;
        in_zone(zones[i][0]);
        begin_days(&w, 5 + i, 30, 80, 1000 * 24);
        fill(&w);
        pumps(&w, 4);
        in_zone(zones[i][1]);
        set_clock(&w, w.now_ms + 5 * TS_HOUR_MS); /* one day, or a part of one */
        pumps(&w, 4);
        check_all(&w, "days of two zones");
        in_zone(zones[i][2]);
        lose(&w);
        pumps(&w, 4);
        check_all(&w, "marks were lost");
        set_clock(&w, w.now_ms + 2 * DAY);
        pumps(&w, 4);
        check_all(&w, "more days are made");
        set_clock(&w, w.now_ms + 20 * DAY);
        pumps(&w, 4);
        check_all(&w, "all days are made");
        assert_int_equal(stat_of(w.st, "aged.errors"), 0);
        end(&w);
    }
    in_zone("UTC");
}

/* A command that works on the folder of a stopped daemon does not know its zone. */
static void test_aged_zones__commands_make_no_days(void **state)
{
    struct world w;
    (void)state;
    in_zone("Asia/Tokyo");
    begin_days(&w, 3, 30, 80, 1000 * 24);
    fill(&w);
    kit_close(w.st);
    in_zone("UTC");
    w.is_command = true;
    w.st = open_aged(&w, w.f);
    pumps(&w, 6);
    assert_true(stat_of(w.st, "aged.hours") > 0);
    assert_int_equal(stat_of(w.st, "aged.days"), 0);
    check_all(&w, "a command");
    kit_close(w.st);
    in_zone("Asia/Tokyo");
    w.is_command = false;
    w.st = open_aged(&w, w.f);
    pumps(&w, 4);
    assert_true(stat_of(w.st, "aged.days") > 0);
    check_all(&w, "the daemon");
    int64_t midnight_ms = ts_calendar_floor(NULL, T0 - (DAYS - 1) * DAY, 1, TS_UNIT_D);
    same(&w, "none:1dc-sum:m0", NULL, midnight_ms, midnight_ms, "days of the zone");
    end(&w);
    in_zone("UTC");
}

/* A power cut at the n-th write of a pass. */
static void crash_at(struct world *w, uint64_t n)
{
    settle(w, STO_LEVEL_DISK);
    sto_store_pump(w->st);
    t_faultfs_plan(w->f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = n, .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(w->st, NULL);
    t_faultfs_power_cut(w->f);
    (void)sto_close(w->st, NULL);
    t_faultfs_reboot(w->f, T_KEEP_NONE);
    w->st = open_aged(w, w->f);
}

/* A pass that makes days is ended by a power cut, so that days may be there whose hours are all there too. */
static void test_aged_zones__nor_those_of_a_pass_that_was_not_completed(void **state)
{
    static const char *const zones[] = {"UTC", "Asia/Tokyo", "America/New_York"};
    (void)state;
    for (uint64_t n = 1; n <= 36; n++) {
        struct world w;
        char when[64];
        in_zone("UTC");
        begin_days(&w, n, 30, 200, 1000 * 24);
        fill(&w);
        pumps(&w, 4);
        for (uint64_t k = 0; k < 2; k++) {
            set_clock(&w, w.now_ms + 3 * DAY);
            crash_at(&w, n);
            in_zone(zones[(n + k) % 3]);
            lose(&w);
            set_clock(&w, w.now_ms +
                              4 * DAY); /* nothing is removed before, since the clock seems to have jumped */
            pumps(&w, 4);
            snprintf(when, sizeof when, "after a power cut at write %u, %u", (unsigned)n, (unsigned)k);
            check_all(&w, when);
        }
        end(&w);
    }
    in_zone("UTC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_zones__days_of_two_zones_do_not_overlap),
        CASE(test_aged_zones__commands_make_no_days),
        CASE(test_aged_zones__nor_those_of_a_pass_that_was_not_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
