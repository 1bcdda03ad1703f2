/*
 * bench_merge.c - what scans cost: rows of one file, of overlapping files, by points and by summaries, few
 * rows and many.
 *
 * Usage      bench_merge DIR      files are made in DIR and removed again
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/engine/merge/merge.h"

#define N_SERIES 10000
#define N_HOURS  6
#define STEP_MS  10000
#define N_WIDE   1000000 /* series with one point each */

static const char *dir;
static struct sto_series **series;

static void make_series(uint32_t n)
{
    series = ts_xmalloc(n * sizeof(struct sto_series *));
    for (uint32_t i = 0; i < n; i++) {
        series[i] = ts_xcalloc(1, sizeof(struct sto_series));
        series[i]->id = series[i]->local = i;
        series[i]->metric = 1;
    }
}

static void free_series(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ts_free(series[i]);
    ts_free(series);
}

/* Two decimals, walking, as a gauge does. */
static struct sto_point point(uint32_t s, int64_t ts_ms)
{
    int64_t v = (int64_t)(ts_hash_u64(s) % 9000) + (int64_t)(ts_hash_u64(s ^ (uint64_t)ts_ms) % 200);
    return (struct sto_point){.series = series[s],
                              .ts_ms = ts_ms,
                              .m = v,
                              .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false)};
}

/* Points of all series at one step into a memstore. */
static void fill(struct sto_mem *mem, uint32_t n, int64_t ts_ms)
{
    static struct sto_point batch[1024];
    for (uint32_t at = 0; at < n;) {
        uint32_t k = 0;
        for (; k < 1024 && at < n; k++, at++)
            batch[k] = point(at, ts_ms);
        sto_mem_apply(mem, batch, k);
    }
}

/* Rows of a merge; ends the program on errors. */
static uint64_t run(const char *name, const struct sto_scan_spec *spec, struct sto_sst **ssts, size_t n_ssts,
                    struct sto_mem *mem, struct sto_sst_writer *w)
{
    struct ts_error err = {0};
    struct sto_merge *m;
    struct sto_row row;
    uint64_t n_rows = 0;
    int64_t start = ts_clock_mono_ns();
    int rc = sto_merge_new(spec, ssts, n_ssts, &mem, mem != NULL, &m, &err);
    while (rc >= 0 && (rc = sto_merge_next(m, &row, &err)) == 1) {
        n_rows++;
        if (w)
            rc = sto_sst_write_row(w, &row.key, row.cells, &err);
    }
    if (rc < 0) {
        (void)fprintf(stderr, "%s: %s\n", name, err.text);
        exit(1);
    }
    double spent_ns = (double)(ts_clock_mono_ns() - start);
    uint64_t n_points = sto_merge_counts(m)->n_points;
    printf("%-44s %8" PRIu64 " rows %10" PRIu64 " points %8.2f ms %8.1f ns/row", name, n_rows, n_points,
           spent_ns / 1e6, spent_ns / (double)(n_rows ? n_rows : 1));
    if (n_points)
        printf(" %6.2f ns/point", spent_ns / (double)n_points);
    printf("\n");
    sto_merge_free(m);
    return n_rows;
}

/* A memstore becomes a file. */
static struct sto_sst *flush(const char *name, struct sto_mem *mem, uint64_t gen)
{
    struct ts_error err = {0};
    const struct sto_scan_spec all = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct sto_sst_writer *w;
    struct sto_sst_info info;
    struct sto_sst *sst;
    int rc = sto_sst_writer_new(ts_fs_real(), dir, gen, &w, &err);
    if (rc == 0) {
        run(name, &all, NULL, 0, mem, w);
        rc = sto_sst_writer_finish(w, gen, gen, &info, &err);
    }
    if (rc == 0)
        rc = sto_sst_open(ts_fs_real(), dir, NULL, &info, &sst, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    printf("%-44s %.3f bytes a point\n", "", (double)(info.t_bytes + info.s_bytes) / (double)info.n_points);
    sto_sst_unlink_later(sst, NULL);
    return sst;
}

static struct sto_scan_spec chosen(uint32_t first, uint32_t n, int64_t from_ms, int64_t to_ms)
{
    return (struct sto_scan_spec){.metric = 1,
                                  .series = (const struct sto_series *const *)series + first,
                                  .n_series = n,
                                  .from_ms = from_ms,
                                  .to_ms = to_ms,
                                  .final = true};
}

static void bench_dashboard(void)
{
    make_series(N_SERIES);
    struct sto_mem *mem = sto_mem_new(1, 0, (struct sto_shard_spread){1, 1, 1}),
                   *late = sto_mem_new(2, 0, (struct sto_shard_spread){1, 1, 1}),
                   *third = sto_mem_new(3, 0, (struct sto_shard_spread){1, 1, 1});
    const int64_t end = N_HOURS * TS_HOUR_MS;
    for (int64_t t = 0; t < end; t += STEP_MS)
        fill(t / STEP_MS % 50 == 7 ? late : mem, N_SERIES, t);
    for (int64_t t = 5000; t < end; t += 40 * STEP_MS)
        fill(third, N_SERIES, t);
    struct sto_sst *ssts[3] = {flush("flush", mem, 1), flush("flush, every 50th point", late, 2),
                               flush("flush, between", third, 3)};
    sto_mem_unref(mem);
    sto_mem_unref(third);
    uint8_t whole[N_HOURS];
    memset(whole, 1, sizeof(whole));
    struct sto_scan_spec spec = chosen(0, N_SERIES, 0, end - 1);
    for (int round = 0; round < 2; round++)
        run("10,000 series, 6 hours, one file", &spec, ssts, 1, NULL, NULL);
    run("the same and a memstore", &spec, ssts, 1, late, NULL);
    run("the same, two files", &spec, ssts, 2, NULL, NULL);
    run("the same, three files", &spec, ssts, 3, NULL, NULL);
    spec.whole_hours = whole;
    run("10,000 series, 6 hours, summaries", &spec, ssts, 1, NULL, NULL);
    spec = chosen(0, N_SERIES, end - TS_HOUR_MS, end - 1);
    run("10,000 series, the last hour", &spec, ssts, 1, NULL, NULL);
    spec = chosen(0, 1000, 0, end - 1);
    run("1,000 series, 6 hours", &spec, ssts, 1, NULL, NULL);
    spec = chosen(4711, 1, TS_HOUR_MS, 2 * TS_HOUR_MS - 1);
    for (int round = 0; round < 3; round++)
        run("one series, one hour", &spec, ssts, 1, NULL, NULL);
    sto_mem_unref(late);
    for (int i = 0; i < 3; i++)
        sto_sst_unref(ssts[i]);
    free_series(N_SERIES);
}

static void bench_wide(void)
{
    make_series(N_WIDE);
    struct sto_mem *mem = sto_mem_new(1, 0, (struct sto_shard_spread){1, 1, 1});
    fill(mem, N_WIDE, 1000);
    struct sto_sst *sst = flush("flush of a million rows", mem, 4);
    struct sto_scan_spec spec = chosen(0, N_WIDE, 0, TS_HOUR_MS - 1);
    run("a million series, one point, memstore", &spec, NULL, 0, mem, NULL);
    run("a million series, one point, file", &spec, &sst, 1, NULL, NULL);
    const struct sto_series **every = ts_xmalloc(N_WIDE / 50 * sizeof(*every));
    for (uint32_t i = 0; i < N_WIDE / 50; i++)
        every[i] = series[i * 50];
    spec.series = every;
    spec.n_series = N_WIDE / 50;
    run("every 50th of them, file", &spec, &sst, 1, NULL, NULL);
    ts_free(every);
    sto_sst_unref(sst);
    sto_mem_unref(mem);
    free_series(N_WIDE);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_merge DIR\n");
        return 2;
    }
    dir = argv[1];
    bench_dashboard();
    bench_wide();
    return 0;
}
