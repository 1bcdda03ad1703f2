/*
 * test_sst.c - sorted files: rows, pieces, summaries and tombstones come back; damage is found; a failed
 * writer leaves nothing.
 *
 * Everything runs on the file system in memory (tests/faults/faultfs.h); every seed is fixed.
 */
#include "tests/unit/engine/sst_kit.h"

#include "storage/engine/files/sst_series.h"

static void test_sst__rows_come_back_in_order(void **state)
{
    (void)state;
    uint32_t n_series = 300, n_rows = 2 * n_series * N_HOURS;
    struct sto_sst_info info = write_standard(n_series);
    assert_int_equal(info.n_rows, n_rows);
    assert_int_equal(info.file_no, FILE_NO);
    assert_int_equal(info.gen_lo, 3);
    assert_int_equal(info.gen_hi, 5);
    assert_true(info.min_ms >= -3 * TS_HOUR_MS && info.min_ms < -2 * TS_HOUR_MS);
    assert_true(info.max_ms >= 24 * TS_HOUR_MS && info.max_ms < 25 * TS_HOUR_MS);
    assert_true(info.tomb_min_ms == INT64_MIN && info.tomb_max_ms == INT64_MAX);
    assert_int_equal(info.n_tombs, 3);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    struct sto_key first = {0, 0, INT32_MIN};
    struct sto_cells want = {0};
    const struct sto_cells *got;
    struct ts_error err = {0};
    uint64_t n_points = 0;
    int rc = sto_sst_cur_seek(cur, &first, &err);
    for (uint32_t i = 0; i < n_rows; i++) {
        struct sto_key k = key_at(i, n_series);
        assert_int_equal(rc, 1);
        assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &k), 0);
        make_cells(k.series, k.hour, &want);
        if (i % 3) { /* not all are wanted */
            assert_int_equal(sto_sst_cur_cells(cur, &got, &err), 0);
            assert_cells_equal(&want, got);
        }
        n_points += want.n;
        rc = sto_sst_cur_next(cur, &err);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(sto_sst_cur_next(cur, &err), 0);
    assert_int_equal(n_points, info.n_points);
    struct sto_sst_series_reader reader = {.filled = false};
    assert_int_equal(sto_sst_series(sst)->count, 2 * n_series);
    assert_int_equal(sto_sst_series_has(sto_sst_series(sst), &reader, 2, NULL), 1);
    assert_int_equal(sto_sst_series_has(sto_sst_series(sst), &reader, 3, NULL), 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
    sto_cells_release(&want);
}

static void test_sst__seek_finds_the_first_row_not_below(void **state)
{
    (void)state;
    uint32_t n_series = 100, n_rows = 2 * n_series * N_HOURS;
    struct sto_sst_info info = write_standard(n_series);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    struct sto_cells want = {0};
    struct ts_error err = {0};
    for (int round = 0; round < 3000; round++) {
        uint32_t i = (uint32_t)(rnd() % n_rows);
        struct sto_key k = key_at(i, n_series), ask = k;
        switch (rnd() % 4) {
        case 0:
            break;
        case 1:
            ask.hour -= (int32_t)(rnd() % 3);
            break;
        case 2: /* behind the last hour, or an odd series */
            ask.series -= ask.series ? 1 : 0;
            ask.hour = INT32_MIN;
            k = key_at(i / N_HOURS * N_HOURS, n_series);
            break;
        case 3:
            if (i % N_HOURS != N_HOURS - 1)
                break;
            ask.hour = INT32_MAX;
            if (i + 1 == n_rows) {
                assert_int_equal(sto_sst_cur_seek(cur, &ask, &err), 0);
                continue;
            }
            k = key_at(i + 1, n_series);
            break;
        }
        assert_int_equal(sto_sst_cur_seek(cur, &ask, &err), 1);
        assert_int_equal(sto_key_cmp(sto_sst_cur_key(cur), &k), 0);
        if (round % 2) {
            const struct sto_cells *got;
            make_cells(k.series, k.hour, &want);
            assert_int_equal(sto_sst_cur_cells(cur, &got, &err), 0);
            assert_cells_equal(&want, got);
        }
        if (round % 5 == 0 && sto_sst_cur_next(cur, &err) == 1)
            assert_true(sto_key_cmp(sto_sst_cur_key(cur), &k) > 0);
    }
    struct sto_key behind = {7, 0, 0};
    assert_int_equal(sto_sst_cur_seek(cur, &behind, &err), 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
    sto_cells_release(&want);
}

static void test_sst__tombstones_come_back_sorted(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(1);
    struct sto_sst *sst = must_open(&info);
    size_t n;
    const struct sto_tomb *t = sto_sst_tombs(sst, &n);
    assert_int_equal(n, 3);
    assert_true(t[0].metric == 5 && t[0].from_ms == INT64_MIN && t[0].to_ms == INT64_MAX);
    assert_true(t[1].metric == 6 && t[1].from_ms == -50 && t[1].to_ms == 10);
    assert_true(t[2].metric == 6 && t[2].from_ms == 100 && t[2].to_ms == 200);
    sto_sst_unref(sst);
    struct sto_tomb wrong = {1, 1, 5, 4, 0};
    struct sto_sst_writer *w;
    assert_int_equal(sto_sst_writer_new(t_faultfs_fs(disk), DIR_NAME, FILE_NO + 1, &w, NULL), 0);
    assert_int_equal(sto_sst_write_tomb(w, &wrong, NULL), TS_EINVAL);
    sto_sst_writer_abort(w);
}

static void test_sst__a_file_may_hold_tombstones_alone(void **state)
{
    (void)state;
    struct sto_sst_writer *w = new_writer();
    struct sto_tomb t = {1, 2, -3, 4, 0};
    assert_int_equal(sto_sst_write_tomb(w, &t, NULL), 0);
    struct sto_sst_info info = must_finish(w);
    assert_true(info.min_ms == INT64_MAX && info.max_ms == INT64_MIN);
    assert_int_equal(info.s_bytes, 0);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    struct sto_key k = {0};
    assert_int_equal(sto_sst_cur_seek(cur, &k, NULL), 0);
    assert_int_equal(sto_sst_cur_next(cur, NULL), 0);
    assert_int_equal(sto_sst_series(sst)->count, 0);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
}

static void test_sst__a_row_longer_than_a_block_is_one_row(void **state)
{
    (void)state;
    struct sto_sst_writer *w = new_writer();
    struct sto_cells c = {0};
    uint32_t n = (uint32_t)TS_HOUR_MS; /* a point each millisecond */
    make_cells(1, 5, &c);
    must_write(w, (struct sto_key){1, 1, 5}, &c);
    sto_cells_reserve(&c, n);
    for (uint32_t i = 0; i < n; i++) {
        c.meta[i] = i | sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true);
        c.m[i] = (int64_t)i * i % 1000;
    }
    c.n = n;
    must_write(w, (struct sto_key){1, 1, 6}, &c);
    must_write(w, (struct sto_key){1, 1, 7}, &c);
    make_cells(1, 8, &c);
    must_write(w, (struct sto_key){1, 1, 8}, &c);
    struct sto_sst_info info = must_finish(w);
    assert_int_equal(info.n_rows, 4);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    const struct sto_cells *got;
    struct sto_key k = {1, 1, 6};
    assert_int_equal(sto_sst_cur_seek(cur, &k, NULL), 1);
    assert_int_equal(sto_sst_cur_cells(cur, &got, NULL), 0);
    assert_int_equal(got->n, n);
    assert_true(got->uniform);
    for (uint32_t i = 0; i < n; i++)
        if (sto_meta_off(got->meta[i]) != i || got->m[i] != (int64_t)i * i % 1000)
            fail_msg("cell %u", i);
    assert_int_equal(sto_sst_cur_next(cur, NULL), 1); /* the next one unread, skipped */
    assert_int_equal(sto_sst_cur_key(cur)->hour, 7);
    assert_int_equal(sto_sst_cur_next(cur, NULL), 1);
    assert_int_equal(sto_sst_cur_key(cur)->hour, 8);
    assert_int_equal(sto_sst_cur_next(cur, NULL), 0);
    k.hour = 7; /* and back, onto a row that begins inside a block of the row before */
    assert_int_equal(sto_sst_cur_seek(cur, &k, NULL), 1);
    assert_int_equal(sto_sst_cur_cells(cur, &got, NULL), 0);
    assert_int_equal(got->n, n);
    assert_int_equal(sto_sst_cur_seek(cur, &k, NULL), 1); /* stays, and the cells stay good */
    assert_int_equal(sto_meta_off(got->meta[n - 1]), n - 1);
    sto_sst_cur_free(cur);
    sto_sst_unref(sst);
    sto_cells_release(&c);
}

/* 0 or the first error; counts rows that are wrong. */
static int read_all(const struct sto_sst_info *info, uint32_t n_series, uint32_t *out_wrong,
                    struct ts_error *err)
{
    struct sto_sst *sst;
    struct sto_cells want = {0};
    TS_TRY(sto_sst_open(t_faultfs_fs(disk), DIR_NAME, NULL, info, &sst, err));
    int rc = 0;
    *out_wrong = 0;
    for (int what = 0; rc == 0 && what < (info->s_bytes ? 2 : 1); what++) {
        if (what && !sto_sst_has_sums(sst)) { /* it was noticed, the points do without */
            rc = ts_error_set(err, TS_ECORRUPT, "%s is left out", S_PATH);
            break;
        }
        struct sto_sst_cur *cur = sto_sst_cur_new(sst, what ? STO_SST_SUMMARIES : STO_SST_POINTS, NULL);
        struct sto_key first = {0};
        uint32_t i = 0;
        for (rc = sto_sst_cur_seek(cur, &first, err); rc == 1; rc = sto_sst_cur_next(cur, err), i++) {
            struct sto_key k = key_at(i, n_series);
            const struct sto_cells *got;
            make_cells(k.series, k.hour, &want);
            *out_wrong += sto_key_cmp(&k, sto_sst_cur_key(cur)) != 0;
            if (what == 0) {
                int rc2 = sto_sst_cur_cells(cur, &got, err);
                if (rc2 < 0) {
                    rc = rc2;
                    break;
                }
                *out_wrong += got->n != want.n || got->m[0] != want.m[0];
            }
        }
        sto_sst_cur_free(cur);
    }
    sto_sst_unref(sst);
    sto_cells_release(&want);
    return rc;
}

static void test_sst__each_damaged_byte_is_found_and_named(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(4);
    static const char *const path[2] = {T_PATH, S_PATH};
    const uint64_t bytes[2] = {info.t_bytes, info.s_bytes};
    uint32_t wrong;
    assert_true(info.s_bytes > 0);
    assert_int_equal(read_all(&info, 4, &wrong, NULL), 0);
    assert_int_equal(wrong, 0);
    for (int f = 0; f < 2; f++)
        for (uint64_t off = 0; off < bytes[f]; off++) {
            struct ts_error err = {0};
            assert_true(t_faultfs_flip(disk, path[f], off, (uint8_t)(1 << off % 8)));
            int rc = read_all(&info, 4, &wrong, &err);
            if (rc != TS_ECORRUPT || !strstr(err.text, path[f]))
                fail_msg("%s, byte %u: %d %s", path[f], (unsigned)off, rc, err.text);
            assert_true(t_faultfs_flip(disk, path[f], off, (uint8_t)(1 << off % 8)));
        }
    assert_int_equal(read_all(&info, 4, &wrong, NULL), 0);
}

static void test_sst__cut_and_missing_files_are_found(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(4);
    size_t n;
    uint32_t wrong;
    uint8_t *bytes = t_faultfs_get(disk, T_PATH, &n);
    for (size_t cut = 0; cut < n; cut += cut < n - 200 ? 13 : 1) {
        struct ts_error err = {0};
        t_faultfs_put(disk, T_PATH, bytes, cut);
        assert_int_equal(read_all(&info, 4, &wrong, &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, T_PATH));
        struct sto_sst_info shorter = info; /* the manifest agreeing does not help */
        shorter.t_bytes = cut;
        assert_int_equal(read_all(&shorter, 4, &wrong, &err), TS_ECORRUPT);
    }
    t_faultfs_put(disk, T_PATH, bytes, n);
    struct sto_sst_info other = info;
    other.gen_hi++;
    assert_int_equal(read_all(&other, 4, &wrong, NULL), TS_ECORRUPT);
    assert_true(t_faultfs_remove(disk, S_PATH));
    assert_int_equal(read_all(&info, 4, &wrong, NULL), TS_ECORRUPT); /* summaries */
    assert_int_equal(wrong, 0);
    assert_true(t_faultfs_remove(disk, T_PATH));
    assert_int_equal(read_all(&info, 4, &wrong, NULL), TS_ENOTFOUND);
    ts_free(bytes);
}

static void test_sst__read_errors_are_passed_on(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(40);
    uint32_t wrong;
    for (uint64_t at = 1;; at++) {
        t_faultfs_plan(disk, (struct t_fault_plan){
                                 .ops = T_OP_PREAD | T_OP_OPEN | T_OP_SIZE, .at = at, .fault = T_FAULT_EIO});
        int rc = read_all(&info, 40, &wrong, NULL);
        if (!t_faultfs_fired(disk)) {
            assert_int_equal(rc, 0);
            assert_true(at > 10);
            break;
        }
        assert_int_equal(rc, TS_EIO);
        t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
    }
    t_faultfs_plan(disk, (struct t_fault_plan){.ops = T_OP_PREAD, .at = 5, .fault = T_FAULT_SHORT});
    assert_int_equal(read_all(&info, 40, &wrong, NULL), TS_ECORRUPT);
    t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
}

static void test_sst__a_failed_writer_leaves_nothing(void **state)
{
    (void)state;
    struct sto_cells c = {0};
    for (uint64_t at = 1;; at++) {
        t_faultfs_plan(disk, (struct t_fault_plan){.ops = T_OP_OPEN | T_OP_APPEND | T_OP_SYNC | T_OP_CLOSE,
                                                   .at = at,
                                                   .fault = T_FAULT_ENOSPC});
        struct sto_sst_writer *w;
        struct sto_sst_info info;
        int rc = sto_sst_writer_new(t_faultfs_fs(disk), DIR_NAME, FILE_NO, &w, NULL);
        for (uint32_t i = 0; rc == 0 && i < 12000; i++) {
            struct sto_key k = key_at(i, 5000);
            make_cells(k.series, k.hour, &c);
            rc = sto_sst_write_row(w, &k, &c, NULL);
            if (rc < 0)
                sto_sst_writer_abort(w);
        }
        if (rc == 0)
            rc = sto_sst_writer_finish(w, 1, 1, &info, NULL);
        bool fired = t_faultfs_fired(disk);
        t_faultfs_plan(disk, (struct t_fault_plan){.at = 0});
        if (!fired) {
            assert_int_equal(rc, 0);
            assert_int_equal(t_faultfs_count(disk), 2);
            break;
        }
        assert_true(rc == TS_ENOSPC || rc == TS_EIO);
        assert_int_equal(t_faultfs_count(disk), 0);
        assert_int_equal(t_faultfs_n_open(disk), 0);
    }
    sto_cells_release(&c);
}

static void test_sst__an_aborted_writer_leaves_nothing(void **state)
{
    (void)state;
    struct sto_sst_writer *w = new_writer();
    sto_sst_writer_abort(w);
    sto_sst_writer_abort(NULL);
    assert_int_equal(t_faultfs_count(disk), 0);
    assert_true(sto_sst_writer_new(t_faultfs_fs(disk), "nowhere", 1, &w, NULL) < 0);
    assert_null(w);
}

static void test_sst__unlinked_files_go_with_the_last_reference(void **state)
{
    (void)state;
    struct sto_sst_info info = write_standard(4);
    struct sto_sst *sst = must_open(&info);
    struct sto_sst_cur *cur = sto_sst_cur_new(sst, STO_SST_POINTS, NULL);
    sto_sst_unlink_later(sst, NULL);
    assert_ptr_equal(sto_sst_ref(sst), sst);
    sto_sst_unref(sst);
    sto_sst_unref(sst);
    sto_sst_unref(NULL);
    struct sto_key first = {0};
    assert_int_equal(sto_sst_cur_seek(cur, &first, NULL), 1); /* the cursor's reference holds it */
    assert_int_equal(t_faultfs_count(disk), 2);
    sto_sst_cur_free(cur);
    assert_int_equal(t_faultfs_count(disk), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* damage is expected here */
    const struct CMUnitTest tests[] = {
        CASE(test_sst__rows_come_back_in_order),
        CASE(test_sst__seek_finds_the_first_row_not_below),
        CASE(test_sst__tombstones_come_back_sorted),
        CASE(test_sst__a_file_may_hold_tombstones_alone),
        CASE(test_sst__a_row_longer_than_a_block_is_one_row),
        CASE(test_sst__each_damaged_byte_is_found_and_named),
        CASE(test_sst__cut_and_missing_files_are_found),
        CASE(test_sst__read_errors_are_passed_on),
        CASE(test_sst__a_failed_writer_leaves_nothing),
        CASE(test_sst__an_aborted_writer_leaves_nothing),
        CASE(test_sst__unlinked_files_go_with_the_last_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
