/*
 * test_store_lost.c - manifest, names or cells are gone together with their copies: the store says what is lost,
 * opens nothing by guessing, deletes nothing, and fsck --repair brings back what can be brought back.
 *
 * Random stores without each of the three: tests/damage/flips.c, mode pair.
 */
#include "tests/unit/storage/store_kit.h"

#include "storage/reclog.h"

/* A store with points in files and in the log, closed as a kill leaves it. */
static struct t_faultfs *make_store(struct diary *d)
{
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 300; i++)
        assert_int_equal(
            kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT, T0 + i * 1000, i), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    for (int64_t i = 300; i < 400; i++)
        assert_int_equal(
            kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT, T0 + i * 1000, i), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_cell_put(st, TS_SLICE_LIT("k"), TS_SLICE_LIT("v"), NULL), 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    struct t_faultfs *copy = t_faultfs_clone(f, 2);
    kit_close(st);
    t_faultfs_free(f);
    return copy;
}

static void lose(struct t_faultfs *f, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/db/%s", name);
    (void)t_faultfs_remove(f, path);
    snprintf(path, sizeof path, "/db/%s.copy", name);
    (void)t_faultfs_remove(f, path);
}

/* What is left of a log and its copy after its first n bytes. */
static void cut(struct t_faultfs *f, const char *name, size_t n)
{
    char path[64];
    size_t had;
    for (int copy = 0; copy < 2; copy++) {
        snprintf(path, sizeof path, "/db/%s%s", name, copy ? ".copy" : "");
        uint8_t *p = t_faultfs_get(f, path, &had);
        assert_true(had >= n);
        t_faultfs_put(f, path, p, n);
        ts_free(p);
    }
}

static size_t n_data_files(struct t_faultfs *f)
{
    size_t n = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++)
        n += strstr(t_faultfs_path(f, i), "/files/") || strstr(t_faultfs_path(f, i), "/wal/");
    return n;
}

/* Both ways of opening refuse with these words and leave everything. */
static void must_refuse(struct t_faultfs *f, const char *words)
{
    size_t n = n_data_files(f);
    for (int read_only = 0; read_only < 2; read_only++) {
        struct sto_opts opts = KIT_OPTS(f, 1);
        struct sto_store *st = NULL;
        struct ts_error err = {0};
        opts.read_only = read_only;
        opts.create = !read_only;
        int rc = sto_open(&opts, &st, &err);
        if (rc != TS_ECORRUPT || !strstr(err.text, words) || !strstr(err.text, "tsd fsck"))
            fail_msg("open%s: %s: %s", read_only ? " for reading" : "", ts_err_name(rc), err.text);
        assert_int_equal(t_faultfs_n_open(f), 0);
    }
    assert_int_equal(n_data_files(f), n);
}

/* All points are there, under names that a repair made up for series whose own were lost. */
static void expect_all_unnamed(struct sto_store *st, const struct diary *d)
{
    struct t_ref *ref = t_ref_new();
    for (size_t i = 0; i < d->n; i++)
        t_ref_apply(ref, &d->ops[i]);
    for (unsigned i = 0; i < N_SERIES; i++) {
        char why[200] = "", name[32];
        const struct sto_series *s = sto_series_get(sto_store_catalog(st), i);
        snprintf(name, sizeof name, "lost_series=%u", i);
        assert_non_null(s);
        assert_non_null(memmem(sto_series_text(s).p, s->text_len, name, strlen(name)));
        if (!kit_same_as(st, s, ref, i, why, sizeof why))
            fail_msg("%s", why);
    }
    t_ref_free(ref);
}

/* Repair; then it opens, and all points of the diary are there. */
static void repair_as(struct t_faultfs *f, const struct diary *d, bool named)
{
    struct sto_fsck_opts check = {.fs = t_faultfs_fs(f), .dir = "/db", .repair = true};
    struct sto_fsck_result out;
    struct ts_error err = {0};
    if (sto_fsck(&check, &out, &err) < 0)
        fail_msg("repair: %s", err.text);
    assert_true(out.n_damage > 0 && out.repaired);
    assert_int_equal(out.n_left, 0);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    if (d && named)
        kit_expect_all(st, d, "repaired");
    else if (d)
        expect_all_unnamed(st, d);
    kit_close(st);
}

static void repair(struct t_faultfs *f, const struct diary *d)
{
    repair_as(f, d, true);
}

static void test_store_lost__a_lost_manifest_is_made_of_the_files(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = make_store(&d);
    lose(f, "MANIFEST");
    must_refuse(f, "MANIFEST and its copy are missing");
    repair(f, &d);
    t_faultfs_free(f);
    diary_release(&d);
}

/* With nothing but points left, a start must not take the folder for a new one: it would remove them. */
static void test_store_lost__files_alone_are_no_new_store(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = make_store(&d);
    lose(f, "MANIFEST");
    lose(f, "cells.log");
    must_refuse(f, "MANIFEST and its copy are missing");
    lose(f, "catalog.log");
    must_refuse(f, "MANIFEST and its copy are missing");
    repair_as(f, &d, false);
    t_faultfs_free(f);
    diary_release(&d);
}

/* A manifest without records is that of a start that ended early, but only where there is nothing else. */
static void test_store_lost__an_empty_manifest_removes_nothing(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = make_store(&d);
    size_t n;
    uint8_t *p = t_faultfs_get(f, "/db/MANIFEST", &n);
    uint32_t body;
    memcpy(&body, p + STO_RECLOG_HEADER_BYTES, sizeof body);
    ts_free(p);
    struct t_faultfs *first = t_faultfs_clone(f, 3);
    cut(f, "MANIFEST", STO_RECLOG_HEADER_BYTES);
    must_refuse(f, "MANIFEST has lost its records");
    repair(f, &d);
    t_faultfs_free(f);
    /* the first record alone: also what a repair leaves that ended half-way */
    cut(first, "MANIFEST", STO_RECLOG_HEADER_BYTES + STO_RECLOG_HEAD_BYTES + body);
    must_refuse(first, "MANIFEST has lost its records");
    repair(first, &d);
    t_faultfs_free(first);
    diary_release(&d);
}

/* A flush more, and a merge of all: closed as a stop leaves it, without log segments. */
static struct t_faultfs *make_merged(struct diary *d, bool merge)
{
    struct t_faultfs *f = make_store(d);
    struct sto_opts opts = KIT_OPTS(f, 1);
    for (int64_t round = 1; round < 4; round++) {
        struct sto_store *st = kit_open(&opts);
        for (int64_t i = 0; i < 100; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                    T0 + (round * 1000 + i) * 1000, i),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, merge && round == 3 ? STO_LEVEL_COMPACT : STO_LEVEL_FILES, NULL), 0);
        kit_close(st);
    }
    return f;
}

/* Cut MANIFEST and its copy after their first n records; false: they have not got more. */
static bool cut_records(struct t_faultfs *f, size_t n)
{
    size_t n_bytes, at = STO_RECLOG_HEADER_BYTES;
    uint8_t *p = t_faultfs_get(f, "/db/MANIFEST", &n_bytes);
    for (; n && at < n_bytes; n--) {
        uint32_t body;
        memcpy(&body, p + at, sizeof body);
        at += STO_RECLOG_HEAD_BYTES + body;
    }
    ts_free(p);
    if (at < n_bytes)
        cut(f, "MANIFEST", at);
    return at < n_bytes;
}

/* Both lose the same later records: each front part is refused or, where it says the same, opens with all points. */
static void front_parts(bool merge)
{
    struct diary d = {0};
    struct t_faultfs *whole = make_merged(&d, merge);
    size_t n_refused = 0;
    for (size_t n = 2;; n++) {
        struct t_faultfs *f = t_faultfs_clone(whole, n);
        bool shorter = cut_records(f, n);
        struct sto_opts opts = KIT_OPTS(f, 1);
        struct sto_store *st = NULL;
        struct ts_error err = {0};
        if (sto_open(&opts, &st, &err) < 0) {
            must_refuse(f, "");
            repair(f, &d);
            n_refused++;
        } else {
            kit_expect_all(st, &d, "opened");
            kit_close(st);
        }
        t_faultfs_free(f);
        if (!shorter)
            break;
    }
    assert_true(n_refused >= 3); /* at least one for each flush of make_merged */
    t_faultfs_free(whole);
    diary_release(&d);
}

static void test_store_lost__a_manifest_without_its_last_flushes_removes_nothing(void **state)
{
    (void)state;
    front_parts(false);
}

static void test_store_lost__a_manifest_without_its_last_merge_removes_nothing(void **state)
{
    (void)state;
    front_parts(true);
}

/* Files that a merge has replaced lie there as long as a reader holds them: they bring nothing back. */
static void test_store_lost__replaced_files_bring_nothing_back(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int64_t gen = 0; gen < 3; gen++) { /* the same times, three times over; then some are deleted */
        for (int64_t i = 0; i < 100; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                    T0 + i * 1000, gen * 1000 + i),
                             0);
        for (int64_t i = 0; gen == 2 && i < 3; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_DEL, T0 + i * 1000, T0 + i * 1000),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    }
    size_t n_before = n_data_files(f);
    struct sto_snap *reader = sto_snap_take(st);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    assert_true(n_data_files(f) > n_before); /* old ones and new ones */
    struct t_faultfs *killed = t_faultfs_clone(f, 2);
    sto_snap_release(reader);
    kit_expect_all(st, &d, "merged");
    kit_close(st);
    t_faultfs_free(f);
    lose(killed, "MANIFEST");
    must_refuse(killed, "MANIFEST and its copy are missing");
    repair(killed, &d);
    assert_true(n_data_files(killed) < n_before);
    t_faultfs_free(killed);
    diary_release(&d);
}

/* The newest file of points. */
static void newest_points(struct t_faultfs *f, char out[64])
{
    *out = 0;
    for (size_t i = 0; i < t_faultfs_count(f); i++) {
        const char *path = t_faultfs_path(f, i);
        if (strstr(path, "/files/") && !strcmp(path + strlen(path) - 2, ".t"))
            (void)snprintf(out, 64, "%s", path);
    }
    assert_true(*out);
}

/* The merge can't be read wholly: what it was made of counts. */
static void test_store_lost__a_damaged_merge_replaces_nothing(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    char path[64];
    for (int64_t gen = 0; gen < 2; gen++) {
        for (int64_t i = 0; i < 30000; i++)
            assert_int_equal(kit_op(st, sto_writer(st, 0), &d, (unsigned)(i % N_SERIES), STO_OP_PUT,
                                    T0 + i / N_SERIES * 1000, gen * 10007 + i * 7919 % 10007),
                             0);
        sto_writer_turn(sto_writer(st, 0));
        assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
    }
    struct sto_snap *reader = sto_snap_take(st);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, NULL), 0);
    struct t_faultfs *killed = t_faultfs_clone(f, 2);
    sto_snap_release(reader);
    kit_close(st);
    t_faultfs_free(f);
    newest_points(killed, path);
    assert_true(t_faultfs_flip(killed, path, 100, 4)); /* its first block */
    lose(killed, "MANIFEST");
    repair(killed, &d);
    t_faultfs_free(killed);
    diary_release(&d);
}

/* The log names by number what the catalog had on disk when it was written. */
static void test_store_lost__points_of_lost_names_get_new_ones(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = make_store(&d), *cut_off = t_faultfs_clone(f, 3);
    lose(f, "catalog.log");
    must_refuse(f, "catalog.log, which holds names of metrics and tags, is missing");
    repair_as(f, &d, false);
    t_faultfs_free(f);
    cut(cut_off, "catalog.log", STO_RECLOG_HEADER_BYTES); /* the end of both is lost: looks like a torn one */
    must_refuse(cut_off, "catalog.log has lost names");
    repair_as(cut_off, &d, false);
    t_faultfs_free(cut_off);
    diary_release(&d);
}

/* Until a flush has brought the names to disk, the log alone has them. */
static void test_store_lost__names_come_from_the_log_as_far_as_it_has_them(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(
            kit_op(st, sto_writer(st, 0), &d, (unsigned)(i % N_SERIES), STO_OP_PUT, T0 + i * 1000, i), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    struct t_faultfs *copy = t_faultfs_clone(f, 2);
    kit_close(st);
    t_faultfs_free(f);
    lose(copy, "catalog.log");
    must_refuse(copy, "catalog.log, which holds names of metrics and tags, is missing");
    repair(copy, &d);
    t_faultfs_free(copy);
    diary_release(&d);
}

static void test_store_lost__cells_are_never_silently_empty(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = make_store(&d);
    lose(f, "cells.log");
    must_refuse(f, "cells.log, which holds annotations and metadata, is missing");
    repair(f, &d);
    t_faultfs_free(f);
    diary_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_lost__a_lost_manifest_is_made_of_the_files),
        cmocka_unit_test(test_store_lost__files_alone_are_no_new_store),
        cmocka_unit_test(test_store_lost__an_empty_manifest_removes_nothing),
        cmocka_unit_test(test_store_lost__a_manifest_without_its_last_flushes_removes_nothing),
        cmocka_unit_test(test_store_lost__a_manifest_without_its_last_merge_removes_nothing),
        cmocka_unit_test(test_store_lost__replaced_files_bring_nothing_back),
        cmocka_unit_test(test_store_lost__a_damaged_merge_replaces_nothing),
        cmocka_unit_test(test_store_lost__points_of_lost_names_get_new_ones),
        cmocka_unit_test(test_store_lost__names_come_from_the_log_as_far_as_it_has_them),
        cmocka_unit_test(test_store_lost__cells_are_never_silently_empty),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
