/*
 * test_versions.c - versions of points: random histories through memstores, flushes, merges, restarts, power cuts, deletes and bulk loads
 * give what a naive model says.
 */
#include "tests/unit/storage/versions_kit.h"

#include "storage/engine/log/wal_format.h"
#include "storage/engine/memory/fold.h"
#include "storage/engine/merge/merge.h"

/* --- rows in memory --- */

static void add_cells(struct sto_cells *c, const struct v_op *op, int32_t hour)
{
    uint32_t off = (uint32_t)(op->ts_ms - hour * TS_HOUR_MS);
    sto_cells_reserve(c, c->n + 2);
    if (op->is_delete) {
        int64_t to = op->to_ms - hour * TS_HOUR_MS;
        c->meta[c->n] = (uint32_t)STO_OP_DEL << STO_META_OP_SHIFT | off;
        c->m[c->n++] = to < TS_HOUR_MS ? to : TS_HOUR_MS - 1;
        return;
    }
    c->meta[c->n] = sto_stamp_flags(op->keep) | off;
    c->m[c->n++] = op->written_us;
    c->meta[c->n] = sto_meta_flags(STO_OP_KEEP, op->value.kind, op->value.exp, op->ms) | off;
    c->m[c->n++] = op->value.m;
}

/* A history of one hour, cut into sources that are folded and then merged in groups, is what it is in one piece. */
static void test_versions__the_result_does_not_depend_on_the_cuts(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        struct v_history h = {0};
        struct sto_cells part = {0}, acc = {0}, out = {0}, folded = {0};
        struct sto_tomb tombs[64];
        size_t n_tombs = 0;
        int32_t hour = sto_hour(T0);
        unsigned keep = (unsigned)(t_random(&seed) % 5) + 1, n = (unsigned)(t_random(&seed) % 60) + 1;
        bool final = t_random(&seed) % 2;
        for (unsigned i = 0; i <= n; i++) {
            struct v_op op = v_random(&seed, keep);
            op.series = 0;
            op.ts_ms = T0 + (int64_t)(t_random(&seed) % 6) * 700;
            op.to_ms = op.ts_ms + (int64_t)(t_random(&seed) % 2000);
            if (i < n) {
                v_add(&h, &op);
                add_cells(&part, &op, hour);
                if (op.is_delete)
                    tombs[n_tombs++] = (struct sto_tomb){.from_ms = op.ts_ms, .to_ms = op.to_ms};
            }
            if (i < n && t_random(&seed) % 6)
                continue;
            sto_fold(part.meta, part.m, part.n, &folded);
            struct sto_merge_src src[2] = {{.cells = &acc},
                                           {.cells = &folded, .tombs = tombs, .n_tombs = n_tombs}};
            sto_merge_cells(hour, src, 2, final, &out);
            struct sto_cells swap = acc;
            acc = out;
            out = swap;
            part.n = 0;
            n_tombs = 0;
        }
        if (!v_row_is(&h, h.n, 0, INT64_MIN, INT64_MAX, hour, &acc))
            fail_msg("round %d", round);
        sto_cells_release(&part);
        sto_cells_release(&acc);
        sto_cells_release(&out);
        sto_cells_release(&folded);
        ts_free(h.ops);
    }
}

/* Sources newer than each other are joined in any grouping; here all at once. */
static void test_versions__many_sources_at_once(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int round = 0; round < 500; round++) {
        struct v_history h = {0};
        struct sto_cells part[20] = {{0}}, out = {0};
        struct sto_merge_src src[20];
        int32_t hour = sto_hour(T0);
        unsigned keep = (unsigned)(t_random(&seed) % 6) + 1;
        for (int k = 0; k < 20; k++) {
            struct sto_cells ops = {0};
            for (uint64_t i = t_random(&seed) % 5; i > 0; i--) {
                struct v_op op = v_random(&seed, keep);
                op.series = 0;
                op.is_delete = false;
                op.ts_ms = T0 + (int64_t)(t_random(&seed) % 3) * 700;
                v_add(&h, &op);
                add_cells(&ops, &op, hour);
            }
            sto_fold(ops.meta, ops.m, ops.n, &part[k]);
            src[k] = (struct sto_merge_src){.cells = &part[k]};
            sto_cells_release(&ops);
        }
        sto_merge_cells(hour, src, 20, true, &out);
        if (!v_row_is(&h, h.n, 0, INT64_MIN, INT64_MAX, hour, &out))
            fail_msg("round %d", round);
        for (int k = 0; k < 20; k++)
            sto_cells_release(&part[k]);
        sto_cells_release(&out);
        ts_free(h.ops);
    }
}

/* Stamps without values, which the end of a log may leave, pair with nothing; wherever they stand. */
static void test_versions__a_lone_stamp_is_left_out(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 1000; round++) {
        struct v_history h = {0};
        struct sto_cells ops = {0}, out = {0};
        int32_t hour = sto_hour(T0);
        for (int i = 0; i < 20; i++) {
            struct v_op op = v_random(&seed, 3);
            op.series = 0;
            op.is_delete = false;
            op.ts_ms = T0 + (int64_t)(t_random(&seed) % 3) * 700;
            add_cells(&ops, &op, hour);
            if (t_random(&seed) % 3 == 0)
                ops.n--;
            else
                v_add(&h, &op);
        }
        sto_fold(ops.meta, ops.m, ops.n, &out);
        if (!v_row_is(&h, h.n, 0, INT64_MIN, INT64_MAX, hour, &out))
            fail_msg("round %d", round);
        struct sto_summary sum;
        assert_false(sto_summary_make(&out, &sum));
        sto_cells_release(&ops);
        sto_cells_release(&out);
        ts_free(h.ops);
    }
}

/* --- the log --- */

/* A record never ends between a stamp and its value, wherever it is cut. */
static void test_versions__records_do_not_part_a_stamp_from_its_value(void **state)
{
    (void)state;
    struct sto_series s = {.id = 1};
    const struct sto_series *series[1] = {&s};
    struct sto_point in[40], out[40];
    uint32_t numbers[40] = {0};
    uint8_t buf[42 * STO_WAL_POINT_MAX_BYTES];
    for (unsigned i = 0; i < 40; i += 2) {
        in[i] = (struct sto_point){
            .series = &s, .ts_ms = T0, .m = 1790000000000000ll + i, .flags = sto_stamp_flags(i % 31 + 1)};
        in[i + 1] = (struct sto_point){
            .series = &s, .ts_ms = T0, .m = i, .flags = sto_meta_flags(STO_OP_KEEP, TS_NUM_DEC, 2, i % 4)};
    }
    for (size_t stop = 1; stop < 200; stop++) {
        size_t done = 0;
        while (done < 40) {
            struct sto_wal_ctx put = STO_WAL_CTX_INIT, get = STO_WAL_CTX_INIT;
            size_t n_put, n_got, n_skipped;
            uint8_t *end = sto_wal__points_put(buf, buf + stop, &put, in + done, numbers, 40 - done, &n_put);
            assert_true(n_put > 0 && n_put % 2 == 0);
            assert_ptr_equal(sto_wal__points_get(buf, end, &get, series, 1, out, 40, &n_got, &n_skipped),
                             end);
            assert_int_equal(n_got, n_put);
            for (size_t i = 0; i < n_got; i++)
                assert_true(out[i].m == in[done + i].m && out[i].flags == in[done + i].flags &&
                            out[i].ts_ms == T0);
            done += n_put;
        }
    }
}

/* --- a store --- */

static void begin(struct ship_both *b, uint64_t seed)
{
    ship_init(b, seed);
    b->opts.remote = NULL;
    ship_reopen(b);
}

static void expect(struct ship_both *b, const struct v_history *h, uint64_t seed, const char *when)
{
    if (!v_store_is(b->st, h, h->n))
        fail_msg("seed %llu: %s, after %zu operations", (unsigned long long)seed, when, h->n);
}

/* Power fails; the store has what was synced, and perhaps more, in order. */
static void cut(struct ship_both *b, struct v_history *h, size_t n_synced, uint64_t seed)
{
    t_faultfs_power_cut(b->f);
    (void)sto_close(b->st, NULL);
    b->st = NULL;
    t_faultfs_reboot(b->f, T_KEEP_RANDOM);
    ship_reopen(b);
    size_t n = n_synced;
    while (n <= h->n && !v_store_is(b->st, h, n))
        n++;
    if (n > h->n)
        fail_msg("seed %llu: a power cut, %zu of %zu operations synced", (unsigned long long)seed, n_synced,
                 h->n);
    h->n = n;
}

static void event(struct ship_both *b, struct v_history *h, size_t *n_synced, uint64_t *seed, uint64_t name)
{
    struct ts_error err = {0};
    uint64_t what = t_random(seed) % 100;
    if (what < 92)
        return;
    ship_turn(b->st);
    if (what < 94) {
        ship_flush(b->st);
        *n_synced = h->n;
    } else if (what < 95) {
        assert_int_equal(sto_flush(b->st, STO_LEVEL_COMPACT, &err), 0);
        *n_synced = h->n;
    } else if (what < 96) {
        assert_int_equal(sto_flush(b->st, STO_LEVEL_DISK, &err), 0);
        *n_synced = h->n;
    } else if (what < 97) {
        assert_int_equal(sto_store_pump_merges(b->st, &err), 0);
    } else if (what < 98) {
        ship_reopen(b);
        *n_synced = h->n;
    } else if (what < 99) {
        cut(b, h, *n_synced, name);
        *n_synced = h->n;
    } else {
        expect(b, h, name, "as it is");
    }
}

static void test_versions__random_histories_of_a_store(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct ship_both b;
        struct v_history h = {0};
        size_t n_synced = 0;
        uint64_t random = seed * 7919;
        unsigned keep = 3;
        begin(&b, seed);
        for (int i = 0; i < 600; i++) {
            if (t_random(&random) % 100 == 0)
                keep = (unsigned)(t_random(&random) % 6) + 1;
            struct v_op op = v_random(&random, keep);
            v_op(b.st, &h, &op);
            event(&b, &h, &n_synced, &random, seed);
        }
        ship_flush(b.st);
        expect(&b, &h, seed, "flushed");
        struct ts_error err = {0};
        assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
        expect(&b, &h, seed, "merged");
        ts_free(h.ops);
        ship_end(&b);
    }
}

/* A log that ends with a stamp, as a crash between two records would leave it: what is written later has its own. */
static void test_versions__a_log_that_ends_with_a_stamp(void **state)
{
    (void)state;
    for (int flush = 0; flush < 3; flush++) {
        struct ship_both b;
        struct v_history h = {0};
        struct ts_error err = {0};
        begin(&b, 1);
        struct v_op op = {
            .ts_ms = T0, .written_us = 5, .keep = 9, .value = {.m = 7, .kind = TS_NUM_INT}, .ms = true};
        v_op(b.st, &h, &op);
        const struct sto_series *s = v_series(b.st, 0);
        struct sto_batch *batch = sto_writer_batch(sto_writer(b.st, 0), s);
        batch->points[batch->n++] =
            (struct sto_point){.series = s, .ts_ms = T0, .m = 6, .flags = sto_stamp_flags(1)};
        ship_turn(b.st);
        expect(&b, &h, 0, "with a stamp at the end");
        if (flush == 2)
            ship_flush(b.st);
        ship_kill(&b);
        ship_reopen(&b);
        expect(&b, &h, 0, "opened again");
        if (flush == 1)
            ship_flush(b.st);
        op.value.m = 8;
        v_op(b.st, &h, &op);
        ship_turn(b.st);
        expect(&b, &h, 0, "written again");
        assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
        expect(&b, &h, 0, "merged");
        ts_free(h.ops);
        ship_end(&b);
    }
}

/* Many versions of one time between two flushes: the row in the file has what is kept. */
static void test_versions__many_versions_of_one_time(void **state)
{
    (void)state;
    struct ship_both b;
    struct v_history h = {0};
    begin(&b, 1);
    struct v_op op = {.ts_ms = T0, .keep = 4, .value = {.kind = TS_NUM_INT}};
    for (int i = 0; i < 100000; i++) {
        op.written_us = op.value.m = i;
        v_op(b.st, &h, &op);
    }
    memmove(h.ops, h.ops + h.n - 5, 5 * sizeof *h.ops); /* the same, and the model takes less time */
    h.n = 5;
    ship_turn(b.st);
    expect(&b, &h, 0, "in memory");
    ship_flush(b.st);
    expect(&b, &h, 0, "flushed");
    assert_int_equal(ship_stat(b.st, "files.points"), 8);
    ts_free(h.ops);
    ship_end(&b);
}

/* A row longer than a block: its pieces are one row again. */
static void test_versions__rows_longer_than_a_block(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    begin(&b, 1);
    const struct sto_series *s = v_series(b.st, 0);
    const uint32_t n_times = 3000, n_versions = 15; /* 90,000 cells; the cut is in the middle of a time */
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t t = 0; t < n_times; t++)
            for (uint32_t v = 0; v < n_versions; v++)
                assert_int_equal(sto_put_version(sto_writer(b.st, 0), s, T0 + t,
                                                 &(struct sto_stamp){round * 100 + v, 20},
                                                 (struct ts_num){.m = t, .kind = TS_NUM_INT}, true),
                                 0);
        ship_flush(b.st);
    }
    for (int merged = 0; merged < 2; merged++) {
        struct sto_scan_spec spec = {.metric = s->metric,
                                     .series = &s,
                                     .n_series = 1,
                                     .from_ms = T0,
                                     .to_ms = T0 + TS_HOUR_MS - 1,
                                     .final = true};
        struct sto_snap *snap = sto_snap_take(b.st);
        struct sto_merge *scan;
        struct sto_row row;
        assert_int_equal(sto_scan(snap, &spec, &scan, &err), 0);
        assert_int_equal(sto_merge_next(scan, &row, &err), 1);
        assert_int_equal(row.cells->n, n_times * 40);
        for (uint32_t i = 0; i < row.cells->n; i += 2) {
            uint32_t k = i / 2 % 20;
            assert_int_equal(sto_meta_off(row.cells->meta[i]), i / 40);
            assert_int_equal(row.cells->m[i], k < 5 ? 10 + k : 100 + k - 5);
            assert_int_equal(row.cells->m[i + 1], i / 40);
            assert_int_equal((row.cells->meta[i] & STO_META_MS) != 0, k == 0);
        }
        assert_int_equal(sto_merge_next(scan, &row, &err), 0);
        sto_merge_free(scan);
        sto_snap_release(snap);
        assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
    }
    ship_end(&b);
}

/* --- shipping --- */

static int count_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)row, (void)pos, (void)err;
    *(unsigned *)arg += 1;
    return 0;
}

/* Rows that the remote store has of the series of versions. */
static unsigned count_remote(struct ship_both *b)
{
    struct ts_buf name;
    unsigned n = 0;
    struct ts_error err = {0};
    ts_buf_init(&name, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_VERSIONS, TS_SLICE_LIT("m"), TS_SLICE_LIT("w")},
                      &name);
    struct sto_remote_tag tag = {TS_SLICE_LIT("host"), TS_SLICE_LIT("h0")};
    struct sto_remote_series s = {
        .key = STO_REMOTE_NO_KEY, .metric = ts_buf_get(&name), .tags = &tag, .n_tags = 1};
    struct sto_fetch f = {
        .metric = s.metric, .series = &s, .n_series = 1, .from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    assert_int_equal(b->r->ops->fetch(b->r, &f, NULL, count_row, &n, &err), 0);
    ts_buf_release(&name);
    return n;
}

/* Versions are never shipped, and hold nothing up; from memory, from files, and with deletes. */
static void test_versions__are_not_shipped(void **state)
{
    (void)state;
    for (int from_files = 0; from_files < 2; from_files++) {
        struct ship_both b;
        struct v_history h = {0};
        ship_begin(&b);
        uint64_t seed = 5;
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 100; i++) {
                struct v_op op = v_random(&seed, 3);
                v_op(b.st, &h, &op);
                ship_put(&b, (unsigned)i % N_SERIES, op.ts_ms, i);
            }
            if (round == 3)
                ship_add(&b, 0, T0, 5);
            if (from_files)
                ship_flush(b.st);
            ship_all(b.st);
            ship_expect(b.r, &b.d, "shipped");
        }
        uint64_t n_deletes = ship_stat(b.st, "ship.deletes");
        struct v_op op = {.is_delete = true, .ts_ms = T0, .to_ms = T0 + TS_HOUR_MS};
        v_op(b.st, &h, &op);
        ship_flush(b.st);
        ship_all(b.st);
        assert_int_equal(ship_stat(b.st, "ship.deletes"), n_deletes);
        assert_int_equal(count_remote(&b), 0);
        ts_free(h.ops);
        ship_end_settled(&b);
    }
}

/* --- bulk loads --- */

static struct bulk_input bulk_of(const struct v_history *h)
{
    struct bulk_input in = {.v = ts_xcalloc(2 * h->n, sizeof *in.v), .n = 2 * h->n};
    for (size_t i = 0; i < h->n; i++) {
        const struct v_op *op = &h->ops[i];
        in.v[2 * i] = (struct sto_point){.series = &t_handles[op->series],
                                         .ts_ms = op->ts_ms,
                                         .m = op->written_us,
                                         .flags = sto_stamp_flags(op->keep)};
        in.v[2 * i + 1] =
            (struct sto_point){.series = &t_handles[op->series],
                               .ts_ms = op->ts_ms,
                               .m = op->value.m,
                               .flags = sto_meta_flags(STO_OP_KEEP, op->value.kind, op->value.exp, op->ms)};
    }
    return in;
}

static int load(struct ship_both *b, const struct bulk_input *in, struct ts_error *err)
{
    struct sto_bulk_id ids[N_SERIES];
    struct sto_bulk_place place;
    struct sto_bulk_sum sum = {0}, taken;
    for (unsigned i = 0; i < N_SERIES; i++) {
        const struct sto_series *s = v_series(b->st, i % V_SERIES);
        ids[i] = (struct sto_bulk_id){.metric = s->metric, .series = s->id};
    }
    TS_TRY(sto_catalog_sync(sto_store_catalog(b->st), true, err));
    TS_TRY(sto_bulk_begin(b->st, bulk_id(), &place, err));
    int rc = bulk_write(t_faultfs_fs(b->f), place.dir, in, ids, &sum, err);
    ts_free(place.dir);
    return rc < 0 ? rc : sto_bulk_hand_over(b->st, bulk_id(), &sum, &taken, err);
}

static void test_versions__bulk_loads_keep_the_order_of_the_input(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct ship_both b;
        struct v_history h = {0}, loaded = {0};
        struct ts_error err = {0};
        uint64_t random = seed * 104729;
        begin(&b, seed);
        for (int i = 0; i < 100; i++) {
            struct v_op op = v_random(&random, 4);
            v_op(b.st, &h, &op);
        }
        ship_turn(b.st);
        for (int i = 0; i < 1000; i++) {
            struct v_op op = v_random(&random, seed % 2 ? 4 : 25);
            op.is_delete = false;
            v_add(&loaded, &op);
            v_add(&h, &op);
        }
        struct bulk_input in = bulk_of(&loaded);
        if (load(&b, &in, &err) < 0)
            fail_msg("%s", err.text);
        expect(&b, &h, seed, "handed over");
        for (int i = 0; i < 100; i++) {
            struct v_op op = v_random(&random, 4);
            v_op(b.st, &h, &op);
        }
        ship_turn(b.st);
        expect(&b, &h, seed, "put afterwards");
        assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, &err), 0);
        ship_reopen(&b);
        expect(&b, &h, seed, "merged");
        ts_free(in.v);
        ts_free(h.ops);
        ts_free(loaded.ops);
        ship_end(&b);
    }
}

int main(void)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions__the_result_does_not_depend_on_the_cuts),
        cmocka_unit_test(test_versions__many_sources_at_once),
        cmocka_unit_test(test_versions__are_not_shipped),
        cmocka_unit_test(test_versions__a_lone_stamp_is_left_out),
        cmocka_unit_test(test_versions__records_do_not_part_a_stamp_from_its_value),
        cmocka_unit_test(test_versions__a_log_that_ends_with_a_stamp),
        cmocka_unit_test(test_versions__many_versions_of_one_time),
        cmocka_unit_test(test_versions__rows_longer_than_a_block),
        cmocka_unit_test(test_versions__bulk_loads_keep_the_order_of_the_input),
        cmocka_unit_test(test_versions__random_histories_of_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
