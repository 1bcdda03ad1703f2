/*
 * bench_aged.c - what a pass costs that makes summaries of hours whose points have expired, and then of days (storage/age.h), and what a summary takes.
 *
 *   bench_aged DIR [SERIES [DAYS [POINTS]]]     POINTS of each series and hour, 60 by default; DIR is made, and must not be there
 *
 * Three stores below DIR, one after the other: of integers, of decimals with two places, and of doubles with all digits. The clock is set, so that all points
 * expire, and then all hours. Times are those of the processor and elapsed ones; bytes are those of the files of points and summaries (t and s).
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/retain.h"
#include "storage/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define T0_MS    1767225600000ll /* 2026-01-01 00:00 UTC */
#define MEMSTORE (256u << 20)
#define LOOKS    40 /* of retention at most, a minute apart */

static struct sto_store *st;
static int64_t now_ms;

static void check(int rc, const struct ts_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void set_clock(int64_t ms)
{
    now_ms = ms;
    ts_clock_set_fake(ms);
    ts_clock_set_fake_mono((1000 + ms - T0_MS) * 1000000);
}

/* Seconds of a clock of the system, which set_clock does not change. */
static double seconds(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- a store --- */

static void open_store(const char *dir)
{
    struct ts_error err = {0};
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .no_background = true,
                            .pumped = true,
                            .knows_zone = true,
                            .wal_sync = STO_SYNC_NONE,
                            .memstore_bytes = MEMSTORE};
    check(sto_open(&opts, &st, &err), &err);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static struct ts_num value(unsigned kind, uint64_t seed)
{
    uint64_t r = mix(seed);
    if (kind == 2)
        return ts_num_from_double((double)(r >> 11) * 1e-7);
    return (struct ts_num){
        .m = (int64_t)(r % 10000), .kind = kind ? TS_NUM_DEC : TS_NUM_INT, .exp = kind ? 2 : 0};
}

static void fill(unsigned kind, unsigned n_series, unsigned days, unsigned points)
{
    struct ts_error err = {0};
    for (int64_t h = 0; h < (int64_t)days * 24; h++) {
        set_clock(T0_MS + (h + 1) * TS_HOUR_MS);
        for (unsigned i = 0; i < n_series; i++) {
            char text[40], name[20];
            snprintf(name, sizeof name, "%u", i);
            int n = snprintf(text, sizeof text, "m host=%s", name);
            struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(name)};
            const struct sto_series *s;
            check(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 1, &tag, 1,
                                     true, &s, &err),
                  &err);
            for (unsigned k = 0; k < points; k++)
                if (sto_put(sto_writer(st, 0), s, T0_MS + h * TS_HOUR_MS + (int64_t)k * (TS_HOUR_MS / points),
                            value(kind, ((uint64_t)h * n_series + i) * points + k), true) < 0)
                    exit(1);
        }
        if (h % 24 == 23) {
            sto_writer_turn(sto_writer(st, 0));
            check(sto_flush(st, STO_LEVEL_FILES, &err), &err);
        }
    }
    check(sto_flush(st, STO_LEVEL_COMPACT, &err), &err);
}

static uint64_t files_bytes(const char *dir)
{
    char path[600];
    uint64_t sum = 0;
    struct stat sb;
    snprintf(path, sizeof path, "%s/files", dir);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/files/%s", dir, e->d_name);
        if (n > 2 && (!strcmp(e->d_name + n - 2, ".t") || !strcmp(e->d_name + n - 2, ".s")) &&
            !stat(path, &sb))
            sum += (uint64_t)sb.st_size;
    }
    if (d)
        (void)closedir(d);
    return sum;
}

struct stat_ask {
    const char *name;
    uint64_t value;
};

static void on_stat(void *arg, const char *name, uint64_t v)
{
    struct stat_ask *s = arg;
    if (!strcmp(s->name, name))
        s->value = v;
}

static uint64_t stat_of(const char *name)
{
    struct stat_ask s = {name, 0};
    sto_stats(st, on_stat, &s);
    return s.value;
}

static void set_rule(const char *text)
{
    struct ts_error err = {0};
    check(sto_retain(st, &(struct sto_retain_call){.what = STO_RETAIN_REPLACE, .text = ts_slice_str(text)},
                     &err),
          &err);
}

/* --- measuring --- */

/* Let retention look until nothing is left to do: summaries are made, and what they are of is removed. The looks at the end, which do nothing, count too. */
static void pass(const char *what, const char *dir, uint64_t bytes_before)
{
    struct ts_error err = {0};
    uint64_t n = stat_of("aged.hours"), last = UINT64_MAX;
    double cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID), s = seconds(CLOCK_MONOTONIC);
    for (unsigned k = 0, idle = 0; k < LOOKS && idle < 3; k++) {
        check(sto_store_pump_merges(st, &err), &err);
        idle = stat_of("aged.hours") == last ? idle + 1 : 0;
        last = stat_of("aged.hours");
        set_clock(now_ms + 61000);
    }
    cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
    s = seconds(CLOCK_MONOTONIC) - s;
    n = last - n;
    if (!n || stat_of("aged.errors")) {
        fprintf(stderr, "nothing has become %s\n", what);
        exit(1);
    }
    uint64_t bytes = files_bytes(dir);
    printf("%-5s %8llu made, %8.0f a second of the processor, %8.0f elapsed; %5.1f bytes each, %4.1f %% of "
           "before\n",
           what, (unsigned long long)n, (double)n / cpu_s, (double)n / s, (double)bytes / (double)n,
           100.0 * (double)bytes / (double)bytes_before);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"integers", "decimals", "doubles"};
    unsigned n_series = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200,
             days = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 30,
             points = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 60;
    if (argc < 2 || argc > 5 || !n_series || !days || !points || points > 3600 || mkdir(argv[1], 0755) < 0) {
        fprintf(stderr, "usage: bench_aged DIR [SERIES [DAYS [POINTS]]], and DIR must not be there\n");
        return 2;
    }
    ts_log_set_level(TS_LOG_WARN);
    for (unsigned kind = 0; kind < 3; kind++) {
        char dir[500];
        snprintf(dir, sizeof dir, "%s/%s", argv[1], kinds[kind]);
        set_clock(T0_MS);
        open_store(dir);
        fill(kind, n_series, days, points);
        uint64_t before = files_bytes(dir);
        printf("%s: %u series, %u days, %u points an hour; %.1f bytes an hour\n", kinds[kind], n_series, days,
               points, (double)before / ((double)n_series * days * 24));
        set_rule("* points=48h hours=forever");
        set_clock(now_ms + 4 * TS_DAY_MS);
        pass("hours", dir, before);
        before = files_bytes(dir);
        set_rule("* points=48h hours=96h days=forever");
        set_clock(now_ms + 4 * TS_DAY_MS);
        pass("days", dir, before);
        struct ts_error err = {0};
        check(sto_close(st, &err), &err);
    }
    return 0;
}
