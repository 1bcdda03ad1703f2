/*
 * test_forget.c - series leave the catalog, for good and not too early.
 */
#include "tests/unit/catalog/t_catalog.h"

#include "storage/catalog/forget.h"
#include "tests/faults/faultfs.h"

#define N 3000

/* Forget all series but these; the number that went. */
static uint64_t forget_all_but(struct sto_catalog *cat, const uint32_t *ids, size_t n_ids)
{
    roaring_bitmap_t *used = roaring_bitmap_of_ptr(n_ids, ids);
    struct ts_error err = {0};
    uint64_t n = 0;
    if (sto_catalog_forget_begin(cat, used, NULL, NULL)) {
        sto_catalog_forget_spare(cat, used, NULL, NULL);
        if (sto_catalog_forget_finish(cat, &n, &err) < 0)
            fail_msg("%s", err.text);
    }
    roaring_bitmap_free(used);
    return n;
}

static uint64_t stat_value;
static const char *stat_name;
static void on_stat(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    if (strcmp(name, stat_name) == 0)
        stat_value = value;
}
static uint64_t stat_of(struct sto_catalog *cat, const char *name)
{
    stat_name = name;
    stat_value = UINT64_MAX;
    sto_catalog_stats(cat, on_stat, NULL);
    return stat_value;
}

static void make(struct sto_catalog *cat, unsigned day, unsigned n)
{
    char text[64];
    for (unsigned i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "m pod=p%u.%u kind=short", day, i);
        (void)t_series(cat, text);
    }
}

static uint64_t selected(struct sto_catalog *cat)
{
    roaring_bitmap_t *set;
    assert_int_equal(sto_select(cat, t_id(cat, STO_UID_METRIC, "m"), NULL, 0, false, NULL, &set, NULL), 0);
    uint64_t n = roaring_bitmap_get_cardinality(set);
    roaring_bitmap_free(set);
    return n;
}

static void test_forget__is_found_nowhere_and_its_number_is_not_given_out_again(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *s;
    uint32_t keep[] = {0, 7};
    make(cat, 0, N);
    for (int opened = 0; opened < 3; opened++) { /* at once, and from the log */
        if (opened == 0)
            assert_int_equal(forget_all_but(cat, keep, 2), N - 2);
        assert_int_equal(selected(cat), 2);
        assert_int_equal(t_resolve_rc(cat, "m pod=p0.5 kind=short", false, &s, NULL), TS_ENOTFOUND);
        assert_int_equal(t_resolve_rc(cat, "m pod=p0.7 kind=short", false, &s, NULL), 0);
        assert_int_equal(s->id, 7);
        assert_null(sto_series_get(cat, 5));
        assert_int_equal(stat_of(cat, "catalog.series"), 2);
        assert_int_equal(sto_series_count(cat), N);
        struct ts_error err = {0};
        assert_null(sto_series_known(cat, 5, &err)); /* not lost: forgotten */
        assert_int_equal(err.code, 0);
        assert_null(sto_series_known(cat, N + 5, &err));
        assert_int_equal(err.code, TS_ECORRUPT);
        t_close(cat);
        cat = t_open();
    }
    assert_int_equal(t_series(cat, "m pod=p0.5 kind=short")->id, N);
    assert_int_equal(selected(cat), 3);
    t_close(cat);
}

/* The number of own series follows when they are forgotten: no client gets more than the limit. */
static void test_forget__own_series_give_their_places_back(void **state)
{
    (void)state;
    struct sto_catalog *cat;
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 1, .max_series = 10};
    const struct sto_series *s;
    struct ts_error err = {0};
    uint32_t keep[] = {0};
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    assert_int_equal(t_own_rc(cat, "tsd.a host=h", &s, &err), 0);
    assert_int_equal(t_own_rc(cat, "tsd.b host=h", &s, &err), 0);
    make(cat, 0, 4);
    assert_int_equal(stat_of(cat, "catalog.series_left"), 6);
    assert_int_equal(forget_all_but(cat, keep, 1), 5);
    assert_int_equal(stat_of(cat, "catalog.series_left"), 10);
    make(cat, 1, 10);
    assert_int_equal(t_resolve_rc(cat, "m pod=more", true, &s, &err), TS_ELIMIT);
    t_close(cat);
}

/* A log that is mostly about what was forgotten is written anew, and still knows what was. */
static void test_forget__a_checkpoint_knows_what_was_forgotten(void **state)
{
    (void)state;
    struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .grow_bytes = 1};
    struct sto_catalog *cat;
    struct ts_error err = {0};
    uint32_t keep = 7;
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    make(cat, 0, N);
    assert_int_equal(forget_all_but(cat, &keep, 1), N - 1);
    uint64_t before = stat_of(cat, "catalog.log_bytes");
    assert_int_equal(sto_catalog_tidy(cat, &err), 0);
    assert_true(stat_of(cat, "catalog.log_bytes") != before); /* names stay */
    t_close(cat);
    cat = t_open();
    assert_int_equal(sto_series_count(cat), N);
    assert_null(sto_series_known(cat, N - 1, &err));
    assert_int_equal(err.code, 0);
    assert_int_equal(t_series(cat, "m pod=p0.5 kind=short")->id, N);
    t_close(cat);
}

static void test_forget__who_asks_keeps_it(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    roaring_bitmap_t *none = roaring_bitmap_create();
    const struct sto_series *s;
    uint64_t n;
    make(cat, 0, 10);
    uint64_t generation = sto_catalog_generation(cat);
    assert_int_equal(sto_catalog_forget_begin(cat, none, NULL, NULL), 10);
    assert_true(sto_catalog_generation(cat) != generation); /* caches of texts are void */
    assert_int_equal(t_resolve_rc(cat, "m pod=p0.3 kind=short", true, &s, NULL), 0);
    assert_int_equal(s->id, 3);
    assert_int_equal(t_resolve_rc(cat, "m pod=p0.4 kind=short", false, &s, NULL),
                     0); /* the guess asks, too */
    const struct sto_series *six = sto_series_get(cat, 6);
    assert_int_equal(sto_series_find_ids(cat, six->metric, six->tags, six->n_tags, &s), 0);
    assert_int_equal(sto_catalog_forget_finish(cat, &n, NULL), 0);
    assert_int_equal(n, 7);
    assert_non_null(sto_series_get(cat, 3));
    assert_non_null(sto_series_get(cat, 4));
    assert_non_null(sto_series_get(cat, 6));
    assert_int_equal(sto_catalog_forget_begin(cat, none, NULL, NULL), 3);
    sto_catalog_forget_cancel(cat);
    assert_int_equal(sto_catalog_forget_finish(cat, &n, NULL), 0);
    assert_int_equal(n, 0);
    roaring_bitmap_free(none);
    t_close(cat);
}

static void test_forget__memory_waits_for_readers(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    make(cat, 0, N);
    const struct sto_series *s = sto_series_get(cat, 11);
    uint64_t full = stat_of(cat, "catalog.series_bytes");
    unsigned reads = sto_catalog_read_begin(cat);
    assert_int_equal(forget_all_but(cat, NULL, 0), N);
    for (int i = 0; i < 5; i++)
        sto_catalog_reclaim(cat);
    assert_true(sto_catalog_has_retired(cat));
    t_assert_text(s, "m pod=p0.11 kind=short"); /* as long as somebody looks */
    unsigned later = sto_catalog_read_begin(cat);
    sto_catalog_read_end(cat, reads);
    sto_catalog_reclaim(cat);
    sto_catalog_reclaim(cat); /* one who began later is in nobody's way for ever */
    sto_catalog_read_end(cat, later);
    sto_catalog_reclaim(cat);
    assert_false(sto_catalog_has_retired(cat));
    assert_true(stat_of(cat, "catalog.series_bytes") < full / 2);
    make(cat, 1, N);
    assert_true(stat_of(cat, "catalog.series_bytes") < full + full / 4);
    for (uint32_t id = N; id < 2 * N; id++)
        assert_true(sto_series_get(cat, id)->local < N);
    t_close(cat);
}

static void test_forget__short_lives_level_off(void **state)
{
    (void)state;
    enum { DAYS = 30, A_DAY = 1000 };
    struct sto_catalog *cat = t_open();
    uint64_t index[3] = {0}, series[3] = {0}, log[3] = {0};
    for (unsigned day = 0; day < DAYS; day++) {
        make(cat, day, A_DAY);
        assert_int_equal(forget_all_but(cat, NULL, 0), A_DAY);
        sto_catalog_reclaim(cat);
        sto_catalog_reclaim(cat);
        unsigned third = day * 3 / DAYS;
        index[third] = stat_of(cat, "catalog.index_bytes");
        series[third] = stat_of(cat, "catalog.series_bytes");
        log[third] = stat_of(cat, "catalog.log_bytes");
    }
    assert_int_equal(selected(cat), 0);
    assert_true(index[2] <= index[0] + 1024);    /* a pointer for 512 values */
    assert_true(series[2] <= series[0] + 65536); /* pages of the table at the end of what is gone */
    assert_true(log[2] <= 4 * log[0]);           /* names stay */
    t_close(cat);
}

static void test_forget__a_full_disk_puts_it_off(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    struct sto_catalog *cat;
    struct sto_catalog_opts opts = {.dir = "/db", .n_shards = 16};
    const struct sto_series *s;
    uint64_t n;
    assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/db", &err), 0);
    assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
    make(cat, 0, 20);
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    roaring_bitmap_t *none = roaring_bitmap_create();
    assert_int_equal(sto_catalog_forget_begin(cat, none, NULL, NULL), 20);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .fault = T_FAULT_ENOSPC});
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), TS_ENOSPC);
    assert_true(sto_catalog_forget_unfinished(cat));
    /* The record may be written any time: nobody gets the old number, or a new one before it is. */
    assert_int_equal(t_resolve_rc(cat, "m pod=p0.3 kind=short", true, &s, &err), TS_EBUSY);
    assert_null(s);
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), 0);
    assert_int_equal(n, 20);
    assert_int_equal(t_series(cat, "m pod=p0.3 kind=short")->id, 20);
    roaring_bitmap_free(none);
    t_close(cat);
    t_faultfs_free(f);
}

/* New series cannot be written before it: nothing is forgotten, and the next pass begins anew. */
static void test_forget__a_disk_that_is_full_before_it_ends_it(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    struct sto_catalog *cat;
    struct sto_catalog_opts opts = {.dir = "/db", .n_shards = 16};
    uint64_t n;
    assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/db", &err), 0);
    assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
    make(cat, 0, 20);
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    roaring_bitmap_t *none = roaring_bitmap_create();
    assert_int_equal(sto_catalog_forget_begin(cat, none, NULL, NULL), 20);
    uint32_t id = t_series(cat, "m pod=new kind=short")->id;
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .fault = T_FAULT_ENOSPC});
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), TS_ENOSPC);
    assert_false(sto_catalog_forget_unfinished(cat));
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(t_series(cat, "m pod=p0.3 kind=short")->id, 3);
    assert_int_equal(forget_all_but(cat, &id, 1), 20);
    roaring_bitmap_free(none);
    t_close(cat);
    t_faultfs_free(f);
}

/* Rollups are found by the series that they belong to. */
static void test_forget__what_hidden_series_belong_to_stays(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    (void)t_series(cat, "m host=a");
    (void)t_series(cat, "m host=b");
    uint32_t hidden = t_series(cat, "\1r1h-sum\1m host=b")->id;
    assert_int_equal(forget_all_but(cat, &hidden, 1), 1);
    assert_null(sto_series_get(cat, 0));
    assert_non_null(sto_series_get(cat, 1));
    assert_int_equal(forget_all_but(cat, NULL, 0), 1); /* first the one */
    assert_int_equal(forget_all_but(cat, NULL, 0), 1); /* then the other */
    t_close(cat);
}

static bool keep_odd(void *arg, const struct sto_series *s)
{
    (void)arg;
    return s->id % 2;
}

static void test_forget__what_others_mention_stays(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    roaring_bitmap_t *none = roaring_bitmap_create();
    uint64_t n;
    make(cat, 0, 10);
    assert_int_equal(sto_catalog_forget_begin(cat, none, keep_odd, NULL), 5);
    assert_int_equal(sto_catalog_forget_finish(cat, &n, NULL), 0);
    for (uint32_t id = 0; id < 10; id++)
        assert_int_equal(sto_series_get(cat, id) != NULL, id % 2);
    roaring_bitmap_free(none);
    t_close(cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_forget__is_found_nowhere_and_its_number_is_not_given_out_again),
        T_CASE(test_forget__own_series_give_their_places_back),
        T_CASE(test_forget__a_checkpoint_knows_what_was_forgotten),
        T_CASE(test_forget__who_asks_keeps_it),
        T_CASE(test_forget__memory_waits_for_readers),
        T_CASE(test_forget__short_lives_level_off),
        T_CASE(test_forget__a_full_disk_puts_it_off),
        T_CASE(test_forget__a_disk_that_is_full_before_it_ends_it),
        T_CASE(test_forget__what_hidden_series_belong_to_stays),
        T_CASE(test_forget__what_others_mention_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
