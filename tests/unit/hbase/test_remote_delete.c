/*
 * test_remote_delete.c - deleting ranges of a series from OpenTSDB's data table.
 */
#include "tests/unit/hbase/ship_kit.h"

static void erase(int64_t from_s, int64_t to_ms)
{
    struct ts_error err = {0};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    if (k_remote->ops->delete_range(k_remote, &k_series, base + from_s * 1000, base + to_ms, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_remote_delete__deletes_spare_everything_else(void **state)
{
    (void)state;
    k_open(false, false);
    erase(0, 1000); /* the series has no id yet */
    k_ship(K_HOUR, true, "0:1 10:2 20:3");
    k_other(K_HOUR, 'c', "30:4 40:5 50:70000");
    k_other(K_HOUR, 'a', "60:7 70:8");
    k_other(K_HOUR + 1, 's', "0:1 10:2");
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR + 1), "t", K_ANNOTATION, TS_SLICE_LIT("{}"), 0);
    k_other(K_HOUR + 2, 'c', "0:1 10:2");
    k_other(K_HOUR + 3, 'c', "0:1 10:2");
    erase(10, 60000);
    (void)k_expect(K_HOUR, "0s=1 70s=8");
    erase(70, 3 * TS_HOUR_MS + 9999);
    (void)k_expect(K_HOUR, "0s=1");
    assert_int_equal(k_expect(K_HOUR + 1, ""), 1); /* the annotation */
    assert_int_equal(k_expect(K_HOUR + 2, ""), 0);
    (void)k_expect(K_HOUR + 3, "10s=2");
    for (int i = 0; i < 3; i++)
        k_ship(K_HOUR + i, true, "10:2"); /* what is put afterwards is there */
    (void)k_expect(K_HOUR, "0s=1 10s=2");
    (void)k_expect(K_HOUR + 1, "10s=2");
    (void)k_expect(K_HOUR + 2, "10s=2");
}

/* A range that begins or ends within an hour spares what lies beyond it, to the millisecond. */
static void test_remote_delete__the_ends_of_hours(void **state)
{
    (void)state;
    k_open(false, false);
    k_ship(K_HOUR, true, "0:1 10:2 3599:3 3599999ms:4");
    k_other(K_HOUR + 1, 'c', "0:1 1ms:2 10:3");
    erase(0, TS_HOUR_MS - 2);
    (void)k_expect(K_HOUR, "3599999ms=4");
    erase(3600, 2 * TS_HOUR_MS - 1);
    (void)k_expect(K_HOUR + 1, "");
    k_other(K_HOUR + 2, 's', "0:1 1ms:2 10:3");
    struct ts_error err = {0};
    int64_t base = (K_HOUR + 2) * TS_HOUR_MS;
    assert_int_equal(
        k_remote->ops->delete_range(k_remote, &k_series, base + 1, base + TS_HOUR_MS - 1, NULL, &err), 0);
    (void)k_expect(K_HOUR + 2, "0s=1");
}

/* A column that is written anew is newer than a cell that had replaced one of its values: it gets the value of that cell. */
static void test_remote_delete__what_was_replaced_stays_replaced(void **state)
{
    (void)state;
    k_open(false, false);
    k_ship(K_HOUR - 1, true, "0:1"); /* ids */
    for (int i = 0; i < 3; i++) {
        int64_t now_ms = ts_clock_ms();
        fake_hbase_set_clock(k_fake, now_ms - 3 * TS_HOUR_MS);
        k_other(K_HOUR + i, i == 1 ? 'a' : 'c', "0:1 10:2 3000:3");
        fake_hbase_set_clock(k_fake, now_ms - 2 * TS_HOUR_MS);
        k_other(K_HOUR + i, 's', "3000:70000"); /* of another length, so in a cell of another name */
        fake_hbase_set_clock(k_fake, 0);
    }
    erase(0, 10000);
    (void)k_expect(K_HOUR, "3000s=70000");
    erase(3600, TS_HOUR_MS + 10000);
    (void)k_expect(K_HOUR + 1, "3000s=70000");
    k_ship(K_HOUR + 2, false, "0:5");
    (void)k_expect(K_HOUR + 2, "0s=5 10s=2 3000s=70000");
}

static void test_remote_delete__a_long_range_reads_only_what_exists(void **state)
{
    (void)state;
    struct ts_error err = {0};
    k_open(true, false);
    for (int i = 0; i < 5; i++)
        k_ship(K_HOUR - 20000 * i, true, "0:1 10:2");
    k_ship(K_HOUR - 20001, true, "0:1");
    assert_int_equal(k_remote->ops->delete_range(k_remote, &k_series, INT64_MIN, INT64_MAX, NULL, &err), 0);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 0);
    assert_true(fake_hbase_count_rows(k_fake, STO_THRIFT_GET_MULTIPLE) < 2000);
    _Atomic bool cancel = true;
    struct sto_remote_call call = {.cancel = &cancel};
    k_ship(K_HOUR, true, "0:1");
    assert_int_equal(k_remote->ops->delete_range(k_remote, &k_series, 0, INT64_MAX, &call, &err),
                     TS_ECANCELLED);
}

static void test_remote_delete__cells_from_the_future_are_deleted_as_well(void **state)
{
    (void)state;
    k_open(false, false);
    k_ship(K_HOUR, true, "0:1 10:2");
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t", TS_SLICE_LIT("\0\0"), TS_SLICE_LIT("\7"),
                   ts_clock_ms() + 1000000000);
    k_ship(K_HOUR, false, "0:9");
    (void)k_expect(K_HOUR, "0s=9 10s=2");
    erase(0, TS_HOUR_MS - 1);
    assert_int_equal(k_expect(K_HOUR, ""), 0);
    k_ship(K_HOUR, true, "0:1 10:2");
    (void)k_expect(K_HOUR, "0s=1 10s=2");
}

static void test_remote_delete__faults_of_deletes(void **state)
{
    (void)state;
    k_open(false, false);
    for (int f = FAKE_HBASE_DROP; f <= FAKE_HBASE_HALF; f++)
        for (unsigned skip = 0; skip < 6; skip++) {
            if (f == FAKE_HBASE_LATE || f == FAKE_HBASE_FINAL_ERROR || f == FAKE_HBASE_ILLEGAL_ARGUMENT)
                continue;
            k_other(K_HOUR, 'c', "0:1 10:2");
            k_other(K_HOUR + 1, 's', "0:1 10:2");
            k_other(K_HOUR + 2, 'c', "0:1 10:2 20:3");
            k_ship(K_HOUR + 9, true, "0:1");
            fake_hbase_inject(k_fake,
                              (struct fake_hbase_plan){.fault = (enum fake_hbase_fault)f, .skip = skip});
            erase(10, 2 * TS_HOUR_MS + 9999);
            fake_hbase_heal(k_fake);
            (void)k_expect(K_HOUR, "0s=1");
            (void)k_expect(K_HOUR + 1, "");
            (void)k_expect(K_HOUR + 2, "10s=2 20s=3");
        }
}

/* What HBase refuses for good is told apart from what may be tried again; once it is accepted, the delete is complete. */
static void test_remote_delete__a_refusal_is_told(void **state)
{
    (void)state;
    const enum sto_thrift_call calls[] = {STO_THRIFT_GET_MULTIPLE, STO_THRIFT_DELETE_MULTIPLE,
                                          STO_THRIFT_CHECK_AND_MUTATE};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    k_open(false, false);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct ts_error err = {0};
        k_other(K_HOUR, 'c', "0:1 10:2");
        k_other(K_HOUR + 1, 's', "0:1 10:2");
        k_ship(K_HOUR + 9, true, "0:1");
        fake_hbase_inject(
            k_fake, (struct fake_hbase_plan){
                        .fault = FAKE_HBASE_FINAL_ERROR, .of_call = true, .call = calls[i], .n = UINT_MAX});
        assert_int_equal(k_remote->ops->delete_range(k_remote, &k_series, base + 10000,
                                                     base + 2 * TS_HOUR_MS - 1, NULL, &err),
                         TS_EINVAL);
        assert_true(*err.text);
        fake_hbase_heal(k_fake);
        erase(10, 2 * TS_HOUR_MS - 1);
        (void)k_expect(K_HOUR, "0s=1");
        (void)k_expect(K_HOUR + 1, "");
    }
}

/* A damaged entry of one of its names concerns this series alone: its rows are refused, and so are its deletes. */
static void test_remote_delete__a_damaged_name_refuses_the_delete(void **state)
{
    (void)state;
    struct ts_error err = {0};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    k_open(false, false);
    k_ship(K_HOUR, true, "0:1 10:2");
    k_close();
    k_open(false, false); /* nothing is cached */
    fake_hbase_put(k_fake, "tsdb-uid", TS_SLICE_LIT("m"), "id", TS_SLICE_LIT("metrics"), TS_SLICE_LIT("12"),
                   0);
    struct k_result r = k_ship_rows(&row, 1);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 1);
    assert_int_equal(k_remote->ops->delete_range(k_remote, &k_series, base, base + TS_HOUR_MS, NULL, &err),
                     TS_EINVAL);
    assert_string_equal(err.text,
                        "what table tsdb-uid has of the name \"m\" is no id; see tsd uid fsck --hbase");
    sto_cells_release(&c);
}

/* A gateway that answers with the rows in another order: no row is changed after the cells of another one. */
static void test_remote_delete__rows_in_another_order(void **state)
{
    (void)state;
    struct ts_error err = {0};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1"); /* ids of the names */
    k_other(K_HOUR, 'c', "0:1 10:2");
    k_other(K_HOUR + 1, 'c', "0:3 10:4"); /* of which a part is deleted, so that it is written anew */
    uint64_t n = k_changes();
    k_reverse_rows();
    struct sto_remote_call call = k_call_for(300);
    int rc = k_remote->ops->delete_range(k_remote, &k_series, base, base + TS_HOUR_MS + 5000, &call, &err);
    assert_true(rc == TS_EBACKEND || rc == TS_ETIMEOUT);
    assert_int_equal(k_changes(), n);
    (void)k_expect(K_HOUR, "0s=1 10s=2");
    (void)k_expect(K_HOUR + 1, "0s=3 10s=4");
    fake_hbase_heal(k_fake);
    erase(0, TS_HOUR_MS + 5000);
    (void)k_expect(K_HOUR, "");
    (void)k_expect(K_HOUR + 1, "10s=4");
}

/* HBase's clock is behind this one, or ahead of it: what is put after a delete is there, whether the row is read first or not. */
static void test_remote_delete__what_follows_is_there_whatever_the_clocks(void **state)
{
    (void)state;
    static const int64_t behind_ms[] = {5000, 300, 0, -300, -5000};
    k_open(false, false);
    for (int i = 0; i < 5; i++) {
        fake_hbase_set_clock(k_fake, ts_clock_ms() - behind_ms[i]);
        k_ship(K_HOUR + i, true, "0:1 60:1");
        k_ship(K_HOUR + i, false, "0:2 60:70000"); /* with timestamps from here */
        erase(0, (i + 1) * TS_HOUR_MS - 1);
        assert_int_equal(k_expect(K_HOUR + i, ""), 0);
        fake_hbase_set_clock(k_fake, ts_clock_ms() - behind_ms[i]);
        k_ship(K_HOUR + i, true, "120:3");
        k_other(K_HOUR + i, 's', "180:5"); /* with the time of HBase's clock */
        (void)k_expect(K_HOUR + i, "120s=3 180s=5");
        erase(0, (i + 1) * TS_HOUR_MS - 1);
        k_ship(K_HOUR + i, false, "0:4");
        (void)k_expect(K_HOUR + i, "0s=4");
    }
}

/* Another client has deleted the row, with a time that lies ahead of every clock: what is not there is not acknowledged. */
static void test_remote_delete__hidden_points_are_refused(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row row = {.series = k_series, .hour = K_HOUR, .cells = &c};
    for (int sole_writer = 0; sole_writer < 2; sole_writer++, row.hour++) {
        k_open(false, sole_writer);
        k_ship(row.hour, true, "0:1");
        fake_hbase_set_clock(k_fake, ts_clock_ms() + 100000000);
        fake_hbase_delete(k_fake, "tsdb", k_key(row.hour), "t", (struct ts_slice){NULL, 0});
        fake_hbase_set_clock(k_fake, ts_clock_ms());
        struct k_result r = k_ship_rows(&row, 1);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 1);
        row.hour++; /* the same of a value of another length, in a row that has a point */
        k_ship(row.hour, true, "0:257");
        fake_hbase_set_clock(k_fake, ts_clock_ms() + 100000000);
        fake_hbase_delete(k_fake, "tsdb", k_key(row.hour), "t", TS_SLICE_LIT("\0\0"));
        fake_hbase_set_clock(k_fake, ts_clock_ms());
        r = k_ship_rows(&row, 1);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 1);
        k_close();
    }
    sto_cells_release(&c);
}

/* Put n compacted columns of 8,000 points each, between the seconds 1 and 3300, and some annotations before them. */
static void fill_columns(int32_t hour, int n)
{
    struct sto_cells c = {
        .n = 8000, .meta = ts_xcalloc(8000, sizeof *c.meta), .m = ts_xcalloc(8000, sizeof *c.m)};
    for (int i = 0; i < n; i++) {
        struct ts_buf q, v;
        ts_buf_init(&q, 0);
        ts_buf_init(&v, 0);
        for (uint32_t k = 0; k < c.n; k++) {
            c.meta[k] = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true) | (1000 + 400 * k + (uint32_t)i);
            c.m[k] = (int64_t)k;
        }
        assert_int_equal(sto_hbase_encode_compacted(&c, &q, &v), 0);
        fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", ts_buf_get(&q), ts_buf_get(&v), 0);
        fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", (struct ts_slice){(const char[]){1, 0, (char)i}, 3},
                       TS_SLICE_LIT("{}"), 0);
        ts_buf_release(&q);
        ts_buf_release(&v);
    }
    ts_free(c.meta);
    ts_free(c.m);
}

/* Open a remote store that takes replies of at most 1 MiB, and give the series its ids. */
static void open_for_small_replies(void)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct ts_error err = {0};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .max_reply_bytes = 1 << 20},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    k_ship(K_HOUR - 1, true, "0:1");
}

/* A row of more bytes than a reply may have: all of its points that lie in the range go, piece by piece, and nothing else. */
static void test_remote_delete__rows_that_are_too_large(void **state)
{
    (void)state;
    enum { COLUMNS = 48 }; /* of the sizes of pieces some have columns alone */
    open_for_small_replies();
    fake_hbase_set_clock(k_fake,
                         ts_clock_ms() - 10 * TS_HOUR_MS); /* a row that is whole could go by its family */
    fill_columns(K_HOUR, COLUMNS);
    fake_hbase_set_clock(k_fake, 0);
    erase(0, TS_HOUR_MS - 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + COLUMNS);
    fill_columns(K_HOUR + 1, COLUMNS);
    erase(3600 + 1, TS_HOUR_MS + 3299999); /* a part of the hour, which has all of them */
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + 2 * COLUMNS);
    fill_columns(K_HOUR + 2, COLUMNS);
    erase(2 * 3600 + 1, 2 * TS_HOUR_MS + 3199999); /* all but those of the last 100 seconds and a few ms */
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + 4 * COLUMNS);
    erase(2 * 3600, 3 * TS_HOUR_MS - 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + 3 * COLUMNS);
}

/* In such a row a column that keeps a point is as old as before, so that a newer cell of another piece stays the newer one; also if HBase remembers a
 * delete of the cell that the point is put into. */
static void test_remote_delete__what_was_replaced_stays_so_in_pieces(void **state)
{
    (void)state;
    int64_t now_ms = ts_clock_ms();
    open_for_small_replies();
    for (int i = 0; i < 2; i++) {
        fake_hbase_set_clock(k_fake, now_ms - 3 * TS_HOUR_MS);
        k_other(K_HOUR + i, 'c', i ? "0:1 10:2 3400:3" : "0:1 10:2 3400:3 3500:4");
        fill_columns(K_HOUR + i, 48); /* up to 3300 s */
        fake_hbase_set_clock(k_fake, now_ms - 2 * TS_HOUR_MS);
        if (i)
            fake_hbase_delete(k_fake, "tsdb", k_key(K_HOUR + i), "t", TS_SLICE_LIT("\xd4\x80"));
        else
            k_other(K_HOUR + i, 's', "3400:70000"); /* of another length, so in a cell of another name */
        fake_hbase_set_clock(k_fake, 0);
    }
    erase(0, 3399000);
    struct ts_buf text;
    ts_buf_init(&text, 0);
    (void)k_text(K_HOUR, &text, NULL); /* both values are there, as before */
    assert_string_equal(text.p, "3400s=70000 3500s=4");
    ts_buf_release(&text);
    erase(3600, TS_HOUR_MS + 3399000);
    (void)k_expect(K_HOUR + 1, "3400s=3");
}

/* Rows that fit into a reply, but not all together. */
static void test_remote_delete__rows_that_are_too_many(void **state)
{
    (void)state;
    enum { HOURS = 8, COLUMNS = 6 }; /* of 192 KB of qualifiers in each row */
    open_for_small_replies();
    for (int i = 0; i < HOURS; i++)
        fill_columns(K_HOUR + i, COLUMNS);
    erase(0, HOURS * TS_HOUR_MS - 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + HOURS * COLUMNS); /* the annotations */
}

/* The same of memory: for fewer rows, or a part of one, there is enough. */
static void test_remote_delete__rows_that_need_too_much_memory(void **state)
{
    (void)state;
    enum { HOURS = 8, COLUMNS = 6, MANY = 60 };
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    static struct ts_budget memory; /* until the teardown */
    struct ts_error err = {0};
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, 2u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 1,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    k_ship(K_HOUR - 1, true, "0:1"); /* ids */
    for (int i = 0; i < HOURS; i++)
        fill_columns(K_HOUR + i, COLUMNS);
    erase(0, HOURS * TS_HOUR_MS - 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + HOURS * COLUMNS); /* the annotations */
    fill_columns(K_HOUR + HOURS, MANY);
    erase(HOURS * 3600, (HOURS + 1) * TS_HOUR_MS - 1);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1 + HOURS * COLUMNS + MANY);
}

/* Memory that others use refuses no delete, however much of it is left: the delete fails, and is complete when there is memory. */
static void test_remote_delete__what_others_use_refuses_nothing(void **state)
{
    (void)state;
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    static struct ts_budget memory; /* until the teardown */
    struct ts_error err = {0};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, 16u << 20);
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .memory = &memory},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .now_ms = k_clock};
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    k_ship(K_HOUR, true, "0:1");
    fill_columns(K_HOUR, 12);
    int rc = -1;
    for (uint64_t left = 1 << 8; rc < 0; left += left / 3) {
        uint64_t others = (16u << 20) - left - atomic_load(&memory.used_bytes);
        bool short_of = left < 8u << 20; /* otherwise it succeeds, however slow the machine is */
        struct sto_remote_call call = k_call_for(short_of ? 150 : 60000);
        int64_t begun_ns = ts_clock_mono_ns();
        ts_budget_force(&memory, others);
        rc = k_remote->ops->delete_range(k_remote, &k_series, base + 1, base + TS_HOUR_MS - 1, &call, &err);
        ts_budget_give(&memory, others);
        bool waited = ts_clock_mono_ns() - begun_ns > 20000000; /* for the memory */
        if (rc < 0 && ((rc != TS_ELIMIT && rc != TS_ETIMEOUT) || !waited))
            fail_msg("%llu bytes: %d %s", (unsigned long long)left, rc, err.text);
        assert_true(left < 16u << 20);
    }
    assert_int_equal(k_expect(K_HOUR, "0s=1"), 1 + 12); /* the annotations */
}

static void put_again(void *arg, const struct fake_hbase_request *r)
{
    (void)arg;
    if (r->call == STO_THRIFT_GET_MULTIPLE)
        k_other(K_HOUR, 's', "10:2");
}

/* Points that another writer puts again all the time are no reason to hold up everything else. */
static void test_remote_delete__points_that_come_back_are_a_refusal(void **state)
{
    (void)state;
    struct ts_error err = {0};
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    k_open(false, false);
    k_ship(K_HOUR, true, "0:1 10:2");
    fake_hbase_set_before(k_fake, put_again, NULL);
    int rc = k_remote->ops->delete_range(k_remote, &k_series, base, base + TS_HOUR_MS - 1, NULL, &err);
    fake_hbase_set_before(k_fake, NULL, NULL);
    assert_int_equal(rc, TS_EINVAL);
    assert_non_null(strstr(err.text, "written again all the time"));
    erase(0, TS_HOUR_MS - 1);
    (void)k_expect(K_HOUR, "");
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_delete__##NAME, k_setup, k_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(deletes_spare_everything_else),
        CASE(the_ends_of_hours),
        CASE(what_was_replaced_stays_replaced),
        CASE(a_long_range_reads_only_what_exists),
        CASE(cells_from_the_future_are_deleted_as_well),
        CASE(rows_that_are_too_large),
        CASE(what_was_replaced_stays_so_in_pieces),
        CASE(rows_that_are_too_many),
        CASE(rows_that_need_too_much_memory),
        CASE(what_others_use_refuses_nothing),
        CASE(points_that_come_back_are_a_refusal),
        CASE(faults_of_deletes),
        CASE(a_refusal_is_told),
        CASE(a_damaged_name_refuses_the_delete),
        CASE(rows_in_another_order),
        CASE(what_follows_is_there_whatever_the_clocks),
        CASE(hidden_points_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
