/*
 * test_select.c - selections against a plain walk over all series.
 *
 * Threads    one
 */
#include "tests/unit/catalog/t_catalog.h"

#define T_SERIES 3000

/* 3 metrics; host of 500 values, zone of 7 on most, rack of 40 on some. */
static struct sto_catalog *t_fill(void)
{
    struct sto_catalog *cat = t_open();
    for (int i = 0; i < T_SERIES; i++) {
        char text[128], zone[32] = "", rack[32] = "";
        if (i % 5)
            (void)snprintf(zone, sizeof(zone), " zone=z%d", i % 7);
        if (i % 3 == 0)
            (void)snprintf(rack, sizeof(rack), " rack=r%d", i % 40);
        (void)snprintf(text, sizeof(text), "m%d host=h%d%s%s n=%d", i % 3, i % 500, zone, rack, i);
        t_series(cat, text);
    }
    return cat;
}

/* One condition of a test: values by text separated by commas, or a first letter to match, or nothing. */
struct t_cond {
    const char *key;
    const char *values; /* "z1,z2"; NULL: match */
    char last;          /* match: last character; 0 = no match function */
    bool negate;
};

static int n_asked;

static bool t_match(void *arg, struct ts_slice value)
{
    n_asked++;
    return value.p[value.n - 1] == *(char *)arg;
}

static bool t_listed(const char *values, struct ts_slice v)
{
    for (const char *p = values; *p;) {
        size_t n = strcspn(p, ",");
        if (ts_slice_eq((struct ts_slice){p, n}, v))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

static bool t_meets(struct sto_catalog *cat, const struct sto_series *s, const struct t_cond *c)
{
    for (unsigned t = 0; t < s->n_tags; t++) {
        if (!ts_slice_is(sto_uid_name(cat, STO_UID_TAGK, s->tags[t].k), c->key))
            continue;
        struct ts_slice v = sto_uid_name(cat, STO_UID_TAGV, s->tags[t].v);
        if (c->values)
            return t_listed(c->values, v) != c->negate;
        return c->last ? (v.p[v.n - 1] == c->last) != c->negate : true;
    }
    return false;
}

static uint64_t t_check(struct sto_catalog *cat, const char *metric, const struct t_cond *tc, size_t n,
                        bool explicit_keys)
{
    struct sto_tag_cond conds[4] = {{0}};
    uint32_t ids[4][16];
    for (size_t i = 0; i < n; i++) {
        conds[i].tagk = t_id(cat, STO_UID_TAGK, tc[i].key);
        conds[i].negate = tc[i].negate;
        if (tc[i].values) {
            conds[i].values = ids[i];
            for (const char *p = tc[i].values; *p;) {
                size_t len = strcspn(p, ",");
                (void)sto_uid_find(cat, STO_UID_TAGV, (struct ts_slice){p, len},
                                   &ids[i][conds[i].n_values++]);
                p += len + (p[len] == ',');
            }
        } else if (tc[i].last) {
            conds[i].match = t_match;
            conds[i].arg = (void *)(uintptr_t)&tc[i].last;
        }
    }
    roaring_bitmap_t *got, *want = roaring_bitmap_create();
    assert_int_equal(
        sto_select(cat, t_id(cat, STO_UID_METRIC, metric), conds, n, explicit_keys, NULL, &got, NULL), 0);
    for (uint32_t id = 0; id < sto_series_count(cat); id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        bool in = s->metric == t_id(cat, STO_UID_METRIC, metric) && (!explicit_keys || s->n_tags == n);
        for (size_t i = 0; i < n && in; i++)
            in = t_meets(cat, s, &tc[i]);
        if (in)
            roaring_bitmap_add(want, id);
    }
    if (!roaring_bitmap_equals(got, want))
        fail_msg("%s: got %llu series, want %llu", metric,
                 (unsigned long long)roaring_bitmap_get_cardinality(got),
                 (unsigned long long)roaring_bitmap_get_cardinality(want));
    uint64_t n_got = roaring_bitmap_get_cardinality(got);
    roaring_bitmap_free(got);
    roaring_bitmap_free(want);
    return n_got;
}

static const struct t_cond t_conds[] = {
    {"zone", "z1", 0, false},   {"zone", "z1,z3,nope", 0, false}, {"zone", "", 0, false},
    {"zone", "", 0, true},      {"zone", "z1,z2", 0, true},       {"zone", NULL, 0, false},
    {"zone", NULL, '4', false}, {"zone", NULL, '4', true},        {"host", "h7,h8,h9", 0, false},
    {"host", NULL, '7', false}, {"n", "21,2100", 0, false},       {"n", NULL, '3', true},
    {"rack", NULL, 0, false},   {"rack", "r0", 0, true},          {"nokey", NULL, 0, false},
    {"nokey", "z1", 0, true},   {"nokey", "z1", 0, false},
};
#define T_CONDS (sizeof(t_conds) / sizeof(*t_conds))

static void test_select__agrees_with_a_plain_walk(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_fill();
    for (int round = 0; round < 2; round++) {
        assert_int_equal(t_check(cat, "m1", NULL, 0, false), T_SERIES / 3);
        assert_int_equal(t_check(cat, "none", NULL, 0, false), 0);
        uint64_t n = 0;
        for (size_t a = 0; a < T_CONDS; a++) {
            n += t_check(cat, "m0", &t_conds[a], 1, false);
            for (size_t b = 0; b < T_CONDS; b++) {
                const struct t_cond two[] = {t_conds[a], t_conds[b]};
                n += t_check(cat, "m0", two, 2, false);
            }
        }
        assert_true(n > 10000);
        const struct t_cond keys[] = {
            {"host", NULL, 0, false}, {"n", NULL, '5', false}, {"rack", NULL, 0, false}};
        assert_true(t_check(cat, "m0", keys, 3, true) > 0);
        assert_int_equal(t_check(cat, "m0", keys, 2, true), 0);
        t_close(cat);
        cat = t_open(); /* the loaded index is the same */
    }
    t_close(cat);
}

static void test_select__pattern_is_asked_once_for_each_value(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_fill();
    n_asked = 0;
    const struct t_cond zone = {"zone", NULL, '4', false};
    t_check(cat, "m1", &zone, 1, false);
    assert_int_equal(n_asked, 7);
    n_asked = 0; /* only values of series that other conditions left */
    const struct t_cond two[] = {{"host", NULL, '1', false}, {"rack", "r0", 0, false}};
    t_check(cat, "m0", two, 2, false);
    assert_true(n_asked > 0 && n_asked < 30);
    t_close(cat);
}

static void test_select__explicit_keys_count_each_key_once(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_series(cat, "m a=1");
    t_series(cat, "m a=1 b=2");
    t_series(cat, "m a=12 b=2");
    struct sto_tag_cond conds[2] = {
        {.tagk = t_id(cat, STO_UID_TAGK, "a"), .match = t_match, .arg = (void *)(uintptr_t) "2"},
        {.tagk = t_id(cat, STO_UID_TAGK, "a")}};
    conds[0].negate = true;
    roaring_bitmap_t *set;
    assert_int_equal(sto_select(cat, 1, conds, 2, true, NULL, &set, NULL), 0);
    assert_int_equal(roaring_bitmap_get_cardinality(set), 1);
    assert_true(roaring_bitmap_contains(set, 0));
    roaring_bitmap_free(set);
    t_close(cat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_select__agrees_with_a_plain_walk),
        T_CASE(test_select__pattern_is_asked_once_for_each_value),
        T_CASE(test_select__explicit_keys_count_each_key_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
