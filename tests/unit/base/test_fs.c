/*
 * test_fs.c - the real file system, and whole files on one that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static const struct ts_fs *fs;
static struct ts_error err;
static char folder[64]; /* new for each case */
static char name_buf[4][128];

/* Path of a name in the folder; four at a time. */
static const char *at(const char *name)
{
    static unsigned turn;
    char *p = name_buf[turn++ % 4];
    snprintf(p, sizeof(name_buf[0]), "%s/%s", folder, name);
    return p;
}

static int set_up(void **state)
{
    (void)state;
    fs = ts_fs_real();
    memset(&err, 0, sizeof(err));
    snprintf(folder, sizeof(folder), "/tmp/tsd-test-fs-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(void *arg, const char *name)
{
    (void)arg;
    if (fs->unlink(fs, at(name), NULL) < 0)
        rmdir(at(name));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fs->list(fs, folder, remove_one, NULL, NULL);
    return rmdir(folder);
}

static void check_content(const char *path, const char *expect)
{
    char *p;
    size_t n;
    assert_int_equal(ts_fs_read_file(fs, path, 1u << 20, &p, &n, &err), 0);
    assert_int_equal(n, strlen(expect));
    assert_string_equal(p, expect);
    ts_free(p);
}

static void test_fs__three_ways_to_open(void **state)
{
    (void)state;
    struct ts_file *f = (struct ts_file *)&err;
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_READ, &f, &err), TS_ENOTFOUND);
    assert_null(f);
    assert_non_null(strstr(err.text, at("a")));
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_CREATE, &f, &err), 0);
    assert_int_equal(fs->append(f, "one", 3, &err), 0);
    assert_int_equal(fs->close(f, &err), 0);
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_CREATE, &f, &err), TS_EEXIST);
    assert_null(f);
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_APPEND, &f, &err), 0);
    assert_int_equal(fs->append(f, "two", 3, &err), 0);
    char b[8];
    size_t n;
    assert_int_equal(fs->pread(f, b, 3, 0, &n, &err), 0); /* does not move the end */
    assert_int_equal(fs->append(f, "!", 1, &err), 0);
    assert_int_equal(fs->close(f, &err), 0);
    check_content(at("a"), "onetwo!");
    assert_int_equal(fs->open(fs, at("b"), TS_OPEN_APPEND, &f, &err), 0); /* new one */
    assert_int_equal(fs->close(f, &err), 0);
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_READ, &f, &err), 0);
    assert_int_equal(fs->append(f, "x", 1, &err), TS_EIO);
    assert_int_equal(fs->close(f, &err), 0);
    check_content(at("a"), "onetwo!");
    assert_int_equal(fs->close(NULL, &err), 0);
}

static void test_fs__pread_is_short_at_the_end_only(void **state)
{
    (void)state;
    struct ts_file *f;
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_CREATE, &f, &err), 0);
    assert_int_equal(fs->append(f, "0123456789", 10, &err), 0);
    char b[16];
    const struct {
        size_t n;
        uint64_t off;
        size_t expect;
    } cases[] = {{4, 0, 4}, {4, 6, 4}, {4, 7, 3}, {4, 10, 0}, {4, 1000, 0}, {0, 3, 0}, {16, 0, 10}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = 99;
        assert_int_equal(fs->pread(f, b, cases[i].n, cases[i].off, &n, &err), 0);
        assert_int_equal(n, cases[i].expect);
        assert_memory_equal(b, &"0123456789"[cases[i].off % 11], n);
    }
    size_t n = 99;
    assert_int_equal(fs->pread(f, b, 1, UINT64_MAX, &n, &err), TS_EINVAL);
    assert_int_equal(n, 0);
    assert_int_equal(fs->close(f, &err), 0);
}

static void test_fs__truncate_moves_the_end(void **state)
{
    (void)state;
    struct ts_file *f;
    uint64_t size_bytes;
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_CREATE, &f, &err), 0);
    assert_int_equal(fs->append(f, "0123456789", 10, &err), 0);
    assert_int_equal(fs->truncate(f, 4, &err), 0);
    assert_int_equal(fs->size(f, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 4);
    assert_int_equal(fs->append(f, "x", 1, &err), 0); /* no hole */
    assert_int_equal(fs->sync(f, &err), 0);
    assert_int_equal(fs->truncate(f, UINT64_MAX, &err), TS_EINVAL);
    assert_int_equal(fs->close(f, &err), 0);
    check_content(at("a"), "0123x");
}

static void test_fs__full_disk_has_its_own_code(void **state)
{
    (void)state;
    struct ts_file *f;
    assert_int_equal(fs->open(fs, "/dev/full", TS_OPEN_APPEND, &f, &err), 0);
    assert_int_equal(fs->append(f, "x", 1, &err), TS_ENOSPC);
    assert_non_null(strstr(err.text, "/dev/full"));
    assert_non_null(strstr(err.text, "No space left"));
    fs->close(f, NULL);
}

static void test_fs__write_cut_short_is_an_error_not_a_success(void **state)
{
    (void)state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    struct ts_file *f;
    char b[4000];
    memset(b, 'x', sizeof(b));
    assert_int_equal(fs->open(fs, at("a"), TS_OPEN_CREATE, &f, &err), 0);
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = fs->append(f, b, sizeof(b), &err); /* the kernel takes 1,000 bytes, then refuses */
    int rc_truncate = fs->truncate(f, 10, NULL);
    int rc_again = fs->append(f, b, 20, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, old_handler);
    assert_int_equal(rc, TS_EIO);
    assert_int_equal(rc_truncate, 0);
    assert_int_equal(rc_again, 0);
    uint64_t size_bytes;
    assert_int_equal(fs->size(f, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 30);
    fs->close(f, NULL);
}

/* Reads a pipe slowly and sends the writer a signal after each bite. */
struct reader {
    char path[128];
    pthread_t writer;
    size_t n_wrong, n_read;
};
enum { PIPE_BYTES = 600000 };
static char pipe_byte(size_t i)
{
    return (char)(i * 31 % 251);
}
static void *read_slowly(void *arg)
{
    struct reader *r = arg;
    FILE *in = fopen(r->path, "r");
    if (!in)
        return NULL;
    setvbuf(in, NULL, _IONBF, 0);
    char b[3000];
    while (r->n_read < PIPE_BYTES) {
        size_t n = PIPE_BYTES - r->n_read < sizeof(b) ? PIPE_BYTES - r->n_read : sizeof(b);
        n = fread(b, 1, n, in);
        for (size_t i = 0; i < n; i++)
            r->n_wrong += b[i] != pipe_byte(r->n_read + i);
        r->n_read += n;
        pthread_kill(r->writer, SIGUSR1);
    }
    fclose(in);
    return NULL;
}
static void on_signal(int sig)
{
    (void)sig;
}

static void test_fs__signals_do_not_lose_or_double_bytes(void **state)
{
    (void)state;
    struct sigaction interrupt = {.sa_handler = on_signal}, old; /* no SA_RESTART: calls are broken off */
    sigaction(SIGUSR1, &interrupt, &old);
    struct reader r = {.writer = pthread_self()};
    snprintf(r.path, sizeof(r.path), "%s", at("pipe"));
    assert_int_equal(mkfifo(r.path, 0600), 0);
    struct ts_file *f;
    assert_int_equal(fs->open(fs, r.path, TS_OPEN_APPEND, &f, &err), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_slowly, &r), 0);
    char *b = ts_xmalloc(PIPE_BYTES);
    for (size_t i = 0; i < PIPE_BYTES; i++)
        b[i] = pipe_byte(i);
    assert_int_equal(fs->append(f, b, PIPE_BYTES, &err), 0);
    pthread_join(thread, NULL);
    ts_free(b);
    fs->close(f, NULL);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(r.n_read, PIPE_BYTES);
    assert_int_equal(r.n_wrong, 0);
}

static void test_fs__a_failed_sync_is_never_tried_again(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    struct ts_file *f;
    assert_int_equal(fs->open(fs, at("pipe"), TS_OPEN_APPEND, &f, &err), 0);
    assert_int_equal(fs->sync(f, &err), TS_EIO); /* pipes cannot be synced */
    assert_int_not_equal(err.sys_errno, 0);
    assert_int_equal(fs->sync(f, &err), TS_EIO);
    assert_non_null(strstr(err.text, "an earlier sync failed"));
    fs->close(f, NULL);
}

static void test_fs__lock_is_held_by_one_until_it_closes(void **state)
{
    (void)state;
    struct ts_file *a, *b;
    assert_int_equal(fs->open(fs, at("lock"), TS_OPEN_APPEND, &a, &err), 0);
    assert_int_equal(fs->open(fs, at("lock"), TS_OPEN_APPEND, &b, &err), 0);
    assert_int_equal(fs->lock(a, &err), 0);
    assert_int_equal(fs->lock(a, &err), 0); /* one's own */
    assert_int_equal(fs->lock(b, &err), TS_EBUSY);
    assert_non_null(strstr(err.text, at("lock")));
    fs->close(b, NULL);
    assert_int_equal(fs->unlink(fs, at("lock"), &err), 0); /* a new file of that name lets nobody in */
    assert_int_equal(fs->open(fs, at("lock"), TS_OPEN_APPEND, &b, &err), 0);
    assert_int_equal(fs->lock(b, &err), TS_EBUSY);
    fs->close(a, NULL);
    assert_int_equal(fs->lock(b, &err), 0);
    fs->close(b, NULL);
}

static void test_fs__names_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(ts_fs_write_atomic(fs, at("a"), "a", 1, &err), 0);
    assert_int_equal(ts_fs_write_atomic(fs, at("b"), "b", 1, &err), 0);
    assert_int_equal(fs->rename(fs, at("a"), at("b"), &err), 0);
    check_content(at("b"), "a");
    assert_int_equal(fs->rename(fs, at("a"), at("c"), &err), TS_ENOTFOUND);
    assert_non_null(strstr(err.text, at("c")));
    assert_int_equal(fs->unlink(fs, at("b"), &err), 0);
    assert_int_equal(fs->unlink(fs, at("b"), &err), TS_ENOTFOUND);
}

static void test_fs__folders_may_be_there_already_files_may_not(void **state)
{
    (void)state;
    assert_int_equal(fs->mkdir(fs, at("d"), &err), 0);
    assert_int_equal(fs->mkdir(fs, at("d"), &err), 0);
    assert_int_equal(fs->sync_dir(fs, at("d"), &err), 0);
    assert_int_equal(ts_fs_write_atomic(fs, at("f"), "", 0, &err), 0);
    assert_int_equal(fs->mkdir(fs, at("f"), &err), TS_EEXIST);
    assert_int_equal(fs->mkdir(fs, at("no/d"), &err), TS_ENOTFOUND);
    assert_int_equal(fs->sync_dir(fs, at("no"), &err), TS_ENOTFOUND);
    assert_int_equal(fs->sync_dir(fs, at("f"), &err), TS_EIO);
}

/* What list called each with. */
struct seen {
    unsigned n, n_allowed;
    bool odd;
};
static int see(void *arg, const char *name)
{
    struct seen *s = arg;
    if (s->n == s->n_allowed)
        return TS_ECANCELLED;
    s->n++;
    s->odd |= strlen(name) != 2 || name[0] != 'f';
    return 0;
}

static void test_fs__list_gives_every_name_but_dots(void **state)
{
    (void)state;
    for (char c = '0'; c <= '9'; c++) {
        const char name[] = {'f', c, '\0'};
        assert_int_equal(ts_fs_write_atomic(fs, at(name), "", 0, &err), 0);
    }
    struct seen all = {.n_allowed = 100}, some = {.n_allowed = 4};
    assert_int_equal(fs->list(fs, folder, see, &all, &err), 0);
    assert_int_equal(all.n, 10);
    assert_false(all.odd);
    assert_int_equal(fs->list(fs, folder, see, &some, &err), TS_ECANCELLED);
    assert_int_equal(some.n, 4);
    assert_int_equal(fs->list(fs, at("no"), see, &all, &err), TS_ENOTFOUND);
    uint64_t free_bytes = 0;
    assert_int_equal(fs->free_bytes(fs, folder, &free_bytes, &err), 0);
    assert_true(free_bytes > 0);
    assert_int_equal(fs->free_bytes(fs, at("no"), &free_bytes, &err), TS_ENOTFOUND);
    assert_int_equal(free_bytes, 0);
}

static void test_fs__read_file_has_a_limit(void **state)
{
    (void)state;
    char *p;
    size_t n;
    assert_int_equal(ts_fs_read_file(fs, at("a"), 10, &p, &n, &err), TS_ENOTFOUND);
    assert_null(p);
    assert_int_equal(ts_fs_write_atomic(fs, at("a"), "0123456789", 10, &err), 0);
    assert_int_equal(ts_fs_read_file(fs, at("a"), 9, &p, &n, &err), TS_ELIMIT);
    assert_null(p);
    assert_int_equal(n, 0);
    assert_int_equal(ts_fs_read_file(fs, at("a"), 10, &p, &n, &err), 0);
    assert_int_equal(n, 10);
    assert_memory_equal(p, "0123456789", 11);
    ts_free(p);
    ts_mem_fail_after(1);
    assert_int_equal(ts_fs_read_file(fs, at("a"), 10, &p, &n, &err), TS_ENOMEM);
    assert_null(p);
    assert_int_equal(ts_fs_write_atomic(fs, at("a"), NULL, 0, &err), 0);
    check_content(at("a"), "");
    assert_int_equal(ts_fs_read_file(fs, folder, 1u << 20, &p, &n, &err),
                     TS_EIO); /* opens, but cannot be read */
    assert_null(p);
    assert_int_equal(n, 0);
}

static void test_fs__pipes_are_read_to_their_end(void **state)
{
    (void)state;
    char *p, name[32];
    size_t n;
    int ends[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "01234", 5), 5);
        assert_int_equal(write(ends[1], "56789", 5), 5);
        close(ends[1]);
        snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
        assert_int_equal(ts_fs_read_any(name, i ? 9 : 10, &p, &n, &err), i ? TS_ELIMIT : 0);
        if (i == 0)
            assert_memory_equal(p, "0123456789", 11);
        assert_int_equal(n, i ? 0 : 10);
        ts_free(p);
        close(ends[0]);
    }
    assert_int_equal(ts_fs_write_atomic(fs, at("a"), "0123456789", 10, &err), 0);
    assert_int_equal(ts_fs_read_any(at("a"), 10, &p, &n, &err), 0);
    assert_memory_equal(p, "0123456789", 11);
    ts_free(p);
    assert_int_equal(ts_fs_read_any(at("b"), 10, &p, &n, &err), TS_ENOTFOUND);
    assert_int_equal(ts_fs_read_any(folder, 10, &p, &n, &err), TS_EIO);
    assert_null(p);
}

/* --- a file system that fails at one place --- */

enum fault { F_OPEN, F_APPEND, F_SYNC, F_CLOSE, F_RENAME, F_SYNC_DIR, N_FAULTS };

static int bad_open(const struct ts_fs *self, const char *path, enum ts_open how, struct ts_file **out_file,
                    struct ts_error *e)
{
    (void)self, (void)path, (void)how;
    *out_file = NULL;
    return ts_error_set(e, TS_EIO, "injected");
}
static int bad_append(struct ts_file *f, const void *p, size_t n, struct ts_error *e)
{
    fs->append(f, p, n / 2, NULL);
    return ts_error_set(e, TS_ENOSPC, "injected");
}
static int bad_sync(struct ts_file *f, struct ts_error *e)
{
    (void)f;
    return ts_error_set(e, TS_EIO, "injected");
}
static int bad_close(struct ts_file *f, struct ts_error *e)
{
    fs->close(f, NULL);
    return ts_error_set(e, TS_EIO, "injected");
}
static int bad_rename(const struct ts_fs *self, const char *from, const char *to, struct ts_error *e)
{
    (void)self, (void)from, (void)to;
    return ts_error_set(e, TS_EIO, "injected");
}
static int bad_sync_dir(const struct ts_fs *self, const char *path, struct ts_error *e)
{
    (void)self;
    assert_string_equal(path, folder);
    return ts_error_set(e, TS_EIO, "injected");
}

static void test_fs__atomic_write_leaves_old_or_new(void **state)
{
    (void)state;
    for (int fault = 0; fault < N_FAULTS; fault++) {
        assert_int_equal(ts_fs_write_atomic(fs, at("a"), "old", 3, &err), 0);
        struct ts_fs bad = *fs;
        bad.open = fault == F_OPEN ? bad_open : bad.open;
        bad.append = fault == F_APPEND ? bad_append : bad.append;
        bad.sync = fault == F_SYNC ? bad_sync : bad.sync;
        bad.close = fault == F_CLOSE ? bad_close : bad.close;
        bad.rename = fault == F_RENAME ? bad_rename : bad.rename;
        bad.sync_dir = fault == F_SYNC_DIR ? bad_sync_dir : bad.sync_dir;
        assert_int_equal(ts_fs_write_atomic(&bad, at("a"), "newer", 5, &err),
                         fault == F_APPEND ? TS_ENOSPC : TS_EIO);
        assert_string_equal(err.text, "injected");
        check_content(at("a"), fault == F_SYNC_DIR ? "newer" : "old");
        struct seen all = {.n_allowed = 100};
        assert_int_equal(fs->list(fs, folder, see, &all, &err), 0);
        assert_int_equal(all.n, 1); /* no a.tmp */
        assert_int_equal(ts_fs_write_atomic(&bad, at("a"), "x", 1, NULL),
                         fault == F_APPEND ? TS_ENOSPC : TS_EIO);
    }
}

static void test_fs__atomic_write_replaces_what_a_crash_left(void **state)
{
    (void)state;
    struct ts_file *f;
    assert_int_equal(fs->open(fs, at("a.tmp"), TS_OPEN_CREATE, &f, &err), 0);
    assert_int_equal(fs->append(f, "half a fi", 9, &err), 0);
    fs->close(f, NULL);
    memset(&err, 0, sizeof(err));
    assert_int_equal(ts_fs_write_atomic(fs, at("a"), "whole", 5, &err), 0);
    assert_int_equal(err.code, 0);
    check_content(at("a"), "whole");
    assert_int_equal(ts_fs_write_atomic(fs, at("b"), "b", 1, &err), 0);
    assert_int_equal(err.code, 0); /* the missing b.tmp is no error */
    assert_int_equal(fs->unlink(fs, at("a.tmp"), &err), TS_ENOTFOUND);
}

/* The folder that write_atomic syncs, for names with and without slashes. */
static char synced[64];
static int note_sync_dir(const struct ts_fs *self, const char *path, struct ts_error *e)
{
    (void)self, (void)e;
    snprintf(synced, sizeof(synced), "%s", path);
    return 0;
}
static int no_open(const struct ts_fs *self, const char *path, enum ts_open how, struct ts_file **out_file,
                   struct ts_error *e)
{
    (void)self, (void)path, (void)how, (void)e;
    *out_file = NULL;
    return 0;
}
static int no_append(struct ts_file *f, const void *p, size_t n, struct ts_error *e)
{
    (void)f, (void)p, (void)n, (void)e;
    return 0;
}
static int no_file_op(struct ts_file *f, struct ts_error *e)
{
    (void)f, (void)e;
    return 0;
}
static int no_rename(const struct ts_fs *self, const char *from, const char *to, struct ts_error *e)
{
    (void)self, (void)e;
    size_t n = strlen(to);
    assert_memory_equal(from, to, n);
    assert_string_equal(from + n, ".tmp");
    return 0;
}
static int no_unlink(const struct ts_fs *self, const char *path, struct ts_error *e)
{
    (void)self, (void)path, (void)e;
    return 0;
}

static void test_fs__atomic_write_syncs_the_right_folder(void **state)
{
    (void)state;
    const struct ts_fs dry = {.open = no_open,
                              .append = no_append,
                              .sync = no_file_op,
                              .close = no_file_op,
                              .rename = no_rename,
                              .unlink = no_unlink,
                              .sync_dir = note_sync_dir};
    const char *const cases[][2] = {{"a", "."}, {"/a", "/"}, {"d/a", "d"}, {"/d/e/a", "/d/e"}, {"./a", "."}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ts_fs_write_atomic(&dry, cases[i][0], "x", 1, &err), 0);
        assert_string_equal(synced, cases[i][1]);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void test_fs__paths_and_whether_they_are_there(void **state)
{
    (void)state;
    char *path = ts_fs_join(folder, "a"), *tmp = ts_fs_suffixed(path, ".tmp");
    assert_string_equal(path, at("a"));
    assert_string_equal(tmp, at("a.tmp"));
    assert_int_equal(ts_fs_exists(fs, path, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(ts_fs_write_atomic(fs, path, "x", 1, &err), 0);
    assert_int_equal(ts_fs_exists(fs, path, &err), 1);
    char *below = ts_fs_join(path, "b"); /* a file is no folder */
    assert_true(ts_fs_exists(fs, below, &err) < 0);
    assert_non_null(strstr(err.text, below));
    assert_int_equal(ts_fs_sync_folder_of(fs, path, NULL), 0);
    assert_int_equal(ts_fs_sync_folder_of(fs, "/nothing", NULL), 0);
    assert_int_equal(ts_fs_sync_folder_of(fs, "nothing", NULL), 0);
    assert_true(ts_fs_sync_folder_of(fs, below, &err) < 0);
    ts_free(below);
    ts_free(path);
    ts_free(tmp);
}

/* A copy is another file, and so is one that was written over. */
static void test_fs__an_identity_is_that_of_no_copy(void **state)
{
    (void)state;
    struct ts_file *file;
    uint64_t first, again, id;
    assert_int_equal(fs->identity(fs, at("none"), &id, NULL), TS_ENOTFOUND);
    assert_int_equal(id, 0);
    assert_int_equal(ts_fs_write_atomic(fs, at("one"), "text", 4, NULL), 0);
    assert_int_equal(ts_fs_write_atomic(fs, at("two"), "text", 4, NULL), 0);
    assert_int_equal(fs->identity(fs, at("one"), &first, NULL), 0);
    assert_int_equal(fs->identity(fs, at("two"), &id, NULL), 0);
    assert_true(first != 0 && id != 0 && first != id);
    assert_int_equal(fs->open(fs, at("one"), TS_OPEN_APPEND, &file, NULL), 0);
    assert_int_equal(fs->identity(fs, at("one"), &again, NULL), 0);
    assert_true(first == again);
    for (int i = 0; i < 1000000 && first == again; i++) { /* times of files advance by milliseconds */
        assert_int_equal(fs->truncate(file, 0, NULL), 0);
        assert_int_equal(fs->append(file, "text", 4, NULL), 0);
        assert_int_equal(fs->identity(fs, at("one"), &again, NULL), 0);
    }
    assert_true(first != again);
    assert_int_equal(fs->close(file, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_fs__three_ways_to_open),
        CASE(test_fs__pread_is_short_at_the_end_only),
        CASE(test_fs__truncate_moves_the_end),
        CASE(test_fs__full_disk_has_its_own_code),
        CASE(test_fs__write_cut_short_is_an_error_not_a_success),
        CASE(test_fs__signals_do_not_lose_or_double_bytes),
        CASE(test_fs__a_failed_sync_is_never_tried_again),
        CASE(test_fs__lock_is_held_by_one_until_it_closes),
        CASE(test_fs__names_come_and_go),
        CASE(test_fs__folders_may_be_there_already_files_may_not),
        CASE(test_fs__list_gives_every_name_but_dots),
        CASE(test_fs__paths_and_whether_they_are_there),
        CASE(test_fs__read_file_has_a_limit),
        CASE(test_fs__pipes_are_read_to_their_end),
        CASE(test_fs__atomic_write_leaves_old_or_new),
        CASE(test_fs__atomic_write_replaces_what_a_crash_left),
        CASE(test_fs__atomic_write_syncs_the_right_folder),
        CASE(test_fs__an_identity_is_that_of_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
