/*
 * test_sst_series.c - sets of series of files against plain Roaring bitmaps: every form of container, every size of page and cache;
 * many wide sets keep to the cache's limit; damage is found and named; errors of reading pass.
 */
#include "tests/unit/engine/sst_kit.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "storage/engine/files/sst_series.h"

#define BEHIND 7u /* bytes before the set and behind it */

enum form { FEW, ARRAYS, BITSETS, RUNS, MIXED, SPREAD, FULL, ENDS, EMPTY, FORMS };

static void add_random(roaring_bitmap_t *b, uint32_t from, uint32_t n_from, unsigned n)
{
    while (n--)
        roaring_bitmap_add(b, from + (uint32_t)(rnd() % n_from));
}

/* A set of one form; in each a container more or less at random. */
static roaring_bitmap_t *make_set(enum form form)
{
    roaring_bitmap_t *b = roaring_bitmap_create();
    if (form == FEW)
        add_random(b, 0, 3u << 16, 5);
    for (uint32_t key = 3; key < 12; key++) {
        uint32_t from = (key * key) << 16;
        if (form == ARRAYS || (form == MIXED && key % 3 == 0))
            add_random(b, from, 65536, key * 400);
        if (form == BITSETS || (form == MIXED && key % 3 == 1))
            add_random(b, from, 65536, 5000 + key * 300);
        for (uint32_t r = 0; (form == RUNS || (form == MIXED && key % 3 == 2)) && r < key * 7; r++) {
            uint32_t first = from + r * 900 + (uint32_t)(rnd() % 50);
            roaring_bitmap_add_range(b, first, first + 1 + rnd() % 700);
        }
    }
    if (form == SPREAD)
        for (uint32_t key = 0; key < 6000; key++)
            roaring_bitmap_add(b, key << 16 | (uint32_t)(rnd() % 65536));
    if (form == FULL)
        roaring_bitmap_add_range(b, 65536, 5ull << 16);
    if (form == ENDS) {
        roaring_bitmap_add(b, 0);
        roaring_bitmap_add(b, UINT32_MAX);
    }
    roaring_bitmap_run_optimize(b);
    return b;
}

/* Write a set into a file of its own, as a sorted file would have it. */
static struct sto_sst_footer write_set(const roaring_bitmap_t *b)
{
    size_t n = roaring_bitmap_portable_size_in_bytes(b);
    uint8_t *p = ts_xcalloc(1, n + 2 * BEHIND);
    assert_int_equal(roaring_bitmap_portable_serialize(b, (char *)p + BEHIND), n);
    t_faultfs_put(disk, T_PATH, p, n + 2 * BEHIND);
    struct sto_sst_footer foot = {
        .bitmap_off = BEHIND, .index_off = BEHIND + n, .bitmap_crc = ts_crc32c(0, p + BEHIND, n)};
    ts_free(p);
    return foot;
}

static struct sto_handle *open_file(void)
{
    struct sto_handle *file = ts_xmalloc(sizeof *file);
    sto_handle_init(file, t_faultfs_fs(disk), T_PATH, NULL);
    return file;
}

static int open_set(struct sto_sst_series *s, const struct sto_sst_footer *foot, struct sto_pages *cache,
                    struct ts_error *err)
{
    return sto_sst_series_open(s, open_file(), foot, cache, err);
}

static void close_set(struct sto_sst_series *s)
{
    struct sto_handle *file = s->file;
    sto_sst_series_release(s);
    sto_handle_close(file);
    ts_free(file);
}

/* Is each of n numbers found where it is, and its neighbours where they are? */
static void check_numbers(struct sto_sst_series *s, const roaring_bitmap_t *want, unsigned n)
{
    struct sto_sst_series_reader r = {.filled = false};
    uint64_t all = roaring_bitmap_get_cardinality(want);
    for (unsigned i = 0; i < n; i++) {
        uint32_t id = (uint32_t)rnd();
        if (i % 4 && all)
            assert_true(roaring_bitmap_select(want, (uint32_t)(rnd() % all), &id));
        for (uint32_t x = id - 1; x != id + 2; x++)
            assert_int_equal(sto_sst_series_has(s, &r, x, NULL), roaring_bitmap_contains(want, x));
    }
    uint32_t from = all ? roaring_bitmap_minimum(want) - 3 : 0;
    for (uint32_t x = from; x != from + 3000; x++) /* in order */
        assert_int_equal(sto_sst_series_has(s, &r, x, NULL), roaring_bitmap_contains(want, x));
}

static void check_selection(struct sto_sst_series *s, const roaring_bitmap_t *want,
                            const roaring_bitmap_t *selection)
{
    roaring_bitmap_t *both = roaring_bitmap_and(want, selection), *got = roaring_bitmap_create();
    assert_int_equal(sto_sst_series_meets(s, selection, NULL), !roaring_bitmap_is_empty(both));
    assert_int_equal(sto_sst_series_common(s, selection, got, NULL), 0);
    assert_true(roaring_bitmap_equals(got, both));
    roaring_bitmap_free(got);
    roaring_bitmap_free(both);
}

static void check_set(struct sto_sst_series *s, const roaring_bitmap_t *want)
{
    assert_true(s->count == roaring_bitmap_get_cardinality(want));
    assert_true(!s->count || s->max == roaring_bitmap_maximum(want));
    check_numbers(s, want, 40);
    for (enum form form = FEW; form < FORMS; form++) {
        roaring_bitmap_t *selection = make_set(form);
        check_selection(s, want, selection);
        roaring_bitmap_flip_inplace(selection, 0, 200ull << 16);
        check_selection(s, want, selection);
        roaring_bitmap_free(selection);
    }
    roaring_bitmap_t *got = roaring_bitmap_create(), *others = roaring_bitmap_copy(want);
    assert_int_equal(sto_sst_series_add_to(s, got, NULL), 0);
    assert_true(roaring_bitmap_equals(got, want));
    roaring_bitmap_flip_inplace(others, 0, 1ull << 32);
    assert_int_equal(sto_sst_series_meets(s, others, NULL), 0);
    roaring_bitmap_free(others);
    roaring_bitmap_free(got);
}

static void test_sst_series__answers_are_those_of_the_bitmap(void **state)
{
    static const struct sto_pages_opts caches[] = {{.late = false},
                                                   {.late = true},
                                                   {.late = true, .page_blocks = 1},
                                                   {.late = true, .page_blocks = 40, .limit_bytes = 9000},
                                                   {.late = true, .limit_bytes = 1}};
    (void)state;
    for (enum form form = FEW; form < FORMS; form++) {
        roaring_bitmap_t *want = make_set(form);
        struct sto_sst_footer foot = write_set(want);
        for (size_t c = 0; c <= sizeof caches / sizeof caches[0]; c++) { /* the last one: no cache */
            struct sto_pages *cache = c < sizeof caches / sizeof caches[0] ? sto_pages_new(&caches[c]) : NULL;
            struct sto_sst_series s;
            assert_int_equal(open_set(&s, &foot, cache, NULL), 0);
            assert_int_equal(s.bytes != NULL, (c == 0 || !cache) && s.end - s.off <= STO_PAGES_EAGER_BYTES);
            check_set(&s, want);
            if (cache)
                assert_true(sto_pages_stats(cache).bytes <= sto_pages_stats(cache).limit_bytes);
            close_set(&s);
            sto_pages_free(cache);
        }
        roaring_bitmap_free(want);
    }
}

/* 200 files with a million numbers each: 128 KiB a bitmap, 25 MiB together. */
static void test_sst_series__many_wide_sets_keep_to_the_cache(void **state)
{
    enum { N = 200, LIMIT = 64 << 10, KEPT = 400 };
    static struct sto_sst_series sets[N];
    (void)state;
    roaring_bitmap_t *want = roaring_bitmap_create();
    for (uint32_t id = 0; id < 1u << 20; id += 2 + id % 3)
        roaring_bitmap_add(want, id);
    struct sto_sst_footer foot = write_set(want);
    assert_true(foot.index_off - foot.bitmap_off > 120000);
    struct sto_pages *cache = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = LIMIT});
    roaring_bitmap_t *few = roaring_bitmap_from_range(300000, 300003, 1), *got = roaring_bitmap_create();
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(open_set(&sets[i], &foot, cache, NULL), 0);
        assert_true(sto_sst_series_memory(&sets[i]) <= KEPT);
    }
    assert_true(sto_pages_stats(cache).bytes == 0); /* opening uses no page */
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < N; i++) {
            struct sto_sst_series_reader r = {.filled = false};
            for (uint32_t id = i; id < 1u << 20; id += 99991)
                assert_int_equal(sto_sst_series_has(&sets[i], &r, id, NULL),
                                 roaring_bitmap_contains(want, id));
            assert_int_equal(sto_sst_series_meets(&sets[i], few, NULL), 1);
            assert_true(sto_pages_stats(cache).bytes <= LIMIT);
        }
    assert_true(sto_pages_stats(cache).n_evicted > N);
    uint64_t evicted = sto_pages_stats(cache).n_evicted;
    assert_int_equal(sto_sst_series_add_to(&sets[0], got, NULL), 0);
    assert_true(roaring_bitmap_equals(got, want));
    assert_true(sto_pages_stats(cache).n_evicted == evicted); /* nor does reading all of a set */
    for (unsigned i = 0; i < N; i++)
        close_set(&sets[i]);
    assert_true(sto_pages_stats(cache).bytes < 4096); /* pages of closed files go */
    roaring_bitmap_free(got);
    roaring_bitmap_free(few);
    roaring_bitmap_free(want);
    sto_pages_free(cache);
}

/* All functions; the first error. */
static int use_all(struct sto_sst_series *s, const roaring_bitmap_t *want, struct ts_error *err)
{
    roaring_bitmap_t *got = roaring_bitmap_create();
    int rc = sto_sst_series_common(s, want, got, err);
    if (rc == 0)
        rc = sto_sst_series_add_to(s, got, err);
    if (rc == 0)
        assert_true(roaring_bitmap_equals(got, want));
    roaring_bitmap_free(got);
    return rc;
}

/* A byte changes: while the file is opened that is found at once, afterwards when its page is read. */
static void test_sst_series__damage_is_found(void **state)
{
    struct sto_pages_opts opts = {.late = true, .page_blocks = 8};
    (void)state;
    for (enum form form = FEW; form < FORMS; form++) {
        roaring_bitmap_t *want = make_set(form);
        struct sto_sst_footer foot = write_set(want);
        uint64_t step = (foot.index_off - foot.bitmap_off) / 90 + 1;
        for (uint64_t at = foot.bitmap_off; at < foot.index_off; at += step) {
            struct ts_error err = {0};
            struct sto_sst_series s;
            struct sto_pages *cache = sto_pages_new(&opts);
            assert_true(t_faultfs_flip(disk, T_PATH, at, (uint8_t)(1u << (at % 8))));
            assert_int_equal(open_set(&s, &foot, cache, &err), TS_ECORRUPT);
            assert_non_null(strstr(err.text, T_PATH));
            close_set(&s);
            assert_true(t_faultfs_flip(disk, T_PATH, at, (uint8_t)(1u << (at % 8))));
            assert_int_equal(open_set(&s, &foot, cache, NULL), 0);
            assert_true(t_faultfs_flip(disk, T_PATH, at, (uint8_t)(1u << (at % 8))));
            int rc = use_all(&s, want, &err);
            bool in_page = s.n_pages && at >= s.at[0].pos;
            assert_int_equal(rc, in_page ? TS_ECORRUPT : 0); /* the directory was read and is right */
            assert_int_equal(atomic_load(&s.damaged), in_page);
            assert_true(!in_page || (strstr(err.text, T_PATH) && strstr(err.text, "series bitmap")));
            assert_true(t_faultfs_flip(disk, T_PATH, at, (uint8_t)(1u << (at % 8))));
            assert_int_equal(use_all(&s, want, NULL), 0); /* read again, it is right */
            close_set(&s);
            sto_pages_free(cache);
        }
        roaring_bitmap_free(want);
    }
}

/* Each read fails once: that is an error, not damage, and the next try is right. */
static void test_sst_series__errors_of_reading_pass(void **state)
{
    (void)state;
    roaring_bitmap_t *want = make_set(MIXED);
    struct sto_sst_footer foot = write_set(want);
    struct sto_pages *cache = sto_pages_new(&(struct sto_pages_opts){.late = true});
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        struct sto_sst_series s;
        t_faultfs_plan(disk, (struct t_fault_plan){.ops = T_OP_PREAD, .at = at, .fault = T_FAULT_EIO});
        int rc = open_set(&s, &foot, cache, NULL);
        if (rc == 0) {
            rc = use_all(&s, want, NULL);
            fired = t_faultfs_fired(disk);
            assert_int_equal(rc, fired ? TS_EIO : 0);
            t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
            assert_int_equal(use_all(&s, want, NULL), 0);
            assert_false(atomic_load(&s.damaged));
        } else {
            assert_int_equal(rc, TS_EIO);
        }
        t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
        close_set(&s);
    }
    sto_pages_free(cache);
    roaring_bitmap_free(want);
}

/* Sizes that were not checked would be read: each short piece of a set is refused, with a good checksum. */
static void test_sst_series__pieces_are_refused(void **state)
{
    (void)state;
    for (enum form form = FEW; form < FORMS; form++) {
        roaring_bitmap_t *want = make_set(form);
        struct sto_sst_footer foot = write_set(want);
        size_t n;
        uint8_t *p = t_faultfs_get(disk, T_PATH, &n);
        uint64_t end = foot.index_off, step = (end - BEHIND) / 60 + 1;
        for (uint64_t cut = BEHIND; cut < end; cut += step) {
            struct sto_sst_series s;
            foot.index_off = cut;
            foot.bitmap_crc = ts_crc32c(0, p + BEHIND, (size_t)(cut - BEHIND));
            assert_int_equal(open_set(&s, &foot, NULL, NULL), TS_ECORRUPT);
            close_set(&s);
        }
        ts_free(p);
        roaring_bitmap_free(want);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* damage is expected here */
    const struct CMUnitTest tests[] = {
        CASE(test_sst_series__answers_are_those_of_the_bitmap),
        CASE(test_sst_series__many_wide_sets_keep_to_the_cache),
        CASE(test_sst_series__damage_is_found),
        CASE(test_sst_series__errors_of_reading_pass),
        CASE(test_sst_series__pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
