/*
 * table.c - all breakdowns.
 */
#include "query/breakdowns/breakdown.h"

#include "query/query.h"

static const struct qry_breakdown *const table[] = {&qry_breakdown_day, &qry_breakdown_hour,
                                                    &qry_breakdown_tag, NULL};

const struct qry_breakdown *const *qry_breakdown_table(void)
{
    return table;
}

int qry_breakdown_add(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    size_t i = 0;
    while (table[i]->name && !ts_slice_is(key, table[i]->name))
        i++;
    return table[i]->add(key, spec, err);
}

/* One cell over all time. */
static void one_cell(int64_t from_ms, int64_t to_ms, struct qry_cells *out)
{
    *out = (struct qry_cells){.n = 1, .cap = 1, .n_stretches = 1, .cap_stretches = 1, .end_ms = to_ms};
    out->cell = ts_xcalloc(1, sizeof *out->cell);
    out->stretch = ts_xcalloc(1, sizeof *out->stretch);
    out->cell->start_ms = out->cell->local_ms = out->stretch->start_ms = from_ms;
}

int qry_breakdown_cut(const struct qry_spec *spec, int64_t from_ms, int64_t to_ms, struct qry_cells *out,
                      struct ts_error *err)
{
    if (spec->by_hour) /* its cells carry the date too */
        return qry_breakdown_hour.cut(spec->tz, from_ms, to_ms, out, err);
    if (spec->by_day)
        return qry_breakdown_day.cut(spec->tz, from_ms, to_ms, out, err);
    one_cell(from_ms, to_ms, out);
    return 0;
}
