/*
 * hbase.h - what the forms of tsd hbase share: how HBase is reached, and text in aligned columns.
 *
 * Threads    the main thread
 * Not here   the forms (hbase.c, hbase_print.c)
 */
#ifndef TSD_COMMANDS_HBASE_H
#define TSD_COMMANDS_HBASE_H

#include "storage/hbase/remote/tables.h"
#include "tsd/commands/cmd.h"
#include "tsd/daemon/hbase.h"

/* Options that say how HBase is reached, beside those that are keys. */
#define TSD_HBASE_OPTS                                                                                       \
    {.name = "config",                                                                                       \
     .arg = "FILE",                                                                                          \
     .help = "Read keys from this file, that of the daemon: lines \"key = value\"."},                        \
        {.name = "opentsdb-config", .arg = "FILE", .help = "Before it, read an opentsdb.conf."},             \
        {.name = "gateways", .arg = "LIST", .help = "Thrift2 gateways as host:port: key hbase_gateways."},   \
        {.name = "salt-width", .arg = "N", .help = "Bytes of the salt: key hbase_salt_width."},              \
    {                                                                                                        \
        .name = "salt-buckets", .arg = "N", .help = "Number of salts: key hbase_salt_buckets."               \
    }
/** Keys of args->conf and these options.
 *  @param memory  [out] the account of hbase_memory_bytes; outlives set and what is opened with it
 *  @return 0; TS_EINVAL with one sentence. set is released with tsd_hbase_settings_release */
int tsd_hbase_take(const struct tsd_args *args, struct tsd_hbase_settings *set, struct ts_budget *memory,
                   struct ts_error *err);

/* One run. */
struct tsd_hbase_run {
    const struct tsd_args *args;
    struct tsd_hbase_settings set;               /* keys of HBase */
    struct ts_budget memory;                     /* hbase_memory_bytes */
    struct sto_hbase_table_list list;            /* the tables */
    struct ts_error why[TSD_HBASE_GATEWAYS_MAX]; /* status: of each gateway; code 0 = it answers */
    bool json;                                   /* --format json */
    bool dry_run;                                /* create-tables: nothing is created */
    struct ts_buf out;                           /* what is printed */
};

/** Append the lines of text, whose columns are separated by tabs, with columns of equal width. */
void tsd_hbase_align(struct ts_slice text, struct ts_buf *out);
/** Append what create-tables has done, or would do. */
void tsd_hbase_print_created(struct tsd_hbase_run *run);
/** Append gateways, tables and servers; without tables if has_tables is false. stats are rows of a daemon's /api/stats as pairs "name\tvalue\n",
 * where says which daemon; empty: it does not answer, or has no HBase behind it, which note says. */
void tsd_hbase_print_status(struct tsd_hbase_run *run, bool has_tables, const char *where,
                            struct ts_slice stats, const char *note);

#endif
