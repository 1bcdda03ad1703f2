/*
 * max_bytes.c - the limit of bytes of an open store.
 *
 * Threads    max_bytes.h
 */
#include "storage/max_bytes.h"

#include "base/log.h"
#include "storage/engine/engine.h"
#include "storage/readonly.h"
#include "storage/store_int.h"

/* Is a limit too low for what the store needs whatever points it has? */
static int check(const struct sto_store *st, uint64_t max_bytes, struct ts_error *err)
{
    uint64_t least = 2 * (uint64_t)st->opts.memstore_bytes + st->opts.reserve_bytes;
    if (!max_bytes || max_bytes >= least)
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "max_bytes %llu is too small: the log of what is in memory needs up to %llu (twice "
                        "memstore_bytes, and reserve_bytes)",
                        (unsigned long long)max_bytes, (unsigned long long)least);
}

int sto_quota__open(struct sto_store *st, struct ts_error *err)
{
    struct ts_error why = {0};
    TS_TRY(check(st, st->opts.max_bytes, err));
    TS_TRY(sto_quota_open(&st->quota, st->opts.fs, st->opts.dir, st->opts.max_bytes,
                          st->opts.max_bytes_grace_ms, err));
    if (check(st, sto_quota_max_bytes(&st->quota), &why) < 0)
        ts_log(TS_LOG_WARN, "%s", why.text);
    return 0;
}

int sto_max_bytes(struct sto_store *st, const struct sto_max_bytes_call *call, struct sto_max_bytes *out,
                  struct ts_error *err)
{
    bool changes = call->what != STO_MAX_BYTES_LIST, sets = call->what == STO_MAX_BYTES_SET;
    *out = (struct sto_max_bytes){.max_bytes = sto_quota_max_bytes(&st->quota),
                                  .is_set = sto_quota_is_set(&st->quota),
                                  .cutoff_ms = sto_quota_points_ms(&st->quota),
                                  .summaries_ms = sto_quota_cutoff_ms(&st->quota),
                                  .next_ms = STO_MIN_TS_MS};
    if (changes && !call->dry_run && st->opts.read_only)
        return sto_read_only_refuse(&st->read_only_why, err);
    if (changes) {
        out->is_set = sets;
        out->max_bytes = sets ? call->max_bytes : st->opts.max_bytes;
        TS_TRY(check(st, out->max_bytes, err));
    }
    if (changes && !call->dry_run) {
        TS_TRY(sto_quota_set(&st->quota, sets, call->max_bytes, err));
        sto_engine_look_soon(st->engine);
    }
    if (!call->explain)
        return 0;
    struct sto_evicts does;
    TS_TRY(sto_engine_evicts(st->engine, out->max_bytes, &does, err));
    out->bytes = does.bytes;
    out->fixed_bytes = does.fixed_bytes;
    out->cutoff_ms = does.cutoff_ms;
    out->summaries_ms = does.summaries_ms;
    out->pending_bytes = does.pending_bytes;
    out->next_ms = does.next_ms;
    out->freed_bytes = does.freed_bytes;
    out->held_ms = does.held_ms;
    out->is_short = does.is_short;
    return 0;
}
