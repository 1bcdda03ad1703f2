/*
 * test_spool.c - lines in, lines out, in order; segments dropped whole; what a killed process leaves; damage; a folder that vanishes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "collectors/core/spool.h"
#include "collectors/core/spool_record.h"
#include "tests/unit/t_folder.h"

#define LINE_BYTES 21 /* of "put m 00000000 1 a=b\n" */
#define BATCH(n)   (COL_RECORD_HEAD_BYTES + LINE_BYTES * (n))

static char dir[T_FOLDER_BYTES];

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return t_folder_remove(dir);
}

static struct col_spool *spool(uint64_t max_bytes, uint64_t segment_bytes, bool disk)
{
    struct col_spool_opts opts = {
        .dir = disk ? dir : NULL, .max_bytes = max_bytes, .segment_bytes = segment_bytes};
    struct col_spool *s;
    struct ts_error err = {0};
    if (col_spool_open(&opts, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

/* n lines "put m I 1 a=b" from first on. */
static int put(struct col_spool *s, int first, int n)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (int i = first; i < first + n; i++)
        ts_buf_printf(&b, "put m %08d 1 a=b\n", i); /* 21 bytes */
    int rc = col_spool_append(s, ts_buf_get(&b), (uint32_t)n, false, NULL);
    ts_buf_release(&b);
    return rc;
}

/* Read and acknowledge all; checks that numbers grow by one from first on. Returns how many lines there were. */
static int drain(struct col_spool *s, int first, size_t block_bytes)
{
    struct ts_buf b;
    struct col_spool_pos pos;
    int n = 0;
    ts_buf_init(&b, 0);
    while (col_spool_read(s, block_bytes, &b, &pos, NULL) == 1) {
        assert_int_equal(b.n, 21 * pos.n_lines);
        ts_buf_char(&b, '\0'); /* for sscanf */
        for (uint32_t i = 0; i < pos.n_lines; i++, n++) {
            int v = 0;
            assert_int_equal(sscanf(b.p + 21 * i, "put m %d ", &v), 1);
            assert_int_equal(v, first + n);
        }
        col_spool_ack(s, &pos);
    }
    ts_buf_release(&b);
    return n;
}

static int count_files(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += strstr(e->d_name, ".seg") != NULL;
    closedir(d);
    return n;
}

static void both_ways(bool disk)
{
    struct col_spool *s = spool(1 << 20, 1000, disk);
    struct col_spool_stats st;
    for (int i = 0; i < 100; i++)
        assert_int_equal(put(s, 10 * i, 10), 0);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_points, 1000);
    assert_int_equal(st.n_bytes, 100 * BATCH(10));
    assert_int_equal(drain(s, 0, 500), 1000);
    assert_false(col_spool_wait(s, 0));
    assert_int_equal(put(s, 1000, 3), 0);
    assert_true(col_spool_wait(s, 0));
    assert_int_equal(drain(s, 1000, 10), 3); /* a block smaller than a batch still holds one */
    col_spool_stats(s, &st);
    assert_int_equal(st.n_points + st.n_bytes + st.n_dropped_points, 0);
    assert_int_equal(st.n_taken, 1003);
    assert_int_equal(st.n_acked, 1003);
    col_spool_close(s);
}

static void test_spool__gives_back_in_order(void **state)
{
    (void)state;
    both_ways(true);
    both_ways(false);
}

static void test_spool__what_waits_outlives_the_process(void **state)
{
    (void)state;
    struct col_spool *s = spool(1 << 20, 1000, true);
    struct col_spool_pos pos;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    assert_int_equal(put(s, 0, 50), 0);
    assert_int_equal(put(s, 50, 25), 0);
    assert_int_equal(put(s, 75, 25), 0);
    assert_int_equal(col_spool_read(s, 1050, &b, &pos, NULL), 1);
    col_spool_ack(s, &pos); /* the first segment is gone */
    assert_int_equal(pos.n_lines, 50);
    assert_int_equal(col_spool_read(s, 100, &b, &pos, NULL), 1);
    col_spool_ack(s, &pos); /* part of the second: given again after a restart */
    col_spool_close(s);
    s = spool(1 << 20, 1000, true);
    assert_int_equal(put(s, 100, 5), 0);
    assert_int_equal(drain(s, 50, 1 << 20), 55);
    col_spool_close(s);
    ts_buf_release(&b);
    s = spool(1 << 20, 1000, true);
    assert_int_equal(count_files(), 0);
    col_spool_close(s);
}

static void test_spool__full_drops_the_oldest_segment(void **state)
{
    (void)state;
    for (int disk = 0; disk < 2; disk++) {
        struct col_spool *s = spool(20 * BATCH(5), 4 * BATCH(5), disk);
        struct col_spool_stats st;
        for (int i = 0; i < 20; i++)
            assert_int_equal(put(s, i * 5, 5), 0);
        col_spool_stats(s, &st);
        assert_int_equal(st.n_dropped_points, 0);
        assert_int_equal(put(s, 100, 5), 0); /* no room: the first segment goes, all others stay */
        col_spool_stats(s, &st);
        assert_int_equal(st.n_dropped_segments, 1);
        assert_int_equal(st.n_dropped_points, 20);
        assert_int_equal(st.n_points, 85);
        for (int i = 21; i < 100; i++) {
            assert_int_equal(put(s, i * 5, 5), 0);
            col_spool_stats(s, &st);
            assert_true(st.n_bytes <= 20 * BATCH(5));
            assert_true(st.n_points >= 80);
            assert_int_equal(st.n_points + st.n_dropped_points, i * 5 + 5);
        }
        assert_int_equal(drain(s, (int)st.n_dropped_points, 1000), 500 - (int)st.n_dropped_points);
        assert_int_equal(put(s, 0, 300), TS_ELIMIT); /* larger than all */
        col_spool_close(s);
    }
}

/* The smallest spool has room for many batches: the newest is never what is dropped. */
static void test_spool__the_newest_stays(void **state)
{
    (void)state;
    struct col_spool *s = spool(64 << 10, 0, true);
    struct col_spool_stats st;
    for (int i = 0; i < 2000; i++)
        assert_int_equal(put(s, i * 10, 10), 0);
    col_spool_stats(s, &st);
    assert_true(st.n_dropped_segments > 1);
    assert_true(st.n_bytes >= (64 << 10) * 7 / 8);
    assert_int_equal(drain(s, (int)st.n_dropped_points, 1000), 20000 - (int)st.n_dropped_points);
    col_spool_close(s);
}

static void test_spool__an_answer_for_a_dropped_segment_does_nothing(void **state)
{
    (void)state;
    struct col_spool *s = spool(BATCH(10), 1, true);
    struct col_spool_pos pos;
    struct ts_buf b;
    struct col_spool_stats st;
    ts_buf_init(&b, 0);
    assert_int_equal(put(s, 0, 2), 0);
    assert_int_equal(col_spool_read(s, 1000, &b, &pos, NULL), 1);
    assert_int_equal(put(s, 2, 9), 0); /* drops the first segment while its lines are under way */
    col_spool_ack(s, &pos);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_points, 9);
    assert_int_equal(st.n_dropped_points, 2);
    assert_int_equal(drain(s, 2, 1000), 9);
    col_spool_close(s);
    ts_buf_release(&b);
}

/* Files of version 0.1: plain lines, torn and damaged ones among them. */
static void test_spool__plain_files_are_taken_up(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/1700000000-7.put", dir);
    FILE *f = fopen(path, "w");
    fputs("put m 00000000 1 a=b\ngarbage\nput m 00000001 1 a=b\n", f);
    fwrite("put\0\0\0\n", 1, 7, f);
    fputs("put m 00000002 1 a=b\nput m 0000", f);
    fclose(f);
    snprintf(path, sizeof(path), "%s/1700000000-8.put", dir);
    f = fopen(path, "w"); /* nothing but a torn line */
    fputs("pu", f);
    fclose(f);
    struct col_spool *s = spool(1 << 20, 0, true);
    struct col_spool_stats st;
    col_spool_stats(s, &st);
    assert_int_equal(st.n_damaged, 4);
    assert_int_equal(st.n_points, 3);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(put(s, 3, 1), 0);
    col_spool_close(s);
    s = spool(1 << 20, 0, true);
    assert_int_equal(drain(s, 0, 1000), 4);
    col_spool_close(s);
}

/* Sync, then unlink: counts of both at the last unlink of a .put file. */
static struct {
    int n_syncs, n_dir_syncs, seen_syncs, seen_dir_syncs;
} order;

static int noted_sync(struct ts_file *f, struct ts_error *err)
{
    order.n_syncs++;
    return ts_fs_real()->sync(f, err);
}

static int noted_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    order.n_dir_syncs++;
    return ts_fs_real()->sync_dir(fs, path, err);
}

static int noted_unlink(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    if (strstr(path, ".put")) {
        order.seen_syncs = order.n_syncs;
        order.seen_dir_syncs = order.n_dir_syncs;
    }
    return ts_fs_real()->unlink(fs, path, err);
}

static void test_spool__large_files_of_old_versions_are_cut_and_synced(void **state)
{
    (void)state;
    struct ts_fs fs = *ts_fs_real();
    fs.sync = noted_sync;
    fs.sync_dir = noted_sync_dir;
    fs.unlink = noted_unlink;
    struct col_spool_opts opts = {.fs = &fs, .dir = dir, .max_bytes = 10000};
    struct col_spool_stats st;
    struct col_spool *s;
    struct ts_error err = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/1700000000-7.put", dir);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 1000; i++) /* twice as much as the spool holds */
        fprintf(f, "put m %08d 1 a=b\n", i);
    fclose(f);
    memset(&order, 0, sizeof(order));
    if (col_spool_open(&opts, &s, &err) < 0)
        fail_msg("%s", err.text);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_taken, 1000);
    assert_int_equal(st.n_points + st.n_dropped_points, 1000);
    assert_true(st.n_points > 200 && st.n_bytes <= 10000);
    assert_int_equal(drain(s, 1000 - (int)st.n_points, 1000), st.n_points); /* the newest stay */
    assert_int_equal(access(path, F_OK), -1);
    assert_true(order.seen_syncs > 0 && order.seen_dir_syncs > 0);
    col_spool_close(s);
}

/* Change one byte of a file, or cut it there; off is from its end if negative. */
static void damage(const char *name, long off, bool cut)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, off, off < 0 ? SEEK_END : SEEK_SET), 0);
    if (cut)
        assert_int_equal(ftruncate(fileno(f), ftell(f)), 0);
    else
        fputc('#', f);
    fclose(f);
}

/* Batches of points 0 1, 2 3 and 4 5; which are left after damage done while nobody has the spool, or somebody (running). */
static void damaged(long off, bool cut, bool running, const char *want, uint64_t n_damaged)
{
    struct col_spool *s = spool(1 << 20, 0, true);
    struct col_spool_stats st;
    struct col_spool_pos pos;
    struct ts_buf b;
    char got[64] = "";
    ts_buf_init(&b, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(put(s, 2 * i, 2), 0);
    if (!running)
        col_spool_close(s);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".seg"))
            damage(e->d_name, off, cut);
    closedir(d);
    if (!running)
        s = spool(1 << 20, 0, true);
    while (col_spool_read(s, 1, &b, &pos, NULL) == 1) {
        for (size_t i = 0; i < b.n; i += LINE_BYTES)
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c ", b.p[i + 13]);
        col_spool_ack(s, &pos);
    }
    assert_string_equal(got, want);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_damaged, n_damaged);
    assert_int_equal(st.n_points + st.n_dropped_points, 0);
    assert_int_equal(put(s, 6, 1), 0); /* it goes on */
    assert_int_equal(drain(s, 6, 1000), 1);
    col_spool_close(s);
    ts_buf_release(&b);
}

static void test_spool__damaged_batches_are_left_out(void **state)
{
    (void)state;
    damaged(BATCH(2) + COL_RECORD_HEAD_BYTES + 5, false, true, "0 1 4 5 ", 2);  /* a line of the second */
    damaged(BATCH(2) + 10, false, true, "0 1 4 5 ", 2);                         /* its length */
    damaged(5, false, true, "2 3 4 5 ", 2);                                     /* the first header */
    damaged(-1, false, true, "0 1 2 3 ", 2);                                    /* the last byte */
    damaged(BATCH(2) + COL_RECORD_HEAD_BYTES + 5, false, false, "0 1 4 5 ", 3); /* header and two lines */
    damaged(-3, true, false, "0 1 2 3 ", 3);                                    /* torn by a kill */
    damaged(-LINE_BYTES - 5, true, false, "0 1 2 3 ", 2);
}

/* A segment that has become shorter below the reader is lost: counted, and the others go on. */
static void test_spool__a_lost_segment_is_counted(void **state)
{
    struct col_spool_stats st;
    struct col_spool_pos pos;
    struct ts_buf b;
    (void)state;
    struct col_spool *s = spool(1 << 20, 1, true);
    ts_buf_init(&b, 0);
    assert_int_equal(put(s, 0, 2), 0);
    assert_int_equal(put(s, 2, 3), 0);
    damage("1.seg", 10, true);
    assert_true(col_spool_read(s, 1000, &b, &pos, NULL) < 0);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_dropped_points, 2);
    assert_int_equal(drain(s, 2, 1000), 3);
    col_spool_close(s);
    ts_buf_release(&b);
}

static void test_spool__a_removed_folder_is_made_again(void **state)
{
    char command[128];
    struct col_spool_stats st;
    (void)state;
    struct col_spool *s = spool(1 << 20, 0, true);
    assert_int_equal(put(s, 0, 5), 0);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(put(s, 5, 5), 0);
    assert_int_equal(count_files(), 1);
    assert_int_equal(drain(s, 0, 1000), 10); /* what was in the open file has moved */
    assert_int_equal(system(command), 0);
    assert_int_equal(put(s, 10, 5), 0);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_dropped_points, 0);
    struct col_spool *other;
    struct col_spool_opts opts = {.dir = dir, .max_bytes = 1 << 20};
    assert_int_equal(col_spool_open(&opts, &other, NULL), TS_EBUSY); /* it is still ours */
    col_spool_close(s);
    s = spool(1 << 20, 0, true);
    assert_int_equal(drain(s, 10, 1000), 5);
    col_spool_close(s);
}

static void test_spool__a_folder_has_one_process(void **state)
{
    (void)state;
    struct col_spool *s = spool(1 << 20, 0, true), *t;
    struct col_spool_opts opts = {.dir = dir, .max_bytes = 1 << 20};
    struct ts_error err = {0};
    assert_int_equal(col_spool_open(&opts, &t, &err), TS_EBUSY);
    assert_non_null(strstr(err.text, "collect_dir"));
    assert_null(t);
    col_spool_close(s);
}

/* --- a disk that is watched --- */

static const struct ts_fs *real;
static char events[256]; /* what was asked of the disk since it was cleared */

static void event(char c)
{
    size_t n = strlen(events);
    if (n + 1 < sizeof(events))
        events[n] = c;
}

static int watched_open(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out_file,
                        struct ts_error *err)
{
    if (how == TS_OPEN_CREATE)
        event('c');
    return real->open(fs, path, how, out_file, err);
}

static int watched_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    event('a');
    return real->append(file, p, n, err);
}

static int watched_sync(struct ts_file *file, struct ts_error *err)
{
    event('s');
    return real->sync(file, err);
}

static int watched_sync_dir(const struct ts_fs *fs, const char *path, struct ts_error *err)
{
    event(strcmp(path, dir) == 0 ? 'd' : 'p');
    return real->sync_dir(fs, path, err);
}

/* A durable batch: what is in the file and then its name in the folder are synced; so is the folder's own name at the start. */
static void test_spool__durable_batches_are_synced(void **state)
{
    (void)state;
    real = ts_fs_real();
    struct ts_fs fs = *real;
    fs.open = watched_open;
    fs.append = watched_append;
    fs.sync = watched_sync;
    fs.sync_dir = watched_sync_dir;
    struct col_spool_opts opts = {.fs = &fs, .dir = dir, .max_bytes = 1 << 20, .segment_bytes = 1};
    struct col_spool *s;
    memset(events, 0, sizeof(events));
    assert_int_equal(col_spool_open(&opts, &s, NULL), 0);
    assert_string_equal(events, "p");
    memset(events, 0, sizeof(events));
    assert_int_equal(put(s, 0, 10), 0);
    assert_string_equal(events, "ca");
    assert_int_equal(put(s, 10, 10), 0);
    memset(events, 0, sizeof(events));
    assert_int_equal(col_spool_append(s, (struct ts_slice){NULL, 0}, 0, true, NULL), 0); /* both segments */
    assert_string_equal(events, "sdsd");
    memset(events, 0, sizeof(events));
    assert_int_equal(col_spool_append(s, TS_SLICE_LIT("put m 00000020 1 a=b\n"), 1, true, NULL), 0);
    assert_string_equal(events, "casd");
    assert_int_equal(drain(s, 0, 1000), 21);
    col_spool_close(s);
}

/* --- a disk that refuses --- */

static int n_refuse; /* appends that fail after half of the bytes */

static int half_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (n_refuse <= 0)
        return real->append(file, p, n, err);
    n_refuse--;
    (void)real->append(file, p, n / 2, err);
    return ts_error_set(err, TS_ENOSPC, "disk full");
}

/* Size of a segment's file. */
static void size_is(int number, long want)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%d.seg", dir, number);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, want);
}

static void test_spool__full_disk_keeps_order_in_memory(void **state)
{
    (void)state;
    real = ts_fs_real();
    struct ts_fs fs = *real;
    fs.append = half_append;
    struct col_spool_opts opts = {
        .fs = &fs, .dir = dir, .max_bytes = 1 << 20, .fallback_bytes = 2 * BATCH(5)};
    struct col_spool *s;
    struct col_spool_stats st;
    struct ts_error err = {0};
    assert_int_equal(col_spool_open(&opts, &s, &err), 0);
    assert_int_equal(put(s, 0, 5), 0);
    n_refuse = 1;
    assert_int_equal(put(s, 5, 5), 0);  /* to memory */
    assert_int_equal(put(s, 10, 5), 0); /* the disk is not asked for a second */
    assert_int_equal(put(s, 15, 5), TS_ENOSPC);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_points, 15);
    assert_int_equal(st.n_dropped_points, 5);
    size_is(1, BATCH(5)); /* nothing of the half batch stays */
    assert_int_equal(drain(s, 0, 50), 15);
    usleep(1100000);
    assert_int_equal(put(s, 20, 5), 0); /* the disk takes again */
    assert_int_equal(count_files() > 0, 1);
    assert_int_equal(drain(s, 20, 50), 5);
    n_refuse = 1; /* what was sent has left the memory */
    assert_int_equal(put(s, 25, 5), 0);
    assert_int_equal(put(s, 30, 5), 0);
    assert_int_equal(drain(s, 25, 50), 10);
    col_spool_close(s);
}

/* A case with a folder of its own. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_spool__gives_back_in_order),
        CASE(test_spool__what_waits_outlives_the_process),
        CASE(test_spool__full_drops_the_oldest_segment),
        CASE(test_spool__large_files_of_old_versions_are_cut_and_synced),
        CASE(test_spool__the_newest_stays),
        CASE(test_spool__an_answer_for_a_dropped_segment_does_nothing),
        CASE(test_spool__plain_files_are_taken_up),
        CASE(test_spool__damaged_batches_are_left_out),
        CASE(test_spool__a_lost_segment_is_counted),
        CASE(test_spool__a_removed_folder_is_made_again),
        CASE(test_spool__a_folder_has_one_process),
        CASE(test_spool__durable_batches_are_synced),
        CASE(test_spool__full_disk_keeps_order_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
