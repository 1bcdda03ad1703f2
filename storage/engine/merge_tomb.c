/*
 * merge_tomb.c - which tombstones a row of a merge has to heed.
 *
 * A tombstone deletes from sources whose generations are all lower than those of its own source. Files of one
 * flush share their generations, so a tombstone never touches what was written beside it.
 *
 * Threads    one; a memstore may get tombstones meanwhile
 * Not here   deleting (merge_cells.c)
 */
#include "storage/engine/merge_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TAIL_MAX                                                                                             \
    64 /* tombstones that came after the sorted copy was made and are looked through one by one */

static int cmp_tomb(const void *pa, const void *pb)
{
    const struct sto_tomb *a = pa, *b = pb;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    return a->from_ms < b->from_ms ? -1 : a->from_ms > b->from_ms;
}

static void copy_sorted(struct sto_merge__src *src, const struct sto_tomb *tombs, size_t n)
{
    src->own_tombs = ts_xrealloc(src->own_tombs, n * sizeof(*tombs));
    memcpy(src->own_tombs, tombs, n * sizeof(*tombs));
    qsort(src->own_tombs, n, sizeof(*tombs), cmp_tomb);
    src->tombs = src->own_tombs;
    src->n_tombs = n;
    src->tomb_min_ms = INT64_MAX;
    src->tomb_max_ms = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        src->tomb_min_ms = tombs[i].from_ms < src->tomb_min_ms ? tombs[i].from_ms : src->tomb_min_ms;
        src->tomb_max_ms = tombs[i].to_ms > src->tomb_max_ms ? tombs[i].to_ms : src->tomb_max_ms;
    }
}

void sto_merge__tombs_init(struct sto_merge *m)
{
    m->tombers = ts_xmalloc(m->n_srcs * sizeof(struct sto_merge__src *));
    for (size_t i = 0; i < m->n_srcs; i++) {
        struct sto_merge__src *src = &m->srcs[i];
        size_t n;
        if (src->mem) {
            const struct sto_tomb *tombs = sto_mem_tombs(src->mem, &n);
            if (n > 0)
                copy_sorted(src, tombs, n);
        } else {
            src->tombs = sto_sst_tombs(src->sst, &n);
            src->n_tombs = n;
            src->tomb_min_ms = sto_sst_info(src->sst)->tomb_min_ms;
            src->tomb_max_ms = sto_sst_info(src->sst)->tomb_max_ms;
        }
        if (src->mem || src->n_tombs > 0)
            m->tombers[m->n_tombers++] = src;
    }
}

/* Tombstones of a memstore that are not in the sorted copy; the copy is made anew when they are many. */
static const struct sto_tomb *tail_of(struct sto_merge *m, struct sto_merge__src *src, size_t *out_n)
{
    size_t n;
    const struct sto_tomb *tombs = sto_mem_tombs(src->mem, &n);
    if (n - src->n_tombs >
        TAIL_MAX + src->n_tombs / 2) { /* grows by half at least: sorting stays cheap in sum */
        copy_sorted(src, tombs, n);
        m->spans_valid = false;
    }
    *out_n = n - src->n_tombs;
    return n > src->n_tombs ? tombs + src->n_tombs : NULL;
}

static void add_span(struct sto_merge__src *src, const struct sto_tomb *t)
{
    struct sto_tomb *last = src->n_spans ? &src->spans[src->n_spans - 1] : NULL;
    if (last && t->from_ms <= last->to_ms) {
        last->to_ms = t->to_ms > last->to_ms ? t->to_ms : last->to_ms;
        return;
    }
    if (src->n_spans == src->cap_spans) {
        src->cap_spans = src->cap_spans ? src->cap_spans * 2 : 8;
        src->spans = ts_xrealloc(src->spans, src->cap_spans * sizeof(*src->spans));
    }
    src->spans[src->n_spans++] = *t;
}

/* Spans of one series, for all sources. */
static void make_spans(struct sto_merge *m, const struct sto_key *key)
{
    for (size_t i = 0; i < m->n_tombers; i++) {
        struct sto_merge__src *src = m->tombers[i];
        src->n_spans = 0;
        if (src->n_tombs == 0)
            continue;
        const struct sto_tomb first = {.metric = key->metric, .series = key->series, .from_ms = INT64_MIN};
        size_t lo = 0, hi = src->n_tombs;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (cmp_tomb(&src->tombs[mid], &first) < 0)
                lo = mid + 1;
            else
                hi = mid;
        }
        for (; lo < src->n_tombs && src->tombs[lo].metric == key->metric &&
               src->tombs[lo].series == key->series;
             lo++)
            add_span(src, &src->tombs[lo]);
    }
    m->spans_key = *key;
    m->spans_valid = true;
}

static void add_hour_tomb(struct sto_merge *m, const struct sto_tomb *t)
{
    if (m->n_hour_tombs == m->cap_hour_tombs) {
        m->cap_hour_tombs = m->cap_hour_tombs ? m->cap_hour_tombs * 2 : 16;
        m->hour_tombs = ts_xrealloc(m->hour_tombs, m->cap_hour_tombs * sizeof(*t));
    }
    m->hour_tombs[m->n_hour_tombs++] = *t;
}

/* Spans of src that touch lo..hi. */
static void add_spans_at(struct sto_merge *m, const struct sto_merge__src *src, int64_t lo, int64_t hi)
{
    if (src->n_spans == 0 || src->tomb_min_ms > hi || src->tomb_max_ms < lo)
        return;
    size_t a = 0, b = src->n_spans; /* first span that ends at or after lo */
    while (a < b) {
        size_t mid = a + (b - a) / 2;
        if (src->spans[mid].to_ms < lo)
            a = mid + 1;
        else
            b = mid;
    }
    for (; a < src->n_spans && src->spans[a].from_ms <= hi; a++)
        add_hour_tomb(m, &src->spans[a]);
}

void sto_merge__tombs_at(struct sto_merge *m, const struct sto_key *key)
{
    int64_t lo = key->hour * TS_HOUR_MS, hi = lo + TS_HOUR_MS - 1;
    m->n_dels = 0;
    m->n_hour_tombs = 0;
    for (size_t i = 0; i < m->n_tombers; i++) {
        struct sto_merge__src *src = m->tombers[i];
        size_t n_tail = 0, older = 0, at = m->n_hour_tombs;
        const struct sto_tomb *tail = src->mem ? tail_of(m, src, &n_tail) : NULL;
        if (src->n_tombs == 0 && n_tail == 0)
            continue;
        while (older < m->n_group && m->group[older].src->gen_hi < src->gen_lo)
            older++;
        if (older == 0)
            continue;
        if (!m->spans_valid || m->spans_key.series != key->series || m->spans_key.metric != key->metric)
            make_spans(m, key);
        add_spans_at(m, src, lo, hi);
        for (size_t k = 0; k < n_tail; k++)
            if (tail[k].series == key->series && tail[k].from_ms <= hi && tail[k].to_ms >= lo)
                add_hour_tomb(m, &tail[k]);
        if (m->n_hour_tombs > at)
            m->dels[m->n_dels++] = (struct sto_merge__del){src, at, m->n_hour_tombs - at, older};
    }
}
