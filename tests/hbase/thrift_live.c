/*
 * thrift_live.c - every call against a Thrift2 gateway, of HBase or of the fake one (fake_hbase.h), then rates of putting and scanning.
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/dev/tests/thrift_live [ROWS]
 *
 * Environment and table: live_kit.h. It writes rows under a prefix of its own and deletes them at the end.
 */
#include "tests/hbase/live_kit.h"

#include "base/bytes.h"
#include "base/num.h"

#define CELLS         60  /* a row, when rates are measured */
#define ROWS_AT_ONCE  200 /* a request */
#define REQUESTS_OPEN 4   /* in flight */

static int64_t n_rate_rows = 5000; /* rows that rates are measured with */

static void test_thrift_live__tables(void **state)
{
    (void)state;
    struct sto_thrift_items it;
    struct sto_thrift_family family;
    struct sto_thrift_region region;
    live_table();
    call(sto_thrift_call_table_exists(&r, TS_SLICE_LIT("tsd_thrift_no_such_table")), 0);
    assert_false(sto_thrift_reply_bool(&reply));
    call(sto_thrift_call_get_table_descriptor(&r, TABLE), 0);
    sto_thrift_families_init(&it, &reply);
    assert_int_equal(sto_thrift_family(&it, &family, &err), 1);
    assert_true(ts_slice_eq(family.name, F));
    assert_int_equal(family.ttl_s, 86400);
    assert_int_equal(family.bloom, STO_THRIFT_BLOOM_ROW);
    assert_int_equal(sto_thrift_family(&it, &family, &err), 0);
    call(sto_thrift_call_get_all_region_locations(&r, TABLE), 0);
    sto_thrift_items_init(&it, &reply);
    int n = 0;
    while (sto_thrift_region(&it, &region, &err) == 1)
        assert_true(region.port > 0 && (n++ > 0) == (region.start.n > 0));
    assert_true(n >= 1);
    printf("regions=%d\n", n);
}

static void test_thrift_live__rows(void **state)
{
    (void)state;
    struct sto_thrift_cell b = cell_of("b", "2");
    struct sto_thrift_column columns[] = {{.family = F, .qualifier = {"a", 1}},
                                          {.family = F, .qualifier = {"n", 1}}};
    has("row", "");
    put("row", "a", "1");
    has("row", "a=1");
    struct sto_thrift_put p = {.row = key("row"), .cells = &b, .n_cells = 1};
    struct sto_thrift_delete d = {
        .row = key("row"), .columns = columns, .n_columns = 1, .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_mutation both[] = {{.put = &p}, {.delete = &d}};
    call(sto_thrift_call_mutate_row(&r, TABLE, p.row, both, 2), 0);
    has("row", "b=2");
    struct sto_thrift_check check = {.row = p.row, .family = F, .qualifier = {"b", 1}, .value = {"3", 1}};
    check.compare = STO_THRIFT_EQUAL;
    call(sto_thrift_call_check_and_mutate(&r, TABLE, &check, both, 1), 0);
    assert_false(sto_thrift_reply_bool(&reply));
    check.value = TS_SLICE_LIT("2");
    b.value = TS_SLICE_LIT("4");
    p.row = check.row = key("row");
    call(sto_thrift_call_check_and_mutate(&r, TABLE, &check, both, 1), 0);
    assert_true(sto_thrift_reply_bool(&reply));
    has("row", "b=4");
    check.row = p.row = key("new"); /* a cell that must not exist */
    check.value = (struct ts_slice){0};
    for (int i = 0; i < 2; i++) {
        call(sto_thrift_call_check_and_put(&r, TABLE, &check, &p), 0);
        assert_int_equal(sto_thrift_reply_bool(&reply), i == 0);
    }
    call(sto_thrift_call_append(&r, TABLE, &p, false), 0);
    has("new", "b=44");
    for (uint64_t want = 5; want < 15; want += 5) {
        struct sto_thrift_items it;
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        call(sto_thrift_call_increment(&r, TABLE, key("count"), &columns[1], 5), 0);
        sto_thrift_items_init(&it, &reply);
        assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
        assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 1);
        assert_int_equal(cell.value.n, 8);
        assert_int_equal(__builtin_bswap64(ts_ld64(cell.value.p)), want);
    }
    d = (struct sto_thrift_delete){.row = key("count"), .type = STO_THRIFT_DELETE_COLUMNS};
    call(sto_thrift_call_delete(&r, TABLE, &d), 0);
    has("count", "");
}

static void test_thrift_live__batches_and_scans(void **state)
{
    (void)state;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell x = cell_of("x", "1");
    static const char *const names[] = {"s1", "s2", "s3"};
    sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, TABLE);
    for (int i = 0; i < 3; i++)
        sto_thrift_batch_put(&r, &(struct sto_thrift_put){.row = key(names[i]), .cells = &x, .n_cells = 1});
    call(sto_thrift_batch_end(&r), 0);
    sto_thrift_batch_begin(&r, STO_THRIFT_GET_MULTIPLE, TABLE);
    sto_thrift_batch_get(&r, &(struct sto_thrift_get){.row = key("s3")});
    sto_thrift_batch_get(&r, &(struct sto_thrift_get){.row = key("none")});
    sto_thrift_batch_get(&r, &(struct sto_thrift_get){.row = key("s1")});
    call(sto_thrift_batch_end(&r), 0);
    sto_thrift_items_init(&it, &reply);
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s3")));
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && !row.row.p);
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s1")));
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    struct sto_thrift_scan scan = {
        .start = key("s1"), .stop = key("s9"), .select.filter = TS_SLICE_LIT("KeyOnlyFilter()")};
    call(sto_thrift_call_get_scanner_results(&r, TABLE, &scan, 2), 0);
    sto_thrift_items_init(&it, &reply);
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s1")));
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s2")));
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    scan = (struct sto_thrift_scan){
        .start = key("s9"), .stop = key("s1"), .reversed = true, .spares_cache = true};
    call(sto_thrift_call_open_scanner(&r, TABLE, &scan), 0);
    struct sto_thrift_scanner id = sto_thrift_reply_scanner(&reply);
    call(sto_thrift_call_get_scanner_rows(&r, id, 10), 0);
    sto_thrift_items_init(&it, &reply);
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s3")));
    assert_true(sto_thrift_row(&it, &row, &err) == 1 && ts_slice_eq(row.row, key("s2")));
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    call(sto_thrift_call_close_scanner(&r, id), 0);
    call(sto_thrift_call_get_scanner_rows(&r, id, 10), TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_ILLEGAL_ARGUMENT);
    sto_thrift_batch_begin(&r, STO_THRIFT_DELETE_MULTIPLE, TABLE);
    for (int i = 0; i < 3; i++)
        sto_thrift_batch_delete(
            &r, &(struct sto_thrift_delete){.row = key(names[i]), .type = STO_THRIFT_DELETE_COLUMNS});
    call(sto_thrift_batch_end(&r), 0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    has("s2", "");
}

static void test_thrift_live__exceptions(void **state)
{
    (void)state;
    struct sto_thrift_cell cell = cell_of("x", "1");
    call(sto_thrift_call_get(&r, TS_SLICE_LIT("tsd_thrift_no_such_table"),
                             &(struct sto_thrift_get){.row = key("row")}),
         TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_IO_ERROR);
    printf("exception: %s\n", err.text);
    cell.family = TS_SLICE_LIT("nosuchfamily");
    call(sto_thrift_call_put(&r, TABLE,
                             &(struct sto_thrift_put){.row = key("row"), .cells = &cell, .n_cells = 1}),
         TS_EBACKEND);
    printf("exception: %s\n", err.text);
    assert_true(sto_thrift_client_is_open(c));
}

/* --- rates --- */

static void report(const char *what, int64_t n, int64_t wall_ns, int64_t cpu_ns)
{
    printf("%s_cells=%lld %s_ms=%lld %s_cpu_ms=%lld %s_cells_per_s=%.0f\n", what, (long long)n, what,
           (long long)(wall_ns / 1000000), what, (long long)(cpu_ns / 1000000), what,
           (double)n * 1e9 / (double)wall_ns);
}

static struct ts_slice rate_key(int64_t i)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%08lld", (long long)i);
    return key(name);
}

static void encode_rows(struct sto_thrift_request *out, int64_t from)
{
    struct sto_thrift_cell cells[CELLS];
    char qualifiers[CELLS][2], value[8];
    sto_thrift_batch_begin(out, STO_THRIFT_PUT_MULTIPLE, TABLE);
    for (int i = 0; i < CELLS; i++) {
        qualifiers[i][0] = (char)(i * 60 >> 4);
        qualifiers[i][1] = (char)(i * 60 << 4 | 7);
        memcpy(value, &(int64_t){i}, sizeof(value));
        cells[i] =
            (struct sto_thrift_cell){.family = F, .qualifier = {qualifiers[i], 2}, .value = {value, 8}};
    }
    for (int64_t i = from; i < from + ROWS_AT_ONCE && i < n_rate_rows; i++)
        sto_thrift_batch_put(out,
                             &(struct sto_thrift_put){.row = rate_key(i), .cells = cells, .n_cells = CELLS});
    assert_int_equal(sto_thrift_batch_end(out), 0);
}

static void receive(void)
{
    if (sto_thrift_client_receive(c, NULL, &reply, NULL, &err) != 0)
        fail_msg("%s", err.text);
}

static void test_thrift_live__rate_of_puts(void **state)
{
    (void)state;
    struct sto_thrift_request open[REQUESTS_OPEN];
    for (int i = 0; i < REQUESTS_OPEN; i++)
        sto_thrift_request_init(&open[i], 0, NULL);
    int64_t wall_ns = ts_clock_mono_ns(), cpu_ns = ts_clock_thread_ns(), sent = 0;
    for (int64_t from = 0; from < n_rate_rows; from += ROWS_AT_ONCE, sent++) {
        if (sto_thrift_client_in_flight(c) == REQUESTS_OPEN)
            receive();
        encode_rows(&open[sent % REQUESTS_OPEN], from);
        assert_int_equal(sto_thrift_client_send(c, &open[sent % REQUESTS_OPEN], soon(), &err), 0);
    }
    while (sto_thrift_client_in_flight(c))
        receive();
    report("put", n_rate_rows * CELLS, ts_clock_mono_ns() - wall_ns, ts_clock_thread_ns() - cpu_ns);
    for (int i = 0; i < REQUESTS_OPEN; i++)
        sto_thrift_request_release(&open[i]);
}

static void test_thrift_live__rate_of_scans(void **state)
{
    (void)state;
    int64_t wall_ns = ts_clock_mono_ns(), cpu_ns = ts_clock_thread_ns(), n_cells = 0, n_rows = 0, found;
    struct sto_thrift_scan scan = {.start = rate_key(0), .stop = key("99999999"), .caching = 1000};
    call(sto_thrift_call_open_scanner(&r, TABLE, &scan), 0);
    struct sto_thrift_scanner id = sto_thrift_reply_scanner(&reply);
    assert_int_equal(sto_thrift_call_get_scanner_rows(&r, id, 1000), 0);
    assert_int_equal(sto_thrift_client_send(c, &r, soon(), &err), 0);
    do { /* one request is always on its way while the reply before it is read */
        struct sto_thrift_items it;
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        assert_int_equal(sto_thrift_client_send(c, &r, soon(), &err), 0);
        receive();
        sto_thrift_items_init(&it, &reply);
        for (found = 0; sto_thrift_row(&it, &row, &err) == 1; found++)
            while (sto_thrift_row_next(&row, &cell, &err) == 1)
                n_cells += cell.value.n == 8;
        n_rows += found;
    } while (found);
    receive();
    report("scan", n_cells, ts_clock_mono_ns() - wall_ns, ts_clock_thread_ns() - cpu_ns);
    assert_int_equal(n_rows, n_rate_rows);
    assert_int_equal(n_cells, n_rate_rows * CELLS);
    call(sto_thrift_call_close_scanner(&r, id), 0);
}

static void test_thrift_live__rows_are_removed(void **state)
{
    (void)state;
    for (int64_t i = 0; i < n_rate_rows;) {
        sto_thrift_batch_begin(&r, STO_THRIFT_DELETE_MULTIPLE, TABLE);
        for (int k = 0; k < 1000 && i < n_rate_rows; k++, i++)
            sto_thrift_batch_delete(
                &r, &(struct sto_thrift_delete){.row = rate_key(i), .type = STO_THRIFT_DELETE_COLUMNS});
        call(sto_thrift_batch_end(&r), 0);
    }
    static const char *const rows[] = {"row", "new"};
    live_remove(rows, sizeof(rows) / sizeof(rows[0]));
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc == 2 && sscanf(argv[1], "%lld", (long long *)&n_rate_rows) != 1)) {
        (void)fprintf(stderr, "usage: TSD_HBASE_GATEWAY=HOST:PORT thrift_live [ROWS]\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thrift_live__tables),
        cmocka_unit_test(test_thrift_live__rows),
        cmocka_unit_test(test_thrift_live__batches_and_scans),
        cmocka_unit_test(test_thrift_live__exceptions),
        cmocka_unit_test(test_thrift_live__rate_of_puts),
        cmocka_unit_test(test_thrift_live__rate_of_scans),
        cmocka_unit_test(test_thrift_live__rows_are_removed),
    };
    if (!live_start())
        return 2;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    live_stop();
    return failed;
}
