/*
 * test_sst_sums.c - summaries beside the rows of a sorted file: which rows get one, and that they are right.
 */
#include "tests/unit/engine/sst_kit.h"

static void test_sst_sums__summaries_are_those_of_the_rows(void **state)
{
    (void)state;
    uint32_t n_series = 150, n_rows = 2 * n_series * N_HOURS;
    struct sto_sst_info info = write_standard(n_series);
    assert_true(info.s_bytes > 0);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_SUMMARIES, NULL);
    struct sto_cells c = {0};
    struct ts_error err = {0};
    struct sto_key first = {0};
    int rc = sto_sst_cur_seek(cur, &first, &err);
    for (uint32_t i = 0; i < n_rows; i++, rc = sto_sst_cur_next(cur, &err)) {
        struct sto_key k = key_at(i, n_series);
        struct sto_summary want;
        assert_int_equal(rc, 1);
        assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &k), 0);
        make_cells(k.series, k.hour, &c);
        const struct sto_summary *got = sto_sst_cur_summary(cur);
        if (sto_summary_make(&c, &want)) {
            assert_non_null(got);
            assert_summary_equal(got, &want);
        } else {
            assert_null(got);
        }
    }
    assert_int_equal(rc, 0);
    struct sto_key k = key_at(1234, n_series);
    assert_int_equal(sto_sst_cur_seek(cur, &k, &err), 1);
    assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &k), 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
    sto_cells_release(&c);
}

static void test_sst_sums__short_rows_get_no_summaries(void **state)
{
    (void)state;
    struct sto_sst_writer *w = new_writer();
    struct sto_cells c = {0};
    sto_cells_reserve(&c, 5);
    for (uint32_t s = 0; s < 20000; s++) {
        for (c.n = 0; c.n < 5; c.n++) {
            c.meta[c.n] = c.n * 60000;
            c.m[c.n] = (int64_t)(rnd() % 1000);
        }
        must_write(w, (struct sto_key){1, s, 7}, &c);
    }
    struct sto_sst_info info = must_finish(w);
    assert_int_equal(info.s_bytes, 0);
    assert_true(info.t_bytes < 20000 * 5 * 14 / 10);
    assert_null(t_faultfs_get(disk, S_PATH, &(size_t){0}));
    sto_cells_release(&c);
    struct sto_sst *sst = must_open(&info);
    sto_sst_unlink_later(sst, NULL);
    sto_sst_unref(sst);
    assert_int_equal(t_faultfs_count(disk), 0);
}

/* n rows of n_points points each, of series 0 and on. */
static void write_metric(struct sto_sst_writer *w, uint32_t metric, uint32_t n, uint32_t n_points)
{
    struct sto_cells c = {0};
    sto_cells_reserve(&c, n_points);
    for (c.n = 0; c.n < n_points; c.n++) {
        c.meta[c.n] = c.n * 10000;
        c.m[c.n] = c.n;
    }
    for (uint32_t s = 0; s < n; s++)
        must_write(w, (struct sto_key){metric, s, 7}, &c);
    sto_cells_release(&c);
}

/* Rows with a summary among those of a metric; every row must stand in the file of summaries. */
static uint32_t count_summaries(struct sto_sst *sst, uint32_t metric, uint32_t n)
{
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_SUMMARIES, NULL);
    struct ts_error err = {0};
    uint32_t n_summaries = 0;
    for (uint32_t s = 0; s < n; s++) {
        const struct sto_key key = {metric, s, 7};
        assert_int_equal(sto_sst_cur_seek(cur, &key, &err), 1);
        assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &key), 0);
        n_summaries += sto_sst_cur_summary(cur) != NULL;
    }
    sto_sst_cur_free(cur);
    return n_summaries;
}

/* Short rows of one metric take nothing from another, whichever has the lower number. */
static void test_sst_sums__a_sparse_metric_leaves_others_their_summaries(void **state)
{
    (void)state;
    for (uint32_t dense = 0; dense < 3; dense += 2) {
        struct sto_sst_writer *w = new_writer();
        if (dense == 0)
            write_metric(w, 0, 200, 360);
        write_metric(w, 1, 40000, 1);
        if (dense == 2)
            write_metric(w, 2, 200, 360);
        struct sto_sst_info info = must_finish(w);
        assert_true(info.s_bytes > 0);
        struct sto_sst *sst = must_open(&info);
        assert_int_equal(count_summaries(sst, dense, 200), 200);
        assert_true(count_summaries(sst, 1, 40000) <= 16384);
        sto_sst_unlink_later(sst, NULL);
        sto_sst_unref(sst);
    }
    struct sto_sst_writer *w = new_writer();
    write_metric(w, 1, 40000, 1);
    write_metric(w, 2, 20, 360); /* fewer points than rows: not worth a row of each of them */
    struct sto_sst_info info = must_finish(w);
    assert_int_equal(info.s_bytes, 0);
}

/* Walk over all rows of summaries: how many come before the end, or before what cannot be read. */
static uint32_t walk(struct sto_sst *sst, int want_rc)
{
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_SUMMARIES, NULL);
    struct ts_error err = {0};
    const struct sto_key first = {0};
    uint32_t n = 0;
    int rc = sto_sst_cur_seek(cur, &first, &err);
    for (; rc == 1; rc = sto_sst_cur_next(cur, &err))
        n++;
    assert_int_equal(rc, want_rc);
    sto_sst_cur_free(cur);
    return n;
}

static int seek_alone(struct sto_sst *sst, struct sto_key key)
{
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_SUMMARIES, NULL);
    int rc = sto_sst_cur_seek(cur, &key, NULL);
    sto_sst_cur_free(cur);
    return rc;
}

/* Blocks that follow each other are read together; of those the last one that can be read is not lost to one that cannot. */
static void test_sst_sums__blocks_are_read_ahead(void **state)
{
    (void)state;
    uint32_t n_series = 600, n_rows = 2 * n_series * N_HOURS, n_blocks = n_rows / 512;
    struct sto_sst_info info = write_standard(n_series);
    struct sto_sst *sst = must_open(&info);
    uint64_t before = t_faultfs_calls(disk, T_OP_PREAD);
    assert_int_equal(walk(sst, 0), n_rows);
    assert_true((t_faultfs_calls(disk, T_OP_PREAD) - before) * 2 < n_blocks);
    for (uint64_t part = 7; part > 0; part--) { /* bad places stay */
        t_faultfs_set_unreadable(disk, S_PATH, info.s_bytes * part / 9);
        uint32_t n = walk(sst, TS_EIO);
        assert_true(n > 0 && n < n_rows);
        assert_int_equal(seek_alone(sst, key_at(n - 1, n_series)), 1);
        assert_int_equal(seek_alone(sst, key_at(n, n_series)), TS_EIO);
    }
    sto_sst_unref(sst);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sst_sums__summaries_are_those_of_the_rows),
        CASE(test_sst_sums__short_rows_get_no_summaries),
        CASE(test_sst_sums__blocks_are_read_ahead),
        CASE(test_sst_sums__a_sparse_metric_leaves_others_their_summaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
