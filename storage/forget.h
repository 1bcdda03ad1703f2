/*
 * forget.h - look for series without points and names without series at an interval, and forget them.
 *
 * Threads    one at a time: the compact thread, or a test
 * Not here   which series have points (engine/engine.h), removing series from the catalog (catalog/forget.h)
 */
#ifndef STORAGE_FORGET_H
#define STORAGE_FORGET_H

#include <stdatomic.h>

#include "storage/catalog/forget.h"

struct sto_engine;

struct sto_forget {
    struct sto_catalog *catalog; /* set when catalog and engine are open */
    struct sto_engine *engine;   /* engine of the same store */
    /* both are set; store(release) - load(acquire), since the compact thread starts earlier */
    _Atomic bool ready;
    _Atomic bool wanted;                 /* run at the next tick, whatever the time; relaxed */
    int64_t every_ms;                    /* interval; 0 = never */
    int64_t next_ms;                     /* monotonic time of the next pass; 0 = not known yet */
    sto_catalog_keep_fn keep;            /* what else refers to a series */
    bool (*held)(void *arg);             /* true: nothing may be forgotten at present; NULL = never */
    void *arg;                           /* for keep and held */
    _Atomic uint64_t n_passes, n_errors; /* for stats; relaxed */
};

/** Run a pass if it is due or was requested, and free series forgotten before that no reader holds any more.
 * at_once: run it now. Errors are logged, and the next call tries again. */
void sto_forget_tick(struct sto_forget *f, bool at_once);
/** Request a pass at the next tick of the compact thread. Any thread. */
void sto_forget_soon(struct sto_forget *f);
/**
 * Run a pass now.
 *
 * The names of a series are forgotten by a later pass, when the memory of the series was freed.
 *
 * @param out_n  [out] number of series that were forgotten
 * @return 0  also if puts are refused or a file is damaged; then nothing is forgotten
 *         TS_ENOSPC TS_ENOMEM TS_EMFILE  call it again
 *         TS_EIO                         the catalog's log is broken, which its next sync reports too
 */
int sto_forget_now(struct sto_forget *f, uint64_t *out_n, struct ts_error *err);

#endif
