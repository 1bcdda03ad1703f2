/*
 * bulknames.h - numbers of series for a bulk load: names in batches.
 *
 *   in    METRIC k=v k=v          a line for each series, as sto_series_text gives it; internal metrics too
 *   out   METRIC-ID NUMBER        a line for each line; if points before TIME-MS have expired, and leave no summaries or have them in their place:
 *         METRIC-ID NUMBER TIME-MS  or
 *         ! class: reason
 *
 * Threads    any
 * Not here   the endpoint (ep_bulk.c), the importer (tsd/commands/importbulk.c)
 */
#ifndef TSD_INGEST_BULKNAMES_H
#define TSD_INGEST_BULKNAMES_H

#include "tsd/ingest/rules.h"

/**
 * Find or create the series of each line by the rules of puts, and make their names durable. Metrics that keep versions are refused, since
 * a bulk load writes none.
 *
 * @param out  the answer is appended
 * @return 0, also if series were refused; TS_EBUSY: a series is being forgotten, repeat the request; TS_ELIMIT: out is full;
 *         errors of writing the catalog
 */
int tsd_bulk_names(struct sto_store *st, const struct tsd_rules *rules, struct ts_slice lines,
                   struct ts_buf *out, struct ts_error *err);

#endif
