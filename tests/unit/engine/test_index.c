/*
 * test_index.c - pages of indexes: every lookup is what the whole index says, whatever the size of pages and cache; the cache keeps to
 * its limit; damage in each page is found and named; errors of reading pass and come back right.
 */
#include "tests/unit/engine/sst_kit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/engine/files/index.h"

#define N_KEYS    300u /* series of the standard file, twice; it has about thirty blocks */
#define N_THREADS 4u

/* The whole index of a file, as the plain reader of the format has it. */
struct whole {
    struct sto_sst_footer foot;
    struct sto_sst_block *blocks;
    uint64_t bytes; /* of the file */
};

static struct whole read_whole(const char *path)
{
    struct whole w = {.blocks = NULL};
    struct ts_error err = {0};
    size_t n;
    uint8_t *p = t_faultfs_get(disk, path, &n);
    w.bytes = n;
    assert_int_equal(sto_sst__get_footer(p + n - STO_SST_FOOTER_BYTES, n, path, &w.foot, &err), 0);
    w.blocks = ts_xcalloc(w.foot.n_blocks, sizeof *w.blocks);
    struct ts_slice index = {(const char *)p + w.foot.index_off,
                             n - STO_SST_FOOTER_BYTES - (size_t)w.foot.index_off};
    assert_int_equal(sto_sst__get_index(index, w.blocks, w.foot.n_blocks, w.foot.tombs_off), 0);
    ts_free(p);
    return w;
}

static struct sto_index open_path(const char *path, const struct whole *w, struct sto_pages *cache)
{
    struct sto_index x;
    struct sto_handle *file = ts_xmalloc(sizeof *file);
    sto_handle_init(file, t_faultfs_fs(disk), path, NULL);
    sto_index_init(&x, file, w->bytes, &w->foot, cache);
    return x;
}

static struct sto_index open_index(const struct whole *w, struct sto_pages *cache)
{
    return open_path(T_PATH, w, cache);
}

static void close_index(struct sto_index *x)
{
    struct sto_handle *file = x->file;
    sto_index_release(x);
    sto_handle_close(file);
    ts_free(file);
}

static bool same_block(const struct sto_sst_block *a, const struct sto_sst_block *b)
{
    return sto_key_cmp(&a->first, &b->first) == 0 && sto_key_cmp(&a->last, &b->last) == 0 &&
           a->len == b->len && a->crc == b->crc && a->off == b->off;
}

/* Is the hit what the whole index says of block i? */
static bool is_block(const struct whole *w, uint32_t i, const struct sto_index_hit *hit)
{
    static const struct sto_key begin = {.hour = INT32_MIN};
    return hit->i == i && same_block(&hit->block, &w->blocks[i]) &&
           sto_key_cmp(&hit->before, i ? &w->blocks[i - 1].last : &begin) == 0;
}

/* Is the answer for key that of a plain search? */
static bool is_found(const struct whole *w, struct sto_index_reader *r, struct sto_key key)
{
    struct sto_index_hit hit;
    uint32_t want = 0;
    while (want < w->foot.n_blocks && sto_key_cmp(&w->blocks[want].last, &key) < 0)
        want++;
    int rc = sto_index_find(r, &key, &hit, NULL);
    return want == w->foot.n_blocks ? rc == 0 : rc == 1 && is_block(w, want, &hit);
}

/* The key before, or behind. */
static struct sto_key beside(struct sto_key key, int by)
{
    key.hour += by;
    return key;
}

static void check_all(const struct whole *w, struct sto_index *x, bool alone)
{
    struct sto_index_reader r = {.x = x, .alone = alone};
    struct sto_index_hit hit;
    for (uint32_t i = 0; i < w->foot.n_blocks; i++) {
        assert_int_equal(sto_index_at(&r, i, &hit, NULL), 0);
        assert_true(is_block(w, i, &hit));
    }
    for (uint32_t round = 0; round < 2 * w->foot.n_blocks; round++) {
        const struct sto_sst_block *b = &w->blocks[rnd() % w->foot.n_blocks];
        for (int by = -1; by <= 1; by++) {
            assert_true(is_found(w, &r, beside(b->first, by)));
            assert_true(is_found(w, &r, beside(b->last, by)));
        }
    }
    assert_true(is_found(w, &r, (struct sto_key){.hour = INT32_MIN}));
    assert_true(is_found(w, &r, (struct sto_key){UINT32_MAX, UINT32_MAX, INT32_MAX}));
    sto_index_reader_release(&r);
}

static void test_index__lookups_are_those_of_the_whole_index(void **state)
{
    static const uint32_t page_blocks[] = {1, 2, 3, 7, 0};
    static const uint64_t limits[] = {1, 700, 3000, 1 << 20};
    (void)state;
    (void)write_standard(N_KEYS);
    struct whole w = read_whole(T_PATH);
    assert_true(w.foot.n_blocks > 14);
    for (size_t p = 0; p < 5; p++)
        for (size_t l = 0; l <= 4; l++) { /* the last one: no cache */
            struct sto_pages_opts opts = {.limit_bytes = limits[l % 4], .page_blocks = page_blocks[p]};
            struct sto_pages *cache = l < 4 ? sto_pages_new(&opts) : NULL;
            struct sto_index x = open_index(&w, cache);
            check_all(&w, &x, false);
            check_all(&w, &x, true);
            close_index(&x);
            sto_pages_free(cache);
        }
    ts_free(w.blocks);
}

/* Points and summaries of several files have pages of the same numbers in the same buckets. */
static void test_index__files_share_a_cache(void **state)
{
    enum { N = 12 };
    (void)state;
    (void)write_standard(N_KEYS);
    struct whole w[2] = {read_whole(T_PATH), read_whole(S_PATH)};
    struct sto_pages *cache = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = 20000, .page_blocks = 2});
    struct sto_index x[N];
    struct sto_index_hit hit;
    for (unsigned i = 0; i < N; i++)
        x[i] = open_path(i % 2 ? S_PATH : T_PATH, &w[i % 2], cache);
    for (unsigned round = 0; round < 3; round++)
        for (uint32_t b = 0; b < w[1].foot.n_blocks; b++)
            for (unsigned i = 0; i < N; i++) {
                struct sto_index_reader r = {.x = &x[i]};
                assert_int_equal(sto_index_at(&r, b, &hit, NULL), 0);
                assert_true(is_block(&w[i % 2], b, &hit));
            }
    for (unsigned i = 0; i < N; i++)
        close_index(&x[i]);
    sto_pages_free(cache);
    ts_free(w[0].blocks);
    ts_free(w[1].blocks);
}

static void test_index__an_empty_index_has_no_block(void **state)
{
    (void)state;
    struct sto_sst_writer *writer = new_writer();
    struct sto_tomb t = {1, 2, -3, 4, 0};
    assert_int_equal(sto_sst_write_tomb(writer, &t, NULL), 0);
    (void)must_finish(writer);
    struct whole w = read_whole(T_PATH);
    struct sto_index x = open_index(&w, NULL);
    struct sto_index_reader r = {.x = &x};
    assert_true(is_found(&w, &r, (struct sto_key){.hour = INT32_MIN}));
    assert_int_equal(sto_index_load(&x, NULL), 0);
    close_index(&x);
    ts_free(w.blocks);
}

/* More is read than fits; what is used again and again stays. */
static void test_index__the_cache_keeps_to_its_limit(void **state)
{
    enum { LIMIT = 1200 };
    (void)state;
    (void)write_standard(N_KEYS);
    struct whole w = read_whole(T_PATH);
    struct sto_pages *cache = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = LIMIT, .page_blocks = 2});
    struct sto_index x = open_index(&w, cache);
    struct sto_index_reader r = {.x = &x};
    struct sto_index_hit hit;
    uint64_t most = 0,
             table = 16 * sizeof(struct sto_page *); /* hash table: so few pages need no larger one */
    assert_int_equal(sto_index_at(&r, 0, &hit, NULL), 0);
    for (uint32_t round = 0; round < 20; round++)
        for (uint32_t i = 2; i < w.foot.n_blocks; i += 2) {
            assert_int_equal(sto_index_at(&r, i, &hit, NULL), 0);
            uint64_t misses = sto_pages_stats(cache).n_misses;
            assert_int_equal(sto_index_at(&r, 0, &hit, NULL), 0);
            assert_int_equal(sto_pages_stats(cache).n_misses, misses); /* the page in constant use is there */
            uint64_t held = sto_pages_stats(cache).bytes;
            assert_true(held <= LIMIT);
            most = held > most ? held : most;
        }
    assert_true(most > LIMIT / 2);
    assert_true(sto_pages_stats(cache).n_evicted > 20);
    close_index(&x);
    assert_int_equal(sto_pages_stats(cache).bytes, table); /* pages of a closed file go */
    sto_pages_free(cache);
    ts_free(w.blocks);
}

/* A merge reads a whole file, and every page once, without filling the cache. */
static void test_index__walks_leave_the_cache_alone(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(N_KEYS);
    struct sto_key first = {.hour = INT32_MIN};
    pages = sto_pages_new(&(struct sto_pages_opts){.page_blocks = 2});
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    uint64_t n = 0, calls = t_faultfs_calls(disk, T_OP_PREAD);
    struct whole w = read_whole(T_PATH);
    sto_sst_cur_set_walk(cur);
    int rc = sto_sst_cur_seek(cur, &first, NULL);
    for (; rc == 1; rc = sto_sst_cur_next(cur, NULL))
        n++;
    assert_int_equal(rc, 0);
    assert_int_equal(n, info.n_rows);
    assert_int_equal(t_faultfs_calls(disk, T_OP_PREAD) - calls,
                     w.foot.n_blocks + (w.foot.n_blocks + 1) / 2); /* blocks and pages, each once */
    assert_int_equal(sto_pages_stats(pages).bytes, 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
    sto_pages_free(pages);
    pages = NULL;
    ts_free(w.blocks);
}

/* A byte of each page changes: before the index was read it is found at once, afterwards when that page is. */
static void test_index__damage_is_found_in_each_page(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(N_KEYS);
    struct whole w = read_whole(T_PATH);
    struct ts_error err;
    for (int late = 0; late < 2; late++)
        for (uint32_t i = 0; i < w.foot.n_blocks; i += 2) {
            uint64_t size = w.bytes - STO_SST_FOOTER_BYTES - w.foot.index_off;
            uint64_t at = w.foot.index_off + size * i / w.foot.n_blocks;
            pages = sto_pages_new(&(struct sto_pages_opts){.page_blocks = 2, .late = true});
            struct sto_sst *sst = must_open(&info);
            struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
            int rc = 1;
            if (late)
                assert_int_equal(sto_sst_check_index(sst, NULL), 0);
            assert_false(sto_sst_needs_remake(sst));
            assert_true(t_faultfs_flip(disk, T_PATH, at, 16));
            for (uint32_t b = 0; rc == 1 && b < w.foot.n_blocks; b++)
                rc = sto_sst_cur_seek(cur, &w.blocks[b].first, &err);
            assert_int_equal(rc, TS_ECORRUPT);
            assert_non_null(strstr(err.text, T_PATH));
            assert_non_null(strstr(err.text, "index"));
            assert_true(sto_sst_has_lost_index(sst));
            assert_true(sto_sst_needs_remake(sst));
            assert_int_equal(late ? 0 : sto_sst_check_index(sst, NULL), late ? 0 : TS_ECORRUPT);
            assert_true(t_faultfs_flip(disk, T_PATH, at, 16));
            assert_int_equal(sto_sst_cur_seek(cur, &w.blocks[0].first, NULL),
                             1); /* read again, it is right */
            sto_sst_cur_free(cur);
            sto_sst_unref(sst);
            sto_pages_free(pages);
        }
    pages = NULL;
    ts_free(w.blocks);
}

/* Summaries whose index is damaged are done without. */
static void test_index__summaries_are_lost_alone(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(N_KEYS);
    struct whole w = read_whole(S_PATH);
    pages = sto_pages_new(&(struct sto_pages_opts){.late = true});
    struct sto_sst *sst = must_open(&info);
    assert_true(sto_sst_has_sums(sst));
    assert_true(t_faultfs_flip(disk, S_PATH, w.foot.index_off + 1, 2));
    assert_int_equal(sto_sst_check_index(sst, NULL), 0);
    assert_false(sto_sst_has_sums(sst));
    assert_false(sto_sst_has_lost_index(sst));
    sto_sst_unref(sst);
    sto_pages_free(pages);
    pages = NULL;
    ts_free(w.blocks);
}

/* Each read fails once: that is an error, not damage, and the next try is right. */
static void test_index__errors_of_reading_pass(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(N_KEYS);
    struct whole w = read_whole(T_PATH);
    bool fired = true;
    pages = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = 600, .page_blocks = 2, .late = true});
    for (uint64_t at = 1; fired; at++) {
        struct sto_sst *sst = must_open(&info);
        struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
        unsigned n_failed = 0;
        t_faultfs_plan(disk, (struct t_fault_plan){.ops = T_OP_PREAD, .at = at, .fault = T_FAULT_EIO});
        for (uint32_t b = 0; b < w.foot.n_blocks; b++) {
            int rc = sto_sst_cur_seek(cur, &w.blocks[b].first, NULL);
            if (rc == TS_EIO) {
                n_failed++;
                rc = sto_sst_cur_seek(cur, &w.blocks[b].first, NULL);
            }
            assert_int_equal(rc, 1);
            assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &w.blocks[b].first), 0);
        }
        fired = t_faultfs_fired(disk);
        assert_int_equal(n_failed, fired);
        assert_false(sto_sst_has_lost_index(sst));
        t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
        sto_sst_cur_free(cur);
        sto_sst_unref(sst);
    }
    sto_pages_free(pages);
    pages = NULL;
    ts_free(w.blocks);
}

/* A real file: the file system in memory is for one thread at a time. */
struct crowd {
    const struct whole *w;
    struct sto_index *x;
    uint64_t seed;
    unsigned n_wrong;
};

static void *look_around(void *arg)
{
    struct crowd *c = arg;
    struct sto_index_reader r = {.x = c->x};
    struct sto_index_hit hit;
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t b = (uint32_t)(t_rand(&c->seed) % c->w->foot.n_blocks);
        c->n_wrong += !is_found(c->w, &r, c->w->blocks[b].first);
        c->n_wrong += sto_index_at(&r, b, &hit, NULL) < 0 || !is_block(c->w, b, &hit);
    }
    sto_index_reader_release(&r);
    return NULL;
}

static void test_index__threads_look_at_once(void **state)
{
    (void)state;
    (void)write_standard(N_KEYS);
    struct whole w = read_whole(T_PATH);
    char path[64] = "/tmp/tsd-test-index-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t n;
    uint8_t *p = t_faultfs_get(disk, T_PATH, &n);
    assert_int_equal(write(fd, p, n), (ssize_t)n);
    assert_int_equal(close(fd), 0);
    ts_free(p);
    struct sto_pages *cache = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = 1500, .page_blocks = 2});
    struct sto_handle file;
    struct sto_index x;
    sto_handle_init(&file, ts_fs_real(), path, NULL);
    sto_index_init(&x, &file, w.bytes, &w.foot, cache);
    pthread_t threads[N_THREADS];
    struct crowd crowds[N_THREADS];
    for (unsigned i = 0; i < N_THREADS; i++) {
        crowds[i] = (struct crowd){.w = &w, .x = &x, .seed = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, look_around, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(crowds[i].n_wrong, 0);
    }
    assert_true(sto_pages_stats(cache).bytes <= 1500);
    assert_true(sto_pages_stats(cache).n_hits > 0);
    sto_index_release(&x);
    sto_handle_close(&file);
    sto_pages_free(cache);
    (void)unlink(path);
    ts_free(w.blocks);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* damage is expected here */
    const struct CMUnitTest tests[] = {
        CASE(test_index__lookups_are_those_of_the_whole_index),
        CASE(test_index__files_share_a_cache),
        CASE(test_index__an_empty_index_has_no_block),
        CASE(test_index__the_cache_keeps_to_its_limit),
        CASE(test_index__walks_leave_the_cache_alone),
        CASE(test_index__damage_is_found_in_each_page),
        CASE(test_index__summaries_are_lost_alone),
        CASE(test_index__errors_of_reading_pass),
        CASE(test_index__threads_look_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
