/*
 * retention.c - files that hold nothing but expired points go.
 *
 * What is expired is in no answer from the second on in which it expires: snapshots begin at the present time less
 * retention_days (store.c). Space follows here, an hour later. Before a file goes, the manifest says up to which time
 * points are gone for good; from then on that never moves back, whatever clock or configuration say, so that nothing
 * that a dropped file had overwritten or deleted comes back from older ones.
 *
 * Threads    the compact thread, or a caller that waits (compact_mu)
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/output.h"

#define LAG_MS  TS_HOUR_MS     /* space follows so much later */
#define JUMP_MS (10 * 60000ll) /* wall and monotonic clock differ by more than this: the wall clock was set */
#define HOLD_MS (7 * TS_DAY_MS) /* nothing is removed for as long as the clock jumped, at most this long */

static int64_t mono_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

void sto_retention__begin(struct sto_engine *e)
{
    e->seen_wall_ms = ts_clock_ms();
    e->seen_mono_ms = mono_ms();
    e->removal_from_ms = INT64_MIN;
}

/* May files be removed by the present time of the clock? */
static bool clock_is_trusted(struct sto_engine *e, int64_t wall_ms)
{
    int64_t now = mono_ms();
    int64_t jump = (wall_ms - e->seen_wall_ms) - (now - e->seen_mono_ms);
    e->seen_wall_ms = wall_ms;
    e->seen_mono_ms = now;
    if (jump > JUMP_MS) {
        e->removal_from_ms = now + (jump < HOLD_MS ? jump : HOLD_MS);
        ts_log(TS_LOG_WARN, "the clock jumped by s=%lld: retention removes no files for s=%lld",
               (long long)(jump / 1000), (long long)((e->removal_from_ms - now) / 1000));
    } else if (jump < -JUMP_MS) {
        e->removal_from_ms = INT64_MIN; /* it was set back: what it says is older than what it said */
    }
    return now >= e->removal_from_ms;
}

static bool is_expired(const struct sto_sst_info *f, int64_t before_ms)
{
    return (!f->n_points || f->max_ms < before_ms) && (!f->n_tombs || f->tomb_max_ms < before_ms);
}

int sto_retention__drop(struct sto_engine *e, struct ts_error *err)
{
    int64_t wall_ms = ts_clock_ms();
    bool trusted = clock_is_trusted(e, wall_ms);
    if (!e->opts.retention_ms || !trusted)
        return 0;
    struct sto_version *v = sto_engine_pin(e);
    int64_t before = wall_ms - e->opts.retention_ms - LAG_MS;
    uint64_t *gone = ts_xcalloc(v->n_ssts + 1, sizeof *gone);
    size_t n = 0;
    int rc = 0;
    if (v->cutoff_gen && before < v->cutoff_ms)
        before = v->cutoff_ms; /* the clock was set back, or retention is longer than it was */
    for (size_t i = 0; i < v->n_ssts; i++)
        if (is_expired(sto_sst_info(v->ssts[i]), before))
            gone[n++] = sto_sst_info(v->ssts[i])->file_no;
    if (n) {
        struct sto_output none = {.e = e,
                                  .cutoff_ms = before,
                                  .cutoff_gen = atomic_load_explicit(&e->gen, memory_order_relaxed) + 1};
        rc = sto_output__commit(&none, gone, n, 0, err);
        if (rc == 0)
            ts_log(TS_LOG_INFO, "retention dropped files=%zu", n);
    }
    ts_free(gone);
    sto_engine_unpin(e, v);
    return rc;
}
