/*
 * merge_tomb.c - finds the tombstones that apply to a row of a merge.
 *
 * A tombstone deletes from sources all of whose generations are lower than its own. Where tombstones of one
 * series overlap, the one with the highest generation decides: it deletes from every source that the others
 * delete from. So the tombstones of a series, of all sources together, become spans that do not overlap, each
 * with one generation.
 *
 * Threads    one; a memstore may get tombstones meanwhile
 * Cost       to find those of a series: a search in each file with tombstones and a hash lookup in each
 *            memstore; tombstones of other series cost nothing
 * Not here   deleting (merge_cells.c)
 */
#include "storage/engine/merge/merge_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int cmp_series(const struct sto_tomb *t, const struct sto_key *key)
{
    if (t->metric != key->metric)
        return t->metric < key->metric ? -1 : 1;
    return t->series < key->series ? -1 : t->series > key->series;
}

void sto_merge__tombs_init(struct sto_merge *m)
{
    m->tombers = ts_xcalloc(m->n_srcs + 1, sizeof *m->tombers);
    for (size_t i = 0; i < m->n_srcs; i++) {
        struct sto_merge__tomber t = {.mem = m->srcs[i].mem};
        if (m->srcs[i].sst)
            t.tombs = sto_sst_tombs(m->srcs[i].sst, &t.n);
        if (t.mem || t.n > 0)
            m->tombers[m->n_tombers++] = t;
    }
}

void sto_merge__tombs_release(struct sto_merge *m)
{
    ts_free(m->tombers);
    ts_free(m->found);
    ts_free(m->spans);
    ts_free(m->hour_tombs);
}

/* --- spans of a series --- */

static struct sto_tomb *grown(struct sto_merge *m, struct sto_tomb **v, size_t n, size_t *cap)
{
    if (n == *cap) {
        *cap = n ? n * 2 : 16;
        ts_tally_force(&m->share.tally, (*cap - n) * sizeof **v);
        *v = ts_xrealloc(*v, *cap * sizeof **v);
    }
    return *v + n;
}

static void add_found(struct sto_merge *m, const struct sto_tomb *t)
{
    *grown(m, &m->found, m->n_found, &m->cap_found) = *t;
    m->n_found++;
}

static void find_in_file(struct sto_merge *m, const struct sto_merge__tomber *t, const struct sto_key *key)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (cmp_series(&t->tombs[mid], key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < t->n && cmp_series(&t->tombs[lo], key) == 0; lo++)
        add_found(m, &t->tombs[lo]);
}

static void find_in_mem(struct sto_merge *m, struct sto_merge__tomber *t, const struct sto_key *key)
{
    t->last = sto_mem_tombs_last(t->mem, key->series);
    for (size_t place = t->last; place;)
        add_found(m, sto_mem_tomb(t->mem, place, &place));
}

static int cmp_from(const void *pa, const void *pb)
{
    const struct sto_tomb *a = pa, *b = pb;
    return a->from_ms < b->from_ms ? -1 : a->from_ms > b->from_ms;
}

/* Heap of tombstones (indexes into m->found), highest generation on top. */
static void heap_put(const struct sto_tomb *v, size_t *heap, size_t n, size_t item)
{
    for (; n > 0 && v[heap[(n - 1) / 2]].gen < v[item].gen; n = (n - 1) / 2)
        heap[n] = heap[(n - 1) / 2];
    heap[n] = item;
}

static void heap_drop(const struct sto_tomb *v, size_t *heap, size_t n)
{
    size_t last = heap[--n], i = 0;
    for (size_t child; (child = i * 2 + 1) < n; i = child) {
        if (child + 1 < n && v[heap[child + 1]].gen > v[heap[child]].gen)
            child++;
        if (v[heap[child]].gen <= v[last].gen)
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
}

static void add_span(struct sto_merge *m, int64_t from_ms, int64_t to_ms, uint64_t gen)
{
    struct sto_tomb *last = m->n_spans ? &m->spans[m->n_spans - 1] : NULL;
    if (last && last->gen == gen && last->to_ms + 1 == from_ms) {
        last->to_ms = to_ms;
        return;
    }
    *grown(m, &m->spans, m->n_spans, &m->cap_spans) =
        (struct sto_tomb){.from_ms = from_ms, .to_ms = to_ms, .gen = gen};
    m->n_spans++;
}

/* Convert m->found to m->spans: at each time the highest generation. */
static void flatten(struct sto_merge *m)
{
    const struct sto_tomb *v = m->found;
    size_t n = m->n_found, n_heap = 0, i = 0;
    size_t *heap = ts_xmalloc((n + 1) * sizeof *heap);
    int64_t at = 0;
    qsort(m->found, n, sizeof *m->found, cmp_from);
    while (i < n || n_heap) {
        if (n_heap == 0)
            at = v[i].from_ms;
        for (; i < n && v[i].from_ms <= at; i++)
            heap_put(v, heap, n_heap++, i);
        if (v[heap[0]].to_ms < at) {
            heap_drop(v, heap, n_heap--);
            continue;
        }
        int64_t end = v[heap[0]].to_ms;
        if (i < n && v[i].from_ms <= end)
            end = v[i].from_ms - 1;
        add_span(m, at, end, v[heap[0]].gen);
        if (end == INT64_MAX)
            break;
        at = end + 1;
    }
    ts_free(heap);
}

/* The floors of retention act as tombstones do. While a rule stays as it is, the scan begins behind them. */
static void find_floors(struct sto_merge *m, uint32_t series)
{
    const struct sto_floors *floors = m->spec.floors;
    for (size_t i = 0; floors && i < floors->n; i++)
        if (floors->at[i].cutoff_ms > m->from_ms && roaring_bitmap_contains(floors->at[i].series, series))
            add_found(m, &(struct sto_tomb){.from_ms = INT64_MIN,
                                            .to_ms = floors->at[i].cutoff_ms - 1,
                                            .gen = floors->at[i].gen});
}

static void make_spans(struct sto_merge *m, const struct sto_key *key)
{
    m->n_found = m->n_spans = 0;
    for (size_t i = 0; i < m->n_tombers; i++)
        if (m->tombers[i].mem)
            find_in_mem(m, &m->tombers[i], key);
        else
            find_in_file(m, &m->tombers[i], key);
    if (m->spec.cutoff_gen && m->spec.cutoff_ms > m->from_ms)
        add_found(m, &(struct sto_tomb){
                         .from_ms = INT64_MIN, .to_ms = m->spec.cutoff_ms - 1, .gen = m->spec.cutoff_gen});
    find_floors(m, key->series);
    if (m->n_found)
        flatten(m);
    m->counts.n_tombs += m->n_found;
    m->spans_key = *key;
    m->spans_valid = true;
}

/* Are the spans those of this series, including its latest tombstones? */
static bool spans_are_of(const struct sto_merge *m, const struct sto_key *key)
{
    if (!m->spans_valid || m->spans_key.series != key->series || m->spans_key.metric != key->metric)
        return false;
    for (size_t i = 0; i < m->n_tombers; i++)
        if (m->tombers[i].mem && sto_mem_tombs_last(m->tombers[i].mem, key->series) != m->tombers[i].last)
            return false;
    return true;
}

/* --- a row --- */

/* How many members of the group, from the oldest, are older than the generation? */
static size_t n_older(const struct sto_merge *m, uint64_t gen)
{
    size_t n = 0;
    while (n < m->n_group && m->group[n].src->gen_hi < gen)
        n++;
    return n;
}

/* The first span that ends at or after a time. */
static size_t first_span(const struct sto_merge *m, int64_t ms)
{
    size_t a = 0, b = m->n_spans;
    while (a < b) {
        size_t mid = a + (b - a) / 2;
        if (m->spans[mid].to_ms < ms)
            a = mid + 1;
        else
            b = mid;
    }
    return a;
}

uint64_t sto_merge__tomb_bytes(const struct sto_merge *m)
{
    return (m->cap_found + m->cap_spans + m->cap_hour_tombs) * sizeof *m->found;
}

size_t sto_merge__n_gone(const struct sto_merge *m, int32_t hour)
{
    int64_t at = hour * TS_HOUR_MS, hi = at + TS_HOUR_MS - 1;
    size_t n_gone = m->n_group;
    for (size_t i = m->n_dels ? first_span(m, at) : m->n_spans; i < m->n_spans; i++) {
        const struct sto_tomb *span = &m->spans[i];
        size_t n = span->from_ms <= at ? n_older(m, span->gen) : 0;
        n_gone = n < n_gone ? n : n_gone;
        if (n_gone == 0 || span->to_ms >= hi)
            return n_gone;
        at = span->to_ms + 1;
    }
    return 0;
}

void sto_merge__tombs_at(struct sto_merge *m, const struct sto_key *key)
{
    sto_merge__tombs_in(m, key, 1);
}

void sto_merge__tombs_in(struct sto_merge *m, const struct sto_key *key, int32_t n_hours)
{
    int64_t lo = key->hour * TS_HOUR_MS, hi = lo + n_hours * TS_HOUR_MS - 1;
    m->n_dels = 0;
    m->n_hour_tombs = 0;
    if (m->n_tombers == 0 && !m->spec.cutoff_gen && !m->spec.floors)
        return;
    if (!spans_are_of(m, key))
        make_spans(m, key);
    size_t a = first_span(m, lo), b;
    for (b = a; b < m->n_spans && m->spans[b].from_ms <= hi; b++)
        ;
    for (size_t older = 1; a < b && older <= m->n_group; older++) {
        size_t at = m->n_hour_tombs;
        for (size_t i = a; i < b; i++)
            if (n_older(m, m->spans[i].gen) == older) {
                *grown(m, &m->hour_tombs, m->n_hour_tombs, &m->cap_hour_tombs) = m->spans[i];
                m->n_hour_tombs++;
            }
        if (m->n_hour_tombs > at)
            m->dels[m->n_dels++] = (struct sto_merge__del){at, m->n_hour_tombs - at, older};
    }
}
