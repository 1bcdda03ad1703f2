/*
 * bench_query.c - what queries cost: a store of N series x 6 h in steps of 10 s (two decimals) and sparse
 * hits of 500 domains over 72 h, then each query 20 times; the median in ms, and the CPU time of all threads.
 *
 *   bench_query [series] [threads] [name]      default 1000 series, as many threads as cores, all queries
 */
#include "query/query.h"

#include "base/mem.h"
#include "tests/bench/bench_runs.h"
#include "tests/unit/t_random.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T0_MS   1451606400000ll
#define STEP_MS 10000
#define HOURS   6
#define REPEATS 20
#define DOMAINS 500
#define HITS    7300000 / 10 /* a tenth of the bench's hits: as many hour rows */

static struct sto_store *st;
static uint64_t rnd_state = 88172645463325252ull;
static uint64_t n_out;        /* points, rows */
static const char *only = ""; /* run queries whose names begin with this */

static uint64_t rnd(void)
{
    return t_random(&rnd_state);
}

static void check(int rc, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

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

static const struct sto_series *series(const char *metric, const char *k, const char *v)
{
    char text[100];
    struct ts_error err = {0};
    const struct sto_series *s;
    struct sto_tag_text tag = {ts_slice_str(k), ts_slice_str(v)};
    int n = snprintf(text, sizeof text, "%s %s=%s", metric, k, v);
    check(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                             (uint32_t)strlen(metric), &tag, 1, true, &s, &err),
          &err);
    return s;
}

static void fill(unsigned n_series)
{
    struct ts_error err = {0};
    const struct sto_series **s = ts_xmalloc((n_series + DOMAINS) * sizeof(*s));
    char name[40];
    for (unsigned i = 0; i < n_series; i++) {
        snprintf(name, sizeof name, "host_%u", i);
        s[i] = series("cpu", "hostname", name);
    }
    for (int64_t t = 0; t < HOURS * TS_HOUR_MS; t += STEP_MS)
        for (unsigned i = 0; i < n_series; i++)
            put(s[i], T0_MS + t,
                (struct ts_num){.m = (int64_t)(rnd() % 10000), .kind = TS_NUM_DEC, .exp = 2});
    for (unsigned i = 0; i < DOMAINS; i++) {
        snprintf(name, sizeof name, "site%03u.example", i);
        s[i] = series("hits", "domain", name);
    }
    for (int64_t k = 0; k < HITS; k++) {
        unsigned i = (unsigned)(rnd() % DOMAINS * (rnd() % DOMAINS) / DOMAINS);
        put(s[i], T0_MS + k * 72 * TS_HOUR_MS / (HITS) / 1000 * 1000, (struct ts_num){.m = 1});
    }
    sto_writer_turn(sto_writer(st, 0));
    check(sto_flush(st, STO_LEVEL_COMPACT, &err), &err);
    ts_free(s);
}

static int on_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)err;
    n_out += s->n;
    return 0;
}
static int on_total(void *arg, const struct qry_total *t, struct ts_error *err)
{
    (void)arg, (void)err, (void)t;
    n_out++;
    return 0;
}
static int on_last(void *arg, const struct qry_last *t, struct ts_error *err)
{
    (void)arg, (void)err, (void)t;
    n_out++;
    return 0;
}

/* m of /api/query, or "by KEYS", or "last". */
static void run(struct ts_pool *pool, const char *name, const char *m, const char *by, int64_t from_h,
                int64_t to_h)
{
    char start[40], end[40];
    struct ts_error err = {0};
    int64_t ns[200];
    uint64_t points = 0;
    int64_t cpu = bench_cpu_ns();
    if (strncmp(name, only, strlen(only)) != 0)
        return;
    snprintf(start, sizeof start, "%lldms", (long long)(T0_MS + from_h * TS_HOUR_MS));
    snprintf(end, sizeof end, "%lldms", (long long)(T0_MS + to_h * TS_HOUR_MS - 1000));
    for (int r = 0; r < REPEATS; r++) {
        struct ts_arena arena;
        struct qry_spec spec;
        struct qry_limit limit = {.max_points = UINT64_MAX};
        struct qry_param p[] = {{TS_SLICE_LIT("start"), ts_slice_str(start)},
                                {TS_SLICE_LIT("end"), ts_slice_str(end)},
                                {TS_SLICE_LIT("m"), ts_slice_str(m)},
                                {TS_SLICE_LIT("by"), ts_slice_str(by ? by : "")}};
        int64_t t = ts_clock_mono_ns();
        n_out = 0;
        ts_arena_init(&arena, 0);
        if (strncmp(name, "last", 4) == 0) {
            check(qry_run_last(st, pool,
                               &(struct qry_last_request){.timeseries = ts_slice_str(m), .now_ms = T0_MS},
                               &limit, on_last, NULL, &err),
                  &err);
        } else {
            check(qry_parse_params(p, by ? 4 : 3, T0_MS, false, &arena, &spec, &err), &err);
            check(by ? qry_totals(st, pool, &spec, &limit, on_total, NULL, &err)
                     : qry_run(st, pool, &spec, &limit, on_series, NULL, &err),
                  &err);
        }
        ts_arena_release(&arena);
        ns[r] = ts_clock_mono_ns() - t;
        points = limit.n_points;
    }
    cpu = (bench_cpu_ns() - cpu) / REPEATS;
    qsort(ns, REPEATS, sizeof ns[0], bench_cmp_ns);
    printf("%-28s %9.3f ms %9.3f cpu-ms %10llu read %8llu out %8.2f cpu-ns/read\n", name,
           (double)ns[REPEATS / 2] / 1e6, (double)cpu / 1e6, (unsigned long long)points,
           (unsigned long long)n_out, (double)cpu / (double)(points ? points : 1));
}

int main(int argc, char **argv)
{
    unsigned n_series = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    unsigned n_threads =
        argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    only = argc > 3 ? argv[3] : "";
    char dir[] = "/tmp/bench_query.XXXXXX", rm[100];
    struct ts_error err = {0};
    struct ts_pool *pool = n_threads > 1 ? ts_pool_new(n_threads - 1, "query") : NULL;
    if (!mkdtemp(dir))
        return 1;
    struct sto_opts opts = {.dir = dir, .create = true, .own_threads = true, .wal_sync = STO_SYNC_NONE};
    check(sto_open(&opts, &st, &err), &err);
    fill(n_series);
    run(pool, "q1 one series 1 h raw", "none:cpu{hostname=host_12}", NULL, 1, 2);
    run(pool, "q2 8 hosts max 1m 1 h",
        "max:1m-max:cpu{}{hostname=host_1|host_2|host_3|host_4|host_5|host_6|host_7|host_8}", NULL, 1, 2);
    run(pool, "q3 avg 1h by host", "avg:1h-avg:cpu{hostname=*}", NULL, 0, HOURS);
    run(pool, "q5 max 1m all", "max:1m-max:cpu", NULL, 0, HOURS);
    run(pool, "sum 1m all", "sum:1m-sum:cpu", NULL, 0, HOURS);
    run(pool, "avg 1m all", "avg:1m-avg:cpu", NULL, 0, HOURS);
    run(pool, "p95 5m-p95 all", "p95:5m-p95:cpu", NULL, 0, HOURS);
    run(pool, "sum rate 1m all", "sum:1m-max:rate:cpu", NULL, 0, HOURS);
    run(pool, "sum raw all", "sum:cpu", NULL, 0, HOURS);
    run(pool, "max raw all", "max:cpu", NULL, 0, HOURS);
    run(pool, "last point by host", "cpu", NULL, 0, HOURS);
    run(pool, "hits 1d-sum", "sum:1d-sum:hits", NULL, 0, 72);
    run(pool, "hits 1h-sum by domain", "sum:1h-sum:hits{domain=*}", NULL, 0, 72);
    run(pool, "totals by day", "sum:hits", "day", 0, 72);
    run(pool, "totals by hour", "sum:hits", "hour", 0, 72);
    run(pool, "totals by hour and domain", "sum:hits", "hour,domain", 0, 72);
    run(pool, "totals p95 by hour, domain", "p95:hits", "hour,domain", 0, 72);
    check(sto_close(st, &err), &err);
    ts_pool_free(pool);
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) ? 1 : 0;
}
