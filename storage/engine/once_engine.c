/*
 * once_engine.c - see once_engine.h.
 */
#include "storage/engine/once_engine.h"

#include <string.h>

#include "base/time.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/parts.h"

static int64_t mono_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

struct sto_once_limits sto_once__limits(struct sto_engine *e, uint32_t n_shards)
{
    size_t fit = sto_once_fit(e->once_budget.limit_bytes / n_shards);
    size_t most = fit < e->opts.max_ids ? fit : e->opts.max_ids;
    size_t share = e->opts.max_client_ids ? e->opts.max_client_ids : (most + 3) / 4;
    return (struct sto_once_limits){.max_ids = e->opts.max_ids,
                                    .max_client_ids = share,
                                    .kept_s = e->opts.ids_kept_s,
                                    .budget = &e->once_budget};
}

int sto_once__open(struct sto_engine *e, struct ts_error *err)
{
    struct sto_once_limits limits = sto_once__limits(e, e->n_shards);
    struct ts_error why = {0};
    if (e->opts.read_only)
        return 0;
    if (sto_once_all_new(e->n_shards, &limits, &e->once) < 0)
        return ts_error_set(err, TS_ENOMEM, "no memory for the tables of ids of clients");
    if (sto_once_all_decode(e->once, e->n_shards, sto_manifest_state(e->manifest)->once, &why) < 0)
        return ts_error_set(err, why.code < 0 ? why.code : TS_ENOMEM, "%s/" STO_MANIFEST_NAME ": %s", e->dir,
                            why.code < 0 ? why.text : "no memory for the ids of clients");
    sto_once_clock_start(&e->once_clock, e->opts.ids_kept_s, sto_once_all_former_s(e->once, e->n_shards),
                         ts_clock_ms(), mono_ms());
    return 0;
}

/* Room for n bytes of tables. */
static char *keep(struct sto_engine *e, size_t n)
{
    e->once_frozen = ts_xrealloc(e->once_frozen, n + 1);
    e->once_frozen_bytes = n;
    return e->once_frozen;
}

void sto_once__replayed(struct sto_engine *e)
{
    struct ts_buf b;
    if (!e->once)
        return;
    struct sto_once_time now = sto_once_clock_read(&e->once_clock, ts_clock_ms(), mono_ms());
    ts_buf_init(&b, 0);
    sto_once_all_encode(e->once, e->n_shards, 0, 1, &now, &b);
    char *p = keep(e, b.n);
    if (b.n)
        memcpy(p, b.p, b.n);
    ts_buf_release(&b);
}

struct sto_once_time sto_once__now(struct sto_owner *o)
{
    return sto_once_clock_read(&o->once_clock, ts_clock_ms(), mono_ms());
}

void sto_once__encode(struct sto_owner *o, struct ts_buf *out)
{
    struct sto_engine *e = o->e;
    struct sto_once_time now = sto_once__now(o);
    sto_once_all_encode(e->once, e->n_shards, o->index, e->n_owners, &now, out);
}

void sto_once__take(struct sto_engine *e, struct sto_set_gen *msgs)
{
    size_t n = 0;
    for (unsigned i = 0; i < e->n_owners; i++)
        n += msgs[i].once.n;
    char *p = keep(e, n);
    for (unsigned i = 0; i < e->n_owners; i++) {
        if (msgs[i].once.n)
            memcpy(p, msgs[i].once.p, msgs[i].once.n);
        p += msgs[i].once.n;
        ts_buf_release(&msgs[i].once);
    }
}

void sto_once__count(struct sto_engine *e, const struct sto_parts_counts *counts)
{
    if (counts->n_repeats)
        atomic_fetch_add_explicit(&e->n_once_repeats, counts->n_repeats, memory_order_relaxed);
    if (counts->n_refused)
        atomic_fetch_add_explicit(&e->n_once_refused, counts->n_refused, memory_order_relaxed);
    if (counts->n_share)
        atomic_fetch_add_explicit(&e->n_once_share, counts->n_share, memory_order_relaxed);
}

void sto_once__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg)
{
    each(arg, "counters.ids_bytes", atomic_load(&e->once_budget.used_bytes));
    each(arg, "counters.repeated", atomic_load(&e->n_once_repeats));
    each(arg, "counters.refused", atomic_load(&e->n_once_refused));
    each(arg, "counters.refused_per_address", atomic_load(&e->n_once_share));
}
