/*
 * kind.c - kinds of metrics, and queries that respect them.
 *
 * Threads    see kind.h
 */
#include "tsd/meta/kind.h"

#include "query/aggs/agg.h"
#include "tsd/meta/uidmeta.h"

/* Counts of the collectors. */
static const char *const known_counts[] = {"web.hits", "web.bytes", "web.time.count", "web.time.sum",
                                           "web.time.requests"};

bool tsd_kind_parse(struct ts_slice name, enum tsd_kind *out)
{
    static const char *const names[] = {
        [TSD_KIND_GAUGE] = "gauge", [TSD_KIND_COUNT] = "count", [TSD_KIND_COUNTER] = "counter"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ts_slice_is(name, names[i])) {
            *out = (enum tsd_kind)i;
            return true;
        }
    return false;
}

/* What people say of it; false: nothing. */
static bool kind_said(struct sto_store *store, struct ts_slice metric, enum tsd_kind *out)
{
    uint32_t id;
    struct tsd_record r;
    struct ts_arena arena;
    json_t *custom = NULL;
    bool said = false;
    if (!tsd_uidmeta_any(store) || sto_uid_find(sto_store_catalog(store), STO_UID_METRIC, metric, &id) != 0)
        return false;
    ts_arena_init(&arena, 0);
    if (tsd_uidmeta_load(store, STO_UID_METRIC, id, &arena, &r, NULL) == 0 &&
        r.v[TSD_UIDMETA_CUSTOM].text.n && ts_json_load(r.v[TSD_UIDMETA_CUSTOM].text, &custom, NULL) == 0) {
        const char *kind = json_string_value(json_object_get(custom, "kind"));
        said = kind && tsd_kind_parse(ts_slice_str(kind), out);
        json_decref(custom);
    }
    ts_arena_release(&arena);
    return said;
}

enum tsd_kind tsd_kind_of(struct sto_store *store, struct ts_slice metric)
{
    enum tsd_kind kind = TSD_KIND_GAUGE;
    if (kind_said(store, metric, &kind))
        return kind;
    for (size_t i = 0; i < sizeof(known_counts) / sizeof(known_counts[0]); i++)
        if (ts_slice_is(metric, known_counts[i]))
            return TSD_KIND_COUNT;
    return TSD_KIND_GAUGE;
}

void tsd_kinds_apply(struct sto_store *store, struct qry_spec *spec)
{
    for (size_t i = 0; i < spec->n_subs && !spec->compat && !spec->by_on; i++) {
        struct qry_sub *sub = &spec->subs[i];
        if (!sub->metric.n)
            continue;
        enum tsd_kind kind = tsd_kind_of(store, sub->metric);
        if (kind == TSD_KIND_COUNT && strcmp(sub->agg->name, "sum") == 0)
            sub->agg = qry_agg_find(TS_SLICE_LIT("zimsum"), false);
        if (kind == TSD_KIND_COUNTER && sub->rate.on && !sub->rate.counter)
            sub->rate.counter = sub->rate.drop_resets = true;
    }
}
