/*
 * test_wal_salvage.c - a log that is read for a check or a repair, on a disk that fails.
 */
#include "tests/unit/engine/wal_kit.h"

/* Whatever call of a salvage fails, its result is complete or says that it is not: a segment is never left out in silence. */
static void test_wal_salvage__says_what_it_could_not_read(void **state)
{
    (void)state;
    static const enum t_fault faults[] = {T_FAULT_EIO, T_FAULT_EMFILE};
    const struct sto_wal_salvage_ops salvage = {.replay = ops};
    struct diary want = {0};
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    uint64_t r = 9;
    for (int i = 0; i < 7; i++)
        assert_int_equal(append_random(wal, 1, &r, 8, &want), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    for (unsigned k = 0; k < 2; k++)
        for (uint64_t at = 1; at <= 12; at++) {
            struct sto_wal_salvage_result res;
            struct diary got = {.leave_out = UINT32_MAX};
            struct ts_error err = {0};
            t_faultfs_plan(f, (struct t_fault_plan){
                                  .ops = T_OP_OPEN | T_OP_SIZE | T_OP_PREAD, .at = at, .fault = faults[k]});
            int rc = sto_wal_salvage(t_faultfs_fs(f), DIR_NAME, 0, &salvage, &got, &res, &err);
            t_faultfs_plan(f, (struct t_fault_plan){0});
            assert_true(rc < 0 || res.damaged || got.n == want.n);
            if (faults[k] == T_FAULT_EIO) { /* once: it is read again */
                assert_int_equal(rc, 0);
                assert_false(res.damaged);
                assert_int_equal(got.n, want.n);
            }
            assert_int_equal(t_faultfs_n_open(f), 0);
            diary_release(&got);
        }
    diary_release(&want);
    t_faultfs_free(f);
}

/* Sectors that can't be read cost the records in them, not those behind, and are damage also at the end of the log. */
static void test_wal_salvage__a_bad_sector_costs_what_is_in_it(void **state)
{
    (void)state;
    const struct sto_wal_salvage_ops salvage = {.replay = ops};
    struct diary want = {0};
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_wal_salvage_result res;
    struct ts_error err = {0};
    uint64_t r = 9;
    size_t size;
    for (int i = 0; i < 200; i++)
        assert_int_equal(append_random(wal, 1, &r, 8, &want), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 1);
    const char *path = t_faultfs_path(f, 0);
    ts_free(t_faultfs_get(f, path, &size));
    assert_true(size > 10000);
    const uint64_t places[] = {0, 5000, size - 1};
    for (unsigned i = 0; i < 3; i++) {
        struct t_faultfs *bad = t_faultfs_clone(f, i);
        struct diary got = {.leave_out = UINT32_MAX};
        t_faultfs_set_unreadable(bad, path, places[i]);
        assert_int_equal(sto_wal_salvage(t_faultfs_fs(bad), DIR_NAME, 0, &salvage, &got, &res, &err), 0);
        assert_true(res.damaged);
        if (i == 1) /* the last record may be a mark */
            assert_true(got.n < want.n);
        if (i > 0) /* without the first sector, series are not known */
            assert_true(got.n + res.n_skipped > want.n * 8 / 10);
        assert_int_equal(t_faultfs_n_open(bad), 0);
        diary_release(&got);
        t_faultfs_free(bad);
    }
    diary_release(&want);
    t_faultfs_free(f);
}

/* Parts that are read overlap: a bad sector counts once, and is not tried again. As many as allowed are not too many. */
static void test_wal_salvage__a_bad_sector_counts_once(void **state)
{
    enum { BYTES = 1 << 18, BAD = TS_UNREAD_SECTORS * 512 };
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    const struct ts_fs *fs = t_faultfs_fs(f);
    struct ts_file *file;
    struct ts_unread u = {0};
    struct ts_error err = {0};
    size_t n;
    char *p = ts_xcalloc(1, BYTES);
    memset(p, 'x', BYTES);
    t_faultfs_put(f, "/a", p, BYTES);
    t_faultfs_set_unreadable_part(f, "/a", 1024, BAD);
    assert_int_equal(fs->open(fs, "/a", TS_OPEN_READ, &file, NULL), 0);
    uint64_t calls = 0;
    for (uint64_t off = 0; off < 5; off++) {
        memset(p, 'y', BYTES);
        assert_int_equal(ts_fs_pread_rest(fs, file, p, BYTES, off, &n, &u, &err), 0);
        assert_int_equal(n, BYTES - off);
        assert_int_equal(u.n_sectors, BAD / 512);
        assert_int_equal(u.n_bytes, BAD);
        assert_int_equal(u.first_off, 1024);
        assert_int_equal(u.end_off, 1024 + BAD);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], i + off >= 1024 && i + off < 1024 + BAD ? 0 : 'x');
        if (off == 0)
            calls = t_faultfs_calls(f, T_OP_PREAD);
    }
    assert_true(t_faultfs_calls(f, T_OP_PREAD) < 5 * (calls - BAD / 512));
    t_faultfs_set_unreadable(f, "/a", BYTES - 1);
    assert_int_equal(ts_fs_pread_rest(fs, file, p, BYTES, 0, &n, &u, &err), TS_EIO);
    (void)fs->close(file, NULL);
    ts_free(p);
    t_faultfs_free(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wal_salvage__says_what_it_could_not_read),
        cmocka_unit_test(test_wal_salvage__a_bad_sector_costs_what_is_in_it),
        cmocka_unit_test(test_wal_salvage__a_bad_sector_counts_once),
    };
    return cmocka_run_group_tests(tests, make_series, free_series);
}
