/*
 * bench_days.c - what totals over a long time cost: a year of hourly hits of 10,000 domains (87.6 million rows of an hour), and a week of
 * 1,000 series in steps of a minute.
 *
 *   bench_days make DIR [DOMAINS]      make the store, with files merged and day summaries of UTC
 *   bench_days run DIR ZONE KEPT [ANSWERS [NAME]]
 *                                      measure the queries that are worth it with the store's zone (those whose names begin with NAME);
 *                                      KEPT 1: with a kept total over domains. The answers go to the file ANSWERS
 *   bench_days json DOMAINS            the hits as JSON lines of VictoriaMetrics (/api/v1/import)
 *
 * days_rate.py does all this and compares with other programs.
 */
#include "query/query.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/total.h"
#include "tests/bench/bench_runs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T0_MS    1735689600000ll /* 2025-01-01 00:00 UTC */
#define HOURS    8760
#define REPEATS  11
#define FEW      3 /* repeats of a query that takes long: */
#define LONG_NS  10000000000ll
#define HOSTS    1000
#define WEEK_MS  (7 * TS_DAY_MS)
#define CPU_T0   (T0_MS + 30 * TS_DAY_MS)
#define WAIT_MS  50
#define MEMSTORE (1u << 30) /* few flushes: the files are merged in the end anyway */
#define PAGE_HRS                                                                                             \
    100 /* hours of a domain that are put one after the other, as a client does that catches up */

static struct sto_store *st;
static uint64_t n_out;
static FILE *answers;
static const char *naming; /* the query that is measured */
static bool by_tag;        /* its cells are of a tag */

static void check(int rc, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* Hits of a domain in an hour; days_rate.py has the same formula. */
static int64_t hits(int64_t domain, int64_t hour)
{
    return 1 + (domain * 31 + hour * 17 + hour * hour % 1009 * (domain % 7)) % (20000 / (domain + 1) + 10);
}

/* Hundredths. */
static int64_t load(int64_t host, int64_t minute)
{
    return (host * 37 + minute * 13 + minute * minute % 911) % 10000;
}

/* --- making --- */

static void put(const struct sto_series *s, int64_t t, struct ts_num v)
{
    struct sto_writer *writer = sto_writer(st, 0);
    int rc;
    while ((rc = sto_put(writer, s, t, v, false)) == TS_EBUSY || !sto_writer_ready(writer)) {
        struct pollfd pfd = {.fd = sto_writer_fd(writer), .events = POLLIN};
        sto_writer_turn(writer);
        poll(&pfd, 1, 1);
        if (rc == 0)
            return;
    }
    if (rc < 0)
        exit(1);
}

static const struct sto_series **series(const char *metric, const char *k, const char *prefix, unsigned n)
{
    const struct sto_series **out = ts_xmalloc(n * sizeof(*out));
    char text[100], value[40];
    struct ts_error err = {0};
    for (unsigned i = 0; i < n; i++) {
        snprintf(value, sizeof value, "%s%u", prefix, i);
        struct sto_tag_text tag = {ts_slice_str(k), ts_slice_str(value)};
        int len = snprintf(text, sizeof text, "%s %s=%s", metric, k, value);
        check(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)len},
                                 (uint32_t)strlen(metric), &tag, 1, true, &out[i], &err),
              &err);
    }
    return out;
}

static void open_store(const char *dir, const char *zone_name, bool create)
{
    struct ts_error err = {0};
    const struct ts_tz *zone = NULL;
    check(ts_tz_open(ts_slice_str(zone_name), &zone, &err), &err);
    ts_tz_set_default(zone);
    struct sto_opts opts = {.dir = dir,
                            .create = create,
                            .own_threads = true,
                            .wal_sync = STO_SYNC_NONE,
                            .memstore_bytes = MEMSTORE};
    check(sto_open(&opts, &st, &err), &err);
}

static void settle(void)
{
    struct ts_error err = {0};
    check(sto_flush(st, STO_LEVEL_COMPACT, &err), &err);
}

static int make(const char *dir, unsigned domains)
{
    struct ts_error err = {0};
    open_store(dir, "UTC", true);
    const struct sto_series **s = series("web.hits", "domain", "d", domains);
    for (int64_t h0 = 0; h0 < HOURS; h0 += PAGE_HRS)
        for (unsigned i = 0; i < domains; i++)
            for (int64_t h = h0; h < h0 + PAGE_HRS && h < HOURS; h++)
                put(s[i], T0_MS + h * TS_HOUR_MS, (struct ts_num){.m = hits(i, h)});
    ts_free(s);
    s = series("cpu.load", "host", "h", HOSTS);
    for (int64_t m = 0; m < WEEK_MS / 60000; m++)
        for (unsigned i = 0; i < HOSTS; i++)
            put(s[i], CPU_T0 + m * 60000, (struct ts_num){.m = load(i, m), .kind = TS_NUM_DEC, .exp = 2});
    ts_free(s);
    sto_writer_turn(sto_writer(st, 0));
    settle();
    check(sto_close(st, &err), &err);
    return 0;
}

static int print_json(unsigned domains)
{
    for (unsigned i = 0; i < domains; i++) {
        printf("{\"metric\":{\"__name__\":\"web_hits\",\"domain\":\"d%u\"},\"values\":[", i);
        for (int64_t h = 0; h < HOURS; h++)
            printf(h ? ",%lld" : "%lld", (long long)hits(i, h));
        printf("],\"timestamps\":[");
        for (int64_t h = 0; h < HOURS; h++)
            printf(h ? ",%lld" : "%lld", (long long)(T0_MS + h * TS_HOUR_MS));
        printf("]}\n");
    }
    return 0;
}

/* --- measuring --- */

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)err;
    for (size_t i = 0; i < s->n; i++) {
        n_out++;
        double d;
        memcpy(&d, &s->v[i], sizeof d);
        if (answers)
            fprintf(answers, "%s\t%lld\t\t%.17g\n", naming, (long long)s->ts_ms[i],
                    (s->is_int ? s->is_int[i] : s->all_int) ? (double)(int64_t)s->v[i] : d);
    }
    return 0;
}

static int on_head(void *arg, const struct qry_head *h, struct ts_error *err)
{
    (void)arg, (void)h, (void)err;
    return 0;
}

static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    (void)arg, (void)err;
    n_out++;
    struct ts_slice tag = by_tag ? t->tags[0] : TS_SLICE_LIT("");
    if (answers)
        fprintf(answers, "%s\t%lld\t%.*s\t%.17g\n", naming, by_tag ? 0 : (long long)t->ts_ms, (int)tag.n,
                tag.p, t->is_int ? (double)t->i : t->d);
    return 0;
}

struct query {
    const char *name, *m, *by, *zone; /* by NULL: no totals */
    int64_t from_ms, to_ms;
    const char *top;
};

static void ask(struct ts_pool *pool, const struct query *q, struct qry_limit *limit)
{
    char start[40], end[40];
    struct ts_error err = {0};
    struct ts_arena arena;
    struct qry_spec spec;
    snprintf(start, sizeof start, "%lldms", (long long)q->from_ms);
    snprintf(end, sizeof end, "%lldms", (long long)q->to_ms - 1);
    struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                            {TS_SLICE_LIT("end"), ts_slice_str(end)},
                            {TS_SLICE_LIT("m"), ts_slice_str(q->m)},
                            {TS_SLICE_LIT("timezone"), ts_slice_str(q->zone)},
                            {TS_SLICE_LIT("by"), ts_slice_str(q->by ? q->by : "")},
                            {TS_SLICE_LIT("top"), ts_slice_str(q->top ? q->top : "")}};
    n_out = 0;
    ts_arena_init(&arena, 0);
    check(qry_parse_params(p, q->top ? 6 : q->by ? 5 : 4, T0_MS, false, &arena, &spec, &err), &err);
    check(q->by ? qry_table(st, pool, &spec, limit, on_head, on_total, NULL, &err)
                : qry_run(st, pool, &spec, limit, on_series, NULL, &err),
          &err);
    ts_arena_release(&arena);
}

static void measure(struct ts_pool *pool, const struct query *q, FILE *to)
{
    int64_t ns[REPEATS], cpu = bench_cpu_ns();
    uint64_t points = 0;
    naming = q->name;
    by_tag = q->top != NULL;
    size_t n = 0;
    for (int64_t began = ts_clock_mono_ns(); n < REPEATS; n++) {
        struct qry_limit limit = {.max_points = UINT64_MAX};
        int64_t t = ts_clock_mono_ns();
        if (n >= FEW && t - began > LONG_NS)
            break;
        answers = n == 0 ? to : NULL;
        ask(pool, q, &limit);
        ns[n] = ts_clock_mono_ns() - t;
        points = limit.n_points;
    }
    cpu = (bench_cpu_ns() - cpu) / (int64_t)n;
    int64_t first = ns[0];
    qsort(ns, n, sizeof ns[0], bench_cmp_ns);
    printf("%-24s median_ms=%.3f min_ms=%.3f first_ms=%.3f cpu_ms=%.3f read=%llu out=%llu\n", q->name,
           (double)ns[n / 2] / 1e6, (double)ns[0] / 1e6, (double)first / 1e6, (double)cpu / 1e6,
           (unsigned long long)points, (unsigned long long)n_out);
    fflush(stdout);
}

static uint64_t n_waiting;
static void on_state(void *arg, const struct sto_total_row *row)
{
    (void)arg;
    n_waiting += row->state.n_waiting;
}

/* Declare the kept total, or remove it. */
static void set_kept(bool on)
{
    struct ts_error err = {0};
    struct ts_slice over = TS_SLICE_LIT("domain"), metric = TS_SLICE_LIT("web.hits");
    int rc =
        on ? sto_total_add(st, metric, &over, 1, NULL, &err) : sto_total_remove(st, metric, &over, 1, &err);
    if (rc != TS_EEXIST && rc != TS_ENOTFOUND)
        check(rc, &err);
    do {
        settle();
        n_waiting = 0;
        sto_total_each(st, on_state, NULL);
    } while (n_waiting && poll(NULL, 0, WAIT_MS) == 0);
}

static int run(const char *dir, const char *zone, bool kept, const char *file, const char *only)
{
    struct ts_error err = {0};
    const struct ts_tz *tz = NULL;
    check(ts_tz_open(ts_slice_str(zone), &tz, &err), &err);
    /* the year of the store's zone, and that of the data */
    const int64_t y0 = T0_MS - ts_tz_offset_ms(tz, T0_MS), end = T0_MS + HOURS * TS_HOUR_MS,
                  y1 = end - ts_tz_offset_ms(tz, end);
    const char *other = strcmp(zone, "UTC") ? "UTC" : "America/New_York";
    const struct query queries[] = {
        {"day totals", "sum:web.hits", "day", zone, y0, y1, NULL},
        {"month totals", "sum:web.hits", "month", zone, y0, y1, NULL},
        {"day totals, other zone", "sum:web.hits", "day", other, T0_MS, end, NULL},
        {"one domain by day", "sum:web.hits{domain=d77}", "day", zone, y0, y1, NULL},
        {"top 10 domains", "sum:web.hits", "domain", zone, y0, y1, "10"},
        {"1d-sum", "sum:1dc-sum:web.hits", NULL, zone, y0, y1, NULL},
        {"1000 series by day", "sum:1d-avg:cpu.load", NULL, "UTC", CPU_T0, CPU_T0 + WEEK_MS, NULL}};
    struct ts_pool *pool = ts_pool_new((unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1, "query");
    FILE *to = file && *file ? fopen(file, "w") : NULL;
    open_store(dir, zone, false);
    set_kept(kept);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (strncmp(queries[i].name, only, strlen(only)) == 0)
            measure(pool, &queries[i], to);
    if (to && fclose(to) != 0)
        return 1;
    check(sto_close(st, &err), &err);
    ts_pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "make") == 0)
        return make(argv[2], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10000);
    if (argc == 3 && strcmp(argv[1], "json") == 0)
        return print_json((unsigned)strtoul(argv[2], NULL, 10));
    if (argc >= 5 && strcmp(argv[1], "run") == 0)
        return run(argv[2], argv[3], argv[4][0] == '1', argc > 5 ? argv[5] : NULL, argc > 6 ? argv[6] : "");
    fprintf(stderr,
            "usage: bench_days make DIR [DOMAINS] | run DIR ZONE 0|1 [ANSWERS [NAME]] | json DOMAINS\n");
    return 2;
}
