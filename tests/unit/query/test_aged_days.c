/*
 * test_aged_days.c - days whose hours have expired are answered as before, where whole days are asked for, whatever happens to the store.
 */
#include "tests/unit/query/aged_kit.h"

#include "base/time.h"
#include "storage/age_days.h"

static int64_t day_floor(int64_t ms)
{
    return ts_calendar_floor(ts_tz_default(), ms, 1, TS_UNIT_D);
}

static int64_t day_up(int64_t ms)
{
    int64_t from_ms = day_floor(ms);
    return from_ms == ms ? ms : ts_calendar_next(ts_tz_default(), from_ms, 1, TS_UNIT_D);
}

/* Whole days are answered from from_ms on, and hours that have expired are in no finer answer. */
static void check_from(struct world *w, int64_t from_ms, const char *when)
{
    static const char *const aggs[] = {"sum", "count", "min", "max", "first", "last", "diff", "avg"};
    static const char *const bys[] = {"day", "", "host", "month", "day,host", "week"};
    char m[64];
    int64_t hours_ms = up(w->now_ms - w->hours_ms, TS_HOUR_MS);
    for (size_t a = 0; a < sizeof aggs / sizeof *aggs; a++) {
        snprintf(m, sizeof m, "%s:m0", aggs[a]);
        for (size_t b = a % 2; b < sizeof bys / sizeof *bys; b += 2)
            same(w, m, bys[b], from_ms, from_ms, when);
        snprintf(m, sizeof m, "none:1dc-%s:m0", aggs[a]);
        same(w, m, NULL, from_ms, from_ms, when);
    }
    same(w, "sum:1wc-sum:m0", NULL, from_ms, from_ms, when);
    same(w, "sum:m0", "hour", day_floor(hours_ms - 2 * DAY), hours_ms, when);
    same(w, "none:1h-sum:m0", NULL, up(hours_ms - 2 * DAY, TS_HOUR_MS), hours_ms, when);
    same(w, "none:m0", NULL, from_ms, cutoff(w), when);
    /* a day that is cut is not seen, but for hours that have not expired */
    same(w, "sum:m0", "", day_floor(hours_ms - 3 * DAY) + TS_HOUR_MS, day_floor(hours_ms - 2 * DAY), when);
}

static void check_days(struct world *w, const char *when)
{
    check(w, when);
    check_from(w, day_up(w->now_ms - w->days_ms), when);
}

static void delete_days(struct world *w)
{
    unsigned i = (unsigned)rnd(w, SERIES);
    int64_t from_ms = day_floor(w->now_ms - (int64_t)rnd(w, (uint64_t)w->days_ms)), to_ms = from_ms;
    for (uint64_t n = 1 + rnd(w, 3); n > 0; n--)
        to_ms = ts_calendar_next(ts_tz_default(), to_ms, 1, TS_UNIT_D);
    delete_from(w->st, i, from_ms, to_ms - 1);
    delete_from(w->all, i, from_ms, to_ms - 1);
}

static void step(struct world *w)
{
    uint64_t what = rnd(w, 14);
    if (what < 5)
        put_some(w, 40);
    else if (what == 5)
        delete_some(w);
    else if (what == 6)
        delete_days(w);
    else if (what == 7)
        settle(w, rnd(w, 2) ? STO_LEVEL_FILES : STO_LEVEL_COMPACT);
    else if (what == 8)
        reopen(w);
    else if (what == 9)
        crash(w);
    else
        set_clock(w, w->now_ms + (int64_t)rnd(w, 24 * TS_HOUR_MS));
    if (rnd(w, 2))
        pump(w);
}

static void run(uint64_t seed, uint64_t pass_rows)
{
    struct world w;
    char when[64];
    begin_days(&w, seed, 30, 80, 400);
    w.pass_rows = pass_rows;
    reopen(&w);
    for (unsigned k = 0; k < 90; k++) {
        step(&w);
        snprintf(when, sizeof when, "seed %llu step %u", (unsigned long long)seed, k);
        if (k % 3 == 2)
            check_days(&w, when);
    }
    for (unsigned k = 0; k < 70; k++) { /* all hours expire */
        set_clock(&w, w.now_ms + 6 * TS_HOUR_MS);
        pump(&w);
        if (k % 8 == 0)
            check_days(&w, "afterwards");
    }
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    set_clock(&w, w.now_ms + w.days_ms);
    for (int k = 0; k < 3; k++)
        pump(&w);
    assert_int_equal(stat_of(w.st, "files.points"), 0);
    end(&w);
}

static void in_zone(const char *name)
{
    const struct ts_tz *zone;
    assert_int_equal(ts_tz_open(ts_slice_str(name), &zone, NULL), 0);
    ts_tz_set_default(zone);
}

static void test_aged_days__answers_stay_as_hours_expire(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        run(seed, seed % 2 ? 0 : 7);
}

static void test_aged_days__of_other_zones(void **state)
{
    (void)state;
    in_zone("Europe/Berlin");
    run(11, 0);
    in_zone("America/New_York");
    run(12, 20);
    in_zone("UTC");
}

/* Points of 20 days, which have expired by days. */
static void fill_days(struct world *w)
{
    set_clock(w, T0 - 20 * DAY);
    for (int64_t h = 0; h < 20 * 24; h++) {
        set_clock(w, T0 - 20 * DAY + h * TS_HOUR_MS);
        for (unsigned i = 0; i < SERIES; i++)
            put(w, i, w->now_ms - 1000 * i, value(w, i));
    }
    settle(w, STO_LEVEL_FILES);
    set_clock(w, T0);
}

static void pumps(struct world *w, int n)
{
    while (n-- > 0)
        pump(w);
}

/* How many points the days from from_ms to before to_ms have. */
static double count_of(struct world *w, int64_t from_ms, int64_t to_ms)
{
    struct ts_buf out;
    double n = 0;
    ts_buf_init(&out, 0);
    with_times = false;
    ask(w->st, "count:m0", "", from_ms, to_ms - 1, w->now_ms, &out);
    ts_buf_char(&out, '\0');
    assert_int_equal(sscanf(out.p, "%*d %lf", &n), 1);
    ts_buf_release(&out);
    return n;
}

static bool lacks(struct world *w, const char *m, const char *by, int64_t from_ms, int64_t to_ms)
{
    struct ts_buf out;
    ts_buf_init(&out, 0);
    ask(w->st, m, by, from_ms, to_ms - 1, w->now_ms, &out);
    ts_buf_release(&out);
    return ask_left_out;
}

/* An answer that lacks days because they do not fit is marked, and no other one. */
static void test_aged_days__what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct world w;
    in_zone("UTC");
    begin_days(&w, 14, 30, 80, 1000);
    fill_days(&w);
    set_clock(&w, T0 + 10 * DAY);
    pumps(&w, 5);
    int64_t from_ms = day_up(T0 - 19 * DAY), to_ms = day_floor(T0 - 5 * DAY);
    assert_false(lacks(&w, "sum:m0", "day", from_ms, to_ms));
    assert_false(lacks(&w, "sum:m0", "", from_ms, to_ms));
    assert_false(lacks(&w, "none:1dc-sum:m0", NULL, from_ms, to_ms));
    assert_false(lacks(&w, "sum:m0", "", from_ms - 100 * DAY + TS_HOUR_MS, from_ms - 50 * DAY));
    assert_true(lacks(&w, "sum:m0", "", from_ms + TS_HOUR_MS, to_ms));
    assert_true(lacks(&w, "sum:m0", "hour", from_ms, to_ms));
    assert_true(lacks(&w, "none:1h-sum:m0", NULL, from_ms, to_ms));
    assert_true(lacks(&w, "none:10m-sum:m0", NULL, from_ms, to_ms));
    in_zone("Asia/Tokyo");
    assert_true(lacks(&w, "sum:m0", "day", from_ms, to_ms));
    in_zone("UTC");
    end(&w);
}

static void test_aged_days__a_part_of_a_day_stays(void **state)
{
    (void)state;
    struct world w;
    in_zone("UTC");
    begin_days(&w, 9, 30, 80, 1000);
    fill_days(&w);
    pumps(&w, 4);
    int64_t from_ms = day_up(T0 - 15 * DAY);
    double was = count_of(&w, from_ms, from_ms + 5 * DAY);
    /* a day as a whole, and parts of the days before and after it */
    delete_from(w.st, 0, from_ms + 5 * TS_HOUR_MS, from_ms + 2 * DAY + 20 * TS_HOUR_MS - 1);
    assert_true(count_of(&w, from_ms, from_ms + 5 * DAY) == was - 24);
    assert_true(count_of(&w, from_ms + DAY, from_ms + 2 * DAY) == 24 * (SERIES - 1));
    delete_from(w.st, 1, from_ms, from_ms + DAY - 1);
    assert_true(count_of(&w, from_ms, from_ms + 5 * DAY) == was - 48);
    delete_from(w.st, 2, from_ms + 3 * DAY, from_ms + 4 * DAY - 1000); /* to 23:59:59 */
    assert_true(count_of(&w, from_ms, from_ms + 5 * DAY) == was - 72);
    end(&w);
}

/* A series of hours that have all become days leads to these, and is not forgotten. */
static void test_aged_days__are_not_forgotten(void **state)
{
    (void)state;
    struct world w;
    in_zone("UTC");
    begin_days(&w, 10, 30, 80, 1000);
    fill_days(&w);
    set_clock(&w, T0 + 10 * DAY);
    pumps(&w, 5);
    int64_t from_ms = day_up(T0 - 19 * DAY);
    same(&w, "sum:m0", "day", from_ms, from_ms, "before");
    for (int k = 0; k < 3; k++)
        assert_int_equal(sto_store_pump_forget(w.st, NULL), 0);
    reopen(&w);
    same(&w, "sum:m0", "day", from_ms, from_ms, "after series were forgotten");
    put_some(&w, 40);
    set_clock(&w, w.now_ms + 10 * DAY);
    pumps(&w, 5);
    same(&w, "sum:m0", "day", from_ms, from_ms, "when they have gone on");
    end(&w);
}

/* In another zone days that were made stay as they are, and new ones follow them without a gap or an overlap. */
static void test_aged_days__the_zone_changes(void **state)
{
    (void)state;
    struct world w;
    int64_t from_ms = day_up(T0 - 19 * DAY);
    in_zone("UTC");
    begin_days(&w, 5, 30, 80, 1000);
    fill_days(&w);
    pumps(&w, 4);

    check_days(&w, "days of UTC");
    in_zone("Europe/Berlin");
    set_clock(&w, w.now_ms + 5 * DAY);
    pumps(&w, 4);
    in_zone("UTC");
    /* of all time, and of the days of UTC that were made before */
    same(&w, "sum:m0", "", from_ms, from_ms, "one total");
    same(&w, "none:0all-count:m0", NULL, from_ms, from_ms, "one bucket");
    set_clock(&w, w.now_ms + 5 * DAY);
    pumps(&w, 4);
    same(&w, "sum:m0", "", from_ms, from_ms, "one total of all zones");
    same(&w, "max:m0", "host", from_ms, from_ms, "one total a host");
    end(&w);
}

/* Days of a zone that has no days of whole hours are kept as hours. */
static void test_aged_days__of_half_hours(void **state)
{
    (void)state;
    struct world w;
    in_zone("UTC");
    begin_days(&w, 6, 30, 80, 1000);
    in_zone("Asia/Kolkata");
    fill_days(&w);
    pumps(&w, 4);
    in_zone("UTC");
    struct ts_buf is, all;
    ts_buf_init(&is, 0);
    ts_buf_init(&all, 0);
    with_times = true;
    ask(w.st, "sum:m0", "hour", T0 - 19 * DAY, T0 - 10 * DAY - 1, T0, &is);
    ask(w.all, "sum:m0", "hour", T0 - 19 * DAY, T0 - 10 * DAY - 1, T0, &all);
    assert_int_equal(is.n, all.n);
    assert_memory_equal(is.p, all.p, is.n);
    ts_buf_release(&is);
    ts_buf_release(&all);
    same(&w, "sum:m0", "day", day_up(T0 - 19 * DAY), day_up(T0 - 19 * DAY), "days of UTC");
    end(&w);
}

/* A rule of days comes to a store of points that are older than its hours. */
static void test_aged_days__of_an_old_store(void **state)
{
    (void)state;
    struct world w;
    char text[64];
    in_zone("UTC");
    begin_days(&w, 7, 30, 80, 1000);
    rule_text(&w, text);
    rule(w.st, STO_RETAIN_REMOVE, text);
    fill_days(&w);
    rule(w.st, STO_RETAIN_ADD, text);
    for (int k = 0; k < 6; k++) {
        check_days(&w, "with the rule");
        pump(&w);
    }
    /* cells of summaries of 17 days, of hours of 3 days, and points of 30 hours; without days there were 4,000 a series */
    assert_true(stat_of(w.st, "files.points") < 1000 * SERIES);
    end(&w);
}

static void test_aged_days__lost_marks_are_found_again(void **state)
{
    (void)state;
    struct world w;
    in_zone("UTC");
    begin_days(&w, 8, 30, 80, 1000);
    fill_days(&w);
    pumps(&w, 4);
    kit_close(w.st);
    assert_true(t_faultfs_remove(w.f, "/db/AGED"));
    w.st = open_aged(&w, w.f);
    pumps(&w, 4);
    check_days(&w, "marks were lost");
    end(&w);
}

/* Marks are lost while the rule keeps more than when they were made: what has no points and no hours any more stays. */
static void test_aged_days__lost_marks_of_another_rule(void **state)
{
    (void)state;
    for (int days = 0; days < 2; days++) {
        struct world w;
        in_zone("UTC");
        begin_days(&w, 11, 30, days ? 80 : 1000, days ? 1000 : 0);
        fill_days(&w);
        pumps(&w, 4);
        char text[64];
        rule_text(&w, text);
        rule(w.st, STO_RETAIN_REMOVE, text);
        rule(w.st, STO_RETAIN_ADD,
             days ? "m* points=200h hours=300h days=1000h" : "m* points=300h hours=1000h");
        pumps(&w, 2);
        int64_t from_ms = day_up(T0 - 19 * DAY);
        same(&w, "sum:m0", "day", from_ms, from_ms, "with a longer rule");
        kit_close(w.st);
        assert_true(t_faultfs_remove(w.f, "/db/AGED"));
        w.st = open_aged(&w, w.f);
        pumps(&w, 4);
        same(&w, "sum:m0", "day", from_ms, from_ms, "marks were lost");
        set_clock(&w, w.now_ms + 3 * DAY);
        pumps(&w, 4);
        same(&w, "sum:m0", "day", from_ms, from_ms, "later");
        end(&w);
    }
}

/* Hours of doubles whose sums are exact for themselves, and together too large for that. */
static void test_aged_days__sums_are_exact(void **state)
{
    (void)state;
    struct sto_age_days d = {.first = INT32_MIN};
    struct sto_age_day out;
    struct sto_aged hour = {.n_hours = 0};
    struct sto_summary *s = &hour.part[STO_AGED_OTHERS];
    for (int32_t h = 0; h < 24; h++) {
        *s = (struct sto_summary){.n = 1, .has_sum = true, .last_off = 9, .first_off = 9};
        s->first = s->last = s->min = s->max = ts_num_from_double(ldexp(1, 62));
        s->sum = (__int128)1 << (62 + 64);
        if (h == 7) {
            s->has_sum = false;
            hour.sum[STO_AGED_OTHERS][0] = ldexp(1, 62);
            hour.sum[STO_AGED_OTHERS][1] = ldexp(1, -40);
            hour.sum[STO_AGED_OTHERS][2] = ldexp(1, -99);
        }
        assert_false(sto_age_days_add(&d, 3, 480000 + h, &hour, &out));
    }
    assert_true(sto_age_days_end(&d, &out));
    assert_false(sto_age_days_end(&d, &out));
    assert_int_equal(out.pos, 3);
    assert_int_equal(out.hour, 480000);
    assert_int_equal(out.sum.n_hours, 24);
    s = &out.sum.part[STO_AGED_OTHERS];
    assert_int_equal(s->n, 24);
    assert_int_equal(s->first_off, 9);
    assert_int_equal(s->last_off, 23 * TS_HOUR_MS + 9);
    assert_false(s->has_sum);
    assert_true(out.sum.sum[STO_AGED_OTHERS][0] == 24 * ldexp(1, 62));
    assert_true(out.sum.sum[STO_AGED_OTHERS][1] == ldexp(1, -40) + 0);
    assert_true(out.sum.sum[STO_AGED_OTHERS][2] == ldexp(1, -99));
    sto_age_days_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_days__sums_are_exact),
        CASE(test_aged_days__what_does_not_fit_is_counted),
        CASE(test_aged_days__a_part_of_a_day_stays),
        CASE(test_aged_days__are_not_forgotten),
        CASE(test_aged_days__the_zone_changes),
        CASE(test_aged_days__of_half_hours),
        CASE(test_aged_days__of_an_old_store),
        CASE(test_aged_days__lost_marks_are_found_again),
        CASE(test_aged_days__lost_marks_of_another_rule),
        CASE(test_aged_days__of_other_zones),
        CASE(test_aged_days__answers_stay_as_hours_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
