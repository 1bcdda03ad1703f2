/*
 * test_aged_lost.c - marks of summaries that were lost (DIR/AGED is damaged or missing) are found again, and nothing that was accepted gets lost by that.
 */
#include "tests/unit/query/aged_kit.h"

#include "storage/fsck.h"

#define RULE    "m* points=30h hours=120h" /* of the kit */
#define RULE_H0 "m* host=h0 points=30h hours=120h"

/* All points that fill_old puts have expired, their summaries are there, and they are removed. */
static void begin_old(struct world *w, uint64_t seed)
{
    begin(w, seed, 30, 120);
    fill_old(w);
    set_clock(w, T0 + 10 * TS_HOUR_MS);
    pump(w);
    assert_int_equal(stat_of(w->st, "aged.hours"), 30 * SERIES);
    assert_int_equal(n_gone(w), SERIES);
}

static void lose(struct world *w, bool damaged)
{
    kit_close(w->st);
    assert_true(damaged ? t_faultfs_flip(w->f, "/db/AGED", 20, 1) : t_faultfs_remove(w->f, "/db/AGED"));
    w->st = open_aged(w, w->f);
}

/* A repair sets it aside. */
static void repair(struct world *w)
{
    struct ts_error err = {0};
    struct sto_fsck_result result;
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(w->f), .dir = "/db", .repair = true};
    size_t n;
    kit_close(w->st);
    assert_true(t_faultfs_flip(w->f, "/db/AGED", 20, 1));
    assert_int_equal(sto_fsck(&opts, &result, &err), 0);
    assert_int_equal(result.n_damage, 1);
    assert_null(t_faultfs_get(w->f, "/db/AGED", &n));
    assert_int_equal(sto_fsck(&opts, &result, &err), 0);
    assert_int_equal(result.n_damage, 0);
    w->st = open_aged(w, w->f);
}

static void change(struct world *w, const char *remove, const char *add)
{
    if (remove)
        rule(w->st, STO_RETAIN_REMOVE, remove);
    if (add)
        rule(w->st, STO_RETAIN_ADD, add);
}

static void test_aged_lost__marks_are_found_again(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct world w;
        begin_old(&w, 3);
        if (how == 2)
            repair(&w);
        else
            lose(&w, how == 1);
        pump(&w);
        check(&w, "marks were lost");
        end(&w);
    }
}

/* A pass that knows but one of the series ends well; the other ones have no rule then. */
static void test_aged_lost__a_pass_of_one_rule_is_not_one_of_all(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct world w;
        begin_old(&w, 4);
        lose(&w, true);
        change(&w, RULE, RULE_H0);
        for (int k = 0; k < 3; k++)
            pump(&w);
        if (again)
            reopen(&w);
        change(&w, RULE_H0, RULE);
        for (int k = 0; k < 3; k++)
            pump(&w);
        check(&w, again ? "after a start" : "when the rule is back");
        end(&w);
    }
}

/* Points that are there still make the pass write; it ends before it has looked at all series. */
static void test_aged_lost__a_pass_may_be_cut_short(void **state)
{
    (void)state;
    struct world w;
    begin_old(&w, 5);
    set_clock(&w, T0 + 20 * TS_HOUR_MS);
    for (int64_t h = 0; h < 10; h++)
        for (unsigned i = 0; i < SERIES; i++)
            put(&w, i, T0 - h * TS_HOUR_MS, value(&w, i));
    settle(&w, STO_LEVEL_FILES);
    set_clock(&w, T0 + 44 * TS_HOUR_MS);
    w.pass_rows = 1;
    lose(&w, true);
    for (int k = 0; k < 12; k++) {
        pump(&w);
        reopen(&w);
    }
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    check(&w, "after many passes");
    end(&w);
}

static void test_aged_lost__deletes_hit_summaries(void **state)
{
    (void)state;
    for (int with_rule = 0; with_rule < 2; with_rule++) {
        struct world w;
        begin_old(&w, 6);
        lose(&w, false);
        if (!with_rule)
            change(&w, RULE, NULL);
        for (unsigned i = 0; i < SERIES; i++) {
            int64_t from_ms = T0 - (60 + (int64_t)i) * TS_HOUR_MS;
            delete_from(w.st, i, from_ms, from_ms + 5 * TS_HOUR_MS - 1);
            delete_from(w.all, i, from_ms, from_ms + 5 * TS_HOUR_MS - 1);
        }
        if (!with_rule)
            change(&w, NULL, RULE);
        pump(&w);
        check(&w, "after deletes");
        end(&w);
    }
}

/* Without a rule and a mark an hour takes points again. They are fewer than those that its summary knows. */
static void test_aged_lost__no_summary_becomes_weaker(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 7, 30, 120);
    set_clock(&w, T0 - 40 * TS_HOUR_MS);
    for (int64_t k = 0; k < 200; k++)
        put(&w, (unsigned)(k % SERIES), T0 - 60 * TS_HOUR_MS + k * TS_HOUR_MS / 20,
            value(&w, (unsigned)(k % SERIES)));
    settle(&w, STO_LEVEL_FILES);
    set_clock(&w, T0);
    clocks(T0, 1000);
    pump(&w);
    lose(&w, true);
    change(&w, RULE, NULL);
    for (unsigned i = 0; i < SERIES; i++)
        assert_int_equal(sto_put(sto_writer(w.st, 0), series(w.st, i), T0 - 58 * TS_HOUR_MS + 77,
                                 (struct ts_num){.m = 4711}, true),
                         0);
    flush_to(w.st, STO_LEVEL_FILES);
    change(&w, NULL, RULE);
    pump(&w);
    assert_int_equal(stat_of(w.st, "aged.errors"), 0);
    check(&w, "points have come to hours with summaries");
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_aged_lost__marks_are_found_again),
        CASE(test_aged_lost__a_pass_of_one_rule_is_not_one_of_all),
        CASE(test_aged_lost__a_pass_may_be_cut_short),
        CASE(test_aged_lost__deletes_hit_summaries),
        CASE(test_aged_lost__no_summary_becomes_weaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
