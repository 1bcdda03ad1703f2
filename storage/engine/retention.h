/*
 * retention.h - what retention has dropped for good, and whether the clock that says so is trusted.
 *
 * DIR/RETENTION says once more what the manifest says of the cutoff, for a repair that finds no manifest, and what the
 * clocks said, so that a start with a wrong clock removes nothing. Retention works without it: it is written as well as
 * possible.
 *
 * Threads    the compact thread, or a caller that waits (compact_mu); begin and end while nobody else is there
 */
#ifndef STORAGE_ENGINE_RETENTION_H
#define STORAGE_ENGINE_RETENTION_H

#include "base/fs.h"

#define STO_RETENTION_NAME "RETENTION"

struct sto_engine;
/* What DIR/RETENTION says. */
struct sto_retention {
    int64_t cutoff_ms;   /* points before it are gone for good, */
    uint64_t cutoff_gen; /* as far as they are of generations below; 0 = none are */
    int64_t wall_ms;     /* wall clock when this was written */
    int64_t hold_ms;     /* nothing is removed for so long; 0 = the clock is trusted */
    int64_t ahead_ms;    /* sum of the jumps forward less those backward, while it is not */
};
/**
 * Read DIR/RETENTION.
 *
 * @return 1, 0 = there is none, TS_ECORRUPT, TS_EVERSION (written by a newer program), TS_EIO, TS_ENOMEM
 */
int sto_retention_read(const struct ts_fs *fs, const char *dir, struct sto_retention *out,
                       struct ts_error *err);

/** The store opens; its manifest was read. Is the clock where it was? */
void sto_retention__begin(struct sto_engine *e);
/** Drop files that hold nothing but what is expired. compact_mu held. Errors as sto_output__commit. */
int sto_retention__drop(struct sto_engine *e, struct ts_error *err);
/** The store is closed: write down what the clock says. */
void sto_retention__end(struct sto_engine *e);

#endif
