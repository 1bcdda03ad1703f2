/*
 * test_tagindex.c - sets of series by metric, key and pair against a plain table of series, while series come
 * and go; values that occur with several keys.
 *
 * Threads    one
 */
#include "storage/catalog/tagindex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"

enum { T_SERIES = 600, T_KEYS = 4, T_VALUES = 1200, T_TAGS = 2 };

struct t_one {
    bool in;                /* is in the index */
    struct sto_series *s;   /* owned */
    struct sto_tag tags[2]; /* the same as in s */
};

static struct t_one t_all[T_SERIES];

static void t_make(uint32_t id)
{
    uint32_t k = 1 + id % (T_KEYS - 1);
    struct t_one *one = &t_all[id];
    one->tags[0] = (struct sto_tag){k, 1 + (id < 100 ? id % 3 : id * 7 % T_VALUES)};
    one->tags[1] = (struct sto_tag){k + 1, 1 + id * 11 % (id % 2 ? 5 : T_VALUES)};
    one->s = ts_xcalloc(1, sizeof(*one->s) + sizeof(one->tags));
    one->s->id = id;
    one->s->metric = 1 + id % 2;
    one->s->n_tags = T_TAGS;
    memcpy(one->s->tags, one->tags, sizeof(one->tags));
}

static bool t_has_pair(const struct t_one *one, uint32_t k, uint32_t v)
{
    if (!k)
        return one->s->metric == v;
    for (unsigned t = 0; t < T_TAGS; t++)
        if (one->tags[t].k == k && (!v || one->tags[t].v == v))
            return true;
    return false;
}

/* Compare the set of a pair; returns 1 if it is not empty. */
static unsigned t_check(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    roaring_bitmap_t *set = sto_posting__copy(sto_tagindex__find(ti, k, v));
    uint64_t n = 0;
    for (uint32_t id = 0; id < T_SERIES; id++) {
        bool wanted = t_all[id].in && t_has_pair(&t_all[id], k, v);
        assert_int_equal(roaring_bitmap_contains(set, id), wanted);
        n += wanted;
    }
    assert_int_equal(roaring_bitmap_get_cardinality(set), n);
    roaring_bitmap_free(set);
    return n > 0;
}

static void t_check_all(const struct sto_tagindex *ti)
{
    uint64_t n_pairs = 0;
    for (uint32_t k = 0; k <= T_KEYS; k++)
        for (uint32_t v = k ? 0 : 1; v <= (k ? T_VALUES : 2); v++)
            n_pairs += t_check(ti, k, v);
    assert_int_equal(ti->n_pairs, n_pairs);
}

static void test_tagindex__agrees_with_a_model(void **state)
{
    (void)state;
    struct sto_tagindex ti;
    uint64_t random = 1;
    memset(&ti, 0, sizeof ti); /* clang 14 refuses {0} for an atomic pointer that comes first */
    for (uint32_t id = 0; id < T_SERIES; id++)
        t_make(id);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 1500; i++) {
            random = ts_hash_u64(random);
            struct t_one *one = &t_all[(random >> 32) % T_SERIES];
            if (one->in != (random % 8 < 2 + round % 2 * 4)) /* mostly adding, then mostly removing */
                continue;
            (one->in ? sto_tagindex__remove : sto_tagindex__add)(&ti, one->s);
            one->in = !one->in;
        }
        t_check_all(&ti);
    }
    for (uint32_t id = 0; id < T_SERIES; id++)
        if (t_all[id].in) {
            sto_tagindex__remove(&ti, t_all[id].s);
            t_all[id].in = false;
        }
    t_check_all(&ti);
    assert_int_equal(ti.n_firsts, 0);
    sto_tagindex__release(&ti);
    for (uint32_t id = 0; id < T_SERIES; id++)
        ts_free(t_all[id].s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tagindex__agrees_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
