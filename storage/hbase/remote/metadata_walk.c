/*
 * metadata_walk.c - reads a table in pages.
 */
#include "storage/hbase/remote/metadata_int.h"

#include "base/time.h"

#include <string.h>

#define AWAY_NS (5 * 60 * 1000000000ll) /* for each page, without a deadline of the caller */

int sto_hbase__walk_no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for metadata of HBase (hbase_memory_bytes)");
}

int sto_hbase__walk_begin(struct sto_hbase__walk *w, struct sto_remote *r, const struct sto_remote_call *call,
                          struct ts_error *err)
{
    *w = (struct sto_hbase__walk){.h = sto_hbase_of(r), .call = call};
    struct sto_remote_call limits = call ? *call : (struct sto_remote_call){0};
    limits.deadline_ns = limits.deadline_ns ? limits.deadline_ns : ts_clock_mono_ns() + AWAY_NS;
    TS_TRY(sto_hbase_begin(w->h->access, &limits, &w->s, err));
    sto_thrift_request_init(&w->r, STO_HBASE__REQUEST_BYTES, w->h->opts.access.memory);
    ts_buf_init(&w->start, 0);
    ts_arena_init(&w->arena, 64u << 10);
    return 0;
}

void sto_hbase__walk_end(struct sto_hbase__walk *w)
{
    sto_hbase_end(&w->s);
    sto_thrift_request_release(&w->r);
    ts_buf_release(&w->start);
    ts_arena_release(&w->arena);
}

int sto_hbase__walk_wait(struct sto_hbase__walk *w, struct ts_error *err)
{
    if (!w->call || !w->call->deadline_ns)
        w->s.wait.until_ns = ts_clock_mono_ns() + AWAY_NS;
    if (w->s.wait.cancel && atomic_load_explicit(w->s.wait.cancel, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "it was cancelled");
    return ts_clock_mono_ns() < w->s.wait.until_ns
               ? 0
               : ts_error_set(err, TS_ETIMEOUT, "it did not end before its deadline");
}

struct ts_slice sto_hbase__walk_keep(struct sto_hbase__walk *w, struct ts_slice text)
{
    char *p = ts_arena_alloc(&w->arena, text.n + 1);
    if (text.n)
        memcpy(p, text.p, text.n);
    return (struct ts_slice){p, text.n};
}

int sto_hbase__walk_pages(struct sto_hbase__walk *w, const char *table,
                          const struct sto_thrift_column *column, const char *filter, struct ts_slice stop,
                          sto_hbase__walk_fn page, struct ts_error *err)
{
    for (;;) {
        struct sto_thrift_scan scan = {
            .start = ts_buf_get(&w->start),
            .stop = stop,
            .select = {.columns = column, .n_columns = 1, .filter = ts_slice_str(filter)},
            .caching = STO_HBASE__WALK_ROWS,
            .limit_rows = STO_HBASE__WALK_ROWS,
            .spares_cache = true};
        struct sto_thrift_reply reply;
        struct sto_thrift_items it;
        struct ts_slice last = {NULL, 0};
        struct ts_buf next, asked; /* a page may change w->start */
        size_t n = 0;
        TS_TRY(sto_hbase__walk_wait(w, err));
        if (sto_thrift_call_get_scanner_results(&w->r, ts_slice_str(table), &scan, STO_HBASE__WALK_ROWS) < 0)
            return sto_hbase__walk_no_memory(err);
        TS_TRY(sto_hbase_call(&w->s, &w->r, &reply, NULL, err));
        sto_thrift_items_init(&it, &reply);
        ts_buf_init(&next, 0);
        ts_buf_init(&asked, 0);
        int rc = ts_buf_slice(&asked, ts_buf_get(&w->start)) < 0 ? sto_hbase__walk_no_memory(err) : 0;
        if (rc == 0)
            rc = page(w, &it, &last, &n, err);
        if (rc == 0 && n && ts_slice_cmp(last, ts_buf_get(&asked)) < 0)
            rc = ts_error_set(err, TS_EBACKEND,
                              "HBase has returned rows of table %s that are before those requested", table);
        ts_buf_release(&asked);
        if (rc == 0 && n &&
            (ts_buf_slice(&next, last) < 0 || ts_buf_char(&next, 0) < 0)) /* the least key behind it */
            rc = sto_hbase__walk_no_memory(err);
        if (rc < 0 || n == 0) {
            ts_buf_release(&next);
            return rc < 0 ? sto_hbase_error(rc, err) : 0;
        }
        ts_buf_release(&w->start);
        w->start = next;
    }
}
