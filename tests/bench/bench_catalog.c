/*
 * bench_catalog.c - cost of the catalog: create, find, sync, load, select; bytes of memory and log a series.
 *
 * Series of the cardinality work of the bench (w3) and of its hosts (w1, eight tags). Run by hand:
 * bench_catalog DIR [w3|w1] [series]; DIR must be empty or hold an older catalog.log, which is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/catalog/catalog.h"

#define TEXT_BYTES 160u
#define MAX_TAGS   8u

/* Texts of all series, made before the clock runs. */
static char *texts; /* TEXT_BYTES each */
static size_t n_series;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double rss_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        exit(1);
    (void)fclose(f);
    return (double)pages * 4096.0;
}

static void make_texts(bool hosts)
{
    texts = ts_xmalloc(n_series * TEXT_BYTES);
    for (size_t i = 0; i < n_series; i++) {
        char *p = texts + i * TEXT_BYTES;
        uint64_t h = i / 10, r = ts_hash_u64(h + 1);
        if (hosts)
            (void)snprintf(p, TEXT_BYTES,
                           "cpu.usage_%zu hostname=host_%llu region=r-%llu datacenter=dc%llu rack=%llu "
                           "os=os%llu arch=x%llu "
                           "team=t%llu service=%llu",
                           i % 10, (unsigned long long)h, (unsigned long long)(r % 9),
                           (unsigned long long)(r / 9 % 27), (unsigned long long)(r / 243 % 100),
                           (unsigned long long)(r / 24300 % 3), (unsigned long long)(r / 72900 % 2),
                           (unsigned long long)(r / 145800 % 4), (unsigned long long)(r / 583200 % 20));
        else
            (void)snprintf(p, TEXT_BYTES, "app.sessions user=u%07zu pod=pod-%zu zone=z%zu", i, i / 200,
                           i % 10);
    }
}

static const struct sto_series *resolve(struct sto_catalog *cat, size_t i)
{
    const char *text = texts + i * TEXT_BYTES, *p = strchr(text, ' ');
    struct sto_tag_text tags[MAX_TAGS];
    uint32_t metric_len = (uint32_t)(p - text);
    size_t n = 0;
    while (p) {
        const char *k = p + 1, *eq = strchr(k, '=');
        p = strchr(eq, ' ');
        tags[n].k = (struct ts_slice){k, (size_t)(eq - k)};
        tags[n++].v = (struct ts_slice){eq + 1, p ? (size_t)(p - eq - 1) : strlen(eq + 1)};
    }
    const struct sto_series *s;
    struct ts_error err = {0};
    if (sto_series_resolve(cat, ts_slice_str(text), metric_len, tags, n, true, &s, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return s;
}

/* Seconds to resolve all, in the order of numbers or scattered. */
static double run(struct sto_catalog *cat, bool scattered)
{
    double begin = now_s();
    for (size_t i = 0; i < n_series; i++)
        (void)resolve(cat, scattered ? ts_hash_u64(i) % n_series : i);
    return now_s() - begin;
}

static struct sto_catalog *open_cat(const char *dir)
{
    struct sto_catalog *cat;
    struct ts_error err = {0};
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16};
    if (sto_catalog_open(ts_fs_real(), &opts, &cat, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return cat;
}

static void bench_select(struct sto_catalog *cat, bool explicit_keys)
{
    roaring_bitmap_t *set;
    double begin = now_s();
    (void)sto_select(cat, 1, NULL, 0, explicit_keys, NULL, &set, NULL);
    (void)printf("select metric%s: %.0f us, %llu series\n", explicit_keys ? " by a walk" : "",
                 (now_s() - begin) * 1e6, (unsigned long long)roaring_bitmap_get_cardinality(set));
    roaring_bitmap_free(set);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    n_series = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000;
    make_texts(argc > 2 && strcmp(argv[2], "w1") == 0);
    char path[4096];
    struct stat st = {0};
    double n = (double)n_series;
    (void)snprintf(path, sizeof(path), "%s/catalog.log", argv[1]);
    (void)unlink(path);

    struct sto_catalog *cat = open_cat(argv[1]);
    double rss = rss_bytes(), t = run(cat, false);
    (void)printf("create: %.3f s, %.0f ns a series, %.1f bytes of memory\n", t, t / n * 1e9,
                 (rss_bytes() - rss) / n);
    (void)printf("find: %.0f ns in order, ", run(cat, false) / n * 1e9);
    (void)printf("%.0f ns scattered (both with cutting the text)\n", run(cat, true) / n * 1e9);
    t = now_s();
    (void)sto_catalog_sync(cat, true, NULL);
    (void)stat(path, &st);
    (void)printf("sync: %.3f s, %.3f bytes of log a series\n", now_s() - t, (double)st.st_size / n);
    (void)sto_catalog_close(cat, NULL);
    (void)stat(path, &st);
    t = now_s();
    cat = open_cat(argv[1]);
    (void)printf("load: %.3f s of %lld bytes, %.3f a series\n", now_s() - t, (long long)st.st_size,
                 (double)st.st_size / n);
    bench_select(cat, false);
    bench_select(cat, true);
    (void)sto_catalog_close(cat, NULL);
    ts_free(texts);
    return 0;
}
