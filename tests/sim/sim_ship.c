/*
 * sim_ship.c - shipping in the simulation: passes, with and without faults; removing shipped files; shipping again.
 *
 * What a power cut takes may have been shipped before, which the check of survivors accepts (sim_check.c). It is not here any more, so
 * shipping again would replace it by what it had overwritten, and an addition that was confirmed would be added to a point that came
 * after it. So lives that add points, or ship again, have everything on disk before a pass, and nobody puts points during it.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <string.h>

#include "storage/remote/memory_remote.h"

#define GRACE_MS (5 * 60000ll) /* an hour is over so much later, with ship_whole_hours */

static bool on_disk(const struct sim *s)
{
    for (unsigned o = 0; o < s->opts.n_writers; o++)
        if (s->owners[o].n_disk < s->owners[o].arrived.n || s->owners[o].queue.n)
            return false;
    return true;
}

/* One pass. True: it has shipped everything. */
static bool pass(struct sim *s)
{
    struct ts_error err = {0};
    unsigned top;
    s->remote.n_failed = 0;
    s->remote.n_passes++;
    sim_say(s, "ship");
    sim_begin(s, SIM_SHIP, true, &top);
    int rc = sto_ship(s->st, &err);
    sim_end(s, SIM_SHIP, top);
    s->remote.n_bad_passes += rc < 0;
    sim_say(s, "ship: %d %s", rc, err.text);
    if (rc >= 0 && s->remote.n_failed)
        sim_fail(s, "shipping ended well, but %u calls have failed", s->remote.n_failed);
    if (rc != TS_EBACKEND && rc != TS_ETIMEOUT)
        return sim_ok(s, rc, &err, "shipping");
    if (!s->remote.n_failed || rc != err.code || !err.text[0])
        sim_fail(s, "shipping fails without a cause: %s", err.text);
    return false;
}

static bool ship(struct sim *s)
{
    if (s->remote.careful) {
        sim_turn_all(s);
        if (s->faulty || s->depth || !sim_flush(s, STO_LEVEL_DISK) || !on_disk(s))
            return false;
    }
    bool good = pass(s);
    sim_make_sure(s);
    return good;
}

static void drop(struct sim *s)
{
    struct ts_error err = {0};
    unsigned top;
    int64_t before_ms = sim_chance(s, 20) ? STO_MAX_TS_MS : s->now_ms - s->remote.keep_ms;
    sim_say(s, "remove what was shipped before %lld", (long long)before_ms);
    s->remote.n_drops++;
    sim_begin(s, 0, false, &top);
    int rc = sto_drop_shipped(s->st, before_ms, &err);
    sim_end(s, 0, top);
    sim_ok(s, rc, &err, "removing shipped files");
}

static void reship(struct sim *s)
{
    struct ts_error err = {0};
    unsigned top;
    int32_t hour = sto_hour(s->now_ms) - (int32_t)sim_rnd(s, 48), n = (int32_t)sim_rnd(s, 48);
    bool all = sim_chance(s, 30);
    sim_say(s, "ship again %d hours from %d on", n, hour);
    sim_begin(s, 0, false, &top);
    int rc = sto_reship(s->st, all ? INT32_MIN : hour, all ? INT32_MAX : hour + n, &err);
    sim_end(s, 0, top);
    sim_ok(s, rc, &err, "shipping again");
}

/* While the remote store is away every question is answered by its error. */
static void look_without(struct sim *s)
{
    s->remote.away = true;
    if (sim_all_well(s))
        sim_check(s, false);
    s->remote.away = false;
}

static void held_hours(void *arg, const char *name, uint64_t value)
{
    if (!strcmp(name, "ship.held_hours"))
        *(uint64_t *)arg = value;
}

void sim_ship_settle(struct sim *s)
{
    unsigned hook_pct = s->hook_pct;
    uint64_t held = 0;
    if (!sim_all_well(s) || s->cut_planned || s->kill_planned)
        return;
    s->hook_pct = 0;
    sim_turn_all(s);
    s->remote.well = true;
    bool good = true;
    for (int i = 0; i < 2 && good; i++) /* additions, then their sums */
        good = sim_flush(s, STO_LEVEL_FILES) && ship(s);
    s->remote.well = false;
    s->hook_pct = hook_pct;
    if (!good)
        sim_fail(s, "nothing fails, but not everything could be shipped");
    sto_stats(s->st, held_hours, &held);
    s->remote.n_settled++;
    int32_t open_hour = s->opts.ship_whole_hours ? sto_hour(s->now_ms - GRACE_MS) : INT32_MAX;
    sim_remote_others_settled(s, held > 0, open_hour);
    sim_check_remote(s, open_hour);
    if (sim_chance(s, 50))
        drop(s);
    if (sim_all_well(s))
        sim_check(s, true);
}

void sim_ship_step(struct sim *s)
{
    uint64_t r = sim_rnd(s, 100);
    if (r < 35)
        (void)ship(s);
    else if (r < 50)
        sim_ship_settle(s);
    else if (r < 65)
        drop(s);
    else if (r < 72)
        s->remote.careful ? reship(s) : sim_remote_other(s);
    else if (r < 76)
        look_without(s);
    else
        sim_remote_other(s);
}

void sim_ship_played(struct sim *s, bool may_drop)
{
    if (sim_chance(s, 40))
        sim_remote_other(s);
    else if (may_drop && sim_chance(s, 40))
        drop(s);
    else if (!(s->actors & SIM_SHIP))
        (void)ship(s);
}
