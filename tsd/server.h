/*
 * server.h - the whole daemon from a configuration: start, serve until a signal comes, stop in order.
 *
 * Threads    one call of tsd_server_run at a time, in the main thread
 */
#ifndef TSD_SERVER_H
#define TSD_SERVER_H

#include "base/conf.h"
#include "base/err.h"
#include "tsd/daemon/settings.h" /* tsd_conf_keys */

/** Open the store, serve until SIGTERM or SIGINT, close it. conf holds tsd_conf_keys and sto_conf_keys.
 *  Writes "listening ..." to the log when clients may come.
 *  @return 0 after an orderly stop; else what kept it from starting or from closing the store in order */
int tsd_server_run(const struct ts_conf *conf, struct ts_error *err);

#endif
