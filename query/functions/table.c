/*
 * table.c - the table of functions, and what several of them need.
 */
#include "query/functions/function.h"

#include "base/near.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* The functions, sorted by name: each is a struct qry_function qry_function_<name> in a file of this folder. */
#define FUNCTIONS(ROW)                                                                                       \
    ROW(absolute)                                                                                            \
    ROW(alias)                                                                                               \
    ROW(diffSeries)                                                                                          \
    ROW(difference)                                                                                          \
    ROW(divide)                                                                                              \
    ROW(divideSeries)                                                                                        \
    ROW(highestCurrent)                                                                                      \
    ROW(highestMax)                                                                                          \
    ROW(movingAverage)                                                                                       \
    ROW(multiply)                                                                                            \
    ROW(multiplySeries)                                                                                      \
    ROW(scale)                                                                                               \
    ROW(shift)                                                                                               \
    ROW(sum)                                                                                                 \
    ROW(sumSeries)                                                                                           \
    ROW(timeShift)

#define DECLARE(name) extern const struct qry_function qry_function_##name;
#define ADDRESS(name) &qry_function_##name,
FUNCTIONS(DECLARE)
static const struct qry_function *const functions[] = {FUNCTIONS(ADDRESS) NULL};

const struct qry_function *qry_function_find(struct ts_slice name)
{
    for (size_t i = 0; functions[i]; i++)
        if (ts_slice_is(name, functions[i]->name))
            return functions[i];
    return NULL;
}

void qry_function_see_all(struct ts_near *near)
{
    for (size_t i = 0; functions[i]; i++)
        ts_near_see(near, ts_slice_str(functions[i]->name));
}

int qry_function__window(struct ts_slice word, int64_t *out_ms, struct ts_error *err)
{
    if (ts_duration_exact(word, NULL, NULL, out_ms, NULL) == 0 && *out_ms < (1ll << 31) * TS_DAY_MS)
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "Invalid window '%.*s': it is a duration as 30s, 10min, 1h, 2 days or 1week",
                        TS_SHOWN(word, 120));
}

int qry_function__count(const struct qry_function *f, struct ts_slice word, int64_t *out,
                        struct ts_error *err)
{
    if (ts_num_parse_int(word, out, NULL) == 0 && *out > 0)
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s: '%.*s' is no number from 1 on", f->name, TS_SHOWN(word, 120));
}

int qry_function__copy(struct qry_work *w, const struct qry_cols *from, struct qry_cols *out,
                       struct ts_error *err)
{
    *out = *from;
    TS_TRY(qry_work_take(w, from->n, sizeof *out->col, &out->col, err));
    if (from->n)
        memcpy(out->col, from->col, from->n * sizeof *out->col);
    out->cap = from->n;
    return 0;
}

int qry_function__map(struct qry_work *w, const struct qry_cols *from, qry_fn_values_fn make, void *arg,
                      struct qry_cols *out, struct ts_error *err)
{
    TS_TRY(qry_function__copy(w, from, out, err));
    for (size_t i = 0; i < out->n; i++) {
        uint64_t *v;
        TS_TRY(qry_work_take(w, out->col[i].n, sizeof *v, &v, err));
        make(arg, &out->col[i], v);
        out->col[i].v = v;
    }
    return 0;
}
