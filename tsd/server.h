/*
 * server.h - runs the daemon with a configuration: starts it, serves clients until a signal arrives, and
 * stops it in order.
 *
 * Threads    one call of tsd_server_run at a time, in the main thread
 */
#ifndef TSD_SERVER_H
#define TSD_SERVER_H

#include "base/conf.h"
#include "base/err.h"
#include "tsd/daemon/settings.h" /* tsd_conf_keys */

/** Open the store, serve until SIGTERM or SIGINT, close it. conf holds tsd_conf_keys, sto_conf_keys and
 *  tsd_hbase_conf_keys.
 *  Writes "listening ..." to the log when clients may connect.
 *  @return 0 after an orderly stop; otherwise the error that prevented the start, or the orderly closing of the
 *          store */
int tsd_server_run(const struct ts_conf *conf, struct ts_error *err);

#endif
