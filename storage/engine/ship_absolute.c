/*
 * ship_absolute.c - makes additions absolute whose older value is not here any more.
 *
 * A pass notes the additions that it could not send. When its hours are over, it reads the value of each of these times, as a query would: files and
 * memstores here, but for the active ones, over what the remote store has. absolute.h says how that becomes a put. A second pass that follows at once sends it
 * from memory, and the flush that brings it to a file lets the mark of its hour advance.
 *
 * Additions that cannot be made absolute now wait for the next pass, which tries them again without reading their hours: the remote store has failed, a
 * flush has begun meanwhile, the disk is full, somebody still reads a version from before the last flush, or memory has a delete of their series. If there are more
 * than a pass can note, the others follow after the next flush. A row that is too large to be read counts as one that was refused: it is tried again after a
 * minute, then after two, and so on, and nothing else waits for it.
 *
 * Threads    under the mutex of the shipper
 */
#include "storage/engine/ship_int.h"

#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/absolute.h"
#include "storage/engine/memory/fold.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_MAX   8192                 /* additions whose values are read together, */
#define GROUP_HOURS 32                   /* of so many hours */
#define GROUP_BYTES ((uint64_t)64 << 20) /* memory for that; a group that needs more is divided */
#define FETCH_NS    (60 * 1000000000ll)  /* time limit for reading a group from the remote store */
#define PASS_NS                                                                                              \
    (10 * 1000000000ll)     /* a pass that has taken so long for groups leaves the others to the next one */
#define LARGE_MAX     1024u /* rows that are known to be too large; of more, the first ones are forgotten */
#define LARGE_MS      60000 /* until such a row is tried again, */
#define LARGE_DOUBLED 6u    /* doubled so often */

/* Newest hours first, as they are shipped; of one block of hours as scans have them. */
static int cmp_addition(const void *pa, const void *pb)
{
    const struct sto_addition *a = pa, *b = pb;
    int64_t x = ts_floor_div(a->key.hour, GROUP_HOURS), y = ts_floor_div(b->key.hour, GROUP_HOURS);
    if (x != y)
        return x > y ? -1 : 1;
    int c = sto_key_cmp(&a->key, &b->key);
    return c ? c : ts_cmp_u32(&a->off, &b->off);
}

/* Sort, and leave each once. */
static void sort(struct sto_additions *a)
{
    size_t n = 0;
    if (a->n)
        qsort(a->list, a->n, sizeof *a->list, cmp_addition);
    for (size_t i = 0; i < a->n; i++)
        if (n == 0 || cmp_addition(&a->list[n - 1], &a->list[i]) != 0)
            a->list[n++] = a->list[i];
    a->n = n;
}

/* --- values --- */

/* Additions of one metric and a few hours, in order. */
struct group {
    struct sto_ship__pass *p;
    const struct sto_addition *list;
    size_t n;
    struct sto_point *points; /* n: the value of each; series NULL: it needs none; owned */
    size_t at;                /* those before it belong to rows that were read */
    uint64_t n_frozen;        /* sto_absolute_frozen before that */
};

static bool has_expired(const struct sto_version *v, int64_t ts_ms)
{
    return v->cutoff_gen && ts_ms < v->cutoff_ms;
}

static void group_init(struct group *g, struct sto_ship__pass *p, const struct sto_addition *list, size_t n)
{
    const struct sto_engine_owner *owner = &p->e->owner;
    const struct sto_series *series = NULL;
    *g = (struct group){.p = p,
                        .list = list,
                        .n = n,
                        .points = ts_xcalloc(n, sizeof *g->points),
                        .n_frozen = sto_absolute_frozen(p->v)};
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].key.series != list[i - 1].key.series)
            series = owner->series(owner->arg, list[i].key.series);
        int64_t ts_ms = list[i].key.hour * TS_HOUR_MS + list[i].off;
        g->points[i] = (struct sto_point){.series = has_expired(p->v, ts_ms) ? NULL : series,
                                          .ts_ms = ts_ms,
                                          .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
    }
}

/* Take the values of a row; rows come in the order of series and hours. */
static void take_row(struct group *g, const struct sto_row *row)
{
    while (g->at < g->n && sto_key_cmp(&g->list[g->at].key, &row->key) < 0)
        g->at++;
    for (; g->at < g->n && sto_key_cmp(&g->list[g->at].key, &row->key) == 0; g->at++) {
        uint32_t off = g->list[g->at].off, i = sto_cells_find(row->cells, off);
        struct sto_point *p = &g->points[g->at];
        if (i == row->cells->n || sto_meta_off(row->cells->meta[i]) != off)
            continue;
        if (sto_sum_overflows(row->cells->meta[i], row->cells->m[i]))
            p->series = NULL; /* queries report it until a client puts a value */
        p->flags = row->cells->meta[i] & STO_META_FLAGS_MASK & ~STO_META_OP_MASK;
        p->m = row->cells->m[i];
    }
}

/* Begin to read the rows of the group, without the active memstores. */
static int scan(const struct group *g, const struct sto_scan_spec *spec, struct sto_merge **out,
                struct ts_error *err)
{
    struct sto_ship__pass *p = g->p;
    struct sto_version v = {.n_ssts = p->v->n_ssts, /* nobody else sees it */
                            .ssts = p->v->ssts,
                            .mems = ts_xcalloc(p->v->n_mems + 1, sizeof(struct sto_mem *)),
                            .cutoff_ms = p->v->cutoff_ms,
                            .cutoff_gen = p->v->cutoff_gen,
                            .marks = sto_marks_new(&p->marks), /* this pass may have set some */
                            .complete_from_ms = p->v->complete_from_ms};
    for (size_t i = 0; i < p->v->n_mems; i++)
        if (sto_mem_gen(p->v->mems[i]) < p->v->newest_gen)
            v.mems[v.n_mems++] = p->v->mems[i];
    int rc = spec->from_ms >= sto_version_complete_from(&v) ? sto_version_scan(&v, spec, out, err)
                                                            : sto_engine_scan_both(p->e, &v, spec, out, err);
    sto_marks_unref(v.marks);
    ts_free(v.mems);
    return rc;
}

static int read_values(struct group *g, struct ts_error *err)
{
    struct sto_merge *merge = NULL;
    struct sto_row row;
    struct ts_budget memory;
    const struct sto_series **series = ts_xcalloc(g->n, sizeof(struct sto_series *));
    struct sto_scan_spec spec = {.metric = g->list[0].key.metric,
                                 .series = series,
                                 .from_ms = INT64_MAX,
                                 .to_ms = INT64_MIN,
                                 .memory = &memory,
                                 .deadline_ns = ts_clock_mono_ns() + FETCH_NS,
                                 .cancel = &g->p->s->stop};
    for (size_t i = 0; i < g->n; i++) {
        const struct sto_point *p = &g->points[i];
        if (!p->series)
            continue;
        spec.from_ms = p->ts_ms < spec.from_ms ? p->ts_ms : spec.from_ms;
        spec.to_ms = p->ts_ms > spec.to_ms ? p->ts_ms : spec.to_ms;
        if (spec.n_series == 0 || p->series != series[spec.n_series - 1])
            series[spec.n_series++] = p->series;
    }
    ts_budget_init(&memory, "additions", "the constant GROUP_BYTES", NULL, GROUP_BYTES);
    int rc = spec.n_series ? scan(g, &spec, &merge, err) : 0;
    while (merge && rc >= 0 && (rc = sto_merge_next(merge, &row, err)) == 1)
        take_row(g, &row);
    sto_merge_free(merge);
    ts_free(series);
    return rc;
}

/* --- puts --- */

/* What becomes of the additions of a pass. */
struct settling {
    struct sto_ship__pass *p;
    uint64_t n_put;
    bool over;           /* a flush has begun: nothing can be put any more in this pass */
    size_t n_left;       /* additions at the beginning of the list that wait */
    int rc;              /* the first error, */
    struct ts_error why; /* and its text */
};

static void leave(struct settling *s, const struct sto_addition *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->p->additions.list[s->n_left++] = list[i];
}

/* Send the points that belong to an owner. 0; TS_EBUSY: some have to wait; other errors. */
static int send_to(struct settling *s, struct group *g, unsigned owner, struct ts_error *err)
{
    struct sto_ship__pass *p = s->p;
    int rc = 0;
    for (size_t i = 0; i < g->n && (rc == 0 || rc == TS_EBUSY) && !s->over;) {
        struct sto_absolute *a = sto_absolute_new(p->e, owner, p->v, g->n_frozen);
        struct sto_batch *b = sto_absolute_batch(a);
        uint32_t n;
        for (; i < g->n && b->n < STO_BATCH_POINTS; i++)
            if (g->points[i].series && sto_engine__owner_of(p->e, g->points[i].series) == owner)
                b->points[b->n++] = g->points[i];
        int one = sto_absolute_send(a, &p->s->stop, &n, &s->over, err);
        s->n_put += n;
        rc = one ? one : rc;
    }
    return rc;
}

/* Make a group absolute. TS_EBUSY, TS_ELIMIT: too many at once; other errors. */
static int settle_group(struct settling *s, const struct sto_addition *list, size_t n, struct ts_error *err)
{
    struct group g;
    group_init(&g, s->p, list, n);
    int rc = read_values(&g, err);
    bool busy = false;
    for (unsigned i = 0; i < s->p->e->n_owners && rc == 0 && !s->over; i++) {
        rc = send_to(s, &g, i, err);
        busy |= rc == TS_EBUSY;
        rc = rc == TS_EBUSY ? 0 : rc;
    }
    ts_free(g.points);
    return rc == 0 && (busy || s->over) ? TS_EBUSY : rc;
}

static struct sto_too_large *find_large(const struct sto_shipper *s, const struct sto_key *key)
{
    for (size_t i = 0; i < s->n_large; i++)
        if (sto_key_cmp(&s->large[i].key, key) == 0)
            return &s->large[i];
    return NULL;
}

static void note_large(struct sto_ship__pass *p, const struct sto_key *key, const struct ts_error *why)
{
    static struct ts_log_limit limit;
    struct sto_shipper *s = p->s;
    struct sto_too_large *l = find_large(s, key);
    if (!l) {
        if (s->n_large == LARGE_MAX)
            memmove(s->large, s->large + 1, --s->n_large * sizeof *s->large);
        TS_ARRAY_GROW(s->large, s->n_large, s->cap_large, 16);
        l = &s->large[s->n_large++];
        *l = (struct sto_too_large){.key = *key};
    }
    l->again_ms =
        ts_clock_mono_ns() / 1000000 + ((int64_t)LARGE_MS << (l->n < LARGE_DOUBLED ? l->n : LARGE_DOUBLED));
    l->n++;
    atomic_fetch_add_explicit(&s->n_refused, 1, memory_order_relaxed);
    sto_refusals_note(&p->e->refusals, key->series, key->hour, ts_clock_ms(), why);
    ts_log_limited(&limit, TS_LOG_WARN, "the sum of increments cannot be sent to the remote store: %s",
                   why->text);
}

/* The same, divided if it needs too much memory. What fails waits. */
static void settle(struct settling *s, const struct sto_addition *list, size_t n)
{
    struct ts_error why = {0};
    int rc = settle_group(s, list, n, &why);
    if (rc == TS_ELIMIT && sto_key_cmp(&list[0].key, &list[n - 1].key) != 0) {
        settle(s, list, n / 2);
        settle(s, list + n / 2, n - n / 2);
        return;
    }
    if (rc < 0)
        leave(s, list, n);
    if (rc == TS_ELIMIT) {
        note_large(s->p, &list[0].key, &why);
        return;
    }
    if (rc < 0 && rc != TS_EBUSY && s->rc == 0) {
        s->rc = rc;
        s->why = why;
    }
}

/* May more groups be tried after what has happened? The remote store is away, or the store is closing, if not. */
static bool goes_on(const struct settling *s, int64_t until_ns)
{
    return !s->over &&
           (s->rc == 0 ||
            (s->rc != TS_EBACKEND && s->rc != TS_ETIMEOUT && s->rc != TS_ECANCELLED && s->rc != TS_EIO)) &&
           ts_clock_mono_ns() < until_ns;
}

static bool waits(const struct settling *s, const struct sto_key *key)
{
    const struct sto_too_large *l = s->p->s->n_large ? find_large(s->p->s, key) : NULL;
    return l && l->again_ms > ts_clock_mono_ns() / 1000000;
}

static void settle_all(struct settling *s)
{
    const struct sto_additions *a = &s->p->additions;
    int64_t until_ns = ts_clock_mono_ns() + PASS_NS;
    for (size_t i = 0, n; i < a->n; i += n) {
        const struct sto_key *first = &a->list[i].key;
        n = 1;
        if (waits(s, first)) {
            leave(s, &a->list[i], 1);
            continue;
        }
        for (n = 1; n < GROUP_MAX && i + n < a->n; n++)
            if (a->list[i + n].key.metric != first->metric ||
                ts_floor_div(a->list[i + n].key.hour, GROUP_HOURS) !=
                    ts_floor_div(first->hour, GROUP_HOURS) ||
                waits(s, &a->list[i + n].key))
                break;
        if (!goes_on(s, until_ns)) {
            leave(s, a->list + i, a->n - i);
            return;
        }
        settle(s, a->list + i, n);
    }
}

int sto_ship__absolute(struct sto_ship__pass *p, struct ts_error *err)
{
    struct settling s = {.p = p};
    sort(&p->additions);
    if (p->additions.n == 0 || sto_version__lacks(p->e, p->v->newest_gen))
        return 0;
    p->s->unsynced = true;
    settle_all(&s);
    p->additions.n = s.n_left;
    atomic_fetch_add_explicit(&p->s->n_absolute, s.n_put, memory_order_relaxed);
    p->put = s.n_put != 0;
    if (s.rc == 0)
        s.rc = sto_ship__sync_absolute(p, &s.why);
    if (s.rc < 0 && err)
        *err = s.why;
    return s.rc;
}

int sto_ship__sync_absolute(struct sto_ship__pass *p, struct ts_error *err)
{
    if (!p->s->unsynced)
        return 0;
    TS_TRY(sto_absolute_sync(p->e, &p->s->stop, err));
    p->s->unsynced = false;
    return 0;
}

/* --- rows in memory --- */

static bool has_additions(const struct sto_cells *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (sto_meta_op(c->meta[i]) == STO_OP_ADD)
            return true;
    return false;
}

void sto_ship__resolve(const struct sto_mem_row *row, struct sto_cells *cells, struct sto_cells *all)
{
    bool mixed = false;
    uint32_t n;
    if (!has_additions(cells))
        return;
    (void)sto_mem_row_read_from(row, 0, all, &n, &mixed);
    for (uint32_t i = 0; i < cells->n; i++) {
        uint32_t off = sto_meta_off(cells->meta[i]), at = sto_cells_find(all, off);
        if (sto_meta_op(cells->meta[i]) != STO_OP_ADD || at == all->n || sto_meta_off(all->meta[at]) != off)
            continue;
        cells->meta[i] = all->meta[at];
        cells->m[i] = all->m[at];
        cells->uniform = false;
    }
}
