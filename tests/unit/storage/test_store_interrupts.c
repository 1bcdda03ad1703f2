/*
 * test_store_interrupts.c - a whole store on real files whose system calls are interrupted or do only a part.
 *
 *   test_store_interrupts [long]     long, or TSD_TEST_LONG=1: every call of the life, else some
 *
 * The calls of the C library are replaced in this program, so that the n-th one answers EINTR or moves fewer
 * bytes than asked, once or from then on (never twice in a row: the kernel does not either). Nothing of it
 * may be seen: no error, no byte lost or doubled.
 */
#include "tests/unit/storage/store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What happens to the n-th call. */
enum trouble { NOTHING, INTERRUPT, PART };

static struct {
    enum trouble what;
    bool for_good;
    uint64_t at;             /* counted from 1 */
    _Atomic uint64_t n;      /* calls so far */
    _Atomic uint64_t n_done; /* troubles made */
} t_plan;

static _Thread_local bool t_before; /* this thread's last call had trouble */

static bool trouble(enum trouble what)
{
    uint64_t n = atomic_fetch_add(&t_plan.n, 1) + 1;
    bool now = t_plan.what == what && (n == t_plan.at || (t_plan.for_good && n > t_plan.at)) && !t_before;
    t_before = now;
    if (now)
        atomic_fetch_add(&t_plan.n_done, 1);
    return now;
}

/* Wake-ups between threads are no files. */
static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool interrupted(int fd)
{
    bool now = t_plan.what == INTERRUPT && is_file(fd) && trouble(INTERRUPT);
    if (now)
        errno = EINTR;
    return now;
}

/* How many bytes of n. */
static size_t part(int fd, size_t n)
{
    return n > 1 && t_plan.what == PART && is_file(fd) && trouble(PART) ? 1 + n / 3 : n;
}

/* --- in place of the C library's --- */

ssize_t write(int fd, const void *p, size_t n)
{
    return interrupted(fd) ? -1 : syscall(SYS_write, fd, p, part(fd, n));
}

ssize_t pread(int fd, void *p, size_t n, off_t off)
{
    return interrupted(fd) ? -1 : syscall(SYS_pread64, fd, p, part(fd, n), off);
}

int fdatasync(int fd)
{
    return interrupted(fd) ? -1 : 0; /* the machine stays on */
}

int fsync(int fd)
{
    return fdatasync(fd);
}

int ftruncate(int fd, off_t n)
{
    return interrupted(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

/* --- the life --- */

static void remove_store(const char *dir)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    if (system(cmd) != 0)
        fail_msg("%s", cmd);
}

static void put_some(struct sto_store *st, struct diary *d, uint64_t *rnd, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t r = t_rand(rnd);
        unsigned series = (unsigned)(r >> 32) % N_SERIES;
        int64_t t = T0 + (int64_t)(r >> 8 & 3) * 1800 * 1000 + (int64_t)(r >> 10 & 1023) * 1000;
        enum sto_op op = r % 50 == 0 ? STO_OP_DEL : r & 1 ? STO_OP_PUT : STO_OP_ADD;
        assert_int_equal(kit_op(st, sto_writer(st, 0), d, series, op, t,
                                op == STO_OP_DEL ? t + 60000 : (int64_t)(r >> 40)),
                         0);
    }
}

static void level(struct sto_store *st, enum sto_level want)
{
    struct ts_error err = {0};
    sto_writer_turn(sto_writer(st, 0));
    if (sto_flush(st, want, &err) < 0)
        fail_msg("flush: %s", err.text);
}

static void cells(struct sto_store *st, unsigned n)
{
    struct ts_error err = {0};
    int64_t now = 0;
    for (unsigned i = 0; i < n; i++)
        if (sto_cell_incr(st, TS_SLICE_LIT("n"), 1, &now, &err) < 0)
            fail_msg("count: %s", err.text);
    assert_int_equal(now % n, 0);
}

/* Load, flush, delete, merge, export, open again; nothing may fail. Returns calls. */
static uint64_t life(const char *when)
{
    char dir[] = "/tmp/tsd-interrupts-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .own_threads = true,
                            .no_background = true,
                            .n_writers = 1,
                            .wal_sync_interval_ms = 60000};
    struct diary d = {0};
    uint64_t rnd = 7;
    atomic_store(&t_plan.n, 0);
    atomic_store(&t_plan.n_done, 0);
    for (unsigned round = 0; round < 2; round++) {
        struct sto_store *st = kit_open(&opts);
        put_some(st, &d, &rnd, 300);
        level(st, STO_LEVEL_DISK);
        cells(st, 2);
        level(st, STO_LEVEL_FILES);
        put_some(st, &d, &rnd, 300);
        level(st, STO_LEVEL_FILES);
        kit_expect_all(st, &d, when);
        level(st, STO_LEVEL_COMPACT);
        put_some(st, &d, &rnd, 50);
        level(st, STO_LEVEL_LOG);
        kit_expect_all(st, &d, when);
        kit_close(st);
    }
    opts.read_only = true;
    opts.create = false;
    struct sto_store *st = kit_open(&opts);
    kit_expect_all(st, &d, when);
    kit_close(st);
    uint64_t n = atomic_load(&t_plan.n);
    t_plan.what = NOTHING;
    diary_release(&d);
    remove_store(dir);
    return n;
}

static void each_call(enum trouble what, bool for_good, const char *name)
{
    bool all = getenv("TSD_TEST_LONG") != NULL;
    t_plan.what = what; /* counts, troubles none */
    t_plan.at = UINT64_MAX;
    t_plan.for_good = false;
    uint64_t n = life(name);
    assert_true(n > 50);
    for (uint64_t at = 1; at <= n; at += all ? 1 : n / 16 + 1) {
        char when[80];
        snprintf(when, sizeof when, "%s at call %llu", name, (unsigned long long)at);
        t_plan.what = what;
        t_plan.at = at;
        t_plan.for_good = for_good;
        (void)life(when);
        if (at < n - n / 8 && atomic_load(&t_plan.n_done) == 0)
            fail_msg("%s of %llu: nothing happened", when, (unsigned long long)n);
    }
}

static void test_store_interrupts__an_interrupted_call_is_not_seen(void **state)
{
    (void)state;
    each_call(INTERRUPT, false, "EINTR");
}

static void test_store_interrupts__interrupted_calls_from_then_on_are_not_seen(void **state)
{
    (void)state;
    each_call(INTERRUPT, true, "EINTR from");
}

static void test_store_interrupts__a_short_read_or_write_is_not_seen(void **state)
{
    (void)state;
    each_call(PART, false, "short");
}

static void test_store_interrupts__short_reads_and_writes_from_then_on_are_not_seen(void **state)
{
    (void)state;
    each_call(PART, true, "short from");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_interrupts__an_interrupted_call_is_not_seen),
        cmocka_unit_test(test_store_interrupts__interrupted_calls_from_then_on_are_not_seen),
        cmocka_unit_test(test_store_interrupts__a_short_read_or_write_is_not_seen),
        cmocka_unit_test(test_store_interrupts__short_reads_and_writes_from_then_on_are_not_seen),
    };
    if (argc > 1 && strcmp(argv[1], "long") == 0)
        setenv("TSD_TEST_LONG", "1", 1);
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
