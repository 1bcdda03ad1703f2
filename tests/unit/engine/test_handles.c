/*
 * test_handles.c - descriptors of sorted files: how many are held, which are closed, what happens when none is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/engine/files/handles.h"
#include "tests/faults/faultfs.h"

#define N_FILES 200
#define LIMIT   8

static struct t_faultfs *disk;
static struct sto_handles *cache;
static struct sto_handle files[N_FILES];
static char paths[N_FILES][16];

static int set_up(void **state)
{
    (void)state;
    disk = t_faultfs_new(1);
    cache = sto_handles_new(LIMIT);
    for (uint32_t i = 0; i < N_FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "f%u", i);
        t_faultfs_put(disk, paths[i], &i, sizeof i);
        sto_handle_init(&files[i], t_faultfs_fs(disk), paths[i], cache);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_FILES; i++)
        sto_handle_close(&files[i]);
    size_t n_open = t_faultfs_n_open(disk);
    uint64_t counted = sto_handles_stats(cache).n_open;
    sto_handles_free(cache);
    t_faultfs_free(disk);
    return n_open == 0 && counted == 0 ? 0 : -1;
}

/* Read a file; it must hold its number. */
static int read_file(uint32_t i, struct ts_error *err)
{
    uint32_t v = UINT32_MAX;
    size_t got = 0;
    int rc = sto_handle_pread(&files[i], &v, sizeof v, 0, &got, err);
    if (rc == 0) {
        assert_int_equal(got, sizeof v);
        assert_int_equal(v, i);
    }
    return rc;
}

static void must_read(uint32_t i)
{
    struct ts_error err = {0};
    if (read_file(i, &err) < 0)
        fail_msg("file %u: %s", i, err.text);
}

static uint64_t n_held(void)
{
    uint64_t n = sto_handles_stats(cache).n_open;
    assert_int_equal(n, t_faultfs_n_open(disk));
    return n;
}

static void test_handles__no_more_files_are_open_than_allowed(void **state)
{
    (void)state;
    assert_int_equal(n_held(), 0); /* nothing is opened before it is read */
    for (unsigned round = 0; round < 3; round++)
        for (uint32_t i = 0; i < N_FILES; i++) {
            must_read(i);
            assert_int_equal(n_held(), round == 0 && i < LIMIT ? i + 1 : LIMIT);
        }
    assert_int_equal(sto_handles_stats(cache).limit, LIMIT);
    assert_int_equal(sto_handles_stats(cache).n_reopened, 2 * N_FILES);
    sto_handle_close(&files[N_FILES - 1]);
    assert_int_equal(n_held(), LIMIT - 1);
    sto_handle_close(&files[N_FILES - 1]);
    assert_int_equal(n_held(), LIMIT - 1);
    must_read(N_FILES - 1);
    assert_int_equal(n_held(), LIMIT);
}

static void test_handles__what_is_in_constant_use_stays_open(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < N_FILES; i++) {
        must_read(0);
        must_read(i);
    }
    assert_int_equal(sto_handles_stats(cache).n_reopened, 0);
    assert_int_equal(t_faultfs_calls(disk, T_OP_OPEN), N_FILES);
    for (unsigned k = 0; k < 100; k++)
        must_read(0);
    assert_int_equal(t_faultfs_calls(disk, T_OP_OPEN), N_FILES);
}

/* Reads another file while one is being read. */
static void read_inside(void *arg, enum t_op op, const char *path, bool after)
{
    bool *inside = arg;
    (void)after;
    if (op != T_OP_PREAD || *inside || strcmp(path, paths[0]) != 0)
        return;
    *inside = true;
    for (uint32_t i = 1; i < N_FILES; i++)
        must_read(i);
    assert_int_equal(t_faultfs_n_open(disk), LIMIT);
    *inside = false;
}

static void test_handles__a_file_being_read_is_not_closed(void **state)
{
    (void)state;
    bool inside = false;
    t_faultfs_set_hook(disk, read_inside, &inside);
    must_read(0);
    t_faultfs_set_hook(disk, NULL, NULL);
    assert_int_equal(sto_handles_stats(cache).n_reopened, 0);
    must_read(0);
    assert_int_equal(sto_handles_stats(cache).n_reopened, 0); /* it is open still */
    assert_int_equal(n_held(), LIMIT);
}

static void plan_opens(enum t_fault fault, bool for_good)
{
    t_faultfs_plan(disk,
                   (struct t_fault_plan){.ops = T_OP_OPEN, .at = 1, .for_good = for_good, .fault = fault});
}

/* Others are closed, so that a file can be opened. Only when that does not help it is an error, which passes. */
static void test_handles__without_descriptors_others_are_closed(void **state)
{
    (void)state;
    struct ts_error err = {0};
    for (uint32_t i = 0; i < LIMIT; i++)
        must_read(i);
    plan_opens(T_FAULT_EMFILE, false);
    must_read(LIMIT);
    assert_true(t_faultfs_fired(disk));
    assert_true(n_held() < LIMIT);
    assert_int_equal(sto_handles_stats(cache).n_refused, 0);

    plan_opens(T_FAULT_EMFILE, true);
    assert_int_equal(read_file(0, &err), TS_EMFILE);
    assert_int_equal(err.code, TS_EMFILE);
    assert_non_null(strstr(err.text, "f0"));
    assert_int_equal(n_held(), 0);
    assert_int_equal(sto_handles_stats(cache).n_refused, 1);
    uint64_t bytes;
    assert_int_equal(sto_handle_first(&files[0], &bytes, &err), TS_EMFILE);

    plan_opens(T_FAULT_EMFILE, false);
    assert_int_equal(read_file(0, &err), TS_EMFILE); /* there is nothing left to be closed */
    plan_opens(T_FAULT_EMFILE, false);
    assert_int_equal(sto_handle_first(&files[0], &bytes, &err),
                     0); /* a first opening may use what is kept aside */
    assert_int_equal(bytes, sizeof(uint32_t));
    t_faultfs_plan(disk, (struct t_fault_plan){0});
    for (uint32_t i = 0; i < N_FILES; i++)
        must_read(i);
    assert_int_equal(n_held(), LIMIT);
}

/* The first opening says what is wrong; later a file that is missing is one that cannot be read. */
static void test_handles__errors_of_a_second_opening_are_errors_of_reading(void **state)
{
    (void)state;
    struct ts_error err = {0};
    uint64_t bytes;
    for (uint32_t i = 0; i < N_FILES; i++)
        must_read(i);
    assert_true(t_faultfs_remove(disk, paths[0]));
    assert_int_equal(read_file(0, &err), TS_EIO);
    assert_non_null(strstr(err.text, "f0 was removed"));
    assert_int_equal(sto_handle_first(&files[0], &bytes, &err), TS_ENOTFOUND);
    plan_opens(T_FAULT_EIO, false);
    assert_int_equal(read_file(1, &err), TS_EIO);
    must_read(1);
    t_faultfs_plan(disk, (struct t_fault_plan){.ops = T_OP_PREAD, .at = 1, .fault = T_FAULT_EIO});
    assert_int_equal(read_file(1, &err), TS_EIO);
    must_read(1);
    assert_true(n_held() <= LIMIT);
}

static void test_handles__who_must_not_wait_opens_nothing(void **state)
{
    (void)state;
    struct ts_error err = {0};
    must_read(0);
    ts_fs_set_nowait(true);
    must_read(0);
    assert_int_equal(read_file(1, &err), TS_EBUSY);
    ts_fs_set_nowait(false);
    must_read(1);
}

static void test_handles__the_default_limit_follows_that_of_the_process(void **state)
{
    (void)state;
    static const struct {
        rlim_t process;
        size_t limit;
    } cases[] = {{40, STO_HANDLES_MIN}, {256, 32}, {1024, 128}, {2048, 256}};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rlimit lim = {.rlim_cur = cases[i].process, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
        struct sto_handles *c = sto_handles_new(0);
        assert_int_equal(sto_handles_stats(c).limit, cases[i].limit);
        sto_handles_free(c);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* fsck compares a file with all that may be merges of it, in any number. */
static void test_handles__without_a_cache_few_files_stay_open(void **state)
{
    (void)state;
    struct sto_handle some[N_FILES];
    uint32_t v;
    size_t got;
    for (uint32_t i = 0; i < N_FILES; i++)
        sto_handle_init(&some[i], t_faultfs_fs(disk), paths[i], NULL);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sto_handle_pread(&some[3], &v, sizeof v, 0, &got, NULL), 0);
        assert_int_equal(v, 3);
        assert_int_equal(t_faultfs_calls(disk, T_OP_OPEN), 1);
    }
    for (uint32_t i = 0; i < N_FILES; i++) {
        assert_int_equal(sto_handle_pread(&some[i], &v, sizeof v, 0, &got, NULL), 0);
        assert_int_equal(v, i);
        assert_true(t_faultfs_n_open(disk) <= STO_HANDLES_MIN);
    }
    for (uint32_t i = 0; i < N_FILES; i++)
        sto_handle_close(&some[i]);
    assert_int_equal(t_faultfs_n_open(disk), 0);
}

/* --- the real file system --- */

#define N_REAL 40

/* N_REAL files in a folder of their own, each holds its number. */
struct real {
    char dir[32], paths[N_REAL][64];
    struct sto_handle files[N_REAL];
    struct sto_handles *cache;
};

static void real_make(struct real *r, size_t limit)
{
    char dir[] = "/tmp/test_handles.XXXXXX";
    assert_non_null(mkdtemp(dir));
    memcpy(r->dir, dir, sizeof dir);
    r->cache = sto_handles_new(limit);
    for (uint32_t i = 0; i < N_REAL; i++) {
        snprintf(r->paths[i], sizeof r->paths[i], "%s/%u", dir, i);
        assert_int_equal(ts_fs_write_atomic(ts_fs_real(), r->paths[i], &i, sizeof i, NULL), 0);
        sto_handle_init(&r->files[i], ts_fs_real(), r->paths[i], r->cache);
    }
}

static void real_remove(struct real *r)
{
    for (uint32_t i = 0; i < N_REAL; i++) {
        sto_handle_close(&r->files[i]);
        assert_int_equal(unlink(r->paths[i]), 0);
    }
    sto_handles_free(r->cache);
    assert_int_equal(rmdir(r->dir), 0);
}

static void real_read(struct real *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = UINT32_MAX;
        size_t got;
        assert_int_equal(sto_handle_pread(&r->files[i], &v, sizeof v, 0, &got, NULL), 0);
        assert_int_equal(v, i);
    }
}

static void real_read_all(struct real *r)
{
    real_read(r, N_REAL);
}

/* All descriptors that the process may have are in use or kept aside. */
#define ALL 160
struct full {
    struct rlimit before;
    int taken[ALL], n_taken;
};

static void full_begin(struct full *f)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &f->before), 0);
    struct rlimit lim = {.rlim_cur = ALL, .rlim_max = f->before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE);
    f->n_taken = 0;
    while (f->n_taken < ALL && (f->taken[f->n_taken] = dup(0)) >= 0)
        f->n_taken++;
    assert_true(ts_fs_has_descriptors(0));
    assert_false(ts_fs_has_descriptors(1));
}

static void full_end(struct full *f)
{
    while (f->n_taken > 0)
        close(f->taken[--f->n_taken]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &f->before), 0);
}

/* A file is opened in the place of another one as long as there is one; only a first opening uses a spare descriptor, and only
 * if there is none. */
static void test_handles__spare_descriptors_are_not_used_for_reading(void **state)
{
    enum { CACHED = 10 };
    (void)state;
    struct real r;
    struct full f;
    uint32_t v;
    uint64_t bytes;
    size_t got;
    struct ts_error err = {0};
    real_make(&r, 2 * CACHED);
    real_read(&r, CACHED);
    full_begin(&f);
    real_read_all(&r);
    assert_int_equal(sto_handle_first(&r.files[0], &bytes, &err), 0);
    assert_true(ts_fs_has_descriptors(0)); /* none was used */
    for (uint32_t i = 0; i < N_REAL; i++)
        sto_handle_close(&r.files[i]);
    while (f.n_taken < ALL && (f.taken[f.n_taken] = dup(0)) >= 0)
        f.n_taken++;
    assert_int_equal(sto_handle_pread(&r.files[1], &v, sizeof v, 0, &got, &err), TS_EMFILE);
    assert_true(ts_fs_has_descriptors(0));
    assert_int_equal(sto_handle_first(&r.files[1], &bytes, &err), 0);
    assert_int_equal(bytes, sizeof v);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE - 1);
    full_end(&f);
    real_remove(&r);
}

/* What is open only to be read again gives way to spare descriptors and to files being written. */
static void test_handles__files_give_way_to_what_is_written(void **state)
{
    enum { CACHED = 30, SPENT = 10 };
    (void)state;
    struct real r;
    struct full f;
    struct ts_file *logs[SPENT];
    real_make(&r, CACHED);
    real_read_all(&r);
    assert_int_equal(sto_handles_stats(r.cache).n_open, CACHED);
    full_begin(&f);
    real_read_all(&r); /* they take turns */
    assert_true(sto_handles_leave_free(r.cache, 4));
    uint64_t n_open = sto_handles_stats(r.cache).n_open;
    assert_true(n_open >= CACHED - 4 - 8 && n_open <= CACHED - 4); /* no more than that, in steps of 8 */
    real_read_all(&r);
    assert_int_equal(sto_handles_stats(r.cache).n_open, CACHED); /* what is free may be used */

    for (unsigned i = 0; i < SPENT; i++)
        assert_int_equal(ts_fs_real()->open(ts_fs_real(), r.paths[i], TS_OPEN_READ, &logs[i], NULL), 0);
    assert_true(ts_fs_keep_spare() < TS_FS_SPARE);
    assert_true(sto_handles_leave_free(r.cache, 0)); /* spare ones that were used are replaced */
    assert_true(sto_handles_stats(r.cache).n_open > 0);
    assert_false(sto_handles_leave_free(r.cache, CACHED));
    real_read_all(&r);
    for (unsigned i = 0; i < SPENT; i++)
        assert_int_equal(ts_fs_real()->close(logs[i], NULL), 0);
    full_end(&f);
    real_remove(&r);
}

/* --- threads --- */

#define N_THREADS 6
#define FEW       3
#define N_READS   2000

struct reader {
    struct sto_handle *files;
    uint64_t seed;
    unsigned n_wrong, n_over;
};

static void *read_many(void *arg)
{
    struct reader *r = arg;
    for (unsigned k = 0; k < N_READS; k++) {
        uint64_t x = t_rand(&r->seed);
        uint32_t i = (uint32_t)(x % 3 ? x % N_REAL : x % 2), v = UINT32_MAX; /* two of them are read by all */
        size_t got = 0;
        r->n_wrong +=
            sto_handle_pread(&r->files[i], &v, sizeof v, 0, &got, NULL) < 0 || got != sizeof v || v != i;
        r->n_over += sto_handles_stats(r->files[i].cache).n_open > FEW + 3 * N_THREADS;
    }
    return NULL;
}

static unsigned n_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        int copy = dup(fd);
        n += copy >= 0;
        if (copy >= 0)
            close(copy);
    }
    return n;
}

static void test_handles__many_threads_share_few_descriptors(void **state)
{
    (void)state;
    struct real r;
    real_make(&r, FEW);
    unsigned before = n_descriptors();
    pthread_t threads[N_THREADS];
    struct reader readers[N_THREADS];
    for (unsigned i = 0; i < N_THREADS; i++) {
        readers[i] = (struct reader){.files = r.files, .seed = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].n_wrong, 0);
        assert_int_equal(readers[i].n_over, 0);
    }
    real_read_all(&r); /* whoever opens the next file closes those above the limit */
    assert_int_equal(sto_handles_stats(r.cache).n_open, FEW);
    assert_int_equal(n_descriptors() - before, FEW);
    assert_true(sto_handles_stats(r.cache).n_reopened > 0);
    real_remove(&r);
    assert_int_equal(n_descriptors(), before);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_handles__no_more_files_are_open_than_allowed),
        CASE(test_handles__what_is_in_constant_use_stays_open),
        CASE(test_handles__a_file_being_read_is_not_closed),
        CASE(test_handles__without_descriptors_others_are_closed),
        CASE(test_handles__errors_of_a_second_opening_are_errors_of_reading),
        CASE(test_handles__who_must_not_wait_opens_nothing),
        CASE(test_handles__the_default_limit_follows_that_of_the_process),
        CASE(test_handles__without_a_cache_few_files_stay_open),
        cmocka_unit_test(test_handles__spare_descriptors_are_not_used_for_reading),
        cmocka_unit_test(test_handles__files_give_way_to_what_is_written),
        cmocka_unit_test(test_handles__many_threads_share_few_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
