/*
 * totals.h - keeps totals of the metrics of a query script.
 */
#ifndef TESTS_QUERIES_TOTALS_H
#define TESTS_QUERIES_TOTALS_H

#include "storage/store.h"
#include "storage/total.h"

/* Keep totals over each of the tags of a series, and over all of them, as far as there may be more. st NULL: none. */
static inline void keep_totals(struct sto_store *st, struct ts_slice metric, const struct sto_tag_text *tags,
                               size_t n)
{
    struct ts_slice keys[STO_TOTAL_KEYS];
    size_t n_keys = n < STO_TOTAL_KEYS ? n : STO_TOTAL_KEYS;
    for (size_t i = 0; st && i < n_keys; i++) {
        keys[i] = tags[i].k;
        (void)sto_total_add(st, metric, &tags[i].k, 1, NULL, NULL);
    }
    if (st && n_keys > 1)
        (void)sto_total_add(st, metric, keys, n_keys, NULL, NULL);
}

#endif
