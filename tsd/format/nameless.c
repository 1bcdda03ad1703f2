/*
 * nameless.c - compat = opentsdb: the empty outputs of explicitTags.
 *
 * OpenTSDB makes a group of each combination of values that the filters let through, and puts the series with other
 * keys out of it afterwards. A group that has no other series stays: without metric, tags and points.
 *
 * Threads    see out.h
 * Source     the recorded answer hits-011 (tests/golden/opentsdb)
 */
#include "tsd/format/out.h"

#include "query/filters/filter.h"
#include "query/execution/histogram.h"

static bool nameless_may_be(const struct qry_spec *spec, const struct qry_sub *sub)
{
    if (!spec->compat || spec->del || spec->top.n || !sub->explicit_tags || sub->none || sub->n_tsuids ||
        qry_sub_is_histogram(sub))
        return false;
    for (size_t i = 0; i < sub->n_filters; i++)
        if (sub->filters[i].group_by)
            return true;
    return false;
}

static int nameless_count(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)s, (void)err;
    ++*(size_t *)arg;
    return 0;
}

int tsd_out_nameless(struct tsd_out *o, size_t sub, size_t n_shown, struct sto_store *store,
                     struct ts_pool *pool, struct qry_limit *limit, struct ts_error *err)
{
    size_t n = 0;
    if (o->format != &tsd_out_json || !nameless_may_be(o->spec, &o->spec->subs[sub]))
        return 0;
    /* the groups with and without the series put out: those with one that stays are in both */
    struct qry_sub all = o->spec->subs[sub];
    struct qry_spec spec = *o->spec;
    all.explicit_tags = false;
    spec.subs = &all;
    spec.n_subs = 1;
    TS_TRY(qry_run(store, pool, &spec, limit, nameless_count, &n, err));
    struct qry_series empty = {.sub = sub, .metric = TS_SLICE_LIT("")};
    for (; n > n_shown; n--)
        TS_TRY(tsd_out_series(o, &empty, err));
    return 0;
}
