/*
 * contract_live.c - the contract of all remote stores (tests/unit/storage/remote_contract.h) over a Thrift2 gateway, of HBase or of the fake one, in several layouts
 * of OpenTSDB's tables.
 *
 *   TSD_HBASE_GATEWAY=HOST:PORT [TSD_HBASE_FRAMED=1] contract_live
 */
#include "tests/unit/storage/remote_contract.h"

#include "tests/hbase/live_tables.h"

static struct live_tables *tables;
static struct sto_hbase_opts opts;

static struct sto_remote *open_store(void)
{
    return live_tables_empty(tables) ? live_tables_open(tables, opts) : NULL;
}

static int run(const char *name, struct sto_hbase_opts o)
{
    opts = o;
    return remote_contract_run(name, open_store,
                               &(struct remote_contract_opts){.no_small_cells = true, .no_check = true});
}

int main(void)
{
    struct sto_hbase_opts plain = {.schema = STO_HBASE_SCHEMA_DEFAULT}, salted = plain, sole = plain,
                          compacts = plain, wide = plain;
    if (!(tables = live_tables_new("contract")))
        return 1;
    salted.schema.salt_width = 1;
    sole.sole_writer = true;
    compacts.compacts = true;
    wide.schema.metric_width = 4;
    wide.schema.tagv_width = 8;
    wide.schema.salt_width = 2;
    wide.sole_writer = wide.compacts = true;
    int n = run("HBase, plain", plain);
    n += run("HBase, salted", salted);
    n += run("HBase, sole writer", sole);
    n += run("HBase, compacted rows", compacts);
    n += run("HBase, wide ids, salted, sole writer, compacted rows", wide);
    live_tables_free(tables);
    return n ? 1 : 0;
}
