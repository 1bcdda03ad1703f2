/*
 * tag.c - any tag key: a cell for each of its values.
 */
#include "query/breakdowns/breakdown.h"

#include "query/query.h"

int qry_breakdown__tag(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    for (size_t i = 0; i < spec->n_by_tags; i++)
        if (ts_slice_eq(spec->by_tags[i], key))
            return ts_error_set(err, TS_EINVAL, "Invalid breakdown, %.*s stands twice", (int)key.n, key.p);
    spec->by_tags[spec->n_by_tags++] = key;
    return 0;
}
