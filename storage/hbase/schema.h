/*
 * schema.h - widths of the ids and of the salt in OpenTSDB's tables in HBase.
 *
 * Format     docs/OPENTSDB.md, section 10.3
 * Threads    plain values
 * Not here   keys (rowkey.h), names of the tables
 */
#ifndef STORAGE_HBASE_SCHEMA_H
#define STORAGE_HBASE_SCHEMA_H

#include "base/err.h"

#include <stdint.h>

#define STO_HBASE_MAX_WIDTH 8 /* bytes of an id or of the salt */

/* How keys are laid out. All programs that use the same tables need the same values, for as long as the tables exist. */
struct sto_hbase_schema {
    uint8_t metric_width; /* bytes of ids, 1 to 8 */
    uint8_t tagk_width;
    uint8_t tagv_width;
    uint8_t salt_width; /* bytes of the salt before a key, 0 to 8; 0 = keys have no salt */
    uint32_t
        salt_buckets; /* different salts, 1 to 2^31 - 1, not more than the width can hold; unused if the width is 0 */
};
/* The values of an OpenTSDB that is not configured. */
#define STO_HBASE_SCHEMA_DEFAULT ((struct sto_hbase_schema){3, 3, 3, 0, 20})

/** Check all widths. 0, or TS_EINVAL with one sentence that names the configuration key. */
int sto_hbase_schema_check(const struct sto_hbase_schema *s, struct ts_error *err);
/** The largest id or salt that fits into width bytes (0 to 8). */
uint64_t sto_hbase_width_max(unsigned width);
/** Number of places of the table in which rows of one metric lie: the salt buckets, or 1 without a salt. */
uint32_t sto_hbase_buckets(const struct sto_hbase_schema *s);

#endif
