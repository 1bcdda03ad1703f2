/*
 * test_store_remake.c - damage of a sorted file that its rows and the manifest can make good: the store opens, has all
 * points, and afterwards nothing is damaged any more. Damage that loses rows is refused as ever.
 *
 * Random damage: tests/damage/flips.c.
 */
#include "tests/unit/storage/store_kit.h"

#include "base/bytes.h"
#include "base/log.h"

#define FOOTER_BYTES 160u

/* A stopped store with all points in one pair of sorted files. */
static struct t_faultfs *one_file(struct diary *d)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 3000 * N_SERIES; i++)
        assert_int_equal(kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                T0 + i / N_SERIES * 1000, i * 7919 % 10007),
                         0);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), 0, 1000),
                     0); /* a tombstone of nothing */
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    kit_close(st);
    return f;
}

/* The file of this ending that is as long as any other. */
static const char *longest(struct t_faultfs *f, const char *ending, size_t *out_n)
{
    const char *found = NULL;
    *out_n = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *path = t_faultfs_path(f, i), *end = path + strlen(path) - strlen(ending);
        size_t n;
        if (!strstr(path, "/files/") || strcmp(end, ending) != 0)
            continue;
        ts_free(t_faultfs_get(f, path, &n));
        if (n > *out_n) {
            *out_n = n;
            found = path;
        }
    }
    if (!found)
        fail_msg("no %s file", ending);
    return found;
}

/* Sections of a .t file, by docs/FORMAT.md. */
static uint64_t section(struct t_faultfs *f, const char *path, unsigned which)
{
    size_t n;
    uint8_t *p = t_faultfs_get(f, path, &n);
    uint64_t off = ts_ld64(p + n - FOOTER_BYTES + 80 + 8 * which);
    ts_free(p);
    return off;
}

static unsigned n_damage(struct t_faultfs *f)
{
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db"};
    struct sto_fsck_result r;
    struct ts_error err = {0};
    if (sto_fsck(&opts, &r, &err) < 0)
        fail_msg("fsck: %s", err.text);
    return (unsigned)r.n_damage;
}

/* It opens, for reading as well, all is there, and is whole from then on. */
static void expect_made_good(struct t_faultfs *f, const struct diary *d, const char *what)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    size_t n_files = t_faultfs_count(f);
    if (n_damage(f) == 0)
        fail_msg("%s: not noticed", what);
    if (strstr(what, "summaries")) {
        opts.read_only = true;
        opts.create = false;
        struct sto_store *st = kit_open(&opts);
        kit_expect_all(st, d, what);
        kit_close(st);
        opts.read_only = false;
    }
    struct sto_store *st = kit_open(&opts);
    kit_expect_all(st, d, what);
    kit_close(st);
    if (n_damage(f) != 0)
        fail_msg("%s: still damaged", what);
    if (t_faultfs_count(f) > n_files + 1) /* one that was missing may be there again */
        fail_msg("%s: damaged files stay", what);
    st = kit_open(&opts);
    kit_expect_all(st, d, what);
    kit_close(st);
}

static void test_store_remake__what_rows_tell_is_made_again(void **state)
{
    enum { HEADER, BITMAP, INDEX, FOOTER, CUT, MISSING, N_WAYS };
    static const char *const ways[N_WAYS] = {"header", "bitmap", "index", "footer", "cut", "missing"};
    (void)state;
    struct diary d = {0};
    struct t_faultfs *good = one_file(&d);
    assert_int_equal(n_damage(good), 0);
    for (int sums = 0; sums < 2; sums++)
        for (int way = 0; way < N_WAYS; way++) {
            char what[80];
            size_t n;
            struct t_faultfs *f = t_faultfs_clone(good, 3);
            char path[64]; /* a copy: removing the file frees its name */
            (void)snprintf(path, sizeof path, "%s", longest(f, sums ? ".s" : ".t", &n));
            (void)snprintf(what, sizeof what, "%s: %s", sums ? "summaries" : "points", ways[way]);
            uint64_t at = way == HEADER   ? 3
                          : way == BITMAP ? section(f, path, 1)
                          : way == INDEX  ? section(f, path, 2) + 1
                                          : n - 100;
            bool can = sums ? way != BITMAP : way < CUT; /* there is no bitmap; rows would be lost */
            if (way == MISSING)
                assert_true(t_faultfs_remove(f, path));
            else if (way == CUT) {
                uint8_t *p = t_faultfs_get(f, path, &n);
                t_faultfs_put(f, path, p, 20);
                ts_free(p);
            } else
                assert_true(t_faultfs_flip(f, path, at, 4));
            if (can)
                expect_made_good(f, &d, what);
            t_faultfs_free(f);
        }
    diary_release(&d);
    t_faultfs_free(good);
}

/* Rows are lost: the store says so, opens not, and deletes nothing. */
static void test_store_remake__lost_rows_are_refused(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    size_t n, n_files = t_faultfs_count(f);
    const char *path = longest(f, ".t", &n);
    assert_true(t_faultfs_flip(f, path, 100, 4)); /* a block, and the index */
    assert_true(t_faultfs_flip(f, path, section(f, path, 2) + 1, 4));
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    assert_int_equal(sto_open(&opts, &st, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "tsd fsck"));
    assert_int_equal(t_faultfs_count(f), n_files);
    diary_release(&d);
    t_faultfs_free(f);
}

/* Tombstones are lost: without them what was deleted would come back. */
static void test_store_remake__lost_tombstones_are_refused(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    struct sto_store *st = NULL;
    size_t n_files = t_faultfs_count(f);
    char path[64] = ""; /* of the file with the tombstone */
    for (size_t i = 0; i < n_files && !*path; i++) {
        const char *p = t_faultfs_path(f, i);
        if (strstr(p, "/files/") && !strcmp(p + strlen(p) - 2, ".t") && section(f, p, 0) < section(f, p, 1))
            (void)snprintf(path, sizeof path, "%s", p);
    }
    assert_true(*path);
    assert_true(t_faultfs_flip(f, path, section(f, path, 0) + 1, 4));
    assert_int_equal(sto_open(&opts, &st, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "tsd fsck"));
    assert_int_equal(t_faultfs_count(f), n_files);
    diary_release(&d);
    t_faultfs_free(f);
}

static uint64_t n_counted;

/* Counts of a series' whole hours, by summaries where there are some. */
static void count_by_hours(struct sto_store *st, unsigned series)
{
    const struct sto_series *s = kit_series(st, series);
    uint8_t whole[64];
    memset(whole, 1, sizeof whole);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0 - T0 % TS_HOUR_MS,
                                 .to_ms = T0 - T0 % TS_HOUR_MS + 64 * TS_HOUR_MS - 1,
                                 .whole_hours = whole,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan = NULL;
    struct sto_row row;
    struct ts_error err = {0};
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc == 0 && sto_merge_next(scan, &row, &err) == 1)
        n_counted += row.sum ? row.sum->n : row.cells->n;
    if (err.code)
        fail_msg("%s", err.text);
    sto_merge_free(scan);
    sto_snap_release(snap);
}

/* A damaged block of summaries, found by a query: it is answered by the points, and a merge makes the file anew. */
static void test_store_remake__a_damaged_block_of_summaries(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    size_t n;
    assert_true(t_faultfs_flip(f, longest(f, ".s", &n), 60, 4));
    assert_true(n_damage(f) > 0);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    n_counted = 0;
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < N_SERIES; i++)
            count_by_hours(st, i);
    assert_int_equal(n_counted, 2 * d.n);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(st, &d, "after the merge");
    kit_close(st);
    assert_int_equal(n_damage(f), 0);
    diary_release(&d);
    t_faultfs_free(f);
}

/* A file of summaries is removed while the store runs, and while it has no descriptor: the same. */
static void test_store_remake__summaries_that_are_removed(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    char path[64];
    size_t n;
    (void)snprintf(path, sizeof path, "%s", longest(f, ".s", &n));
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.open_files = 1;
    struct sto_store *st = kit_open(&opts);
    kit_expect_all(st, &d, "with summaries"); /* reads points, which closes the other file */
    assert_true(t_faultfs_remove(f, path));
    n_counted = 0;
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < N_SERIES; i++)
            count_by_hours(st, i);
    assert_int_equal(n_counted, 2 * d.n);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(st, &d, "after the merge");
    kit_close(st);
    assert_int_equal(n_damage(f), 0);
    diary_release(&d);
    t_faultfs_free(f);
}

static void test_store_remake__what_fails_is_not_tried_again(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    size_t n;
    assert_true(t_faultfs_flip(f, longest(f, ".t", &n), 100, 4)); /* a block of points */
    char path[64];
    (void)snprintf(path, sizeof path, "%s", longest(f, ".s", &n));
    assert_true(t_faultfs_flip(f, path, 3, 4)); /* and the head of the summaries */
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.pumped = true;
    opts.own_threads = false;
    struct sto_store *st = kit_open(&opts);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0); /* tombstones that concern nothing go */
    uint64_t appends = t_faultfs_calls(f, T_OP_APPEND), reads = t_faultfs_calls(f, T_OP_PREAD);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(t_faultfs_calls(f, T_OP_APPEND), appends);
    assert_int_equal(t_faultfs_calls(f, T_OP_PREAD), reads);
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* Two reads in a row fail, and nothing else does: an error of the disk that passes. */
struct passing {
    struct t_faultfs *f;
    uint64_t n, at; /* reads so far; the first that fails */
};

static void fail_two_reads(void *arg, enum t_op op, const char *path, bool after)
{
    struct passing *p = arg;
    if (op != T_OP_PREAD || after || !path)
        return;
    p->n++;
    if (p->n == p->at || p->n == p->at + 1)
        t_faultfs_plan(p->f, (struct t_fault_plan){.ops = T_OP_PREAD, .at = 1, .fault = T_FAULT_EIO});
}

/* Run what with a passing error at each read in turn; it returns false when the error came too late to be met. */
static void with_passing_errors(const struct diary *d, struct t_faultfs *damaged,
                                void (*what)(struct t_faultfs *f, const struct diary *d, uint64_t at))
{
    for (uint64_t at = 1; at < 1000; at++) {
        struct t_faultfs *f = t_faultfs_clone(damaged, 3);
        struct passing p = {.f = f, .at = at};
        t_faultfs_set_hook(f, fail_two_reads, &p);
        what(f, d, at);
        t_faultfs_set_hook(f, NULL, NULL);
        t_faultfs_free(f);
        if (p.n < at)
            return;
    }
    fail_msg("it never ends");
}

/* The first start may fail, the second one must not: nothing was taken for lost. */
static void start_twice(struct t_faultfs *f, const struct diary *d, uint64_t at)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = NULL;
    struct ts_error err = {0};
    opts.no_background = true;
    int rc = sto_open(&opts, &st, &err);
    if (rc < 0 && (rc != TS_EIO || strstr(err.text, "corrupt")))
        fail_msg("read %llu: %s: %s", (unsigned long long)at, ts_err_name(rc), err.text);
    if (rc == 0 && sto_flush(st, STO_LEVEL_COMPACT, &err) < 0 && err.code != TS_EIO)
        fail_msg("read %llu: %s: %s", (unsigned long long)at, ts_err_name(err.code), err.text);
    if (rc == 0)
        kit_close(st);
    t_faultfs_set_hook(f, NULL, NULL);
    st = kit_open(&opts);
    kit_expect_all(st, d, "after a passing error");
    kit_close(st);
}

static void test_store_remake__a_passing_error_is_no_damage(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    size_t n;
    char path[64];
    (void)snprintf(path, sizeof path, "%s", longest(f, ".t", &n));
    assert_true(t_faultfs_flip(f, path, n - 100, 4)); /* footer: it can be made good */
    with_passing_errors(&d, f, start_twice);
    diary_release(&d);
    t_faultfs_free(f);
}

static void repair_twice(struct t_faultfs *f, const struct diary *d, uint64_t at)
{
    struct sto_fsck_opts opts = {.fs = t_faultfs_fs(f), .dir = "/db", .repair = true};
    struct sto_opts open = KIT_OPTS(f, 1);
    struct sto_fsck_result r;
    struct ts_error err = {0};
    int rc = sto_fsck(&opts, &r, &err);
    t_faultfs_set_hook(f, NULL, NULL);
    if (rc < 0 && sto_fsck(&opts, &r, &err) < 0)
        fail_msg("read %llu: %s", (unsigned long long)at, err.text);
    struct sto_store *st = kit_open(&open);
    kit_expect_all(st, d, "repaired");
    kit_close(st);
}

static void test_store_remake__a_repair_drops_nothing_for_a_passing_error(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    size_t n;
    assert_true(t_faultfs_flip(f, longest(f, ".s", &n), 60, 4));
    with_passing_errors(&d, f, repair_twice);
    diary_release(&d);
    t_faultfs_free(f);
}

/* When its rows were written, and which deletes are applied to them, is known of a file that was made again. */
static void test_store_remake__keeps_what_deletes_need_to_know(void **state)
{
    enum { MADE_MS = FOOTER_BYTES - 128, CARRIED_GEN = FOOTER_BYTES - 136 };
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = one_file(&d);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_DEL, T0, T0 + 1000), 0);
        assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 2, STO_OP_PUT, T0 + i, 7), 0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    }
    kit_close(st);
    size_t n;
    char path[64];
    uint64_t was[2], is[2];
    (void)snprintf(path, sizeof path, "%s", longest(f, ".t", &n));
    uint8_t *p = t_faultfs_get(f, path, &n);
    was[0] = ts_ld64(p + n - MADE_MS);
    was[1] = ts_ld64(p + n - CARRIED_GEN);
    ts_free(p);
    assert_true(was[0] > 0 && was[1] > 0);
    assert_true(t_faultfs_flip(f, path, section(f, path, 2) + 1, 4)); /* the index */
    expect_made_good(f, &d, "points: index");
    assert_string_not_equal(longest(f, ".t", &n), path);
    p = t_faultfs_get(f, longest(f, ".t", &n), &n);
    is[0] = ts_ld64(p + n - MADE_MS);
    is[1] = ts_ld64(p + n - CARRIED_GEN);
    ts_free(p);
    assert_int_equal(is[0], was[0]);
    assert_int_equal(is[1], was[1]);
    diary_release(&d);
    t_faultfs_free(f);
}

/* What a flush and a merge have finished needs not be made again after a power cut. */
static void test_store_remake__finished_files_outlive_a_power_cut(void **state)
{
    (void)state;
    for (int level = STO_LEVEL_FILES; level <= STO_LEVEL_COMPACT; level++) {
        struct t_faultfs *f = t_faultfs_new(3);
        struct sto_opts opts = KIT_OPTS(f, 1);
        struct sto_store *st = kit_open(&opts);
        struct diary d = {0};
        for (int64_t i = 0; i < 3000 * N_SERIES; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                    T0 + i / N_SERIES * 1000, i),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, (enum sto_level)level, NULL), 0);
        size_t n_sums;
        (void)longest(f, ".s", &n_sums);
        t_faultfs_power_cut(f);
        (void)sto_close(st, NULL);
        t_faultfs_reboot(f, T_KEEP_NONE);
        assert_int_equal(n_damage(f), 0);
        st = kit_open(&opts);
        kit_expect_all(st, &d, "after the power cut");
        kit_close(st);
        t_faultfs_free(f);
        diary_release(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_remake__what_rows_tell_is_made_again),
        cmocka_unit_test(test_store_remake__finished_files_outlive_a_power_cut),
        cmocka_unit_test(test_store_remake__lost_rows_are_refused),
        cmocka_unit_test(test_store_remake__lost_tombstones_are_refused),
        cmocka_unit_test(test_store_remake__a_damaged_block_of_summaries),
        cmocka_unit_test(test_store_remake__summaries_that_are_removed),
        cmocka_unit_test(test_store_remake__what_fails_is_not_tried_again),
        cmocka_unit_test(test_store_remake__a_passing_error_is_no_damage),
        cmocka_unit_test(test_store_remake__a_repair_drops_nothing_for_a_passing_error),
        cmocka_unit_test(test_store_remake__keeps_what_deletes_need_to_know),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* damage is expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
