/*
 * test_store_readers.c - what is held for those who read a store: memstores that a snapshot keeps are counted, flushed ones are released before their logs are unlinked, hours whose
 * summary has no sum need no scan of their own.
 */
#include "tests/unit/storage/windows_kit.h"

/* Memstores that are in files already, but that a slow reader keeps, are shown until it lets them go. */
static void test_store_readers__memstores_of_a_snapshot_are_counted(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t i = 0; i < 20000; i++) {
        put_at(st, (unsigned)(i % 10), T0 + i, i);
        if (i % 1000 == 0)
            sto_writer_turn(sto_writer(st, 0));
    }
    sto_writer_turn(sto_writer(st, 0));
    uint64_t used = stat_of(st, "memstore.bytes");
    assert_true(used > 100000);
    assert_int_equal(stat_of(st, "memstore.snapshot_bytes"), 0);
    struct sto_snap *snap = sto_snap_take(st), *second = sto_snap_take(st);
    assert_int_equal(stat_of(st, "memstore.snapshot_bytes"), 0); /* they are the store's own still */
    flush_to(st, STO_LEVEL_FILES);
    assert_true(stat_of(st, "memstore.bytes") < used / 2);
    uint64_t held = stat_of(st, "memstore.snapshot_bytes");
    if (held < 20000 * 8)
        fail_msg("a snapshot keeps %llu bytes of 20,000 points, %llu are counted", (unsigned long long)used,
                 (unsigned long long)held);
    sto_snap_release(snap);
    assert_int_equal(stat_of(st, "memstore.snapshot_bytes"), held); /* the other one keeps them */
    sto_snap_release(second);
    assert_int_equal(stat_of(st, "memstore.snapshot_bytes"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* What is held while a segment of a log is unlinked, which may take long. */
struct held {
    struct sto_store *st;
    unsigned n; /* unlinked segments */
    uint64_t most_bytes;
};

static void look_at_memory(void *arg, enum t_op op, const char *path, bool after)
{
    struct held *h = arg;
    if (op != T_OP_UNLINK || after || !path || !strstr(path, "/wal/"))
        return;
    uint64_t held = stat_of(h->st, "memstore.snapshot_bytes");
    h->n++;
    h->most_bytes = held > h->most_bytes ? held : h->most_bytes;
}

/* Memstores that were flushed are released before their logs are unlinked. */
static void test_store_readers__a_slow_unlink_of_logs_holds_no_memory(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_store *st = open_at(f, 0, 0);
    struct held h = {.st = st};
    for (int64_t i = 0; i < 20000; i++)
        put_at(st, (unsigned)(i % 10), T0 + i, i);
    sto_writer_turn(sto_writer(st, 0));
    t_faultfs_set_hook(f, look_at_memory, &h);
    flush_to(st, STO_LEVEL_FILES);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_true(h.n > 0);
    assert_int_equal(h.most_bytes, 0);
    kit_close(st);
    t_faultfs_free(f);
}

struct counts {
    uint64_t n_sums, n_rows; /* hours answered by their summary, by their points */
    uint64_t n_reads;        /* of files */
};

/* Read one series hour by hour, by summaries where these are of use. */
static struct counts hours_of(struct t_faultfs *f, struct sto_store *st, int64_t n_hours, bool needs_sum)
{
    struct counts c = {0};
    const struct sto_series *s = kit_series(st, 0);
    uint8_t *whole = ts_xcalloc((size_t)n_hours, 1);
    memset(whole, 1, (size_t)n_hours);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = T0,
                                 .to_ms = T0 + n_hours * TS_HOUR_MS - 1,
                                 .whole_hours = whole,
                                 .needs_sum = needs_sum,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan;
    struct sto_row row;
    struct ts_error err = {0};
    uint64_t before = t_faultfs_calls(f, T_OP_PREAD);
    assert_int_equal(sto_scan(snap, &spec, &scan, &err), 0);
    while (sto_merge_next(scan, &row, &err) == 1) {
        c.n_sums += row.sum != NULL;
        c.n_rows += row.sum == NULL && row.cells->n > 0;
    }
    assert_int_equal(err.code, 0);
    c.n_reads = t_faultfs_calls(f, T_OP_PREAD) - before;
    sto_merge_free(scan);
    sto_snap_release(snap);
    ts_free(whole);
    return c;
}

/* Values too far apart for the sum of a summary: a query that needs sums gets the points of these hours from the scan at work. */
static void test_store_readers__hours_without_a_sum_cost_no_scan_each(void **state)
{
    (void)state;
    enum { N_HOURS = 2000, N_POINTS = 24 };
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + N_HOURS * TS_HOUR_MS, 1000);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t h = 0; h < N_HOURS; h++) {
        for (int64_t i = 0; i < N_POINTS; i++) {
            double v = i % 2 ? 1e300 + (double)i * 1e284 : 1e-300 * (double)(i + 1);
            assert_int_equal(sto_put(sto_writer(st, 0), kit_series(st, 0), T0 + h * TS_HOUR_MS + i * 100000,
                                     ts_num_from_double(v), false),
                             0);
        }
        sto_writer_turn(sto_writer(st, 0));
    }
    flush_to(st, STO_LEVEL_COMPACT);
    struct counts sums = hours_of(f, st, N_HOURS, false), points = hours_of(f, st, N_HOURS, true);
    print_message("%llu hours by summaries in %llu reads, %llu by points in %llu reads\n",
                  (unsigned long long)sums.n_sums, (unsigned long long)sums.n_reads,
                  (unsigned long long)points.n_rows, (unsigned long long)points.n_reads);
    assert_int_equal(sums.n_sums, N_HOURS);
    assert_int_equal(points.n_rows, N_HOURS);
    assert_true(points.n_reads < N_HOURS / 4);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_readers__memstores_of_a_snapshot_are_counted),
        CASE(test_store_readers__a_slow_unlink_of_logs_holds_no_memory),
        CASE(test_store_readers__hours_without_a_sum_cost_no_scan_each),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
