/*
 * test_wal_faults.c - the write-ahead log on bad days: what is torn is cut, what is damaged is named.
 *
 * Everything runs on the file system in memory (tests/faults/faultfs.h); every seed is fixed.
 */
#include "tests/unit/engine/wal_kit.h"

#include <pthread.h>

/* --- torn and damaged --- */

/* A small log of one segment: synced part, mark, unsynced part. *out_mark = what the mark says. */
static struct t_faultfs *small_log(struct diary *want, uint64_t *out_mark, size_t *out_synced_points)
{
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    uint64_t r = 9;
    *want = (struct diary){0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(append_random(wal, 1, &r, 8, want), 0);
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    *out_mark = sto_wal_synced(wal);
    *out_synced_points = want->n;
    for (int i = 0; i < 4; i++)
        assert_int_equal(append_random(wal, 1, &r, 8, want), 0);
    struct t_faultfs *dead = t_faultfs_clone(f, 2); /* as a killed process leaves it: no mark at the end */
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    t_faultfs_free(f);
    return dead;
}

static void test_wal_faults__every_cut_leaves_a_front_part(void **state)
{
    (void)state;
    struct diary want, got;
    uint64_t mark;
    size_t n_synced, n_file, n_last = 0;
    struct t_faultfs *f = small_log(&want, &mark, &n_synced);
    char path[64];
    snprintf(path, sizeof(path), "%s", file_path(f, 0));
    uint8_t *bytes = t_faultfs_get(f, path, &n_file);
    for (size_t n = 0; n <= n_file; n++) {
        struct sto_wal_replay_result res;
        t_faultfs_put(f, path, bytes, n);
        struct ts_error err = {0};
        assert_int_equal(replay(f, 0, true, &got, &res, &err), 0);
        size_t n_got = got.n, n_left;
        assert_true(is_prefix(&got, &want) && got.n >= n_last && res.n_torn <= 1);
        n_last = got.n;
        diary_release(&got);
        ts_free(t_faultfs_get(f, path, &n_left));
        assert_int_equal(n_left, n); /* read-only */
        assert_int_equal(replay(f, 0, false, &got, NULL, &err), 0);
        assert_int_equal(got.n, n_got);
        diary_release(&got);
        assert_int_equal(replay(f, 0, false, &got, &res, &err), 0); /* cut once, clean from then on */
        assert_true(got.n == n_got && res.n_torn == 0);
        diary_release(&got);
    }
    assert_int_equal(n_last, want.n);
    ts_free(bytes);
    diary_release(&want);
    t_faultfs_free(f);
}

static void test_wal_faults__a_flipped_byte_is_damage_before_the_mark_and_an_end_after(void **state)
{
    (void)state;
    struct diary want, got;
    uint64_t mark;
    size_t n_synced, n_file, n_errors = 0;
    struct t_faultfs *f = small_log(&want, &mark, &n_synced);
    char path[64];
    snprintf(path, sizeof(path), "%s", file_path(f, 0));
    ts_free(t_faultfs_get(f, path, &n_file));
    for (size_t i = 0; i < n_file; i++) {
        for (unsigned bit = 0; bit < 8; bit += 1 + (unsigned)(i % 3)) {
            struct ts_error err = {0};
            assert_true(t_faultfs_flip(f, path, i, (uint8_t)(1u << bit)));
            int rc = replay(f, 0, true, &got, NULL, &err);
            assert_true(is_prefix(&got, &want));
            if (i < mark) {
                assert_int_equal(rc, TS_ECORRUPT);
                assert_non_null(strstr(err.text, path));
                assert_non_null(strstr(err.text, "offset"));
                n_errors++;
            } else {
                assert_int_equal(rc, 0);
                assert_true(got.n >= n_synced && got.n < want.n);
            }
            diary_release(&got);
            assert_true(t_faultfs_flip(f, path, i, (uint8_t)(1u << bit)));
        }
    }
    assert_true(n_errors > 100);
    diary_release(&want);
    t_faultfs_free(f);
}

static void test_wal_faults__older_segments_are_whole_or_damaged(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0}, got;
    uint64_t r = 4;
    assert_int_equal(append_random(wal, 1, &r, 40, &want), 0);
    assert_int_equal(sto_wal_set_gen(wal, 2, NULL), 0);
    assert_int_equal(append_random(wal, 2, &r, 20, &want), 0);
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    assert_int_equal(append_random(wal, 2, &r, 20, &want), 0); /* its mark says that all before is on disk */
    char path[64];
    size_t n_file;
    snprintf(path, sizeof(path), "%s", file_path(f, 0));
    uint8_t *bytes = t_faultfs_get(f, path, &n_file);
    struct ts_error err = {0};
    for (size_t n = 0; n < n_file; n += 7) { /* cut anywhere, even between records */
        t_faultfs_put(f, path, bytes, n);
        assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, path));
        diary_release(&got);
    }
    t_faultfs_put(f, path, bytes, n_file);
    for (size_t i = 0; i < n_file; i += 5) {
        assert_true(t_faultfs_flip(f, path, i, 0x20));
        assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_ECORRUPT);
        diary_release(&got);
        assert_true(t_faultfs_flip(f, path, i, 0x20));
    }
    assert_true(t_faultfs_remove(f, path));
    assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "is missing"));
    diary_release(&got);
    assert_int_equal(replay(f, 1, true, &got, NULL, &err), 0); /* nobody misses it once it is flushed */
    assert_int_equal(got.n, 40);
    diary_release(&got);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    ts_free(bytes);
    diary_release(&want);
    t_faultfs_free(f);
}

/* Three segments, the first of them cut anywhere, no mark in the others: what is behind the cut does not count, and does not
 * come back. */
static void test_wal_faults__nothing_counts_behind_a_torn_segment(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0}, got;
    uint64_t r = 4;
    size_t n_file, n_full = 0;
    char path[64];
    for (uint64_t gen = 1; gen <= 3; gen++) {
        assert_int_equal(sto_wal_set_gen(wal, gen, NULL), 0);
        assert_int_equal(append_random(wal, gen, &r, 40, &want), 0);
    }
    snprintf(path, sizeof(path), "%s", file_path(f, 0));
    ts_free(t_faultfs_get(f, path, &n_file));
    for (size_t n = 0; n <= n_file; n += 7) {
        struct t_faultfs *cut = t_faultfs_clone(f, 2);
        struct sto_wal_replay_result res;
        struct ts_error err = {0};
        uint8_t *bytes = t_faultfs_get(cut, path, &n_file);
        t_faultfs_put(cut, path, bytes, n);
        ts_free(bytes);
        for (int round = 0; round < 3; round++) { /* read only, cut, as it was cut */
            assert_int_equal(replay(cut, 0, round == 0, &got, &res, &err), 0);
            assert_true(is_prefix(&got, &want));
            assert_true(n == n_file ? got.n == want.n : got.n <= 40);
            assert_true((res.n_torn > 0) == (round < 2 && n < n_file));
            n_full += got.n == want.n;
            diary_release(&got);
        }
        t_faultfs_free(cut);
        n = n < n_file && n + 7 > n_file ? n_file - 7 : n;
    }
    assert_int_equal(n_full, 3);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    diary_release(&want);
    t_faultfs_free(f);
}

/* A prepared segment is used by the next append of its generation, and removed if there is none. */
static void test_wal_faults__a_prepared_segment_takes_no_call_to_begin(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0};
    uint64_t r = 4;
    assert_false(sto_wal_prepare(wal, 2)); /* no segment is open */
    assert_int_equal(append_random(wal, 1, &r, 40, &want), 0);
    assert_true(sto_wal_prepare(wal, 2));
    assert_false(sto_wal_prepare(wal, 2)); /* there is one */
    sto_wal_prepared(wal);
    uint64_t syncs = t_faultfs_calls(f, T_OP_SYNC | T_OP_SYNC_DIR);
    assert_int_equal(sto_wal_set_gen(wal, 2, NULL), 0);
    assert_true(sto_wal_take_retired(wal) && !sto_wal_take_retired(wal));
    assert_int_equal(append_random(wal, 2, &r, 40, &want), 0);
    assert_int_equal(t_faultfs_calls(f, T_OP_SYNC | T_OP_SYNC_DIR), syncs);
    assert_true(sto_wal_synced(wal) == 0);
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    assert_int_equal(t_faultfs_calls(f, T_OP_SYNC | T_OP_SYNC_DIR), syncs + 2);
    assert_true(sto_wal_synced(wal) == sto_wal_written(wal));
    assert_true(sto_wal_prepare(wal, 3)); /* nobody syncs the folder: it is not used */
    assert_int_equal(sto_wal_set_gen(wal, 3, NULL), 0);
    assert_int_equal(append_random(wal, 3, &r, 40, &want), 0);
    assert_int_equal(t_faultfs_calls(f, T_OP_SYNC | T_OP_SYNC_DIR), syncs + 3);
    end_as(f, wal, &want);
}

static void test_wal_faults__foreign_and_newer_segments_are_refused(void **state)
{
    (void)state;
    struct diary want, got;
    uint64_t mark;
    size_t n_synced, n;
    struct t_faultfs *f = small_log(&want, &mark, &n_synced);
    char path[64];
    snprintf(path, sizeof(path), "%s", file_path(f, 0));
    uint8_t *b = t_faultfs_get(f, path, &n);
    struct ts_error err = {0};
    t_faultfs_put(f, DIR_NAME "/00000002-00000001-000-0000.log", b, n); /* a copy under another name */
    assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "another name"));
    diary_release(&got);
    assert_true(t_faultfs_remove(f, DIR_NAME "/00000002-00000001-000-0000.log"));
    struct sto_wal_head head;
    assert_int_equal(sto_wal__head_get(b, &head), 0);
    uint32_t salt = sto_wal__salt(&head.name);
    uint8_t rec[STO_WAL_RECORD_HEAD_BYTES + 2] = {[STO_WAL_RECORD_HEAD_BYTES] = 99};
    sto_wal__record_close(rec, rec + sizeof(rec), salt);
    uint8_t *longer = ts_xmalloc(n + sizeof(rec));
    memcpy(longer, b, n);
    memcpy(longer + n, rec, sizeof(rec));
    t_faultfs_put(f, path, longer, n + sizeof(rec)); /* a record of a type that we do not know */
    assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_EVERSION);
    assert_non_null(strstr(err.text, "unknown type 99"));
    diary_release(&got);
    ts_free(longer);
    ts_free(b);
    diary_release(&want);
    t_faultfs_free(f);
}

/* Bodies with a good checksum that make no sense. */
static void test_wal_faults__nonsense_with_a_good_checksum_is_damage(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint8_t b[16];
    } bodies[] = {
        {2, {STO_WAL_POINTS, 0}},                                       /* no value */
        {3, {STO_WAL_POINTS, 0, 0}},                                    /* series 0 is not defined */
        {3, {STO_WAL_POINTS, 3, 0}},                                    /* series code 3 */
        {4, {STO_WAL_POINTS, STO_WAL_CTL_RAW, 1, 2}},                   /* cut value */
        {3, {STO_WAL_POINTS, 3u << STO_WAL_CTL_FLAGS_SHIFT, 1}},        /* cut flags */
        {5, {STO_WAL_POINTS, 3u << STO_WAL_CTL_FLAGS_SHIFT, 0, 16, 0}}, /* flags of more than ten bits */
        {5, {STO_WAL_POINTS, 3u << STO_WAL_CTL_FLAGS_SHIFT, 6, 0, 0}},  /* kind 3 */
        {5, {STO_WAL_POINTS, 3u << STO_WAL_CTL_FLAGS_SHIFT, 0, 3, 0}},  /* op 3 */
        {5, {STO_WAL_POINTS, 3u << STO_WAL_CTL_FLAGS_SHIFT, 23 * 8 & 255, 0, 0}}, /* exponent 23 */
        {2, {STO_WAL_SERIES, 1}},
        {4, {STO_WAL_SERIES, 1, 1, 1}},                                   /* tags cut */
        {6, {STO_WAL_SERIES, 1, 1, 0, 9, 1}},                             /* text longer than the record */
        {7, {STO_WAL_SERIES, 1, 1, 0, 1, 2, 'x'}},                        /* metric longer than the text */
        {2, {STO_WAL_SERIES_HEADED, 1}},                                  /* the first one is number 0 */
        {3, {STO_WAL_SERIES_HEADED, 0, 3}},                               /* id -1 */
        {8, {STO_WAL_SERIES_HEADED, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1}}, /* head of more than 34 bits */
        {5, {STO_WAL_SERIES_HEADED, 0, 8, 1, 1}},                         /* tags cut */
        {3, {STO_WAL_SERIES_HEADED, 0, 0xfd}},                            /* cut head */
        {2, {STO_WAL_MARK, 1}},
        {9, {STO_WAL_MARK, 0, 0, 1}}, /* a mark beyond itself */
    };
    struct sto_wal_head head = {.name = {1, 1, 0, 0}, .prev_segment = STO_WAL_NO_SEGMENT};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct t_faultfs *f = new_fs(1);
        uint8_t b[STO_WAL_HEADER_BYTES + STO_WAL_RECORD_HEAD_BYTES + 16];
        uint8_t *rec = b + STO_WAL_HEADER_BYTES, *end = rec + STO_WAL_RECORD_HEAD_BYTES + bodies[i].n;
        sto_wal__head_put(b, &head);
        memcpy(rec + STO_WAL_RECORD_HEAD_BYTES, bodies[i].b, bodies[i].n);
        sto_wal__record_close(rec, end, sto_wal__salt(&head.name));
        t_faultfs_put(f, DIR_NAME "/00000001-00000001-000-0000.log", b, (size_t)(end - b));
        struct diary got;
        struct ts_error err = {0};
        assert_int_equal(replay(f, 0, false, &got, NULL, &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, "offset 56"));
        assert_int_equal(got.n, 0);
        diary_release(&got);
        t_faultfs_free(f);
    }
}

/* --- faults --- */

/* A life of a log. */
struct life {
    struct diary all;  /* operations accepted, then those of an append that broke the log */
    size_t n_accepted; /* of them */
    size_t n_safe;     /* a sync said that these are on disk */
};

/* Appends, syncs and changes of generation until the log breaks. */
static void live(struct t_faultfs *f, uint64_t seed, struct life *l)
{
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    uint64_t r = seed, gen = 1;
    uint32_t series = 0;
    int64_t ts_ms = 0;
    int rc = 0;
    *l = (struct life){0};
    sto_wal_set_segment_bytes(wal, 700);
    for (int i = 0; i < 30 && rc != TS_EIO; i++) {
        struct sto_point p[20];
        size_t n = t_rand(&r) % 20 + 1;
        for (size_t k = 0; k < n; k++)
            p[k] = random_point(&r, &series, &ts_ms);
        rc = 0;
        if (t_rand(&r) % 4 == 0 && sto_wal_prepare(wal, gen + t_rand(&r) % 2) &&
            t_faultfs_fs(f)->sync_dir(t_faultfs_fs(f), DIR_NAME, NULL) == 0)
            sto_wal_prepared(wal);
        if (t_rand(&r) % 6 == 0) {
            rc = sto_wal_set_gen(wal, gen + 1, NULL);
            gen += rc == 0;
        }
        if (rc == 0) {
            rc = sto_wal_append(wal, p, n, NULL);
            if (rc == 0 || rc == TS_EIO)
                note(&l->all, gen, p, n);
            l->n_accepted += rc == 0 ? n : 0;
        }
        if (rc == 0 && t_rand(&r) % 3 == 0) {
            rc = sto_wal_sync(wal, NULL);
            l->n_safe = rc == 0 ? l->n_accepted : l->n_safe;
        }
    }
    if (rc == TS_EIO) {
        struct ts_error err = {0};
        struct sto_point p = random_point(&r, &series, &ts_ms);
        assert_int_equal(sto_wal_append(wal, &p, 1, &err), TS_EIO); /* broken is broken */
        assert_int_equal(sto_wal_set_gen(wal, gen + 1, &err), TS_EIO);
        assert_int_equal(sto_wal_sync(wal, &err), TS_EIO);
        assert_non_null(strstr(err.text, "broken"));
    }
    sto_wal_close(wal, NULL);
}

/* Replay twice: a front part of what was written, at least n_least, and the same again. */
static void check_life(struct t_faultfs *f, const struct life *l, size_t n_least)
{
    struct diary got, again;
    struct sto_wal_replay_result res;
    struct ts_error err = {0};
    int rc = replay(f, 0, false, &got, NULL, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_true(is_prefix(&got, &l->all));
    assert_true(got.n >= n_least);
    t_faultfs_power_cut(f);
    t_faultfs_reboot(f, T_KEEP_RANDOM);
    assert_int_equal(replay(f, 0, true, &again, &res, &err), 0);
    assert_same(&again, &got);
    assert_int_equal(res.n_torn, 0);
    diary_release(&got);
    diary_release(&again);
}

static void test_wal_faults__a_power_cut_at_any_call_loses_only_what_was_not_synced(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        bool fired = true;
        for (uint64_t at = 1; fired; at++) {
            struct t_faultfs *f = new_fs(seed * 1000 + at);
            struct life l;
            t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
            live(f, seed, &l);
            fired = t_faultfs_fired(f);
            t_faultfs_power_cut(f);
            t_faultfs_reboot(f, at % 5 == 0 ? T_KEEP_NONE : T_KEEP_RANDOM);
            check_life(f, &l, l.n_safe);
            assert_int_equal(t_faultfs_n_open(f), 0);
            diary_release(&l.all);
            t_faultfs_free(f);
        }
    }
}

static void test_wal_faults__a_failed_call_costs_nothing_that_was_accepted(void **state)
{
    (void)state;
    static const enum t_fault faults[] = {T_FAULT_EIO, T_FAULT_ENOSPC, T_FAULT_EDQUOT};
    for (size_t k = 0; k < 6; k++) {
        bool fired = true, for_good = k >= 3;
        for (uint64_t at = 1; fired; at++) {
            struct t_faultfs *f = new_fs(at);
            struct life l;
            t_faultfs_plan(f, (struct t_fault_plan){.at = at, .fault = faults[k % 3], .for_good = for_good});
            live(f, 5, &l);
            fired = t_faultfs_fired(f);
            t_faultfs_reboot(f, T_KEEP_ALL); /* the process was killed, the power stayed */
            check_life(f, &l, l.n_accepted);
            assert_int_equal(t_faultfs_n_open(f), 0);
            diary_release(&l.all);
            t_faultfs_free(f);
        }
    }
}

static void test_wal_faults__a_full_disk_is_retried_and_refused_points_do_not_come_back(void **state)
{
    (void)state;
    for (uint64_t capacity = 1; capacity < 2000; capacity += 13) {
        struct t_faultfs *f = new_fs(capacity);
        struct sto_wal *wal = new_wal(f, 1, 0, 1);
        struct diary want = {0};
        uint64_t r = 7;
        sto_wal_set_segment_bytes(wal, 600);
        t_faultfs_set_capacity(f, capacity);
        for (int i = 0; i < 12; i++) {
            uint64_t before = sto_wal_written(wal);
            int rc = append_random(wal, 1, &r, 10, &want);
            assert_true(rc == 0 || rc == TS_ENOSPC);
            assert_true(rc == 0 ? sto_wal_written(wal) > before : sto_wal_written(wal) == before);
        }
        assert_true(want.n < 120);
        t_faultfs_set_capacity(f, 0);
        assert_int_equal(append_random(wal, 1, &r, 10, &want), 0);
        end_as(f, wal, &want);
    }
}

static void test_wal_faults__a_failed_sync_breaks_the_log_for_good(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0};
    struct ts_error err = {0};
    uint64_t r = 7;
    assert_int_equal(append_random(wal, 1, &r, 10, &want), 0);
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    uint64_t synced = sto_wal_synced(wal);
    assert_true(synced == sto_wal_written(wal));
    assert_int_equal(append_random(wal, 1, &r, 10, &want), 0);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .fault = T_FAULT_ENOSPC});
    assert_int_equal(sto_wal_sync(wal, &err), TS_EIO);
    assert_true(sto_wal_synced(wal) == synced);
    assert_int_equal(sto_wal_sync(wal, &err),
                     TS_EIO); /* the disk would say yes now: the pages are gone all the same */
    assert_int_equal(append_random(wal, 1, &r, 10, &want), TS_EIO);
    assert_int_equal(sto_wal_close(wal, &err), TS_EIO);
    assert_int_equal(t_faultfs_calls(f, T_OP_SYNC), 2);
    assert_true(want.n == 20 && t_faultfs_n_open(f) == 0);
    diary_release(&want);
    t_faultfs_free(f);
}

static void test_wal_faults__a_failing_read_is_never_taken_for_an_end(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct life l;
    live(f, 3, &l);
    static const enum t_fault faults[] = {T_FAULT_EIO, T_FAULT_SHORT};
    for (size_t k = 0; k < 2; k++) {
        bool fired = true;
        for (uint64_t at = 1; fired; at++) {
            struct diary got;
            t_faultfs_plan(f, (struct t_fault_plan){.at = at, .fault = faults[k]});
            int rc = replay(f, 0, false, &got, NULL, NULL);
            fired = t_faultfs_fired(f);
            assert_true(rc < 0 || got.n == l.all.n);
            assert_true(is_prefix(&got, &l.all));
            diary_release(&got);
            t_faultfs_plan(f, (struct t_fault_plan){0});
            assert_int_equal(replay(f, 0, true, &got, NULL, NULL), 0);
            assert_same(&got, &l.all);
            diary_release(&got);
        }
    }
    diary_release(&l.all);
    t_faultfs_free(f);
}

/* --- threads --- */

struct syncer {
    struct sto_wal *wal;
    int stop; /* atomic */
    int rc;   /* first error */
};

static void *sync_loop(void *arg)
{
    struct syncer *s = arg;
    while (s->rc == 0 && !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
        uint64_t written = sto_wal_written(s->wal);
        s->rc = sto_wal_sync(s->wal, NULL);
        if (s->rc == 0 && sto_wal_synced(s->wal) < written)
            s->rc = TS_EINVAL;
    }
    return NULL;
}

static void test_wal_faults__threads_sync_while_the_owner_appends_and_rotates(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0}, got;
    struct syncer s[2] = {{.wal = wal}, {.wal = wal}};
    pthread_t t[2];
    uint64_t r = 11, end_off[400];
    size_t n_points[400];
    sto_wal_set_segment_bytes(wal, 4000);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, sync_loop, &s[i]), 0);
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(append_random(wal, 1 + i / 100, &r, 1 + i % 40, &want), 0);
        if (i % 100 == 99)
            assert_int_equal(sto_wal_set_gen(wal, 2 + i / 100, NULL), 0);
        end_off[i] = sto_wal_written(wal);
        n_points[i] = want.n;
    }
    assert_int_equal(append_random(wal, 5, &r, 10, &want), 0);
    for (int i = 0; i < 2; i++)
        __atomic_store_n(&s[i].stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(s[i].rc, 0);
    }
    size_t n_safe = 0;
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    for (size_t i = 0; i < 400; i++)
        n_safe = end_off[i] <= sto_wal_synced(wal) ? n_points[i] : n_safe;
    assert_true(n_safe == n_points[399]);
    t_faultfs_power_cut(f);
    t_faultfs_reboot(f, T_KEEP_NONE);
    assert_int_equal(replay(f, 0, false, &got, NULL, NULL), 0);
    assert_true(got.n >= n_safe && is_prefix(&got, &want));
    diary_release(&got);
    diary_release(&want);
    sto_wal_close(wal, NULL);
    t_faultfs_free(f);
}

/* A killed process leaves its last records to the kernel. Once replay has shown them, a power cut must not take
 * them back. */
static void test_wal_faults__what_replay_has_shown_survives_a_power_cut(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(5);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0}, got;
    uint64_t r = 3;
    for (int i = 0; i < 5; i++)
        assert_int_equal(append_random(wal, 1, &r, 20, &want), 0);
    t_faultfs_power_cut(f); /* so that closing writes nothing */
    sto_wal_close(wal, NULL);
    t_faultfs_kill(f);
    assert_int_equal(replay(f, 0, false, &got, NULL, NULL), 0);
    assert_int_equal(got.n, want.n);
    diary_release(&got);
    t_faultfs_reboot(f, T_KEEP_NONE);
    assert_int_equal(replay(f, 0, false, &got, NULL, NULL), 0);
    assert_int_equal(got.n, want.n);
    assert_true(is_prefix(&got, &want));
    diary_release(&got);
    diary_release(&want);
    t_faultfs_free(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wal_faults__every_cut_leaves_a_front_part),
        cmocka_unit_test(test_wal_faults__a_flipped_byte_is_damage_before_the_mark_and_an_end_after),
        cmocka_unit_test(test_wal_faults__older_segments_are_whole_or_damaged),
        cmocka_unit_test(test_wal_faults__nothing_counts_behind_a_torn_segment),
        cmocka_unit_test(test_wal_faults__a_prepared_segment_takes_no_call_to_begin),
        cmocka_unit_test(test_wal_faults__foreign_and_newer_segments_are_refused),
        cmocka_unit_test(test_wal_faults__nonsense_with_a_good_checksum_is_damage),
        cmocka_unit_test(test_wal_faults__a_power_cut_at_any_call_loses_only_what_was_not_synced),
        cmocka_unit_test(test_wal_faults__a_failed_call_costs_nothing_that_was_accepted),
        cmocka_unit_test(test_wal_faults__a_full_disk_is_retried_and_refused_points_do_not_come_back),
        cmocka_unit_test(test_wal_faults__a_failed_sync_breaks_the_log_for_good),
        cmocka_unit_test(test_wal_faults__a_failing_read_is_never_taken_for_an_end),
        cmocka_unit_test(test_wal_faults__what_replay_has_shown_survives_a_power_cut),
        cmocka_unit_test(test_wal_faults__threads_sync_while_the_owner_appends_and_rotates),
    };
    return cmocka_run_group_tests(tests, make_series, free_series);
}
