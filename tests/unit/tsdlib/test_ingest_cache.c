/*
 * test_ingest_cache.c - texts to series: found after growing, bounded in a flood, void after a reset.
 */
#include "t_ingest.h"

static const struct sto_series *make(int i, char *text, size_t n, struct ts_slice *metric,
                                     struct ts_slice *tags)
{
    char v[32];
    const struct sto_series *s;
    struct ts_error err = {0};
    snprintf(v, sizeof(v), "web%d", i);
    snprintf(text, n, "m host=%s", v);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(v)};
    if (sto_series_resolve(t.in.cat, ts_slice_str(text), 1, &tag, 1, true, &s, &err) < 0)
        fail_msg("%s", err.text);
    *metric = (struct ts_slice){text, 1};
    *tags = (struct ts_slice){text + 2, strlen(text) - 2};
    return s;
}

static void test_ingest_cache__finds_all_after_growing(void **state)
{
    (void)state;
    struct tsd_icache c;
    char text[64];
    struct ts_slice m, k;
    tsd_icache_init(&c, t.in.cat, 16 << 20);
    for (int i = 0; i < 50000; i++) {
        const struct sto_series *s = make(i, text, sizeof(text), &m, &k);
        assert_int_equal(tsd_icache_find(&c, tsd_icache_hash(m, k), m, k), 0);
        assert_true(tsd_icache_add(&c, tsd_icache_hash(m, k), m, k, s) == (uintptr_t)s);
    }
    for (int i = 0; i < 50000; i++) {
        const struct sto_series *s = make(i, text, sizeof(text), &m, &k);
        assert_true(tsd_icache_find(&c, tsd_icache_hash(m, k), m, k) == (uintptr_t)s);
    }
    assert_true(tsd_icache_bytes(&c) < 16 << 20);
    tsd_icache_release(&c);
    tsd_icache_release(&c);
}

/* No addition moves a whole table: each moves a few buckets, all are moved before the next growth, and what is not moved yet is found. */
static void test_ingest_cache__grows_a_little_at_a_time(void **state)
{
    (void)state;
    struct tsd_icache c;
    char text[64];
    struct ts_slice m, k;
    unsigned n_growths = 0, n_between = 0;
    tsd_icache_init(&c, t.in.cat, 16 << 20);
    for (int i = 0; i < 50000; i++) {
        const struct sto_series *s = make(i, text, sizeof(text), &m, &k);
        uint32_t n_buckets = c.n_buckets, n_moved = c.n_moved;
        bool moving = c.old != NULL;
        assert_true(tsd_icache_add(&c, tsd_icache_hash(m, k), m, k, s) == (uintptr_t)s);
        bool grew = c.n_buckets != n_buckets;
        n_growths += grew;
        assert_true(!grew || !moving);
        assert_true(grew ? c.n_moved == 0 : c.n_moved - n_moved <= 8);
        if (i % 7 || !c.old)
            continue;
        s = make(i / 3, text, sizeof(text), &m, &k);
        assert_true(tsd_icache_find(&c, tsd_icache_hash(m, k), m, k) == (uintptr_t)s);
        n_between++;
    }
    assert_true(n_growths >= 3 && n_between > 100);
    tsd_icache_release(&c);
}

/* Busy series are looked up between new ones: most stay. */
static void test_ingest_cache__a_flood_is_bounded_and_spares_the_busy(void **state)
{
    (void)state;
    struct tsd_icache c;
    char text[64];
    struct ts_slice m, k;
    unsigned lost = 0, asked = 0;
    tsd_icache_init(&c, t.in.cat, 1 << 20);
    for (int i = 0; i < 200000; i++) {
        const struct sto_series *s = make(i, text, sizeof(text), &m, &k);
        (void)tsd_icache_add(&c, tsd_icache_hash(m, k), m, k, s);
        s = make(i % 1000, text, sizeof(text), &m, &k);
        if (i >= 1000) {
            asked++;
            if (!tsd_icache_find(&c, tsd_icache_hash(m, k), m, k)) {
                lost++;
                (void)tsd_icache_add(&c, tsd_icache_hash(m, k), m, k, s);
            }
        }
    }
    assert_true(tsd_icache_bytes(&c) <= 1 << 20);
    assert_true(lost * 5 < asked);
    tsd_icache_release(&c);
}

static void test_ingest_cache__spellings_have_their_own_text(void **state)
{
    (void)state;
    struct tsd_icache c;
    char text[64];
    struct ts_slice m, k, other = TS_SLICE_LIT("host=web1 ");
    uint32_t metric_len, text_len;
    tsd_icache_init(&c, t.in.cat, 1 << 20);
    const struct sto_series *s = make(1, text, sizeof(text), &m, &k);
    uintptr_t plain = tsd_icache_add(&c, tsd_icache_hash(m, k), m, k, s);
    uintptr_t spelt = tsd_icache_add(&c, tsd_icache_hash(m, other), m, other, s);
    assert_true(plain != spelt && spelt != 0);
    assert_ptr_equal(tsd_ref_series(spelt), s);
    assert_memory_equal(tsd_ref_text(spelt, &metric_len, &text_len), "m host=web1 ", 12);
    assert_int_equal(text_len, 12);
    assert_true(tsd_icache_find(&c, tsd_icache_hash(m, other), m, other) == spelt);
    assert_true(tsd_icache_find(&c, tsd_icache_hash(m, k), m, k) == plain);
    *tsd_icache_link(&c, spelt) = plain;
    *tsd_icache_link(&c, plain) = spelt;
    assert_true(*tsd_icache_link(&c, plain) == spelt && *tsd_icache_link(&c, spelt) == plain);
    uint32_t epoch = c.epoch;
    tsd_icache_reset(&c);
    assert_true(c.epoch != epoch);
    assert_int_equal(tsd_icache_find(&c, tsd_icache_hash(m, k), m, k), 0);
    tsd_icache_release(&c);
}

static void test_ingest_cache__a_flood_of_spellings_is_bounded(void **state)
{
    (void)state;
    struct tsd_icache c;
    char text[64], spelt[400];
    struct ts_slice m, k;
    tsd_icache_init(&c, t.in.cat, 1 << 20);
    const struct sto_series *s = make(1, text, sizeof(text), &m, &k);
    for (int i = 0; i < 20000; i++) {
        memset(spelt, ' ', sizeof(spelt));
        memcpy(spelt, "host=web1", 9);
        snprintf(spelt + 300, 32, " host=web1 %d", i);
        struct ts_slice raw = {spelt, strlen(spelt)};
        (void)tsd_icache_add(&c, tsd_icache_hash(m, raw), m, raw, s);
        assert_true(tsd_icache_bytes(&c) < (1 << 20) + (256 << 10));
    }
    assert_true(c.n_resets > 0);
    tsd_icache_release(&c);
}

static void test_ingest_cache__links_stop_at_their_share(void **state)
{
    (void)state;
    struct tsd_icache c;
    struct sto_series far = {.id = UINT32_MAX - 1}, near = {.id = 5000};
    tsd_icache_init(&c, t.in.cat, 1 << 20);
    assert_null(tsd_icache_link(&c, (uintptr_t)&far));
    uintptr_t *link = tsd_icache_link(&c, (uintptr_t)&near);
    assert_non_null(link);
    assert_int_equal(*link, 0);
    tsd_icache_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ingest_cache__finds_all_after_growing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ingest_cache__grows_a_little_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ingest_cache__a_flood_is_bounded_and_spares_the_busy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_ingest_cache__spellings_have_their_own_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ingest_cache__a_flood_of_spellings_is_bounded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_ingest_cache__links_stop_at_their_share, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
