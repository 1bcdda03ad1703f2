/*
 * view_buckets.c - finds the buckets of histograms, and the rollups, that series have in the remote store, for a view.
 *
 * Names and series get ids in the order in which they are found, on which no answer depends: buckets are sorted by their bounds, and series have
 * the order of the visible ones.
 */
#include "query/view_int.h"

#include "storage/internal.h"

#define SERIES_AT_ONCE 256u /* visible series of one fetch */

struct adding {
    struct qry_view *view;
    struct qry_budget *budget;
    size_t step;
};

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct adding *a = arg;
    const struct sto_series *s;
    uint32_t metric;
    (void)pos;
    TS_TRY(qry_budget_step(a->budget, &a->step, err));
    if (!row->series.n_tags || row->series.n_tags > QRY_VIEW_MAX_TAGS)
        return 0;
    TS_TRY(qry_view__intern(a->view, STO_UID_METRIC, row->series.metric, &metric, err));
    return qry_view__series(a->view, &row->series, &s, err);
}

/* Names of n series, of arena's memory. metric: instead of their own, unless it is empty. */
static int name_all(struct adding *a, const struct sto_series *const *series, size_t n,
                    struct ts_slice metric, struct sto_remote_series *out, struct ts_arena *arena,
                    struct ts_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct sto_remote_tag *tags = qry_arena_zero(arena, series[i]->n_tags + 1u, sizeof *tags, err);
        if (!tags)
            return qry_memory_code(err);
        qry_view_names_of(a->view, series[i], tags, &out[i]);
        if (metric.n)
            out[i].metric = metric;
    }
    return 0;
}

/* buckets: names is the beginning of their names; otherwise it is the internal metric. */
static int fetch(struct adding *a, const struct qry_view_buckets *ask, size_t from, size_t n,
                 struct ts_slice names, bool buckets, struct ts_error *err)
{
    struct ts_arena arena;
    struct sto_remote *remote = a->view->remote;
    struct sto_remote_call call = qry_view_call(a->view);
    struct sto_fetch f = {.metric = names,
                          .n_series = n,
                          .from_ms = ask->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : ask->from_ms,
                          .to_ms = ask->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : ask->to_ms,
                          .series_only = true,
                          .all_buckets = buckets};
    if (f.from_ms > f.to_ms)
        return 0;
    ts_arena_init(&arena, 0);
    arena.budget = a->view->memory;
    struct sto_remote_series *list = qry_arena_zero(&arena, n, sizeof *list, err);
    struct ts_slice metric = buckets ? (struct ts_slice){NULL, 0} : names;
    int rc = list ? name_all(a, ask->series + from, n, metric, list, &arena, err) : qry_memory_code(err);
    f.series = list;
    if (rc == 0)
        rc = remote->ops->fetch(remote, &f, &call, on_row, a, err);
    ts_arena_release(&arena);
    return rc < 0 ? qry_view_failed(a->view, rc, err) : 0;
}

int qry_view_add_buckets(struct qry_view *view, const struct qry_view_buckets *ask, struct qry_budget *budget,
                         struct ts_error *err)
{
    struct adding a = {.view = view, .budget = budget};
    struct ts_buf names;
    int rc = 0;
    if (!ask->n_series || !qry_view_remote(view) || ask->useful_from_ms >= view->complete_from_ms)
        return 0;
    TS_TRY(qry_view__may_wait(err));
    ts_buf_init(&names, 0);
    sto_internal_buckets(ask->metric, &names);
    for (size_t i = 0, n; i < ask->n_series && rc == 0 && qry_view_remote(view); i += n) {
        n = ask->n_series - i < SERIES_AT_ONCE ? ask->n_series - i : SERIES_AT_ONCE;
        rc = fetch(&a, ask, i, n, ts_buf_get(&names), true, err);
    }
    ts_buf_release(&names);
    return rc;
}

int qry_view_add_rollups(struct qry_view *view, const struct qry_view_buckets *ask, struct qry_budget *budget,
                         struct ts_error *err)
{
    struct adding a = {.view = view, .budget = budget};
    if (!ask->n_series || !qry_view_remote(view) || ask->useful_from_ms >= view->complete_from_ms)
        return 0;
    TS_TRY(qry_view__may_wait(err));
    return fetch(&a, ask, 0, ask->n_series, ask->metric, false, err);
}
