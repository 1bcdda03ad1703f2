/*
 * internal.h - names of internal metrics, under which rollups, histograms, versions and summaries are stored.
 *
 *   rollup      \1 r SPEC \1 METRIC      SPEC: "1h-sum", "1h-sum:" (of a pre-aggregate), ":" (pre-aggregate alone)
 *   histogram   \1 h METRIC \1 BUCKET    BUCKET: "LOWER,UPPER", "u" (underflow), "o" (overflow)
 *   versions    \1 v WHAT \1 METRIC      WHAT: "w" (values as they were written, versions.h), "d" (deletes)
 *   summaries   \1 a WHAT \1 METRIC      WHAT: "h" (hours whose points have expired), "d" (days; aged.h)
 *
 * Such a point is an ordinary point of a series with the same tags and an internal metric, so the log, files, retention and deletes treat
 * it like any other point. A remote store may keep them in another form (storage/remote.h).
 *
 * Threads    pure functions
 * Not here   internal metrics of a store (query/execution/internal_metric.h), which names are internal (sto_name_internal)
 */
#ifndef STORAGE_INTERNAL_H
#define STORAGE_INTERNAL_H

#include "base/buf.h"

#include <stdbool.h>

#define STO_INTERNAL_MARK '\1' /* first byte of the name of an internal metric */

enum sto_internal_kind {
    STO_INTERNAL_ROLLUP = 'r',
    STO_INTERNAL_HISTOGRAM = 'h',
    STO_INTERNAL_VERSIONS = 'v',
    STO_INTERNAL_AGED = 'a'
};

#define STO_AGED_HOURS_NAME "h" /* details of STO_INTERNAL_AGED */
#define STO_AGED_DAYS_NAME  "d"

/* What rows of summaries are of. */
enum sto_aged_level {
    STO_AGED_NONE,  /* of nothing: the metric has no summaries */
    STO_AGED_HOURS, /* an hour each */
    STO_AGED_DAYS   /* a day each */
};

/* The parts of an internal name; they are slices of it. */
struct sto_internal {
    enum sto_internal_kind kind;
    struct ts_slice metric; /* the visible metric */
    struct ts_slice detail; /* spec of a rollup, bucket of a histogram, what of versions and summaries */
};
/** Append an internal name. */
void sto_internal_name(const struct sto_internal *h, struct ts_buf *out);
/** Split an internal name into its parts; false if the name is not internal. */
bool sto_internal_parse(struct ts_slice name, struct sto_internal *out);
/** What the rows of the metric of these parts summarise. */
enum sto_aged_level sto_internal_level(const struct sto_internal *parts);
/** The same of a name; *out (may be NULL): its parts, unless STO_AGED_NONE is returned. */
enum sto_aged_level sto_internal_aged(struct ts_slice name, struct sto_internal *out);
/** Append the common prefix of the names of all buckets of a metric: a name whose detail is empty. */
void sto_internal_buckets(struct ts_slice metric, struct ts_buf *out);

/* --- buckets of histograms --- */

enum sto_bucket_kind { STO_BUCKET_UNDER, STO_BUCKET_OVER, STO_BUCKET_RANGE };

/* One bucket: lower <= value < upper. */
struct sto_bucket {
    enum sto_bucket_kind kind;
    float lower, upper; /* bounds; only with STO_BUCKET_RANGE */
};
/** Append a float32 as Java prints it: the shortest digits that give the same float32 again. */
void sto_float_print(float f, struct ts_buf *out);
/** Append the name of a bucket as internal metrics contain it: "u", "o", "0.0,10.0". */
void sto_bucket_print(const struct sto_bucket *b, struct ts_buf *out);
/** Parse such a name; false if it is malformed. */
bool sto_bucket_parse(struct ts_slice s, struct sto_bucket *out);
/** Compare by lower, then by upper bound; underflow and overflow come first. */
int sto_bucket_cmp(const struct sto_bucket *a, const struct sto_bucket *b);

#endif
