/*
 * test_wal.c - the write-ahead log: what is written comes back, in order, by generations.
 *
 * Everything runs on the file system in memory (tests/faults/faultfs.h).
 */
#include "tests/unit/engine/wal_kit.h"

/* --- format --- */

static void test_wal__names_are_read_only_in_one_spelling(void **state)
{
    (void)state;
    static const struct sto_wal_name names[] = {{0, 0, 0, 0},
                                                {1, 2, 3, 4},
                                                {UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX},
                                                {0xabcdef01, 0x123456789a, 0xfff, 0x10000}};
    for (size_t i = 0; i < 4; i++) {
        char text[STO_WAL_NAME_BYTES];
        struct sto_wal_name back;
        sto_wal__name_print(&names[i], text);
        assert_true(sto_wal__name_parse(text, &back));
        assert_memory_equal(&back.run, &names[i].run, 4);
        assert_true(back.gen == names[i].gen && back.owner == names[i].owner &&
                    back.segment == names[i].segment);
    }
    static const char *const bad[] = {"",
                                      "00000001-00000001-000-0000.lo",
                                      "00000001-00000001-000-0000.log~",
                                      "1-00000001-000-0000.log",
                                      "00000001-00000001-000-000.log",
                                      "0000000A-00000001-000-0000.log",
                                      "00000001-00000001-000.log",
                                      "0x000001-00000001-000-0000.log",
                                      "100000000-00000001-000-0000.log",
                                      "00000001-10000000000000000-000-0000.log",
                                      "MANIFEST"};
    struct sto_wal_name out;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(sto_wal__name_parse(bad[i], &out));
}

static void test_wal__header_reads_back_and_is_checked(void **state)
{
    (void)state;
    struct sto_wal_head head = {.name = {7, 1ull << 40, 3, 9},
                                .prev_segment = 8,
                                .prev_gen = 5,
                                .prev_bytes = 12345},
                        back;
    uint8_t b[STO_WAL_HEADER_BYTES];
    sto_wal__head_put(b, &head);
    assert_int_equal(sto_wal__head_get(b, &back), 0);
    assert_true(back.name.run == 7 && back.name.gen == 1ull << 40 && back.name.owner == 3 &&
                back.name.segment == 9);
    assert_true(back.prev_gen == 5 && back.prev_bytes == 12345 && back.prev_segment == 8 &&
                !back.before_on_disk);
    for (size_t i = 0; i < sizeof(b); i++) {
        b[i] ^= 0x10;
        assert_int_equal(sto_wal__head_get(b, &back), TS_ECORRUPT);
        b[i] ^= 0x10;
    }
}

/* --- round trip --- */

static void test_wal__random_points_come_back_bit_for_bit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct t_faultfs *f = new_fs(seed);
        struct sto_wal *wal = new_wal(f, 1, 0, 5);
        struct diary want = {0}, got;
        uint64_t r = seed;
        if (seed % 2)
            sto_wal_set_segment_bytes(wal, 3000);
        static const size_t sizes[] = {1, 2, 0, 17, 1023, 1024, 1025, 9000};
        for (size_t i = 0; i < 24; i++) {
            assert_int_equal(append_random(wal, 5, &r, sizes[i % 8], &want), 0);
            if (t_rand(&r) % 3 == 0)
                assert_int_equal(sto_wal_sync(wal, NULL), 0);
        }
        assert_int_equal(sto_wal_close(wal, NULL), 0);
        struct sto_wal_replay_result res;
        struct ts_error err = {0};
        assert_int_equal(replay(f, 0, false, &got, &res, &err), 0);
        assert_same(&got, &want);
        assert_int_equal(res.n_points, want.n);
        assert_true(res.n_segments == t_faultfs_count(f) &&
                    (seed % 2 ? res.n_segments > 3 : res.n_segments == 1));
        assert_true(res.max_run == 1 && res.max_gen == 5 && res.n_torn == 0 && res.n_skipped == 0);
        assert_int_equal(t_faultfs_n_open(f), 0);
        diary_release(&got);
        diary_release(&want);
        t_faultfs_free(f);
    }
}

/* What the catalog has on disk is named by its number; this grows while the log is written. */
static void test_wal__known_series_come_back_by_number(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct t_faultfs *f = new_fs(seed);
        struct sto_wal *wal = new_wal(f, 1, 0, 5);
        struct diary want = {0}, got;
        uint64_t r = seed;
        uint32_t below = 0, max_id = 0;
        for (uint32_t i = 0; i < N_SERIES; i++)
            max_id = all_series[i]->id > max_id ? all_series[i]->id : max_id;
        sto_wal_set_known(wal, known_below, &below);
        sto_wal_set_segment_bytes(wal, 3000);
        for (size_t i = 0; i < 24; i++) {
            assert_int_equal(append_random(wal, 5, &r, 1 + i * 37, &want), 0);
            below = i < 12 ? (uint32_t)(t_rand(&r) % ((uint64_t)max_id + 1)) : max_id + 1;
        }
        assert_int_equal(sto_wal_close(wal, NULL), 0);
        struct sto_wal_replay_result res;
        assert_int_equal(replay(f, 0, false, &got, &res, NULL), 0);
        assert_same(&got, &want);
        assert_true(got.n_defs > 0 && got.n_known > 0 && res.n_skipped == 0);
        diary_release(&got);
        diary_release(&want);
        t_faultfs_free(f);
    }
}

/* Numbers of series grow for ever where series come and go; the table is as long as there are series at once. */
static void test_wal__its_table_is_as_long_as_there_are_series(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_series high = {.id = UINT32_MAX - 1, .local = 2999, .metric = 1}; /* without a text */
    struct sto_point p = {.series = &high, .ts_ms = 1000, .m = 1};
    assert_int_equal(sto_wal_append(wal, &p, 1, NULL), 0);
    assert_true(sto_wal_table_bytes(wal) <= 64u << 10);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    t_faultfs_free(f);
}

/* A series like this one with a text of n bytes; ts_free it. */
static struct sto_series *with_long_text(const struct sto_series *like, uint32_t n)
{
    size_t head = sizeof(*like) + like->n_tags * sizeof(struct sto_tag);
    struct sto_series *s = ts_xmalloc(head + n);
    memcpy(s, like, head);
    s->text_len = n;
    memset((char *)s + head, 'x', n);
    return s;
}

/* A series was forgotten, and another one has its number within the owner; the segment is the same. */
static void test_wal__series_that_share_a_slot_are_told_apart(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0};
    uint32_t own = all_series[2]->local;
    all_series[2]->local = all_series[1]->local;
    for (int64_t i = 0; i < 40; i++) {
        struct sto_point p[2] = {{.series = all_series[1 + i / 10 % 2], .ts_ms = 1000 * i, .m = i},
                                 {.series = all_series[3 + i % 5], .ts_ms = 1000 * i, .m = -i}};
        assert_int_equal(sto_wal_append(wal, p, 2, NULL), 0);
        note(&want, 1, p, 2);
    }
    end_as(f, wal, &want);
    all_series[2]->local = own;
}

/* One point an hour of each of many series, none of which comes twice in a segment. */
static void test_wal__a_known_series_costs_a_few_bytes(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_point *p = ts_xcalloc(N, sizeof *p);
    uint32_t below = N;
    uint64_t r = 5;
    sto_wal_set_known(wal, known_below, &below);
    struct sto_series *all = ts_xcalloc(N, sizeof *all); /* no tags are read */
    for (uint32_t i = 0; i < N; i++) {
        all[i].id = (i * 7919u) % N; /* no order that differences like */
        p[i] = (struct sto_point){.series = &all[i],
                                  .ts_ms = 1600000000000,
                                  .m = (int64_t)(t_rand(&r) % 10000),
                                  .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false)};
    }
    assert_int_equal(sto_wal_append(wal, p, N, NULL), 0);
    assert_true((double)sto_wal_written(wal) / N < 6.5);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    ts_free(all);
    ts_free(p);
    t_faultfs_free(f);
}

static void test_wal__without_a_catalog_numbers_are_damage(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    uint32_t below = UINT32_MAX;
    struct sto_point p = {.series = all_series[3], .ts_ms = 1, .m = 2};
    struct diary got = {.leave_out = UINT32_MAX};
    struct sto_wal_replay_result res;
    struct sto_wal_replay_ops bare = {.series = on_series, .points = on_points};
    struct ts_error err = {0};
    sto_wal_set_known(wal, known_below, &below);
    assert_int_equal(sto_wal_append(wal, &p, 1, NULL), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    assert_int_equal(sto_wal_replay(t_faultfs_fs(f), DIR_NAME, 0, &bare, &got, true, &res, &err),
                     TS_ECORRUPT);
    assert_non_null(strstr(err.text, "there is no catalog"));
    diary_release(&got);
    t_faultfs_free(f);
}

static void test_wal__round_robin_costs_three_bytes_a_point(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_point p[N_SERIES];
    struct diary want = {0};
    uint64_t r = 3, after_first = 0;
    for (int64_t t = 0; t < 40; t++) {
        for (uint32_t i = 0; i < N_SERIES; i++) /* an order of the sender's own, the same each time */
            p[i] = (struct sto_point){.series = all_series[(i * 7) % N_SERIES],
                                      .ts_ms = (1600000000 + t * 10) * 1000,
                                      .m = (int64_t)(t_rand(&r) % 10000),
                                      .flags = sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false)};
        assert_int_equal(sto_wal_append(wal, p, N_SERIES, NULL), 0);
        note(&want, 1, p, N_SERIES);
        after_first = t == 0 ? sto_wal_written(wal) : after_first;
    }
    double per_point = (double)(sto_wal_written(wal) - after_first) / (39.0 * N_SERIES);
    assert_true(per_point < 3.15);
    end_as(f, wal, &want);
}

static void test_wal__a_text_longer_than_a_record_comes_back(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_series *own = all_series[0], *s = with_long_text(own, 3u << 20);
    struct sto_point p = {.series = s, .ts_ms = 1, .m = 2};
    struct diary got;
    assert_int_equal(sto_wal_append(wal, &p, 1, NULL), 0);
    all_series[0] = s; /* with which replay compares */
    assert_int_equal(replay(f, 0, true, &got, NULL, NULL), 0);
    all_series[0] = own;
    assert_true(got.n == 1 && got.n_defs == 1);
    diary_release(&got);
    struct sto_series *t = with_long_text(all_series[1], 17u << 20);
    struct sto_point q[2] = {p, {.series = t, .ts_ms = 1, .m = 2}};
    uint64_t before = sto_wal_written(wal);
    assert_int_equal(sto_wal_append(wal, q, 2, NULL), TS_ELIMIT);
    assert_true(sto_wal_written(wal) == before);
    q[1].series = all_series[1];
    assert_int_equal(sto_wal_append(wal, q, 2, NULL), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    ts_free(s);
    ts_free(t);
    t_faultfs_free(f);
}

static void test_wal__replay_may_leave_out_series_or_stop(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct sto_point p[4] = {{.series = all_series[1], .m = 1},
                             {.series = all_series[2], .m = 2},
                             {.series = all_series[1], .m = 3},
                             {.series = all_series[3], .m = 4}};
    assert_int_equal(sto_wal_append(wal, p, 4, NULL), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    struct diary got = {.leave_out = all_series[1]->id};
    struct sto_wal_replay_result res;
    struct ts_error err = {0};
    assert_int_equal(sto_wal_replay(t_faultfs_fs(f), DIR_NAME, 0, &ops, &got, true, &res, &err), 0);
    assert_true(res.n_points == 2 && res.n_skipped == 2 && got.n == 2 && got.v[0].m == 2 && got.v[1].m == 4);
    diary_release(&got);
    got = (struct diary){.leave_out = UINT32_MAX, .fail_points = TS_ECANCELLED};
    assert_int_equal(sto_wal_replay(t_faultfs_fs(f), DIR_NAME, 0, &ops, &got, true, &res, &err),
                     TS_ECANCELLED);
    assert_string_equal(err.text, "stop");
    diary_release(&got);
    uint32_t id = all_series[2]->id;
    all_series[2]->id = 77777; /* the log's series is not known any more */
    assert_int_equal(replay(f, 0, true, &got, NULL, &err), TS_ECORRUPT);
    assert_non_null(strstr(err.text, "00000001-00000001-000-0000.log"));
    all_series[2]->id = id;
    diary_release(&got);
    t_faultfs_free(f);
}

/* --- generations, workers, runs --- */

static void test_wal__generations_are_replayed_and_dropped_apart(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    struct diary want = {0}, got;
    struct sto_wal_replay_result res;
    uint64_t r = 1;
    size_t n_before[6] = {0};
    for (uint64_t gen = 1; gen <= 5; gen++) {
        assert_int_equal(sto_wal_set_gen(wal, gen, NULL), 0);
        assert_int_equal(sto_wal_set_gen(wal, gen, NULL), 0);
        if (gen == 4)
            assert_int_equal(sto_wal_sync(wal, NULL), 0);
        n_before[gen] = want.n;
        if (gen != 3) /* a generation without points has no segment */
            assert_int_equal(append_random(wal, gen, &r, 100, &want), 0);
    }
    assert_true(sto_wal_synced(wal) > 0 && sto_wal_synced(wal) < sto_wal_written(wal));
    assert_int_equal(t_faultfs_count(f), 4);
    assert_int_equal(replay(f, 2, true, &got, &res, NULL), 0); /* read-only: nothing is deleted */
    assert_int_equal(t_faultfs_count(f), 4);
    assert_int_equal(got.n, want.n - n_before[3]);
    assert_true(res.max_gen == 5 && same_point(&got.v[0], &want.v[n_before[3]]));
    diary_release(&got);
    assert_int_equal(sto_wal_drop(t_faultfs_fs(f), DIR_NAME, 1, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 3);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    assert_int_equal(replay(f, 4, false, &got, &res, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 1);
    assert_int_equal(got.n, 100);
    diary_release(&got);
    assert_int_equal(sto_wal_drop(t_faultfs_fs(f), DIR_NAME, 99, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 0);
    diary_release(&want);
    t_faultfs_free(f);
}

static void test_wal__order_is_run_generation_worker_segment(void **state)
{
    (void)state;
    struct t_faultfs *f = new_fs(1);
    struct diary want = {0}, part[2] = {{0}}, got;
    uint64_t r = 1;
    for (uint32_t run = 1; run <= 3; run++) {
        struct sto_wal *wal[2] = {new_wal(f, run, 0, run * 10), new_wal(f, run, 1, run * 10)};
        for (uint64_t gen = run * 10; gen < run * 10 + 2; gen++) {
            for (unsigned i = 0; i < 2; i++) {
                sto_wal_set_segment_bytes(wal[i], 500);
                assert_int_equal(sto_wal_set_gen(wal[i], gen, NULL), 0);
            }
            for (unsigned i = 0; i < 20; i++) /* the workers write in turns */
                assert_int_equal(append_random(wal[i % 2], gen, &r, 20, &part[i % 2]), 0);
            for (unsigned i = 0; i < 2; i++) {
                note(&want, gen, part[i].v, part[i].n);
                diary_release(&part[i]);
            }
        }
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(sto_wal_close(wal[i], NULL), 0);
    }
    struct sto_wal_replay_result res;
    t_faultfs_put(f, DIR_NAME "/notes.txt", "x", 1); /* other people's files are left alone */
    assert_int_equal(replay(f, 0, false, &got, &res, NULL), 0);
    assert_same(&got, &want);
    assert_true(res.max_run == 3 && res.max_gen == 31 && res.n_segments > 24);
    assert_int_equal(sto_wal_drop(t_faultfs_fs(f), DIR_NAME, 99, NULL), 0);
    assert_int_equal(t_faultfs_count(f), 1);
    diary_release(&got);
    diary_release(&want);
    t_faultfs_free(f);
}

static void test_wal__a_missing_folder_is_an_empty_log(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct diary got;
    struct sto_wal_replay_result res;
    struct ts_error err = {0};
    assert_int_equal(replay(f, 0, false, &got, &res, &err), 0);
    assert_true(got.n == 0 && err.code == 0 && res.max_run == 0);
    assert_int_equal(sto_wal_drop(t_faultfs_fs(f), DIR_NAME, 3, NULL), 0);
    struct sto_wal *wal = new_wal(f, 1, 0, 1);
    assert_int_equal(sto_wal_sync(wal, NULL), 0);
    assert_int_equal(sto_wal_close(wal, NULL), 0);
    assert_int_equal(sto_wal_close(NULL, NULL), 0);
    t_faultfs_free(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wal__names_are_read_only_in_one_spelling),
        cmocka_unit_test(test_wal__header_reads_back_and_is_checked),
        cmocka_unit_test(test_wal__random_points_come_back_bit_for_bit),
        cmocka_unit_test(test_wal__known_series_come_back_by_number),
        cmocka_unit_test(test_wal__its_table_is_as_long_as_there_are_series),
        cmocka_unit_test(test_wal__series_that_share_a_slot_are_told_apart),
        cmocka_unit_test(test_wal__a_known_series_costs_a_few_bytes),
        cmocka_unit_test(test_wal__without_a_catalog_numbers_are_damage),
        cmocka_unit_test(test_wal__round_robin_costs_three_bytes_a_point),
        cmocka_unit_test(test_wal__a_text_longer_than_a_record_comes_back),
        cmocka_unit_test(test_wal__replay_may_leave_out_series_or_stop),
        cmocka_unit_test(test_wal__generations_are_replayed_and_dropped_apart),
        cmocka_unit_test(test_wal__order_is_run_generation_worker_segment),
        cmocka_unit_test(test_wal__a_missing_folder_is_an_empty_log),
    };
    return cmocka_run_group_tests(tests, make_series, free_series);
}
