/*
 * remote.c - opens and closes a remote store in HBase, and its table of functions.
 */
#include "storage/hbase/remote/remote.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/remote_int.h"

#include <string.h>

static void h_close(struct sto_remote *r)
{
    struct sto_hbase *h = sto_hbase_of(r);
    sto_hbase__sender_stop(h);
    sto_hbase_ids_free(h->ids);
    sto_hbase_access_free(h->access);
    ts_free((char *)(uintptr_t)h->opts.tables.data);
    ts_free((char *)(uintptr_t)h->opts.tables.uid);
    ts_free((char *)(uintptr_t)h->opts.tables.tree);
    ts_free((char *)(uintptr_t)h->opts.tables.meta);
    ts_free(h);
}

static const struct sto_remote_abilities *h_abilities(const struct sto_remote *r)
{
    return &((const struct sto_hbase *)(const void *)r)->abilities;
}

static int h_time_range(struct sto_remote *r, const struct sto_remote_call *call, int64_t *out_min_ms,
                        int64_t *out_max_ms, struct ts_error *err)
{
    (void)r, (void)call, (void)out_min_ms, (void)out_max_ms;
    return ts_error_set(err, TS_ENOTFOUND, "HBase does not know the time range of its points");
}

static void h_recheck(struct sto_remote *r)
{
    sto_hbase_ids_distrust(sto_hbase_of(r)->ids);
}

static void h_status(struct sto_remote *r, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg)
{
    struct sto_hbase *h = sto_hbase_of(r);
    sto_hbase_access_status(h->access, each, arg);
    sto_hbase_ids_status(h->ids, each, arg);
    sto_hbase__sender_status(h, each, arg);
    sto_hbase__fetch_status(h, each, arg);
}

static const struct sto_remote_ops OPS = {
    .name = "hbase",
    .close = h_close,
    .abilities = h_abilities,
    .ship = sto_hbase__ship,
    .delete_range = sto_hbase__delete_range,
    .fetch = sto_hbase__fetch,
    .time_range = h_time_range,
    .names = sto_hbase__names,
    .suggest = sto_hbase__suggest,
    .rename = sto_hbase__rename,
    .cell_get = sto_hbase__cell_get,
    .cell_cas = sto_hbase__cell_cas,
    .recheck = h_recheck,
    .trees = sto_hbase__trees,
    .status = h_status,
    .check = sto_hbase__check,
};

/* --- opening --- */

static char *copy_name(const char *name, const char *usual)
{
    return ts_xstrdup(name && *name ? name : usual);
}

static void fill_defaults(struct sto_hbase_opts *o)
{
    struct sto_hbase_access_opts *a = &o->access;
    const struct sto_hbase_tables usual = STO_HBASE_TABLES_DEFAULT;
    a->max_connections = a->max_connections ? a->max_connections : 8;
    a->timeout_ms = a->timeout_ms ? a->timeout_ms : 30000;
    a->connect_timeout_ms = a->connect_timeout_ms ? a->connect_timeout_ms : 5000;
    a->call_ms = a->call_ms ? a->call_ms : 60000;
    a->max_reply_bytes = a->max_reply_bytes ? a->max_reply_bytes : (size_t)64 << 20;
    a->max_connections_key = a->max_connections_key ? a->max_connections_key : "hbase_max_connections";
    a->max_reply_key = a->max_reply_key ? a->max_reply_key : "hbase_max_reply_bytes";
    unsigned most = a->max_connections > 3 ? a->max_connections - 2 : 1;
    o->ship_connections = o->ship_connections ? o->ship_connections : most < 4 ? most : 4;
    o->scan_connections = o->scan_connections ? o->scan_connections : most < 4 ? most : 4;
    o->max_cached_ids = o->max_cached_ids ? o->max_cached_ids : 1000000;
    o->tables = (struct sto_hbase_tables){
        copy_name(o->tables.data, usual.data), copy_name(o->tables.uid, usual.uid),
        copy_name(o->tables.tree, usual.tree), copy_name(o->tables.meta, usual.meta)};
}

static int start(struct sto_hbase *h, struct ts_error *err)
{
    const struct sto_hbase_opts *o = &h->opts;
    TS_TRY(sto_hbase_opts_check(o, err));
    h->access = sto_hbase_access_new(&o->access);
    h->opts.access.gateways = NULL; /* the access has copies */
    h->ids = sto_hbase_ids_new(&o->schema, o->tables.uid, o->max_cached_ids, o->access.memory);
    sto_hbase_ids_clock(h->ids, o->now_ms);
    return sto_hbase__sender_start(h, err);
}

int sto_hbase_open(const struct sto_hbase_opts *opts, struct sto_remote **out, struct ts_error *err)
{
    struct sto_hbase *h = ts_xcalloc(1, sizeof *h);
    h->remote.ops = &OPS;
    h->opts = *opts;
    fill_defaults(&h->opts);
    const struct sto_hbase_schema *schema = &h->opts.schema;
    h->abilities = (struct sto_remote_abilities){
        .exact = false, /* integers and doubles are, decimals are not */
        .milliseconds = true,
        .max_ms = UINT32_MAX * 1000ll + 999,
        .max_tags = STO_HBASE_MAX_TAGS,
        .id_bytes = {schema->metric_width, schema->tagk_width, schema->tagv_width}};
    int rc = start(h, err);
    if (rc < 0) {
        h_close(&h->remote);
        return rc;
    }
    *out = &h->remote;
    return 0;
}
