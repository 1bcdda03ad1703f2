/*
 * test_reply_spool.c - files of replies: bytes come back, pages leave the cache, limits hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/t_folder.h"
#include "tsd/daemon/spool.h"

#define PIECE ((size_t)128 << 10)
#define N     128 /* pieces: 16 MiB */

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

/* The descriptor of the file without a name that we have open below dir. */
static int spool_fd(void)
{
    DIR *d = opendir("/proc/self/fd");
    int fd = -1;
    for (struct dirent *e; fd < 0 && (e = readdir(d));) {
        char to[512] = "";
        if (readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1) > 0 && strstr(to, "reply-") &&
            strstr(to, dir))
            fd = (int)strtol(e->d_name, NULL, 10);
    }
    closedir(d);
    assert_true(fd >= 0);
    return fd;
}

/* Bytes of it in the page cache. */
static size_t cached(int fd)
{
    struct stat st;
    size_t n = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(fstat(fd, &st), 0);
    size_t n_bytes = (size_t)st.st_size, n_pages = (n_bytes + page - 1) / page;
    unsigned char *in = ts_xcalloc(n_pages, 1);
    void *p = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mincore(p, n_bytes, in), 0);
    for (size_t i = 0; i < n_pages; i++)
        n += in[i] & 1;
    (void)munmap(p, n_bytes);
    ts_free(in);
    return n * page;
}

/* Does the page cache hold files here anyway? */
static bool in_memory(void)
{
    struct statfs fs;
    assert_int_equal(statfs(dir, &fs), 0);
    return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

static void test_reply_spool__what_is_written_leaves_the_page_cache(void **state)
{
    struct tsd_spools all;
    tsd_spools_init(&all, dir, (uint64_t)1 << 30);
    struct tsd_spool s = {.all = &all, .account = &all.account};
    struct ts_error err = {0};
    char *piece = ts_xcalloc(1, PIECE), *got = ts_xcalloc(1, PIECE);
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            memset(piece, 'a' + i % 26, PIECE);
            if (tsd_spool_append(&s, piece, PIECE, &err) < 0)
                fail_msg("%s", err.text);
        }
        int fd = spool_fd();
        if (!in_memory())
            assert_true(cached(fd) <= 4 << 20);
        for (int i = 0; i < N; i++) {
            memset(piece, 'a' + i % 26, PIECE);
            assert_int_equal(tsd_spool_read(&s, got, PIECE, (uint64_t)i * PIECE, &err), 0);
            assert_memory_equal(got, piece, PIECE);
        }
        if (!in_memory())
            assert_true(cached(fd) <= 4 << 20);
        assert_int_equal(tsd_spool_rewind(&s, &err), 0);
        assert_int_equal(atomic_load(&all.account.used_bytes), 0);
    }
    tsd_spool_release(&s);
    tsd_spool_release(&s);
    ts_free(piece);
    ts_free(got);
}

/* Calls of sync_file_range that wait for the disk: this function takes the place of the C library's. */
static unsigned n_waits;

int sync_file_range(int fd, off64_t off, off64_t n, unsigned flags)
{
    n_waits += (flags & (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER)) != 0;
    return (int)syscall(SYS_sync_file_range, fd, off, n, flags);
}

/* One thread reads for all replies (job_out.c): if it waited until the disk has written one of them, all others would stop. */
static void test_reply_spool__reading_does_not_wait_until_the_disk_has_written(void **state)
{
    struct tsd_spools all;
    tsd_spools_init(&all, dir, (uint64_t)1 << 30);
    struct tsd_spool s = {.all = &all, .account = &all.account};
    struct ts_error err = {0};
    char *piece = ts_xcalloc(1, PIECE);
    (void)state;
    for (int i = 0; i < N; i++)
        assert_int_equal(tsd_spool_append(&s, piece, PIECE, &err), 0);
    assert_true(n_waits > 0); /* the query is slowed to the speed of the disk */
    n_waits = 0;
    for (int i = 0; i < N; i++)
        assert_int_equal(tsd_spool_read(&s, piece, PIECE, (uint64_t)i * PIECE, &err), 0);
    assert_int_equal(n_waits, 0);
    tsd_spool_release(&s);
    ts_free(piece);
}

static void test_reply_spool__limits_name_their_key(void **state)
{
    struct tsd_spools all;
    tsd_spools_init(&all, dir, 16 << 10);
    struct tsd_spool a = {.all = &all, .account = &all.account}, b = a;
    struct ts_error err = {0};
    char piece[4096] = "";
    (void)state;
    assert_int_equal(tsd_spool_append(&a, piece, sizeof(piece), &err), 0);
    assert_int_equal(tsd_spool_append(&a, piece, 1, &err), TS_ELIMIT); /* one reply has a quarter */
    assert_non_null(strstr(err.text, "query_spool_bytes"));
    assert_int_equal(tsd_spool_append(&b, piece, 1, &err), 0);
    tsd_spool_release(&a);
    assert_int_equal(atomic_load(&all.account.used_bytes), 1);
    assert_int_equal(atomic_load(&all.n_full), 1);
    tsd_spool_release(&b);
}

/* Four times as much as all replies have in files stays free on the disk; what is refused is not counted. */
static void test_reply_spool__the_disk_is_not_filled(void **state)
{
    struct tsd_spools all;
    struct statfs fs;
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(statfs(dir, &fs), 0);
    size_t n_all = (size_t)fs.f_blocks * (size_t)fs.f_bsize;
    tsd_spools_init(&all, dir, (uint64_t)1 << 62);
    struct tsd_spool s = {.all = &all, .account = &all.account};
    assert_int_equal(tsd_spool_append(&s, "", n_all, &err), TS_ELIMIT); /* before a byte of it is read */
    assert_int_equal(atomic_load(&all.account.used_bytes), 0);
    assert_int_equal(atomic_load(&all.n_full), 1);
    assert_int_equal(tsd_spool_append(&s, "x", 1, &err), 0);
    assert_int_equal(atomic_load(&all.account.used_bytes), 1);
    tsd_spool_release(&s);
}

static void test_reply_spool__one_address_leaves_space_for_others(void **state)
{
    struct tsd_spools all;
    tsd_spools_init(&all, dir, 64 << 10);
    struct ts_budget addresses[2];
    struct tsd_spool files[6];
    struct ts_error err = {0};
    char piece[4096] = "";
    int n[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        ts_budget_init_share(&addresses[i], "one address", &all.account);
    for (int i = 0; i < 6; i++) {
        files[i] = (struct tsd_spool){.all = &all, .account = &addresses[i / 4]};
        for (int k = 0; k < 4; k++)
            n[i / 4] += tsd_spool_append(&files[i], piece, sizeof(piece), &err) == 0;
    }
    assert_int_equal(n[0], 6); /* half of three quarters of 16 */
    assert_int_equal(n[1], 3);
    assert_int_equal(atomic_load(&all.account.n_share_refused), 15);
    for (int i = 0; i < 6; i++)
        tsd_spool_release(&files[i]);
    assert_int_equal(atomic_load(&all.account.used_bytes), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_reply_spool__what_is_written_leaves_the_page_cache),
        CASE(test_reply_spool__reading_does_not_wait_until_the_disk_has_written),
        CASE(test_reply_spool__limits_name_their_key),
        CASE(test_reply_spool__the_disk_is_not_filled),
        CASE(test_reply_spool__one_address_leaves_space_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
