/*
 * bench_memstore.c - what a point costs in a memstore: time to append, memory, time to read rows and to scan
 * them.
 *
 * Usage      bench_memstore [n_series [n_rounds]]     default 10,000 series, 1,000 points each, round robin
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/engine/merge/merge.h"

#define BATCH   4096
#define STEP_MS 10000

/* All series of a run. */
struct bench_set {
    struct sto_series **series; /* in order of id */
    uint32_t *order;            /* order in which the sender names them */
    uint32_t n;                 /* series */
};

/* Like the catalog: one allocation a series, with its text. Senders name them in another order than they were
 * made. */
static struct bench_set make_set(uint32_t n)
{
    struct bench_set set = {.n = n};
    set.series = ts_xmalloc(n * sizeof(struct sto_series *));
    set.order = ts_xmalloc(n * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        struct sto_series *s = ts_xcalloc(1, sizeof(*s) + 2 * sizeof(struct sto_tag) + 64);
        s->id = s->local = i;
        s->metric = 1;
        set.series[i] = s;
        set.order[i] = i;
    }
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)(ts_hash_u64(i) % i), t = set.order[i - 1];
        set.order[i - 1] = set.order[j];
        set.order[j] = t;
    }
    return set;
}

static void free_set(struct bench_set *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        ts_free(set->series[i]);
    ts_free(set->series);
    ts_free(set->order);
}

/* All rows in key order, as a flush reads them, or rows of all series of the set, as a query does. */
static void bench_scan(const struct bench_set *set, struct sto_mem *mem, bool chosen)
{
    const struct sto_scan_spec spec = {.metric = 1,
                                       .series =
                                           chosen ? (const struct sto_series *const *)set->series : NULL,
                                       .n_series = set->n,
                                       .from_ms = STO_MIN_TS_MS,
                                       .to_ms = STO_MAX_TS_MS,
                                       .final = chosen};
    struct sto_merge *merge;
    struct sto_row row;
    uint64_t n_rows = 0, n_cells = 0;
    int64_t start = ts_clock_mono_ns();
    if (sto_merge_new(&spec, NULL, 0, &mem, 1, &merge, NULL) < 0)
        return;
    while (sto_merge_next(merge, &row, NULL) == 1) {
        n_rows++;
        n_cells += row.cells->n;
    }
    sto_merge_free(merge);
    double spent_ns = (double)(ts_clock_mono_ns() - start);
    printf("%-24s %9" PRIu64 " cells   %6.2f ns/cell  %8.1f ns/row\n",
           chosen ? "  scan of chosen" : "  scan of all", n_cells, spent_ns / (double)n_cells,
           spent_ns / (double)n_rows);
}

/* Rounds of one point for each series; late: every fourth point is 175 s behind. */
static void bench_apply(const struct bench_set *set, uint32_t rounds, bool late, const char *name)
{
    struct sto_mem *mem = sto_mem_new(1, 0, (struct sto_shard_spread){1, 1, 1});
    struct sto_point *batch = ts_xmalloc(BATCH * sizeof(*batch));
    int64_t spent_ns = 0;
    size_t fill = 0;
    uint64_t n_points = 0;
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < set->n; i++) {
            bool behind = late && (i + r) % 4 == 0;
            batch[fill++] =
                (struct sto_point){.series = set->series[set->order[i]],
                                   .ts_ms = 1700000000000ll + (int64_t)r * STEP_MS - (behind ? 175000 : 0),
                                   .m = r,
                                   .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false)};
            if (fill < BATCH && !(r == rounds - 1 && i == set->n - 1))
                continue;
            int64_t start = ts_clock_mono_ns();
            sto_mem_apply(mem, batch, fill);
            spent_ns += ts_clock_mono_ns() - start;
            n_points += fill;
            fill = 0;
        }
    }
    printf("%-24s %9" PRIu64 " points  %6.2f ns/point  %6.1f bytes/point\n", name, n_points,
           (double)spent_ns / (double)n_points, (double)sto_mem_bytes(mem) / (double)n_points);

    struct sto_cells cells = {0};
    uint64_t n_cells = 0;
    int64_t start = ts_clock_mono_ns();
    for (uint32_t id = 0; id < set->n; id++) {
        for (const struct sto_mem_row *row = sto_mem_rows(mem, set->series[id]); row;
             row = sto_mem_row_next(row)) {
            sto_mem_row_read(row, &cells);
            n_cells += cells.n;
        }
    }
    printf("%-24s %9" PRIu64 " cells   %6.2f ns/cell\n", "  read", n_cells,
           (double)(ts_clock_mono_ns() - start) / (double)n_cells);
    sto_cells_release(&cells);
    bench_scan(set, mem, false);
    bench_scan(set, mem, true);
    ts_free(batch);
    sto_mem_unref(mem);
}

int main(int argc, char **argv)
{
    uint32_t n_series = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;
    struct bench_set set = make_set(n_series);
    bench_apply(&set, rounds, false, "round robin");
    bench_apply(&set, rounds, true, "a quarter late");
    free_set(&set);
    set = make_set(1000000);
    bench_apply(&set, 1, false, "1 M new series");
    free_set(&set);
    return 0;
}
