/*
 * rollup.h - rows and qualifiers of OpenTSDB's tables of rollups and pre-aggregates.
 *
 *   row         as in the data table (rowkey.h), but its base time is the begin of a span in UTC
 *   qualifier   id of the function, 1 byte; index of the interval within the span << 4 | flags, 2 bytes. Rows of old
 *               versions have the name of the function and a colon instead of the id
 *   value       as for points (qualifier.h)
 *
 * Format     docs/OPENTSDB.md, section 10.7
 * Threads    pure functions
 * Not here   tables and functions that are configured
 */
#ifndef STORAGE_HBASE_ROLLUP_H
#define STORAGE_HBASE_ROLLUP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"

#include <stdint.h>

#define STO_HBASE_MAX_FUNCTION  127  /* largest id of a function */
#define STO_HBASE_MIN_INTERVALS 12   /* intervals of a row, at least */
#define STO_HBASE_MAX_INTERVALS 3840 /* at most: a larger index begins like the qualifier of a point in ms */
#define STO_HBASE_ROLLUP_BYTES  3    /* of a qualifier */

enum sto_hbase_unit { STO_HBASE_HOURS, STO_HBASE_DAY, STO_HBASE_MONTH, STO_HBASE_YEAR };
/* Intervals and rows of a table. */
struct sto_hbase_rollup {
    uint32_t interval_s;
    enum sto_hbase_unit unit; /* span of a row */
    uint32_t n_hours;         /* unit HOURS: their number, 1 or even, counted from 1970; otherwise 1 */
};

/**
 * Parse the interval and the span of the rows of a table, "1h" and "1d".
 *
 * @return 0
 *         TS_EINVAL  one sentence: OpenTSDB does not permit it, or a row would have more than STO_HBASE_MAX_INTERVALS intervals,
 *                    which OpenTSDB mixes up
 */
int sto_hbase_rollup_parse(struct ts_slice interval, struct ts_slice span, struct sto_hbase_rollup *out,
                           struct ts_error *err);
/** Begin of the row of a time, both in seconds. */
uint32_t sto_hbase_rollup_base(const struct sto_hbase_rollup *r, uint32_t time_s);
/** Begin of the row after the one that begins at base_s, in seconds; it may be beyond 32 bits, where there are no rows. */
uint64_t sto_hbase_rollup_next(const struct sto_hbase_rollup *r, uint32_t base_s);

/* A qualifier of a rollup, parsed. */
struct sto_hbase_rollup_cell {
    int function; /* id; -1: it has a name */
    struct ts_slice
        name;       /* of the function, in any case; borrowed from the qualifier; empty if it has an id */
    uint32_t index; /* of the interval, 0 to 4095 */
    uint8_t flags;  /* of the value */
};
/**
 * Encode a rollup.
 *
 * @param function   id, 0 to STO_HBASE_MAX_FUNCTION
 * @param base_s     begin of the row that holds time_s
 * @param qualifier  [out] STO_HBASE_ROLLUP_BYTES bytes
 * @param bytes      [out] 8 bytes: the value
 * @return bytes of the value
 */
size_t sto_hbase_rollup_encode(const struct sto_hbase_rollup *r, unsigned function, uint32_t base_s,
                               uint32_t time_s, struct ts_num value, uint8_t *qualifier, uint8_t *bytes);
/** Parse a qualifier. 0, or TS_ECORRUPT with one sentence. */
int sto_hbase_rollup_parse_qualifier(struct ts_slice qualifier, struct sto_hbase_rollup_cell *out,
                                     struct ts_error *err);
/** Parse the value of a cell. 0, or TS_ECORRUPT with one sentence: its length is wrong, or it is not finite. */
int sto_hbase_rollup_value(const struct sto_hbase_rollup_cell *cell, struct ts_slice bytes,
                           struct ts_num *out, struct ts_error *err);

#endif
