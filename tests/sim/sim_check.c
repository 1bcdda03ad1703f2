/*
 * sim_check.c - what the store answers against the plain model: points, summaries, order; which operations
 * survived.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tests/model/days.h"

/* Points of one series, as the store has them. */
struct answer {
    struct t_ref_point *v; /* owned */
    size_t n, cap;
};

static void answer_add(struct answer *a, const struct sto_row *row)
{
    size_t n = a->n + row->cells->n;
    if (n > a->cap)
        a->v = ts_xrealloc(a->v, (a->cap = n * 2) * sizeof *a->v);
    for (uint32_t i = 0; i < row->cells->n; i++)
        a->v[a->n++] =
            (struct t_ref_point){.ts_ms = row->key.hour * TS_HOUR_MS + sto_meta_off(row->cells->meta[i]),
                                 .value = sto_cell_num(row->cells->meta[i], row->cells->m[i]),
                                 .ms = (row->cells->meta[i] & STO_META_MS) != 0};
}

/* With a remote store: may a point have this value though the model says something else? What retention drops here before it was shipped
 * uncovers what was shipped before; and what was lost in a crash may have been shipped. */
static bool is_excused(const struct sim *s, unsigned i, const struct t_ref_point *p)
{
    const struct sim_remote *r = &s->remote;
    if ((r->store || s->aged.lost) && p->ts_ms < s->horizon_ms)
        return true;
    /* it had expired when a crash may have lost its delete, and a rule shows it again: sim_check_aged knows whether it may be there */
    if (s->aged.days && p->ts_ms < s->aged.to_ms[i])
        return true;
    for (size_t k = r->lost_from; r->lost && k < r->lost->arrived.n; k++) {
        const struct sto_point *op = &r->lost->arrived.v[k].p;
        struct ts_num v = {.m = op->m, .kind = sto_meta_kind(op->flags), .exp = sto_meta_exp(op->flags)};
        if (op->series->id == i && op->ts_ms == p->ts_ms && sto_meta_op(op->flags) == STO_OP_PUT &&
            t_ref_same(v, p->value))
            return true;
    }
    return false;
}

/* Model and store side by side: nothing expired is there, and a point that retention may have dropped before it was
 * switched off may be missing. why gets the first difference. */
static bool same(struct sim *s, unsigned i, const struct answer *a, int64_t from, int64_t to, char why[200])
{
    struct t_ref_point *want;
    from = from < sim_expired_ms(s) ? sim_expired_ms(s) : from;
    size_t n = t_ref_scan(s->ref, i, from, to, &want), k = 0, j = 0;
    bool good = true;
    while (good && (k < n || j < a->n)) {
        if (k < n && (j == a->n || a->v[j].ts_ms > want[k].ts_ms)) {
            if (want[k].ts_ms >= s->horizon_ms) {
                good = false;
                snprintf(why, 200, "series %u: no point at %lld, expected %lld (%zu of %zu)", i,
                         (long long)want[k].ts_ms, (long long)want[k].value.m, j, n);
            }
            k++;
        } else if (k == n || a->v[j].ts_ms < want[k].ts_ms) {
            good = is_excused(s, i, &a->v[j]);
            snprintf(why, 200, "series %u: a point at %lld = %lld that nobody wrote", i,
                     (long long)a->v[j].ts_ms, (long long)a->v[j].value.m);
            j++;
        } else {
            good = (t_ref_same(want[k].value, a->v[j].value) && want[k].ms == a->v[j].ms) ||
                   is_excused(s, i, &a->v[j]);
            if (!good)
                snprintf(why, 200, "series %u: at %lld is %lld, expected %lld", i, (long long)want[k].ts_ms,
                         (long long)a->v[j].value.m, (long long)want[k].value.m);
            k++;
            j++;
        }
    }
    ts_free(want);
    return good;
}

/* The model takes over what is excused. */
static void believe(struct sim *s, unsigned i, const struct answer *a)
{
    struct t_ref_point *want;
    size_t n = t_ref_scan(s->ref, i, STO_MIN_TS_MS, STO_MAX_TS_MS, &want), k = 0;
    for (size_t j = 0; j < a->n; j++) {
        const struct t_ref_point *p = &a->v[j];
        while (k < n && want[k].ts_ms < p->ts_ms)
            k++;
        if ((k < n && want[k].ts_ms == p->ts_ms && t_ref_same(want[k].value, p->value) &&
             want[k].ms == p->ms) ||
            !is_excused(s, i, p))
            continue;
        struct sto_point put = {.series = &s->handles[i],
                                .ts_ms = p->ts_ms,
                                .m = p->value.m,
                                .flags = sto_meta_flags(STO_OP_PUT, p->value.kind, p->value.exp, p->ms)};
        t_ref_apply(s->ref, &put);
    }
    ts_free(want);
}

/* Retention has dropped points: from now on they are deleted. */
static void adopt(struct sim *s, unsigned i, const struct answer *a)
{
    struct t_ref_point *want;
    size_t n = t_ref_scan(s->ref, i, STO_MIN_TS_MS, s->horizon_ms - 1, &want), j = 0;
    for (size_t k = 0; k < n; k++) {
        while (j < a->n && a->v[j].ts_ms < want[k].ts_ms)
            j++;
        if (j < a->n && a->v[j].ts_ms == want[k].ts_ms)
            continue;
        struct sto_point del = {.series = &s->handles[i],
                                .ts_ms = want[k].ts_ms,
                                .m = want[k].ts_ms,
                                .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, true)};
        t_ref_apply(s->ref, &del);
    }
    ts_free(want);
    if (s->remote.store)
        believe(s, i, a);
}

/* --- asking the store --- */

static int cmp_id(const void *a, const void *b)
{
    const struct sto_series *x = *(const struct sto_series *const *)a,
                            *y = *(const struct sto_series *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static unsigned series_of(const struct sim *s, const struct sto_series *h)
{
    for (unsigned i = 0; i < s->n_series; i++)
        if (s->series[i].h == h)
            return i;
    return 0;
}

/* All series of one metric in the store, ordered as a scan wants them. */
static size_t of_metric(struct sim *s, uint64_t mask, int metric, const struct sto_series **out)
{
    size_t n = 0;
    for (unsigned i = 0; i < s->n_series; i++)
        if (mask >> i & 1 && s->series[i].metric == metric && sim_resolve(s, i, false))
            out[n++] = s->series[i].h;
    if (n)
        qsort(out, n, sizeof(*out), cmp_id);
    return n;
}

/* One scan; false if it ended in an error that a fault explains. */
static bool ask_metric(struct sim *s, struct sto_snap *snap, const struct sto_series *const *list, size_t n,
                       int64_t from, int64_t to, struct answer *out)
{
    struct sto_scan_spec spec = {.metric = list[0]->metric,
                                 .series = list,
                                 .n_series = n,
                                 .from_ms = from,
                                 .to_ms = to,
                                 .final = true};
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    struct sto_key last = {0};
    int rc = sto_scan(snap, &spec, &scan, &err);
    for (bool first = true; rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1; first = false) {
        if (!first && sto_key_cmp(&last, &row.key) >= 0)
            sim_fail(s, "rows of a scan are out of order");
        if (list[row.pos]->id != row.key.series || !row.cells->n)
            sim_fail(s, "a row says it is of series %u, its key says %u", list[row.pos]->id, row.key.series);
        last = row.key;
        answer_add(&out[series_of(s, list[row.pos])], &row);
    }
    sto_merge_free(scan);
    if (rc >= 0 && s->remote.away)
        sim_fail(s, "a scan ends well although the remote store is away");
    return sim_ok(s, rc, &err, "a scan");
}

/* Points of the series in mask, by index. */
static bool ask(struct sim *s, uint64_t mask, int64_t from, int64_t to, struct answer out[SIM_SERIES])
{
    const struct sto_series *list[SIM_SERIES];
    sim_quota_see(s);
    struct sto_snap *snap = sto_snap_take(s->st);
    bool good = true;
    memset(out, 0, SIM_SERIES * sizeof *out);
    for (unsigned m = 0; m < s->n_names[STO_UID_METRIC] && good; m++) {
        size_t n = of_metric(s, mask, (int)m, list);
        if (n)
            good = ask_metric(s, snap, list, n, from, to, out);
    }
    sto_snap_release(snap);
    int64_t lo = from < sim_expired_ms(s) ? sim_expired_ms(s) : from;
    for (unsigned i = 0; s->remote.store && i < s->n_series && good; i++)
        if (mask >> i & 1)
            out[i].n = sim_remote_others(s, i, out[i].v, out[i].n, s->series[i].h ? lo : INT64_MAX, to);
    return good;
}

static void answers_release(struct answer a[SIM_SERIES])
{
    for (unsigned i = 0; i < SIM_SERIES; i++)
        ts_free(a[i].v);
}

uint64_t sim_fingerprint(struct sim *s)
{
    struct answer is[SIM_SERIES];
    uint64_t h = 0;
    if (ask(s, UINT64_MAX, STO_MIN_TS_MS, STO_MAX_TS_MS, is))
        for (unsigned i = 0; i < s->n_series; i++)
            for (size_t k = 0; k < is[i].n; k++)
                h = ts_hash_u64(h + i) ^
                    ts_hash_u64((uint64_t)is[i].v[k].ts_ms * 31 + (uint64_t)is[i].v[k].value.m);
    answers_release(is);
    return h;
}

/* --- summaries --- */

/* The summary of these points, counted plainly. */
static void check_summary(struct sim *s, unsigned i, const struct sto_row *row, const struct t_ref_point *p,
                          size_t n)
{
    if (!t_ref_sums_up(row->sum, row->key.hour * TS_HOUR_MS, p, n))
        sim_fail(s,
                 "series %u, %d hours from hour %d: the summary says %u points, there are %zu, or its "
                 "numbers are others",
                 i, row->n_hours, row->key.hour, row->sum->n, n);
    s->n_summaries++;
    s->n_days += row->n_hours > 1;
}

/* Some hours of a series, each answered by its summary where there is one. */
static void check_hours(struct sim *s, unsigned i, int64_t from, int64_t to)
{
    const struct sto_series *h = sim_resolve(s, i, false);
    sim_quota_see(s);
    if (!h || from < s->horizon_ms || from < sim_expired_ms(s))
        return;
    uint8_t *whole = ts_xmalloc((size_t)((to - from) / TS_HOUR_MS + 2));
    memset(whole, 1, (size_t)((to - from) / TS_HOUR_MS + 2));
    uint8_t *days = from <= to && from >= STO_MIN_TS_MS && to <= STO_MAX_TS_MS ? t_days_of(from, to) : NULL;
    struct sto_scan_spec spec = {.metric = h->metric,
                                 .series = &h,
                                 .n_series = 1,
                                 .from_ms = from,
                                 .to_ms = to,
                                 .whole_hours = whole,
                                 .days = days,
                                 .final = true};
    struct t_ref_point *want;
    size_t n = t_ref_scan(s->ref, i, from, to, &want), k = 0;
    struct sto_snap *snap = sto_snap_take(s->st);
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1) {
        size_t end = k;
        while (end < n && sto_hour(want[end].ts_ms) >= row.key.hour &&
               sto_hour(want[end].ts_ms) < row.key.hour + row.n_hours)
            end++;
        struct answer a = {0};
        char why[200] = "";
        if (!row.sum)
            answer_add(&a, &row);
        if (s->remote.store)
            a.n = sim_remote_others(s, i, a.v, a.n, INT64_MAX, INT64_MIN);
        if (end == k && !row.sum && a.n == 0 && s->remote.store) {
            ts_free(a.v);
            continue;
        }
        if (end == k)
            sim_fail(s, "series %u: a row of hour %d that nobody wrote", i, row.key.hour);
        if (row.sum)
            check_summary(s, i, &row, want + k, end - k);
        if (!row.sum && !same(s, i, &a, want[k].ts_ms, want[end - 1].ts_ms, why))
            sim_fail(s, "beside summaries: %s", why);
        ts_free(a.v);
        k = end;
    }
    if (sim_ok(s, rc, &err, "a scan of summaries") && k != n)
        sim_fail(s, "series %u: %zu points in rows, expected %zu", i, k, n);
    sto_merge_free(scan);
    sto_snap_release(snap);
    ts_free(want);
    ts_free(whole);
    ts_free(days);
}

/* --- the remote store --- */

static int add_remote_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    const struct sto_row r = {.key = {.hour = row->hour}, .cells = row->cells};
    (void)pos, (void)err;
    answer_add(arg, &r);
    return 0;
}

/* Those of the points that are compared: nobody sees which of the expired ones were lost in a crash. */
static size_t compared(const struct sim *s, struct t_ref_point *v, size_t n, int32_t open_hour)
{
    size_t left = 0;
    for (size_t k = 0; k < n; k++)
        if (v[k].ts_ms >= s->horizon_ms && v[k].ts_ms >= sim_expired_ms(s) &&
            sto_hour(v[k].ts_ms) < open_hour)
            v[left++] = v[k];
    return left;
}

static void check_remote_series(struct sim *s, unsigned i, int32_t open_hour)
{
    struct answer a = {0};
    struct t_ref_point *want;
    size_t n = t_ref_scan(s->ref, i, STO_MIN_TS_MS, STO_MAX_TS_MS, &want), k = 0;
    sim_remote_read(s, i, add_remote_row, &a);
    a.n = compared(s, a.v, sim_remote_others(s, i, a.v, a.n, STO_MIN_TS_MS, STO_MAX_TS_MS), open_hour);
    n = compared(s, want, n, open_hour);
    for (size_t j = 0; j < a.n || k < n;) {
        bool same = j < a.n && k < n && a.v[j].ts_ms == want[k].ts_ms;
        if (j < a.n && (k == n || a.v[j].ts_ms < want[k].ts_ms))
            sim_fail(s, "the remote store has a point of series %u at %lld = %lld that nobody wrote", i,
                     (long long)a.v[j].ts_ms, (long long)a.v[j].value.m);
        if (!same)
            sim_fail(s, "the remote store has no point of series %u at %lld, expected %lld", i,
                     (long long)want[k].ts_ms, (long long)want[k].value.m);
        if (same && (!t_ref_same(want[k].value, a.v[j].value) || want[k].ms != a.v[j].ms))
            sim_fail(s, "in the remote store series %u is %lld at %lld, expected %lld", i,
                     (long long)a.v[j].value.m, (long long)want[k].ts_ms, (long long)want[k].value.m);
        j += same;
        k++;
    }
    ts_free(a.v);
    ts_free(want);
}

void sim_check_remote(struct sim *s, int32_t open_hour)
{
    for (unsigned i = 0; i < s->n_series; i++) {
        struct sim_remote_names names;
        sim_remote_names(s, i, &names);
        if (strcmp(names.metric, s->remote.refused) != 0)
            check_remote_series(s, i, open_hour);
    }
}

/* --- whole checks --- */

void sim_check(struct sim *s, bool full)
{
    struct answer is[SIM_SERIES];
    int64_t from = STO_MIN_TS_MS, to = STO_MAX_TS_MS;
    uint64_t mask = full ? UINT64_MAX : sim_rnd(s, UINT64_MAX);
    if (!full && sim_chance(s, 50)) {
        from = s->now_ms - (int64_t)sim_rnd(s, 50) * TS_HOUR_MS + (int64_t)sim_rnd(s, 2) * 1234567;
        to = from + (int64_t)sim_rnd(s, 50) * TS_HOUR_MS;
    }
    s->n_checks++;
    if (ask(s, mask, from, to, is))
        for (unsigned i = 0; i < s->n_series; i++) {
            char why[200] = "";
            s->n_points += is[i].n;
            if (!(mask >> i & 1))
                continue;
            if (!same(s, i, &is[i], from, to, why))
                sim_fail(s, "%s", why);
            if (s->horizon_ms > STO_MIN_TS_MS && !s->opts.retention_ms && from == STO_MIN_TS_MS)
                adopt(s, i, &is[i]);
        }
    answers_release(is);
    int64_t hour = sto_hour(s->now_ms) * TS_HOUR_MS;
    for (unsigned i = 0; i < s->n_series; i++)
        if (mask >> i & 1)
            check_hours(s, i, hour - (s->n_checks % 3 ? 60 : 500) * TS_HOUR_MS, hour + 3 * TS_HOUR_MS - 1);
    sim_check_totals(s);
    sim_check_aged(s);
}

/* A bit of a sorted file is another while this is asked: each answer is an error or right. */
static void ask_damaged(struct sim *s)
{
    int64_t hour = sto_hour(s->now_ms) * TS_HOUR_MS;
    for (unsigned i = 0; i < s->n_series; i++) {
        struct answer is[SIM_SERIES];
        char why[200] = "";
        bool good = ask(s, 1ull << i, STO_MIN_TS_MS, STO_MAX_TS_MS, is);
        if (good && !same(s, i, &is[i], STO_MIN_TS_MS, STO_MAX_TS_MS, why))
            sim_fail(s, "a bit was damaged: %s", why);
        answers_release(is);
        check_hours(s, i, hour - 60 * TS_HOUR_MS, hour + 3 * TS_HOUR_MS - 1);
    }
    sim_check_totals(s);
}

void sim_check_damage(struct sim *s)
{
    char path[64];
    size_t n_files = t_faultfs_count(s->f), n = 0;
    const char *found = n_files ? t_faultfs_path(s->f, sim_rnd(s, n_files)) : NULL;
    if (!found || !strstr(found, "/files/"))
        return;
    snprintf(path, sizeof path, "%s", found);
    ts_free(t_faultfs_get(s->f, path, &n));
    s->faulty = true;
    for (unsigned k = 0; n && k < 6; k++) {
        uint64_t off = sim_rnd(s, n);
        uint8_t bit = (uint8_t)(1u << sim_rnd(s, 8));
        sim_say(s, "damaged: %s at %llu", path, (unsigned long long)off);
        t_faultfs_flip(s->f, path, off, bit);
        ask_damaged(s);
        t_faultfs_flip(s->f, path, off, bit);
    }
    s->faulty = s->broken = false;
}

/* The longest front part of what arrived at an owner that the store has; everything after it is taken out of
 * the model. Returns its length. */
static size_t find_front(struct sim *s, struct sim_owner *o, size_t floor, const char *when)
{
    struct answer is[SIM_SERIES];
    char why[200] = "", first[200];
    uint64_t mask = 0, bad = 0;
    for (size_t k = 0; k < o->arrived.n; k++)
        mask |= 1ull << o->arrived.v[k].p.series->id;
    if (!ask(s, mask, STO_MIN_TS_MS, STO_MAX_TS_MS, is)) {
        answers_release(is);
        return o->arrived.n;
    }
    for (unsigned i = 0; i < s->n_series; i++)
        if (mask >> i & 1 && !same(s, i, &is[i], STO_MIN_TS_MS, STO_MAX_TS_MS, why))
            bad |= 1ull << i;
    size_t k = o->arrived.n;
    memcpy(first, why, sizeof first);
    while (bad) {
        if (k == floor)
            sim_fail(
                s,
                "%s: owner %d has not what was confirmed (%zu of %zu operations): %s; with all of them: %s",
                when, (int)(o - s->owners), floor, o->arrived.n, why, first);
        const struct sim_op *op = &o->arrived.v[--k];
        s->remote.lost_from = k;
        unsigned i = op->p.series->id;
        if (!op->is_nothing)
            t_ref_undo(s->ref, i, op->seq);
        bad &= ~(1ull << i);
        if (!same(s, i, &is[i], STO_MIN_TS_MS, STO_MAX_TS_MS, why))
            bad |= 1ull << i;
    }
    for (unsigned i = 0; s->remote.lost && i < s->n_series; i++)
        if (mask >> i & 1)
            believe(s, i, &is[i]);
    answers_release(is);
    return k;
}

void sim_check_front(struct sim *s)
{
    for (unsigned k = 0; k < s->opts.n_writers; k++) {
        struct sim_owner *o = &s->owners[k];
        size_t n = find_front(s, o, o->n_seen, "while something fails");
        for (size_t j = n; j < o->arrived.n; j++) { /* they may yet come */
            struct sim_op *op = &o->arrived.v[j];
            op->seq = t_ref_next(s->ref);
            if (!op->is_nothing)
                t_ref_apply(s->ref, &op->p);
        }
    }
}

void sim_check_survivors(struct sim *s, bool power, const char *when)
{
    sim_arrive_all(s); /* may have been taken from the queue; nobody knows */
    sim_check_names(s, when);
    sim_bulk_survivors(s);
    for (unsigned i = 0; s->remote.store && i < s->n_series; i++)
        (void)sim_resolve(s, i, true); /* what was lost here may be in the remote store */
    for (unsigned k = 0; k < s->remote.n_others; k++)
        s->remote.others[k].must_go = false; /* the delete may be lost */
    for (unsigned k = 0; k < SIM_WRITERS; k++) {
        struct sim_owner *o = &s->owners[k];
        s->remote.lost = s->remote.store && !s->remote.careful ? o : NULL;
        s->remote.lost_from = o->arrived.n;
        size_t n = find_front(s, o, power ? o->n_disk : o->n_seen, when);
        s->remote.lost = NULL;
        s->n_lost += o->arrived.n - n;
        for (size_t j = 0; j < n; j++)
            if (o->arrived.v[j].part.client && !o->arrived.v[j].is_nothing)
                sim_once_survived(s, &o->arrived.v[j].part);
        o->arrived.n = o->n_seen = o->n_disk = 0;
    }
    sim_once_opened(s);
    sim_check(s, true);
    sim_check_cell_survivors(s, power, when);
}
