/*
 * sort.c - runs by qsort_r, then merged two by two.
 */
#include "query/sort.h"

#include <stdlib.h>
#include <string.h>

struct sorter {
    size_t size;
    int (*cmp)(const void *a, const void *b, void *arg);
    void *arg;
    struct qry_budget *budget;
};

/* Runs from..mid and mid..end of a into b. */
static int merge_two(const struct sorter *s, const char *a, char *b, size_t from, size_t mid, size_t end,
                     struct ts_error *err)
{
    size_t i = from, k = mid, size = s->size;
    for (size_t at = from; at < end; at++) {
        if (at % QRY_SORT_RUN == 0)
            TS_TRY(qry_budget_look(s->budget, err));
        bool left = k == end || (i < mid && s->cmp(a + i * size, a + k * size, s->arg) <= 0);
        memcpy(b + at * size, a + (left ? i++ : k++) * size, size);
    }
    return 0;
}

/* After an error a holds all items in some order. */
static int merge_all(const struct sorter *s, char *a, char *spare, size_t n, struct ts_error *err)
{
    char *from = a, *to = spare;
    int rc = 0;
    for (size_t run = QRY_SORT_RUN; run < n && rc == 0; run *= 2) {
        for (size_t at = 0; at < n && rc == 0; at += 2 * run) {
            size_t mid = at + run < n ? at + run : n, end = at + 2 * run < n ? at + 2 * run : n;
            rc = merge_two(s, from, to, at, mid, end, err);
        }
        if (rc < 0)
            break;
        char *t = from;
        from = to;
        to = t;
    }
    if (from != a)
        memcpy(a, from, n * s->size);
    return rc;
}

int qry_sort(void *items, size_t n, size_t size, int (*cmp)(const void *a, const void *b, void *arg),
             void *arg, struct qry_budget *budget, struct ts_error *err)
{
    struct sorter s = {size, cmp, arg, budget};
    char *a = items;
    if (n <= QRY_SORT_RUN) {
        if (n > 1)
            qsort_r(a, n, size, cmp, arg);
        return 0;
    }
    char *spare = ts_budget_alloc(budget->memory, n * size, err);
    if (!spare)
        return qry_memory_code(err);
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += QRY_SORT_RUN) {
        qsort_r(a + at * size, n - at < QRY_SORT_RUN ? n - at : QRY_SORT_RUN, size, cmp, arg);
        rc = qry_budget_look(budget, err);
    }
    if (rc == 0)
        rc = merge_all(&s, a, spare, n, err);
    ts_budget_free(budget->memory, spare, n * size);
    return rc;
}
