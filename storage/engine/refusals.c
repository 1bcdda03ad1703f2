/*
 * refusals.c - the rows that a remote store has refused for good.
 */
#include "storage/refusals.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

void sto_refusals_init(struct sto_refusals *list)
{
    list->n = 0;
    pthread_mutex_init(&list->mu, NULL);
}

void sto_refusals_release(struct sto_refusals *list)
{
    pthread_mutex_destroy(&list->mu);
}

/* Remove an entry. */
static void take_out(struct sto_refusals *list, size_t at)
{
    memmove(&list->rows[at], &list->rows[at + 1], (list->n - at - 1) * sizeof *list->rows);
    list->n--;
}

void sto_refusals_note(struct sto_refusals *list, uint32_t series, int32_t hour, int64_t at_ms,
                       const struct ts_error *why)
{
    struct sto_refused_row row = {.series = series, .hour = hour, .at_ms = at_ms, .n = 1};
    struct ts_slice text = ts_utf8_cut(ts_slice_str(why->text), sizeof row.why - 1);
    (void)snprintf(row.why, sizeof row.why, "%.*s", (int)text.n, text.p);
    pthread_mutex_lock(&list->mu);
    for (size_t i = 0; i < list->n; i++)
        if (list->rows[i].series == series && list->rows[i].hour == hour) {
            row.n += list->rows[i].n;
            take_out(list, i);
            break;
        }
    if (list->n == STO_REFUSALS_MAX)
        take_out(list, 0);
    list->rows[list->n++] = row;
    pthread_mutex_unlock(&list->mu);
}

size_t sto_refusals_copy(struct sto_refusals *list, struct sto_refused_row *out, size_t max)
{
    pthread_mutex_lock(&list->mu);
    size_t n = list->n < max ? list->n : max;
    for (size_t i = 0; i < n; i++)
        out[i] = list->rows[list->n - 1 - i];
    pthread_mutex_unlock(&list->mu);
    return n;
}
