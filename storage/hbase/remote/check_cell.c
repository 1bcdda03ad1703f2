/*
 * check_cell.c - single cells: read, compared and set.
 */
#include "storage/hbase/remote/check_int.h"

#define MOST_COLUMNS 4 /* that are deleted together */

int sto_hbase__cell_read(struct sto_hbase_session *s, struct sto_thrift_request *r,
                         const struct sto_hbase__cell_id *id, struct ts_buf *out, int64_t *out_ts_ms,
                         struct ts_error *err)
{
    struct sto_thrift_column column = {.family = id->family, .qualifier = id->qualifier};
    struct sto_thrift_get get = {.row = id->row, .select = {.columns = &column, .n_columns = 1}};
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    (void)sto_thrift_call_get(r, ts_slice_str(id->table), &get);
    TS_TRY(sto_hbase_call(s, r, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    int rc = sto_thrift_row(&it, &row, err);
    if (rc > 0 && row.row.p)
        rc = sto_thrift_row_next(&row, &cell, err);
    else if (rc > 0)
        rc = 0;
    if (rc <= 0)
        return sto_hbase_error(rc, err);
    if (out_ts_ms)
        *out_ts_ms = cell.ts_ms;
    return out && ts_buf_slice(out, cell.value) < 0 ? sto_hbase__no_memory(err) : 1;
}

/* Is the value of the cell this one (p NULL: does it not exist)? 1; 0; or an error. */
static int has_value(struct sto_hbase_session *s, struct sto_thrift_request *r,
                     const struct sto_hbase__cell_id *id, struct ts_slice value, struct ts_error *err)
{
    struct ts_buf now;
    ts_buf_init(&now, 0);
    int rc = sto_hbase__cell_read(s, r, id, &now, NULL, err);
    if (rc >= 0)
        rc = value.p ? rc && ts_slice_eq(ts_buf_get(&now), value) : !rc;
    ts_buf_release(&now);
    return rc;
}

int sto_hbase__cell_change(struct sto_hbase_session *s, struct sto_thrift_request *r,
                           const struct sto_hbase__cell_id *id, struct ts_slice from, struct ts_slice to,
                           int64_t ts_ms, const struct ts_slice *also, size_t n_also, struct ts_error *err)
{
    struct sto_thrift_cell cell = {id->family, id->qualifier, to, ts_ms, ts_ms != 0};
    struct sto_thrift_column columns[MOST_COLUMNS] = {
        {.family = id->family, .qualifier = id->qualifier, .ts_ms = ts_ms, .has_ts = ts_ms != 0}};
    struct sto_thrift_check check = {id->row, id->family, id->qualifier, STO_THRIFT_EQUAL, from};
    struct sto_thrift_put put = {.row = id->row, .cells = &cell, .n_cells = 1};
    struct sto_thrift_delete del = {
        .row = id->row, .columns = columns, .n_columns = 1, .type = STO_THRIFT_DELETE_COLUMNS};
    for (size_t i = 0; i < n_also && del.n_columns < MOST_COLUMNS; i++)
        columns[del.n_columns++] = (struct sto_thrift_column){.family = id->family, .qualifier = also[i]};
    struct sto_thrift_mutation deletes = {.delete = &del};
    for (unsigned attempt = 1;; attempt++) {
        struct sto_thrift_reply reply = {0};
        enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
        struct ts_slice table = ts_slice_str(id->table);
        (void)(to.p ? sto_thrift_call_check_and_put(r, table, &check, &put)
                    : sto_thrift_call_check_and_mutate(r, table, &check, &deletes, 1));
        int rc = sto_hbase_call(s, r, &reply, &sent, err);
        if (rc == 0 && sto_thrift_reply_bool(&reply))
            return 1;
        if (rc == 0) /* perhaps an attempt before, whose reply was lost, has changed it */
            return has_value(s, r, id, to, err);
        bool ends = sent == STO_THRIFT_ANSWERED ? sto_hbase_is_final(&reply) : sent == STO_THRIFT_NOT_SENT;
        if (ends || rc == TS_ECANCELLED || rc == TS_ELIMIT || sto_hbase_pause(s, attempt, NULL) < 0)
            return rc;
    }
}
