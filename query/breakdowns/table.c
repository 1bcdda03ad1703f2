/*
 * table.c - all breakdowns.
 */
#include "query/breakdowns/breakdown.h"

#include "query/query.h"

static const struct qry_breakdown *const table[] = {&qry_breakdown_minute,
                                                    &qry_breakdown_hour,
                                                    &qry_breakdown_day,
                                                    &qry_breakdown_week,
                                                    &qry_breakdown_month,
                                                    &qry_breakdown_quarter,
                                                    &qry_breakdown_year,
                                                    &qry_breakdown_hour_of_day,
                                                    &qry_breakdown_weekday,
                                                    &qry_breakdown_tag,
                                                    NULL};

const char *const *qry_breakdown_names(void)
{
    static const char *const names[] = {"minute",  "hour", "day",       "week",    "month",
                                        "quarter", "year", "hourofday", "weekday", NULL};
    return names;
}

int qry_breakdown_add(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    size_t i = 0;
    while (table[i]->name && !ts_slice_is(key, table[i]->name))
        i++;
    if (!table[i]->name) {
        int rc = qry_breakdown__interval(key, spec, err);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return table[i]->add(key, spec, err);
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
