/*
 * test_remote_ship.c - points in OpenTSDB's data table: their bytes, changes without contradictions, other writers, faults.
 */
#include "tests/unit/hbase/ship_kit.h"

#include <limits.h>
#include <stdatomic.h>

static atomic_int n_contradicting; /* rows of K_HOUR that contradicted themselves before a request */
static int32_t watched;
static atomic_bool fault_contradicts;

static void look(void *arg, const struct fake_hbase_request *r)
{
    (void)arg, (void)r;
    if (k_contradicts(watched))
        atomic_fetch_add(&n_contradicting, 1);
}

static int setup(void **state)
{
    n_contradicting = 0;
    fault_contradicts = false;
    return k_setup(state);
}

/* --- fresh rows --- */

static void expect_cells(int32_t hour, const char *want)
{
    struct k_row *row = ts_xmalloc(sizeof *row);
    struct ts_buf text;
    char hex[2 * T_HEX_BYTES + 1];
    ts_buf_init(&text, 0);
    k_read(hour, row);
    for (size_t i = 0; i < row->n; i++) {
        sto_hbase_hex_print(t_slice(&row->q[i]), hex);
        ts_buf_printf(&text, "%s%.*s=", i ? " " : "", (int)(2 * row->q[i].n), hex);
        sto_hbase_hex_print(t_slice(&row->v[i]), hex);
        ts_buf_printf(&text, "%.*s", (int)(2 * row->v[i].n), hex);
    }
    ts_buf_char(&text, 0);
    assert_string_equal(text.p, want);
    ts_buf_release(&text);
    ts_free(row);
}

static void test_remote_ship__fresh_rows_are_put_without_a_look(void **state)
{
    (void)state;
    k_open(true, false);
    k_ship(K_HOUR, true, "0:42 500ms:1.5 1:257");
    expect_cells(K_HOUR, "0000=2A 0011=0101 F0007D0B=3FC00000");
    k_ship(K_HOUR - 1, true, "0:4 1:5");
    expect_cells(K_HOUR - 1, "00000010=040500");
    k_ship(K_HOUR - 2, true, "7:4");
    expect_cells(K_HOUR - 2, "0070=04");
    k_close();
    k_open(false, false);
    k_ship(K_HOUR - 3, true, "0:4 1:5");
    expect_cells(K_HOUR - 3, "0000=04 0010=05");
    k_close();
    k_open(false, true);
    k_ship(K_HOUR + 1, true, "0:4 1:5");
    expect_cells(K_HOUR + 1, "00000010=040500");
    assert_int_equal(fake_hbase_count_rows(k_fake, STO_THRIFT_PUT_MULTIPLE) >= 5, 1);
    assert_int_equal(fake_hbase_count(k_fake, STO_THRIFT_MUTATE_ROW), 0);
}

/* The timestamps of fresh cells are those of their shipment, whatever HBase's clock says and whenever it executes the put: a copy that comes late is
 * older than what changed the point meanwhile. */
static void test_remote_ship__a_late_copy_of_a_fresh_row_changes_nothing(void **state)
{
    (void)state;
    static const int64_t server_ms[] = {-20000, 0, 20000};
    const int64_t at_ms = ts_clock_ms();
    for (int compacts = 0; compacts < 2; compacts++)
        for (size_t i = 0; i < sizeof server_ms / sizeof *server_ms; i++) {
            int32_t hour = K_HOUR - 10 - (int32_t)i - 10 * compacts;
            struct ts_buf value;
            int64_t ts_ms = 0;
            ts_buf_init(&value, 0);
            struct ts_slice q = compacts ? (struct ts_slice){"\0\0\0\x10", 4} : (struct ts_slice){"\0\0", 2};
            k_open(compacts, false);
            ts_clock_set_fake(at_ms);
            fake_hbase_set_clock(k_fake, at_ms + server_ms[i]);
            k_ship(hour, true, compacts ? "0:4 1:5" : "0:4");
            assert_true(fake_hbase_get(k_fake, "tsdb", k_key(hour), "t", q, &value, &ts_ms));
            assert_int_equal(ts_ms, at_ms);
            ts_clock_set_fake(at_ms + 5000);
            fake_hbase_set_clock(k_fake, at_ms + 5000 + server_ms[i]);
            k_ship(hour, false, compacts ? "0:6" : "0:7");
            fake_hbase_set_clock(k_fake, at_ms + 60000 + server_ms[i]);
            fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", q, ts_buf_get(&value), ts_ms);
            (void)k_expect(hour, compacts ? "0s=6 1s=5" : "0s=7");
            k_close();
            ts_buf_release(&value);
        }
    fake_hbase_set_clock(k_fake, 0);
    ts_clock_set_fake(0);
}

/* --- changes --- */

static const char *const values[] = {"1",   "-2",  "300",        "70000", "5000000000",
                                     "1.5", "0.1", "1065353216", "1.0"};
#define N_VALUES (sizeof values / sizeof *values)
/* What the row had before, by another writer: kinds of k_other; X is the old value at 60 s. */
static const struct {
    char kinds[3];
    const char *points[3];
} befores[] = {
    {"s", {"60:X"}},
    {"s", {"60000ms:X"}},
    {"c", {"0:1 60:X 120:2.5"}},
    {"a", {"0:1 60:X 120:2.5"}},
    {"sc", {"60:X", "0:1 60:X 120:2.5"}},
    {"scs", {"120:2.5", "0:1 60:X", "60000ms:X"}},
    {"sa", {"60:X", "0:1 60:X 120:2.5"}},
    {"cc", {"0:1 60:X", "60:X 120:2.5"}},
};
#define N_BEFORES (sizeof befores / sizeof *befores)

static void fill(char *out, size_t n, const char *pattern, const char *value)
{
    const char *x = strchr(pattern, 'X');
    (void)snprintf(out, n, "%.*s%s%s", (int)(x ? x - pattern : (int)strlen(pattern)), pattern, x ? value : "",
                   x ? x + 1 : "");
}

static void show(char *out, size_t n, const char *value)
{
    struct ts_buf b;
    char points[64];
    (void)snprintf(points, sizeof points, "60:%s", value);
    struct sto_cells c = k_cells(points);
    ts_buf_init(&b, 0);
    t_print_point(&b, c.meta[0], c.m[0]);
    (void)snprintf(out, n, "%.*s", (int)b.n, b.p);
    ts_buf_release(&b);
    sto_cells_release(&c);
}

/* One value over another, in a row of a kind. */
static void overwrite(int32_t hour, size_t before, const char *was, const char *is)
{
    char points[128], shown[64], want[128];
    bool single = befores[before].points[0][0] == '6' && befores[before].kinds[1] == 0;
    for (size_t i = 0; i < 3 && befores[before].kinds[i]; i++) {
        fill(points, sizeof points, befores[before].points[i], was);
        k_other(hour, befores[before].kinds[i], points);
    }
    fake_hbase_put(k_fake, "tsdb", k_key(hour), "t", K_ANNOTATION, TS_SLICE_LIT("{}"), 0);
    watched = hour;
    (void)snprintf(points, sizeof points, "60:%s", is);
    k_ship(hour, false, points);
    show(shown, sizeof shown, is);
    (void)snprintf(want, sizeof want, single ? "%s" : "0s=1 %s 120s=2.5", shown);
    (void)k_expect(hour, want);
    if (n_contradicting)
        fail_msg("the row contradicted itself: %s over %s, row %zu", is, was, before);
    struct ts_buf note;
    ts_buf_init(&note, 0);
    assert_true(fake_hbase_get(k_fake, "tsdb", k_key(hour), "t", K_ANNOTATION, &note, NULL));
    ts_buf_release(&note);
    uint64_t n = k_changes();
    k_ship(hour, false, points); /* equal cells are not written again */
    if (k_changes() != n)
        fail_msg("equal cells are written again: %s over %s, row %zu", is, was, before);
    k_forget(hour);
}

static void overwrite_all(int32_t hour)
{
    fake_hbase_set_before(k_fake, look, NULL);
    k_ship(K_HOUR + 9, true, "0:1"); /* ids */
    for (size_t before = 0; before < N_BEFORES; before++)
        for (size_t was = 0; was < N_VALUES; was++)
            for (size_t is = 0; is < N_VALUES; is++)
                overwrite(hour--, before, values[was], values[is]);
}

static void test_remote_ship__no_overwrite_leaves_contradictions(void **state)
{
    (void)state;
    k_open(false, false);
    overwrite_all(K_HOUR);
}

static void test_remote_ship__nor_in_hours_that_become_one_column(void **state)
{
    (void)state;
    k_open(true, false);
    overwrite_all(K_HOUR - 1);
}

static void test_remote_ship__nor_as_the_only_writer(void **state)
{
    (void)state;
    k_open(false, true);
    overwrite_all(K_HOUR - 1);
}

static void test_remote_ship__a_closed_hour_becomes_one_column(void **state)
{
    (void)state;
    k_open(true, false);
    k_ship(K_HOUR, true, "0:1 10:2");
    k_ship(K_HOUR, true, "20:300");
    k_other(K_HOUR, 's', "30:4");
    assert_int_equal(k_expect(K_HOUR, "0s=1 10s=2 20s=300 30s=4"), 4);
    k_now += TS_HOUR_MS;
    k_ship(K_HOUR, false, "10:2 40:5");
    assert_int_equal(k_expect(K_HOUR, "0s=1 10s=2 20s=300 30s=4 40s=5"), 1);
    k_other(K_HOUR, 'a', "50:6"); /* append columns are left alone */
    k_ship(K_HOUR, false, "60:7");
    assert_int_equal(k_expect(K_HOUR, "0s=1 10s=2 20s=300 30s=4 40s=5 50s=6 60s=7"), 3);
}

/* Several changes of one cell within a millisecond of HBase's clock, which stands still. */
static void test_remote_ship__changes_within_a_millisecond(void **state)
{
    (void)state;
    for (int64_t now_ms = 1000; now_ms < 5000000000000;
         now_ms = now_ms == 1000 ? ts_clock_ms() : now_ms * 10) {
        int32_t hour = K_HOUR - (int32_t)(now_ms % 1000) - 1;
        fake_hbase_set_clock(k_fake, now_ms);
        for (int compacts = 0; compacts < 2; compacts++) {
            k_open(compacts, false);
            k_ship(hour, compacts == 0, "0:1 60:2 120:3");
            for (int i = 0; i < 5; i++) {
                k_ship(hour, false, i % 2 ? "60:2" : "60:70000");
                (void)k_expect(hour, i % 2 ? "0s=1 60s=2 120s=3" : "0s=1 60s=70000 120s=3");
            }
            k_close();
        }
        k_forget(hour);
    }
}

/* --- other writers --- */

struct intruder {
    enum sto_thrift_call call; /* writes before the n-th of these */
    uint64_t n;
    char kind;
    const char *points;
    atomic_int n_times;
};
static void intrude(void *arg, const struct fake_hbase_request *r)
{
    struct intruder *i = arg;
    if (r->call != i->call || atomic_fetch_add(&i->n_times, 1) + 1 != (int)i->n)
        return;
    k_other(K_HOUR, i->kind, i->points);
}

static void intrude_once(const char *own, enum sto_thrift_call call, uint64_t n, char kind,
                         const char *points)
{
    struct intruder i = {.call = call, .n = n, .kind = kind, .points = points};
    fake_hbase_set_before(k_fake, NULL, NULL);
    k_forget(K_HOUR);
    k_other(K_HOUR, 'c', "0:1 60:2 120:3");
    fake_hbase_set_before(k_fake, intrude, &i);
    k_ship(K_HOUR, false, own);
    fake_hbase_set_before(k_fake, NULL, NULL);
}

static void test_remote_ship__what_another_writer_puts_meanwhile_stays(void **state)
{
    (void)state;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    for (uint64_t n = 1; n <= 2; n++) { /* before the first read, and before the look afterwards */
        intrude_once("60:70000", STO_THRIFT_GET_MULTIPLE, n, 's', "90:9");
        (void)k_expect(K_HOUR, "0s=1 60s=70000 90s=9 120s=3");
        intrude_once("60:70000", STO_THRIFT_GET_MULTIPLE, n, 'c', "60:70000 90:9");
        (void)k_expect(K_HOUR, "0s=1 60s=70000 90s=9 120s=3");
    }
    static const enum sto_thrift_call calls[] = {STO_THRIFT_CHECK_AND_MUTATE, STO_THRIFT_PUT_MULTIPLE};
    for (size_t i = 0; i < 2; i++) {
        const char *own = i ? "90:70000" : "60:70000"; /* a put alone, a put and a delete */
        const char *want[2] = {"0s=1 60s=70000 100s=9 120s=3", "0s=1 60s=2 90s=70000 100s=9 120s=3"};
        intrude_once(own, calls[i], 1, 's', "100:9");
        (void)k_expect(K_HOUR, want[i]);
        intrude_once(own, calls[i], 1, 'a', "100:9");
        (void)k_expect(K_HOUR, want[i]);
        intrude_once(own, calls[i], 1, 'c', "100:9 120:3");
        (void)k_expect(K_HOUR, want[i]);
    }
    /* at the time that is shipped: the row has one of the two values, and no contradiction */
    intrude_once("60:70000", STO_THRIFT_CHECK_AND_MUTATE, 1, 's', "60:300");
    assert_false(k_contradicts(K_HOUR));
    intrude_once("90:70000", STO_THRIFT_PUT_MULTIPLE, 1, 's', "90:300");
    assert_false(k_contradicts(K_HOUR));
    intrude_once("60:70000", STO_THRIFT_CHECK_AND_MUTATE, 1, 'c', "0:1 60:5000000000 120:3");
    assert_false(k_contradicts(K_HOUR));
    /* it comes after ours, and wins */
    intrude_once("60:70000", STO_THRIFT_GET_MULTIPLE, 2, 's', "60:300");
    assert_false(k_contradicts(K_HOUR));
}

/* Another writer comes between the change and the look afterwards, with one value that contradicts ours and one that replaces it. */
static void come_between(void *arg, const struct fake_hbase_request *r)
{
    if (r->call != STO_THRIFT_GET_MULTIPLE || atomic_fetch_add((atomic_int *)arg, 1) + 1 != 2)
        return;
    fake_hbase_set_clock(k_fake, ts_clock_ms() + 60000);
    k_other(K_HOUR, 's', "60:300 90:7");
}

static void test_remote_ship__later_values_stay_while_others_are_settled(void **state)
{
    (void)state;
    atomic_int n = 0;
    k_open(false, false);
    k_ship(K_HOUR + 9, true, "0:1");
    k_other(K_HOUR, 'c', "0:1 60:2 120:3");
    fake_hbase_set_before(k_fake, come_between, &n);
    k_ship(K_HOUR, false, "60:70000 90:5");
    fake_hbase_set_before(k_fake, NULL, NULL);
    (void)k_expect(K_HOUR, "0s=1 60s=300 90s=7 120s=3");
}

/* --- faults --- */

#define FAULT_ROWS 6
static void look_at_all(void *arg, const struct fake_hbase_request *r)
{
    (void)arg, (void)r;
    for (int i = 0; i < FAULT_ROWS; i++)
        if (k_contradicts(K_HOUR - i))
            fault_contradicts = true;
}

/* Several rows that need everything: a put, a change, an append, nothing. Returns what the table has then. */
static void ship_all(struct ts_buf *out)
{
    static const char *const points[FAULT_ROWS] = {"0:1 60:2", "60:70000", "60:70000",
                                                   "60:70000", "60:1",     "60:0.1"};
    struct sto_cells cells[FAULT_ROWS];
    struct sto_remote_row rows[FAULT_ROWS];
    k_other(K_HOUR - 1, 's', "60:1");
    k_other(K_HOUR - 2, 'c', "0:1 60:1");
    k_other(K_HOUR - 3, 'a', "0:1 60:1");
    k_other(K_HOUR - 4, 's', "60:1");
    k_other(K_HOUR - 5, 'c', "60:1 120:2");
    k_other(K_HOUR - 5, 's', "60:1");
    for (int i = 0; i < FAULT_ROWS; i++) {
        cells[i] = k_cells(points[i]);
        rows[i] = (struct sto_remote_row){
            .series = k_series, .hour = K_HOUR - i, .cells = &cells[i], .fresh = i == 0};
    }
    struct k_result r = k_ship_rows(rows, FAULT_ROWS);
    if (r.rc < 0 || r.n_refused)
        fail_msg("%s%s", r.err.text, r.why.text);
    for (int i = 0; i < FAULT_ROWS; i++) {
        ts_buf_printf(out, "%d: ", i);
        struct ts_buf text;
        ts_buf_init(&text, 0);
        assert_int_equal(k_text(K_HOUR - i, &text, NULL), 0);
        ts_buf_str(out, text.p);
        ts_buf_release(&text);
        sto_cells_release(&cells[i]);
        k_forget(K_HOUR - i);
    }
    ts_buf_char(out, 0);
}

static void test_remote_ship__a_fault_of_any_request_changes_nothing(void **state)
{
    (void)state;
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP,           FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_HALF,           FAKE_HBASE_IO_ERROR,
                                                   FAKE_HBASE_IO_ERROR_AFTER, FAKE_HBASE_GARBAGE};
    struct ts_buf want, got;
    ts_buf_init(&want, 0);
    ts_buf_init(&got, 0);
    for (int compacts = 0; compacts < 2; compacts++) {
        k_open(compacts, false);
        k_ship(K_HOUR + 9, true, "0:1");
        fake_hbase_set_before(k_fake, look_at_all, NULL);
        ts_buf_clear(&want);
        uint64_t before = fake_hbase_count(k_fake, STO_THRIFT_N_CALLS);
        ship_all(&want);
        unsigned n = (unsigned)(fake_hbase_count(k_fake, STO_THRIFT_N_CALLS) - before);
        assert_in_range(n, 4, 40);
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            for (unsigned skip = 0; skip < n; skip++) {
                fake_hbase_inject(k_fake, (struct fake_hbase_plan){.fault = faults[f], .skip = skip});
                ts_buf_clear(&got);
                ship_all(&got);
                assert_string_equal(got.p, want.p);
                assert_false(fault_contradicts);
                fake_hbase_heal(k_fake);
            }
        k_close();
    }
    assert_true(fake_hbase_faults(k_fake) >= 40);
    ts_buf_release(&want);
    ts_buf_release(&got);
}

static void test_remote_ship__an_hbase_that_is_away_is_an_error(void **state)
{
    (void)state;
    k_open(false, false);
    struct sto_cells c = k_cells("0:1");
    for (int i = 0; i < 3; i++) { /* later ids are known */
        bool fresh = i > 1;
        struct sto_remote_row row = {.series = k_series, .hour = K_HOUR + i, .cells = &c, .fresh = fresh};
        struct sto_remote_call call = k_call_for(300);
        fake_hbase_down(k_fake);
        struct k_result r = k_ship_within(&row, 1, &call);
        assert_true(r.rc == TS_EBACKEND || r.rc == TS_ETIMEOUT);
        assert_int_equal(r.n_refused, 0);
        fake_hbase_up(k_fake);
        k_ship(K_HOUR + i, fresh, "0:1");
        (void)k_expect(K_HOUR + i, "0s=1");
    }
    sto_cells_release(&c);
}

/* --- refusals --- */

static void test_remote_ship__what_hbase_cannot_hold_stops_nothing_else(void **state)
{
    (void)state;
    static const struct sto_remote_tag cyrillic[] = {{{"host", 4}, {"\xd0\xb0", 2}}};
    static const struct sto_remote_tag nine[] = {
        {{"a", 1}, {"v", 1}}, {{"b", 1}, {"v", 1}}, {{"c", 1}, {"v", 1}},
        {{"d", 1}, {"v", 1}}, {{"e", 1}, {"v", 1}}, {{"f", 1}, {"v", 1}},
        {{"g", 1}, {"v", 1}}, {{"h", 1}, {"v", 1}}, {{"i", 1}, {"v", 1}}};
    struct sto_cells good = k_cells("0:1"), nan = k_cells("0:1.5");
    nan.meta[0] = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, false);
    nan.m[0] = INT64_C(0x7ff8000000000000);
    struct sto_remote_row rows[] = {{.series = k_series, .hour = K_HOUR, .cells = &good, .fresh = true},
                                    {.series = k_series, .hour = K_HOUR, .cells = &good},
                                    {.series = k_series, .hour = K_HOUR, .cells = &good, .fresh = true},
                                    {.series = k_series, .hour = -5, .cells = &good},
                                    {.series = k_series, .hour = 2000000, .cells = &good},
                                    {.series = k_series, .hour = K_HOUR, .cells = &nan},
                                    {.series = k_series, .hour = K_HOUR - 1, .cells = &good}};
    rows[0].series.tags = cyrillic;
    rows[1].series.tags = nine;
    rows[1].series.n_tags = 9;
    rows[2].series.metric = TS_SLICE_LIT("\1rollup");
    k_open(false, false);
    struct k_result r = k_ship_rows(rows, 7);
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_refused, 6);
    (void)k_expect(K_HOUR - 1, "0s=1");
    assert_int_equal(fake_hbase_cells(k_fake, "tsdb"), 1);
    sto_cells_release(&good);
    sto_cells_release(&nan);
}

/* A row that cannot be read within the limits is set aside, and the others are shipped. */
static void test_remote_ship__a_row_that_is_too_large_stops_nothing_else(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct sto_remote_row rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = (struct sto_remote_row){.series = k_series, .hour = K_HOUR - i, .cells = &c};
    struct sto_thrift_gateway g = {"127.0.0.1", fake_hbase_port(k_fake)};
    static struct ts_budget memory; /* until the teardown */
    struct ts_error err = {0};
    char *large = ts_xcalloc(1, 300000);
    for (int limit = 0; limit < 2; limit++) {
        ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, limit ? 4 << 20 : 0);
        struct sto_hbase_opts opts = {.access = {.gateways = &g,
                                                 .n_gateways = 1,
                                                 .max_reply_bytes = limit ? 0 : 1 << 20,
                                                 .memory = &memory},
                                      .schema = STO_HBASE_SCHEMA_DEFAULT,
                                      .ship_connections = 1,
                                      .now_ms = k_clock};
        assert_int_equal(sto_hbase_open(&opts, &k_remote, &err), 0);
        for (int i = 0; i < (limit ? 16 : 4); i++) /* annotations, which belong to the row */
            fake_hbase_put(k_fake, "tsdb", k_key(K_HOUR - 1), "t",
                           (struct ts_slice){(const char[]){1, 0, (char)i}, 3},
                           (struct ts_slice){large, 300000}, 0);
        c.m[0] = 7 + limit;
        struct k_result r = k_ship_rows(rows, 3);
        if (r.rc < 0)
            fail_msg("%s", r.err.text);
        assert_int_equal(r.n_refused, 1);
        assert_true(strstr(r.why.text, "too large to be changed") != NULL);
        assert_true(strstr(r.why.text, limit ? "hbase_memory_bytes" : "hbase_max_reply_bytes") != NULL);
        (void)k_expect(K_HOUR, limit ? "0s=8" : "0s=7");
        (void)k_expect(K_HOUR - 2, limit ? "0s=8" : "0s=7");
        k_close();
    }
    ts_free(large);
    sto_cells_release(&c);
}

static struct k_result ship_hours(int32_t first, size_t n, bool fresh, struct sto_cells *c)
{
    struct sto_remote_row rows[16];
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct sto_remote_row){
            .series = k_series, .hour = first + (int32_t)i, .cells = c, .fresh = fresh};
    return k_ship_rows(rows, n);
}

static void test_remote_ship__a_row_that_hbase_refuses_is_set_aside(void **state)
{
    (void)state;
    struct sto_cells c = k_cells("0:1");
    struct fake_hbase_plan all = {
        .fault = FAKE_HBASE_FINAL_ERROR, .of_call = true, .call = STO_THRIFT_PUT_MULTIPLE, .n = UINT_MAX};
    k_open(false, false);
    k_ship(K_HOUR + 20, true, "0:1");
    for (int fresh = 0; fresh < 2; fresh++) {
        int32_t first = fresh ? K_HOUR : K_HOUR - 100;
        /* 8 rows fail, then the first half of them, and so on down to the first row; fresh ones were sent once more before */
        struct fake_hbase_plan some = {.fault = FAKE_HBASE_FINAL_ERROR,
                                       .of_call = true,
                                       .call = STO_THRIFT_PUT_MULTIPLE,
                                       .n = fresh ? 5 : 4};
        fake_hbase_inject(k_fake, some);
        struct k_result r = ship_hours(first, 8, fresh, &c);
        fake_hbase_heal(k_fake);
        assert_int_equal(r.rc, 0);
        assert_int_equal(r.n_refused, 1);
        (void)k_expect(first, "");
        for (int i = 1; i < 8; i++)
            (void)k_expect(first + i, "0s=1");
    }
    fake_hbase_inject(k_fake, all); /* every row: something else is wrong */
    struct k_result r = ship_hours(K_HOUR - 50, 10, true, &c);
    assert_int_equal(r.rc, TS_EBACKEND);
    assert_int_equal(r.n_refused, 0);
    sto_cells_release(&c);
}

/* --- options --- */

static void test_remote_ship__wrong_options_are_named(void **state)
{
    (void)state;
    struct sto_thrift_gateway good = {"h", "1"}, bad = {"h", "x"};
    struct sto_hbase_opts usual = {.access = {.gateways = &good, .n_gateways = 1},
                                   .schema = STO_HBASE_SCHEMA_DEFAULT};
    struct sto_remote *r;
    struct ts_error err = {0};
    struct sto_hbase_opts wrong[9] = {usual, usual, usual, usual, usual, usual, usual, usual, usual};
    static const char *const keys[9] = {
        "hbase_gateways",         "hbase_gateways",           "hbase_max_connections",
        "hbase_ship_connections", "hbase_scan_connections",   "hbase_meta_table",
        "hbase_timeout_ms",       "hbase_connect_timeout_ms", "hbase_max_reply_bytes"};
    wrong[0].access.n_gateways = 0;
    wrong[1].access.gateways = &bad;
    wrong[2].access.max_connections = 2;
    wrong[3].ship_connections = 7;
    wrong[4].scan_connections = 9;
    wrong[5].tables.meta = "a b";
    wrong[6].access.timeout_ms = -1;
    wrong[7].access.connect_timeout_ms = STO_HBASE_WAIT_MAX_MS + 1;
    wrong[8].access.max_reply_bytes = 1;
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(sto_hbase_open(&wrong[i], &r, &err), TS_EINVAL);
        if (!strstr(err.text, keys[i]))
            fail_msg("%s is not in: %s", keys[i], err.text);
    }
    assert_int_equal(sto_hbase_open(&usual, &r, &err), 0);
    assert_false(r->ops->abilities(r)->exact);
    assert_int_equal(r->ops->abilities(r)->max_tags, 8);
    r->ops->close(r);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(test_remote_ship__##NAME, setup, k_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(fresh_rows_are_put_without_a_look),
        CASE(a_late_copy_of_a_fresh_row_changes_nothing),
        CASE(no_overwrite_leaves_contradictions),
        CASE(nor_in_hours_that_become_one_column),
        CASE(nor_as_the_only_writer),
        CASE(a_closed_hour_becomes_one_column),
        CASE(changes_within_a_millisecond),
        CASE(what_another_writer_puts_meanwhile_stays),
        CASE(a_fault_of_any_request_changes_nothing),
        CASE(an_hbase_that_is_away_is_an_error),
        CASE(what_hbase_cannot_hold_stops_nothing_else),
        CASE(a_row_that_hbase_refuses_is_set_aside),
        CASE(wrong_options_are_named),
        CASE(later_values_stay_while_others_are_settled),
        CASE(a_row_that_is_too_large_stops_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
