/*
 * live_tables.h - OpenTSDB's four tables at a running gateway (TSD_HBASE_GATEWAY, TSD_HBASE_FRAMED), for tests that begin with empty ones.
 *
 * Tables are created once and emptied by deleting their rows, which takes milliseconds where creating a table takes a second. They stay after
 * the program, since the gateway's HBase belongs to the tests.
 *
 * Threads    one
 */
#ifndef TESTS_HBASE_LIVE_TABLES_H
#define TESTS_HBASE_LIVE_TABLES_H

#include "storage/hbase/remote/remote.h"

struct live_tables;

/** Create tables named tsd_NAME_PID_data and so on. With TSD_HBASE_TABLES=PREFIX in the environment they are named PREFIXdata, and one program at a
 * time may use them. NULL: the environment names no gateway, or it fails; the reason is on standard error. */
struct live_tables *live_tables_new(const char *name);
/** They stay. NULL is ignored. */
void live_tables_free(struct live_tables *t);
/** Delete all rows; what is written after the return is not hidden by these deletes. False: it failed, the reason is on standard error. No store may be
 * open over the tables. */
bool live_tables_empty(struct live_tables *t);
/** Open a remote store over the tables. opts: everything but the gateways, the transport and the tables. NULL: it failed, as above. */
struct sto_remote *live_tables_open(const struct live_tables *t, struct sto_hbase_opts opts);

#endif
