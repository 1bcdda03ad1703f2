/*
 * sim_forget.c - series without points, and names without series, are forgotten in the simulated store.
 *
 * While the store looks at its series, writers put points, to series that it has found without points too: these must stay.
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
    if (sim_chance(s, 20))
        sim_assign(s);
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
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        s->gone_names[kind] = roaring_bitmap_create();
}

/* May a series have points, as far as the model knows? */
static bool may_have_points(const struct sim *s, unsigned i)
{
    struct t_ref_point *v = NULL;
    int64_t from = sim_expired_ms(s);
    from = s->horizon_ms > from ? s->horizon_ms : from;
    size_t n = t_ref_scan(s->ref, i, from, STO_MAX_TS_MS, &v);
    ts_free(v);
    return n > 0;
}

/* A forgotten series has no points in the store, whatever was sent before: these operations are decided, and if its
 * names are forgotten too, its next ones may arrive at another owner. Those that may have been lost are undone. */
static void decide_ops(struct sim *s, unsigned i)
{
    for (unsigned o = 0; o < SIM_WRITERS; o++) {
        struct sim_owner *w = &s->owners[o];
        size_t n = 0, n_seen = 0, n_disk = 0, n_barrier[SIM_BARRIERS] = {0};
        for (size_t k = w->arrived.n; k-- > w->n_seen;)
            if (w->arrived.v[k].p.series->id == i && may_have_points(s, i))
                t_ref_undo(s->ref, i, w->arrived.v[k].seq);
        for (size_t k = 0; k < w->arrived.n; k++) {
            if (w->arrived.v[k].p.series->id == i)
                continue;
            n_seen += k < w->n_seen;
            n_disk += k < w->n_disk;
            for (unsigned b = 0; b < s->n_barriers; b++)
                n_barrier[b] += k < s->barriers[b].n[o];
            w->arrived.v[n++] = w->arrived.v[k];
        }
        w->arrived.n = n;
        w->n_seen = n_seen;
        w->n_disk = n_disk;
        for (unsigned b = 0; b < s->n_barriers; b++)
            s->barriers[b].n[o] = n_barrier[b];
    }
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
    decide_ops(s, i);
    if (well)
        roaring_bitmap_add(s->gone, x->id);
    x->id = UINT32_MAX;
    x->safe = false;
    s->n_forgotten++;
}

/* Does the model know a series that has the name? */
static bool has_series(const struct sim *s, int kind, unsigned name)
{
    for (unsigned i = 0; i < s->n_series; i++) {
        const struct sim_series *x = &s->series[i];
        if (x->id != UINT32_MAX && !x->maybe_gone &&
            (unsigned)(kind == STO_UID_METRIC ? x->metric : x->tagv) == name)
            return true;
    }
    return false;
}

/* Which names are gone after a pass; well: as above. */
static void note_names(struct sim *s, int kind, bool well)
{
    struct sto_catalog *cat = sto_store_catalog(s->st);
    for (unsigned i = 0; i < s->n_names[kind]; i++) {
        struct sim_name *n = &s->names[kind][i];
        n->maybe_gone = !well;
        if (!n->id || sto_uid_name(cat, (enum sto_uid_kind)kind, n->id).p)
            continue;
        if (n->assigned)
            sim_fail(s, "name %u of kind %d (id %u) was forgotten, but a person has assigned it", i, kind,
                     n->id);
        if (has_series(s, kind, i))
            sim_fail(s, "name %u of kind %d (id %u) was forgotten, but a series has it", i, kind, n->id);
        sim_say(s, "name %u of kind %d (id %u) is forgotten", i, kind, n->id);
        if (well)
            roaring_bitmap_add(s->gone_names[kind], n->id);
        n->id = 0;
        n->safe = false;
        s->n_names_forgotten++;
    }
}

static void count_name(void *arg, uint32_t id, struct ts_slice name)
{
    (void)id, (void)name;
    ++*(uint32_t *)arg;
}

/* Lists show each name once, and no forgotten one. */
static void check_lists(struct sim *s, int kind)
{
    struct sto_catalog *cat = sto_store_catalog(s->st);
    uint32_t listed = 0, named = 0;
    for (uint32_t id = 1; id <= sto_uid_max(cat, (enum sto_uid_kind)kind); id++)
        named += sto_uid_name(cat, (enum sto_uid_kind)kind, id).p != NULL;
    sto_uid_suggest(cat, (enum sto_uid_kind)kind, (struct ts_slice){"", 0}, SIZE_MAX, count_name, &listed);
    if (listed != named)
        sim_fail(s, "%u names of kind %d are listed, there are %u", listed, kind, named);
}

/* Some series lose their points, in files too if merging goes well; others are made and get none. */
static void empty_some(struct sim *s)
{
    for (uint64_t n = 1 + sim_rnd(s, 4); n > 0; n--) {
        unsigned i = (unsigned)sim_rnd(s, s->n_series);
        if (sim_chance(s, 30)) {
            i = s->n_series;
            sim_new_series(s);
        }
        if (i < s->n_series && sim_chance(s, 60))
            sim_delete_all(s, i);
        else if (i < s->n_series)
            (void)sim_resolve(s, i, true);
    }
    sim_compact(s);
}

static void run_pass(struct sim *s)
{
    struct ts_error err = {0};
    struct sto_catalog *cat = sto_store_catalog(s->st);
    sim_say(s, "forget");
    sim_turn_all(s);
    s->kept = 0;
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].maybe_gone =
            true; /* the end may come in the middle; those with points must have them after it */
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        for (unsigned i = 0; i < s->n_names[kind]; i++)
            s->names[kind][i].maybe_gone = true; /* the same */
    playing = s;
    sto_catalog_forget_on_step(cat, step, s);
    int rc = sto_store_pump_forget(s->st, &err);
    sim_arrive_all(s);
    sim_quota_see(s);
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    s->unfinished |= rc < 0;
    bool well = sim_ok(s, rc, &err, "forgetting") && sim_all_well(s);
    for (unsigned i = 0; i < s->n_series; i++) {
        s->series[i].maybe_gone = !well;
        if (s->series[i].id != UINT32_MAX && !sto_series_get(cat, s->series[i].id))
            note_forgotten(s, i, well);
    }
    note_names(s, STO_UID_METRIC, well);
    note_names(s, STO_UID_TAGV, well);
    check_lists(s, STO_UID_METRIC);
    check_lists(s, STO_UID_TAGV);
}

void sim_forget(struct sim *s)
{
    if (s->depth)
        return;
    if (s->n_series && sim_chance(s, 70))
        empty_some(s);
    /* the memory of series is free two passes later, and their names go then */
    for (int n = sim_chance(s, 40) ? 4 : 1; n > 0 && s->st; n--)
        run_pass(s);
}
