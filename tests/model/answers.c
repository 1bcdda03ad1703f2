/*
 * answers.c - random stores answer queries as a store does that has their points in memory alone.
 *
 * A seed decides what becomes of the store under test: points of many shapes, overwritten and late ones, deletes, flushes, merges, rules of
 * retention, a clock that goes on, restarts in another zone, a kept total. The plain store gets the points that should be left, never
 * flushes, and so has no files, summaries, days or kept totals; the answers of both must be the same bytes.
 *
 * Threads    one
 * Not here   what is left of points after power cuts and errors (tests/sim/), answers of a plain store (tests/queries/)
 */
#include "query/query.h"

#include "base/cut.h"
#include "base/log.h"
#include "storage/total.h"
#include "tests/faults/faultfs.h"
#include "tests/unit/t_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX 10
#define ANSWER_MAX ((size_t)64 << 20) /* bytes of an answer */

struct point {
    int64_t ts_ms;
    struct ts_num v;
};

/* A series and the points that it should have. */
struct series {
    unsigned metric, values, times; /* m0 or m1; the shapes of its values and times */
    struct point *p;                /* by time; owned */
    size_t n, cap;                  /* of p */
    int64_t keep_ms;                /* for how long points are kept; INT64_MAX: for ever */
};

static struct series all[SERIES_MAX];
static unsigned n_series;
static uint64_t seed, rnd_state, n_asked, n_wrong;
static struct t_faultfs *disk;
static struct sto_store *tested, *plain;
static struct sto_opts opts; /* of the store under test */
static char rules[64];
static int64_t base_ms, now_ms, mono_ms;
static const char *zone_name; /* of the store under test */

static const char *const zones[] = {
    "UTC",           "Asia/Kolkata",     "Asia/Kathmandu",    "Australia/Lord_Howe",
    "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Pacific/Apia",
    "Asia/Tehran",   "America/St_Johns"};
#define N_ZONES (sizeof zones / sizeof *zones)

static uint64_t rnd(uint64_t n)
{
    return t_random(&rnd_state) % n;
}

static bool chance(unsigned pct)
{
    return rnd(100) < pct;
}

static void must(int rc, const char *what, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "seed %" PRIu64 ": %s: %s\n", seed, what, err->text);
    exit(1);
}

static const struct ts_tz *zone(const char *name)
{
    const struct ts_tz *tz;
    struct ts_error err = {0};
    must(ts_tz_open(ts_slice_str(name), &tz, &err), name, &err);
    return tz;
}

/* --- points --- */

static const struct sto_series *handle(struct sto_store *st, unsigned i)
{
    char text[48], host[12], dc[12];
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    (void)snprintf(host, sizeof host, "h%u", i);
    (void)snprintf(dc, sizeof dc, "d%u", i % 3);
    int n = snprintf(text, sizeof text, "m%u dc=%s host=%s", all[i].metric, dc, host);
    struct sto_tag_text tags[] = {{TS_SLICE_LIT("dc"), ts_slice_str(dc)},
                                  {TS_SLICE_LIT("host"), ts_slice_str(host)}};
    must(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 2, tags, 2, true, &s,
                            &err),
         "series", &err);
    return s;
}

static void put(struct sto_store *st, unsigned i, const struct point *p)
{
    struct ts_error err = {0};
    int rc;
    while ((rc = sto_put(sto_writer(st, 0), handle(st, i), p->ts_ms, p->v, p->ts_ms % 1000 != 0)) == TS_EBUSY)
        sto_writer_turn(sto_writer(st, 0));
    must(rc, "put", &err);
}

/* The first point of a series from a time on. */
static size_t find(const struct series *s, int64_t ts_ms)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->p[mid].ts_ms < ts_ms)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void note(struct series *s, const struct point *p)
{
    size_t at = find(s, p->ts_ms);
    if (at == s->n || s->p[at].ts_ms != p->ts_ms) {
        if (s->n == s->cap)
            s->p = ts_xrealloc(s->p, (s->cap = s->cap ? 2 * s->cap : 64) * sizeof *s->p);
        memmove(s->p + at + 1, s->p + at, (s->n - at) * sizeof *s->p);
        s->n++;
    }
    s->p[at] = *p;
}

static void forget(struct series *s, int64_t from_ms, int64_t to_ms)
{
    size_t lo = find(s, from_ms), hi = find(s, to_ms);
    if (hi > lo)
        memmove(s->p + lo, s->p + hi, (s->n - hi) * sizeof *s->p);
    s->n -= hi > lo ? hi - lo : 0;
}

static struct ts_num value(unsigned shape)
{
    struct ts_num v = {.m = (int64_t)rnd(2000) - 1000};
    switch (shape) {
    case 1:
        return (struct ts_num){.m = rnd(3) ? (int64_t)t_random(&rnd_state) : rnd(2) ? INT64_MAX : INT64_MIN};
    case 2:
        return (struct ts_num){.m = v.m * 7, .kind = TS_NUM_DEC, .exp = (uint8_t)(1 + rnd(3))};
    case 3:
        return ts_num_from_double((double)(int64_t)t_random(&rnd_state) * 1e-9);
    case 4:
        return ts_num_from_double((double)(1 + rnd(9)) * (rnd(2) ? 1e300 : 1e-300));
    case 5:
        return (struct ts_num){.m = 7};
    case 6:
        return value((unsigned)rnd(4));
    default:
        return v;
    }
}

/* The time of the next point, apart as the shape says. */
static int64_t next_time(unsigned shape, int64_t t)
{
    static const int64_t steps_ms[] = {60000, 600000, TS_HOUR_MS};
    switch (shape) {
    case 3:
        return ts_floor_div(t, TS_DAY_MS) * TS_DAY_MS + TS_DAY_MS + (int64_t)rnd(TS_DAY_MS / 1000) * 1000;
    case 4:
        return t + (int64_t)rnd(5 * 3600) * 1000 + 1000;
    case 5:
        return t + 1 + (int64_t)rnd(TS_HOUR_MS);
    default:
        return t + steps_ms[shape];
    }
}

static void put_some(void)
{
    unsigned i = (unsigned)rnd(n_series);
    struct series *s = &all[i];
    bool again = chance(30) && s->n;
    int64_t t = again ? s->p[rnd(s->n)].ts_ms : base_ms + (int64_t)rnd(40 * 86400) * 1000;
    for (size_t k = 0, n = 1 + rnd(300); k < n; k++, t = next_time(s->times, t)) {
        struct point p = {t, value(s->values)};
        put(tested, i, &p);
        note(s, &p);
    }
}

/* A time near those of the points, often one at which something begins. */
static int64_t some_time(void)
{
    int64_t t = base_ms - 2 * TS_DAY_MS + (int64_t)rnd(60 * TS_DAY_MS);
    switch (rnd(5)) {
    case 0:
        return t;
    case 1:
        return ts_floor_div(t, TS_HOUR_MS / 2) * TS_HOUR_MS / 2;
    case 2:
        return ts_floor_div(t, TS_HOUR_MS) * TS_HOUR_MS - (int64_t)rnd(2);
    default:
        return ts_calendar_floor(zone(rnd(2) ? zone_name : zones[rnd(N_ZONES)]), t, 1, TS_UNIT_D) -
               (int64_t)rnd(2);
    }
}

static void delete_some(void)
{
    unsigned i = (unsigned)rnd(n_series);
    int64_t from = some_time(), to = chance(50) ? from + (int64_t)rnd(3 * TS_DAY_MS) : some_time();
    struct ts_error err = {0};
    int rc;
    if (from > to)
        return;
    while ((rc = sto_delete(sto_writer(tested, 0), handle(tested, i), from, to)) == TS_EBUSY)
        sto_writer_turn(sto_writer(tested, 0));
    must(rc, "delete", &err);
    forget(&all[i], from, to + 1);
}

/* --- the store under test --- */

static void open_tested(void)
{
    struct ts_error err = {0};
    ts_tz_set_default(zone(zone_name));
    must(sto_open(&opts, &tested, &err), "open", &err);
}

static void reopen(void)
{
    struct ts_error err = {0};
    must(sto_close(tested, &err), "close", &err);
    if (chance(30))
        zone_name = zones[rnd(N_ZONES)];
    open_tested();
}

static void flush(enum sto_level level)
{
    struct ts_error err = {0};
    must(sto_flush(tested, level, &err), "flush", &err);
    must(sto_store_pump_merges(tested, &err), "merge", &err);
}

/* The clock goes on, and points expire. */
static void pass(int64_t ms)
{
    now_ms += ms;
    mono_ms += ms;
    ts_clock_set_fake(now_ms);
    ts_clock_set_fake_mono(mono_ms * 1000000);
    for (unsigned i = 0; i < n_series; i++)
        if (all[i].keep_ms != INT64_MAX)
            forget(&all[i], INT64_MIN, now_ms - all[i].keep_ms);
}

/* --- answers --- */

struct question {
    char start[24], end[24], m[96], tz[32], by[24];
};

struct answer {
    struct ts_buf text;
    const struct qry_spec *spec; /* of the query */
};

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct answer *a = arg;
    double d = t->d + 0.0; /* a kept total may take 0.0 for -0.0 where both are the least of a cell */
    (void)err;
    if (a->spec->by_time.n)
        (void)ts_buf_printf(&a->text, "%lld %lld %d ", (long long)t->ts_ms, (long long)t->local_ms,
                            t->repeated);
    (void)ts_buf_printf(&a->text, "%d %d", t->weekday, t->hour_of_day);
    for (size_t i = 0; i < a->spec->n_by_tags; i++)
        (void)ts_buf_printf(&a->text, " %.*s", (int)t->tags[i].n, t->tags[i].p);
    return t->is_int
               ? ts_buf_printf(&a->text, " %lld:%llu\n", (long long)(t->i >> 64), (unsigned long long)t->i)
               : ts_buf_printf(&a->text, " %.17g\n", d);
}

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct answer *a = arg;
    (void)err;
    for (size_t i = 0; i < s->n_tags; i++)
        (void)ts_buf_printf(&a->text, "%.*s ", (int)s->tags[i].v.n, s->tags[i].v.p);
    for (size_t k = 0; k < s->n; k++)
        (void)ts_buf_printf(&a->text, "\n%lld %d %llx", (long long)s->ts_ms[k],
                            s->is_int ? s->is_int[k] : s->all_int, (unsigned long long)s->v[k]);
    return ts_buf_printf(&a->text, "\n");
}

static void ask(struct sto_store *st, const struct question *q, struct answer *a)
{
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    const struct qry_param p[] = {
        {TS_SLICE_LIT("start"), ts_slice_str(q->start)}, {TS_SLICE_LIT("end"), ts_slice_str(q->end)},
        {TS_SLICE_LIT("m"), ts_slice_str(q->m)},         {TS_SLICE_LIT("timezone"), ts_slice_str(q->tz)},
        {TS_SLICE_LIT("ms"), TS_SLICE_LIT("true")},      {TS_SLICE_LIT("by"), ts_slice_str(q->by)}};
    ts_arena_init(&arena, 0);
    ts_buf_clear(&a->text);
    a->spec = &spec;
    int rc = qry_parse_params(p, *q->by ? 6 : 5, now_ms, false, &arena, &spec, &err);
    if (rc == 0)
        rc = *q->by ? qry_totals(st, NULL, &spec, &limit, on_total, a, &err)
                    : qry_run(st, NULL, &spec, &limit, on_series, a, &err);
    if (rc < 0) { /* the time of an infinite sum depends on what was read */
        ts_buf_clear(&a->text);
        (void)ts_buf_printf(&a->text, "error %d", rc);
    }
    ts_arena_release(&arena);
}

static struct question make_question(void)
{
    static const char *const aggs[] = {"sum", "count", "avg", "min", "max", "first", "last", "dev", "p50"};
    static const char *const bys[] = {"day", "hour",    "week",      "month", "day,host", "dc",  "host,day",
                                      "90m", "weekday", "hourofday", "2days", "6h",       "year"};
    static const char *const downs[] = {"1h", "1d", "1dc", "30m", "1wc", "1nc", "0all", "10m"};
    static const char *const tags[] = {"", "", "{host=*}", "{dc=d1}", "{dc=*}", "{host=h1|h2}"};
    struct question q = {0};
    int64_t a = some_time(), b = some_time();
    const char *agg = aggs[chance(60) ? rnd(5) : rnd(9)];
    (void)snprintf(q.start, sizeof q.start, "%lldms", (long long)(a < b ? a : b));
    (void)snprintf(q.end, sizeof q.end, "%lldms", (long long)(a < b ? b : a + 1));
    (void)snprintf(q.tz, sizeof q.tz, "%s", chance(50) ? zone_name : zones[rnd(N_ZONES)]);
    if (chance(65)) {
        (void)snprintf(q.by, sizeof q.by, "%s", bys[chance(50) ? 0 : rnd(sizeof bys / sizeof *bys)]);
        (void)snprintf(q.m, sizeof q.m, "%s:m%u%s", agg, (unsigned)rnd(2), tags[rnd(6)]);
    } else {
        (void)snprintf(q.m, sizeof q.m, "%s:%s-%s:m%u%s", aggs[rnd(7)], downs[rnd(8)], agg, (unsigned)rnd(2),
                       tags[rnd(6)]);
    }
    return q;
}

static void open_plain(struct t_faultfs **out_disk)
{
    struct ts_error err = {0};
    *out_disk = t_faultfs_new(1);
    const struct sto_opts o = {.fs = t_faultfs_fs(*out_disk),
                               .dir = "/plain",
                               .create = true,
                               .pumped = true,
                               .no_background = true,
                               .wal_sync = STO_SYNC_NONE};
    must(sto_open(&o, &plain, &err), "open the plain store", &err);
    for (unsigned i = 0; i < n_series; i++) {
        (void)handle(plain, i);
        int64_t from_ms = all[i].keep_ms == INT64_MAX ? INT64_MIN : now_ms - all[i].keep_ms;
        for (size_t k = find(&all[i], from_ms); k < all[i].n; k++)
            put(plain, i, &all[i].p[k]);
    }
    sto_writer_turn(sto_writer(plain, 0));
}

/* Print the first line that differs. */
static void show(const struct question *q, struct ts_slice is, struct ts_slice want)
{
    size_t at = 0, line = 0;
    for (; at < is.n && at < want.n && is.p[at] == want.p[at]; at++)
        line = is.p[at] == '\n' ? at + 1 : line;
    is = (struct ts_slice){is.p + line, is.n - line};
    want = (struct ts_slice){want.p + line, want.n - line};
    is = ts_slice_cut(&is, '\n');
    want = ts_slice_cut(&want, '\n');
    fprintf(stderr,
            "seed %" PRIu64 ": %s from %s to %s tz %s by '%s', the store in %s: '%.*s', expected '%.*s'\n",
            seed, q->m, q->start, q->end, q->tz, q->by, zone_name, (int)is.n, is.p, (int)want.n, want.p);
}

static void compare(unsigned n)
{
    struct t_faultfs *other;
    struct answer is = {0}, want = {0};
    ts_buf_init(&is.text, ANSWER_MAX);
    ts_buf_init(&want.text, ANSWER_MAX);
    open_plain(&other);
    for (unsigned k = 0; k < n; k++, n_asked++) {
        struct question q = make_question();
        ask(tested, &q, &is);
        ask(plain, &q, &want);
        if (ts_slice_eq(ts_buf_get(&is.text), ts_buf_get(&want.text)))
            continue;
        n_wrong++;
        show(&q, ts_buf_get(&is.text), ts_buf_get(&want.text));
    }
    (void)sto_close(plain, NULL);
    t_faultfs_free(other);
    ts_buf_release(&is.text);
    ts_buf_release(&want.text);
}

/* --- a life --- */

static void make_rules(void)
{
    int64_t rest_d = chance(50) ? 5 + (int64_t)rnd(50) : 0, m0_d = chance(50) ? 5 + (int64_t)rnd(40) : 0;
    opts.retention_ms = rest_d * TS_DAY_MS;
    (void)snprintf(rules, sizeof rules, "m0 points=%lldd", (long long)m0_d);
    opts.retention_rules = m0_d ? rules : NULL;
    for (unsigned i = 0; i < n_series; i++) {
        int64_t days = m0_d && all[i].metric == 0 ? m0_d : rest_d;
        all[i].keep_ms = days ? days * TS_DAY_MS : INT64_MAX;
    }
}

static void begin(void)
{
    static const int64_t bases_ms[] = {1490400000000,  -259200000,    4294100000000, 1509235200000,
                                       -1500000000000, 1325000000000, 1793620800000};
    struct ts_error err = {0};
    rnd_state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    base_ms = bases_ms[rnd(7)] + (int64_t)rnd(10 * TS_DAY_MS) / 1000 * 1000;
    now_ms = base_ms;
    mono_ms = 1000;
    zone_name = zones[rnd(N_ZONES)];
    n_series = 2 + (unsigned)rnd(SERIES_MAX - 1);
    for (unsigned i = 0; i < n_series; i++)
        all[i] = (struct series){.metric = i && chance(30),
                                 .values = chance(40) ? 0 : (unsigned)rnd(7),
                                 .times = (unsigned)rnd(6)};
    disk = t_faultfs_new(seed + 1);
    opts = (struct sto_opts){.fs = t_faultfs_fs(disk),
                             .dir = "/tested",
                             .create = true,
                             .pumped = true,
                             .no_background = true,
                             .wal_sync = STO_SYNC_NONE,
                             .n_shards = 1u << rnd(3),
                             .day_rows = 1,
                             .big_day_points = chance(50) ? 0 : 100 + rnd(2000),
                             .index_page_blocks = chance(30) ? 2 + (uint32_t)rnd(5) : 0};
    make_rules();
    pass((int64_t)rnd(60 * TS_DAY_MS));
    open_tested();
    for (unsigned i = 0; i < n_series; i++)
        (void)handle(tested, i);
    struct ts_slice over = chance(50) ? ts_slice_str("host") : ts_slice_str("dc");
    if (chance(40))
        must(sto_total_add(tested, ts_slice_str("m0"), &over, 1, NULL, &err), "kept total", &err);
}

static void live(void)
{
    struct ts_error err = {0};
    begin();
    for (unsigned k = 0, n = 10 + (unsigned)rnd(40); k < n; k++) {
        uint64_t what = rnd(100);
        what < 50 ? put_some() : what < 60 ? delete_some() : (void)0;
        sto_writer_turn(sto_writer(tested, 0));
        if (what >= 60 && what < 80)
            flush(what < 70 ? STO_LEVEL_FILES : STO_LEVEL_COMPACT);
        else if (what >= 80 && what < 90)
            pass((int64_t)rnd(4 * TS_DAY_MS));
        else if (what >= 90 && what < 95)
            reopen();
        else if (what >= 95)
            compare(6);
    }
    flush(STO_LEVEL_COMPACT);
    compare(25);
    must(sto_close(tested, &err), "close", &err);
    t_faultfs_free(disk);
    for (unsigned i = 0; i < n_series; i++)
        ts_free(all[i].p);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
    ts_log_set_level(TS_LOG_ERROR);
    for (seed = first; seed <= last; seed++)
        live();
    ts_tz_set_default(NULL);
    printf("%" PRIu64 " answers of seeds %" PRIu64 " to %" PRIu64 ", %" PRIu64 " wrong\n", n_asked, first,
           last, n_wrong);
    return n_wrong ? 1 : 0;
}
