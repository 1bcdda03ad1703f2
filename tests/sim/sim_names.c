/*
 * sim_names.c - the simulation's names and series: made, renamed, looked for after a crash.
 *
 * A name may be lost if no point that survived uses it; its id must never mean another name then.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void sim_text(int kind, int text, char out[24])
{
    snprintf(out, 24, "%c%d", kind == STO_UID_METRIC ? 'm' : 'v', text);
}

static struct ts_slice name_text(int kind, int text, char out[24])
{
    sim_text(kind, text, out);
    return ts_slice_str(out);
}

/* Who is, or may be, called so; -1 = nobody. */
static int name_by_text(const struct sim *s, int kind, int text)
{
    for (unsigned i = 0; i < s->n_names[kind]; i++)
        if (s->names[kind][i].text == text || s->names[kind][i].maybe == text)
            return (int)i;
    return -1;
}

static int name_pick(struct sim *s, int kind)
{
    int text = (int)sim_rnd(s, SIM_TEXTS), i = name_by_text(s, kind, text);
    if (i >= 0)
        return s->names[kind][i].maybe >= 0 ? -1 : i;
    if (s->n_names[kind] == SIM_NAMES)
        return -1;
    s->names[kind][s->n_names[kind]] = (struct sim_name){.text = text, .maybe = -1};
    return (int)s->n_names[kind]++;
}

void sim_new_series(struct sim *s)
{
    int metric = name_pick(s, STO_UID_METRIC), tagv = name_pick(s, STO_UID_TAGV);
    if (metric < 0 || tagv < 0 || s->n_series == (s->dense ? 4 : SIM_SERIES))
        return;
    for (unsigned i = 0; i < s->n_series; i++)
        if (s->series[i].metric == metric && s->series[i].tagv == tagv)
            return;
    s->handles[s->n_series].id = s->n_series;
    s->series[s->n_series] = (struct sim_series){.metric = metric, .tagv = tagv, .id = UINT32_MAX};
    s->n_series++;
    sim_say(s, "series %u is metric name %d, value name %d", s->n_series - 1, metric, tagv);
}

static void id_is(struct sim *s, int kind, int name, uint32_t id)
{
    struct sim_name *n = &s->names[kind][name];
    if (n->id && n->id != id)
        sim_fail(s, "name %d of kind %d had id %u, now %u", name, kind, n->id, id);
    if (!n->id && roaring_bitmap_contains(s->gone_names[kind], id))
        sim_fail(s, "name %d of kind %d has id %u, which a name had that was forgotten", name, kind, id);
    n->id = id;
    for (unsigned i = 0; i < s->n_names[kind]; i++)
        if ((int)i != name && s->names[kind][i].id == id)
            sim_fail(s, "names %u and %d of kind %d have the same id %u", i, name, kind, id);
}

const struct sto_series *sim_resolve(struct sim *s, unsigned i, bool create)
{
    struct sim_series *x = &s->series[i];
    if (x->h)
        return x->h;
    char metric[24], value[24], text[64];
    sim_text(STO_UID_METRIC, s->names[STO_UID_METRIC][x->metric].text, metric);
    sim_text(STO_UID_TAGV, s->names[STO_UID_TAGV][x->tagv].text, value);
    int n = snprintf(text, sizeof text, "%s host=%s", metric, value);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(value)};
    struct ts_error err = {0};
    int rc = sto_series_resolve(sto_store_catalog(s->st), (struct ts_slice){text, (size_t)n},
                                (uint32_t)strlen(metric), &tag, 1, create, &x->h, &err);
    if (rc == TS_ENOTFOUND && !create)
        return NULL;
    if (rc == TS_EBUSY && s->unfinished)
        return NULL;
    if (!sim_ok(s, rc, &err, "a series"))
        return NULL;
    id_is(s, STO_UID_METRIC, x->metric, x->h->metric);
    id_is(s, STO_UID_TAGV, x->tagv, x->h->tags[0].v);
    if (x->id != UINT32_MAX && x->id != x->h->id)
        sim_fail(s, "series %u was number %u, now %u", i, x->id, x->h->id);
    if (x->id == UINT32_MAX && roaring_bitmap_contains(s->gone, x->h->id))
        sim_fail(s, "series %u has number %u, which another one had that was forgotten", i, x->h->id);
    x->id = x->h->id;
    return x->h;
}

/* A person assigns a name, which is there afterwards whatever is forgotten. */
void sim_assign(struct sim *s)
{
    int kind = sim_chance(s, 50) ? STO_UID_METRIC : STO_UID_TAGV, i = name_pick(s, kind);
    struct sto_catalog *cat = sto_store_catalog(s->st);
    struct ts_error err = {0};
    char text[24];
    bool created;
    uint32_t id;
    if (i < 0)
        return;
    struct sim_name *n = &s->names[kind][i];
    int rc =
        sto_uid_assign(cat, (enum sto_uid_kind)kind, name_text(kind, n->text, text), &id, &created, &err);
    if (rc == TS_EBUSY && s->unfinished)
        return;
    if (!sim_ok(s, rc, &err, "assigning a name"))
        return;
    sim_say(s, "assign name %d of kind %d", i, kind);
    id_is(s, kind, i, id);
    if (sim_ok(s, sto_catalog_sync(cat, true, &err), &err, "a sync of names"))
        n->safe = n->assigned = true;
}

void sim_rename(struct sim *s)
{
    int kind = sim_chance(s, 50) ? STO_UID_METRIC : STO_UID_TAGV, to = (int)sim_rnd(s, SIM_TEXTS);
    if (!s->n_names[kind] || name_by_text(s, kind, to) >= 0)
        return;
    unsigned i = (unsigned)sim_rnd(s, s->n_names[kind]);
    struct sim_name *n = &s->names[kind][i];
    if (!n->id || n->maybe >= 0)
        return;
    char a[24], b[24];
    struct ts_error err = {0};
    uint32_t id = 0;
    sim_say(s, "rename name %u of kind %d to text %d", i, kind, to);
    int rc = sto_uid_rename(sto_store_catalog(s->st), (enum sto_uid_kind)kind, name_text(kind, n->text, a),
                            name_text(kind, to, b), &err);
    if (rc == TS_EBUSY && s->unfinished)
        return;
    if (sim_ok(s, rc, &err, "a rename")) {
        n->text = to;
        n->safe = true;
    } else {
        n->maybe = to;
    }
    rc = sto_uid_find(sto_store_catalog(s->st), (enum sto_uid_kind)kind, name_text(kind, n->text, a), &id);
    if (rc < 0 || id != n->id)
        sim_fail(s, "after a rename %s is %u instead of %u", a, id, n->id);
}

/* Points that the store must have. A delete alone, or points that were expired after a crash, may have been lost without anybody
 * seeing it. */
static bool has_points(const struct sim *s, unsigned i)
{
    struct t_ref_point *v = NULL;
    int64_t from = sim_expired_ms(s);
    from = s->horizon_ms > from ? s->horizon_ms : from;
    size_t n = s->series[i].safe ? 0 : t_ref_scan(s->ref, i, from, STO_MAX_TS_MS, &v);
    ts_free(v);
    return n > 0;
}

struct sim_known sim_known_now(const struct sim *s)
{
    struct sim_known k = {0};
    for (unsigned i = 0; i < s->n_series; i++)
        if (has_points(s, i)) {
            k.series |= 1ull << i;
            k.names[STO_UID_METRIC] |= 1ull << s->series[i].metric;
            k.names[STO_UID_TAGV] |= 1ull << s->series[i].tagv;
        }
    return k;
}

void sim_names_safe(struct sim *s, const struct sim_known *known)
{
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].safe |= known->series >> i & 1;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        for (unsigned i = 0; i < s->n_names[kind]; i++)
            s->names[kind][i].safe |= known->names[kind] >> i & 1;
}

static void check_name(struct sim *s, int kind, unsigned i, const char *when)
{
    struct sto_catalog *cat = sto_store_catalog(s->st);
    struct sim_name *n = &s->names[kind][i];
    char text[24];
    uint32_t id = 0, other = 0;
    if (!n->id) {
        n->maybe = -1;
        return;
    }
    bool there = sto_uid_find(cat, (enum sto_uid_kind)kind, name_text(kind, n->text, text), &id) == 0;
    bool renamed = n->maybe >= 0 &&
                   sto_uid_find(cat, (enum sto_uid_kind)kind, name_text(kind, n->maybe, text), &other) == 0;
    if (renamed && other == n->id && !(there && id == n->id)) {
        n->text = n->maybe;
    } else if (there && id != n->id) {
        sim_fail(s, "%s: name %u of kind %d is %u instead of %u", when, i, kind, id, n->id);
    } else if (!there) {
        if ((n->safe && !n->maybe_gone) || n->assigned)
            sim_fail(s, "%s: name %u of kind %d (id %u) is gone, it was on disk", when, i, kind, n->id);
        n->id = 0;
        n->safe = false;
    }
    n->maybe = -1;
    n->maybe_gone = false;
}

void sim_check_names(struct sim *s, const char *when)
{
    s->unfinished = false;
    sim_quota_see(s);
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].h = NULL;
    for (unsigned i = 0; i < s->n_names[STO_UID_METRIC]; i++)
        check_name(s, STO_UID_METRIC, i, when);
    for (unsigned i = 0; i < s->n_names[STO_UID_TAGV]; i++)
        check_name(s, STO_UID_TAGV, i, when);
    for (unsigned i = 0; i < s->n_series; i++) {
        struct sim_series *x = &s->series[i];
        if (x->id == UINT32_MAX || sim_resolve(s, i, false))
            continue;
        if (x->safe && !x->maybe_gone)
            sim_fail(s, "%s: series %u (number %u) is gone, it was on disk", when, i, x->id);
        x->id = UINT32_MAX;
        x->safe = false;
    }
    for (unsigned i = 0; i < s->n_series; i++)
        s->series[i].maybe_gone = false;
}
