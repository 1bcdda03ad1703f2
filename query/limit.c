/*
 * limit.c - budgets of a run.
 */
#include "query/limit.h"

#include "base/xsum.h"

#include <string.h>

#define MOST_TRIES        4          /* of memory that the account has and the arena did not get */
#define ARENA_BLOCK_BYTES (1u << 20) /* the largest block an arena takes for small things */

void qry_stats_init(struct qry_stats *stats, size_t n, struct ts_arena *arena)
{
    *stats = (struct qry_stats){.n_subs = n};
    stats->subs = ts_arena_zalloc(arena, (n + 1) * sizeof *stats->subs);
}

const char *const qry_refusal_keys[QRY_REFUSALS] = {
    [QRY_REFUSAL_POINTS] = "query_max_points",     [QRY_REFUSAL_TIME] = "query_timeout_ms",
    [QRY_REFUSAL_SERIES] = "query_max_series",     [QRY_REFUSAL_READ_BYTES] = "query_max_read_bytes",
    [QRY_REFUSAL_CELLS] = "query_max_cells",       [QRY_REFUSAL_FILTERS] = "query_max_filters",
    [QRY_REFUSAL_REGEX] = "query_max_regex_steps", [QRY_REFUSAL_SUBS] = "query_max_subqueries"};

void qry_budget_init(struct qry_budget *b, struct qry_limit *limit)
{
    memset(b, 0, sizeof *b);
    b->limit = limit;
    if (!limit)
        return;
    if (!limit->memory) {
        ts_budget_init(&limit->own, "this query", "query_max_bytes", NULL, limit->max_bytes);
        limit->memory = &limit->own;
    }
    b->memory = limit->memory;
}

int qry_budget_fail(struct qry_budget *b, int rc, const struct ts_error *err)
{
    /* before stop: who sees that fails, too, and with less to say */
    bool first = !atomic_exchange_explicit(&b->taken, true, memory_order_acq_rel);
    atomic_store_explicit(&b->stop, rc, memory_order_release);
    if (first) {
        if (err && err->code)
            b->err = *err;
        else
            ts_error_set(&b->err, rc, "%s", ts_err_text(rc));
        atomic_store_explicit(&b->err_ready, true, memory_order_release); /* after the text */
    }
    return rc;
}

/* What cannot be refused (sums of numbers far apart, base/xsum.h) is found here: in the query's account and in those above it, but not
 * in the one at the top, which other things than queries fill. */
static int over_memory(const struct ts_budget *m, struct ts_error *err)
{
    const struct ts_budget *query = m;
    for (; m && (m == query || m->parent); m = m->parent) {
        uint64_t used = atomic_load_explicit(&m->used_bytes, memory_order_relaxed);
        if (m->limit_bytes && used > m->limit_bytes)
            return ts_error_set(err, TS_ELIMIT,
                                "Not enough memory for %s: %llu bytes are in use, more than %llu. Ask for "
                                "less, or raise %s",
                                m->name, (unsigned long long)used, (unsigned long long)m->limit_bytes,
                                m->key);
    }
    return 0;
}

bool qry_limit_late(struct qry_limit *l)
{
    if (!l->deadline_ns)
        return false;
    int64_t now = ts_clock_mono_ns();
    if (now <= l->deadline_ns)
        return false;
    int64_t left = l->cpu_deadline_ns ? l->cpu_deadline_ns - ts_clock_thread_ns() : 0;
    if (left <= 0)
        return true;
    l->deadline_ns = now + left;
    return false;
}

bool qry_limit_continue(struct qry_limit *l)
{
    unsigned was = QRY_COMPLETE;
    if (!l->allow_partial)
        return false;
    return atomic_compare_exchange_strong(&l->completeness, &was, QRY_INCOMPLETE) || was == QRY_INCOMPLETE;
}

bool qry_limit_incomplete(const struct qry_limit *l)
{
    return atomic_load(&l->completeness) == QRY_INCOMPLETE;
}

void qry_limit_commit(struct qry_limit *l)
{
    unsigned was = QRY_COMPLETE;
    (void)atomic_compare_exchange_strong(&l->completeness, &was, QRY_COMMITTED);
}

/* Why the run must end now, in err; 0: it need not. read: points so far. */
static int look(struct qry_budget *b, uint64_t read, struct ts_error *err)
{
    struct qry_limit *l = b->limit;
    uint64_t looks = atomic_fetch_add_explicit(&l->n_looks, 1, memory_order_relaxed) + 1;
    if (l->cancel_at_look && looks >= l->cancel_at_look)
        atomic_store_explicit(&l->cancelled, true, memory_order_relaxed);
    if (atomic_load_explicit(&l->cancelled, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "The query was cancelled after %llu points",
                            (unsigned long long)read);
    if (l->max_points && read > l->max_points) {
        qry_limit_refuse(l, QRY_REFUSAL_POINTS);
        return ts_error_set(
            err, TS_ELIMIT,
            "Sorry, you have attempted to fetch more than our limit of %llu data points. Please try "
            "filtering using more tags or decrease your time range. (query_max_points; %llu were read)",
            (unsigned long long)l->max_points, (unsigned long long)read);
    }
    if (qry_limit_late(l)) {
        qry_limit_refuse(l, QRY_REFUSAL_TIME);
        return ts_error_set(
            err, TS_ETIMEOUT,
            "The query ran out of time after %llu points; decrease your time range (query_timeout_ms)",
            (unsigned long long)read);
    }
    return over_memory(b->memory, err);
}

int qry_budget_points(struct qry_budget *b, uint64_t n)
{
    struct qry_limit *l = b->limit;
    int rc = atomic_load_explicit(&b->stop, memory_order_relaxed);
    struct ts_error err = {0};
    if (rc || !l)
        return rc;
    rc = look(b, atomic_fetch_add_explicit(&l->n_points, n, memory_order_relaxed) + n, &err);
    return rc ? qry_budget_fail(b, rc, &err) : 0;
}

int qry_budget_look(struct qry_budget *b, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = qry_budget_result(b, err);
    if (rc)
        return rc;
    if (!b->limit)
        return 0;
    rc = look(b, atomic_load_explicit(&b->limit->n_points, memory_order_relaxed), &why);
    if (rc && err)
        *err = why;
    return rc ? qry_budget_fail(b, rc, &why) : 0;
}

int qry_budget_scan(struct qry_budget *b, struct sto_snap *snap, const struct sto_scan_spec *spec,
                    struct ts_error *err)
{
    uint64_t points, bytes, max = b->limit ? b->limit->max_read_bytes : 0;
    if (!max || spec->from_ms > spec->to_ms || !spec->n_series)
        return 0;
    sto_scan_estimate(snap, spec, &points, &bytes);
    b->limit->n_read_bytes += bytes;
    if (b->limit->n_read_bytes <= max)
        return 0;
    qry_limit_refuse(b->limit, QRY_REFUSAL_READ_BYTES);
    return ts_error_set(
        err, TS_ELIMIT,
        "Sorry, you have attempted to fetch more than our maximum amount of %.2fMB from storage. Please "
        "try filtering using more tags or decrease your time range. (query_max_read_bytes; about %.2fMB)",
        (double)max / 1048576, (double)b->limit->n_read_bytes / 1048576);
}

int qry_budget_result(struct qry_budget *b, struct ts_error *err)
{
    int rc = atomic_load_explicit(&b->stop, memory_order_acquire);
    if (rc && atomic_load_explicit(&b->err_ready, memory_order_acquire)) {
        rc = b->err.code;
        if (err)
            *err = b->err;
    } else if (rc) {
        (void)ts_error_set(err, rc, "%s", ts_err_text(rc)); /* the text is being written */
    }
    return rc;
}

/* --- pieces --- */

/* What the threads of a pool work at. */
struct work {
    struct qry_budget *budget; /* of the run */
    qry_piece_fn piece;        /* what to do */
    void *arg;                 /* for it */
};

static void work_piece(void *arg, size_t i)
{
    const struct work *w = arg;
    struct ts_error err = {0};
    if (qry_budget_stopped(w->budget))
        return;
    struct ts_budget *before = ts_xsum_account(w->budget->memory);
    int rc = w->piece(w->arg, i, &err);
    (void)ts_xsum_account(before);
    if (rc < 0)
        qry_budget_fail(w->budget, rc, &err);
}

int qry_budget_each(struct qry_budget *b, struct ts_pool *pool, size_t n, qry_piece_fn piece, void *arg,
                    struct ts_error *err)
{
    struct work w = {b, piece, arg};
    ts_pool_each(pool, n, work_piece, &w);
    return qry_budget_result(b, err);
}

/* --- arenas --- */

void *qry_arena_take(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err)
{
    size_t sum;
    if (__builtin_mul_overflow(n, n_bytes, &sum))
        sum = SIZE_MAX;
    void *p = NULL;
    /* the arena says only no, perhaps to a whole block: the account says why, unless others have given back meanwhile */
    uint64_t most = sum < UINT64_MAX - ARENA_BLOCK_BYTES ? sum + ARENA_BLOCK_BYTES : sum;
    for (unsigned try = 0; !(p = ts_arena_try(arena, sum)) && ts_budget_take(arena->budget, most, err) == 0;
         try++) {
        ts_budget_give(arena->budget, most);
        if (try == MOST_TRIES) {
            (void)ts_error_set(err, TS_ENOMEM, "The system has no %zu bytes of memory left for a query", sum);
            break;
        }
    }
    return p;
}

void *qry_arena_zero(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err)
{
    void *p = qry_arena_take(arena, n, n_bytes, err);
    if (p)
        memset(p, 0, n * n_bytes);
    return p;
}
