/*
 * kept_kit.h - a store with kept totals, what its answers should be by a plain model, and how many hours the totals answered.
 */
#ifndef TESTS_UNIT_QUERY_KEPT_KIT_H
#define TESTS_UNIT_QUERY_KEPT_KIT_H

#include "query/query.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/retain.h"
#include "storage/store.h"
#include "storage/total.h"
#include "tests/unit/t_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/t_folder.h"

#define T0_S     1499990400 /* midnight of a Friday, UTC */
#define N_DAYS   12
#define SLOTS    (N_DAYS * 24 * 4) /* times of points: quarters of an hour */
#define N_HOSTS  3
#define N_SERIES 30 /* domain=d0..d9, host=h0..h2; every fourth series has kind=k too */
#define N_CELLS  (N_DAYS * 24 * 40)

static char dir[T_FOLDER_BYTES];
static struct sto_store *st;
static uint64_t rnd_state;
static size_t merge_bytes; /* memory of merges; 0 = as ever */
static int64_t more;       /* is added to the values of fill */

/* The points as they should be; values are in hundredths where `decimal`. */
static bool has[N_SERIES][SLOTS];
static int64_t value[N_SERIES][SLOTS];
static bool decimal[N_SERIES][SLOTS];

static inline uint64_t rnd(uint64_t n)
{
    return t_random(&rnd_state) % n;
}

/* --- the store --- */

static inline void open_store(void)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = dir,
                            .knows_zone = true,
                            .create = true,
                            .own_threads = true,
                            .day_rows = 1,
                            .merge_memory_bytes = merge_bytes,
                            .wal_sync = STO_SYNC_NONE,
                            .no_background = true};
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void settle(enum sto_level level)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void reopen(void)
{
    settle(STO_LEVEL_LOG);
    assert_int_equal(sto_close(st, NULL), 0);
    open_store();
}

static inline const struct sto_series *series(const char *metric, unsigned i)
{
    char text[64], domain[16], host[16];
    struct ts_error err = {0};
    const struct sto_series *s;
    snprintf(domain, sizeof domain, "d%u", i / N_HOSTS);
    snprintf(host, sizeof host, "h%u", i % N_HOSTS);
    int n =
        snprintf(text, sizeof text, "%s domain=%s host=%s%s", metric, domain, host, i % 4 ? "" : " kind=k");
    struct sto_tag_text tags[] = {{TS_SLICE_LIT("domain"), ts_slice_str(domain)},
                                  {TS_SLICE_LIT("host"), ts_slice_str(host)},
                                  {TS_SLICE_LIT("kind"), TS_SLICE_LIT("k")}};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                           (uint32_t)strlen(metric), tags, i % 4 ? 2 : 3, true, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static inline void put(unsigned i, unsigned slot, int64_t v, bool dec)
{
    struct sto_writer *writer = sto_writer(st, 0);
    struct ts_num num = dec ? (struct ts_num){.m = v, .kind = TS_NUM_DEC, .exp = 2} : (struct ts_num){.m = v};
    int rc;
    while ((rc = sto_put(writer, series("web.hits", i), (T0_S + slot * 900ll) * 1000, num, false)) ==
           TS_EBUSY)
        sto_writer_turn(writer);
    assert_int_equal(rc, 0);
    has[i][slot] = true;
    value[i][slot] = v;
    decimal[i][slot] = dec;
}

static inline void put_other(unsigned i, unsigned slot)
{
    struct sto_writer *writer = sto_writer(st, 0);
    while (sto_put(writer, series("web.bytes", i), (T0_S + slot * 900ll) * 1000, (struct ts_num){.m = 7},
                   false) == TS_EBUSY)
        sto_writer_turn(writer);
}

static inline void delete (unsigned i, unsigned from, unsigned n)
{
    struct sto_writer *writer = sto_writer(st, 0);
    assert_int_equal(sto_delete(writer, series("web.hits", i), (T0_S + from * 900ll) * 1000,
                                (T0_S + (from + n) * 900ll) * 1000 - 1),
                     0);
    for (unsigned s = from; s < from + n && s < SLOTS; s++)
        has[i][s] = false;
}

static inline void fill(bool decimals)
{
    for (unsigned s = 0; s < SLOTS; s++)
        for (unsigned i = 0; i < N_SERIES; i++) {
            if (rnd(4))
                put(i, s, (int64_t)rnd(1000) - 200 + more, decimals);
            if (i % 7 == 0)
                put_other(i, s);
        }
}

static inline int declare(const char *a, const char *b)
{
    struct ts_slice over[2] = {ts_slice_str(a), ts_slice_str(b ? b : "")};
    return sto_total_add(st, (struct ts_slice)TS_SLICE_LIT("web.hits"), over, b ? 2 : 1, NULL, NULL);
}

static inline int undeclare(const char *a)
{
    struct ts_slice over = ts_slice_str(a);
    return sto_total_remove(st, (struct ts_slice)TS_SLICE_LIT("web.hits"), &over, 1, NULL);
}

static inline int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    memset(has, 0, sizeof has);
    rnd_state = 88172645463325252ull;
    merge_bytes = 0;
    more = 0;
    open_store();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    return t_folder_remove(dir);
}

/* --- what is expected --- */

enum by { BY_NOTHING, BY_HOUR, BY_DAY, BY_DAY_HOST, BY_HOST, BY_DAY_DOMAIN, BY_COUNT };
static const char *const by_texts[] = {"", "hour", "day", "day,host", "host", "day,domain"};
enum agg { AGG_SUM, AGG_COUNT, AGG_MIN, AGG_MAX, AGG_AVG, AGG_LAST, AGG_COUNT_ALL };
static const char *const agg_texts[] = {"sum", "count", "min", "max", "avg", "p50"};

struct cell {
    uint64_t n;
    int64_t sum, min, max; /* in hundredths */
};

struct expected {
    struct cell cells[N_CELLS];
};
static struct expected want;

static inline size_t group_of(enum by by, unsigned i)
{
    return by == BY_DAY_HOST || by == BY_HOST ? i % N_HOSTS : by == BY_DAY_DOMAIN ? i / N_HOSTS : 0;
}

static inline size_t n_groups(enum by by)
{
    return by == BY_DAY_HOST || by == BY_HOST ? N_HOSTS : by == BY_DAY_DOMAIN ? N_SERIES / N_HOSTS : 1;
}

/* Compute the cells of the points from..to, in slots; host < 0: all. */
static inline void expect(enum by by, unsigned from, unsigned to, int host)
{
    memset(&want, 0, sizeof want);
    for (unsigned i = 0; i < N_SERIES; i++)
        for (unsigned s = from; s < to; s++) {
            size_t time = by == BY_HOUR ? s / 4 : by == BY_NOTHING || by == BY_HOST ? 0 : s / 96;
            struct cell *c = &want.cells[time * n_groups(by) + group_of(by, i)];
            int64_t v = decimal[i][s] ? value[i][s] : value[i][s] * 100;
            if (!has[i][s] || (host >= 0 && i % N_HOSTS != (unsigned)host))
                continue;
            c->min = c->n && c->min < v ? c->min : v;
            c->max = c->n && c->max > v ? c->max : v;
            c->sum += v;
            c->n++;
        }
}

struct seen {
    enum by by;
    enum agg agg;
    size_t at; /* next cell that is expected */
    const char *when;
};

static inline int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    struct seen *s = arg;
    (void)err;
    while (s->at < N_CELLS && !want.cells[s->at].n)
        s->at++;
    if (s->at == N_CELLS)
        fail_msg("%s: more cells than expected", s->when);
    const struct cell *c = &want.cells[s->at++];
    double is = t->is_int ? (double)t->i : t->d;
    double as = s->agg == AGG_SUM     ? (double)c->sum / 100
                : s->agg == AGG_COUNT ? (double)c->n
                : s->agg == AGG_MIN   ? (double)c->min / 100
                : s->agg == AGG_MAX   ? (double)c->max / 100
                                      : (double)c->sum / 100 / (double)c->n;
    if (s->agg < AGG_LAST &&
        (is - as > 1e-9 * (1 + (as < 0 ? -as : as)) || as - is > 1e-9 * (1 + (as < 0 ? -as : as))))
        fail_msg("%s: %s by '%s' cell %zu is %.17g, expected %.17g", s->when, agg_texts[s->agg],
                 by_texts[s->by], s->at - 1, is, as);
    return 0;
}

/* Ask, and compare. Returns how many hours kept totals answered. */
static inline uint64_t ask(enum by by, enum agg agg, unsigned from, unsigned to, int host, const char *when)
{
    char start[24], end[24], m[64], filter[24] = "";
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    struct ts_error err = {0};
    struct seen seen = {.by = by, .agg = agg, .when = when};
    snprintf(start, sizeof start, "%lldms", (T0_S + from * 900ll) * 1000);
    snprintf(end, sizeof end, "%lldms", (T0_S + to * 900ll) * 1000 - 1);
    if (host >= 0)
        snprintf(filter, sizeof filter, "{}{host=h%d}", host);
    snprintf(m, sizeof m, "%s:web.hits%s", agg_texts[agg], filter);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(m)},
                            {TS_SLICE_LIT("by"), ts_slice_str(by_texts[by])}};
    expect(by, from, to, host);
    ts_arena_init(&arena, 0);
    if (qry_parse_params(p, 4, (T0_S + 86400ll * 30) * 1000, false, &arena, &spec, &err) < 0 ||
        qry_totals(st, NULL, &spec, &limit, on_total, &seen, &err) < 0)
        fail_msg("%s: %s", when, err.text);
    while (seen.at < N_CELLS && !want.cells[seen.at].n)
        seen.at++;
    if (seen.at < N_CELLS)
        fail_msg("%s: %s by '%s': cell %zu is missing", when, agg_texts[agg], by_texts[by], seen.at);
    ts_arena_release(&arena);
    return limit.n_kept_hours;
}

static inline uint64_t ask_all(const char *when)
{
    return ask(BY_DAY, AGG_SUM, 0, SLOTS, -1, when);
}

#define ALL_HOURS (N_DAYS * 24)

#endif
