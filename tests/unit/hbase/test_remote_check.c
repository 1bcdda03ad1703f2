/*
 * test_remote_check.c - each kind of damage of OpenTSDB's data table is found, repaired, and gone in the second run; good points stay.
 */
#include "tests/unit/hbase/check_kit.h"

/* --- rows --- */

/* Put a cell "QUALIFIER VALUE @TIMESTAMP"; the timestamp is added to OLD_MS. */
static void put(const struct t_bytes *key, const char *cell)
{
    struct t_row row = {.n = 0};
    t_row_add(&row, cell);
    fake_hbase_put(t.fake, "tsdb", t_slice(key), "t", row.cell[0].qualifier, row.cell[0].value,
                   OLD_MS + row.cell[0].ts_ms);
}

/* A row with damage. */
struct damage {
    const char *cells[6];
    unsigned fixes;     /* the least that repairs it */
    const char *found;  /* by the first check */
    const char *points; /* that a query returns afterwards */
};
#define APPENDS "050000"
static const struct damage damages[] = {
    {{"000B 0000000040866666"}, STO_HBASE_FIX, "old_encoding=1/0", "0s=4.199999809265137"},
    {{"000B FFFFFFFF43FA6666"}, STO_HBASE_FIX, "old_encoding=1/0", "0s=500.79998779296875"},
    {{"000B FB02F40F43FA6666", "0010 01"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "1s=1"},
    {{"000F 43FA6666", "0010 01"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "1s=1"},
    {{"000B 7F800000", "0010 01"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "1s=1"},
    {{"0005 010203", "0010 01"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "1s=1"},
    {{"0003 0000000000000005"}, STO_HBASE_FIX, "old_encoding=1/0 long_integer=1/0", "0s=5"},
    {{"0007 0000000000000005"}, STO_HBASE_FIX, "long_integer=1/0", "0s=5"},
    {{"F0007D07 FFFFFFFFFFFFFFFB"}, STO_HBASE_FIX, "long_integer=1/0", "500ms=-5"},
    /* compacted columns */
    {{"00070017 0000000000000004000000000000000500"}, STO_HBASE_FIX, "long_integer=2/0", "0s=4 1s=5"},
    {{"00100000 020100"}, STO_HBASE_FIX, "irregular_column=1/0", "0s=1 1s=2"},
    {{"00000010 010207"}, STO_HBASE_FIX, "irregular_column=1/0", "0s=1 1s=2"},
    {{"00000010 0102", "0020 03"}, STO_HBASE_DELETE_COLUMNS, "bad_column=1/0", "2s=3"},
    {{"00000012 010200", "0020 03"}, STO_HBASE_DELETE_COLUMNS, "bad_column=1/0", "2s=3"},
    /* a point of a column that cannot be read does not take the others with it */
    {{"0000001B0020 017F8000000300"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "0s=1 2s=3"},
    /* several points of one time */
    {{"0000 01 @1", "0001 0102 @2"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0s=258"},
    {{"0000 01 @1", "0001 0102 @2"}, STO_HBASE_FIX_OLDEST, "duplicate_point=1/0", "0s=1"},
    {{"0000 01 @1", "F0000000 02 @2"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0ms=2"},
    {{"00000010 010200 @1", "0010 03 @2"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0s=1 1s=3"},
    {{"00000010 010200 @1", "0010 03 @2"}, STO_HBASE_FIX_OLDEST, "duplicate_point=1/0", "0s=1 1s=2"},
    {{"00000010 010200 @2", "0010 03 @1"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0s=1 1s=2"},
    /* what remains of the column has the qualifier of the cell that goes */
    {{"00000010 010200 @3", "0000 09 @5", "0010 08 @1"},
     STO_HBASE_FIX_NEWEST,
     "duplicate_point=2/0",
     "0s=9 1s=2"},
    {{"00000010 010200 @3", "0000 09 @1", "0010 08 @5"},
     STO_HBASE_FIX_OLDEST,
     "duplicate_point=2/0",
     "0s=9 1s=2"},
    {{"00000000 010200"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0s=2"},
    {{"00000000 010100"}, STO_HBASE_FIX, "repeated_point=1/0", "0s=1"},
    {{"00000010 010200 @1", "0010 02 @2"}, STO_HBASE_FIX, "repeated_point=1/0", "0s=1 1s=2"},
    /* append columns */
    {{APPENDS " 001002000001"}, STO_HBASE_FIX, "unsorted_appends=1/0", "0s=1 1s=2"},
    {{APPENDS " 000001001002001003"}, STO_HBASE_FIX, "unsorted_appends=1/0", "0s=1 1s=3"},
    {{APPENDS " 00000100100200", "0020 03"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "0s=1 1s=2 2s=3"},
    {{APPENDS " 000001001002 @1", "0010 03 @2"}, STO_HBASE_FIX_NEWEST, "duplicate_point=1/0", "0s=1 1s=3"},
    {{APPENDS " 000001001002 @1", "0010 03 @2"}, STO_HBASE_FIX_OLDEST, "duplicate_point=1/0", "0s=1 1s=2"},
    /* other columns */
    {{"00 01", "0020 03"}, STO_HBASE_DELETE_UNKNOWN, "unknown_column=1/0", "2s=3"},
    {{" 01", "0020 03"}, STO_HBASE_DELETE_UNKNOWN, "unknown_column=1/0", "2s=3"},
    {{"01000000000000 01", "0020 03"}, STO_HBASE_DELETE_UNKNOWN, "unknown_column=1/0", "2s=3"},
    {{"010000 7B", "0020 03"}, STO_HBASE_DELETE_COLUMNS, "bad_annotation=1/0", "2s=3"},
    {{"060000 ", "0020 03"}, STO_HBASE_DELETE_VALUES, "bad_value=1/0", "2s=3"},
};

static void expect_points(uint32_t hour, const char *want)
{
    struct sto_fetch f = {.metric = TS_SLICE_LIT("m1"),
                          .from_ms = hour * TS_HOUR_MS,
                          .to_ms = hour * TS_HOUR_MS + TS_HOUR_MS - 1};
    char line[256];
    (void)snprintf(line, sizeof line, "m1 k1=v1 hour=%u: %s\n", hour, want);
    t_expect_fetch(&t, &f, line);
}

static void one_damage(const struct damage *d, uint32_t hour)
{
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), hour);
    for (size_t i = 0; i < 6 && d->cells[i]; i++)
        put(&key, d->cells[i]);
    expect(0, d->found);
    char all[200];
    size_t n = 0; /* after the repair as many as before: "a=2/0" to "a=2/2" */
    for (const char *p = d->found; *p; p++) {
        all[n++] = *p;
        if (*p == '/') {
            all[n] = all[n - 2];
            n++;
            p++;
        }
    }
    all[n] = 0;
    expect(d->fixes | STO_HBASE_FIX, all);
    expect(0, "");
    expect(FULL | STO_HBASE_COMPACT, "");
    expect_points(hour, d->points);
}

static void test_remote_check__damage_of_rows_is_found_and_repaired(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        open_store(i % 2 ? SALTED : PLAIN);
        t_fetch_names(&t, 1, 1, 1);
        t_put(&t, T_PAIRS(1, 1), 9, "0000 07"); /* a good row before, and one after it */
        t_put(&t, T_PAIRS(1, 1), 11, "00000010 010200");
        one_damage(&damages[i], 10);
        expect_points(9, "0s=7");
        expect_points(11, "0s=1 1s=2");
        t_fetch_close(&t);
    }
}

/* --- rows as a whole --- */

static void test_remote_check__rows_that_no_series_has(void **state)
{
    (void)state;
    open_store(SALTED);
    t_fetch_names(&t, 2, 1, 1);
    struct t_bytes wrong = t_key(&t, T_PAIRS(1, 1), 10), unaligned = wrong,
                   orphan = t_key(&t, T_PAIRS(1, 7), 10);
    struct t_bytes lengthy = t_hex("08000001 00008CA0 000001000001 00"), many = t_hex("08000001 00008CA0");
    for (int i = 0; i < 54; i++)
        many.p[many.n++] = 1;
    t_put(&t, T_PAIRS(1, 1), 10, "0000 07");
    wrong.p[0] ^= 1;
    unaligned.p[7] ^= 1;
    put(&wrong, "0000 01");
    put(&unaligned, "0000 01");
    put(&lengthy, "0000 01");
    put(&many, "0000 01");
    put(&orphan, "0000 01");
    put(&orphan, "010000 7B7D");
    struct t_bytes global = t_hex("00000000 00008CA0");
    put(&global, "010000 7B7D");
    struct sto_hbase_check_result res = expect(0, "bad_key=3/0 wrong_salt=1/0 orphan=1/0");
    assert_int_equal(res.n_rows, 7);
    assert_int_equal(res.n_annotations, 2);
    expect(STO_HBASE_FIX, "bad_key=3/0 wrong_salt=1/1 orphan=1/0");
    /* a row of nine tags is one of OpenTSDB's, if its tsd.storage.max_tags permits it */
    expect(FULL, "bad_key=3/2 orphan=1/1");
    expect(FULL, "bad_key=1/0");
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 3);
    t_fetch_close(&t);
}

/* --- rows in the bucket of another series --- */

static struct sto_hbase_check_result run_check(unsigned fixes)
{
    struct sto_hbase_check_result res = {0};
    struct sto_hbase_check_opts o = STO_HBASE_CHECK_ALL;
    struct ts_error err = {0};
    o.fixes = fixes;
    if (sto_hbase_check_data(t.remote, &o, NULL, &res, &err) < 0)
        fail_msg("%s", err.text);
    return res;
}

/* The key of the row of the test, in the wrong bucket. */
static struct t_bytes wrong_key(uint32_t hour)
{
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), hour);
    key.p[0] ^= 1;
    return key;
}

static void test_remote_check__rows_move_to_the_bucket_of_their_series(void **state)
{
    static const struct {
        const char *wrong[5], *right[5], *points;
        size_t n_cells; /* afterwards */
    } rows[] = {
        {{"0000 01", "0010 02", "010000 7B7D"}, {NULL}, "0s=1 1s=2", 3},
        {{"0000 01 @2", "0010 02 @1"}, {"0000 07 @1", "0010 08 @2", "0020 03"}, "0s=1 1s=8 2s=3", 3},
        {{"00000010 010200"}, {"00000010 030400 @1"}, "0s=3 1s=4", 1},
        {{APPENDS " 000001001002"}, {NULL}, "0s=1 1s=2", 1},
        {{APPENDS " 000001001002 @1"}, {APPENDS " 001003002004 @2"}, "0s=1 1s=3 2s=4", 1},
        {{APPENDS " 000001001002 @3"}, {APPENDS " 001003002004 @2", "0030 05"}, "0s=1 1s=2 2s=4 3s=5", 2},
        {{"060000 0001", "F0007D00 05"}, {NULL}, "500ms=5", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_store(SALTED);
        t_fetch_names(&t, 1, 1, 1);
        struct t_bytes wrong = wrong_key(10), right = t_key(&t, T_PAIRS(1, 1), 10);
        for (size_t k = 0; k < 5 && rows[i].wrong[k]; k++)
            put(&wrong, rows[i].wrong[k]);
        for (size_t k = 0; k < 5 && rows[i].right[k]; k++)
            put(&right, rows[i].right[k]);
        struct sto_hbase_check_result res = run_check(0);
        assert_int_equal(res.n_found[STO_HBASE_WRONG_SALT], 1);
        res = run_check(STO_HBASE_FIX);
        assert_int_equal(res.n_fixed[STO_HBASE_WRONG_SALT], 1);
        res = run_check(STO_HBASE_FIX);
        assert_int_equal(res.n_found[STO_HBASE_WRONG_SALT], 0);
        assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), rows[i].n_cells);
        expect_points(10, rows[i].points);
        t_fetch_close(&t);
    }
}

/* What another writer does before a request of the move. */
struct mover {
    enum sto_thrift_call call;
    struct t_bytes key;
    const char *cell;
    bool done;
};

static void write_while_moving(void *arg, const struct fake_hbase_request *r)
{
    struct mover *m = arg;
    if (m->done || r->call != m->call || !r->table.n || !ts_slice_is(r->table, "tsdb"))
        return;
    m->done = true;
    put(&m->key, m->cell);
}

static void test_remote_check__a_row_that_is_written_while_it_moves(void **state)
{
    (void)state;
    struct mover m;
    /* a later point in the old row stays for the next run */
    open_store(SALTED);
    t_fetch_names(&t, 1, 1, 1);
    struct t_bytes wrong = wrong_key(10), right = t_key(&t, T_PAIRS(1, 1), 10);
    put(&wrong, "0000 01");
    m = (struct mover){STO_THRIFT_DELETE_SINGLE, wrong, "0000 09 @5", false};
    fake_hbase_set_before(t.fake, write_while_moving, &m);
    run_check(STO_HBASE_FIX);
    assert_true(m.done);
    fake_hbase_set_before(t.fake, NULL, NULL);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 2);
    assert_int_equal(run_check(STO_HBASE_FIX).n_fixed[STO_HBASE_WRONG_SALT], 1);
    expect_points(10, "0s=9");
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 1);
    t_fetch_close(&t);
    /* an append to the new row between reading and writing: nothing is deleted, and the next run joins both */
    open_store(SALTED);
    t_fetch_names(&t, 1, 1, 1);
    put(&wrong, APPENDS " 000001");
    m = (struct mover){STO_THRIFT_CHECK_AND_PUT, right, APPENDS " 001002 @7", false};
    fake_hbase_set_before(t.fake, write_while_moving, &m);
    assert_int_equal(run_check(STO_HBASE_FIX).n_fixed[STO_HBASE_WRONG_SALT], 0);
    assert_true(m.done);
    fake_hbase_set_before(t.fake, NULL, NULL);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 2);
    assert_int_equal(run_check(STO_HBASE_FIX).n_fixed[STO_HBASE_WRONG_SALT], 1);
    expect_points(10, "0s=1 1s=2");
    t_fetch_close(&t);
    /* deletes of the past would hide what is moved */
    open_store(SALTED);
    t_fetch_names(&t, 1, 1, 1);
    put(&wrong, "0000 01");
    put(&right, "0000 07");
    fake_hbase_set_clock(t.fake, OLD_MS + 100);
    fake_hbase_delete(t.fake, "tsdb", t_slice(&right), "t", TS_SLICE_LIT("\0\0"));
    assert_int_equal(run_check(STO_HBASE_FIX).n_fixed[STO_HBASE_WRONG_SALT], 0);
    expect_points(10, "0s=1");
    t_fetch_close(&t);
    /* what was written just now is left alone */
    open_store(SALTED);
    t_fetch_names(&t, 1, 1, 1);
    struct t_row now = {.n = 0};
    t_row_add(&now, "0000 01");
    fake_hbase_put(t.fake, "tsdb", t_slice(&wrong), "t", now.cell[0].qualifier, now.cell[0].value, NOW_MS);
    struct sto_hbase_check_result res = run_check(STO_HBASE_FIX);
    assert_true(res.n_fixed[STO_HBASE_WRONG_SALT] == 0 && res.n_too_new == 1);
    t_fetch_close(&t);
}

static void test_remote_check__rows_become_one_column(void **state)
{
    (void)state;
    open_store(PLAIN);
    t_fetch_names(&t, 1, 1, 1);
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 10);
    put(&key, "0000 01 @1");
    put(&key, "0010 02 @7");
    put(&key, "F0007D00 03 @3");
    put(&key, "010000 7B7D @2");
    struct sto_hbase_check_result res = expect(STO_HBASE_FIX | STO_HBASE_COMPACT, "");
    assert_int_equal(res.n_compacted, 1);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 2);
    expect_points(10, "0s=1 500ms=3 1s=2");
    res = expect(STO_HBASE_FIX | STO_HBASE_COMPACT, "");
    assert_int_equal(res.n_compacted, 0);
    t_fetch_close(&t);
}

static void test_remote_check__only_what_is_wanted(void **state)
{
    (void)state;
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    struct sto_hbase_check_result res = {0};
    struct ts_error err = {0};
    open_store(SALTED);
    t_fetch_names(&t, 2, 1, 1);
    for (uint32_t hour = 10; hour < 15; hour++)
        t_put(&t, T_PAIRS(1, 1), hour, "0005 010203");
    expect(0, "bad_value=5/0");
    opts.metric = TS_SLICE_LIT("m2");
    expect_with(&opts, false, "");
    opts.metric = TS_SLICE_LIT("m1");
    expect_with(&opts, false, "bad_value=5/0");
    opts.from_ms = 11 * TS_HOUR_MS + 5;
    opts.to_ms = 12 * TS_HOUR_MS;
    expect_with(&opts, false, "bad_value=2/0");
    opts.metric = (struct ts_slice){NULL, 0};
    expect_with(&opts, false, "bad_value=2/0");
    opts.metric = TS_SLICE_LIT("nobody");
    assert_int_equal(sto_hbase_check_data(t.remote, &opts, NULL, &res, &err), TS_ENOTFOUND);
    _Atomic bool cancel = true;
    struct sto_remote_call call = {.cancel = &cancel};
    assert_int_equal(sto_hbase_check_data(t.remote, &STO_HBASE_CHECK_ALL, &call, &res, &err), TS_ECANCELLED);
    assert_int_equal(sto_hbase_check_ids(t.remote, &STO_HBASE_CHECK_ALL, &call, &res, &err), TS_ECANCELLED);
    t_fetch_close(&t);
}

/* More rows than a page has. */
static void test_remote_check__pages(void **state)
{
    (void)state;
    open_store(PLAIN);
    t_fetch_names(&t, 1, 1, 1);
    for (uint32_t hour = 0; hour < 3000; hour++)
        t_put(&t, T_PAIRS(1, 1), hour, hour % 1000 ? "0000 01" : "0005 010203");
    struct sto_hbase_check_result res = expect(STO_HBASE_FIX, "bad_value=3/0");
    assert_int_equal(res.n_rows, 3000);
    assert_int_equal(res.n_points, 2997);
    t_fetch_close(&t);
}

/* A row of so many cells that the memory of the check cannot hold what it makes of them, whatever it is that does not fit, is reported, and those
 * around it are checked. */
static void test_remote_check__rows_of_too_many_cells(void **state)
{
    (void)state;
    uint64_t n_unreadable = 0, n_read = 0;
    for (uint64_t half_mib = 7; half_mib < 30; half_mib++) {
        static struct ts_budget memory; /* until the teardown */
        struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
        struct sto_hbase_check_result res = {0};
        struct ts_error err = {0};
        ts_budget_init(&memory, "hbase", "hbase_memory_bytes", NULL, half_mib << 19);
        check_memory = &memory;
        open_store(PLAIN);
        t_fetch_names(&t, 1, 1, 1);
        for (uint32_t hour = 10; hour < 30; hour++)
            t_put(&t, T_PAIRS(1, 1), hour, "0005 010203");
        struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 20);
        for (uint32_t i = 0; i < 20000; i++) {
            uint8_t q[4] = {0xf0 | (uint8_t)(i >> 18), (uint8_t)(i >> 10), (uint8_t)(i >> 2),
                            (uint8_t)(i << 6)};
            fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", (struct ts_slice){(const char *)q, 4},
                           TS_SLICE_LIT("\1"), 0);
        }
        if (sto_hbase_check_data(t.remote, &opts, NULL, &res, &err) < 0)
            fail_msg("%llu bytes: %s", (unsigned long long)half_mib << 19, err.text);
        uint64_t n = res.n_found[STO_HBASE_UNREADABLE_ROW];
        assert_true(n < 2 && res.n_rows + n == 20);
        n_unreadable += n;
        n_read += n == 0;
        t_fetch_close(&t);
    }
    check_memory = NULL;
    assert_true(n_unreadable > 3 && n_read > 0);
}

/* A row that is larger than a reply may be is reported, and those around it are checked. */
static void test_remote_check__rows_that_are_too_large(void **state)
{
    (void)state;
    struct t_bytes q = t_hex("060000");
    size_t n = 3u << 19;
    char *value = ts_xcalloc(1, n);
    max_reply_bytes = 1u << 20;
    open_store(PLAIN);
    t_fetch_names(&t, 1, 1, 1);
    for (uint32_t hour = 10; hour < 30; hour++)
        t_put(&t, T_PAIRS(1, 1), hour, "0005 010203");
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 20);
    fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", t_slice(&q), (struct ts_slice){value, n}, 0);
    assert_int_equal(expect(0, "bad_value=19/0 unreadable_row=1/0").n_rows, 19);
    max_reply_bytes = 0;
    ts_free(value);
    t_fetch_close(&t);
}

/* --- other writers --- */

/* What another writer puts between the look of the repair and its changes. */
static struct {
    enum sto_thrift_call before;
    unsigned left;
    struct t_bytes key;
    const char *cell;
} other;

static void other_writer(void *arg, const struct fake_hbase_request *r)
{
    (void)arg;
    if (r->call != other.before || !other.left)
        return;
    other.left--;
    struct t_row row = {.n = 0};
    t_row_add(&row, other.cell);
    fake_hbase_put(t.fake, "tsdb", t_slice(&other.key), "t", row.cell[0].qualifier, row.cell[0].value,
                   OLD_MS + row.cell[0].ts_ms);
}

static void test_remote_check__what_others_write_meanwhile_stays(void **state)
{
    (void)state;
    static const struct {
        const char *cells[3], *late, *points;
        enum sto_thrift_call before;
    } cases[] = {
        /* the corrected value does not hide a later one, nor does the delete */
        {{"000B 0000000040866666"}, "000B 40000000 @9", "0s=2.0", STO_THRIFT_PUT},
        {{"0003 0000000000000005"}, "0000 07 @9", "0s=7", STO_THRIFT_PUT},
        {{"0003 0000000000000005"}, "0003 00000007 @9", "0s=7", STO_THRIFT_DELETE_SINGLE},
        {{"0000 01 @1", "0001 0102 @2"}, "0000 05 @9", "0s=5", STO_THRIFT_DELETE_SINGLE},
        {{"00100000 020100"}, "0010 05 @9", "0s=1 1s=5", STO_THRIFT_PUT},
        {{"00100000 020100"}, "0010 05 @9", "0s=1 1s=5", STO_THRIFT_DELETE_SINGLE},
        {{APPENDS " 001002000001"},
         APPENDS " 001002000001002003 @9",
         "0s=1 1s=2 2s=3",
         STO_THRIFT_CHECK_AND_PUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_store(PLAIN);
        t_fetch_names(&t, 1, 1, 1);
        other.key = t_key(&t, T_PAIRS(1, 1), 10);
        for (size_t k = 0; k < 3 && cases[i].cells[k]; k++)
            put(&other.key, cases[i].cells[k]);
        other.before = cases[i].before;
        other.left = 1;
        other.cell = cases[i].late;
        fake_hbase_set_before(t.fake, other_writer, NULL);
        struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
        struct sto_hbase_check_result res = {0};
        struct ts_error err = {0};
        opts.fixes = FULL;
        assert_int_equal(sto_hbase_check_data(t.remote, &opts, NULL, &res, &err), 0);
        assert_int_equal(other.left, 0);
        fake_hbase_set_before(t.fake, NULL, NULL);
        expect_points(10, cases[i].points);
        t_fetch_close(&t);
    }
}

/* A delete with a later timestamp hides what a repair puts: the old cells stay. */
static void test_remote_check__hidden_puts_lose_nothing(void **state)
{
    (void)state;
    open_store(PLAIN);
    t_fetch_names(&t, 1, 1, 1);
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 10);
    fake_hbase_set_clock(t.fake, OLD_MS + 100);
    fake_hbase_delete(t.fake, "tsdb", t_slice(&key), "t", (struct ts_slice){"\0\0", 2});
    put(&key, "0003 0000000000000005 @1");
    expect(FULL, "old_encoding=1/0 long_integer=1/0");
    expect_points(10, "0s=5");
    fake_hbase_compact(t.fake, "tsdb");
    expect(FULL, "old_encoding=1/1 long_integer=1/1");
    expect_points(10, "0s=5");
    t_fetch_close(&t);
}

static void test_remote_check__what_was_written_just_now_is_not_changed(void **state)
{
    (void)state;
    open_store(PLAIN);
    t_fetch_names(&t, 1, 1, 1);
    struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 10);
    struct t_row row = {.n = 0};
    t_row_add(&row, "0005 010203");
    fake_hbase_put(t.fake, "tsdb", t_slice(&key), "t", row.cell[0].qualifier, row.cell[0].value,
                   NOW_MS - 1000);
    struct sto_hbase_check_result res = expect(FULL, "bad_value=1/0");
    assert_int_equal(res.n_too_new, 1);
    assert_int_equal(fake_hbase_cells(t.fake, "tsdb"), 1);
    t_fetch_close(&t);
}

/* Connections that break and errors of HBase, at each request in turn. */
static void test_remote_check__faults_of_hbase(void **state)
{
    (void)state;
    for (int f = FAKE_HBASE_DROP; f <= FAKE_HBASE_HALF; f++)
        for (unsigned skip = 0; skip < 9; skip++) {
            if (f == FAKE_HBASE_LATE || f == FAKE_HBASE_FINAL_ERROR || f == FAKE_HBASE_ILLEGAL_ARGUMENT ||
                f == FAKE_HBASE_SOME_ROWS || f == FAKE_HBASE_FEWER_ROWS || f == FAKE_HBASE_OTHER_ORDER ||
                f == FAKE_HBASE_SAME_PAGE || f == FAKE_HBASE_NO_STOP)
                continue;
            open_store(PLAIN);
            t_fetch_names(&t, 1, 1, 1);
            struct t_bytes key = t_key(&t, T_PAIRS(1, 1), 10);
            put(&key, "0003 0000000000000005");
            put(&key, "00200010 020100");
            fake_hbase_inject(t.fake,
                              (struct fake_hbase_plan){.fault = (enum fake_hbase_fault)f, .skip = skip});
            expect(FULL, "old_encoding=1/1 irregular_column=1/1 long_integer=1/1");
            fake_hbase_heal(t.fake);
            expect(0, "");
            expect_points(10, "0s=5 1s=1 2s=2");
            t_fetch_close(&t);
        }
}

/* --- as storage/remote.h has it, and OpenTSDB's own rows --- */

static void count_text(void *arg, const char *text)
{
    size_t *n = arg;
    assert_true(strstr(text, ": table tsdb") != NULL);
    ++*n;
}

static void test_remote_check__the_function_of_remote_stores(void **state)
{
    (void)state;
    size_t n = 0;
    struct ts_error err = {0};
    open_ids();
    name_cell("41", "id", "metrics", "000005");
    t_put(&t, T_PAIRS(1, 1), 10, "0003 0000000000000005");
    assert_int_equal(t.remote->ops->check(t.remote, false, NULL, count_text, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(t.remote->ops->check(t.remote, true, NULL, count_text, &n, &err), 0);
    assert_int_equal(n, 6);
    assert_int_equal(t.remote->ops->check(t.remote, false, NULL, count_text, &n, &err), 0);
    assert_int_equal(n, 6);
    t_fetch_close(&t);
}

static void test_remote_check__rows_of_opentsdb(void **state)
{
    (void)state;
    static const struct {
        const char *file, *found; /* contradictions were put on purpose: metric r.dup of puts.txt */
        bool salt, has_names;
    } files[] = {
        {"plain.jsonl", "duplicate_point=3/0", false, true},
        {"compacted.jsonl", "", false, false},
        {"compacted-late.jsonl", "", false, false},
        {"appends.jsonl", "unsorted_appends=3/0", false, false},
        {"salt.jsonl", "duplicate_point=3/0", true, false},
        {"meta.jsonl", "", false, true},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1024];
        open_store(files[i].salt ? SALTED : PLAIN);
        (void)snprintf(path, sizeof path, "%s/%s", T_GOLDEN_FOLDER, files[i].file);
        assert_true(fake_hbase_load(t.fake, path));
        if (!files[i].has_names)
            t_fetch_names(&t, 30, 30, 30);
        struct sto_hbase_check_result res = expect(0, files[i].found);
        assert_true(res.n_points > 0 || files[i].has_names);
        if (files[i].has_names)
            assert_true(expect_ids(0, "").n_names > 0);
        t_fetch_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_check__damage_of_rows_is_found_and_repaired),
        cmocka_unit_test(test_remote_check__rows_that_no_series_has),
        cmocka_unit_test(test_remote_check__rows_move_to_the_bucket_of_their_series),
        cmocka_unit_test(test_remote_check__a_row_that_is_written_while_it_moves),
        cmocka_unit_test(test_remote_check__rows_become_one_column),
        cmocka_unit_test(test_remote_check__only_what_is_wanted),
        cmocka_unit_test(test_remote_check__pages),
        cmocka_unit_test(test_remote_check__rows_of_too_many_cells),
        cmocka_unit_test(test_remote_check__rows_that_are_too_large),
        cmocka_unit_test(test_remote_check__what_others_write_meanwhile_stays),
        cmocka_unit_test(test_remote_check__hidden_puts_lose_nothing),
        cmocka_unit_test(test_remote_check__what_was_written_just_now_is_not_changed),
        cmocka_unit_test(test_remote_check__faults_of_hbase),
        cmocka_unit_test(test_remote_check__the_function_of_remote_stores),
        cmocka_unit_test(test_remote_check__rows_of_opentsdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
