/*
 * tables.h - creates OpenTSDB's tables in HBase, and says in which state they are.
 *
 * Families and attributes are those of OpenTSDB's script, except that nothing is compressed unless it is requested, because HBase does not bring the
 * codec of that script (LZO):
 *
 *   data   t          one version, TTL as requested
 *   uid    id, name   HBase's number of versions
 *   tree   t          one version
 *   meta   name       HBase's number of versions
 *   those of rollups  as data, without TTL: t, one version
 *
 * all with Bloom filters of rows and the data block encoding DIFF. Only the data table and those of rollups, whose keys begin as its keys do, are divided into
 * regions beforehand. A table that exists is never
 * changed; what differs from the request is reported.
 *
 * Threads    plain functions: several may run at the same time, each with an output of its own
 * Errors     those of access.h
 * Not here   reading and printing options (tsd/commands)
 * Source     docs/OPENTSDB.md, section 10; src/create_table.sh of OpenTSDB 2.4
 */
#ifndef STORAGE_HBASE_REMOTE_TABLES_H
#define STORAGE_HBASE_REMOTE_TABLES_H

#include "base/mem.h"
#include "storage/hbase/remote/remote.h"

#define STO_HBASE_N_TABLES         4 /* data, uid, tree, meta; those of rollups come after them */
#define STO_HBASE_MAX_TABLES       (STO_HBASE_N_TABLES + 1 + 2 * STO_HBASE_ROLLUP_INTERVALS)
#define STO_HBASE_MAX_REGIONS      100000 /* that a table is created with; HBase itself bears far fewer a server */
#define STO_HBASE_MAX_SPLIT_BYTES  64 /* of a split key */
#define STO_HBASE_MAX_FAMILY_COUNT 2  /* of OpenTSDB's tables */

/* Where the data table and those of rollups are divided. */
enum sto_hbase_split {
    STO_HBASE_SPLIT_NONE,   /* one region */
    STO_HBASE_SPLIT_SALT,   /* a region for each salt bucket */
    STO_HBASE_SPLIT_METRIC, /* ids 1 to n_metrics in n_ranges equal ranges; with salt, so in each bucket */
    STO_HBASE_SPLIT_KEYS,   /* at the given keys */
};

/* What is requested; STO_HBASE_CREATE_DEFAULT and names. Everything is borrowed until return. */
struct sto_hbase_create {
    struct sto_hbase_tables names;           /* of the tables */
    const struct sto_hbase_rollups *rollups; /* their tables; NULL: there are none */
    struct sto_hbase_schema schema;          /* for the split keys */
    enum sto_hbase_split split;
    uint64_t n_metrics;          /* SPLIT_METRIC: ids that are expected */
    uint32_t n_ranges;           /* SPLIT_METRIC: regions for them, or for each salt bucket */
    const struct ts_slice *keys; /* SPLIT_KEYS: n_keys of them, ascending, each once, not empty */
    size_t n_keys;
    int32_t compression; /* STO_THRIFT_COMPRESSION_*; -1, here and below: HBase's default, and not compared */
    int32_t encoding;    /* STO_THRIFT_ENCODING_* */
    int32_t bloom;       /* STO_THRIFT_BLOOM_* */
    int32_t ttl_s;       /* s, of the data table; INT32_MAX or 0 = for ever */
};
#define STO_HBASE_CREATE_DEFAULT                                                                             \
    ((struct sto_hbase_create){.names = STO_HBASE_TABLES_DEFAULT,                                            \
                               .schema = STO_HBASE_SCHEMA_DEFAULT,                                           \
                               .compression = STO_THRIFT_COMPRESSION_NONE,                                   \
                               .encoding = STO_THRIFT_ENCODING_DIFF,                                         \
                               .bloom = STO_THRIFT_BLOOM_ROW,                                                \
                               .ttl_s = INT32_MAX})

/* A table. Everything is owned by the arena of struct sto_hbase_table_list. */
struct sto_hbase_table {
    const char *role; /* "data", "uid", "tree", "meta", "rollup 1h", "pre-aggregate", "pre-aggregate 1h" */
    const char *name;
    bool existed; /* before the call */
    bool exists;  /* after it */
    const char
        *difference; /* one sentence: what differs from the request; "" = nothing, or it does not exist */
    struct sto_thrift_family
        wanted[STO_HBASE_MAX_FAMILY_COUNT]; /* n_wanted families that it has when it is created */
    size_t n_wanted;
    struct ts_slice *splits; /* n_splits keys at which it is divided when it is created */
    size_t n_splits;
    struct sto_thrift_family *families; /* n_families of them, as HBase has them now */
    size_t n_families;
    struct sto_thrift_region *regions; /* n_regions of them, by their start, as HBase has them now */
    size_t n_regions;
};
/* The tables, each once. */
struct sto_hbase_table_list {
    struct sto_hbase_table tables[STO_HBASE_MAX_TABLES]; /* data, uid, tree, meta, those of rollups */
    size_t n;              /* at least STO_HBASE_N_TABLES after sto_hbase_tables_plan */
    struct ts_arena arena; /* private: their memory */
};
void sto_hbase_table_list_init(struct sto_hbase_table_list *list, struct ts_budget *memory);
/** Free all memory; idempotent. */
void sto_hbase_table_list_release(struct sto_hbase_table_list *list);

/**
 * Check a request and fill in what would be created; nothing is sent.
 *
 * @param out  [out] role, name, wanted and splits of each table
 * @return 0
 *         TS_EINVAL  with one sentence: widths, names, split keys or their number are wrong
 *         TS_ELIMIT  the account refuses memory
 */
int sto_hbase_tables_plan(const struct sto_hbase_create *want, struct sto_hbase_table_list *out,
                          struct ts_error *err);
/**
 * Look up which of the planned tables exist, and how they are.
 *
 * @param list  [in, out] after sto_hbase_tables_plan
 * Blocks. Three calls a table.
 */
int sto_hbase_tables_look(struct sto_hbase_access *a, const struct sto_remote_call *call,
                          struct sto_hbase_table_list *list, struct ts_error *err);
/**
 * Create the planned tables that do not exist, and then look at all of them. A call whose reply was lost, or another program that creates the
 * same table at the same time, is no error. After an error some tables may have been created; the call may be repeated.
 *
 * @return 0; TS_EBACKEND if HBase refuses a table, with its reason. Differences of tables that existed are no error
 * Blocks.
 */
int sto_hbase_tables_create(struct sto_hbase_access *a, const struct sto_remote_call *call,
                            struct sto_hbase_table_list *list, struct ts_error *err);
/**
 * Does one gateway answer, over a connection of its own? It is asked whether a table exists, once, without repeats.
 *
 * @param opts     how to reach it; timeout_ms must be set
 * @param gateway  its index in opts->gateways
 * @return 0; TS_EBACKEND with the reason; TS_ETIMEOUT
 */
int sto_hbase_gateway_probe(const struct sto_hbase_access_opts *opts, size_t gateway, const char *table,
                            struct ts_error *err);

/* Names of HBase's attributes, as its shell writes them. */
enum sto_hbase_attribute { STO_HBASE_BLOOM, STO_HBASE_COMPRESSION, STO_HBASE_ENCODING };
/** Name of a value, "FAST_DIFF"; NULL: there is none. */
const char *sto_hbase_attribute_name(enum sto_hbase_attribute what, int32_t value);
/** Value of a name in any case; -1: there is none. */
int32_t sto_hbase_attribute_value(enum sto_hbase_attribute what, struct ts_slice name);

#endif
