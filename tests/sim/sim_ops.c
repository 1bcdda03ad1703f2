/*
 * sim_ops.c - what is done in the simulation: points, turns, barriers, syncs, flushes, compactions; and who is
 * played while one of the long ones is inside a call of the file system.
 *
 * Played meanwhile       sync          flush            compaction
 *   during a sync        -             yes              -
 *   during a flush       yes           -                -
 *   during a compaction  yes           yes, unless the manifest is being written
 *   during shipping      yes           the same                                     yes, the same
 *   during a hand-over   yes           yes, until it has changed the generation     the same
 *
 * Shipping, and removing what was shipped: during flushes and compactions, unless the manifest is being written.
 *
 *   writers, barriers, cells, names, queries: during all of them
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <string.h>

#include "base/mem.h"

#define PLAYED_MAX 25   /* turns of others during one step */
#define OPEN_MAX   1000 /* operations in an open batch: far from where the store would send it by itself */

/* --- batches and queues, as the store has them --- */

static void ops_add(struct sim_ops *ops, const struct sim_op *op)
{
    if (ops->n == ops->cap)
        ops->v = ts_xrealloc(ops->v, (ops->cap = ops->cap ? ops->cap * 2 : 32) * sizeof *ops->v);
    ops->v[ops->n++] = *op;
}

void sim_ops_clear(struct sim_ops *ops)
{
    ts_free(ops->v);
    *ops = (struct sim_ops){0};
}

static void arrive(struct sim *s, unsigned owner, struct sim_ops *ops)
{
    for (size_t i = 0; i < ops->n; i++) {
        struct sim_op op = ops->v[i];
        op.is_nothing = op.part.client && !sim_once_arrives(s, &op.part);
        op.seq = t_ref_next(s->ref);
        if (!op.is_nothing)
            t_ref_apply(s->ref, &op.p);
        ops_add(&s->owners[owner].arrived, &op);
        if (s->remote.store && sto_meta_op(op.p.flags) == STO_OP_DEL)
            sim_remote_deleted(s, &op.p);
    }
    ops->n = 0;
}

void sim_send_part(struct sim *s, unsigned writer, unsigned owner, const struct sto_point *p,
                   const struct sim_part *part)
{
    struct sim_op op = {.p = *p, .part = *part};
    ops_add(&s->open[writer][owner], &op);
}

static void send(struct sim *s, unsigned writer, unsigned owner)
{
    struct sim_ops *open = &s->open[writer][owner];
    if (writer == owner) {
        arrive(s, owner, open);
        return;
    }
    for (size_t i = 0; i < open->n; i++)
        ops_add(&s->owners[owner].queue, &open->v[i]);
    open->n = 0;
}

void sim_arrive_all(struct sim *s)
{
    for (unsigned i = 0; i < SIM_WRITERS; i++)
        arrive(s, i, &s->owners[i].queue);
}

/* A flush that is under way may have emptied the queue without our knowing: what a writer puts into its own log
 * would then come after it, else before it. */
static bool order_is_unknown(const struct sim *s, unsigned writer)
{
    return s->depth && s->owners[writer].queue.n && s->open[writer][writer].n;
}

static bool queues_empty(const struct sim *s)
{
    for (unsigned i = 0; i < s->opts.n_writers; i++)
        if (s->owners[i].queue.n)
            return false;
    return true;
}

static void turn(struct sim *s, unsigned writer)
{
    if (order_is_unknown(s, writer))
        return;
    sim_say(s, "writer %u turns", writer);
    for (unsigned o = 0; o < s->opts.n_writers; o++)
        send(s, writer, o);
    arrive(s, writer, &s->owners[writer].queue);
    sto_writer_turn(sto_writer(s->st, writer));
}

void sim_turn_once(struct sim *s)
{
    for (unsigned i = 0; i < s->opts.n_writers; i++)
        turn(s, i);
}

void sim_turn_all(struct sim *s)
{
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < s->opts.n_writers; i++)
            turn(s, i);
}

/* --- points --- */

int64_t sim_some_time(struct sim *s, bool *out_ms)
{
    int64_t t = s->now_ms / 1000 * 1000;
    if (s->aged.fresh) {
        *out_ms = false;
        return t - (int64_t)sim_rnd(s, 1500) * 1000;
    }
    switch (sim_rnd(s, s->dense ? 400 : 12)) {
    case 0:
        t -= (int64_t)sim_rnd(s, 100) * TS_DAY_MS;
        break;
    case 1:
        t -= (int64_t)sim_rnd(s, 4000) * TS_DAY_MS;
        break;
    case 2:
    case 3:
        t -= (int64_t)sim_rnd(s, 200) * TS_HOUR_MS;
        break;
    default:
        t -= (int64_t)sim_rnd(s, 400) * (s->dense ? 10000 : 20000);
        break;
    }
    if (!s->dense && sim_chance(s, 60)) /* so that times are met again */
        t = t / 600000 * 600000;
    *out_ms = sim_chance(s, 10);
    int64_t ms = *out_ms ? (int64_t)sim_rnd(s, 1000) : 0;
    return t + (s->remote.store && ms == SIM_OTHER_MS ? 0 : ms);
}

struct ts_num sim_some_value(struct sim *s, unsigned series)
{
    uint64_t r = sim_rnd(s, 12);
    if (series % 3 == 1 && r < 11) /* a series of decimals: its rows have summaries too */
        return (struct ts_num){
            .m = (int64_t)sim_rnd(s, 20000) - 10000, .kind = TS_NUM_DEC, .exp = 1 + (uint8_t)sim_rnd(s, 3)};
    if (series % 3 == 2 && r < 3)
        return ts_num_from_double((double)(int64_t)sim_rnd(s, UINT64_MAX) * 1.37e-7);
    if (r == 3 && !(s->has_adds && series % 3 == 0))
        return (struct ts_num){.m = (int64_t)sim_rnd(s, UINT64_MAX), .kind = TS_NUM_INT};
    return (struct ts_num){.m = (int64_t)sim_rnd(s, 100000), .kind = TS_NUM_INT};
}

bool sim_delete_range(struct sim *s, unsigned writer, unsigned i, int64_t from_ms, int64_t to_ms)
{
    const struct sto_series *h = sim_resolve(s, i, true);
    struct sto_writer *p = sto_writer(s->st, writer);
    unsigned owner = h ? sto_writer_slot(p, h) : 0;
    if (!h || sim_once_is_for(s, i) || s->open[writer][owner].n >= OPEN_MAX ||
        sto_delete(p, h, from_ms, to_ms) < 0)
        return false;
    s->n_ops++;
    sim_say(s, "writer %u deletes of series %u from %lld to %lld", writer, i, (long long)from_ms,
            (long long)to_ms);
    struct sim_op op = {.p = {.series = &s->handles[i],
                              .ts_ms = from_ms,
                              .m = to_ms,
                              .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true)}};
    ops_add(&s->open[writer][owner], &op);
    return true;
}

void sim_delete_all(struct sim *s, unsigned i)
{
    (void)sim_delete_range(s, (unsigned)sim_rnd(s, s->opts.n_writers), i, STO_MIN_TS_MS, STO_MAX_TS_MS);
}

static void put(struct sim *s, enum sto_op kind)
{
    if (!s->n_series)
        return;
    unsigned writer = (unsigned)sim_rnd(s, s->opts.n_writers), i = (unsigned)sim_rnd(s, s->n_series);
    if (s->aged.fresh) /* one writer after the other, so that all of it arrives in the turns that follow */
        writer = s->n_turns % s->opts.n_writers;
    const struct sto_series *h = sim_resolve(s, i, true);
    if (!h || sim_once_is_for(s, i))
        return;
    struct sto_writer *p = sto_writer(s->st, writer);
    unsigned owner = sto_writer_slot(p, h);
    bool ms = true;
    int64_t t = sim_some_time(s, &ms);
    struct ts_num v = {.kind = TS_NUM_INT};
    int rc;
    if (s->open[writer][owner].n >= OPEN_MAX || !sim_aged_takes(s, i, h, t))
        return;
    if (kind == STO_OP_DEL) {
        v.m = t + (int64_t)(sim_chance(s, 85) ? sim_rnd(s, 4 * TS_HOUR_MS) : sim_rnd(s, 90 * TS_DAY_MS));
        rc = sto_delete(p, h, t, v.m);
        ms = true;
    } else if (kind == STO_OP_ADD) {
        if (i %
            3) /* sums of others depend on where they are made: (a + b) + c is not a + (b + c) to the last bit */
            return;
        v.m = (int64_t)sim_rnd(s, 1000);
        rc = sto_add(p, h, t, v, ms, 1);
    } else {
        v = sim_some_value(s, i);
        rc = sto_put(p, h, t, v, ms);
    }
    if (rc < 0) {
        struct ts_error err = {0};
        if (rc == TS_EBUSY)
            sim_fail(s, "a put is told to wait");
        if (sto_writer_error(p, &err) != rc)
            sim_fail(s, "a put says %s, the writer %s", ts_err_name(rc), ts_err_name(err.code));
        sim_ok(s, rc, &err, "a put");
        return;
    }
    s->n_ops++;
    sim_say(s, "writer %u op %d series %u at %lld value %lld", writer, (int)kind, i, (long long)t,
            (long long)v.m);
    struct sim_op op = {.p = {.series = &s->handles[i],
                              .ts_ms = t,
                              .m = v.m,
                              .flags = sto_meta_flags(kind, v.kind, v.exp, ms)}};
    ops_add(&s->open[writer][owner], &op);
}

void sim_put_some(struct sim *s)
{
    if (s->once.on && sim_chance(s, 50)) {
        sim_once_step(s);
        return;
    }
    uint64_t n = sim_chance(s, 5) ? sim_rnd(s, 200) : 1 + sim_rnd(s, s->dense ? 60 : 8);
    while (n-- > 0) {
        uint64_t r = sim_rnd(s, 100);
        put(s, r < (s->dense ? 1 : 4) ? STO_OP_DEL : r < 16 && s->has_adds ? STO_OP_ADD : STO_OP_PUT);
    }
}

/* --- barriers and syncs --- */

static void on_done(void *arg, int rc, const struct ts_error *err)
{
    struct sim_barrier *b = arg;
    struct sim *s = b->s;
    if (!sim_ok(s, rc, err, "a barrier"))
        return;
    sim_say(s, "barrier %d of level %d answered", (int)(b - s->barriers), (int)b->level);
    for (unsigned o = 0; o < s->opts.n_writers; o++) {
        struct sim_owner *w = &s->owners[o];
        size_t n = b->n[o] < w->arrived.n ? b->n[o] : w->arrived.n;
        w->n_seen = n > w->n_seen ? n : w->n_seen;
        if (b->level == STO_LEVEL_DISK)
            w->n_disk = n > w->n_disk ? n : w->n_disk;
    }
}

static void barrier(struct sim *s)
{
    unsigned writer = (unsigned)sim_rnd(s, s->opts.n_writers);
    if (order_is_unknown(s, writer) || s->n_barriers == SIM_BARRIERS)
        return;
    if (s->has_adds && s->faulty) /* answered by TS_ENOSPC, it drops additions that wait: not in the model */
        return;
    struct sim_barrier *b = &s->barriers[s->n_barriers++];
    *b = (struct sim_barrier){.s = s, .level = sim_chance(s, 80) ? STO_LEVEL_DISK : STO_LEVEL_LOG};
    for (unsigned o = 0; o < s->opts.n_writers; o++) {
        send(s, writer, o);
        b->n[o] = s->owners[o].arrived.n + s->owners[o].queue.n;
    }
    sim_say(s, "writer %u barrier %d of level %d", writer, (int)(b - s->barriers), (int)b->level);
    sto_writer_barrier(sto_writer(s->st, writer), b->level, 1, on_done, b);
}

/* Run something long; others may be played while it is at work. */
void sim_begin(struct sim *s, enum sim_actor who, bool play, unsigned *out_top)
{
    *out_top = s->top;
    s->actors |= who;
    s->top = play ? who : 0;
}

void sim_end(struct sim *s, enum sim_actor who, unsigned top)
{
    s->actors &= ~(unsigned)who;
    s->top = top;
}

static void all_arrived(const struct sim *s, size_t out[SIM_WRITERS])
{
    for (unsigned o = 0; o < SIM_WRITERS; o++)
        out[o] = s->owners[o].arrived.n;
}

static void confirm(struct sim *s, const size_t n[SIM_WRITERS], bool disk)
{
    for (unsigned o = 0; o < SIM_WRITERS; o++) {
        struct sim_owner *w = &s->owners[o];
        w->n_seen = n[o] > w->n_seen ? n[o] : w->n_seen;
        if (disk)
            w->n_disk = n[o] > w->n_disk ? n[o] : w->n_disk;
    }
}

bool sim_all_well(const struct sim *s)
{
    return !s->faulty && !s->broken && !((s->cut_planned || s->kill_planned) && t_faultfs_fired(s->f)) &&
           !sto_store_refusing(s->st);
}

/* What was sent while a flush was at work may have been taken in by it, or not: now it is. */
void sim_make_sure(struct sim *s)
{
    if (s->depth)
        return;
    if (s->flushed && !queues_empty(s)) {
        sto_flush(s->st, STO_LEVEL_LOG, NULL);
        sim_arrive_all(s);
    }
    s->flushed = false;
}

/* What the sync thread does each interval. */
static void sync_pass(struct sim *s)
{
    size_t n[SIM_WRITERS];
    unsigned top;
    sim_say(s, "sync");
    all_arrived(s, n);
    sim_begin(s, SIM_SYNC, true, &top);
    sto_store_pump(s->st);
    sim_end(s, SIM_SYNC, top);
    if (sim_all_well(s))
        confirm(s, n, true);
    sim_make_sure(s);
    for (unsigned i = 0; i < s->opts.n_writers; i++)
        if (sim_chance(s, 30))
            turn(s, i);
}

/* --- flush and compaction --- */

bool sim_flush(struct sim *s, enum sto_level level)
{
    size_t n[SIM_WRITERS];
    unsigned top;
    struct ts_error err = {0};
    enum sim_actor who = level == STO_LEVEL_FILES     ? SIM_FLUSH
                         : level == STO_LEVEL_COMPACT ? SIM_COMPACT
                                                      : SIM_SYNC;
    sim_say(s, "flush to level %d", (int)level);
    sim_arrive_all(s);
    all_arrived(s, n);
    struct sim_known known = sim_known_now(s);
    sim_begin(s, who, level >= STO_LEVEL_FILES, &top); /* else owners are at work in there */
    int rc = sto_flush(s->st, level, &err);
    sim_end(s, who, top);
    bool good = sim_ok(s, rc, &err, "a flush");
    sim_say(s, "flush to level %d: %d", (int)level, rc);
    if (good)
        confirm(s, n, level >= STO_LEVEL_DISK);
    if (good && level >= STO_LEVEL_FILES)
        sim_names_safe(s, &known);
    s->flushed = true;
    sim_make_sure(s);
    return good;
}

void sim_compact(struct sim *s)
{
    unsigned pct = s->hook_pct;
    sim_turn_all(s);
    s->hook_pct = 0; /* nothing new: the flush that a compaction begins with must have nothing to do */
    bool good = sim_flush(s, STO_LEVEL_FILES);
    s->hook_pct = s->aged.on ? 0 : pct;
    if (good) {
        sim_clock_look(s);
        sim_flush(s, STO_LEVEL_COMPACT);
        if (s->aged.days)
            sim_quota_see(s);
    }
    s->hook_pct = pct;
    if (!good)
        return;
    s->clock.known &= sim_all_well(s);
}

void sim_merge_some(struct sim *s, bool play)
{
    struct ts_error err = {0};
    unsigned top;
    if (s->aged.on) /* a pass that makes summaries begins with a flush, which empties queues */
        sim_turn_all(s);
    if (s->aged.on && sim_has_quota(s) && !sim_aged_settle(s))
        return; /* what the limit of bytes cuts off is on disk */
    sim_say(s, "merges");
    sim_clock_look(s);
    sim_begin(s, SIM_COMPACT, play && !s->aged.on, &top);
    s->aged.passing = s->aged.days && s->hook_pct;
    int rc = sto_store_pump_merges(s->st, &err);
    s->aged.passing = false;
    sim_end(s, SIM_COMPACT, top);
    sim_make_sure(s);
    if (s->aged.days)
        sim_quota_see(s); /* under the present rule */
    s->clock.known &= sim_ok(s, rc, &err, "merging") && sim_all_well(s);
}

/* --- playing --- */

static void check_now(struct sim *s)
{
    if (sim_all_well(s) && queues_empty(s))
        sim_check(s, sim_chance(s, 20));
    else if (!s->depth && !s->broken && !s->cut_planned && !s->kill_planned && queues_empty(s))
        sim_check_front(s);
    sim_check_cells(s);
}

static void played(struct sim *s, bool may_flush, bool may_drop)
{
    uint64_t r = sim_rnd(s, 100);
    if (s->actors & SIM_BULK && may_flush && !(s->actors & SIM_COMPACT) && sim_chance(s, 10)) {
        sim_merge_some(s, true);
        return;
    }
    bool alone = s->actors & SIM_SHIP && s->remote.careful; /* nobody puts points meanwhile */
    if (alone || (s->remote.store && sim_chance(s, 12))) {
        if (s->no_flush)
            return;
        if (s->actors & SIM_SHIP && may_flush && !(s->actors & SIM_COMPACT) && sim_chance(s, 70))
            sim_merge_some(s, !alone);
        else
            sim_ship_played(s, may_drop);
    } else if (r < 40)
        sim_put_some(s);
    else if (r < 65)
        turn(s, (unsigned)sim_rnd(s, s->opts.n_writers));
    else if (r < 72)
        barrier(s);
    else if (r < 80)
        sim_cell_step(s);
    else if (r < 84)
        s->bulk.listing ? (void)0 : check_now(s);
    else if (r < 86)
        sim_new_series(s);
    else if (r < 93 && !(s->actors & SIM_SYNC))
        sync_pass(s);
    else if (r >= 93 && may_flush)
        sim_flush(s, STO_LEVEL_FILES);
}

/* in_manifest: the manifest is being written. may_drop: nobody holds the lock of removing files. */
static void play(struct sim *s, bool in_manifest, bool may_drop)
{
    bool may_flush =
        !(s->actors & SIM_FLUSH) && !s->no_flush && !in_manifest && s->top != SIM_FLUSH && !s->bulk.listing;
    bool no_flush = s->no_flush;
    unsigned top = s->top;
    s->top = 0;
    s->no_flush |= in_manifest;
    s->depth++;
    s->n_played++;
    s->n_turns++;
    for (uint64_t n = 1 + sim_rnd(s, 4); n > 0 && !t_faultfs_is_off(s->f); n--)
        played(s, may_flush, may_drop);
    s->depth--;
    s->no_flush = no_flush;
    s->top = top;
}

static bool may_play(struct sim *s)
{
    return s->top && s->st && s->depth < 3 && s->n_turns < PLAYED_MAX && sim_chance(s, s->hook_pct);
}

void sim_play(struct sim *s)
{
    if (s->top == SIM_SHIP && !s->no_flush && may_play(s))
        play(s, false, true);
}

void sim_hook(void *arg, enum t_op op, const char *path, bool after)
{
    struct sim *s = arg;
    if (s->top == SIM_BULK && !after)
        sim_bulk_look(s, op, path);
    sim_level_hook(s, path);
    if (s->aged.passing && !after && s->depth == 0 && s->n_turns < PLAYED_MAX && strstr(path, "/files/") &&
        op != T_OP_UNLINK && op != T_OP_SYNC_DIR && !t_faultfs_is_off(s->f) && sim_chance(s, 4)) {
        s->depth++;
        s->n_turns++;
        s->n_played++;
        sim_days_beside(s);
        s->flushed = true;
        s->depth--;
        return;
    }
    if (!may_play(s))
        return;
    bool in_bulk = s->top == SIM_BULK && (strstr(path, "/bulk/") || strstr(path, "/BULK"));
    bool in_manifest = strstr(path, "MANIFEST") != NULL, in_files = strstr(path, "/files/") != NULL;
    bool in_log = strstr(path, "/wal/") != NULL;
    if (s->top == SIM_SYNC ? !in_log : !in_manifest && !in_files && !in_bulk)
        return; /* the caller is inside an owner, or holds a lock of the names */
    play(s, in_manifest, op != T_OP_UNLINK && op != T_OP_SYNC_DIR);
}

static void flush_files(struct sim *s)
{
    if (sim_chance(s, 70))
        sim_turn_all(s);
    if (sim_flush(s, STO_LEVEL_FILES) && s->merges_follow)
        sim_merge_some(s, true);
}

static void do_step(struct sim *s)
{
    uint64_t r = sim_rnd(s, 1000);
    if (s->remote.store && sim_chance(s, 15))
        sim_ship_step(s);
    else if (s->bulk.on && sim_chance(s, 8))
        sim_bulk_step(s);
    else if (sim_has(s, SIM_TOTAL_SEED) && sim_chance(s, 4))
        sim_totals_change(s);
    else if (sim_has_quota(s) && sim_chance(s, 2))
        sim_quota_change(s);
    else if (s->aged.days && sim_chance(s, 8))
        sim_days_step(s);
    else if (sim_has(s, SIM_LEVEL_SEED) && sim_chance(s, 5))
        sim_level_step(s);
    else if (r < s->flush_pm)
        flush_files(s);
    else if (r < 190 && s->short_lives && !s->remote.store)
        sim_forget(s);
    else if (r < 440)
        sim_put_some(s);
    else if (r < 580)
        turn(s, (unsigned)sim_rnd(s, s->opts.n_writers));
    else if (r < 640)
        barrier(s);
    else if (r < 700)
        sync_pass(s);
    else if (r < 770)
        sim_cell_step(s);
    else if (r < 790)
        sim_flush(s, sim_chance(s, 50) ? STO_LEVEL_DISK : STO_LEVEL_LOG);
    else if (r < 810)
        sim_chance(s, s->full_pct) ? sim_compact(s) : sim_merge_some(s, true);
    else if (r < 840)
        s->aged.on ? sim_aged_time(s) : sim_clock_pass(s);
    else if (r < 865)
        sim_new_series(s);
    else if (r < 872)
        s->remote.store ? sim_ship_settle(s) : s->aged.on ? (void)0 : sim_rename(s);
    else if (r < 875)
        sim_assign(s);
    else if (r < 887)
        s->remote.store ? sim_remote_other(s) : s->aged.on ? (void)0 : sim_forget(s);
    else if (r < 935)
        check_now(s);
    else if (r < 945)
        sim_all_well(s) && !s->cut_planned && !s->kill_planned && queues_empty(s) ? sim_check_damage(s)
                                                                                  : (void)0;
    else if (r < 955)
        sim_close(s);
    else if (r < 975)
        sim_crash(s, sim_chance(s, 60) || s->sync_lost); /* see docs/RELIABILITY.md: after a failed sync */
    else
        sim_fault(s);
}

void sim_step(struct sim *s)
{
    s->n_turns = 0;
    do_step(s);
    ts_clock_set_fake(s->now_ms);
    if (s->st && sim_all_well(s)) {
        size_t n[SIM_WRITERS];
        all_arrived(s, n);
        confirm(s, n, false);
    }
}
