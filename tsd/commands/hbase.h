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
