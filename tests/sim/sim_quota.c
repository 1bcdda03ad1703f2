/*
 * sim_quota.c - a limit of the store's bytes: it changes while everything else goes on. What the store says it has cut off is in no answer, and all the
 * rest is there; the cutoff never goes back, not in a crash either.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include "base/hash.h"
#include "storage/max_bytes.h"

#define MEMSTORE    4096u
#define LIMIT_LEAST (2 * MEMSTORE)

void sim_quota_vary(struct sim *s)
{
    if (!sim_has_quota(s))
        return;
    uint64_t r = ts_hash_u64(s->seed ^ 0x71756f7461ull << 8) + s->n_crashes;
    s->opts.memstore_bytes = MEMSTORE;
    s->opts.max_bytes = r % 5 ? LIMIT_LEAST + ts_hash_u64(r + 1) % 40000 : 1u << 30;
    s->opts.max_bytes_grace_ms = r % 3 ? 0 : (int64_t)(ts_hash_u64(r + 2) % 600000);
}

void sim_quota_change(struct sim *s)
{
    struct sto_max_bytes_call call = {.what = sim_chance(s, 80) ? STO_MAX_BYTES_SET : STO_MAX_BYTES_CONF,
                                      .max_bytes =
                                          LIMIT_LEAST + sim_rnd(s, sim_chance(s, 50) ? 20000 : 80000),
                                      .explain = sim_chance(s, 50)};
    struct sto_max_bytes m;
    struct ts_error err = {0};
    int rc = sto_max_bytes(s->st, &call, &m, &err);
    sim_say(s, "max_bytes %llu: %d %s", (unsigned long long)m.max_bytes, rc, err.text);
    sim_ok(s, rc, &err, "setting max_bytes");
}

void sim_quota_see(struct sim *s)
{
    struct sto_max_bytes m;
    if (!sim_has_quota(s) || !s->st)
        return;
    if (sto_max_bytes(s->st, &(struct sto_max_bytes_call){.what = STO_MAX_BYTES_LIST}, &m, NULL) < 0)
        sim_fail(s, "max_bytes cannot be listed");
    if (m.cutoff_ms < s->cutoff_ms)
        sim_fail(s, "the cutoff of max_bytes went back from %lld to %lld", (long long)s->cutoff_ms,
                 (long long)m.cutoff_ms);
    if (m.cutoff_ms > s->cutoff_ms)
        sim_say(s, "max_bytes has cut off points before %lld, summaries before %lld", (long long)m.cutoff_ms,
                (long long)m.summaries_ms);
    s->n_cutoffs += m.cutoff_ms > s->cutoff_ms;
    s->cutoff_ms = m.cutoff_ms;
    if (s->aged.days)
        sim_aged_cut_off(s, m.cutoff_ms, m.summaries_ms);
    s->horizon_ms = m.cutoff_ms > s->horizon_ms ? m.cutoff_ms : s->horizon_ms;
}

int64_t sim_expired_ms(const struct sim *s)
{
    int64_t old_ms = s->opts.retention_ms ? s->now_ms - s->opts.retention_ms : STO_MIN_TS_MS;
    return sim_has_quota(s) && s->cutoff_ms > old_ms ? s->cutoff_ms : old_ms;
}
