/*
 * sim_remote.c - the simulation's remote store: the one in memory, whose calls fail, are answered late and in another order, and store only
 * some rows; and another writer, who puts and deletes points of his own in the same rows.
 *
 * Nothing waits for anything else in one thread, so pthread_cond_wait (the linker's --wrap) delivers the answers that are late. A shipment
 * is executed when it is sent, or when it is answered. It is reached only while the power is on.
 *
 * Threads    one
 * Not here   when to ship, and what must be there (sim_ship.c)
 */
#include "tests/sim/sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/remote/memory_remote.h"

#define LATE_MAX 64 /* shipments that wait for their answers */

/* A shipment that is answered later. */
struct late {
    const struct sto_shipment *shipment; /* of the engine, which keeps it until done */
    bool executed;
    int rc;
    struct ts_error err;
    sto_remote_done_fn done;
    void *arg;
};

static struct sim *playing; /* calls have no argument for it */
static const struct sto_remote_ops *real;
static struct sto_remote_ops failing;
static struct late late[LATE_MAX];
static unsigned n_late;

/* --- one call --- */

/* What becomes of a call. */
enum fate { FATE_GOOD, FATE_NOT_DONE, FATE_DONE, FATE_PARTLY };

static enum fate fate_of(struct sim *s, bool has_parts)
{
    struct sim_remote *r = &s->remote;
    enum fate fate = FATE_GOOD;
    r->n_calls++;
    r->off |= t_faultfs_is_off(s->f);
    if (r->off || r->away)
        fate = FATE_NOT_DONE;
    else if (!r->well && sim_chance(s, r->fail_pct))
        fate = (enum fate)(FATE_NOT_DONE + sim_rnd(s, has_parts ? 3 : 2));
    r->n_failed += fate != FATE_GOOD;
    return fate;
}

static int failed(struct sim *s, struct ts_error *err)
{
    return sim_chance(s, 70) ? ts_error_set(err, TS_EBACKEND, "the simulated remote store has failed")
                             : ts_error_set(err, TS_ETIMEOUT, "the simulated remote store has not answered");
}

/* --- shipments --- */

/* A shipment whose rows are in another order, so that any of them may be those that are stored. */
struct mixed {
    const struct sto_shipment *of;
    size_t *places; /* of its rows in `of` */
};

static void refused(void *arg, size_t row, const struct ts_error *err)
{
    struct mixed *m = arg;
    if (m->of->refused)
        m->of->refused(m->of->arg, m->places[row], err);
}

static void executed(void *arg, int rc, const struct ts_error *err)
{
    (void)err;
    *(int *)arg = rc;
}

static void execute(struct sim *s, const struct sto_shipment *of, enum fate fate)
{
    struct sto_remote_row *rows = ts_xcalloc(of->n, sizeof *rows);
    struct mixed m = {of, ts_xcalloc(of->n, sizeof *m.places)};
    struct sto_shipment shipment = {
        .rows = rows, .n = of->n, .n_bytes = of->n_bytes, .refused = refused, .arg = &m};
    int rc = 0;
    for (size_t i = 0; i < of->n; i++) {
        size_t k = sim_rnd(s, i + 1);
        m.places[i] = m.places[k];
        m.places[k] = i;
    }
    for (size_t i = 0; i < of->n; i++)
        rows[i] = of->rows[m.places[i]];
    if (fate == FATE_PARTLY)
        sto_memory_remote_cut_next(s->remote.store, sim_rnd(s, of->n));
    if (fate != FATE_NOT_DONE)
        real->ship(s->remote.store, &shipment, NULL, executed, &rc);
    if (rc < 0 && fate != FATE_PARTLY)
        sim_fail(s, "the remote store in memory fails by itself: %s", ts_err_name(rc));
    ts_free(rows);
    ts_free(m.places);
}

static void say_rows(struct sim *s, const struct sto_shipment *of, enum fate fate)
{
    for (size_t i = 0; s->verbose && i < of->n; i++) {
        const struct sto_remote_row *row = &of->rows[i];
        sim_say(s, "  shipped %.*s %.*s hour %d: %u points from %u on%s, fate %d", (int)row->series.metric.n,
                row->series.metric.p, (int)row->series.tags[0].v.n, row->series.tags[0].v.p, row->hour,
                row->cells->n, sto_meta_off(row->cells->meta[0]), row->fresh ? ", fresh" : "", (int)fate);
    }
}

static void ship(struct sto_remote *r, const struct sto_shipment *shipment,
                 const struct sto_remote_call *call, sto_remote_done_fn done, void *arg)
{
    struct sim *s = playing;
    struct late l = {.shipment = shipment, .done = done, .arg = arg};
    enum fate fate = fate_of(s, true);
    (void)r, (void)call;
    say_rows(s, shipment, fate);
    if (fate != FATE_GOOD)
        l.rc = failed(s, &l.err);
    if (sim_chance(s, s->remote.late_pct) && n_late < LATE_MAX) {
        l.executed = fate != FATE_GOOD || sim_chance(s, 50);
        if (l.executed)
            execute(s, shipment, fate);
        late[n_late++] = l;
        return;
    }
    execute(s, shipment, fate);
    done(arg, l.rc, l.rc < 0 ? &l.err : NULL);
}

/* One of the late answers comes. */
static void deliver(struct sim *s)
{
    if (!n_late)
        sim_fail(s, "the only thread waits for something that nobody will do");
    size_t i = sim_rnd(s, n_late);
    struct late l = late[i];
    late[i] = late[--n_late];
    if (!l.executed && (s->remote.off |= t_faultfs_is_off(s->f))) {
        s->remote.n_failed++;
        l.rc = failed(s, &l.err);
    } else if (!l.executed) {
        execute(s, l.shipment, FATE_GOOD);
    }
    l.done(l.arg, l.rc, l.rc < 0 ? &l.err : NULL);
}

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mu);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mu);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mu)
{
    if (!playing)
        return __real_pthread_cond_wait(cond, mu);
    pthread_mutex_unlock(mu);
    sim_play(playing);
    deliver(playing);
    pthread_mutex_lock(mu);
    return 0;
}

/* --- other calls --- */

static int delete_range(struct sto_remote *r, const struct sto_remote_series *series, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    struct sim *s = playing;
    enum fate fate = fate_of(s, false);
    sim_say(s, "  delete %.*s %.*s %lld..%lld, fate %d", (int)series->metric.n, series->metric.p,
            (int)series->tags[0].v.n, series->tags[0].v.p, (long long)from_ms, (long long)to_ms, (int)fate);
    (void)call;
    sim_play(s);
    if (fate != FATE_NOT_DONE && real->delete_range(r, series, from_ms, to_ms, NULL, err) < 0)
        sim_fail(s, "the remote store in memory fails by itself");
    return fate == FATE_GOOD ? 0 : failed(s, err);
}

static int fetch(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                 sto_fetch_row_fn each, void *arg, struct ts_error *err)
{
    struct sim *s = playing;
    s->remote.n_read++;
    if (s->remote.away)
        return ts_error_set(err, TS_EBACKEND, "the simulated remote store is away");
    return real->fetch(r, f, call, each, arg, err);
}

void sim_remote_configure(struct sim *s)
{
    struct sim_remote *r = &s->remote;
    if (s->seed <= SIM_REMOTE_SEED || s->seed > SIM_BULK_SEED)
        return;
    playing = s;
    r->store = sto_memory_remote_new(NULL);
    real = r->store->ops;
    failing = *real;
    failing.ship = ship;
    failing.delete_range = delete_range;
    failing.fetch = fetch;
    r->store->ops = &failing;
    r->fail_pct = sim_chance(s, 25) ? 0 : (unsigned)sim_rnd(s, 30);
    r->late_pct = sim_chance(s, 25) ? 0 : (unsigned)sim_rnd(s, 100);
    r->keep_ms = sim_chance(s, 40) ? 0 : (int64_t)sim_rnd(s, 48) * TS_HOUR_MS;
    r->careful = s->has_adds || sim_chance(s, 50);
    s->opts.ship_whole_hours = sim_chance(s, 30);
    s->opts.ship_pass_points = ts_hash_u64(s->seed ^ 0x70617373) % 3 ? 0 : 1 + s->seed % 60;
    s->opts.ship_batch_rows = sim_chance(s, 30) ? 0 : (unsigned)(1 + sim_rnd(s, 4));
    if (sim_chance(s, 20)) {
        sim_text(STO_UID_METRIC, (int)sim_rnd(s, SIM_TEXTS), r->refused);
        sto_memory_remote_refuse(r->store, ts_slice_str(r->refused));
    }
    s->opts.remote = r->store;
}

void sim_remote_release(struct sim *s)
{
    if (!s->remote.store)
        return;
    if (n_late)
        sim_fail(s, "the store was closed while %u shipments were not answered", n_late);
    ts_free(s->remote.deletes);
    real->close(s->remote.store);
    playing = NULL;
}

void sim_remote_names(const struct sim *s, unsigned i, struct sim_remote_names *out)
{
    const struct sim_series *x = &s->series[i];
    sim_text(STO_UID_METRIC, s->names[STO_UID_METRIC][x->metric].text, out->metric);
    sim_text(STO_UID_TAGV, s->names[STO_UID_TAGV][x->tagv].text, out->value);
    out->tag = (struct sto_remote_tag){TS_SLICE_LIT("host"), ts_slice_str(out->value)};
    out->series = (struct sto_remote_series){
        .key = STO_REMOTE_NO_KEY, .metric = ts_slice_str(out->metric), .tags = &out->tag, .n_tags = 1};
}

void sim_remote_read(struct sim *s, unsigned i, sto_fetch_row_fn each, void *arg)
{
    struct sim_remote_names names;
    struct ts_error err = {0};
    sim_remote_names(s, i, &names);
    struct sto_fetch f = {.metric = names.series.metric,
                          .series = &names.series,
                          .n_series = 1,
                          .from_ms = STO_MIN_TS_MS,
                          .to_ms = STO_MAX_TS_MS};
    if (real->fetch(s->remote.store, &f, NULL, each, arg, &err) < 0)
        sim_fail(s, "reading the remote store: %s", err.text);
}

/* --- the other writer --- */

static bool concerns(const struct sim_delete *d, const struct sim_other *o)
{
    return d->series == o->series && d->from_ms <= o->ts_ms && d->to_ms >= o->ts_ms;
}

/* The other writer deletes one of his points. */
static void take_back(struct sim *s)
{
    struct sim_remote *r = &s->remote;
    struct sim_remote_names names;
    unsigned k = (unsigned)sim_rnd(s, r->n_others);
    struct sim_other *o = &r->others[k];
    sim_remote_names(s, o->series, &names);
    sim_say(s, "the other writer deletes series %u at %lld", o->series, (long long)o->ts_ms);
    if (real->delete_range(r->store, &names.series, o->ts_ms, o->ts_ms, NULL, NULL) < 0)
        sim_fail(s, "the other writer cannot delete");
    *o = r->others[--r->n_others];
}

void sim_remote_other(struct sim *s)
{
    struct sim_remote *r = &s->remote;
    struct sim_remote_names names;
    if (r->n_others && (r->n_others == SIM_OTHERS || sim_chance(s, 25)))
        take_back(s);
    if (!s->n_series)
        return;
    unsigned i = (unsigned)sim_rnd(s, s->n_series);
    int64_t t =
        (s->now_ms / 1000 - (int64_t)sim_rnd(s, sim_chance(s, 70) ? 7200 : 40 * 86400)) * 1000 + SIM_OTHER_MS;
    uint32_t meta =
        (uint32_t)(t - sto_hour(t) * TS_HOUR_MS) | sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, true);
    int64_t value = (int64_t)sim_rnd(s, 1000);
    struct sto_cells cells = {.meta = &meta, .m = &value, .n = 1};
    sim_remote_names(s, i, &names);
    if (!strcmp(names.metric, r->refused))
        return;
    for (unsigned k = 0; k < r->n_others; k++)
        if (r->others[k].series == i && r->others[k].ts_ms == t)
            return;
    struct sto_remote_row row = {.series = names.series, .hour = sto_hour(t), .cells = &cells};
    struct sto_shipment shipment = {.rows = &row, .n = 1, .n_bytes = 16};
    int rc = 0;
    real->ship(r->store, &shipment, NULL, executed, &rc);
    sim_say(s, "the other writer puts series %u at %lld: %lld", i, (long long)t, (long long)value);
    struct sim_other *o = &r->others[r->n_others++];
    *o = (struct sim_other){.series = i, .ts_ms = t, .value = value};
    for (size_t k = 0; k < r->n_deletes; k++)
        o->maybe_gone |= concerns(&r->deletes[k], o);
}

void sim_remote_deleted(struct sim *s, const struct sto_point *p)
{
    struct sim_remote *r = &s->remote;
    if (r->n_deletes == r->cap_deletes)
        r->deletes = ts_xrealloc(r->deletes, (r->cap_deletes = r->cap_deletes ? r->cap_deletes * 2 : 32) *
                                                 sizeof *r->deletes);
    struct sim_delete *d = &r->deletes[r->n_deletes++];
    *d = (struct sim_delete){p->series->id, p->ts_ms, p->m};
    for (unsigned k = 0; k < r->n_others; k++)
        if (concerns(d, &r->others[k]))
            r->others[k].maybe_gone = r->others[k].must_go = true;
}

size_t sim_remote_others(struct sim *s, unsigned i, struct t_ref_point *v, size_t n, int64_t from, int64_t to)
{
    struct sim_remote *r = &s->remote;
    bool there[SIM_OTHERS] = {false};
    size_t left = 0;
    for (size_t k = 0; k < n; k++) {
        unsigned o = 0;
        if (!v[k].ms || v[k].ts_ms % 1000 != SIM_OTHER_MS) {
            v[left++] = v[k];
            continue;
        }
        while (o < r->n_others && (r->others[o].series != i || r->others[o].ts_ms != v[k].ts_ms))
            o++;
        if (o == r->n_others || r->others[o].value != v[k].value.m)
            sim_fail(s, "series %u: the other writer has not put %lld at %lld", i, (long long)v[k].value.m,
                     (long long)v[k].ts_ms);
        there[o] = true;
    }
    for (unsigned o = 0; o < r->n_others; o++)
        if (r->others[o].series == i && r->others[o].ts_ms >= from && r->others[o].ts_ms <= to &&
            r->others[o].ts_ms >= s->horizon_ms && !there[o] && !r->others[o].maybe_gone)
            sim_fail(s, "series %u: the other writer's point at %lld is gone", i,
                     (long long)r->others[o].ts_ms);
    return left;
}

static int note_there(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    const struct sim_other **o = arg; /* the point looked for; NULL: it was found */
    (void)pos, (void)err;
    for (uint32_t i = 0; i < row->cells->n && *o; i++)
        if (row->hour * TS_HOUR_MS + sto_meta_off(row->cells->meta[i]) == (*o)->ts_ms)
            *o = NULL;
    return 0;
}

void sim_remote_others_settled(struct sim *s, bool held, int32_t open_hour)
{
    struct sim_remote *r = &s->remote;
    for (unsigned k = r->n_others; k-- > 0;) {
        struct sim_other *o = &r->others[k];
        const struct sim_other *wanted = o;
        if (!o->maybe_gone || sto_hour(o->ts_ms) >= open_hour || held)
            continue;
        sim_remote_read(s, o->series, note_there, &wanted);
        if (wanted)
            *o = r->others[--r->n_others];
        else if (o->must_go && o->ts_ms >= s->horizon_ms)
            sim_fail(s, "series %u: the other writer's point at %lld was deleted, but it is still there",
                     o->series, (long long)o->ts_ms);
        else
            o->maybe_gone = o->must_go = false;
    }
    if (!held && open_hour == INT32_MAX)
        r->n_deletes = 0;
}
