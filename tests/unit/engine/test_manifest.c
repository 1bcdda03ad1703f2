/*
 * test_manifest.c - the list of files: edits are durable before they count, and come back whole.
 *
 * Everything runs on the file system in memory (tests/faults/faultfs.h); every seed is fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/manifest.h"
#include "storage/reclog.h"
#include "tests/faults/faultfs.h"

#define DIR_NAME "d"
#define PATH     DIR_NAME "/" STO_MANIFEST_NAME

static struct t_faultfs *new_fs(uint64_t seed)
{
    struct t_faultfs *f = t_faultfs_new(seed);
    t_faultfs_set_page(f, 64);
    const struct ts_fs *fs = t_faultfs_fs(f);
    assert_int_equal(fs->mkdir(fs, DIR_NAME, NULL), 0);
    assert_int_equal(fs->sync_dir(fs, ".", NULL), 0);
    return f;
}

static int open_it(struct t_faultfs *f, bool create, bool read_only, struct sto_manifest **out,
                   struct ts_error *err)
{
    return sto_manifest_open(t_faultfs_fs(f), DIR_NAME, create, read_only, 16, out, err);
}

static struct sto_manifest *must_open(struct t_faultfs *f)
{
    struct sto_manifest *m;
    struct ts_error err = {0};
    if (open_it(f, true, false, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static struct sto_sst_info info_of(uint64_t file_no)
{
    uint64_t r = file_no;
    struct sto_sst_info i = {.file_no = file_no,
                             .gen_lo = t_rand(&r) >> 40,
                             .gen_hi = t_rand(&r) >> 30,
                             .min_ms = file_no % 3 ? -(int64_t)(t_rand(&r) >> 20) : INT64_MAX,
                             .max_ms = file_no % 3 ? (int64_t)(t_rand(&r) >> 20) : INT64_MIN,
                             .tomb_min_ms = (int64_t)t_rand(&r),
                             .tomb_max_ms = (int64_t)t_rand(&r),
                             .n_points = t_rand(&r),
                             .n_rows = t_rand(&r) >> 33,
                             .n_tombs = t_rand(&r) >> 60,
                             .t_bytes = t_rand(&r) >> 32,
                             .s_bytes = file_no % 2 ? t_rand(&r) >> 40 : 0};
    return i;
}

static bool same_info(const struct sto_sst_info *a, const struct sto_sst_info *b)
{
    return a->file_no == b->file_no && a->gen_lo == b->gen_lo && a->gen_hi == b->gen_hi &&
           a->min_ms == b->min_ms && a->max_ms == b->max_ms && a->tomb_min_ms == b->tomb_min_ms &&
           a->tomb_max_ms == b->tomb_max_ms && a->n_points == b->n_points && a->n_rows == b->n_rows &&
           a->n_tombs == b->n_tombs && a->t_bytes == b->t_bytes && a->s_bytes == b->s_bytes;
}

/* Same state? Files in any order; their contents follow from their numbers. */
static bool same_state(const struct sto_manifest_state *a, const struct sto_manifest_state *b)
{
    if (a->n_shards != b->n_shards || a->flushed_gen != b->flushed_gen ||
        a->next_file_no != b->next_file_no || a->run != b->run || a->n_files != b->n_files)
        return false;
    for (size_t i = 0; i < a->n_files; i++) {
        size_t k = 0;
        while (k < b->n_files && b->files[k].file_no != a->files[i].file_no)
            k++;
        if (k == b->n_files || !same_info(&a->files[i], &b->files[k]))
            return false;
    }
    return true;
}

static struct sto_manifest_state copy_state(const struct sto_manifest_state *s)
{
    struct sto_manifest_state c = *s;
    c.files = ts_xmalloc((s->n_files + 1) * sizeof(*c.files));
    if (s->n_files)
        memcpy(c.files, s->files, s->n_files * sizeof(*c.files));
    return c;
}

/* One step of a store's life: a flush adds a file, now and then a compaction replaces the oldest ones. */
static int step(struct sto_manifest *m, uint64_t i, struct ts_error *err)
{
    const struct sto_manifest_state *s = sto_manifest_state(m);
    struct sto_sst_info add = info_of(s->next_file_no);
    uint64_t remove[4];
    struct sto_manifest_edit e = {
        .add = &add, .n_add = 1, .flushed_gen = s->flushed_gen + 1, .remove = remove};
    if (i % 5 == 4)
        for (; e.n_remove < 4 && e.n_remove < s->n_files; e.n_remove++)
            remove[e.n_remove] = s->files[e.n_remove].file_no;
    if (i % 7 == 6)
        e.run = s->run + 1;
    if (i % 3 == 2)
        e.next_file_no = s->next_file_no + 5;
    return sto_manifest_apply(m, &e, err);
}

/* --- what it keeps --- */

static void test_manifest__a_new_store_is_empty_and_remembers_its_shards(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m;
    struct ts_error err = {0};
    assert_int_equal(open_it(f, false, false, &m, &err), TS_ENOTFOUND);
    assert_string_equal(err.text, "d is not a tsd store");
    assert_null(m);
    assert_int_equal(open_it(f, true, true, &m, &err), TS_ENOTFOUND); /* read-only makes nothing */
    assert_int_equal(t_faultfs_count(f), 0);
    m = must_open(f);
    const struct sto_manifest_state *s = sto_manifest_state(m);
    assert_true(s->n_shards == 16 && s->n_files == 0 && s->flushed_gen == 0 && s->run == 0 &&
                s->next_file_no == 1);
    sto_manifest_close(m);
    assert_int_equal(sto_manifest_open(t_faultfs_fs(f), DIR_NAME, true, false, 64, &m, &err), 0);
    assert_int_equal(sto_manifest_state(m)->n_shards, 16); /* fixed when made */
    sto_manifest_close(m);
    sto_manifest_close(NULL);
    t_faultfs_free(f);
}

static void test_manifest__edits_come_back(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m = must_open(f), *again;
    for (uint64_t i = 0; i < 60; i++) {
        assert_int_equal(step(m, i, NULL), 0);
        assert_int_equal(open_it(f, false, true, &again, NULL), 0);
        assert_true(same_state(sto_manifest_state(m), sto_manifest_state(again)));
        struct ts_error err = {0};
        assert_int_equal(step(again, i, &err), TS_EINVAL);
        sto_manifest_close(again);
    }
    assert_true(sto_manifest_state(m)->n_files > 3 && sto_manifest_state(m)->run == 8);
    sto_manifest_close(m);
    assert_int_equal(t_faultfs_n_open(f), 0);
    t_faultfs_free(f);
}

static void test_manifest__edits_that_contradict_the_state_are_refused(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m = must_open(f);
    for (uint64_t i = 0; i < 12; i++)
        assert_int_equal(step(m, i, NULL), 0);
    const struct sto_manifest_state *s = sto_manifest_state(m);
    struct sto_manifest_state before = copy_state(s);
    struct sto_sst_info twice[2] = {info_of(500), info_of(500)}, zero = info_of(1);
    zero.file_no = 0;
    uint64_t missing = 999, both[2] = {s->files[0].file_no, s->files[0].file_no};
    const struct sto_manifest_edit bad[] = {
        {.add = &s->files[0], .n_add = 1},    {.add = twice, .n_add = 2},
        {.add = &zero, .n_add = 1},           {.remove = &missing, .n_remove = 1},
        {.remove = both, .n_remove = 2},      {.flushed_gen = 1},
        {.run = s->run - 1 ? s->run - 1 : 1}, {.next_file_no = 2}};
    size_t n_before, n_after;
    ts_free(t_faultfs_get(f, PATH, &n_before));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_error err = {0};
        if (i == 6 && s->run <= 1)
            continue;
        assert_int_equal(sto_manifest_apply(m, &bad[i], &err), TS_EINVAL);
        assert_true(same_state(sto_manifest_state(m), &before) && err.text[0]);
    }
    ts_free(t_faultfs_get(f, PATH, &n_after));
    assert_int_equal(n_before, n_after);
    struct sto_sst_info again = s->files[0]; /* out and in again is fine: removals come first */
    struct sto_manifest_edit swap = {.add = &again, .n_add = 1, .remove = both, .n_remove = 1};
    assert_int_equal(sto_manifest_apply(m, &swap, NULL), 0);
    assert_true(same_state(sto_manifest_state(m), &before));
    ts_free(before.files);
    sto_manifest_close(m);
    t_faultfs_free(f);
}

static void test_manifest__a_log_that_is_mostly_dead_is_rewritten(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m = must_open(f);
    size_t n, n_max = 0;
    for (uint64_t i = 0; i < 6000; i++) { /* ~100 bytes an edit; never more than a handful of files */
        const struct sto_manifest_state *s = sto_manifest_state(m);
        struct sto_sst_info add = info_of(s->next_file_no);
        uint64_t remove[1] = {s->n_files ? s->files[0].file_no : 0};
        struct sto_manifest_edit e = {.add = &add, .n_add = 1, .remove = remove, .n_remove = s->n_files > 3};
        assert_int_equal(sto_manifest_apply(m, &e, NULL), 0);
        if (i % 50 == 0) {
            ts_free(t_faultfs_get(f, PATH, &n));
            n_max = n > n_max ? n : n_max;
        }
    }
    assert_true(n_max > 50000 && n_max < 80000);
    assert_int_equal(t_faultfs_count(f), 2); /* and its copy; no left-over of the rewrite */
    struct sto_manifest_state want = copy_state(sto_manifest_state(m));
    sto_manifest_close(m);
    t_faultfs_power_cut(f);
    t_faultfs_reboot(f, T_KEEP_NONE);
    m = must_open(f);
    assert_true(same_state(sto_manifest_state(m), &want));
    ts_free(want.files);
    sto_manifest_close(m);
    t_faultfs_free(f);
}

/* --- damage --- */

/* A manifest with its states after each edit; states[0] is before the first. */
static struct t_faultfs *history(struct sto_manifest_state *states, size_t n)
{
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m = must_open(f);
    states[0] = copy_state(sto_manifest_state(m));
    for (uint64_t i = 0; i + 1 < n; i++) {
        assert_int_equal(step(m, i, NULL), 0);
        states[i + 1] = copy_state(sto_manifest_state(m));
    }
    sto_manifest_close(m);
    return f;
}

static size_t find_state(const struct sto_manifest_state *states, size_t n,
                         const struct sto_manifest_state *s)
{
    for (size_t i = 0; i < n; i++)
        if (same_state(&states[i], s))
            return i;
    return SIZE_MAX;
}

static void test_manifest__every_cut_gives_an_earlier_state(void **state)
{
    (void)state;
    struct sto_manifest_state states[10];
    struct t_faultfs *f = history(states, 10);
    size_t n_file, last = 0;
    uint8_t *b = t_faultfs_get(f, PATH, &n_file);
    for (size_t n = 0; n <= n_file; n++) {
        struct sto_manifest *m;
        t_faultfs_put(f, PATH, b, n);
        (void)t_faultfs_remove(f, PATH ".copy");
        int rc = open_it(f, false, true, &m, NULL);
        assert_true(rc == 0 || (last == 0 && (rc == TS_ECORRUPT || rc == TS_ENOTFOUND)));
        if (rc < 0)
            continue;
        size_t k = find_state(states, 10, sto_manifest_state(m));
        assert_true(k != SIZE_MAX && k >= last);
        last = k;
        sto_manifest_close(m);
        assert_int_equal(open_it(f, false, false, &m, NULL), 0); /* goes on from there */
        assert_true(same_state(sto_manifest_state(m), &states[k]));
        assert_int_equal(step(m, k, NULL), 0);
        sto_manifest_close(m);
        assert_int_equal(open_it(f, false, true, &m, NULL), 0);
        assert_true(k == 9 || same_state(sto_manifest_state(m), &states[k + 1]));
        sto_manifest_close(m);
    }
    assert_int_equal(last, 9);
    ts_free(b);
    for (size_t i = 0; i < 10; i++)
        ts_free(states[i].files);
    t_faultfs_free(f);
}

static void test_manifest__a_flipped_byte_is_found(void **state)
{
    (void)state;
    struct sto_manifest_state states[10];
    struct t_faultfs *f = history(states, 10);
    size_t n_file, n_errors = 0;
    assert_true(t_faultfs_remove(f, PATH ".copy"));
    ts_free(t_faultfs_get(f, PATH, &n_file));
    for (size_t i = 0; i < n_file; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct sto_manifest *m;
            struct ts_error err = {0};
            assert_true(t_faultfs_flip(f, PATH, i, (uint8_t)(1u << bit)));
            int rc = open_it(f, false, true, &m, &err);
            assert_true(rc == 0 || (rc == TS_ECORRUPT && strstr(err.text, PATH)));
            if (rc == 0) /* the last edit only: nobody knows that it was on disk */
                assert_int_equal(find_state(states, 10, sto_manifest_state(m)), 8);
            n_errors += rc < 0;
            sto_manifest_close(m);
            assert_true(t_faultfs_flip(f, PATH, i, (uint8_t)(1u << bit)));
        }
    }
    assert_true(n_errors > n_file * 6);
    for (size_t i = 0; i < 10; i++)
        ts_free(states[i].files);
    t_faultfs_free(f);
}

/* A manifest of version 1 is read, and the first edit makes it one of version 2; a cutoff goes back only when no file needs
 * it, and never into memory. */
static void test_manifest__version_1_is_replaced_by_the_first_edit(void **state)
{
    (void)state;
    static const uint8_t old[] = {1, 1, 16, 5, 3, 9, 0}, edit[] = {2, 6, 0, 0, 0, 0};
    struct t_faultfs *f = new_fs(1);
    struct sto_reclog *log;
    struct sto_manifest *m;
    assert_int_equal(sto_reclog_open(t_faultfs_fs(f), PATH, "MANI", false, NULL, NULL, &log, NULL), 0);
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){(const char *)old, sizeof old}, NULL), 0);
    assert_int_equal(sto_reclog_add(log, (struct ts_slice){(const char *)edit, sizeof edit}, NULL), 0);
    assert_int_equal(sto_reclog_close(log, NULL), 0);
    assert_int_equal(open_it(f, false, false, &m, NULL), 0);
    assert_int_equal(sto_manifest_state(m)->flushed_gen, 6);
    const struct sto_sst_info file = {.file_no = 11,
                                      .gen_lo = 2,
                                      .gen_hi = 6,
                                      .min_ms = -6,
                                      .max_ms = 5,
                                      .n_points = 2,
                                      .n_rows = 1,
                                      .t_bytes = 9};
    const struct sto_manifest_edit cut = {.cutoff_ms = -4, .cutoff_gen = 7, .add = &file, .n_add = 1},
                                   memory = {.cutoff_ms = -3, .cutoff_gen = 8},
                                   less = {.cutoff_ms = -3, .cutoff_gen = 6},
                                   back = {.cutoff_ms = -5, .cutoff_gen = 7},
                                   gone = {.cutoff_ms = -5,
                                           .cutoff_gen = 7,
                                           .remove = &file.file_no,
                                           .n_remove = 1};
    assert_int_equal(sto_manifest_apply(m, &cut, NULL), 0);
    assert_int_equal(sto_manifest_apply(m, &memory, NULL), TS_EINVAL);
    assert_int_equal(sto_manifest_apply(m, &less, NULL), TS_EINVAL);
    assert_int_equal(sto_manifest_apply(m, &back, NULL), TS_EINVAL);
    assert_int_equal(sto_manifest_apply(m, &gone, NULL), 0);
    sto_manifest_close(m);
    assert_int_equal(open_it(f, false, true, &m, NULL), 0);
    const struct sto_manifest_state *s = sto_manifest_state(m);
    assert_int_equal(s->cutoff_ms, -5);
    assert_int_equal(s->cutoff_gen, 7);
    assert_int_equal(s->flushed_gen, 6);
    assert_int_equal(s->run, 3);
    assert_int_equal(s->next_file_no, 12);
    sto_manifest_close(m);
    t_faultfs_free(f);
}

static void test_manifest__a_bad_edit_after_a_good_state_is_refused(void **state)
{
    (void)state;
    static const uint8_t edits[][8] = {
        {2, 0, 0, 0, 1, 7, 0},   /* removes a file that is not there */
        {2, 0, 0, 0, 0, 0, 0},   /* a byte too many */
        {1, 1, 16, 0, 0, 1, 0},  /* a second state */
        {2, 0, 0, 0, 200, 1, 0}, /* removes more than there is */
    };
    static const uint8_t good[] = {1, 1, 16, 0, 0, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        struct t_faultfs *f = new_fs(1);
        struct sto_reclog *log;
        struct sto_manifest *m;
        assert_int_equal(sto_reclog_open(t_faultfs_fs(f), PATH, "MANI", false, NULL, NULL, &log, NULL), 0);
        assert_int_equal(sto_reclog_add(log, (struct ts_slice){(const char *)good, sizeof(good)}, NULL), 0);
        assert_int_equal(sto_reclog_add(log, (struct ts_slice){(const char *)edits[i], 7}, NULL), 0);
        assert_int_equal(sto_reclog_close(log, NULL), 0);
        assert_int_equal(open_it(f, false, true, &m, NULL), TS_ECORRUPT);
        t_faultfs_free(f);
    }
}

/* --- faults --- */

/* A life with many edits, some of them rewriting. Remembers the last state that was acknowledged and the one
 * that was tried last. Stops at the first error but TS_ENOSPC. */
struct life {
    struct sto_manifest_state acked, tried;
    bool opened; /* the store was made */
};

static void live(struct t_faultfs *f, size_t n_edits, struct life *l)
{
    struct sto_manifest *m;
    *l = (struct life){0};
    if (open_it(f, true, false, &m, NULL) < 0)
        return;
    l->opened = true;
    l->acked = copy_state(sto_manifest_state(m));
    l->tried = copy_state(sto_manifest_state(m));
    for (uint64_t i = 0; i < n_edits; i++) {
        struct sto_sst_info add[100];
        uint64_t remove[300];
        const struct sto_manifest_state *s = sto_manifest_state(m);
        struct sto_manifest_edit e = {.add = add, .remove = remove, .run = s->run + 1};
        for (; e.n_add < 100; e.n_add++)
            add[e.n_add] = info_of(s->next_file_no + e.n_add);
        for (; s->n_files >= 300 && e.n_remove < 300; e.n_remove++)
            remove[e.n_remove] = s->files[e.n_remove].file_no;
        struct sto_manifest_state next = copy_state(s);
        next.files = ts_xrealloc(next.files, (s->n_files + 101) * sizeof(*next.files));
        memmove(next.files, next.files + e.n_remove, (s->n_files - e.n_remove) * sizeof(*next.files));
        next.n_files -= e.n_remove;
        memcpy(next.files + next.n_files, add, sizeof(add));
        next.n_files += 100;
        next.next_file_no += 100;
        next.run++;
        int rc = sto_manifest_apply(m, &e, NULL);
        assert_true(same_state(sto_manifest_state(m), rc == 0 ? &next : &l->acked));
        ts_free(l->tried.files);
        l->tried = rc == TS_ENOSPC ? copy_state(&l->acked) : next;
        if (rc == TS_ENOSPC)
            ts_free(next.files);
        if (rc == 0) {
            ts_free(l->acked.files);
            l->acked = copy_state(&l->tried);
        } else if (rc != TS_ENOSPC) {
            assert_int_equal(rc, TS_EIO);
            break;
        }
    }
    sto_manifest_close(m);
}

static void check_life(struct t_faultfs *f, struct life *l)
{
    struct sto_manifest *m;
    struct ts_error err = {0};
    int rc = open_it(f, false, false, &m, &err);
    if (rc < 0 && (l->opened || rc != TS_ENOTFOUND))
        fail_msg("%s", err.text);
    if (rc == 0 && l->opened) {
        const struct sto_manifest_state *s = sto_manifest_state(m);
        assert_true(same_state(s, &l->acked) || same_state(s, &l->tried));
    }
    if (rc == 0)
        sto_manifest_close(m);
    m = must_open(f); /* whatever happened: it can be used */
    assert_int_equal(step(m, 0, NULL), 0);
    sto_manifest_close(m);
    ts_free(l->acked.files);
    ts_free(l->tried.files);
}

static void test_manifest__a_power_cut_at_any_call_leaves_the_old_or_the_new_state(void **state)
{
    (void)state;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        struct t_faultfs *f = new_fs(at);
        struct life l;
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        live(f, 25, &l);
        fired = t_faultfs_fired(f);
        t_faultfs_power_cut(f);
        t_faultfs_reboot(f, at % 4 == 0 ? T_KEEP_NONE : T_KEEP_RANDOM);
        check_life(f, &l);
        t_faultfs_free(f);
    }
}

static void test_manifest__a_failed_call_leaves_the_old_or_the_new_state(void **state)
{
    (void)state;
    static const enum t_fault faults[] = {T_FAULT_EIO, T_FAULT_ENOSPC, T_FAULT_EDQUOT};
    for (size_t k = 0; k < 3; k++) {
        bool fired = true;
        for (uint64_t at = 1; fired; at++) {
            struct t_faultfs *f = new_fs(at);
            struct life l;
            t_faultfs_plan(f, (struct t_fault_plan){.at = at, .fault = faults[k]});
            live(f, 25, &l);
            fired = t_faultfs_fired(f);
            t_faultfs_power_cut(f);
            t_faultfs_reboot(f, T_KEEP_RANDOM);
            check_life(f, &l);
            t_faultfs_free(f);
        }
    }
}

static void test_manifest__an_edit_refused_by_a_full_disk_never_comes_back(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_manifest *m = must_open(f);
    assert_int_equal(step(m, 0, NULL), 0);
    struct sto_manifest_state want = copy_state(sto_manifest_state(m));
    t_faultfs_set_capacity(f, 1);
    assert_int_equal(step(m, 1, NULL), TS_ENOSPC);
    assert_int_equal(step(m, 1, NULL), TS_ENOSPC);
    assert_true(same_state(sto_manifest_state(m), &want));
    t_faultfs_set_capacity(f, 0);
    sto_manifest_close(m); /* closing must not write what was refused */
    m = must_open(f);
    assert_true(same_state(sto_manifest_state(m), &want));
    t_faultfs_set_capacity(f, 1);
    assert_int_equal(step(m, 1, NULL), TS_ENOSPC);
    t_faultfs_set_capacity(f, 0);
    assert_int_equal(step(m, 2, NULL), 0);
    ts_free(want.files);
    want = copy_state(sto_manifest_state(m));
    sto_manifest_close(m);
    m = must_open(f);
    assert_true(same_state(sto_manifest_state(m), &want));
    sto_manifest_close(m);
    ts_free(want.files);
    t_faultfs_free(f);
}

static int quiet(void **state)
{
    (void)state;
    ts_log_set_level(TS_LOG_ERROR + 1); /* torn tails are cut here on purpose */
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest__a_new_store_is_empty_and_remembers_its_shards),
        cmocka_unit_test(test_manifest__edits_come_back),
        cmocka_unit_test(test_manifest__edits_that_contradict_the_state_are_refused),
        cmocka_unit_test(test_manifest__a_log_that_is_mostly_dead_is_rewritten),
        cmocka_unit_test(test_manifest__every_cut_gives_an_earlier_state),
        cmocka_unit_test(test_manifest__a_flipped_byte_is_found),
        cmocka_unit_test(test_manifest__version_1_is_replaced_by_the_first_edit),
        cmocka_unit_test(test_manifest__a_bad_edit_after_a_good_state_is_refused),
        cmocka_unit_test(test_manifest__a_power_cut_at_any_call_leaves_the_old_or_the_new_state),
        cmocka_unit_test(test_manifest__a_failed_call_leaves_the_old_or_the_new_state),
        cmocka_unit_test(test_manifest__an_edit_refused_by_a_full_disk_never_comes_back),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
