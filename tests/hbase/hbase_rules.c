/*
 * hbase_rules.c - what HBase does that is easily taken for something else: delete markers, conditions, scans, filters.
 *
 *   TSD_HBASE_GATEWAY=127.0.0.1:9090 build/dev/tests/hbase_rules
 *
 * A real HBase and the fake one (fake_hbase.h) are held to the same. Environment and table: live_kit.h.
 */
#include "tests/hbase/live_kit.h"

static int make_table(void **state)
{
    (void)state;
    live_table();
    return 0;
}

static int remove_rows(void **state)
{
    static const char *const rows[] = {"mark", "change", "change2", "cond", "f1", "f2", "f3"};
    (void)state;
    live_remove(rows, sizeof(rows) / sizeof(rows[0]));
    return 0;
}

static void put_at(const char *row, const char *qualifier, const char *value, int64_t ts_ms)
{
    struct sto_thrift_cell cell = cell_of(qualifier, value);
    cell.ts_ms = ts_ms;
    cell.has_ts = true;
    call(sto_thrift_call_put(&r, TABLE,
                             &(struct sto_thrift_put){.row = key(row), .cells = &cell, .n_cells = 1}),
         0);
}

/* Delete one column, or with a qualifier NULL the family. ts_ms 0 = no timestamp. */
static void delete_at(const char *row, const char *qualifier, enum sto_thrift_delete_type type, int64_t ts_ms)
{
    struct sto_thrift_column column = {.family = F, .ts_ms = ts_ms, .has_ts = ts_ms != 0};
    if (qualifier)
        column.qualifier = ts_slice_str(qualifier);
    call(sto_thrift_call_delete(
             &r, TABLE,
             &(struct sto_thrift_delete){.row = key(row), .columns = &column, .n_columns = 1, .type = type}),
         0);
}

static void test_hbase_rules__delete_markers_hide_what_is_not_newer(void **state)
{
    (void)state;
    int64_t t = ts_clock_ms() - 60000; /* the family forgets cells after a day */
    put_at("mark", "a", "1", t);
    put_at("mark", "a", "2", t + 10);
    has("mark", "a=2");
    put_at("mark", "a", "3", t + 10); /* the same timestamp: replaced */
    has("mark", "a=3");
    put_at("mark", "a", "4", t + 5); /* older: not the newest version */
    has("mark", "a=3");
    delete_at("mark", "a", STO_THRIFT_DELETE_COLUMN, 0); /* the newest version alone */
    has("mark", "a=4");
    delete_at("mark", "a", STO_THRIFT_DELETE_COLUMN, t + 5);
    has("mark", "a=1");
    delete_at("mark", "a", STO_THRIFT_DELETE_COLUMNS, t + 20);
    has("mark", "");
    put_at("mark", "a", "5", t + 20); /* put after the delete, and not newer */
    has("mark", "");
    put_at("mark", "a", "6", t + 21);
    put_at("mark", "b", "7", t + 30);
    has("mark", "a=6 b=7");
    delete_at("mark", NULL, STO_THRIFT_DELETE_FAMILY, t + 25);
    has("mark", "b=7");
    delete_at("mark", NULL, STO_THRIFT_DELETE_FAMILY_VERSION, t + 30);
    has("mark", "");
}

static void test_hbase_rules__deletes_win_within_one_change_of_a_row(void **state)
{
    (void)state;
    struct sto_thrift_cell cell = cell_of("a", "new");
    struct sto_thrift_column column = {.family = F, .qualifier = {"a", 1}};
    struct sto_thrift_delete d = {
        .row = key("change"), .columns = &column, .n_columns = 1, .type = STO_THRIFT_DELETE_COLUMNS};
    struct sto_thrift_put p = {.row = d.row, .cells = &cell, .n_cells = 1};
    struct sto_thrift_mutation both[] = {{.delete = &d}, {.put = &p}};
    int64_t t = ts_clock_ms() - 60000;
    put_at("change", "a", "old", t);
    d.row = p.row = key("change");
    call(sto_thrift_call_mutate_row(&r, TABLE, d.row, both, 2), 0);
    has("change", ""); /* both have the same timestamp */
    column.ts_ms = t;
    column.has_ts = true;
    put_at("change2", "a", "old", t);
    d.row = p.row = key("change2");
    call(sto_thrift_call_mutate_row(&r, TABLE, d.row, both, 2), 0);
    has("change2", "a=new");
    cell.family = TS_SLICE_LIT("nosuchfamily"); /* all or nothing */
    column.has_ts = false;
    call(sto_thrift_call_mutate_row(&r, TABLE, d.row, both, 2), TS_EBACKEND);
    has("change2", "a=new");
}

/* Does the condition hold? It changes nothing that matters. */
static bool holds(const char *row, const char *qualifier, enum sto_thrift_compare how, const char *value)
{
    struct sto_thrift_cell cell = cell_of("other", "1");
    struct sto_thrift_put p = {.row = key(row), .cells = &cell, .n_cells = 1};
    struct sto_thrift_mutation m = {.put = &p};
    struct sto_thrift_check check = {.row = p.row,
                                     .family = F,
                                     .qualifier = ts_slice_str(qualifier),
                                     .compare = how,
                                     .value = ts_slice_str(value)};
    call(sto_thrift_call_check_and_mutate(&r, TABLE, &check, &m, 1), 0);
    return sto_thrift_reply_bool(&reply);
}

static void test_hbase_rules__conditions(void **state)
{
    (void)state;
    put("cond", "m", "m");
    put("cond", "e", "");
    assert_true(holds("cond", "m", STO_THRIFT_EQUAL, "m"));
    assert_false(holds("cond", "m", STO_THRIFT_EQUAL, "mm"));
    assert_false(holds("cond", "m", STO_THRIFT_EQUAL, ""));
    assert_true(holds("cond", "m", STO_THRIFT_NOT_EQUAL, ""));
    assert_true(holds("cond", "m", STO_THRIFT_LESS, "a")); /* the value is less than that of the cell */
    assert_false(holds("cond", "m", STO_THRIFT_LESS, "z"));
    assert_true(holds("cond", "m", STO_THRIFT_GREATER, "z"));
    assert_true(holds("cond", "m", STO_THRIFT_GREATER_OR_EQUAL, "m"));
    assert_true(holds("cond", "e", STO_THRIFT_EQUAL, "")); /* an empty value is as good as none */
    assert_true(holds("cond", "none", STO_THRIFT_EQUAL, ""));
    assert_false(holds("cond", "none", STO_THRIFT_NOT_EQUAL, ""));
    assert_false(holds("cond", "none", STO_THRIFT_NOT_EQUAL, "x"));
    assert_false(holds("cond", "none", STO_THRIFT_EQUAL, "x"));
}

/* The results of a scan over the rows f1 to f5 of test_hbase_rules__scans: "f1:abc f2:abc", with "+" behind a row that goes on. */
static void finds(const struct sto_thrift_scan *scan, int32_t n_rows, const char *want)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    char text[400] = "";
    size_t n = 0, k = strlen(prefix);
    call(sto_thrift_call_get_scanner_results(&r, TABLE, scan, n_rows), 0);
    sto_thrift_items_init(&it, &reply);
    while (sto_thrift_row(&it, &row, &err) == 1 && n + 50 < sizeof(text)) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s:", n ? " " : "", (int)(row.row.n - k),
                              row.row.p + k);
        while (sto_thrift_row_next(&row, &cell, &err) == 1 && n + 50 < sizeof(text))
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s", (int)cell.qualifier.n,
                                  cell.qualifier.p, cell.value.n ? "" : "-");
        if (row.is_partial)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "+");
    }
    assert_string_equal(text, want);
}

static void scan_rows(const char *filter, const char *want)
{
    char start[64], stop[64], text[256];
    const char *at = strchr(filter, '$'); /* stands for the prefix of this run */
    (void)snprintf(start, sizeof(start), "%sf", prefix);
    (void)snprintf(stop, sizeof(stop), "%sg", prefix);
    (void)snprintf(text, sizeof(text), "%.*s%s%s", at ? (int)(at - filter) : 0, filter, at ? prefix : "",
                   at ? at + 1 : filter);
    finds(&(struct sto_thrift_scan){.start = ts_slice_str(start),
                                    .stop = ts_slice_str(stop),
                                    .select.filter = ts_slice_str(text)},
          100, want);
}

static void test_hbase_rules__scans(void **state)
{
    (void)state;
    for (const char *const *row = (const char *const[]){"f1", "f2", "f3", NULL}; *row; row++)
        for (const char *const *q = (const char *const[]){"a", "b", "c", NULL}; *q; q++)
            put(*row, *q, "v");
    struct sto_thrift_scan scan = {.start = key("f1"), .stop = key("f9")};
    finds(&scan, 100, "f1:abc f2:abc f3:abc");
    finds(&scan, 2, "f1:abc f2:abc");
    finds(&scan, 0, "");
    scan.limit_rows = 2;
    finds(&scan, 100, "f1:abc f2:abc");
    scan.batch_cells = 2;
    finds(&scan, 100, "f1:ab+ f1:c f2:ab+ f2:c");
    scan = (struct sto_thrift_scan){.start = key("f2"), .stop = key("f2")}; /* the row itself */
    finds(&scan, 100, "f2:abc");
    scan = (struct sto_thrift_scan){.start = key("f2x"), .stop = key("f1"), .reversed = true};
    finds(&scan, 100, "f2:abc");
    struct sto_thrift_column b = {.family = F, .qualifier = {"b", 1}};
    scan = (struct sto_thrift_scan){
        .start = key("f1"), .stop = key("f9"), .select = {.columns = &b, .n_columns = 1}};
    finds(&scan, 100, "f1:b f2:b f3:b");
    scan.select = (struct sto_thrift_select){.from_ts_ms = 0, .to_ts_ms = 1000};
    finds(&scan, 100, "");
}

static void test_hbase_rules__filters(void **state)
{
    (void)state;
    scan_rows("KeyOnlyFilter()", "f1:a-b-c- f2:a-b-c- f3:a-b-c-");
    scan_rows("FirstKeyOnlyFilter() AND KeyOnlyFilter()", "f1:a- f2:a- f3:a-");
    scan_rows("QualifierFilter(=,'binary:b') AND FirstKeyOnlyFilter()", "f1:b f2:b f3:b");
    scan_rows("FirstKeyOnlyFilter() AND QualifierFilter(=,'binary:b')", "");
    scan_rows("PrefixFilter('$f2')", "f2:abc");
    scan_rows("PrefixFilter('$f2') OR ColumnPrefixFilter('c')", "f1:c f2:abc f3:c");
    scan_rows("RowFilter(>,'binary:$f1')", "f2:abc f3:abc");
    scan_rows("RowFilter(!=,'binaryprefix:$f1')", "f2:abc f3:abc");
    scan_rows("RowFilter(=,'regexstring:f[13]')", "f1:abc f3:abc");
    scan_rows("ColumnRangeFilter('a',false,'c',true)", "f1:bc f2:bc f3:bc");
    scan_rows("ColumnPrefixFilter('a') OR ColumnPrefixFilter('b') AND ColumnPrefixFilter('c')",
              "f1:a f2:a f3:a");
    scan_rows("RowFilter(=,'regexstring:f2') AND (ColumnPrefixFilter('a') OR ColumnPrefixFilter('b'))",
              "f2:ab");
    call(sto_thrift_call_open_scanner(
             &r, TABLE, &(struct sto_thrift_scan){.select.filter = TS_SLICE_LIT("NoSuchFilter()")}),
         TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_APPLICATION);
}

/* Bytes of a key travel in a filter as they are, with quotes doubled; a regular expression sees them decoded as UTF-8. */
static void test_hbase_rules__filters_of_bytes(void **state)
{
    (void)state;
    char row[100], filter[300];
    size_t k = (size_t)snprintf(row, sizeof(row), "%sbytes", prefix);
    struct sto_thrift_cell cell = cell_of("a", "v");
    for (int i = 0; i < 256; i += 13) { /* with 39, the quote, and bytes above 127 */
        struct sto_thrift_items it;
        struct sto_thrift_row got;
        row[k] = (char)i;
        struct ts_slice key_of = {row, k + 1};
        call(sto_thrift_call_put(&r, TABLE,
                                 &(struct sto_thrift_put){.row = key_of, .cells = &cell, .n_cells = 1}),
             0);
        size_t n = (size_t)snprintf(filter, sizeof(filter), "RowFilter(=,'binary:%.*s", (int)k, row);
        if (i == '\'')
            filter[n++] = '\'';
        filter[n++] = (char)i;
        filter[n++] = '\'';
        filter[n++] = ')';
        struct sto_thrift_scan scan = {.start = {row, k}, .select.filter = {filter, n}};
        call(sto_thrift_call_get_scanner_results(&r, TABLE, &scan, 1), 0);
        sto_thrift_items_init(&it, &reply);
        assert_int_equal(sto_thrift_row(&it, &got, &err), 1);
        assert_true(ts_slice_eq(got.row, key_of));
        (void)snprintf(filter, sizeof(filter), "RowFilter(=,'regexstring:bytes\\x{%x}$')", (unsigned)i);
        scan.select.filter = ts_slice_str(filter);
        call(sto_thrift_call_get_scanner_results(&r, TABLE, &scan, 1), 0);
        sto_thrift_items_init(&it, &reply);
        assert_int_equal(sto_thrift_row(&it, &got, &err), i < 128);
        call(sto_thrift_call_delete(
                 &r, TABLE, &(struct sto_thrift_delete){.row = key_of, .type = STO_THRIFT_DELETE_COLUMNS}),
             0);
    }
}

static void test_hbase_rules__scanners_are_opened_blindly(void **state)
{
    (void)state;
    call(sto_thrift_call_open_scanner(&r, TS_SLICE_LIT("tsd_thrift_no_such_table"),
                                      &(struct sto_thrift_scan){0}),
         0);
    struct sto_thrift_scanner s = sto_thrift_reply_scanner(&reply);
    call(sto_thrift_call_get_scanner_rows(&r, s, 1), TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_IO_ERROR);
    call(sto_thrift_call_close_scanner(&r, s), 0);
    call(sto_thrift_call_close_scanner(&r, s), 0); /* one that does not exist any more */
    call(sto_thrift_call_get_all_region_locations(&r, TS_SLICE_LIT("tsd_thrift_no_such_table")), 0);
    struct sto_thrift_items it;
    struct sto_thrift_region region;
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_region(&it, &region, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hbase_rules__delete_markers_hide_what_is_not_newer),
        cmocka_unit_test(test_hbase_rules__deletes_win_within_one_change_of_a_row),
        cmocka_unit_test(test_hbase_rules__conditions),
        cmocka_unit_test(test_hbase_rules__scans),
        cmocka_unit_test(test_hbase_rules__filters),
        cmocka_unit_test(test_hbase_rules__filters_of_bytes),
        cmocka_unit_test(test_hbase_rules__scanners_are_opened_blindly),
    };
    if (!live_start())
        return 2;
    int failed = cmocka_run_group_tests(tests, make_table, remove_rows);
    live_stop();
    return failed;
}
