/*
 * t_catalog.h - what the tests of the catalog share: a folder for each case, series from text, sets as text.
 */
#ifndef TESTS_UNIT_CATALOG_T_CATALOG_H
#define TESTS_UNIT_CATALOG_T_CATALOG_H

#include "storage/catalog/catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"

static char t_dir[64];
static char t_path[96]; /* of catalog.log */

static inline int t_setup(void **state)
{
    (void)state;
    (void)snprintf(t_dir, sizeof(t_dir), "/tmp/tsd-catalog-XXXXXX");
    assert_non_null(mkdtemp(t_dir));
    (void)snprintf(t_path, sizeof(t_path), "%s/catalog.log", t_dir);
    return 0;
}

/* The copy beside the log goes: what a test does to the log is meant to be seen. */
static inline void t_drop_copy(void)
{
    char copy[128];
    (void)snprintf(copy, sizeof(copy), "%s.copy", t_path);
    (void)unlink(copy);
}

static inline int t_teardown(void **state)
{
    (void)state;
    char tmp[128];
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", t_path);
    (void)unlink(tmp);
    (void)unlink(t_path);
    t_drop_copy();
    return rmdir(t_dir);
}
#define T_CASE(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)

static inline struct sto_catalog *t_open_fs(const struct ts_fs *fs, bool read_only)
{
    struct sto_catalog *cat;
    struct ts_error err = {0};
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .read_only = read_only};
    if (sto_catalog_open(fs, &opts, &cat, &err) < 0)
        fail_msg("%s", err.text);
    return cat;
}
static inline struct sto_catalog *t_open(void)
{
    return t_open_fs(ts_fs_real(), false);
}
static inline void t_close(struct sto_catalog *cat)
{
    struct ts_error err = {0};
    if (sto_catalog_close(cat, &err) < 0)
        fail_msg("%s", err.text);
}

/* Cut "metric k=v k=v"; returns the number of tags. */
static inline size_t t_split(const char *text, uint32_t *out_metric_len, struct sto_tag_text *tags)
{
    const char *p = strchr(text, ' ');
    size_t n = 0;
    *out_metric_len = (uint32_t)(p ? (size_t)(p - text) : strlen(text));
    while (p) {
        const char *k = p + 1, *eq = strchr(k, '=');
        p = strchr(eq, ' ');
        tags[n].k = (struct ts_slice){k, (size_t)(eq - k)};
        tags[n++].v = (struct ts_slice){eq + 1, p ? (size_t)(p - eq - 1) : strlen(eq + 1)};
    }
    return n;
}

static inline int t_resolve_rc(struct sto_catalog *cat, const char *text, bool create,
                               const struct sto_series **out, struct ts_error *err)
{
    struct sto_tag_text tags[300];
    uint32_t metric_len;
    size_t n = t_split(text, &metric_len, tags);
    return sto_series_resolve(cat, ts_slice_str(text), metric_len, tags, n, create, out, err);
}

/* A series of the daemon's own figures. */
static inline int t_own_rc(struct sto_catalog *cat, const char *text, const struct sto_series **out,
                           struct ts_error *err)
{
    struct sto_tag_text tags[300];
    uint32_t metric_len;
    size_t n = t_split(text, &metric_len, tags);
    return sto_series_resolve_own(cat, ts_slice_str(text), metric_len, tags, n, out, err);
}

/* Series of a text, made if missing. */
static inline const struct sto_series *t_series(struct sto_catalog *cat, const char *text)
{
    const struct sto_series *s;
    struct ts_error err = {0};
    if (t_resolve_rc(cat, text, true, &s, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return s;
}

static inline uint32_t t_id(struct sto_catalog *cat, enum sto_uid_kind kind, const char *name)
{
    uint32_t id;
    return sto_uid_find(cat, kind, ts_slice_str(name), &id) == 0 ? id : 0;
}

static inline void t_assert_slice(struct ts_slice got, const char *want)
{
    if (!ts_slice_is(got, want))
        fail_msg("got \"%.*s\", want \"%s\"", (int)got.n, got.p ? got.p : "", want);
}
static inline void t_assert_text(const struct sto_series *s, const char *want)
{
    t_assert_slice(sto_series_text(s), want);
}

/* All there is to know of a catalog, as text. */
static inline void t_dump(struct sto_catalog *cat, struct ts_buf *out)
{
    ts_buf_init(out, 0);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        for (uint32_t id = 0; id <= sto_uid_max(cat, (enum sto_uid_kind)kind); id++) {
            struct ts_slice name = sto_uid_name(cat, (enum sto_uid_kind)kind, id);
            ts_buf_printf(out, "%d %u %zu ", kind, id, name.n);
            ts_buf_slice(out, name);
        }
    for (uint32_t id = 0; id < sto_series_count(cat); id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (!s)
            continue;
        ts_buf_printf(out, "\n%u %u %u %u ", s->id, s->metric, s->shard % 16u, s->n_tags);
        ts_buf_slice(out, sto_series_text(s));
        for (unsigned t = 0; t < s->n_tags; t++)
            ts_buf_printf(out, " %u:%u", s->tags[t].k, s->tags[t].v);
        roaring_bitmap_t *set;
        struct sto_tag_cond cond = {.tagk = s->tags[0].k, .values = &s->tags[0].v, .n_values = 1};
        sto_select(cat, s->metric, &cond, 1, false, NULL, &set, NULL);
        assert_true(roaring_bitmap_contains(set, id));
        ts_buf_printf(out, " %llu", (unsigned long long)roaring_bitmap_get_cardinality(set));
        roaring_bitmap_free(set);
    }
}

static inline void t_same(struct sto_catalog *cat, const struct ts_buf *want)
{
    struct ts_buf got;
    t_dump(cat, &got);
    assert_int_equal(got.n, want->n);
    assert_memory_equal(got.p, want->p, got.n);
    ts_buf_release(&got);
}

/* Bytes of catalog.log. */
static inline uint64_t t_file_bytes(void)
{
    char *p;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_path, 1u << 28, &p, &n, NULL), 0);
    ts_free(p);
    return n;
}

#endif
