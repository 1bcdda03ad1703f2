/*
 * idruns.c - list of ids as runs.
 *
 * Threads    see idruns.h
 */
#include "storage/catalog/idruns.h"

#include <stdlib.h>

#include "base/mem.h"

static void push(struct sto_idruns *r, struct sto_idrun run)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 8;
        r->runs = ts_xrealloc(r->runs, r->cap * sizeof(*r->runs));
    }
    r->runs[r->n++] = run;
}

void sto_idruns__add(struct sto_idruns *r, uint32_t id)
{
    if (r->n && r->runs[r->n - 1].first + r->runs[r->n - 1].n == id)
        r->runs[r->n - 1].n++;
    else
        push(r, (struct sto_idrun){.first = id, .n = 1});
}

void sto_idruns__add_all(struct sto_idruns *r, const struct sto_idruns *other)
{
    for (size_t i = 0; i < other->n; i++)
        push(r, other->runs[i]);
}

static int by_first(const void *a, const void *b)
{
    uint32_t x = ((const struct sto_idrun *)a)->first, y = ((const struct sto_idrun *)b)->first;
    return x < y ? -1 : x > y;
}

void sto_idruns__sort(struct sto_idruns *r)
{
    if (r->n < 2)
        return;
    qsort(r->runs, r->n, sizeof(*r->runs), by_first);
    size_t last = 0;
    for (size_t i = 1; i < r->n; i++) {
        struct sto_idrun *a = &r->runs[last], b = r->runs[i];
        uint64_t a_end = (uint64_t)a->first + a->n, b_end = (uint64_t)b.first + b.n;
        if (b.first > a_end)
            r->runs[++last] = b;
        else if (b_end > a_end)
            a->n = (uint32_t)(b_end - a->first);
    }
    r->n = last + 1;
}

void sto_idruns__release(struct sto_idruns *r)
{
    ts_free(r->runs);
    *r = (struct sto_idruns){0};
}
