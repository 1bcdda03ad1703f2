/*
 * sim_forget.c - series without points are forgotten in the simulated store.
 *
 * While the store looks at its series, ports put points, to series that it has found without points too: these must stay.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include "base/mem.h"
#include "storage/catalog/forget.h"

static struct sim *playing; /* the store's question has no argument for it */

/* The store found nothing of a series, and asks what else mentions it. */
static bool keeps(struct sto_store *st, const struct sto_series *h)
{
    struct sim *s = playing;
    (void)st;
    if (!sim_chance(s, 10))
        return false;
    for (unsigned i = 0; i < s->n_series; i++)
        s->kept |= (uint64_t)(s->series[i].id == h->id) << i;
    return true;
}

/* Others put while a pass is under way: at first to series as they have known them, and what they sent waits in queues; when
 * they have ended a turn they ask anew. */
static void step(void *arg, enum sto_forget_step where)
{
    struct sim *s = arg;
    if (where != STO_FORGET_BEGUN)
        for (unsigned i = 0; i < s->n_series; i++)
            s->series[i].h = NULL;
    if (where == STO_FORGET_SPARED)
        sim_arrive_all(s); /* the store has waited for it */
    if (where > STO_FORGET_SPARED || !sim_chance(s, 60))
        return;
    sim_say(s, "others put at step %d", (int)where);
    sim_put_some(s);
    if (where == STO_FORGET_BEGUN)
        sim_turn_once(s);
    else
        sim_turn_all(s); /* the pass empties queues no more */
}

void sim_forget_configure(struct sim *s)
{
    s->opts.keeps_series = keeps;
    s->gone = roaring_bitmap_create();
}

/* May a series have points, as far as the model knows? */
static bool may_have_points(const struct sim *s, unsigned i)
{
    struct t_ref_point *v = NULL;
    int64_t from = s->opts.retention_ms ? s->now_ms - s->opts.retention_ms : STO_MIN_TS_MS;
    from = s->horizon_ms > from ? s->horizon_ms : from;
    size_t n = t_ref_scan(s->ref, i, from, STO_MAX_TS_MS, &v);
    ts_free(v);
    return n > 0;
}

/* well: nothing has failed, so the model knows all points, and what is gone is gone for good. */
static void note_forgotten(struct sim *s, unsigned i, bool well)
{
    struct sim_series *x = &s->series[i];
    if (s->kept >> i & 1)
        sim_fail(s, "series %u (number %u) was forgotten though something mentions it", i, x->id);
    if (well && may_have_points(s, i))
        sim_fail(s, "series %u (number %u) was forgotten, but it has points", i, x->id);
    sim_say(s, "series %u (number %u) is forgotten", i, x->id);
    if (well)
        roaring_bitmap_add(s->gone, x->id);
    x->id = UINT32_MAX;
    x->safe = false;
    s->n_forgotten++;
}

/* Some series lose their points, in files too if merging goes well; others are made and get none. */
static void empty_some(struct sim *s)
{
    for (uint64_t n = 1 + sim_rnd(s, 4); n > 0; n--) {
        unsigned i = (unsigned)sim_rnd(s, s->n_series);
        if (sim_chance(s, 80))
            sim_delete_all(s, i);
        else
            (void)sim_resolve(s, i, true);
    }
    sim_compact(s);
}

void sim_forget(struct sim *s)
{
    struct ts_error err = {0};
    struct sto_catalog *cat = sto_store_catalog(s->st);
    if (s->depth)
        return;
    if (s->n_series && sim_chance(s, 70))
        empty_some(s);
    if (!s->st)
        return;
    sim_say(s, "forget");
    sim_turn_all(s);
    s->kept = 0;
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].maybe_gone =
            true; /* the end may come in the middle; those with points must have them after it */
    playing = s;
    sto_catalog_forget_on_step(cat, step, s);
    int rc = sto_store_pump_forget(s->st, &err);
    sim_arrive_all(s);
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    s->unfinished |= rc < 0;
    bool well = sim_ok(s, rc, &err, "forgetting") && sim_all_well(s);
    for (unsigned i = 0; i < s->n_series; i++) {
        s->series[i].maybe_gone = !well;
        if (s->series[i].id != UINT32_MAX && !sto_series_get(cat, s->series[i].id))
            note_forgotten(s, i, well);
    }
}
