/*
 * test_restore.c - series from the write-ahead log: the names they bring, orders of tags, contradictions.
 *
 * Threads    one
 */
#include "tests/unit/catalog/t_catalog.h"

/* What a write-ahead log keeps of a series. */
struct t_def {
    uint32_t id, metric, metric_len;
    struct sto_tag tags[8];
    size_t n_tags;
    char text[128];
};

static struct t_def t_def_of(const struct sto_series *s)
{
    struct t_def d = {.id = s->id, .metric = s->metric, .metric_len = s->metric_len, .n_tags = s->n_tags};
    memcpy(d.tags, s->tags, s->n_tags * sizeof(*d.tags));
    memcpy(d.text, sto_series_text(s).p, s->text_len);
    return d;
}

static int t_restore(struct sto_catalog *cat, const struct t_def *d, struct ts_error *err)
{
    const struct sto_series *s;
    int rc = sto_series_restore(cat, d->id, d->metric, d->tags, d->n_tags, ts_slice_str(d->text),
                                d->metric_len, &s, err);
    assert_true((rc == 0) == (s != NULL));
    return rc;
}

/* Keep the log as it is now on disk, lose what is in memory: what a crash does. */
static void t_crash(struct sto_catalog *cat)
{
    char *bytes;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_path, 1u << 28, &bytes, &n, NULL), 0);
    t_close(cat);
    t_drop_copy();
    FILE *f = fopen(t_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    ts_free(bytes);
}

/* Every series made, with and without syncs between, is the same after a crash, restored in any order. */
static void test_restore__brings_back_names_and_ids_in_any_order(void **state)
{
    (void)state;
    static const char *const texts[] = {"cpu host=a dc=x",         "cpu dc=y host=b",
                                        "mem host=c zone=z1 dc=x", "mem zone=z2 rack=r dc=q",
                                        "disk rack=r2 slot=1 b=2", "disk b=3 slot=2 rack=1",
                                        "net c=1 d=2 e=3 f=4",     "net f=5 e=6 d=7 c=8"};
    enum { N = sizeof(texts) / sizeof(*texts) };
    for (unsigned syncs = 0; syncs < 1u << (N - 1); syncs++) {
        struct sto_catalog *cat = t_open();
        struct t_def defs[N];
        for (unsigned i = 0; i < N; i++) {
            defs[i] = t_def_of(t_series(cat, texts[i]));
            if (syncs >> i & 1)
                assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
        }
        t_crash(cat);
        cat = t_open();
        for (unsigned i = 0; i < N; i++) {
            struct ts_error err = {0};
            if (t_restore(cat, &defs[(i * 3 + syncs) % N], &err) < 0)
                fail_msg("syncs %u: %s", syncs, err.text);
        }
        for (unsigned i = 0; i < N; i++) {
            const struct sto_series *s;
            assert_int_equal(t_resolve_rc(cat, texts[i], false, &s, NULL), 0);
            assert_int_equal(s->id, defs[i].id);
            assert_int_equal(s->metric, defs[i].metric);
            assert_memory_equal(s->tags, defs[i].tags, s->n_tags * sizeof(*s->tags));
            t_assert_text(s, defs[i].text);
        }
        assert_int_equal(sto_series_count(cat), N);
        assert_int_equal(t_series(cat, "one more=1")->id, N);
        t_close(cat);
        cat = t_open(); /* restored series went into the log */
        for (unsigned i = 0; i < N; i++) {
            t_assert_text(sto_series_get(cat, i), defs[i].text);
            assert_int_equal(t_series(cat, texts[i])->id, i);
        }
        t_close(cat);
        (void)unlink(t_path);
        t_drop_copy();
    }
    sto_catalog_close(t_open(), NULL);
}

static void test_restore__holes_stay_holes(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_series(cat, "m a=1"); /* lost in the crash: no point of it was logged */
    t_series(cat, "m a=2");
    struct t_def d = t_def_of(t_series(cat, "m a=3"));
    t_crash(cat);
    cat = t_open();
    assert_int_equal(t_restore(cat, &d, NULL), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sto_series_count(cat), 3);
        assert_null(sto_series_get(cat, 0));
        assert_null(sto_series_get(cat, 1));
        t_assert_text(sto_series_get(cat, 2), "m a=3");
        assert_null(sto_uid_name(cat, STO_UID_TAGV, 1).p);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "3"), 3);
        t_close(cat);
        cat = t_open();
    }
    assert_int_equal(t_series(cat, "m a=1")->id, 3); /* never a number that was given out */
    assert_int_equal(t_id(cat, STO_UID_TAGV, "1"), 4);
    t_close(cat);
}

static void test_restore__a_known_number_must_agree(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct t_def d = t_def_of(t_series(cat, "m b=1 a=2"));
    t_series(cat, "m b=2 a=3");
    struct ts_error err = {0};
    assert_int_equal(t_restore(cat, &d, &err), 0); /* once more is harmless */
    struct sto_tag first = d.tags[0];
    d.tags[0] = d.tags[1];
    d.tags[1] = first;
    assert_int_equal(t_restore(cat, &d, &err), 0); /* in the order of the text: fine too */
    d.id = 1;
    assert_int_equal(t_restore(cat, &d, &err), TS_ECORRUPT);
    d.id = 2; /* a new number for a series that has one */
    assert_int_equal(t_restore(cat, &d, &err), TS_ECORRUPT);
    t_close(cat);
}

static void test_restore__the_catalogs_names_win(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_series(cat, "m host=a");
    struct ts_error err = {0};
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGK, TS_SLICE_LIT("host"), TS_SLICE_LIT("node"), &err), 0);
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("m"), TS_SLICE_LIT("n"), &err), 0);
    struct t_def d = {
        .id = 7, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m host=new"};
    assert_int_equal(t_restore(cat, &d, &err), 0);
    const struct sto_series *s;
    assert_int_equal(t_resolve_rc(cat, "n node=new", false, &s, &err), 0);
    assert_int_equal(s->id, 7);
    assert_int_equal(t_resolve_rc(cat, "m host=new", false, &s, &err), TS_ENOTFOUND);
    t_close(cat);
}

static void test_restore__contradictions_and_wrong_bytes_are_named(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_series(cat, "m a=1 b=2");
    static const struct t_def bad[] = {
        {.id = 5, .metric = 2, .metric_len = 1, .tags = {{1, 1}}, .n_tags = 1, .text = "m a=1"}, /* m is 1 */
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m a=2"}, /* 2 is 2 */
        {.id = 5,
         .metric = 1,
         .metric_len = 1,
         .tags = {{1, 1}, {2, 9}},
         .n_tags = 2,
         .text = "m a=1"}, /* one tag */
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m a=9 b=1"}, /* two */
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m a"},
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m a="},
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m"},
        {.id = 5, .metric = 1, .metric_len = 0, .tags = {{1, 9}}, .n_tags = 1, .text = " a=9"},
        {.id = 5, .metric = 1, .metric_len = 9, .tags = {{1, 9}}, .n_tags = 1, .text = "m a=9"},
        {.id = 5, .metric = 1, .metric_len = 1, .tags = {{1, 0}}, .n_tags = 1, .text = "m a=9"},
        {.id = UINT32_MAX, .metric = 1, .metric_len = 1, .tags = {{1, 9}}, .n_tags = 1, .text = "m a=9"},
        {.id = 5, .metric = 1, .metric_len = 1, .n_tags = 0, .text = "m"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ts_error err = {0};
        assert_int_equal(t_restore(cat, &bad[i], &err), TS_ECORRUPT);
        assert_true(err.text[0] != 0);
    }
    assert_int_equal(sto_series_count(cat), 1);
    t_close(cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_restore__brings_back_names_and_ids_in_any_order),
        T_CASE(test_restore__holes_stay_holes),
        T_CASE(test_restore__a_known_number_must_agree),
        T_CASE(test_restore__the_catalogs_names_win),
        T_CASE(test_restore__contradictions_and_wrong_bytes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
