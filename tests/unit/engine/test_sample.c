/*
 * test_sample.c - a sample of a sorted file is spread evenly over it, and is all of a file that has no more blocks.
 */
#include "tests/unit/engine/sst_kit.h"

#include "storage/engine/files/sample.h"
#include "storage/engine/files/sst_int.h"

#define LONG_SERIES 1200u /* of each metric; many blocks */

/* What a sample has. */
struct seen {
    struct sto_key first, last;
    uint64_t n_points, n_rows;
    uint64_t n_tenths; /* set of the tenths of all series in which it has rows */
    uint32_t n_series; /* of the file, of each metric */
};

static void on_row(void *arg, const struct sto_key *key, uint32_t n_points)
{
    struct seen *s = arg;
    uint32_t series = key->series / 2; /* numbers go on with the second metric */
    s->first = s->n_rows ? s->first : *key;
    assert_true(s->n_rows == 0 || sto_key_cmp(&s->last, key) < 0); /* in order, none twice */
    s->last = *key;
    s->n_rows++;
    s->n_points += n_points;
    s->n_tenths |= 1u << (series * 10 / (2 * s->n_series));
}

static struct seen sample(struct sto_sst *sst, uint32_t n_series, uint32_t n_blocks)
{
    struct seen s = {.n_series = n_series};
    struct ts_error err = {0};
    if (sto_sample_rows(sst, n_blocks, on_row, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void test_sample__has_blocks_of_all_of_a_file(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(LONG_SERIES);
    struct sto_sst *sst = must_open(&info);
    uint32_t n_blocks = sst->t.index.n_blocks;
    assert_true(n_blocks > 40);
    struct seen s = sample(sst, LONG_SERIES, 20);
    const struct sto_key first = key_at(0, LONG_SERIES);
    assert_int_equal(sto_key_cmp(&s.first, &first), 0);
    assert_int_equal(s.n_tenths, 0x3ff);
    /* about as much as so many blocks have, so nothing is read for nothing */
    assert_in_range(s.n_points, info.n_points * 10 / n_blocks, info.n_points * 30 / n_blocks);
    sto_sst_unref(sst);
}

static void test_sample__is_all_of_a_short_file(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(20);
    struct sto_sst *sst = must_open(&info);
    uint32_t n_blocks = sst->t.index.n_blocks;
    for (uint32_t more = 0; more < 2; more++) {
        struct seen s = sample(sst, 20, n_blocks + more);
        assert_int_equal(s.n_points, info.n_points);
        assert_int_equal(s.n_rows, info.n_rows);
    }
    sto_sst_unref(sst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sample__has_blocks_of_all_of_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sample__is_all_of_a_short_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
