/*
 * test_remote_histogram.c - histograms in OpenTSDB's data table: their bytes, buckets that come apart, other writers, reading, deleting.
 */
#include "tests/unit/hbase/ship_kit.h"

#include "storage/internal.h"

/* At 30 s of K_HOUR: buckets 1..2: 5 and 2..3: 300, underflow 0, overflow 1, codec 42 (docs/OPENTSDB.md, section 10.5). */
#define KNOWN "2A 0002 3F800000 40000000 05 40000000 40400000 AC02 00 01"

static void open_codec(int codec)
{
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .max_connections = 12},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .ship_connections = 6,
                                  .histogram_codec = codec,
                                  .now_ms = k_clock};
    struct ts_error err = {0};
    if (sto_hbase_open(&opts, &k_remote, &err) < 0)
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    (void)k_setup(state);
    open_codec(42);
    return 0;
}

/* Rows of a shipment: buckets of the series, each with its points ("500ms:1 30:5"). */
struct buckets {
    struct sto_remote_row row[16];
    struct sto_cells cells[16];
    struct ts_buf name[16];
    size_t n;
};

static void add(struct buckets *b, const char *bucket, const char *points)
{
    size_t i = b->n++;
    ts_buf_init(&b->name[i], 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_HISTOGRAM, k_series.metric, ts_slice_str(bucket)},
                      &b->name[i]);
    b->cells[i] = k_cells(points);
    b->row[i] =
        (struct sto_remote_row){.series = k_series, .hour = K_HOUR, .cells = &b->cells[i], .fresh = true};
    b->row[i].series.metric = ts_buf_get(&b->name[i]);
    b->row[i].series.key = 100 + i;
}

static void release(struct buckets *b)
{
    for (size_t i = 0; i < b->n; i++) {
        ts_buf_release(&b->name[i]);
        sto_cells_release(&b->cells[i]);
    }
    *b = (struct buckets){.n = 0};
}

static void ship(struct buckets *b)
{
    struct k_result r = k_ship_rows(b->row, b->n);
    if (r.rc < 0 || r.n_refused)
        fail_msg("%s%s", r.err.text, r.why.text);
}

static void ship_one(const char *bucket, const char *points)
{
    struct buckets b = {.n = 0};
    add(&b, bucket, points);
    ship(&b);
    release(&b);
}

static void put(const char *qualifier, const char *value)
{
    struct t_bytes q = t_hex(qualifier), v = t_hex(value);
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t", t_slice(&q), t_slice(&v), 0);
}

static void expect(const char *qualifier, const char *value)
{
    struct t_bytes q = t_hex(qualifier);
    struct ts_buf out;
    ts_buf_init(&out, 0);
    if (!fake_hbase_get(k_fake, "tsdb", k_key(K_HOUR), "t", t_slice(&q), &out, NULL))
        fail_msg("there is no cell %s", qualifier);
    t_assert_hex(out.p, out.n, value);
    ts_buf_release(&out);
}

/* Ids of the names, so that other writers' rows are those of the series. */
static void make_ids(void)
{
    k_ship(K_HOUR + 9, true, "0:1");
}

/* --- writing --- */

static void test_remote_histogram__bytes_are_those_of_opentsdb(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    add(&b, "u", "500ms:7 30:0");
    add(&b, "2.0,3.0", "30:300");
    add(&b, "o", "500ms:0 30:1");
    add(&b, "1.0,2.0", "30:5");
    ship(&b);
    release(&b);
    expect("06001E", KNOWN);
    expect("06000001F4", "2A 0000 07 00");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 2);
}

static void test_remote_histogram__buckets_may_come_apart(void **state)
{
    (void)state;
    ship_one("2.0,3.0", "30:300");
    expect("06001E", "2A 0001 40000000 40400000 AC02 00 00");
    ship_one("u", "30:0");
    ship_one("1.0,2.0", "30:4");
    ship_one("o", "30:1");
    ship_one("1.0,2.0", "30:5"); /* sent again, with another count */
    expect("06001E", KNOWN);
    uint64_t n = fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT);
    ship_one("1.0,2.0", "30:5");
    assert_int_equal(fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT), n); /* nothing has changed */
}

static void *ship_in_thread(void *arg)
{
    struct buckets b = {.n = 0};
    char points[64], name[32];
    int at = *(const int *)arg;
    (void)snprintf(name, sizeof name, "%d.0,%d.0", at, at + 1);
    (void)snprintf(points, sizeof points, "30:%d 31:%d 32:%d", at + 1, at + 1, at + 1);
    add(&b, name, points);
    ship(&b);
    release(&b);
    return NULL;
}

static void test_remote_histogram__shipments_at_the_same_time_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[6];
    int numbers[6];
    make_ids();
    for (int i = 0; i < 6; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, ship_in_thread, &numbers[i]), 0);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    static const char all[] =
        "2A 0006 00000000 3F800000 01 3F800000 40000000 02 40000000 40400000 03 40400000 40800000 04 "
        "40800000 40A00000 05 40A00000 40C00000 06 00 00";
    expect("06001E", all);
    expect("06001F", all);
    expect("060020", all);
}

/* --- other writers --- */

static void test_remote_histogram__what_others_wrote_stays(void **state)
{
    (void)state;
    make_ids();
    put("0600007530", KNOWN);       /* 30 s, in ms */
    put("060001", "07 0000 01 01"); /* of another codec */
    put("060002", "2A 0001");       /* damaged */
    put("0000", "2A");              /* a point */
    ship_one("1.0,2.0", "1:9 2:9 30:9");
    expect("0600007530", "2A 0002 3F800000 40000000 09 40000000 40400000 AC02 00 01");
    expect("060001", "2A 0001 3F800000 40000000 09 00 00");
    expect("060002", "2A 0001 3F800000 40000000 09 00 00");
    expect("0000", "2A");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 5);
}

static void other_writer(void *arg, const struct fake_hbase_request *r)
{
    _Atomic int *left = arg;
    if (r->call == STO_THRIFT_CHECK_AND_PUT && atomic_fetch_sub(left, 1) > 0)
        put("06001E", *left % 2 ? KNOWN : "2A 0001 40400000 40800000 01 00 00");
}

static void test_remote_histogram__a_change_in_between_is_kept(void **state)
{
    (void)state;
    _Atomic int left = 3;
    make_ids();
    fake_hbase_set_before(k_fake, other_writer, &left);
    ship_one("1.0,2.0", "30:9");
    fake_hbase_set_before(k_fake, NULL, NULL);
    expect("06001E", "2A 0002 3F800000 40000000 09 40400000 40800000 01 00 00");
}

static void test_remote_histogram__faults_are_repeated(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP, FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_IO_ERROR, FAKE_HBASE_IO_ERROR_AFTER};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fake_hbase_inject(k_fake, (struct fake_hbase_plan){
                                      .fault = faults[i], .of_call = true, .call = STO_THRIFT_CHECK_AND_PUT});
        ship_one("u", "30:0");
        ship_one("o", "30:1");
        ship_one("1.0,2.0", "30:5");
        ship_one("2.0,3.0", "30:300");
        expect("06001E", KNOWN);
        k_forget(K_HOUR);
    }
}

/* A gateway that answers with the rows in another order: none is compared with the cells of another one. */
static void test_remote_histogram__rows_in_another_order(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    make_ids();
    put("06001E", KNOWN);
    add(&b, "1.0,2.0", "30:6");
    add(&b, "1.0,2.0", "30:7");
    b.row[1].hour = K_HOUR + 1;
    uint64_t n = fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT);
    k_reverse_rows();
    struct sto_remote_call call = k_call_for(300);
    struct k_result r = k_ship_within(b.row, b.n, &call);
    assert_true(r.rc == TS_EBACKEND || r.rc == TS_ETIMEOUT);
    assert_int_equal(fake_hbase_count(k_fake, STO_THRIFT_CHECK_AND_PUT), n);
    expect("06001E", KNOWN);
    fake_hbase_heal(k_fake);
    ship(&b);
    release(&b);
    expect("06001E", "2A 0002 3F800000 40000000 06 40000000 40400000 AC02 00 01");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 3);
}

static void test_remote_histogram__what_cannot_be_stored_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"1.0,2.0", "30:-1"}, {"1.0,2.0", "30:1.5"}, {"1.0,2.0", "30:72057594037927936"}, {"x", "30:1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buckets b = {.n = 0};
        add(&b, bad[i][0], bad[i][1]);
        add(&b, "o", "30:1");
        struct k_result r = k_ship_rows(b.row, b.n);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 1);
        assert_true(r.why.text[0]);
        release(&b);
    }
    expect("06001E", "2A 0000 00 01");
    k_close();
    open_codec(-1);
    struct buckets b = {.n = 0};
    add(&b, "o", "30:1");
    struct k_result r = k_ship_rows(b.row, b.n);
    assert_int_equal(r.n_refused, 1);
    assert_non_null(strstr(r.why.text, "histograms_config"));
    release(&b);
}

/* --- reading --- */

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct ts_buf *out = arg;
    struct sto_internal name;
    (void)err;
    assert_true(sto_internal_parse(row->series.metric, &name));
    assert_true(ts_slice_is(name.metric, "m") && row->series.n_tags == 1);
    ts_buf_slice(out, name.detail);
    ts_buf_printf(out, pos == SIZE_MAX ? ":" : "@%zu:", pos);
    for (uint32_t i = 0; row->cells && i < row->cells->n; i++) {
        t_print_point(out, row->cells->meta[i], row->cells->m[i]);
    }
    ts_buf_char(out, '\n');
    return 0;
}

static void expect_fetch(struct sto_fetch f, const char *want)
{
    struct ts_buf out;
    struct ts_error err = {0};
    ts_buf_init(&out, 0);
    if (!f.to_ms) {
        f.from_ms = K_HOUR * TS_HOUR_MS;
        f.to_ms = f.from_ms + TS_HOUR_MS - 1;
    }
    if (k_remote->ops->fetch(k_remote, &f, NULL, on_row, &out, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_char(&out, 0);
    assert_string_equal(out.p, want);
    ts_buf_release(&out);
}

#define ALL TS_SLICE_LIT("\1hm\1")
#define ONE                                                                                                  \
    TS_SLICE_LIT("\1hm\1"                                                                                    \
                 "1.0,2.0")

static void test_remote_histogram__reading(void **state)
{
    (void)state;
    struct sto_remote_series bucket = k_series;
    make_ids();
    put("06001E", KNOWN);
    put("06000001F4", "2A 0000 07 00");
    put("06001F", "07 0000 01 01"); /* of another codec */
    put("060020", "2A 0001");       /* damaged */
    put("0000", "2A");              /* a point */
    put("010000", "7B7D");
    static const char all[] = "u: 500ms=7 30s=0\no: 500ms=0 30s=1\n1.0,2.0: 30s=5\n2.0,3.0: 30s=300\n";
    expect_fetch((struct sto_fetch){.metric = ALL, .all_buckets = true}, all);
    expect_fetch((struct sto_fetch){.metric = ALL, .all_buckets = true, .series_only = true},
                 "u:\no:\n1.0,2.0:\n2.0,3.0:\n");
    expect_fetch(
        (struct sto_fetch){
            .metric = ALL, .all_buckets = true, .series = &k_series, .n_series = 1, .series_only = true},
        "u@0:\no@0:\n1.0,2.0@0:\n2.0,3.0@0:\n");
    expect_fetch((struct sto_fetch){.metric = ONE}, "1.0,2.0: 30s=5\n");
    expect_fetch((struct sto_fetch){.metric = ONE, .series_only = true}, "1.0,2.0:\n");
    bucket.metric = ONE;
    expect_fetch((struct sto_fetch){.metric = ONE, .series = &bucket, .n_series = 1}, "1.0,2.0@0: 30s=5\n");
    expect_fetch((struct sto_fetch){.metric = TS_SLICE_LIT("\1hm\1u"),
                                    .from_ms = K_HOUR * TS_HOUR_MS + 1000,
                                    .to_ms = K_HOUR * TS_HOUR_MS + 30000},
                 "u: 30s=0\n");
    expect_fetch((struct sto_fetch){.metric = TS_SLICE_LIT("\1hm\1"
                                                           "5.0,6.0")},
                 "");
    expect_fetch((struct sto_fetch){.metric = TS_SLICE_LIT("\1hn\1u")}, "");
    put("0600007530", "2A 0000 08 09"); /* the same time; the newer one counts */
    expect_fetch((struct sto_fetch){.metric = ALL, .all_buckets = true},
                 "u: 500ms=7 30000ms=8\no: 500ms=0 30000ms=9\n");
}

static void test_remote_histogram__what_is_shipped_is_read(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    add(&b, "u", "500ms:7 30:0");
    add(&b, "o", "500ms:0 30:1");
    add(&b, "-0.5,1.0E10", "30:300");
    ship(&b);
    release(&b);
    expect_fetch((struct sto_fetch){.metric = ALL, .all_buckets = true},
                 "u: 500ms=7 30s=0\no: 500ms=0 30s=1\n-0.5,1.0E10: 30s=300\n");
}

/* --- deleting --- */

static void erase(const char *bucket, int64_t from_s, int64_t to_s)
{
    struct ts_error err = {0};
    struct ts_buf name;
    struct sto_remote_series s = k_series;
    int64_t base = (int64_t)K_HOUR * TS_HOUR_MS;
    ts_buf_init(&name, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_HISTOGRAM, k_series.metric, ts_slice_str(bucket)},
                      &name);
    s.metric = ts_buf_get(&name);
    if (k_remote->ops->delete_range(k_remote, &s, base + from_s * 1000, base + to_s * 1000, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_release(&name);
}

static void test_remote_histogram__deletes(void **state)
{
    (void)state;
    erase("u", 0, 100); /* the series has no id yet */
    make_ids();
    put("06001E", KNOWN);
    put("06000001F4", KNOWN);
    put("060E0F", KNOWN);
    put("01001E", "7B7D");
    put("01E0", "2A");
    erase("o", 0, 3599);
    erase("1.0,2.0", 0, 3599);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 6); /* with that of make_ids */
    erase("u", 1, 3598);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 5);
    erase("u", 0, 3599);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 3);
    expect("01001E", "7B7D");
    expect("01E0", "2A");
    ship_one("o", "30:3"); /* what is put afterwards is there */
    expect("06001E", "2A 0000 00 03");
}

/* A histogram of another writer with a count that tsd could not write: it stops nothing but itself. */
static void test_remote_histogram__a_cell_that_cannot_be_changed_stops_nothing_else(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    make_ids();
    put("06001E", "2A 0001 40000000 40400000 FFFFFFFFFFFFFFFFFF01 00 00"); /* 2^64 - 1 */
    add(&b, "1.0,2.0", "30:5");
    add(&b, "1.0,2.0", "30:5");
    b.row[1].hour = K_HOUR - 1;
    struct k_result r = k_ship_rows(b.row, b.n);
    release(&b);
    if (r.rc < 0)
        fail_msg("the shipment fails: %d %s", r.rc, r.err.text);
    assert_int_equal(r.n_refused, 1);
}

/* A row whose histograms do not fit a reply. */
static void test_remote_histogram__a_row_that_is_too_large_stops_nothing_else(void **state)
{
    (void)state;
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {
        .access = {.gateways = &g, .n_gateways = 1, .max_connections = 12, .max_reply_bytes = 1 << 20},
        .schema = STO_HBASE_SCHEMA_DEFAULT,
        .ship_connections = 1,
        .histogram_codec = 42,
        .now_ms = k_clock};
    struct ts_error err = {0};
    char *large = ts_xcalloc(1, 300000);
    k_close();
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    make_ids();
    for (int i = 0; i < 4; i++)
        fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t",
                       (struct ts_slice){(const char[]){6, 0, (char)i}, 3}, (struct ts_slice){large, 300000},
                       0);
    ts_free(large);
    struct buckets b = {.n = 0};
    add(&b, "1.0,2.0", "30:5");
    add(&b, "1.0,2.0", "30:5");
    b.row[1].hour = K_HOUR - 1;
    struct k_result r = k_ship_rows(b.row, b.n);
    release(&b);
    if (r.rc < 0)
        fail_msg("the shipment fails: %d %s", r.rc, r.err.text);
    assert_int_equal(r.n_refused, 1);
}

/* So does a delete of them: it is refused, as it would fail again. */
static void test_remote_histogram__a_delete_of_too_many_is_refused(void **state)
{
    (void)state;
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    struct sto_hbase_opts opts = {.access = {.gateways = &g, .n_gateways = 1, .max_reply_bytes = 1 << 20},
                                  .schema = STO_HBASE_SCHEMA_DEFAULT,
                                  .histogram_codec = 42,
                                  .now_ms = k_clock};
    struct ts_error err = {0};
    int64_t base = K_HOUR * TS_HOUR_MS;
    k_close();
    assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
    make_ids();
    for (int i = 0; i < 40000; i++)
        fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t",
                       (struct ts_slice){(const char[]){6, (char)(i >> 8), (char)i}, 3}, TS_SLICE_LIT("x"),
                       0);
    struct buckets b = {.n = 0};
    add(&b, "u", "30:0");
    int rc = k_remote->ops->delete_range(k_remote, &b.row[0].series, base, base + TS_HOUR_MS - 1, NULL, &err);
    release(&b);
    assert_int_equal(rc, TS_EINVAL);
    assert_non_null(strstr(err.text, "the row in HBase is too large to be changed"));
}

/* More in two rows than are sent together. */
static void test_remote_histogram__many(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    struct ts_buf text;
    ts_buf_init(&text, 0);
    make_ids();
    for (int i = 0; i < 1200; i++)
        ts_buf_printf(&text, "%s%d:1", i ? " " : "", i * 3);
    ts_buf_char(&text, 0);
    add(&b, "1.0,2.0", text.p);
    add(&b, "1.0,2.0", text.p);
    b.row[1].hour = K_HOUR - 1;
    size_t before = fake_hbase_cells(k_fake, "tsdb");
    ship(&b);
    release(&b);
    ts_buf_release(&text);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), before + 2400);
}

/* A row whose turn comes when a round has as many changes as it may have: its histograms are written all the same. */
static void test_remote_histogram__a_row_behind_a_full_round(void **state)
{
    (void)state;
    struct buckets b = {.n = 0};
    struct ts_buf text;
    ts_buf_init(&text, 0);
    make_ids();
    for (int i = 0; i < 1024; i++)
        ts_buf_printf(&text, "%s%d:1", i ? " " : "", i * 3);
    ts_buf_char(&text, 0);
    add(&b, "1.0,2.0", text.p);
    b.row[0].hour = K_HOUR - 1;
    add(&b, "1.0,2.0", "30:9");
    size_t before = fake_hbase_cells(k_fake, "tsdb");
    ship(&b);
    release(&b);
    ts_buf_release(&text);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), before + 1024 + 1);
    expect("06001E", "2A 0001 3F800000 40000000 09 00 00");
}

/* More than all rounds together may change where others change the same: a full round counts as none of these. */
static void test_remote_histogram__more_than_many_rounds(void **state)
{
    (void)state;
    enum { ROWS = 10, OF_ROW = 3600 }; /* 36,000; 1,024 in a round, and 32 rounds */
    struct buckets b = {.n = 0};
    struct ts_buf text;
    ts_buf_init(&text, 0);
    make_ids();
    for (int i = 0; i < OF_ROW; i++)
        ts_buf_printf(&text, "%s%d:1", i ? " " : "", i);
    ts_buf_char(&text, 0);
    for (int i = 0; i < ROWS; i++) {
        add(&b, "1.0,2.0", text.p);
        b.row[i].hour = K_HOUR - i;
    }
    size_t before = fake_hbase_cells(k_fake, "tsdb");
    ship(&b);
    release(&b);
    ts_buf_release(&text);
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), before + ROWS * OF_ROW);
}

/* Cells of writers whose clocks are ahead: what changes them is newer. */
static void test_remote_histogram__cells_from_the_future(void **state)
{
    (void)state;
    static const char others[] = "07 0000 01 01"; /* of another codec */
    struct t_bytes known = t_hex(KNOWN), other = t_hex(others);
    int64_t future_ms = ts_clock_ms() + 1000000000;
    make_ids();
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t", TS_SLICE_LIT("\6\0\x1e"), t_slice(&known), future_ms);
    fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR), "t", TS_SLICE_LIT("\6\0\x1f"), t_slice(&other), future_ms);
    ship_one("1.0,2.0", "30:9 31:9");
    expect("06001E", "2A 0002 3F800000 40000000 09 40000000 40400000 AC02 00 01");
    expect("06001F", "2A 0001 3F800000 40000000 09 00 00");
}

/* Of a range that a stored histogram has twice the last one counts. */
static void test_remote_histogram__equal_ranges(void **state)
{
    (void)state;
    make_ids();
    put("06001E", "2A 0002 3F800000 40000000 05 3F800000 40000000 06 00 00");
    ship_one("2.0,3.0", "30:9");
    expect("06001E", "2A 0002 3F800000 40000000 06 40000000 40400000 09 00 00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_histogram__##NAME, setup, k_teardown)
        CASE(bytes_are_those_of_opentsdb),
        CASE(buckets_may_come_apart),
        CASE(shipments_at_the_same_time_lose_nothing),
        CASE(what_others_wrote_stays),
        CASE(a_change_in_between_is_kept),
        CASE(faults_are_repeated),
        CASE(rows_in_another_order),
        CASE(what_cannot_be_stored_is_refused),
        CASE(reading),
        CASE(what_is_shipped_is_read),
        CASE(deletes),
        CASE(a_delete_of_too_many_is_refused),
        CASE(many),
        CASE(a_row_behind_a_full_round),
        CASE(more_than_many_rounds),
        CASE(cells_from_the_future),
        CASE(equal_ranges),
        CASE(a_cell_that_cannot_be_changed_stops_nothing_else),
        CASE(a_row_that_is_too_large_stops_nothing_else),
        CASE(a_delete_of_too_many_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
