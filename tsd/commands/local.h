/*
 * local.h - opening the folder of a stopped daemon for a command with --data.
 *
 * Threads    the main thread; the store runs its own
 */
#ifndef TSD_COMMANDS_LOCAL_H
#define TSD_COMMANDS_LOCAL_H

#include "tsd/commands/cmd.h"
#include "tsd/ingest/rules.h"

enum tsd_local {
    TSD_LOCAL_READ,   /* nothing is written */
    TSD_LOCAL_WRITE,  /* an existing store */
    TSD_LOCAL_CREATE, /* created if the folder is missing or empty */
};

/** Open the store named by --data; --config and the environment give its keys. If it is not a store, locked,
 * read-only or full, the error says so in one sentence.
 *  @param rules  [out] rules of names and times as the daemon has them, times before 1970 allowed; may be
 * NULL */
int tsd_local_open(const struct tsd_args *args, enum tsd_local how, struct sto_store **out_store,
                   struct tsd_rules *rules, struct ts_error *err);

#endif
