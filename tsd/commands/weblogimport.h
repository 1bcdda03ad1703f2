/*
 * weblogimport.h - tsd collect weblog-import: finished web logs into a running daemon.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_WEBLOGIMPORT_H
#define TSD_COMMANDS_WEBLOGIMPORT_H

#include "tsd/commands/cmd.h"

/** Run it: the words behind the first one are files; keys and options as of tsd collect. Returns an exit code. */
int tsd_weblog_import(const struct tsd_args *args);
/** Print what the first lines of the logs named behind "weblog-try" say and which points they make. Returns an exit code. */
int tsd_weblog_try(const struct tsd_args *args);

#endif
