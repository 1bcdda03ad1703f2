/*
 * forget.h - series of which no point is left are looked for now and then, and forgotten.
 *
 * Threads    one at a time: the compact thread, or a test
 * Not here   what mentions a series (engine/engine.h), taking series out of the catalog (catalog/forget.h)
 */
#ifndef STORAGE_FORGET_H
#define STORAGE_FORGET_H

#include <stdatomic.h>

#include "storage/catalog/forget.h"

struct sto_engine;

struct sto_forget {
    struct sto_catalog *catalog; /* set when both are open */
    struct sto_engine *engine;   /* of the same store */
    _Atomic bool ready;  /* they are; store(release) - load(acquire): the compact thread is there before */
    _Atomic bool wanted; /* look at the next tick, whatever time it is; relaxed */
    int64_t every_ms;    /* how often; 0 = never */
    int64_t next_ms;     /* monotonic time of the next look; 0 = not known yet */
    sto_catalog_keep_fn keep;            /* what else mentions a series */
    void *arg;                           /* for keep */
    _Atomic uint64_t n_passes, n_errors; /* for stats; relaxed */
};

/** Is it time, or wanted now? Then forget; and free what was forgotten before, as far as nobody looks at it any more. Errors are logged, and
 * it is tried again at the next call. */
void sto_forget_tick(struct sto_forget *f, bool at_once);
/** Let the compact thread forget at once. Any thread. */
void sto_forget_soon(struct sto_forget *f);
/** Forget now. *out_n: how many. 0 also if puts are refused or a file is broken, when nothing is forgotten; TS_ENOSPC,
 * TS_ENOMEM, TS_EMFILE: to be called again; TS_EIO: the catalog's log is broken, as its next sync will say. */
int sto_forget_now(struct sto_forget *f, uint64_t *out_n, struct ts_error *err);

#endif
