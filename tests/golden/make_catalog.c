/*
 * make_catalog.c - writes the golden catalog and cells into a folder, or checks one: make_golden_catalog
 * make|check|make-forgotten|check-forgotten|make-names|check-names|check-old-names DIR
 *
 * ctest compares what read_format.py says of today's files with tests/golden/v1, v3 and v5, and has today's program
 * check them. The bytes are not compared: another release of zstd may pack the same payload otherwise.
 */
#include <stdio.h>
#include <string.h>

#include "storage/catalog/catalog.h"
#include "storage/catalog/forget.h"
#include "storage/cells.h"

/* Texts in the order of their numbers. */
static const char *const texts[] = {
    "cpu.user host=web01 dc=fra", "cpu.user host=web02 dc=fra",        "Größe.température host=web01 dc=fra",
    "cpu.user dc=lon host=web03", "mem.free host=web02 dc=fra slot=1",
};
#define N_TEXTS  (sizeof(texts) / sizeof(*texts))
#define N_SERIES 205u /* the texts, then 200 more: enough for a compressed block */

static int put(struct sto_catalog *cat, const char *text, struct ts_error *err)
{
    struct sto_tag_text tags[4];
    size_t n = 0;
    const char *p = strchr(text, ' ');
    uint32_t metric_len = (uint32_t)(p - text);
    while (p) {
        const char *k = p + 1, *eq = strchr(k, '=');
        p = strchr(eq, ' ');
        tags[n].k = (struct ts_slice){k, (size_t)(eq - k)};
        tags[n++].v = (struct ts_slice){eq + 1, p ? (size_t)(p - eq - 1) : strlen(eq + 1)};
    }
    const struct sto_series *s;
    return sto_series_resolve(cat, ts_slice_str(text), metric_len, tags, n, true, &s, err);
}

static int make_catalog(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16};
    struct sto_catalog *cat;
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    for (int i = 0; i < 3; i++)
        TS_TRY(put(cat, texts[i], err));
    TS_TRY(sto_catalog_sync(cat, true, err));
    TS_TRY(put(cat, texts[3], err)); /* keys are on disk: the sender's order stays */
    TS_TRY(put(cat, texts[4], err));
    TS_TRY(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("web03"), TS_SLICE_LIT("web03-renamed"), err));
    for (uint32_t i = N_TEXTS; i < N_SERIES; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "app.sessions user=u%07u zone=z%u", i, i % 3);
        TS_TRY(put(cat, text, err));
    }
    TS_TRY(sto_catalog_sync(cat, true, err));
    return sto_catalog_close(cat, err);
}

#define N_GONE 203u /* of the series of v3: all but two */

/* Series come and go: a record that says which are gone, and one of them under another number. */
static int make_forgotten(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16};
    const uint32_t stay[] = {1, 100};
    struct sto_catalog *cat;
    uint64_t n;
    TS_TRY(make_catalog(dir, err));
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    roaring_bitmap_t *used = roaring_bitmap_of_ptr(2, stay);
    (void)sto_catalog_forget_begin(cat, used, NULL, NULL);
    roaring_bitmap_free(used);
    TS_TRY(sto_catalog_forget_finish(cat, &n, err));
    TS_TRY(put(cat, texts[0], err));
    TS_TRY(sto_catalog_sync(cat, true, err));
    return sto_catalog_close(cat, err);
}

static int check_forgotten(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16, .read_only = true};
    struct sto_catalog *cat;
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    uint32_t n_gone = 0;
    for (uint32_t i = 0; i < N_SERIES; i++)
        n_gone += !sto_series_get(cat, i) && !sto_series_known(cat, i, NULL);
    const struct sto_series *back = sto_series_get(cat, N_SERIES), *stays = sto_series_get(cat, 1);
    int rc = 0;
    if (n_gone != N_GONE || sto_series_count(cat) != N_SERIES + 1)
        rc = ts_error_set(err, TS_ECORRUPT, "%u series of %u are forgotten", n_gone, sto_series_count(cat));
    else if (!back || !ts_slice_is(sto_series_text(back), texts[0]) || !stays)
        rc = ts_error_set(err, TS_ECORRUPT, "the series that are there have other texts");
    (void)sto_catalog_close(cat, NULL);
    return rc;
}

/* One pass in which only these series are in use, and the memory of what went. */
static int forget_all_but(struct sto_catalog *cat, const uint32_t *ids, size_t n, struct ts_error *err)
{
    uint64_t n_gone;
    roaring_bitmap_t *used = roaring_bitmap_of_ptr(n, ids);
    (void)sto_catalog_forget_begin(cat, used, NULL, NULL);
    roaring_bitmap_free(used);
    TS_TRY(sto_catalog_forget_finish(cat, &n_gone, err));
    sto_catalog_reclaim(cat);
    sto_catalog_reclaim(cat);
    return 0;
}

/* Names go after their series, but not those that people have assigned; one comes back under another id. */
static int make_names(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16};
    const uint32_t stay[] = {1, 100};
    struct sto_catalog *cat;
    uint32_t id;
    bool created;
    TS_TRY(make_catalog(dir, err));
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    TS_TRY(sto_uid_assign(cat, STO_UID_METRIC, TS_SLICE_LIT("assigned.ahead"), &id, &created, err));
    TS_TRY(sto_uid_assign(cat, STO_UID_TAGV, TS_SLICE_LIT("web01"), &id, &created, err));
    TS_TRY(forget_all_but(cat, stay, 2, err));
    TS_TRY(forget_all_but(cat, stay, 2, err));
    TS_TRY(put(cat, texts[4], err));
    TS_TRY(sto_catalog_sync(cat, true, err));
    return sto_catalog_close(cat, err);
}

static bool is_id(struct sto_catalog *cat, enum sto_uid_kind kind, const char *name, uint32_t want)
{
    uint32_t id = 0;
    (void)sto_uid_find(cat, kind, ts_slice_str(name), &id);
    return id == want;
}

static int check_names(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16, .read_only = true};
    struct sto_catalog *cat;
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    bool ok = is_id(cat, STO_UID_METRIC, "cpu.user", 1) && is_id(cat, STO_UID_METRIC, "mem.free", 6) &&
              is_id(cat, STO_UID_METRIC, "assigned.ahead", 5) && is_id(cat, STO_UID_TAGV, "web01", 1) &&
              is_id(cat, STO_UID_TAGV, "web03-renamed", 0) && is_id(cat, STO_UID_TAGV, "u0000101", 0) &&
              is_id(cat, STO_UID_TAGV, "u0000100", 105) && !sto_uid_name(cat, STO_UID_METRIC, 3).p;
    (void)sto_catalog_close(cat, NULL);
    return ok ? 0 : ts_error_set(err, TS_ECORRUPT, "other names are forgotten");
}

/* v3, copied to dir, does not say which names were assigned: none goes that no series had when it was opened. */
static int check_old_names(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16};
    const uint32_t stay[] = {1, 100, 205};
    for (int opened = 0; opened < 2; opened++) {
        struct sto_catalog *cat;
        TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
        if (opened)
            TS_TRY(forget_all_but(cat, stay, 3, err));
        bool there = is_id(cat, STO_UID_METRIC, "mem.free", 3) && is_id(cat, STO_UID_TAGV, "u0000101", 106);
        TS_TRY(put(cat, "new host=new", err));
        TS_TRY(sto_catalog_close(cat, err));
        if (!there)
            return ts_error_set(err, TS_ECORRUPT, "a name of an old catalog is forgotten");
    }
    return 0;
}

static int make_cells(const char *dir, struct ts_error *err)
{
    struct sto_cellmap *map;
    TS_TRY(sto_cellmap_open(ts_fs_real(), dir, false, false, &map, err));
    TS_TRY(sto_cellmap_put(map, TS_SLICE_LIT("a"), TS_SLICE_LIT("first"), false, err));
    TS_TRY(sto_cellmap_put(map, TS_SLICE_LIT("b\0c"), TS_SLICE_LIT("\xff\n"), false, err));
    TS_TRY(sto_cellmap_incr(map, TS_SLICE_LIT("counter"), -2, NULL, err));
    TS_TRY(sto_cellmap_put(map, TS_SLICE_LIT("a"), TS_SLICE_LIT(""), false, err));
    return sto_cellmap_close(map, err);
}

static int make(const char *dir, struct ts_error *err)
{
    TS_TRY(make_catalog(dir, err));
    return make_cells(dir, err);
}

static int check(const char *dir, struct ts_error *err)
{
    const struct sto_catalog_opts opts = {.dir = dir, .n_shards = 16, .read_only = true};
    struct sto_catalog *cat;
    struct sto_cellmap *map;
    TS_TRY(sto_catalog_open(ts_fs_real(), &opts, &cat, err));
    int rc = sto_series_count(cat) == N_SERIES ? 0 : ts_error_set(err, TS_ECORRUPT, "wrong number of series");
    for (uint32_t i = 0; i < N_TEXTS && rc == 0; i++) {
        const struct sto_series *s = sto_series_get(cat, i);
        if (!s || !ts_slice_is(sto_series_text(s), texts[i]))
            rc = ts_error_set(err, TS_ECORRUPT, "series %u has another text", i);
    }
    (void)sto_catalog_close(cat, NULL);
    TS_TRY(rc);
    TS_TRY(sto_cellmap_open(ts_fs_real(), dir, true, false, &map, err));
    struct ts_buf value;
    ts_buf_init(&value, 0);
    rc = sto_cellmap_get(map, TS_SLICE_LIT("b\0c"), &value);
    if (rc < 0 || !ts_slice_is(ts_buf_get(&value), "\xff\n") ||
        sto_cellmap_get(map, TS_SLICE_LIT("a"), &value) == 0)
        rc = ts_error_set(err, TS_ECORRUPT, "cells have other values");
    ts_buf_release(&value);
    (void)sto_cellmap_close(map, NULL);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(const char *dir, struct ts_error *err);
        bool makes; /* the folder too */
    } rows[] = {{"make", make, true},
                {"check", check, false},
                {"make-forgotten", make_forgotten, true},
                {"check-forgotten", check_forgotten, false},
                {"make-names", make_names, true},
                {"check-names", check_names, false},
                {"check-old-names", check_old_names, false}};
    struct ts_error err = {0};
    for (size_t i = 0; argc == 3 && i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(argv[1], rows[i].word) != 0)
            continue;
        int rc = rows[i].makes ? ts_fs_real()->mkdir(ts_fs_real(), argv[2], &err) : 0;
        if (rc == 0)
            rc = rows[i].run(argv[2], &err);
        if (rc < 0)
            (void)fprintf(stderr, "make_golden_catalog: %s\n", err.text);
        return rc < 0;
    }
    return 2;
}
