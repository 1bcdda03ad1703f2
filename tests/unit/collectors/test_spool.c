/*
 * test_spool.c - lines in, lines out, in order; hours dropped whole; what a killed process leaves.
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
#include "base/time.h"
#include "collectors/spool.h"
#include "tests/unit/t_folder.h"

#define HOUR0 (1700000000000ll / TS_HOUR_MS * TS_HOUR_MS)

static char dir[T_FOLDER_BYTES];

static int setup(void **state)
{
    (void)state;
    t_folder_make(dir);
    ts_clock_set_fake(HOUR0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ts_clock_set_fake(0);
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
        n += strstr(e->d_name, ".put") != NULL;
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
    assert_int_equal(st.n_bytes, 21000);
    assert_int_equal(drain(s, 0, 500), 1000);
    assert_false(col_spool_wait(s, 0));
    assert_int_equal(put(s, 1000, 3), 0);
    assert_true(col_spool_wait(s, 0));
    assert_int_equal(drain(s, 1000, 10), 3); /* a block smaller than a line still holds one */
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
    assert_int_equal(put(s, 50, 50), 0);
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

static void test_spool__full_drops_the_oldest_hour_whole(void **state)
{
    (void)state;
    for (int disk = 0; disk < 2; disk++) {
        struct col_spool *s = spool(21 * 100, 21 * 10, disk);
        struct col_spool_stats st;
        for (int hour = 0; hour < 4; hour++) {
            ts_clock_set_fake(HOUR0 + hour * TS_HOUR_MS);
            for (int i = 0; i < 6; i++)
                assert_int_equal(put(s, hour * 30 + i * 5, 5), 0);
        }
        /* 120 lines, room for 100: the first 30 are gone, not just 20 */
        col_spool_stats(s, &st);
        assert_int_equal(st.n_dropped_hours, 1);
        assert_int_equal(st.n_dropped_points, 30);
        assert_int_equal(st.n_points, 90);
        assert_int_equal(drain(s, 30, 1000), 90);
        /* within one hour: the hour itself */
        for (int i = 0; i < 21; i++)
            assert_int_equal(put(s, 200 + i * 5, 5), 0);
        col_spool_stats(s, &st);
        assert_int_equal(st.n_dropped_hours, 2);
        assert_int_equal(st.n_dropped_points, 130);
        assert_int_equal(drain(s, 300, 1000), 5);
        assert_int_equal(put(s, 0, 101), TS_ELIMIT); /* larger than all */
        col_spool_stats(s, &st);
        assert_int_equal(st.n_dropped_points, 231);
        col_spool_close(s);
    }
}

static void test_spool__an_answer_for_a_dropped_hour_does_nothing(void **state)
{
    (void)state;
    struct col_spool *s = spool(21 * 10, 21 * 2, true);
    struct col_spool_pos pos;
    struct ts_buf b;
    struct col_spool_stats st;
    ts_buf_init(&b, 0);
    assert_int_equal(put(s, 0, 2), 0);
    assert_int_equal(col_spool_read(s, 1000, &b, &pos, NULL), 1);
    ts_clock_set_fake(HOUR0 + TS_HOUR_MS);
    assert_int_equal(put(s, 2, 9), 0); /* drops the first hour while its lines are under way */
    col_spool_ack(s, &pos);
    col_spool_stats(s, &st);
    assert_int_equal(st.n_points, 9);
    assert_int_equal(st.n_dropped_points, 2);
    assert_int_equal(drain(s, 2, 1000), 9);
    col_spool_close(s);
    ts_buf_release(&b);
}

static void test_spool__torn_and_damaged_lines_are_left_out(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/%lld-7.put", dir, HOUR0 / 1000);
    FILE *f = fopen(path, "w");
    fputs("put m 00000000 1 a=b\ngarbage\nput m 00000001 1 a=b\n", f);
    fwrite("put\0\0\0\n", 1, 7, f);
    fputs("put m 00000002 1 a=b\nput m 0000", f);
    fclose(f);
    snprintf(path, sizeof(path), "%s/%lld-8.put", dir, HOUR0 / 1000);
    f = fopen(path, "w"); /* nothing but a torn line */
    fputs("pu", f);
    fclose(f);
    struct col_spool *s = spool(1 << 20, 0, true);
    struct col_spool_stats st;
    col_spool_stats(s, &st);
    assert_int_equal(st.n_damaged, 4);
    assert_int_equal(st.n_points, 3);
    assert_int_equal(put(s, 3, 1), 0);
    assert_int_equal(drain(s, 0, 1000), 4);
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

static void test_spool__durable_batches_are_synced(void **state)
{
    (void)state;
    struct col_spool *s = spool(1 << 20, 100, true);
    assert_int_equal(put(s, 0, 10), 0);
    assert_int_equal(put(s, 10, 10), 0);
    assert_int_equal(col_spool_append(s, (struct ts_slice){NULL, 0}, 0, true, NULL), 0);
    assert_int_equal(col_spool_append(s, TS_SLICE_LIT("put m 00000020 1 a=b\n"), 1, true, NULL), 0);
    assert_int_equal(drain(s, 0, 1000), 21);
    col_spool_close(s);
}

/* --- a disk that refuses --- */

static int n_refuse; /* appends that fail after half of the bytes */
static const struct ts_fs *real;

static int half_append(struct ts_file *file, const void *p, size_t n, struct ts_error *err)
{
    if (n_refuse <= 0)
        return real->append(file, p, n, err);
    n_refuse--;
    (void)real->append(file, p, n / 2, err);
    return ts_error_set(err, TS_ENOSPC, "disk full");
}

static void test_spool__full_disk_keeps_order_in_memory(void **state)
{
    (void)state;
    real = ts_fs_real();
    struct ts_fs fs = *real;
    fs.append = half_append;
    struct col_spool_opts opts = {.fs = &fs, .dir = dir, .max_bytes = 1 << 20, .fallback_bytes = 21 * 10};
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
    assert_int_equal(drain(s, 0, 50), 15);
    usleep(1100000);
    assert_int_equal(put(s, 20, 5), 0); /* the disk takes again */
    assert_int_equal(count_files() > 0, 1);
    assert_int_equal(drain(s, 20, 50), 5);
    col_spool_close(s);
}

/* A case with a folder of its own. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_spool__gives_back_in_order),
        CASE(test_spool__what_waits_outlives_the_process),
        CASE(test_spool__full_drops_the_oldest_hour_whole),
        CASE(test_spool__an_answer_for_a_dropped_hour_does_nothing),
        CASE(test_spool__torn_and_damaged_lines_are_left_out),
        CASE(test_spool__a_folder_has_one_process),
        CASE(test_spool__durable_batches_are_synced),
        CASE(test_spool__full_disk_keeps_order_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
