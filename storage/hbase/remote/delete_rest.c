/*
 * delete_rest.c - puts what stays of columns beside them, and looks whether it is there.
 */
#include "storage/hbase/remote/delete_rest.h"

void sto_hbase__rest_init(struct sto_hbase__rest *r, size_t max_bytes, struct ts_budget *memory)
{
    sto_thrift_request_init(&r->put, max_bytes, memory);
    sto_thrift_request_init(&r->look, max_bytes, memory);
}

void sto_hbase__rest_release(struct sto_hbase__rest *r)
{
    sto_thrift_request_release(&r->put);
    sto_thrift_request_release(&r->look);
}

int sto_hbase__rest_plan(struct sto_hbase__rest *r, struct ts_slice table, struct ts_slice row,
                         struct sto_hbase_change *change)
{
    struct sto_thrift_put put = {.row = row, .cells = change->puts, .n_cells = change->n_puts};
    const struct sto_thrift_mutation step = {.put = &put};
    sto_thrift_batch_begin(&r->look, STO_THRIFT_GET_MULTIPLE, table);
    for (size_t i = 0; i < change->n_puts; i++) {
        struct sto_thrift_cell *cell = &change->puts[i];
        struct sto_thrift_column column = {.family = STO_HBASE_FAMILY, .qualifier = cell->qualifier};
        struct sto_thrift_get get = {
            .row = row,
            .select = {.columns = &column, .n_columns = 1, .from_ts_ms = cell->ts_ms, .to_ts_ms = INT64_MAX}};
        cell->has_ts = true;
        sto_thrift_batch_get(&r->look, &get);
    }
    TS_TRY(sto_thrift_batch_end(&r->look));
    return sto_hbase_change_request(change, table, row, &step, 1, &r->put);
}

int sto_hbase__rest_is_there(const struct sto_thrift_reply *reply, struct ts_error *err)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    int rc, all = 1;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, err)) > 0)
        all &= row.n_left > 0;
    return rc < 0 ? rc : all;
}
