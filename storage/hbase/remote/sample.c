/*
 * sample.c - do the keys of a table fit the configuration?
 *
 * With another number of salts or another width of ids than the table was made with, nothing is found and nothing fails: so the first rows of
 * the table are looked at when HBase answers for the first time.
 *
 * Threads    any
 */
#include "storage/hbase/remote/remote_int.h"

#include "storage/hbase/rowkey.h"

int sto_hbase_sample_keys(struct sto_remote *r, const struct sto_remote_call *call,
                          struct sto_hbase_sample *out, struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    struct sto_hbase_session s;
    struct sto_thrift_request request;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_hbase_rowkey key;
    struct sto_thrift_scan scan = {
        .select = {.filter = TS_SLICE_LIT("FirstKeyOnlyFilter() AND KeyOnlyFilter()")},
        .caching = STO_HBASE_SAMPLE_ROWS,
        .limit_rows = STO_HBASE_SAMPLE_ROWS};
    *out = (struct sto_hbase_sample){0};
    TS_TRY(sto_hbase_begin(h->access, call, &s, err));
    sto_thrift_request_init(&request, 4096, h->opts.access.memory);
    (void)sto_thrift_call_get_scanner_results(&request, ts_slice_str(h->opts.tables.data), &scan,
                                              STO_HBASE_SAMPLE_ROWS);
    int rc = sto_hbase_call(&s, &request, &reply, NULL, err);
    if (rc == 0) {
        sto_thrift_items_init(&it, &reply);
        for (; (rc = sto_thrift_row(&it, &row, err)) == 1; out->n_rows++)
            out->n_odd += sto_hbase_rowkey_parse(&h->opts.schema, row.row, &key, NULL) < 0 ||
                          (!key.global && sto_hbase_rowkey_check(&h->opts.schema, &key, NULL) < 0);
    }
    sto_thrift_request_release(&request);
    sto_hbase_end(&s);
    return rc < 0 ? rc : 0;
}
