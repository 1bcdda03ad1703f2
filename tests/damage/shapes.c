/*
 * shapes.c - small stores of different kinds: decimals, integers with deletes and adds, doubles, names and cells,
 * and a log that was not flushed.
 *
 * Threads    one (the store has its own)
 */
#include "tests/damage/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 1793620800000ll /* 2026-11-02 12:00 UTC */

struct sto_opts shape_opts(struct t_faultfs *f, bool read_only)
{
    return (struct sto_opts){.fs = t_faultfs_fs(f),
                             .dir = SHAPE_DIR,
                             .create = !read_only,
                             .read_only = read_only,
                             .own_threads = true,
                             .no_background = true,
                             .survive_sync_errors = true,
                             .n_writers = 2,
                             .wal_sync_interval_ms = 60000};
}

static void must(int rc, const struct ts_error *err, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, err->text);
        exit(2);
    }
}

static struct sto_store *open_new(struct t_faultfs *f)
{
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    struct sto_opts opts = shape_opts(f, false);
    must(sto_open(&opts, &st, &err), &err, "open");
    return st;
}

static const struct sto_series *series(struct sto_store *st, const char *metric, unsigned i)
{
    char text[64], host[16], core[8];
    snprintf(host, sizeof host, "web%04u", i / 2);
    snprintf(core, sizeof core, "%u", i % 2);
    int n = snprintf(text, sizeof text, "%s host=%s core=%s", metric, host, core);
    struct sto_tag_text tags[2] = {{TS_SLICE_LIT("host"), ts_slice_str(host)},
                                   {TS_SLICE_LIT("core"), ts_slice_str(core)}};
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    must(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n},
                            (uint32_t)strlen(metric), tags, 2, true, &s, &err),
         &err, "series");
    return s;
}

static void put(struct sto_store *st, const struct sto_series *s, int64_t ts_ms, struct ts_num v, bool add)
{
    struct sto_writer *writer = sto_writer(st, 0);
    int rc;
    while ((rc = add ? sto_add(writer, s, ts_ms, v, ts_ms % 1000 != 0, 1)
                     : sto_put(writer, s, ts_ms, v, ts_ms % 1000 != 0)) == TS_EBUSY)
        sto_writer_turn(writer);
}

static void level(struct sto_store *st, enum sto_level to)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    must(sto_flush(st, to, &err), &err, "flush");
}

static void close_it(struct sto_store *st)
{
    struct ts_error err = {0};
    must(sto_close(st, &err), &err, "close");
}

static struct ts_num decimal(uint64_t *r)
{
    return (struct ts_num){.kind = TS_NUM_DEC, .exp = 2, .m = (int64_t)(t_rand(r) % 10000) - 5000};
}

static struct t_faultfs *make_decimals(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    struct sto_store *st = open_new(f);
    for (unsigned i = 0; i < 40; i++)
        for (int64_t t = 0; t < 3 * 3600; t += 30)
            put(st, series(st, "cpu.user", i), T0 + t * 1000, decimal(&seed), false);
    level(st, STO_LEVEL_COMPACT);
    for (unsigned i = 0; i < 40; i++)
        for (int64_t t = 3 * 3600; t < 4 * 3600; t += 60)
            put(st, series(st, "cpu.user", i), T0 + t * 1000, decimal(&seed), false);
    close_it(st);
    return f;
}

static struct t_faultfs *make_integers(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    struct sto_store *st = open_new(f);
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 20; i++)
            for (int64_t t = 0; t < 2 * 3600; t += 20 + round)
                put(st, series(st, i % 2 ? "hits" : "bytes", i), T0 + (t + round * 1800) * 1000,
                    (struct ts_num){.kind = TS_NUM_INT, .m = (int64_t)(t_rand(&seed) % 1000)}, round == 1);
        for (unsigned i = 0; i < 6; i++)
            sto_delete(sto_writer(st, 0), series(st, "bytes", i * 2), T0 + (int64_t)i * 600000,
                       T0 + (int64_t)i * 600000 + 1200000);
        level(st, STO_LEVEL_FILES);
    }
    close_it(st);
    return f;
}

static struct t_faultfs *make_doubles(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    struct sto_store *st = open_new(f);
    for (unsigned i = 0; i < 12; i++)
        for (int64_t t = 0; t < 3600; t += 10) {
            double d = (double)t_rand(&seed) / 3e15;
            struct ts_num v = {.kind = TS_NUM_RAW};
            memcpy(&v.m, &d, 8);
            if (i % 3 == 0 && t % 50 == 0)
                v = (struct ts_num){.kind = TS_NUM_INT, .m = t};
            put(st, series(st, "temperature", i), T0 - 40ll * 365 * 86400000 + t * 1000 + (int64_t)i, v,
                false);
        }
    close_it(st);
    return f;
}

static void some_cells(struct sto_store *st, uint64_t *seed, int n)
{
    struct ts_error err = {0};
    for (int i = 0; i < n; i++) {
        char key[24], value[64];
        snprintf(key, sizeof key, "note/%llu", (unsigned long long)(t_rand(seed) % 40));
        snprintf(value, sizeof value, "{\"text\": \"%llx\"}", (unsigned long long)t_rand(seed));
        must(sto_cell_put(st, ts_slice_str(key), ts_slice_str(value), &err), &err, "cell");
    }
}

static struct t_faultfs *make_names(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    struct ts_error err = {0};
    struct sto_store *st = open_new(f);
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 500; i++)
            put(st, series(st, "sessions", i + 500 * (unsigned)round), T0 + (int64_t)i * 1000, decimal(&seed),
                false);
        some_cells(st, &seed, 30);
        level(st, STO_LEVEL_FILES);
    }
    must(sto_uid_rename(sto_store_catalog(st), STO_UID_TAGV, TS_SLICE_LIT("web0007"), TS_SLICE_LIT("db7"),
                        &err),
         &err, "rename");
    close_it(st);
    return f;
}

/* As after kill -9: part in files, part in the logs of two owners, some of it synced. */
static struct t_faultfs *make_unflushed(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed), *copy;
    struct sto_store *st = open_new(f);
    for (unsigned i = 0; i < 10; i++)
        for (int64_t t = 0; t < 1800; t += 30)
            put(st, series(st, "cpu.user", i), T0 + t * 1000, decimal(&seed), false);
    level(st, STO_LEVEL_FILES);
    for (int64_t t = 1800; t < 7200; t += 300) {
        for (unsigned i = 0; i < 10 + (unsigned)(t / 300); i++)
            for (int64_t s = 0; s < 300; s += 60)
                put(st, series(st, "cpu.user", i), T0 + (t + s) * 1000, decimal(&seed), false);
        if (t == 3600)
            sto_delete(sto_writer(st, 0), series(st, "cpu.user", 1), T0, T0 + 600000);
        level(st, t % 900 ? STO_LEVEL_LOG : STO_LEVEL_DISK);
    }
    some_cells(st, &seed, 10);
    copy = t_faultfs_clone(f, seed);
    close_it(st);
    t_faultfs_free(f);
    return copy;
}

const struct shape shapes[] = {
    {"decimals", make_decimals}, {"integers", make_integers},   {"doubles", make_doubles},
    {"names", make_names},       {"unflushed", make_unflushed},
};
const size_t n_shapes = sizeof shapes / sizeof *shapes;
