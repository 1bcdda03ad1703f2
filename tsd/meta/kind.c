/*
 * kind.c - kinds of metrics, and queries that respect them.
 *
 * Threads    see kind.h
 */
#include "tsd/meta/kind.h"

#include "base/text.h"
#include "query/aggregators/agg.h"
#include "query/execution/select.h"
#include "query/ids.h"
#include "tsd/meta/request.h"
#include "tsd/meta/uidmeta.h"

/* Metrics of the collectors that are no gauges; docs/COLLECTORS.md has them. */
static const char *const known_counts[] = {"web.hits", "web.bytes", "web.time.count", "web.time.sum",
                                           "web.time.requests"};
static const char *const kind_names[] = {
    [TSD_KIND_GAUGE] = "gauge", [TSD_KIND_COUNT] = "count", [TSD_KIND_COUNTER] = "counter"};

/* "gauge", "count", "counter". */
static const char *kind_name(enum tsd_kind kind)
{
    return kind_names[kind];
}

bool tsd_kind_parse(struct ts_slice name, enum tsd_kind *out)
{
    for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++)
        if (ts_slice_is(name, kind_names[i])) {
            *out = (enum tsd_kind)i;
            return true;
        }
    return false;
}

/* Its metadata. */
static void kind_said(struct sto_store *store, uint32_t id, struct tsd_metric_info *out)
{
    struct tsd_record r;
    struct ts_arena arena;
    json_t *custom = NULL;
    ts_arena_init(&arena, 0);
    if (tsd_uidmeta_load(store, STO_UID_METRIC, id, &arena, &r, NULL) == 0 &&
        r.v[TSD_UIDMETA_CUSTOM].text.n && ts_json_load(r.v[TSD_UIDMETA_CUSTOM].text, &custom, NULL) == 0) {
        const char *kind = json_string_value(json_object_get(custom, "kind"));
        const char *unit = json_string_value(json_object_get(custom, "unit"));
        if (kind && tsd_kind_parse(ts_slice_str(kind), &out->kind))
            out->source = TSD_KIND_SET;
        struct ts_slice cut = ts_utf8_cut(ts_slice_str(unit ? unit : ""), sizeof(out->unit) - 1);
        memcpy(out->unit, cut.p, cut.n);
        json_decref(custom);
    }
    ts_arena_release(&arena);
}

void tsd_metric_look(struct sto_store *store, struct ts_slice metric, struct tsd_metric_info *out)
{
    uint32_t id;
    *out = (struct tsd_metric_info){.kind = TSD_KIND_GAUGE};
    for (size_t i = 0; i < sizeof(known_counts) / sizeof(known_counts[0]); i++)
        if (ts_slice_is(metric, known_counts[i]))
            *out = (struct tsd_metric_info){.kind = TSD_KIND_COUNT, .source = TSD_KIND_BUILT_IN};
    out->known = sto_uid_find(sto_store_catalog(store), STO_UID_METRIC, metric, &id) == 0;
    if (out->known && tsd_uidmeta_any(store))
        kind_said(store, id, out);
}

/* The metric of a sub query, also if it names series by number; n == 0: there is none. What fails here fails in the query too. */
static struct ts_slice kind_metric(struct qry_view *view, const struct qry_sub *sub)
{
    const struct sto_series *s;
    if (sub->metric.n || !sub->n_tsuids || qry_ids_series(view, sub->tsuids[0], &s, NULL) < 0)
        return sub->metric;
    return qry_view_name(view, STO_UID_METRIC, s->metric); /* all of them have the same */
}

void tsd_kinds_apply(struct sto_store *store, struct qry_spec *spec, struct qry_limit *limit)
{
    struct qry_view view;
    qry_view_open(&view, store, limit);
    for (size_t i = 0; i < spec->n_subs && !spec->compat; i++) {
        struct qry_sub *sub = &spec->subs[i];
        struct ts_slice metric = kind_metric(&view, sub);
        struct tsd_metric_info info;
        if (!metric.n)
            continue;
        tsd_metric_look(store, metric, &info);
        memcpy(sub->unit, info.unit, sizeof(sub->unit));
        if (spec->by_on)
            continue;
        if (info.kind == TSD_KIND_COUNT && strcmp(sub->agg->name, "sum") == 0)
            sub->agg = qry_agg_find(TS_SLICE_LIT("zimsum"), false);
        if (info.kind == TSD_KIND_COUNTER && sub->rate.on && !sub->rate.counter)
            sub->rate.counter = sub->rate.drop_resets = true;
    }
    qry_view_close(&view);
}

int tsd_handle_metric(struct tsd_meta_req *a, struct ts_error *err)
{
    static const char *const sources[] = {
        [TSD_KIND_DEFAULT] = "default", [TSD_KIND_BUILT_IN] = "built in", [TSD_KIND_SET] = "set"};
    struct tsd_metric_info info;
    struct ts_slice metric;
    struct ts_json j;
    if (!tsd_meta_req_param(a, "metric", &metric) || !metric.n)
        return ts_error_set(err, TS_EINVAL, "Missing parameter: metric");
    tsd_metric_look(a->store, metric, &info);
    if (!info.known) {
        a->error_status = 404;
        ts_error_set(err, TS_ENOTFOUND, "no such name among metrics: %.*s", TS_SHOWN(metric, 120));
        struct qry_view view = qry_view_of(sto_store_catalog(a->store));
        qry_select_near(&view, STO_UID_METRIC, metric, NULL, err);
        return TS_ENOTFOUND;
    }
    tsd_meta_req_json(a, "", &j);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "metric", metric);
    ts_json_member_str(&j, "kind", kind_name(info.kind));
    ts_json_member_str(&j, "source", sources[info.source]);
    ts_json_member_str(&j, "unit", info.unit);
    ts_json_obj_end(&j);
    return tsd_meta_req_write(a, err);
}
