/*
 * table.c - all breakdowns.
 */
#include "query/breakdowns/breakdown.h"

#include "query/query.h"

#define ADDRESS(name) &qry_breakdown_##name,
static const struct qry_breakdown *const table[] = {QRY_BREAKDOWNS(ADDRESS) NULL};

const char *const *qry_breakdown_names(void)
{
#define NAME(name) #name,
    static const char *const names[] = {QRY_BREAKDOWNS(NAME) NULL};
    return names;
}

int qry_breakdown_add(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    int64_t n;
    enum ts_unit unit;
    for (size_t i = 0; table[i]; i++)
        if (ts_slice_is(key, table[i]->name))
            return table[i]->n ? qry_breakdown__interval(key, table[i]->n, table[i]->unit, spec, err)
                               : table[i]->add(key, spec, err);
    if (ts_duration_exact(key, &n, &unit, NULL, NULL) == 0) /* 10m */
        return qry_breakdown__interval(key, n, unit, spec, err);
    return qry_breakdown__tag(key, spec, err);
}

/* One cell over all time. */
static int one_cell(int64_t from_ms, int64_t to_ms, struct qry_cells *out, struct ts_error *err)
{
    out->end_ms = to_ms;
    TS_TRY(qry_cells__add(out, (struct qry_cell){.start_ms = from_ms, .local_ms = from_ms}, err));
    return qry_cells__stretch(out, from_ms, 0, err);
}

static int cut(const struct qry_spec *spec, int64_t from_ms, int64_t to_ms, struct qry_cells *out,
               struct ts_error *err)
{
    if (spec->by_time.n || spec->by_time.weekday || spec->by_time.hour_of_day)
        return qry_breakdown__cut_time(&spec->by_time, spec->tz, from_ms, to_ms, out, err);
    return one_cell(from_ms, to_ms, out, err);
}

int qry_breakdown_cut(const struct qry_spec *spec, int64_t from_ms, int64_t to_ms, struct qry_budget *budget,
                      struct qry_cells *out, struct ts_error *err)
{
    *out = (struct qry_cells){.budget = budget};
    int rc = cut(spec, from_ms, to_ms, out, err);
    if (rc < 0)
        qry_cells_release(out);
    return rc;
}
