/*
 * test_reclog.c - record log: what comes back, torn tails, damage, full disks, rewriting.
 *
 * Threads    one
 */
#include "storage/reclog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"

#define LOG_NAME "x.log"
#include "tests/unit/log_kit.h"

/* What came back from a log, one line a record. */
struct t_got {
    struct ts_buf text; /* bodies, each followed by '|' */
    int n;              /* records */
    int stop_at;        /* fail at this record; 0 = never */
};

static int t_each(void *arg, struct ts_slice body, struct ts_error *err)
{
    struct t_got *got = arg;
    got->n++;
    if (got->n == got->stop_at)
        return ts_error_set(err, TS_EVERSION, "no such record");
    ts_buf_slice(&got->text, body);
    ts_buf_char(&got->text, '|');
    return 0;
}

static struct sto_reclog *t_open(bool read_only, struct t_got *got)
{
    struct sto_reclog *log;
    struct ts_error err = {0};
    *got = (struct t_got){0};
    if (sto_reclog_open(ts_fs_real(), path, "TEST", read_only, t_each, got, &log, &err) < 0)
        fail_msg("%s", err.text);
    return log;
}

static void t_add(struct sto_reclog *log, const char *s)
{
    assert_int_equal(sto_reclog_add(log, ts_slice_str(s), NULL), 0);
}

/* The log at path holds exactly this. */
static void t_expect(const char *want)
{
    struct t_got got;
    struct sto_reclog *log = t_open(true, &got);
    ts_buf_char(&got.text, 0);
    assert_string_equal(got.text.p, want);
    ts_buf_release(&got.text);
    assert_int_equal(sto_reclog_close(log, NULL), 0);
}

static void t_write_file(const char *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t t_read_file(char **out)
{
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), path, 1u << 30, out, &n, NULL), 0);
    return n;
}

static int t_open_rc(bool read_only, struct ts_error *err)
{
    struct sto_reclog *log;
    struct t_got got = {0};
    int rc = sto_reclog_open(ts_fs_real(), path, "TEST", read_only, t_each, &got, &log, err);
    ts_buf_release(&got.text);
    if (rc == 0)
        sto_reclog_close(log, NULL);
    else
        assert_null(log);
    return rc;
}

static void test_reclog__records_come_back_in_order(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    assert_int_equal(got.n, 0);
    assert_int_equal(sto_reclog_bytes(log), STO_RECLOG_HEADER_BYTES);
    t_add(log, "one");
    t_add(log, "two");
    assert_int_equal(sto_reclog_bytes(log), STO_RECLOG_HEADER_BYTES + 2 * (STO_RECLOG_HEAD_BYTES + 3));
    t_expect(""); /* only buffered */
    assert_int_equal(sto_reclog_flush(log, true, NULL), 0);
    t_expect("one|two|");
    t_add(log, "three");
    assert_int_equal(sto_reclog_close(log, NULL), 0); /* close writes */
    t_expect("one|two|three|");
    log = t_open(false, &got);
    ts_buf_release(&got.text);
    t_add(log, "four");
    assert_int_equal(sto_reclog_close(log, NULL), 0);
    t_expect("one|two|three|four|");
    assert_int_equal(sto_reclog_close(NULL, NULL), 0);
}

static void test_reclog__large_and_wrong_sizes(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    char *big = ts_xcalloc(1, STO_RECLOG_MAX_RECORD_BYTES + 1);
    struct ts_error err = {0};
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){big, STO_RECLOG_MAX_RECORD_BYTES + 1}, &err),
                     TS_ELIMIT);
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){NULL, 0}, &err), TS_EINVAL);
    t_add(log, "a");
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){big, STO_RECLOG_MAX_RECORD_BYTES}, &err), 0);
    t_add(log, "b");
    assert_int_equal(sto_reclog_close(log, NULL), 0);
    log = t_open(true, &got);
    assert_int_equal(got.n, 3);
    assert_int_equal(got.text.n, STO_RECLOG_MAX_RECORD_BYTES + 5);
    ts_buf_release(&got.text);
    sto_reclog_close(log, NULL);
    ts_free(big);
}

/* Cut at every byte: what is whole before the cut comes back, and the log can go on. */
static void test_reclog__torn_tail_is_cut_at_every_byte(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    t_add(log, "first");
    t_add(log, "second record");
    sto_reclog_flush(log, true, NULL);
    t_add(log, "3");
    sto_reclog_close(log, NULL);
    char *all;
    size_t n = t_read_file(&all);
    size_t end1 = STO_RECLOG_HEADER_BYTES + STO_RECLOG_HEAD_BYTES + 5,
           end2 = end1 + STO_RECLOG_HEAD_BYTES + 13;
    for (size_t cut = STO_RECLOG_HEADER_BYTES; cut <= n; cut++) {
        t_write_file(all, cut);
        const char *want = cut == n      ? "first|second record|3|"
                           : cut >= end2 ? "first|second record|"
                           : cut >= end1 ? "first|"
                                         : "";
        t_expect(want); /* read-only: skipped, not cut */
        log = t_open(false, &got);
        ts_buf_release(&got.text);
        t_add(log, "new");
        sto_reclog_close(log, NULL);
        char line[64];
        (void)snprintf(line, sizeof(line), "%snew|", want);
        t_expect(line);
    }
    ts_free(all);
}

static void test_reclog__unsynced_garbage_and_zeros_are_a_torn_tail(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    t_add(log, "kept");
    sto_reclog_flush(log, true, NULL);
    /* one flush, never synced: its first page is lost, its last is there */
    t_add(log, "lost");
    t_add(log, "later");
    sto_reclog_close(log, NULL);
    char *all;
    size_t n = t_read_file(&all);
    size_t lost = STO_RECLOG_HEADER_BYTES + STO_RECLOG_HEAD_BYTES + 4;
    memset(all + lost, 0, STO_RECLOG_HEAD_BYTES + 4);
    t_write_file(all, n);
    t_expect("kept|");
    log = t_open(false, &got);
    ts_buf_release(&got.text);
    assert_int_equal(sto_reclog_bytes(log), lost); /* cut, "later" too */
    sto_reclog_close(log, NULL);
    t_expect("kept|");
    ts_free(all);
}

static void test_reclog__any_changed_byte_of_synced_records_is_damage(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    t_add(log, "aaaa");
    t_add(log, "bbbb");
    sto_reclog_flush(log, true, NULL);
    t_add(log, "cccc");
    sto_reclog_close(log, NULL);
    char *all;
    size_t n = t_read_file(&all);
    size_t end2 = STO_RECLOG_HEADER_BYTES + 2 * (STO_RECLOG_HEAD_BYTES + 4);
    for (size_t i = 0; i < n; i++) {
        all[i] ^= 0x10;
        t_write_file(all, n);
        struct ts_error err = {0};
        int rc = t_open_rc(false, &err);
        if (i < end2) {
            assert_int_equal(rc, TS_ECORRUPT);
            assert_non_null(strstr(err.text, path));
            assert_non_null(strstr(err.text, "offset"));
        } else {
            assert_int_equal(rc, 0); /* the last one may be torn */
        }
        all[i] ^= 0x10;
    }
    ts_free(all);
}

static void test_reclog__wrong_kind_version_and_short_files_are_refused(void **state)
{
    (void)state;
    struct ts_error err = {0};
    assert_int_equal(t_open_rc(true, &err), TS_ENOTFOUND);
    assert_int_equal(t_open_rc(false, &err), 0);
    struct sto_reclog *log;
    assert_int_equal(sto_reclog_open(ts_fs_real(), path, "MANI", false, NULL, NULL, &log, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "TEST"));
    t_write_file("short", 5);
    assert_int_equal(t_open_rc(false, &err), TS_ECORRUPT);
    t_write_file("", 0);
    assert_int_equal(t_open_rc(true, &err), TS_ECORRUPT);
    /* a header of version 2 with a right checksum */
    static const uint8_t v2[20] = {'T', 'S', 'D', 'R', 'E', 'C', 'L', '\n', 2, 0, 0, 0, 'T', 'E', 'S', 'T'};
    uint8_t h[20];
    memcpy(h, v2, 20);

    uint32_t crc = ts_crc32c(0, h, 16);
    memcpy(h + 16, &crc, 4);
    t_write_file((char *)h, 20);
    assert_int_equal(t_open_rc(false, &err), TS_EVERSION);
}

static void test_reclog__error_of_the_reader_is_passed_on(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    t_add(log, "a");
    t_add(log, "b");
    sto_reclog_close(log, NULL);
    struct ts_error err = {0};
    got = (struct t_got){.stop_at = 2};
    assert_int_equal(sto_reclog_open(ts_fs_real(), path, "TEST", true, t_each, &got, &log, &err),
                     TS_EVERSION);
    assert_non_null(strstr(err.text, "offset 41"));
    ts_buf_release(&got.text);
}

/* --- rewriting --- */

static int t_emit(void *arg, struct sto_reclog *fresh, struct ts_error *err)
{
    const char **s = arg;
    for (; *s; s++) {
        if (strcmp(*s, "fail") == 0)
            return ts_error_set(err, TS_EINVAL, "told to fail");
        TS_TRY(sto_reclog_add(fresh, ts_slice_str(*s), err));
        TS_TRY(sto_reclog_flush(fresh, false, err));
    }
    return 0;
}

static void test_reclog__rewrite_replaces_all(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    t_add(log, "old");
    sto_reclog_flush(log, false, NULL);
    t_add(log, "buffered");
    const char *bad[] = {"x", "fail", NULL};
    struct ts_error err = {0};
    assert_int_equal(sto_reclog_rewrite(log, t_emit, bad, &err), TS_EINVAL);
    t_expect("old|");
    const char *good[] = {"new1", "new2", NULL};
    assert_int_equal(sto_reclog_rewrite(log, t_emit, good, &err), 0);
    t_expect("new1|new2|");
    t_add(log, "after");
    sto_reclog_close(log, NULL);
    t_expect("new1|new2|after|");
}

/* Records come while the new file is written, into the old file and into the buffer; one is longer than a step of
 * copying. */
static void test_reclog__a_rewrite_keeps_what_came_meanwhile(void **state)
{
    (void)state;
    struct t_got got;
    struct sto_reclog *log = t_open(false, &got);
    struct sto_reclog_rewrite *rw;
    const char *fresh[] = {"new1", "new2", NULL}, *bad[] = {"x", "fail", NULL};
    char *large = ts_xmalloc(3u << 20), *want = ts_xmalloc((3u << 20) + 64);
    memset(large, 'l', (3u << 20) - 1);
    large[(3u << 20) - 1] = 0;
    t_add(log, "old");
    assert_int_equal(sto_reclog_rewrite_begin(log, &rw, NULL), 0);
    t_add(log, "written");
    assert_int_equal(sto_reclog_flush(log, true, NULL), 0);
    assert_int_equal(sto_reclog_rewrite_write(rw, t_emit, fresh, NULL), 0);
    t_add(log, large);
    t_add(log, "more");
    assert_int_equal(sto_reclog_flush(log, false, NULL), 0);
    t_add(log, "buffered");
    assert_int_equal(sto_reclog_rewrite_finish(log, rw, NULL), 0);
    (void)snprintf(want, (3u << 20) + 64, "new1|new2|written|%s|more|buffered|", large);
    t_expect(want);
    t_add(log, "after");
    assert_int_equal(sto_reclog_flush(log, true, NULL), 0);
    assert_int_equal(sto_reclog_rewrite_begin(log, &rw, NULL), 0);
    assert_int_equal(sto_reclog_rewrite_write(rw, t_emit, bad, NULL), TS_EINVAL);
    sto_reclog_rewrite_abort(rw);
    sto_reclog_close(log, NULL);
    memcpy(want + strlen(want), "after|", sizeof("after|"));
    t_expect(want);
    ts_free(want);
    ts_free(large);
}

static void t_flip(size_t off)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)off, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, (long)off, SEEK_SET), 0);
    assert_int_equal(fputc(c ^ 0x10, f), c ^ 0x10);
    assert_int_equal(fclose(f), 0);
}

/* A byte of what came meanwhile changes on the disk. The new log must not get it under a good checksum: the old file
 * stays, and says what it always says of such a byte. */
static void test_reclog__a_rewrite_copies_no_damage(void **state)
{
    (void)state;
    const char *fresh[] = {"new", NULL};
    size_t from = STO_RECLOG_HEADER_BYTES + STO_RECLOG_HEAD_BYTES + 3;
    for (size_t off = from; off < from + 2 * (STO_RECLOG_HEAD_BYTES + 4); off++) {
        struct t_got got;
        struct ts_error err = {0};
        struct sto_reclog_rewrite *rw;
        char at[32];
        size_t record = off < from + STO_RECLOG_HEAD_BYTES + 4 ? from : from + STO_RECLOG_HEAD_BYTES + 4;
        (void)remove(path);
        struct sto_reclog *log = t_open(false, &got);
        t_add(log, "old");
        assert_int_equal(sto_reclog_rewrite_begin(log, &rw, NULL), 0);
        assert_int_equal(sto_reclog_rewrite_write(rw, t_emit, fresh, NULL), 0);
        t_add(log, "aaaa");
        t_add(log, "bbbb");
        assert_int_equal(sto_reclog_flush(log, true, NULL), 0);
        t_add(log, "cccc");
        t_flip(off);
        assert_int_equal(sto_reclog_rewrite_finish(log, rw, &err), TS_ECORRUPT);
        (void)snprintf(at, sizeof(at), "offset %zu", record);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, at));
        assert_false(sto_reclog_broken(log));
        assert_int_equal(t_open_rc(true, &err), TS_ECORRUPT);
        assert_int_equal(sto_reclog_rewrite(log, t_emit, fresh, NULL),
                         0); /* who has the contents may write them */
        assert_int_equal(sto_reclog_close(log, NULL), 0);
        t_expect("new|");
    }
}

static void test_reclog__read_only_writes_nothing(void **state)
{
    (void)state;
    struct t_got got;
    sto_reclog_close(t_open(false, &got), NULL);
    struct sto_reclog *log = t_open(true, &got);
    struct ts_error err = {0};
    const char *none[] = {NULL};
    assert_int_equal(sto_reclog_add(log, TS_SLICE_LIT("x"), &err), TS_EINVAL);
    assert_int_equal(sto_reclog_rewrite(log, t_emit, none, &err), TS_EINVAL);
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    sto_reclog_close(log, NULL);
}

/* --- a file system that fails --- */

static struct ts_fs bad_fs;
static int fail_append, fail_sync, fail_rename, fail_sync_dir; /* code to answer; 0 = work */

static int bad_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (!fail_append)
        return ts_fs_real()->append(file, p, n, err);
    (void)ts_fs_real()->append(file, p, n / 2, NULL); /* a short write */
    return ts_error_set(err, fail_append, "append fails");
}
static int bad_sync(struct ts_file *file, struct ts_error *err)
{
    return fail_sync ? ts_error_set(err, fail_sync, "sync fails") : ts_fs_real()->sync(file, err);
}
static int bad_rename(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err)
{
    return fail_rename ? ts_error_set(err, fail_rename, "rename fails")
                       : ts_fs_real()->rename(fs, from, to, err);
}
static int bad_sync_dir(const struct ts_fs *fs, const char *p, struct ts_error *err)
{
    return fail_sync_dir ? ts_error_set(err, fail_sync_dir, "sync_dir fails")
                         : ts_fs_real()->sync_dir(fs, p, err);
}

static struct sto_reclog *t_open_bad(void)
{
    bad_fs = *ts_fs_real();
    bad_fs.append = bad_append;
    bad_fs.sync = bad_sync;
    bad_fs.rename = bad_rename;
    bad_fs.sync_dir = bad_sync_dir;
    fail_append = fail_sync = fail_rename = fail_sync_dir = 0;
    struct sto_reclog *log;
    assert_int_equal(sto_reclog_open(&bad_fs, path, "TEST", false, NULL, NULL, &log, NULL), 0);
    return log;
}

static void test_reclog__full_disk_keeps_the_buffer(void **state)
{
    (void)state;
    struct sto_reclog *log = t_open_bad();
    struct ts_error err = {0};
    t_add(log, "a");
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    fail_append = TS_ENOSPC;
    t_add(log, "b");
    assert_int_equal(sto_reclog_flush(log, true, &err), TS_ENOSPC);
    t_expect("a|");
    t_add(log, "c");
    assert_int_equal(sto_reclog_flush(log, true, &err), TS_ENOSPC);
    fail_append = 0;
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    t_expect("a|b|c|");
    sto_reclog_close(log, NULL);
}

static void test_reclog__failed_write_or_sync_breaks_the_log(void **state)
{
    (void)state;
    struct ts_error err = {0};
    const char *none[] = {NULL};
    for (int which = 0; which < 2; which++) {
        struct sto_reclog *log = t_open_bad();
        *(which ? &fail_append : &fail_sync) = TS_EIO;
        t_add(log, "x");
        assert_int_equal(sto_reclog_flush(log, true, &err), TS_EIO);
        fail_append = fail_sync = 0;
        assert_int_equal(sto_reclog_flush(log, true, &err), TS_EIO); /* no second try */
        assert_int_equal(sto_reclog_rewrite(log, t_emit, none, &err), TS_EIO);
        assert_int_equal(sto_reclog_close(log, &err), 0);
    }
}

static void test_reclog__failed_rewrite_leaves_the_old_log(void **state)
{
    (void)state;
    struct ts_error err = {0};
    const char *good[] = {"new", NULL};
    struct sto_reclog *log = t_open_bad();
    t_add(log, "old");
    sto_reclog_flush(log, true, NULL);
    fail_append = TS_ENOSPC;
    assert_int_equal(sto_reclog_rewrite(log, t_emit, good, &err), TS_ENOSPC);
    fail_append = 0;
    fail_rename = TS_EIO;
    assert_int_equal(sto_reclog_rewrite(log, t_emit, good, &err), TS_EIO);
    fail_rename = 0;
    t_add(log, "more");
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    t_expect("old|more|");
    struct sto_reclog_rewrite *rw;
    assert_int_equal(sto_reclog_rewrite_begin(log, &rw, &err), 0);
    assert_int_equal(sto_reclog_rewrite_write(rw, t_emit, good, &err), 0);
    fail_append = TS_ENOSPC;
    t_add(log, "last");
    assert_int_equal(sto_reclog_rewrite_finish(log, rw, &err), TS_ENOSPC);
    fail_append = 0;
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    t_expect("old|more|last|");
    fail_sync_dir = TS_EIO; /* the name is not safe: nothing may be added */
    assert_int_equal(sto_reclog_rewrite(log, t_emit, good, &err), TS_EIO);
    fail_sync_dir = 0;
    assert_int_equal(sto_reclog_flush(log, true, &err), TS_EIO);
    sto_reclog_close(log, NULL);
    t_expect("new|");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, t_setup, t_teardown)
    const struct CMUnitTest tests[] = {
        T(test_reclog__records_come_back_in_order),
        T(test_reclog__large_and_wrong_sizes),
        T(test_reclog__torn_tail_is_cut_at_every_byte),
        T(test_reclog__unsynced_garbage_and_zeros_are_a_torn_tail),
        T(test_reclog__any_changed_byte_of_synced_records_is_damage),
        T(test_reclog__wrong_kind_version_and_short_files_are_refused),
        T(test_reclog__error_of_the_reader_is_passed_on),
        T(test_reclog__rewrite_replaces_all),
        T(test_reclog__a_rewrite_keeps_what_came_meanwhile),
        T(test_reclog__a_rewrite_copies_no_damage),
        T(test_reclog__read_only_writes_nothing),
        T(test_reclog__full_disk_keeps_the_buffer),
        T(test_reclog__failed_write_or_sync_breaks_the_log),
        T(test_reclog__failed_rewrite_leaves_the_old_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
