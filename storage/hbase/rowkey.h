/*
 * rowkey.h - keys of rows of the data table and TSUIDs, made and parsed.
 *
 *   key    [salt] [metric] [base time, 4] ( [tagk] [tagv] ) x 1..8      numbers are big-endian
 *   TSUID  the same without salt and base time
 *
 * Format     docs/OPENTSDB.md, sections 10.1 and 10.3
 * Threads    pure functions
 * Cost       no allocation; O(bytes of the key)
 * Not here   rows of rollups (rollup.h), columns (columns.h)
 */
#ifndef STORAGE_HBASE_ROWKEY_H
#define STORAGE_HBASE_ROWKEY_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/hbase/schema.h"

#include <stdbool.h>
#include <stdint.h>

#define STO_HBASE_MAX_TAGS        8
#define STO_HBASE_ROW_S           3600u /* seconds of a row of the data table */
#define STO_HBASE_MAX_TSUID_BYTES (STO_HBASE_MAX_WIDTH * (1 + 2 * STO_HBASE_MAX_TAGS))
#define STO_HBASE_MAX_KEY_BYTES   (STO_HBASE_MAX_WIDTH + 4 + STO_HBASE_MAX_TSUID_BYTES)

/* A series by its ids. */
struct sto_hbase_ids {
    uint64_t metric;
    uint8_t n_tags; /* tag[0..n_tags) */
    struct sto_hbase_pair {
        uint64_t k, v;
    } tag[STO_HBASE_MAX_TAGS]; /* any order, except that what parsers return has the order of the key */
};
/* A key, parsed. */
struct sto_hbase_rowkey {
    uint64_t salt;            /* as it stands in the key; 0 without a salt */
    uint32_t base_s;          /* begin of the row, seconds since 1970 */
    bool global;              /* row of global annotations: ids are 0, there are no tags */
    struct sto_hbase_ids ids; /* of the series */
};

/**
 * Check what a key can be made of: 1 to 8 tags, ids that are not 0 and fit their widths, each tag key once.
 *
 * @return 0, or TS_EINVAL with one sentence
 */
int sto_hbase_ids_check(const struct sto_hbase_schema *s, const struct sto_hbase_ids *ids,
                        struct ts_error *err);
/**
 * Make the TSUID of a series.
 *
 * @param ids  as sto_hbase_ids_check accepts them
 * @param out  [out] STO_HBASE_MAX_TSUID_BYTES bytes
 * @return bytes written
 */
size_t sto_hbase_tsuid_make(const struct sto_hbase_schema *s, const struct sto_hbase_ids *ids, uint8_t *out);
/**
 * Salt of the rows of a series: the hash that Java has for arrays of signed bytes, modulo the buckets.
 *
 * @param tsuid  TSUID, or a part of one that begins with the metric's id
 * @return 0 without a salt, or if the metric's id is 0 or incomplete
 */
uint32_t sto_hbase_salt(const struct sto_hbase_schema *s, struct ts_slice tsuid);
/**
 * Make the key of a row from a TSUID. Callers keep the TSUID of a series, and each row costs two copies and the salt.
 *
 * @param tsuid   from sto_hbase_tsuid_make, at most STO_HBASE_MAX_TSUID_BYTES
 * @param base_s  begin of the row, seconds since 1970
 * @param out     [out] STO_HBASE_MAX_KEY_BYTES bytes
 * @return bytes written
 */
size_t sto_hbase_rowkey_make(const struct sto_hbase_schema *s, struct ts_slice tsuid, uint32_t base_s,
                             uint8_t *out);
/** Make the key of the row of global annotations that begins at base_s; it has no salt and no tags. Arguments as for
 * sto_hbase_rowkey_make. */
size_t sto_hbase_rowkey_global(const struct sto_hbase_schema *s, uint32_t base_s, uint8_t *out);
/**
 * Parse a key.
 *
 * @param out  [out] undefined after an error
 * @return 0
 *         TS_ECORRUPT  the length fits no key, or an id is 0; one sentence in err
 */
int sto_hbase_rowkey_parse(const struct sto_hbase_schema *s, struct ts_slice key,
                           struct sto_hbase_rowkey *out, struct ts_error *err);
/** Check what only this schema makes: the base time is a multiple of an hour, the pairs ascend by their bytes and the salt
 * is that of the series. 0, or TS_ECORRUPT with one sentence. */
int sto_hbase_rowkey_check(const struct sto_hbase_schema *s, const struct sto_hbase_rowkey *key,
                           struct ts_error *err);

/* --- TSUIDs --- */

/** Parse a binary TSUID into ids, in the order of the bytes. 0, or TS_EPARSE with one sentence. */
int sto_hbase_tsuid_parse(const struct sto_hbase_schema *s, struct ts_slice tsuid, struct sto_hbase_ids *out,
                          struct ts_error *err);
/** Print bytes as upper-case hexadecimal digits; out has two characters for each byte, and no terminating zero. */
void sto_hbase_hex_print(struct ts_slice bytes, char *out);
/** Read hexadecimal digits of any case into at most cap bytes. Returns the number of bytes; -1 if the text is not at most cap
 * pairs of digits. */
int sto_hbase_hex_parse(struct ts_slice text, uint8_t *out, size_t cap);

/* --- scans --- */

/* A range of keys: start <= key < stop. */
struct sto_hbase_scan {
    uint8_t start[STO_HBASE_MAX_WIDTH * 2 + 4];
    uint8_t stop[STO_HBASE_MAX_WIDTH * 2 + 4];
    size_t n_start, n_stop; /* bytes */
};
/**
 * The keys of one metric and time range in one salt bucket. They include all points of the range, and others of the first and
 * last hour.
 *
 * @param metric          id, 0 = global annotations (bucket 0 only)
 * @param from_ms, to_ms  range, both ends inclusive; any values
 * @param bucket          0 to sto_hbase_buckets(s) - 1
 * @return false if the tables hold no points of such times
 */
bool sto_hbase_scan_make(const struct sto_hbase_schema *s, uint64_t metric, int64_t from_ms, int64_t to_ms,
                         uint32_t bucket, struct sto_hbase_scan *out);
/**
 * The same for rows that begin in a range of base times, both ends inclusive: rows of rollups have other spans than an hour.
 */
void sto_hbase_scan_bases(const struct sto_hbase_schema *s, uint64_t metric, uint32_t first_s,
                          uint32_t last_s, uint32_t bucket, struct sto_hbase_scan *out);

#endif
