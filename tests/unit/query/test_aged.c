/*
 * test_aged.c - hours whose points have expired are answered as before, where whole hours are asked for, whatever happens to the store.
 *
 * Two stores get the same points and deletes; one has a rule that keeps hours longer than points, the other one keeps everything.
 */
#include "tests/unit/storage/windows_kit.h"

#include "query/query.h"
#include "storage/aged.h"
#include "storage/retain.h"
#include "tests/unit/t_random.h"

#include <math.h>

#define SERIES 5

struct world {
    struct t_faultfs *f, *all_f;
    struct sto_store *st, *all; /* with the rule; everything */
    int64_t now_ms;
    int64_t points_ms, hours_ms; /* of the rule */
    uint64_t rnd;
};

static uint64_t rnd(struct world *w, uint64_t n)
{
    return t_random(&w->rnd) % n;
}

static const struct sto_series *series(struct sto_store *st, unsigned i)
{
    return kit_series(st, 2 * i); /* of m0 */
}

static void set_clock(struct world *w, int64_t now_ms)
{
    w->now_ms = now_ms;
    clocks(now_ms, 1000 + (now_ms - T0));
}

static void rule(struct sto_store *st, enum sto_retain_what what, const char *text)
{
    struct ts_error err = {0};
    struct sto_retain_call call = {.what = what, .text = ts_slice_str(text), .at = SIZE_MAX};
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
}

static void rule_text(const struct world *w, char text[64])
{
    snprintf(text, 64, "m* points=%lldh hours=%lldh", (long long)(w->points_ms / TS_HOUR_MS),
             (long long)(w->hours_ms / TS_HOUR_MS));
}

static void begin(struct world *w, uint64_t seed, int64_t points_h, int64_t hours_h)
{
    char text[64];
    *w = (struct world){.rnd = seed * 2654435761u + 88172645463325252ull,
                        .points_ms = points_h * TS_HOUR_MS,
                        .hours_ms = hours_h * TS_HOUR_MS};
    set_clock(w, T0);
    w->f = t_faultfs_new(seed);
    w->all_f = t_faultfs_new(seed);
    w->st = open_at(w->f, 0, 0);
    w->all = open_at(w->all_f, 0, 0);
    rule_text(w, text);
    rule(w->st, STO_RETAIN_ADD, text);
}

static void end(struct world *w)
{
    kit_close(w->st);
    kit_close(w->all);
    t_faultfs_free(w->f);
    t_faultfs_free(w->all_f);
}

/* --- changes --- */

static int64_t cutoff(const struct world *w)
{
    return w->now_ms - w->points_ms;
}

/* Integers, decimals, doubles without an exact sum, and both kinds in one hour. */
static struct ts_num value(struct world *w, unsigned i)
{
    struct ts_num dec = {.m = (int64_t)rnd(w, 100000) - 50000, .kind = TS_NUM_DEC, .exp = 2};
    struct ts_num num = {.m = (int64_t)rnd(w, 2000) - 1000};
    switch (i) {
    case 0:
        return num;
    case 1:
        return dec;
    case 2:
        return ts_num_from_double((double)(rnd(w, 1000) + 1) * (rnd(w, 3) ? 1e30 : 1));
    case 3:
        return rnd(w, 2) ? num : dec;
    default:
        return (struct ts_num){.m = (int64_t)t_random(&w->rnd)};
    }
}

static void put(struct world *w, unsigned i, int64_t ts_ms, struct ts_num v)
{
    assert_true(ts_ms >= cutoff(w)); /* others are refused (tsd/ingest) */
    assert_int_equal(sto_put(sto_writer(w->st, 0), series(w->st, i), ts_ms, v, true), 0);
    assert_int_equal(sto_put(sto_writer(w->all, 0), series(w->all, i), ts_ms, v, true), 0);
}

static void put_some(struct world *w, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        unsigned i = (unsigned)rnd(w, SERIES);
        uint64_t span = (uint64_t)(rnd(w, 3) ? 20 * TS_HOUR_MS : w->points_ms);
        put(w, i, w->now_ms - (int64_t)rnd(w, span), value(w, i));
    }
    sto_writer_turn(sto_writer(w->st, 0));
    sto_writer_turn(sto_writer(w->all, 0));
}

static int delete_target(void *arg, const struct qry_delete_target *x, struct ts_error *err)
{
    (void)err;
    assert_int_equal(sto_delete(sto_writer(arg, 0), x->series, x->from_ms, x->to_ms), 0);
    return 0;
}

/* As a daemon deletes: points, then what qry_delete_aged finds. meanwhile: a pass of retention comes between, and sees no delete. */
static void delete_from(struct sto_store *st, unsigned i, int64_t from_ms, int64_t to_ms)
{
    struct qry_delete_target x = {
        .series = series(st, i), .from_ms = from_ms, .to_ms = to_ms, .kind = QRY_KIND_POINTS};
    assert_int_equal(delete_target(st, &x, NULL), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(qry_delete_aged(st, &x, 1, delete_target, st, NULL), 0);
    sto_writer_turn(sto_writer(st, 0));
}

static void delete_some(struct world *w)
{
    unsigned i = (unsigned)rnd(w, SERIES);
    int64_t from_ms = w->now_ms - (int64_t)rnd(w, (uint64_t)w->hours_ms), to_ms;
    if (from_ms < cutoff(w) || rnd(w, 2)) {
        from_ms -= ts_floor_mod(from_ms, TS_HOUR_MS);
        to_ms = from_ms + (1 + (int64_t)rnd(w, 8)) * TS_HOUR_MS - 1;
    } else {
        to_ms = from_ms + (int64_t)rnd(w, 2 * TS_HOUR_MS);
    }
    delete_from(w->st, i, from_ms, to_ms);
    delete_from(w->all, i, from_ms, to_ms);
}

static void settle(struct world *w, enum sto_level level)
{
    flush_to(w->st, level);
    flush_to(w->all, level);
}

static void pump(struct world *w)
{
    struct ts_error err = {0};
    if (sto_store_pump_merges(w->st, &err) < 0)
        fail_msg("%s", err.text);
}

static void reopen(struct world *w)
{
    kit_close(w->st);
    w->st = open_at(w->f, 0, 0);
}

/* A pass of retention is ended by a power cut. What was put is synced before. */
static void crash(struct world *w)
{
    settle(w, STO_LEVEL_DISK);
    sto_store_pump(w->st);
    t_faultfs_plan(w->f,
                   (struct t_fault_plan){.ops = T_OP_WRITES, .at = 1 + rnd(w, 60), .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(w->st, NULL);
    t_faultfs_power_cut(w->f);
    (void)sto_close(w->st, NULL);
    t_faultfs_reboot(w->f, rnd(w, 2) ? T_KEEP_RANDOM : T_KEEP_NONE);
    w->st = open_at(w->f, 0, 0);
}

/* --- questions --- */

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *out = arg;
    (void)err;
    for (size_t k = 0; k < s->n; k++) {
        ts_buf_printf(out, "%lld ", (long long)s->ts_ms[k]);
        ts_buf_append(out, &s->v[k], sizeof s->v[k]);
    }
    return 0;
}

static bool with_times; /* of totals: they depend on the start that is asked for */

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct ts_buf *out = arg;
    (void)err;
    if (with_times)
        ts_buf_printf(out, "%lld ", (long long)t->ts_ms);
    ts_buf_printf(out, "%d %.17g ", t->is_int, t->is_int ? (double)t->i : t->d);
    return 0;
}

/* The answer to a question as bytes. by NULL: no totals. */
static void ask(struct sto_store *st, const char *m, const char *by, int64_t from_ms, int64_t to_ms,
                int64_t now_ms, struct ts_buf *out)
{
    char start[32], end_text[32];
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    snprintf(start, sizeof start, "%lldms", (long long)from_ms);
    snprintf(end_text, sizeof end_text, "%lldms", (long long)to_ms);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end_text)},
                            {TS_SLICE_LIT("ms"), TS_SLICE_LIT("")},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by ? by : "")}};
    ts_arena_init(&arena, 0);
    ts_buf_clear(out);
    int rc = qry_parse_params(p, by ? 5 : 4, now_ms, false, &arena, &spec, &err);
    if (rc == 0)
        rc = by ? qry_totals(st, NULL, &spec, &limit, on_total, out, &err)
                : qry_run(st, NULL, &spec, &limit, on_series, out, &err);
    if (rc < 0 && rc != TS_ENOTFOUND)
        fail_msg("%s by %s: %s", m, by ? by : "", err.text);
    ts_arena_release(&arena);
}

/* Both stores answer a question of from_ms.. alike; that of all points is asked from all_from_ms on. */
static void same(struct world *w, const char *m, const char *by, int64_t from_ms, int64_t all_from_ms,
                 const char *when)
{
    struct ts_buf a, b;
    ts_buf_init(&a, 0);
    ts_buf_init(&b, 0);
    with_times = from_ms == all_from_ms;
    ask(w->st, m, by, from_ms, w->now_ms, w->now_ms, &a);
    ask(w->all, m, by, all_from_ms, w->now_ms, w->now_ms, &b);
    if (a.n != b.n || (a.n && memcmp(a.p, b.p, a.n) != 0)) {
        fprintf(stderr, "is  %.*s\nnot %.*s\n", (int)a.n, a.p, (int)b.n, b.p);
        fail_msg("%s: %s by %s from %lld is another answer", when, m, by ? by : "no", (long long)from_ms);
    }
    ts_buf_release(&a);
    ts_buf_release(&b);
}

static int64_t up(int64_t ms, int64_t step_ms)
{
    return -ts_floor_div(-ms, step_ms) * step_ms;
}

static void check(struct world *w, const char *when)
{
    static const char *const aggs[] = {"sum", "count", "min", "max", "first", "last", "diff", "avg"};
    static const char *const bys[] = {"hour", "day", "", "host", "hour,host", "month"};
    char m[64];
    int64_t kept_ms = up(w->now_ms - w->hours_ms, TS_HOUR_MS);
    for (size_t a = 0; a < sizeof aggs / sizeof *aggs; a++) {
        snprintf(m, sizeof m, "%s:m0", aggs[a]);
        for (size_t b = a % 2; b < sizeof bys / sizeof *bys; b += 2)
            same(w, m, bys[b], kept_ms, kept_ms, when);
        snprintf(m, sizeof m, "none:%dh-%s:m0", (int)(1 + a % 3), aggs[a]);
        same(w, m, NULL, up(kept_ms, 6 * TS_HOUR_MS), up(kept_ms, 6 * TS_HOUR_MS), when);
    }
    same(w, "none:1d-sum:m0", NULL, up(kept_ms, DAY), up(kept_ms, DAY), when);
    /* what needs points sees none of these hours */
    same(w, "none:m0", NULL, kept_ms - DAY, cutoff(w), when);
    same(w, "p50:m0", "host", kept_ms - DAY, cutoff(w), when);
    /* nor does what has a part of an hour */
    int64_t old_ms = up(kept_ms + (int64_t)rnd(w, (uint64_t)(w->hours_ms - w->points_ms)), TS_HOUR_MS);
    if (old_ms + TS_HOUR_MS <= cutoff(w))
        same(w, "sum:m0", "", old_ms + TS_HOUR_MS / 2, old_ms + TS_HOUR_MS, when);
}

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

static void run(uint64_t seed, int64_t points_h, int64_t hours_h)
{
    struct world w;
    char when[64];
    begin(&w, seed, points_h, hours_h);
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
        run(seed, 30, 120);
    run(9, 9 * 24, 14 * 24); /* summaries once a day */
}

/* One point an hour of each of two days, two days ago. */
static void fill_old(struct world *w)
{
    set_clock(w, T0 - 40 * TS_HOUR_MS);
    for (int64_t h = 0; h < 30; h++)
        for (unsigned i = 0; i < SERIES; i++)
            put(w, i, T0 - 70 * TS_HOUR_MS + h * TS_HOUR_MS + 1000 * i, value(w, i));
    settle(w, STO_LEVEL_FILES);
    set_clock(w, T0);
    clocks(T0, 1000);
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
    for (unsigned i = 0; i < SERIES; i++) /* of the series itself nothing is left */
        assert_int_equal(seen(w.st, 2 * i).n, 0);
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

static void test_aged__lost_marks_are_found_again(void **state)
{
    (void)state;
    for (int damaged = 0; damaged < 2; damaged++) {
        struct world w;
        begin(&w, 3, 30, 120);
        fill_old(&w);
        set_clock(&w, T0 + 10 * TS_HOUR_MS);
        pump(&w);
        kit_close(w.st);
        assert_true(damaged ? t_faultfs_flip(w.f, "/db/AGED", 20, 1) : t_faultfs_remove(w.f, "/db/AGED"));
        w.st = open_at(w.f, 0, 0);
        pump(&w);
        check(&w, "marks were lost");
        end(&w);
    }
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
        CASE(test_aged__lost_marks_are_found_again),
        CASE(test_aged__answers_stay_as_points_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
