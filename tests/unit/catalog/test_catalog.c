/*
 * test_catalog.c - the log of the catalog: round trips, checkpoints, crashes, damage, full disks; sizes.
 */
#include "tests/unit/catalog/t_catalog.h"

#include "base/bytes.h"
#include "storage/catalog/catalog_log.h"
#include "tests/faults/faultfs.h"

/* Series of many shapes, with holes between the numbers of a shape, names with shared fronts, orders of tags.
 */
static void t_fill(struct sto_catalog *cat, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[160];
        switch (i % 4) {
        case 0:
            (void)snprintf(text, sizeof(text), "app.sessions user=u%07d pod=pod-%d zone=z%d", i, i / 200,
                           i % 10);
            break;
        case 1:
            (void)snprintf(text, sizeof(text), "m%d zone=z%d host=web%d", i % 100, i % 3, i);
            break;
        case 2:
            (void)snprintf(text, sizeof(text), "m%d k%d=Größe", i % 7, i / 50);
            break;
        default:
            (void)snprintf(text, sizeof(text), "lone.metric.number.%d host=web%d", i, i % 9);
        }
        t_series(cat, text);
    }
}

static int t_no_sync(struct ts_file *file, struct ts_error *err)
{
    (void)file;
    (void)err;
    return 0;
}
static int t_no_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    (void)fs;
    (void)path;
    (void)err;
    return 0;
}

/* The real file system, but nothing waits for the disk: for cases with thousands of files. */
static const struct ts_fs *t_fast_fs(void)
{
    static struct ts_fs fs;
    fs = *ts_fs_real();
    fs.sync = t_no_sync;
    fs.sync_dir = t_no_sync_dir;
    return &fs;
}

static void test_catalog__round_trip_through_log_and_checkpoint(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_buf want;
    for (int i = 0; i < 20; i++) { /* many small blocks, then close makes a checkpoint of them */
        t_fill(cat, i * 200, i * 200 + 200);
        assert_int_equal(sto_catalog_sync(cat, i % 2, NULL), 0);
    }
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("web9"), TS_SLICE_LIT("renamed"), NULL),
                     0);
    struct sto_catalog *reader = t_open_fs(ts_fs_real(), true);
    t_dump(reader, &want);
    uint64_t n_log = t_file_bytes();
    t_close(reader);
    t_close(cat);
    assert_true(t_file_bytes() < n_log);
    cat = t_open();
    struct ts_buf got;
    t_dump(cat, &got);
    /* texts are made of the names there are when a series is loaded: the rename shows in them now */
    assert_true(got.n > want.n && got.n < want.n + 40);
    t_close(cat);
    cat = t_open();
    t_same(cat, &got);
    t_close(cat);
    ts_buf_release(&want);
    ts_buf_release(&got);
}

static void test_catalog__what_is_synced_survives_a_crash(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open(), *after;
    struct ts_buf want;
    t_fill(cat, 0, 500);
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    t_dump(cat, &want);
    t_fill(cat, 500, 900); /* lost */
    after = t_open();      /* the first one is never closed before: as after kill -9 */
    t_same(after, &want);
    t_close(after);
    ts_buf_release(&want);
    t_close(cat);
}

/* The log names a series by its number alone from then on, so nothing may say so too early. */
static void test_catalog__series_are_on_disk_after_a_sync(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    assert_int_equal(sto_series_n_on_disk(cat), 0);
    (void)t_series(cat, "m host=a");
    (void)t_series(cat, "m host=b");
    assert_int_equal(sto_series_n_on_disk(cat), 0);
    assert_int_equal(sto_catalog_sync(cat, false, NULL), 0);
    assert_int_equal(sto_series_n_on_disk(cat), 0);
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    assert_int_equal(sto_series_n_on_disk(cat), 2);
    (void)t_series(cat, "m host=c");
    assert_int_equal(sto_series_n_on_disk(cat), 2);
    assert_null(sto_series_known(cat, 3, &err));
    assert_int_equal(err.code, TS_ECORRUPT);
    assert_int_equal(sto_catalog_close(cat, NULL), 0);
    cat = t_open();
    assert_int_equal(sto_series_n_on_disk(cat), 3);
    assert_non_null(sto_series_known(cat, 2, &err));
    assert_int_equal(sto_catalog_close(cat, NULL), 0);
}

static void test_catalog__torn_tail_loses_the_last_blocks_only(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_fill(cat, 0, 100);
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    uint32_t n_series = sto_series_count(cat);
    uint64_t n_safe = t_file_bytes();
    t_fill(cat, 100, 130);
    uint32_t n_more = sto_series_count(cat);
    assert_int_equal(sto_catalog_sync(cat, true, NULL), 0);
    char *all;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_path, 1u << 28, &all, &n, NULL), 0);
    t_close(cat);
    for (size_t cut = n_safe; cut < n; cut += 1 + (n - n_safe) / 40) {
        t_drop_copy();
        FILE *f = fopen(t_path, "wb");
        assert_int_equal(fwrite(all, 1, cut, f), cut);
        fclose(f);
        cat = t_open();
        assert_int_equal(sto_series_count(cat), n_series); /* names of the lost ones may be there */
        t_fill(cat, 90, 130);                              /* goes on */
        assert_int_equal(sto_series_count(cat), n_more);
        t_close(cat);
    }
    ts_free(all);
}

/* Wrong bytes behind a right checksum must give an error or a catalog, never a crash: the sanitizers watch.
 */
static void test_catalog__no_record_is_trusted(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    t_fill(cat, 0, 300);
    t_close(cat);
    struct sto_reclog *log;
    struct ts_buf bodies[16];
    size_t n_bodies = 0;
    char *all;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_path, 1u << 28, &all, &n, NULL), 0);
    for (size_t off = STO_RECLOG_HEADER_BYTES; off < n && n_bodies < 16; n_bodies++) {
        uint32_t len = ts_ld32(all + off);
        ts_buf_init(&bodies[n_bodies], 0);
        ts_buf_append(&bodies[n_bodies], all + off + STO_RECLOG_HEAD_BYTES, len);
        off += STO_RECLOG_HEAD_BYTES + len;
    }
    ts_free(all);
    assert_true(n_bodies >= 4);
    uint64_t seed = 20240607, n_errors = 0;
    for (int round = 0; round < 3000; round++) {
        (void)unlink(t_path);
        t_drop_copy();
        assert_int_equal(sto_reclog_open(t_fast_fs(), t_path, "CATA", false, NULL, NULL, &log, NULL), 0);
        for (size_t i = 0; i < n_bodies; i++) {
            struct ts_buf b;
            ts_buf_init(&b, 0);
            ts_buf_slice(&b, ts_buf_get(&bodies[i]));
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            if (b.n && seed >> 62 == 0)
                b.p[(seed >> 20) % b.n] ^= (char)(1u << (seed >> 59 & 7));
            if (b.n > 1 && seed >> 58 == 17)
                b.n = (seed >> 20) % b.n + 1;
            sto_reclog_add(log, ts_buf_get(&b), NULL);
            ts_buf_release(&b);
        }
        sto_reclog_close(log, NULL);
        struct ts_error err = {0};
        const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .read_only = true};
        int rc = sto_catalog_open(ts_fs_real(), &opts, &cat, &err);
        assert_true(rc == 0 || rc == TS_ECORRUPT || rc == TS_EVERSION);
        n_errors += rc < 0;
        t_close(cat);
    }
    assert_true(n_errors > 1000);
    for (size_t i = 0; i < n_bodies; i++)
        ts_buf_release(&bodies[i]);
}

/* --- records that nobody here would write --- */

static int t_replay(const void *raw, size_t n, uint8_t type, struct ts_error *err)
{
    struct sto_catalog *cat = t_open();
    t_series(cat, "m a=1");
    uint8_t body[64] = {type, 0, (uint8_t)n};
    memcpy(body + 3, raw, n);
    int rc = sto_catalog_log__replay(cat, (struct ts_slice){(const char *)body, n + 3}, err);
    t_close(cat);
    (void)unlink(t_path);
    t_drop_copy();
    return rc;
}
#define T_REPLAY(type, ...)                                                                                  \
    t_replay((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), type, &err)

static void test_catalog__impossible_records_are_refused(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_int_equal(T_REPLAY(9, 0), TS_EVERSION);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SIZES, 1, 2, 3, 4), 0);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SIZES, 1, 2, 3), TS_ECORRUPT);
    /* kind, runs (gap, length), shared, length, bytes */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 2, 1, 0, 1, 'n'), 0);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 3, 1, 2, 1, 0, 1, 'n'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 0, 1, 0, 1, 'n'), TS_ECORRUPT); /* id 0 */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 2, 1, 1, 1, 'n'),
                     TS_ECORRUPT); /* shares with nothing */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 2, 1, 0, 0), TS_ECORRUPT);      /* empty */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 2, 1, 0, 1, 'm'), TS_ECORRUPT); /* m is 1 */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_NAMES, 0, 1, 1, 1, 0, 1, 'm'), 0);           /* twice */
    /* runs, shapes (metric, tags, keys), columns (mode, values) */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 0, 1, 1, 1, 1, 1, 0, 1), 0); /* series 0 once more */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 1, 1, 0, 1),
                     TS_ECORRUPT); /* under another number */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 2, 1, 1, 0, 1),
                     TS_ECORRUPT); /* no such metric */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 1, 2, 0, 1),
                     TS_ECORRUPT); /* no such key */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 1, 1, 0, 2),
                     TS_ECORRUPT); /* no such value */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 1, 1, 2, 1),
                     TS_ECORRUPT); /* no such mode */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 2, 1, 1, 0, 1, 0, 1),
                     TS_ECORRUPT);                                                     /* key twice */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 1, 1, 0), TS_ECORRUPT); /* no tags */
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 1, 0), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_SERIES, 1, 1, 0, 1), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAME, 0, 1, 'x'), 0);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAME, 0, 2, 'x'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAME, 0, 1), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 0, 2, 1, 1, 'y', 1, 1, 'x'), 0);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 0, 1, 1, 1, 'y'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 0, 2, 1, 1, 'y', 1, 2, 'x'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 0, 2, 1, 1, 'y', 1, 1, 'x', 'z'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 0, 2, 1, 1, 'x'), TS_ECORRUPT);
    assert_int_equal(T_REPLAY(STO_CATALOG_LOG_RENAMES, 3, 2, 1, 1, 'y', 1, 1, 'x'), TS_ECORRUPT);
}

static void test_catalog__newer_files_and_other_kinds_are_refused(void **state)
{
    (void)state;
    struct sto_reclog *log;
    struct sto_catalog *cat;
    struct ts_error err = {0};
    const struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16};
    assert_int_equal(sto_reclog_open(ts_fs_real(), t_path, "CATA", false, NULL, NULL, &log, NULL), 0);
    sto_reclog_add(log, TS_SLICE_LIT("\xff\0\0"), NULL);
    sto_reclog_close(log, NULL);
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), TS_EVERSION);
    assert_non_null(strstr(err.text, t_path));
    (void)unlink(t_path);
    t_drop_copy();
    assert_int_equal(sto_reclog_open(ts_fs_real(), t_path, "MANI", false, NULL, NULL, &log, NULL), 0);
    sto_reclog_close(log, NULL);
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), TS_ECORRUPT);
}

/* --- sizes --- */

static void test_catalog__a_checkpoint_of_many_series_is_small(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    for (int i = 0; i < 100000; i++) {
        char text[96];
        (void)snprintf(text, sizeof(text), "app.sessions user=u%07d pod=pod-%d zone=z%d", i, i / 200, i % 10);
        t_series(cat, text);
    }
    struct ts_buf want;
    t_dump(cat, &want);
    t_close(cat);
    assert_true(t_file_bytes() < 100000 / 4); /* a quarter of a byte each; measured 0.03 */
    cat = t_open();
    t_same(cat, &want);
    t_close(cat);
    ts_buf_release(&want);
}

static void test_catalog__many_syncs_do_not_let_the_log_grow(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    for (int i = 0; i < 20000; i++) {
        char text[96];
        (void)snprintf(text, sizeof(text), "m host=%d", i);
        t_series(cat, text);
        if (i % 2 == 0)
            assert_int_equal(sto_catalog_sync(cat, false, NULL), 0);
        assert_true(t_file_bytes() < 1300000 || i % 1000);
    }
    t_close(cat);
    assert_true(t_file_bytes() < 60000);
}

/* --- a file system that is full or fails --- */

static struct ts_fs bad_fs;
static int fail_append;

static int bad_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (!fail_append)
        return ts_fs_real()->append(file, p, n, err);
    (void)ts_fs_real()->append(file, p, n / 3, NULL);
    return ts_error_set(err, fail_append, "append fails");
}

static void test_catalog__full_disk_loses_nothing(void **state)
{
    (void)state;
    bad_fs = *ts_fs_real();
    bad_fs.append = bad_append;
    fail_append = 0;
    struct sto_catalog *cat = t_open_fs(&bad_fs, false);
    struct ts_error err = {0};
    t_fill(cat, 0, 50);
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    fail_append = TS_ENOSPC;
    t_fill(cat, 50, 100);
    assert_int_equal(sto_catalog_sync(cat, true, &err), TS_ENOSPC);
    t_fill(cat, 100, 150); /* memory goes on */
    assert_int_equal(sto_catalog_sync(cat, true, &err), TS_ENOSPC);
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("web1"), TS_SLICE_LIT("x"), &err),
                     TS_ENOSPC);
    assert_int_not_equal(t_id(cat, STO_UID_TAGV, "web1"), 0);
    assert_int_equal(sto_catalog_generation(cat), 0);
    fail_append = 0;
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    struct ts_buf want;
    t_dump(cat, &want);
    struct sto_catalog *reader = t_open_fs(ts_fs_real(), true);
    t_same(reader, &want);
    t_close(reader);
    ts_buf_release(&want);
    fail_append = TS_EIO;
    uint32_t n_series = sto_series_count(cat);
    t_fill(cat, 150, 160);
    assert_int_equal(sto_catalog_sync(cat, true, &err), TS_EIO);
    fail_append = 0;
    assert_int_equal(sto_catalog_sync(cat, true, &err), TS_EIO); /* not until it is opened again */
    assert_int_equal(sto_catalog_close(cat, &err), TS_EIO);
    cat = t_open();
    assert_int_equal(sto_series_count(cat), n_series);
    t_close(cat);
}

/* A rename that fails half-way, after its record is in the buffer, is taken back. */
static int fail_on_nth;
static int nth_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (fail_on_nth && --fail_on_nth == 0)
        return ts_error_set(err, TS_ENOSPC, "append fails");
    return ts_fs_real()->append(file, p, n, err);
}

static void test_catalog__failed_rename_is_taken_back(void **state)
{
    (void)state;
    bad_fs = *ts_fs_real();
    bad_fs.append = nth_append;
    fail_on_nth = 0;
    struct sto_catalog *cat = t_open_fs(&bad_fs, false);
    struct ts_error err = {0};
    t_series(cat, "m a=1");
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    fail_on_nth = 1; /* the record of the rename: nothing else is to be written */
    assert_int_equal(sto_uid_rename(cat, STO_UID_METRIC, TS_SLICE_LIT("m"), TS_SLICE_LIT("n"), &err),
                     TS_ENOSPC);
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 1), "m");
    assert_int_equal(t_series(cat, "n a=1")->id, 1); /* the name is still free */
    t_close(cat);
    cat = t_open();
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 1), "m");
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 2), "n");
    t_close(cat);
}

/* All of several names are renamed, or none. */
static void test_catalog__names_are_renamed_together(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    t_series(cat, "a k=1");
    t_series(cat, "b k=1");
    t_series(cat, "c k=1");
    struct sto_uid_change v[] = {{.from = TS_SLICE_LIT("a"), .to = TS_SLICE_LIT("x")},
                                 {.from = TS_SLICE_LIT("b"), .to = TS_SLICE_LIT("c")}};
    assert_int_equal(sto_uid_rename_all(cat, STO_UID_METRIC, v, 2, &err), TS_EEXIST);
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 1), "a");
    v[1].from = TS_SLICE_LIT("no such name");
    assert_int_equal(sto_uid_rename_all(cat, STO_UID_METRIC, v, 2, &err), TS_ENOTFOUND);
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 1), "a");
    v[1] = (struct sto_uid_change){.from = TS_SLICE_LIT("b"), .to = TS_SLICE_LIT("y")};
    assert_int_equal(sto_uid_rename_all(cat, STO_UID_METRIC, v, 2, &err), 0);
    t_close(cat);
    cat = t_open();
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 1), "x");
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 2), "y");
    t_assert_slice(sto_uid_name(cat, STO_UID_METRIC, 3), "c");
    t_close(cat);
}

/* The power goes at each call of a rename of several, and any part of what was written since the last sync is left: all are renamed, or none. */
static void test_catalog__a_power_cut_renames_all_or_none(void **state)
{
    (void)state;
    static const char *const from[] = {"cpu", "\1ah\1cpu", "\1ad\1cpu"}, *const to[] = {"new", "\1ah\1new",
                                                                                        "\1ad\1new"};
    const struct sto_catalog_opts opts = {.dir = "/db", .n_shards = 16};
    unsigned n_old = 0, n_new = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct t_faultfs *f = t_faultfs_new(seed);
        struct sto_uid_change v[3];
        struct ts_error err = {0};
        t_faultfs_set_page(f, 16); /* so that a record is kept in part */
        assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/db", &err), 0);
        assert_int_equal(t_faultfs_fs(f)->sync_dir(t_faultfs_fs(f), "/", &err), 0);
        struct sto_catalog *cat;
        assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
        for (unsigned i = 0; i < 3; i++) {
            char text[32];
            snprintf(text, sizeof(text), "%s k=1", from[i]);
            (void)t_series(cat, text);
            v[i] = (struct sto_uid_change){.from = ts_slice_str(from[i]), .to = ts_slice_str(to[i])};
        }
        assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
        t_faultfs_plan(f,
                       (struct t_fault_plan){.ops = T_OP_WRITES, .at = 1 + seed % 4, .fault = T_FAULT_POWER});
        int rc = sto_uid_rename_all(cat, STO_UID_METRIC, v, 3, &err);
        t_faultfs_power_cut(f);
        (void)sto_catalog_close(cat, NULL);
        t_faultfs_reboot(f, T_KEEP_RANDOM);
        assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
        uint32_t id;
        bool renamed = sto_uid_find(cat, STO_UID_METRIC, v[0].to, &id) == 0;
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(sto_uid_find(cat, STO_UID_METRIC, renamed ? v[i].to : v[i].from, &id), 0);
        assert_true(renamed || rc < 0);
        n_new += renamed && rc < 0;
        n_old += !renamed;
        t_close(cat);
        t_faultfs_free(f);
    }
    assert_true(n_old > 10 && n_new > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_catalog__round_trip_through_log_and_checkpoint),
        T_CASE(test_catalog__what_is_synced_survives_a_crash),
        T_CASE(test_catalog__series_are_on_disk_after_a_sync),
        T_CASE(test_catalog__torn_tail_loses_the_last_blocks_only),
        T_CASE(test_catalog__no_record_is_trusted),
        T_CASE(test_catalog__impossible_records_are_refused),
        T_CASE(test_catalog__newer_files_and_other_kinds_are_refused),
        T_CASE(test_catalog__a_checkpoint_of_many_series_is_small),
        T_CASE(test_catalog__many_syncs_do_not_let_the_log_grow),
        T_CASE(test_catalog__full_disk_loses_nothing),
        T_CASE(test_catalog__failed_rename_is_taken_back),
        T_CASE(test_catalog__names_are_renamed_together),
        T_CASE(test_catalog__a_power_cut_renames_all_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
