/*
 * bench_wal.c - cost of the write-ahead log without the disk: ns and bytes a point for a few patterns.
 *
 * The file system throws writes away, or keeps them for the replay. Run by hand: bench_wal [rounds]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "storage/batch.h"
#include "storage/engine/log/wal.h"

#define N_SERIES 10000u
#define DIR_NAME "w"

/* --- a file system that holds one kept file, or none --- */

struct ts_file {
    char *p;       /* bytes kept; NULL = thrown away */
    size_t n, cap; /* used, room */
    char name[80]; /* of the segment */
};
static struct ts_file files[64];
static size_t n_files;
static bool keep;

static int b_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out,
                  struct ts_error *err)
{
    (void)fs;
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; how == TS_OPEN_READ && i < n_files; i++)
        if (strcmp(files[i].name, name) == 0) {
            *out = &files[i];
            return 0;
        }
    if (n_files == sizeof(files) / sizeof(files[0]))
        return ts_error_set(err, TS_ELIMIT, "too many segments");
    *out = &files[n_files++];
    snprintf((*out)->name, sizeof((*out)->name), "%s", name);
    return 0;
}

static int b_append(struct ts_file *f, const void *p, size_t n, struct ts_error *err)
{
    (void)err;
    if (!keep)
        return 0;
    if (f->cap - f->n < n) {
        f->cap = 2 * (f->cap + n);
        f->p = ts_xrealloc(f->p, f->cap);
    }
    memcpy(f->p + f->n, p, n);
    f->n += n;
    return 0;
}

static int b_pread(struct ts_file *f, void *p, size_t n, uint64_t off, size_t *out_n, struct ts_error *err)
{
    (void)err;
    *out_n = off < f->n ? f->n - (size_t)off : 0;
    *out_n = *out_n < n ? *out_n : n;
    memcpy(p, f->p + off, *out_n);
    return 0;
}

static int b_list(const struct ts_fs *fs, const char *path, int (*each)(void *arg, const char *name),
                  void *arg, struct ts_error *err)
{
    (void)fs, (void)path, (void)err;
    for (size_t i = 0; i < n_files; i++)
        TS_TRY(each(arg, files[i].name));
    return 0;
}

static int b_size(struct ts_file *f, uint64_t *out, struct ts_error *err)
{
    (void)err;
    *out = f->n;
    return 0;
}

static int b_file(struct ts_file *f, struct ts_error *err)
{
    (void)f, (void)err;
    return 0;
}

static int b_path(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs, (void)path, (void)err;
    return 0;
}

static const struct ts_fs bench_fs = {.open = b_open,
                                      .close = b_file,
                                      .append = b_append,
                                      .pread = b_pread,
                                      .sync = b_file,
                                      .size = b_size,
                                      .unlink = b_path,
                                      .sync_dir = b_path,
                                      .list = b_list};

/* --- patterns --- */

enum pattern { ROUND_ROBIN, INTEGERS, SHARDS, MIXED, DOUBLES, ONE_SERIES, RANDOM };
static const char *const names[] = {"round robin, two decimals",
                                    "round robin, small integers",
                                    "by shard, two decimals",
                                    "two decimals, trailing zeros cut",
                                    "raw doubles",
                                    "one series after the other",
                                    "random series and time"};
static struct sto_series *series[N_SERIES];
static uint64_t rand_state = 1;

static uint64_t next_rand(void)
{
    return ts_hash_u64(rand_state += 0x9e3779b97f4a7c15ull);
}

static struct sto_point point_of(enum pattern pattern, size_t i)
{
    uint64_t r = next_rand();
    struct sto_point p = {.series = series[i % N_SERIES],
                          .ts_ms = 1600000000000 + (int64_t)(i / N_SERIES) * 10000,
                          .m = (int64_t)(r % 10000),
                          .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false)};
    if (pattern == INTEGERS || pattern == ONE_SERIES)
        p.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    if (pattern == INTEGERS)
        p.m %= 100;
    if (pattern == SHARDS) /* a sixteenth of the series after the other, in an order of its own */
        p.series = series[(i % 625 * 7919 % 625) * 16 + i / 625 % 16];
    if (pattern == MIXED && p.m % 10 == 0) {
        bool two = p.m % 100 == 0;
        p.m /= two ? 100 : 10;
        p.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, two ? 0 : 1, false);
    }
    if (pattern == DOUBLES) {
        p.m = (int64_t)(0x3ff0000000000000ull | r >> 12);
        p.flags = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, false);
    }
    if (pattern == ONE_SERIES) {
        p.series = series[i / 1000 % N_SERIES];
        p.ts_ms = 1600000000000 + (int64_t)(i % 1000) * 60000;
    }
    if (pattern == RANDOM) {
        p.series = series[next_rand() % N_SERIES];
        p.ts_ms += (int64_t)(next_rand() % 60000);
        p.flags |= STO_META_MS;
    }
    return p;
}

static const struct sto_series *on_series(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                          size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                          struct ts_error *err)
{
    (void)arg, (void)metric, (void)tags, (void)n_tags, (void)text, (void)metric_len, (void)err;
    return series[id];
}

static int on_points(void *arg, uint64_t gen, const struct sto_point *p, size_t n, struct ts_error *err)
{
    (void)gen, (void)err;
    *(int64_t *)arg += p[n - 1].m;
    return 0;
}

static void die(const struct ts_error *err)
{
    fprintf(stderr, "bench_wal: %s\n", err->text);
    exit(1);
}

static void run(enum pattern pattern, size_t n_batches)
{
    struct ts_error err = {0};
    struct sto_wal *wal;
    size_t n = 64 * STO_BATCH_POINTS;
    struct sto_point *points = ts_xmalloc(n * sizeof(*points));
    for (size_t i = 0; i < n; i++)
        points[i] = point_of(pattern, i);
    for (int kept = 0; kept < 2; kept++) {
        keep = kept;
        n_files = 0;
        if (sto_wal_new(&bench_fs, DIR_NAME, 1, 0, 1, &wal, &err) < 0)
            die(&err);
        if (sto_wal_append(wal, points, n, &err) < 0) /* definitions and warm buffers */
            die(&err);
        uint64_t before = sto_wal_written(wal);
        int64_t began_ns = ts_clock_mono_ns();
        for (size_t i = 0; i < n_batches; i++)
            if (sto_wal_append(wal, points + i % 64 * STO_BATCH_POINTS, STO_BATCH_POINTS, &err) < 0)
                die(&err);
        int64_t took_ns = ts_clock_mono_ns() - began_ns;
        double n_points = (double)n_batches * STO_BATCH_POINTS;
        if (!kept)
            printf("%-34s append %5.2f ns/point  %5.2f bytes/point", names[pattern],
                   (double)took_ns / n_points, (double)(sto_wal_written(wal) - before) / n_points);
        if (sto_wal_close(wal, &err) < 0)
            die(&err);
    }
    struct sto_wal_replay_ops ops = {.series = on_series, .points = on_points};
    struct sto_wal_replay_result res;
    int64_t sum = 0, began_ns = ts_clock_mono_ns();
    if (sto_wal_replay(&bench_fs, DIR_NAME, 0, &ops, &sum, true, &res, &err) < 0)
        die(&err);
    printf("  replay %5.2f ns/point\n", (double)(ts_clock_mono_ns() - began_ns) / (double)res.n_points);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        ts_free(files[i].p);
        files[i] = (struct ts_file){0};
    }
    ts_free(points);
}

int main(int argc, char **argv)
{
    int64_t rounds = 4;
    if (argc > 1 && ts_num_parse_int(ts_slice_str(argv[1]), &rounds, NULL) < 0)
        return 2;
    for (uint32_t i = 0; i < N_SERIES; i++) {
        static const char text[] = "system.cpu.user host=host-0000 dc=fra core=3 unit=pct";
        series[i] = ts_xcalloc(1, sizeof(**series) + sizeof(text));
        series[i]->id = series[i]->local = i;
        series[i]->text_len = sizeof(text) - 1;
        memcpy(series[i]->tags, text, sizeof(text) - 1);
        series[i]->metric_len = 15;
    }
    for (enum pattern p = ROUND_ROBIN; p <= RANDOM; p++)
        run(p, (size_t)rounds * 256);
    for (uint32_t i = 0; i < N_SERIES; i++)
        ts_free(series[i]);
    return 0;
}
