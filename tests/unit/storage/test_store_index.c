/*
 * test_store_index.c - indexes of a whole store: a large sparse one takes the memory of the cache and no more; damage that is found
 * late is made good in the background.
 */
#include "tests/unit/storage/windows_kit.h"

#include "base/bytes.h"

#define SPARSE_SERIES 300
#define SPARSE_FILES  200
#define SPARSE_HOURS  5 /* of a file: 300,000 rows of one point */
#define CACHE_BYTES   4096
#define OPEN_MOST                                                                                            \
    (128 + 2) /* files of which a scan holds a block: KEEP_FILES of merge_src.c and the ones at hand */

static const struct sto_series *sparse(struct sto_store *st, unsigned i)
{
    char text[32], host[8];
    snprintf(host, sizeof host, "h%u", i);
    int n = snprintf(text, sizeof text, "sparse host=%s", host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    assert_int_equal(sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, 6, &tag, 1,
                                        true, &s, NULL),
                     0);
    return s;
}

static int64_t value_of(unsigned series, int64_t hour)
{
    return (int64_t)series * 7919 + hour * 31;
}

/* Rows of a point each, in many files. */
static void fill_sparse(struct sto_store *st)
{
    struct sto_writer *writer = sto_writer(st, 0);
    for (int64_t hour = 0; hour < SPARSE_FILES * SPARSE_HOURS; hour++) {
        for (unsigned i = 0; i < SPARSE_SERIES; i++) {
            struct ts_num v = {.m = value_of(i, hour), .kind = TS_NUM_INT};
            while (sto_put(writer, sparse(st, i), T0 + hour * TS_HOUR_MS, v, false) == TS_EBUSY)
                sto_writer_turn(writer);
        }
        sto_writer_turn(writer);
        if (hour % SPARSE_HOURS == SPARSE_HOURS - 1)
            assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    }
}

struct figures {
    uint64_t files, index_bytes, cache_bytes, evicted;
};

static void keep(void *arg, const char *name, uint64_t value)
{
    struct figures *f = arg;
    if (!strcmp(name, "files.count"))
        f->files = value;
    else if (!strcmp(name, "files.index_bytes"))
        f->index_bytes = value;
    else if (!strcmp(name, "index_cache.bytes"))
        f->cache_bytes = value;
    else if (!strcmp(name, "index_cache.evicted"))
        f->evicted = value;
}

static struct figures figures(struct sto_store *st)
{
    struct figures f = {.files = 0};
    sto_stats(st, keep, &f);
    return f;
}

/* Hours from..to of a series; every point must be the one that was put. */
static void expect_hours(struct sto_store *st, unsigned series, int64_t from, int64_t to)
{
    const struct sto_series *s = sparse(st, series);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0 + from * TS_HOUR_MS,
                                 .to_ms = T0 + (to + 1) * TS_HOUR_MS - 1,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan;
    struct sto_row row;
    int rc;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    for (int64_t hour = from; (rc = sto_merge_next(scan, &row, NULL)) == 1; hour++) {
        assert_int_equal(row.key.hour - sto_hour(T0), hour);
        assert_int_equal(row.cells->n, 1);
        assert_true(row.cells->m[0] == value_of(series, hour));
        from++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(from, to + 1);
    uint64_t most = sto_merge_counts(scan)->n_open_most;
    assert_true(most > 0 && most <= OPEN_MOST);
    sto_merge_free(scan);
    sto_snap_release(snap);
}

static void test_store_index__a_large_sparse_index_keeps_to_the_cache(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.wal_sync = STO_SYNC_NONE;
    opts.big_day_points = 1u << 30;
    opts.index_page_blocks = 1;
    struct sto_store *st = kit_open(&opts);
    fill_sparse(st);
    kit_close(st);

    opts.index_cache_bytes = CACHE_BYTES;
    opts.index_late = true;
    st = kit_open(&opts);
    struct figures opened = figures(st);
    assert_true(opened.files >= SPARSE_FILES);
    assert_int_equal(opened.cache_bytes, 0); /* nothing of an index was read yet */
    for (unsigned i = 0; i < SPARSE_SERIES; i += 23) {
        expect_hours(st, i, 0, SPARSE_FILES * SPARSE_HOURS - 1);
        assert_true(figures(st).cache_bytes <= CACHE_BYTES);
    }
    struct figures used = figures(st);
    assert_true(used.evicted > SPARSE_FILES);
    /* the fences of a file, two or three for its blocks, are all that stays */
    assert_true(used.index_bytes > opened.index_bytes);
    assert_true(used.index_bytes - opened.index_bytes < used.files * 200);
    kit_close(st);
    t_faultfs_free(f);
}

/* --- damage that is found late --- */

/* All points in one pair of files; its path and the place of its index, behind the set of its series, to *path and *at. */
static struct t_faultfs *one_file(struct diary *d, char *path, size_t n_path, uint64_t *at)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 1000 * N_SERIES; i++)
        assert_int_equal(kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                T0 + i / N_SERIES * 1000, i * 7919 % 10007),
                         0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    kit_close(st);
    *at = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *p = t_faultfs_path(f, i);
        if (!strstr(p, "/files/") || strcmp(p + strlen(p) - 2, ".t") != 0)
            continue;
        size_t n;
        uint8_t *bytes = t_faultfs_get(f, p, &n);
        *at = ts_ld64(bytes + n - 160 + 96); /* docs/FORMAT.md: offset of the index */
        ts_free(bytes);
        (void)snprintf(path, n_path, "%s", p);
    }
    assert_true(*at > 0);
    return f;
}

/* One scan of series 0. */
static int scan(struct sto_store *st, struct ts_error *err)
{
    const struct sto_series *s = kit_series(st, 0);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0,
                                 .to_ms = T0 + TS_DAY_MS,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *m = NULL;
    struct sto_row row;
    int rc = sto_scan(snap, &spec, &m, err);
    while (rc == 0 && (rc = sto_merge_next(m, &row, err)) == 1)
        rc = 0;
    sto_merge_free(m);
    sto_snap_release(snap);
    return rc;
}

static void test_store_index__late_damage_is_made_good(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) { /* found by a query, or in the background */
        struct diary d = {0};
        struct ts_error err = {0};
        char path[64];
        uint64_t at;
        struct t_faultfs *f = one_file(&d, path, sizeof path, &at);
        struct sto_opts opts = KIT_OPTS(f, 1);
        opts.index_late = true;
        assert_true(t_faultfs_flip(f, path, at + 1, 4));
        struct sto_store *st = kit_open(&opts);
        if (asked) {
            assert_int_equal(scan(st, &err), TS_ECORRUPT);
            assert_non_null(strstr(err.text, path));
        }
        assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
        kit_expect_all(st, &d, "made again");
        assert_true(strcmp(t_faultfs_path(f, 0), path) != 0);
        kit_close(st);
        opts.index_late = false;
        st = kit_open(&opts);
        kit_expect_all(st, &d, "opened again");
        kit_close(st);
        diary_release(&d);
        t_faultfs_free(f);
    }
}

/* A page of the set of series is damaged after the store was opened. */
static void test_store_index__a_set_of_series_is_made_good(void **state)
{
    (void)state;
    struct diary d = {0};
    struct ts_error err = {0};
    char path[64];
    uint64_t at;
    struct t_faultfs *f = one_file(&d, path, sizeof path, &at);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.index_late = true;
    struct sto_store *st = kit_open(&opts);
    assert_true(t_faultfs_flip(f, path, at - 1, 4));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(scan(st, &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "series bitmap"));
    }
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
    kit_expect_all(st, &d, "made again");
    assert_true(strcmp(t_faultfs_path(f, 0), path) != 0);
    kit_close(st);
    st = kit_open(&opts);
    kit_expect_all(st, &d, "opened again");
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* Rows are lost as well: that file takes part in nothing, and all others are merged. */
static void test_store_index__lost_rows_stop_nothing_else(void **state)
{
    (void)state;
    struct diary d = {0}, later = {0};
    struct ts_error err = {0};
    char path[64];
    uint64_t at;
    struct t_faultfs *f = one_file(&d, path, sizeof path, &at);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.index_late = true;
    assert_true(t_faultfs_flip(f, path, at + 1, 4));
    assert_true(t_faultfs_flip(f, path, 100, 4)); /* a block */
    struct sto_store *st = kit_open(&opts);
    for (int part = 0; part < 2; part++) {
        for (int64_t i = 0; i < 100; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &later, 1, STO_OP_PUT,
                                    T0 + 100 * TS_DAY_MS + (2 * i + part) * 1000, i),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    }
    assert_int_equal(figures(st).files, 3);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
    assert_int_equal(figures(st).files, 2);
    assert_int_equal(scan(st, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, path));
    kit_close(st);
    diary_release(&d);
    diary_release(&later);
    t_faultfs_free(f);
}

/* There is no room to make it again: other files are merged, which gives room, and then it is. */
static void test_store_index__without_room_all_else_goes_on(void **state)
{
    (void)state;
    struct diary d = {0};
    struct ts_error err = {0};
    char path[64];
    uint64_t at;
    struct t_faultfs *f = one_file(&d, path, sizeof path, &at);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.index_late = true;
    assert_true(t_faultfs_flip(f, path, at + 1, 4));
    struct sto_store *st = kit_open(&opts);
    for (int part = 0; part < 2; part++) {
        for (int64_t i = 0; i < 10; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_PUT,
                                    T0 + 100 * TS_DAY_MS + (2 * i + part) * 1000, i),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    }
    leave_room(f, 4000); /* the damaged file is longer */
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), TS_ENOSPC);
        assert_int_equal(figures(st).files, 2);
        assert_non_null(strstr(err.text, "making file"));
    }
    t_faultfs_set_capacity(f, 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
    assert_int_equal(figures(st).files, 2);
    kit_expect_all(st, &d, "made again");
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

int main(void)
{
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* damage is expected here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_index__a_large_sparse_index_keeps_to_the_cache),
        cmocka_unit_test(test_store_index__late_damage_is_made_good),
        cmocka_unit_test(test_store_index__a_set_of_series_is_made_good),
        cmocka_unit_test(test_store_index__lost_rows_stop_nothing_else),
        cmocka_unit_test(test_store_index__without_room_all_else_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
