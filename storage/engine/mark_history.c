/*
 * mark_history.c - ship marks of earlier times: what the remote store had received by then.
 *
 * Threads    plain data
 */
#include "storage/engine/mark_history.h"

#include "base/mem.h"

#include <string.h>

bool sto_mark_history_copy(const struct sto_mark_history *h, struct sto_mark_history *out)
{
    *out = (struct sto_mark_history){0};
    for (size_t i = 0; i < h->n; i++) {
        out->past[i].at_ms = h->past[i].at_ms;
        if (!sto_mark_list_copy(&h->past[i].list, &out->past[i].list)) {
            sto_mark_history_release(out);
            return false;
        }
        out->n++;
    }
    return true;
}

void sto_mark_history_release(struct sto_mark_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        ts_free(h->past[i].list.marks);
    *h = (struct sto_mark_history){0};
}

bool sto_mark_history_valid(const struct sto_mark_history *h, uint64_t max_gen)
{
    for (size_t i = 0; i < h->n; i++)
        if (!sto_mark_list_valid(&h->past[i].list, max_gen) || (i && h->past[i].at_ms < h->past[i - 1].at_ms))
            return false;
    return true;
}

bool sto_mark_history_note(struct sto_mark_history *h, const struct sto_mark_list *marks, int64_t now_ms,
                           int64_t before_ms)
{
    bool changed = false;
    size_t n_old = 0;
    int64_t step_ms = before_ms < now_ms ? (now_ms - before_ms) / STO_MARK_HISTORY_STEPS : 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->past[i].at_ms > now_ms) {
            h->past[i].at_ms = now_ms;
            changed = true;
        }
    while (n_old + 1 < h->n && h->past[n_old + 1].at_ms <= before_ms)
        ts_free(h->past[n_old++].list.marks);
    if (n_old) {
        h->n -= n_old;
        memmove(h->past, h->past + n_old, h->n * sizeof *h->past);
        changed = true;
    }
    const struct sto_mark_past *last = h->n ? &h->past[h->n - 1] : NULL;
    if (h->n == STO_MARK_HISTORY_MAX || (last && now_ms - last->at_ms < step_ms) ||
        sto_mark_list_same(last ? &last->list : &(struct sto_mark_list){0}, marks))
        return changed;
    if (!sto_mark_list_copy(marks, &h->past[h->n].list))
        return changed;
    h->past[h->n++].at_ms = now_ms;
    return true;
}

bool sto_mark_history_forget(struct sto_mark_history *h, int32_t lo, int32_t hi)
{
    bool changed = false;
    for (size_t i = 0; i < h->n; i++) {
        struct sto_mark_list left = sto_mark_list_without(&h->past[i].list, lo, hi);
        changed |= !sto_mark_list_same(&left, &h->past[i].list);
        ts_free(h->past[i].list.marks);
        h->past[i].list = left;
    }
    return changed;
}

const struct sto_mark_list *sto_mark_history_at(const struct sto_mark_history *h, int64_t ms)
{
    for (size_t i = h->n; i > 0; i--)
        if (h->past[i - 1].at_ms <= ms)
            return &h->past[i - 1].list;
    return NULL;
}
