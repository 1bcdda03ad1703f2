/*
 * test_series.c - series: one for each set of tags, however spelled; numbers, shards, texts, limits.
 *
 * Threads    one
 */
#include "tests/unit/catalog/t_catalog.h"

#include "base/hash.h"

static void test_series__spellings_are_one_series(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *a = t_series(cat, "cpu host=web1 dc=fra");
    assert_ptr_equal(t_series(cat, "cpu host=web1 dc=fra"), a);
    assert_ptr_equal(t_series(cat, "cpu dc=fra host=web1"), a);
    const struct sto_series *b = t_series(cat, "cpu host=fra dc=web1"); /* values changed places */
    assert_ptr_not_equal(b, a);
    const struct sto_series *c = t_series(cat, "cpu host=web1");
    assert_int_equal(a->id, 0);
    assert_int_equal(b->id, 1);
    assert_int_equal(c->id, 2);
    assert_int_equal(sto_series_count(cat), 3);
    assert_ptr_equal(sto_series_get(cat, 1), b);
    assert_null(sto_series_get(cat, 3));
    assert_null(sto_series_get(cat, UINT32_MAX));
    t_close(cat);
}

static void test_series__members_say_what_was_asked(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *s = t_series(cat, "sys.cpu.user host=web1 dc=fra");
    assert_int_equal(s->metric, t_id(cat, STO_UID_METRIC, "sys.cpu.user"));
    assert_int_equal(s->n_tags, 2);
    assert_true(s->tags[0].k < s->tags[1].k);
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGK, s->tags[0].k), "host");
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGV, s->tags[0].v), "web1");
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGV, s->tags[1].v), "fra");
    assert_int_equal(s->metric_len, strlen("sys.cpu.user"));
    t_assert_text(s, "sys.cpu.user host=web1 dc=fra");

    const struct sto_series *found;
    assert_int_equal(sto_series_find_ids(cat, s->metric, s->tags, 2, &found), 0);
    assert_ptr_equal(found, s);
    assert_int_equal(sto_series_find_ids(cat, s->metric, s->tags, 1, &found), TS_ENOTFOUND);
    assert_null(found);
    t_close(cat);
}

static void test_series__finding_makes_nothing(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *s;
    struct ts_error err = {0};
    assert_int_equal(t_resolve_rc(cat, "m a=b", false, &s, &err), TS_ENOTFOUND);
    assert_non_null(strstr(err.text, "m a=b"));
    assert_null(s);
    assert_int_equal(sto_uid_max(cat, STO_UID_METRIC), 0);
    t_series(cat, "m a=b c=d");
    assert_int_equal(t_resolve_rc(cat, "m a=b", false, &s, &err), TS_ENOTFOUND); /* all names are known */
    assert_int_equal(t_resolve_rc(cat, "m c=d a=b", false, &s, &err), 0);
    assert_int_equal(s->id, 0);
    t_close(cat);
}

static void test_series__wrong_input_leaves_no_names(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *s;
    struct ts_error err = {0};
    assert_int_equal(t_resolve_rc(cat, "m", true, &s, &err), TS_EINVAL);
    assert_int_equal(t_resolve_rc(cat, "m a=b a=c", true, &s, &err), TS_EINVAL);
    assert_int_equal(t_resolve_rc(cat, "m a= b=c", true, &s, &err), TS_EINVAL);
    const struct sto_tag_text space = {TS_SLICE_LIT("k"), TS_SLICE_LIT("v w")};
    assert_int_equal(sto_series_resolve(cat, TS_SLICE_LIT("m k=v w"), 1, &space, 1, true, &s, &err),
                     TS_EINVAL);
    assert_int_equal(sto_series_resolve(cat, TS_SLICE_LIT("m"), 2, &space, 1, true, &s, &err), TS_EINVAL);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        assert_int_equal(sto_uid_max(cat, (enum sto_uid_kind)kind), 0);
    assert_int_equal(sto_series_count(cat), 0);
    t_close(cat);
}

static void test_series__limit_names_its_key(void **state)
{
    (void)state;
    struct sto_catalog *cat;
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 1, .max_series = 2};
    struct ts_error err = {0};
    const struct sto_series *s;
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    t_series(cat, "m a=1");
    t_series(cat, "m a=2");
    assert_int_equal(t_resolve_rc(cat, "m2 b=3", true, &s, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "max_series"));
    assert_int_equal(t_id(cat, STO_UID_METRIC, "m2"), 0);
    assert_int_equal(t_resolve_rc(cat, "m a=1", true, &s, &err), 0);
    t_close(cat);
}

static void series_left(void *arg, const char *name, uint64_t value)
{
    if (strcmp(name, "catalog.series_left") == 0)
        *(uint64_t *)arg = value;
}

static uint64_t left_of(const struct sto_catalog *cat)
{
    uint64_t n = UINT64_MAX;
    sto_catalog_stats(cat, series_left, &n);
    return n;
}

/* As many series of the daemon itself as do not count, each one resolved twice. */
static void make_own(struct sto_catalog *cat)
{
    const struct sto_series *s, *same;
    struct ts_error err = {0};
    char text[64];
    for (unsigned i = 0; i < STO_OWN_SERIES_MAX; i++) {
        (void)snprintf(text, sizeof(text), "tsd.%u host=h", i);
        assert_int_equal(t_own_rc(cat, text, &s, &err), 0);
        assert_int_equal(t_own_rc(cat, text, &same, &err), 0);
        assert_ptr_equal(s, same);
    }
}

static void test_series__own_ones_leave_the_limit_to_clients(void **state)
{
    (void)state;
    struct sto_catalog *cat;
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 1, .max_series = 2};
    struct ts_error err = {0};
    const struct sto_series *s;
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    t_series(cat, "tsd.0 host=h"); /* a client was first */
    assert_int_equal(left_of(cat), 1);
    make_own(cat);
    assert_int_equal(left_of(cat), 2);
    t_series(cat, "m a=1");
    assert_int_equal(t_own_rc(cat, "tsd.further host=h", &s, &err), 0); /* counts as one of a client */
    assert_int_equal(left_of(cat), 0);
    assert_int_equal(t_resolve_rc(cat, "m a=2", true, &s, &err), TS_ELIMIT);
    assert_non_null(strstr(err.text, "no more than 2 series (max_series)"));
    assert_int_equal(t_own_rc(cat, "tsd.last host=h", &s, &err), TS_ELIMIT);
    assert_int_equal(t_own_rc(cat, "tsd.7 host=h", &s, &err), 0);
    t_close(cat);

    /* which ones are own ones is learnt again */
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    make_own(cat);
    assert_int_equal(left_of(cat), 0);
    assert_int_equal(t_resolve_rc(cat, "m a=2", true, &s, &err), TS_ELIMIT);
    t_close(cat);
}

static void test_series__memory_is_limited(void **state)
{
    (void)state;
    struct sto_catalog *cat;
    struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 1, .max_bytes = 4 << 20};
    struct ts_error err = {0};
    const struct sto_series *s;
    char text[1100];
    uint32_t id;
    int rc = 0, i = 0;
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    for (; rc == 0 && i < 8000; i++) {
        (void)snprintf(text, sizeof(text), "m a=%01000d", i);
        rc = t_resolve_rc(cat, text, true, &s, &err);
    }
    assert_int_equal(rc, TS_ELIMIT);
    assert_true(i > 1000 && i < 4000); /* each takes about 2,000 bytes */
    assert_non_null(strstr(err.text, "memory_limit"));
    assert_non_null(strstr(err.text, "max_series"));
    assert_int_equal(t_resolve_rc(cat, "new b=c", true, &s, &err), TS_ELIMIT);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "new"), 0);
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("new"), &id, &err), TS_ELIMIT);
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("m"), &id, &err), 0);
    (void)snprintf(text, sizeof(text), "m a=%01000d", 0);
    assert_int_equal(t_resolve_rc(cat, text, true, &s, &err), 0); /* known ones stay */
    t_close(cat);
    opts.max_bytes = 1 << 20; /* less than there is: all of them are taken up */
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    assert_int_equal(sto_series_count(cat), i - 1);
    assert_int_equal(t_resolve_rc(cat, "new b=c", true, &s, &err), TS_ELIMIT);
    t_close(cat);
}

static void test_series__wrong_numbers_of_shards_are_refused(void **state)
{
    (void)state;
    static const uint32_t bad[] = {0, 3, 65537, 131072};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sto_catalog *cat;
        const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = bad[i]};
        assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, NULL), TS_EINVAL);
        assert_null(cat);
    }
}

/* The rule of docs/FORMAT.md, written down once more. */
static uint16_t t_shard(const struct sto_series *s, uint32_t n_shards)
{
    uint64_t h = ts_hash_u64(s->metric);
    for (unsigned i = 0; i < s->n_tags; i++)
        h = ts_hash_u64(h ^ ((uint64_t)s->tags[i].k << 32 | s->tags[i].v));
    return (uint16_t)(h % n_shards);
}

static void test_series__shards_are_even_and_local_numbers_dense(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    static uint32_t n_local[16];
    memset(n_local, 0, sizeof(n_local));
    for (int i = 0; i < 16000; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "m host=h%d dc=d%d", i, i % 7);
        const struct sto_series *s = t_series(cat, text);
        assert_int_equal(s->shard, t_shard(s, 65536));
        assert_int_equal(s->local, n_local[s->shard % 16]++);
    }
    for (int i = 0; i < 16; i++)
        assert_in_range(n_local[i], 850, 1150);
    t_close(cat);
    cat = t_open();
    memset(n_local, 0, sizeof(n_local));
    for (uint32_t i = 0; i < 16000; i++) {
        const struct sto_series *s = sto_series_get(cat, i);
        assert_int_equal(s->shard, t_shard(s, 65536));
        assert_int_equal(s->local, n_local[s->shard % 16]++);
    }
    t_close(cat);
}

/* While more than one key is not on disk the text is in the order of key ids: see series.c. */
static void test_series__text_keeps_the_senders_order_once_keys_are_safe(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_assert_text(t_series(cat, "m a=1 b=1 c=1"), "m a=1 b=1 c=1");
    t_assert_text(t_series(cat, "m c=2 b=2 a=2"), "m a=2 b=2 c=2"); /* none is safe yet */
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    t_assert_text(t_series(cat, "m c=3 b=3 a=3"), "m c=3 b=3 a=3");
    t_assert_text(t_series(cat, "m d=4 c=4 a=4"), "m d=4 c=4 a=4"); /* one new key */
    t_assert_text(t_series(cat, "m e=5 d=5 a=5"), "m a=5 d=5 e=5"); /* two */
    t_close(cat);
    cat = t_open();
    t_assert_text(sto_series_get(cat, 0), "m a=1 b=1 c=1");
    t_assert_text(sto_series_get(cat, 2), "m c=3 b=3 a=3");
    t_assert_text(sto_series_get(cat, 3), "m d=4 c=4 a=4");
    assert_int_equal(t_series(cat, "m a=3 b=3 c=3")->id, 2);
    t_close(cat);
}

static void test_series__255_tags_and_long_names(void **state)
{
    (void)state;
    static char text[200000];
    static char long_value[65001];
    memset(long_value, 'v', 65000);
    struct sto_catalog *cat = t_open();
    for (int round = 0; round < 2; round++) {
        size_t n = (size_t)snprintf(text, sizeof(text), "metric");
        for (int i = 0; i < 255; i++) /* second round: keys in the other order */
            n += (size_t)snprintf(text + n, sizeof(text) - n, " k%d=%s", round ? 254 - i : i,
                                  i == 100 ? long_value
                                  : round  ? "b"
                                           : "a");
        const struct sto_series *s = t_series(cat, text);
        assert_int_equal(s->n_tags, 255);
        t_assert_text(s, text);
        assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    }
    t_close(cat);
    cat = t_open();
    t_assert_text(sto_series_get(cat, 1), text);
    const struct sto_series *s;
    assert_int_equal(t_resolve_rc(cat, text, false, &s, NULL), 0);
    assert_int_equal(s->id, 1);
    size_t n = strlen(text);
    (void)snprintf(text + n, sizeof(text) - n, " one=more");
    struct ts_error err = {0};
    assert_int_equal(t_resolve_rc(cat, text, true, &s, &err), TS_ELIMIT);
    t_close(cat);
}

static void test_series__old_text_does_not_resolve_after_a_rename(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *a = t_series(cat, "m host=a"), *b = t_series(cat, "m host=b"), *s;
    struct ts_error err = {0};
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("b"), TS_SLICE_LIT("z"), &err), 0);
    assert_ptr_equal(t_series(cat, "m host=a"), a);
    assert_int_equal(t_resolve_rc(cat, "m host=b", false, &s, &err), TS_ENOTFOUND);
    assert_ptr_equal(t_series(cat, "m host=z"), b);
    t_close(cat);
    cat = t_open(); /* the log has the rename behind the series */
    a = t_series(cat, "m host=a");
    assert_int_equal(t_resolve_rc(cat, "m host=b", false, &s, &err), TS_ENOTFOUND);
    assert_int_equal(t_series(cat, "m host=z")->id, 1);
    t_close(cat);
}

static void test_series__read_only_finds_and_makes_nothing(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_series(cat, "m a=1");
    t_close(cat);
    cat = t_open_fs(ts_fs_real(), true);
    const struct sto_series *s;
    struct ts_error err = {0};
    assert_int_equal(t_resolve_rc(cat, "m a=1", true, &s, &err), 0);
    assert_int_equal(t_resolve_rc(cat, "m a=2", true, &s, &err), TS_EINVAL);
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    t_close(cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_series__spellings_are_one_series),
        T_CASE(test_series__members_say_what_was_asked),
        T_CASE(test_series__finding_makes_nothing),
        T_CASE(test_series__wrong_input_leaves_no_names),
        T_CASE(test_series__limit_names_its_key),
        T_CASE(test_series__own_ones_leave_the_limit_to_clients),
        T_CASE(test_series__memory_is_limited),
        T_CASE(test_series__wrong_numbers_of_shards_are_refused),
        T_CASE(test_series__shards_are_even_and_local_numbers_dense),
        T_CASE(test_series__text_keeps_the_senders_order_once_keys_are_safe),
        T_CASE(test_series__255_tags_and_long_names),
        T_CASE(test_series__old_text_does_not_resolve_after_a_rename),
        T_CASE(test_series__read_only_finds_and_makes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
