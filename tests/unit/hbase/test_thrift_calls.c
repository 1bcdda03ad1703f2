/*
 * test_thrift_calls.c - requests byte for byte, replies of every kind.
 *
 * The bytes follow from the numbers and types of hbase.thrift (HBase 2.5, thrift2) and from Apache Thrift's
 * doc/specs/thrift-binary-protocol.md; they were put together by hand.
 */
#include "tests/unit/hbase/thrift_kit.h"

#include <string.h>

#include "storage/hbase/thrift/calls.h"
#include "storage/hbase/thrift/replies.h"

#define T_F         "0b0001 00000001 'f' "  /* field 1: a family */
#define T_Q         "0b0002 00000001 'q' "  /* field 2: a qualifier */
#define T_V         "0b0003 00000001 'v' "  /* field 3: a value */
#define T_R         "0b0001 00000002 'r1' " /* field 1: a row */
#define T_TABLE     "0b0001 00000001 't' "  /* field 1: a table */
#define T_TABLENAME "0c0001 0b0002 00000001 't' 00 "
#define T_PUT       T_R "0f0002 0c 00000001 " T_F T_Q T_V "00 00 "

static const struct sto_thrift_cell CELL = {{"f", 1}, {"q", 1}, {"v", 1}, 0, false};
static const struct sto_thrift_cell STAMPED = {{"f", 1}, {"q", 1}, {"v", 1}, 258, true};
static const struct sto_thrift_column COLUMN = {{"f", 1}, {"q", 1}, 258, true};
static const struct sto_thrift_column FAMILY = {{"f", 1}, {NULL, 0}, 0, false};
static const struct ts_slice T = {"t", 1}, R1 = {"r1", 2}, R2 = {"r2", 2};

/* A message of that call. */
static void same(const struct sto_thrift_request *r, enum sto_thrift_call call, const char *arguments)
{
    const char *name = sto_thrift_call_info(call)->name;
    struct ts_buf want = t_bytes("80010001 000000");
    ts_buf_char(&want, (char)strlen(name));
    ts_buf_str(&want, name);
    t_hex(&want, "00000000 ");
    assert_int_equal(r->call, call);
    assert_true(r->bytes.n > want.n);
    assert_memory_equal(r->bytes.p, want.p, want.n);
    t_same((struct ts_slice){r->bytes.p + want.n, r->bytes.n - want.n}, arguments);
    ts_buf_release(&want);
}

static void test_thrift_calls__reads(void **state)
{
    (void)state;
    struct sto_thrift_request r;
    sto_thrift_request_init(&r, 0, NULL);
    struct sto_thrift_get get = {.row = R1};
    assert_int_equal(sto_thrift_call_get(&r, T, &get), 0);
    same(&r, STO_THRIFT_GET, T_TABLE "0c0002 " T_R "00 00");
    get.select = (struct sto_thrift_select){.columns = &COLUMN,
                                            .n_columns = 1,
                                            .max_versions = 3,
                                            .from_ts_ms = 1,
                                            .to_ts_ms = 2,
                                            .filter = {"k", 1},
                                            .filter_bytes = {"l", 1}};
    assert_int_equal(sto_thrift_call_get(&r, T, &get), 0);
    same(&r, STO_THRIFT_GET,
         T_TABLE "0c0002 " T_R "0f0002 0c 00000001 " T_F T_Q "0a0003 0000000000000102 00 "
                 "0c0004 0a0001 0000000000000001 0a0002 0000000000000002 00 080005 00000003 0b0006 00000001 "
                 "'k' 0b000f 00000001 'l' 00 00");
    get = (struct sto_thrift_get){.row = R1, .select = {.columns = &FAMILY, .n_columns = 1}};
    sto_thrift_batch_begin(&r, STO_THRIFT_GET_MULTIPLE, T);
    sto_thrift_batch_get(&r, &get);
    get = (struct sto_thrift_get){.row = R2};
    sto_thrift_batch_get(&r, &get);
    assert_int_equal(sto_thrift_batch_end(&r), 0);
    assert_int_equal(r.n_items, 2);
    same(&r, STO_THRIFT_GET_MULTIPLE,
         T_TABLE "0f0002 0c 00000002 " T_R "0f0002 0c 00000001 " T_F "00 00 0b0001 00000002 'r2' 00 00");
    sto_thrift_request_release(&r);
}

static void test_thrift_calls__writes(void **state)
{
    (void)state;
    struct sto_thrift_request r;
    sto_thrift_request_init(&r, 0, NULL);
    struct sto_thrift_put put = {.row = R1, .cells = &CELL, .n_cells = 1};
    assert_int_equal(sto_thrift_call_put(&r, T, &put), 0);
    same(&r, STO_THRIFT_PUT, T_TABLE "0c0002 " T_PUT "00");
    sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, T);
    sto_thrift_batch_put(&r, &put);
    sto_thrift_batch_put(&r, &(struct sto_thrift_put){R1, &STAMPED, 1, STO_THRIFT_ASYNC_WAL});
    assert_int_equal(sto_thrift_batch_end(&r), 0);
    same(&r, STO_THRIFT_PUT_MULTIPLE,
         T_TABLE "0f0002 0c 00000002 " T_PUT T_R "0f0002 0c 00000001 " T_F T_Q T_V
                 "0a0004 0000000000000102 00 080006 00000002 00 00");
    struct sto_thrift_delete del = {.row = R1, .type = STO_THRIFT_DELETE_COLUMNS};
    assert_int_equal(sto_thrift_call_delete(&r, T, &del), 0);
    same(&r, STO_THRIFT_DELETE_SINGLE, T_TABLE "0c0002 " T_R "080004 00000001 00 00");
    del = (struct sto_thrift_delete){R1, &COLUMN, 1, STO_THRIFT_DELETE_COLUMN, STO_THRIFT_SYNC_WAL};
    sto_thrift_batch_begin(&r, STO_THRIFT_DELETE_MULTIPLE, T);
    sto_thrift_batch_delete(&r, &del);
    assert_int_equal(sto_thrift_batch_end(&r), 0);
#define T_DELETE                                                                                             \
    T_R "0f0002 0c 00000001 " T_F T_Q "0a0003 0000000000000102 00 080004 00000000 080007 00000003 00 "
    same(&r, STO_THRIFT_DELETE_MULTIPLE, T_TABLE "0f0002 0c 00000001 " T_DELETE "00");
    struct sto_thrift_mutation both[] = {{.put = &put}, {.delete = &del}};
#define T_MUTATIONS T_R "0f0002 0c 00000002 0c0001 " T_PUT "00 0c0002 " T_DELETE "00 00 "
    assert_int_equal(sto_thrift_call_mutate_row(&r, T, R1, both, 2), 0);
    same(&r, STO_THRIFT_MUTATE_ROW, T_TABLE "0c0002 " T_MUTATIONS "00");
    struct sto_thrift_check check = {.row = R1, .family = {"f", 1}, .qualifier = {"q", 1}};
    assert_int_equal(sto_thrift_call_check_and_put(&r, T, &check, &put), 0);
#define T_CHECK T_TABLE "0b0002 00000002 'r1' 0b0003 00000001 'f' 0b0004 00000001 'q' "
    same(&r, STO_THRIFT_CHECK_AND_PUT, T_CHECK "0c0006 " T_PUT "00");
    check.value = TS_SLICE_LIT("");
    assert_int_equal(sto_thrift_call_check_and_put(&r, T, &check, &put), 0);
    same(&r, STO_THRIFT_CHECK_AND_PUT, T_CHECK "0b0005 00000000 0c0006 " T_PUT "00");
    check.compare = STO_THRIFT_NOT_EQUAL;
    assert_int_equal(sto_thrift_call_check_and_mutate(&r, T, &check, both, 2), 0);
    same(&r, STO_THRIFT_CHECK_AND_MUTATE, T_CHECK "080005 00000003 0b0006 00000000 0c0007 " T_MUTATIONS "00");
    assert_int_equal(sto_thrift_call_increment(&r, T, R1, &FAMILY, -1), 0);
    same(&r, STO_THRIFT_INCREMENT,
         T_TABLE "0c0002 " T_R "0f0002 0c 00000001 " T_F "0b0002 00000000 0a0003 ffffffffffffffff 00 00 00");
    assert_int_equal(
        sto_thrift_call_append(&r, T, &(struct sto_thrift_put){R1, &STAMPED, 1, STO_THRIFT_SKIP_WAL}, true),
        0);
    same(&r, STO_THRIFT_APPEND,
         T_TABLE "0c0002 " T_R "0f0002 0c 00000001 " T_F T_Q T_V "00 080004 00000001 020006 01 00 00");
    sto_thrift_request_release(&r);
}

static void test_thrift_calls__scans(void **state)
{
    (void)state;
    struct sto_thrift_request r;
    sto_thrift_request_init(&r, 0, NULL);
    struct sto_thrift_scan scan = {.limit_rows = 0};
    assert_int_equal(sto_thrift_call_open_scanner(&r, T, &scan), 0);
    same(&r, STO_THRIFT_OPEN_SCANNER, T_TABLE "0c0002 00 00");
    scan = (struct sto_thrift_scan){.start = {"a", 1},
                                    .stop = {"b", 1},
                                    .select = {.columns = &FAMILY,
                                               .n_columns = 1,
                                               .max_versions = 2,
                                               .to_ts_ms = 9,
                                               .filter = {"k", 1},
                                               .filter_bytes = {"l", 1}},
                                    .caching = 4,
                                    .batch_cells = 5,
                                    .limit_rows = 6,
                                    .reversed = true,
                                    .spares_cache = true};
#define T_SCAN                                                                                               \
    "0b0001 00000001 'a' 0b0002 00000001 'b' 0f0003 0c 00000001 " T_F "00 080004 00000004 080005 00000002 "  \
    "0c0006 0a0001 0000000000000000 0a0002 0000000000000009 00 0b0007 00000001 'k' 080008 00000005 "         \
    "02000b 01 02000c 00 08000f 00000006 0b0012 00000001 'l' 00 "
    assert_int_equal(sto_thrift_call_open_scanner(&r, T, &scan), 0);
    same(&r, STO_THRIFT_OPEN_SCANNER, T_TABLE "0c0002 " T_SCAN "00");
    assert_int_equal(sto_thrift_call_get_scanner_results(&r, T, &scan, 100), 0);
    same(&r, STO_THRIFT_GET_SCANNER_RESULTS, T_TABLE "0c0002 " T_SCAN "080003 00000064 00");
    assert_int_equal(sto_thrift_call_get_scanner_rows(&r, (struct sto_thrift_scanner){3, 7}, 100), 0);
    same(&r, STO_THRIFT_GET_SCANNER_ROWS, "080001 00000007 080002 00000064 00");
    assert_int_equal(sto_thrift_call_close_scanner(&r, (struct sto_thrift_scanner){3, 7}), 0);
    same(&r, STO_THRIFT_CLOSE_SCANNER, "080001 00000007 00");
    sto_thrift_request_release(&r);
}

static void test_thrift_calls__tables(void **state)
{
    (void)state;
    struct sto_thrift_request r;
    sto_thrift_request_init(&r, 0, NULL);
    assert_int_equal(sto_thrift_call_table_exists(&r, T), 0);
    same(&r, STO_THRIFT_TABLE_EXISTS, T_TABLENAME "00");
    assert_int_equal(sto_thrift_call_get_table_descriptor(&r, t_slice("ns:t")), 0);
    same(&r, STO_THRIFT_GET_TABLE_DESCRIPTOR, "0c0001 0b0001 00000002 'ns' 0b0002 00000001 't' 00 00");
    assert_int_equal(sto_thrift_call_get_all_region_locations(&r, T), 0);
    same(&r, STO_THRIFT_GET_ALL_REGION_LOCATIONS, T_TABLE "00");
    struct sto_thrift_family f[] = {STO_THRIFT_FAMILY(t_slice("f")), STO_THRIFT_FAMILY(t_slice("g"))};
    f[1].bloom = STO_THRIFT_BLOOM_ROW;
    f[1].compression = STO_THRIFT_COMPRESSION_ZSTD;
    f[1].encoding = STO_THRIFT_ENCODING_DIFF;
    f[1].max_versions = 1;
    f[1].ttl_s = 3600;
    assert_int_equal(sto_thrift_call_create_table(&r, T, f, 2, (struct ts_slice[]){R1, R2}, 2), 0);
    same(&r, STO_THRIFT_CREATE_TABLE,
         "0c0001 " T_TABLENAME "0f0002 0c 00000002 " T_F "00 0b0001 00000001 'g' 080005 00000001 "
         "080006 00000006 080008 00000003 08000a 00000001 08000d 00000e10 00 00 "
         "0f0002 0b 00000002 00000002 'r1' 00000002 'r2' 00");
    assert_int_equal(sto_thrift_call_create_table(&r, T, f, 1, NULL, 0), 0);
    same(&r, STO_THRIFT_CREATE_TABLE, "0c0001 " T_TABLENAME "0f0002 0c 00000001 " T_F "00 00 00");
    sto_thrift_request_release(&r);
}

static void test_thrift_calls__requests_have_a_limit(void **state)
{
    (void)state;
    struct sto_thrift_request r;
    struct sto_thrift_put put = {.row = R1, .cells = &CELL, .n_cells = 1};
    sto_thrift_request_init(&r, 60, NULL);
    assert_int_equal(sto_thrift_call_put(&r, T, &put), TS_ELIMIT);
    sto_thrift_batch_begin(&r, STO_THRIFT_PUT_MULTIPLE, T);
    for (int i = 0; i < 10; i++)
        sto_thrift_batch_put(&r, &put);
    assert_int_equal(sto_thrift_batch_end(&r), TS_ELIMIT);
    assert_int_equal(sto_thrift_call_close_scanner(&r, (struct sto_thrift_scanner){0, 1}),
                     0); /* usable again */
    sto_thrift_request_release(&r);
}

/* --- replies --- */

/* Open the reply with these bytes to a call with sequence id 7. */
static int open_reply(struct ts_buf *b, enum sto_thrift_call call, const char *bytes,
                      struct sto_thrift_reply *out, struct ts_error *err)
{
    *b = t_bytes(bytes);
    *err = (struct ts_error){0};
    int rc = sto_thrift_reply_open(ts_buf_get(b), call, 7, out, err);
    assert_int_equal(err->code, rc);
    return rc;
}

/* Rows: r1 with two cells, the second with a timestamp, a field that nobody knows and its fields turned round; r2 without cells, after
 * them, partial. */
#define T_ROWS                                                                                               \
    T_R "0f0002 0c 00000002 " T_F T_Q T_V "00 0a0004 0000000000000102 0b0005 00000001 'x' 0b0003 00000000 "  \
        "0b0002 00000002 'qq' " T_F "00 020003 00 00 "                                                       \
        "020004 01 0f0002 0c 00000000 0b0001 00000002 'r2' 00 "

static void test_thrift_calls__rows_are_read_in_place(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    assert_int_equal(open_reply(&b, STO_THRIFT_GET_SCANNER_ROWS,
                                "80010002 0000000e 'getScannerRows' 00000007 0f0000 0c 00000002 " T_ROWS "00",
                                &reply, &err),
                     0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_true(ts_slice_is(row.row, "r1"));
    assert_true(row.row.p > b.p && row.row.p < b.p + b.n);
    assert_int_equal(row.n_left, 2);
    assert_false(row.is_partial);
    assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 1);
    assert_true(ts_slice_is(cell.family, "f") && ts_slice_is(cell.qualifier, "q") &&
                ts_slice_is(cell.value, "v"));
    assert_false(cell.has_ts);
    assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 1);
    assert_true(ts_slice_is(cell.qualifier, "qq") && cell.value.n == 0 && cell.has_ts && cell.ts_ms == 258);
    assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 0);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_true(ts_slice_is(row.row, "r2") && row.is_partial);
    assert_int_equal(sto_thrift_row_next(&row, &cell, &err), 0);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    ts_buf_release(&b);
}

static void test_thrift_calls__rows_are_skipped_and_may_be_missing(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    assert_int_equal(/* the first row's cells need not be read */
                     open_reply(&b, STO_THRIFT_GET_MULTIPLE,
                                "80010002 0000000b 'getMultiple' 00000007 0f0000 0c 00000002 " T_ROWS "00",
                                &reply, &err),
                     0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_true(ts_slice_is(row.row, "r2"));
    ts_buf_release(&b);
    assert_int_equal(/* a row that does not exist */
                     open_reply(&b, STO_THRIFT_GET,
                                "80010002 00000003 'get' 00000007 0c0000 0f0002 0c 00000000 00 00", &reply,
                                &err),
                     0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_null(row.row.p);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 0);
    ts_buf_release(&b);
    assert_int_equal(/* a TDelete that failed: its field 2 has columns, not cells */
                     open_reply(&b, STO_THRIFT_DELETE_MULTIPLE,
                                "80010002 0000000e 'deleteMultiple' 00000007 0f0000 0c 00000001 " T_R
                                "0f0002 0c 00000001 " T_F T_Q "00 080004 00000001 00 00",
                                &reply, &err),
                     0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_row(&it, &row, &err), 1);
    assert_true(ts_slice_is(row.row, "r1") && row.n_left == 0);
    ts_buf_release(&b);
}

static void test_thrift_calls__small_results(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err;
    struct sto_thrift_reply reply;
    assert_int_equal(open_reply(&b, STO_THRIFT_TABLE_EXISTS,
                                "80010002 0000000b 'tableExists' 00000007 020000 01 00", &reply, &err),
                     0);
    assert_true(sto_thrift_reply_bool(&reply));
    ts_buf_release(&b);
    assert_int_equal(open_reply(&b, STO_THRIFT_OPEN_SCANNER,
                                "80010002 0000000b 'openScanner' 00000007 080000 00000102 00", &reply, &err),
                     0);
    assert_int_equal(sto_thrift_reply_scanner(&reply).id, 258);
    ts_buf_release(&b);
    assert_int_equal(open_reply(&b, STO_THRIFT_PUT, "80010002 00000003 'put' 00000007 00", &reply, &err), 0);
    ts_buf_release(&b);
}

static void test_thrift_calls__tables_and_regions(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_family family;
    struct sto_thrift_region region;
    assert_int_equal(
        open_reply(&b, STO_THRIFT_GET_TABLE_DESCRIPTOR,
                   "80010002 00000012 'getTableDescriptor' 00000007 0c0000 " T_TABLENAME
                   "0f0002 0c 00000002 " T_F "0d0002 0b0b 00000000 080005 00000001 080006 00000006 "
                   "080008 00000003 08000a 00000001 08000d 00000e10 00 0b0001 00000001 'g' 00 00 00",
                   &reply, &err),
        0);
    sto_thrift_families_init(&it, &reply);
    assert_int_equal(sto_thrift_family(&it, &family, &err), 1);
    assert_true(ts_slice_is(family.name, "f"));
    assert_int_equal(family.bloom, STO_THRIFT_BLOOM_ROW);
    assert_int_equal(family.compression, STO_THRIFT_COMPRESSION_ZSTD);
    assert_int_equal(family.encoding, STO_THRIFT_ENCODING_DIFF);
    assert_int_equal(family.max_versions, 1);
    assert_int_equal(family.ttl_s, 3600);
    assert_int_equal(sto_thrift_family(&it, &family, &err), 1);
    assert_true(ts_slice_is(family.name, "g") && family.ttl_s == -1 && family.bloom == -1);
    assert_int_equal(sto_thrift_family(&it, &family, &err), 0);
    ts_buf_release(&b);
    assert_int_equal(open_reply(&b, STO_THRIFT_GET_ALL_REGION_LOCATIONS,
                                "80010002 00000015 'getAllRegionLocations' 00000007 0f0000 0c 00000001 "
                                "0c0001 0b0001 00000001 'h' 080002 00003e94 0a0003 0000000000000001 00 "
                                "0c0002 0a0001 0000000000000102 0b0002 00000001 't' 0b0003 00000000 "
                                "0b0004 00000001 'm' 00 00 00",
                                &reply, &err),
                     0);
    sto_thrift_items_init(&it, &reply);
    assert_int_equal(sto_thrift_region(&it, &region, &err), 1);
    assert_true(ts_slice_is(region.host, "h") && region.port == 16020 && region.id == 258);
    assert_true(region.start.n == 0 && ts_slice_is(region.stop, "m"));
    assert_int_equal(sto_thrift_region(&it, &region, &err), 0);
    ts_buf_release(&b);
}

static void test_thrift_calls__exceptions_are_errors_with_text(void **state)
{
    (void)state;
    struct ts_buf b;
    struct ts_error err;
    struct sto_thrift_reply reply;
    assert_int_equal(
        open_reply(&b, STO_THRIFT_GET,
                   "80010002 00000003 'get' 00000007 0c0001 0b0001 0000000b 'no' 09 'region' 0a 'x' "
                   "020002 01 00 00",
                   &reply, &err),
        TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_IO_ERROR);
    assert_true(reply.can_retry);
    assert_string_equal(err.text, "HBase refuses get: no region");
    assert_true(ts_slice_is(reply.text, "no\tregion\nx"));
    ts_buf_release(&b);
    assert_int_equal(
        open_reply(&b, STO_THRIFT_GET_SCANNER_ROWS,
                   "80010002 0000000e 'getScannerRows' 00000007 0c0002 0b0001 00000003 'bad' 00 00", &reply,
                   &err),
        TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_ILLEGAL_ARGUMENT);
    assert_false(reply.can_retry);
    ts_buf_release(&b);
    assert_int_equal(
        open_reply(&b, STO_THRIFT_PUT,
                   "80010003 00000003 'put' 00000007 0b0001 00000007 'unknown' 080002 00000001 00", &reply,
                   &err),
        TS_EBACKEND);
    assert_int_equal(reply.outcome, STO_THRIFT_APPLICATION);
    assert_string_equal(err.text, "HBase refuses put: unknown");
    ts_buf_release(&b);
    assert_int_equal(
        open_reply(&b, STO_THRIFT_PUT, "80010002 00000003 'put' 00000007 0c0001 00 00", &reply, &err),
        TS_EBACKEND);
    assert_string_equal(err.text, "HBase refuses put: no text");
    ts_buf_release(&b);
}

static void test_thrift_calls__other_replies_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum sto_thrift_call call;
        const char *bytes, *text;
    } bad[] = {
        {STO_THRIFT_GET, "80010002 00000003 'get' 00000008 0c0000 00 00",
         "reply number 8 to get came where number 7"},
        {STO_THRIFT_GET, "80010002 00000003 'put' 00000007 00",
         "a reply to put came where one to get is due"},
        {STO_THRIFT_GET, "80010001 00000003 'get' 00000007 00", "it is a call"},
        {STO_THRIFT_GET, "80010002 00000003 'get' 00000007 00", "there is no result"},
        {STO_THRIFT_GET, "80010002 00000003 'get' 00000007 020000 01 00", "there is no result"},
        {STO_THRIFT_GET, "80010002 00000003 'get' 00000007 0c0000 0b0001 000000ff 'r1' 00 00",
         "ends inside a value"},
        {STO_THRIFT_GET, "80010002 00000003 'get' 00000007 0c0001 0b0001 000000ff 'r1' 00 00",
         "ends inside a value"},
        {STO_THRIFT_GET, "", "ends inside a value"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_buf b;
        struct ts_error err;
        struct sto_thrift_reply reply;
        int rc = open_reply(&b, bad[i].call, bad[i].bytes, &reply, &err);
        if (rc != TS_ECORRUPT || !strstr(err.text, bad[i].text))
            fail_msg("%s: %d %s", bad[i].bytes, rc, err.text);
        ts_buf_release(&b);
    }
}

static void test_thrift_calls__damaged_rows_are_noticed(void **state)
{
    (void)state;
    static const char *const bad[] = {
        T_R "0f0002 0c 00000001 " T_F T_Q "00 00 ", /* a cell without a value */
        "0f0002 0c 00000001 " T_F T_Q T_V "00 00 ", /* cells without a row */
        T_R "0f0002 0b 00000001 00000001 'x' 00 ",  /* cells that are strings */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ts_buf b = t_bytes("80010002 00000003 'get' 00000007 0c0000 ");
        struct ts_error err = {0};
        struct sto_thrift_reply reply;
        struct sto_thrift_items it;
        struct sto_thrift_row row;
        struct sto_thrift_cell cell;
        t_hex(&b, bad[i]);
        t_hex(&b, "00");
        assert_int_equal(sto_thrift_reply_open(ts_buf_get(&b), STO_THRIFT_GET, 7, &reply, &err), 0);
        sto_thrift_items_init(&it, &reply);
        int rc = sto_thrift_row(&it, &row, &err);
        while (rc == 1 && (rc = sto_thrift_row_next(&row, &cell, &err)) == 1)
            ;
        assert_int_equal(rc, TS_ECORRUPT);
        assert_int_equal(err.code, rc);
        ts_buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thrift_calls__reads),
        cmocka_unit_test(test_thrift_calls__writes),
        cmocka_unit_test(test_thrift_calls__scans),
        cmocka_unit_test(test_thrift_calls__tables),
        cmocka_unit_test(test_thrift_calls__requests_have_a_limit),
        cmocka_unit_test(test_thrift_calls__rows_are_read_in_place),
        cmocka_unit_test(test_thrift_calls__rows_are_skipped_and_may_be_missing),
        cmocka_unit_test(test_thrift_calls__small_results),
        cmocka_unit_test(test_thrift_calls__tables_and_regions),
        cmocka_unit_test(test_thrift_calls__exceptions_are_errors_with_text),
        cmocka_unit_test(test_thrift_calls__other_replies_are_refused),
        cmocka_unit_test(test_thrift_calls__damaged_rows_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
