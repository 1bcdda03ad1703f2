/*
 * forget.c - one pass of forgetting: series that are found without points twice are forgotten.
 *
 * Threads    see forget.h
 * Invariant  a series is forgotten only if nothing refers to it after every worker has dropped its cached
 *            pointers
 */
#include "storage/forget.h"

#include "base/log.h"
#include "base/time.h"
#include "storage/engine/engine.h"

#define FIRST_MS                                                                                             \
    (10 * 60000ll) /* first pass after a start, so that a store that is often restarted is checked too */

static int pass(struct sto_forget *f, uint64_t *out_n, struct ts_error *err)
{
    if (f->held && f->held(f->arg))
        return 0;
    roaring_bitmap_t *used = sto_engine_used(f->engine);
    if (!used)
        return 0;
    uint64_t n = sto_catalog_forget_begin(f->catalog, used, f->keep, f->arg);
    roaring_bitmap_free(used);
    if (n == 0)
        return 0;
    if (f->held && f->held(f->arg)) { /* a bulk load that began meanwhile may have been given a candidate */
        sto_catalog_forget_cancel(f->catalog);
        return 0;
    }
    int rc = sto_engine_turned(f->engine, err);
    used = rc == 0 ? sto_engine_used(f->engine) : NULL;
    if (!used) {
        sto_catalog_forget_cancel(f->catalog);
        return rc == TS_EIO ? 0 : rc; /* others report a broken write-ahead log */
    }
    sto_catalog_forget_spare(f->catalog, used, f->keep, f->arg);
    roaring_bitmap_free(used);
    return sto_catalog_forget_finish(f->catalog, out_n, err);
}

/* Free series forgotten before, once each worker has ended a turn since. */
static void reclaim(struct sto_forget *f)
{
    if (sto_catalog_has_retired(f->catalog) && sto_engine_turned(f->engine, NULL) == 0)
        sto_catalog_reclaim(f->catalog);
}

int sto_forget_now(struct sto_forget *f, uint64_t *out_n, struct ts_error *err)
{
    int rc = 0;
    *out_n = 0;
    reclaim(f);
    if (sto_catalog_forget_unfinished(f->catalog))
        rc = sto_catalog_forget_finish(f->catalog, out_n, err);
    else if (!sto_engine_refusing(f->engine, NULL))
        rc = pass(f, out_n, err);
    atomic_fetch_add_explicit(&f->n_passes, 1, memory_order_relaxed);
    if (rc < 0)
        atomic_fetch_add_explicit(&f->n_errors, 1, memory_order_relaxed);
    if (*out_n)
        ts_log(TS_LOG_INFO, "forgot series that have no points any more series=%llu",
               (unsigned long long)*out_n);
    return rc;
}

void sto_forget_soon(struct sto_forget *f)
{
    atomic_store_explicit(&f->wanted, true, memory_order_relaxed); /* the mutex of the wake-up orders it */
    sto_engine_look_soon(f->engine);
}

void sto_forget_tick(struct sto_forget *f, bool at_once)
{
    static struct ts_log_limit limit;
    struct ts_error err = {0};
    int64_t now = ts_clock_mono_ns() / 1000000;
    uint64_t n;
    if (!atomic_load_explicit(&f->ready, memory_order_acquire)) /* partner: sto_open */
        return;
    if (!f->next_ms)
        f->next_ms = now + (f->every_ms < FIRST_MS ? f->every_ms : FIRST_MS);
    bool wanted = atomic_exchange_explicit(&f->wanted, false, memory_order_relaxed) || at_once;
    if (!wanted && now < f->next_ms && !sto_catalog_forget_unfinished(f->catalog)) {
        reclaim(f);
        return;
    }
    f->next_ms = now + f->every_ms;
    if (sto_forget_now(f, &n, &err) < 0)
        ts_log_limited(&limit, TS_LOG_WARN, "forgetting series is put off: %s", err.text);
}
