/*
 * lines.h - exports points as lines "metric time value k=v k=v", which import turns into the same points, bit for bit.
 *
 * Whole seconds are written as seconds, milliseconds as 13 digits; milliseconds that would read as seconds
 * (up to 4294967295 either side of the epoch) as seconds with three decimals: 1234.567. Doubles hold a '.' or
 * an 'e', integers do not. Rollups and histograms follow: "rollup 1h-sum metric time value k=v", "histogram metric
 * time u=0:o=0:0.0,1.5=42 k=v".
 *
 * Threads    one
 * Source     docs/PROTOCOL.md "Import and export"
 */
#ifndef TSD_FORMAT_LINES_H
#define TSD_FORMAT_LINES_H

#include <string.h>

#include "query/query.h"
#include "storage/store.h"

/* What to write. */
struct tsd_lines_spec {
    struct ts_slice
        metric; /* name, or a pattern with stars; empty = all metrics. In the order of their ids */
    const struct sto_tag_text *tags; /* conditions: value exact, "*", or "a|b" */
    size_t n_tags;                   /* of tags */
    int64_t from_ms, to_ms;          /* both inclusive */
};

/** The first star of a metric that is a pattern; NULL: the name of one metric, or none. */
static inline const char *tsd_lines_star(const struct tsd_lines_spec *spec)
{
    return spec->metric.n ? memchr(spec->metric.p, '*', spec->metric.n) : NULL;
}

/* Takes text; < 0 ends the export. Borrowed until return. */
typedef int (*tsd_lines_fn)(void *arg, struct ts_slice text, struct ts_error *err);

/** Write the points of a store, metric by metric, series by series, in order of time, in pieces of about 256
 * KiB; then histograms by metric and rollups by spec.
 *  @param limit  account of its memory, and when it has to end; may be NULL
 *  @param out_n  [out] points and histograms written; may be NULL
 *  Series that only the remote store has are written too, after those of this store, but not their histograms.
 *  @return 0; TS_ENOTFOUND (no such metric, tag key or tag value; no metric matches); TS_EBACKEND: the remote store does not answer; TS_ELIMIT, TS_ECANCELLED, TS_ETIMEOUT by limit; what emit or the scan
 *          returned */
int tsd_lines_export(struct sto_store *st, const struct tsd_lines_spec *spec, struct qry_limit *limit,
                     tsd_lines_fn emit, void *arg, uint64_t *out_n, struct ts_error *err);

#define TSD_LINES_TIME_BYTES 24
/** Text of a time; returns its length. */
size_t tsd_lines_time(int64_t ts_ms, bool ms, char *out);
#define TSD_LINES_VALUE_BYTES TS_NUM_TEXT_BYTES
/** Text of a value; returns its length. */
size_t tsd_lines_value(struct ts_num v, char *out);

#endif
