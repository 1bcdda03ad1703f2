/*
 * collect.h - the public API of the collectors: starts and stops collecting and sending.
 *
 *   col_run_start:   spool > sink (thread) > collectors (a thread each)
 *   col_run_stop:    collectors > what waits is delivered > sink > spool
 *
 * Threads    start and stop from one thread
 * Not here   the command line (tsd/commands/collect.c), the daemon (tsd/server.c)
 */
#ifndef COLLECTORS_COLLECT_H
#define COLLECTORS_COLLECT_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "collectors/core/emit.h"
#include "collectors/core/keys.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Options of the caller that override configuration keys. */
struct col_run_opts {
    const struct ts_conf *conf; /* holds col_conf_keys; borrowed for the life of the run */
    const char *servers;        /* NULL = the key collect_server */
    bool once;                  /* do not start the collectors' threads: the caller calls col_run_finish */
    const char *state_dir; /* folder for spool and checkpoints, made if missing; NULL = the key collect_dir */
};

struct col_run;
/** Check the keys, open the spool, start sink and collectors. TS_EINVAL names the bad key; TS_EBUSY: another process
 * has the folder. */
int col_run_start(const struct col_run_opts *opts, struct col_run **out, struct ts_error *err);
/** A run that was started with once: read every collector once, deliver (waiting for an answer at most
 * collect_timeout_s) and stop. An error if points were not delivered; they wait in the spool then. */
int col_run_finish(struct col_run *run, struct ts_error *err);
/** Stop everything in order; points that could not be delivered within a few seconds stay in the spool. Returns the
 * number of collectors that could not be stopped (0 = all is freed). NULL is harmless. */
unsigned col_run_stop(struct col_run *run);
/** Emit statistics of the run itself as tsd.collect.*; for the collector `self`. */
void col_run_emit(const struct col_run *run, struct col_emit *emit);

/** Run every selected collector once and write its lines to out. */
int col_once(const struct ts_conf *conf, struct col_out out, struct ts_error *err);
/** Run every selected collector at its intervals and write to out the lines that would be sent, until stop_fd
 * is readable. */
int col_watch(const struct ts_conf *conf, struct col_out out, int stop_fd, struct ts_error *err);
/** Append a list of all collectors and metrics with their units, as text or as CSV. */
void col_list(bool csv, struct ts_buf *out);

#endif
