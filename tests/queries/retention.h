/*
 * retention.h - rules of retention in scripts.
 *
 * Threads    one
 */
#ifndef TESTS_QUERIES_RETENTION_H
#define TESTS_QUERIES_RETENTION_H

#include "base/time.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/** Set these rules instead of those that were set; "now" is the clock of the store from then on. */
static inline void retention_set(struct sto_store *st, const char *rules, int64_t now_ms)
{
    const struct sto_retain_call call = {.what = STO_RETAIN_REPLACE, .text = ts_slice_str(rules)};
    struct ts_error err = {0};
    ts_clock_set_fake(now_ms);
    if (sto_retain(st, &call, &err) == 0)
        return;
    fprintf(stderr, "retention %s: %s\n", rules, err.text);
    exit(1);
}

#endif
