/*
 * sim_level.c - files are compressed harder, and the number of shards changes, while everything else goes on: nothing that is read may change.
 *
 * While the number changes writers may go on by themselves, at any call of the file system, as on a slow disk.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <string.h>

#include "storage/engine/stop.h"
#include "storage/store_int.h"

#define DAYS 100 /* of the longest range, and how long ago it begins */

/* Flush, and let nobody put anything meanwhile, as sim_compact does. */
static bool flush_alone(struct sim *s)
{
    unsigned pct = s->hook_pct;
    sim_turn_all(s);
    s->hook_pct = 0;
    bool good = sim_flush(s, STO_LEVEL_FILES);
    s->hook_pct = pct;
    return good;
}

static void compress(struct sim *s)
{
    struct ts_error err = {0};
    struct sto_compact_result r;
    unsigned top;
    if (!flush_alone(s))
        return;
    struct sto_compact_spec spec = {.from_ms = s->now_ms - (int64_t)sim_rnd(s, DAYS) * TS_DAY_MS,
                                    .level = STO_LEVEL_LEAST +
                                             (unsigned)sim_rnd(s, STO_LEVEL_MOST - STO_LEVEL_LEAST + 1)};
    spec.to_ms = spec.from_ms + (int64_t)(1 + sim_rnd(s, DAYS)) * TS_DAY_MS;
    sim_clock_look(s);
    sim_begin(s, SIM_COMPACT, true, &top);
    int rc = sto_compact(s->st, &spec, &r, &err);
    sim_end(s, SIM_COMPACT, top);
    sim_say(s, "level %u: %llu files of %llu bytes became %llu of %llu: %d %s", spec.level,
            (unsigned long long)r.n_files, (unsigned long long)r.n_bytes, (unsigned long long)r.n_files_after,
            (unsigned long long)r.n_bytes_after, rc, err.text);
    sim_make_sure(s);
    s->clock.known &= sim_ok(s, rc, &err, "compressing") && sim_all_well(s);
}

/* Series have other owners now, and everything that was put is in files: nothing of it can be lost, and what an owner gets from now on is all that it may lose. */
static void begin_owners_anew(struct sim *s)
{
    for (unsigned o = 0; o < SIM_WRITERS; o++) {
        struct sim_owner *w = &s->owners[o];
        for (size_t j = 0; j < w->arrived.n; j++)
            if (w->arrived.v[j].part.client && !w->arrived.v[j].is_nothing)
                sim_once_survived(s, &w->arrived.v[j].part);
        w->arrived.n = w->n_seen = w->n_disk = 0;
        s->bulk.n_before[o] = 0;
        for (unsigned i = 0; i < s->n_barriers; i++)
            s->barriers[i].n[o] = 0;
    }
    sim_once_shards(s);
}

void sim_level_hook(struct sim *s, const char *path)
{
    if (!s->stopping || strstr(path, "/wal/") || !sim_chance(s, 4) || !sto_stop__expire(s->st->engine))
        return; /* in a log the caller may be an owner */
    sim_say(s, "writers go on by themselves: %s", path);
    s->stopping = false;
    s->top = SIM_FLUSH;
}

/* Ask for another number of shards; mostly the store changes to it at once, otherwise when it is closed. */
static void rebalance(struct sim *s)
{
    struct ts_error err = {0};
    unsigned n = 1u << sim_rnd(s, 5), top;
    int rc = sto_rebalance(s->st, n, &err);
    sim_say(s, "%u shards are wanted, there are %u: %d %s", n, sto_shards(s->st).n_now, rc, err.text);
    if (!sim_ok(s, rc, &err, "asking for another number of shards") || sim_chance(s, 30))
        return;
    if (!flush_alone(s))
        return;
    uint32_t was = sto_shards(s->st).n_now;
    sim_begin(s, SIM_FLUSH, false, &top); /* writers are stopped */
    s->stopping = sim_chance(s, 70);
    rc = sto_store_pump_shards(s->st, &err);
    s->stopping = false;
    sim_end(s, SIM_FLUSH, top);
    sim_say(s, "there are %u shards: %d %s", sto_shards(s->st).n_now, rc, err.text);
    sim_ok(s, rc, &err, "changing the number of shards");
    if (sto_shards(s->st).n_now != was)
        begin_owners_anew(s);
}

void sim_level_step(struct sim *s)
{
    if (sim_chance(s, 70)) {
        compress(s);
        return;
    }
    rebalance(s);
}
