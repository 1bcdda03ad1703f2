/*
 * keys.h - the configuration keys of collecting and sending, and values that are derived from several keys.
 *
 * Threads    any; the table is constant
 */
#ifndef COLLECTORS_CORE_KEYS_H
#define COLLECTORS_CORE_KEYS_H

#include "base/conf.h"
#include "base/err.h"

#include <limits.h>

/** Keys of all that collects, a table for ts_conf_new; `tsd collect` and `tsd serve` have them. */
extern const struct ts_conf_key col_conf_keys[];

/** Folder for spool and checkpoints by the key collect_dir: the folder it names, "" for none, else the usual
 * folder for state of this user's programs. TS_EINVAL: there is no such folder. It creates nothing. */
int col_state_dir(const struct ts_conf *conf, char out[PATH_MAX], struct ts_error *err);
/** Where the first of these addresses (as of collect_server; all are checked) is. The texts are the caller's, ts_free
 * them; NULL after an error. TS_EINVAL names the bad one. */
int col_server_first(const char *servers, char **out_host, char **out_port, struct ts_error *err);
/** Value of the tag host: the key collect_host, else the name of this machine. */
void col_host_name(const struct ts_conf *conf, char *out, size_t out_bytes);

#endif
