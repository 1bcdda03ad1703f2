/*
 * remotes.c - makes the remote stores behind the stores of query scripts.
 */
#include "tests/queries/remotes.h"

#include "storage/remote/memory_remote.h"
#include "tests/hbase/live_tables.h"

#include <stdlib.h>

static struct live_tables *tables; /* NULL: remote stores are in memory */

void remotes_start(bool hbase)
{
    if (hbase && !(tables = live_tables_new("queries")))
        exit(1);
}

void remotes_end(void)
{
    live_tables_free(tables);
    tables = NULL;
}

/* Salted, so that fetches use several scanners at once. */
static struct sto_remote *open_hbase(void)
{
    struct sto_hbase_opts opts = {.schema = STO_HBASE_SCHEMA_DEFAULT};
    opts.schema.salt_width = 1;
    opts.schema.salt_buckets = 3;
    struct sto_remote *r = live_tables_open(tables, opts);
    if (!r)
        exit(1);
    return r;
}

struct sto_remote *remotes_new(void)
{
    if (!tables)
        return sto_memory_remote_new(NULL);
    if (!live_tables_empty(tables))
        exit(1);
    return open_hbase();
}

struct sto_remote *remotes_again(struct sto_remote *r)
{
    if (!tables)
        return r;
    r->ops->close(r);
    return open_hbase();
}
