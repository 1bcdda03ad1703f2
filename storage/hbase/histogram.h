/*
 * histogram.h - cells of histograms in the data table.
 *
 *   qualifier   06 and the offset in the row: seconds in 2 bytes, or ms in 4
 *   value       id of the codec, 1 byte, and what the codec makes. The simple codec: number of buckets, 2 bytes; for each
 *               its lower and upper bound, 4-byte floats, and its count; underflow; overflow. Counts have a variable length
 *
 * Format     docs/OPENTSDB.md, section 10.5
 * Threads    pure functions; a tally belongs to one thread at a time
 * Not here   finding histograms among the cells of a row (columns.h), the text form (tsd/ingest/histogram.h)
 */
#ifndef STORAGE_HBASE_HISTOGRAM_H
#define STORAGE_HBASE_HISTOGRAM_H

#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "storage/internal.h"

#include <stdbool.h>
#include <stdint.h>

#define STO_HBASE_MAX_COUNT                                                                                  \
    ((UINT64_C(1) << 56) - 1) /* of a bucket: OpenTSDB writes larger ones in another way */

/* A bucket: values from low up to high, which is excluded. */
struct sto_hbase_bucket {
    float low, high;
    uint64_t count;
};
/* A histogram apart from its buckets. */
struct sto_hbase_histogram {
    uint8_t codec; /* id, 0 to 255 */
    uint16_t n_buckets;
    uint64_t under, over; /* values below and above all buckets */
};
/** Write the qualifier of a histogram at an offset in its row (ms; whole seconds unless ms is set) into 5 bytes; returns the bytes
 * used. */
size_t sto_hbase_histogram_qualifier(uint32_t off_ms, bool ms, uint8_t *out);
/**
 * Append the value of a histogram in the simple codec.
 *
 * @param h        its n_buckets buckets are in buckets
 * @return 0; TS_EINVAL: a bound is not a number, or a count exceeds STO_HBASE_MAX_COUNT, nothing was appended; otherwise as
 *         ts_buf_append
 */
int sto_hbase_histogram_write(const struct sto_hbase_histogram *h, const struct sto_hbase_bucket *buckets,
                              struct ts_buf *out, struct ts_error *err);
/**
 * Parse the value of a histogram in the simple codec.
 *
 * @param out   [out] counts apart from the buckets
 * @param each  called for each bucket in the stored order, before the rest is checked; NULL: only check
 * @return 0; TS_ECORRUPT with one sentence
 */
int sto_hbase_histogram_parse(struct ts_slice value, struct sto_hbase_histogram *out,
                              void (*each)(void *arg, const struct sto_hbase_bucket *bucket), void *arg,
                              struct ts_error *err);

/** Is this the qualifier of a histogram? Its offset in the row (ms), and whether it is in ms, are set then. */
bool sto_hbase_histogram_is(struct ts_slice qualifier, uint32_t *out_off_ms, bool *out_ms);

/* A histogram in memory, whose buckets can be set one by one. */
struct sto_hbase_tally {
    struct sto_hbase_histogram head;
    struct sto_hbase_bucket
        *buckets; /* owned: head.n_buckets of them, ascending by their bounds, each once */
    size_t cap;
    struct ts_budget *memory;
};
/** Free the memory. Idempotent. */
void sto_hbase_tally_release(struct sto_hbase_tally *t);
/** No buckets, and counts of 0. */
void sto_hbase_tally_clear(struct sto_hbase_tally *t, uint8_t codec);
/**
 * Read the value of a cell in the simple codec. Of several buckets with the same bounds the last one counts.
 *
 * @return 0
 *         TS_ECORRUPT  with one sentence: it cannot be read, or a bound is not finite
 *         TS_ELIMIT    the account refuses memory
 */
int sto_hbase_tally_read(struct sto_hbase_tally *t, struct ts_slice value, struct ts_error *err);
/** Set the count of a bucket, which is added if it is missing. 1; 0: it has that count already; TS_ELIMIT: the account refuses memory,
 * or there would be more than 65,535 buckets. O(n) if it is added before others. */
int sto_hbase_tally_set(struct sto_hbase_tally *t, const struct sto_bucket *b, uint64_t count,
                        struct ts_error *err);
/** The count of a bucket; false if there is none. Underflow and overflow are always there. O(log n). */
bool sto_hbase_tally_get(const struct sto_hbase_tally *t, const struct sto_bucket *b, uint64_t *out);

#endif
