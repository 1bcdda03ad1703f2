/*
 * retention.h - what retention has removed for good, and whether the clock that decides it is trusted.
 *
 * DIR/RETENTION repeats the cutoff of the manifest, for a repair that finds no manifest, and stores the time
 * of the clocks, so that a start with a wrong clock removes nothing. Retention works without this file;
 * an error of writing it is only logged.
 *
 * Threads    the compact thread, or a caller that waits (compact_mu); begin and end while no other thread
 *            runs
 */
#ifndef STORAGE_ENGINE_RETENTION_H
#define STORAGE_ENGINE_RETENTION_H

#include "base/fs.h"

#define STO_RETENTION_NAME "RETENTION"

struct sto_engine;
/* Contents of DIR/RETENTION. */
struct sto_retention {
    int64_t cutoff_ms;   /* points before it are removed for good, */
    uint64_t cutoff_gen; /* provided they are of generations below this one; 0 = none are */
    int64_t wall_ms;     /* wall clock when this was written */
    int64_t hold_ms;     /* no file is removed for this long; 0 = the clock is trusted */
    int64_t ahead_ms;    /* sum of the jumps forward less those backward, while the clock is not trusted */
};
/**
 * Read DIR/RETENTION.
 *
 * @return 1, 0 = there is none, TS_ECORRUPT, TS_EVERSION (written by a newer program), TS_EIO, TS_ENOMEM
 */
int sto_retention_read(const struct ts_fs *fs, const char *dir, struct sto_retention *out,
                       struct ts_error *err);

/** Called when the store opens, after the manifest was read: check whether the clock has jumped. */
void sto_retention__begin(struct sto_engine *e);
/** Remove files that hold nothing but expired points. Inputs of the running merge stay until it ends; their
 * expired points are permanently removed all the same. compact_mu held. Errors as sto_output__commit. */
int sto_retention__drop(struct sto_engine *e, struct ts_error *err);
/** The same if the last call of either function was a minute ago, or sto_engine_look_soon was called since: for callers that hold compact_mu for
 * long. */
int sto_retention__drop_again(struct sto_engine *e, struct ts_error *err);
/** Called when the store closes: save the time of the clocks. */
void sto_retention__end(struct sto_engine *e);

/** May files be removed because of their age: has the wall clock not jumped? It saves the time of the clocks every hour. remove_mu held. */
bool sto_retention__trusts_clock(struct sto_engine *e);

#endif
