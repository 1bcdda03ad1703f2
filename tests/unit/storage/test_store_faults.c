/*
 * test_store_faults.c - a whole store whose disk loses power, fails or fills up at every n-th call of a
 * scripted life.
 *
 *   test_store_faults [long]     long, or TSD_TEST_LONG=1: every call, more seeds, 1, 2 and 7 writers; else
 * every few calls
 *
 * After each life the power comes back and the store is opened again. It must hold a prefix of the operations that it
 * took, among them everything that was confirmed, and must work as if nothing had happened.
 */
#include "tests/unit/storage/store_kit.h"

static bool t_long;

/* A life that may end at any call. */
struct life {
    struct t_faultfs *f;
    struct sto_store *st;
    unsigned n_writers;
    struct diary diary;
    uint64_t rnd;
    int64_t cell_acked, cell_tried;   /* counter: confirmed value, highest value that may be there */
    int version_acked, version_tried; /* the same of the cell "c" */
    bool over;                        /* opening or closing failed: nothing after it counts */
    unsigned n_errors;                /* calls that returned an error */
    bool damage;                      /* TS_ECORRUPT may be answered */
    bool once; /* the fault is of one call: the next try of the owner, by itself, succeeds */
};

/* Every error has its code and a sentence. */
static void must_be_clear(struct life *l, int rc, const struct ts_error *err, const char *what)
{
    l->n_errors++;
    if (rc != err->code || !err->text[0])
        fail_msg("%s: answered %s with code %s and text \"%s\"", what, ts_err_name(rc),
                 ts_err_name(err->code), err->text);
    if (rc != TS_EIO && rc != TS_ENOSPC && rc != TS_EMFILE && !(l->damage && rc == TS_ECORRUPT))
        fail_msg("%s: %s: %s", what, ts_err_name(rc), err->text);
}

static void life_open(struct life *l, unsigned n_writers)
{
    struct sto_opts opts = KIT_OPTS(l->f, n_writers);
    struct ts_error err = {0};
    int rc = l->over ? TS_EIO : sto_open(&opts, &l->st, &err);
    if (!l->over && rc < 0) {
        must_be_clear(l, rc, &err, "open");
        assert_null(l->st);
        l->over = true;
    }
    const char *why = l->over ? NULL : sto_store_refusing(l->st);
    if (why && strstr(why, "opened for reading only")) { /* the fault met a sync of opening */
        l->n_errors++;
        assert_int_equal(sto_close(l->st, &err), 0);
        l->st = NULL;
        l->over = true;
    }
}

static void life_close(struct life *l)
{
    struct ts_error err = {0};
    if (!l->st)
        return;
    int rc = sto_close(l->st, &err);
    l->st = NULL;
    if (rc == 0) {
        l->diary.n_acked = l->diary.n;
        return;
    }
    must_be_clear(l, rc, &err, "close");
    l->over = true;
}

static void life_op(struct life *l, unsigned series, enum sto_op op, int64_t t, int64_t m)
{
    if (l->over)
        return;
    struct sto_writer *writer = sto_writer(l->st, series % l->n_writers);
    int rc = kit_op(l->st, writer, &l->diary, series, op, t, m);
    if (rc == 0)
        return;
    struct ts_error err = {0};
    int still = sto_writer_error(writer, &err);
    bool refusing = sto_store_refusing(l->st) != NULL;
    if (l->once && (still != rc || !refusing))
        return; /* it did, between two looks */
    assert_int_equal(still, rc);
    must_be_clear(l, rc, &err, "put");
    assert_true(refusing);
}

static void life_flush(struct life *l, enum sto_level level)
{
    struct ts_error err = {0};
    if (l->over)
        return;
    for (unsigned i = 0; i < l->n_writers; i++)
        sto_writer_turn(sto_writer(l->st, i));
    int rc = sto_flush(l->st, level, &err);
    if (rc < 0)
        must_be_clear(l, rc, &err, "flush");
    else if (level >= STO_LEVEL_DISK)
        l->diary.n_acked = l->diary.n;
}

static void life_count(struct life *l)
{
    struct ts_error err = {0};
    int64_t now = 0;
    if (l->over)
        return;
    l->cell_tried++;
    int rc = sto_cell_incr(l->st, TS_SLICE_LIT("n"), 1, &now, &err);
    if (rc == 0)
        l->cell_acked = now;
    else
        must_be_clear(l, rc, &err, "count");
}

/* The number a cell holds as text; none is 0. */
static int cell_number(struct ts_slice text)
{
    int64_t n = 0;
    if (text.n && ts_num_parse_int(text, &n, NULL) < 0)
        fail_msg("a cell holds %.*s", (int)text.n, text.p);
    return (int)n;
}

/* Cells put, compared and deleted; afterwards "c" holds what was confirmed last, or what was tried since. */
static void life_cells(struct life *l)
{
    struct ts_error err = {0};
    char now[16], next[16];
    struct ts_buf v;
    if (l->over)
        return;
    ts_buf_init(&v, 0);
    int found = sto_cell_get(l->st, TS_SLICE_LIT("c"), &v);
    assert_true(found == 0 || found == TS_ENOTFOUND);
    snprintf(now, sizeof now, "%.*s", (int)v.n, v.n ? v.p : "");
    ts_buf_release(&v);
    l->version_tried = cell_number(ts_slice_str(now)) + 1;
    snprintf(next, sizeof next, "%d", l->version_tried);
    int rc = sto_cell_cas(l->st, TS_SLICE_LIT("c"), ts_slice_str(now), ts_slice_str(next), &err);
    if (rc == 0)
        l->version_acked = l->version_tried;
    else
        must_be_clear(l, rc, &err, "compare");
    struct ts_slice value = l->version_tried & 1 ? TS_SLICE_LIT("here") : (struct ts_slice){"", 0};
    if ((rc = sto_cell_put(l->st, TS_SLICE_LIT("d"), value, &err)) < 0)
        must_be_clear(l, rc, &err, "cell");
}

/* What an export reads: all of it or an error; all of it is right when nothing was refused so far. */
static void life_export(struct life *l)
{
    struct t_ref *ref = t_ref_new();
    for (size_t i = 0; i < l->diary.n; i++)
        t_ref_apply(ref, &l->diary.ops[i]);
    for (unsigned s = 0; s < N_SERIES && !l->over; s++) {
        char why[200] = "";
        struct t_ref_point *want;
        struct kit_compare c = {.same = true, .series = s, .why = why, .n_why = sizeof why};
        struct ts_error err = {0};
        c.n_want = t_ref_scan(ref, s, STO_MIN_TS_MS, STO_MAX_TS_MS, &want);
        c.want = want;
        int rc = kit_points(l->st, kit_series(l->st, s), kit_compare_point, &c, &err);
        if (rc < 0)
            must_be_clear(l, rc, &err, "export");
        else if (l->n_errors == 0 && (!c.same || c.n != c.n_want))
            fail_msg("export: series %u has %zu points, not %zu; %s", s, c.n, c.n_want, why);
        ts_free(want);
    }
    t_ref_free(ref);
}

static void life_points(struct life *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t r = t_rand(&l->rnd);
        int64_t t = T0 + (int64_t)(r >> 8 & 3) * 1800 * 1000 + (int64_t)(r >> 10 & 31) * 1000 -
                    (r >> 20 & 7 ? 0 : 40 * TS_DAY_MS);
        life_op(l, (unsigned)(r >> 32) % N_SERIES, r & 3 ? STO_OP_PUT : STO_OP_ADD, t,
                (int64_t)(r >> 40 & 1023));
    }
}

static void life_delete(struct life *l)
{
    uint64_t r = t_rand(&l->rnd);
    int64_t from = T0 + (int64_t)(r & 63) * 60 * 1000;
    life_op(l, (unsigned)(r >> 32) % N_SERIES, STO_OP_DEL, from, from + (int64_t)(r >> 8 & 31) * 60 * 1000);
}

/* The same calls each time until the fault; n_writers of the second half differ. */
static void life_run(struct life *l, unsigned n_writers)
{
    l->n_writers = n_writers;
    life_open(l, n_writers);
    for (unsigned round = 0; round < 5; round++) {
        life_points(l, 25);
        if (round != 1)
            life_flush(l, STO_LEVEL_DISK);
        life_count(l);
        life_cells(l);
        life_points(l, 10);
        life_delete(l);
        if (round & 1)
            life_flush(l, STO_LEVEL_FILES);
        life_points(l, 8);
        if (round == 3)
            life_flush(l, STO_LEVEL_COMPACT);
        if (round >= 3) {
            life_flush(l, STO_LEVEL_LOG);
            life_export(l);
        }
        if (round == 2) {
            life_close(l);
            l->n_writers = n_writers == 1
                               ? 1
                               : n_writers + 1; /* one log stays one log, so that its order can be checked */
            life_open(l, l->n_writers);
        }
    }
    life_delete(l);
    life_count(l);
    life_flush(l, STO_LEVEL_LOG);
}

/* After the fault: open, compare, go on, close, open, compare. */
static void life_after(struct life *l, bool one_log, const char *when)
{
    struct sto_opts opts = KIT_OPTS(l->f, l->n_writers);
    l->over = false;
    l->st = kit_open(&opts);
    kit_expect_front(l->st, &l->diary, one_log, when);
    struct ts_buf v;
    ts_buf_init(&v, 0);
    int rc = sto_cell_get(l->st, TS_SLICE_LIT("n"), &v);
    int64_t n = 0;
    if (rc == 0 && v.n == 8)
        memcpy(&n, v.p, 8);
    ts_buf_clear(&v);
    rc = sto_cell_get(l->st, TS_SLICE_LIT("c"), &v);
    int version = rc == 0 ? cell_number(ts_buf_get(&v)) : 0;
    ts_buf_release(&v);
    if (version < l->version_acked || version > l->version_tried)
        fail_msg("%s: the cell is %d, confirmed was %d of %d", when, version, l->version_acked,
                 l->version_tried);
    if (n < l->cell_acked || n > l->cell_tried)
        fail_msg("%s: the counter is %lld, confirmed was %lld of %lld", when, (long long)n,
                 (long long)l->cell_acked, (long long)l->cell_tried);
    unsigned n_errors = l->n_errors;
    if (one_log) {
        life_points(l, 20);
        life_delete(l);
        life_flush(l, STO_LEVEL_FILES);
        life_points(l, 20);
        life_flush(l, STO_LEVEL_LOG);
        kit_expect_all(l->st, &l->diary, when);
        life_flush(l, STO_LEVEL_COMPACT);
        kit_expect_all(l->st, &l->diary, when);
    }
    life_close(l);
    opts.n_writers = 3;
    l->st = kit_open(&opts);
    if (one_log)
        kit_expect_all(l->st, &l->diary, when);
    life_close(l);
    assert_int_equal(l->n_errors, n_errors);
    assert_int_equal(t_faultfs_n_open(l->f), 0);
}

static struct life life_new(uint64_t seed)
{
    struct life l = {.f = t_faultfs_new(seed), .rnd = 42};
    t_faultfs_set_page(l.f, 512);
    return l;
}

static void life_release(struct life *l)
{
    assert_int_equal(t_faultfs_n_synced_again(l->f), 0);
    diary_release(&l->diary);
    t_faultfs_free(l->f);
}

/* Calls of a life without faults. */
static uint64_t calls_of(unsigned n_writers, unsigned ops)
{
    struct life l = life_new(1);
    life_run(&l, n_writers);
    assert_int_equal(l.n_errors, 0);
    kit_expect_all(l.st, &l.diary, "without faults");
    life_close(&l);
    assert_int_equal(t_faultfs_n_open(l.f), 0);
    uint64_t n = t_faultfs_calls(l.f, ops);
    life_release(&l);
    return n;
}

static void one_fault(struct t_fault_plan plan, unsigned n_writers, uint64_t seed, enum t_keep keep,
                      const char *name)
{
    char when[120];
    snprintf(when, sizeof when, "%s at call %llu, %u writers, seed %llu", name, (unsigned long long)plan.at,
             n_writers, (unsigned long long)seed);
    struct life l = life_new(seed);
    l.once = !plan.for_good;
    t_faultfs_plan(l.f, plan);
    life_run(&l, n_writers);
    if (plan.fault != T_FAULT_POWER && l.st) {
        t_faultfs_plan(
            l.f, (struct t_fault_plan){0}); /* the disk is well again: what was not lost is written now */
        life_flush(&l, STO_LEVEL_DISK);
        kit_expect_front(l.st,
                         &(struct diary){.ops = l.diary.ops, .n = l.diary.n, .n_acked = l.diary.n_acked},
                         n_writers == 1, when);
    }
    if (l.st && keep == T_KEEP_RANDOM && plan.fault == T_FAULT_POWER)
        t_faultfs_power_cut(l.f);
    life_close(&l);
    assert_int_equal(t_faultfs_n_open(l.f), 0);
    t_faultfs_reboot(l.f, keep);
    life_after(&l, n_writers == 1, when);
    life_release(&l);
}

/* Every n-th call of a life, a stride in the short test. */
static void each_call(enum t_fault fault, bool for_good, unsigned ops, unsigned stride, const char *name)
{
    static const unsigned writers[] = {1, 2, 7};
    for (unsigned p = 0; p < (t_long ? 3 : 2); p++) {
        uint64_t n = calls_of(writers[p], ops ? ops : T_OP_ALL);
        unsigned step = t_long ? 1 : stride * (1 + p * 5);
        for (uint64_t at = 1 + p; at <= n; at += step)
            for (uint64_t seed = at; seed < at + (t_long ? 3 : 1); seed++)
                one_fault((struct t_fault_plan){.at = at, .ops = ops, .fault = fault, .for_good = for_good},
                          writers[p], seed, T_KEEP_RANDOM, name);
    }
}

static void test_store_faults__power_cuts_lose_nothing_confirmed(void **state)
{
    (void)state;
    each_call(T_FAULT_POWER, false, T_OP_WRITES, 2, "power cut");
}

static void test_store_faults__failed_calls_lose_nothing_confirmed(void **state)
{
    (void)state;
    each_call(T_FAULT_EIO, false, 0, 7, "I/O error");
}

static void test_store_faults__a_broken_disk_is_told(void **state)
{
    (void)state;
    each_call(T_FAULT_EIO, true, T_OP_WRITES, 7, "I/O errors from");
}

static void test_store_faults__one_refusal_of_a_full_disk(void **state)
{
    (void)state;
    each_call(T_FAULT_ENOSPC, false, T_OP_WRITES, 5, "disk full");
}

static void test_store_faults__a_disk_that_stays_full(void **state)
{
    (void)state;
    each_call(T_FAULT_ENOSPC, true, T_OP_OPEN | T_OP_APPEND, 5, "disk full from");
}

static void test_store_faults__one_refusal_for_the_quota(void **state)
{
    (void)state;
    each_call(T_FAULT_EDQUOT, false, T_OP_WRITES, 11, "quota");
}

static void test_store_faults__a_quota_that_stays_used_up(void **state)
{
    (void)state;
    each_call(T_FAULT_EDQUOT, true, T_OP_OPEN | T_OP_APPEND, 11, "quota from");
}

static void test_store_faults__no_descriptor_once(void **state)
{
    (void)state;
    each_call(T_FAULT_EMFILE, false, T_OP_OPEN | T_OP_SYNC_DIR | T_OP_LIST, 1, "no descriptor");
}

static void test_store_faults__no_descriptor_any_more(void **state)
{
    (void)state;
    each_call(T_FAULT_EMFILE, true, T_OP_OPEN | T_OP_SYNC_DIR | T_OP_LIST, 1, "no descriptor from");
}

/* A file that ends early while it is read (cut under a running store): an error or the right answer, never less. */
static void test_store_faults__a_short_read_is_never_a_short_answer(void **state)
{
    (void)state;
    uint64_t n = 1;
    for (uint64_t at = 1; at <= n; at += t_long ? 1 : 3)
        for (int for_good = 0; for_good < 2; for_good++) {
            struct life l = life_new(at);
            life_run(&l, 1);
            life_flush(&l, STO_LEVEL_FILES);
            assert_int_equal(l.n_errors, 0);
            uint64_t before = t_faultfs_calls(l.f, T_OP_PREAD);
            t_faultfs_plan(l.f,
                           (struct t_fault_plan){
                               .ops = T_OP_PREAD, .at = at, .fault = T_FAULT_SHORT, .for_good = for_good});
            l.damage = true;
            life_export(&l);
            life_flush(&l, STO_LEVEL_COMPACT);
            life_export(&l);
            n = at == 1 && !for_good ? t_faultfs_calls(l.f, T_OP_PREAD) - before : n;
            t_faultfs_plan(l.f, (struct t_fault_plan){0});
            kit_expect_all(l.st, &l.diary, "short reads are over");
            life_close(&l);
            life_after(&l, true, "after short reads");
            life_release(&l);
        }
}

/* Room for so many bytes, then for all: nothing that was taken is lost, queries go on meanwhile. */
static void test_store_faults__writing_resumes_when_there_is_room(void **state)
{
    (void)state;
    for (unsigned n_writers = 1; n_writers <= 2; n_writers++)
        for (uint64_t room = 1500; room < 40000; room += t_long ? 97 : 2411) {
            struct life l = life_new(room);
            life_open(&l, l.n_writers = n_writers);
            t_faultfs_set_capacity(l.f, room);
            for (unsigned i = 0; i < 60; i++) {
                life_points(&l, 20);
                life_flush(&l, i % 8 == 7 ? STO_LEVEL_FILES : STO_LEVEL_DISK);
            }
            kit_expect_front(l.st,
                             &(struct diary){.ops = l.diary.ops, .n = l.diary.n, .n_acked = l.diary.n_acked},
                             n_writers == 1, "full");
            bool was_full = sto_store_refusing(l.st) != NULL;
            t_faultfs_set_capacity(l.f, 0);
            unsigned n_errors = l.n_errors;
            assert_true(!was_full || n_errors > 0);
            life_flush(&l, STO_LEVEL_DISK);
            assert_null(sto_store_refusing(l.st));
            size_t before = l.diary.n;
            life_points(&l, 20);
            assert_int_equal(l.diary.n, before + 20);
            life_flush(&l, STO_LEVEL_FILES);
            assert_int_equal(l.n_errors, n_errors);
            kit_expect_all(l.st, &l.diary, "room again");
            life_close(&l);
            life_after(&l, true, "room again");
            life_release(&l);
        }
}

/* A killed process: nothing that the store took is lost, whatever was synced. */
static void test_store_faults__a_kill_loses_nothing_accepted(void **state)
{
    (void)state;
    for (unsigned n_writers = 1; n_writers <= 7; n_writers += 3) {
        struct life l = life_new(n_writers);
        life_run(&l, n_writers);
        life_flush(&l, STO_LEVEL_LOG);
        struct t_faultfs *dead = t_faultfs_clone(l.f, 9);
        size_t n = l.diary.n;
        life_close(&l);
        struct life after = {.f = dead,
                             .rnd = 4,
                             .n_writers = 2,
                             .diary = l.diary,
                             .cell_tried = l.cell_tried,
                             .cell_acked = l.cell_acked,
                             .version_tried = l.version_tried,
                             .version_acked = l.version_acked};
        after.diary.n = after.diary.n_acked = n;
        life_after(&after, true, "killed");
        l.diary = after.diary;
        t_faultfs_free(dead);
        life_release(&l);
    }
}

/* Logs not flushed, medium not writable: all is seen, nothing is written, puts are refused in plain words. */
static void test_store_faults__reading_only_replays_and_writes_nothing(void **state)
{
    (void)state;
    struct life l = life_new(3);
    life_run(&l, 3);
    life_flush(&l, STO_LEVEL_LOG);
    struct t_faultfs *dead = t_faultfs_clone(l.f, 9);
    struct sto_opts opts = KIT_OPTS(dead, 2);
    opts.read_only = true;
    opts.create = false;
    const unsigned changes =
        T_OP_APPEND | T_OP_TRUNCATE | T_OP_RENAME | T_OP_UNLINK | T_OP_MKDIR | T_OP_SYNC | T_OP_SYNC_DIR;
    uint64_t calls = t_faultfs_calls(dead, changes);
    struct sto_store *st = kit_open(&opts);
    struct ts_error err = {0};
    kit_expect_all(st, &l.diary, "read-only");
    assert_int_equal(sto_put(sto_writer(st, 0), kit_series(st, 0), T0, (struct ts_num){0}, false), TS_EINVAL);
    assert_int_equal(sto_writer_error(sto_writer(st, 0), &err), TS_EINVAL);
    assert_non_null(strstr(err.text, "reading only"));
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), TS_EINVAL);
    kit_close(st);
    assert_int_equal(t_faultfs_calls(dead, changes), calls);
    assert_int_equal(t_faultfs_n_open(dead), 0);
    t_faultfs_free(dead);
    life_close(&l);
    life_release(&l);
}

/* Names and cells are written while the folder is still locked: the next process may open the moment the lock
 * is gone. */
static void test_store_faults__the_lock_is_the_last_thing_to_go(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    (void)kit_series(st, 1); /* a name that only closing writes */
    uint64_t closes = t_faultfs_calls(f, T_OP_CLOSE);
    kit_close(st);
    closes = t_faultfs_calls(f, T_OP_CLOSE) - closes;
    t_faultfs_free(f);
    /* The same again; the last close of all is that of LOCK: without it, everything is on disk and the lock
     * still held. */
    f = t_faultfs_new(1);
    opts.fs = t_faultfs_fs(f);
    st = kit_open(&opts);
    (void)kit_series(st, 1);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_CLOSE, .at = closes, .fault = T_FAULT_POWER});
    kit_close(st); /* the close of LOCK has nothing to report */
    assert_true(t_faultfs_fired(f));
    t_faultfs_reboot(f, T_KEEP_NONE);
    st = kit_open(&opts);
    assert_int_equal(sto_series_count(sto_store_catalog(st)), 1);
    kit_close(st);
    t_faultfs_free(f);
}

/* A start that was killed before it had synced the name of its new folder: the next start does it. */
static void test_store_faults__a_new_folder_is_synced_by_whoever_finds_it_empty(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    t_faultfs_plan(
        f, (struct t_fault_plan){.ops = T_OP_SYNC_DIR, .at = 1, .fault = T_FAULT_EIO, .for_good = true});
    assert_int_equal(sto_open(&opts, &st, &err), TS_EIO);
    t_faultfs_kill(f);
    st = kit_open(&opts);
    assert_int_equal(sto_cell_put(st, TS_SLICE_LIT("a"), TS_SLICE_LIT("1"), &err), 0);
    t_faultfs_power_cut(f);
    sto_close(st, NULL);
    t_faultfs_reboot(f, T_KEEP_NONE);
    opts.create = false;
    st = kit_open(&opts);
    struct ts_buf v;
    ts_buf_init(&v, 0);
    assert_int_equal(sto_cell_get(st, TS_SLICE_LIT("a"), &v), 0);
    ts_buf_release(&v);
    kit_close(st);
    t_faultfs_free(f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_faults__power_cuts_lose_nothing_confirmed),
        cmocka_unit_test(test_store_faults__failed_calls_lose_nothing_confirmed),
        cmocka_unit_test(test_store_faults__a_broken_disk_is_told),
        cmocka_unit_test(test_store_faults__one_refusal_of_a_full_disk),
        cmocka_unit_test(test_store_faults__a_disk_that_stays_full),
        cmocka_unit_test(test_store_faults__one_refusal_for_the_quota),
        cmocka_unit_test(test_store_faults__a_quota_that_stays_used_up),
        cmocka_unit_test(test_store_faults__no_descriptor_once),
        cmocka_unit_test(test_store_faults__no_descriptor_any_more),
        cmocka_unit_test(test_store_faults__a_short_read_is_never_a_short_answer),
        cmocka_unit_test(test_store_faults__writing_resumes_when_there_is_room),
        cmocka_unit_test(test_store_faults__a_kill_loses_nothing_accepted),
        cmocka_unit_test(test_store_faults__reading_only_replays_and_writes_nothing),
        cmocka_unit_test(test_store_faults__the_lock_is_the_last_thing_to_go),
        cmocka_unit_test(test_store_faults__a_new_folder_is_synced_by_whoever_finds_it_empty),
    };
    t_long = getenv("TSD_TEST_LONG") != NULL || (argc > 1 && strcmp(argv[1], "long") == 0);
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
