/*
 * test_store_fatal.c - a write or sync of the manifest, the names, the cells or the write-ahead log fails: who
 * ends, who goes on, and what the operator is told.
 *
 * A process that has to end does so in a child; its standard error is read here.
 */
#include "tests/unit/storage/store_kit.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* What fails: the next call of this kind on a file whose path holds name. */
struct target {
    struct t_faultfs *f;
    const char *name;
    enum t_op op;
    enum t_fault fault;
    bool for_good;     /* and all calls after it */
    atomic_bool armed; /* from now on; the hook is set before there are threads */
};

static void arm(void *arg, enum t_op op, const char *path, bool after)
{
    struct target *t = arg;
    if (atomic_load(&t->armed) && op == t->op && !after && path && strstr(path, t->name))
        t_faultfs_plan(t->f, (struct t_fault_plan){
                                 .ops = (unsigned)op, .at = 1, .for_good = t->for_good, .fault = t->fault});
}

/* A store that opened well, with points in its log and new names, on a disk that fails as told from then on. */
static struct sto_store *open_and_put(struct target *t, bool survive)
{
    t->f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(t->f, 1);
    opts.survive_sync_errors = survive;
    t_faultfs_set_hook(t->f, arm, t);
    struct sto_store *st = kit_open(&opts);
    struct diary d = {0};
    atomic_store(&t->armed, true);
    for (unsigned i = 0; i < N_SERIES; i++)
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, i, STO_OP_PUT, T0, i), 0);
    sto_writer_turn(sto_writer(st, 0));
    (void)sto_flush(st, STO_LEVEL_LOG, NULL); /* the fault may be here already */
    diary_release(&d);
    return st;
}

/* Run a flush in a child with the fault; its exit status and what it wrote to standard error. */
static int flush_in_child(struct target *t, enum sto_level level, char *out, size_t n_out)
{
    int ends[2];
    size_t n = 0;
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        ts_log_set_level(TS_LOG_ERROR);
        struct sto_store *st = open_and_put(t, false);
        (void)sto_flush(st, level, NULL);
        sleep(300); /* the sync thread ends the process before */
        _Exit(99);  /* it went on */
    }
    close(ends[1]);
    for (ssize_t got; n + 1 < n_out && (got = read(ends[0], out + n, n_out - 1 - n)) > 0;)
        n += (size_t)got;
    out[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_say(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not said in: %s", what, text);
}

/* One sentence: the file, the errno, what to do. */
static void test_store_fatal__the_process_ends_and_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file; /* part of the path, what is said */
        enum sto_level level;
    } cases[] = {{"MANIFEST", "/db/MANIFEST", STO_LEVEL_FILES},
                 {"catalog.log", "/db/catalog.log", STO_LEVEL_FILES},
                 {"/wal/", "/db/wal/", STO_LEVEL_DISK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int write = 0; write < 2; write++) {
            struct target t = {
                .name = cases[i].name, .op = write ? T_OP_APPEND : T_OP_SYNC, .fault = T_FAULT_EIO};
            char said[8192];
            int status = flush_in_child(&t, cases[i].level, said, sizeof said);
            if (status != 1)
                fail_msg("%s: status %d: %s", cases[i].name, status, said);
            must_say(said, "stopping: ");
            must_say(strstr(said, "stopping: "), cases[i].file);
            must_say(strstr(said, "stopping: "), "Input/output error (errno 5)");
            must_say(strstr(said, "stopping: "), "start tsd again");
            must_say(strstr(said, "stopping: "), "tsd fsck --data /db");
        }
    }
}

/* Delayed allocation: the log is written well, and only its sync finds no room. Nothing of that is confirmed, not even by
 * later syncs that work; what was confirmed before is there after a power cut, and the daemon ends with a sentence. */
static void test_store_fatal__no_room_at_a_sync_of_the_log_confirms_nothing(void **state)
{
    (void)state;
    static const struct {
        enum t_fault fault;
        const char *words;
    } cases[] = {{T_FAULT_ENOSPC, "No space left on device (errno 28)"},
                 {T_FAULT_EDQUOT, "Disk quota exceeded (errno 122)"},
                 {T_FAULT_EIO, "Input/output error (errno 5)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct target t = {.name = "/wal/", .op = T_OP_SYNC, .fault = cases[i].fault};
        char said[8192];
        int status = flush_in_child(&t, STO_LEVEL_DISK, said, sizeof said);
        if (status != 1)
            fail_msg("status %d: %s", status, said);
        must_say(strstr(said, "stopping: "), "/db/wal/");
        must_say(strstr(said, "stopping: "), cases[i].words);

        t.f = t_faultfs_new(7);
        struct sto_opts opts = KIT_OPTS(t.f, 1);
        struct ts_error err = {0};
        struct diary d = {0};
        t_faultfs_set_hook(t.f, arm, &t);
        struct sto_store *st = kit_open(&opts);
        for (unsigned k = 0; k < 200; k++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, k % N_SERIES, STO_OP_PUT, T0 + k * 1000, k),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), 0);
        d.n_acked = d.n;
        atomic_store(&t.armed,
                     true); /* before there is anything to sync: the sync thread may wake at any time */
        for (unsigned k = 200; k < 400; k++) {
            int rc = kit_op(st, sto_writer(st, 0), &d, k % N_SERIES, STO_OP_PUT, T0 + k * 1000, k);
            assert_true(rc == 0 || rc == TS_EIO);
        }
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), TS_EIO);
        must_say(err.text, "/db/wal/");
        atomic_store(&t.armed, false);
        t_faultfs_plan(t.f, (struct t_fault_plan){0}); /* the disk says yes again */
        assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), TS_EIO);
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_PUT, T0, 1), TS_EIO);
        assert_int_equal(t_faultfs_n_synced_again(t.f), 0);
        t_faultfs_power_cut(t.f);
        (void)sto_close(st, NULL);
        t_faultfs_reboot(t.f, i % 2 ? T_KEEP_NONE : T_KEEP_RANDOM);
        t_faultfs_set_hook(t.f, NULL, NULL);
        st = kit_open(&opts);
        kit_expect_front(st, &d, true, cases[i].words);
        kit_close(st);
        diary_release(&d);
        t_faultfs_free(t.f);
    }
}

/* No room is no reason to end: the error names the file, and the next try works. */
static void test_store_fatal__a_full_disk_is_tried_again(void **state)
{
    (void)state;
    static const char *const names[] = {"MANIFEST", "catalog.log"};
    for (size_t i = 0; i < 2; i++) {
        struct target t = {.name = names[i], .op = T_OP_APPEND, .fault = T_FAULT_ENOSPC, .for_good = true};
        struct ts_error err = {0};
        struct sto_store *st = open_and_put(&t, false);
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), TS_ENOSPC);
        must_say(err.text, names[i]);
        must_say(err.text, "No space left on device");
        assert_int_equal(err.sys_errno, ENOSPC);
        atomic_store(&t.armed, false);
        t_faultfs_plan(t.f, (struct t_fault_plan){0});
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
        kit_close(st);
        t_faultfs_free(t.f);
    }
}

/* Manifest and names once broken: every later flush names the first cause, nothing is lost. */
static void test_store_fatal__later_errors_name_the_first(void **state)
{
    (void)state;
    static const char *const names[] = {"MANIFEST", "catalog.log"};
    for (size_t i = 0; i < 2; i++) {
        struct target t = {.name = names[i], .op = T_OP_SYNC, .fault = T_FAULT_EIO};
        struct ts_error err = {0};
        struct sto_store *st = open_and_put(&t, true);
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), TS_EIO);
        atomic_store(&t.armed, false);
        for (int again = 0; again < 2; again++) {
            err = (struct ts_error){0};
            assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), TS_EIO);
            must_say(err.text, "takes nothing more until tsd is started again");
            must_say(err.text, "Input/output error");
            assert_int_equal(err.sys_errno, EIO);
        }
        assert_int_equal(sto_close(st, &err), TS_EIO);
        assert_int_equal(t_faultfs_n_synced_again(t.f), 0);
        t_faultfs_reboot(t.f, T_KEEP_ALL);
        struct sto_opts opts = KIT_OPTS(t.f, 1);
        st = kit_open(&opts);
        struct diary d = {0};
        for (unsigned k = 0; k < N_SERIES; k++)
            diary_add(&d, k, T0, k, sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false));
        kit_expect_all(st, &d, "opened again");
        diary_release(&d);
        kit_close(st);
        t_faultfs_free(t.f);
    }
}

/* Cells are apart: changes are refused and say why, points go on. */
static void test_store_fatal__broken_cells_are_told_and_points_go_on(void **state)
{
    (void)state;
    struct target t = {.name = "cells.log", .op = T_OP_SYNC, .fault = T_FAULT_EIO};
    struct ts_error err = {0};
    struct sto_store *st = open_and_put(&t, false);
    assert_int_equal(sto_cell_put(st, TS_SLICE_LIT("a"), TS_SLICE_LIT("1"), &err), TS_EIO);
    must_say(err.text, "cells.log: Input/output error");
    atomic_store(&t.armed, false);
    for (int again = 0; again < 3; again++) {
        struct ts_buf v;
        char key[] = {'b', (char)('0' + again)};
        err = (struct ts_error){0};
        assert_int_equal(sto_cell_put(st, (struct ts_slice){key, 2}, TS_SLICE_LIT("1"), &err), TS_EIO);
        must_say(err.text, "cells.log takes nothing more until tsd is started again");
        ts_buf_init(&v, 0);
        assert_int_equal(sto_cell_get(st, (struct ts_slice){key, 2}, &v), TS_ENOTFOUND); /* it was refused */
        ts_buf_release(&v);
    }
    assert_null(sto_store_refusing(st));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
    assert_int_equal(sto_close(st, &err), TS_EIO);
    assert_int_equal(t_faultfs_n_synced_again(t.f), 0);
    t_faultfs_free(t.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_fatal__the_process_ends_and_says_why),
        cmocka_unit_test(test_store_fatal__no_room_at_a_sync_of_the_log_confirms_nothing),
        cmocka_unit_test(test_store_fatal__a_full_disk_is_tried_again),
        cmocka_unit_test(test_store_fatal__later_errors_name_the_first),
        cmocka_unit_test(test_store_fatal__broken_cells_are_told_and_points_go_on),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
