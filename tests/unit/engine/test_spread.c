/*
 * test_spread.c - how the bytes of a file are spread over its time: the index agrees with the rows.
 */
#include "tests/unit/engine/merge_kit.h"

#include "storage/engine/files/spread.h"

#define DAY_HOURS 24
#define N_HOURS   (64 * DAY_HOURS) /* each part of a spread is a day */

/* A row of n points. */
static void write_row(struct sto_sst_writer *writer, uint32_t series, int32_t hour, uint32_t n)
{
    struct ts_error err = {0};
    struct sto_cells cells = {0};
    const struct sto_key key = {5, series, hour};
    sto_cells_reserve(&cells, n);
    for (uint32_t k = 0; k < n; k++) {
        cells.meta[k] = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false) | (k * 1000);
        cells.m[k] = (int64_t)rnd(1u << 30);
    }
    cells.n = n;
    assert_int_equal(sto_sst_write_row(writer, &key, &cells, &err), 0);
    sto_cells_release(&cells);
}

static struct sto_spread spread_of(struct world *w)
{
    struct sto_spread s;
    struct ts_error err = {0};
    assert_int_equal(sto_spread_of(w->ssts[0], &s, &err), 0);
    assert_int_equal(s.from_ms, 0);
    assert_int_equal(s.end_ms, N_HOURS * HOUR);
    assert_int_equal(s.before[0], 0);
    for (size_t i = 0; i < STO_SPREAD_PARTS; i++)
        assert_true(s.before[i] <= s.before[i + 1]);
    assert_int_equal(s.before[STO_SPREAD_PARTS], sto_sst_disk_bytes(w->ssts[0]));
    return s;
}

/* Share of the bytes before an hour, in thousandths. */
static int64_t share(const struct sto_spread *s, int64_t hour)
{
    return (int64_t)(sto_spread_before(s, hour * HOUR) * 1000 / s->before[STO_SPREAD_PARTS]);
}

/* Blocks of one series say where its bytes are: here most lie in the first quarter. */
static void test_spread__long_series_are_spread_by_their_blocks(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    struct sto_sst_writer *writer = new_writer(&w);
    uint64_t all = 0, early = 0;
    for (uint32_t series = 0; series < 3; series++)
        for (int32_t h = 0; h < N_HOURS; h++) {
            uint32_t n = h < N_HOURS / 4 ? 300 : 20;
            write_row(writer, series, h, n);
            all += n;
            early += h < N_HOURS / 4 ? n : 0;
        }
    add_file(&w, writer, 1, 1);
    struct sto_spread s = spread_of(&w);
    int64_t want = (int64_t)(early * 1000 / all), is = share(&s, N_HOURS / 4);
    assert_in_range(is, want - 60, want + 10); /* a point of a short row takes more */
    assert_in_range(share(&s, N_HOURS / 8), is / 2 - 10, is / 2 + 10);
    assert_int_equal(share(&s, 0), 0);
    assert_int_equal(share(&s, -5), 0);
    assert_int_equal(share(&s, N_HOURS), 1000);
    assert_int_equal(share(&s, N_HOURS + 5), 1000);
    world_release(&w);
}

/* Blocks of many short series say nothing of their times: they count evenly. */
static void test_spread__short_series_count_evenly(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    struct sto_sst_writer *writer = new_writer(&w);
    for (uint32_t series = 0; series < 500; series++)
        for (int32_t k = 0; k < 3; k++)
            write_row(writer, series, k < 2 ? k : N_HOURS - 1, 10);
    add_file(&w, writer, 1, 1);
    struct sto_spread s = spread_of(&w);
    for (int64_t h = 0; h <= N_HOURS; h += 100)
        assert_in_range(share(&s, h) + 10, h * 1000 / N_HOURS + 5, h * 1000 / N_HOURS + 15);
    world_release(&w);
}

/* A damaged index leaves an even spread, and an error. */
static void test_spread__of_a_damaged_index_is_even(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    struct sto_spread even;
    sto_spread_even(&even, -HOUR, 3 * HOUR - 1, 640);
    assert_int_equal(even.from_ms, -HOUR);
    assert_int_equal(even.end_ms, 3 * HOUR);
    assert_int_equal(sto_spread_before(&even, HOUR), 320);
    sto_spread_even(&even, STO_MIN_TS_MS, STO_MAX_TS_MS, UINT64_MAX); /* nothing overflows */
    assert_true(even.before[STO_SPREAD_PARTS] == UINT64_MAX);
    assert_true(sto_spread_before(&even, STO_MAX_TS_MS) <= UINT64_MAX);
    assert_true(sto_spread_before(&even, 0) > 0);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spread__long_series_are_spread_by_their_blocks),
                                       cmocka_unit_test(test_spread__short_series_count_evenly),
                                       cmocka_unit_test(test_spread__of_a_damaged_index_is_even)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
