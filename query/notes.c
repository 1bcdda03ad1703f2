/*
 * notes.c - a collection of annotations.
 */
#include "query/notes.h"

#include <stdlib.h>
#include <string.h>

int qry_notes_add(struct qry_notes *notes, const struct sto_series *s, int64_t start_ms,
                  struct ts_slice record, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(notes->memory, &notes->list, &notes->cap, notes->n + 1, sizeof *notes->list, err));
    notes->texts.budget = notes->memory;
    /* texts may move: until they are sorted, a record has its place in them instead of a pointer */
    struct qry_note note = {s, start_ms, {NULL, record.n}, notes->texts.n};
    if (record.n && ts_buf_slice(&notes->texts, record) < 0)
        return ts_error_set(err, TS_ELIMIT, "there is no memory for the annotations of a query");
    notes->list[notes->n++] = note;
    return 0;
}

static int compare(const void *pa, const void *pb)
{
    const struct qry_note *a = pa, *b = pb;
    uint32_t x = a->series ? a->series->id : 0, y = b->series ? b->series->id : 0;
    if (x != y)
        return x < y ? -1 : 1;
    if (a->start_ms != b->start_ms)
        return a->start_ms < b->start_ms ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void qry_notes_sort(struct qry_notes *notes)
{
    size_t n = 0;
    if (notes->n)
        qsort(notes->list, notes->n, sizeof *notes->list, compare);
    for (size_t i = 0; i < notes->n; i++) {
        struct qry_note *note = &notes->list[i];
        note->record.p = notes->texts.p + note->order;
        if (n == 0 || note->series != notes->list[n - 1].series ||
            note->start_ms != notes->list[n - 1].start_ms)
            notes->list[n++] = *note;
    }
    notes->n = n;
}

void qry_notes_clear(struct qry_notes *notes)
{
    notes->n = 0;
    ts_buf_clear(&notes->texts);
}

void qry_notes_release(struct qry_notes *notes)
{
    ts_budget_free(notes->memory, notes->list, notes->cap * sizeof *notes->list);
    ts_buf_release(&notes->texts);
    notes->list = NULL;
    notes->n = notes->cap = 0;
}
