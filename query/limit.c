/*
 * limit.c - budgets of a run.
 */
#include "query/limit.h"

#include <string.h>

void qry_stats_init(struct qry_stats *stats, size_t n, struct ts_arena *arena)
{
    *stats = (struct qry_stats){.n_subs = n};
    stats->subs = ts_arena_zalloc(arena, (n + 1) * sizeof *stats->subs);
}

void qry_budget_init(struct qry_budget *b, struct qry_limit *limit)
{
    memset(b, 0, sizeof *b);
    b->limit = limit;
}

int qry_budget_fail(struct qry_budget *b, int rc, const struct ts_error *err)
{
    if (!atomic_exchange_explicit(&b->taken, true, memory_order_acq_rel)) {
        if (err && err->code)
            b->err = *err;
        else
            ts_error_set(&b->err, rc, "%s", ts_err_text(rc));
        /* relaxed is enough for the flag: the text is read after the pieces were joined */
        atomic_store_explicit(&b->stop, rc, memory_order_relaxed);
    }
    return rc;
}

int qry_budget_points(struct qry_budget *b, uint64_t n)
{
    struct qry_limit *l = b->limit;
    int rc = atomic_load_explicit(&b->stop, memory_order_relaxed);
    struct ts_error err = {0};
    if (rc || !l)
        return rc;
    uint64_t read = atomic_fetch_add_explicit(&l->n_points, n, memory_order_relaxed) + n;
    if (atomic_load_explicit(&l->cancelled, memory_order_relaxed))
        rc = ts_error_set(&err, TS_ECANCELLED, "The query was cancelled after %llu points",
                          (unsigned long long)read);
    else if (l->max_points && read > l->max_points)
        rc = ts_error_set(
            &err, TS_ELIMIT,
            "Sorry, you have attempted to fetch more than our limit of %llu data points. Please try "
            "filtering using more tags or decrease your time range. (query_max_points; %llu were read)",
            (unsigned long long)l->max_points, (unsigned long long)read);
    else if (l->deadline_ns && ts_clock_mono_ns() > l->deadline_ns)
        rc = ts_error_set(
            &err, TS_ETIMEOUT,
            "The query ran out of time after %llu points; decrease your time range (query_timeout_ms)",
            (unsigned long long)read);
    return rc ? qry_budget_fail(b, rc, &err) : 0;
}

int qry_budget_scan(struct qry_budget *b, struct sto_snap *snap, const struct sto_scan_spec *spec,
                    struct ts_error *err)
{
    uint64_t points, bytes, max = b->limit ? b->limit->max_read_bytes : 0;
    if (!max || spec->from_ms > spec->to_ms || !spec->n_series)
        return 0;
    sto_scan_estimate(snap, spec, &points, &bytes);
    b->n_read_bytes += bytes;
    if (b->n_read_bytes <= max)
        return 0;
    return ts_error_set(
        err, TS_ELIMIT,
        "Sorry, you have attempted to fetch more than our maximum amount of %.2fMB from storage. Please "
        "try filtering using more tags or decrease your time range. (query_max_read_bytes; about %.2fMB)",
        (double)max / 1048576, (double)b->n_read_bytes / 1048576);
}

int qry_budget_bytes(struct qry_budget *b, uint64_t n)
{
    struct qry_limit *l = b->limit;
    int rc = atomic_load_explicit(&b->stop, memory_order_relaxed);
    if (rc || !l || !l->max_bytes)
        return rc;
    uint64_t used = atomic_fetch_add_explicit(&b->n_bytes, n, memory_order_relaxed) + n;
    if (used <= l->max_bytes)
        return 0;
    struct ts_error err = {0};
    rc = ts_error_set(
        &err, TS_ELIMIT,
        "Sorry, the query needs more than our limit of %llu bytes of memory after %llu points. Please "
        "try filtering using more tags or decrease your time range. (query_max_bytes)",
        (unsigned long long)l->max_bytes,
        (unsigned long long)atomic_load_explicit(&l->n_points, memory_order_relaxed));
    return qry_budget_fail(b, rc, &err);
}

int qry_budget_result(struct qry_budget *b, struct ts_error *err)
{
    int rc = atomic_load_explicit(&b->stop, memory_order_relaxed);
    if (rc && err)
        *err = b->err;
    return rc;
}
