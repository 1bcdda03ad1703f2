/*
 * calls.c - the arguments of each call, field by field.
 *
 * The numbers are those of hbase.thrift; the struct that they belong to is named at each function.
 * Threads    see calls.h
 */
#include "storage/hbase/thrift/calls.h"

static const struct sto_thrift_call_info infos[STO_THRIFT_N_CALLS] = {
    [STO_THRIFT_GET] = {"get", STO_THRIFT_READS, STO_THRIFT_STRUCT},
    [STO_THRIFT_GET_MULTIPLE] = {"getMultiple", STO_THRIFT_READS, STO_THRIFT_LIST},
    [STO_THRIFT_PUT] = {"put", STO_THRIFT_SETS, STO_THRIFT_STOP},
    [STO_THRIFT_PUT_MULTIPLE] = {"putMultiple", STO_THRIFT_SETS, STO_THRIFT_STOP},
    [STO_THRIFT_DELETE_SINGLE] = {"deleteSingle", STO_THRIFT_SETS, STO_THRIFT_STOP},
    [STO_THRIFT_DELETE_MULTIPLE] = {"deleteMultiple", STO_THRIFT_SETS, STO_THRIFT_LIST},
    [STO_THRIFT_MUTATE_ROW] = {"mutateRow", STO_THRIFT_SETS, STO_THRIFT_STOP},
    [STO_THRIFT_CHECK_AND_PUT] = {"checkAndPut", STO_THRIFT_CHANGES, STO_THRIFT_BOOL},
    [STO_THRIFT_CHECK_AND_MUTATE] = {"checkAndMutate", STO_THRIFT_CHANGES, STO_THRIFT_BOOL},
    [STO_THRIFT_INCREMENT] = {"increment", STO_THRIFT_CHANGES, STO_THRIFT_STRUCT},
    [STO_THRIFT_APPEND] = {"append", STO_THRIFT_CHANGES, STO_THRIFT_STRUCT},
    [STO_THRIFT_OPEN_SCANNER] = {"openScanner", STO_THRIFT_READS, STO_THRIFT_I32},
    [STO_THRIFT_GET_SCANNER_ROWS] = {"getScannerRows", STO_THRIFT_CHANGES, STO_THRIFT_LIST},
    [STO_THRIFT_CLOSE_SCANNER] = {"closeScanner", STO_THRIFT_SETS, STO_THRIFT_STOP},
    [STO_THRIFT_GET_SCANNER_RESULTS] = {"getScannerResults", STO_THRIFT_READS, STO_THRIFT_LIST},
    [STO_THRIFT_TABLE_EXISTS] = {"tableExists", STO_THRIFT_READS, STO_THRIFT_BOOL},
    [STO_THRIFT_GET_TABLE_DESCRIPTOR] = {"getTableDescriptor", STO_THRIFT_READS, STO_THRIFT_STRUCT},
    [STO_THRIFT_CREATE_TABLE] = {"createTable", STO_THRIFT_CHANGES, STO_THRIFT_STOP},
    [STO_THRIFT_GET_ALL_REGION_LOCATIONS] = {"getAllRegionLocations", STO_THRIFT_READS, STO_THRIFT_LIST},
};

const struct sto_thrift_call_info *sto_thrift_call_info(enum sto_thrift_call call)
{
    return &infos[call];
}

void sto_thrift_request_init(struct sto_thrift_request *r, size_t max_bytes, struct ts_budget *budget)
{
    *r = (struct sto_thrift_request){0};
    ts_buf_init(&r->bytes, max_bytes);
    r->bytes.budget = budget;
}

void sto_thrift_request_release(struct sto_thrift_request *r)
{
    ts_buf_release(&r->bytes);
}

static struct ts_buf *begin(struct sto_thrift_request *r, enum sto_thrift_call call)
{
    ts_buf_clear(&r->bytes);
    r->call = call;
    r->n_items = 0;
    r->connection = 0;
    sto_thrift_put_message(&r->bytes, STO_THRIFT_CALL, ts_slice_str(infos[call].name), 0);
    return &r->bytes;
}

/* The same with the table, which is field 1 of many calls. */
static struct ts_buf *begin_table(struct sto_thrift_request *r, enum sto_thrift_call call,
                                  struct ts_slice table)
{
    struct ts_buf *out = begin(r, call);
    sto_thrift_put_bytes(out, 1, table);
    return out;
}

static int end(struct sto_thrift_request *r)
{
    sto_thrift_put_stop(&r->bytes);
    return r->bytes.failed ? TS_ELIMIT : 0;
}

static void put_optional(struct ts_buf *out, int16_t id, struct ts_slice bytes)
{
    if (bytes.p)
        sto_thrift_put_bytes(out, id, bytes);
}

/* A filter, if there is one: HBase refuses an empty text. */
static void put_filter(struct ts_buf *out, int16_t id, struct ts_slice filter)
{
    if (filter.n)
        sto_thrift_put_bytes(out, id, filter);
}

/* A list whose length comes from a caller; false: it is too long to be sent. */
static bool put_structs(struct ts_buf *out, int16_t id, size_t n)
{
    if (n > INT32_MAX)
        out->failed = true;
    else
        sto_thrift_put_list(out, id, STO_THRIFT_STRUCT, (int32_t)n);
    return !out->failed;
}

/* list<TColumn> */
static void put_columns(struct ts_buf *out, int16_t id, const struct sto_thrift_column *columns, size_t n)
{
    if (!n || !put_structs(out, id, n))
        return;
    for (size_t i = 0; i < n && !out->failed; i++) {
        sto_thrift_put_bytes(out, 1, columns[i].family);
        put_optional(out, 2, columns[i].qualifier);
        if (columns[i].has_ts)
            sto_thrift_put_i64(out, 3, columns[i].ts_ms);
        sto_thrift_put_stop(out);
    }
}

/* list<TColumnValue> */
static void put_cells(struct ts_buf *out, int16_t id, const struct sto_thrift_cell *cells, size_t n,
                      bool with_ts)
{
    if (!put_structs(out, id, n))
        return;
    for (size_t i = 0; i < n && !out->failed; i++) {
        sto_thrift_put_bytes(out, 1, cells[i].family);
        sto_thrift_put_bytes(out, 2, cells[i].qualifier);
        sto_thrift_put_bytes(out, 3, cells[i].value);
        if (cells[i].has_ts && with_ts)
            sto_thrift_put_i64(out, 4, cells[i].ts_ms);
        sto_thrift_put_stop(out);
    }
}

static void put_durability(struct ts_buf *out, int16_t id, enum sto_thrift_durability d)
{
    if (d != STO_THRIFT_USE_DEFAULT)
        sto_thrift_put_i32(out, id, (int32_t)d);
}

/* TTimeRange */
static void put_time_range(struct ts_buf *out, int16_t id, const struct sto_thrift_select *s)
{
    if (s->to_ts_ms == 0)
        return;
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, id);
    sto_thrift_put_i64(out, 1, s->from_ts_ms);
    sto_thrift_put_i64(out, 2, s->to_ts_ms);
    sto_thrift_put_stop(out);
}

/* TGet */
static void put_get(struct ts_buf *out, const struct sto_thrift_get *get)
{
    const struct sto_thrift_select *s = &get->select;
    sto_thrift_put_bytes(out, 1, get->row);
    put_columns(out, 2, s->columns, s->n_columns);
    put_time_range(out, 4, s);
    if (s->max_versions)
        sto_thrift_put_i32(out, 5, s->max_versions);
    put_filter(out, 6, s->filter);
    put_filter(out, 15, s->filter_bytes);
    sto_thrift_put_stop(out);
}

/* TPut */
static void put_put(struct ts_buf *out, const struct sto_thrift_put *put)
{
    sto_thrift_put_bytes(out, 1, put->row);
    put_cells(out, 2, put->cells, put->n_cells, true);
    put_durability(out, 6, put->durability);
    sto_thrift_put_stop(out);
}

/* TDelete */
static void put_delete(struct ts_buf *out, const struct sto_thrift_delete *del)
{
    sto_thrift_put_bytes(out, 1, del->row);
    put_columns(out, 2, del->columns, del->n_columns);
    sto_thrift_put_i32(out, 4, (int32_t)del->type);
    put_durability(out, 7, del->durability);
    sto_thrift_put_stop(out);
}

/* TRowMutations, and in it TMutation, a union: a struct with one field */
static void put_mutations(struct ts_buf *out, int16_t id, struct ts_slice row,
                          const struct sto_thrift_mutation *mutations, size_t n)
{
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, id);
    sto_thrift_put_bytes(out, 1, row);
    if (!put_structs(out, 2, n))
        return;
    for (size_t i = 0; i < n && !out->failed; i++) {
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, mutations[i].put ? 1 : 2);
        if (mutations[i].put)
            put_put(out, mutations[i].put);
        else
            put_delete(out, mutations[i].delete);
        sto_thrift_put_stop(out);
    }
    sto_thrift_put_stop(out);
}

int sto_thrift_call_get(struct sto_thrift_request *r, struct ts_slice table, const struct sto_thrift_get *get)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_GET, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
    put_get(out, get);
    return end(r);
}

int sto_thrift_call_put(struct sto_thrift_request *r, struct ts_slice table, const struct sto_thrift_put *put)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_PUT, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
    put_put(out, put);
    return end(r);
}

int sto_thrift_call_delete(struct sto_thrift_request *r, struct ts_slice table,
                           const struct sto_thrift_delete *del)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_DELETE_SINGLE, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
    put_delete(out, del);
    return end(r);
}

int sto_thrift_call_mutate_row(struct sto_thrift_request *r, struct ts_slice table, struct ts_slice row,
                               const struct sto_thrift_mutation *mutations, size_t n)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_MUTATE_ROW, table);
    put_mutations(out, 2, row, mutations, n);
    return end(r);
}

int sto_thrift_call_check_and_put(struct sto_thrift_request *r, struct ts_slice table,
                                  const struct sto_thrift_check *check, const struct sto_thrift_put *put)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_CHECK_AND_PUT, table);
    sto_thrift_put_bytes(out, 2, check->row);
    sto_thrift_put_bytes(out, 3, check->family);
    sto_thrift_put_bytes(out, 4, check->qualifier);
    put_optional(out, 5, check->value);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 6);
    put_put(out, put);
    return end(r);
}

int sto_thrift_call_check_and_mutate(struct sto_thrift_request *r, struct ts_slice table,
                                     const struct sto_thrift_check *check,
                                     const struct sto_thrift_mutation *mutations, size_t n)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_CHECK_AND_MUTATE, table);
    sto_thrift_put_bytes(out, 2, check->row);
    sto_thrift_put_bytes(out, 3, check->family);
    sto_thrift_put_bytes(out, 4, check->qualifier);
    sto_thrift_put_i32(out, 5, (int32_t)check->compare);
    put_optional(out, 6, check->value);
    put_mutations(out, 7, check->row, mutations, n);
    return end(r);
}

int sto_thrift_call_increment(struct sto_thrift_request *r, struct ts_slice table, struct ts_slice row,
                              const struct sto_thrift_column *column, int64_t amount)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_INCREMENT, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2); /* TIncrement */
    sto_thrift_put_bytes(out, 1, row);
    sto_thrift_put_list(out, 2, STO_THRIFT_STRUCT, 1); /* of TColumnIncrement */
    sto_thrift_put_bytes(out, 1, column->family);
    sto_thrift_put_bytes(out, 2, column->qualifier);
    sto_thrift_put_i64(out, 3, amount);
    sto_thrift_put_stop(out);
    sto_thrift_put_stop(out);
    return end(r);
}

int sto_thrift_call_append(struct sto_thrift_request *r, struct ts_slice table,
                           const struct sto_thrift_put *cells, bool returns_cells)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_APPEND, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2); /* TAppend */
    sto_thrift_put_bytes(out, 1, cells->row);
    put_cells(out, 2, cells->cells, cells->n_cells, false);
    put_durability(out, 4, cells->durability);
    sto_thrift_put_bool(out, 6, returns_cells);
    sto_thrift_put_stop(out);
    return end(r);
}

void sto_thrift_batch_begin(struct sto_thrift_request *r, enum sto_thrift_call call, struct ts_slice table)
{
    struct ts_buf *out = begin_table(r, call, table);
    r->n_items_off = sto_thrift_put_list(out, 2, STO_THRIFT_STRUCT, 0);
}

void sto_thrift_batch_get(struct sto_thrift_request *r, const struct sto_thrift_get *get)
{
    put_get(&r->bytes, get);
    r->n_items++;
}

void sto_thrift_batch_put(struct sto_thrift_request *r, const struct sto_thrift_put *put)
{
    put_put(&r->bytes, put);
    r->n_items++;
}

void sto_thrift_batch_delete(struct sto_thrift_request *r, const struct sto_thrift_delete *del)
{
    put_delete(&r->bytes, del);
    r->n_items++;
}

int sto_thrift_batch_end(struct sto_thrift_request *r)
{
    if (r->n_items > INT32_MAX)
        r->bytes.failed = true;
    sto_thrift_set_i32(&r->bytes, r->n_items_off, (int32_t)r->n_items);
    return end(r);
}

/* TScan */
static void put_scan(struct ts_buf *out, const struct sto_thrift_scan *scan)
{
    const struct sto_thrift_select *s = &scan->select;
    if (scan->start.n)
        sto_thrift_put_bytes(out, 1, scan->start);
    if (scan->stop.n)
        sto_thrift_put_bytes(out, 2, scan->stop);
    put_columns(out, 3, s->columns, s->n_columns);
    if (scan->caching)
        sto_thrift_put_i32(out, 4, scan->caching);
    if (s->max_versions)
        sto_thrift_put_i32(out, 5, s->max_versions);
    put_time_range(out, 6, s);
    put_filter(out, 7, s->filter);
    if (scan->batch_cells)
        sto_thrift_put_i32(out, 8, scan->batch_cells);
    if (scan->reversed)
        sto_thrift_put_bool(out, 11, true);
    if (scan->spares_cache)
        sto_thrift_put_bool(out, 12, false);
    if (scan->limit_rows)
        sto_thrift_put_i32(out, 15, scan->limit_rows);
    put_filter(out, 18, s->filter_bytes);
    sto_thrift_put_stop(out);
}

int sto_thrift_call_open_scanner(struct sto_thrift_request *r, struct ts_slice table,
                                 const struct sto_thrift_scan *scan)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_OPEN_SCANNER, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
    put_scan(out, scan);
    return end(r);
}

int sto_thrift_call_get_scanner_rows(struct sto_thrift_request *r, struct sto_thrift_scanner scanner,
                                     int32_t n_rows)
{
    struct ts_buf *out = begin(r, STO_THRIFT_GET_SCANNER_ROWS);
    r->connection = scanner.connection;
    sto_thrift_put_i32(out, 1, scanner.id);
    sto_thrift_put_i32(out, 2, n_rows);
    return end(r);
}

int sto_thrift_call_close_scanner(struct sto_thrift_request *r, struct sto_thrift_scanner scanner)
{
    sto_thrift_put_i32(begin(r, STO_THRIFT_CLOSE_SCANNER), 1, scanner.id);
    r->connection = scanner.connection;
    return end(r);
}

int sto_thrift_call_get_scanner_results(struct sto_thrift_request *r, struct ts_slice table,
                                        const struct sto_thrift_scan *scan, int32_t n_rows)
{
    struct ts_buf *out = begin_table(r, STO_THRIFT_GET_SCANNER_RESULTS, table);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 2);
    put_scan(out, scan);
    sto_thrift_put_i32(out, 3, n_rows);
    return end(r);
}

/* TTableName as a field */
static void put_table_name(struct ts_buf *out, int16_t id, struct ts_slice table)
{
    const char *colon = table.n ? memchr(table.p, ':', table.n) : NULL;
    size_t n_space = colon ? (size_t)(colon - table.p) : 0;
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, id);
    if (colon) {
        sto_thrift_put_bytes(out, 1, (struct ts_slice){table.p, n_space});
        table = (struct ts_slice){colon + 1, table.n - n_space - 1};
    }
    sto_thrift_put_bytes(out, 2, table);
    sto_thrift_put_stop(out);
}

int sto_thrift_call_table_exists(struct sto_thrift_request *r, struct ts_slice table)
{
    put_table_name(begin(r, STO_THRIFT_TABLE_EXISTS), 1, table);
    return end(r);
}

int sto_thrift_call_get_table_descriptor(struct sto_thrift_request *r, struct ts_slice table)
{
    put_table_name(begin(r, STO_THRIFT_GET_TABLE_DESCRIPTOR), 1, table);
    return end(r);
}

/* TColumnFamilyDescriptor */
static void put_family(struct ts_buf *out, const struct sto_thrift_family *f)
{
    const struct {
        int16_t id;
        int32_t v;
    } numbers[] = {
        {5, f->bloom}, {6, f->compression}, {8, f->encoding}, {10, f->max_versions}, {13, f->ttl_s},
    };
    sto_thrift_put_bytes(out, 1, f->name);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].v >= 0)
            sto_thrift_put_i32(out, numbers[i].id, numbers[i].v);
    sto_thrift_put_stop(out);
}

int sto_thrift_call_create_table(struct sto_thrift_request *r, struct ts_slice table,
                                 const struct sto_thrift_family *families, size_t n_families,
                                 const struct ts_slice *splits, size_t n_splits)
{
    struct ts_buf *out = begin(r, STO_THRIFT_CREATE_TABLE);
    sto_thrift_put_field(out, STO_THRIFT_STRUCT, 1); /* TTableDescriptor */
    put_table_name(out, 1, table);
    if (put_structs(out, 2, n_families))
        for (size_t i = 0; i < n_families; i++)
            put_family(out, &families[i]);
    sto_thrift_put_stop(out);
    if (n_splits > INT32_MAX)
        out->failed = true;
    else if (n_splits)
        sto_thrift_put_list(out, 2, STO_THRIFT_STRING, (int32_t)n_splits);
    for (size_t i = 0; i < n_splits && !out->failed; i++)
        sto_thrift_put_item(out, splits[i]);
    return end(r);
}

int sto_thrift_call_get_all_region_locations(struct sto_thrift_request *r, struct ts_slice table)
{
    begin_table(r, STO_THRIFT_GET_ALL_REGION_LOCATIONS, table);
    return end(r);
}
