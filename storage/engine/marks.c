/*
 * marks.c - ship marks: for each hour the highest generation that the remote store has received.
 */
#include "storage/engine/marks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/point.h"

struct sto_marks {
    _Atomic unsigned refs;
    struct sto_mark_list list;
};

bool sto_mark_list_copy(const struct sto_mark_list *list, struct sto_mark_list *out)
{
    *out = (struct sto_mark_list){.marks = ts_try_calloc(list->n + 1, sizeof *list->marks)};
    if (!out->marks)
        return false;
    out->n = list->n;
    if (list->n)
        memcpy(out->marks, list->marks, list->n * sizeof *list->marks);
    return true;
}

/* Index of the first mark that ends at or after an hour. */
static size_t mark_at(const struct sto_mark_list *list, int32_t hour)
{
    size_t lo = 0, hi = list->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (list->marks[mid].hour_hi < hour)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint64_t sto_mark_of(const struct sto_mark_list *list, int32_t hour)
{
    size_t i = mark_at(list, hour);
    return i < list->n && list->marks[i].hour_lo <= hour ? list->marks[i].gen : 0;
}

int32_t sto_mark_end(const struct sto_mark_list *list, int32_t hour)
{
    size_t i = mark_at(list, hour);
    if (i == list->n)
        return INT32_MAX;
    return list->marks[i].hour_lo <= hour ? list->marks[i].hour_hi : list->marks[i].hour_lo - 1;
}

uint64_t sto_mark_lowest(const struct sto_mark_list *list, int32_t lo, int32_t hi)
{
    uint64_t lowest = UINT64_MAX;
    for (int64_t hour = lo; hour <= hi && lowest; hour = (int64_t)sto_mark_end(list, (int32_t)hour) + 1) {
        uint64_t gen = sto_mark_of(list, (int32_t)hour);
        lowest = gen < lowest ? gen : lowest;
    }
    return lowest;
}

bool sto_mark_covers(const struct sto_mark_list *list, uint64_t gen, int64_t lo_ms, int64_t hi_ms)
{
    return lo_ms > hi_ms || gen <= sto_mark_lowest(list, sto_hour(lo_ms), sto_hour(hi_ms));
}

uint64_t sto_mark_highest(const struct sto_mark_list *list)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < list->n; i++)
        highest = list->marks[i].gen > highest ? list->marks[i].gen : highest;
    return highest;
}

/* Append hours with a mark; lo > hi: there are none. */
static void add(struct sto_mark_list *to, int64_t lo, int64_t hi, uint64_t gen)
{
    struct sto_mark *last = to->n ? &to->marks[to->n - 1] : NULL;
    if (lo > hi)
        return;
    if (last && last->gen == gen && (int64_t)last->hour_hi + 1 == lo)
        last->hour_hi = (int32_t)hi;
    else
        to->marks[to->n++] = (struct sto_mark){(int32_t)lo, (int32_t)hi, gen};
}

void sto_mark_list_replace(struct sto_mark_list *list, struct sto_mark_list next)
{
    ts_free(list->marks);
    *list = next;
}

struct sto_mark_list sto_mark_list_with(const struct sto_mark_list *list, int32_t lo, int32_t hi,
                                        uint64_t gen)
{
    struct sto_mark_list out = {.marks = ts_xcalloc(list->n + 2, sizeof *out.marks)};
    bool placed = false;
    for (size_t i = 0; i < list->n; i++) {
        const struct sto_mark *m = &list->marks[i];
        int64_t before = m->hour_hi < lo ? m->hour_hi : (int64_t)lo - 1;
        add(&out, m->hour_lo, before, m->gen);
        if (!placed && m->hour_hi >= lo) {
            add(&out, lo, hi, gen);
            placed = true;
        }
        add(&out, m->hour_lo > hi ? m->hour_lo : (int64_t)hi + 1, m->hour_hi, m->gen);
    }
    if (!placed)
        add(&out, lo, hi, gen);
    return out;
}

struct sto_mark_list sto_mark_list_without(const struct sto_mark_list *list, int32_t lo, int32_t hi)
{
    struct sto_mark_list out = {.marks = ts_xcalloc(list->n + 2, sizeof *out.marks)};
    for (size_t i = 0; i < list->n; i++) {
        const struct sto_mark *m = &list->marks[i];
        add(&out, m->hour_lo, m->hour_hi < lo ? m->hour_hi : (int64_t)lo - 1, m->gen);
        add(&out, m->hour_lo > hi ? m->hour_lo : (int64_t)hi + 1, m->hour_hi, m->gen);
    }
    return out;
}

static int cmp_u64(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

void sto_mark_list_coarsen(struct sto_mark_list *set, size_t max)
{
    if (set->n <= max || max == 0)
        return;
    size_t excess = set->n - max, n = 1;
    uint64_t *gaps = ts_xcalloc(set->n, sizeof *gaps);
    for (size_t i = 1; i < set->n; i++)
        gaps[i - 1] = (uint64_t)((int64_t)set->marks[i].hour_lo - set->marks[i - 1].hour_hi);
    qsort(gaps, set->n - 1, sizeof *gaps, cmp_u64);
    uint64_t narrow = gaps[excess - 1]; /* gaps up to it are closed */
    for (size_t i = 1; i < set->n; i++)
        if ((uint64_t)((int64_t)set->marks[i].hour_lo - set->marks[n - 1].hour_hi) <= narrow)
            set->marks[n - 1].hour_hi = set->marks[i].hour_hi;
        else
            set->marks[n++] = set->marks[i];
    set->n = n;
    ts_free(gaps);
}

bool sto_mark_list_same(const struct sto_mark_list *a, const struct sto_mark_list *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = a->marks[i].hour_lo == b->marks[i].hour_lo && a->marks[i].hour_hi == b->marks[i].hour_hi &&
               a->marks[i].gen == b->marks[i].gen;
    return same;
}

bool sto_mark_list_valid(const struct sto_mark_list *list, uint64_t max_gen)
{
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < list->n; i++) {
        const struct sto_mark *m = &list->marks[i];
        if (m->hour_lo <= end || m->hour_lo > m->hour_hi || m->gen == 0 || m->gen > max_gen)
            return false;
        end = m->hour_hi;
    }
    return true;
}

/* --- shared --- */

struct sto_marks *sto_marks_new(const struct sto_mark_list *list)
{
    struct sto_marks *m = ts_xcalloc(1, sizeof *m);
    atomic_init(&m->refs, 1);
    m->list.n = list->n;
    m->list.marks = ts_xcalloc(list->n + 1, sizeof *m->list.marks);
    if (list->n)
        memcpy(m->list.marks, list->marks, list->n * sizeof *list->marks);
    return m;
}

struct sto_marks *sto_marks_ref(struct sto_marks *m)
{
    if (m)
        atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void sto_marks_unref(struct sto_marks *m)
{
    /* acq_rel: the thread that frees them sees what all others did with them */
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    ts_free(m->list.marks);
    ts_free(m);
}

const struct sto_mark_list *sto_marks_list(const struct sto_marks *m)
{
    static const struct sto_mark_list none;
    return m ? &m->list : &none;
}
