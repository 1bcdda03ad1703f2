/*
 * sim_life.c - openings, ends and faults of the simulated store.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define DIR "/db"

static uint64_t some_limit(struct sim *s, uint64_t lo, uint64_t hi)
{
    return sim_chance(s, 25) ? 0 : lo + sim_rnd(s, hi - lo);
}

/* Days are those of the process's zone. */
static void choose_zone(struct sim *s)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata",
                                        "Australia/Lord_Howe"};
    const struct ts_tz *zone;
    const char *name = zones[ts_hash_u64(s->seed ^ 0x7a6f6e65) % (sizeof zones / sizeof *zones)];
    if (ts_tz_open(ts_slice_str(name), &zone, NULL) == 0) /* a machine may have no files of zones */
        ts_tz_set_default(zone);
}

void sim_configure(struct sim *s)
{
    static const size_t pages[] = {64, 512, 4096};
    s->opts = (struct sto_opts){
        .fs = t_faultfs_fs(s->f),
        .dir = DIR,
        .create = true,
        .no_background = true,
        .pumped = true,
        .survive_sync_errors = true,
        .knows_zone = true,
        .n_shards = 1u << sim_rnd(s, 5),
    };
    if (sim_chance(s, 35))
        s->opts.retention_ms = s->retention_ms = (int64_t)(2 + sim_rnd(s, 60)) * TS_DAY_MS;
    sim_forget_configure(s);
    s->has_adds = !s->opts.retention_ms || sim_chance(s, 50);
    s->clock_steps = !s->has_adds && sim_chance(s, 60);
    s->dense = sim_chance(s, 40);
    s->short_lives = sim_chance(s, 30);
    s->full_pct = sim_chance(s, 50) ? 10 : 80;
    s->merges_follow = sim_chance(s, 50);
    s->flush_pm = sim_chance(s, 30) ? 120 : 35;
    t_faultfs_set_page(s->f, pages[sim_rnd(s, 3)]);
    t_faultfs_set_writeback(s->f, sim_chance(s, 50) ? 0 : (unsigned)sim_rnd(s, 400));
    s->hook_pct = sim_chance(s, 30) ? 0 : (unsigned)sim_rnd(s, 40);
    s->now_ms = SIM_T0 + (int64_t)sim_rnd(s, 3600) * 1000;
    s->horizon_ms = s->cutoff_ms = STO_MIN_TS_MS;
    ts_clock_set_fake(s->now_ms);
    ts_clock_set_fake_mono(1000000000);
    t_faultfs_set_hook(s->f, sim_hook, s);
    choose_zone(s);
    sim_remote_configure(s);
    sim_bulk_configure(s);
    sim_once_configure(s);
    sim_aged_configure(s);
}

static void vary(struct sim *s)
{
    s->opts.n_writers = 1 + (unsigned)sim_rnd(s, SIM_WRITERS);
    if (sim_chance(s, 30))
        s->opts.n_writers = 1;
    s->opts.wal_sync = (enum sto_sync)sim_rnd(s, 3);
    s->opts.memstore_bytes = 1u << (12 + sim_rnd(s, 14));
    s->opts.wal_segment_bytes = some_limit(s, 200, 6000);
    s->opts.log_grow_bytes = some_limit(s, 100, 4000);
    s->opts.big_day_points = some_limit(s, 5, 300);
    s->opts.output_bytes = some_limit(s, 200, 4000);
    uint64_t r = ts_hash_u64(s->seed ^ 0x6d65726765ull << 16) +
                 s->n_crashes; /* the random numbers of older seeds stay the same */
    s->opts.checkpoint_bytes = r % 4 ? 30 + ts_hash_u64(r) % 900 : 0;
    s->opts.day_rows = ts_hash_u64(r + 3) % 3 ? 1 : 0;
    s->opts.open_files = ts_hash_u64(r + 1) % 3 ? (size_t)(1 + ts_hash_u64(r + 2) % 12) : 64;
    s->opts.index_page_blocks = (uint32_t)some_limit(s, 1, 4); /* files here have few blocks */
    s->opts.index_cache_bytes = (size_t)some_limit(s, 1, 2000);
    s->opts.index_late = sim_chance(s, 50);
    sim_quota_vary(s);
}

/* --- faults --- */

static void plan(struct sim *s, struct t_fault_plan p)
{
    sim_say(s, "fault %d at call %llu of mask %x%s", (int)p.fault, (unsigned long long)p.at, p.ops,
            p.for_good ? " and after" : "");
    s->n_faults++;
    t_faultfs_plan(s->f, p);
}

static void plan_end(struct sim *s)
{
    (sim_chance(s, 60) ? &s->cut_planned : &s->kill_planned)[0] = true;
    plan(s, (struct t_fault_plan){.ops = sim_chance(s, 50) ? T_OP_WRITES : T_OP_ALL,
                                  .at = 1 + sim_rnd(s, sim_chance(s, 50) ? 12 : 150),
                                  .fault = T_FAULT_POWER});
}

static void fill_disk(struct sim *s)
{
    uint64_t left = 0;
    struct ts_error err = {0};
    t_faultfs_set_capacity(s->f, 1ull << 40);
    if (s->opts.fs->free_bytes(s->opts.fs, DIR, &left, &err) < 0)
        sim_fail(s, "free bytes: %s", err.text);
    uint64_t room = (1ull << 40) - left + sim_rnd(s, 3000);
    sim_say(s, "the disk holds %llu bytes", (unsigned long long)room);
    s->n_faults++;
    s->full = true;
    t_faultfs_set_capacity(s->f, room);
}

static void plan_error(struct sim *s)
{
    static const enum t_fault kinds[] = {T_FAULT_EIO,   T_FAULT_ENOSPC, T_FAULT_ENOSPC, T_FAULT_EDQUOT,
                                         T_FAULT_EINTR, T_FAULT_SHORT,  T_FAULT_EMFILE};
    static const unsigned masks[] = {T_OP_ALL, T_OP_WRITES, T_OP_SYNC | T_OP_SYNC_DIR,
                                     T_OP_OPEN | T_OP_APPEND | T_OP_RENAME | T_OP_TRUNCATE,
                                     T_OP_RENAME | T_OP_UNLINK | T_OP_TRUNCATE | T_OP_CLOSE};
    struct t_fault_plan p = {.fault = kinds[sim_rnd(s, sizeof(kinds) / sizeof(kinds[0]))],
                             .for_good = sim_chance(s, 25)};
    p.ops = p.fault == T_FAULT_SHORT    ? T_OP_PREAD
            : p.fault == T_FAULT_EMFILE ? T_OP_ALL
                                        : masks[sim_rnd(s, 5)];
    p.at = 1 + sim_rnd(s, p.ops == T_OP_ALL || p.ops == T_OP_WRITES ? 60 : 8);
    s->sync_lost |= (p.ops & T_OP_SYNC) != 0;
    plan(s, p);
}

void sim_fault(struct sim *s)
{
    if (s->faulty || s->cut_planned || s->kill_planned)
        return;
    uint64_t r = sim_rnd(s, 10);
    if (r < 5) {
        plan_end(s);
        return;
    }
    if (s->has_adds)
        sim_turn_all(s); /* owners have heard barriers that are under way */
    s->faulty = true;
    if (r < 7)
        fill_disk(s);
    else
        plan_error(s);
}

/* A store that met a full disk while it was opened stays open for reading only until it is opened again. */
static bool is_read_only(const struct sim *s)
{
    const char *why = sto_store_refusing(s->st);
    return why && strstr(why, "opened for reading only");
}

void sim_fault_over(struct sim *s)
{
    struct ts_error err = {0};
    bool fired = t_faultfs_fired(s->f);
    sim_say(s, "the fault is over%s", fired ? "" : ", it has not come");
    t_faultfs_plan(s->f, (struct t_fault_plan){0});
    t_faultfs_set_capacity(s->f, 0);
    sim_turn_all(s);
    /* What is not broken goes on by itself. */
    enum sto_level last = s->full && sim_chance(s, 60) ? STO_LEVEL_DISK : STO_LEVEL_FILES;
    for (enum sto_level level = STO_LEVEL_LOG; level <= last; level++) {
        if (level == STO_LEVEL_DISK && sto_store_refusing(s->st))
            last = STO_LEVEL_FILES; /* memory is full too: the flush thread would make room */
        int rc = sto_flush(s->st, level, &err);
        sim_arrive_all(s);
        if (rc == TS_ENOSPC && !is_read_only(s))
            sim_fail(s, "there is room again, but a flush says: %s", err.text);
        sim_ok(s, rc, &err, "a flush");
    }
    uint64_t n_ops = s->n_ops;
    while (s->n_ops == n_ops)
        sim_cell_step(s);
    sim_turn_all(s); /* answers of barriers */
    if (s->broken || sto_store_refusing(s->st)) {
        if (!fired)
            sim_fail(s, "puts are refused without a cause: %s", sto_store_refusing(s->st));
        sim_crash(s, s->sync_lost || sim_chance(s, 50));
        return;
    }
    s->faulty = s->sync_lost = s->full = false;
    sim_check(s, true);
    sim_check_cells(s);
}

/* --- opening --- */

/* The options of an opening. In every third life rules say what opts.retention_ms says: two that differ in the metric, and one for the rest. */
static struct sto_opts opts_now(struct sim *s)
{
    struct sto_opts opts = s->opts;
    if (s->aged.days) { /* rules were set by commands */
        opts.retention_ms = 0;
        return opts;
    }
    if ((s->seed % 3 && !s->aged.on) || !opts.retention_ms)
        return opts;
    long long hours = (long long)(opts.retention_ms / TS_HOUR_MS);
    snprintf(s->rules, sizeof s->rules, "*0 points=%lldh; *1* points=%lldh; * points=%lldh", hours, hours,
             hours);
    if (s->aged.on)
        sim_aged_rules(s, s->rules, sizeof s->rules);
    opts.retention_ms = 0;
    opts.retention_rules = s->rules;
    return opts;
}

/* Open for reading: the same is seen, and nothing is written. */
static uint64_t look(struct sim *s)
{
    const unsigned changes =
        T_OP_APPEND | T_OP_TRUNCATE | T_OP_RENAME | T_OP_UNLINK | T_OP_MKDIR | T_OP_SYNC | T_OP_SYNC_DIR;
    struct sto_opts opts = opts_now(s);
    struct ts_error err = {0};
    uint64_t n = t_faultfs_calls(s->f, changes);
    opts.read_only = true;
    opts.create = false;
    if (sto_open(&opts, &s->st, &err) < 0)
        sim_fail(s, "cannot be opened for reading: %s", err.text);
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    uint64_t print = sim_fingerprint(s);
    if (sto_close(s->st, &err) < 0)
        sim_fail(s, "reading: cannot be closed: %s", err.text);
    s->st = NULL;
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    if (t_faultfs_calls(s->f, changes) != n)
        sim_fail(s, "a store opened for reading has written");
    return print;
}

static void say_files(struct sim *s)
{
    const char *path;
    for (size_t i = 0; s->verbose && (path = t_faultfs_path(s->f, i)); i++) {
        size_t n;
        ts_free(t_faultfs_get(s->f, path, &n));
        sim_say(s, "  %s %zu bytes", path, n);
    }
}

/* The disk as it is after the end of a process, or of the power. */
static void end_of_process(struct sim *s, bool power)
{
    if (t_faultfs_n_open(s->f))
        sim_fail(s, "%zu files are still open", t_faultfs_n_open(s->f));
    if (power) {
        uint64_t r = sim_rnd(s, 10);
        t_faultfs_reboot(s->f, r < 7 ? T_KEEP_RANDOM : r < 9 ? T_KEEP_NONE : T_KEEP_ALL);
        s->power_went = true;
    } else {
        t_faultfs_kill(s->f);
    }
    say_files(s);
    sim_days_ended(s);
    t_faultfs_set_capacity(s->f, 0);
    s->faulty = s->broken = s->full = s->sync_lost = s->cut_planned = s->kill_planned = false;
    s->remote.off = false;
}

/* One try with a fault in it; true if the store is open nevertheless. */
static bool open_badly(struct sim *s)
{
    struct ts_error err = {0};
    if (sim_chance(s, 60)) {
        plan_end(s);
    } else {
        s->faulty = true;
        plan_error(s);
    }
    const struct sto_opts opts = opts_now(s);
    int rc = sto_open(&opts, &s->st, &err);
    sim_say(s, "opening with a fault: %d %s", rc, err.text);
    if (rc == 0)
        return true;
    if (!t_faultfs_fired(s->f))
        sim_fail(s, "cannot be opened: %s", err.text);
    if (rc != err.code || !err.text[0])
        sim_fail(s, "the store does not open without a clear word");
    end_of_process(s, s->cut_planned || s->sync_lost || (!s->kill_planned && sim_chance(s, 30)));
    return false;
}

void sim_open(struct sim *s)
{
    struct ts_error err = {0};
    uint64_t print = 0;
    bool looked = false, open = false, clean = s->clean;
    s->clean = false;
    if (s->n_crashes && sim_chance(s, 15)) {
        print = look(s);
        looked = true;
    }
    for (unsigned i = 0; i < 3 && !open && sim_chance(s, 20); i++, looked = false) {
        vary(s);
        open = open_badly(s);
        clean &= !open;
    }
    if (!open) {
        vary(s);
        const struct sto_opts opts = opts_now(s);
        if (sto_open(&opts, &s->st, &err) < 0)
            sim_fail(s, "cannot be opened: %s", err.text);
    }
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    sim_days_opened(s);
    sim_clock_open(s, clean);
    sim_once_listen(s);
    sim_say(s, "open: %u writers, sync %d", s->opts.n_writers, (int)s->opts.wal_sync);
    if (looked && sim_fingerprint(s) != print)
        sim_fail(s, "reading showed something else than is there after the opening");
}

/* After the opening that follows an end: what is there? */
static void compare(struct sim *s, const char *when)
{
    /* An end of this opening that comes while we look: nothing is known then, look after the next one. */
    bool power = s->power_went;
    unsigned hook_pct = s->hook_pct;
    struct t_fault_plan none = {0};
    bool planned = s->cut_planned || s->kill_planned || s->faulty;
    if (planned) { /* a fault that did not come while opening does not come any more */
        if (t_faultfs_fired(s->f)) {
            sim_crash(s, s->cut_planned || s->sync_lost);
            return;
        }
        t_faultfs_plan(s->f, none);
        s->cut_planned = s->kill_planned = s->faulty = s->sync_lost = false;
    }
    s->hook_pct = 0;
    sim_check_survivors(s, power, when);
    s->hook_pct = hook_pct;
    s->power_went = false;
}

static void forget_run(struct sim *s)
{
    for (unsigned p = 0; p < SIM_WRITERS; p++)
        for (unsigned o = 0; o < SIM_WRITERS; o++)
            s->open[p][o].n = 0;
    s->n_barriers = 0;
}

void sim_close(struct sim *s)
{
    struct ts_error err = {0};
    if (s->faulty)
        return;
    sim_turn_all(s);
    sim_say(s, "close");
    struct sim_known known = sim_known_now(s);
    s->clean = sim_clock_close(s);
    int rc = sto_close(s->st, &err);
    s->st = NULL;
    bool good = sim_ok(s, rc, &err, "closing");
    forget_run(s);
    bool power = s->cut_planned && t_faultfs_fired(s->f);
    s->clean &= good;
    if (good) {
        for (unsigned o = 0; o < SIM_WRITERS; o++)
            s->owners[o].n_seen = s->owners[o].n_disk = s->owners[o].arrived.n;
        s->cells.n_seen = s->cells.n_disk = s->cells.n;
        sim_names_safe(s, &known);
        power |= sim_chance(s, 30); /* a store that was closed well needs no power any more */
    }
    end_of_process(s, power);
    if (s->aged.on)
        sim_aged_rule(s, good);
    else if (s->retention_ms && !s->has_adds) /* what is added to an expired point may lose it */
        s->opts.retention_ms = good && sim_chance(s, 80)
                                   ? s->retention_ms * (1 + (int64_t)sim_rnd(s, 3)) / 2
                                   : 0; /* else nobody sees what was lost, as in a crash */
    sim_open(s);
    compare(s, "after closing");
}

void sim_crash(struct sim *s, bool power)
{
    s->n_crashes++;
    sim_say(s, "%s", power ? "power cut" : "kill");
    t_faultfs_power_cut(s->f);
    sto_close(s->st, NULL);
    s->st = NULL;
    forget_run(s);
    end_of_process(s, power);
    if (!s->has_adds && !s->aged.days)
        s->opts.retention_ms = 0; /* else nobody sees which of the expired points were lost */
    sim_open(s);
    compare(s, power ? "after a power cut" : "after a kill");
}
