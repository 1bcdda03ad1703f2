/*
 * test_catalog_threads.c - the catalog used by several at once: readers and writers, and names made while its log is
 * rewritten.
 */
#include "tests/unit/catalog/t_catalog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* --- names that are made while the log is rewritten --- */

static struct sto_catalog *t_tidied; /* being rewritten; NULL = none */
static int t_n_meanwhile;            /* series made then */
static struct ts_file *t_fresh;      /* the file that is written beside the log */

static int meanwhile_open(const struct ts_fs *fs, const char *path, enum ts_open mode, struct ts_file **out,
                          struct ts_error *err)
{
    (void)fs;
    int rc = ts_fs_real()->open(ts_fs_real(), path, mode, out, err);
    if (rc == 0 && strcmp(path + strlen(path) - 8, ".log.tmp") == 0)
        t_fresh = *out;
    return rc;
}

/* As another thread may do: nothing is locked while the header and the checkpoint are written, the first two times. */
static int meanwhile_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (t_tidied && file == t_fresh && t_n_meanwhile < 4) {
        char text[64];
        struct sto_catalog *cat = t_tidied;
        t_tidied = NULL;
        (void)snprintf(text, sizeof(text), "late host=l%d zone=new", t_n_meanwhile++);
        t_series(cat, text);
        assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
        assert_int_equal(sto_series_n_on_disk(cat), sto_series_count(cat));
        (void)snprintf(text, sizeof(text), "late host=l%d zone=new", t_n_meanwhile++);
        t_series(cat, text);
        t_tidied = cat;
    }
    return ts_fs_real()->append(file, p, n, err);
}

static void test_catalog_threads__tidying_keeps_what_is_made_meanwhile(void **state)
{
    (void)state;
    struct ts_fs fs = *ts_fs_real();
    fs.open = meanwhile_open;
    fs.append = meanwhile_append;
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .tidied = true, .grow_bytes = 1000};
    struct sto_catalog *cat;
    assert_int_equal(sto_catalog_open(&fs, &opts, &cat, NULL), 0);
    for (int i = 0; i < 3000; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "m host=h%d zone=z%d", i, i % 5);
        t_series(cat, text);
        if (i % 10 == 0)
            assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    }
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    size_t before = t_file_bytes();
    t_n_meanwhile = 0;
    t_tidied = cat;
    assert_int_equal(sto_catalog_tidy(cat, NULL), 0);
    t_tidied = NULL;
    assert_int_equal(t_n_meanwhile, 4);
    assert_true(t_file_bytes() < before / 4);
    assert_int_equal(sto_catalog_tidy(cat, NULL), 0); /* nothing has grown */
    struct ts_buf want;
    t_dump(cat, &want);
    t_close(cat);
    cat = t_open();
    assert_int_equal(sto_series_count(cat), 3000 + t_n_meanwhile);
    t_same(cat, &want);
    t_close(cat);
    ts_buf_release(&want);
}

/* --- threads --- */

#define T_WRITES 6000

/* What the threads of one case share. */
struct t_shared {
    struct sto_catalog *cat;
    _Atomic bool done; /* the writer has ended */
};

static void *t_reader(void *arg)
{
    struct t_shared *sh = arg;
    uint64_t n_seen = 0;
    while (!atomic_load(&sh->done) || n_seen == 0) {
        uint32_t n = sto_series_count(sh->cat);
        for (uint32_t id = n > 50 ? n - 50 : 0; id < n; id++) {
            const struct sto_series *s = sto_series_get(sh->cat, id);
            assert_non_null(s);
            for (unsigned t = 0; t < s->n_tags; t++)
                assert_non_null(sto_uid_name(sh->cat, STO_UID_TAGV, s->tags[t].v).p);
            assert_int_equal(sto_series_text(s).p[s->metric_len], ' ');
            n_seen++;
        }
        sto_catalog_generation(sh->cat);
    }
    return NULL;
}

static bool t_ends_with_7(void *arg, struct ts_slice value)
{
    (void)arg;
    return value.p[value.n - 1] == '7';
}

static void t_ignore(void *arg, uint32_t id, struct ts_slice name)
{
    (void)arg;
    (void)id;
    assert_true(name.n > 0);
}
static void t_ignore_stat(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    (void)name;
    (void)value;
}

static void *t_selector(void *arg)
{
    struct t_shared *sh = arg;
    while (!atomic_load(&sh->done)) {
        uint32_t metric = t_id(sh->cat, STO_UID_METRIC, "m");
        struct sto_tag_cond cond = {.tagk = t_id(sh->cat, STO_UID_TAGK, "host"), .match = t_ends_with_7};
        roaring_bitmap_t *set;
        sto_select(sh->cat, metric, &cond, 1, false, NULL, &set, NULL);
        roaring_bitmap_free(set);
        sto_uid_suggest(sh->cat, STO_UID_TAGV, TS_SLICE_LIT("h1"), 10, t_ignore, NULL);
        sto_catalog_stats(sh->cat, t_ignore_stat, NULL);
    }
    return NULL;
}

static void *t_syncer(void *arg)
{
    struct t_shared *sh = arg;
    for (int i = 0; !atomic_load(&sh->done); i++) {
        assert_int_equal(sto_catalog_sync(sh->cat, false, NULL), 0);
        assert_int_equal(sto_catalog_tidy(sh->cat, NULL), 0);
        char to[32];
        (void)snprintf(to, sizeof(to), "moving%d", i);
        uint32_t id = t_id(sh->cat, STO_UID_TAGV, "h0");
        if (id && i == 3)
            sto_uid_rename(sh->cat, STO_UID_TAGV, sto_uid_name(sh->cat, STO_UID_TAGV, id), ts_slice_str(to),
                           NULL);
    }
    return NULL;
}

static void *t_second_writer(void *arg)
{
    struct t_shared *sh = arg;
    for (int i = 0; i < T_WRITES; i++) { /* meets the first writer on the same series, spelled otherwise */
        char text[64];
        (void)snprintf(text, sizeof(text), "m zone=z%d host=h%d", i % 5, i);
        t_series(sh->cat, text);
    }
    return NULL;
}

static void test_catalog_threads__readers_and_writers_at_once(void **state)
{
    (void)state;
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .tidied = true, .grow_bytes = 2000};
    struct t_shared sh = {.done = false};
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &sh.cat, NULL), 0);
    void *(*const jobs[])(void *) = {t_reader, t_selector, t_syncer, t_second_writer};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], &sh), 0);
    for (int i = 0; i < T_WRITES; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "m host=h%d zone=z%d", i, i % 5);
        const struct sto_series *s = t_series(sh.cat, text);
        assert_int_equal(s->n_tags, 2);
    }
    pthread_join(threads[3], NULL);
    atomic_store(&sh.done, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    uint32_t n = sto_series_count(sh.cat);
    assert_in_range(n, T_WRITES, T_WRITES + 1); /* h0 once more if it was renamed between the writers */
    struct ts_buf want;
    t_close(sh.cat);
    sh.cat = t_open();
    assert_int_equal(sto_series_count(sh.cat), n);
    t_dump(sh.cat, &want);
    ts_buf_release(&want);
    t_close(sh.cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_catalog_threads__tidying_keeps_what_is_made_meanwhile),
        T_CASE(test_catalog_threads__readers_and_writers_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
