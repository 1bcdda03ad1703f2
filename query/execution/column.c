/*
 * column.c - names of columns from metric, aggregator and filters, as short as possible while they differ.
 *
 * Threads    see column.h
 */
#include "query/execution/column.h"

#include "query/aggregators/agg.h"
#include "query/filters/filter.h"

#include <stdio.h>
#include <string.h>

struct ts_slice qry_column_join(struct ts_arena *arena, struct ts_slice a, const char *sep, struct ts_slice b)
{
    struct ts_buf buf;
    ts_buf_init(&buf, 0);
    ts_buf_slice(&buf, a);
    ts_buf_str(&buf, sep);
    ts_buf_slice(&buf, b);
    struct ts_slice s = {ts_arena_strndup(arena, buf.p, buf.n), buf.n};
    ts_buf_release(&buf);
    return s;
}

static bool same_filters(const struct qry_sub *a, const struct qry_sub *b)
{
    bool same = a->n_filters == b->n_filters;
    for (size_t i = 0; i < a->n_filters && same; i++)
        same = ts_slice_eq(a->filters[i].tagk, b->filters[i].tagk) &&
               ts_slice_eq(a->filters[i].text, b->filters[i].text) &&
               a->filters[i].type == b->filters[i].type;
    return same;
}

/* "{host=web*,status=404}"; nothing without filters. */
static struct ts_slice filters_text(struct ts_arena *arena, const struct qry_sub *sub)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        ts_buf_printf(&b, "%s%.*s=", i ? "," : "{", (int)f->tagk.n, f->tagk.p);
        bool plain = f->shorthand || strcmp(f->type->name, "literal_or") == 0;
        ts_buf_printf(&b, plain ? "%s%.*s" : "%s(%.*s)", plain ? "" : f->type->name, (int)f->text.n,
                      f->text.p);
    }
    ts_buf_str(&b, sub->n_filters ? "}" : "");
    struct ts_slice s = {ts_arena_strndup(arena, b.p ? b.p : "", b.n), b.n};
    ts_buf_release(&b);
    return s;
}

/* Do columns have different filters? */
static bool filters_differ(const struct qry_spec *spec)
{
    for (size_t i = 1; i < spec->n_subs; i++)
        if (!same_filters(&spec->subs[0], &spec->subs[i]))
            return true;
    return false;
}

struct ts_slice qry_column_name(const struct qry_spec *spec, size_t sub, struct ts_arena *arena)
{
    struct ts_slice name = spec->subs[sub].metric.n ? spec->subs[sub].metric : TS_SLICE_LIT("value");
    const char *agg = spec->subs[sub].agg->name;
    size_t same = 0, before = 0;
    for (size_t i = 0; i < spec->n_subs; i++) {
        if (!ts_slice_eq(spec->subs[i].metric, spec->subs[sub].metric))
            continue;
        same++;
        before += i < sub && strcmp(spec->subs[i].agg->name, agg) == 0 &&
                  same_filters(&spec->subs[i], &spec->subs[sub]);
    }
    if (same > 1)
        name = qry_column_join(arena, ts_slice_str(agg), " ", name);
    if (filters_differ(spec))
        name = qry_column_join(arena, name, "", filters_text(arena, &spec->subs[sub]));
    if (!before)
        return name;
    char number_text[32];
    int n = snprintf(number_text, sizeof number_text, "%zu", before + 1);
    return qry_column_join(arena, name, " ", (struct ts_slice){number_text, (size_t)n});
}
