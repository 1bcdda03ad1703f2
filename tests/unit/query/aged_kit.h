/*
 * aged_kit.h - two stores that get the same points and deletes; one has a rule that keeps hours longer than points, the other one keeps everything.
 */
#ifndef TESTS_UNIT_QUERY_AGED_KIT_H
#define TESTS_UNIT_QUERY_AGED_KIT_H

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
    int64_t days_ms;             /* the same; 0: the rule does not say it */
    uint64_t pass_rows;          /* sto_opts.age_pass_rows */
    uint64_t max_series;         /* sto_opts.max_series */
    uint64_t merge_bytes;        /* sto_opts.merge_memory_bytes */
    size_t memstore_bytes;       /* sto_opts.memstore_bytes; 0 = that of the kit */
    bool is_command;             /* its opener does not know the zone */
    unsigned n_series;           /* of SERIES */
    uint64_t rnd;
};

static inline struct sto_store *open_aged(struct world *w, struct t_faultfs *f)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.age_pass_rows = w->pass_rows;
    opts.merge_memory_bytes = w->merge_bytes;
    opts.knows_zone = !w->is_command;
    opts.memstore_bytes = w->memstore_bytes ? w->memstore_bytes : opts.memstore_bytes;
    opts.max_series = w->max_series ? w->max_series : opts.max_series;
    return kit_open(&opts);
}

static inline uint64_t rnd(struct world *w, uint64_t n)
{
    return t_random(&w->rnd) % n;
}

static inline const struct sto_series *series(struct sto_store *st, unsigned i)
{
    return kit_series(st, 2 * i); /* of m0 */
}

static inline void set_clock(struct world *w, int64_t now_ms)
{
    w->now_ms = now_ms;
    clocks(now_ms, 1000 + (now_ms - T0));
}

static inline void rule(struct sto_store *st, enum sto_retain_what what, const char *text)
{
    struct ts_error err = {0};
    struct sto_retain_call call = {.what = what, .text = ts_slice_str(text), .at = SIZE_MAX};
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void rule_text(const struct world *w, char text[64])
{
    int n = snprintf(text, 64, "m* points=%lldh hours=%lldh", (long long)(w->points_ms / TS_HOUR_MS),
                     (long long)(w->hours_ms / TS_HOUR_MS));
    if (w->days_ms)
        snprintf(text + n, 64 - (size_t)n, " days=%lldh", (long long)(w->days_ms / TS_HOUR_MS));
}

static inline void begin_days(struct world *w, uint64_t seed, int64_t points_h, int64_t hours_h,
                              int64_t days_h)
{
    char text[64];
    *w = (struct world){.rnd = seed * 2654435761u + 88172645463325252ull,
                        .n_series = SERIES,
                        .points_ms = points_h * TS_HOUR_MS,
                        .hours_ms = hours_h * TS_HOUR_MS,
                        .days_ms = days_h * TS_HOUR_MS};
    set_clock(w, T0);
    w->f = t_faultfs_new(seed);
    w->all_f = t_faultfs_new(seed);
    w->st = open_aged(w, w->f);
    w->all = open_aged(w, w->all_f);
    rule_text(w, text);
    rule(w->st, STO_RETAIN_ADD, text);
}

static inline void begin(struct world *w, uint64_t seed, int64_t points_h, int64_t hours_h)
{
    begin_days(w, seed, points_h, hours_h, 0);
}

static inline void end(struct world *w)
{
    kit_close(w->st);
    kit_close(w->all);
    t_faultfs_free(w->f);
    t_faultfs_free(w->all_f);
}

/* --- changes --- */

static inline int64_t cutoff(const struct world *w)
{
    return w->now_ms - w->points_ms;
}

/* Integers, decimals, doubles without an exact sum, and both kinds in one hour. */
static inline struct ts_num value(struct world *w, unsigned i)
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

static inline void put(struct world *w, unsigned i, int64_t ts_ms, struct ts_num v)
{
    assert_true(ts_ms >= cutoff(w)); /* others are refused (tsd/ingest) */
    assert_int_equal(sto_put(sto_writer(w->st, 0), series(w->st, i), ts_ms, v, true), 0);
    assert_int_equal(sto_put(sto_writer(w->all, 0), series(w->all, i), ts_ms, v, true), 0);
}

static inline void put_some(struct world *w, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        unsigned i = (unsigned)rnd(w, w->n_series);
        uint64_t span = (uint64_t)(rnd(w, 3) ? 20 * TS_HOUR_MS : w->points_ms);
        put(w, i, w->now_ms - (int64_t)rnd(w, span), value(w, i));
    }
    sto_writer_turn(sto_writer(w->st, 0));
    sto_writer_turn(sto_writer(w->all, 0));
}

/* A delete under way. */
struct deleting {
    struct sto_store *st;
    struct qry_delete_target found; /* the last target */
    size_t n;                       /* targets */
};

static inline int delete_target(void *arg, const struct qry_delete_target *x, struct ts_error *err)
{
    struct deleting *d = arg;
    (void)err;
    d->found = *x;
    d->n++;
    assert_int_equal(sto_delete(sto_writer(d->st, 0), x->series, x->from_ms, x->to_ms), 0);
    return 0;
}

/* As a daemon deletes: points, then what qry_delete_aged finds, again and again. */
static inline void delete_from(struct sto_store *st, unsigned i, int64_t from_ms, int64_t to_ms)
{
    struct deleting d = {.st = st};
    struct qry_delete_target x = {
        .series = series(st, i), .from_ms = from_ms, .to_ms = to_ms, .kind = QRY_KIND_POINTS};
    assert_int_equal(delete_target(&d, &x, NULL), 0);
    for (size_t n = 0; n < d.n;) {
        n = d.n;
        x = d.found;
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(qry_delete_aged(st, &x, 1, delete_target, &d, NULL), 0);
    }
    sto_writer_turn(sto_writer(st, 0));
}

static inline void delete_some(struct world *w)
{
    unsigned i = (unsigned)rnd(w, w->n_series);
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

static inline void settle(struct world *w, enum sto_level level)
{
    flush_to(w->st, level);
    flush_to(w->all, level);
}

static inline void pump(struct world *w)
{
    struct ts_error err = {0};
    if (sto_store_pump_merges(w->st, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void reopen(struct world *w)
{
    kit_close(w->st);
    w->st = open_aged(w, w->f);
}

/* A pass of retention is ended by a power cut. What was put is synced before. */
static inline void crash(struct world *w)
{
    settle(w, STO_LEVEL_DISK);
    sto_store_pump(w->st);
    t_faultfs_plan(w->f,
                   (struct t_fault_plan){.ops = T_OP_WRITES, .at = 1 + rnd(w, 60), .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(w->st, NULL);
    t_faultfs_power_cut(w->f);
    (void)sto_close(w->st, NULL);
    t_faultfs_reboot(w->f, rnd(w, 2) ? T_KEEP_RANDOM : T_KEEP_NONE);
    w->st = open_aged(w, w->f);
}

/* One point an hour of each of two days, two days ago. */
static inline void fill_old(struct world *w)
{
    set_clock(w, T0 - 40 * TS_HOUR_MS);
    for (int64_t h = 0; h < 30; h++)
        for (unsigned i = 0; i < SERIES; i++)
            put(w, i, T0 - 70 * TS_HOUR_MS + h * TS_HOUR_MS + 1000 * i, value(w, i));
    settle(w, STO_LEVEL_FILES);
    set_clock(w, T0);
    clocks(T0, 1000);
}

/* Points of a series that are there, be they expired or not. */
static inline uint64_t n_left(const struct world *w, unsigned i)
{
    const struct sto_series *s = series(w->st, i);
    struct sto_snap *snap = sto_snap_take(w->st);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .aged = true,
                                 .final = true};
    struct sto_merge *scan;
    struct sto_row row;
    struct ts_error err = {0};
    uint64_t n = 0;
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc == 0 && (rc = sto_merge_next(scan, &row, &err)) == 1) {
        n += row.cells->n;
        rc = 0;
    }
    if (rc < 0)
        fail_msg("%s", err.text);
    sto_merge_free(scan);
    sto_snap_release(snap);
    return n;
}

/* How many series have no points left. */
static inline unsigned n_gone(const struct world *w)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SERIES; i++)
        n += n_left(w, i) == 0;
    return n;
}

/* --- questions --- */

static inline int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct ts_buf *out = arg;
    (void)err;
    for (size_t k = 0; k < s->n; k++) {
        ts_buf_printf(out, "%lld ", (long long)s->ts_ms[k]);
        ts_buf_append(out, &s->v[k], sizeof s->v[k]);
    }
    return 0;
}

static struct ts_budget *ask_memory; /* account of questions; NULL: none */
static bool with_times;              /* of totals: they depend on the start that is asked for */

static inline int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct ts_buf *out = arg;
    (void)err;
    if (with_times)
        ts_buf_printf(out, "%lld ", (long long)t->ts_ms);
    ts_buf_printf(out, "%d %.17g ", t->is_int, t->is_int ? (double)t->i : t->d);
    return 0;
}

static bool ask_left_out; /* the last answer lacked something that has expired: */
static struct qry_left_out ask_left_out_what;

/* The answer to a question as bytes. by NULL: no totals. */
static inline void ask(struct sto_store *st, const char *m, const char *by, int64_t from_ms, int64_t to_ms,
                       int64_t now_ms, struct ts_buf *out)
{
    char start[32], end_text[32];
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {.memory = ask_memory};
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
    ask_left_out = qry_left_out_any(&limit.left_out);
    ask_left_out_what = limit.left_out;
    ts_arena_release(&arena);
}

/* Both stores answer a question of from_ms.. alike; that of all points is asked from all_from_ms on. */
static inline void same(struct world *w, const char *m, const char *by, int64_t from_ms, int64_t all_from_ms,
                        const char *when)
{
    struct ts_buf a, b;
    ts_buf_init(&a, 0);
    ts_buf_init(&b, 0);
    /* that of one total is the first one of the store's data, if that is later than the start */
    with_times = from_ms == all_from_ms && w->n_series == SERIES && /* and on the range of all points */
                 !(w->days_ms && by && (!*by || strcmp(by, "host") == 0));
    ask(w->st, m, by, from_ms, w->now_ms, w->now_ms, &a);
    bool left_out = ask_left_out;
    ask(w->all, m, by, all_from_ms, w->now_ms, w->now_ms, &b);
    if (a.n != b.n || (a.n && memcmp(a.p, b.p, a.n) != 0)) {
        fprintf(stderr, "is  %.*s\nnot %.*s\n", (int)a.n, a.p, (int)b.n, b.p);
        fail_msg("%s: %s by %s from %lld is another answer", when, m, by ? by : "no", (long long)from_ms);
    }
    if (left_out && from_ms == all_from_ms)
        fail_msg("%s: %s by %s says that it lacks something", when, m, by ? by : "no");
    ts_buf_release(&a);
    ts_buf_release(&b);
}

static inline int64_t up(int64_t ms, int64_t step_ms)
{
    return -ts_floor_div(-ms, step_ms) * step_ms;
}

static inline void check(struct world *w, const char *when)
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

#endif
