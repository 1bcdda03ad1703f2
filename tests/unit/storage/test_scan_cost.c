/*
 * test_scan_cost.c - what a scan would touch is told without reading, and agrees with what the scan then reads.
 */
#include "tests/unit/storage/store_kit.h"

#define MAX_COSTS 16
#define HOURS     48
#define STEP_MS   60000 /* between points: 60 in an hour, so that files have summaries */

/* What was told. */
struct costs {
    struct sto_scan_cost c[MAX_COSTS]; /* n of them */
    size_t n;
};

static void keep(void *arg, const struct sto_scan_cost *c)
{
    struct costs *all = arg;
    assert_true(all->n < MAX_COSTS);
    all->c[all->n++] = *c;
}

static void put_hours(struct sto_store *st, unsigned series, int64_t first, int64_t n)
{
    struct diary d = {0};
    for (int64_t t = first * TS_HOUR_MS; t < (first + n) * TS_HOUR_MS; t += STEP_MS)
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, series, STO_OP_PUT, T0 + t, t), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_LOG, NULL), 0);
    diary_release(&d);
}

/* The costs of a scan, and what it reads when it runs. */
static struct costs price(struct sto_store *st, const struct sto_scan_spec *spec,
                          struct sto_merge_counts *out_read)
{
    struct costs all = {.n = 0};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan = NULL;
    struct sto_row row;
    int rc;
    assert_int_equal(sto_scan_cost(snap, spec, keep, &all, NULL), 0);
    assert_int_equal(sto_scan(snap, spec, &scan, NULL), 0);
    while ((rc = sto_merge_next(scan, &row, NULL)) == 1)
        ;
    assert_int_equal(rc, 0);
    *out_read = *sto_merge_counts(scan);
    sto_merge_free(scan);
    sto_snap_release(snap);
    return all;
}

static void test_cost__memory_is_exact(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    put_hours(st, 0, 0, HOURS);
    put_hours(st, 2, 0, 3);
    const struct sto_series *s[] = {kit_series(st, 0), kit_series(st, 2)};
    struct sto_scan_spec spec = {.metric = s[0]->metric,
                                 .series = s,
                                 .n_series = 2,
                                 .from_ms = T0 + TS_HOUR_MS,
                                 .to_ms = T0 + 5 * TS_HOUR_MS - 1,
                                 .final = true};
    struct sto_merge_counts read;
    struct costs all = price(st, &spec, &read);
    assert_int_equal(all.n, 1);
    assert_true(all.c[0].memory);
    assert_int_equal(all.c[0].n_series, 2);
    assert_int_equal(all.c[0].n_rows, 4 + 2);
    assert_int_equal(all.c[0].n_rows, read.n_rows);
    assert_int_equal(all.c[0].n_points, read.n_points);
    assert_int_equal(all.c[0].n_bytes, read.n_bytes);
    kit_close(st);
    t_faultfs_free(f);
}

/* Files: two days of one series, blocks only where it lies; whole hours cost summaries and no points. */
static void test_cost__files_and_summaries(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(2);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (unsigned i = 0; i < N_SERIES; i++)
        put_hours(st, i, 0, HOURS);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    put_hours(st, 0, HOURS, 1);
    const struct sto_series *s = kit_series(st, 0);
    uint8_t whole[HOURS + 1];
    memset(whole, 1, sizeof whole);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0,
                                 .to_ms = T0 + (HOURS + 1) * TS_HOUR_MS - 1,
                                 .final = true};
    struct sto_merge_counts read;
    struct costs all = price(st, &spec, &read);
    uint64_t rows = 0, points = 0, blocks = 0;
    for (size_t i = 0; i < all.n; i++) {
        assert_false(all.c[i].by_summaries);
        rows += all.c[i].n_rows;
        points += all.c[i].n_points;
        blocks += all.c[i].n_blocks;
        assert_true(all.c[i].memory || all.c[i].n_bytes > 0);
    }
    assert_int_equal(rows, HOURS + 1);
    assert_int_equal(rows, read.n_rows);
    assert_int_equal(points, read.n_points);
    assert_true(blocks > 0);

    spec.whole_hours = whole;
    all = price(st, &spec, &read);
    uint64_t sums = 0, sum_blocks = 0;
    rows = blocks = 0;
    for (size_t i = 0; i < all.n; i++) {
        assert_true(all.c[i].by_summaries || all.c[i].memory);
        sums += all.c[i].n_sums;
        sum_blocks += all.c[i].n_sum_blocks;
        rows += all.c[i].n_rows;
        blocks += all.c[i].n_blocks;
    }
    assert_int_equal(sums, HOURS);
    assert_int_equal(sums, read.n_summaries);
    assert_int_equal(rows, read.n_rows); /* the memstore's hour */
    assert_int_equal(blocks, 0);
    assert_true(sum_blocks > 0);

    whole[3] = whole[40] = 0; /* and half of the first hour is not asked for */
    spec.from_ms += TS_HOUR_MS / 2;
    all = price(st, &spec, &read);
    for (size_t i = 0; i < all.n; i++)
        blocks += all.c[i].n_blocks;
    assert_true(blocks > 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* Of a long file only the blocks of the chosen series and hours count. */
static void test_cost__few_blocks_of_many(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(3);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    const int64_t hours = 1000;
    for (unsigned i = 0; i < N_SERIES; i += 2)
        put_hours(st, i, 0, hours);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    const struct sto_series *s = kit_series(st, 2);
    struct sto_scan_spec all = {.metric = s->metric,
                                .series = &s,
                                .n_series = 1,
                                .from_ms = T0,
                                .to_ms = T0 + hours * TS_HOUR_MS,
                                .final = true},
                         part = all;
    struct sto_merge_counts read;
    uint64_t n_all = 0, n_part = 0;
    part.from_ms += 100 * TS_HOUR_MS;
    part.to_ms = part.from_ms + TS_HOUR_MS - 1;
    struct costs c = price(st, &all, &read);
    for (size_t i = 0; i < c.n; i++)
        n_all += c.c[i].n_blocks;
    c = price(st, &part, &read);
    for (size_t i = 0; i < c.n; i++)
        n_part += c.c[i].n_blocks;
    assert_int_equal(read.n_rows, 1);
    assert_true(n_part >= 1 && n_part <= 2);
    assert_true(n_all > n_part);
    kit_close(st);
    t_faultfs_free(f);
}

/* Deletes are told, ranges without anything cost nothing. */
static void test_cost__deletes_and_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(4);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    put_hours(st, 0, 0, 2);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_DEL, T0, T0 + 1000), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_LOG, NULL), 0);
    const struct sto_series *s = kit_series(st, 0);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0,
                                 .to_ms = T0 + TS_HOUR_MS - 1,
                                 .final = true};
    struct sto_merge_counts read;
    struct costs all = price(st, &spec, &read);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.c[0].n_tombs, 0);
    assert_int_equal(all.c[1].n_tombs, 1);
    spec.from_ms -= TS_DAY_MS * 400;
    spec.to_ms -= TS_DAY_MS * 400;
    assert_int_equal(price(st, &spec, &read).n, 0);
    diary_release(&d);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost__memory_is_exact),
        cmocka_unit_test(test_cost__files_and_summaries),
        cmocka_unit_test(test_cost__few_blocks_of_many),
        cmocka_unit_test(test_cost__deletes_and_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
