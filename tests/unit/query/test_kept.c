/*
 * test_kept.c - totals of queries are the same with kept totals and without, whatever happens to the points, and kept totals answer the hours that they should.
 */
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

static uint64_t rnd(uint64_t n)
{
    return t_random(&rnd_state) % n;
}

/* --- the store --- */

static void open_store(void)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = true,
                            .day_rows = 1,
                            .merge_memory_bytes = merge_bytes,
                            .wal_sync = STO_SYNC_NONE,
                            .no_background = true};
    if (sto_open(&opts, &st, &err) < 0)
        fail_msg("%s", err.text);
}

static void settle(enum sto_level level)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("%s", err.text);
}

static void reopen(void)
{
    settle(STO_LEVEL_LOG);
    assert_int_equal(sto_close(st, NULL), 0);
    open_store();
}

static const struct sto_series *series(const char *metric, unsigned i)
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

static void put(unsigned i, unsigned slot, int64_t v, bool dec)
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

static void put_other(unsigned i, unsigned slot)
{
    struct sto_writer *writer = sto_writer(st, 0);
    while (sto_put(writer, series("web.bytes", i), (T0_S + slot * 900ll) * 1000, (struct ts_num){.m = 7},
                   false) == TS_EBUSY)
        sto_writer_turn(writer);
}

static void delete (unsigned i, unsigned from, unsigned n)
{
    struct sto_writer *writer = sto_writer(st, 0);
    assert_int_equal(sto_delete(writer, series("web.hits", i), (T0_S + from * 900ll) * 1000,
                                (T0_S + (from + n) * 900ll) * 1000 - 1),
                     0);
    for (unsigned s = from; s < from + n && s < SLOTS; s++)
        has[i][s] = false;
}

static void fill(bool decimals)
{
    for (unsigned s = 0; s < SLOTS; s++)
        for (unsigned i = 0; i < N_SERIES; i++) {
            if (rnd(4))
                put(i, s, (int64_t)rnd(1000) - 200 + more, decimals);
            if (i % 7 == 0)
                put_other(i, s);
        }
}

static int declare(const char *a, const char *b)
{
    struct ts_slice over[2] = {ts_slice_str(a), ts_slice_str(b ? b : "")};
    return sto_total_add(st, (struct ts_slice)TS_SLICE_LIT("web.hits"), over, b ? 2 : 1, NULL, NULL);
}

static int undeclare(const char *a)
{
    struct ts_slice over = ts_slice_str(a);
    return sto_total_remove(st, (struct ts_slice)TS_SLICE_LIT("web.hits"), &over, 1, NULL);
}

static int setup(void **state)
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

static int teardown(void **state)
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

static size_t group_of(enum by by, unsigned i)
{
    return by == BY_DAY_HOST || by == BY_HOST ? i % N_HOSTS : by == BY_DAY_DOMAIN ? i / N_HOSTS : 0;
}

static size_t n_groups(enum by by)
{
    return by == BY_DAY_HOST || by == BY_HOST ? N_HOSTS : by == BY_DAY_DOMAIN ? N_SERIES / N_HOSTS : 1;
}

/* Compute the cells of the points from..to, in slots; host < 0: all. */
static void expect(enum by by, unsigned from, unsigned to, int host)
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

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
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
static uint64_t ask(enum by by, enum agg agg, unsigned from, unsigned to, int host, const char *when)
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

static uint64_t ask_all(const char *when)
{
    return ask(BY_DAY, AGG_SUM, 0, SLOTS, -1, when);
}

/* --- tests --- */

#define ALL_HOURS (N_DAYS * 24)

static void test_kept__totals_answer_whole_hours(void **state)
{
    (void)state;
    fill(false);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("without"), 0);
    assert_int_equal(declare("domain", NULL), 0);
    assert_int_equal(declare("domain", NULL), TS_EEXIST);
    assert_int_equal(ask_all("before they are made"), 0);
    settle(STO_LEVEL_COMPACT);
    for (unsigned agg = 0; agg < AGG_LAST; agg++)
        for (unsigned by = 0; by < BY_DAY_DOMAIN; by++)
            assert_int_equal(ask(by, agg, 0, SLOTS, -1, "with"), ALL_HOURS);
    assert_int_equal(ask(BY_DAY, AGG_SUM, 1, SLOTS - 1, 1, "edges by points, one host"), ALL_HOURS - 2);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "by a key of the total"), 0);
    reopen();
    assert_int_equal(ask_all("after a start"), ALL_HOURS);
}

static void test_kept__other_points_and_deletes_close_their_hours(void **state)
{
    (void)state;
    fill(true);
    assert_int_equal(declare("domain", "kind"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("at rest"), ALL_HOURS);
    put(4, 4 * 30 + 1, 17, true); /* over an old value, or between others */
    put(5, 4 * 100, 18, true);
    delete (6, 4 * 50 + 2, 4);
    settle(STO_LEVEL_LOG);
    assert_int_equal(ask_all("in memory"), ALL_HOURS - 2 - 2);
    assert_int_equal(ask(BY_DAY_HOST, AGG_AVG, 0, SLOTS, -1, "in memory"), ALL_HOURS - 4);
    settle(STO_LEVEL_FILES); /* of that file nothing is known but its first and its last point */
    assert_int_equal(ask_all("in a file"), ALL_HOURS - (100 - 30 + 1));
    assert_int_equal(ask(BY_DAY_HOST, AGG_AVG, 0, SLOTS, -1, "in a file"), ALL_HOURS - 71);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("merged"), ALL_HOURS);
    put_other(3, 4 * 30); /* of another metric */
    settle(STO_LEVEL_LOG);
    assert_int_equal(ask_all("others"), ALL_HOURS);
}

/* An hour in which integers and decimals are mixed has no total. */
static void test_kept__mixed_hours_are_read(void **state)
{
    (void)state;
    fill(false);
    put(7, 4 * 20 + 3, 250, true);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("mixed"), ALL_HOURS - 1);
    assert_int_equal(ask(BY_DAY_HOST, AGG_MAX, 0, SLOTS, -1, "mixed"), ALL_HOURS - 1);
}

static void test_kept__what_they_do_not_say_is_read(void **state)
{
    (void)state;
    fill(false);
    assert_int_equal(declare("host", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY, AGG_SUM, 0, SLOTS, 2, "a filter of its key"), 0);
    assert_int_equal(ask(BY_HOST, AGG_SUM, 0, SLOTS, -1, "by its key"), 0);
    assert_int_equal(ask(BY_DAY, AGG_LAST, 0, SLOTS, -1, "an aggregator of all points"), 0);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "by another"), ALL_HOURS);
    assert_int_equal(declare("domain", "host"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("the one with fewer groups"), ALL_HOURS);
    assert_int_equal(undeclare("host"), 0);
    assert_int_equal(undeclare("host"), TS_ENOTFOUND);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "removed"), 0);
    settle(STO_LEVEL_COMPACT);
    reopen();
    assert_int_equal(declare("host", NULL), 0); /* another number */
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "declared anew"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "made anew"), ALL_HOURS);
}

/* Points of one host expire after five days: hours in which some have expired are read. */
static void test_kept__expired_points_are_in_no_answer(void **state)
{
    struct ts_error err = {0};
    const struct sto_retain_call call = {.what = STO_RETAIN_ADD,
                                         .text = TS_SLICE_LIT("web.hits host=h1 points=5d\n")};
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    ts_clock_set_fake((T0_S + N_DAYS * 86400ll) * 1000);
    if (sto_retain(st, &call, &err) < 0)
        fail_msg("%s", err.text);
    for (unsigned i = 1; i < N_SERIES; i += N_HOSTS)
        for (unsigned slot = 0; slot < (N_DAYS - 5) * 96; slot++)
            has[i][slot] = false;
    assert_int_equal(ask_all("expired"), 5 * 24);
    assert_int_equal(ask(BY_DAY_HOST, AGG_SUM, 0, SLOTS, 2, "another host"), ALL_HOURS);
    settle(STO_LEVEL_COMPACT);
    (void)ask_all("removed");
    ts_clock_set_fake(0);
}

/* Thirty groups, of which memory holds two or three at a time. */
static void test_kept__groups_are_added_up_in_passes(void **state)
{
    (void)state;
    assert_int_equal(sto_close(st, NULL), 0);
    merge_bytes = 100000;
    open_store();
    fill(false);
    assert_int_equal(declare("kind", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask(BY_DAY_DOMAIN, AGG_SUM, 0, SLOTS, -1, "in passes"), ALL_HOURS);
    assert_int_equal(ask(BY_DAY_HOST, AGG_MIN, 0, SLOTS, 1, "in passes"), ALL_HOURS);
}

/* A folder that was copied over another one: the total is of a file with the same number and counts. */
static void test_kept__totals_of_other_rows_are_not_used(void **state)
{
    char path[T_FOLDER_BYTES + 40], name[40] = "";
    struct ts_error err = {0};
    char *bytes = NULL;
    size_t n = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(declare("domain", NULL), 0);
        fill(false);
        settle(STO_LEVEL_COMPACT);
        assert_int_equal(ask_all("own"), ALL_HOURS);
        struct sto_total_ids ids[STO_TOTALS_MAX];
        assert_int_equal(sto_total_list(st, ids), 1);
        assert_int_equal(sto_close(st, NULL), 0);
        for (unsigned no = 1; k == 0 && !bytes && no < 40; no++) {
            snprintf(name, sizeof name, "%08x.g%u", no, ids[0].no);
            snprintf(path, sizeof path, "%s/files/%s", dir, name);
            (void)ts_fs_read_file(ts_fs_real(), path, 1 << 20, &bytes, &n, &err);
        }
        assert_non_null(bytes);
        if (k)
            break;
        assert_int_equal(t_folder_remove(dir), 0);
        t_folder_make(dir);
        memset(has, 0, sizeof has);
        rnd_state = 88172645463325252ull;
        more = 1;
        open_store();
    }
    snprintf(path, sizeof path, "%s/files/%s", dir, name);
    assert_int_equal(ts_fs_write_atomic(ts_fs_real(), path, bytes, n, &err), 0);
    ts_free(bytes);
    open_store();
    assert_int_equal(ask_all("another's"), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("made anew"), ALL_HOURS);
}

static int on_count(void *arg, const struct qry_total *t, struct ts_error *err)
{
    unsigned *n = arg;
    (void)err;
    assert_int_equal(t->i, 5 * 96); /* web.bytes has five series */
    ++*n;
    return 0;
}

/* Points by day of what is called web.hits now, and was called web.bytes. Returns how many hours kept totals answered. */
static uint64_t count_renamed(void)
{
    struct qry_param p[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1499990400")},
                            {TS_SLICE_LIT("end"), TS_SLICE_LIT("1501027199")},
                            {TS_SLICE_LIT("m"), TS_SLICE_LIT("count:web.hits")},
                            {TS_SLICE_LIT("by"), TS_SLICE_LIT("day")}};
    struct ts_arena arena;
    struct qry_spec spec;
    struct qry_limit limit = {0};
    unsigned n = 0;
    ts_arena_init(&arena, 0);
    assert_int_equal(qry_parse_params(p, 4, (T0_S + 86400ll * 30) * 1000, false, &arena, &spec, NULL), 0);
    assert_int_equal(qry_totals(st, NULL, &spec, &limit, on_count, &n, NULL), 0);
    assert_int_equal(n, N_DAYS);
    ts_arena_release(&arena);
    return limit.n_kept_hours;
}

/* A total is declared by names: when another metric takes its name, what was made of the first one is of no use. */
static void test_kept__another_metric_takes_the_name(void **state)
{
    struct sto_catalog *catalog = sto_store_catalog(st);
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(ask_all("at rest"), ALL_HOURS);
    assert_int_equal(sto_uid_rename(catalog, STO_UID_METRIC, (struct ts_slice)TS_SLICE_LIT("web.hits"),
                                    (struct ts_slice)TS_SLICE_LIT("web.old"), NULL),
                     0);
    assert_int_equal(sto_uid_rename(catalog, STO_UID_METRIC, (struct ts_slice)TS_SLICE_LIT("web.bytes"),
                                    (struct ts_slice)TS_SLICE_LIT("web.hits"), NULL),
                     0);
    assert_int_equal(count_renamed(), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(count_renamed(), ALL_HOURS);
    reopen();
    assert_int_equal(count_renamed(), ALL_HOURS);
}

/* The record of a merge cannot be read when a total is no longer declared: its file goes, and the points that it is of stay. */
static void test_kept__old_totals_beside_an_unreadable_merge(void **state)
{
    char path[T_FOLDER_BYTES + 20];
    (void)state;
    fill(false);
    assert_int_equal(declare("domain", NULL), 0);
    settle(STO_LEVEL_COMPACT);
    assert_int_equal(undeclare("domain"), 0);
    assert_int_equal(sto_close(st, NULL), 0);
    snprintf(path, sizeof path, "%s/MERGE", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    open_store();
    assert_int_equal(ask_all("opened"), 0);
    assert_int_equal(sto_close(st, NULL), 0);
    assert_int_equal(rmdir(path), 0);
    open_store();
    assert_int_equal(ask_all("opened again"), 0);
}

/* A random change of the points. */
static void change(void)
{
    unsigned from = (unsigned)rnd(SLOTS), n = 1 + (unsigned)rnd(rnd(3) ? 30 : SLOTS);
    bool dec = rnd(6) == 0;
    if (rnd(4) == 0) {
        for (unsigned k = 0; k < 3; k++)
            delete ((unsigned)rnd(N_SERIES), from, (unsigned)rnd(40) + 1);
        return;
    }
    unsigned first = (unsigned)rnd(N_SERIES), many = 1 + (unsigned)rnd(N_SERIES);
    for (unsigned s = from; s < from + n && s < SLOTS; s++)
        for (unsigned i = first; i < first + many && i < N_SERIES; i++)
            if (rnd(3))
                put(i, s, (int64_t)rnd(100000) - 20000, dec);
}

static void test_kept__random_histories(void **state)
{
    static const enum sto_level levels[] = {STO_LEVEL_LOG, STO_LEVEL_FILES, STO_LEVEL_COMPACT};
    uint64_t n_kept = 0;
    (void)state;
    for (unsigned step = 0; step < 120; step++) {
        char when[40];
        snprintf(when, sizeof when, "step %u", step);
        change();
        settle(levels[rnd(3)]);
        if (rnd(12) == 0)
            reopen();
        if (rnd(8) == 0)
            (void)declare(rnd(2) ? "domain" : "kind", rnd(2) ? "host" : NULL);
        if (rnd(20) == 0)
            (void)undeclare("domain");
        for (int k = 0; k < 4; k++) {
            unsigned from = rnd(3) ? 0 : (unsigned)rnd(SLOTS), to = rnd(3) ? SLOTS : (unsigned)rnd(SLOTS) + 1;
            enum by by = (enum by)rnd(BY_COUNT);
            if (from < to)
                n_kept += ask(by, (enum agg)rnd(AGG_LAST), from, to, rnd(3) ? -1 : (int)rnd(N_HOSTS), when);
        }
    }
    assert_true(n_kept > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept__totals_answer_whole_hours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__other_points_and_deletes_close_their_hours, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_kept__mixed_hours_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__what_they_do_not_say_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__expired_points_are_in_no_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__groups_are_added_up_in_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__totals_of_other_rows_are_not_used, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__another_metric_takes_the_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__old_totals_beside_an_unreadable_merge, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept__random_histories, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
