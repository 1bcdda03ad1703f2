/*
 * series.c - tags of a series, by name.
 *
 * Threads    any
 */
#include "tsd/meta/series.h"

unsigned tsd_series_tags(const struct qry_view *view, const struct sto_series *s, struct sto_tag_text *out)
{
    for (unsigned i = 0; i < s->n_tags; i++)
        out[i] = (struct sto_tag_text){qry_view_name(view, STO_UID_TAGK, s->tags[i].k),
                                       qry_view_name(view, STO_UID_TAGV, s->tags[i].v)};
    return s->n_tags;
}

void tsd_series_members(const struct qry_view *view, const struct sto_series *s, struct ts_json *j)
{
    struct sto_tag_text tags[TSD_SERIES_MAX_TAGS];
    unsigned n = tsd_series_tags(view, s, tags);
    ts_json_member_slice(j, "metric", qry_view_name(view, STO_UID_METRIC, s->metric));
    ts_json_member_obj(j, "tags");
    for (unsigned i = 0; i < n; i++)
        ts_json_member_slices(j, tags[i].k, tags[i].v);
    ts_json_obj_end(j);
}
