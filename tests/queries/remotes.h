/*
 * remotes.h - the remote stores behind the stores of query scripts: in memory, or in HBase's tables (tests/hbase/live_tables.h).
 *
 * Threads    one
 */
#ifndef TESTS_QUERIES_REMOTES_H
#define TESTS_QUERIES_REMOTES_H

#include "storage/remote.h"

/* Each ends the program if it fails, with the reason on standard error. */

/** Remote stores are in HBase, or in memory. */
void remotes_start(bool hbase);
/** Release what remotes_start made. */
void remotes_end(void);
/** An empty remote store, closed by the caller before the next one is made. */
struct sto_remote *remotes_new(void);
/** Close it and open it again, with what it holds. One in memory is returned as it is. */
struct sto_remote *remotes_again(struct sto_remote *r);

#endif
